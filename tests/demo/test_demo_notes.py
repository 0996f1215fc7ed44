"""The demo library is what people judge the search by: these tests keep its notes consistent.

Tests ``demo/``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

import pytest

from datasette_bear_search.demo import NOTES as NOTES_FOLDER
from datasette_bear_search.demo import DemoNotes
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import BearNote, demo_notes, write_demo_library

NOTES = demo_notes()
THE_SECRET = ("48-07-31", "9154", "velvet", "tugboat", "marzipan")


def title_of(note: BearNote) -> str:
    first_line = (note.text or "").partition("\n")[0]
    return first_line.removeprefix("# ").strip()


def failing(is_consistent: Callable[[BearNote], object]) -> list[str]:
    """Return the titles of the notes for which this doesn't hold."""
    return [title_of(note) for note in NOTES if not is_consistent(note)]


def prose_of(note: BearNote) -> str:
    """Return the text without its code, in which neither tags nor links count."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", note.text or "", flags=re.DOTALL)


def as_written(tag: str) -> str:
    return f"#{tag}#" if " " in tag else f"#{tag}"


def words(text: str | None) -> set[str]:
    return set(re.findall(r"\w{5,}", (text or "").casefold()))


def has_todo(note: BearNote) -> bool:
    return "- [ ]" in (note.text or "") or "- [x]" in (note.text or "")


def has_recognized_text(note: BearNote) -> bool:
    return any(file.kind == "image" and file.ocr for file in note.files)


def test_each_kind_of_note_occurs_as_often_as_planned() -> None:
    assert 95 <= len(NOTES) <= 115
    planned: dict[str, tuple[int, Callable[[BearNote], object]]] = {
        "pinned": (3, lambda note: note.pinned),
        "pinned in a tag": (2, lambda note: note.pinned_in),
        "encrypted": (1, lambda note: note.encrypted),
        "archived": (3, lambda note: note.archived),
        "in the trash": (1, lambda note: note.trashed),
        "with todos": (12, has_todo),
        "with text recognized in an image": (10, has_recognized_text),
        "without a tag": (5, lambda note: not note.tags),
    }
    counts = {kind: sum(map(bool, map(belongs, NOTES))) for kind, (_, belongs) in planned.items()}
    assert counts == {kind: count for kind, (count, _) in planned.items()}


def test_ids_are_unique_and_only_one_title_is_used_twice() -> None:
    assert len({note.id for note in NOTES}) == len(NOTES)
    titles = Counter(title_of(note) for note in NOTES)
    assert {title for title, count in titles.items() if count > 1} == {"1:1 with Priya"}


def test_dates_are_in_order() -> None:
    first, last = (datetime(*day, tzinfo=timezone.utc) for day in ((2021, 1, 1), (2026, 11, 1)))
    assert not failing(lambda note: first <= note.created <= (note.modified or first) < last)


def test_the_tags_of_the_front_matter_are_those_in_the_text() -> None:
    def tag_lines(note: BearNote) -> list[str]:
        return re.findall(r"^#[^\s#].*$", prose_of(note), re.MULTILINE)

    def expected(note: BearNote) -> list[str]:
        return [" ".join(map(as_written, note.tags))] if note.tags else []

    assert not failing(lambda note: tag_lines(note) == expected(note))
    assert not failing(lambda note: set(note.pinned_in) <= set(note.tags))


def test_every_wiki_link_points_to_a_note_and_a_heading_that_exist() -> None:
    targets = {title_of(note): note.text or "" for note in NOTES}

    def exists(link: str) -> bool:
        title, _, heading = link.partition("/")
        line = rf"^#+ {re.escape(heading)}$" if heading else ""
        return title in targets and bool(re.search(line, targets[title], re.MULTILINE))

    assert not [
        (title_of(note), link)
        for note in NOTES
        for link in re.findall(r"\[\[([^\]|]+)(?:\|[^\]]+)?\]\]", prose_of(note))
        if not exists(link)
    ]


def test_every_attachment_is_shown_in_the_text() -> None:
    def shown(note: BearNote) -> list[str]:
        return sorted(re.findall(r"!?\[[^\]\n]*\]\(([^)\s]+)\)", prose_of(note)))

    assert not failing(lambda note: shown(note) == sorted(quote(file.name) for file in note.files))


def test_recognized_text_has_words_that_no_note_has() -> None:
    written = set().union(*(words(note.text) for note in NOTES))
    assert not [
        title_of(note)
        for note in filter(has_recognized_text, NOTES)
        if words(" ".join(file.ocr or "" for file in note.files)) <= written
    ]


@pytest.mark.parametrize("secret", THE_SECRET)
def test_the_secret_is_only_in_the_encrypted_note(secret: str) -> None:
    holders = [
        note
        for note in NOTES
        if secret in (note.text or "") + "".join(file.ocr or "" for file in note.files)
    ]
    assert [note.encrypted for note in holders] == [True]


def test_the_written_library_holds_every_note_but_not_the_secret(tmp_path: Path) -> None:
    library = tmp_path / "database.sqlite"
    assert write_demo_library(library) == len(NOTES)
    content = library.read_bytes()
    # Four digits alone may well be part of some id.
    assert all(title_of(note).encode() in content for note in NOTES)
    assert not any(secret.encode() in content for secret in THE_SECRET if not secret.isdigit())


def test_the_sample_notes_are_read_as_if_they_were_in_bear(tmp_path: Path) -> None:
    library = tmp_path / "database.sqlite"
    write_demo_library(library)
    for include_trashed in (False, True):
        in_bear = BearLibrary(library).read(include_trashed=include_trashed)
        assert list(DemoNotes(NOTES_FOLDER).read(include_trashed=include_trashed)) == list(in_bear)
