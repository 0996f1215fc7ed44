"""What a query means in this library: which words matter, which are mistyped, and how words and meaning are balanced."""

from __future__ import annotations

from dataclasses import dataclass

from . import sidecar, vocabulary
from .query import Query, literal, relaxed, rewritten

# Closed-class words of English, which say nothing about what a note is about. Leaving them out of the words that are
# searched for gains .007 nDCG@10 on average and half of the time. They are kept where there is nothing else.
STOP_WORDS = frozenset(
    "a about all also am an and any are as at be been being but by can could did do does for from had has have he her "
    "him his how i if in into is it its just me more most my no not of on or our out over s she should so some such t "
    "than that the their them then there these they this to under up us very was we were what when where which who "
    "will with would you your".split()
)

# A word in more than this share of the notes is left out, too: in other languages it does what stop words do in
# English, and it is what makes a search slow. In a small library the share means little.
COMMON_SHARE = 0.5
COMMON_FROM_NOTES = 200

# The share of meaning in the blend; the rest is words. From .7 to .85 all do well; .8 measured best on average.
BALANCE = 0.8


@dataclass(frozen=True)
class Plan:
    """A query as it is run."""

    query: Query
    balance: float  # 0 is words alone, 1 is meaning alone
    corrections: tuple[tuple[str, str], ...] = ()  # what was typed, what was searched for
    notices: tuple[str, ...] = ()


def plan(
    connection: sidecar.sqlite3.Connection,
    query: Query,
    *,
    balance: float | None = None,
    correct: bool = True,
) -> Plan:
    """Fit a query to the library.

    :param balance: the share of meaning; None decides by the query
    :param correct: whether words that no note has may be taken for mistyped ones
    """
    if _is_title(connection, query):
        # A title is searched for as it stands, whatever looks like syntax in it.
        query = literal(query)
    corrections: list[tuple[str, str]] = []
    notices: list[str] = []
    if query.words and not query.is_boolean and query.mode != "like":
        try:
            replacements = _replacements(connection, query, correct)
        except sidecar.sqlite3.DatabaseError:
            replacements = {}  # the word index is broken; the statement will find out, and knows what to do
        corrections = [
            (word, other)
            for word, other in replacements.items()
            if other and not other.endswith("*")
        ]
        if replacements:
            query = rewritten(query, replacements)
    demands = query.is_boolean or query.phrases
    if demands and query.mode != "like" and not _matches(connection, query):
        demanded = "what AND, OR and NOT ask for" if query.is_boolean else "this exact phrase"
        notices.append(f"No note has {demanded}; the words were searched for one by one.")
        query = relaxed(query)
    return Plan(
        query,
        BALANCE if balance is None else balance,
        tuple(corrections),
        tuple(notices),
    )


def _replacements(
    connection: sidecar.sqlite3.Connection, query: Query, correct: bool
) -> dict[str, str | None]:
    """What is searched for instead of some of the words: ``x*`` for the beginning of one, None for nothing."""
    [library_notes] = connection.execute("select count(*) from notes").fetchone()
    replacements: dict[str, str | None] = {}
    rare = bool(query.phrases or query.prefixes or query.identifiers)
    common = []
    for word in query.words:
        found = vocabulary.terms(connection, [word])
        notes = max((term.notes for term in found), default=0)
        if word.lower() in STOP_WORDS or (
            library_notes >= COMMON_FROM_NOTES and notes > COMMON_SHARE * library_notes
        ):
            common.append(word)
        elif notes:
            rare = True
        elif len(found) == 1 and (other := _near_word(connection, word, correct)):
            replacements[word] = other
            rare = True
    # Common words are all there is to go by in "to be or not to be".
    return replacements | dict.fromkeys(common) if rare else replacements


def _near_word(connection: sidecar.sqlite3.Connection, word: str, correct: bool) -> str | None:
    """What a word that no note has may stand for: the beginning of a word, or a word that was mistyped."""
    if vocabulary.completions(connection, word):
        return f"{word}*"
    return vocabulary.corrected(connection, word) if correct else None


def _is_title(connection: sidecar.sqlite3.Connection, query: Query) -> bool:
    [found] = connection.execute(
        "select exists (select 1 from notes where title = ? collate nocase)", [query.text]
    ).fetchone()
    return bool(query.text and found)


def _matches(connection: sidecar.sqlite3.Connection, query: Query) -> bool:
    try:
        [found] = connection.execute(
            "select exists (select 1 from notes_fts where notes_fts match ?)", [query.match]
        ).fetchone()
    except sidecar.sqlite3.DatabaseError:
        return True  # the statement itself will find out, and knows what to do
    return bool(found)
