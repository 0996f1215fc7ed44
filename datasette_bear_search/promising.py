"""Which of very many notes are worth ranking by their words: those that have a rare one, or several of the others.

FTS5 tells in a few milliseconds which of a hundred thousand notes have a word, and needs ten times as long for their BM25.
A note that has only one of the common words is not among the first hundred where hundreds of notes have more of them. And
to a word that is in half of the notes or more BM25 gives no weight: only in a title it may mean something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import fts5

# Notes that have one of the words, counted once for each; up to so many are all ranked.
FROM_HITS = 10_000
# Words are rare as long as so many notes have them together. Each of these notes is ranked.
RARE_HITS = 3000
# How many notes are ranked: as few as possible above the first number, if the second doesn't stand against it.
AT_LEAST, AT_MOST = 500, 6000
# The expression grows with the number of words. Those that most notes have say least.
COMMON_WORDS = 6


def promising(having: Mapping[str, int], library_notes: int) -> str | None:
    """The FTS5 expression for the notes that are worth ranking; None if all are that have a word.

    :param having: FTS5 expressions, each for a word, and how many notes have it
    """
    if sum(having.values()) <= FROM_HITS:
        return None
    if min(having.values()) * 2 >= library_notes:
        return f"{{title}} : ({fts5.any_of(having)})"
    rare: list[str] = []
    common = sorted(having, key=lambda word: having[word])
    rare_hits = 0
    while common and rare_hits + having[common[0]] <= RARE_HITS:
        rare_hits += having[common[0]]
        rare.append(common.pop(0))
    common = common[:COMMON_WORDS]
    shares = [min(having[word] / max(library_notes, 1), 1.0) for word in common]
    # How many notes are to be expected that have one of the words, two of them, and so on.
    expected = [rare_hits + share * library_notes for share in _shares_with_at_least(shares)]
    count = next((n for n, notes in enumerate(expected, 1) if notes <= AT_MOST), len(common))
    if expected[count - 1 : count] < [AT_LEAST]:
        count -= 1
    if count < 2:
        return None
    return fts5.any_of([*rare, _with_at_least(count, common)])


def _shares_with_at_least(shares: Sequence[float]) -> list[float]:
    """The share of notes with at least one of the words, two of them … all, if words were independent of each other.

    They aren't: what is written about one thing has more of them, and so there are rather more such notes.
    """
    exactly = [1.0]
    for share in shares:
        exactly = [
            without * (1 - share) + with_one_less * share
            for without, with_one_less in zip([*exactly, 0.0], [0.0, *exactly])
        ]
    return [sum(exactly[count:]) for count in range(1, len(exactly))]


def _with_at_least(count: int, words: Sequence[str]) -> str:
    """The expression for notes that have so many of the words."""
    if count == 1:
        return f"({fts5.any_of(words)})"
    if count == len(words):
        return f"({' AND '.join(words)})"
    first, *others = words
    with_first = f"({first} AND {_with_at_least(count - 1, others)})"
    return f"({with_first} OR {_with_at_least(count, others)})"
