"""What could be searched for instead: other texts, or fewer notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from ...notes import is_within
from ...query import fts5
from ...query.dates import span_text
from ...query.filter_values import read_operator
from ...query.filters import Filters
from ...query.inferred_times import Time
from ...query.query import Query, repaired, with_value
from ...sqlite import read_value, sqlite3
from . import word_forms

# A text with more unknown words than this, and more than known words, isn't mistyped but in another
# language.
MAX_DOUBTFUL = 2


class Narrower(NamedTuple):
    """A search in fewer notes."""

    label: str  # which notes: "last weekend (21–22 Nov 2026)"
    text: str


def notes_of_its_time(connection: sqlite3.Connection, query: Query) -> Narrower | None:
    """Return the search in notes of a time that the query mentions, if there are any."""
    time, filters = query.time, query.filters
    if not time or query.terms.boolean or filters.moments:
        return None
    if any(name.endswith(("_after", "_before")) for name in filters.values):
        return None
    if not has_any(connection, filters & time.filters):
        return None
    return Narrower(
        time.label, f"{query.text_without(time)} date:{span_text(time.since, time.until)}".strip()
    )


def nothing_from(time: Time) -> str:
    return f"No note from {time.label} fits, so notes of all times were searched."


# --- Alternatives


def find_alternatives(
    connection: sqlite3.Connection, query: Query, is_known: Callable[[str], bool]
) -> tuple[list[str], list[str]]:
    """Return other texts that may be meant, and notices about values that no note has.

    :param is_known: whether notes have a word of the query
    """
    offers, notices = [], []
    if (text := repaired(query)) != query.text:
        offers.append(text)
    elif re.search(r"(?i)(^|\s)(sort|order):\w", query.text):
        notices.append("To sort, use Options › Sort by, or sort=.")
    for identifier in query.terms.identifiers:
        if identifier in text and not contains(connection, identifier):
            notices.append(f"No note contains “{identifier}”.")
        if date := re.fullmatch(r"(\d{4})[-/.](\d\d)[-/.](\d\d)", identifier):
            day = "-".join(date.groups())  # perhaps a date of modification
            with suppress(ValueError):
                if has_any(connection, read_operator("modified", day)):
                    offers.append(query.text.replace(identifier, f"modified:{day}"))
    pairs = [pair for pair in pairwise(query.terms.words) if not all(map(is_known, pair))]
    joined = {"".join(pair).lower(): " ".join(pair) for pair in pairs}
    for word in word_forms.written(connection, joined) if joined else ():  # data base
        if joined[word] in query.text:
            offers.append(query.text.replace(joined[word], word))
    for name, sql in VALUES_SQL.items():
        wanted = query.filters.values.get(name, ())
        known = [known for (known,) in connection.execute(sql)] if wanted else []
        for value in wanted:
            if any(is_within(other, value) for other in known):
                continue
            near = _near_value(value, known)
            if near and (text := with_value(query.text, name, value, near)) != query.text:
                offers.append(text)
                near = None
            elif f"#{value}" in query.text and has_any(
                connection, Filters(required=fts5.quoted(value))
            ):
                offers.append(query.text.replace(f"#{value}", value))  # of a program: #include
            asked = f" Did you mean “{near}”?" if near else ""
            notices.append(f"No note has the {name} “{value}”.{asked}")
    dated = {"created_after", "created_before"} & query.filters.values.keys()
    if dated and read_value(connection, "select count(created) from notes") == 0:
        notices.append("No note says when it was created.")
        if (text := query.text.replace("created:", "modified:")) != query.text:
            offers.append(text)
    return offers, notices


VALUES_SQL = {"tag": "select distinct folded from tags", "source": "select name from sources"}


def contains(connection: sqlite3.Connection, identifier: str) -> bool:
    """Return whether a note has an identifier; C++ with its signs, which to FTS5 is c."""
    texts = word_forms.as_written(connection, identifier)
    forms = fts5.any_of(map(fts5.quoted, word_forms.forms(connection, (), texts)))
    verbatim = (Filters(excluded=(identifier,)),) if fts5.is_verbatim(identifier) else ()
    return has_any(connection, Filters(required=forms, without=verbatim))


def has_any(connection: sqlite3.Connection, filters: Filters) -> bool:
    conditions, values = filters.conditions()
    sql = f"select exists (select 1 from notes where {' and '.join(conditions)})"
    return bool(read_value(connection, sql, values))


def _near_value(value: str, known: Sequence[str]) -> str | None:
    """Return the nearest known value, also by its last part: projects for work/projects."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    # Notices put it into quotation marks, which it must not be able to end.
    known = [other for other in known if "“" not in other and "”" not in other]
    folded = value.lower().strip("/")
    parts = [other.rsplit("/", 1)[-1] for other in known]
    begun = [other.startswith(folded) or part == folded for other, part in zip(known, parts)]
    if folded and True in begun:
        return known[begun.index(True)]
    found = (
        process.extractOne(folded, each, scorer=OSA.distance, score_cutoff=1 + (len(folded) > 5))
        for each in (known, parts)
    )
    return next((known[near[2]] for near in found if near), None)
