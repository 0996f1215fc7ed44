"""Links between the files of a folder: what they mean, and whether that has changed."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from zlib import crc32

from ...notes import Link, LinkedFile
from ..files.archive import DOCUMENTS, File
from ..files.states import folded
from ..formats.markdown_metadata import LINKED, LinkTarget, Metadata, suffix

# Names of a folder's own note in a repository, a site and Hugo.
INDEX_NAMES = ("readme", "index", "_index")


class LinkResolver:
    """Find the note that a link means as Obsidian does: by whole path, else the nearest name."""

    def __init__(
        self,
        names: Mapping[str, str],
        aliases: Mapping[str, str] = {},
        suffixes: Collection[str] = (),
        *,
        whole: bool = False,
    ) -> None:
        """
        :param names: key → the note's name in links: its path without suffix, ``garden/Tomatoes``
        :param aliases: key → hashes of its other names, separated by commas
        :param suffixes: those that a link to a note may have or lack
        :param whole: whether links always have the whole name and never just the end of it
        """
        self._whole, self._suffixes = whole, suffixes
        self._by_path: dict[str, str] = {}
        # Last part of a path → (whether it is that of the note's folder, folded path, key).
        self._by_name: dict[str, list[tuple[bool, str, str]]] = {}
        self._by_alias = {it: key for key in sorted(aliases) for it in aliases[key].split(",")}
        self._by_folder: dict[str, str] = {}
        for key, name in names.items():
            path = folded(name)
            self._by_path.setdefault(path, key)
            self._by_path.setdefault(folded(key), key)
            self._by_name.setdefault(path.rpartition("/")[2], []).append((False, path, key))
            for folder in _names(path)[1:]:
                self._by_folder.setdefault(folder or ".", key)
                self._by_name.setdefault(folder.rpartition("/")[2], []).append((True, folder, key))

    def links(
        self, own_key: str, folder: str, targets: Iterable[LinkTarget]
    ) -> tuple[tuple[Link, ...], set[str]]:
        """Return a link for each note that a note in ``folder`` links to, and all names' hashes."""
        links: dict[str, Link] = {}
        hashes: set[str] = set()
        for link in targets:
            path = without_suffix(link.path, self._suffixes)
            hashes.add(name_hash(path) + ("/" if "/" in path else ""))
            if link.is_wiki or self._whole or path.startswith("id:"):
                hashes.add(alias_hash(path))
            key = self.resolve(link.path, folder, is_wiki=link.is_wiki)
            if key is None and path != link.path:
                key = self.resolve(path, folder, is_wiki=link.is_wiki)
            if key and key != own_key:
                # The path and not the label, because a page that renders the text looks it up.
                links.setdefault(key, Link(key, link.path))
        return tuple(links.values()), hashes

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


class LinkedFiles:
    """The images and other files in a folder that its notes may link to."""

    def __init__(self, files: Mapping[str, File], link_path: Callable[[str], str]) -> None:
        self._files = {link_path(key): file for key, file in files.items()}
        self._named: set[str] = set()  # hashes of the names in links
        # Hash of a name → a checksum that changes with the files of that name.
        self._states: dict[str, int] = {}
        for key, file in self._files.items():
            name = name_hash(key)
            state = f"{self._states.get(name, '')} {key} {file.stamp}"
            self._states[name] = crc32(state.encode(errors="replace"))

    @cached_property
    def _resolver(self) -> LinkResolver:
        return LinkResolver({key: key for key in self._files})

    def of(self, folder: str, metadata: Metadata) -> tuple[list[LinkedFile], set[str]]:
        """Return the files that a note shows or links to, and hashes for are_in()."""
        found, hashes = [], set()
        for link in metadata.links:
            if suffix(link.path) not in LINKED:
                continue
            name = name_hash(link.path)
            self._named.add(name)
            hashes.add(f"{name}.{self._states.get(name, 0):x}")
            if key := self._resolver.resolve(link.path, folder, is_wiki=link.is_wiki):
                file = self._files[key]
                found.append(LinkedFile(link.path, file.key, file.stamp))
        return found, hashes

    def are_in(self, hashes: Iterable[str]) -> bool:
        """Return whether a note's files haven't changed since of() returned these hashes."""
        found = dict(each.split(".") for each in hashes if "." in each)
        self._named |= found.keys()
        return all(state == f"{self._states.get(name, 0):x}" for name, state in found.items())

    def unread(self) -> Iterator[str]:
        """Yield the suffix of each document that no note shows or links to."""
        for key in self._files:
            if suffix(key) in DOCUMENTS and name_hash(key) not in self._named:
                yield suffix(key)


def moved_names(
    before: Mapping[str, str], now: Mapping[str, str]
) -> tuple[set[str], dict[str, str]]:
    """Return hashes of names that now mean another note in links, or none; and old → new keys.

    The notes that use them are read again. But if a name has passed from one note to another (a
    moved file), it is only among the keys.

    :param before: key → the note's name in links; ``now`` is the same
    """
    changed = [before[key] if key in before else now[key] for key in before.keys() ^ now.keys()]
    moved = {name_hash(name) for each in changed for name in _names(each)}
    then, owners = _owners(before), _owners(now)
    own = {name for name in moved if then.get(name) and owners.get(name)}
    return (moved - own) | {name + "/" for name in moved}, {then[it]: owners[it] for it in own}


def without_suffix(path: str, suffixes: Collection[str]) -> str:
    end = suffix(path)
    return path[: -len(end)] if end in suffixes else path


def _names(name: str) -> list[str]:
    """Return a note's names in links: its own, and its folder's if it is a README or index."""
    folder, _, last = name.rpartition("/")
    return [name, folder] if last.lower() in INDEX_NAMES else [name]


def _owners(names: Mapping[str, str]) -> dict[str, str]:
    """Return hash of a name → the note's key; "" if several notes, or a folder, may have it."""
    found: dict[str, str] = {}
    for key, name in names.items():
        own = _names(name)
        for hashed in map(name_hash, own):
            found[hashed] = key if len(own) == 1 and hashed not in found else ""
    return found


@lru_cache(maxsize=50_000)
def alias_hash(name: str) -> str:
    return f"{crc32(folded(name).encode(errors='replace')):x}"


def name_hash(name: str) -> str:
    # Without the folder. Stamps contain these hashes of all link targets, so that we know without
    # reading which notes may link to a file that is new or gone.
    return alias_hash(name.rstrip("/").rpartition("/")[2])
