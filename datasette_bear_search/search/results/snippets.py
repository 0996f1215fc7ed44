"""The text that a result shows."""

from __future__ import annotations

import re
import string
from bisect import bisect
from dataclasses import fields, replace
from itertools import groupby, islice
from operator import itemgetter

from ...embeddings.base import Embedder
from ...notes import ordinal, title_line
from ...query.fts5 import unique
from ...text.markdown import FENCE, joined, plain_text, without_attributes, without_html
from ..planning.planner import Plan
from . import word_matches
from .items import items, kinds
from .marks import CHARACTERS, CODE, ELLIPSIS, LEAD, MATCH, SENTENCE, MarkedText, Text
from .records import Found, FoundNote, Hit, MatchedPassage, RankedNote, Results
from .sentences import (
    IN_PASSAGE_WEIGHT,
    LINE_MARKS,
    Sentences,
    Span,
    is_close,
    may_mark,
    scored_sentences,
    sentence_that_stands_out,
)

# Characters of a result's text. Of 632 XQuAD questions about English, German and Spanish notes,
# .98, .96 and .96 have their answer in it or in the title (with 560: .97, .95, .95; German texts
# are an eighth longer). Without a query, results show their beginning.
SHOWN, BEGINNING = 620, 200
# Characters of it in a list of results, about three lines: from the best sentences on. For .88 of
# 632 questions from XQuAD in English, .79 in German, .78 in Spanish and .98 in Chinese, the answer
# is in them or the title (from the part with most of the words on: .87, .76, .78 and .94).
LEAD_CHARACTERS = 200

_HALF_LINK = re.compile(r"\s*!?\[{1,2}[^\[\]\n]*(?:\]\([^)\s]*)?$")
# Remains at the end of a cut text, such as the bullet of an item whose words were cut off.
_LEFT_OVER = re.compile(r"(?=\s)(?:\s+[-–—·*+>(]|\n[ \t>]*\d{1,9}[.)]|\s\[[ xX]\])*\s*$")


def show(found: Found[FoundNote], embedder: Embedder | None) -> Results:
    """Return the results with the text that each shows, and with the query's words marked.

    The text is the best sentences in or near a passage: the one closest in meaning if it is close
    enough, otherwise the one with the words.
    """
    plan = found.plan
    # Short texts are shown whole. To score them by meaning, too, would take 1.6 times as long.
    by_words: list[FoundNote] = []
    by_meaning: list[FoundNote] = []
    for note in found.hits:
        is_long = len(note.around) > SHOWN
        (by_meaning if is_long or may_mark(note, plan) else by_words).append(note)
    embedder = embedder if "semantic" in found.retrievers else None
    scored = scored_sentences(plan, by_words, None) | scored_sentences(plan, by_meaning, embedder)
    chosen = [(note, *_chosen(note, plan, scored.get(note.id, []))) for note in found.hits]
    texts = [
        (said, note.language)
        for note, _, _, text in chosen
        for said in (text.text, plain_text(note.title) or note.title, *note.tags)
    ]
    marked = iter(word_matches.marked(plan, texts))
    hits = (
        Hit(
            **{name: getattr(note, name) for name in _FACTS} | {"passage": passage},
            sentence=sentence,
            snippet=MarkedText(text.text, (*text.spans, *next(marked).spans)),
            marked_title=next(marked),
            marked_tags=tuple(islice(marked, len(note.tags))),
            why=_why_found(note, plan),
            in_file=bool(note.file_text),
            file=note.file_name or None,
        )
        for note, passage, sentence, text in chosen
    )
    return Results(**{**vars(found), "hits": tuple(hits)})


def _chosen(
    note: FoundNote, planned: Plan, sentences: Sentences
) -> tuple[MatchedPassage | None, Span | None, MarkedText]:
    """Return a note's passage, its sentence to mark, and its text."""
    if items := _items(note, planned):
        return note.passage and replace(note.passage, heading=None), None, items
    has_words = not sentences or any(words > IN_PASSAGE_WEIGHT for *_, words in sentences)
    is_question = planned.shape == "sentence" and is_close(note, planned)
    if note.keyword_rank and not has_words and not is_question:
        sentences = []  # only the title or the tags have the words
    best = sentence_that_stands_out(note, planned, sentences)
    if best and _IS_MARKUP.match(note.around, best[0]):
        best = None
    place = (best[0] + note.around_start, best[1] + note.around_start) if best else None
    return note.passage, place, _shown_text(note, planned, sentences, best)


def _items(note: FoundNote, planned: Plan) -> MarkedText | None:
    """Return the to-dos, images, files, links or code that a search asks for, if it does."""
    if not note.whole or note.encrypted or note.file_text:
        return None
    starts = word_matches.beginnings(planned.terms)
    found: list[str] = []
    for kind in kinds(planned.filters):
        # Those with the words first.
        own = sorted(
            unique(items(note.whole, kind)),
            key=lambda each: not any(start in each.lower() for start in starts),
        )
        found.append(("\n" if kind == "code" else " · ").join(own))
    text = readable("\n\n".join(filter(None, found)))
    return shortened(text, SHOWN) if text.text else None


# The beginning of a table's row, which is shown in its columns, or of code.
_IS_MARKUP = re.compile(r"\||```|~~~")
_FACTS = tuple(field.name for field in fields(RankedNote))


def readable(markdown: str) -> MarkedText:
    """Return Markdown as text that keeps its structure in few lines, with its code marked.

    Items of a list are joined by dots, cells of a table by bars, and its rows by slashes.
    """
    parts: list[tuple[str, str]] = []  # texts, each with what joins it to others of its kind
    code: list[str] | None = None
    for line in without_html(markdown).split("\n"):
        if FENCE.match(line):
            if code is not None:
                parts.append(("\n", _coded("\n".join(code))))
            code = [] if code is None else None
        elif code is not None:
            code.append(line.rstrip())
        elif line.lstrip()[:1] == "|" and line.count("|") > 1:
            parts.append((" / ", _readable_row(line)))
        elif item := _ITEM.match(line):
            parts.append((" · ", _item(item) + _readable_line(line[item.end() :])))
        elif line.strip() or (parts and parts[-1][0] == " / "):  # which ends a table, but no list
            parts.append(("\n", _readable_line(line)))
    if code:
        parts.append(("\n", _coded("\n".join(code))))
    runs = groupby(parts, key=itemgetter(0))
    lines = (joint.join(text for _, text in run if text.strip(_BLANK)) for joint, run in runs)
    return MarkedText.read("\n".join(filter(None, lines)))


_BLANK = string.whitespace + CHARACTERS[LEAD]  # of a sentence that is only a tag
_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+]|(\d{1,9}[.)]))\s+(?:\[([ xX])\]\s)?")
_INLINE_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_CELL_END = re.compile(r"(?<!\\)\|(?![^\[\]|]*\]\])")  # not the one in [[Title|label]]
_coded = "{}".join(CHARACTERS[CODE]).format


def _item(match: re.Match[str]) -> str:
    number, box = match.groups()
    sign = {" ": "☐ ", "x": "☑ ", "X": "☑ "}.get(box, "")
    return f"{number} {sign}" if number else sign


def _readable_row(line: str) -> str:
    cells = [plain_text(cell) for cell in _CELL_END.split(line.strip().strip("|"))]
    return " | ".join(cell for cell in cells if cell.strip("-: "))


def _readable_line(line: str) -> str:
    if line.lstrip()[:1] == "#":
        line = without_attributes(line)
    if "`" not in line:
        return plain_text(line)
    # Take out code first, because * and _ mean emphasis only outside of it.
    code = [match[1] for match in _INLINE_CODE.finditer(line)]
    parts = plain_text(_INLINE_CODE.sub("\ue000", line)).split("\ue000")
    wrapped = [*map(_coded, code), ""]
    return "".join(part + each for part, each in zip(parts, wrapped))


def lead(snippet: MarkedText) -> tuple[int, int]:
    """Return start and end of the part of a snippet to show first."""
    text, first = snippet.text, {span.kind: span for span in reversed(snippet.spans)}
    if len(text) <= LEAD_CHARACTERS:
        return 0, len(text)
    start = first[LEAD].start if LEAD in first else 0
    least = first[SENTENCE].end if SENTENCE in first else 0
    places = (span.start for span in snippet.spans if span.kind == MATCH and span.start >= start)
    if not least and (place := next(places, start)) > start + LEAD_CHARACTERS - 20:
        start = text.rfind(" ", 0, place - LEAD_CHARACTERS // 6) + 1  # in a long sentence
    if start + LEAD_CHARACTERS >= len(text):  # not enough text is left, so start earlier
        return min(start, text.find(" ", len(text) - LEAD_CHARACTERS) + 1), len(text)
    end = text.rfind(" ", start, start + LEAD_CHARACTERS + 1)
    end = max(end if end > start else start + LEAD_CHARACTERS, least)
    # With a space before the ellipsis, which isn't a fourth dot.
    return start, end + (text[end - 1] in SENTENCE_ENDS)


def passage_text(passage: MatchedPassage, title: str) -> str:
    """Return a passage's Markdown without its heading, which is shown separately."""
    text = joined(passage.text) if passage.soft_breaks else passage.text
    first, _, rest = text.strip().partition("\n")
    heading = passage.heading.split(" › ")[-1] if passage.heading else title
    is_heading = plain_text(first).strip() == plain_text(heading).strip()
    is_heading = is_heading or bool(title_line(title, first))
    return (rest if is_heading and rest.strip() else text).strip()


def shortened(text: Text, characters: int) -> Text:
    """Return the beginning of a text, cut after a word, of at most this many characters."""
    plain = str(text)
    if len(plain) <= characters:
        return text
    return _cut(text[: len(_without_half(plain[:characters].rsplit(" ", 1)[0]))])


def _cut(text: Text) -> Text:
    """Add an ellipsis, which mustn't look like a fourth dot."""
    end = str(text)[-1:]
    return text if end == ELLIPSIS else text + (" " if end in SENTENCE_ENDS else "") + ELLIPSIS


SENTENCE_ENDS = frozenset(".!?")


def _shown_text(
    note: FoundNote, planned: Plan, sentences: Sentences, marked: Span | None
) -> MarkedText:
    if note.encrypted or note.passage is None:
        return MarkedText("")
    if note.file_text:
        return readable(note.file_text)
    limit = SHOWN if planned.terms.substrings else BEGINNING
    whole = note.around
    start, end = _window(whole, sentences, limit, marked)
    markdown = whole[start:end] if end >= len(whole) else _without_half(whole[start:end])
    signs = [*zip(marked, CHARACTERS[SENTENCE])] if marked else []
    inside = [each for each in sentences if start <= each[0][0] and each[0][1] <= end]
    begin = inside and inside[_best_run(inside, LEAD_CHARACTERS, marked)[0]][0]
    if begin and not _IS_MARKUP.match(whole, begin[0]):
        signs += zip(begin, CHARACTERS[LEAD])
    for at, sign in sorted(signs, reverse=True):
        markdown = markdown[: at - start] + sign + markdown[at - start :]
    text = readable(_with_fence(markdown, "```\n" * note.is_in_code + whole[:start]))
    heading = note.passage.heading.split(" › ")[-1] if note.passage.heading else note.title
    first_line, _, _ = text.text.partition("\n")
    if first_line.strip() == plain_text(heading).strip():
        text = text[len(first_line) + 1 :]
    if len(text.text) > limit * 1.2:
        text, end = shortened(text, limit), len(whole)
    left_out = (line for line in whole[:start].splitlines() if not _TITLE_OR_TAGS.fullmatch(line))
    before = ELLIPSIS if note.around_start or any(map(str.strip, left_out)) else ""
    return before + (_cut(text) if note.goes_on or whole[end:].strip() else text)


# Lines above a text that the card shows elsewhere.
_TITLE_OR_TAGS = re.compile(r"#{1,6} .*|(?:\s*#[^\s#]\S*)+\s*")


def _without_half(text: str) -> str:
    """Return a cut text without half a link or markup at its end."""
    if "[" in text:  # checking for a plain character first is fast
        text = _HALF_LINK.sub("", text)
    # Only near the end, because the pattern looks at each space.
    return text[:-100] + _LEFT_OVER.sub("", text[-100:])


def _with_fence(text: str, before: str) -> str:
    # Text that begins inside a code fence is code. The pattern looks at each character, and few
    # lines have fences.
    lines = (line for line in before.split("\n") if "```" in line or "~~~" in line)
    fences = sum(len(FENCE.findall(line)) for line in lines)
    return f"```\n{text}" if fences % 2 else text


def _window(text: str, sentences: Sentences, limit: int, marked: Span | None) -> Span:
    """Return the part of the text to show: the best sentences, including the marked one."""
    if len(text) <= limit:
        return 0, len(text)
    if not sentences:
        return 0, limit * 2
    first, last = _best_run(sentences, limit, marked)
    start, end = sentences[first][0][0], sentences[last][0][1]
    if first == 0 and end <= limit:
        start = 0  # include text that is too short for a sentence
    line = text.rfind("\n", 0, start) + 1
    if LINE_MARKS.fullmatch(text[line:start]):
        start = line
    # Fill the remaining space with parts of the adjacent sentences, first of the better one.
    weights = [0.0, *(meaning + words for _, meaning, words in sentences), 0.0]
    before, after = weights[first], weights[last + 2]
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


def _best_run(sentences: Sentences, limit: int, marked: Span | None) -> tuple[int, int]:
    """Return the first and last of the best sentences that fit, including the marked one."""
    # Squared, so that many poor sentences don't count as much as a very good one.
    weights = [(meaning + words) ** 2 for _, meaning, words in sentences]
    spans = [span for span, *_ in sentences]
    ends = [end for _, end in spans]
    runs = [(n, max(n, bisect(ends, start + limit) - 1)) for n, (start, _) in enumerate(spans)]
    if marked:
        runs = [run for run in runs if spans[run[0]] <= marked <= spans[run[1]]]
    return max(runs, key=lambda run: sum(weights[run[0] : run[1] + 1]))


# --- for people, why a note was found


def _why_found(note: RankedNote, planned: Plan) -> str:
    reasons = []
    if note.keyword_rank:
        reasons.append(f"words, {ordinal(note.keyword_rank)}")
    # If a note has the words, meaning is a reason only if it is close.
    if note.semantic_rank and (is_close(note, planned) or not note.keyword_rank):
        meaning = "meaning" if note.is_found else "loosely related"
        reasons.append(f"{meaning}, {ordinal(note.semantic_rank)} ({note.similarity:.2f})")
    if note.is_exact:
        reasons.append("title" if planned.is_title(note.title) else "exactly as typed")
    elif note.is_phrase:
        reasons.append("phrase")
    if note.missing:
        reasons.append(f"missing: {', '.join(note.missing)}")
    return " · ".join(reasons)
