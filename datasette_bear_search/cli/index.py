"""``datasette bear-index``: notes from all sources → the index file."""

from __future__ import annotations

import gc
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import Library
from ..embeddings import cards, names, registry
from ..embeddings.backends import servers
from ..embeddings.base import Embedder, ModelUnavailable
from ..index import config
from ..index import selection as index_selection
from ..index.config import Configuration
from ..index.file import database, metadata, schema
from ..index.run import changes
from ..index.run.changes import Snapshot
from ..index.selection import Selection
from ..notes import counted, time_left
from ..sources.base import SourceConfig, SourceError, seconds_in
from ..sources.registry import absolute, free_name
from ..sources.sql_and_json import BODY_FORMATS, TABLE_OPTIONS, table_query
from .options import sidecar_option
from .output import Command, Progress, agrees, clear_errors, confirm, echo

if TYPE_CHECKING:
    from ..index.run.report import Failure, Report

# Lines about files that a source skipped: a folder of scans would fill the screen.
MAX_SKIPPED_LINES = 5

# Passages per second that the bundled model embeds on two cores; used until a run measures it.
TYPICAL_PACE = 25.0

INDEXING_STOPPED = (
    "Stopped. What is indexed so far can be searched; run datasette bear-index again to finish."
)


@dataclass(frozen=True)
class Options:
    paths: tuple[str, ...] = ()
    sidecar_path: Path | None = None
    config_path: Path | None = None
    only: tuple[str, ...] = ()
    list_only: bool = False
    remove: tuple[str, ...] = ()
    watch: bool = False
    poll: bool = False
    model: str | None = None
    trust: bool = False
    dimensions: int | None = None
    query_prompt: str | None = None
    passage_prompt: str | None = None
    rebuild: bool = False
    semantic: bool | None = None
    yes: bool = False
    table: str | None = None
    title: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    created: str | None = None
    modified: str | None = None
    tags: str | None = None
    url: str | None = None
    format: str | None = None
    include_trashed: bool = False
    every: str | None = None
    dry_run: bool = False
    quiet: bool = False

    @property
    def library(self) -> Library:
        return Library(self.sidecar_path)

    def embedder(self) -> Embedder | None:
        return self.library.embedder(
            self.model, semantic=self.semantic, config_path=self.config_path
        )

    def say(self, *lines: str) -> None:
        if not self.quiet:
            echo(*lines)


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
@click.option("--watch", is_flag=True, help="Keep running and index changes as they happen")
@click.option("--poll", is_flag=True, help="With --watch: check every few seconds (network drives)")
@click.option("--model", help="Embedding model: a name, ./FOLDER, ollama:NAME or openai:NAME@URL")
@click.option(
    "--trust",
    is_flag=True,
    help="Only allow this machine to use the model or server that the index names",
)
@click.option(
    "--dimensions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep the first N numbers of each vector (Matryoshka models)",
)
@click.option(
    "--query-prompt",
    metavar="TEXT",
    help="Put this before each query that the model reads; '' for nothing  [default: what the "
    "model was trained with, if that is known]",
)
@click.option("--passage-prompt", metavar="TEXT", help="The same before each passage")
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
@click.option(
    "--every",
    metavar="TIME",
    help="While serving or watching, read the sources named by PATH or --only again this often: "
    "30m, 1h, 1d",
)
@click.option("--dry-run", is_flag=True, help="Show what would change without changing anything")
@click.option("--quiet", is_flag=True, help="Print errors only")
@click.option(
    "--yes",
    is_flag=True,
    help="Don't ask before recreating all vectors, or removing notes that are suddenly missing",
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
    options = Options(**values)
    # Notes contain no reference cycles, and frequent garbage collection takes 7 % of a first run.
    gc.set_threshold(100_000)
    if options.rebuild and (options.only or options.watch):
        raise click.UsageError(
            "--rebuild reads all sources once. Use it without --only and --watch."
        )
    with clear_errors():
        if options.list_only:
            echo(*_listing(options.library))
            return
        if options.trust:
            echo(_trust(options))
            return
        known, configured = options.library.known_sources(options.config_path)
        selection = _select(options, known, configured)
        if options.dry_run:
            failure = _preview(options.library, selection, yes=options.yes)
        else:
            if options.model and os.path.isdir(options.model):
                _explain_folders(options.model)
            if options.semantic is not False:
                options = replace(options, model=_chosen_model(options, configured))
            _confirm_new_vectors(options)
            failure = index_sources(selection, options)
        if options.watch and not options.dry_run:
            options.library.watch(*selection.read, poll=options.poll, say=echo, quiet=options.quiet)
            os._exit(0)  # Python's own exit fails if a thread is still importing torch
        elif failure:
            raise click.ClickException(failure)


def _explain_folders(model: str) -> None:
    if not os.path.isabs(names.given(model)):
        where = "this machine's models and the Hugging Face hub"
        echo(f"{model} is looked for among {where}. For the folder here: ./{model}", err=True)


def _trust(options: Options) -> str:
    """Let this machine use the model that the index names; return what that means."""
    work = (options.paths, options.only, options.remove, options.model, options.rebuild)
    if any((*work, options.watch)):
        raise click.UsageError("--trust reads no notes. Use it without PATH and other options.")
    path = options.library.path
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


def _chosen_model(options: Options, configured: Configuration | None) -> str | None:
    """Return the model's name with the dimensions and prompts that the person chose, if any.

    To do so, load it, so that errors come first.
    """
    prompts = {"query": options.query_prompt, "passage": options.passage_prompt}
    choice = {"dimensions": options.dimensions, **prompts}
    typed = {key: value for key, value in choice.items() if value is not None}
    chosen = {**(configured.prompts if configured else {}), **typed}
    whole = replace(options, semantic=bool(typed) or options.semantic).embedder()
    if whole is None or not chosen:
        return options.model
    if not (options.model or typed) and _has_prompts(options.library.path, chosen):
        return None
    embedder = registry.get_embedder(registry.with_choice(whole.name, **chosen))
    embedder.may_download |= whole.may_download
    try:
        embedder.load()
    except ModelUnavailable:
        if typed:
            raise
        return options.model  # the run says why, and the next one tries again
    if options.dimensions and embedder.truncate_dim and not cards.may_shorten(embedder.name):
        echo(
            f"Nothing in the files of {whole.name} says that it was trained for fewer dimensions "
            "(Matryoshka), so the first numbers of its vectors may find much less. Compare: "
            f"datasette bear-eval --model {embedder.name}",
            err=True,
        )
    return embedder.name


def _has_prompts(path: Path, prompts: Mapping[str, Any]) -> bool:
    """Return whether the index's vectors were made with these prompts."""
    if not database.is_made(path):
        return False
    with closing(database.connect(path)) as connection:
        made_with = database.prompts(connection)
    return made_with is not None and made_with == made_with._replace(**prompts)


def _confirm_new_vectors(options: Options) -> None:
    """Ask before another model makes all vectors again, which may take hours."""
    from ..index.run.embedding import keeps_vectors

    embedder = options.embedder()
    if embedder is None or options.model is None or options.yes or options.rebuild:
        return
    path = options.library.path
    if not database.is_made(path):
        return
    with closing(database.connect(path)) as connection:
        if not schema.is_current(connection):
            return  # the whole index is rebuilt anyway
        state = database.read_state(connection)
        [passages] = connection.execute("select count(*) from passages").fetchone()
        if not state.has_vectors:
            return
        try:
            if embedder.fingerprint == state.fingerprint:
                return
            is_kept = keeps_vectors(connection, embedder)
            size = passages * embedder.dimension * 4
        except ModelUnavailable:
            return  # the run keeps the vectors and says why
    until = "passages without a new vector can only be found by words"
    if is_kept:
        until = (
            f"searches use the present ones, and the index takes up to {size / 1e6:,.1f} MB more; "
            "a run that is stopped is continued by the next one"
        )
    left = time_left(passages, state.passages_per_second or TYPICAL_PACE)
    earlier = "an earlier version of " if state.model == embedder.name else ""
    consequence = (
        f"The vectors in the index were made by {earlier}{state.model}. With {embedder.name}, "
        f"{counted(passages, 'passage')} must be embedded again, which takes {left}. Until then, "
        f"{until}."
    )
    if not sys.stdin.isatty():
        raise click.ClickException(f"{consequence} To do so, add --yes.")
    echo(consequence)
    confirm("Continue?")


def index_sources(selection: Selection, options: Options) -> str | None:
    """Bring the index up to date and print the progress.

    :return: why the command fails, if a source can't be read or the named model can't be loaded
    """
    from ..index.run.report import Hooks

    configs, embedder, library = selection.read, options.embedder(), options.library
    # The failure of a single source ends the command and is reported then.
    is_single = len(configs) == 1 and not selection.remove and not options.watch

    def on_failure(failure: Failure) -> None:
        if not is_single:
            echo(f"{failure.source}: {failure.message}", err=True)

    def on_text(report: Report) -> None:
        if report.has_changes:
            options.say(f"Words indexed ({report.text_seconds:.1f} s)")
        if embedder is not None and report.pending:
            pace = report.pace or TYPICAL_PACE
            options.say(
                f"Embedding {counted(report.pending, 'passage')} with {embedder.name}, which takes "
                f"{time_left(report.pending, pace)}; searching works meanwhile"
            )

    started = time.perf_counter()
    try:
        report = library.index(
            *configs,
            remove=selection.remove,
            model=options.model,
            semantic=options.semantic,
            rebuild=options.rebuild,
            yes=options.yes,
            hooks=Hooks(
                on_read=lambda source, snapshot: options.say(*_reading_lines(source, snapshot)),
                on_failure=on_failure,
                on_wait=lambda: options.say("Waiting for another datasette bear-index to finish"),
                on_text=on_text,
                on_embedded=Progress(options.quiet),
                on_export=lambda model: options.say(
                    f"Exporting {model} once, so that it loads within a second from now on"
                ),
            ),
        )
    except KeyboardInterrupt:
        echo(INDEXING_STOPPED, err=True)
        raise SystemExit(1) from None
    if report.failures and is_single:
        return report.failures[0].message
    options.say(*_report_lines(report, time.perf_counter() - started, library.path))
    for kept in report.kept:
        echo(f"{kept.source}: {kept.message}", err=True)
    is_asked = report.kept and not options.watch and sys.stdin.isatty()
    if is_asked and agrees("Remove these notes from the index?"):
        names = {kept.source for kept in report.kept}
        again = tuple(source for source in configs if source.name in names)
        return index_sources(index_selection.Selection(again), replace(options, yes=True))
    # If a model named on the command line can't be loaded, that is a failure, not a notice.
    model_failure = report.model_failure if options.model is not None else None
    for notice in report.notices:
        if notice != model_failure:
            echo(notice, err=True)
    return model_failure or _failure_text(len(report.failures), len(configs))


def _select(
    options: Options, known: Sequence[SourceConfig], configured: Configuration | None
) -> Selection:
    columns = _columns(options)
    if not options.remove:
        if options.table:
            selection = Selection((_table(options, columns, known, configured),))
        else:
            selection = index_selection.select(
                known,
                configured,
                paths=options.paths,
                only=options.only,
                everything=options.rebuild,
            )
        read = selection.read
        if options.include_trashed:
            read = tuple(replace(source, include_trashed=True) for source in read)
        if options.every:
            if not (options.paths or options.only):
                raise click.UsageError("--every needs a PATH, or sources named with --only.")
            seconds_in(options.every)
            every = {"every": options.every}
            read = tuple(replace(each, options={**each.options, **every}) for each in read)
        return replace(selection, read=read)
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
    return index_selection.Selection((), removed)


def _columns(options: Options) -> dict[str, Sequence[str]]:
    """Return the columns that the options name; raise UsageError if they don't fit together."""
    given = {name: getattr(options, name) for name in TABLE_OPTIONS}
    columns = {
        name: (value,) if isinstance(value, str) else value
        for name, value in given.items()
        if value
    }
    if not options.table:
        if columns or options.format:
            raise click.UsageError("Columns and --format are for a table: give --table, too.")
        return {}
    if len(options.paths) != 1 or options.only or options.remove or options.rebuild:
        raise click.UsageError("--table reads one database, given as PATH, and no other sources.")
    if "text" not in columns:
        raise click.UsageError("--table needs --text COLUMN: where the rows have their text.")
    return columns


def _table(
    options: Options,
    columns: Mapping[str, Sequence[str]],
    known: Sequence[SourceConfig],
    configured: Configuration | None,
) -> SourceConfig:
    location = absolute(options.paths[0])
    table, sql = table_query(Path(location), str(options.table), columns)
    own = {"sql": sql}
    if options.format:
        own["format"] = options.format
    name = re.sub(r"[^\w-]+", "-", table).strip("-") or "table"
    name = free_name(name, (each.name for each in known if each.location != location))
    return SourceConfig(name, "sql", location, own, configured.never if configured else ())


def _preview(library: Library, selection: Selection, *, yes: bool) -> str | None:
    """Print what a run would change. Return an error message if a source can't be read."""
    failed, known = 0, library.sources()
    with ExitStack() as cleanup:
        current = None
        if known:
            connection = cleanup.enter_context(closing(database.connect(library.path)))
            current = connection if schema.is_current(connection) else None
        for source in selection.read:
            try:
                snapshot = changes.read_if_changed(current, source, known.get(source.name), yes=yes)
            except SourceError as error:
                echo(f"{source.name}: {error}", err=True)
                failed += 1
                continue
            if snapshot is None:
                echo(f"Nothing has changed in {source.location}. Nothing was written.")
                continue
            added = changed = moved = removed = 0
            for part in chain([snapshot], snapshot.rest):
                change = changes.diff(current, part) if current else changes.Diff(part.notes)
                added, changed = added + len(change.added), changed + len(change.changed)
                moved, removed = moved + len(change.moved), removed + len(change.removed)
            and_move = f", move {moved:,}" if moved else ""
            echo(
                f"{source.location}: {counted(part.count, 'note')}. "
                f"Would add {added:,}, change {changed:,}{and_move}, "
                f"remove {removed:,}. Nothing was written."
            )
    for name in selection.remove:
        echo(f"{name}: its {counted(known[name].notes, 'note')} would be removed from the index.")
    return _failure_text(failed, len(selection.read))


def _listing(library: Library) -> list[str]:
    from .terminal import table

    known = library.sources().values()
    if not known:
        return [
            f"The index at {library.path} has no sources yet. Add one with: "
            "datasette bear-index PATH"
        ]
    lines = [["name", "kind", "notes", "last read", "changed since", "location"]]
    below: list[str] = []
    with closing(database.connect(library.path)) as connection:
        for stored in known:
            name, kind, location = stored.config.name, stored.config.kind, stored.config.location
            try:
                changed = f"{changes.count_changes(connection, stored):,}"
            except SourceError as error:
                changed = "can't be read"
                below += [f"{name}: {error}"] if str(error) != stored.error else []
            if stored.schedule:
                below.append(f"{name}: {stored.schedule}")
            read, notes = stored.read or "never", f"{stored.notes:,}"
            lines.append([name, kind, notes, read, changed, location])
            below += _skipped_lines(name, stored.skipped, len(stored.skipped))
        if prompts := database.prompts(connection):
            below.append(f"model: {metadata.get_meta(connection, 'model')}, {prompts}")
    return [*table(lines), *below]


def _reading_lines(source: SourceConfig, snapshot: Snapshot | None) -> list[str]:
    if snapshot is None:
        return [f"Nothing has changed in {source.location}"]
    read = counted(snapshot.count, "note")
    if snapshot.unchanged:
        read = f"{len(snapshot.notes):,} of {read}"
    skipped = _skipped_lines(source.name, snapshot.skipped, MAX_SKIPPED_LINES)
    return [f"Read {read} from {source.location}", *skipped]


def _skipped_lines(name: str, skipped: Sequence[str], most: int) -> list[str]:
    if not skipped:
        return []
    lines = [f"{name}: skipped {len(skipped):,}:", *(f"  {line}" for line in skipped[:most])]
    if more := len(skipped[most:]):
        lines.append(f"  … and {more:,} more; datasette bear-index --list shows them all")
    return lines


def _report_lines(report: Report, seconds: float, path: Path) -> list[str]:
    done = f"Done in {seconds:.1f} s: {counted(report.added, 'note')} added, "
    done += report.changes_text()
    if report.embedded:
        rate = report.embedded / report.embed_seconds
        done += f", {counted(report.embedded, 'passage')} embedded ({rate:,.0f}/s)"
    size = f"{report.size / 1e6:.1f} MB"
    return [done, f"Index: {counted(report.notes, 'note')}, {size}, {path}"]


def _failure_text(failed: int, sources: int) -> str | None:
    if not failed:
        return None
    return (
        f"{counted(failed, 'source')} of {sources:,} could not be read. "
        "Their notes in the index stay as they were."
    )
