"""The ``datasette bear-…`` commands, and their shared options, progress and error messages."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..notes import ForeseenError
from ..sqlite import sqlite3
from .output import Lines, echo


def register(cli: click.Group) -> None:
    from .doctor import bear_doctor
    from .eval import bear_eval
    from .index import bear_index
    from .search import bear_search
    from .serve import bear_demo, bear_mcp, bear_serve

    commands = (bear_index, bear_serve, bear_search, bear_demo, bear_doctor, bear_eval, bear_mcp)
    for command in commands:
        cli.add_command(command)


sidecar_option = click.option(
    "--sidecar",
    "sidecar_path",
    type=click.Path(dir_okay=False, readable=False, path_type=Path),
    envvar="DATASETTE_BEAR_SEARCH_SIDECAR",
    help="Index file  [default: notes.db in the user's data folder]",
)


def redact_option(*, default: bool | None) -> Any:
    return click.option(
        "--redact/--no-redact",
        default=default,
        show_default=True,
        envvar="DATASETTE_BEAR_SEARCH_REDACT",
        help="Mask passwords, API keys and card numbers with ●",
    )


class Progress:
    """Shows progress on stderr: a bar on a terminal, otherwise a line every ten seconds."""

    SECONDS_BETWEEN_LINES = 10.0

    def __init__(self, quiet: bool, what: str = "passages") -> None:
        self._quiet = quiet
        self._what = what
        self._bar: Any = None
        self._started = self._last_line = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Show the progress. Call this with ``done=0`` first, then after each batch."""
        if not self._quiet:
            show = self._move_bar if sys.stderr.isatty() else self._print_line
            show(done, total)

    def _move_bar(self, done: int, total: int) -> None:
        if done == 0:
            label = self._what.capitalize()
            self._bar = click.progressbar(length=total, label=label, show_pos=True, file=sys.stderr)
            self._bar.render_progress()
        self._bar.update(done - self._bar.pos)
        if done == total:
            self._bar.render_finish()

    def _print_line(self, done: int, total: int) -> None:
        now = time.perf_counter()
        if done == 0:
            self._started = self._last_line = now
        elif done < total and now - self._last_line >= self.SECONDS_BETWEEN_LINES:
            self._last_line = now
            rate = done / (now - self._started)
            left = f"{rate:,.0f}/s, {(total - done) / rate:,.0f} s left"
            echo(f"{done:,} of {total:,} {self._what}, {left}", err=True)


@contextmanager
def clear_errors(failure: type[click.ClickException] = click.ClickException) -> Iterator[None]:
    """End the command with a message instead of a traceback if a foreseeable error occurs.

    :param failure: the exception to raise with the message; it determines the exit status
    """
    try:
        yield
    except ForeseenError as error:
        raise failure(Lines(error)) from None
    except FileExistsError as error:
        raise failure(str(error)) from None
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter if SQLite quotes damaged text
        from ..index.database import explained

        raise failure(explained(error)) from None
