"""Rows of the JSON API: everything that is known of a hit, and nothing else."""

from __future__ import annotations

from dataclasses import fields

from datasette_bear_search import Library
from datasette_bear_search.search.results.records import FoundNote, Hit, RankedNote
from tests.support.bear_database import BearNote


def test_a_row_has_every_field_of_a_hit(index_notes):
    path = index_notes([BearNote("# Boiler <room>\n\nIts door squeaks.", tags=("home/boiler",))])
    [hit] = Library(path).search("boiler door", mode="keyword")
    row = hit.to_dict()
    assert list(row) == [field.name for field in fields(Hit)]
    assert row["marked_title"] == "<mark>Boiler</mark> &lt;room&gt;"
    assert row["marked_tags"] == ["home", "home/<mark>boiler</mark>"]
    assert row["snippet"] == "Its <mark>door</mark> squeaks."
    assert (row["why"], row["file"], row["in_file"]) == (hit.why, None, False)


def test_no_hit_has_what_its_text_was_chosen_from():
    facts, found, hit = (
        {field.name for field in fields(it)} for it in (RankedNote, FoundNote, Hit)
    )
    assert found & hit == facts
    assert found - facts
