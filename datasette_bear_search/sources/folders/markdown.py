"""The notes in a folder of Markdown, Org, plain text, HTML and TiddlyWiki's files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...notes import counted, without_title_line
from ..base import Unreadable, checked_option, checked_texts
from ..files.archive import LARGEST_NOTE, Archive, File
from ..files.states import composed
from ..formats.documents import is_template, parse_html
from ..formats.keep import is_page_of_keep
from ..formats.markdown_metadata import ParsedText, suffix
from ..formats.text import decode, word_lists
from . import NoteFolder, front_matter, org, wikis
from .links import INDEX_NAMES

MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".qmd", ".rmd", wikis.MDX, wikis.VIMWIKI)
HTML = (".html", ".htm", ".xhtml")
SUFFIXES = (*MARKDOWN_SUFFIXES, *HTML, ".txt", ".text", org.SUFFIX, wikis.TIDDLER)

# Files and folders among which notes are looked for, to recognize their folder.
MOST_ENTRIES = 2000
_TRASH = re.compile(r"((?:.*?/)??)trash/", re.IGNORECASE)
_BESIDE_TRASH = ("source/notes.json", "notes.sqlite")
_OF_SITES = word_lists()["of_sites"]
# As in a Zettelkasten: 202401051000 Tomatoes.md, which [[202401051000]] means.
_ID = re.compile(r"(?:^|/)(\d{12,14})(?=(?:_|[^\w/])[^/]+$)")
# Dendron's fields, its dates in milliseconds.
_OF_DENDRON = re.compile(r"---\r?\n(?:(?!---).*\n)*?desc:(?:(?!---).*\n)*?updated: *'?\d{13}\b")
_OF_ZIM = "Content-Type: text/x-zim-wiki\n"
# Pages for each other file from which a whole site may have been made.
FEWEST_SOURCES = 4


class MarkdownFolder(NoteFolder):
    """A folder of Markdown, Org, plain text, HTML or .tid files, such as a repository of TILs."""

    tag_properties = front_matter.TAGS

    def __init__(
        self,
        location: Path | str,
        name: str = "markdown",
        *,
        suffixes: str | Sequence[str] = SUFFIXES,
        url: str = "",
        app: str = "",
        folder_tags: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(location, name, folder_tags=folder_tags, **options)
        wanted = "a list of ends of file names, such as [.md, .rst]"
        ends = [end.strip(". ").lower() for end in checked_texts("suffixes", suffixes, wanted)]
        checked_option("suffixes", suffixes, bool(ends) and all(ends), wanted)
        self.suffixes = tuple(f".{end}" for end in ends)
        is_template = isinstance(url, str) and ("{path}" in url or "{absolute}" in url or not url)
        wanted = "an address with {path} or {absolute} where the path of a note's file belongs"
        self.url = checked_option("url", url, is_template, wanted)
        self.app = str(app)

    @classmethod
    def reads(cls, location: str) -> bool:
        left = MOST_ENTRIES
        for _, folders, names in os.walk(os.path.expanduser(location)):
            if any(name[0] != "." and suffix(name) in SUFFIXES for name in names):
                return True
            left -= len(folders) + len(names)
            if left <= 0:
                break
            folders[:] = sorted(name for name in folders if name[0] != ".")
        return False

    def _settings(self) -> tuple[object, ...]:
        return (*super()._settings(), self.suffixes, self.url)

    def _list(self, *, include_trashed: bool) -> Archive:
        folder = super()._list(include_trashed=include_trashed)
        pages = {key: file for key, file in folder.files.items() if file.suffix in HTML}
        of_keep = {key for key, file in pages.items() if is_page_of_keep(file.path, _start)}
        others = len(folder.files) - len(pages)
        built = tuple(_sites(pages) if others * FEWEST_SOURCES >= len(pages) else ())
        of_sites = {key for key in pages.keys() - of_keep if key.startswith(built)}
        for key in of_keep | of_sites:
            del folder.files[key]
        for keys, reason in (
            (of_keep, "Google Keep's; give their folder as a source of its own to read the notes"),
            (of_sites, f"a site in {', '.join(built) or '/'} that was made from other files here"),
        ):
            folder.skipped += [f"{counted(len(keys), 'page')} of {reason}"] if keys else []
        return folder

    def _excludes(self, key: str, include_trashed: bool) -> bool:
        is_trash = not include_trashed and self._is_trashed(key)
        return is_trash or super()._excludes(key, include_trashed)

    def _is_trashed(self, key: str) -> bool:
        # Simplenote and QOwnNotes keep it among the notes, beside a file that tells whose it is.
        match = _TRASH.match(key)
        return match is not None and any(
            os.path.lexists(os.path.join(self.root, match[1] + name)) for name in _BESIDE_TRASH
        )

    def _other_names(self, folder: Archive, key: str) -> Sequence[str]:
        if suffix(key) not in (org.SUFFIX, wikis.TIDDLER):
            return _ID.findall(key)
        text = decode(folder.read(key, largest=LARGEST_NOTE))
        is_org = suffix(key) == org.SUFFIX
        return org.names(text) if is_org else [wikis.split_tiddler(text)[0].get("title", key)]

    def _parse(self, file: File, text: str) -> ParsedText:
        name, end = file.name, file.suffix
        if name.lower() in INDEX_NAMES:
            name = composed(file.folder.rpartition("/")[2]) or name
        if end == org.SUFFIX:
            return org.parse(text, name)
        if end == wikis.TIDDLER:
            fields, body = wikis.split_tiddler(text)
            if fields.get("title", "").startswith("$:/"):  # the wiki's own
                raise Unreadable("")
            return self._with_properties(fields, "", fields.get("title") or name, body)
        if end in HTML:
            if is_template(text):
                raise Unreadable("a template that a site is made from")
            page = parse_html(text)
            return page._replace(title=page.title or name)
        if text.startswith(_OF_ZIM):
            text = "---\n" + wikis.as_markdown(text, wikis.ZIM).replace("\n\n", "\n---\n", 1)
            end = ".md"
        if end not in MARKDOWN_SUFFIXES:
            return ParsedText(file.name, without_title_line(text, file.name))
        is_of_dendron = _OF_DENDRON.match(text, 0, 2000)
        text = wikis.as_markdown(text, wikis.DENDRON if is_of_dendron else end)
        parsed = self._parse_markdown(file, text, file.name if self.names_are_titles else name)
        return parsed._replace(soft_breaks=not self.names_are_titles)

    def _url(self, file: File, title: str) -> str | None:
        if not self.url:
            return None
        absolute = quote(os.fsencode(os.path.abspath(file.path).replace(os.sep, "/")))
        return self.url.replace("{path}", quote(file.key)).replace("{absolute}", absolute)


def _start(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(LARGEST_NOTE)


def _sites(pages: Mapping[str, File]) -> list[str]:
    """Return the folders of sites made by a generator: "" for all, or "docs/"."""
    return [
        file.key[: -len("index.html")]
        for file in pages.values()
        if f"/{file.key}".endswith("/index.html")
        and any(os.path.lexists(os.path.join(os.path.dirname(file.path), it)) for it in _OF_SITES)
    ]
