"""Files that let an assistant's app run ``datasette bear-mcp``: configuration, bundle or skill."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..notes import ForeseenError

NAME = "notes"
# App → the file that lists its MCP servers, and their key in it.
APPS = {
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
    # Run this Python by its path, because apps don't know the shell's PATH.
    arguments = ["-m", "datasette", "bear-mcp", *options]
    entry: dict[str, Any] = {"command": sys.executable, "args": arguments}
    if app:
        if app not in APPS:
            raise ForeseenError(f"--install knows these apps: {', '.join(APPS)}.")
        home = Path.home()
        settings = {
            "darwin": home / "Library" / "Application Support",
            "win32": Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming"),
        }.get(sys.platform, Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config"))
        path, key = APPS[app]
        # Resolve symlinks: people keep such files in a repository.
        yield _with_server(Path(path.format(home=home, settings=settings)).resolve(), key, entry)
    if bundle:
        yield bundle.absolute(), *_bundle(entry)
    if skill:
        text = Path(__file__).with_name("skill.md").read_text(encoding="utf-8")
        yield skill.absolute() / "search-notes" / "SKILL.md", text, text


def write(path: Path, content: str | bytes) -> Path | None:
    """Write a file atomically; return the path of a backup of the previous one, if any."""
    path.parent.mkdir(parents=True, exist_ok=True)
    backup, draft = None, path.with_name(f".{path.name}.new")
    draft.write_bytes(content.encode() if isinstance(content, str) else content)
    if path.exists():
        backup = path.with_name(f"{path.name}.{datetime.now():%Y%m%d-%H%M%S}.bak")
        shutil.copy2(path, backup)
        shutil.copymode(path, draft)
    os.replace(draft, path)
    return backup


def _with_server(path: Path, key: str, entry: dict[str, Any]) -> tuple[Path, str, str]:
    added = json.dumps({key: {NAME: entry}}, indent=2)
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if path.suffix == ".toml":
            values = (f"{name} = {json.dumps(value)}\n" for name, value in entry.items())
            added = f"[{key}.{NAME}]\n{''.join(values)}"
            if f"[{key}.{NAME}" in text:
                raise ForeseenError(f"{path} has [{key}.{NAME}] already. Replace it by:\n\n{added}")
            return path, added, f"{text.rstrip()}\n\n{added}".lstrip()
        content = json.loads(text) if text.strip() else {}
        content.setdefault(key, {})[NAME] = entry
    except OSError as error:
        raise ForeseenError(f"{path} can't be read: {error.strerror}.") from None
    except (ValueError, AttributeError, TypeError):
        # For instance, it has comments, which would be lost.
        raise ForeseenError(f"{path} isn't plain JSON. Add this to it:\n\n{added}") from None
    return path, added, json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _bundle(entry: dict[str, Any]) -> tuple[str, bytes]:
    """Return an MCP bundle for this Python: its manifest, and the whole file."""
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
