"""What a person typed → ``Query``: its words and phrases, the FTS5 expression, and what to tell the person."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .filters import Filters

# A question is some dozens of words; a pasted page is cut, because each word costs a scan.
MAX_CHARACTERS = 1000
MAX_WORDS = 64

MODES = ("auto", "hybrid", "keyword", "semantic", "like")

# What people's keyboards make of straight quotation marks.
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))
_PHRASE = re.compile(r'"([^"]*)"')

# What FTS5's unicode61 makes tokens of, near enough: letters and digits of any script.
_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Query:
    """A search as it was understood."""

    text: str  # cleaned of control characters, cut to MAX_CHARACTERS
    meaning: str = ""  # what is embedded
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    is_boolean: bool = False
    exact: str | None = None
    match: str | None = None  # FTS5 expression; None if there is no word that FTS5 can find
    mode: str = "auto"
    filters: Filters = field(default_factory=Filters)
    notices: tuple[str, ...] = ()

    @property
    def substrings(self) -> tuple[str, ...]:
        """What LIKE looks for: every word and phrase as it stands."""
        return tuple(dict.fromkeys([*self.phrases, *self.words]))


def parse(text: str, mode: str = "auto", filters: Filters | None = None) -> Query:
    """Read what was typed. Any text will do: what is no syntax is words."""
    notices = []
    text = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]", " ", text).split())
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS]
        notices.append(f"Only the first {MAX_CHARACTERS:,} characters were searched for.")
    straight = text.translate(_QUOTES)
    phrases = [phrase.strip() for phrase in _PHRASE.findall(straight)]
    rest = _PHRASE.sub(" ", straight)
    if '"' in rest:
        notices.append(
            "A quotation mark has no partner, so the words after it were searched for one by one."
        )
    words = list(dict.fromkeys(rest.replace('"', " ").split()))
    if len(words) > MAX_WORDS:
        words = words[:MAX_WORDS]
        notices.append(f"Only the first {MAX_WORDS} words were searched for.")
    # A phrase of one word is that word.
    words.extend(phrase for phrase in phrases if phrase and not _is_phrase(phrase))
    phrases = list(dict.fromkeys(phrase for phrase in phrases if _is_phrase(phrase)))
    return Query(
        text=text,
        meaning=text,
        exact=_all_of(phrases),
        words=tuple(words),
        phrases=tuple(phrases),
        match=_match(words, phrases),
        mode=mode,
        filters=filters or Filters(),
        notices=tuple(notices),
    )


def literal(query: Query) -> Query:
    """The same text with nothing in it read as syntax."""
    return parse(query.text.translate(_QUOTES).replace('"', " "), query.mode, query.filters)


def rewritten(
    query: Query, words: Mapping[str, str | None], *, loosen_phrases: bool = False
) -> Query:
    """The query with other words: None leaves one out, ``x*`` stands for every word that begins with x.

    :param loosen_phrases: take phrases for loose words
    """
    kept = [words.get(word, word) for word in query.words]
    phrases = query.phrases
    if loosen_phrases:
        kept.extend(token for phrase in phrases for token in _TOKEN.findall(phrase))
        phrases = ()
    plain = tuple(word for word in kept if word and not word.endswith("*"))
    prefixes = (*query.prefixes, *(word[:-1] for word in kept if word and word.endswith("*")))
    meaning = query.meaning
    for word, other in words.items():
        if other and not other.endswith("*"):
            meaning = re.sub(
                rf"(?<!\w){re.escape(word)}(?!\w)", lambda _, other=other: other, meaning
            )
    return replace(
        query,
        words=plain,
        phrases=phrases,
        prefixes=prefixes,
        meaning=meaning,
        match=_match(plain, phrases, prefixes),
        exact=_all_of(phrases),
    )


def _match(
    words: Sequence[str], phrases: Sequence[str], prefixes: Sequence[str] = ()
) -> str | None:
    """Every phrase, and of the words as many as there are: BM25 ranks a note that has more of them higher."""
    any_word = []
    for word in words:
        tokens = _TOKEN.findall(word)
        if len(tokens) > 1:
            any_word.append(_quoted(word))  # foo-bar as it stands counts more than foo and bar
        any_word.extend(_quoted(token) for token in tokens)
    any_word.extend(f"{_quoted(prefix)} *" for prefix in prefixes)
    any_word = list(dict.fromkeys(any_word))
    required = [_quoted(phrase) for phrase in phrases]
    if not required:
        return " OR ".join(any_word) or None
    if any_word:
        # The phrases alone satisfy the last part, so that the words only add to the rank.
        required.append(f"({' OR '.join([*any_word, required[0]])})")
    return " AND ".join(required)


def _all_of(phrases: Sequence[str]) -> str | None:
    return " AND ".join(_quoted(phrase) for phrase in phrases) or None


def _is_phrase(text: str) -> bool:
    return len(_TOKEN.findall(text)) > 1


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
