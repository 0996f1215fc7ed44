"""The text that is printed to a terminal."""

from __future__ import annotations

import re
from types import SimpleNamespace
from unicodedata import east_asian_width

import click
import pytest

from datasette_bear_search.cli import output, terminal
from datasette_bear_search.cli.output import Screen, screen_for
from datasette_bear_search.cli.terminal import wrapped
from datasette_bear_search.search.results.marks import MarkedText

TEXTS = ("", "one two three", "x" * 50, "屋根の上の庭 roof 東京の旅行", "a  b")


def cells(line: str) -> int:
    return len(line) + sum(east_asian_width(character) == "W" for character in line)


@pytest.mark.parametrize("width", [1, 2, 5, 20, 80])
def test_no_line_is_wider_than_the_screen(width):
    for text in TEXTS:
        lines = wrapped(text, width)
        assert all(cells(line) <= max(width, 2) for line in lines)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_lines_break_between_words_and_count_two_cells_for_wide_characters():
    assert wrapped("屋根の上の庭 roof 東京の旅行", 12) == ["屋根の上の庭", "roof", "東京の旅行"]
    assert wrapped("cafe\u0301s and 👍🏽 \ufe0f", 9) == ["cafe\u0301s and", "👍🏽 \ufe0f"]


def test_a_table_is_aligned_by_cells_and_drops_empty_columns():
    rows = [["name", "notes", "changed", "path"], ["東京", "7", "", "/a"], ["work", "12", "", "/b"]]
    assert terminal.table(rows) == ["name  notes  path", "東京  7      /a", "work  12     /b"]


def test_matches_are_marked_across_lines_on_a_terminal_and_not_elsewhere():
    marked = MarkedText.read("a ⦗roof garden⦘ b")
    [line] = terminal._block(marked, output.PLAIN)
    assert line == "    a roof garden b"
    lines = terminal._block(marked, Screen(width=12, styled=True))
    assert [click.unstyle(line).strip() for line in lines] == ["a roof", "garden b"]
    assert all(re.search(r"\x1b\[[\d;]*4m", line) for line in lines)


@pytest.mark.parametrize(
    ("is_terminal", "environment", "screen"),
    [
        (False, {}, Screen()),
        (True, {"TERM": "xterm"}, Screen(80, True, True)),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, Screen(80, True, False)),
        (True, {"TERM": "dumb"}, Screen(80)),
        (False, {"FORCE_COLOR": "1", "TERM": "dumb"}, Screen(80, True, True)),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, Screen(80, True, False)),
    ],
)
def test_color_follows_the_conventions(monkeypatch, is_terminal, environment, screen):
    monkeypatch.setattr(output.os, "environ", {"COLUMNS": "80", **environment})
    assert screen_for(SimpleNamespace(isatty=lambda: is_terminal)) == screen
