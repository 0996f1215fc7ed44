"""How a query is planned for the library and which notes rank first, through the JSON API.

Tests ``search/planning/planner.py``, ``search/planning/words.py`` and
``search/results/retrieve.py``.
"""

import json

import pytest
from datasette.app import Datasette

from datasette_bear_search import Library
from datasette_bear_search.index.run import calibration
from datasette_bear_search.search.planning import planner
from tests.support import client
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day
from tests.support.client import answer, page

pytestmark = pytest.mark.asyncio

NOTES = [
    BearNote("# Productivity\n\nProductivity is running a timer.", created=day(1)),
    BearNote("# Running shoes\n\nUniversities sell them, too.", created=day(2)),
    BearNote("# The roof\n\nOf the house and of the shed.", created=day(3)),
    BearNote("# House\n\nThe roof garden. A house with a roof, a house.", created=day(4)),
    BearNote("# 東京の旅行\n\n屋根の上の庭。", created=day(5)),
    BearNote("# Shed -l and \"roof\" tag:none\n\nText.", created=day(6)),
]  # fmt: skip


@pytest.fixture
def datasette(index_notes) -> Datasette:
    return Datasette([str(index_notes(NOTES))])


async def titles(datasette, q, mode="keyword", **parameters) -> list[str]:
    return await client.titles(datasette, q=q, mode=mode, **parameters)


@pytest.mark.parametrize(
    ("typed", "searched"),
    [
        ("productivty", "Productivity"),
        ("prodcutivity", "Productivity"),
        ("univrsities", "Universities"),
    ],
)
async def test_a_mistyped_word_is_corrected_with_a_notice(datasette, typed, searched):
    data = await answer(datasette, q=typed)
    assert data["query"]["corrections"] == [{"typed": typed, "searched": searched}]
    assert searched.lower() in data["rows"][0]["snippet"].lower().replace("<mark>", "").replace(
        "</mark>", ""
    )
    html = await page(datasette, q=typed)
    assert f"Showing results for <strong>{searched}</strong>" in html
    assert "correct=0" in html


async def test_a_correction_can_be_refused(datasette):
    assert (await answer(datasette, q="productivty", correct=0))["query"]["corrections"] == []


async def test_a_word_that_the_library_has_is_never_corrected(datasette):
    assert (await answer(datasette, q="shed"))["query"]["corrections"] == []


@pytest.mark.parametrize("q", ["producti", "universit", "runn*", "universit*", "runn shoes"])
async def test_the_beginning_of_a_word_finds_it_in_spite_of_stemming(datasette, q):
    assert {"Productivity", "Running shoes"} & set(await titles(datasette, q))


@pytest.mark.parametrize(
    ("q", "first"),
    [("run", "Running shoes"), ("prod", "Productivity"), ("hous", "House"), ("the ro", "The roof")],
)
async def test_a_note_whose_title_begins_as_typed_is_first(datasette, q, first):
    assert (await titles(datasette, q, mode="hybrid"))[0] == first


async def test_the_last_word_is_a_beginning_unless_a_space_follows(write, bear_index, sidecar_path):
    boiling = BearNote("# Custard\n\nBoil it. Boiling milk boils over.", created=day(1))
    write(boiling, BearNote("# Pressure\n\nOf the boiler.", created=day(2)))
    bear_index()
    datasette = Datasette([str(sidecar_path)])
    assert await titles(datasette, "boil") == ["Custard", "Pressure"]
    assert await titles(datasette, "boil ") == ["Custard"]
    assert await titles(datasette, '"of the boil') == ["Pressure"]


async def test_function_words_do_not_decide(datasette):
    assert (await titles(datasette, "what of the universities"))[0] == "Running shoes"
    assert (await answer(datasette, q="what of the shed"))["query"]["match"] == '"shed"'


async def test_a_query_of_function_words_alone_is_searched(datasette):
    assert await titles(datasette, "of the")


@pytest.mark.parametrize("q", ["The roof", "the ROOF", 'Shed -l and "roof" tag:none'])
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
async def test_a_note_whose_title_is_the_query_is_first(datasette, q, mode):
    assert (await titles(datasette, q, mode))[0].lower() == q.lower()


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
async def test_a_note_with_the_exact_phrase_is_first(datasette, mode):
    assert (await titles(datasette, '"roof garden" shed', mode))[0] == "House"


@pytest.mark.parametrize("q", ["東京", "屋根", "庭 roof"])
async def test_text_without_spaces_is_found(datasette, q):
    assert "東京の旅行" in await titles(datasette, q)


@pytest.mark.parametrize(
    ("q", "shape"),
    [
        ("roof", "keywords"),
        ("roof garden", "keywords"),
        ('"roof garden"', "literal"),
        ("how do I mend a roof", "sentence"),
    ],
)
async def test_the_shape_of_the_query_decides_the_balance(datasette, q, shape):
    assert (await answer(datasette, q=q))["query"]["shape"] == shape


async def test_the_balance_can_be_given(datasette):
    by_words = await answer(datasette, q="roof shed", balance="0")
    assert [row["keyword_rank"] for row in by_words["rows"] if row["keyword_rank"]][:2] == [1, 2]
    by_meaning = await answer(datasette, q="roof shed", balance="1", mode="hybrid")
    similarities = [row["similarity"] for row in by_meaning["rows"]]
    assert similarities == sorted(similarities, reverse=True)


async def test_rrf_can_be_asked_for(datasette):
    rows = (await answer(datasette, q="roof garden shed", fusion="rrf"))["rows"]
    scores = [row["rrf"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["score"] == rows[0]["rrf"]


@pytest.mark.parametrize(
    ("sort", "expected"), [("newest", "House"), ("oldest", "The roof"), ("title", "House")]
)
async def test_results_can_be_sorted(datasette, sort, expected):
    assert (await titles(datasette, "roof", sort=sort, tag="", created_before="2024-05-04"))[
        0
    ] == expected


async def test_recency_lifts_newer_notes(write, bear_index, sidecar_path):
    old = BearNote("# Roof plan\n\nroof roof", created=day(1))
    new = BearNote("# Plan\n\nThe roof, among other things that go on and on.", created=day(28))
    write(old, new)
    bear_index()
    datasette = Datasette([str(sidecar_path)])
    assert (await titles(datasette, "roof"))[0] == "Roof plan"
    scores = {
        row["title"]: row["score"] / row["blend"]
        for row in (await answer(datasette, q="roof", recency="3000"))["rows"]
    }
    assert scores["Plan"] > scores["Roof plan"]


@pytest.mark.parametrize(
    "parameters",
    [{"balance": "2"}, {"balance": "x"}, {"fusion": "sum"}, {"sort": "random"}, {"recency": "-1"}],
)
async def test_an_unknown_sort_order_is_a_400(datasette, parameters):
    response = await datasette.client.get("/-/bear-search.json", params={"q": "roof", **parameters})
    assert response.status_code == 400
    assert next(iter(parameters)) in response.json()["error"]


async def test_thresholds_are_measured_when_vectors_are_made(datasette):
    response = await datasette.client.get("/notes/meta.json?key=thresholds&_shape=array")
    assert 0 < json.loads(response.json()[0]["value"])["en"] < 1


async def test_a_query_that_is_close_to_nothing_says_so(
    write, bear_index, sidecar_path, monkeypatch
):
    monkeypatch.setattr(calibration, "thresholds", lambda connection, embedder: {"en": 0.999})
    write(*NOTES)
    bear_index()
    datasette = Datasette([str(sidecar_path)])
    data = await answer(datasette, q="purple monkey dishwasher flies")
    assert "No note matches closely." in data["notices"]
    data = await answer(datasette, q="purple monkey dishwasher flies over the roof")
    assert data["notices"] == ["No note matches closely. These contain some of your words."]
    assert (await answer(datasette, q="roof"))["notices"] == []  # found by its word


async def test_one_of_the_words_of_a_question_is_not_enough(datasette, monkeypatch):
    monkeypatch.setattr(planner, "threshold", lambda *arguments: 0.99)
    question = "which garden has productivity, universities, shoes and a timer for running"
    data = await answer(datasette, q=question, mode="hybrid")
    found = sorted(row["title"] for row in data["rows"] if row["is_found"])
    assert found == ["Productivity", "Running shoes"]
    assert data["found"] == 2
    weak = {row["title"]: row["keyword_rank"] for row in data["rows"] if not row["is_found"]}
    assert weak["House"]
    # Of two words that are as rare as each other, either suffices if the note is about it.
    few = await answer(datasette, q="garden productivity", mode="hybrid")
    found = {row["title"]: row["is_found"] for row in few["rows"]}
    assert (found["Productivity"], found["House"]) == (True, False)


async def test_a_word_that_most_notes_have_counts_beside_another_keyword(index_notes):
    notes = [
        BearNote(f"# Note {n}\n\nOn email {n}, and once more email.", created=day(n % 28 + 1))
        for n in range(220)
    ]
    both = BearNote("# Plan\n\nAll about email marketing.")
    apart = BearNote("# Shop\n\nMarketing of marketing, by email for marketing.")
    library = Library(index_notes([apart, *notes, both], "--no-semantic"))
    assert library.search("email marketing").hits[0].title == "Plan"
