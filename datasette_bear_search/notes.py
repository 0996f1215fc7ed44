"""The record ``Note``, which sources yield and the index stores, and how its facts are shown."""

from __future__ import annotations

import copyreg
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import zip_longest
from json import dumps
from typing import Any, NamedTuple

# Separates the texts of two attached files: a form feed.
NEXT_FILE = "\f"
# Characters. A longer title is cut, and its whole line is kept in the body: cutting at 160 costs
# Cranfield, whose titles are long, .0018 nDCG@10 by words, and 250 costs nothing.
LONGEST_TITLE = 250
# The start of a Markdown heading: "# Title", "## Title ##".
_HEADING = re.compile(r"#{1,6}[ \t]+")


# URL schemes that "Open in …" may open: the web, files, and apps for notes, texts, papers, tasks
# and mail. Other schemes may run what follows them, as search-ms:, ms-word: and shell: do. A plugin
# for another app's notes may add that app's scheme.
OPENED_SCHEMES = set(
    "agenda anytype applenotes bear bookends brain capacities craftdocs cursor dayone drafts "
    "evernote file fsnotes hook http https joplin logseq mailto marginnote3app marginnote4app "
    "message mindnode mobilenotes mvim noteplan notes notion nv nvalt obsidian omnifocus onenote "
    "org-protocol raindrop readdle-spark remnote simplenote slack subl tana taskpaper tel things "
    "ticktick todoist tot txmt typora ulysses vscode vscode-insiders vscodium x-apple-reminderkit "
    "x-bbedit x-bdsk x-devonthink-item zed zotero".split()
)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE | re.ASCII)


# Parts of regular expressions' character classes. Characters at which programs begin a new line,
# other than \n, and characters that nobody sees but that terminals obey and language models read.
BREAKS = "\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
INVISIBLE = (
    # Control characters apart from tabs and line breaks; halves of characters, which stand for
    # bytes in a file's name that aren't UTF-8 and can't be printed.
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff"
    # What changes the direction of text (CVE-2021-42574).
    "\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f"
    # Unicode's other "default ignorable" characters. Tags, the last, can spell out any text.
    "\u00ad\u115f\u1160\u17b4\u17b5\u200b\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
# Emoji and the scripts of Persia and India need a joiner after a letter; pictures, Mongolian and
# rare Han characters a variation selector. Elsewhere and in a row, they can only hide something.
JOINERS, VARIANTS = "\u200c\u200d", "\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_VARIANT, _JOINER = re.compile(f"[{VARIANTS}]"), re.compile(f"[{JOINERS}]")
_BESIDE_LETTERS = re.compile(f"([^{JOINERS}{VARIANTS}]?)([{JOINERS}{VARIANTS}]+)", re.DOTALL)
_JOINS = re.compile("[^\x00-\u02ff\u2000-\u206f]")
_BREAKS, _BLANKS = re.compile(f"[{BREAKS}]"), re.compile(f"[\t\n{BREAKS}]+")


class ForeseenError(Exception):
    """An error that people can fix: its message says what happened and what to do.

    Each argument is a line, so that a name in it can't add another.
    """

    def __str__(self) -> str:
        return "\n".join(printable(str(line)) for line in self.args)

    def __reduce__(self) -> tuple[Any, ...]:
        # Other processes get the message, not what a subclass's __init__ makes one of.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Tag:
    """A full tag such as ``work/projects``, without ``#``, in the case in which it was typed."""

    name: str
    pinned: bool = False  # the note is pinned inside this tag


@dataclass(frozen=True)
class Link:
    """A link from one note to another note of the same source."""

    key: str  # the target's id in the source
    title: str = ""  # the target's title as the link spells it


class LinkedFile(NamedTuple):
    """An image or file that a note shows or links to."""

    target: str  # the link's target in the text, URL-decoded
    place: str  # its path below the source's folder, or in its archive
    stamp: str  # changes whenever its content does


@dataclass(frozen=True)
class Note:
    """A note as its source has it. Dates are ISO 8601 in UTC (``2024-05-01T09:30:00Z``) or None.

    ``repr()`` leaves out the note's text, which keeps it out of tracebacks and logs.
    """

    key: str  # the note's id, unique within its source
    title: str = field(default="", repr=False)
    # Markdown without the title line, unless the title was cut; empty for an encrypted note.
    body: str = field(default="", repr=False)
    tags: tuple[Tag, ...] = ()
    links: tuple[Link, ...] = ()
    linked_files: tuple[LinkedFile, ...] = field(default=(), repr=False)
    # The texts of images (OCR) and files, separated by NEXT_FILE. The names are in the same order,
    # and empty if the source doesn't know them: "roof.png", "permit.pdf, page 2".
    attachments: str = field(default="", repr=False)
    attachment_names: tuple[str, ...] = field(default=(), repr=False)
    created: str | None = None
    modified: str | None = None
    pinned: bool = False
    archived: bool = False
    trashed: bool = False
    encrypted: bool = False
    todos_open: int = 0
    todos_done: int = 0
    has_image: bool = False
    has_file: bool = False
    has_code: bool = False
    url: str | None = None  # deep link that opens the note where it lives
    # Whether a line break inside a paragraph is but a space, as in CommonMark. The index decides
    # otherwise where the note's own lines say so.
    soft_breaks: bool = False
    # Changes whenever the note may have changed; None if the source has to read it to find out.
    stamp: str | None = None

    def __post_init__(self) -> None:
        # A plugin's mistake, such as another type, is reported by the checks.
        if not isinstance(self.title, str) or len(self.title) <= LONGEST_TITLE:
            return
        line = " ".join(self.title.split())
        object.__setattr__(self, "title", short_title(line))
        if not self.encrypted and not title_line(self.title, self.body):
            object.__setattr__(self, "body", f"{line}\n\n{self.body}")

    def fingerprint(self) -> str:
        """Return a hash of the whole note, apart from its stamp."""
        # dataclasses.astuple() copies every value first and is twenty times slower. The texts skip
        # repr(), which looks at each character.
        fields = {**vars(self), "stamp": None, "body": len(self.body), "attachments": None}
        del fields["soft_breaks"]  # a source always says the same of a text
        values = f"{tuple(fields.values())!r}{self.body}\0{self.attachments}"
        return hashlib.blake2b(values.encode(errors="replace"), digest_size=16).hexdigest()


def text_hash(title: str, body: str) -> str | None:
    """Return a hash of the words that ignores spacing; None for a note without a body."""
    if not body.strip():  # two empty notes called "Ideas" are not duplicates
        return None
    words = " ".join(f"{title} {body}".split())
    return hashlib.blake2b(words.encode(errors="replace"), digest_size=16).hexdigest()


def files_of(attachments: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (name, text) for each file that has text; an unknown name is ""."""
    pairs = zip_longest(names, attachments.split(NEXT_FILE) if names else [attachments])
    return [(name or "", text.strip()) for name, text in pairs if text and text.strip()]


def scheme_of(address: str) -> str | None:
    """Return the scheme of an address, in lower case; None for a relative address."""
    match = _SCHEME.match(address)
    return match[1].lower() if match else None


def can_be_opened(url: str | None) -> bool:
    """Return whether a page may link to this URL, which opens a note in its own app."""
    return scheme_of(url or "") in OPENED_SCHEMES


def without_title_line(text: str, title: str) -> str:
    """Return the Markdown without its first line, if that is the title."""
    # Its words would count twice. Bear uses the first line of any text as its title: a paragraph
    # that is too long for one stays as it is, with its links.
    first, _, rest = text.lstrip("\n").partition("\n")
    is_title = first.strip() == title and len(title) <= LONGEST_TITLE
    return rest.lstrip("\n") if title and (is_title or _HEADING.match(first)) else text


def short_title(title: str, most: int = LONGEST_TITLE) -> str:
    """Return a title as notes have it, cut if it has more than ``most`` characters."""
    if len(title) <= most:
        return title
    return title[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def title_line(title: str, body: str) -> int:
    """Return where the body's first line ends if it is a title that was cut; 0 if it isn't.

    :param title: the note's title as cut by ``Note``
    """
    if title[-1:] != "…" or len(title) < LONGEST_TITLE // 2:
        return 0
    line = body[: len(body) - len(body.lstrip())] + body.lstrip().partition("\n")[0]
    # Markup may differ.
    begins = _NO_LETTERS.sub("", title)[:_COMPARED_LETTERS]
    return len(line) if begins and _NO_LETTERS.sub("", line).startswith(begins) else 0


_NO_LETTERS = re.compile(r"[\W_]+")
_COMPARED_LETTERS = 100


def whole_title(title: str, body: str) -> tuple[str, str]:
    """Return a note's whole title, and its body with blanks where that is: offsets stay."""
    end = title_line(title, body)
    return (body[:end].strip("# \n"), " " * end + body[end:]) if end else (title, body)


@lru_cache(10_000)
def fold_tag(name: str) -> str:
    """Return the form in which tags are compared: casefolded, with ``+`` as a space as in URLs."""
    # ``c++`` keeps its plus signs: only a plus between two letters or digits is a space.
    return re.sub(r"(?<=\w)\+(?=\w)", " ", name.strip().strip("#").strip("/")).casefold()


def is_within(tag: str, wanted: str) -> bool:
    """Return whether a tag is ``wanted`` or nested in it; ``work*`` is all tags that begin so."""
    tag, wanted = fold_tag(tag), fold_tag(wanted)
    begins = wanted.endswith("*") and tag.startswith(wanted[:-1])
    return begins or tag == wanted or tag.startswith(f"{wanted}/")


def without_parent_tags(tags: Sequence[str]) -> list[str]:
    """Return the tags without the parents of others: ``home/garden`` implies ``home``."""
    folded = [fold_tag(tag) for tag in tags]
    return [
        tag
        for tag, own in zip(tags, folded)
        if not any(other.startswith(f"{own}/") for other in folded)
    ]


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 note``, ``1,234 notes``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ordinal(number: int) -> str:
    """Return a rank or a day as people write it: ``1st``, ``1,012th``."""
    is_teen = number % 100 in (11, 12, 13)
    suffix = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"


def printable(text: str) -> str:
    """Return the text on one line, without characters that control a terminal or aren't seen."""
    return _seen(_BLANKS.sub(" ", text))


def printable_lines(text: str) -> str:
    """Return the text as :func:`printable` does, but with its lines (``\\n``) and its tabs."""
    return _seen(_BREAKS.sub(" ", text.replace("\r\n", "\n")))


def printable_json(json: str) -> str:
    """Return JSON that also escapes the characters that :func:`printable` removes."""
    return _NOT_IN_JSON.sub(lambda match: dumps(match[0])[1:-1], json)


_NOT_IN_JSON = re.compile(f"[{BREAKS}{INVISIBLE}]+")


def _seen(text: str) -> str:
    return _BESIDE_LETTERS.sub(_with_one_of_each, _INVISIBLE.sub("", text))


def _with_one_of_each(match: re.Match[str]) -> str:
    letter, run = match.groups()
    variant = _VARIANT.search(run) if letter > " " else None
    joiner = _JOINER.search(run) if _JOINS.match(letter) else None
    return letter + "".join(each[0] for each in (variant, joiner) if each)


def storable_name(name: str) -> str:
    """Return a file's name or path with bytes that aren't UTF-8 written as ``\\xe9``."""
    return _BYTES.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", name)


_BYTES = re.compile("[\ud800-\udfff]")  # as Python decodes them, and other lone surrogates


def time_left(count: int, per_second: float | None) -> str:
    """Return about how long ``count`` items take, in words; empty if the pace isn't known."""
    if not per_second:
        return ""
    minutes = round(count / per_second / 60)
    if minutes < 1:
        return "less than a minute"
    if minutes < 90:
        return f"about {counted(minutes, 'minute')}"
    return f"about {counted(round(minutes / 60), 'hour')}"


def local_time(timestamp: str | None) -> datetime | None:
    """Return a timestamp in local time; None if it isn't a valid time."""
    try:
        return datetime.fromisoformat((timestamp or "").replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        return None


def local_day(timestamp: str | None) -> str | None:
    """Return a timestamp's local date, such as ``1 May 2024``; None if it isn't a valid time."""
    moment = local_time(timestamp)
    return f"{moment.day} {moment:%b %Y}" if moment else None


def local_minute(timestamp: str | None) -> str | None:
    """Return a timestamp's local time, such as ``24 Nov, 22:59``, with the year if not this."""
    moment = local_time(timestamp)
    if moment is None:
        return None
    year = "" if moment.year == datetime.now().year else f" {moment.year}"
    return f"{moment.day} {moment:%b}{year}, {moment:%H:%M}"
