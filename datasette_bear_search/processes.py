"""Where this package keeps files, and how its code runs in another process, now or later."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

DISTRIBUTION = "datasette-bear-search"
# Folders in uv's cache that hold environments. uv removes them when it likes.
_UV_ENVIRONMENTS = ("archive-v", "environments-v")


def user_folder(kind: Literal["data", "cache", "config"]) -> Path:
    """Return the person's folder for files of this package, which may not be there yet."""
    import platformdirs

    folder: Path = getattr(platformdirs, f"user_{kind}_path")(DISTRIBUTION, appauthor=False)
    return folder


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: if the disk is full, it stays as it was. Raise OSError.

    A new file can only be read by this user.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        if path.exists():
            shutil.copymode(path, draft)
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise


def command(module: str, function: str) -> list[str]:
    """Return the command that calls a function with this Python and its modules."""
    # At first, Python looks for the modules of -c in the current directory, which may be somebody
    # else's. Python 3.10 has no option against that; sys is built in.
    path = [folder for folder in sys.path if folder]
    code = f"import sys; sys.path[:] = {path!r}; from {module} import {function}; {function}()"
    return [sys.executable, "-c", code]


def lasting_command(arguments: Sequence[str], extras: Sequence[str] = ("bundled",)) -> list[str]:
    """Return a ``datasette`` command for other programs to run, on another day in another folder.

    It has full paths, because apps don't know the shell's PATH, and nothing in uv's cache.

    :param extras: of this package, which the command needs
    """
    if is_in_uv_cache(sys.prefix):
        # uv names itself to what it runs.
        uv = Path(os.environ.get("UV") or shutil.which("uv") or "uv")
        uvx = uv.with_name(uv.name.replace("uv", "uvx", 1))
        return uvx_command(arguments, extras, str(uvx) if uvx.is_file() else "uvx")
    if script := installed_script("datasette"):
        return [str(script), *arguments]
    # Apps run it in the folder of a project, which may be somebody else's. Python would take its
    # files for modules. The option against that, -P, is newer than Python 3.10.
    code = "import sys; sys.path.pop(0); from datasette.cli import cli; cli()"
    return [sys.executable, "-c", code, *arguments]


def uvx_command(arguments: Sequence[str], extras: Sequence[str], uvx: str = "uvx") -> list[str]:
    """Return a ``datasette`` command that needs nothing but uv, which installs what is missing."""
    return [uvx, "--with", f"{DISTRIBUTION}[{','.join(extras)}]", "datasette", *arguments]


def is_in_uv_cache(path: str | Path) -> bool:
    """Return whether a path is in an environment that ``uvx`` made, which may vanish."""
    folders = [*Path(os.path.abspath(path)).parents]
    chosen = os.environ.get("UV_CACHE_DIR")
    return any(
        folder == Path(chosen or "/nowhere")
        or (folder.name.startswith(_UV_ENVIRONMENTS) and (folder.parent / "CACHEDIR.TAG").exists())
        for folder in folders
    )


def installed_script(name: str) -> Path | None:
    """Return the path of a command of this Python's environment, if it has it."""
    name = f"{name}.exe" if sys.platform == "win32" else name
    # On Windows, scripts are beside Python in virtual environments only.
    folders = Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))
    return next((folder / name for folder in folders if (folder / name).is_file()), None)
