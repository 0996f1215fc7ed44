"""The demo library is what people judge the search by: these tests keep its notes consistent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

import pytest

from datasette_bear_search.demo import BearNote, demo_notes, write_demo_library

NOTES = demo_notes()
THE_SECRET = ("48-07-31", "9154", "velvet", "tugboat", "marzipan")


def title_of(note: BearNote) -> str:
    first_line = (note.text or "").partition("\n")[0]
    return first_line.removeprefix("# ").strip()


each_note = pytest.mark.parametrize("note", NOTES, ids=title_of)


def prose_of(note: BearNote) -> str:
    """The text without its code, in which neither tags nor links count."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", note.text or "", flags=re.DOTALL)


def as_written(tag: str) -> str:
    return f"#{tag}#" if " " in tag else f"#{tag}"


def words(text: str | None) -> set[str]:
    return set(re.findall(r"\w{5,}", (text or "").casefold()))


def has_todo(note: BearNote) -> bool:
    return "- [ ]" in (note.text or "") or "- [x]" in (note.text or "")


def has_recognized_text(note: BearNote) -> bool:
    return any(file.kind == "image" and file.ocr for file in note.files)


def test_there_are_about_a_hundred_notes() -> None:
    assert 95 <= len(NOTES) <= 115


@pytest.mark.parametrize(
    ("kind", "belongs", "count"),
    [
        ("pinned", lambda note: note.pinned, 3),
        ("pinned in a tag", lambda note: note.pinned_in, 2),
        ("encrypted", lambda note: note.encrypted, 1),
        ("archived", lambda note: note.archived, 3),
        ("in the trash", lambda note: note.trashed, 1),
        ("with todos", has_todo, 12),
        ("with text recognized in an image", has_recognized_text, 10),
        ("without a tag", lambda note: not note.tags, 5),
    ],
)
def test_each_kind_of_note_occurs_as_often_as_planned(
    kind: str, belongs: Callable[[BearNote], object], count: int
) -> None:
    assert sum(bool(belongs(note)) for note in NOTES) == count, kind


def test_ids_are_unique() -> None:
    assert len({note.id for note in NOTES}) == len(NOTES)


def test_only_one_title_is_used_twice() -> None:
    titles = Counter(title_of(note) for note in NOTES)
    assert {title for title, count in titles.items() if count > 1} == {"1:1 with Priya"}


@each_note
def test_dates_are_in_order(note: BearNote) -> None:
    assert note.modified is not None
    assert datetime(2021, 1, 1, tzinfo=timezone.utc) <= note.created
    assert note.created <= note.modified < datetime(2026, 11, 1, tzinfo=timezone.utc)


@each_note
def test_the_tags_of_the_front_matter_are_those_in_the_text(note: BearNote) -> None:
    tag_lines = re.findall(r"^#[^\s#].*$", prose_of(note), re.MULTILINE)
    assert tag_lines == ([" ".join(map(as_written, note.tags))] if note.tags else [])


@each_note
def test_a_note_is_pinned_only_in_its_own_tags(note: BearNote) -> None:
    assert set(note.pinned_in) <= set(note.tags)


@each_note
def test_every_wiki_link_points_to_a_note_and_a_heading_that_exist(note: BearNote) -> None:
    targets = {title_of(other): other.text or "" for other in NOTES}
    for link in re.findall(r"\[\[([^\]|]+)(?:\|[^\]]+)?\]\]", prose_of(note)):
        title, _, heading = link.partition("/")
        assert title in targets
        assert not heading or re.search(rf"^#+ {re.escape(heading)}$", targets[title], re.MULTILINE)


@each_note
def test_every_attachment_is_shown_in_the_text(note: BearNote) -> None:
    shown = re.findall(r"!?\[[^\]\n]*\]\(([^)\s]+)\)", prose_of(note))
    assert sorted(shown) == sorted(quote(file.name) for file in note.files)


@pytest.mark.parametrize(
    "note", [note for note in NOTES if has_recognized_text(note)], ids=title_of
)
def test_recognized_text_has_words_that_no_note_has(note: BearNote) -> None:
    written = set().union(*(words(other.text) for other in NOTES))
    assert words(" ".join(file.ocr or "" for file in note.files)) - written


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
