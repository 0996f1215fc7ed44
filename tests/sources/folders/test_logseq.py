"""How each file in a Logseq graph is read."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.folders.logseq import LogseqGraph, formatted
from datasette_bear_search.sources.registry import kind_of
from tests.support.note_folders import graph, link_keys, logseq, read, tag_names, write_files


def test_a_folder_with_logseqs_settings_and_pages_is_a_graph(tmp_path: Path) -> None:
    assert kind_of(str(graph(tmp_path / "graph", {"pages/a.md": ""}))) == "logseq"
    assert kind_of(str(write_files(tmp_path / "folder", {"logseq/a.md": ""}))) == "markdown"


def test_a_page_has_its_title_tags_dates_and_text(tmp_path: Path) -> None:
    graph(
        tmp_path,
        {
            "pages/Garden.md": """title:: The garden
tags:: home, [[raised beds]], #plants
alias:: balcony, yard
created-at:: 1714555800000
icon:: x

- Two by four feet, see [[Beans]]
  id:: 6630a1b2-0000-4000-8000-000000000000
  collapsed:: true
\t- TODO buy felt #roof
\t- DOING dig #[[spring work]]
\t- DONE measure
\t  :LOGBOOK:
\t  CLOCK: [2024-05-01 Wed 09:30:00]--[2024-05-01 Wed 09:40:00] =>  00:10:00
\t  :END:
- ![bed](../assets/bed.png)
- ((6630a1b2-0000-4000-8000-000000000000))
- price:: 40
""",
            "pages/Beans.md": "",
        },
    )
    note = read(LogseqGraph, tmp_path)["pages/Garden.md"]
    assert note.title == "The garden"
    assert note.body == (
        "- alias: balcony, yard\n\n"
        "- Two by four feet, see [[Beans]]\n\t- TODO buy felt #roof\n"
        "\t- DOING dig #[[spring work]]\n\t- DONE measure\n"
        "- ![bed](../assets/bed.png)\n- \n- price:: 40\n"
    )
    assert tag_names(note) == ["home", "plants", "raised beds", "roof", "spring work"]
    assert link_keys(note) == ["pages/Beans.md"]
    assert (note.todos_open, note.todos_done, note.has_image) == (2, 1, True)
    assert note.created == "2024-05-01T09:30:00Z"


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("pages/Garden.md", "Garden"),
        ("pages/home___garden___beds.md", "home/garden/beds"),
        ("pages/home%2Fgarden.md", "home/garden"),
        ("pages/What now%3F.md", "What now?"),
        ("journals/2024_05_01.md", "May 1st, 2024"),
        ("journals/2024-05-22.md", "May 22nd, 2024"),
        ("journals/20240511.md", "May 11th, 2024"),
        ("journals/2024_13_01.md", "2024_13_01"),
        ("pages/2024_05_01.md", "2024_05_01"),
    ],
)
def test_a_page_is_called_as_logseq_calls_it(tmp_path: Path, path: str, title: str) -> None:
    assert logseq(tmp_path, "- text", path).title == title


def test_a_journal_was_created_on_its_day(tmp_path: Path) -> None:
    assert logseq(tmp_path, "- x", "journals/2024_05_01.md").created == "2024-05-01T12:00:00Z"


@pytest.mark.parametrize(
    ("pattern", "title"),
    [
        ("MMM do, yyyy", "May 1st, 2024"),
        ("yyyy-MM-dd", "2024-05-01"),
        ("EEEE, dd.MM.yy", "Wednesday, 01.05.24"),
        ("E d MMMM", "Wed 1 May"),
        ("yyyy'W'M", "2024W5"),
    ],
)
def test_journals_are_called_by_the_pattern_in_the_settings(tmp_path, pattern, title) -> None:
    graph(
        tmp_path,
        {
            "logseq/config.edn": '{;; :journal/page-title-format "no"\n'
            f' :journal/page-title-format "{pattern}"}}',
            "journals/2024_05_01.md": "- woke",
            "pages/a.md": f"- [[{title}]]",
        },
    )
    notes = read(LogseqGraph, tmp_path)
    assert notes["journals/2024_05_01.md"].title == title
    assert link_keys(notes["pages/a.md"]) == ["journals/2024_05_01.md"]


@pytest.mark.parametrize(
    ("day", "written"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"),
                         (21, "21st"), (22, "22nd"), (23, "23rd"), (31, "31st")],
)  # fmt: skip
def test_days_are_numbered_as_in_english(day: int, written: str) -> None:
    assert formatted(date(2024, 5, day), "do") == written


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[[home/garden]]", "pages/home___garden.md"),
        ("[[Home/Garden]]", "pages/home___garden.md"),
        ("[[May 1st, 2024]]", "journals/2024_05_01.md"),
        ("[the day]([[May 1st, 2024]])", "journals/2024_05_01.md"),
        ("#Beans", "pages/Beans.md"),
        ("#[[home/garden]]", "pages/home___garden.md"),
        ("[x](../pages/Beans.md)", "pages/Beans.md"),
        ("[[garden]]", None),
        ("[[nothing]]", None),
    ],
)
def test_links_name_whole_pages(tmp_path: Path, link: str, target: str | None) -> None:
    others = ["pages/home___garden.md", "journals/2024_05_01.md", "pages/Beans.md"]
    graph(tmp_path, {**dict.fromkeys(others, "- x"), "pages/Page.md": f"- {link}"})
    assert link_keys(read(LogseqGraph, tmp_path)["pages/Page.md"]) == ([target] if target else [])


@pytest.mark.parametrize("link", ["[[How To]]", "[[balcony garden]]", "#yard", "[[The Garden]]"])
def test_an_alias_or_title_is_a_page_for_links(tmp_path: Path, link: str) -> None:
    page = "title:: The garden\nalias:: How To, [[balcony garden]] [[yard]]\n\n- text"
    graph(tmp_path, {"pages/Garden.md": page, "pages/Page.md": f"- {link}"})
    assert link_keys(read(LogseqGraph, tmp_path)["pages/Page.md"]) == ["pages/Garden.md"]


def test_a_page_is_read_again_when_a_name_that_it_links_to_changes(tmp_path: Path) -> None:
    graph(tmp_path, {"pages/Garden.md": "alias:: a, b", "pages/Page.md": "- [[b]]"})
    graph(tmp_path, {"pages/Other.md": "- [[c]] and [[d/e]]", "pages/Third.md": "- no link"})

    def changed() -> dict[str, list[str]]:
        read_now = LogseqGraph(tmp_path, "notes").read_changed(known)
        notes = {note.key: note for note in read_now if isinstance(note, Note)}
        known.update({key: note.stamp for key, note in notes.items()})
        return {key[6:-3]: [link[6:-3] for link in link_keys(notes[key])] for key in notes}

    known: dict[str, str] = {}
    assert changed() == {"Garden": [], "Other": [], "Page": ["Garden"], "Third": []}
    assert changed() == {}
    graph(tmp_path, {"pages/Garden.md": "alias:: a, d/e"})
    assert changed() == {"Garden": [], "Other": ["Garden"], "Page": []}
    graph(tmp_path, {"pages/New.md": "alias:: c"})
    assert changed() == {"New": [], "Other": ["New", "Garden"]}
    (tmp_path / "pages/New.md").unlink()
    known.pop("pages/New.md")
    assert changed() == {}


@pytest.mark.parametrize("page", ["tags:: {}", "---\ntitle: x\ntags: {}\n---\n- y"])
def test_tags_of_a_page_are_pages_and_links(tmp_path: Path, page: str) -> None:
    page = page.format("[[Diataxis/How To]] [[b]], c d, #e #f, g")
    graph(tmp_path, {"pages/Page.md": page, "pages/Diataxis___How To.md": "- x"})
    note = read(LogseqGraph, tmp_path)["pages/Page.md"]
    assert tag_names(note) == ["Diataxis/How To", "b", "c d", "e", "f", "g"]
    assert link_keys(note) == ["pages/Diataxis___How To.md"]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("- TODO a\n- LATER b\n- NOW c\n- WAITING d\n- DONE e\n- CANCELED f", (4, 1)),
        ("- ## TODO a heading\n- [ ] a box", (2, 0)),
        ("- what TODO with it\n- TODOS\nTODO", (0, 0)),
        ("- ```\n  - TODO code\n  ```", (0, 0)),
    ],
)
def test_tasks_are_counted(tmp_path: Path, text: str, counts: tuple[int, int]) -> None:
    note = logseq(tmp_path, text)
    assert (note.todos_open, note.todos_done) == counts


def test_properties_that_begin_a_page_with_a_bullet_are_those_of_the_page(tmp_path: Path) -> None:
    note = logseq(tmp_path, "- title:: Tea\n  tags:: drinks\n- first block")
    assert (note.title, tag_names(note), note.body) == ("Tea", ["drinks"], "- first block")


def test_front_matter_is_read_in_a_graph_too(tmp_path: Path) -> None:
    note = logseq(tmp_path, "---\ntitle: Tea\n---\n\n- first block")
    assert (note.title, note.body) == ("Tea", "- first block")


def test_backups_and_other_files_are_not_pages(tmp_path: Path) -> None:
    graph(
        tmp_path,
        {
            "logseq/bak/pages/a/old.md": "",
            "assets/readme.md": "",
            "pages/a.md": "- x",
            "other.md": "- y",
        },
    )
    assert list(read(LogseqGraph, tmp_path)) == ["other.md", "pages/a.md"]


def test_pages_that_logseq_hides_are_not_read(tmp_path: Path) -> None:
    graph(
        tmp_path,
        {
            "logseq/config.edn": '{:hidden ["/archive" "pages/secret.md"]}',
            "archive/a.md": "",
            "pages/secret.md": "",
            "pages/b.md": "",
        },
    )
    assert list(read(LogseqGraph, tmp_path)) == ["pages/b.md"]


@pytest.mark.parametrize("name", ["collapsed", "id", "logseq.order-list-type"])
def test_properties_for_logseq_are_left_out_wherever_they_stand(tmp_path: Path, name: str) -> None:
    text = f"- a\n  {name}:: x\n\t- {name}:: y\n\t  b"
    assert logseq(tmp_path, text).body == "- a\n\t-\n\t  b"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("- 称为^^相位^^ of x", "- 称为==相位== of x"),
        ("- a\n  #+BEGIN_TIP\n  b\n  #+END_TIP\n- c", "- a\n  b\n- c"),
        ("- #+BEGIN_QUOTE\n  b\n  #+END_QUOTE", "-\n  b\n"),
        ("- #+BEGIN_SRC sh\n  b\n  #+END_SRC", None),
        ("- a ((64ab9216-a97a-47eb-8558-2a916670f99d)) b", "- a  b"),
        ("- {{embed ((64ab9216-a97a-47eb-8558-2a916670f99d)) }}", "- "),
        ("- [a](((64ab9216-a97a-47eb-8558-2a916670f99d))) b", "- a b"),
        ("- see [the beds]([[Raised beds]])", "- see [[Raised beds|the beds]]"),
        ("- {{query (and [[garden]] (task TODO))}} b\n- {{video a}}", "-  b\n- {{video a}}"),
        ("- a\n  #+BEGIN_QUERY\n  {:query [:find b]}\n  #+END_QUERY\n- c", "- a\n- c"),
        (
            "- ```\n  id:: {{query a}} ^^b^^\n  ```\n- ^^c^^",
            "- ```\n  id:: {{query a}} ^^b^^\n  ```\n- ==c==",
        ),
        ("- ((a)) and 2^^3", None),
    ],
)
def test_marks_that_only_logseq_understands_are_left_out(
    tmp_path: Path, written: str, read: str | None
) -> None:
    assert logseq(tmp_path, written).body == (written if read is None else read)


def test_a_page_opens_in_logseq(tmp_path: Path) -> None:
    note = logseq(tmp_path / "My graph", "- x", "pages/home___garden.md")
    assert note.url == "logseq://graph/My%20graph?page=home%2Fgarden"
    assert logseq(tmp_path / "copy", "- x", graph="Home").url == "logseq://graph/Home?page=Page"
    assert logseq(tmp_path / "titled", "title:: Main Page\n\n- x").url.endswith("?page=Main%20Page")
