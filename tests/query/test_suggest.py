"""Suggestions while somebody types in the search box: for any text, and through Datasette."""

import re
from contextlib import closing
from datetime import datetime, timezone
from urllib.parse import urlencode

import pytest
from datasette.app import Datasette
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.index.file import database
from datasette_bear_search.query.filter_values import read_operator
from datasette_bear_search.query.filters import operators
from datasette_bear_search.query.query import parse
from datasette_bear_search.query.suggest import SPANS, suggest, typed_at
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day, edit

NOTES = [
    BearNote(
        "# Cabin roof\n#cabin/repairs\n\nSee [[Roof plan]].",
        tags=("cabin/repairs",),
        created=day(1),
    ),
    BearNote("# Roof plan\n#cabin\n\nLeaks.", tags=("cabin",), created=day(2)),
    BearNote(
        "# Lentil soup, see [[Roof plan]]\n\n#recipes/soup#", tags=("recipes/soup",), created=day(3)
    ),
    BearNote(
        "# Proof of work",
        tags=("work/design system",),
        created=datetime(2021, 3, 10, tzinfo=timezone.utc),
    ),
    BearNote("# 100% rye", tags=("recipes",), created=datetime(2023, 3, 10, tzinfo=timezone.utc)),
    BearNote("# Évora in spring", tags=("c++", "2024 plans"), created=day(4)),
    BearNote("# 京都のメモ", created=day(5)),
    BearNote("# <img src=x onerror=alert(1)>", created=day(6)),
]
TODAY = datetime(2024, 5, 20)


@pytest.fixture
def connection(index_notes):
    with closing(database.connect(index_notes(NOTES, "--no-semantic"))) as connection:
        yield connection


@pytest.fixture
def labels(connection):
    """Return the labels of the suggestions at the "|" in a text, or at its end."""

    def read(text: str) -> list[str]:
        cursor = text.find("|") if "|" in text else len(text)
        found = suggest(connection, text.replace("|", ""), cursor).found
        return [suggestion.label for suggestion in found]

    return read


@pytest.fixture
def choose(connection):
    """Return the text after the first suggestion at the "|" is chosen."""

    def run(text: str) -> str:
        cursor = text.find("|") if "|" in text else len(text)
        text = text.replace("|", "")
        suggested = suggest(connection, text, cursor)
        return text[: suggested.start] + suggested.found[0].insert + text[suggested.end :]

    return run


# The word or value that is being typed


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("roof", "", "roof"),
        ("old roof", "", "roof"),
        ("tag:", "tag", ""),
        ("TAG:Work", "tag", "Work"),
        ("roof -tag:work/pro", "tag", "work/pro"),
        ("(tag:wo", "tag", "wo"),
        ("#", "tag", ""),
        ("#work/", "tag", "work/"),
        ("-#work", "tag", "work"),
        ('linked-to:"Roof p', "linked-to", "Roof p"),
        ("linked-to:“Roof p", "linked-to", "Roof p"),
        ('5" nail', "", "nail"),
        ("http:", "", "http:"),
        ("roof ", "", ""),
        ("", "", ""),
    ],
)
def test_the_word_at_the_cursor_is_completed(text, name, value):
    typed = typed_at(text, len(text))
    assert (typed.name, typed.value) == (name, value)


@pytest.mark.parametrize("text", ['"old ro', '"old roof"', "ro|of", "roof OR ("])
def test_nothing_is_completed_in_a_phrase_and_in_the_middle_of_a_word(text):
    cursor = text.find("|") if "|" in text else len(text)
    assert typed_at(text.replace("|", ""), cursor) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.text(alphabet=st.sampled_from('abé #:"“-(/.<>= \t京tagcreatedlinked'), max_size=40),
    st.data(),
)
def test_any_text_can_be_completed_anywhere(connection, text, data):
    cursor = data.draw(st.integers(0, len(text)))
    suggested = suggest(connection, text, cursor)
    assert 0 <= suggested.start <= cursor <= suggested.end <= len(text)


# Operators and their values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ta", ["tag:"]),
        ("tag", ["tag:"]),
        ("roof crea", ["created:"]),
        ("-sou", ["source:"]),
        ("LIN", ["linked-to:"]),
        ("t", []),
        ("what is", []),
        ("live in", []),
        ("", [f"{name}:" for name in operators()]),
    ],
)
def test_operators_are_offered_by_their_beginnings(labels, text, expected):
    assert [label for label in labels(text) if label.endswith(":")] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tag:ca", ["cabin", "cabin/repairs"]),
        ("tag:cabin/", ["cabin/repairs"]),
        ("tag:rep", ["cabin/repairs"]),
        ("tag:CABIN/R", ["cabin/repairs"]),
        ("#so", ["recipes/soup"]),
        ("tag:oup", ["recipes/soup"]),
        ("tag:up", []),
        ("source:", ["bear"]),
        ("source:B", ["bear"]),
        ("is:un", ["untagged"]),
        ("has:", list(operators()["has"].choices)),
        ("in:t", ["title", "trash"]),
        ("linked-to:", ["Roof plan"]),
        ('linked-to:"roof pl', ["Roof plan"]),
        ("linked-to:cabin", []),
    ],
)
def test_values_are_offered(labels, text, expected):
    assert labels(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("created:20", ["2024", "2023", "2021"]),
        ("created:2023-", ["2023-03"]),
        ("created:2023-0", ["2023-03"]),
        ("created:this", ["this-month", "this-year"]),
        ("created:last-y", ["last-year"]),
        (
            "created:2021..2023-0",
            ["2021..2023-09", "2021..2023-08", "2021..2023-07", "2021..2023-06"],
        ),
        ("created:2023..20", ["2023..2024", "2023..2023"]),
        ("created:>=202", [">=2024", ">=2023", ">=2022", ">=2021"]),
        ("before:2023-", ["2023-12", "2023-11", "2023-10", "2023-09"]),
    ],
)
def test_dates_are_offered_at_which_there_are_notes(labels, text, expected):
    assert labels(text)[:4] == expected


def test_suggestions_read_neither_every_note_nor_all_tags(connection):
    conditions, values = read_operator("tag", "recipes").conditions()
    counted = f"select count(*) from notes where {conditions[0]}"
    for sql, parameters in ((operators()["path"].completions, {}), (counted, values)):
        steps = connection.execute(f"explain query plan {sql}", parameters).fetchall()
        scans = [step for *_, step in steps if re.match("SCAN note", step)]
        assert all("COVERING INDEX notes_key" in step for step in scans), steps


def test_the_most_used_tags_come_first_each_with_the_number_of_notes_that_it_finds(connection):
    found = suggest(connection, "tag:", 4).found
    assert [(tag.label, tag.detail) for tag in found[:3]] == [
        ("cabin", "2 notes"),
        ("recipes", "2 notes"),
        ("2024 plans", "1 note"),
    ]


@pytest.mark.parametrize("text", ["tag:", "created:", "modified:20", "before:", "after:202"])
def test_the_count_of_a_value_is_that_of_its_search(connection, text):
    found = suggest(connection, text, len(text)).found
    assert found
    for value in found:
        conditions, parameters = parse(value.insert).filters.conditions()
        [count] = connection.execute(
            f"select count(*) from notes where {' and '.join(conditions)}", parameters
        ).fetchone()
        assert value.detail == f"{count} note{'' if count == 1 else 's'}"


def test_the_same_note_from_a_second_source_is_neither_offered_nor_counted(
    connection, sidecar_path
):
    edit(
        sidecar_path,
        "update notes set copy_of = (select id from notes where title = 'Roof plan') "
        "where title = 'Cabin roof'",
    )
    [cabin] = suggest(connection, "tag:cab", 7).found[:1]
    assert cabin.detail == "1 note"
    found = suggest(connection, "after:202", 9).found
    after = next(each for each in found if each.label == "2021")
    assert after.detail == f"{len(NOTES) - 1} notes"


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("ta", "tag:"),
        ("roof -ta", "roof -tag:"),
        ("tag:cabin/", "tag:cabin/repairs "),
        ("-#rep", "-#cabin/repairs "),
        ("(tag:rep|)", "(tag:cabin/repairs)"),
        ("tag:re|xyz roof", "tag:recipes roof"),
        ("tag:des", 'tag:"work/design system" '),
        ("#des", "#work/design system# "),
        ("tag:c+", "tag:c++ "),
        ("#c+", "#c++ "),
        # After "#", a tag can't begin with a digit.
        ("#2024", 'tag:"2024 plans" '),
        ('linked-to:"ro|"', 'linked-to:"Roof plan" '),
        ("roof   created:2023-0", "roof   created:2023-03 "),
    ],
)
def test_a_value_is_written_as_one_has_to_type_it(choose, text, chosen):
    assert choose(text) == chosen


@pytest.mark.parametrize("name", operators())
def test_every_suggested_value_is_parsed_as_its_operator(connection, name):
    text = f"{name}:"
    found = suggest(connection, text, len(text)).found
    assert found or name == "path"  # Bear has no folders
    for value in found:
        [token] = parse(value.insert).clauses
        assert (token.kind, token.value) == (name, value.label)


@pytest.mark.parametrize(
    "name", [n for n, operator in operators().items() if operator.kind == "date"]
)
@pytest.mark.parametrize("span", SPANS)
def test_every_span_is_a_date(name, span):
    assert read_operator(name, span)


@pytest.mark.parametrize("text", ["roof", "ROOF pl", "évo", "都", "100%"])
def test_titles_are_not_offered_because_they_are_the_results(labels, text):
    assert labels(text) == []


@pytest.mark.parametrize(
    "text", ["is:todo", "tag:cabin", "TAG:Cabin", "#recipes", "created:2024", "after:last-week"]
)
def test_nothing_is_offered_for_a_complete_value(labels, text):
    assert labels(text) == []


# Through Datasette


@pytest.fixture
def datasette(index_notes) -> Datasette:
    return Datasette([str(index_notes(NOTES, "--no-semantic"))])


async def answer(datasette, status=200, **parameters) -> dict:
    response = await datasette.client.get(f"/-/bear-search/suggest.json?{urlencode(parameters)}")
    assert response.status_code == status, response.text
    return response.json()


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_suggestions_are_json(datasette):
    assert await answer(datasette, q="roof tag:rep", cursor=12) == {
        "ok": True,
        "start": 5,
        "end": 12,
        "suggestions": [
            {
                "kind": "tag",
                "label": "cabin/repairs",
                "detail": "1 note",
                "insert": "tag:cabin/repairs ",
            }
        ],
    }


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_the_cursor_counts_characters_and_stands_at_the_end_by_default(datasette):
    data = await answer(datasette, q="🏡 tag:rep")
    assert (data["start"], data["end"]) == (2, 9)
    assert (await answer(datasette, q="🏡 tag:rep", cursor=6))["end"] == 9
    assert (await answer(datasette))["suggestions"]


@pytest.mark.datasette
@pytest.mark.asyncio
@pytest.mark.parametrize("cursor", ["-1", "5", "x", "1e3", "9" * 5000])
async def test_a_cursor_outside_the_text_is_an_error(datasette, cursor):
    data = await answer(datasette, status=400, q="roof", cursor=cursor)
    assert data["error"].startswith("cursor must be a number from 0 to 4")


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_people_who_may_not_see_the_notes_get_no_suggestions(datasette, sidecar_path):
    datasette = Datasette([str(sidecar_path)], metadata={"allow": {"id": "root"}})
    data = await answer(datasette, status=403, q="roof")
    assert data == {
        "ok": False,
        "error": "Permission denied",
        "errors": ["Permission denied"],
        "status": 403,
    }


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_without_notes_nothing_is_suggested():
    data = await answer(Datasette(memory=True), status=404, q="roof")
    assert "datasette bear-serve" in data["error"]
