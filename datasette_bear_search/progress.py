"""How far a command is: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

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
