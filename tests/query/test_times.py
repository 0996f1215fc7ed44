"""Times as people say them: which ones become a filter, and which span they mean."""

from datetime import datetime, timezone

import pytest
from datasette.app import Datasette

from datasette_bear_search.demo import BearNote
from datasette_bear_search.query import times
from datasette_bear_search.query.query import parse
from tests.support.client import page, titles

TODAY = datetime(2026, 11, 23)  # a Monday


def said(text: str) -> tuple | None:
    found = times.find(text)
    return found and (text[found.start : found.end].strip(), *map(short, found[2:4]), found.is_all)


def short(moment: datetime) -> str:
    return f"{moment:%y-%m-%d}"


def may(year: int) -> datetime:
    return datetime(year, 5, 2, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "time", "since", "until"),
    [
        ("what did I write last week about the cabin", "last week", "26-11-16", "26-11-23"),
        ("notes from last summer", "from last summer", "26-06-01", "26-09-01"),
        ("in March", "in March", "26-03-01", "26-04-01"),
        ("in December", "in December", "25-12-01", "26-01-01"),
        ("vor zwei Wochen", "vor zwei Wochen", "26-11-09", "26-11-16"),
        ("Last week", "Last week", "26-11-16", "26-11-23"),
        ("cabin notes from yesterday", "from yesterday", "26-11-22", "26-11-23"),
        ("what did we decide in March about the roof", "in March", "26-03-01", "26-04-01"),
        ("notes from 2023", "from 2023", "23-01-01", "24-01-01"),
        ("everything I wrote in 2024 about Lisbon", "in 2024", "24-01-01", "25-01-01"),
        ("meeting with Anna yesterday", "yesterday", "26-11-22", "26-11-23"),
        ("recipes from last month", "from last month", "26-10-01", "26-11-01"),
        ("my notes of last year", "of last year", "25-01-01", "26-01-01"),
        ("roof repair two weeks ago", "two weeks ago", "26-11-09", "26-11-16"),
        ("what did I note 3 days ago?", "3 days ago", "26-11-20", "26-11-21"),
        ("diary entries from the last 7 days", "from the last 7 days", "26-11-16", "26-11-24"),
        (
            "what have I written in the past two weeks",
            "in the past two weeks",
            "26-11-09",
            "26-11-24",
        ),
        ("what did I do last weekend", "last weekend", "26-11-21", "26-11-23"),
        ("ideas from last winter", "from last winter", "25-12-01", "26-03-01"),
        ("notes since March", "since March", "26-03-01", "26-11-24"),
        ("what did I read this year", "this year", "26-01-01", "27-01-01"),
        ("what did I write today", "today", "26-11-23", "26-11-24"),
        ("What did Anna say last Friday?", "last Friday", "26-11-20", "26-11-21"),
        ("notes from May 2024", "from May 2024", "24-05-01", "24-06-01"),
        ("journal in the summer of 2023", "in the summer of 2023", "23-06-01", "23-09-01"),
        ("the boiler, a year ago", "a year ago", "25-01-01", "26-01-01"),
        ("last week about the garden", "last week", "26-11-16", "26-11-23"),
        ("a couple of weeks ago cabin", "a couple of weeks ago", "26-11-09", "26-11-16"),
        ("what happened at the cabin last November", "last November", "25-11-01", "25-12-01"),
        ("Notizen von letzter Woche", "von letzter Woche", "26-11-16", "26-11-23"),
        ("was habe ich gestern geschrieben", "gestern", "26-11-22", "26-11-23"),
        ("was hatten wir im März über das Dach notiert", "im März", "26-03-01", "26-04-01"),
        ("Notizen aus dem letzten Sommer", "aus dem letzten Sommer", "26-06-01", "26-09-01"),
        ("Ideen vor drei Monaten", "vor drei Monaten", "26-08-01", "26-09-01"),
        ("letzte Woche", "letzte Woche", "26-11-16", "26-11-23"),
        ("Treffen mit Anna vorgestern", "vorgestern", "26-11-21", "26-11-22"),
        ("Was habe ich im letzten Jahr gelesen?", "im letzten Jahr", "25-01-01", "26-01-01"),
        ("Einträge aus 2023", "aus 2023", "23-01-01", "24-01-01"),
        ("in den letzten 14 Tagen notiert", "in den letzten 14 Tagen", "26-11-09", "26-11-24"),
        ("was habe ich diese Woche geschrieben", "diese Woche", "26-11-23", "26-11-30"),
        ("Hütte im letzten Winter", "im letzten Winter", "25-12-01", "26-03-01"),
        ("stuff from this month about taxes", "from this month", "26-11-01", "26-12-01"),
        (
            "what did I do the day before yesterday",
            "the day before yesterday",
            "26-11-21",
            "26-11-22",
        ),
        ("alles aus dem Jahr 2022", "aus dem Jahr 2022", "22-01-01", "23-01-01"),
        ("was stand letzte Woche an", "letzte Woche", "26-11-16", "26-11-23"),
        ("last summer at the lake", "last summer", "26-06-01", "26-09-01"),
        ("seit März notiert", "seit März", "26-03-01", "26-11-24"),
        ("Notizen aus dem März", "aus dem März", "26-03-01", "26-04-01"),
        ("the past two weeks", "the past two weeks", "26-11-09", "26-11-24"),
        ("notes of the last three days", "of the last three days", "26-11-20", "26-11-24"),
        ("meeting notes from Monday", "from Monday", "26-11-16", "26-11-17"),
        ("what did we decide on Tuesday", "on Tuesday", "26-11-17", "26-11-18"),
        ("was haben wir am Freitag besprochen", "am Freitag", "26-11-20", "26-11-21"),
        ("earlier this week", "earlier this week", "26-11-23", "26-11-30"),
    ],
)
def test_a_time_that_is_meant_becomes_a_filter(text, time, since, until):
    found = said(text)
    assert found is not None
    assert found[:3] == (time, since, until)


@pytest.mark.parametrize(
    "text",
    [
        "the March of the Penguins",
        "what grows in March",
        "when to plant tomatoes in May",
        "Last Week Tonight with John Oliver",
        "last week of pregnancy",
        "how long does paint last",
        "the last two weeks of pregnancy",
        "shops open on Sunday",
        "from Monday to Friday",
        "am Sonntag geöffnet",
        "notes on Monday.com",
        "ideas for dinner on Sunday",
        "what to cook this week",
        "plans for this summer",
        "summer tires",
        "Psychology Today",
        "Yesterday by the Beatles",
        "7 days to die",
        "the last year of school",
        "what happened in 1989",
        "recipes from the 80s",
        "winter of our discontent",
        "how do I protect roses in winter",
        "last year's tax return",
        "tomatoes in 2 weeks",
        "next week",
        "it may rain",
        "100 years ago",
        "a day in the life",
        "one week diet plan",
        "every last week of the month",
        "can I prune apple trees in August",
        "the best books of 2023",
        "budget 2024",
        "notes on August Strindberg",
        "notes from 2023 and 2024",
        "notes before last week",
        "May the force be with you",
        "die letzte Woche vor Weihnachten",
        "was wächst im März",
        "Rosen im Winter schützen",
        "Plan für diese Woche",
        "wann pflanze ich Tomaten im Mai",
        "Sommerreifen",
        "das letzte Jahr der Schule",
        "vor hundert Jahren",
        "der Sommer ihres Lebens",
        "Notizen über den Sommer",
        "flight on Monday",
        "the day after tomorrow",
        "open from March to October",
        "in memory of last summer's heat",
        "Winterreifen wechseln im Oktober",
        "the last of us",
        "what did I write about last summer",
        "compare last week and this week",
        "Notizen über letzte Woche",
        "What did Newcastle University win in 2000?",
        "How did the Blue Jackets perform in March",
        "How many shares did the company repurchase in 2008",
        "what did Priya say about Last Christmas",
    ],
)
def test_a_time_that_is_not_meant_stays_words(text):
    assert said(text) is None


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("what did I write last week about the cabin", "about the cabin"),
        ("Notes from last summer about the roof", "about the roof"),
        ("was habe ich gestern über das Dach geschrieben", "über das Dach"),
        ("what did we decide in March about the roof", "decide about the roof"),
        ("my new roof last year", "my new roof"),
        ("notes app last year", "notes app"),
    ],
)
def test_words_that_only_ask_for_notes_of_a_time_are_not_searched_for(text, searched):
    assert parse(text).meaning == searched


def test_a_time_is_taken_out_of_what_is_searched_for():
    query = parse("the cabin last week")
    assert query.meaning == "the cabin"
    [clause] = query.clauses
    assert (clause.kind, clause.label) == ("time", "time: last week")
    assert query.text_without(clause) == query.meaning
    assert len(query.filters.for_programs()["moments"]) == 1


@pytest.mark.parametrize(
    "text", ["notes from last summer", "what did I write last week?", "Notizen von gestern"]
)
def test_a_query_of_only_a_time_has_no_words(text):
    assert parse(text).substrings == ()


@pytest.mark.parametrize("text", ['cabin "last week"', "created:last week", '"notes from 2023"'])
def test_a_time_in_quotation_marks_or_of_an_operator_stays_there(text):
    assert all(clause.kind != "time" for clause in parse(text).clauses)


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_time_is_a_filter_unless_a_title_says_it(index_notes):
    path = index_notes(
        [
            BearNote("# Roof\n\nTiles.", created=may(2023), modified=may(2024)),
            BearNote("# Roof of old\n\nTiles.", created=may(2022)),
            BearNote("# Plan in March 2021\n\nTiles.", created=may(2025)),
            BearNote("# Budget 2023", created=may(2025)),
        ],
        "--no-semantic",
    )
    datasette = Datasette([str(path)])

    for year in (2023, 2024):  # created in one year, modified in the other
        assert await titles(datasette, q=f"notes from {year}") == ["Roof"]
    assert await titles(datasette, q="tiles that I noted in May 2022") == ["Roof of old"]
    assert "Plan in March 2021" in await titles(datasette, q="plan noted in March 2021")
    html = await page(datasette, q="notes from 2023")
    assert "time: from 2023" in html
