import pytest

from datasette_bear_search.query.fts5 import is_compound, is_identifier


@pytest.mark.parametrize(
    "word",
    "978-0-306-40615-7 0306406152 080442957X 2024-05-31 31.12.2024 5/31/2024 10:30 v1.2 3.11 24/7 "
    "report.pdf node.js example.com https://example.com/a?b=1 anna@example.com src/main.py "
    "C:\\temp std::vector SQLITE_BUSY 0x80070057 E404 GPT4 utf8 covid19 COVID-19 AT&T note:foo "
    "foo->bar a=>bc "
    "550e8400-e29b-41d4-a716-446655440000 "
    "C++ C# F# A+ notepad++ .NET .gitignore @anna $HOME --force #48213 2024Q1".split(),
)
def test_names_of_particular_things_are_identifiers(word):
    assert is_identifier(word)


@pytest.mark.parametrize(
    "word",
    "roof 2024 12 20th 100km 1990s B2 h2o 2-3 1.5 well-known state-of-the-art and/or don't O'Brien "
    "e.g U.S "
    'this—that wait…what 30-day 90-year-old 5" f(x) 1,000 naïve 屋根 🎉 -5 50% #1 & -'.split(),
)
def test_ordinary_words_are_not_identifiers(word):
    assert not is_identifier(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("bear-notes-mcp", True),
        ("and/or", True),
        ("30-day", True),
        ("don't", False),
        ("roof", False),
        ("🎉", False),
    ],
)
def test_a_compound_is_joined_as_identifiers_are(word, expected):
    assert is_compound(word) is expected
