"""What several commands have in common: the option that names the index, and errors in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

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
    from ..configuration import ConfigurationError
    from ..evaluation import EvaluationError
    from ..indexer import IndexBusy
    from ..redaction import RedactionMissing
    from ..schema import sqlite3
    from ..sidecar_faults import SidecarError, explained
    from ..sources import SourceError

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
