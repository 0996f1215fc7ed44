"""The first minutes of a new user, with the Python that runs this.

Run: python smoke.py FOLDER [--no-meaning]

This file imports nothing from the repository, so that it tests the installed package and not the
checkout. Prints a line per step, and ends with an AssertionError if one fails.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

STEPS_THAT_SAY_SO = "found by their words only"


def main(folder: Path, has_meaning: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["HOME"] = str(folder)
    os.environ["COLUMNS"] = "200"
    index = folder / "demo" / "notes.db"
    said = datasette("bear-demo", "--no-serve", "--directory", str(index.parent))
    assert "108 notes" in said, said
    assert (STEPS_THAT_SAY_SO in said) != has_meaning, said
    print("indexed")
    chosen = ("--sidecar", str(index))
    again = datasette("bear-index", *chosen)
    assert "0 notes added" in again, again
    found = datasette("bear-search", "apple tree", *chosen)
    assert "The old apple tree" in found, found
    # The terminal says so, but only if it is true.
    assert (STEPS_THAT_SAY_SO in found) != has_meaning, found
    answer = json.loads(
        datasette("bear-search", "apple", "tree", "--json", *chosen, only_stdout=True)
    )
    assert answer["rows"][0]["title"] == "The old apple tree", answer
    retrievers = ["keyword", "semantic"] if has_meaning else ["keyword"]
    assert answer["query"]["retrievers"] == retrievers
    print("searched in the terminal")
    asyncio.run(search_in_datasette(index, has_meaning))
    print("searched in Datasette")
    if installed("mcp"):
        ask_as_an_agent(index)
        print("searched by an agent")
    said = datasette("bear-doctor", *chosen, statuses=(0,) if has_meaning else (1,))
    assert "The file is intact" in said, said
    print("looked at by the doctor")


async def search_in_datasette(index: Path, has_meaning: bool) -> None:
    from datasette.app import Datasette

    served = Datasette([str(index)])
    await served.invoke_startup()
    for path in (
        "/",
        "/notes",
        "/notes/notes",
        "/-/bear-search",
        "/-/bear-search?q=apple+tree",
        "/-/bear-search?q=apple+tree&mode=semantic",
        "/-/bear-search?tag=home",
        "/-/bear-search/note/1",
        "/-/bear-search/similar/1",
        "/-/static-plugins/datasette_bear_search/bear_common.css",
    ):
        answer = await served.client.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:500])
    page = (await served.client.get("/-/bear-search?q=apple+tree&mode=hybrid")).text
    assert "The old apple tree" in page, page
    assert (STEPS_THAT_SAY_SO in page) != has_meaning, page
    rows = (await served.client.get("/-/bear-search.json?q=apple+tree")).json()["rows"]
    assert rows[0]["title"] == "The old apple tree", rows


def ask_as_an_agent(index: Path) -> None:
    asked = [
        {
            "method": "initialize",
            "id": 1,
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "smoke", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {
            "method": "tools/call",
            "id": 2,
            "params": {"name": "search_notes", "arguments": {"query": "apple tree"}},
        },
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "datasette", "bear-mcp", "--sidecar", str(index)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        for message in asked:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            if "id" in message:
                answer = json.loads(server.stdout.readline())
        server.stdin.close()
    assert "The old apple tree" in json.dumps(answer), answer


def datasette(*arguments: str, statuses: tuple = (0,), only_stdout: bool = False) -> str:
    """Run a command, which must have one of these statuses and no traceback; return its output."""
    ended = subprocess.run(
        [sys.executable, "-m", "datasette", *arguments], capture_output=True, text=True
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode in statuses, (arguments, ended.returncode, said)
    assert "Traceback" not in said, said
    return ended.stdout if only_stdout else said


def installed(package: str) -> bool:
    from importlib.util import find_spec

    return find_spec(package) is not None


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), "--no-meaning" not in sys.argv)
