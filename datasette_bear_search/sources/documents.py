"""HTML and Word documents → their words as Markdown."""

from __future__ import annotations

import io
import re
import warnings
from html import unescape
from typing import Any, NamedTuple

from ..markdown import words_of
from . import SourceError, Unreadable
from .files import MEGABYTE, open_zip
from .markdown_metadata import leading_heading
from .text import first_timestamp

# Characters that are left without scripts and pictures. Each million takes ten seconds; of more,
# only the words are kept.
LARGEST_PAGE = 1_000_000

# What the XML of a Word document may unpack to. A novel is 2 MB.
LARGEST_XML = 32 * MEGABYTE

# What a page has besides its words.
_NOT_WORDS = """
    head title meta link script style template noscript nav svg iframe object embed canvas button
    select
    """.split()

# Where programs that export notes, and blogs, say when a page was written.
_CREATED = "created date dcterms.created article:published_time creation-date".split()
_MODIFIED = "updated modified dcterms.modified article:modified_time last-modified".split()

# Most of a saved page, and quicker to find than to parse.
_SCRIPT = re.compile(r"<(script|style|svg)\b", re.IGNORECASE)
_DATA = re.compile(r"data:[\w/+.-]*;base64,[\w+/=%]*", re.ASCII)
_TAG = re.compile(r"<[^<>]*>")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*\n")


class Page(NamedTuple):
    """What a page says."""

    title: str
    markdown: str
    created: str | None = None  # ISO 8601
    modified: str | None = None


def parse_html(html: str) -> Page:
    """Return a page's title, words and dates. The title's line isn't in the Markdown again."""
    html = _without_scripts(_DATA.sub("", html))
    try:
        return _parsed(html) if len(html) <= LARGEST_PAGE else Page("", _words(html))
    except Exception:  # thousands of elements in each other, or what its parser rejects: <![~
        return Page("", _words(html))


def html_to_markdown(html: str) -> str:
    """Return the words of a page, or a part of one, as Markdown."""
    page = parse_html(html)
    return f"# {page.title}\n\n{page.markdown}" if page.title else page.markdown


def word_to_markdown(data: bytes) -> tuple[str, bool]:
    """Return the words of a .docx file as Markdown, and whether it has pictures (never opened).

    :raises Unreadable: if it is damaged or too large
    """
    try:
        with open_zip(io.BytesIO(data), "the document") as archive:
            parts = archive.files.values()
            if sum(part.size for part in parts if part.suffix in (".xml", ".rels")) > LARGEST_XML:
                raise Unreadable(f"unpacks to more than {LARGEST_XML // MEGABYTE} MB")
    except SourceError:
        raise Unreadable("no document of Word's, or only a part of one") from None
    # Takes 100 ms to import, and few sources need it.
    import mammoth

    images = []

    def description(image: Any) -> list[Any]:
        images.append(image)
        return [mammoth.html.text(f" {image.alt_text} ")] if image.alt_text else []

    try:
        html = mammoth.convert_to_html(io.BytesIO(data), convert_image=description).value
    except Exception as error:  # in as many ways as a document can be damaged
        raise Unreadable(
            f"a damaged document of Word's ({type(error).__name__}: {error})"
        ) from error
    return html_to_markdown(html), bool(images)


def _parsed(html: str) -> Page:
    # Both take 100 ms to import together, and few folders need them.
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about texts that look like an address, or like XML
        soup = BeautifulSoup(html, "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    dates: dict[str, object] = {}
    for element in soup.find_all("meta", content=True):
        name = element.get("name") or element.get("property") or element.get("itemprop") or ""
        dates.setdefault(str(name).lower(), element["content"])
    for element in soup.find_all(_NOT_WORDS):
        element.decompose()
    for box in soup.find_all("input", type="checkbox"):
        box.replace_with("[x] " if box.has_attr("checked") else "[ ] ")
    # Escapes would come between the words and whoever searches for "snake_case" as it stands.
    converter = MarkdownConverter(
        heading_style="ATX", bullets="-", escape_asterisks=False, escape_underscores=False
    )
    text = _BLANK_LINES.sub("\n\n", converter.convert_soup(soup.body or soup)).strip()
    heading, below = leading_heading(text)
    if heading and title in ("", heading):
        title, text = heading, below
    return Page(title, text, first_timestamp(dates, _CREATED), first_timestamp(dates, _MODIFIED))


def _without_scripts(html: str) -> str:
    kept, position = [], 0
    while start := _SCRIPT.search(html, position):
        end = re.compile(rf"</{start[1]}\s*>", re.IGNORECASE).search(html, start.end())
        if end is None:
            break
        kept.append(html[position : start.start()])
        position = end.end()
    return "".join([*kept, html[position:]])


def _words(html: str) -> str:
    return words_of(unescape(_TAG.sub(" ", html)))
