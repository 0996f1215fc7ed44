"""What a result shows: snippet or passage, the sentence that answers, and why it was found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..embeddings.base import Embedder, ModelUnavailable
from ..index.schema import VECTORS
from ..markdown import plain_text
from ..notes import fold_tag
from ..sqlite import sqlite3
from .planner import STOP_WORDS, Plan
from .results import Hit, MatchedPassage, Results
from .sql import ELLIPSIS, END_MARK, MARK

# Shorter sentences answer nothing: "See below." In bytes, as one Chinese character says much.
SHORTEST_SENTENCE_WORDS, SHORTEST_SENTENCE_BYTES = 3, 20

# Passages whose word pieces are cached, some megabytes: while somebody types, the same ones come
# again, and splitting those of a page takes 5 of a search's 20 ms.
CACHED_PASSAGES = 2000

# Further passages of a note that are shown.
MAX_MORE_PASSAGES = 4

# A sentence ends at a mark with a space behind it, a Chinese or Japanese mark, or its line's end.
_ENDS = re.compile("[.!?…][\"'”’)\\]*_]*[ \t]+|[。！？][”’」』）]*|\n+")
_HEADING = re.compile(r"\s*#{1,6}\s")
# Before the words of a line: a mark around these would keep them from being taken for markup.
_LINE_MARKS = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+(?:\[[ xX]\]\s+)?)?")
_WORD = re.compile(r"\w+(?:['’]\w+)*")


# --- the one rule of what text a result shows


@dataclass(frozen=True)
class ShownText:
    """What a result shows of its note: plain text with MARK and END_MARK around what matched."""

    title: str | None  # with its matches, if nothing else in the note has the words
    snippet: str  # "" if there is nothing to say beside the title or the passage
    passage: str  # "" if it isn't close in meaning, or the snippet says the same


def shown_text(hit: Hit, planned: Plan) -> ShownText:
    """Choose between the snippet with the words and the passage with the meaning."""
    # Without a match the snippet is only the beginning of the passage.
    snippet = plain_text(hit.snippet) if MARK in hit.snippet and not _is_of_tags(hit) else ""
    if snippet and unmarked(snippet) == plain_text(hit.title):
        return ShownText(snippet, "", _shown_passage(hit))
    if hit.encrypted or (snippet and (not is_close(hit, planned) or _covers(hit))):
        return ShownText(None, "" if hit.encrypted else snippet, "")
    return ShownText(None, snippet, _shown_passage(hit))


def passage_text(passage: MatchedPassage, title: str, *, as_markdown: bool = False) -> str:
    """Return what a passage says below its heading, which is shown beside it.

    :param as_markdown: as it is written, instead of plain text with its sentence marked
    """
    text = passage.text if as_markdown else plain_text(passage.marked())
    first, _, rest = text.strip().partition("\n")
    heading = passage.heading.split(" › ")[-1] if passage.heading else title
    is_heading = plain_text(unmarked(first)).strip() == plain_text(heading).strip()
    return rest.strip() if is_heading and rest.strip() else text.strip()


def starting_near_mark(text: str, characters: int) -> str:
    """Return the text from at most so many characters before its first mark on."""
    before, mark, after = text.partition(MARK)
    if not mark or len(before) <= characters:
        return text
    return f"{ELLIPSIS}{before[-characters:].partition(' ')[2]}{mark}{after}"


def shortened(text: str, characters: int) -> str:
    """Return the beginning of a text, at most so many characters, up to the end of a word."""
    if len(text) <= characters:
        return text
    return text[:characters].rsplit(" ", 1)[0] + ELLIPSIS


def unmarked(text: str) -> str:
    """Return the text without MARK and END_MARK."""
    return text.replace(MARK, "").replace(END_MARK, "")


def _shown_passage(hit: Hit) -> str:
    return passage_text(hit.passage, hit.title) if hit.passage and not hit.encrypted else ""


def _is_of_tags(hit: Hit) -> bool:
    # The snippet is from the tags, a JSON array, which are shown anyway.
    return bool(hit.tags) and unmarked(hit.snippet).lstrip(ELLIPSIS).startswith('["')


def _covers(hit: Hit) -> bool:
    if hit.passage is None:
        return True
    snippet = _words(unmarked(hit.snippet)).strip(f"{ELLIPSIS} ")
    passage = _words(hit.passage.text)
    return snippet in passage or passage in snippet


def _words(markdown: str) -> str:
    return " ".join(plain_text(markdown).split())


# --- the sentence of a passage that is closest to the query, so that the eye finds it
#
# Every word piece of the query counts by its most similar piece in the sentence, by the model's
# input layer, which costs a table look-up. Share of passages in which the right sentence is chosen,
# of 535 questions of XQuAD (5 sentences a passage) / 52 paraphrases of the sample notes (9), and
# time a passage: this .82 / .50, 3 ms; idf-weighted overlap of stems .80 / .21; embeddings of the
# sentences .76 / .50, 130 ms; the first sentence .30 / .44.


def mark_sentences(results: Results, embedder: Embedder) -> Results:
    """Find the sentence that is closest to the query in each passage that meaning found.

    A model without embeddings of word pieces finds none.
    """
    if "semantic" not in results.retrievers:
        return results
    found = {
        hit.id: hit.passage for hit in results.hits if hit.passage and hit.similarity is not None
    }
    try:
        texts = [passage.text for passage in found.values()]
        spans = closest_sentences(results.query.meaning, texts, embedder)
    except ModelUnavailable:
        return results
    for (note_id, passage), span in zip(found.items(), spans):
        if span:
            start, end = passage.start + span[0], passage.start + span[1]
            found[note_id] = replace(passage, sentence_start=start, sentence_end=end)
    hits = (replace(hit, passage=found.get(hit.id, hit.passage)) for hit in results.hits)
    return replace(results, hits=tuple(hits))


def closest_sentences(
    query: str, passages: Sequence[str], embedder: Embedder
) -> list[tuple[int, int] | None]:
    """Return for each passage where its closest sentence begins and ends; None if it has but one.

    :raises ModelUnavailable: if the model has no embeddings of word pieces
    """
    import numpy

    words = [word for word in _WORD.findall(query) if word.lower() not in STOP_WORDS]
    [query_pieces] = embedder.pieces([" ".join(words) or query])
    split = [_split(passage, embedder) for passage in passages]
    used = {piece for found in split for _, pieces in found for piece in pieces}
    if not query_pieces or not used:
        return [None] * len(passages)
    place = {piece: number for number, piece in enumerate(used)}
    similarities = numpy.clip(embedder.piece_similarities(query_pieces, list(place)), 0, None)

    def score(pieces: Sequence[int]) -> float:
        met = similarities[:, [place[piece] for piece in pieces]]
        return float(met.max(axis=1).sum()) if pieces else 0.0

    return [_best([(score(pieces), span) for span, pieces in found]) for found in split]


@lru_cache(CACHED_PASSAGES)
def _split(passage: str, embedder: Embedder) -> list[tuple[tuple[int, int], list[int]]]:
    # Where its sentences begin and end, and their word pieces.
    spans = list(_sentences(passage))
    texts = [plain_text(passage[start:end]) for start, end in spans]
    return list(zip(spans, embedder.pieces(texts))) if texts else []


def _best(scored: Sequence[tuple[float, tuple[int, int]]]) -> tuple[int, int] | None:
    best, span = max(scored, key=lambda each: each[0], default=(0.0, (0, 0)))
    return span if best > 0 and len(scored) > 1 else None


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


# --- further passages of the notes on a page

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
  where similarity >= :threshold
)
select
  ranked.id, ranked.note_id, ranked.heading, ranked.start, ranked.length,
  substr(notes.body, ranked.start + 1, ranked.length) as text
from ranked
join notes on notes.id = ranked.note_id
where rank <= {MAX_MORE_PASSAGES} and not notes.encrypted
order by ranked.note_id, rank
"""


def more_passages(
    connection: sqlite3.Connection, planned: Plan, hits: Sequence[Hit]
) -> dict[int, list[MatchedPassage]]:
    """Return for each note, by id, its other passages above the threshold, closest first.

    ``embed()`` must answer at once.
    """
    if planned.threshold is None or not hits:
        return {}
    parameters = {
        "meaning": planned.query.meaning,
        "threshold": planned.threshold,
        "notes": json.dumps([hit.id for hit in hits]),
        "shown": json.dumps([hit.passage.id for hit in hits if hit.passage and hit.passage.id]),
    }
    found: dict[int, list[MatchedPassage]] = {}
    for passage_id, note_id, heading, start, length, text in connection.execute(_SQL, parameters):
        passage = MatchedPassage(text, heading or None, start, start + length, id=passage_id)
        found.setdefault(note_id, []).append(passage)
    return found


# --- what every response says of its results: rows for programs, reasons for people


def json_row(hit: Hit) -> dict[str, Any]:
    """Return a hit for programs; its snippet is HTML with ``<mark>`` around matches."""
    # dataclasses.asdict() copies the values, which takes longer than all that is done with them.
    passage = hit.passage and dict(vars(hit.passage))
    return {**vars(hit), "snippet": hit.snippet_html(), "passage": passage}


def json_body(
    results: Results,
    notices: Sequence[str],
    timing_ms: Mapping[str, float] | None,
    rerank: str | None,
    **more: Any,
) -> dict[str, Any]:
    """Return a response for programs, in the shapes of Datasette 1.0.

    :param more: stands beside the counts
    """
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
    """Return how a query was read and run, for programs."""
    query, plan = results.query, results.plan
    return {
        **{name: getattr(query, name) for name in _JSON_QUERY},
        "legs": results.retrievers,
        "shape": plan.shape,
        "balance": plan.balance,
        "rerank": rerank,
        "corrections": [
            {"typed": typed, "searched": searched} for typed, searched in plan.corrections
        ],
        "offers": plan.offers,
        "meaning": query.meaning,
        "filters": query.filters.for_programs(),
        "understood": [
            {"kind": token.kind, "value": token.value, "label": token.label}
            for token in query.understood
        ],
    }


_JSON_QUERY = (
    "text", "words", "phrases", "prefixes", "identifiers", "excluded", "is_boolean", "in_title",
    "match", "exact", "mode",
)  # fmt: skip


def why(hit: Hit, planned: Plan) -> str:
    """Return why a note was found, in plain words: ``words, 3rd · meaning, 1st (0.71) · title``."""
    query, reasons = planned.query, []
    if hit.keyword_rank:
        reasons.append(f"words, {_ordinal(hit.keyword_rank)}")
    # Of what has the words, meaning is a reason only where it is close.
    if hit.semantic_rank and (is_close(hit, planned) or not hit.keyword_rank):
        meaning = "meaning" if hit.is_found else "loosely related"
        reasons.append(f"{meaning}, {_ordinal(hit.semantic_rank)} ({hit.similarity:.2f})")
    if hit.is_exact:
        titles = (query.text.casefold(), query.meaning.casefold())
        reasons.append("title" if hit.title.casefold() in titles else "exactly as typed")
    return " · ".join(reasons)


def is_close(hit: Hit, planned: Plan) -> bool:
    """Return whether a hit's passage is closer in meaning than what is found for nonsense."""
    return hit.similarity is not None and hit.similarity >= (planned.threshold or 0.0)


def innermost(tags: Sequence[str]) -> list[str]:
    """Return the tags without those above them: ``home/garden`` says ``home``, too."""
    folded = [fold_tag(tag) for tag in tags]
    return [
        tag
        for tag, own in zip(tags, folded)
        if not any(other.startswith(f"{own}/") for other in folded)
    ]


def _ordinal(number: int) -> str:
    is_teen = number % 100 in (11, 12, 13)
    suffix = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"
