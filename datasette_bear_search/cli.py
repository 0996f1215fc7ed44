"""The ``datasette bear-…`` commands."""

from __future__ import annotations

import click


def register(cli: click.Group) -> None:
    """Add our commands to Datasette's."""
    from .commands.demo import bear_demo
    from .commands.doctor import bear_doctor
    from .commands.eval import bear_eval
    from .commands.index import bear_index
    from .commands.mcp import bear_mcp
    from .commands.search import bear_search
    from .commands.serve import bear_serve

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
