"""The targets of fuzzing. A target makes an input out of choices and checks what must hold."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

from datasette.app import Datasette

from datasette_bear_search.agents import AgentLibrary, ToolError, tools
from datasette_bear_search.embeddings import registry
from datasette_bear_search.index import added as added_index
from datasette_bear_search.index.run import chunking, indexer
from datasette_bear_search.notes import ForeseenError, Note, Tag
from datasette_bear_search.query import suggest as suggestions
from datasette_bear_search.query.filter_values import InvalidParameter, read_filters
from datasette_bear_search.query.filters import FILTERS, operators
from datasette_bear_search.query.query import MODES, parse
from datasette_bear_search.search import connection as search_connection
from datasette_bear_search.search import sql_search
from datasette_bear_search.search.notes import detail
from datasette_bear_search.search.planning import planner
from datasette_bear_search.search.request import read_note_id, read_number, read_request
from datasette_bear_search.search.results import marks, records, retrieve, snippets
from datasette_bear_search.sources import sql as sql_source
from datasette_bear_search.sources.base import SourceConfig, SourceError
from datasette_bear_search.sources.bear import BearLibrary
from datasette_bear_search.sources.bear.backup import BearBackup
from datasette_bear_search.sources.exports import json_apps
from datasette_bear_search.sources.exports.evernote import EvernoteExport
from datasette_bear_search.sources.exports.mail import Mailbox
from datasette_bear_search.sources.exports.slack import SlackExport
from datasette_bear_search.sources.exports.takeout import Takeout
from datasette_bear_search.sources.exports.zips import NotesZip
from datasette_bear_search.sources.folders import front_matter
from datasette_bear_search.sources.folders.logseq import LogseqGraph
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.folders.obsidian import ObsidianVault
from datasette_bear_search.sources.formats.dates import parse_timestamp, timestamp_from_seconds
from datasette_bear_search.sources.records import JSONFile
from datasette_bear_search.sqlite import sqlite3
from datasette_bear_search.text import folding
from datasette_bear_search.text import markdown as markup
from datasette_bear_search.web.note_html import dialect, render, renderer
from datasette_bear_search.web.pages import cards, urls
from tests.stress.choices import Choices
from tests.support.bear_database import BearFile, BearNote, write_library
from tests.support.tiny_embedder import TinyEmbedder
from tests.support.unsafe_markdown import executable_parts

TINY = "test/tiny"

# Every parameter that a page reads, and one that no page reads.
PARAMETERS = (
    "q", "mode", *urls.FILTERS, "fusion", "sort", "rerank", "balance", "recency", "correct",
    "_size", "_next",
    "_facets", "passage", "cursor", "nonsense",
)  # fmt: skip
VALUES = (
    *MODES,
    *operators()["has"].choices,
    *operators()["is"].choices,
    "rrf",
    "newest",
    "cross-encoder",
    "0",
    "1",
    "0.5",
    "2024",
    "2024-05",
    "work",
    "bear",
)
PATHS = (
    "", ".json", "/suggest.json", "/note/1", "/note/1.json", "/note/99999999999999999999",
    "/similar/1",
    "/similar/1.json", "/similar/x", "/judge", "/mcp",
)  # fmt: skip

NOTES = (
    BearNote("# Roof\n#work\n\nThe roof leaks. See [[Soup]].\n\n## Plan\n\n- [ ] call",
        tags=("work/a b",), pinned=True),
    BearNote("# Soup\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nC++ and `code` 2024-05-01 屋根",
        archived=True),
    BearNote("# Bank", encrypted=True, tags=("private",)),
    BearNote("# <b>x</b> & \"y\"\n\n" + "word " * 400,
        files=(BearFile("s.png", ocr="OCR <i>text</i>"),)),
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """Something to fuzz: ``prepare(folder)`` returns a function to run with each input."""

    prepare: Callable[[Path], Callable[[Choices], None]]
    is_pure: bool = False  # uses no files, so that fuzzing can be guided by the code it reaches


def query(folder: Path) -> Callable[[Choices], None]:
    """Fuzz the search box: parse, plan and run any text on a real index."""
    connection = _connection(_index(folder))

    def run(choices: Choices) -> None:
        mode = choices.one_of(MODES)
        text = choices.text()
        asked = parse(text, mode)
        for token in asked.clauses:
            asked.text_without(token)
        planned = planner.plan(connection, asked, correct=not choices.chance(4))
        ranking = records.Ranking(
            sort=choices.one_of(["relevance", "newest", "title"]),
            fusion=choices.one_of(["blend", "rrf"]),
            recency=choices.one_of([None, 0.01, 30.0]),
        )
        found = retrieve.retrieve(
            connection, planned, semantic=choices.chance(2), ranking=ranking, size=3
        )
        for hit in snippets.show(found, None).hits:
            row = hit.to_dict()
            assert "<" not in row["snippet"].replace("<mark>", "").replace("</mark>", "")
        typed = text.encode(errors="replace").decode()  # as decoded from a URL
        suggestions.suggest(connection, typed, choices.number(len(typed)))
        if choices.chance(4):
            if note := detail.read_note(connection, 1):
                detail.matched_words(connection, note, asked)
            sql_search.found_notes(connection, text, choices.value())
            sql_search.similar_notes(connection, choices.value(), choices.value())

    return run


def parameters(folder: Path) -> Callable[[Choices], None]:
    """Fuzz the parameters of a URL: how they are read, and their SQL conditions."""
    connection = _connection(_index(folder))

    def run(choices: Choices) -> None:
        given = _pairs(choices)
        try:
            request = read_request(given)
            filters = read_filters(given)
            size = read_number("_size", "".join(given.get("_size", [])), 10, 1, 100)
            offset = read_number("_next", "".join(given.get("_next", [])), 0, 0, 10**9)
        except InvalidParameter as error:
            _check_message(error)
            return
        read_note_id(choices.text(3))
        conditions, values = filters.conditions()
        connection.execute(
            f"select id from notes where {' and '.join(conditions) or '1'}", values
        ).fetchall()
        ranking = request.ranking
        planned = planner.plan(connection, request.query, balance=ranking.balance)
        retrieve.retrieve(
            connection, planned, semantic=True, ranking=ranking, size=size, offset=offset
        )

    return run


def http(folder: Path) -> Callable[[Choices], None]:
    """Fuzz all our URLs, with any parameters, through Datasette."""
    path = _index(folder)
    # If rich is installed, Datasette prints every error with all variables, which takes seconds.
    import_module("datasette.handle_exception").rich = None
    datasette = Datasette([str(path)], settings={"sql_time_limit_ms": 20_000})
    loop = asyncio.new_event_loop()

    def run(choices: Choices) -> None:
        place = "/-/bear-search" + choices.one_of(PATHS)
        if choices.chance(8):
            place = f"/-/bear-search/note/{quote(choices.storable(3))}"
        given = {
            name: [value.encode(errors="replace").decode() for value in values]
            for name, values in _pairs(choices).items()
        }
        method = "POST" if choices.chance(12) else "GET"
        content = choices.bytes() if method == "POST" else None
        response = loop.run_until_complete(
            datasette.client.request(
                method,
                place,
                params=given,
                content=content,
                headers={"host": "localhost", "content-type": "application/json"},
            )
        )
        assert response.status_code < 500, (method, place, given, response.text[-2000:])
        if response.headers.get("content-type", "").startswith("application/json"):
            response.json()

    return run


def bear(folder: Path) -> Callable[[Choices], None]:
    """Fuzz the cells and bytes of Bear's database; sometimes index it, too."""
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    original = folder / "original.sqlite"
    write_library(original, NOTES)
    pristine = original.read_bytes()
    with closing(sqlite3.connect(original)) as db:
        tables = [
            name
            for (name,) in db.execute(
                "select name from sqlite_master where type = 'table' and name glob 'Z*'"
            )
        ]
        columns = {
            table: [row[1] for row in db.execute(f"pragma table_info({table})")] for table in tables
        }
    path = folder / "library" / "database.sqlite"
    path.parent.mkdir()

    def run(choices: Choices) -> None:
        path.write_bytes(_bytes_changed(choices, pristine) if choices.chance(4) else pristine)
        with _unreadable_is_well(), closing(sqlite3.connect(path)) as db, db:
            db.execute("pragma synchronous = off")
            db.execute("pragma journal_mode = memory")
            for _ in range(choices.number(8)):
                table = choices.one_of(tables)
                column = choices.one_of(columns[table])
                what = choices.number(12)
                if what == 0:
                    db.execute(f"drop table {table}")
                elif what == 1:
                    db.execute(f"alter table {table} drop column {column}")
                elif what == 2:
                    db.execute(f"insert into {table} ({column}) values (?)", [choices.value()])
                elif what == 3 and choices.chance(20):
                    db.execute("update ZSFNOTE set ZTEXT = cast(zeroblob(1000000) as text)")
                else:
                    db.execute(
                        f"update {table} set {column} = ?"
                        f" where {choices.one_of(['1', 'rowid = 1', 'rowid % 2'])}",
                        [choices.value()],
                    )
        for leftover in path.parent.iterdir():
            if leftover != path:
                leftover.unlink()
        try:
            notes = list(BearLibrary(path).read(include_trashed=choices.chance(2)))
        except SourceError as error:
            _check_message(error)
            return
        for note in notes:
            _check(note)
        if choices.chance(40):
            config = SourceConfig(kind="bear", name="bear", location=str(path))
            index = folder / f"index-{os.getpid()}.db"
            indexer.update(index, [config], registry.get_embedder(TINY), tidy=False)

    return run


def markdown(folder: Path) -> Callable[[Choices], None]:
    """Fuzz the HTML of notes, which must be harmless, and their plain text."""
    references = renderer.References(
        tags={"work": "/s?tag=work", "two words": "/s"}, note={"a": "/note/1"}.get
    )
    generous = dialect.MAX_BLOCKS

    def run(choices: Choices) -> None:
        body = choices.storable(60)  # like every text from the index
        start, end = sorted([choices.number(len(body)), choices.number(len(body))])
        dialect.MAX_BLOCKS = choices.one_of([generous, 200, 2000, 20_000])
        words = frozenset(["roof", "x", "a"])
        rendered = render.render(body, references, passage=(start, end), words=words)
        assert executable_parts(rendered.html) == []
        assert len(markup.blanked(body)) == len(body)
        cards._marked(marks.MarkedText.read(markup.plain_text(body)))

    return run


def cutter(folder: Path) -> Callable[[Choices], None]:
    """Fuzz passages: every word of a note must be in one, and passages must be in order."""

    def run(choices: Choices) -> None:
        title, body = choices.text(4), choices.text(80)
        if choices.chance(30):
            body *= 50
        most = choices.one_of([32, 64, 256, 512])
        found = chunking.passages(title, body, max_tokens=most)
        end = 0
        for passage in found:
            assert end <= passage.start <= passage.end <= len(body)
            # The mark of a list item that has no words is in no passage.
            assert not markup.plain_text(body[end : passage.start]).strip("\0 \n-*+")
            assert passage.content_hash
            end = passage.end
        assert [passage.position for passage in found] == list(range(len(found)))

    return run


def archives(folder: Path) -> Callable[[Choices], None]:
    """Fuzz backups and exports that are broken, hostile, or have arbitrary content."""
    path = folder / "archives" / "export.bear2bk"
    path.parent.mkdir()
    outside = {folder / "archives"}
    info = (
        '{"net.shinyfrog.bear": {"uniqueIdentifier": "A", "creationDate": "2024-01-01T00:00:00Z"}}'
    )

    def names(choices: Choices) -> str:
        name = choices.one_of(
            [
                "a.textbundle/text.md", "a.textbundle/info.json", "a.textpack",
                "channels.json", "users.json",
                "general/2024-01-01.json", "Takeout/Drive/a.html", "Takeout/Drive/a.docx",
                "Takeout/Keep/a.json",
                "../../evil.md", "/etc/evil.md", "C:\\evil.md", "a/../../b.textbundle/text.md",
                "a.enex", "a.mbox", "a.zip", "a.json", "b.csv", "a.org", "Takeout/Mail/a.mbox",
                f"a {'1' * 32}.md", f"a {'1' * 32}/b.md", f"a {'1' * 32}_all.csv",
                "x\0y", "",
            ]
        )  # fmt: skip
        return name if choices.chance(2) else choices.storable(3) + name

    def content(choices: Choices) -> bytes:
        kind = choices.number(6)
        if kind == 0:
            return info.encode()
        if kind == 1 and choices.chance(2):
            return b"From a 00:00\nSubject: a\n\n" + choices.bytes(30)
        if kind == 1:
            return b"0" * (choices.number(20) * 10_000)
        if kind == 2:
            if choices.chance(2):
                return b"<en-export><note><title>" + choices.bytes(30) + b"</title></note>"
            inner = io.BytesIO()
            with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("a.textbundle/text.md", choices.bytes())
            return inner.getvalue()
        if kind == 3:
            return (
                repr([{"ts": choices.value(), "text": choices.storable(), "user": "U"}])
                .replace("'", '"')
                .encode()
            )
        return choices.bytes(30)  # fmt: skip

    def run(choices: Choices) -> None:
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
            for _ in range(1 + choices.number(6)):
                entry = zipfile.ZipInfo(names(choices) or "x", (2024, 5, 1, 9, 30, 0))
                entry.external_attr = choices.one_of([0, 0o120777 << 16, 0o100644 << 16])
                archive.writestr(entry, content(choices))
        data = written.getvalue()
        path.write_bytes(_bytes_changed(choices, data) if choices.chance(2) else data)
        fields = {"key": "$file", "title": "text", "body": ["text", "ts"], "tags": "user"}
        sources = [kind(path, "a") for kind in (BearBackup, SlackExport, Takeout, EvernoteExport)]
        for source in (*sources, Mailbox(path), NotesZip(path), JSONFile(path, fields=fields)):
            try:
                for note in source.read(include_trashed=True):
                    _check(note)
            except SourceError as error:
                _check_message(error)
        assert set(path.parent.iterdir()) == {path}
        assert {found for found in folder.iterdir() if found.is_dir()} == outside

    return run


# Suffix → pieces of an export's files.
PIECES = {
    ".enex": """<en-export>|</en-export>|<note>|</note>|<title>|</title>|<content><![CDATA[|
        ]]></content>|<en-note>|</en-note>|<en-todo checked="true"/>|<tag>a/b</tag>|<created>|
        20240501T093000Z|</created>|<resource><data encoding="base64">|aGFs|</data></resource>|
        <mime>image/png</mime>|<!DOCTYPE a [<!ENTITY b "c">]>|&b;|&lt;|<a href="evernote:///view/1/">""",
    ".mbox": """From a 00:00|Subject: =?utf-8?q?a=C3?=|From: a <a@b.example>|
        Date: Wed, 01 May 2024 09:30:00 +2500|Message-ID: <a>|In-Reply-To: <a>|X-Gmail-Labels: a,b|
        Content-Type: multipart/mixed; boundary=b|--b|--b--|Content-Type: text/html; charset=utf-9|
        Content-Transfer-Encoding: base64|Content-Type: message/rfc822|<p>a|>From b|""",
    ".json": """[|]|{|}|,|:|"a"|"text":|"ts":|"user":|1e999|-1|null|"\\ud83d"|"2024-05-01"|\n""",
    ".csv": """text,ts,user|a,1,b|"a|"|,|;|\t|2024-05-01|\xef\xbb\xbf|""",
}


def exports(folder: Path) -> Callable[[Choices], None]:
    """Fuzz a file of Evernote, mail, JSON or CSV with its usual pieces in any order."""

    def run(choices: Choices) -> None:
        ending = choices.one_of(list(PIECES))
        pieces = [piece.strip(" \n").encode() for piece in PIECES[ending].split("|")]
        path = folder / f"export{ending}"
        with path.open("wb") as stream:
            for _ in range(choices.number(40)):
                stream.write(choices.bytes(3) if choices.chance(6) else choices.one_of(pieces))
                stream.write(b"\n" if choices.chance(2) else b"")
        fields = {"key": "ts", "title": "text", "body": ["text", "ts"], "tags": "user"}
        kinds = {".enex": EvernoteExport, ".mbox": Mailbox}
        source = kinds[ending](path) if ending in kinds else JSONFile(path, fields=fields)
        try:
            for note in source.read(include_trashed=True):
                _check(note)
        except SourceError as error:
            _check_message(error)

    return run


def folders(folder: Path) -> Callable[[Choices], None]:
    """Fuzz folders of notes with any names, in any encoding."""
    root = folder / "vault"

    def run(choices: Choices) -> None:
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        for _ in range(choices.number(5)):
            ending = choices.one_of([b".md", b".md", b".org"])
            place = choices.bytes(2)[:60].replace(b"\0", b"").strip(b"/.") or b"note"
            file = os.path.join(os.fsencode(root), place.replace(b"/", b"_") + ending)
            if choices.chance(3):
                os.makedirs(os.path.join(os.fsencode(root), b"pages"), exist_ok=True)
                file = os.path.join(os.fsencode(root), b"pages", os.path.basename(file))
            with open(file, "wb") as stream:
                head = choices.one_of([b"", b"---\n", b"+++\n", b"\xef\xbb\xbf---\n"])
                stream.write(head + choices.bytes(20) + (head and b"\n" + head) + choices.bytes(20))
            if choices.chance(4):
                os.utime(file, (0, choices.one_of([0, -1e9, 2**40, 253402300800])))
        for kind in (MarkdownFolder, ObsidianVault, LogseqGraph):
            source = kind(root, "notes")
            source.state()
            try:
                for note in source.read(include_trashed=True):
                    _check(note)
            except SourceError as error:
                _check_message(error)

    return run


def headers(folder: Path) -> Callable[[Choices], None]:
    """Fuzz front matter and dates."""

    def run(choices: Choices) -> None:
        fence = choices.one_of(["---\n", "+++\n", "---json\n"])
        lines = "".join(
            f"{choices.one_of(['title', 'tags', 'date', 'a b', choices.text(2)])}"
            f"{choices.one_of([': ', ' = ', ':'])}"
            f"{choices.text(6)}\n"
            for _ in range(choices.number(6))
        )
        properties, text, problem = front_matter.split(f"{fence}{lines}{fence}{choices.text(6)}")
        assert isinstance(text, str)
        assert isinstance(problem, str)
        front_matter.tags(properties)
        front_matter.as_list(properties)
        front_matter.first(properties, front_matter.TITLES)
        for value in (
            front_matter.date(properties, front_matter.CREATED),
            parse_timestamp(choices.text(4)),
            parse_timestamp(choices.value()),
        ):
            assert value is None or len(value) == 20, value
        seconds = choices.value()
        if isinstance(seconds, (int, float)):
            timestamp_from_seconds(seconds)

    return run  # fmt: skip


def agents(folder: Path) -> Callable[[Choices], None]:
    """Fuzz the arguments of agents' tools, with filters inside and beside ``filters``."""
    library = AgentLibrary(_index(folder))
    names = ["query", "filters", "ids", "id", "limit", "section", "tag", "created", "since", "is"]
    failures = []
    tools.logger = SimpleNamespace(error=lambda *said: failures.append(said))

    def value(choices: Choices, depth: int = 0) -> Any:
        kind = choices.number(5 if depth < 2 else 2)
        if kind == 3:
            return [value(choices, depth + 1) for _ in range(choices.number(3))]
        if kind >= 4:
            return {
                choices.one_of([*names, *FILTERS, choices.storable(2)]): value(choices, depth + 1)
                for _ in range(choices.number(3))
            }
        return (
            choices.one_of([*VALUES, None, True, -1, 2**70, 1e308, float("nan"), "{", "[1"])
            if kind
            else choices.storable(4)
        )

    def run(choices: Choices) -> None:
        tool = choices.one_of(tools.TOOLS)
        given = {
            choices.one_of([*names, *FILTERS, *tool.input_schema["properties"]]): value(choices)
            for _ in range(choices.number(4))
        }
        with suppress(ToolError):
            json.dumps(tools.call(library, tool.name, given).data).encode()
        assert not failures, (tool.name, given, failures)

    return run


def added(folder: Path) -> Callable[[Choices], None]:
    """Fuzz notes that programs add, replace and discard, and the file that keeps them."""

    def run(choices: Choices) -> None:
        key, body = choices.text(2) or "k", choices.text(30)
        created = choices.one_of([None, "2024-05-01", choices.text(2)])
        tags = [Tag(choices.text(2))] if choices.chance(2) else []
        try:
            note = Note(key=key, title=choices.text(3), body=body, tags=tags, created=created)
            added_index.write(folder / "a.jsonl", [note])
            if choices.chance(3):
                added_index.write(folder / "a.jsonl", [], [choices.text(2), key])
        except ForeseenError as error:
            _check_message(error)
            return
        fields = {name: [name] for name in added_index.FIELDS}
        for found in JSONFile(folder / "a.jsonl", fields=fields).read():
            _check(found)

    return run


def tables(folder: Path) -> Callable[[Choices], None]:
    """Fuzz the names of tables and columns, and the values in them, of any SQLite database."""
    path = folder / "other.db"

    def run(choices: Choices) -> None:
        path.unlink(missing_ok=True)
        table = choices.storable(2).replace("\0", "") or "t"
        names = {choices.storable(2).replace("\0", "").lower() or "a" for _ in range(3)}
        columns = [name for name in names if name]
        quoted = [sql_source._identifier(name) for name in columns]
        try:
            with closing(sqlite3.connect(path)) as db, db:
                db.execute(f"create table {sql_source._identifier(table)} ({', '.join(quoted)})")
                db.execute(
                    f"insert into {sql_source._identifier(table)}"
                    f" values ({', '.join('?' * len(columns))})",
                    [choices.value() for _ in columns],
                )
        except sqlite3.Error:
            return
        before = path.read_bytes()
        given = {
            option: [choices.one_of([*columns, choices.storable(2)])]
            for option in ("text", "title", "created", "tags", "url", "key")
            if option == "text" or choices.chance(2)
        }
        try:
            _, sql = sql_source.table_query(path, table, given)
            for note in sql_source.SQLQuery(path, sql=sql).read():
                _check(note)
        except SourceError as error:
            _check_message(error)
        assert path.read_bytes() == before

    return run


# Keys and values of the exports of apps, and what stands between them.
APPS = """[ ] { } , : null 1 true "entries": "text": "uuid": "a" "creationDate":
    "2024-05-01T09:30:00Z"
    "tags": "activeNotes": "trashedNotes": "id": "content": "items": "content_type": "Note" "Tag"
    "appData": "references": "lastModified": "note": "excerpt": "title": "root": "children":
    "[1]" "{\\"text\\"" """.split()  # fmt: skip


def apps(folder: Path) -> Callable[[Choices], None]:
    """Fuzz the exports of apps in JSON, and Maildirs."""

    def any_json(choices: Choices, depth: int = 0) -> Any:
        kind = choices.number(6)
        if depth > 4 or kind < 2:
            return choices.one_of([None, 1, -1e308, True, "a", "Note", "Tag", choices.storable(4)])
        if kind == 2:
            return [any_json(choices, depth + 1) for _ in range(choices.number(4))]
        keys = [each.strip('":') for each in APPS if each.endswith(":")]
        return {choices.one_of(keys): any_json(choices, depth + 1) for _ in range(4)}

    def run(choices: Choices) -> None:
        path = folder / "export.json"
        text = json.dumps(any_json(choices))
        if choices.chance(3):
            text = " ".join(choices.one_of(APPS) for _ in range(choices.number(40)))
        path.write_text(text)
        box = folder / "mail" / "cur"
        shutil.rmtree(box.parent, ignore_errors=True)
        box.mkdir(parents=True)
        flags = choices.one_of(["S", "ST", "", "\U0001f43b"])
        (box / f"1:2,{flags}").write_bytes(b"Subject: a\n" + choices.bytes(20))
        kinds = (json_apps.DayOne, json_apps.Simplenote, json_apps.StandardNotes,
            json_apps.Raindrop)  # fmt: skip
        for source in (*(kind(path) for kind in kinds), Mailbox(box.parent)):
            try:
                type(source).reads(str(path))
                for note in source.read(include_trashed=True):
                    _check(note)
            except SourceError as error:
                _check_message(error)

    return run


def letters(folder: Path) -> Callable[[Choices], None]:
    """Fuzz the forms of words: the places of a normalized text, and words without accents."""
    signs = "ăâđêôơưạảấ ไทย ກາ ខ្មែរ မြန်မာ क़ Ǆ ﬁ ½ ㍿ e\u0301 \u1100\u1161".split()

    def run(choices: Choices) -> None:
        text = "".join(
            choices.one_of([*signs, choices.text(2), "\u200d", "\u0323"])
            for _ in range(choices.number(12))
        )
        found = folding.normalized_with_places(text)
        assert found.text == folding.normalized(text) or min(text, default="") >= "\u0300"
        for start in range(len(found.text)):
            first, last = found.span(start, start + 1)
            assert 0 <= first < last <= len(text)
        assert folding.plain(text) in folding.typed_forms(text)

    return run


TARGETS = {
    "agents": Target(agents),
    "added": Target(added),
    "tables": Target(tables),
    "apps": Target(apps),
    "letters": Target(letters, is_pure=True),
    "query": Target(query),
    "parameters": Target(parameters),
    "http": Target(http),
    "bear": Target(bear),
    "markdown": Target(markdown, is_pure=True),
    "passages": Target(cutter, is_pure=True),
    "archives": Target(archives),
    "exports": Target(exports),
    "folders": Target(folders),
    "headers": Target(headers, is_pure=True),
}


def _index(folder: Path) -> Path:
    """Return an index of NOTES, with vectors of the tiny model."""
    registry.register(TINY, lambda: TinyEmbedder(TINY))
    library = folder / "bear.sqlite"
    write_library(library, NOTES)
    path = folder / "notes.db"
    config = SourceConfig(kind="bear", name="bear", location=str(library))
    indexer.update(path, [config], registry.get_embedder(TINY))
    return path


def _connection(path: Path) -> sqlite3.Connection:
    context = search_connection.open_sidecar(path)
    _connections.append(context)
    return context.__enter__()


_connections: list = []  # stay open as long as the fuzzer runs


def _pairs(choices: Choices) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for _ in range(choices.number(6)):
        value = choices.one_of(VALUES) if choices.chance(2) else choices.text(6)
        given.setdefault(choices.one_of(PARAMETERS), []).append(value)
    if choices.chance(200):
        given["tag"] = ["work"] * 101
    return given


def _check(note: Note) -> None:
    """Check what the index relies on."""
    assert isinstance(note.key, str)
    assert note.key
    for text in (note.title, note.body, note.attachments, *(tag.name for tag in note.tags)):
        assert isinstance(text, str)
        assert "\0" not in text
    for date in (note.created, note.modified):
        assert date is None or (len(date) == 20 and date.endswith("Z")), date
    note.fingerprint()


def _check_message(error: Exception) -> None:
    """Check that a foreseeable error has a message in words."""
    assert " " in str(error)


def _bytes_changed(choices: Choices, data: bytes) -> bytes:
    changed = bytearray(data)
    places = random.Random(choices.raw(4))
    for _ in range(1 + choices.number(12)):
        if changed:
            changed[places.randrange(len(changed))] = choices.byte()
    if choices.chance(6):
        del changed[places.randrange(len(changed) + 1) :]
    return bytes(changed)


@contextmanager
def _unreadable_is_well() -> Iterator[None]:
    """Stop changing the file once SQLite itself can't read it."""
    with suppress(sqlite3.Error, UnicodeDecodeError):  # the latter from SQLite's own message
        yield
