"""Other programs' markup: ``sources/folders/wikis.py``."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.folders.wikis import MDX, TIDDLER, VIMWIKI, ZIM, as_markdown
from datasette_bear_search.sources.registry import kind_of
from tests.support.bear_libraries import tag_names
from tests.support.note_folders import link_keys, markdown, write_files

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


CODE = "```\nimport ''x'' //y// {{z}}\n```\n"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (TIDDLER, "''dry'' //oak, http://x.org/a//", "**dry** *oak, http://x.org/a*"),
        (TIDDLER, "http://y.org//z", "http://y.org//z"),
        (TIDDLER, "!!! Deep\n<<<\nwords\n<<< Ada\n\\define x()", "### Deep\nwords\n"),
        (TIDDLER, '<<tag x>><$link to="A">shed</$link> 1 << 2', "shed 1 << 2"),
        (TIDDLER, "{{Roof||tpl}} [img width=9 [A view|a.png]]", "[[Roof]] ![A view](<a.png>)"),
        (ZIM, "''a //b//'' {{./a.png?width=9}}", "`a //b//` ![](<./a.png>)"),
        (ZIM, "[[:Home:My page|label: x]] [[+Sub]]", "[[Home/My page|label: x]] [[Sub]]"),
        (ZIM, "[[https://x.org:80/a|site]]", "[site](https://x.org:80/a)"),
        (ZIM, "[ ] open\n\t[*] done", "- [ ] open\n\t- [x] done"),
        (ZIM, "'''\na //b//\n'''\n", "```\na //b//\n```\n"),
        (VIMWIKI, "%title Tea\n%% no\n == Green ==\na == b ==", "# Tea\n## Green\na == b =="),
        (VIMWIKI, "{{{sh\n= x =\n}}}\n{{b}}", "```sh\n= x =\n```\n{{b}}"),
        (VIMWIKI, "{{a.png|Alt}}", "![Alt](<a.png>)"),
        (MDX, "import {\n  a,\n} from 'b';\n\n# Tea {/* no */}", "\n# Tea "),
        (MDX, '<Tab value="a" label="Green tea">\n`<A>`</Tab><></>', "Green tea\n`<A>`"),
    ],
)  # fmt: skip
def test_markup_becomes_markdown_with_the_same_words(kind, text, expected):
    assert as_markdown(text, kind) == expected
    assert as_markdown(f"{CODE}{text}", kind) == f"{CODE}{expected}"


def test_files_of_vimwiki_and_mdx_are_notes_without_markup(tmp_path: Path) -> None:
    note = markdown(tmp_path, "= Tea =\n{{{\n= no =\n}}}\n", "tea.wiki")
    assert (note.title, note.body) == ("Tea", "```\n= no =\n```\n")
    note = markdown(tmp_path, "---\ntitle: Tea\n---\nimport A from 'a'\n\n<A>Green</A>\n", "a.mdx")
    assert (note.title, note.body.strip()) == ("Tea", "Green")


@pytest.mark.parametrize("kind", [TIDDLER, ZIM, VIMWIKI, MDX])
@pytest.mark.parametrize(
    "part", ["{{{\n", "'''\n", "{/*", "<A ", "[[a:b", "//a ", "''a ", "= a = b "]
)
def test_no_markup_takes_long(kind, part):
    started = time.process_time()
    as_markdown(part * (50_000 // len(part)), kind)
    assert time.process_time() - started < 2  # .3 s at most; quadratic code, many seconds
