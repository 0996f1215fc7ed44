"""The output that the documentation shows, made by running the commands."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

ROOT = Path(__file__).parents[2]
# The pages of the documentation, in order.
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
API_EXAMPLE = "/-/bear-search.json?q=composting+toilet&tag=cabin&_size=1"


def command_help(command: str) -> str:
    """Return the help of one of our commands, for a terminal with 100 columns."""
    text = CliRunner().invoke(cli, [command, "--help"], terminal_width=100).output
    return text.replace("Usage: cli", "Usage: datasette").strip()


def api_example() -> dict:
    """Return the API's response to the documentation's example on the sample notes."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["bear-demo", "--no-serve", "--directory", folder]
        CliRunner().invoke(cli, command, catch_exceptions=False)
        answer = api_answer(Path(folder) / "notes.db")
    # Times differ from run to run.
    times = {"plan": 0.8, "embed": 9.1, "sql": 7.9, "total": 21.3}
    answer["timing_ms"] = {name: times.get(name, 2.2) for name in answer["timing_ms"]}
    # Scores depend on the processor: vectors are made in bfloat16 where that is faster.
    row = answer["rows"][0]
    for name, value in {"similarity": 0.7421, "score": 0.8556}.items():
        assert abs(row[name] - value) < 0.01, f"write {name} anew: {row[name]}"
        row[name] = value
    row["passage"].update(sentence_start=54, sentence_end=191)
    row["sentence"] = [54, 191]
    return answer


def api_answer(index_file: Path) -> dict:
    """Return the response to the documentation's example from this index file."""

    async def get() -> dict:
        response = await Datasette([str(index_file)]).client.get(API_EXAMPLE)
        return response.json()

    return asyncio.run(get())
