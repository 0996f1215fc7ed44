"""``SearchRequest`` → plan → embed → statement → redact → rerank → snippets → ``SearchResponse``.

The page, JSON API, SQL functions, terminal, agents and bear-eval all use this pipeline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..embeddings import registry
from ..embeddings.base import Embedder, ModelUnavailable
from ..embeddings.rerankers import Reranker
from ..index import freshness
from ..index.file import database, vectors
from ..index.file.database import State
from ..index.run import lock
from ..notes import counted, time_left
from ..query.query import Query, without_filters, without_guess
from ..sqlite import snapshot, sqlite3, time_limit
from .planning import planner
from .planning.offers import nothing_from
from .planning.planner import Plan
from .redaction import masking
from .request import SearchRequest
from .results.records import Found, FoundNote, Hit, Results, Unfiltered
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

    def __getitem__(self, place: int) -> Hit:
        return self.results.hits[place]

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
    pipeline.refine(on_loading=on_loading)
    return pipeline.response()


class Pipeline:
    """One search. Call its steps in the order of :func:`search`; any thread may run a step.

    Steps with a connection read the index file. The others run models, which may take long.
    """

    planned: Plan
    found: Found[FoundNote]  # without secrets, if they are to be masked
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
            self._has_vector_extension = vectors.has_extension(connection)
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
        terms = self.planned.terms
        if secret := masking.words_of_secrets(connection, terms.completions):
            kept = tuple(word for word in terms.completions if word not in secret)
            self.planned = replace(self.planned, terms=replace(terms, completions=kept))

    def embed(
        self, *, wait: float | None = None, on_loading: Callable[[], None] = lambda: None
    ) -> None:
        """Make the query's vector. Without one, the search uses words, and the response says so.

        :param wait: seconds to wait for the model, if not the same as for other models
        """
        state, planned = self._state, self.planned
        ranking = self._request.ranking
        self._reranker = reranker_for(ranking, self._cross_encoder)
        wait = self._seconds_left() if wait is None else wait
        # Without waiting, start to load the model for later searches, even if this one uses words.
        is_needed = is_semantic(planned.query) or wait == 0
        obstacle = semantic_obstacle(state, self._has_vector_extension) if is_needed else None
        if obstacle is None and state.model and state.has_vectors and is_needed:
            embedder = registry.get_embedder(state.model)
            if wait != 0 and not embedder.ready:
                on_loading()
            if wait is not None and not embedder.wait_until_loaded(wait):
                obstacle = f"{WORDS_ONLY} {embedder.failure}" if embedder.failure else LOADING
            elif is_semantic(planned.query):
                obstacle = _embed(state, embedder, planned.terms.meaning)
                self.embedder = None if obstacle else embedder
        self.obstacle = obstacle if is_semantic(planned.query) else None
        self._end_step("embed")

    def retrieve(self, connection: sqlite3.Connection) -> None:
        """Run the statement, and mask the secrets in what it finds; or raise TimeLimitExceeded."""
        with snapshot(connection):
            found = self._retrieved(connection)
            self._end_step("sql")
            if self._redact:
                # Here, so that no later step has anything that mustn't be shown.
                found = replace(found, hits=masking.masked_notes(connection, found.hits))
                self._end_step("redact")
        self.found = found

    def _retrieved(self, connection: sqlite3.Connection) -> Found[FoundNote]:
        request, limit_ms = self._request, self._time_limit_ms
        size, offset = request.size or 1, request.offset
        if self._reranker:
            size, offset = reranked_window(size, offset)
        started = time.perf_counter()

        def search(planned: Plan, size: int) -> Found[FoundNote]:
            return retrieve(
                connection,
                planned,
                semantic=self.embedder is not None,
                ranking=request.ranking,
                size=size,
                offset=offset,
            )

        try:
            with time_limit(connection, limit_ms):
                return _widened(search(self.planned, size), search, size)
        except sqlite3.DatabaseError as error:
            # SQLite reports an interruption with various messages, so check the time instead.
            if limit_ms is not None and (time.perf_counter() - started) * 1000 >= limit_ms:
                raise TimeLimitExceeded("interrupted") from error
            raise

    def refine(self, *, on_loading: Callable[[], None] = lambda: None) -> None:
        """Rerank the first results, and choose the text that each shows."""
        if self._reranker:
            wait = self._seconds_left()
            if wait != 0 and not self._reranker.ready:
                on_loading()
            size, offset = self._request.size, self._request.offset
            self.found = reranked_results(self.found, self._reranker, size, offset, wait=wait)
            self._end_step("rerank")
        if not self._request.size:  # only the counts are wanted, and they are in each row
            self.found = replace(self.found, hits=(), next_offset=None)
        self.results = show(self.found, self.embedder)
        self._end_step("highlight")

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


def _widened(
    results: Found[FoundNote], search: Callable[[Plan, int], Found[FoundNote]], size: int
) -> Found[FoundNote]:
    """Return the results without a time that was only read out of the text, if it left nothing.

    If filters that were chosen leave nothing, count what there is without them.

    :param search: runs a plan for a number of results
    """
    plan, query = results.plan, results.plan.query
    if _is_empty(results) and query.is_of_time and query.time:
        wider = search(replace(plan, query=without_guess(query)), size)
        if wider.found or not results.total:
            notices = (nothing_from(query.time), *wider.notices)
            results, query = replace(wider, notices=notices), wider.plan.query
    if _is_empty(results) and query.filters and plan.terms.substrings:
        chosen = [clause for clause in query.clauses if clause.is_filter]
        is_one = len(chosen) == 1 and not query.filters_beside
        query = without_filters(query)
        if found := search(replace(plan, query=query), 1).found:
            label = chosen[0].label if is_one else ""
            unfiltered = Unfiltered(label, query.text, found)
            notices = (*results.notices, unfiltered.notice)
            results = replace(results, unfiltered=unfiltered, notices=notices)
    return results


def _is_empty(results: Found[FoundNote]) -> bool:
    """Return whether nothing was found, nor any note that has some of the words."""
    return not results.found and not any(hit.keyword_rank for hit in results.hits)


def _embed(state: State, embedder: Embedder, meaning: str) -> str | None:
    # Cache the query's vector for embed(), or return a message that says why there is none.
    try:
        embedder.load()
        if embedder.fingerprint != state.fingerprint:
            return (
                f"{WORDS_ONLY} The index was made with another version of the model {state.model}. "
                f"To search by meaning, run: {state.command} --model {state.model}"
            )
        embedder.embed_query(meaning)
    except ModelUnavailable as error:
        return f"{WORDS_ONLY} {error}"
    return None


# --- degradation: obstacles to a complete search, and the notices that report them


def is_semantic(query: Query) -> bool:
    return bool(query.terms.substrings) and query.mode in ("auto", "hybrid", "semantic")


def semantic_obstacle(state: State, has_vector_extension: bool) -> str | None:
    """Return why the index can't be searched by meaning; None if it can or is empty."""
    obstacle = freshness.vectors_obstacle(state, has_vector_extension)
    return f"{WORDS_ONLY} {obstacle}" if state.has_notes and obstacle else None


def pending_notice(state: State) -> str | None:
    if not state.has_notes:
        return "The index has no notes yet."
    if not state.has_vectors or not state.pending:
        return None
    waiting = f"{counted(state.pending, 'passage')} can only be found by words so far."
    if state.skips_vectors:
        return f"{waiting} To search them by meaning, too, run: {state.command} --semantic"
    if under_way := freshness.vectors_under_way(state):
        return f"{under_way} Until then, these can only be found by words."
    left = time_left(state.pending, state.passages_per_second)
    left = f" That takes {left}." if left else ""
    return f"Indexing isn't finished: {waiting}{left} To finish it, run: {state.command}"


def source_notices(changes: freshness.SourceChanges, path: Path) -> list[str]:
    """Return notices on notes that changed since they were indexed, or may have."""
    notices = [each.notice for each in changes.unreadable]
    if changes.changed:
        path, changed = database.unrestricted(path), counted(changes.changed, "note")
        # "To go", not "changed": a rebuild indexes all notes anew.
        said = f"The index is being updated: {changed} to go."
        if not lock.is_busy(path):
            update = f"To update it, run: {database.index_command(path)}"
            said = f"{changed} changed since the index was made. {update}"
        notices.append(said)
    return notices
