"""The sidecar's schema: an ordered list of small named migrations.

To change the schema, add a migration at the end. Those that were released stay as they are.
"""

# sqlite_utils costs 60-200 ms to import, and only a schema that is made or migrated needs it.
from __future__ import annotations

from typing import TYPE_CHECKING

from ..notes import text_hash
from ..sqlite import sqlite3

if TYPE_CHECKING:
    import sqlite_utils

APPLICATION_ID = int.from_bytes(
    b"BrSn", "big"
)  # how the plugin knows a sidecar among attached databases
MIGRATION_SET = "datasette-bear-search"

# Porter stemming measures better on nine of ten test collections; café is found by cafe.
TOKENIZER = "porter unicode61 remove_diacritics 2"

# Tables that hold machinery, not notes: hidden in Datasette. Datasette 1.0 hides names that begin with "_" by itself.
VECTORS = "_vectors"
PASSAGE_INDEX = "_passage_index"
# Words as they stand in the notes, without stemming: what a mistyped word is corrected to.
WORDS = "_words"
# How many notes have each stem, and each word.
STEM_VOCABULARY = "_stem_vocabulary"
WORD_VOCABULARY = "_word_vocabulary"
HIDDEN_TABLES = (
    VECTORS,
    PASSAGE_INDEX,
    WORDS,
    STEM_VOCABULARY,
    WORD_VOCABULARY,
    "_sqlite_migrations",
    "sqlite_sequence",
)


# What no source has, so that it outlives everything else.
JUDGMENTS = "judgments"


class NewerSchema(Exception):
    """The schema was made by a newer version; the message names what this one doesn't know."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema up to date.

    :raises NewerSchema: if it is newer than this version
    """
    known = [migration.__name__ for migration in MIGRATIONS]
    applied = _applied_migrations(connection)
    if unknown := applied - set(known):
        raise NewerSchema(", ".join(sorted(unknown)))
    if applied == set(known):
        return  # without the import below, as nearly always
    import sqlite_utils
    from sqlite_utils.migrations import Migrations

    schema = Migrations(MIGRATION_SET)
    for migration in MIGRATIONS:
        schema(name=migration.__name__)(migration)
    schema.apply(sqlite_utils.Database(connection))


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the schema is the one that this version makes."""
    return _applied_migrations(connection) == {migration.__name__ for migration in MIGRATIONS}


def is_older(connection: sqlite3.Connection) -> bool:
    """Whether the schema lacks something that this version makes."""
    return not {migration.__name__ for migration in MIGRATIONS} <= _applied_migrations(connection)


def can_be_searched(connection: sqlite3.Connection) -> bool:
    """Whether the schema has all that a search looks at."""
    needed = MIGRATIONS[: MIGRATIONS.index(NEEDED) + 1]
    return {migration.__name__ for migration in needed} <= _applied_migrations(connection)


def _applied_migrations(connection: sqlite3.Connection) -> set[str]:
    [exists] = connection.execute(
        "select count(*) from sqlite_master where name = '_sqlite_migrations'"
    ).fetchone()
    if not exists:
        return set()
    rows = connection.execute(
        "select name from _sqlite_migrations where migration_set = ?", [MIGRATION_SET]
    )
    return {name for (name,) in rows}


def _0001_notes(db: sqlite_utils.Database) -> None:
    """Notes, their tags and links, and the FTS5 index over them."""
    db.execute(f"pragma application_id = {APPLICATION_ID}")
    db["meta"].create({"key": str, "value": str}, pk="key")
    db["sources"].create(
        {
            "name": str,
            "location": str,
            "heading_link": str,
            "state": str,
            "read": str,
            "notes": int,
            "include_trashed": int,
        },
        pk="name",
    )
    # The long texts come last: SQLite need not step over them when a filter looks at the columns before.
    db["notes"].create(
        {
            "id": int,
            "title": str,
            "tags": str,  # JSON array, which Datasette can facet by and FTS5 reads as words
            "created": str,
            "modified": str,
            "pinned": int,
            "archived": int,
            "trashed": int,
            "encrypted": int,
            "todos_open": int,
            "todos_done": int,
            "has_image": int,
            "has_file": int,
            "has_code": int,
            "url": str,
            "source": str,
            "key": str,
            "fingerprint": str,
            "body": str,
            "attachments": str,
        },
        pk="id",
        foreign_keys=[("source", "sources", "name")],
    )
    db["notes"].create_index(["source", "key"], unique=True)
    db["notes"].create_index(["modified"])
    db.execute("create index idx_notes_title on notes (title collate nocase)")
    db["notes"].create_index(["created"])
    db["notes"].enable_fts(
        ["title", "body", "tags", "attachments"], tokenize=TOKENIZER, create_triggers=True
    )
    # The same text once more, without stemming and without positions, which is a fifth of the size.
    db.execute(
        f"""
        create virtual table {WORDS} using fts5(
          title, body, tags, attachments, content="notes", detail=none,
          tokenize='unicode61 remove_diacritics 2'
        )
        """
    )
    db.execute(f"create virtual table {STEM_VOCABULARY} using fts5vocab(notes_fts, row)")
    db.execute(f"create virtual table {WORD_VOCABULARY} using fts5vocab({WORDS}, row)")
    for trigger in ("notes_ai", "notes_ad", "notes_au"):
        db.execute(f"drop trigger {trigger}")
    old, new = (
        "old.title, old.body, old.tags, old.attachments",
        "new.title, new.body, new.tags, new.attachments",
    )
    for event, name in (
        ("insert", "notes_ai"),
        ("delete", "notes_ad"),
        # Pinning a note must not index its text again.
        ("update of title, body, tags, attachments", "notes_au"),
    ):
        statements = []
        for index in ("notes_fts", WORDS):
            columns = "rowid, title, body, tags, attachments"
            if name != "notes_ai":
                statements.append(
                    f"insert into {index} ({index}, {columns}) values ('delete', old.id, {old});"
                )
            if name != "notes_ad":
                statements.append(f"insert into {index} ({columns}) values (new.id, {new});")
        db.execute(f"create trigger {name} after {event} on notes begin {' '.join(statements)} end")
    db["tags"].create({"id": int, "name": str, "folded": str}, pk="id")
    db["tags"].create_index(["name"], unique=True)
    db["tags"].create_index(["folded"])
    db["note_tags"].create(
        {"note_id": int, "tag_id": int, "pinned": int},
        pk=("note_id", "tag_id"),
        foreign_keys=["note_id", "tag_id"],
    )
    db["note_tags"].create_index(["tag_id"])
    db["links"].create(
        {"id": int, "note_id": int, "target_id": int, "target_key": str, "title": str},
        pk="id",
        foreign_keys=[("note_id", "notes", "id"), ("target_id", "notes", "id")],
    )
    db["links"].create_index(["note_id"])
    db["links"].create_index(["target_id"])


def _0002_passages(db: sqlite_utils.Database) -> None:
    """Passages and their vectors. The vec0 table is made when the model, and so the dimension, is known."""
    db["passages"].create(
        {
            "id": int,
            "note_id": int,
            "position": int,
            "heading": str,
            "start": int,
            "length": int,
            "content_hash": str,
            "embedded": int,
        },
        pk="id",
        foreign_keys=["note_id"],
    )
    db["passages"].create_index(["note_id", "position"])
    db.execute("create index passages_pending on passages (id) where not embedded")
    db[VECTORS].create({"passage_id": int, "vector": bytes}, pk="passage_id")


def _0003_judgments(db: sqlite_utils.Database) -> None:
    """What a person said about results. Emptying the sidecar keeps the table and runs this again."""
    db[JUDGMENTS].create(
        {
            "id": int,
            "query": str,
            "source": str,
            "key": str,
            "grade": int,  # 1: this was it, 0: it was not
            "judged": str,
        },
        pk="id",
        if_not_exists=True,
    )
    db[JUDGMENTS].create_index(["query", "source", "key"], unique=True, if_not_exists=True)


def _0004_sources(db: sqlite_utils.Database) -> None:
    """What it takes to read several sources of any kind again, each by itself, and to fold the same note from two."""
    for column in (
        "kind text not null default 'bear'",
        "app text not null default ''",
        "options text not null default '{}'",
        "never text not null default '[]'",  # tags that aren't indexed, as a JSON array
        "config_file text",
        "skipped text not null default '[]'",  # lines for people, as a JSON array
        "version text",  # of this package, which read it
    ):
        db.execute(f"alter table sources add column {column}")
    for column in (
        "stamp text",
        "text_hash text",
        "copy_of integer references notes (id) on delete set null",
    ):
        db.execute(f"alter table notes add column {column}")
    for note_id, title, body in db.execute("select id, title, body from notes").fetchall():
        db.execute("update notes set text_hash = ? where id = ?", [text_hash(title, body), note_id])
    # These columns stand behind the long texts, so that what looks at them has to find them in an index.
    db.execute("create index notes_known on notes (source, key, fingerprint, stamp)")
    db.execute("create index notes_text on notes (text_hash, source)")
    db.execute("create index notes_key on notes (key, source)")
    db.execute("create index notes_copies on notes (copy_of) where copy_of is not null")


def _0005_counts(db: sqlite_utils.Database) -> None:
    """What is counted stands in an index of its own: the notes themselves are pages long."""
    db.execute(
        "create index notes_counts on notes "
        "(modified, created, source, copy_of, pinned, archived, trashed, todos_open, has_image)"
    )


MIGRATIONS = [_0001_notes, _0002_passages, _0003_judgments, _0004_sources, _0005_counts]

# The last one without which nothing can be searched.
NEEDED = _0004_sources
