"""Facets → the links that narrow a search, or take the narrowing back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .addresses import HAVE, IS, OF_ONE_LIST, Addresses, period_name
from .facets import Facets, Tag
from .query import Query
from .sidecar import fold_tag

_NAMES = {"tag": "Tags", "modified": "Modified", "kind": "Kind", "source": "From"}


@dataclass(frozen=True)
class Choice:
    """A value of a facet: following its link gives so many notes, or, if it is chosen, takes it back."""

    value: str
    label: str
    notes: int
    url: str
    is_chosen: bool = False
    nested: tuple[Choice, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether something nested in it is chosen."""
        return any(choice.is_chosen or choice.is_open for choice in self.nested)


@dataclass(frozen=True)
class Group:
    """One facet."""

    name: str
    title: str
    choices: tuple[Choice, ...]


def groups(addresses: Addresses, query: Query, facets: Facets) -> tuple[Group, ...]:
    """The facets that can narrow this search."""
    sources = facets.sources if len(facets.sources) > 1 or addresses.values("source") else {}
    found = {
        "tag": _tags(addresses, facets.tags),
        "modified": _periods(addresses, query, facets),
        "kind": _kinds(addresses, facets),
        "source": [
            _choice(addresses, "source", source, source, notes) for source, notes in sources.items()
        ],
    }
    return tuple(
        Group(name, _NAMES[name], tuple(choices)) for name, choices in found.items() if choices
    )


def for_programs(groups: Sequence[Group]) -> dict[str, list[dict[str, Any]]]:
    """The same as JSON."""
    return {group.name: [_for_programs(choice) for choice in group.choices] for group in groups}


def _for_programs(choice: Choice) -> dict[str, Any]:
    return {
        "value": choice.value,
        "label": choice.label,
        "count": choice.notes,
        "selected": choice.is_chosen,
        "toggle_url": choice.url,
        "nested": [_for_programs(nested) for nested in choice.nested],
    }


def _choice(addresses: Addresses, name: str, value: str, label: str, notes: int) -> Choice:
    same = [(name, other) for other in addresses.values(name) if other.strip() == value]
    url = addresses.search(remove=same) if same else addresses.search(add=[(name, value)])
    return Choice(value, label, notes, url, bool(same))


def _tags(addresses: Addresses, tags: Iterable[Tag], above: str = "") -> list[Choice]:
    chosen: dict[str, list[str]] = {}
    for value in addresses.values("tag"):
        chosen.setdefault(fold_tag(value), []).append(value)
    choices = []
    for tag in tags:
        same = [("tag", value) for value in chosen.get(tag.folded, [])]
        url = addresses.search(remove=same) if same else addresses.search(add=[("tag", tag.path)])
        choices.append(
            Choice(
                value=tag.path,
                label=tag.path[len(above) :].lstrip("/"),
                notes=tag.notes,
                url=url,
                is_chosen=bool(same),
                nested=tuple(_tags(addresses, tag.nested, tag.path)),
            )
        )
    return choices


def _periods(addresses: Addresses, query: Query, facets: Facets) -> list[Choice]:
    """Years, the last first, with their months in the order of the calendar."""
    after, before = (addresses.value(f"modified_{end}") for end in ("after", "before"))
    chosen = after if after == before else ""
    widened = addresses.search(drop=(*OF_ONE_LIST, "modified_after", "modified_before"))

    def choice(period: str, notes: int, nested: tuple[Choice, ...] = ()) -> Choice:
        is_chosen = chosen == period or (bool(nested) and chosen.startswith(f"{period}-"))
        url = widened if is_chosen else addresses.modified_in(period, query)
        label = period if nested else period_name(period).partition(" ")[0]
        return Choice(period, label, notes, url, is_chosen, nested)

    return [
        choice(
            year,
            notes,
            tuple(
                choice(month, in_month)
                for month, in_month in facets.months.items()
                if month.startswith(f"{year}-")
            ),
        )
        for year, notes in sorted(facets.years.items(), reverse=True)
    ]


def _kinds(addresses: Addresses, facets: Facets) -> list[Choice]:
    return [
        _choice(
            addresses,
            name,
            value,
            HAVE[value] if name == "has" else IS.get(name, name),
            notes,
        )
        for (name, value), notes in facets.kinds.items()
    ]
