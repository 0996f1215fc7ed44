"""A hit → what pages show: its title, its text, the reasons why it was found, its links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ...notes import can_be_opened, local_day, scheme_of, without_parent_tags
from ...query.query import Query
from ...search.planning.planner import Plan
from ...search.results.marks import KINDS, MarkedText
from ...search.results.records import Hit, ListedNote, MatchedPassage
from ...search.results.sentences import is_close
from ...search.results.snippets import SHOWN, lead, passage_text, readable, shortened
from ...sources.base import SourceConfig
from ...sources.new_notes import new_note_urls
from ..requests.freshness import age
from .urls import LabeledUrl, Urls

# The icon before the name of a note's source.
ICONS = {"Bear": "🐻", "Obsidian": "💎", "Logseq": "🪵", "Slack": "💬"}
ICON = "📄"

# Characters in the ten lines that a phone shows of the first result: with twelve, three results
# don't always fit. If its text is longer, at most so many are shown before the part that answers.
MAX_WHOLE, MAX_BEFORE = 460, 200
MAX_CARD_TAGS = 3


@dataclass(frozen=True)
class Badge:
    label: str
    rank: str  # "4", "2 · 0.51"
    title: str  # the explanation in words


@dataclass(frozen=True)
class Card:
    hit: ListedNote
    title: Markup | str
    url: str  # of the note's page
    tags: tuple[LabeledUrl, ...]
    more_tags: str  # further tags, which aren't shown
    age: str | None
    day: str | None
    open: LabeledUrl | None
    icon: str  # of its source
    similar_url: str
    heading: str | None = None  # above the text
    before: Markup | str = ""  # text that can be collapsed,
    text: Markup | str = ""  # the part that answers,
    after: Markup | str = ""  # and more text that can be collapsed
    is_far: bool = False  # whether much text is before the part that answers
    badges: tuple[Badge, ...] = ()
    why: str = ""

    @property
    def month(self) -> str:
        """The month of modification, ``May 2024``."""
        return (self.day or "").partition(" ")[2]


def listed(urls: Urls, note: ListedNote, link: Callable[[str], LabeledUrl], **fields: Any) -> Card:
    """Return a note's card for any list, with links of its tags; ``fields`` are the list's own."""
    tags = without_parent_tags(note.tags)
    return Card(
        hit=note,
        tags=tuple(map(link, tags[:MAX_CARD_TAGS])),
        more_tags=" ".join(f"#{tag}" for tag in tags[MAX_CARD_TAGS:]),
        age=age(note.modified),
        day=local_day(note.modified),
        open=open_link(note.url, note.app),
        icon=ICONS.get(note.app, ICON),
        similar_url=urls.similar(note.id),
        **fields,
    )


def card(urls: Urls, planned: Plan, hit: Hit) -> Card:
    snippet, (start, end) = hit.snippet, lead(hit.snippet)
    marked = dict(zip(hit.tags, hit.marked_tags))
    return listed(
        urls,
        hit,
        lambda tag: LabeledUrl(_marked(marked[tag]), urls.adding("tag", tag)),
        title=_marked(hit.marked_title) or "Untitled",
        url=urls.note(hit.id, hit.passage.id if hit.passage else None, hit.sentence),
        heading=None if hit.in_file or not hit.passage else hit.passage.heading,
        before=_in_lines(snippet[:start]),
        text=_in_lines(snippet[start:end]),
        after=_in_lines(snippet[end:]),
        is_far=start > MAX_BEFORE and len(snippet.text) > MAX_WHOLE,
        badges=tuple(badges(hit, planned)),
    )


def badges(hit: Hit, planned: Plan) -> Iterator[Badge]:
    """Yield the reasons why a note was found, most important first."""
    if hit.is_exact and planned.is_title(hit.title):
        yield Badge("Title", "", "The title is what you typed")
    elif hit.is_exact:
        yield Badge("Exact", "", "Contains exactly what you typed")
    elif hit.is_phrase:
        yield Badge("Phrase", "", "Has your words next to each other")
    if hit.keyword_rank:
        yield Badge("Words", f"{hit.keyword_rank:,}", "Contains your words")
    # If a note has the words, meaning is a reason only if it is close, too.
    if hit.semantic_rank and (is_close(hit, planned) or not hit.keyword_rank):
        rank, similarity = f"{hit.semantic_rank:,}", f"{hit.similarity:.2f}"
        label = "Meaning" if hit.is_found else "Weak"
        title = "Similar in meaning" if hit.is_found else "Only remotely similar in meaning"
        yield Badge(label, f"{rank} · {similarity}", title)


def open_link(url: str | None, app: str = "") -> LabeledUrl | None:
    """Return the link that opens a note in its own app; None if it has no safe one."""
    if url is None or not can_be_opened(url):
        return None
    app = app or next((name for name in ICONS if name.lower() == scheme_of(url)), "")
    return LabeledUrl(f"Open in {app}" if app else "Open the original", url)


def create_links(query: Query, sources: Iterable[SourceConfig]) -> Iterator[LabeledUrl]:
    """Yield links by which the apps of the sources create a note with the words of the query."""
    text = query.text
    for clause in reversed(query.clauses):
        if clause.kind not in ("phrase", "boolean", "time"):
            text = text[: clause.start] + text[clause.end :]
    title = " ".join(text.replace('"', " ").split())
    for app, url in new_note_urls(sources, title).items() if title else ():
        yield LabeledUrl(f"Create “{title}” in {app}", url)


def shown(passage: MatchedPassage, title: str) -> Markup:
    return _marked(shortened(readable(passage_text(passage, title)), SHOWN))


def _marked(text: MarkedText) -> Markup:
    return Markup(text.html(KINDS))


# Signs at the end of a line after which no dot is needed, and the ends of its marks.
_LINE_ENDS = tuple(".!?…:;,。！？>")
_MARKS_END = re.compile(r"(?:</\w+>)+$")
_DOT = '<span class="bear-line"></span>'


def _in_lines(text: MarkedText) -> Markup:
    """Return marked text as HTML; where lines are run together, a dot stands between them."""
    *lines, last = text.html(KINDS).split("\n")
    ended = (
        line if not line or _MARKS_END.sub("", line).endswith(_LINE_ENDS) else f"{line}{_DOT}"
        for line in lines
    )
    return Markup("\n".join([*ended, last]))
