"""Other spellings of a typed word in the notes: informação for informacao, colour for color.

Stemmers see the accents, so the stem of a word that is typed without them isn't the word's. Nor
have British and American spellings the same stem.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

from ...sqlite import read_value, sqlite3
from ...text.folding import normalized, plain, typed_forms
from .schema import SPELLINGS, WORD_VOCABULARY

# Latin letters that aren't ASCII, Greek ones, ё, and Arabic ones that many type without hamza or
# dots. Other alphabets are typed as they are written.
_WITH_ACCENTS = "*[\u00df-\u024f\u0370-\u03ff\u0451\u0622-\u0626\u0629\u0649\u0671\u1e00-\u1fff]*"
# The last letters of a word whose accents those of other words tell. With three, the stem is right
# for .95 of the Polish and Czech words that notes have in other forms only, .7 of the Hungarian,
# .6 of the Turkish, and wrong for .003 of the others.
_ENDING = 3


def update_spellings(connection: sqlite3.Connection) -> None:
    """Store the words with accents that the notes have now, inside the caller's transaction."""
    sql = f"select term from {WORD_VOCABULARY} where term glob ?"
    words = [word for (word,) in connection.execute(sql, [_WITH_ACCENTS])]
    wanted = {(typed, word) for word in words for typed in typed_forms(word) if typed != word}
    stored = set(connection.execute(f"select typed, spelling from {SPELLINGS}"))
    sql = f"delete from {SPELLINGS} where typed = ? and spelling = ?"
    connection.executemany(sql, stored - wanted)
    connection.executemany(f"insert into {SPELLINGS} values (?, ?)", wanted - stored)


def spellings(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return how the notes have a word with other accents than these, in lower case.

    None if it was typed with accents and the notes have it so: año isn't ano.
    If the notes don't have the word, it gets the accents of other words that end so: projektów.
    """
    written, typed = normalized(word).lower(), plain(word)
    sql = f"select 1 from {WORD_VOCABULARY} where term = ?"
    is_whole = written != typed and written < "\u0600"  # Arabic may be typed with some of them
    if is_whole and read_value(connection, sql, [written]):
        return []
    sql = f"""
    select spelling from {SPELLINGS} where typed = ?
    union
    select term from {WORD_VOCABULARY} where term in (select value from json_each(?))
    """
    found = connection.execute(sql, [typed, json.dumps([*typed_forms(word)])]).fetchall()
    others = [other for (other,) in found if other != written]
    if not found and written == typed and len(typed) >= 2 * _ENDING:
        others = _with_known_ending(connection, typed)
    regions = (
        other
        for other, root, own in regional(typed)
        if (count := _count(connection, root)) and MOST_SHARE * count >= _count(connection, own)
    )
    return [*others, *regions]


def _with_known_ending(connection: sqlite3.Connection, typed: str) -> list[str]:
    sql = f"select spelling from {SPELLINGS} where substr(typed, -{_ENDING}) = ?"
    found = {
        typed[:-length] + spelling[-length:]: None
        for (spelling,) in connection.execute(sql, [typed[-_ENDING:]])
        for length in (_ENDING, _ENDING + 1)
        if plain(spelling[-length:]) == typed[-length:]
    }
    return [word for word in found if word != typed]


# The other region's spelling is searched for unless the notes have the typed one so many times as
# often: BM25 takes a spelling that few notes have for a word that tells much, and Cranfield, where
# both occur, loses .003 nDCG@10.
MOST_SHARE = 3

# British and American spellings of one word: what comes before, the endings that are exchanged, and
# what may follow. The words before are long or named, since "four" isn't "for", nor "filing"
# "filling", nor "enter" the French "entre".
_REGIONAL = (
    (r"\w{3,}i", "s", "z", "e|e[drs]|ers|ings?|ations?|ational|ationally|able|ability"),
    (r"\w{3,}y", "s", "z", "e|e[dr]|ers|ings?"),  # not analyses, of analysis
    (
        r"\w{2,}[^\W_aeou]|od",
        "our",
        "or",
        "|s|ed|ings?|ers?|ful|fully|less|ites?|abl[ey]|al|ists?|hoods?|ly",
    ),
    (
        r"\w*(?:cent|theat|m[ei]t|lit|fib|calib|spect|sab|lust|somb|meag|scept|och|manoeuv)",
        "re",
        "er",
        "|s",
    ),
    (r"\w{2,}[aeiou]", "ll", "l", "ed|ings?|ers?"),
    (r"\w{2,}", "logue", "log", "|s"),
    (r"(?:def|off|lic|pret)en|practi", "c", "s", "e|e[drs]|ing"),
)


def regional(word: str) -> Iterator[tuple[str, str, str]]:
    """Yield a word in another spelling of English, and the beginnings of that and of this one."""
    for pattern, endings in _regional_patterns():
        if match := pattern.fullmatch(word):
            begins, own, after = match.groups()
            [other] = endings - {own}
            yield f"{begins}{other}{after}", f"{begins}{other}", f"{begins}{own}"


@cache
def _regional_patterns() -> list[tuple[re.Pattern[str], set[str]]]:
    return [
        (re.compile(rf"({before})({one}|{other})({after})"), {one, other})
        for before, one, other, after in _REGIONAL
    ]


def _count(connection: sqlite3.Connection, beginning: str) -> int:
    """Return how often notes have words with this beginning, each note counted once a word."""
    sql = f"select ifnull(sum(doc), 0) from {WORD_VOCABULARY} where term >= ? and term < ?"
    return int(read_value(connection, sql, [beginning, beginning + "\U0010ffff"]))
