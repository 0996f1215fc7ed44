"""A table that is there already: ``datasette bear-index data.db --table articles``.

Tests ``sources/records.py`` and ``sources/sql.py``.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search import Library
from tests.support.bear_libraries import sqlite3


@pytest.fixture
def blog(tmp_path) -> Path:
    path = tmp_path / "blog.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript("""
            create table articles (
              id integer primary key, title, lead, body, updated, "my tags", link
            );
            insert into articles values
              (7, 'Roof', 'A leak.', 'The flashing <b>leaks</b>.', '2024-05-01', 'house, roof',
               'https://example.org/7'),
              (9, 'Stove', null, 'Birch burns well.', '2023-01-02', null, null);
            create table pages (lang, slug, text, primary key (slug, lang));
            insert into pages values ('en', 'about', '# About us' || char(10) || 'We build.');
            create table "odd ""name" (words);
            insert into "odd ""name" values ('Nothing but words');
            create table drafts (words, all_words as ('Draft: ' || words));
            insert into drafts values ('Gutter');
            create view recent as select id, body from articles where updated >= '2024';
            """)
    return path


@pytest.fixture
def index(sidecar_path):
    """Return a function that runs bear-index with these arguments; it returns the output."""

    def run(*arguments, fails: bool = False) -> str:
        command = ["bear-index", *map(str, arguments), "--sidecar", str(sidecar_path)]
        result = CliRunner().invoke(cli, command)
        assert bool(result.exit_code) == fails, result.output
        return result.output

    return run


def test_a_table_is_searched_and_kept_up_to_date(index, sidecar_path, blog):
    options = ["--title", "title", "--text", "lead", "--text", "BODY", "--modified", "updated"]
    options += ["--tags", "my tags", "--url", "link", "--format", "html"]
    index(blog, "--table", "Articles", *options)
    library = Library(sidecar_path)
    [roof] = library.search("flashing", found=True)
    assert (roof.source, roof.key, roof.title) == ("articles", "7", "Roof")
    assert (roof.tags, roof.url) == (("house", "roof"), "https://example.org/7")
    assert (roof.modified or "").startswith("2024-05-01")
    assert library.note(roof).body.split() == ["A", "leak.", "The", "flashing", "**leaks**."]
    assert library.search("birch", modified_before=2023, found=True).hits[0].key == "9"
    with closing(sqlite3.connect(blog)) as db, db:
        db.execute("update articles set body = 'Oak burns better.' where id = 9")
    index()
    assert [hit.key for hit in library.search("oak", found=True)] == ["9"]


@pytest.mark.parametrize(
    ("table", "options", "key", "title"),
    [
        ("pages", ["--text", "text"], "about,en", "About us"),
        ('odd "name', ["--text", "words"], "1", "Nothing but words"),
        ("recent", ["--text", "body", "--key", "id"], "7", "The flashing **leaks**."),
        ("pages", ["--text", "text", "--key", "slug"], "about", "About us"),
        ("drafts", ["--text", "all_words"], "1", "Draft: Gutter"),
    ],
)
def test_a_row_has_a_key_and_a_title(index, sidecar_path, blog, table, options, key, title):
    index(blog, "--table", table, *options)
    [note] = Library(sidecar_path).hits()
    assert note.key == key
    assert note.title.replace("<b>", "**").replace("</b>", "**") == title


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--table", "nope", "--text", "body"], 'There are: articles, drafts, odd "name, pages,'),
        (["--table", "articles", "--text", "boody"], "has no column boody (--text). It has: id"),
        (["--table", "articles"], "--table needs --text COLUMN"),
        (["--text", "body"], "give --table, too"),
        (["--table", "recent", "--text", "body"], "Say with --key"),
        (["--table", "articles", "--text", "body", "--rebuild"], "--table reads one database"),
    ],
)
def test_what_doesnt_fit_is_said(index, blog, options, message):
    output = index(blog, *options, fails=True)
    assert message in " ".join(output.split())


def test_two_tables_of_a_database_are_two_sources(index, sidecar_path, blog):
    index(blog, "--table", "articles", "--text", "body")
    index(blog, "--table", "pages", "--text", "text")
    library = Library(sidecar_path)
    assert {name: each.notes for name, each in library.sources().items()} == {
        "articles": 2,
        "pages": 1,
    }
    # The same table again, with other columns, is the same source.
    index(blog, "--table", "articles", "--text", "lead")
    assert library.sources().keys() == {"articles", "pages"}
    assert library.search("leak", found=True).hits[0].key == "7"


def test_the_same_name_in_another_database_is_another_source(index, blog, tmp_path):
    other = tmp_path / "other.db"
    other.write_bytes(blog.read_bytes())
    for path in (blog, other):
        output = index(path, "--table", "articles", "--text", "body")
    listed = index("--list")
    assert "articles-2" in listed, output
