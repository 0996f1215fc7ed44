"""Several sources in one index: added, read again separately, deduplicated, and removed.

Tests ``index/selection.py``, ``index/file/sources.py``, ``sources/``, ``sources/base.py``,
``sources/checks.py``, ``sources/registry.py`` and ``sources/formats/markdown_metadata.py``.
"""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from datasette import hookimpl
from datasette.app import Datasette
from datasette.cli import cli
from datasette.plugins import pm

from datasette_bear_search.index import freshness
from datasette_bear_search.notes import Note, Tag
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.formats.documents import html_to_markdown
from datasette_bear_search.sources.formats.markdown_metadata import note_from_markdown
from datasette_bear_search.sources.registry import OUR_KINDS, get_kind, kind_of, names
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import bear_library, day, edit
from tests.support.exports import folder_of
from tests.support.index_files import rows, titles
from tests.support.journal import Journal, JournalPlugin

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-source.md"

GARDEN = BearNote(
    "# Garden\n\nPrune the old apple tree.",
    id="AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA",
    created=day(1),
)


@pytest.fixture(autouse=True)
def journals():
    Journal.read_whole, Journal.read_lines = [], []
    plugin = JournalPlugin()
    pm.register(plugin, name="journals")
    yield
    pm.unregister(plugin)


@pytest.fixture
def index(sidecar_path) -> Callable[..., Result]:
    """Run ``datasette bear-index … --sidecar SIDECAR``, which must succeed unless ``fails``."""

    def run(*arguments: str | Path, fails: bool = False) -> Result:
        command = ["bear-index", *map(str, arguments), "--sidecar", str(sidecar_path)]
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == (1 if fails else 0), result.output
        return result

    return run


@pytest.fixture
def journal(tmp_path) -> Callable[..., Path]:
    """Write a journal: ``journal("name", entry, …)``; an entry is a dict or a literal line."""

    def write(name: str, *entries: dict | str) -> Path:
        path = tmp_path / f"{name}.journal"
        lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
        path.write_text("\n".join(lines))
        return path

    return write


def note(title: str, body: str = "Something", **more) -> dict:
    return {"key": title, "title": title, "body": body, **more}


def test_another_packages_source_is_recognized_and_indexed(index, journal, sidecar_path):
    index(journal("mine", note("Monday", tags=["work"])))
    assert rows(sidecar_path, "select title, source, tags from notes") == [
        ("Monday", "journal", '["work"]')
    ]
    assert rows(sidecar_path, "select name, kind, app, notes from sources") == [
        ("journal", "journal", "Journal", 1)
    ]


@pytest.mark.datasette
def test_the_plugin_in_the_guide_can_be_installed_and_run(tmp_path, sidecar_path):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    [example] = [block for block in blocks if "bear_search_register_note_sources" in block]
    site, box = tmp_path / "site", tmp_path / "box"
    information = {
        "METADATA": "Metadata-Version: 2.1\nName: recipes\nVersion: 1\n",
        "entry_points.txt": "[datasette]\nrecipes = bear_search_recipes\n",
    }
    folder_of(site, {f"recipes-1.dist-info/{name}": text for name, text in information.items()})
    (site / "bear_search_recipes.py").write_text(example)
    soup = {"dish": "Soup", "text": "# Soup\n\n- [ ] Peel leeks", "tags": ["winter"]}
    soup |= {"cooked": "1 May 2024", "language": "en"}
    cake = {**soup, "dish": "Kuchen", "language": "de"}
    folder_of(box, {"box.json": {}, "soup.recipe": soup, "cake.recipe": cake})

    def bear_index(*arguments: object) -> str:
        path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "datasette", "bear-index", *map(str, arguments)]
        command += ["--sidecar", str(sidecar_path), "--no-semantic"]
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.stdout + done.stderr

    assert "cake.recipe: not in the language en" in bear_index(box)
    sql = "select title, body, tags, created, todos_open, source from notes"
    soup_row = ("Soup", "- [ ] Peel leeks", '["winter"]', "2024-05-01T12:00:00Z", 1, "box")
    assert rows(sidecar_path, sql) == [soup_row]
    folder_of(box, {"pie.recipe": {**soup, "dish": "Pie", "tags": "winter"}})
    bear_index()
    assert len(rows(sidecar_path, sql)) == 2
    shutil.rmtree(box)
    assert "Connect the drive" in bear_index()
    assert len(rows(sidecar_path, sql)) == 2


def test_a_plugin_cannot_override_a_built_in_kind():
    class Other:
        __name__ = "other"

        @hookimpl
        def bear_search_register_note_sources(self):
            return {"markdown": Journal}

    other = Other()
    pm.register(other)
    try:
        assert names().count("markdown") == 1
        assert get_kind("markdown") is MarkdownFolder
    finally:
        pm.unregister(other)


def test_every_kind_of_ours_can_be_imported_and_says_what_it_reads():
    assert all(get_kind(kind).__doc__ for kind in OUR_KINDS)


def test_each_path_is_added_and_the_others_stay(index, journal, sidecar_path):
    index(journal("one", note("Monday")))
    index(journal("two", note("Tuesday")))
    assert titles(sidecar_path) == ["Monday", "Tuesday"]
    assert rows(sidecar_path, "select name from sources") == [("journal",), ("journal-2",)]


def test_a_path_that_is_known_is_not_added_twice(index, journal, sidecar_path, monkeypatch):
    path = journal("one", note("Monday"))
    index(path)
    monkeypatch.chdir(path.parent)
    index(path.name)
    assert rows(sidecar_path, "select name, location from sources") == [("journal", str(path))]


def test_folders_are_named_after_themselves(index, tmp_path, sidecar_path):
    folder = tmp_path / "My Recipes"
    folder.mkdir()
    (folder / "soup.md").write_text("# Soup\n\nLentils.")
    index(folder)
    assert rows(sidecar_path, "select name, kind from sources") == [("my-recipes", "markdown")]


def test_a_folder_that_may_not_be_read_gives_an_error_that_says_so(tmp_path, monkeypatch):
    def refuse(path: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(SourceError, match="You may not read"):
        kind_of(str(tmp_path))


def test_a_path_that_no_kind_reads_gives_an_error_that_lists_the_kinds(index, tmp_path):
    (tmp_path / "song.mp3").write_bytes(b"\0")
    output = index(tmp_path / "song.mp3", fails=True).output
    assert "as any of these: journal, bear, bear-backup," in output
    assert "demo" not in output
    assert "There is nothing at" in index(tmp_path / "nowhere", fails=True).output


def test_a_source_that_did_not_change_is_not_read(index, journal):
    index(journal("one", note("Monday")), journal("two", note("Tuesday")))
    journal("two", note("Tuesday"), note("Wednesday"))
    Journal.read_lines.clear()
    output = index().output
    assert "Nothing has changed in" in output
    assert Journal.read_lines == ["Wednesday"]  # only the new line of the changed one
    assert "Read 1 of 2 notes" in output
    assert len(Journal.read_whole) == 2  # in the first run


def test_notes_that_were_touched_only_are_not_read_again(index, journal, sidecar_path):
    index(journal("one", note("Monday", tags=[])))
    journal("one", note("Monday"))  # another line, but the same note
    assert "0 notes added, 0 changed, 0 removed" in index().output
    journal("one", note("Monday"), note("Tuesday"))
    Journal.read_lines.clear()
    index()
    assert Journal.read_lines == ["Tuesday"]


@pytest.mark.parametrize("line", ["broken", "bug", "{not json"])
def test_a_broken_source_harms_no_other_and_loses_nothing(index, journal, sidecar_path, line):
    index(journal("one", note("Monday")), journal("two", note("Tuesday")))
    journal("one", note("Sunday"), line)
    journal("two", note("Tuesday"), note("Wednesday"))
    output = index(fails=True).output
    assert "journal: " in output
    assert "1 source of 2 could not be read. What the index has of it stays as it was." in output
    assert titles(sidecar_path) == ["Monday", "Tuesday", "Wednesday"]


def test_a_source_that_breaks_at_first_leaves_no_index(index, journal, sidecar_path):
    assert "The journal is wet" in index(journal("one", "broken"), fails=True).output
    assert not sidecar_path.exists()


def test_rebuilding_does_not_lose_a_source_that_cannot_be_read(index, journal, sidecar_path):
    index(journal("one", note("Monday")), journal("two", note("Tuesday")))
    journal("one", "broken")
    assert "Nothing was rebuilt" in index("--rebuild", fails=True).output
    assert titles(sidecar_path) == ["Monday", "Tuesday"]
    index("--remove", "journal")
    index("--rebuild")
    assert titles(sidecar_path) == ["Tuesday"]


def test_only_reads_one_source(index, journal, sidecar_path):
    index(journal("one", note("Monday")), journal("two", note("Tuesday")))
    journal("one", note("M"))
    journal("two", note("T"))
    index("--only", "journal-2")
    assert titles(sidecar_path) == ["Monday", "T"]
    assert "Did you mean journal-2?" in index("--only", "jurnal-2", fails=True).output


def test_a_removed_source_leaves_the_file(index, journal, sidecar_path):
    index(journal("one", note("Monday", "xylophonist")), journal("two", note("Tuesday")))
    assert b"xylophonist" in sidecar_path.read_bytes()
    index("--remove", "journal")
    assert titles(sidecar_path) == ["Tuesday"]
    assert b"xylophonist" not in sidecar_path.read_bytes()
    assert "There is no source called 'journal'" in index("--remove", "journal", fails=True).output


def test_the_list_tells_of_each_source_what_changed(index, journal):
    assert "has no sources yet" in index("--list").output
    index(journal("one", note("Monday")), journal("two", {"key": "x", "skip": "too large"}))
    journal("one", note("Monday"), note("Tuesday"))
    lines = index("--list").output.splitlines()
    assert re.match(r"journal +journal +1 +\S+ +1 +/.*one\.journal", lines[1])
    assert re.match(r"journal-2 +journal +0 +\S+ +0 +/.*two\.journal", lines[2])
    assert any("x: too large" in line for line in lines)
    journal("two", "broken")
    assert "can't be read" in index("--list").output


def hourly(path) -> tuple[str, Path]:
    config = path.with_name("bear-search.yaml")
    config.write_text(f"sources: [{{location: {path}, name: journal, every: 1h}}]\n")
    return "--config", config


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_the_interval_and_the_last_error_are_shown_everywhere(
    index, journal, sidecar_path, monkeypatch
):
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    path = journal("feed", note("Monday"))
    index(*hourly(path))
    assert re.search(r"^journal: Read every 1h, next on .*\d\.$", index("--list").output, re.M)
    journal("feed", "broken")
    index(fails=True)
    assert index("--list").output.count("The journal is wet.") == 1
    doctor = CliRunner().invoke(cli, ["bear-doctor", "--sidecar", str(sidecar_path)]).output
    assert doctor.count("The journal is wet.") == 1
    journal("feed", note("Monday"))  # repaired, but not read again yet
    says = r"The journal is wet\. Dry it\. \(Tried on .*\d\.\) Read every 1h, next on .*\d\."
    assert re.search(f"^journal: {says}$", index("--list").output, re.M)
    doctor = CliRunner().invoke(cli, ["bear-doctor", "--sidecar", str(sidecar_path)]).output
    assert re.search(says, " ".join(doctor.split()))
    client = Datasette([str(sidecar_path)]).client
    [source] = (await client.get("/-/bear-search/status.json")).json()["sources"]
    assert (source["error"], source["next_try"][:2]) == ("The journal is wet. Dry it.", "20")
    assert "The journal is wet. Dry it. (Tried on" in (await client.get("/-/bear-search")).text
    index()
    assert "wet" not in index("--list").output
    [source] = (await client.get("/-/bear-search/status.json")).json()["sources"]
    assert source["error"] is None
    assert "wet" not in (await client.get("/-/bear-search")).text


def test_a_clock_that_is_set_back_delays_no_reading(index, journal):
    path = journal("feed", note("Monday"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda now=time.time: now() + 10**7)
        index(*hourly(path))
        assert "next on" in index("--list").output
    assert "next on" not in index("--list").output


def test_left_out_notes_are_listed(index, journal):
    skipped = [{"key": f"n{number}", "skip": "too large"} for number in range(9)]
    output = index(journal("one", *skipped)).output
    assert "journal: skipped 9:" in output
    assert "n4: too large" in output
    assert "… and 4 more" in output


def test_two_notes_of_the_same_key_are_one_and_a_line(index, journal, sidecar_path):
    output = index(journal("one", note("Monday", "a"), note("Monday", "b"))).output
    assert "there is another note with this key" in output
    assert rows(sidecar_path, "select body from notes") == [("a",)]


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        ({"tags": ("work",)}, "the note with the key 'k' the tags ('work',); it must be a tuple"),
        ({"links": ("1",)}, "the note with the key 'k' the links ('1',); it must be a tuple"),
        ({"key": "\ud83d"}, "the key '\\ud83d'; it must be a text"),
        ({"key": ""}, "the key ''; it must be a text"),
        ({"title": None}, "the title None; it must be a text"),
        ({"created": "last year"}, "the created 'last year'; it must be None or a date in UTC"),
        ({"modified": 5}, "the modified 5; it must be None or a date in UTC"),
        ({"pinned": "yes"}, "the pinned 'yes'; it must be True or False"),
        ({"todos_open": 2**64}, "it must be a number"),
        ({"url": b"x"}, "the url b'x'; it must be None or a text"),
        (None, "None where a Note belongs"),
    ],
)
def test_a_mistake_of_a_plugin_is_one_sentence_and_holds_up_no_other_source(
    index, journal, sidecar_path, monkeypatch, mistake, sentence
):
    index(journal("one", note("Monday")), journal("two", note("Tuesday")))
    wrong = mistake and Note(**{"key": "k", "title": "T", **mistake})
    monkeypatch.setattr(
        Journal,
        "_notes",
        lambda self, known: iter([wrong if self.name == "journal" else Note("Friday", "Friday")]),
    )
    journal("one", note("Sunday"))
    journal("two", note("Wednesday"))
    output = index(fails=True).output
    assert "The plugin tests (its class Journal) gives " in output
    assert sentence in " ".join(output.split())
    assert "Traceback" not in output
    assert titles(sidecar_path) == ["Friday", "Monday"]


def test_what_came_before_an_interruption_is_indexed_and_the_rest_stays(
    index, journal, sidecar_path
):
    path = journal("one", *(note(day) for day in ("Monday", "Tuesday", "Wednesday")))
    index(path)
    before = rows(sidecar_path, "select read, version from sources")
    journal("one", note("Monday", "Rain"), note("Sunday"), "torn", note("Friday"))
    assert "torn out. Find it." in index(fails=True).output
    sql = "select title, body from notes order by title"
    assert rows(sidecar_path, sql) == [
        ("Monday", "Rain"),
        ("Sunday", "Something"),
        ("Tuesday", "Something"),
        ("Wednesday", "Something"),
    ]
    assert rows(sidecar_path, "select read, version from sources") == before
    journal("one", note("Monday", "Rain"), note("Sunday"))
    index()
    assert titles(sidecar_path) == ["Monday", "Sunday"]


def test_a_first_reading_that_is_interrupted_goes_on_later(index, journal, sidecar_path):
    path = journal("one", note("Monday"), "torn")
    index(path, fails=True)
    assert titles(sidecar_path) == ["Monday"]
    Journal.read_lines = []
    journal("one", note("Monday"), note("Sunday"))
    index()
    assert titles(sidecar_path) == ["Monday", "Sunday"]
    assert Journal.read_lines == ["Sunday"]


def test_a_network_that_is_gone_is_no_fault_of_the_plugin(index, journal, sidecar_path):
    index(journal("one", note("Monday")))
    journal("one", "far")
    output = " ".join(index(fails=True).output.split())
    assert "could not be read: The shelf is too far away." in output
    assert "fault" not in output
    assert titles(sidecar_path) == ["Monday"]


def test_a_kind_can_have_an_interval_of_its_own(
    index, journal, sidecar_path, tmp_path, monkeypatch
):
    monkeypatch.setattr(Journal, "default_every", "2h", raising=False)
    path = journal("one", note("Monday"))
    sql = "select json_extract(options, '$.every') from sources"
    index(path)
    assert rows(sidecar_path, sql) == [("2h",)]
    config = tmp_path / "bear-search.yaml"
    entry = f"sources:\n- location: {path}\n  name: journal\n"
    for more, every in (("  every: 30m\n", "30m"), ("", "2h")):
        config.write_text(entry + more)
        index("--config", config)
        assert rows(sidecar_path, sql) == [(every,)]
    assert Journal.read_lines == ["Monday"]  # another interval is no reason to read all again


def test_a_source_without_what_is_needed_is_one_sentence(index, journal, monkeypatch):
    monkeypatch.delattr(Journal, "heading_link")
    path = journal("one", note("Monday"))
    sentence = "The plugin tests (its class Journal) gives a source without heading_link, a text"
    assert sentence in index(path, fails=True).output


def test_a_plugin_that_breaks_keeps_no_kind_from_being_found():
    class Broken:
        __name__ = "broken"

        @hookimpl
        def bear_search_register_note_sources(self):
            raise ZeroDivisionError

    broken = Broken()
    pm.register(broken)
    try:
        assert "journal" in names()
    finally:
        pm.unregister(broken)


def test_a_note_is_made_from_its_markdown():
    text = "# Roof #\n\n- [x] call\n- [ ] pay\n\n![](a.png) #Work #work [[b.pdf]]\n\n~~~\nx\n~~~"
    made = note_from_markdown("k", text, tags=["home"], inline_tags=True, created=1714555800)
    assert (made.title, made.body[:10], made.tags) == (
        "Roof",
        "- [x] call",
        (Tag("home"), Tag("Work")),
    )
    assert (made.todos_open, made.todos_done, made.created) == (1, 1, "2024-05-01T09:30:00Z")
    assert (made.has_image, made.has_file, made.has_code) == (True, True, True)
    when = datetime(2024, 5, 1, 11, 30, tzinfo=timezone(timedelta(hours=2)))
    made = note_from_markdown("k", "Roof\n\nIt leaks", title="Roof", modified=when, has_image=True)
    assert (made.title, made.body, made.has_image) == ("Roof", "It leaks", True)
    assert made.modified == "2024-05-01T09:30:00Z"
    assert note_from_markdown("k", "It leaks\nagain").title == "It leaks"


def test_a_page_becomes_markdown():
    page = "<title>Roof</title><script>x</script><p>It <b>leaks</b></p>"
    assert html_to_markdown(page) == "# Roof\n\nIt **leaks**"


def test_text_that_no_database_takes_is_made_storable(index, journal, sidecar_path):
    index(journal("one", '{"key": "k", "title": "T\\u0000", "body": "half a \\ud83d pair"}'))
    assert rows(sidecar_path, "select title, body from notes") == [("T", "half a � pair")]


def test_a_run_that_died_before_the_notes_were_written_is_done_again(
    index, journal, sidecar_path, monkeypatch
):
    from datasette_bear_search.index.run import text as text_run

    path = journal("one", note("Monday"))
    with monkeypatch.context() as patch:
        patch.setattr(
            text_run.TextRun, "_write_notes", lambda *arguments: exec("raise KeyboardInterrupt")
        )
        arguments = ["bear-index", str(path), "--sidecar", str(sidecar_path)]
        assert CliRunner().invoke(cli, arguments).exit_code == 1
    assert titles(sidecar_path) == []
    index()
    assert titles(sidecar_path) == ["Monday"]


# The same note from two sources


@pytest.fixture
def two_libraries(index, tmp_path, sidecar_path) -> Callable[..., None]:
    """Index a library as "bear" and another one as "bear-2"."""

    def make(first: list[BearNote], second: list[BearNote]) -> None:
        index(bear_library(tmp_path / "database.sqlite", first))
        index(bear_library(tmp_path / "older.sqlite", second))

    return make


async def search(sidecar_path: Path, query: str) -> dict:
    response = await Datasette([str(sidecar_path)]).client.get(f"/-/bear-search.json?{query}")
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.datasette
@pytest.mark.asyncio
@pytest.mark.parametrize(
    "other",
    [
        BearNote("# Garden\n\nPrune the tree.", id=GARDEN.id, created=day(1)),
        BearNote("# Garden\n\nPrune the  old apple tree.\n", id="other", created=day(1)),
    ],
    ids=["the same id", "the same text"],
)
async def test_the_same_note_from_two_sources_is_one_result_that_names_both(
    two_libraries, sidecar_path, other
):
    two_libraries([GARDEN], [other, BearNote("# Tree\n\nAnother tree.", created=day(2))])
    data = await search(sidecar_path, "q=tree")
    found = {row["title"]: (row["source"], row["also_in"]) for row in data["rows"]}
    assert found == {"Garden": ("bear", ["bear-2"]), "Tree": ("bear-2", [])}
    assert data["total"] == 2
    assert data["query"]["filters"] == {}
    [row] = (await search(sidecar_path, "q=garden&source=bear-2"))["rows"][:1]
    assert (row["source"], row["also_in"]) == ("bear-2", ["bear"])
    titles = [row["title"] for row in (await search(sidecar_path, "q=garden+-source:bear"))["rows"]]
    assert "Garden" in titles
    assert (await search(sidecar_path, ""))["total"] == 2


def test_the_copy_that_stands_for_all_is_the_newest(two_libraries, sidecar_path):
    newer = BearNote("# Garden\n\nPruned.", id=GARDEN.id, created=day(1), modified=day(9))
    two_libraries([GARDEN], [newer])
    assert rows(
        sidecar_path,
        "select notes.source, original.source from notes"
        " join notes as original on original.id = notes.copy_of",
    ) == [("bear", "bear-2")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BearNote("# Ideas", id="1"), BearNote("# Ideas", id="2")),
        (BearNote("# A\n\nx", id="notes/a.md"), BearNote("# B\n\ny", id="notes/a.md")),
        (BearNote("# A", id="1", encrypted=True), BearNote("# A", id="2", encrypted=True)),
    ],
    ids=["two empty notes", "two paths", "two encrypted notes"],
)
def test_different_notes_stay_different(two_libraries, sidecar_path, one, other):
    two_libraries([one], [other])
    assert rows(sidecar_path, "select count(*) from notes where copy_of is not null") == [(0,)]


def test_two_notes_that_say_the_same_in_one_source_are_two(write, bear_index, sidecar_path):
    write(BearNote("# A\n\nSame", id="1"), BearNote("# A\n\nSame", id="2"))
    bear_index()
    assert rows(sidecar_path, "select count(*) from notes where copy_of is null") == [(2,)]


def test_a_copy_stands_for_itself_when_the_other_goes(two_libraries, index, sidecar_path, tmp_path):
    two_libraries([GARDEN], [GARDEN])
    assert rows(sidecar_path, "select source from notes where copy_of is null") == [("bear",)]
    edit(tmp_path / "database.sqlite", "update ZSFNOTE set ZTRASHED = 1")
    index()
    assert rows(sidecar_path, "select source, copy_of from notes") == [("bear-2", None)]


@pytest.mark.datasette
@pytest.mark.asyncio
async def test_a_copy_is_not_like_the_note(two_libraries, sidecar_path):
    two_libraries([GARDEN], [GARDEN, BearNote("# Garden tools\n\nPrune the old apple tree again.")])
    for note_id in (1, 2):
        response = await Datasette([str(sidecar_path)]).client.get(
            f"/-/bear-search/similar/{note_id}.json"
        )
        assert [row["title"] for row in response.json()["rows"]] == ["Garden tools"]


# Whether the index is behind


def test_a_slow_source_keeps_no_page_waiting(index, journal, sidecar_path, monkeypatch):
    index(journal("one", note("Monday")))
    journal("one", note("Monday"), note("Tuesday"), note("Secret", tags=["private"]))
    may_go_on = threading.Event()
    state = Journal.state
    monkeypatch.setattr(Journal, "state", lambda self: may_go_on.wait(30) and state(self))
    started = time.monotonic()
    # Nothing has been counted yet.
    assert freshness.changes_since_indexing(sidecar_path).changed == 0
    assert time.monotonic() - started < 10
    may_go_on.set()
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    assert freshness.changes_since_indexing(sidecar_path).changed == 2


def test_a_source_that_breaks_is_not_behind(index, journal, sidecar_path, monkeypatch):
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    index(journal("one", note("Monday")), journal("two", note("Tuesday")))
    journal("one", "bug")
    journal("two", note("Tuesday"), note("Wednesday"))
    assert freshness.changes_since_indexing(sidecar_path).changed == 1


def test_a_source_that_cannot_tell_of_changes_is_not_read_to_count_them(
    index, journal, sidecar_path, monkeypatch
):
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    monkeypatch.setattr(Journal, "state", lambda self: "")
    index(journal("one", note("Monday")))
    journal("one", note("Monday"), note("Tuesday"))
    Journal.read_whole.clear()
    assert freshness.changes_since_indexing(sidecar_path).changed == 0
    assert Journal.read_whole == []


def test_a_check_that_took_long_is_not_repeated_at_once(index, journal, sidecar_path, monkeypatch):
    monkeypatch.setattr(freshness, "SECONDS_TO_WAIT", 30)
    index(journal("one", note("Monday")))
    asked = []

    def state(self):
        asked.append(self.name)
        time.sleep(0.5)
        return "another"

    monkeypatch.setattr(Journal, "state", state)
    for _ in range(5):
        freshness.changes_since_indexing(sidecar_path)
    assert len(asked) <= 2  # a single check asks for the state before reading and while reading
