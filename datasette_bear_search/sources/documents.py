"""HTML and Word documents → their words as Markdown."""

from __future__ import annotations

import io
import re
import warnings
from html import unescape
from itertools import accumulate
from typing import Any, NamedTuple

from ..markdown import words_of
from . import SourceError, Unreadable
from .files import MEGABYTE, open_zip
from .markdown_metadata import leading_heading
from .text import first_timestamp

# Characters without scripts and pictures. Each million takes ten seconds: of more, only the words.
LARGEST_PAGE = 1_000_000

# Characters times open elements at the deepest place: the parser looks through all of them for many
# tags, and each quote or list indents its lines. 40,000 "<div>" took three seconds.
DEEPEST_PAGE = 50_000_000

# XML of a Word document that is opened, and of which more than the words is kept: 26 MB took more
# than 150 s and 1.7 GB of memory; a novel is 2 MB.
LARGEST_XML = 32 * MEGABYTE
LARGEST_WORD = 4 * MEGABYTE

# Its tags: this many take 2 s; a novel has 50,000.
MOST_TAGS = 100_000

# Elements with attributes that mean something in Markdown.
_ELEMENTS = {
    **{"a": {"href", "title"}, "code": {"class"}, "img": {"alt", "src", "title"}},
    **{"input": {"checked", "type"}, "meta": {"content", "itemprop", "name", "property"}},
    **{"ol": {"start"}, "pre": {"class"}, "td": {"colspan"}, "th": {"colspan"}},
}
# Blocks to a browser, but not to markdownify: their words would stick to what is beside them.
_MORE_BLOCKS = """
    address aside center details footer form header legend main summary
    """.split()
_OTHER_ELEMENTS = [
    *_MORE_BLOCKS,
    *"""
    article b blockquote br caption dd del div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i kbd
    label li p q s samp section strong sub sup table tbody tfoot thead title tr u ul
    """.split(),
]
# Left out with all that is in them. Not "object": Apple Notes puts each table into one.
_NOT_WORDS = """
    button canvas iframe nav noscript script select style svg template
    """.split()

# Where programs that export notes, and blogs, say when a page was written.
_CREATED = "created date dcterms.created article:published_time creation-date".split()
_MODIFIED = "updated modified dcterms.modified article:modified_time last-modified".split()

# Most of a saved page, and quicker to find than to parse.
_SCRIPT = re.compile(r"<(script|style|svg)\b", re.IGNORECASE)
_DATA = re.compile(r"data:[\w/+.-]*;base64,[\w+/=%]*", re.ASCII)
_DECLARATION = re.compile(r"\A\s*<\?xml\b[^<>]*>")
# What a site's generator fills in: the first words of a page, or its title.
_TEMPLATE = re.compile(r"\s*(?:<[^<>]*>\s*)*\{[{%]|[^{]*<title>[^<{]*\{[{%]", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
# Of elements that don't end by themselves where the next one begins, and aren't empty.
_OPENING_OR_CLOSING = re.compile(
    r"<(/?)(?!(?:br|hr|img|input|li|link|meta|p|td|th|tr|wbr)\b)[a-z]", re.IGNORECASE
)
_SCHEMES = re.compile(r"=\s*[\"']?\s*([a-z][a-z\d+.-]{0,40}):", re.IGNORECASE | re.ASCII)
# markdownify takes quadratic time for a run of blanks.
_BLANKS = re.compile(r"[ \t]{64,}")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*\n")


class Page(NamedTuple):
    title: str
    markdown: str
    created: str | None = None  # ISO 8601
    modified: str | None = None
    has_image: bool = False
    problem: str = ""  # why only its words are here, for people

    @property
    def text(self) -> str:
        """The Markdown below the title."""
        return f"# {self.title}\n\n{self.markdown}" if self.title else self.markdown


def parse_html(html: str) -> Page:
    """Return a page's title, words and dates. The title's line isn't in the Markdown again."""
    html = _without_scripts(_DATA.sub("", _DECLARATION.sub("", html, count=1)))
    html = _BLANKS.sub(" ", html)
    if len(html) > LARGEST_PAGE:
        return Page("", _words(html), problem="so large that only its words are kept")
    try:
        steps = (-1 if match[1] else 1 for match in _OPENING_OR_CLOSING.finditer(html))
        if max(accumulate(steps), default=0) * len(html) <= DEEPEST_PAGE:
            return _parsed(html)
    except Exception:  # thousands of elements in each other
        pass
    problem = "nested so deeply that only its words are kept"
    return Page("", _words(html), problem=problem)


def is_template(html: str) -> bool:
    """Return whether a file of HTML is what a site's generator makes pages from."""
    return bool(_TEMPLATE.match(_without_scripts(html), 0, 20_000))


def parse_word(data: bytes) -> Page:
    """Return the words of a .docx file. Its pictures are never opened.

    :raises Unreadable: if it is damaged or too large
    """
    try:
        with open_zip(io.BytesIO(data), "the document") as archive:
            parts = {key: part for key, part in archive.files.items() if part.suffix in _XML}
            size = sum(part.size for part in parts.values())
            if size > LARGEST_XML:
                raise Unreadable(f"unpacks to more than {LARGEST_XML // MEGABYTE} MB")
            # Another part may name the document differently, but in nearly all it is this one.
            xml = archive.read(_DOCUMENT) if _DOCUMENT in parts else b""
            if xml and (size > LARGEST_WORD or xml.count(b"<") > MOST_TAGS):
                lines = _WORD_SPACE.sub(r"\n\n\g<0>", xml.decode(errors="replace"))
                text = words_of(unescape(_TAG.sub("", lines))).replace("\n", "\n\n")
                return Page("", text, problem="so large that only its words are kept")
    except SourceError:
        raise Unreadable("no Word document, or only a part of one") from None
    # Takes 100 ms to import, and few sources need it.
    import mammoth

    images = []

    def description(image: Any) -> list[Any]:
        images.append(image)
        return [mammoth.html.text(f" {image.alt_text} ")] if image.alt_text else []

    try:
        html = mammoth.convert_to_html(io.BytesIO(data), convert_image=description).value
    except Exception as error:  # in as many ways as a document can be damaged
        raise Unreadable(f"a damaged Word document ({type(error).__name__}: {error})") from error
    return parse_html(html)._replace(has_image=bool(images))


_XML = (".xml", ".rels")
_DOCUMENT = "word/document.xml"
_WORD_SPACE = re.compile(r"</w:p>|<w:(?:br|tab)\b")


def _parsed(html: str) -> Page:
    # Both take 100 ms to import together, and few folders need them.
    import nh3
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    # As a browser reads it, in one pass: Python's parser, which then reads the result, took minutes
    # for tags that don't end.
    tail = html.rfind(">") + 1  # no tag begins behind it: a browser would drop all words there
    html = nh3.clean(
        html[:tail] + html[tail:].replace("<", "&lt;"),
        tags=_ELEMENTS.keys() | set(_OTHER_ELEMENTS),
        clean_content_tags=set(_NOT_WORDS),
        attributes=_ELEMENTS,
        link_rel=None,
        url_schemes={scheme.lower() for scheme in _SCHEMES.findall(html)},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about texts that look like an address, or like XML
        soup = BeautifulSoup(html, "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    dates: dict[str, object] = {}
    for element in soup.find_all("meta", content=True):
        name = element.get("name") or element.get("property") or element.get("itemprop") or ""
        dates.setdefault(str(name).lower(), element["content"])
    for element in soup.find_all(["meta", "title"]):
        element.decompose()
    pictures = soup.find_all("img")
    for picture in pictures:
        if not picture.get("src"):  # it stood in the page itself
            picture.replace_with(str(picture.get("alt") or ""))
    for element in soup.find_all(_MORE_BLOCKS):
        element.name = "div"
    for link in soup.find_all("a", href=lambda href: href and ":" not in href):
        if link.get_text() == link["href"]:  # markdownify writes <it>, as if it were on the web
            link["href"] += "#"
    for element in soup.find_all("label"):
        element.insert_after(" ")
    for box in soup.find_all("input", type="checkbox"):
        box.replace_with("[x] " if box.has_attr("checked") else "[ ] ")
    # Escapes would come between the words and whoever searches for "snake_case" as it stands.
    converter = MarkdownConverter(
        heading_style="ATX", bullets="-", escape_asterisks=False, escape_underscores=False
    )
    text = _BLANK_LINES.sub("\n\n", converter.convert_soup(soup)).strip()
    heading, below = leading_heading(text)
    if heading and title in ("", heading):
        title, text = heading, below
    created, modified = first_timestamp(dates, _CREATED), first_timestamp(dates, _MODIFIED)
    return Page(title, text, created, modified, has_image=bool(pictures))


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
