"""The Python API, as programs use it.

Tests ``search/results/records.py``, ``search/status.py`` and ``index/added.py``.
"""

from __future__ import annotations

import asyncio
import copy
import doctest
import json
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from typing import Any, get_args, get_type_hints

import pytest
from datasette.app import Datasette

import datasette_bear_search
from datasette_bear_search import (
    ForeseenError,
    InvalidParameter,
    Library,
    Note,
    NoteNotFound,
    SidecarError,
    SourceError,
    Tag,
    library,
)
from datasette_bear_search.query.filters import FILTERS
from datasette_bear_search.search import request
from datasette_bear_search.search.planning import dictionary
from datasette_bear_search.search.redaction.masking import RedactionMissing
from datasette_bear_search.search.request import CHOICES, NUMBERS, SearchParameters
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day, sqlite3
from tests.support.docs import ROOT

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
        ({"tgas": ["cabin"]}, r"there is no parameter 'tgas'. Did you mean tags\?"),
        ({"created_after": "yesteryear"}, "created_after must be a date such as 2024"),
        ({"mode": "magic"}, "mode must be one of auto"),
        ({"limit": 0}, "limit must be 1 or more"),
        ({"limit": "5"}, "limit must be 1 or more, not '5'"),
        ({"offset": None}, "offset must be 0 or more, not None"),
        ({"tags": 5}, "tags must be text or a list of texts, not 5"),
        ({"sources": [b"bear"]}, r"sources must be text or a list of texts, not \[b'bear'\]"),
        ({"has": ["image", 3]}, "has must be text or a list of texts"),
        ({"mode": 3}, "mode must be text, not 3"),
        ({"created_after": 2024.5}, "created_after must be a date such as '2024-05', 2024 or"),
        ({"pinned": 1.5}, r"pinned must be True or False, not 1\.5"),
        ({"balance": object}, "balance must be a number"),
        ({"query": 5}, "query must be text, not 5"),
        ({"limit": 0}, "limit must be 1 or more, not 0"),
    ],
)
def test_an_invalid_parameter_is_refused(notes, parameters, message):
    with pytest.raises(InvalidParameter, match=message) as refused:
        notes.search(**{"query": "mice", **parameters})
    assert isinstance(refused.value, ForeseenError)


def test_a_number_may_be_larger_than_sqlite_can_store(notes):
    found = notes.search("mice", limit=10**30)
    assert found.hits == notes.search("mice", limit=10**6).hits
    assert not notes.search("mice", offset=10**30).hits
    similar = notes.similar(found.hits[0], limit=10**30)
    assert similar.notes == notes.similar(found.hits[0], limit=99).notes
    with pytest.raises(InvalidParameter, match="limit must be 1 or more, not 0"):
        notes.similar(found.hits[0], limit=0)


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
    assert Library(notes.path, hidden_tags="private").hidden_tags == hidden.hidden_tags
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


def test_another_file_is_refused_in_words_for_programs(tmp_path):
    (tmp_path / "diary.txt").write_text("Dear diary")
    with pytest.raises(SidecarError, match=r"in Python with Library\(PLACE\)"):
        Library(tmp_path / "diary.txt").search("diary")


def test_indexing_makes_the_dictionary_for_mistyped_words(tmp_path, monkeypatch):
    made: list[str] = []
    monkeypatch.setattr(dictionary, "hashes", lambda: made.append("dictionary"))
    (tmp_path / "a.md").write_text("# Apple\n\nRed.")
    Library(tmp_path / "notes.db").index(tmp_path)
    assert made == ["dictionary"]


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
        assert library.index(remove="vault").removed == 2
        assert library.sources() == {}


def test_threads_may_share_a_library(notes):
    def titles_in_block(query: str) -> list[str]:
        with notes:
            return titles(notes.search(query, mode="keyword"))

    queries = ["church", "mice", "mesh", "vents", "roof", "diary"] * 10
    expected = [*map(titles_in_block, queries)]
    with notes, ThreadPoolExecutor(8) as threads:
        assert [*threads.map(titles_in_block, queries)] == expected
        assert titles_in_block("church") == expected[0]


def test_blocks_may_be_nested(notes):
    with notes:
        assert titles(notes.search("church"))
        with notes, notes.open() as inner:
            assert inner.execute("select count(*) from notes").fetchone()[0] == 3
        with notes.open() as outer:
            assert outer is inner
        assert titles(notes.search("church"))


def test_a_block_may_end_in_another_thread(notes):
    with ThreadPoolExecutor(1) as thread:
        thread.submit(notes.__enter__).result()
        notes.__exit__()
        assert titles(notes.search("church"))
        assert thread.submit(notes.search, "church").result().hits


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda library: pickle.loads(pickle.dumps(library))]
)
def test_a_library_may_be_copied_into_another_process(notes, copied):
    with notes:
        other = copied(notes)
        assert titles(other.search("church")) == titles(notes.search("church"))
        assert other.path == notes.path
    assert titles(other.search("church"))


@pytest.mark.parametrize(
    "error", [NoteNotFound("5"), RedactionMissing(), InvalidParameter("a", "b"), SidecarError("x")]
)
def test_another_process_reads_the_same_message(error):
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_response_is_a_sequence_of_its_hits(notes):
    response = notes.search("mice")
    assert response[0] == next(iter(response)) == response.hits[0]
    assert response[-1] == response.hits[len(response) - 1]


@pytest.mark.parametrize("wrong", [[Note("a", "A")], {"key": "a"}, "a"])
def test_only_notes_can_be_added(notes, wrong):
    with pytest.raises(TypeError, match=r"add\(\*notes\)"):
        notes.add(wrong)


def test_only_damage_is_called_damage(notes):
    with pytest.raises(sqlite3.ProgrammingError, match="bindings"), notes.open() as connection:
        connection.execute("select ?", [])
    for wrong in ("select nothing(1)", "select 1 from notes where"):
        with pytest.raises(SidecarError) as refused, notes.open() as connection:
            connection.execute(wrong)
        assert "delete" not in str(refused.value)
        assert "please report it" in str(refused.value)
    with sqlite3.connect(notes.path) as broken:
        broken.execute("drop table links")
    with pytest.raises(SidecarError, match=r"damaged or lacks something \(no such table"):
        notes.note(1)


def test_a_library_says_what_it_is(notes):
    assert repr(notes) == f"Library({str(notes.path)!r})"
    hiding = Library("a.db", hidden_tags=["private"], redact=True)
    assert repr(hiding) == "Library('a.db', hidden_tags=('private',), redact=True)"


def test_all_hits_can_be_read_one_after_the_other(notes, monkeypatch):
    monkeypatch.setattr(library, "PAGE", 1)
    assert [hit.title for hit in notes.hits(sort="title")] == ["Diary", "Mice in the wall", "Roof"]
    assert [hit.title for hit in notes.hits("mice", tag="cabin")] == ["Mice in the wall"]


def test_a_hit_has_the_names_of_the_json(notes):
    [hit] = notes.search("church", found=True)
    [row] = asyncio.run(json_rows(notes.path, "q=church&found=1"))
    assert hit.to_dict().keys() == row.keys() - {"page_url"}
    assert json.loads(json.dumps(hit.to_dict()))["snippet"] == row["snippet"]


async def json_rows(path, parameters: str) -> list[dict]:
    response = await Datasette([str(path)]).client.get(f"/-/bear-search.json?{parameters}")
    return response.json()["rows"]


def test_what_is_typed_is_completed(notes):
    [tag] = notes.suggest("tag:cab").found
    assert (tag.insert, tag.detail) == ("tag:cabin ", "1 note")
    assert notes.suggest("chur tag:ca", 4).found == ()


def test_tags_are_counted_with_those_above_them(notes):
    assert notes.tags() == {"cabin": 1, "private": 1, "private/diary": 1}


def test_facets_are_counted_of_what_was_found(notes):
    facets = notes.facets("mice", mode="keyword", found=True)
    assert {tag.path: tag.notes for tag in facets.tags} == {"cabin": 1, "private": 1}
    assert notes.facets(pinned=True).sources == {"bear": 1}


def test_the_status_says_what_is_ready(notes):
    status = notes.status()
    assert (status.index.notes, status.vectors.pending, status.notices) == (3, 0, ())
    assert [(each.name, each.notes) for each in status.sources] == [("bear", 3)]


def test_programs_add_notes_and_replace_them(tmp_path):
    library = Library(tmp_path / "notes.db")
    roof = Note("roof", "Roof", "The flashing leaks.", tags=(Tag("house"),), created="2024-05-01")
    assert library.add(roof, Note("stove", "", "# Stove\n\nBirch burns well.")).added == 2
    assert titles(library.search("flashing", tags="house", created_after=date(2024, 5, 1)))
    changed = library.add(replace(roof, body="The gutter leaks."))
    assert (changed.added, changed.changed, changed.removed) == (0, 1, 0)
    assert titles(library.search("gutter", found=True)) == ["Roof"]
    assert library.note(source="added", key="stove").title == "Stove"
    # The next runs read them again, even if they have to make a new index.
    assert library.index(rebuild=True).notes == 2
    assert library.discard("roof", "unknown").removed == 1
    assert library.discard("stove").notes == 0
    assert (tmp_path / "notes.added.jsonl").stat().st_mode & 0o777 == 0o600


def test_added_notes_may_have_python_s_dates_and_a_single_tag(tmp_path):
    library = Library(tmp_path / "notes.db")
    note: Any = Note("roof", "Roof", "It leaks.")
    library.add(replace(note, tags="house", created=date(2024, 5, 1)))
    [hit] = library.search("leaks", tags="house")
    assert (hit.tags, hit.created[:10]) == (("house",), "2024-05-01")


def test_added_notes_never_replace_another_source(notes):
    with pytest.raises(SourceError, match="another source named bear"):
        notes.add(Note("a", "A"), source="bear")
    with pytest.raises(SourceError, match="letters, digits"):
        notes.add(Note("a", "A"), source="../a")


@pytest.mark.parametrize("key", ["", "\ud800", "a\0b"])
def test_a_note_with_a_key_that_cannot_be_stored_is_refused_before_it_is_kept(tmp_path, key):
    library = Library(tmp_path / "notes.db")
    with pytest.raises(SourceError, match="a text that UTF-8 can hold"):
        library.add(Note("roof", "Roof"), Note(key, "A"))
    assert library.add(Note("stove", "Stove")).notes == 1


@pytest.mark.parametrize("call", ["sources", "index", "embedder", "add"])
def test_a_damaged_index_is_foreseen_by_all_that_write(tmp_path, call):
    library = Library(tmp_path / "notes.db")
    library.add(Note("roof", "Roof"))
    data = library.path.read_bytes()
    library.path.write_bytes(data[:5000].ljust(len(data), b"\0"))
    with pytest.raises(SidecarError, match="damaged"):
        getattr(library, call)(*[Note("stove", "Stove")] * (call == "add"))


def test_threads_may_add_notes_at_the_same_time(tmp_path):
    library = Library(tmp_path / "notes.db")
    with ThreadPoolExecutor(4) as threads:
        for _ in threads.map(lambda key: library.add(Note(str(key), f"Note {key}")), range(8)):
            pass
    assert len([*library.hits()]) == 8


def test_the_types_of_parameters_are_those_of_the_tables():
    types = get_type_hints(SearchParameters)
    known = {name: row for row in FILTERS.values() for name in row.parameters}
    assert types.keys() == known.keys() | CHOICES.keys() | NUMBERS.keys() | {
        *("rerank", "found"),
        *("tags", "sources"),  # what reads better in Python than tag and source
    }
    by_kind = {"text": request.Texts, "choice": request.Texts}
    by_kind |= {"state": request.Flag, "date": request.Day}
    assert {name: types[name] for name in known} == {
        name: by_kind[row.kind] for name, row in known.items()
    }
    assert {name: get_args(types[name]) for name in CHOICES} == CHOICES
    assert {types[name] for name in NUMBERS} == {request.Number}


def test_everything_that_programs_need_is_at_the_top_of_the_package():
    for name in datasette_bear_search._MODULES:
        assert getattr(datasette_bear_search, name).__name__ == name
        assert name in dir(datasette_bear_search)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = datasette_bear_search.Nothing


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
