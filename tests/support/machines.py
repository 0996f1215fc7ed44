"""A machine on which nothing of ours has run yet, watched and cut off from the network.

Watched: an audit hook in every Python process records and refuses each address, so that every
attempt is seen. Cut off: where the machine permits it, everything runs in a network namespace with
only a loopback device. Native code can't leave it either, and Linux counts its attempts. No file
may be left anywhere, because it could be a report that waits to be sent.

The folder in which it runs is from somebody else: it has a module of each name that Python or an
installed package knows, and none of them may run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.support.shared import give_dictionary

ROOT = Path(__file__).parents[2]
DATASETTE = str(Path(sys.executable).with_name("datasette"))
# Where Linux counts what a network namespace sends.
COUNTS = ("/proc/net/snmp", "/proc/net/snmp6")
# Leaves a file beside itself when it is imported or run.
FOREIGN_MODULE = "open(__file__ + '.ran', 'w').close()\n"


@dataclass(frozen=True)
class Machine:
    """A person's folders on such a machine, and the foreign folder."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "foreign"

    @property
    def cache(self) -> Path:
        return self.root / "home" / "cache"

    @property
    def index(self) -> Path:
        """The index of the sample notes, after the first run."""
        return self.folder / "demo" / "notes.db"

    def write_foreign_modules(self) -> None:
        self.folder.mkdir(parents=True)
        for name in {*sys.stdlib_module_names, *packages_distributions()}:
            if name.isidentifier():
                (self.folder / f"{name}.py").write_text(FOREIGN_MODULE)

    def first_run(self) -> None:
        """Index the sample notes. The dictionary of words takes seconds, so it is there."""
        self.write_foreign_modules()
        give_dictionary(self.cache)
        run = [DATASETTE, "bear-demo", "--no-serve", "--directory", "demo"]
        if before := cut_off():
            run = [*before, "sh", "-c", f'"$0" "$@" && cat {" ".join(COUNTS)} >../counts.txt', *run]
        done = subprocess.run(
            run, cwd=self.folder, env=self.environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    def environment(self) -> dict[str, str]:
        """Return an environment that has no access to earlier downloads."""
        before = ("HF_", "ORT_", "TRANSFORMERS_", "DATASETTE_BEAR_SEARCH_", "PYTHONSAFEPATH")
        home = self.root / "home"
        return {
            **{name: each for name, each in os.environ.items() if not name.startswith(before)},
            "HOME": str(home),
            "XDG_CACHE_HOME": str(self.cache),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "tests/support/at_start", ROOT))),
            "PYTHONUNBUFFERED": "1",
            "BEAR_TEST_CONNECTIONS": str(self.root / "connections.txt"),
        }

    def connections(self) -> str:
        """Return the attempts of Python processes to reach another machine."""
        path = self.root / "connections.txt"
        return path.read_text() if path.exists() else ""

    def files_of_others(self) -> list[str]:
        """Return the files in the person's folders, apart from those in our own folders."""
        home = self.root / "home"
        files = [path.relative_to(home) for path in home.rglob("*") if path.is_file()]
        return [str(path) for path in files if "datasette-bear-search" not in path.parts]

    def foreign_modules_that_ran(self) -> list[Path]:
        return sorted(self.folder.rglob("*.ran"))


def attempts(*files: str | Path) -> dict[str, int]:
    """Return what Linux counted in a namespace, for native code, too: nobody needs names or UDP."""
    lines = [
        line.split() for file in files or COUNTS for line in Path(file).read_text().splitlines()
    ]
    found = dict(line for line in lines if len(line) == 2)
    tables = [line for line in lines if len(line) > 2]
    for (protocol, *names), (_, *values) in zip(tables[::2], tables[1::2]):
        found |= {protocol + name: value for name, value in zip(names, values)}
    watched = "Ip:OutNoRoutes", "Udp:OutDatagrams", "Ip6OutNoRoutes", "Udp6OutDatagrams"
    return {name: int(found[name]) for name in watched}


@cache
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
