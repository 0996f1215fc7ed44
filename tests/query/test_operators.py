"""Text that is typed into the search box, through the page and its JSON."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from datasette.app import Datasette

from datasette_bear_search.query.query import MODES
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import day
from tests.support.client import answer, page, titles

# The engine answers, whose answers are the same on both Datasettes (test_interfaces_agree.py).
pytestmark = pytest.mark.asyncio

NOTES = [
    BearNote(
        "# Cabin roof\n#cabin/repairs #two words#\n\nThe roof leaks. See [[Old plans]].",
        tags=("cabin/repairs", "two words"),
        created=day(1),
        modified=day(20),
    ),
    BearNote(
        "# Soup\n#recipes\n\nA roof of pastry on the soup. "
        "ISBN 978-0-306-40615-7, https://example.com.",
        tags=("recipes",),
        created=day(2),
    ),
    BearNote("# Church\n\nThe roof of the church, plan C.", created=day(3), pinned=True),
    BearNote(
        "# Old plans\n\nA roof garden, a draft.\n- [ ] ask\n- [x] draw",
        archived=True,
        created=day(4),
    ),
    BearNote(
        "# Programs\n#work\n\n```\nroof()\n```\n\nIn C++ a roof is a class.",
        tags=("work",),
        pinned_in=("work",),
        created=day(5),
    ),
    BearNote(
        "# Photos\n#work\n\nRoof ![](roof.png) [plan.pdf](plan.pdf)",
        tags=("work",),
        created=day(6),
        files=(BearFile("roof.png"), BearFile("plan.pdf", kind="file")),
    ),
    BearNote("# Thrown away\n\nAn old roof.", trashed=True, created=day(7)),
    BearNote("# Roof codes", encrypted=True, created=day(8)),
]

ALL = {
    "Cabin roof",
    "Soup",
    "Church",
    "Old plans",
    "Programs",
    "Photos",
    "Thrown away",
    "Roof codes",
}


@pytest.fixture
def datasette(index_notes) -> Datasette:
    return Datasette([str(index_notes(NOTES, "--include-trashed"))])


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        ("tag:cabin", {"Cabin roof"}),
        ("TAG:Cabin/Repairs", {"Cabin roof"}),
        ('tag:"two words"', {"Cabin roof"}),
        ("#two words#", {"Cabin roof"}),
        ("tag:“two words” tag:cabin", {"Cabin roof"}),
        ("tag:cab ", set()),
        ("tag:work tag:cabin", set()),
        ("#work", {"Programs", "Photos"}),
        ("-tag:work -#recipes", ALL - {"Programs", "Photos", "Soup"}),
        ("source:BEAR", ALL),
        ("source:bear source:notes", ALL),
        ("source:notes", set()),
        ("-source:bear", set()),
        ("is:pinned", {"Church", "Programs"}),
        ("-is:pinned", ALL - {"Church", "Programs"}),
        ("is:archived", {"Old plans"}),
        ("in:archive", {"Old plans"}),
        ("is:trashed", {"Thrown away"}),
        ("in:trash", {"Thrown away"}),
        ("-is:trashed -in:archive", ALL - {"Thrown away", "Old plans"}),
        ("is:todo", {"Old plans"}),
        ("is:done", {"Old plans"}),
        ("is:untagged", ALL - {"Cabin roof", "Soup", "Programs", "Photos"}),
        ("is:encrypted", {"Roof codes"}),
        ("has:todo", {"Old plans"}),
        ("has:image", {"Photos"}),
        ("has:files", {"Photos"}),
        ("has:code", {"Programs"}),
        ("has:link", {"Cabin roof", "Soup"}),
        ('linked-to:"old plans"', {"Cabin roof"}),
        ("linked-to:Soup", set()),
        ("created:2024-05-03", {"Church"}),
        ("created:2024-05-02..2024-05-03", {"Soup", "Church"}),
        ("created:2024 created:<=2024-05-02", {"Cabin roof", "Soup"}),
        ("created:2023", set()),
        ("-created:2024-05", set()),
        ("modified:2024-05-20", {"Cabin roof"}),
        ("after:2024-05-08", {"Cabin roof", "Roof codes"}),
        ("before:2024-05-03", {"Soup"}),
        ("created:last week", set()),
        ("-draft", ALL - {"Old plans"}),
        ('-"roof garden"', ALL - {"Old plans"}),
        ("-past*", ALL - {"Soup"}),
        ("-C++", ALL - {"Programs"}),
        ("-(draft OR soup)", ALL - {"Old plans", "Soup"}),
        ("in:title", {"Cabin roof", "Roof codes"}),
    ],
)
async def test_an_operator_narrows_every_mode(datasette, operators, expected):
    for mode in MODES:
        assert set(await titles(datasette, q=f"roof {operators}", mode=mode)) == expected, mode


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("garden OR church", {"Old plans", "Church"}),
        ("roof AND church", {"Church"}),
        ("(garden OR church) NOT draft", {"Church"}),
        ("roof NOT draft NOT church", ALL - {"Old plans", "Church"}),
        ("NEAR(roof church, 3)", {"Church"}),
        ("NEAR(roof leaks, 1) OR soup", {"Cabin roof", "Soup"}),
        ("in:title roof AND cabin", {"Cabin roof"}),
    ],
)
async def test_boolean_syntax_holds_in_every_mode(datasette, q, expected):
    for mode in ("auto", "hybrid", "keyword", "semantic"):
        assert set(await titles(datasette, q=q, mode=mode)) == expected, mode


async def test_boolean_syntax_that_nothing_fits_is_searched_for_as_words(datasette):
    data = await answer(datasette, q="church AND pastry", mode="keyword")
    assert {row["title"] for row in data["rows"]} == {"Church", "Soup"}
    assert "No note matches this combination" in data["notices"][0]


async def test_and_in_a_sentence_is_a_word(datasette):
    data = await answer(datasette, q="pros AND cons of a church")
    assert data["query"]["is_boolean"] is False
    assert "Church" in {row["title"] for row in data["rows"]}


@pytest.mark.parametrize(
    "q",
    ["tag:cabin roof", "roof -draft", "roof in:title", '-tag:"two words" roof', "roof AND church"],
)
async def test_view_as_sql_has_the_operators(datasette, sidecar_path, q):
    html = await page(datasette, q=q)
    url = unescape(re.search(r'<a href="([^"]+)">View as SQL', html).group(1))
    parameters = {name: value for name, [value] in parse_qs(urlsplit(url).query).items()}
    response = await datasette.client.get(
        f"/{sidecar_path.stem}.json",
        params={**parameters, "_shape": "array"},
        follow_redirects=True,
    )
    assert [row["title"] for row in response.json()] == await titles(datasette, q=q)


async def test_operators_and_parameters_hold_together(datasette):
    assert await titles(datasette, q="roof has:code", tag="work") == ["Programs"]
    assert await titles(datasette, q="roof is:pinned", pinned="0") == []


@pytest.mark.parametrize(
    ("q", "parameters"),
    [("is:pinned tag:work", {}), ("is:pinned", {"tag": "work"}), ("tag:work", {"pinned": 1})],
)
async def test_a_note_may_be_pinned_within_a_tag_that_is_asked_for(datasette, q, parameters):
    assert await titles(datasette, q=q, **parameters) == ["Programs"]
    assert await titles(datasette, q=f"roof {q}", **parameters) == ["Programs"]


async def test_a_tag_that_is_being_typed_stands_for_those_that_begin_so(datasette):
    found = ["Photos", "Programs"]
    assert await titles(datasette, q="tag:wor") == await titles(datasette, q="tag:wor*") == found
    assert sorted(await titles(datasette, q="roof #wor")) == found
    assert await titles(datasette, q="tag:wor ") == await titles(datasette, q="tag:wax") == []
    body = await answer(datasette, q="tag:wor")
    assert (body["found"], body["notices"]) == (2, [])
    assert body["query"]["clauses"][0]["label"] == "#wor*"


async def test_operators_alone_list_the_newest(datasette):
    assert await titles(datasette, q="tag:work") == ["Photos", "Programs"]
    assert (await titles(datasette, q="-draft"))[0] == "Cabin roof"


async def test_a_note_with_that_title_is_first_whatever_operators_are_typed(datasette):
    assert (await titles(datasette, q="is:todo old plans -soup"))[0] == "Old plans"


async def test_a_note_with_the_identifier_is_first(datasette):
    assert (await titles(datasette, q="church roof 978-0-306-40615-7"))[0] == "Soup"
    assert (await titles(datasette, q="C++ church roof"))[0] == "Programs"


async def test_the_answer_tells_how_the_text_was_read(datasette):
    q = 'tag:work "roof plan" C++ gard* -draft church'
    query = (await answer(datasette, q=q, pinned="0"))["query"]
    assert query["text"] == q
    assert query["meaning"] == "roof plan C++ gard church"
    assert query["words"] == ["church", "roof", "plan"]  # no note has the phrase
    assert query["prefixes"] == ["gard"]
    assert query["identifiers"] == ["C++"]
    assert query["excluded"] == ["draft"]
    assert query["is_boolean"] is query["in_title"] is False
    assert query["filters"] == {
        "tags": ["work"],
        "excluded": ["draft"],
        "without": [{"states": ["pinned"]}],
    }
    assert query["clauses"] == [
        {"kind": "tag", "value": "work", "label": "#work"},
        {"kind": "phrase", "value": "roof plan", "label": "“roof plan”"},
        {"kind": "not", "value": "draft", "label": "not draft"},
    ]


async def test_an_invalid_operator_gives_a_notice_that_it_is_searched_as_words(datasette):
    data = await answer(datasette, q="roof created:2024-13")
    assert data["rows"]
    assert "“created:2024-13” was searched for as text" in " ".join(data["notices"])


async def chips(datasette, query) -> dict[str, dict[str, list[str]]]:
    """Return the chips of the page, each with the parameters of its link."""
    html = await page(datasette, query)
    found = re.findall(r'<a class="bear-chip" href="([^"]+)"[^>]*><span[^>]*>(.*?)</span>', html)
    return {unescape(label): parse_qs(urlsplit(unescape(url)).query) for url, label in found}


async def test_clauses_are_shown_as_chips_that_can_be_removed(datasette):
    found = await chips(datasette, "q=tag:work+roof+-draft&mode=keyword&pinned=0&_next=1")
    beside = {"mode": ["keyword"], "pinned": ["0"]}
    assert found == {
        "#work": {"q": ["roof -draft"], **beside},
        "not draft": {"q": ["tag:work roof"], **beside},
        "not pinned": {"q": ["tag:work roof -draft"], "mode": ["keyword"]},
        "Search by: words only": {"q": ["tag:work roof -draft"], "pinned": ["0"]},
    }


async def test_removing_the_last_chip_leaves_an_empty_search(datasette):
    assert await chips(datasette, "q=is:pinned") == {"pinned": {}}


@pytest.mark.parametrize(
    ("beside", "typed"),
    [
        ("created_after=2024-12", "2024-12.."),
        ("created_before=2024-12", "<=2024-12"),
        ("created_after=2024-12&created_before=2024-12", "2024-12"),
        ("created_after=2023&created_before=2024-12", "2023..2024-12"),
        ("created_after=last-week", ">=last-week"),
    ],
)
async def test_dates_have_the_same_chip_beside_the_text_and_in_it(datasette, beside, typed):
    assert [*await chips(datasette, beside)] == [*await chips(datasette, f"q=created:{typed}")]


async def test_dates_in_the_wrong_order_have_a_chip(datasette):
    found = await chips(datasette, "created_after=2024&created_before=2023")
    assert found == {"created 2024..2023": {}}


async def test_chips_are_escaped(datasette):
    page = (await datasette.client.get("/-/bear-search?q=tag:<script>alert(1)</script>")).text
    assert "#&lt;script&gt;" in page
    assert "<script>alert" not in page


async def test_words_show_no_chips(datasette):
    assert await chips(datasette, "q=leaking+roof+AND+soup+in+the+cabin") == {}
