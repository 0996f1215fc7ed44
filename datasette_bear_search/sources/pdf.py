"""A PDF → the words of each page, by PDFium (extra ``pdf``) in a process with limits of its own.

Of two libraries this one took 2 ms a page (pypdf 18), and puts words that a line cuts together
again. A PDF that is made to do harm can keep it busy, fill the memory or crash it.
"""

from __future__ import annotations

import atexit
import json
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING

from . import Unreadable

if TYPE_CHECKING:
    from subprocess import Popen

INSTALL = "pip install 'datasette-bear-search[pdf]'"

# A book of 400 pages takes half a second; then the process, with what it has in memory, is ended.
SECONDS = 20
# Of memory, where the system can limit it: 60 MB are usual, zip bombs took 2 GB.
BYTES = 1024**3
# The Bible has 4 million; of what goes on, these are indexed.
MAX_PAGES, MAX_CHARACTERS = 2000, 2_000_000

# A word's hyphen at the end of a line, a character without a meaning.
_NOT_SHOWN = re.compile("[\x02\ufffe\uffff]")


@cache
def is_installed() -> bool:
    return find_spec("pypdfium2") is not None


def pages(data: bytes) -> list[str]:
    """Return the text of each page, "" for a picture.

    :raises Unreadable: if it is damaged or encrypted, or takes too much time or memory
    """
    with _lock:
        process = _start()
        assert process.stdin
        assert process.stdout
        timer = Timer(SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(len(data).to_bytes(8, "big") + data)
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = b""
        finally:
            timer.cancel()
        if not answer:
            _end()
            raise Unreadable("damaged, or takes too much time or memory")
    found = json.loads(answer)
    if isinstance(found, str):
        raise Unreadable(f"{found}")
    return [_NOT_SHOWN.sub("", text).replace("\r", "").strip() for text in found]


_lock = Lock()
_process: Popen[bytes] | None = None


def _start() -> Popen[bytes]:
    # Takes 10 ms to import, and this module is imported with each source of files.
    import subprocess

    global _process
    if _process is None or _process.poll() is not None:
        _process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=Path(__file__).parents[2],  # not where somebody's files may look like modules
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    return _process


@atexit.register
def _end() -> None:
    if _process is not None:
        _process.kill()
        _process.communicate()


# --- in that process


def _serve() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    except (ImportError, OSError, ValueError):
        pass  # Windows has none, macOS doesn't keep to it
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while size := requests.read(8):
        data = requests.read(int.from_bytes(size, "big"))
        answers.write(json.dumps(_read(data)).encode() + b"\n")
        answers.flush()


def _read(data: bytes) -> list[str] | str:
    """Return the pages' texts, or why there are none."""
    import pypdfium2

    texts: list[str] = []
    left = MAX_CHARACTERS
    try:
        with pypdfium2.PdfDocument(data) as document:
            for number in range(min(len(document), MAX_PAGES)):
                page = document[number]
                texts.append(page.get_textpage().get_text_bounded()[:left])
                page.close()
                left -= len(texts[-1])
                if not left:
                    break
    except pypdfium2.PdfiumError as error:
        return "encrypted with a password" if "assword" in str(error) else "damaged"
    return texts


if __name__ == "__main__":
    _serve()
