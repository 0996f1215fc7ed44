"""An index in which everything that people can write is an attack.

That is: titles, tags, text in images, names of sources, and URLs.
"""

from __future__ import annotations

import json
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

from datasette_bear_search.embeddings import registry
from datasette_bear_search.index.run import indexer
from datasette_bear_search.sources.base import SourceConfig
from datasette_bear_search.sqlite import sqlite3
from tests.support.tiny_embedder import TinyEmbedder
from tests.support.unsafe_markdown import PAYLOADS, TARGETS

# The payloads in unsafe_markdown.py mostly target a Markdown parser. These try to escape from
# sanitizers by being parsed twice, from attributes, from JSON inside pages and from templates. Some
# contain the marks of our own highlights.
MORE_PAYLOADS = (
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 "
    "onerror=window.pwned=1&gt;\">",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>",
    "<svg></p><style><a id=\"</style><img src=1 onerror=window.pwned=1>\">",
    "<noscript><noscript></noscript><img src=x onerror=window.pwned=1></noscript>",
    "<select><template><style><!--</style><a rel=\"--></style></template></select><img src "
    "onerror=window.pwned=1>\">",
    "<xmp><p title=\"</xmp><img src onerror=window.pwned=1>\">",
    "<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>",
    "<a id=x tabindex=1 onfocus=window.pwned=1></a>",
    "<form id=bear-results><input name=action><input id=bear-q></form>",
    "<div id=passage class='bear-card'><a href='javascript:window.pwned=1'>x</a></div>",
    "</script><script>window.pwned=1</script>",
    "</title></textarea></style></template></noscript><script>window.pwned=1</script>",
    "\\u003cscript\\u003ewindow.pwned=1\\u003c/script\\u003e",
    "{{7*7}}{{config}}{% include 'base.html' %}${7*7}#{7*7}<%= 7*7 %>",
    "`-window.pwned=1-`", "';window.pwned=1//", "\";window.pwned=1//",
    "--><script>window.pwned=1</script>",
    "\x02<img src=x onerror=window.pwned=1>", "\x03\x02\x03window\x02", "\x02" * 5 + "window",
    "a\u202e<script>window.pwned=1</script>\u202c", "\ufeff<script>window.pwned=1</script>",
    "<\x00script>window.pwned=1</script>", "<img\x0csrc=x\x0conerror=window.pwned=1>",
    "<img\xa0src=x onerror=window.pwned=1>",
    "\uff1cscript\uff1ewindow.pwned=1", "+ADw-script+AD4-window.pwned=1+ADw-/script+AD4-",
    "javascript:window.pwned=1//http://x", "&quot; onmouseover=&quot;window.pwned=1",
    "&amp;lt;script&amp;gt;",
)  # fmt: skip

ALL_PAYLOADS = (*PAYLOADS, *MORE_PAYLOADS)

ADDRESSES = (
    *TARGETS, "javascript&#58;window.pwned=1", " javascript:window.pwned=1",
    "\x01javascript:window.pwned=1", "java\nscript:window.pwned=1", "ｊavascript:window.pwned=1",
    "data:,x", "https://x.example/\"><script>",
)  # fmt: skip

TINY = "test/tiny"


def unsafe_index(folder: Path) -> Path:
    """Write the index; return its path.

    It has a note for each payload, which is in all fields of the note, and one for each URL.
    """
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    rows = []
    for number, payload in enumerate(ALL_PAYLOADS):
        other = ALL_PAYLOADS[(number + 1) % len(ALL_PAYLOADS)].replace("\n", " ")
        body = (
            f"window {payload} text\n\n## {payload}\n\n- [ ] {payload}\n\n[[{other}]] "
            f"[[{payload}|{payload}]] "
            f"[a]({payload}) ![{payload}]({payload}) `{payload}`\n\n| {payload} | b "
            f"|\n|---|---|\n| {payload} | x |\n"
        )
        rows.append((f"{number}/{payload}", payload, body, json.dumps([payload, f"a/{payload}"]),
        payload))  # fmt: skip
    for number, address in enumerate(ADDRESSES):
        rows.append((f"address {number}", f"window {number}", f"[window]({address})", "[]", ""))
    with closing(sqlite3.connect(folder / "own.db")) as db, db:
        db.execute("create table notes (key, title, body, tags, attachments)")
        db.executemany("insert into notes values (?, ?, ?, ?, ?)", rows)
    sources = [
        SourceConfig(
            name=name,
            kind="sql",
            location=str(folder / "own.db"),
            options={"sql": f"select * from notes where rowid % 2 = {half}", "app": name},
        )
        for half, name in enumerate((ALL_PAYLOADS[0], ALL_PAYLOADS[3]))
    ]
    path = folder / "notes.db"
    indexer.update(path, sources, registry.get_embedder(TINY))
    with closing(sqlite3.connect(path)) as db, db:
        # A custom source may return such URLs.
        db.executemany(
            "update notes set url = ? where key = ?",
            [(address, f"address {number}") for number, address in enumerate(ADDRESSES)],
        )
        db.execute("update notes set pinned = id % 3 = 0, archived = id % 5 = 0")
    return path


_NEVER = frozenset(
    "iframe object embed applet base frame frameset math template noscript marquee video "
    "audio".split()
)
_ADDRESSES = frozenset(
    "href src action formaction xlink:href data poster background srcset cite longdesc ping".split()
)
_RUN = ("javascript:", "data:", "vbscript:", "blob:", "filesystem:", "view-source:",
"about:")  # fmt: skip


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self._script: list[str] | None = None
        self._in_main = False

    def handle_starttag(self, tag, attrs):
        self._in_main |= tag == "main"
        values = dict(attrs)
        if tag == "script":
            self._script = [values.get("src") or ""]
        if tag in _NEVER or (self._in_main and tag in ("style", "link", "meta", "img", "script")):
            self.found.append(f"<{tag}>")
        if tag == "meta" and "http-equiv" in values:
            self.found.append("<meta http-equiv>")
        for name, value in attrs:
            bare = "".join(char for char in value or "" if char > " ").lower()
            is_datasettes = tag == "button" and not self._in_main and "pwned" not in bare
            is_script = name.startswith("on") and not is_datasettes
            if is_script or (name == "style" and self._in_main) or name == "srcdoc":
                self.found.append(f"<{tag} {name}>")
            if name in _ADDRESSES and (bare.startswith(_RUN) or bare.startswith(("//", "\\"))):
                self.found.append(f"<{tag} {name}={value!r}>")

    def handle_endtag(self, tag):
        if tag == "script" and self._script is not None:
            self.scripts.append("".join(self._script))
            self._script = None
        if tag == "main":
            self._in_main = False

    def handle_data(self, data):
        if self._script is not None:
            self._script.append(data)
        else:
            self.text.append(data)


def harmful_parts(html: str) -> list[str]:
    """Return the parts of a whole page that aren't harmless.

    Datasette's own scripts, and the event handlers on the buttons of its 1.0, don't count.
    """
    page = _Page()
    page.feed(html)
    page.close()
    return [*page.found, *(script for script in page.scripts if "pwned" in script)]


def scripts(html: str) -> list[str]:
    """Return the scripts of a page: the URL or the code of each."""
    page = _Page()
    page.feed(html)
    return page.scripts


def text(html: str) -> str:
    """Return the text that a person reads on a page."""
    page = _Page()
    page.feed(html)
    return "".join(page.text)
