"""Elements and attributes allowed in a note's HTML: everything else is removed."""

from __future__ import annotations

import re

import nh3

from ...notes import OPENED_SCHEMES, scheme_of
from .attachments import FILE_PATH

SCHEMES = frozenset(["http", "https", "mailto", "tel", "bear", "obsidian"])

_TAGS = frozenset(
    "a blockquote br code details div em h2 h3 h4 h5 h6 hr img input kbd li mark ol p pre s "
    "section span strong sub summary sup table tbody td th thead tr u ul".split()
)
_ATTRIBUTES = {
    "*": {"class", "dir", "id"},
    "a": {"href"},
    "details": {"open"},
    "div": {"tabindex", "role", "aria-label"},
    "img": {"alt", "loading", "src"},
    "input": {"type", "disabled", "checked", "aria-label"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "span": {"title"},
}
_CLASSES = frozenset(
    "bear-callout bear-callout-title bear-center bear-code-comment bear-code-keyword "
    "bear-code-number bear-code-string bear-file bear-formula bear-front-matter bear-highlight "
    "bear-image bear-left bear-match bear-missing bear-plain bear-right bear-sentence bear-table "
    "bear-tag bear-task footnote-backref footnote-item footnote-ref footnotes footnotes-list "
    "footnotes-sep".split()
)


def sanitized(html: str, own_url: str | None) -> str:
    """Return the HTML without anything that isn't allowed above. ``own_url`` is the note's."""
    cleaned = nh3.clean(
        html,
        tags=set(_TAGS),
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        attribute_filter=_filtered,
        url_schemes=set(allowed_schemes(own_url)),
        link_rel="noopener noreferrer nofollow",
    )
    return _EMPTY.sub("", cleaned)


# What is left of a paragraph with only tags.
_EMPTY = re.compile(r"<p(?: dir=\"auto\")?>(?:\s|<br>)*</p>\n?")


_OUR_IMAGE = re.compile(rf"(?:/[^/?#][^?#]*)?{FILE_PATH}/\d+\?v=[0-9a-f]+")


def _filtered(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "class":
        return " ".join(name for name in value.split() if name in _CLASSES) or None
    return None if attribute == "src" and not _OUR_IMAGE.fullmatch(value) else value


def allowed_schemes(own_url: str | None) -> frozenset[str]:
    """Return the schemes that links in a note may have: known ones, and that of the note's URL."""
    scheme = scheme_of(own_url or "")
    # The URL of a note in a folder is a file, but its links may not lead to other files.
    return SCHEMES | ({scheme} & (OPENED_SCHEMES - {"file"})) if scheme else SCHEMES
