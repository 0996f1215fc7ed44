"""A note's Markdown as HTML: what people see, what is marked, and that nothing runs.

Tests ``web/note_html/dialect.py``, ``web/note_html/callouts.py``, ``web/note_html/elements.py``,
``web/note_html/code.py``, ``web/note_html/formulas.py``, ``web/note_html/renderer.py`` and
``web/note_html/sanitizing.py``.
"""

import html as html_module
import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datasette_bear_search.notes import can_be_opened
from datasette_bear_search.web.note_html import dialect, renderer
from datasette_bear_search.web.note_html import render as note_html
from datasette_bear_search.web.note_html.render import render
from datasette_bear_search.web.note_html.renderer import References
from datasette_bear_search.web.pages.cards import open_link
from tests.support.pathological_markdown import hostile_text, pathological
from tests.support.unsafe_markdown import executable_parts, unsafe_notes

NOTES = {"Roof": "/note/1", "Roof/Ridge": "/note/1#h-ridge", "plans/Deck.md": "/note/2"}
NOTES["My shed"] = "/note/3"
REFERENCES = References(
    tags={"cabin": "/s?tag=cabin", "two words": "/s?tag=two+words", "work/2024": "/s?tag=work"},
    note=NOTES.get,
)


def html(body: str, **options) -> str:
    """Return the rendered body without the attributes that every paragraph or link has."""
    text = render(body, REFERENCES, **options).html
    text = text.replace(' rel="noopener noreferrer nofollow"', "").replace(' dir="auto"', "")
    return text.strip()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("*a* **b** ~~c~~", "<p><em>a</em> <strong>b</strong> <s>c</s></p>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("a ==b== c", '<p>a <mark class="bear-highlight">b</mark> c</p>'),
        ("称为==相位==的", '<p>称为<mark class="bear-highlight">相位</mark>的</p>'),
        ("**函数（PACF）**呈 *b*", "<p><strong>函数（PACF）</strong>呈 <em>b</em></p>"),
        ("这**“特例” `*`**的", "<p>这<strong>“特例” <code>*</code></strong>的</p>"),
        ("파일**(중요)**은", "<p>파일<strong>(중요)</strong>은</p>"),
        ("**(a)**b", "<p>**(a)**b</p>"),
        ("**高位**，做**龙头**。", "<p><strong>高位</strong>，做<strong>龙头</strong>。</p>"),
        ("a ::b *c*:: d", '<p>a <mark class="bear-highlight">b <em>c</em></mark> d</p>'),
        ("a ~b~ c", "<p>a <u>b</u> c</p>"),
        ("~a~ ~~b~~ ~c~", "<p><u>a</u> <s>b</s> <u>c</u></p>"),
        ("**a ==b== c**", '<p><strong>a <mark class="bear-highlight">b</mark> c</strong></p>'),
        ("x == y, std::map::at, ~5 or ~10", "<p>x == y, std::map::at, ~5 or ~10</p>"),
        ("==a *b== c*, ::d, ==e `f` ~g~==", '<p><mark class="bear-highlight">a *b</mark> c*, '
         '::d, <mark class="bear-highlight">e <code>f</code> <u>g</u></mark></p>'),
        ("===a=== :::b:::", "<p>===a=== :::b:::</p>"),
        ("a /path/ and/or b", "<p>a /path/ and/or b</p>"),
        ("text\n---\nmore", "<p>text</p>\n<hr>\n<p>more</p>"),
        ("a <b>c</b> &amp; <br> d", "<p>a <strong>c</strong> &amp; <br> d</p>"),
        ("3 < 4 > 2", "<p>3 &lt; 4 &gt; 2</p>"),
        ("`a <b>`", "<p><code>a &lt;b&gt;</code></p>"),
        ("```\nx = 1\n```", '<pre tabindex="0"><code>x = 1\n</code></pre>'),
        ("3. c\n4. d", '<ol start="3">\n<li>c</li>\n<li>d</li>\n</ol>'),
    ],
)  # fmt: skip
def test_text_is_shown_as_it_was_meant(body, expected):
    assert html(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("#cabin", '<a class="bear-tag" href="/s?tag=cabin">#cabin</a>'),
        ("#CABIN, then", '<a class="bear-tag" href="/s?tag=cabin">#CABIN</a>, then'),
        ("in #two words# here",
        'in <a class="bear-tag" href="/s?tag=two+words">#two words#</a> here'),
        ("#cabin #work/2024.", '<a class="bear-tag" href="/s?tag=cabin">#cabin</a> '
                               '<a class="bear-tag" href="/s?tag=work">#work/2024</a>.'),
        ("#other and issue#cabin and `#cabin`", "#other and issue#cabin and <code>#cabin</code>"),
        ("\\#cabin", "#cabin"),
        ("[see #cabin](https://a.example)", '<a href="https://a.example">see #cabin</a>'),
    ],
)  # fmt: skip
def test_the_notes_own_tags_lead_to_the_search_for_them(body, expected):
    assert html(body) == f"<p>{expected}</p>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("[[Roof]]", '<a href="/note/1">Roof</a>'),
        ("[[Roof ]]", '<a href="/note/1">Roof</a>'),
        ("[[Roof|the leak]]", '<a href="/note/1">the leak</a>'),
        ("[[Roof/Ridge|there]]", '<a href="/note/1#h-ridge">there</a>'),
        ("![[Roof]]", '<a href="/note/1">Roof</a>'),
        ("[the *shed*](My shed)", '<a href="/note/3">the *shed*</a>'),
        ("[a](b c) [d](e f", "[a](b c) [d](e f"),
        ("[the deck](plans/Deck.md)", '<a href="/note/2">the deck</a>'),
        ("[[Gone]]",
        '<span class="bear-missing" title="No note in the index has this title">Gone</span>'),
        ("`[[Roof]]`", "<code>[[Roof]]</code>"),
        ("[[]] [[a", "[[]] [[a"),
    ],
)  # fmt: skip
def test_wiki_links_lead_to_the_notes_that_they_name(body, expected):
    assert html(body) == f"<p>{expected}</p>"


@pytest.mark.parametrize(
    ("link", "label"),
    [
        ("[[Deck#Rail]]", "Deck › Rail"),
        ("[[Deck#^a1]]", "Deck › a1"),
        ("[[C# notes]]", "C# notes"),
        ("[[Deck#Rail|it]]", "it"),
    ],
)
def test_a_wiki_link_to_a_place_names_note_and_place(link, label):
    assert re.sub("<[^<>]+>", "", html(link)) == label


def test_a_wiki_link_with_a_label_stays_in_its_table_cell():
    rows = "| [[Roof|the leak]] | 2 |\n| `x\\|y` | 3 |\n| [[Roof\\|it]] | 4 |"
    table = html(f"| a | b |\n|---|--:|\n{rows}")
    assert re.findall("<td[^>]*>(.*?)</td>", table) == [
        '<a href="/note/1">the leak</a>',
        "2",
        "<code>x|y</code>",
        "3",
        '<a href="/note/1">it</a>',
        "4",
    ]
    assert 'class="bear-right"' in table


@pytest.mark.parametrize(
    ("body", "href"),
    [
        ("[a](https://x.example/?q=1&r=2)", "https://x.example/?q=1&amp;r=2"),
        ("https://x.example/a_b_c", "https://x.example/a_b_c"),
        ("<https://x.example>", "https://x.example"),
        ("(see https://x.example/a_(b).)", "https://x.example/a_(b)"),
        ("*https://x.example/a*", "https://x.example/a"),
        ("ask me@example.com", "mailto:me@example.com"),
        ("mailto:first_last@example.com.", "mailto:first_last@example.com"),
        ("[call](tel:5550139)", "tel:5550139"),
        ("[a](bear://x-callback-url/open-note?id=1)", "bear://x-callback-url/open-note?id=1"),
        ("bear://x-callback-url/open-note?id=1", "bear://x-callback-url/open-note?id=1"),
        ("[a](obsidian://open?vault=v)", "obsidian://open?vault=v"),
    ],
)
def test_addresses_become_links_that_tell_nobody_from_where(body, href):
    assert f'href="{href}" rel="noopener noreferrer nofollow"' in render(body, REFERENCES).html


@pytest.mark.parametrize("body", ["notes.md", "see v1.2.in", "[a](craftdocs://open)"])
def test_text_that_only_looks_like_an_address_is_not_a_link(body):
    assert "<a" not in html(body)


def test_links_may_have_the_scheme_of_the_notes_own_address():
    own = References(own_url="craftdocs://open?id=1")
    assert 'href="craftdocs://x"' in render("[a](craftdocs://x)", own).html
    for scheme in ("javascript", "search-ms", "file"):
        unsafe = References(own_url=f"{scheme}:alert(1)")
        assert "href" not in render(f"[a]({scheme}:alert(2))", unsafe).html


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("![](IMG%202041.jpg)<!-- {\"width\":420} -->", '<span class="bear-file">IMG '
        '2041.jpg</span>'),
        ("![the roof](roof.png)", '<span class="bear-file">the roof (roof.png)</span>'),
        ("[image:2F0C/roof.png]", '<span class="bear-file">roof.png</span>'),
        ("[file:2F0C/plan.pdf]", '<span class="bear-file">plan.pdf</span>'),
        ("[plan.pdf](plan.pdf)<!-- {\"embed\":\"true\"} -->",
        '<span class="bear-file">plan.pdf</span>'),
        ("![](data:image/png;base64,AAAA)",
        '<span class="bear-file">image inside of the note</span>'),
        ("![](https://x.example/a.png)",
        '<a class="bear-image" href="https://x.example/a.png">image from x.example</a>'),
        ("![sun](https://x.example/a.png)",
        '<a class="bear-image" href="https://x.example/a.png">sun (image from x.example)</a>'),
        ("[![](https://x.example/a.png)](https://y.example)",
        '<a href="https://y.example">image from x.example</a>'),
    ],
)  # fmt: skip
def test_images_and_files_are_named_and_never_loaded(body, expected):
    assert html(body) == f"<p>{expected}</p>"


def test_todos_are_boxes_that_nobody_can_tick():
    boxes = re.findall("<input[^>]*>", html("- [ ] ask\n- [x] done\n- [X] *too*\n- [y] no"))
    assert len(boxes) == 3
    assert all(" disabled" in box and 'type="checkbox"' in box for box in boxes)
    assert ["checked" in box for box in boxes] == [False, True, True]
    assert ["to do" in box for box in boxes] == [True, False, False]


def test_footnotes_are_linked_both_ways():
    text = html("It leaks[^1].\n\n[^1]: Since **May**.")
    assert '<a href="#fn1" id="fnref1">[1]</a>' in text
    assert '<li id="fn1"' in text
    assert "Since <strong>May</strong>." in text


def test_front_matter_is_not_a_heading():
    rendered = render("---\ntags: [a]\n---\n\nText", REFERENCES)
    assert rendered.outline == ()
    assert '<pre tabindex="0" class="bear-front-matter">tags: [a]</pre>' in rendered.html


def test_each_block_has_a_direction_of_its_own():
    text = render("# שלום\n\nhello\n\n- مرحبا\n\n> x\n\n|a|\n|-|\n|b|", REFERENCES).html
    for tag in ("h2", "p", "ul", "blockquote", "th", "td"):
        assert re.search(rf'<{tag}[^>]* dir="auto"', text), tag


# Outline


def test_the_outline_has_each_heading_with_its_place_on_the_page():
    body = (
        "intro\n\n## Plan <u>**for**</u> May\ntext\n\n### [[Roof|The roof]]\n\n"
        "## Plan for May\n\n## 計画\n\n## !"
    )
    rendered = render(body, REFERENCES)
    assert [(h.level, h.text, h.anchor) for h in rendered.outline] == [
        (2, "Plan for May", "h-plan-for-may"),
        (3, "The roof", "h-the-roof"),
        (2, "Plan for May", "h-plan-for-may-1"),
        (2, "計画", "h-計画"),
        (2, "!", "h-section"),
    ]
    for heading in rendered.outline:
        assert f'<h{heading.level} id="{heading.anchor}"' in rendered.html


def test_headings_stay_below_the_title_of_the_page():
    assert re.findall("<(h.)", html("# a\n## b\n###### c")) == ["h2", "h3", "h6"]
    assert re.findall("<(h.)", html("## b\n### c")) == ["h2", "h3"]


def test_ids_are_unique_whatever_the_headings_say():
    ids = re.findall(r' id="([^"]*)"', html("## a\n## a 2\n## a\n## a-2\n## a\n## passage"))
    assert len(set(ids)) == len(ids) == 6
    assert "passage" not in ids


# Passage


def marked_text(body: str, start: str, end: str) -> list[str]:
    """Return the text that is marked if the passage goes from ``start`` through ``end``."""
    span = (body.index(start), body.index(end) + len(end))
    rendered = render(body, REFERENCES, passage=span)
    assert rendered.has_passage
    assert rendered.html.count(' id="passage"') == 1
    blocks = re.finditer(
        r'<(p|h2|pre|div|span)(?= )[^>]*(?<=[ "])bear-match".*?</\1>', rendered.html, re.DOTALL
    )
    marked = [block[0] for block in blocks]
    assert ' id="passage"' in marked[0]
    return [" ".join(re.sub("<[^>]*>", " ", text).split()) for text in marked]


BODY = """First.

## Plan for May
Second, which is
on two lines.

- milk
- bread
  - brown
- [ ] eggs

> quoted

| a | b |
|---|---|
| 1 | 2 |
| 3 | 4 |

```
code
```

Last."""


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("First.", "First.", ["First."]),
        ("## Plan", "lines.", ["Plan for May", "Second, which is on two lines."]),
        ("on two", "lines.", ["Second, which is on two lines."]),
        ("- bread", "brown", ["bread", "brown"]),
        ("milk", "milk", ["milk"]),
        ("- [ ]", "quoted", ["eggs", "quoted"]),
        ("| 3", "code", ["a b 1 2 3 4", "code"]),
        ("Last.", "Last.", ["Last."]),
        ("First.", "Last.", ["First.", "Plan for May", "Second, which is on two lines.", "milk",
                             "bread", "brown", "eggs", "quoted", "a b 1 2 3 4", "code",
                             "Last."]),
    ],
)  # fmt: skip
def test_the_blocks_of_the_passage_are_marked_and_no_others(start, end, expected):
    assert marked_text(BODY, start, end) == expected


def test_the_passage_begins_at_a_row_of_its_table():
    start = BODY.index("| 3")
    rendered = render(BODY, REFERENCES, passage=(start, start + 5)).html
    assert re.search(r'<tr id="passage">\s*<td dir="auto">3', rendered)
    assert rendered.count("bear-match") == 1
    assert '<div class="bear-table bear-match"' in rendered


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (
            "Prices:\n<table>\n  <tr><th>Boat</th><th>Price</th></tr>\n<tr>\n<td>Dinghy</td>\n"
            "<td>300</td></tr>\n</table>\n\nafter",
            "<th>Boat</th><th>Price</th></tr><tr><td>Dinghy</td><td>300</td></tr></tbody></table>",
        ),
        (
            "<table><tr><td>\n\n**bold** cell\n\n</td><td>two</td></tr></table>\n\nafter",
            "<strong>bold</strong> cell</p>\n</td><td>two</td></tr></tbody></table>",
        ),
        ("<table>\n<tr><td>1\n\nafter", "1"),  # unclosed, it would move the rest
        ("a </td> b <td>\n\nafter", "a   b"),
    ],
)
def test_a_table_in_html_is_a_table(body, shown):
    rendered = html(body)
    assert shown in rendered
    assert rendered.endswith("<p>after</p>")
    assert ("<table>" in rendered) is ("</table>" in body)
    assert "<br>" not in rendered


@pytest.mark.parametrize(
    ("body", "title", "text"),
    [
        (":::note\nPaint.\n:::", "Note", "Paint."),
        (":::tip[Varnish]\nThree coats.\n:::", "Varnish", "Three coats."),
        (":::warning Not *now*\nWait.\n:::\n", "Not *now*", "Wait."),
        ("::: {.caution}\nWait.\n:::\n", "Caution", "Wait."),
        ("````text\n:::note\n```` ", None, ":::note"),
        ("::bright:: is no callout", None, "bright"),
    ],
)
def test_an_admonition_is_a_callout(body, title, text):
    rendered = html(body)
    callout = f'<p class="bear-callout-title">{title}</p>'
    assert (callout in rendered) is (title is not None)
    assert ("<blockquote" in rendered) is (title is not None)
    assert text in rendered


def test_a_heading_in_the_passage_keeps_its_place_in_the_outline():
    body = "## Plan\n\ntext"
    rendered = render(body, REFERENCES, passage=(0, len(body)))
    assert f'<h2 id="{rendered.outline[0].anchor}"' in rendered.html
    assert 'id="passage"' in rendered.html


@pytest.mark.parametrize("line_break", ["\r\n", "\r"])
def test_the_passage_is_found_whatever_ends_a_line(line_break):
    assert marked_text(BODY.replace("\n", line_break), "- bread", "brown") == ["bread", "brown"]


@pytest.mark.parametrize("passage", [None, (0, 0), (5, 5)])
def test_without_a_passage_nothing_is_marked(passage):
    rendered = render(BODY, REFERENCES, passage=passage)
    assert not rendered.has_passage
    assert "bear-match" not in rendered.html
    assert 'id="passage"' not in rendered.html


# Words


def test_words_are_marked_where_people_read_them_and_nowhere_else():
    body = (
        "The ROOF, roofs, [roof](https://roof.example) `roof()` [[Roof]] ![roof](roof.png) roofing"
    )
    text = html(body, words=frozenset(["roof"]))
    assert re.findall("<mark>(.*?)</mark>", text) == ["ROOF", "roof", "roof", "Roof"]
    assert 'href="https://roof.example"' in text


def test_marked_words_are_escaped():
    html = renderer.marked_words_html("<b>&\"'", frozenset(["b"]))
    assert html == "&lt;<mark>b</mark>&gt;&amp;&quot;&#x27;"


# Long notes

LONG = "\n\n".join(f"Paragraph {number}: " + "word " * 100 for number in range(2000))


def test_a_very_long_note_shows_its_beginning():
    rendered = render(LONG, REFERENCES)
    assert rendered.is_cut
    assert "Paragraph 0:" in rendered.html
    assert "Paragraph 1999:" not in rendered.html
    assert len(rendered.html) < 2 * note_html.MAX_RENDERED_CHARACTERS


@pytest.mark.parametrize("number", [0, 3, 1000, 1999])
def test_a_very_long_note_with_a_match_shows_the_text_around_it(number):
    start = LONG.index(f"Paragraph {number}:")
    rendered = render(LONG, REFERENCES, passage=(start, start + 20))
    marked = re.findall('class="bear-match"[^>]*>(Paragraph [0-9]+)', rendered.html)
    assert marked == [f"Paragraph {number}"]
    assert re.match("<p[^>]*>Paragraph", rendered.html)
    assert len(rendered.html) < 2 * note_html.MAX_RENDERED_CHARACTERS


@pytest.mark.parametrize("passage", [None, (0, 5), (500_000, 500_100), (999_990, 1_000_000)])
def test_a_long_text_without_paragraphs_is_cut_somewhere(passage):
    rendered = render("x" * 1_000_000, REFERENCES, passage=passage)
    assert rendered.is_cut
    most = note_html.MAX_RENDERED_CHARACTERS
    assert most // 4 < len(rendered.html) < 2 * most


# Safety


def test_nothing_that_people_paste_can_run():
    harmful = {
        body: parts
        for body in unsafe_notes()
        if (
            parts := executable_parts(
                render(body, REFERENCES, words=frozenset(["window", "x"])).html
            )
        )
    }
    assert harmful == {}


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", 'x" onclick="alert(1)', "data:text/html,x"]
)
@pytest.mark.parametrize("body", ["[[x]]", "[a](b)", "#cabin", "[a](javascript:alert(1))"])
def test_an_unsafe_address_of_a_note_or_tag_is_not_a_link(body, address):
    """Sources may give any URL, but nh3 cleans the renderer's output."""
    references = References({"cabin": address}, lambda target: address, own_url=address)
    parts = executable_parts(render(body, references).html)
    assert [part for part in parts if part != f"<a href={address!r}>" or ":" in address] == []


def test_the_inspector_of_these_tests_finds_what_would_run():
    for text in (
        "<script>",
        "<p onclick=x>",
        "<a href='javascript:x'>",
        "<a href='//x'>",
        "<!--x-->",
        "<img>",
    ):
        assert executable_parts(text), text


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("a #[]()!<>\"'`*_~=:|-\n/\\&;x^1.@\t🐻א"), max_size=80))
@example("[[" * 40)
@example("![" * 40)
@example("\x1f|\x1f\n|-|\n")
def test_any_text_is_rendered_and_harmless(body):
    rendered = render(body, REFERENCES, passage=(0, len(body)), words=frozenset(["a", "x"]))
    assert executable_parts(rendered.html) == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("bear://x-callback-url/open-note?id=1", True),
        ("https://x.example", True),
        ("craftdocs://open", True),
        ("file:///Users/anna/notes/a.md", True),
        ("vscode://file/notes/a.md", True),
        *((f"{scheme}:x", False) for scheme in ("search-ms", "ms-word", "shell", "intent")),
        ("zoommtg://zoom.us/join?confno=1", False),
        ("javascript:alert(1)", False),
        ("JavaScript:alert(1)", False),
        (" javascript:alert(1)", False),
        ("java\tscript:alert(1)", False),
        ("data:text/html,x", False),
        ("//x.example", False),
        ("notes/1", False),
        ("", False),
        (None, False),
    ],
)
def test_a_sources_address_is_opened_only_by_a_program_that_is_known(url, expected):
    assert can_be_opened(url) is expected
    assert bool(open_link(url)) is expected


# Texts that take a parser long

# CPU seconds for a note of a twentieth of the maximum length, with a twentieth of the limits.
# Without limits, it would take many. The slowest of these texts, tables, took 1 s.
SECONDS = 2


@pytest.fixture
def twentieth(monkeypatch):
    """Reduce the maximum length and the other limits to a twentieth."""
    for name in ("MAX_RENDERED_CHARACTERS", "MAX_BLOCKS", "MAX_BRACKETS"):
        module = note_html if name == "MAX_RENDERED_CHARACTERS" else dialect
        monkeypatch.setattr(module, name, getattr(module, name) // 20)


@pytest.mark.parametrize("name", list(pathological(100)))
def test_no_text_takes_long(name, twentieth):
    text = hostile_text(name, note_html.MAX_RENDERED_CHARACTERS)
    started = time.process_time()
    rendered = render(text, REFERENCES, passage=(0, len(text)))
    assert time.process_time() - started < SECONDS
    assert executable_parts(rendered.html) == []


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ("[" * 30, "MAX_BRACKETS"),
        ("- \n" * 30, "MAX_BLOCKS"),
        ("- a\n" * 30, "MAX_BLOCKS"),
        ("|a" * 10 + "|\n" + "|-" * 10 + "|\n" + "a\n" * 20, "MAX_BLOCKS"),
    ],
)
def test_a_note_with_too_much_markup_is_shown_as_it_is_written(monkeypatch, body, limit):
    monkeypatch.setattr(dialect, limit, 25)
    body = f"# One\n\n*two* <b>three</b> [a](https://a.example)\n\n{body}\n\nfour"
    start = body.index("*two*")
    passage = (start, start + len("*two* <b>three</b>"))
    rendered = render(body, REFERENCES, passage=passage, words=frozenset(["three"]))
    assert (rendered.is_plain, rendered.has_passage) == (True, True)
    text = rendered.html.replace(' dir="auto"', "")
    assert text.startswith(
        '<pre class="bear-plain"># One\n\n</pre>\n'
        '<pre class="bear-plain bear-match" id="passage">*two* '
        "&lt;b&gt;<mark>three</mark>&lt;/b&gt;</pre>\n"
        '<pre class="bear-plain"> [a](https://a.example)\n'
    )
    assert html_module.unescape(re.sub("</pre>\n<pre[^>]*>|<[^>]*>", "", text)).strip() == body


def test_ordinary_markup_stays_below_the_limits(twentieth):
    long = [
        body * (note_html.MAX_RENDERED_CHARACTERS // len(body))
        for body in (
            "- [ ] buy some milk\n",
            "[page](https://example.com/page) ",
            "**Some** words. ",
            "- https://example.com/page\n",
        )
    ]
    table = "| when | what | how much |\n|---|---|---|\n" + "| May | milk | 2.50 |\n" * 300
    numbers = "```\n" + "[[1, 2], [3, 4]]\n" * 500 + "```"
    assert [
        body[:20] for body in [*long, table, numbers] if render(body, REFERENCES).is_plain
    ] == []


def test_a_soft_break_is_a_space():
    assert html("one\ntwo  \nthree", soft_breaks=True) == "<p>one\ntwo<br>\nthree</p>"


@pytest.mark.parametrize(
    ("body", "sentence", "expected"),
    [
        ("First. Second. Third.", "Second.", "<p>First. [Second.] Third.</p>"),
        ("- [ ] *One* two. Three.", "*One* two.", "[<em>[One]</em>[ two.] Three."),
        ("See [the *roof*](Roof), ok.", "See [the *roof*](Roof), ok.", "[roof]</em></a>[, ok.]"),
        ("**Bold one.** More.", "**Bold one.**", "<strong>[Bold one.]</strong> More."),
        ("Go to https://a.example/b", "Go to https://a.example/b", 'href="https://a.example/b"'),
        ("Run `rm x`. Then", "Run `rm x`.", "[Run ]<code>[rm x]</code>[.] Then"),
        ("one\ntwo. three", "one\ntwo.", "[one]<br>\n[two.] three"),
        ("| a | b |\n|---|---|\n| c d | e |", "| c d | e |", "<td>c d</td>"),
    ],
)
def test_the_sentence_that_answers_is_marked(body, sentence, expected):
    start = body.index(sentence)
    text = html(body, sentence=(start, start + len(sentence)))
    text = re.sub(r'<span class="bear-sentence">(.*?)</span>', r"[\1]", text)
    assert expected.removeprefix("[<em>") in text


@given(st.integers(-3, 60), st.integers(-3, 60))
def test_no_sentence_leaves_its_marks_in_the_text(start, end):
    body = "# One\n- two [three](Roof).\n\n```\nfour\n```\n| a |\n|---|\n https://a.example"
    assert not re.search("[⟪⟫]|%E2%9F", html(body, sentence=(start, end)))


GUIDE = """# Guide {#top-of-it}
<a name="old"></a>
## Setup
Text. ^abc
## Setup
## Über uns
## What's new? {#law .x}
"""


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("[a](#setup)", "h-setup"),
        ("[a](#setup-1)", "h-setup-1"),
        ("[a](#über-uns)", "h-über-uns"),
        ("[a](#%C3%BCber-uns)", "h-über-uns"),
        ("[a](#whats-new)", "h-what-s-new"),
        ("[a](#law)", "h-what-s-new"),
        ("[a](#top-of-it)", "h-guide"),
        ("[a](#old)", "n-old"),
        ("[a](#^abc)", "b-abc"),
        ("[[#Setup|a]]", "h-setup"),
        ("[[#Guide#Setup|a]]", "h-setup"),
        ("[[#^abc|a]]", "b-abc"),
        ("[[/Über uns|a]]", "h-über-uns"),
        ('<a href="#setup">a</a>', "h-setup"),
    ],
)
def test_links_lead_to_places_in_the_same_note(link, place):
    text = html(f"{GUIDE}\n\n{link}")
    assert f'<a href="#{place}">a</a>' in text
    assert f'id="{place}"' in text
    assert "{" not in text
    assert "^" not in text


@pytest.mark.parametrize("link", ["[a](#gone)", "[[#Gone|a]]", "[[/Gone|a]]", "[a](#^gone)"])
def test_a_link_to_a_place_that_is_gone_is_text(link):
    assert re.sub("</?span>", "", html(f"{GUIDE}\n\n{link}")).endswith("<p>a</p>")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<kbd>Ctrl</kbd> H<sub>2</sub>O", "<p><kbd>Ctrl</kbd> H<sub>2</sub>O</p>"),
        ("x<sup>2</sup> <u>u</u> <ins>i</ins>", "<p>x<sup>2</sup> <u>u</u> <u>i</u></p>"),
        ("<mark>m</mark>", '<p><mark class="bear-highlight">m</mark></p>'),
        ('<font color="red">red</font> <span class=x>y</span>', "<p>red y</p>"),
        ("List<String> <your name>", "<p>List&lt;String&gt; &lt;your name&gt;</p>"),
        ("<Tabs groupId='a'>\n\nText\n\n</Tabs>", "<p>Text</p>"),
        ("<!-- one\n\ntwo -->\n\nText <!-- three -->", "<p>Text </p>"),
        ("a %%remark%% b", "<p>a  b</p>"),
        ("a\n%% one\n\n- two %%\n\nb", "<p>a</p>\n<p>b</p>"),
        ("%% One\n\nx = 1\n\n%% Two", "<p>%% One</p>\n<p>x = 1</p>\n<p>%% Two</p>"),
        ("a<p/>b", "<p>a<br>b</p>"),
        ("<h1 align=center>Roof</h1>\nText", "<p><strong>Roof</strong><br>Text</p>"),
        ("<pre><code>- a &lt;b&gt;\n\n<b>c</b>\n</code></pre>\n\nd",
         '<pre tabindex="0"><code>- a &lt;b&gt;\n\nc\n</code></pre>\n<p>d</p>'),
        ("<pre>\n\n*a*", "<p><em>a</em></p>"),
        ('<iframe src="https://x.example/v?a=1&amp;b=2"></iframe>',
         '<p><a class="bear-image" href="https://x.example/v?a=1&amp;b=2">page from x.example'
         "</a></p>"),
        ("<details>\n<summary>More</summary>\n\nText\n\n</details>\n\nEnd",
         "<details><summary>More</summary><p>Text</p>\n</details><p>End</p>"),
        ("<details><summary>a</summary>\n\nText", "<p>a</p>\n<p>Text</p>"),
        ("<div>\n\n<p>\n<b>a</b>\n<br>\nb\n</p>\n<hr>\n\n</div>\n\nc",
         "<p><br>\n<strong>a</strong><br>b<br>\n<br></p><hr><p>c</p>"),
        ('<a href="https://x.example/?a=1&amp;b=2">x</a> y</a>',
         '<p><a href="https://x.example/?a=1&amp;b=2">x</a> y</p>'),
        ('<img src="https://x.example/a.png" alt="A frog">',
         '<p><a class="bear-image" href="https://x.example/a.png">A frog (image from x.example)'
         "</a></p>"),
        ("> [!warning] Watch *out*\n> Text",
         '<blockquote class="bear-callout">\n<p class="bear-callout-title">Watch <em>out</em></p>'
         "<p>Text</p>\n</blockquote>"),
        ("> [!NOTE]\n> Text",
         '<blockquote class="bear-callout">\n<p class="bear-callout-title">Note</p><p>Text</p>'
         "\n</blockquote>"),
        ("> [!tip]- More\n> > [!a]+ b\n> > c",
         '<details class="bear-callout">\n<summary class="bear-callout-title">More</summary>'
         '<details class="bear-callout" open="">\n<summary class="bear-callout-title">b</summary>'
         "<p>c</p>\n</details>\n</details>"),
        ("$E = mc^2$, $a_{1,2} \\leq \\alpha$", '<p><span class="bear-formula">E = mc<sup>2</sup>'
         '</span>, <span class="bear-formula">a<sub>1,2</sub> ≤ α</span></p>'),
        ("So: $$\nx = 1\n$$\n\n## A\n$$\ny\n$$", '<p>So: <span class="bear-formula">x = 1</span>'
         '</p>\n<h2 id="h-a">A</h2>\n<p><span class="bear-formula">y</span></p>'),
        ("$$\n\\frac{a}{b+1} * x\n$$", '<p><span class="bear-formula">a/(b+1) * x</span></p>'),
        ("$$\n\\begin{cases} 1 & \\text{if } a\\_b \\\\ 0\n\n\\end{cases}\n$$\nx",
         '<p><span class="bear-formula">1 if a_b <br> 0</span></p>\n<p>x</p>'),
        ("$\\{\\textcolor{red}{a} \\mid \\pi_{R_{i}}\\}$ $\\mathbb{N}$",
         '<p><span class="bear-formula">{a | π<sub>R<sub>i</sub></sub>}</span> '
         '<span class="bear-formula">ℕ</span></p>'),
        ("$\\frac{\\sqrt{\\pi}}{2}$ $\\sqrt[3]{a+b}$ $\\frac12$",
         '<p><span class="bear-formula">(√π)/2</span> <span class="bear-formula">√[3](a+b)</span> '
         '<span class="bear-formula">1/2</span></p>'),
        ("Boat\n====\nText\n---", '<h2 id="h-boat">Boat</h2>\n<p>Text</p>\n<hr>'),
        ("<style scoped>\n  td {}\n\n  th {}\n</style>\n\na <script>b()</script> c", "<p>a  c</p>"),
        ("a <style> b", "<p>a  b</p>"),
        ("$5 and $10, US$3$4", "<p>$5 and $10, US$3$4</p>"),
        ("```python\nif x:  # no\n```", '<pre tabindex="0"><code><span class="bear-code-keyword">if'
         '</span> x:  <span class="bear-code-comment"># no</span>\n</code></pre>'),
        ("```css\na-9 #444 $06 8px", '<pre tabindex="0"><code>a-9 #444 $06 8px</code></pre>'),
        ("```sh\nnpm stylelint-order", '<pre tabindex="0"><code>npm stylelint-order</code></pre>'),
        ('```json\n{"a": 1}\n```', '<pre tabindex="0"><code>{<span class="bear-code-string">"a"'
         '</span>: <span class="bear-code-number">1</span>}\n</code></pre>'),
    ],
)  # fmt: skip
def test_markdown_is_shown_as_its_app_does(body, expected):
    assert html(body) == expected


def test_what_is_found_is_not_folded_away():
    for body in ("<details>\n\nroof\n\n</details>", "> [!note]- a\n> roof"):
        assert re.search("<details[^<>]* open", html(body, words=frozenset(["roof"])))
