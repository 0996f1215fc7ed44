"""Texts whose markup can cost a parser much more time than their length suggests.

They are like those in logs, in broken exports and from attackers.
"""

from __future__ import annotations

import random
from collections.abc import Callable

# Name → a text to repeat.
REPEATED = {
    "opening brackets": "[",
    "images that don't end": "![",
    "wiki links that don't end": "[[ ",
    "links that don't end": "[a](",
    "images in images": "![a](",
    "links in brackets": "[a](<b",
    "footnotes that don't end": "^[",
    "references to footnotes": "[^1]: x\n\n[^",
    "stars": "*",
    "stars and words": "*a ",
    "emphasis of two kinds": "_ *a",
    "emphasis that isn't closed": "*a_ ",
    "angle brackets": "<",
    "comments that don't end": "<!--",
    "tags that don't end": '<a href="',
    "backticks": "`",
    "backticks and words": "`a ``b ",
    "quotes": ">",
    "quotes in quotes": "> > a\n\n",
    "list items in list items": "- ",
    "empty list items": "- \n",
    "to-dos": "- [ ] a\n",
    "bars": "|",
    "tables": "|x|\n|-|\n|y|\n\n",
    "headings": "# a\n",
    "link definitions": '[a]: b "',
    "closing brackets": "](",
    "backslashes": "\\[",
    "entities": "&#",
    "addresses": "http://a(",
    "addresses without a scheme": "://",
    "addresses of unknown schemes": "a://",
    "addresses of vaults": "dendron://",
    "queries that don't end": "{{query ",
    "processing instructions that don't end": "<?",
    "mail addresses": "a@",
    "equals signs": "==a ",
    "tildes": "~a ",
    "short lines": "a\n",
    "tags of two words": "#a b",
    "addresses with a password": "://a:b@",
    "addresses that end in brackets": "http://a.b/(",
    "hosts": "http://a.",
    "mail addresses with a scheme": "mailto:a@b.",
    "tags that only begin": "<a ",
    "breaks that only begin": "<br ",
    "attributes that don't end": '<a b="',
    "attributes": "<a b c=d e='f' ",
    "names of tags": "<http",
    "closing tags that don't end": "</a ",
    "elements in elements": "<b>",
    "blocks in blocks": "<div>",
    "lists in lists of HTML": "<ul><li>a",
    "quotes in quotes of HTML": "<blockquote>a",
    "tables in tables of HTML": "<table><tr><td>",
    "closing elements": "</p>",
    "line breaks of HTML": "<br>",
    "declarations": "<!DOCTYPE ",
    "sections of CDATA": "<![CDATA[",
    "conditions": "<![if ",
    "scripts that don't end": "<script>",
    "styles that don't end": "<style>a</styl",
    "comments": "<!-- -->",
    "pictures of HTML": "<img src=a alt=b>",
    "character references": "&#x41;",
    "references that don't end": "&amp",
    "passwords": "pass=",
    "passwords with a value": "password: abc!12345 ",
    "keys": "AKIAIOSFODNN7EXAMPLQ ",
    "private keys": "-----BEGIN PRIVATE KEY-----\n",
    "tokens": "token=aB3dE5gH7jK9mN1pQ3 ",
    "digits": "4111 ",
    "card numbers": "4111 1111 1111 1111 ",
    "wiki links": "[[a]] ",
    "wiki links with labels": "[[a|",
    "long tags": "#a/b/c",
    "hashes": "#",
    "hashes in lines": "#\n",
    "tags": "#work ",
    "properties": "a:: b\n",
    "properties of YAML": "a:\n - b: [c, {d: e}]\n",
    "lists in YAML": "- - ",
    "maps in YAML": "{a: ",
    "lists of YAML that don't end": "[a, ",
    "anchors of YAML": "a: &a [*a, *a]\n",
    "values in quotes": 'a: "b\n',
    "tables of TOML": "[a.b]\nc = 1\n",
    "keys of TOML": "a.b.c.",
    "dashes": "-",
    "rules": "---\n",
    "underlines": "a\n===\n",
    "fences": "```\n",
    "fences of tildes": "~~~\n> ~~~\n",
    "blanks": " ",
    "blank lines": " \n",
    "tabs": "\t",
    "zeros of width": "\u200b",
    "nulls": "\0",
    "full stops": ". ",
    "ideographs": "\u5c4b\u6839\u3002",
    "hangul": "\uac00",
    "accents": "a\u0301\u0301",
    "emoji": "\U0001f600\u200d",
    "parentheses": "(",
    "quotation marks": '"',
    "quotation marks and words": '"a ',
    "words of the query language": "a OR (b AND -",
    "filters": "tag:a -has:",
    "links of Slack": "<https://a|",
    "people in Slack": "<@U1>",
    "code in Slack": "```a",
    "braces": '{"a":',
    "math": "$a ",
    "links of Org": "[[id:a][",
    "tags of Org": "* a :a:a",
    "drawers of Org": ":PROPERTIES:\n:ID: a\n",
    "blocks of Org": "#+begin_src\n#+begin_quote\n",
    "checkboxes of Evernote": '<en-todo checked="true"/>',
    "what Evernote encrypts": "<en-crypt ",
    "items of Evernote": '<li style="--en-checked:',
    "links of Evernote": "[a](evernote:///view/",
    "elements of XML": "<note><title>a</title>",
    "messages": "\n\nFrom a 00:00\nTo: a\n\n" + "a word " * 90,
    "messages that don't begin": "\n\nFrom ",
    "parts of messages": "Content-Type: multipart/mixed; boundary=a\n\n--a\n",
    "quoted mail": "a:\n> a\n",
    "encoded words": "=?utf-8?q?a?= ",
    "ids of Notion": " 0123456789abcdef0123456789abcdef/",
    "rows of CSV": 'a,"b\n',
    "percent signs": "%",
    "marks of matches": "\x02a\x03",
    "commas": "a,",
    "slashes": "a/",
    "plus signs": "a+",
    "at signs": "@",
    "colons": "a:",
}  # fmt: skip


# Name → a function of the length, for texts that aren't mere repetitions.
MADE: dict[str, Callable[[int], str]] = {
    "brackets in brackets": lambda length: "[" * (length // 2) + "]" * (length // 2),
    "links in links": lambda length: "[" * (length // 2) + "a" + "]()" * (length // 6),
    "runs of backticks": lambda length: " ".join(
        "`" * n for n in range(1, int((2 * length) ** 0.5))
    )[:length],
    "a list that goes ever deeper": lambda length: "".join(
        "  " * n + "- a\n" for n in range(int(length**0.5))
    ),
    "a table with many columns": lambda length: (
        "|a" * (length // 10) + "|\n" + "|-" * (length // 10) + "|\n" + "a\n" * (3 * (length // 10))
    ),
    "many tables that fill themselves up": lambda length: (
        ("|a" * 180 + "|\n" + "|-" * 180 + "|\n" + "a\n" * 360 + "\n") * (length // 1442)
    ),
    "one long line": lambda length: "word " * (length // 5),
    "one long word": lambda length: "x" * length,
    "quotes that go ever deeper": lambda length: "".join(
        ">" * n + " a\n" for n in range(int(length**0.5))
    ),
    "YAML that goes ever deeper": lambda length: "".join(
        " " * n + "a:\n" for n in range(int(length**0.5))
    ),
    "elements that end in the wrong order": lambda length: (
        "<b><i>" * (length // 14) + "</b></i>" * (length // 14)
    ),
    "emphasis around a long text": lambda length: "*" * (length // 2) + "a" + "*" * (length // 2),
    "emphasis of threes": lambda length: "a***" * (length // 8) + "b*" * (length // 4),
    # "t" isn't a hexadecimal digit: a tag of such digits could be a color.
    "many different tags": lambda length: " ".join(f"#t{n}" for n in range(length // 8)),
    "many different links": lambda length: " ".join(f"[[n{n}]]" for n in range(length // 10)),
    "many different headings": lambda length: "\n".join(f"# h{n}" for n in range(length // 8)),
    "many different footnotes": lambda length: "\n\n".join(
        f"[^{n}]: a[^{n}]" for n in range(length // 16)
    ),
    "many different definitions": lambda length: "\n".join(
        f"[{n}]: /a\n[{n}]" for n in range(length // 18)
    ),
    "headings in headings": lambda length: "\n".join(
        "#" * (n % 6 + 1) + " a" for n in range(length // 6)
    ),
    "properties with values": lambda length: "\n".join(
        f"k{n}: [a, b]" for n in range(length // 14)
    ),
    "a few random words": lambda length: " ".join(
        random.Random(1).choices(
            "work * _ ` [ ] ( ) < > # - + a. = ~ | : / @ & \n".split(" "), k=length // 2
        )
    ),
}


def hostile_text(name: str, length: int) -> str:
    """Return one of these texts, with about that length."""
    if make := MADE.get(name):
        return make(length)
    part = REPEATED[name]
    return (part * (length // len(part) + 1))[:length]


def pathological(length: int) -> dict[str, str]:
    """Return all of these texts, with about that length."""
    return {name: hostile_text(name, length) for name in [*REPEATED, *MADE]}
