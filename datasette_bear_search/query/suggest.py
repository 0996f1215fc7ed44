"""The search box's text at the cursor → completions: operators, their values, tags, folders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from ..notes import counted, fold_tag
from ..sqlite import sqlite3
from ..text.folding import plain
from .dates import SPANS
from .filter_values import read_operator
from .filters import operators
from .lexer import QUOTES, tokenize
from .query import MAX_QUERY_CHARACTERS

MAX_VALUES = 8
# Only a few tags, and as few folders, for a word that isn't the value of an operator, so as not to
# cover the results.
MAX_TAGS_AND_FOLDERS = 2

# Too many names begin with a single letter, and "is" and "in" are more often ordinary words.
SHORTEST_WORD = 2

# A filter's values, each with the number of notes that have it (None if they weren't counted).
Values = Iterable[tuple[str, int | None]]


@dataclass(frozen=True)
class Suggestion:
    kind: str  # "operator"; for a value, the name of its operator
    label: str  # for people
    detail: str = ""  # how many notes have it, or what an operator takes
    insert: str = ""  # what replaces the typed text


@dataclass(frozen=True)
class Suggestions:
    """Replacements for the text from ``start`` to before ``end``, best first."""

    start: int
    end: int
    found: tuple[Suggestion, ...] = ()


@dataclass(frozen=True)
class WordAtCursor:
    """The word, or the value of an operator, that is being typed at the cursor."""

    value: str
    start: int  # in the text, after a minus
    end: int
    name: str = ""  # the operator's
    is_hash: bool = False  # a tag typed as #tag


def suggest(connection: sqlite3.Connection, text: str, cursor: int) -> Suggestions:
    """Return what completes the text at the cursor.

    :param cursor: the number of characters before it
    """
    typed = typed_at(text, cursor) if len(text) <= MAX_QUERY_CHARACTERS else None
    if typed is None:
        return Suggestions(cursor, cursor)
    if typed.name:
        values = value_completions(connection, typed)
        found = tuple(islice(_written(typed, values, text[typed.end :]), MAX_VALUES))
        if any(each.label.casefold() == typed.value.casefold() for each in found):
            found = ()  # the value is complete
    else:
        found = (*_operators(typed.value.lower()), *_places(connection, typed, text[typed.end :]))
    return Suggestions(typed.start, typed.end, found)


def typed_at(text: str, cursor: int) -> WordAtCursor | None:
    """Return what is being typed; None in a phrase or inside a word."""
    before = re.sub(r"\s", " ", text[:cursor]).translate(QUOTES)
    # Add the closing quotation mark that hasn't been typed yet.
    closed = before + '"' * (before.count('"') % 2)
    tokens = tokenize(closed)
    if not tokens or tokens[-1].end < len(before):
        return WordAtCursor("", cursor, cursor)
    start = tokens[-1].start
    start += before.startswith("-", start)
    typed, rest = before[start:], text[cursor:]
    rest_of_word = 1 if rest.startswith('"') else len(re.split(r'[\s()"]', rest, maxsplit=1)[0])
    end = cursor + rest_of_word
    if typed.startswith("#"):
        return WordAtCursor(typed[1:], start, end, "tag", is_hash=True)
    name, colon, value = typed.partition(":")
    if colon and name.lower() in operators():
        return WordAtCursor(value.removeprefix('"'), start, end, name.lower())
    if tokens[-1].kind != "word" or rest_of_word:
        return None
    return WordAtCursor(typed, start, cursor)


def _operators(beginning: str) -> list[Suggestion]:
    """Return the operators whose names begin like this; all of them if nothing is typed."""
    return [
        Suggestion("operator", f"{name}:", detail=row.takes, insert=f"{name}:")
        for name, row in operators().items()
        if not beginning
        or (name.startswith(beginning) and len(name) > SHORTEST_WORD <= len(beginning))
    ]


def _places(
    connection: sqlite3.Connection, typed: WordAtCursor, following: str
) -> Iterator[Suggestion]:
    if len(typed.value) <= SHORTEST_WORD:
        return
    begins = re.compile(rf"(?:.*/)?{re.escape(typed.value)}", re.IGNORECASE)
    for name, label in (("tag", "#{}"), ("path", "{}/")):
        named = replace(typed, name=name)
        values = (value for value in value_completions(connection, named) if begins.match(value[0]))
        for each in islice(_written(named, values, following), MAX_TAGS_AND_FOLDERS):
            yield replace(each, label=label.format(each.label))


def value_completions(connection: sqlite3.Connection, typed: WordAtCursor) -> Values:
    """Return the values that complete the typed one, and how many notes have each."""
    if typed.name == "tag":
        return _tags(connection, typed.value)
    row = operators()[typed.name]
    if row.kind == "date":
        return _dates(connection, typed)
    values: Values = [(choice, None) for choice in row.choices]
    if row.completions:
        values = connection.execute(row.completions)
    # Any word of a title may begin like this.
    beginning = f" {plain(typed.value)}"
    return [(value, notes) for value, notes in values if beginning in f" {plain(value)}"]


def _tags(connection: sqlite3.Connection, typed: str) -> Values:
    """Return tags that begin like this, then those with such a part, then those that contain it."""
    folded = fold_tag(typed)
    if typed.endswith("/"):
        folded += "/"  # only nested tags
    rows = connection.execute(
        f"""
        select
          min(name),
          instr(folded, :typed) = 1 as begins,
          instr('/' || folded, '/' || :typed) > 0 as has_part
        from tags
        where instr(folded, :typed)
          and (has_part or length(:typed) > 2)
        group by folded
        order by
          begins desc,
          has_part desc,
          -- Exact enough for the order: most notes have the tags above theirs, too.
          (select count(*) from note_tags where tag_id = tags.id) desc,
          folded
        -- More than are shown, because not every name can be typed.
        limit {2 * MAX_VALUES}
        """,
        {"typed": folded},
    )
    return ((name, _note_count(connection, "tag", name)) for name, *_ in rows.fetchall())


def _note_count(connection: sqlite3.Connection, name: str, value: str) -> int:
    conditions, parameters = read_operator(name, value).conditions()
    sql = f"select count(*) from notes where {' and '.join([*conditions, 'copy_of is null'])}"
    return int(connection.execute(sql, parameters).fetchone()[0])


def _dates(connection: sqlite3.Connection, typed: WordAtCursor) -> Iterator[tuple[str, int]]:
    """Yield spans, years and, once a year is typed, its months, if they have notes."""
    # Complete only the date after "2024.." or ">=".
    beginning = re.sub(r"^(.*\.\.|[<>]=?)", "", typed.value)
    lead = typed.value[: len(typed.value) - len(beginning)]
    beginning = beginning.lower().replace(" ", "-")
    column = operators()[typed.name].name
    first, last = connection.execute(
        f"select (select min({column}) from notes), (select max({column}) from notes)"
    ).fetchone()
    years = []
    if first is not None:
        years = [f"{year:04}" for year in range(int(last[:4]), int(first[:4]) - 1, -1)]
    dates = [*years, *SPANS] if lead else [*SPANS, *years]
    if len(beginning) >= len("2024"):
        dates.extend(f"{year}-{month:02}" for year in years for month in range(12, 0, -1))
    for date in dates:
        if not date.startswith(beginning):
            continue
        with suppress(ValueError):  # a range that would end before it begins
            if notes := _note_count(connection, typed.name, lead + date):
                yield lead + date, notes


def _written(typed: WordAtCursor, values: Values, following: str) -> Iterator[Suggestion]:
    """Yield the values in the form in which they are typed. Skip those that can't be typed."""
    space = "" if following.startswith((" ", ")")) else " "
    for value, notes in values:
        forms = [f"{typed.name}:{value}", f'{typed.name}:"{value}"']
        if typed.is_hash:
            forms = [f"#{value}", f"#{value}#", *forms]
        # Choose the shortest form that parses as this value. Stay with #tag if it began so.
        for form in forms:
            tokens = tokenize(form)
            if [(token.name, token.text) for token in tokens] == [(typed.name, value)]:
                detail = "" if notes is None else counted(notes, "note")
                yield Suggestion(typed.name, value, detail, form + space)
                break
