"""Where notes are cut, what is embedded, and that no body breaks chunking."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasette_bear_search.index.run.chunking import (
    MAX_TOKENS,
    TAIL_WORDS,
    TARGET_WORDS,
    Passage,
    estimated_tokens,
    line_hash,
    passages,
)


def texts(body: str, title: str = "", **options: int) -> list[str]:
    return [passage.text for passage in passages(title, body, **options)]


def raw(body: str, title: str = "") -> list[str]:
    return [body[passage.start : passage.end] for passage in passages(title, body)]


def embedded(body: str) -> str:
    """Return the embedded text of a body that is short enough for one passage."""
    [text] = texts(body)
    return text


def words(count: int, word: str = "word") -> str:
    """A sentence."""
    return " ".join([word] * (count - 1) + ["end."])


def sentences(count: int) -> str:
    """Ten words each."""
    return " ".join([words(10)] * count)


# What a passage is


def test_a_short_note_is_one_passage_with_its_title():
    line = "Lentils and cumin."
    assert passages("Soup", line) == [Passage(0, (), 0, 18, "Soup", (line,), (line_hash(line),))]


@pytest.mark.parametrize("body", ["", "\n \n", "![](photo.png)", "#food #recipes/soup", "---"])
def test_a_note_without_words_is_found_by_its_title(body):
    assert passages("Soup", body) == [Passage(0, (), 0, 0, "Soup")]


@pytest.mark.parametrize("body", ["", "\n", "![](photo.png)"])
def test_a_note_without_words_and_title_has_no_passage(body):
    assert passages(" ", body) == []


def test_offsets_leave_out_the_blanks_around_a_passage():
    assert raw("\n\n  Lentils.\n\n# Shopping\n\nCumin.\n\n") == ["Lentils.", "# Shopping\n\nCumin."]


def test_the_content_hash_changes_with_the_text_and_with_nothing_else():
    [one] = passages("Soup", "Lentils.")
    [moved] = passages("Soup", "\n\nLentils.")
    [other] = passages("Soup", "Lentils!")
    assert one.content_hash == moved.content_hash != other.content_hash


# Headings


def test_a_heading_belongs_to_the_text_below_it():
    body = "Lentils.\n\n## Shopping\n\nCumin.\n\n## Cooking\nSimmer."
    assert raw(body) == ["Lentils.", "## Shopping\n\nCumin.", "## Cooking\nSimmer."]
    assert texts(body, "Soup") == [
        "Soup\nLentils.",
        "Soup › Shopping\nCumin.",
        "Soup › Cooking\nSimmer.",
    ]


def test_headings_nest_by_their_level():
    body = "# A\na\n### B\nb\n## C\nc\n### D\nd\n# E\ne"
    assert [passage.headings for passage in passages("", body)] == [
        ("A",),
        ("A", "B"),
        ("A", "C"),
        ("A", "C", "D"),
        ("E",),
    ]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Plain", "Plain"),
        ("###### Deep", "Deep"),
        ("   ## Indented", "Indented"),
        ("## Closed ##", "Closed"),
        ("## C#", "C#"),
        ("#\tTab", "Tab"),
        ("# **Bold** and `code`", "Bold and code"),
        ("# [Link](https://x.org) to [[Note|it]]", "Link to it"),
        ("# With #tag", "With #tag"),
        ("# Windows\r", "Windows"),
        ('# <span style="color:rgb(255, 77, 77)">Red</span> and `<b>`', "Red and <b>"),
    ],
)
def test_headings_are_plain_text(line, heading):
    [passage] = passages("", f"{line}\ntext")
    assert passage.headings == (heading,)
    assert passage.text == f"{heading}\ntext"


@pytest.mark.parametrize("line", ["#tag and text", "####### seven", "#", "text # text", "\\# text"])
def test_text_that_only_looks_like_a_heading_is_not_one(line):
    [passage] = passages("", f"{line}\ntext")
    assert passage.headings == ()


def test_headings_with_nothing_below_them_are_text_of_the_heading_above():
    body = "# Trip\n## Pack\n## Book\n## Go\nAt noon."
    assert texts(body, "Plans") == ["Plans › Trip\nPack\nBook", "Plans › Trip › Go\nAt noon."]
    assert raw(body) == ["# Trip\n## Pack\n## Book", "## Go\nAt noon."]


def test_a_heading_at_the_end_is_not_lost():
    assert texts("Lentils.\n\n## Shopping", "Soup") == ["Soup\nLentils.\nShopping"]


def test_the_title_is_not_a_heading_of_its_own_note():
    [passage] = passages("Soup", "# Soup\n\nLentils.")
    assert (passage.headings, passage.text) == ((), "Soup\nLentils.")


def test_two_sections_of_the_same_name_stay_apart():
    assert texts("## Log\none\n## Log\ntwo") == ["Log\none", "Log\ntwo"]


def test_a_huge_title_is_shortened_so_that_the_text_has_room():
    [text] = texts("Lentils.", "Soup " * 1000)
    title, _, body = text.partition("\n")
    assert body == "Lentils."
    assert title.startswith("Soup Soup")
    assert title.endswith("…")
    assert estimated_tokens(title) <= MAX_TOKENS / 3


# Where it is cut


def test_paragraphs_are_gathered_up_to_the_target():
    body = "\n\n".join([words(30)] * 7)
    assert [text.count("end.") for text in raw(body)] == [3, 3, 1]


def test_paragraphs_stay_whole_if_they_are_not_much_longer_than_the_target():
    body = f"{words(TARGET_WORDS + 20)}\n\n{words(TARGET_WORDS)}"
    assert raw(body) == [words(TARGET_WORDS + 20), words(TARGET_WORDS)]


def test_a_long_paragraph_is_cut_between_sentences():
    found = raw(sentences(30))
    assert all(text.endswith("end.") for text in found)
    assert [len(text.split()) for text in found] == [100, 100, 100]


def test_a_long_list_is_cut_between_items():
    items = [f"- {words(8)} {words(9)}" for _ in range(20)]
    found = raw("\n".join(items))
    assert len(found) > 2
    assert [line for text in found for line in text.splitlines()] == items


def test_a_long_table_is_cut_between_rows():
    found = raw("\n".join([f"| {'word ' * 10} | {'word ' * 10} |"] * 20))
    assert len(found) > 2
    assert all(text.startswith("|") and text.endswith("|") for text in found)


def test_lines_without_punctuation_are_cut_at_their_ends():
    found = raw("\n".join(["a line of words that ends without any mark at all " * 2] * 20))
    assert len(found) > 2
    assert all(text.startswith("a line") and text.endswith("at all") for text in found)


def test_a_text_without_any_punctuation_is_cut_between_words():
    found = raw("word " * 1000)
    assert all(len(text.split()) <= TARGET_WORDS + 50 for text in found)
    assert " ".join(found).split() == ["word"] * 1000


def test_chinese_is_cut_after_its_own_marks():
    found = raw("今天天气很好，我们去公园散步吧。" * 50)
    assert len(found) > 2
    assert all(text.endswith("。") for text in found)


def test_an_endless_word_is_cut_anywhere():
    assert "".join(raw("x" * 10_000)) == "x" * 10_000


def test_a_short_tail_joins_the_passage_before_it():
    body = f"{words(TARGET_WORDS)}\n\n{words(TAIL_WORDS - 1)}"
    assert raw(body) == [body]


def test_a_short_tail_stays_alone_under_a_heading_of_its_own():
    assert len(raw(f"{words(TARGET_WORDS)}\n\n## Tail\n\nShort.")) == 2


# Code


def fence(lines: int, line: str = "x = 1", marks: str = "```") -> str:
    return "\n".join([f"{marks}python", *[line] * lines, marks])


def test_code_is_embedded_as_it_is_without_its_marks():
    code = "def f(**kw):\n\n    # no heading\n    return kw['__a__']  | 1"
    assert embedded(f"```python\n{code}\n```") == f"python\n{code}"


@pytest.mark.parametrize(
    "body",
    [
        "```\n# code\n```\n# Heading\ntext",
        "~~~\n# code\n```\n# code\n~~~\n# Heading\ntext",
        "````\n```\n# code\n```\n````\n# Heading\ntext",
        "   ```sh\n   # code\n   ```\n# Heading\ntext",
        "- item\n\n      ```\n      # code\n      ```\n# Heading\ntext",
        "1. ```\n   # code\n   ```\n# Heading\ntext",
        "> ```\n> # code\n> ```\n# Heading\ntext",
        "```\r\n# code\r\n```\r\n# Heading\r\ntext",
    ],
)
def test_code_has_no_headings(body):
    assert [passage.headings for passage in passages("", body)] == [(), ("Heading",)]


def test_a_fence_that_is_not_closed_goes_on_to_the_end():
    assert embedded("```\na\n\n# b\n[c](d)") == "a\n\n# b\n[c](d)"


def test_inline_code_in_three_backticks_opens_no_fence():
    assert embedded("```code``` and **more**") == "code and more"


def test_code_that_the_model_can_take_stays_whole():
    code = fence(60)
    assert code in raw(f"{sentences(9)}\n\n{code}\n\n{sentences(9)}")


def test_code_that_is_too_long_is_cut_between_lines():
    found = texts(fence(200, "call(a, b)"))
    assert len(found) > 2
    assert all(set(text.splitlines()) <= {"python", "call(a, b)"} for text in found)


# What is embedded


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("**bold** *it* _it_ __bold__ ***both***", "bold it it bold both"),
        ("==marked== ~~gone~~ `code`", "marked gone code"),
        ("称为==相位==的 x==y", "称为相位的 x==y"),
        ("允许**在结构**中 a*b*c, 2**3", "允许在结构中 a*b*c, 2**3"),
        ("这**“特例”与“通解”**的关系", "这“特例”与“通解”的关系"),
        ("파일**(중요)**은 имя_моей_переменной", "파일(중요)은 имя_моей_переменной"),
        ("==**both**== **_both_** ~underlined~ ~5 or ~6", "both both underlined ~5 or ~6"),
        (r"\*no emphasis\* and \#no tag", "*no emphasis* and #no tag"),
        ("snake_case 2 * 3 a*b 2**8 x == y", "snake_case 2 * 3 a*b 2**8 x == y"),
        ("[text](https://x.org/a_(b)?c \"Title\")", "text"),
        ("[see [1]](x) and [a.pdf](my%20a.pdf)<!-- {\"embed\":\"true\"} -->", "see [1] and a.pdf"),
        ("![a cat](cat.png)<!-- {\"width\":388} --> sleeps", "a cat sleeps"),
        ("[![badge](b.svg)](https://ci.org) text", "badge text"),
        ("[[Soup]] or [[Soup/Cooking|how to cook]]", "Soup or how to cook"),
        ("a claim[^1]\n\n[^1]: its proof", "a claim\nits proof"),
        ("<!-- a comment --> text", "text"),
        ("- one\n* two\n+ three\n1. four", "one\ntwo\nthree\n1. four"),
        ("- [ ] open\n- [x] done\n  - [X] below", "open\ndone\nbelow"),
        ("> said\n> > before", "said\nbefore"),
        ("> [!WARNING] hot\n> stove", "hot\nstove"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a b\n1 2"),
        ("above\n\n---\n\nbelow\n* * *", "above\nbelow"),
        ("text\n#tag #a/b #two words# #closed#\nmore", "text\nmore"),
        ("#tag in a line with text", "#tag in a line with text"),
        ("many   blanks\t\there\n\n\n\nand lines", "many blanks here\nand lines"),
        ("Windows\r\n#tag\r\n- lines\r\n", "Windows\nlines"),
        ("[ ] array[0] (aside)", "[ ] array[0] (aside)"),
        ("half a surrogate \ud83c", "half a surrogate \ud83c"),
    ],
)  # fmt: skip
def test_markup_is_not_embedded(markdown, plain):
    assert embedded(markdown) == plain


def test_an_image_that_is_data_takes_no_room():
    assert embedded(f"before ![](data:image/png;base64,{'A' * 100_000}) after") == "before after"


@pytest.mark.parametrize("end", ["---", "..."])
def test_front_matter_is_left_out(end):
    body = f"---\ntags: [a, b]\ndate: 2024-05-01\n{end}\n\nLentils."
    assert (texts(body), raw(body)) == (["Lentils."], ["Lentils."])


def test_text_between_two_rules_is_not_front_matter():
    assert embedded("---\nThese are words.\n---\nLentils.") == "These are words.\nLentils."


# Tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("the", 1),
        ("lentils", 3),
        ("2024-05-01", 10),
        ("don't", 3),
        ("今天", 2),
        ("한국", 6),
        ("café", 2),
        ("a\n\tb", 2),
    ],
)
def test_tokens_are_estimated_without_a_tokenizer(text, tokens):
    assert estimated_tokens(text) == tokens


def test_a_model_that_reads_less_gets_shorter_passages():
    short = texts(sentences(30), "Title", max_tokens=64)
    assert len(short) > len(texts(sentences(30), "Title"))
    assert all(estimated_tokens(text) <= 64 for text in short)


# Any body

MARKDOWN = st.lists(
    st.sampled_from(
        [
            *" \n\t\0\u3000\ud83c#*_`|[]()=é漢한🍎。",
            *["# ", "## ", "#tag", "\n\n", "\r\n", "- ", "- [ ] ", "> ", "```", "~~~", "**", "=="],
            *["---\n"],
            *["](", "[[", "]]", "![", "<!--", "-->", "[^1]", "a: b\n", ". ", "word"],
            *["Sentence here. "],
            *["word " * 40, "x" * 90, words(120), "0123456789" * 20],
        ]
    ),
    max_size=60,
).map("".join)  # fmt: skip
ANY_TEXT = st.one_of(MARKDOWN, st.text(max_size=400))


@given(title=ANY_TEXT, body=ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_passages_are_in_order_and_never_overlap(title, body):
    end = 0
    for position, passage in enumerate(found := passages(title, body)):
        assert passage.position == position
        assert end <= passage.start
        assert passage.start < passage.end or len(found) == 1
        end = passage.end
    assert end <= len(body)


@given(body=ANY_TEXT)
@settings(max_examples=100, deadline=None)
def test_every_word_is_in_a_passage(body):
    end = 0
    for passage in passages("", body):
        assert passages("", body[end : passage.start]) == []
        end = passage.end
    assert passages("", body[end:]) == []


@given(title=ANY_TEXT, body=ANY_TEXT, max_tokens=st.sampled_from([32, 64, MAX_TOKENS, 512]))
@settings(max_examples=100, deadline=None)
def test_no_passage_is_longer_than_the_model_reads(title, body, max_tokens):
    for text in texts(body, title, max_tokens=max_tokens):
        assert estimated_tokens(text) <= max_tokens


@given(title=ANY_TEXT, body=ANY_TEXT)
@settings(deadline=None)
def test_the_same_note_is_always_cut_in_the_same_way(title, body):
    assert passages(title, body) == passages(title, body)


@pytest.mark.parametrize(
    "pattern",
    [
        *" \n\t\0\u3000x`*_=~[](-|>#。漢한🍎",
        *["](", "<!--", "# ", "#a ", "[a", "[a](", "[a](b", "![a](b)", "[[a|", "[[a]", "[^a", "* "],
        *["**a** "],
        *["- a\n", "> a\n", "a\n", "a\n\n", "```\n", "```\na\n```\n", "a. ", ".)", "---\na: b\n"],
        *["---\n"],
        *["| a ", "1. a\n", "[a [b] ", "[x](a(b)", "'\"", "# a ", "a*", "a**b ", "~a", "a~ "],
        *["\\\\"],
    ],
)  # fmt: skip
def test_cutting_strange_notes_takes_no_longer(pattern):
    body = pattern * (100_000 // len(pattern))
    started = time.process_time()
    passages("Title", body)
    passages("Title", f"a{body}x")
    assert time.process_time() - started < 3  # quadratic code would take many seconds
