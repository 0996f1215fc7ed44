"""How a score comes about: each number of docs/ranking.md, computed again in plain Python.

The first part is the ranking in plain Python, the second the notes, the third compares. None of it
calls the code that it checks. All vectors are in one plane, so that a note's vector is an angle to
the query's, and the cosine of two vectors is that of the difference of their angles.

Tests ``search/ranking/statement.py`` and ``search/ranking/scores.py``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import product
from math import atan2, cos, degrees, log, radians, sin, sqrt
from pathlib import Path
from random import Random

import pytest

from datasette_bear_search import Library
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.rerankers import Reranker
from datasette_bear_search.index.file import database, nearest
from datasette_bear_search.index.run import calibration, indexer
from datasette_bear_search.search.planning import planner, word_forms
from datasette_bear_search.search.results.records import Hit
from datasette_bear_search.search.results.rerank import rerank
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import bear_library, edit
from tests.support.chosen_vectors import ChosenVectors

# --- the ranking in plain Python


@dataclass(frozen=True)
class Sample:
    """A note: its words, and the angle of its vector to that of every query, in degrees."""

    title: str
    body: str
    angle: float
    tags: tuple[str, ...] = ()
    image: str = ""  # words that were recognized in an image
    days: float = 0  # since it was changed


Scores = dict[str, float]  # by title


def columns(note: Sample) -> tuple[str, str, str, str]:
    return note.title.lower(), note.body, " ".join(note.tags), note.image


@cache
def count(words: str, text: str) -> int:
    return len(re.findall(rf"\b{words}\b", text))


@cache
def idf(words: str, notes: tuple[Sample, ...]) -> float:
    """Return the inverse document frequency of a word or phrase."""
    having = sum(any(count(words, column) for column in columns(note)) for note in notes)
    return max(log((len(notes) - having + 0.5) / (having + 0.5)), 1e-6)


def bm25(words: Sequence[str], notes: tuple[Sample, ...], *, phrase: bool = True) -> Scores:
    """Return FTS5's BM25, with k1 = 1.2 and b = .75, of each note that has any of the words."""
    lengths = {note.title: len(" ".join(columns(note)).split()) for note in notes}
    average = sum(lengths.values()) / len(notes)
    scores = dict.fromkeys(lengths, 0.0)
    # Two to four words in a row count as one more.
    terms = [*words, " ".join(words)] if phrase and 2 <= len(words) <= 4 else words
    for note, word in product(notes, terms):
        in_title, in_body, in_tags, in_image = (count(word, column) for column in columns(note))
        often = 3 * in_title + in_body + 3 * in_tags + 0.5 * in_image
        length = 0.25 + 0.75 * lengths[note.title] / average
        scores[note.title] += idf(word, notes) * often * 2.2 / (often + 1.2 * length)
    return {title: score for title, score in scores.items() if score}


def normalizer(words: Sequence[str], notes: tuple[Sample, ...]) -> float:
    """Return seven tenths of the most that the words can score, which is 2.2 times their idf."""
    return 0.7 * sum(2.2 * idf(word, notes) for word in words)


def by_words(bm25: Scores, normalizer: float) -> Scores:
    best = max(*bm25.values(), normalizer)
    return {title: score / best for title, score in bm25.items()}


def cosine(one: float, other: float = 0.0) -> float:
    return cos(radians(one - other))


def by_meaning(angles: Scores, query: float = 0.0) -> Scores:
    cosines = {title: cosine(angle, query) for title, angle in angles.items()}
    best = max(cosines.values())
    return {title: (cosine + 1) / (best + 1) for title, cosine in cosines.items()}


def blended(balance: float, meaning: Scores, words: Scores) -> Scores:
    return {
        title: balance * score + (1 - balance) * words.get(title, 0)
        for title, score in meaning.items()
    }


def refined(balance: float, blend: Scores, angles: Scores) -> Scores:
    """Return the blend after pseudo-relevance feedback and score regularization."""
    # Feedback: half of the first three notes' mean, in which the first counts most, is added to the
    # query. So its angle turns toward theirs.
    x, y = 1.0, 0.0
    for title, share in zip(highest(blend), (6 / 11, 3 / 11, 2 / 11)):
        x += 0.5 * share * cos(radians(angles[title]))
        y += 0.5 * share * sin(radians(angles[title]))
    before, after = by_meaning(angles), by_meaning(angles, degrees(atan2(y, x)))
    scores = {
        title: score + balance * (after[title] - before[title]) for title, score in blend.items()
    }
    # Regularization: among the first thirty, each moves by three tenths toward its five neighbors.
    first = highest(scores)[:30]
    moved = dict(scores)
    for title in first:
        others = {each: max(0.0, cosine(angles[each], angles[title])) for each in first}
        del others[title]
        near = {each: others[each] ** 2 for each in highest(others)[:5]}
        if total := sum(near.values()):
            mean = sum(weight * scores[each] for each, weight in near.items()) / total
            moved[title] += 0.3 * (mean - scores[title])
    return moved


def highest(scores: Scores) -> list[str]:
    return sorted(scores, key=lambda title: -scores[title])


def ranks(scores: Scores) -> dict[str, int]:
    return {
        title: 1 + sum(other > score for other in scores.values())
        for title, score in scores.items()
    }


# --- the notes

NOW = datetime.now(timezone.utc)
HARBOR = (
    Sample("Bread", "flour and salt", 0),
    Sample("Quay", "harbor wall", 20),
    Sample("Pier", "dock", 35, tags=("harbor",)),
    Sample("Lamp", "harbor lantern lantern", 48, days=100),
    Sample("Dock", "pier", 56.35, image="harbor"),
    Sample("Tower", "lantern on a high wall of old stones above the sea", 56.45, days=1000),
    Sample("Old harbor", "quay", 70, days=200),
    Sample("Harbor ferry", "ferry and lantern harbor", 84),
    Sample("Crossing", "ferry ferry ferry", 100),
    Sample("Office", "harbormaster", 120),
    Sample("Soup", "beans", 130),
    Sample("Garden", "peas and beans", 62),
    Sample("Chess", "a queen and a rook", 76),
    Sample("Piano", "scales", 90),
    Sample("Stamps", "a blue one", 108),
    Sample("Yoga", "stand on one leg", 140),
)
ANGLES = {note.title: note.angle for note in HARBOR}

# Nonsense is as near to the nearest note, Bread, as the cosine says: .3 or .5, each in turn.
NEAR_BY_CHANCE = (0.3, 0.5)


def vector(angle: float) -> list[float]:
    return [cos(radians(angle)), sin(radians(angle)), *[0.0] * 6]


def indexed(folder: Path, notes: Sequence[Sample], sections: Scores | None = None) -> Library:
    """Index notes with vectors of these angles; below some headings, with those of ``sections``."""
    angles = {note.title: note.angle for note in notes} | (sections or {})
    titles = {title: vector(angle) for title, angle in angles.items()}
    unrelated = {
        text: [near, 0.0, sqrt(1 - near**2), *[0.0] * 5]
        for text, near in zip(calibration.unrelated(), NEAR_BY_CHANCE * 12)
    }
    name = f"test/{folder.name}"
    embedder = ChosenVectors(name, titles, unrelated, vector(0))
    registry.register(name, lambda: embedder)
    source = bear_library(folder / "database.sqlite", [as_bear_note(note) for note in notes])
    indexer.index(folder / "notes.db", [indexer.read(BearLibrary(source))], embedder)
    return Library(folder / "notes.db")


def as_bear_note(note: Sample) -> BearNote:
    return BearNote(
        f"# {note.title}\n\n{note.body}",
        tags=note.tags,
        files=(BearFile("scan.png", note.image),) if note.image else (),
        modified=NOW - timedelta(days=note.days),
    )


@pytest.fixture(scope="module")
def harbor(tmp_path_factory) -> Library:
    return indexed(tmp_path_factory.mktemp("harbor"), HARBOR)


def found(library: Library, query: str, limit: int = 100, **parameters) -> dict[str, Hit]:
    hits = library.search(query, limit=limit, **parameters)
    return {hit.title: hit for hit in hits}


def near(scores: Scores) -> Scores:
    # Vectors and similarities are stored with seven digits.
    return {title: pytest.approx(score, abs=1e-6) for title, score in scores.items()}


def blends(hits: Mapping[str, Hit]) -> Scores:
    return {title: hit.blend for title, hit in hits.items()}


def scores(hits: Mapping[str, Hit]) -> Scores:
    return {title: hit.score for title, hit in hits.items()}


# --- words


@pytest.mark.parametrize("query", ["harbor ", "lantern ", "harbor ferry", "sea lantern harbor"])
def test_column_weights_are_3_for_titles_and_tags_and_half_for_images(harbor, query):
    words = query.split()
    expected = by_words(bm25(words, HARBOR), normalizer(words, HARBOR))
    assert blends(found(harbor, query, mode="keyword")) == near(expected)


def test_best_of_poor_matches_is_measured_against_seven_tenths_of_what_words_can_score(harbor):
    words = ["harbor", "sea", "flour", "leg"]  # no note has more than one of them
    best, normalizer_ = max(bm25(words, HARBOR).values()), normalizer(words, HARBOR)
    assert best < normalizer_
    hits = found(harbor, " ".join(words), mode="keyword")
    assert max(blends(hits).values()) == pytest.approx(best / normalizer_)


def test_compound_is_measured_against_what_its_rarest_part_can_score(harbor):
    limit = normalizer(["flour", "sea"], HARBOR)  # "leg" is as rare
    expected = by_words(bm25(["flour", "sea", "leg"], HARBOR), limit)
    assert max(expected.values()) < 1
    assert blends(found(harbor, "flour sea-leg", mode="keyword")) == near(expected)


def test_longer_word_counts_a_quarter_of_the_word_itself(harbor):
    expected = bm25(["harbor"], HARBOR)
    expected["Office"] = 0.25 * bm25(["harbormaster"], HARBOR)["Office"]
    hits = found(harbor, "harbor", mode="keyword")
    assert blends(hits) == near(by_words(expected, normalizer(["harbor"], HARBOR)))


def test_parts_of_words_are_ranked_by_title_then_by_age(harbor):
    # 1, and 1 more in the title; the newest has up to a thousandth more than the oldest.
    hits = found(harbor, "ferr", mode="like")
    assert blends(hits) == near({"Harbor ferry": 1, "Crossing": (1 - 0.001 / 2) / 2})
    newest_first = [n.title for n in sorted(HARBOR, key=lambda n: n.days) if "ntern" in n.body]
    expected = {title: 1 - 0.001 * place / 3 for place, title in enumerate(newest_first)}
    assert blends(found(harbor, "ntern", mode="keyword")) == near(expected)


# --- meaning


def test_meaning_is_the_cosine_plus_one_relative_to_the_best(harbor):
    hits = found(harbor, "what is by the sea?", mode="semantic")
    expected = by_meaning(ANGLES)
    assert {*hits} == {*highest(expected)[:15]}  # five are close, ten are listed after them
    assert blends(hits) == near({title: expected[title] for title in hits})
    assert {title: hit.similarity for title, hit in hits.items()} == {
        title: pytest.approx(cosine(ANGLES[title]), abs=1e-4) for title in hits
    }


@pytest.mark.parametrize(("notes", "weight"), [(4, 1), (5, 0.75)])
def test_passage_that_five_notes_share_counts_three_quarters(tmp_path, notes, weight):
    days = "Monday Tuesday Wednesday Thursday Friday".split()[:notes]
    shared = [Sample(day, "what did you do today", 10 * n) for n, day in enumerate(days)]
    library = indexed(tmp_path, [*shared, Sample("Weather", "sun and rain", 60)])
    similarities = {hit.title: hit.similarity for hit in library.search("sun", mode="semantic")}
    expected = {day: weight * cosine(10 * n) for n, day in enumerate(days)}
    assert similarities == {
        title: pytest.approx(similarity, abs=1e-4)
        for title, similarity in {**expected, "Weather": 0.5}.items()
    }


def test_note_counts_by_its_nearest_passage(tmp_path):
    body = "\n\n".join(f"## {name}\n\n" + "sand and gravel " * 40 for name in ("Far", "Near"))
    notes = [Sample("Jetty", body, 0), Sample("Mole", "stones", 30)]
    library = indexed(tmp_path, notes, {"Jetty › Far": 80, "Jetty › Near": 10})
    for mode in ("semantic", "hybrid"):
        hits = found(library, "what is by the sea?", mode=mode)
        assert {title: hit.similarity for title, hit in hits.items()} == {
            "Jetty": pytest.approx(cosine(10), abs=1e-4),
            "Mole": pytest.approx(cosine(30), abs=1e-4),
        }
        assert [*hits] == ["Jetty", "Mole"]


# --- the blend of both


def expected_blends(words: Sequence[str], balance: float, least: float) -> Scores:
    lexical = by_words(bm25(words, HARBOR), least)
    return blended(balance, by_meaning(ANGLES), lexical)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("lantern ", ["lantern"]),
        ("harbor lantern", ["harbor", "lantern"]),
        ("where is the ferry at the quay wall", ["ferry", "quay", "wall"]),
    ],
    ids=["one word", "two words", "a question"],
)
def test_meaning_has_seven_tenths_of_the_weight(harbor, query, words):
    hits = found(harbor, query)
    expected = expected_blends(words, 0.7, normalizer(words, HARBOR))
    assert len(hits) >= 15
    assert blends(hits) == near({title: expected[title] for title in hits})


def test_meaning_has_half_of_the_weight_for_a_phrase_and_at_most_two_words(harbor):
    # The best possible BM25 is known for words, not for phrases. Beside words, a phrase counts once
    # more, as one of them.
    phrase = "harbor lantern"
    for words, balance in [
        ([], 0.5),
        (["lantern", "salt"], 0.5),
        (["lantern", "salt", "sea"], 0.7),
    ]:
        counted = [phrase, *words, phrase] if words else [phrase]
        lexical = by_words({"Lamp": bm25(counted, HARBOR)["Lamp"]}, normalizer(words, HARBOR))
        expected = blended(balance, by_meaning(ANGLES), lexical)["Lamp"]
        hits = found(harbor, " ".join([f'"{phrase}"', *words]))
        assert blends(hits) == near({"Lamp": expected})


def test_meaning_has_half_of_the_weight_for_and_or_and_not(harbor):
    hits = found(harbor, "harbor AND lantern")
    angles = {title: ANGLES[title] for title in ("Lamp", "Harbor ferry")}
    both = bm25(["harbor", "lantern"], HARBOR, phrase=False)
    lexical = by_words({title: both[title] for title in angles}, 0)
    assert blends(hits) == near(blended(0.5, by_meaning(angles), lexical))


def test_nothing_is_close_in_a_language_that_the_model_was_not_made_for(harbor, tmp_path):
    # And the blend isn't refined.
    words = ["harbor", "lantern"]
    copied = shutil.copy(harbor.path, tmp_path / "copy.db")
    edit(copied, """update meta set value = '["en"]' where key = 'foreign_languages'""")
    hits = found(Library(copied), " ".join(words))
    expected = expected_blends(words, 0.7, normalizer(words, HARBOR))
    assert blends(hits) == near({title: expected[title] for title in hits})
    assert {title: hit.score for title, hit in hits.items()} == blends(hits)
    enough = 0.5 * normalizer(words, HARBOR)
    scores = bm25(words, HARBOR)
    is_about = {title for title in bm25(["lantern"], HARBOR) if scores[title] >= enough}
    assert {title for title, hit in hits.items() if hit.is_found} == is_about


@pytest.mark.parametrize(
    ("query", "balance"),
    [("wo ist das harbor und die lantern", 0.25), ("where is the harbor and a lantern", 0.7)],
)
def test_language_of_the_query_decides_not_that_of_most_notes(harbor, tmp_path, query, balance):
    copied = shutil.copy(harbor.path, tmp_path / "copy.db")
    edit(copied, """update meta set value = '["de"]' where key = 'foreign_languages'""")
    edit(copied, "update notes set language = 'de' where title = 'Soup'")
    words = ["harbor", "lantern"]
    lexical = by_words(bm25(words, HARBOR, phrase=False), normalizer(words, HARBOR))
    expected = blended(balance, by_meaning(ANGLES), lexical)
    hits = found(Library(copied), query)
    assert blends(hits) == near({title: expected[title] for title in hits})


def test_words_decide_about_a_note_without_a_vector(harbor, tmp_path):
    words = ["harbor", "lantern"]
    copied = shutil.copy(harbor.path, tmp_path / "copy.db")
    passages = "select passages.id from passages join notes on notes.id = note_id"
    edit(copied, f"delete from _vectors where passage_id in ({passages} where title = 'Lamp')")
    hits = found(Library(copied), " ".join(words))
    expected = expected_blends(words, 0.7, normalizer(words, HARBOR))
    meaning = by_meaning(ANGLES)
    del meaning["Lamp"]
    usual = sum(meaning.values()) / len(meaning)
    lexical = by_words(bm25(words, HARBOR), normalizer(words, HARBOR))["Lamp"]
    expected["Lamp"] = 0.7 * usual + 0.3 * lexical
    assert blends(hits) == near({title: expected[title] for title in hits})
    assert hits["Lamp"].score == hits["Lamp"].blend


@pytest.mark.parametrize("balance", [0, 0.3, 1])
def test_balance_can_be_chosen_from_words_only_to_meaning_only(harbor, balance):
    words = ["harbor", "lantern"]
    expected = expected_blends(words, balance, normalizer(words, HARBOR))
    hits = found(harbor, " ".join(words), balance=balance)
    assert blends(hits) == near({title: expected[title] for title in hits})


# --- the score


@pytest.mark.parametrize("query", ["lantern ", "harbor lantern", "ferry quay wall"])
def test_feedback_and_regularization_refine_the_blend(harbor, query):
    words = query.split()
    blend = expected_blends(words, 0.7, normalizer(words, HARBOR))
    expected = refined(0.7, blend, ANGLES)
    hits = found(harbor, query)
    assert scores(hits) == near({title: expected[title] for title in hits})


def test_recency_keeps_three_quarters_of_the_score_at_the_half_life(harbor):
    plain = scores(found(harbor, "harbor lantern"))
    hits = found(harbor, "harbor lantern", recency=100)
    # Never less than half.
    kept = {note.title: 0.5 + 0.5 * 0.5 ** (note.days / 100) for note in HARBOR}
    assert (kept["Bread"], kept["Lamp"], kept["Old harbor"]) == (1, 0.75, 0.625)
    # The notes have become some minutes older at most.
    assert scores(hits) == pytest.approx({it: plain[it] * kept[it] for it in hits}, abs=1e-4)


def test_rrf_adds_one_over_sixty_plus_each_rank(harbor):
    lexical, dense = ranks(bm25(["harbor", "lantern"], HARBOR)), ranks(by_meaning(ANGLES))
    hits = found(harbor, "harbor lantern", fusion="rrf")
    expected = {
        title: 1 / (60 + dense[title]) + (1 / (60 + lexical[title]) if title in lexical else 0)
        for title in hits
    }
    assert scores(hits) == near(expected)


# --- found, or only near


def test_note_is_close_from_one_and_a_half_deviations_above_nonsense(harbor):
    # Of the 24 unrelated queries, half have .3, the others .5.
    threshold = 0.4 + 1.5 * 0.1 * sqrt(24 / 23)
    hits = found(harbor, "what is there to eat")
    close = {title for title, hit in hits.items() if hit.is_found}
    assert close == {title for title, angle in ANGLES.items() if cosine(angle) >= threshold}
    assert cosine(ANGLES["Tower"]) < threshold < cosine(ANGLES["Dock"])


def test_title_comes_first_then_what_has_it_exactly_or_a_title_that_begins_so(tmp_path):
    notes = [
        Sample("Other", "a plan of the wall", 0),
        Sample("Plan", "v2.1 of the wall", 10),
        Sample("v2.1", "of the wall", 120),
        Sample("Wallpaper", "a roll", 130),
    ]
    library = indexed(tmp_path, notes)
    assert [(hit.title, hit.is_exact) for hit in library.search("v2.1")] == [
        ("v2.1", True),
        ("Plan", True),
    ]
    first, second, *_ = library.search("wallp")
    assert (first.title, first.is_exact) == ("Wallpaper", False)
    assert second.score > first.score


# --- many notes

SYLLABLES = "bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou"
NAMES = ["".join(letters).title() for letters in product(*SYLLABLES)][:330]


def forest_words(n: int) -> Iterator[str]:
    yield NAMES[n].lower()  # so that no two notes share a line
    yield from ["ash"] * (n % 7)
    if n < 130:
        yield from ["oak"] * (1 + n % 5)
    if n < 165:
        yield "elm"  # in half of the notes
    if n < 166:
        yield "fir"  # in more than half of them
    if 200 <= n < 230:  # a ladder of notes in which a word counts less and less
        yield from ["harbor", *["ash"] * (n - 195)]
    if 240 <= n < 252:
        yield "lantern"
    if 252 <= n < 264:
        yield "ferry"
    if 264 <= n < 304:  # notes that are more and more about a word
        yield from ["cove"] * (1 + n % 20)


# From 10 to 76 degrees, so unevenly that no note has two neighbors at the same distance.
FOREST = tuple(
    Sample(name, " ".join(forest_words(n)), 10 + n / 5 + 7 * n * n % 11 * 0.15 / 11)
    for n, name in enumerate(NAMES)
)


@pytest.fixture(scope="module")
def forest(tmp_path_factory) -> Library:
    return indexed(tmp_path_factory.mktemp("forest"), FOREST)


FAR = 0.9999  # a threshold that no note reaches


@pytest.fixture
def far(monkeypatch):
    """Let no note be close in meaning."""
    monkeypatch.setattr(planner, "threshold", lambda *arguments: FAR)


def test_question_needs_15_hundredths_of_the_normalizer(forest, far, monkeypatch):
    monkeypatch.setattr(planner, "ENOUGH", 0)  # the other condition
    words = ["harbor", "lantern", "ferry"]
    least = 0.15 * normalizer(words, FOREST)
    expected = {title for title, score in bm25(words, FOREST).items() if score >= least}
    ladder = [score / least for score in bm25(["harbor"], FOREST).values()]
    close = [share for share in ladder if 0.97 < share < 1.03]
    assert min(close) < 1 <= max(close)
    hits = found(forest, " ".join(words))
    assert {title for title, hit in hits.items() if hit.is_found} == expected


@pytest.mark.parametrize(
    "words",
    [
        ["cove", "lantern"],
        ["lantern", "ferry"],
        ["cove", "harbor", "oak"],
        ["harbor", "lantern", "ferry", "oak"],
    ],
)
def test_note_needs_all_words_or_half_of_their_weight_and_of_the_normalizer(forest, far, words):
    weights = {word: idf(word, FOREST) for word in words}
    having = {word: {*bm25([word], FOREST)} for word in words}
    half = sum(weights.values()) / 2
    enough = 0.5 * normalizer(words, FOREST)
    expected = {
        title
        for title, score in bm25(words, FOREST).items()
        if score >= enough and sum(weights[word] for word in words if title in having[word]) >= half
    }
    expected |= set.intersection(*having.values())
    hits = found(forest, " ".join(words))
    assert {title for title, hit in hits.items() if hit.is_found} == expected


def test_note_with_the_rarer_one_of_two_words_is_found_if_it_is_about_it(forest, far, monkeypatch):
    words = ["harbor", "lantern"]
    scores, rarer = bm25(words, FOREST), {*bm25(["lantern"], FOREST)}
    for share in (0.2, 0.4):
        monkeypatch.setattr(planner, "ENOUGH_BM25_SHARE", share)
        enough = share * normalizer(words, FOREST)
        expected = {title for title in rarer if scores[title] >= enough}
        expected |= rarer & {*bm25(["harbor"], FOREST)}
        hits = found(forest, " ".join(words))
        assert {title for title, hit in hits.items() if hit.is_found} == expected
        assert {*bm25(["harbor"], FOREST)} <= {*hits}


def test_no_note_has_enough_if_none_has_the_identifier(forest):
    hits = found(forest, "cove v2.11.0", mode="keyword", limit=400)
    assert not any(hit.is_found for hit in hits.values())


@pytest.mark.parametrize(
    ("query", "parameters", "listed"),
    [
        ("lantern", {}, 12 + 10),
        ("lantern", {"mode": "semantic"}, 0 + 10),
        ("lantern", {"found": True}, 12),
        ('"ash lantern"', {}, 11),
    ],
)
def test_ten_weaker_matches_are_listed_unless_only_found_notes_are_wanted(
    forest, far, query, parameters, listed
):
    assert len(found(forest, query, **parameters)) == listed


def test_meaning_finds_300_passages_at_most(forest):
    response = forest.search("what stands here", mode="semantic", min_similarity=0)
    assert response.results.total == 300


def test_100_notes_with_the_words_are_scored_and_the_others_follow(forest):
    hits = forest.search("oak", mode="keyword", limit=100, offset=50).hits
    assert [hit.score is None for hit in hits] == [False] * 50 + [True] * 30


def test_another_order_is_that_of_all_notes_with_the_words(forest):
    titles = sorted({*bm25(["oak"], FOREST)}, key=str.lower)
    assert len(titles) > 100
    assert [hit.title for hit in forest.search("oak", mode="keyword", sort="title")] == titles[:10]


def test_feedback_and_regularization_refine_the_first_30_of_100(forest):
    words = ["oak", "elm"]
    lexical = by_words(bm25(words, FOREST), normalizer(words, FOREST))
    angles = {note.title: note.angle for note in FOREST[:300]}
    blend = blended(0.7, by_meaning(angles), lexical)
    first = highest(blend)[:100]
    expected = refined(0.7, {it: blend[it] for it in first}, {it: angles[it] for it in first})
    hits = found(forest, "oak elm")
    assert scores(hits) == near(expected)
    assert [*hits] == highest(expected)


def test_word_in_more_than_half_of_200_notes_is_a_stop_word_of_a_question(forest, tmp_path):
    name = NAMES[3]

    def finds_only(library: Library, query: str) -> bool:
        return {*found(library, query, mode="keyword")} == {name}

    assert finds_only(forest, f"fir {name}?")
    assert not finds_only(forest, f"elm {name}?")
    assert not finds_only(forest, f"fir {name}")
    fewer = shutil.copy(forest.path, tmp_path / "fewer.db")
    edit(fewer, "delete from notes where id > 200")
    assert finds_only(Library(fewer), f"fir {name}?")
    edit(fewer, "delete from notes where id > 199")
    assert not finds_only(Library(fewer), f"fir {name}?")


def test_60_000_notes_are_read_for_the_words_that_say_most(harbor, monkeypatch):
    monkeypatch.setattr(
        word_forms, "note_counts", lambda connection, forms: {forms[0]: counts[forms[0]]}
    )
    for often, is_searched in [(35_000, True), (35_001, False)]:
        counts = {"lantern": 5_000, "harbor": 20_000, "ferry": often}
        words = [*counts] if is_searched else ["lantern", "harbor"]
        terms = harbor.search(" ".join(counts), mode="keyword").results.plan.terms
        assert terms.words == tuple(words), often


def test_three_unknown_words_are_taken_for_another_language_unless_as_many_are_known(harbor):
    for query, is_corrected in [
        ("lanternn harborr", True),
        ("lanternn harborr harbormastr wall salt", False),
        ("lanternn harborr harbormastr wall salt beans", True),
    ]:
        assert bool(harbor.search(query, mode="keyword").corrections) == is_corrected, query


def test_language_of_a_twentieth_of_the_notes_is_searched_in(harbor, tmp_path):
    copied = shutil.copy(harbor.path, tmp_path / "copy.db")
    edit(copied, "update notes set language = 'de' where title = 'Soup'")
    for share, languages in [(0.05, ("de", "en")), (0.0499, ("en",))]:
        shares = json.dumps({"en": 1 - share, "de": share})
        edit(copied, "update meta set value = ? where key = 'languages'", shares)
        assert Library(copied).search("harbor wall").results.plan.languages == languages


@pytest.mark.parametrize(
    ("query", "passages", "candidates"),
    [
        ("harbor", 17, 700),
        ("harbor", 5_608, 701),
        ("harbor", 9_592, 1_199),
        ("harbor", 9_608, 1_200),
        ("harbor tag:quay", 16, 4_096),  # because filters apply afterward
    ],
)
def test_eighth_of_the_passages_are_candidates_of_binary_quantization(
    harbor, tmp_path, query, passages, candidates
):
    copied = shutil.copy(harbor.path, tmp_path / "copy.db")
    more = """
    with recursive counted(n) as (select 17 union select n + 1 from counted where n < ?)
    insert into passages (id) select n from counted
    """
    edit(copied, more, passages)
    with database.open_for_writing(copied) as connection:
        nearest.choose_candidates(connection)
    with Library(copied).open() as connection:
        [answer] = connection.execute("select nearest_candidates(?)", [query]).fetchone()
    assert answer == candidates


def test_four_candidates_are_ranked_for_each_passage_that_sql_asks_for(harbor):
    statements: list[str] = []
    with harbor.open() as connection:
        connection.set_trace_callback(statements.append)
        connection.execute("select nearest_passages(embed('harbor'), 250)").fetchone()
    assert any(re.search(r"k = 1000\b", statement) for statement in statements)


# --- reranking


class Scripted(Reranker):
    """Gives passages scores in the order of a list."""

    def __init__(self, scores: Sequence[float]) -> None:
        super().__init__(f"scripted {scores}")
        self.scores = iter(scores)

    def score(self, query, passages):
        return [next(self.scores) for _ in passages]


def test_reranker_has_a_quarter_for_3_results_two_fifths_for_10_three_fifths_for_20(forest):
    hits = forest.search("oak elm", limit=25).hits
    first = [hit.score for hit in hits[:20]]
    relative = [(score - first[-1]) / (first[0] - first[-1]) for score in first]
    own = [0.25] * 3 + [0.4] * 7 + [0.6] * 10
    numbers = Random(1)
    for _ in range(100):
        second = [0.0, 1.0, *(numbers.random() for _ in range(18))]
        numbers.shuffle(second)
        blend = [(1 - part) * a + part * b for part, a, b in zip(own, relative, second)]
        order = sorted(range(20), key=lambda place: -blend[place])
        reranked, _ = rerank(hits, "oak elm", Scripted(second), wait=None, seconds=60)
        expected = [hits[place].title for place in [*order, *range(20, 25)]]
        assert [hit.title for hit in reranked] == expected


# --- what is measured while indexing


@pytest.mark.parametrize(("notes", "is_measured_again"), [(20, False), (18, True)])
def test_threshold_is_measured_again_once_a_twentieth_of_the_passages_is_new(
    tmp_path, notes, is_measured_again
):
    library = indexed(tmp_path, FOREST[:notes])
    # So few words pass for Basque, too.
    measured = """{"en": 0.1, "eu": 0.1}"""
    edit(library.path, f"update meta set value = '{measured}' where key = 'thresholds'")
    indexed(tmp_path, FOREST[: notes + 1])
    assert (library.search("oak").results.plan.threshold != 0.1) == is_measured_again


# Where a query for a note has to be, so that so many notes are nearer, if there is one every ten
# degrees: rank → degrees.
BESIDE = {1: 0, 2: 6, 3: 11, 4: 16}


@pytest.mark.parametrize(
    ("ranks", "pieces", "share", "is_poor"),
    [
        # A mean reciprocal rank below .75 is poor.
        ([2] * 12 + [1] * 12, 1, 1, False),
        ([3] + [2] * 11 + [1] * 12, 1, 1, True),
        # Below .97, it is poor if the model splits words into more than 1.65 pieces.
        ([4] + [1] * 23, 1.64, 1, False),
        ([4] + [1] * 23, 1.66, 1, True),
        ([3] + [1] * 23, 1.66, 1, False),
        # Fewer than twelve results don't count, only the pieces.
        ([4] * 11, 1.64, 1, False),
        ([1] * 11, 1.66, 1, True),
        ([1] * 12, 1.66, 1, False),
        # Languages of a twentieth of the notes are tested.
        ([2] * 12 + [1], 1, 0.05, True),
        ([2] * 12 + [1], 1, 0.0499, False),
    ],
)
def test_model_is_poor_in_a_language_if_it_finds_few_passages_or_splits_words(
    tmp_path, ranks, pieces, share, is_poor
):
    words = "haus dorf wald see berg fluss brot milch holz salz glas seil korb hut buch"
    notes = [
        Sample(name, f"wir haben heute im {name.lower()} schon {words}", 10 * n)
        for n, name in enumerate(NAMES[: len(ranks)])
    ]
    library = indexed(tmp_path, notes)
    edit(library.path, "update notes set language = 'de'")
    edit(library.path, "update meta set value = ? where key = 'languages'", f'{{"de": {share}}}')
    asked = {
        " ".join(note.body.split()[::2]): vector(note.angle + BESIDE[rank])
        for note, rank in zip(notes, ranks)
    }
    model = ChosenVectors("test/german", {}, asked, vector(0), pieces)
    with closing(database.connect(library.path)) as connection:
        assert calibration.find_foreign_languages(connection, model) == ["de"] * is_poor
