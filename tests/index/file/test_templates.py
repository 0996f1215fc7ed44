"""Text that many notes share, such as a daily note's headings, doesn't determine similarity.

Tests ``index/file/passages.py``.
"""

from __future__ import annotations

import pytest

from datasette_bear_search.index.file import notes as stored_notes
from datasette_bear_search.index.file import passages as stored_passages
from datasette_bear_search.index.file.passages import PASSAGE_VERSION
from datasette_bear_search.index.run import text as text_run
from datasette_bear_search.index.run.chunking import line_hash, passages, without_shared
from datasette_bear_search.query.query import parse
from datasette_bear_search.search import engine
from datasette_bear_search.search import request as search_request
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.notes.similar import find_similar
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote

WORDS = "alpaca bobsled cactus drizzle espresso fjord giraffe harp igloo jigsaw".split()
CLOSING = "Remember to drink enough water and to be kind to whoever is tired."
TEMPLATE = (
    "## Mood\n- \n\n## What happened today\n{}\n\n## Adjustment for tomorrow\n- \n\n"
    f"{CLOSING}\n\nWhat went well on this day?"
)


def day(number: int, text: str) -> BearNote:
    return BearNote(f"# 2026-05-{number:02}\n\n{TEMPLATE.format(text)}")


DAYS = [
    day(number, f"{word}, {word}, nothing but {word}.")
    for number, word in enumerate([*WORDS] * 3, 1)
]
TOPICS = [BearNote(f"# {word.title()}\n\n{word} after {word}.") for word in WORDS]


def similar(path, title, **options):
    with open_sidecar(path) as connection:
        [note_id] = connection.execute("select id from notes where title = ?", [title]).fetchone()
        return find_similar(connection, note_id, **options)


@pytest.mark.parametrize("number", range(1, 31, 4))
def test_a_day_is_like_the_note_on_its_topic_not_like_every_other_day(index_notes, number):
    found = similar(index_notes([*DAYS, *TOPICS]), f"2026-05-{number:02}")
    topic = WORDS[(number - 1) % len(WORDS)].title()
    assert topic in [note.title for note in found.notes[:3]]


def test_notes_that_are_cut_again_are_not_all_in_memory(index_notes, monkeypatch):
    seen, replace = [], stored_passages.replace_passages
    monkeypatch.setattr(stored_passages, "MAX_CHARACTERS", 1.5 * len(DAYS[0].text))
    monkeypatch.setattr(
        stored_passages, "replace_passages", lambda db, rows: seen.append(rows) or replace(db, rows)
    )
    index_notes(DAYS[:10])
    assert max(map(len, seen)) == 2


def test_lines_that_few_notes_share_are_compared(index_notes):
    found = similar(index_notes([*DAYS[:3], *TOPICS]), "2026-05-01")
    assert {"2026-05-02", "2026-05-03"} <= {note.title for note in found.notes}


@pytest.mark.parametrize(
    ("before", "after"), [(DAYS[:4], DAYS[:5]), (DAYS[:5], DAYS[:4]), (DAYS[:5], DAYS)]
)
def test_a_note_is_embedded_again_if_its_lines_become_or_stop_being_a_template(
    write, bear_index, sidecar_path, before, after
):
    write(*after)
    bear_index()
    expected = _vectors(sidecar_path)
    write(*before)
    bear_index("--rebuild", "--yes")
    assert _vectors(sidecar_path) != expected
    write(*after)
    bear_index()
    assert _vectors(sidecar_path) == expected


@pytest.mark.parametrize("at_a_time", [1, 4, 7, 25])
@pytest.mark.parametrize("then", [DAYS, DAYS[:3], DAYS[3:]])
def test_a_run_that_dies_before_notes_are_compared_leaves_that_to_the_next(
    write, bear_index, sidecar_path, monkeypatch, at_a_time, then
):
    write(*TOPICS, *then)
    bear_index("--no-semantic")
    expected = _passages(sidecar_path)
    monkeypatch.setattr(text_run, "NOTES_PER_COMMIT", at_a_time)
    bear_index("--rebuild", "--no-semantic")
    assert _passages(sidecar_path) == expected
    sidecar_path.unlink()
    # Of the first notes, fewer than five are days.
    write(*DAYS[:3], *TOPICS, *DAYS[3:])
    with monkeypatch.context() as dying:
        dying.setattr(stored_notes, "relate", full)
        bear_index("--no-semantic", fails=True)
    write(*TOPICS, *then)
    bear_index("--no-semantic", "--yes")
    assert _passages(sidecar_path) == expected


def full(*_):
    raise sqlite3.OperationalError("database or disk is full")


def _passages(path):
    sql = """
    select title, position, text_kind, content_hash
    from passages
    join notes on notes.id = note_id
    order by title, position
    """
    with open_sidecar(path) as connection:
        shared = connection.execute("select * from _shared_lines order by hash").fetchall()
        return connection.execute(sql).fetchall(), shared


def _vectors(path):
    sql = """
    select title, position, text_kind, vector
    from passages
    join notes on notes.id = note_id
    join _vectors on passage_id = passages.id
    order by title, position
    """
    with open_sidecar(path) as connection:
        return connection.execute(sql).fetchall()


def test_own_text_ranks_above_text_that_all_notes_share(index_notes):
    path = index_notes([*DAYS, BearNote("# Wells\n\nAdjustment of wells, and drink enough.")])
    with open_sidecar(path) as connection:
        query = parse("drink enough at the wells", "semantic")
        hits = engine.search(connection, search_request.SearchRequest(query)).results.hits
    assert hits[0].title == "Wells"


def test_a_sentence_that_many_notes_share_is_not_the_one_that_is_shown(index_notes):
    filler = "Nothing of interest was said about it by anybody. " * 12
    notes = [
        BearNote(f"# Day {number}\n\n{CLOSING}\n\n{filler}\n\nTired {word}: water it.")
        for number, word in enumerate(WORDS)
    ]
    with open_sidecar(index_notes(notes)) as connection:
        request = search_request.SearchRequest(parse("water the tired harp"))
        hits = engine.search(connection, request).results.hits
    assert "harp" in hits[0].text
    assert CLOSING[:20] not in hits[0].text


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Sleep was 7 h today", "sleep  was 7 h today", True),
        ("Sleep was 7 h today", "Sleep was 12 h today", False),
        ("Sleep was good today", "sleep was bad today", False),
    ],
)
def test_case_and_spacing_do_not_distinguish_lines(one, other, is_same):
    assert (line_hash(one) == line_hash(other)) is is_same


def test_short_lines_are_not_templates():
    assert line_hash("Ingredients") is None
    shared = {line_hash(line) for line in ("Adjustment for tomorrow", CLOSING)}
    soup = passages("Soup", f"## Adjustment for tomorrow\nLentils and cumin\n{CLOSING}")
    without = soup[0]._replace(titles="Soup", lines=("Lentils and cumin",), hashes=())
    assert without_shared(soup, shared) == [without]
    closing = passages("Soup", f"-\n{CLOSING}")
    assert without_shared(closing, shared) == [closing[0]._replace(text_kind="template")]
    short = passages("Soup", "Salt")
    assert without_shared(short, shared) == short


def test_code_is_a_template_only_as_a_whole():
    code = "runs-on: ubuntu-latest\nuses: actions/checkout@v3"
    shared = {*map(line_hash, code.split("\n"))}
    note = passages("Tests", f"How they run:\n```yaml\n{code}\n```")
    assert without_shared(note, shared) == note
    query = passages("Monday", f"Rye bread for breakfast.\n```dataview\n{code}\n```")
    assert without_shared(query, {line_hash(f"dataview\n{code}")}) == [
        query[0]._replace(lines=("Rye bread for breakfast.",), hashes=())
    ]


def test_an_index_of_an_older_version_learns_which_code_many_notes_share(
    write, bear_index, sidecar_path
):
    code = "table rating from the folder books\nwhere rating is more than three"
    write(*(BearNote(f"# {word}\n\n{word} {word}.\n```\n{code}\n```\n") for word in WORDS))
    bear_index()
    expected = _vectors(sidecar_path)
    with sqlite3.connect(sidecar_path) as connection:
        connection.executescript(
            f"""
            update meta set value = replace(value, '{PASSAGE_VERSION}/', '2/')
            where key = 'passage_settings';
            delete from _lines; delete from _shared_lines;
            """
        )
    bear_index()
    bear_index()
    assert _vectors(sidecar_path) == expected
    with open_sidecar(sidecar_path) as connection:
        assert len(connection.execute("select hash from _shared_lines").fetchall()) == 1
