"""``datasette bear-doctor`` finds problems and says how to fix them."""

import json
import time
from contextlib import closing

import filelock
import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.embeddings.base import ModelUnavailable
from datasette_bear_search.embeddings.names import BUNDLED, MULTILINGUAL_MODEL
from datasette_bear_search.index import config
from datasette_bear_search.index.file import database, vectors
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import edit, folder_state

NOTE = BearNote("# Garden\n\nPrune the old apple tree.")


@pytest.fixture
def doctor(sidecar_path, tmp_path, monkeypatch):
    """Return a function that runs the command and returns its exit status and checks by name."""
    # Ignore the cache of the person who runs the tests.
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "my home"))

    def run(*options: str) -> tuple[int, dict[str, dict]]:
        command = ["bear-doctor", "--json", "--sidecar", str(sidecar_path), *options]
        result = CliRunner().invoke(cli, command)
        assert result.exit_code in (0, 1), result.output
        answer = json.loads(result.output)
        assert answer["ok"] == (result.exit_code == 0)
        for finding in answer["findings"]:
            if finding["ok"] is False:
                assert finding["mend"], finding
        return result.exit_code, {finding["name"]: finding for finding in answer["findings"]}

    return run


@pytest.fixture
def indexed(write, bear_index):
    write(NOTE)
    bear_index()


def change(path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        vectors.load_extension(db)
        for statement in statements:
            db.execute(statement)


def test_doctor_finds_no_problem_after_indexing(indexed, doctor):
    status, found = doctor("--model-check")
    assert status == 0
    assert {name for name, finding in found.items() if finding["ok"] is None} == set()
    assert "1 note" in found["bear"]["says"]
    assert "All passages have a vector from test/tiny" in found["vectors"]["says"]
    assert "1 of 1 passage, which include 100% of the nearest" in found["candidates"]["says"]
    assert "64 numbers" in found["model"]["says"]


def test_doctor_says_what_share_of_the_nearest_passages_a_search_misses(
    indexed, doctor, sidecar_path
):
    change(sidecar_path, "update meta set value = '0.834' where key = 'candidates_recall'")
    status, found = doctor()
    assert status == 0
    assert "83% of the nearest: this model's vectors" in found["candidates"]["says"]
    assert found["candidates"]["mend"].startswith("datasette bear-index")
    assert found["candidates"]["mend"].endswith("--model NAME")


def test_doctor_changes_no_file(indexed, doctor, sidecar_path, library):
    before = folder_state(sidecar_path.parent), folder_state(library.parent)
    doctor("--model-check")
    assert (folder_state(sidecar_path.parent), folder_state(library.parent)) == before


def test_doctor_says_for_each_finding_whether_it_is_ok(indexed, sidecar_path):
    command = ["bear-doctor", "--sidecar", str(sidecar_path)]
    output = CliRunner().invoke(cli, command).output
    assert "  ok      Only you can open it" in output
    assert output.endswith("No problems found.\n")
    assert "\x1b" not in output


def test_without_an_index_it_says_how_to_make_this_one(doctor, sidecar_path):
    status, found = doctor()
    assert status == 1
    assert found["file"]["mend"] == f"datasette bear-index --sidecar {sidecar_path}"


def test_a_source_that_vanished_is_a_problem(indexed, doctor, library):
    library.unlink()
    status, found = doctor()
    assert status == 1
    assert str(library) in found["bear"]["says"]
    assert "--remove bear" in found["bear"]["mend"]


def test_changed_notes_are_not_a_problem(indexed, doctor, library):
    edit(library, "update ZSFNOTE set ZPINNED = 1")
    status, found = doctor()
    assert status == 0
    assert "1 note changed since" in found["bear"]["says"]
    assert found["bear"]["mend"].endswith("--only bear")


@pytest.mark.parametrize(
    ("statements", "name", "fix"),
    [
        (["pragma user_version = 0"], "schema", "bear-index"),
        (["pragma user_version = 9999"], "schema", "pip install -U"),
        (["update passages set vector_state = 'pending'"], "vectors", "bear-index"),
        (["insert into meta values ('passage_index_stale', 'yes')"], "vectors", "bear-index"),
        (["delete from _vectors"], "vectors", "--rebuild"),
        (["delete from notes_fts_data where id > 10"], "integrity", "--rebuild"),
    ],
    ids=["older", "newer", "pending", "stale", "lost", "words"],
)
def test_doctor_finds_what_is_wrong_with_the_index(
    indexed, doctor, sidecar_path, statements, name, fix
):
    change(sidecar_path, *statements)
    status, found = doctor()
    assert status == 1
    assert found[name]["ok"] is False
    assert fix in found[name]["mend"]


def test_a_damaged_file_is_found(indexed, doctor, sidecar_path):
    data = bytearray(sidecar_path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 40960] = b"\xff" * 40960
    sidecar_path.write_bytes(data)
    status, found = doctor()
    assert status == 1
    assert [name for name, finding in found.items() if finding["ok"] is False]


def test_doctor_leaves_other_files_alone(doctor, sidecar_path):
    sidecar_path.parent.mkdir()
    sidecar_path.write_text("Dear diary")
    status, found = doctor()
    assert status == 1
    assert "is not an index" in found["file"]["says"]


def test_a_file_that_others_may_open_is_a_problem(indexed, doctor, sidecar_path):
    sidecar_path.chmod(0o644)
    status, found = doctor()
    assert status == 1
    assert found["permissions"]["mend"] == f"chmod 600 '{sidecar_path}'"


def test_doctor_mentions_a_running_indexer(indexed, doctor, sidecar_path):
    with filelock.FileLock(f"{sidecar_path}.lock"):
        status, found = doctor()
    assert status == 0
    assert "updating it" in found["busy"]["says"]


def test_doctor_waits_once_for_a_lock(indexed, doctor, sidecar_path, monkeypatch):
    monkeypatch.setattr(database, "READ_BUSY_SECONDS", 0.2)
    with closing(sqlite3.connect(sidecar_path, isolation_level=None)) as writer:
        writer.execute("begin exclusive")
        started = time.monotonic()
        status, found = doctor()
    assert time.monotonic() - started < 9  # a second one would wait for ten
    assert status == 1
    assert found["file"]["says"].startswith("Another program keeps the index from being used")


def test_a_broken_configuration_is_a_problem(indexed, doctor, tmp_path, monkeypatch):
    path = tmp_path / "c.yaml"
    path.write_text("sauces: []")
    monkeypatch.setenv(config.CONFIG_VARIABLE, str(path))
    status, found = doctor()
    assert status == 1
    assert "Did you mean sources?" in found["configuration"]["says"]


def test_a_python_that_cannot_load_extensions_is_a_problem(indexed, doctor, monkeypatch):
    monkeypatch.setattr(vectors, "load_extension", lambda connection: False)
    status, found = doctor()
    assert status == 1
    assert found["sqlite_vec"]["mend"] == "pip install pysqlite3"


def test_without_model_check_no_model_is_loaded(indexed, doctor, monkeypatch):
    from datasette_bear_search.embeddings import registry
    from tests.support.tiny_embedder import TINY, TinyEmbedder

    monkeypatch.setattr(TinyEmbedder, "open_model", lambda self: pytest.fail("loaded"))
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    assert doctor()[1]["model"]["ok"]


def test_doctor_offers_models_in_place_of_one_of_them(indexed, doctor, sidecar_path):
    assert "choice" not in doctor()[1]  # somebody chose another one
    change(sidecar_path, f"update meta set value = '{BUNDLED}' where key = 'model'")
    assert MULTILINGUAL_MODEL in doctor()[1]["choice"]["says"]


def test_a_model_that_cannot_be_loaded_is_a_problem(indexed, doctor):
    from datasette_bear_search.embeddings import registry
    from tests.support.tiny_embedder import TINY, TinyEmbedder

    class Missing(TinyEmbedder):
        def open_model(self):
            raise ModelUnavailable("The model can't be had.")

    registry.register(TINY, lambda: Missing(TINY))
    status, found = doctor("--model-check")
    assert status == 1
    assert found["model"]["says"] == "The model can't be had."
