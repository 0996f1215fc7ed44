"""What a result shows: a snippet or passage, and in it the sentence closest to the query.

Tests ``text/markdown.py``, ``search/results/word_matches.py``, ``search/results/sentences.py``,
``search/results/items.py``, ``search/results/marks.py`` and ``search/results/retrieve.py``.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import Embedder, ModelUnavailable
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.index.file import database
from datasette_bear_search.query.query import parse
from datasette_bear_search.search import connection as search_connection
from datasette_bear_search.search import engine
from datasette_bear_search.search import request as search_request
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.planning.planner import plan
from datasette_bear_search.search.results.marks import KINDS, MarkedText
from datasette_bear_search.search.results.records import Found, FoundNote, Hit, MatchedPassage
from datasette_bear_search.search.results.retrieve import retrieve
from datasette_bear_search.search.results.sentences import sentence_scores
from datasette_bear_search.search.results.snippets import (
    SHOWN,
    lead,
    passage_text,
    readable,
    shortened,
    show,
)
from datasette_bear_search.text import markdown
from tests.support.bear_database import BearFile, BearNote
from tests.support.marks import with_marks
from tests.support.note_folders import write_files
from tests.support.tiny_embedder import TinyEmbedder

FILLER = "Nothing of interest was said about it on that day. " * 20
NOTES = [
    BearNote(f"# Heating\n\n{FILLER}\n\nThe boilers lost pressure, said Ada.\n\n{FILLER}"),
    BearNote("# The boiler room\n\nIts door squeaks.", tags=("home/boiler",)),
    BearNote("# Whiteboard\n\n![](b.png)", files=(BearFile("b.png", ocr="Ventilate on Sunday"),)),
    BearNote("# Locked", encrypted=True),
    BearNote("# Concatenating\n\nA category of its own."),
]


def shown(path, text, mode="keyword") -> dict[str, Hit]:
    with open_sidecar(path) as connection:
        request = search_request.SearchRequest(parse(text, mode))
        hits = engine.search(connection, request).results.hits
        return {hit.title: hit for hit in hits}


def test_a_note_found_without_words_shows_its_beginning(index_notes):
    lines = "".join(f"- [ ] somebody has to do errand {number}\n" for number in range(9))
    note = BearNote(f"# Saturday\n\nFirst of all the post office on Elm Street.\n\n{lines}")
    path = index_notes([note])
    for text in ("", "created:2001.."):
        assert shown(path, text)["Saturday"].text.startswith(
            "First of all the post office on Elm Street."
        )


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("text", ["boiler", "boilers pressure", '"lost pressure"', "boil*"])
def test_the_sentences_around_the_words_are_shown(index_notes, text, mode):
    snippet = shown(index_notes(NOTES), text, mode)["Heating"].text
    assert "lost pressure, said Ada." in snippet.replace(" · ", " ")
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert len(snippet) <= SHOWN * 1.2 + 2


@pytest.mark.parametrize("line", ["And they gave it all away (what a pity! 😱).", "# 14.12.2023"])
def test_words_beside_a_sentence_are_shown(index_notes, line):
    note = BearNote(f"# Day\n\n{FILLER}\n\n{FILLER}{line}\n\n{FILLER}")
    typed = "😱" if "😱" in line else "14.12.2023"
    assert typed in shown(index_notes([note]), typed)["Day"].text


def test_a_name_is_shown_where_it_stands_verbatim(index_notes):
    note = BearNote(
        f"# Code\n\n{'A, B, C, a C, the C. ' * 30}\n\n{FILLER * 2}\n\nIt is in C++ now."
    )
    assert "C++" in shown(index_notes([note]), "C++")["Code"].text


def test_an_answer_far_from_the_closest_passage_is_shown(index_notes):
    lost = "Nothing of interest was said about the long winter on that day. " * 12
    text = (
        f"# Winter\n\nLong, long winter, long winter.\n\n{lost}\n\n{lost}\n\nAda repaired a sledge."
    )
    hit = shown(index_notes([BearNote(text)]), "winter sledge", "hybrid")["Winter"]
    assert "Ada repaired a sledge." in hit.text


def test_words_far_into_a_text_without_punctuation_are_shown(index_notes):
    said = "and then we talked about the weather for quite a while " * 30
    text = f"# Dictated\n\n{said}and ada repaired the boiler {said}"
    hit = shown(index_notes([BearNote(text)]), "boiler")["Dictated"]
    assert "ada repaired the boiler" in hit.text


def test_a_short_text_is_shown_whole_instead_of_its_best_sentences(index_notes):
    text = (
        f"# Pump\n\nIt was in {'May, and in ' * 60}June. {'Ada saw the gauge fall, ' * 12}at last."
    )
    hit = shown(index_notes([BearNote(text)]), "gauge fall")["Pump"]
    assert hit.text.startswith("…")
    assert "and in June. Ada saw" in hit.text
    assert hit.text.endswith("at last.")


def test_no_half_link_is_shown(index_notes):
    text = f"# Pump\n\nThe gauge. {'And so on ' * 58}[[A note with a long name]] {'and on ' * 90}."
    assert "[[" not in shown(index_notes([BearNote(text)]), "gauge")["Pump"].text


def test_no_sentence_ends_inside_of_a_link(index_notes):
    links = "- [Is that a pump? (2022)](https://pumps.example/2022) for the cellar.\n" * 30
    for hit in shown(index_notes([BearNote(f"# Pumps\n\n{links}")]), "pump 2022").values():
        assert "](" not in hit.text


@pytest.mark.parametrize("mark", ["- ", "* ", "12. ", "> - ", "- [ ] ", "  - [", "- x - ["])
def test_a_list_item_of_which_only_the_marker_fits_is_not_shown(index_notes, mark):
    for length in range(8):
        items = f"{mark}{'a' * length} pump, with a long way home\n" * 40
        [hit] = shown(index_notes([BearNote(f"# List\n\n{items}")]), "pump").values()
        assert not re.search(r"([-*>\[\]]|\b12\.)…$", hit.text)


@pytest.mark.parametrize(
    "text",
    [
        f"{'It rains. ' * 40}The pump has a gauge of brass. {'It snows. ' * 40}",
        f"{'It rains. ' * 20}The pump has a gauge of brass. {'It snows. ' * 10}",
        f"- It rains all day\n{'- and all night' * 30}\n- a pump, and a gauge of brass",
    ],
)
def test_the_best_sentences_are_shown_first(index_notes, text):
    hit = shown(index_notes([BearNote(f"# Yard\n\n{text}")]), "pump gauge brass")["Yard"]
    start, end = lead(hit.snippet)
    assert start
    assert "gauge of brass" in hit.snippet.text[start:end]


@pytest.mark.parametrize(
    ("best", "expected"),
    [
        ("```pump gauge of brass\nlevel = 3 * x * y\n```", "level = 3 * x * y"),
        ("| pump | gauge | brass |\n|---|---|---|\n| 1 | 2 | 3 |", "gauge | brass / 1 | 2 | 3"),
    ],
)
def test_code_and_tables_are_shown_as_such_where_they_are_best(index_notes, best, expected):
    text = f"{'It rains. ' * 40}\n\n{best}\n\n{'It snows. ' * 50}"
    hit = shown(index_notes([BearNote(f"# Yard\n\n{text}")]), "pump gauge brass")["Yard"]
    assert expected in hit.text


def test_html_is_found_and_shown_only_in_code(index_notes):
    path = index_notes(
        [
            BearNote('# Footer\n\n<span class="footer">\nEdit <b>it</b></span> <!-- todo -->'),
            BearNote("# The <span> element\n\nIt has no meaning."),
            BearNote("# Markup\n\nAn element such as `<span>` has no meaning.\n\n```\n<b>\n```"),
        ]
    )
    assert [*shown(path, "span")] == ["The <span> element", "Markup"]
    assert shown(path, "edit")["Footer"].text == "Edit it"


def test_words_are_marked_in_code_with_html(index_notes):
    path = index_notes([BearNote("# Pump\n\nThe pump in it.\n\n```\n<b>pump</b>\n```\n\nA pump.")])
    expected = "The ⦗pump⦘ in it.\n⟬<b>⟭⟬⦗pump⦘⟭⟬</b>⟭\nA ⦗pump⦘."
    assert with_marks(shown(path, "pump")["Pump"].snippet) == expected


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_passage_within_long_code_keeps_its_markup(index_notes, fence):
    code = "\n".join(f"echo {n} is <b>{n * 7}</b>" for n in range(150))
    path = index_notes([BearNote(f"# Log\n\n{fence}sh\n{code}\necho <b>boiler</b>\n{fence}\n")])
    assert "echo <b>boiler</b>" in shown(path, "boiler")["Log"].text


def test_text_after_long_code_is_not_code(index_notes):
    code = "\n".join(f"insert into readings values ({n}, 'cellar', {n * 7});" for n in range(80))
    prose = "The `pump` runs at night.\n\n```\nstart boiler --now\n```\n\n" + "Then it rests. " * 99
    path = index_notes([BearNote(f"# Log\n\n```sql\n{code}\n```\n\n## Heat\n\n{prose}")])
    snippet = with_marks(shown(path, "start boiler")["Log"].snippet)
    assert "The ⟬pump⟭ runs at night.\n⟬⦗start⦘⟭⟬ ⟭⟬⦗boiler⦘⟭⟬ --now⟭" in snippet


def test_a_word_is_found_in_a_compound(index_notes):
    filler = "Davon sprach an diesem Tag keiner. " * 30
    text = f"# Amazonas\n\n{filler}Am Fluss steht ein Laubwald. {filler}"
    hit = shown(index_notes([BearNote(text)]), "Amazonas Wald")["Amazonas"]
    assert "Laubwald" in hit.text


def test_words_are_marked_by_their_stems_in_title_tags_and_text(index_notes):
    hits = shown(index_notes(NOTES), "boiler doors")
    room = hits["The boiler room"]
    assert with_marks(room.marked_title) == "The ⦗boiler⦘ room"
    assert [*map(with_marks, room.marked_tags)] == ["home", "home/⦗boiler⦘"]
    assert with_marks(room.snippet) == "Its ⦗door⦘ squeaks."
    assert "The ⦗boilers⦘ lost pressure" in with_marks(hits["Heating"].snippet)


def test_a_match_in_an_image_or_file_says_so(index_notes):
    hit = shown(index_notes(NOTES), "ventilate")["Whiteboard"]
    assert hit.file == "b.png"
    assert with_marks(hit.snippet) == "⦗Ventilate⦘ on Sunday"


def test_parts_of_words_are_marked_where_they_are_searched_for(index_notes):
    path = index_notes(NOTES)
    assert "A ⦗cat⦘egory" in with_marks(shown(path, "cat", "like")["Concatenating"].snippet)
    assert not shown(path, "category own")["Concatenating"].marked_title.spans


def test_an_encrypted_note_shows_no_text(index_notes):
    assert shown(index_notes(NOTES), "locked")["Locked"].text == ""


def test_a_list_shows_how_its_notes_begin(index_notes):
    snippet = shown(index_notes(NOTES), "created:2000..")["Heating"].text
    assert snippet.startswith("Nothing of interest")
    assert len(snippet) <= 250


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("- milk\n- [ ] bread\n- [x] *eggs*", "milk · ☐ bread · ☑ eggs"),
        ("1. first\n2. second\nThen more.", "1. first · 2. second\nThen more."),
        ("| Year | kWh |\n|---|---|\n| 2021 | 41,870 |", "Year | kWh / 2021 | 41,870"),
        ("| [[Roof\\|Slates]] | [[Well#Pump|its pump]] | a \\| b |", "Slates | its pump | a | b"),
        ("- milk\n| Year |\n| 2021 |\n- eggs\n\n- jam", "milk\nYear / 2021\neggs · jam"),
        ("Run:\n```sh\n# restart\nrm *.log\n```\nDone.", "Run:\n⟬# restart\nrm *.log⟭\nDone."),
        ("Set `a_*` to **1**", "Set ⟬a_*⟭ to 1"),
        (
            "#home/garden #todo\nSee [the plan](https://x.org/a_b) and [[Shed|it]]",
            "See the plan and it",
        ),
        ("Unclosed `code and ```` ticks", "Unclosed code and ticks"),
        ("<span class='x'>green</span>er<br>grass <!-- not here -->", "greener grass"),
        ('<p align="center">\n<img src="a.png" alt="A frog" width=9>\n</p>', "A frog"),
        (
            "`<b>` in List<String> of <me@b.example> 1 < 2",
            "⟬<b>⟭ in List<String> of <me@b.example> 1 < 2",
        ),
        ("See <https://b.example/a_b>, `<x://y>`", "See https://b.example/a_b, ⟬<x://y>⟭"),
    ],
)
def test_markdown_keeps_its_structure_in_few_lines(markdown, text):
    assert with_marks(readable(markdown)) == text


def test_a_passage_is_shown_without_its_heading_unless_there_is_nothing_else():
    text = "## Heating\n\nThe *boiler* lost pressure.\nSue came."
    passage = MatchedPassage(text, "House › Heating", 0, len(text))
    assert passage_text(passage, "House log") == "The *boiler* lost pressure.\nSue came."
    only = MatchedPassage("## Heating", "House › Heating", 0, 10)
    assert passage_text(only, "House log") == "## Heating"


def test_a_long_text_is_cut_between_words():
    assert shortened("one two three", 9) == "one two…"
    assert shortened("one two", 9) == "one two"
    assert (
        shortened("see [[Cabin log, 2024]] and [[The left knee]]", 38)
        == "see [[Cabin log, 2024]] and…"
    )
    assert with_marks(shortened(MarkedText.read("⟬one two three⟭"), 10)) == "⟬one two⟭…"


PASSAGE = "We met at nine. The boiler lost pressure again. Sue brought the good biscuits."


@pytest.mark.parametrize(
    ("text", "cut"),
    [("End. And more", "End. …"), ("End and more", "End…"), ("End… more", "End…")],
)
def test_an_ellipsis_is_no_fourth_dot(text, cut):
    assert shortened(text, 5) == cut
    assert shortened(MarkedText(text), 5).text == cut


@pytest.mark.parametrize("tags", ["#cabin #cabin/tools\n\n", "#cabin\n"])
def test_no_ellipsis_stands_for_tags(index_notes, tags):
    others = "The lamp is lit. The path is wet. " * 20
    path = index_notes([BearNote(f"# Shed\n{tags}The shovel is bent. {others}")])
    text = shown(path, "which shovel is bent", "hybrid")["Shed"].text
    assert text.startswith("The shovel is bent.")


def sentence(query: str, passage: str, embedder: Embedder) -> str | None:
    [scores] = sentence_scores(query, [passage], embedder)
    best = max(scores, key=lambda span: scores[span], default=None)
    return passage[slice(*best)] if best and len(scores) > 1 and scores[best] else None


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
        ("Call the plumber now.", None),  # the whole text would be marked
        ("", None),
        ("Yes. No.", None),
        (
            "One two three. On May 6. Ann may call the plumber. Four.",
            "On May 6. Ann may call the plumber.",
        ),
        ("One two three. Call J. Smith the plumber. Four five six.", "Call J. Smith the plumber."),
        (
            "One two three four. Call the plumber at 0.8. Five six seven.",
            "Call the plumber at 0.8.",
        ),
    ],
)
def test_sentences_begin_and_end_where_they_should(tiny, passage, expected):
    assert sentence("call plumber", passage, tiny) == expected


@given(query=st.text(max_size=40), passage=st.text(max_size=200))
def test_a_sentence_lies_within_any_text(query, passage):
    [scores] = sentence_scores(query, [passage], TinyEmbedder("test/pieces"))
    for start, end in scores:
        assert 0 <= start < end <= len(passage)
        assert passage[start:end] == passage[start:end].strip()


def found(sidecar_path, query: str, mode: str = "hybrid") -> tuple[Found[FoundNote], Embedder]:
    connection = database.connect(sidecar_path)
    search_connection.register(connection)
    search_connection.register_embed(connection)
    planned = plan(connection, parse(query, mode))
    state = database.read_state(connection)
    embedder = registry.get_embedder(state.model)
    embedder.embed_query(planned.terms.meaning)
    return retrieve(connection, planned, semantic=mode != "keyword"), embedder


def test_the_offsets_count_characters_of_the_body(write, bear_index, sidecar_path):
    body = f"# House log\n\nÄrger & Grüße 🐻.\n\n{PASSAGE}"
    write(BearNote(body))
    bear_index()
    results, embedder = found(sidecar_path, "lost the boiler pressure")
    [hit] = show(results, embedder).hits
    [(stored,)] = database.connect(sidecar_path).execute("select body from notes").fetchall()
    sentence = "The boiler lost pressure again."
    assert stored[slice(*hit.sentence)] == sentence
    html = hit.snippet.html(KINDS)
    assert re.sub("</?mark>", "", html).count('<span class="bear-sentence">') >= 1


@pytest.mark.parametrize("query", ["boiler", "boiler pressure"])
def test_a_query_of_one_or_two_words_marks_no_sentence(write, bear_index, sidecar_path, query):
    write(BearNote(f"# House log\n\n{PASSAGE}"))
    bear_index()
    [hit] = show(*found(sidecar_path, query)).hits
    assert hit.sentence is None
    assert "⦗boiler⦘" in with_marks(hit.snippet)


class Wordless(TinyEmbedder):
    """A model without embeddings of word pieces."""

    open_word_pieces = Embedder.open_word_pieces


def test_a_model_without_word_pieces_marks_nothing(write, bear_index, sidecar_path):
    write(BearNote(f"# House log\n\n{PASSAGE}"))
    bear_index()
    results, _ = found(sidecar_path, "lost the boiler pressure")
    wordless = Wordless("test/wordless")
    with pytest.raises(ModelUnavailable, match="no vectors of word pieces"):
        wordless.pieces(["boiler"])
    [hit] = show(results, wordless).hits
    assert hit.sentence is None
    assert "⦗boiler⦘" in with_marks(hit.snippet)


def test_the_real_model_finds_the_sentence_that_shares_no_word():
    passage = (
        "The kitchen got its new shelf. Our furnace stopped heating in the cold night. "
        "Lunch was soup with bread. The neighbors painted their fence."
    )
    model = registry.get_embedder(BUNDLED)
    assert sentence("broken boiler in winter", passage, model) == (
        "Our furnace stopped heating in the cold night."
    )


WRAPPED = """Every line of this paragraph ends where the column ended, somewhere after the
word that still had room, and [a link whose label is wrapped over the end of a
line](https://example.org/a) goes on. The roofer wants 8,400 dollars for the
new panels.

- a list item of which
  the second line goes on
"""
POEM = "Nature's first green is gold,\nHer hardest hue to hold.\nHer early leaf's a flower;\nBut"


@pytest.mark.parametrize(
    ("text", "by_default", "is_soft"),
    [
        (WRAPPED, True, True),
        (WRAPPED, False, True),
        ("One line.\nAnother line.", True, True),
        ("One line.\nAnother line.", False, False),
        (POEM, True, False),
        (POEM, False, False),
        ("", True, True),
        (f"{'A long paragraph of an app that wraps. ' * 4}\nAnother one.", False, False),
        ("- [ ] an errand that is about as long as a wrapped line of text is\n" * 5, False, False),
    ],
)
def test_a_notes_lines_tell_whether_its_breaks_are_soft(text, by_default, is_soft):
    assert markdown.breaks_are_soft(text, by_default=by_default) is is_soft


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one\ntwo\n\nthree", ["one two", "", "three"]),
        ("# one\ntwo", ["# one", "two"]),
        ("- one\n  two\n- three", ["- one   two", "- three"]),
        ("> one\n> two\n> - three\n>\n> four", ["> one   two", "> - three", ">", "> four"]),
        ("> one\n\ntwo", ["> one", "", "two"]),
        ("one  \ntwo\\\nthree", ["one  ", "two\\", "three"]),
        ("one\n```\ntwo\nthree\n```\nfour", ["one", "```", "two", "three", "```", "four"]),
        ("| one | two |\n| - | - |\n| a | b |", ["| one | two |", "| - | - |", "| a | b |"]),
        ("#tag #more\none\n---\ntwo", ["#tag #more", "one", "---", "two"]),
    ],
)
def test_lines_of_a_paragraph_are_joined(text, lines):
    assert markdown.joined(text).split("\n") == lines


@given(st.text("ab \n>-#|`~*1.\\", max_size=60))
def test_joining_lines_keeps_offsets(text):
    joined = markdown.joined(text)
    assert len(joined) == len(text)
    assert joined.split() == text.split() or ">" in text


def test_a_soft_break_ends_neither_a_sentence_nor_a_link(tmp_path, bear_index, sidecar_path):
    write_files(tmp_path / "til", {"roof.md": f"# Roof\n\n{WRAPPED}", "b.md": f"# Poem\n\n{POEM}"})
    bear_index(path=tmp_path / "til")
    [roof] = shown(sidecar_path, "roofer").values()
    assert "](" not in roof.text
    assert "a link whose label is wrapped over the end of a line goes on." in roof.text
    assert "\n" not in roof.text.partition("panels.")[0]
    assert "is gold,\nHer hardest" in shown(sidecar_path, "hardest")["Poem"].text


def test_rows_of_a_table_are_told_apart():
    table = "| Who | Where |\n|---|---|\n| Olu | Lagos |\n| Ada | London |\n\nText"
    assert readable(table).text == "Who | Where / Olu | Lagos / Ada | London\nText"


ERRANDS = f"""# Errands

{FILLER}

- [x] buy nails
- [ ] call the *roofer*
1. [ ] pay the bill
- TODO water the beans

![The old roof](files/roof.png) ![[plan of the shed.jpg|300]] <img src="x/door.webp">
See [the offer](https://roofs.example/a?b=c), https://weather.example/oslo. and [[Beans|beans]].

```sh
- [ ] no to-do
```
"""


@pytest.mark.parametrize(
    ("text", "snippet"),
    [
        ("is:todo", "☐ call the roofer · ☐ pay the bill · ☐ water the beans"),
        ("has:todo beans", "☐ water the beans · ☐ call the roofer · ☐ pay the bill"),
        ("has:image", "The old roof · plan of the shed.jpg · door.webp"),
        ("has:link", "the offer (roofs.example) · beans · weather.example/oslo"),
        ("has:code", "- [ ] no to-do"),
    ],
)
def test_a_search_for_a_kind_of_thing_shows_those(
    tmp_path, bear_index, sidecar_path, text, snippet
):
    write_files(tmp_path / "notes", {"errands.md": ERRANDS, "Beans.md": "Beans"})
    bear_index(path=tmp_path / "notes")
    assert shown(sidecar_path, text)["Errands"].text == snippet


def test_a_note_found_by_its_title_shows_its_beginning(index_notes):
    path = index_notes([BearNote(f"# The cabin\n\nFirst of all. {FILLER}\n\n## Lamps\n\n{FILLER}")])
    for mode in ("keyword", "hybrid"):
        assert shown(path, "cabin", mode)["The cabin"].text.startswith("First of all.")
