"""Org files from Emacs, org-roam and Logseq → Markdown.

The syntax is at https://orgmode.org/worg/org-syntax.html. orgparse finds headlines, tags and dates,
but doesn't parse links, blocks and keywords, which are most of this module.
"""

from __future__ import annotations

import re
from typing import Any

from ..formats.markdown_metadata import IMAGES, suffix
from . import ParsedFile, front_matter

SUFFIX = ".org"

# Files may define their own words with #+TODO. Emacs' settings may, too; these are the usual ones.
OPEN = frozenset("TODO NEXT WAIT WAITING HOLD STARTED DOING LATER NOW".split())
DONE = frozenset("DONE CANCELLED CANCELED".split())

_KEYWORD = re.compile(r"#\+(?P<name>[\w-]+):[ \t]*(?P<value>.*)")
_PROPERTY = re.compile(r":(?P<name>[\w+-]+):(?:[ \t]+(?P<value>.*))?")
_BLOCK = re.compile(
    r"#\+(?P<mark>begin|end)_(?P<kind>\w+)[ \t]*(?P<language>[\w+-]*)", re.IGNORECASE
)
_TODO_WORDS = ("todo", "seq_todo", "typ_todo")
_TAGS = ("filetags", "hugo_tags", "roam_tags")
# Properties to keep, because they are somebody's words or dates. The others are dropped.
_READ = frozenset(
    """
    title subtitle author description date created last_modified hugo_lastmod roam_aliases roam_refs
    """.split()
)
_RULE = re.compile(r"\|[-+|]{2,}")
# Other names in links: org-roam's, and Logseq's.
_TITLE = re.compile(r"^#\+title:[ \t]*(\S.*)", re.IGNORECASE | re.MULTILINE)
_ROAM_ALIASES = re.compile(
    r"^[ \t]*(?::roam_aliases:|#\+roam_alias(?:es)?:)(.*)", re.IGNORECASE | re.MULTILINE
)
_ALIASES = re.compile(r"^#\+alias(?:es)?:(.*)", re.IGNORECASE | re.MULTILINE)
_QUOTED = re.compile(r'"([^"]+)"|([^\s"]+)')
_ID = re.compile(r"^[ \t]*:ID:[ \t]+(\S+)", re.IGNORECASE | re.MULTILINE)
_LINK = re.compile(r"\[\[([^\[\]\n]+)\](?:\[([^\[\]\n]+)\])?\]")
_WRAPPED = re.compile(r"(\[\[[^\[\]\n]+\]\[[^\[\]\n]*)\n[ \t]*([^\[\]\n]*\]\])")
_CODE = re.compile(r"(?<![\w=~])([=~])([^\s=~](?:[^=~\n]*[^\s=~])?)\1(?![\w=~])")
_WEEKDAY = re.compile(r"[\[<](\d{4}-\d\d-\d\d)(?: [^\s\d\]>]+)?( \d\d?:\d\d)?[^\]>]*[\]>]")


def names(text: str) -> list[str]:
    """Return what links may call a file: its title, its aliases, and the ids of its headlines."""
    aliases = [
        quoted or word for it in _ROAM_ALIASES.findall(text) for quoted, word in _QUOTED.findall(it)
    ]
    aliases += [name.strip() for it in _ALIASES.findall(text) for name in it.split(",")]
    title = " ".join(line.strip() for line in _TITLE.findall(text))
    ids = [f"id:{name}" for name in _ID.findall(text)]
    return [*filter(None, (title, *aliases)), *ids]


def parse(text: str, name: str) -> ParsedFile:
    """Parse a file; ``name`` is its title if the text has none."""
    properties: dict[str, Any] = {}
    tags: list[str] = []
    lines: list[str] = []
    open_words, done_words, states = OPEN, DONE, []
    block, in_drawer, quote = "", False, ""
    for line in _WRAPPED.sub(r"\1 \2", text).split("\n"):
        words = line.strip()
        mark = _BLOCK.match(words) if words[:2] == "#+" else None
        if block:  # code, a comment, or an export for another program
            if mark and mark["mark"].lower() == "end" and mark["kind"].lower() == block:
                lines += ["~~~"] * (block not in ("export", "comment"))
                block = ""
            elif block not in ("export", "comment"):
                lines.append(line)
        elif mark:
            kind, begins = mark["kind"].lower(), mark["mark"].lower() == "begin"
            if kind == "quote":
                quote = "> " * begins
            elif begins and kind in ("src", "example", "export", "comment"):
                block = kind
                lines += [f"~~~{mark['language']}"] * (kind in ("src", "example"))
        elif words[:2] == "#+":
            if match := _KEYWORD.fullmatch(words):
                key, value = match["name"].lower(), match["value"]
                if key in _TAGS:
                    tags += value.replace(":", " ").split()
                elif key in _TODO_WORDS:
                    first, bar, last = re.sub(r"\(.*?\)", "", value).rpartition("|")
                    open_words |= {*first.split()} if bar else {*last.split()[:-1]}
                    done_words |= {*last.split()} if bar else {*last.split()[-1:]}
                elif key == "caption":
                    lines.append(_inline(value))
                elif key == "title" and key in properties:
                    properties[key] += f" {value}"  # a long title may have several lines
                else:
                    properties.setdefault(key, value)
        elif line[:1] == "*" and line.lstrip("*")[:1] == " ":
            in_drawer = False
            level = len(line) - len(line.lstrip("*"))
            headline, _, last = words.rpartition(" ")
            if last.upper() == ":PROPERTIES:":  # Logseq writes this after an empty headline
                in_drawer, words = True, headline
            elif len(last) > 2 and last[0] == last[-1] == ":":
                tags += filter(None, last.split(":"))
                words = headline.rstrip()
            state = words[level:].lstrip().partition(" ")[0]
            states += [state] * (state in open_words | done_words)
            lines += ["", f"{'#' * min(level, 6)} {_inline(words[level:].strip())}", ""]
        elif words.upper() == ":PROPERTIES:":
            in_drawer = True
        elif in_drawer and (match := _PROPERTY.fullmatch(words)):
            in_drawer = match["name"].upper() != "END"
            if in_drawer and not any(line[:1] == "#" for line in lines):  # above any headline
                properties.setdefault(match["name"].lower(), match["value"] or "")
        elif words not in ("#", ":LOGBOOK:", ":END:") and not words.startswith(("# ", "CLOCK: [")):
            in_drawer = False
            rule = words.replace("+", "|") if _RULE.fullmatch(words) else ""
            lines.append(quote + (rule or _inline(line)))
    is_done = [state in done_words for state in states]
    properties = {key: _WEEKDAY.sub(r"\1\2", properties[key]) for key in properties if key in _READ}
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    title = front_matter.first(properties, front_matter.TITLES)
    return ParsedFile(
        _inline(title) or name,
        front_matter.as_list(properties) + body,
        list(dict.fromkeys(tags)),
        front_matter.date(properties, front_matter.CREATED),
        front_matter.date(properties, [*front_matter.MODIFIED, "hugo_lastmod"]),
        todos_open=is_done.count(False),
        todos_done=is_done.count(True),
        soft_breaks=True,
    )


def _inline(text: str) -> str:
    text = _LINK.sub(_link, text) if "[[" in text else text
    return _CODE.sub(r"`\2`", text) if "=" in text or "~" in text else text


def _link(match: re.Match[str]) -> str:
    target, label = match[1], match[2] or ""
    path = target.removeprefix("file:").removeprefix("attachment:").partition("::")[0]
    if target[0] in "#*":  # a link within the file
        return label or target[1:]
    if "://" in target or target.startswith(("mailto:", "tel:")):
        return f"[{label}]({target})" if label else f"<{target}>"
    if target == path and not suffix(path) and target[0] not in "./~":
        target = target.removeprefix("roam:")
        return f"[[{target}|{label.replace('|', '/')}]]" if label else f"[[{target}]]"
    if not label and suffix(path) in IMAGES:
        return f"![](<{path}>)"
    return f"[{label or path}](<{path}>)"
