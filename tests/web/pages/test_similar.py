"""The page "More like this" and its JSON, through Datasette.

Everything here runs on both of its versions.

Tests ``search/notes/similar.py``.
"""

import json
import re
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest
from datasette.app import Datasette

from datasette_bear_search.index.file import vectors
from datasette_bear_search.search.notes import similar as similar_notes
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day, edit
from tests.support.client import get
from tests.support.datasettes import configured
from tests.support.tiny_embedder import TinyEmbedder

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

ROOF = BearNote(
    "# Roof\n#cabin/repairs\n\nThe roof leaks above the stove. See [[Flashing]].",
    tags=("cabin/repairs",),
    created=day(1),
)
# Other notes, so that a tag of two notes is rare and similar notes are closer than these.
OTHERS = tuple(
    BearNote(f"# {word.title()}\n\n{word} {word}", created=day(20))
    for word in "quince zither mambo fjord pixel jazz vortex nymph".split()
)


@pytest.fixture
def serve(write, bear_index, sidecar_path):
    """Index notes and serve them: ``serve(BearNote(...), ..., options=("--no-semantic",))``."""

    def serve_notes(*notes, options=(), **settings) -> Datasette:
        write(*notes, *OTHERS)
        bear_index(*options)
        return Datasette([str(sidecar_path)], **settings)

    return serve_notes


@pytest.fixture
def note_id(sidecar_path):
    def find(title) -> int:
        with sqlite3.connect(sidecar_path) as db:
            return db.execute("select id from notes where title = ?", [title]).fetchone()[0]

    return find


async def answer(datasette, note, query="", status=200, **options) -> dict:
    path = f"/-/bear-search/similar/{note}.json?{query}"
    return (await get(datasette, path, status, **options)).json()


async def reasons(datasette, note) -> dict[str, list[str]]:
    return {row["title"]: row["reasons"] for row in (await answer(datasette, note))["rows"]}


async def test_a_row_has_everything_that_a_program_needs(serve, note_id):
    leak = "# Porch\n\nWood.\n\n## The leak\n\nThe roof leaks above the stove."
    datasette = serve(ROOF, BearNote(leak, tags=("cabin/repairs",), created=day(2)))
    data = await answer(datasette, note_id("Roof"))
    assert data["ok"] is True
    assert data["note"] == {"id": note_id("Roof"), "title": "Roof"}
    assert data["notices"] == []
    row = data["rows"][0]
    assert set(row) == {
        "id", "source", "key", "title", "url", "app", "tags", "created", "modified", "pinned",
        "archived", "encrypted",
        "similarity", "score", "reasons", "passage", "page_url",
    }  # fmt: skip
    assert row["title"] == "Porch"
    assert row["tags"] == ["cabin", "cabin/repairs"]
    assert row["url"].endswith("&header=The%20leak")
    assert row["passage"]["heading"] == "The leak"
    assert "The roof leaks" in row["passage"]["text"]
    assert row["reasons"] == ["similar: The leak", "same tag #cabin/repairs"]


async def test_the_note_itself_is_left_out(serve, note_id):
    datasette = serve(ROOF, BearNote("# Twin\n\nThe roof leaks above the stove. See [[Roof]]."))
    titles = await reasons(datasette, note_id("Roof"))
    assert "Twin" in titles
    assert "Roof" not in titles


async def test_links_are_a_reason_in_either_direction(serve, note_id):
    datasette = serve(
        ROOF, BearNote("# Flashing\n\nZinc."), BearNote("# Inspection\n\nMay. [[Roof]]")
    )
    found = await reasons(datasette, note_id("Roof"))
    assert "linked from this note" in found["Flashing"]
    assert "links to this note" in found["Inspection"]


async def test_notes_that_are_linked_can_be_left_out(serve, note_id):
    datasette = serve(ROOF, BearNote("# Flashing\n\nThe roof leaks above the stove."))
    roof = note_id("Roof")
    assert "Flashing" in await reasons(datasette, roof)
    data = await answer(datasette, roof, "unlinked=1")
    assert "Flashing" not in [row["title"] for row in data["rows"]]
    page = (await get(datasette, f"/-/bear-search/similar/{roof}")).text
    assert f'<a href="/-/bear-search/similar/{roof}?unlinked=1">' in page
    page = (await get(datasette, f"/-/bear-search/similar/{roof}?unlinked=1")).text
    assert "Flashing" not in page
    assert f'<a href="/-/bear-search/similar/{roof}">Include' in page


async def test_only_the_deepest_shared_tag_counts(serve, note_id):
    datasette = serve(
        ROOF,
        BearNote("# Deep\n\nzz", tags=("cabin/repairs",)),
        BearNote("# Beside\n\nzz", tags=("cabin/guests",)),
        options=("--no-semantic",),
    )
    found = await reasons(datasette, note_id("Roof"))
    assert found["Deep"] == ["same tag #cabin/repairs"]
    assert found["Beside"] == ["same tag #cabin"]


async def test_a_rare_tag_counts_more_than_a_common_one(serve, note_id):
    datasette = serve(
        BearNote("# Mine", tags=("common", "rare")),
        BearNote("# Usual", tags=("common",)),
        *[BearNote(f"# N{number}", tags=("common",)) for number in range(5)],
        BearNote("# Unusual", tags=("rare",)),
        options=("--no-semantic",),
    )
    rows = (await answer(datasette, note_id("Mine")))["rows"]
    assert rows[0]["title"] == "Unusual"
    assert rows[0]["score"] > rows[1]["score"] > 0


async def test_a_tag_that_all_notes_have_is_not_a_reason(write, bear_index, sidecar_path, note_id):
    write(*[BearNote(f"# N{number}", tags=("all",)) for number in range(5)])
    bear_index("--no-semantic")
    assert await reasons(Datasette([str(sidecar_path)]), note_id("N1")) == {}


async def test_notes_that_are_equally_like_it_come_in_the_order_of_their_ids(serve, note_id):
    twins = [BearNote(f"# T{number}", tags=("cabin/repairs",)) for number in range(6)]
    datasette = serve(ROOF, *twins, options=("--no-semantic",))
    ids = [row["id"] for row in (await answer(datasette, note_id("Roof")))["rows"]]
    assert len(ids) == 6
    assert ids == sorted(ids)


async def test_an_encrypted_note_is_compared_by_what_is_not_secret(serve, note_id):
    datasette = serve(ROOF, BearNote("# Roof", encrypted=True, tags=("cabin/repairs",), id="E"))
    row = (await answer(datasette, note_id("Roof")))["rows"][0]
    assert row["encrypted"] is True
    assert "same tag #cabin/repairs" in row["reasons"]
    assert row["passage"] is None
    await answer(datasette, row["id"])


async def test_any_passage_of_a_long_note_may_be_the_close_one(serve, note_id):
    sections = "".join(f"## Part {n}\n\n{'quince zither ' * 60}\n\n" for n in range(12))
    datasette = serve(
        ROOF, BearNote(f"# Log\n\n{sections}## Leak\n\nThe roof leaks above the stove.")
    )
    rows = (await answer(datasette, note_id("Roof")))["rows"]
    assert rows[0]["title"] == "Log"
    assert rows[0]["passage"]["heading"] == "Leak"
    assert (await answer(datasette, note_id("Log")))["rows"]


@pytest.mark.parametrize("body", ["", "\n\nx", "\n\n" + "roof " * 20_000])
async def test_a_note_of_any_length_is_answered(serve, note_id, body):
    datasette = serve(ROOF, BearNote(f"# Other{body}"))
    await answer(datasette, note_id("Other"))
    await get(datasette, f"/-/bear-search/similar/{note_id('Other')}")


async def test_size_says_how_many_are_wanted(serve, note_id):
    twins = [BearNote(f"# T{number}\n\n[[Roof]]") for number in range(12)]
    datasette = serve(ROOF, *twins)
    assert len((await answer(datasette, note_id("Roof")))["rows"]) == similar_notes.SIMILAR_NOTES
    assert len((await answer(datasette, note_id("Roof"), "_size=3"))["rows"]) == 3


async def test_list_ends_at_the_similarity_from_which_notes_are_close(serve, note_id, sidecar_path):
    datasette = serve(ROOF, BearNote("# Porch\n\nThe roof leaks above the stove."))
    [similar] = (await answer(datasette, note_id("Roof")))["rows"]
    for threshold, titles in ((-0.01, ["Porch"]), (0.01, [])):
        limits = json.dumps({"en": similar["similarity"] + threshold, "de": 0.0})
        edit(sidecar_path, "update meta set value = ? where key = 'thresholds'", limits)
        edit(sidecar_path, "update notes set language = ?", "en")
        assert [*await reasons(datasette, note_id("Roof"))] == titles


@pytest.mark.parametrize(("others", "count"), [(7, 7), (8, 0)])
async def test_tag_that_many_notes_have_lists_none_of_them(serve, note_id, others, count):
    tagged = [BearNote(f"# T{n}\n\n{'z' * n}", tags=("cabin/repairs",)) for n in range(others)]
    datasette = serve(ROOF, *tagged, options=("--no-semantic",))
    assert len(await reasons(datasette, note_id("Roof"))) == count


async def test_note_that_the_model_does_not_know_is_compared_by_tags_and_links(
    serve, note_id, monkeypatch
):
    monkeypatch.setattr(TinyEmbedder, "knows", lambda _, texts: ["leaks" not in it for it in texts])
    datasette = serve(ROOF, BearNote("# Porch\n\nThe roof.", tags=("cabin/repairs",)))
    data = await answer(datasette, note_id("Roof"))
    assert data["notices"] == [similar_notes.UNKNOWN_TEXT]
    assert [row["reasons"] for row in data["rows"]] == [["same tag #cabin/repairs"]]


@pytest.mark.parametrize("size", ["0", "51", "-1", "many"])
async def test_an_invalid_size_is_a_400(serve, note_id, size):
    datasette = serve(ROOF)
    data = await answer(datasette, note_id("Roof"), f"_size={size}", 400)
    message = f"_size must be a number from 1 to 50, not '{size}'"
    assert data == {"ok": False, "error": message, "errors": [message], "status": 400}
    path = f"/-/bear-search/similar/{note_id('Roof')}?_size={size}"
    assert message in unescape((await get(datasette, path, 400)).text)


async def test_an_unknown_id_is_a_404(serve):
    datasette = serve(ROOF)
    for note in ("999", "0", "-1", "roof", "1.5", "9" * 30, "%D9%A1"):
        data = await answer(datasette, note, status=404)
        assert data == {
            "ok": False,
            "error": data["error"],
            "errors": [data["error"]],
            "status": 404,
        }
        assert "This note is not in the index" in data["error"]
        html = (await get(datasette, f"/-/bear-search/similar/{note}", 404)).text
        assert "This note is not in the index" in html


async def test_without_a_sidecar_the_page_says_what_to_run():
    datasette = Datasette([])
    assert "datasette bear-serve" in (await answer(datasette, 1, status=404))["error"]
    assert "datasette bear-serve" in (await get(datasette, "/-/bear-search/similar/1", 404)).text


@pytest.mark.parametrize(("actor", "status"), [(None, 403), ("stranger", 403), ("owner", 200)])
async def test_only_people_who_may_view_the_database_may_see_similar_notes(
    serve, note_id, sidecar_path, actor, status
):
    serve(ROOF, BearNote("# Porch", tags=("cabin/repairs",)))
    permissions = {"databases": {sidecar_path.stem: {"allow": {"id": "owner"}}}}
    datasette = configured([sidecar_path], permissions)
    path = f"/-/bear-search/similar/{note_id('Roof')}"
    html = (await get(datasette, path, status, actor=actor)).text
    data = await answer(datasette, note_id("Roof"), status=status, actor=actor)
    assert ("Porch" in html) is (status == 200)
    assert ("rows" in data) is (status == 200)


async def test_the_page_shows_the_notes_and_their_reasons(serve, note_id):
    datasette = serve(ROOF, BearNote("# Porch <b>\n\nzz", tags=("cabin/repairs",)))
    html = (await get(datasette, f"/-/bear-search/similar/{note_id('Roof')}")).text
    assert "Porch &lt;b&gt;" in html
    assert "same tag #cabin/repairs" in html
    assert "/-/bear-search?tag=cabin%2Frepairs" in html


async def test_a_note_without_similar_notes_says_so(serve, note_id):
    datasette = serve(BearNote("# Alone\n\nzz"), options=("--no-semantic",))
    html = (await get(datasette, f"/-/bear-search/similar/{note_id('Alone')}")).text
    assert "No similar notes." in html


async def test_every_card_of_the_search_leads_to_notes_like_it(serve, note_id):
    datasette = serve(ROOF)
    html = (await get(datasette, "/-/bear-search?q=roof&mode=keyword")).text
    href = re.search(r'class="bear-similar" href="([^"]+)"', html).group(1)
    assert unescape(href) == f"/-/bear-search/similar/{note_id('Roof')}?q=roof&mode=keyword"
    assert "Notes similar to" in (await get(datasette, unescape(href))).text


async def test_cards_carry_the_search_to_go_back_to_but_their_tags_do_not(serve, note_id):
    datasette = serve(ROOF, BearNote("# Porch", tags=("cabin/repairs",)))
    address = f"/-/bear-search/similar/{note_id('Roof')}?q=leak"
    html = unescape((await get(datasette, address)).text)
    assert f'href="/-/bear-search/note/{note_id("Porch")}?q=leak"' in html
    assert f'href="/-/bear-search/similar/{note_id("Porch")}?q=leak"' in html
    assert f'href="{address}&unlinked=1"' in html
    assert 'href="/-/bear-search?tag=cabin%2Frepairs"' in html


async def test_links_keep_the_base_url(serve, note_id):
    datasette = serve(
        ROOF, BearNote("# Porch", tags=("cabin/repairs",)), settings={"base_url": "/prefix/"}
    )
    html = (await get(datasette, f"/-/bear-search/similar/{note_id('Roof')}")).text
    links = re.findall(r'(?:href|action)="(/[^"]*)"', html)
    assert f"/prefix/-/bear-search/similar/{note_id('Porch')}" in links
    assert [link for link in links if not link.startswith("/prefix/")] == []


@pytest.mark.parametrize("options", [(), ("--no-semantic",)])
async def test_view_as_sql_gives_the_same_notes(serve, note_id, sidecar_path, options):
    datasette = serve(
        ROOF,
        BearNote("# Porch\n\nThe roof leaks.", tags=("cabin/repairs",)),
        BearNote("# Flashing\n\nZinc"),
        options=options,
    )
    html = (await get(datasette, f"/-/bear-search/similar/{note_id('Roof')}")).text
    url = unescape(re.search(r'<a href="([^"]+)">View as SQL', html).group(1))
    response = await datasette.client.get(
        f"/{sidecar_path.stem}.json",
        params={**dict(parse_qsl(urlsplit(url).query)), "_shape": "array"},
        follow_redirects=True,
    )
    rows = (await answer(datasette, note_id("Roof")))["rows"]
    assert rows
    assert [(row["id"], row["score"]) for row in response.json()] == [
        (row["id"], row["score"]) for row in rows
    ]


NO_VECTORS = (
    "Notes are compared by tags and links only. To search by meaning, too, run: "
    "datasette bear-index --sidecar "
)


async def test_without_vectors_tags_and_links_still_work_with_a_notice(
    serve, note_id, sidecar_path
):
    datasette = serve(
        ROOF, BearNote("# Porch", tags=("cabin/repairs",)), options=("--no-semantic",)
    )
    data = await answer(datasette, note_id("Roof"))
    assert data["rows"][0]["title"] == "Porch"
    assert data["rows"][0]["similarity"] is None
    assert data["notices"] == [f"{NO_VECTORS}{sidecar_path} --semantic"]
    html = (await get(datasette, f"/-/bear-search/similar/{note_id('Roof')}")).text
    assert NO_VECTORS in html


async def test_a_note_whose_passages_wait_for_vectors_is_compared_without(
    serve, note_id, sidecar_path
):
    datasette = serve(ROOF, BearNote("# Porch", tags=("cabin/repairs",)))
    with sqlite3.connect(sidecar_path) as db:
        db.execute(
            "update passages set vector_state = 'pending' where note_id = ?", [note_id("Roof")]
        )
    data = await answer(datasette, note_id("Roof"))
    assert data["notices"] == [f"{NO_VECTORS}{sidecar_path}"]
    assert (await answer(datasette, note_id("Porch")))["notices"] == []


async def test_without_sqlite_vec_tags_and_links_still_work(serve, note_id, monkeypatch):
    datasette = serve(ROOF, BearNote("# Porch", tags=("cabin/repairs",)))
    monkeypatch.setattr(vectors, "load_extension", lambda connection: False)
    data = await answer(datasette, note_id("Roof"))
    assert data["rows"][0]["title"] == "Porch"
    assert "sqlite-vec" in data["notices"][0]


async def test_no_model_is_loaded(serve, note_id, monkeypatch):
    datasette = serve(ROOF, BearNote("# Porch\n\nThe roof leaks above the stove."))
    monkeypatch.setattr(TinyEmbedder, "open_model", lambda self: pytest.fail("loaded"))
    rows = (await answer(datasette, note_id("Roof")))["rows"]
    assert rows[0]["similarity"] > 0.5


async def test_an_index_that_is_not_whole_is_a_clear_message(serve, note_id, sidecar_path):
    datasette = serve(ROOF)
    number = note_id("Roof")
    with sqlite3.connect(sidecar_path) as db:
        db.execute("drop table note_tags")
    assert "can't be read" in (await answer(datasette, number, status=503))["error"]
