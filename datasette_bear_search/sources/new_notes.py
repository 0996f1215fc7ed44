"""Links that create a note in the person's app when they click. Nothing else here writes notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from urllib.parse import quote, urlencode

from .base import SourceConfig


def new_note_urls(
    sources: Iterable[SourceConfig], title: str, text: str = "", tags: Sequence[str] = ()
) -> dict[str, str]:
    """Return the links by app, for those of the sources' apps that take such links.

    Bear's are described at https://bear.app/faq/x-callback-url-scheme-documentation/, Obsidian's at
    https://help.obsidian.md/Extending+Obsidian/Obsidian+URI.
    """
    tags = [tag.strip().strip("#") for tag in tags if tag.strip().strip("#")]
    urls: dict[str, str] = {}
    for source in sources:
        if source.kind == "bear":
            values = {"title": title, "text": text, "tags": ",".join(tags)}
            urls.setdefault("Bear", f"bear://x-callback-url/create?{_query(values)}")
        elif source.kind == "obsidian":
            vault = source.options.get("vault") or PurePath(source.location).name
            words = " ".join(f"#{'-'.join(tag.split())}" for tag in tags)
            content = "\n\n".join(filter(None, (words, text)))
            values = {"vault": str(vault), "name": _file_name(title), "content": content}
            urls.setdefault("Obsidian", f"obsidian://new?{_query(values)}")
    return urls


def _query(values: dict[str, str]) -> str:
    return urlencode({name: value for name, value in values.items() if value}, quote_via=quote)


def _file_name(title: str) -> str:
    """Return a title without the characters that file names, or links in Obsidian, can't have."""
    return " ".join("".join(" " if each in '\\/:*?"<>|#^[]' else each for each in title).split())
