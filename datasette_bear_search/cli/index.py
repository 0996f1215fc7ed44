"""``datasette bear-index``: notes of all sources into the index."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..embeddings.base import ModelUnavailable
from ..notes import counted
from .options import Progress, clear_errors, sidecar_option

if TYPE_CHECKING:
    from ..embeddings.base import Embedder
    from ..index.changes import Reading
    from ..index.config import Selection
    from ..index.indexer import Failure, Report
    from ..index.rows import StoredSource
    from ..sources.registry import SourceConfig

# Lines on what a source left out. A folder of scans would fill the screen.
MOST_SKIPPED = 5


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@sidecar_option
@click.option(
    "--config",
    "config_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Configuration file with the sources  [default: bear-search.yaml in the user's configuration folder]",
)
@click.option("--only", multiple=True, metavar="NAME", help="Read this source only; repeatable")
@click.option("--list", "list_only", is_flag=True, help="Show the sources and whether they changed")
@click.option("--remove", multiple=True, metavar="NAME", help="Take a source out of the index")
@click.option("--watch", is_flag=True, help="Go on, and index changes as they happen")
@click.option("--poll", is_flag=True, help="Watch by looking every few seconds: network drives")
@click.option("--model", help="Embedding model: a sentence-transformers name or folder")
@click.option(
    "--dimensions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the first N numbers of each vector (Matryoshka models)",
)
@click.option("--rebuild", is_flag=True, help="Empty the index first and make everything anew")
@click.option("--no-semantic", is_flag=True, help="Make no vectors: search by words only")
@click.option("--include-trashed", is_flag=True, help="Index notes in the trash, too")
@click.option("--dry-run", is_flag=True, help="Say what would change and change nothing")
@click.option("--quiet", is_flag=True, help="Print errors only")
def bear_index(
    paths: tuple[str, ...],
    sidecar_path: Path | None,
    config_path: Path | None,
    only: tuple[str, ...],
    list_only: bool,
    remove: tuple[str, ...],
    watch: bool,
    poll: bool,
    model: str | None,
    dimensions: int | None,
    rebuild: bool,
    no_semantic: bool,
    include_trashed: bool,
    dry_run: bool,
    quiet: bool,
) -> None:
    """
    Index notes, so that they can be searched

    PATH is a source of notes: Bear's database, a folder of Markdown files, an export … It is added to the index. Without
    one, all sources are read again that the configuration file names or that were added before, at first the notes of
    Bear on this Mac.

    Sources are only read. What is no longer in them leaves the index.
    """
    from ..index import database

    path = sidecar_path or database.default_path()
    if rebuild and (only or watch):
        raise click.UsageError("--rebuild reads all sources, once: without --only and --watch.")
    with clear_errors():
        if list_only:
            click.echo(_listing(path))
            return
        selection = _select(path, config_path, paths, only, remove, rebuild)
        if include_trashed:
            read = tuple(replace(config, include_trashed=True) for config in selection.read)
            selection = replace(selection, read=read)
        if dimensions and not no_semantic and not dry_run:
            model = _truncated(path, model, dimensions)
        if dry_run:
            if failed := _preview(path, selection):
                raise click.ClickException(failed)
            return
        failed = index_sources(
            path,
            selection.read,
            model,
            remove=selection.remove,
            quiet=quiet,
            rebuild=rebuild,
            semantic=not no_semantic,
            go_on=watch,
        )
        if watch:
            _watch(path, selection, model, semantic=not no_semantic, poll=poll, quiet=quiet)
        elif failed:
            raise click.ClickException(failed)


def index_sources(
    path: Path,
    configs: Sequence[SourceConfig],
    model: str | None = None,
    *,
    remove: Sequence[str] = (),
    quiet: bool = False,
    rebuild: bool = False,
    semantic: bool = True,
    go_on: bool = False,
) -> str | None:
    """Bring the index up to date and print how that goes; what to say at the end if a source couldn't be read.

    :param go_on: don't stop even if nothing could be read
    """
    from ..embeddings import registry
    from ..index import database, indexer

    def say(message: str) -> None:
        if not quiet:
            click.echo(message)

    def on_read(config: SourceConfig, reading: Reading | None) -> None:
        say(_what_was_read(config, reading))

    def on_failure(failure: Failure) -> None:
        if len(configs) > 1 or go_on:
            click.echo(f"{failure.source}: {failure.message}", err=True)

    def on_text(report: Report) -> None:
        say(f"{_changes(report)}: can be searched by words now ({report.text_seconds:.1f} s)")
        if embedder is not None and report.pending:
            say(f"Making vectors of {counted(report.pending, 'passage')} with {embedder.name}")

    started = time.perf_counter()
    embedder = None
    if semantic:
        name = model or database.stored_model(path) or registry.default_model()
        embedder = registry.get_embedder(name)
    try:
        report = indexer.update(
            path,
            configs,
            embedder,
            remove=remove,
            rebuild=rebuild,
            verify_model=model is not None,
            hooks=indexer.Hooks(on_read, on_failure, on_text, Progress(quiet)),
        )
    except KeyboardInterrupt:
        raise click.ClickException(
            "Stopped before the end. What was done can be searched; for the rest run datasette bear-index again."
        ) from None
    if len(report.failures) == len(configs) == 1 and not remove and not go_on:
        return report.failures[0].message
    vectors = ""
    if report.embedded:
        rate = report.embedded / report.embed_seconds
        vectors = f", {counted(report.embedded, 'passage')} embedded ({rate:,.0f}/s)"
    say(
        f"{_changes(report)}{vectors} in {time.perf_counter() - started:.1f} s. "
        f"The index of {counted(report.notes, 'note')} has {report.size / 1e6:.1f} MB: {path}"
    )
    # A model that somebody asked for by its name and that can't be had is no mere notice.
    failed = report.model_failure if model is not None else None
    for notice in report.notices:
        if notice != failed:
            click.echo(notice, err=True)
    is_whole = report.notes and report.pending <= report.refused
    if embedder is not None and is_whole and not report.model_failure:
        _export_onnx(embedder, say)
    if failed:
        return failed
    return _failed(len(report.failures), len(configs)) if report.failures else None


def _export_onnx(embedder: Embedder, say: Callable[[str], None]) -> None:
    """Once for each model, see to it that searching by meaning begins within a second."""
    from ..embeddings.base import ModelUnavailable

    try:
        if embedder.needs_onnx_export():
            say(f"Preparing {embedder.name}, once, so that it starts within a second from now on")
            embedder.export_onnx()
    except ModelUnavailable:
        pass  # which nobody asked for now


def _truncated(path: Path, model: str | None, dimensions: int) -> str:
    """The name for so many dimensions of the model's vectors."""
    from ..embeddings import registry
    from ..index import database

    whole = model or database.stored_model(path) or registry.default_model()
    name = registry.with_dimensions(whole, dimensions)
    try:
        # Now, before anything is read, as with most models it can't be told without loading them.
        registry.get_embedder(name).load()
    except ModelUnavailable as error:
        raise click.ClickException(str(error)) from None
    return name


def _known(path: Path) -> list[StoredSource]:
    from ..index import database
    from ..index import rows as stored_sources

    if not database.is_made(path):
        return []
    with closing(database.connect(path)) as connection:
        return stored_sources.all_sources(connection)


def _select(
    path: Path,
    config_path: Path | None,
    paths: Sequence[str],
    only: Sequence[str],
    remove: Sequence[str],
    rebuild: bool,
) -> Selection:
    from ..index import config as configuration
    from ..index import config as selection

    known = [stored.config for stored in _known(path)]
    found = configuration.find_configuration(config_path)
    configured = configuration.read_configuration(found, known) if found else None
    if not remove:
        return selection.select(known, configured, paths=paths, only=only, everything=rebuild)
    if paths or only or rebuild:
        raise click.UsageError(
            "--remove takes sources out and reads none: use it without PATH, --only and --rebuild."
        )
    removed = selection.find(remove, known)
    for config in known:
        if config.name in removed and config.config_file:
            click.echo(
                f"Take {config.name} out of {config.config_file}, too, or the next run adds it again.",
                err=True,
            )
    return selection.Selection((), removed)


def _preview(path: Path, selection: Selection) -> str | None:
    from ..index import changes, database, schema
    from ..sources import SourceError

    failed = 0
    with ExitStack() as cleanup:
        connection = None
        if path.exists():
            connection = cleanup.enter_context(closing(database.connect(path)))
        known = changes.known_sources(connection) if connection is not None else {}
        comparable = connection if connection and schema.is_current(connection) else None
        for config in selection.read:
            try:
                reading = changes.read_if_changed(comparable, config, known.get(config.name))
            except SourceError as error:
                click.echo(f"{config.name}: {error}", err=True)
                failed += 1
                continue
            if reading is None:
                click.echo(f"Nothing has changed in {config.location}. Nothing was written.")
                continue
            added, changed, removed = reading.count, 0, 0
            if connection is not None:
                change = changes.changes(connection, reading)
                added, changed = len(change.added), len(change.changed)
                removed = len(change.removed)
            click.echo(
                f"{config.location}: {counted(reading.count, 'note')}. "
                f"Would add {added:,}, change {changed:,}, remove {removed:,}. Nothing was written."
            )
    for name in selection.remove:
        click.echo(f"{name}: its {counted(known[name].notes, 'note')} would leave the index.")
    return _failed(failed, len(selection.read)) if failed else None


def _watch(
    path: Path,
    selection: Selection,
    model: str | None,
    *,
    semantic: bool,
    poll: bool,
    quiet: bool,
) -> None:
    from ..embeddings import registry
    from ..index import database
    from ..index import watch as watching

    embedder = None
    if semantic:
        name = model or database.stored_model(path) or registry.default_model()
        embedder = registry.get_embedder(name)
    watcher = watching.Watcher(
        path, selection.read, embedder, poll=poll, say=click.echo, quiet=quiet
    )
    watcher.run()


def _listing(path: Path) -> str:
    from ..index import changes, database
    from ..index import rows as stored_sources
    from ..sources import SourceError

    rows = [("name", "kind", "notes", "last read", "changed since", "location")]
    below: list[str] = []
    if database.is_made(path):
        with closing(database.connect(path)) as connection:
            for stored in stored_sources.all_sources(connection):
                config = stored.config
                try:
                    changed = f"{changes.count_changes(connection, stored):,}"
                except SourceError as error:
                    changed = "can't be read"
                    below.append(f"{config.name}: {error}")
                read = stored.read or "never"
                row = (config.name, config.kind, f"{stored.notes:,}", read, changed)
                rows.append((*row, config.location))
                below.extend(_skipped(config.name, stored.skipped, len(stored.skipped)))
    if len(rows) == 1:
        return f"There are no sources in the index at {path} yet. Add one with: datasette bear-index PATH"
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]
    return "\n".join([*lines, *below])


def _what_was_read(config: SourceConfig, reading: Reading | None) -> str:
    if reading is None:
        return f"Nothing has changed in {config.location}"
    read = counted(reading.count, "note")
    if reading.unchanged:
        read = f"{len(reading.notes):,} of {read}"
    lines = [f"Read {read} from {config.location}"]
    return "\n".join([*lines, *_skipped(config.name, reading.skipped, MOST_SKIPPED)])


def _skipped(name: str, skipped: Sequence[str], most: int) -> list[str]:
    """What a source left out, in lines."""
    if not skipped:
        return []
    lines = [f"{name}: left out {len(skipped):,}:", *(f"  {line}" for line in skipped[:most])]
    if len(skipped) > most:
        lines.append(
            f"  … and {len(skipped) - most:,} more, which datasette bear-index --list shows"
        )
    return lines


def _failed(count: int, sources: int) -> str:
    return f"{counted(count, 'source')} of {sources:,} could not be read. What the index has of them stays as it was."


def _changes(report: Report) -> str:
    return f"{counted(report.added, 'note')} added, {report.changed:,} changed, {report.removed:,} removed"
