"""A model's card → what it says about the model: its languages, its name, its kind of vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from . import files
from .names import split_name

# In a card: made for many languages, perhaps without naming them.
MULTILINGUAL = "multilingual"
# Bytes of a card that are read. Its settings come first, with up to half a megabyte of results.
_READ = 1_000_000
_HEADING = re.compile(r"^#{1,6} +(.+)|<h1[^>]{0,99}>(.{1,200}?)</h1>", re.MULTILINE)


def languages(name: str) -> frozenset[str] | None:
    """Return the languages that a model was made for, ISO 639; None if nothing says so.

    :param name: the model's name, also with what a person chose about it
    """
    plain, _ = split_name(name)
    folder = files.model_folder(name) or files.model_folder(plain)
    if folder and (declared := _languages(_card(folder))):
        return declared
    lower = f"{plain.lower()}:"
    # Parts of names of models whose cards aren't here, such as those on a server.
    for language, parts in _table("languages.txt").items():  # the first one counts
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
    # By the first word of the names of a script's letters. A language that isn't in the table may
    # be written in any script.
    written = _table("scripts.txt")
    listed, own = " ".join(written.values()).split(), written.get(script, "").split()
    return any(language in own or language not in listed for language in declared)


@cache
def _table(file: str) -> dict[str, str]:
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)


def names(folder: Path) -> Iterator[str]:
    """Yield what the files of a model call it, then what they say it was made from."""
    card = _card(folder)
    if match := re.search(r"^model-index:\s+- name: *(.+)", card, re.MULTILINE):
        yield match[1]
    if match := _HEADING.search(card):
        yield match[1] or match[2]
    with suppress(OSError, ValueError, RecursionError, AttributeError):
        yield str(json.loads((folder / "config.json").read_bytes()).get("_name_or_path"))
    made_from = _setting(card, "base_model")
    yield from map(str, made_from if isinstance(made_from, list) else [made_from])


def _card(folder: Path) -> str:
    with suppress(OSError), (folder / "README.md").open("rb") as file:
        return file.read(_READ).decode(errors="replace").replace("\r\n", "\n")
    return ""


def _setting(card: str, name: str) -> Any:
    """Return a value from a card's front matter; None if it has none or isn't valid."""
    import yaml

    if not card.startswith("---"):
        return None
    front = card[3:].partition("\n---")[0]
    # Only these lines are parsed: to parse the results before or after them takes a second.
    lines = re.search(rf"^{name}:.*(\n[ \t-].*)*", front, re.MULTILINE)
    with suppress(LookupError, TypeError, RecursionError, yaml.YAMLError):
        return yaml.safe_load(lines[0])[name] if lines else None
    return None


def _languages(card: str) -> frozenset[str] | None:
    value = _setting(card, "language")
    if value is None:
        return None
    # "zh-CN" and "zh" are the same here. An unquoted "no" for Norwegian is False in YAML.
    values = value if isinstance(value, list) else [value]
    names = ("no" if each is False else str(each).lower() for each in values if each is not None)
    return frozenset(name if name == MULTILINGUAL else name.partition("-")[0] for name in names)
