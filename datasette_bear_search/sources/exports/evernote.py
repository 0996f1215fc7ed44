"""The notes in Evernote's export files (.enex): XML with each note's content as XHTML (ENML).

The format: https://evernote.com/blog/how-evernotes-xml-export-format-works, its DTD
http://xml.evernote.com/pub/evernote-export4.dtd, and https://dev.evernote.com/doc/articles/enml.php.
Notes have no id there, so their keys are the notebook and the second in which a note was created.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from html import unescape
from itertools import chain
from pathlib import Path
from xml.parsers import expat

from ...notes import NEXT_FILE, Link, Note
from ..base import Unreadable
from ..files.archive import LARGEST_NOTE, OTHER_NOTES, Archive, File
from ..files.file_source import FileSource, paths_at
from ..formats.dates import parse_timestamp
from ..formats.documents import parse_html
from ..formats.markdown_metadata import note_from_markdown, suffix
from ..formats.text import decode_damaged

SUFFIX = ".enex"

# The elements of a note that are read, apart from its content, and those around some of them.
_AROUND = ("note-attributes", "task", "resource")
_PART = re.compile(
    r"<(?P<end>/?)(?P<name>title|created|updated|tag|source-url|taskStatus|mime|recognition"
    rf"|file-name|{'|'.join(_AROUND)})(?:\s[^<>]*)?>"
)
_NOT_IN_XML = bytes(code for code in range(32) if code not in b"\t\n\r")

# The data of a file, where a note begins, and where it ends.
_DATA = re.compile(rb"(<data\b[^<>]*>)[^<]+")
_START, _END = re.compile(rb"(?=<note[>\s])"), re.compile(rb"</note\s*>")
LONGEST_TAG = 200
_CDATA = re.compile(r"\]\]>|<!\[CDATA\[")
_ENCRYPTED = re.compile(r"<en-crypt\b[^<>]*>[^<>]*")
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-z][\w-]*)(?P<attributes>[^<>]*?)(?P<empty>/?)>")
_ITEM = re.compile(r"(<li\b[^<>]*--en-checked:\s*(true|false)[^<>]*>(?:\s*<div\b[^<>]*>)?)")
_VOID = ("br", "hr", "img", "input")
_CHECKBOX = re.compile(r"^(?=\[[x ]\] )", re.MULTILINE)
# Older versions of Evernote show this instead of tasks, which are in elements of their own.
_TASKS = re.compile(r"Content not supported\s+This block is a placeholder for Tasks\b[^\n]*\n*")
# For each word in an image, the most likely reading comes first, with its probability in percent.
_RECOGNIZED = re.compile(r"<item\b[^<>]*>\s*<t w=\"(\d+)\">([^<>]*)</t>")
LEAST_PROBABILITY = 50

_LINK = re.compile(
    r"\[([^\[\]\n]+)\]\((?:evernote:///view|https://www\.evernote\.com/shard"
    r"|https://share\.evernote\.com/note)/[^()\s]*\)"
)


class EvernoteExport(FileSource):
    """An Evernote export: an .enex file (a notebook), or a folder or zip file with several."""

    default_name = "evernote"

    @classmethod
    def reads(cls, location: str) -> bool:
        suffixes = set(map(suffix, paths_at(location)))
        is_folder = Path(location).expanduser().is_dir()
        return SUFFIX in suffixes and not (is_folder and suffixes & OTHER_NOTES)

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        advice = "one that Evernote exported, or of a folder with some"
        export = self._open_export(lambda file: file.suffix == SUFFIX, f"{SUFFIX} file", advice)
        with export as (archive, notebooks):
            # Read everything twice: links have only titles, of notes that may come later.
            titles = defaultdict(list)
            for key, fields in self._notes(archive, notebooks):
                title = _first(fields, "title")
                for name in (title, f"{_first(fields, 'notebook')}/{title}"):
                    titles[name].append(key)
            keys = {title: keys[0] for title, keys in titles.items() if len(keys) == 1}
            self.skipped = list(archive.skipped)
            for key, fields in self._notes(archive, notebooks):
                yield self._note(key, fields, keys)

    def _notes(
        self, archive: Archive, notebooks: list[File]
    ) -> Iterator[tuple[str, dict[str, list[str]]]]:
        for file in notebooks:
            seen = Counter[str]()
            problems: list[str] = []
            try:
                for fields in _parsed(archive.chunks(file.key), problems):
                    fields["notebook"] = [file.name]
                    created = _first(fields, "created") or _first(fields, "title")
                    seen[created] += 1
                    number = f"#{seen[created]}" if seen[created] > 1 else ""
                    yield f"{file.key.removesuffix(SUFFIX)}/{created}{number}", fields
            except Unreadable as reason:
                problems.append(f"from its note {seen.total() + 1} on: {reason}")
            if not seen and not problems:
                problems.append("no note in it")
            self.skipped += [f"{file.key}: {problem}" for problem in problems]

    def _note(self, key: str, fields: dict[str, list[str]], keys: dict[str, str]) -> Note:
        title = _first(fields, "title")
        page = parse_html(_html(_first(fields, "content")))
        if page.problem:
            self.skipped.append(f"{title}: {page.problem}")
        body = _TASKS.sub("", _CHECKBOX.sub("- ", page.text))
        for name, status in zip(fields["task/title"], fields["task/taskStatus"]):
            body += f"\n- [{'x' if status == 'completed' else ' '}] {name}"
        if address := _first(fields, "note-attributes/source-url"):
            body += f"\n\n<{address}>"
        for name in dict.fromkeys(fields["resource/file-name"]):
            body += f"\n\nFile: {' '.join(name.split())}"
        linked = {}
        for label in _LINK.findall(body):  # prefer a note in the same notebook
            if other := keys.get(f"{fields['notebook'][0]}/{label}") or keys.get(label):
                linked[label] = other
        # Turn links between notes into wiki links, which other programs understand.
        body = _LINK.sub(lambda it: f"[[{it[1]}]]" if it[1] in linked else it[0], body)
        texts = [
            " ".join(word for weight, word in found if int(weight[:3]) >= LEAST_PROBABILITY)
            for found in map(_RECOGNIZED.findall, fields["resource/recognition"])
        ]
        are_images = [mime.startswith("image/") for mime in fields["resource/mime"]]
        return note_from_markdown(
            key,
            body.strip(),
            title=title,
            tags=[*fields["tag"], *fields["notebook"]],
            links=tuple(Link(other, label) for label, other in linked.items() if other != key),
            attachments=NEXT_FILE.join(filter(None, texts)),
            created=parse_timestamp(_first(fields, "created")),
            modified=parse_timestamp(_first(fields, "updated")),
            has_image=any(are_images),
            has_file=not all(are_images),
        )


def _first(fields: dict[str, list[str]], name: str) -> str:
    return next(iter(fields[name]), "").strip()


def _parsed(chunks: Iterator[bytes], skipped: list[str]) -> Iterator[dict[str, list[str]]]:
    """Yield the texts of each note by their elements.

    Evernote writes invalid XML for some notes, of which the words are read all the same.
    """
    for number, note in enumerate(_cut(chunks), 1):
        # Notes clipped from the web contain characters that XML doesn't allow.
        text = decode_damaged(note.translate(None, _NOT_IN_XML))
        fields = _fields(text)
        try:
            # With a DTD, which is never opened, entities without a declaration are allowed.
            expat.ParserCreate().Parse(f'<!DOCTYPE note SYSTEM "x">{text}', True)
        except expat.ExpatError as error:
            name = f"{_first(fields, 'title') or f'note {number}'}: no valid XML ({error})"
            is_read = "content" in fields
            skipped.append(f"{name}; its words were read all the same" if is_read else name)
            if not is_read:
                continue
        yield fields


def _cut(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield each note's XML without its files, which may be of any size."""
    note, rest = bytearray(), b""  # what was searched already, and what may be half a tag
    for chunk in chain(chunks, [b"<note>"]):
        part, *parts = _START.split(_DATA.sub(rb"\1", rest + chunk))
        for following in parts:
            note += part
            if _START.match(note):
                yield bytes(note[: end.end()] if (end := _END.search(note)) else note)
            note, part = bytearray(), following
        note += part[:-LONGEST_TAG]
        del note[LARGEST_NOTE:]
        rest = part[-LONGEST_TAG:]


def _fields(note: str) -> dict[str, list[str]]:
    """Return the texts of a note by their elements, such as "task/title"."""
    fields: defaultdict[str, list[str]] = defaultdict(list)
    start = note.find(">", note.find("<content")) + 1 if "<content" in note else 0
    end = note.rfind("</content")
    if start:
        end = end if end > start else len(note)
        fields["content"].append(_text(note[start:end]))
        note = note[:start] + note[end:]
    place, name, at = "", "", 0
    for tag in _PART.finditer(note):
        if tag["name"] in _AROUND:
            place = "" if tag["end"] else f"{tag['name']}/"
        elif not tag["end"]:
            name, at = tag["name"], tag.end()
        elif tag["name"] == name:
            fields[place + name].append(_text(note[at : tag.start()]))
            name = ""
    if name:  # without an end
        fields[place + name].append(_text(note[at:].partition("<")[0]))
    return fields


def _text(part: str) -> str:
    # Within CDATA, there may be marks of CDATA that were split to hide "]]>" in a text.
    return _CDATA.sub("", part) if "<![CDATA[" in part else unescape(part)


def _html(content: str) -> str:
    """Return ENML as HTML, with checkboxes and end tags, and without encrypted text."""

    def html(tag: re.Match[str]) -> str:
        if tag["name"] in ("en-note", "en-media") or (tag["name"] == "en-todo" and tag["end"]):
            return ""
        if tag["name"] == "en-todo":
            return _box('"true"' in tag["attributes"])
        if tag["empty"] and tag["name"] not in _VOID:
            return f"<{tag['name']}{tag['attributes']}></{tag['name']}>"
        return tag[0]

    content = _TAG.sub(html, _ENCRYPTED.sub("", content))
    return _ITEM.sub(lambda item: item[1] + _box(item[2] == "true"), content)


def _box(is_checked: bool) -> str:
    return f"<input type=checkbox{' checked' * is_checked}>"
