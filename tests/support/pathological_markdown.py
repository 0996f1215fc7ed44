"""Texts whose markup costs a parser much more than their length.

As logs, broken exports and attackers have them.
"""

from __future__ import annotations

# What is repeated, by what it is.
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
    "processing instructions that don't end": "<?",
    "mail addresses": "a@",
    "equals signs": "==a ",
    "tildes": "~a ",
    "short lines": "a\n",
    "tags of two words": "#a b",
}  # fmt: skip


def pathological(length: int) -> dict[str, str]:
    """Each of these texts in that length."""
    texts = {name: (part * (length // len(part) + 1))[:length] for name, part in REPEATED.items()}
    half = length // 2
    return texts | {
        "brackets in brackets": "[" * half + "]" * half,
        "links in links": "[" * half + "a" + "]()" * (half // 3),
        "runs of backticks": " ".join("`" * n for n in range(1, int((2 * length) ** 0.5)))[:length],
        "a list that goes ever deeper": "".join(
            "  " * n + "- a\n" for n in range(int(length**0.5))
        ),
        "a table with many columns": "|a" * (length // 10)
        + "|\n"
        + "|-" * (length // 10)
        + "|\n"
        + "a\n" * (3 * length // 10),
        "many tables that fill themselves up": (
            "|a" * 180 + "|\n" + "|-" * 180 + "|\n" + "a\n" * 360 + "\n"
        )
        * (length // 1442),
        "one long line": "word " * (length // 5),
        "one long word": "x" * length,
    }
