"""What is understood of a text that is typed. Tests ``query/lexer.py`` and ``query/parser.py``."""

from datetime import datetime

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from datasette_bear_search.index.file import database
from datasette_bear_search.query.filters import Filters
from datasette_bear_search.query.query import (
    MAX_QUERY_CHARACTERS,
    MAX_QUERY_WORDS,
    MODES,
    literal,
    parse,
)

TODAY = datetime(2024, 3, 1)  # a Friday


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    """Open an empty index file with the real FTS5 table and schema."""
    with database.open_for_writing(tmp_path_factory.mktemp("sidecar") / "notes.db") as connection:
        yield connection


def demanded(text):
    """Return the filters that the operators in a text mean."""
    return parse(text).filters.for_programs()


def labels(query):
    return [token.label for token in query.clauses]


# Words, phrases, prefixes


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("apple", '"apple"'),
        ("apple tree", '"apple" OR "tree" OR "apple tree"'),
        ('"apple tree"', '"apple tree"'),
        ("“apple tree”", '"apple tree"'),
        ("„apple tree“ «old one»", '"apple tree" AND "old one"'),
        ('"apple tree" prune', '"apple tree" AND ("prune" OR "apple tree")'),
        ("apple-tree", '"apple-tree" OR "apple" OR "tree"'),
        ('"apple"', '"apple"'),
        ('prune "apple"', '"prune" OR "apple" OR "prune apple"'),
        ("apple apple", '"apple"'),
        ("appl*", '"appl"*'),
        ("old appl*, tree", '"old" OR "tree" OR "appl"*'),
        (
            "How do apples, pears & plums grow?",
            '"How" OR "do" OR "apples" OR "pears" OR "plums" OR "grow"',
        ),
        ("978-0-306-40615-7", '"978-0-306-40615-7" OR "978" OR "306" OR "40615"'),
        ("don't", '"don"'),
        ("🎉", '"🎉"'),
        ('"🎉"', '"🎉"'),
        ("§ 12", '"§" OR "12" OR "§ 12"'),
        ("what does §12 say", '"what" OR "does" OR "§12" OR "12" OR "say"'),
        ("🤷‍♀️", '"🤷‍♀️" OR "🤷"'),
        ("+ $", None),
        ("C++", '"C"'),
        ("", None),
    ],
)
def test_words_are_joined_by_or_and_phrases_are_required(text, match):
    assert parse(text).terms.match == match


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(garden), [roof]! **bold** _old_ `code`", ("garden", "roof", "bold", "old", "code")),
        ("a - b & c", ("a", "b", "c")),
        ("2-3 -5 --", ("2-3", "-5")),
        ("f(x) Bear_(animal)", ("f(x)", "Bear_(animal)")),
        ('5" pipe, 7" photo', ('5"', "pipe", '7"', "photo")),
        ("*roof * a*b", ("roof", "a*b")),
        ("-", ("-",)),
        ("++ --", ("++", "--")),
        ("*", ("*",)),
        ('"++"', ("++",)),
        ("🎉 party", ("🎉", "party")),
    ],
)
def test_punctuation_is_searched_for_only_if_nothing_else_was_typed(text, words):
    assert parse(text).terms.words == words


@pytest.mark.parametrize(
    ("text", "identifiers", "exact"),
    [
        (
            "report.pdf from 2024-05-31",
            ("report.pdf", "2024-05-31"),
            '"report.pdf" AND "2024-05-31"',
        ),
        ("isbn 978-0-306-40615-7", ("978-0-306-40615-7",), '"978-0-306-40615-7"'),
        (
            "meet at 10:30, https://x.org/a",
            ("10:30", "https://x.org/a"),
            '"10:30" AND "https://x.org/a"',
        ),
        ("C++ and C#", ("C++", "C#"), '"C++" AND "C#"'),
        ('"C++"', ("C++",), '"C++"'),
        ('"roof garden" E404', ("E404",), '"roof garden" AND "E404"'),
        ("bear-notes-mcp", ("bear-notes-mcp",), '"bear-notes-mcp"'),
        ("bear-notes-mcp tag:work", ("bear-notes-mcp",), '"bear-notes-mcp"'),
        ("how well-known is bear-notes-mcp", (), None),
        ("plans for 2024", (), None),
        ("#1", (), None),
    ],
)
def test_identifiers_are_searched_for_verbatim(text, identifiers, exact):
    query = parse(text)
    assert query.terms.identifiers == identifiers
    assert query.terms.exact == exact
    assert set(identifiers) <= set(query.terms.substrings)


def test_identifiers_that_fts5_would_shorten_must_occur_verbatim():
    assert parse("C++ .NET report.pdf").terms.exact_substrings == ("C++", ".NET")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("What about the roof?", "What about the roof?"),
        ('tag:work the "old plan" -draft is:pinned roo*', "the old plan roo"),
        ("(apple OR pear) NOT plum", "apple pear"),
        ("apple AND (pear OR NEAR(fig tree, 3))", "apple pear fig tree"),
        ("Plan - May", "Plan - May"),
        ("pros AND cons of remote work", "pros AND cons of remote work"),
        ("tag:work -draft", ""),
    ],
)
def test_the_text_to_embed_has_no_syntax(text, meaning):
    assert parse(text).terms.meaning == meaning


@pytest.mark.parametrize(
    ("text", "phrases", "words"),
    [
        ("'roof garden'", ("roof garden",), ()),
        ("don't ‘roof garden’ now", ("roof garden",), ("don't", "now")),
        ("'Anna's plan' b", ("Anna's plan",), ("b",)),
        ("the dogs' bones and cats' toys", (), ("the", "dogs", "bones", "and", "cats", "toys")),
        ("rock 'n' roll", (), ("rock", "n", "roll")),
        ("'tis the dogs' bones", (), ("tis", "the", "dogs", "bones")),
        ("'90s music and '80s films", (), ("90s", "music", "and", "80s", "films")),
    ],
)
def test_single_quotation_marks_around_several_words_are_a_phrase(text, phrases, words):
    query = parse(text)
    assert (query.terms.phrases, query.terms.words) == (phrases, words)


def test_a_phrase_in_single_quotation_marks_is_excluded():
    assert parse("tiles -'roof garden'").filters.excluded == ("roof garden",)


def test_an_open_quotation_mark_is_a_phrase_to_the_end():
    query = parse('prune "apple tre')
    assert (query.terms.words, query.terms.phrases) == (("prune",), ("apple tre",))
    assert query.notices == ()
    assert '"apple tre"*' in query.terms.match
    assert '"apple tre"*' not in parse('prune "apple tre ').terms.match
    assert parse('the "').terms.phrases == ()


@pytest.mark.parametrize("typed", ["tag:", "-tag:", 'linked-to:"Roof pl', "is:pin", "created:20",
                                   "created:2024-", "created:las", "has:i", "in:ti"])  # fmt: skip
def test_an_operator_that_is_not_complete_filters_nothing(typed):
    query = parse(f"roof {typed}")
    assert (query.terms.words, query.filters) == (("roof",), Filters())


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("roof gard", "gard"),
        ("tag:work gard", "gard"),
        ("roof gard ", ""),
        ("roof gard?", ""),
        ('roof "gard"', ""),
        ("roof -gard", ""),
        ("roof gard tag:work", ""),
        ("roof OR gard", ""),
        ("a", ""),
        ("庭", "庭"),
    ],
)
def test_the_last_word_without_a_space_after_it_is_a_beginning(text, beginning):
    assert parse(text).unfinished_word == beginning


def test_a_pasted_page_is_cut_with_a_notice():
    query = parse("word " * 5000)
    assert len(query.text) <= MAX_QUERY_CHARACTERS
    assert query.notices == (
        f"Only the first {MAX_QUERY_CHARACTERS:,} characters were searched for.",
    )


@pytest.mark.parametrize("joint", [" ", " AND "])
def test_too_many_words_are_cut_with_a_notice(joint):
    query = parse(joint.join(f"w{number}" for number in range(100)))
    assert len(query.terms.words) == MAX_QUERY_WORDS
    assert query.notices == (f"Only the first {MAX_QUERY_WORDS} words were searched for.",)


def test_control_characters_are_spaces():
    assert parse("apple\x00tree\x02\n").text == "apple tree"


# Exclusions


@pytest.mark.parametrize(
    ("text", "excluded", "words"),
    [
        ("roof -draft", ("draft",), ("roof",)),
        ('roof -"old plan"', ("old plan",), ("roof",)),
        ("roof -“old plan”", ("old plan",), ("roof",)),
        ("roof -draf*", ("draf*",), ("roof",)),
        ("roof -C++", ("C++",), ("roof",)),
        ("roof -well-known, -x!", ("well-known", "x"), ("roof",)),
        ("-draft", ("draft",), ()),
        ("roof NOT draft", ("draft",), ("roof",)),
        ('roof garden NOT draft NOT "old plan"', ("draft", "old plan"), ("roof", "garden")),
        ("roof -(draft OR plan)", ("draft", "plan"), ("roof",)),
        ("roof NOT (draft OR plan)", ("draft", "plan"), ("roof",)),
        ("roof AND NOT draft", ("draft",), ("roof",)),
        ("a - b", (), ("a", "b")),
        ("apple - (pear OR plum)", (), ("apple", "pear", "plum")),
        ("-", (), ("-",)),
        ("2-3 weeks", (), ("2-3", "weeks")),
        ("it is -5 today", (), ("it", "is", "-5", "today")),
        ("what is NOT done", (), ("what", "is", "NOT", "done")),
        ("404 NOT FOUND", (), ("404", "NOT", "FOUND")),
        ('"NOT" draft', (), ("NOT", "draft")),
        ("NOT", (), ("NOT",)),
        ("roof NOT", (), ("roof", "NOT")),
        ("well-known", (), ()),
    ],
)
def test_a_minus_or_a_not_leaves_out(text, excluded, words):
    query = parse(text)
    assert query.filters.excluded == excluded
    assert query.terms.words == words


def test_a_double_hyphen_is_part_of_the_word():
    query = parse("git --force")
    assert query.terms.identifiers == ("--force",)
    assert not query.filters.excluded


def test_a_verbatim_search_takes_and_or_and_not_as_words():
    assert parse("a AND b NOT c", "like").terms.words == ("a", "AND", "b", "NOT", "c")


# Operators


LAST_WEEK = {"created_after": "2024-02-19", "created_before": "2024-02-26"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tag:work", {"tags": ("work",)}),
        ("TAG:Work/Projects", {"tags": ("Work/Projects",)}),
        ('tag:"two words"', {"tags": ("two words",)}),
        ("tag:“two words”", {"tags": ("two words",)}),
        ("tag:a tag:b", {"tags": ("a", "b")}),
        ("tag:#work", {"tags": ("#work",)}),
        ("tag:work, plans", {"tags": ("work",)}),
        ("-tag:work", {"without": [{"tags": ("work",)}]}),
        ('-tag:"two words"', {"without": [{"tags": ("two words",)}]}),
        ("NOT tag:work", {"without": [{"tags": ("work",)}]}),
        ("(roof NOT tag:work)", {"without": [{"tags": ("work",)}]}),
        ("#work/projects", {"tags": ("work/projects",)}),
        ("see #work.", {"tags": ("work",)}),
        ("#two words#", {"tags": ("two words",)}),
        ("#work# plan", {"tags": ("work",)}),
        ("#屋根", {"tags": ("屋根",)}),
        ("-#work", {"without": [{"tags": ("work",)}]}),
        ("#learn C#", {"tags": ("learn",)}),
        ("#1 C# #ff8800 a#b \\#x #include<x>", {}),
        ("source:bear", {"sources": ("bear",)}),
        ("source:bear source:notes", {"sources": ("bear", "notes")}),
        ("-source:bear", {"without": [{"sources": ("bear",)}]}),
        ("is:pinned is:archived IS:Trashed", {"states": ("pinned", "archived", "trashed")}),
        (
            "is:todo is:done is:untagged is:encrypted",
            {"states": ("todo", "done", "untagged", "encrypted")},
        ),
        ("-is:pinned", {"without": [{"states": ("pinned",)}]}),
        ("in:archive", {"states": ("archived",)}),
        ("in:trash", {"states": ("trashed",)}),
        (
            "has:image has:file has:code has:link has:todo",
            {"has": ("image", "file", "code", "link", "todo")},
        ),
        ("has:images", {"has": ("image",)}),
        ("-has:code", {"without": [{"has": ("code",)}]}),
        ('linked-to:"Roof plan"', {"linked_to": ("Roof plan",)}),
        ("linked-to:“Roof plan”", {"linked_to": ("Roof plan",)}),
        ("linked-to:Roof", {"linked_to": ("Roof",)}),
        ("created:2024", {"created_after": "2024-01-01", "created_before": "2025-01-01"}),
        ("modified:2024-05", {"modified_after": "2024-05-01", "modified_before": "2024-06-01"}),
        ("created:2024..2025-03", {"created_after": "2024-01-01", "created_before": "2025-04-01"}),
        ("created:2024-05..", {"created_after": "2024-05-01"}),
        ("created:>2024-05", {"created_after": "2024-06-01"}),
        ("created:<=2024", {"created_before": "2025-01-01"}),
        ("created:today", {"created_after": "2024-03-01", "created_before": "2024-03-02"}),
        ("created:last-week", LAST_WEEK),
        ('created:"last week"', LAST_WEEK),
        ("created:last week", LAST_WEEK),
        ("roof created:last week, stove", LAST_WEEK),
        ("created:3 weeks ago", {"created_after": "2024-02-05", "created_before": "2024-02-12"}),
        (
            'created:"two weeks ago..last week"',
            {"created_after": "2024-02-12", "created_before": "2024-02-26"},
        ),
        ("modified:7d", {"modified_after": "2024-02-23", "modified_before": "2024-03-02"}),
        ("before:2024-02", {"modified_before": "2024-02-01"}),
        ("after:2024-02", {"modified_after": "2024-02-01"}),
        ("after:7d", {"modified_after": "2024-02-23"}),
        (
            "-created:2023",
            {"without": [{"created_after": "2023-01-01", "created_before": "2024-01-01"}]},
        ),
        (
            "created:2024 created:2024-02",
            {"created_after": "2024-02-01", "created_before": "2024-03-01"},
        ),
        ("note:x https://x 10:30 tag: work tag:", {}),
        ("mytag:x", {}),
        ('"tag:work"', {}),
    ],
)
def test_operators_narrow_the_search(text, expected, monkeypatch):
    monkeypatch.setattr(
        "datasette_bear_search.query.filter_values.utc", lambda moment: f"{moment:%Y-%m-%d}"
    )
    assert demanded(text) == expected


def test_operators_are_not_words():
    query = parse("roof tag:work is:pinned created:3 weeks ago stove")
    assert query.terms.words == ("roof", "stove")
    assert query.terms.match == '"roof" OR "stove" OR "roof stove"'


@pytest.mark.parametrize(
    ("text", "words", "notice"),
    [
        ("created:2024-13", ("created",), "“created:” takes a date such as 2024"),
        ("is:happy now", ("is", "happy", "now"), "“is:” takes one of pinned, archived"),
        ("-is:happy", ("is", "happy"), "“is:happy” was searched for as text"),
        ("has:wings", ("has", "wings"), "“has:” takes one of todo, image"),
        ("in:space", ("in", "space"), "“in:” takes one of title, archive, trash"),
        ("-in:title", ("in", "title"), "“in:” takes one of"),
        ('is:"very happy"', ("is", "very", "happy"), "“is:” takes one of"),
        ("tag:#", ("tag",), "“tag:” takes a tag such as work/projects"),
        ('tag:""', ("tag",), "“tag:” takes a tag"),
        ("before:..2024", ("before",), "“before:” takes a date"),
        ("created:2025..2024", ("created",), "“created:” takes a date"),
        ("created:9999", ("created", "9999"), "“created:” takes a date"),
    ],
)
def test_an_operator_with_a_value_that_makes_no_sense_is_words(text, words, notice):
    query = parse(text)
    assert not query.filters
    terms = query.terms
    assert terms.words == words or set(words) < {*terms.words, *terms.identifiers}
    assert len(query.notices) == 1
    assert notice in query.notices[0]


def test_filters_beside_the_text_hold_too():
    filters = parse("tag:home is:pinned", filters=Filters({"tag": ("work",)})).filters
    assert filters == Filters({"tag": ("work", "home"), "pinned": ("1",)})


@pytest.mark.parametrize(
    ("text", "required", "required_in_title"),
    [
        ("in:title roof", '{title} : ("roof")', ("roof",)),
        ("roof plan in:title", '{title} : ("roof" OR "plan" OR "roof plan")', ("roof", "plan")),
        ('in:title "roof plan"', '{title} : ("roof plan")', ("roof plan",)),
        ("in:title roof AND plan", '{title} : ("roof" AND "plan")', ()),
        ("in:title 🎉", '{title} : ("🎉")', ("🎉",)),
        ("in:title", None, ()),
    ],
)
def test_in_title_demands_a_title_with_the_words(text, required, required_in_title):
    query = parse(text)
    assert query.in_title
    filters = query.filters_with(query.terms)
    assert filters.required == required
    assert filters.required_in_title == required_in_title


# Clauses that were understood


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("roof", []),
        ("tag:work/projects roof", ["#work/projects"]),
        ('-tag:"two words"', ["not #two words"]),
        ("#work -draft -is:pinned", ["#work", "not draft", "not pinned"]),
        ("NOT draft apple", ["not draft"]),
        ("roof -(a OR b)", ["not a OR b"]),
        ('"roof garden" plan', ["“roof garden”"]),
        ("in:title roof created:last week", ["in the title", "created last week (19–25 Feb 2024)"]),
        ("is:todo -is:todo -is:pinned", ["with to-dos", "without to-dos", "not pinned"]),
        ("date:2023..2024 -created:2024", ["2023–2024", "not created 2024"]),
        ("date:2024-05-01 created:2024-05..", ["1 May 2024", "created since May 2024"]),
        ("before:2024 after:2023..2024", ["modified before 2024", "modified since 2023"]),
        ("created:>2024 modified:<=2024", ["created after 2024", "modified until 2024"]),
        ("created:May 2024", ["created May 2024"]),
        ("linked-to:“Roof plan”", ["links to Roof plan"]),
        ("(apple OR pear) NOT plum", ["as typed: (apple OR pear)", "not plum"]),
        ('apple AND "old pear"', ['as typed: apple AND "old pear"']),
        ("apple AND pear AND tag:x", ["as typed: apple AND pear", "#x"]),
        ("is:happy", []),
    ],
)
def test_clauses_have_labels(text, expected):
    assert labels(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "removed", "rest"),
    [
        ("roof tag:work plan", "#work", "roof plan"),
        ("tag:work AND roof", "#work", "roof"),
        ("roof AND tag:work AND plan", "#work", "roof AND plan"),
        ("(tag:a OR tag:b) roof", "#a", "(tag:b) roof"),
        ("(tag:a OR tag:b) roof", "#b", "(tag:a) roof"),
        ("roof AND plan AND tag:x", "as typed: roof AND plan", "tag:x"),
        ("roof NOT plan", "not plan", "roof"),
        ("created:3 weeks ago roof", "created 3 weeks ago (5–11 Feb 2024)", "roof"),
        ("see #work.", "#work", "see ."),
    ],
)
def test_a_clause_can_be_removed_from_the_text(text, removed, rest):
    query = parse(text)
    [token] = [token for token in query.clauses if token.label == removed]
    assert query.text_without(token) == rest


# Variants of a query


def test_a_relaxed_search_requires_nothing_but_its_filters():
    query = parse('("old apple" OR pear) AND plum* tag:x -fig in:title')
    terms = query.terms.relaxed()
    assert terms.match == '"pear" OR "old" OR "apple" OR "plum"* OR "old apple pear plum"*'
    assert not terms.boolean
    filters = query.filters_with(terms)
    assert filters.values["tag"] == ("x",)
    assert filters.excluded == ("fig",)
    assert filters.required == f"{{title}} : ({terms.match})"


def test_a_rewritten_search_has_other_words():
    typed = parse("the lekaing roo").terms
    terms = typed.rewritten({"the": None, "lekaing": "leaking", "roo": "roo*"})
    assert terms.words == ("leaking",)
    assert terms.prefixes == ("roo",)
    assert terms.match == '"leaking" OR "roo"* OR "leaking roo"*'
    assert terms.meaning == "the leaking roo"


def test_a_literal_search_reads_no_syntax_and_keeps_the_filters_beside_the_text():
    query = literal(parse("“roof” -tag:work NOT (a AND b*)", filters=Filters({"has": ("code",)})))
    assert query.filters == Filters({"has": ("code",)})
    assert query.terms.words == ("roof", "NOT", "a", "AND", "b")
    assert query.terms.identifiers == ("-tag:work",)
    assert not query.clauses


# Any text


FRAGMENTS = st.sampled_from(
    (
        'apple pear* C++ "old tree" “x y” " ( ) AND OR NOT NEAR( NEAR(a , 5) -b -"c d" - -( tag:a '
        '-tag:b tag:"c d" tag: #e #f g# is:pinned -is:todo is:happy in:title created:2024 ago '
        "created:last week created:3 before:2024 ..2025 source:x has:link linked-to:y "
        "https://x.org 10:30 2024-05-31 * ^ { } : + ' ; -- % _ \\ \x00 🎉 屋根 café the how"
    ).split(" ")
)
TEXTS = st.text() | st.lists(FRAGMENTS).map(" ".join) | st.lists(FRAGMENTS).map("".join)


def awkward(test):
    """Add texts that have caused trouble somewhere as examples."""
    for text in [
        '"',
        '""',
        '"" ""',
        "AND OR NOT NEAR(a b)",
        "title: body^ -x {a b}: *",
        "'; drop table notes; --",
        "\ud800",
        "(" * 1000,
        "(a AND " * 60 + "b" + ")" * 60,
        "NEAR(a b, 99999999999999999999)",
        "#a " * 333,
        "-a " * 333,
        "-C# " * 250,
        "-#a " * 250,
        'is:"" ' * 160,
        "in:title in:title",
        "\u0345\u0345 -ﬀ \U0001d7d8",
    ]:
        test = example(text=text)(test)
    return test


@awkward
@given(TEXTS)
@settings(deadline=None)
def test_no_text_makes_sql_or_an_expression_that_is_refused(connection, text):
    for mode in ("auto", "like"):
        query = parse(text, mode)
        terms = query.terms
        for expression in (
            terms.match,
            terms.exact,
            terms.relaxed().match,
            literal(query).terms.match,
        ):
            if expression is not None:
                connection.execute(
                    "select count(*) from notes_fts where notes_fts match ?", [expression]
                ).fetchall()
        conditions, parameters = query.filters_with(terms).conditions()
        where = " and ".join(conditions) or "true"
        connection.execute(f"select id from notes where {where}", parameters).fetchall()


@awkward
@given(TEXTS)
@settings(deadline=None)
def test_a_text_is_always_read_in_the_same_way(text):
    for mode in MODES:
        assert parse(text, mode) == parse(text, mode)


@awkward
@given(TEXTS)
@settings(deadline=None)
def test_a_clause_is_a_part_of_the_text(text):
    query = parse(text)
    for token in query.clauses:
        assert 0 <= token.start < token.end <= len(query.text)
        assert query.text[token.start : token.end].strip()


@awkward
@given(TEXTS)
@settings(deadline=None)
def test_a_text_without_a_clause_is_parsed_without_it(text):
    query = parse(text)
    for token in query.clauses[:20]:
        rest = parse(query.text_without(token))
        named = [other.label for other in rest.clauses]
        assert named.count(token.label) < labels(query).count(token.label)


@given(TEXTS)
def test_a_word_that_fts5_can_find_is_searched_for(text):
    query = parse(text)
    assume(query.terms.meaning and any(character.isalnum() for character in query.terms.meaning))
    assert query.terms.match
    assert query.terms.substrings


@pytest.mark.parametrize(
    "text", ["ls with the -l option", "pip install -e .", "hexdump -C", "rm -rf it"]
)
def test_options_of_commands_are_not_exclusions(text):
    assert parse(text).filters.excluded == ()


def test_an_abbreviation_can_be_excluded():
    assert parse("tools -AI").filters.excluded == ("AI",)
