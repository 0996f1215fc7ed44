"""A Bear library for tests: a database with the same tables as that of the current Bear 2.

Bear never opened it. The demo's notes can be written as one, too.
"""

from __future__ import annotations

import hashlib
import plistlib
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from uuid import uuid5

from datasette_bear_search import demo
from datasette_bear_search.demo import LIBRARY_ID
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.text.markdown import WIKI_LINK

_TABLES = Path(__file__).parent / "bear.sql"
_EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class BearFile:
    """An image, video or other file in a note. ``ocr`` is the text that Bear recognized in it."""

    name: str
    ocr: str | None = None
    kind: Literal["image", "file", "video"] = "image"
    unused: bool = False
    deleted: bool = False
    encrypted: bool = False


@dataclass(frozen=True)
class BearNote:
    """A note to write, given by ``text`` (Markdown, first line "# Title") or by ``title`` alone."""

    text: str | None = None
    title: str | None = None
    id: str | None = None  # made from the title if None
    created: datetime = datetime(2024, 1, 1, 9, tzinfo=timezone.utc)
    modified: datetime | None = None  # the time of creation if None
    tags: tuple[str, ...] = ()  # full paths; parent tags are added
    pinned_in: tuple[str, ...] = ()  # more tags, in which the note is pinned
    pinned: bool = False
    archived: bool = False
    trashed: bool = False
    purged: bool = False  # deleted from the trash, but not yet on other devices
    encrypted: bool = False  # then only the title is stored in plain text
    locked: bool = False
    files: tuple[BearFile, ...] = ()


def demo_notes() -> list[BearNote]:
    return [_read_note(path) for path in sorted(demo.NOTES.glob("*.md"))]


def write_demo_library(path: Path) -> int:
    """Write the demo's notes as a Bear database; return how many there are."""
    notes = demo_notes()
    write_library(path, notes)
    return len(notes)


def write_library(path: Path, notes: Iterable[BearNote]) -> None:
    """Write a library of ``notes`` in place of an earlier one."""
    with TemporaryDirectory(dir=path.parent) as folder:
        finished = Path(folder) / path.name
        _write(finished, notes)
        for suffix in ("-journal", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        finished.replace(path)


def _read_note(path: Path) -> BearNote:
    properties, text = demo.read_note(path)
    images, files = properties.pop("images", {}), properties.pop("files", {})
    properties |= {name: tuple(properties.get(name, ())) for name in ("tags", "pinned_in")}
    return BearNote(
        id=demo.note_id(path),
        text=text,
        files=(
            *(BearFile(name, ocr, "image") for name, ocr in images.items()),
            *(BearFile(name, ocr, "file") for name, ocr in files.items()),
        ),
        **properties,
    )


# --- A database of the current Bear 2

# Core Data numbers its entities in this order, from 1. Generic files, images and videos share the
# table of SFNoteFile.
_ENTITIES = """
    SFChange SFChangeItem SFExternalChanges SFInternalChanges SFNote SFNoteBackLink SFNoteFile
    SFNoteGenericFile SFNoteImage SFNoteVideo SFNoteFileServerData SFNoteServerData SFNoteTag
    SFPassword SFServerMetadata
    """.split()
_FILE_ENTITIES = {"file": "SFNoteGenericFile", "image": "SFNoteImage", "video": "SFNoteVideo"}


def _write(path: Path, notes: Iterable[BearNote]) -> None:
    model = {"NSStoreType": "SQLite", "NSStoreModelVersionIdentifiers": ["Version 7"]}
    plist = plistlib.dumps({**model, "_NSAutoVacuumLevel": "2"}, fmt=plistlib.FMT_BINARY)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("pragma page_size = 4096")
        db.execute("pragma auto_vacuum = incremental")
        db.executescript(f"begin;\n{_TABLES.read_text(encoding='utf-8')}")
        db.execute("insert into Z_METADATA values (1, ?, ?)", [str(LIBRARY_ID).upper(), plist])
        same_title: Counter[str] = Counter()
        pks = []
        for note in notes:
            title = _title(note)
            same_title[title] += 1
            id = note.id or _id("note", title, same_title[title])
            pks.append((note, _write_note(db, note, id)))
        _write_tags(db, pks)
        _write_links(db)
        _count_rows(db)
        db.execute("commit")


def _id(*name: object) -> str:
    return str(uuid5(LIBRARY_ID, "\n".join(map(str, name)))).upper()


def _title(note: BearNote) -> str:
    if note.title is not None:
        return note.title
    return re.sub(r"^#{1,6}(\s+|$)", "", (note.text or "").partition("\n")[0]).strip()


def _write_note(db: sqlite3.Connection, note: BearNote, id: str) -> int:
    text = note.text if note.text is not None else f"# {note.title}" if note.title else ""
    modified = _modified(note)
    content: dict[str, Any] = {"TEXT": text}
    if note.encrypted:
        content = {
            "ENCRYPTEDDATA": hashlib.shake_256(id.encode()).digest(len(text) + 64),
            "ENCRYPTIONUNIQUEIDENTIFIER": _id("encryption", id),
            "ENCRYPTIONDATE": modified,
            "PASSWORD": _password(db),
        }
    for flag in ("pinned", "archived", "trashed", "locked"):
        is_set = getattr(note, flag)
        content |= {flag.upper(): is_set, f"{flag.upper()}DATE": modified if is_set else None}
    pk = _insert(
        db,
        "SFNote",
        UNIQUEIDENTIFIER=id,
        TITLE=_title(note),
        CREATIONDATE=_seconds(note.created),
        MODIFICATIONDATE=modified,
        ENCRYPTED=note.encrypted,
        PERMANENTLYDELETED=note.purged,
        TODOINCOMPLETED=len(re.findall(r"^\s*[-*+] \[ \] ", text, re.MULTILINE)),
        TODOCOMPLETED=len(re.findall(r"^\s*[-*+] \[[xX]\] ", text, re.MULTILINE)),
        HASIMAGES=any(file.kind == "image" for file in note.files),
        HASFILES=any(file.kind != "image" for file in note.files),
        HASSOURCECODE="```" in text,
        **content,
    )
    for position, file in enumerate(note.files):
        _insert(
            db,
            "SFNoteFile",
            entity=_FILE_ENTITIES[file.kind],
            UNIQUEIDENTIFIER=_id("file", id, position),
            NOTE=pk,
            INDEX=position,
            FILENAME=file.name,
            NORMALIZEDFILEEXTENSION=Path(file.name).suffix[1:].lower().replace("jpg", "jpeg"),
            SEARCHTEXT=file.ocr,
            SEARCHTEXTDATE=None if file.ocr is None else modified,
            CREATIONDATE=modified,
            INSERTIONDATE=modified,
            MODIFICATIONDATE=modified,
            UNUSED=file.unused,
            PERMANENTLYDELETED=file.deleted,
            ENCRYPTED=file.encrypted,
        )
    return pk


def _password(db: sqlite3.Connection) -> int:
    known = db.execute("select Z_PK from ZSFPASSWORD").fetchone()
    if known:
        return known[0]
    return _insert(db, "SFPassword", UNIQUEIDENTIFIER=_id("password"), ENCRYPTIONVERSION=2)


def _write_tags(db: sqlite3.Connection, pks: list[tuple[BearNote, int]]) -> None:
    """Write each tag and all its parents, and link the note to all of them, as Bear does."""
    tag_pks: dict[str, int] = {}
    for note, note_pk in pks:
        tags = [tag.split("/") for tag in (*note.tags, *note.pinned_in)]
        for path in dict.fromkeys(path for tag in tags for path in accumulate(tag, "{}/{}".format)):
            if path not in tag_pks:
                tag_pks[path] = _insert(
                    db,
                    "SFNoteTag",
                    UNIQUEIDENTIFIER=_id("tag", path),
                    TITLE=path,
                    ISROOT="/" not in path,
                    MODIFICATIONDATE=_modified(note),
                )
            db.execute("insert into Z_5TAGS values (?, ?)", [note_pk, tag_pks[path]])
        for path in note.pinned_in:
            db.execute("insert into Z_5PINNEDINTAGS values (?, ?)", [note_pk, tag_pks[path]])


def _write_links(db: sqlite3.Connection) -> None:
    """Write a row for each [[Title]], [[Title/Heading]] and [[Title|alias]] of a note."""
    notes = db.execute("select Z_PK, ZTITLE, ZTEXT, ZMODIFICATIONDATE from ZSFNOTE").fetchall()
    pks = {title: pk for pk, title, _, _ in reversed(notes) if title}
    for pk, _, text, modified in notes:
        for link in WIKI_LINK.finditer(text or ""):
            title = link["target"].strip()
            if title not in pks:
                title = title.partition("/")[0].strip()
            if title not in pks:
                continue
            # Bear counts UTF-16 code units, as Apple's strings do.
            location = len(text[: link.start("target") - 2].encode("utf-16-le")) // 2
            _insert(
                db,
                "SFNoteBackLink",
                UNIQUEIDENTIFIER=_id("link", pk, location),
                LINKEDBY=pk,
                LINKINGTO=pks[title],
                TITLE=title,
                LOCATION=location,
                MODIFICATIONDATE=modified,
            )


def _insert(db: sqlite3.Connection, table: str, *, entity: str = "", **values: Any) -> int:
    row: dict[str, object] = {"Z_ENT": _ENTITIES.index(entity or table) + 1, "Z_OPT": 1}
    row |= {f"Z{name}": value for name, value in values.items()}
    sql = f"insert into Z{table.upper()} ({', '.join(row)}) values ({', '.join('?' * len(row))})"
    return db.execute(sql, list(row.values())).lastrowid or 0


def _count_rows(db: sqlite3.Connection) -> None:
    """Fill Core Data's table of entities with their numbers and the highest Z_PK of each."""
    for number, name in enumerate(_ENTITIES, 1):
        is_file = name in _FILE_ENTITIES.values()
        highest = 0 if is_file else f"(select coalesce(max(Z_PK), 0) from Z{name.upper()})"
        above = _ENTITIES.index("SFNoteFile") + 1 if is_file else 0
        db.execute(f"insert into Z_PRIMARYKEY values (?, ?, ?, {highest})", [number, name, above])


def _modified(note: BearNote) -> float:
    return _seconds(note.modified or note.created)


def _seconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds()
