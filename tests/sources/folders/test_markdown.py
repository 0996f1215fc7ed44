"""How each file in a folder of Markdown, plain text and HTML is read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from datasette_bear_search.notes import LONGEST_TITLE
from datasette_bear_search.sources.files import archive
from datasette_bear_search.sources.folders import markdown as markdown_folder
from datasette_bear_search.sources.folders.markdown import MarkdownFolder
from datasette_bear_search.sources.formats.documents import parse_html
from datasette_bear_search.sources.registry import kind_of
from datasette_bear_search.text.markdown import plain_text
from tests.support.exports import folder_of
from tests.support.note_folders import (
    link_keys,
    markdown,
    read,
    set_modified,
    tag_names,
    write_files,
)

# Titles


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# Tomatoes\n\nWater them daily.\n", "Tomatoes", "Water them daily.\n"),
        ("\n\n## Tomatoes ##\nWater", "Tomatoes", "Water"),
        ("Tomatoes\n========\n\nWater", "Tomatoes", "Water"),
        ("# `git rebase` for *everybody*\nText", "git rebase for everybody", "Text"),
        ("# C#\nText", "C#", "Text"),
        ("# A* search\nText", "A* search", "Text"),
        ("# *args and **kwargs\nText", "*args and **kwargs", "Text"),
        ("# ***both***, `a_b_ c` and a_b_ *c*\nText", "both, a_b_ c and a_b_ c", "Text"),
        ("# Law of numbers {#law-of-numbers}\nText", "Law of numbers", "Text"),
        ("# Law {#law .unnumbered key=val} #\nText", "Law", "Text"),
        ("Law {.unnumbered}\n===\nText", "Law", "Text"),
        ("# A set {1, 2}\nText", "A set {1, 2}", "Text"),
        ("A paragraph.\n\n# Tomatoes\n\nText", "Tomatoes", "A paragraph.\n\n# Tomatoes\n\nText"),
        ("```sh\n# no title\n```\n", "note", "```sh\n# no title\n```\n"),
        ("A paragraph.\n\n## A section\n", "note", "A paragraph.\n\n## A section\n"),
        ("#tag\nText", "note", "#tag\nText"),
        ("#\nText", "note", "#\nText"),
        ("", "note", ""),
        ("[![b](https://a.org/b.svg)](https://a.org)\n\n# Tea\nText", "Tea", None),
        (
            '<p align="center"><img src="x.png"></p>\n<h1 align="center"><b>Tea</b></h1>',
            *("Tea", None),
        ),
        ("A paragraph.\n\n# Setup\n\nText\n\n# Use\n", "note", None),
        (f"{'A chapter of words. ' * 20}\n\n# Resources\n", "note", None),
        ("---\ntitle: Tea\n---\n# Tea\nText", "Tea", "Text"),
        ("---\ntitle: Tea\n---\n# History\nText", "Tea", "# History\nText"),
        ("---\ntitle: ''\n---\n# Tea\nText", "Tea", "Text"),
    ],
)
def test_the_title_is_that_of_the_front_matter_or_the_heading_or_the_file(
    tmp_path: Path, text: str, title: str, body: str | None
) -> None:
    note = markdown(tmp_path, text)
    assert (note.title, note.body) == (title, text if body is None else body)


@pytest.mark.parametrize(
    ("name", "heading", "title"),
    [
        ("boj 24042", "나의 풀이", "boj 24042"),  # a section's heading; the name is nowhere else
        ("Spring webflux", "Advantages", "Spring webflux"),
        ("최소 신장 트리", "신장 트리", "최소 신장 트리"),
        ("WAS", "WAS (Web Application Server)", "WAS (Web Application Server)"),
        ("3. Idees de plats", "Idées de plats", "Idées de plats"),
        ("10_19", "Pure monopoly", "Pure monopoly"),
        ("use-a-space", "Keep a command out of the history", "Keep a command out of the history"),
        ("CONTRIBUTING", "How to help", "How to help"),
        ("README", "Recipes", "Recipes"),
    ],
)
def test_a_file_is_called_by_its_name_if_that_says_more_than_its_heading(
    tmp_path: Path, name: str, heading: str, title: str
) -> None:
    note = markdown(tmp_path, f"## {heading}\n\nText\n", f"{name}.md")
    assert note.title == title
    assert (heading in note.body) is (title == name)
    below = markdown(tmp_path, f"Some words.\n\n# {heading}\n\nText\n", f"{name}.md")
    assert below.title == title


def test_a_readme_without_a_heading_is_called_by_its_folder(tmp_path: Path) -> None:
    assert markdown(tmp_path, "Text", "docs/1064/README.md").title == "1064"
    assert markdown(tmp_path / "root", "Text", "README.md").title == "README"


def test_a_title_that_is_a_paragraph_is_shortened_and_stays_whole_in_the_body(tmp_path: Path):
    line = ("word " * 100).strip()
    note = markdown(tmp_path, f"# {line} {{#id}}\nText")
    assert len(note.title) <= LONGEST_TITLE
    assert note.body == f"{line}\n\nText"


def test_a_file_name_is_a_title_as_it_is_typed(tmp_path: Path) -> None:
    assert markdown(tmp_path, "Text", "cafe\u0301 notes.md").title == "café notes"


# Text


def test_windows_newlines_are_newlines(tmp_path: Path) -> None:
    note = markdown(
        tmp_path, b"---\r\ntags: tea\r\n---\r\n# Tea\r\n\r\n- [ ] buy\r\n- [x] drink\r\n"
    )
    assert (note.title, note.body) == ("Tea", "- [ ] buy\n- [x] drink\n")
    assert (tag_names(note), note.todos_open, note.todos_done) == (["tea"], 1, 1)


def test_latin_1_is_read_as_such_and_other_encodings_can_be_named(tmp_path: Path) -> None:
    assert markdown(tmp_path, "# Café\nCrème brûlée".encode("latin-1")).body == "Crème brûlée"
    polish = "Żółta łódź płynęła przez jezioro"
    assert markdown(tmp_path, polish.encode("cp1250"), encoding="cp1250").body == polish


# Dates


def test_a_note_was_modified_when_its_file_was(tmp_path: Path) -> None:
    write_files(tmp_path, {"note.md": "Text"})
    set_modified(tmp_path / "note.md", 1714555800)
    assert read(MarkdownFolder, tmp_path)["note.md"].modified == "2024-05-01T09:30:00Z"


def test_a_note_was_created_when_its_file_was_born_or_earlier() -> None:
    from datasette_bear_search.sources.folders import _created

    copy = archive.File("a.md", "/a.md", "", 1, modified=1714555800, created=1800000000)
    assert _created(copy) == "2024-05-01T09:30:00Z"
    assert _created(copy._replace(modified=1900000000)) == "2027-01-15T08:00:00Z"
    assert _created(copy._replace(created=None)) is None


@pytest.mark.parametrize(
    ("path", "created"),
    [
        ("2024-05-01.md", "2024-05-01T12:00:00Z"),
        ("2024-05-01 Standup.md", "2024-05-01T12:00:00Z"),
        ("posts/2024-05-01-tea.md", "2024-05-01T12:00:00Z"),
        ("2024-05-01-tea.html", "2024-05-01T12:00:00Z"),
        ("2024-05-01_tea.txt", "2024-05-01T12:00:00Z"),
    ],
)
def test_a_day_before_a_files_name_is_when_it_was_created(
    tmp_path: Path, path: str, created: str
) -> None:
    assert markdown(tmp_path, "Text", path).created == created


@pytest.mark.parametrize("path", ["2024-05-011.md", "2024-13-01 x.md", "on 2024-05-01.md"])
def test_other_numbers_in_a_files_name_are_not_days(tmp_path: Path, path: str) -> None:
    assert markdown(tmp_path, "Text", path).created != "2024-05-01T12:00:00Z"


# Tags


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#garden and #home/balcony.", ["garden", "home/balcony"]),
        ("#Schön #日本 #a_b-c #2024goals", ["2024goals", "Schön", "a_b-c", "日本"]),
        ("#1 #123/45 C# a#b https://example.com/#part (#no) [x](#part) ##no # no", []),
        ("`#no` and ``#no``\n```css\n#no\n```\n~~~\n#no\n~~~\n#yes", ["yes"]),
        ("#garden #Garden #garden/", ["garden"]),
        ("> #quoted\n- #listed\n| #cell |", ["cell", "listed", "quoted"]),
        ("```\n#never closed", []),
        ("坑 #1） #666666（辅助文字） #2：bind #标签。", ["标签"]),
        ("a { color: #ddd; border: 1px solid #abc } #ff394d #facade #dad", ["dad", "facade"]),
        ("<!-- #no -->\n%% #no %%\n$$\n#no\n$$\n#yes <!-- #open", ["open", "yes"]),
    ],
)
def test_words_with_a_hash_are_tags(tmp_path: Path, text: str, tags: list[str]) -> None:
    assert tag_names(markdown(tmp_path, f"# Title\n{text}\n")) == tags


def test_a_title_with_a_tag_and_a_link_has_both(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.md": "# Tea #drinks, as [[b]]\n\nGreen.", "b.md": "Black"})
    note = read(MarkdownFolder, tmp_path)["a.md"]
    assert (tag_names(note), link_keys(note)) == (["drinks"], ["b.md"])
    assert (note.title, note.body) == ("Tea #drinks, as b", "Green.")


def test_the_folder_of_a_single_note_is_not_a_tag(tmp_path: Path) -> None:
    notion = "Garden 0123456789abcdef0123456789abcdef"
    write_files(
        tmp_path, {"1064/README.md": "", "zet/1065/index.md": "", f"{notion}/Beds.md": "Text"}
    )
    notes = read(MarkdownFolder, tmp_path)
    assert [tag_names(note) for note in notes.values()] == [[], ["Garden"], ["zet"]]


def test_an_option_keeps_words_with_a_hash_from_being_tags(tmp_path: Path) -> None:
    note = markdown(tmp_path, "---\ntags: tea\n---\n#define #include", inline_tags=False)
    assert tag_names(note) == ["tea"]


def test_the_folder_of_a_note_is_a_tag_unless_an_option_says_no(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"README.md": "", "python/decorators.md": "", "web/css/grid.md": "#web/css"}
    )
    notes = read(MarkdownFolder, tmp_path)
    assert [tag_names(note) for note in notes.values()] == [[], ["python"], ["web/css"]]
    assert not any(
        tag_names(note)
        for note in read(MarkdownFolder, tmp_path, folder_tags=False, inline_tags=False).values()
    )


# To-dos, pictures, files, code


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("- [ ] a\n* [x] b\n+ [X] c\n  1. [ ] d\n2) [x] e", (2, 3)),
        ("> - [ ] quoted\n- [/] half done\n- [-] not any more", (2, 0)),
        ("[ ] no item\n- [y] a word\n- [ ]no blank\n- [x](link.md)", (0, 0)),
        ("```\n- [ ] code\n```", (0, 0)),
        ("<!--\n- [ ] hidden\n-->\n- [x] seen", (0, 1)),
    ],
)
def test_to_dos_are_counted(tmp_path: Path, text: str, counts: tuple[int, int]) -> None:
    note = markdown(tmp_path, text)
    assert (note.todos_open, note.todos_done) == counts


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("![roof](roof.png)", "image"),
        ("![](<my roof.JPG>)", "image"),
        ("![](https://example.com/roof)", "image"),
        ("![[roof.webp]]", "image"),
        ("[the roof](roof.png)", "image"),
        ('<img src="roof.png">', "image"),
        ("[the bill](bill.pdf)", "file"),
        ("![[Bill 2024.pdf#page=3]]", "file"),
        ("```\ncode\n```", "code"),
        ("- ~~~python\n  code\n  ~~~", "code"),
        (
            "`code`, [page](https://a.org/a.pdf), [note](note2.md), `![](x.png)`, [[Node.js]]",
            "",
        ),
    ],
)
def test_pictures_files_and_code_are_noticed(tmp_path: Path, text: str, has: str) -> None:
    note = markdown(tmp_path, text)
    found = {"image": note.has_image, "file": note.has_file, "code": note.has_code}
    assert [name for name, is_there in found.items() if is_there] == ([has] if has else [])


# Links


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[x](beans.md)", "garden/beans.md"),
        ("[x](./beans.md)", "garden/beans.md"),
        ("[x](../roof.md#costs)", "roof.md"),
        ("[x](/roof.md)", "roof.md"),
        ("[x](../work/My%20plan.md)", "work/My plan.md"),
        ("[x](<../work/My plan.md> 'My plan')", "work/My plan.md"),
        ("[x](../work/My plan)", "work/My plan.md"),
        ("[x](../work/My plan.md 'My plan')", "work/My plan.md"),
        ('[x](beans.md "the beans")', "garden/beans.md"),
        ("[x](beans)", "garden/beans.md"),
        ("[x](BEANS.MD?raw=1)", "garden/beans.md"),
        ("[x][1]\n\n[1]: ../roof.md", "roof.md"),
        ("[how the\n  beans grew](beans.md)", "garden/beans.md"),
        ("[x](../roof%20%28old%29.md)", "roof (old).md"),
        ("[x](../page.html)", "page.html"),
        ("[[roof]]", "roof.md"),
        ("[[work/My plan|the plan]]", "work/My plan.md"),
        ("[x](tomatoes.md)", None),
        ("[x](#costs)", None),
        ("[x](nothing.md)", None),
        ("[x](../../roof.md)", None),
        ("[x](other/beans.md)", None),
        ("[x](https://example.com/roof.md)", None),
        ("[x](mailto:roof.md)", None),
        ("`[x](beans.md)`", None),
        ("[[202401051000]]", "work/202401051000 Beans.md"),
        ("[[20240106]]", None),
        ("[[2024010510]]", None),
    ],
)
def test_links_between_notes_are_links(tmp_path: Path, link: str, target: str | None) -> None:
    others = ["garden/beans.md", "roof.md", "work/My plan.md", "roof (old).md", "page.html"]
    others += ["work/202401051000 Beans.md", "work/20240106 Beans.md"]
    write_files(tmp_path, {**dict.fromkeys(others, "Text"), "garden/tomatoes.md": link})
    assert link_keys(read(MarkdownFolder, tmp_path)["garden/tomatoes.md"]) == (
        [target] if target else []
    )


@pytest.mark.parametrize(
    ("link", "named"),
    [
        ("[The roof](work/b.md#costs)", "work/b.md"),
        ("[[B#Costs|the roof]]", "B"),
        ("[x](work/./b.md)", "work/./b.md"),
    ],
)
def test_a_link_says_what_it_calls_the_other_note(tmp_path: Path, link: str, named: str) -> None:
    write_files(tmp_path, {"a.md": f"{link} and {link}", "work/b.md": ""})
    [found] = read(MarkdownFolder, tmp_path)["a.md"].links
    assert (found.key, found.title) == ("work/b.md", named)


@pytest.mark.parametrize("written", ["Our roof|plan.roof", "dendron://home/plan.roof#tiles"])
@pytest.mark.parametrize("date", ["1660920582709", "'1660920582709'"])
def test_in_dendron_the_label_comes_first(tmp_path: Path, written: str, date: str) -> None:
    fields = f"id: a1\ntitle: Plan\ndesc: ''\nupdated: {date}\ncreated: 1595003088839\n"
    write_files(tmp_path, {"plan.md": f"---\n{fields}---\n[[{written}]]", "plan.roof.md": "Tiles"})
    plan = read(MarkdownFolder, tmp_path)["plan.md"]
    assert link_keys(plan) == ["plan.roof.md"]
    assert (plan.created[:10], plan.modified[:10]) == ("2020-07-17", "2022-08-19")
    assert "[[plan.roof" in plan.body


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[x](../1740)", "docs/1740/README.md"),
        ("[x](../1740/)", "docs/1740/README.md"),
        ("[x](/docs/1740/)", "docs/1740/README.md"),
        ("[x](/1740/)", "docs/1740/README.md"),
        ("[x](/posts/tea/)", "content/posts/tea.md"),
        ("[x](../../content/bundle/)", "content/bundle/index.md"),
        ("[x](../..)", "README.md"),
        ('[x]({{< relref "tea.md" >}})', "content/posts/tea.md"),
        ('[x]({{<ref "/posts/tea.md#part">}})', "content/posts/tea.md"),
        ("[x]({% post_url 2016-07-26-beds %})", "_posts/2016-07-26-beds.md"),
        ("[x]({% link _posts/2016-07-26-beds.md %})", "_posts/2016-07-26-beds.md"),
        ("[[guide]]", "content/guide.md"),
    ],
)
def test_a_link_to_a_folder_means_its_readme_or_index(
    tmp_path: Path, link: str, target: str
) -> None:
    others = """docs/1740/README.md README.md content/posts/tea.md content/bundle/index.md
        _posts/2016-07-26-beds.md guide/_index.md content/guide.md""".split()
    write_files(tmp_path, {**dict.fromkeys(others, "Text"), "docs/1741/README.md": link})
    assert link_keys(read(MarkdownFolder, tmp_path)["docs/1741/README.md"]) == [target]


# Where notes open


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("", None),
        ("https://github.com/me/til/blob/main/{path}", "https://github.com/me/til/blob/main/a%20b/C%23.md"),
        ("vscode://file{absolute}", "vscode://file{folder}/a%20b/C%23.md"),
    ],
)  # fmt: skip
def test_a_note_opens_where_the_option_says(tmp_path: Path, template: str, url: str | None) -> None:
    note = markdown(tmp_path, "Text", "a b/C#.md", url=template)
    assert note.url == (url and url.replace("{folder}", tmp_path.as_posix()))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all names are Unicode")
def test_a_note_whose_file_name_is_not_unicode_can_be_opened(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9.md")).write_text("Text")
    [note] = read(MarkdownFolder, tmp_path, url="vscode://file{absolute}").values()
    assert note.url == f"vscode://file{tmp_path}/%E9.md"


# Plain text and HTML


def test_a_text_file_has_the_title_of_its_file_and_all_its_text(tmp_path: Path) -> None:
    note = markdown(tmp_path, "---\nnot: yaml\n---\n# a comment\n", "My list.txt")
    assert (note.title, note.body) == ("My list", "---\nnot: yaml\n---\n# a comment\n")


def test_a_page_of_zims_has_the_title_and_date_that_it_says(tmp_path: Path) -> None:
    text = (
        "Content-Type: text/x-zim-wiki\nWiki-Format: zim 0.4\n"
        "Creation-Date: 2018-02-15T19:25:12-05:00\n\n====== Pain relief ======\nSee [[Chaga]].\n\n"
        "===== Tea =====\na == b ==\n"
    )
    notes = {"Pain_relief.txt": text, "Chaga.txt": "Content-Type: text/x-zim-wiki\n\nx"}
    note = read(MarkdownFolder, write_files(tmp_path, notes))["Pain_relief.txt"]
    assert (note.title, note.created) == ("Pain relief", "2018-02-16T00:25:12Z")
    assert note.body == "See [[Chaga]].\n\n## Tea\na == b ==\n"
    assert link_keys(note) == ["Chaga.txt"]


def test_a_text_file_that_begins_with_its_name_has_it_once(tmp_path: Path) -> None:
    assert markdown(tmp_path, "My list\n\n- tea\n", "My list.txt").body == "- tea\n"


def test_other_text_files_are_read_if_their_suffix_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.rst": "A\n=\nText", "b.adoc": "= B", "c.md": "# C", "d.py": "# D"})
    source = MarkdownFolder(tmp_path, "notes")
    assert [note.key for note in source.read()] == ["c.md"]
    assert source.skipped == [
        "1 .rst, 1 .adoc: this kind of source doesn't read such files",
    ]
    notes = read(MarkdownFolder, tmp_path, suffixes=["rst", ".ADOC", ".md"])
    assert {key: note.title for key, note in notes.items()} == {
        "a.rst": "a",
        "b.adoc": "b",
        "c.md": "C",
    }


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# A* search", "A* search"),
        ("# *args and **kwargs", "*args and **kwargs"),
        ("# The A\\* search", "The A* search"),
        ("# a_b_ c", "a_b_ c"),
        ("# *All* of __it__", "All of it"),
        ('# <span style="color: red">All</span> of it', "All of it"),
    ],
)
def test_marks_that_mean_no_emphasis_stay_in_titles(
    tmp_path: Path, heading: str, title: str
) -> None:
    assert plain_text(markdown(tmp_path, heading).title) == title


def test_a_page_of_html_is_a_note_in_markdown(tmp_path: Path) -> None:
    note = markdown(
        tmp_path,
        "<!doctype html><html><head><title>Roof repair</title><style>p { color: red }</style>"
        '<meta name="created" content="2024-05-01 09:30:00 +0000"></head><body><h1>Roof repair</h1>'
        "<script>alert('no')</script>"
        "<p>Call <b>Hollis</b>, see <a href='plan.html'>the plan</a>.</p>"
        "<ul><li><input type=checkbox checked>nails</li><li><input type=checkbox>felt</li></ul>"
        "<pre>code_with_underscores</pre>"
        "<img src='data:image/png;base64,iVBORw0KGgo=' alt='the roof'></body></html>",
        "roof.html",
    )
    assert note.title == "Roof repair"
    assert "Call **Hollis**, see [the plan](plan.html)." in note.body
    assert "code_with_underscores" in note.body
    assert (note.todos_open, note.todos_done, note.has_code, note.has_image) == (1, 1, True, True)
    assert "the roof" in note.body
    assert note.created == "2024-05-01T09:30:00Z"
    for absent in ("alert", "color", "iVBOR", "# Roof repair", "checkbox", "!["):
        assert absent not in note.body


def test_tags_of_bookmarks_are_words_beside_their_links(tmp_path: Path) -> None:
    links = '<DT><A HREF="https://a.example/tea" ADD_DATE="1" TAGS="hot drinks,green">Tea</A>'
    page = f"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>{links}</DL>"
    note = markdown(tmp_path, page, "bookmarks.html")
    assert note.body == "[Tea](https://a.example/tea) hot drinks,green"


def test_a_link_in_a_page_whose_label_is_its_address_is_a_link(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.html": "<p><a href=b.html>b.html</a>", "b.html": "<p>Tea"})
    assert link_keys(read(MarkdownFolder, tmp_path)["a.html"]) == ["b.html"]


@pytest.mark.parametrize(
    ("html", "title", "body"),
    [
        ("<p>Just a paragraph", "page", "Just a paragraph"),
        ("Not even that", "page", "Not even that"),
        ("<h1>Heading</h1><p>Text</p>", "Heading", "Text"),
        ("<title>Title</title><h1>Heading</h1><p>Text</p>", "Title", "# Heading\n\nText"),
        ("<p>2 &lt; 3 &amp; snake_case * x", "page", "2 < 3 & snake_case * x"),
        ("<script>never closed <p>Text", "page", "never closed\n\nText"),
        ("<p>What no parser <![~ takes", "page", "What no parser <![~ takes"),
        ("<details><summary>aa</summary>bb</details>", "page", "**aa**\n\nbb"),
        (
            "<header>aa</header><address>bb</address><label>cc</label>dd",
            "page",
            "aa\n\nbb\n\ncc dd",
        ),
        ("<div>a</div><object><table><tr><td>cell</td></tr></table></object>", "page", None),
        ('<?xml version="1.0"?><p>Text</p>', "page", "Text"),
        ("", "page", ""),
    ],
)
def test_html_pages_of_many_kinds_are_read(
    tmp_path: Path, html: str, title: str, body: str | None
) -> None:
    note = markdown(tmp_path, html, "page.html")
    if body is None:  # as Apple Notes writes tables
        assert "| cell |" in note.body
    else:
        assert (note.title, note.body) == (title, body)


def test_layouts_and_templates_of_a_site_are_not_notes(tmp_path: Path) -> None:
    names = ["requirements.txt", "LICENSE.txt", "_layouts/x.html", "_site/a.html", "_includes/b.md"]
    write_files(
        tmp_path,
        {
            **dict.fromkeys(names, "Text"),
            "base.html": "<!doctype html><html><head><title>{% block title %}</title></head>",
            "home.html": "---\nlayout: x\n---\n<style>a {b: c}</style>{% for post in posts %}",
            "list.html": '{{ define "main" }}\n<h1>{{ .Title }}</h1>',
            "tea.html": "<title>Tea</title><p>On <code>{{ x }}</code>",
        },
    )
    source = MarkdownFolder(tmp_path, "notes")
    assert [note.key for note in source.read()] == ["tea.html"]
    assert source.skipped == [
        *(f"{name}.html: a template that a site is made from" for name in ("base", "home", "list")),
        "_includes, _layouts, _site: such folders of software or templates aren't read",
    ]


def test_a_large_page_in_many_boxes_keeps_its_form(tmp_path: Path) -> None:
    rows = "<p>Some words of <b>it</b></p>\n" * 20_000
    page = (
        f"<script>{'if (i<a) b();' * 50}</script>{'<div>' * 100}<h1>Tea</h1>{rows}{'</div>' * 100}"
    )
    note = markdown(tmp_path, page, "page.html")
    assert (note.title, note.body[:20]) == ("Tea", "Some words of **it**")


def test_a_page_nested_thousands_deep_keeps_its_words(tmp_path: Path) -> None:
    note = markdown(tmp_path, "<div>" * 5000 + "deep &amp; down", "page.html")
    assert note.body == "deep & down"


def test_a_page_full_of_control_characters_keeps_its_words(tmp_path: Path) -> None:
    assert parse_html("<p>deep &amp; down</p>" + "\x01" * 500).body.startswith("deep & down")


def test_a_page_too_long_to_be_parsed_keeps_its_words(tmp_path: Path) -> None:
    note = markdown(tmp_path, "<p>tomato</p>\n" * 100_000, "page.html")
    assert note.body.split() == ["tomato"] * 100_000


# Which folders are read


def test_a_folder_with_notes_is_recognized(tmp_path: Path) -> None:
    assert (
        kind_of(str(write_files(tmp_path / "til", {".git/x": "", "python/a.md": ""}))) == "markdown"
    )
    assert not MarkdownFolder.reads(
        str(write_files(tmp_path / "code", {"a.py": "", ".x/a.md": ""}))
    )
    assert not MarkdownFolder.reads(str(tmp_path / "nothing"))


@pytest.mark.parametrize("beside", ["source/notes.json", "notes.sqlite"])
def test_the_trash_among_the_notes_is_left_out(tmp_path: Path, beside: str) -> None:
    files = {"a.txt": "x", "trash/b.txt": "y", beside: b"{}", "other/trash/c.txt": "z"}
    folder = folder_of(tmp_path / "n", {f"old/{name}": text for name, text in files.items()})
    source = MarkdownFolder(folder)
    source.state()
    assert {note.key for note in source.read()} == {"old/a.txt", "old/other/trash/c.txt"}
    notes = {note.key: note.trashed for note in source.read(include_trashed=True)}
    assert notes["old/trash/b.txt"]
    assert not notes["old/other/trash/c.txt"]


def test_notes_whose_front_matter_says_that_they_are_trash_are_left_out(tmp_path: Path) -> None:
    files = {f"{name}.md": f"---\n{name}: true\n---\nx" for name in ("deleted", "trashed", "draft")}
    source = MarkdownFolder(folder_of(tmp_path, files))
    assert [note.title for note in source.read()] == ["draft"]
    assert [note.trashed for note in source.read(include_trashed=True)] == [True, False, True]


@pytest.mark.parametrize("generator", ["sitemap.xml", "404.html", "_next/x", "search_index.json"])
def test_a_site_beside_its_sources_is_left_out(tmp_path: Path, generator: str) -> None:
    pages = {f"docs/{n}.html": "<p>For full text search" for n in ("index", "a", "b")}
    files = {**pages, f"docs/{generator}": "x", "other/page.html": "<p>mine"}
    files |= {"vault/a.md": "a", "vault/b.md": "b"}
    source = MarkdownFolder(folder_of(tmp_path, files))
    assert {note.key for note in source.read()} == {"vault/a.md", "vault/b.md", "other/page.html"}
    assert "of a site in docs/ that was made from other files here" in source.skipped[0]


def test_only_a_folders_first_entries_are_looked_at_to_recognize_it(tmp_path, monkeypatch) -> None:
    write_files(tmp_path, {"a/1.xyz": "", "a/2.xyz": "", "a/3.xyz": "", "b/note.md": "A note"})
    monkeypatch.setattr(markdown_folder, "MOST_ENTRIES", 6)
    assert MarkdownFolder.reads(str(tmp_path))
    monkeypatch.setattr(markdown_folder, "MOST_ENTRIES", 4)
    assert not MarkdownFolder.reads(str(tmp_path))
