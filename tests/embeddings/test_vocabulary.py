"""A text that a model doesn't know has no vector, whatever runs the model."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from datasette_bear_search.embeddings.backends import onnx
from datasette_bear_search.embeddings.backends.sentence_transformers import (
    SentenceTransformerEmbedder,
)
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.vocabulary import Vocabulary
from tests.support.small_models import write_static_model, write_transformer

KNOWN = ("garden fence", "🦷 garden", "a", "", "Café")
UNKNOWN = ("🦷", "ⵜⵉⴼⵉⵏⴰⵖ ⵜⴰⵎⴰⵣⵉⵖⵜ", "🦷 ✓ garden", "北京大学", "x" * 200)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    pytest.importorskip("sentence_transformers")
    folder = tmp_path_factory.mktemp("models")
    return {
        "transformer": write_transformer(folder / "transformer", prompts={"query": "how do i "}),
        "static": write_static_model(folder / "static"),
    }


@pytest.mark.parametrize(
    ("kind", "is_exported"), [("transformer", False), ("transformer", True), ("static", False)]
)
def test_text_of_which_most_tokens_are_unknown_has_no_vector(folders, kind, is_exported):
    if is_exported and not (onnx.is_installed() and find_spec("onnx")):
        pytest.skip("needs pip install 'datasette-bear-search[onnx]'")
    embedder = SentenceTransformerEmbedder(str(folders[kind]))
    if is_exported:
        assert embedder.export_onnx()
        embedder = SentenceTransformerEmbedder(str(folders[kind]))
    made = embedder.embed_documents([*KNOWN, *UNKNOWN])
    has_none = (kind == "static") * [""]  # the mean of no vectors
    assert [text for text, vector in zip(KNOWN, made) if vector is None] == has_none
    assert made[len(KNOWN) :] == [None] * len(UNKNOWN)
    assert embedder.embed_queries(["🦷"]) == [None]
    with pytest.raises(ModelUnavailable, match="doesn't know most of these words"):
        embedder.embed_query("🦷")


class Tokenizer:
    """The part of a tokenizer that says what it does with an unknown character."""

    class Token:
        def __init__(self, number: int) -> None:
            self.id = number

    def __init__(self, unknown: list[int], known: dict[str, int]) -> None:
        self.model, self.unknown, self.known = self, unknown, known

    def tokenize(self, text: str) -> list[Token]:
        return [self.Token(number) for number in self.unknown]

    def token_to_id(self, token: str) -> int | None:
        return self.known.get(token)


def knows(tokenizer: Tokenizer, *tokens: int, text: str = "text", model: str = "none") -> bool:
    return Vocabulary(model, tokenizer, lambda texts: [[*tokens]]).knows([text]) == [True]


def test_blank_before_an_unknown_word_does_not_count():
    tokenizer = Tokenizer([3], {"▁": 6})
    assert not knows(tokenizer, 6, 3)
    assert not knows(tokenizer, 6, 3, 6, 3)
    assert knows(tokenizer, 6, 3, 9)


def test_character_spelled_in_bytes_counts_once():
    spelled = {f"<0x{byte:02X}>": 100 + byte for byte in range(256)}
    tokenizer = Tokenizer([344, 243, 291, 289], spelled)
    tooth = [100 + byte for byte in "🦷".encode()]
    assert not knows(tokenizer, *tooth)
    assert knows(tokenizer, *tooth, 7)
    assert knows(tokenizer, 100 + ord("\n"), 7)


def test_vocabulary_without_unknown_tokens_knows_all():
    assert knows(Tokenizer([], {}), 1, 2)


@pytest.mark.parametrize(
    ("declared", "text", "is_known"),
    [
        ("en", "Milch und Brot kaufen, naïve café", True),
        ("en", "Купить молоко", False),
        ("en", "Купить milk and bread", True),
        ("en", "牛乳を買う", False),
        ("en", "α = β + γ", False),
        ("en", "α → ∑ of the ﬁgures in ℝ", True),
        ("en", "ⵜⵉⴼⵉⵏⴰⵖ", False),
        ("en", "ＭＥＭＯ １２", True),
        ("en", "１２ → …", True),
        ("zh", "买牛奶", True),
        ("zh", "Buy milk", True),
        ("zh", "우유 사기", False),
        ("ja", "牛乳を買う", True),
        ("[en, ru]", "Купити молоко", True),
        ("[en, ru]", "우유 사기", False),
        ("[en, dv]", "ދިވެހި", True),
        ("[en, dv]", "우유 사기", True),
        ("multilingual", "ⵜⵉⴼⵉⵏⴰⵖ", True),
        ("[]", "Купить молоко", True),
        ("", "Купить молоко", True),
    ],
)
def test_script_of_no_declared_language_is_unknown(tmp_path, declared, text, is_known):
    language = f"language: {declared}\n" if declared else ""
    (tmp_path / "README.md").write_text(f"---\nlicense: mit\n{language}---\n")
    (tmp_path / "modules.json").write_text("[]")
    assert knows(Tokenizer([3], {}), 1, text=text, model=str(tmp_path)) == is_known
