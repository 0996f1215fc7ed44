"""The notes that a search finds, without ranking them: what is counted and charted.

A note is found if it has one of the words, if its title is the query, or if it is close in meaning. That depends on the
note alone: filters take notes away, they add none. These are the very notes for which the statement that ranks says
``is_found``; it lists the nearest in meaning, too, however far they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from .sql import (
    ANYWHERE_MATCHES,
    EXACT,
    EXACT_TITLE,
    FTS_MATCHES,
    IS_CLOSE,
    LIKE,
    SEMANTIC,
    allowed_part,
    instead_of_words,
    joined,
)


def found_sql(
    legs: Sequence[str],
    conditions: Sequence[str],
    *,
    exact: bool,
    anywhere: bool,
    told: str,
) -> str:
    """A statement about the notes that a search finds, which are in its table ``found``, some more than once.

    The other parameters are those of :func:`statement.statement_sql`.

    :param told: what is said of them: further parts, the last of them a select
    """
    parts = [allowed_part(conditions)] if conditions else []
    if not legs:
        parts.append(FOUND_LISTED)
    else:
        if "keyword" in legs:
            parts.append(WORDS.format(anywhere=ANYWHERE if anywhere else ""))
            parts.append(instead_of_words(anywhere))
        elif "like" in legs:
            parts.append(LIKE)
        if "semantic" in legs:
            parts.append(SEMANTIC)
        parts.append(EXACT if exact else EXACT_TITLE)
        ways = [WAYS[leg] for leg in legs]
        parts.append(FOUND.format(ways="".join(f"{way}\n  union all" for way in ways)))
    return joined([*parts, told], conditions)


WORDS = f"""
-- words: every note that has one of them
word_hits as materialized (
  select rowid as note_id{FTS_MATCHES}{{anywhere}}
)"""

ANYWHERE = f"""
    union all
    select notes.id{ANYWHERE_MATCHES}"""

# What each leg finds.
WAYS = {
    "keyword": """
  select note_id from word_hits
  union all
  select note_id from substring_hits""",
    "like": """
  select note_id from substring_hits""",
    "semantic": f"""
  select note_id from semantic where {IS_CLOSE}""",
}

FOUND = """
-- some of them more than once: to sort them out here would take longer than all of what is counted of them
found as materialized ({ways}
  select note_id from exact
)"""

FOUND_LISTED = """
-- nothing was asked for
found as materialized (
  select id as note_id
  from notes
  where id in (select id from allowed) -- filtered
)"""
