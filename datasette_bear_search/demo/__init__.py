"""A made-up Bear library, for trying the search without notes of one's own.

The notes are the Markdown files in ``notes/``. The front matter of each says what Bear knows about
the note besides its text; the text follows as Bear would store it. They belong to one invented
person and were written for this project.
"""

from __future__ import annotations

import hashlib
import plistlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from uuid import UUID, uuid5

import yaml

from ..sqlite import sqlite3


@dataclass(frozen=True)
class Entity:
    """A table of Core Data's: its columns by type, without the Z before each name."""

    number: int
    integers: str = ""
    timestamps: str = ""
    varchars: str = ""
    blobs: str = ""

    def columns(self) -> Iterator[str]:
        yield from ("Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER")
        for type_name, names in (
            ("INTEGER", self.integers),
            ("TIMESTAMP", self.timestamps),
            ("VARCHAR", self.varchars),
            ("BLOB", self.blobs),
        ):
            yield from (f"Z{name} {type_name}" for name in names.split())


ENTITIES = {
    "SFChange": Entity(1, "ORDER", varchars="TOKEN"),
    "SFChangeItem": Entity(2, "ITEMDELETED CHANGE", varchars="ITEMENTITY UNIQUEIDENTIFIER"),
    "SFExternalChanges": Entity(3, "ITEMCHANGE", varchars="ITEMENTITY ITEMOBJECTID"),
    "SFInternalChanges": Entity(4, "ITEMCHANGE", varchars="CHANGETYPE ITEMOBJECTID"),
    "SFNote": Entity(
        5,
        "ARCHIVED ENCRYPTED HASFILES HASIMAGES HASSOURCECODE LOCKED ORDER PERMANENTLYDELETED"
        " PINNED SHOWNINTODAYWIDGET SKIPSYNC TODOCOMPLETED TODOINCOMPLETED TRASHED VERSION"
        " PASSWORD SERVERDATA",
        "ARCHIVEDDATE CONFLICTUNIQUEIDENTIFIERDATE CREATIONDATE ENCRYPTIONDATE LOCKEDDATE"
        " MODIFICATIONDATE ORDERDATE PINNEDDATE TRASHEDDATE",
        "CONFLICTUNIQUEIDENTIFIER ENCRYPTIONUNIQUEIDENTIFIER LASTEDITINGDEVICE SUBTITLE TEXT"
        " TITLE UNIQUEIDENTIFIER",
        "ENCRYPTEDDATA VECTORCLOCK",
    ),
    "SFNoteBackLink": Entity(
        6,
        "LOCATION VERSION LINKEDBY LINKINGTO",
        "MODIFICATIONDATE",
        "TITLE UNIQUEIDENTIFIER",
        "SERVERDATA",
    ),
    "SFNoteFile": Entity(
        7,
        "DOWNLOADED ENCRYPTED FILESIZE INDEX PERMANENTLYDELETED SKIPSYNC UNUSED UPLOADED VERSION"
        " NOTE PASSWORD SERVERDATA ANIMATED HEIGHT WIDTH DURATION HEIGHT1 WIDTH1",
        "CREATIONDATE ENCRYPTIONDATE INSERTIONDATE MODIFICATIONDATE SEARCHTEXTDATE UNUSEDDATE"
        " UPLOADEDDATE",
        "ENCRYPTIONUNIQUEIDENTIFIER FILENAME LASTEDITINGDEVICE NORMALIZEDFILEEXTENSION SEARCHTEXT"
        " UNIQUEIDENTIFIER",
        "ENCRYPTEDDATA",
    ),
    "SFNoteFileServerData": Entity(11, "FILE 7_FILE", blobs="SYSTEMFIELDS"),
    "SFNoteServerData": Entity(12, "NOTE", blobs="SYSTEMFIELDS"),
    "SFNoteTag": Entity(
        13,
        "ENCRYPTED HIDESUBTAGSNOTES ISROOT PINNED SORTING SORTINGDIRECTION VERSION",
        "ENCRYPTEDDATE HIDESUBTAGSNOTESDATE MODIFICATIONDATE PINNEDDATE PINNEDNOTESDATE"
        " SORTINGDATE SORTINGDIRECTIONDATE TAGCONDATE",
        "TAGCON TITLE UNIQUEIDENTIFIER",
        "SERVERDATA",
    ),
    "SFPassword": Entity(
        14,
        "BIOMETRY ENCRYPTIONVERSION",
        "CREATIONDATE",
        "CREATIONDEVICE UNIQUEIDENTIFIER",
        "ENCRYPTEDDATA HINT",
    ),
    "SFServerMetadata": Entity(
        15, varchars="NOTEZONESUBSCRIPTIONID", blobs="NOTEZONEIDDATA SERVERCHANGETOKENDATA"
    ),
}

# The kinds of SFNoteFile: they share its table, and each has a number of its own.
FILE_KINDS = {
    "file": ("SFNoteGenericFile", 8),
    "image": ("SFNoteImage", 9),
    "video": ("SFNoteVideo", 10),
}


def create_tables(db: sqlite3.Connection, library_id: UUID) -> None:
    """Make the 17 tables and 13 indexes of a new library, empty but for the library's id."""
    for name, entity in ENTITIES.items():
        db.execute(f"create table Z{name.upper()} ({', '.join(entity.columns())})")
    for table, columns in _OTHER_TABLES.items():
        db.execute(f"create table {table} ({columns})")
    for table, *columns in _INDEXES:
        db.execute(f"create index {table}_{columns[0]}_INDEX on {table} ({', '.join(columns)})")
    model = {"NSStoreType": "SQLite", "NSStoreModelVersionIdentifiers": ["Version 7"]}
    plist = plistlib.dumps({**model, "_NSAutoVacuumLevel": "2"}, fmt=plistlib.FMT_BINARY)
    db.execute("insert into Z_METADATA values (1, ?, ?)", [str(library_id).upper(), plist])


_OTHER_TABLES = {
    "Z_5PINNEDINTAGS": (
        "Z_5PINNEDNOTES INTEGER, Z_13PINNEDINTAGS INTEGER,"
        " PRIMARY KEY (Z_5PINNEDNOTES, Z_13PINNEDINTAGS)"
    ),
    "Z_5TAGS": "Z_5NOTES INTEGER, Z_13TAGS INTEGER, PRIMARY KEY (Z_5NOTES, Z_13TAGS)",
    "Z_PRIMARYKEY": "Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER",
    "Z_METADATA": "Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB",
    "Z_MODELCACHE": "Z_CONTENT BLOB",
}

# Each is called after its table and its first column.
_INDEXES = (
    ("ZSFCHANGEITEM", "ZCHANGE"),
    ("ZSFNOTE", "ZPASSWORD"),
    ("ZSFNOTE", "ZSERVERDATA"),
    ("Z_5PINNEDINTAGS", "Z_13PINNEDINTAGS", "Z_5PINNEDNOTES"),
    ("Z_5TAGS", "Z_13TAGS", "Z_5NOTES"),
    ("ZSFNOTEBACKLINK", "ZLINKEDBY"),
    ("ZSFNOTEBACKLINK", "ZLINKINGTO"),
    ("ZSFNOTEFILE", "ZNOTE"),
    ("ZSFNOTEFILE", "ZPASSWORD"),
    ("ZSFNOTEFILE", "ZSERVERDATA"),
    ("ZSFNOTEFILE", "Z_ENT"),
    ("ZSFNOTEFILESERVERDATA", "ZFILE"),
    ("ZSFNOTESERVERDATA", "ZNOTE"),
)


# Writes a Bear library: a database with the tables of the current Bear 2, which Bear never saw.
#
# It stands in for a real one in ``datasette bear-demo`` and in the tests.

# Every id is made out of this and of a name, so that the same notes always make the same library.
# It is also the library's own id, by which write_library knows what it may replace.
LIBRARY_ID = UUID("8f5d3c0e-6a44-4d0b-9a54-3c1f7c0b7a11")

_EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)
_PREVIEW_CHARACTERS = 300


@dataclass(frozen=True)
class BearFile:
    """An image, video or other file in a note; ``ocr`` is the text that Bear recognized in it."""

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
    modified: datetime | None = None  # when it was created if None
    tags: tuple[str, ...] = ()  # full paths; the tags above them follow
    pinned_in: tuple[str, ...] = ()  # tags that it has, too, and is pinned in
    pinned: bool = False
    archived: bool = False
    trashed: bool = False
    purged: bool = False  # deleted from the trash, and waiting for the other devices to know
    encrypted: bool = False  # the library then holds nothing of the text but the title
    locked: bool = False
    files: tuple[BearFile, ...] = ()


def write_library(path: Path, notes: Iterable[BearNote]) -> None:
    """Write a library of ``notes`` at ``path``, in place of one that this function wrote before.

    Raises FileExistsError if anything else is there: it might be somebody's notes.
    """
    if path.exists() and str(LIBRARY_ID).upper().encode() not in path.read_bytes():
        raise FileExistsError(
            f"{path} is already there, and is no demo library. Choose another folder, or move it."
        )
    with TemporaryDirectory(dir=path.parent) as folder:
        finished = Path(folder) / path.name
        _write(finished, notes)
        for suffix in ("-journal", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        finished.replace(path)


def _write(path: Path, notes: Iterable[BearNote]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("pragma page_size = 4096")
        db.execute("pragma auto_vacuum = incremental")
        db.execute("begin")
        create_tables(db, LIBRARY_ID)
        pks = [(note, _write_note(db, note, id)) for note, id in _with_ids(notes)]
        _write_tags(db, pks)
        _write_links(db)
        _count_rows(db)
        db.execute("commit")


def _with_ids(notes: Iterable[BearNote]) -> Iterator[tuple[BearNote, str]]:
    same_title: Counter[str] = Counter()
    for note in notes:
        title = _title(note)
        same_title[title] += 1
        yield note, note.id or _id("note", title, same_title[title])


def _id(*name: object) -> str:
    return str(uuid5(LIBRARY_ID, "\n".join(map(str, name)))).upper()


def _title(note: BearNote) -> str:
    if note.title is not None:
        return note.title
    return re.sub(r"^#{1,6}(\s+|$)", "", (note.text or "").partition("\n")[0]).strip()


def _text(note: BearNote) -> str:
    if note.text is not None:
        return note.text
    return f"# {note.title}" if note.title else ""


def _write_note(db: sqlite3.Connection, note: BearNote, id: str) -> int:
    text, created, modified = _text(note), _seconds(note.created), _modified(note)
    if note.encrypted:
        content = {
            "ENCRYPTEDDATA": hashlib.shake_256(id.encode()).digest(len(text) + 64),
            "ENCRYPTIONUNIQUEIDENTIFIER": _id("encryption", id),
            "ENCRYPTIONDATE": modified,
            "PASSWORD": _password(db),
        }
    else:
        content = {"TEXT": text, "SUBTITLE": _preview(text)}
    pk = _insert(
        db,
        "SFNote",
        content
        | {
            "UNIQUEIDENTIFIER": id,
            "TITLE": _title(note),
            "CREATIONDATE": created,
            "MODIFICATIONDATE": modified,
            "PINNED": note.pinned,
            "PINNEDDATE": modified if note.pinned else None,
            "ARCHIVED": note.archived,
            "ARCHIVEDDATE": modified if note.archived else None,
            "TRASHED": note.trashed,
            "TRASHEDDATE": modified if note.trashed else None,
            "LOCKED": note.locked,
            "LOCKEDDATE": modified if note.locked else None,
            "ENCRYPTED": note.encrypted,
            "PERMANENTLYDELETED": note.purged,
            "TODOINCOMPLETED": len(re.findall(r"^\s*[-*+] \[ \] ", text, re.MULTILINE)),
            "TODOCOMPLETED": len(re.findall(r"^\s*[-*+] \[[xX]\] ", text, re.MULTILINE)),
            "HASIMAGES": any(file.kind == "image" for file in note.files),
            "HASFILES": any(file.kind != "image" for file in note.files),
            "HASSOURCECODE": "```" in text,
            "ORDER": 0,
            "SHOWNINTODAYWIDGET": 0,
            "SKIPSYNC": 0,
            "VERSION": 3,
        },
    )
    for position, file in enumerate(note.files):
        _write_file(db, file, _id("file", id, position), pk, position, modified)
    return pk


def _write_file(
    db: sqlite3.Connection, file: BearFile, id: str, note_pk: int, position: int, date: float
) -> None:
    _insert(
        db,
        "SFNoteFile",
        {
            "UNIQUEIDENTIFIER": id,
            "NOTE": note_pk,
            "INDEX": position,
            "FILENAME": file.name,
            "NORMALIZEDFILEEXTENSION": Path(file.name).suffix[1:].lower().replace("jpg", "jpeg"),
            "SEARCHTEXT": file.ocr,
            "SEARCHTEXTDATE": None if file.ocr is None else date,
            "CREATIONDATE": date,
            "INSERTIONDATE": date,
            "MODIFICATIONDATE": date,
            "UNUSED": file.unused,
            "PERMANENTLYDELETED": file.deleted,
            "ENCRYPTED": file.encrypted,
            "DOWNLOADED": 1,
            "UPLOADED": 1,
            "SKIPSYNC": 0,
            "VERSION": 3,
        },
        number=FILE_KINDS[file.kind][1],
    )


def _password(db: sqlite3.Connection) -> int:
    known = db.execute("select Z_PK from ZSFPASSWORD").fetchone()
    if known:
        return known[0]
    return _insert(db, "SFPassword", {"UNIQUEIDENTIFIER": _id("password"), "ENCRYPTIONVERSION": 2})


def _preview(text: str) -> str:
    """The text after the title without images, tags and marks, as Bear shows it below the title."""
    rest = text.partition("\n")[2]
    plain = re.sub(r"!\[.*?\]\(.*?\)|<!--.*?-->|(?<!\S)#\S+|\[\[|\]\]|[*`~#>]", "", rest)
    return " ".join(plain.split())[:_PREVIEW_CHARACTERS]


def _write_tags(db: sqlite3.Connection, pks: list[tuple[BearNote, int]]) -> None:
    """A tag for each path and for every path above it, each of them on the note, as Bear does."""
    tag_pks: dict[str, int] = {}
    for note, note_pk in pks:
        paths = [path for tag in (*note.tags, *note.pinned_in) for path in _with_ancestors(tag)]
        for path in dict.fromkeys(paths):
            if path not in tag_pks:
                tag_pks[path] = _insert(
                    db,
                    "SFNoteTag",
                    {
                        "UNIQUEIDENTIFIER": _id("tag", path),
                        "TITLE": path,
                        "ISROOT": "/" not in path,
                        "MODIFICATIONDATE": _modified(note),
                        "ENCRYPTED": 0,
                        "HIDESUBTAGSNOTES": 0,
                        "SORTING": 0,
                        "VERSION": 3,
                    },
                )
            db.execute("insert into Z_5TAGS values (?, ?)", [note_pk, tag_pks[path]])
        for path in note.pinned_in:
            db.execute("insert into Z_5PINNEDINTAGS values (?, ?)", [note_pk, tag_pks[path]])


def _with_ancestors(tag: str) -> Iterator[str]:
    parts = tag.split("/")
    return ("/".join(parts[:length]) for length in range(1, len(parts) + 1))


def _write_links(db: sqlite3.Connection) -> None:
    """A row for each [[Title]], [[Title/Heading]] and [[Title|alias]] of a note that is there."""
    notes = db.execute("select Z_PK, ZTITLE, ZTEXT, ZMODIFICATIONDATE from ZSFNOTE").fetchall()
    pks = {title: pk for pk, title, _, _ in reversed(notes) if title}
    for pk, _, text, modified in notes:
        for link in re.finditer(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]", text or ""):
            title = link[1].strip()
            if title not in pks:
                title = title.partition("/")[0].strip()
            if title not in pks:
                continue
            # Bear counts in UTF-16 units, as Apple's strings do.
            location = len(text[: link.start()].encode("utf-16-le")) // 2
            _insert(
                db,
                "SFNoteBackLink",
                {
                    "UNIQUEIDENTIFIER": _id("link", pk, location),
                    "LINKEDBY": pk,
                    "LINKINGTO": pks[title],
                    "TITLE": title,
                    "LOCATION": location,
                    "MODIFICATIONDATE": modified,
                    "VERSION": 3,
                },
            )


def _insert(
    db: sqlite3.Connection, entity: str, values: dict[str, object], number: int | None = None
) -> int:
    row = {"Z_ENT": number or ENTITIES[entity].number, "Z_OPT": 1}
    row |= {f"Z{name}": value for name, value in values.items()}
    sql = f"insert into Z{entity.upper()} ({', '.join(row)}) values ({', '.join('?' * len(row))})"
    return db.execute(sql, list(row.values())).lastrowid


def _count_rows(db: sqlite3.Connection) -> None:
    """Core Data's register of entities: the number of each, and the highest Z_PK in its table."""
    entities = [(entity.number, name, 0) for name, entity in ENTITIES.items()]
    kinds = [(number, name, 7) for name, number in FILE_KINDS.values()]
    for number, name, above in sorted(entities + kinds):
        highest = 0 if above else f"(select coalesce(max(Z_PK), 0) from Z{name.upper()})"
        db.execute(f"insert into Z_PRIMARYKEY values (?, ?, ?, {highest})", [number, name, above])


def _modified(note: BearNote) -> float:
    return _seconds(note.modified or note.created)


def _seconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds()


_NOTES = Path(__file__).parent / "notes"


def demo_notes() -> list[BearNote]:
    """All notes of the demo library, in the order of their file names."""
    return [_read_note(path) for path in sorted(_NOTES.glob("*.md"))]


def write_demo_library(path: Path) -> int:
    """Write the demo library as a Bear database at ``path``, and return how many notes it holds."""
    notes = demo_notes()
    write_library(path, notes)
    return len(notes)


def _read_note(path: Path) -> BearNote:
    _, front_matter, text = path.read_text(encoding="utf-8").split("---\n", 2)
    facts: dict[str, Any] = yaml.safe_load(front_matter)
    return BearNote(
        # Made from the file's name, so that a note keeps its id when its title changes.
        id=str(uuid5(LIBRARY_ID, path.stem)).upper(),
        text=text.rstrip("\n"),
        created=_utc(facts["created"]),
        modified=_utc(facts["modified"]),
        tags=tuple(facts.get("tags", ())),
        pinned_in=tuple(facts.get("pinned_in", ())),
        pinned=facts.get("pinned", False),
        archived=facts.get("archived", False),
        trashed=facts.get("trashed", False),
        encrypted=facts.get("encrypted", False),
        locked=facts.get("locked", False),
        files=(
            *(BearFile(name, ocr, "image") for name, ocr in facts.get("images", {}).items()),
            *(BearFile(name, ocr, "file") for name, ocr in facts.get("files", {}).items()),
        ),
    )


def _utc(moment: datetime) -> datetime:
    """The date as PyYAML read it, always with its time zone: older versions leave that out."""
    return moment.replace(tzinfo=timezone.utc)
