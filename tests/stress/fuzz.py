"""Any input: python -m tests.stress.fuzz TARGET --executions 10000 --seed 1

TARGET is a target in fuzz_targets.py, or "all". An exception, or a response with a status of 500 or
more, is a fault: its traceback is printed with the number of the execution, which --only can repeat
alone. The exit status is 1 if there are faults.

With --guided, atheris (pip install atheris) looks for inputs that reach new code. This works for
targets that use no files.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

LONGEST = 600  # bytes of choices for one input

# Faults after which a target is abandoned.
FAULTS = 10


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--executions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this execution alone")
    parser.add_argument("--guided", action="store_true", help="with atheris, one target")
    options = parser.parse_args(arguments)
    if options.guided:
        return _guided(options.target, options.executions, options.seed)
    from tests.stress.fuzz_targets import TARGETS

    names = list(TARGETS) if options.target == "all" else [options.target]
    faults = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            run = TARGETS[name].prepare(Path(folder))
            numbers = range(options.executions) if options.only is None else [options.only]
            faults += _run(name, run, numbers, options.seed)
    return 1 if faults else 0


def _run(name: str, run: Callable, numbers: range | list[int], seed: int) -> int:
    """Run these executions; return how many raised an exception."""
    from tests.stress.choices import Choices

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")  # about zip files that are invalid on purpose
    started, faults, slowest, done = time.monotonic(), 0, (0.0, 0), 0
    for number in numbers:
        data = random.Random(f"{name}/{seed}/{number}")
        choices = Choices(data.randbytes(data.randrange(LONGEST)))
        before = time.thread_time()
        try:
            run(choices)
        except Exception:
            faults += 1
            print(f"--- {name}, seed {seed}, execution {number}", flush=True)
            traceback.print_exc(file=sys.stdout)
        done += 1
        slowest = max(slowest, (time.thread_time() - before, number))
        if faults >= FAULTS:
            break
    seconds = time.monotonic() - started
    print(
        f"| {name} | {done:,} | {seed} | {faults} | {seconds:.0f} s |"
        f" slowest {slowest[0]:.2f} s (execution {slowest[1]}) |",
        flush=True,
    )
    return faults


def _guided(name: str, executions: int, seed: int) -> int:
    if importlib.util.find_spec("atheris") is None:
        print("Guided fuzzing needs: pip install atheris")
        return 2
    import atheris

    with atheris.instrument_imports(
        include=["datasette_bear_search", "markdown_it", "mdit_py_plugins"]
    ):
        from tests.stress.fuzz_targets import TARGETS  # fmt: skip
    from tests.stress.choices import Choices

    folder = tempfile.mkdtemp()
    run = TARGETS[name].prepare(Path(folder))
    flags = [sys.argv[0], f"-runs={executions}", f"-seed={seed}", f"-max_len={LONGEST}"]
    atheris.Setup(
        [*flags, "-timeout=60", f"-artifact_prefix={folder}/"], lambda data: run(Choices(data))
    )
    atheris.Fuzz()  # ends this process
    return 0


if __name__ == "__main__":
    sys.exit(main())
