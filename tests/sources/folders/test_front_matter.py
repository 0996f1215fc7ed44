"""The properties at the top of Markdown files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasette_bear_search.sources.folders import front_matter
from tests.support.note_folders import markdown, obsidian, tag_names


def test_title_tags_and_dates_come_from_the_front_matter(tmp_path: Path) -> None:
    note = markdown(
        tmp_path,
        "---\ntitle: Raised beds\ntags: [garden, spring]\ncreated: 2024-05-01\n"
        "modified: 2024-05-03T09:30:00Z\n---\n\nTwo by four feet.\n",
    )
    assert note.title == "Raised beds"
    assert note.body == "Two by four feet.\n"
    assert tag_names(note) == ["garden", "spring"]
    assert (note.created, note.modified) == ("2024-05-01T12:00:00Z", "2024-05-03T09:30:00Z")


@pytest.mark.parametrize(
    "written",
    [
        '{\n\t"title": "Tea",\n  "tags": ["a", "b"],\n  "date": "2024-05-01"\n}\n\n',
        '---json\n{"title": "Tea", "tags": ["a", "b"],\n"date": "2024-05-01"}\n---\n',
        '---\n{\n\t"title": "Tea", "tags": "a, b", "date": "2024-05-01"\n}\n---\n',
        "Title: Tea\nTags: a,\n    b\nDate: 2024-05-01 09:30\n\n",
        "title: Tea\nkeywords: a, b\ndate: May 1, 2024\n\n",
    ],
    ids=["Hugo", "named", "fenced", "Pelican", "MultiMarkdown"],
)
def test_properties_are_read_as_other_programs_write_them(tmp_path: Path, written: str) -> None:
    note = markdown(tmp_path, f"{written}Text {{x}}\n")
    assert (note.title, note.body) == ("Tea", "Text {x}\n")
    assert tag_names(note) == ["a", "b"]
    assert (note.created or "")[:10] == "2024-05-01"


def test_obsidian_knows_no_such_properties(tmp_path: Path) -> None:
    note = obsidian(tmp_path, "Title: Tea\n\nText")
    assert (note.title, note.body) == ("Note", "Title: Tea\n\nText")


def test_a_note_is_in_the_trash_in_any_format(tmp_path: Path) -> None:
    toml = "+++\ndeleted = true\n+++\n"
    starts = "---\ndeleted: true\n---\n", *([toml] if sys.version_info >= (3, 11) else [])
    for start in starts:  # TOML came with Python 3.11
        with pytest.raises(KeyError):
            markdown(tmp_path, f"{start}Text")


def test_pandocs_block_of_a_title_is_read(tmp_path: Path) -> None:
    note = markdown(tmp_path, "% Tea\n% Ada; Bob\n% 2024-05-01\n\nText\n")
    assert (note.title, note.body) == ("Tea", "- author: Ada; Bob\n\nText\n")
    assert note.created == "2024-05-01T12:00:00Z"
    assert markdown(tmp_path, "% Tea\n%\n% 2024-05-01\n\nText").created == note.created


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}\n', '{"title": "x"', '{"title": "x"} is JSON', "{title}\n", "[1]\n", "{" * 9000,
     "Title: and more of a sentence\nthat goes on\n", "Note: x\n\ny", "%x\ny", "% of it all is 5"],
)  # fmt: skip
def test_words_that_only_look_like_properties_stay_in_the_text(text: str) -> None:
    assert front_matter.split(text, fenced_only=False) == ({}, text, "")


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("tags: [garden, 'raised beds']", ["garden", "raised beds"]),
        ("tags:\n  - garden\n  - '#home/balcony'\n", ["garden", "home/balcony"]),
        ("tags:\n- 2024\n- no\n- 1.10\n", ["1.10", "2024", "no"]),
        ("tags: garden", ["garden"]),
        ("tags: garden spring", ["garden", "spring"]),
        ("tags: garden, raised beds", ["garden", "raised beds"]),
        ("tags: '#garden #spring'", ["garden", "spring"]),
        ("tags: '#garden #spring, raised beds'", ["garden", "raised beds", "spring"]),
        ("Tags: [garden]", ["garden"]),
        ("tag: garden", ["garden"]),
        ("keywords: [garden]\ncategories: [home]", ["garden", "home"]),
        ("tags: [Garden, garden]", ["Garden"]),
        ("tags: []", []),
        ("tags:", []),
        ("tags: null", []),
        ("tags: ['', '#', '/']", []),
        ("tags: [[garden, spring], {home: yes}]", ["garden", "home: yes", "spring"]),
        ("tags: 2024", ["2024"]),
        ("tags: ['**x**']", ["x"]),
        ("tags: ['[[raised beds]]']", ["raised beds"]),
        ("tags: #garden #spring", ["garden", "spring"]),  # for YAML, a comment
        ("tags:\n  - #garden\n  - spring # and summer", ["garden", "spring"]),
    ],
)  # fmt: skip
def test_tags_are_a_list_or_a_text(tmp_path: Path, written: str, tags: list[str]) -> None:
    assert tag_names(markdown(tmp_path, f"---\n{written}\n---\nText")) == tags


@pytest.mark.parametrize(
    "title", ["2024", "1.10", "yes", "007", "2024-05-01", "0x1F", "Tea: a history"]
)
def test_a_title_stays_as_it_is_written(tmp_path: Path, title: str) -> None:
    assert markdown(tmp_path, f"---\ntitle: '{title}'\n---\nText").title == title
    assert markdown(tmp_path, f"---\ntitle: {title}\n---\nText").title == title


def test_texts_in_other_properties_are_searched_but_values_of_programs_are_not(
    tmp_path: Path,
) -> None:
    note = markdown(
        tmp_path,
        "---\naliases: [Love apples, Pomodori]\nauthor: Ursula\nisbn: 978-0-06-051275-6\n"
        "layout: post\nnotion-id: 2e178d23-e296-802c-9669-f0a9af771a1a\nsr-ease: 270\n"
        "draft: true\nsource:\n  name: A library\n  shelf: [12, 13]\n---\n# Tomatoes\n\nText\n",
    )
    assert note.title == "Tomatoes"
    assert note.body == (
        "- aliases: Love apples, Pomodori\n- author: Ursula\n- isbn: 978-0-06-051275-6\n"
        "- source: name: A library, shelf: 12, shelf: 13\n\nText\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA text between two rules.\n\n---\n\nMore of it.",
        "---\n- a list\n- of two\n---\nText",
        "---\nno end of it\n",
        "---",
        "----\ntitle: Four\n----\n",
        "A line first\n---\ntitle: no\n---\n",
        "+++\n",
    ],
)
def test_a_text_between_rules_stays_text(tmp_path: Path, text: str) -> None:
    note = markdown(tmp_path, text)
    assert (note.title, note.body) == ("note", text)


def test_the_dates_of_other_apps_are_dates_and_not_text(tmp_path: Path) -> None:
    note = markdown(tmp_path, "---\ncreated-at: 2024-05-01\nupdated-at: 2024-05-02\n---\nText")
    assert (note.created, note.modified) == ("2024-05-01T12:00:00Z", "2024-05-02T12:00:00Z")
    assert note.body == "Text"


def test_empty_front_matter_has_no_properties(tmp_path: Path) -> None:
    assert markdown(tmp_path, "---\n---\n# Title\nText").body == "Text"


@pytest.mark.parametrize(
    ("created", "modified"),
    [
        ("date created: 2021-01-05", "date modified: 2022-03-04"),
        ("date-created: 2021-01-05", "date-modified: 2022-03-04"),
        ("created-date: 2021-01-05", "modified-date: 2022-03-04"),
        ("creation-date: 2021-01-05", "last-modified: 2022-03-04"),
        ("publish_date: 2021-01-05", "last updated: 2022-03-04"),
        ("ctime: 2021-01-05", "mtime: 2022-03-04"),
        ("date created: Tuesday, January 5th 2021, 12:00:00 pm", "mtime: 2022-03-04"),
    ],
)
def test_dates_are_known_by_the_names_that_plugins_give_them(
    tmp_path: Path, created: str, modified: str
) -> None:
    note = markdown(tmp_path, f"---\n{created}\n{modified}\nreading-time: 5\n---\n# L\nx\n")
    assert (note.created, note.modified) == ("2021-01-05T12:00:00Z", "2022-03-04T12:00:00Z")
    assert note.body == "- reading-time: 5\n\nx\n"


@pytest.mark.parametrize("end", ["---", "...", "---  "])
def test_front_matter_ends_with_rules_or_dots(tmp_path: Path, end: str) -> None:
    note = markdown(tmp_path, f"\ufeff---\r\ntitle: Tea\r\n{end}\r\nText")
    assert (note.title, note.body) == ("Tea", "Text")


@pytest.mark.parametrize(
    ("block", "title", "tags"),
    [
        ("title: Tea: history\ntags: [tea, 'hot drinks']", "Tea: history", ["hot drinks", "tea"]),
        ('title: "Tea\ntags:\n  - tea\n  - hot', "Tea", ["hot", "tea"]),
        ("title: {{title}}\ntags: tea", "{{title}}", ["tea"]),
        ("title: Tea\nother: @home\ntags: #tea", "Tea", ["tea"]),
        ("title: *unknown\ntags: tea", "*unknown", ["tea"]),
        ("title: Tea\npublication date: [[2020]]\ntags: [[tea]], #hot", "Tea", ["hot", "tea"]),
        ("title: Tea\n\ttags: x\nkeywords: tea", "Tea", ["tea"]),
        ("title: Tea: history\nabstract: |\n  On tea.\ntags: tea", "Tea: history", ["tea"]),
    ],
)  # fmt: skip
def test_invalid_front_matter_loses_nothing(
    tmp_path: Path, block: str, title: str, tags: list[str]
) -> None:
    text = f"---\n{block}\n---\nText"
    note = markdown(tmp_path, text)
    assert (note.title, tag_names(note)) == (title, tags)
    # Lines that can't be read as a property stay in the text.
    left = "- other: @home\n\nText" if "@home" in block else "Text"
    left = "- publication date: [[2020]]\n\nText" if "[[2020]]" in block else left
    assert note.body == (text if "\tt" in block or "abstract" in block else left)


def test_a_line_says_what_is_wrong_with_front_matter_without_its_words(tmp_path: Path) -> None:
    from datasette_bear_search.sources.folders.markdown import MarkdownFolder

    (tmp_path / "tea.md").write_text("---\ntags: tea\ntitle: Secret: tea\n  on\n---\n")
    source = MarkdownFolder(tmp_path, "notes")
    assert len(list(source.read())) == 1
    assert source.skipped == [
        "tea.md: its front matter is not valid YAML in line 3; it is searched as text"
    ]


@pytest.mark.parametrize("nested", ["[" * 60_000, "{a: " * 10_000, "- " * 30_000, "? " * 30_000])
def test_front_matter_that_would_end_python_is_text(tmp_path: Path, nested: str) -> None:
    text = f"---\na: 1\nb: {nested}\n---\nText"
    assert markdown(tmp_path, text).body == text


def test_a_bomb_of_references_takes_no_time(tmp_path: Path) -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi")
    )
    note = markdown(tmp_path, f"---\n{bomb}tags: *i\ntitle: *i\n---\nText")
    assert len(note.body) < 10_000


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_toml_is_read_as_hugo_writes_it(tmp_path: Path) -> None:
    note = markdown(
        tmp_path,
        '+++\ntitle = "Tea"\ntags = ["hot", "drinks"]\ndate = 2024-05-01T09:30:00-07:00\n'
        "draft = true\n+++\n\nText",
    )
    assert (note.title, tag_names(note), note.body) == ("Tea", ["drinks", "hot"], "Text")
    assert note.created == "2024-05-01T16:30:00Z"
    hugo = '+++\ntitle = "Tea"\n[menu.main]\nweight = 1\n+++\n\nText'
    assert markdown(tmp_path, hugo).body == "Text"
    zola = markdown(tmp_path, '+++\ntitle = "Tea"\n[taxonomies]\ntags = ["hot"]\n+++\n\nText')
    assert (tag_names(zola), zola.body) == (["hot"], "Text")


@given(st.text(max_size=300))
def test_any_front_matter_leaves_all_words_below_it(block: str) -> None:
    properties, text, _ = front_matter.split(f"---\n{block}\n---\nthe text")
    assert text.endswith("the text")
    front_matter.as_list(properties, ()).encode()
    front_matter.tags(properties)
