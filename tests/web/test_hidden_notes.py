"""What a person may not see changes nothing that this person gets.

Two libraries differ in hidden notes only. Every response to somebody who doesn't see these notes
has to be the same for both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from click.testing import CliRunner
from datasette import hookimpl
from datasette.app import Datasette
from datasette.cli import cli
from datasette.plugins import pm
from mcp import Client

from datasette_bear_search.agents import AgentLibrary, server
from datasette_bear_search.embeddings import registry
from tests.support.datasettes import IS_1_0, configured, cookies
from tests.support.docs import ROOT
from tests.support.note_folders import write_files
from tests.support.tiny_embedder import TINY, TinyEmbedder

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROWS = "\n".join(f"- item {number} of the usual list" for number in range(3))
VISIBLE = {
    "b-roof.md": "---\ntags: [cabin, roof]\n---\n# Roof\n\nThe roof leaks. Tar, slate. [[Stove]]",
    "d-stove.md": "---\ntags: [cabin]\npinned: true\n---\n# Stove\n\nAsh. [[Roof]] [[Clinic]]",
    "f-garden.md": "# Garden\n\nTomatoes in the greenhouse, beans outside. 2024-05-01 #garden/beds",
    "h-soup.md": "# Lentil soup\n\nRed lentils, carrots, cumin. See tomatoes and the diagnosis.",
    "j-list.md": f"# Packing\n\n{ROWS}\n\n- [ ] rope\n- [x] tent",
    "l-again.md": f"# Packing again\n\n{ROWS}\n\n- [ ] lamp ![](lamp.png)",
    "n-week.md": f"# Packing in winter\n\n{ROWS}\n\nSkis and wax. Über die Berge.",
    "p-winter.md": f"# Packing in spring\n\n{ROWS}\n\nBoots. id AB-1234.",
    "r-letter.md": "# Letter\n\nDear Anna, the train leaves at noon. https://example.com/roof",
    "t-idea.md": "# Idea\n\nA lamp made of an old bottle, for the cabin's table.",
}
PRIVATE = "---\ntags: [private/health, quxleytag]\naliases: [Zanz]\n---\n"
HIDDEN: tuple[dict[str, str], ...] = (
    {
        "a-first.md": f"{PRIVATE}# Clinic\n\nThe diagnosis: mesothelioma at the zanzibarium "
        "clinic. Doktor Quxley. Tomatoes! [[Roof]]",
        "g-more.md": f"{PRIVATE}# Packing for the clinic\n\n{ROWS}\n\ntrain leaves at dawn AB-1299",
        "k-more.md": f"{PRIVATE}# Roof\n\nroof roof roof leaks leaks lentils greenhouse " * 30,
        "z-last.md": f"{PRIVATE}# Zeppelin\n\nOne zeppelin, two zeppelins. 1999-12-31",
    },
    {},
)
# Words that only hidden notes have, beginnings and misspellings of them, and words of all notes.
QUERIES = [
    *"zan zanz zanzibarium zanzibarum mesotheliom mesothelioma quxley quxle quxl zep".split(),
    *"zeppelin roof leaks tomatoes lentils diagnosis clinic packing über carrot".split(),
    *"tomatos stov gardn lamp a the AB-1299 AB-1234 roo* tag:private tag:cabin tag:priv".split(),
    '"diagnosis mesothelioma"', '"train leaves at dawn"', '"train leaves at noon"', '"roof leaks"',
    "the diagnosis of mesothelioma at the zanzibarium clinic", "how do I stop the roof leaking",
    "tag:quxleytag", "-roof", "roof -zeppelin", "roof OR mesothelioma", "roof AND zeppelin",
    "title:clinic", "in:title zeppelin", "created:1999", "is:pinned", "has:image", "path:a-first",
    "NEAR(roof leaks)", "untagged:1", "linked:1", "similar to zeppelins", "", "1999-12-31", "clinc",
]  # fmt: skip
MODES = ("auto", "keyword", "semantic", "like")
NAMES = ("a-first.md", "b-roof.md", "z-last.md")
# Some of these notes are hidden in the first library, and not there in the second.
IDS = (1, 2, 5, 8, 9, 14)


def addresses() -> Iterable[str]:
    search = "/-/bear-search"
    # What is found doesn't depend on Datasette.
    for number, query in enumerate(QUERIES[::3] if IS_1_0 else QUERIES):
        # The first ones are words of hidden notes. Of the others, each has one mode in turn, and
        # every sixth a page, which shows what is in its JSON.
        for mode in MODES if number < 10 else MODES[number % 4 :][:1]:
            yield f"{search}.json?{urlencode({'q': query, 'mode': mode, '_facets': '1'})}"
        if number < 10 or number % 6 == 0:
            yield f"{search}?{urlencode({'q': query})}"
        yield f"{search}/suggest.json?{urlencode({'q': query})}"
    for rest in (
        "?q=roof&sort=newest", "?q=roof&sort=title&_facets=1", "?tag=private", "?tag=cabin",
        "?q=roof+tomatoes&fusion=rrf", "?q=roof&balance=0.2", "?q=roof&found=1", "?_size=3",
        "?q=roof&recency=30", "?source=a-first", "?q=roof&_next=2", "?q=roof&_shape=array",
    ):  # fmt: skip
        yield f"{search}.json{rest}"
        yield f"{search}.csv{rest}&_stream=on"
        yield f"{search}{rest}"
    for number in IDS:
        for page in ("note/{}", "note/{}.json", "note/{}.md", "similar/{}", "similar/{}.json"):
            yield f"{search}/{page.format(number)}"
        yield f"{search}/note/{number}?q=roof+zeppelin"
        yield f"{search}/file/{number}"
    for name in NAMES:
        yield f"{search}/note.json?{urlencode({'source': 'notes', 'key': name})}"
    for prefix in ("tag:", "title:", "source:", "in:", "zan", "Cli", "created:"):
        yield f"{search}/suggest.json?{urlencode({'q': prefix})}"
    yield from (search, f"{search}/status.json", f"{search}/openapi.json", f"{search}/update")
    yield from ("/", "/.json", "/notes", "/notes.json", "/notes/notes.json", "/notes/tags.json")
    yield from ("/notes/bear_search.json?q=zeppelin", "/notes/bear_similar.json?id=1", "/notes.db")
    yield from (
        "/-/databases.json",
        "/notes/_words.json",
        "/notes/passages.json",
    )
    statement = urlencode({"sql": "select bear_search('zeppelin')"})
    yield from (f"/notes.json?{statement}", f"/notes/-/query.json?{statement}")
    if IS_1_0:
        for typed in ("zepp", "roof", "clinic", "tomatoes"):
            yield f"/-/jump.json?q={typed}"


TOOL_CALLS: list[tuple[str, dict[str, Any]]] = [
    *(("search_notes", {"query": query}) for query in (*QUERIES[:10], *QUERIES[10::2]) if query),
    *(("search_notes", {"query": query, "mode": "keyword"}) for query in QUERIES[:10]),
    ("search_notes", {"queries": ["diagnosis", "zeppelin", "roof"]}),
    ("search_notes", {"filters": {"tag": "private"}}),
    ("search_notes", {"filters": {"source": "notes"}, "limit": 20}),
    *(("get_notes", {"ids": [number]}) for number in IDS),
    *(("get_notes", {"titles": [title]}) for title in ("Clinic", "Clinc", "Zeppelin", "Zanz")),
    *(("similar_notes", {"id": number}) for number in IDS),
    ("list_tags", {}),
    ("library_status", {}),
]  # fmt: skip

# Clocks, random values, the versions of files on this disk, and what recency loses meanwhile.
_VARYING = re.compile(
    r'"timing_ms": \{[^}]*\}|20[23]\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z'
    r'|name="csrftoken" value="[^"]*"|just now|\d+ min ago|\d+(?:\.\d+)? ?ms|"query_ms": [\d.]+'
    r"|\?v=[0-9a-f]{8}|(?<=\.\d{9})\d+"
    r"|\d+ rows in "  # unless counting them takes Datasette too long
)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory) -> list[Path]:
    """Index both libraries, with the tiny model."""
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    paths = []
    for number, hidden in enumerate(HIDDEN):
        folder = tmp_path_factory.mktemp(f"library{number}")
        notes = write_files(folder / "notes", {**VISIBLE, **hidden, "lamp.png": b"png"})
        for file in notes.iterdir():
            os.utime(file, (1_714_550_400, 1_714_550_400))
        index(folder)
        paths.append(folder / "notes.db")
    return paths


def index(folder: Path, *options: str) -> str:
    arguments = ["bear-index", str(folder / "notes"), "--sidecar", str(folder / "notes.db")]
    arguments += ["--model", TINY]
    result = CliRunner().invoke(cli, [*arguments, *options])
    assert result.exit_code == 0, result.output
    return result.output


class SearchOnly:
    """A plugin that lets everybody search, and only the owner see tables and run SQL."""

    __name__ = "search_only"

    @hookimpl
    def permission_allowed(self, actor, action):
        if action in ("view-table", "execute-sql", "view-database-download"):
            return bool(actor)
        return True if action == "bear-search" else None


SETTINGS = {"hidden_tags": ["private"], "judgments": True, "files": True}


@pytest.fixture(scope="module")
def datasettes(libraries) -> Iterable[list[Datasette]]:
    """Serve both, as the documentation says (1.0) or with a plugin that does the same (0.65)."""
    if IS_1_0:
        page = (ROOT / "docs" / "permissions.md").read_text()
        config = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
        config["plugins"]["datasette-bear-search"] = {**SETTINGS, "redact": False}
        yield [configured([path], config) for path in libraries]
        return
    plugin = SearchOnly()
    pm.register(plugin)
    yield [
        configured([path], {"plugins": {"datasette-bear-search": SETTINGS}}) for path in libraries
    ]
    pm.unregister(plugin)


def same(text: str, path: Path) -> str:
    """Return what must be the same in both libraries: everything but clocks and the folder."""
    return _VARYING.sub("", text.replace(str(path.parent), ""))


@pytest.mark.datasette
async def test_hidden_notes_change_no_response_for_people(datasettes, libraries):
    different, count, found = {}, 0, 0
    for address in addresses():
        responses = [await datasette.client.get(address) for datasette in datasettes]
        bodies = [same(each.text, path) for each, path in zip(responses, libraries)]
        count += 1
        found += responses[0].status_code == 200 and "Roof" in bodies[0]
        if bodies[0] != bodies[1] or responses[0].status_code != responses[1].status_code:
            different[address] = difference(*bodies)
    assert different == {}
    assert count > 150
    assert found > 50  # the responses aren't all errors


async def test_hidden_notes_change_no_response_for_agents(libraries):
    different = {}
    answers: list[list[str]] = []
    for path in libraries:
        library = AgentLibrary(path, hidden_tags=["private"])
        async with Client(server.build_server(library)) as client:
            results = [await client.call_tool(name, given) for name, given in TOOL_CALLS]
            resources = await client.list_resources()
        answers.append([same(repr(result), path) for result in (*results, resources)])
    for call, *told in zip((*TOOL_CALLS, "resources"), *answers):
        if told[0] != told[1]:
            different[str(call)] = difference(*told)
    assert different == {}


@pytest.mark.datasette
async def test_the_owner_sees_hidden_notes(datasettes):
    for datasette, hits in zip(datasettes, (1, 0)):
        response = await datasette.client.get(
            "/-/bear-search.json?q=zeppelin&mode=keyword", cookies=cookies(datasette, "owner")
        )
        assert len(response.json()["rows"]) == hits


def difference(one: str, other: str) -> str:
    start = next((place for place, pair in enumerate(zip(one, other)) if len({*pair}) > 1), 0)
    return f"{one[max(0, start - 60) : start + 80]!r} / {other[max(0, start - 60) : start + 80]!r}"
