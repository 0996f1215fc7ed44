"""The Python API, as programs use it.

Tests ``search/results/records.py``.
"""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import pytest

from datasette_bear_search import Library
from datasette_bear_search.demo import BearNote
from datasette_bear_search.index.file.database import SidecarError
from datasette_bear_search.library import NoteNotFound
from datasette_bear_search.notes import ForeseenError
from datasette_bear_search.query.filter_values import InvalidParameter
from datasette_bear_search.sources.base import SourceError
from tests.support.bear_libraries import day
from tests.support.docs import ROOT
from tests.support.threads import running

NOTES = [
    BearNote(
        "# Mice in the wall\n\nThey came in where the cable goes. Steel mesh behind the vents.",
        tags=("cabin",),
        created=day(1),
    ),
    BearNote("# Roof\n\nA mouse on the roof of the church.", created=day(2), pinned=True),
    BearNote("# Diary\n\nMice again. The password is hunter2hunter2.", tags=("private/diary",)),
]


@pytest.fixture
def notes(index_notes) -> Library:
    return Library(index_notes(NOTES))


def titles(found) -> list[str]:
    return [note.title for note in found]


def test_a_hit_says_what_it_is_where_it_is_and_why_it_was_found(notes):
    [hit] = notes.search("mice", tags=["cabin"], mode="keyword")
    assert (hit.title, hit.source, hit.tags) == ("Mice in the wall", "bear", ("cabin",))
    assert hit.text.startswith("They came in where the cable goes.")
    assert hit.why == "words, 1st"
    assert (hit.created or "").startswith("2024-05-01")
    assert hit.key
    assert hit.score


def test_filters_are_the_pages_by_their_names(notes):
    assert titles(notes.search(pinned=True)) == ["Roof"]
    assert set(titles(notes.search(tags="cabin", created_after="2024"))) == {"Mice in the wall"}
    assert len(notes.search(sources=["bear"], limit=2, offset=2)) == 1
    assert titles(notes.search("mice", untagged=False, tag=["private"], found=True)) == ["Diary"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tgas": ["cabin"]}, "there is no parameter 'tgas'. Did you mean tags?"),
        ({"created_after": "yesteryear"}, "created_after must be a date such as 2024"),
        ({"mode": "magic"}, "mode must be one of auto"),
        ({"limit": 0}, "limit must be 1 or more"),
    ],
)
def test_an_invalid_parameter_is_refused(notes, parameters, message):
    with pytest.raises(InvalidParameter, match=message.replace("?", r"\?")) as refused:
        notes.search("mice", **parameters)
    assert isinstance(refused.value, ForeseenError)


def test_a_note_is_found_by_its_id_its_key_its_file_and_itself(notes, tmp_path):
    hit = notes.search("church").hits[0]
    by_key = notes.note(source=hit.source, key=hit.key)
    assert notes.note(hit.id) == notes.note(hit) == notes.note(f"bear:{hit.key}") == by_key
    assert by_key.body == "A mouse on the roof of the church."
    (tmp_path / "vault").mkdir()
    file = tmp_path / "vault" / "soup.md"
    file.write_text("# Lentil soup\n\nRed lentils.")
    notes.index(tmp_path / "vault")
    assert notes.note(path=file).title == notes.note(str(file)).title == "Lentil soup"
    with pytest.raises(NoteNotFound, match="no note with the id 999"):
        notes.note(999)


def test_similar_notes_say_why(notes):
    note = notes.note(notes.search("church").hits[0])
    similar = notes.similar(note, limit=2)
    assert note.title not in titles(similar)
    assert all(each.why for each in similar)
    with pytest.raises(LookupError):
        notes.similar("bear:nothing")


def test_hidden_tags_are_hidden_from_each_call(notes):
    diary = notes.search("password", limit=1).hits[0]
    hidden = Library(notes.path, hidden_tags=["private"])
    assert set(titles(hidden.search("mice"))) == {"Mice in the wall", "Roof"}
    assert "Diary" not in titles(hidden.similar(hidden.search("wall").hits[0]))
    for call in (hidden.note, hidden.similar):
        with pytest.raises(NoteNotFound):
            call(diary.id)


def test_secrets_are_masked_in_each_call(notes):
    redacting = Library(notes.path, redact=True)
    [hit] = redacting.search("diary mice", tags="private")
    assert "hunter2" not in hit.text + redacting.note(hit).body
    assert "●●" in redacting.note(hit).body


def test_without_an_index_it_says_how_to_make_one(tmp_path):
    library = Library(tmp_path / "none.db")
    assert library.sources() == {}
    for call in (library.search, lambda: library.note(1), lambda: library.similar(1)):
        with pytest.raises(SidecarError, match="Make it with: datasette bear-index --sidecar"):
            call()


def test_indexing_adds_updates_and_removes_sources(tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# Apple\n\nRed.")
    with Library(tmp_path / "notes.db") as library:
        report = library.index(tmp_path / "vault")
        assert (report.added, report.embedded, report.pending) == (1, 1, 0)
        assert titles(library.search("apple")) == ["Apple"]
        (tmp_path / "vault" / "b.md").write_text("# Banana\n\nYellow.")
        assert (library.index().added, *library.sources()) == (1, "vault")
        assert titles(library.search("banana"))[0] == "Banana"
        with pytest.raises(SourceError, match="There is nothing at"):
            library.index(tmp_path / "nothing")
        (tmp_path / "vault").rename(tmp_path / "elsewhere")
        with pytest.raises(SourceError, match="vault"):
            library.index()
        assert library.index(remove=["vault"]).removed == 2
        assert library.sources() == {}


def test_watching_indexes_changes_until_it_is_stopped(tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# Apple")
    library, until, said = Library(tmp_path / "index" / "notes.db"), threading.Event(), []

    def say(message: str) -> None:
        said.append(message)
        if message.startswith("Watching"):
            assert titles(library.search("apple")) == ["Apple"]
            until.set()

    library.watch(tmp_path / "vault", say=say, until=until)
    assert said[-1] == "Stopped watching"


def test_threads_may_share_a_library(notes):
    found = []
    with notes:
        with running(lambda: found.append(titles(notes.search("church")))):
            pass
        assert found == [titles(notes.search("church"))]


def test_importing_the_library_imports_no_other_package_of_ours():
    code = "from datasette_bear_search import Library; import sys; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    imported = set(result.stdout.split())
    ours = {name for name in imported if name.startswith("datasette_bear_search.")}
    assert ours == {f"datasette_bear_search.{name}" for name in ("notes", "library")}
    assert imported.isdisjoint({"click", "datasette", "numpy", "yaml"})


def test_the_documentations_cells_give_what_stands_there(sample_index, tmp_path, monkeypatch):
    shutil.copy(sample_index, tmp_path / "notes.db")
    monkeypatch.setenv("DATASETTE_BEAR_SEARCH_SIDECAR", str(tmp_path / "notes.db"))
    monkeypatch.setattr(tempfile, "mkdtemp", lambda: str(tmp_path / "notes"))
    (tmp_path / "notes").mkdir()
    page = (ROOT / "docs" / "python-api.md").read_text()
    cells = "".join(re.findall(r"```pycon\n(.*?)```", page, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(cells, {}, "python-api.md", None, None)
    said: list[str] = []
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert found.attempted > 15
    assert not found.failed, "".join(said)
