"""The Python API: one index file → search, notes, similar notes, indexing."""

from __future__ import annotations

# Only fast imports are here. Others are inside functions, so that "import" takes no time.
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .notes import ForeseenError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .embeddings.base import Embedder
    from .index.config import Configuration
    from .index.file.sources import StoredSource
    from .index.freshness import SourceChanges
    from .index.run.report import Hooks, Report
    from .index.selection import Selection
    from .notes import Note
    from .query.suggest import Suggestions
    from .search.engine import SearchResponse
    from .search.notes.detail import NoteDetail
    from .search.notes.similar import SimilarNotes
    from .search.request import SearchParameters
    from .search.results.facets import Facets
    from .search.results.records import Hit, ListedNote
    from .search.status import Status
    from .sources.base import SourceConfig
    from .sqlite import sqlite3

    # A note's id, "source:key", the path of its file, or the note itself.
    NoteName: TypeAlias = int | str | Path | ListedNote | NoteDetail
    Place: TypeAlias = str | os.PathLike[str] | SourceConfig

# Hits that hits() reads at a time.
PAGE = 100


class NoteNotFound(ForeseenError, LookupError):
    """There is no such note."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no note with the id {name}. Each search result shows its id. "
            "SOURCE:KEY and the path of a file in a folder of notes name a note, too."
        )


@contextmanager
def _explained() -> Iterator[None]:
    """Raise SidecarError instead of SQLite's errors about the index file."""
    from .sqlite import sqlite3

    try:
        yield
    # SQLite's messages may quote damaged text, which Python can't decode.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        from .index.file.database import SidecarError, explained
        from .search.engine import TimeLimitExceeded

        # Not of the index, but of the program that uses the connection.
        program_errors = (sqlite3.ProgrammingError, sqlite3.InterfaceError)
        if isinstance(error, (TimeLimitExceeded, *program_errors)):
            raise
        raise SidecarError(explained(error)) from error


class Library:
    """The notes in one index file.

    Each call opens the file. In a ``with`` block, the calls of a thread share a connection; blocks
    may be nested, and threads may share a library. All errors that a person can do something about
    are instances of :class:`ForeseenError`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        hidden_tags: str | Sequence[str] = (),
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
        self.hidden_tags = _several(hidden_tags)
        self.redact = redact
        self.time_limit_ms = time_limit_ms
        self.config_path: Path | None = None  # of the configuration file; None: the usual one
        self._block = _Block()

    def __repr__(self) -> str:
        options = {"hidden_tags": self.hidden_tags, "redact": self.redact}
        given = [f"{name}={value!r}" for name, value in options.items() if value]
        return f"{type(self).__name__}({', '.join([repr(str(self.path)), *given])})"

    def __enter__(self) -> Library:
        self._block.depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        # A block may end in another thread than it began in, in which it has kept nothing.
        self._block.depth = max(self._block.depth - 1, 0)
        if not self._block.depth:
            self._block.connection = None
            self._block.cleanup.close()

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the index file read-only, with our SQL functions.

        :raises SidecarError: if it can't be read, now or inside the block
        :raises RedactionMissing: if secrets are to be masked and the packages aren't installed
        """
        from .search.connection import open_sidecar
        from .search.redaction.masking import require

        if self.redact:
            require()
        block = self._block
        with ExitStack() as cleanup, _explained():
            if not block.depth:
                yield cleanup.enter_context(open_sidecar(self._file()))
                return
            if block.connection is None:
                block.connection = block.cleanup.enter_context(open_sidecar(self._file()))
            yield block.connection

    def search(
        self,
        query: str = "",
        *,
        limit: int = 10,
        offset: int = 0,
        correct: bool = True,
        wait: float | None = None,
        on_loading: Callable[[], None] = lambda: None,
        **parameters: Unpack[SearchParameters],
    ) -> SearchResponse:
        """Return the best matches; without a query, all notes that pass the filters, newest first.

        :param query: like on the search page: words, questions, ``tag:work``, ``created:2024``
        :param limit: the number of hits; there is no upper limit
        :param correct: whether words that no note has may be corrected
        :param wait: seconds to wait for a model that isn't loaded; None: as long as it takes
        :param on_loading: called before a model is loaded
        :param parameters: those of the search page: ``tags=["cabin"]``, ``created_after="2024"``,
            ``pinned=True``, ``has=["image"]``, ``mode="keyword"``, ``found=True``, ``balance=0.5``
        :raises InvalidParameter: for an unknown parameter or an invalid value
        :raises TimeLimitExceeded: if the library has a time limit and the search exceeds it
        """
        from .search import engine, request

        asked = request.read_python(query, limit, offset, correct, parameters)
        with self.open() as connection:
            response = engine.search(
                connection,
                asked,
                time_limit_ms=self.time_limit_ms,
                redact=self.redact,
                wait=wait,
                on_loading=on_loading,
            )
        said = [*response.results.plan.hints, *response.notices, *self.source_notices()]
        return replace(response, notices=tuple(said))

    def why(
        self,
        title: str,
        query: str = "",
        /,
        *,
        limit: int = 10,
        reads_sources: bool = True,
        wait: float | None = None,
        **parameters: Unpack[SearchParameters],
    ) -> str:
        """Return why a note isn't among the results of a search, or where it is, in a sentence.

        :param title: the note's title, part of it, its id, ``SOURCE:KEY`` or the path of its file
        :param reads_sources: look in the sources if it isn't indexed, their trash included
        """
        from .search import absence, request

        asked = request.read_python(query, limit, 0, True, parameters)
        # Whoever may not see some notes mustn't learn from the sources that they are there.
        reads = reads_sources and not self.hidden_tags
        with self.open() as connection:
            said = absence.explain(
                connection, asked, title, reads_sources=reads, wait=wait, redact=self.redact
            )
        return self.shown(said)

    def hits(self, query: str = "", **parameters: Unpack[SearchParameters]) -> Iterator[Hit]:
        """Yield all hits of a search in its order, reading them a page at a time.

        :param parameters: as in :meth:`search`
        """
        offset: int | None = 0
        while offset is not None:
            response = self.search(query, limit=PAGE, offset=offset, **parameters)
            yield from response.hits
            offset = response.results.next_offset

    def facets(self, query: str = "", **parameters: Unpack[SearchParameters]) -> Facets:
        """Count by tag, month, source and kind what a search found.

        :param parameters: as in :meth:`search`
        """
        from .search.results.facets import count_facets

        with self, self.open() as connection:
            return count_facets(connection, self.search(query, limit=1, **parameters).results)

    def suggest(self, text: str, cursor: int | None = None) -> Suggestions:
        """Return completions of what is typed into the search box: operators, values, titles.

        :param cursor: the number of characters before the cursor; by default, it is at the end
        """
        from .query import suggest
        from .search.redaction import masking

        cursor = len(text) if cursor is None else min(max(cursor, 0), len(text))
        with self.open() as connection:
            found = suggest.suggest(connection, text, cursor)
        return masking.masked_suggestions(found) if self.redact else found

    def tags(self) -> dict[str, int]:
        """Return all tags and how many notes have each, or one nested in it, by name."""
        from .notes import fold_tag

        with self.open() as connection:
            rows = connection.execute(_TAGGED).fetchall()
        tagged: dict[str, tuple[str, set[int]]] = {}
        for name, note_id in rows:
            for path in accumulate(name.split("/"), "{}/{}".format):
                tagged.setdefault(fold_tag(path), (path, set()))[1].add(note_id)
        return {name: len(notes) for _, (name, notes) in sorted(tagged.items())}

    def status(self) -> Status:
        """Return what is ready, how fresh the index is, and its sources."""
        from .search import status

        with self.open() as connection:
            found = status.read_status(connection)
        return status.completed(found, self._file(), self.shown)

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
        from .search.request import read_count

        size = read_count("limit", limit)
        with self.open() as connection:
            note_id = self._id(connection, note)
            found = similar_notes.find_similar(connection, note_id, size=size, unlinked=unlinked)
            if found is None:
                raise NoteNotFound(_name(note))
            return masking.masked_similar(connection, found) if self.redact else found

    # --- visibility

    def source_notices(self) -> list[str]:
        """Return notices on notes that changed since they were indexed, or may have."""
        from .search import engine

        return [*map(self.shown, engine.source_notices(self.source_changes(), self.path))]

    def shown(self, text: str) -> str:
        """Return a text with its secrets masked, if the library masks them."""
        from .search.redaction import masking

        return masking.masked(text) if self.redact else text

    def source_changes(self) -> SourceChanges:
        from .index import freshness

        return freshness.changes_since_indexing(self._file())

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
        names = (path, name) if os.path.isfile(path) else (name, path)
        return next(filter(None, (find_note_id(connection, each) for each in names)), 0)

    # --- indexing

    @_explained()
    def index(
        self,
        *sources: Place,
        remove: str | Collection[str] = (),
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
        from .search.planning import dictionary
        from .sources.base import SourceError

        selection = self._selection(sources, _several(remove), everything=rebuild)
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
            dictionary.hashes()  # with it, the first mistyped word takes no seconds
        if hooks is None and report.failures and len(report.failures) == len(selection.read):
            raise SourceError(report.failures[0].message)
        if hooks is None and report.model_failure and model is not None:
            raise ModelUnavailable(report.model_failure)
        return report

    def add(self, *notes: Note, source: str = "added") -> Report:
        """Add notes to the index, or replace those with the same keys.

        They are stored in a file beside the index, ``notes.added.jsonl``, from which later runs of
        ``bear-index`` read them again. To-dos, images, files and code are found in their text.

        :param source: their source's name; several programs should use several names
        :raises SourceError: if the index has another source of this name
        """
        return self._write_added(source, notes, ())

    def discard(self, *keys: str, source: str = "added") -> Report:
        """Remove notes that :meth:`add` has added; ignore unknown keys."""
        return self._write_added(source, (), keys)

    def _write_added(self, source: str, notes: Sequence[Note], remove: Sequence[str]) -> Report:
        from .index import added

        known = {name: stored.config for name, stored in self.sources().items()}
        config = added.config(self.path, source, known)
        added.write(Path(config.location), notes, remove)
        return self.index(config, yes=bool(remove))

    @_explained()
    def sources(self) -> dict[str, StoredSource]:
        """Return the sources in the index by name; none if there is no index yet."""
        from .index.file.sources import sources_at

        return sources_at(self.path)

    def known_sources(self) -> tuple[list[SourceConfig], Configuration | None]:
        """Return the sources in the index, and the settings of the configuration file, if any.

        :raises ConfigurationError: if the file isn't valid
        """
        from .index import config

        known = [stored.config for stored in self.sources().values()]
        found = config.find_configuration(self.config_path)
        return known, config.read_configuration(found, known) if found else None

    @_explained()
    def embedder(
        self, model: str | None = None, *, semantic: bool | None = None
    ) -> Embedder | None:
        """Return the model that a run would use; None if it would make no vectors.

        It gets the prompts that the configuration file sets.

        :param model: its name; this machine trusts it from now on
        """
        from .embeddings import names, registry
        from .index.file import database, metadata

        if semantic is None:
            semantic = bool(model) or database.stored(self.path, metadata.SEMANTIC) != metadata.NO
        if not semantic:
            return None
        if model:
            name = registry.trust(names.given(model)).name
        else:
            stored = database.stored(self.path, metadata.NEXT_MODEL) or database.stored(self.path)
            name = stored or registry.default_model()
        _, configuration = self.known_sources()
        if configuration and configuration.prompts:
            name = registry.with_choice(name, **configuration.prompts)
        embedder = registry.get_embedder(name)
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


_TAGGED = """
select tags.name, note_tags.note_id
from tags
join note_tags on note_tags.tag_id = tags.id
order by tags.folded, tags.id
"""


class _Block(threading.local):
    """The ``with`` blocks of a thread, and the connection that its calls share in them."""

    def __init__(self) -> None:
        self.depth = 0
        self.cleanup = ExitStack()
        self.connection: sqlite3.Connection | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Block, ()  # a copy, also one in another process, begins outside of all blocks


def _several(names: str | Collection[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _name(note: NoteName) -> str:
    return str(getattr(note, "id", note))
