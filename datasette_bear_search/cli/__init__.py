"""The ``datasette bear-…`` commands."""

from __future__ import annotations

import click


def register(cli: click.Group) -> None:
    """Add our commands to Datasette's."""
    from .doctor import bear_doctor
    from .eval import bear_eval
    from .index import bear_index
    from .search import bear_search
    from .serve import bear_demo, bear_mcp, bear_serve

    for command in (
        bear_index,
        bear_serve,
        bear_search,
        bear_demo,
        bear_doctor,
        bear_eval,
        bear_mcp,
    ):
        cli.add_command(command)
