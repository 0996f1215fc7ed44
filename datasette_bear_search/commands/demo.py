"""``datasette bear-demo``: the search on sample notes."""

from __future__ import annotations

from pathlib import Path

import click

from .index import index_sources
from .options import clear_errors
from .serve import DEFAULT_PORT, serve


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), help=f"Port on this machine  [default: {DEFAULT_PORT}]"
)
@click.option("--no-serve", is_flag=True, help="Only write and index the sample notes")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to keep them  [default: a folder in the user's data folder]",
)
def bear_demo(port: int | None, no_serve: bool, directory: Path | None) -> None:
    """
    Try the search on sample notes, without Bear

    Writes a Bear library of about a hundred notes, indexes it and serves it to this machine only (127.0.0.1).
    """
    from platformdirs import user_data_path

    from ..demo import write_demo_library
    from ..demo.library import sqlite3
    from ..sources.kinds import SourceConfig

    directory = directory or user_data_path("datasette-bear-search", appauthor=False) / "demo"
    library, path = directory / "database.sqlite", directory / "notes.db"
    with clear_errors():
        try:
            directory.mkdir(parents=True, exist_ok=True)
            count = write_demo_library(library)
        except FileExistsError:
            raise
        except (OSError, sqlite3.Error) as error:
            raise click.ClickException(
                f"The sample notes can't be written to {directory} ({getattr(error, 'strerror', None) or error}). Choose another folder with "
                "--directory, or free some space."
            ) from None
        click.echo(f"Wrote {count} sample notes to {library}")
        if failed := index_sources(path, [SourceConfig("bear", "bear", str(library))]):
            raise click.ClickException(failed)
        if not no_serve:
            serve(path, port, open_browser=False, settings={"judgments": True})
