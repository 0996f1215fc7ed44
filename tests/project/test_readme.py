"""The README and the documentation are right: help texts, the example, SQL and links."""

import json
import re
import subprocess
import sys

import pytest
from datasette.app import Datasette
from datasette.cli import cli

from datasette_bear_search.embeddings.files import BUNDLED
from datasette_bear_search.embeddings.registry import get_embedder
from tests.support.docs import PAGES, ROOT, api_answer, command_help

TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text() for page in PAGES}
SQL = [
    pytest.param(sql, id=f"{name}-{number}")
    for name, text in TEXTS.items()
    for number, sql in enumerate(re.findall(r"```sql\n(.*?)```", text, re.DOTALL), 1)
]


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


def test_links_between_pages_lead_somewhere():
    for name, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name} links to {target}"


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
    assert shown.keys() == status.keys()
    for name in ("model", "vectors", "index"):
        assert shown[name].keys() == status[name].keys()
    assert shown["sources"][0].keys() == status["sources"][0].keys()


def json_examples() -> list[dict]:
    examples = re.findall(r"```json\n(\{.*?\n\})\n```", TEXTS["docs/json-api.md"], re.DOTALL)
    return [json.loads(example) for example in examples]


@pytest.mark.asyncio
@pytest.mark.parametrize("sql", SQL)
async def test_the_sql_in_the_documentation_runs(sql, sample_index):
    get_embedder(BUNDLED).load()  # not in the time that a query may take
    datasette = Datasette([str(sample_index)], settings={"sql_time_limit_ms": 30_000})
    parameters = {"sql": sql, "note": "1", "q": "roof", "_shape": "array"}
    response = await datasette.client.get("/notes.json", params=parameters, follow_redirects=True)
    assert response.status_code == 200, response.text
    assert response.json()


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
