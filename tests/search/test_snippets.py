"""What a result shows: snippet or passage, and the sentence of it that is closest to the query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.demo import BearNote
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import Embedder, ModelUnavailable
from datasette_bear_search.embeddings.files import BUNDLED
from datasette_bear_search.index import database
from datasette_bear_search.query.query import parse
from datasette_bear_search.search import functions
from datasette_bear_search.search.planner import Plan, plan
from datasette_bear_search.search.results import Hit, MatchedPassage, Results, retrieve
from datasette_bear_search.search.snippets import (
    ShownText,
    closest_sentences,
    mark_sentences,
    passage_text,
    shortened,
    shown_text,
    starting_near_mark,
)
from datasette_bear_search.search.sql import END_MARK, MARK
from tests.support.tiny_embedder import TinyEmbedder

FOUND = f"The {MARK}boiler{END_MARK} lost pressure"
TEXT = "## Heating\n\nThe *boiler* lost pressure.\nSue came."
PLAIN = "The boiler lost pressure.\nSue came."


def hit(snippet: str, text: str | None, similarity: float | None = 0.5, **fields) -> Hit:
    passage = text and MatchedPassage(text, "House › Heating", 0, len(text))
    facts = {
        "id": 1, "source": "bear", "key": "k", "title": "House log", "url": None, "app": "",
        "tags": ("home",), "created": None, "modified": None, "pinned": False, "archived": False,
        "encrypted": False, "keyword_rank": 1, "semantic_rank": 1, "score": 1.0, "blend": 1.0,
        "rrf": None, "is_exact": False,
    }  # fmt: skip
    return Hit(**{**facts, **fields}, snippet=snippet, passage=passage, similarity=similarity)


PLAN = Plan(parse("boiler"), "keywords", 0.5, threshold=0.3)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # The passage has the words that the snippet has.
        (hit(FOUND, TEXT), ShownText(None, FOUND, "")),
        (hit(f"a {MARK}stove{END_MARK}", TEXT), ShownText(None, f"a {MARK}stove{END_MARK}", PLAIN)),
        (
            hit(f"a {MARK}stove{END_MARK}", TEXT, 0.1),
            ShownText(None, f"a {MARK}stove{END_MARK}", ""),
        ),
        # Without a match, a snippet is only the beginning of something.
        (hit("The boiler lost", TEXT, 0.1), ShownText(None, "", PLAIN)),
        (
            hit(f"{MARK}House{END_MARK} log", TEXT),
            ShownText(f"{MARK}House{END_MARK} log", "", PLAIN),
        ),
        (hit(f'["{MARK}home{END_MARK}"]', TEXT), ShownText(None, "", PLAIN)),
        (hit(FOUND, None), ShownText(None, FOUND, "")),
        (hit("", None), ShownText(None, "", "")),
        (hit(FOUND, TEXT, encrypted=True), ShownText(None, "", "")),
    ],
)
def test_a_result_shows_its_snippet_its_passage_or_both(found, expected):
    assert shown_text(found, PLAN) == expected


def test_a_passage_is_shown_without_its_heading_unless_there_is_nothing_else():
    passage = hit("", TEXT).passage
    assert passage_text(passage, "House log") == PLAIN
    assert (
        passage_text(passage, "House log", as_markdown=True)
        == "The *boiler* lost pressure.\nSue came."
    )
    assert passage_text(hit("", "## Heating").passage, "House log") == "Heating"


def test_a_long_text_is_cut_between_words_and_begins_near_its_mark():
    assert shortened("one two three", 9) == "one two…"
    assert shortened("one two", 9) == "one two"
    assert starting_near_mark(f"one two three {MARK}four", 8) == f"…three {MARK}four"
    assert starting_near_mark("one two three four", 8) == "one two three four"


PASSAGE = "We met at nine. The boiler lost pressure again. Sue brought the good biscuits."


def sentence(query: str, passage: str, embedder: Embedder) -> str | None:
    [span] = closest_sentences(query, [passage], embedder)
    return passage[slice(*span)] if span else None


@pytest.fixture
def tiny() -> TinyEmbedder:
    return TinyEmbedder("test/pieces")


def test_the_sentence_that_is_like_the_query_is_chosen(tiny):
    assert sentence("boiler pressure", PASSAGE, tiny) == "The boiler lost pressure again."


def test_words_that_say_nothing_do_not_choose(tiny):
    passage = "What did we do at the time? Biscuits with ginger."
    assert sentence("what did we do with the biscuits", passage, tiny) == "Biscuits with ginger."


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        ("- buy milk for Ann\n- call the plumber now\n- water the ferns", "call the plumber now"),
        ("Not much of it.\n > - [ ] call the plumber now", "call the plumber now"),
        ("One two three. - call the plumber now", "- call the plumber now"),
        ("Call the plumber now.\n> > > > > > > > > > > > > >", None),
        ("## The plumber\nNothing about him here.\nCall the plumber now.", "Call the plumber now."),
        (
            "他昨天去了北京的商店。The plumber came at noon。我们吃了很多好吃的东西。",
            "The plumber came at noon。",
        ),
        ("One two three. Call the plumber now! Four five six.", "Call the plumber now!"),
        ("Call the plumber now.", None),  # all of it would be marked
        ("", None),
        ("Yes. No.", None),
    ],
)
def test_where_a_sentence_begins_and_ends(tiny, passage, expected):
    assert sentence("call plumber", passage, tiny) == expected


@given(query=st.text(max_size=40), passage=st.text(max_size=200))
def test_any_text_has_a_sentence_inside_of_it_or_none(query, passage):
    for span in closest_sentences(query, [passage], TinyEmbedder("test/pieces")):
        if span is not None:
            start, end = span
            assert 0 <= start < end <= len(passage)
            assert passage[start:end] == passage[start:end].strip()


def found(sidecar_path, query: str, mode: str = "hybrid") -> tuple[Results, Embedder]:
    connection = database.connect(sidecar_path)
    functions.register(connection)
    functions.register_embed(connection)
    planned = plan(connection, parse(query, mode))
    state = database.read_state(connection)
    embedder = registry.get_embedder(state.model)
    embedder.embed_query(planned.query.meaning)
    return retrieve(connection, planned, semantic=mode != "keyword"), embedder


def test_the_offsets_count_characters_of_the_body(write, bear_index, sidecar_path):
    body = f"# House log\n\nÄrger & Grüße 🐻.\n\n{PASSAGE}"
    write(BearNote(body))
    bear_index()
    results, embedder = found(sidecar_path, "boiler pressure")
    [hit] = mark_sentences(results, embedder).hits
    assert hit.passage.marked().count(MARK) == hit.passage.marked().count(END_MARK) == 1
    assert f"{MARK}The boiler lost pressure again.{END_MARK}" in hit.passage.marked()
    [(stored,)] = database.connect(sidecar_path).execute("select body from notes").fetchall()
    assert (
        stored[hit.passage.sentence_start : hit.passage.sentence_end]
        == "The boiler lost pressure again."
    )


def test_what_was_found_by_its_words_alone_stays_as_it_is(write, bear_index, sidecar_path):
    write(BearNote(f"# House log\n\n{PASSAGE}"))
    bear_index()
    results, embedder = found(sidecar_path, "boiler", mode="keyword")
    assert mark_sentences(results, embedder) is results


class Wordless(TinyEmbedder):
    """A model that tells nothing of word pieces."""

    open_word_pieces = Embedder.open_word_pieces


def test_a_model_without_word_pieces_marks_nothing(write, bear_index, sidecar_path):
    write(BearNote(f"# House log\n\n{PASSAGE}"))
    bear_index()
    results, _ = found(sidecar_path, "boiler pressure")
    wordless = Wordless("test/wordless")
    with pytest.raises(ModelUnavailable, match="no vectors of word pieces"):
        wordless.pieces(["boiler"])
    assert mark_sentences(results, wordless) is results


def test_the_real_model_finds_the_sentence_that_shares_no_word():
    passage = (
        "The kitchen got its new shelf. Our furnace stopped heating in the cold night. "
        "Lunch was soup with bread. The neighbors painted their fence."
    )
    model = registry.get_embedder(BUNDLED)
    assert sentence("broken boiler in winter", passage, model) == (
        "Our furnace stopped heating in the cold night."
    )
