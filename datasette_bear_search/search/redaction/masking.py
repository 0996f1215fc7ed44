"""Text → the same text with its secrets masked: keys, tokens, named passwords, card numbers.

Each character of a secret becomes ``●``, so that offsets and lines stay the same. The
package ``detect_secrets`` (extra ``redact``) detects most secrets; the rules here and in
``named_secrets`` find others.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from math import log2
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from ...index.file.schema import WORD_INDEX
from ...notes import INVISIBLE, JOINERS, VARIANTS, ForeseenError
from ...query import fts5
from ...query.fts5 import unique
from ..planning import word_forms
from ..results.marks import CHARACTERS

if TYPE_CHECKING:
    from ...query.suggest import Suggestions
    from ...sqlite import sqlite3
    from ..notes.similar import SimilarNote, SimilarNotes
    from ..results.records import FoundNote

MASK = "●"

INSTALL_REDACT = 'pip install "datasette-bear-search[redact]"'

# Characters of a long text to read around a part of it, because a secret that is cut off may not be
# recognized. A private key of 4,096 bits has 3,300.
REACH = 4000
# Passages of a long note to read on each side of one that was found: more text than REACH.
ADJACENT_PASSAGES = 12

# Rows of a table above a part to read in search of the names of its columns.
MAX_ROWS = 1000

# Occurrences of a part in its text that are checked.
MAX_OCCURRENCES = 10

# Notes to read in search of a word outside of secrets. Nearly always the first one has it.
MAX_READ = 100

# Texts whose secrets are cached, and the maximum length of each, for 10 MB in all. While somebody
# types, the same texts occur again and again; scanning the notes of a page takes about 15 ms.
CACHED_TEXTS, CACHED_TO = 1000, 10_000

# The length of a token in characters. Longer ones are images and such; shorter ones, anything.
SHORTEST_TOKEN, LONGEST_TOKEN = 16, 8000

# A token of no known form is a secret if it looks random: it has at least RANDOM_FROM characters of
# three kinds, the kind changes at a share of CHANGES of the places, and the entropy is BITS per
# character. This finds 92, 93, 97 and 98 % of random tokens of 20, 24, 32 and 40 characters. The
# library's entropy detector finds 0, 4, 63 and 98 % at its 4.5 bits; at 4.0 bits 63, 94 and 100 %,
# with as many false alarms as this (31 tokens in 2,177 texts about programming, mostly random ids).
RANDOM_FROM, CHANGES, BITS = 20, 0.45, 3.4


class RedactionMissing(ForeseenError):
    def __init__(self) -> None:
        needs = "Masking secrets needs further packages. Install them with:"
        super().__init__(f"{needs} {INSTALL_REDACT}")


def require() -> None:
    """Load the packages that find secrets, which takes about a second.

    :raises RedactionMissing: if they aren't installed
    """
    try:
        _detectors()
    except ImportError:
        raise RedactionMissing from None


# --- text


def masked(text: str) -> str:
    """Return the text with its secrets masked. Its length stays the same."""
    return _with_masks(text, secrets(text))


def masked_part(part: str, *wholes: str) -> str:
    """Mask the secrets in a part of these texts, such as a passage, even if they are cut off."""
    found = list(secrets(part))
    for whole in wholes if part else ():
        found += _of_part(part, whole)
    return _with_masks(part, found)


def has_secret(text: str) -> bool:
    return bool(secrets(text))


def masked_url(url: str | None) -> str | None:
    """Return the URL of a note, without the heading if that has a secret; None if the rest has."""
    if url is None or not has_secret(unquote(url)):
        return url
    for heading_link in ("&header=", "%23"):  # Bear's, Obsidian's
        before, found, _ = url.rpartition(heading_link)
        if found and not has_secret(unquote(before)):
            return before
    return None


def secrets(text: str) -> tuple[tuple[int, int], ...]:
    """Return the start and end of each secret in a text. They may overlap."""
    return _cached_secrets(text) if len(text) <= CACHED_TO else _secrets(text)


# --- words that a search would otherwise reveal: corrections and completions of prefixes


def words_of_secrets(connection: sqlite3.Connection, words: Iterable[str]) -> frozenset[str]:
    """Return the words that occur only in secrets, or seem to after MAX_READ notes were read.

    :param words: as the word index has them
    """
    read: dict[int, frozenset[str] | None] = {}  # note id → words outside secrets; None: all

    def stands_outside(word: str) -> bool:
        for note_id, tags, *texts in connection.execute(_HAVING, [fts5.quoted(word)]):
            if note_id not in read:
                if len(read) == MAX_READ:
                    return False
                has_any = any(secrets(text or "") for text in texts)
                outside = " ".join([tags or "", *(masked(text or "") for text in texts)])
                read[note_id] = frozenset(word_forms.unstemmed_words(outside)) if has_any else None
            own = read[note_id]
            if own is None or word in own:
                return True
        return False

    return frozenset(word for word in unique(words) if not stands_outside(word))


_HAVING = f"""
select id, tags, title || char(10) || coalesce(body, ''), attachments
from notes
where id in (select rowid from {WORD_INDEX} where {WORD_INDEX} match ?)
"""


# --- records, whose text changes but not its offsets

Record = TypeVar("Record")
Found = TypeVar("Found", "FoundNote", "SimilarNote")

# Fields with whole texts, and fields with parts of a note's text, which may cut off a secret.
_WHOLE = frozenset(("title", "key", "heading", "attachments", "reasons", "files", "file_name"))
_PARTS = frozenset(("around", "file_text", "text", "whole"))


def masked_record(record: Record, *texts: str) -> Record:
    """Return a note, hit, passage or link with all secrets masked, in nested records, too.

    :param texts: the texts that its parts were taken from
    """
    if not is_dataclass(record) or isinstance(record, type):
        return record
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    shown = {name: _masked_value(name, value, texts) for name, value in values.items()}
    if "body" in values:
        # The title may be what tells that the first line is a password.
        title = f"{values['title']}\n"
        shown["body"] = masked(title + values["body"])[len(title) :]
    return replace(record, **shown)


def _masked_value(name: str, value: Any, texts: Sequence[str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_masked_value(name, each, texts) for each in value)
    if isinstance(value, str):
        if name == "url":
            return masked_url(value)
        if name in _PARTS:
            return masked_part(value, *texts)
        return masked(value) if name in _WHOLE else value
    return masked_record(value, *texts)


def masked_suggestions(found: Suggestions) -> Suggestions:
    """Mask labels, and leave out completions that have secrets."""
    # Masked text couldn't be typed into the box and still find anything.
    kept = (each for each in found.found if not has_secret(each.insert or ""))
    return replace(found, found=tuple(replace(each, label=masked(each.label)) for each in kept))


def masked_similar(connection: sqlite3.Connection, found: SimilarNotes) -> SimilarNotes:
    return replace(found, title=masked(found.title), notes=masked_notes(connection, found.notes))


def masked_notes(connection: sqlite3.Connection, notes: Sequence[Found]) -> tuple[Found, ...]:
    places = [(note.id, note.passage.id if note.passage else None) for note in notes]
    wholes: dict[int, list[str]] = {}  # by note id, the texts that contain these passages
    for note_id, *texts in connection.execute(_TEXTS, [json.dumps(places)]):
        wholes.setdefault(note_id, []).extend(text or "" for text in texts)
    return tuple(masked_record(note, *wholes.get(note.id, ())) for note in notes)


# For a long note, this returns only the text around the passage.
_TEXTS = f"""
select notes.id, attachments, title || char(10) || case when here.text is null then body else (
  select group_concat(text, '') from (
    select text from passages where note_id = notes.id
    and position between here.position - {ADJACENT_PASSAGES} and here.position + {ADJACENT_PASSAGES}
    order by position
  )
) end
from json_each(?) as place
join notes on notes.id = json_extract(place.value, '$[0]')
left join passages as here on here.id = json_extract(place.value, '$[1]')
"""


# --- where secrets are


def _secrets(text: str) -> tuple[tuple[int, int], ...]:
    from .named_secrets import named_secrets

    readable, places = _without_unread(text)
    rules = (_private_keys, named_secrets, _tokens, _numbers)
    found = [span for rule in rules for span in rule(readable)]
    return tuple((places[start], places[end - 1] + 1) for start, end in found if start < end)


_cached_secrets = lru_cache(CACHED_TEXTS)(_secrets)

# What may interrupt a secret or its name: invisible characters, those that MarkedText.read() takes
# for marks, Markdown's backslashes, accents of their own.
_UNSEEN = f"{''.join(CHARACTERS.values())}{INVISIBLE}{JOINERS}{VARIANTS}\u00ad\u0300-\u036f"
_UNREAD = re.compile(f"[{_UNSEEN}]|\\\\(?=[!-/:-@\\[-`{{-~])")


def _without_unread(text: str) -> tuple[str, range | list[int]]:
    """Return the text without such characters, and the old place of each remaining one."""
    left_out = {match.start() for match in _UNREAD.finditer(text)}
    if not left_out:
        return text, range(len(text))
    places = [place for place in range(len(text)) if place not in left_out]
    return "".join(text[place] for place in places), places


def _of_part(part: str, whole: str) -> Iterator[tuple[int, int]]:
    at = whole.find(part)
    for _ in range(MAX_OCCURRENCES):
        if at < 0:
            break
        # A short text is scanned whole, whatever the part, so that its secrets are cached.
        reach = REACH if len(whole) > CACHED_TO else len(whole)
        first = _table_start(whole, max(0, at - reach))
        for start, end in secrets(whole[first : at + len(part) + reach]):
            left, right = max(0, first + start - at), min(len(part), first + end - at)
            if left < right:
                yield left, right
        at = whole.find(part, at + 1)


def _table_start(text: str, place: int) -> int:
    """Return where the table begins in whose rows this place is: its header may name passwords."""
    for _ in range(MAX_ROWS):
        line = text.rfind("\n", max(0, place - REACH), place)
        if line < 0 or not {"|", "\t"} & {*text[line + 1 : place]}:
            break
        place = line
    return place


def _with_masks(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces, place = [], 0
    for start, end in sorted(spans):
        if end > place:  # they may overlap
            start = max(start, place)
            pieces += [text[place:start], _MASKED.sub(MASK, text[start:end])]
            place = end
    return "".join([*pieces, text[place:]])


# White space isn't masked, so that a private key keeps its lines.
_MASKED = re.compile(r"\S")

_PRIVATE_KEY = re.compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"(?:(?:(?!-----BEGIN)[\s\S]){0,16000}?-{4,5} ?END [A-Z0-9 ]{1,40}-{4,5}"
    r"|[\w+/=\s>,:.\-]{0,16000})"
)


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    if "PRIVATE KEY" in text:
        yield from (match.span() for match in _PRIVATE_KEY.finditer(text))


_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(rf"[!-;=?-_a-z{{-~]{{{SHORTEST_TOKEN},}}")  # no spaces, <, > or `
_RANDOM = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]{{{RANDOM_FROM},}}(?![A-Za-z0-9])")
# Characters before and after a token that the detectors need to see: "aws_secret_access_key = …"
_BEFORE, _AFTER = 60, 5


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        if end - start > LONGEST_TOKEN:
            continue
        for match in _known_tokens().finditer(text, start, end):
            yield match.span(match.lastindex or 0)
        if not (_DIGIT.search(text, start, end) or text.find("@", start, end) >= 0):
            continue
        line_start = text.rfind("\n", max(0, start - _BEFORE), start) + 1
        window = max(line_start, start - _BEFORE), min(len(text), end + _AFTER)
        for detector in _detectors():
            for match in detector.finditer(text, *window):
                yield _secret_of(match)
        if text.find("://", start, end) < 0 and text.find("base64,", start, end) < 0:
            for match in _RANDOM.finditer(text, start, end):
                if _looks_random(match[0]):
                    yield match.span()


@cache
def _known_tokens() -> re.Pattern[str]:
    from .named_secrets import described

    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(described()['tokens'])})")


@cache
def _detectors() -> tuple[re.Pattern[str], ...]:
    # Importing it takes half a second, which is needed only to mask secrets.
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.plugins.base import RegexBasedDetector

    regexes: dict[re.Pattern[str], None] = {}
    for kind, detector in get_mapping_from_secret_type_to_class().items():
        # A public IP address isn't a secret.
        if issubclass(detector, RegexBasedDetector) and "IP" not in kind.upper().split():
            regexes |= dict.fromkeys(detector.denylist)  # type: ignore[call-overload]
    return tuple(regexes)


def _secret_of(match: re.Match[str]) -> tuple[int, int]:
    # The longest group is the secret, unless it is so short that it can only be the prefix.
    groups = [match.span(number) for number in range(1, len(match.groups()) + 1)]
    start, end = max(groups, key=lambda span: span[1] - span[0], default=(0, 0))
    return (start, end) if end - start >= 8 else match.span()


def _looks_random(token: str) -> bool:
    kinds = [character.isdigit() + 2 * character.isupper() for character in token]
    changes = sum(1 for _ in groupby(kinds)) - 1
    if len(set(kinds)) < 3 or changes < CHANGES * (len(token) - 1):
        return False
    shares = [count / len(token) for count in Counter(token).values()]
    return -sum(share * log2(share) for share in shares) >= BITS


_SPACE = "[ \u00a0\u2009\u202f-]"
_NUMBER = re.compile(
    # A card's. The lookbehind follows the first digit, so that it is evaluated only at digits.
    rf"\d(?:(?<![\w.,:/-]\d)"
    rf"(?P<card>\d{{12,18}}|\d{{3}}({_SPACE})\d{{4}}\2\d{{4}}\2\d{{4}}(?:\2\d{{3}})?"
    rf"|\d{{3}}({_SPACE})\d{{6}}\3\d{{4,5}})(?![\w/-]|[.,]\d)"
    # An account's (IBAN), whose first two letters stand before.
    rf"|\d(?<=[A-Za-z]{{2}}..)(?:{_SPACE}?[A-Za-z0-9]{{4}}){{2,7}}(?:{_SPACE}?[A-Za-z0-9]{{1,3}})?)"
)
# Visa, Mastercard, American Express, Diners Club, JCB, Discover, UnionPay and Maestro.
_ISSUERS = re.compile(
    r"(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}"
    r"|6(?:011|[245]\d\d)\d{12,15}|(?:50|5[6-8]|6[37])\d{14,17})"
)


def _numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield the numbers of cards and bank accounts."""
    for match in _NUMBER.finditer(text):
        if match["card"] is None:
            yield from _account(text, match.start() - 2, match.end())
        else:
            digits = re.sub(r"\D", "", match[0])
            if _ISSUERS.fullmatch(digits) and _has_check_digit(digits):
                yield match.span()


def _account(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    before = text[max(0, start - 12) : start]
    if before[-1:].isalnum() or not (text[start:end].isupper() or "iban" in before.lower()):
        return
    # What follows may look like one more group.
    ends = [start + space.start() for space in re.finditer(_SPACE, text[start:end])]
    for stop in [*([] if text[end : end + 1].isalnum() else [end]), *reversed(ends)]:
        number = re.sub(_SPACE, "", text[start:stop])
        digits = "".join(str(int(each, 36)) for each in number[4:] + number[:4])
        if len(number) >= 15 and int(digits) % 97 == 1:  # ISO 7064
            yield start, stop
            return


def _has_check_digit(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others (Luhn)."""
    doubled = (sum(divmod(2 * int(each), 10)) for each in digits[-2::-2])
    return (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0
