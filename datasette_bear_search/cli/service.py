"""``bear-service`` and ``bear-uninstall``: keep the search running; take it away again."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from ..agents import install
from ..index import config
from ..index.file import database
from ..notes import ForeseenError
from ..processes import installed_script, is_in_uv_cache, user_folder
from ..service import NAME, Service
from .options import sidecar_option
from .output import Command, confirm, echo

ACTIONS = ("install", "status", "logs", "uninstall")


@click.command(cls=Command)
@click.argument("action", type=click.Choice(ACTIONS))
@sidecar_option
@click.option("--port", type=click.IntRange(1, 65535), help="Port on this machine")
def bear_service(action: str, sidecar_path: Path | None, port: int | None) -> None:
    """
    Keep bear-serve running, also after each login

    install writes a launchd agent (macOS), a systemd user unit (Linux) or a task (Windows) that
    starts bear-serve and starts it again if it fails; status says whether it runs; logs shows what
    it printed last; uninstall stops and removes it.
    """
    options = [f"--sidecar={sidecar_path.absolute()}"] if sidecar_path else []
    service = Service([*options, *([f"--port={port}"] if port else [])])
    if action == "install":
        service.install()
        echo(service.status(), f"Log: {service.log}", *service.permission())
    elif action == "uninstall":
        was_installed = service.is_installed
        service.uninstall()
        echo("The service is removed." if was_installed else "There was no service.")
    elif action == "status":
        echo(service.status())
    else:
        echo(*(service.last_lines() or [f"Nothing has been logged in {service.log} yet."]))


@click.command(cls=Command)
@sidecar_option
@click.option("--yes", is_flag=True, help="Remove without asking")
def bear_uninstall(sidecar_path: Path | None, yes: bool) -> None:
    """
    Remove all files that these commands ever wrote

    Lists them and asks first: the index, models, configuration, the service and the entries in
    assistants' apps. Notes aren't touched. The package itself is removed by what installed it.
    """
    service = Service()
    index = sidecar_path or database.default_path()
    if sidecar_path:
        database.is_made(index)  # refuse another program's file
    files = [*files_we_wrote(index, service)]
    entries = [*install.entries()]
    if not files and not entries and not service.is_installed:
        echo("There is nothing to remove.")
    else:
        echo("This will be removed:")
        echo(*(f"  {path}" for path in files))
        echo(*(f"  the entry of {install.ENTRY_NAME} in {path}" for _, path in entries))
        if not yes:
            confirm("Remove it?")
        service.uninstall()
        for app, _ in entries:
            install.remove_entry(app)
        for path in files:
            remove(path)
        echo("Removed.")
    echo(
        "To remove the package, use what installed it: datasette uninstall datasette-bear-search, "
        "uv tool uninstall datasette, pipx uninject datasette datasette-bear-search."
    )
    if sys.platform == "darwin":
        echo("Full Disk Access stays in System Settings › Privacy & Security until you remove it.")


def files_we_wrote(index: Path, service: Service) -> Iterator[Path]:
    """Yield the files and folders of ours that are there. Notes and other programs' aren't."""
    data, cache = user_folder("data"), user_folder("cache")
    configuration = config.default_path()
    beside = index.parent.glob(f"{index.name}{database.RESTRICTED_MARK}*")
    ours = [path for path in (index, *beside) if database.is_sidecar(path)]
    locks = [Path(f"{path}.lock") for path in ours]
    for path in dict.fromkeys((*ours, *locks, data, cache, configuration, service.file)):
        if path.exists() and not any(each in path.parents for each in (data, cache)):
            yield path
    folder = service.log.parent
    if (log := folder if folder.name == NAME else service.log).exists() and log != data:
        yield log
    with suppress(OSError):
        link = link_path()
        if link.is_symlink() and "bear-search" in os.readlink(link):
            yield link
    yield from install.backups()
    yield from install.remembered()


def remove(path: Path) -> None:
    """Remove a file or a folder of ours, or raise ForeseenError."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise ForeseenError(f"{path} can't be removed: {error.strerror}.") from None


# --- bear-search on the PATH


def link_path() -> Path:
    return Path.home() / ".local" / "bin" / "bear-search"


def link() -> str:
    """Link ``bear-search`` into ``~/.local/bin``; return what to tell the person."""
    script = installed_script("bear-search")
    if script is None or is_in_uv_cache(script):
        raise ForeseenError(
            "There is no lasting bear-search to link. Install it with: uv tool install "
            '"datasette-bear-search[bundled]"'
        )
    place = link_path()
    if sys.platform == "win32":
        return f"Add this folder to your PATH: {script.parent}"
    try:
        if place.is_symlink():
            place.unlink()
        elif place.exists():
            raise ForeseenError(f"{place} is another program, which stays as it is.")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(script)
    except OSError as error:
        raise ForeseenError(f"{place} can't be written: {error.strerror}.") from None
    is_found = str(place.parent) in os.environ.get("PATH", "").split(os.pathsep)
    more = "" if is_found else f" Your shell doesn't look there yet: add {place.parent} to PATH."
    return f"{place} now runs {script}.{more}"
