"""A model's tokenizer and card → whether the model knows the characters of a text.

The vector of a text that it doesn't know says nothing, but is near many others.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from . import cards

# A text has no vector if more than this share of its tokens, or of its letters, is unknown.
MOST_UNKNOWN = 0.5
# A character that is in no vocabulary, since it is nobody's.
_NOBODYS = "\U0010fffd"


class Vocabulary:
    def __init__(
        self, model: str, tokenizer: Any, split: Callable[[Sequence[str]], list[list[int]]]
    ) -> None:
        """Describe the vocabulary of a model.

        :param tokenizer: of the package tokenizers
        :param split: texts → the ids of each text's tokens
        """
        self._model, self._split = model, split
        self._unknown = {token.id for token in tokenizer.model.tokenize(_NOBODYS)}
        # SentencePiece puts this before a word, also before an unknown one.
        self._ignored = {tokenizer.token_to_id("▁")}
        if len(self._unknown) > 1:  # it spells unknown characters in bytes: count only the first
            spelled = {byte: tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in range(256)}
            self._unknown = {token for byte, token in spelled.items() if byte >= 0xC0}
            self._ignored |= {*spelled.values()} - self._unknown

    def knows(self, texts: Sequence[str]) -> list[bool]:
        """Return whether the model knows the script and most tokens of each text."""
        return [
            self._knows_tokens(tokens) and (text.isascii() or self._knows_letters(text))
            for text, tokens in zip(texts, self._split(texts))
        ]

    def _knows_tokens(self, tokens: Sequence[int]) -> bool:
        counted = [token for token in tokens if token not in self._ignored]
        return sum(token in self._unknown for token in counted) <= MOST_UNKNOWN * len(counted)

    def _knows_letters(self, text: str) -> bool:
        # A model for English has letters of many scripts, but never learned their words.
        if self._languages is None:
            return True
        counts = Counter(map(_script, filter(str.isalpha, unicodedata.normalize("NFKC", text))))
        foreign = sum(
            count for script, count in counts.items() if not cards.reads(self._languages, script)
        )
        return foreign <= MOST_UNKNOWN * sum(counts.values())

    @cached_property
    def _languages(self) -> frozenset[str] | None:
        return cards.languages(self._model)


@lru_cache(None)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
