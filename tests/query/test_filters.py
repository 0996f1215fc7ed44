"""Filters: from parameters of a request to conditions in SQL. Tests ``query/filter_values.py``."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.index.file import database
from datasette_bear_search.query.filter_values import InvalidParameter, read_filters
from datasette_bear_search.query.filters import FILTERS, MAX_CONDITIONS, Filters

EVERYTHING = Filters(
    {
        "tag": ("work", "home"),
        "source": ("bear", "notes"),
        "linked_to": ("Roof plan",),
        "created_after": ("2024-01-01T00:00:00Z",),
        "created_before": ("2025-01-01T00:00:00Z",),
        "modified_after": ("2024-01-01T00:00:00Z",),
        "modified_before": ("2025-01-01T00:00:00Z",),
        "has": tuple(FILTERS["has"].choices),
        **{row.name: ("1",) for row in FILTERS.values() if row.kind == "state"},
    },
    excluded=("draft", "old plan", "temp*", "C++"),
    required='{title} : ("roof")',
    required_in_title=("roof",),
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    with database.open_for_writing(tmp_path_factory.mktemp("sidecar") / "notes.db") as connection:
        yield connection


def found(connection, filters):
    conditions, parameters = filters.conditions()
    where = " and ".join(conditions) or "true"
    return connection.execute(f"select id from notes where {where}", parameters).fetchall()


def test_both_ends_of_a_range_are_included():
    filters = read_filters({"created_after": ["2024-05"], "created_before": ["2024-05"]})
    assert filters.values["created_after"] < filters.values["created_before"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"created_after": ["2024-02-30"]}, "created_after must be a date"),
        ({"modified_before": ["0001-01-01T00:00:00+23:00"]}, "modified_before must be a date"),
        ({"pinned": ["perhaps"]}, "pinned must be 1 or 0"),
        ({"has": ["wings"]}, "has must be one of todo, image, file, code, link"),
        ({"tag": [str(n) for n in range(MAX_CONDITIONS + 1)]}, "tag can be given 100 times"),
    ],
)
def test_an_invalid_value_is_named_in_the_error(parameters, message):
    with pytest.raises(InvalidParameter, match=message):
        read_filters(parameters)


def test_what_notes_have_may_be_in_the_plural():
    assert read_filters({"has": ["Images", "image"]}).values == {"has": ("image",)}
    assert FILTERS["has"].describe("images") == "with images"


def test_empty_values_do_not_filter():
    assert not read_filters({"tag": ["", "  "], "created_after": [""], "pinned": [""], "has": [""]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", {"states": ("pinned",)}), ("0", {"without": [{"states": ("pinned",)}]})],
)
def test_a_flag_asks_for_notes_that_are_so_or_are_not(value, expected):
    assert read_filters({"pinned": [value]}).for_programs() == expected


def test_a_tag_is_matched_in_lower_case_without_its_hash():
    _, parameters = Filters({"tag": ("#Work/Projects",)}).conditions()
    assert parameters == {"tag": "work/projects"}


def test_parameters_of_the_same_kind_have_names_of_their_own():
    _, parameters = Filters({"tag": ("a", "b")}, without=(Filters({"tag": ("c",)}),)).conditions()
    assert parameters == {"tag": "a", "tag_2": "b", "tag_3": "c"}


def test_two_filters_together_demand_what_both_demand():
    one = {"tag": ("a",), "created_after": ("2023",), "created_before": ("2025",)}
    other = {"tag": ("a", "b"), "created_after": ("2024",), "created_before": ("2026",)}
    both = {"tag": ("a", "b"), "created_after": ("2024",), "created_before": ("2025",)}
    assert Filters(one, excluded=("x",)) & Filters(other) == Filters(both, excluded=("x",))


def test_filters_are_listed_for_programs_without_empty_ones():
    filters = Filters({"tag": ("a",)}, without=(Filters({"has": ("image",)}),))
    assert filters.for_programs() == {"tags": ("a",), "without": [{"has": ("image",)}]}
    assert json.dumps(filters.for_programs())


def test_a_word_that_fts5_takes_for_a_shorter_one_is_excluded_as_it_stands():
    conditions, parameters = Filters(excluded=("C++",)).conditions()
    assert parameters == {"excluded_text": "C++"}
    assert "notes_fts" not in conditions[0]


@pytest.mark.parametrize(
    "filters",
    [
        EVERYTHING,
        Filters(without=(EVERYTHING, Filters({"tag": ("x",)}))),
        Filters(required_in_title=("🎉",)),
    ],
    ids=["all", "none of all", "a title that fts5 can't find"],
)
def test_every_condition_runs_on_a_sidecar(connection, filters):
    assert found(connection, filters) == []


@pytest.mark.parametrize(
    "filters",
    [
        {"title": ("resume",)},
        {"title": ("ПЛАН ёлки", "RÉSUMÉ")},
        {"path": ("cafe/idees/",)},
        {"path": ("CAFÉ",)},
        {"source": ("заметки",)},
        {"linked_to": ("ёлки: RESUME, план ЕЛКИ",)},
    ],
)
def test_a_filter_folds_letters_as_the_words_are_folded(connection, filters):
    connection.execute("begin")
    connection.execute("insert into sources (name) values ('Заметки')")
    connection.execute(
        "insert into notes (id, title, body, tags, attachments, source, key)"
        " values (1, 'Ёлки: Résumé, план елки', '', '[]', '', 'Заметки', 'Café/Idées/a.md')"
    )
    connection.execute("insert into links (note_id, target_id) values (1, 1)")
    assert found(connection, Filters(filters)) == [(1,)]
    connection.rollback()


def test_as_many_conditions_as_a_person_can_type_run_on_a_sidecar(connection):
    many = tuple(f"x{number}" for number in range(400))
    assert found(connection, Filters({"tag": many}, excluded=many)) == []


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([name for row in FILTERS.values() for name in row.parameters]),
        st.lists(st.text()),
    )
)
def test_any_value_is_read_or_refused(parameters):
    try:
        filters = read_filters(parameters)
    except InvalidParameter:
        return
    conditions, values = filters.conditions()
    assert all(f":{name}" in " ".join(conditions) for name in values)
