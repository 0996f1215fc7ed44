"""The search page and its JSON, through Datasette. Everything here runs on both of its versions.

Tests ``web/pages/form.py``, ``web/pages/urls.py`` and ``web/requests/freshness.py``.
"""

import json
import re
import time
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from html import unescape
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import pytest
from datasette.app import Datasette
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from datasette_bear_search.embeddings import names, registry
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.index import freshness
from datasette_bear_search.index.file import vectors
from datasette_bear_search.search.ranking import statement
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import day, edit
from tests.support.client import answer, get, page, titles
from tests.support.datasettes import configured
from tests.support.tiny_embedder import TINY, TinyEmbedder

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

NOTES = [
    BearNote(
        "# Cabin roof\n#cabin/repairs\n\nThe roof leaks above the stove.\n\n## Plan for "
        "May\n\nReplace the flashing.",
        tags=("cabin/repairs",),
        created=day(1),
    ),
    BearNote("# Lentil soup\n#recipes\n\nRed lentils, carrots, cumin.", tags=("recipes",),
             created=day(2)),
    BearNote("# Roof of the church\n\nA drawing of the roof in Évora.", created=day(3),
             pinned=True),
    BearNote("# Old plans\n\nA roof garden, never built.\n- [ ] ask", archived=True,
             created=day(4)),
    BearNote("# Receipts\n\n![](scan.png)", files=(BearFile("scan.png", ocr="plumber invoice"),),
             created=day(5)),
    BearNote("# Bank codes", encrypted=True, created=day(6)),
]  # fmt: skip


@pytest.fixture
def datasette(index_notes) -> Datasette:
    return Datasette([str(index_notes(NOTES))])


@contextmanager
def model(datasette, embedder):
    """Serve with another embedder of the same name."""
    registry.register(TINY, lambda: embedder)
    try:
        yield
    finally:
        registry.register(TINY, lambda: TinyEmbedder(TINY))


@pytest.mark.parametrize("path", ["/-/bear-search", "/-/bear-search/note/1"])
async def test_no_text_in_the_box_makes_an_address_that_a_server_refuses(datasette, path):
    html = (await get(datasette, path)).text
    length = int(re.search(r'<input [^>]*id="bear-q"[^>]* maxlength="(\d+)"', html)[1])
    # uvicorn refuses requests of 64 KiB and more with a page that says only that.
    assert len(urlencode({"q": "学" * length})) < 2**16 - 2**12
    assert "Only the first 1,000 characters" in await page(datasette, q="a " * (length // 2))


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("q=roof", "3 results"),
        ("q=roof+tag:cabin", "1 result"),
        ("q=before:2030", "6 results, newest first"),
        ("source=bear", "6 results, newest first"),
        ("source=bear&sort=oldest", "6 results"),
        ("sort=title", "6 results"),
        ("tag=cabin", "1 result"),
        ("tag=nowhere", "0 results"),
    ],
)
async def test_count_says_newest_first_only_where_it_is(datasette, query, count):
    html = await page(datasette, query)
    shown = re.search(r'id="bear-count">(.*?)</p>', html, re.DOTALL)[1]
    assert " ".join(shown.split()) == count


async def test_plugin_is_installed(datasette):
    plugins = (await get(datasette, "/-/plugins.json")).json()
    assert "datasette-bear-search" in {plugin["name"] for plugin in plugins}


async def test_a_row_has_everything_that_a_program_needs(datasette):
    data = await answer(datasette, "q=roof+flashing")
    assert data["ok"] is True
    row = data["rows"][0]
    assert row["title"] == "Cabin roof"
    assert row["tags"] == ["cabin", "cabin/repairs"]
    assert row["created"] == "2024-05-01T09:30:00Z"
    assert (row["pinned"], row["archived"], row["encrypted"]) == (False, False, False)
    assert row["keyword_rank"] == 1
    assert isinstance(row["semantic_rank"], int)
    assert -1 <= row["similarity"] <= 1
    assert row["rrf"] == pytest.approx(1 / (60 + 1) + 1 / (60 + row["semantic_rank"]))
    assert 0 < row["blend"] <= 1
    assert 0 < row["score"] <= 1
    assert "<mark>" in row["snippet"]
    passage = row["passage"]
    assert passage["text"] == "## Plan for May\n\nReplace the flashing."
    assert (passage["heading"], passage["start"], passage["end"]) == ("Plan for May", 49, 87)
    assert isinstance(passage["id"], int)
    assert row["url"] == (
        f"bear://x-callback-url/open-note?id={row['key']}&header=Plan%20for%20May"
    )
    assert set(row) >= {"id", "source", "key", "title", "url", "tags", "created", "modified"}


async def test_the_answer_tells_how_the_query_was_read(datasette):
    data = await answer(datasette, 'q="roof+garden"+plans&tag=cabin&has=todo')
    assert data["query"]["phrases"] == ["roof garden"]
    assert data["query"]["words"] == ["plans"]
    assert data["query"]["filters"] == {"tags": ["cabin"], "has": ["todo"]}
    assert set(data["timing_ms"]) == {"plan", "embed", "sql", "highlight", "total"}


FOUND = {
    "q=roof&mode=keyword": {"Cabin roof", "Roof of the church", "Old plans"},
    "q=leak&mode=keyword": {"Cabin roof"},  # stemming
    "q=evora&mode=keyword": {"Roof of the church"},  # no diacritics
    "q=plumber&mode=keyword": {"Receipts"},  # OCR
    "q=repairs&mode=keyword": {"Cabin roof"},  # tag
    "q=bank&mode=keyword": {"Bank codes"},  # title of an encrypted note
    'q="roof+garden"&mode=keyword': {"Old plans"},
    "q=entil&mode=keyword": {"Lentil soup"},  # inside a word
    "q=ask%20roof&mode=like": {"Old plans"},
    "q=roof&tag=cabin&mode=keyword": {"Cabin roof"},  # the parent of the note's tag
    "q=roof&tag=CABIN/repairs&mode=keyword": {"Cabin roof"},
    "q=roof&tag=cab&mode=keyword": set(),
    "q=roof&tag=cabin&tag=recipes": set(),
    "q=roof&archived=0&mode=keyword": {"Cabin roof", "Roof of the church"},
    "q=roof&archived=1": {"Old plans"},
    "q=roof&pinned=1": {"Roof of the church"},
    "q=roof&has=todo": {"Old plans"},
    "q=invoice&has=image": {"Receipts"},
    "q=roof&created_after=2024-05-03&mode=keyword": {"Roof of the church", "Old plans"},
    "q=roof&modified_before=2024-05-01&mode=keyword": {"Cabin roof"},
    "q=roof&source=bear&mode=keyword": {"Cabin roof", "Roof of the church", "Old plans"},
    "q=roof&source=elsewhere": set(),
    "tag=recipes": {"Lentil soup"},
}


async def test_words_and_filters_find(datasette):
    assert {query: set(await titles(datasette, query)) for query in FOUND} == FOUND


async def test_filters_hold_before_the_nearest_are_counted(write, bear_index, sidecar_path):
    # If filters were applied afterwards, the nearest passages overall would crowd out the one with
    # the tag.
    near = [
        BearNote(f"# Roof {number}\n\nThe roof leaks.")
        for number in range(statement.NEAREST_PASSAGES)
    ]
    write(*near, BearNote("# Soup\n\nRed lentils.", tags=("recipes",)))
    bear_index()
    datasette = Datasette([str(sidecar_path)])
    assert "Soup" not in await titles(datasette, "q=roof+leaks&mode=semantic")
    assert await titles(datasette, "q=roof+leaks&mode=semantic&tag=recipes") == ["Soup"]


async def test_semantic_and_hybrid_modes_use_their_retrievers(datasette):
    data = await answer(datasette, "q=roof&mode=semantic")
    assert all(row["keyword_rank"] is None and row["semantic_rank"] for row in data["rows"])
    data = await answer(datasette, "q=roof&mode=hybrid")
    assert data["query"]["retrievers"] == ["keyword", "semantic"]
    scores = [row["score"] for row in data["rows"]]
    assert scores == sorted(scores, reverse=True)


async def test_an_empty_query_lists_the_newest_notes(datasette):
    assert (await titles(datasette, ""))[:2] == ["Bank codes", "Receipts"]


@pytest.mark.parametrize("query", ["q=roof", "q=roof&mode=keyword", "q=roof&mode=semantic", ""])
async def test_pages_add_up_to_the_whole_list(datasette, query):
    whole = (await answer(datasette, query))["rows"]
    pages, url = [], f"/-/bear-search.json?{query}&_size=2"
    while url:
        data = (await get(datasette, url)).json()
        pages += data["rows"]
        url = data["next_url"]
    assert [row["id"] for row in pages] == [row["id"] for row in whole]
    assert len(whole) == data["total"]


@pytest.mark.parametrize(
    "query",
    [
        "q=roof",
        "q=roof&mode=keyword",
        "q=roof&tag=cabin",
        "q=entil&mode=like",
        "",
        'q="roof+garden"',
    ],
)
async def test_view_as_sql_gives_the_same_rows(datasette, query, sidecar_path):
    page = (await get(datasette, f"/-/bear-search?{query}")).text
    url = unescape(re.search(r'<a href="([^"]+)">View as SQL', page).group(1))
    parameters = dict(parse_qsl(urlsplit(url).query))
    response = await datasette.client.get(
        f"/{sidecar_path.stem}.json",
        params={**parameters, "_shape": "objects"},
        follow_redirects=True,
    )
    sql_rows = response.json()["rows"]
    rows = (await answer(datasette, query))["rows"]
    assert [row["id"] for row in sql_rows] == [row["id"] for row in rows]
    assert [row["lexical_rank"] for row in sql_rows] == [row["keyword_rank"] for row in rows]
    similarities = [row["similarity"] and round(row["similarity"], 4) for row in sql_rows]
    assert similarities == [row["similarity"] for row in rows]


@pytest.mark.parametrize("beside", ["", "&tag=cabin", "&mode=keyword", "&fusion=rrf", "&_size=2"])
async def test_another_text_in_the_statement_finds_what_the_search_finds(
    datasette, sidecar_path, beside
):
    page = (await get(datasette, f"/-/bear-search?q=roof{beside}")).text
    url = unescape(re.search(r'<a href="([^"]+)">View as SQL', page).group(1))
    for text in ("soup", "flashing roof", "roofs tag:garden", '"roof garden"', "lentl", "entil"):
        parameters = {**dict(parse_qsl(urlsplit(url).query)), "q": text, "_shape": "array"}
        response = await datasette.client.get(
            f"/{sidecar_path.stem}.json", params=parameters, follow_redirects=True
        )
        expected = (await answer(datasette, f"{urlencode({'q': text})}{beside}"))["rows"]
        assert [row["id"] for row in response.json()] == [row["id"] for row in expected], text


async def test_the_statement_fits_a_screen_and_an_address(datasette):
    page = (await get(datasette, "/-/bear-search?q=how+do+I+fix+the+roof")).text
    url = unescape(re.search(r'<a href="([^"]+)">View as SQL', page).group(1))
    assert len(url) < 5200  # common proxies pass 8,000 characters
    parameters = dict(parse_qsl(urlsplit(url).query))
    assert set(parameters) == {"sql", "q"}
    lines = parameters["sql"].strip().splitlines()
    assert len(lines) <= 90
    assert max(map(len, lines)) <= 100
    assert parameters["sql"].replace("\n", "").isprintable()


async def test_the_textbook_query_is_offered_beside_the_statement(datasette, sidecar_path):
    page = (await get(datasette, "/-/bear-search?q=roof")).text
    url = unescape(re.search(r'<a href="([^"]+)">The idea in short', page).group(1))
    parameters = dict(parse_qsl(urlsplit(url).query))
    assert set(parameters) == {"sql", "q"}
    assert len(parameters["sql"].splitlines()) <= 18
    assert "embedding match" in parameters["sql"]
    titles = await titles_by_textbook(datasette, sidecar_path, "roof")
    assert {"Cabin roof", "Roof of the church"} == set(titles[:2])
    # Only what is left of the text without its operators has a vector.
    excluding = await titles_by_textbook(datasette, sidecar_path, "lentils -roof -church -cabin")
    assert excluding == await titles_by_textbook(datasette, sidecar_path, "lentils")
    by_words = (await get(datasette, "/-/bear-search?q=roof&mode=keyword")).text
    assert "The idea in short" not in by_words


async def titles_by_textbook(datasette, path, text: str) -> list[str]:
    parameters = {"sql": statement.TEXTBOOK, "q": text, "_shape": "array"}
    url = f"/{path.stem}.json?{urlencode(parameters)}"
    response = await get(datasette, url, follow_redirects=True)
    return [row["title"] for row in response.json()]


async def test_the_textbook_query_finds_words_without_vectors(write, bear_index, sidecar_path):
    write(BearNote("# Cabin roof\n\nThe ceiling leaks."), BearNote("# Soup\n\nRed lentils."))
    bear_index("--no-semantic")
    datasette = Datasette([str(sidecar_path)])
    assert await titles_by_textbook(datasette, sidecar_path, "ceiling") == ["Cabin roof"]
    bear_index("--semantic")
    assert (await titles_by_textbook(datasette, sidecar_path, "ceiling"))[0] == "Cabin roof"
    assert len(await titles_by_textbook(datasette, sidecar_path, "ceiling")) == 2


async def test_the_sql_page_shows_the_statement(datasette):
    page = (await get(datasette, "/-/bear-search?q=roof")).text
    url = unescape(re.search(r'<a href="([^"]+)">View as SQL', page).group(1))
    html = (await get(datasette, url, follow_redirects=True)).text
    assert re.search(r'<a href="/-/bear-search/note/\d+"[^>]*>Cabin roof</a>', html)


INVALID = {
    "_size=abc": "_size must be a number from 0 to 100, not 'abc'",
    "_size=-1": "_size must be",
    "_size=101": "_size must be",
    "_next=-1": "_next must be",
    "_next=%F0%9D%9F%99": "_next must be",
    "mode=telepathy": "mode must be one of auto, hybrid, keyword, semantic, like",
    "created_after=2024-02-30": "created_after must be a date",
    "has=wings": "has must be one of",
    "pinned=maybe": "pinned must be 1 or 0",
    "found=true": "found must be one of 0, 1",
    "correct=no": "correct must be one of 1, 0",
}


async def test_an_invalid_parameter_is_a_400_and_keeps_the_results(datasette):
    for query, message in INVALID.items():
        data = await answer(datasette, query, 400)
        error = data["error"]
        assert data == {"ok": False, "error": error, "errors": [error], "status": 400}
        assert message in error
        html = (await get(datasette, f"/-/bear-search?q=roof&{query}", 400)).text
        date = "“2024-02-30” isn't a date. Try 2024, 2024-05 or last-week."
        assert (date if "must be a date" in message else message) in unescape(html)
        assert 'class="bear-card"' in html


async def test_no_link_keeps_an_invalid_date(datasette):
    html = (await get(datasette, "/-/bear-search?q=roof&created_after=foo", 400)).text
    assert "“foo” isn&#39;t a date" in html
    assert "created_after=foo" not in html


async def test_a_form_sent_without_scripts_leads_to_a_short_address(datasette):
    address = "/-/bear-search?q=roof&mode=&sort=newest&recency=&tag=cabin&tag="
    response = await datasette.client.get(address)
    assert response.status_code == 302
    assert response.headers["location"] == "/-/bear-search?q=roof&sort=newest&tag=cabin"


async def test_a_page_past_the_end_leads_back(datasette):
    html = (await get(datasette, "/-/bear-search?q=roof&_next=99999")).text
    assert "100,000" not in html
    assert re.search(r'href="/-/bear-search\?q=roof"[^>]*>[^<]*First results', html)


STRANGE = [
    "", " ", '"', '""', "'", "\\", "*", "AND", "NOT", "a AND", "NEAR(", "NEAR(a b, 3)", "(",
    "a OR (", "title:", "title:roof",
    "-roof", "^roof", "{title body}: roof", "roof*", "*roof", "\x00", "\x07roof", "%", "_", "🏠",
    "שלום עולם", "屋根", "C++",
    "' or 1=1 --", "<script>alert(1)</script>", "x" * 10_000, "roof " * 2_000,
    "\U0001f9d1\u200d\U0001f33e", "\ufeff",
]  # fmt: skip


@pytest.mark.parametrize("mode", ["auto", "keyword", "semantic", "like"])
async def test_any_query_gets_a_response(datasette, mode):
    wrong = []
    for q in STRANGE:
        for path in ("/-/bear-search.json", "/-/bear-search"):
            response = await datasette.client.get(path, params={"q": q, "mode": mode})
            is_html = path.endswith("search")
            if response.status_code != 200 or (is_html and "<script>alert" in response.text):
                wrong.append((path, q[:40], response.status_code, response.text[:200]))
    assert wrong == []


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(q=st.text(), mode=st.sampled_from(["auto", "keyword", "semantic", "like"]))
@example(q='"roof', mode="auto")
async def test_any_text_gets_a_response(datasette, q, mode):
    response = await datasette.client.get(
        "/-/bear-search.json", params={"q": q.encode("utf-8", "replace").decode(), "mode": mode}
    )
    assert response.status_code == 200, response.text


async def test_a_query_with_nothing_to_find_says_so(datasette):
    data = await answer(datasette, 'q=""')
    assert data["rows"] == []
    assert data["notices"] == ["Nothing to search for: type at least one word."]


async def test_a_phrase_that_no_note_has_is_searched_as_words(datasette):
    data = await answer(datasette, 'q="leaks+roof"&mode=keyword')
    assert data["rows"][0]["title"] == "Cabin roof"
    assert "so it was searched for without quotes" in data["notices"][0]


async def test_words_inside_longer_words_give_a_notice(datasette):
    data = await answer(datasette, "q=enti&mode=keyword")
    assert "inside longer words" in data["notices"][0]


async def test_the_page_shows_what_was_found_and_why(datasette):
    html = (await get(datasette, "/-/bear-search?q=leaking+roof")).text
    assert 'href="bear://x-callback-url/open-note?id=' in html
    assert re.search(r"<mark>roof</mark>", html)
    assert re.search(r'title="Contains your words".*title="Similar in meaning', html, re.DOTALL)
    assert "1 May 2024" in html
    assert "tag=cabin%2Frepairs" in html
    assert "<script" not in html.split("</header>")[1].split("<footer")[0]


async def test_titles_and_snippets_are_escaped(write, bear_index, sidecar_path):
    write(
        BearNote(
            "# <img src=x onerror=alert(1)>\n#<b>tag\n\nroof <script>alert(1)</script> & "
            "more\n\n## <i>sub</i>\n\nx",
            tags=("<b>tag",),
        )
    )
    bear_index()
    html = (await get(Datasette([str(sidecar_path)]), "/-/bear-search?q=roof")).text
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "<b>tag" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in html


async def test_links_keep_the_base_url(index_notes):
    datasette = Datasette([str(index_notes(NOTES))], settings={"base_url": "/prefix/"})
    html = (await get(datasette, "/-/bear-search?q=roof&_size=1")).text
    links = re.findall(r'(?:href|action)="(/[^"]*)"', html)
    assert [link for link in links if not link.startswith("/prefix/")] == []
    data = (await get(datasette, "/-/bear-search.json?q=roof&_size=1")).json()
    assert "/prefix/-/bear-search.json?" in data["next_url"]


@pytest.mark.parametrize(
    ("actor", "allowed"), [(None, False), ("stranger", False), ("owner", True)]
)
async def test_only_people_who_may_view_the_database_may_search(
    write, bear_index, sidecar_path, actor, allowed
):
    write(*NOTES)
    bear_index()
    permissions = {"databases": {sidecar_path.stem: {"allow": {"id": "owner"}}}}
    datasette = configured([sidecar_path], permissions)
    status = 200 if allowed else 403
    html = (await get(datasette, "/-/bear-search?q=roof", status, actor=actor)).text
    data = await answer(datasette, "q=roof", status, actor=actor)
    assert ("Cabin roof" in html) is allowed
    assert ("rows" in data) is allowed
    if not allowed:
        assert data["status"] == 403
    home = (await get(datasette, "/", actor=actor)).text
    assert ("/-/bear-search" in home) is allowed


async def test_view_as_sql_is_shown_only_to_people_who_may_run_sql(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index()
    datasette = Datasette([str(sidecar_path)], settings={"default_allow_sql": False})
    html = (await get(datasette, "/-/bear-search?q=roof")).text
    assert "Cabin roof" in html
    assert "View as SQL" not in html


async def test_a_datasette_for_another_database_shows_no_notes(write, bear_index, tmp_path):
    write(*NOTES)
    bear_index()
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("create table t (x)")
    datasette = Datasette([str(other)])
    page = (await get(datasette, "/-/bear-search?q=roof")).text
    assert "There is no index of notes here yet" in page
    data = await answer(datasette, "q=roof", 404)
    assert "datasette bear-serve" in data["error"]
    assert "/-/bear-search" not in (await get(datasette, "/")).text
    # rrf() works there; embed() doesn't exist.
    rrf = await datasette.client.get(
        "/other.json?sql=select+rrf(1)&_shape=array", follow_redirects=True
    )
    assert rrf.json()[0]["rrf(1)"] == pytest.approx(1 / 61)
    embed = await datasette.client.get("/other.json?sql=select+embed('x')", follow_redirects=True)
    assert embed.status_code == 400


async def test_the_setting_sidecar_attaches_the_index(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index()
    plugins = {"plugins": {"datasette-bear-search": {"sidecar": str(sidecar_path)}}}
    datasette = Datasette([], metadata=plugins)
    await datasette.invoke_startup()
    assert await titles(datasette, "q=lentil&mode=keyword") == ["Lentil soup"]


async def test_a_sidecar_that_is_not_there_yet_does_not_stop_datasette(sidecar_path):
    plugins = {"plugins": {"datasette-bear-search": {"sidecar": str(sidecar_path)}}}
    datasette = Datasette([], metadata=plugins)
    assert "datasette bear-index" in (await get(datasette, "/-/bear-search")).text


async def test_internal_tables_are_hidden_in_datasette(datasette, sidecar_path):
    tables = (await get(datasette, f"/{sidecar_path.stem}.json")).json()["tables"]
    visible = {table["name"] for table in tables if not table["hidden"]}
    # Datasette 1.0 shows SQLite's own table in every database that has one.
    assert visible - {"sqlite_sequence"} == {
        "notes",
        "tags",
        "passages",
    }


async def test_datasettes_own_search_finds_notes(datasette, sidecar_path):
    response = await get(
        datasette, f"/{sidecar_path.stem}/notes.json?_search=lentils&_shape=objects"
    )
    assert [row["title"] for row in response.json()["rows"]] == ["Lentil soup"]


async def test_embed_and_a_vector_search_work_in_sql(datasette, sidecar_path):
    sql = (
        "select notes.title from json_each(nearest_passages(embed('red lentils'), 1))"
        " as near join passages on passages.id = near.key join notes on notes.id = note_id"
    )
    response = await datasette.client.get(
        f"/{sidecar_path.stem}.json", params={"sql": sql, "_shape": "array"}, follow_redirects=True
    )
    assert response.json() == [{"title": "Lentil soup"}]


async def test_embed_of_null_is_null(datasette, sidecar_path):
    response = await datasette.client.get(
        f"/{sidecar_path.stem}.json",
        params={
            "sql": "select embed(null) as x, length(embed(:long)) as y",
            "long": "x" * 10_000,
            "_shape": "array",
        },
        follow_redirects=True,
    )
    assert response.json() == [{"x": None, "y": 4 * TinyEmbedder.DIMENSION}]


# Degradation when something is missing


async def test_without_vectors_words_are_searched(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index("--no-semantic")
    data = await answer(Datasette([str(sidecar_path)]), "q=roof")
    assert data["rows"][0]["keyword_rank"] == 1
    assert data["query"]["retrievers"] == ["keyword"]
    assert "words only. To search by meaning, too, run: datasette bear-index" in data["notices"][0]
    assert data["rows"][0]["passage"]["heading"] in (None, "Plan for May")


@pytest.mark.parametrize("mode", ["auto", "hybrid", "semantic"])
async def test_without_a_model_words_are_searched(datasette, mode):
    class Missing(TinyEmbedder):
        def open_model(self):
            raise ModelUnavailable("The model can't be had.")

    with model(datasette, Missing(TINY)):
        data = await answer(datasette, f"q=roof&mode={mode}")
        assert data["rows"][0]["keyword_rank"] == 1
        assert data["notices"] == ["Notes are found by their words only. The model can't be had."]


async def test_vectors_of_another_model_are_not_mixed(datasette):
    class Upgraded(TinyEmbedder):
        def open_model(self):
            return super().open_model()._replace(settings={"version": 2})

    with model(datasette, Upgraded(TINY)):
        data = await answer(datasette, "q=roof")
        assert data["query"]["retrievers"] == ["keyword"]
        assert data["notices"][0].endswith("notes.db --model test/tiny")


async def test_the_page_does_not_wait_for_the_model_and_says_so(datasette):
    class Slow(TinyEmbedder):
        def load(self):
            calls.append("load")
            super().load()

        def warm_up(self):
            calls.append("warm_up")

    calls = []
    with model(datasette, Slow(TINY)):
        html = (await get(datasette, "/-/bear-search?q=roof")).text
        assert "The model is still loading" in html
        assert "Cabin roof" in html
        assert calls == ["warm_up"]


@pytest.mark.parametrize("url", ["/-/bear-search?q=roof&mode=hybrid", "/-/bear-search.json?q=roof"])
async def test_programs_and_an_explicit_mode_wait_for_the_model(datasette, url):
    embedder = TinyEmbedder(TINY)
    with model(datasette, embedder):
        assert "still loading" not in (await get(datasette, url)).text
    assert embedder.ready


class LoadedLater(TinyEmbedder):
    def open_model(self):
        time.sleep(3)
        return super().open_model()


async def test_a_program_says_how_long_it_waits_for_the_model(datasette):
    with model(datasette, LoadedLater(TINY)):
        started = time.monotonic()
        data = await answer(datasette, "q=roof&_wait=0")
        assert time.monotonic() - started < 2
        assert data["query"]["retrievers"] == ["keyword"]
        assert "The model is still loading" in data["notices"][0]
        status = (await get(datasette, "/-/bear-search/status.json")).json()
        assert (status["ready"], status["model"]["state"]) == (False, "loading")
    refused = await answer(datasette, "q=roof&_wait=soon", 400)
    assert refused["error"] == "_wait must be a number from 0 to 600, not 'soon'"


async def test_the_status_says_what_is_ready_how_fresh_it_is_and_of_what(datasette):
    embedder = TinyEmbedder(TINY)
    with model(datasette, embedder):
        embedder.load()
        status = (await get(datasette, "/-/bear-search/status.json")).json()
    [source] = status["sources"]
    assert (status["ok"], status["ready"], status["notices"]) == (True, True, [])
    assert status["model"] == {"name": TINY, "state": "loaded", "problem": None}
    assert status["vectors"]["embedded"] == status["vectors"]["passages"] > 0
    assert status["index"]["notes"] == source["notes"] == len(NOTES)
    assert status["index"]["changed"] == 0
    assert (source["name"], source["kind"]) == ("bear", "bear")


async def test_the_status_says_that_a_model_is_not_on_this_machine(datasette, sidecar_path):
    with closing(sqlite3.connect(sidecar_path)) as db, db:
        db.execute("update meta set value = 'nosuch/model' where key = 'model'")
    names.trust("nosuch/model")
    status = (await get(datasette, "/-/bear-search/status.json")).json()
    assert (status["ready"], status["model"]["state"]) == (False, "absent")
    assert "model nosuch/model isn't on this machine" in status["model"]["problem"]


@pytest.mark.parametrize("setting", [{}, {"warm_up": False}])
async def test_a_model_that_loads_fast_is_loaded_at_start(
    write, bear_index, sidecar_path, setting, monkeypatch
):
    write(*NOTES)
    bear_index()
    embedder = TinyEmbedder(TINY)
    registry.register(TINY, lambda: embedder)
    monkeypatch.setattr(embedder, "loads_fast", lambda: True)
    plugins = {"plugins": {"datasette-bear-search": setting}}
    await Datasette([str(sidecar_path)], metadata=plugins).invoke_startup()
    for _ in range(0 if setting else 100):
        time.sleep(0.05 * (not embedder.ready))
    assert embedder.status == ("not loaded" if setting else "loaded")


async def test_the_first_visit_begins_to_load_the_model(datasette):
    embedder = TinyEmbedder(TINY)
    with model(datasette, embedder):
        await get(datasette, "/-/bear-search")
        embedder.load()
        assert embedder.ready


async def test_the_setting_warm_up_loads_the_model_at_start(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index()
    warmed = []
    embedder = TinyEmbedder(TINY)
    embedder.warm_up = lambda: warmed.append(True)
    plugins = {"plugins": {"datasette-bear-search": {"warm_up": True}}}
    datasette = Datasette([str(sidecar_path)], metadata=plugins)
    with model(datasette, embedder):
        await datasette.invoke_startup()
    assert warmed


@pytest.fixture
def without_sqlite_vec(monkeypatch):
    monkeypatch.setattr(vectors, "load_extension", lambda connection: False)


async def test_without_sqlite_vec_words_are_searched_and_everything_else_works(
    write, bear_index, sidecar_path, tmp_path, without_sqlite_vec, monkeypatch
):
    with monkeypatch.context() as loading:
        loading.undo()
    write(*NOTES)
    monkeypatch.undo()
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    bear_index("--model", TINY)
    monkeypatch.setattr(vectors, "load_extension", lambda connection: False)
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("create table t (x)")
    datasette = Datasette([str(sidecar_path), str(other)])
    for database in datasette.databases.values():  # as datasette serve does first
        if database.path:
            from datasette.utils import check_connection

            await database.execute_fn(check_connection)
    data = await answer(datasette, "q=roof")
    assert data["rows"][0]["keyword_rank"] == 1
    assert "sqlite-vec" in data["notices"][0]
    await get(datasette, "/")
    await get(datasette, f"/{sidecar_path.stem}")
    await get(datasette, "/other/t")


async def test_when_fts5_fails_the_text_is_searched_verbatim(datasette, sidecar_path):
    with sqlite3.connect(sidecar_path) as db:
        db.execute("drop table notes_fts")
    data = await answer(datasette, "q=lentils")
    assert data["rows"][0]["title"] == "Lentil soup"
    assert data["query"]["retrievers"] == ["like", "semantic"]
    assert "The word index failed" in data["notices"][0]


async def test_unfinished_vectors_give_a_notice(datasette, sidecar_path):
    with sqlite3.connect(sidecar_path) as db:
        db.execute("update passages set vector_state = 'pending' where id <= 2")
    data = await answer(datasette, "q=roof")
    assert "2 passages can only be found by words so far" in data["notices"][0]


async def test_changes_since_indexing_are_counted(datasette, library, sidecar_path, monkeypatch):
    monkeypatch.setattr(freshness, "MAX_PAUSE", 0)
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    assert (await answer(datasette, "q=roof"))["notices"] == []
    edit(library, "update ZSFNOTE set ZPINNED = 1 where ZTITLE in ('Lentil soup', 'Receipts')")
    data = await answer(datasette, "q=roof")
    notice = "2 notes changed since the index was made"
    assert notice in data["notices"][0]
    query = f"/{sidecar_path.stem}/bear_search.json?q=roof&_shape=array"
    rows = (await datasette.client.get(query)).json()
    assert notice in rows[0]["notice"]


async def test_a_vanished_library_can_still_be_searched(datasette, library):
    library.unlink()
    [notice] = (await answer(datasette, "q=roof"))["notices"]
    assert "Bear can't be checked from here; its notes are as of" in notice


async def test_a_running_datasette_sees_a_new_index(datasette, write, bear_index):
    await answer(datasette, "q=roof")
    write(*NOTES, BearNote("# Roof rack\n\nFor the bicycle."))
    bear_index()
    assert "Roof rack" in await titles(datasette, "q=bicycle")


async def test_a_search_that_takes_too_long_gives_a_clear_message(
    write, bear_index, sidecar_path, monkeypatch
):
    write(*[BearNote(f"# N{n}\n\n" + "roof " * 200) for n in range(400)])
    bear_index("--no-semantic")
    datasette = Datasette([str(sidecar_path)])
    # Only after startup, because Datasette 1.0 itself takes longer than this limit to start.
    await datasette.invoke_startup()
    setting = datasette.setting
    monkeypatch.setattr(
        datasette, "setting", lambda name: 1 if name == "sql_time_limit_ms" else setting(name)
    )
    data = await answer(datasette, "q=roof", 503)
    assert "took too long and was stopped" in data["error"]


async def test_cors_is_datasettes(write, bear_index, sidecar_path):
    write(*NOTES)
    bear_index()
    datasette = Datasette([str(sidecar_path)], cors=True)
    response = await get(datasette, "/-/bear-search.json?q=roof")
    assert response.headers["access-control-allow-origin"] == "*"


async def test_the_json_is_announced_to_programs(datasette):
    html = (await get(datasette, "/-/bear-search?q=roof&tag=cabin")).text
    href = unescape(re.search(r'application/json\+datasette" href="([^"]+)"', html).group(1))
    assert json.loads((await get(datasette, href)).text)["query"]["filters"] == {"tags": ["cabin"]}


# Lists without a query, and new notes


async def test_a_list_without_a_query_is_grouped_by_month(write, bear_index, sidecar_path):
    months = [(2024, 4), (2024, 5), (2024, 5), (2023, 5)]
    write(
        *[
            BearNote(f"# N{n}", created=datetime(*month, 9, 12, tzinfo=timezone.utc))
            for n, month in enumerate(months)
        ]
    )
    bear_index("--no-semantic")
    datasette = Datasette([str(sidecar_path)])

    async def headings(query):
        html = (await get(datasette, f"/-/bear-search?{query}")).text
        return re.findall(r'<li class="bear-month"><h2>(.*?)</h2>', html)

    expected = ["May 2024 · 2", "April 2024 · 1", "May 2023 · 1"]
    assert await headings("sort=newest") == expected
    assert await headings("sort=oldest") == expected[::-1]
    assert await headings("modified_after=2024") == expected[:2]
    assert await headings("sort=title") == []
    assert await headings("q=N1") == []


async def test_a_note_that_is_missing_can_be_created_in_its_app(datasette):
    html = (await get(datasette, "/-/bear-search?q=zebra+%26+co+tag:nowhere")).text
    link = re.search(r'<a class="bear-create" href="([^"]*)"[^>]*>(.*?)</a>', html)
    assert unescape(link[1]) == "bear://x-callback-url/create?title=zebra%20%26%20co"
    assert unescape(link[2]) == "Create “zebra & co” in Bear"
    assert "bear-create" not in (await get(datasette, "/-/bear-search?q=roof")).text
    assert "bear-create" not in (await get(datasette, "/-/bear-search?tag=nowhere")).text


async def test_the_page_can_be_installed(datasette):
    html = (await get(datasette, "/-/bear-search")).text
    address = re.search(r'<link rel="manifest" href="([^"]*)"', html)[1]
    manifest = json.loads((await get(datasette, address)).text)
    assert urljoin(address, manifest["start_url"]) == "/-/bear-search"
    icon = await get(datasette, urljoin(address, manifest["icons"][0]["src"]))
    assert icon.content.startswith(b"\x89PNG")
    assert 'name="theme-color"' in html
