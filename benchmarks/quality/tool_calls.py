"""How well a single call of the agents' tool search_notes finds the right note.

    python -m benchmarks.quality.tool_calls [--sidecar FILE] [--write]

Asks questions about the sample notes in other words than the notes use, through the official client
and ``datasette bear-mcp``. There are two sets: questions.jsonl, and harder_questions.jsonl, whose
questions were written without searching and avoid every word of the note. Each question is asked as
it is, by meaning alone, and with two more phrasings as an agent would add them (phrasings.jsonl,
written from the questions alone, before any search). Prints in Markdown how often the right note is
in the top 1, 3 and 10 of the call, the tokens of the response (as text and as JSON: a client shows
its model one of them; counted by the embedding model's tokenizer) and its time, then the misses.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.lib.measuring import publish
from datasette_bear_search import demo
from datasette_bear_search.embeddings import files as model_files

QUESTIONS = ("questions", "harder_questions")
NOTES = Path(demo.__file__).parent / "notes"
FIRST = 3
PHRASINGS = {
    asked["question"]: asked["phrasings"]
    for asked in map(
        json.loads,
        Path(__file__).with_name("phrasings.jsonl").read_text(encoding="utf-8").splitlines(),
    )
}
# How a question is asked → the arguments of the tool.
WAYS: dict[str, Callable[[str], dict[str, Any]]] = {
    "one query": lambda question: {"query": question},
    "by meaning alone": lambda question: {"query": question, "mode": "semantic"},
    "three phrasings": lambda question: {"query": question, "queries": PHRASINGS[question]},
    "three, concise": lambda question: {
        "query": question, "queries": PHRASINGS[question], "detail": "concise",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A question and the response to one call."""

    question: str
    title: str
    titles: list[str]  # of the results, in order
    text: str
    data: str
    milliseconds: float

    @property
    def is_hit(self) -> bool:
        """Whether the right note is in the top FIRST."""
        return self.is_among(FIRST)

    def is_among(self, first: int) -> bool:
        return self.title in self.titles[:first]


def title_of(name: str) -> str:
    """Return the title of the sample note in the file of this name."""
    text = (NOTES / f"{name}.md").read_text(encoding="utf-8")
    return re.search("^# (.+)$", text, re.MULTILINE)[1]


def questions(name: str) -> list[dict[str, str]]:
    """Return a set of questions, each with the title of the note that answers it."""
    lines = Path(__file__).with_name(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        {"title": asked.get("title") or title_of(asked["note"]), **asked}
        for asked in map(json.loads, lines)
    ]


async def ask(
    sidecar: Path, questions: list[dict[str, str]], arguments: Callable[[str], dict[str, Any]]
) -> list[Call]:
    """Ask one server every question twice: for time and tokens, then for ten results."""
    command = (
        "from datasette.cli import cli; import sys; cli(['bear-mcp', '--sidecar', sys.argv[1]])"
    )
    server = StdioServerParameters(command=sys.executable, args=["-c", command, str(sidecar)])
    calls = []
    async with Client(server) as client:
        await client.call_tool("search_notes", {"query": "warm up", "mode": "hybrid"})
        for asked in questions:
            started = time.perf_counter()
            wanted = arguments(asked["question"])
            result = await client.call_tool("search_notes", wanted)
            milliseconds = (time.perf_counter() - started) * 1000
            ten = await client.call_tool("search_notes", {**wanted, "limit": 10})
            notes = ten.structured_content["notes"]
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
| questions | asked | right note first | in the first 3 | in the first 10 \
| tokens as text, median | most | as JSON, median | most | ms, median |
|---|---|---|---|---|---|---|---|---|---|"""


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
    hits = " | ".join(str(sum(call.is_among(first) for call in calls)) for first in (1, FIRST, 10))
    times = [call.milliseconds for call in calls]
    return (
        f"| {len(calls)} {name} | {asked} | {hits} "
        f"| {statistics.median(as_text):,.0f} | {max(as_text):,} "
        f"| {statistics.median(as_json):,.0f} | {max(as_json):,} "
        f"| {statistics.median(times):.0f} |"
    )


def missed(asked: str, calls: list[Call]) -> list[str]:
    """Return lines about the questions that missed, with the rank of the right note."""
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
            for asked, arguments_of in WAYS.items():
                calls = asyncio.run(ask(sidecar, questions(name), arguments_of))
                print(report(name, asked, calls), flush=True)
                lines += missed(asked, calls)
    print("", *lines, sep="\n")


if __name__ == "__main__":
    publish(main, __file__)
