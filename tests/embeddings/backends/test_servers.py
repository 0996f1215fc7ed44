"""Models of a server, here one that this test writes, and of the package llm."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.cli.doctor import examine
from datasette_bear_search.embeddings import registry
from datasette_bear_search.embeddings.backends import servers
from datasette_bear_search.embeddings.base import ModelUnavailable
from tests.support.bear_database import BearNote
from tests.support.tiny_embedder import TinyEmbedder


class Server(ThreadingHTTPServer):
    """Answers as OpenAI's does; ``failures`` are the first answers' statuses."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.failures: list[int] = []
        self.requests: list[dict] = []
        self.headers: list[dict] = []
        self.numbers = 8
        self.answer = None
        self.address = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        content = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append({"path": self.path, **content})
        self.server.headers.append(dict(self.headers))
        if self.server.failures:
            body = {"error": {"message": f'model "{content["model"]}" not found'}}
            return self._send(self.server.failures.pop(0), body)
        tiny = TinyEmbedder("x")
        rows = tiny.encode(content["input"], is_query=False)
        data = [
            {"index": place, "embedding": [float(number) for number in row][: self.server.numbers]}
            for place, row in enumerate(rows)
        ]
        answer = self.server.answer
        return self._send(200, {"data": data[::-1]} if answer is None else answer)

    def _send(self, status: int, body: object) -> None:
        self.send_response(status)
        self.send_header("location", "http://192.0.2.1/")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(servers, "PAUSES", (0.01, 0.01))
    with closing(Server()) as running:
        running.close = running.server_close
        thread = threading.Thread(target=running.serve_forever, args=[0.01], daemon=True)
        thread.start()
        yield running
        running.shutdown()


def embedder(server: Server, name: str = "some-model") -> servers.ServerEmbedder:
    return servers.factory_for(f"openai:{name}@{server.address}")()


def test_notes_are_indexed_and_found_by_a_server(server, index_notes, sidecar_path):
    server.numbers = 1000
    model = f"openai:some-model@{server.address}"
    index_notes([BearNote("# Roof\n\nIt leaks."), BearNote("# Soup\n\nLentils.")], "--model", model)
    arguments = ["bear-search", "leaks", "--mode", "semantic", "--json"]
    found = CliRunner().invoke(cli, [*arguments, "--sidecar", str(sidecar_path)])
    assert json.loads(found.stdout)["query"]["retrievers"] == ["semantic"]
    assert json.loads(found.stdout)["rows"][0]["title"] == "Roof"
    assert {each["path"] for each in server.requests} == {"/v1/embeddings"}


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/api/v1", "/openai/v1"])
def test_the_start_of_an_api_may_follow_the_address(server, path):
    servers.factory_for(f"openai:m@{server.address}{path}")().load()
    prefix = path.rstrip("/").removesuffix("/v1")
    assert {each["path"] for each in server.requests} == {f"{prefix}/v1/embeddings"}


@pytest.mark.parametrize("path", ["", "/containers/prune?x=", "/v1"])
def test_a_server_that_only_an_index_names_gets_nothing(
    server, path, index_notes, write, bear_index, sidecar_path, monkeypatch
):
    notes = [BearNote("# Roof\n\nIt leaks."), BearNote("# Soup\n\nLentils.")]
    index_notes(notes)
    write(*notes, BearNote("# Another note\n\nIts text is nobody's business."))
    monkeypatch.setenv(servers.KEY_VARIABLE, "sesame")
    with closing(sqlite3.connect(sidecar_path)) as db, db:
        model = f"openai:m@{server.address}{path}"
        db.execute("update meta set value = ? where key = 'model'", [model])

    def run(*arguments: str) -> str:
        return CliRunner().invoke(cli, [*arguments, "--sidecar", str(sidecar_path)]).output

    assert "nobody has named on this machine" in run("bear-search", "what drips on me")
    assert "nobody has named on this machine" in run("bear-doctor", "--model-check")
    assert "nobody has named on this machine" in bear_index().output
    assert server.requests == []
    run("bear-index", "--trust")
    said = run("bear-search", "what drips on me")
    if "?" in path:
        assert "needs the server's address" in said
        assert server.requests == []
    else:
        assert server.headers[0]["Authorization"] == "Bearer sesame"


def test_a_model_elsewhere_is_named_by_the_environment_variable(server, monkeypatch):
    model = f"openai:m@{server.address}"
    assert not registry.is_trusted(model)
    monkeypatch.setenv(servers.REMOTE_VARIABLE, model)
    assert registry.get_embedder(model).dimension == 8


def test_texts_go_in_batches_and_come_back_in_order(server):
    made = embedder(server)
    texts = [f"note number {number}" for number in range(70)]
    vectors = made.embed_documents(texts)
    assert vectors == [made.embed_documents([text])[0] for text in texts]
    assert [len(each["input"]) for each in server.requests][1:4] == [32, 32, 6]


def test_a_model_gets_the_prompts_that_it_was_trained_with(server):
    made = embedder(server, "EmbeddingGemma:300m")
    made.embed_query("roof")
    made.embed_documents(["leaks"])
    asked = [text for each in server.requests for text in each["input"]]
    assert asked[1:] == ["task: search result | query: roof", "title: none | text: leaks"]


def test_a_busy_server_is_asked_again(server):
    server.failures = [503, 429]
    assert embedder(server).dimension == 8
    server.failures = [503, 503, 503]
    with pytest.raises(ModelUnavailable, match="not found"):
        embedder(server).load()


@pytest.mark.parametrize(
    ("status", "said"),
    [(404, "answers: model"), (401, "DATASETTE_BEAR_SEARCH_API_KEY"), (302, "answers: model")],
)
def test_a_refused_request_gives_an_error_and_is_not_repeated(server, status, said):
    server.failures = [status]
    with pytest.raises(ModelUnavailable, match=said):
        embedder(server).load()
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [{"data": []}, {"rows": 1}, [], {"data": [{"index": 0}]}])
def test_an_answer_without_vectors_is_an_error(server, answer):
    server.answer = answer
    with pytest.raises(ModelUnavailable, match=r"didn.t answer|doesn.t return vectors"):
        embedder(server).load()


def test_another_model_under_the_same_name_is_noticed(server):
    made = embedder(server)
    made.load()
    server.numbers = 4
    with pytest.raises(ModelUnavailable, match="one vector of 8 numbers"):
        made.embed_query("roof")


def test_a_server_that_is_away_is_an_error_that_says_so(server, monkeypatch):
    server.shutdown()
    server.server_close()
    monkeypatch.setattr(servers, "PAUSES", (60,))  # nobody waits for what isn't there
    with pytest.raises(ModelUnavailable, match=f"No server answers at {server.address}"):
        embedder(server).load()


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("openai:x@https://api.openai.com", "would send your notes and queries to api.openai.com"),
        ("ollama:x@http://192.168.0.7:11434", "would send your notes and queries to 192.168.0.7"),
        ("openai:x@http://127.0.0.1.example.com", "to 127.0.0.1.example.com"),
        ("openai:x@http://127.0.0.1@example.com/", "needs the server's address|to example.com"),
        ("openai:x", "needs the server's address"),
        *(
            (f"openai:x@http://{address}", "needs the server's address")
            for address in (
                "127.0.0.1:1/containers/prune?x=",
                "127.0.0.1:1/containers/prune",
                "127.0.0.1:1/?",
                "127.0.0.1:1/v1#",
                "127.0.0.1:1/../v1",
                "127.0.0.1:1/%2e%2e/v1",
                "127.0.0.1:1/a//v1",
                "127.0.0.1:1/v1/x",
                "me@127.0.0.1:1",
                "me:word@127.0.0.1:1/v1",
                "127.0.0.1:1\\@example.com/v1",
                "127.0.0.1:1 /v1",
                "127.0.0.1:1/v1\n",
                "127.0.0.1:1/\tv1",
                "[::1",
                "",
            )
        ),
        ("openai:x@file:///etc/passwd", "needs the server's address"),
    ],
)
def test_nothing_leaves_this_machine_unless_a_person_says_so(model, problem):
    with pytest.raises(ModelUnavailable, match=problem):
        servers.factory_for(model)().load()


def test_a_model_elsewhere_is_used_when_its_name_is_permitted(monkeypatch):
    model = "openai:x@http://192.0.2.1:1"
    monkeypatch.setenv(servers.REMOTE_VARIABLE, f"llm:other, {model}")
    monkeypatch.setattr(servers, "PAUSES", ())
    monkeypatch.setattr(servers, "CONNECT_TIMEOUT", 0.01)
    with pytest.raises(ModelUnavailable, match="No server answers"):
        servers.factory_for(model)().load()


def test_a_proxy_never_sees_notes_for_this_machine(server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://192.0.2.1:9")
    monkeypatch.setenv(servers.KEY_VARIABLE, "sesame")
    embedder(server).load()
    assert server.headers[0]["Authorization"] == "Bearer sesame"


def test_doctor_asks_the_server_for_a_vector(server, index_notes, sidecar_path):
    name = f"openai:some-model@{server.address}"
    index_notes([BearNote("# Roof\nThe roof leaks")], "--model", name)
    registry.register(name, servers.factory_for(name))  # as in another process

    def model() -> tuple[bool | None, str]:
        [found] = [
            each for each in examine(sidecar_path)["Embedding model"] if each.name == "model"
        ]
        return found.ok, found.says

    assert model() == (True, f"{name} works and makes vectors of 8 numbers")
    registry.register(name, servers.factory_for(name))
    server.failures = [404] * 3
    assert model()[0] is False
    assert "not found (404)" in model()[1]


def test_names_have_dimensions_like_any_other(server):
    made = registry.trust(f"openai:m@{server.address}@4")
    assert made.dimension == 8
    assert made.name == f"openai:m@{server.address}@4"
    registry.trust("ollama:embeddinggemma")
    assert registry.is_here("ollama:embeddinggemma")


def test_embedding_models_of_llm_are_used(monkeypatch):
    class UnknownModelError(Exception):
        pass

    def get(name):
        if name == "unknown":
            raise UnknownModelError(name)
        return SimpleNamespace(
            needs_key="openai" if name == "3-small" else None,
            embed_multi=lambda texts: ([1.0, len(text)] for text in texts),
        )

    package = SimpleNamespace(get_embedding_model=get, UnknownModelError=UnknownModelError)
    monkeypatch.setitem(sys.modules, "llm", package)
    assert registry.trust("llm:local").dimension == 8
    with pytest.raises(ModelUnavailable, match="llm embed-models"):
        registry.trust("llm:unknown").load()
    with pytest.raises(ModelUnavailable, match="to the makers of 3-small"):
        registry.trust("llm:3-small").load()
    monkeypatch.setitem(sys.modules, "llm", None)
    with pytest.raises(ModelUnavailable, match="pip install llm"):
        registry.trust("llm:another").load()
