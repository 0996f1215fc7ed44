"""``datasette bear-serve``: which requests it answers, and its limits.

Tests ``cli/serve.py`` and ``web/hosts.py``.
"""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from datasette import handle_exception
from datasette.app import Datasette
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.web import server
from datasette_bear_search.web.hosts import host_name, origin_name
from tests.stress import cross_site
from tests.support.bear_database import BearNote, write_library
from tests.support.datasettes import indexed
from tests.support.threads import serving

pytestmark = pytest.mark.datasette

NAME = "notes.example.net"
JUDGING = {"plugins": {"datasette-bear-search": {"judgments": True}}}

PATHS = [
    "/",
    "/-/bear-search",
    "/-/bear-search.json?q=roof",
    "/-/bear-search/note/1",
    "/-/bear-search/mcp",
    "/-/static/app.css",
]


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("served") / "bear.sqlite"
    write_library(library, [BearNote("# Cabin roof\n\nThe roof leaks.")])
    return indexed(library, "--no-semantic")


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> Path:
    """Return the file that contains the output of the command."""
    return tmp_path_factory.mktemp("printed") / "output"


@pytest.fixture(scope="module")
def port(index, printed) -> Iterator[int]:
    """Run the command once for all tests that only send requests; return its port."""
    arguments = ["bear-serve", "--sidecar", str(index), "--no-open", "--port", "0", "--host", NAME]
    command = [sys.executable, "-u", "-m", "datasette", *arguments]
    with (
        printed.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            while not (address := re.search(r"http://127.0.0.1:(\d+)/", printed.read_text())):
                assert process.poll() is None, printed.read_text()
                time.sleep(0.05)
            yield int(address[1])
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


def test_only_requests_to_its_own_names_are_answered(port):
    for host in (
        "127.0.0.1",
        "localhost",
        "[::1]",
        "LOCALHOST",
        "localhost.",
        NAME,
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
        "evil.example@localhost",
        f"localhost:{port}:evil",
        "evilnotes.example.net",
        "0.0.0.0",
        "[::1",
        "",
        None,
    ):
        for path in PATHS:
            status, text = status_and_text(port, host, path)
            # The server itself rejects a host that isn't even a valid name.
            assert status in (400, 403), (host, path)
            assert "roof" not in text
            if status == 403:
                assert "another website could have sent you here" in text


def test_a_name_that_it_was_given_is_one_for_agents_too(port):
    status, text = status_and_text(port, NAME, "/-/bear-search/mcp")
    assert (status, "POST" in text) == (405, True)


def test_a_page_of_another_site_cannot_judge_results(port):
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


def test_every_request_of_another_site_gets_the_same_response_before_any_work(port):
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


def test_no_header_or_method_of_another_website_changes_the_response(port):
    assert cross_site.wrong_responses(port, ["/-/bear-search/note/1", "/"]) == []


@pytest.mark.asyncio
async def test_a_datasette_that_somebody_runs_has_whatever_names_they_gave_it(index):
    response = await Datasette([str(index)]).client.get(
        "/-/bear-search.json?q=roof", headers={"host": NAME}
    )
    assert response.status_code == 200


@given(st.text())
def test_an_invalid_host_name_is_refused(text):
    assert isinstance(host_name(text), str)
    assert isinstance(origin_name(text), str)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("LocalHost:80", "localhost"),
        ("[::1]:8001", "::1"),
        ("a.b.", "a.b"),
        ("[::1", ""),
        ("evil@localhost", ""),
        ("127.0.0.1#x", ""),
        ("localhost:80:evil", ""),
        ("", ""),
    ],
)
def test_host_names_are_read_without_ports(host, name):
    assert host_name(host) == name


# Errors, and limits


def asked(port: int, request: str | bytes) -> bytes:
    """Send a request; return the response, up to its end or that of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(request.encode() if isinstance(request, str) else request)
        return client.recv(100_000)


FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}


def test_an_error_prints_nothing_of_the_query(port, printed):
    # Datasette itself prints a traceback with all variables: 40,000 characters per error.
    host, before = f"127.0.0.1:{port}", printed.read_text()
    for path, status in (
        ("/nope?q=zanzibar", 404),
        ("/bear/zanzibar", 404),
        ("/bear.json?sql=select+zanzibar", 404),
        ("/-/bear-search/note/999?q=zanzibar", 404),
        ("/-/bear-search?mode=zanzibar", 400),
    ):
        assert status_and_text(port, host, path)[0] == status, path
    assert status_and_text(port, host, "/-/bear-search/judge", "POST", **FORM)[0] == 400
    assert printed.read_text() == before


@pytest.mark.asyncio
async def test_our_errors_print_nothing_in_any_datasette(index, capsys):
    client = Datasette([str(index)], metadata=JUDGING).client
    for path in ("/note/999?q=zanzibar", "/similar/999", "?mode=zanzibar"):
        assert (await client.get(f"/-/bear-search{path}")).status_code in (400, 404)
    for content in ("search=q%3Dzanzibar&grade=9", "search=q%3Dzanzibar&grade=1"):
        response = await client.post("/-/bear-search/judge", content=content, headers=FORM)
        assert response.status_code in (400, 404)
    output = capsys.readouterr()
    assert output.out + output.err == ""


@pytest.mark.parametrize("target", ["http://evil.example/", "http://localhost/-/bear-search", "*"])
def test_a_path_begins_with_a_slash(port, target):
    answer = asked(port, f"GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("header", "status"),
    [("content-length: 1000001", 413), ("transfer-encoding: chunked", 411)],
)
@pytest.mark.parametrize("path", ["judge", "mcp"])
def test_a_body_has_a_length_and_a_limit(port, path, header, status):
    request = f"POST /-/bear-search/{path} HTTP/1.1\r\nhost: localhost\r\n{header}\r\n\r\n"
    assert asked(port, request).startswith(f"HTTP/1.1 {status}".encode())


@pytest.fixture
def limited(index, monkeypatch) -> Iterator[int]:
    """Run the same server in this process with lower limits; return its port."""
    monkeypatch.setattr(handle_exception, "rich", None)  # the server sets this, too
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 4)
    served = server.server(Datasette([str(index)], metadata=JUDGING), ())
    with serving(served) as port:
        yield port


@pytest.mark.parametrize(
    "half",
    [
        "",
        "GET / HTTP/1.1\r\nhost: localhost\r\n",
        "POST /-/bear-search/judge HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\na",
    ],
)
def test_half_a_request_ends_with_the_connection(limited, half):
    before = time.monotonic()
    try:
        answer = asked(limited, half)
    except ConnectionResetError:
        answer = b""
    assert answer == b""
    assert time.monotonic() - before < 10


def test_a_second_request_has_its_own_time(limited):
    with closing(http.client.HTTPConnection("127.0.0.1", limited)) as connection:
        for _ in range(2):
            connection.request("GET", "/-/versions.json")
            assert b"datasette" in connection.getresponse().read()
            client = connection.sock
            time.sleep(0.4)
        assert connection.sock is client


def test_no_answer_waits_for_the_client_to_acknowledge_its_headers(limited):
    seconds = []
    with closing(http.client.HTTPConnection("127.0.0.1", limited)) as connection:
        for _ in range(12):
            begun = time.perf_counter()
            connection.request("GET", "/-/versions.json")
            assert connection.getresponse().read()
            seconds.append(time.perf_counter() - begun)
    assert min(seconds) < 0.03, "Linux waits for 40 ms"


def test_only_a_limited_number_of_clients_connect_at_once(limited):
    idle = [socket.create_connection(("127.0.0.1", limited)) for _ in range(4)]
    request = "GET /-/versions.json HTTP/1.1\r\nhost: localhost\r\n\r\n"
    assert asked(limited, request).startswith(b"HTTP/1.1 503")
    for client in idle:
        client.close()
    time.sleep(0.1)
    assert asked(limited, request).startswith(b"HTTP/1.1 200")
