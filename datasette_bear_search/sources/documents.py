"""Documents of Word's (.docx) → Markdown. Pictures and other parts of them aren't opened."""

from __future__ import annotations

import io
from typing import NamedTuple

from . import SourceError, archives, html_pages
from .files import MEGABYTE, Unreadable

# What the XML of a document may unpack to. A novel has 2 MB.
LARGEST_XML = 32 * MEGABYTE


class Document(NamedTuple):
    """What a document says."""

    markdown: str
    has_image: bool


def document(data: bytes) -> Document:
    """The document in a file. Raises Unreadable."""
    try:
        with archives.zipped(io.BytesIO(data), "the document") as archive:
            parts = archive.files.values()
            if sum(part.size for part in parts if part.suffix in (".xml", ".rels")) > LARGEST_XML:
                raise Unreadable(f"unpacks to more than {LARGEST_XML // MEGABYTE} MB")
    except SourceError:
        raise Unreadable("no document of Word's, or only a part of one") from None
    # Takes 100 ms to import, and few sources need it.
    import mammoth

    pictures = []

    def description(image: mammoth.documents.Image) -> list:
        pictures.append(image)
        return [mammoth.html.text(f" {image.alt_text} ")] if image.alt_text else []

    try:
        html = mammoth.convert_to_html(io.BytesIO(data), convert_image=description).value
    except Exception as error:  # in as many ways as a document can be damaged
        raise Unreadable(
            f"a damaged document of Word's ({type(error).__name__}: {error})"
        ) from error
    return Document(html_pages.to_markdown(html), bool(pictures))
