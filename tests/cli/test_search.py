"""``datasette bear-search`` as a person runs it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from datasette.cli import cli

from datasette_bear_search.cli import search as search_command
from datasette_bear_search.cli import terminal
from datasette_bear_search.cli.terminal import Screen
from datasette_bear_search.embeddings import registry
from datasette_bear_search.index import selection
from datasette_bear_search.index.file import database
from datasette_bear_search.search.request import read_request
from datasette_bear_search.sources.base import SourceConfig
from datasette_bear_search.sqlite import sqlite3
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day, edit
from tests.support.docs import ROOT
from tests.support.tiny_embedder import TINY, TinyEmbedder

NOTES = [
    BearNote(
        "# Cabin roof\n#cabin/repairs\n\nThe roof leaks above the stove.\n\n"
        "## Plan for May\n\nReplace the flashing.",
        tags=("cabin/repairs",),
        created=day(1),
    ),
    BearNote(
        "# Lentil soup\n#recipes\n\nRed lentils, carrots, cumin.",
        tags=("recipes",),
        created=day(2),
    ),
    BearNote("# Roof of the church\n\nA drawing of the roof.", created=day(3), pinned=True),
    BearNote(
        "# Old plans\n\nA roof garden, never built.\n- [ ] ask", archived=True, created=day(4)
    ),
    BearNote("# Bank codes", encrypted=True, created=day(6)),
]

SCRIPT = Path(sys.executable).with_name("bear-search")
HEAVY = {"torch", "transformers", "sentence_transformers", "scipy", "sqlite_utils", "mcp"}
# What reading notes, and masking, need: patterns take a millisecond each to compile.
NOT_NEEDED = {
    "yaml",
    "datasette_bear_search.index.run.changes",
    "datasette_bear_search.search.notes.similar",
    "datasette_bear_search.search.redaction.named_secrets",
}


@pytest.fixture
def bear_search(index_notes):
    """Index the notes; return a function that runs ``datasette bear-search`` on them."""
    sidecar_path = index_notes(NOTES)

    def run(*arguments: str, status: int = 0):
        result = CliRunner().invoke(
            cli, ["bear-search", "--sidecar", str(sidecar_path), *arguments]
        )
        assert result.exit_code == status, result.output
        return result

    return run


def titles(result) -> list[str]:
    return [row["title"] for row in json.loads(result.stdout)["rows"]]


def test_a_result_says_what_it_is_when_it_was_written_and_why_it_was_found(bear_search):
    first, *lines = bear_search("roof flashing").stdout.splitlines()
    assert first == " 1. Cabin roof"
    assert lines[0].strip() == "1 May 2024 · #cabin/repairs · Plan for May"
    assert lines[1].strip() == "The roof leaks above the stove. Plan for May Replace the flashing."
    assert re.fullmatch(r"words, 1st · meaning, \w+ \(0\.\d\d\) · id \d+", lines[2].strip())


def test_the_number_of_results_is_printed_below_them(bear_search):
    last = bear_search("roof", "--mode", "keyword", "--limit", "2").stdout.splitlines()[-1]
    assert re.fullmatch(r"1–2 of 3 results, \d+\.\d\d s", last)


def test_a_page_with_weaker_matches_is_counted_among_all_of_them(bear_search):
    last = bear_search("flashing", "--limit", "2").stdout.splitlines()[-1]
    assert re.fullmatch(r"1–2 of \d+: 1 result · \d+ weaker match(es)?, \d+\.\d\d s", last)


def test_further_pages_keep_counting(bear_search):
    first, *_ = bear_search("roof", "--mode", "keyword", "--offset", "2").stdout.splitlines()
    assert first.startswith(" 3. ")


def test_a_notes_states_are_printed_beside_its_title(bear_search):
    output = bear_search("roof", "--mode", "keyword").stdout
    assert "Old plans [archived]" in output
    assert "Roof of the church [pinned]" in output
    assert "Bank codes [encrypted]" in bear_search("bank").stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["roof", "--tag", "cabin"], {"Cabin roof"}),
        (["roof", "--no-archived"], {"Cabin roof", "Roof of the church"}),
        (["roof", "--has", "todo"], {"Old plans"}),
        (["roof", "--created-after", "2024-05-03"], {"Roof of the church", "Old plans"}),
        (["--source", "bear", "--encrypted"], {"Bank codes"}),
        (["--", "roof", "-church", "-garden"], {"Cabin roof"}),
    ],
)
def test_the_command_has_the_filters_of_the_page(bear_search, arguments, expected):
    assert set(titles(bear_search("--mode", "keyword", "--json", *arguments))) == expected


def test_a_word_with_a_minus_is_told_where_to_stand(bear_search):
    failed = bear_search("roof", "-draft", status=2)
    assert "put -- before the query: -- roof -draft" in failed.stderr
    assert "put --" not in bear_search("roof", "--draft", status=2).stderr


def test_every_parameter_of_the_page_is_an_option():
    asked = set()

    class Asked(dict):
        """Parameters without values that record every lookup."""

        def get(self, name, default=None):
            asked.add(name)
            return default

    read_request(Asked())
    context = click.Context(search_command.bear_search)
    options = {parameter.name for parameter in search_command.bear_search.get_params(context)}
    assert asked - {"q"} <= options


def test_json_has_what_the_api_answers(bear_search):
    answer = json.loads(bear_search("roof", "--json", "--limit", "1", "--mode", "keyword").stdout)
    assert answer["ok"] is True
    assert (answer["total"], answer["next"]) == (3, "1")
    assert answer["query"]["words"] == ["roof"]
    assert "<mark>" in answer["rows"][0]["snippet"]


def test_an_encoding_without_some_characters_gives_question_marks_and_whole_json(index_notes):
    sidecar_path = index_notes([BearNote("# Dách 屋根\n\n☑ Roof")])
    arguments = ["bear-search", "--sidecar", str(sidecar_path), "roof"]
    runner = CliRunner(charset="cp1252")  # Windows' of a pipe
    assert "Dách ??" in runner.invoke(cli, arguments, catch_exceptions=False).stdout
    printed = runner.invoke(cli, [*arguments, "--json"], catch_exceptions=False)
    assert titles(printed) == ["Dách 屋根"]


def test_a_search_without_results_exits_with_1_and_prints_to_stderr(bear_search):
    result = bear_search("roof", "--tag", "none", status=1)
    assert result.stdout == ""
    assert "No results." in result.stderr
    assert titles(bear_search("roof", "--tag", "none", "--json", status=1)) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "What are you looking for?"),
        ([""], "What are you looking for?"),
        (["roof", "--mode", "psychic"], "psychic"),
        (["roof", "--created-after", "soon"], "created_after must be a date"),
        (["roof", "--balance", "3"], "balance must be a number from 0 to 1"),
        (["roof", "--rerank", "magic"], "rerank must be one of"),
        (["roof", "--similar", "1"], "--similar takes one note"),
        (["roof", "--show", "1"], "--show takes one note"),
        (["roof", "--unlinked"], "--unlinked is for --similar NOTE"),
        (["--similar", "999"], "no note with the id 999"),
        (["roof", "--mode", "keyword", "--open", "9"], "no result 9 here, only 1 to 3"),
    ],
)
def test_an_invalid_option_exits_with_2_and_says_what_is_valid(bear_search, arguments, message):
    assert message in bear_search(*arguments, status=2).stderr


def test_without_an_index_it_says_how_to_make_one(tmp_path):
    path = str(tmp_path / "none.db")
    result = CliRunner().invoke(cli, ["bear-search", "roof", "--sidecar", path])
    assert result.exit_code == 2
    assert "datasette bear-index" in result.stderr


def test_a_damaged_index_gives_a_message(bear_search, sidecar_path):
    edit(sidecar_path, "drop table note_tags")
    assert "can't be read" in bear_search("roof", "--tag", "cabin", status=2).stderr


def test_without_a_model_a_notice_says_that_notes_are_found_by_words(bear_search):
    class Broken(TinyEmbedder):
        def open_model(self):
            raise OSError("gone")

    registry.register(TINY, lambda: Broken(TINY))
    result = bear_search("roof")
    assert "Cabin roof" in result.stdout
    assert result.stderr.count("Notes are found by their words only.") == 1


def test_a_correction_gives_a_notice_and_an_option_turns_it_off(bear_search):
    assert "Showing results for “lentils” instead of “lenitls”" in bear_search("lenitls").stderr
    assert "Showing results" not in bear_search("lenitls", "--no-correct").stderr


def test_an_uncertain_correction_is_only_suggested(bear_search):
    found = bear_search("lintils")
    assert "Did you mean “lentils”?" in found.stderr
    assert "Showing results" not in found.stderr


def test_a_time_read_as_a_filter_gives_a_notice(bear_search):
    told = bear_search("roof notes since 2001").stderr
    assert "Only notes created or modified at that time: since 2001 (" in told


def test_changes_since_indexing_give_a_notice(bear_search, library):
    edit(library, "update ZSFNOTE set ZTITLE = 'Other' where ZTITLE = 'Lentil soup'")
    assert "1 note changed since the index was made" in bear_search("roof").stderr


def test_explain_tells_how_the_query_was_read_and_each_score(bear_search):
    output = bear_search("roof", "leaks", "--explain").stdout
    assert "answered by keyword and semantic" in output
    assert re.search(r'^FTS5: +"roof" OR "leaks" OR "roof leaks"$', output, re.MULTILINE)
    assert re.search(
        r"^time: +plan [\d.]+ ms, embed [\d.]+ ms, sql [\d.]+ ms", output, re.MULTILINE
    )
    head = re.search(r"^ *id .*$", output, re.MULTILINE).group()
    assert head.split() == "id words meaning similarity blend rrf score title".split()


def test_similar_notes_come_with_their_reasons(bear_search):
    first = json.loads(bear_search("flashing", "--json", "--limit", "1").stdout)["rows"][0]
    output = bear_search("--similar", str(first["id"])).stdout
    assert output.startswith("Notes similar to Cabin roof\n")
    assert " 1. " in output
    assert "id " in output


def test_similar_notes_that_are_linked_can_be_left_out(bear_search, sidecar_path):
    first = json.loads(bear_search("flashing", "--json", "--limit", "1").stdout)["rows"][0]["id"]
    [similar, *_] = json.loads(bear_search("--similar", str(first), "--json").stdout)["rows"]
    edit(sidecar_path, f"insert into links (note_id, target_id) values ({similar['id']}, {first})")
    result = bear_search("--similar", str(first), "--unlinked", "--json", status=1)
    assert similar["id"] not in [row["id"] for row in json.loads(result.stdout)["rows"]]


def test_open_opens_the_note_where_it_was_written(bear_search, monkeypatch):
    opened = []
    monkeypatch.setattr(click, "launch", lambda url, wait: opened.append(url) or 0)
    result = bear_search("flashing", "--open", "1")
    assert result.stdout == ""
    assert len(opened) == 1
    assert opened[0].startswith("bear://x-callback-url/open-note?id=")


@pytest.mark.parametrize("url", ["-a", "--args", "/bin/sh", None])
def test_open_refuses_what_is_not_an_address(bear_search, sidecar_path, monkeypatch, url):
    monkeypatch.setattr(click, "launch", lambda url, wait: pytest.fail(url))
    edit(sidecar_path, "update notes set url = ?", url)
    edit(sidecar_path, "update sources set heading_link = null")
    assert "can't be opened" in bear_search("flashing", "--open", "1", status=2).stderr


def test_a_missing_app_gives_a_message(bear_search, monkeypatch):
    monkeypatch.setattr(click, "launch", lambda url, wait: 1)
    assert "No app on this machine" in bear_search("flashing", "--open", "1", status=2).stderr


def test_other_programs_get_a_line_a_note(bear_search):
    line, *_ = bear_search("flashing", "--format", "tsv").stdout.splitlines()
    note_id, title, tags, modified, url, source, _, why, text = line.split("\t")
    assert (title, tags, modified, source) == ("Cabin roof", "cabin/repairs", "2024-05-01", "bear")
    assert url.startswith("bear://")
    assert why.startswith("words, 1st")
    assert text.startswith("The roof leaks")
    answer, *_ = bear_search("flashing", "--format", "jsonl").stdout.splitlines()
    assert json.loads(answer)["id"] == int(note_id)
    output = bear_search("--similar", note_id, "--format", "tsv", "-n", "1").stdout
    assert output.startswith(f"{titles_id(bear_search, 'church')}\tRoof of the church\t")
    assert bear_search("nonsensical", "--found", "--format", "tsv", status=1).stdout == ""


def titles_id(bear_search, query) -> int:
    return json.loads(bear_search(query, "--json").stdout)["rows"][0]["id"]


def test_a_note_is_printed_as_markdown(bear_search):
    shown = bear_search("--show", str(titles_id(bear_search, "flashing"))).stdout
    assert shown.startswith("# Cabin roof\n\n")
    assert "\n## Plan for May\n\nReplace the flashing.\n" in shown
    assert "no note with the id 999" in bear_search("--show", "999", status=2).stderr


def test_version_prints_the_version(bear_search):
    said = f"datasette-bear-search, version {version('datasette-bear-search')}\n"
    assert bear_search("--version").stdout == said


def test_a_locked_index_gives_a_message_at_once_with_the_reason(
    bear_search, sidecar_path, monkeypatch
):
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.01)
    monkeypatch.setattr(database, "READ_BUSY_SECONDS", 0.05)
    monkeypatch.setattr(database._open_read_only, "__defaults__", (0.05,))
    with closing(sqlite3.connect(sidecar_path, isolation_level=None)) as other:
        other.execute("begin exclusive")
        waits, error = bear_search("roof", status=2).stderr.strip().splitlines()
    assert waits.startswith("Another program is using the index.")
    assert "Another program keeps the index from being used" in error
    assert "permissions" not in error


EVIL = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202edlrow\x7f"


def test_no_text_of_a_note_controls_the_terminal(write, bear_index, sidecar_path, monkeypatch):
    write(BearNote(f"# Roof {EVIL}\n\nroof {EVIL} text", tags=("cabin",), created=day(1)))
    bear_index()
    edit(sidecar_path, "update notes set title = ?, body = ?", f"Roof {EVIL}", f"roof {EVIL} text")
    monkeypatch.setattr(terminal, "screen_for", lambda stream: Screen(80, True, True))
    formats = [["--format", name] for name in search_command.OUTPUT_FORMATS]
    for options in (["--explain"], ["--mode", "like"], ["--show", "1"], *formats):
        query = [] if "--show" in options else ["roof"]
        arguments = ["bear-search", *query, "--sidecar", str(sidecar_path), *options]
        output = CliRunner().invoke(cli, arguments).output
        output = output.replace("\t", "") if "tsv" in options else output
        ours = re.sub(r"\x1b\[\d*m|\x1b\]8;;[!-~]*\x1b\\", "", output)
        assert "oof" in ours
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", ours), repr(ours)


def test_the_script_says_what_is_wrong_under_its_own_name():
    result = subprocess.run(
        [SCRIPT, "roof", "--limit", "0"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert result.stderr.startswith("Usage: bear-search [OPTIONS] [QUERY]...")
    assert "--limit" in result.stderr


def test_a_real_terminal_gets_links_and_marks(bear_search, sidecar_path):
    code = "from datasette.cli import cli; cli(['bear-search', *__import__('sys').argv[1:]])"
    main, side = pty.openpty()
    arguments = ["roof", "--mode", "keyword", "--sidecar", str(sidecar_path)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    environment.pop("NO_COLOR", None)
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdout=side,
        stderr=subprocess.PIPE,
        env=environment,
        check=True,
    )
    os.close(side)
    output = os.read(main, 100_000).decode()
    os.close(main)
    assert process.stderr == b""
    assert "\x1b]8;;bear://x-callback-url/open-note?id=" in output
    assert re.search("\x1b\\[4m[Rr]oof\x1b\\[0m", output)


@pytest.mark.parametrize(
    ("arguments", "avoided"),
    [
        (["roof", "--mode", "keyword"], {"datasette", *HEAVY, "numpy", *NOT_NEEDED}),
        (["roof", "--mode", "keyword", "--json"], {"datasette", *HEAVY, "numpy"}),
        (["--similar", "1"], {"datasette"}),
    ],
)
def test_the_script_imports_nothing_heavy(index_notes, arguments, avoided):
    sidecar_path = index_notes(NOTES)
    code = (
        "import runpy, sys; del sys.argv[0]\n"
        "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, SCRIPT, *arguments, "--sidecar", str(sidecar_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Cabin roof" in result.stdout
    imported = {*result.stderr.split()}
    assert "datasette_bear_search" in imported
    assert imported.isdisjoint(avoided), imported & avoided


def test_the_script_collects_no_garbage(index_notes):
    code = (
        "import atexit, gc\n"
        "from datasette_bear_search.cli.search import main\n"
        "def collections(): return gc.get_stats()[0]['collections']\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0, collections()))\n"
        "print(collections()); main()"
    )
    command = [sys.executable, "-c", code, "roof", "--sidecar", str(index_notes(NOTES))]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    before, *_, after = result.stdout.splitlines()
    assert after == f"True {before}"


# --- docs/launchers.md

PAGE = (ROOT / "docs" / "launchers.md").read_text()


@pytest.fixture
def run_script(bear_search, sidecar_path, tmp_path):
    """Return a function that runs a script from the page with "roof" as the typed text."""
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    opener.chmod(0o755)
    environment = {
        **os.environ,
        "DATASETTE_BEAR_SEARCH_SIDECAR": str(sidecar_path),
        "PATH": os.pathsep.join([str(opener.parent), str(SCRIPT.parent), os.environ["PATH"]]),
        "HOME": str(tmp_path),
    }

    def run(script: str, *arguments: str) -> str:
        command = ["bash", "-c", script, "script", *(arguments or ["roof"])]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    return run


def script_of(section: str) -> str:
    return re.search(rf"## {section}\n.*?```bash\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_script_for_raycast_opens_the_best_note(run_script, tmp_path):
    assert run_script(script_of("Raycast"), "flashing") == "Opened\n"
    assert (tmp_path / "opened").read_text().startswith("bear://x-callback-url/open-note?id=")


def test_the_script_for_alfred_lists_notes(run_script):
    items = json.loads(run_script(script_of("Alfred"), "flashing"))["items"]
    assert (items[0]["title"], items[0]["subtitle"]) == (
        "Cabin roof", "2024-05-01 · cabin · cabin/repairs"
    )  # fmt: skip
    assert json.loads(run_script(script_of("Alfred"), '"no such thing"'))["items"][0] == {
        "title": "No results", "valid": False
    }  # fmt: skip


def test_the_commands_that_fzf_runs_list_and_show_notes(run_script):
    script = script_of("fzf")
    run_script(script)  # fails unless it is well-formed
    reload = re.search(r"change:reload:sleep 0.1; (.*?)'", script)[1]
    note_id, title, *_ = run_script(reload.replace("{q}", '"$1"'), "flashing").split("\t")
    assert title == "Cabin roof"
    preview = re.search(r"--preview '(.*?)'", script)[1]
    assert "Replace the flashing." in run_script(preview.replace("{1}", '"$1"'), note_id)


def test_an_editor_gets_the_notes_like_a_file(run_script, tmp_path, sidecar_path):
    (tmp_path / "Notes").mkdir()
    for name in ("roof", "attic"):
        (tmp_path / "Notes" / f"{name}.md").write_text(f"# {name}\n\nThe flashing leaks. #house\n")
    run_script('datasette bear-index "$1" --model test/tiny --no-semantic', tmp_path / "Notes")
    rows = run_script(script_of("Editors")).splitlines()
    assert all(json.loads(row)["id"] for row in rows)


# Without an index, at a terminal


@pytest.fixture
def at_a_terminal(monkeypatch, write, library):
    """Let a person sit at a terminal of a computer that has Bear's notes and no index."""
    write(*NOTES)
    config = SourceConfig("bear", "bear", str(library))
    monkeypatch.setattr(selection, "installed", lambda: [config])

    def ask(path, says):
        monkeypatch.setattr(search_command, "is_terminal", lambda: True)
        return CliRunner().invoke(cli, ["bear-search", "roof", "--sidecar", str(path)], input=says)

    return ask


def test_a_search_without_an_index_offers_to_make_it(at_a_terminal, sidecar_path):
    done = at_a_terminal(sidecar_path, "y\n")
    assert re.search(r"Index \d+ notes of Bear now\?", done.output)
    assert done.exit_code == 0
    assert "Cabin roof" in done.output


def test_a_search_without_an_index_makes_none_unasked(at_a_terminal, sidecar_path):
    done = at_a_terminal(sidecar_path, "n\n")
    assert done.exit_code == 2
    assert "There is no index" in done.output
    assert not sidecar_path.exists()


def test_a_program_is_not_asked(write, library, sidecar_path, monkeypatch):
    write(*NOTES)
    done = CliRunner().invoke(cli, ["bear-search", "roof", "--sidecar", str(sidecar_path)])
    assert done.exit_code == 2
    assert "now?" not in done.output
