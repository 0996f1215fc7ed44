"""What may stand on a page that shows a note: tags, attributes, classes and addresses. Everything else is taken out."""

from __future__ import annotations

import re

import nh3

SCHEMES = frozenset(["http", "https", "mailto", "tel", "bear", "obsidian"])
# Never allowed, whoever asks for them: they run what is in the address, or show it as a page of this site.
UNSAFE_SCHEMES = frozenset(
    "javascript vbscript livescript mocha data blob file filesystem about view-source feed jar mhtml".split()
)

_TAGS = frozenset(
    "a blockquote br code div em h2 h3 h4 h5 h6 hr input li mark ol p pre s section span strong sup "
    "table tbody td th thead tr u ul".split()
)
_ATTRIBUTES = {
    "*": {"dir", "id"},
    "a": {"href"},
    "div": {"tabindex", "role", "aria-label"},
    "input": {"type", "disabled", "checked", "aria-label"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "span": {"title"},
}
_CLASSES = {
    "a": {"bear-image", "bear-tag", "footnote-backref"},
    "div": {"bear-table"},
    "hr": {"footnotes-sep"},
    "li": {"bear-task", "footnote-item"},
    "mark": {"bear-highlight"},
    "ol": {"footnotes-list"},
    "pre": {"bear-front-matter"},
    "section": {"footnotes"},
    "span": {"bear-file", "bear-missing"},
    "sup": {"footnote-ref"},
    "td": {"bear-left", "bear-center", "bear-right"},
    "th": {"bear-left", "bear-center", "bear-right"},
}
for _tag in "p pre span tr h2 h3 h4 h5 h6".split():
    _CLASSES.setdefault(_tag, set()).add("bear-match")


def sanitized(html: str, own_url: str | None) -> str:
    """The HTML without anything that isn't allowed below; ``own_url`` is the note's own."""
    return nh3.clean(
        html,
        tags=set(_TAGS),
        clean_content_tags={"script", "style"},
        attributes=_ATTRIBUTES,
        allowed_classes=_CLASSES,
        url_schemes=set(allowed_schemes(own_url)),
        link_rel="noopener noreferrer nofollow",
    )


def allowed_schemes(own_url: str | None) -> frozenset[str]:
    """The schemes that links in a note may have: those that we know, and that of the note's own address."""
    scheme = scheme_of(own_url or "")
    return (SCHEMES | {scheme}) - UNSAFE_SCHEMES if scheme else SCHEMES


def is_safe_to_open(url: str | None) -> bool:
    """Whether an address that a source gives for a note can be a link. Notes of a folder may be files."""
    scheme = scheme_of(url or "")
    return scheme is not None and scheme not in UNSAFE_SCHEMES - {"file"}


def scheme_of(address: str) -> str | None:
    """The scheme of an address, in lower case; None for one within this site, and for what browsers read otherwise."""
    match = _SCHEME.match(address)
    return match[1].lower() if match else None


_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
