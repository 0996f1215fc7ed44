"""The ``datasette bear-…`` commands. Every ``datasette`` command imports this module."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

# Importing all of these would take longer than many of Datasette's own commands.
COMMANDS = {
    "bear-index": ("index", "Index notes so that they can be searched"),
    "bear-serve": ("serve", "Search your notes in the browser"),
    "bear-search": ("search", "Search the indexed notes in the terminal"),
    "bear-demo": ("serve", "Try the search on sample notes, without Bear"),
    "bear-doctor": ("doctor", "Diagnose problems and suggest fixes"),
    "bear-eval": ("eval", "Measure how well the search ranks"),
    "bear-service": ("service", "Keep bear-serve running, now and after each login"),
    "bear-uninstall": ("service", "Remove all files that these commands ever wrote"),
    "bear-mcp": ("serve", "Let AI assistants search and read the indexed notes"),
}


class LazyCommand(click.Command):
    """A command as a group lists it. Its module is imported when somebody calls it."""

    @property
    def command(self) -> click.Command:
        module, _ = COMMANDS[str(self.name)]
        return getattr(import_module(f"{__name__}.{module}"), str(self.name).replace("-", "_"))

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        return self.command.make_context(*arguments, **options)


def register(cli: click.Group) -> None:
    for name, (_, about) in COMMANDS.items():
        cli.add_command(LazyCommand(name, short_help=about))
