"""A model whose similarities crowd near 1 finds what a plain one with the same order finds.

Its vectors are the plain model's with a part that all texts have in common. Nothing may depend on
where a model's similarities lie.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from datasette_bear_search import Library
from datasette_bear_search.embeddings import registry
from datasette_bear_search.index.file import database, vectors
from datasette_bear_search.index.run import indexer
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library
from tests.support.tiny_embedder import TinyEmbedder

WORDS = (
    "harbor lantern quince zither fjord pixel jazz vortex nymph waltz glyph crypt lynx roof slate "
    "gutter stove ladder apple plum cherry hedge spade barrow kettle saucer butter honey thyme sage"
).split()
QUERIES = (
    "harbor",
    "lantern jazz",
    "how do I mend the slate roof with a ladder",
    "plum honey thyme",
)
MODES: tuple[dict[str, Any], ...] = (
    {}, {"mode": "semantic"}, {"mode": "keyword"}, {"fusion": "rrf"}, {"balance": 0.9},
    {"min_similarity": 0.4}, {"found": True},
)  # fmt: skip


class Common(TinyEmbedder):
    """The tiny model, with a share of each vector that is the same for all texts."""

    def __init__(self, name: str, share: float) -> None:
        super().__init__(name)
        self.share = share

    def _vector(self, text: str) -> list[float]:
        own = super()._vector(text)
        length = sum(number**2 for number in own) ** 0.5
        common = [(self.share / 8) ** 0.5] * 8
        return [*((1 - self.share) ** 0.5 / length * number for number in own), *common]


@pytest.fixture(scope="module", params=[150, 2100], ids=["small", "large"])
def libraries(request, tmp_path_factory) -> list[Library]:
    """Index the same notes with both models: their cosines are .3 + .7 c and .85 + .15 c."""
    random, folder = Random(7), tmp_path_factory.mktemp("any_model")
    notes = []
    for number in range(request.param):
        subject = random.sample(WORDS, 3)
        text = " ".join(random.choice(subject + WORDS[:4]) for _ in range(12))
        notes.append(BearNote(f"# {subject[0].title()} {number}\n\n{text}. {subject[1]}!"))
    source = bear_library(folder / "database.sqlite", notes)
    libraries = []
    for name, share in (("test/plain", 0.3), ("test/crowded", 0.85)):
        embedder = Common(name, share)
        registry.register(name, lambda embedder=embedder: embedder)
        path = folder / f"{share}.db"
        indexer.index(path, [indexer.read(BearLibrary(source))], embedder)
        libraries.append(Library(path))
    return libraries


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_crowded_similarities_change_no_result(libraries, query, mode):
    plain, crowded = (rows(library.search(query, limit=30, **mode)) for library in libraries)
    assert plain
    for one, other in zip(plain, crowded):
        assert one == pytest.approx(other, abs=2e-3), one["title"]
    assert len(plain) == len(crowded)


def rows(response) -> list[dict[str, Any]]:
    shown = ("id", "title", "similarity", "blend", "score", "is_found", "keyword_rank", "snippet")
    found = [{name: getattr(hit, name) for name in shown} for hit in response.hits]
    return [{**row, "found": response.results.found} for row in found]


def test_crowded_similarities_change_no_similar_note(libraries):
    for number in (1, 20, 77):
        plain, crowded = (library.similar(number, limit=20).notes for library in libraries)
        assert [(note.id, bool(note.passage)) for note in plain] == [
            (note.id, bool(note.passage)) for note in crowded
        ]
        assert [note.score for note in plain] == pytest.approx(
            [note.score for note in crowded], abs=2e-3
        )


def test_crowded_similarities_are_measured_by_unrelated_texts(libraries):
    shares = []
    for library in libraries:
        with closing(database.connect(Path(library.path))) as connection:
            shares.append(vectors.unrelated_distance(connection))
    assert shares[1] / shares[0] == pytest.approx(0.15 / 0.7, rel=0.01)
