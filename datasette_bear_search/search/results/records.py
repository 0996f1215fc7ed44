"""What the statement finds (``FoundNote``), and what a search returns (``Hit``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from ...notes import counted
from ..planning.planner import Plan
from ..ranking.statement import DEFAULT_RANKING, Ranking, Statement
from .marks import MarkedText

# The answer may be beside the closest passage. So read those within NEAR characters of it (for the
# first hits, NEAR_FIRST), at most MAX_NEAR on each side. Of 632 XQuAD questions in German, Spanish
# and English, .995, .987 and .998 have the answer there; in adjacent passages, .965, .941 and .981.
FIRST_HITS, NEAR_FIRST, NEAR, MAX_NEAR = 5, 1200, 300, 3


@dataclass(frozen=True)
class MatchedPassage:
    """A passage of a note that answers the query. Offsets count characters of the note's body."""

    text: str
    heading: str | None
    start: int
    end: int
    id: int | None = None  # in the table passages
    line: int | None = None  # its first line in the note, from 1
    soft_breaks: bool = False  # whether a line break inside a paragraph is but a space


@dataclass(frozen=True)
class ListedNote:
    id: int
    source: str
    key: str
    title: str
    url: str | None  # opens the note, at the passage's heading if it has one
    app: str  # the app that the url opens; "" if unnamed
    tags: tuple[str, ...]
    created: str | None
    modified: str | None
    pinned: bool
    archived: bool
    encrypted: bool


@dataclass(frozen=True)
class RankedNote(ListedNote):
    """A note that the statement found, and why."""

    passage: MatchedPassage | None
    keyword_rank: int | None
    semantic_rank: int | None
    similarity: float | None  # of the query and the passage: 1 the same, about 0 unrelated
    score: float | None  # determines the order: blend or rrf, times the weight of recency
    blend: float | None  # lexical and dense score, before feedback and regularization
    rrf: float | None
    is_exact: bool  # its title is the query, or it has the query's phrases and identifiers
    # Whether it has the words or is close in meaning. If not, it is merely one of the nearest.
    is_found: bool = True
    missing: tuple[str, ...] = ()  # words of a short query that it lacks
    is_phrase: bool = False  # whether it has the words next to each other, as typed
    rerank_score: float | None = None  # on the reranker's own scale
    language: str | None = None
    also_in: tuple[str, ...] = ()  # other sources that have the same note


@dataclass(frozen=True)
class FoundNote(RankedNote):
    """A row of the statement with what is needed to choose its text, which nobody else sees."""

    # Text around the words if only an image or file of the note has them, and its name if known.
    file_text: str = ""
    file_name: str = ""
    # The passage with those near it, and its offset in the note.
    around: str = ""
    around_start: int = 0
    is_in_code: bool = False  # whether that begins inside a fenced code block
    whole: str = ""  # the note's body, if the search asks for its to-dos, images, links or code
    goes_on: bool = False  # whether the note has more text after it
    templates: tuple[int, ...] = ()  # offsets in it of lines that many notes share


@dataclass(frozen=True, kw_only=True)
class Hit(RankedNote):
    """A found note as everybody may see it: all of this is in the JSON API."""

    snippet: MarkedText  # the text that answers
    sentence: tuple[int, int] | None  # the one that is marked, by offsets in the note's body
    marked_title: MarkedText  # as displayed
    marked_tags: tuple[MarkedText, ...]
    why: str  # for people: "words, 3rd · meaning, 1st (0.71) · title"
    in_file: bool  # whether only an image or file of the note has the words
    file: str | None  # its name, if known

    @property
    def text(self) -> str:
        return self.snippet.text

    def to_dict(self) -> dict[str, Any]:
        """Return the hit as JSON has it. Marked text becomes HTML with ``<mark>``."""
        # dataclasses.asdict() isn't used, because it copies all values, which is slow.
        return vars(self) | {
            "passage": self.passage and dict(vars(self.passage)),
            "snippet": self.snippet.html(),
            "marked_title": self.marked_title.html(),
            "marked_tags": [tag.html() for tag in self.marked_tags],
        }

    @property
    def file_label(self) -> str:
        """The file or image that has the words; empty if the note's own text has them."""
        return (self.file or "an image or file") if self.in_file else ""


Note = TypeVar("Note", FoundNote, Hit)


class Unfiltered(NamedTuple):
    """The search without its filters, if they leave nothing."""

    filter: str  # the label of the filter; empty if there are several
    text: str
    found: int

    @property
    def without(self) -> str:
        return f"“{self.filter}”. Without it" if self.filter else "these filters. Without them"

    @property
    def notice(self) -> str:
        return f"No note fits {self.without}, “{self.text}” has {counted(self.found, 'result')}."


@dataclass(frozen=True)
class Found(Generic[Note]):
    """A page of what a search found, and what there is to count and to say about all of it."""

    hits: tuple[Note, ...]
    total: int  # notes that can be paged through
    found: int  # those with the words or close in meaning; the others are merely the nearest
    plan: Plan
    retrievers: tuple[str, ...]  # which of "keyword", "semantic", "like" were used
    statement: Statement | None  # None if there was nothing to run
    notices: tuple[str, ...]
    next_offset: int | None
    ranking: Ranking = DEFAULT_RANKING
    found_ids: str | None = None  # of all found notes, a JSON array; None if there is no text
    unfiltered: Unfiltered | None = None
    # Whether more notes may be close in meaning: all of the nearest passages are.
    at_least: bool = False


Results = Found[Hit]
