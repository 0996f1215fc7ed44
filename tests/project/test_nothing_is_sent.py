"""Nothing leaves this machine: all commands are run, watched and cut off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from datasette_bear_search.embeddings.files import BUNDLED_PACKAGE
from tests.support.bear_database import BearNote
from tests.support.machines import Machine, attempts, cut_off
from tests.support.shared import give_dictionary

pytestmark = [
    pytest.mark.skipif(
        not find_spec(BUNDLED_PACKAGE), reason="needs pip install 'datasette-bear-search[bundled]'"
    ),
]

# Runs every command as a person or an agent's app does. At the end, prints what was found.
EVERYTHING = """
import asyncio, json, os, re, subprocess, sys, urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote
from tests.support.machines import attempts

def lo_up():
    # In a new network namespace not even loopback is up.
    import fcntl, socket, struct
    SIOCSIFFLAGS, IFF_UP = 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))

def run(*arguments, works=True):
    command = [sys.executable, "-m", "datasette", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 or not works, (arguments, done.stdout, done.stderr)
    return done.stdout

library, sidecar, collection, is_cut_off = sys.argv[1:]
if is_cut_off:
    lo_up()
query = "what to do when it rains inside"
found = {}
folder = os.path.dirname(sidecar)
run("bear-index", library, "--sidecar", sidecar)
pool = ThreadPoolExecutor()
others = [
    pool.submit(run, "bear-search", query, "--json", "--redact", "--sidecar", sidecar),
    pool.submit(run, "bear-doctor", "--sidecar", sidecar, works=False),
    pool.submit(run, "bear-eval", collection, "--mode", "keyword", "--cache", folder),
]

serve = "bear-serve", "--no-open", "--port", "0", "--sidecar", sidecar
with subprocess.Popen(
    [sys.executable, "-u", "-m", "datasette", *serve], stdout=subprocess.PIPE, text=True
) as server:
    try:
        address = re.search("http://[0-9.:]+", server.stdout.readline())[0] + "/-/bear-search"
        def get(path):
            with urllib.request.urlopen(address + path, timeout=120) as response:
                return response.read().decode()
        # Without onnxruntime, a busy machine may take longer to import torch than a request waits.
        for _ in range(30):
            answer = json.loads(get(".json?q=" + quote(query)))
            if "semantic" in answer["query"]["retrievers"]:
                break
        found["JSON"] = answer["rows"][0]["title"], answer["query"]["retrievers"]
        found["page"] = "Cabin roof" in get("?q=" + quote(query)), ["keyword", "semantic"]
        get(""), get("/note/1"), get("/similar/1"), get("/suggest.json?q=ca")
    finally:
        server.terminate()

async def agent():
    from mcp import Client, StdioServerParameters
    async with Client(StdioServerParameters(
        command=sys.executable, args=["-m", "datasette", "bear-mcp", "--sidecar", sidecar],
        env=dict(os.environ),
    )) as client:
        result = await client.call_tool("search_notes", {"query": query})
        await client.call_tool("get_notes", {"ids": [1]})
        await client.call_tool("library_status", {})
        return result.structured_content["notes"][0]["title"], ["keyword", "semantic"]

found["bear-mcp"] = asyncio.run(agent())
answer = json.loads([other.result() for other in others][0])
found["bear-search"] = answer["rows"][0]["title"], answer["query"]["retrievers"]
print(json.dumps([found, attempts() if is_cut_off else {}]))
"""


@pytest.fixture
def machine(first_run, tmp_path) -> Machine:
    found = Machine(tmp_path / "machine")
    give_dictionary(found.cache)  # as after the first run
    return found


@pytest.fixture
def rainy_library(write) -> Path:
    return write(
        BearNote("# Cabin roof\n\nThe ceiling leaks in heavy showers: put a bucket under it."),
        BearNote("# Soup\n\nRed lentils and carrots."),
    )


# Without onnxruntime, each process loads torch.
BY_HAND = pytest.mark.skipif(
    "BEAR_TEST_ALL" not in os.environ, reason="takes a minute; set BEAR_TEST_ALL=1"
)


def test_the_first_run_sends_nothing_anywhere(first_run):
    assert first_run.connections() == ""
    assert first_run.files_of_others() == []
    counts = first_run.root / "counts.txt"
    if cut_off():
        assert not any(attempts(counts).values())


def test_making_the_dictionary_of_mistyped_words_sends_nothing_anywhere(tmp_path):
    machine = Machine(tmp_path / "machine")
    machine.cache.mkdir(parents=True)
    code = """
from spellchecker import SpellChecker
SpellChecker.languages = classmethod(lambda checker: ["eu"])  # all twelve take seconds
from datasette_bear_search.search.planning import dictionary
assert dictionary.has_word("etxe")
"""
    subprocess.run([*cut_off(), sys.executable, "-c", code], env=machine.environment(), check=True)
    assert list(machine.cache.rglob("dictionary-*.bin"))
    assert machine.connections() == ""
    assert machine.files_of_others() == []


@pytest.mark.parametrize("missing", ["", pytest.param("onnxruntime", marks=BY_HAND)])
def test_no_command_sends_anything_anywhere(
    rainy_library, sidecar_path, machine, missing, tmp_path
):
    sidecar_path.parent.mkdir()
    before = cut_off()
    collection = small_collection(tmp_path)
    arguments = [rainy_library, sidecar_path, collection, "cut off" if before else ""]
    done = subprocess.run(
        [*before, sys.executable, "-c", EVERYTHING, *map(str, arguments)],
        env={**machine.environment(), "BEAR_TEST_MISSING": missing},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert machine.connections() == ""
    assert done.returncode == 0, done.stderr
    found, counted = json.loads(done.stdout.splitlines()[-1])
    assert not any(counted.values()), counted
    assert found.keys() == {"bear-search", "JSON", "page", "bear-mcp"}
    for title, retrievers in found.values():
        assert title in ("Cabin roof", True)
        assert retrievers == ["keyword", "semantic"]
    assert machine.files_of_others() == []


def small_collection(folder: Path) -> Path:
    """Write a collection for bear-eval."""
    folder = folder / "collection"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "a", "title": "Roof", "text": "It leaks."}')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "rain inside"}')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    return folder


def test_an_export_of_a_model_is_run_without_a_report_to_its_makers(machine):
    # By default, onnxruntime writes a permanent device id and a queue of reports to the cache as
    # soon as it is imported, and sends them a few seconds later.
    pytest.importorskip("onnxruntime")
    for first, is_quiet in (("pass", False), ("import datasette_bear_search", True)):
        code = f"{first}\nimport onnxruntime"
        subprocess.run(
            [*cut_off(), sys.executable, "-c", code], env=machine.environment(), check=True
        )
        files = machine.files_of_others()
        if is_quiet:
            assert files == []
        elif sys.platform == "linux" and not files:
            pytest.skip("this onnxruntime sends nothing anyway")
        for path in files:
            (machine.cache.parent / path).unlink()


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('192.0.2.1', 9), timeout=1)",
        "socket.getaddrinfo('example.com', 443)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
        "__import__('urllib.request').request.urlopen('http://192.0.2.1/', timeout=1)",
    ],
)
def test_an_attempt_to_connect_is_recorded_even_if_its_error_is_swallowed(attempt, machine):
    code = f"import socket\ntry:\n    {attempt}\nexcept Exception:\n    pass"
    subprocess.run([sys.executable, "-c", code], env=machine.environment(), check=True)
    assert machine.connections()
