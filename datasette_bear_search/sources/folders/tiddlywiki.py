"""TiddlyWiki's files: fields, an empty line, and wikitext (https://tiddlywiki.com/#TiddlerFiles)."""

from __future__ import annotations

import re
from typing import Any

SUFFIX = ".tid"

_TAG = re.compile(r"\[\[([^\[\]]+)\]\]|(\S+)")
_LINK = re.compile(r"\[\[([^\[\]|\n]+)\|(?:(\w+://[^\[\]\s]+)|([^\[\]\n]+))\]\]")
_HEADING = re.compile(r"^(!{1,6})[ \t]*(?=[^\s!])", re.MULTILINE)
_NUMBER = re.compile(r"^#+(?=[ \t])", re.MULTILINE)


def split(text: str) -> tuple[dict[str, Any], str]:
    """Return a file's fields, and its text as Markdown with the same words."""
    head, _, body = text.partition("\n\n")
    pairs = (line.partition(":") for line in head.split("\n"))
    fields: dict[str, Any] = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if "markdown" not in fields.pop("type", ""):
        body = _HEADING.sub(lambda marks: "#" * len(marks[1]) + " ", _NUMBER.sub("1.", body))
        body = _LINK.sub(
            lambda it: f"[{it[1]}]({it[2]})" if it[2] else f"[[{it[3]}|{it[1]}]]", body
        )
    dates = {name: f"{fields[name][:14]}Z" for name in ("created", "modified") if name in fields}
    tags = [quoted or word for quoted, word in _TAG.findall(fields.get("tags", ""))]
    return fields | dates | {"tags": tags}, body
