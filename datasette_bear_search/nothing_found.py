"""A search that found nothing: what was tried, and what else can be."""

from __future__ import annotations

from collections.abc import Sequence

from . import sidecar, vocabulary
from .addresses import OF_ONE_LIST, Addresses, Chip
from .cards import Link
from .query import Query
from .search import Results

# More words than that aren't mistyped, they are another language.
WORDS_AT_MOST = 5


def spellings(connection: sidecar.sqlite3.Connection, query: Query) -> dict[str, str]:
    """The words that no note has → words of the library that may be meant."""
    found = {}
    for word in query.words[:WORDS_AT_MOST]:
        known = vocabulary.terms(connection, [word])
        if not known or any(term.notes for term in known):
            continue
        if other := vocabulary.corrected(connection, word):
            found[word] = other
    return found


def tried(results: Results, chips: Sequence[Chip]) -> list[str]:
    """What was looked for, a line each."""
    query = results.query
    lines = []
    if query.substrings:
        wanted = ", ".join(f"“{text}”" for text in query.substrings)
        if "keyword" in results.legs:
            lines.append(f"notes with {wanted}, also as part of a longer word")
        elif "like" in results.legs:
            lines.append(f"notes that contain {wanted} as it stands")
        if results.plan.corrections:
            typed = ", ".join(f"“{word}”" for word, _ in results.plan.corrections)
            lines.append(f"other spellings of {typed}")
        if "semantic" in results.legs:
            lines.append("notes that are close in meaning")
    if query.excluded:
        lines.append("without " + ", ".join(f"“{text}”" for text in query.excluded))
    if chips:
        lines.append("only notes that are: " + ", ".join(chip.label for chip in chips))
    return lines


def suggestions(
    addresses: Addresses, results: Results, filters: Sequence[Chip], others: dict[str, str]
) -> list[Link]:
    """What else to try.

    :param filters: what narrows the search beside its text
    :param others: words that may be meant, as :func:`spellings` gives them
    """
    query = results.query
    links = []
    for word, other in others.items():
        text = query.text.replace(word, other)
        links.append(
            Link(f"Search for {other}", addresses.search(drop=(*OF_ONE_LIST, "correct"), q=text))
        )
    if filters:
        links.append(Link("Search without filters", addresses.unfiltered()))
    if query.substrings and query.mode in ("keyword", "like"):
        links.append(Link("Search by meaning, too", addresses.search(drop=("_next", "mode"))))
    links.append(
        Link(
            "See all notes, the newest first",
            addresses.search(drop=tuple(addresses.arguments), sort="newest"),
        )
    )
    return links
