"""Everything that reads a note's text or a query, each as a function of one text."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cache
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from datasette_bear_search.agents import notes as agent_notes
from datasette_bear_search.index.file import notes
from datasette_bear_search.index.file.schema import create
from datasette_bear_search.index.run import chunking
from datasette_bear_search.notes import Note, fold_tag, text_hash, title_line, whole_title
from datasette_bear_search.query import query, suggest
from datasette_bear_search.search import connection as search_connection
from datasette_bear_search.search import engine
from datasette_bear_search.search.redaction import masking
from datasette_bear_search.search.request import SearchRequest
from datasette_bear_search.search.results import marks, sentences, snippets
from datasette_bear_search.search.results import records as search_results_records
from datasette_bear_search.sources import bear, records, registry
from datasette_bear_search.sources.base import Unreadable
from datasette_bear_search.sources.bear import backup
from datasette_bear_search.sources.exports import evernote, mail, slack, zips
from datasette_bear_search.sources.files.archive import File
from datasette_bear_search.sources.folders import front_matter, org, wikis
from datasette_bear_search.sources.folders.logseq import LogseqGraph
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.folders.obsidian import ObsidianVault
from datasette_bear_search.sources.formats import dates, documents, keep, markdown_metadata, text
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.text import languages
from datasette_bear_search.text.markdown import plain_text
from datasette_bear_search.web.note_html import render, renderer
from datasette_bear_search.web.pages import cards

WORDS = frozenset(["a", "x", "b"])


def _render(body: str) -> None:
    references = renderer.References(tags={"a": "/a", "work": "/b"}, note={"a": "/note/1"}.get)
    render.render(body, references, passage=(len(body) // 2, len(body) // 2 + 500), words=WORDS)


def _front_matter(block: str) -> None:
    properties, _, _ = front_matter.split(f"---\n{block[:60_000]}\n---\n{block}")
    front_matter.tags(properties)
    front_matter.as_list(properties)
    front_matter.date(properties, front_matter.CREATED)


def _other_properties(body: str) -> None:
    for start in ('{"title": "', '{"title": [', "---json\n", "Title: ", "% "):
        front_matter.as_list(front_matter.split(start + body, fenced_only=False)[0])


def _toml(block: str) -> None:
    front_matter.as_list(front_matter.split(f"+++\n{block[:60_000]}\n+++\n{block}")[0])


def _file(kind: type, name: str) -> Callable[[str], None]:
    def read(body: str) -> None:
        source = kind("/nowhere", "notes")
        file = File(name, name, "", len(body), 0.0, None)
        parsed = source._parse(file, body)
        source._metadata(parsed.body)

    return read


def _canvas(body: str) -> None:
    nodes = [{"type": "text", "text": body}, {"type": "file", "file": body}]
    _file(ObsidianVault, "a.canvas")(json.dumps({"nodes": nodes}))


def _broken_json(body: str) -> None:
    for content in (body, "[" + body, '{"a": "' + body):
        with suppress(Unreadable):
            text.load_json(content.encode())


def _bytes(body: str) -> None:
    with suppress(Unreadable):
        text.decode(body.encode("utf-8", "replace") + b"\xe9")


def _slack(body: str) -> None:
    markdown = slack.to_markdown(body, {"a": "Ada"}, {})
    message = slack.Message(1.0, "1.0", 1.0, "", "", "Ada", False, markdown, [], [])
    slack._conversations([message])
    slack._body([message])
    slack._beginning([message])


def _many_messages(body: str) -> None:
    messages = [
        slack.Message(n, f"{n}.0", n, "", "", "Ada", False, part, [], [])
        for n, part in enumerate(body[start : start + 40] for start in range(0, len(body), 40))
    ]
    for conversation in slack._conversations(messages):
        slack._body(conversation)


def _keep(body: str) -> None:
    fields: dict[str, Any] = {"title": body, "textContent": body, "listContent": [{"text": body}]}
    markdown_metadata.title_of(body, keep.keep_body(fields))


def _evernote(body: str) -> None:
    xml = f"<en-export><note><title>{body}</title></note></en-export>"
    for each in (body, f"<note>{body}", f"<note><content><![CDATA[{body}]]></content></note>", xml):
        content = each.encode("utf-8", "replace")
        chunks = (content[start : start + 2**17] for start in range(0, len(content), 2**17))
        list(evernote._parsed(chunks, []))
    documents.parse_html(evernote._html(body))
    evernote._LINK.findall(body)
    evernote._RECOGNIZED.findall(body)
    evernote._TASKS.sub("", body)


class _Mbox:
    def __init__(self, body: str) -> None:
        self._content = body.encode("utf-8", "replace")

    def chunks(self, key: str) -> Iterator[bytes]:
        for start in range(0, len(self._content), 2**17):
            yield self._content[start : start + 2**17]


def _mail(body: str) -> None:
    typed = "Content-Type: text/plain; charset=utf-8\n\n"
    head = "\n\nFrom a 00:00\nSubject: "
    mbox = f"{head}{body}{head}a\n\n{body}{head}b\nReferences: <a>\n{typed}{body}"
    for _ in mail.threads(_Mbox(mbox), ["a"], {}, [], False):  # type: ignore[arg-type]
        pass


def _json_fields(body: str) -> None:
    records._at({"a": [{"b": body}]}, "a.b" + body[:1000])
    records._value({"a": body}, "url", ["{a}" + body])
    with suppress(Unreadable):
        records._table(body.encode("utf-8", "replace"), ("a",))


def docx(xml: str) -> bytes:
    """Return a Word document with this XML in its body."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/'
            'package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.'
            'openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.'
            'main+xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/'
            'package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.'
            'openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            '<w:document xmlns:w="http://schemas.openxmlformats.'
            f'org/wordprocessingml/2006/main"><w:body>{xml}</w:body></w:document>',
        )
    return written.getvalue()  # fmt: skip


def _kind(kind: str, name: str, written: Callable[[str], str]) -> Callable[[str], None]:
    """Return a function that reads a location of this kind with one file, made of a text."""

    def read(body: str) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(written(body).encode("utf-8", "replace"))
            location = folder if path.parent != Path(folder) else str(path)
            for _ in registry.get_kind(kind)(location, "notes").read():  # type: ignore[call-arg]
                pass

    return read


def _day_one(body: str) -> str:
    entry = {"uuid": body, "text": body, "creationDate": body, "location": {"placeName": body}}
    return json.dumps({"metadata": {}, "entries": [entry]})


def _simplenote(body: str) -> str:
    note = {"id": "a", "content": body, "tags": [body], "creationDate": body}
    return json.dumps({"activeNotes": [note], "trashedNotes": [note]})


def _standard_notes(body: str) -> str:
    written_in_super = json.dumps({"root": {"children": [{"type": "quote", "text": body}]}})
    tag = {"content_type": "Tag", "uuid": "t", "content": {"title": body}}
    tag["content"] |= {"references": [{"uuid": "a"}, {"uuid": "t", "content_type": "Tag"}]}
    notes = [
        {"content_type": "Note", "uuid": "a", "content": {"title": body, "text": text}}
        for text in (body, written_in_super)
    ]
    return json.dumps({"items": [tag, *notes]})


def _raindrop(body: str) -> str:
    written = io.StringIO()
    row = dict.fromkeys(("id", "title", "note", "excerpt", "url", "folder", "tags"), body)
    table = csv.DictWriter(written, row)
    table.writeheader()
    table.writerow(row)
    return written.getvalue() + body


def _word(body: str) -> None:
    lines = escape(body.replace("\0", "")).split("\n")
    paragraphs = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in lines)
    with suppress(Unreadable):
        documents.parse_word(docx(paragraphs))


def _bear(body: str) -> None:
    backup.tags(body)
    backup.links(body, {"a": "A", "b": "B"})
    bear.first_line(body)


def _redaction(body: str) -> None:
    masking.masked(body)


def _part(body: str) -> None:
    masking.masked_part(body[len(body) // 2 :][:300], body, body)
    masking.masked_url("bear://x?id=1&header=" + body)


def _shown(body: str) -> None:
    hit = "".join(f"⦗{part}⦘" for part in body.split(" "))
    plain_text(hit)
    marked = marks.MarkedText.read(hit)
    marked.html()
    cards._marked(marked)
    snippets.readable(body)
    passage = search_results_records.MatchedPassage(body, "a › b", 0, len(body))
    snippets.passage_text(passage, body)
    snippets.shortened(body, 300)
    snippets.shortened(marked, 300)


@cache
def _connection() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    languages.register(connection)
    create(connection)
    connection.execute("insert into sources (name, kind) values ('s', 'bear')")
    return connection


def _stored(body: str) -> None:
    connection = _connection()
    connection.execute("begin")
    try:
        notes.write(connection, "s", [(None, Note("a", body, body, attachments=body))])
        notes.relate(connection)
        connection.execute("select * from notes_fts where notes_fts match 'a'").fetchall()
    finally:
        connection.rollback()


def _search(body: str) -> None:
    """Search for a text in a note of a few words, and for a few words in a note with the text."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        search_connection.register(connection)
        search_connection.register_embed(connection)
        create(connection)
        connection.execute("insert into sources (name, kind) values ('s', 'bear')")
        for note, searches in (
            (Note("a", "a", "- [ ] a b x"), {"auto": body, "like": body}),
            (Note("b", "b", body), {"auto": "a x b created:2024", "like": '"a x" has:todo tag:b'}),
        ):
            notes.write(connection, "s", [(None, note)])
            notes.relate(connection)
            for mode, text in searches.items():
                request = SearchRequest(query.parse(text, mode))
                engine.search(connection, request, redact=True)


def _section(body: str) -> None:
    with suppress(agent_notes.ToolError):
        agent_notes._section_extent("a", body, body[:5000])


def _query(body: str) -> None:
    for mode in query.MODES:
        parsed = query.parse(body, mode)
        for clause in parsed.clauses:
            parsed.text_without(clause)
    suggest.suggest(_connection(), body, len(body))


# Name → a function that reads one text and changes nothing.
PARSERS: dict[str, Callable[[str], Any]] = {
    "note page": _render,
    "plain text": plain_text,
    "marked words": lambda body: renderer.marked_words_html(body, WORDS),
    "metadata": markdown_metadata.extract_metadata,
    "headings": lambda body: (
        markdown_metadata.leading_heading(body),
        markdown_metadata.first_heading("a\n# a\n" + body),
        markdown_metadata.leading_heading(body.replace("\n", " ") + "\n===="),
    ),
    "titles": lambda body: (
        markdown_metadata.title_of("", body),
        markdown_metadata.without_title(body, body),
        whole_title("a" * 200 + "…", body),
        title_line(body, body),
        fold_tag(body),
        text_hash("", body),
        renderer.heading_anchor(body),
    ),
    "plain text as Markdown": markdown_metadata.as_markdown,
    "passages": lambda body: chunking.passages("a", body),
    "passages with a long title": lambda body: chunking.passages(body, body),
    "sentences": lambda body: list(sentences._sentences(body)),
    "shown text": _shown,
    "redaction": _redaction,
    "redacted parts": _part,
    "HTML": documents.parse_html,
    "Word": _word,
    "YAML": _front_matter,
    "TOML": _toml,
    "other properties": _other_properties,
    "bytes": _bytes,
    "dates": lambda body: (dates.parse_timestamp(body), dates.parse_timestamp(body[:100])),
    "JSON": _broken_json,
    "Markdown file": _file(MarkdownFolder, "a.md"),
    "text file": _file(MarkdownFolder, "a.txt"),
    "Obsidian": _file(ObsidianVault, "a.md"),
    "Obsidian canvas": _canvas,
    "Logseq": _file(LogseqGraph, "pages/a.md"),
    "Bear": _bear,
    "Slack": _slack,
    "Slack channel": _many_messages,
    "Keep": _keep,
    "Evernote": _evernote,
    "mail": _mail,
    "Org": lambda body: (org.parse(body, "a"), org.names(body)),
    "TiddlyWiki": lambda body: (
        wikis.split_tiddler(f"tags: {body}"),
        wikis.split_tiddler(f"\n\n{body}"),
    ),
    "Zim": lambda body: wikis.as_markdown(body, wikis.ZIM),
    "vimwiki": lambda body: wikis.as_markdown(body, wikis.VIMWIKI),
    "MDX": lambda body: wikis.as_markdown(body, wikis.MDX),
    "Dendron": lambda body: wikis.as_markdown(body, wikis.DENDRON),
    "Notion": lambda body: (
        zips._ID.sub("", body),
        zips._PROPERTY.match(body),
        zips._rows(body),
    ),
    "JSON source": _json_fields,
    "SQL source": lambda body: (
        records._tags(body),
        records._tags("[" + body),
        records._text(body),
    ),
    "row": lambda body: notes.row_values("notes", Note("a", body, body, attachments=body)),
    "index": _stored,
    "section": _section,
    "query": _query,
    "search": _search,
    "code": lambda body: _render(f"```python\n{body[:20_000]}\n```"),
    "formulas": lambda body: _render(f"$${body}$$"),
    "Day One": _kind("day-one", "a.json", _day_one),
    "Simplenote": _kind("simplenote", "a.json", _simplenote),
    "Standard Notes": _kind("standard-notes", "a.txt", _standard_notes),
    "Raindrop": _kind("raindrop", "a.csv", _raindrop),
    "Takeout": _kind("takeout", "Takeout/Drive/a.html", str),
}

# Kind of source → the parser that reads its texts.
READERS = {
    **{"bear": "Bear", "bear-backup": "Bear", "slack": "Slack", "takeout": "Takeout"},
    **{"day-one": "Day One", "simplenote": "Simplenote", "standard-notes": "Standard Notes"},
    **{"raindrop": "Raindrop", "logseq": "Logseq", "obsidian": "Obsidian", "mail": "mail"},
    **{"evernote": "Evernote", "markdown": "Markdown file", "zip": "Notion"},
    **{"sql": "SQL source", "json": "JSON source", "demo": "Bear"},
}
