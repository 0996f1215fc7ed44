"""The Python API: one index file → search, notes, similar notes, indexing."""

from __future__ import annotations

# Only fast imports are here. Others are inside functions, so that "import" takes no time.
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .notes import ForeseenError

if TYPE_CHECKING:
    from .embeddings.base import Embedder
    from .index.config import Configuration
    from .index.file.sources import StoredSource
    from .index.run.report import Hooks, Report
    from .index.selection import Selection
    from .index.watch import Watcher
    from .search.engine import SearchResponse
    from .search.notes.detail import NoteDetail
    from .search.notes.similar import SimilarNotes
    from .search.results.records import ListedNote
    from .sources.base import SourceConfig
    from .sqlite import sqlite3

    # A note's id, "source:key", the path of its file, or the note itself.
    NoteName: TypeAlias = int | str | Path | ListedNote | NoteDetail
    Value: TypeAlias = str | float | Sequence[str] | None
    Place: TypeAlias = str | os.PathLike[str] | SourceConfig

# Parameters of the search page other than filters.
RANKING_PARAMETERS = (
    "mode", "sort", "balance", "fusion", "recency", "found", "min_similarity", "rerank",
)  # fmt: skip


class NoteNotFound(ForeseenError, LookupError):
    """There is no such note."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no note with the id {name}. Each search result shows its id. "
            "SOURCE:KEY and the path of a file in a folder of notes name a note, too."
        )


class Library:
    """The notes in one index file.

    Each call opens the file, so several threads may use a library. In a ``with`` block, calls of
    its thread share a connection. All errors that a person can do something about are instances of
    :class:`ForeseenError`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        hidden_tags: Sequence[str] = (),
        *,
        redact: bool = False,
        time_limit_ms: float | None = None,
    ) -> None:
        """
        :param path: the index file; by default, where ``bear-index`` puts it
        :param hidden_tags: hide notes that have one of these tags or a tag nested in it, and other
            sources' copies of these notes
        :param redact: mask passwords, API keys and card numbers
        :param time_limit_ms: the time limit of a search's statement
        """
        from .index.file import database

        self.path = database.default_path() if path is None else Path(path).expanduser()
        self.hidden_tags = tuple(hidden_tags)
        self.redact = redact
        self.time_limit_ms = time_limit_ms
        self._kept: ExitStack | None = None
        self._connection: sqlite3.Connection | None = None
        self._thread = 0

    def __enter__(self) -> Library:
        self._kept, self._thread = ExitStack(), threading.get_ident()
        return self

    def __exit__(self, *error: object) -> None:
        kept, self._kept, self._connection = self._kept, None, None
        if kept:
            kept.close()

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the index file read-only, with our SQL functions.

        :raises SidecarError: if it can't be read, now or inside the block
        :raises RedactionMissing: if secrets are to be masked and the packages aren't installed
        """
        from .index.file.database import SidecarError, explained
        from .search.connection import open_sidecar
        from .search.engine import TimeLimitExceeded
        from .search.redaction.masking import require
        from .sqlite import sqlite3

        if self.redact:
            require()
        with ExitStack() as cleanup:
            try:
                if self._kept and self._thread == threading.get_ident():
                    if self._connection is None:
                        self._connection = self._kept.enter_context(open_sidecar(self._file()))
                    connection = self._connection
                else:
                    connection = cleanup.enter_context(open_sidecar(self._file()))
                yield connection
            except (SidecarError, TimeLimitExceeded):
                raise
            # SQLite's messages may quote damaged text, which Python can't decode.
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise SidecarError(explained(error)) from error

    def search(
        self,
        query: str = "",
        *,
        tags: str | Sequence[str] = (),
        sources: str | Sequence[str] = (),
        limit: int = 10,
        offset: int = 0,
        correct: bool = True,
        wait: float | None = None,
        on_loading: Callable[[], None] = lambda: None,
        **parameters: Value,
    ) -> SearchResponse:
        """Return the best matches; without a query, all notes that pass the filters, newest first.

        :param query: like on the search page: words, questions, ``tag:work``, ``created:2024``
        :param tags: find notes that have all of these tags
        :param sources: find notes from any of the sources with these names
        :param correct: whether words that no note has may be corrected
        :param wait: seconds to wait for a model that isn't loaded; None: as long as it takes
        :param on_loading: called before a model is loaded
        :param parameters: other parameters of the search page: ``created_after="2024"``,
            ``pinned=True``, ``has=["image"]``, ``mode="keyword"``, ``found=True``, ``balance=0.5``
        :raises InvalidParameter: for an unknown parameter or an invalid value
        :raises TimeLimitExceeded: if the library has a time limit and the search exceeds it
        """
        from .query.filter_values import InvalidParameter
        from .search import engine
        from .search import request as search_request

        if limit < 1 or offset < 0:
            raise InvalidParameter("limit must be 1 or more, and offset 0 or more")
        for name in parameters:
            _check_parameter(name)
        texts = {name: _texts(value) for name, value in parameters.items()}
        texts |= {"q": [query], "tag": [*_texts(tags), *texts.get("tag", [])]}
        texts["source"] = [*_texts(sources), *texts.get("source", [])]
        request = search_request.read_request(texts, size=limit, offset=offset, correct=correct)
        options: dict[str, Any] = {"time_limit_ms": self.time_limit_ms, "redact": self.redact}
        options |= {"wait": wait, "on_loading": on_loading}
        with self.open() as connection:
            response = engine.search(connection, request, **options)
        said = [*response.results.plan.hints, *response.notices, self.changed_notice()]
        return replace(response, notices=tuple(filter(None, said)))

    def note(
        self,
        note: NoteName | None = None,
        *,
        source: str = "",
        key: str = "",
        path: str | os.PathLike[str] | None = None,
    ) -> NoteDetail:
        """Return a whole note by its id, its source and key (which never change) or its file.

        :raises NoteNotFound: if there is no such note
        """
        from .search.notes import detail
        from .search.redaction import masking

        name = f"{source}:{key}" if source or key else note if path is None else Path(path)
        if name is None:
            raise TypeError("note() needs an id, a source and key, or a path")
        with self.open() as connection:
            found = detail.read_note(connection, self._id(connection, name))
        if found is None:
            raise NoteNotFound(_name(name))
        return masking.masked_record(found) if self.redact else found

    def similar(self, note: NoteName, *, limit: int = 10, unlinked: bool = False) -> SimilarNotes:
        """Return the notes most similar to a note, each with its reasons.

        :param unlinked: leave out notes that it links to or that link to it
        :raises NoteNotFound: if there is no such note
        """
        from .search.notes import similar as similar_notes
        from .search.redaction import masking

        with self.open() as connection:
            note_id = self._id(connection, note)
            found = similar_notes.find_similar(connection, note_id, size=limit, unlinked=unlinked)
            if found is None:
                raise NoteNotFound(_name(note))
            return masking.masked_similar(connection, found) if self.redact else found

    # --- visibility

    def changed_notice(self) -> str | None:
        from .index import freshness
        from .search import engine

        return engine.changed_notice(freshness.changes_since_indexing(self._file()))

    def _file(self) -> Path:
        """Return the file to read: the index, or the restricted one that lacks hidden notes."""
        if not self.hidden_tags:
            return self.path
        from .index.run import indexer

        return indexer.restricted_index(self.path, self.hidden_tags)

    def _id(self, connection: sqlite3.Connection, note: NoteName) -> int:
        from .search.notes.detail import find_note_id

        name = _name(note)
        path = os.path.abspath(os.path.expanduser(name))
        return find_note_id(connection, path if os.path.isfile(path) else name)

    # --- indexing

    def index(
        self,
        *sources: Place,
        remove: Collection[str] = (),
        model: str | None = None,
        semantic: bool | None = None,
        rebuild: bool = False,
        yes: bool = False,
        hooks: Hooks | None = None,
    ) -> Report:
        """Bring the index up to date with these sources; by default, all configured or indexed.

        :param sources: places with notes, which are added to the index
        :param remove: names of sources to remove from the index
        :param model: the embedding model, which this machine trusts from now on; by default, the
            index's or the default one
        :param semantic: whether to make vectors; None keeps the earlier choice
        :param yes: remove notes even if a source has suddenly lost all or most of them; otherwise
            these stay for now, and the report's ``kept`` says so
        :param hooks: called with the progress; if given, failures are only in the report
        :raises SourceError: if no source can be read; if only some can't, the report says so
        :raises ModelUnavailable: if the named model can't be loaded
        :raises IndexBusy: if another run is at work
        """
        from .embeddings.base import ModelUnavailable
        from .index.run import indexer
        from .index.run.report import SILENT
        from .search.planning import spelling
        from .sources.base import SourceError

        selection = self._selection(sources, remove, everything=rebuild)
        embedder = self.embedder(model, semantic=semantic)
        report = indexer.update(
            self.path,
            selection.read,
            embedder,
            remove=selection.remove,
            rebuild=rebuild,
            yes=yes,
            verify_model=model is not None,
            hooks=hooks or SILENT,
        )
        has_all_vectors = report.notes and not report.pending
        if embedder is not None and has_all_vectors and not report.model_failure:
            with suppress(ModelUnavailable):  # the export is optional
                if embedder.needs_onnx_export():  # with it, the model starts within a second
                    (hooks or SILENT).on_export(embedder.name)
                    embedder.export_onnx()
                    spelling.dictionary()  # with it, the first mistyped word takes no seconds
        if hooks is None and report.failures and len(report.failures) == len(selection.read):
            raise SourceError(report.failures[0].message)
        if hooks is None and report.model_failure and model is not None:
            raise ModelUnavailable(report.model_failure)
        return report

    def watch(
        self,
        *sources: Place,
        say: Callable[[str], None] = print,
        quiet: bool = False,
        poll: bool = False,
        until: threading.Event | None = None,
    ) -> None:
        """Bring the index up to date and keep it so while notes change, until Ctrl-C.

        :param say: called with each line about a change or an error
        :param quiet: report only errors
        :param poll: check the files every few seconds, for example on network drives
        :param until: setting this event ends it, too
        """
        from .index.watch import Watcher

        selection = self._selection(sources)
        watcher = Watcher(
            self.path, selection.read, self.embedder(), say=say, quiet=quiet, poll=poll
        )
        if until is not None:
            threading.Thread(target=_stop, args=[watcher, until], daemon=True).start()
        watcher.run(update_first=True)

    def sources(self) -> dict[str, StoredSource]:
        """Return the sources in the index by name; none if there is no index yet."""
        from .index.file import database
        from .index.file import sources as stored_sources

        if not database.is_made(self.path):
            return {}
        with closing(database.connect(self.path)) as connection:
            return stored_sources.read_sources(connection)

    def known_sources(
        self, config_path: Path | None = None
    ) -> tuple[list[SourceConfig], Configuration | None]:
        """Return the sources in the index, and the settings of the configuration file, if any.

        :raises ConfigurationError: if the file isn't valid
        """
        from .index import config

        known = [stored.config for stored in self.sources().values()]
        found = config.find_configuration(config_path)
        return known, config.read_configuration(found, known) if found else None

    def embedder(
        self, model: str | None = None, *, semantic: bool | None = None
    ) -> Embedder | None:
        """Return the model that a run would use; None if it would make no vectors.

        :param model: its name; this machine trusts it from now on
        """
        from .embeddings import names, registry
        from .index.file import database, metadata

        if semantic is None:
            semantic = bool(model) or database.stored(self.path, metadata.SEMANTIC) != metadata.NO
        if not semantic:
            return None
        if model:
            embedder = registry.trust(names.given(model))
        else:
            stored = database.stored(self.path, metadata.NEXT_MODEL) or database.stored(self.path)
            embedder = registry.get_embedder(stored or registry.default_model())
        embedder.may_download = True
        return embedder

    def _selection(
        self, sources: Sequence[Place], remove: Collection[str] = (), *, everything: bool = False
    ) -> Selection:
        from .index import config
        from .index import selection as index_selection
        from .sources.base import SourceConfig

        given = [source for source in sources if isinstance(source, SourceConfig)]
        paths = [os.fspath(each) for each in sources if not isinstance(each, SourceConfig)]
        known, configuration = self.known_sources()
        removed = tuple(config.named(name, known).name for name in remove)
        if (given or remove) and not paths:
            return index_selection.Selection(tuple(given), removed)
        selected = index_selection.select(known, configuration, paths=paths, everything=everything)
        return index_selection.Selection((*selected.read, *given), (*selected.remove, *removed))


def _name(note: NoteName) -> str:
    return str(getattr(note, "id", note))


def _stop(watcher: Watcher, until: threading.Event) -> None:
    until.wait()
    watcher.stop()


def _check_parameter(name: str) -> None:
    from .index.config import did_you_mean
    from .query.filter_values import InvalidParameter
    from .query.filters import FILTERS

    known = [*RANKING_PARAMETERS, *(each for row in FILTERS.values() for each in row.parameters)]
    if name not in known:
        question = did_you_mean(name, ["tags", "sources", "limit", "offset", *known])
        raise InvalidParameter(f"there is no parameter {name!r}. {question}")


def _texts(value: Value) -> list[str]:
    if value is None:
        return []
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return [str(int(each)) if isinstance(each, bool) else str(each) for each in values]
