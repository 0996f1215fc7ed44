"""Write the words of twelve languages by which correct words are told from mistyped ones.

    python -m benchmarks.quality.dictionary

Reads the word lists of pyspellchecker and replaces ``search/dictionary.bin``. Only words that a
correction could replace are kept. The file is a Bloom filter, because the words themselves would
be seven times as large, and to look for one would take as long as to read all of them.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from datasette_bear_search.search import spelling

BITS = 10  # for each word, of which .8 % of other words seem to be in the dictionary


def main() -> None:
    from spellchecker import SpellChecker

    words: set[str] = set()
    for language in SpellChecker.languages():
        words.update(filter(is_replaceable, SpellChecker(language).word_frequency.keys()))
    path = Path(spelling.__file__).with_name("dictionary.bin")
    path.write_bytes(bloom_filter(words))
    print(f"{len(words):,} words, {path.stat().st_size:,} bytes: {path}")


def is_replaceable(word: str) -> bool:
    """Return whether a search could replace the word if no note had it."""
    is_long = len(word) >= spelling.SHORTEST_SURE and word.isalpha() and word.islower()
    return is_long and (word.isascii() or spelling.words(word) == [word])


def bloom_filter(words: Collection[str]) -> bytes:
    bits = bytearray(len(words) * BITS // 8)
    for word in words:
        for byte, bit in spelling.places_of_word(word, len(bits)):
            bits[byte] |= bit
    return bytes(bits)


if __name__ == "__main__":
    main()
