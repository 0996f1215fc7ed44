"""``datasette bear-index``: notes from all sources → the index file."""

from __future__ import annotations

import gc
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from .. import Library
from ..embeddings import registry
from ..embeddings.backends import servers
from ..index import config
from ..index.config import Configuration
from ..index.file import database
from ..index.run.report import Failure, Hooks, Report
from ..index.selection import Selection, select
from ..notes import ForeseenError, counted, time_left
from ..sources.base import SourceConfig
from ..sources.records import BODY_FORMATS
from ..sources.registry import absolute, free_name
from ..sources.sql import TABLE_OPTIONS, table_query
from .listing import listing, reading_lines
from .options import sidecar_option
from .output import Command, agrees, echo, progress

# Passages per second that the bundled model embeds on two cores; used until a run measures it.
TYPICAL_PACE = 25.0

INDEXING_STOPPED = (
    "Stopped. What is indexed so far can be searched; run datasette bear-index again to finish."
)


@click.command(cls=Command)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@sidecar_option
@click.option(
    "--config",
    "config_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Configuration file  [default: bear-search.yaml in the user's configuration folder]",
)
@click.option("--only", multiple=True, metavar="NAME", help="Read this source only; repeatable")
@click.option("--list", "list_only", is_flag=True, help="List the sources and what changed there")
@click.option("--remove", multiple=True, metavar="NAME", help="Remove a source from the index")
@click.option("--model", help="Embedding model: a name, ./FOLDER, ollama:NAME or openai:NAME@URL")
@click.option(
    "--trust",
    is_flag=True,
    help="Only allow this machine to use the model or server that the index names",
)
@click.option("--rebuild", is_flag=True, help="Rebuild the index from scratch")
@click.option(
    "--semantic/--no-semantic",
    default=None,
    help="Create vectors, or skip them (keyword search only), in this and later runs",
)
@click.option("--table", metavar="NAME", help="Index the rows of this table or view of PATH")
@click.option("--title", multiple=True, metavar="COLUMN", help="With --table: the column of titles")
@click.option("--text", multiple=True, metavar="COLUMN", help="The column of texts; repeatable")
@click.option("--key", multiple=True, metavar="COLUMN", help="[default: the primary key]")
@click.option("--created", metavar="COLUMN", help="The column of creation dates")
@click.option("--modified", metavar="COLUMN", help="The column of modification dates")
@click.option("--tags", metavar="COLUMN", help="The column of tags: JSON, or between commas")
@click.option("--url", metavar="COLUMN", help="The column of addresses that open a row elsewhere")
@click.option("--format", type=click.Choice(BODY_FORMATS), help="Of the texts  [default: markdown]")
@click.option("--include-trashed", is_flag=True, help="Index notes in the trash, too")
@click.option("--quiet", is_flag=True, help="Print errors only")
@click.option(
    "--yes",
    is_flag=True,
    help="Remove notes that are suddenly missing without asking",
)
def bear_index(**values: Any) -> None:
    """
    Index notes so that they can be searched

    PATH is a source of notes to add to the index: Bear's database, a folder of Markdown files, an
    export … or, with --table, a SQLite database with a table of texts. Without a PATH, this updates
    the index from all sources, those in the configuration file and those added before. The first
    run reads Bear's notes on this Mac.

    Sources are only read, never changed. Notes that are gone from a source leave the index.
    """
    options = SimpleNamespace(**values)
    # Notes contain no reference cycles, and frequent garbage collection takes 7 % of a first run.
    gc.set_threshold(100_000)
    if options.rebuild and options.only:
        raise click.UsageError("--rebuild reads all sources. Use it without --only.")
    library = Library(options.sidecar_path)
    library.config_path = options.config_path
    if options.list_only:
        return echo(*listing(library))
    if options.trust:
        return echo(_trust(library, options))
    known, configured = library.known_sources()
    selection = _select(options, known, configured)
    passed_on = ("model", "semantic", "rebuild", "yes", "quiet")
    index_sources(library, selection, **{name: values[name] for name in passed_on})


def _trust(library: Library, options: SimpleNamespace) -> str:
    """Let this machine use the model that the index names; return what that means."""
    if any((options.paths, options.only, options.remove, options.model, options.rebuild)):
        raise click.UsageError("--trust reads no notes. Use it without PATH and other options.")
    path = library.path
    model = database.stored(path) if database.is_made(path) else None
    if model is None:
        return f"The index at {path} names no model."
    if registry.is_trusted(model):
        return f"The index at {path} names {model}, which is trusted on this machine already."
    registry.trust(model)
    says = f"From now on, this machine uses {model}, which the index at {path} names."
    if servers.factory_for(model):
        return f"{says} Your queries and the text of your notes are sent to it."
    if not registry.is_here(model):
        says += " The next datasette bear-index downloads it."
    return says


def index_sources(
    library: Library,
    selection: Selection,
    *,
    yes: bool = False,
    quiet: bool = False,
    **options: Any,
) -> None:
    """Bring the index up to date and print the progress.

    :param options: of :meth:`.Library.index`
    :raises ForeseenError: if a source can't be read or the named model can't be loaded
    """
    configs, model = selection.read, options.get("model")
    semantic = options.get("semantic")
    embedder = library.embedder(model, semantic=semantic)
    # The failure of a single source ends the command and is reported then.
    is_single = len(configs) == 1 and not selection.remove

    def say(*lines: str) -> None:
        if not quiet:
            echo(*lines)

    def on_failure(failure: Failure) -> None:
        if not is_single:
            echo(f"{failure.source}: {failure.message}", err=True)

    pace, show = TYPICAL_PACE, progress(quiet)

    def on_text(report: Report) -> None:
        nonlocal pace
        pace = report.pace or TYPICAL_PACE
        if report.added or report.changed or report.moved or report.removed:
            say(f"Words indexed ({report.text_seconds:.1f} s)")

    def on_embedded(done: int, total: int) -> None:
        if not done and embedder is not None:
            passages, cost = counted(total, "passage"), _cost(total, embedder.dimension, pace)
            say(
                f"Embedding {passages} with {embedder.name}, which takes {cost}; searching works "
                "meanwhile"
            )
        show(done, total)

    started = time.perf_counter()
    try:
        report = library.index(
            *configs,
            remove=selection.remove,
            yes=yes,
            **options,
            hooks=Hooks(
                on_read=lambda source, snapshot: say(*reading_lines(source, snapshot)),
                on_failure=on_failure,
                on_text=on_text,
                on_embedded=on_embedded,
                on_export=lambda model: say(
                    f"Exporting {model} once, so that it loads within a second from now on"
                ),
            ),
        )
    except KeyboardInterrupt:
        echo(INDEXING_STOPPED, err=True)
        raise SystemExit(1) from None
    if report.failures and is_single:
        raise ForeseenError(report.failures[0].message)
    say(*_report_lines(report, time.perf_counter() - started, library.path))
    for kept in report.kept:
        echo(f"{kept.source}: {kept.message}", err=True)
    if report.kept and sys.stdin.isatty() and agrees("Remove these notes from the index?"):
        names = {kept.source for kept in report.kept}
        again = Selection(tuple(source for source in configs if source.name in names))
        return index_sources(library, again, yes=True, quiet=quiet, **options)
    # If a model named on the command line can't be loaded, that is a failure, not a notice.
    model_failure = report.model_failure if model is not None else None
    for notice in report.notices:
        if notice != model_failure:
            echo(notice, err=True)
    if model_failure:
        raise ForeseenError(model_failure)
    if report.failures:
        failed = f"{counted(len(report.failures), 'source')} of {len(configs):,} could not be read."
        raise ForeseenError(f"{failed} What the index has of it stays as it was.")


def _cost(passages: int, dimension: int, per_second: float) -> str:
    """Return how long vectors of these dimensions take, and how large they are."""
    size = passages * dimension * 4 / 1e6
    return time_left(passages, per_second) + (f" and {size:,.0f} MB" if size >= 1 else "")


def _report_lines(report: Report, seconds: float, path: Path) -> list[str]:
    moved = f"{report.moved:,} moved, " if report.moved else ""
    done = f"Done in {seconds:.1f} s: {counted(report.added, 'note')} added, "
    done += f"{report.changed:,} changed, {moved}{report.removed:,} removed"
    if report.embedded:
        rate = report.embedded / report.embed_seconds
        done += f", {counted(report.embedded, 'passage')} embedded ({rate:,.0f}/s)"
    if report.refused:
        done += (
            f". The model doesn't know most of the text of {counted(report.refused, 'passage')}, "
            "or failed to embed it; such text is found by its words only"
        )
    size = f"{report.size / 1e6:.1f} MB"
    return [done, f"Index: {counted(report.notes, 'note')}, {size}, {path}"]


# --- which sources


def _select(
    options: SimpleNamespace, known: Sequence[SourceConfig], configured: Configuration | None
) -> Selection:
    table = _table(options, known, configured)
    if options.remove:
        return _removal(options, known)
    if table:
        selection = Selection((table,))
    else:
        which = {"paths": options.paths, "only": options.only, "everything": options.rebuild}
        selection = select(known, configured, **which)
    read = selection.read
    if options.include_trashed:
        read = tuple(replace(source, include_trashed=True) for source in read)
    return replace(selection, read=read)


def _removal(options: SimpleNamespace, known: Sequence[SourceConfig]) -> Selection:
    if options.paths or options.only or options.rebuild:
        raise click.UsageError(
            "--remove only removes sources. Use it without PATH, --only and --rebuild."
        )
    removed = tuple(config.named(name, known).name for name in options.remove)
    for source in known:
        if source.name in removed and source.config_file:
            echo(
                f"Also remove {source.name} from {source.config_file}, or the next run will add it "
                "again.",
                err=True,
            )
    return Selection((), removed)


def _table(
    options: SimpleNamespace, known: Sequence[SourceConfig], configured: Configuration | None
) -> SourceConfig | None:
    """Return the source that --table names, if any; raise UsageError if options don't fit."""
    given = {name: getattr(options, name) for name in TABLE_OPTIONS if getattr(options, name)}
    columns = {name: (it,) if isinstance(it, str) else it for name, it in given.items()}
    own = {"format": options.format} if options.format else {}
    if not options.table:
        if columns or own:
            raise click.UsageError("Columns and --format are for a table: give --table, too.")
        return None
    if len(options.paths) != 1 or options.only or options.remove or options.rebuild:
        raise click.UsageError("--table reads one database, given as PATH, and no other sources.")
    if "text" not in columns:
        raise click.UsageError("--table needs --text COLUMN: where the rows have their text.")
    location = absolute(options.paths[0])
    table, sql = table_query(Path(location), options.table, columns)
    name = re.sub(r"[^\w-]+", "-", table).strip("-") or "table"
    name = free_name(name, (each.name for each in known if each.location != location))
    never = configured.never if configured else ()
    return SourceConfig(name, "sql", location, {"sql": sql, **own}, never)
