"""HTML and Word documents → their words as Markdown."""

from __future__ import annotations

import io
import re
from html import unescape
from itertools import accumulate
from typing import Any

from ...text.markdown import words_of
from ..base import SourceError, Unreadable
from ..files.archive import MEGABYTE, open_zip
from .dates import first_timestamp
from .markdown_metadata import ParsedText, leading_heading
from .text import word_lists

# Characters times the deepest nesting of what indents lines or is searched again at each level:
# 100,000 paragraphs in 90 nested quotes took 18 s. Worse pages keep only their words.
DEEPEST_PAGE = 50_000_000

# Bytes of XML in a Word document: larger ones aren't opened. Of those above the second limit, only
# the words are kept: 26 MB took more than 150 s and 1.7 GB of memory; a novel is 2 MB.
LARGEST_XML = 32 * MEGABYTE
LARGEST_WORD = 4 * MEGABYTE

# The same for tags in that XML: this many take 2 s; a novel has 50,000.
MOST_TAGS = 100_000

_CREATED, _MODIFIED = word_lists()["page_created"], word_lists()["page_modified"]

# A placeholder for a site generator as the page's first words, in its title or below front matter.
_TEMPLATE = re.compile(
    r"\s*(?:<[^<>]*>\s*)*\{[{%]|[\s\S]*?<title>[^<{]*\{[{%]|---\n[\s\S]*?\{[{%]", re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]*>")
_NESTING = re.compile(r"<(/?)(?:blockquote|dl|ol|pre|table|ul)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]*>([^<]*)", re.IGNORECASE)
_META = re.compile(r"<meta\b[^<>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"(?<![\w-])([a-z-]{1,40})\s{0,9}=\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+))",
    re.IGNORECASE,
)
_CHECKBOX = re.compile(
    r"(?i)<(?:input\b[^<>]*?\btype\s*=\s*[\"']?|div class=[\"'])checkbox\b[^<>]*>(?:</div>)?"
)
_CHECKED = re.compile(r"\schecked\b|checkbox-on", re.IGNORECASE)
_LABEL = re.compile(r"</label\s*>", re.IGNORECASE)
# In a browser's or a service's export of bookmarks, tags are an attribute of the link.
_BOOKMARK = re.compile(r"<a\b[^<>]*>[^<>]*</a>", re.IGNORECASE)
_TAGS = re.compile(r'\stags="([^"]+)', re.IGNORECASE)
# A picture that was embedded in the page, or that never had an address; a link around no words.
_EMPTY = re.compile(r"!\[([^\[\]\n]*)\]\(<>\)|(?<!!)\[\]\([^()\n]*\)")


def html_to_markdown(html: str) -> str:
    """Return a page's words as Markdown, with its title as a heading and without scripts."""
    return parse_html(html).text


def parse_html(html: str) -> ParsedText:
    """Return a page's title, words and dates. The Markdown doesn't repeat the title."""
    steps = (-1 if match[1] else 1 for match in _NESTING.finditer(html))
    page = _parsed(html) if max(accumulate(steps), default=0) * len(html) <= DEEPEST_PAGE else None
    words = unescape(_TAG.sub(" ", html)) if page is None else ""
    problem = "nested so deeply, or so damaged, that only its words are kept"
    return page or ParsedText("", words_of(words), problem=problem)


def is_template(html: str) -> bool:
    """Return whether an HTML file is a template of a site generator."""
    return bool(_TEMPLATE.match(html, 0, 20_000))


def parse_word(data: bytes) -> ParsedText:
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
                return ParsedText("", text, problem="so large that only its words are kept")
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


def _parsed(html: str) -> ParsedText | None:
    # The import takes 20 ms, and few folders need it.
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    title = " ".join(unescape(match[1]).split()) if (match := _TITLE.search(html)) else ""
    dates: dict[str, object] = {}
    for element in _META.findall(html):
        found = {name.lower(): "".join(value) for name, *value in _ATTRIBUTE.findall(element)}
        names = (found[name] for name in ("name", "property", "itemprop") if name in found)
        dates.setdefault(next(names, "").lower(), unescape(found.get("content", "")))
    html = _CHECKBOX.sub(lambda box: "[x] " if _CHECKED.search(box[0]) else "[ ] ", html)
    html = _LABEL.sub(r"\g<0> ", html)
    if "<!DOCTYPE NETSCAPE-Bookmark" in html[:100]:
        html = _BOOKMARK.sub(lambda link: " ".join([link[0], *_TAGS.findall(link[0])]), html)
    tail = html.rfind(">") + 1  # a "<" after it is no tag; a browser would drop all words there
    options = ConversionOptions(
        bullets="-",
        compact_tables=True,
        exclude_selectors=word_lists()["not_words"],
        expand_abbreviations=False,
        extract_metadata=False,
        hidden_content="reachable",
        include_blockquote_citations=False,
        inline_data_media="alt_text_only",
        preprocessing=PreprocessingOptions(enabled=False),  # it drops forms
    )
    try:
        converted = convert(html[:tail] + html[tail:].replace("<", "&lt;"), options)
    except Exception:  # such as for many control characters
        return None
    if any(str(warning.kind) == "depth_limit_exceeded" for warning in converted.warnings):
        return None
    text = _EMPTY.sub(r"\1", converted.content or "").strip()
    heading, below = leading_heading(text)
    if heading and title in ("", heading):
        title, text = heading, below
    created, modified = first_timestamp(dates, _CREATED), first_timestamp(dates, _MODIFIED)
    has_image = "<img" in html.lower()
    return ParsedText(title, text, (), created, modified, has_image)
