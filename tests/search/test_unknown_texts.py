"""What the model doesn't know is found by its words, and is never close in meaning.

That is a text in characters that it doesn't know, which has no vector, and a note in a language
that it wasn't made for.

Tests ``index/run/calibration.py`` and ``embeddings/vocabulary.py``.
"""

from __future__ import annotations

import json
from contextlib import closing
from math import cos, radians, sin

import pytest
from datasette.app import Datasette

from datasette_bear_search import Library
from datasette_bear_search.cli import doctor
from datasette_bear_search.embeddings import registry
from datasette_bear_search.index.file import database, nearest
from datasette_bear_search.index.run import calibration, indexer
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.planning import planner
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library, day, edit
from tests.support.chosen_vectors import ChosenVectors
from tests.support.index_files import rows
from tests.support.tiny_embedder import TINY, TinyEmbedder

ROOF = BearNote("# Roof\n\nThe roof of the cabin leaks above the stove.")
TIFINAGH = BearNote("# ⵜⵉⴼⵉⵏⴰⵖ\n\nⵜⴰⵎⴰⵣⵉⵖⵜ ⵜⵓⵜⵍⴰⵢⵜ ⵏ ⵉⵎⴰⵣⵉⵖⵏ.")


# --- texts in characters that the model doesn't know


class Latin(TinyEmbedder):
    """The tiny model, which knows only texts that have more ASCII than other characters."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.embedded: list[str] = []

    def knows(self, texts: list[str]) -> list[bool]:
        return [sum(map(str.isascii, text)) * 2 >= len(text) for text in texts]

    def encode(self, texts: list[str], *, is_query: bool) -> list[list[float]]:
        self.embedded += texts
        return super().encode(texts, is_query=is_query)


@pytest.fixture
def latin() -> Latin:
    model = Latin(TINY)
    registry.register(TINY, lambda: model)
    return model


def vector_states(path) -> list[str]:
    return [state for (state,) in rows(path, "select vector_state from passages order by id")]


def test_passage_that_the_model_does_not_know_has_no_vector_and_does_not_wait_for_one(
    latin, write, bear_index, sidecar_path
):
    write(ROOF, TIFINAGH)
    output = bear_index().output
    assert "The model doesn't know most of the text of 1 passage" in output
    assert "1 passage embedded" in output
    assert rows(sidecar_path, "select count(*) from _vectors") == [(1,)]
    latin.embedded.clear()
    assert "doesn't know" not in bear_index().output
    assert not latin.embedded
    report = Library(sidecar_path).index()
    assert (report.pending, report.refused) == (0, 0)
    # The page shows a run's notices until the next one, and this needs nobody.
    assert not Library(sidecar_path).index(rebuild=True).notices
    [finding] = (each for each in doctor.examine(sidecar_path)["Index"] if each.name == "vectors")
    assert finding.ok is None
    assert "1 passage can only be found by words" in finding.says


def test_empty_note_has_no_vector_and_is_found_by_nothing(write, bear_index, sidecar_path):
    write(ROOF, BearNote("---"), BearNote("# c", created=day(2)))
    assert "doesn't know" not in bear_index().output
    assert sorted(vector_states(sidecar_path)) == ["embedded", "empty", "empty"]
    with Library(sidecar_path) as library:
        assert [hit.title for hit in library.search('"unclosed')] == ["Roof"]
        assert library.index().pending == 0


@pytest.mark.asyncio
async def test_status_counts_an_unknown_passage_neither_as_embedded_nor_as_pending(
    latin, write, bear_index, sidecar_path
):
    write(ROOF, TIFINAGH)
    bear_index()
    response = await Datasette([str(sidecar_path)]).client.get("/-/bear-search/status.json")
    assert response.json()["vectors"] == {"passages": 2, "embedded": 1, "pending": 0}
    assert response.json()["notices"] == []


def test_unknown_text_in_another_note_is_not_tried_again(latin, write, bear_index, sidecar_path):
    write(ROOF, TIFINAGH)
    bear_index()
    latin.embedded.clear()
    write(ROOF, TIFINAGH, BearNote(TIFINAGH.text, trashed=False, pinned=True))
    bear_index()
    assert not any("ⵜ" in text for text in latin.embedded)
    assert vector_states(sidecar_path) == ["embedded", "refused", "refused"]


def test_restricted_index_does_not_try_an_unknown_passage_again(
    latin, write, bear_index, sidecar_path
):
    write(ROOF, TIFINAGH, BearNote("# Diary\n#private\n\nDear diary.", tags=("private",)))
    bear_index()
    latin.embedded.clear()
    hidden = indexer.restricted_index(sidecar_path, ["private"])
    assert not any("ⵜ" in text for text in latin.embedded)
    assert vector_states(hidden) == ["embedded", "refused"]


def test_another_model_tries_an_unknown_passage_again(latin, write, bear_index, sidecar_path):
    write(ROOF, TIFINAGH)
    bear_index()
    registry.register("test/knows", lambda: TinyEmbedder("test/knows"))
    bear_index("--model", "test/knows", "--yes")
    assert vector_states(sidecar_path) == ["embedded", "embedded"]


@pytest.mark.parametrize("mode", ["auto", "hybrid", "semantic"])
def test_query_that_the_model_does_not_know_is_searched_by_its_words(
    latin, write, bear_index, sidecar_path, mode
):
    write(ROOF, TIFINAGH)
    bear_index()
    found = Library(sidecar_path).search("ⵜⴰⵎⴰⵣⵉⵖⵜ", mode=mode)
    assert [hit.title for hit in found] == ["ⵜⵉⴼⵉⵏⴰⵖ"]
    assert found.notices == (
        "Notes are found by their words only. The model test/tiny doesn't know most of these "
        "words.",
    )
    assert [hit.title for hit in Library(sidecar_path).search("leaking roof")] == ["Roof"]


def test_sql_of_a_search_runs_for_a_query_that_the_model_does_not_know(
    latin, write, bear_index, sidecar_path
):
    write(ROOF, TIFINAGH)
    bear_index()
    statement = Library(sidecar_path).search("roof").results.statement
    with open_sidecar(sidecar_path) as connection:
        parameters = {**statement.parameters, "q": "ⵜⴰⵎⴰⵣⵉⵖⵜ"}
        [row] = connection.execute(statement.sql, parameters).fetchall()
    assert row[1] == "ⵜⵉⴼⵉⵏⴰⵖ"


def test_index_of_nothing_that_the_model_knows_says_so(latin, write, bear_index, sidecar_path):
    write(TIFINAGH)
    bear_index()
    latin.embedded.clear()
    bear_index()
    assert not latin.embedded
    assert Library(sidecar_path).search("roof").notices == (
        "Notes are found by their words only. The model test/tiny doesn't know the script of these "
        "notes.",
    )
    [finding] = (each for each in doctor.examine(sidecar_path)["Index"] if each.name == "vectors")
    assert "--model intfloat/" in finding.mend


# --- notes in languages that the model wasn't made for

ENGLISH = "We have been painting the shed near the old orchard, and it was hot."
GERMAN = "Wir haben gestern den Schuppen am Waldrand gestrichen, und es war heiß."
FOREIGN = "insert or replace into meta values ('foreign_languages', ?)"


def vector(degrees: float) -> list[float]:
    return [cos(radians(degrees)), sin(radians(degrees)), *[0.0] * 6]


@pytest.fixture
def bilingual(tmp_path) -> Library:
    """Return a library whose German notes are nearest to any query."""
    titles = {
        "Schuppen": vector(5), "Wald": vector(10), "Shed": vector(15),
        **{f"Far {number}": vector(80 + number) for number in range(9)},
    }  # fmt: skip
    model = ChosenVectors("test/chosen", titles, {"hut": vector(60)}, vector(0))
    registry.register(model.name, lambda: model)
    bodies = {"Schuppen": GERMAN, "Wald": f"{GERMAN} Stove.", "Shed": ENGLISH}
    notes = [
        BearNote(f"# {title}\n\n{bodies.get(title, f'It is hot near {title}.')}")
        for title in titles
    ]
    source = bear_library(tmp_path / "database.sqlite", notes)
    path = tmp_path / "notes.db"
    indexer.index(path, [indexer.read(BearLibrary(source))], model)
    assert rows(path, "select distinct language from notes order by 1") == [("de",), ("en",)]
    edit(path, FOREIGN, json.dumps(["de"]))
    edit(path, "insert or replace into meta values ('thresholds', ?)", json.dumps({"en": 0.9}))
    return Library(path)


def by_kind(response) -> dict[bool, list[str]]:
    kinds: dict[bool, list[str]] = {True: [], False: []}
    for hit in response:
        kinds[hit.is_found].append(hit.title)
    return kinds


def test_note_in_a_foreign_language_is_not_found_by_meaning_alone(bilingual):
    for mode in ("hybrid", "semantic"):
        response = bilingual.search("where is the hut with the tools", mode=mode)
        found = by_kind(response)
        assert found[True] == ["Shed"]
        assert found[False][:2] == ["Schuppen", "Wald"]
        assert response.results.found == 1
        [why] = (hit.why for hit in response if hit.title == "Wald")
        assert why.startswith("loosely related, 2nd")


def test_note_in_a_foreign_language_is_found_by_its_words(bilingual):
    assert "Wald" in by_kind(bilingual.search("stove", mode="hybrid"))[True]


def test_query_of_symbols_is_close_to_nothing(bilingual):
    for text in ("→", "+ §", "🦷"):
        assert by_kind(bilingual.search(text, mode="hybrid"))[True] == []
    assert by_kind(bilingual.search("→ tools", mode="hybrid"))[True] == ["Shed"]


def test_notes_far_away_are_not_found_before_a_threshold_is_measured(bilingual):
    edit(bilingual.path, "delete from meta where key = 'thresholds'")
    response = bilingual.search("where is the hut with the tools", mode="hybrid")
    assert by_kind(response)[True] == ["Shed"]
    assert response.results.plan.threshold == 0.39


@pytest.mark.parametrize(("georgian", "threshold"), [(0.5, 0.39), (0.01, 0.2)])
def test_main_language_without_nonsense_has_no_other_ones_threshold(bilingual, georgian, threshold):
    edit(bilingual.path, "update meta set value = ? where key = 'thresholds'", '{"en": 0.2}')
    edit(
        bilingual.path,
        "update meta set value = ? where key = 'languages'",
        json.dumps({"en": 1 - georgian, "ka": georgian}),
    )
    with closing(database.connect(bilingual.path)) as connection:
        assert planner.threshold(connection, "ka") == threshold
        assert planner.threshold(connection, "en") == 0.2


def test_nothing_is_close_if_only_foreign_notes_are_near(bilingual):
    edit(bilingual.path, "update meta set value = ? where key = 'thresholds'", '{"en": 0.98}')
    response = bilingual.search("where is the hut with the tools", mode="hybrid")
    assert not by_kind(response)[True]
    assert any("close" in notice for notice in response.notices)


def test_chosen_threshold_counts_for_notes_in_any_language(bilingual):
    found = by_kind(bilingual.search("hut for the tools", mode="hybrid", min_similarity=0.9))
    assert found[True] == ["Schuppen", "Wald", "Shed"]


def test_language_of_the_model_changes_no_statement(bilingual):
    edit(bilingual.path, FOREIGN, "[]")
    assert "foreign_notes" not in bilingual.search("hut").results.statement.sql


@pytest.mark.parametrize(("share", "is_tested"), [(12, True), (11, False)])
def test_minor_language_is_tested_if_it_has_enough_notes(
    index_notes, share, is_tested, monkeypatch
):
    notes = [BearNote(f"# Day {n}\n\n{ENGLISH} {n}") for n in range(300 - share)]
    german = [BearNote(f"# Tag {n}\n\n{GERMAN} {n}") for n in range(share)]
    path = index_notes([*notes, *german], "--no-semantic")
    tested = []
    monkeypatch.setattr(calibration, "_fits", lambda _, __, language: tested.append(language))
    with closing(database.connect(path)) as connection:
        foreign = calibration.find_foreign_languages(connection, TinyEmbedder("test/undeclared"))
    assert foreign == tested == (["de"] if is_tested else [])


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("ar", "في المساء عاد الأطفال ببطء إلى البيت عبر المرج المبلل"),
        ("hi", "शाम को बच्चे गीले मैदान से होकर धीरे धीरे घर लौटे"),
        ("ka", "საღამოს ბავშვები ნელა დაბრუნდნენ სახლში სველი მინდვრის გავლით"),
    ],
)
def test_threshold_is_measured_with_nonsense_in_the_language_of_the_notes(
    index_notes, language, sentence
):
    path = index_notes([BearNote(f"# {n}\n\n{sentence} {n}.") for n in range(9)], "--model", TINY)
    asked = []

    class Asked(TinyEmbedder):
        def embed_queries(self, texts):
            asked.extend(texts)
            return super().embed_queries(texts)

    with closing(database.connect(path)) as connection:
        nearest.register(connection)
        measured = calibration.thresholds(connection, Asked(TINY))
    assert asked == [*calibration.unrelated(language)]
    # Where no nonsense is known, the threshold is the one of an index that isn't measured yet.
    assert [*measured] == ([language] if asked else [])
    assert bool(asked) == (language != "ka")
