"""What the page shows of a hit: its title, its words, why it was found, where its links lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..notes import can_be_opened, local_day, scheme_of
from ..search.planner import Plan
from ..search.results import Hit, MatchedPassage, marked_html
from ..search.snippets import innermost, passage_text, shown_text, starting_near_mark, why
from .links import Anchor, Urls
from .site import age

# The apps that links open which come without the name of one, by the beginning of the link.
APPS = {"bear": "Bear", "obsidian": "Obsidian", "logseq": "Logseq", "slack": "Slack"}

# What stands for a note's source before its name.
ICONS = {"Bear": "🐻", "Obsidian": "💎", "Logseq": "🪵", "Slack": "💬"}
ICON = "📄"

# Characters that are shown of a passage before what is marked in it.
BEFORE_MARK = 160


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
    snippet: Markup | None
    passage: ShownPassage | None
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
    shown = shown_text(hit, planned)
    passage = hit.passage if shown.passage else None
    return Card(
        hit=hit,
        title=_marked(shown.title or hit.title or "Untitled"),
        url=urls.note(hit.id, hit.passage.id if hit.passage else None),
        snippet=_marked(shown.snippet) if shown.snippet else None,
        passage=_passage(urls, hit, passage, shown.passage) if passage else None,
        more=tuple(_passage(urls, hit, each, passage_text(each, hit.title)) for each in more),
        why=why(hit, planned),
        tags=tuple(Anchor(tag, urls.search(add=[("tag", tag)])) for tag in innermost(hit.tags)),
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


def _passage(urls: Urls, hit: Hit, passage: MatchedPassage, text: str) -> ShownPassage:
    shown = _marked(starting_near_mark(text, BEFORE_MARK))  # of which only some lines are seen
    return ShownPassage(shown, passage.heading, urls.note(hit.id, passage.id))


def _marked(text: str) -> Markup:
    return Markup(marked_html(text))
