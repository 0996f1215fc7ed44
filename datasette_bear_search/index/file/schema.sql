-- The tables of the index file. Statements are separated by blank lines.

create table meta (
  key text primary key,
  value text
)

create table sources (
  name text primary key,
  kind text not null default '',
  app text not null default '',  -- the app that opens its notes
  location text,
  heading_link text,
  options text not null default '{}',  -- a JSON object
  never text not null default '[]',  -- tags that aren't indexed, a JSON array
  include_trashed integer,
  config_file text,
  state text,
  read text,
  notes integer,
  skipped text not null default '[]',  -- lines for people, a JSON array
  version text,  -- of the package that read it
  tried integer,  -- last try if it has an interval or an error, in seconds since 1970
  error text not null default '',  -- why that failed, for people
  missed integer  -- when it first lost many notes
)

-- The long texts come last, so that SQLite needn't step over them to read the other columns.
create table notes (
  id integer primary key,
  title text,
  tags text,  -- a JSON array: Datasette can facet by it, and FTS5 indexes its words
  created text,
  modified text,
  pinned integer,
  archived integer,
  trashed integer,
  encrypted integer,
  language text,  -- ISO 639-1; null if the note is too short to tell
  todos_open integer,
  todos_done integer,
  has_image integer,
  has_file integer,
  has_code integer,
  soft_breaks integer,  -- whether a line break inside a paragraph is but a space
  url text,
  source text references sources(name),
  key text,
  fingerprint text,
  stamp text,
  text_hash text,
  copy_of integer references notes(id) on delete set null,
  attachment_names text,  -- a JSON array, in the order of their texts
  has_link integer,
  attachments text,
  body text
)

create unique index idx_notes_source_key on notes (source, key)

create index idx_notes_modified on notes (modified)

create index idx_notes_created on notes (created)

create index idx_notes_language on notes (language)

-- Columns that are read of all notes have covering indexes, because each note fills whole pages.
create index idx_notes_title on notes (title collate nocase)

create index notes_known on notes (source, key, fingerprint, stamp)

create index notes_text on notes (text_hash, source)

create index notes_key on notes (key, source)

create index notes_copies on notes (copy_of) where copy_of is not null

create index notes_counts on notes (
  modified, created, source, copy_of, pinned, archived, trashed, todos_open, has_image
)

create virtual table notes_fts using fts5(
  title, body, tags, attachments, content="notes", tokenize="{TOKENIZER}"
)

-- The same text without stemming and without positions, which is a fifth of the size.
create virtual table _words using fts5(
  title, body, tags, attachments, content="notes", detail=none, tokenize="{WORDS_TOKENIZER}"
)

create virtual table _stem_vocabulary using fts5vocab(notes_fts, row)

create virtual table _word_vocabulary using fts5vocab(_words, row)

create table _spellings (
  typed text,
  spelling text,
  primary key (typed, spelling)
) without rowid

-- NEW_INDEXED is: indexed_words(new.title, new.language) and so on for each column.
create trigger notes_ai after insert on notes begin
  insert into notes_fts (rowid, title, body, tags, attachments) values (new.id, {NEW_INDEXED});
  insert into _words (rowid, title, body, tags, attachments) values (new.id, {NEW_NORMALIZED});
end

create trigger notes_ad after delete on notes begin
  insert into notes_fts (notes_fts, rowid, title, body, tags, attachments)
  values ('delete', old.id, {OLD_INDEXED});
  insert into _words (_words, rowid, title, body, tags, attachments)
  values ('delete', old.id, {OLD_NORMALIZED});
end

-- Pinning a note must not index its text again.
create trigger notes_au after update of title, body, tags, attachments, language on notes
when (new.title, new.body, new.tags, new.attachments, new.language)
  is not (old.title, old.body, old.tags, old.attachments, old.language)
begin
  insert into notes_fts (notes_fts, rowid, title, body, tags, attachments)
  values ('delete', old.id, {OLD_INDEXED});
  insert into _words (_words, rowid, title, body, tags, attachments)
  values ('delete', old.id, {OLD_NORMALIZED});
  insert into notes_fts (rowid, title, body, tags, attachments) values (new.id, {NEW_INDEXED});
  insert into _words (rowid, title, body, tags, attachments) values (new.id, {NEW_NORMALIZED});
end

create table tags (
  id integer primary key,
  name text,
  folded text
)

create unique index idx_tags_name on tags (name)

create index idx_tags_folded on tags (folded)

create table note_tags (
  note_id integer references notes(id) on delete cascade,
  tag_id integer references tags(id),
  pinned integer,
  primary key (note_id, tag_id)
)

create index idx_note_tags_tag_id on note_tags (tag_id)

create table links (
  id integer primary key,
  note_id integer references notes(id) on delete cascade,
  target_id integer references notes(id) on delete set null,
  target_key text,
  title text
)

create index idx_links_note_id on links (note_id)

create index idx_links_target_id on links (target_id)

create table _files (
  id integer primary key,
  note_id integer references notes(id) on delete cascade,
  target text,
  place text,
  stamp text
)

create index idx__files_note_id on _files (note_id)

create index idx__files_place on _files (place)

create table passages (
  id integer primary key,
  note_id integer references notes(id),
  position integer,
  heading text,
  start integer,
  length integer,
  content_hash text,
  -- 'pending', 'embedded', 'over_limit' (too late in a huge note), 'empty', 'refused'
  vector_state text,
  text_kind text,  -- 'own', 'template' (many notes have this text), 'short' (too short to compare)
  line integer,  -- its first line in the note, from 1
  -- Long notes only: the text up to the next passage, as reading the note takes too long.
  text text
)

create index idx_passages_note_id_position on passages (note_id, position)

create index passages_of_long_notes on passages (note_id)
where position = 0 and text is not null

create index passages_pending on passages (id) where vector_state = 'pending'

create index passages_refused on passages (id) where vector_state = 'refused'

create virtual table _long_notes using fts5(
  note_id, text, content="passages", content_rowid="id", tokenize="{TOKENIZER}"
)

create trigger passages_i_new after insert on passages when new.text is not null begin
  insert into _long_notes (rowid, note_id, text)
  values (new.id, new.note_id, indexed_words(new.text, null));
end

create trigger passages_d_old after delete on passages when old.text is not null begin
  insert into _long_notes (_long_notes, rowid, note_id, text)
  values ('delete', old.id, old.note_id, indexed_words(old.text, null));
end

-- "new" comes after "old" because SQLite runs an event's triggers last created first.
create trigger passages_u_old after update of text on passages when old.text is not null begin
  insert into _long_notes (_long_notes, rowid, note_id, text)
  values ('delete', old.id, old.note_id, indexed_words(old.text, null));
end

create trigger passages_u_new after update of text on passages when new.text is not null begin
  insert into _long_notes (rowid, note_id, text)
  values (new.id, new.note_id, indexed_words(new.text, null));
end

create table _lines (
  note_id integer primary key references notes(id) on delete cascade,
  hashes blob
)

create table _shared_lines (
  hash integer primary key
)

-- In place of the vec0 table, which is created when the model and its dimension are known. So a
-- statement that reads it also runs on an index without vectors.
create table _passage_index (embedding blob, k int)

create table _vectors (
  passage_id integer primary key,
  vector blob
)

create table judgments (
  id integer primary key,
  query text,
  source text,
  key text,
  grade integer,  -- 1 if the person found the note relevant, otherwise 0
  judged text
)

create unique index idx_judgments_query_source_key on judgments (query, source, key)

create trigger notes_moved after update of key on notes when new.key is not old.key begin
  update or replace judgments set key = new.key where source = old.source and key = old.key;
end
