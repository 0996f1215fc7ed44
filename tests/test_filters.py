from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.filters import HAS, Filters, InvalidParameter, period, read_filters

NOW = datetime(2024, 3, 1, 15, 30)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2024", datetime(2024, 1, 1), datetime(2025, 1, 1)),
        ("2024-05", datetime(2024, 5, 1), datetime(2024, 6, 1)),
        ("2024-12", datetime(2024, 12, 1), datetime(2025, 1, 1)),
        ("2024-02-29", datetime(2024, 2, 29), datetime(2024, 3, 1)),
        ("today", datetime(2024, 3, 1), datetime(2024, 3, 2)),
        ("Yesterday", datetime(2024, 2, 29), datetime(2024, 3, 1)),
        ("2024-05-01T10:30:00", datetime(2024, 5, 1, 10, 30), datetime(2024, 5, 1, 10, 30)),
    ],
)
def test_a_date_means_the_span_that_it_names(text, start, end):
    assert period(text, NOW) == (start, end)


@pytest.mark.parametrize("text", ["2024-02-30", "2024-13", "20240", "soon", "", "2024-5-5-5", "0"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(ValueError, match=""):
        period(text, NOW)


def test_both_ends_of_a_range_are_included():
    filters = read_filters({"created_after": ["2024-05"], "created_before": ["2024-05"]})
    assert filters.created_after < filters.created_before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"created_after": ["2024-02-30"]}, "created_after must be a date"),
        ({"pinned": ["perhaps"]}, "pinned must be 1 or 0"),
        ({"has": ["wings"]}, "has must be one of todo, image, file, code"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(parameters, message):
    with pytest.raises(InvalidParameter, match=message):
        read_filters(parameters)


def test_empty_values_are_no_filters():
    assert not read_filters({"tag": ["", "  "], "created_after": [""], "pinned": [""], "has": [""]})


def test_a_tag_is_matched_in_lower_case_without_its_hash():
    _, parameters = Filters(tags=("#Work/Projects",)).conditions()
    assert parameters == {"tag": "work/projects"}


@given(
    st.dictionaries(
        st.sampled_from(["created_after", "modified_before", "tag", "has"]), st.lists(st.text())
    )
)
def test_any_value_is_read_or_refused(parameters):
    try:
        filters = read_filters(parameters)
    except InvalidParameter:
        return
    conditions, values = filters.conditions()
    assert all(f":{name}" in " ".join(conditions) for name in values)


def test_every_kind_of_has_is_a_condition():
    conditions, _ = Filters(has=tuple(HAS)).conditions()
    assert len(conditions) == len(HAS)
