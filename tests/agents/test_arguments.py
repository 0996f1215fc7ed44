"""Arguments as models write them, and what the tools make of them."""

from __future__ import annotations

import json

import pytest

from datasette_bear_search.agents import ToolError
from datasette_bear_search.agents.arguments import read_arguments
from datasette_bear_search.agents.tools import TOOLS

pytestmark = pytest.mark.asyncio
A_TO_DO = {"tag": ["a"], "has": ["todo", "image"]}
SCHEMAS = {tool.name: tool.input_schema["properties"] for tool in TOOLS}


@pytest.mark.parametrize(
    ("tool", "written", "meant"),
    [
        ("search_notes", {"q": "roof"}, {"query": "roof"}),
        ("search_notes", {"query": ["roof"]}, {"query": "roof"}),
        ("search_notes", {"maxResults": 7, "query": "x"}, {"limit": 7}),
        ("search_notes", {"top_k": "7", "query": "x"}, {"limit": 7}),
        ("search_notes", {"queries": '["a", "b"]'}, {"queries": ["a", "b"]}),
        ("search_notes", {"query": "x", "mode": "Keyword"}, {"mode": "keyword"}),
        ("search_notes", {"found_only": "no"}, {"found_only": False}),
        ("search_notes", {"tag": "cabin"}, {"filters": {"tag": ["cabin"]}}),
        ("search_notes", {"tags": ["cabin", "work"]}, {"filters": {"tag": ["cabin", "work"]}}),
        ("search_notes", {"filters": {"tags": "a"}}, {"filters": {"tag": ["a"]}}),
        (
            "search_notes",
            {"title": 2024, "tag": [2, "a"]},
            {"filters": {"title": ["2024"], "tag": ["2", "a"]}},
        ),
        ("search_notes", {"filters": {"folder": "a/b"}}, {"filters": {"path": ["a/b"]}}),
        ("search_notes", {"filters": '{"tag":"a"}'}, {"filters": {"tag": ["a"]}}),
        ("search_notes", {"filters": {"tag": '["a", "b"]'}}, {"filters": {"tag": ["a", "b"]}}),
        ("search_notes", {"filters": {"is": ["todo"]}}, {"filters": {"todo": [True]}}),
        ("search_notes", {"created_after": ["2024"]}, {"filters": {"created_after": ["2024"]}}),
        ("search_notes", {"since": "2024"}, {"filters": {"modified_after": ["2024"]}}),
        ("search_notes", {"createdAfter": "2024"}, {"filters": {"created_after": ["2024"]}}),
        (
            "search_notes",
            {"created": "2023..2024"},
            {"filters": {"created_after": ["2023"], "created_before": ["2024"]}},
        ),
        ("search_notes", {"modified": "2024.."}, {"filters": {"modified_after": ["2024"]}}),
        (
            "search_notes",
            {"tag": "a", "filters": {"pinned": True}},
            {"filters": {"tag": ["a"], "pinned": [True]}},
        ),
        ("get_notes", {"id": 51}, {"ids": [51]}),
        ("get_notes", {"ids": ["note://51"]}, {"ids": [51]}),
        ("get_notes", {"uri": "note://Cabin%20roof"}, {"ids": ["Cabin roof"]}),
        ("get_notes", {"ids": "51, 52"}, {"ids": [51, 52]}),
        ("get_notes", {"ids": "[51, 52]"}, {"ids": [51, 52]}),
        ("get_notes", {"ids": 51.0}, {"ids": [51]}),
        ("get_notes", {"title": "Cabin roof"}, {"titles": ["Cabin roof"]}),
        ("similar_notes", {"ids": [51]}, {"id": 51}),
        ("similar_notes", {"title": "Cabin roof"}, {"id": "Cabin roof"}),
        ("list_tags", {"tag": "work"}, {"under": "work"}),
        ("list_tags", {"parent_tag": "work"}, {"under": "work"}),
        ("search_notes", {"search_query": "roof", "num_results": 3}, {"query": "roof", "limit": 3}),
        ("search_notes", {"searchTerms": ["a", "b"]}, {"queries": ["a", "b"]}),
        ("search_notes", {"params": {"query": "a", "tag": "b"}}, {"filters": {"tag": ["b"]}}),
        (
            "search_notes",
            {"input": '{"query": "a", "tag": "b"}'},
            {"query": '{"query": "a", "tag": "b"}'},
        ),
        ("search_notes", {"arguments": '{"query": "a"}'}, {"query": "a"}),
        ("search_notes", {"query": {"text": "a"}}, {"query": "a"}),
        ("search_notes", {"query": {"value": "a"}}, {"query": "a"}),
        ("search_notes", {"queries": "['a', 'b']"}, {"queries": ["a", "b"]}),
        ("search_notes", {"limit": 2.7}, {"limit": 2}),
        ("search_notes", {"limit": [2]}, {"limit": 2}),
        ("search_notes", {"sort_order": "newest"}, {"sort": "newest"}),
        (
            "search_notes",
            {"filters": [{"tag": "a"}, {"has": "images"}]},
            {"filters": {"tag": ["a"], "has": ["images"]}},
        ),
        (
            "search_notes",
            {"where": {"and": [{"tag": "a"}, {"todo": True}]}},
            {"filters": {"tag": ["a"], "todo": [True]}},
        ),
        ("search_notes", {"filters": {"tag": {"$in": ["a"]}}}, {"filters": {"tag": ["a"]}}),
        ("search_notes", {"tags": "a, b c"}, {"filters": {"tag": ["a", "b c"]}}),
        (
            "search_notes",
            {"has_todos": True, "isPinned": True},
            {"filters": {"has": ["todos"], "pinned": [True]}},
        ),
        (
            "search_notes",
            {"filters": {"$and": [{"tag": "a"}, {"tag": "b"}], "tags": ["c"], "has_image": True}},
            {"filters": {"tag": ["a", "b", "c"], "has": ["image"]}},
        ),
        ("search_notes", {"tags[]": "a", "has": "todo, image"}, {"filters": A_TO_DO}),
        (
            "search_notes",
            {"tag_name": "a", "links_to": "B"},
            {"filters": {"tag": ["a"], "linked_to": ["B"]}},
        ),
        (
            "search_notes",
            {"filters": {"query": "a", "limit": 2, "tag": "b"}},
            {"query": "a", "limit": 2, "filters": {"tag": ["b"]}},
        ),
        (
            "search_notes",
            {"filters": "tag:a has=image"},
            {"filters": {"tag": ["a"], "has": ["image"]}},
        ),
        (
            "search_notes",
            {"recency": "30 days", "max_tokens": "1,000"},
            {"recency": 30, "max_tokens": 1000},
        ),
        ("search_notes", {"from": "bear"}, {"filters": {"source": ["bear"]}}),
        (
            "search_notes",
            {"from": "2024-01-05", "to": "2024"},
            {"filters": {"modified_after": ["2024-01-05"], "modified_before": ["2024"]}},
        ),
        (
            "search_notes",
            {"startDate": "2024", "date_to": "2025"},
            {"filters": {"modified_after": ["2024"], "modified_before": ["2025"]}},
        ),
        (
            "search_notes",
            {"created_at": {"gte": "2024", "lt": "2025"}},
            {"filters": {"created_after": ["2024"], "created_before": ["2025"]}},
        ),
        (
            "search_notes",
            {"filters": {"date_range": {"start": "2024"}}},
            {"filters": {"modified_after": ["2024"]}},
        ),
        (
            "search_notes",
            {"year": 2024},
            {"filters": {"modified_after": ["2024"], "modified_before": ["2024"]}},
        ),
        (
            "get_notes",
            {"notes": [{"id": 51, "title": "A"}, {"title": "B"}, None]},
            {"ids": [51, "B"]},
        ),
        ("get_notes", {"noteIds": [51]}, {"ids": [51]}),
        ("get_notes", {"ids": [51], "lines": [10, 20]}, {"lines": "10:20"}),
    ],
)
async def test_an_argument_is_read_as_it_is_meant(tool, written, meant):
    read, notices = read_arguments(tool, SCHEMAS[tool], written)
    assert {name: read[name] for name in meant} == meant
    assert not notices


@pytest.mark.parametrize("date", ["created", "modified"])
@pytest.mark.parametrize(
    "written",
    [
        {"{}_from": "2024", "{}_to": "2025"},
        {"{}StartDate": "2024", "{}EndDate": "2025"},
        {"{}_since": "2024", "until_{}": "2025"},
        {"{}_at": {"gte": "2024", "lt": "2025"}},
        {"filters": {"{}_range": {"start": "2024", "end": "2025"}}},
        {"{}_date": "2024..2025"},
        {"{}_range": "2024 to 2025"},
        {"{}": ["2024", "2025"]},
    ],
)
async def test_a_span_of_time_may_be_named_otherwise(date, written):
    named = json.loads(json.dumps(written).replace("{}", date))
    read, notices = read_arguments("search_notes", SCHEMAS["search_notes"], named)
    assert read["filters"] == {f"{date}_after": ["2024"], f"{date}_before": ["2025"]}
    assert not notices


@pytest.mark.parametrize(
    "written", [{"from": "2024-05-01", "to": 2024}, {"date": "2024-05-01..2024"}]
)
async def test_a_span_of_time_without_a_name_is_of_changes(written):
    read, _ = read_arguments("search_notes", SCHEMAS["search_notes"], written)
    assert read["filters"] == {"modified_after": ["2024-05-01"], "modified_before": ["2024"]}


@pytest.mark.parametrize(
    ("written", "limit"),
    [(500, 20), ("50", 20), (0, 1), (-3, 1), ("1" + "9" * 30, 20), ("9" * 5000, 5)],
)
async def test_a_number_out_of_range_is_changed_and_said(call, written, limit):
    read, [notice] = read_arguments("search_notes", SCHEMAS["search_notes"], {"limit": written})
    assert read["limit"] == limit
    assert notice == f"limit is from 1 to 20: {limit} was taken."
    data = await call("search_notes", query="roof", limit=written)
    assert data["notices"][0] == notice
    assert notice in await call("search_notes", query="roof", limit=written, text=True)


@pytest.mark.parametrize(
    "written",
    [
        {"or": [{"tag": "a"}, {"tag": "b"}]},
        {"query": "x", "$or": {"tag": "a", "pinned": True}},
        {"filters": {"any_of": [{"tag": "a"}, {"has": "image"}]}},
        {"filters": {"tag": {"$in": ["a", "b"]}}},
        {"tags_any": ["a", "b"]},
    ],
)
async def test_either_of_several_filters_is_never_read_as_both(written):
    with pytest.raises(ToolError, match="search once for each"):
        read_arguments("search_notes", SCHEMAS["search_notes"], written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"source": {"$in": ["a", "b"]}}, {"source": ["a", "b"]}),
        ({"tags_any": ["a"]}, {"tag": ["a"]}),
        ({"created_after": {"in": "2024"}}, {"created_after": ["2024"]}),
    ],
)
async def test_either_of_several_values_may_be_asked_for_where_any_counts(written, meant):
    read, _ = read_arguments("search_notes", SCHEMAS["search_notes"], written)
    assert read["filters"] == meant


@pytest.mark.parametrize(
    ("written", "taken", "notice"),
    [
        ({"sort": "title"}, {"sort": "relevance"}, "sort is one of relevance, newest, oldest: rel"),
        (
            {"sort": "-modified"},
            {"sort": "newest"},
            "sort is one of relevance, newest, oldest: new",
        ),
        (
            {"sort": "created asc"},
            {"sort": "oldest"},
            "sort is one of relevance, newest, oldest: o",
        ),
        ({"mode": "Full-text"}, {"mode": "keyword"}, "mode is one of auto, hybrid, keyword"),
        ({"detail": "brief"}, {"detail": "concise"}, "detail is one of concise, detailed: c"),
        ({"limit": "all"}, {"limit": 5}, "limit is from 1 to 20: 5 was taken."),
        ({"fuzzy": True, "query": "x"}, {"query": "x"}, "search_notes has no 'fuzzy'; that was ig"),
        ({"detail": "full"}, {"detail": "detailed"}, "detail is one of concise, detailed: d"),
        ({"mode": "psychic"}, {"mode": "auto"}, "mode is one of auto, hybrid, keyword"),
        ({"queries": list("abcdef")}, {"queries": list("abcde")}, "queries takes 5 at most: the"),
    ],
)
async def test_an_unknown_choice_is_replaced_and_said(written, taken, notice):
    read, [said] = read_arguments("search_notes", SCHEMAS["search_notes"], written)
    assert read | taken == read
    assert said.startswith(notice)


async def test_what_is_to_be_left_out_is_never_ignored(call):
    for written in (
        {"exclude_tags": ["cabin"]},
        {"tags": ["-cabin"]},
        {"not": {"tag": "cabin"}},
        {"filters": {"not": {"tag": "cabin"}}},
        {"filters": {"tag": {"$ne": "cabin"}}},
    ):
        assert "-tag:work" in await call("search_notes", query="roof", **written, fails=True)


@pytest.mark.parametrize(
    "name", ['"Cabin roof"', "Cabin roof (id {id})", "id {id}", "#{id}", "{url}", "[[Cabin  roof]]"]
)
async def test_a_note_is_named_as_the_tools_or_the_pages_name_it(call, name):
    [note] = (await call("get_notes", titles=["Cabin roof"], links=True))["notes"]
    named = name.format(**note)
    assert (await call("get_notes", ids=[named]))["notes"][0]["title"] == "Cabin roof"
    page = f"http://127.0.0.1:8001/base/-/bear-search/note/{note['id']}?q=roof"
    assert (await call("similar_notes", url=page))["title"] == "Cabin roof"


async def test_several_queries_may_be_sent_as_one():
    read, _ = read_arguments("search_notes", SCHEMAS["search_notes"], {"query": ["mice", "rats"]})
    assert (read["query"], read["queries"]) == ("", ["mice", "rats"])


async def test_arguments_of_a_tool_without_any_are_ignored(call):
    assert await call("library_status", verbose=True) == await call("library_status")


async def test_a_date_may_be_in_words(call):
    for words in ("two weeks ago", "last summer", "vor drei Monaten"):
        data = await call("search_notes", created_before=words, limit=20)
        assert data["total"] == 8
        assert not (await call("search_notes", filters={"created_after": words}))["notes"]


async def test_a_part_of_a_heading_names_its_section(call):
    for section in ("plan", "Plan for", "plan > who", "who"):
        data = await call("get_notes", titles=["Cabin roof"], section=section)
        assert data["notes"][0]["text"].startswith("##")


async def test_a_part_of_several_headings_names_them(call):
    text = await call("get_notes", titles=["Cabin roof"], section="o", fails=True)
    assert "Several sections" in text
