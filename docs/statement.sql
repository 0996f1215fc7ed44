-- The whole ranking statement, as "View as SQL" opens it for :q = how do I keep mice out tag:cabin

/* [[[cog
import cog
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.planning.planner import BALANCES, Plan
from datasette_bear_search.search.ranking.statement import search_statement
query = parse("how do I keep mice out tag:cabin")
plan = Plan(query, query.terms, shape="sentence", balance=BALANCES["sentence"])
cog.out(search_statement(plan, ("keyword", "semantic")).sql)
]]] */
with -- the set of ids that operators in :q allow; null: all
filtered as (select allowed_notes(:q) as ids),
-- titles equal to the text (2), phrases and identifiers (1)
exact as materialized (
  select key + 0 as note_id, value as exact_level
  from json_each(exact_matches(:q)) join filtered on ids is null or substr(ids, key, 1) = x'01'
),
-- words: BM25 of notes with any, coverage (0: few, 1: half by weight, 2: all); else parts of words
lexical as (
  select rowid as note_id, -bm25(notes_fts, 3.0, 1.0, 3.0, 0.5) as bm25,
    ifnull(instr(x'000102', substr(coverage(:q), rowid, 1)) - 1, 2) as coverage
  from notes_fts join filtered on ids is null or substr(ids, rowid, 1) = x'01'
  where notes_fts match fts_query(:q)
  union all select key + 0, value, 2 from json_each(substring_matches(:q))
  join filtered on ids is null or substr(ids, key, 1) = x'01'
),
q as materialized (select embed(meaning(:q)) as vector),
-- meaning: the nearest passages, the best one of each note
dense as materialized (
  select note_id, passage_id, max(similarity) as similarity,
    rank() over (order by max(similarity) desc) as dense_rank,
    count(*) filter (where similarity >= closeness(:q)) as close_passages from (
    select note_id, passage_id, iif(text_kind = 'template', 0.75, 1) * (
      1 - vec_distance_cosine(vector, (select vector from q)) / unrelated_distance()) as similarity
    from (
      select rowid as passage_id from q cross join _passage_index
      where vector is not null and k = nearest_candidates('')
        and embedding match vec_quantize_binary(vec_sub(vector, mean_vector()))
        and rowid in (select passages.id from passages join filtered on ids is null or substr(ids, note_id, 1) = x'01')
    ) join _vectors using (passage_id) join passages on passages.id = passage_id
    join filtered on ids is null or substr(ids, note_id, 1) = x'01'
    order by similarity desc limit 300
  ) group by note_id
),
candidates as (
  select note_id from (select * from lexical order by bm25 desc, note_id limit 100)
  union select note_id from dense union select note_id from exact
),
-- both scores relative to the best, and their blend
scored as materialized (
  select *, (1 - balance(:q)) * lexical_score
    + balance(:q) * coalesce(dense_score, avg(dense_score) over (), lexical_score) as blend from (
    select *,
      ifnull(bm25 / max(max(bm25) over (), bm25_normalizer(:q)), 0) as lexical_score,
      max(similarity + 1, 0) / max(max(similarity) over () + 1, 1e-9) as dense_score
    from candidates left join exact using (note_id)
    left join (select *, rank() over (order by bm25 desc) as lexical_rank from lexical
      where note_id in candidates) using (note_id)
    left join (select note_id, passage_id, similarity, dense_rank from dense
      union all select note_id, passage_id, max(iif(text_kind = 'template', 0.75, 1) * (
      1 - vec_distance_cosine(vector, (select vector from q)) / unrelated_distance())), null
      from candidates cross join passages using (note_id) cross join _vectors on passage_id = id
      where note_id not in (select note_id from dense) and position < 1000
        and (select vector from q) is not null group by note_id
    ) using (note_id))
),
-- the best after pseudo-relevance feedback and score regularization
refined as materialized (
  select key + 0 as note_id, value as refined from json_each((
    select refine(
      (select vector from q), vector, note_id, exact_level, blend, dense_score, balance(:q))
    from (select * from scored order by exact_level desc, blend desc, note_id limit 100)
    left join _vectors using (passage_id)
  ))
),
fused as materialized (
  select scored.*, ifnull(refined, blend) as score,
    ifnull(bm25 >= least_bm25(:q) and coverage + (bm25 >= enough_bm25(:q)) > 1 or exact_level
      or similarity >= closeness(:q), false) as is_found
  from scored left join refined using (note_id)
),
-- found notes, others with any of the words, and a few that are only nearest
listed as materialized (
  select * from fused where is_found or bm25 or note_id in (
    select note_id from fused where not is_found and bm25 is null
    order by exact_level desc, score desc, bm25 desc, note_id limit weaker_matches(:q))
),
counts as materialized (
  select count(*) as total, count(*) filter (where is_found) as found,
    json_group_array(note_id) filter (where is_found) as found_ids,
    (select max(similarity) from fused) as closest,
    (select sum(close_passages) from dense) as close_passages from (
    select note_id, is_found from listed
    union all select note_id, bm25 >= least_bm25(:q) and coverage + (bm25 >= enough_bm25(:q)) > 1
    from lexical where note_id not in candidates)
),
page as (
  select * from (select listed.* from listed order by
  is_found desc, exact_level desc, score desc, bm25 desc, note_id limit 20 offset 0), counts)
select id, title, language, page.* from page join notes on id = note_id
order by is_found desc, exact_level desc, score desc, bm25 desc, note_id
/* [[[end]]] */
