"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., object])

sidecar_option = click.option(
    "--sidecar",
    "sidecar_path",
    type=click.Path(dir_okay=False, readable=False, path_type=Path),
    envvar="DATASETTE_BEAR_SEARCH_SIDECAR",
    help="Index file  [default: notes.db in the user's data folder]",
)


def redact_option(*, default: bool | None) -> Callable[[Command], Command]:
    return click.option(
        "--redact/--no-redact",
        default=default,
        show_default=True,
        envvar="DATASETTE_BEAR_SEARCH_REDACT",
        help="Mask passwords, API keys and card numbers with ●",
    )
