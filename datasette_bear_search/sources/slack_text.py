"""The text of a Slack message → Markdown.

Slack writes its own markup: ``<@U123>`` for a person, ``<#C123|garden>`` for a channel, ``<https://…|words>`` for a
link, and ``&amp;``, ``&lt;`` and ``&gt;`` for what would be taken for these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .bodies import as_markdown

_REFERENCE = re.compile(r"<([^<>\n]+)>")
_CODE = re.compile(r"```(.*?)```", re.DOTALL)


def markdown(text: str, people: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """A message with the names of people and channels (by their ids) in place of references to them."""
    text = _REFERENCE.sub(lambda match: _resolved(match[1], people, channels), text)
    # In Markdown, the marks around code stand on lines of their own. One that is left over would swallow the rest.
    parts = _CODE.split(text)
    parts[::2] = [as_markdown(part.replace("```", "").strip()) for part in parts[::2]]
    parts[1::2] = [f"\n```\n{code.strip()}\n```\n" for code in parts[1::2]]
    text = "".join(parts).strip()
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _resolved(reference: str, people: Mapping[str, str], channels: Mapping[str, str]) -> str:
    target, _, label = reference.partition("|")
    if target.startswith("@"):
        return f"@{people.get(target[1:]) or label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or channels.get(target[1:]) or target[1:]}"
    if target.startswith("!"):  # <!here>, <!subteam^S123|@gardeners>, <!date^1714555800|1 May>
        return label or f"@{target[1:].partition('^')[0]}"
    if target.startswith(("mailto:", "tel:")):
        return label or target.partition(":")[2]
    if not label or label == target or target.endswith(f"://{label}"):
        return target
    return f"[{label}]({target.replace('(', '%28').replace(')', '%29')})"
