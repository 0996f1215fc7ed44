"""Marked texts as they stand in tests: ``The ⦗boiler⦘ room``."""

from __future__ import annotations

from datasette_bear_search.search.results.marks import CHARACTERS, KINDS, MarkedText


def with_marks(text: MarkedText) -> str:
    """Return the text with characters around its marks."""
    parts = []
    for part, kinds in text.stretches(KINDS):
        starts, ends = ("".join(CHARACTERS[kind][n] for kind in kinds) for n in (0, 1))
        parts.append(f"{starts}{part}{ends[::-1]}")
    return "".join(parts)
