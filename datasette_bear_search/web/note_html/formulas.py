"""TeX formulas → text that people can read: ``$x^2 \\leq \\alpha$`` → x² ≤ α."""

from __future__ import annotations

import re
import unicodedata
from html import escape

# $$…$$, and $…$ without blanks inside of the marks, which may be prices: from $5 to $10.
FORMULA = re.compile(r"\$\$([^$]+)\$\$|\$((?=\S)[^$\n]*(?<![\s\\]))\$(?!\w)")
_SIGNS = dict(
    pair.split("=")
    for pair in """
    times=× cdot=· div=÷ pm=± le=≤ leq=≤ ge=≥ geq=≥ ne=≠ neq=≠ approx=≈ equiv=≡ sim=∼ infty=∞ in=∈
    notin=∉ subset=⊂ subseteq=⊆ cup=∪ cap=∩ emptyset=∅ forall=∀ exists=∃ neg=¬ land=∧ lor=∨ to=→
    rightarrow=→ leftarrow=← Rightarrow=⇒ Leftrightarrow=⇔ implies=⇒ iff=⇔ mapsto=↦ sum=∑ prod=∏
    int=∫ partial=∂ nabla=∇ sqrt=√ ldots=… cdots=⋯ dots=… langle=⟨ rangle=⟩ mid=| quad=  qquad=
    circ=∘ oplus=⊕ otimes=⊗ perp=⊥ propto=∝ angle=∠ degree=° hbar=ℏ ell=ℓ prime=′
    """.split()
)
_COMMAND = re.compile(r"\\([a-zA-Z]+)[ \t]*|\\(.)", re.DOTALL)
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|(\w|[^\s{}&<>]))")


def formula_html(tex: str) -> str:
    """Return a formula as HTML with ``<sup>`` and ``<sub>``."""
    tex = _FRACTION.sub(lambda it: f"{_grouped(it[1])}/{_grouped(it[2])}", tex)
    html = escape(_COMMAND.sub(_sign, tex), quote=False)
    html = _SCRIPT.sub(_script, html)
    return f'<span class="bear-formula">{re.sub("[{}]", "", html).strip()}</span>'


def _grouped(part: str) -> str:
    return part if re.fullmatch(r"\\?\w+", part.strip()) else f"({part})"


def _sign(match: re.Match[str]) -> str:
    name, other = match.groups()
    if other is not None:
        return {"\\": "\n", ",": " ", ";": " ", ":": " ", "!": ""}.get(other, other)
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
