"""Mail in mbox files, as Gmail, Thunderbird and Apple Mail export them: a thread is a note.

The format: RFC 4155. Google Takeout adds X-GM-THRID and X-Gmail-Labels to each message
(https://support.google.com/accounts/answer/3024190).
"""

from __future__ import annotations

import csv
import os
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parseaddr, parsedate_to_datetime
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from zlib import crc32

from ...notes import Note
from ..base import Incremental, Items, Unchanged, Unreadable
from ..files.archive import MEGABYTE, OTHER_NOTES, Archive, File
from ..files.file_source import FileSource, paths_at
from ..files.states import folded
from ..formats.dates import parse_timestamp
from ..formats.documents import parse_html
from ..formats.markdown_metadata import as_markdown, note_from_markdown, suffix, title_of
from ..formats.text import decode, is_encoding, storable, word_lists

SUFFIX, MESSAGE, _INDEX = ".mbox", ".eml", ".msf"
# https://cr.yp.to/proto/maildir.html: the name of a file ends with flags, such as ":2,ST".
_IN_MAILDIR = re.compile(r"(?:.*/)?(?:cur|new)/\d+\.[^/]+$")
_THROWN_AWAY = re.compile(r"[:;!]2,[A-Z]*T[A-Z]*$")
_NO_NAMES = ("cur", "new", "mbox")  # of folders and files whose folder has the name
_FOLDER_END = re.compile(r"\.(?:mbox|sbd)(?=/|$)", re.IGNORECASE)


def _any(name: str) -> str:
    return "|".join(word_lists()[name]).replace("_", " ")


# Bytes of a message that are read: the text comes first, then the attachments.
LARGEST_MESSAGE = 2 * MEGABYTE
LARGEST_HEADERS = 65_536

# The parser compares each line with all enclosing boundaries. No real message has so many parts.
MOST_PARTS = 200

# Programs write anything after "From ", and not all of them a blank line before it. A text has such
# lines, too, but only a message goes on with headers, some of them usual ones.
_SEPARATOR = re.compile(
    rb"\nFrom [^\n]*\n(?=(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){0,30}?"
    rb"(?:Content-Type|Date|Delivered-To|From|Message-ID|MIME-Version|Received|Return-Path|Subject|To|X-[\w-]+):)",
    re.IGNORECASE,
)
_END_OF_HEADERS = re.compile(rb"\n\r?\n")
_ID = re.compile(r"<[^<>\s]+>")
_REPLY = re.compile(rf"\A(?:(?:{_any('replies')})(?:\[\d+\])?\s?[:：]\s*)+", re.IGNORECASE)
# The quoted text in a reply, with the line above it: "On 1 May 2024, Ada wrote:"
_QUOTED = re.compile(
    r"(?:^(?:(?:On|Am|Le|El|Em|Il|Op|Den) [^\n]{0,300}\n)?[^>\n][^\n]{0,300}:[ \t\r]*\n\s{0,4})?"
    r"(?:^>[^\n]*\n?)+\n*",
    re.MULTILINE,
)
_ORIGINAL = re.compile(
    rf"(?im)^[ \t]*-{{3,}} ?(?:{_any('originals')}) ?-{{3,}}|^_{{32}}\s*\n(?=[^\n:]{{2,20}}: )"
)
# What an invitation says, in the format of RFC 5545, where long lines are folded.
_EVENT = re.compile(r"^(?:SUMMARY|LOCATION|DESCRIPTION)(?:;[^:\n]*)?:(.+)", re.MULTILINE)
MOST_PEOPLE = 100

_CATEGORY = re.compile(
    r"\[?(?:category (?:forums|personal|promotions|purchases|reservations|social|travel|updates)$"
    rf"|(?:{_any('categories')})\s?[:：\]])|all mail\b"
)


class Mailbox(FileSource, Incremental):
    """Mail: .mbox or .eml files, one or a folder or zip file with some, or a Maildir."""

    default_name = "mail"

    @classmethod
    def reads(cls, location: str) -> bool:
        inside = {*paths_at(location)}
        suffixes = {*map(suffix, inside)}
        is_mail = MESSAGE in suffixes and suffixes.isdisjoint(OTHER_NOTES)
        return is_mail or not suffixes.isdisjoint((SUFFIX, _INDEX)) or {"cur", "new"} <= inside

    def read_changed(self, known: Mapping[str, str], *, include_trashed: bool = False) -> Items:
        advice = "one, or of an export of Google Takeout with Mail"
        with self._open_export(_is_mailbox, "mail", advice) as (archive, files):
            keys = [file.key for file in files]
            yield from threads(archive, keys, known, self.skipped, include_trashed)


def _is_mailbox(file: File) -> bool:
    # Apple Mail's are Name.mbox/mbox. Thunderbird's own have no suffix, but an index beside them.
    is_one = f"/{file.key}".endswith("/mbox") or os.path.isfile(f"{file.path}{_INDEX}")
    return is_one or file.suffix == SUFFIX or _is_message(file.key)


def _is_message(key: str) -> bool:
    """Return whether a file has a single message: an .eml file, or one in a Maildir."""
    return suffix(key) == MESSAGE or bool(_IN_MAILDIR.match(key))


class _Message(NamedTuple):
    moment: str  # ISO 8601, or ""
    author: str
    subject: str
    text: str  # Markdown


@dataclass(eq=False)
class _Thread:
    key: str
    stamp: int = 0  # checksum of its messages' headers
    waiting: int = 0  # messages that haven't been read yet; -1 for an unchanged thread
    is_trashed: bool = True
    labels: dict[str, None] = field(default_factory=dict)
    messages: list[_Message] = field(default_factory=list)
    people: dict[str, None] = field(default_factory=dict)
    has_image: bool = False
    has_file: bool = False
    pinned: bool = False


@lru_cache(1000)  # many messages have the same labels
def role_of(label: str) -> str:
    """Return what a label or folder means to mail programs; "" if it is about the subject.

    It is trash, spam, starred or system, whatever the program's language.
    """
    name = folded(" ".join(label.split()))
    name = name.removeprefix("[gmail]/").removeprefix("[google mail]/")
    return _roles().get(name) or ("system" if _CATEGORY.match(name) else "")


@cache
def _roles() -> dict[str, str]:
    import yaml  # 10 ms

    listed = yaml.safe_load(Path(__file__).with_name("mail_labels.yaml").read_text("utf-8"))
    return {folded(name): role for role in listed for name in listed[role]}


def threads(
    archive: Archive,
    files: Collection[str],
    known: Mapping[str, str],
    skipped: list[str],
    include_trashed: bool,
) -> Items:
    """Yield the threads in the mbox files of an archive, without spam."""
    # Read twice, as a thread's messages may be anywhere. Only incomplete threads stay in memory.
    by_id: dict[str, _Thread] = {}
    owners: list[_Thread | None] = []
    seen: set[str] = set()
    is_gmail = knows_trash = False
    for file, raw in _messages(archive, files, skipped):
        headers = _END_OF_HEADERS.split(raw[:LARGEST_HEADERS], 1)[0]
        head = message_from_bytes(headers)
        own = "".join(_ID.findall(_header(head, "Message-ID"))[:1]) or f"{file}#{len(owners)}"
        # A label with a comma is quoted, as in CSV.
        labels = next(csv.reader([_header(head, "X-Gmail-Labels")], skipinitialspace=True), [])
        names = [name for label in labels if (name := label.strip())]
        is_gmail |= bool(names)
        place = PurePosixPath(file).parent if _is_message(file) else PurePosixPath(file)
        while place.name in _NO_NAMES:
            place = place.parent
        folders = _FOLDER_END.sub("", str(place)).split("/")
        if folders[-1][0] == ".":  # in a Maildir, .Work.Roof is in .Work
            folders += folders.pop().split(".")[1:]
        roles = {role_of(name) for name in (*names, *folders)}
        knows_trash |= bool(roles & {"trash", "spam"})
        is_trashed = "trash" in roles or _is_deleted(head) or bool(_THROWN_AWAY.search(file))
        if own in seen or "spam" in roles or (is_trashed and not include_trashed):
            owners.append(None)
            continue
        seen.add(own)
        ids = [_header(head, "X-GM-THRID")]
        if not ids[0]:
            before = f"{_header(head, 'References')} {_header(head, 'In-Reply-To')}"
            ids = [*_ID.findall(before), own]
        thread = next((by_id[name] for name in ids if name in by_id), _Thread(ids[0]))
        for name in ids:
            by_id.setdefault(name, thread)
        owners.append(thread)
        thread.waiting += 1
        thread.stamp = crc32(headers, thread.stamp)
        thread.is_trashed &= is_trashed
        thread.pinned |= "starred" in roles
        subjects = [name for name in names or folders[-1:] if name and not role_of(name)]
        thread.labels |= dict.fromkeys(subjects)
    if is_gmail and not knows_trash:
        skipped.append(
            "no message has a label that is known as Gmail's trash or spam. If your account has"
            " some in a language that isn't known, list their labels under never"
        )
    for thread in dict.fromkeys(by_id.values()):
        if known.get(thread.key) == f"{thread.stamp:x}":
            thread.waiting = -1
            yield Unchanged(thread.key)
    for owner, (_, raw) in zip(owners, _messages(archive, files, skipped)):
        if owner and owner.waiting > 0:
            owner.waiting -= 1
            try:
                _add(owner, raw)
            except Exception as error:  # a message can contain anything
                skipped.append(f"a message of {owner.key}: can't be read ({error})")
            if not owner.waiting:
                yield _note(owner)
                owner.messages.clear()


def _messages(
    archive: Archive, files: Collection[str], skipped: list[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield (file, message) for each message, cut at LARGEST_MESSAGE."""
    for file in files:
        rest = b"\n"
        try:
            if _is_message(file):
                yield file, archive.head(file, LARGEST_MESSAGE).removeprefix(BOM_UTF8)
                continue
            for chunk in chain(archive.chunks(file), [b"\n\nFrom \nFrom:"]):
                # Above this, what came before the chunk was searched with enough text below it.
                start = max(0, len(rest) - LARGEST_HEADERS)
                *whole, last = _SEPARATOR.split(rest[start:] + chunk)
                rest = rest[:start]
                for raw in whole:
                    if (raw := rest + raw).strip():
                        yield file, raw[:LARGEST_MESSAGE]
                    rest = b""
                rest += last
                if len(rest) > LARGEST_MESSAGE:  # keep the end: the next separator may begin there
                    rest = rest[:LARGEST_MESSAGE] + rest[LARGEST_MESSAGE:][-LARGEST_HEADERS:]
        except Unreadable as reason:
            line = f"{file}: {reason}"
            skipped += [line] if line not in skipped else []


def _is_deleted(head: Message) -> bool:
    """Return whether Thunderbird, or a program for Unix, only hides the message as deleted."""
    is_expunged = re.fullmatch(r"(?i)[\da-f]*[89a-f]", _header(head, "X-Mozilla-Status"))
    return bool(is_expunged) or "D" in _header(head, "X-Status")


def _header(message: Message, name: str) -> str:
    values = (str(value) for key, value in message.raw_items() if key.lower() == name.lower())
    return _decoded(next(values, "")[:10_000])


def _decoded(value: str) -> str:
    if not value.isascii():
        with suppress(Unreadable):
            value = decode(value.encode("utf-8", "surrogateescape"))
    if "=?" in value:
        with suppress(Exception):
            value = str(make_header(decode_header(value)))
    return storable(" ".join(value.split()))


def _add(thread: _Thread, raw: bytes) -> None:
    if raw.count(b"boundary=") + raw.count(b"message/rfc822") > MOST_PARTS:
        raise ValueError("it has too many parts")
    message = message_from_bytes(re.sub(rb"(?m)^>(?=>*From )", b"", raw))
    texts: dict[str, list[str]] = {"text/plain": [], "text/html": [], "text/calendar": []}
    more: list[str] = []
    for part in message.walk():
        kind = part.get_content_type()
        # Some programs give the text itself a name.
        is_named = part is not message or kind[:5] != "text/"
        name = _decoded(part.get_filename() or "") if is_named else ""
        if name:
            thread.has_image |= kind.startswith("image/")
            thread.has_file |= not kind.startswith("image/")
            more += [f"File: {name}"] * ("Content-ID" not in part)
        if part is not message and (subject := _header(part, "Subject")):  # it is forwarded
            texts["text/plain"].append(f"{_header(part, 'From')}: {subject}")
        if kind in texts and (not name or kind == "text/calendar"):
            data = part.get_payload(decode=True)
            charset = str(part.get_content_charset() or "utf-8")
            if isinstance(data, bytes):
                is_unicode = charset in ("utf-8", "us-ascii") or not is_encoding(charset)
                text = decode(data) if is_unicode else data.decode(charset, "replace")
                texts[kind].append(text.replace("\r\n", "\n"))
    text = as_markdown("\n\n".join(texts["text/plain"]))
    if not text.strip():
        text = "\n\n".join(parse_html(html).text for html in texts["text/html"])
    events = [_EVENT.findall(each.replace("\n ", "")) for each in texts["text/calendar"][:1]]
    more += [re.sub(r"\\[nN]", "\n", said).replace("\\", "") for each in events for said in each]
    text = "\n\n".join([text.strip(), *dict.fromkeys(more)])
    people = [_header(message, name) for name in ("From", "To", "Cc", "Bcc")]
    for name, address in getaddresses(people)[:MOST_PEOPLE]:
        thread.people |= {f"{name} <{address}>" if name else address: None}
    name, address = parseaddr(_header(message, "From")[:1000])
    moment = None
    for date in (_header(message, "Date"), _header(message, "Received").rpartition(";")[2]):
        with suppress(Exception):
            moment = moment or parse_timestamp(parsedate_to_datetime(date[:100]))
        moment = moment or parse_timestamp(date)
    subject = _REPLY.sub("", _header(message, "Subject"))
    thread.messages.append(_Message(moment or "", name or address, subject, storable(text)))


def _note(thread: _Thread) -> Note:
    messages = sorted(thread.messages, key=itemgetter(0))  # those without a date come first
    paragraphs: list[str] = []
    for message in messages:
        text = message.text
        if paragraphs:
            text = _QUOTED.sub("", _ORIGINAL.split(text, 1)[0])
        head = ", ".join(filter(None, [message.author, message.moment[:10]]))
        paragraphs += [f"**{head}:**"] * bool(head) + [text.strip()]
    if people := ", ".join([*filter(None, thread.people)][:MOST_PEOPLE]):
        paragraphs.append(f"People: {people}")
    subject = next((message.subject for message in messages if message.subject), "")
    moments = [message.moment for message in messages if message.moment]
    is_gmail = thread.key.isdecimal()
    return note_from_markdown(
        thread.key,
        "\n\n".join(paragraphs),
        title=subject or title_of("", "".join(message.text for message in messages).strip()),
        tags=thread.labels,
        created=min(moments, default=None),
        modified=max(moments, default=None),
        pinned=thread.pinned,
        trashed=thread.is_trashed,
        has_image=thread.has_image,
        has_file=thread.has_file,
        url=f"https://mail.google.com/mail/#all/{int(thread.key):x}" if is_gmail else None,
        stamp=f"{thread.stamp:x}",
    )
