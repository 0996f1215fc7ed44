import pytest

from datasette_bear_search.query.query import parse


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("apple AND pear", '"apple" AND "pear"'),
        ("apple OR pear", '"apple" OR "pear"'),
        ("apple AND pear AND plum", '"apple" AND "pear" AND "plum"'),
        ("apple AND pear OR plum", '("apple" AND "pear") OR "plum"'),
        ("apple OR pear AND plum", '"apple" OR ("pear" AND "plum")'),
        ("apple AND (pear OR plum)", '"apple" AND ("pear" OR "plum")'),
        ("(apple OR pear) NOT plum", '"apple" OR "pear"'),  # both retrievers exclude plum
        ("(apple NOT pear) OR plum", '("apple" NOT "pear") OR "plum"'),
        ("(apple AND NOT pear) OR plum", '("apple" NOT "pear") OR "plum"'),
        ("apple NOT (pear AND plum)", '"apple" NOT ("pear" AND "plum")'),
        ("(apple OR pear) tart", '("apple" OR "pear") AND "tart"'),
        ("old tart (apple OR pear)", '"old" AND "tart" AND ("apple" OR "pear")'),
        ("((apple)) AND ((pear))", '"apple" AND "pear"'),
        ("apple AND apple", '"apple"'),
        ('"old apple" AND pear', '"old apple" AND "pear"'),
        ("“old apple” OR pear", '"old apple" OR "pear"'),
        ('apple AND "the old AND the new"', '"apple" AND "the old AND the new"'),
        ("appl* AND pear", '"appl"* AND "pear"'),
        ("apple-tree OR C++", '"apple-tree" OR "C++"'),
        ("apple) OR pear", '"apple" OR "pear"'),
        ("apple, OR pear!", '"apple" OR "pear"'),
        ("2023 OR 2024", '"2023" OR "2024"'),
        ("屋根 AND 庭", '"屋根" AND "庭"'),
        ("a AND b", '"a" AND "b"'),
        ("apple AND 🎉", '"apple" AND "🎉"'),
        ("apple & (pear OR plum)", '"apple" AND ("pear" OR "plum")'),
        ("IT AND security", '"IT" AND "security"'),
        ("(NASA OR ESA) AND CERN", '("NASA" OR "ESA") AND "CERN"'),
        ("apple AND tag:fruit AND pear", '"apple" AND "pear"'),
        ("apple AND pear tag:fruit -plum", '"apple" AND "pear"'),
        ("tag:fruit (apple OR pear)", '"apple" OR "pear"'),
        ("apple AND pear NOT plum", '"apple" AND "pear"'),
        ("NEAR(apple pear)", 'NEAR("apple" "pear", 10)'),
        ("NEAR(apple pear, 5)", 'NEAR("apple" "pear", 5)'),
        ("NEAR(apple pear,5)", 'NEAR("apple" "pear", 5)'),
        ('NEAR("old apple" pear, 5)', 'NEAR("old apple" "pear", 5)'),
        ("NEAR(a b, 5)", 'NEAR("a" "b", 5)'),
        ("NEAR(apple pear, 99999)", 'NEAR("apple" "pear", 1000)'),
        ("NEAR(apple pear) OR plum", '(NEAR("apple" "pear", 10)) OR "plum"'),
        ("tart NEAR(apple pear)", '"tart" AND (NEAR("apple" "pear", 10))'),
    ],
)
def test_boolean_syntax_means_what_it_says(text, match):
    query = parse(text)
    assert query.is_boolean
    assert query.match == match
    assert query.filters.required == match
    assert query.exact is None


@pytest.mark.parametrize(
    "text",
    [
        "pros AND cons of remote work",
        "WHAT IS AND",
        "AND",
        "OR NOT",
        "apple AND",
        "AND apple",
        "apple AND AND pear",
        "apple AND OR pear",
        "PROS AND CONS",
        "what AND why",
        "to be OR NOT to be",
        "how to cook AND clean",
        "should I buy OR rent",
        "terms AND conditions apply",
        "apple and pear",
        "apple And pear",
        '"apple AND pear"',
        "apple (pear) plum",
        "(apple)",
        "apple AND (pear",
        "(AND) apple pear",
        "apple AND ()",
        "apple AND $",
        "NOT apple",
        "apple NOT pear",
        "apple AND tag:fruit",
        "tag:fruit OR tag:tree",
        "NEAR apple",
        "NEAR(",
        "NEAR()",
        "NEAR(apple)",
        "NEAR(apple pear",
        "NEAR(apple AND (pear plum))",
        "near(apple pear)",
        "ANDROID OR",
        "R&D / Q&A",
        "(" * 30 + "apple AND pear" + ")" * 30,
    ],
)
def test_sentences_and_incomplete_syntax_are_not_boolean(text):
    query = parse(text)
    assert not query.is_boolean
    assert query.filters.required is None


@pytest.mark.parametrize("text", ["apple AND (pear", "NEAR(apple)", "(apple OR) pear"])
def test_incomplete_boolean_syntax_gives_a_notice(text):
    assert "searched for as words" in parse(text).notices[0]


def test_filters_beside_or_apply_to_every_result_and_give_a_notice():
    query = parse("apple OR tag:fruit")
    assert query.filters.values["tag"] == ("fruit",)
    assert query.words == ("apple",)
    assert "OR can't be combined with filters" in query.notices[0]


@pytest.mark.parametrize("text", ["tag:a AND tag:b", "apple AND tag:b", "-fig AND NOT plum"])
def test_and_between_operators_is_not_a_word(text):
    assert "AND" not in parse(text).words


def test_negated_words_are_not_embedded():
    query = parse("(apple NOT (pear AND NEAR(fig plum))) OR quince")
    assert query.words == ("apple", "quince")
    assert query.meaning == "apple quince"
