"""What is told of the notes on a page, once they are ranked: snippets, passages, and the notes themselves.

The last parts of the statement, which see only the rows that are shown.
"""

from __future__ import annotations

# Around matches in a snippet, where no note can have them; replaced by markup when shown.
MARK, END_MARK = "\x02", "\x03"
ELLIPSIS = "…"
SNIPPET_TOKENS = 40

SNIPPETS = f"""
-- one scan for all of them: FTS5 takes a millisecond to look up one note among many
snippets as materialized (
  select
    rowid as note_id,
    snippet(notes_fts, -1, char({ord(MARK)}), char({ord(END_MARK)}), '{ELLIPSIS}', {SNIPPET_TOKENS}) as snippet
  from notes_fts
  where notes_fts match :match
    and +rowid in (select note_id from page)
)"""

NO_SNIPPETS = """
snippets as (
  select null as note_id, null as snippet
  where false
)"""

ROWS = f"""
select
  notes.id, notes.title, snippets.snippet,
  case when passages.length > 0 then substr(notes.body, passages.start + 1, passages.length) end as passage,
  passages.heading, page.keyword_rank, page.semantic_rank, round(page.similarity, 4) as similarity,
  page.score, page.blend, rrf(page.keyword_rank, page.semantic_rank) as rrf, page.exact,
  notes.tags, notes.created, notes.modified, notes.pinned, notes.archived, notes.encrypted,
  notes.source, notes.key, notes.url, sources.app, sources.heading_link,
  -- the other sources that have the same note
  (
    select json_group_array(distinct source)
    from notes as copies
    where (copies.copy_of in (notes.id, notes.copy_of) or copies.id = notes.copy_of)
      and copies.source != notes.source
  ) as also_in,
  passages.id as passage_id, passages.start, passages.length, page.found_by,
  page.is_found, page.total, page.found, page.closest
from page
join notes on notes.id = page.note_id
join sources on sources.name = notes.source
left join snippets on snippets.note_id = page.note_id
-- the passage that is closest in meaning, else the one that the snippet was taken from
left join passages on passages.id = coalesce(page.passage_id, (
  select id
  from passages
  where note_id = page.note_id
    and start < max(1, instr(notes.body, trim(
      replace(replace(snippets.snippet, char({ord(MARK)}), ''), char({ord(END_MARK)}), ''), '{ELLIPSIS}'
    )))
  order by start desc
  limit 1
))
order by {{order}}
"""
