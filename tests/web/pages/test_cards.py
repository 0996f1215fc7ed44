"""What a result shows: words of the note, why it was found, where its links lead."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from html import unescape

import pytest
from datasette.app import Datasette

from datasette_bear_search.query.query import parse
from datasette_bear_search.sources.base import SourceConfig
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.web.pages.cards import create_links, open_link
from datasette_bear_search.web.requests.freshness import age
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import day

pytestmark = pytest.mark.datasette

NOW = datetime(2026, 11, 22, 10)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (timedelta(hours=1), "today"),
        (timedelta(hours=11), "yesterday"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=7), None),  # shown as a date instead
        (timedelta(days=-2), None),
    ],
)
def test_dates_are_relative_as_people_say_them(before, said):
    assert age((NOW - before).astimezone().isoformat(), NOW) == said


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("bear://x-callback-url/open-note?id=1", "Open in Bear"),
        ("obsidian://open?vault=v", "Open in Obsidian"),
        ("https://example.org/note", "Open the original"),
        ("file:///home/me/note.md", "Open the original"),
        ("javascript:alert(1)", None),
        ("JavaScript:alert(1)", None),
        (" javascript:alert(1)", None),
        ("java\nscript:alert(1)", None),
        ("data:text/html,<script>", None),
        ("/-/logout", None),
        (None, None),
    ],
)
def test_a_link_opens_an_app_and_never_runs_a_program_here(url, label):
    link = open_link(url)
    assert (link and link.label) == label


def test_the_link_names_the_app_that_the_source_names():
    link = open_link("https://example.org/note", "Craft")
    assert link is not None
    assert link.label == "Open in Craft"


LONG = "\n\n".join(
    f"## {heading}\n\nThe roof of the cabin leaks, says {heading}. {'The roof leaks. ' * 40}"
    for heading in ("Spring", "Summer", "Fall")
)


@pytest.fixture
def datasette(write, bear_index, sidecar_path) -> Datasette:
    write(
        BearNote(f"# Cabin roof\n\n{LONG}", tags=("cabin/repairs",), created=day(1)),
        BearNote("# Lentil soup\n\nRed lentils & carrots.", created=day(2), pinned=True),
        BearNote("# Old plans\n\nA roof garden.", created=day(3), archived=True),
        BearNote("# Bank codes", encrypted=True, created=day(4)),
        BearNote("# Tax", files=(BearFile("<scan>.png", ocr="plumber invoice"),)),
        BearNote("# شلوم السقف\n\nالسقف يسرب الماء", created=day(5)),
    )
    bear_index()
    return Datasette([str(sidecar_path)])


async def cards(datasette, query) -> list[str]:
    html = (await datasette.client.get(f"/-/bear-search?{query}")).text
    return re.findall(r'<li class="bear-card".*?</li>', html, re.DOTALL)


@pytest.mark.asyncio
async def test_a_title_leads_to_the_note_at_the_passage_that_matched(datasette):
    [first, *_] = await cards(datasette, "q=cabin+roof+leaks")
    url = unescape(re.search(r'class="bear-title" href="([^"]+)"', first).group(1))
    assert re.fullmatch(r"/-/bear-search/note/1\?q=cabin\+roof\+leaks&passage=\d+#passage", url)


@pytest.mark.asyncio
async def test_text_of_a_file_is_shown_below_its_name(datasette):
    [card] = await cards(datasette, "q=plumber&mode=keyword")
    assert '<span class="bear-heading">In &lt;scan&gt;.png</span>' in card
    note = (await datasette.client.get(re.search(r'href="([^"]+)"', card)[1])).text
    assert '<h2 dir="auto">&lt;scan&gt;.png</h2>' in note


@pytest.mark.asyncio
async def test_a_long_heading_leaves_room_for_the_answer(write, bear_index, sidecar_path):
    write(BearNote(f"# Pump\n\n## {'The well in the garden ' * 20}\n\nThe manometer burst."))
    bear_index()
    [card] = await cards(Datasette([str(sidecar_path)]), "q=manometer&mode=keyword")
    assert len(re.search(r'class="bear-heading">([^<]*)', card)[1]) <= 90


@pytest.mark.asyncio
async def test_a_title_that_matched_is_marked_once(datasette):
    [first, *_] = await cards(datasette, "q=lentil&mode=keyword")
    assert re.search(r'class="bear-title"[^>]*><mark>Lentil</mark> soup</a>', first)
    assert first.count("<mark>") == 1 or "bear-snippet" in first


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("q=lentil+soup", {"Title": "", "Words": " 1", "Meaning": " 1 · 1.00"}),
        ("q=lentils&mode=keyword", {"Words": " 1"}),
        ('q="roof+garden"&mode=keyword', {"Exact": "", "Words": " 1"}),
    ],
)
async def test_a_badge_says_why_a_note_was_found_and_its_ranks_on_demand(datasette, query, said):
    [first, *_] = await cards(datasette, query)
    badges = re.findall(
        r'class="bear-badge" title="[^"]+">(\w+)(?:<span class="bear-rank">([^<]+))?<', first
    )
    assert {name: re.sub(r"\d\.\d\d", "1.00", rank) for name, rank in badges} == said


@pytest.mark.asyncio
async def test_a_card_shows_the_notes_states(datasette):
    [bank] = await cards(datasette, "q=bank&mode=keyword")
    assert "encrypted: title only" in bank
    assert "bear-passage" not in bank
    assert "archived</span>" in (await cards(datasette, "archived=1"))[0]
    assert "pinned</span>" in (await cards(datasette, "pinned=1"))[0]


@pytest.mark.asyncio
async def test_dates_have_an_exact_tooltip(datasette):
    [card] = await cards(datasette, "pinned=1")
    assert 'datetime="2024-05-02T09:30:00Z" title="2 May 2024"' in card
    assert ">2 May 2024</time>" in card


@pytest.mark.asyncio
async def test_text_runs_in_its_own_direction(datasette):
    [card, *_] = await cards(datasette, "q=يسرب&mode=keyword")
    # If the link had a dir attribute, its text wouldn't determine the heading's direction.
    assert re.search(r'<h2 dir="auto">\s*<a class="bear-title" href="[^"]+">', card)
    assert re.search(r'<\w+ class="bear-snippet"[^>]*dir="auto"', card)


@pytest.mark.asyncio
async def test_an_address_that_would_run_code_is_not_a_link(datasette, sidecar_path):
    with sqlite3.connect(sidecar_path) as db:
        db.execute("update notes set url = 'javascript:alert(1)'")
    html = (await datasette.client.get("/-/bear-search?q=roof")).text
    assert "javascript:" not in html


@pytest.mark.asyncio
async def test_a_note_found_by_its_tag_shows_its_text(datasette):
    [card] = await cards(datasette, "q=repairs&mode=keyword")
    assert "[&quot;" not in card
    assert "[&#34;" not in card
    assert "The roof of the cabin leaks" in card


@pytest.mark.asyncio
async def test_a_result_names_all_sources_that_have_the_note(
    write, bear_index, sidecar_path, tmp_path
):
    write(BearNote("# Roof\n\nSlate tiles."), BearNote("# Beds\n\nKale, chard."))
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Roof.md").write_text("# Roof\n\nSlate tiles.")
    (folder / "Gutter.md").write_text("# Gutter\n\nLeaves and slate tiles.")
    bear_index()
    bear_index(path=folder)
    datasette = Datasette([str(sidecar_path)])
    html = (await datasette.client.get("/-/bear-search?q=slate+tiles&mode=keyword")).text
    sources = [
        " ".join(re.sub("<[^>]+>", "", source).split())
        for source in re.findall(
            r'<span class="bear-source".*?</span>(?=\s*<(?:span class="bear-badges|a))', html
        )
    ]
    assert sorted(sources) == ["🐻 bear and vault", "📄 vault"]
    assert html.count("Open in Bear") == 1


@pytest.mark.parametrize(
    ("text", "kind", "url"),
    [
        ("gift ideas", "bear", "bear://x-callback-url/create?title=gift%20ideas"),
        ('"gift ideas" tag:x', "bear", "bear://x-callback-url/create?title=gift%20ideas"),
        ("Q1/Q2: plan", "obsidian", "obsidian://new?vault=My%20vault&name=Q1%20Q2%20plan"),
        ("tag:x", "bear", None),
        ("gift", "markdown", None),
    ],
)
def test_a_new_note_has_the_words_as_its_title(text, kind, url):
    source = SourceConfig("Notes", kind, "/home/me/My vault")
    assert [link.url for link in create_links(parse(text), [source])] == ([url] if url else [])


@pytest.mark.asyncio
async def test_lines_that_are_run_together_have_a_dot_between_unless_a_sign_ends_them(
    write, bear_index, sidecar_path
):
    code = "```\nopen\n\nclose\n```"
    write(BearNote(f"# Sheds\n\n- a shelf\n- an **alarm**\n\nSweep it.\n\nTwice.\n\n{code}"))
    bear_index()
    [first, *_] = await cards(Datasette([str(sidecar_path)]), "q=alarm&mode=keyword")
    end = '<span class="bear-line"></span>\n'
    assert f"a shelf · an <mark>alarm</mark>{end}Sweep it.\nTwice." in first
    assert f"open{end}\nclose" in first  # not a second dot for the empty line
