"""``bear-search.yaml``: sources, tags that are never indexed, errors that name the place."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from datasette.cli import cli
from datasette.plugins import pm

from datasette_bear_search.index import config
from datasette_bear_search.index.config import ConfigurationError, read_configuration
from tests.support.index_files import rows, titles
from tests.support.journal import Journal, JournalPlugin


@pytest.fixture
def folders(tmp_path) -> Path:
    """Make two folders of Markdown: work, with a private note, and til."""
    for name, texts in {
        "work": ["# Plan\n\nA plan.", "---\ntags: [Private/diary]\n---\n# Diary\n\nA secret."],
        "til": ["# Pipes\n\nUnix."],
    }.items():
        (tmp_path / name).mkdir()
        for number, text in enumerate(texts):
            (tmp_path / name / f"{number}.md").write_text(text)
    return tmp_path


@pytest.fixture
def configure(tmp_path):
    """Return a function that writes the configuration file, from text or from data."""

    def write(content) -> Path:
        path = tmp_path / "bear-search.yaml"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


@pytest.fixture
def index(tmp_path, sidecar_path):
    def run(*arguments: str | Path, fails: bool = False) -> Result:
        command = ["bear-index", *map(str, arguments), "--sidecar", str(sidecar_path)]
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == (1 if fails else 0), result.output
        return result

    return run


WORK_AND_TIL = """
sources:
- name: work
  location: work
  never: ["#private"]
- location: til
"""


def test_the_file_names_the_sources(folders, configure, index, sidecar_path):
    index("--config", configure(WORK_AND_TIL))
    assert rows(sidecar_path, "select name, kind, location, notes from sources") == [
        ("work", "markdown", str(folders / "work"), 1),
        ("til", "markdown", str(folders / "til"), 1),
    ]


def test_the_file_is_found_by_the_environment_or_in_its_usual_place(
    folders, configure, index, sidecar_path, monkeypatch
):
    path = configure(WORK_AND_TIL)
    with monkeypatch.context() as patch:
        patch.setenv(config.CONFIG_VARIABLE, str(path))
        index()
    assert titles(sidecar_path) == ["Pipes", "Plan"]
    path.write_text("sources: []")
    monkeypatch.setattr(config, "default_path", lambda: path)
    index()
    assert titles(sidecar_path) == []


def test_datasettes_own_configuration_file_also_works(folders, configure, index, sidecar_path):
    settings = {"sidecar": "x.db", "sources": [{"location": "til"}]}
    index("--config", configure({"plugins": {"datasette-bear-search": settings}}))
    assert titles(sidecar_path) == ["Pipes"]


def test_a_source_that_left_the_file_leaves_the_index(folders, configure, index, sidecar_path):
    path = configure(WORK_AND_TIL)
    index("--config", path)
    extra = folders / "extra"
    extra.mkdir()
    (extra / "a.md").write_text("# Extra\n\nGiven on the command line.")
    index(extra, "--config", path)
    assert titles(sidecar_path) == ["Extra", "Pipes", "Plan"]
    configure({"sources": [{"location": "til"}]})
    index("--config", path)
    assert titles(sidecar_path) == ["Extra", "Pipes"]
    index()  # without the file, all known sources
    assert titles(sidecar_path) == ["Extra", "Pipes"]


def test_a_source_may_have_an_interval(folders, configure, index):
    path = configure({"sources": [{"location": "til", "every": "30m"}]})
    index("--config", path)
    assert "til: Read every 30m, next on" in index("--list").output
    path = configure({"sources": [{"location": "til", "every": "often"}]})
    message = (
        "source 1: The option every must be a time in minutes, hours or days: 30m, 1h, 1d. It is"
    )
    assert message in " ".join(index("--config", path, fails=True).output.split())


def test_an_unnamed_source_keeps_its_name(folders, configure, index, sidecar_path):
    (folders / "other" / "til").mkdir(parents=True)
    (folders / "other" / "til" / "a.md").write_text("# Other\n\ntil")
    path = configure({"sources": [{"location": "til"}, {"location": "other/til"}]})
    index("--config", path)
    configure({"sources": [{"location": "other/til"}, {"location": "til"}]})
    assert "0 notes added, 0 changed, 0 removed" in index("--config", path).output
    assert rows(sidecar_path, "select name, location from sources order by name") == [
        ("til", str(folders / "til")),
        ("til-2", str(folders / "other" / "til")),
    ]


def test_the_file_takes_over_a_source_that_was_added_by_its_path(
    folders, configure, index, sidecar_path
):
    index(folders / "til")
    index("--config", configure({"sources": [{"location": "til", "name": "learned"}]}))
    assert rows(sidecar_path, "select name, notes from sources") == [("learned", 1)]
    assert titles(sidecar_path) == ["Pipes"]


@pytest.mark.parametrize("tag", ["private", "#Private", "private/diary"])
def test_notes_with_a_tag_that_is_never_indexed_are_left_out(
    folders, configure, index, sidecar_path, tag
):
    path = configure({"never_index_tags": [tag], "sources": [{"location": "work"}]})
    index("--config", path)
    assert titles(sidecar_path) == ["Plan"]
    assert b"secret" not in sidecar_path.read_bytes()


def test_a_note_that_gets_a_tag_never_indexed_leaves_the_index(
    folders, configure, index, sidecar_path
):
    path = configure(WORK_AND_TIL)
    index("--config", path)
    note = folders / "work" / "0.md"
    note.write_text("---\ntags: [private]\n---\n# Plan\n\nA plan.")
    index()  # the index remembers, even without the file
    assert titles(sidecar_path) == ["Pipes"]


def test_tags_never_indexed_hold_for_paths_on_the_command_line(
    folders, configure, index, sidecar_path
):
    index(folders / "work")
    assert titles(sidecar_path) == ["Diary", "Plan"]
    path = configure({"never_index_tags": ["private"]})
    index("--config", path)
    assert titles(sidecar_path) == ["Plan"]
    configure({"never_index_tags": []})
    index("--config", path)
    assert titles(sidecar_path) == ["Diary", "Plan"]


def test_a_source_on_a_drive_that_is_away_keeps_its_notes(folders, configure, index, sidecar_path):
    path = configure(WORK_AND_TIL)
    index("--config", path)
    (folders / "til").rename(folders / "away")
    assert "til: " in index("--config", path, fails=True).output
    assert titles(sidecar_path) == ["Pipes", "Plan"]


def test_options_are_given_to_the_source_and_secrets_are_not_kept(
    configure, index, sidecar_path, tmp_path, monkeypatch
):
    plugin = JournalPlugin()
    pm.register(plugin)
    try:
        (tmp_path / "a.journal").write_text('{"key": "k", "title": "T", "body": "quiet"}')
        entry = {"location": "a.journal", "shout": {"$env": "SHOUT"}}
        path = configure({"sources": [entry]})
        assert "SHOUT isn't set" in index("--config", path, fails=True).output
        monkeypatch.setenv("SHOUT", "sesame")
        index("--config", path)
        assert rows(sidecar_path, "select body from notes") == [("QUIET",)]
        assert b"sesame" not in sidecar_path.read_bytes()
        Journal.read_whole.clear()
        configure({"sources": [{"location": "a.journal"}]})
        index("--config", path)  # the options differ, so the source is read again
        assert rows(sidecar_path, "select body from notes") == [("quiet",)]
        assert Journal.read_whole == ["journal"]
    finally:
        pm.unregister(plugin)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sources: [", "this is not YAML"),
        ("never_index_tags: [#private]", "a # outside them begins a comment"),
        ("- a", "it has to begin with sources:"),
        ("sauces: []", "there is no setting 'sauces' here. Did you mean sources?"),
        ("sources: til", "sources has to be a list"),
        ("sources: [til]", 'source 1: it has to say where the notes are: "location: PATH"'),
        ("sources: [{name: x}]", 'source 1 (x): it needs a "location"'),
        ("sources: [{kind: bear}]", "source 1: Bear's notes were not found on this computer."),
        ("sources: [{location: til, nmae: x}]", "Did you mean name?"),
        ("sources: [{location: til, kind: markdwon}]", "Did you mean markdown?"),
        ("sources: [{location: til, name: a b}]", "a name is made of letters"),
        (
            "sources: [{location: til, name: A}, {location: work, name: a}]",
            "source 2 (a): there is another source with this name",
        ),
        ("sources:\n- location: til\n  never:\n  - #private", "begins a comment"),
        ("sources: [{location: til, include_trashed: maybe}]", "has to be true or false"),
        ("never_index_tags: private", "has to be a list of tags"),
    ],
)
def test_an_error_names_the_place_and_what_would_be_right(folders, configure, content, message):
    path = configure(content)
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_named_configuration_file_must_exist(tmp_path, index):
    output = index("--config", tmp_path / "none.yaml", fails=True).output
    assert "can't be read: No such file" in output


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "- " * 3000])
def test_endlessly_nested_yaml_gives_a_message(tmp_path, text):
    path = tmp_path / "bear-search.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match="not YAML"):
        read_configuration(path)
