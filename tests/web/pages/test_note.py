"""A note's page and its JSON, through Datasette.

Everything here runs on both of its versions.

Tests ``search/notes/detail.py``.
"""

import re
from html import unescape

import pytest
from datasette.app import Datasette

from datasette_bear_search.search.notes import similar
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.web.pages import similar as similar_page
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import day
from tests.support.client import get
from tests.support.datasettes import configured
from tests.support.unsafe_markdown import executable_parts, unsafe_notes

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

ROOF = BearNote(
    "# Cabin roof\n#cabin/repairs\n\nThe roof leaks above the stove, see [[Stove]] and "
    "[[Lost|gone]].\n\n"
    "## Plan for May\n\nReplace the flashing, then the leaking panel.\n- [ ] ask Hollis\n\n### "
    "Sheets\n\nTwelve.",
    tags=("cabin/repairs",),
    created=day(1),
    modified=day(2),
    pinned=True,
)
STOVE = BearNote(
    "# Stove\n\nBelow the leak, see [[Cabin roof/Plan for May|the plan]].", created=day(3)
)
BANK = BearNote("# Bank codes", encrypted=True, tags=("secret",), created=day(6))


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Raise a time limit, so that no test depends on the machine's speed."""
    monkeypatch.setattr(similar_page, "SIMILAR_TIME_LIMIT_MS", 10_000)


@pytest.fixture
def serve(write, bear_index, sidecar_path):
    """Index notes and serve them: ``serve(BearNote(...), ..., options=("--include-trashed",))``."""

    def serve_notes(*notes, options=(), **settings) -> Datasette:
        write(*notes)
        bear_index(*options)
        return Datasette([str(sidecar_path)], **settings)

    return serve_notes


@pytest.fixture
def ask(sidecar_path):
    """Return a function that runs SQL on the index and returns the first value."""

    def run(sql: str, *parameters):
        with sqlite3.connect(sidecar_path) as db:
            return db.execute(sql, parameters).fetchone()[0]

    return run


@pytest.fixture
def path(ask):
    """Return a function that returns the path of the note with a title."""

    def find(title: str) -> str:
        return f"/-/bear-search/note/{ask('select id from notes where title = ?', title)}"

    return find


@pytest.fixture
def passage_at(ask):
    """Return a function that returns the id of the passage with given words."""

    def find(words: str) -> int:
        return ask(
            "select passages.id from passages join notes on notes.id = note_id "
            "where instr(substr(body, start + 1, length), ?)",
            words,
        )

    return find


async def main(datasette, path, status=200, **options) -> str:
    """Return a page's HTML between Datasette's header and footer."""
    html = (await get(datasette, path, status, **options)).text
    return html[html.index("<main>") : html.index("</main>")]


async def answer(datasette, path, status=200, **options) -> dict:
    return (await get(datasette, f"{path}.json", status, **options)).json()


def links(html: str) -> dict[str, str]:
    """Return the links of a page: text → URL."""
    return {
        unescape(re.sub("<[^>]*>", "", text)).strip(): unescape(href)
        for href, text in re.findall(r'<a [^>]*?href="([^"]*)"[^>]*>(.*?)</a>', html, re.DOTALL)
    }


async def test_many_to_dos_are_counted_with_separators(serve, path):
    datasette = serve(BearNote("# Log\n" + "- [ ] again\n" * 1200))
    assert "1,200 open to-dos" in await main(datasette, path("Log"))


async def test_a_note_is_shown_with_what_belongs_to_it(serve, path):
    datasette = serve(ROOF, STOVE)
    html = await main(datasette, path("Cabin roof"))
    assert '<h1 dir="auto">Cabin roof</h1>' in html
    assert "pinned" in html
    assert '<time datetime="2024-05-02T09:30:00Z"' in html
    assert '<time datetime="2024-05-01T09:30:00Z"' in html
    assert "1 open to-do" in html
    assert "<span>Bear</span>" in html
    found = links(html)
    assert found["#cabin/repairs"] == "/-/bear-search?tag=cabin%2Frepairs"
    assert "#cabin" not in found  # the nested tag implies it
    assert found["Open in Bear"].startswith("bear://x-callback-url/open-note?id=")


async def test_a_tag_begins_with_its_sign_below_a_title_from_right_to_left(serve, path):
    html = await main(serve(BearNote("# שלום", tags=("cabin",))), path("שלום"))
    [tag] = re.findall(r'<a class="bear-tag"([^>]*)>#cabin</a>', html)
    assert 'dir="auto"' in tag


async def test_the_json_has_the_whole_note(serve, path, ask):
    datasette = serve(ROOF, STOVE)
    data = await answer(datasette, path("Cabin roof"))
    assert data["ok"] is True
    note = data["note"]
    stove = {"id": ask("select id from notes where title = 'Stove'"), "title": "Stove"}
    assert set(note) == {
        "id", "source", "key", "title", "url", "app", "tags", "created", "modified", "pinned",
        "archived", "trashed",
        "encrypted", "todos_open", "todos_done", "has_image", "has_file", "has_code", "soft_breaks",
        "body",
        "attachments", "files", "passages",
        "links", "backlinks",
    }  # fmt: skip
    assert note["tags"] == ["cabin", "cabin/repairs"]
    assert note["links"] == note["backlinks"] == [stove]
    assert {passage["heading"] for passage in note["passages"]} >= {"Plan for May"}
    for passage in note["passages"]:
        assert set(passage) == {"id", "heading", "start", "end"}
        assert note["body"][passage["start"] : passage["end"]].strip()


async def test_links_lead_to_the_notes_in_both_directions(serve, path):
    datasette = serve(ROOF, STOVE)
    roof = await main(datasette, path("Cabin roof"))
    assert roof.count(f'href="{path("Stove")}"') == 4  # in the text, from here, to here, like this
    assert ">Links</h2>" in roof
    assert ">Backlinks</h2>" in roof
    assert '<span class="bear-missing"' in roof
    stove = await main(datasette, path("Stove"))
    assert links(stove)["the plan"] == path("Cabin roof") + "#h-plan-for-may"
    assert 'id="h-plan-for-may"' in roof


async def test_the_outline_shows_levels(serve, path):
    html = await main(serve(ROOF), path("Cabin roof"))
    nav = html[html.index("<details") : html.index("</details>")]
    outer, inner = nav.index("#h-plan-for-may"), nav.index("#h-sheets")
    assert nav[outer:inner].count("bear-level-1") == 1
    assert "Outline" not in await main(serve(STOVE), path("Stove"))


async def test_the_passage_and_the_words_that_were_found_are_marked(serve, path, passage_at):
    datasette = serve(ROOF, STOVE)
    address = f"{path('Cabin roof')}?q=leak&passage={passage_at('flashing')}"
    html = await main(datasette, address)
    assert html.count('id="passage"') == 1
    marked = html[html.index('id="passage"') :]
    assert "Replace the flashing, then the <mark>leaking</mark> panel." in marked
    assert "The roof <mark>leaks</mark>" in html
    assert 'class="bear-match"' in html
    assert links(html)["Jump to match"] == "#passage"
    assert links(html)["Open in Bear"].endswith("&header=Plan%20for%20May")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=leak", {"leaks", "leaking"}),
        ("q=flash*", {"flashing"}),
        ("q=flashhing", {"flashing"}),  # a typo that the search corrects
        ("q=what+is+the+roof", {"roof"}),
        ("q=stove+-panel", {"stove", "Stove"}),
        ("q=tag:cabin+twelve", {"Twelve"}),
        ("q=quince", set()),
        ("q=%22", set()),
        ("", set()),
    ],
)
async def test_a_note_marks_the_words_that_the_search_found(serve, path, query, expected):
    datasette = serve(ROOF, STOVE)
    html = await main(datasette, f"{path('Cabin roof')}?{query}")
    text = html[html.index('class="bear-text"') : html.index('class="bear-around"')]
    assert set(re.findall("<mark>(.*?)</mark>", text)) == expected


async def test_words_are_marked_in_the_title_and_in_the_text_of_images(serve, path):
    scan = BearNote("# Roof <1>\n\n![](s.png)", files=(BearFile("s.png", ocr="roof & <gutter>"),))
    html = await main(serve(scan), path("Roof <1>") + "?q=roof")
    assert "<mark>Roof</mark> &lt;1&gt;</h1>" in html
    assert "<mark>roof</mark> &amp; &lt;gutter&gt;" in html


async def test_files_without_the_words_are_a_link_away(serve, path):
    files = (BearFile("s.png", ocr="roof"), BearFile("t.png", ocr="gutter"))
    datasette = serve(BearNote("# Roof\n\n![](s.png) ![](t.png)", files=files))
    found = await main(datasette, path("Roof") + "?q=roof")
    assert "gutter" not in found
    address = links(found)["… and 1 more"]
    assert address == f"{path('Roof')}#files"
    assert "gutter" in await main(datasette, path("Roof"))


@pytest.mark.parametrize("passage", ["", "0", "x", "99999", "-1", "1' or 1"])
async def test_a_passage_of_no_or_another_note_is_left_out(serve, path, passage):
    html = await main(serve(ROOF, STOVE), f"{path('Stove')}?passage={passage}")
    assert "bear-match" not in html
    assert "Below the leak" in html


async def test_the_way_back_leads_to_the_same_results(serve, path, ask):
    datasette = serve(ROOF)
    address = f"{path('Cabin roof')}?q=roof+%26+leak&tag=cabin&has=todo&passage=1"
    back = links(await main(datasette, address))["Back to results"]
    number = ask("select id from notes")
    assert back == f"/-/bear-search?q=roof+%26+leak&tag=cabin&has=todo#note-{number}"


async def test_notes_like_it_are_named_with_reasons(serve, path):
    porch = BearNote("# Porch\n\nWood.", tags=("cabin/repairs",), created=day(9))
    datasette = serve(
        ROOF, porch, *[BearNote(f"# {word}") for word in ("Quince", "Zither", "Fjord")]
    )
    html = await main(datasette, path("Cabin roof"))
    assert links(html)["Porch"] == path("Porch")
    assert "same tag #cabin/repairs" in html
    assert links(html)["All similar notes"].startswith("/-/bear-search/similar/")


async def test_notes_like_it_are_left_out_where_finding_them_takes_long(serve, path, monkeypatch):
    def slow(connection, note_id, size):
        return connection.execute(
            "with recursive n(x) as (select 1 union all select x + 1 from n) select max(x) from n"
        ).fetchall()

    monkeypatch.setattr(similar, "find_similar", slow)
    monkeypatch.setattr(similar_page, "SIMILAR_TIME_LIMIT_MS", 50)
    html = await main(serve(ROOF), path("Cabin roof"))
    assert "The roof leaks" in html
    assert links(html)["More like this"].startswith("/-/bear-search/similar/")


async def test_an_encrypted_note_shows_its_title_and_why(serve, path):
    html = await main(serve(BANK, ROOF), path("Bank codes") + "?q=codes")
    assert "Bank <mark>codes</mark></h1>" in html
    assert "This note is encrypted; only its title is indexed." in html
    assert "secret" not in html
    assert "2024" not in html
    assert "bear-text" not in html
    assert "Open in Bear" in links(html)


async def test_a_note_in_the_trash_or_the_archive_says_so(serve, path):
    datasette = serve(
        BearNote("# Old", archived=True),
        BearNote("# Gone", trashed=True),
        options=("--include-trashed",),
    )
    assert "archived" in await main(datasette, path("Old"))
    assert "in the trash" in await main(datasette, path("Gone"))


async def test_a_note_without_text_is_a_page(serve, path):
    assert "<h1" in await main(serve(BearNote("# Empty")), path("Empty"))


async def test_a_very_long_note_shows_a_part_and_a_notice(serve, path, passage_at):
    long = "# Log\n\n" + "\n\n".join(f"Entry {number}. " + "word " * 90 for number in range(600))
    datasette = serve(BearNote(long), options=("--no-semantic",))
    html = await main(datasette, f"{path('Log')}?q=entry&passage={passage_at('Entry 555.')}")
    assert re.search(
        r"This note is very long \([\d,]+ characters\); about 200,000 around the match are shown",
        html,
    )
    assert "<mark>Entry</mark> 555." in html
    assert "</mark> 0." not in html
    note = (await answer(datasette, path("Log")))["note"]
    assert "Entry 0." in note["body"]


async def test_an_address_that_would_run_code_is_not_a_link(serve, path, sidecar_path):
    datasette = serve(ROOF)
    with sqlite3.connect(sidecar_path) as db:
        db.execute("update notes set url = 'javascript:alert(1)'")
    assert "javascript:" not in await main(datasette, path("Cabin roof"))


# Missing notes and missing permissions


async def test_an_unknown_id_is_a_404(serve):
    datasette = serve(ROOF)
    for note in ("999", "0", "-1", "roof", "1.5", "9" * 30, "%D9%A1"):
        path = f"/-/bear-search/note/{note}"
        data = await answer(datasette, path, 404)
        assert data == {
            "ok": False,
            "error": data["error"],
            "errors": [data["error"]],
            "status": 404,
        }
        assert "This note is not in the index" in data["error"]
        html = await main(datasette, path, 404)
        assert "This note is not in the index" in html


@pytest.mark.parametrize("path", ["note/999", "similar/999", "file/999", "no-such-page"])
async def test_the_page_of_an_error_has_the_search_box(serve, path):
    page = await get(serve(ROOF), f"/-/bear-search/{path}?q=roof", 404)
    assert 'name="q"' in page.text
    assert '<p class="message-error" role="alert">' in page.text


async def test_without_a_sidecar_the_page_says_what_to_run():
    datasette = Datasette([])
    path = "/-/bear-search/note/1"
    assert "datasette bear-serve" in (await answer(datasette, path, 404))["error"]
    assert "datasette bear-serve" in await main(datasette, path, 404)


@pytest.mark.parametrize(("actor", "status"), [(None, 403), ("stranger", 403), ("owner", 200)])
async def test_only_people_who_may_view_the_database_may_read_notes(
    serve, path, sidecar_path, actor, status
):
    serve(ROOF)
    permissions = {"databases": {sidecar_path.stem: {"allow": {"id": "owner"}}}}
    datasette = configured([sidecar_path], permissions)
    for address in (path("Cabin roof"), path("Cabin roof") + ".json"):
        response = await get(datasette, address, status, actor=actor)
        assert ("leaks" in response.text) is (status == 200)
    # The answer doesn't reveal which notes exist.
    if status == 403:
        missing = await get(datasette, "/-/bear-search/note/999.json", 403, actor=actor)
        assert missing.json()["error"] == "Permission denied"


async def test_an_index_that_is_not_whole_is_a_clear_message(serve, path, sidecar_path):
    datasette = serve(ROOF)
    address = path("Cabin roof")
    with sqlite3.connect(sidecar_path) as db:
        db.execute("drop table links")
    assert "can't be read" in (await answer(datasette, address, 503))["error"]
    assert "can't be read" in unescape(await main(datasette, address, 503))


async def test_links_keep_the_base_url(serve, path):
    datasette = serve(ROOF, STOVE, settings={"base_url": "/prefix/"})
    html = (await get(datasette, path("Cabin roof") + "?q=roof")).text
    addresses = re.findall(r'(?:href|action)="(/[^"]*)"', html)
    assert f"/prefix{path('Stove')}?q=roof" in addresses
    assert "/prefix/-/bear-search?tag=cabin%2Frepairs" in addresses
    assert [address for address in addresses if not address.startswith("/prefix/")] == []


# Safety


async def test_nothing_that_people_paste_can_run(serve, sidecar_path):
    bodies = unsafe_notes()
    # Not only texts, but also titles, and tags as sources other than Bear may have them.
    notes = [
        BearNote(
            f"# {body.splitlines()[0]}\n\n{body}",
            id=str(number),
            tags=(body.replace("/", "")[:60],),
        )
        for number, body in enumerate(bodies)
        if number % 40 == 0
    ]
    notes.append(BearNote("# All\n\n" + "\n\n".join(bodies[::7])))
    datasette = serve(*notes, options=("--no-semantic",))
    with sqlite3.connect(sidecar_path) as db:
        ids = [note_id for (note_id,) in db.execute("select id from notes")]
    assert len(ids) == len(notes)
    for note_id in ids:
        html = await main(datasette, f"/-/bear-search/note/{note_id}?q=window+x+label")
        assert executable_parts(html) == []


async def test_the_content_security_policy_allows_no_other_site(serve, path):
    response = await get(serve(ROOF), path("Cabin roof"))
    assert "img-src 'self' data:" in response.headers["content-security-policy"]
    assert '<meta name="referrer" content="same-origin">' in response.text
    assert (
        "<script"
        not in response.text[response.text.index("<main>") : response.text.index("</main>")]
    )
    assert (
        " style="
        not in response.text[response.text.index("<main>") : response.text.index("</main>")]
    )


async def test_browsers_may_cache_the_style_sheet_for_good(serve):
    html = (await get(serve(ROOF), "/-/bear-search")).text
    response = await get(serve(ROOF), re.search(r'"(/-/bear-search/static/[^"]*css)"', html)[1])
    assert "immutable" in response.headers["cache-control"]
    assert b"url(" not in response.content
    assert b"@import" not in response.content
    other = await get(serve(ROOF), "/-/bear-search/static/bear.0123abcd.css")
    assert "cache-control" not in other.headers
    await get(serve(ROOF), "/-/bear-search/static/nothing.0123abcd.css", 404)


async def test_a_title_that_was_cut_is_shown_whole_and_once(serve):
    titles = [" ".join(f"{word}{n}" for n in range(60)) for word in ("roof", "stove")]
    datasette = serve(
        BearNote(f"{titles[0]}\n\nBelow it."), BearNote(f"# {titles[1]}\n\nUnder it.")
    )
    for number, word in enumerate(("roof", "stove"), start=1):
        for headers in ({}, {"Bear-Search-Preview": "1"}):
            page = await get(datasette, f"/-/bear-search/note/{number}", headers=headers)
            [whole] = [heading for heading in HEADINGS.findall(page.text) if f"{word}3 " in heading]
            assert f"{word}59" in whole
            body = page.text.partition('<div class="bear-text">')[2].partition("bear-around")[0]
            assert word not in body
    card = (await get(datasette, "/-/bear-search?q=roof59")).text
    snippet = card.partition('<p class="bear-snippet"')[2].partition("</p>")[0]
    assert "<mark>roof59</mark>" in snippet
    assert "roof3 " not in snippet
    markdown = (await get(datasette, "/-/bear-search/note/1.md")).text
    assert markdown == f"# {titles[0]}\n\nBelow it."


HEADINGS = re.compile(r"<h[12][^<>]*>(?:<a [^<>]*>)?([^<>]*)<")


async def test_a_note_marks_the_sentence_that_its_address_names(serve):
    note = BearNote("# Roof\n\nIt leaks. Ask *Hollis* about it. Or not.")
    datasette = serve(note)
    page = (await get(datasette, "/-/bear-search/note/1?q=it&sentence=10-32")).text
    marked = re.findall('<span class="bear-sentence">(.*?)</span>', page)
    assert marked == ["Ask ", "Hollis", " about <mark>it</mark>."]
    for wrong in ("9-", "99999999-2", "a", "5-5"):
        page = (await get(datasette, f"/-/bear-search/note/1?sentence={wrong}")).text
        assert "bear-sentence" not in page
