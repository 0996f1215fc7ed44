"""Colors in code: comments, strings, numbers and keywords of common languages.

One expression finds them all: Pygments takes 60 ms for its import, and as long as all else on a
page for its code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

_HASH = "awk bash dockerfile elixir fish ini julia make makefile nix perl powershell py python r rb"
_HASH += " ruby sh shell toml yaml yml zsh tcl conf console"
_SLASHES = "c c# c++ cpp cs csharp dart go groovy h java javascript js jsx kotlin kt less php rs"
_SLASHES += " rust sass scala scss swift ts tsx typescript zig objc json5 jsonc proto css json"
_DASHES = "sql sqlite postgresql mysql lua haskell hs elm ada"
_TAGS = "html xml svg vue"
_COMMENTS = {
    **dict.fromkeys(_HASH.split(), r"(?<![^\s;({\[])#[^\n]*"),
    **dict.fromkeys(_SLASHES.split(), r"(?<!:)//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"),
    **dict.fromkeys(_DASHES.split(), r"--[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"),
    **dict.fromkeys(_TAGS.split(), r"<!--[\s\S]*?(?:-->|\Z)"),
}
_STRING = (
    r'\"{3}[\s\S]*?(?:\"{3}|\Z)|"(?:[^"\\\n]|\\.)*"'
    r"|(?<!\w)'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"
)
_NUMBER = r"(?<![\w$#])(?<!\w-)\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\b0x[\da-fA-F]+\b"
_KEYWORDS = """
    abstract alias and as assert async await begin break by case catch class const continue create
    def default delete do done echo elif else elsif end enum except export extends extern false fi
    final finally fn for foreach from func function global group having if impl implements import in
    insert interface into is join lambda left let limit local loop match mod module mut namespace
    new nil None not null on or order package pass private protected pub public raise readonly
    require rescue return select self set static struct super switch table then this throw trait
    True False true try type typeof undefined union unless until update use using values var void
    when where while with yield
    """.split()
_KEYWORD = rf"(?<![\w.$-])(?:{'|'.join(_KEYWORDS)})(?![\w-])"
_PLAIN = frozenset([*_TAGS.split(), "css", "ini", "toml", "yaml", "yml", "conf", "console"])
# Longer code has no colors.
LONGEST = 20_000


def colored(code: str, language: str, html: Callable[[str], str]) -> str:
    """Return code as HTML; ``html`` makes that of each part."""
    pattern = _pattern(language.lower()) if len(code) <= LONGEST else None
    if pattern is None:
        return html(code)
    parts, end = [], 0
    for match in pattern.finditer(code):
        part = f'<span class="bear-code-{match.lastgroup}">{html(match[0])}</span>'
        parts += [html(code[end : match.start()]), part]
        end = match.end()
    return "".join([*parts, html(code[end:])])


@cache
def _pattern(language: str) -> re.Pattern[str] | None:
    if language not in _COMMENTS:
        return None
    words = "" if language in _PLAIN else rf"|(?P<keyword>{_KEYWORD})"
    flags = re.IGNORECASE if _COMMENTS[language].startswith("--") else 0
    strings = rf"(?P<string>{_STRING})|(?P<number>{_NUMBER})"
    return re.compile(f"(?P<comment>{_COMMENTS[language]})|{strings}{words}", flags)
