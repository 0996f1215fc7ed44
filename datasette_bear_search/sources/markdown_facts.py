"""What stands in a Markdown text besides words: its title, tags, to-dos, links, pictures."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from ..markdown import FENCE, plain_text, wiki_links
from ..notes import short_title

_INLINE_CODE = re.compile(r"(?<!`)(?P<marks>`{1,2})(?!`)[^`\n]+(?P=marks)(?!`)")

# Text over a line of "=".
_UNDERLINED = re.compile(r"[ ]{0,3}(\S.*)\n[ ]{0,3}=+[ \t]*(?:\n|\Z)")
_LEVEL_ONE = re.compile(r"^# (.*)$", re.MULTILINE)

# A tag as Obsidian has it: any characters but blanks and punctuation.
_TAG = re.compile(r"(?<!\S)#([^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_CHECKBOX = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX/])\](?=[ \t])", re.MULTILINE)

# [label](target "title"), ![alternative](<my picture.png>)
_LINK = re.compile(
    r"""\[[^\[\]\n]*\]\(
    (?:<(?P<wrapped>[^<>\n]+)>|(?P<target>[^()<>\s]+(?:\([^()\s]*\)[^()\s]*)*))
    (?:[ \t]+["'(][^\n]{0,300}?)?\)""",
    re.VERBOSE,
)
# [label]: target
_REFERENCE = re.compile(r"^[ ]{0,3}\[[^\[\]\n^][^\[\]\n]*\]:[ \t]*<?([^\s<>]+)", re.MULTILINE)
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:|//")  # one letter before ":" is a drive

PICTURES = frozenset(".apng .avif .bmp .gif .heic .jpeg .jpg .png .svg .tif .tiff .webp".split())
OTHER_FILES = frozenset(
    """
    .csv .doc .docx .epub .flac .key .m4a .m4v .mkv .mov .mp3 .mp4 .numbers .odp .ods .odt .ogg .pages .pdf .ppt .pptx .rtf
    .wav .webm .xls .xlsx .zip
    """.split()
)


class Target(NamedTuple):
    """What a link in a text leads to, other than an address such as https://…"""

    path: str  # as written, decoded, without "#heading"
    is_wiki: bool  # written [[…]]


class Facts(NamedTuple):
    """What stands in a text."""

    tags: list[str]  # in the order of the text, each once
    todos_open: int
    todos_done: int
    has_image: bool
    has_file: bool
    has_code: bool
    targets: list[Target]


def facts(text: str) -> Facts:
    """What stands in a Markdown text, outside of code."""
    prose, has_code = without_code(text)
    todos = _CHECKBOX.findall(prose) if "[" in prose else []
    done = sum(mark in "xX" for mark in todos)
    targets, has_image = _targets(prose)
    suffixes = {suffix(target.path) for target in targets}
    return Facts(
        tags=tags(prose) if "#" in prose else [],
        todos_open=len(todos) - done,
        todos_done=done,
        has_image=has_image or not suffixes.isdisjoint(PICTURES),
        has_file=not suffixes.isdisjoint(OTHER_FILES),
        has_code=has_code,
        targets=targets,
    )


def without_code(text: str) -> tuple[str, bool]:
    """The text without the code in it, and whether there are blocks of code."""
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


def tags(prose: str) -> list[str]:
    """The tags in a text without code, in its order and without "#"."""
    found = (tag.strip("/") for tag in _TAG.findall(prose))
    return list(dict.fromkeys(tag for tag in found if tag.strip("0123456789/-_")))


def leading_heading(text: str) -> tuple[str, str]:
    """The heading that a text begins with, as plain words, and the text below it; ("", text) without one."""
    start = text.lstrip()
    line, _, rest = start.partition("\n")
    if title := _heading(line):
        return title, rest.lstrip("\n")
    if match := _UNDERLINED.match(start):
        return plain_text(match[1]), start[match.end() :].lstrip("\n")
    return "", text


def first_heading(text: str) -> str:
    """The first heading of level one anywhere in a text, as plain words, or ""."""
    if "\n# " in text:
        prose, _ = without_code(text)
        if match := _LEVEL_ONE.search(prose):
            return plain_text(match[1])
    return ""


def suffix(path: str) -> str:
    """The end of a file's name, lower-case, such as ".png"."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def _heading(line: str) -> str:
    text = line.strip()
    words = text.lstrip("#")
    if not 1 <= len(text) - len(words) <= 6 or not words[:1].isspace():
        return ""
    before_marks = words.rstrip("#")
    if before_marks[-1:].isspace():  # "C#" keeps its mark
        words = before_marks
    return plain_text(words)


def _targets(prose: str) -> tuple[list[Target], bool]:
    """Where the links lead, and whether there is a picture from the web."""
    targets: list[Target] = []
    has_image = "<img" in prose
    if "[[" in prose:
        for named in wiki_links(prose):
            if path := named.partition("#")[0].strip(" \\"):  # in a table it is [[note\|label]]
                targets.append(Target(path, is_wiki=True))
    if "](" in prose:
        for match in _LINK.finditer(prose):
            if target := _local(match["wrapped"] or match["target"]):
                targets.append(target)
            elif prose[match.start() - 1 : match.start()] == "!":
                has_image = True
    if "]:" in prose:
        targets += filter(None, map(_local, _REFERENCE.findall(prose)))
    return targets, has_image


def _local(address: str) -> Target | None:
    if _ADDRESS.match(address):
        return None
    path = address.partition("#")[0].partition("?")[0]
    if "%" in path:
        path = unquote(path)
    return Target(path, is_wiki=False) if path else None


# A note's body out of texts that come with a title of their own, or were never meant as Markdown.

_HEADING = re.compile(r"^(?=#{1,6}[ \t])", re.MULTILINE)


def as_markdown(text: str) -> str:
    """Plain text as Markdown that reads the same: "# 3" is just that, and cuts no note in two."""
    return _HEADING.sub(r"\\", text)


def title_of(title: str, body: str) -> str:
    """The title for people: one line, and of a note without one the beginning."""
    line = " ".join(title.split())
    return short_title(line or plain_text(body.lstrip().partition("\n")[0]))


def without_title(body: str, title: str) -> str:
    """The Markdown ``body`` without a first line that says what the title says already."""
    first, _, rest = body.lstrip("\n").partition("\n")
    return rest.lstrip("\n") if title and plain_text(first) == " ".join(title.split()) else body
