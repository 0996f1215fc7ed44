"""The words of twelve languages and many names, so that none of them counts as mistyped."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path

from ...embeddings.files import bundled_folder
from ...processes import user_folder, write_file


def has_word(word: str) -> bool:
    """Return whether the word is in the dictionary of a language, or in the bundled model's."""
    found, wanted = hashes(), _hash(word)
    at = bisect_left(found, wanted)
    return at < len(found) and found[at] == wanted


@cache
def hashes() -> Sequence[int]:
    """Return the sorted hashes of the dictionaries' words, in a file that is made only once.

    To make it takes four seconds, so bear-index does; its 15 MB are mapped, not read.
    """
    folder = user_folder("cache")
    try:
        path = folder / f"dictionary-{_content_of_dictionaries()}.bin"
        if not path.exists():
            write_file(path, _hashes_of_words().tobytes())
        with path.open("rb") as file:
            return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ)).cast("Q")
    except (OSError, TypeError, ValueError):  # a full disk, or a file that was cut off
        return _hashes_of_words()


def _content_of_dictionaries() -> str:
    # Not the package's version: to import importlib.metadata takes longer than all of this.
    package = Path(find_spec("spellchecker").origin)  # type: ignore[union-attr, arg-type]
    files = sorted((each.name, each.stat().st_size) for each in package.parent.rglob("*.gz"))
    about = repr((files, bundled_folder() is not None))
    return blake2b(about.encode(), digest_size=8).hexdigest()


def _hashes_of_words() -> array[int]:
    from spellchecker import SpellChecker

    words: set[str] = set()
    for language in SpellChecker.languages():
        words.update(SpellChecker(language).word_frequency.keys())
    if folder := bundled_folder():  # its vocabulary has names, too
        with suppress(OSError):  # of a damaged installation
            words.update((folder / "vocab.txt").read_text(encoding="utf-8").split())
    return array("Q", sorted(map(_hash, words)))


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), sys.byteorder)
