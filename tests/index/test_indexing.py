"""``datasette bear-index``, through the command.

Tests ``cli/index.py``, ``cli/listing.py``, ``index/file/metadata.py``,
``index/run/indexer.py``, ``index/run/embedding.py`` and ``index/run/report.py``.
"""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import filelock
import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.cli.index import _cost
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.index.file import database, notes
from datasette_bear_search.index.run import embedding, indexer, lock
from datasette_bear_search.search import engine
from datasette_bear_search.sources.bear import BearLibrary
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import day, edit, left_untouched
from tests.support.index_files import rows
from tests.support.tiny_embedder import TINY, TinyEmbedder

GARDEN = BearNote(
    "# Garden\n#home/garden\n\nPrune the old apple tree in February.\n\n"
    "## Tools\n\nSharpen the saw.",
    tags=("home/garden",),
    created=day(1),
)
SOUP = BearNote("# Soup\n\nLentils, carrots and cumin. See [[Garden]].", created=day(2))


def content(path: Path) -> dict[str, list[tuple]]:
    """Return what a search can see of an index, without ids, which depend on its history."""
    return {
        name: sorted(rows(path, sql), key=repr)
        for name, sql in {
            "notes": f"select {', '.join(notes.COLUMNS)} from notes",
            "tags": "select notes.key, tags.name, tags.folded, note_tags.pinned from note_tags"
            " join notes on notes.id = note_id join tags on tags.id = tag_id",
            "links": "select notes.key, links.target_key, links.title, target.key from links"
            " join notes on notes.id = note_id left join notes as target on target.id = target_id",
            "passages": "select notes.key, position, heading, start, length, content_hash,"
            " vector_state, vector from passages"
            " join notes on notes.id = note_id left join _vectors on passage_id = passages.id",
            "index": "select content_hash, embedding from _passage_index"
            " join passages on passages.id = _passage_index.rowid",
            "sources": "select name, location, heading_link, notes from sources",
            "unused tags": "select name from tags where id not in (select tag_id from note_tags)",
        }.items()
    }


def found(path: Path, words: str) -> list[str]:
    return [
        title
        for (title,) in rows(
            path,
            "select title from notes"
            " where id in (select rowid from notes_fts where notes_fts match ?)",
            words,
        )
    ]


def test_notes_are_stored_with_everything_that_bear_knows(write, bear_index, sidecar_path):
    write(
        GARDEN,
        BearNote(
            "# Soup\n- [ ] buy lentils\n- [x] buy carrots\n```\ncode\n```\n[[Garden]]",
            tags=("kitchen", "two words"),
            pinned_in=("kitchen",),
            pinned=True,
            archived=True,
            created=day(2),
            modified=day(3),
            files=(BearFile("menu.png", ocr="bouillabaisse"),),
        ),
    )
    bear_index()
    assert rows(
        sidecar_path,
        "select title, tags, created, modified, pinned, archived, encrypted, todos_open,"
        " todos_done,"
        " has_image, has_code, attachments from notes where title = 'Soup'",
    ) == [
        (
            "Soup",
            '["kitchen", "two words"]',
            "2024-05-02T09:30:00Z",
            "2024-05-03T09:30:00Z",
            1, 1, 0, 1, 1, 1, 1,
            "bouillabaisse",
        )
    ]  # fmt: skip
    assert rows(
        sidecar_path,
        "select name, pinned from note_tags join tags on tags.id = tag_id order by name",
    ) == [("home", 0), ("home/garden", 0), ("kitchen", 1), ("two words", 0)]
    assert rows(
        sidecar_path,
        "select origin.title, target.title from links"
        " join notes as origin on origin.id = note_id"
        " join notes as target on target.id = target_id",
    ) == [("Soup", "Garden")]


def test_every_passage_gets_a_vector(write, bear_index, sidecar_path):
    write(GARDEN, SOUP)
    bear_index()
    assert rows(
        sidecar_path,
        "select heading from passages join notes on notes.id = note_id where title = 'Garden'",
    ) == [("",), ("Tools",)]
    assert rows(sidecar_path, "select distinct vector_state from passages") == [("embedded",)]
    assert rows(sidecar_path, "select count(*) from _vectors") == rows(
        sidecar_path, "select count(*) from _passage_index"
    )


def test_a_second_run_changes_nothing_and_loads_no_model(
    write, bear_index, sidecar_path, monkeypatch
):
    write(GARDEN, SOUP)
    bear_index()
    before = content(sidecar_path)
    monkeypatch.setattr(TinyEmbedder, "open_model", lambda self: pytest.fail("loaded"))
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    assert "0 notes added, 0 changed, 0 removed" in bear_index().output
    assert content(sidecar_path) == before


def test_a_second_run_imports_no_torch_and_no_numpy(write, library, sidecar_path, bear_index):
    write(GARDEN)
    bear_index()
    code = (
        "import sys; from datasette.cli import cli; before = set(sys.modules);"
        "cli(['bear-index', '--sidecar', sys.argv[1]], standalone_mode=False);"
        "print(sorted({'torch', 'transformers', 'sentence_transformers', 'numpy', 'sqlite_utils'}"
        " & (set(sys.modules) - before)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code, str(sidecar_path)], capture_output=True, text=True, check=True
    ).stdout
    assert output.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("change", "column", "value"),
    [
        ("update ZSFNOTE set ZPINNED = 1 where ZTITLE = 'Garden'", "pinned", 1),
        ("update ZSFNOTE set ZARCHIVED = 1 where ZTITLE = 'Garden'", "archived", 1),
        ("update ZSFNOTE set ZENCRYPTED = 1, ZTEXT = null where ZTITLE = 'Garden'", "encrypted", 1),
        ("update ZSFNOTEFILE set ZSEARCHTEXT = 'secateurs'", "attachments", "secateurs"),
        (
            "update ZSFNOTETAG set ZTITLE = 'yard' where ZTITLE = 'home/garden'",
            "tags",
            '["home", "yard"]',
        ),
        ("update ZSFNOTE set ZTODOINCOMPLETED = 3 where ZTITLE = 'Garden'", "todos_open", 3),
    ],
    ids=["pin", "archive", "encrypt", "ocr", "tag", "todo"],
)
def test_a_change_that_moves_no_date_is_seen(
    write, library, bear_index, sidecar_path, change, column, value
):
    write(BearNote(GARDEN.text, tags=GARDEN.tags, files=(BearFile("plan.png", ocr=""),)))
    bear_index()
    edit(library, change)
    assert "0 notes added, 1 changed, 0 removed" in bear_index().output
    assert rows(sidecar_path, f"select {column} from notes") == [(value,)]


def test_only_changed_passages_are_embedded_again(write, bear_index):
    write(GARDEN, SOUP)
    bear_index()
    write(BearNote(GARDEN.text.replace("saw", "axe"), tags=GARDEN.tags, created=day(1)), SOUP)
    assert "1 passage embedded" in bear_index().output


def test_pinning_a_note_embeds_nothing(write, library, bear_index):
    write(GARDEN)
    bear_index()
    edit(library, "update ZSFNOTE set ZPINNED = 1")
    assert "embedded" not in bear_index().output


@pytest.mark.parametrize(
    "leave",
    [
        "update ZSFNOTE set ZTRASHED = 1 where ZTITLE = 'Diary'",
        "update ZSFNOTE set ZPERMANENTLYDELETED = 1 where ZTITLE = 'Diary'",
        "delete from ZSFNOTE where ZTITLE = 'Diary'",
        "update ZSFNOTE set ZENCRYPTED = 1, ZTEXT = null where ZTITLE = 'Diary'",
        "update ZSFNOTE set ZTEXT = '# Diary\n\nNothing to see' where ZTITLE = 'Diary'",
    ],
    ids=["trash", "purge", "delete", "encrypt", "edit"],
)
def test_text_that_left_the_library_leaves_the_file(
    write, library, bear_index, sidecar_path, leave
):
    secrets = ["xylophonist", "quokka", "zugzwang"]
    others = [
        BearNote(f"# Note {number}\n\nSomething else, number {number}.") for number in range(60)
    ]
    diary = "# Diary\n\n" + "\n\n".join(
        f"The {secret} came at {number}." for number, secret in enumerate(secrets * 9)
    )
    write(
        BearNote(diary, tags=("flibbertigibbet",), files=(BearFile("a.png", ocr="gobbledygook"),)),
        *others,
    )
    bear_index()
    raw = sidecar_path.read_bytes()
    assert all(secret.encode() in raw for secret in [*secrets, "gobbledygook"])
    edit(library, leave)
    edit(library, "update ZSFNOTEFILE set ZNOTE = null")
    edit(library, "delete from Z_5TAGS")
    bear_index()
    raw = sidecar_path.read_bytes()
    assert not [
        word for word in [*secrets, "gobbledygook", "flibbertigibbet"] if word.encode() in raw
    ]


def test_vectors_of_text_that_left_are_gone_too(write, bear_index, sidecar_path):
    write(GARDEN, SOUP)
    bear_index()
    [(vector,)] = rows(
        sidecar_path,
        "select vector from _vectors join passages on passages.id = passage_id"
        " join notes on notes.id = note_id where title = 'Soup'",
    )
    assert vector in sidecar_path.read_bytes()
    write(GARDEN)
    bear_index()
    assert vector not in sidecar_path.read_bytes()


def test_rows_of_vec0_leave_with_the_passages_of_a_removed_note(write, bear_index, sidecar_path):
    write(GARDEN, SOUP)
    bear_index()
    indexed = "select rowid from _passage_index order by rowid"
    assert len(rows(sidecar_path, indexed)) == 3
    write(GARDEN)
    bear_index()
    left = rows(sidecar_path, "select id from passages order by id")
    assert rows(sidecar_path, indexed) == left
    assert len(left) == 2


def test_links_from_and_to_a_removed_note_are_gone(write, bear_index, sidecar_path):
    tools = BearNote("# Tools\n\nOf the [[Garden]].", created=day(3))
    links = """
    select origin.title, target.title
    from links
    left join notes as origin on origin.id = note_id
    left join notes as target on target.id = target_id
    """
    for left, titles in [
        ([GARDEN, SOUP, tools], [("Soup", "Garden"), ("Tools", "Garden")]),
        ([GARDEN, tools], [("Tools", "Garden")]),
        ([tools], []),
    ]:
        write(*left)
        bear_index()
        assert sorted(rows(sidecar_path, links)) == titles


def test_updating_a_changed_library_gives_the_same_index_as_a_new_build(
    write, bear_index, sidecar_path, tmp_path
):
    write(*[BearNote(f"# N{n}\n\nText {n} [[N{n + 1}]]", tags=(f"t{n % 3}",)) for n in range(30)])
    bear_index()
    write(
        *[
            BearNote(f"# N{n}\n\nText {n * (n % 2)} [[N{n + 1}]]", tags=(f"t{n % 4}",))
            for n in range(10, 40)
        ]
    )
    bear_index()
    after = content(sidecar_path)
    bear_index("--rebuild")
    assert content(sidecar_path) == after
    sidecar_path.unlink()
    bear_index()
    assert content(sidecar_path) == after


def test_a_run_that_dies_while_embedding_is_resumed(
    write, bear_index, library, sidecar_path, monkeypatch
):
    write(*[BearNote(f"# N{n}\n\nText number {n}") for n in range(40)])
    bear_index()
    complete = content(sidecar_path)
    sidecar_path.unlink()
    monkeypatch.setattr(embedding, "PASSAGES_PER_COMMIT", 8)
    batches = []

    class Dies(TinyEmbedder):
        def embed_documents(self, texts):
            batches.append(texts)
            if len(batches) == 4:  # nonsense comes first
                raise KeyboardInterrupt
            return super().embed_documents(texts)

    registry.register(TINY, lambda: Dies(TINY))
    CliRunner().invoke(cli, ["bear-index", "--sidecar", str(sidecar_path), str(library)])
    assert len(found(sidecar_path, "text")) == 40  # all can already be found by words
    assert rows(sidecar_path, "select count(*) from _vectors") == [(16,)]
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    assert "24 passages embedded" in bear_index().output
    assert content(sidecar_path) == complete


def test_another_model_embeds_all_notes_again(write, bear_index, sidecar_path):
    write(GARDEN, SOUP)
    bear_index()
    registry.register("other", lambda: TinyEmbedder("other"))
    assert "3 passages embedded" in bear_index("--model", "other", "--yes").output
    assert rows(sidecar_path, "select value from meta where key = 'model'") == [("other",)]
    assert "embedded" not in bear_index().output  # later runs keep that model


@pytest.mark.parametrize(
    ("passages", "cost"),
    [
        (3, "less than a minute"),
        (900, "about 2 minutes and 1 MB"),
        (900_000, "about 25 hours and 1,382 MB"),
    ],
)
def test_what_embedding_costs_is_rounded(passages, cost):
    assert _cost(passages, 384, 10) == cost


def test_changing_the_model_says_how_long_it_takes(write, bear_index, sidecar_path):
    write(GARDEN, SOUP)
    bear_index()
    with closing(sqlite3.connect(sidecar_path)) as db, db:
        db.execute("insert into meta values ('passages_per_second', '0.01')")
    registry.register("other", lambda: TinyEmbedder("other"))
    output = bear_index("--model", "other").output
    assert "Embedding 3 passages with other, which takes about 5 minutes; searching works" in output


def test_pinned_and_newest_notes_are_embedded_first(write, bear_index, monkeypatch):
    monkeypatch.setattr(embedding, "PASSAGES_PER_WINDOW", 1)
    embedded = []

    class Watched(TinyEmbedder):
        def encode(self, texts, *, is_query):
            embedded.extend(text.split()[0] for text in texts if text.startswith("N"))
            return super().encode(texts, is_query=is_query)

    registry.register(TINY, lambda: Watched(TINY))
    write(
        BearNote("# N1\n\nold", modified=day(1)),
        BearNote("# N2\n\nnew", modified=day(9)),
        BearNote("# N3\n\npinned", modified=day(2), pinned=True),
        BearNote("# N4\n\nnewer", modified=day(10)),
    )
    bear_index()
    assert embedded == ["N3", "N4", "N2", "N1"]


def test_a_model_that_reads_less_gets_shorter_passages(write, bear_index, sidecar_path):
    class Short(TinyEmbedder):
        def open_model(self):
            return super().open_model()._replace(max_tokens=64)

    registry.register("short", lambda: Short("short"))
    write(BearNote("# Long\n\n" + "Some words that go on. " * 60))
    bear_index()
    [(before,)] = rows(sidecar_path, "select count(*) from passages")
    bear_index("--model", "short", "--yes")
    [(after,)] = rows(sidecar_path, "select count(*) from passages")
    assert after > before
    assert rows(sidecar_path, "select count(*) from _vectors") == [(after,)]


def test_without_a_model_words_are_searchable_and_one_line_says_so(write, bear_index, sidecar_path):
    class Missing(TinyEmbedder):
        def open_model(self):
            raise ModelUnavailable("The model can't be had.")

    registry.register("missing", lambda: Missing("missing"))
    write(GARDEN)
    output = bear_index("--model", "missing", fails=True).output
    assert "The model can't be had. Until then, notes are found by their words only." in output
    assert found(sidecar_path, "apple") == ["Garden"]


@pytest.mark.parametrize("later", [(), ("--rebuild",)])
def test_no_semantic_holds_until_vectors_are_asked_for(write, bear_index, sidecar_path, later):
    write(GARDEN)
    bear_index("--no-semantic")
    bear_index(*later)
    assert rows(sidecar_path, "select count(*) from _vectors") == [(0,)]
    with database.connect(sidecar_path) as connection:
        obstacle = engine.semantic_obstacle(database.read_state(connection), True)
    assert obstacle.endswith(f"run: datasette bear-index --sidecar {sidecar_path} --semantic")
    bear_index("--semantic")
    write(GARDEN, SOUP)
    bear_index()
    assert rows(sidecar_path, "select count(*) from _vectors") == [(3,)]


def test_vectors_that_are_not_numbers_are_refused(write, bear_index, sidecar_path):
    class Broken(TinyEmbedder):
        def encode(self, texts, *, is_query):
            vectors = super().encode(texts, is_query=is_query)
            return [
                [float("nan")] * len(v) if "Lentils" in t else v for t, v in zip(texts, vectors)
            ]

    registry.register(TINY, lambda: Broken(TINY))
    write(GARDEN, SOUP)
    assert "found by its words only" in bear_index().output
    assert rows(sidecar_path, "select count(*) from _vectors") == [(2,)]


def test_quiet_prints_nothing(write, bear_index):
    write(GARDEN)
    assert bear_index("--quiet").output == ""


def test_notes_in_the_trash_are_indexed_on_request_only(write, bear_index, sidecar_path):
    write(GARDEN, BearNote("# Old\n\nRubbish", trashed=True))
    bear_index()
    assert found(sidecar_path, "rubbish") == []
    bear_index("--include-trashed")
    assert found(sidecar_path, "rubbish") == ["Old"]
    bear_index()
    assert found(sidecar_path, "rubbish") == []


def test_a_second_indexer_waits_for_a_short_run(write, bear_index, sidecar_path):
    write(GARDEN)
    sidecar_path.parent.mkdir()
    lock = filelock.FileLock(f"{sidecar_path}.lock", thread_local=False).acquire()
    threading.Timer(1.2, lock.lock.release).start()
    assert "1 note added" in bear_index().output


def test_asking_whether_a_run_is_active_returns_at_once(sidecar_path):
    sidecar_path.parent.mkdir()
    with filelock.FileLock(f"{sidecar_path}.lock"):
        started = time.perf_counter()
        assert lock.is_busy(sidecar_path)
        assert time.perf_counter() - started < 0.5


def test_a_second_indexer_does_not_wait_for_a_long_run(
    write, bear_index, sidecar_path, monkeypatch
):
    monkeypatch.setattr(lock, "RUN_SECONDS", 0.1)
    write(GARDEN)
    sidecar_path.parent.mkdir()
    with filelock.FileLock(f"{sidecar_path}.lock"):
        assert "Another datasette bear-index is already writing" in bear_index(fails=True).output


def test_an_unreadable_library_removes_nothing_from_the_sidecar(
    write, library, bear_index, sidecar_path
):
    write(GARDEN)
    bear_index()
    before = content(sidecar_path)
    library.unlink()
    assert str(library) in bear_index(fails=True).output
    assert content(sidecar_path) == before


def test_without_a_path_the_same_library_is_read_again(write, bear_index, sidecar_path):
    write(GARDEN)
    bear_index()
    write(GARDEN, SOUP)
    result = CliRunner().invoke(cli, ["bear-index", "--sidecar", str(sidecar_path)])
    assert "1 note added" in result.output


def test_another_library_joins_the_first(write, bear_index, sidecar_path, tmp_path):
    write(GARDEN)
    bear_index()
    from tests.support.bear_libraries import bear_library

    bear_index(path=bear_library(tmp_path / "other.sqlite", [SOUP]))
    assert rows(sidecar_path, "select title from notes order by title") == [("Garden",), ("Soup",)]


def test_two_libraries_are_kept_apart(write, library, sidecar_path, bear_index, tmp_path):
    from tests.support.bear_libraries import bear_library

    write(GARDEN)
    other = bear_library(tmp_path / "other.sqlite", [BearNote(GARDEN.text + " Twice.", id="X")])
    bear_index(str(other))
    assert rows(sidecar_path, "select name, notes from sources order by name") == [
        ("bear", 1),
        ("bear-2", 1),
    ]


def test_a_file_that_is_not_a_sidecar_is_left_alone(write, bear_index, sidecar_path):
    write(GARDEN)
    sidecar_path.parent.mkdir()
    sidecar_path.write_text("Dear diary")
    assert "is not an index made by datasette bear-index" in bear_index(fails=True).output
    assert sidecar_path.read_text() == "Dear diary"


def test_the_message_about_a_damaged_sidecar_says_to_delete_it(write, bear_index, sidecar_path):
    write(GARDEN)
    bear_index()
    data = bytearray(sidecar_path.read_bytes())
    data[100:8000] = b"\xff" * 7900
    sidecar_path.write_bytes(data)
    assert "delete the index and run datasette" in bear_index(fails=True).output


def test_nobody_else_may_read_what_is_written(write, bear_index, sidecar_path):
    write(BearNote("# Roof"))
    before = os.umask(0)
    try:
        bear_index("--no-semantic")
        sidecar_path.chmod(0o666)  # as an earlier version, or a copy, may have left it
        bear_index("--no-semantic")
    finally:
        os.umask(before)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (sidecar_path.parent, *sidecar_path.parent.iterdir())
    }
    assert modes.pop(sidecar_path.parent.name) == 0o700
    assert sidecar_path.name in modes
    assert set(modes.values()) == {0o600}, modes


def test_bears_folder_is_left_untouched_by_every_kind_of_run(
    write, library, bear_index, sidecar_path
):
    write(GARDEN, SOUP, BearNote("# Old\n\nRubbish", trashed=True))
    with left_untouched(library):
        bear_index("--list")
        bear_index("--no-semantic")
        bear_index("--include-trashed")
        bear_index("--rebuild")
        bear_index()


def test_tags_are_json_that_datasette_can_facet_by(write, bear_index, sidecar_path):
    write(BearNote("# A", tags=('odd "quoted" \\ tag', "日本語")))
    bear_index()
    [(tags,)] = rows(sidecar_path, "select tags from notes")
    assert json.loads(tags) == ['odd "quoted" \\ tag', "日本語"]


def test_the_sidecar_keeps_its_file(write, bear_index, sidecar_path):
    """A server that has it open must see changes, but SQLite keeps reading a replaced file."""
    write(GARDEN)
    bear_index()
    with closing(database.connect(sidecar_path)) as server:
        write(SOUP)
        bear_index("--rebuild")
        assert server.execute("select title from notes").fetchall() == [("Soup",)]


def test_a_passage_points_at_its_text_in_the_body(write, bear_index, sidecar_path):
    write(GARDEN)
    bear_index()
    assert rows(
        sidecar_path,
        "select substr(body, start + 1, length) from passages join notes on notes.id = note_id"
        " where heading = 'Tools'",
    ) == [("## Tools\n\nSharpen the saw.",)]


def test_reading_starts_from_the_state_before_the_notes(write, library):
    write(GARDEN)
    reading = indexer.read(BearLibrary(library))
    assert reading.state == BearLibrary(library).state()
    edit(library, "update ZSFNOTE set ZMODIFICATIONDATE = ?", timedelta(days=9000).total_seconds())
    assert reading.state != BearLibrary(library).state()
