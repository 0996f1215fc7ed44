"""The one record that every source makes and the index file stores, and words about it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import NamedTuple

# Stands between the texts of two files: a form feed.
NEXT_FILE = "\f"
# Characters. A longer first line is no title but a paragraph.
LONGEST_TITLE = 160
# A Markdown heading, as far as a title needs one: "# Title", "## Title ##".
_HEADING = re.compile(r"#{1,6}[ \t]+")


# What "Open in …" may open: the web, files, and programs for notes, texts, papers, tasks and mail.
# Other schemes may run what follows them, as search-ms:, ms-word: and shell: do. A plugin for
# another program's notes may add that program's.
OPENED_SCHEMES = set(
    "agenda anytype applenotes bear bookends brain capacities craftdocs cursor dayone drafts "
    "evernote file fsnotes hook http https joplin logseq mailto marginnote3app marginnote4app "
    "message mindnode mobilenotes mvim noteplan notes notion nv nvalt obsidian omnifocus onenote "
    "org-protocol raindrop readdle-spark remnote slack subl tana taskpaper tel things ticktick "
    "todoist tot txmt typora ulysses vscode vscode-insiders vscodium x-apple-reminderkit x-bbedit "
    "x-bdsk x-devonthink-item zed zotero".split()
)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE | re.ASCII)


class ForeseenError(Exception):
    """What a person can do something about: the message says what happened and what to do."""


@dataclass(frozen=True)
class Tag:
    """A whole tag such as ``work/projects``, without ``#``, in the case in which it was typed."""

    name: str
    pinned: bool = False  # the note is pinned inside this tag


@dataclass(frozen=True)
class Link:
    """A link from one note to another note of the same source."""

    key: str  # the target's own id in the source
    title: str = ""  # the target's title as the link has it


class LinkedFile(NamedTuple):
    """An image or file that a note shows or links to."""

    target: str  # what the text calls it, decoded
    place: str  # its path below the source's folder, or in its archive
    stamp: str  # changes whenever its content does


@dataclass(frozen=True)
class Note:
    """A note as its source has it. Dates are ISO 8601 in UTC (``2024-05-01T09:30:00Z``) or None.

    Its text stays out of its ``repr``, and so out of tracebacks and logs.
    """

    key: str  # the source's own id, unique within the source
    title: str = field(default="", repr=False)
    # Markdown without the title line; empty for an encrypted note.
    body: str = field(default="", repr=False)
    tags: tuple[Tag, ...] = ()
    links: tuple[Link, ...] = ()
    linked_files: tuple[LinkedFile, ...] = field(default=(), repr=False)
    # The words in images (OCR) and files, with NEXT_FILE between two texts; and what they are of,
    # in the same order, if the source knows: "roof.png", "permit.pdf, page 2".
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
    # Changes whenever the note may have changed, where the source can tell without reading it.
    stamp: str | None = None

    def fingerprint(self) -> str:
        """Return a hash of the whole note, apart from its stamp."""
        # Not dataclasses.astuple(), which copies every value first: twenty times slower; and the
        # texts as they are, because repr() looks at each character.
        fields = {**vars(self), "stamp": None, "body": len(self.body), "attachments": None}
        values = f"{tuple(fields.values())!r}{self.body}\0{self.attachments}"
        return hashlib.blake2b(values.encode(errors="replace"), digest_size=16).hexdigest()


def text_hash(title: str, body: str) -> str | None:
    """Return a hash of the words, whatever their spacing; None for a note without a body."""
    if not body.strip():  # two empty notes called "Ideas" are two notes
        return None
    words = " ".join(f"{title} {body}".split())
    return hashlib.blake2b(words.encode(errors="replace"), digest_size=16).hexdigest()


def files_of(attachments: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name of each file that has text, "" if it isn't known, and the text."""
    pairs = zip_longest(names, attachments.split(NEXT_FILE) if names else [attachments])
    return [(name or "", text.strip()) for name, text in pairs if text and text.strip()]


def scheme_of(address: str) -> str | None:
    """Return the scheme of an address, in lower case; None for one within this site."""
    match = _SCHEME.match(address)
    return match[1].lower() if match else None


def can_be_opened(url: str | None) -> bool:
    """Return whether a note's own address may be a link to the program that has the note."""
    return scheme_of(url or "") in OPENED_SCHEMES


def without_title_line(text: str, title: str) -> str:
    """Return the Markdown without its first line, if that is where the title comes from."""
    # Its words would count twice. A whole paragraph stays: the title is only its beginning.
    first, _, rest = text.lstrip("\n").partition("\n")
    is_title = _HEADING.match(first) or first.strip() == title
    if title and is_title and len(title) <= LONGEST_TITLE:
        return rest.lstrip("\n")
    return text


def short_title(title: str) -> str:
    """Return the title for people: the beginning of a paragraph that Bear takes for one."""
    if len(title) <= LONGEST_TITLE:
        return title
    return title[:LONGEST_TITLE].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def fold_tag(name: str) -> str:
    """Return the tag as tags are compared: without case, and ``+`` as a space, as in URLs."""
    # ``c++`` keeps its plus signs: only one between two letters or digits is a space.
    return re.sub(r"(?<=\w)\+(?=\w)", " ", name.strip().strip("#").strip("/")).casefold()


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 note``, ``1,234 notes``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def time_left(count: int, per_second: float | None) -> str:
    """Return how long so much work takes, for people; empty if that isn't known."""
    if not per_second:
        return ""
    minutes = round(count / per_second / 60)
    if minutes < 1:
        return "less than a minute"
    if minutes < 90:
        return f"about {counted(minutes, 'minute')}"
    return f"about {counted(round(minutes / 60), 'hour')}"


def local_day(timestamp: str | None) -> str | None:
    """Return a time's day here, such as ``1 May 2024``; None for no time that a calendar has."""
    try:
        moment = datetime.fromisoformat((timestamp or "").replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        return None
    return f"{moment.day} {moment:%b %Y}"
