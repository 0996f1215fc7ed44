"""Org files in folders and in Logseq graphs: ``sources/folders/org.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import Unchanged
from datasette_bear_search.sources.folders import org
from datasette_bear_search.sources.folders.logseq import LogseqGraph
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.formats.dates import parse_timestamp
from datasette_bear_search.sources.registry import kind_of
from tests.support.bear_libraries import tag_names
from tests.support.note_folders import graph, link_keys, write_files

SHED_ID, ROOF_ID = "8ef1961b-a71d-495e-b077-fe7dba9d5d63", "0b4d6ca2-8a2e-4e4f-a7c5-8f4f4c2f8a10"
SHED = f""":PROPERTIES:
:ID:       {SHED_ID}
:ROAM_ALIASES: "Garden house"
:END:
#+title: The /shed/
#+filetags: :garden:wood work:
#+date: [2024-05-01 Wed 09:30]
#+STARTUP: overview
#+TODO: TODO PLAN(p) | DONE(d) DROPPED(x)
# a comment

* TODO [#A] Buy beams   :shop:wood:
DEADLINE: <2024-05-08 Wed>
:LOGBOOK:
CLOCK: [2024-05-01 Wed 09:30]--[2024-05-01 Wed 10:00] =>  0:30
- State "TODO"       from "PLAN"  [2024-05-01 Wed]
:End:
- [ ] oak
- [X] larch
** DROPPED Paint it
* Notes on =snake_case= and ~#no_tag~, nor #this
:PROPERTIES:
:URL: https://a.example
:END:
See [[id:{ROOF_ID}][the roof]], [[file:../plans/floor plan.org::*Door][plan]], [[https://b.example][b]],
[[*Buy beams]], [[./ridge.png]].
#+begin_quote
A house
#+end_quote
#+begin_src python :results output
* no headline
#+title: no title
#+end_src
#+begin_export html
<b>not read</b>
#+end_export
| a | b |
|---+---|
| 1 | 2 |
"""


def read(root: Path, files: dict[str, str], **options: object) -> dict[str, Note]:
    source = MarkdownFolder(write_files(root, files), "notes", **options)
    return {note.key: note for note in source.read()}


def test_an_org_file_is_a_note(tmp_path: Path) -> None:
    files = {"garden/shed.org": SHED, "plans/floor plan.org": "* Door\n"}
    files["roof.org"] = f"* Roof\n** Ridge\n:PROPERTIES:\n:id: {ROOF_ID}\n:END:\n"
    assert kind_of(str(write_files(tmp_path, files))) == "markdown"
    note = read(tmp_path, files)["garden/shed.org"]
    assert (note.title, note.created) == ("The /shed/", parse_timestamp("2024-05-01 09:30"))
    assert tag_names(note) == ["garden", "shop", "wood", "work"]
    assert (note.todos_open, note.todos_done) == (2, 2)
    assert link_keys(note) == ["roof.org", "plans/floor plan.org"]
    assert (
        note.body
        == f"""- roam_aliases: "Garden house"

# TODO [#A] Buy beams

DEADLINE: <2024-05-08 Wed>
- [ ] oak
- [X] larch

## DROPPED Paint it

# Notes on `snake_case` and `#no_tag`, nor #this

See [[id:{ROOF_ID}|the roof]], [plan](<../plans/floor plan.org>), [b](https://b.example),
Buy beams, ![](<./ridge.png>).
> A house
~~~python
* no headline
#+title: no title
~~~
| a | b |
|---|---|
| 1 | 2 |"""
    )
    assert (note.has_code, note.has_image) == (True, True)


@pytest.mark.parametrize(
    ("text", "title", "words"),
    [
        ("", "a", ""),
        ("* Heading\nText", "a", "# Heading\n\nText"),
        ("*bold* and **\n*", "a", "*bold* and **\n*"),
        ("#+TITLE: [[https://x.example][X]]", "[X](https://x.example)", ""),
        (":PROPERTIES:\nnot closed\n* A", "a", "not closed\n\n# A"),
        ("#+begin_src\nnot closed", "a", "~~~\nnot closed"),
        ("#+caption: A ridge\n[[file:a.png]]", "a", "A ridge\n![](<a.png>)"),
        ("See [[id:1][the\n  roof]] too", "a", "See [[id:1|the roof]] too"),
        ("[[Raised beds]] [[roam:Soil][earth]]", "a", "[[Raised beds]] [[Soil|earth]]"),
    ],
)
def test_hand_written_org_files_are_read(text: str, title: str, words: str) -> None:
    parsed = org.parse(text, "a")
    assert (parsed.title, parsed.body) == (title, words)


@pytest.mark.parametrize(
    ("line", "todos"),
    [
        ("* TODO a", (1, 0)),
        ("* CANCELLED a", (0, 1)),
        ("* Todo a", (0, 0)),
        ("#+SEQ_TODO: ASK BUY | HAVE\n* ASK a\n* HAVE b", (1, 1)),
        ("#+TODO: ASK HAVE\n* ASK a\n* HAVE b", (1, 1)),
    ],
)
def test_headlines_are_todos_by_their_first_word(line: str, todos: tuple[int, int]) -> None:
    parsed = org.parse(line, "a")
    assert (parsed.todos_open, parsed.todos_done) == todos


def test_a_link_by_id_is_found_when_its_note_comes_or_changes(tmp_path: Path) -> None:
    files = {"a.org": f"[[id:{ROOF_ID}]]", "b.org": "x", "c.md": "x"}
    source = MarkdownFolder(write_files(tmp_path, files), "notes")
    known = {note.key: note.stamp or "" for note in source.read()}
    assert {type(item) for item in source.read_changed(known)} == {Unchanged}
    write_files(tmp_path, {"b.org": f":PROPERTIES:\n:ID: {ROOF_ID}\n:END:\nRoof"})
    again = {item.key: item for item in source.read_changed(known) if isinstance(item, Note)}
    assert link_keys(again["a.org"]) == ["b.org"]
    assert again.keys() == {"a.org", "b.org"}


def test_logseqs_properties_of_an_empty_headline_are_not_tags() -> None:
    parsed = org.parse("**** :PROPERTIES:\n:id: 60acdeba\n:END:\nTimer", "a")
    assert (parsed.tags, parsed.body) == ([], "#### \n\nTimer")


def test_a_logseq_graph_may_be_written_in_org(tmp_path: Path) -> None:
    pages = {
        "pages/Roof.org": "#+tags: x\n* TODO call [[Soup]] #tea\n",
        "pages/Soup.org": "",
        "journals/2024_05_01.org": "* see [[Roof]]",
    }
    notes = {note.title: note for note in LogseqGraph(graph(tmp_path, pages)).read()}
    assert notes.keys() == {"Roof", "Soup", "May 1st, 2024"}
    assert (link_keys(notes["Roof"]), notes["Roof"].todos_open) == (["pages/Soup.org"], 1)
    assert tag_names(notes["Roof"]) == ["tea"]
    assert notes["May 1st, 2024"].created == "2024-05-01T12:00:00Z"


def test_links_find_a_file_by_its_title_and_by_org_roams_aliases(tmp_path: Path) -> None:
    drawer = ':PROPERTIES:\n:ID: 1\n:ROAM_ALIASES: "Love apple" Pomodoro\n:END:\n'
    write_files(
        tmp_path,
        {
            "20240105-fruit.org": f"{drawer}#+TITLE: Tomatoes\n#+title: of May\nRed.",
            "a.org": "[[roam:Tomatoes of May]]",
            "b.md": "[[Love apple]]",
            "c.md": "[[pomodoro|it]] and [[Love]]",
        },
    )
    notes = {note.key: note for note in MarkdownFolder(tmp_path).read()}
    assert notes["20240105-fruit.org"].title == "Tomatoes of May"
    for key in ("a.org", "b.md", "c.md"):
        assert link_keys(notes[key]) == ["20240105-fruit.org"], key
