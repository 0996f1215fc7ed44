"""``SearchRequest`` → plan → embed → statement → rerank → snippets → redact → ``SearchResponse``.

The page, JSON API, SQL functions, terminal, agents and bear-eval all use this pipeline.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from ..embeddings import registry
from ..embeddings.base import Embedder, ModelUnavailable
from ..embeddings.registry import get_embedder
from ..embeddings.rerankers import Reranker, get_reranker, reranker_factories
from ..index import config, database
from ..index.database import State
from ..notes import counted, time_left
from ..query.filters import InvalidParameter, read_filters
from ..query.query import MODES, Query, completed, parse
from ..sqlite import snapshot, sqlite3, time_limit
from . import planner, redaction
from .planner import Plan
from .results import PAGE_SIZE, Hit, Results, retrieve
from .snippets import show
from .sql import DEFAULT_RANKING, FUSIONS, SORTS, Ranking

# Results in one response of the JSON API, and rows of bear_search().
MAX_SIZE = 100

# The parameters in the search page's URL: name → values.
Parameters = Mapping[str, Sequence[str]]

# Parameters with fixed values, the default first; and the ranges of numeric parameters.
CHOICES = {"mode": MODES, "fusion": FUSIONS, "sort": SORTS}
NUMBERS = {"balance": (0.0, 1.0), "recency": (0.01, 100_000.0), "min_similarity": (0.0, 1.0)}

# Seconds to wait for models by default, for programs and for people who chose a mode.
WAIT = 30
WORDS_ONLY = "Notes are found by their words only."
# The page's script looks for "model is still loading".
LOADING = f"{WORDS_ONLY} The model is still loading, which takes a few seconds."


@dataclass(frozen=True)
class SearchRequest:
    query: Query
    ranking: Ranking = DEFAULT_RANKING
    size: int = PAGE_SIZE
    offset: int = 0
    correct: bool = True  # whether words that no note has may be corrected


@dataclass(frozen=True)
class SearchResponse:
    results: Results
    notices: tuple[str, ...]
    timing_ms: dict[str, float]
    state: State

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results.hits)

    def __len__(self) -> int:
        return len(self.results.hits)

    @property
    def hits(self) -> tuple[Hit, ...]:
        return self.results.hits

    @property
    def corrections(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a typed word and the word that was searched for."""
        return self.results.plan.corrections


class TimeLimitExceeded(sqlite3.OperationalError):
    """The statement exceeded its time limit."""


@database.as_damage()
def search(
    connection: sqlite3.Connection,
    request: SearchRequest,
    *,
    time_limit_ms: float | None = None,
    redact: bool = False,
    wait: float | None = None,
    on_loading: Callable[[], None] = lambda: None,
) -> SearchResponse:
    """Run the whole pipeline on one thread.

    :param connection: from :func:`~datasette_bear_search.search.functions.open_sidecar`
    :param wait: seconds to wait for models that aren't loaded (None: as long as it takes); after
        that, they go on loading for later searches
    :param on_loading: called before a model is loaded, which takes seconds
    :raises sqlite3.DatabaseError: if the index file is damaged
    :raises TimeLimitExceeded: if the statement takes longer than ``time_limit_ms``
    """
    pipeline = Pipeline(request, time_limit_ms=time_limit_ms, redact=redact, wait=wait)
    pipeline.plan(connection)
    pipeline.embed(on_loading=on_loading)
    pipeline.retrieve(connection)
    pipeline.redact(connection)
    pipeline.refine(on_loading=on_loading)
    return pipeline.response()


class Pipeline:
    """One search. Call its steps in the order of :func:`search`; any thread may run a step.

    Steps with a connection read the index file. The others run models, which may take long.
    """

    planned: Plan
    results: Results

    def __init__(
        self,
        request: SearchRequest,
        *,
        cross_encoder: str | None = None,
        time_limit_ms: float | None = None,
        redact: bool = False,
        wait: float | None = None,
    ) -> None:
        self.seconds: dict[str, float] = {}  # duration of each step
        self._started = self._step_started = time.perf_counter()
        self._request = request
        self._cross_encoder = cross_encoder
        self._time_limit_ms = time_limit_ms
        self._redact = redact
        self._wait = wait
        self._state: State
        self.embedder: Embedder | None = None  # set if it has made the query's vector
        self.obstacle: str | None = None  # otherwise, the reason for people, if one was wanted
        self._reranker: Reranker | None = None

    def plan(self, connection: sqlite3.Connection) -> None:
        # Outside a transaction, each of some thirty statements would lock the file: a third slower.
        with snapshot(connection):
            self._state = database.read_state(connection)
            self._has_vector_extension = database.has_vector_extension(connection)
            self.planned = self._plan(connection, correct=self._request.correct)
            if self._redact:
                self._forget_words(connection)
        self._end_step("plan")

    def _plan(self, connection: sqlite3.Connection, *, correct: bool) -> Plan:
        request = self._request
        return planner.plan(
            connection, request.query, balance=request.ranking.balance, correct=correct
        )

    def _forget_words(self, connection: sqlite3.Connection) -> None:
        # Pages and JSON show corrections and completions. They mustn't reveal words that occur only
        # in secrets.
        if redaction.words_of_secrets(connection, self.planned.foreign_words):
            self.planned = self._plan(connection, correct=False)
        query = self.planned.query
        if secret := redaction.words_of_secrets(connection, query.completions):
            kept = (word for word in query.completions if word not in secret)
            self.planned = replace(self.planned, query=completed(query, kept))

    def embed(
        self, *, wait: float | None = None, on_loading: Callable[[], None] = lambda: None
    ) -> None:
        """Make the query's vector. Without one, the search uses words, and the response says so.

        :param wait: seconds to wait for the model, if not the same as for other models
        """
        state, query = self._state, self.planned.query
        ranking = self._request.ranking
        self._reranker = reranker_for(ranking, state.model, self._cross_encoder)
        obstacle = semantic_obstacle(state, self._has_vector_extension)
        wait = self._seconds_left() if wait is None else wait
        # Without waiting, start to load the model for later searches, even if this one uses words.
        is_needed = is_semantic(query) or wait == 0
        if obstacle is None and state.model and state.has_vectors and is_needed:
            embedder = registry.get_embedder(state.model)
            if wait != 0 and not embedder.ready:
                on_loading()
            if wait is not None and not embedder.wait_until_loaded(wait):
                obstacle = f"{WORDS_ONLY} {embedder.failure}" if embedder.failure else LOADING
            elif is_semantic(query):
                obstacle = _embed(state, embedder, query)
                self.embedder = None if obstacle else embedder
        self.obstacle = obstacle if is_semantic(query) else None
        self._end_step("embed")

    def retrieve(self, connection: sqlite3.Connection) -> None:
        """Run the statement, or raise TimeLimitExceeded."""
        request, limit_ms = self._request, self._time_limit_ms
        size, offset = request.size, request.offset
        if self._reranker:
            size, offset = first_stage(size, offset)
        started = time.perf_counter()
        try:
            with time_limit(connection, limit_ms), snapshot(connection):
                self.results = retrieve(
                    connection,
                    self.planned,
                    semantic=self.embedder is not None,
                    ranking=request.ranking,
                    size=size,
                    offset=offset,
                )
        except sqlite3.DatabaseError as error:
            # SQLite reports an interruption with various messages, so check the time instead.
            if limit_ms is not None and (time.perf_counter() - started) * 1000 >= limit_ms:
                raise TimeLimitExceeded("interrupted") from error
            raise
        self._end_step("sql")

    def refine(self, *, on_loading: Callable[[], None] = lambda: None) -> None:
        """Rerank the first results, and choose the text that each shows."""
        if self._reranker:
            wait = self._seconds_left()
            if wait != 0 and not self._reranker.ready:
                on_loading()
            size, offset = self._request.size, self._request.offset
            self.results = _reranked(self.results, self._reranker, size, offset, wait=wait)
            self._end_step("rerank")
        self.results = show(self.results, self.embedder)
        self._end_step("highlight")

    def redact(self, connection: sqlite3.Connection) -> None:
        if not self._redact:
            return
        hits = redaction.masked_notes(connection, self.results.hits)
        self.results = replace(self.results, hits=hits)
        self._end_step("redact")

    def response(self) -> SearchResponse:
        notices = (self.obstacle, pending_notice(self._state), *self.results.notices)
        seconds = {**self.seconds, "total": time.perf_counter() - self._started}
        timing_ms = {name: round(each * 1000, 1) for name, each in seconds.items()}
        return SearchResponse(self.results, tuple(filter(None, notices)), timing_ms, self._state)

    def _seconds_left(self) -> float | None:
        if self._wait is None:
            return None
        return max(0.0, self._started + self._wait - time.perf_counter())

    def _end_step(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._step_started
        self._step_started = now


def _embed(state: State, embedder: Embedder, query: Query) -> str | None:
    # Cache the query's vector for embed(), or return a message that says why there is none.
    try:
        embedder.load()
        if embedder.fingerprint != state.fingerprint:
            return (
                f"{WORDS_ONLY} The index was made with another version of the model {state.model}. "
                f"To search by meaning, run: datasette bear-index --model {state.model}"
            )
        embedder.embed_query(query.meaning)
    except ModelUnavailable as error:
        return f"{WORDS_ONLY} {error}"
    return None


# --- parameters of a URL → SearchRequest


def read_request(
    parameters: Parameters, *, size: int = PAGE_SIZE, offset: int = 0, correct: bool = True
) -> SearchRequest:
    """Read a request from the parameters of the search page, or raise InvalidParameter."""
    return SearchRequest(read_query(parameters), read_ranking(parameters), size, offset, correct)


def read_query(parameters: Parameters) -> Query:
    """Read the query and its filters, or raise InvalidParameter."""
    mode = _read_choice(parameters, "mode")
    return parse(_first(parameters, "q"), mode, read_filters(parameters))


def read_note_id(text: str) -> int:
    """Return a note's id, or 0 (no note's id) if the text is no number or too large for SQLite."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0


def read_ranking(parameters: Parameters) -> Ranking:
    """Read how to order the results, or raise InvalidParameter."""
    if chosen := config.read_chosen_ranking():
        parameters = {**chosen, **parameters}
    reranker = _first(parameters, "rerank") or None
    if reranker and reranker not in (choices := reranker_factories()):
        known = ", ".join(sorted(choices))
        raise InvalidParameter(f"rerank must be one of {known}, not {reranker!r}")
    return Ranking(
        rerank=reranker,
        balance=_read_fraction(parameters, "balance"),
        fusion=_read_choice(parameters, "fusion"),
        sort=_read_choice(parameters, "sort"),
        recency=_read_fraction(parameters, "recency"),
        min_similarity=_read_fraction(parameters, "min_similarity"),
        found_only=_first(parameters, "found") == "1",
    )


def read_number(name: str, text: str | None, default: int, lowest: int, highest: int) -> int:
    """Read a parameter that is a whole number in a range, or raise InvalidParameter."""
    text = str(highest) if name == "_size" and text == "max" else text or str(default)
    if not (text.isascii() and text.isdigit() and lowest <= int(text[:12]) <= highest):
        is_given = name == "_next"
        expected = (
            "a value that the API gave" if is_given else f"a number from {lowest} to {highest}"
        )
        raise InvalidParameter(f"{name} must be {expected}, not {text!r}")
    return int(text)


def _read_choice(parameters: Parameters, name: str) -> str:
    chosen = _first(parameters, name) or CHOICES[name][0]
    if chosen not in CHOICES[name]:
        raise InvalidParameter(f"{name} must be one of {', '.join(CHOICES[name])}, not {chosen!r}")
    return chosen


def _first(parameters: Parameters, name: str) -> str:
    return next(iter(parameters.get(name, ())), "")


def _read_fraction(parameters: Parameters, name: str) -> float | None:
    lowest, highest = NUMBERS[name]
    text = _first(parameters, name)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not lowest <= number <= highest:
        raise InvalidParameter(
            f"{name} must be a number from {lowest:g} to {highest:g}, not {text!r}"
        )
    return number


# --- degradation: obstacles to a complete search, and the notices that report them


def is_semantic(query: Query) -> bool:
    return bool(query.substrings) and query.mode in ("auto", "hybrid", "semantic")


def semantic_obstacle(state: State, has_vector_extension: bool) -> str | None:
    """Return why the index can't be searched by meaning; None if it can or is empty."""
    if not state.has_notes:
        return None
    if not state.has_vectors and state.refused and not state.pending:
        return f"{WORDS_ONLY} The model {state.model} doesn't know the script of these notes."
    if not state.has_vectors:
        option = " --semantic" if state.skips_vectors else ""
        return f"{WORDS_ONLY} To search by meaning, too, run: datasette bear-index{option}"
    if not has_vector_extension:
        return (
            f"{WORDS_ONLY} This Python can't load sqlite-vec; "
            "pip install pysqlite3 fixes that on most machines."
        )
    return None


def pending_notice(state: State) -> str | None:
    if not state.has_vectors or not state.pending:
        return None
    waiting = f"{counted(state.pending, 'passage')} can only be found by words so far."
    if state.skips_vectors:
        return f"{waiting} To search them by meaning, too, run: datasette bear-index --semantic"
    left = time_left(state.pending, state.passages_per_second)
    left = f" That takes {left}." if left else ""
    start = "If no datasette bear-index is running, start one."
    return f"Indexing isn't finished: {waiting}{left} {start}"


def changed_notice(changed: int) -> str | None:
    if not changed:
        return None
    changes = f"{counted(changed, 'note')} changed since the index was made."
    return f"{changes} To update it, run: datasette bear-index"


# --- reranking: improve the order of the first results within a time limit
#
# The higher the first stage ranks a note, the more its score counts relative to the reranker's, so
# that a wrong reranker score can't push an obvious answer off the page.

# Results to rerank: one page.
RERANK_TOP = 20

# Time limit in seconds. Results without a score by then follow in their first-stage order.
RERANK_SECONDS = 1.0

# Passages to score between two checks of the time; fewer at first, while the pace is unknown.
RERANK_BATCH = 8
FIRST_RERANK_BATCH = 2

# The share of the first stage's score, by its rank: up to rank 3, up to rank 10, after.
# From QMD (github.com/tobi/qmd).
FIRST_STAGE_SHARES = ((3, 0.75), (10, 0.60), (RERANK_TOP, 0.40))

# Searches whose scores are cached, 1 MB in all: further pages must continue the order of the first,
# and scoring again takes up to RERANK_SECONDS.
CACHED_RERANKS = 64

NOT_RERANKED = "These notes weren't reranked."
RERANKER_LOADING = f"{NOT_RERANKED} The reranker is still loading, which takes a few seconds."


class Reranked(NamedTuple):
    hits: tuple[Hit, ...]
    notice: str | None


def reranker_for(ranking: Ranking, model: str | None, cross_encoder: str | None) -> Reranker | None:
    """Return the reranker to use, if one is requested and the order is by relevance.

    :param model: the index's embedding model
    :param cross_encoder: the model to use for ``cross-encoder``, if not the default one
    """
    if ranking.rerank is None or ranking.sort != "relevance":
        return None
    name = ranking.rerank
    if name == "cross-encoder" and cross_encoder:
        name = f"{name}:{cross_encoder}"
    return get_reranker(name, get_embedder(model) if model else None)


def first_stage(size: int, offset: int) -> tuple[int, int]:
    """Return the size and offset of the hits to retrieve for a reranked page.

    The first RERANK_TOP hits are reranked together, so that pages neither repeat nor miss a note.
    """
    return (max(RERANK_TOP, offset + size), 0) if offset < RERANK_TOP else (size, offset)


def _reranked(
    results: Results,
    reranker: Reranker,
    size: int,
    offset: int,
    *,
    wait: float | None = RERANK_SECONDS,
) -> Results:
    """Return a page of reranked results, from the results that :func:`first_stage` determines.

    :param wait: seconds to wait for the model if it isn't loaded (None: as long as it takes)
    """
    if offset >= RERANK_TOP or not results.retrievers:
        return results
    query = results.query.meaning
    reranked = rerank(results.hits, query, reranker, wait=wait, resume=offset == 0)
    end = offset + size
    return replace(
        results,
        hits=reranked.hits[offset:end],
        notices=(*results.notices, *filter(None, [reranked.notice])),
        next_offset=end if end < results.total else None,
    )


def rerank(
    hits: Sequence[Hit],
    query: str,
    reranker: Reranker,
    *,
    wait: float | None = RERANK_SECONDS,
    seconds: float = RERANK_SECONDS,
    resume: bool = True,
) -> Reranked:
    """Rerank the first RERANK_TOP hits of the first stage, except for exact ones.

    :param resume: whether to score further hits if the same search ran out of time before
    """
    candidates = [hit for hit in hits[:RERANK_TOP] if not hit.is_exact]
    passages = [
        f"{hit.title}\n{hit.passage.text}" if hit.passage else hit.title for hit in candidates
    ]
    if not passages:
        return Reranked(tuple(hits), None)
    search = (reranker.name, query, *passages)
    scores, notice = _rerank_scores.get(search), None
    if scores is None or (resume and len(scores) < len(passages)):
        scores, notice = _scores(reranker, query, passages, scores or (), wait, seconds)
        database.keep(_rerank_scores, search, scores, CACHED_RERANKS)
    if notice is None and not scores:
        notice = NOT_RERANKED
    elif notice is None and len(scores) < len(passages):
        few = f"Only {len(scores)} of the first {len(passages)} results"
        notice = f"{few} could be reranked in time."
    return Reranked(tuple(blended(hits, scores)), notice)


_rerank_scores: dict[tuple[str, ...], tuple[float, ...]] = {}


def blended(hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Return the hits with the reranker's scores, ordered by a blend of both stages' scores.

    :param scores: scores of the first hits after the exact ones, which come first
    """
    exact = sum(hit.is_exact for hit in hits[:RERANK_TOP])
    end = exact + len(scores)
    scored = [replace(hit, rerank_score=score) for hit, score in zip(hits[exact:end], scores)]
    first_stage_scores = _min_max([hit.score or 0.0 for hit in scored])
    blends = []
    for rank, first, second in zip(count(exact + 1), first_stage_scores, _min_max(scores)):
        share = next(share for last, share in FIRST_STAGE_SHARES if rank <= last)
        blends.append(share * first + (1 - share) * second)
    order = sorted(range(len(scored)), key=lambda place: -blends[place])  # stable
    return [*hits[:exact], *(scored[place] for place in order), *hits[end:]]


def _min_max(scores: Sequence[float]) -> list[float]:
    lowest, highest = min(scores, default=0.0), max(scores, default=0.0)
    if highest == lowest:
        return [1.0] * len(scores)
    return [(score - lowest) / (highest - lowest) for score in scores]


def _scores(
    reranker: Reranker,
    query: str,
    passages: Sequence[str],
    known: Sequence[float],
    wait: float | None,
    seconds: float,
) -> tuple[tuple[float, ...], str | None]:
    """Return the scores of as many passages as time allows, and a message after a failure."""
    if not reranker.wait_until_loaded(wait):
        return tuple(
            known
        ), f"{NOT_RERANKED} {reranker.failure}" if reranker.failure else RERANKER_LOADING
    scores, size, started = list(known), FIRST_RERANK_BATCH, time.monotonic()
    end = started + seconds
    try:
        while len(scores) < len(passages) and size:
            scores += _checked(reranker, query, passages[len(scores) : len(scores) + size])
            now = time.monotonic()
            pace = (now - started) / (len(scores) - len(known))
            # Don't begin a batch that wouldn't be finished in time.
            size = max(0, min(RERANK_BATCH, int((end - now) / max(pace, 1e-6))))
    except ModelUnavailable as error:
        return tuple(known), f"{NOT_RERANKED} {error}"
    return tuple(scores), None


def _checked(reranker: Reranker, query: str, passages: Sequence[str]) -> list[float]:
    what_happened = f"The reranker {reranker.name} failed"
    try:
        scores = [float(score) for score in reranker.score(query, passages)]
    except Exception as error:
        raise ModelUnavailable(reranker.error_message(error, what_happened)) from error
    if len(scores) != len(passages) or not all(map(math.isfinite, scores)):
        raise ModelUnavailable(f"{what_happened}: not every note got a score. {reranker.advice}")
    return scores
