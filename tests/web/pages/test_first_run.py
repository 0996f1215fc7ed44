"""``bear-serve`` without an index offers the sources on this computer and indexes the chosen."""

from __future__ import annotations

import json
import re
import subprocess
import time
from contextlib import closing
from functools import partial
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from datasette.app import Datasette

from datasette_bear_search import service
from datasette_bear_search.cli.doctor import examine
from datasette_bear_search.cli.serve import _task
from datasette_bear_search.embeddings import files
from datasette_bear_search.embeddings import registry as registry_of_models
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.names import (
    BUNDLED,
    CHOICES,
    HUB_DEFAULT,
    MULTILINGUAL_MODEL,
)
from datasette_bear_search.index import updater as index_updater
from datasette_bear_search.index.file import database, metadata, sources
from datasette_bear_search.index.watch import Watcher
from datasette_bear_search.sources import registry
from datasette_bear_search.sources.bear import LOCATIONS
from datasette_bear_search.web.pages import first_run
from datasette_bear_search.web.requests import freshness
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library
from tests.support.tiny_embedder import TINY

pytestmark = [pytest.mark.datasette]

PATIENCE = 90.0  # seconds, because everything is slow on a busy machine
UPDATE = "/-/bear-search/update"
SAME = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Set up a home with Bear, a vault, a graph, and an entry for a vault that is gone."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    bear = tmp_path / LOCATIONS[0]
    bear.parent.mkdir(parents=True)
    bear_library(bear, [BearNote("# Roof\n\nIt leaks."), BearNote("# Shed")])
    vault = tmp_path / "My Vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Cellar.md").write_text("Apples are in the cellar.")
    listed = tmp_path / ".config" / "obsidian" / "obsidian.json"
    listed.parent.mkdir(parents=True)
    vaults = {"a": {"path": str(vault)}, "b": {"path": str(tmp_path / "gone")}, "c": {"path": ""}}
    listed.write_text(json.dumps({"vaults": vaults}))
    graph = tmp_path / "graph"
    (graph / "logseq").mkdir(parents=True)
    (graph / "pages").mkdir()
    cache = tmp_path / ".logseq" / "graphs"
    cache.mkdir(parents=True)
    encoded = str(graph).replace("/", "++")
    (cache / f"logseq_local_{encoded}.transit").touch()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "Key.md").write_text("Under the stone.")
    return tmp_path


@pytest.fixture
def served(home, monkeypatch):
    """Return what bear-serve serves without an index and without a model."""
    # While tests keep the machine busy, a process with the lowest priority would never run.
    monkeypatch.setattr(index_updater, "NICENESS", 0)
    path = home / "notes.db"
    with database.open_for_writing(path) as connection:
        metadata.set_meta(connection, **{metadata.SEMANTIC: metadata.NO})
    datasette = Datasette([str(path)])
    updater = index_updater.Updater(path, partial(_task, path, None))
    freshness.updaters[datasette] = updater
    yield datasette
    updater.stop()


def test_apps_say_where_their_notes_are(home):
    found = {config.name: (config.kind, config.location) for config in registry.installed()}
    assert found == {
        "bear": ("bear", str(home / LOCATIONS[0])),
        "my-vault": ("obsidian", str(home / "My Vault")),
        "graph": ("logseq", str(home / "graph")),
    }


def test_doctor_says_which_of_them_are_not_indexed(home):
    (home / LOCATIONS[0]).write_bytes(b"damaged")
    findings = {each.name: each for each in examine(home / "none.db")["Sources"]}
    vault = findings["my-vault"]
    assert vault.says.endswith("My Vault has 1 note, none indexed yet")
    assert vault.mend.endswith(f" --sidecar {home / 'none.db'} '{home / 'My Vault'}'")
    assert findings["bear"].ok is False


@pytest.mark.asyncio
async def test_ticked_sources_are_indexed_and_watched(home, served):
    page = (await served.client.get("/-/bear-search")).text
    offers = [offer.split() for offer in re.findall(r"checkbox.*?<strong>(.*?)<br>", page)]
    assert offers == [
        ["Bear</strong>:", "2", "notes"],
        ["Obsidian</strong>:", "1", "note"],
        ["Logseq</strong>:", "0", "notes"],
    ]
    token = served.sign("token", "csrftoken")
    cookies = {"ds_csrftoken": token}

    async def post(status, headers=SAME, **form):
        content = urlencode({"csrftoken": token, **form}, doseq=True)
        response = await served.client.post(
            UPDATE, content=content, headers=headers, cookies=cookies
        )
        assert response.status_code == status, response.text
        return response

    # Nobody can make it read another location, and another site can't do anything.
    for location in (home / "secret", home / "My Vault" / "..", ""):
        await post(400 if location else 303, location=str(location))
    other = {**SAME, "sec-fetch-site": "cross-site"}
    await post(403, other, location=str(home / "My Vault"))
    assert "Found on this computer" in (await served.client.get("/-/bear-search")).text

    wanted = [str(home / LOCATIONS[0]), str(home / "My Vault")]
    await post(303, location=wanted)
    assert (
        "http-equiv" in (await served.client.get("/-/bear-search")).text
    )  # the page reloads by itself

    async def until(query, titles):
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = (await served.client.get(f"/-/bear-search.json?q={query}&mode=keyword")).json()
            found = [row["title"] for row in answer["rows"]]
            if found == titles:
                return
            assert time.monotonic() < deadline, found
            time.sleep(0.7)  # while somebody searches, the process waits

    await until("apples", ["Cellar"])
    with closing(database.connect(home / "notes.db")) as connection:
        assert sorted(sources.read_sources(connection)) == ["bear", "my-vault"]
    (home / "My Vault" / "Attic.md").write_text("Pears are in the attic.")
    await until("pears", ["Attic"])
    deadline = time.monotonic() + PATIENCE  # the page says so while it is updating
    while "Update now" not in (page := (await served.client.get("/-/bear-search")).text):
        assert time.monotonic() < deadline, page
        time.sleep(0.1)
    assert "Updated" in page
    # The page names a source that can't be read and says what to do. The others are still read.
    (home / "My Vault").rename(home / "Moved")
    await post(303, {**SAME, "referer": "http://localhost/-/bear-search?q=roof"})
    deadline = time.monotonic() + PATIENCE
    while "<strong>my-vault</strong>" not in (text := (await served.client.get(UPDATE)).text):
        assert time.monotonic() < deadline, text
        time.sleep(0.1)
    assert "There is nothing at" in text or "Check" in text
    await until("apples", ["Cellar"])


@pytest.mark.asyncio
async def test_a_button_keeps_the_server_running(served, home, monkeypatch):
    asked = []

    def run(arguments):
        asked.append(" ".join(arguments))
        return subprocess.CompletedProcess(arguments, 1 if "fails" in asked else 0, "", "No bus")

    monkeypatch.setattr(service, "_run", run)
    token = served.sign("token", "csrftoken")
    options = {"cookies": {"ds_csrftoken": token}, "headers": SAME}
    content = urlencode({"csrftoken": token, "keep": "1"})
    assert "Keep this running" in (await served.client.get("/-/bear-search")).text
    other = {**options, "headers": {**SAME, "sec-fetch-site": "cross-site"}}
    assert (await served.client.post(UPDATE, content=content, **other)).status_code == 403
    assert asked == []
    assert (await served.client.post(UPDATE, content=content, **options)).status_code == 303
    assert asked[-1] == "systemctl --user restart datasette-bear-search"
    [unit] = home.rglob("*.service")
    assert f'"--sidecar={home / "notes.db"}"' in unit.read_text()
    page = (await served.client.get("/-/bear-search")).text
    assert "also starts when you log in" in page
    assert "Keep this running" not in page
    asked.append("fails")
    response = await served.client.post(UPDATE, content=content, **options)
    assert response.status_code == 500
    assert "failed: No bus" in response.text


# The choice of a model


def radio_buttons(page: str) -> dict[str, str]:
    """Return what the page says of each model, by its name."""
    choices = re.findall(r'name="model" value="([^"]+)"(.*?)</p>', page, re.DOTALL)
    return {model: " ".join(re.sub("<[^>]*>", " ", says).split()) for model, says in choices}


@pytest.mark.asyncio
async def test_models_are_offered_with_what_they_cost_and_how_good_they_are(served, monkeypatch):
    monkeypatch.setattr(first_run.models, "missing_package", lambda model: None)
    page = (await served.client.get("/-/bear-search")).text
    says = radio_buttons(page)
    assert [*says] == [each.model for each in CHOICES]
    assert "MB" not in says[BUNDLED]
    assert "English .990" in says[BUNDLED]
    assert "133 MB to download" in says[HUB_DEFAULT]
    assert "published .515" in says[HUB_DEFAULT]
    assert "471 MB to download" in says[MULTILINGUAL_MODEL]
    assert "German .979" in says[MULTILINGUAL_MODEL]
    assert "disabled" not in page


@pytest.mark.asyncio
async def test_a_model_that_lacks_a_package_says_what_to_install(served, monkeypatch):
    monkeypatch.setattr(registry_of_models, "find_spec", lambda name: None)
    says = radio_buttons((await served.client.get("/-/bear-search")).text)
    assert "disabled" in says[MULTILINGUAL_MODEL]
    assert "pip install sentence-transformers" in says[MULTILINGUAL_MODEL]


@pytest.mark.asyncio
async def test_a_form_can_only_choose_models_that_are_offered(served, monkeypatch):
    asked = []
    monkeypatch.setattr(
        freshness.updaters[served], "update", lambda *arguments: asked.append(arguments)
    )
    monkeypatch.setattr(registry_of_models, "default_model", lambda: BUNDLED)

    async def post(headers=SAME, **form) -> int:
        token = served.sign("token", "csrftoken")
        content = urlencode({"csrftoken": token, **form})
        options = {"cookies": {"ds_csrftoken": token}, "headers": headers}
        return (await served.client.post(UPDATE, content=content, **options)).status_code

    assert await post(model="somebody/else") == 400
    assert await post({**SAME, "sec-fetch-site": "cross-site"}, model=MULTILINGUAL_MODEL) == 403
    assert asked == []
    assert await post(model=BUNDLED) == 303  # what is used anyway
    assert await post(model=MULTILINGUAL_MODEL) == 303
    assert asked == [([],), ([], MULTILINGUAL_MODEL)]


def test_the_present_model_is_used_if_the_chosen_one_cannot_be_had(home, monkeypatch):
    offline = ModelUnavailable("The hub can't be reached.")

    def check_hub(name: str):
        raise offline

    monkeypatch.setattr(files, "check_hub", check_hub)
    path, told = home / "notes.db", []
    task = _task(path, None, [str(home / LOCATIONS[0])], MULTILINGUAL_MODEL)
    assert (task.model, task.fallback) == (MULTILINGUAL_MODEL, TINY)
    get_model = partial(index_updater._IdleModel, SimpleNamespace(value=0.0))
    watcher = Watcher(path, task, told.append, get_model)
    monkeypatch.setattr(watcher, "_wait", watcher.stop)
    watcher.run()
    assert f"Downloading the model {MULTILINGUAL_MODEL}" in " ".join(each.doing for each in told)
    assert told[-1].problems == {"": f"The hub can't be reached. Until then, {TINY} is used."}
    with closing(database.connect(path)) as connection:
        state = database.read_state(connection)
    assert (state.model, state.has_vectors, state.pending) == (TINY, True, 0)


@pytest.mark.asyncio
async def test_a_datasette_that_never_writes_installs_nothing(home, monkeypatch):
    monkeypatch.setattr(service, "_run", lambda arguments: pytest.fail("ran a command"))
    path = home / "notes.db"
    with database.open_for_writing(path):
        pass
    datasette = Datasette([str(path)])
    await datasette.invoke_startup()
    token = datasette.sign("token", "csrftoken")
    options = {"cookies": {"ds_csrftoken": token}, "headers": SAME}
    content = urlencode({"csrftoken": token, "keep": "1"})
    assert (await datasette.client.post(UPDATE, content=content, **options)).status_code == 404
    assert not list(home.rglob("*.service"))


@pytest.mark.asyncio
async def test_plain_datasette_says_how_fresh_the_index_is_and_never_writes(home):
    path = home / "notes.db"
    with database.open_for_writing(path) as connection:
        metadata.set_meta(connection, indexed="2024-01-02T03:04:05Z")
    datasette = Datasette([str(path)])
    page = (await datasette.client.get("/-/bear-search")).text
    assert "2024-01-02T03:04:05Z" in page
    assert "0 notes" in page
    assert "Update now" not in page
    assert "Found on this computer" not in page
