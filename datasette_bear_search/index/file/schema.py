"""The tables of the index file.

Everything except judgments and the list of sources is derived, so nothing is migrated: the next run
rebuilds an index of an earlier version and keeps those two. Raise VERSION if the schema changes.
"""

from __future__ import annotations

from typing import Any

from ...sqlite import sqlite3

# Stored as the file's user_version.
VERSION = 11
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
# What FTS5 indexes of a column: its words, processed for the language. Only connections of this
# package have the function. Deleting from FTS5 requires exactly the words that were inserted.
INDEXED = "indexed_words({row}.{name}, {row}.language)"
NORMALIZED = "normalized({row}.{name})"
_INDEXED_COLUMNS = ("title", "body", "tags", "attachments")
# Internal tables, hidden in Datasette. From 1.0 on it hides names that begin with "_" by itself.
VECTORS = "_vectors"
PASSAGE_INDEX = "_passage_index"
# Words as the notes have them, without stemming: the corrections for mistyped words.
WORDS = "_words"
# Of those with accents, what people type without them.
SPELLINGS = "_spellings"
# Embedded passages of a note: enough for a novel of 100,000 words. Later text is found only by its
# words. Without this limit, a log of 20 MB would have as many passages as 20,000 notes.
MAX_EMBEDDED = 1000
# The values of ``passages.embedded``: whether it has a vector, is after MAX_EMBEDDED, or is a text
# for which the model made none.
PENDING, EMBEDDED, NEVER_EMBEDDED, REFUSED = range(4)
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
    *(VECTORS, PASSAGE_INDEX, WORDS, STEM_VOCABULARY, WORD_VOCABULARY, FILES),
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
    # Importing it takes 60-200 ms, and only a new file needs it.
    import sqlite_utils

    db = sqlite_utils.Database(connection)
    db.execute(f"pragma application_id = {APPLICATION_ID}")
    db.execute(f"pragma user_version = {VERSION}")
    db.table("meta").create({"key": str, "value": str}, pk="key")
    db.table(SOURCES).create(
        {
            "name": str, "kind": str,
            "app": str,  # the app that opens its notes
            "location": str, "heading_link": str,
            "options": str,  # a JSON object
            "never": str,  # tags that aren't indexed, a JSON array
            "include_trashed": int, "config_file": str, "state": str, "read": str, "notes": int,
            "skipped": str,  # lines for people, a JSON array
            "version": str,  # of the package that read it
        },
        pk="name",
        not_null={"kind", "app", "options", "never", "skipped"},
        defaults={"kind": "", "app": "", "options": "{}", "never": "[]", "skipped": "[]"},
    )  # fmt: skip
    # The long texts come last, so that SQLite needn't step over them to read the other columns.
    notes = db.table("notes").create(
        {
            "id": int, "title": str,
            "tags": str,  # a JSON array: Datasette can facet by it, and FTS5 indexes its words
            "created": str, "modified": str, "pinned": int, "archived": int, "trashed": int,
            "encrypted": int,
            "language": str,  # ISO 639-1; null if the note is too short to tell
            "todos_open": int, "todos_done": int, "has_image": int,
            "has_file": int, "has_code": int, "url": str, "source": str, "key": str,
            "fingerprint": str, "stamp": str, "text_hash": str, "copy_of": int,
            "attachment_names": str,  # a JSON array, in the order of their texts
            "has_link": int, "attachments": str, "body": str,
        },
        pk="id", foreign_keys=[("source", SOURCES, "name"), ("copy_of", "notes", "id")],
    )  # fmt: skip
    notes.create_index(["source", "key"], unique=True)
    notes.create_index(["modified"])
    notes.create_index(["created"])
    notes.create_index(["language"])
    # Columns that are read of all notes have covering indexes, because each note fills whole pages.
    db.execute("create index idx_notes_title on notes (title collate nocase)")
    notes.create_index(["source", "key", "fingerprint", "stamp"], "notes_known")
    notes.create_index(["text_hash", "source"], "notes_text")
    notes.create_index(["key", "source"], "notes_key")
    db.execute("create index notes_copies on notes (copy_of) where copy_of is not null")
    counted = "modified created source copy_of pinned archived trashed todos_open has_image"
    notes.create_index(counted.split(), "notes_counts")
    _create_word_indexes(db)
    tags = db.table("tags").create({"id": int, "name": str, "folded": str}, pk="id")
    tags.create_index(["name"], unique=True)
    tags.create_index(["folded"])
    key = ("note_id", "tag_id")
    columns: dict[str, type] = {"note_id": int, "tag_id": int, "pinned": int}
    note_tags = db.table("note_tags").create(columns, pk=key, foreign_keys=key)
    note_tags.create_index(["tag_id"])
    columns = {"id": int, "note_id": int, "target_id": int, "target_key": str, "title": str}
    notes_of = [("note_id", "notes", "id"), ("target_id", "notes", "id")]
    links = db.table("links").create(columns, pk="id", foreign_keys=notes_of)
    links.create_index(["note_id"])
    links.create_index(["target_id"])
    columns = {"id": int, "note_id": int, "target": str, "place": str, "stamp": str}
    files = db.table(FILES).create(columns, pk="id", foreign_keys=["note_id"])
    files.create_index(["note_id"])
    files.create_index(["place"])
    passages = db.table("passages").create(
        {
            "id": int, "note_id": int, "position": int, "heading": str, "start": int,
            "length": int, "content_hash": str,
            "embedded": int,  # 0: it waits for a vector; 1: has it; 2: comes too late; 3: gets none
            "shared": int,  # 1: many notes have this text; 0: it is too short to compare
            "line": int,  # its first line in the note, from 1
            # Long notes only: the text up to the next passage, as reading the note takes too long.
            "text": str,
        },
        pk="id", foreign_keys=["note_id"],
    )  # fmt: skip
    passages.create_index(["note_id", "position"])
    long_notes = "where position = 0 and text is not null"
    db.execute(f"create index passages_of_long_notes on passages (note_id) {long_notes}")
    db.execute("create index passages_pending on passages (id) where not embedded")
    db.execute(f"create index passages_refused on passages (id) where embedded = {REFUSED}")
    _create_index_of_long_notes(db)
    db.table(LINES).create({"note_id": int, "hashes": bytes}, pk="note_id")
    # 0 notes: they aren't counted yet.
    db.execute(f"create table {SHARED_LINES} (hash integer primary key, notes int)")
    # In place of the vec0 table, which is created when the model and its dimension are known. So a
    # statement that reads it also runs on an index without vectors.
    db.execute(f"create table {PASSAGE_INDEX} (embedding blob, k int)")
    db.table(VECTORS).create({"passage_id": int, "vector": bytes}, pk="passage_id")
    # The grade is 1 if the person found the note relevant, otherwise 0.
    columns = {"id": int, "query": str, "source": str, "key": str, "grade": int, "judged": str}
    judgments = db.table(JUDGMENTS).create(columns, pk="id")
    judgments.create_index(["query", "source", "key"], unique=True)


def refill_words(connection: sqlite3.Connection) -> None:
    """Rebuild the indexes of words, inside the caller's transaction."""
    listed = ", ".join(_INDEXED_COLUMNS)
    indexed, normalized = (
        ", ".join(value.format(row="notes", name=name) for name in _INDEXED_COLUMNS)
        for value in (INDEXED, NORMALIZED)
    )
    of_passages = "note_id, indexed_words(text, null) from passages where text is not null"
    for index, columns, rows in (
        ("notes_fts", listed, f"{indexed} from notes"),
        (WORDS, listed, f"{normalized} from notes"),
        (LONG_NOTES, "note_id, text", of_passages),
    ):
        connection.execute(f"insert into {index} ({index}) values ('delete-all')")
        connection.execute(f"insert into {index} (rowid, {columns}) select id, {rows}")


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


def _create_index_of_long_notes(db: Any) -> None:
    db.execute(
        f"""
        create virtual table {LONG_NOTES} using fts5(
          note_id, text, content="passages", content_rowid="id", tokenize="{TOKENIZER}"
        )
        """
    )
    columns = f"{LONG_NOTES}, rowid, note_id, text"
    delete = f"""insert into {LONG_NOTES} ({columns})
      values ('delete', old.id, old.note_id, indexed_words(old.text, null));"""
    insert = f"""insert into {LONG_NOTES} (rowid, note_id, text)
      values (new.id, new.note_id, indexed_words(new.text, null));"""
    for event, row, statement in (
        ("insert", "new", insert), ("delete", "old", delete),
        ("update of text", "old", delete), ("update of text", "new", insert),
    ):  # fmt: skip
        # "new" comes after "old" because SQLite runs an event's triggers last created first.
        name = f"passages_{event[:1]}_{row}"
        db.execute(
            f"create trigger {name} after {event} on passages when {row}.text is not null "
            f"begin {statement} end"
        )


def _create_word_indexes(db: Any) -> None:
    listed = ", ".join(_INDEXED_COLUMNS)
    db.table("notes").enable_fts(_INDEXED_COLUMNS, tokenize=TOKENIZER)
    # The same text without stemming and without positions, which is a fifth of the size.
    db.execute(
        f"""
        create virtual table {WORDS} using fts5(
          {listed}, content="notes", detail=none,
          tokenize="{WORDS_TOKENIZER}"
        )
        """
    )
    db.execute(f"create virtual table {STEM_VOCABULARY} using fts5vocab(notes_fts, row)")
    db.execute(f"create virtual table {WORD_VOCABULARY} using fts5vocab({WORDS}, row)")
    columns = "typed text, spelling text, primary key (typed, spelling)"
    db.execute(f"create table {SPELLINGS} ({columns}) without rowid")
    delete, insert = "", ""
    for index, value in (("notes_fts", INDEXED), (WORDS, NORMALIZED)):
        old, new = (
            ", ".join(
                [f"{row}.id", *(value.format(row=row, name=name) for name in _INDEXED_COLUMNS)]
            )
            for row in ("old", "new")
        )
        delete += f"insert into {index} ({index}, rowid, {listed}) values ('delete', {old}); "
        insert += f"insert into {index} (rowid, {listed}) values ({new}); "
    for trigger, event, statements in (
        ("notes_ai", "insert", insert),
        ("notes_ad", "delete", delete),
        # Pinning a note must not index its text again.
        ("notes_au", f"update of {listed}, language", delete + insert),
    ):
        db.execute(f"create trigger {trigger} after {event} on notes begin {statements}end")
