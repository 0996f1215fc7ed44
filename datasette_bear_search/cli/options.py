"""How far a command is: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click


class Progress:
    """Shows how many are done, their rate and the time left: a bar on a terminal, else a line every ten seconds."""

    SECONDS_BETWEEN_LINES = 10.0

    def __init__(self, quiet: bool, what: str = "passages") -> None:
        self._quiet = quiet
        self._what = what
        self._bar: Any = None
        self._started = self._last_line = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Called with 0 when the work begins, then after each batch."""
        now = time.perf_counter()
        if self._quiet:
            return
        if done == 0:
            self._started = self._last_line = now
            if sys.stdout.isatty():
                self._bar = click.progressbar(
                    length=total,
                    label=self._what.capitalize(),
                    show_pos=True,
                    item_show_func=lambda rate: f"{rate:,.0f}/s" if rate else None,
                )
                self._bar.render_progress()
            return
        rate = done / (now - self._started)
        if self._bar is not None:
            self._bar.update(done - self._bar.pos, rate)
            if done == total:
                self._bar.render_finish()
        elif now - self._last_line >= self.SECONDS_BETWEEN_LINES and done < total:
            self._last_line = now
            click.echo(
                f"{done:,} of {total:,} {self._what}, {rate:,.0f}/s, {(total - done) / rate:,.0f} s left"
            )


# What several commands have in common: the option that names the index, and errors in words.

F = TypeVar("F", bound=Callable[..., Any])

sidecar_option = click.option(
    "--sidecar",
    "sidecar_path",
    type=click.Path(dir_okay=False, readable=False, path_type=Path),
    envvar="DATASETTE_BEAR_SEARCH_SIDECAR",
    help="File that holds the index  [default: notes.db in the user's data folder]",
)


def redact_option(*, default: bool) -> Callable[[F], F]:
    """The option that masks secrets; the environment says the same for all commands."""
    return click.option(
        "--redact/--no-redact",
        default=default,
        show_default=True,
        envvar="DATASETTE_BEAR_SEARCH_REDACT",
        help="Mask passwords, keys of services and card numbers with ●",
    )


@contextmanager
def clear_errors() -> Iterator[None]:
    """Foreseeable faults end a command with their message, not with a traceback."""
    from ..evaluation import EvaluationError
    from ..index.config import ConfigurationError
    from ..index.database import SidecarError, explained
    from ..index.indexer import IndexBusy
    from ..search.redaction import RedactionMissing
    from ..sources import SourceError
    from ..sqlite import sqlite3

    foreseeable = (
        ConfigurationError,
        EvaluationError,
        FileExistsError,
        IndexBusy,
        RedactionMissing,
        SidecarError,
        SourceError,
    )
    try:
        yield
    except foreseeable as error:
        raise click.ClickException(str(error)) from None
    except sqlite3.Error as error:
        raise click.ClickException(explained(error)) from None
