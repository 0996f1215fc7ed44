"""Times as people say them: which are filters, which are offered, and which span they mean.

Tests ``query/times.py``, too.
"""

import re
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from datasette.app import Datasette

from datasette_bear_search import Library
from datasette_bear_search.query import inferred_times, times
from datasette_bear_search.query.dates import utc
from datasette_bear_search.query.filters import Filters
from datasette_bear_search.query.query import parse
from tests.support.bear_database import BearNote
from tests.support.client import page
from tests.support.client import titles as titles_of

TODAY = datetime(2026, 11, 23)  # a Monday


def said(text: str) -> tuple[str, str, str] | None:
    """Return the time that a text asks for, and the days from which and before which it is."""
    found = inferred_times.find(text)
    if not found or not found.is_asked:
        return None
    return text[found.start : found.end].strip(), short(found.since), short(found.until)


def test_text_without_a_time_needs_no_pattern_of_times(monkeypatch):
    monkeypatch.setattr(times, "_patterns", None)
    assert inferred_times.find("How do I keep mice out of the cabin?") is None


def short(moment: datetime) -> str:
    return f"{moment:%y-%m-%d}"


def may(year: int) -> datetime:
    return datetime(year, 5, 2, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "time", "since", "until"),
    [
        ("what did I write last week about the cabin", "last week", "26-11-16", "26-11-23"),
        ("edited in 2022 about the cabin", "in 2022", "22-01-01", "23-01-01"),
        ("notes from last summer", "from last summer", "26-06-01", "26-09-01"),
        ("in March", "in March", "26-03-01", "26-04-01"),
        ("in December", "in December", "25-12-01", "26-01-01"),
        ("vor zwei Wochen", "vor zwei Wochen", "26-11-09", "26-11-16"),
        ("Last week", "Last week", "26-11-16", "26-11-23"),
        ("cabin notes from yesterday", "from yesterday", "26-11-22", "26-11-23"),
        ("notes from 2023", "from 2023", "23-01-01", "24-01-01"),
        ("everything I wrote in 2024 about Lisbon", "in 2024", "24-01-01", "25-01-01"),
        ("my notes of last year", "of last year", "25-01-01", "26-01-01"),
        ("what did I note 3 days ago?", "3 days ago", "26-11-20", "26-11-21"),
        ("diary entries from the last 7 days", "from the last 7 days", "26-11-16", "26-11-24"),
        (
            "what have I written in the past two weeks",
            "in the past two weeks",
            "26-11-09",
            "26-11-24",
        ),
        ("notes since March", "since March", "26-03-01", "26-11-24"),
        ("what did I write today", "today", "26-11-23", "26-11-24"),
        ("notes from May 2024", "from May 2024", "24-05-01", "24-06-01"),
        ("journal in the summer of 2023", "in the summer of 2023", "23-06-01", "23-09-01"),
        ("Notizen von letzter Woche", "von letzter Woche", "26-11-16", "26-11-23"),
        ("was habe ich gestern geschrieben", "gestern", "26-11-22", "26-11-23"),
        ("was hatten wir im März über das Dach notiert", "im März", "26-03-01", "26-04-01"),
        ("Notizen aus dem letzten Sommer", "aus dem letzten Sommer", "26-06-01", "26-09-01"),
        ("letzte Woche", "letzte Woche", "26-11-16", "26-11-23"),
        ("Einträge aus 2023", "aus 2023", "23-01-01", "24-01-01"),
        ("in den letzten 14 Tagen notiert", "in den letzten 14 Tagen", "26-11-09", "26-11-24"),
        ("was habe ich diese Woche geschrieben", "diese Woche", "26-11-23", "26-11-30"),
        ("stuff from this month about taxes", "from this month", "26-11-01", "26-12-01"),
        ("alles aus dem Jahr 2022", "aus dem Jahr 2022", "22-01-01", "23-01-01"),
        ("seit März notiert", "seit März", "26-03-01", "26-11-24"),
        ("Notizen aus dem März", "aus dem März", "26-03-01", "26-04-01"),
        ("the past two weeks", "the past two weeks", "26-11-09", "26-11-24"),
        ("notes of the last three days", "of the last three days", "26-11-20", "26-11-24"),
        ("meeting notes from Monday", "from Monday", "26-11-16", "26-11-17"),
        ("earlier this week", "earlier this week", "26-11-23", "26-11-30"),
        ("I wrote a letter last week", "last week", "26-11-16", "26-11-23"),
        ("notes from 3 May 2024 about bees", "from 3 May 2024", "24-05-03", "24-05-04"),
        ("what I wrote on May 3rd, 2024", "on May 3rd, 2024", "24-05-03", "24-05-04"),
        ("Notizen vom 3. Mai 2024", "vom 3. Mai 2024", "24-05-03", "24-05-04"),
        ("notes from 2024-05-03", "from 2024-05-03", "24-05-03", "24-05-04"),
        ("Einträge vom 3.5.2024", "vom 3.5.2024", "24-05-03", "24-05-04"),
        ("notes from the 31st of June 2024", "from the 31st of June 2024", "24-07-01", "24-07-02"),
        ("things I wrote in March 2024", "in March 2024", "24-03-01", "24-04-01"),
    ],
)
def test_notes_of_a_time_that_are_asked_for_are_filtered_by_it(text, time, since, until):
    assert said(text) == (time, since, until)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("what did we decide in March about the roof", "March (Mar 2026)"),
        ("meeting with Anna yesterday", "yesterday (22 Nov 2026)"),
        ("recipes from last month", "last month (Oct 2026)"),
        ("roof repair two weeks ago", "two weeks ago (9–15 Nov 2026)"),
        ("what did I do last weekend", "last weekend (21–22 Nov 2026)"),
        ("ideas from last winter", "last winter (Dec 2025 – Feb 2026)"),
        ("what did I read this year", "this year (2026)"),
        ("What did Anna say last Friday?", "last Friday (20 Nov 2026)"),
        ("the boiler, a year ago", "a year ago (2025)"),
        ("last week about the garden", "last week (16–22 Nov 2026)"),
        ("a couple of weeks ago cabin", "a couple of weeks ago (9–15 Nov 2026)"),
        ("what happened at the cabin last November", "last November (Nov 2025)"),
        ("Ideen vor drei Monaten", "vor drei Monaten (Aug 2026)"),
        ("Treffen mit Anna vorgestern", "vorgestern (21 Nov 2026)"),
        ("Was habe ich im letzten Jahr gelesen?", "letzten Jahr (2025)"),
        ("Hütte im letzten Winter", "letzten Winter (Dec 2025 – Feb 2026)"),
        ("what did I do the day before yesterday", "the day before yesterday (21 Nov 2026)"),
        ("was stand letzte Woche an", "letzte Woche (16–22 Nov 2026)"),
        ("last summer at the lake", "last summer (Jun–Aug 2026)"),
        ("what did we decide on Tuesday", "Tuesday (17 Nov 2026)"),
        ("was haben wir am Freitag besprochen", "Freitag (20 Nov 2026)"),
        ("Last Week Tonight with John Oliver", "Last Week (16–22 Nov 2026)"),
        ("Yesterday by the Beatles", "Yesterday (22 Nov 2026)"),
        ("last year's tax return", "last year (2025)"),
        ("what did Ann say on 12 June 2024", "12 June 2024 (12 Jun 2024)"),
        ("minutes of 12 May 2023 meeting", "12 May 2023"),
        ("Protokoll vom 12. Mai 2023", "12. Mai 2023 (12 May 2023)"),
        ("things from last summer that I miss", "last summer (Jun–Aug 2026)"),
        ("the best books of 2023", "2023"),
        ("notes before last week", "last week (16–22 Nov 2026)"),
        ("die letzte Woche vor Weihnachten", "letzte Woche (16–22 Nov 2026)"),
        ("in memory of last summer's heat", "last summer (Jun–Aug 2026)"),
        ("what did I write about last summer", "last summer (Jun–Aug 2026)"),
        ("Notizen über letzte Woche", "letzte Woche (16–22 Nov 2026)"),
        ("What did Newcastle University win in 2000?", "2000"),
        ("How did the Blue Jackets perform in March", "March (Mar 2026)"),
        ("How many shares did the company repurchase in 2008", "2008"),
        ("the check I wrote last week for the plumber", "last week (16–22 Nov 2026)"),
        ("everything last week went wrong", "last week (16–22 Nov 2026)"),
        ("what did we agree last week to write", "last week (16–22 Nov 2026)"),
        ("what did the minister note last week on pensions", "last week (16–22 Nov 2026)"),
        ("who wrote the memo last Friday", "last Friday (20 Nov 2026)"),
        ("wir haben letzte Woche den Vertrag erstellt", "letzte Woche (16–22 Nov 2026)"),
    ],
)
def test_a_time_of_something_else_is_offered(text, label):
    found = inferred_times.find(text)
    assert found is not None
    assert not found.is_asked
    assert found.label == label


@pytest.mark.parametrize(
    "text",
    [
        "the March of the Penguins",
        "what grows in March",
        "when to plant tomatoes in May",
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
        "7 days to die",
        "the last year of school",
        "what happened in 1989",
        "recipes from the 80s",
        "winter of our discontent",
        "how do I protect roses in winter",
        "tomatoes in 2 weeks",
        "next week",
        "it may rain",
        "100 years ago",
        "a day in the life",
        "one week diet plan",
        "every last week of the month",
        "can I prune apple trees in August",
        "budget 2024",
        "notes on August Strindberg",
        "notes from 2023 and 2024",
        "May the force be with you",
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
        "Winterreifen wechseln im Oktober",
        "the last of us",
        "compare last week and this week",
        "what did Priya say about Last Christmas",
        "minutes 12 May 2023",
        "12. Mai 2023",
        "2023-05-12",
    ],
)
def test_other_times_are_words(text):
    assert inferred_times.find(text) is None


@pytest.mark.parametrize(
    ("text", "searched"),
    [
        ("what did I write last week about the cabin", "about the cabin"),
        ("Notes from last summer about the roof", "about the roof"),
        ("was habe ich gestern über das Dach geschrieben", "über das Dach"),
        ("welche Notizen über das Dach habe ich gestern geändert", "über das Dach"),
        ("recipe I saved last month with chickpeas", "recipe I saved with chickpeas"),
        ("cabin notes from yesterday", "cabin"),
    ],
)
def test_words_that_only_ask_for_notes_of_a_time_are_not_searched_for(text, searched):
    assert parse(text).terms.meaning == searched


def test_a_time_that_is_asked_for_is_a_clause_with_its_dates():
    query = parse("notes from last week about the cabin")
    [clause] = query.clauses
    assert (clause.kind, clause.label) == ("time", "last week (16–22 Nov 2026)")
    assert query.text_without(clause) == "notes about the cabin"
    assert len(query.filters.for_programs()["moments"]) == 1


def test_a_time_of_something_else_leaves_the_search_as_it_is():
    text = "What did Ann bake at last weekend's fair?"
    query = parse(text)
    assert replace(query, time=None) == parse(text, has_times=False)


def test_a_time_is_read_beside_filters_and_phrases():
    assert parse("notes from last week tag:work -draft").terms.substrings == ()
    assert parse('"roof plan" notes from last week').terms.phrases == ("roof plan",)
    assert not parse('"the fair" last weekend').is_of_time


@pytest.mark.parametrize(
    "text", ["notes from last summer", "what did I write last week?", "Notizen von gestern"]
)
def test_a_query_of_only_a_time_has_no_words(text):
    assert parse(text).terms.substrings == ()


@pytest.mark.parametrize("text", ['cabin "last week"', "created:last week", '"notes from 2023"'])
def test_a_time_in_quotation_marks_or_of_an_operator_stays_there(text):
    assert all(clause.kind != "time" for clause in parse(text).clauses)


@pytest.mark.parametrize(
    ("value", "moments"),
    [
        ("2026-11", ("2026-11-01", "2026-12-01")),
        ("2026-11-21..2026-11-22", ("2026-11-21", "2026-11-23")),
        ("2024..", ("2024-01-01", "9999")),
        ("<2024", ("0", "2024-01-01")),
    ],
)
def test_date_means_created_or_modified_then(value, moments):
    query = parse(f"roof date:{value}")
    days = tuple(
        each if len(each) < 10 else utc(datetime.fromisoformat(each).astimezone())
        for each in moments
    )
    assert query.filters == Filters(moments=(days,))
    assert query.terms.words == ("roof",)


def sentences(kind: str) -> list[list[str]]:
    lines = (Path(__file__).parent / "times.tsv").read_text("utf-8").splitlines()
    return [line.split("\t")[1:] for line in lines if line.startswith(f"{kind}\t")]


@pytest.fixture
def answers(index_notes):
    """Return a library with the notes that answer the sentences."""
    notes = []
    for number, (_, day, text) in enumerate(sentences("written") + sentences("fact")):
        at = datetime.fromisoformat(f"{day}T12:00:00+00:00")
        notes.append(BearNote(f"# {number}\n\n{text}", created=at))
    return Library(index_notes(notes, "--no-semantic"))


def titles(library: Library, text: str) -> list[str]:
    return [hit.title for hit in library.search(text, limit=100)]


def test_notes_that_were_written_at_a_time_are_found(answers):
    filtered = 0
    for number, (text, *_) in enumerate(sentences("written")):
        found = answers.search(text, limit=100)
        assert str(number) in [hit.title for hit in found], text
        filtered += bool(found.results.plan.query.is_of_time)
    assert filtered >= 68  # of 78


def test_a_time_of_something_else_changes_no_rank(answers, monkeypatch):
    asked = sentences("fact")
    found = [titles(answers, text) for text, *_ in asked]
    monkeypatch.setattr(inferred_times, "find", lambda text: None)
    for number, (text, *_) in enumerate(asked, len(sentences("written"))):
        assert str(number) in found[0], text
        assert titles(answers, text) == found.pop(0), text


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
        assert await titles_of(datasette, q=f"notes from {year}") == ["Roof"]
    assert await titles_of(datasette, q="what did I note in May 2022 about tiles") == [
        "Roof of old"
    ]
    assert "Plan in March 2021" in await titles_of(datasette, q="notes from March 2021")
    html = await page(datasette, q="notes since May 2024")
    assert "since May 2024 (1 May 2024 – 23 Nov 2026)" in html


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_the_page_offers_notes_of_a_time_that_is_mentioned(index_notes):
    notes = [
        BearNote("# Cake\n\nAnn baked a plum cake.", created=may(2024)),
        BearNote(
            "# Fair\n\nAnn will bake.", created=datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
        ),
    ]
    datasette = Datasette([str(index_notes(notes, "--no-semantic"))])

    offer = r'<a href="[^"]*q=([^"&]*)" dir="auto">Only notes from ([^<]*)</a>'
    html = await page(datasette, q="What did Ann bake at last weekend's fair?")
    [(url, label)] = re.findall(offer, html)
    assert label == "last weekend (21–22 Nov 2026)"
    text = unquote_plus(url)
    assert text == "What did Ann bake at fair? date:2026-11-21..2026-11-22"
    narrower = await page(datasette, q=text)
    assert "note-2" in narrower
    assert "note-1" not in narrower
    assert "Only notes from" not in narrower
    # Nothing is offered that no note is from.
    assert "Only notes from" not in await page(datasette, q="What did Ann bake two weeks ago?")
