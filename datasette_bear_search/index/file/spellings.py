"""Other spellings of a typed word in the notes: informação for informacao.

Stemmers see the accents, so the stem of a word that is typed without them isn't the word's.
"""

from __future__ import annotations

import json

from ...sqlite import read_value, sqlite3
from ...text.folding import normalized, plain, typed_forms
from .schema import SPELLINGS, WORD_VOCABULARY

# Latin letters that aren't ASCII, Greek ones, ё, and Arabic ones that many type without hamza or
# dots. Other alphabets are typed as they are written.
_WITH_ACCENTS = "*[\u00df-\u024f\u0370-\u03ff\u0451\u0622-\u0626\u0629\u0649\u0671\u1e00-\u1fff]*"


def update_spellings(connection: sqlite3.Connection) -> None:
    """Store the words with accents that the notes have now, inside the caller's transaction."""
    sql = f"select term from {WORD_VOCABULARY} where term glob ?"
    words = [word for (word,) in connection.execute(sql, [_WITH_ACCENTS])]
    wanted = {(typed, word) for word in words for typed in typed_forms(word) if typed != word}
    stored = set(connection.execute(f"select typed, spelling from {SPELLINGS}"))
    sql = f"delete from {SPELLINGS} where typed = ? and spelling = ?"
    connection.executemany(sql, stored - wanted)
    connection.executemany(f"insert into {SPELLINGS} values (?, ?)", wanted - stored)


def spellings(connection: sqlite3.Connection, word: str) -> tuple[list[str], bool]:
    """Return how the notes have a word with other accents than these, and whether they have it.

    None if it was typed with accents and the notes have it so: año isn't ano.
    """
    written, typed = normalized(word).lower(), plain(word)
    sql = f"select 1 from {WORD_VOCABULARY} where term = ?"
    is_whole = written != typed and written < "\u0600"  # Arabic may be typed with some of them
    if is_whole and read_value(connection, sql, [written]):
        return [], True
    sql = f"""
    select spelling from {SPELLINGS} where typed = ?
    union
    select term from {WORD_VOCABULARY} where term in (select value from json_each(?))
    """
    found = connection.execute(sql, [typed, json.dumps([*typed_forms(word)])]).fetchall()
    return [other for (other,) in found if other != written], bool(found)
