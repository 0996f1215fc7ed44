"""Judging results on the search page, through both versions of Datasette.

Tests ``web/api/judgments.py``.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import closing
from html import unescape
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search.evaluation import judgments
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.full_disk import full_disk

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

PAGE = "/-/bear-search"
JUDGE = "/-/bear-search/judge"
PLUGIN = "datasette-bear-search"

NOTES = [
    BearNote("# Cabin roof\n\nThe roof leaks above the stove.", id="CABIN"),
    BearNote("# Roof of the church\n\nA drawing.", id="CHURCH"),
    BearNote("# Lentil soup\n\nRed lentils.", id="SOUP"),
]


@pytest.fixture
def indexed(index_notes):
    return index_notes(NOTES)


def serve(path, judging=True, **options) -> Datasette:
    return Datasette([str(path)], metadata={"plugins": {PLUGIN: {"judgments": judging}}}, **options)


@pytest.fixture
def datasette(indexed) -> Datasette:
    return serve(indexed)


class Browser:
    """A browser: keeps cookies, sends the forms of its page, follows redirects."""

    def __init__(self, datasette, **cookies) -> None:
        self.datasette = datasette
        self.cookies = cookies
        self.page = ""
        self.url = ""

    async def visit(self, url) -> str:
        if url.startswith(f"{PAGE}?q=") and "judge=" not in url:
            url += "&judge=1"  # shows the buttons
        response = await self.datasette.client.get(url, cookies=self.cookies)
        assert response.status_code == 200, response.text
        self.cookies.update(response.cookies)
        self.url, self.page = url, response.text
        return self.page

    def form(self, key) -> str:
        [form] = [
            form
            for form in re.findall(r'<form class="bear-judge".*?</form>', self.page, re.S)
            if f'name="key" value="{key}"' in form
        ]
        return form

    def fields(self, key) -> dict[str, str]:
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', self.form(key))
        return {name: unescape(value) for name, value in hidden}

    def pressed(self, key) -> list[str]:
        return re.findall(r'aria-pressed="true">([^<]+)<', self.form(key))

    async def press(self, key, label) -> None:
        """Press a button below a note, and go where the answer leads."""
        [(action, grade)] = re.findall(
            rf'action="([^"]+)".*name="grade" value="(\w+)"[^>]*>{label}<', self.form(key), re.S
        )
        response = await self.post(action, {**self.fields(key), "grade": grade}, 303)
        await self.visit(response.headers["location"].partition("#")[0])

    async def post(self, action, fields, status, **headers):
        response = await self.datasette.client.post(
            action,
            content=urlencode(fields),
            cookies=self.cookies,
            headers={"content-type": "application/x-www-form-urlencoded", **headers},
        )
        assert response.status_code == status, response.text
        return response


@pytest.fixture
def browser(datasette) -> Browser:
    return Browser(datasette)


def stored(path) -> list[tuple[str, str, str, int]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("select query, source, key, grade from judgments order by id").fetchall()


async def test_pressing_a_button_stores_and_shows_the_judgment(browser, indexed):
    await browser.visit(f"{PAGE}?q=roof")
    assert browser.pressed("CABIN") == []
    await browser.press("CABIN", "Right note")
    assert stored(indexed) == [("roof", "bear", "CABIN", 1)]
    assert browser.pressed("CABIN") == ["Right note"]
    assert browser.pressed("CHURCH") == []


async def test_the_other_button_changes_the_judgment(browser, indexed):
    await browser.visit(f"{PAGE}?q=roof")
    await browser.press("CHURCH", "Right note")
    await browser.press("CHURCH", "Wrong note")
    assert stored(indexed) == [("roof", "bear", "CHURCH", 0)]
    assert browser.pressed("CHURCH") == ["Wrong note"]


async def test_pressing_the_button_again_removes_the_judgment(browser, indexed):
    await browser.visit(f"{PAGE}?q=roof")
    await browser.press("CABIN", "Wrong note")
    await browser.press("CABIN", "Wrong note")
    assert stored(indexed) == []
    assert browser.pressed("CABIN") == []


async def test_a_judgment_belongs_to_the_query_however_it_is_spaced(browser):
    await browser.visit(f"{PAGE}?q=cabin+roof")
    await browser.press("CABIN", "Right note")
    await browser.visit(f"{PAGE}?q=+cabin++roof+&mode=keyword")
    assert browser.pressed("CABIN") == ["Right note"]
    await browser.visit(f"{PAGE}?q=roof")
    assert browser.pressed("CABIN") == []


async def test_judging_returns_to_the_same_results(browser):
    await browser.visit(f"{PAGE}?q=the+roof+%26+%22more%22&mode=keyword&archived=0&_size=5&judge=1")
    await browser.press("CABIN", "Right note")
    search = "q=the+roof+%26+%22more%22&mode=keyword&archived=0&_size=5&judge=1"
    assert browser.url == f"{PAGE}?{search}"


async def test_judging_returns_to_the_judged_note(browser):
    page = await browser.visit(f"{PAGE}?q=roof")
    response = await browser.post(JUDGE, {**browser.fields("CHURCH"), "grade": "1"}, 303)
    _, _, anchor = response.headers["location"].partition("#")
    assert re.search(
        rf'id="{anchor}">(?:(?!<li).)*<mark>Roof</mark> of the church', page, re.DOTALL
    )


@pytest.mark.parametrize(
    "search",
    ["q=roof&next=https://evil.example/", "q=roof#@evil.example", "q=//evil.example\r\nx: y"],
)
async def test_judging_never_redirects_to_another_site(browser, search):
    await browser.visit(f"{PAGE}?q=roof")
    fields = {**browser.fields("CABIN"), "search": search, "grade": "1"}
    location = (await browser.post(JUDGE, fields, 303)).headers["location"]
    assert location.startswith(f"{PAGE}?q=")
    assert not re.search(r"//|[\r\n]", location)


async def test_judging_keeps_the_base_url(indexed):
    browser = Browser(serve(indexed, settings={"base_url": "/prefix/"}))
    await browser.visit(f"{PAGE}?q=roof")
    assert 'action="/prefix/-/bear-search/judge"' in browser.form("CABIN")
    response = await browser.post(JUDGE, {**browser.fields("CABIN"), "grade": "1"}, 303)
    assert response.headers["location"].startswith("/prefix/-/bear-search?q=roof&judge=1#")


async def test_a_list_without_a_query_has_no_buttons(browser):
    assert "bear-judge" not in await browser.visit(PAGE)


# Who may write


def content(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("judging", [False, None])
async def test_without_the_setting_nobody_can_judge(indexed, judging):
    before = content(indexed)
    browser = Browser(serve(indexed, judging))
    assert "bear-judge" not in await browser.visit(f"{PAGE}?q=roof")
    fields = {"search": "q=roof", "source": "bear", "key": "CABIN", "grade": "1"}
    # Datasette 0.65 refuses a form without its token before we see it.
    browser.cookies.clear()
    await browser.post(JUDGE, fields, 404)
    assert content(indexed) == before


async def test_bear_serve_lets_the_person_at_the_machine_judge(indexed, monkeypatch):
    class Recorded(Datasette):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            served.append(self)

    served = []
    monkeypatch.setattr("datasette.app.Datasette", Recorded)
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: sockets[0].close())
    arguments = ["bear-serve", "--sidecar", str(indexed), "--port", "0", "--no-open"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    assert "bear-judge" in await Browser(served[0]).visit(f"{PAGE}?q=roof")


async def test_searching_writes_nothing(browser, indexed):
    before = content(indexed)
    await browser.visit(PAGE)
    await browser.visit(f"{PAGE}?q=roof&mode=hybrid")
    await browser.visit(f"{PAGE}.json?q=roof")
    assert content(indexed) == before


async def test_only_people_who_may_see_the_notes_may_judge_them(indexed):
    permissions = {"databases": {indexed.stem: {"allow": {"id": "owner"}}}}
    plugins = {"plugins": {PLUGIN: {"judgments": True}}}
    try:
        datasette = Datasette([str(indexed)], config={**permissions, **plugins})
    except TypeError:  # Datasette before 1.0
        datasette = Datasette([str(indexed)], metadata={**permissions, **plugins})
    owner = Browser(datasette, ds_actor=datasette.sign({"a": {"id": "owner"}}, "actor"))
    await owner.visit(f"{PAGE}?q=roof")
    fields = {**owner.fields("CABIN"), "grade": "1"}
    stranger = Browser(datasette)
    await stranger.post(JUDGE, fields, 403)
    assert stored(indexed) == []
    await owner.post(JUDGE, fields, 303)
    assert len(stored(indexed)) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:9999"},
        {"origin": "null"},
    ],
)
@pytest.mark.parametrize("with_cookies", [True, False])
async def test_another_site_cannot_judge(browser, indexed, headers, with_cookies):
    await browser.visit(f"{PAGE}?q=roof")
    fields = {**browser.fields("CABIN"), "grade": "1"}
    if not with_cookies:  # as browsers send it from another site
        browser.cookies.clear()
    await browser.post(JUDGE, fields, 403, **headers)
    assert stored(indexed) == []


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "same-origin"}, {"origin": "http://localhost"}]
)
async def test_the_page_itself_can_judge(browser, indexed, headers):
    await browser.visit(f"{PAGE}?q=roof")
    fields = {**browser.fields("CABIN"), "grade": "1"}
    await browser.post(JUDGE, fields, 303, **headers)
    assert len(stored(indexed)) == 1


async def test_a_full_disk_refuses_a_judgment_and_says_so(browser, indexed):
    await browser.visit(f"{PAGE}?q=roof")
    fields = {**browser.fields("CABIN"), "grade": "1"}
    await browser.post(JUDGE, {**fields, "key": "gone"}, 404)  # renders the error page once
    with full_disk():
        refused = await browser.post(JUDGE, fields, 503)
    assert "There is no space for the index" in refused.text
    assert stored(indexed) == []
    await browser.post(JUDGE, fields, 303)


async def test_an_index_that_is_served_as_immutable_has_no_buttons(indexed):
    plugins = {"plugins": {PLUGIN: {"judgments": True}}}
    datasette = Datasette([], immutables=[str(indexed)], metadata=plugins)
    browser = Browser(datasette)
    assert "bear-judge" not in await browser.visit(f"{PAGE}?q=roof")


# What is no judgment


@pytest.mark.parametrize("method", ["get", "put", "delete", "head"])
async def test_only_a_post_judges(datasette, method):
    response = await getattr(datasette.client, method)(JUDGE)
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"grade": "2"}, 400),
        ({"grade": ""}, 400),
        ({"search": ""}, 400),
        ({"search": "q=+&tag=x"}, 400),
        ({"key": "GONE"}, 404),
        ({"source": "elsewhere"}, 404),
    ],
)
async def test_an_invalid_judgment_is_refused(browser, indexed, changed, status):
    await browser.visit(f"{PAGE}?q=roof")
    await browser.post(JUDGE, {**browser.fields("CABIN"), "grade": "1", **changed}, status)
    assert stored(indexed) == []


@pytest.mark.parametrize("body", [b"", b"\xff\xfe=%ff&search=q%3D%ff", b"{}"])
async def test_a_body_that_is_not_a_form_is_refused(datasette, indexed, body):
    response = await datasette.client.post(JUDGE, content=body)
    assert response.status_code in (400, 404)
    assert stored(indexed) == []


@pytest.mark.parametrize("query", ["🏠 שלום", "a\x00b", "x" * 5000, "<script>alert(1)</script>"])
async def test_any_query_can_be_judged(browser, query):
    url = f"{PAGE}?{urlencode({'q': f'roof {query}'})}"
    page = await browser.visit(url)
    assert "<script>alert" not in page
    await browser.press("CABIN", "Right note")
    assert browser.pressed("CABIN") == ["Right note"]


async def test_an_index_that_cannot_be_written_gives_a_clear_error(browser, indexed):
    await browser.visit(f"{PAGE}?q=roof")
    with closing(sqlite3.connect(indexed)) as db:
        db.execute("drop table judgments")
    response = await browser.post(JUDGE, {**browser.fields("CABIN"), "grade": "1"}, 503)
    assert "saved. The index can" in response.text


async def test_an_index_without_judgments_is_searched_without_buttons(browser, indexed):
    with closing(sqlite3.connect(indexed)) as db:
        db.execute("drop table judgments")
    page = await browser.visit(f"{PAGE}?q=roof")
    assert "Cabin roof" in page
    assert "bear-judge" not in page


# In the sidecar


async def test_judgments_outlive_a_rebuild_and_a_note_that_went(
    browser, indexed, bear_index, write
):
    await browser.visit(f"{PAGE}?q=roof")
    await browser.press("CABIN", "Right note")
    write(*NOTES[1:])
    bear_index("--rebuild")
    assert stored(indexed) == [("roof", "bear", "CABIN", 1)]
    write(*NOTES)
    bear_index("--rebuild")
    await browser.visit(f"{PAGE}?q=roof")
    assert browser.pressed("CABIN") == ["Right note"]


async def test_a_removed_judgment_leaves_no_trace_in_the_file(browser, indexed):
    await browser.visit(f"{PAGE}?q=roof+unmistakable")
    await browser.press("CABIN", "Right note")
    assert b"unmistakable" in indexed.read_bytes()
    await browser.press("CABIN", "Right note")
    assert b"unmistakable" not in indexed.read_bytes()


async def test_judged_queries_are_read_with_the_notes_that_are_there(indexed):
    with closing(sqlite3.connect(indexed)) as db:
        judgments.store(db, "roof", "bear", "CABIN", judgments.THIS_WAS_IT)
        judgments.store(db, " roof ", "bear", "CHURCH", judgments.NOT_IT)
        judgments.store(db, "roof", "bear", "GONE", judgments.THIS_WAS_IT)
        judgments.store(db, "soup", "bear", "SOUP", judgments.NOT_IT)
        judgments.store(db, "gone", "bear", "GONE", judgments.THIS_WAS_IT)
        found = judgments.judged_queries(db)
        ids = dict(db.execute("select key, id from notes"))
    [query] = found.queries
    assert query.text == "roof"
    assert query.grades == {ids["CABIN"]: 1, ids["CHURCH"]: 0}
    assert found.left_out == 2
