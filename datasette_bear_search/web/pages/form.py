"""The form of the search page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...query.filters import FILTERS
from .urls import OF_ONE_LIST, LabeledUrl, Urls

DATES = "Try 2024, 2024-05 or last-week."
# The parameter that, with the value 1, gives each result buttons to judge it, if judging is on.
JUDGE = "judge"

# Options, by parameter: the label, and the values, with the default first. The search's other
# parameters are for addresses and programs.
SELECTS = {
    "mode": (
        "Search by",
        {
            "": "words and meaning",
            "keyword": "words only",
            "semantic": "meaning only",
            "like": "exact text",
        },
    ),
    "sort": (
        "Sort by",
        {"": "relevance", "newest": "newest first", "oldest": "oldest first", "title": "title"},
    ),
    "recency": ("Prefer recent notes", {"": "off", "365": "slightly", "30": "strongly"}),
}
# Other values with the same meaning as one of the options above.
SAME = {("mode", "hybrid"): "", ("mode", "auto"): "", ("sort", "relevance"): ""}

# The search's other parameters, and the filters, are hidden fields, but no unknown ones are: in
# a script, a field named "action" would shadow the form's own action.
HIDDEN_FIELDS = ("balance", "rerank", "fusion", "_size", JUDGE)
# A new text starts a new list of results, and may be corrected again.
NOT_SENT_AGAIN = (*OF_ONE_LIST, "correct")


@dataclass(frozen=True)
class Select:
    name: str
    label: str
    chosen: str
    options: dict[str, str]


def form_context(urls: Urls) -> dict[str, Any]:
    filters = (name for row in FILTERS.values() for name in row.parameters)
    hidden = (*HIDDEN_FIELDS, *filters)
    return {
        "q": urls.value("q"),
        "hidden": [(name, value) for name in hidden for value in urls.values(name)],
        "selects": _selects(urls),
    }


def has_empty_fields(arguments: Any) -> bool:
    """Return whether an address is that of a form sent without scripts, which has all fields."""
    return any(name in arguments and not arguments[name] for name in SELECTS)


def _selects(urls: Urls) -> list[Select]:
    selects = []
    for name, (label, options) in SELECTS.items():
        value = urls.value(name)
        chosen = SAME.get((name, value), value)
        # Another value in the URL becomes one more option.
        options = {**options, chosen: options.get(chosen, chosen)}
        selects.append(Select(name, label, chosen, options))
    return selects


def option_chips(urls: Urls) -> list[LabeledUrl]:
    """Return chips for options other than the defaults; filters have chips of their own."""
    return [
        LabeledUrl(
            f"{each.label}: {each.options[each.chosen]}",
            urls.search(drop=(*OF_ONE_LIST, each.name)),
        )
        for each in _selects(urls)
        if each.chosen != next(iter(each.options))
    ]
