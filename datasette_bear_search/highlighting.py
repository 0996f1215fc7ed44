"""The sentence of a matched passage that is closest to the query, so that the eye finds it.

The model isn't asked again, which would take longer than the search. What it knows of words before it reads a text, its table
of word pieces, is enough to choose among the few sentences of a passage: in seven of ten passages it is the sentence that the
model itself would choose, and where it isn't, one nearly as close (on average .02 less in cosine similarity; the first
sentence has .21 less).
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from .embedders import Embedder, ModelUnavailable
from .markup import plain_text
from .planning import STOP_WORDS
from .search import Hit, Passage, Results

# Shorter ones say too little to be anybody's answer: "See below." In bytes, as a Chinese character says as much as some letters.
SHORTEST_SENTENCE_WORDS, SHORTEST_SENTENCE_BYTES = 3, 20

# Passages whose sentences are kept, as numbers of word pieces: some megabytes.
REMEMBERED = 2000

# Where a sentence ends: at a mark with space behind it, or at a mark of Chinese and Japanese; and with its line.
_ENDS = re.compile("[.!?…][\"'”’)\\]*_]*[ \t]+|[。！？][”’」』）]*|\n+")
_HEADING = re.compile(r"\s*#{1,6}\s")
# Before the words of a line: a mark around these would keep them from being taken for markup.
_LINE_MARKS = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+(?:\[[ xX]\]\s+)?)?")
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def highlighted(results: Results, embedder: Embedder) -> Results:
    """The results with the closest sentence of each passage that meaning found.

    Without vectors of word pieces, which a few kinds of models don't have, they stay as they are.
    """
    hits = [hit for hit in results.hits if hit.passage and hit.similarity is not None]
    if "semantic" not in results.legs or not hits:
        return results
    try:
        spans = closest_sentences(
            results.query.meaning, [hit.passage.text for hit in hits if hit.passage], embedder
        )
    except ModelUnavailable:
        return results
    sentences = {hit.id: span for hit, span in zip(hits, spans)}
    return replace(
        results, hits=tuple(_with_sentence(hit, sentences.get(hit.id)) for hit in results.hits)
    )


def closest_sentences(
    query: str, passages: Sequence[str], embedder: Embedder
) -> list[tuple[int, int] | None]:
    """For each passage where its closest sentence begins and ends; None if it has but one.

    :raises ModelUnavailable: if the model has no vectors of word pieces
    """
    import numpy

    words = [word for word in _WORD.findall(query) if word.lower() not in STOP_WORDS]
    asked, *found = _sentences_in_pieces([" ".join(words) or query, *passages], embedder)
    query_pieces = [piece for sentence in asked for piece in sentence.pieces]
    used = {piece for sentences in found for sentence in sentences for piece in sentence.pieces}
    if not query_pieces or not used:
        return [None] * len(passages)
    place = {piece: number for number, piece in enumerate(used)}
    # How much each piece of the query is met by each piece of the passages.
    met = embedder.piece_similarities(query_pieces, list(used))
    met = numpy.clip(met, 0, None) ** 2  # many faint echoes mean little
    # One sentence's pieces after the other's, of all passages.
    lengths = [len(sentence.pieces) for sentences in found for sentence in sentences]
    places = [
        place[piece] for sentences in found for sentence in sentences for piece in sentence.pieces
    ]
    starts = numpy.cumsum([0, *lengths[:-1]])
    best_met = numpy.maximum.reduceat(met[:, places], starts, axis=1).sum(axis=0)
    # A long sentence has more pieces to choose from, which is set off a little.
    scores = iter((best_met / numpy.sqrt(numpy.log(numpy.array(lengths) + 8))).tolist())
    return [_closest(sentences, [next(scores) for _ in sentences]) for sentences in found]


def _closest(sentences: Sequence[_Sentence], scores: Sequence[float]) -> tuple[int, int] | None:
    best = max(scores, default=0.0)
    is_choice = best > 0 and len(sentences) > 1
    return sentences[scores.index(best)].span if is_choice else None


class _Sentence(NamedTuple):
    span: tuple[int, int]
    pieces: tuple[int, ...]


def _sentences_in_pieces(texts: Sequence[str], embedder: Embedder) -> list[tuple[_Sentence, ...]]:
    """The sentences of each text; while somebody types, the same passages are met again and again."""
    with _memory_lock:
        known = {text: _memory.get((embedder.name, text)) for text in texts}
    spans = {
        text: list(_sentences(text)) or [(0, len(text))]
        for text, sentences in known.items()
        if sentences is None
    }
    plain = [plain_text(text[slice(*span)]) for text, found in spans.items() for span in found]
    pieces = iter(embedder.pieces(plain) if plain else [])
    for text, found in spans.items():
        # A sentence that has nothing which the model knows can't be the closest.
        split = [_Sentence(span, tuple(next(pieces))) for span in found]
        known[text] = tuple(sentence for sentence in split if sentence.pieces)
    with _memory_lock:
        for text in spans:
            _memory[embedder.name, text] = known[text] or ()
        while len(_memory) > REMEMBERED:
            _memory.popitem(last=False)
    return [known[text] or () for text in texts]


_memory: OrderedDict[tuple[str, str], tuple[_Sentence, ...]] = OrderedDict()
_memory_lock = threading.Lock()


def _sentences(passage: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in [*(match.end() for match in _ENDS.finditer(passage)), len(passage)]:
        text = passage[start:end]
        says_much = (
            len(text.strip().encode(errors="replace")) >= SHORTEST_SENTENCE_BYTES
            or len(_WORD.findall(text)) >= SHORTEST_SENTENCE_WORDS  # takes much longer
        )
        if says_much and not _HEADING.match(text):
            at_line_start = start == 0 or passage[start - 1] == "\n"
            marks = _LINE_MARKS.match(text) if at_line_start else None
            before = marks.end() if marks else len(text) - len(text.lstrip())
            if before < len(text.rstrip()):
                yield start + before, start + len(text.rstrip())
        start = end


def _with_sentence(hit: Hit, span: tuple[int, int] | None) -> Hit:
    if hit.passage is None or span is None:
        return hit
    passage: Passage = replace(
        hit.passage,
        sentence_start=hit.passage.start + span[0],
        sentence_end=hit.passage.start + span[1],
    )
    return replace(hit, passage=passage)
