"""The text that a result shows."""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from ...embeddings.base import Embedder
from ...index.file.schema import OWN_TEXT, VECTORS
from ...index.file.vectors import similarity
from ...markdown import FENCE, plain_text, without_html
from ...sqlite import sqlite3
from ..planning.planner import Plan
from . import word_matches
from .json import why_found
from .marks import CODE, ELLIPSIS, END_CODE, END_SENTENCE, SENTENCE, unmarked
from .records import Hit, MatchedPassage, Results
from .retrieve import PASSAGE_TEXT
from .sentences import (
    LINE_MARKS,
    Sentences,
    Span,
    may_mark,
    scored_sentences,
    sentence_that_stands_out,
)

# Characters of a result's text. Of 632 XQuAD questions about English, German and Spanish notes,
# .98, .96 and .96 have their answer in it or in the title (with 560: .97, .95, .95; German texts
# are an eighth longer). Without a query, results show their beginning.
SHOWN, BEGINNING = 620, 200

# The maximum number of further passages to show of a note.
MAX_MORE_PASSAGES = 4
_HALF_LINK = re.compile(r"\s*!?\[{1,2}[^\[\]\n]*(?:\]\([^)\s]*)?$")
# Remains at the end of a cut text, such as the bullet of an item whose words were cut off. The
# lookahead for a space reduces the time to .4.
_LEFT_OVER = re.compile(r"(?=\s)(?:\s+[-–—·*+>(]|\n[ \t>]*\d{1,9}[.)]|\s\[[ xX]\])*\s*$")


# --- the text that a result shows


def show(results: Results, embedder: Embedder | None) -> Results:
    """Return the results with the text that each shows, and with the query's words marked.

    The text is the best sentences in or near a passage: the one closest in meaning if it is close
    enough, otherwise the one with the words.
    """
    plan = results.plan
    by_meaning = "semantic" in results.retrievers
    # Short texts are shown whole, so skip them: scoring them, too, would take 1.6 times as long.
    scored = scored_sentences(
        plan,
        [hit for hit in results.hits if len(hit.around) > SHOWN or may_mark(hit, plan)],
        embedder if by_meaning else None,
    )
    passages = []
    texts: list[tuple[str, str | None]] = []
    for hit in results.hits:
        sentences = scored.get(hit.id, [])
        best = sentence_that_stands_out(hit, plan, sentences)
        said = _shown_text(hit, plan, sentences, best), plain_text(hit.title) or hit.title
        texts += [(text, hit.language) for text in (*said, *hit.tags)]
        passages.append(_with_sentence(hit, best))
    marked = iter(word_matches.marked(plan, texts))
    shown = (
        replace(
            hit,
            passage=passage,
            snippet=next(marked),
            marked_title=next(marked),
            marked_tags=tuple(islice(marked, len(hit.tags))),
            why=why_found(hit, plan),
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
    if LINE_MARKS.fullmatch(text[line:start]):
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


def _with_sentence(hit: Hit, sentence: Span | None) -> MatchedPassage | None:
    passage = hit.passage
    if passage is None or sentence is None:
        return passage
    start, end = (hit.around_start + place for place in sentence)
    if not passage.start <= start < end <= passage.end:
        return passage
    return replace(passage, sentence_start=start, sentence_end=end)


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
    and passages.text_kind = '{OWN_TEXT}'
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
