"""``datasette bear-serve``: the search page, on this machine only."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from .index import index_sources
from .options import clear_errors, redact_option, sidecar_option

SEARCH_PATH = "/-/bear-search"
LOCALHOST = "127.0.0.1"  # notes are served to this machine only
DEFAULT_PORT = 8001
STOPPED = "Stopped"


@click.command()
@sidecar_option
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port on this machine  [default: {DEFAULT_PORT}]"
)
@click.option(
    "--open/--no-open", "open_browser", default=True, help="Open the search page in the browser"
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another name under which it may be asked for, such as that of a proxy; can be given several times",
)
@redact_option(default=False)
def bear_serve(
    sidecar_path: Path | None,
    port: int | None,
    open_browser: bool,
    hosts: tuple[str, ...],
    redact: bool,
) -> None:
    """
    Search the indexed notes in the browser

    Serves them to this machine only (127.0.0.1).
    """
    from ..index import database
    from ..search import redaction

    with clear_errors():
        path = sidecar_path or database.default_path()
        with closing(database.connect(path)) as connection:
            database.require_readable(connection)
        if redact:
            redaction.require()
        # Nobody but the person at this machine can press the buttons, so that they may write.
        settings: dict[str, Any] = {"judgments": True, "mcp_hosts": list(hosts)}
        if _is_given("redact"):  # else each part does what it does by default
            settings["redact"] = redact
        serve(path, port, open_browser, settings)


def serve(path: Path, port: int | None, open_browser: bool, settings: dict[str, Any]) -> None:
    """Serve the sidecar at ``path`` until Ctrl-C.

    :param settings: those of the plugin
    """
    import socket
    import webbrowser

    import uvicorn
    from datasette.app import Datasette

    from ..embeddings.registry import get_embedder
    from ..index import database
    from ..web.site import LOCAL_HOSTS, OnlyTheseHosts

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
    with _ended_by_ctrl_c():
        # What the setting warm_up does, but before the first request instead of with it.
        if model := database.stored_model(path):
            get_embedder(model).warm_up()
        if open_browser:
            # The socket listens already: the browser's request waits until the server answers.
            webbrowser.open(address)
        datasette = Datasette(
            [str(path)], metadata={"plugins": {"datasette-bear-search": {**settings}}}
        )
        app = OnlyTheseHosts(datasette.app(), {*LOCAL_HOSTS, *settings.get("mcp_hosts", ())})
        config = uvicorn.Config(app, log_level="warning")
        config.load()
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    click.echo(STOPPED)


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the process at once, and raise nothing.

    Python ignores what is raised while it cleans up after an import, and then keeps the lock of all imports: the model that
    is loaded meanwhile, and with it the server, would wait for that for ever.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def end(number, frame) -> None:
        os.write(1, f"{STOPPED}\n".encode())  # not by click, which may be writing now
        os._exit(0)

    signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_given(option: str) -> bool:
    """Whether an option was given, on the command line or in the environment."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


# ``datasette bear-demo``: the search on sample notes.


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

    from ..demo import write_demo_library
    from ..sources.registry import SourceConfig
    from ..sqlite import sqlite3

    directory = directory or user_data_path("datasette-bear-search", appauthor=False) / "demo"
    library, path = directory / "database.sqlite", directory / "notes.db"
    with clear_errors():
        try:
            directory.mkdir(parents=True, exist_ok=True)
            count = write_demo_library(library)
        except FileExistsError:
            raise
        except (OSError, sqlite3.Error) as error:
            raise click.ClickException(
                f"The sample notes can't be written to {directory} ({getattr(error, 'strerror', None) or error}). Choose another folder with "
                "--directory, or free some space."
            ) from None
        click.echo(f"Wrote {count} sample notes to {library}")
        if failed := index_sources(path, [SourceConfig("bear", "bear", str(library))]):
            raise click.ClickException(failed)
        if not no_serve:
            serve(path, port, open_browser=False, settings={"judgments": True})
