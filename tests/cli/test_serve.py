"""What ``bear-serve`` does before it serves."""

from __future__ import annotations

from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.cli import serve
from datasette_bear_search.index.file import database, schema
from tests.support.bear_database import BearNote
from tests.support.index_files import found, rows
from tests.support.index_versions import make_newer, make_older


def bear_serve(path, monkeypatch, *, status=0) -> str:
    served = []
    monkeypatch.setattr(serve, "serve", lambda path, *others, **more: served.append(path))
    done = CliRunner().invoke(cli, ["bear-serve", "--sidecar", str(path), "--no-open"])
    assert done.exit_code == status, done.output
    assert served == [path][status:]
    return done.output


def test_an_index_of_an_earlier_version_is_brought_up_to_date(
    write, bear_index, sidecar_path, monkeypatch
):
    write(BearNote("# Roof\n\nTiles."), BearNote("# Soup\n\nLentils."))
    bear_index()
    make_older(sidecar_path)
    output = bear_serve(sidecar_path, monkeypatch)
    assert "The words are indexed." in output
    with database.open_for_writing(sidecar_path) as connection:
        assert schema.is_current(connection)
    assert [hit.title for hit in found(sidecar_path, "lentils")] == ["Soup"]
    # The server makes the vectors, which may take long.
    pending = "select count(*) from passages where vector_state = 'pending'"
    assert rows(sidecar_path, pending) == [(2,)]
    assert rows(sidecar_path, "select value from meta where key = 'semantic'") != [("no",)]
    assert "earlier version" not in bear_serve(sidecar_path, monkeypatch)


def test_a_source_that_cannot_be_read_keeps_the_old_index(
    write, bear_index, library, sidecar_path, monkeypatch
):
    write(BearNote("# Roof\n\nTiles."))
    bear_index()
    make_older(sidecar_path)
    before = sidecar_path.read_bytes()
    library.unlink()
    assert "bear can't be read" in bear_serve(sidecar_path, monkeypatch, status=1)
    assert sidecar_path.read_bytes() == before


def test_an_index_of_a_newer_version_is_left_alone(write, bear_index, sidecar_path, monkeypatch):
    write(BearNote("# Roof\n\nTiles."))
    bear_index()
    make_newer(sidecar_path)
    assert "Upgrade" in bear_serve(sidecar_path, monkeypatch, status=1)
