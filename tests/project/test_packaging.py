"""What pip installs: every file of the package is in the wheel and in the sdist."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.stress import compatibility

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "datasette_bear_search"

if not PACKAGE.exists():
    pytest.skip("needs the checkout", allow_module_level=True)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Copy the checkout, because building leaves files in it."""
    return compatibility.copy_of_the_checkout(tmp_path_factory.mktemp("source") / "project")


@pytest.fixture(scope="module")
def files(source) -> set[str]:
    """Return the files that belong to the package."""
    found = {
        str(path.relative_to(source))
        for path in (source / PACKAGE.name).rglob("*")
        if path.is_file()
    }
    for one in (
        "py.typed",
        "templates/bear_search.html",
        "static/bear_common.css",
        "static/bear_search.js",
    ):
        assert f"{PACKAGE.name}/{one}" in found
    assert sum(name.startswith(f"{PACKAGE.name}/demo/notes/") for name in found) > 50
    return found


def build(source: Path, kind: str, folder: Path) -> Path:
    """Build with the backend itself, because pip would download setuptools each time."""
    script = (
        f"import sys; from setuptools.build_meta import build_{kind}; "
        f"print(build_{kind}(sys.argv[1]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(folder)], cwd=source, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return folder / ended.stdout.splitlines()[-1]


def in_wheel(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_has_all_of_the_package_and_nothing_else(source, files, tmp_path):
    assert in_wheel(build(source, "wheel", tmp_path)) == files


def test_the_sdist_makes_the_same_wheel(source, files, tmp_path):
    with tarfile.open(build(source, "sdist", tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    [unpacked] = (path for path in tmp_path.iterdir() if path.is_dir())
    # setup.py reads it.
    assert (unpacked / "README.md").exists()
    assert (unpacked / "LICENSE").exists()
    # Debian and conda test what they package, and show its documentation.
    for name in ("CHANGELOG.md", "docs/conf.py", "docs/statement.sql", "tests/conftest.py"):
        assert (unpacked / name).exists(), name
    assert in_wheel(build(unpacked, "wheel", tmp_path)) == files


def test_the_page_on_pypi_links_to_no_file_beside_it(source, tmp_path):
    with zipfile.ZipFile(build(source, "wheel", tmp_path)) as wheel:
        [name] = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        about = wheel.read(name).decode()
    assert "License-Expression: Apache-2.0\n" in about
    links = re.findall(r"\]\(([^)]+)\)", about)
    assert len(links) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_templates_and_static_at_the_top_are_those_of_the_package():
    for name in ("templates", "static"):
        assert (REPOSITORY / name).resolve() == PACKAGE / name
