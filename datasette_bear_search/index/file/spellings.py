"""The notes' words with accents, by what people type for them: informacao for informação.

Stemmers see the accents, so the stem of a word that is typed without them isn't the word's.
"""

from __future__ import annotations

import json

from ...folding import normalized, plain, typed_forms
from ...sqlite import read_value, sqlite3
from .schema import SPELLINGS, WORD_VOCABULARY

# Latin letters that aren't ASCII, Greek ones, and ё. Other alphabets are typed as they are written.
_WITH_ACCENTS = "*[\u00df-\u024f\u0370-\u03ff\u0451\u1e00-\u1fff]*"


def update_spellings(connection: sqlite3.Connection) -> None:
    """Store the words with accents that the notes have now, inside the caller's transaction."""
    sql = f"select term from {WORD_VOCABULARY} where term glob ?"
    words = [word for (word,) in connection.execute(sql, [_WITH_ACCENTS])]
    wanted = {(typed, word) for word in words for typed in typed_forms(word) if typed != word}
    stored = set(connection.execute(f"select typed, spelling from {SPELLINGS}"))
    changes = (
        (f"delete from {SPELLINGS} where typed = ? and spelling = ?", stored - wanted),
        (f"insert into {SPELLINGS} values (?, ?)", wanted - stored),
    )
    for sql, rows in changes:
        connection.executemany(sql, rows)


def spellings(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return how the notes have a word with other accents than these, in lower case.

    None if it was typed with accents and the notes have it so: año isn't ano.
    """
    written, typed = normalized(word).lower(), plain(word)
    if written != typed and _is_known(connection, written):
        return []
    sql = f"""
    select spelling from {SPELLINGS} where typed = ?
    union
    select term from {WORD_VOCABULARY} where term in (select value from json_each(?))
    """
    found = connection.execute(sql, [typed, json.dumps([*typed_forms(word)])])
    return [other for (other,) in found if other != written]


def _is_known(connection: sqlite3.Connection, word: str) -> bool:
    sql = f"select exists (select 1 from {WORD_VOCABULARY} where term = ?)"
    return bool(read_value(connection, sql, [word]))
