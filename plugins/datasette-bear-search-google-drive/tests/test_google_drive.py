"""Google Drive by its API, against a local server that answers as Google documents it."""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner
from datasette.cli import cli
from datasette.plugins import pm

from tests.support.index_files import rows, titles
from tests.support.keychain import Keychain, keychain_with
from tests.support.local_api import Answer, Request, local_api

plugin: Any = pytest.importorskip("datasette_bear_search_google_drive")
credentials: Any = pytest.importorskip("google.oauth2.credentials")

DRIVE = "https://drive.google.com/drive/my-drive"
DOCUMENT = "application/vnd.google-apps.document"
SHEET = "application/vnd.google-apps.spreadsheet"
REFRESH = "1//refresh-secret"
KEY = {
    "type": "authorized_user",
    "client_id": "client",
    "client_secret": "client-secret",
    "refresh_token": REFRESH,
}


def refusal(status: int, reason: str, **headers: str) -> Answer:
    error = {"code": status, "message": reason, "errors": [{"domain": "usage", "reason": reason}]}
    found = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer({"error": error}, status, found)


class Google:
    """Files of an account, and what is asked about them."""

    def __init__(self) -> None:
        self.files: dict[str, dict] = {}
        self.texts: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.refusals: list[tuple[str, Answer]] = []  # a part of the path, and what is answered
        self.page_size = 1000
        self.is_revoked = False
        self.only_part = False

    def add(self, key: str, text: str = "", parent: str = "top", **fields) -> None:
        kind = fields.setdefault("mimeType", DOCUMENT)
        if not kind.startswith("application/vnd.google-apps"):
            fields |= {"size": str(len(text)), "md5Checksum": str(hash(text))}
        self.files[key] = {
            "id": key,
            "name": key,
            "parents": [parent],
            "createdTime": "2024-05-01T09:30:00.000Z",
            "modifiedTime": "2024-05-02T09:30:00.123Z",
            "trashed": False,
            "starred": False,
            "webViewLink": f"https://docs.google.com/document/d/{key}/edit",
            **fields,
        }
        self.texts[key] = text.encode()

    def fetched(self) -> list[str]:
        """Return the ids of the files whose text was fetched since the last call."""
        found = [re.search(r"/files/([\w-]+)", each.path) for each in self.requests]
        self.requests.clear()
        return [match[1] for match in found if match and match[1] != "root"]

    def answer(self, request: Request) -> Answer:
        path, parameters = request.path, request.parameters
        if path == "/token":
            if self.is_revoked:
                return Answer(
                    {"error": "invalid_grant", "error_description": "Token has been revoked."}, 400
                )
            is_service = parameters["grant_type"].endswith(":jwt-bearer")
            assert is_service or parameters["refresh_token"] == REFRESH
            return Answer({"access_token": "access", "expires_in": 3600, "token_type": "Bearer"})
        assert request.authorization == "Bearer access"
        self.requests.append(request)
        for place, refused in self.refusals:
            if place in path:
                self.refusals.remove((place, refused))
                return refused
        key = path.removeprefix("/drive/v3/files").removesuffix("/export").strip("/")
        if not key:
            return self.list(parameters)
        if path.endswith("/export"):
            wanted = "text/csv" if self.files[key]["mimeType"] == SHEET else "text/markdown"
            assert parameters["mimeType"] == wanted
        elif parameters["alt"] == "json":
            return Answer({"id": "top"}) if key in ("root", "top") else refusal(404, "notFound")
        return Answer(self.texts[key])

    def list(self, parameters: dict[str, str]) -> Answer:
        parents = re.findall(r"'([\w-]+)' in parents", parameters["q"])
        with_trash = "trashed = false" not in parameters["q"]
        found = [
            file
            for file in self.files.values()
            if set(parents) & set(file["parents"]) and (with_trash or not file["trashed"])
        ]
        start = int(parameters.get("pageToken", 0))
        end = start + min(self.page_size, int(parameters["pageSize"]))
        more = {"nextPageToken": str(end)} if end < len(found) else {}
        return Answer({"files": found[start:end], "incompleteSearch": self.only_part, **more})


@pytest.fixture
def keychain() -> Iterator[Keychain]:
    with keychain_with({"google-drive": json.dumps(KEY)}) as found:
        yield found


@pytest.fixture
def google(monkeypatch, keychain) -> Iterator[Google]:
    found = Google()
    is_there = pm.is_registered(plugin)
    if not is_there:
        pm.register(plugin)
    monkeypatch.delenv(plugin.VARIABLE, raising=False)
    with local_api(found.answer) as address:
        monkeypatch.setattr(plugin, "API", f"{address}drive/v3/")
        monkeypatch.setattr(credentials, "_GOOGLE_OAUTH2_TOKEN_ENDPOINT", f"{address}token")
        monkeypatch.setattr(plugin, "SECONDS_BETWEEN_TRIES", 0.01)
        yield found
    if not is_there:
        pm.unregister(plugin)


@pytest.fixture
def sidecar(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
def index(google, sidecar, tmp_path, monkeypatch):
    """Run ``datasette bear-index …``; return what it prints."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("DATASETTE_BEAR_SEARCH_CONFIG", raising=False)

    def run(*arguments: str, fails: bool = False) -> str:
        command = ["bear-index", *arguments, "--sidecar", str(sidecar), "--no-semantic"]
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == fails, result.output
        assert REFRESH not in result.output
        assert "client-secret" not in result.output
        return " ".join(result.output.split())

    return run


def test_a_document_is_a_note(google, index, sidecar):
    google.add("home", parent="top", mimeType=plugin.FOLDER, name="Home")
    google.add("garden", parent="home", mimeType=plugin.FOLDER, name="Garden / 2024")
    picture = "![][image1]\n\n[image1]: <data:image/png;base64,AAAA>\n"
    google.add("d1", f"# Roof\n\n- [ ] call Ann\n{picture}", "garden", name="Roof", starred=True)
    index(DRIVE)
    sql = "select key, title, body, tags, created, modified, todos_open, pinned, url from notes"
    [(key, title, body, *others)] = rows(sidecar, sql)
    assert (key, title, body.strip()) == ("d1", "Roof", "- [ ] call Ann")
    assert others == [
        '["Home/Garden - 2024"]',
        "2024-05-01T09:30:00Z",
        "2024-05-02T09:30:00Z",
        1,
        1,
        "https://docs.google.com/document/d/d1/edit",
    ]
    sql = "select name, app, json_extract(options, '$.every') from sources"
    assert rows(sidecar, sql) == [("google-drive", "Google Drive", "1h")]


def test_all_pages_of_all_folders_are_read(google, index, sidecar):
    google.page_size = 7
    for number in range(90):
        google.add(f"folder{number}", mimeType=plugin.FOLDER)
        google.add(f"note{number}", f"Text {number}", f"folder{number}")
    index(DRIVE)
    assert len(titles(sidecar)) == 90


def test_only_what_changed_is_fetched_again(google, index, sidecar):
    google.add("d1", "Roof")
    google.add("d2", "Cellar")
    google.add("f1", "Attic", mimeType="text/plain", name="attic.txt")
    index(DRIVE)
    assert google.fetched() == ["d1", "d2", "f1"]
    index()
    assert google.fetched() == []
    google.add("d2", "Cellar is wet", modifiedTime="2024-06-01T00:00:00.000Z")
    google.files["f1"]["name"] = "Loft.txt"
    index()
    assert google.fetched() == ["d2", "f1"]
    assert rows(sidecar, "select title, body from notes order by key") == [
        ("d1", "Roof"),
        ("d2", "Cellar is wet"),
        ("Loft", "Attic"),
    ]


def test_a_removed_or_trashed_file_leaves_the_index(google, index, sidecar):
    for key in ("d1", "d2", "d3"):
        google.add(key, "Text")
    index(DRIVE)
    google.files["d1"]["trashed"] = True
    del google.files["d2"]
    index()
    assert titles(sidecar) == ["d3"]
    index("--include-trashed", "--only", "google-drive")
    found = rows(sidecar, "select title, trashed from notes order by title")
    assert found == [("d1", 1), ("d3", 0)]


def test_files_are_read_by_their_types(google, index, sidecar):
    google.add("s", "a,b\n1,2", mimeType=SHEET)
    google.add("h", "<h1>Roof</h1><script>x</script>", mimeType="text/html", name="page.html")
    google.add("p", "%PDF", mimeType="application/pdf")
    output = index(DRIVE)
    assert "1 file of types that aren't read (application/pdf 1)" in output
    assert rows(sidecar, "select title, body from notes order by key") == [
        ("page", "# Roof\n\n"),
        ("s", "a,b\n1,2"),
    ]


def test_a_file_that_google_does_not_hand_out_costs_no_other(google, index, sidecar):
    google.add("d1", "Roof")
    google.add("d2", "Cellar")
    index(DRIVE)
    for key in ("d1", "d2"):
        google.files[key]["modifiedTime"] = "2024-06-01T00:00:00.000Z"
    google.texts["d2"] = b"Cellar is wet"
    google.refusals = [("d1/export", refusal(403, "exportSizeLimitExceeded"))]
    assert "d1: Google doesn't hand it out (exportSizeLimitExceeded)" in index()
    assert rows(sidecar, "select body from notes order by key") == [("Roof",), ("Cellar is wet",)]
    google.fetched()
    index()
    assert google.fetched() == ["d1"]


@pytest.mark.parametrize(
    "refused",
    [
        refusal(429, "rateLimitExceeded", Retry_After="0"),
        refusal(403, "userRateLimitExceeded"),
        refusal(503, "backendError"),
    ],
)
def test_a_limit_of_requests_is_waited_for(google, index, sidecar, refused):
    google.add("d1", "Roof")
    google.refusals = [("d1", refused), ("d1", refused)]
    index(DRIVE)
    assert titles(sidecar) == ["d1"]


def test_a_long_limit_is_reported_and_the_next_reading_goes_on(google, index, sidecar):
    google.add("d1", "Roof")
    google.add("d2", "Cellar")
    google.refusals = [("d2", refusal(429, "rateLimitExceeded", Retry_After="3600"))]
    output = index(DRIVE, fails=True)
    assert "Google takes no more requests for now (429, again in 3600 s)" in output
    assert titles(sidecar) == ["d1"]
    google.fetched()
    index()
    assert titles(sidecar) == ["d1", "d2"]
    assert google.fetched() == ["d2"]


def test_a_revoked_key_is_explained_and_the_notes_stay(google, index, sidecar, keychain):
    google.add("d1", "Roof")
    index(DRIVE)
    google.is_revoked = True
    output = index(fails=True)
    assert "Google no longer accepts the key for Google Drive" in output
    assert "keyring set datasette-bear-search google-drive" in output
    assert titles(sidecar) == ["d1"]
    keychain.secrets.clear()
    assert "There is no key for Google Drive" in index(fails=True)
    keychain.secrets["google-drive"] = f"not JSON {REFRESH}"
    assert "isn't the JSON of a service account" in index(fails=True)
    assert titles(sidecar) == ["d1"]


def test_the_key_can_be_in_the_environment_and_is_nowhere_else(
    google, index, sidecar, keychain, monkeypatch, tmp_path
):
    keychain.secrets.clear()
    monkeypatch.setenv(plugin.VARIABLE, json.dumps(KEY))
    google.add("d1", "Roof")
    index(DRIVE)
    assert titles(sidecar) == ["d1"]
    for file in filter(Path.is_file, tmp_path.rglob("*")):
        content = file.read_bytes()
        assert not any(secret in content for secret in (REFRESH.encode(), b"client-secret"))


def test_the_key_can_be_of_a_service_account(google, index, sidecar, keychain):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    key = {"type": "service_account", "client_email": "notes@example.iam.gserviceaccount.com"}
    key |= {"private_key": private.decode(), "private_key_id": "1", "project_id": "notes"}
    key["token_uri"] = plugin.API.replace("drive/v3/", "token")
    keychain.secrets = {"work": json.dumps(key)}
    google.add("d1", "Roof")
    config = sidecar.with_name("bear-search.yaml")
    config.write_text(f"sources:\n- location: {DRIVE}\n  account: work\n")
    index("--config", str(config))
    assert titles(sidecar) == ["d1"]


def test_a_list_that_google_left_incomplete_removes_nothing(google, index, sidecar):
    google.add("d1", "Roof")
    google.add("d2", "Cellar")
    index(DRIVE)
    del google.files["d2"]
    google.only_part = True
    assert "Google listed only a part" in index()
    assert titles(sidecar) == ["d1", "d2"]


def test_a_network_that_is_gone_is_explained_and_the_notes_stay(
    google, index, sidecar, monkeypatch
):
    google.add("d1", "Roof")
    index(DRIVE)
    monkeypatch.setattr(plugin, "API", "http://127.0.0.1:9/")
    output = index(fails=True)
    assert "Google can't be reached" in output
    assert "fault" not in output
    assert titles(sidecar) == ["d1"]


def test_a_folder_that_is_not_there_is_explained(index):
    output = index("https://drive.google.com/drive/folders/none", fails=True)
    assert "There is no folder at https://drive.google.com/drive/folders/none" in output


def test_signing_in_fills_the_keychain(google, keychain, monkeypatch, tmp_path):
    pytest.importorskip("google_auth_oauthlib")
    keychain.secrets.clear()
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("OAUTHLIB_RELAX_TOKEN_SCOPE", "1")
    asked = []

    class Browser:
        def open(self, url: str, **options) -> None:
            parameters = parse_qs(urlsplit(url).query)
            asked.append(parameters["scope"])
            [target], [state] = parameters["redirect_uri"], parameters["state"]
            back = f"{target}?code=code&state={state}"
            threading.Thread(target=urllib.request.urlopen, args=[back]).start()

    monkeypatch.setattr("webbrowser.get", lambda name=None: Browser())
    token = {"access_token": "a", "refresh_token": REFRESH, "token_type": "Bearer", "expires_in": 9}
    with local_api(lambda request: Answer(token)) as address:
        client = {"client_id": "client", "client_secret": "client-secret"}
        client |= {"auth_uri": f"{address}auth", "token_uri": f"{address}token"}
        (tmp_path / "client.json").write_text(json.dumps({"installed": client}))
        plugin.sign_in(str(tmp_path / "client.json"))
    assert asked == [plugin.SCOPES]
    stored = json.loads(keychain.secrets["google-drive"])
    assert stored["refresh_token"] == REFRESH
    assert stored["type"] == "authorized_user"
