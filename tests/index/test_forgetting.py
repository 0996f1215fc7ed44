"""However a note's text is removed, the next run of bear-index leaves no byte of it in the file.

Tests ``index/file/notes.py``.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.evaluation import judgments
from datasette_bear_search.index.file import notes as stored_notes
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.text import languages
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import day, edit
from tests.support.index_files import rows

# Words that occur nowhere else.
TITLE, BODY, HEADING, OCR, TAG, LINK, LONG_PART, QUERY = (
    "wuqtitleplum kwzbodycrag jxvheadmoss pfgscanreed vrhtaglimes gnblinkfern hdxdistantoak"
    " mtqqueryash".split()
)

SECRET = BearNote(
    f"# {TITLE} Diary\n\nThe {BODY} is mine.\n\n## {HEADING}\n\n{'So it goes on and on. ' * 80}\n\n"
    f"The {LONG_PART} too. [[Plain]] [[{LINK} gone]]",
    id="11111111-2222-4333-8444-555555555555",
    tags=(TAG,),
    files=(BearFile("a.jpg", ocr=f"{OCR} on a photograph"),),
    created=day(3),
)
PLAIN = BearNote(f"# Plain\n\nSee [[{TITLE} Diary]], or don't.", tags=("garden",), created=day(2))
OTHERS = [BearNote(f"# Note {n}\n\nNothing much, number {n}.", created=day(1)) for n in range(30)]

HERE = (TITLE, BODY, HEADING, OCR, TAG, LINK, LONG_PART)


@pytest.fixture
def bear(write, bear_index, sidecar_path):
    """Index a library with the note; return a function that writes another state of the library."""

    def state(*notes: BearNote) -> None:
        write(*notes, *OTHERS)

    state(SECRET, PLAIN)
    bear_index()
    assert {word for word in HERE if left(sidecar_path, [word])} == set(HERE)
    return state


@pytest.fixture
def configured(tmp_path):
    """Return a function that replaces a tag by a configuration file that never indexes it."""

    def option(value: str) -> str:
        if value.startswith("--"):
            return value
        path = tmp_path / "bear-search.yaml"
        path.write_text(f'never_index_tags: ["#{value}"]')
        return str(path)

    return option


def vectors_of(sidecar_path, title: str) -> list[bytes]:
    found = rows(
        sidecar_path,
        "select vector from _vectors join passages on passages.id = passage_id"
        f" join notes on notes.id = note_id where title like '{title}%'",
    )
    return [vector for (vector,) in found]


def left(sidecar_path, words, vectors=()) -> list[str]:
    """Return the words and vectors that are still in the index file or any file beside it."""
    found = []
    for path in sidecar_path.parent.iterdir():
        raw = path.read_bytes()
        lower = raw.lower()
        for word in words:
            # FTS5 stores stems, without the prefix that a word shares with the previous one.
            forms = word[1:-2].encode(), word.encode("utf-16-le"), word.encode().hex().encode()
            found += [f"{word} in {path.name}" for form in forms if form in lower]
        found += [f"vector {number}" for number, vector in enumerate(vectors) if vector in raw]
    return found


def no_mention(note: BearNote) -> BearNote:
    """Return a note without its link to the secret one, because the link has the title."""
    return replace(note, text="# Plain\n\nSee nothing.")


# The words that have to disappear.
EVERYTHING = HERE
WITHOUT_TITLE = tuple(word for word in HERE if word not in (TITLE, TAG))


def trash(bear, library):
    bear(replace(SECRET, trashed=True), no_mention(PLAIN))


def archive_then_trash(bear, library):
    bear(replace(SECRET, archived=True), no_mention(PLAIN))
    yield
    bear(replace(SECRET, archived=True, trashed=True), no_mention(PLAIN))


def delete_for_good(bear, library):
    bear(no_mention(PLAIN))


def encrypt(bear, library):
    bear(replace(SECRET, encrypted=True), no_mention(PLAIN))


def lock(bear, library):
    # Bear first marks the note as encrypted, while its database still has the text.
    edit(library, f"update ZSFNOTE set ZENCRYPTED = 1 where ZTITLE like '{TITLE}%'")


def tag_as_private(bear, library):
    bear(replace(SECRET, tags=(TAG, "secrets")), no_mention(PLAIN))


def leave_alone(bear, library):
    bear(SECRET, no_mention(PLAIN))


def edit_the_text(bear, library):
    text = f"# {TITLE} Diary\n\nAll is new."
    bear(replace(SECRET, text=text, files=()), PLAIN)


def retitle_and_retag(bear, library):
    text = SECRET.text.replace(TITLE, "Innocent")
    bear(replace(SECRET, text=text, tags=("home",)), no_mention(PLAIN))


# How the text is removed, the options of the next run, and the words that must then be gone.
WAYS = {
    "trash": (trash, (), EVERYTHING),
    "archive, then trash": (archive_then_trash, (), EVERYTHING),
    "delete for good": (delete_for_good, (), EVERYTHING),
    "delete, rebuild": (delete_for_good, ("--rebuild",), EVERYTHING),
    "delete, words only": (delete_for_good, ("--no-semantic",), EVERYTHING),
    "encrypt": (encrypt, (), WITHOUT_TITLE),
    "encrypt, rebuild": (encrypt, ("--rebuild",), WITHOUT_TITLE),
    "lock": (lock, (), WITHOUT_TITLE),
    "a tag that is never indexed": (tag_as_private, ("--config", "secrets"), EVERYTHING),
    "a tag that is never indexed, from now on": (
        leave_alone,
        ("--config", TAG),
        tuple(word for word in HERE if word != TAG),  # the settings contain the tag
    ),
    "edit the text": (edit_the_text, (), (BODY, HEADING, OCR, LINK, LONG_PART)),
    "another title, other tags": (retitle_and_retag, (), (TITLE, TAG)),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_byte_of_a_removed_note_stays(way, bear, bear_index, library, sidecar_path, configured):
    go, options, words = WAYS[way]
    vectors = vectors_of(sidecar_path, TITLE)
    assert vectors
    steps = go(bear, library)
    for _ in steps or ():
        bear_index()
    bear_index(*map(configured, options))
    # The passages are still there, so their vectors may be, too.
    if way == "another title, other tags":
        vectors = []
    assert left(sidecar_path, words, vectors) == []
    assert sorted(path.name for path in sidecar_path.parent.iterdir()) in (
        [sidecar_path.name],
        [sidecar_path.name, f"{sidecar_path.name}.lock"],
    )


def test_no_byte_of_a_removed_source_stays(bear, sidecar_path):
    vectors = vectors_of(sidecar_path, TITLE)
    result = CliRunner().invoke(
        cli, ["bear-index", "--sidecar", str(sidecar_path), "--remove", "bear"]
    )
    assert result.exit_code == 0, result.output
    assert left(sidecar_path, HERE, vectors) == []


def test_no_byte_of_dropped_vectors_stays(bear, bear_index, sidecar_path):
    vectors = vectors_of(sidecar_path, TITLE)
    bear_index("--rebuild", "--no-semantic")
    assert left(sidecar_path, (), vectors) == []


def test_no_word_of_a_removed_note_stays_if_another_stemmer_indexed_it(
    write, bear_index, sidecar_path, monkeypatch
):
    monkeypatch.setattr(stored_notes, "detect", lambda texts: ["de" for _ in texts])
    with monkeypatch.context() as older:
        older.setattr("Stemmer.version", lambda: "2.2.0")
        older.setattr(languages, "_indexed_form", lambda word, language: f"{word}en")
        write(SECRET, PLAIN, *OTHERS)
        bear_index()
    assert (f"{TITLE}en",) in rows(sidecar_path, "select term from _stem_vocabulary")
    write(no_mention(PLAIN), *OTHERS)
    bear_index()
    assert left(sidecar_path, EVERYTHING) == []
    terms = [term for (term,) in rows(sidecar_path, "select term from _stem_vocabulary")]
    assert "plain" in terms
    assert [term for term in terms if term.endswith("en")] == []


def test_a_judgment_that_is_taken_back_leaves_nothing_of_its_query(bear, sidecar_path):
    with closing(sqlite3.connect(sidecar_path)) as connection:
        connection.execute("pragma secure_delete = on")
        with connection:
            judgments.store(connection, f"{QUERY} what", "bear", SECRET.id, 2)
        assert left(sidecar_path, [QUERY])
        with connection:
            judgments.store(connection, f"{QUERY} what", "bear", SECRET.id, None)
    assert left(sidecar_path, [QUERY]) == []


def test_a_judgment_keeps_what_was_typed_but_nothing_of_the_note(bear, bear_index, sidecar_path):
    with closing(sqlite3.connect(sidecar_path)) as connection, connection:
        judgments.store(connection, f"{QUERY} what", "bear", SECRET.id, 2)
    bear(no_mention(PLAIN))
    bear_index()
    assert left(sidecar_path, HERE) == []
    assert left(sidecar_path, [QUERY])


def test_a_copy_that_a_killed_run_left_is_gone_after_the_next(
    bear, bear_index, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    copy = tmp_path / "datasette-bear-search-x" / "copy.sqlite"
    copy.parent.mkdir()
    copy.touch()
    os.utime(copy, (0, 0))
    bear_index()
    assert not copy.parent.exists()
