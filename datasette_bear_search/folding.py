"""The same note from two sources: which of the copies stands for all of them.

Two notes of different sources are the same if they have the same id in the app that they come from, as a note of Bear's
has in its database and in a backup, or if they say the same. The others point to that one through ``copy_of``.
"""

from __future__ import annotations

from .sidecar import sqlite3

# Keys of other forms, such as a file's path, name different notes in different sources.
_UUID = "-".join("[0-9A-Fa-f]" * length for length in (8, 4, 4, 4, 12))

# Notes that share an id or a text with a note of another source, the best first: one that can be opened, the one that was
# changed last, and of the same age the one whose source was there first.
_SHARED = f"""
select
  notes.id, notes.source, case when notes.key glob '{_UUID}' then notes.key end, notes.text_hash
from notes
join sources on sources.name = notes.source
where notes.id in (
  select id
  from notes as own
  where key glob '{_UUID}'
    and exists (select 1 from notes where key = own.key and source != own.source)
  union
  select id
  from notes as own
  where text_hash is not null
    and exists (select 1 from notes where text_hash = own.text_hash and source != own.source)
)
order by notes.url is null, notes.modified desc, sources.rowid, notes.id
"""


def fold(connection: sqlite3.Connection) -> None:
    """Point each copy at the note that stands for it, inside the caller's transaction."""
    stored = dict(
        connection.execute("select id, copy_of from notes where copy_of is not null").fetchall()
    )
    [sources] = connection.execute("select count(*) from sources").fetchone()
    wanted = _copies(connection) if sources > 1 else {}
    connection.executemany(
        "update notes set copy_of = ? where id = ?",
        [
            (wanted.get(note_id), note_id)
            for note_id in stored.keys() | wanted.keys()
            if stored.get(note_id) != wanted.get(note_id)
        ],
    )


def has_copies(connection: sqlite3.Connection) -> bool:
    """Whether any note is a copy of another."""
    [found] = connection.execute(
        "select exists (select 1 from notes where copy_of is not null)"
    ).fetchone()
    return bool(found)


def _copies(connection: sqlite3.Connection) -> dict[int, int]:
    """Copy → the note that stands for it. Two notes of the same source stay two, whatever they say."""
    standing: dict[str, tuple[int, str]] = {}  # id in the app, or hash of the text → note, source
    copies = {}
    for note_id, source, app_id, text_hash in connection.execute(_SHARED):
        marks = [mark for mark in (app_id, text_hash) if mark]
        best = next((standing[mark] for mark in marks if mark in standing), (note_id, source))
        if best[1] != source:
            copies[note_id] = best[0]
        for mark in marks:
            standing.setdefault(mark, best)
    return copies
