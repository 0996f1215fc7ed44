"""Notes from any SQLite database: ``sources/sql.py``."""

from __future__ import annotations

import os
import resource
import sqlite3 as stdlib_sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.notes import Note, Tag
from datasette_bear_search.sources import sql as sql_source
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.files import readonly
from datasette_bear_search.sources.sql import SQLQuery
from tests.support.bear_libraries import left_untouched, running_bear, sqlite3

SQL = "select id as key, title, body, created, modified, url, tags, pinned from notes"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "somewhere").mkdir()
    path = tmp_path / "somewhere" / "notes.db"
    run(
        path,
        "create table notes (id, title, body, created, modified, url, tags, pinned, folder)",
    )
    return path


def run(path: Path, sql: str, *parameters: Any) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql, parameters)


def add(path: Path, **values: Any) -> None:
    values = {"id": 1, "title": "Title", "body": "Body", **values}
    marks = ", ".join("?" * len(values))
    run(path, f"insert into notes ({', '.join(values)}) values ({marks})", *values.values())


def query(path: Path, sql: str = SQL, **options: Any) -> SQLQuery:
    return SQLQuery(path, "saved", sql=sql, **options)


def only(path: Path, sql: str = SQL, **options: Any) -> Note:
    [note] = query(path, sql, **options).read()
    return note


def error(path: Path, sql: str = SQL, **options: Any) -> str:
    with pytest.raises(SourceError) as caught:
        list(query(path, sql, **options).read())
    return str(caught.value)


# From rows to notes


def test_a_row_is_a_note(path: Path) -> None:
    add(
        path,
        id="tomatoes",
        title="Tomatoes",
        body="Water them daily.",
        created="2024-05-01",
        modified="2024-05-02T09:30:00Z",
        url="https://example.com/tomatoes",
        tags='["garden", "food"]',
        pinned=1,
    )
    assert only(path) == Note(
        key="tomatoes",
        title="Tomatoes",
        body="Water them daily.",
        tags=(Tag("garden"), Tag("food")),
        created="2024-05-01T12:00:00Z",
        modified="2024-05-02T09:30:00Z",
        pinned=True,
        url="https://example.com/tomatoes",
    )


def test_only_key_title_and_body_are_needed_and_in_any_case(path: Path) -> None:
    add(path, id=7)
    note = only(path, 'select id as "Key", title as "TITLE", body from notes')
    assert (note.key, note.title, note.body) == ("7", "Title", "Body")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (1.5, "1.5"),
        (" a ", "a"),
        (b"blob", "blob"),
        (b"\0\1", "0001"),
        (b"\xff\x00", "ff00"),
        (-(2**63), "-9223372036854775808"),
    ],
)
def test_keys_of_any_type_are_text(path: Path, key: Any, text: str) -> None:
    add(path, id=key)
    assert only(path).key == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (42, "42"),
        (b"bytes", "bytes"),
        ("caf\u00e9".encode("cp1252") + b" au lait", "café au lait"),
        ("a\0b", "ab"),
    ],
)
def test_bodies_of_any_type_are_text(path: Path, value: Any, text: str) -> None:
    add(path, body=value)
    assert only(path).body == text


def test_a_body_that_is_not_text_is_reported(path: Path) -> None:
    add(path, body=b"\x1f\x8b\x08\x00" + bytes(range(32)) * 20)
    source = query(path)
    assert [note.body for note in source.read()] == [""]
    assert source.skipped == ["1 value of body: no text"]


def test_invalid_utf8_is_read_byte_by_byte_as_windows_wrote_it(path: Path) -> None:
    add(path)
    run(path, "update notes set body = cast(x'4d6f6cff6e' as text)")
    assert only(path).body == "Molÿn"


def test_a_note_without_a_title_gets_its_first_line(path: Path) -> None:
    add(path, title=None, body="**Water** the tomatoes.\nDaily.")
    note = only(path)
    assert (note.title, note.body) == (
        "Water the tomatoes.",
        "**Water** the tomatoes.\nDaily.",
    )


def test_the_title_is_one_line(path: Path) -> None:
    add(path, title="Two\n lines ")
    assert only(path).title == "Two lines"


@pytest.mark.parametrize(
    ("body", "rest"),
    [
        ("# Title\n\nBody", "Body"),
        ("Title\nBody", "Body"),
        ("**Title**\nBody", "Body"),
        ("# Another\nBody", "# Another\nBody"),
        ("Title and more\nBody", "Title and more\nBody"),
    ],
)
def test_a_title_that_the_body_begins_with_is_not_there_twice(
    path: Path, body: str, rest: str
) -> None:
    add(path, body=body)
    assert only(path).body == rest


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        ("2024-05-01 09:30:00", {}, "2024-05-01T09:30:00Z"),
        ("2024-05-01T09:30:00.123456", {}, "2024-05-01T09:30:00Z"),
        ("2024-05-01T09:30:00+02:00", {}, "2024-05-01T07:30:00Z"),
        ("2024-05-01 09:30", {}, "2024-05-01T09:30:00Z"),
        ("2024-05-01", {}, "2024-05-01T12:00:00Z"),
        ("Wed, 01 May 2024 09:30:00 +0000", {}, "2024-05-01T09:30:00Z"),
        (1714555800, {}, "2024-05-01T09:30:00Z"),
        ("1714555800", {}, "2024-05-01T09:30:00Z"),
        ("1714555800.25", {}, "2024-05-01T09:30:00Z"),
        (1714555800.25, {}, "2024-05-01T09:30:00Z"),
        (1714555800000, {}, "2024-05-01T09:30:00Z"),
        (1714555800000000, {}, "2024-05-01T09:30:00Z"),
        (-86400, {}, "1969-12-31T00:00:00Z"),
        (736248600, {"epoch": "apple"}, "2024-05-01T09:30:00Z"),
        (736248600000000000, {"epoch": "apple"}, "2024-05-01T09:30:00Z"),
        ("2024-05-01 09:30:00", {"epoch": "apple"}, "2024-05-01T09:30:00Z"),
        (None, {}, None),
        ("", {}, None),
    ],
)
def test_dates_of_many_kinds_are_understood(
    path: Path, value: Any, options: dict[str, str], expected: str | None
) -> None:
    add(path, created=value)
    source = query(path, **options)
    assert [note.created for note in source.read()] == [expected]
    assert source.skipped == []


def test_dates_without_a_time_zone_can_be_local_ones(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        add(path, created="2024-05-01T09:30:00")
        assert only(path, timezone="local").created == "2024-05-01T00:30:00Z"
        assert only(path).created == "2024-05-01T09:30:00Z"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("value", ["some day", float("inf"), 10**18, "99999-01-01", b"\xff\x00"])
def test_an_invalid_date_is_reported(path: Path, value: Any) -> None:
    add(path, created=value)
    add(path, id=2, created=value)
    source = query(path)
    created = [note.created for note in source.read()]
    if value == 10**18:  # nanoseconds
        assert created == ["2001-09-09T01:46:40Z"] * 2
    else:
        assert created == [None, None]
        assert source.skipped == ["2 values of created: no date"]


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        ('["a", "b/c"]', ["a", "b/c"]),
        ("a, #b ,two words,,a", ["a", "b", "two words"]),
        ('[{"name": "a"}, {"id": 1}]', ["a"]),
        ('{"a": {"item_id": "1"}, "b": {}}', ["a", "b"]),
        ("[1, null, 2.5, [3]]", ["1"]),
        ("[a, b]", ["a", "b"]),
        ("[" * 100_000, []),
        ("7", ["7"]),
        (None, []),
    ],
)
def test_tags_of_many_kinds_are_understood(path: Path, value: Any, tags: list[str]) -> None:
    add(path, tags=value)
    assert [tag.name for tag in only(path).tags] == tags


@pytest.mark.parametrize(
    ("value", "pinned"),
    [
        *[(value, True) for value in (1, "1", "yes", "true", 2.5)],
        *[(value, False) for value in (0, "0", None, "", "False", 0.0)],
    ],
)
def test_flags_of_many_kinds_are_understood(path: Path, value: Any, pinned: bool) -> None:
    add(path, pinned=value)
    assert only(path).pinned is pinned


@pytest.mark.parametrize("url", ["https://example.com/", "bear://x?id=1", "mailto:ada@example.com"])
def test_addresses_open_the_note(path: Path, url: str) -> None:
    add(path, url=url)
    assert only(path).url == url


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        " JavaScript:x",
        "data:text/html,x",
        "search-ms:query=x",
        "x.com",
        "/a",
        "x:",
    ],
)
def test_an_address_that_would_open_nothing_or_run_something_is_left_out(
    path: Path, url: str
) -> None:
    add(path, url=url)
    source = query(path)
    assert [note.url for note in source.read()] == [None]
    assert source.skipped == ["1 value of url: no address, or of a program that isn't known"]


def test_a_row_without_a_key_is_skipped(path: Path) -> None:
    for key in (None, "", " ", "kept"):
        add(path, id=key)
    source = query(path)
    assert [note.key for note in source.read()] == ["kept"]
    assert source.skipped == ["3 rows without a key"]


def test_the_last_row_with_a_key_counts(path: Path) -> None:
    add(path, title="First")
    add(path, id="1", title="Last")
    source = query(path)
    assert [note.title for note in source.read()] == ["Last"]
    assert source.skipped == ["1 row with the key of a later row"]


def test_a_column_that_means_nothing_is_reported(path: Path) -> None:
    add(path)
    source = query(path, "select id as key, title, body, folder, id as modifed from notes")
    assert len(list(source.read())) == 1
    [line] = source.skipped
    assert line.startswith("the columns folder, modifed: what is read besides key, title, body is")


def test_archived_and_trashed_rows_are_known_as_such(path: Path) -> None:
    add(path)
    source = query(path, "select id as key, title, body, 1 as archived, 1 as trashed from notes")
    assert list(source.read()) == []
    [note] = source.read(include_trashed=True)
    assert (note.archived, note.trashed) == (True, True)


# Formats


def test_html_becomes_markdown(path: Path) -> None:
    html = "<div><h1>Title</h1></div><div>Buy <b>seeds</b></div><ul><li>peas</li></ul>"
    add(path, body=html)
    assert only(path, format="html").body == "Buy **seeds**\n\n- peas"


def test_plain_text_has_no_headings(path: Path) -> None:
    add(path, body="# of seeds: 3\n- [ ] no todo\n#tag")
    note = only(path, format="text")
    assert note.body == "\\# of seeds: 3\n- [ ] no todo\n#tag"
    assert note.todos_open == 0


def test_markdown_is_looked_through_for_todos_and_pictures(path: Path) -> None:
    add(path, body="- [ ] seeds\n- [x] soil\n![](bed.png)\n```\ncode\n```")
    note = only(path)
    assert (note.todos_open, note.todos_done, note.has_image, note.has_code) == (1, 1, True, True)


# The query


@pytest.mark.parametrize(
    "sql",
    [
        "delete from notes",
        "update notes set title = 'x'",
        "insert into notes (id) values (1)",
        "drop table notes",
        "attach 'other.db' as other",
        "vacuum into 'copy.db'",
        "pragma journal_mode = wal",
        "create temp table t (a)",
        "select 1 as key, 2 as title, load_extension('x') as body",
        "select 1 as key, 2 as title, 3 as body; delete from notes",
        "with t as (select 1) delete from notes",
    ],
)
def test_statements_that_write_are_refused(
    path: Path, sql: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    add(path)
    with left_untouched(path):
        message = error(path, sql)
    assert "Nothing else is run" in message
    assert sorted(os.listdir(tmp_path)) == ["somewhere"]


@pytest.mark.parametrize(
    "sql",
    [
        "with recursive n (i) as (select 1 union all select i + 1 from n where i < 3)"
        " select i as key, 'T' || i as title, '' as body from n",
        "select notes.id as key, title, value as body from notes, json_each('[1]')",
        "select rowid as key, title, body from notes_fts where notes_fts match 'body'",
        "select * from (select id as key, title, upper(body) as body from notes) -- comment",
        "select id as key, title, body from a_view;",
    ],
)
def test_statements_that_only_read_are_run(path: Path, sql: str) -> None:
    add(path)
    run(path, "create virtual table notes_fts using fts5(title, body)")
    run(path, "insert into notes_fts (title, body) select title, body from notes")
    run(path, "create view a_view as select * from notes")
    assert list(query(path, sql).read())


def test_an_error_in_the_query_comes_with_the_words_of_sqlite(path: Path) -> None:
    assert "no such column: titel" in error(path, "select titel from notes")
    assert "syntax error" in error(path, "selct 1")


def test_the_error_names_missing_and_existing_columns(path: Path) -> None:
    message = error(path, "select id, title from notes")
    assert "lacks the columns key, body. It has id, title." in message
    assert "It has none" in error(path, "-- nothing")


def test_a_query_that_takes_too_long_is_stopped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_source, "QUERY_SECONDS", 0.05)
    endless = (
        "with recursive n (i) as (select 1 union all select i + 1 from n)"
        " select max(i) as key, '' as title, '' as body from n"
    )
    assert "took longer than" in error(path, endless)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("printf('%.*c', 90000000, 'a')", "texts that are too long"),
        ("zeroblob(900000000)", "only reads"),
        ("randomblob(900000000)", "only reads"),
    ],
)
def test_a_view_can_not_use_up_the_memory(path: Path, text: str, reason: str) -> None:
    endless = "with recursive n (key) as (select 1 union all select key + 1 from n)"
    run(path, f"create view bomb as {endless} select key, 'a' as title, {text} as body from n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert reason in error(path, "select * from bomb")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000  # KB


def test_reading_limits_no_other_memory_of_the_process(path: Path) -> None:
    add(path, id=1, title="Roof", body="tiles")
    only(path)
    with closing(sqlite3.connect(":memory:")) as db:
        assert db.execute("pragma hard_heap_limit").fetchone() == (0,)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sql": ""}, "The option sql must be a SELECT of key, title, body"),
        ({"sql": None}, "The option sql must be"),
        ({"format": "docx"}, "format must be one of markdown, html, text. It is 'docx'"),
        ({"epoch": ["apple"]}, "epoch must be one of unix, apple"),
        ({"timezone": 1}, "timezone must be one of utc, local"),
    ],
)
def test_invalid_options_are_refused(path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(SourceError, match=words):
        SQLQuery(path, "saved", **{"sql": SQL, **options})


# The file


def test_a_missing_database_gives_an_error(tmp_path: Path) -> None:
    assert "There is no SQLite database at" in error(tmp_path / "notes.db")
    assert "is not a file" in error(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "is empty"), (b"not a database", "is not a database")]
)
def test_a_file_that_is_not_a_database_gives_an_error(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "notes.db").write_bytes(content)
    assert words in error(tmp_path / "notes.db")


def test_a_damaged_database_gives_an_error(path: Path) -> None:
    add(path, body="x" * 100_000)
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 8192)
    assert "is damaged" in error(path)


def test_a_database_that_is_being_written_to_gives_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readonly, "OWNER_BUSY_SECONDS", 0.05)
    with running_bear(path, "begin exclusive"):
        assert "is busy" in error(path)


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_reading_leaves_no_trace(path: Path, mode: str) -> None:
    add(path)
    run(path, f"pragma journal_mode = {mode}")
    with left_untouched(path):
        assert only(path).title == "Title"


def test_rows_that_are_only_in_a_write_ahead_log_are_read(path: Path) -> None:
    run(path, "pragma journal_mode = wal")
    statement = "insert into notes (id, title, body) values (1, 'New', '')"
    with running_bear(path, statement), left_untouched(path):
        assert only(path).title == "New"


def test_a_log_without_its_index_is_read_too(path: Path, tmp_path: Path) -> None:
    run(path, "pragma journal_mode = wal")
    statement = "insert into notes (id, title, body) values (1, 'New', '')"
    (tmp_path / "copied").mkdir()
    with running_bear(path, statement):
        copy = tmp_path / "copied" / "copy.db"
        for suffix in ("", "-wal"):
            Path(f"{copy}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    with left_untouched(copy):
        assert only(copy).title == "New"


def test_the_state_changes_with_the_database_and_with_the_query(path: Path) -> None:
    states = {query(path).state(), query(path, SQL + " where 1").state()}
    states.add(query(path, format="html").state())
    states.add(query(path, timezone="local").state())
    add(path)
    states.add(query(path).state())
    assert len(states) == 5
    assert query(path).state() == query(path).state()


def test_no_database_is_recognized_as_notes_by_itself(path: Path) -> None:
    assert not SQLQuery.reads(str(path))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            *[
                st.one_of(
                    st.none(),
                    st.integers(-(2**63), 2**63 - 1),
                    st.floats(),
                    st.text(alphabet=st.characters(blacklist_categories=["Cs"])),
                    st.binary(),
                )
            ]
            * 8
        ),
        max_size=3,
    )
)
def test_no_value_of_any_type_crashes_the_source(path: Path, rows: list[tuple]) -> None:
    run(path, "delete from notes")
    for row in rows:
        run(
            path,
            "insert into notes (id, title, body, created, modified, url, tags, pinned)"
            " values (?, ?, ?, ?, ?, ?, ?, ?)",
            *row,
        )
    for format in ("markdown", "html", "text"):
        for note in query(path, format=format).read():
            with closing(stdlib_sqlite3.connect(":memory:")) as db:
                db.execute("select ?, ?, ?", [note.key, note.title, note.body])
            assert note.key
            assert not any("\0" in text for text in (note.key, note.title, note.body))
