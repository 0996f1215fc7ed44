"""A Markdown text → its title, tags, to-dos, links and pictures, or a ``Note`` that has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from ...notes import Note, Tag
from ...text.markdown import FENCE, bare_heading, plain_text, wiki_links
from .dates import later, parse_timestamp
from .text import word_lists

# One or two backticks, the text, as many again. It begins with a plain character, as _TAG does.
_INLINE_CODE = re.compile(r"`(?<!``)(`?)(?!`)[^`\n]+`\1(?!`)")

# Text above a line of "=".
_UNDERLINED = re.compile(r"[ ]{0,3}(\S.*)\n[ ]{0,3}=+[ \t]*(?:\n|\Z)")
_HEADING_LINE = re.compile(r"#{1,6}(?=\s)(?P<words>.*?)(?:\s#+)?")  # but "C#" keeps its "#"
_LEVEL_ONE = re.compile(r"^# (.*)$|<h1\b[^<>]*>([^\n]{0,300}?)</h1>", re.MULTILINE)
_ELEMENT = re.compile(r"<[a-zA-Z/!][^<>]*>")
# Maximum words above a heading that is the title: badges, a motto, a date.
MOST_WORDS_ABOVE = 40
_HEADING = re.compile(r"^(?=#{1,6}[ \t])", re.MULTILINE)

# A tag as in Obsidian: any characters but blanks and punctuation, including Chinese and Japanese.
# "#" comes before its condition, because expressions that begin with a literal are faster.
_TAG = re.compile(
    r"#(?<!\S#)([^\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40"
    r"\uff5b-\uff65'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)"
)
# Colors aren't tags: "#ddd" after "color: ", and six or eight hex digits, one of them decimal.
_DIGITS = re.compile(r"[0-9a-f]{3,8}", re.IGNORECASE)
_STYLE = re.compile(r"\b(?:background|border|colou?r|fill|stroke)\b[^\n#]*$", re.IGNORECASE)
_COLOR = re.compile(r"(?=[a-f]*\d)(?:[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)
# In comments and formulas, "#" begins no tag.
_COMMENTS = (("<!--", "-->"), ("%%", "%%"), ("$$", "$$"))
_CHECKBOX = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX/])\](?=[ \t])", re.MULTILINE)

# [label](target "title"), ![alternative](<my picture.png>)
_LINK = re.compile(
    r"""\[[^\[\]]*\]\(
    (?:<(?P<wrapped>[^<>\n]+)>|(?P<target>[^()<>\s]+(?:[ ][^()<>\s"']+)*(?:\([^()\s]*\)[^()\s]*)*))
    (?:[ \t]+["'(][^\n]{0,300}?)?\)""",
    re.VERBOSE,
)
# Hugo's {{< relref "x.md" >}}, and Jekyll's {% link x.md %} and {% post_url 2024-05-01-x %}
_SHORTCODE = re.compile(
    r"(?:\{\{[<%]\s*(?:rel)?ref\s+|\{%-?\s*(?:link|post_url)\s+)\"?([^\s\"<>%{}]+)\"?\s*-?[%>]\}\}?"
)
# [label]: target
_REFERENCE = re.compile(r"^[ ]{0,3}\[[^\[\]\n^][^\[\]\n]*\]:[ \t]*<?([^\s<>]+)", re.MULTILINE)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:|//")  # a single letter before ":" is a drive

IMAGES = frozenset(word_lists()["images"])
OTHER_FILES = frozenset(word_lists()["other_files"])
# Suffixes of files, other than notes, that a note may show or link to.
LINKED = IMAGES | OTHER_FILES


class LinkTarget(NamedTuple):
    """The target of a link to a note or file, as opposed to a URL."""

    path: str  # percent-decoded, without "#heading"
    is_wiki: bool  # whether it is written [[…]]


class Metadata(NamedTuple):
    tags: Sequence[str] = ()  # in the order of the text, without duplicates
    todos_open: int = 0
    todos_done: int = 0
    has_image: bool = False
    has_file: bool = False
    has_code: bool = False
    links: Sequence[LinkTarget] = ()

    def note_fields(self) -> dict[str, Any]:
        """Return the values that are fields of a ``Note`` as they are."""
        names = ("todos_open", "todos_done", "has_image", "has_file", "has_code")
        return {name: getattr(self, name) for name in names}


class ParsedText(NamedTuple):
    """What is parsed from the text of a file."""

    title: str
    body: str  # Markdown
    tags: Sequence[str] = ()  # in addition to those in the body
    created: str | None = None  # ISO 8601
    modified: str | None = None
    has_image: bool = False  # whether there is one in addition to those in the body
    problem: str = ""  # what couldn't be read, for people
    todos_open: int = 0  # in addition to those in the body
    todos_done: int = 0
    trashed: bool = False  # if the text says so
    soft_breaks: bool = False  # whether a line break in a paragraph is a space
    title_line: str = ""  # if it isn't in the body; its tags and links belong to the note

    @property
    def text(self) -> str:
        """The body, with the title as a heading above it."""
        return f"# {self.title}\n\n{self.body}" if self.title else self.body


def extract_metadata(text: str) -> Metadata:
    """Return the metadata of a Markdown text, ignoring what is in code."""
    prose, has_code = without_code(text)
    for start, end in _COMMENTS:
        prose = _without_spans(prose, start, end)
    has_boxes = "[ ]" in prose or "[x]" in prose or "[X]" in prose or "[/]" in prose
    todos = _CHECKBOX.findall(prose) if has_boxes else []
    done = sum(mark in "xX" for mark in todos)
    links, has_image = _links(prose)
    suffixes = {suffix(link.path) for link in links}
    return Metadata(
        tags=_tags(prose) if "#" in prose else [],
        todos_open=len(todos) - done,
        todos_done=done,
        has_image=has_image or not suffixes.isdisjoint(IMAGES),
        has_file=not suffixes.isdisjoint(OTHER_FILES),
        has_code=has_code,
        links=links,
    )


def without_code(text: str) -> tuple[str, bool]:
    """Return the text without its code, and whether it has code blocks."""
    has_code = False
    if "```" in text or "~~~" in text:
        prose, fence = [], ""
        for line in text.split("\n"):
            if fence:
                marks = line.strip(" \t>")
                if marks.startswith(fence) and not marks.strip(fence[0]):
                    fence = ""
            elif ("```" in line or "~~~" in line) and (opening := FENCE.match(line)):
                fence, has_code = opening["marks"], True
            else:
                prose.append(line)
        text = "\n".join(prose)
    return _INLINE_CODE.sub("", text) if "`" in text else text, has_code


def _without_spans(text: str, start: str, end: str) -> str:
    # Not a regular expression: from each of many starts, it would search the rest for an end.
    kept, position = [], 0
    while (first := text.find(start, position)) >= 0:
        if (last := text.find(end, first + len(start))) < 0:
            break
        kept.append(text[position:first])
        position = last + len(end)
    return "".join([*kept, text[position:]]) if position else text


def leading_heading(text: str) -> tuple[str, str]:
    """Return a text's leading heading in plain text, or "", and the text below it."""
    start = text.lstrip()
    line, _, rest = start.partition("\n")
    heading = _HEADING_LINE.fullmatch(line.strip())
    if heading and (title := plain_text(bare_heading(heading["words"]))):
        return title, rest.lstrip("\n")
    if match := _UNDERLINED.match(start):
        title = plain_text(bare_heading(match[1]))
        return title, start[match.end() :].lstrip("\n")
    return "", text


def first_heading(text: str) -> str:
    """Return the only level-one heading in plain text, if little text is above it, or ""."""
    if "\n# " not in text and "<h1" not in text:
        return ""
    prose, _ = without_code(text)
    headings = list(islice(_LEVEL_ONE.finditer(prose), 2))
    if len(headings) != 1:  # chapters
        return ""
    above = plain_text(_ELEMENT.sub("", prose[: headings[0].start()]))
    if len(above.split()) > MOST_WORDS_ABOVE:
        return ""
    return plain_text(bare_heading(headings[0][1] or headings[0][2] or ""))


def suffix(path: str) -> str:
    """Return the suffix of a file's name in lower case, such as ".png"."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


# --- Notes, and texts with a separate title or that aren't Markdown


def as_markdown(text: str) -> str:
    """Return plain text as Markdown that looks the same: "# 3" must not become a heading."""
    return _HEADING.sub(r"\\", text)


def title_of(title: str, body: str) -> str:
    """Return the title on one line, or the first line of the body if there is no title."""
    line = " ".join(title.split())
    return line or plain_text(body.lstrip().partition("\n")[0])


def without_title(body: str, title: str) -> str:
    """Return the Markdown ``body`` without a first line that only repeats the title."""
    first, _, rest = body.lstrip("\n").partition("\n")
    return rest.lstrip("\n") if title and plain_text(first) == " ".join(title.split()) else body


def note_from_markdown(
    key: str,
    text: str,
    *,
    title: str = "",
    tags: Iterable[str] = (),
    inline_tags: bool = False,
    created: object = None,
    modified: object = None,
    has_image: bool = False,
    has_file: bool = False,
    **fields: Any,
) -> Note:
    """Return a note whose to-dos, pictures, files and code are found in its Markdown.

    :param title: by default the first heading, or the first line; the body doesn't repeat it
    :param inline_tags: whether ``#word`` in the text is a tag
    :param created: a text, a ``datetime``, or seconds since 1970; the same goes for ``modified``
    :param fields: other fields of ``Note``
    """
    heading, below = ("", text) if title else leading_heading(text)
    found = extract_metadata(text)
    names: dict[str, str] = {}  # without duplicates that differ only in case
    for name in (*tags, *(found.tags if inline_tags else ())):
        names.setdefault(name.lower(), name)
    first, last = parse_timestamp(created), parse_timestamp(modified)
    own = {"has_image": found.has_image or has_image, "has_file": found.has_file or has_file}
    return Note(
        key,
        title_of(title or heading, text),
        below if heading else without_title(text, title),
        tuple(map(Tag, names.values())),
        created=first or cast("str", created),  # check() reports invalid dates
        modified=later(first, last) or cast("str", modified),
        **{**found.note_fields(), **own, **fields},
    )


def _tags(prose: str) -> list[str]:
    tags: dict[str, None] = {}
    for match in _TAG.finditer(prose):
        tag = match[1].strip("/")
        if tag.strip("0123456789/-_") and not (_DIGITS.fullmatch(tag) and _is_color(match)):
            tags[tag] = None
    return list(tags)


def _is_color(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 30) : match.start()]
    return bool(_COLOR.fullmatch(match[1]) or _STYLE.search(before))


def _links(prose: str) -> tuple[list[LinkTarget], bool]:
    """Return the targets of local links, and whether the text has an image from the web."""
    links: list[LinkTarget] = []
    has_image = "<img" in prose
    if "[[" in prose:
        for target in wiki_links(prose):
            if path := target.partition("#")[0].strip(" \\"):  # in a table it is [[note\|label]]
                links.append(LinkTarget(path, is_wiki=True))
    if "]({" in prose:
        prose = _SHORTCODE.sub(r"\1", prose)
    if "](" in prose:
        for match in _LINK.finditer(prose):
            if link := _local(match["wrapped"] or match["target"]):
                links.append(link)
            elif prose[match.start() - 1 : match.start()] == "!":
                has_image = True
    if "]:" in prose:
        links += filter(None, map(_local, _REFERENCE.findall(prose)))
    return links, has_image


def _local(address: str) -> LinkTarget | None:
    if _ADDRESS.match(address):
        return None
    path = address.partition("#")[0].partition("?")[0]
    if "%" in path:
        path = unquote(path)
    return LinkTarget(path, is_wiki=False) if path else None
