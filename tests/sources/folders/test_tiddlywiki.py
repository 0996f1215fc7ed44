"""TiddlyWiki's files: ``sources/folders/tiddlywiki.py``."""

from __future__ import annotations

from pathlib import Path

from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.registry import kind_of
from tests.support.bear_libraries import tag_names
from tests.support.note_folders import link_keys, write_files

SHED = """created: 20240501093000123
modified: 20240502101500000
tags: garden [[to do]]
title: The shed: a plan
type: text/vnd.tiddlywiki
supplier: Oak & Sons

!! Beams
# measure
# saw, as in [[my notes on roofs|Roof]] and [[here|https://a.example/saw]]
"""


def wiki(tmp_path: Path) -> MarkdownFolder:
    markdown = "title: Roof\ntype: text/x-markdown\n\n# Tiles\n\n![[The shed: a plan]]\n"
    system = "title: $:/config/Toolbar\n\nyes"
    files = {"The shed_ a plan.tid": SHED, "Roof.tid": markdown, "$__config_Toolbar.tid": system}
    files["plugins/tea/readme.tid"] = "title: $:/plugins/tea/readme\n\nAbout it"
    write_files(tmp_path, files)
    return MarkdownFolder(tmp_path, folder_tags=False)


def test_fields_are_the_facts_of_a_note(tmp_path: Path) -> None:
    note = {note.key: note for note in wiki(tmp_path).read()}["The shed_ a plan.tid"]
    assert note.title == "The shed: a plan"
    assert tag_names(note) == ["garden", "to do"]
    assert note.created == "2024-05-01T09:30:00Z"
    assert note.modified == "2024-05-02T10:15:00Z"
    assert "- supplier: Oak & Sons\n" in note.body


def test_wikitext_is_read_as_markdown_and_links_lead_to_titles(tmp_path: Path) -> None:
    notes = {note.key: note for note in wiki(tmp_path).read()}
    body = notes["The shed_ a plan.tid"].body
    assert body.endswith(
        "## Beams\n1. measure\n1. saw, as in [[Roof|my notes on roofs]] and [here](https://a.example/saw)\n"
    )
    assert link_keys(notes["The shed_ a plan.tid"]) == ["Roof.tid"]
    assert notes["Roof.tid"].body == "# Tiles\n\n![[The shed: a plan]]\n"
    assert link_keys(notes["Roof.tid"]) == ["The shed_ a plan.tid"]


def test_settings_of_the_wiki_are_no_notes(tmp_path: Path) -> None:
    source = wiki(tmp_path)
    assert kind_of(str(tmp_path)) == "markdown"
    assert {note.title for note in source.read()} == {"The shed: a plan", "Roof"}
    assert source.skipped == []
