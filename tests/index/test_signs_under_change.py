"""The signs that a process keeps in memory, while several searches look at them and the index changes."""

from __future__ import annotations

import json
import threading
from contextlib import closing

import numpy
import pytest

from datasette_bear_search.index import database
from datasette_bear_search.index import vectors as nearest
from datasette_bear_search.index import vectors as passage_index

DIMENSION = 64
KEPT, COMING_AND_GOING = 300, 100


@pytest.fixture
def index(sidecar_path, monkeypatch):
    """An index with the signs of passages that stay."""
    monkeypatch.setattr(passage_index, "FLOATS_AT_MOST", 10)
    monkeypatch.setattr(nearest, "EXACT_AT_MOST", 10)
    with database.open_for_writing(sidecar_path) as connection, database.transaction(connection):
        connection.execute("insert into sources (name, location) values ('s', 's')")
        for note in (1, 2):
            connection.execute(
                "insert into notes (id, title, source, key) values (?, 'n', 's', ?)",
                [note, str(note)],
            )
        insert_passages(connection, 1, range(1, KEPT + 1))
        database.set_meta(connection, dimension=DIMENSION)
        passage_index.prepare(connection)
        passage_index.add(connection, vectors(range(1, KEPT + 1)))
        assert passage_index.holds_signs(connection)
    return sidecar_path


def insert_passages(connection, note_id, ids) -> None:
    connection.executemany(
        "insert into passages (id, note_id, position, embedded) values (?, ?, ?, 0)",
        [(number, note_id, number) for number in ids],
    )


def vectors(ids) -> list[tuple[int, bytes]]:
    randomness = numpy.random.default_rng(7)
    rows = randomness.standard_normal((KEPT + COMING_AND_GOING + 1, DIMENSION), "float32")
    return [(number, rows[number].tobytes()) for number in ids]


def test_whoever_searches_sees_the_vectors_as_they_are_at_that_moment(index):
    # What comes is a little more than what goes, and both at once: any mixture of before and after would show.
    coming = range(KEPT + 1, KEPT + COMING_AND_GOING + 1)
    [(_, asked)] = vectors([KEPT + 1])
    counts, failures, end = set(), [], threading.Event()
    # One statement sees one moment: the passages found, those that there are, and those of the second note.
    sql = """
        select nearest_passages(:vector, 1000), nearest_passages(:vector, 1000, note_set('2')),
          (select json_group_array(passage_id) from _vectors),
          (select json_group_array(id) from passages where note_id = 2)
    """

    def search() -> None:
        with closing(database.connect(index)) as connection:
            nearest.register(connection)
            while not end.is_set():
                try:
                    found = [
                        [int(passage_id) for passage_id in json.loads(ids)]
                        for ids in connection.execute(sql, {"vector": asked}).fetchone()
                    ]
                except Exception as error:
                    failures.append(repr(error))
                    return
                all_found, of_second, there, second = map(sorted, found)
                counts.add(len(all_found))
                if (all_found, of_second) != (there, second):
                    failures.append((len(all_found), len(there), of_second, second))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(15):
        with database.open_for_writing(index) as connection:
            with database.transaction(connection):
                insert_passages(connection, 2, coming)
                passage_index.add(connection, vectors(coming))
            with database.transaction(connection):
                passage_index.remove(connection, list(coming))
                connection.execute("delete from passages where note_id = 2")
    end.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert counts == {KEPT, KEPT + COMING_AND_GOING}
