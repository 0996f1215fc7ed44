"""Datasette as people run it: in a process of its own, with requests over local HTTP."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

HOST = "127.0.0.1"
SECONDS_TO_START = 120
# Long, because loading a model first takes a while on a busy machine.
SECONDS_TO_ANSWER = 300

_PLUGIN = """\
import sys

sys.path.insert(0, {root!r})

from pathlib import Path

from benchmarks.lib import synthetic_vectors

synthetic_vectors.register(Path({folder!r}))
"""


class Server:
    """A running Datasette, and a connection to it that stays open, as in a browser."""

    def __init__(self, process: subprocess.Popen, port: int, log: Path) -> None:
        self.process = process
        self._log = log
        self.port = port
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str, **parameters: str) -> tuple[int, bytes]:
        """Return the status and the body of the response."""
        address = f"{path}?{urlencode(parameters)}" if parameters else path
        if self._connection is not None:
            with suppress(ConnectionError):  # the server closes connections idle for five seconds
                return self._get(self._connection, address)
        self._connection = None
        connection = http.client.HTTPConnection(HOST, self.port, timeout=SECONDS_TO_ANSWER)
        answer = self._get(connection, address)
        self._connection = connection
        return answer

    def _get(self, connection: http.client.HTTPConnection, address: str) -> tuple[int, bytes]:
        connection.request("GET", address)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def wait(self) -> None:
        """Wait until the server responds."""
        end = time.monotonic() + SECONDS_TO_START
        while True:
            if self.process.poll() is not None:
                raise SystemExit(f"Datasette didn't start:\n{self._log.read_text()[-2000:]}")
            try:
                self.get("/-/versions.json")
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)


@contextmanager
def serving(
    files: Sequence[Path],
    *options: str,
    synthetic: Path | None = None,
    python: Path | str = sys.executable,
) -> Iterator[Server]:
    """Run a Datasette that serves these files.

    :param synthetic: a folder with libraries whose synthetic embedder the server should have
    :param python: a Python interpreter that has Datasette
    """
    with tempfile.TemporaryDirectory() as folder:
        more = [*options]
        if synthetic is not None:
            plugin = _PLUGIN.format(
                root=str(Path(__file__).resolve().parents[2]), folder=str(synthetic.resolve())
            )
            (Path(folder) / "synthetic.py").write_text(plugin)
            more += ["--plugins-dir", folder]
        port = _free_port()
        command = [
            str(python),
            "-m",
            "datasette",
            *(str(file.resolve()) for file in files),
            "-h",
            HOST,
            "-p",
            str(port),
            *more,
        ]
        log = Path(folder) / "log"
        with open(log, "wb") as stream:
            # Not in the current folder: another interpreter's Datasette must not find our plugin.
            process = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=folder)
        try:
            server = Server(process, port, log)
            server.wait()
            yield server
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]
