"""Databases of other tools: the query, the options, tables as the tool creates them, the note."""

from __future__ import annotations

from typing import Any

from datasette_bear_search.notes import Note, Tag

# apple-notes-to-sqlite: bodies in HTML, dates in the time zone of the Mac.
APPLE_NOTES = """
select notes.id as key, title, body, created, updated as modified,
  json_array(folders.name) as tags
from notes
left join folders on folders.id = notes.folder
"""

# readwise-local-plus: a note is a book or an article with all of its highlights.
READWISE = """
select
  user_book_id as key,
  coalesce(readable_title, title) as title,
  group_concat(
    '> ' || text || coalesce(char(10, 10) || nullif(note, ''), ''), char(10, 10)
  ) as body,
  min(highlighted_at) as created,
  max(updated_at) as modified,
  books.readwise_url as url,
  (
    select json_group_array(name)
    from book_tags
    where book_tags.user_book_id = books.user_book_id
  ) as tags
from books
join highlights on book_id = user_book_id
where not coalesce(books.is_deleted, 0)
  and not coalesce(highlights.is_deleted, 0)
group by user_book_id
"""

# pocket-to-sqlite: dates in seconds since 1970.
POCKET = """
select
  item_id as key,
  coalesce(nullif(resolved_title, ''), given_title) as title,
  excerpt as body,
  time_added as created,
  time_updated as modified,
  coalesce(resolved_url, given_url) as url,
  favorite as pinned
from items
"""

# twitter-to-sqlite: retweets are left out.
TWITTER = """
select
  tweets.id as key,
  users.name || ' (@' || screen_name || ')' as title,
  full_text as body,
  tweets.created_at as created,
  'https://twitter.com/' || screen_name || '/status/' || tweets.id as url
from tweets
join users on users.id = tweets.user
where retweeted_status is null
"""

EXAMPLES: dict[str, tuple[str, dict[str, Any], str, Note]] = {
    "Apple Notes": (
        APPLE_NOTES,
        {"format": "html"},
        """
        create table folders (id integer primary key, long_id text, name text, parent integer);
        create table notes (
          id text primary key, created text, updated text, folder integer, title text, body text
        );
        insert into folders values (1, 'x-coredata://f1', 'Cooking, Recipes', null);
        insert into notes values (
          'x-coredata://p1', '2024-05-01T09:30:00', '2024-05-02T09:30:00', 1, 'Soup',
          '<div><h1>Soup</h1></div><div>Lentils and <b>cumin</b></div>'
        );
        """,
        Note(
            key="x-coredata://p1",
            title="Soup",
            body="Lentils and **cumin**",
            tags=(Tag("Cooking, Recipes"),),
            created="2024-05-01T09:30:00Z",
            modified="2024-05-02T09:30:00Z",
        ),
    ),
    "Readwise": (
        READWISE,
        {},
        """
        create table books (
          user_book_id integer primary key, title, is_deleted, readable_title, readwise_url
        );
        create table book_tags (id integer primary key, name, user_book_id);
        create table highlights (
          id integer primary key, book_id, text, note, highlighted_at, updated_at, is_deleted,
          readwise_url
        );
        insert into books values (7, 'walden', 0, 'Walden', 'https://readwise.io/bookreview/7');
        insert into book_tags values (1, 'classics', 7), (2, 'nature', 7);
        insert into highlights values
          (1, 7, 'Simplify, simplify.', 'Yes!', '2024-05-01 09:30:00', '2024-05-02 09:30:00', 0,
            ''),
          (2, 7, 'Deleted', '', '2024-05-01 09:30:00', '2024-05-09 09:30:00', 1, ''),
          (3, 7, 'Time is but the stream.', '', '2024-05-03 09:30:00', null, 0, '');
        """,
        Note(
            key="7",
            title="Walden",
            body="> Simplify, simplify.\n\nYes!\n\n> Time is but the stream.",
            tags=(Tag("classics"), Tag("nature")),
            created="2024-05-01T09:30:00Z",
            modified="2024-05-02T09:30:00Z",
            url="https://readwise.io/bookreview/7",
        ),
    ),
    "Pocket": (
        POCKET,
        {},
        """
        create table items (
          item_id integer primary key, given_url, given_title, favorite integer, time_added integer,
          time_updated integer, resolved_title, resolved_url, excerpt
        );
        insert into items values (
          42, 'https://a.org/?x', 'Given', 1, 1714555800, 1714555800, '', 'https://a.org/',
          'A summary.'
        );
        """,
        Note(
            key="42",
            title="Given",
            body="A summary.",
            created="2024-05-01T09:30:00Z",
            modified="2024-05-01T09:30:00Z",
            pinned=True,
            url="https://a.org/",
        ),
    ),
    "Twitter": (
        TWITTER,
        {"format": "text"},
        """
        create table users (id integer primary key, screen_name, name);
        create table tweets (
          id integer primary key, user integer, created_at, full_text, retweeted_status integer
        );
        insert into users values (1, 'ada', 'Ada');
        insert into tweets values
          (10, 1, '2024-05-01T09:30:00+00:00', '# 1 in engines', null),
          (11, 1, '2024-05-01T09:30:00+00:00', 'RT', 10);
        """,
        Note(
            key="10",
            title="Ada (@ada)",
            body="\\# 1 in engines",
            created="2024-05-01T09:30:00Z",
            url="https://twitter.com/ada/status/10",
        ),
    ),
}
