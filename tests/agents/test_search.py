"""``search_notes`` and ``similar_notes``: what they find, and what they never tell."""

from __future__ import annotations

import json

import pytest
from mcp import Client

from datasette_bear_search.agents import Library, server
from datasette_bear_search.embeddings import registry
from datasette_bear_search.search import engine
from tests.agents.conftest import HIDDEN, NOTES, note_id
from tests.conftest import TINY
from tests.support.bear_libraries import edit
from tests.support.tiny_embedder import TinyEmbedder

pytestmark = pytest.mark.asyncio


async def titles(call, **arguments) -> list[str]:
    data = await call("search_notes", **arguments)
    return [note["title"] for note in data["notes"]]


async def test_a_found_note_has_everything_that_an_agent_needs(call):
    data = await call("search_notes", query="roof flashing", mode="keyword")
    assert data["total"] == 4
    note = data["notes"][0]
    assert note["title"] == "Cabin roof"
    assert note["url"].startswith("bear://x-callback-url/open-note?id=")
    assert note["tags"] == ["cabin/repairs"]
    assert note["created"] == note["modified"] == "2024-05-01"
    assert "**roof**" in note["snippet"]
    assert "**flashing**" in note["snippet"]
    assert note["why"] == "words, 1st"
    assert "archived" not in note


async def test_the_lines_of_a_passage_are_those_that_get_notes_gives(call):
    data = await call("search_notes", query="flashing", mode="semantic")
    found = next(note for note in data["notes"] if note["title"] == "Cabin roof")
    assert found["passage"]["heading"] == "Plan for May"
    assert found["passage"]["lines"] == "5-7"
    assert found["url"].endswith("&header=Plan%20for%20May")
    read = await call("get_notes", ids=[found["id"]], lines=found["passage"]["lines"])
    assert read["notes"][0]["text"] == "## Plan for May\n\nReplace the flashing."


async def test_archived_notes_are_marked_in_data_and_text(call):
    data = await call("search_notes", query="roof garden")
    assert data["notes"][0]["archived"] is True
    assert "archived" in await call("search_notes", query="roof garden", text=True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "roof", "filters": {"tag": "cabin"}}, {"Cabin roof"}),
        ({"query": "roof", "filters": {"tag": ["cabin"], "pinned": False}}, {"Cabin roof"}),
        ({"filters": {"archived": "true"}}, {"Old plans"}),
        ({"query": "invoice", "mode": "keyword"}, {"Receipts"}),
    ],
)
async def test_filters_are_taken_as_models_write_them(call, arguments, expected):
    assert set(await titles(call, **arguments)) == expected


async def test_offset_goes_on_where_the_last_answer_ended(call):
    first = await call("search_notes", query="roof", mode="keyword", limit="3")
    assert first["next_offset"] == 3
    second = await call("search_notes", query="roof", mode="keyword", limit=3, offset=3)
    ids = [note["id"] for note in [*first["notes"], *second["notes"]]]
    assert len(set(ids)) == len(ids) == first["total"] == 4
    assert "next_offset" not in second


@pytest.mark.parametrize(("paraphrase", "balance"), [(True, 1.0), ("true", 1.0), (False, None)])
async def test_other_words_than_the_notes_own_are_ranked_by_meaning(
    call, monkeypatch, paraphrase, balance
):
    requests = []
    search = engine.search

    def recorded(connection, request, **options):
        requests.append(request)
        return search(connection, request, **options)

    monkeypatch.setattr(engine, "search", recorded)
    found = await call("search_notes", query="where the roof leaks", paraphrase=paraphrase)
    assert found["notes"]
    assert [request.ranking.balance for request in requests] == [balance]


async def test_nothing_found_says_what_to_try(call):
    text = await call("search_notes", query="roof", filters={"tag": "nowhere"}, text=True)
    assert "list_tags" in text


async def test_similar_notes_come_with_reasons(call):
    data = await call("similar_notes", id=await note_id(call, "Cabin roof"))
    reasons = {note["title"]: note["why"] for note in data["notes"]}
    assert "links to this note" in reasons["Diary of roofs"]
    data = await call("similar_notes", id=await note_id(call, "Cabin roof"), unlinked=True)
    assert "Diary of roofs" not in [note["title"] for note in data["notes"]]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "diary of roofs"},
        {"query": "zeppelin"},
        {"query": "zepelin"},
        {"query": "zeppelon diary"},
        {"query": "zepp*"},
        {"query": "eppeli", "mode": "like"},
        {"query": "who may read of the zeppelin", "mode": "semantic"},
        {"query": "tag:private"},
        {"filters": {"tag": "private/diary"}},
        {"filters": {"source": "bear"}, "limit": 20},
    ],
)
async def test_a_search_never_tells_of_a_note_with_a_hidden_tag(call, arguments):
    assert "Diary" in await call("search_notes", text=True, **arguments)
    data = await call("search_notes", hidden=HIDDEN, **arguments)
    told = json.dumps(data) + await call("search_notes", hidden=HIDDEN, text=True, **arguments)
    for word in ("Diary", "private", "zeppelin"):
        assert word not in told
    assert data.get("total", 0) <= len(NOTES) - 1


async def test_without_a_model_notes_are_found_by_words_and_it_is_said(call):
    class Broken(TinyEmbedder):
        def open_model(self):
            raise OSError("gone")

    registry.register(TINY, lambda: Broken(TINY))
    data = await call("search_notes", query="roof")
    assert data["notes"]
    assert "found by their words only" in data["notices"][0]


async def test_a_search_that_takes_too_long_ends_with_advice(call, sidecar_path):
    edit(
        sidecar_path,
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) "
        "insert into notes (title, body, tags, attachments, source, key) "
        "select 'n', 'roof', '[]', '', 'bear', i from n",
    )
    library = Library(sidecar_path, time_limit_ms=0)
    async with Client(server.build_server(library)) as client:
        result = await client.call_tool("search_notes", {"query": "roof", "mode": "like"})
    assert result.is_error
    assert "took longer" in result.content[0].text


async def test_what_only_a_file_says_comes_with_the_files_name(call):
    [note] = (await call("search_notes", query="plumber"))["notes"]
    assert (note["file"], note["snippet"]) == ("scan.png", "**plumber** invoice")
