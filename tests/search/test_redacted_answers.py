"""With redaction on, no secret is in any page, JSON, SQL function, suggestion, tool or output.

Tests ``cli/options.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from html import unescape
from urllib.parse import quote, unquote

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli
from mcp import Client

from datasette_bear_search.agents import AgentLibrary
from datasette_bear_search.agents.tools import call
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import Pipeline
from datasette_bear_search.search.planning import word_forms
from datasette_bear_search.search.redaction import masking
from datasette_bear_search.search.redaction.masking import MASK
from datasette_bear_search.search.request import SearchRequest
from tests.support.agents import bear_mcp, serving
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import day
from tests.support.datasettes import IS_1_0
from tests.support.secrets_in_notes import SECRETS, drawn

pytestmark = pytest.mark.asyncio

IN_TITLE = "gh" + "p_" + drawn(36)
IN_HEADING = "AI" + "za" + drawn(35)
IN_FILE = "gl" + "pat-" + drawn(20)
CARD = SECRETS["Visa"][1]
PASSWORD = SECRETS["Password:"][1]
KEY = SECRETS["private key"][1]
ALL = [IN_TITLE, IN_HEADING, IN_FILE, CARD, PASSWORD, *KEY.split("\n")[1:-1]]

NOTES = [
    BearNote(
        f"# Server {IN_TITLE}\n\nThe garden server in the shed.\n\n## Access {IN_HEADING}\n\n"
        f"It waters the tomatoes. Password: {PASSWORD}\n"
        f"The card for it is {CARD}, which is mine.\n\n{KEY}\n\n"
        "See [[Shed]].",
        tags=("garden",),
        files=(BearFile("photo.jpg", ocr=f"label {IN_FILE} on the box"),),
        created=day(1),
    ),
    BearNote(
        f"# Shed\n\nTomatoes and the garden server, see [[Server {IN_TITLE}]].",
        tags=("garden",),
        created=day(2),
    ),
]

# Queries that find the places where secrets are.
QUERIES = [
    "garden server",
    "tomatoes card mine",
    "label box",
    IN_TITLE,
    PASSWORD,
    KEY.split("\n")[2],
]


@pytest.fixture
def index(index_notes):
    return index_notes(NOTES)


def opened(index, **settings) -> Datasette:
    return Datasette([str(index)], metadata={"plugins": {"datasette-bear-search": settings}})


def leaked(text: str, asked: str = "") -> list[str]:
    """Return the parts of secrets in an answer, except for the query's, which pages repeat."""
    said = unescape(unquote(text)).replace("<mark>", "").replace("</mark>", "")
    said = said.replace("\\n", "\n").replace("**", "")
    secrets = [secret for secret in ALL if secret != asked]
    parts = {secret[at : at + 8] for secret in secrets for at in range(0, len(secret) - 7, 4)}
    return [part for part in parts if part in said]


async def answers(datasette: Datasette, index):
    """Yield every page and its JSON."""
    for query in QUERIES:
        for path in ("/-/bear-search.json?q=", "/-/bear-search?mode=keyword&q="):
            yield query, await datasette.client.get(path + quote(query))
    database = index.stem
    for path in (
        "/-/bear-search",
        "/-/bear-search.json?tag=garden",
        "/-/bear-search/note/1",
        "/-/bear-search/note/1.json",
        "/-/bear-search/note/1?q=garden&passage=2",
        "/-/bear-search/note/2",
        "/-/bear-search/similar/2",
        "/-/bear-search/similar/1.json",
        "/-/bear-search/suggest.json?q=server",
        "/-/bear-search/suggest.json?q=linked-to:ser",
        f"/{database}.json?_shape=array&sql="
        + quote("select bear_search('garden server') as found"),
        f"/{database}/-/query.json?sql=" + quote("select bear_search('garden server') as found"),
        *(["/-/jump.json?q=server"] if IS_1_0 else []),
    ):
        yield "", await datasette.client.get(path, follow_redirects=True)


@pytest.mark.datasette
async def test_no_page_and_no_json_has_a_secret(index):
    said = []
    async for asked, response in answers(opened(index, redact=True), index):
        said.append(response.status_code)
        assert leaked(response.text, asked) == [], response.url
        if asked and "json" in response.headers["content-type"]:
            assert leaked(json.dumps(response.json()["rows"], ensure_ascii=False)) == []
    assert said.count(200) >= len(said) - 1  # one of the SQL URLs is for the other Datasette


@pytest.mark.parametrize("query", QUERIES)
async def test_no_step_after_the_statement_has_a_secret(index, query):
    pipeline = Pipeline(SearchRequest(parse(query)), redact=True)
    with open_sidecar(index) as connection:
        pipeline.plan(connection)
        pipeline.embed()
        pipeline.retrieve(connection)
    assert leaked(str(pipeline.found.hits)) == []


@pytest.mark.datasette
async def test_a_password_below_a_title_that_tells_so_is_masked(index_notes):
    secret = "Quagmire" + "vexed&8"
    notes = [BearNote(f"# Wi-Fi password\n\n{secret}\n\nOf the shed."), *NOTES]
    index = index_notes(notes)
    for path in ("note/1", "note/1.json", ".json?q=shed+wi-fi", "?q=wi-fi", ".json?q=quagmirevex"):
        path = f"/-/bear-search/{path}".replace("/.", ".").replace("/?", "?")
        response = await opened(index, redact=True).client.get(path)
        assert "Of the shed" in response.text or "quag" in path
        assert "vexed&8" not in unescape(response.text).lower().replace("&amp;", "&")
        assert "quagmirevexed" not in response.text.lower()
    said = call(AgentLibrary(index, redact=True), "get_notes", {"ids": [1]})
    assert f"> {MASK * len(secret)}\n" in said.text


@pytest.mark.datasette
async def test_without_the_setting_pages_show_what_the_notes_say(index):
    text = ""
    async for _, response in answers(opened(index), index):
        text += response.text
    assert MASK not in text
    assert not [
        secret for secret in (IN_TITLE, IN_HEADING, IN_FILE, CARD, PASSWORD) if secret not in text
    ]


@pytest.mark.datasette
async def test_a_note_is_shown_as_before_but_for_its_secrets(index):
    path = "/-/bear-search/note/1.json"
    before = (await opened(index).client.get(path)).json()["note"]
    after = (await opened(index, redact=True).client.get(path)).json()["note"]
    assert len(after["body"]) == len(before["body"])
    assert after["body"].count("\n") == before["body"].count("\n")
    assert "It waters the tomatoes. Password: " + MASK * len(PASSWORD) in after["body"]
    assert [(p["start"], p["end"]) for p in after["passages"]] == [
        (p["start"], p["end"]) for p in before["passages"]
    ]
    assert after["url"] == before["url"]


@pytest.mark.datasette
async def test_masking_keeps_the_marks_of_matches_in_place(index):
    path = "/-/bear-search.json?mode=keyword&q=tomatoes+card"
    before = (await opened(index).client.get(path)).json()["rows"]
    after = (await opened(index, redact=True).client.get(path)).json()["rows"]
    assert [row["id"] for row in after] == [row["id"] for row in before]
    assert [row["snippet"].count("<mark>") for row in after] == [
        row["snippet"].count("<mark>") for row in before
    ]


CALLS = [
    *(("search_notes", {"query": query}) for query in QUERIES),
    ("get_notes", {"ids": [1, 2]}),
    ("get_notes", {"ids": [1], "lines": "9:12"}),
    ("get_notes", {"ids": [1], "section": "no such heading"}),
    ("get_notes", {"titles": ["Server"]}),
    ("similar_notes", {"id": 1}),
    ("similar_notes", {"id": 2}),
]


async def told(client: Client, calls: Sequence[tuple[str, dict]] = CALLS) -> str:
    """Return everything that an agent gets to read, without its own query."""
    said = []
    for name, arguments in calls:
        result = await client.call_tool(name, arguments)
        text = result.content[0].text + json.dumps(result.structured_content, ensure_ascii=False)
        said.append(text.replace(str(arguments.get("query")), ""))
    return "\n".join(said)


async def test_agents_are_told_no_secrets_by_default(index):
    async with Client(bear_mcp(index)) as client:
        said = await told(client)
    assert leaked(said) == []
    assert MASK in said


async def test_agents_are_told_all_if_the_person_says_so(index):
    async with Client(bear_mcp(index, "--no-redact")) as client:
        said = await told(client, CALLS[len(QUERIES) :])
    assert MASK not in said
    assert PASSWORD in said


@pytest.mark.datasette
async def test_agents_over_http_are_told_no_secrets_by_default(index):
    with serving(opened(index)) as address:
        async with Client(address + "/-/bear-search/mcp") as client:
            said = await told(client)
    assert leaked(said) == []
    with serving(opened(index, redact=False)) as address:
        async with Client(address + "/-/bear-search/mcp") as client:
            assert PASSWORD in await told(client, CALLS[len(QUERIES) :])


def in_terminal(index, *arguments: str, **environment: str) -> str:
    result = CliRunner(env=environment).invoke(
        cli, ["bear-search", "--sidecar", str(index), *arguments], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("garden server",),
        ("garden server", "--json"),
        ("--similar", "2"),
        ("--similar", "1", "--json"),
        ("garden server", "--explain"),
    ],
    ids=" ".join,
)
async def test_the_terminal_shows_no_secrets_if_asked_to(index, arguments):
    assert leaked(in_terminal(index, *arguments)) != []
    assert leaked(in_terminal(index, *arguments, "--redact")) == []
    assert leaked(in_terminal(index, *arguments, DATASETTE_BEAR_SEARCH_REDACT="1")) == []


# What the program itself adds: matches, corrections, completions, suggestions


def searches() -> dict[str, str]:
    """Return texts that a search would complete or correct to a word of a secret → that word."""
    found = {}
    for _, secret, _ in (*SECRETS.values(), *WORDY):
        words = [word for word in word_forms.unstemmed_words(secret) if len(word) >= 6]
        for word in words[:2]:
            last = "s" if word[-1] != "s" else "x"
            found |= {f"{word[:3]}*": word, word[:5]: word, word[:-1]: word, word[:-1] + last: word}
    return found


# Passwords made of words, to which mistyped words would be corrected.
WORDY = [
    ("Password: ", "Xylographically!7", ""),
    ("Password: ", "Brontosaurus#9", ""),
    ("my password: ", "Zebra99Stripe", ""),
    ("token: ", "Abz91kkQpLmn27xx", ""),
    ("Password:\n", "Quagmirevexed&8", "\n"),
    ("| Site | Password |\n|---|---|\n| x | ", "Zephyrous#31", " |"),
]
LEADING = [
    BearNote(
        f"# Entry {number}{f' {lead}{secret}' if number % 5 == 0 and is_line else ''}"
        f"\n\nAbout the garden.\n\n{lead}{secret}{rest}\n\nAnd more about it.",
        tags=("garden",),
        created=day(1 + number % 27),
    )
    for number, (lead, secret, rest) in enumerate([*SECRETS.values(), *WORDY])
    for is_line in ["\n" not in lead + secret]
]
FACES = (
    "/-/bear-search.json?q={}",
    "/-/bear-search?q={}",
    "/-/bear-search/suggest.json?q={}",
    "/{database}/bear_search.json?_shape=objects&q={}",
)


@pytest.mark.datasette
async def test_no_completion_or_correction_is_a_word_of_a_secret(index_notes):
    index = index_notes(LEADING, "--no-semantic")
    datasette, library = opened(index, redact=True), AgentLibrary(index, redact=True)

    async def answers(text: str, faces: Sequence[str] = FACES) -> dict[str, str]:
        said = {}
        for face in faces:
            path = face.format(quote(text), database=index.stem)
            response = await datasette.client.get(path)
            assert response.status_code == 200, path
            said[path] = unescape(unquote(response.text)).lower().replace(text, "")
        found = call(library, "search_notes", {"query": text})
        as_json = json.dumps(found.data, ensure_ascii=False)
        return said | {f"agent: {text}": f"{found.text} {as_json}".lower().replace(text, "")}

    # Words that are on every page, such as "private", aren't secret.
    said_anyway = " ".join((await answers("garden")).values())
    asked = searches()
    private = {word for word in asked.values() if word not in said_anyway}
    assert len(private) >= 50
    # A word has four texts. Masking doesn't depend on Datasette.
    asked_now = list(asked)[:: 12 if IS_1_0 else 3]
    said: dict[str, str] = {}
    # Each text in two of the interfaces, and to agents.
    for number, text in enumerate(asked_now):
        said |= await answers(text, FACES[(number + number // 4) % 2 :: 2])
    wrong = {name: [word for word in private if word in answer] for name, answer in said.items()}
    assert {name: told for name, told in wrong.items() if told} == {}
    assert len(said) >= (30 if IS_1_0 else 140)
    for text in ("garden xylographicaly", "garden brontosaurs", "tr0*"):
        for form in ("--json", "--explain"):
            answer = in_terminal(index, text, "--redact", form).lower().replace(text, "")
            assert [word for word in private if word in answer] == []


@pytest.mark.datasette
async def test_words_that_stand_outside_of_secrets_too_are_completed_and_corrected(index_notes):
    notes = [*LEADING, BearNote("# Museum\n\nThe brontosaurus is xylographically printed.")]
    datasette = opened(index_notes(notes, "--no-semantic"), redact=True)
    path = "/-/bear-search.json?q="
    query = (await datasette.client.get(path + "xylographicaly")).json()["query"]
    assert query["corrections"] == [{"typed": "xylographicaly", "searched": "xylographically"}]
    query = (await datasette.client.get(path + "bronto*")).json()["query"]
    assert '"brontosaurus"' in query["match"]


@pytest.mark.datasette
async def test_a_server_that_cannot_mask_does_not_start(index, monkeypatch):
    monkeypatch.setitem(sys.modules, "detect_secrets.core.plugins.util", None)
    masking._detectors.cache_clear()
    with pytest.raises(Exception, match=r"setting redact .* is on.*bear-search\[redact\]"):
        await opened(index, redact=True).invoke_startup()
