"""What the agents' tools cost a model: bytes and tokens of their answers.

    python -m benchmarks.quality.answer_costs --folder FOLDER [SIZE…] [--write]

Makes libraries of SIZE notes (see ``benchmarks.speed.scale``) and asks the same kinds of queries of
each. Prints in Markdown the medians of each kind of call as text, and the largest. Structured
content is as long again, and clients show their models one of them. Tokens are counted by the
tokenizer of the bundled model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.lib import synthetic_vectors
from benchmarks.lib.measuring import publish, table
from benchmarks.lib.workload import workload
from benchmarks.speed import scale
from datasette_bear_search.agents import AgentLibrary, server
from datasette_bear_search.agents.tools import TOOLS, call
from datasette_bear_search.embeddings import files as model_files

SIZES = (100, 1_000, 10_000)
QUERIES = 40


def tokenizer() -> Callable[[str], int]:
    from tokenizers import Tokenizer

    folder = model_files.bundled_folder()
    assert folder is not None
    read = Tokenizer.from_file(str(folder / "tokenizer.json"))
    read.no_truncation()
    read.no_padding()
    return lambda text: len(read.encode(text).ids)


def answers(library: AgentLibrary) -> dict[str, list[str]]:
    """Return the texts of each kind of call."""
    with library.open() as connection:
        asked = [each.text for each in workload(connection, QUERIES)]
    said: dict[str, list[str]] = {}
    for query in asked:
        for name, arguments in (
            ("search, 5 results", {"query": query}),
            ("search, 5 results, concise", {"query": query, "detail": "concise"}),
            ("search, 20 results, concise", {"query": query, "detail": "concise", "limit": 20}),
        ):
            result = call(library, "search_notes", arguments)
            said.setdefault(name, []).append(result.text)
        if notes := result.data["notes"]:
            for name, arguments in (
                ("read a note", {"ids": [notes[0]["id"]]}),
                ("read 10 lines", {"ids": [notes[0]["id"]], "lines": "1:10"}),
            ):
                said.setdefault(name, []).append(call(library, "get_notes", arguments).text)
    said["list of tags"] = [call(library, "list_tags", {}).text]
    said["status"] = [call(library, "library_status", {}).text]
    said["instructions"] = [server.build_server(library).instructions or ""]
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=list(SIZES), metavar="SIZE")
    parser.add_argument("--folder", type=Path, required=True, help="for the libraries")
    arguments = parser.parse_args()
    synthetic_vectors.register(arguments.folder)
    tokens, rows = tokenizer(), {}
    for size in arguments.sizes:
        library = AgentLibrary(scale.scaled_sidecar(arguments.folder, size))
        for name, texts in answers(library).items():
            sizes = [len(text.encode()) for text in texts]
            row = rows.setdefault(name, [name])
            row.append(f"{median(sizes):,.0f} ({median(map(tokens, texts)):,.0f})")
            row.append(f"{max(sizes):,}")
    described = json.dumps([_description(tool) for tool in TOOLS])
    rows["the tools' descriptions"] = [
        "the tools' descriptions", f"{len(described):,} ({tokens(described):,})", "",
        *["", ""] * (len(arguments.sizes) - 1),
    ]  # fmt: skip
    head = ["bytes (tokens)"]
    for size in arguments.sizes:
        head += [f"{size:,} notes, median", "most"]
    print(table(head, rows.values()))


def _description(tool: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(tool).items() if name != "run"}


if __name__ == "__main__":
    publish(main, __file__)
