"""Who may search: all of our URLs × all ways to restrict a Datasette × all users.

Everything here runs on both Datasettes.

Tests ``web/requests/databases.py``, ``web/requests/settings.py`` and ``web/requests/views.py``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from datasette import hookimpl
from datasette.app import Datasette
from datasette.plugins import pm

import datasette_bear_search
from datasette_bear_search.agents.tools import TOOLS
from datasette_bear_search.embeddings import registry
from datasette_bear_search.index.file import database
from datasette_bear_search.index.run import indexer
from datasette_bear_search.index.watch import Activity
from datasette_bear_search.search import sql_search
from datasette_bear_search.sources.base import SourceConfig
from datasette_bear_search.web.datasette import metadata
from datasette_bear_search.web.pages.note import PREVIEW_HEADER
from datasette_bear_search.web.pipeline import FIRST_RESULTS_HEADER
from datasette_bear_search.web.requests import errors, freshness
from datasette_bear_search.web.requests import settings as plugin_settings
from tests.support import attached
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import bear_library
from tests.support.datasettes import IS_1_0, configured, cookies
from tests.support.tiny_embedder import TINY, TinyEmbedder

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio(loop_scope="module")]

SECRET = "zanzibar"
NOTE = BearNote(f"# Plan {SECRET}\n#{SECRET}tag\n\nTo {SECRET} in May. [[Roof]]",
tags=(f"{SECRET}tag",), files=(BearFile("plan.svg"),))  # fmt: skip
OWNER = "owner"
BEFORE_1_0 = pytest.mark.skipif(IS_1_0, reason="as Datasette before 1.0 does it")

AGENT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
JUDGMENT = f"search=q%3D{SECRET}&source=bear&key=K&grade=1"


class Row(NamedTuple):
    """A request, and the response for somebody who may search the notes."""

    path: str
    status: int = 200
    shows: str = SECRET  # part of the response
    method: str = "GET"
    content: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - of a tuple, never changed

    @property
    def name(self) -> str:
        return f"{self.method} {self.path} {self.content or ''}".strip()


def tool(name: str, **arguments) -> Row:
    """Return the row for a call of an MCP tool."""
    call = {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
    shows = {"library_status": "searched", "new_note": "bear://"}.get(name, SECRET)
    return agent(call, shows)


def agent(message: dict, shows: str) -> Row:
    content = json.dumps({"jsonrpc": "2.0", "id": 1, **message})
    return Row("/-/bear-search/mcp", 200, shows, "POST", content, AGENT)


def sql(statement: str, shows: str) -> Row:
    """Return the row for a statement on Datasette's SQL page, whose permission decides."""
    path = "/notes/-/query.json" if IS_1_0 else "/notes.json"
    return Row(f"{path}?{urlencode({'sql': statement, '_shape': 'objects'})}", shows=shows)


# All of our URLs. The first test fails if a route, stored query, tool or SQL function that finds
# notes has no row here.
OURS = (
    Row("/-/bear-search"),
    Row(f"/-/bear-search?q={SECRET}"),
    Row(f"/-/bear-search?q={SECRET}", headers={FIRST_RESULTS_HEADER: "1"}),
    Row(f"/-/bear-search.json?q={SECRET}&_facets=1"),
    Row(f"/-/bear-search.csv?q={SECRET}"),
    Row(f"/-/bear-search.csv?q={SECRET}&_stream=on"),
    Row("/-/bear-search/nonsense", 404, "no such page"),
    Row("/-/bear-search/nonsense.json", 404, "no such page"),
    Row("/-/bear-search?mode=nonsense", 400, "nonsense"),
    Row("/-/bear-search.json?mode=nonsense", 400, "nonsense"),
    Row(f"/-/bear-search/suggest.json?q={SECRET[:4]}"),
    Row("/-/bear-search/suggest.json?q=tag:"),
    Row("/-/bear-search/status.json", shows="sources"),
    Row("/-/bear-search/openapi.json", shows='"openapi"'),
    Row("/-/bear-search.json?tags=x", 400, "Did you mean tag?"),
    Row(f"/-/bear-search.json?q={SECRET}", 200, "", "HEAD"),
    Row(f"/-/bear-search.json?q={SECRET}", 405, "not allowed", "PUT", "", FORM),
    Row(f"/notes/-/bear-search?q={SECRET}"),
    Row(f"/notes/-/bear-search.json?q={SECRET}&_shape=array"),
    Row("/notes/-/bear-search/note/1"),
    Row("/notes/-/bear-search/mcp", 405, "POST"),
    Row("/-/bear-search/note/1"),
    Row("/-/bear-search/note/1.json"),
    Row("/-/bear-search/note/1.md"),
    Row("/-/bear-search/note/1", headers={PREVIEW_HEADER: "1"}),
    Row(f"/-/bear-search/note/1?q={SECRET}&step=next", 302, ""),
    Row("/-/bear-search/note/999", 404, "not in the index"),
    Row("/-/bear-search/note/999.json", 404, "not in the index"),
    Row("/-/bear-search/note?source=bear&key=none", 404, "not in the index"),
    Row("/-/bear-search/similar.json?path=/none", 404, "not in the index"),
    Row("/-/bear-search/similar/1"),
    Row("/-/bear-search/similar/1.json"),
    Row("/-/bear-search/similar/999.json", 404, "not in the index"),
    Row("/-/bear-search/file/1", shows="<svg"),
    Row("/-/bear-search/file/999", 404, "not in the index"),
    Row("/-/bear-search/update", shows="2 notes"),
    Row("/-/bear-search/update", 404, "never writes", "POST", "", FORM),
    Row("/-/bear-search/save", 405, "Method not allowed"),
    Row("/-/bear-search/save", 404, "bear-serve can save", "POST", "", FORM),
    Row("/-/bear-search/judge", 405, "Method not allowed"),
    Row("/-/bear-search/judge", 303, "", "POST", JUDGMENT, FORM),
    Row("/-/bear-search/mcp", 405, "POST"),
    agent({"method": "tools/list", "params": {}}, "search_notes"),
    tool("search_notes", query=SECRET),
    tool("get_notes", ids=[1]),
    tool("similar_notes", id=1),
    tool("list_tags"),
    tool("library_status"),
    tool("new_note", title="x"),
)
QUERY_PAGES = (
    Row(f"/notes/bear_search?q={SECRET}"),
    Row("/notes/bear_similar?id=1", shows="Roof"),
)
QUERIES_AS_JSON = (
    Row(f"/notes/bear_search.json?_shape=objects&q={SECRET}"),
    Row("/notes/bear_similar.json?_shape=objects&id=1", shows='"title": "Roof"'),
)
QUERIES = QUERY_PAGES + QUERIES_AS_JSON
# Datasette's own pages that show something of ours, but only to those who may search.
ELSEWHERE = (
    Row("/", shows='placeholder="Search notes"'),
    Row("/notes/notes", shows='placeholder="Search notes"'),
    Row("/notes", shows='"/-/bear-search"'),
    *([Row(f"/-/jump.json?q={SECRET}")] if IS_1_0 else []),
)
STATEMENTS = (
    sql(f"select bear_search('{SECRET}')", '\\"id\\": 1'),
    sql("select bear_similar(1)", '\\"id\\": 2'),
)
# Datasette's own pages of the notes, whose permissions decide about ours.
DATABASE_PAGE, NOTE_PAGE = Row("/notes.json"), Row("/notes/notes/1.json")
SQL_PAGE = sql("select title from notes", SECRET)

STRANGER, OWNER_ACTOR = {"id": "stranger"}, {"id": OWNER}
ACTORS: dict[str, dict | None] = {"anonymous": None, "stranger": STRANGER, OWNER: OWNER_ACTOR}
if IS_1_0:  # only 1.0 has restricted tokens
    queries = {name: ["view-query"] for name in metadata.STORED_QUERIES}
    restrictions: dict[str, dict] = {
        "notes": {"d": {"notes": ["view-database", "view-table"]}, "r": {"notes": queries}},
        "tags": {"d": {"notes": ["view-database"]}, "r": {"notes": {"tags": ["view-table"]}}},
        "the database alone": {"d": {"notes": ["view-database", "view-query"]}},
        "another database": {"d": {"other": ["view-database", "view-table", "bear-search"]}},
        "searching": {"d": {"notes": ["bear-search"]}, "r": {"notes": queries}},
    }
    ACTORS |= {
        f"token for {name}": OWNER_ACTOR | {"_r": each} for name, each in restrictions.items()
    }
OWNERS = {OWNER, "token for notes"}
EVERYBODY = OWNERS | {"anonymous", "stranger"}
# A token can be restricted to searching.
SEARCHERS = {"token for searching"}


class Configuration(NamedTuple):
    """A way to restrict access to a Datasette or a part of it."""

    sees: set[str]  # the actors who see the notes in Datasette's own pages
    config: dict = {}  # noqa: RUF012 - of a tuple, never changed
    searchers: set[str] | None = None  # who may search; None for those in ``sees``
    granted: str = ""  # an action that another plugin allows to everybody
    denied: str = ""  # an action that another plugin denies to everybody but the owner
    options: dict = {}  # noqa: RUF012


def _notes(**config) -> dict:
    return {"databases": {"notes": config}}


_OWNER = {"id": OWNER}
# The example in the documentation.
SEARCH_ONLY = _notes(
    allow_sql=_OWNER,
    permissions={"bear-search": True, "view-table": _OWNER, "view-database-download": _OWNER},
)
CONFIGURATIONS = {
    "open": Configuration(EVERYBODY),
    "instance": Configuration(OWNERS, {"allow": _OWNER}),
    "database": Configuration(OWNERS, _notes(allow=_OWNER)),
    "nobody": Configuration(set(), _notes(allow=False)),
    "table": Configuration(OWNERS, _notes(tables={"notes": {"allow": _OWNER}})),
    "table, no SQL": Configuration(
        OWNERS, _notes(tables={"notes": {"allow": _OWNER}}, allow_sql=False)
    ),
    "another table": Configuration(EVERYBODY, _notes(tables={"tags": {"allow": _OWNER}})),
    "open table in a closed database": Configuration(
        OWNERS, _notes(allow=_OWNER, tables={"notes": {"allow": True}})
    ),
    "queries open in a closed table": Configuration(
        OWNERS,
        _notes(
            tables={"notes": {"allow": _OWNER}},
            queries={"mine": {"sql": "select 1", "allow": True}},
        ),
    ),
    # In 1.0, only Datasette's first page requires it.
    "plugin denies view-instance": Configuration(
        EVERYBODY if IS_1_0 else OWNERS, denied="view-instance"
    ),
    "plugin denies view-database": Configuration(OWNERS, denied="view-database"),
    "plugin denies view-table": Configuration(OWNERS, denied="view-table"),
}
# The permission to search is granted or denied separately.
CONFIGURATIONS |= {
    "plugin opens the search alone": Configuration(
        OWNERS, denied="view-table", searchers=EVERYBODY, granted="bear-search"
    ),
    "plugin denies bear-search": Configuration(EVERYBODY, denied="bear-search", searchers=OWNERS),
}
if IS_1_0:
    CONFIGURATIONS |= {
        "default deny": Configuration(OWNERS, _notes(allow=_OWNER), options={"default_deny": True}),
        "the documentation's": Configuration(OWNERS, SEARCH_ONLY, searchers=EVERYBODY),
        "search open in a closed instance": Configuration(
            OWNERS,
            {"allow": _OWNER, **_notes(permissions={"bear-search": True, "view-query": True})},
            searchers=EVERYBODY,
        ),
        "search closed": Configuration(
            EVERYBODY, {"permissions": {"bear-search": _OWNER}}, searchers=OWNERS
        ),
        "search of the database closed": Configuration(
            EVERYBODY, _notes(permissions={"bear-search": _OWNER}), searchers=OWNERS
        ),
    }

# Everybody, and only the owner, may request all of our URLs. (See requests_of.)
FULLY_TESTED = (CONFIGURATIONS["open"], CONFIGURATIONS["table"])
SHARES = 6 if IS_1_0 else 3  # no more than there are actors


class Denying:
    """A plugin that denies an action to everybody but the owner, as login plugins do."""

    __name__ = "denying"

    def __init__(self, denied: str, granted: str) -> None:
        self.denied, self.granted = denied, granted

    def denies(self, actor, action) -> bool:
        return action == self.denied and (actor or {}).get("id") != OWNER

    @hookimpl
    def permission_allowed(self, actor, action):
        return False if self.denies(actor, action) else action == self.granted or None

    @hookimpl
    def permission_resources_sql(self, actor, action):
        from datasette.permissions import PermissionSQL

        if action == self.granted:
            return PermissionSQL.allow(reason="everybody")
        return PermissionSQL.deny(reason="not the owner") if self.denies(actor, action) else []


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    """Index two notes."""
    folder = tmp_path_factory.mktemp("index")
    library = bear_library(folder / "bear.sqlite", [NOTE, BearNote("# Roof\n\nA roof.")])
    attached.local_file(library, "plan.svg", b"<svg/>")
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    source = SourceConfig(kind="bear", name="bear", location=str(folder / "bear.sqlite"))
    indexer.update(folder / "notes.db", [source], registry.get_embedder(TINY))
    return folder / "notes.db"


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def configuration(request) -> Configuration:
    return CONFIGURATIONS[request.param]


@pytest.fixture(scope="module")
def served(index, configuration, tmp_path_factory) -> Iterator[Datasette]:
    """Serve the index with this configuration, and with everything on that is off by default."""
    path = tmp_path_factory.mktemp("served") / "notes.db"
    shutil.copy(index, path)
    settings = {"judgments": True, "files": True, "mcp_hosts": ["localhost"]}
    config = configuration.config | {"plugins": {"datasette-bear-search": settings}}
    datasette = configured([path], config, **configuration.options)
    plugin = Denying(configuration.denied, configuration.granted)
    pm.register(plugin)
    yield datasette
    pm.unregister(plugin)


async def answer(datasette, row: Row, actor: dict | None):
    given, content = cookies(datasette, actor), row.content
    if "sec-fetch-site" in row.headers:
        token = datasette.sign("token", "csrftoken")
        given["ds_csrftoken"] = token
        content = f"{content}&csrftoken={token}".replace("key=K", await _key(datasette))
    return await datasette.client.request(
        row.method,
        row.path,
        content=content,
        headers={"host": "localhost", **row.headers},
        cookies=given,
    )


async def _key(datasette) -> str:
    [row] = await datasette.get_database("notes").execute("select key from notes where id = 1")
    return f"key={row[0]}"


async def wrong_answers(
    datasette, rows: Iterable[Row], actor: dict | None, sees: bool
) -> dict[str, Any]:
    """Return the rows with wrong responses; ``sees`` is whether the actor may search the notes."""
    wrong: dict[str, Any] = {}
    for row in rows:
        response = await answer(datasette, row, actor)
        # Others mustn't learn anything. The typed text may be returned, but no other words.
        told = [
            word for word in ("in May", "Plan", f"{SECRET}tag", "Roof") if word in response.text
        ]
        if sees and (response.status_code != row.status or row.shows not in response.text):
            wrong[row.name] = response.status_code, response.text[:300]
        # Anonymous agents are asked to sign in.
        refused = 401 if row.path.endswith("/mcp") and actor is None else 403
        if not sees and (response.status_code != refused or told):
            wrong[row.name] = response.status_code, told
    return wrong


async def test_every_route_that_shows_notes_is_in_the_table(index):
    paths = {row.path.partition("?")[0] for row in OURS}
    patterns = [pattern for pattern, _ in datasette_bear_search.register_routes()]
    patterns = [pattern for pattern in patterns if "/static/" not in pattern]
    for pattern in patterns:
        matching = [path for path in paths if re.match(pattern, path)]
        assert matching, f"{pattern} has no row in the table above"
        if "format" in pattern:
            assert any(path.endswith(".json") for path in matching)
            assert any(not path.endswith(".json") for path in matching)
    for path in paths:
        assert any(re.match(pattern, path) for pattern in patterns), path
    known = " ".join(row.name for row in (*OURS, *QUERIES, *STATEMENTS))
    for name in TOOLS:
        assert f'"{name.name}"' in known, f"the tool {name.name} has no row in the table above"
    for name in metadata.STORED_QUERIES:
        for ending in ("?", ".json?"):
            assert f"/notes/{name}{ending}" in known, f"the query {name} has no row"
    with closing(database.connect(index)) as connection:
        sql_search.register_search(connection)
        listed = connection.execute("select name from pragma_function_list where name like 'bear%'")
        for [name] in listed.fetchall():
            assert f"select+{name}" in known, f"the SQL function {name} has no row"


def requests_of(actor: str, configuration: Configuration) -> tuple[Sequence[Row], Sequence[Row]]:
    """Return the requests of ours that an actor makes with a configuration, and those elsewhere.

    One function decides for all of our URLs who may search. So one actor requests all of them with
    two configurations only: somebody who may see the notes, and somebody who may not. With the
    others, the actors share them, and each runs one of the queries, about which Datasette decides.
    """
    if actor in ("anonymous", OWNER) and configuration in FULLY_TESTED:
        return (*OURS, *QUERIES), ELSEWHERE
    place = [*CONFIGURATIONS.values()].index(configuration) + [*ACTORS].index(actor)
    shared, query = (*OURS, *QUERY_PAGES), QUERIES_AS_JSON[place % 2]
    return (query, *shared[place % SHARES :: SHARES]), [ELSEWHERE[place % len(ELSEWHERE)]]


async def test_every_url_is_requested_in_every_configuration():
    for name, configuration in CONFIGURATIONS.items():
        requests = [requests_of(actor, configuration) for actor in ACTORS]
        ours = {row.name for rows, _ in requests for row in rows}
        elsewhere = {row.name for _, rows in requests for row in rows}
        assert ours == {row.name for row in (*OURS, *QUERIES)}, name
        assert elsewhere == {row.name for row in ELSEWHERE}, name
    refused = FULLY_TESTED[1]
    assert OWNER in refused.sees
    assert "anonymous" not in refused.sees


@pytest.mark.parametrize("actor", ACTORS)
async def test_only_people_who_may_search_see_notes(served, configuration, actor):
    searchers = configuration.searchers
    searchers = configuration.sees if searchers is None else searchers
    searchers = searchers | SEARCHERS if OWNER in searchers else searchers
    in_datasette, sees = actor in configuration.sees, actor in searchers
    ours, elsewhere = requests_of(actor, configuration)
    actor, stored = ACTORS[actor], await _judgments(served)
    pages = [await answer(served, row, actor) for row in (DATABASE_PAGE, NOTE_PAGE)]
    assert in_datasette is all(page.status_code == 200 for page in pages), "Datasette's own pages"
    assert await wrong_answers(served, ours, actor, sees) == {}
    runs_sql = (await answer(served, SQL_PAGE, actor)).status_code == 200
    assert await wrong_answers(served, STATEMENTS, actor, runs_sql) == {}
    for row in elsewhere:
        page = await answer(served, row, actor)
        assert page.status_code != 200 or (row.shows in page.text) is sees, row.name
    assert sees or await _judgments(served) == stored


# Requests that change the index file. Users who don't see all of it can't make them.
WRITES = (
    Row("/-/bear-search/judge", 404, "judged", "POST", JUDGMENT, FORM),
    Row(
        "/-/bear-search/save",
        404,
        "bear-serve can save",
        "POST",
        f"search=q%3D{SECRET}&saved=1",
        FORM,
    ),
    Row("/-/bear-search/update", 404, "never writes", "POST", "", FORM),
)


@pytest.mark.parametrize("is_hidden", [False, True])
@pytest.mark.parametrize("configuration", ["plugin opens the search alone"], indirect=True)
async def test_people_who_may_not_see_all_notes_change_nothing(served, is_hidden, monkeypatch):
    updated: list[Sequence[str]] = []
    updater = SimpleNamespace(
        activity=Activity(),
        has_notes=1,
        update=updated.append,
        give_way=lambda: None,
    )
    monkeypatch.setitem(freshness.updaters, served, updater)
    settings = plugin_settings.config(served) | {"hidden_tags": ["none"] if is_hidden else []}
    monkeypatch.setattr(plugin_settings, "config", lambda datasette: settings)
    for row in WRITES:
        response = await answer(served, row, STRANGER)
        status, shows = (row.status, row.shows) if is_hidden else (303, "")
        assert (response.status_code, shows in response.text) == (status, True), row.name
    home = (await answer(served, Row("/-/bear-search"), STRANGER)).text
    for told in ("Update now", "Rate results", "Saved searches"):
        assert (told in home) is not is_hidden, told
    assert len(updated) == (not is_hidden)


@pytest.mark.parametrize("site_of_form", ["cross-site", "same-site"])
@pytest.mark.parametrize("configuration", ["plugin opens the search alone"], indirect=True)
async def test_form_of_another_website_is_refused_although_its_visitor_may_write(
    served, site_of_form
):
    stored = await _judgments(served)
    for row in WRITES:
        row = row._replace(headers=FORM | {"sec-fetch-site": site_of_form})
        response = await answer(served, row, OWNER_ACTOR)
        assert response.status_code == 403, row.path
        assert IS_1_0 or errors.CROSS_SITE in response.text  # 1.0 refuses such forms itself
    assert await _judgments(served) == stored


async def _judgments(datasette) -> int:
    found = await datasette.get_database("notes").execute("select count(*) from judgments")
    return found.first()[0]


@pytest.mark.parametrize("actor", [None, {"id": OWNER}])
@pytest.mark.parametrize("configuration", ["database"], indirect=True)
async def test_json_is_never_taken_for_a_page(served, actor):
    for row in OURS:
        if ".json" in row.path:
            response = await answer(served, row, actor)
            assert response.headers["content-type"].startswith("application/json")
            assert response.headers["x-content-type-options"] == "nosniff"


# SQLite's names have no case. Datasette before 1.0 takes that into account.
@pytest.mark.parametrize("notes", ["notes", pytest.param("Notes", marks=BEFORE_1_0)])
@pytest.mark.parametrize("actor", [None, {"id": "stranger"}, {"id": OWNER}])
async def test_whoever_may_not_view_the_notes_sees_no_table_made_from_them(index, actor, notes):
    tables = {notes: {"allow": {"id": OWNER}}, "tags": {"allow": True}}
    datasette = configured([index], {"databases": {"notes": {"tables": tables}}})
    await datasette.invoke_startup()
    names = await datasette.get_database("notes").table_names()
    shown = set()
    for name in names:
        page = Row(f"/notes/{name}.json")
        if (await answer(datasette, page, actor)).status_code == 200:
            shown.add(name)
    if actor == {"id": OWNER}:
        assert shown >= {"notes", "passages", "tags", "links", "meta"}
    else:
        assert shown == {"tags"}


@BEFORE_1_0
async def test_a_plugin_that_closes_the_notes_closes_the_tables_made_from_them(index):
    class Closing:
        @staticmethod
        @hookimpl
        def permission_allowed(action, resource):
            return False if (action, resource) == ("view-table", ("notes", "notes")) else None

    datasette = configured([index], {})
    await datasette.invoke_startup()
    row = Row("/notes/notes_fts.json")
    assert (await answer(datasette, row, None)).status_code == 200
    pm.register(plugin := Closing())
    try:
        assert (await answer(datasette, row, None)).status_code == 403
    finally:
        pm.unregister(plugin)


@pytest.mark.skipif(not IS_1_0, reason="before Datasette 1.0, tokens can't be restricted")
async def test_a_token_for_one_table_shows_that_table(index):
    datasette = configured([index], {"databases": {"notes": {"allow": {"id": OWNER}}}})
    await datasette.invoke_startup()
    token = {"id": OWNER, "_r": {"d": {"notes": ["vd"]}, "r": {"notes": {"tags": ["vt"]}}}}
    pages = [
        await answer(datasette, Row(f"/notes/{each}.json"), token) for each in ("tags", "links")
    ]
    assert [page.status_code for page in pages] == [200, 403]
