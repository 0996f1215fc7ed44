"""Nothing leaves this machine: all commands are run for the first time, watched and cut off.

Watched: an audit hook in every Python process records and refuses each address, so that every
attempt is seen. Cut off: where the machine permits it, everything runs in a network namespace with
only a loopback device. Native code can't leave it either, and Linux counts its attempts. No file
may be left anywhere, because it could be a report that waits to be sent.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from datasette_bear_search.demo import BearNote
from datasette_bear_search.embeddings.files import BUNDLED_PACKAGE

pytestmark = [
    pytest.mark.skipif(
        not find_spec(BUNDLED_PACKAGE), reason="needs pip install 'datasette-bear-search[bundled]'"
    ),
]

ROOT = Path(__file__).parents[2]

# Runs every command as a person or an agent's app does. At the end, prints what was found.
EVERYTHING = """
import asyncio, json, os, re, subprocess, sys, urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

def lo_up():
    # In a new network namespace not even loopback is up.
    import fcntl, socket, struct
    SIOCSIFFLAGS, IFF_UP = 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))

# All is the same for five of the sample notes, but for the ten seconds that all of them take.
FEW_SAMPLE_NOTES = '''
import sys
from datasette.cli import cli
from datasette_bear_search import demo
few = demo.demo_notes()[:5]
demo.demo_notes = lambda: few
cli(sys.argv[1:])
'''

def run(*arguments, works=True, how=("-m", "datasette")):
    done = subprocess.run([sys.executable, *how, *arguments], capture_output=True, text=True)
    assert done.returncode == 0 or not works, (arguments, done.stdout, done.stderr)
    return done.stdout

def attempts():
    # What Linux counted in this namespace, for native code, too: nobody here needs a name or UDP.
    counts = {}
    lines = iter(open("/proc/net/snmp"))
    for names, values in zip(lines, lines):
        protocol, *names = names.split()
        counts |= {protocol + name: value for name, value in zip(names, values.split()[1:])}
    counts |= dict(line.split() for line in open("/proc/net/snmp6"))
    watched = "Ip:OutNoRoutes", "Udp:OutDatagrams", "Ip6OutNoRoutes", "Udp6OutDatagrams"
    return {name: int(counts[name]) for name in watched}

library, sidecar, collection, is_cut_off = sys.argv[1:]
if is_cut_off:
    lo_up()
query = "what to do when it rains inside"
found = {}
folder = os.path.dirname(sidecar)
run("bear-index", library, "--sidecar", sidecar)  # first: it exports the model for the others
pool = ThreadPoolExecutor()
demo = "bear-demo", "--no-serve", "--directory", folder + "/demo"
others = [
    pool.submit(run, "bear-search", query, "--json", "--redact", "--sidecar", sidecar),
    pool.submit(run, "bear-doctor", "--sidecar", sidecar, works=False),
    pool.submit(run, *demo, how=("-c", FEW_SAMPLE_NOTES)),
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
            if "semantic" in answer["query"]["legs"]:
                break
        found["JSON"] = answer["rows"][0]["title"], answer["query"]["legs"]
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
found["bear-search"] = answer["rows"][0]["title"], answer["query"]["legs"]
print(json.dumps([found, attempts() if is_cut_off else {}]))
"""


@pytest.fixture
def watched(tmp_path) -> dict[str, str]:
    """Return an environment in which every Python process is watched.

    It has no access to earlier downloads.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HF_", "ORT_", "TRANSFORMERS_", "DATASETTE_BEAR_SEARCH_"))
    }
    home = tmp_path / "home"
    home.mkdir()
    return {
        **environment,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "support" / "no_network"), str(ROOT)]),
        "BEAR_TEST_CONNECTIONS": str(tmp_path / "connections.txt"),
    }


def connections(watched: dict[str, str]) -> str:
    path = Path(watched["BEAR_TEST_CONNECTIONS"])
    return path.read_text() if path.exists() else ""


@pytest.fixture
def rainy_library(write) -> Path:
    return write(
        BearNote("# Cabin roof\n\nThe ceiling leaks in heavy showers: put a bucket under it."),
        BearNote("# Soup\n\nRed lentils and carrots."),
    )


def cut_off() -> list[str]:
    """Return the beginning of a command that runs a program without any network.

    It is empty if this machine doesn't permit that.
    """
    unshare = shutil.which("unshare")
    for options in ("-n", "-rn"):
        command = [unshare, options]
        if unshare and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    return []


# Without onnxruntime, each process loads torch.
BY_HAND = pytest.mark.skipif(
    "BEAR_TEST_ALL" not in os.environ, reason="takes a minute; set BEAR_TEST_ALL=1"
)


@pytest.mark.parametrize("missing", ["", pytest.param("onnxruntime", marks=BY_HAND)])
def test_no_command_sends_anything_anywhere(
    rainy_library, sidecar_path, watched, missing, tmp_path
):
    sidecar_path.parent.mkdir()
    before = cut_off()
    collection = small_collection(tmp_path)
    arguments = [rainy_library, sidecar_path, collection, "cut off" if before else ""]
    done = subprocess.run(
        [*before, sys.executable, "-c", EVERYTHING, *map(str, arguments)],
        env={**watched, "BEAR_TEST_MISSING": missing},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert connections(watched) == ""
    assert done.returncode == 0, done.stderr
    found, attempts = json.loads(done.stdout.splitlines()[-1])
    assert not any(attempts.values()), attempts
    assert found.keys() == {"bear-search", "JSON", "page", "bear-mcp"}
    for title, legs in found.values():
        assert title in ("Cabin roof", True)
        assert legs == ["keyword", "semantic"]
    assert files_of_others(watched) == []


def small_collection(folder: Path) -> Path:
    """Write a collection for bear-eval."""
    folder = folder / "collection"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "a", "title": "Roof", "text": "It leaks."}')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "rain inside"}')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    return folder


def files_of_others(watched: dict[str, str]) -> list[str]:
    """Return the files in the user's folders, apart from those in our own folders."""
    home = Path(watched["HOME"])
    files = [path.relative_to(home) for path in home.rglob("*") if path.is_file()]
    return [str(path) for path in files if "datasette-bear-search" not in path.parts]


def test_an_export_of_a_model_is_run_without_a_report_to_its_makers(watched):
    # By default, onnxruntime writes a permanent device id and a queue of reports to the cache as
    # soon as it is imported, and sends them a few seconds later.
    pytest.importorskip("onnxruntime")
    for first, is_quiet in (("pass", False), ("import datasette_bear_search", True)):
        code = f"{first}\nimport onnxruntime"
        subprocess.run([*cut_off(), sys.executable, "-c", code], env=watched, check=True)
        files = files_of_others(watched)
        if is_quiet:
            assert files == []
        elif sys.platform == "linux" and not files:
            pytest.skip("this onnxruntime sends nothing anyway")
        for path in files:
            (Path(watched["HOME"]) / path).unlink()


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('192.0.2.1', 9), timeout=1)",
        "socket.getaddrinfo('example.com', 443)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
        "__import__('urllib.request').request.urlopen('http://192.0.2.1/', timeout=1)",
    ],
)
def test_whoever_tries_is_caught_even_if_the_error_is_swallowed(attempt, watched):
    code = f"import socket\ntry:\n    {attempt}\nexcept Exception:\n    pass"
    subprocess.run([sys.executable, "-c", code], env=watched, check=True)
    assert connections(watched)
