"""Addresses of our pages, and chips that change them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from datasette.app import Datasette
from datasette.database import Database

from ...query.dates import period, utc
from ...query.filter_values import describe_operator
from ...query.filters import FILTERS
from ...query.query import Query
from ..api.openapi import NOTE_PATH, SEARCH_PATH, SIMILAR_PATH
from ..requests import databases

PASSAGE_ANCHOR = "passage"  # the id of the matching passage on a note's page

# Parameters of a note's page: what to mark in the note.
OF_NOTE = ("passage", "sentence")

# Parameters that are valid for one list of results only.
OF_ONE_LIST = ("_next", "_facets")

Pair = tuple[str, str]


@dataclass(frozen=True)
class LabeledUrl:
    """A link. A chip's link leads to the search without what the chip names."""

    label: str
    url: str


def note_url(datasette: Datasette, note_id: int, sidecar: Database | None = None) -> str:
    return databases.url(datasette, f"{NOTE_PATH}/{note_id}", sidecar)


def tag_url(datasette: Datasette, tag: str, sidecar: Database | None = None) -> str:
    return databases.url(datasette, f"{SEARCH_PATH}?{urlencode({'tag': tag})}", sidecar)


@dataclass(frozen=True)
class Urls:
    """Urls that keep a request's parameters."""

    datasette: Datasette
    arguments: Any  # request.args
    path: str = SEARCH_PATH  # or the path of the JSON

    def value(self, name: str) -> str:
        """Return the value of a parameter; if there are several, the last."""
        return (self.arguments.getlist(name) or [""])[-1].strip()

    def values(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for value in self.arguments.getlist(name) if value.strip()]

    def search(
        self,
        *,
        drop: Iterable[str] = OF_ONE_LIST,
        remove: Iterable[Pair] = (),
        address: str = "",
        **changes: str | int,
    ) -> str:
        drop, remove = set(drop), set(remove)
        pairs: list[Pair] = []
        for name in self.arguments:
            if name in changes:
                pairs.append((name, str(changes.pop(name))))
            elif name not in drop:
                pairs.extend(
                    (name, value)
                    for value in self.arguments.getlist(name)
                    if value and (name, value) not in remove
                )
        pairs.extend((name, str(value)) for name, value in changes.items())
        query = urlencode(pairs)
        address = address or databases.url(self.datasette, self.path)
        return f"{address}?{query}" if query else address

    def adding(self, name: str, value: str) -> str:
        if value in self.arguments.getlist(name):
            return self.search()
        return f"{self._and}{urlencode({name: value})}"

    def unfiltered(self, **changes: Any) -> str:
        filters = (name for row in FILTERS.values() for name in row.parameters)
        return self.search(drop=(*OF_ONE_LIST, *filters), **changes)

    def modified_in(self, text: str, query: Query) -> str:
        """Return the URL of this search in a year (``2024``) or month, within its own dates."""
        if not {"modified_after", "modified_before"} & {*self.arguments}:
            return f"{self._and}modified_after={text}&modified_before={text}"
        start, end = (utc(moment) for moment in period(text))
        beside = query.filters_beside.values
        [after], [before] = (beside.get(f"modified_{end}", ("",)) for end in ("after", "before"))
        return self.search(
            modified_after=self.value("modified_after") if after and after > start else text,
            modified_before=self.value("modified_before") if before and before < end else text,
        )

    def note(
        self,
        note_id: int,
        passage_id: int | None = None,
        sentence: tuple[int, int] | None = None,
        **more: Any,
    ) -> str:
        """Return the URL of a note's page, at a passage, with the search to go back to.

        :param sentence: offsets in the note's body of the sentence to mark
        """
        if sentence:
            more["sentence"] = f"{sentence[0]}-{sentence[1]}"
        if passage_id is not None:
            more["passage"] = str(passage_id)
        address = note_url(self.datasette, note_id)
        url = self.search(drop=("_facets", *OF_NOTE, "step"), address=address, **more)
        return f"{url}#{PASSAGE_ANCHOR}" if passage_id is not None else url

    def similar(self, note_id: int, **more: Any) -> str:
        """Return the URL of the notes similar to one, with the search to go back to."""
        address = databases.url(self.datasette, f"{SIMILAR_PATH}/{note_id}")
        return self.search(drop=("_facets", *OF_NOTE), address=address, **more)

    @cached_property
    def _and(self) -> str:
        # The URL of this search, to which hundreds of links on a page add a parameter.
        url = self.search()
        return f"{url}{'&' if '?' in url else '?'}"


def text_chips(urls: Urls, query: Query) -> list[LabeledUrl]:
    chips = []
    for token in query.clauses:
        rest: dict[str, Any] = {"q": text} if (text := query.text_without(token)) else {}
        without = urls.search(drop=(*OF_ONE_LIST, "q"), **rest)
        chips.append(LabeledUrl(token.label, without))
    return chips


def filter_chips(urls: Urls) -> list[LabeledUrl]:
    """Return the chips of filters that aren't in the text. A period's two ends are one chip."""
    chips: list[LabeledUrl] = []
    for row in FILTERS.values():
        if row.kind != "date":
            chips.extend(
                LabeledUrl(row.describe(value), urls.search(remove=[(row.name, value)]))
                for value in urls.values(row.name)
            )
        elif any(ends := [urls.value(name) for name in row.parameters]):
            value = "..".join(dict.fromkeys(ends))
            label = f"{row.name} {value}"
            with suppress(ValueError):  # one that ends before it begins
                label = describe_operator(row.name, value, is_negated=False)
            chips.append(LabeledUrl(label, urls.search(drop=(*OF_ONE_LIST, *row.parameters))))
    return chips
