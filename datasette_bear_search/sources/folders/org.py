"""Org files from Emacs, org-roam and Logseq → Markdown.

The syntax is at https://orgmode.org/worg/org-syntax.html. orgparse finds headlines, tags and dates,
but doesn't parse links, blocks and keywords, which are most of this module.
"""

from __future__ import annotations

import re

from ..formats.markdown_metadata import IMAGES, ParsedText, suffix
from ..formats.text import word_lists
from . import front_matter

SUFFIX = ".org"

OPEN, DONE = (frozenset(word_lists()[name]) for name in ("org_open", "org_done"))

_KEYWORD = re.compile(r"#\+(?P<name>[\w-]+):[ \t]*(?P<value>.*)")
_PROPERTY = re.compile(r":(?P<name>[\w+-]+):(?:[ \t]+(?P<value>.*))?")
_BLOCK = re.compile(
    r"#\+(?P<mark>begin|end)_(?P<kind>\w+)[ \t]*(?P<language>[\w+-]*)", re.IGNORECASE
)
_TODO_WORDS = ("todo", "seq_todo", "typ_todo")
_TAGS = ("filetags", "hugo_tags", "roam_tags")
_FOR_EMACS = ("# ", "CLOCK: [", '- State "')  # comments, and records of a task
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
    listed = " ".join(_ROAM_ALIASES.findall(text))
    aliases = [quoted or word for quoted, word in _QUOTED.findall(listed)]
    aliases += [name.strip() for it in _ALIASES.findall(text) for name in it.split(",")]
    title = " ".join(line.strip() for line in _TITLE.findall(text))
    ids = [f"id:{name}" for name in _ID.findall(text)]
    return [*filter(None, (title, *aliases)), *ids]


def parse(text: str, name: str) -> ParsedText:
    """Parse a file; ``name`` is its title if the text has none."""
    file = _Lines()
    for line in _WRAPPED.sub(r"\1 \2", text).split("\n"):
        file.read(line)
    is_done = [state in file.done for state in file.states]
    properties = {
        name: _WEEKDAY.sub(r"\1\2", value)
        for name, value in file.properties.items()
        if name in word_lists()["org"]
    }
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(file.lines)).strip("\n")
    title = front_matter.first(properties, front_matter.TITLES)
    return ParsedText(
        _inline(title) or name,
        front_matter.as_list(properties) + body,
        list(dict.fromkeys(file.tags)),
        front_matter.date(properties, front_matter.CREATED),
        front_matter.date(properties, [*front_matter.MODIFIED, "hugo_lastmod"]),
        todos_open=is_done.count(False),
        todos_done=is_done.count(True),
        soft_breaks=True,
    )


class _Lines:
    """What the lines read so far say."""

    def __init__(self) -> None:
        self.properties: dict[str, str] = {}
        self.tags: list[str] = []
        self.lines: list[str] = []  # Markdown
        self.open, self.done = OPEN, DONE
        self.states: list[str] = []  # of headlines that are tasks
        self._block = ""  # code, a comment, or an export for another program
        self._in_drawer = False
        self._quote = ""

    def read(self, line: str) -> None:
        words = line.strip()
        mark = _BLOCK.match(words) if words[:2] == "#+" else None
        kind = mark["kind"].lower() if mark else ""
        begins = mark is not None and mark["mark"].lower() == "begin"
        if self._block:
            is_shown = self._block not in ("export", "comment")
            ends = kind == self._block and not begins
            self.lines += ["~~~" if ends else line] * is_shown
            self._block = "" if ends else self._block
        elif mark and kind == "quote":
            self._quote = "> " * begins
        elif mark and begins and kind in ("src", "example", "export", "comment"):
            self._block = kind
            self.lines += [f"~~~{mark['language']}"] * (kind in ("src", "example"))
        elif mark:
            pass  # of another kind, whose text is like any
        elif words[:2] == "#+":
            if match := _KEYWORD.fullmatch(words):
                self._keyword(match["name"].lower(), match["value"])
        elif line[:1] == "*" and line.lstrip("*")[:1] == " ":
            self._headline(words)
        elif words.upper() == ":PROPERTIES:":
            self._in_drawer = True
        elif self._in_drawer and (match := _PROPERTY.fullmatch(words)):
            self._in_drawer = match["name"].upper() != "END"
            is_above = not any(line[:1] == "#" for line in self.lines)  # any headline
            if self._in_drawer and is_above:
                self.properties.setdefault(match["name"].lower(), match["value"] or "")
        elif words.upper() not in ("#", ":LOGBOOK:", ":END:") and not words.startswith(_FOR_EMACS):
            self._in_drawer = False
            rule = words.replace("+", "|") if _RULE.fullmatch(words) else ""
            self.lines.append(self._quote + (rule or _inline(line)))

    def _keyword(self, name: str, value: str) -> None:
        if name in _TAGS:
            self.tags += value.replace(":", " ").split()
        elif name in _TODO_WORDS:
            first, bar, last = re.sub(r"\(.*?\)", "", value).rpartition("|")
            self.open |= {*first.split()} if bar else {*last.split()[:-1]}
            self.done |= {*last.split()} if bar else {*last.split()[-1:]}
        elif name == "caption":
            self.lines.append(_inline(value))
        elif name == "title" and name in self.properties:
            self.properties[name] += f" {value}"  # a long title may have several lines
        else:
            self.properties.setdefault(name, value)

    def _headline(self, words: str) -> None:
        level = len(words) - len(words.lstrip("*"))
        headline, _, last = words.rpartition(" ")
        self._in_drawer = last.upper() == ":PROPERTIES:"  # Logseq's, after an empty headline
        if self._in_drawer:
            words = headline
        elif len(last) > 2 and last[0] == last[-1] == ":":
            self.tags += filter(None, last.split(":"))
            words = headline.rstrip()
        state = words[level:].lstrip().partition(" ")[0]
        self.states += [state] * (state in self.open | self.done)
        self.lines += ["", f"{'#' * min(level, 6)} {_inline(words[level:].strip())}", ""]


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
