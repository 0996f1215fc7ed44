"""Results → text, with the width, colors and links that the terminal supports."""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width
from urllib.parse import quote

from ..notes import counted, local_day, printable, without_parent_tags
from ..search.engine import SearchResponse
from ..search.results.json import TERMS
from ..search.results.marks import MarkedText, Text
from ..search.results.records import Hit
from ..search.results.snippets import shortened
from .output import PLAIN, Screen, echo, screen_for, style

if TYPE_CHECKING:
    from ..search.notes.similar import SimilarNote, SimilarNotes

# Characters of a passage that are shown.
PASSAGE_CHARACTERS = 280

_INDENT = "    "
_SEPARATOR = " · "


def say(notice: str) -> None:
    text = style(printable(notice), screen_for(sys.stderr), color="yellow")
    echo(text, err=True, styled=True)


def results_text(response: SearchResponse, offset: int, screen: Screen = PLAIN) -> str:
    """Return the hits, numbered from ``offset + 1``, and how many there are in all."""
    total, found = response.results.total, response.results.found
    cards: list[str] = []
    is_found = True
    for number, hit in enumerate(response.results.hits, offset + 1):
        text = f"In {hit.file_label}: " + hit.snippet if hit.in_file else hit.snippet
        if found and not hit.is_found and (not cards or is_found):
            cards.append(style("Weaker matches", screen, dim=True))
        is_found = hit.is_found
        cards.append(_card(number, hit, text, screen))
    counts = [counted(found, "result")] if found else []
    if weaker := total - found:
        counts.append(f"{weaker:,} weaker match{'es' if weaker > 1 else ''}")
    count = _SEPARATOR.join(counts)
    if len(response.results.hits) < total:
        of = f"{total:,}: {count}" if weaker and found else count
        count = f"{offset + 1:,}–{offset + len(response.results.hits):,} of {of}"
    seconds = response.timing_ms["total"] / 1000
    return "\n\n".join([*cards, style(f"{count}, {seconds:.2f} s", screen, dim=True)])


def similar_text(found: SimilarNotes, screen: Screen = PLAIN) -> str:
    cards = [style(f"Notes similar to {printable(found.title)}", screen, bold=True)]
    for number, note in enumerate(found.notes, 1):
        text = shortened(printable(note.text), PASSAGE_CHARACTERS)
        cards.append(_card(number, note, text, screen))
    return "\n\n".join(cards)


def tsv(notes: Sequence[Hit] | Sequence[SimilarNote]) -> str:
    """Return a line per note: id, title, tags, day, URL, source, key, why and text."""
    rows = []
    for note in notes:
        tags, day = " ".join(without_parent_tags(note.tags)), (note.modified or "")[:10]
        facts = (note.id, note.title, tags, day, note.url or "", note.source, note.key)
        rows.append("\t".join(printable(str(value)) for value in (*facts, note.why, note.text)))
    return "\n".join(rows)


def explanation(response: SearchResponse) -> str:
    """Return how the query was understood, each note's scores, and where the time went."""
    results, plan = response.results, response.results.plan
    query, terms = plan.query, plan.terms
    facts = {
        "mode": f"{query.mode}, answered by {' and '.join(results.retrievers) or 'a list'}",
        "balance": f"{plan.balance:.2f} meaning, {1 - plan.balance:.2f} words ({plan.shape})",
        **{name: ", ".join(getattr(terms, name)) for name in TERMS},
        "excluded": ", ".join(plan.text_filters.excluded),
        "filters": ", ".join(f"{each} {of}" for each, of in plan.filters.for_programs().items()),
        "FTS5": plan.match or "",
        "meaning": terms.meaning if "semantic" in results.retrievers else "",
        "threshold": f"{plan.threshold:.3f}" if plan.threshold is not None else "",
        "time": ", ".join(f"{part} {time:.1f} ms" for part, time in response.timing_ms.items()),
    }
    lines = [f"{name + ':':<13}{printable(value)}" for name, value in facts.items() if value]
    if results.hits:
        lines += ["", *table([*_score_rows(results.hits)], align="right")]
    return "\n".join(lines)


def table(rows: Sequence[Sequence[str]], align: str = "left") -> list[str]:
    """Return the lines of a table, whose first row is its header; empty columns are dropped."""
    columns = [[*map(printable, column)] for column in zip(*rows) if any(column[1:])]
    for column in columns[:-1]:
        width = max(map(_cells, column))
        for row, text in enumerate(column):
            blanks = " " * (width - _cells(text))
            column[row] = blanks + text if align == "right" else text + blanks
    return ["  ".join(cells).rstrip() for cells in zip(*columns)]


def wrapped(text: Text, width: int | None) -> list[Text]:
    """Return lines of at most ``width`` cells."""
    if width is None:
        return [text]
    lines = [(0, 0)]
    used = 0
    for word in re.finditer(r"\s+|\S+", str(text)):
        parts = [word[0]] if _cells(word[0]) <= width else word[0]
        for start, part in enumerate(parts, word.start()):
            if used and used + _cells(part) > width:
                lines.append((start, start))
                used = 0
            if not part.isspace():
                lines[-1] = (lines[-1][0] if used else start), start + len(part)
            if used or not part.isspace():
                used += _cells(part)
    return [text[start:end] for start, end in lines]


def _cells(text: str) -> int:
    """Return how many cells of a terminal a text takes once it is printable."""
    seen = (each for each in printable(text) if category(each) not in ("Mn", "Me", "Cf"))
    return sum(2 if east_asian_width(each) in "FW" else 1 for each in seen)  # Chinese takes two


def _card(number: int, note: Hit | SimilarNote, text: str | MarkedText, screen: Screen) -> str:
    badges = [name for name in ("pinned", "archived", "encrypted") if getattr(note, name)]
    title = printable(note.title) or "Untitled"
    if badges:
        title += f" [{', '.join(badges)}]"
    label = f"{number:>2}. "
    lines = wrapped(title, screen.width and screen.width - len(label))
    first, *more = (_linked(style(each, screen, bold=True), note.url, screen) for each in lines)
    card = [label + first, *(_INDENT + line for line in more)]
    heading = note.passage.heading if note.passage else None
    tags = " ".join(f"#{tag}" for tag in without_parent_tags(note.tags))
    facts = [_dates(note), tags, heading or ""]
    card += _block(_SEPARATOR.join(map(printable, filter(None, facts))), screen, dim=True)
    card += _block(text, screen)
    reasons = _SEPARATOR.join(filter(None, [printable(note.why), f"id {note.id}"]))
    card += _block(reasons, screen, dim=True)
    return "\n".join(card)


def _block(text: str | MarkedText, screen: Screen, *, dim: bool = False) -> list[str]:
    def part(text: str, is_match: object) -> str:
        text = printable(text)
        if is_match:
            return style(text, screen, color="yellow", bold=True, underline=True)
        return style(text, screen, dim=True) if dim else text

    marked = MarkedText(text) if isinstance(text, str) else text
    lines = wrapped(marked, screen.width and screen.width - len(_INDENT)) if marked.text else ()
    return [_INDENT + "".join(part(*each) for each in line.stretches()) for line in lines]


def _linked(text: str, url: str | None, screen: Screen) -> str:
    """Return the text as a link (OSC 8), whose address terminals accept in printable ASCII only."""
    if not url or not screen.styled:
        return text
    address = quote(url, safe=string.punctuation, errors="replace")
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def _dates(note: Hit | SimilarNote) -> str:
    created, modified = local_day(note.created), local_day(note.modified)
    if created and modified and created != modified:
        return f"{created}, changed {modified}"
    return modified or created or ""


def _score_rows(hits: Sequence[Hit]) -> Iterator[list[str]]:
    yield ["id", "words", "meaning", "similarity", "blend", "rrf", "rerank", "score", "title"]
    for hit in hits:
        yield [
            str(hit.id),
            *(f"{rank:,}" if rank else "" for rank in (hit.keyword_rank, hit.semantic_rank)),
            *map(_decimals, (hit.similarity, hit.blend, hit.rrf, hit.rerank_score)),
            "exact" if hit.is_exact else _decimals(hit.score),
            printable(hit.title),
        ]


def _decimals(number: float | None) -> str:
    return "" if number is None else f"{number:.4f}"
