"""A model's name → what it was trained to see before a query and before a passage."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast


class Prompts(NamedTuple):
    """Texts that are put before each query and before each passage; mostly empty."""

    query: str = ""
    passage: str = ""

    def __str__(self) -> str:
        parts = [
            f"{json.dumps(text, ensure_ascii=False)} before each {kind}"
            for kind, text in zip(self._fields, self)
            if text
        ]
        return " and ".join(parts) or "no prompts"


# Where the hub's cache keeps a model.
_CACHED = re.compile(r"models--[^/\\]+")


def for_names(*names: str) -> Prompts:
    """Return the prompts of the first name that belongs to a known family; none without one.

    :param names: of a model on the hub or on a server, or the path of a folder
    """
    for name in names:
        cached = _CACHED.search(name)
        last = cached[0] if cached else re.split(r"[/\\]", name.rstrip("/\\"))[-1]
        words = "-".join(["", *re.findall("[a-z0-9]+", last.lower()), ""])
        for family, prompts in _families().items():
            if re.search(f"-({family})-", words):
                return Prompts(*prompts)
    return Prompts()


@cache
def _families() -> dict[str, list[str]]:
    """Return the words of models' names, joined by hyphens → their family's prompts.

    They are those of the models' cards and mteb's. The first one that matches counts: variants that
    were trained otherwise come before their family, and those without prompts, whose cards name
    another family, before all.
    """
    known = Path(__file__).with_name("prompts.json").read_text(encoding="utf-8")
    return cast("dict[str, list[str]]", json.loads(known))
