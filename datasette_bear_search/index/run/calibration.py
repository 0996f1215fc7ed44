"""An index's model and its notes → which similarities mean something there.

Measured while indexing and kept in ``meta``: what unrelated texts have in common for the model,
from which similarity a passage is close, and for which languages the model wasn't made.
"""

from __future__ import annotations

import json
import statistics
from functools import cache
from pathlib import Path

from ...embeddings import cards
from ...embeddings.base import Embedder
from ...sqlite import sqlite3
from ...text.languages import WORD, is_unspaced
from ..file import metadata, nearest, vectors
from ..file.database import STATIC_MODEL, transaction
from ..file.metadata import get_meta, get_number, set_meta

# The mean similarity of unrelated texts for all-MiniLM-L6-v2, for which all constants that a
# similarity is compared with were chosen. multilingual-e5-small: .79, all-mpnet-base-v2: .17.
UNRELATED_MINILM = 0.161
# The threshold is this many standard deviations above the mean nearest similarity of unrelated
# queries: .26 to .39 on five collections. 95 of 100 of their own queries are closer than .43
# (single words: .27), and at most one in ten nonsense queries is closer than the threshold.
DEVIATIONS = 1.5
# Passages to retrieve for each unrelated query: more candidates, so that the nearest is found.
UNRELATED_CANDIDATES = 50
# What depends on the notes is measured again, with some dozen searches, if this share of the
# passages is new, and for languages with at least this share of the notes.
RECALIBRATE_SHARE, MAIN_LANGUAGE_SHARE = 0.05, 0.05
# A model that splits a language's words into more pieces than that wasn't made for it: English ones
# have 1.1 to 1.5, Spanish 1.7 to 1.9, German 2.1 to 2.3 (all-MiniLM-L6-v2), German and Spanish ones
# 1.3 to 1.6 (multilingual-e5-small). In scripts without spaces, two characters count as a word, and
# each run as half of one more, since a piece may mark where it begins: Chinese has 1.7 and 1.4.
MAX_PIECES_PER_WORD = 1.65
# Passages of a language whose words are counted, and the fewest for a reliable result.
COUNTED_PASSAGES, MIN_COUNTED_PASSAGES = 24, 12


@cache
def unrelated(language: str = "en") -> tuple[str, ...]:
    """Return nonsense in a language, which no library is about; English in other languages."""
    lines = Path(__file__).with_name("unrelated.txt").read_text(encoding="utf-8").splitlines()
    known = dict(line.split(": ", 1) for line in lines)
    return tuple(known.get(language, known["en"]).split(" | "))


def unrelated_similarity(embedder: Embedder) -> float:
    """Return how much more similar unrelated texts are for a model than for all-MiniLM-L6-v2."""
    import numpy

    texts = unrelated()
    asked, stored = embedder.embed_queries(texts), embedder.embed_documents(texts)
    if None in (*asked, *stored):
        return 0.0
    one, two = (vectors.matrix([*filter(None, made)]) for made in (asked, stored))
    others = ~numpy.eye(len(texts), dtype=bool)
    mean = float((one @ two.T)[others].mean())
    return round(max(0.0, (mean - UNRELATED_MINILM) / (1 - UNRELATED_MINILM)), 7)


def count_new(connection: sqlite3.Connection, passages: int) -> None:
    """Note that so many passages got a vector, in the same transaction."""
    set_meta(connection, **{metadata.SINCE_CALIBRATION: passages + _passages_since(connection)})


def renew(connection: sqlite3.Connection, embedder: Embedder) -> None:
    """Measure what depends on the notes again, if enough passages are new."""
    if is_due(connection):
        nearest.register(connection)
        with transaction(connection):
            vectors.center(connection)
            nearest.choose_candidates(connection)
        # Outside of a transaction, because the model may take seconds.
        foreign = find_foreign_languages(connection, embedder)
        measured = thresholds(connection, embedder)
        known = {metadata.THRESHOLDS: json.dumps(measured), metadata.FOREIGN: json.dumps(foreign)}
        known[STATIC_MODEL] = "1" if embedder.is_static else ""
        with transaction(connection):
            set_meta(connection, **{metadata.SINCE_CALIBRATION: 0}, **known)


def is_due(connection: sqlite3.Connection) -> bool:
    """Return whether nothing was measured yet, or too many passages are new since."""
    new = _passages_since(connection)
    [count] = connection.execute("select count(*) from passages").fetchone()
    return new > RECALIBRATE_SHARE * count or get_meta(connection, metadata.THRESHOLDS) is None


def _passages_since(connection: sqlite3.Connection) -> int:
    return int(get_number(connection, metadata.SINCE_CALIBRATION) or 0)


def thresholds(connection: sqlite3.Connection, embedder: Embedder) -> dict[str, float]:
    """Return the similarity that few unrelated queries reach, by main language of the library."""
    # In the notes' languages: English nonsense is further from German notes than German nonsense.
    # In the library itself: in larger and more varied ones, more is near by chance.
    shares = metadata.language_shares(connection)
    main = [language for language, share in shares.items() if share >= MAIN_LANGUAGE_SHARE]
    found = {language: _threshold(connection, embedder, language) for language in main}
    known = {language: limit for language, limit in found.items() if limit is not None}
    # In English, if there is no other language, or none that the model knows.
    english = None if known else _threshold(connection, embedder, "en")
    return known if english is None else {"en": english}


def _threshold(connection: sqlite3.Connection, embedder: Embedder, language: str) -> float | None:
    queries = filter(None, embedder.embed_queries(unrelated(language)))
    near = [nearest.nearest(connection, query, UNRELATED_CANDIDATES) for query in queries]
    similarities = [similarity for [(_, similarity), *_] in filter(None, near)]
    if len(similarities) < 2:
        return None
    return round(statistics.mean(similarities) + DEVIATIONS * statistics.stdev(similarities), 6)


def find_foreign_languages(connection: sqlite3.Connection, embedder: Embedder) -> list[str]:
    """Return the languages of the library that the model wasn't made for.

    A model's card says for which languages it was made. Where it doesn't, the pieces of their words
    decide, but not about English, which hardly any model doesn't know.
    """
    shares = metadata.language_shares(connection)
    declared = cards.languages(embedder.name)
    if declared is not None:
        return [language for language in shares if not cards.includes(declared, language)]
    # One that few notes are in is tested only if they are enough for a reliable result.
    notes = max(metadata.count_notes(connection), 1)
    least = min(MAIN_LANGUAGE_SHARE, MIN_COUNTED_PASSAGES / notes)
    tested = (it for it, share in shares.items() if share >= least and it != "en")
    return [it for it in tested if _pieces_per_word(connection, embedder, it) > MAX_PIECES_PER_WORD]


def _pieces_per_word(connection: sqlite3.Connection, embedder: Embedder, language: str) -> float:
    """Return into how many pieces a model splits the words of a language, on average."""
    sql = """
    select substr(body, start + 1, length), max(length)
    from notes
    join passages on passages.note_id = notes.id
    where language = ?
    group by notes.id
    order by notes.id * 2654435761 % 4294967296  -- pseudorandom
    limit ?
    """
    found = connection.execute(sql, [language, COUNTED_PASSAGES])
    words = [word for text, _ in found for word in WORD.findall(text) if word.isalpha()]
    count = sum((len(word) + 1) / 2 if is_unspaced(word) else 1 for word in words)
    # Lengths include the special tokens for beginning and end.
    pieces = sum(embedder.lengths(words)) - len(words) * sum(embedder.lengths([""]))
    return pieces / max(count, 1)
