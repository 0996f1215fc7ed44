"""Marks in text: the matching words, the sentence closest in meaning, code."""

from __future__ import annotations

import re
from html import escape

# Characters that mark matching words, the sentence closest in meaning, and code, until markup
# replaces them. Hardly any note contains them.
MARK, END_MARK = "⦗", "⦘"
SENTENCE, END_SENTENCE = "⟪", "⟫"
CODE, END_CODE = "⟬", "⟭"
ELLIPSIS = "…"


def marked_html(text: str) -> str:
    """Return the text as HTML: escaped, with ``<mark>`` in place of MARK and END_MARK.

    Notes may contain these characters, too. Unpaired ones are left out, because an unclosed tag
    would mark the rest of the page.
    """
    paired = _PAIR.sub(r"<mark>\1</mark>", escape(text))
    return unmarked(paired)


def unmarked(text: str) -> str:
    return ANY_MARK.sub("", text)


def page_html(text: str) -> str:
    """Return the text as HTML, with elements for all marks: matches, sentences and code."""
    active: set[str] = set()
    html = []
    for part in _EACH_MARK.split(text):
        if part in _ELEMENTS:
            active.add(part)
        elif part in _ENDS:
            active.discard(_ENDS[part])
        elif not active:
            html.append(escape(part))
        elif part:
            # Each stretch of text has its own elements, because marks may overlap but tags may not.
            around = [element for mark, element in _ELEMENTS.items() if mark in active]
            ends = (f"</{element.split()[0]}>" for element in reversed(around))
            html += [*(f"<{element}>" for element in around), escape(part), *ends]
    return "".join(html)


def cut(text: str, place: tuple[int, int]) -> tuple[str, str, str]:
    """Return the parts of a marked text before, in and after a span that doesn't count marks."""
    parts = ["", "", ""]
    at = number = 0
    active: list[str] = []  # marks that the next part has to open again
    for piece in _EACH_MARK.split(text):
        if piece in _ENDS:
            active = [mark for mark in active if mark != _ENDS[piece]]
            parts[number] += piece
            continue
        if piece in _ELEMENTS:
            active.append(piece)
            parts[number] += piece
            continue
        while number < 2 and at + len(piece) > place[number]:
            here = max(0, place[number] - at)
            parts[number] += piece[:here] + "".join(_CLOSING[mark] for mark in reversed(active))
            piece, at = piece[here:], at + here
            number += 1
            parts[number] = "".join(active)
        parts[number] += piece
        at += len(piece)
    return parts[0], parts[1], parts[2]


_PAIR = re.compile(f"{MARK}([^{MARK}{END_MARK}]*){END_MARK}")
_ELEMENTS = {SENTENCE: 'span class="bear-sentence"', CODE: "code", MARK: "mark"}
_ENDS = {END_SENTENCE: SENTENCE, END_CODE: CODE, END_MARK: MARK}
_CLOSING = {mark: end for end, mark in _ENDS.items()}
ANY_MARK = re.compile(f"[{''.join([*_ELEMENTS, *_ENDS])}]")
_EACH_MARK = re.compile(f"({ANY_MARK.pattern})")
