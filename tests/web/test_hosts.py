"""``datasette bear-serve`` answers only under its own names.

Another site's name that leads here is none (DNS rebinding).
"""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from datasette.app import Datasette
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.demo import BearNote
from datasette_bear_search.web.site import host_name, origin_name

pytestmark = pytest.mark.datasette

PATHS = [
    "/",
    "/-/bear-search",
    "/-/bear-search.json?q=roof",
    "/-/bear-search/note/1",
    "/-/bear-search/mcp",
    "/-/static/app.css",
]


@contextmanager
def bear_serve(path, *options: str) -> Iterator[int]:
    """Run the command; gives its port."""
    arguments = ["bear-serve", "--sidecar", str(path), "--no-open", "--port", "0", *options]
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "datasette", *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield int(re.search(r"http://127.0.0.1:(\d+)/", process.stdout.readline())[1])
        finally:
            process.terminate()


def status_and_text(
    port: int, host: str | None, path: str, method="GET", **headers
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    for name, value in {**({"host": host} if host is not None else {}), **headers}.items():
        connection.putheader(name, value)
    connection.putheader("content-length", "0")
    connection.endheaders()
    response = connection.getresponse()
    return response.status, response.read().decode()


@pytest.fixture
def index(write, bear_index, sidecar_path):
    write(BearNote("# Cabin roof\n\nThe roof leaks."))
    bear_index("--no-semantic")
    return sidecar_path


def test_only_requests_to_its_own_names_are_answered(index):
    with bear_serve(index, "--host", "notes.example.net") as port:
        for host in (
            "127.0.0.1",
            "localhost",
            "[::1]",
            "LOCALHOST",
            "localhost.",
            "notes.example.net",
        ):
            status, text = status_and_text(port, f"{host}:{port}", "/-/bear-search.json?q=roof")
            assert (status, "Cabin roof" in text) == (200, True), host
        for host in (
            f"evil.example:{port}",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.example#127.0.0.1",
            "127.0.0.1@evil.example",
            "evilnotes.example.net",
            "0.0.0.0",
            "[::1",
            "",
            None,
        ):
            for path in PATHS:
                status, text = status_and_text(port, host, path)
                # Of what isn't even a name, the server itself says so.
                assert status in (400, 403), (host, path)
                assert "roof" not in text
                if status == 403:
                    assert "another website could have sent you here" in text


def test_a_name_that_it_was_given_is_one_for_agents_too(index):
    with bear_serve(index, "--host", "notes.example.net") as port:
        status, text = status_and_text(port, "notes.example.net", "/-/bear-search/mcp")
        assert (status, "POST" in text) == (405, True)


def test_a_page_of_another_site_cannot_judge_results(index):
    with bear_serve(index) as port:
        for headers in (
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:9"},
        ):
            status, text = status_and_text(
                port, f"127.0.0.1:{port}", "/-/bear-search/judge", "POST", **headers
            )
            assert status == 403, (headers, text)


def test_whatever_another_site_asks_gets_one_answer_before_any_work(index):
    with bear_serve(index) as port:
        host, answers = f"127.0.0.1:{port}", set()
        for headers in (
            {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
            {"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate"},
            {"origin": "http://localhost:19999"},
            {"origin": "null"},
        ):
            for path in (*PATHS, "/-/bear-search/note/99999999", "/-/bear-search?q=none"):
                answers.add(status_and_text(port, host, path, **headers))
        [(status, text)] = answers
        assert (status, "Another website sent you here" in text) == (403, True)
        for headers in ({}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
            status, text = status_and_text(port, host, "/-/bear-search.json?q=roof", **headers)
            assert (status, "Cabin roof" in text) == (200, True)


@pytest.mark.asyncio
async def test_a_datasette_that_somebody_runs_has_whatever_names_they_gave_it(index):
    response = await Datasette([str(index)]).client.get(
        "/-/bear-search.json?q=roof", headers={"host": "notes.example.net"}
    )
    assert response.status_code == 200


@given(st.text())
def test_whatever_is_no_name_is_none(text):
    assert isinstance(host_name(text), str)
    assert isinstance(origin_name(text), str)


@pytest.mark.parametrize(
    ("host", "name"),
    [("LocalHost:80", "localhost"), ("[::1]:8001", "::1"), ("a.b.", "a.b"), ("[::1", ""), ("", "")],
)
def test_the_name_of_a_host(host, name):
    assert host_name(host) == name
