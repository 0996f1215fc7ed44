"""A folder of Google Drive → notes, by Google's API. Reads only; ``README.md`` has the set-up.

``python -m datasette_bear_search_google_drive CLIENT.json`` signs in and fills the keychain.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import google_auth_httplib2
import httplib2
import keyring
from datasette import hookimpl
from google.auth.exceptions import GoogleAuthError, RefreshError
from google.oauth2 import credentials, service_account
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from keyring.errors import KeyringError

from datasette_bear_search.notes import Note, counted
from datasette_bear_search.sources import (
    Incremental,
    Interrupted,
    SourceError,
    Unchanged,
    Unreadable,
    html_to_markdown,
    note_from_markdown,
)
from datasette_bear_search.sources.files.archive import LARGEST_NOTE, MEGABYTE
from datasette_bear_search.sources.files.states import digest
from datasette_bear_search.sources.formats.documents import parse_word
from datasette_bear_search.sources.formats.markdown_metadata import as_markdown
from datasette_bear_search.sources.formats.text import decode

SCOPES = ["https://www.googleapis.com/auth/drive.readonly"]
# Where the key is: in the environment, else in the keychain.
VARIABLE = "DATASETTE_BEAR_SEARCH_GOOGLE_DRIVE_KEY"
SERVICE, ACCOUNT = "datasette-bear-search", "google-drive"

API: str | None = None  # another address of the API, for tests
# Seconds to wait for one answer in all, if Google asks for patience; then the rest waits for the
# next reading.
LONGEST_WAIT = 120.0
SECONDS_BETWEEN_TRIES = 2.0  # doubled each time, if Google doesn't say how long
FILES_PER_PAGE = 1000  # the most that Google gives
FOLDERS_PER_QUERY = 40
TIMEOUT = 60  # seconds
# Changes whenever the same files give other notes.
VERSION = 1

FOLDER = "application/vnd.google-apps.folder"
_GOOGLE = "application/vnd.google-apps."
EXPORTS = {
    f"{_GOOGLE}document": "text/markdown",
    f"{_GOOGLE}presentation": "text/plain",
    f"{_GOOGLE}spreadsheet": "text/csv",  # its first sheet
}
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FILES = {_WORD: ".docx", "text/html": ".html", "text/markdown": ".md", "text/plain": ".txt"}
_SUFFIX = re.compile(r"\.(?:docx|html?|markdown|md|txt)$", re.IGNORECASE)

_LOCATION = re.compile(
    r"https://drive\.google\.com/drive/(?:u/\d+/)?(?:(?P<root>my-drive)|folders/(?P<id>[\w-]+))"
    r"/?(?:[?#].*)?",
    re.ASCII,
)
_FIELDS = (
    "nextPageToken, incompleteSearch, files(id, name, mimeType, parents, size, md5Checksum,"
    " createdTime, modifiedTime, trashed, starred, webViewLink)"
)
# Pictures in a document that was exported as Markdown: "[image1]: <data:image/png;base64,…>"
_PICTURES = re.compile(
    r"^\[[^\[\]\n]+\]: <data:[^>\n]*>[ \t]*\n?|!\[[^\[\]\n]*\]\[image\d+\]", re.M
)

_TOO_MANY = ("rateLimitExceeded", "userRateLimitExceeded")
_OF_ONE_FILE = ("exportSizeLimitExceeded", "cannotDownloadFile", "cannotExportFile")


class GoogleDrive(Incremental):
    """A folder of Google Drive, by its address: https://drive.google.com/drive/folders/…"""

    app = "Google Drive"
    heading_link = ""
    default_name = "google-drive"
    default_every = "1h"

    def __init__(self, location: str, name: str = "", *, account: str = ACCOUNT) -> None:
        match = _LOCATION.fullmatch(location)
        if not match:
            raise SourceError(
                f"{location} is no folder of Google Drive. Open the folder in the browser and give"
                " its address, or https://drive.google.com/drive/my-drive for all of yours."
            )
        self.location, self.name = location, name or self.default_name
        self.skipped: list[str] = []
        self._root = match["id"] or "root"
        self._account = str(account)

    @classmethod
    def reads(cls, location: str) -> bool:
        return bool(_LOCATION.fullmatch(location))

    @classmethod
    def default_location(cls) -> str:
        return "https://drive.google.com/drive/my-drive"

    def state(self) -> str:
        return ""  # to list a thousand files takes one request, as does to ask whether one changed

    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterator[Note | Unchanged]:
        self.skipped, others = [], Counter[str]()
        seen: set[str] = set()
        drive = self._open()
        request = drive.get(fileId=self._root, fields="id, driveId", supportsAllDrives=True)
        try:
            root = self._ask(request)
        except Unreadable:
            raise SourceError(
                f"There is no folder at {self.location}, or it isn't shared with the account of the"
                " key. Share it with that account, or give another address."
            ) from None
        is_whole = True
        for page, folders in self._pages(drive, root, include_trashed):
            is_whole &= not page.get("incompleteSearch")
            for file in page.get("files", []):
                key, kind = file["id"], file["mimeType"]
                if kind == FOLDER or key in seen:
                    continue
                seen.add(key)
                path = next((folders[it] for it in file.get("parents", []) if it in folders), "")
                stamp = digest((VERSION, path, sorted({**file, "parents": 0}.items())), size=8)
                if kind not in EXPORTS and kind not in FILES:
                    others[kind.removeprefix(_GOOGLE)] += 1
                elif known.get(key) == stamp:
                    yield Unchanged(key)
                elif (item := self._note(drive, file, path, stamp, key in known)) is not None:
                    yield item
        if not is_whole:
            self.skipped.append("Google listed only a part; what it left out stays as it was")
            yield from (Unchanged(key) for key in known.keys() - seen)
        if others:
            types = ", ".join(f"{kind} {count:,}" for kind, count in others.most_common(5))
            files = counted(others.total(), "file")
            self.skipped.append(f"{files} of types that aren't read ({types})")

    def _pages(
        self, drive: Any, root: Mapping[str, str], include_trashed: bool
    ) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        """Yield the lists of files in the folder and those below it, with the folders' paths."""
        where: dict[str, Any] = {"corpora": "user"}
        if root.get("driveId"):
            where = {"corpora": "drive", "driveId": root["driveId"]}
        folders = {root["id"]: ""}
        to_list = [root["id"]]
        while to_list:
            now, to_list = to_list[:FOLDERS_PER_QUERY], to_list[FOLDERS_PER_QUERY:]
            query = f"({' or '.join(f'{folder!r} in parents' for folder in now)})"
            query += "" if include_trashed else " and trashed = false"
            token = None
            while token is not None or now:
                request = drive.list(
                    q=query,
                    pageToken=token,
                    pageSize=FILES_PER_PAGE,
                    fields=_FIELDS,
                    supportsAllDrives=True,
                    includeItemsFromAllDrives=True,
                    **where,
                )
                try:
                    page = self._ask(request)
                except Unreadable as reason:
                    raise Interrupted(f"A folder {reason}. It is read again later.") from None
                for file in page.get("files", []):
                    if file["mimeType"] == FOLDER and file["id"] not in folders:
                        above = next(folders[it] for it in file["parents"] if it in folders)
                        folders[file["id"]] = f"{above}/{file['name'].replace('/', '-')}".strip("/")
                        to_list.append(file["id"])
                yield page, folders
                now, token = [], page.get("nextPageToken")

    def _note(
        self, drive: Any, file: Mapping[str, Any], path: str, stamp: str, is_known: bool
    ) -> Note | Unchanged | None:
        key, name = file["id"], file["name"]
        try:
            text = self._text(drive, file)
        except Unreadable as reason:
            self.skipped.append(f"{path}/{name}: {reason}".lstrip("/"))
            return Unchanged(key) if is_known and not reason.is_gone else None
        return note_from_markdown(
            key,
            text,
            title=_SUFFIX.sub("", name) if file["mimeType"] in FILES else name,
            tags=[path] if path else [],
            created=file.get("createdTime"),
            modified=file.get("modifiedTime"),
            pinned=bool(file.get("starred")),
            trashed=bool(file.get("trashed")),
            url=file.get("webViewLink"),
            stamp=stamp,
        )

    def _text(self, drive: Any, file: Mapping[str, Any]) -> str:
        """Return a file's text as Markdown. Raise Unreadable."""
        if int(file.get("size") or 0) > LARGEST_NOTE and file["mimeType"] in FILES:
            raise Unreadable(f"larger than {LARGEST_NOTE // MEGABYTE} MB")
        if as_type := EXPORTS.get(file["mimeType"]):
            request = drive.export(fileId=file["id"], mimeType=as_type)
        else:
            as_type = file["mimeType"]
            request = drive.get_media(fileId=file["id"], supportsAllDrives=True)
        data = self._ask(request)
        if as_type == _WORD:
            return parse_word(data).text
        text = decode(data).lstrip("\ufeff")
        if as_type == "text/html":
            return html_to_markdown(text)
        return _PICTURES.sub("", text) if as_type == "text/markdown" else as_markdown(text)

    # --- Google's API

    def _open(self) -> Any:
        """Return the part of the API that knows files. Raise SourceError without a key."""
        text = os.environ.get(VARIABLE)
        with suppress(KeyringError):  # this machine has no keychain, or it is locked
            text = text or keyring.get_password(SERVICE, self._account)
        if not text:
            raise SourceError(
                "There is no key for Google Drive that can be read here. Run: keyring set"
                f" {SERVICE} {self._account} < KEY.json, or set the environment variable"
                f" {VARIABLE}."
            )
        try:
            key = json.loads(text)
            is_service = key["type"] == "service_account"
            kind: Any = service_account if is_service else credentials
            read = "from_service_account_info" if is_service else "from_authorized_user_info"
            found = getattr(kind.Credentials, read)(key, scopes=SCOPES)
        except (ValueError, KeyError, TypeError, GoogleAuthError):  # these would show the key
            raise SourceError(
                "The key for Google Drive isn't the JSON of a service account or of a signed-in"
                " user. Make a new one, as the README of datasette-bear-search-google-drive says."
            ) from None
        http = google_auth_httplib2.AuthorizedHttp(found, http=httplib2.Http(timeout=TIMEOUT))
        options = {"api_endpoint": API} if API else {}
        service = build("drive", "v3", http=http, static_discovery=True, client_options=options)
        return service.files()

    def _ask(self, request: Any) -> Any:
        """Return Google's answer; wait if it asks for patience. Raise SourceError, Unreadable."""
        waited, pause = 0.0, SECONDS_BETWEEN_TRIES
        while True:
            try:
                return request.execute()
            except HttpError as error:
                status, reason = error.status_code, _reason(error)
                if status != 429 and status < 500 and reason not in _TOO_MANY:
                    raise self._explained(status, reason) from None
                asked = error.resp.get("retry-after", "")
                wait = max(float(asked) if asked.isdecimal() else 0.0, pause)
            except RefreshError as error:
                if not error.retryable:
                    raise self._explained(401, "") from None
                wait, status = pause, 503
            except (GoogleAuthError, httplib2.HttpLib2Error, OSError) as error:
                raise Interrupted(
                    f"Google can't be reached ({type(error).__name__}). What the index has of this"
                    " source stays searchable; it is read when there is a connection again."
                ) from None
            if waited + wait > LONGEST_WAIT:
                raise Interrupted(
                    f"Google takes no more requests for now ({status}, again in {wait:.0f} s). What"
                    " was read until then is indexed; the next reading goes on from there."
                ) from None
            time.sleep(wait)
            waited, pause = waited + wait, pause * 2

    def _explained(self, status: int, reason: str) -> Exception:
        if status == 401:
            return SourceError(
                "Google no longer accepts the key for Google Drive: it has expired or was revoked."
                f" Make a new one and store it with: keyring set {SERVICE} {self._account} <"
                " KEY.json. Until then, its notes in the index stay searchable."
            )
        if status == 404:
            return Unreadable("was removed while the folder was read")
        if reason in _OF_ONE_FILE:
            return Unreadable(f"Google doesn't hand it out ({reason})", is_gone=False)
        advice = {
            "accessNotConfigured": "Turn on the Google Drive API in the project of the key.",
            "insufficientPermissions": f"Sign in again, with the scope {SCOPES[0]}.",
        }
        says = advice.get(reason, "Check what the account of the key may do.")
        return SourceError(f"Google refuses to answer ({status}, {reason or 'no reason'}). {says}")


def _reason(error: HttpError) -> str:
    try:
        return str(json.loads(error.content)["error"]["errors"][0]["reason"])
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


@hookimpl
def bear_search_register_note_sources() -> Mapping[str, type]:
    return {"google-drive": GoogleDrive}


def sign_in(client_file: str, account: str = ACCOUNT) -> None:
    """Let a person allow reading in the browser, and store the key in the keychain."""
    from google_auth_oauthlib.flow import InstalledAppFlow

    found = InstalledAppFlow.from_client_secrets_file(client_file, SCOPES).run_local_server(port=0)
    key = {**json.loads(found.to_json()), "type": "authorized_user", "token": None}
    keyring.set_password(SERVICE, account, json.dumps(key))


if __name__ == "__main__":
    sign_in(*sys.argv[1:])
