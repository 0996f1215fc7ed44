"""Results as text for a terminal: as wide, colored and clickable as it allows, and plain where it is none.

Notes are other people's text, too: whatever in them could steer a terminal is taken out on the way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import click

from ..markdown import plain_text
from ..notes import counted, local_day
from ..search.engine import SearchResponse
from ..search.planner import Plan
from ..search.results import Hit
from ..search.similar import SimilarNote, SimilarNotes
from ..search.snippets import innermost, is_close, snippet_covers, why
from ..search.sql import ELLIPSIS, END_MARK, MARK

# Cells. Longer lines are hard to read, however wide the window is.
WIDEST = 100
NARROWEST = 20
# Characters of a passage beside a snippet.
PASSAGE_CHARACTERS = 280

_INDENT = "    "
_SEPARATOR = " · "


@dataclass(frozen=True)
class Screen:
    """What the text is shown on."""

    width: int | None = None  # cells in a line; None leaves lines as long as they are
    styled: bool = False  # bold, underlined and faint text
    colored: bool = False
    links: bool = False  # titles can be clicked (OSC 8)


PLAIN = Screen()


def screen_for(is_terminal: bool, columns: int, environment: Mapping[str, str]) -> Screen:
    """The screen that a stream is, by the conventions of https://no-color.org and of ``TERM=dumb``."""
    if not is_terminal:
        return PLAIN
    smart = environment.get("TERM") != "dumb"
    return Screen(
        width=max(NARROWEST, min(WIDEST, columns)),
        styled=smart,
        colored=smart and not environment.get("NO_COLOR"),
        links=smart,
    )


def results_text(response: SearchResponse, offset: int, screen: Screen = PLAIN) -> str:
    """The hits of an answer, numbered from ``offset`` on, and how many there are in all."""
    planned = response.results.plan
    cards = [
        _card(number, hit, _found_texts(hit, planned), why(hit, planned), screen)
        for number, hit in enumerate(response.results.hits, offset + 1)
    ]
    total, found = response.results.total, response.results.found
    count = counted(found, "note")
    if total > found:
        count += f" and {total - found:,} less close in meaning"
    if len(cards) < total:
        count = f"{offset + 1:,} to {offset + len(cards):,} of {count}"
    seconds = response.timing_ms["total"] / 1000
    return "\n\n".join([*cards, _faint(f"{count}, {seconds:.2f} s", screen)])


def similar_text(found: SimilarNotes, screen: Screen = PLAIN) -> str:
    """The notes that are like one, each with its reasons."""
    heading = _style(f"Like {printable(found.title)}", screen, bold=True)
    cards = []
    for number, note in enumerate(found.notes, 1):
        texts = [_shortened(plain_text(note.passage.text))] if note.passage else []
        cards.append(_card(number, note, texts, _SEPARATOR.join(note.reasons), screen))
    return "\n\n".join([heading, *cards])


def explanation(response: SearchResponse, bm25: Mapping[int, float], screen: Screen = PLAIN) -> str:
    """How the query was understood, what each way of searching made of each note, and where the time went.

    :param bm25: the notes' BM25 by their ids
    """
    results, plan = response.results, response.results.plan
    query = results.query
    facts = {
        "mode": f"{query.mode}, answered by {' and '.join(results.retrievers) or 'a list'}",
        "shape": f"{plan.shape}: meaning counts {plan.balance:.2f}, words {1 - plan.balance:.2f}",
        "words": ", ".join(query.words),
        "phrases": ", ".join(query.phrases),
        "beginnings": ", ".join(query.prefixes),
        "as they stand": ", ".join(query.identifiers),
        "without": ", ".join(query.excluded),
        "filters": ", ".join(
            f"{name} {value}" for name, value in query.filters.for_programs().items()
        ),
        "FTS5": query.match or "",
        "meaning": query.meaning if "semantic" in results.retrievers else "",
        "close from": f"{plan.threshold:.3f}" if plan.threshold is not None else "",
        "time": ", ".join(f"{part} {time:.1f} ms" for part, time in response.timing_ms.items()),
    }
    lines = [f"{name + ':':<15}{printable(value)}" for name, value in facts.items() if value]
    if results.hits:
        lines += ["", *_table(_score_rows(results.hits, bm25))]
    return "\n".join(lines)


def notice_text(notice: str, screen: Screen = PLAIN) -> str:
    """A line for a person beside the results."""
    return _style(printable(notice), screen, color="yellow")


def printable(text: str) -> str:
    """The text without characters that steer a terminal or turn the direction of writing; lines and tabs are blanks."""
    return _UNPRINTABLE.sub("", _BLANKS.sub(" ", text))


def printable_json(json: str) -> str:
    """JSON in which those characters are escaped, where JSON itself doesn't ask for it."""
    return _UNPRINTABLE.sub(
        lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", json
    )


def cell_width(text: str) -> int:
    """How many cells of a terminal the text takes: two for a wide character, none for one that joins another."""
    return sum(map(_cells, text))


# C0 and C1 control characters, DEL, and what overrides the direction of the text around it (CVE-2021-42574).
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_BLANKS = re.compile(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]+")
_MARKS = re.compile(f"[{MARK}{END_MARK}]")


def _cells(character: str) -> int:
    if character.isascii():
        return 1 if character.isprintable() else 0
    if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _card(
    number: int, note: Hit | SimilarNote, texts: Sequence[str], reason: str, screen: Screen
) -> str:
    badges = [name for name in ("pinned", "archived", "encrypted") if getattr(note, name)]
    title = printable(note.title) or "Untitled"
    if badges:
        title += f" [{', '.join(badges)}]"
    label = f"{number:>2}. "
    lines = wrapped(title, screen.width and screen.width - len(label))
    styled = [_linked(_style(line, screen, bold=True), note.url, screen) for line in lines]
    card = [label + styled[0], *(_INDENT + line for line in styled[1:])]
    heading = note.passage.heading if note.passage else None
    facts = [_dates(note), " ".join(f"#{tag}" for tag in innermost(note.tags)), heading or ""]
    card += _block(_SEPARATOR.join(map(printable, filter(None, facts))), screen, faint=True)
    for text in filter(None, texts):
        card += _block(text, screen)
    reasons = _SEPARATOR.join(filter(None, [printable(reason), f"id {note.id}"]))
    card += _block(reasons, screen, faint=True)
    return "\n".join(card)


def _found_texts(hit: Hit, planned: Plan) -> list[str]:
    """The snippet, and the passage that is closest in meaning if it says something else."""
    has_marks = MARK in hit.snippet and _MARKS.sub("", hit.snippet) != hit.title
    snippet = _printable_snippet(plain_text(hit.snippet)) if has_marks else ""
    if hit.passage is None or hit.encrypted:
        return [snippet]
    if has_marks and (snippet_covers(hit) or not is_close(hit, planned)):
        return [snippet]
    lines = plain_text(hit.passage.text).splitlines()
    if hit.passage.heading and lines and lines[0] == hit.passage.heading.split(" › ")[-1]:
        del lines[0]
    return [snippet, _shortened("\n".join(lines))]


def _shortened(text: str) -> str:
    text = printable(text)
    if len(text) <= PASSAGE_CHARACTERS:
        return text
    return text[:PASSAGE_CHARACTERS].rsplit(" ", 1)[0] + ELLIPSIS


def _printable_snippet(snippet: str) -> str:
    """The snippet with its marks, without whatever else is no text."""
    parts = re.split(f"([{MARK}{END_MARK}])", snippet)
    return "".join(part if part in (MARK, END_MARK) else printable(part) for part in parts)


def wrapped(text: str, width: int | None) -> list[str]:
    """The text in lines of at most ``width`` cells, broken at blanks, and where there is none, anywhere."""
    if width is None:
        return [text]
    lines, line = [], ""
    for word in _words(text, width):
        candidate = f"{line} {word}" if line else word
        if line and cell_width(candidate) > width:
            lines.append(line)
            line = word
        else:
            line = candidate
    return [*lines, line]


def _words(text: str, width: int) -> Iterator[str]:
    """The words of a text, none wider than ``width``."""
    for word in text.split(" "):
        piece, cells = "", 0
        for character in word:
            if cells + _cells(character) > width:
                yield piece
                piece, cells = "", 0
            piece += character
            cells += _cells(character)
        if piece:
            yield piece


def _block(text: str, screen: Screen, *, faint: bool = False) -> list[str]:
    """The indented lines of a text, its marks shown."""
    lines, is_marked = [], False
    for line in wrapped(text, screen.width and screen.width - len(_INDENT)):
        shown = ""
        for part in re.split(f"([{MARK}{END_MARK}])", line):
            if part in (MARK, END_MARK):
                is_marked = part == MARK
            elif part:
                shown += _marked(part, screen) if is_marked else part
        lines.append(_INDENT + (_faint(shown, screen) if faint and shown else shown))
    return lines if text else []


def _marked(text: str, screen: Screen) -> str:
    return _style(text, screen, bold=True, underline=True, color="yellow")


def _faint(text: str, screen: Screen) -> str:
    return click.style(text, dim=True) if screen.styled else text


def _style(
    text: str, screen: Screen, *, bold: bool = False, underline: bool = False, color: str = ""
) -> str:
    if not screen.styled:
        return text
    return click.style(
        text,
        bold=bold or None,
        underline=underline or None,
        fg=color if color and screen.colored else None,
    )


def _linked(text: str, url: str | None, screen: Screen) -> str:
    """The text as a link (OSC 8), which terminals take only with printable ASCII in it."""
    if not url or not screen.links:
        return text
    address = "".join(
        character
        if "!" <= character <= "~"
        else "".join(f"%{byte:02X}" for byte in character.encode(errors="replace"))
        for character in url
    )
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def _dates(note: Hit | SimilarNote) -> str:
    created, modified = local_day(note.created), local_day(note.modified)
    if created and modified and created != modified:
        return f"{created}, changed {modified}"
    return modified or created or ""


def _score_rows(hits: Sequence[Hit], bm25: Mapping[int, float]) -> Iterator[list[str]]:
    yield ["id", "words", "BM25", "meaning", "cosine", "blend", "rrf", "rerank", "score", "title"]
    for hit in hits:
        yield [
            str(hit.id),
            f"{hit.keyword_rank:,}" if hit.keyword_rank else "",
            _decimals(bm25.get(hit.id), 2),
            f"{hit.semantic_rank:,}" if hit.semantic_rank else "",
            _decimals(hit.similarity, 4),
            _decimals(hit.blend, 4),
            _decimals(hit.rrf, 5),
            _decimals(hit.rerank_score, 4),
            "exact" if hit.is_exact else _decimals(hit.score, 4),
            printable(hit.title),
        ]


def _decimals(number: float | None, places: int) -> str:
    return "" if number is None else f"{number:.{places}f}"


def _table(rows: Iterator[list[str]]) -> list[str]:
    """Columns of numbers, and a last one of text. A column in which nothing stands is left out."""
    columns = [column for column in zip(*rows) if any(column[1:])]
    *numbers, texts = columns
    widths = [max(map(len, column)) for column in numbers]
    return [
        "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths)), text])
        for *row, text in zip(*numbers, texts)
    ]
