"""The notes in Bear's backups, and in TextBundles, which Bear and other apps export.

A backup is a zip archive of TextBundles. In these Bear writes the note's own id, so that a note is the same one in a
backup and in Bear's database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from ..notes import Note, Tag, short_title, without_title_line
from . import SourceError, archives, bear_text, markdown_text, timestamps
from .bear import NOTE_URL
from .exported_json import mapping, text
from .files import Unreadable
from .textbundles import BACKUP, BUNDLE, PACK, Bundle, Bundles

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
        return archives.state(self.path)

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
                title = bundle.name if info.encrypted else bear_text.first_line(bundle.head(_HEAD))
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
        title, body, facts, tags, links = bundle.name, "", markdown_text.facts(""), (), []
    else:
        written = bundle.text()
        title = bear_text.first_line(written) or ("" if info.url else bundle.name)
        body = without_title_line(written, title)
        facts = markdown_text.facts(body)
        tags = _tags(written, info.pinned_in)
        links = [link for link in bear_text.links(written, keys) if link.key != info.key]
    return Note(
        key=info.key,
        title=short_title(title),
        body=body,
        tags=tags,
        links=tuple(links),
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
    return tuple(Tag(name, pinned=name.lower() in pinned) for name in bear_text.tags(written))


def _flag(value: object) -> bool:
    """Bear writes 1; other apps that write what Bear reads write true."""
    return value in (1, "1", "true")
