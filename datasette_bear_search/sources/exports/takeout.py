"""Documents of Word's (.docx) → Markdown. Pictures and other parts of them aren't opened."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...notes import Note, Tag
from .. import SourceError, Unchanged, Unreadable, exports, html, markdown_facts
from .. import html as html_pages
from .. import text as decoding
from ..folders.files import LARGEST_FILE, MEGABYTE, File
from ..text import mapping, mappings, of_seconds, parsed, text, timestamp
from . import Archive

# What the XML of a document may unpack to. A novel has 2 MB.
LARGEST_XML = 32 * MEGABYTE


class Document(NamedTuple):
    """What a document says."""

    markdown: str
    has_image: bool


def document(data: bytes) -> Document:
    """The document in a file. Raises Unreadable."""
    try:
        with exports.zipped(io.BytesIO(data), "the document") as archive:
            parts = archive.files.values()
            if sum(part.size for part in parts if part.suffix in (".xml", ".rels")) > LARGEST_XML:
                raise Unreadable(f"unpacks to more than {LARGEST_XML // MEGABYTE} MB")
    except SourceError:
        raise Unreadable("no document of Word's, or only a part of one") from None
    # Takes 100 ms to import, and few sources need it.
    import mammoth

    pictures = []

    def description(image: mammoth.documents.Image) -> list:
        pictures.append(image)
        return [mammoth.html.text(f" {image.alt_text} ")] if image.alt_text else []

    try:
        html = mammoth.convert_to_html(io.BytesIO(data), convert_image=description).value
    except Exception as error:  # in as many ways as a document can be damaged
        raise Unreadable(
            f"a damaged document of Word's ({type(error).__name__}: {error})"
        ) from error
    return Document(html_pages.to_markdown(html), bool(pictures))


# A note of Google Keep's, as Google Takeout exports it: a file of JSON.

# What makes an object a note. One of these is always there.
_PARTS = ("textContent", "listContent", "title")


def note(data: bytes, key: str, stamp: str) -> Note:
    """The note in a file. Raises Unreadable."""
    said = mapping(parsed(data))
    if not any(part in said for part in _PARTS):
        raise Unreadable("no note of Google Keep's")
    title = text(said.get("title"))
    body = _body(said)
    facts = markdown_facts.facts(body)
    kinds = [text(attachment.get("mimetype")) for attachment in mappings(said.get("attachments"))]
    labels = {text(label.get("name")).strip(): None for label in mappings(said.get("labels"))}
    return Note(
        key=key,
        title=markdown_facts.title_of(title, body),
        body=body,
        tags=tuple(Tag(name) for name in labels if name),
        created=_moment(said.get("createdTimestampUsec")),
        modified=_moment(said.get("userEditedTimestampUsec")),
        pinned=said.get("isPinned") is True,
        archived=said.get("isArchived") is True,
        trashed=said.get("isTrashed") is True,
        todos_open=facts.todos_open,
        todos_done=facts.todos_done,
        has_image=any(kind.startswith("image/") for kind in kinds),
        has_file=any(not kind.startswith("image/") for kind in kinds),
        stamp=stamp,
    )


def _body(said: dict[str, Any]) -> str:
    items = [
        f"- [{'x' if item.get('isChecked') is True else ' '}] {' '.join(text(item.get('text')).split())}"
        for item in mappings(said.get("listContent"))
    ]
    links = [
        f"[{' '.join(text(link.get('title')).split())}]({address})"
        for link in mappings(said.get("annotations"))
        if (address := text(link.get("url"))) and not set(address) & set(" \n()<>")
    ]
    parts = [
        markdown_facts.as_markdown(text(said.get("textContent"))),
        "\n".join(items),
        "\n".join(links),
    ]
    return "\n\n".join(part for part in parts if part.strip())


def _moment(microseconds: Any) -> str | None:
    try:
        return of_seconds(float(microseconds) / 1_000_000)
    except (OverflowError, TypeError, ValueError):
        return None


# Documents out of Google Drive, and notes out of Google Keep, as Google Takeout exports them.

# The folders of the two. Others hold other products, such as photos.
_DRIVE = re.compile(r"(?:.*?/)??(?P<key>(?:Google )?Drive/(?:(?P<folder>.+)/)?[^/]+)")
_KEEP = re.compile(r"(?:.*?/)??(?P<key>(?:Google )?Keep/[^/]+)")
_FOLDERS = ("Drive", "Google Drive", "Keep", "Google Keep")

# An export that is too large for one file comes as takeout-20240501T093000Z-001.zip, -002.zip and so on.
_PART = re.compile(r"takeout-.*\.zip", re.IGNORECASE)

# What Google knows of a document stands beside it.
_INFO = "-info.json"
_CREATED = ("created",)
_MODIFIED = ("last_modified_by_any_user", "content_last_modified", "last_modified_by_me")

_DOCUMENTS = (".docx", ".html", ".htm", ".md", ".markdown", ".txt")


class Takeout:
    """An export of Google Takeout with Drive or Keep: a zip file, a folder with several, or unpacked."""

    app = ""
    heading_link = ""
    default_name = "takeout"

    def __init__(self, location: Path | str, name: str = default_name) -> None:
        self.path = Path(location).expanduser()
        self.name = name
        self.location = str(location)
        self.skipped: list[str] = []

    @classmethod
    def reads(cls, location: str) -> bool:
        path = Path(location).expanduser()
        if path.is_dir():
            if any(_PART.fullmatch(entry.name) for entry in path.iterdir()):
                return True
            # Not by the name of a folder alone: anybody may have one that is called Drive.
            inside = path if path.name == "Takeout" else path / "Takeout"
            return any((inside / name).is_dir() for name in _FOLDERS)
        if not exports.is_zip(path):
            return False
        with exports.opened(path) as archive:
            return any(
                key.startswith("Takeout/") and (_DRIVE.fullmatch(key) or _KEEP.fullmatch(key))
                for key in archive.files
            )

    def state(self) -> str:
        return exports.state(self.path)

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        for note in self.read_changed({}, include_trashed=include_trashed):
            if isinstance(note, Note):
                yield note

    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterator[Note | Unchanged]:
        self.skipped = []
        others = Counter[str]()
        with ExitStack() as stack:
            items = self._items(stack, others)
            if not items and not others:
                raise SourceError(
                    f"{self.location} has neither documents of Google Drive nor notes of Google Keep. Give the PATH of"
                    " an export of Google Takeout: its zip file, or the folder Takeout."
                )
            for item in items:
                if known.get(item.key) == item.stamp:
                    yield Unchanged(item.key)
                    continue
                try:
                    note = item.note()
                except Unreadable as reason:
                    self.skipped.append(f"{item.key}: {reason}")
                    if not reason.is_gone and item.key in known:
                        yield Unchanged(item.key)
                    continue
                if include_trashed or not note.trashed:
                    yield note
        if others:
            types = ", ".join(f"{suffix} {count:,}" for suffix, count in others.most_common(5))
            self.skipped.append(f"{others.total():,} files of other types than are read ({types})")

    def _items(self, stack: ExitStack, others: Counter[str]) -> list[_Item]:
        """All documents and notes of the export, by key; ``others`` counts what is of no known type."""
        items: dict[str, _Item] = {}
        for inside, archive in self._archives(stack):
            for path, file in archive.files.items():
                if match := _KEEP.fullmatch(inside + path):
                    if file.suffix == ".json":
                        items.setdefault(match["key"], _Item(archive, file, match["key"]))
                elif match := _DRIVE.fullmatch(inside + path):
                    if file.suffix in _DOCUMENTS:
                        info = _info_of(file, archive)
                        item = _Item(archive, file, match["key"], match["folder"] or "", info)
                        items.setdefault(item.key, item)
                    elif not path.endswith(_INFO):
                        others[file.suffix or "without suffix"] += 1
        return list(items.values())

    def _archives(self, stack: ExitStack) -> Iterator[tuple[str, Archive]]:
        """The export, and its parts if they lie in a folder, with what their paths begin with."""
        archive = stack.enter_context(exports.opened(self.path))
        self.skipped += archive.skipped
        # The location may be the folder Drive itself.
        yield (f"{self.path.name}/" if self.path.is_dir() else ""), archive
        for file in archive.files.values():
            if self.path.is_dir() and _PART.fullmatch(file.key):
                part = stack.enter_context(exports.opened(Path(file.path)))
                self.skipped += [f"{file.key}/{line}" for line in part.skipped]
                yield "", part


@dataclass(frozen=True)
class _Item:
    """A document of Drive's, or a note of Keep's."""

    archive: Archive
    file: File
    key: str  # where it is in the export, whichever way that was unpacked
    folder: str | None = None  # in Drive; None in Keep
    info: File | None = None

    @property
    def stamp(self) -> str:
        return f"{self.file.stamp} {self.info.stamp}" if self.info else self.file.stamp

    def note(self) -> Note:
        """Raises Unreadable."""
        if self.folder is None:
            return note(self.archive.read(self.file.key), self.key, self.stamp)
        body, has_image = self._body()
        facts = markdown_facts.facts(body)
        said = self._said()
        return Note(
            key=self.key,
            title=self.file.name,
            body=markdown_facts.without_title(body, self.file.name),
            tags=(Tag(self.folder),) if self.folder else (),
            created=_first_date(said, _CREATED),
            modified=_first_date(said, _MODIFIED) or of_seconds(self.file.modified),
            todos_open=facts.todos_open,
            todos_done=facts.todos_done,
            has_image=has_image or facts.has_image,
            has_file=facts.has_file,
            has_code=facts.has_code,
            stamp=self.stamp,
        )

    def _said(self) -> dict[str, Any]:
        """What Google knows of the document; {} if that can't be read, which is no reason to leave it out."""
        try:
            return mapping(parsed(self.archive.read(self.info.key))) if self.info else {}
        except Unreadable:
            return {}

    def _body(self) -> tuple[str, bool]:
        """The document as Markdown, and whether there are pictures that the Markdown doesn't show."""
        if self.file.suffix == ".docx":
            return document(self.archive.read(self.file.key))
        try:
            text = decoding.decoded(self.archive.read(self.file.key, largest=LARGEST_FILE))
        except decoding.NotText:
            raise Unreadable("not text, whatever its name says") from None
        if self.file.suffix in (".html", ".htm"):
            return html.to_markdown(text), "<img" in text
        return (markdown_facts.as_markdown(text) if self.file.suffix == ".txt" else text), False


def _info_of(file: File, archive: Archive) -> File | None:
    without_suffix = file.key.removesuffix(file.suffix)
    return archive.files.get(file.key + _INFO) or archive.files.get(without_suffix + _INFO)


def _first_date(said: Mapping[str, object], names: Iterable[str]) -> str | None:
    return next((date for name in names if (date := timestamp(said.get(name)))), None)
