"""The sentence of a passage that is closest to the query, to be marked."""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from ...embeddings.base import Embedder, ModelUnavailable
from ...text.languages import STOP_WORDS, is_unspaced
from ...text.markdown import plain_text
from ..planning.planner import Plan
from . import word_matches
from .records import FoundNote, RankedNote

# A sentence is marked if the query has at least this many words (single words are close to little)
# and it is this many times as close as the mean of the others. A sentence is marked for .78 of
# these questions, and .83 of those have the answer (with 1.25: .88 and .82; with 2.2: .42 and .90).
MIN_QUESTION_WORDS = 3
MARKED_SIMILARITY_RATIO = 1.5
# And its score is this many times that of the next best. For .72 of 210 XQuAD questions about
# English notes one is marked, and .94 of those have the answer (without a margin .79 and .89, with
# 1.1 .73 and .93, with 1.5 .64 and .95).
MARKED_MARGIN = 1.2
# A sentence without any of the query's words is marked only if its passage's similarity is this
# many times the threshold. On five collections, this loses no mark in relevant notes but most of
# the wrong ones, such as a sentence about loons for a question about mice.
MARKED_THRESHOLD_RATIO = 1.3
# Weights relative to a sentence's meaning: of its share of the query's words, and of being in the
# passage that was found.
WORDS_WEIGHT, IN_PASSAGE_WEIGHT = 1.5, 0.1

# The weight of sentences in lines that many notes share.
TEMPLATE_LINE_WEIGHT = 0.3

# Shorter sentences, such as "See below.", answer nothing. Bytes, as a Chinese character says much.
SHORTEST_SENTENCE_WORDS, SHORTEST_SENTENCE_BYTES = 3, 20

# Passages whose sentences are cached, which takes some megabytes. While somebody types, the same
# passages occur again and again, and splitting a page's passages takes 1 of a search's 20 ms.
CACHED_PASSAGES = 2000

# Text without punctuation, such as a dictated note, is divided into parts of at most so many
# characters, or a word at its end would never be shown.
LONGEST_SENTENCE = 600

# A sentence ends at punctuation with a space after it, at Chinese or Japanese punctuation, or at
# the end of a line. It doesn't end after an initial or a day ("J. Smith", "am 6. Oktober"), or
# before a lower-case letter or "(". Checking what precedes the mark last takes .3 of the time.
_ENDS = re.compile(
    r"[.!?…](?<![ \t.(][^\W\d_].)(?<![ \t]\d.)(?<![ \t]\d\d.)[\"'”’)\]*_]*[ \t]+(?![a-zß-ÿ(])"
    r"|[。！？][”’」』）]*|\n+"
)
_HEADING = re.compile(r"\s*#{1,6}\s")
# Markup before the words of a line. If a mark enclosed it, it wouldn't be recognized as markup.
LINE_MARKS = re.compile(r"\s*(?:>\s*)*(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?")
# A label may contain the end of a sentence: [Why? (2022)](https://…).
_LINK = re.compile(r"\[[^\[\]\n]*\]\(")
_WORD = re.compile(r"\w+(?:['’]\w+)*")

Span = tuple[int, int]
# For each sentence, where it begins and ends, its closeness in meaning, and its score by words.
Sentences = list[tuple[Span, float, float]]


# --- the sentence of a passage that is closest to the query, to be marked
#
# Each word piece of the query adds the similarity of its most similar piece in the sentence, by the
# model's input embeddings, which are just looked up. The share of passages in which the right
# sentence is chosen, for 535 XQuAD questions (5 sentences a passage) / 52 paraphrases of the sample
# notes (9), and the time per passage: this .82 / .50, 3 ms; idf-weighted overlap of stems .80 /
# .21; sentence embeddings .76 / .50, 130 ms; the first sentence .30 / .44.


def scored_sentences(
    planned: Plan, hits: Sequence[FoundNote], embedder: Embedder | None
) -> dict[int, Sentences]:
    """Return the sentences around passages with their closeness (1 for the best), by note id.

    A model without embeddings of word pieces scores none by meaning.
    """
    if not hits or not planned.terms.substrings:
        return {}
    found: list[dict[Span, float]] = [{} for _ in hits]
    if embedder:
        with suppress(ModelUnavailable):
            texts = [hit.around for hit in hits]
            found = sentence_scores(planned.terms.meaning, texts, embedder, planned.stop_words)
    terms = word_matches.beginnings(planned.terms)
    # Long terms match inside of words, too, for German compounds. Short ones would match too many.
    starts = (
        r"\b" * (len(term) < 4 and term[0].isalnum() and not is_unspaced(term)) + re.escape(term)
        for term in terms
    )
    pattern = re.compile("|".join(starts))
    scored = {}
    for hit, by_meaning in zip(hits, found):
        best = max(by_meaning.values(), default=0.0) or 1.0
        spans = list(by_meaning or _sentences(hit.around))
        words = _shares_of_words(spans, pattern, hit.around) if terms else [0.0] * len(spans)
        first = hit.passage.start - hit.around_start if hit.passage else 0
        last = hit.passage.end - hit.around_start if hit.passage else 0
        scored[hit.id] = [
            (
                span,
                weight * by_meaning.get(span, 0.0) / best,
                weight
                * (WORDS_WEIGHT * share + (IN_PASSAGE_WEIGHT if first <= span[0] < last else 0.0)),
            )
            for span, share in zip(spans, words)
            for line in [hit.around.rfind("\n", 0, span[0]) + 1]
            for weight in [TEMPLATE_LINE_WEIGHT if line in hit.templates else 1.0]
        ]
    return scored


def _shares_of_words(spans: Sequence[Span], pattern: re.Pattern[str], text: str) -> list[float]:
    """Return each sentence's share of the query's words; rare words weigh more."""
    starts = [start for start, _ in spans]
    having: dict[str, set[int]] = {}
    beside: dict[str, set[int]] = {}
    # Faster than IGNORECASE. Offsets stay the same: lower() changes only the length of İ.
    for match in pattern.finditer(text.replace("İ", "I").lower()) if spans else ():
        place = bisect(starts, match.start()) - 1
        if place >= 0 and match.end() <= spans[place][1]:
            having.setdefault(match[0], set()).add(place)
        else:
            beside.setdefault(match[0], set()).add(max(place, 0))
    # The text shown goes on after a sentence, with a line of code or what is too short for one.
    having = having or beside
    shares = [0.0] * len(spans)
    weights = {word: math.log(1 + len(spans) / len(those)) for word, those in having.items()}
    whole = sum(weights.values())
    for word, those in having.items():
        for place in those:
            shares[place] += weights[word] / whole
    return shares


def may_mark(hit: RankedNote, planned: Plan) -> bool:
    """Return whether to mark a sentence of the hit if one stands out."""
    meaning = planned.terms.meaning
    # In Chinese, a word has about two characters.
    words = len(meaning) // 2 if is_unspaced(meaning) else len(meaning.split())
    return words >= MIN_QUESTION_WORDS and is_close(hit, planned)


def sentence_that_stands_out(hit: FoundNote, planned: Plan, sentences: Sentences) -> Span | None:
    if len(sentences) < 2 or not may_mark(hit, planned):
        return None
    scores = sorted((meaning for _, meaning, _ in sentences), reverse=True)
    if not scores[0] or scores[0] < MARKED_SIMILARITY_RATIO * sum(scores[1:]) / len(scores[1:]):
        return None
    best, second = sorted(sentences, key=lambda each: -each[1] - each[2])[:2]
    span, _, share = best
    if sum(best[1:]) < MARKED_MARGIN * sum(second[1:]):
        return None
    if share > IN_PASSAGE_WEIGHT and not _says_more(hit, planned, span):
        return None
    needed = MARKED_THRESHOLD_RATIO * (planned.threshold or 0.0)
    return span if share > IN_PASSAGE_WEIGHT or (hit.similarity or 0.0) >= needed else None


def _says_more(hit: FoundNote, planned: Plan, span: Span) -> bool:
    """Return whether a sentence has other words of the query than the title, which tell nothing."""
    text, title = hit.around[span[0] : span[1]].lower(), hit.title.lower()
    words = [word for word in planned.terms.words if word.lower() not in planned.stop_words]
    starts = word_matches.beginnings(replace(planned.terms, words=tuple(words)))
    return any(start in text and start not in title for start in starts)


def sentence_scores(
    query: str, passages: Sequence[str], embedder: Embedder, stop_words: Set[str] = STOP_WORDS["en"]
) -> list[dict[Span, float]]:
    """Return for each passage how close its sentences are to the query, by span.

    :raises ModelUnavailable: if the model has no embeddings of word pieces
    """
    import numpy

    words = [word for word in _WORD.findall(query) if word.lower() not in stop_words]
    [query_pieces] = embedder.pieces([" ".join(words) or query])
    split = [_split(passage, embedder) for passage in passages]
    # All sentences in a row. Those without pieces are left out: reduceat() needs nonempty slices.
    said = [(n, span, pieces) for n, each in enumerate(split) for span, pieces in each if pieces]
    if not query_pieces or not said:
        return [{} for _ in passages]
    said_pieces = [*chain.from_iterable(pieces for *_, pieces in said)]
    place = {piece: number for number, piece in enumerate(dict.fromkeys(said_pieces))}
    similarities = numpy.clip(embedder.piece_similarities(query_pieces, list(place)), 0, None)
    columns = [*map(place.__getitem__, said_pieces)]
    starts = numpy.cumsum([0, *(len(pieces) for *_, pieces in said[:-1])])
    scores = numpy.maximum.reduceat(similarities[:, columns], starts, axis=1).sum(axis=0)
    found: list[dict[Span, float]] = [{} for _ in passages]
    for (passage, span, _), score in zip(said, scores.tolist()):
        found[passage][span] = score
    return found


@lru_cache(CACHED_PASSAGES)
def _split(passage: str, embedder: Embedder) -> list[tuple[tuple[int, int], list[int]]]:
    # Returns the spans of the passage's sentences, and their word pieces.
    spans = list(_sentences(passage))
    texts = [plain_text(passage[start:end]) for start, end in spans]
    return list(zip(spans, embedder.pieces(texts))) if texts else []


def _sentences(passage: str) -> Iterator[tuple[int, int]]:
    start = 0
    links = [match.span() for match in _LINK.finditer(passage)]
    for end in _sentence_ends(passage):
        link = bisect(links, (end,)) - 1
        if link >= 0 and end < links[link][1]:
            continue
        text = passage[start:end]
        says_much = (
            len(text.strip().encode(errors="replace")) >= SHORTEST_SENTENCE_BYTES
            or len(_WORD.findall(text)) >= SHORTEST_SENTENCE_WORDS  # much slower, so second
        )
        if says_much and not _HEADING.match(text):
            at_line_start = start == 0 or passage[start - 1] == "\n"
            marks = LINE_MARKS.match(text) if at_line_start else None
            before = marks.end() if marks else len(text) - len(text.lstrip())
            if before < len(text.rstrip()):
                yield start + before, start + len(text.rstrip())
        start = end


def _sentence_ends(passage: str) -> Iterator[int]:
    start = 0
    for end in [*(match.end() for match in _ENDS.finditer(passage)), len(passage)]:
        while end - start > LONGEST_SENTENCE:
            space = passage.rfind(" ", start, start + LONGEST_SENTENCE)
            start = space + 1 if space >= start else start + LONGEST_SENTENCE
            yield start
        yield end
        start = end


def is_close(hit: RankedNote, planned: Plan) -> bool:
    """Return whether a hit's passage is closer in meaning than those found for nonsense."""
    is_near = hit.similarity is not None and hit.similarity >= (planned.threshold or 0.0)
    return is_near and hit.language not in planned.foreign
