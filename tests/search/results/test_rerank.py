"""Reranking: its order, its time limit, what happens without the model, and the hook.

Tests ``embeddings/rerankers.py`` and ``hookspecs.py``.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec

import pytest
from datasette import hookimpl
from datasette.app import Datasette
from datasette.plugins import pm

from datasette_bear_search import evaluation
from datasette_bear_search.embeddings import rerankers
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.rerankers import Reranker, get_reranker
from datasette_bear_search.evaluation.judgments import JudgedQuery, QuerySet
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.results import rerank as search_results_rerank
from datasette_bear_search.search.results.records import FoundNote
from datasette_bear_search.search.results.rerank import RERANK_TOP, blended, rerank
from tests.support import client
from tests.support.bear_database import BearNote


def hit(id: int, score: float | None = None, *, exact: bool = False) -> FoundNote:
    return FoundNote(
        id=id, source="bear", key=str(id), title=f"Note {id}", url=None, app="", tags=(),
        created=None, modified=None, pinned=False, archived=False, encrypted=False,
        passage=None, keyword_rank=None, semantic_rank=None, similarity=None, score=score,
        blend=score, rrf=None, is_exact=exact,
    )  # fmt: skip


def hits(count: int) -> list[FoundNote]:
    """Return hits 1, 2, 3 … with descending scores."""
    return [hit(number, 1 - number / 1000) for number in range(1, count + 1)]


def ids(found) -> list[int]:
    return [hit.id for hit in found]


class Fake(Reranker):
    """A reranker that prefers notes with high numbers, and may be slow or fail as told."""

    def __init__(self, name="fake", seconds=0.0, failure: Exception | None = None):
        super().__init__(name)
        self.seconds = seconds
        self.error = failure
        self.scored: list[str] = []

    def score(self, query, passages):
        if self.error:
            raise self.error
        time.sleep(self.seconds * len(passages))
        self.scored += passages
        return [float(passage.split()[1]) for passage in passages]


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    monkeypatch.setattr(rerankers, "_rerankers", {})


# The order


def test_a_reranker_decides_a_quarter_at_the_top_and_more_below():
    found = [hit(rank, float(13 - rank)) for rank in range(1, 13)]
    scores = [0.0, 0.0, 1.0, *[0.0] * 6, 1.0, 0.0, 1.0]
    # Ranks 3, 10 and 12: .75 * 9/11 + .25 = .864, .6 * 2/11 + .4 = .509, .4 * 0 + .6 = .6.
    # Ranks that get 0 from the reranker: .75, .682; then .6 * 8/11 = .436 and less.
    assert ids(blended(found, scores)) == [3, 1, 2, 12, 10, 4, 5, 6, 7, 8, 9, 11]


def test_the_scores_of_both_stages_are_stretched_to_the_same_range():
    small = [hit(1, 0.012), hit(2, 0.011), hit(3, 0.010)]
    large = [hit(1, 120.0), hit(2, 110.0), hit(3, 100.0)]
    for scores in ([1.0, 8.0, 2.0], [-0.9, -0.2, -0.8]):
        assert ids(blended(small, scores)) == ids(blended(large, scores)) == [1, 2, 3]
    # .75, .75 * .9 + .25, 0
    close = [hit(1, 1.0), hit(2, 0.9), hit(3, 0.0)]
    assert ids(blended(close, [0.0, 1.0, 0.0])) == [2, 1, 3]


def test_equal_scores_leave_the_order_as_it_is():
    assert ids(blended([hit(1, 0.5), hit(2, 0.5), hit(3, 0.5)], [7.0, 7.0, 7.0])) == [1, 2, 3]


def test_every_reranked_hit_has_the_rerankers_own_score():
    found = blended(hits(3), [-4.5, 3.25])
    assert {hit.id: hit.rerank_score for hit in found} == {1: -4.5, 2: 3.25, 3: None}


def test_weaker_matches_stay_below_the_notes_that_are_found():
    found = [hit(1, 1.0), hit(2, 0.5), *(replace(hit(n, 0.4), is_found=False) for n in (3, 4))]
    assert ids(blended(found, [0.0, 0.0, 8.0, 9.0])) == [1, 2, 4, 3]


def test_exact_hits_stay_at_the_top():
    found = [hit(1, 0.1, exact=True), *hits(RERANK_TOP)[1:]]
    reranked, _ = rerank(found, "query", Fake())
    assert reranked[0].id == 1
    assert reranked[0].rerank_score is None
    assert ids(reranked) != ids(found)


def test_only_the_first_hits_are_reranked():
    found, fake = hits(RERANK_TOP + 5), Fake()
    reranked, _ = rerank(found, "query", fake)
    assert len(fake.scored) == RERANK_TOP
    assert ids(reranked[RERANK_TOP:]) == ids(found[RERANK_TOP:])


# Time


def test_a_slow_reranker_is_stopped_and_the_rest_keeps_its_order():
    found = hits(RERANK_TOP)
    reranked, notice = rerank(found, "query", Fake(seconds=0.02), seconds=0.12)
    scored = [hit.id for hit in reranked if hit.rerank_score is not None]
    assert 2 <= len(scored) < RERANK_TOP
    assert ids(reranked[len(scored) :]) == list(range(len(scored) + 1, RERANK_TOP + 1))
    expected = f"Only {len(scored)} of the first {RERANK_TOP} results"
    assert notice.startswith(expected)


# What can go wrong


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (ModelUnavailable("It isn't here."), "These notes weren't reranked. It isn't here."),
        (
            RuntimeError("out of memory"),
            "These notes weren't reranked. The reranker fake failed (out of memory). "
            "Search without rerank, or choose another reranker.",
        ),
    ],
)
def test_a_reranker_that_fails_leaves_the_results_and_one_line(failure, line):
    reranked, notice = rerank(hits(5), "query", Fake(failure=failure))
    assert (ids(reranked), notice) == ([1, 2, 3, 4, 5], line)


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan")]])
def test_invalid_scores_are_not_used(monkeypatch, scores):
    monkeypatch.setattr(Fake, "score", lambda self, query, passages: scores)
    reranked, notice = rerank(hits(2), "query", Fake())
    assert ids(reranked) == [1, 2]
    assert "not every note got a score" in notice


def test_nobody_waits_for_a_model_that_is_still_loading(monkeypatch):
    monkeypatch.setattr(Fake, "prepare", lambda self: time.sleep(0.3))
    fake = Fake()
    _, notice = rerank(hits(3), "query", fake, wait=0.01)
    assert notice == search_results_rerank.RERANKER_LOADING
    _, notice = rerank(hits(3), "query", fake, wait=None)
    assert notice is None


def test_an_unknown_name_gives_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"cross-encoder, cross-encoder:MODEL, not 'none'"):
        get_reranker("none")


@pytest.mark.skipif(not find_spec("sentence_transformers"), reason="needs sentence-transformers")
def test_a_cross_encoder_that_was_not_downloaded_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    # The error must come before the library is imported, which takes seconds.
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    reranked, notice = rerank(hits(3), "query", get_reranker("cross-encoder"), wait=None)
    assert (ids(reranked), notice) == (
        [1, 2, 3],
        "These notes weren't reranked. "
        "The reranker cross-encoder/ettin-reranker-32m-v1 isn't on this machine. "
        "Get it: hf download cross-encoder/ettin-reranker-32m-v1",
    )


# Through Datasette


class Longest(Reranker):
    """The example from the documentation, which prefers longer texts."""

    def score(self, query, passages):
        return [float(len(passage)) for passage in passages]


class Plugin:
    __name__ = "Plugin"  # Datasette reads it

    @hookimpl
    def bear_search_register_rerankers(self):
        broken = lambda: {}["no such key"]  # noqa: E731
        return {"longest": lambda: Longest("longest"), "broken": broken}


@contextmanager
def installed(plugin):
    pm.register(plugin, name="of-somebody-else")
    try:
        yield
    finally:
        pm.unregister(name="of-somebody-else")


@pytest.fixture
def datasette(write, bear_index, sidecar_path):
    write(*(BearNote(f"# Plan {n}\n\nRoof{' tiles' * (n * 7 % 31)}.") for n in range(1, 31)))
    bear_index()
    with installed(Plugin()):
        yield Datasette([str(sidecar_path)])


async def answer(datasette, query, status=200) -> dict:
    return await client.answer(datasette, f"q=roof&{query}", status)


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_plugins_reranker_changes_the_order(datasette):
    plain, reranked = await answer(datasette, ""), await answer(datasette, "rerank=longest")
    assert plain["query"]["rerank"] is None
    assert reranked["query"]["rerank"] == "longest"
    assert all(row["rerank_score"] is None for row in plain["rows"])
    assert all(row["rerank_score"] > 0 for row in reranked["rows"])
    assert ids_of(plain) != ids_of(reranked)
    assert sorted(ids_of(plain)) == sorted(ids_of(reranked))


@pytest.mark.datasette
@pytest.mark.asyncio
@pytest.mark.parametrize("size", [7, 20, 25])
async def test_pages_of_reranked_results_concatenate(datasette, size):
    whole = ids_of(await answer(datasette, "rerank=longest&_size=100"))
    pages, following = [], "0"
    while following:
        page = await answer(datasette, f"rerank=longest&_size={size}&_next={following}")
        pages += ids_of(page)
        following = page["next"]
    assert pages == whole
    assert len(set(pages)) == 30


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_reranker_that_cant_be_made_costs_one_line(datasette):
    plain, reranked = await answer(datasette, ""), await answer(datasette, "rerank=broken")
    assert ids_of(plain) == ids_of(reranked)
    [line] = set(reranked["notices"]) - set(plain["notices"])
    assert line.startswith("These notes weren't reranked.")


@pytest.mark.datasette
@pytest.mark.asyncio
@pytest.mark.parametrize("name", ["none", "cross-encoder:/etc", "cross-encoder:some/model"])
async def test_visitors_may_choose_among_the_rerankers_but_no_models(datasette, name):
    refused = await answer(datasette, f"rerank={name}", status=400)
    assert refused["error"] == (
        f"rerank must be one of broken, cross-encoder, longest, not {name!r}"
    )


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_another_order_than_relevance_is_not_reranked(datasette):
    rows = (await answer(datasette, "rerank=longest&sort=title"))["rows"]
    assert [row["title"] for row in rows] == sorted((row["title"] for row in rows), key=str.lower)


def measure(path, reranker):
    query_set = QuerySet("roofs", (JudgedQuery("1", "roof", {5: 1}),), 0)
    with open_sidecar(path) as connection:
        loaded = evaluation.loaded_reranker(reranker)
        others = {"rerank": evaluation.Run(connection, "hybrid", reranker=loaded)}
        return evaluation.evaluate(connection, query_set, ["keyword", "hybrid"], others=others)


def test_reranking_is_measured_beside_the_modes(datasette, sidecar_path):
    measured = measure(sidecar_path, "longest")
    assert measured.modes == ("keyword", "hybrid", "rerank")
    assert measured.mean("rerank", "ms/query") > 0
    [reranked] = measured.other_comparisons
    assert reranked.difference == pytest.approx(
        measured.mean("rerank", "nDCG@10") - measured.mean("hybrid", "nDCG@10")
    )
    assert "\nrerank against hybrid: " in evaluation.as_text([measured])


@pytest.mark.parametrize(
    ("name", "message"), [("none", "must be one of"), ("broken", "no such key")]
)
def test_measuring_an_unknown_reranker_gives_an_error(datasette, sidecar_path, name, message):
    with pytest.raises(evaluation.EvaluationError, match=message):
        measure(sidecar_path, name)


def ids_of(data: dict) -> list[int]:
    return [row["id"] for row in data["rows"]]
