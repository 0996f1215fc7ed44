"""SQL in every parameter of every URL is treated as text.

Everything here runs on both Datasettes, with fewer texts on the second: we bind what is typed.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
from pathlib import Path

import pytest
from datasette.app import Datasette

from datasette_bear_search.embeddings import registry
from datasette_bear_search.index.run import indexer
from datasette_bear_search.query import filter_values, filters, query
from datasette_bear_search.search import request
from datasette_bear_search.sources.base import SourceConfig
from datasette_bear_search.web.api import endpoints, judgments, openapi
from datasette_bear_search.web.pages import form, note, search, similar, urls
from datasette_bear_search.web.requests import responses, views
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library
from tests.support.datasettes import IS_1_0
from tests.support.tiny_embedder import TINY, TinyEmbedder

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

PAYLOADS = (
    "'", '"', "`", "\\", ";", "--", "/*", "')", "'))--", "%", "%27", "_", "\0",
    "x\0'; drop table notes;--",
    "' or '1'='1", "' or 1=1--", "1 or 1=1", "1; drop table notes", "'; drop table notes; --",
    "1) or (1=1",
    "') union select sql from sqlite_master--", "' union select load_extension('x')--", ":q", "?",
    "?1", "@x", "$x", "::q",
    "' || (select body from notes) || '", "1 and randomblob(1000000000)", "x' collate nocase--",
    "{}", "%s", "{0}",
    '" OR "1"="1', '"a" NEAR("b"', "title:x", "{title body}: x", "^x", "x*", "notes_fts",
    "* OR rank", "a AND", "NEAR(",
    "(" * 200, '"' * 201, "NOT " * 100, "9" * 400, "-1", "1e309", "0x10", "‮", "\\u0000", "\ud83d",
    "[1,2]", '{"$ne": 1}',
)  # fmt: skip

EVERY = 3 if IS_1_0 else 1

# The modules that read parameters.
READERS = (
    request, filter_values, urls, search, form, note, similar, endpoints, judgments, openapi, views,
    responses,
)  # fmt: skip


def read_parameters() -> set[str]:
    """Return the names of all parameters that our pages read.

    They are taken from the code, so that new ones are tested, too.
    """
    names = {*filters.FILTERS, *form.SELECTS, *form.HIDDEN_FIELDS, *urls.OF_ONE_LIST}
    names |= {name for row in filters.FILTERS.values() for name in row.parameters}
    for module in READERS:
        for call in ast.walk(ast.parse(inspect.getsource(module))):
            if not isinstance(call, ast.Call):
                continue
            if not isinstance(call.func, (ast.Attribute, ast.Name)):
                continue
            source = ast.unparse(call.func)
            texts = [
                argument.value
                for argument in call.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            ]
            is_reading = re.search(
                r"(args|arguments)\.(get|getlist)$|^(_first|_read_choice|_read_fraction|read_number)$"
                r"|(urls|self)\.values?$",
                source,
            )
            if is_reading and texts:
                names.add(texts[0])
    return names


PATHS = (
    "/-/bear-search", "/-/bear-search.json", "/-/bear-search/suggest.json", "/-/bear-search/note/1",
    "/-/bear-search/note/1.json", "/-/bear-search/similar/1", "/-/bear-search/similar/1.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    notes = [
        BearNote("# Roof\n#work\n\nThe roof leaks. [[Soup]]", tags=("work/o'brien",)),
        BearNote("# Soup\n\nWith lentils."),
        BearNote("# Bank codes", encrypted=True),
    ]
    bear_library(folder / "bear.sqlite", notes)
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    source = SourceConfig(kind="bear", name="bear", location=str(folder / "bear.sqlite"))
    indexer.update(folder / "notes.db", [source], registry.get_embedder(TINY))
    return folder / "notes.db"


def contents(path: Path) -> str:
    """Return a hash of the whole index file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_the_parameters_are_found_in_the_code():
    assert read_parameters() >= {
        "q", "mode", "tag", "source", "has", "pinned", "created_after", "modified_before", "sort",
        "fusion", "rerank",
        "balance", "recency", "correct", "_size", "_next", "_facets", "passage", "cursor",
    }  # fmt: skip


async def test_sql_in_a_parameter_is_text(index):
    datasette, before = Datasette([str(index)]), contents(index)
    failed = {}
    for number, name in enumerate(sorted(read_parameters())):
        # Parameters that are searched for get all payloads, each other one a different twelfth.
        tried = PAYLOADS if name in ("q", "tag") else PAYLOADS[number % 12 :: 12]
        for place, payload in enumerate(tried[number % EVERY :: EVERY]):
            path = PATHS[(number + place) % len(PATHS)]
            given = {"q": "roof", name: payload.encode(errors="replace").decode()}
            response = await datasette.client.get(path, params=given)
            if response.status_code not in (200, 400):
                failed[path, name, payload] = response.status_code
    assert failed == {}
    assert contents(index) == before


async def test_sql_in_an_operator_and_in_the_address_is_text(index):
    datasette, before = Datasette([str(index)]), contents(index)
    failed = {}
    for number, payload in enumerate(PAYLOADS[::EVERY]):
        text = payload.encode(errors="replace").decode()
        quoted = " ".join(f'{name}:"{text}" -{name}:{text}' for name in query_operators())
        requests = (
            ("/-/bear-search.json", {"q": quoted}, (200,)),
            ("/-/bear-search/suggest.json", {"q": f"tag:{text}"}, (200,)),
            (f"/-/bear-search/note/{_in_path(text)}", {}, (200, 404)),
            (f"/-/bear-search/similar/{_in_path(text)}.json", {}, (200, 404)),
            ("/notes/bear_search.json", {"q": text}, (200,)),
            ("/notes/bear_similar.json", {"id": text}, (200,)),
            *([("/-/jump.json", {"q": text}, (200,))] if IS_1_0 else []),
        )
        for path, given, expected in requests[number % 2 :: 2]:
            response = await datasette.client.get(path, params=given)
            if response.status_code not in expected:
                failed[path, payload] = response.status_code, response.text[:300]
    assert failed == {}
    assert contents(index) == before


async def test_sql_in_what_agents_ask_is_text(index):
    datasette, before = Datasette([str(index)]), contents(index)
    for number, payload in enumerate(PAYLOADS[::EVERY]):
        calls = (
            ("search_notes", {"query": payload, "filters": {"tag": [payload]}}),
            ("search_notes", {"filters": {"source": [payload]}}),
            ("get_notes", {"titles": [payload]}),
            ("list_tags", {"under": payload}),
        )
        name, arguments = calls[number % 4]
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        response = await datasette.client.post(
            "/-/bear-search/mcp",
            content=json.dumps(message),
            headers={"accept": "application/json, text/event-stream",
            "content-type": "application/json", "host": "localhost"},
        )  # fmt: skip
        # A lone surrogate isn't valid JSON.
        expected = 400 if payload == "\ud83d" else 200
        assert response.status_code == expected, (name, payload, response.text)
        assert "Traceback" not in response.text
    assert contents(index) == before


async def test_typed_text_is_bound_and_never_part_of_a_statement():
    given = {
        name: [f"zanzibar{number}"]
        for number, name in enumerate(("tag", "source"))
    } | {"created_after": ["2024-05-01"]}  # fmt: skip
    text = (
        " ".join(f'{name}:"zanzibar-{name}"' for name in ("tag", "source", "linked-to"))
        + " zanzibar -zanzibarx -c++ in:title created:2024-05-31"
    )
    asked = query.parse(text, filters=filter_values.read_filters(given))
    conditions, values = asked.filters.conditions()
    assert "zanzibar" in json.dumps(values)
    for condition in conditions:
        assert "zanzibar" not in condition
        assert "2024" not in condition


def query_operators() -> tuple[str, ...]:
    from datasette_bear_search.query.filters import operators

    return tuple(operators())


def _in_path(text: str) -> str:
    return "".join(f"%{code:02X}" for code in text[:50].encode())
