"""``SearchRequest`` → plan → embed → statement → rerank → snippets → redact → ``SearchResponse``.

The page, JSON API, SQL functions, terminal, agents and bear-eval all use this pipeline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..embeddings import registry
from ..embeddings.base import Embedder, ModelUnavailable
from ..embeddings.rerankers import Reranker
from ..index.file import database
from ..index.file.database import State
from ..notes import counted, time_left
from ..query.query import Query, completed
from ..sqlite import snapshot, sqlite3, time_limit
from .planning import planner
from .planning.planner import Plan
from .redaction import masking
from .request import SearchRequest
from .results.records import Hit, Results
from .results.rerank import reranked_results, reranked_window, reranker_for
from .results.retrieve import retrieve
from .results.snippets import show

# Seconds to wait for models by default, for programs and for people who chose a mode.
WAIT = 30
WORDS_ONLY = "Notes are found by their words only."
# The page's script looks for "model is still loading".
LOADING = f"{WORDS_ONLY} The model is still loading, which takes a few seconds."


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

    :param connection: from :func:`~datasette_bear_search.search.connection.open_sidecar`
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
        if masking.words_of_secrets(connection, self.planned.revealed_words):
            self.planned = self._plan(connection, correct=False)
        query = self.planned.query
        if secret := masking.words_of_secrets(connection, query.completions):
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
            size, offset = reranked_window(size, offset)
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
            self.results = reranked_results(self.results, self._reranker, size, offset, wait=wait)
            self._end_step("rerank")
        self.results = show(self.results, self.embedder)
        self._end_step("highlight")

    def redact(self, connection: sqlite3.Connection) -> None:
        if not self._redact:
            return
        hits = masking.masked_notes(connection, self.results.hits)
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
