"""Which note a link means, by the names and paths of all notes in a folder."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from ...notes import Link, Note, Tag, short_title
from .. import SourceError, Unchanged, Unreadable, markdown_facts
from ..text import of_seconds
from . import files
from .files import File


class NoteNames:
    """The notes of a folder, to be found as Obsidian finds them: whole path first, then the nearest of that name."""

    def __init__(self, names: Mapping[str, str], *, whole: bool = False) -> None:
        """
        :param names: by key, what links call a note: its path without suffix, such as ``garden/Tomatoes``
        :param whole: whether links have the whole name, and never only the end of it
        """
        self._whole = whole
        self._by_path: dict[str, str] = {}
        self._by_name: dict[str, list[tuple[str, str]]] = {}  # with their folded paths
        for key, name in names.items():
            path = folded(name)
            self._by_path.setdefault(path, key)
            self._by_path.setdefault(folded(key), key)
            self._by_name.setdefault(path.rpartition("/")[2], []).append((path, key))

    def find(self, target: str, folder: str = "", *, is_wiki: bool) -> str | None:
        """The key of the note that a link in a note in ``folder`` means, or None.

        :param is_wiki: written [[…]], which names a note wherever it is; other links are paths from where they stand
        """
        path = folded(target)
        here = folded(folder) + "/" if folder else ""
        if not is_wiki or path.startswith(("./", "../")):
            beside = posixpath.normpath(posixpath.join(here, path))
            if key := self._by_path.get(beside):
                return key
        path = path.removeprefix("./").strip("/")
        if key := self._by_path.get(path):
            return key
        return (
            self._nearest(path, here) if not self._whole and (is_wiki or "/" not in path) else None
        )

    def _nearest(self, path: str, here: str) -> str | None:
        found = [
            (not other.startswith(here), len(other), other, key)
            for other, key in self._by_name.get(path.rpartition("/")[2], ())
            if other == path or other.endswith("/" + path)
        ]
        return min(found)[-1] if found else None


def folded(name: str) -> str:
    """A name as links may write it: in any case, and with accents as one character or as two."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", name)
    return name.lower()


def mark(name: str) -> str:
    """Some characters that stand for a note's name, without its folder: equal names have equal marks.

    A note's stamp has the marks of all that it links to. So it is known which notes a new file, or one that is gone, may
    be linked from, without reading any of them.
    """
    return f"{crc32(folded(name).rpartition('/')[2].encode(errors='replace')):x}"


# What the kinds of sources that are folders of text files have in common.

# Goes up when files are read in another way, so that all are read again.
VERSION = 1


@dataclass(frozen=True)
class Parts:
    """What the text of a file says of the note that it is."""

    title: str
    body: str
    tags: Sequence[str] = ()  # those that aren't in the body
    created: str | None = None
    modified: str | None = None
    problem: str = ""  # what couldn't be read of it, for people; "" if all could


class NoteFolder(ABC):
    """A folder of text files, each of which is a note. A kind says which, and how a file becomes a note."""

    app = ""
    heading_link = ""
    suffixes: Collection[str] = (".md",)
    # Whether [[a link]] has a note's whole name, or may have the end of its path.
    whole_names = False
    hidden: Collection[str] = ()  # folders to look into although their names begin with a dot

    def __init__(
        self,
        location: str | os.PathLike[str],
        name: str,
        *,
        exclude: str | Sequence[str] = (),
        encoding: str = "",
        inline_tags: bool = True,
        folder_tags: bool = False,
    ) -> None:
        """
        :param exclude: files and folders not to read, such as ``Templates`` or ``drafts/*.md``
        :param encoding: what files are written in that aren't in Unicode; "" guesses
        :param inline_tags: whether ``#word`` in a text is a tag
        :param folder_tags: whether the folder that a file is in is a tag, too
        """
        self.location = str(location)
        self.name = name
        self.skipped: list[str] = []
        self.root = os.path.realpath(os.path.expanduser(self.location))
        self.encoding = _checked_encoding(encoding)
        self.inline_tags = _checked_flag("inline_tags", inline_tags)
        self.folder_tags = _checked_flag("folder_tags", folder_tags)
        self._excluded = _excluding(exclude)

    @classmethod
    @abstractmethod
    def reads(cls, location: str) -> bool:
        """Whether it is this kind of folder that stands at a location."""

    def state(self) -> str:
        try:
            listing = self._listing(include_trashed=True)
        except SourceError:
            return "none"
        known = f"{self._reading()}\n" + "".join(
            f"{file.key}\0{file.stamp}\n" for file in listing.files.values()
        )
        return hashlib.blake2b(known.encode(), digest_size=16).hexdigest()

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        for note in self.read_changed({}, include_trashed=include_trashed):
            if isinstance(note, Note):
                yield note

    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterator[Note | Unchanged]:
        listing = self._listing(include_trashed=include_trashed)
        self.skipped = listing.skipped
        names = NoteNames(
            {key: self._link_name(key) for key in listing.files}, whole=self.whole_names
        )
        reading = hashlib.blake2b(repr(self._reading()).encode(), digest_size=6).hexdigest()
        # Which names mean another note now, or none: the notes that use them are read again.
        changed = known.keys() ^ listing.files.keys() if known else ()
        moved = {mark(self._link_name(key)) for key in changed}
        for key, file in listing.files.items():
            stamp = known.get(key, "")
            prefix = f"{reading} {file.stamp} "
            if stamp.startswith(prefix) and moved.isdisjoint(stamp[len(prefix) :].split(",")):
                yield Unchanged(key)
                continue
            try:
                text = files.read_text(file, self.encoding)
            except Unreadable as error:
                self.skipped.append(f"{key}: {error}")
                if not error.is_gone and key in known:
                    yield Unchanged(key)
                continue
            yield self._note(file, text, names, prefix)
        for key in known.keys() - listing.files.keys():
            if any(key.startswith(folder) for folder in listing.closed):
                yield Unchanged(key)

    # What a kind says.

    @abstractmethod
    def _parts(self, file: File, text: str) -> Parts:
        """What the text of a file says of the note."""

    def _url(self, file: File) -> str | None:
        """Where the note opens; None if nothing opens it."""
        return None

    def _leaves_out(self, key: str, include_trashed: bool) -> bool:
        """Whether a file, or a folder with "/" at its end, isn't one of the notes."""
        return self._excluded is not None and self._excluded.match(key) is not None

    def _is_trashed(self, key: str) -> bool:
        return False

    def _link_name(self, key: str) -> str:
        """What links call a note: its path without suffix."""
        return self._without_suffix(key)

    def _reading(self) -> tuple[object, ...]:
        """All that decides what becomes of a file, other than the file."""
        return (type(self).__name__, VERSION, self.encoding, self.inline_tags, self.folder_tags)

    def _facts(self, body: str) -> markdown_facts.Facts:
        return markdown_facts.facts(body)

    # What is the same for all.

    def _listing(self, *, include_trashed: bool) -> files.Listing:
        return files.listing(
            self.root,
            self.suffixes,
            leaves_out=lambda key: self._leaves_out(key, include_trashed),
            hidden=self.hidden,
        )

    def _note(self, file: File, text: str, names: NoteNames, prefix: str) -> Note:
        parts = self._parts(file, text)
        if parts.problem:
            self.skipped.append(f"{file.key}: {parts.problem}")
        facts = self._facts(parts.body)
        tags = [*parts.tags, *(facts.tags if self.inline_tags else ())]
        if self.folder_tags and file.folder:
            tags.append(file.folder)
        written = of_seconds(file.modified)
        links, marks = self._links(file, facts, names)
        return Note(
            key=file.key,
            title=short_title(parts.title),
            body=parts.body,
            tags=tuple(Tag(name) for name in _once(tags)),
            links=links,
            created=parts.created or _birth(file),
            modified=parts.modified or written,
            trashed=self._is_trashed(file.key),
            todos_open=facts.todos_open,
            todos_done=facts.todos_done,
            has_image=facts.has_image,
            has_file=facts.has_file,
            has_code=facts.has_code,
            url=self._url(file),
            stamp=prefix + marks,
        )

    def _links(
        self, file: File, facts: markdown_facts.Facts, names: NoteNames
    ) -> tuple[tuple[Link, ...], str]:
        """The links to other notes, one for each of these, and the marks of all names in them."""
        if not facts.targets:
            return (), ""
        links: dict[str, Link] = {}
        marks = set()
        for target in facts.targets:
            path = self._without_suffix(target.path)
            marks.add(mark(path))
            key = names.find(target.path, file.folder, is_wiki=target.is_wiki)
            if key is None and path != target.path:
                key = names.find(path, file.folder, is_wiki=target.is_wiki)
            if key and key != file.key:
                # The path and not the label: by what is written, whoever shows the text finds the note again.
                links.setdefault(key, Link(key, target.path))
        return tuple(links.values()), ",".join(sorted(marks))

    def _without_suffix(self, path: str) -> str:
        suffix = markdown_facts.suffix(path)
        return path[: -len(suffix)] if suffix in self.suffixes else path


def has_files(location: str, suffixes: Collection[str], most: int = 2000) -> bool:
    """Whether a glance into a folder, at so many entries, finds a file of this kind."""
    waiting = [os.path.expanduser(location)]
    while waiting and most > 0:
        try:
            with os.scandir(waiting.pop(0)) as entries:
                for entry in entries:
                    most -= 1
                    if entry.name[0] == ".":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif os.path.splitext(entry.name)[1].lower() in suffixes:
                        return True
        except OSError:
            continue
    return False


def _once(tags: Iterable[str]) -> Iterator[str]:
    """Each tag once, however it is capitalized, in the order of the alphabet."""
    return iter(sorted({tag.lower(): tag for tag in reversed(list(tags))}.values()))


def _birth(file: File) -> str | None:
    # A copy was born after what it is a copy of was written.
    return None if file.born is None else of_seconds(min(file.born, file.modified))


def _excluding(patterns: str | Sequence[str]) -> re.Pattern[str] | None:
    """What matches the files and folders (with "/" at their ends) that fit one of the patterns, and all below them."""
    if isinstance(patterns, str):
        patterns = [patterns]
    if not isinstance(patterns, (list, tuple)) or not all(
        isinstance(item, str) for item in patterns
    ):
        raise SourceError(
            "The option exclude is a list of names or patterns of files and folders, such as [Templates, drafts/*.md]."
        )
    wanted = [pattern.strip("/") for pattern in patterns if pattern.strip("/")]
    if not wanted:
        return None
    # A pattern without "/" holds in every folder.
    either = "|".join(
        ("" if "/" in pattern else "(?:.*/)?") + _expression(pattern) for pattern in wanted
    )
    return re.compile(rf"(?:{either})(?:/|\Z)", re.IGNORECASE)


def _expression(pattern: str) -> str:
    """A pattern as a regular expression. As in .gitignore, only ** goes from folder to folder."""
    wildcards = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    return "".join(wildcards.get(part) or re.escape(part) for part in parts)


def _checked_encoding(encoding: str) -> str:
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, TypeError):
        raise SourceError(
            f"The option encoding is the name of a text encoding, such as cp1250; {encoding!r} is none."
        ) from None
    return encoding


def _checked_flag(option: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise SourceError(f"The option {option} is true or false, not {value!r}.")
    return value
