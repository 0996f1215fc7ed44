"""Killed runs, full disks, damaged and foreign files. Tests that take minutes: tests/stress.

Tests ``index/file/database.py`` and ``index/run/lock.py``.
"""

from contextlib import closing

import pytest
from click import ClickException
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search.cli.output import clear_errors
from datasette_bear_search.index.file import database
from datasette_bear_search.index.file import notes as stored_notes
from datasette_bear_search.index.run import changes, indexer
from datasette_bear_search.index.run import text as text_run
from datasette_bear_search.notes import Note
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.text import languages
from tests.stress import damage, searchers
from tests.stress.commands import Commands, is_hot
from tests.stress.comparing import opened
from tests.stress.kill import SCENARIOS, Moment, Place, rounds
from tests.support.bear_database import BearNote
from tests.support.note_folders import vault

FRESH, INCREMENTAL, REBUILD = SCENARIOS[:3]
NEXT_COMMIT = Moment(0.0, in_commit=True)


@pytest.fixture(scope="module")
def commands():
    with Commands() as commands:
        yield commands


@pytest.fixture(scope="module")
def place(tmp_path_factory, commands) -> Place:
    return Place(tmp_path_factory.mktemp("place"), commands, notes=30)


def kill_in_a_commit(place, scenario) -> None:
    """Leave an index with a hot journal, which has to be rolled back on opening."""
    place.set_up(scenario)
    for attempt in range(20):
        place.run(scenario, Moment(0.01 * attempt, in_commit=True))
        if is_hot(place.journal):
            return
        place.set_up(scenario)
    pytest.fail("no commit was hit")


def test_runs_that_are_killed_at_any_moment_lose_nothing(place):
    seed = 8
    outcomes = rounds(place, kills=3, seed=seed)
    assert [line for outcome in outcomes.values() for line in outcome.failures] == []


@pytest.mark.parametrize("scenario", [INCREMENTAL, REBUILD], ids=lambda scenario: scenario.name)
def test_a_run_killed_in_a_commit_keeps_nobody_from_searching(place, scenario):
    kill_in_a_commit(place, scenario)
    assert place.problems_after_kill() == []


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_run_killed_in_a_commit_keeps_no_server_from_searching(place):
    kill_in_a_commit(place, INCREMENTAL)
    started_then = Datasette([str(place.sidecar)])
    response = await started_then.client.get("/-/bear-search.json?q=garden")
    assert response.status_code == 200, response.text
    assert response.json()["rows"]
    # A server that already had the file open.
    place.set_up(INCREMENTAL)
    started_before = Datasette([str(place.sidecar)])
    assert (await started_before.client.get("/-/bear-search")).status_code == 200
    for attempt in range(20):
        place.index(("--rebuild",), Moment(0.02 * attempt, in_commit=True))
        if is_hot(place.journal):
            break
    assert is_hot(place.journal)
    assert (await started_before.client.get("/-/bear-search?q=garden")).status_code == 200


def test_a_rebuild_that_dies_at_once_still_knows_its_sources(write, bear_index, sidecar_path):
    write(BearNote("# Garden\n\nApples."))
    bear_index()
    with database.open_for_writing(sidecar_path) as connection:
        indexer.empty(connection)
    result = CliRunner().invoke(cli, ["bear-index", "--sidecar", str(sidecar_path)])
    assert result.exit_code == 0, result.output
    with closing(database.connect(sidecar_path)) as connection:
        assert connection.execute("select title from notes").fetchall() == [("Garden",)]


def test_a_schema_is_made_whole_or_not_at_all(sidecar_path, monkeypatch):
    sidecar_path.parent.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(database.schema, "WORDS_TOKENIZER", "unknown")  # half of the tables is made
        with pytest.raises(sqlite3.Error), database.open_for_writing(sidecar_path):
            pass
    assert not database.is_made(sidecar_path)
    with database.open_for_writing(sidecar_path) as connection:
        assert database.schema.is_current(connection)


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_meaning_is_not_searched_in_an_index_without_notes(sidecar_path):
    with database.open_for_writing(sidecar_path):
        pass
    response = await Datasette([str(sidecar_path)]).client.get(
        "/-/bear-search.json?q=garden&mode=semantic"
    )
    assert (response.status_code, response.json()["rows"]) == (200, [])


def test_an_index_that_was_cut_off_is_called_damaged(place):
    assert damage.check_truncated(place, lengths=8) == []


def test_an_index_that_was_overwritten_is_called_damaged(place):
    assert damage.check_overwritten(place, files=3) == []


def test_an_error_that_quotes_undecodable_text_is_reported_as_damage():
    with pytest.raises(ClickException, match="it is damaged"), clear_errors():
        b"malformed database schema \xd8".decode()


def test_a_note_that_only_an_index_of_the_database_knows_is_called_damage(sidecar_path):
    note = Note(key="a", title="Roof", body="It leaks.")
    with database.open_for_writing(sidecar_path) as connection:
        with pytest.raises(sqlite3.DatabaseError, match="missing"):
            stored_notes.write(connection, "bear", [(99, note)])
        with pytest.raises(sqlite3.DatabaseError, match="missing"):
            changes._moved(connection, [note], {"b": stored_notes.StoredNote(99, "", None)})


def test_foreign_rows_in_a_damaged_index_stop_no_search_and_are_not_kept_as_judgments(place):
    place.set_up(SCENARIOS[1])
    with opened(place.sidecar) as db, db:
        languages.register(db)  # the triggers of the word index need its function
        db.execute("update notes set body = null")
        db.execute("insert into judgments (query, grade) values ('x', '2024-05-08T09:30:00Z')")
    assert place.command("bear-search", "garden").is_clear
    assert place.command("bear-index", "--rebuild").status == 0
    assert place.problems_at_the_end() == []


def test_a_damaged_index_does_not_claim_to_have_no_sources(place):
    place.set_up(INCREMENTAL)
    damage.truncate(5000)(place.sidecar)
    for command in damage.WRITING:
        assert "is damaged" in place.command(*command).output


def test_somebody_elses_file_is_never_changed(place):
    assert damage.check_foreign(place) == []


def test_an_index_of_a_newer_version_is_left_alone_with_a_message(place):
    assert damage.check_newer(place) == []


@pytest.mark.skipif(not damage.can_mount(), reason="only root may make a small disk")
def test_a_full_disk_loses_nothing_and_is_named(place):
    assert damage.check_full_disk(place, sizes=2) == []


def test_a_folder_that_cannot_be_written_is_named_and_can_be_searched(place):
    assert damage.check_read_only(place) == []


def test_only_one_of_two_simultaneous_runs_does_the_work(place):
    with Commands() as other:
        assert damage.check_two_at_once(place, other, [INCREMENTAL]) == []


def test_searching_while_the_index_is_written_meets_no_error_and_no_half_note(place):
    # `python -m tests.stress.searchers` runs longer and with more clients.
    seen, runs = searchers.check(place, seconds=2, clients=2)
    assert runs
    assert seen.milliseconds
    assert seen.failures == []


def test_a_run_that_dies_after_a_removal_leaves_no_link_without_a_target(
    tmp_path, bear_index, sidecar_path, monkeypatch
):
    files = {"A.md": "See [[B]].", "B.md": "Here.", "C.md": "See [[A]]."}
    notes = vault(tmp_path / "vault", files)
    bear_index("--no-semantic", path=notes)
    (notes / "B.md").unlink()

    def links() -> list[tuple]:
        sql = (
            "select key, target_key, target_id is null from links join notes on notes.id = note_id"
        )
        with closing(database.connect(sidecar_path)) as connection:
            return sorted(connection.execute(sql))

    def die(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(text_run.TextRun, "_write_notes", die)
        bear_index("--no-semantic", path=notes, fails=True)
    assert links() == [("A.md", "B.md", 1), ("C.md", "A.md", 0)]
    assert "Read 1 of 2 notes" in bear_index("--no-semantic", path=notes).output
    assert links() == [("C.md", "A.md", 0)]
    assert "Nothing has changed" in bear_index("--no-semantic", path=notes).output


def test_a_run_that_ends_well_reads_notes_with_a_lost_link_only_once(tmp_path, bear_index):
    notes = vault(tmp_path / "vault", {"A.md": "See [[B]].", "B.md": "Here.", "C.md": "Text."})
    bear_index("--no-semantic", path=notes)
    (notes / "B.md").unlink()
    assert "Read 1 of 2 notes" in bear_index("--no-semantic", path=notes).output
    (notes / "C.md").write_text("Other text.")
    assert "Read 1 of 2 notes" in bear_index("--no-semantic", path=notes).output
