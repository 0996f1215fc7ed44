"""A PDF → the words of each page, by PDFium (extra ``pdf``) in a process with its own limits.

PDFium took 2 ms a page (pypdf 18 ms) and rejoins hyphenated words. It runs in a separate process
because a malicious PDF can keep it busy, fill the memory or crash it.
"""

from __future__ import annotations

import atexit
import json
import re
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from threading import Lock, Timer
from typing import TYPE_CHECKING

from ... import processes
from ..base import Unreadable

if TYPE_CHECKING:
    from subprocess import Popen

INSTALL_PDF = 'pip install "datasette-bear-search[pdf]"'

# Seconds until the process is killed. A book of 400 pages takes half a second.
SECONDS = 20
# Memory limit, where the system supports one. 60 MB is usual; zip bombs took 2 GB.
BYTES = 1024**3
# Only this much of a PDF is indexed. The Bible has 4 million characters.
MAX_PAGES, MAX_PDF_CHARACTERS = 2000, 2_000_000

# A word that was broken at a line's end, by a hyphen that PDFium doesn't join.
_BROKEN = re.compile("(\\w)[\u2010\u00ad]\r?\n(\\w)")
# Marks in place of a hyphen at the end of a line, and noncharacters.
_NOT_SHOWN = re.compile("[\x02\ufffe\uffff]")


@cache
def is_installed() -> bool:
    return find_spec("pypdfium2") is not None


def pages(data: bytes) -> list[str]:
    """Return the text of each page, which is "" if the page is only a picture.

    :raises Unreadable: if the PDF is damaged or encrypted, or takes too much time or memory
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
        raise Unreadable(found)
    return [_joined(_NOT_SHOWN.sub("", text)).replace("\r", "").strip() for text in found]


def _joined(text: str) -> str:
    return _BROKEN.sub(lambda at: at[1] + at[2] if at[2].islower() else at[0], text)


_lock = Lock()
_process: Popen[bytes] | None = None


def _start() -> Popen[bytes]:
    # The import takes 10 ms, and every source of files imports this module.
    import subprocess

    global _process
    if _process is None or _process.poll() is not None:
        _process = subprocess.Popen(
            processes.command(__name__, "serve"),
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


# --- In the other process


def serve() -> None:
    with suppress(ImportError, OSError, ValueError):  # Windows has no limit, and macOS ignores it
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while size := requests.read(8):
        data = requests.read(int.from_bytes(size, "big"))
        answers.write(json.dumps(_read(data)).encode() + b"\n")
        answers.flush()


def _read(data: bytes) -> list[str] | str:
    """Return the texts of the pages, or the reason why there are none."""
    import pypdfium2

    texts: list[str] = []
    left = MAX_PDF_CHARACTERS
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
