"""An index's model and its notes → which similarities mean something there.

Measured while indexing and kept in ``meta``: what unrelated texts have in common for the model,
from which similarity a passage is close, and for which languages the model wasn't made.
"""

from __future__ import annotations

import json
import re
import statistics
from functools import cache
from pathlib import Path

from ...embeddings import cards
from ...embeddings.base import Embedder
from ...sqlite import sqlite3
from ...text.languages import UNSPACED_LANGUAGES, WORD, is_unspaced
from ..file import metadata, nearest, schema, vectors
from ..file.database import STATIC_MODEL, transaction
from ..file.metadata import get_meta, get_number, set_meta

# The mean similarity of unrelated texts for all-MiniLM-L6-v2, for which all constants that a
# similarity is compared with were chosen. multilingual-e5-small: .79, all-mpnet-base-v2: .17.
UNRELATED_MINILM = 0.161
# Above this, a model tells no texts apart. Those that work are at .75 at most.
MAX_UNRELATED = 0.98
# The threshold is this many standard deviations above the mean nearest similarity of unrelated
# queries: .26 to .39 on five collections. 95 of 100 of their own queries are closer than .43
# (single words: .27), and at most one in ten nonsense queries is closer than the threshold.
DEVIATIONS = 1.5
# Passages to retrieve for each unrelated query: more candidates, so that the nearest is found.
UNRELATED_CANDIDATES = 50
# What depends on the notes is measured again, with some dozen searches, if this share of the
# passages is new.
RECALIBRATE_SHARE = 0.05
# The self-test of languages: the number of passages among which one is looked for, the maximum of
# such groups, and the fewest passages for a reliable result; maximum letters and words of a
# sentence, and minimum words. With one group, 28 % of Chinese libraries passed with MiniLM.
GROUP, GROUPS, MIN_TESTED_PASSAGES = 24, 4, 12
MAX_SENTENCE_LETTERS, MAX_SENTENCE_WORDS, MIN_SENTENCE_WORDS = 200, 24, 8
# A model with a result below MIN_FIT wasn't made for the language. Nor was one that splits words
# into more than MAX_PIECES_PER_WORD, unless the result is at least MIN_FIT_MANY_PIECES: words of
# five English collections have 1.1 to 1.5 pieces, Spanish, Italian, German and Swedish ones 1.8 to
# 2.5 (all-MiniLM-L6-v2). In scripts without spaces there are no words to count the pieces of:
# Chinese is .70 with MiniLM, .97 with multilingual-e5-small.
MIN_FIT, MIN_FIT_UNSPACED, MIN_FIT_MANY_PIECES = 0.75, 0.9, 0.97
MAX_PIECES_PER_WORD = 1.65


@cache
def unrelated(language: str = "en") -> tuple[str, ...]:
    """Return nonsense in a language, which no library is about; nothing in unknown languages."""
    lines = Path(__file__).with_name("unrelated.txt").read_text(encoding="utf-8").splitlines()
    known = dict(line.split(": ", 1) for line in lines)
    return tuple(known[language].split(" | ")) if language in known else ()


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
    # In the notes' languages: English nonsense is further from other notes than their own, so that
    # of unrelated Arabic questions 85 % had a close note (multilingual-e5-small), instead of 3 %.
    # In the library itself: in larger and more varied ones, more is near by chance.
    shares = metadata.language_shares(connection)
    main = [language for language, share in shares.items() if share >= metadata.MAIN_LANGUAGE_SHARE]
    found = {it: _threshold(connection, embedder, it) for it in main or ["en"] if unrelated(it)}
    return {language: limit for language, limit in found.items() if limit is not None}


def _threshold(connection: sqlite3.Connection, embedder: Embedder, language: str) -> float | None:
    queries = filter(None, embedder.embed_queries(unrelated(language)))
    near = [nearest.nearest(connection, query, UNRELATED_CANDIDATES) for query in queries]
    similarities = [similarity for [(_, similarity), *_] in filter(None, near)]
    if len(similarities) < 2:
        return None
    return round(statistics.mean(similarities) + DEVIATIONS * statistics.stdev(similarities), 6)


def find_foreign_languages(connection: sqlite3.Connection, embedder: Embedder) -> list[str]:
    """Return the languages of the library that the model wasn't made for.

    A model's card says for which languages it was made. Where it doesn't, a self-test decides, but
    not about English, which hardly any model doesn't know.
    """
    shares = metadata.language_shares(connection)
    declared = cards.languages(embedder.name)
    if declared is not None:
        return [language for language in shares if not cards.includes(declared, language)]
    # One that few notes are in is tested only if they are enough for a reliable result.
    enough = MIN_TESTED_PASSAGES / max(metadata.count_notes(connection), 1)
    least = min(metadata.MAIN_LANGUAGE_SHARE, enough)
    tested = (it for it, share in shares.items() if share >= least and it != "en")
    return [language for language in tested if not _fits(connection, embedder, language)]


def _fits(connection: sqlite3.Connection, embedder: Embedder, language: str) -> bool:
    """Return whether a model seems to know a language; True if there are too few passages to tell.

    Sampled passages are searched by meaning, each for every other word of one of its sentences. The
    result is the mean reciprocal rank among a group of passages.
    """
    sampled = connection.execute(_SAMPLE, [language, GROUP * GROUPS]).fetchall()
    asked = [(_sentence(text), vector) for text, vector in sampled]
    asked = [(words, vector) for words, vector in asked if words]
    if not asked:
        return True
    made = embedder.embed_queries([" ".join(words[::2]) for words, _ in asked])
    pairs = [(query, vector) for query, (_, vector) in zip(made, asked) if query]
    if any(len(query) != len(vector) for query, vector in pairs):
        return True
    ranks: list[float] = []
    for start in range(0, len(pairs), GROUP):
        queries, stored = map(vectors.matrix, zip(*pairs[start : start + GROUP]))
        similarities = queries @ stored.T
        ranks += (1 + (similarities > similarities.diagonal()[:, None]).sum(axis=1)).tolist()
    # A query that the model doesn't know finds nothing.
    fit = sum(1 / rank for rank in ranks) / len(asked)
    is_reliable = len(asked) >= MIN_TESTED_PASSAGES
    if language in UNSPACED_LANGUAGES:
        return fit >= MIN_FIT_UNSPACED or not is_reliable
    words = [word for words, _ in asked for word in words]
    # Lengths include the special tokens for beginning and end.
    pieces = sum(embedder.lengths(words)) / len(words) - sum(embedder.lengths([""]))
    if not is_reliable:
        return pieces <= MAX_PIECES_PER_WORD
    return fit >= (MIN_FIT_MANY_PIECES if pieces > MAX_PIECES_PER_WORD else MIN_FIT)


# One passage per note, in a pseudorandom order.
_SAMPLE = f"""
with chosen as (
  select notes.id as note_id, passages.id as passage_id, max(passages.length)
  from notes
  join passages on passages.note_id = notes.id
  where language = ? and vector_state = '{schema.EMBEDDED}'
  group by notes.id
  order by notes.id * 2654435761 % 4294967296
  limit ?
)
select substr(body, start + 1, length), vector
from chosen
join notes on notes.id = chosen.note_id
join passages on passages.id = chosen.passage_id
join {schema.VECTORS} using (passage_id)
"""


def _sentence(text: str) -> list[str]:
    """Return the words of the longest sentence (unspaced: pairs of characters); [] if short."""
    longest = max(re.split(r"[.!?…。！？]+\s|[。！？\n]+", text), key=len)[:MAX_SENTENCE_LETTERS]
    tokens = WORD.findall(longest)
    words = [
        token[place : place + 2] if is_unspaced(token) else token
        for token in tokens
        for place in range(0, len(token) if is_unspaced(token) else 1, 2)
    ][:MAX_SENTENCE_WORDS]
    return words if len(words) >= MIN_SENTENCE_WORDS else []
