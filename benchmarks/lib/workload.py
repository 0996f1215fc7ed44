"""Queries of several kinds, made from a library's own words, to measure speed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from datasette_bear_search.index.file.schema import WORD_VOCABULARY
from datasette_bear_search.search.request import Parameters
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.text.languages import STOP_WORDS

SEED = 11

# The shares of the notes that have a word: from, up to. In a small library, rare words are in
# RARE_NOTES notes.
RARE, RARE_NOTES = (0.0, 0.0005), (2, 10)
SOME = (0.01, 0.1)
MANY = (0.1, 0.5)
MOST = (0.5, 1.01)

# Notes from which the words of questions come.
ASKED_ABOUT = 500

_FRAMES = (
    "how do I {} the {} of {}",
    "what did we say about {} and the {} {}",
    "when was the {} {} with {} in the {}",
    "why is {} better than {} for the {}",
    "where are the {} that {} has for {}",
    "which {} should we use for {} and {} {}",
)


@dataclass(frozen=True)
class Asked:
    """A query and its kind."""

    kind: str
    text: str

    def parameters(self, **more: str) -> Parameters:
        """Return the query as parameters of a URL."""
        return {name: [value] for name, value in {"q": self.text, **more}.items()}


def workload(connection: sqlite3.Connection, count: int, seed: int = SEED) -> list[Asked]:
    """Return ``count`` queries of each kind, with the kinds taking turns."""
    randomness = random.Random(seed)
    [notes] = connection.execute("select count(*) from notes").fetchone()
    words = _Words(connection, notes, randomness)
    kinds: dict[str, Callable[[], str]] = {
        "rare words": lambda: words.some(words.rare, 1, 2),
        "words in some notes": lambda: words.some(words.in_some, 2, 3),
        "words in many notes": lambda: words.some(words.in_many, 2, 4),
        "words in most notes": lambda: words.some(words.in_most, 3, 5),
        "questions": words.question,
        "question, few notes allowed": lambda: f"{words.question()} {words.small_filter()}",
        "question, half allowed": lambda: f"{words.question()} created:{words.middle}..",
    }
    asked = []
    for _ in range(count):
        asked += [Asked(kind, make()) for kind, make in kinds.items()]
    return asked


class _Words:
    """A library's words by frequency, and values for filters."""

    def __init__(
        self, connection: sqlite3.Connection, notes: int, randomness: random.Random
    ) -> None:
        self._randomness = randomness
        counts = {
            word: having
            for word, having in connection.execute(f"select term, doc from {WORD_VOCABULARY}")
            if word.isascii() and word.isalpha() and (len(word) > 2 or having > notes * MOST[0])
        }

        def between(low: float, high: float) -> list[str]:
            return sorted(word for word, having in counts.items() if low <= having < high)

        self.rare = between(RARE_NOTES[0], max(RARE_NOTES[1], RARE[1] * notes))
        self.in_some = _telling(between(SOME[0] * notes, SOME[1] * notes))
        self.in_many = _telling(between(MANY[0] * notes, MANY[1] * notes))
        self.in_most = between(MOST[0] * notes, MOST[1] * notes)
        self._notes = self._texts(connection, notes, counts, MANY[1] * notes)
        self.middle, self._tag = _filters(connection)
        self._weeks = _weeks(connection)

    def some(self, words: Sequence[str], at_least: int, at_most: int) -> str:
        """Return a random number of these words."""
        number = min(self._randomness.randint(at_least, at_most), len(words))
        return " ".join(self._randomness.sample(words, number))

    def question(self) -> str:
        """Return a question of six to ten words, with the important words from one note."""
        frame = self._randomness.choice(_FRAMES)
        words = self._randomness.choice(self._notes)
        return frame.format(*self._randomness.sample(words, frame.count("{}")))

    def small_filter(self) -> str:
        """Return a filter that about one note in several hundred passes."""
        return self._randomness.choice(
            [f"tag:{self._tag}", f"created:{self._randomness.choice(self._weeks)}"]
        )

    def _texts(
        self, connection: sqlite3.Connection, notes: int, counts: dict[str, int], most: float
    ) -> list[list[str]]:
        ids = self._randomness.sample(range(1, notes + 1), min(ASKED_ABOUT, notes))
        rows = connection.execute(
            "select body from notes where id in (select value from json_each(?)) order by id",
            [json.dumps(ids)],
        )
        texts = []
        for (body,) in rows:
            found = sorted(
                {word for word in body.lower().split() if 2 <= counts.get(word, 0) < most}
            )
            if len(telling := _telling(found)) >= 4:
                texts.append(telling)
        return texts


def _telling(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in STOP_WORDS["en"]]


def _filters(connection: sqlite3.Connection) -> tuple[str, str]:
    """Return the day before which half of the notes were made, and a tag that few notes have."""
    [middle] = connection.execute(
        "select date(created) from notes order by created "
        "limit 1 offset (select count(*) / 2 from notes)"
    ).fetchone()
    [tag] = connection.execute(
        """
        select tags.name
        from tags
        join note_tags on note_tags.tag_id = tags.id
        group by tags.id
        order by abs(count(*) - (select count(*) / 500.0 from notes)), tags.name
        limit 1
        """
    ).fetchone()
    return middle, tag


def _weeks(connection: sqlite3.Connection) -> list[str]:
    """Return weeks in which notes were created, as ``first day..last day``."""
    rows = connection.execute(
        """
        select date(created) || '..' || date(created, '+6 days')
        from notes
        where id % max(1, (select count(*) from notes) / 100) = 0
        order by id
        """
    )
    return [week for (week,) in rows]
