"""The second index file, which lacks the notes that some people may not see."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from datasette_bear_search import Library
from datasette_bear_search.index import restricted
from datasette_bear_search.index.config import HIDDEN_TAGS_VARIABLE
from datasette_bear_search.index.file import database, metadata, sources
from datasette_bear_search.index.file.database import SidecarError
from datasette_bear_search.index.run import indexer, lock
from datasette_bear_search.notes import is_within
from datasette_bear_search.sources.base import SourceConfig
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day
from tests.support.note_folders import write_files
from tests.support.tiny_embedder import TINY, TinyEmbedder

DIARY = BearNote("# Diary\n\nThe zanzibarium. [[Roof]]", tags=("private/diary",), created=day(1))
ROOF = BearNote(
    "# Roof\n\nA roof of slate. [[Diary]]", tags=("cabin",), created=day(2), pinned=True
)
SOUP = BearNote("# Soup\n\nLentils, **carrots**.\n\n- [ ] cumin", created=day(3))
TAGS = ("private",)


@pytest.fixture
def seen(write, bear_index, sidecar_path):
    """Return a function that indexes these notes and returns the titles that others see."""

    def titles(*notes: BearNote) -> list[str]:
        write(*notes)
        bear_index()
        return [title for (title,) in rows(sidecar_path, "select title from notes order by title")]

    def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
        file = indexer.restricted_index(path, TAGS)
        with closing(sqlite3.connect(file)) as connection:
            return connection.execute(sql).fetchall()

    titles.rows = rows  # type: ignore[attr-defined]
    return titles


def test_the_restricted_index_lacks_hidden_notes_and_links_to_them(seen, sidecar_path):
    assert seen(DIARY, ROOF, SOUP) == ["Roof", "Soup"]
    for table in ("links", "tags", "note_tags", "_files"):
        found = str(seen.rows(sidecar_path, f"select * from {table}"))
        assert "Diary" not in found
        assert "private" not in found
    file = restricted.file_for(sidecar_path, TAGS)
    assert b"anzibari" not in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [note_id for (note_id,) in seen.rows(sidecar_path, "select id from notes")] == [1, 2]


def test_a_run_brings_the_restricted_index_up_to_date(seen, write, bear_index, sidecar_path):
    seen(DIARY, ROOF)
    file = restricted.file_for(sidecar_path, TAGS)

    def shown(*notes: BearNote) -> list[str]:
        write(*notes)
        bear_index()
        assert restricted.is_current(sidecar_path, file)
        with closing(sqlite3.connect(file)) as connection:
            return [title for (title,) in connection.execute("select title from notes order by id")]

    assert shown(DIARY, ROOF, SOUP) == ["Roof", "Soup"]
    hidden = BearNote("# Soup\n\nquxleytomatoes", tags=("Private",), created=day(3))
    assert shown(DIARY, ROOF, hidden) == ["Roof"]
    assert b"carrots" not in file.read_bytes()
    assert b"quxley" not in file.read_bytes()
    assert shown(BearNote("# Diary\n\nPublic now.", created=day(1)), ROOF) == ["Roof", "Diary"]
    assert seen.rows(sidecar_path, "select count(*) from links where target_id is not null") == [
        (1,)
    ]


def test_a_note_is_stored_alike_in_both(seen, tmp_path, sidecar_path):
    seen(DIARY, ROOF, SOUP)
    vault = write_files(
        tmp_path / "vault",
        {
            "a.md": "---\ntags: [x, y/z]\naliases: [B]\n---\n# A\n[[b]] ![](p.png)",
            "b.md": "# B\n\n```\ncode\n```\n[a](a.md) and [mail](mailto:a@b.example)\n- [x] done",
            "p.png": b"png",
        },
    )
    indexer.update(sidecar_path, [SourceConfig("vault", "", str(vault))], TinyEmbedder(TINY))
    columns = "source, key, fingerprint, text_hash, title, body, tags, created, language, has_link"
    # The note about the roof lacks its link to the hidden one.
    sql = f"select {columns} from notes where title not in ('Diary', 'Roof') order by key"
    with closing(sqlite3.connect(sidecar_path)) as connection:
        expected = connection.execute(sql).fetchall()
        vectors = "select content_hash, vector from passages join _vectors on passage_id = id"
        of_all = dict(connection.execute(vectors))
    assert seen.rows(sidecar_path, sql) == expected
    own = dict(seen.rows(sidecar_path, vectors))
    assert len(own) == 4
    assert own.items() <= of_all.items()


def test_no_text_of_the_index_is_embedded_again(seen, bear_index, write, sidecar_path, monkeypatch):
    seen(DIARY, ROOF, SOUP)

    def refuse(self, texts):
        raise AssertionError("embedded again")

    monkeypatch.setattr(TinyEmbedder, "embed_documents", refuse)
    Library(sidecar_path, hidden_tags=["cabin"]).search("lentils")
    assert len(list(restricted.wanted(sidecar_path))) == 2


def test_the_next_run_completes_a_restricted_index_that_a_run_did_not_finish(
    seen, write, bear_index, sidecar_path, monkeypatch
):
    seen(DIARY, ROOF, SOUP)
    hidden = BearNote("# Soup\n\nLentils.", tags=("private",), created=day(3))
    write(DIARY, ROOF, hidden)
    with monkeypatch.context() as patch:
        patch.setattr(indexer, "_update_all_restricted", lambda *given: 1 / 0)
        with pytest.raises(AssertionError):
            bear_index()
    [hit] = Library(sidecar_path, hidden_tags=TAGS).search("lentils roof").hits
    assert hit.title == "Roof"


def test_without_a_place_for_it_nothing_is_shown(
    seen, write, bear_index, sidecar_path, monkeypatch
):
    write(DIARY, ROOF)
    bear_index()

    def refuse(path):
        raise SidecarError("The index can't be written")

    monkeypatch.setattr(indexer.database, "open_for_writing", refuse)
    with pytest.raises(SidecarError, match="can't be written"):
        Library(sidecar_path, hidden_tags=TAGS).search("roof")
    assert len(Library(sidecar_path).search("roof zanzibarium")) == 2


def test_while_a_run_writes_the_last_restricted_index_is_shown(
    seen, write, bear_index, sidecar_path
):
    seen(DIARY, ROOF)
    with closing(sqlite3.connect(sidecar_path)) as connection, connection:
        metadata.mark_changed(connection, restricted.TEXT)
    with lock.only_run(sidecar_path):
        assert len(Library(sidecar_path, hidden_tags=TAGS).search("roof zanzibarium")) == 1
        assert not restricted.is_current(sidecar_path, restricted.file_for(sidecar_path, TAGS))


def test_the_restricted_index_has_no_errors_of_sources(seen, bear_index, sidecar_path, library):
    seen(DIARY, ROOF)
    library.unlink()
    bear_index(fails=True)
    for path, is_told in ((sidecar_path, True), (restricted.file_for(sidecar_path, TAGS), False)):
        with closing(database.connect(path)) as connection:
            [source] = sources.read_sources(connection).values()
        assert bool(source.error) is is_told


def test_a_damaged_restricted_index_is_named(seen, bear_index, sidecar_path):
    seen(DIARY, ROOF)
    file = restricted.file_for(sidecar_path, TAGS)
    file.write_bytes(b"no database" * 1000)
    bear_index()
    with pytest.raises(SidecarError, match=f"{file.name} can't be used .* delete it"):
        Library(sidecar_path, hidden_tags=TAGS).search("roof")
    file.unlink()
    assert len(Library(sidecar_path, hidden_tags=TAGS).search("roof")) == 1


def test_an_environment_variable_makes_one_in_advance(write, bear_index, sidecar_path, monkeypatch):
    monkeypatch.setenv(HIDDEN_TAGS_VARIABLE, "private, work")
    write(DIARY, ROOF)
    bear_index("--no-semantic")
    assert restricted.file_for(sidecar_path, ["#work", "Private"]).exists()


def test_a_tag_that_is_not_utf8_leaves_no_file(write, bear_index, sidecar_path):
    write(DIARY)
    bear_index()
    with pytest.raises(UnicodeEncodeError):
        Library(sidecar_path, ["private", "caf\udce9"]).search("roof")
    assert not [*sidecar_path.parent.glob(f"{sidecar_path.name}{database.RESTRICTED_MARK}*")]


def test_a_restricted_index_cannot_be_indexed_into(seen, sidecar_path, library):
    seen(DIARY, ROOF)
    file = restricted.file_for(sidecar_path, TAGS)
    with pytest.raises(SidecarError, match="holds another index's notes without private"):
        indexer.update(file, [SourceConfig("bear", "bear", str(library))], None)


def test_a_restricted_index_of_another_version_is_rebuilt(seen, sidecar_path):
    seen(DIARY, ROOF)
    with closing(sqlite3.connect(restricted.file_for(sidecar_path, TAGS))) as connection:
        connection.execute("pragma user_version = 1")
    assert seen.rows(sidecar_path, "select title from notes") == [("Roof",)]


@pytest.mark.parametrize(
    ("tag", "wanted", "is_in"),
    [
        ("private", "Private", True),
        ("private/diary", "#private", True),
        ("privately", "private", False),
        ("privately", "private*", True),
        ("work", "work/projects", False),
        ("Straße", "strasse", True),
    ],
)
def test_a_tag_includes_nested_ones(tag, wanted, is_in):
    assert is_within(tag, wanted) is is_in
