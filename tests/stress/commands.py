"""Run commands as a person does, but with trivial models, and kill them on request.

One process imports everything once and forks for each command, so that a command takes only as long
as its work, and a kill hits the work and not the imports.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.shared import give_dictionary

# The size of a transaction in these commands.
NOTES_PER_COMMIT, PASSAGES_PER_COMMIT = 10, 24

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """How a command ended. The status is -9 if it was killed."""

    status: int
    seconds: float
    output: str

    @property
    def is_clear(self) -> bool:
        """Whether the command succeeded or failed with a message instead of a traceback."""
        return self.status in (0, 1, 2) and "Traceback" not in self.output


class Commands:
    """A context manager that runs ``datasette …`` commands."""

    def __init__(self) -> None:
        # A home without anybody's configuration, readable for every user.
        self._home = tempfile.TemporaryDirectory()
        os.chmod(self._home.name, 0o755)
        give_dictionary(Path(self._home.name, ".cache"))
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.stress.commands"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, "COLUMNS": "200", "HOME": self._home.name},
        )

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()
        self._home.cleanup()

    def run(
        self,
        *arguments: str | Path,
        kill_after: float | None = None,
        journal: Path | None = None,
        user: int | None = None,
        largest_file: int | None = None,
    ) -> Ended:
        """Run one command to its end.

        :param kill_after: seconds until the SIGKILL
        :param journal: a database's journal; the SIGKILL waits until a commit is under way, so that
          the journal is needed to undo it
        :param user: id of the user to run as, if this process is root's
        :param largest_file: limit in bytes for the size of a file that the command writes
        """
        options = {
            "kill_after": kill_after,
            "journal": str(journal) if journal else None,
            "user": user,
            "largest_file": largest_file,
        }
        self.start(*arguments, **options)
        return self.wait()

    def start(self, *arguments: str | Path, **options: Any) -> None:
        """Start a command like :meth:`run`; :meth:`wait` returns how it ended."""
        assert self._server.stdin is not None
        request = {"arguments": list(map(str, arguments)), **options}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()

    def wait(self) -> Ended:
        assert self._server.stdout is not None
        return Ended(**json.loads(self._server.stdout.readline()))


def _serve() -> None:
    _import_and_register()
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)


def _import_and_register() -> None:
    import gc
    import importlib
    import pkgutil

    import datasette_bear_search
    from datasette_bear_search.index.run import embedding, language_detection
    from datasette_bear_search.index.run import text as text_run
    from tests.stress import models

    for module in pkgutil.walk_packages(datasette_bear_search.__path__, "datasette_bear_search."):
        importlib.import_module(module.name)
    for name in (
        *("datasette.cli", "filelock", "numpy", "platformdirs", "rapidfuzz.process"),
        *("huggingface_hub.file_download", "sqlite_utils", "yaml", "Stemmer"),
    ):
        importlib.import_module(name)
    language_detection._model()  # two thirds of the time that a run took
    models.register()
    # Many small transactions, so that a small library has as many as a large one.
    assert text_run.NOTES_PER_COMMIT > NOTES_PER_COMMIT
    assert embedding.PASSAGES_PER_COMMIT > PASSAGES_PER_COMMIT
    text_run.NOTES_PER_COMMIT = NOTES_PER_COMMIT
    embedding.PASSAGES_PER_COMMIT = PASSAGES_PER_COMMIT
    gc.freeze()  # or a garbage collection in a fork would copy all of it


def _run(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        child = os.fork()
        if child == 0:
            _be_the_command(request, output.fileno())
        status = _wait_for(child, started, request.get("kill_after"), request.get("journal"))
        seconds = time.perf_counter() - started
        output.seek(0)
        text = output.read().decode(errors="replace")
    return {"status": os.waitstatus_to_exitcode(status), "seconds": seconds, "output": text}


def _wait_for(child: int, started: float, kill_after: float | None, journal: str | None) -> int:
    if kill_after is not None:
        while True:
            late = time.perf_counter() - started >= kill_after
            if late and (journal is None or is_hot(journal)):
                os.kill(child, signal.SIGKILL)
                break
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
            time.sleep(0.0001 if late else 0.0005)  # a commit takes a few milliseconds
    return os.waitpid(child, 0)[1]


def is_hot(journal: str | Path) -> bool:
    """Return whether there is a journal to roll back. The header of any other begins with zeros."""
    try:
        with open(journal, "rb") as stream:
            return stream.read(1) not in (b"", b"\0")
    except FileNotFoundError:
        return False


def _be_the_command(request: dict[str, Any], output: int) -> None:
    """Run the command in this forked process and exit; never return."""
    code = 70
    try:
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        if (size := request.get("largest_file")) is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
        if (user := request.get("user")) is not None and os.getuid() == 0:
            os.setgroups([])
            os.setgid(int(user))
            os.setuid(int(user))
        from datasette.cli import cli

        cli(request["arguments"], prog_name="datasette")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
