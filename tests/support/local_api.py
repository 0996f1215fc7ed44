"""A server on this machine that answers as another company's API does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Answer(NamedTuple):
    content: Any  # bytes as they are, anything else as JSON
    status: int = 200
    headers: Mapping[str, str] = {}


class Request(NamedTuple):
    path: str
    parameters: dict[str, str]  # of the address and of a form
    authorization: str


@contextmanager
def local_api(answer: Callable[[Request], Answer]) -> Iterator[str]:
    """Serve the answers; yield the server's address, which ends with a slash."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            form = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            given = dict(parse_qsl(url.query) + parse_qsl(form))
            request = Request(url.path, given, self.headers.get("Authorization", ""))
            content, status, headers = answer(request)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            kind = "text/plain" if isinstance(content, bytes) else "application/json"
            self.send_response(status)
            for name, value in {"Content-Type": kind, **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
