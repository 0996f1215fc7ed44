"""embed() may be called by anybody who may run SQL, and can't keep others from searching."""

from __future__ import annotations

import asyncio
import time

import pytest
from datasette.app import Datasette

from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.base import EMBEDDED_QUERY_CHARACTERS
from tests.support.bear_database import BearNote
from tests.support.datasettes import IS_1_0, configured
from tests.support.tiny_embedder import TINY, TinyEmbedder

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

SECONDS = 0.03  # what one text takes the model


class SlowEmbedder(TinyEmbedder):
    """Takes its time; keeps how long texts were, and how many threads were in it at once."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.lengths: list[int] = []
        self.inside = self.most_inside = 0

    def encode(self, texts, *, is_query):
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.lengths.extend(map(len, texts))
        time.sleep(SECONDS)
        self.inside -= 1
        return super().encode(texts, is_query=is_query)


@pytest.fixture(autouse=True)
def short_log(monkeypatch):
    """Datasette's colored log of an interrupted query takes longer than the query."""
    monkeypatch.setattr("datasette.handle_exception.rich", None)


@pytest.fixture
def slow(write, bear_index) -> SlowEmbedder:
    write(BearNote("# Roof\n\nThe roof leaks."))
    bear_index()
    model = SlowEmbedder(TINY)
    registry.register(TINY, lambda: model)
    model.load()
    model.lengths.clear()
    return model


def sql(statement: str) -> tuple[str, dict[str, str]]:
    path = "/notes/-/query.json" if IS_1_0 else "/notes.json"
    return path, {"sql": statement, "_shape": "objects"}


async def run(datasette, statement: str):
    path, parameters = sql(statement)
    return await datasette.client.get(path, params=parameters)


FOREVER = "with recursive n(x) as (select 1 union all select x + 1 from n) "


@pytest.mark.parametrize(
    "statement",
    [
        FOREVER + "select sum(length(embed('text ' || x))) from n",
        FOREVER + "select count(*) from n where embed(hex(randomblob(1000000))) is not null",
        FOREVER + "select max(embed(x)) from n",
    ],
)
async def test_sql_that_embeds_forever_is_stopped(slow, sidecar_path, statement):
    datasette = Datasette([str(sidecar_path)], settings={"sql_time_limit_ms": 200})
    response = await run(datasette, statement)
    assert response.status_code == 400
    assert "interrupted" in response.text.lower() or "too long" in response.text.lower()
    # No more than the time was for, and what was under way.
    assert len(slow.lengths) <= 0.2 / SECONDS + 2


async def test_a_model_that_is_loading_is_waited_for_within_the_time_limit(slow, sidecar_path):
    class LoadedLater(TinyEmbedder):
        def open_model(self):
            time.sleep(2)
            return super().open_model()

    registry.register(TINY, lambda: LoadedLater(TINY))
    datasette = Datasette([str(sidecar_path)], settings={"sql_time_limit_ms": 100})
    started = time.monotonic()
    assert (await run(datasette, "select embed('roof')")).status_code == 400
    assert time.monotonic() - started < 1.5


async def test_embedding_a_book_takes_no_longer_than_a_sentence(slow, sidecar_path):
    datasette = Datasette([str(sidecar_path)], settings={"sql_time_limit_ms": 20_000})
    response = await run(datasette, "select length(embed(hex(zeroblob(10000000)))) as length")
    assert response.status_code == 200
    assert slow.lengths == [EMBEDDED_QUERY_CHARACTERS]


async def test_the_same_text_is_embedded_once(slow, sidecar_path):
    datasette = Datasette([str(sidecar_path)], settings={"sql_time_limit_ms": 20_000})
    statement = "select sum(length(embed('roof'))) from passages, json_each('[1,2,3,4,5]')"
    for _ in range(5):
        assert (await run(datasette, statement)).status_code == 200
    assert len(slow.lengths) == 1


async def test_searches_by_words_are_answered_while_many_queries_embed(slow, sidecar_path):
    datasette = Datasette([str(sidecar_path)], settings={"sql_time_limit_ms": 500})
    await datasette.client.get("/-/bear-search.json?q=roof&mode=keyword")
    attack = [
        asyncio.create_task(
            run(datasette, FOREVER + f"select sum(length(embed('{number} ' || x))) from n")
        )
        for number in range(20)
    ]
    await asyncio.sleep(0.05)
    answers = [
        await asyncio.wait_for(
            datasette.client.get(f"/-/bear-search.json?q={word}&mode=keyword"), 60
        )
        for word in ("roof", "leaks")
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert {(await task).status_code for task in attack} <= {400}
    assert slow.most_inside == 1


async def test_without_the_sql_permission_embed_cannot_be_called(slow, sidecar_path):
    datasette = configured([sidecar_path], {}, settings={"default_allow_sql": False})
    assert (await run(datasette, "select embed('roof')")).status_code == 403
    page = await datasette.client.get("/-/bear-search.json?q=roof")
    assert page.json()["rows"][0]["title"] == "Roof"
