"""What Bear reads out of a note's text: its title, tags and links. Bear's database has all this in columns."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from ...markdown import WIKI_LINK
from ...notes import Link, Note, Tag, short_title, without_title_line
from .. import SourceError, Unreadable, exports, markdown_facts
from .. import text as decoding
from .. import text as exported_json
from .. import text as timestamps
from ..exports import Archive, Folder
from ..folders.files import LARGEST_FILE, File
from ..markdown_facts import without_code
from ..text import mapping, text
from . import NOTE_URL

_HEADING_MARKS = re.compile(r"#{1,6}(?:[ \t]+|$)")

# #tag, #work/projects, #two words#: after a blank. What closes a tag of several words stands after a word.
_TAG = re.compile(r"(?<!\S)#(?:(?P<words>[^\s#](?:[^#\n]*[^\s#])?)#(?![\w#])|(?P<word>[^\s#]+))")
_PUNCTUATION = ".,;:!?…)]}>'\"’”»*_~`|。，、；：！？）】」』"

# A color, as in CSS. Words such as #facade are tags.
_COLOR = re.compile(r"(?=[a-f]*\d)(?:[\da-f]{3}|[\da-f]{6}|[\da-f]{8})", re.IGNORECASE)

_BEAR_LINK = re.compile(r"\[([^\[\]\n]*)\]\((bear://x-callback-url/open-note\?[^()\s]+)\)")


def first_line(text: str) -> str:
    """The title that Bear gives a text: its first line, without the marks of a heading."""
    line = text.lstrip("\n").partition("\n")[0]
    return _HEADING_MARKS.sub("", line, count=1).strip()


def tags(text: str) -> list[str]:
    """The tags in a text, and those above them, as Bear has it: with #a/b, a note has the tags a and a/b."""
    found: dict[str, str] = {}
    prose, _ = without_code(text)
    for match in _TAG.finditer(prose):
        for tag in _with_parents(_name(match)):
            found.setdefault(tag.lower(), tag)
    return sorted(found.values())


def links(text: str, keys: Mapping[str, str]) -> list[Link]:
    """The links to other notes, one for each of these, in the order of the text.

    :param keys: the notes that there are: their keys by their titles, and by themselves
    """
    found: dict[str, Link] = {}
    prose, _ = without_code(text)
    for _, key, label in sorted([*_wiki_links(prose, keys), *_bear_links(prose, keys)]):
        found.setdefault(key, Link(key, label))
    return list(found.values())


def _name(match: re.Match[str]) -> str:
    if words := match["words"]:
        # "#one and #two" has no tag of three words, and "#one #" none of one.
        return words.strip("/")
    word = match["word"].rstrip(_PUNCTUATION)
    return "" if _COLOR.fullmatch(word) else word.strip("/")


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split("/")
    if all(part.strip() for part in parts):
        for length in range(1, len(parts) + 1):
            yield "/".join(parts[:length])


def _wiki_links(text: str, keys: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """[[Title]], [[Title/Heading]], [[Title|label]]; a title may have a "/", too."""
    for match in WIKI_LINK.finditer(text):
        title = match["target"].strip()
        while title and title not in keys:
            title = title.rpartition("/")[0].strip()
        if title:
            yield match.start(), keys[title], title


def _bear_links(text: str, keys: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    for match in _BEAR_LINK.finditer(text):
        for key in parse_qs(urlsplit(match[2]).query).get("id", ()):
            if key in keys:
                yield match.start(), key, match[1]


# TextBundles (textbundle.org): a folder with a text, what an app knows of it, and attachments, which aren't opened here.
#
# A TextPack is one as a zip archive, and a backup of Bear's a zip archive of many.

BACKUP = ".bear2bk"
BUNDLE = ".textbundle"
PACK = ".textpack"

# In a folder that ends so, or at the top. Below it, in assets/, a text is an attachment.
_TEXT = re.compile(r"(?P<folder>|(?:.*/)?[^/]*\.textbundle/)text\.[a-z]+", re.IGNORECASE)
_INFO = "info.json"
_ASSETS = "assets/"


@dataclass(frozen=True)
class Bundle:
    """One TextBundle, as long as the archive that it is in is open."""

    archive: Archive
    folder: str  # in the archive: "" or "….textbundle/"
    text_key: str
    place: str  # where it is below the location that is read
    name: str  # what it is called, without suffix

    @property
    def modified(self) -> float:
        return self.archive.files[self.text_key].modified

    def info(self) -> Any:
        """What info.json says, if it is there. Raises Unreadable."""
        key = self.folder + _INFO
        if key not in self.archive.files:
            return None
        return exported_json.parsed(self.archive.read(key))

    def text(self) -> str:
        """Raises Unreadable."""
        return _decoded(self.archive.read(self.text_key, largest=LARGEST_FILE))

    def head(self, size: int) -> str:
        """The first lines of the text, at most so many bytes. Raises Unreadable."""
        data = self.archive.head(self.text_key, size)
        if len(data) == size:  # not half a character
            data = data[: data.rfind(b"\n")]
        return _decoded(data)


class Bundles:
    """All TextBundles in a bundle, pack or backup, or in a folder of these; they can be gone through again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped: list[str] = []

    def __iter__(self) -> Iterator[Bundle]:
        """Raises SourceError."""
        lines: list[str] = []
        with exports.opened(self.path) as archive:
            lines += archive.skipped
            yield from _bundles(archive, "", self.path.name)
            for file in _inner(archive, lines):
                try:
                    with _opened(archive, file) as inner:
                        lines += [f"{file.key}/{line}" for line in inner.skipped]
                        yield from _bundles(inner, f"{file.key}/", file.key)
                except SourceError as reason:
                    lines.append(str(reason))
                except Unreadable as reason:
                    lines.append(f"{file.key}: {reason}")
        # The same the next time.
        self.skipped += [line for line in lines if line not in self.skipped]

    def has_database(self) -> bool:
        """Whether there is a database instead."""
        with exports.opened(self.path) as archive:
            return any(key.endswith("database.sqlite") for key in archive.files)


def _bundles(archive: Archive, inside: str, container: str) -> Iterator[Bundle]:
    for key in archive.files:
        match = _TEXT.fullmatch(key)
        if match is None:
            continue
        folder = match["folder"]
        if folder or _INFO in archive.files:
            name = os.path.splitext(os.path.basename(folder.rstrip("/") or container))[0]
            place = (inside + folder).rstrip("/") or container
            yield Bundle(archive, folder, key, place, name)


def _inner(archive: Archive, lines: list[str]) -> list[File]:
    """The archives in an archive or folder that hold TextBundles.

    Several backups in a folder are the same library at several times: what was deleted or encrypted since the older ones
    must not come back.
    """
    if _INFO in archive.files:  # this is a bundle; archives in it are attachments
        return []
    own = [
        file
        for key, file in archive.files.items()
        if f"{BUNDLE}/" not in key.lower() and not key.startswith(_ASSETS)
    ]
    suffixes = (PACK,) if isinstance(archive, Folder) else (PACK, BACKUP, ".zip")
    found = [file for file in own if file.suffix in suffixes]
    if isinstance(archive, Folder):
        backups = sorted(
            (file for file in own if file.suffix == BACKUP), key=lambda file: file.modified
        )
        for older in backups[:-1]:
            lines.append(
                f"{older.key}: older than {backups[-1].key}; only the newest backup is read"
            )
        found += backups[-1:]
    return found


def _opened(archive: Archive, file: File) -> AbstractContextManager[Archive]:
    if isinstance(archive, Folder):
        return exports.opened(Path(file.path))
    return exports.zipped(io.BytesIO(archive.read(file.key)), file.key)


def _decoded(data: bytes) -> str:
    try:
        return decoding.decoded(data)
    except decoding.NotText:
        raise Unreadable("not text, whatever its name says") from None


# The notes in Bear's backups, and in TextBundles, which Bear and other apps export.
#
# A backup is a zip archive of TextBundles. In these Bear writes the note's own id, so that a note is the same one in a
# backup and in Bear's database.

# Under this name a TextBundle has what Bear knows of a note.
BEAR = "net.shinyfrog.bear"

# Bytes: enough of a text for its first line.
_HEAD = 4096


class BearBackup:
    """A backup of Bear's (.bear2bk), a TextBundle (.textbundle, .textpack), or a folder of these."""

    app = "Bear"
    heading_link = "&header="
    default_name = "bear-backup"

    def __init__(self, location: Path | str, name: str = default_name) -> None:
        self.path = Path(location).expanduser()
        self.name = name
        self.location = str(location)
        self.skipped: list[str] = []

    @classmethod
    def reads(cls, location: str) -> bool:
        path = Path(location).expanduser()
        kinds = {BACKUP, BUNDLE, PACK}
        if path.suffix.lower() in kinds:
            return path.exists()
        if not path.is_dir():
            return False
        # Some editors keep both in a folder; then its other notes count, too.
        inside = {entry.suffix.lower() for entry in path.iterdir()}
        return not inside.isdisjoint(kinds) and inside.isdisjoint({".md", ".markdown", ".txt"})

    def state(self) -> str:
        return exports.state(self.path)

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        bundles = Bundles(self.path)
        self.skipped = bundles.skipped
        # Twice through, because a link may lead to a note that comes later. Only one note at a time is in memory.
        listed = self._listed(bundles)
        if not listed:
            raise self._nothing(bundles)
        keys = {found.title: key for key, found in listed.items()} | {key: key for key in listed}
        known = {found.place: found.info for found in listed.values()}
        for bundle in bundles:
            info = known.get(bundle.place)
            if info is None or (info.trashed and not include_trashed):
                continue
            try:
                yield _note(bundle, info, keys)
            except Unreadable as reason:
                self.skipped.append(f"{bundle.place}: {reason}")

    def _listed(self, bundles: Bundles) -> dict[str, _Listed]:
        """The notes by their keys; of a note that is there twice, the newer one."""
        listed: dict[str, _Listed] = {}
        for bundle in bundles:
            try:
                info = _Info.of(bundle)
                title = bundle.name if info.encrypted else first_line(bundle.head(_HEAD))
            except Unreadable as reason:
                self.skipped.append(f"{bundle.place}: {reason}")
                continue
            found = _Listed(info, bundle.place, title)
            rival = listed.get(info.key)
            older = found
            if rival is None or _age(info) >= _age(rival.info):
                listed[info.key], older = found, rival
            if older is not None:
                self.skipped.append(f"{older.place}: an older version of {listed[info.key].place}")
        return listed

    def _nothing(self, bundles: Bundles) -> SourceError:
        if self.skipped:
            return SourceError(
                f"None of the notes in {self.location} can be read. The first: {self.skipped[0]}"
            )
        if bundles.has_database():
            return SourceError(
                f"{self.location} is no backup but a copy of Bear's own data. Unpack it and give the PATH of the"
                " database.sqlite in it."
            )
        return SourceError(
            f"There are no notes of Bear's in {self.location}. Give the PATH of a backup ({BACKUP}), of a"
            f" TextBundle ({BUNDLE}, {PACK}), or of a folder with some."
        )


class _Info(NamedTuple):
    """What a bundle says of its note, other than the text."""

    key: str
    url: str | None
    created: str | None
    modified: str | None
    pinned: bool
    pinned_in: tuple[str, ...]
    archived: bool
    trashed: bool
    encrypted: bool

    @classmethod
    def of(cls, bundle: Bundle) -> _Info:
        """Raises Unreadable."""
        info = mapping(mapping(bundle.info()).get(BEAR))
        identifier = text(info.get("uniqueIdentifier")).strip()
        pinned_in = info.get("pinnedInTagTitles")
        return cls(
            key=identifier or bundle.place,
            url=NOTE_URL + quote(identifier, safe="") if identifier else None,
            created=timestamps.timestamp(info.get("creationDate")),
            modified=timestamps.timestamp(info.get("modificationDate"))
            or timestamps.of_seconds(bundle.modified),
            pinned=_flag(info.get("pinned")),
            pinned_in=tuple(
                filter(None, map(text, pinned_in if isinstance(pinned_in, list) else ()))
            ),
            archived=_flag(info.get("archived")),
            trashed=_flag(info.get("trashed")),
            encrypted=_flag(info.get("encrypted")),
        )


class _Listed(NamedTuple):
    info: _Info
    place: str
    title: str


def _age(info: _Info) -> tuple[str, bool]:
    """What tells the newer version of a note. Encrypting it doesn't change its date."""
    return info.modified or "", info.encrypted


def _note(bundle: Bundle, info: _Info, keys: Mapping[str, str]) -> Note:
    if info.encrypted:  # the text isn't even looked at
        title, body, facts, tags, linked = bundle.name, "", markdown_facts.facts(""), (), ()
    else:
        written = bundle.text()
        title = first_line(written) or ("" if info.url else bundle.name)
        body = without_title_line(written, title)
        facts = markdown_facts.facts(body)
        tags = _tags(written, info.pinned_in)
        linked = tuple(link for link in links(written, keys) if link.key != info.key)
    return Note(
        key=info.key,
        title=short_title(title),
        body=body,
        tags=tags,
        links=linked,
        created=info.created,
        modified=info.modified,
        pinned=info.pinned,
        archived=info.archived,
        trashed=info.trashed,
        encrypted=info.encrypted,
        todos_open=facts.todos_open,
        todos_done=facts.todos_done,
        has_image=facts.has_image,
        has_file=facts.has_file,
        has_code=facts.has_code,
        url=info.url,
    )


def _tags(written: str, pinned_in: tuple[str, ...]) -> tuple[Tag, ...]:
    pinned = {tag.lower() for tag in pinned_in}
    return tuple(Tag(name, pinned=name.lower() in pinned) for name in tags(written))


def _flag(value: object) -> bool:
    """Bear writes 1; other apps that write what Bear reads write true."""
    return value in (1, "1", "true")
