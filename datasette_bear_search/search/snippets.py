"""What a result shows: the text around the answer, with marks, and why the note was found."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from ..embeddings.base import Embedder, ModelUnavailable
from ..index.schema import VECTORS
from ..index.vectors import similarity
from ..languages import STOP_WORDS, is_unspaced
from ..markdown import FENCE, plain_text, without_html
from ..notes import fold_tag
from ..sqlite import sqlite3
from . import matching
from .planner import Plan
from .results import PASSAGE_TEXT, Hit, MatchedPassage, Results, unmarked
from .sql import CODE, ELLIPSIS, END_CODE, END_SENTENCE, SENTENCE

# Characters of a result's text. Of 632 XQuAD questions about English, German and Spanish notes,
# .98, .96 and .96 have their answer in it or in the title (with 560: .97, .95, .95; German texts
# are an eighth longer). Without a query, results show their beginning.
SHOWN, BEGINNING = 620, 200
# A sentence is marked if the query has at least this many words (single words are close to little)
# and it is this many times as close as the mean of the others. A sentence is marked for .78 of
# these questions, and .83 of those have the answer (with 1.25: .88 and .82; with 2.2: .42 and .90).
WORDS_OF_A_QUESTION = 3
STANDS_OUT = 1.5
# A sentence without any of the query's words is marked only if its passage's similarity is this
# many times the threshold. On five collections, this loses no mark in relevant notes but most of
# the wrong ones, such as a sentence about loons for a question about mice.
SURE = 1.3
# Weights relative to a sentence's meaning: of its share of the query's words, and of being in the
# passage that was found.
WORDS, IN_PASSAGE = 1.5, 0.1

# The weight of sentences in lines that many notes share.
TEMPLATE = 0.3

# Shorter sentences, such as "See below.", answer nothing. Bytes, as a Chinese character says much.
SHORTEST_SENTENCE_WORDS, SHORTEST_SENTENCE_BYTES = 3, 20

# Passages whose word pieces are cached, which takes some megabytes. While somebody types, the same
# passages occur again and again, and splitting a page's passages takes 5 of a search's 20 ms.
CACHED_PASSAGES = 2000

# The maximum number of further passages to show of a note.
MAX_MORE_PASSAGES = 4

# A sentence ends at punctuation with a space after it, at Chinese or Japanese punctuation, or at
# the end of a line. It doesn't end after an initial or a day ("J. Smith", "am 6. Oktober"), or
# before a lower-case letter or "(". Checking what precedes the mark last takes .3 of the time.
_ENDS = re.compile(
    r"[.!?…](?<![ \t.(][^\W\d_].)(?<![ \t]\d.)(?<![ \t]\d\d.)[\"'”’)\]*_]*[ \t]+(?![a-zß-ÿ(])"
    r"|[。！？][”’」』）]*|\n+"
)
_HEADING = re.compile(r"\s*#{1,6}\s")
# Markup before the words of a line. If a mark enclosed it, it wouldn't be recognized as markup.
_LINE_MARKS = re.compile(r"\s*(?:>\s*)*(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?")
_HALF_LINK = re.compile(r"\s*!?\[{1,2}[^\[\]\n]*(?:\]\([^)\s]*)?$")
# Remains at the end of a cut text, such as the bullet of an item whose words were cut off. The
# lookahead for a space reduces the time to .4.
_LEFT_OVER = re.compile(r"(?=\s)(?:\s+[-–—·*+>(]|\n[ \t>]*\d{1,9}[.)]|\s\[[ xX]\])*\s*$")
# A label may contain the end of a sentence: [Why? (2022)](https://…).
_LINK = re.compile(r"\[[^\[\]\n]*\]\(")
_WORD = re.compile(r"\w+(?:['’]\w+)*")


# --- the text that a result shows


def show(results: Results, embedder: Embedder | None) -> Results:
    """Return the results with the text that each shows, and with the query's words marked.

    The text is the best sentences in or near a passage: the one closest in meaning if it is close
    enough, otherwise the one with the words.
    """
    plan = results.plan
    by_meaning = "semantic" in results.retrievers
    # Short texts are shown whole, so skip them: scoring them, too, would take 1.6 times as long.
    scored = _scored_sentences(
        plan,
        [hit for hit in results.hits if len(hit.around) > SHOWN or _may_mark(hit, plan)],
        embedder if by_meaning else None,
    )
    passages = []
    texts: list[tuple[str, str | None]] = []
    for hit in results.hits:
        sentences = scored.get(hit.id, [])
        best = _sentence_that_stands_out(hit, plan, sentences)
        said = _shown_text(hit, plan, sentences, best), plain_text(hit.title) or hit.title
        texts += [(text, hit.language) for text in (*said, *hit.tags)]
        passages.append(_with_sentence(hit, best))
    marked = iter(matching.marked(plan, texts))
    shown = (
        replace(
            hit,
            passage=passage,
            snippet=next(marked),
            marked_title=next(marked),
            marked_tags=tuple(islice(marked, len(hit.tags))),
            why=_why(hit, plan),
        )
        for hit, passage in zip(results.hits, passages)
    )
    return replace(results, hits=tuple(shown))


def readable(markdown: str) -> str:
    """Return Markdown as text that keeps its structure in few lines.

    Items of a list are joined by dots, and cells of a table by bars. Code is between CODE and
    END_CODE.
    """
    lines: list[str] = []
    items: list[str] = []
    code: list[str] | None = None
    for line in without_html(markdown).split("\n"):
        fence = FENCE.match(line)
        item = _ITEM.match(line)
        if item and code is None and not fence:
            items.append(_item(item) + _readable_line(line[item.end() :]))
            continue
        if items and (line.strip() or fence):
            lines.append(" · ".join(filter(None, items)))
            items = []
        if fence:
            if code is not None:
                lines.append(f"{CODE}{chr(10).join(code)}{END_CODE}")
            code = [] if code is None else None
        elif code is not None:
            code.append(line.rstrip())
        else:
            lines.append(_readable_line(line))
    lines.append(" · ".join(filter(None, items)))
    if code:
        lines.append(f"{CODE}{chr(10).join(code)}{END_CODE}")
    return "\n".join(filter(str.strip, lines))


_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+]|(\d{1,9}[.)]))\s+(?:\[([ xX])\]\s)?")
_INLINE_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def _item(match: re.Match[str]) -> str:
    number, box = match.groups()
    sign = {" ": "☐ ", "x": "☑ ", "X": "☑ "}.get(box, "")
    return f"{number} {sign}" if number else sign


def _readable_line(line: str) -> str:
    stripped = line.strip()
    if stripped.startswith("|") and stripped.count("|") > 1:
        cells = [plain_text(cell) for cell in stripped.strip("|").split("|")]
        return " | ".join(cell for cell in cells if cell.strip("-: "))
    if "`" not in line:
        return plain_text(line)
    # Take out code first, because * and _ mean emphasis only outside of it.
    code = [match[1] for match in _INLINE_CODE.finditer(line)]
    parts = plain_text(_INLINE_CODE.sub("\ue000", line)).split("\ue000")
    wrapped = [*(f"{CODE}{each}{END_CODE}" for each in code), ""]
    return "".join(part + each for part, each in zip(parts, wrapped))


def passage_text(passage: MatchedPassage, title: str, *, as_markdown: bool = False) -> str:
    """Return a passage's text without its heading, which is shown separately."""
    first, _, rest = passage.text.strip().partition("\n")
    heading = passage.heading.split(" › ")[-1] if passage.heading else title
    is_heading = plain_text(first).strip() == plain_text(heading).strip()
    text = rest if is_heading and rest.strip() else passage.text
    return text.strip() if as_markdown else readable(text)


def shortened(text: str, characters: int) -> str:
    """Return the beginning of a text, cut after a word, of at most this many characters."""
    if len(text) <= characters:
        return text
    return balanced(_without_half(text[:characters].rsplit(" ", 1)[0])) + ELLIPSIS


def with_words_marked(text: str) -> str:
    """Return the text without marks other than MARK and END_MARK."""
    return _OTHER_MARKS.sub("", text)


def balanced(text: str) -> str:
    """Return a part of a marked text, with marks added where a pair was cut apart."""
    for opening, closing in (SENTENCE, END_SENTENCE), (CODE, END_CODE):
        if text.rfind(opening) > text.rfind(closing):
            text += closing
        first = text.find(closing)
        if first >= 0 and not 0 <= text.find(opening) < first:
            text = opening + text
    return text


_OTHER_MARKS = re.compile(f"[{SENTENCE}{END_SENTENCE}{CODE}{END_CODE}]")

Span = tuple[int, int]
# For each sentence, where it begins and ends, its closeness in meaning, and its score by words.
Sentences = list[tuple[Span, float, float]]


def _shown_text(hit: Hit, planned: Plan, sentences: Sentences, marked: Span | None) -> str:
    if hit.encrypted or hit.passage is None:
        return ""
    if hit.file_text:
        return readable(hit.file_text)
    limit = SHOWN if planned.query.substrings else BEGINNING
    whole = hit.around
    start, end = _window(whole, sentences, limit, marked)
    text = whole[start:end] if end >= len(whole) else _without_half(whole[start:end])
    if marked:
        first, last = marked[0] - start, marked[1] - start
        text = f"{text[:first]}{SENTENCE}{text[first:last]}{END_SENTENCE}{text[last:]}"
    text = readable(_with_fence(text, whole, start))
    heading = hit.passage.heading.split(" › ")[-1] if hit.passage.heading else hit.title
    first_line, _, rest = text.partition("\n")
    if unmarked(first_line).strip() == plain_text(heading).strip():
        text = rest
    if len(text) > limit * 1.2:
        text, end = shortened(text, limit).removesuffix(ELLIPSIS), 0
    before = ELLIPSIS if hit.around_start or whole[:start].strip() else ""
    return before + text + (ELLIPSIS if hit.goes_on or whole[end:].strip() else "")


def _without_half(text: str) -> str:
    """Return a cut text without half a link or markup at its end."""
    if "[" in text:  # checking for a plain character first is fast
        text = _HALF_LINK.sub("", text)
    return _LEFT_OVER.sub("", text)


def _with_fence(text: str, passage: str, start: int) -> str:
    # Text that begins inside a code fence is code. Checking for plain strings first is fast.
    has_fence = "```" in passage or "~~~" in passage
    return f"```\n{text}" if has_fence and len(FENCE.findall(passage[:start])) % 2 else text


def _window(text: str, sentences: Sentences, limit: int, marked: Span | None) -> Span:
    """Return the part of the text to show: the best sentences, including the marked one."""
    if len(text) <= limit:
        return 0, len(text)
    if not sentences:
        return 0, limit * 2
    # Squared, so that many poor sentences don't count as much as a very good one.
    weights = [(meaning + words) ** 2 for _, meaning, words in sentences]
    spans = [span for span, *_ in sentences]
    ends = [end for _, end in spans]
    runs = [(n, max(n, bisect(ends, start + limit) - 1)) for n, (start, _) in enumerate(spans)]
    if marked:
        runs = [run for run in runs if spans[run[0]] <= marked <= spans[run[1]]]
    first, last = max(runs, key=lambda run: sum(weights[run[0] : run[1] + 1]))
    start, end = spans[first][0], ends[last]
    if first == 0 and end <= limit:
        start = 0  # include text that is too short for a sentence
    line = text.rfind("\n", 0, start) + 1
    if _LINE_MARKS.fullmatch(text[line:start]):
        start = line
    # Fill the remaining space with parts of the adjacent sentences, first of the better one.
    before, after = [0.0, *weights][first], [*weights, 0.0][last + 1]
    for is_before in (before > after, before <= after):
        if is_before:
            # Don't include another line or half a link.
            room = max(0, end - limit, *(text.rfind(mark, 0, start) + 1 for mark in "\n]`*|"))
            if room and not text[room - 1].isspace():
                room = text.find(" ", room, start) + 1 or room
            start = min(start, room)
        else:
            is_rest = len(text) - start <= limit
            end = len(text) if is_rest else max(end, text.rfind(" ", end, start + limit))
    return start, end


# --- the sentence of a passage that is closest to the query, to be marked
#
# Each word piece of the query adds the similarity of its most similar piece in the sentence, by the
# model's input embeddings, which are just looked up. The share of passages in which the right
# sentence is chosen, for 535 XQuAD questions (5 sentences a passage) / 52 paraphrases of the sample
# notes (9), and the time per passage: this .82 / .50, 3 ms; idf-weighted overlap of stems .80 /
# .21; sentence embeddings .76 / .50, 130 ms; the first sentence .30 / .44.


def _scored_sentences(
    planned: Plan, hits: Sequence[Hit], embedder: Embedder | None
) -> dict[int, Sentences]:
    """Return the sentences around passages with their closeness (1 for the best), by note id.

    A model without embeddings of word pieces scores none by meaning.
    """
    if not hits or not planned.query.substrings:
        return {}
    found: list[dict[Span, float]] = [{} for _ in hits]
    if embedder:
        with suppress(ModelUnavailable):
            texts = [hit.around for hit in hits]
            found = sentence_scores(planned.query.meaning, texts, embedder, planned.stop_words)
    terms = matching.beginnings(planned.query)
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
                weight * (WORDS * share + (IN_PASSAGE if first <= span[0] < last else 0.0)),
            )
            for span, share in zip(spans, words)
            for line in [hit.around.rfind("\n", 0, span[0]) + 1]
            for weight in [TEMPLATE if line in hit.templates else 1.0]
        ]
    return scored


def _shares_of_words(spans: Sequence[Span], pattern: re.Pattern[str], text: str) -> list[float]:
    """Return each sentence's share of the query's words; rare words weigh more."""
    starts = [start for start, _ in spans]
    having: dict[str, set[int]] = {}
    # Faster than IGNORECASE. Offsets stay the same: lower() changes only the length of İ.
    for match in pattern.finditer(text.replace("İ", "I").lower()):
        place = bisect(starts, match.start()) - 1
        if place >= 0 and match.end() <= spans[place][1]:
            having.setdefault(match[0], set()).add(place)
    shares = [0.0] * len(spans)
    weights = {word: math.log(1 + len(spans) / len(those)) for word, those in having.items()}
    whole = sum(weights.values())
    for word, those in having.items():
        for place in those:
            shares[place] += weights[word] / whole
    return shares


def _may_mark(hit: Hit, planned: Plan) -> bool:
    """Return whether to mark a sentence of the hit if one stands out."""
    meaning = planned.query.meaning
    # In Chinese, a word has about two characters.
    words = len(meaning) // 2 if is_unspaced(meaning) else len(meaning.split())
    return words >= WORDS_OF_A_QUESTION and is_close(hit, planned)


def _sentence_that_stands_out(hit: Hit, planned: Plan, sentences: Sentences) -> Span | None:
    if len(sentences) < 2 or not _may_mark(hit, planned):
        return None
    scores = sorted((meaning for _, meaning, _ in sentences), reverse=True)
    if not scores[0] or scores[0] < STANDS_OUT * sum(scores[1:]) / len(scores[1:]):
        return None
    span, _, share = max(sentences, key=lambda each: each[1] + each[2])
    is_sure = share > IN_PASSAGE or (hit.similarity or 0.0) >= SURE * (planned.threshold or 0.0)
    return span if is_sure else None


def _with_sentence(hit: Hit, sentence: Span | None) -> MatchedPassage | None:
    passage = hit.passage
    if passage is None or sentence is None:
        return passage
    start, end = (hit.around_start + place for place in sentence)
    if not passage.start <= start < end <= passage.end:
        return passage
    return replace(passage, sentence_start=start, sentence_end=end)


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
    for end in [*(match.end() for match in _ENDS.finditer(passage)), len(passage)]:
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
    {similarity(f"{VECTORS}.vector", "embed(:meaning)")} as similarity
  from passages
  join {VECTORS} on {VECTORS}.passage_id = passages.id
  where passages.note_id in (select value from json_each(:notes))
    and passages.id not in (select value from json_each(:shown))
    and passages.length > 0
    and passages.shared is null
),
ranked as (
  select *, row_number() over (partition by note_id order by similarity desc, id) as rank
  from close
  where similarity >= :threshold
)
select
  passages.id, passages.note_id, passages.heading, passages.start, passages.length,
  {PASSAGE_TEXT} as text
from ranked
join passages using (id)
join notes on notes.id = ranked.note_id
where rank <= {MAX_MORE_PASSAGES} and not notes.encrypted
order by ranked.note_id, rank
"""


def more_passages(
    connection: sqlite3.Connection, planned: Plan, hits: Sequence[Hit]
) -> dict[int, list[MatchedPassage]]:
    """Return the other passages of each note above the threshold, closest first, by note id.

    The query's embedding must be cached already, for ``embed()``.
    """
    if planned.threshold is None or not hits:
        return {}
    parameters = {
        "meaning": planned.query.meaning,
        "threshold": planned.threshold,
        "notes": json.dumps([hit.id for hit in hits if hit.language not in planned.foreign]),
        "shown": json.dumps([hit.passage.id for hit in hits if hit.passage and hit.passage.id]),
    }
    found: dict[int, list[MatchedPassage]] = {}
    for passage_id, note_id, heading, start, length, text in connection.execute(_SQL, parameters):
        passage = MatchedPassage(text, heading or None, start, start + length, id=passage_id)
        found.setdefault(note_id, []).append(passage)
    return found


# --- the results in responses: rows for programs, reasons for people


def json_row(hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON. Its snippet is HTML with ``<mark>`` around matches."""
    # dataclasses.asdict() isn't used, because it copies all values, which is slow.
    passage = hit.passage and dict(vars(hit.passage))
    shown = {
        "snippet": hit.snippet_html(),
        "passage": passage,
        "in_file": bool(hit.file),
        "file": hit.file_name or None,
    }
    return {name: value for name, value in vars(hit).items() if name not in _NOT_IN_JSON} | shown


_NOT_IN_JSON = frozenset(
    "language around around_start goes_on templates file_text file_name marked_title "
    "marked_tags why".split()
)


def json_body(
    results: Results,
    notices: Sequence[str],
    timing_ms: Mapping[str, float] | None,
    rerank: str | None,
    **more: Any,
) -> dict[str, Any]:
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


def _why(hit: Hit, planned: Plan) -> str:
    query, reasons = planned.query, []
    if hit.keyword_rank:
        reasons.append(f"words, {_ordinal(hit.keyword_rank)}")
    # If a note has the words, meaning is a reason only if it is close.
    if hit.semantic_rank and (is_close(hit, planned) or not hit.keyword_rank):
        meaning = "meaning" if hit.is_found else "loosely related"
        reasons.append(f"{meaning}, {_ordinal(hit.semantic_rank)} ({hit.similarity:.2f})")
    if hit.is_exact:
        titles = (query.text.casefold(), query.meaning.casefold())
        reasons.append("title" if hit.title.casefold() in titles else "exactly as typed")
    return " · ".join(reasons)


def is_close(hit: Hit, planned: Plan) -> bool:
    """Return whether a hit's passage is closer in meaning than those found for nonsense."""
    is_near = hit.similarity is not None and hit.similarity >= (planned.threshold or 0.0)
    return is_near and hit.language not in planned.foreign


def innermost(tags: Sequence[str]) -> list[str]:
    """Return the tags without the parents of others: ``home/garden`` implies ``home``."""
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
