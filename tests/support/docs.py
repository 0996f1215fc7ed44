"""The output that the documentation shows, made by running the commands."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

import platformdirs
from click.testing import CliRunner
from datasette.app import Datasette
from datasette.cli import cli
from platformdirs.macos import MacOS
from platformdirs.unix import Unix
from platformdirs.windows import Windows

from datasette_bear_search.agents import install
from datasette_bear_search.embeddings.files import cache_folder
from datasette_bear_search.embeddings.names import CHOICES, trusted_models
from datasette_bear_search.index.config import default_path as configuration_path
from datasette_bear_search.index.file.database import default_path as index_path
from datasette_bear_search.service import Service

ROOT = Path(__file__).parents[2]
# The pages of the documentation, in order.
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
API_EXAMPLE = "/-/bear-search.json?q=composting+toilet&tag=cabin&_size=1"


def command_help(command: str) -> str:
    """Return the help of one of our commands, for a terminal with 100 columns."""
    text = CliRunner().invoke(cli, [command, "--help"], terminal_width=100).output
    return text.replace("Usage: cli", "Usage: datasette").strip()


def api_example() -> dict:
    """Return the API's response to the documentation's example on the sample notes."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["bear-demo", "--no-serve", "--directory", folder]
        CliRunner().invoke(cli, command, catch_exceptions=False)
        answer = api_answer(Path(folder) / "notes.db")
    # Times differ from run to run.
    times = {"plan": 0.8, "embed": 9.1, "sql": 7.9, "total": 21.3}
    answer["timing_ms"] = {name: times.get(name, 2.2) for name in answer["timing_ms"]}
    # Scores depend on the processor: vectors are made in bfloat16 where that is faster.
    row = answer["rows"][0]
    for name, value in {"similarity": 0.7421, "score": 0.8556}.items():
        assert abs(row[name] - value) < 0.01, f"write {name} anew: {row[name]}"
        row[name] = value
    return answer


def api_answer(index_file: Path) -> dict:
    """Return the response to the documentation's example from this index file."""

    async def get() -> dict:
        response = await Datasette([str(index_file)]).client.get(API_EXAMPLE)
        return response.json()

    return asyncio.run(get())


# --- Where files are

HOME = "/home/me"
SYSTEMS = {"linux": ("Linux", Unix), "darwin": ("macOS", MacOS), "win32": ("Windows", Windows)}
# As Windows sets them. On other systems, nothing looks at them.
ON_WINDOWS = {
    "LOCALAPPDATA": f"{HOME}/AppData/Local",
    "APPDATA": f"{HOME}/AppData/Roaming",
    "USERPROFILE": HOME,
}
# Bound here, because the tests put other functions in their places.
FILES: dict[str, Callable[[str], Path]] = {
    "the index": lambda _: index_path(),
    "sources and settings": lambda _: configuration_path(),
    "[models that you named](models.md#which-models-are-used)": lambda _: trusted_models(),
    "sample notes of `bear-demo`": lambda _: index_path().with_name("demo"),
    "cache: ONNX exports, dictionary, test collections": lambda _: cache_folder(),
    "the service": lambda platform: Service(platform=platform, home=Path(HOME)).file,
    "its log": lambda platform: Service(platform=platform, home=Path(HOME)).log,
}


def table_of_models() -> str:
    """Return the models to choose from, as a table in Markdown."""
    languages = list(CHOICES[0].measured)
    rows = [["", "model", "to download", "English, published"], ["---"] * (4 + len(languages))]
    rows[0] += [f"measured here: {languages[0]}", *languages[1:]]
    for each in CHOICES:
        size = f"{each.megabytes} MB" if each.megabytes else "nothing"
        measured = (each.measured.get(language, "") for language in languages)
        rows.append([each.purpose, f"`{each.model}`", size, each.published, *measured])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def table_of_files() -> str:
    """Return where our files are by default on each system, as a table."""
    return _table("what", FILES)


def table_of_agents_files() -> str:
    """Return the files in which the apps of agents get an entry, as a table."""
    rows = {f"`{app}`": partial(_settings_file, app) for app in install.MCP_CLIENTS}
    return _table("app", rows)


def _settings_file(app: str, _: str) -> Path:
    return install._settings_file(app)


def _table(first: str, rows: dict[str, Callable[[str], Path]]) -> str:
    columns = [[_shown(row, platform) for row in rows.values()] for platform in SYSTEMS]
    head = [first, *(name for name, _ in SYSTEMS.values())]
    lines = [head, ["---"] * len(head), *zip(rows, *columns, strict=True)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _shown(row: Callable[[str], Path], platform: str) -> str:
    """Return the path that a function of ours returns on a system, as people there write it."""
    _, folders = SYSTEMS[platform]
    kinds = ("data", "cache", "config")
    with (
        mock.patch.dict(os.environ, {"HOME": HOME, **ON_WINDOWS}, clear=True),
        mock.patch.object(sys, "platform", platform),
        mock.patch("platformdirs.windows.get_win_folder", _folder_on_windows),
        mock.patch.multiple(
            platformdirs,
            **{f"user_{kind}_path": partial(_folder, folders, kind) for kind in kinds},
        ),
    ):
        path = row(platform).as_posix()
    if platform == "win32":
        for name, folder in ON_WINDOWS.items():
            path = path.replace(folder, f"%{name}%")
        return f"`{path.replace('/', chr(92))}`"
    return f"`{path.replace(HOME, '~')}`"


def _folder(folders: type, kind: str, name: str, appauthor: bool) -> Path:
    return getattr(folders(name, appauthor), f"user_{kind}_path")


def _folder_on_windows(name: str) -> str:
    assert name == "CSIDL_LOCAL_APPDATA", name
    return ON_WINDOWS["LOCALAPPDATA"]
