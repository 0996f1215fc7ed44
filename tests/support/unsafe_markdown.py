"""Attacks that people might paste into a note or receive, which try to make a page run a script.

And functions that check that nothing would run.
"""

from __future__ import annotations

from html.parser import HTMLParser

# If it got through, each would set window.pwned or send a request to a site.
PAYLOADS = (
    "<script>window.pwned=1</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>window.pwned=1</scr</script>ipt>",
    "<img src=x onerror=window.pwned=1>",
    "<img src=x onerror=window.pwned=1//",
    '<IMG """><SCRIPT>window.pwned=1</SCRIPT>"\\>',
    "<img/src='x'/onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "<svg><script>window.pwned=1</script></svg>",
    '<svg><a xlink:href="javascript:window.pwned=1"><text>x</text></a></svg>',
    "<svg><style><img src=x onerror=window.pwned=1></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=1>",
    "<math><mi//xlink:href='data:x,<script>window.pwned=1</script>'>",
    "<body onload=window.pwned=1>",
    "<iframe src=javascript:window.pwned=1></iframe>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<object data=javascript:window.pwned=1></object>",
    "<embed src=javascript:window.pwned=1>",
    "<form action=javascript:window.pwned=1><button>x</button></form>",
    "<button formaction=javascript:window.pwned=1>x</button>",
    "<input autofocus onfocus=window.pwned=1>",
    "<details open ontoggle=window.pwned=1>",
    "<video><source onerror=window.pwned=1></video>",
    "<audio src=x onerror=window.pwned=1>",
    "<marquee onstart=window.pwned=1>x</marquee>",
    "<div style='background:url(javascript:window.pwned=1)'>x</div>",
    "<style>@import '//evil.example/x.css';</style>",
    "<style>*{background:url(//evil.example/x)}</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=javascript:window.pwned=1'>",
    "<base href=//evil.example/>",
    "<template><script>window.pwned=1</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=window.pwned=1>'>",
    "<textarea></textarea><script>window.pwned=1</script>",
    "<title></title><script>window.pwned=1</script>",
    "<!--><script>window.pwned=1</script>-->",
    "<!-- --!><script>window.pwned=1</script> -->",
    "<![CDATA[<script>window.pwned=1</script>]]>",
    "<?xml version='1.0'?><script>window.pwned=1</script>",
    "</p></div></article></main><script>window.pwned=1</script>",
    "<a href=javascript:window.pwned=1>x</a>",
    "<a href='java\tscript:window.pwned=1'>x</a>",
    "<br onclick=window.pwned=1>",
    "<br/onmouseover=window.pwned=1/>",
    '" onmouseover="window.pwned=1',
    "' autofocus onfocus='window.pwned=1",
    '"><script>window.pwned=1</script>',
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "&#60;script&#62;window.pwned=1&#60;/script&#62;",
    "\x02<script>window.pwned=1</script>\x03",
    "{{ ''.__class__ }}{% raw %}<script>window.pwned=1</script>",
    "<x onclick=window.pwned=1 contenteditable>x</x>",
)

TARGETS = (
    "javascript:window.pwned=1",
    "JaVaScRiPt:window.pwned=1",
    "javascript&colon;window.pwned=1",
    "&#106;avascript:window.pwned=1",
    "&#x6A&#x61&#x76&#x61script:window.pwned=1",
    "java&Tab;script:window.pwned=1",
    "java&NewLine;script:window.pwned=1",
    "<java\tscript:window.pwned=1>",
    "&#1;javascript:window.pwned=1",
    "%6Aavascript:window.pwned=1",
    "javascript://%0Awindow.pwned=1",
    "vbscript:msgbox(1)",
    "data:text/html,<script>window.pwned=1</script>",
    "data:text/html;base64,PHNjcmlwdD53aW5kb3cucHduZWQ9MTwvc2NyaXB0Pg==",
    "data:image/svg+xml,<svg onload=window.pwned=1>",
    "blob:http://localhost/1",
    "file:///etc/passwd",
    "filesystem:http://localhost/1",
    "view-source:javascript:window.pwned=1",
    "about:blank",
    "//evil.example/x",
    "\\\\evil.example/x",
    "feed:javascript:window.pwned=1",
    'x" onmouseover="window.pwned=1',
    "x' onmouseover='window.pwned=1",
)

# The places where a payload may be in a note.
PLACES = (
    "{}",
    "# {}",
    "text {} text",
    "> {}",
    "- {}",
    "- [ ] {}",
    "1. {}",
    "| a | b |\n|---|---|\n| {} | x |",
    "`{}`",
    "```{}\n{}\n```",
    "    {}",
    "**{}**",
    "=={}==",
    "::{}::",
    "~{}~",
    "#{}",
    "#{}#",
    "[[{}]]",
    "[[Roof|{}]]",
    "![[{}]]",
    "[{}](https://example.com)",
    "[label](https://example.com '{}')",
    "![{}](https://example.com/x.png)",
    "![{}](x.png)",
    "[image:1/{}]",
    "[file:{}]",
    "<{}>",
    "https://example.com/{}",
    "[^1]\n\n[^1]: {}",
    "text^[{}]",
    "---\nkey: {}\n---\ntext",
    "<div>\n{}\n</div>",
)

TARGET_PLACES = (
    "[label]({})",
    "[label](<{}>)",
    "![alt]({})",
    "[![alt](x.png)]({})",
    "[![alt]({})](https://example.com)",
    "<{}>",
    "[label][1]\n\n[1]: {}",
    "[[{}]]",
    "![[{}|label]]",
    "[image:{}]",
    "{}",
    '<a href="{}">label</a>',
)


def unsafe_notes() -> list[str]:
    """Return every payload in every place."""
    return [
        *(place.replace("{}", payload) for place in PLACES for payload in PAYLOADS),
        *(place.replace("{}", target) for place in TARGET_PLACES for target in TARGETS),
    ]


_ELEMENTS = set(
    "a article blockquote br code details div em h1 h2 h3 h4 h5 h6 hr input li main mark nav "
    "ol p pre s section "
    "span strong summary sup table tbody td th thead time tr u ul".split()
)
_ATTRIBUTES = set(
    "aria-hidden aria-label checked class datetime dir disabled href id open rel role start "
    "tabindex title type".split()
)
_SCHEMES = ("http:", "https:", "mailto:", "tel:", "bear:", "obsidian:")


class _Inspector(HTMLParser):
    def __init__(self, schemes: tuple[str, ...]) -> None:
        super().__init__()
        self.schemes = schemes
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in _ELEMENTS:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name not in _ATTRIBUTES:
                self.found.append(f"<{tag} {name}>")
            if name == "href" and not self._is_safe(value or ""):
                self.found.append(f"<{tag} href={value!r}>")
            if name == "type" and value != "checkbox":
                self.found.append(f"<{tag} type={value}>")

    def handle_comment(self, data):
        self.found.append(f"<!--{data}-->")

    def handle_decl(self, decl):
        self.found.append(f"<!{decl}>")

    def handle_pi(self, data):
        self.found.append(f"<?{data}>")

    def _is_safe(self, address: str) -> bool:
        if address.startswith(self.schemes):
            return True
        return address.startswith("#") or (address.startswith("/") and address[1:2] not in "/\\")


def executable_parts(html: str, *, schemes: tuple[str, ...] = _SCHEMES) -> list[str]:
    """Return the parts of this HTML that no note needs: elements, attributes and URLs."""
    inspector = _Inspector(schemes)
    inspector.feed(html)
    inspector.close()
    return inspector.found
