"""What the page shows of a hit: its title, its words, why it was found, where its links lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..markdown import plain_text
from ..notes import local_day
from ..search.planner import Plan
from ..search.results import Hit, MatchedPassage, marked_html
from ..search.snippets import innermost, is_close, why
from ..search.sql import ELLIPSIS, END_MARK, MARK
from . import render
from .links import Addresses
from .site import age

# The apps that links open which come without the name of one, by the beginning of the link.
APPS = {"bear": "Bear", "obsidian": "Obsidian", "logseq": "Logseq", "slack": "Slack"}

# What stands for a note's source before its name.
ICONS = {"Bear": "🐻", "Obsidian": "💎", "Logseq": "🪵", "Slack": "💬"}
ICON = "📄"

# Characters that are shown of a passage before what is marked in it.
BEFORE_MARK = 160


@dataclass(frozen=True)
class Link:
    label: str
    url: str


@dataclass(frozen=True)
class ShownPassage:
    """A passage of a note, for people."""

    text: Markup
    heading: str | None
    url: str  # the note's page at this passage


@dataclass(frozen=True)
class Card:
    """A hit as it is shown."""

    hit: Hit
    title: Markup
    url: str  # of the note's page
    snippet: Markup | None
    passage: ShownPassage | None
    more: tuple[ShownPassage, ...]
    why: str
    tags: tuple[Link, ...]
    age: str | None
    day: str | None
    open: Link | None
    icon: str  # of its source
    similar_url: str


def card(
    addresses: Addresses, planned: Plan, hit: Hit, more: Sequence[MatchedPassage] = ()
) -> Card:
    """A hit as it is shown, with further passages of its note."""
    # Without a match the snippet is only the beginning of the passage, which is shown anyway.
    snippet = plain_text(hit.snippet) if MARK in hit.snippet and not _is_of_tags(hit) else ""
    is_title = bool(snippet) and _unmarked(snippet) == plain_text(hit.title)
    return Card(
        hit=hit,
        title=_marked(snippet if is_title else hit.title or "Untitled"),
        url=addresses.note(hit.id, hit.passage.id if hit.passage else None),
        snippet=None if is_title or hit.encrypted or not snippet else _marked(snippet),
        passage=_main_passage(addresses, planned, hit, has_snippet=bool(snippet) and not is_title),
        more=tuple(_shown(addresses, hit, passage) for passage in more),
        why=why(hit, planned),
        tags=tuple(Link(tag, addresses.search(add=[("tag", tag)])) for tag in innermost(hit.tags)),
        age=age(hit.modified),
        day=local_day(hit.modified),
        open=open_link(hit.url, hit.app),
        icon=ICONS.get(hit.app, ICON),
        similar_url=addresses.similar(hit.id),
    )


def open_label(app: str) -> str:
    """What the link says that opens a note where it lives."""
    return f"Open in {app}" if app else "Open the original"


def open_link(url: str | None, app: str = "") -> Link | None:
    """The link that opens a note in its own app; None if it has none that a page may have."""
    if url is None or not render.is_safe_to_open(url):
        return None
    return Link(open_label(app or APPS.get(render.scheme_of(url) or "", "")), url)


def _is_of_tags(hit: Hit) -> bool:
    """Whether the snippet is from the tags, a JSON array, which are shown anyway."""
    return bool(hit.tags) and _unmarked(hit.snippet).lstrip(ELLIPSIS).startswith('["')


def _main_passage(
    addresses: Addresses, planned: Plan, hit: Hit, *, has_snippet: bool
) -> ShownPassage | None:
    """The closest passage, where it says more than the snippet does."""
    if hit.passage is None or hit.encrypted:
        return None
    if has_snippet and not is_close(hit, planned):
        return None
    if has_snippet and _unmarked(hit.snippet).strip(ELLIPSIS) in hit.passage.text:
        return None
    return _shown(addresses, hit, hit.passage)


def _shown(addresses: Addresses, hit: Hit, passage: MatchedPassage) -> ShownPassage:
    lines = plain_text(passage.marked()).splitlines()
    heading = passage.heading.split(" › ")[-1] if passage.heading else hit.title
    if lines[1:] and _unmarked(lines[0]) == plain_text(heading):
        del lines[0]
    return ShownPassage(
        _marked(_around_mark("\n".join(lines))), passage.heading, addresses.note(hit.id, passage.id)
    )


def _around_mark(text: str) -> str:
    """A passage of which only some lines are shown, from a little before what is marked in it."""
    before, mark, after = text.partition(MARK)
    if not mark or len(before) <= BEFORE_MARK:
        return text
    return f"{ELLIPSIS}{before[-BEFORE_MARK:].partition(' ')[2]}{mark}{after}"


def _marked(text: str) -> Markup:
    return Markup(marked_html(text))


def _unmarked(text: str) -> str:
    return text.replace(MARK, "").replace(END_MARK, "")
