"""What the README shows as output, made by running it."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

API_EXAMPLE = "/-/bear-search.json?q=composting+toilet&tag=cabin&_size=1"


def command_help(command: str) -> str:
    """The help of one of our commands, as a terminal of 100 columns shows it."""
    text = CliRunner().invoke(cli, [command, "--help"], terminal_width=100).output
    return text.replace("Usage: cli", "Usage: datasette").strip()


def api_example() -> dict:
    """What the API answers to the README's example on the sample notes."""
    with tempfile.TemporaryDirectory() as folder:
        CliRunner().invoke(
            cli, ["bear-demo", "--no-serve", "--directory", folder], catch_exceptions=False
        )
        answer = api_answer(Path(folder) / "notes.db")
    # Differs from run to run.
    answer["timing_ms"] = {"plan": 0.8, "embed": 9.1, "sql": 7.9, "highlight": 2.2, "total": 21.3}
    return answer


def api_answer(sidecar: Path) -> dict:
    """The answer to the README's example from this sidecar."""

    async def get() -> dict:
        response = await Datasette([str(sidecar)]).client.get(API_EXAMPLE)
        return response.json()

    return asyncio.run(get())
