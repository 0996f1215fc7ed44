"""TeX formulas → text that people can read: ``$x^2 \\leq \\alpha$`` → x² ≤ α."""

from __future__ import annotations

import re
import unicodedata
from html import escape

# $$…$$, and $…$ without blanks inside of the marks, which may be prices: from $5 to $10.
FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$((?=\S)[^$\n]*(?<![\s\\]))\$(?!\w)")
# Around these is a blank.
_RELATIONS = """
    times=× cdot=· div=÷ pm=± le=≤ leq=≤ ge=≥ geq=≥ ne=≠ neq=≠ ll=≪ gg=≫ approx=≈ equiv=≡ sim=∼
    cong=≅ in=∈ notin=∉ subset=⊂ subseteq=⊆ supset=⊃ supseteq=⊇ cup=∪ cap=∩ setminus=∖ land=∧
    wedge=∧ lor=∨ vee=∨ to=→ rightarrow=→ longrightarrow=⟶ leftarrow=← Rightarrow=⇒ Leftrightarrow=⇔
    implies=⇒ iff=⇔ mapsto=↦ mid=| oplus=⊕ otimes=⊗ perp=⊥ propto=∝ vdash=⊢ models=⊨ star=⋆ circ=∘
"""
_OTHERS = """
    infty=∞ emptyset=∅ varnothing=∅ forall=∀ exists=∃ neg=¬ sum=∑ prod=∏ int=∫ bigcup=⋃ bigcap=⋂
    partial=∂ nabla=∇ sqrt=√ ldots=… cdots=⋯ dots=… vdots=⋮ ddots=⋱ langle=⟨ rangle=⟩ lfloor=⌊
    rfloor=⌋ lceil=⌈ rceil=⌉ top=⊤ bot=⊥ angle=∠ degree=° hbar=ℏ ell=ℓ prime=′
"""
_SIGNS = dict(pair.split("=") for pair in _OTHERS.split())
_SIGNS |= {"quad": " ", "qquad": " "}
_SIGNS |= {name: f" {sign} " for name, sign in (pair.split("=") for pair in _RELATIONS.split())}
_COMMAND = re.compile(r"\\([a-zA-Z]+)[ \t]*|\\(.)", re.DOTALL)
_SETTING = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]*\}(?:\{[lcr| ]*\})?|\\(?:text)?color\s*\{[^{}]*\}"
)
# {x_{y}}, or without braces one character or command: \frac12
_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*\}"
_ARGUMENT = rf"\s*({_GROUP}|\\[a-zA-Z]+|[^\s\\{{}}])"
_FRACTION = re.compile(rf"\\[dt]?frac{_ARGUMENT}{_ARGUMENT}")
_ROOT = re.compile(rf"\\sqrt(\[\w+\]|){_ARGUMENT}")
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|(\w|[^\s{}&<>]))")
_DOUBLE = re.compile(r"\\mathbb\s*\{?([CNPQRZ])\}?")
# What would be read as TeX again, and what it becomes in the end.
_LATER = {"\\": "<br>", "{": "{", "}": "}", "_": "_", "^": "^", "&": "&amp;"}
_HELD = {key: chr(0xE000 + number) for number, key in enumerate(_LATER)}
_SHOWN = {ord(_HELD[key]): shown for key, shown in _LATER.items()}
_BLANK = " \n" + _HELD["\\"]
_NESTED = 3  # x_{y_{z}}


def formula_html(tex: str) -> str:
    """Return a formula as HTML with ``<sup>`` and ``<sub>``."""
    tex = _DOUBLE.sub(lambda it: "ℂℕℙℚℝℤ"["CNPQRZ".index(it[1])], _SETTING.sub("", tex))
    for _ in range(_NESTED):
        tex = _FRACTION.sub(lambda it: f"{_grouped(it[1])}/{_grouped(it[2])}", tex)
        tex = _ROOT.sub(lambda it: f"√{it[1]}{_grouped(it[2])}", tex)
    html = escape(_COMMAND.sub(_sign, tex).replace("&", " "), quote=False)
    for _ in range(_NESTED):
        html = _SCRIPT.sub(_script, html)
    html = re.sub(" +", " ", re.sub("[{}]", "", html)).strip(_BLANK).translate(_SHOWN)
    return f'<span class="bear-formula">{html}</span>'


def _grouped(part: str) -> str:
    part = part[1:-1].strip() if part[0] == "{" else part
    return part if re.fullmatch(r"\\?\w+", part) else f"({part})"


def _sign(match: re.Match[str]) -> str:
    name, other = match.groups()
    if other is not None:
        return _HELD.get(other) or {",": " ", ";": " ", ":": " ", "!": ""}.get(other, other)
    if name in _SIGNS:
        return _SIGNS[name]
    size = "SMALL" if name[0].islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name.removeprefix('var').upper()}")
    except KeyError:
        is_function = name in ("log", "ln", "exp", "sin", "cos", "tan", "max", "min", "lim", "det")
        return f"{name} " if is_function else ""


def _script(match: re.Match[str]) -> str:
    tag = "sup" if match[1] == "^" else "sub"
    return f"<{tag}>{match[2] if match[2] is not None else match[3]}</{tag}>"
