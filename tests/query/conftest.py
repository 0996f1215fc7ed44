from __future__ import annotations

import pytest

from datasette_bear_search.query import dates


@pytest.fixture(autouse=True, scope="module")
def today(request):
    """Set today's date to the module's TODAY."""
    with pytest.MonkeyPatch.context() as patch:
        if day := getattr(request.module, "TODAY", None):
            patch.setattr(dates, "today", lambda: day)
        yield
