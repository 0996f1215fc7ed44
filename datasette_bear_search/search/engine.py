"""A question → its answer, without Datasette: what the terminal and the agents share.

The steps are those of the search page: fit the query to the library, make its vector, run the statement, rerank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..embeddings import registry
from ..index import database
from ..notes import counted
from ..query.query import Query
from ..sqlite import sqlite3, time_limit
from . import functions, redaction, rerank
from . import request as readiness
from .planner import Plan, plan
from .request import read_query, read_ranking
from .results import DEFAULT_RANKING, PAGE_SIZE, Ranking, Results, prefetch, retrieve
from .snippets import highlighted

# As many as the JSON API gives at once.
MAX_SIZE = 100


class Parameters(Mapping[str, str]):
    """Names with one or more values each, as in the address of the search page."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = {name: list(several) for name, several in values.items() if several}

    def __getitem__(self, name: str) -> str:
        """The first value, as of an address."""
        return self._values[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def getlist(self, name: str) -> list[str]:
        """All values of a name."""
        return self._values.get(name, [])


@dataclass(frozen=True)
class Question:
    """What is searched for, and which part of the results is wanted."""

    query: Query
    ranking: Ranking = DEFAULT_RANKING
    size: int = PAGE_SIZE
    offset: int = 0
    correct: bool = True  # whether words that no note has may be taken for mistyped ones


@dataclass(frozen=True)
class Answer:
    """Results, and what a person should know about them."""

    results: Results
    notices: tuple[str, ...]
    timing_ms: dict[str, float]


def read_question(
    parameters: Parameters, *, size: int = PAGE_SIZE, offset: int = 0, correct: bool = True
) -> Question:
    """The question in the parameters of the search page.

    :raises InvalidParameter: for a value that makes no sense
    """
    return Question(read_query(parameters), read_ranking(parameters), size, offset, correct)


@contextmanager
def open_sidecar(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection to the sidecar at ``path`` that has our SQL functions.

    :raises SidecarError: if there is none, or an earlier version made it
    """
    with closing(database.connect(path)) as connection:
        database.require_readable(connection)
        functions.register(connection)
        functions.register_embed(connection)
        yield connection


def ask(
    connection: sqlite3.Connection,
    question: Question,
    *,
    cross_encoder: str | None = None,
    time_limit_ms: float | None = None,
    redact: bool = False,
    on_loading: Callable[[], None] = lambda: None,
) -> Answer:
    """The answer to a question. Waits for the model if need be; without one it answers by words and says so.

    :param connection: one of :func:`open_sidecar`
    :param cross_encoder: the model that ``cross-encoder`` stands for, if it isn't ours
    :param time_limit_ms: how long the statement may run
    :param redact: whether secrets are masked in the results
    :param on_loading: called before a model is loaded, which takes seconds
    :raises sqlite3.DatabaseError: if the sidecar is damaged, or the time is up ("interrupted")
    """
    clock = Clock()
    state = database.read_state(connection)
    ranking = question.ranking
    planned = plan(connection, question.query, balance=ranking.balance, correct=question.correct)
    clock.lap("plan")
    semantic, obstacle = _prepare_meaning(connection, state, planned, on_loading)
    clock.lap("embed")
    reranker = rerank.reranker_for(ranking, state.model, cross_encoder)
    size, offset = question.size, question.offset
    first_size, first_offset = rerank.first_stage(size, offset) if reranker else (size, offset)
    with time_limit(connection, time_limit_ms):
        results = retrieve(
            connection,
            planned,
            semantic=semantic,
            ranking=ranking,
            size=first_size,
            offset=first_offset,
        )
    clock.lap("sql")
    if reranker:
        if not reranker.ready:
            on_loading()
        results = rerank.page(results, reranker, size, offset, wait=True)
        clock.lap("rerank")
    if "semantic" in results.retrievers and state.model:
        results = highlighted(results, registry.get_embedder(state.model))
        clock.lap("highlight")
    if redact:
        results = redaction.results(connection, results)
        clock.lap("redact")
    notices = [obstacle, readiness.incomplete(state), *results.notices]
    return Answer(results, tuple(filter(None, notices)), clock.milliseconds())


def changed_notice(changed: int) -> str | None:
    """What to say of so many notes that changed since they were indexed."""
    if not changed:
        return None
    has = "has" if changed == 1 else "have"
    return f"{counted(changed, 'note')} {has} changed since the index was made. To search them, run: datasette bear-index"


def _prepare_meaning(
    connection: sqlite3.Connection,
    state: database.State,
    planned: Plan,
    on_loading: Callable[[], None],
) -> tuple[bool, str | None]:
    """Whether the search can go by meaning, its vector being made; and what to say if it can't."""
    if not readiness.wants_meaning(planned.query):
        return False, None
    obstacle = readiness.obstacle(state, database.has_vector_extension(connection))
    if obstacle or state.model is None or not state.has_vectors:
        return False, obstacle
    embedder = registry.get_embedder(state.model)
    if not embedder.ready:
        on_loading()
    obstacle = readiness.embed_query(state, embedder, planned.query)
    if obstacle is None:
        prefetch(connection, planned, embedder)
    return obstacle is None, obstacle


class Clock:
    """How long each part of the work took."""

    def __init__(self) -> None:
        self._started = self._lap = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Count the time since the last lap for the part of this name."""
        now = time.perf_counter()
        self._laps[name] = round((now - self._lap) * 1000, 1)
        self._lap = now

    def milliseconds(self) -> dict[str, float]:
        """Of each part, and in all."""
        total = time.perf_counter() - self._started
        return {**self._laps, "total": round(total * 1000, 1)}
