"""SIGKILL at random moments of indexing: python -m tests.stress.kill [--kills 200] [--seed 1]

After each kill, the index must open, be sound and return whole notes, and the next run must make it
the same as a clean build, without a byte of text that left the notes. Runs of every kind are
killed, some several times in a row.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.stress.commands import Commands, Ended, is_hot
from tests.stress.comparing import content, differences, faults, opened
from tests.stress.models import OTHER, TINY
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import bear_library, day

NOTES = 120

WORDS = """
roof garden apple saw soup lentil winter paint ladder tax
invoice violin glacier orchard kettle bicycle letter
harbor candle mortgage walnut engine passport thunder basil curtain lantern meadow
""".split()

QUERIES = ("garden", "roof OR soup", '"apple saw"', "note5", "gla*", "café", "secret", "gone")


# In all notes that are changed, deleted, encrypted or trashed later.
LEFT = "zyxwvquorl"

_MATCHING = "notes_fts where notes_fts match 'apple saw'"


@dataclass(frozen=True)
class Scenario:
    """A kind of run: its initial index and its arguments."""

    name: str
    start: str | None  # the initial index: "old" or "new"; None: no index
    arguments: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


SCENARIOS = (
    Scenario("fresh", None),
    Scenario("incremental", "old"),
    Scenario("rebuild", "old", ("--rebuild",)),
    Scenario("other model", "old", ("--model", OTHER, "--yes"), ("--model", OTHER, "--yes")),
    Scenario("other model, then without it", "new", ("--model", OTHER, "--yes")),
)


@dataclass(frozen=True)
class Moment:
    """When a run is killed."""

    seconds: float
    in_commit: bool  # in the middle of the first commit after that

    def __str__(self) -> str:
        return f"{self.seconds:.4f} s" + (" (in the next commit)" if self.in_commit else "")


@dataclass
class Outcome:
    """The results of killing runs of one scenario."""

    duration: float = 0.0
    kills: int = 0
    too_late: int = 0  # the run had ended before
    hot: int = 0  # a commit was interrupted, and the next one who opens the index rolls it back
    failures: list[str] = field(default_factory=list)


class Place:
    """A Bear library in two versions, a folder of notes, and an index whose runs are killed."""

    def __init__(self, folder: Path, commands: Commands, notes: int = NOTES) -> None:
        self.folder, self.commands = folder, commands
        self.library = folder / "bear" / "database.sqlite"
        self.vault = folder / "vault"
        self.sidecar = folder / "index" / "notes.db"
        for place in (self.library.parent, self.vault, self.sidecar.parent, folder / "kept"):
            place.mkdir(parents=True)
        for number in range(8):
            text = f"# File {number}\n\nA {WORDS[number]} in a file, and a {WORDS[number + 1]}."
            (self.vault / f"file{number}.md").write_text(text)
        for version, changed in (("old", False), ("new", True)):
            bear_library(folder / "kept" / f"{version}.sqlite", library_notes(notes, changed))
        self._keys = "select source, key, title, body from notes"
        self.expected: dict[str, dict[str, list]] = {}
        self.whole: set[tuple] = set()
        self.titles_and_tags: set[tuple] = set()
        for version, model in (("old", TINY), ("new", OTHER), ("new", TINY)):
            self._build(version, model)

    def set_up(self, scenario: Scenario) -> None:
        """Restore the state before a run."""
        self.clear()
        self._is_judged = scenario.start is not None
        if scenario.start:
            shutil.copyfile(self.folder / "kept" / f"{scenario.start}.db", self.sidecar)
        self.use("new")

    def run(self, scenario: Scenario, moment: Moment | None = None) -> Ended:
        """Start the run that is killed."""
        return self._index(scenario, scenario.arguments, moment)

    def run_again(self, scenario: Scenario, moment: Moment | None = None) -> Ended:
        """Start the run that follows a kill."""
        return self._index(scenario, scenario.again, moment)

    def index(self, arguments: Sequence[str | Path], moment: Moment | None = None) -> Ended:
        """Run bear-index, and kill it at a moment if one is given."""
        return self.command(
            "bear-index",
            *arguments,
            kill_after=moment.seconds if moment else None,
            journal=self.journal if moment and moment.in_commit else None,
        )

    def command(self, *words: str | Path | None, **options: Any) -> Ended:
        """Run any command on the index, without the words that are None."""
        command = [word for word in words if word is not None]
        return self.commands.run(*command, "--sidecar", self.sidecar, **options)

    @property
    def journal(self) -> Path:
        return self.sidecar.with_name("notes.db-journal")

    def problems_after_kill(self) -> list[str]:
        """Return messages about problems with what a kill left."""
        problems = []
        answers = [
            self.commands.run(
                "bear-search", "apple saw", "--mode", mode, "--json", "--sidecar", self.sidecar
            )
            for mode in ("keyword", "semantic")
        ]
        # Count only now, because opening the file repairs it.
        count = self._count("notes")
        for ended, expected in zip(answers, (self._count(_MATCHING), self._count("_vectors"))):
            if expected and ended.status == 0:
                continue
            # The status 1 may mean that there are no results.
            is_honest = '"total": 0' in ended.output or "datasette bear-index" in ended.output
            if expected or not is_honest or not ended.is_clear:
                problems.append(f"searching {count} notes ended with {ended}")
        if self.sidecar.exists():
            problems += faults(self.sidecar)
            if count:
                with opened(self.sidecar) as db:
                    broken = set(db.execute(self._keys)) - self.whole
                if broken:
                    problems.append(f"half a note: {broken.pop()}")
        return problems

    def problems_at_the_end(self) -> list[str]:
        """Return messages about differences to an index of the same model built without kills."""
        with opened(self.sidecar) as db:
            [model] = db.execute("select value from meta where key = 'model'").fetchone()
        found = differences(self.sidecar, self.expected[model], QUERIES) + faults(self.sidecar)
        found += [
            f"{file.name} has text that left the notes"
            for file in self.sidecar.parent.iterdir()
            if LEFT.encode() in file.read_bytes()
        ]
        if not self._is_judged:
            found = [line for line in found if not line.startswith("judgments:")]
        return [f"after the next run: {line}" for line in found]

    def _build(self, version: str, model: str) -> None:
        """Build an index without kills, as an initial state and for comparison."""
        self.clear()
        self.use(version)
        for source in (self.library, self.vault):
            ended = self.commands.run(
                "bear-index", source, "--sidecar", self.sidecar, "--model", model
            )
            assert ended.status == 0, ended.output
        with opened(self.sidecar) as db, db:
            self.whole.update(db.execute(self._keys))
            self.titles_and_tags.update(
                (title, frozenset(json.loads(tags)))
                for title, tags in db.execute("select title, tags from notes")
            )
            db.execute(
                "insert into judgments (query, source, key, grade) values ('roof', 'bear', 'N3', 1)"
            )
        if model == TINY:
            shutil.copyfile(self.sidecar, self.folder / "kept" / f"{version}.db")
        if version == "new":
            self.expected[model] = content(self.sidecar, QUERIES)

    def _index(self, scenario: Scenario, arguments: Sequence[str], moment: Moment | None) -> Ended:
        sources = (self.library, self.vault) if scenario.start is None else ()
        return self.index((*arguments, *sources), moment)

    def clear(self) -> None:
        for file in self.sidecar.parent.iterdir():
            file.unlink()

    def use(self, version: str) -> None:
        """Switch Bear's library to this version."""
        # In place and with a fixed time, so that a version's source state is always the same.
        self.library.write_bytes((self.folder / "kept" / f"{version}.sqlite").read_bytes())
        os.utime(self.library, (1_700_000_000, 1_700_000_000 + len(version) * (version == "new")))

    def _count(self, table: str) -> int:
        """Return the number of rows in a table; 0 if there is no index."""
        if not self.sidecar.exists():
            return 0
        with opened(self.sidecar) as db:
            if not db.execute("select 1 from sqlite_master where name = 'notes'").fetchone():
                return 0
            return db.execute(f"select count(*) from {table}").fetchone()[0]


def library_notes(count: int, changed: bool) -> list[BearNote]:
    """Return the notes of a library, or of the same one after weeks of changes."""
    notes = []
    for number in range(count + (count // 5 if changed else 0)):
        edited = changed and number % 3 == 0
        if changed and number % 11 == 0:
            continue
        text = _text(number, "edited" if edited else "gone")
        leaves = number % 3 == 0 or number % 11 == 0 or number % 13 == 1 or number % 17 == 2
        if leaves and not changed:
            text += f"\n\nThe {LEFT} is only here."
        other = (number * 7 + 3) % count
        files = (
            (BearFile(f"{number}.png", ocr=f"recognized café {number}"),) if number % 9 == 0 else ()
        )
        tags = (f"topic/{number % 7}", "moved" if changed and number % 5 == 0 else "kept")
        notes.append(
            BearNote(
                f"# Note{number}\n\n{text}\n\nSee [[Note{other}]].",
                id=f"N{number}",
                tags=tags,
                created=day(1 + number % 28),
                modified=day(2 + number % 27) if edited else day(1 + number % 28),
                pinned=changed and number % 8 == 0,
                encrypted=changed and number % 13 == 1,
                trashed=changed and number % 17 == 2,
                files=files,
            )
        )
    return notes


def _text(number: int, what: str) -> str:
    rng = random.Random(f"{number} {what}")
    paragraphs = [
        f"## Part {part}\n\n{what if part == 1 else 'plain'} note{number}"
        f" {' '.join(rng.choices(WORDS, k=70))}."
        for part in range(1 + number % 4)
    ]
    return "\n\n".join(paragraphs)


def rounds(place: Place, kills: int, seed: int) -> dict[str, Outcome]:
    """Kill so many runs, with the scenarios taking turns."""
    rng = random.Random(seed)
    outcomes = {scenario.name: Outcome() for scenario in SCENARIOS}
    for scenario in SCENARIOS:
        place.set_up(scenario)
        ended = place.run(scenario)
        assert ended.status == 0, ended.output
        outcomes[scenario.name].duration = ended.seconds
    turns = itertools.cycle(SCENARIOS)
    while kills > 0:
        scenario = next(turns)
        kills -= _one_round(place, scenario, rng, outcomes[scenario.name])
    return outcomes


def _one_round(place: Place, scenario: Scenario, rng: random.Random, outcome: Outcome) -> int:
    """Kill one or more runs in a row and check each time, then let one finish; return the kills."""
    place.set_up(scenario)
    run, killed, history = place.run, 0, []
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        moment = Moment(rng.uniform(0, outcome.duration), rng.random() < 0.4)
        ended = run(scenario, moment)
        history.append(str(moment))
        if ended.status != -9:
            outcome.too_late += 1
            if not killed:  # the machine has become less busy
                outcome.duration = min(outcome.duration, ended.seconds)
            break
        killed += 1
        outcome.kills += 1
        outcome.hot += is_hot(place.journal)
        _note(outcome, scenario, history, place.problems_after_kill(), place)
        run = place.run_again
    ended = place.run_again(scenario)
    problems = place.problems_at_the_end() if ended.status == 0 else [f"the next run: {ended}"]
    _note(outcome, scenario, history, problems, place)
    return killed


def _note(
    outcome: Outcome, scenario: Scenario, history: list[str], problems: list[str], place: Place
) -> None:
    if problems:
        where = f"{scenario.name}, killed after {', '.join(history)}"
        outcome.failures.append(f"{where}: {'; '.join(problems)}")
        print(outcome.failures[-1], file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--notes", type=int, default=NOTES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Commands() as commands:
        place = Place(Path(folder), commands, arguments.notes)
        outcomes = rounds(place, arguments.kills, arguments.seed)
    print(f"Seed {arguments.seed}, {arguments.notes} notes\n")
    print("| run | seconds | killed | in a commit | had ended | failures |")
    print("|---|---|---|---|---|---|")
    for name, outcome in outcomes.items():
        print(
            f"| {name} | {outcome.duration:.2f} | {outcome.kills} | {outcome.hot} | "
            f"{outcome.too_late} | {len(outcome.failures)} |"
        )
    failures = [line for outcome in outcomes.values() for line in outcome.failures]
    print("", *failures, sep="\n")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
