"""Files that let an assistant's app run ``datasette bear-mcp``: configuration, bundle or skill."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..notes import ForeseenError
from ..processes import lasting_command, user_folder, uvx_command, write_file

ENTRY_NAME = "notes"
EXTRAS = ("bundled", "mcp")  # what the server needs
# App → the file that lists its MCP servers, and their key in it.
MCP_CLIENTS = {
    "claude-code": ("{home}/.claude.json", "mcpServers"),
    "claude-desktop": ("{settings}/Claude/claude_desktop_config.json", "mcpServers"),
    "codex": ("{home}/.codex/config.toml", "mcp_servers"),
    "cursor": ("{home}/.cursor/mcp.json", "mcpServers"),
    "gemini-cli": ("{home}/.gemini/settings.json", "mcpServers"),
    "lm-studio": ("{home}/.lmstudio/mcp.json", "mcpServers"),
    "vscode": ("{settings}/Code/User/mcp.json", "servers"),
    "windsurf": ("{home}/.codeium/windsurf/mcp_config.json", "mcpServers"),
}


def files(
    app: str | None, bundle: Path | None, skill: Path | None, options: Sequence[str]
) -> Iterator[tuple[Path, str, str | bytes]]:
    """Yield files to write: the path, what is added (to show to people) and the whole content.

    :param options: command-line options of ``bear-mcp``, which the app will run
    :raises ForeseenError: if the app isn't known, or its file isn't plain JSON
    """
    arguments = ["bear-mcp", *options]
    if app:
        if app not in MCP_CLIENTS:
            raise ForeseenError(f"--install knows these apps: {', '.join(MCP_CLIENTS)}.")
        entry = _entry(lasting_command(arguments, EXTRAS))
        yield _with_server(_settings_file(app), MCP_CLIENTS[app][1], entry)
    if bundle:
        yield bundle.absolute(), *_bundle(_entry(uvx_command(arguments, EXTRAS)))
    if skill:
        text = Path(__file__).with_name("skill.md").read_text(encoding="utf-8")
        yield skill.absolute() / "search-notes" / "SKILL.md", text, text


def write(path: Path, content: str | bytes) -> Path | None:
    """Write a file atomically; return the path of a backup of the previous one, if any.

    :raises ForeseenError: if that isn't possible; the previous file then stays
    """
    backup = None
    try:
        if path.exists():
            backup = path.with_name(f"{path.name}.{datetime.now():%Y%m%d-%H%M%S-%f}.bak")
            write_file(backup, path.read_bytes())
        write_file(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        if backup:
            with suppress(OSError):
                backup.unlink()
        why = f"{path} can't be written ({error.strerror}). It is as it was before."
        raise ForeseenError(why) from None
    return backup


def entries() -> Iterator[tuple[str, Path]]:
    """Yield the apps that have our entry, and the files that it is in."""
    for app in MCP_CLIENTS:
        path = _settings_file(app)
        with suppress(OSError, UnicodeDecodeError):
            if "bear-mcp" in path.read_text(encoding="utf-8"):
                yield app, path


def remove_entry(app: str) -> None:
    """Take our entry out of an app's file, or raise ForeseenError if that would harm it."""
    path, key = _settings_file(app), MCP_CLIENTS[app][1]
    says = f"{path} can't be changed without harm. Take out the entry {ENTRY_NAME} by hand."
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            table = rf"(?m)^\[{key}\.{ENTRY_NAME}\]\n(?:(?!\[).*\n?)*"
            left, count = re.subn(table, "", text)
            if not count:
                raise ForeseenError(says)
        else:
            content = json.loads(text)
            del content[key][ENTRY_NAME]
            if not content[key]:
                del content[key]
            left = json.dumps(content, indent=2, ensure_ascii=False) + "\n" if content else ""
        if not left.strip():
            return path.unlink()
    except (OSError, ValueError, KeyError, TypeError):
        raise ForeseenError(says) from None
    if backup := write(path, left):
        backup.unlink()  # it has the entry


def backups() -> Iterator[Path]:
    """Yield the copies of apps' files that :func:`write` has made."""
    for path in map(_settings_file, MCP_CLIENTS):
        for copy in sorted(path.parent.glob(f"{path.name}.*.bak")):
            if re.fullmatch(r"\d{8}-\d{6}-\d{6}", copy.name[len(path.name) + 1 : -len(".bak")]):
                yield copy


def remember(path: Path) -> None:
    """Remember a bundle or a skill, which is where the person wanted it, for :func:`remembered`."""
    with suppress(OSError):
        _list_of_files().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _list_of_files().open("ab") as file:
            file.write(os.fsencode(f"{path}\n"))


def remembered() -> Iterator[Path]:
    """Yield the bundles and skills that were written, as far as they are there and still ours."""
    with suppress(OSError):
        for line in dict.fromkeys(_list_of_files().read_bytes().splitlines()):
            with suppress(OSError):
                if b"bear-" in (path := Path(os.fsdecode(line))).read_bytes():
                    yield path


def _list_of_files() -> Path:
    return user_folder("data") / "bundles-and-skills.txt"


def _entry(command: Sequence[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def _settings_file(app: str) -> Path:
    home = Path.home()
    settings = {
        "darwin": home / "Library" / "Application Support",
        "win32": Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming"),
    }.get(sys.platform, Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config"))
    # Resolve symlinks: people keep such files in a repository.
    return Path(MCP_CLIENTS[app][0].format(home=home, settings=settings)).resolve()


def _with_server(path: Path, key: str, entry: dict[str, Any]) -> tuple[Path, str, str]:
    added = json.dumps({key: {ENTRY_NAME: entry}}, indent=2)
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if path.suffix == ".toml":
            values = (f"{name} = {json.dumps(value)}\n" for name, value in entry.items())
            added = f"[{key}.{ENTRY_NAME}]\n{''.join(values)}"
            if f"[{key}.{ENTRY_NAME}" in text:
                says = f"{path} has [{key}.{ENTRY_NAME}] already. Replace it by:"
                raise ForeseenError(says, "", *added.split("\n"))
            return path, added, f"{text.rstrip()}\n\n{added}".lstrip()
        content = json.loads(text) if text.strip() else {}
        content.setdefault(key, {})[ENTRY_NAME] = entry
    except OSError as error:
        raise ForeseenError(f"{path} can't be read: {error.strerror}.") from None
    except (ValueError, AttributeError, TypeError):
        # For instance, it has comments, which would be lost.
        says = f"{path} isn't plain JSON. Add this to it:"
        raise ForeseenError(says, "", *added.split("\n")) from None
    return path, added, json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _bundle(entry: dict[str, Any]) -> tuple[str, bytes]:
    """Return an MCP bundle that needs only uv, on any machine: its manifest, and the whole file."""
    manifest = {
        "manifest_version": "0.3",
        "name": "datasette-bear-search",
        "display_name": "Notes",
        "version": version("datasette-bear-search"),
        "description": "Search and read your own notes. Nothing is changed.",
        "author": {"name": "datasette-bear-search"},
        "server": {"type": "python", "entry_point": "server.py", "mcp_config": entry},
    }
    text, content = json.dumps(manifest, indent=2), io.BytesIO()
    with zipfile.ZipFile(content, "w") as bundle:
        bundle.writestr("manifest.json", text)
        # The manifest must name a file, but the app doesn't run it.
        bundle.writestr("server.py", "from datasette.cli import cli\n\ncli(['bear-mcp'])\n")
    return text, content.getvalue()
