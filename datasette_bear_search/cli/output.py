"""What commands print: lines in which no value controls the terminal or passes for another line."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

import click

from ..notes import ForeseenError, printable, printable_json, storable_name
from ..sqlite import sqlite3

# Cells per line. Longer lines are hard to read, no matter how wide the window is.
MAX_WIDTH = 100
MIN_WIDTH = 20


@dataclass(frozen=True)
class Screen:
    width: int | None = None  # cells per line; None: lines aren't wrapped
    styled: bool = False  # bold, underlined and faint text, and links (OSC 8)
    colored: bool = False


PLAIN = Screen()


def screen_for(stream: TextIO) -> Screen:
    """Return what a stream can show; obeys no-color.org, force-color.org and ``TERM=dumb``."""
    is_forced = bool(os.environ.get("FORCE_COLOR"))
    if not (stream.isatty() or is_forced):
        return PLAIN
    width = max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size().columns))
    is_smart = is_forced or os.environ.get("TERM") != "dumb"
    return Screen(width, is_smart, is_smart and not os.environ.get("NO_COLOR"))


def style(text: str, screen: Screen, *, color: str | None = None, **effects: bool) -> str:
    if not screen.styled or not text:
        return text
    return click.style(text, fg=color if screen.colored else None, **effects)


def echo(*lines: str, err: bool = False, styled: bool = False) -> None:
    """Print lines. A line break within one, such as in the name of a file, becomes a space.

    :param styled: whether they may have the sequences of :func:`style`, and links
    """
    texts = (_STYLES.split(line) if styled else [line] for line in lines)
    # Every second part is one of our own sequences.
    parts = ((part if i % 2 else _cells(part) for i, part in enumerate(text)) for text in texts)
    # Without color=True, click would strip links.
    click.echo("\n".join(map("".join, parts)), err=err, color=styled or None)


def echo_json(value: Any, indent: int | None = None) -> None:
    is_ascii = sys.stdout.encoding != "utf-8"  # other encodings lack characters
    click.echo(printable_json(json.dumps(value, indent=indent, ensure_ascii=is_ascii)))


def echo_for_now(text: str) -> None:
    """Show a text on a terminal that the next output overwrites."""
    if sys.stderr.isatty():
        click.echo(f"{printable(text)}\r", nl=False, err=True)


def agrees(question: str) -> bool:
    """Ask a person at the terminal; return whether the answer is yes."""
    return click.confirm(printable(question))


def confirm(question: str) -> None:
    """End the command unless the person agrees."""
    click.confirm(printable(question), abort=True)


class Command(click.Command):
    """A command that ends with a message instead of a traceback if a foreseeable error occurs."""

    failure = click.ClickException  # what is raised with the message: it has the exit status

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:  # closed, and the next file would get its number
                setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
        if isinstance(sys.stdout, io.TextIOWrapper):
            # In a pipe, Windows has an encoding that lacks most characters that notes have.
            sys.stdout.reconfigure(errors="replace")
        with clear_errors(self.failure):
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with clear_errors(self.failure):
            return super().invoke(ctx)


@contextmanager
def clear_errors(failure: type[click.ClickException] = click.ClickException) -> Iterator[None]:
    """Raise ``failure`` instead of foreseeable errors, with messages that control no terminal."""
    try:
        yield
    except click.ClickException as error:
        error.message = printable(error.message)  # type: ignore[misc]
        raise
    except ForeseenError as error:
        raise failure(str(error)) from None  # its line breaks are ours
    except UnicodeEncodeError as error:
        found = storable_name(error.object[: error.end])[-40:]
        says = f"An option or a path has bytes that aren't UTF-8: {printable(found)}"
        raise failure(says) from None
    # UnicodeDecodeError: SQLite quotes damaged text.
    except (FileExistsError, sqlite3.Error, UnicodeDecodeError) as error:
        from ..index.file.database import explained

        raise failure(printable(explained(error))) from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        says = "There is no space left on the disk. Free some, then run this again."
        raise failure(says) from None


def progress(quiet: bool, what: str = "passages") -> Callable[[int, int], None]:
    """Return a function that shows progress on stderr: first with 0 done, then after each batch."""
    bar: Any = None

    def show(done: int, total: int) -> None:
        nonlocal bar
        if done == 0:
            label = what.capitalize()
            bar = click.progressbar(length=total, label=label, show_pos=True, file=sys.stderr)
            bar.render_progress()
        bar.update(done - bar.pos)
        if done == total:
            bar.render_finish()

    return show if sys.stderr.isatty() and not quiet else lambda done, total: None


_STYLES = re.compile("(\x1b\\[[\\d;]*m|\x1b\\]8;;[\x21-\x7e]*\x1b\\\\)")


def _cells(line: str) -> str:
    return "\t".join(map(printable, line.split("\t")))
