"""Test all installed Python versions, both versions of Datasette, the wheel and the sdist.

Run: python -m tests.stress.compatibility [--folder FOLDER] [PYTHON…]

Each environment is new and outside the repository. The package is installed with pip like a person
would, but without sentence-transformers and its dependencies unless --whole is given, so that only
the search by words is tested. Then come a person's first minutes (smoke.py) and the tests that need
neither a model nor a browser.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
DATASETTES = ("0.65.5", "1.0a41")

# Needed for search by meaning, and not available for every Python.
HEAVY = "sentence-transformers"
AGENTS = ("mcp>=2", "bc-detect-secrets>=1.5.52")
TEST_PACKAGES = ("pytest", "pytest-asyncio", "hypothesis", "numpy")

# Tests that depend on Python's version and take only seconds.
FAST_TESTS = (
    *("sources/bear/test_bear", "sources/formats/test_text", "sources/folders/test_front_matter"),
    *("sources/test_sql", "sources/exports/test_takeout"),
    *("query/test_parser", "query/test_dates", "query/test_filters"),
    *("query/test_fts5", "query/test_operators", "query/test_query"),
    *("index/test_config", "index/test_indexing", "index/test_sources",),
    *("project/test_packaging",),
    *("cli/test_terminal",),
)  # fmt: skip

# A sitecustomize that hides pysqlite3. That leaves Python's own module, which may be unable to load
# extensions.
WITHOUT_PYSQLITE3 = "import sys; sys.modules['pysqlite3'] = None\n"


@dataclass(frozen=True)
class Case:
    """One environment."""

    python: Path
    version: str
    datasette: str
    artifact: Path  # wheel or sdist
    whole: bool
    pysqlite3: bool = True

    def __str__(self) -> str:
        sqlite = "pysqlite3" if self.pysqlite3 else "Python's own sqlite3"
        kind = "wheel" if self.artifact.suffix == ".whl" else "sdist"
        return f"Python {self.version} | Datasette {self.datasette} | {sqlite} | {kind}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", metavar="PYTHON", default=list(VERSIONS))
    parser.add_argument("--folder", type=Path, help="where the environments are made")
    parser.add_argument("--whole", action="store_true", help=f"with {HEAVY} and the bundled model")
    parser.add_argument("--no-tests", action="store_true", help="only the first minutes")
    arguments = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        wheel, sdist = build(folder)
        print(
            "| Python | Datasette | SQLite | from | first minutes | tests | s |\n"
            "|---|---|---|---|---|---|---|"
        )
        for case in cases(arguments.versions, wheel, sdist, arguments.whole):
            started = time.perf_counter()
            first, tests = try_out(
                case, folder / f"env-{hash(case) % 10**8}", not arguments.no_tests
            )
            failed |= first != "ok" or "failed" in tests or "error" in tests
            seconds = time.perf_counter() - started
            print(f"| {case} | {first} | {tests} | {seconds:.0f} |", flush=True)
    sys.exit(failed)


def cases(versions: list[str], wheel: Path, sdist: Path, whole: bool) -> Iterator[Case]:
    """Yield every Python with one Datasette, both Datasettes with one Python, and other cases."""
    for number, version in enumerate(versions):
        python = find_python(version)
        if python is None:
            print(f"Python {version} isn't here.", file=sys.stderr)
            continue
        yield Case(python, version, DATASETTES[0], sdist if number == 0 else wheel, whole)
        if number == len(versions) - 1:
            yield Case(python, version, DATASETTES[1], wheel, whole)
            yield Case(python, version, DATASETTES[0], wheel, whole, pysqlite3=False)


def find_python(version: str) -> Path | None:
    """Return the newest Python of that version, from pyenv or the path."""
    for folder in sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*"), reverse=True):
        if (folder / "bin" / "python").exists():
            return folder / "bin" / "python"
    found = shutil.which(f"python{version}")
    return Path(found) if found else None


def build(folder: Path) -> tuple[Path, Path]:
    """Build and return the wheel and the sdist of the current checkout."""
    source = copy_of_the_checkout(folder / "source")
    out = folder / "dist"
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", out, source])
    sdist = (
        "from setuptools.build_meta import build_sdist; import sys; print(build_sdist(sys.argv[1]))"
    )
    ended = run([sys.executable, "-c", sdist, out], cwd=source)
    [wheel] = out.glob("*.whl")
    return wheel, out / ended.stdout.splitlines()[-1]


def copy_of_the_checkout(target: Path) -> Path:
    """Copy the files that git doesn't ignore, so that building leaves nothing in the checkout."""
    shutil.rmtree(target, ignore_errors=True)
    listed = run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=REPOSITORY
    )
    for name in listed.stdout.split("\0"):
        file = REPOSITORY / name
        if name and (file.is_symlink() or file.is_file()):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target / name, follow_symlinks=False)
    return target


def try_out(case: Case, folder: Path, with_tests: bool) -> tuple[str, str]:
    """Return the results of the first minutes and of the tests."""
    shutil.rmtree(folder, ignore_errors=True)
    python = install(case, folder)
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    (folder / "site").mkdir()
    if not case.pysqlite3:
        (folder / "site" / "sitecustomize.py").write_text(WITHOUT_PYSQLITE3)
    smoke = [python, Path(__file__).with_name("smoke.py"), folder / "home"]
    ended = run(
        [*smoke, *([] if case.whole else ["--no-meaning"])],
        cwd=folder,
        env=environment,
        check=False,
    )
    first = "ok"
    if ended.returncode:
        first = "failed"
        print((ended.stdout + ended.stderr)[-4000:], file=sys.stderr)
    return first, run_tests(python, folder, environment) if with_tests else "not run"


def install(case: Case, folder: Path) -> Path:
    """Make an environment with the package; return its Python."""
    run([case.python, "-m", "venv", folder])
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    if case.whole:
        run(
            [
                *pip,
                f"{case.artifact}[bundled,mcp,redact]",
                f"datasette=={case.datasette}",
            ]
        )
        return python
    run([*pip, "--no-deps", case.artifact])
    listing = (
        "from importlib.metadata import requires\n"
        "for line in requires('datasette-bear-search'): print(line)"
    )
    required = run([python, "-c", listing]).stdout.splitlines()
    wanted = [
        line
        for line in required
        if "extra ==" not in line and not line.startswith((HEAVY, "datasette"))
    ]
    run([*pip, f"datasette=={case.datasette}", *wanted, *AGENTS])
    return python


def run_tests(python: Path, folder: Path, environment: dict[str, str]) -> str:
    """Run the fast tests with the installed package; return their last line."""
    # Installed only now, because the package itself must not need them.
    run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *TEST_PACKAGES])
    # Copy them, so that the package's own folder isn't beside them.
    for name in ("tests", "benchmarks", "docs"):
        shutil.copytree(
            REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / name, folder)
    files = [f"tests/{name}.py" for name in FAST_TESTS]
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    ended = run(command, cwd=folder, env=environment, check=False)
    if ended.returncode:
        print(ended.stdout[-6000:], file=sys.stderr)
    lines = ended.stdout.strip().splitlines()
    return lines[-1].strip("= ") if lines else "failed to start"


def run(command: list, *, check: bool = True, **options) -> subprocess.CompletedProcess:
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    if check and ended.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{ended.stdout}{ended.stderr}")
    return ended


if __name__ == "__main__":
    main()
