"""A Bear that writes constantly: a program of its own, as Bear is, with Bear's tables.

python -m tests.stress.simulated_bear LIBRARY JOURNAL SECONDS_BETWEEN_WRITES [restarts]

Inserts and changes notes, one per transaction, until its input is closed. Then prints when each
write began, how long it took, and what the library must contain. With "restarts" it sometimes
closes the library, as Bear does when somebody quits it.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

try:
    import pysqlite3 as sqlite3
except ImportError:
    import sqlite3

# Core Data itself waits much longer before a save fails.
BUSY_SECONDS = 5.0

WRITES_BEFORE_RESTART = 40

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Writing:
    """The writes of a simulated Bear."""

    writes: list[
        tuple[float, float]
    ]  # start of each write (time.monotonic()), and how many seconds it took
    failures: list[str]
    expected: dict[str, str]  # note id → the text written last

    def lost(self, library: Path) -> int:
        """Return how many notes don't have the text that was written last."""
        with closing(sqlite3.connect(library)) as db:
            stored = dict(db.execute("select ZUNIQUEIDENTIFIER, ZTEXT from ZSFNOTE"))
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        return sum(stored.get(key) != text for key, text in self.expected.items())


class SimulatedBear:
    """A context manager that runs a writing process."""

    def __init__(
        self, library: Path, journal: str, pause: float = 0.004, *, restarts: bool = False
    ) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.stress.simulated_bear",
            str(library),
            journal,
            str(pause),
        ]
        self._process = subprocess.Popen(
            command + ["restarts"] * restarts,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
        )

    def __enter__(self) -> SimulatedBear:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "writing\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> Writing:
        """Make it close the library; return its writes."""
        answer, _ = self._process.communicate()
        return Writing(**json.loads(answer))


def _write_until_told(library: str, journal: str, pause: float, restarts: bool) -> None:
    db = _open(library, journal)
    writes, failures, expected = [], [], {}
    keys = [
        key
        for (key,) in db.execute("select ZUNIQUEIDENTIFIER from ZSFNOTE order by Z_PK limit 500")
    ]
    print("writing", flush=True)
    number = 0
    while not select.select([sys.stdin], [], [], pause)[0]:
        number += 1
        if restarts and number % WRITES_BEFORE_RESTART == 0:
            db.close()
            time.sleep(pause)
            db = _open(library, journal)
        key = f"WRITTEN-{number}" if number % 5 == 0 else keys[number * 7919 % len(keys)]
        text = f"# Write {number}\n\n" + f"What was written in the write {number}. " * 40
        started = time.monotonic()
        try:
            _save(db, key, text, is_new=number % 5 == 0)
        except sqlite3.Error as error:
            failures.append(f"write {number}: {error}")
            if db.in_transaction:
                db.execute("rollback")
            continue
        writes.append((started, time.monotonic() - started))
        expected[key] = text
    db.close()
    json.dump({"writes": writes, "failures": failures, "expected": expected}, sys.stdout)


def _open(library: str, journal: str) -> sqlite3.Connection:
    db = sqlite3.connect(library, timeout=BUSY_SECONDS, isolation_level=None)
    if db.execute("pragma journal_mode").fetchone()[0] != journal:
        db.execute(f"pragma journal_mode = {journal}")
    return db


def _save(db: sqlite3.Connection, key: str, text: str, *, is_new: bool) -> None:
    date = time.time() - 978_307_200
    db.execute("begin immediate")
    if is_new:
        db.execute(
            """
            insert into ZSFNOTE (
              Z_ENT, Z_OPT, ZUNIQUEIDENTIFIER, ZTITLE, ZTEXT, ZCREATIONDATE, ZMODIFICATIONDATE,
              ZARCHIVED, ZTRASHED, ZENCRYPTED, ZPERMANENTLYDELETED, ZPINNED
            ) values (5, 1, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0)
            """,
            [key, text[2:20], text, date, date],
        )
        db.execute("update Z_PRIMARYKEY set Z_MAX = Z_MAX + 1 where Z_NAME = 'SFNote'")
    else:
        db.execute(
            "update ZSFNOTE set ZTEXT = ?, ZMODIFICATIONDATE = ?, Z_OPT = Z_OPT + 1"
            " where ZUNIQUEIDENTIFIER = ?",
            [text, date, key],
        )
    db.execute("commit")


if __name__ == "__main__":
    _write_until_told(sys.argv[1], sys.argv[2], float(sys.argv[3]), "restarts" in sys.argv[4:])
