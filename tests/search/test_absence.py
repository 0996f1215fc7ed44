"""Why a note isn't among the results: one test a reason, by the terminal, the page and agents."""

from __future__ import annotations

import errno
import html
import re

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search import Library
from datasette_bear_search.agents import AgentLibrary, tools
from datasette_bear_search.sources.base import SourceConfig
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import edit, forbid

FILLERS = [BearNote(f"# Roof {n}\n\nA roof, and the roof.") for n in range(14)]
NOTES = [
    BearNote("# Lentil soup\n\nLentils and salt.", tags=("recipes",)),
    BearNote("# Old plan\n\nRoof of the barn.", trashed=True),
    BearNote("# Safe\n\nRoof.", encrypted=True),
    BearNote("# Attic\n\nOne roof, among a great many other things that fill the note."),
    *FILLERS,
]


@pytest.fixture
def why(index_notes):
    path = index_notes(NOTES)

    def ask(title, *query) -> str:
        arguments = ["bear-search", *query, "--why", title, "--sidecar", str(path)]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, result.output
        return result.output.strip()

    return ask


def test_a_result_is_named_with_its_rank(why):
    assert why("Lentil soup", "lentil") == "“Lentil soup” is result 1."


def test_a_result_further_down_is_named_with_its_rank(why):
    said = why("attic", "roof", "--limit", "2")
    assert said.startswith("“attic” is result 1")
    assert said.endswith("; the first 2 are shown.")


def test_an_id_names_a_note_unless_a_title_is_that_number(index_notes):
    library = Library(index_notes([*NOTES, BearNote("# 3\n\nA number.")]))
    [soup] = library.search("lentil", found=True)
    assert library.why(str(soup.id), "lentil") == f"“{soup.id}” is result 1."
    assert library.why("3", "number") == "“3” is result 1."


def test_a_part_of_a_title_is_enough_and_needs_no_accents(index_notes):
    library = Library(index_notes([*NOTES, BearNote("# Crème brûlée\n\nSugar.")]))
    assert library.why("creme", "sugar") == "“creme” is result 1."


def test_a_note_in_the_trash_is_there(why):
    assert why("Old plan", "roof").startswith("“Old plan” isn't indexed. It is in bear, but in its")


def test_an_encrypted_note_has_only_a_title(why):
    assert why("Safe", "roof") == "“Safe” is encrypted, so only its title can be searched."


@pytest.mark.parametrize(
    ("query", "label"),
    [
        (("lentil", "--tag", "work"), "#work"),
        (("lentil", "created:2001"), "Created before 2002"),
        (("lentil", "is:pinned"), "pinned"),
        (("lentil -salt",), "-salt"),
        (("lentil -tag:recipes",), "not #recipes"),
    ],
)
def test_a_filter_that_leaves_a_note_out_is_named(why, query, label):
    said = why("Lentil soup", *query)
    assert said.startswith("“Lentil soup” is indexed, but left out by “")
    assert label in said


def test_only_the_filters_that_the_note_does_not_fit_are_named(why):
    said = why("Lentil soup", "lentil", "--tag", "recipes", "--has", "image")
    assert "#recipes" not in said
    assert "left out by" in said


def test_a_note_without_the_words_is_not_found(why):
    said = why("Lentil soup", "bicycle", "--mode", "keyword")
    assert said.startswith("“Lentil soup” is indexed, but has none of the words")


def test_a_weaker_match_is_below_the_threshold(why):
    said = why("Lentil soup", "roof")
    assert said.startswith("“Lentil soup” is below the threshold")
    assert re.search(r"\(similarity -?0\.\d\d, and notes count as close from 0\.\d\d\)", said)


def test_a_note_that_nobody_has_is_nowhere(why):
    said = why("No such thing", "roof")
    assert said.endswith("None of the sources has a note or a file like it.")


def test_a_new_note_is_not_indexed_yet(why, library):
    edit(library, "update ZSFNOTE set ZTRASHED = 0 where ZTITLE = 'Old plan'")
    assert "new or changed since that was indexed" in why("Old plan")


def test_a_source_that_cannot_be_read_may_have_it(why, library, monkeypatch):
    forbid(monkeypatch, library, errno.EPERM, "open")
    said = why("Newest")
    assert "bear can't be read, so it may be there" in said
    assert "Full Disk Access" in said


# Folders


@pytest.fixture
def in_vault(tmp_path, sidecar_path):
    vault = tmp_path / "vault"
    for name, text in {
        "Roof.md": "# Roof\n\nTiles.",
        ".trash/Gone.md": "# Gone",
        ".hidden/Secret plan.md": "# Secret plan",
        "node_modules/Package.md": "# Package",
        "Photo.docx": "x",
        "Diary.md": "# Diary\n\n#private",
    }.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text)
    (vault / "Huge.md").write_bytes(b"x" * (20 * 1024 * 1024 + 1))
    (vault / "Link.md").symlink_to(tmp_path / "nowhere")
    source = SourceConfig("vault", "markdown", str(vault), never=("private",))
    Library(sidecar_path).index(source, semantic=False)
    return lambda title: Library(sidecar_path).why(title, "roof")


@pytest.mark.parametrize(
    ("title", "says"),
    [
        ("Secret plan", "begin with a dot"),
        ("Package", "node_modules is a folder of software"),
        ("Photo.docx", "doesn't read .docx files"),
        ("Photo", "doesn't read .docx files"),
        ("Huge", "it was skipped: "),
        ("Link.md", "it was skipped: a link that leads nowhere"),
        ("Diary", "has the tag private, whose notes are never indexed"),
        ("Roof", "“Roof” is result 1."),
        ("Elsewhere", "None of the sources has a note or a file like it"),
    ],
)
def test_a_file_that_is_no_note_gets_its_reason(in_vault, title, says):
    assert says in in_vault(title)


def test_a_path_names_a_note(in_vault, tmp_path):
    assert in_vault(str(tmp_path / "vault" / "Roof.md")).endswith("is result 1.")


def test_a_copy_in_another_source_is_shown_instead(in_vault, tmp_path, sidecar_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "Roof.md").write_text("# Roof\n\nTiles.")
    Library(sidecar_path).index(tmp_path / "other")
    for key in ("vault:Roof.md", "other:Roof.md"):
        assert "is result 1" in Library(sidecar_path).why(key, "roof")


# Who may learn it


@pytest.mark.asyncio
async def test_a_page_with_only_weak_matches_asks_once_where_a_note_is(index_notes):
    datasette = Datasette([str(index_notes(NOTES))])
    page = (await datasette.client.get("/-/bear-search?q=xylophone")).text
    assert "No results for" in page
    assert "Closest notes" in page
    assert page.count("Why isn't my note here?") == 1


@pytest.mark.asyncio
async def test_the_page_says_why_and_looks_into_no_source_for_others(index_notes):
    datasette = Datasette([str(index_notes(NOTES))])
    url = "/-/bear-search?q=roof&tag=recipes"
    page = (await datasette.client.get(url)).text
    assert "Why isn't my note here?" in page
    [link] = {*re.findall(r'href="([^"]*[?&;]why=[^"]*)"', page)}
    assert "Find out why" in (await datasette.client.get(html.unescape(link))).text
    page = (await datasette.client.get(f"{url}&why=Attic")).text
    assert "“Attic” is indexed, but left out by “#recipes”." in page
    page = (await datasette.client.get(f"{url}&why=Old+plan")).text
    assert "its trash, which" not in page
    assert "No indexed note is called “Old plan”" in page
    page = (await datasette.client.get(f"{url}&why=%3Cb%3Ehm")).text
    assert "<b>hm" not in page


def ask_agent(library, title):
    arguments = {"query": "roof", "limit": 2, "found_only": False, "why": title}
    return tools.call(library, "search_notes", arguments).data["notices"][0]


def test_an_agent_is_told_why(index_notes):
    path = index_notes(NOTES)
    assert "“Lentil soup” is below the threshold" in ask_agent(AgentLibrary(path), "Lentil soup")
    assert "No indexed note is called" in ask_agent(AgentLibrary(path), "Old plan")
    own = AgentLibrary(path)
    own.reads_sources = True
    assert "in its trash" in ask_agent(own, "Old plan")


def test_hidden_notes_stay_hidden(index_notes):
    library = AgentLibrary(index_notes(NOTES), hidden_tags=("recipes",))
    library.reads_sources = True
    told = ask_agent(library, "Lentil soup")
    assert told.replace("Lentil soup", "") == ask_agent(library, "Nothing").replace("Nothing", "")
