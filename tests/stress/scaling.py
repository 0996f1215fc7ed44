"""No text may take a parser too long: python -m tests.stress.scaling [PARSER …]

Gives every hostile text of 1 MB to every parser. The exit status is 1 if one takes longer than
SECONDS, or if at two doublings of the length in a row the time grows more than 2.5-fold.
"""

from __future__ import annotations

import argparse
import gc
import logging
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from tests.support.parsers import PARSERS
from tests.support.pathological_markdown import hostile_text, pathological

LARGEST = 2**20
MAX_RATIO, REPEATS = 2.5, 3
# CPU seconds. Less than SHORT is noise; more than SECONDS is too long for a text of 1 MB.
SHORT, SECONDS = 0.2, 3.0


class TooSlow(BaseException):  # not an Exception, which a parser would blame on a damaged text
    pass


def _give_up(*_: object) -> None:
    raise TooSlow


def seconds(parser: Callable[[str], Any], text: str, most: float = 20.0) -> float:
    """Return the CPU time; infinity if it takes more than ``most``."""
    signal.signal(signal.SIGVTALRM, _give_up)
    gc.collect()
    gc.disable()  # it would also visit what other parsers left
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    started = time.process_time()
    try:
        parser(text)
    except TooSlow:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
    return time.process_time() - started


def scaling(parser: Callable[[str], Any], shape: str, length: int) -> tuple[float, float]:
    """Return the time for a text, and its ratio to the time for a text half as long."""
    seconds(parser, hostile_text(shape, length // 64))  # does what is only done the first time
    taken = seconds(parser, hostile_text(shape, length))
    if not SHORT < taken <= SECONDS:
        return taken, 0.0
    ratio = doubling(parser, shape, length, taken)
    if ratio > MAX_RATIO:
        # A single step, where a text no longer fits into a cache, isn't growth: growth continues.
        around = doubling(parser, shape, length // 2), doubling(parser, shape, 2 * length)
        ratio = min(ratio, max(around))
    return taken, ratio


def doubling(
    parser: Callable[[str], Any], shape: str, length: int, taken: float | None = None
) -> float:
    """Return the ratio of the times for a text, if known ``taken``, and for one half as long."""
    whole, half = hostile_text(shape, length), hostile_text(shape, length // 2)
    taken, least = taken or seconds(parser, whole), seconds(parser, half)
    for _ in range(REPEATS):  # another program may have been busy
        if taken / least <= MAX_RATIO:
            break
        least = min(least, seconds(parser, half))
        taken = min(taken, seconds(parser, whole))
    return taken / least


def main(arguments: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("parsers", nargs="*", metavar="PARSER", help=", ".join(PARSERS))
    options.add_argument("--shape", action="append", help="only these texts")
    options.add_argument("--largest", type=int, default=LARGEST, help="characters")
    given = options.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    faults = 0
    for name in given.parsers or PARSERS:
        parser, slowest, worst = PARSERS[name], (0.0, ""), (0.0, "")
        started = time.process_time()
        for shape in given.shape or pathological(100):
            try:
                taken, ratio = scaling(parser, shape, given.largest)
            except Exception as error:  # every text must be readable
                faults += 1
                print(f"FAULT {name} / {shape}: {type(error).__name__}: {error}"[:300], flush=True)
                continue
            if ratio > MAX_RATIO or taken > SECONDS:
                faults += 1
                print(f"FAULT {name} / {shape}: {taken:.1f} s, x{ratio:.1f}", flush=True)
            slowest, worst = max(slowest, (taken, shape)), max(worst, (ratio, shape))
        print(
            f"| {name} | {slowest[0]:.2f} s | {slowest[1]} | {worst[0]:.1f} | {worst[1]} |"
            f" {time.process_time() - started:.0f} s |",
            flush=True,
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
