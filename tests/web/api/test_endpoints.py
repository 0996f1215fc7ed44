"""The JSON API for clients of Datasette, its OpenAPI description, and several indexes.

Everything here runs on both Datasettes.

Tests ``search/results/json.py`` and ``web/api/openapi.py``.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from datasette.app import Datasette
from jsonschema import Draft202012Validator

from datasette_bear_search.search.engine import Pipeline
from datasette_bear_search.web.api import endpoints, openapi
from datasette_bear_search.web.api.openapi import SEARCH_PATH
from tests.support.agents import serving
from tests.support.bear_database import BearFile, BearNote, write_library
from tests.support.client import get
from tests.support.datasettes import IS_1_0, configured, cookies, indexed
from tests.support.docs import ROOT

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio(loop_scope="module")]

NOTES = [
    BearNote("# Cabin roof\n#cabin\n\nThe roof leaks. [[Roof of the shed]]", tags=("cabin",)),
    BearNote("# Roof of the shed\n\nIts roof is new.", files=(BearFile("roof.png"),)),
    BearNote("# Roofers\n#private\n\nThe zanzibar roofers owe me.", tags=("private",)),
]
SEARCH = "/-/bear-search.json?q=roof"


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("notes") / "bear.sqlite"
    write_library(library, NOTES)
    return indexed(library, "--no-semantic")


@pytest.fixture(scope="module")
def datasette(index) -> Datasette:
    return Datasette([str(index)], cors=True)


async def rows(datasette, query="", path=SEARCH):
    found = (await get(datasette, f"{path}{query}")).json()
    if isinstance(found, dict):
        found.pop("timing_ms", None)  # differs each time
    return found


async def error(datasette, path) -> str:
    return (await get(datasette, path, 400)).json()["error"]


# --- What Datasette's clients expect


async def test_rows_come_in_the_shapes_of_datasette(datasette):
    objects = await rows(datasette)
    ids = [row["id"] for row in objects["rows"]]
    assert len(ids) == 3
    assert await rows(datasette, "&_shape=objects") == objects
    assert await rows(datasette, "&_shape=array") == objects["rows"]
    assert await rows(datasette, "&_shape=arrayfirst") == ids
    assert await rows(datasette, "&_shape=object") == {
        str(row["id"]): row for row in objects["rows"]
    }
    arrays = await rows(datasette, "&_shape=arrays")
    assert arrays["rows"] == [[*row.values()] for row in objects["rows"]]
    assert "_shape must be one of objects, array" in await error(datasette, SEARCH + "&_shape=x")


async def test_only_the_keys_that_are_asked_for_come(datasette):
    found = await rows(datasette, "&_col=title&_col=page_url&_shape=array")
    assert found[0] == {
        "id": found[0]["id"],
        "title": found[0]["title"],
        "page_url": f"http://localhost/-/bear-search/note/{found[0]['id']}",
    }
    [without] = await rows(datasette, "&_nocol=passage&_nocol=id&_size=1&_shape=array")
    assert "passage" not in without
    assert {"id", "title"} <= without.keys()
    assert "_col must be one of id, " in await error(datasette, SEARCH + "&_col=nothing")
    similar = await rows(datasette, "?_col=title&_shape=array", "/-/bear-search/similar/1.json")
    assert [row.keys() for row in similar] == [{"id", "title"}]


async def test_the_next_page_is_in_a_header(datasette):
    response = await get(datasette, SEARCH + "&_size=2")
    url = response.json()["next_url"]
    assert response.headers["link"] == f'<{url}>; rel="next"'
    last = await get(datasette, url.removeprefix("http://localhost"))
    assert "link" not in last.headers
    assert len(last.json()["rows"]) == 1


async def test_rows_come_as_lines_of_json(datasette):
    response = await get(datasette, SEARCH + "&_shape=array&_nl=on")
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert lines == await rows(datasette, "&_shape=array")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


def table(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text))]


async def test_the_search_gives_a_table(datasette):
    response = await get(datasette, "/-/bear-search.csv?q=roof")
    found = (await rows(datasette))["rows"]
    shown = table(response.text)
    for name in ("title", "key", "page_url", "why"):
        assert [row[name] for row in shown] == [row[name] for row in found]
    assert {row["tags"] for row in shown} == {"cabin", "private", ""}
    assert "The roof leaks. Roof of the shed" in {row["text"] for row in shown}
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["access-control-allow-origin"] == "*"


async def test_a_table_is_paged_or_whole(datasette, monkeypatch):
    first = await get(datasette, "/-/bear-search.csv?q=roof&_size=1&_col=title&_header=off")
    titles = [row["title"] for row in (await rows(datasette))["rows"]]
    assert first.text.rstrip().partition(",")[2] == titles[0]
    [address] = re.findall(r'<http://localhost([^>]+)>; rel="next"', first.headers["link"])
    following = await get(datasette, address)
    assert [row[1] for row in csv.reader(io.StringIO(following.text))] == titles[1:2]
    monkeypatch.setattr(endpoints, "STREAMED", 2)
    whole = await get(datasette, "/-/bear-search.csv?q=roof&_size=1&_stream=on&_dl=on")
    assert len(table(whole.text)) == 3
    assert "link" not in whole.headers
    assert whole.headers["content-disposition"] == 'attachment; filename="notes.csv"'
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"


async def test_a_table_is_as_large_as_datasette_allows(index, monkeypatch):
    datasette = Datasette([str(index)], settings={"max_csv_mb": 1})
    columns = (*openapi.CSV_COLUMNS[:2], "text")
    await get(datasette, "/-/bear-search.csv?_stream=on")
    monkeypatch.setattr(openapi, "CSV_COLUMNS", columns * 20_000)
    cut = (await get(datasette, "/-/bear-search.csv")).text
    assert cut.endswith("CSV contains more than 1048576 bytes")
    assert len(cut) < 1_100_000


async def test_a_whole_table_is_sent_while_it_is_read(index, monkeypatch):
    events, respond = [], endpoints.respond

    async def read(*arguments, **options):
        events.append("read")
        return await respond(*arguments, **options)

    async def send(message):
        events.append("row" if message.get("body") else "border")

    monkeypatch.setattr(endpoints, "STREAMED", 1)
    monkeypatch.setattr(endpoints, "respond", read)
    query = b"q=roof&_stream=on&_col=key&_header=off"
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "headers": []}
    scope |= {"path": "/-/bear-search.csv", "raw_path": b"/-/bear-search.csv", "scheme": "http"}
    app = Datasette([str(index)]).app()
    await app(scope | {"query_string": query}, asyncio.Event().wait, send)
    assert events == ["read", "border", *["row", "read"] * 2, "row", "border"]


async def test_a_whole_table_needs_datasettes_permission(index):
    datasette = Datasette([str(index)], settings={"allow_csv_stream": False})
    assert "disabled" in await error(datasette, "/-/bear-search.csv?_stream=on")
    await get(datasette, "/-/bear-search.csv")


async def test_an_unknown_address_says_where_they_are_listed(datasette):
    for path in ("nope.json", "status", "suggest.jsonl", "note/1/2.json"):
        response = await get(datasette, f"/-/bear-search/{path}", 404)
        assert "There is no such page. /-/bear-search/openapi.json lists" in response.text
    answer = (await get(datasette, "/-/bear-search/nope.json", 404)).json()
    assert answer["errors"] == [answer["error"]]


async def test_the_stored_query_has_pages(datasette):
    async def titles(**more):
        params = {"q": "roof", "_shape": "array", **more}
        found = (await datasette.client.get("/notes/bear_search.json", params=params)).json()
        return [row["title"] for row in found]

    everything = await titles()
    assert len(everything) == 3
    assert await titles(size=1) == everything[:1]
    assert await titles(size=2, offset=1) == everything[1:]
    assert await titles(size="", offset="x") == everything


async def test_the_largest_page_is_max(datasette):
    assert len((await rows(datasette, "&_size=max"))["rows"]) == 3
    await get(datasette, "/-/bear-search?q=roof&_size=max")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (SEARCH + "&tgas=cabin", "There is no parameter 'tgas'. Did you mean tag?"),
        (SEARCH + "&tags=cabin", "There is no parameter 'tags'. Did you mean tag?"),
        (SEARCH + "&modified_afte=2024", "Did you mean modified_after?"),
        (SEARCH + "&zzz=1", "There are: q, mode"),
        ("/-/bear-search/similar/1.json?unlinkd=1", "Did you mean unlinked?"),
        ("/-/bear-search/similar/1.json?unlinked=no", "unlinked must be a number from 0 to 1"),
        ("/-/bear-search.csv?_stream=on&_next=20", "_next not allowed for CSV streaming"),
        ("/-/bear-search/suggest.json?query=r", "There is no parameter 'query'"),
        ("/-/bear-search/status.json?x=1", "There is no parameter 'x'. This address takes none."),
        ("/-/bear-search/note/1.json?x=1", "There are: q, passage."),
        (SEARCH + "&_extra=count", "There is no parameter '_extra'. All keys are returned"),
        (SEARCH + "&_facet=tags", "Use _facets=1."),
        (SEARCH + "&_facet_size=3", "Use _facets=1."),
        (SEARCH + "&_sort_desc=created", "Use sort."),
        (SEARCH + "&_where=1", "Use the filters."),
        ("/-/bear-search.csv?q=roof&_col=snippet", "_col must be one of id, title, text"),
        ("/-/bear-search.csv?q=roof&_shape=array&x=1", "There is no parameter 'x'"),
        ("/-/bear-search/note/1.json?passag=1", "Did you mean passage?"),
    ],
)
async def test_a_wrong_parameter_is_an_error_for_programs(datasette, path, message):
    assert message in await error(datasette, path)


async def test_a_size_of_0_gives_the_counts_alone(datasette):
    """As Datasette's tables do."""
    for search in ("?q=roof&_facets=1", "?q=roof&mode=like&_facets=1", "?sort=oldest&_facets=1"):
        address = f"/-/bear-search.json{search}"
        whole = (await get(datasette, address)).json()
        counted = (await get(datasette, f"{address}&_size=0")).json()
        assert counted["rows"] == []
        assert whole["rows"]
        assert counted["next"] is counted["next_url"] is None
        assert counted["facets"].keys() == whole["facets"].keys() != set()
        for name in ("total", "found", "notices"):
            assert counted[name] == whole[name]
    page = (await get(datasette, "/-/bear-search?q=roof&_size=0")).text
    assert 'class="bear-card"' not in page
    assert "No results" not in page
    csv_page = (await get(datasette, "/-/bear-search.csv?q=roof&_size=0&_header=off")).text
    assert csv_page == ""


async def test_parameters_of_datasette_and_of_the_page_are_accepted(datasette):
    assert await rows(datasette, "&_trace=1&_ttl=0&_nl=on")
    page = await get(datasette, "/-/bear-search?q=roof&utm_source=mail&fbclid=1&tags=old")
    assert "Cabin roof" in page.text
    # The page's link to its JSON works, too.
    [address] = re.findall(r'type="application/json\+datasette" href="([^"]+)"', page.text) or [
        re.search(r'href="([^"]+\.json[^"]*)"', page.text)[1]
    ]
    await get(datasette, address.replace("&amp;", "&").removeprefix("http://localhost"))


async def test_head_and_options_start_no_search(datasette, monkeypatch):
    monkeypatch.setattr(Pipeline, "plan", None)
    for path in (SEARCH, "/-/bear-search?q=roof"):
        head = await datasette.client.request("HEAD", path)
        assert (head.status_code, head.text) == (200, "")
        options = await datasette.client.request("OPTIONS", path)
        assert (options.status_code, options.text) == (200, "ok")
        assert options.headers["allow"] == "GET, HEAD, OPTIONS"
        assert options.headers["access-control-allow-origin"] == "*"
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            response = await datasette.client.request(method, path)
            assert response.status_code == 405
            assert response.headers["allow"] == "GET, HEAD"
    assert (await datasette.client.request("HEAD", "/-/bear-search/note/99")).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        SEARCH,
        "/-/bear-search?q=roof",
        "/-/bear-search?mode=x",
        "/-/bear-search/note/1",
        "/-/bear-search/note/1.json",
        "/-/bear-search/similar/1.json",
        "/-/bear-search/suggest.json?q=r",
    ],
)
async def test_nothing_of_notes_is_kept_by_caches(datasette, path):
    for actor in (None, {"id": "anna"}):
        response = await datasette.client.get(path, cookies=cookies(datasette, actor))
        assert response.headers.get_list("cache-control") == ["private, no-store"]


# --- OpenAPI


async def test_the_description_of_the_api_is_that_of_the_code():
    shown = json.loads((ROOT / "docs" / "openapi.json").read_text())
    assert shown == json.loads(json.dumps(openapi.description())), (
        "docs/openapi.json is old: write json.dumps(openapi.description(), indent=1) into it"
    )
    assert ": null" not in json.dumps(shown)  # the rest of a text without quotation marks
    validator = pytest.importorskip("openapi_spec_validator", reason="needs the extra test")
    validator.OpenAPIV31SpecValidator(shown).validate()
    for name, schema in shown["components"]["schemas"].items():
        if "properties" in schema:
            assert schema["properties"].keys() - {*schema["required"]} <= {"facets"}, name
    for schema in shown["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    references = set(re.findall(r'"#/components/(\w+)/(\w+)"', json.dumps(shown)))
    assert all(name in shown["components"][kind] for kind, name in references)
    for path, methods in shown["paths"].items():
        names = [each["name"] for each in methods["get"]["parameters"] if each["in"] == "query"]
        assert len(names) == len(set(names)), path
        assert set(re.findall(r"\{(\w+)\}", path)) == {
            each["name"] for each in methods["get"]["parameters"] if each["in"] == "path"
        }


async def test_the_description_says_where_it_is_served(index):
    datasette = Datasette([str(index)], settings={"base_url": "/notes/"})
    response = await datasette.client.get("/notes/-/bear-search/openapi.json")
    assert response.json()["servers"] == [{"url": "http://localhost/notes"}]


def values(schema: dict[str, Any]) -> Iterator[str]:
    """Yield values that a parameter takes, including its bounds."""
    for each in schema.get("anyOf", [schema.get("items", schema)]):
        yield from each.get("enum", ())
        yield from (str(each[end]) for end in ("minimum", "maximum") if end in each)
        if "enum" not in each and "minimum" not in each:
            yield ""


async def test_the_api_accepts_and_returns_what_its_description_says(datasette):
    for path, methods in openapi.description()["paths"].items():
        operation, address = methods["get"], path.replace("{id}", "1")
        if not path.endswith(".json") or "302" in operation["responses"]:
            continue
        schema = whole(operation["responses"]["200"])["content"]["application/json"]["schema"]
        schema = schema.get("anyOf", [schema])[0]
        for parameter in operation["parameters"]:
            if parameter["in"] == "query":
                for value in values(parameter["schema"]):
                    if (parameter["name"], value) == ("_size", "1"):
                        continue
                    query = urlencode({"q": "roof", parameter["name"]: value})
                    takes_query = "q" in openapi.parameters(path.removeprefix(SEARCH_PATH))
                    query = query if takes_query else ""
                    response = await datasette.client.get(f"{address}?{query}")
                    assert response.status_code == 200, (path, query, response.text)
        answer = (await get(datasette, address)).json()
        assert answer["ok"] if "openapi" not in path else True
        missing = [*differences(schema, answer, path)]
        assert missing == []
    refused = whole(operation["responses"]["404"])["content"]["application/json"]["schema"]
    answer = (await get(datasette, "/-/bear-search/note/99.json", 404)).json()
    assert [*differences(refused, answer, "error")] == []


@pytest.mark.parametrize("path", [".json", "/similar/{id}.json"])
async def test_each_shape_is_described(datasette, path):
    described = openapi.description()
    answer = whole(described["paths"][SEARCH_PATH + path]["get"]["responses"]["200"])
    schemas = answer["content"]["application/json"]["schema"]["anyOf"]
    address = SEARCH_PATH + path.replace("{id}", "1")
    queries = [f"_shape={shape}" for shape in ("objects", "array", "object")]
    queries += ["_col=title", "_nocol=title&_shape=array", "_col=title&_shape=object"]
    queries += ["_shape=arrayfirst", "_shape=arrays"]
    for number, query in enumerate(queries):
        body = (await get(datasette, f"{address}?{query}")).json()
        valid = [
            Draft202012Validator({**each, "components": described["components"]}).is_valid(body)
            for each in schemas
        ]
        assert valid.index(True) == number, query


async def test_a_generated_client_searches(index, tmp_path):
    tools = os.environ.get("BEAR_SEARCH_CLIENT_GENERATOR")
    if not tools:
        pytest.skip("openapi-python-client isn't installed")
    environment = {**os.environ, "PYTHONPATH": f"{tools}:{tmp_path}", "PATH": os.environ["PATH"]}
    document = str(ROOT / "docs" / "openapi.json")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", document]
    command += ["--output-path", str(tmp_path / "notes_client"), "--meta", "none"]
    made = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "rror" not in made.stdout + made.stderr
    with serving(Datasette([str(index)])) as root:
        use = [sys.executable, "-c", USE_OF_CLIENT, root]
        used = subprocess.run(use, env=environment, capture_output=True, text=True)
    assert used.stdout.splitlines() == ["3", "private", "Cabin roof", "balance"], used.stderr


USE_OF_CLIENT = """
import sys
from notes_client import Client
from notes_client.api.default import note, search, similar, status, suggest
from notes_client.models import PartialRow, SearchFacets, SearchMode, SearchShape, SearchSort

client = Client(sys.argv[1])
options = {"mode": SearchMode.KEYWORD, "field_facets": SearchFacets("1")}
found = search.sync(client=client, q="roof", **options)
print(len(found.rows))
print(suggest.sync(client=client, q="tag:pri").suggestions[0].label.removeprefix("tag:").strip("#"))
print(note.sync(1, client=client).note.title)
assert similar.sync(1, client=client).note.id == 1
assert found.query.words == ["roof"] and found.facets and found.rows[0].passage
assert status.sync(client=client).index.notes == 3
[row] = search.sync(client=client, q="roof", field_col=["title"], field_size=1, **options).rows
assert isinstance(row, PartialRow) and row.additional_keys == ["title"]
arrays = search.sync(client=client, q="roof", field_shape=SearchShape.ARRAYS, **options)
assert isinstance(arrays.rows[0], list)
print(search.sync(client=client, q="roof", balance=7, sort=SearchSort.OLDEST).error.split()[0])
"""


def whole(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that a reference points to."""
    if "$ref" not in schema:
        return schema
    found: Any = openapi.description()
    for name in schema["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def differences(schema: dict[str, Any], value: Any, place: str) -> Iterator[str]:
    """Yield the places of keys that only the schema or only the value has; check the types."""
    schema = whole(schema)
    components = openapi.description()["components"]
    Draft202012Validator({**schema, "components": components}).validate(value)
    if "properties" in schema and value is not None:
        unlike = schema["properties"].keys() ^ value.keys()
        yield from (f"{place}.{name}" for name in unlike - {"facets"})
        for name in schema["properties"].keys() & value.keys():
            yield from differences(schema["properties"][name], value[name], f"{place}.{name}")
    if "items" in schema and isinstance(value, list):
        for each in value:
            yield from differences(schema["items"], each, f"{place}[]")


# --- Several index files


@pytest.fixture(scope="module")
def both(index, tmp_path_factory) -> list[Path]:
    library = tmp_path_factory.mktemp("work") / "bear.sqlite"
    write_library(library, [BearNote("# Office roof\n#desk\n\nA roof garden.", tags=("desk",))])
    work = indexed(library, "--no-semantic").rename(library.with_name("my work.db"))
    return [index, work]


WORK = "/my+work/-/bear-search"


async def test_each_index_has_its_page_and_json(both):
    datasette = Datasette([str(path) for path in both])
    found = await rows(datasette, path=f"{WORK}.json?q=roof")
    assert [row["title"] for row in found["rows"]] == ["Office roof"]
    assert len((await rows(datasette))["rows"]) == 3
    assert len((await rows(datasette, path="/notes/-/bear-search.json?q=roof"))["rows"]) == 3
    for path in (f"{WORK}?q=roof", f"{WORK}/note/1", f"{WORK}/similar/1", f"{WORK}?mode=x&q=roof"):
        page = await datasette.client.get(path)
        attributes = (
            r'(?:href|action|data-[a-z-]+)="(?:http://localhost)?([^"]*/-/bear-search[^"]*)"'
        )
        ours = {url for url in re.findall(attributes, page.text) if "/static/" not in url}
        assert any(url.startswith(WORK) for url in ours), path
        # Only the menu links to the other index.
        assert {url for url in ours if not url.startswith(WORK)} <= {"/-/bear-search"}, path
    row = (await rows(datasette, path=f"{WORK}.json?q=roof&_size=1"))["rows"][0]
    assert row["page_url"] == f"http://localhost{WORK}/note/1"
    assert (await get(datasette, f"{WORK}/status.json")).json()["index"]["notes"] == 1
    await get(datasette, "/nothing/-/bear-search.json", 404)
    await get(datasette, "/_memory/-/bear-search.json", 404)
    await get(datasette, "/nothing/-/bear-search", 404)


async def test_a_path_that_ends_like_ours_is_a_404(both, capfd):
    places = ("//evil", "/", "//[", "//evil:x/notes", "/notes/", "/a/b")
    with serving(Datasette([str(path) for path in both])) as root:
        for before, path in product(places, ("", ".json", "/note/1", "/status.json", "/mcp")):
            connection = HTTPConnection(root.removeprefix("http://"))
            connection.request("GET", f"{before}/-/bear-search{path}")
            assert connection.getresponse().status == 404, (before, path)
    assert "Traceback" not in capfd.readouterr().err


async def test_datasettes_pages_lead_to_the_right_index(both):
    datasette = Datasette([str(path) for path in both])
    start = (await get(datasette, "/")).text
    assert "Search notes in notes" in start
    assert f'href="{WORK}"' in start
    table = (await get(datasette, "/my+work/notes")).text
    assert f'href="{WORK}/note/1"' in table
    assert f'href="{WORK}?tag=desk"' in table
    assert 'href="/-/bear-search/note/1"' in (await get(datasette, "/notes/notes")).text
    found = await get(datasette, "/my+work/bear_search.json?q=roof&_shape=array")
    assert [row["title"] for row in found.json()] == ["Office roof"]


@pytest.mark.parametrize("actor", [None, "owner"])
async def test_each_index_has_its_own_permissions(both, actor):
    config = {"databases": {"my work": {"allow": {"id": "owner"}}}}
    datasette = configured(both, config)
    status = 200 if actor else 403
    await get(datasette, SEARCH, actor=actor)
    await get(datasette, f"{WORK}.json?q=roof", status, actor=actor)
    await get(datasette, "/my+work/bear_search.json?q=roof", status, actor=actor)
    closed = configured(both, {"databases": {"notes": {"allow": {"id": "owner"}}}})
    await get(closed, SEARCH, status, actor=actor)
    await get(closed, f"{WORK}.json?q=roof", actor=actor)
    assert (f'href="{WORK}"' in (await get(closed, "/", actor=actor)).text) is True


# --- The permission to search, without SQL and tables


@pytest.mark.skipif(not IS_1_0, reason="Datasette before 1.0 has no permissions of plugins")
async def test_the_permission_to_search_circumvents_neither_redaction_nor_hidden_tags(
    tmp_path, index_notes
):
    pytest.importorskip("detect_secrets", reason="what finds secrets isn't installed")
    secret = "AKIAQ3EGRWBTXZSOV5JH"
    path = index_notes(
        [
            *NOTES[:2],
            BearNote("# Keys\n\n[[Roofers]] AWS key: " + secret),
            BearNote("# Roofers\n#private\n\nzanzibar roofers. [[Keys]]", tags=("private",)),
        ],
        "--no-semantic",
    )
    path = Path(shutil.copy(path, tmp_path / "notes.db"))
    page = (ROOT / "docs" / "permissions.md").read_text()
    config = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    datasette = configured([path], config)
    hidden = (await rows(datasette, "&tag=private"))["rows"]
    assert hidden == []
    addresses = [
        f"/-/bear-search{rest}"
        for rest in (
            ".json?q=keys+roof", "?q=zanzibar+roof+keys", "", ".json?sort=newest&_facets=1",
            ".json?q=zanziba", "/similar/3.json", "/similar/3", "/note/3", "/note/3.json",
            "/suggest.json?q=tag:", "/suggest.json?q=roofe", "/suggest.json?q=title:",
            "/status.json",
        )
    ]  # fmt: skip
    for address in addresses:
        text = (await get(datasette, address)).text
        assert secret not in text, address
        text = text.replace("[[Roofers]]", "").replace("q=zanzibar", "").replace('"zanzibar', "")
        owed = [word for word in ("zanzibar roofers", "private", "#private") if word in text]
        assert owed == [], address
        titles = re.findall(r'"(?:title|label)": "Roofers"', text)
        assert titles == [], address
    assert (await rows(datasette, path="/-/bear-search/status.json"))["index"]["notes"] == 3
    for gone in ("/note/4", "/note/4.json", "/note/4.md", "/similar/4.json"):
        await get(datasette, f"/-/bear-search{gone}", 404)
    named = f"/-/bear-search/note.json?{urlencode({'source': 'bear', 'key': 'none'})}"
    await get(datasette, named, 404)
    for closed in (
        "/notes/-/query.json?sql=select+1", "/notes/notes.json", "/notes/notes/4.json", "/notes.db",
        "/notes/bear_search.json?q=roof", "/notes/passages.json",
    ):  # fmt: skip
        assert (await datasette.client.get(closed)).status_code in (403, 404), closed
    assert "Roofers" not in (await get(datasette, "/-/jump.json?q=roofers")).text
    # The owner sees everything: masked in the search, and in full in tables.
    assert len((await get(datasette, SEARCH + "&tag=private", actor="owner")).json()["rows"]) == 1
    await get(datasette, "/notes/notes/4.json", actor="owner")
