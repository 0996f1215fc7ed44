"""What the page shows of a hit: its title, its words, why it was found, where its links lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..notes import can_be_opened, local_day, scheme_of
from ..search.planner import Plan
from ..search.results import Hit, MatchedPassage, page_html
from ..search.snippets import SHOWN, innermost, passage_text, shortened, why
from .links import Anchor, Urls
from .site import age

# The apps that links open which come without the name of one, by the beginning of the link.
APPS = {"bear": "Bear", "obsidian": "Obsidian", "logseq": "Logseq", "slack": "Slack"}

# What stands for a note's source before its name.
ICONS = {"Bear": "🐻", "Obsidian": "💎", "Logseq": "🪵", "Slack": "💬"}
ICON = "📄"


@dataclass(frozen=True)
class ShownPassage:
    text: Markup
    heading: str | None
    url: str  # the note's page at this passage


@dataclass(frozen=True)
class Card:
    """A hit as it is shown."""

    hit: Hit
    title: Markup
    url: str  # of the note's page
    heading: str | None  # above the text
    text: Markup
    more: tuple[ShownPassage, ...]
    why: str
    tags: tuple[Anchor, ...]
    age: str | None
    day: str | None
    open: Anchor | None
    icon: str  # of its source
    similar_url: str


def card(urls: Urls, planned: Plan, hit: Hit, more: Sequence[MatchedPassage] = ()) -> Card:
    """Return a hit as it is shown, with further passages of its note."""
    marked_tags = dict(zip(hit.tags, hit.marked_tags))
    return Card(
        hit=hit,
        title=_marked(hit.marked_title or hit.title or "Untitled"),
        url=urls.note(hit.id, hit.passage.id if hit.passage else None),
        heading=None if hit.file_text or not hit.passage else hit.passage.heading,
        text=_marked(hit.snippet),
        more=tuple(_passage(urls, hit, each) for each in more),
        why=why(hit, planned),
        tags=tuple(
            Anchor(_marked(marked_tags.get(tag, tag)), urls.search(add=[("tag", tag)]))
            for tag in innermost(hit.tags)
        ),
        age=age(hit.modified),
        day=local_day(hit.modified),
        open=open_link(hit.url, hit.app),
        icon=ICONS.get(hit.app, ICON),
        similar_url=urls.similar(hit.id),
    )


def open_link(url: str | None, app: str = "") -> Anchor | None:
    """Return the link that opens a note in its own app; None if it has no safe one."""
    if url is None or not can_be_opened(url):
        return None
    app = app or APPS.get(scheme_of(url) or "", "")
    return Anchor(f"Open in {app}" if app else "Open the original", url)


def _passage(urls: Urls, hit: Hit, passage: MatchedPassage) -> ShownPassage:
    text = shown(passage, hit.title)
    return ShownPassage(text, passage.heading, urls.note(hit.id, passage.id))


def shown(passage: MatchedPassage, title: str) -> Markup:
    """Return the beginning of a passage of the note with that title."""
    return _marked(shortened(passage_text(passage, title), SHOWN))


def _marked(text: str) -> Markup:
    return Markup(page_html(text))
