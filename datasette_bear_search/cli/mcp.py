"""``datasette bear-mcp``: the notes for AI assistants on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from .options import redact_option, sidecar_option

HIDDEN_TAGS_VARIABLE = "DATASETTE_BEAR_SEARCH_HIDDEN_TAGS"


@click.command()
@sidecar_option
@click.option(
    "--hide-tag",
    "hidden_tags",
    multiple=True,
    metavar="TAG",
    help="Never show notes with this tag or one nested below it; can be given several times  [default: those in "
    f"{HIDDEN_TAGS_VARIABLE}, separated by commas]",
)
@redact_option(default=True)
def bear_mcp(sidecar_path: Path | None, hidden_tags: tuple[str, ...], redact: bool) -> None:
    """
    Let AI assistants search and read the indexed notes

    Serves the Model Context Protocol (MCP) over stdin and stdout: it is the assistant's app that runs this command. Nothing
    is ever written.
    """
    import os

    from ..agents import server
    from ..agents.context import Library
    from ..index import database
    from ..search import redaction

    if not hidden_tags:
        named = os.environ.get(HIDDEN_TAGS_VARIABLE, "").split(",")
        hidden_tags = tuple(tag.strip() for tag in named if tag.strip())
    library = Library(sidecar_path or database.default_path(), hidden_tags, redact=redact)
    try:
        if redact:
            redaction.require()
        server.serve_stdio(library)
    except server.SdkMissing as error:
        raise click.ClickException(str(error)) from None
    except redaction.RedactionMissing as error:
        raise click.ClickException(f"{error}, or use --no-redact") from None
