"""Another website in Chromium that tries to guess the content of notes served by bear-serve.

Run: python -m tests.stress.cross_site [--guesses 25] [--way fetch …]

A page of another origin tries all ways in which a page can request a URL: fetch, img, script,
object, iframe, form, popup. Each guess is between a text (or the id of a note) that exists and one
that doesn't. All must have the same visible effect. The page also takes the shortest of three times
and guesses that the slower one exists, or the faster one, whichever is right more often. Chance
alone is right in half of the cases, and at most 60 % of all guesses may be right. (With 25 guesses,
chance reaches 60 % every fifth time.)

Before that, every route is requested with every method and with the headers Host, Origin and
Sec-Fetch-Site of pages of this server and of others. Whatever another page requests, the response
must be the same.
"""

from __future__ import annotations

import argparse
import http.client
import http.server
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from datasette.app import Datasette
from hypothesis import find
from hypothesis import strategies as st

from datasette_bear_search.web.server import HEADERS
from tests.support.bear_database import demo_notes, write_demo_library
from tests.support.chromium import launched
from tests.support.datasettes import indexed

MAY_BE_RIGHT = 0.6
WAYS = ("fetch", "img", "script", "object", "iframe", "form", "popup")

# Returns what a page can observe of one request: an event, resource timings, and the time it took.
GUESS = """
async ([way, url]) => {
  const element = (name, attributes, go = (made) => document.body.append(made)) =>
    new Promise((done) => {
      const made = Object.assign(document.createElement(name), attributes);
      made.onload = () => done("load");
      made.onerror = () => done("error");
      setTimeout(() => done("nothing"), 3000);
      go(made);
    });
  const ways = {
    fetch: () => fetch(url, {mode: "no-cors", cache: "no-store"}).then(
      (answer) => answer.type + answer.status, (error) => error.name),
    img: () => element("img", {src: url}),
    script: () => element("script", {src: url}),
    object: () => element("object", {data: url}),
    iframe: () => element("iframe", {src: url}),
    form: () => element("iframe", {name: "target"}, (frame) => {
      document.body.append(frame);
      const form = document.createElement("form");
      Object.assign(form, {method: "post", target: "target", action: url});
      document.body.append(form);
      form.submit();
    }),
    popup: async () => {
      const opened = open(url);
      for (let waited = 0; waited < 100; waited++) {
        await new Promise((go) => setTimeout(go, 5));
        try { void opened.location.href; } catch { break; }
        if (opened.closed) break;
      }
      await new Promise((go) => setTimeout(go, 100));
      let seen;
      try {
        seen = opened.closed ? "closed" : `frames ${opened.length}`;
      } catch (error) { seen = error.name; }
      opened.close();
      return seen;
    },
  };
  const started = performance.now();
  const seen = await ways[way]();
  const milliseconds = performance.now() - started;
  const names = performance.getEntriesByName(url);
  const entry = names[names.length - 1];
  document.body.replaceChildren();
  performance.clearResourceTimings();
  return [String(seen) + (entry ? ` ${entry.transferSize} ${entry.responseStatus}` : ""),
          milliseconds];
}
"""


@contextmanager
def bear_serve(path: Path) -> Iterator[str]:
    """Run the command; yield its URL."""
    command = [sys.executable, "-u", "-m", "datasette", "bear-serve", "--no-open", "--port", "0"]
    with subprocess.Popen(
        [*command, "--sidecar", str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            yield re.search(r"http://[0-9.:]+", process.stdout.readline())[0]  # type: ignore[index]
        finally:
            process.terminate()


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "NONSENSE")
SITES = (None, "same-origin", "none", "same-site", "cross-site", "Same-Origin", "", "none, none")
ORIGINS = (
    None,
    "http://{host}",
    "null",
    "http://127.0.0.1:9",
    "https://evil.example",
    "file://",
    "",
)
HOSTS = ("127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}")
FOREIGN_HOSTS = ("evil.example:{port}", "evil.example", "127.0.0.1.evil.example", "0.0.0.0", "")
FEW = (
    *((HOSTS[0], "cross-site", None), (HOSTS[0], "same-site", "http://127.0.0.1:9")),
    *((HOSTS[0], None, "null"), (HOSTS[0], None, "https://evil.example")),
    *((HOSTS[0], "same-origin", None), (HOSTS[0], None, None), (FOREIGN_HOSTS[0], None, None)),
)
Headers = tuple[str, str | None, str | None]  # Host, Sec-Fetch-Site, Origin


def paths() -> list[str]:
    """Return a path for each route, ours and Datasette's."""
    letters = st.characters(codec="ascii", categories=["L"], include_characters="/.-_:$0123456789")
    patterns = [pattern.pattern for pattern, _ in Datasette([])._routes()]
    return sorted(
        {
            "/" + find(st.from_regex(pattern, fullmatch=True, alphabet=letters), bool).lstrip("/")
            for pattern in patterns
        }
    )


def wrong_responses(port: int, paths: Sequence[str], sent: Iterable[Headers] = FEW) -> list[str]:
    """Return the requests of other pages, or by other names, that get a response of their own."""
    wrong: list[str] = []
    refused: dict[tuple[bool, str], object] = {}  # the first response
    for path, method, (host, site, origin) in product(paths, METHODS, sent):
        name = host.format(port=port)
        headers = {"Host": name, "Sec-Fetch-Site": site}
        headers["Origin"] = origin and origin.format(host=name)
        is_named = host in HOSTS
        is_own = is_named and (
            site in ("same-origin", "none") or (site is None and origin in ORIGINS[:2])
        )
        if is_own and method not in ("GET", "HEAD"):  # it may change something
            continue
        status, received, body = response(port, method, path, headers)
        received.pop("date", None)
        if is_own:
            is_wrong = status >= 500 or b"Another website sent" in body
        else:
            key = method == "HEAD", "" if is_named else host or "none"
            first = refused.setdefault(key, (status, received, body))
            is_wrong = status not in (400, 403) or first != (status, received, body)
        # Of a host that is no name, uvicorn says so itself.
        is_wrong |= status != 400 and not HEADERS.items() <= received.items()
        if is_wrong or "access-control-allow-origin" in received:
            wrong.append(f"{method} {path} {headers}: {status} {body[:100]!r}")
    return wrong


def response(
    port: int, method: str, path: str, headers: dict[str, str | None]
) -> tuple[int, dict[str, str], bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        received = connection.getresponse()
        names = {name.lower(): value for name, value in received.getheaders()}
        return received.status, names, received.read()


@contextmanager
def other_website() -> Iterator[str]:
    """Serve a website on another port of this machine; yield its URL."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>Elsewhere</title><body></body>")

        def log_message(self, *arguments: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()


def texts(count: int) -> tuple[list[str], list[str]]:
    """Return texts of three words that a note has in a row, and others that no note has."""
    chosen = random.Random(1)
    bodies = [" ".join(re.findall(r"[a-z]+", (note.text or "").lower())) for note in demo_notes()]
    there: list[str] = []
    for body in bodies:
        words = body.split()
        if len(words) > 40:
            start = chosen.randrange(10, len(words) - 4)
            there.append(" ".join(words[start : start + 3]))
    words = sorted({word for body in bodies for word in body.split()})
    missing: list[str] = []
    while len(missing) < count:
        text = " ".join(chosen.sample(words, 3))
        if not any(text in body for body in bodies):
            missing.append(text)
    return there[:count], missing


Pair = tuple[tuple[str, float], tuple[str, float]]  # for what exists, and for what doesn't


def right(pairs: Sequence[Pair]) -> float:
    """Return the share of guesses by time that are right."""
    slower = sum(there[1] > missing[1] for there, missing in pairs) / len(pairs)
    return max(slower, 1 - slower)


def seen(page: Any, way: str, url: str, times: int) -> tuple[str, float]:
    """Return what a page sees: the event, and the shortest time."""
    found = []
    for number in range(times):
        found.append(page.evaluate(GUESS, [way, f"{url}&n={number}"]))
        for popup in page.context.pages[1:]:  # the page that opened a popup can't close it
            popup.close()
    return found[0][0], min(milliseconds for _, milliseconds in found)


def attack(page: Any, address: str, way: str, guesses: int, times: int = 3) -> list[Pair]:
    """Return what a page sees for texts and notes that exist, and for others that don't."""
    there, missing = texts(guesses)
    search = f"{address}/-/bear-search?mode=like&q="
    note = f"{address}/-/bear-search/note/"
    pairs = [*zip(there, missing, strict=True)]
    asked = [*((search + quote_plus(a), search + quote_plus(b)) for a, b in pairs)]
    asked += [(f"{note}{n}?a", f"{note}{n + 10**6}?a") for n in range(1, guesses + 1)]
    # In pairs, so that a machine that gets busy affects both alike.
    return [(seen(page, way, a, times), seen(page, way, b, times)) for a, b in asked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--guesses", type=int, default=25)
    parser.add_argument("--way", choices=WAYS, action="append")
    arguments = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        write_demo_library(Path(folder, "bear.sqlite"))
        path = indexed(Path(folder, "bear.sqlite"), "--no-semantic")
        with bear_serve(path) as address, other_website() as website, launched() as browser:
            page = browser.new_context().new_page()
            page.goto(website)
            everything: list[Pair] = []
            port, routes = int(address.rpartition(":")[2]), paths()
            every = product((*HOSTS, *FOREIGN_HOSTS), SITES, ORIGINS)
            wrong = wrong_responses(port, ["/-/bear-search.json?q=roof"], every)
            wrong += wrong_responses(port, routes)
            failed |= bool(wrong)
            print(f"{len(routes)} routes, wrong responses: {len(wrong)}", *wrong[:20], sep="\n")
            for way in arguments.way or WAYS:
                started = time.monotonic()
                pairs = attack(page, address, way, arguments.guesses)
                everything += pairs
                events = Counter(event for pair in pairs for event, _ in pair)
                failed |= len(events) > 1
                took = time.monotonic() - started
                print(
                    f"{way:8} {right(pairs):4.0%} right, {dict(events)}, {took:.0f} s", flush=True
                )
            share = right(everything)
            print(f"together {share:4.0%} of {len(everything)}")
    sys.exit(failed or share > MAY_BE_RIGHT)


if __name__ == "__main__":
    main()
