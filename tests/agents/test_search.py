"""``search_notes`` and ``similar_notes``: what they find, and what they never reveal.

Tests ``agents/``.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from mcp import Client

from datasette_bear_search.agents import AgentLibrary, server
from datasette_bear_search.embeddings import registry
from tests.support.agents import HIDDEN, NOTES, note_id
from tests.support.bear_libraries import edit
from tests.support.tiny_embedder import TINY, TinyEmbedder

pytestmark = pytest.mark.asyncio


async def titles(call, **arguments) -> list[str]:
    data = await call("search_notes", **arguments)
    return [note["title"] for note in data["notes"]]


async def test_a_found_note_has_everything_that_an_agent_needs(call):
    data = await call("search_notes", query="roof flashing", mode="keyword")
    assert data["total"] == 1  # "roof" alone is the smaller part of the query
    note = data["notes"][0]
    assert note["title"] == "Cabin roof"
    assert note["tags"] == ["cabin/repairs"]
    assert note["modified"] == "2024-05-01"
    assert "**roof**" in note["snippet"]
    assert "**flashing**" in note["snippet"]
    assert note["why"] == "words, 1st"
    assert "archived" not in note


async def test_a_result_has_its_url_only_when_asked_for(call):
    for tool, arguments in (
        ("search_notes", {"query": "roof"}),
        ("similar_notes", {"id": "Cabin roof"}),
        ("get_notes", {"titles": ["Cabin roof"]}),
    ):
        assert "url" not in (await call(tool, **arguments))["notes"][0]
        assert "url:" not in await call(tool, text=True, **arguments)
        note = (await call(tool, **arguments, links=True))["notes"][0]
        assert note["url"].startswith("bear://x-callback-url/open-note?id=")


async def test_the_lines_of_a_passage_are_those_that_get_notes_gives(call):
    data = await call("search_notes", query="flashing", mode="semantic", links=True)
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
async def test_filters_accept_the_forms_that_models_write(call, arguments, expected):
    assert set(await titles(call, **arguments)) == expected


async def test_offset_goes_on_where_the_last_answer_ended(call):
    first = await call("search_notes", query="roof", mode="keyword", limit="3")
    assert first["next_offset"] == 3
    second = await call("search_notes", query="roof", mode="keyword", limit=3, offset=3)
    ids = [note["id"] for note in [*first["notes"], *second["notes"]]]
    assert len(set(ids)) == len(ids) == first["total"] == 4
    assert "next_offset" not in second


async def test_nothing_found_says_what_to_try(call):
    text = await call("search_notes", query="xylophone", mode="keyword", text=True)
    assert "list_tags" in text


async def test_words_that_no_note_has_do_not_hide_notes_with_the_others(call):
    unknown = "zebracopter quokkaberry xylophone snorkel"
    data = await call("search_notes", query=f"roof {unknown}")
    assert "Cabin roof" in [note["title"] for note in data["notes"]]
    assert all(note["missing"] == unknown.split() for note in data["notes"])
    assert data["notices"] == ["No note matches closely. These contain some of your words."]
    assert not await titles(call, query=unknown)
    assert not await titles(call, query=f"roof {unknown}", mode="semantic")


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
        {"query": "zeppelon diary", "found_only": False},
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
    typed = json.dumps(arguments)  # notices repeat it
    for word in ("Diary", "private", "zeppelin"):
        assert word not in (json.dumps(data["notes"]) if word in typed else told)
    assert data.get("total", 0) <= len(NOTES) - 1


async def test_without_a_model_a_notice_says_that_notes_are_found_by_words(call):
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
    library = AgentLibrary(sidecar_path, time_limit_ms=0)
    async with Client(server.build_server(library)) as client:
        result = await client.call_tool("search_notes", {"query": "roof", "mode": "like"})
    assert result.is_error
    assert "took longer" in result.content[0].text


async def test_a_match_in_a_file_names_the_file(call):
    [note] = (await call("search_notes", query="plumber"))["notes"]
    assert (note["file"], note["snippet"]) == ("scan.png", "**plumber** invoice")


async def test_several_phrasings_give_one_list_of_notes(call):
    one = await titles(call, query="lentils", limit=20)
    both = await call("search_notes", query="flashing", queries=["lentils", "flashing"], limit=20)
    found = [note["title"] for note in both["notes"]]
    assert one[0] in found[:2]
    assert "Cabin roof" in found[:2]
    assert len(found) == len(set(found)) == both["total"] == both["found"]
    rest = await call("search_notes", queries=["flashing", "lentils"], limit=20, offset=1)
    assert [note["title"] for note in rest["notes"]] == found[1:]
    page = await call("search_notes", queries=["flashing", "lentils"], limit=1)
    assert page["next_offset"] == 1


@pytest.mark.parametrize(
    ("arguments", "notices"),
    [
        (
            {"query": "roof tag:cabbin"},
            [
                "Did you mean “roof tag:cabin”?",
                "No note has the tag “cabbin”.",
                "No note fits “#cabbin”. Without it, these are the results.",
            ],
        ),
        (
            {"query": "roof", "filters": {"tag": "cabbin"}},
            [
                "No note has the tag “cabbin”. Did you mean “cabin”?",
                "No note fits these filters. Without them, these are the results.",
            ],
        ),
    ],
)
async def test_a_notice_says_that_no_note_has_a_tag(call, arguments, notices):
    data = await call("search_notes", **arguments)
    assert data["notes"][0]["title"] == "Cabin roof"
    assert data["notices"] == notices


async def test_a_notice_of_one_phrasing_names_it(call):
    data = await call("search_notes", queries=["roof", "flashign"], mode="keyword")
    assert any(notice.startswith("“flashign”: No note has") for notice in data["notices"])


@pytest.mark.parametrize("arguments", [{"query": "zeppelin"}, {"query": "zepelin"}])
async def test_phrasings_never_tell_of_a_note_with_a_hidden_tag(call, arguments):
    text = await call("search_notes", hidden=HIDDEN, text=True, queries=["diary"], **arguments)
    assert "Diary" not in text
    assert "zeppelin" not in text.replace("“zeppelin”", "")


async def test_concise_answers_take_few_tokens(call):
    detailed = await call("search_notes", query="roof", limit=20)
    concise = await call("search_notes", query="roof", limit=20, detail="concise")
    assert [note["id"] for note in concise["notes"]] == [note["id"] for note in detailed["notes"]]
    assert len(json.dumps(concise)) < 0.8 * len(json.dumps(detailed))
    assert "**roof**" in concise["notes"][0]["snippet"]
    assert concise["notes"][0]["why"] == detailed["notes"][0]["why"]


async def test_the_titles_of_the_next_results_follow(call):
    data = await call("search_notes", query="roof", mode="keyword", limit=1)
    rest = await call("search_notes", query="roof", mode="keyword", limit=20, offset=1)
    assert [note["id"] for note in data["next_titles"]] == [note["id"] for note in rest["notes"]]
    text = await call("search_notes", query="roof", mode="keyword", limit=1, text=True)
    assert text.endswith(f'"{rest["notes"][-1]["title"]}" (id {rest["notes"][-1]["id"]})')
    fused = await call("search_notes", queries=["roof", "garden"], mode="keyword", limit=1)
    assert len(fused["next_titles"]) == fused["total"] - 1
    assert "next_titles" not in rest


@pytest.mark.parametrize("queries", [["roof"], ["roof", "garden"], []])
async def test_results_can_be_sorted_by_date(call, queries):
    asked = {"queries": queries, "filters": {"source": "bear"}, "mode": "keyword", "limit": 20}
    for sort, is_reversed in (("newest", True), ("oldest", False)):
        data = await call("search_notes", **asked, sort=sort)
        dates = [note["modified"] for note in data["notes"]]
        assert dates == sorted(dates, reverse=is_reversed)
        assert len(set(dates)) > 2


async def test_the_folder_of_a_file_is_told(call, sidecar_path):
    edit(sidecar_path, "update notes set key = 'work/plans/roof.md' where title = 'Cabin roof'")
    data = await call("search_notes", query="flashing", limit=1)
    assert data["notes"][0]["folder"] == "work/plans"


async def test_a_response_stays_within_its_budget_and_says_how_to_continue(call):
    data = await call("search_notes", query="roof", max_tokens=200, limit=20)
    assert 1 <= len(data["notes"]) == data["next_offset"] < data["total"]
    assert len(json.dumps(data["notes"])) < 3 * 200 * 1.2


async def test_nearest_notes_come_only_when_asked_for(call):
    asked = {"query": "submarine engines", "mode": "semantic"}
    assert not await titles(call, **asked)
    assert await titles(call, **asked, found_only=False)


async def test_recent_notes_are_preferred_when_asked(call, sidecar_path):
    edit(sidecar_path, "update notes set modified = '2000-01-01' where title = 'Weekly'")
    edit(
        sidecar_path,
        "update notes set modified = strftime('%Y-%m-%d', 'now') where body like 'Second%'",
    )
    data = await call("search_notes", query="week", mode="keyword", recency=30, limit=1)
    assert "Second" in data["notes"][0]["snippet"]


@pytest.mark.parametrize(
    "changes",
    [
        ["tags set folded = 'clippings/web' where folded = 'cabin/repairs'"],
        ["tags set folded = 'clipped' where folded = 'cabin/repairs'"],
        ["sources set kind = 'slack'"],
        ["sources set kind = 'mail'"],
        ["notes set url = 'https://mail.google.com/mail/#all/1'"],
        ["sources set kind = 'evernote'", "notes set body = body || '\n\n<https://example.com/>'"],
    ],
)
async def test_text_that_others_wrote_is_marked(call, sidecar_path, changes):
    edit(sidecar_path, "update sources set kind = 'evernote'")
    [note] = (await call("search_notes", query="flashing", limit=1))["notes"]
    assert "outside" not in note
    for change in changes:
        edit(sidecar_path, f"update {change}")
    [note] = (await call("search_notes", query="flashing", limit=1))["notes"]
    assert note["outside"] is True
    text = await call("get_notes", ids=[note["id"]], text=True)
    assert text.startswith(f'# "Cabin roof" (id {note["id"]}, from outside: others wrote it)')


async def test_agents_read_what_a_source_is_about(call, sidecar_path, tmp_path):
    file = tmp_path / "bear-search.yaml"
    with closing(sqlite3.connect(sidecar_path)) as db:
        [(location,)] = db.execute("select location from sources")
    about = "Everything about the cabin since 2019."
    file.write_text(json.dumps({"sources": [{"location": location, "about": about}]}))
    edit(sidecar_path, "update sources set config_file = ?", str(file))
    data = await call("search_notes", query="flashing", limit=1)
    assert data["about"] == {"bear": about}
    assert data["notes"][0]["source"] == "bear"
    assert (await call("library_status"))["about"] == {"bear": about}
    assert about in await call("get_notes", ids=[data["notes"][0]["id"]], text=True)
    file.write_text("sources: [")
    assert "about" not in await call("search_notes", query="flashing", limit=1)
