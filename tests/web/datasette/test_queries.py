"""The stored queries bear_search and bear_similar in Datasette's own pages and JSON.

Tests ``search/sql_search.py`` and ``web/datasette/metadata.py``.
"""

import time
from functools import partial

import pytest
from datasette.app import Datasette

from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.index.file import database as index_file
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day
from tests.support.client import get
from tests.support.datasettes import IS_1_0, configured, other_database
from tests.support.tiny_embedder import TINY, TinyEmbedder

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

NOTES = [
    BearNote("# Cabin roof\n#cabin/repairs\n\nThe roof leaks above the stove.",
    tags=("cabin/repairs",), created=day(1)),
    BearNote("# Lentil soup\n#recipes\n\nRed lentils, carrots, cumin.", tags=("recipes",),
             created=day(2)),
    BearNote("# Roof of the church\n\nA drawing of the roof in Évora.", created=day(3),
             pinned=True),
    BearNote("# Old plans\n\nA roof garden, never built.", tags=("cabin/repairs",), archived=True,
             created=day(4)),
    BearNote("# Bank codes", encrypted=True, created=day(6)),
]  # fmt: skip


@pytest.fixture
def index(index_notes):
    """Return a function that indexes the notes: ``index("--no-semantic")``."""
    return partial(index_notes, NOTES)


async def rows(datasette, query, **parameters) -> list[dict]:
    database = next(name for name in datasette.databases if not name.startswith("_"))
    path = str(datasette.urls.path(f"/{database}/{query}.json"))
    response = await datasette.client.get(path, params={**parameters, "_shape": "objects"})
    assert response.status_code == 200, response.text
    return response.json()["rows"]


async def warm(datasette):
    """Load the model, for which the page's JSON waits."""
    await get(datasette, "/-/bear-search.json?q=warm")


SEARCHES = [
    "roof",
    "the roof leaks",
    '"roof garden"',
    "roof -garden",
    "tag:cabin roof",
    "is:pinned",
    "created:2024-05-02",
    "garden AND roof",
    "rooof",
    "entil",
    "evora drawing",
    "cabin roof",
    "bank",
    "C++",
    "?!",
    "",
    "'; drop table notes; --",
]


async def test_the_stored_search_finds_what_the_page_finds_in_the_same_order(index):
    datasette = Datasette([str(index())])
    await warm(datasette)
    for query in SEARCHES:
        parameters = {"q": query, "_size": 50}
        response = await datasette.client.get("/-/bear-search.json", params=parameters)
        page = response.json()["rows"]
        found = await rows(datasette, "bear_search", q=query)
        assert [row["note_id"] for row in found] == [row["id"] for row in page], query
        for name in ("title", "keyword_rank", "semantic_rank", "similarity"):
            assert [row[name] for row in found] == [row[name] for row in page], query


async def test_a_row_has_the_words_that_were_found(index):
    datasette = Datasette([str(index())])
    await warm(datasette)
    row = (await rows(datasette, "bear_search", q="leaks stove"))[0]
    assert row["text"] == "The roof leaks above the stove."
    assert row["tags"] == '["cabin", "cabin/repairs"]'
    assert row["url"].startswith("bear://")
    assert row["notice"] is None


async def test_a_match_in_the_title_shows_the_beginning_of_the_text(index):
    datasette = Datasette([str(index())])
    [row] = await rows(datasette, "bear_search", q="lentil tag:recipes in:title")
    assert row["text"] == "Red lentils, carrots, cumin."


async def test_more_like_this_finds_what_its_page_finds(index):
    datasette = Datasette([str(index())])
    path = "/-/bear-search/similar/1.json"
    page = (await get(datasette, path)).json()["rows"]
    found = await rows(datasette, "bear_similar", id=1)
    assert [row["note_id"] for row in found] == [row["id"] for row in page] != []
    assert [row["reasons"] for row in found] == [" · ".join(row["reasons"]) for row in page]


@pytest.mark.parametrize("note", ["", "999", "0", "-1", "roof", "1.5", "9" * 30, "١"])
async def test_an_unknown_note_has_no_similar_notes(index, note):
    assert await rows(Datasette([str(index())]), "bear_similar", id=note) == []


# What is missing


async def test_without_vectors_the_query_finds_words_with_a_notice(index):
    datasette = Datasette([str(index("--no-semantic"))])
    found = await rows(datasette, "bear_search", q="roof")
    assert {row["title"] for row in found} == {"Cabin roof", "Roof of the church", "Old plans"}
    assert "by their words only" in found[0]["notice"]
    assert [row["notice"] for row in found[1:]] == [None, None]
    assert "datasette bear-index" in (await rows(datasette, "bear_similar", id=1))[0]["notice"]


async def test_while_the_model_loads_the_query_finds_words_with_a_notice(index):
    class Slow(TinyEmbedder):
        def open_model(self):
            time.sleep(0.5)
            return super().open_model()

    datasette = Datasette([str(index())])
    registry.register(TINY, lambda: Slow(TINY))
    first = (await rows(datasette, "bear_search", q="roof"))[0]
    assert first["semantic_rank"] is None
    assert "still loading" in first["notice"]
    registry.get_embedder(TINY).load()
    first = (await rows(datasette, "bear_search", q="roof"))[0]
    assert first["semantic_rank"]
    assert first["notice"] is None


async def test_without_its_model_the_query_finds_words_and_says_why(index):
    class Missing(TinyEmbedder):
        def open_model(self):
            raise ModelUnavailable("The model went on holiday.")

    datasette = Datasette([str(index())])
    registry.register(TINY, lambda: Missing(TINY))
    await rows(datasette, "bear_search", q="roof")
    with pytest.raises(ModelUnavailable):
        registry.get_embedder(TINY).load()
    first = (await rows(datasette, "bear_search", q="roof"))[0]
    assert first["keyword_rank"] == 1
    assert "The model went on holiday." in first["notice"]


async def test_a_correction_gives_a_notice(index):
    datasette = Datasette([str(index("--no-semantic"))])
    first = (await rows(datasette, "bear_search", q="lentls"))[0]
    assert first["title"] == "Lentil soup"
    assert "Searched for lentils instead of lentls." in first["notice"]
    first = (await rows(datasette, "bear_search", q="lintils soup"))[0]
    assert "Did you mean “lentils soup”?" in first["notice"]


@pytest.mark.parametrize("call", ["bear_search('roof')", "bear_similar(1)"])
async def test_a_query_that_reaches_the_time_limit_says_so(index, call, monkeypatch):
    path = index("--no-semantic")
    # Replace the search's statement by one that never ends in time.
    endless = (
        "with recursive n (i) as (select 1 union all select i + 1 from n) select max(i) from n"
    )
    monkeypatch.setattr(
        "datasette_bear_search.search.sql_search.found_notes",
        lambda db, *_, **__: db.execute(endless),
    )
    monkeypatch.setattr(
        "datasette_bear_search.search.sql_search.similar_notes",
        lambda db, *_, **__: db.execute(endless),
    )
    datasette = Datasette([str(path)], settings={"sql_time_limit_ms": 50})
    sql = f"select notes.title from json_each({call}) as found join notes on notes.id = found.value"
    response = await datasette.client.get(
        f"/{path.stem}/-/query.json" if IS_1_0 else f"/{path.stem}.json", params={"sql": sql}
    )
    assert response.status_code == 400
    assert "SQL query took too long" in response.text
    assert (await get(datasette, f"/{path.stem}/notes.json")).json()["rows"]


# In SQL


@pytest.fixture
def connection(index):
    with index_file.connect(index("--no-semantic")) as connection:
        from datasette_bear_search.search import connection as search_connection
        from datasette_bear_search.search import sql_search

        search_connection.register(connection)
        search_connection.register_embed(connection)
        sql_search.register_search(connection)
        yield connection


COUNTS = {
    "bear_search('roof')": 3,
    "bear_search('roof', 2)": 2,
    "bear_search('roof', 0)": 1,
    "bear_search('roof', null)": 3,
    "bear_search('roof', 'many')": 3,
    "bear_search('roof', 1e999)": 3,
    "bear_search('')": 5,
    "bear_search(7)": 0,
    "bear_search(x'ff00')": 0,
    "bear_search(null)": 0,
    "bear_similar(null)": 0,
    "bear_similar('1 ')": 1,
}


async def test_the_functions_accept_any_value(connection):
    counted = {
        call: connection.execute(f"select count(*) from json_each({call})").fetchone()[0]
        for call in COUNTS
    }
    assert counted == COUNTS


async def test_found_notes_can_be_joined_with_tables(connection):
    sql = """
        select tags.name
        from json_each(bear_search('leaks')) as found
        join note_tags on note_tags.note_id = json_extract(found.value, '$.id')
        join tags on tags.id = note_tags.tag_id
        order by tags.name
    """
    assert connection.execute(sql).fetchall() == [("cabin",), ("cabin/repairs",)]


# Who may run them, and where


@pytest.mark.parametrize(("actor", "status"), [(None, 403), ("stranger", 403), ("owner", 200)])
@pytest.mark.parametrize("query", ["bear_search", "bear_similar"])
async def test_only_people_who_may_view_the_database_may_run_stored_queries(
    index, query, actor, status
):
    path = index("--no-semantic")
    datasette = configured([path], {"databases": {path.stem: {"allow": {"id": "owner"}}}})
    for format_ in ("", ".json"):
        response = await get(datasette, f"/{path.stem}/{query}{format_}?q=roof&id=1", status, actor)
        assert ("Old plans" in response.text) is (status == 200)


async def test_stored_queries_need_no_permission_to_run_sql(index):
    path = index("--no-semantic")
    datasette = Datasette([str(path)], settings={"default_allow_sql": False})
    assert await rows(datasette, "bear_search", q="roof")


async def test_other_databases_have_no_such_queries(index, tmp_path):
    other = other_database(tmp_path / "other.db")
    datasette = Datasette([other, str(index("--no-semantic"))])
    await get(datasette, "/other/bear_search.json?q=roof", 404)
    assert (await get(datasette, "/other.json")).json()["queries"] == []


async def test_the_owner_s_own_query_of_that_name_stays(index):
    path = index("--no-semantic")
    own = {"databases": {path.stem: {"queries": {"bear_search": {"sql": "select 'mine'"}}}}}
    datasette = configured([path], own)
    for _ in range(2):
        assert await rows(datasette, "bear_search", q="roof") == [{"'mine'": "mine"}]
    assert await rows(datasette, "bear_similar", id="1") is not None


async def test_the_database_page_lists_stored_queries(index):
    path = index("--no-semantic")
    html = (await get(Datasette([str(path)]), f"/{path.stem}")).text
    assert f'href="/{path.stem}/bear_search"' in html
    assert f'href="/{path.stem}/bear_similar"' in html


async def test_a_function_that_fails_prints_no_traceback(index, capfd):
    sqlite3.enable_callback_tracebacks(True)  # as Datasette does when it is imported
    datasette = Datasette([str(index("--no-semantic"))])
    with pytest.raises(sqlite3.OperationalError):
        await datasette.get_database("notes").execute(
            "select decay('2024-01-01', 'days')", log_sql_errors=False
        )
    assert capfd.readouterr().err == "decay: the half-life must be days, not 'days'\n"
