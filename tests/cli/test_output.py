"""Names, notes and errors that would control the terminal, in all commands."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.cli import output
from datasette_bear_search.embeddings import registry
from datasette_bear_search.index.file import database
from datasette_bear_search.notes import ForeseenError, printable, printable_json, printable_lines
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.tiny_embedder import TINY, TinyEmbedder

# Titles of windows (OSC 0), the clipboard (52), links (8), colors, overwritten text, other
# directions, what nobody sees, and a line of its own.
HOSTILE = (
    "roof\x1b]0;title\x07\x1b]52;c;eA==\x1b\\\x1b]8;;x:y\x1b\\link\x1b[31m\x9b2J\r\x08\x7f"
    "\u202e\u2066\u200f\u200b\u2060\ufeff\u00ad\U000e0041\U000e007f\nLINE"
)
NOT_PRINTED = re.compile(
    "[^\t\n\x20-\x7e\xa0-\U0010ffff]"
    "|[\xad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
OWN_STYLES = re.compile("\x1b\\[[\\d;]*m|\x1b\\]8;;[!-~]*\x1b\\\\")


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Iterator[dict[str, Path | str]]:
    """Create sources whose names are hostile, and index those that can be read."""
    folder = tmp_path_factory.mktemp("places")
    vault = folder / f"vault {HOSTILE}"
    (vault / HOSTILE).mkdir(parents=True)
    note = f"---\ntitle: {json.dumps(HOSTILE)}\n---\n\nThe {HOSTILE} leaks."
    (vault / HOSTILE / f"{HOSTILE}.md").write_text(note)
    (vault / "other.md").write_text(f"# The other roof\n\n[[{HOSTILE}]] leaks.")
    (vault / f"binary {HOSTILE}.md").write_bytes(bytes(range(256)) * 9)
    (vault / f"bytes \udcff\udc9b31m {HOSTILE}.md").write_bytes(bytes(range(256)) * 9)
    with (vault / f"large {HOSTILE}.md").open("wb") as stream:
        stream.truncate(21_000_000)
    (vault / f"link {HOSTILE}.md").symlink_to("/nowhere")
    archive = folder / f"archive {HOSTILE}.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr(f"{HOSTILE}.md", note)
        zipped.writestr(f"binary {HOSTILE}.md", bytes(range(256)) * 9)
        zipped.writestr(f"bomb {HOSTILE}.md", b"x" * 21_000_000, zipfile.ZIP_DEFLATED)
    records = folder / f"records {HOSTILE}.json"
    record = {
        "id": HOSTILE,
        "title": HOSTILE,
        "text": f"A {HOSTILE} roof.",
        "tags": [HOSTILE, "plain"],
    }
    records.write_text(json.dumps([record, {**record, "id": 5, "title": "Roof", "text": "Roof"}]))
    fields = {"key": "id", "title": "title", "body": "text", "tags": "tags"}
    read = folder / "read.yaml"
    source = {"location": str(records), "kind": "json", "fields": fields, "about": HOSTILE}
    read.write_text(yaml.safe_dump({"sources": [source]}))
    configuration = folder / f"{HOSTILE}.yaml"
    source = {"name": HOSTILE, "kind": "markdown", "location": str(folder / f"gone {HOSTILE}")}
    configuration.write_text(yaml.safe_dump({"sources": [source]}))
    broken = folder / f"broken {HOSTILE}.yaml"
    broken.write_text(f"sources: [{json.dumps(HOSTILE)}: 1]\n? {HOSTILE.splitlines()[0]}")
    index = folder / f"{HOSTILE}.db"
    foreign = folder / "foreign.db"
    with database.open_for_writing(foreign):
        pass
    with closing(sqlite3.connect(foreign)) as connection, connection:
        connection.execute("pragma writable_schema = on")
        sql = f'create table "{HOSTILE}" (x, '
        connection.execute(
            "insert into sqlite_master values ('table', ?, ?, 0, ?)", [HOSTILE, HOSTILE, sql]
        )
    places = {
        "vault": vault,
        "archive": archive,
        "configuration": configuration,
        "broken": broken,
        "index": index,
        "foreign": foreign,
        "folder": folder,
        "hostile": HOSTILE,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setenv("XDG_CONFIG_HOME", str(folder))
        patch.setenv("DATASETTE_BEAR_SEARCH_SIDECAR", str(index))
        registry.register(TINY, lambda: TinyEmbedder(TINY))
        run(places, "bear-index", "{vault}", "{archive}", "--model", TINY)
        run(places, "bear-index", "--config", str(read))
        yield places


COMMANDS = [
    "bear-index {vault} {archive} --rebuild",
    "bear-index {vault} --sidecar {folder}/new/{hostile}.db",
    "bear-index --list",
    "bear-index --config {configuration}",
    "bear-index --config {broken}",
    "bear-index --config {hostile}",
    "bear-index {hostile}",
    "bear-index --{hostile}",
    "bear-index --only {hostile}",
    "bear-index --remove {hostile}",
    "bear-index --model {hostile}",
    "bear-index --model {folder}/{hostile}",
    "bear-index --sidecar {foreign}",
    "bear-index --sidecar {archive}",
    "bear-search roof --explain",
    "bear-search roof --json",
    "bear-search roof --format jsonl",
    "bear-search roof --format tsv",
    "bear-search {hostile}",
    "bear-search --tag {hostile}",
    "bear-search --{hostile}",
    "bear-search roof --mode {hostile}",
    "bear-search roof --rerank {hostile}",
    "bear-search roof --created-after {hostile}",
    "bear-search --similar 1",
    "bear-search --similar {hostile}",
    "bear-search --show {hostile}",
    "bear-search --show 1",
    "bear-search roof --open 9",
    "bear-search roof --sidecar {foreign}",
    "bear-search roof --sidecar {archive}",
    "bear-doctor",
    "bear-doctor --json",
    "bear-doctor --sidecar {foreign}",
    "bear-doctor --sidecar {archive}",
    "bear-doctor --{hostile}",
    "bear-eval --mode keyword",
    "bear-eval {folder}/{hostile}",
    "bear-eval --{hostile}",
    "bear-eval --model {hostile}",
    "bear-demo --no-serve --directory {archive}",
    "bear-demo --no-serve --directory {archive}/below",
    "bear-demo --{hostile}",
    "bear-serve --sidecar {foreign}",
    "bear-serve --sidecar {archive}",
    "bear-serve --port {hostile}",
    "bear-mcp --install {hostile}",
    "bear-mcp --bundle {folder}/{hostile}.mcpb --hide-tag {hostile} --yes",
    "bear-mcp --bundle {archive}/{hostile}.mcpb --yes",
    "bear-mcp --skill {folder}/{hostile} --yes",
    "bear-mcp --{hostile}",
]


def run(places: dict[str, Path | str], *words: str, color: bool = False) -> str:
    arguments = [word.format(**places) for word in words]
    result = CliRunner().invoke(cli, arguments, color=color)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_no_value_controls_the_terminal(places, command):
    # With color, click doesn't strip what it knows.
    said = run(places, *command.split(), color=True)
    assert said
    assert NOT_PRINTED.findall(said) == []
    if "--show" not in command:  # the lines of a note are lines
        assert not re.search("^ *LINE", said, re.MULTILINE)


@pytest.mark.parametrize("command", ["bear-search roof", "bear-search --similar 1", "bear-doctor"])
def test_only_our_own_styles_reach_a_terminal_with_colors(places, command, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    said = run(places, *command.split(), color=True)
    assert OWN_STYLES.search(said)
    assert NOT_PRINTED.findall(OWN_STYLES.sub("", said)) == []


def test_a_line_that_is_printed_stays_one_line(capsys):
    output.echo("a\nb\rc\x1b[1md", "\x1b[1mbold\x1b[0m", "x\ty")
    assert capsys.readouterr().out == "a b c[1md\n[1mbold[0m\nx\ty\n"
    output.echo("\x1b[1mbold\x1b[0m\x1b[2J\r", styled=True)
    assert capsys.readouterr().out == "\x1b[1mbold\x1b[0m[2J \n"


@pytest.mark.parametrize(
    "command",
    [("bear-mcp", "--hide-tag", "wet\udcff"), ("bear-service", "install", "--sidecar", "\udcff")],
)
def test_an_option_that_is_not_utf_8_is_named(command, monkeypatch, tmp_path, index_notes):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DATASETTE_BEAR_SEARCH_SIDECAR", str(index_notes([BearNote("# Roof")])))
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 1
    assert done.output.startswith("Error: An option or a path has bytes that aren't UTF-8: ")
    assert r"\xff" in done.output


def test_an_error_has_as_many_lines_as_we_gave_it():
    assert str(ForeseenError("There is no a\nb\x1b.", "", "Do c.")) == "There is no a b.\n\nDo c."


@pytest.mark.parametrize(
    "text",
    [
        *("Zoë 東京", "👩‍🍳 🏳️‍🌈 ❤️‍🔥 1️⃣ ©️", "می‌خواهم", "क्‍ष ක්‍ෂ", "葛\U000e0100飾", "שָׁ a\u0301"),
        "ᠠ\u180b",
    ],
)
def test_printable_keeps_what_is_text(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\tb\r\nc\u2028d", "a b c d"),
        ("a\u200db \u200c", "ab "),  # no script that joins
        ("क\u200d\u200d\u200c", "क\u200d"),  # in a row
        ("☀\ufe0f\ufe0f\ufe01", "☀\ufe0f"),
        ("\ufe0f \U000e0100", " "),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴"),
        ("a\udcffb\x00\x85c", "ab c"),
    ],
)
def test_printable_drops_what_is_not_seen(text, rest):
    assert printable(text) == rest


def test_lines_and_json_keep_their_form():
    assert printable_lines("a\tb\r\nc\rd\x1b\u202e\n") == "a\tb\nc d\n"
    value = {"a": f"{HOSTILE}\udcff\t"}
    text = printable_json(json.dumps(value, indent=1, ensure_ascii=False))
    assert json.loads(text) == value
    assert NOT_PRINTED.findall(text) == []
