"""The tables of the current Bear 2, as Apple's Core Data lays them out."""

from __future__ import annotations

import plistlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    import sqlite3


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
