"""HTML and Word documents → their words as Markdown."""

from __future__ import annotations

import io
import re
import warnings
from html import unescape
from itertools import accumulate
from typing import Any, NamedTuple

from ...markdown import words_of
from ..base import SourceError, Unreadable
from ..files.archive import MEGABYTE
from ..files.opening import open_zip
from .markdown_metadata import leading_heading
from .text import first_timestamp

# Characters without scripts and pictures. A million takes 10 s; larger pages keep only their words.
LARGEST_PAGE = 1_000_000

# Characters times the deepest nesting: for many tags, the parser searches all open elements, and
# each quote or list indents its lines. 40,000 nested "<div>" took three seconds.
DEEPEST_PAGE = 50_000_000

# Bytes of XML in a Word document: larger ones aren't opened. Of those above the second limit, only
# the words are kept: 26 MB took more than 150 s and 1.7 GB of memory; a novel is 2 MB.
LARGEST_XML = 32 * MEGABYTE
LARGEST_WORD = 4 * MEGABYTE

# The same for tags in that XML: this many take 2 s; a novel has 50,000.
MOST_TAGS = 100_000

# Elements with attributes that mean something in Markdown.
_ELEMENTS = {
    **{"a": {"href", "title"}, "code": {"class"}, "img": {"alt", "src", "title"}},
    **{"input": {"checked", "type"}, "meta": {"content", "itemprop", "name", "property"}},
    **{"ol": {"start"}, "pre": {"class"}, "td": {"colspan"}, "th": {"colspan"}},
}
# Browsers show these as blocks, but markdownify would join their words to the neighboring ones.
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
# Elements to drop with their content. Not "object", because Apple Notes puts each table into one.
_NOT_WORDS = """
    button canvas iframe nav noscript script select style svg template
    """.split()

# The names under which blogs, and programs that export notes, give a page's dates.
_CREATED = "created date dcterms.created article:published_time creation-date".split()
_MODIFIED = "updated modified dcterms.modified article:modified_time last-modified".split()

# These make up most of a saved page, and are faster to find than to parse.
_SCRIPT = re.compile(r"<(script|style|svg)\b", re.IGNORECASE)
_DATA = re.compile(r"data:[\w/+.-]*;base64,[\w+/=%]*", re.ASCII)
_DECLARATION = re.compile(r"\A\s*<\?xml\b[^<>]*>")
# A placeholder for a site generator as the page's first words or in its title.
_TEMPLATE = re.compile(r"\s*(?:<[^<>]*>\s*)*\{[{%]|[^{]*<title>[^<{]*\{[{%]", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
# Tags of elements that nest. Others are empty, or end by themselves where the next one begins.
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
    problem: str = ""  # why only the words were kept, for people

    @property
    def text(self) -> str:
        """The Markdown, with the title as a heading above it."""
        return f"# {self.title}\n\n{self.markdown}" if self.title else self.markdown


def html_to_markdown(html: str) -> str:
    """Return a page's words as Markdown, with its title as a heading and without scripts."""
    return parse_html(html).text


def parse_html(html: str) -> Page:
    """Return a page's title, words and dates. The Markdown doesn't repeat the title."""
    html = _without_scripts(_DATA.sub("", _DECLARATION.sub("", html, count=1)))
    html = _BLANKS.sub(" ", html)
    if len(html) > LARGEST_PAGE:
        return Page("", _words(html), problem="so large that only its words are kept")
    try:
        steps = (-1 if match[1] else 1 for match in _OPENING_OR_CLOSING.finditer(html))
        if max(accumulate(steps), default=0) * len(html) <= DEEPEST_PAGE:
            return _parsed(html)
    except Exception:  # such as RecursionError, for thousands of nested elements
        pass
    problem = "nested so deeply that only its words are kept"
    return Page("", _words(html), problem=problem)


def is_template(html: str) -> bool:
    """Return whether an HTML file is a template of a site generator."""
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
            # The package may give the document another path, but hardly any file does.
            xml = archive.read(_DOCUMENT) if _DOCUMENT in parts else b""
            if xml and (size > LARGEST_WORD or xml.count(b"<") > MOST_TAGS):
                lines = _WORD_SPACE.sub(r"\n\n\g<0>", xml.decode(errors="replace"))
                text = words_of(unescape(_TAG.sub("", lines))).replace("\n", "\n\n")
                return Page("", text, problem="so large that only its words are kept")
    except SourceError:
        raise Unreadable("no Word document, or only a part of one") from None
    # The import takes 100 ms, and few sources need it.
    import mammoth

    images = []

    def description(image: Any) -> list[Any]:
        images.append(image)
        return [mammoth.html.text(f" {image.alt_text} ")] if image.alt_text else []

    try:
        html = mammoth.convert_to_html(io.BytesIO(data), convert_image=description).value
    except Exception as error:  # the type depends on how the document is damaged
        raise Unreadable(f"a damaged Word document ({type(error).__name__}: {error})") from error
    return parse_html(html)._replace(has_image=bool(images))


_XML = (".xml", ".rels")
_DOCUMENT = "word/document.xml"
_WORD_SPACE = re.compile(r"</w:p>|<w:(?:br|tab)\b")


def _parsed(html: str) -> Page:
    # Together these imports take 100 ms, and few folders need them.
    import nh3
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    # nh3 reads it in one pass, as a browser does, and closes all tags. Without that, Python's
    # parser took minutes for tags that don't end.
    tail = html.rfind(">") + 1  # a "<" after it is no tag; a browser would drop all words there
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
        if not picture.get("src"):  # the picture was embedded in the page
            picture.replace_with(str(picture.get("alt") or ""))
    for element in soup.find_all(_MORE_BLOCKS):
        element.name = "div"
    for link in soup.find_all("a", href=lambda href: href and ":" not in href):
        if link.get_text() == link["href"]:  # else markdownify writes <href>, as for web addresses
            link["href"] += "#"
    for element in soup.find_all("label"):
        element.insert_after(" ")
    for box in soup.find_all("input", type="checkbox"):
        box.replace_with("[x] " if box.has_attr("checked") else "[ ] ")
    # Escapes would hide "snake_case" from somebody who searches for it verbatim.
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
