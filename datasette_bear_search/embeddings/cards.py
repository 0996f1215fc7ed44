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
# Scripts, by the first word of their letters' names in Unicode → languages written in them.
_WRITTEN = dict(
    row.split(": ")
    for row in (
        "LATIN: af az ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lt lv ms mt nb "
        "nl nn no pl pt ro sk sl sq sr sv sw tl tr uz vi | ARABIC: ar ckb fa ks ps sd ug ur | "
        "ARMENIAN: hy | BENGALI: as bn | CJK: ja yue zh | CYRILLIC: be bg kk ky mk mn ru sr tg tt "
        "uk | DEVANAGARI: hi mr ne sa | ETHIOPIC: am ti | GEORGIAN: ka | GREEK: el | GUJARATI: gu "
        "| GURMUKHI: pa | HANGUL: ko | HEBREW: he yi | HIRAGANA: ja | KANNADA: kn | KATAKANA: ja | "
        "KHMER: km | LAO: lo | MALAYALAM: ml | MYANMAR: my | ORIYA: or | SINHALA: si | TAMIL: ta | "
        "TELUGU: te | THAI: th | TIBETAN: bo dz"
    ).split(" | ")
)


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


def reads(declared: frozenset[str], script: str) -> bool:
    """Return whether a model for these languages knows a script, given by its name in Unicode."""
    if script == "LATIN" or MULTILINGUAL in declared:
        return True
    # A language that isn't in the table may be written in any script.
    listed, own = " ".join(_WRITTEN.values()).split(), _WRITTEN.get(script, "").split()
    return any(language in own or language not in listed for language in declared)


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
