"""Text → the same text with its secrets masked: keys of services, private keys, passwords that are named so, card numbers.

Each character of a secret becomes ``●``, so that offsets, lines and marks stay where they are. What is found comes from the
detectors of ``detect_secrets`` (of the extra ``redact``), and from the rules below for what they don't know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from .sql import ELLIPSIS, END_MARK, MARK

if TYPE_CHECKING:
    from ..sqlite import sqlite3
    from .notes import Home, WholeNote
    from .results import Hit, MatchedPassage, Results
    from .similar import SimilarNote, SimilarNotes


MASK = "●"

INSTALL = "pip install 'datasette-bear-search[redact]'"

# Characters around a part of a long text that are looked at, so that a secret is known by what the part doesn't have of it. A
# private key of 4,096 bits has 3,300.
REACH = 4000

# Places in a text at which a part of it may have stood.
MAX_PLACES = 10

# Characters of a text whose secrets are kept in mind: 10 MB in all at most.
REMEMBERED_TO = 10_000

# Characters of a token. Longer ones are images and the like, and shorter ones could be anything.
SHORTEST_TOKEN, LONGEST_TOKEN = 16, 8000

# From how many characters on a token without a known form is taken for a secret, if it looks as drawn by lot: of three kinds
# of characters that change at nearly every other place, with so many bits for each. Measured on notes about programming, the worst
# case, where names in camel case and numbers abound.
UNKNOWN_FROM, CHANGES, BITS = 20, 0.45, 3.4

# How the tokens begin of services that the detectors don't know, or know only by an older form.
KNOWN_BEGINNINGS = (
    r"A3T[A-Z0-9]{17}|(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",  # AWS
    r"AIza[\w-]{30,}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1//0[\w-]{30,}",  # Google
    r"gh[oprsu]_\w{30,}|github_pat_\w{20,}",
    r"gl(?:agent|cbt|dt|ft|imt|oas|pat|ptt|rt|soat)-[\w.-]{20,}",  # GitLab
    r"xox[a-z]-[\w-]{10,}|xapp-[\w-]{20,}",  # Slack
    r"[prs]k_(?:live|test)_\w{16,}|whsec_[\w+/]{24,}",  # Stripe
    r"sk-[\w-]{20,}",  # OpenAI, Anthropic and others
    r"(?:gsk|hf|npm|r8|vcp|nfp)_\w{30,}|xai-[\w-]{40,}|pplx-\w{40,}|tvly-[\w-]{32,}",
    r"pypi-[\w-]{50,}|rubygems_[0-9a-f]{40,}|dckr_[op]at_[\w-]{20,}",
    r"do[oprt]_v1_[0-9a-f]{60,}|tskey-[a-z]+-[\w-]{20,}|hv[brs]\.[\w-]{24,}",
    r"(?:lin_api|ntn|secret)_\w{40,}|figd_[\w-]{30,}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    r"\d{8,10}:AA[\w-]{32,}|SG\.[\w-]{16,}\.[\w-]{16,}",  # Telegram, SendGrid
    r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
)

# What passwords and keys are called. "PIN" isn't among them: four digits are as often a year.
NAMES = (
    r"pass(?:word|phrase|code|wd)|pwd|pw|pass(?=\s*[:=])|passwor[dt]|kennwort|mot de passe|contrase[ñn]a|senha"
    r"|(?:api|access|account|auth|secret|private)[ _-]?key|(?:client[ _-]?)?secret"
    r"|(?:access|api|auth|bearer|refresh)[ _-]?token|token"
)


class RedactionMissing(Exception):
    """The detectors aren't installed; the message says what to do."""

    def __init__(self) -> None:
        super().__init__(f"Masking secrets needs further packages. Install them with: {INSTALL}")


def require() -> None:
    """Load what finds secrets, which takes about a second.

    :raises RedactionMissing: if it isn't installed
    """
    try:
        _detectors()
        _has_check_digit("0")
    except ImportError:
        raise RedactionMissing from None


def masked(text: str) -> str:
    """The text with its secrets masked, as long as before. Marks in it stay."""
    return _with_masks(text, secrets(text))


def masked_part(part: str, *wholes: str) -> str:
    """The same of a part of one of these texts, such as a snippet: what the cut left of a secret is masked, too."""
    plain, places = _without(_MARKS, part)
    core = plain.strip(ELLIPSIS)
    start = plain.find(core)
    found = list(secrets(part))
    for whole in wholes if core else ():
        for left, right in _of_part(core, whole):
            found.append((places[start + left], places[start + right - 1] + 1))
    return _with_masks(part, found)


def has_secret(text: str) -> bool:
    """Whether anything in the text would be masked."""
    return bool(secrets(text))


def secrets(text: str) -> tuple[tuple[int, int], ...]:
    """Where the secrets of a text begin and end. They may overlap."""
    return _remembered(text) if len(text) <= REMEMBERED_TO else _secrets(text)


def _secrets(text: str) -> tuple[tuple[int, int], ...]:
    readable, places = _without(_UNREAD, text)
    found = [
        *_private_keys(readable),
        *_named(readable),
        *_tokens(readable),
        *_cards(readable),
    ]
    return tuple((places[start], places[end - 1] + 1) for start, end in found if start < end)


# While somebody types, the same texts are met again and again.
_remembered = lru_cache(1000)(_secrets)

_MARKS = re.compile(f"[{MARK}{END_MARK}]")

# What stands between the characters of a secret without belonging to it: marks, what can't be seen, and the backslashes with
# which programs that write Markdown protect its signs.
_UNREAD = re.compile(f"[{MARK}{END_MARK}\u00ad\u200b-\u200d\u2060\ufeff]|\\\\(?=[!-/:-@\\[-`{{-~])")
_UNREAD_HINT = re.compile(f"[{MARK}{END_MARK}\u00ad\u200b-\u200d\u2060\ufeff\\\\]")


def _without(unread: re.Pattern[str], text: str) -> tuple[str, range | list[int]]:
    """The text without some characters, and for each that remains its place in the text."""
    if not _UNREAD_HINT.search(text):
        return text, range(len(text))
    left_out = {match.start() for match in unread.finditer(text)}
    places = [place for place in range(len(text)) if place not in left_out]
    return "".join(text[place] for place in places), places


def _of_part(part: str, whole: str) -> Iterator[tuple[int, int]]:
    """Where the secrets of a text lie in a part of it, wherever that stands in the text."""
    at = whole.find(part)
    for _ in range(MAX_PLACES):
        if at < 0:
            break
        # Of a short text all is looked at, whatever the part, so that it is looked at only once.
        first = max(0, at - REACH) if len(whole) > REMEMBERED_TO else 0
        last = at + len(part) + REACH if len(whole) > REMEMBERED_TO else len(whole)
        for start, end in secrets(whole[first:last]):
            left, right = max(0, first + start - at), min(len(part), first + end - at)
            if left < right:
                yield left, right
        at = whole.find(part, at + 1)


def _with_masks(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + _MASKED.sub(MASK, text[start:end]) + text[end:]
    return text


# Lines of a private key stay lines.
_MASKED = re.compile(rf"[^\s{MARK}{END_MARK}]")


# Private keys


_PRIVATE_KEY = re.compile(
    r"-{4,5} ?BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}"
    r"(?:(?:(?!-----BEGIN)[\s\S]){0,16000}?-{4,5} ?END [A-Z0-9 ]{1,40}-{4,5}|[\w+/=\s>,:.\-]{0,16000})"
)


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    if "PRIVATE KEY" in text:
        yield from (match.span() for match in _PRIVATE_KEY.finditer(text))


# Passwords and keys that are named so: "Password: Tr0ub4dor"


_NAMED = re.compile(
    rf"(?<![^\W_])(?:{NAMES})(?:_\w{{1,30}})?[\"'`*_)\]]{{0,4}}[ \t]{{0,3}}(?::=|=>|[:=]|\b(?:is|ist)\b)"
    r"[*_]{0,3}[ \t]{0,3}[\"'`*_]{0,4}([^\s\"'`]{6,200})",
    re.IGNORECASE,
)
# Each of the names has one of these in it, not farther than so many characters from its beginning. To look for them first
# is many times faster.
_IN_NAMES = ("pass", "pw", "kennwort", "contrase", "senha", "key", "secret", "token")
_FARTHEST = 8
# What is no password but says where it comes from: a variable, a call, an address, a path.
_NO_PASSWORD = re.compile(r"[$<{(\[/%]|.*(?:\(|://|\.\.\.)|[\w.-]+@[\w-]+\.\w+$")
_LETTER, _DIGIT, _SIGN = (
    re.compile(r"[^\W\d_]"),
    re.compile(r"\d"),
    re.compile(r"[!#$%&*+?@^~=|\\]"),
)


def _named(text: str) -> Iterator[tuple[int, int]]:
    for place in _places_of_names(text):
        match = _NAMED.match(text, place)
        if not match:
            continue
        value = match[1].rstrip(".,;:!?)]}*_")
        start = match.start(1)
        is_word = not (_DIGIT.search(value) or _SIGN.search(value))
        if len(value) < 6 or is_word or not _LETTER.search(value) or _NO_PASSWORD.match(value):
            continue
        yield start, start + len(value)


def _places_of_names(text: str) -> set[int]:
    """Where a name may begin."""
    lower = text.lower()
    if len(lower) != len(text):  # of a few letters, such as the Turkish İ
        lower = "".join(character.lower()[0] for character in text)
    places: set[int] = set()
    for name in _IN_NAMES:
        place = lower.find(name)
        while place >= 0:
            places.update(range(max(0, place - _FARTHEST), place + 1))
            place = lower.find(name, place + 1)
    return places


# Tokens


_TOKEN = re.compile(r"[!-;=?-_a-z{-~]+")  # without blanks, <, > and `
_KNOWN = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(KNOWN_BEGINNINGS)})")
_UNKNOWN = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]{{{UNKNOWN_FROM},}}(?![A-Za-z0-9])")
# Characters before and behind a token that the detectors need to see: "aws_secret_access_key = …"
_BEFORE, _BEHIND = 60, 5


def _tokens(text: str) -> Iterator[tuple[int, int]]:
    for start, end in _long_tokens(text):
        yield from (match.span() for match in _KNOWN.finditer(text, start, end))
        if not (_DIGIT.search(text, start, end) or text.find("@", start, end) >= 0):
            continue
        line_start = text.rfind("\n", max(0, start - _BEFORE), start) + 1
        window = max(line_start, start - _BEFORE), min(len(text), end + _BEHIND)
        for detector in _detectors():
            for match in detector.finditer(text, *window):
                yield _secret_of(match)
        if text.find("://", start, end) < 0 and text.find("base64,", start, end) < 0:
            for match in _UNKNOWN.finditer(text, start, end):
                if _is_drawn_by_lot(match[0]):
                    yield match.span()


def _long_tokens(text: str) -> Iterator[tuple[int, int]]:
    place = 0
    for word in text.split():
        if len(word) < SHORTEST_TOKEN:
            continue
        place = text.index(word, place)
        for token in _TOKEN.finditer(text, place, place + len(word)):
            if SHORTEST_TOKEN <= token.end() - token.start() <= LONGEST_TOKEN:
                yield token.span()
        place += len(word)


@cache
def _detectors() -> tuple[re.Pattern[str], ...]:
    """The expressions of all detectors that are made of some."""
    # Half a second to import, which only those pay who have secrets masked.
    import importlib
    import inspect
    import pkgutil

    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    modules = [
        importlib.import_module(f"{plugins.__name__}.{module.name}")
        for module in pkgutil.iter_modules(plugins.__path__)
    ]
    classes = [
        each
        for module in modules
        for _, each in inspect.getmembers(module, inspect.isclass)
        if issubclass(each, RegexBasedDetector) and not inspect.isabstract(each)
    ]
    # An address of a machine on the internet is no secret.
    expressions = [
        expression
        for detector in dict.fromkeys(classes)
        if "ip" not in detector.secret_type.lower().split()
        and "IP" not in detector.secret_type.split()
        for expression in detector.denylist
    ]
    return tuple(dict.fromkeys(expressions))


def _secret_of(match: re.Match[str]) -> tuple[int, int]:
    """What of a match is the secret: its longest group, unless that is only how it begins."""
    groups = [match.span(number) for number in range(1, len(match.groups()) + 1)]
    start, end = max(groups, key=lambda span: span[1] - span[0], default=(0, 0))
    return (start, end) if end - start >= 8 else match.span()


def _is_drawn_by_lot(token: str) -> bool:
    kinds = [character.isdigit() + 2 * character.isupper() for character in token]
    changes = sum(1 for _ in groupby(kinds)) - 1
    return (
        len(set(kinds)) == 3 and changes >= CHANGES * (len(token) - 1) and _entropy(token) >= BITS
    )


def _entropy(token: str) -> float:
    from detect_secrets.plugins.high_entropy_strings import Base64HighEntropyString

    return Base64HighEntropyString(limit=BITS).calculate_shannon_entropy(token)


# Card numbers


_SPACE = "[ \u00a0\u2009\u202f-]"
_CARD = re.compile(
    # That nothing stands before it is asked behind the first digit: so only digits are looked at.
    rf"\d(?<![\w.,:/-]\d)"
    rf"(?:\d{{12,18}}|\d{{3}}({_SPACE})\d{{4}}\1\d{{4}}\1\d{{4}}(?:\1\d{{3}})?|\d{{3}}({_SPACE})\d{{6}}\2\d{{4,5}})"
    r"(?![\w/-]|[.,]\d)"
)
# The numbers with which those of Visa, Mastercard, Maestro, American Express, Diners Club, Discover, JCB and UnionPay begin.
_ISSUERS = re.compile(
    r"(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}"
    r"|6(?:011|[245]\d\d)\d{12,15}|(?:50|5[6-8]|6[37])\d{14,17})"
)


def _cards(text: str) -> Iterator[tuple[int, int]]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if _ISSUERS.fullmatch(digits) and _has_check_digit(digits):
            yield match.span()


def _has_check_digit(digits: str) -> bool:
    from stdnum import luhn

    return luhn.is_valid(digits)


# What is found, with its secrets masked: the same hits, passages and notes, in which the words have changed but no offset.
#
# A snippet may begin or end in the middle of a key. So secrets are looked for in the note that it was taken from.

_TEXTS = """
select id, title, body, attachments
from notes
where id in (select value from json_each(?))
"""

Found = TypeVar("Found", "Hit", "SimilarNote")

# What a note says, by its id: title, body and the text of its images and files.
Texts = Mapping[int, tuple[str, str, str]]


def results(connection: sqlite3.Connection, found: Results) -> Results:
    """The results with every secret in them masked."""
    texts = _texts(connection, [hit.id for hit in found.hits])
    return replace(found, hits=tuple(_hit(hit, texts) for hit in found.hits))


def similar_notes(connection: sqlite3.Connection, found: SimilarNotes) -> SimilarNotes:
    """The notes that are like one, with every secret in them masked."""
    return replace(found, title=masked(found.title), notes=each_similar(connection, found.notes))


def each_similar(
    connection: sqlite3.Connection, notes: Sequence[SimilarNote]
) -> tuple[SimilarNote, ...]:
    """The same of these notes alone."""
    texts = _texts(connection, [note.id for note in notes])
    return tuple(
        replace(_found(note, texts), reasons=tuple(map(masked, note.reasons))) for note in notes
    )


def passages(
    connection: sqlite3.Connection, found: Mapping[int, Sequence[MatchedPassage]]
) -> dict[int, list[MatchedPassage]]:
    """Passages by the ids of their notes, with every secret in them masked."""
    texts = _texts(connection, found)
    return {
        note_id: [_passage(passage, note_id, texts) for passage in several]
        for note_id, several in found.items()
    }


def whole_note(note: WholeNote) -> WholeNote:
    """The note with every secret in it masked."""
    return replace(
        note,
        title=masked(note.title),
        key=masked(note.key),
        url=address(note.url),
        body=masked(note.body),
        attachments=masked(note.attachments),
        passages=tuple(
            replace(passage, heading=masked(passage.heading or "") or None)
            for passage in note.passages
        ),
        links=tuple(replace(link, title=masked(link.title)) for link in note.links),
        backlinks=tuple(replace(link, title=masked(link.title)) for link in note.backlinks),
    )


def home(at_home: Home) -> Home:
    """What the page shows before anything is searched for, with every secret in it masked."""
    return replace(
        at_home,
        **{
            name: tuple(
                replace(note, title=masked(note.title or "")) for note in getattr(at_home, name)
            )
            for name in ("recent", "pinned", "on_this_day")
        },
    )


def address(url: str | None) -> str | None:
    """The address that opens a note; without the heading in it, or None, where a secret stands in it."""
    if url is None or not has_secret(unquote(url)):
        return url
    for heading_link in ("&header=", "%23"):  # of Bear, of Obsidian
        before, found, _ = url.rpartition(heading_link)
        if found and not has_secret(unquote(before)):
            return before
    return None


def _texts(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, tuple[str, str, str]]:
    rows = connection.execute(_TEXTS, [json.dumps([*ids])])
    return {
        note_id: (title or "", body or "", attachments or "")
        for note_id, title, body, attachments in rows
    }


def _hit(hit: Hit, texts: Texts) -> Hit:
    snippet = masked_part(hit.snippet, *texts.get(hit.id, ()))
    return replace(_found(hit, texts), snippet=snippet)


def _found(note: Found, texts: Texts) -> Found:
    return replace(
        note,
        title=masked(note.title),
        key=masked(note.key),
        url=address(note.url),
        passage=_passage(note.passage, note.id, texts) if note.passage else None,
    )


def _passage(passage: MatchedPassage, note_id: int, texts: Texts) -> MatchedPassage:
    _, body, _ = texts.get(note_id, ("", "", ""))
    return replace(
        passage,
        text=masked_part(passage.text, body),
        heading=masked(passage.heading or "") or None,
    )
