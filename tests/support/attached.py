"""Generated images and PDFs for tests."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from datasette_bear_search.sqlite import sqlite3


def png(width: int = 60, height: int = 40, color: tuple[int, int, int] = (200, 90, 60)) -> bytes:
    """Return an image of one color."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    rows = b"".join(b"\0" + bytes(color) * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def pdf(*texts: str) -> bytes:
    """Return a PDF with a page for each text."""
    return pdf_of(*(f"BT /F1 14 Tf 60 740 Td ({text}) Tj ET".encode() for text in texts))


def pdf_of(*streams: bytes, kids: bytes = b"") -> bytes:
    """Return a PDF with these streams as pages, or with ``kids`` in place of its list of pages."""
    count = len(streams)
    own = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(count))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, kids or own),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, stream in enumerate(streams):
        packed = zlib.compress(stream)
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]"
            b"/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>" % (5 + 2 * number),
            b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
        ]
    written, places = b"%PDF-1.5\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        written
        + b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
        + b"trailer<</Size %d/Root 1 0 R>>\n" % (len(objects) + 1)
        + b"startxref\n%d\n%%%%EOF" % len(written)
    )


def local_file(library: Path, name: str, content: bytes) -> Path:
    """Write a file of a Bear library to the place where Bear keeps it."""
    with sqlite3.connect(library) as db:
        sql = "select ZUNIQUEIDENTIFIER from ZSFNOTEFILE where ZFILENAME = ?"
        [key] = db.execute(sql, [name]).fetchone()
    folder = "Note Files" if name.endswith(".pdf") else "Note Images"
    path = library.parent / "Local Files" / folder / key / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
