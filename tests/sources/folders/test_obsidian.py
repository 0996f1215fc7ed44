"""How each file in an Obsidian vault is read.

Tests ``text/markdown.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from datasette_bear_search.sources.folders.obsidian import ObsidianVault
from datasette_bear_search.sources.registry import kind_of
from tests.support.note_folders import (
    by_key,
    graph,
    link_keys,
    obsidian,
    read,
    tag_names,
    vault,
    write_files,
)


def test_a_folder_with_obsidians_settings_is_a_vault(tmp_path: Path) -> None:
    assert kind_of(str(vault(tmp_path / "vault", {"a.md": ""}))) == "obsidian"
    assert kind_of(str(write_files(tmp_path / "folder", {"a.md": ""}))) == "markdown"
    both = graph(vault(tmp_path / "both", {}), {"pages/a.md": ""})
    assert kind_of(str(both)) == "logseq"


def test_a_note_has_its_title_tags_dates_and_text(tmp_path: Path) -> None:
    vault(
        tmp_path,
        {
            "Garden/Tomatoes.md": """---
aliases: [Love apples]
tags:
  - plants/food
created: 2024-05-01T09:30:00Z
cssclasses: wide
---
Water them daily, see [[Beans#Watering|the beans]]. #home/garden

> [!tip] In July
> Prune.

%% ask Hollis %%

- [ ] stakes
- [x] seeds

![[row.png|300]]
""",
            "Garden/Beans.md": "",
        },
    )
    note = read(ObsidianVault, tmp_path)["Garden/Tomatoes.md"]
    assert note.title == "Tomatoes"
    assert note.body.startswith("- aliases: Love apples\n\nWater them daily")
    assert "In July" in note.body
    assert "ask Hollis" in note.body
    assert "wide" not in note.body
    assert tag_names(note) == ["home/garden", "plants/food"]
    assert [(link.key, link.title) for link in note.links] == [("Garden/Beans.md", "Beans")]
    assert note.created == "2024-05-01T09:30:00Z"
    assert (note.todos_open, note.todos_done, note.has_image, note.has_file) == (1, 1, True, False)


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# Another heading\nText", "Note", "# Another heading\nText"),
        ("# note\nText", "Note", "Text"),
        ("---\ntitle: Tea\n---\n# Tea\nText", "Tea", "Text"),
        ("Text", "Note", "Text"),
    ],
)
def test_a_note_is_called_like_its_file(tmp_path: Path, text: str, title: str, body: str) -> None:
    note = obsidian(tmp_path, text)
    assert (note.title, note.body) == (title, body)


# Links


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[[Roof]]", "Roof.md"),
        ("[[roof]]", "Roof.md"),
        ("[[Roof.md]]", "Roof.md"),
        ("[[Roof#Costs]]", "Roof.md"),
        ("[[Roof^a1b2]]", None),
        ("[[Roof#^a1b2|the costs]]", "Roof.md"),
        ("![[Roof]]", "Roof.md"),
        ("| [[Roof\\|in a table]] |", "Roof.md"),
        ("[[Beans]]", "Here/Beans.md"),
        ("[[There/Beans]]", "There/Beans.md"),
        ("[[Deep/Beans]]", "There/Deep/Beans.md"),
        ("[[Only]]", "There/Only.md"),
        ("[[/There/Only]]", "There/Only.md"),
        ("[[../There/Only]]", "There/Only.md"),
        ("[[./Beans]]", "Here/Beans.md"),
        ("[[Mr. Smith v1.2]]", "Mr. Smith v1.2.md"),
        ("[[Cafe\u0301]]", "Café.md"),
        ("[[Plan.canvas]]", "Plan.canvas"),
        ("[x](Only.md)", "There/Only.md"),
        ("[x](../Roof.md)", "Roof.md"),
        ("[[nothing]]", None),
        ("[[nly]]", None),
        ("[[Note]]", None),
        ("[[#Costs]]", None),
        ("[[ ]]", None),
    ],
)
def test_links_are_resolved_as_obsidian_does(tmp_path: Path, link: str, target: str | None) -> None:
    others = [
        "Roof.md", "Here/Beans.md", "There/Beans.md", "There/Deep/Beans.md", "There/Only.md",
        "Mr. Smith v1.2.md", "Café.md", "Plan.canvas",
    ]  # fmt: skip
    vault(tmp_path, {**dict.fromkeys(others, ""), "Here/Note.md": link})
    assert link_keys(read(ObsidianVault, tmp_path)["Here/Note.md"]) == ([target] if target else [])


def test_a_link_to_an_ambiguous_name_means_the_shortest_path(tmp_path: Path) -> None:
    vault(tmp_path, {"Long/Path/Beans.md": "", "Z/Beans.md": "", "Here/Note.md": "[[Beans]]"})
    assert link_keys(read(ObsidianVault, tmp_path)["Here/Note.md"]) == ["Z/Beans.md"]


def test_links_in_properties_are_links(tmp_path: Path) -> None:
    vault(tmp_path, {"a.md": '---\nup: "[[b]]"\n---\n', "b.md": ""})
    assert link_keys(read(ObsidianVault, tmp_path)["a.md"]) == ["b.md"]
    no_yaml = '---\nup: "[[b]]"\ncreated: {{date}}\n---\n'
    vault(tmp_path, {"a.md": no_yaml, "b.md": ""})
    assert link_keys(read(ObsidianVault, tmp_path)["a.md"]) == ["b.md"]


# Tags


def test_tags_in_the_front_matter_are_those_that_obsidian_knows(tmp_path: Path) -> None:
    note = obsidian(tmp_path, "---\ntags: '#a, b/c'\ntag: d\nkeywords: [e]\n---\n")
    assert tag_names(note) == ["a", "b/c", "d"]
    assert "- keywords: e" in note.body


def test_folders_are_tags_if_asked_for(tmp_path: Path) -> None:
    assert tag_names(obsidian(tmp_path, "", "Work/Note.md")) == []
    assert tag_names(obsidian(tmp_path, "", "Work/Note.md", folder_tags=True)) == ["Work"]


# Where notes open


def test_a_note_opens_in_obsidian(tmp_path: Path) -> None:
    note = obsidian(tmp_path / "My vault", "Text", "Garden & co/What now?.md")
    assert note.url == "obsidian://open?vault=My%20vault&file=Garden%20%26%20co%2FWhat%20now%3F"


def test_a_copy_of_a_vault_opens_the_vault(tmp_path: Path) -> None:
    assert obsidian(tmp_path, "Text", vault="Home").url == "obsidian://open?vault=Home&file=Note"


# What isn't read


def test_settings_are_not_notes_and_the_trash_is_read_only_on_request(tmp_path: Path) -> None:
    vault(
        tmp_path,
        {".obsidian/x/README.md": "", ".trash/Old.md": "", ".trash/sub/Older.md": "", "a.md": ""},
    )  # fmt: skip
    source = ObsidianVault(tmp_path, "notes")
    assert list(by_key(source.read())) == ["a.md"]
    notes = by_key(source.read(include_trashed=True))
    assert {key: note.trashed for key, note in notes.items()} == {
        "a.md": False,
        ".trash/Old.md": True,
        ".trash/sub/Older.md": True,
    }
    assert notes[".trash/Old.md"].url is None


def set_filters(folder: Path, *filters: object) -> None:
    settings = {"userIgnoreFilters": list(filters)}
    write_files(folder, {".obsidian/app.json": json.dumps(settings)})


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        (["Templates/"], ["a.md", "Work/Templates/c.md"]),
        (["/templates/"], ["a.md"]),
        (["/^Work.*c\\.md$/"], ["a.md", "Templates/b.md"]),
        (["a.md", "work"], ["Templates/b.md"]),
        (None, ["a.md", "Templates/b.md", "Work/Templates/c.md"]),
    ],
)
def test_the_files_that_obsidian_excludes_are_not_read(tmp_path: Path, filters, kept) -> None:
    vault(tmp_path, dict.fromkeys(["a.md", "Templates/b.md", "Work/Templates/c.md"], ""))
    if filters is not None:
        set_filters(tmp_path, *filters)
    assert sorted(read(ObsidianVault, tmp_path)) == sorted(kept)


@pytest.mark.parametrize(
    "settings",
    ["", "no JSON", "[]", "{}", '{"userIgnoreFilters": 3}', '{"userIgnoreFilters": [3]}',
                 '{"userIgnoreFilters": ["/(/"]}', '{"userIgnoreFilters": null}'],
)  # fmt: skip
def test_invalid_settings_keep_no_note_from_being_read(tmp_path, settings) -> None:
    vault(tmp_path, {"a.md": "", ".obsidian/app.json": settings})
    source = ObsidianVault(tmp_path, "notes")
    assert list(by_key(source.read())) == ["a.md"]
    harmless = settings in ("[]", "{}", '{"userIgnoreFilters": null}')
    assert len(source.skipped) == (0 if harmless else 1)


# Other things in vaults


def test_the_words_on_a_canvas_are_found(tmp_path: Path) -> None:
    canvas = {
        "nodes": [
            {"id": "1", "type": "text", "text": "Plan A\n- [ ] call #home"},
            {"id": "2", "type": "file", "file": "Roof.md"},
            {"id": "3", "type": "group", "label": "Spring"},
            {"id": "4", "type": "link", "url": "https://example.com"},
            {"id": "5", "type": "text"},
            7,
        ],
        "edges": [],
    }
    vault(tmp_path, {"Board.canvas": json.dumps(canvas), "Roof.md": ""})
    note = read(ObsidianVault, tmp_path)["Board.canvas"]
    assert note.title == "Board"
    assert note.body == "Plan A\n- [ ] call #home\n\n[[Roof.md]]\n\nSpring\n\nhttps://example.com"
    assert (tag_names(note), link_keys(note), note.todos_open) == (["home"], ["Roof.md"], 1)
    assert note.url.endswith("&file=Board.canvas")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"nodes": 3}', '{"nodes": [[]]}', "[" * 100_000]
)
def test_a_canvas_that_cannot_be_read_is_found_by_its_name(tmp_path: Path, content: str) -> None:
    assert obsidian(tmp_path, content, "Board.canvas").title == "Board"


def test_a_drawing_in_excalidraw_has_its_words_and_not_its_lines(tmp_path: Path) -> None:
    note = obsidian(
        tmp_path,
        "---\n\nexcalidraw-plugin: parsed\ntags: [excalidraw]\n\n---\n"
        "==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu. ⚠==\n\n\n"
        "# Excalidraw Data\n\n## Text Elements\n"
        "Composting toilet ^a1\n\n%%\n## Drawing\n```compressed-json\nN4KAkARALgngDgUw\n```\n%%",
        "Sketch.excalidraw.md",
    )
    assert note.body == "Composting toilet ^a1\n"
    assert not note.has_code


def test_links_in_a_heading_that_repeats_the_name_are_links(tmp_path: Path) -> None:
    write_files(tmp_path, {"SQL.md": "x", "More on SQL.md": "# More on [[SQL]]\n\nText"})
    note = read(ObsidianVault, tmp_path)["More on SQL.md"]
    assert (note.body, link_keys(note)) == ("Text", ["SQL.md"])
