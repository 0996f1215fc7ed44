"""The sentence of a matched passage that is closest to the query, so that the eye finds it.

The model isn't asked again, which would take longer than the search. What it knows of words before it reads a text, its table
of word pieces, is enough to choose among the few sentences of a passage: in seven of ten passages it is the sentence that the
model itself would choose, and where it isn't, one nearly as close (on average .02 less in cosine similarity; the first
sentence has .21 less).
"""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from ..embeddings.base import Embedder, ModelUnavailable
from ..index.schema import VECTORS
from ..markdown import plain_text
from ..notes import fold_tag
from ..sqlite import sqlite3
from .planner import STOP_WORDS, Plan
from .results import Hit, MatchedPassage, Results
from .sql import ELLIPSIS, END_MARK, MARK

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
    if "semantic" not in results.retrievers or not hits:
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
    passage: MatchedPassage = replace(
        hit.passage,
        sentence_start=hit.passage.start + span[0],
        sentence_end=hit.passage.start + span[1],
    )
    return replace(hit, passage=passage)


# Further passages of the notes on a page that are close to the query, too.

# For each note, beside the one that is shown.
AT_MOST = 4

_SQL = f"""
with close as (
  select
    passages.id, passages.note_id, passages.heading, passages.start, passages.length,
    1 - vec_distance_cosine({VECTORS}.vector, embed(:meaning)) as similarity
  from passages
  join {VECTORS} on {VECTORS}.passage_id = passages.id
  where passages.note_id in (select value from json_each(:notes))
    and passages.id not in (select value from json_each(:shown))
    and passages.length > 0
),
ranked as (
  select *, row_number() over (partition by note_id order by similarity desc, id) as rank
  from close
  where similarity >= :floor
)
select
  ranked.id, ranked.note_id, ranked.heading, ranked.start, ranked.length,
  substr(notes.body, ranked.start + 1, ranked.length) as text
from ranked
join notes on notes.id = ranked.note_id
where rank <= {AT_MOST} and not notes.encrypted
order by ranked.note_id, rank
"""


def more_passages(
    connection: sqlite3.Connection, planned: Plan, hits: Sequence[Hit]
) -> dict[int, list[MatchedPassage]]:
    """For each note (by id) its other passages that are as close as the floor, the closest first.

    Without a floor nothing is known to be close. ``embed()`` must answer at once, as for the search itself.
    """
    if planned.threshold is None or not hits:
        return {}
    parameters = {
        "meaning": planned.query.meaning,
        "floor": planned.threshold,
        "notes": json.dumps([hit.id for hit in hits]),
        "shown": json.dumps([hit.passage.id for hit in hits if hit.passage and hit.passage.id]),
    }
    found: dict[int, list[MatchedPassage]] = {}
    for passage_id, note_id, heading, start, length, text in connection.execute(_SQL, parameters):
        passage = MatchedPassage(text, heading or None, start, start + length, id=passage_id)
        found.setdefault(note_id, []).append(passage)
    return found


# What every answer says of its results: rows for programs, reasons for people.


def json_row(hit: Hit) -> dict[str, Any]:
    """A hit for programs; its snippet is HTML with ``<mark>`` around matches."""
    row = _as_dict(hit)
    row["snippet"] = hit.snippet_html()
    row["passage"] = hit.passage and _as_dict(hit.passage)
    return row


def _as_dict(record: Any) -> dict[str, Any]:
    """A record's fields as they are: dataclasses.asdict copies them, which takes longer than all that is done with them."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def json_answer(
    results: Results,
    notices: Sequence[str],
    timing_ms: Mapping[str, float] | None,
    rerank: str | None,
    **more: Any,
) -> dict[str, Any]:
    """An answer for programs, in the shapes of Datasette 1.0; ``more`` stands beside the counts."""
    return {
        "ok": True,
        "rows": [json_row(hit) for hit in results.hits],
        "next": None if results.next_offset is None else str(results.next_offset),
        "total": results.total,
        "found": results.found,
        **more,
        "query": json_query(results, rerank),
        "notices": notices,
        "timing_ms": timing_ms,
    }


def json_query(results: Results, rerank: str | None) -> dict[str, Any]:
    """How a query was read and run, for programs."""
    query, plan = results.query, results.plan
    return {
        "text": query.text,
        "words": query.words,
        "phrases": query.phrases,
        "prefixes": query.prefixes,
        "identifiers": query.identifiers,
        "excluded": query.excluded,
        "is_boolean": query.is_boolean,
        "in_title": query.in_title,
        "match": query.match,
        "exact": query.exact,
        "mode": query.mode,
        "legs": results.retrievers,
        "shape": plan.shape,
        "balance": plan.balance,
        "rerank": rerank,
        "corrections": [
            {"typed": typed, "searched": searched} for typed, searched in plan.corrections
        ],
        "meaning": query.meaning,
        "filters": query.filters.for_programs(),
        "understood": [
            {"kind": token.kind, "value": token.value, "label": token.label}
            for token in query.understood
        ],
    }


def why(hit: Hit, planned: Plan) -> str:
    """Why a note was found, in plain words: ``words, 3rd · meaning, 1st (0.71) · title``.

    Of what has the words, meaning is a reason only where it is close.
    """
    query, reasons = planned.query, []
    if hit.keyword_rank:
        reasons.append(f"words, {_ordinal(hit.keyword_rank)}")
    if hit.semantic_rank and (is_close(hit, planned) or not hit.keyword_rank):
        meaning = "meaning" if hit.is_found else "not close in meaning"
        reasons.append(f"{meaning}, {_ordinal(hit.semantic_rank)} ({hit.similarity:.2f})")
    if hit.is_exact:
        titles = (query.text.casefold(), query.meaning.casefold())
        reasons.append("title" if hit.title.casefold() in titles else "as it stands")
    return " · ".join(reasons)


def is_close(hit: Hit, planned: Plan) -> bool:
    """Whether the passage of a hit is closer in meaning than what is found for nonsense."""
    return hit.similarity is not None and hit.similarity >= (planned.threshold or 0.0)


def snippet_covers(hit: Hit) -> bool:
    """Whether snippet and passage of a hit are the same words, so that one of them is enough."""
    if hit.passage is None:
        return True
    snippet = _words(hit.snippet.replace(MARK, "").replace(END_MARK, "")).strip(f"{ELLIPSIS} ")
    passage = _words(hit.passage.text)
    return snippet in passage or passage in snippet


def innermost(tags: Sequence[str]) -> list[str]:
    """The tags without those above them: where there is ``home/garden``, ``home`` goes without saying."""
    folded = [fold_tag(tag) for tag in tags]
    return [
        tag
        for tag, own in zip(tags, folded)
        if not any(other.startswith(f"{own}/") for other in folded)
    ]


def _words(markdown: str) -> str:
    return " ".join(plain_text(markdown).split())


def _ordinal(number: int) -> str:
    suffix = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number:,}{suffix}"
