"""How well spelling correction leaves correct words alone and fixes mistyped ones.

    python -m benchmarks.quality.corrections --sidecar INDEX.db WORDS.txt…

Each file has correct words of a language, one per line, which must not be replaced. Mistyped words
are made from the library's words with one typical typo each: letters swapped, dropped, doubled, or
replaced by a neighbor on the keyboard.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

from datasette_bear_search.query.query import parse
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.planning import spelling
from datasette_bear_search.search.planning.planner import plan

ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
TYPOS = 200
SHORTEST = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sidecar", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("words", nargs="+", type=Path)
    arguments = parser.parse_args()
    with open_sidecar(arguments.sidecar) as connection:
        for path in arguments.words:
            words = path.read_text().split()
            plans = [plan(connection, parse(word)) for word in words]
            replaced = [pair for planned in plans for pair in planned.corrections]
            offered = sum(bool(planned.offers) for planned in plans)
            print(f"{path.stem}: {len(words)} words, {len(replaced)} replaced, {offered} offered")
            for typed, searched in replaced:
                print(f"  {typed} → {searched}")
        known = [
            word
            for length, words in spelling._words_beginning_with(connection, "").items()
            for word in words
            if length >= SHORTEST and word.isascii() and word.isalpha()
        ]
        chance, outcomes = random.Random(arguments.seed), Counter()
        for number in range(TYPOS):
            kind = ("swap", "drop", "double", "neighbor")[number % 4]
            word = typo = chance.choice(known)
            while typo == word:
                typo = slip(word, kind, chance)
            outcome = judged(plan(connection, parse(typo)), word)
            outcomes[outcome] += 1
            if outcome not in ("corrected", "offered"):
                print(f"  {outcome}: {typo} ({word})")
        print(f"{TYPOS} typos:", dict(outcomes))


def slip(word: str, kind: str, chance: random.Random) -> str:
    """Return the word with a typo."""
    place = chance.randrange(len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    if kind == "swap":
        return before + after[0] + letter + after[1:]
    if kind == "double":
        return before + letter + letter + after
    if kind == "drop":
        return before + after
    row = next(row for row in ROWS if letter in row)
    beside = row.index(letter) + chance.choice((-1, 1))
    return before + row[max(0, min(beside, len(row) - 1))] + after


def judged(planned, word: str) -> str:
    """Return what became of a mistyped word."""
    if word in (searched for _, searched in planned.corrections):
        return "corrected"
    if any(word in offer.split() for offer in planned.offers):
        return "offered"
    if planned.corrections:
        return "corrected to another"
    if planned.offers:
        return "another offered"
    return "completed" if planned.terms.prefixes else "left as it is"


if __name__ == "__main__":
    main()
