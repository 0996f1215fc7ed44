"""Images and files on the pages of notes and results, and the only URL that serves them.

Everything here runs on both Datasettes.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from datasette_bear_search.web.note_html import attachments
from tests.support import attached
from tests.support.bear_database import BearFile, BearNote
from tests.support.bear_libraries import edit
from tests.support.client import get
from tests.support.datasettes import configured
from tests.support.exports import zip_of
from tests.support.index_files import rows
from tests.support.note_folders import vault, write_files

pytestmark = [pytest.mark.datasette, pytest.mark.asyncio]

PNG = attached.png()
PERMIT = attached.pdf("Fee paid", "Shoreland zone setback")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

FILES = {
    "Roof.md": "![[roof.png|300]]\n\n![](plan.svg)\n\n[[permit.pdf]] [table](t.xlsx) ![no](x.png) "
    "![far](https://example.com/a.png) ![up](../secret.png) [page](evil.html) "
    "[[permit.pdf#page=2]]",
    "roof.png": PNG,
    "plan.svg": SVG,
    "permit.pdf": PERMIT,
    "t.xlsx": b"PK",
    "unused.png": PNG,
    "evil.html": b"<script>alert(1)</script>",
    "../secret.png": b"secret",
}


@pytest.fixture
def serve(tmp_path, bear_index, sidecar_path):
    """Return a function that indexes and serves the notes at a path."""

    def serve_path(path: Path, **settings):
        bear_index("--no-semantic", path=path)
        config = {"plugins": {"datasette-bear-search": {"files": True, **settings}}}
        return configured([sidecar_path], config)

    return serve_path


@pytest.fixture
def datasette(serve, tmp_path):
    return serve(vault(tmp_path / "vault", FILES))


async def links(datasette, path: str = "/-/bear-search/note/1") -> dict[str, str]:
    """Return link text or alternative text → URL of the files on a page."""
    html = (await get(datasette, path)).text
    found = re.findall(r'<a [^>]*?href="([^"]*/file/[^"]+)"[^>]*>(.*?)</a>', html)
    images = re.findall(r'<img src="([^"]+)" alt="([^"]*)" loading="lazy">', html)
    return {unescape(name): unescape(url) for url, name in found + images if "#" not in url}


async def test_a_note_shows_its_pictures_and_links_to_its_files(datasette):
    found = await links(datasette)
    assert [*found] == ["permit.pdf", "table", "roof.png", "plan.svg"]
    for name, content, kind in (
        ("roof.png", PNG, "image/png"),
        ("plan.svg", SVG, "image/svg+xml"),
        ("permit.pdf", PERMIT, "application/pdf"),
        ("table", b"PK", "application/octet-stream"),
    ):
        response = await get(datasette, found[name])
        assert (response.content, response.headers["content-type"]) == (content, kind)
        assert int(response.headers["content-length"]) == len(content)
    html = (await get(datasette, "/-/bear-search/note/1")).text
    assert "example.com/a.png" not in re.sub(r'<a [^>]*href="[^"]*"', "", html)
    assert html.count("<img ") == 2


async def test_a_link_to_a_page_opens_there(datasette):
    html = (await get(datasette, "/-/bear-search/note/1")).text
    assert re.search(r'href="[^"]+#page=2"[^>]*>permit.pdf › page=2<', html)


async def test_a_served_file_cannot_run_on_our_site(datasette):
    found = await links(datasette)
    for name, disposition in (("roof.png", "inline"), ("plan.svg", "inline"), ("table", "attach")):
        headers = (await get(datasette, found[name])).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["content-disposition"].startswith(disposition)
        assert {"default-src 'none'", "sandbox"} <= set(
            headers["content-security-policy"].split("; ")
        )
        assert headers["cache-control"].startswith("private")
        assert "access-control-allow-origin" not in headers


async def test_nothing_else_is_sent(datasette, sidecar_path, tmp_path):
    ids = [id for (id,) in rows(sidecar_path, "select id from _files")]
    for path in (
        f"/-/bear-search/file/{max(ids) + 1}", "/-/bear-search/file/0", "/-/bear-search/file/x",
        "/-/bear-search/file/..%2f..%2fsecret.png", "/-/bear-search/file/roof.png",
        "/-/bear-search/file/1%00", "/-/bear-search/file/" + "9" * 30,
    ):  # fmt: skip
        await get(datasette, path, 404)
    # An index that somebody else made may contain any path.
    [one] = ids[:1]
    (tmp_path / "vault" / "link.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "vault" / "out").symlink_to(tmp_path)
    for place in (
        "../secret.png", str(tmp_path / "secret.png"), "link.png", "out/secret.png", "evil.html",
        "Roof.md", "none.png", "", "roof.png/", "..%2fsecret.png",
    ):  # fmt: skip
        edit(sidecar_path, f"update _files set place = '{place}' where id = {one}")
        await get(datasette, f"/-/bear-search/file/{one}", 404)
    edit(sidecar_path, f"update _files set place = 'roof.png' where id = {one}")
    await get(datasette, f"/-/bear-search/file/{one}")
    edit(sidecar_path, "update notes set encrypted = 1")
    await get(datasette, f"/-/bear-search/file/{one}", 404)


@pytest.mark.parametrize("settings", [{"files": False}, {"redact": True}])
async def test_no_file_is_sent_without_the_setting_or_with_redaction(serve, tmp_path, settings):
    datasette = serve(vault(tmp_path / "vault", FILES), **settings)
    assert await links(datasette) == {}
    await get(datasette, "/-/bear-search/file/1", 404)
    assert "/-/bear-search/file/" not in (await get(datasette, "/-/bear-search?q=roof")).text


async def test_a_result_shows_the_first_picture_and_where_its_words_are(datasette):
    html = (await get(datasette, "/-/bear-search?q=shoreland")).text
    [picture] = re.findall(r'<img class="bear-thumbnail" src="([^"]+)"[^>]* width="72"', html)
    assert (await get(datasette, unescape(picture))).content == PNG
    [(url, name)] = re.findall(r'In <a href="([^"]+)">([^<]+)</a>', html)
    assert name == "permit.pdf, page 2"
    assert url.endswith("#page=2")
    assert (await get(datasette, unescape(url).partition("#")[0])).content == PERMIT


async def test_the_box_of_files_is_open_at_words_that_were_searched_for(datasette):
    box = re.compile(r'<details class="bear-attachments"[^>]*?( open)?>(.*?)</details>', re.S)
    opened, inside = box.search(
        (await get(datasette, "/-/bear-search/note/1?q=shoreland")).text
    ).groups()
    assert opened
    assert "<mark>Shoreland</mark>" in inside
    assert "Fee paid" not in inside
    assert re.search(r'<a href="[^"]+#page=2">permit.pdf, page 2</a>', inside)
    assert not box.search((await get(datasette, "/-/bear-search/note/1?q=table")).text)[1]


async def test_a_long_pdf_shows_some_of_its_pages(serve, tmp_path, monkeypatch):
    monkeypatch.setattr("datasette_bear_search.web.pages.note.MAX_FILE_TEXTS", 2)
    book = attached.pdf("first", "second", "third xyzzy", "fourth xyzzy", "fifth xyzzy")
    datasette = serve(vault(tmp_path / "vault", {"A.md": "[[b.pdf]]", "b.pdf": book}))
    html = (await get(datasette, "/-/bear-search/note/1?q=xyzzy")).text
    assert re.findall(r"b.pdf, page \d", html) == ["b.pdf, page 3", "b.pdf, page 4"]
    assert "and 3 more" in html


async def test_bears_files_and_those_of_backups_are_shown(serve, write, tmp_path):
    text = "# Roof\n\n![](roof%20a.png) [image:2F0C/roof a.png] [permit.pdf](permit.pdf)"
    files = BearFile("roof a.png"), BearFile("permit.pdf", kind="file")
    library = write(BearNote(text, files=files))
    attached.local_file(library, "roof a.png", PNG)
    datasette = serve(library)
    found = await links(datasette)
    assert [*found] == ["roof a.png"], "the PDF isn't on this machine"
    assert (await get(datasette, found["roof a.png"])).content == PNG
    content = {"text.md": "# Fence\n\n![](assets/f.png)", "info.json": {}, "assets/f.png": PNG}
    archive = {f"Fence.textbundle/{name}": part for name, part in content.items()}
    datasette = serve(zip_of(tmp_path / "b.bear2bk", archive))
    found = await links(datasette, "/-/bear-search/note/2")
    assert (await get(datasette, found["f.png"])).content == PNG


async def test_a_missing_file_is_a_404(datasette, tmp_path):
    found = await links(datasette)
    (tmp_path / "vault" / "roof.png").unlink()
    await get(datasette, found["roof.png"], 404)


async def test_a_large_file_is_sent_in_parts(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(attachments, "CHUNK", 1000)
    film = bytes(range(256)) * 100
    folder = write_files(tmp_path / "notes", {"a.md": "[film](film.mp4)", "film.mp4": film})
    datasette = serve(folder)
    response = await get(datasette, (await links(datasette))["film"])
    assert (response.content, response.headers["content-type"]) == (film, "video/mp4")
