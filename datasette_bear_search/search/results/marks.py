"""Marks in text: the matching words, the sentence closest in meaning, code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple, TypeVar

# What is marked, by its HTML element; where marks overlap, the first one is outside.
SENTENCE, CODE, MATCH = KINDS = ('span class="bear-sentence"', "code", "mark")

# The sentence with which the part begins that is shown first; it isn't marked for people.
LEAD = "lead"

# Characters around what is marked while FTS5 or plain_text() has the text, for MarkedText.read().
# Hardly any note contains them.
CHARACTERS = {SENTENCE: "⟪⟫", CODE: "⟬⟭", MATCH: "⦗⦘", LEAD: "⦅⦆"}

ELLIPSIS = "…"


class Span(NamedTuple):
    start: int
    end: int
    kind: str  # one of KINDS, or LEAD


@dataclass(frozen=True)
class MarkedText:
    """A text and its marks. Those of one kind don't overlap."""

    text: str
    spans: tuple[Span, ...] = ()

    @classmethod
    def read(cls, text: str) -> MarkedText:
        """Read a text with CHARACTERS. A character without its counterpart is left out."""
        if text.isascii() or not any(sign in text for sign in (*_STARTS, *_ENDS)):  # most texts
            return cls(text)
        parts, spans, length = [], [], 0
        opened: dict[str, int] = {}
        for part in _EACH_CHARACTER.split(text):
            if part in _STARTS:
                opened[_STARTS[part]] = length
            elif part not in _ENDS:
                parts.append(part)
                length += len(part)
            elif (start := opened.pop(_ENDS[part], length)) < length:
                spans.append(Span(start, length, _ENDS[part]))
        return cls("".join(parts), tuple(spans))

    def __str__(self) -> str:
        return self.text

    def __getitem__(self, part: slice) -> MarkedText:
        first, last, _ = part.indices(len(self.text))
        spans = [
            Span(max(start, first) - first, min(end, last) - first, kind)
            for start, end, kind in self.spans
            if start < last and first < end
        ]
        return MarkedText(self.text[part], tuple(spans))

    def __add__(self, text: str) -> MarkedText:
        return MarkedText(self.text + text, self.spans)

    def __radd__(self, text: str) -> MarkedText:
        moved = (Span(start + len(text), end + len(text), kind) for start, end, kind in self.spans)
        return MarkedText(text + self.text, tuple(moved))

    def stretches(self, kinds: Sequence[str] = (MATCH,)) -> Iterator[tuple[str, list[str]]]:
        """Yield the text in parts, each with the marks of these kinds that it is in."""
        edges = [(at, at == span.end, span.kind) for span in self.spans for at in span[:2]]
        place, active = 0, set[str]()
        for at, is_end, kind in sorted(edge for edge in edges if edge[2] in kinds):
            if place < at:
                yield self.text[place:at], [each for each in kinds if each in active]
                place = at
            (active.discard if is_end else active.add)(kind)
        yield self.text[place:], []

    def html(self, kinds: Sequence[str] = (MATCH,)) -> str:
        """Return the text as HTML, escaped, with an element for each mark of these kinds."""
        if not self.spans:  # most texts
            return escape(self.text)
        # Each part has its own elements, because marks may overlap but tags may not.
        parts = []
        for text, around in self.stretches(kinds):
            parts += [f"<{kind}>" for kind in around]
            parts.append(escape(text))
            parts += [f"</{kind.split()[0]}>" for kind in reversed(around)]
        return "".join(parts)


# For functions that cut a text, with marks or without.
Text = TypeVar("Text", str, MarkedText)

_STARTS = {pair[0]: kind for kind, pair in CHARACTERS.items()}
_ENDS = {pair[1]: kind for kind, pair in CHARACTERS.items()}
_EACH_CHARACTER = re.compile(f"([{''.join(CHARACTERS.values())}])")
