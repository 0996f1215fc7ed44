"""The ``datasette bear-…`` commands: parse, call, print."""

# Every datasette command imports this module, so that what a command needs is imported when it runs.
from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .modes import MEASURED, MODES
from .progress import Progress

if TYPE_CHECKING:
    from .indexer import Reading, Report
    from .sources import Source

SEARCH_PATH = "/-/bear-search"
LOCALHOST = "127.0.0.1"  # notes are served to this machine only
DEFAULT_PORT = 8001

sidecar_option = click.option(
    "--sidecar",
    "sidecar_path",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="DATASETTE_BEAR_SEARCH_SIDECAR",
    help="File that holds the index  [default: notes.db in the user's data folder]",
)


def register(cli: click.Group) -> None:
    """Add our commands to Datasette's."""
    for command in (bear_index, bear_serve, bear_demo, bear_eval):
        cli.add_command(command)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@sidecar_option
@click.option("--model", help="Embedding model: a sentence-transformers name or folder")
@click.option("--rebuild", is_flag=True, help="Empty the index first and make everything anew")
@click.option("--no-semantic", is_flag=True, help="Make no vectors: search by words only")
@click.option("--include-trashed", is_flag=True, help="Index notes in the trash, too")
@click.option("--dry-run", is_flag=True, help="Say what would change and change nothing")
@click.option("--quiet", is_flag=True, help="Print errors only")
def bear_index(
    paths: tuple[Path, ...],
    sidecar_path: Path | None,
    model: str | None,
    rebuild: bool,
    no_semantic: bool,
    include_trashed: bool,
    dry_run: bool,
    quiet: bool,
) -> None:
    """
    Index Bear's notes, so that they can be searched

    PATH is a Bear database. Without one, the libraries that are indexed already are read again, at first the one where
    Bear keeps it. Bear's files are only read. What is no longer in them leaves the index.
    """
    from . import sidecar

    path = sidecar_path or sidecar.default_path()
    with _clear_errors():
        sources = _sources(paths, path)
        if dry_run:
            _preview(path, sources, include_trashed)
        else:
            _index(
                path,
                sources,
                model,
                quiet=quiet,
                rebuild=rebuild,
                semantic=not no_semantic,
                include_trashed=include_trashed,
            )


@click.command()
@sidecar_option
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port on this machine  [default: {DEFAULT_PORT}]"
)
@click.option(
    "--open/--no-open", "open_browser", default=True, help="Open the search page in the browser"
)
def bear_serve(sidecar_path: Path | None, port: int | None, open_browser: bool) -> None:
    """
    Search the indexed notes in the browser

    Serves them to this machine only (127.0.0.1).
    """
    from . import sidecar

    with _clear_errors():
        path = sidecar_path or sidecar.default_path()
        sidecar.connect(path).close()
        _serve(path, port, open_browser)


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port on this machine  [default: {DEFAULT_PORT}]"
)
@click.option("--no-serve", is_flag=True, help="Only write and index the sample notes")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to keep them  [default: a folder in the user's data folder]",
)
def bear_demo(port: int | None, no_serve: bool, directory: Path | None) -> None:
    """
    Try the search on sample notes, without Bear

    Writes a Bear library of about a hundred notes, indexes it and serves it to this machine only (127.0.0.1).
    """
    from platformdirs import user_data_path

    from .demo import write_demo_library
    from .sources.bear import BearLibrary

    directory = directory or user_data_path("datasette-bear-search", appauthor=False) / "demo"
    library, path = directory / "database.sqlite", directory / "notes.db"
    with _clear_errors():
        directory.mkdir(parents=True, exist_ok=True)
        count = write_demo_library(library)
        click.echo(f"Wrote {count} sample notes to {library}")
        _index(path, [BearLibrary(library)])
        if not no_serve:
            _serve(path, port, open_browser=False)


@click.command()
@click.argument("folders", nargs=-1, metavar="[COLLECTION]...", type=click.Path(path_type=Path))
# Without the environment variable, which names a person's own index: documents of a COLLECTION are never in there.
@click.option(
    "--sidecar",
    "sidecar_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Index to search, instead of one that is made of the COLLECTION; without a COLLECTION the one with your "
    "judgments  [default: notes.db in the user's data folder]",
)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice(MODES),
    default=MEASURED,
    show_default=True,
    help="Way of searching; can be given several times",
)
@click.option("--model", help="Embedding model: a sentence-transformers name or folder")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that keeps the indexes of collections  [default: in the user's cache folder]",
)
@click.option(
    "--rerank",
    metavar="NAME",
    help="Measure the last mode with a reranker, too: maxsim, cross-encoder:MODEL or one of a plugin",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, down to the single query")
def bear_eval(
    folders: tuple[Path, ...],
    sidecar_path: Path | None,
    modes: tuple[str, ...],
    model: str | None,
    cache: Path | None,
    rerank: str | None,
    as_json: bool,
) -> None:
    """
    Measure how well the search ranks

    COLLECTION is a folder with corpus.jsonl, queries.jsonl and qrels.tsv. Its documents are indexed once, then its
    queries are searched for as on the search page. Without a COLLECTION, the queries are those that you judged there.
    """
    import json

    from . import embedders, evaluation, sidecar
    from .evaluation import collections, report

    modes = tuple(dict.fromkeys(modes))
    evaluations = []
    with _clear_errors():
        evaluation.require_libraries()
        for folder in folders:
            collection = collections.read_collection(folder)
            path = sidecar_path or collections.index_collection(
                collection,
                cache or collections.default_cache(),
                model or embedders.default_model(),
                semantic=evaluation.needs_meaning(modes),
                on_embedded=Progress(quiet=as_json),
            )
            on_query = Progress(quiet=as_json, what="queries")
            evaluations.append(
                evaluation.evaluate_sidecar(
                    path, collection.judged_queries, modes, reranker=rerank, on_query=on_query
                )
            )
        if not folders:
            path = sidecar_path or sidecar.default_path()
            evaluations.append(
                evaluation.evaluate_sidecar(path, evaluation.judged_queries, modes, reranker=rerank)
            )
    click.echo(
        json.dumps(report.as_json(evaluations), indent=2, ensure_ascii=False)
        if as_json
        else report.as_text(evaluations)
    )


def _sources(paths: tuple[Path, ...], sidecar_path: Path) -> list[Source]:
    """The libraries at ``paths``; without any those that the sidecar knows; failing that Bear's own."""
    from . import indexer, sidecar
    from .sources.bear import BearLibrary, default_location

    if not paths and sidecar.is_sidecar(sidecar_path):
        with closing(sidecar.connect(sidecar_path)) as connection:
            if known := indexer.stored_sources(connection):
                return known
    return [
        BearLibrary(path, name="bear" if number == 1 else f"bear-{number}")
        for number, path in enumerate(paths or [default_location()], 1)
    ]


def _preview(path: Path, sources: list[Source], include_trashed: bool) -> None:
    from . import indexer, sidecar

    connection = sidecar.connect(path) if path.exists() else None
    for source in sources:
        reading = indexer.read(source, include_trashed=include_trashed)
        if connection is None:
            added, changed, removed = len(reading.notes), 0, 0
        else:
            change = indexer.changes(connection, reading)
            added, changed, removed = len(change.added), len(change.changed), len(change.removed)
        click.echo(
            f"{source.location}: {_notes(len(reading.notes))}. "
            f"Would add {added:,}, change {changed:,}, remove {removed:,}. Nothing was written."
        )
    if connection is not None:
        connection.close()


def _index(
    path: Path,
    sources: list[Source],
    model: str | None = None,
    *,
    quiet: bool = False,
    rebuild: bool = False,
    semantic: bool = True,
    include_trashed: bool = False,
) -> None:
    from . import embedders, indexer

    def say(message: str) -> None:
        if not quiet:
            click.echo(message)

    started = time.perf_counter()
    readings: list[Reading] = []
    for source in sources:
        reading = indexer.read(source, include_trashed=include_trashed)
        readings.append(reading)
        say(f"Read {_notes(len(reading.notes))} from {source.location}")
    embedder = None
    if semantic:
        embedder = embedders.get_embedder(model or _stored_model(path) or embedders.default_model())

    def on_text(report: Report) -> None:
        say(f"{_changes(report)}: can be searched by words now ({report.text_seconds:.1f} s)")
        if embedder is not None and report.pending:
            say(f"Making vectors of {report.pending:,} passages with {embedder.name}")

    report = indexer.index(
        path,
        readings,
        embedder,
        rebuild=rebuild,
        verify_model=model is not None,
        on_text=on_text,
        on_embedded=Progress(quiet),
    )
    vectors = f", {report.embedded:,} passages embedded" if report.embedded else ""
    if report.embedded:
        vectors += f" ({report.embedded / report.embed_seconds:,.0f}/s)"
    say(
        f"{_changes(report)}{vectors} in {time.perf_counter() - started:.1f} s. "
        f"The index of {_notes(report.notes)} has {report.size / 1e6:.1f} MB: {path}"
    )
    for notice in report.notices:
        click.echo(notice, err=True)


def _stored_model(path: Path) -> str | None:
    from . import sidecar

    if not sidecar.is_sidecar(path):
        return None
    with closing(sidecar.connect(path)) as connection:
        return sidecar.get_meta(connection, "model")


def _serve(path: Path, port: int | None, open_browser: bool) -> None:
    import socket
    import webbrowser

    import uvicorn
    from datasette.app import Datasette

    from .embedders import get_embedder

    try:
        listener = socket.create_server((LOCALHOST, DEFAULT_PORT if port is None else port))
    except OSError:
        if port is not None:
            raise click.ClickException(
                f"Port {port} can't be used. Choose another with --port, or leave it out to get a free one."
            ) from None
        listener = socket.create_server((LOCALHOST, 0))
    address = f"http://{LOCALHOST}:{listener.getsockname()[1]}{SEARCH_PATH}"
    click.echo(f"Search your notes at {address} (Ctrl-C stops)")
    # What the setting warm_up does, but before the first request instead of with it.
    if model := _stored_model(path):
        get_embedder(model).warm_up()
    if open_browser:
        # The socket listens already: the browser's request waits until the server answers.
        webbrowser.open(address)
    # Nobody but the person at this machine can press the buttons, so that they may write.
    settings = {"plugins": {"datasette-bear-search": {"judgments": True}}}
    datasette = Datasette([str(path)], metadata=settings)
    server = uvicorn.Server(uvicorn.Config(datasette.app(), log_level="warning"))
    server.run(sockets=[listener])


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Foreseeable faults end a command with their message, not with a traceback."""
    from .evaluation import EvaluationError
    from .indexer import IndexBusy
    from .sidecar import SidecarError, sqlite3
    from .sources import SourceError

    try:
        yield
    except (EvaluationError, IndexBusy, SidecarError, SourceError, FileExistsError) as error:
        raise click.ClickException(str(error)) from None
    except sqlite3.Error as error:
        raise click.ClickException(
            f"The index can't be used: {error}. If there is space on the disk, delete the index and run datasette "
            "bear-index again: it holds nothing that isn't in your notes, but for your judgments of results."
        ) from None


def _notes(count: int) -> str:
    return "1 note" if count == 1 else f"{count:,} notes"


def _changes(report: Report) -> str:
    return f"{_notes(report.added)} added, {report.changed:,} changed, {report.removed:,} removed"
