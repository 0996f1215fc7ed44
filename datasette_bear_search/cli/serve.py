"""Commands that serve notes: ``bear-serve``, ``bear-demo`` (to browsers), ``bear-mcp`` (agents)."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import Library
from ..embeddings import registry
from ..embeddings.registry import get_embedder
from ..index import config, selection
from ..index.file import database, metadata, schema
from ..index.run.report import Hooks, Report
from ..index.updater import Updater
from ..index.watch import Task
from ..notes import ForeseenError
from ..processes import is_in_uv_cache, user_folder
from ..search.planning import dictionary
from ..search.redaction import masking
from ..service import PORT
from ..sources.base import SourceConfig
from .index import index_sources
from .options import redact_option, sidecar_option
from .output import Command, confirm, echo

if TYPE_CHECKING:
    from ..agents import AgentLibrary

LOCALHOST, LOCALHOST_6 = "127.0.0.1", "::1"  # notes are served to this machine only
SERVER_STOPPED = "Stopped"

port_option = click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port on this machine  [default: {PORT}]"
)


# Only the person at this machine sees the pages, so buttons may write and images are shown.
OF_ONE_PERSON = {"judgments": True, "files": True}


@click.command(cls=Command)
@sidecar_option
@port_option
@click.option(
    "--open/--no-open", "open_browser", default=True, help="Open the search page in the browser"
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another host name to answer to, such as a proxy's; repeatable",
)
@redact_option(default=None)
def bear_serve(
    sidecar_path: Path | None,
    port: int | None,
    open_browser: bool,
    hosts: tuple[str, ...],
    redact: bool | None,
) -> None:
    """
    Search your notes in the browser

    Serves them to this machine only (127.0.0.1). If there is no index yet, the page offers to index
    the Bear, Obsidian and Logseq notes on this computer. While the server runs, it keeps the index
    up to date.
    """
    path = sidecar_path or database.default_path()
    if not database.is_made(path):
        with database.open_for_writing(path):
            pass  # create an empty index, which the page offers to fill
    _bring_up_to_date(path)
    if redact:
        masking.require()
    settings: dict[str, Any] = {**OF_ONE_PERSON, "mcp_hosts": list(hosts)}
    if redact is not None:  # by default, pages show secrets but agents don't get them
        settings["redact"] = redact
    serve(path, port, open_browser, settings)


class _WordsIndexed(Exception):
    """All words can be searched. The server makes the vectors."""


def _bring_up_to_date(path: Path) -> None:
    """Rebuild an index of an earlier version, so that a service need not be told to."""
    with closing(database.connect(path)) as connection:
        if schema.version_of(connection) >= schema.VERSION:
            return database.require_current(connection)
    echo("An earlier version made the index. Bringing it up to date; this happens once.")

    def on_text(report: Report) -> None:
        raise _WordsIndexed

    with suppress(_WordsIndexed):
        Library(path).index(hooks=Hooks(on_text=on_text))
    echo("The words are indexed. Search by meaning follows while the server runs.")


@click.command(cls=Command)
@port_option
@click.option("--no-serve", is_flag=True, help="Only index the sample notes")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the index of the sample notes  [default: in the user's data folder]",
)
def bear_demo(port: int | None, no_serve: bool, directory: Path | None) -> None:
    """
    Try the search on sample notes, without Bear

    Indexes about a hundred notes as if they were in Bear, and serves them to this machine only
    (127.0.0.1).
    """
    from ..demo import NOTES

    path = (directory or user_folder("data") / "demo").absolute() / "notes.db"
    source = SourceConfig("bear", "demo", str(NOTES))
    echo(f"The sample notes are indexed in {path}")
    try:
        database.make_private_folder(path.parent)
    except OSError as error:
        raise click.ClickException(
            f"The index can't be written to {path.parent} ({error.strerror}). Choose another "
            "folder with --directory."
        ) from None
    with database.open_for_writing(path) as connection:
        is_current = schema.is_current(connection)
    if no_serve or not is_current:
        index_sources(Library(path), selection.Selection((source,)))
    if not no_serve:
        serve(path, port, open_browser=False, settings=OF_ONE_PERSON, source=source)


@click.command(cls=Command)
@sidecar_option
@click.option(
    "--hide-tag",
    "hidden_tags",
    multiple=True,
    metavar="TAG",
    help="Never show notes with this tag or one nested below it; repeatable  [default: those in "
    f"{config.HIDDEN_TAGS_VARIABLE}, separated by commas]",
)
@redact_option(default=True)
@click.option(
    "--install",
    "app",
    metavar="APP",
    help="Set up an app to run this command: claude-desktop, vscode …",
)
@click.option("--bundle", type=click.Path(path_type=Path), help="Write a bundle: notes.mcpb")
@click.option("--skill", type=click.Path(path_type=Path), help="Write a skill into this folder")
@click.option("--yes", is_flag=True, help="Write without asking")
def bear_mcp(
    sidecar_path: Path | None,
    hidden_tags: tuple[str, ...],
    redact: bool,
    app: str | None,
    bundle: Path | None,
    skill: Path | None,
    yes: bool,
) -> None:
    """
    Let AI assistants search and read the indexed notes

    Serves the Model Context Protocol (MCP) over stdin and stdout. The assistant's app runs this
    command. --install, --bundle and --skill don't serve anything. They show the files that make the
    app run it, and write them if you agree. Notes are never changed.
    """
    from ..agents import AgentLibrary, install, server  # .1 s, and the pages need no agents

    hidden = hidden_tags or config.hidden_by_environment()
    library = AgentLibrary(sidecar_path, hidden, redact=redact)
    if app or bundle or skill:
        options = [f"--hide-tag={tag}" for tag in hidden_tags]
        options += [f"--sidecar={sidecar_path.absolute()}"] if sidecar_path else []
        options += [] if redact else ["--no-redact"]
        if app in install.MCP_CLIENTS:
            _check_server(library)
        return _set_up(app, bundle, skill, options, yes)
    try:
        library.reads_sources = True  # the person's own assistant
        with _exit_on_ctrl_c({}, output=2):  # stdout is the protocol's
            server.serve_stdio(library)
    except masking.RedactionMissing as error:
        raise click.ClickException(f"{error}, or use --no-redact") from None


def _set_up(
    app: str | None, bundle: Path | None, skill: Path | None, options: Sequence[str], yes: bool
) -> None:
    from ..agents import install

    for path, added, text in install.files(app, bundle, skill, options):
        echo(f"This will be written to {path}:", "", *added.split("\n"))
        if not yes:
            confirm("Write it?")
        backup = install.write(path, text)
        if app is None:
            install.remember(path)
        echo(f"Written.{f' The previous version is in {backup}.' if backup else ''}")
    if app:
        echo(f"Restart {app} and ask it something about your notes.")


def _check_server(library: AgentLibrary) -> None:
    """End the command unless the server would start: an app shows its errors to nobody."""
    from ..agents import server

    advice = ""
    try:
        if not is_in_uv_cache(sys.prefix):  # uvx installs the extras when the app runs it
            advice = "Nothing was written, because the app couldn't start the server. "
            server.build_server(library)
            if library.redact:
                masking.require()
        with Library(library.path).open() as connection:
            database.require_current(connection)
    except ForeseenError as error:
        raise click.ClickException(f"{advice or 'Nothing was written. '}{error}") from None
    for each in Library(library.path).source_changes().unreadable:
        echo(f"{each.notice} The app may be refused, too. {each.error}", err=True)


def serve(
    path: Path,
    port: int | None,
    open_browser: bool,
    settings: dict[str, Any],
    source: SourceConfig | None = None,
) -> None:
    """Serve the index at ``path``, and keep it up to date, until Ctrl-C.

    :param settings: the plugin's settings
    :param source: what to index besides the sources in the index and the configuration file
    """
    from datasette.app import Datasette

    from ..web.api.openapi import SEARCH_PATH
    from ..web.requests.freshness import updaters
    from ..web.server import server

    try:
        listener = socket.create_server((LOCALHOST, PORT if port is None else port))
    except OSError:
        if port is not None:
            raise click.ClickException(
                f"Port {port} can't be used. Choose another with --port, or leave it out to get "
                "a free one."
            ) from None
        listener = socket.create_server((LOCALHOST, 0))
    listeners, port = [listener], listener.getsockname()[1]
    with suppress(OSError):  # the port is somebody's there, or this machine has no IPv6
        listeners.append(socket.create_server((LOCALHOST_6, port), family=socket.AF_INET6))
    address = f"http://{LOCALHOST}:{port}{SEARCH_PATH}"
    with _exit_on_ctrl_c(updaters):
        echo(f"Search your notes at {address} (Ctrl-C stops)")
        # The setting warm_up would load the model only with the first request.
        _load_model(path)
        if open_browser:
            # The socket is listening already, so the browser's request waits for the server.
            webbrowser.open(address)
        plugins = {"datasette-bear-search": settings}
        datasette = Datasette([str(path)], metadata={"plugins": plugins})
        uvicorn_server = server(datasette, settings.get("mcp_hosts", ()))
        updater = updaters[datasette] = Updater(
            path, partial(_task, path, source), partial(_load_model, path)
        )
        updater.update()
        gc.freeze()  # skipping what is loaded by now, collections take .1 ms a page instead of .5
        uvicorn_server.run(sockets=listeners)  # waits for open requests, then calls the handler
    echo(SERVER_STOPPED)
    updater.stop()


def _load_model(path: Path) -> None:
    if model := database.stored(path):
        get_embedder(model).warm_up()
        threading.Thread(target=dictionary.hashes, daemon=True).start()  # made only once


def _task(
    path: Path, source: SourceConfig | None, locations: Sequence[str], model: str | None = None
) -> Task:
    """Return what to index: the known and configured sources, and those at these locations.

    :param model: one that the person chose; the present one is used if it can't be had
    """
    library = Library(path)
    known, configuration = library.known_sources()
    if source is not None and source not in known:
        known = [*known, source]
    configs: Sequence[SourceConfig] = ()
    if known or locations or (configuration and configuration.sources):
        configs = selection.select(known, configuration, paths=locations, everything=True).read
    present, chosen = library.embedder(), library.embedder(model) if model else None
    names = [each.name for each in (chosen, present) if each is not None]
    if names and database.stored(path, metadata.NEXT_MODEL):
        names.append(database.stored(path) or registry.default_model())
    return Task(configs, *list(dict.fromkeys(names))[:2]) if names else Task(configs, None)


@contextmanager
def _exit_on_ctrl_c(updaters: Mapping[Any, Updater], output: int = 1) -> Iterator[None]:
    # KeyboardInterrupt won't do: while Python cleans up after an import, it ignores it and keeps
    # the import lock, so that the thread that loads the model, and so the server, hang forever.
    # It also waits for the thread that reads stdin.
    # Nor will Python's own exit: a thread that is importing torch then prints tracebacks.
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def end(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # people press it again
        os.write(output, f"{SERVER_STOPPED}\n".encode())  # not click, which may be writing now
        for updater in updaters.values():
            updater.stop()
        os._exit(0)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
