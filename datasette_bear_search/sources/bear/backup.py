"""The notes in Bear's backups, and in TextBundles, which Bear and other apps export.

A TextBundle (textbundle.org) is a folder with a text, an app's metadata and attachments, which
aren't opened here. A TextPack is a zipped TextBundle, and a Bear backup is a zip archive of many.
Bear writes a note's id into its metadata, so a note in a backup has the same key as in Bear itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from ...notes import Link, LinkedFile, Note, Tag, short_title, without_title_line
from ...text.markdown import WIKI_LINK
from ..base import SourceError, Unreadable
from ..files.archive import LARGEST_NOTE, OTHER_NOTES, Archive, File, Folder
from ..files.file_source import FileSource, open_archive, open_inner, paths_at
from ..formats.dates import parse_timestamp, timestamp_from_seconds
from ..formats.markdown_metadata import extract_metadata, suffix, without_code
from ..formats.text import as_dict, as_text, decode, load_json
from . import HEADING_LINK, NOTE_URL, first_line

BACKUP, OLD_BACKUP = ".bear2bk", ".bearbk"  # of Bear 2 and 1
BUNDLE, PACK = ".textbundle", ".textpack"
BEAR_METADATA_KEY = "net.shinyfrog.bear"
_HEAD = 4096  # bytes of a text, enough for its first line

# A TextBundle's text, in a folder with this suffix or at the top. In assets/ are attachments.
_TEXT = re.compile(r"(?P<folder>|(?:.*/)?[^/]*\.textbundle/)text\.[a-z]+", re.IGNORECASE)
_IN_BUNDLE = re.compile(r".*\.textbundle/|assets/", re.IGNORECASE | re.DOTALL)
_INFO = "info.json"
_ASSETS = "assets/"


class BearBackup(FileSource):
    """A Bear backup (.bear2bk), a TextBundle (.textbundle, .textpack), or a folder with some."""

    app = "Bear"
    heading_link = HEADING_LINK
    default_name = "bear-backup"

    @classmethod
    def reads(cls, location: str) -> bool:
        path = Path(location).expanduser()
        kinds = {BACKUP, OLD_BACKUP, BUNDLE, PACK}
        if path.suffix.lower() in kinds:
            return path.exists()
        inside = paths_at(location)
        if not path.is_dir():  # a zip file of TextBundles, as exported by Ulysses
            return any(f"{BUNDLE}/" in key.lower() for key in inside)
        suffixes = set(map(suffix, inside))
        return not suffixes.isdisjoint(kinds) and suffixes.isdisjoint(OTHER_NOTES)

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        self.skipped = []
        # Read twice, because a link may lead to a later note. Only one note at a time is in memory.
        newest = self._newest()
        if not newest and self.skipped:
            raise SourceError(
                f"None of the notes in {self.location} can be read. The first: {self.skipped[0]}"
            )
        if not newest:
            raise SourceError(
                f"There are no notes of Bear's in {self.location}. Give the PATH of a backup"
                f" ({BACKUP}), of a TextBundle ({BUNDLE}, {PACK}), or of a folder with some."
            )
        keys = {note.title: key for key, (_, note) in newest.items()} | {key: key for key in newest}
        by_place = dict(newest.values())
        for bundle in self._bundles():
            note = by_place.get(bundle.place)
            if note is None or (note.trashed and not include_trashed):
                continue
            try:
                yield self._with_text(note, bundle, keys)
            except Unreadable as reason:
                self.skipped.append(f"{bundle.place}: {reason}")

    def _with_text(self, note: Note, bundle: _Bundle, keys: Mapping[str, str]) -> Note:
        if note.encrypted:
            return replace(note, tags=())
        text = decode(bundle.archive.read(bundle.text_key, largest=LARGEST_NOTE))
        title = first_line(text) or ("" if note.url else bundle.name)
        body = without_title_line(text, title)
        found = extract_metadata(body)
        files = bundle.archive.files
        linked = [
            LinkedFile(path, bundle.root + file.key, file.stamp)
            for path, _ in found.links
            if path.startswith(_ASSETS) and (file := files.get(bundle.folder + path))
        ]
        pinned = {tag.name.lower() for tag in note.tags}
        return replace(
            note,
            title=title,
            body=body,
            tags=tuple(Tag(name, pinned=name.lower() in pinned) for name in tags(text)),
            links=tuple(link for link in links(text, keys) if link.key != note.key),
            **found.note_fields(),
            **self._with_files(linked),
        )

    def _newest(self) -> dict[str, tuple[str, Note]]:
        """Return key → (place, note without its text); of several versions, only the newest."""
        newest: dict[str, tuple[str, Note]] = {}
        for bundle in self._bundles():
            try:
                newer = bundle.place, _without_text(bundle)
            except Unreadable as reason:
                self.skipped.append(f"{bundle.place}: {reason}")
                continue
            older = newest.get(newer[1].key)
            if older and _version(older[1]) > _version(newer[1]):
                newer, older = older, newer
            newest[newer[1].key] = newer
            if older:
                self.skipped.append(f"{older[0]}: the same note as {newer[0]}, not newer")
        return newest

    def _bundles(self) -> Iterator[_Bundle]:
        """Yield all bundles, always in the same order, or raise SourceError."""
        skipped: list[str] = []
        with open_archive(self.path) as archive:
            skipped += archive.skipped
            yield from _bundles_in(archive, "", self.path.name)
            for file in _inner_archives(archive, skipped):
                try:
                    with open_inner(archive, file.key) as inner:
                        skipped += [f"{file.key}/{line}" for line in inner.skipped]
                        yield from _bundles_in(inner, f"{file.key}/", "")
                except (SourceError, Unreadable) as reason:
                    skipped.append(f"{file.key}: {reason}")
        self.skipped += [line for line in skipped if line not in self.skipped]


@dataclass(frozen=True)
class _Bundle:
    archive: Archive
    folder: str  # in the archive: "" or "….textbundle/"
    text_key: str
    root: str  # path from the source's location to the archive: "" or "….bear2bk/"
    place: str  # path from the source's location to the bundle

    @property
    def name(self) -> str:
        """The bundle's name without suffix."""
        return os.path.splitext(os.path.basename(self.place))[0]


def _bundles_in(archive: Archive, root: str, own_name: str) -> Iterator[_Bundle]:
    for key in archive.files:
        if (match := _TEXT.fullmatch(key)) and (match["folder"] or _INFO in archive.files):
            place = (root + match["folder"]).rstrip("/") or own_name
            yield _Bundle(archive, match["folder"], key, root, place)


def _inner_archives(archive: Archive, skipped: list[str]) -> list[File]:
    """Return the archives in an archive or folder that hold TextBundles.

    Of several backups in a folder, return only the newest: notes that were deleted or encrypted
    after an older backup must not come back.
    """
    if _INFO in archive.files:  # this is a bundle; archives in it are attachments
        return []
    own = [file for key, file in archive.files.items() if not _IN_BUNDLE.match(key)]
    if not isinstance(archive, Folder):
        return [file for file in own if file.suffix in (PACK, BACKUP, OLD_BACKUP, ".zip")]
    backups = [file for file in own if file.suffix in (BACKUP, OLD_BACKUP)]
    backups.sort(key=attrgetter("modified"))
    for older in backups[:-1]:
        skipped.append(f"{older.key}: older than {backups[-1].key}; only the newest backup is read")
    return [file for file in own if file.suffix == PACK] + backups[-1:]


# --- A TextBundle → a note


def _without_text(bundle: _Bundle) -> Note:
    """Return a note from its metadata and first line. Its tags are only those it is pinned in.

    :raises Unreadable: if a part of the bundle can't be read
    """
    files = bundle.archive.files
    key = bundle.folder + _INFO
    about = load_json(bundle.archive.read(key)) if key in files else {}
    info = as_dict(as_dict(about).get(BEAR_METADATA_KEY))
    identifier = as_text(info.get("uniqueIdentifier")).strip()
    pinned_in = info.get("pinnedInTagTitles")
    encrypted = _flag(info.get("encrypted"))
    title = bundle.name
    if not encrypted:  # never read the text of an encrypted note
        title = first_line(decode(bundle.archive.head(bundle.text_key, _HEAD)))
    return Note(
        key=identifier or bundle.place,
        title=title,
        body="",
        tags=tuple(Tag(as_text(t)) for t in (pinned_in if isinstance(pinned_in, list) else ())),
        created=parse_timestamp(info.get("creationDate")),
        modified=parse_timestamp(info.get("modificationDate"))
        or timestamp_from_seconds(files[bundle.text_key].modified),
        pinned=_flag(info.get("pinned")),
        archived=_flag(info.get("archived")),
        trashed=_flag(info.get("trashed")),
        encrypted=encrypted,
        url=NOTE_URL + quote(identifier, safe="") if identifier else None,
    )


def _flag(value: object) -> bool:
    """Return whether a flag is set. Bear writes 1; other apps with Bear's metadata write true."""
    return value in (1, "1", "true")


def _version(note: Note) -> tuple[str, bool]:
    """Return a sort key: larger for newer versions. Encrypting a note doesn't change its date."""
    return note.modified or "", note.encrypted


# --- Facts that Bear reads from a text. In Bear's database, they are in columns.

# #tag, #work/projects, #two words#: after whitespace. A tag of several words ends after a word.
_TAG = re.compile(r"(?<!\S)#(?:(?P<words>[^\s#](?:[^#\n]*[^\s#])?)#(?![\w#])|(?P<word>[^\s#]+))")
_PUNCTUATION = ".,;:!?…)]}>'\"’”»*_~`|。，、；：！？）】」』"

# A color, as in CSS. Words such as #facade are tags.
_COLOR = re.compile(r"(?=[a-f]*\d)(?:[\da-f]{3}|[\da-f]{6}|[\da-f]{8})", re.IGNORECASE)

_NOTE_LINK = re.compile(
    WIKI_LINK.pattern
    + r"|\[(?P<words>[^\[\]\n]*)\]\((?P<address>bear://x-callback-url/open-note\?[^()\s]+)\)"
)


def tags(text: str) -> list[str]:
    """Return the tags in a text and, as Bear does, their parents: #a/b gives a and a/b."""
    by_name: dict[str, str] = {}
    prose, _ = without_code(text)
    for match in _TAG.finditer(prose):
        # "#one and #two" has no tag of three words, and "#one #" has only the tag "one".
        name = match["words"] or match["word"].rstrip(_PUNCTUATION)
        if not match["words"] and _COLOR.fullmatch(name):
            continue
        parts = [part.strip() for part in name.strip("/").split("/")]
        if all(parts):
            for tag in accumulate(parts, "{}/{}".format):
                by_name.setdefault(tag.lower(), tag)
    return sorted(by_name.values())


def links(text: str, keys: Mapping[str, str]) -> list[Link]:
    """Return one link for each note that the text links to, in the order of the text.

    :param keys: the keys of the existing notes, by title and by key
    """
    prose, _ = without_code(text)
    by_key: dict[str, Link] = {}
    for match in _NOTE_LINK.finditer(prose):
        title = (match["target"] or "").strip()
        # [[Title/Heading]], or a title with a "/" in it
        while title and short_title(title) not in keys:
            title = title.rpartition("/")[0].strip()
        ids = parse_qs(urlsplit(match["address"] or "").query).get("id", [])
        for key in [keys[short_title(title)]] if title else filter(keys.__contains__, ids):
            by_key.setdefault(key, Link(key, title or match["words"]))
    return list(by_key.values())
