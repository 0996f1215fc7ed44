"""What the links in a folder's notes lead to: notes, by any of their names, and other files."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from zlib import crc32

from ...notes import Link, LinkedFile
from ..files.archive import DOCUMENTS, File
from ..files.states import folded
from ..formats.markdown_metadata import IMAGES, OTHER_FILES, LinkTarget, suffix

# Names of a folder's own note in a repository, a site and Hugo.
INDEX_NAMES = ("readme", "index", "_index")
# Suffixes of files, other than notes, that a note may show or link to.
LINKED = IMAGES | OTHER_FILES


class Links:
    """What links can lead to, and whether that has changed since a note was read."""

    def __init__(
        self,
        names: Mapping[str, str],
        aliases: Mapping[str, str],
        files: Mapping[str, File],
        *,
        suffixes: Collection[str],
        whole: bool,
    ) -> None:
        """
        :param names: key → the note's name in links: its path without suffix, ``garden/Tomatoes``
        :param aliases: key → hashes of its other names, separated by commas
        :param files: path in links → another file
        :param suffixes: of notes
        :param whole: whether links always have the whole name and never just the end of it
        """
        self._notes = LinkResolver(names, aliases, whole=whole)
        self._files, self._suffixes, self._whole = files, suffixes, whole
        self._named: set[str] = set()  # hashes of the names in links
        # Hash of a name → a checksum that changes with what has the name.
        self._states: dict[str, int] = {}
        for key, name in names.items():
            for each in _names(name):
                self._add(_name_hash(each), key)
        for key, hashes in aliases.items():
            for each in hashes.split(","):
                self._add(each, key)
        for name, file in files.items():
            self._add(_name_hash(name), f"{file.key} {file.stamp}")

    def _add(self, name: str, what: str) -> None:
        self._states[name] = self._states.get(name, 0) ^ crc32(what.encode(errors="replace"))

    @cached_property
    def _linked(self) -> LinkResolver:
        return LinkResolver({name: name for name in self._files})

    def of(
        self, note: File, folder: str, targets: Iterable[LinkTarget]
    ) -> tuple[tuple[Link, ...], list[LinkedFile], str]:
        """Return the notes and the files that a note's links lead to, and a stamp for are_same().

        :param folder: to which the targets are relative
        """
        links: dict[str, Link] = {}
        linked: list[LinkedFile] = []
        hashes: set[str] = set()
        for link in targets:
            path = without_suffix(link.path, self._suffixes)
            hashes.add(_name_hash(path))
            if link.is_wiki or self._whole or path.startswith("id:"):
                hashes.add(alias_hash(path))
            key = self._notes.resolve(link.path, folder, is_wiki=link.is_wiki)
            if key is None and path != link.path:
                key = self._notes.resolve(path, folder, is_wiki=link.is_wiki)
            if key and key != note.key:
                # The path and not the label, because a page that renders the text looks it up.
                links.setdefault(key, Link(key, link.path))
            if suffix(link.path) in LINKED:
                hashes.add(_name_hash(link.path))
                if key := self._linked.resolve(link.path, folder, is_wiki=link.is_wiki):
                    file = self._files[key]
                    linked.append(LinkedFile(link.path, file.key, file.stamp))
        self._named |= hashes
        stamp = ",".join(f"{name}.{self._states.get(name, 0):x}" for name in sorted(hashes))
        return tuple(links.values()), linked, stamp

    def are_same(self, stamp: str) -> bool:
        """Return whether a note's links still lead to what they did when of() gave this stamp."""
        for each in stamp.split(",") if stamp else ():
            name, _, state = each.partition(".")
            self._named.add(name)
            if state != f"{self._states.get(name, 0):x}":
                return False
        return True

    def unread(self) -> Iterator[str]:
        """Yield the suffix of each document that no note shows or links to."""
        for name in self._files:
            if suffix(name) in DOCUMENTS and _name_hash(name) not in self._named:
                yield suffix(name)


class LinkResolver:
    """Find the note that a link means as Obsidian does: by whole path, else the nearest name."""

    def __init__(
        self, names: Mapping[str, str], aliases: Mapping[str, str] = {}, *, whole: bool = False
    ) -> None:
        """
        :param names: key → the note's name in links: its path without suffix, ``garden/Tomatoes``
        :param aliases: key → hashes of its other names, separated by commas
        :param whole: whether links always have the whole name and never just the end of it
        """
        self._whole = whole
        self._by_path: dict[str, str] = {}
        # Last part of a path → (whether it is that of the note's folder, folded path, key).
        self._by_name: dict[str, list[tuple[bool, str, str]]] = {}
        self._by_alias = {alias: key for key in aliases for alias in aliases[key].split(",")}
        self._by_folder: dict[str, str] = {}
        for key, name in names.items():
            path = folded(name)
            self._by_path.setdefault(path, key)
            self._by_path.setdefault(folded(key), key)
            self._by_name.setdefault(path.rpartition("/")[2], []).append((False, path, key))
            for folder in _names(path)[1:]:
                self._by_folder.setdefault(folder or ".", key)
                self._by_name.setdefault(folder.rpartition("/")[2], []).append((True, folder, key))

    def resolve(self, target: str, folder: str = "", *, is_wiki: bool) -> str | None:
        """Return the key of the note that ``target`` means in a note in ``folder``, or None."""
        # A wiki link can name a note in any folder. Other links are relative to ``folder``.
        path = folded(target)
        here = folded(folder) + "/" if folder else ""
        if not is_wiki or path.startswith(("./", "../")):
            beside = posixpath.normpath(posixpath.join(here, path))
            if key := self._by_path.get(beside) or self._by_folder.get(beside):
                return key
        path = path.removeprefix("./").strip("/")
        if key := self._by_path.get(path) or ("" if is_wiki else self._by_folder.get(path)):
            return key
        if self._whole or path.startswith("id:"):
            return self._by_alias.get(alias_hash(path))
        # "/posts/tea" is relative to the root of a site, which may be any folder.
        if not (is_wiki or "/" not in path or target.startswith("/")):
            return None
        nearest = [
            (is_folder, not other.startswith(here), len(other), other, key)
            for is_folder, other, key in self._by_name.get(path.rpartition("/")[2], ())
            if other == path or other.endswith("/" + path)
        ]
        return min(nearest)[-1] if nearest else self._by_alias.get(alias_hash(path))


def _names(name: str) -> list[str]:
    """Return a note's names in links: its own, and its folder's if it is a README or index."""
    folder, _, last = name.rpartition("/")
    return [name, folder] if last.lower() in INDEX_NAMES else [name]


def without_suffix(path: str, suffixes: Collection[str]) -> str:
    end = suffix(path)
    return path[: -len(end)] if end in suffixes else path


@lru_cache(maxsize=50_000)
def alias_hash(name: str) -> str:
    return f"{crc32(folded(name).encode(errors='replace')):x}"


def _name_hash(name: str) -> str:
    # Without the folder. Stamps contain these hashes of all link targets, so that we know without
    # reading which notes may link to a file that is new or gone.
    return alias_hash(name.rstrip("/").rpartition("/")[2])
