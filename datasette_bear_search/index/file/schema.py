"""The tables of the index file, which ``schema.sql`` describes.

Everything except judgments and the list of sources is derived, so nothing is migrated: the next run
rebuilds an index of an earlier version and keeps those two. Raise VERSION if the schema changes.
"""

from __future__ import annotations

from pathlib import Path

from ...sqlite import sqlite3

# Stored as the file's user_version.
VERSION = 14
# Stored in the file's header, by which the plugin recognizes an index among attached databases.
APPLICATION_ID = int.from_bytes(b"BrSn", "big")
# Porter stemming measures better on nine of ten test collections, and "cafe" finds "café". Vowel
# signs (Mn, Mc) are parts of words in Hindi and other languages; emoji variation selectors aren't.
# Symbols are tokens, except for those of ASCII, which are syntax.
_UNICODE = (
    "unicode61 remove_diacritics {} categories 'L* N* Co Mn Mc{}' separators '{}\ufe0e\ufe0f'"
)
TOKENIZER = "porter " + _UNICODE.format(2, " S*", "$+<=>^`|~") + " tokenchars '§'"
# Of words alone, as people write them, to correct and complete them.
WORDS_TOKENIZER = _UNICODE.format(0, "", "")
_INDEXED_COLUMNS = ("title", "body", "tags", "attachments")
# Internal tables, hidden in Datasette. From 1.0 on it hides names that begin with "_" by itself.
VECTORS = "_vectors"
PASSAGE_INDEX = "_passage_index"
# Words as the notes have them, without stemming: the corrections for mistyped words.
WORD_INDEX = "_words"
# Of those with accents, what people type without them.
SPELLINGS = "_spellings"
# Embedded passages of a note: enough for a novel of 100,000 words. Later text is found only by its
# words. Without this limit, a log of 20 MB would have as many passages as 20,000 notes.
MAX_EMBEDDED = 1000
# The values of ``passages.vector_state``: it waits for a vector, has one, is after MAX_EMBEDDED,
# has no word, or the model made none for its text.
PENDING, EMBEDDED, OVER_LIMIT, EMPTY = "pending", "embedded", "over_limit", "empty"
REFUSED = "refused"
# The values of ``passages.text_kind``: the note's own, from many notes, or too short to compare.
OWN_TEXT, TEMPLATE_TEXT, SHORT_TEXT = "own", "template", "short"
# The number of notes with each stem, and with each word.
STEM_VOCABULARY = "_stem_vocabulary"
WORD_VOCABULARY = "_word_vocabulary"
# The places of images and files that notes show or link to, but none of their content.
FILES = "_files"
# The hashes of a note's lines, eight bytes each. SHARED_LINES has those that occur in many notes.
LINES = "_lines"
# A full-text index of the passages of long notes, to find the one that answers a query.
LONG_NOTES = "_long_notes"
SHARED_LINES = "_shared_lines"
_MACHINERY = (
    *(VECTORS, PASSAGE_INDEX, WORD_INDEX, STEM_VOCABULARY, WORD_VOCABULARY, FILES),
    *(LINES, SHARED_LINES, LONG_NOTES, SPELLINGS),
)
HIDDEN_TABLES = (*_MACHINERY, "sqlite_sequence")
# What can't be derived from the sources.
SOURCES = "sources"
JUDGMENTS = "judgments"


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the schema; 0 if there is none or it is an early development one."""
    [version] = connection.execute("pragma user_version").fetchone()
    return int(version)


def is_current(connection: sqlite3.Connection) -> bool:
    return version_of(connection) == VERSION


def create(connection: sqlite3.Connection) -> None:
    """Create all tables in an empty file, inside the caller's transaction."""
    connection.execute(f"pragma application_id = {APPLICATION_ID}")
    connection.execute(f"pragma user_version = {VERSION}")
    script = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
    values = {"TOKENIZER": TOKENIZER, "WORDS_TOKENIZER": WORDS_TOKENIZER}
    for row in ("new", "old"):
        values[f"{row.upper()}_INDEXED"], values[f"{row.upper()}_NORMALIZED"] = _words_of(row)
    for name, value in values.items():
        script = script.replace(f"{{{name}}}", value)
    # Not executescript(), which commits the transaction.
    for statement in script.split("\n\n"):
        connection.execute(statement)


def refill_words(connection: sqlite3.Connection) -> None:
    """Rebuild the indexes of words, inside the caller's transaction."""
    listed = ", ".join(_INDEXED_COLUMNS)
    indexed, normalized = _words_of("notes")
    of_passages = "note_id, indexed_words(text, null) from passages where text is not null"
    for index, columns, rows in (
        ("notes_fts", listed, f"{indexed} from notes"),
        (WORD_INDEX, listed, f"{normalized} from notes"),
        (LONG_NOTES, "note_id, text", of_passages),
    ):
        connection.execute(f"insert into {index} ({index}) values ('delete-all')")
        connection.execute(f"insert into {index} (rowid, {columns}) select id, {rows}")


def _words_of(row: str) -> tuple[str, str]:
    """Return SQL for what the word indexes have of a row's columns: stems, and plain words.

    Deleting from FTS5 requires exactly the words that were inserted. Only connections of this
    package have the functions.
    """
    indexed = (f"indexed_words({row}.{name}, {row}.language)" for name in _INDEXED_COLUMNS)
    normalized = (f"normalized({row}.{name})" for name in _INDEXED_COLUMNS)
    return ", ".join(indexed), ", ".join(normalized)


def drop(connection: sqlite3.Connection) -> None:
    """Drop all tables, whatever version made them, inside the caller's transaction."""
    sql = "select 1 from pragma_module_list where name = 'vec0'"
    if not connection.execute(sql).fetchone():
        # SQLite can't drop a virtual table without its module, but its row in the schema can be
        # deleted. Its data is in ordinary tables.
        connection.execute("pragma writable_schema = on")
        connection.execute("delete from sqlite_master where sql like '%using vec0%'")
        connection.execute("pragma writable_schema = reset")
    # Virtual tables first, because they drop the tables with their data themselves.
    sql = "select type, name from sqlite_master where sql like ? and name not like 'sqlite_%'"
    for beginning in ("create view%", "create virtual%", "create table%"):
        for kind, name in connection.execute(sql, [beginning]).fetchall():
            connection.execute(f'drop {kind} "{name}"')
