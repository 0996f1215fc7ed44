"""Metadata of the index: what it was made with, and measured on it."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TypeVar

from ...embeddings import registry
from ...embeddings.names import CHOICES, MULTILINGUAL_MODEL
from ...sqlite import read_value, sqlite3

T = TypeVar("T")
# Key in meta: the vec0 table is incomplete, and can't be searched until it is rebuilt.
STALE = "passage_index_stale"
# Keys in meta: whether to make vectors, and how many passages were recently embedded per second.
SEMANTIC, NO = "semantic", "no"
SAVED_SEARCHES = "saved_searches"
PACE = "passages_per_second"
# Keys in meta: the mean vector of the passages when their signs were taken, hexadecimal; and how
# much more similar unrelated texts are for the model than for all-MiniLM-L6-v2.
MEAN, UNRELATED = "mean_vector", "unrelated_similarity"
# Key in meta: a JSON object with each language's share of the notes, largest first.
LANGUAGES = "languages"
# The minimum share of the notes in a main language. Rare words weigh much in BM25: if the French
# stem of "cancer" is searched for, too, three of 3,395 notes cost NFCorpus .008 nDCG@10.
MAIN_LANGUAGE_SHARE = 0.05
# Keys in meta: a JSON object with the similarity from which a passage is close, by language of the
# query; and a JSON array of the library's languages for which the model wasn't made.
THRESHOLDS, FOREIGN = "thresholds", "foreign_languages"
# Keys in meta: the model that the index changes to, and its fingerprint, until it has all vectors.
NEXT_MODEL, NEXT_FINGERPRINT = "next_model", "next_fingerprint"
# Key in meta: the number of passages embedded since the last calibration.
SINCE_CALIBRATION = "passages_since_calibration"


def json_value(text: object, kind: type[T]) -> T:
    """Return the value of a JSON column; raise sqlite3.DatabaseError if it isn't of this kind."""
    with suppress(ValueError, TypeError, RecursionError):
        value = json.loads(text)  # type: ignore[arg-type]
        is_texts = kind is not list or all(isinstance(item, str) for item in value)
        if isinstance(value, kind) and is_texts:
            return value
    raise sqlite3.DatabaseError("malformed JSON in a column")


def get_meta(connection: sqlite3.Connection, key: str) -> str | None:
    # The cast ensures a string: a damaged file may contain anything, and mustn't crash the program.
    sql = "select cast(value as text) from meta where key = ?"
    value: str | None = read_value(connection, sql, [key])
    return value


def get_number(connection: sqlite3.Connection, key: str) -> float | None:
    """Return a number from meta; raise sqlite3.DatabaseError if it is something else."""
    text = get_meta(connection, key)
    return None if text is None else number(text)


def number(text: str) -> float:
    """Return the number in a text, an integer if it is one, or raise sqlite3.DatabaseError."""
    with suppress(ValueError):
        value = int(text) if text.isdigit() else float(text)
        if math.isfinite(value) and abs(value) < 2**63:  # SQLite's integers have 64 bits
            return value
    raise sqlite3.DatabaseError("malformed number in meta")


def set_meta(connection: sqlite3.Connection, **values: str | int | None) -> None:
    connection.executemany("insert or replace into meta (key, value) values (?, ?)", values.items())


def mark_changed(connection: sqlite3.Connection, key: str) -> None:
    """Store a new random token, in the same transaction as what it says has changed."""
    sql = "insert or replace into meta (key, value) values (?, hex(randomblob(8)))"
    connection.execute(sql, [key])


def get_texts(connection: sqlite3.Connection, key: str) -> tuple[str, ...]:
    """Return the texts of a JSON array in meta; none if there is none or it is damaged."""
    with suppress(sqlite3.DatabaseError):
        return tuple(json_value(get_meta(connection, key) or "[]", list))
    return ()


def language_shares(connection: sqlite3.Connection) -> dict[str, float]:
    """Return the share of the notes in each language as of the last run, largest first."""
    with suppress(sqlite3.DatabaseError):
        numbers = json_value(get_meta(connection, LANGUAGES) or "{}", dict)
        return {name: value for name, value in numbers.items() if isinstance(value, int | float)}
    return {}


def foreign_languages(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the library's languages for which the model wasn't made, as of the last run."""
    return frozenset(get_texts(connection, FOREIGN))


def model_offer(connection: sqlite3.Connection) -> str | None:
    """Return the offer of another model if this one doesn't know the library's main language."""
    main = next(iter(language_shares(connection)), None)
    if main not in foreign_languages(connection) or get_meta(connection, NEXT_MODEL):
        return None
    size = next(each.megabytes for each in CHOICES if each.model == MULTILINGUAL_MODEL)
    install = registry.missing_package(MULTILINGUAL_MODEL)
    return (
        f"Most notes are in a language ({main}) that the model {get_meta(connection, 'model')} "
        "wasn't made for, so they are found by words, but hardly by meaning. To use a model for "
        f"many languages ({size} MB to download, once; searching works meanwhile), run: "
        f"{f'{install} && ' if install else ''}datasette bear-index --model {MULTILINGUAL_MODEL}"
    )


def count_notes(connection: sqlite3.Connection) -> int:
    """Return the number of notes. This takes a millisecond or two per hundred thousand notes."""
    return int(read_value(connection, "select count(*) from notes"))
