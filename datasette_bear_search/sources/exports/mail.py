"""Mail in mbox files, as Gmail, Thunderbird and Apple Mail export them: a thread is a note.

The format: RFC 4155. Google Takeout adds X-GM-THRID and X-Gmail-Labels to each message
(https://support.google.com/accounts/answer/3024190).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr, parsedate_to_datetime
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from ...notes import Note
from ..base import Incremental, Unchanged, Unreadable
from ..files.archive import MEGABYTE, Archive, File
from ..files.file_source import FileSource
from ..files.opening import paths_at
from ..formats.documents import parse_html
from ..formats.markdown_metadata import as_markdown, note_from_markdown, title_of
from ..formats.text import decode, is_encoding, parse_timestamp, storable

SUFFIX = ".mbox"

# Bytes of a message that are read: the text comes first, then the attachments.
LARGEST_MESSAGE = 2 * MEGABYTE
LARGEST_HEADERS = 65_536

# The parser compares each line with all enclosing boundaries. No real message has so many parts.
MOST_PARTS = 200

_SEPARATOR = re.compile(rb"\n\r?\nFrom [^\n]*\d:\d\d[^\n]*\n")
_END_OF_HEADERS = re.compile(rb"\n\r?\n")
_ID = re.compile(r"<[^<>\s]+>")
_REPLY = re.compile(r"(?:(?:re|aw|fwd?|wg|sv|tr|antw)(?:\[\d+\])?:\s*)+", re.IGNORECASE)
# The quoted text in a reply, with the line above it: "On 1 May 2024, Ada wrote:"
_QUOTED = re.compile(r"(?:^[^>\n][^\n]{0,300}:[ \t\r]*\n\s{0,4})?(?:^>[^\n]*\n?)+\n*", re.MULTILINE)
# Labels and folders that say nothing about the subject of a message.
_SYSTEM = re.compile(
    r"inbox|sent(?: mail)?|opened|unread|important|starred|archived|drafts?|chat|spam|trash|junk"
    r"|category .*|all mail.*|mbox",
    re.IGNORECASE,
)


class Mailbox(FileSource, Incremental):
    """Mail: an .mbox file, or a folder or zip file with some, such as Gmail's from Takeout."""

    default_name = "mail"

    @classmethod
    def reads(cls, location: str) -> bool:
        return any(path.lower().endswith(SUFFIX) for path in paths_at(location))

    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterator[Note | Unchanged]:
        advice = "one, or of an export of Google Takeout with Mail"
        with self._open_export(_is_mailbox, f"{SUFFIX} file", advice) as (archive, files):
            keys = [file.key for file in files]
            yield from threads(archive, keys, known, self.skipped, include_trashed)


def _is_mailbox(file: File) -> bool:
    # Apple Mail exports a folder Name.mbox that contains a file named mbox.
    return file.suffix == SUFFIX or f"/{file.key}".endswith("/mbox")


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
    has_image: bool = False
    has_file: bool = False


def threads(
    archive: Archive,
    files: Collection[str],
    known: Mapping[str, str],
    skipped: list[str],
    include_trashed: bool,
) -> Iterator[Note | Unchanged]:
    """Yield the threads in the mbox files of an archive, without spam."""
    # Read twice, as a thread's messages may be anywhere. Only incomplete threads stay in memory.
    by_id: dict[str, _Thread] = {}
    owners: list[_Thread | None] = []
    seen: set[str] = set()
    for file, raw in _messages(archive, files, skipped):
        headers = _END_OF_HEADERS.split(raw[:LARGEST_HEADERS], 1)[0]
        head = message_from_bytes(headers)
        own = "".join(_ID.findall(_header(head, "Message-ID"))[:1]) or f"{file}#{len(owners)}"
        names = [label.strip() for label in _header(head, "X-Gmail-Labels").split(",")]
        is_trashed = "Trash" in names
        if own in seen or "Spam" in names or (is_trashed and not include_trashed):
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
        thread.labels |= dict.fromkeys(filter(None, names)) or {Path(file).stem: None}
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
        rest = b"\n\n"
        try:
            for chunk in chain(archive.chunks(file), [b"\n\nFrom 00:00\n"]):
                *whole, rest = _SEPARATOR.split(rest + chunk)
                yield from ((file, raw[:LARGEST_MESSAGE]) for raw in whole if raw.strip())
                if len(rest) > LARGEST_MESSAGE:  # keep the end: the next separator may begin there
                    rest = rest[:LARGEST_MESSAGE] + rest[LARGEST_MESSAGE:][-1000:]
        except Unreadable as reason:
            line = f"{file}: {reason}"
            skipped += [line] if line not in skipped else []


def _header(message: Message, name: str) -> str:
    value = str(message.get(name, ""))[:10_000]
    if "=?" in value:
        with suppress(Exception):
            value = str(make_header(decode_header(value)))
    return storable(" ".join(value.split()))


def _add(thread: _Thread, raw: bytes) -> None:
    if raw.count(b"boundary=") + raw.count(b"message/rfc822") > MOST_PARTS:
        raise ValueError("it has too many parts")
    message = message_from_bytes(re.sub(rb"(?m)^>(?=>*From )", b"", raw))
    texts: dict[str, list[str]] = {"text/plain": [], "text/html": []}
    for part in message.walk():
        kind = part.get_content_type()
        if part.get_filename():
            thread.has_image |= kind.startswith("image/")
            thread.has_file |= not kind.startswith("image/")
        elif kind in texts:
            data = part.get_payload(decode=True)
            charset = str(part.get_content_charset() or "")
            if isinstance(data, bytes):
                is_known = charset and is_encoding(charset)
                text = data.decode(charset, "replace") if is_known else decode(data)
                texts[kind].append(text.replace("\r\n", "\n"))
    text = as_markdown("\n\n".join(texts["text/plain"]))
    if not text.strip():
        text = "\n\n".join(parse_html(html).text for html in texts["text/html"])
    name, address = parseaddr(_header(message, "From")[:1000])
    moment = None
    with suppress(Exception):
        moment = parse_timestamp(parsedate_to_datetime(_header(message, "Date")[:100]))
    subject = _REPLY.sub("", _header(message, "Subject"), 1)
    thread.messages.append(_Message(moment or "", name or address, subject, storable(text)))


def _note(thread: _Thread) -> Note:
    messages = sorted(thread.messages)
    paragraphs: list[str] = []
    for message in messages:
        text = (_QUOTED.sub("", message.text) if paragraphs else message.text).strip()
        head = ", ".join(filter(None, [message.author, message.moment[:10]]))
        paragraphs.append(f"**{head}:**\n\n{text}")
    subject = next((message.subject for message in messages if message.subject), "")
    moments = [message.moment for message in messages if message.moment]
    is_gmail = thread.key.isdecimal()
    return note_from_markdown(
        thread.key,
        "\n\n".join(paragraphs),
        title=subject or title_of("", "".join(message.text for message in messages).strip()),
        tags=[label for label in thread.labels if not _SYSTEM.fullmatch(label)],
        created=min(moments, default=None),
        modified=max(moments, default=None),
        pinned="Starred" in thread.labels,
        trashed=thread.is_trashed,
        has_image=thread.has_image,
        has_file=thread.has_file,
        url=f"https://mail.google.com/mail/#all/{int(thread.key):x}" if is_gmail else None,
        stamp=f"{thread.stamp:x}",
    )
