"""A model's name or card → the languages it was made for."""

from __future__ import annotations

from pathlib import Path

from . import files

# In a card: made for many languages, perhaps without naming them.
MULTILINGUAL = "multilingual"
# Bytes of a card that are read. Its settings come first, and take a few kilobytes at most.
_READ = 65_536
# Parts of names of models whose cards aren't here, such as those on a server; the first one counts.
_BY_NAME = {
    MULTILINGUAL: (
        "multilingual bge-m3 embeddinggemma qwen3-embedding arctic-embed2 -v2.0 labse "
        "jina-embeddings-v3 embed-text-v2 granite-embedding:278m granite-embedding-278m "
        "granite-embedding-107m text-embedding-3 paraphrase-xlm"
    ),
    "en": (
        "all-minilm all-mpnet all-distilroberta -en- -en: :en mxbai-embed nomic-embed-text "
        "arctic-embed bge-large multi-qa gte-small gte-base gte-large e5-small-v2 e5-base-v2 "
        "e5-large-v2 granite-embedding msmarco"
    ),
}


def languages(name: str) -> frozenset[str] | None:
    """Return the languages that a model was made for, ISO 639; None if nothing says so.

    :param name: the model's name, also with ``@DIMENSIONS``
    """
    name = name.rpartition("@")[0] if name.rpartition("@")[2].isdigit() else name
    is_served = name.partition(":")[0] in ("ollama", "openai", "llm")
    folder = None if is_served else files.model_folder(name)
    if folder and (declared := _of_card(folder / "README.md")):
        return declared
    lower = f"{name.lower()}:"
    for language, parts in _BY_NAME.items():
        if any(part in lower for part in parts.split()):
            return frozenset({language})
    return None


def includes(declared: frozenset[str], language: str) -> bool:
    """Return whether a language is one of those that a card declares."""
    return MULTILINGUAL in declared or language in declared


def _of_card(card: Path) -> frozenset[str] | None:
    """Return the value of ``language:`` in a card's front matter."""
    import yaml

    try:
        with card.open("rb") as file:
            text = file.read(_READ).decode(errors="replace")
        if not text.startswith("---"):
            return None
        value = yaml.safe_load(text[3:].partition("\n---")[0])["language"]
    except (OSError, LookupError, TypeError, RecursionError, yaml.YAMLError):
        return None
    # "zh-CN" and "zh" are the same here. An unquoted "no" for Norwegian is False in YAML.
    values = value if isinstance(value, list) else [value]
    names = ("no" if each is False else str(each).lower() for each in values if each is not None)
    return frozenset(name if name == MULTILINGUAL else name.partition("-")[0] for name in names)
