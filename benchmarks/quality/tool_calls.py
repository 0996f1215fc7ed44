"""What one call of the agents' tool search_notes is worth.

    python -m benchmarks.quality.tool_calls [--sidecar FILE] [--write]

Asks the sample notes two sets of questions that use other words than the notes, through the
official client and ``datasette bear-mcp``: questions.jsonl, and harder_questions.jsonl, which were
written without searching and avoid every word of the note. Each is asked as it stands and with
``paraphrase``, which the tool's description asks for in such a case. Prints in Markdown in how many
cases the right note is among the first three results of the one call, how many tokens the answer
has (as text and as JSON, of which a client shows its model one; counted by the tokenizer of the
embedding model), and how long the call took. Then the questions that missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from mcp import Client, StdioServerParameters

from benchmarks.lib.measuring import publish
from datasette_bear_search import demo
from datasette_bear_search.embeddings import files as model_files

QUESTIONS = ("questions", "harder_questions")
NOTES = Path(demo.__file__).parent / "notes"
FIRST = 3


@dataclass(frozen=True)
class Call:
    """A question and what one call answered."""

    question: str
    title: str
    titles: list[str]  # of the results, in order
    text: str
    data: str
    milliseconds: float

    @property
    def is_hit(self) -> bool:
        """Whether the right note is among the first."""
        return self.title in self.titles[:FIRST]


def title_of(name: str) -> str:
    """Return the title of the sample note in the file of that name."""
    text = (NOTES / f"{name}.md").read_text(encoding="utf-8")
    return re.search("^# (.+)$", text, re.MULTILINE)[1]


def questions(name: str) -> list[dict[str, str]]:
    """Return a set of questions, each with the title of the note that answers it."""
    lines = Path(__file__).with_name(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        {"title": asked.get("title") or title_of(asked["note"]), **asked}
        for asked in map(json.loads, lines)
    ]


async def ask(sidecar: Path, questions: list[dict[str, str]], **more: bool) -> list[Call]:
    """Ask every question once, of one server, with ``more`` arguments."""
    command = (
        "from datasette.cli import cli; import sys; cli(['bear-mcp', '--sidecar', sys.argv[1]])"
    )
    server = StdioServerParameters(command=sys.executable, args=["-c", command, str(sidecar)])
    calls = []
    async with Client(server) as client:
        await client.call_tool("search_notes", {"query": "warm up", "mode": "hybrid", **more})
        for asked in questions:
            started = time.perf_counter()
            result = await client.call_tool("search_notes", {"query": asked["question"], **more})
            milliseconds = (time.perf_counter() - started) * 1000
            notes = result.structured_content["notes"]
            calls.append(
                Call(
                    asked["question"],
                    asked["title"],
                    [note["title"] for note in notes],
                    result.content[0].text,
                    json.dumps(result.structured_content, ensure_ascii=False),
                    milliseconds,
                )
            )
    return calls


HEAD = """\
| questions | asked | right note in the first 3 | tokens as text, median | most \
| as JSON, median | most | ms, median |
|---|---|---|---|---|---|---|---|"""


def report(name: str, asked: str, calls: list[Call]) -> str:
    """Return the numbers as a row of the table."""
    from tokenizers import Tokenizer

    folder = model_files.bundled_folder()
    assert folder is not None
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def tokens(texts: list[str]) -> list[int]:
        return [len(tokenizer.encode(text).ids) for text in texts]

    as_text, as_json = tokens([call.text for call in calls]), tokens([call.data for call in calls])
    hits = sum(call.is_hit for call in calls)
    times = [call.milliseconds for call in calls]
    return (
        f"| {name} | {asked} | {hits} of {len(calls)} ({hits / len(calls):.0%}) "
        f"| {statistics.median(as_text):,.0f} | {max(as_text):,} "
        f"| {statistics.median(as_json):,.0f} | {max(as_json):,} "
        f"| {statistics.median(times):.0f} |"
    )


def missed(asked: str, calls: list[Call]) -> list[str]:
    """Return the questions that missed, each with where the right note is."""
    lines = []
    for call in calls:
        if not call.is_hit:
            place = call.titles.index(call.title) + 1 if call.title in call.titles else "none"
            lines.append(
                f"- missed {asked}: {call.question!r}; {call.title!r} is result {place}; "
                f"first: {call.titles[:FIRST]}"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sidecar", type=Path, help="Index of the sample notes, if there is one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sidecar = arguments.sidecar
        if sidecar is None:
            command = (
                "from datasette.cli import cli; import sys; "
                "cli(['bear-demo', '--no-serve', '--directory', sys.argv[1]])"
            )
            subprocess.run([sys.executable, "-c", command, folder], check=True)
            sidecar = Path(folder) / "notes.db"
        print(HEAD)
        lines = []
        for name in QUESTIONS:
            for asked, more in (("as it stands", {}), ("with paraphrase", {"paraphrase": True})):
                calls = asyncio.run(ask(sidecar, questions(name), **more))
                print(report(name, asked, calls), flush=True)
                lines += missed(asked, calls)
    print("", *lines, sep="\n")


if __name__ == "__main__":
    publish(main, __file__)
