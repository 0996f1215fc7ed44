"""The tool that makes links which create notes.

Tests ``sources/new_notes.py``, too.
"""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from datasette_bear_search.agents import AgentLibrary, ToolError, tools
from datasette_bear_search.sources import SourceConfig
from datasette_bear_search.sources.new_notes import new_note_urls
from tests.support.bear_libraries import edit

NOTE = {
    "title": "Roof & gutter: plan",
    "text": "Ask *Hollis*.\n\n100 %",
    "tags": ["work/x", "#b c"],
}


def test_a_link_for_bear_has_title_text_and_tags():
    sources = [SourceConfig("bear", "bear", "/x"), SourceConfig("old", "bear", "/y")]
    [url] = new_note_urls(sources, **NOTE).values()
    assert url.startswith("bear://x-callback-url/create?title=Roof%20%26%20gutter")
    values = {name: value for name, [value] in parse_qs(urlsplit(url).query).items()}
    assert values == {"title": NOTE["title"], "text": NOTE["text"], "tags": "work/x,b c"}


def test_a_link_for_obsidian_names_the_vault_and_a_file():
    sources = [SourceConfig("notes", "obsidian", "/home/me/My vault/")]
    [url] = new_note_urls(sources, **NOTE).values()
    assert url.startswith("obsidian://new?vault=My%20vault&")
    values = {name: value for name, [value] in parse_qs(urlsplit(url).query).items()}
    assert values["name"] == "Roof & gutter plan"
    assert values["content"] == f"#work/x #b-c\n\n{NOTE['text']}"
    copy = SourceConfig("notes", "obsidian", "/copy", {"vault": "Real"})
    assert "vault=Real&" in new_note_urls([copy], "x")["Obsidian"]


def test_other_apps_take_no_such_links():
    assert new_note_urls([SourceConfig("m", "markdown", "/x")], "x") == {}


@pytest.mark.asyncio
async def test_an_agent_gets_a_link_and_is_told_that_nothing_was_written(call):
    data = await call("new_note", title="Roof", tags=["work"])
    assert data["links"]["Bear"] == "bear://x-callback-url/create?title=Roof&tags=work"
    said = await call("new_note", title="Roof", tags=["work"], text=True)
    assert said.startswith("Nothing has been written.")
    assert f"[Create the note in Bear]({data['links']['Bear']})" in said


def test_a_text_that_no_link_holds_is_refused(indexed):
    with pytest.raises(ToolError, match="8,000 characters"):
        tools.call(AgentLibrary(indexed), "new_note", {"text": "x" * 9000})


@pytest.mark.asyncio
async def test_without_such_an_app_the_tool_says_so(call, sidecar_path):
    edit(sidecar_path, "update sources set kind = 'markdown'")
    assert "only Bear and Obsidian do" in await call("new_note", title="x", fails=True)
