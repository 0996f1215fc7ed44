"""The notes in the Bear app's own database, in every version from 1.0 to the current Bear 2.

Bear uses Apple's Core Data, which renumbers its entities whenever one is added (``Z_5TAGS``,
``Z_7TAGS``). So tables and columns are discovered on each read. If a version lacks a column, its
values are null.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ...notes import Link, LinkedFile, Note, Tag, without_title_line
from ...sqlite import sqlite3
from ..base import SourceError
from ..files import readonly
from ..files.file_source import FileSource
from ..files.states import file_state
from ..formats.dates import APPLE_EPOCH, timestamp_from_seconds
from ..formats.text import decode_damaged

DATABASE_NAME = "database.sqlite"

# Where Bear keeps its notes, below the home folder: since version 1.6, before that, and originally.
_CONTAINER = "Library/Containers/net.shinyfrog.bear/Data"
LOCATIONS = (
    "Library/Group Containers/9K33E3U3T4.net.shinyfrog.bear/Application Data/database.sqlite",
    f"{_CONTAINER}/Documents/Application Data/database.sqlite",
    f"{_CONTAINER}/Library/Application Support/net.shinyfrog.bear/database.sqlite",
)

NOTE_URL = "bear://x-callback-url/open-note?id="
HEADING_LINK = "&header="

BEAR_APP = readonly.Owner(
    database="Bear database",
    program="Bear",
    file_name=DATABASE_NAME,
    if_missing=f"Open Bear once so that it makes one, or give the PATH of a {DATABASE_NAME} or of"
    " the folder that holds it.",
)

_HEADING_MARKS = re.compile(r"^#{1,6}(?:[ \t]+|$)")


def default_location() -> Path:
    """Return where this user's Bear keeps its notes, or raise SourceError."""
    places = [Path.home() / location for location in LOCATIONS]
    for place in places:
        try:
            os.stat(place)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            pass  # it exists but macOS denies access; reading it raises an error with advice
        return place
    raise SourceError(
        "Bear's notes were not found on this computer. Looked for:",
        *(f"  {place}" for place in places),
        "If they are somewhere else, such as in a copy from your Mac, give the PATH of that"
        f" {DATABASE_NAME}. For other notes, give the PATH of their folder or export.",
    )


class BearLibrary(FileSource):
    """Bear's own database (database.sqlite), or the folder that holds it."""

    app = "Bear"
    heading_link = HEADING_LINK
    default_name = "bear"
    default_location = staticmethod(default_location)

    @staticmethod
    def installed_locations() -> list[str]:
        """Return the place of this user's Bear database, if there is one."""
        with suppress(SourceError):
            return [str(default_location())]
        return []

    def count(self) -> int:
        """Return how many notes :meth:`read` would yield, or raise SourceError."""
        with readonly.read_transaction(self.path, BEAR_APP) as db:
            return len(_rows(db, _NOTES, [False]))

    @classmethod
    def reads(cls, location: str) -> bool:
        path = Path(location).expanduser()
        if path.name == DATABASE_NAME or os.path.isfile(path / DATABASE_NAME):
            return True
        with suppress(SourceError), readonly.read_transaction(path, BEAR_APP) as db:
            return _is_bear_library(db)
        return False

    def state(self) -> str:
        return readonly.state(self.path, BEAR_APP)

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        with readonly.read_transaction(self.path, BEAR_APP) as db:
            if not _is_bear_library(db):
                raise SourceError(
                    f"{self.location} is a database, but not one of Bear's: it has no table of"
                    f" notes as Bear makes it. Give the PATH of Bear's {DATABASE_NAME}."
                )
            links = _rows(db, _LINKS)
            # Bear 1.7 to 1.9 had only a join table for links, without titles.
            links += [(*it, None) for it in _pairs(db, "LINKEDBYNOTES", "LINKEDNOTES")]
            rows = _LibraryRows(
                notes=_rows(db, _NOTES, [include_trashed]),
                tags=_rows(db, _TAGS),
                tagged=_pairs(db, "NOTES", "TAGS"),
                pinned=_pairs(db, "PINNEDNOTES", "PINNEDINTAGS"),
                files=_rows(db, _FILES),
                links=links,
            )
            every = _rows(db, "select ZUNIQUEIDENTIFIER from {ZSFNOTE}")
            columns = _columns(db, "ZSFNOTE")
        keys = [key for row in rows.notes if (key := _text(row["key"]))]
        self.left_out = {_text(key) for (key,) in every}.difference(keys)  # such as in the trash
        unnamed, older = len(rows.notes) - len(keys), len(keys) - len(set(keys))
        self.skipped = [f"{unnamed:,} notes without an identifier"] * bool(unnamed)
        self.skipped += [f"{older:,} older rows of notes that are there twice"] * bool(older)
        if "ZTRASHED" not in columns:
            self.skipped.append("no column ZTRASHED: notes in the trash may be read")
        # Early versions had no encryption at all.
        if "ZENCRYPTED" not in columns and "ZENCRYPTEDDATA" in columns:
            self.skipped.append("no column ZENCRYPTED: what is encrypted may be read")
        return _notes(rows, self._file_fields)

    def _files_root(self) -> Path:
        return (self.path if self.path.is_dir() else self.path.parent) / "Local Files"

    def _file_fields(self, files: Iterable[Sequence[Any]]) -> dict[str, Any]:
        root, linked, texts = self._files_root(), [], {}
        for name, text, key in (map(_text, file) for file in files):
            place = f"{key}/{name}"
            for folder in ("Note Images", "Note Files"):
                if (stamp := file_state(root / folder / key / name)) != "none":
                    place = f"{folder}/{key}/{name}"
                    linked.append(LinkedFile(name, place, stamp))
                    break
            # Even if the file isn't on this machine, Bear's database may have its text.
            texts[place] = name, text
        return self._with_files(linked, texts)


def first_line(text: str) -> str:
    """Return the title that Bear derives from a text: its first line, without heading markup."""
    return _HEADING_MARKS.sub("", text.lstrip("\n").partition("\n")[0]).strip()


# --- Bear's tables → raw rows


class _LibraryRows(NamedTuple):
    # Nothing is checked: any value can be null, and texts are bytes. Notes and tags are identified
    # by their Z_PK, which is only valid within this database.
    notes: list[Any]
    tags: list[tuple[int, Any]]  # tag, title
    tagged: list[tuple[int, int]]  # note, tag
    pinned: list[tuple[int, int]]  # note, tag that it is pinned in
    files: list[tuple[int, Any, Any, Any]]  # note, file's name, recognized text and id
    links: list[tuple[int, int, Any]]  # note, the note that it links to, that note's title


# Nothing else is ever read, above all not ZSFPASSWORD or the text of an encrypted note. Flags can
# be null. The dates of archiving and trashing can't replace them: they outlive a note's recovery.
_NOTES = """
select
  Z_PK as pk, ZUNIQUEIDENTIFIER as key, ZTITLE as title,
  case when coalesce(ZENCRYPTED, 0) = 0 then ZTEXT end as text,
  ZCREATIONDATE as created, ZMODIFICATIONDATE as modified,
  ZPINNED as pinned, ZARCHIVED as archived, ZTRASHED as trashed,
  coalesce(ZENCRYPTED, 0) <> 0 as encrypted,
  ZTODOINCOMPLETED as todos_open, ZTODOCOMPLETED as todos_done,
  ZHASIMAGES as has_image, ZHASFILES as has_file, ZHASSOURCECODE as has_code
from {ZSFNOTE}
where coalesce(ZPERMANENTLYDELETED, 0) = 0
and (? or coalesce(ZTRASHED, 0) = 0)
order by Z_PK
"""

_TAGS = """
select Z_PK, ZTITLE
from {ZSFNOTETAG}
"""

_FILES = """
select ZNOTE, ZFILENAME, ZSEARCHTEXT, ZUNIQUEIDENTIFIER
from {ZSFNOTEFILE}
where coalesce(ZUNUSED, 0) = 0
and coalesce(ZPERMANENTLYDELETED, 0) = 0
and coalesce(ZENCRYPTED, 0) = 0
order by ZNOTE, ZINDEX, Z_PK
"""

_LINKS = """
select ZLINKEDBY, ZLINKINGTO, ZTITLE
from {ZSFNOTEBACKLINK}
order by ZLINKEDBY, ZLOCATION, Z_PK
"""


def _is_bear_library(db: sqlite3.Connection) -> bool:
    return {"Z_PK", "ZUNIQUEIDENTIFIER", "ZTITLE", "ZTEXT"} <= _columns(db, "ZSFNOTE")


def _rows(db: sqlite3.Connection, sql: str, parameters: Sequence[object] = ()) -> list[Any]:
    """Return the rows of a query on a ``{table}``; columns that this version lacks are null.

    Texts stay bytes until Bear's file is closed: decoding takes longer than reading, and one emoji
    makes a string take four times as much memory.
    """
    [table] = re.findall(r"\{(\w+)\}", sql)
    present = _columns(db, table)
    wanted = dict.fromkeys(re.findall(r"\bZ\w+", sql.replace(f"{{{table}}}", "")))
    columns = ", ".join(name if name in present else f"null as {name}" for name in wanted)
    rows = f"(select {columns} from {table})" if present else f"(select {columns} where 0)"
    usual = db.text_factory
    db.text_factory, db.row_factory = bytes, sqlite3.Row
    try:
        return db.execute(sql.replace(f"{{{table}}}", rows), parameters).fetchall()
    finally:
        db.text_factory, db.row_factory = usual, None


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    return {name for (name,) in db.execute("select name from pragma_table_info(?)", [table])}


def _pairs(db: sqlite3.Connection, left: str, right: str) -> list[tuple[int, int]]:
    """Return the pairs (note, other) of a join table such as Z_5TAGS(Z_5NOTES, Z_13TAGS).

    ``left`` and ``right`` are its columns without the numbers, and ``right`` is also the table's
    whole name without the number: Z_5PINNEDINTAGS is another relation than Z_5TAGS. If several
    tables qualify, Core Data's number of notes decides; without it, pairs of nothing don't count.
    """
    joins = []
    ends = [re.compile(f"Z_[0-9]+{end}") for end in (left, right)]
    tables = db.execute("select name from sqlite_master where type = 'table'").fetchall()
    for table in filter(ends[1].fullmatch, (name for (name,) in tables)):
        lefts, rights = ([*filter(end.fullmatch, _columns(db, table))] for end in ends)
        if len(lefts) == len(rights) == 1:
            joins.append((table, lefts[0], rights[0]))
    numbers = _rows(db, "select Z_ENT from {Z_PRIMARYKEY} where Z_NAME = 'SFNote'")
    registered = [f"Z_{number}{right}" for (number,) in numbers]
    pairs = []
    for table, notes, others in [join for join in joins if join[0] in registered] or joins:
        pairs += db.execute(f"select {notes}, {others} from {table}").fetchall()
    return pairs


_FLAGS = ("pinned", "archived", "trashed", "encrypted")
_FLAGS_OF_TEXT = ("has_image", "has_file", "has_code")
_COUNTS_OF_TEXT = ("todos_open", "todos_done")


def _notes(
    rows: _LibraryRows, file_fields: Callable[[Iterable[Sequence[Any]]], dict[str, Any]]
) -> Iterator[Note]:
    """Yield the notes, and free their rows to save memory."""
    keys: dict[int, str] = {}
    titles: dict[int, Any] = {}
    newest: dict[str, Any] = {}
    for row in rows.notes:
        if key := _text(row["key"]):
            keys[row["pk"]], titles[row["pk"]] = key, row["title"]
            rival = newest.get(key, row)
            if (_date(row["modified"]) or "") >= (_date(rival["modified"]) or ""):
                newest[key] = row
    rows.notes.clear()
    names = {pk: _text(title) for pk, title in rows.tags}
    # Two tags can have the same name; the note is pinned in both if it is pinned in either.
    pinned = {(note, names.get(tag)) for note, tag in rows.pinned}
    tagged, links, files = _by_note(rows.tagged), _by_note(rows.links), _by_note(rows.files)
    for key in list(newest):
        row = newest.pop(key)
        pk, text = row["pk"], _text(row["text"])
        title = _text(row["title"]).strip() or first_line(text)
        tags = {name for (tag,) in tagged.get(pk, ()) if (name := names.get(tag))}
        facts: dict[str, Any] = {name: bool(row[name]) for name in _FLAGS}
        if not row["encrypted"]:  # otherwise facts about the text are as secret as the text
            facts |= {name: bool(row[name]) for name in _FLAGS_OF_TEXT}
            counts = {name: row[name] for name in _COUNTS_OF_TEXT if isinstance(row[name], int)}
            facts |= {name: max(count, 0) for name, count in counts.items()}
            # One link for each other note, in the order of the text.
            linked: dict[str, Link] = {}
            for target, label in links.get(pk, ()):
                if (other := keys.get(target, key)) != key:
                    linked.setdefault(other, Link(other, _text(label) or _text(titles[target])))
            facts |= {"links": tuple(linked.values()), **file_fields(files.get(pk, ()))}
        yield Note(
            key=key,
            title=title,
            body=without_title_line(text, title),
            tags=tuple(Tag(name, pinned=(pk, name) in pinned) for name in sorted(tags)),
            created=_date(row["created"]),
            modified=_date(row["modified"]),
            url=NOTE_URL + quote(key, safe=""),
            **facts,
        )


def _by_note(rows: Iterable[Sequence[Any]]) -> Mapping[int, list[list[Any]]]:
    """Return the rest of each row by its first column."""
    found = defaultdict[int, list[list[Any]]](list)
    for note, *rest in rows:
        found[note].append(rest)
    return found


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        value = decode_damaged(value)
    return str(value).replace("\0", "")


def _date(value: object) -> str | None:
    if isinstance(value, (int, float)):
        return timestamp_from_seconds(value + APPLE_EPOCH)
    return None
