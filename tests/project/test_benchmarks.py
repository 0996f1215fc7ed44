"""The speed benchmarks run and measure what they claim, on a library of fifty notes."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from benchmarks.lib import measuring, synthetic_text, synthetic_vectors, workload
from benchmarks.speed import floor, query_time, scale
from datasette_bear_search.index.file import database, metadata

NOTES = 50


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a folder with an index of fifty notes, using only the demo library's words."""
    folder = tmp_path_factory.mktemp("libraries")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BEAR_SEARCH_SHARED", raising=False)
        patch.setattr(synthetic_vectors, "DIRECTIONS", 1 << 11)  # fast to make
        synthetic_text.real_words.cache_clear()
        scale.make(folder, NOTES)
        yield folder
        synthetic_text.real_words.cache_clear()


@pytest.fixture
def index(folder):
    with closing(database.connect(scale.sidecar_path(folder, NOTES))) as connection:
        yield connection


def test_a_large_library_begins_with_the_notes_of_a_small_one(monkeypatch):
    monkeypatch.delenv("BEAR_SEARCH_SHARED", raising=False)
    few, many = list(synthetic_text.synthetic_notes(3)), list(synthetic_text.synthetic_notes(1002))
    assert len(many) == 1002
    assert many[:3] == few
    assert len({note.key for note in many}) == 1002


def test_the_words_that_are_in_most_notes_are_those_of_real_text(index):
    common = index.execute("select term from _word_vocabulary order by doc desc limit 8").fetchall()
    assert {"the", "and"} <= {word for (word,) in common}
    [rare] = index.execute("select count(*) from _word_vocabulary where doc = 1").fetchone()
    [words] = index.execute("select count(*) from _word_vocabulary").fetchone()
    assert rare > words / 4


def test_the_index_is_whole_and_can_be_searched_by_meaning(index):
    state = database.read_state(index)
    assert metadata.count_notes(index) == NOTES
    assert (state.pending, state.model) == (0, synthetic_vectors.NAME)
    assert state.has_vectors
    [passages] = index.execute("select count(*) from passages").fetchone()
    assert passages > 2 * NOTES


def test_an_existing_index_is_not_made_again(folder, index):
    first = index.execute("select id, key, modified from notes").fetchall()
    report = scale.make(folder, NOTES)
    assert (report.notes, report.added, report.embedded) == (NOTES, 0, 0)
    assert index.execute("select id, key, modified from notes").fetchall() == first


def test_vectors_of_notes_about_the_same_are_nearer_than_others(folder):
    embedder = synthetic_vectors.register(folder)
    words = list(synthetic_vectors.word_table(folder).items())
    by_topic: dict[int, list[str]] = {}
    for word, (topic, weight) in words:
        if weight > 2 and word.isalpha():
            by_topic.setdefault(topic, []).append(word)
    one, other = sorted(by_topic.values(), key=len)[-2:]
    texts = [" ".join(one[:40]), " ".join(one[40:80]), " ".join(other[:40])]
    vectors = [
        synthetic_vectors.numpy.frombuffer(v, "<f4") for v in embedder.embed_documents(texts)
    ]
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_every_kind_of_query_has_the_words_that_it_should(index):
    asked = workload.workload(index, 5)
    assert asked == workload.workload(index, 5)
    words = dict(index.execute("select term, doc from _word_vocabulary"))
    for query in asked:
        having = [words[word] for word in query.text.split() if word in words]
        if query.kind == "rare words":
            assert max(having) < NOTES / 4
        elif query.kind == "words in most notes":
            assert min(having) >= NOTES / 2
        elif query.kind == "questions":
            assert 6 <= len(query.text.split()) <= 11


def test_the_bare_scans_find_the_same_passages(folder):
    embedder = synthetic_vectors.register(folder)
    bare = floor.Floor(scale.sidecar_path(folder, NOTES))
    with closing(bare):
        vector = embedder.embed_query("water in the garden")
        by_vec0 = bare.vec0(vector, 10)
        by_numpy = [bare.passage_ids[place] for place in bare.numpy(vector, 10)]
        assert set(by_vec0) == set(by_numpy)
        assert bare.fts5('"the"')


def test_query_time_measures_every_kind_and_way(folder, monkeypatch, capsys):
    path = folder / "times.json"
    monkeypatch.setattr(query_time, "WARM_UP", 1)
    arguments = ["--folder", str(folder), "--sizes", str(NOTES), "--queries", "1"]
    monkeypatch.setattr("sys.argv", ["query_time", *arguments, "--json", str(path), "--no-plot"])
    query_time.main()
    [measured] = json.loads(path.read_text())["measured"]
    assert measured["notes"] == NOTES
    assert measured["too_slow"] == 0
    assert set(measured["kinds"]) >= {"questions", "words in most notes", query_time.ALL}
    for numbers in measured["kinds"].values():
        assert all(numbers[name]["p50"] > 0 for name in query_time.COLUMNS if name != "http_adds")
        assert numbers["recall"] == 1, "so few vectors are compared exactly"
    assert "| questions |" in capsys.readouterr().out


def test_write_keeps_what_a_benchmark_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(measuring, "RESULTS", tmp_path / "results")
    monkeypatch.setattr("sys.argv", ["nearest", "--write", "--passages", "10"])
    measuring.publish(lambda: print("| ours |"), str(tmp_path / "speed" / "nearest.py"))
    written = (tmp_path / "results" / "nearest.md").read_text()
    assert "`python -m benchmarks.speed.nearest --passages 10`\n\n| ours |\n" in written
    assert "- processor: " in written
    assert "| ours |" in capsys.readouterr().out


def test_the_plot_is_drawn(folder, tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.lib.plots import plot_query_time

    times = {"p50": 1.0, "p95": 2.0}
    names = (*query_time.COLUMNS, "floor_50")
    measured = [
        {"notes": notes, "kinds": {query_time.ALL: dict.fromkeys(names, times)}}
        for notes in (10, 100)
    ]
    numbers, picture = tmp_path / "numbers.json", tmp_path / "plot.png"
    numbers.write_text(json.dumps({"measured": measured}))
    plot_query_time(numbers, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
