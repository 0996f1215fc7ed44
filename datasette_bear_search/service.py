"""``bear-serve`` as a service: what starts it at login and keeps it running.

Each system's description is a file, made here, and a few commands that ``run`` runs.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .notes import ForeseenError
from .processes import lasting_command

NAME = "datasette-bear-search"
LABEL = "io.github.datasette-bear-search"  # what launchd knows it by
# Seconds until a server that ended is started again. launchd's default of 10 fills the log.
RESTART_SECONDS = 30
LOG_LINES = 40
PORT = 8001  # where bear-serve is if nothing else is there

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


def _run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(arguments, 127, "", str(error))


@dataclass(frozen=True)
class Service:
    """The service on one system. ``run`` runs its commands, so that tests need none of them."""

    options: Sequence[str] = ()  # of bear-serve
    platform: str = sys.platform
    home: Path = field(default_factory=Path.home)
    run: Run = field(default_factory=lambda: _run)

    @property
    def command(self) -> list[str]:
        # With a port of its own, it waits until another server there has ended, and then starts.
        port = [] if any(it.startswith("--port") for it in self.options) else [f"--port={PORT}"]
        return lasting_command(["bear-serve", "--no-open", *port, *self.options])

    @property
    def file(self) -> Path:
        """The file that describes the service to the system."""
        if self.platform == "darwin":
            return self.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
        if self.platform == "win32":
            return self._folder_on_windows / "service.xml"
        config = os.environ.get("XDG_CONFIG_HOME") or self.home / ".config"
        return Path(config) / "systemd" / "user" / f"{NAME}.service"

    @property
    def log(self) -> Path:
        if self.platform == "darwin":
            return self.home / "Library" / "Logs" / f"{NAME}.log"
        if self.platform == "win32":
            return self._folder_on_windows / "service.log"
        state = os.environ.get("XDG_STATE_HOME") or self.home / ".local" / "state"
        return Path(state) / NAME / "service.log"

    @property
    def is_installed(self) -> bool:
        return self.file.exists()

    def content(self) -> bytes:
        """Return the description of the service, as its system reads it."""
        return {"darwin": self._plist, "win32": self._task}.get(self.platform, self._unit)()

    def install(self) -> None:
        """Start the service, now and at each login, or raise ForeseenError."""
        try:
            for each in (self.file, self.log):
                each.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_bytes(self.content())
            if not self.log.exists():
                self.log.touch(mode=0o600)
        except OSError as error:
            raise ForeseenError(f"{error.filename} can't be written: {error.strerror}.") from None
        if self.platform == "darwin":
            # The legacy "load" reports no errors.
            self.run(["launchctl", "bootout", self._domain(LABEL)])
            self._must(["launchctl", "bootstrap", self._domain(), str(self.file)])
        elif self.platform == "win32":
            self._must(["schtasks", "/Create", "/F", "/TN", NAME, "/XML", str(self.file)])
            self._must(["schtasks", "/Run", "/TN", NAME])
        else:
            self._must(["systemctl", "--user", "daemon-reload"])
            self._must(["systemctl", "--user", "enable", NAME])
            self._must(["systemctl", "--user", "restart", NAME])

    def uninstall(self) -> None:
        """Stop the service and remove its file. Its log stays."""
        if self.platform == "darwin":
            self.run(["launchctl", "bootout", self._domain(LABEL)])
        elif self.platform == "win32":
            self.run(["schtasks", "/End", "/TN", NAME])
            self.run(["schtasks", "/Delete", "/F", "/TN", NAME])
        else:
            self.run(["systemctl", "--user", "disable", "--now", NAME])
        self.file.unlink(missing_ok=True)
        if self.platform not in ("darwin", "win32"):
            self.run(["systemctl", "--user", "daemon-reload"])

    def status(self) -> str:
        """Return for people whether it is installed and running."""
        if not self.is_installed:
            return "The service isn't installed. Install it with: datasette bear-service install"
        query, running = {
            "darwin": (["launchctl", "print", self._domain(LABEL)], "state = running"),
            "win32": (["schtasks", "/Query", "/TN", NAME, "/FO", "LIST"], "Running"),
        }.get(self.platform, (["systemctl", "--user", "is-active", NAME], ""))
        said = self.run(query)
        if said.returncode == 0 and running in said.stdout:
            return f"The service is running ({self.file})."
        return f"The service is installed ({self.file}), but isn't running. See {self.log}."

    def last_lines(self) -> list[str]:
        with suppress(OSError):
            return self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        return []

    def permission(self) -> list[str]:
        """Return what the person has to allow, which only macOS asks for."""
        if self.platform != "darwin":
            return []
        return [
            "macOS lets this service read Bear's notes only if the program that runs it may: not "
            "Terminal, but Python. In System Settings › Privacy & Security › Full Disk Access, "
            "press +, then Command-Shift-G, and paste:",
            f"    {os.path.realpath(sys.executable)}",
            "Then run: datasette bear-service install. Another version of Python needs this again.",
        ]

    # --- the three systems

    @property
    def _folder_on_windows(self) -> Path:
        local = os.environ.get("LOCALAPPDATA") or self.home / "AppData" / "Local"
        return Path(local) / NAME

    def _domain(self, label: str = "") -> str:
        user = os.getuid() if hasattr(os, "getuid") else 0
        return f"gui/{user}/{label}".rstrip("/")

    def _must(self, arguments: Sequence[str]) -> None:
        done = self.run(arguments)
        if done.returncode:
            why = " ".join((done.stderr or done.stdout).split()) or f"status {done.returncode}"
            raise ForeseenError(f"{shlex.join(arguments)} failed: {why}")

    # bear-serve imports this module whenever it starts, so the formats are imported where needed.

    def _plist(self) -> bytes:
        import plistlib

        return plistlib.dumps(
            {
                "Label": LABEL,
                "ProgramArguments": self.command,
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": RESTART_SECONDS,
                "ProcessType": "Background",
                "StandardOutPath": str(self.log),
                "StandardErrorPath": str(self.log),
            }
        )

    def _unit(self) -> bytes:
        command = " ".join(map(_systemd_quoted, self.command))
        log = str(self.log).replace("%", "%%")
        return f"""\
[Unit]
Description=Search of your notes (datasette bear-serve)

[Service]
ExecStart={command}
Restart=on-failure
RestartSec={RESTART_SECONDS}
Nice=10
StandardOutput=append:{log}
StandardError=append:{log}

[Install]
WantedBy=default.target
""".encode()

    def _task(self) -> bytes:
        import xml.etree.ElementTree as xml

        space = "http://schemas.microsoft.com/windows/2004/02/mit/task"
        task = xml.Element("Task", {"version": "1.2", "xmlns": space})
        trigger = xml.SubElement(xml.SubElement(task, "Triggers"), "LogonTrigger")
        user, domain = (os.environ.get(name, "") for name in ("USERNAME", "USERDOMAIN"))
        if user:  # otherwise, anybody's login would start it
            xml.SubElement(trigger, "UserId").text = f"{domain}\\{user}" if domain else user
        settings = xml.SubElement(task, "Settings")
        for name, value in (
            ("DisallowStartIfOnBatteries", "false"),
            ("StopIfGoingOnBatteries", "false"),
            ("ExecutionTimeLimit", "PT0S"),
            ("MultipleInstancesPolicy", "IgnoreNew"),
        ):
            xml.SubElement(settings, name).text = value
        restart = xml.SubElement(settings, "RestartOnFailure")
        xml.SubElement(restart, "Interval").text = "PT1M"  # the shortest that is allowed
        xml.SubElement(restart, "Count").text = "99"
        action = xml.SubElement(xml.SubElement(task, "Actions"), "Exec")
        # list2cmdline doesn't quote "&", which separates commands. No path here has quotes.
        program = " ".join(f'"{argument}"' for argument in self.command)
        xml.SubElement(action, "Command").text = "cmd.exe"
        xml.SubElement(action, "Arguments").text = f'/d /c "{program} >> "{self.log}" 2>&1"'
        # schtasks reads UTF-16.
        return xml.tostring(task, encoding="utf-16", xml_declaration=True)


def _systemd_quoted(argument: str) -> str:
    for special, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        argument = argument.replace(special, written)
    return f'"{argument}"'
