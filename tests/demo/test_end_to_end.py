"""The main job with the real model: sample notes in, questions in other words answered."""

from importlib.util import find_spec

import pytest
from datasette.app import Datasette

from datasette_bear_search.embeddings.files import BUNDLED_PACKAGE

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(
        find_spec(BUNDLED_PACKAGE) is None, reason="the bundled model is not installed"
    ),
]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("how do I stop rodents from getting into the hut", "Mice in the wall"),
        ("toilet without water", "Composting toilet"),
        ("the heating is cold and shows an error", "Boiler pressure"),
        ("is my two-wheeler covered if somebody steals it", "Bicycle insurance"),
        ("cheap dinner when everyone is tired", "Dal for tired days"),
    ],
)
async def test_a_question_in_other_words_finds_the_note(sample_index, question, title):
    response = await Datasette([str(sample_index)]).client.get(
        "/-/bear-search.json", params={"q": question, "_size": 3, "_wait": 60}
    )
    data = response.json()
    assert data["notices"] == []
    assert title in [row["title"] for row in data["rows"]]


async def test_the_encrypted_note_is_found_by_its_title_only(sample_index):
    raw = sample_index.read_bytes()
    assert b"Bank PINs" in raw
    assert b"velvet tugboat marzipan" not in raw


async def test_nonsense_is_close_to_nothing(sample_index):
    response = await Datasette([str(sample_index)]).client.get(
        "/-/bear-search.json", params={"q": "football results of the second division in 1987"}
    )
    [notice] = response.json()["notices"]
    assert notice.startswith("No note matches closely.")
