"""Text → the places of secrets that stand beside their names: ``Password: …``, a table's column.

Names and text are compared folded: in lower case, without accents, with ASCII's signs and spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import normalize

# Characters of a line before a name that are read, to tell whether it is a label or a column.
_BEFORE = 200
# Lines below a label that may all be passwords, and codes and words that are read.
_LINES, _MOST_CODES, _MOST_WORDS = 30, 40, 33
# A seed phrase has so many words of a list (BIP 39; Monero 25), and none of these.
_SIZES, _LEAST_WORDS = (12, 15, 18, 21, 24, 25), 12
_NOT_IN_SEEDS = frozenset(
    "and are been but der die das des for from had has have its les mit not the und una was were "
    "which with von para que".split()
)

_QUOTES = "\"'`“”„‘’‚«»「」『』"
_MARKS = rf"[*_{_QUOTES}]{{0,4}}"
_BRACKETS = r"(?: ?\([^()\n|]{1,40}\))?"
# What may stand between a name and what follows it: "Passwords", "password_2", "Password (wifi)",
# "password of the router".
_REST = (
    rf"(?:s|es|er|en)?(?:_\w{{1,30}})?(?: ?\d{{1,2}})?{_BRACKETS}"
    r"(?: (?!manager|policy|reset|hint|rule|length|generator|hash)[^\n:=|]{1,24}?)??"
    rf"[*_)\]{_QUOTES}]{{0,4}}[ \t]{{0,3}}"
)
_IS = "is|was|ist|war|lautet|es|est|e|er|ar|jest|je|este|ειναι|это|है"
_BESIDE = re.compile(
    rf"{_REST}(?:(?:\b(?:{_IS}|to|value)[ \t]?)?(?::=|=>|->|::|[:=|>→⇒]|\.{{3,40}}|…)"
    rf"|(?<=[ \t])--?(?=[ \t])|\b(?:{_IS}|to|auf)(?=[ \t])|[是为為は는은])"
    rf"[*_]{{0,3}}[ \t]{{0,3}}(?:\|[ \t]{{0,9}})?(?:<\w{{1,6}}>)?{_MARKS}(?=\S)"
)
_OPTION = re.compile(rf"[ =]{_MARKS}(?=\S)")
# gpg --passphrase …, and login me password … in a .netrc
_BEFORE_OPTION = re.compile(r"(?:--|\b(?:login|user(?:name)?)[ \t]\S{1,60}\s{1,9})\Z")
_VALUE = re.compile(rf"((?:[^\s<{_QUOTES}，。；、）】]|<(?!/)){{6,200}})")
_AT_END = re.compile(rf"{_REST}([:=]?)[*_# \t]{{0,6}}\r?\n")
_LABEL = re.compile(r"[\s#>*_+•\d.)-]*(?:[\w./-]{1,20} ){0,2}")
_ITEM_MARK = r"(?:[-*+•:>]|\d{1,2}[.)])[ \t]{1,9}"
_IS_ITEM = re.compile(rf"[ \t>]{{0,20}}{_ITEM_MARK}")
# Between a label and its value: blank lines, fences of code, the underline of a heading.
_SKIPPED = re.compile(r"(?:[ \t>]{0,20}(?:[`~]{3,9}\w{0,20}|[-=]{3,99})?[ \t]{0,20}\r?\n){0,2}")
_BELOW = re.compile(
    rf"[ \t>]{{0,20}}(?:{_ITEM_MARK})?{_MARKS}{_VALUE.pattern}{_MARKS}"
    r"[ \t]{0,20}(?:\([^()\n]{0,60}\))?[ \t\r]{0,20}(?=\n|$)"
)
_HEADER_END = re.compile(rf"(?:s|es|er|en)?{_BRACKETS}:?[ *_{_QUOTES}]{{0,6}}([|\t;,\n])")
_HEADER = re.compile(rf"[\s*_{_QUOTES}]*(?:[\w./&-]{{1,20}} ){{0,2}}")
_CELL = re.compile(rf"[ \t]*{_MARKS}{_VALUE.pattern}")

# Upper case, or lower case with a digit: "some more word here" has letters of base 32, too.
_BASE32 = re.compile(
    r"((?:[A-Z2-7]{4}[ \u00a0-]){3,15}[A-Z2-7]{1,8}={0,6}|[A-Z2-7]{16,64}={0,6}"
    r"|(?=[a-z \u00a0-]{0,80}[2-7])(?:[a-z2-7]{4}[ \u00a0-]){3,15}[a-z2-7]{1,8})(?![^\W_])"
)
_BASE32_NEAR = re.compile(rf"[^\n:=]{{0,20}}?[:=]?[\s*_>{_QUOTES}-]{{1,8}}{_BASE32.pattern}")
_LIST = re.compile(r"[^\n:=.]{0,40}[:=.\n]")
_BETWEEN = r"[\s,;|>*+•\"'`-]{0,12}"
_CODE = re.compile(
    rf"{_BETWEEN}(?:\d{{1,2}}[.)][ \t]{{1,4}})?"
    r"((?=[a-z-]{0,24}\d)[a-z0-9]{4,24}(?:-[a-z0-9]{3,12}){0,7})(?![^\W_])"
)
_WORD = re.compile(
    rf"{_BETWEEN}(?:\d{{1,2}}(?:[.):]|(?=[ \t|]))[ \t|]{{0,4}})?([^\W\d_]{{3,10}})(?![\w'’-])"
)
_AUTHORIZATION = re.compile(
    rf"{_MARKS}[ \t]{{0,3}}[:=][ \t]{{0,3}}{_MARKS}(?:([a-z][\w-]{{2,20}})[ \t]{{1,3}})?"
    r"([^\s\"'`]{6,4000})"
)
_BEARER = re.compile(r"[ \t]{1,3}([^\s\"'`]{16,4000})")
# The rest of a command, over continued lines, and an argument of it.
_COMMAND = re.compile(r"[^\n]*(?:(?<=\\)\n[^\n]*)*")
_ARGUMENT = r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s\"'`]{0,4000}[^\s\"'`;,)]))"
_ENDING = re.compile("[a-zα-ωа-яёіა-ჰ]{0,4}")  # "Passwörter", "пароля"

# Values that aren't passwords but refer to one: a variable, a call, an address, a path, an app, a
# placeholder, or a rule ("8-character").
_NO_PASSWORD = re.compile(
    r"[$<{(\[/%]|.*(?:\(|://|\.\.\.)|[\w.-]+@[\w-]+\.\w+$|(?:1password|base64)$|\d{1,3}[+-]"
    r"(?:char|letter|digit|symbol|word|day|month|year|zeichen|stellig|buchstab|caract)[^\W\d_]*(?:-[^\W\d_]+)*$"
)
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_SIGN = re.compile(r"[!#$%&*+?@^~=|\\]")

Spans = Iterator[tuple[int, int]]


def named_secrets(text: str) -> Spans:
    """Yield the start and end of each secret. They may overlap."""
    folded = _folded(text)
    names = _names_in(folded)
    if not any(names.values()):
        return
    labels: list[tuple[int, bool]] = []
    tables: dict[int, tuple[str, set[int]]] = {}
    for start, end in _passwords(folded, names):
        is_option = _BEFORE_OPTION.search(folded[max(0, start - 80) : start])
        if match := _BESIDE.match(folded, end) or (is_option and _OPTION.match(folded, end)):
            place = match.end()
            grouped = [*_base32(_BASE32.match(text, place))]
            yield from grouped or _password(_VALUE.match(folded, place), folded)
        elif match := _AT_END.match(folded, end):
            line = _line_start(folded, start)
            if match[1] or _LABEL.fullmatch(folded, line, start):
                is_item = bool(_IS_ITEM.match(folded, line)) and not match[1]
                labels.append((match.end(), is_item))
        if match := _HEADER_END.match(folded, end):
            _note_column(folded, start, match, tables)
    yield from _below(text, folded, labels)
    yield from _in_tables(folded, tables)
    for _, end in _places(folded, names["second_factors"]):
        yield from _base32(_BASE32_NEAR.match(text, end))
    yield from _lists(folded, names["recovery_codes"], _CODE, 1, _MOST_CODES)
    yield from _lists(folded, names["seed_phrases"], _WORD, _LEAST_WORDS, _MOST_WORDS)
    yield from _in_requests(folded, names["requests"])
    yield from _in_commands(text, folded, names["commands"])


# --- names


def _folded(text: str) -> str:
    """Return a text of the same length in which names can be looked for."""
    return (text if text.isascii() else _FOLDED.sub(_without_accent, text)).lower()


_FOLDED = re.compile(
    "[\u00a0À-ɏΆ-ώḀ-ỿ\u2000-\u200a\u2010-\u2015\u202f\u205f\u2212\u2236\u3000\ufe55\uff01-\uff5e]"
)
_NOT_COMPOSED = dict(zip("łŁøØđĐðÐı\u2236", "llooddddi:")) | dict.fromkeys(
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"
)


def _without_accent(match: re.Match[str]) -> str:
    return _NOT_COMPOSED.get(match[0]) or normalize("NFKD", match[0])[0]


def _names_in(folded: str) -> dict[str, set[str]]:
    """Return the names in a text, by kind."""
    return {kind: {name for name in some if name in folded} for kind, some in _names().items()}


@cache
def _names() -> dict[str, set[str]]:
    """Return the names, folded, by kind."""
    return {kind: {*map(_folded, some)} for kind, some in described()["names"].items()}


@cache
def described() -> dict[str, Any]:
    """Return what ``secrets.yaml`` holds."""
    import yaml  # takes 10 ms, needed only to mask secrets

    return yaml.safe_load(Path(__file__).with_name("secrets.yaml").read_text("utf-8"))


def _places(folded: str, names: Iterable[str], *, in_words: bool = False) -> Spans:
    for name in names:
        start = folded.find(name)
        while start >= 0:
            if in_words or not (name[0].isascii() and folded[start - 1 : start].isalnum()):
                yield start, start + len(name)
            start = folded.find(name, start + 1)


def _passwords(folded: str, names: dict[str, set[str]]) -> Spans:
    """Yield the places of names of passwords and keys."""
    parts = _places(folded, names["parts"], in_words=True)
    for start, end in (*parts, *_places(folded, names["passwords"])):
        name = folded[start:end]
        condition = described()["around"].get(name)
        if not condition or re.compile(condition).search(folded, max(0, start - 12), end + 4):
            ending = _ENDING.match(folded, end) if len(name) > 4 else None
            yield start, ending.end() if ending else end


# --- values


def _password(match: re.Match[str] | None, folded: str) -> Spans:
    if match:
        value = folded[slice(*match.span(1))].rstrip(".,;:!?)]}*_|")
        if _is_password(value):
            yield match.start(1), match.start(1) + len(value)


def _is_password(value: str) -> bool:
    is_word = not (_DIGIT.search(value) or _SIGN.search(value))
    is_text = is_word or not _LETTER.search(value) or _NO_PASSWORD.match(value)
    return len(value) >= 6 and not is_text


def _base32(match: re.Match[str] | None) -> Spans:
    if match and _LETTER.search(match[1]) and len(re.findall(r"\w", match[1])) >= 16:
        yield match.span(1)


def _line_start(folded: str, place: int) -> int:
    """Return where a line starts, or where so much of it is read that it is no label."""
    first = max(0, place - _BEFORE)
    return max(first, folded.rfind("\n", first, place) + 1)


def _below(text: str, folded: str, labels: Iterable[tuple[int, bool]]) -> Spans:
    """Yield the values in the lines below labels."""
    done = 0
    for start, is_item in sorted(labels):
        if start < done:  # this label was the value of another
            continue
        skipped = _SKIPPED.match(folded, start)
        place = skipped.end() if skipped else start
        yield from _base32(_BASE32.match(text, place))
        for _ in range(_LINES):
            match = _BELOW.match(folded, place)
            found = [*_password(match, folded)]
            if not match or not found or (is_item and _IS_ITEM.match(folded, place)):
                break
            yield from found
            done = place = match.end() + 1


# --- tables: Markdown's, and those of other programs (CSV)


def _note_column(
    folded: str, start: int, end: re.Match[str], tables: dict[int, tuple[str, set[int]]]
) -> None:
    """Note that the column whose header has this name holds passwords."""
    line = _line_start(folded, start)
    for delimiter in "|\t;," if end[1] == "\n" else end[1]:
        cell = folded.rfind(delimiter, line, start) + 1
        if (cell or end[1] != "\n") and _HEADER.fullmatch(folded, cell or line, start):
            column = folded.count(delimiter, line, start)
            tables.setdefault(line, (delimiter, set()))[1].add(column)
            return


def _in_tables(folded: str, tables: dict[int, tuple[str, set[int]]]) -> Spans:
    done = 0
    for header in sorted(tables):
        if header < done:  # this is a row of another table
            continue
        delimiter, columns = tables[header]
        row, done = _cells(folded, header, delimiter)
        width, is_open = len(row), bool(row[0].strip(" >"))
        while done < len(folded):
            place = done
            row, done = _cells(folded, done, delimiter)
            if len(row) < (2 if delimiter == "|" else width):
                break
            # A row may begin with a delimiter although the header doesn't, and the reverse.
            shift = is_open - bool(row[0].strip(" >")) if delimiter == "|" else 0
            for number, cell in enumerate(row):
                # In a wider row, a cell may have been cut apart.
                is_wider = len(row) > width + abs(shift) and number - shift > min(columns)
                if number - shift in columns or is_wider:
                    for left, right in _password(_CELL.match(cell), cell):
                        yield place + left, place + right
                place += len(cell) + 1


def _cells(folded: str, start: int, delimiter: str) -> tuple[list[str], int]:
    """Return the cells of a line, and where the next one starts."""
    end = folded.find("\n", start)
    end = len(folded) if end < 0 else end
    return folded[start:end].split(delimiter), end + 1


# --- lists of codes and words


def _lists(
    folded: str, names: Iterable[str], item: re.Pattern[str], least: int, most: int
) -> Spans:
    """Yield the items that follow a name, if there are at least so many."""
    done = 0
    for start, end in sorted(_places(folded, names)):
        if start < done:
            continue
        heading = _LIST.match(folded, end)
        places = [heading.end()] if heading else []
        # Words may follow without a colon, but "seed" alone often means plants.
        if least > 1 and folded[start:end] != "seed":
            places.append(end)
        for place in places:
            found: list[tuple[int, int]] = []
            while len(found) < most and (match := item.match(folded, place)):
                is_complete = len(found) in _SIZES and "\n\n" in folded[place : match.start(1)]
                if match[1] in _NOT_IN_SEEDS or is_complete:
                    break
                found.append(match.span(1))
                place = match.end()
            if len(found) >= least:
                yield from found
                done = place
                break


# --- requests and commands


def _in_requests(folded: str, names: set[str]) -> Spans:
    for _, end in _places(folded, names & {"authorization"}):
        if match := _AUTHORIZATION.match(folded, end):
            value = match[2].rstrip(".,;)")
            if _is_password(value) or (match[1] and len(value) >= 16 and value[0].isalnum()):
                yield match.start(2), match.start(2) + len(value)
    for _, end in _places(folded, names & {"bearer"}):
        yield from _password(_BEARER.match(folded, end), folded)


def _in_commands(text: str, folded: str, names: set[str]) -> Spans:
    """Yield the secrets among the arguments of commands, and those in cookies."""
    known = described()["names"]
    labels = {*known["parts"], *known["passwords"]}
    for name in names:
        option = re.compile(rf"\s[\"']?(?:{known['commands'][name]}){_ARGUMENT}")
        done = 0
        for _, end in _places(folded, [name]):
            if end < done or not (command := _COMMAND.match(text, end)):
                continue
            done = command.end()
            for match in option.finditer(text, end, done):
                start, stop = match.span(match.lastindex or 0)
                value = folded[start:stop]
                refers = value in labels or _NO_PASSWORD.match(value)
                if re.search(r"\w", value) and not refers:
                    yield start, stop
