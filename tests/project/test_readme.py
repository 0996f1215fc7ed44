"""The README and the documentation are right: help texts, the example, SQL and links."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from unittest import mock

import pytest
import yaml
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search import hookspecs
from datasette_bear_search.cli.search import bear_search
from datasette_bear_search.embeddings.names import BUNDLED
from datasette_bear_search.embeddings.registry import get_embedder
from datasette_bear_search.index import config
from datasette_bear_search.search import sql_search
from datasette_bear_search.search.connection import open_sidecar
from tests.support import docs, modules
from tests.support.datasettes import configured
from tests.support.docs import PAGES, ROOT, api_answer, command_help

TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text() for page in PAGES}
LINKING = TEXTS | {name: (ROOT / name).read_text() for name in ("CONTRIBUTING.md", "SECURITY.md")}
SQL = [
    pytest.param(sql, id=f"{name}-{number}")
    for name, text in TEXTS.items()
    for number, sql in enumerate(re.findall(r"```sql\n(.*?)```", text, re.DOTALL), 1)
]


def test_the_documentation_has_every_key_of_the_search_in_sql(sample_index):
    with open_sidecar(sample_index) as index:
        found = {**sql_search.found_notes(index, "roof")[0]}
        similar = sql_search.similar_notes(index, found["id"])[0]
    section = TEXTS["docs/sql.md"].partition("## The search in a join")[2]
    tables = re.findall(r"\| `bear_\w+\(\)` \| \|\n(.*?)\n\n", section, re.DOTALL)
    for keys, table in zip((found, similar), tables, strict=True):
        first = (line.split("|")[1] for line in table.splitlines())
        assert {*re.findall(r"`(\w+)`", " ".join(first))} == {*keys}


def test_the_documentation_shows_the_help_of_every_command():
    commands = [name for name in cli.commands if name.startswith("bear-")]
    assert len(commands) >= 7
    for command in commands:
        assert f"```text\n{command_help(command)}\n```" in TEXTS["docs/commands.md"], command


def test_every_page_is_in_the_table_of_contents_and_in_the_readme():
    for name in TEXTS.keys() - {"README.md", "docs/index.md"}:
        page = name.removeprefix("docs/").removesuffix(".md")
        assert f"\n{page}\n" in TEXTS["docs/index.md"], name
        shown = {"changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md"}.get(page, name)
        assert f"({shown}" in TEXTS["README.md"], name


def test_every_module_is_in_the_drawing_of_the_architecture():
    drawn = TEXTS["docs/architecture.md"]
    for module in (ROOT / "datasette_bear_search").rglob("*.py"):
        name = module.parent.name + "/" if module.name == "__init__.py" else module.stem
        if name != "datasette_bear_search/":
            assert f"`{name}`" in drawn, module


def test_the_page_of_the_architecture_shows_where_each_module_is_tested():
    assert modules.table() in TEXTS["docs/architecture.md"]
    assert [each for each in modules.modules() if not modules.tests_of(each)] == []
    named = set().union(*modules.modules_named().values())
    assert [each for each in named if not (modules.PACKAGE / each).exists()] == []


def test_links_between_pages_lead_somewhere():
    for name, text in LINKING.items():
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name} links to {target}"


def test_links_to_headings_lead_to_one_on_github_too():
    for name, text in LINKING.items():
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)]+)\)", text):
            page = (ROOT / name).parent.joinpath(target).resolve() if target else ROOT / name
            assert anchor in anchors(page.read_text()), f"{name} links to {target}#{anchor}"


def anchors(page: str) -> set[str]:
    """Return what GitHub and MyST call the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), re.M)
    texts = (re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w -]", "", text.lower()).strip().replace(" ", "-") for text in texts}


def test_the_readme_can_be_read_at_one_sitting():
    assert len(TEXTS["README.md"].splitlines()) <= 200


def test_the_json_example_has_the_fields_that_the_api_answers_with(sample_index):
    shown, _ = json_examples()
    answer = api_answer(sample_index)
    assert shown.keys() == answer.keys()
    assert shown["rows"][0].keys() == answer["rows"][0].keys()
    assert shown["query"].keys() == answer["query"].keys()
    assert shown["rows"][0]["title"] == answer["rows"][0]["title"]


@pytest.mark.asyncio
async def test_the_example_of_the_status_has_the_fields_that_are_there(sample_index):
    _, shown = json_examples()
    response = await Datasette([str(sample_index)]).client.get("/-/bear-search/status.json")
    status = response.json()
    assert [*shown] == [*status]
    for name in ("model", "vectors", "index"):
        assert shown[name].keys() == status[name].keys()
    assert shown["sources"][0].keys() == status["sources"][0].keys()


def json_examples() -> list[dict]:
    examples = re.findall(r"```json\n(\{.*?\n\})\n```", TEXTS["docs/json-api.md"], re.DOTALL)
    return [json.loads(example) for example in examples]


@pytest.mark.asyncio
@pytest.mark.parametrize("sql", SQL)
async def test_the_sql_in_the_documentation_runs(sql, sample_index):
    if "projects.projects" in sql or "join articles" in sql:
        return  # tests/web/datasette/test_other_databases runs these
    get_embedder(BUNDLED).load()  # so that loading doesn't count as query time
    datasette = Datasette([str(sample_index)], settings={"sql_time_limit_ms": 30_000})
    parameters = {"sql": sql, "note": "1", "q": "roof", "_shape": "array"}
    response = await datasette.client.get("/notes.json", params=parameters, follow_redirects=True)
    assert response.status_code == 200, response.text
    rows = response.json()
    # A misspelled key of a JSON object is null in every row.
    assert rows
    assert [name for name in rows[0] if all(row[name] is None for row in rows)] == []


# --- Examples: pycon is run in tests/test_library, JSON above


def blocks(*languages: str) -> list:
    found = []
    for name, text in TEXTS.items():
        pattern = r"^ *```([{}\w-]*)[^\n]*\n(.*?)^ *```$"
        for number, block in enumerate(re.finditer(pattern, text, re.DOTALL | re.MULTILINE), 1):
            if block[1] in languages:
                found.append(pytest.param(dedent(block[2]), id=f"{name}-{number}"))
    return found


# Blocks with output, and commands that other tests run: launchers in tests/cli/test_search.
SHOWN = ("{include}", "{toctree}", "{eval-rst}", "text", "json", "pycon")
ELSEWHERE = ("fzf --disabled", "@raycast.schemaVersion", "python3 -c")
# Commands that aren't run, and why.
NOT_RUN = {
    "pip": "CI runs it",
    "python": "CI runs it",
    "install": "CI runs what it is for",
    "uninstall": "is Datasette's own",
    "uvx": "needs the package's own page on PyPI",
    "npx": "needs npm's registry",
    "brew": "is another program",
    "uv": "CI runs the wheel",
    "pipx": "is another program",
    "python3": "makes an environment",
    "source": "is for a shell",
    "py": "is for Windows",
    "%USERPROFILE%notes-searchScriptsactivate": "is for Windows",
    "blog.db": "serves files that only the reader has",
    "openapi-python-client": "tests/web/api/test_endpoints runs it",
    "ollama": "is another program",
    "export": "sets what the test of servers sets",
    "eval": "is for a shell; its completions are tested",
    "create-token": "is Datasette's own",
}


def commands(block: str) -> list[list[str]]:
    """Return the commands of a block, each without the word datasette."""
    if any(mark in block for mark in ELSEWHERE):
        return []
    lines = re.split(r"\n|&&", block.replace("\\\n", " "))
    split = (shlex.split(line, comments=True) for line in lines if line.strip())
    return [words[1:] if words[0] == "datasette" else words for words in split]


@pytest.mark.asyncio
@pytest.mark.parametrize("block", blocks("bash", ""))
async def test_the_commands_in_the_documentation_are_understood(block, sample_index, monkeypatch):
    for name, *arguments in commands(block):
        if name == "bear-search":
            if "--sidecar" in arguments:
                arguments[arguments.index("--sidecar") + 1] = str(sample_index)
            arguments = ["19" if each.startswith("~") else each for each in arguments]
            monkeypatch.setenv("DATASETTE_BEAR_SEARCH_SIDECAR", str(sample_index))
            assert CliRunner().invoke(bear_search, arguments).exit_code == 0, arguments
        elif name == "curl":
            path = arguments[0].removeprefix("http://127.0.0.1:8001")
            response = await Datasette([str(sample_index)]).client.get(path)
            assert response.text.count("\n") > 5 if ".csv" in path else response.json()["rows"]
        elif name not in NOT_RUN:
            # Only parse these. Run, they would read and serve somebody's real notes.
            cli.commands[name].make_context(name, arguments)


@pytest.mark.parametrize("block", blocks("yaml"))
def test_the_configuration_in_the_documentation_is_read(block, tmp_path):
    settings = yaml.safe_load(block)
    if "databases" in settings:
        return  # see tests/web/api/test_endpoints
    file = tmp_path / "bear-search.yaml"
    # Bear's default location is known only on a Mac.
    file.write_text(block.replace("kind: bear\n", f"kind: bear\n  location: {tmp_path}\n"))
    read = config.read_configuration(file)
    assert len(read.sources or ()) == len(settings.get("sources", ()))


@pytest.mark.asyncio
async def test_the_whole_example_of_datasettes_file_is_used(sample_index, monkeypatch):
    page = TEXTS["docs/configuration.md"]
    [block] = re.findall(r"```yaml\n(plugins:.*?)```", page, re.DOTALL)
    settings = yaml.safe_load(block)
    ours = settings["plugins"]["datasette-bear-search"]
    assert {f"| `{name}`" for name in ours} <= {*re.findall(r"^\| `\w+`", page, re.MULTILINE)}
    monkeypatch.setenv("HOME", str(sample_index.parent))
    assert Path(ours["sidecar"]).expanduser() == sample_index
    datasette = configured([], settings)
    await datasette.invoke_startup()
    assert "notes" in datasette.databases
    response = await datasette.client.get("/-/bear-search.json?q=roof")
    assert response.json()["rows"]


def plugin_with(hook: str) -> dict:
    """Run the example of a hook in the documentation; return its names."""
    [block] = [each.values[0] for each in blocks("python") if f"def {hook}()" in each.values[0]]
    plugin: dict = {}
    exec(block, plugin)
    return plugin


def test_the_reranker_in_the_documentation_is_one():
    reranker = plugin_with("bear_search_register_rerankers")["bear_search_register_rerankers"]()[
        "longest"
    ]()
    assert reranker.score("roof", ["a", "abc"]) == [1, 3]


def test_the_embedder_in_the_documentation_embeds_texts():
    embedder = plugin_with("bear_search_register_embedders")["bear_search_register_embedders"]()[
        "letters"
    ]()
    assert embedder.dimension == 32  # 26 and zeros
    roof, [same, other] = embedder.embed_query("roof"), embedder.embed_documents(["Roof", "pizza"])
    assert roof == same != other


def test_the_documentation_has_a_heading_a_signature_and_an_example_of_each_hook():
    page = TEXTS["docs/writing-a-source.md"]
    hooks = {name for name, hook in vars(hookspecs).items() if hasattr(hook, "datasette_spec")}
    for name in hooks:
        section = page.partition(f"\n## {name}()\n")[2].partition("\n## ")[0]
        assert section.lstrip().startswith(f"`{name}() -> Mapping["), name
        assert plugin_with(name)
    assert {*re.findall(r"^## (bear_\w+)", page, re.MULTILINE)} == hooks


def test_the_plugin_in_the_documentation_requires_this_package():
    [block] = [each.values[0] for each in blocks("python") if "setup(" in each.values[0]]
    settings: dict = {}
    fake = SimpleNamespace(setup=settings.update)
    with mock.patch.dict(sys.modules, setuptools=fake):
        exec(block, {})
    assert settings["install_requires"] == ["datasette-bear-search"]
    [named] = settings["entry_points"]["datasette"]
    assert named.split(" = ")[1] in settings["py_modules"]


def test_the_documentation_says_where_every_file_is():
    assert docs.table_of_files() in TEXTS["docs/installation.md"]
    assert docs.table_of_agents_files() in TEXTS["docs/installation.md"]


def test_every_example_is_of_a_kind_that_a_test_knows():
    run = ("bash", "", "sql", "yaml", "python", "xml", "ini")
    every = [each.id for each in blocks(*SHOWN, *run)]
    fences = sum(len(re.findall(r"^ *```", text, re.MULTILINE)) for text in TEXTS.values())
    assert len(every) == fences / 2
    # tests/index/test_sources runs the source.
    assert len(blocks("python")) == 4


def test_importing_the_plugin_imports_nothing_heavy():
    heavy = {
        "datasette",
        "numpy",
        "torch",
        "transformers",
        "sentence_transformers",
        "scipy",
        "sqlite_utils",
        "sqlite_vec",
    }
    code = "import sys, datasette_bear_search; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not heavy & set(result.stdout.split())
