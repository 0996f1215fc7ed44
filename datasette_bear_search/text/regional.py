"""British and American spellings of English words → one, so that each finds the other.

It is the American one, since "analyze" and "analyses", or "center" and "centered", have one stem.
"""

from __future__ import annotations

import re
from functools import cache


def _after(words: str, letters: str) -> str:
    return f"{letters}(?:{'|'.join(f'(?<={word}{letters})' for word in words.split())})"


_IN_RE = "cent theat met mit lit fib calib spect sab lust somb meag scept och manoeuv"
# What to replace, and by what. The words are long or named, since "four" isn't "for", nor the
# French "entre" "enter"; "revise", "precise" and "appraise" go with other words. Words such as
# "travelled" have one stem anyway. Each pattern begins with letters, which are found several times
# faster than what comes before them, in .7 ns a character.
_RULES = (
    (r"practis(?=(?:e[ds]?|ing)\b)", "practic"),
    (
        r"is(?<=\w{3}is)(?<![vw]is)(?<![mnrx]cis)(?<!recis)(?<!rais)(?<!ertis)"
        r"(?=(?:e[drs]?|ers|ings?|ations?|ational|ationally|able|ability)\b)",
        "iz",
    ),
    (r"lys(?<=\wlys)(?=(?:e[drs]?|ers|ings?)\b)", "lyz"),
    (
        r"our(?:(?<=\w\w[^\W_aeou]our)|(?<=\bodour))"
        r"(?=(?:s|ed|ings?|ers?|ful|fully|less|ites?|y|abl[ey]|al|is[mt]s?|hoods?|ly)?\b)",
        "or",
    ),
    (_after(_IN_RE, "re") + r"(?=s?\b)", "er"),
    (r"centred\b", "centered"),
    (r"logu(?<=\w\wlogu)(?=(?:e[ds]?|ing)\b)", "log"),
    (_after("def off lic pret", "ence") + r"(?=[drs]?\b)", "ense"),
    # haemoglobin, paediatric, gynaecology, anaesthesia, archaeology; oestrogen, foetus, diarrhoea
    (r"ae(?=m[aio]|d[ei]|c[aeou]|sth|tiol|o)", "e"),
    (r"oe(?:(?=str[aiou]|soph|dem|tus|tal|liac)|(?<=rrhoe)|(?<=manoe)(?=uv))", "e"),
)


def in_one_spelling(text: str) -> str:
    """Return a text in lower case with its words in one spelling, or as it is if they are."""
    lower = found = text.lower()
    for pattern, other in _rules():
        found = pattern.sub(other, found)
    return text if found == lower else found


@cache
def _rules() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), other) for pattern, other in _RULES]
