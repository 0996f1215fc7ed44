"""The README is right: its help texts, its example and its SQL."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli

from tests.support.readme import api_answer, command_help

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("command", ["bear-index", "bear-serve", "bear-demo", "bear-eval"])
def test_the_help_in_the_readme_is_the_commands_own(command):
    assert f"```\n{command_help(command)}\n```" in README.read_text()


def test_the_json_example_has_the_fields_that_the_api_answers_with(tmp_path):
    CliRunner().invoke(cli, ["bear-demo", "--no-serve", "--directory", str(tmp_path)])
    [example] = re.findall(r"```json\n(\{.*?\n\})\n```", README.read_text(), re.DOTALL)
    shown = json.loads(example)
    answer = api_answer(tmp_path / "notes.db")
    assert shown.keys() == answer.keys()
    assert shown["rows"][0].keys() == answer["rows"][0].keys()
    assert shown["query"].keys() == answer["query"].keys()
    assert shown["rows"][0]["title"] == answer["rows"][0]["title"]


@pytest.mark.asyncio
@pytest.mark.parametrize("sql", re.findall(r"```sql\n(.*?)```", README.read_text(), re.DOTALL))
async def test_the_sql_in_the_readme_runs(sql, tmp_path):
    CliRunner().invoke(cli, ["bear-demo", "--no-serve", "--directory", str(tmp_path)])
    datasette = Datasette([str(tmp_path / "notes.db")])
    response = await datasette.client.get(
        "/notes.json", params={"sql": sql, "note": "1", "_shape": "array"}, follow_redirects=True
    )
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
