"""Which note a link means, by the names and paths of all notes in a folder."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Mapping
from zlib import crc32


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
