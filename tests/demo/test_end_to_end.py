"""The main job with the real model: sample notes in, questions in other words answered."""

from importlib.util import find_spec

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.files import BUNDLED, BUNDLED_PACKAGE

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(
        find_spec(BUNDLED_PACKAGE) is None, reason="the bundled model is not installed"
    ),
]


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "default_model", lambda: BUNDLED)
        command = ["bear-demo", "--no-serve", "--directory", str(folder)]
        result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert "passages embedded" in result.output
    return folder / "notes.db"


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
async def test_a_question_in_other_words_finds_the_note(sidecar, question, title):
    response = await Datasette([str(sidecar)]).client.get(
        "/-/bear-search.json", params={"q": question, "_size": 3}
    )
    data = response.json()
    assert data["notices"] == []
    assert title in [row["title"] for row in data["rows"]]


async def test_the_encrypted_note_is_found_by_its_title_only(sidecar):
    raw = sidecar.read_bytes()
    assert b"Bank PINs" in raw
    assert b"velvet tugboat marzipan" not in raw


async def test_nonsense_is_close_to_nothing(sidecar):
    response = await Datasette([str(sidecar)]).client.get(
        "/-/bear-search.json", params={"q": "football results of the second division in 1987"}
    )
    [notice] = response.json()["notices"]
    assert notice.startswith("Nothing is really close to this in meaning.")
