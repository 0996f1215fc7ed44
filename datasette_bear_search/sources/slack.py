"""The conversations in a Slack export.

A thread is a note. So are messages outside of threads that follow each other closely: alone, most of them say too
little to be found ("works now, thanks!"), and a whole day of a busy channel is about too many things.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from ..markup import plain_text
from ..notes import Note, Tag
from . import SourceError, archives, timestamps
from .slack_export import Channel, Message, Workspace, is_root, root_of

# A longer pause ends a conversation, and so does midnight (UTC).
PAUSE_SECONDS = 60 * 60

# Characters of the first message that are in the title.
TITLE_LENGTH = 80

_TEAM = re.compile(r"(?:https://)?([\w-]+(?:\.enterprise)?)(?:\.slack\.com/?)?", re.ASCII)

# What has to begin a line to be what it is, so that no name can stand before it.
_BLOCK = re.compile(r"```|>|[-•*]\s|\d+[.)]\s")


class SlackExport:
    """A Slack export: the zip file, or the folder that it was unpacked to."""

    app = "Slack"
    heading_link = ""
    default_name = "slack"

    def __init__(self, location: Path | str, name: str = "slack", *, team: str = "") -> None:
        """:param team: the workspace's address, such as acme.slack.com; with it, links open in any browser"""
        self.path = Path(location).expanduser()
        self.name = name
        self.location = str(location)
        self.skipped: list[str] = []
        match = _TEAM.fullmatch(str(team))
        if team and not match:
            raise SourceError(
                f"{team!r} (option team) is no address of a Slack workspace. Give one such as acme.slack.com."
            )
        self._team = match[1].lower() if match else ""

    @classmethod
    def reads(cls, location: str) -> bool:
        path = Path(location).expanduser()
        if path.is_dir():  # without walking through all that may be below
            return is_root(os.listdir(path))
        if not archives.is_zip(path):
            return False
        with archives.opened(path) as archive:
            return root_of(archive) is not None

    def state(self) -> str:
        return f"{archives.state(self.path)} {self._team}"

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        with archives.opened(self.path) as archive:
            self.skipped = list(archive.skipped)
            root = root_of(archive)
            if root is None:
                raise SourceError(
                    f"{self.location} is no export from Slack in its JSON format: it has no users.json and"
                    " channels.json. Give the PATH of the zip file that Slack made."
                )
            workspace = Workspace(archive, root, self.skipped)
            ignored = 0
            for channel, messages in workspace.conversations():
                kept = [*_threads(messages), *_conversations(messages)]
                ignored += len(messages) - sum(map(len, kept))
                for part in kept:
                    yield self._note(channel, part, workspace.team)
            if ignored := ignored + workspace.ignored:
                self.skipped.append(f"{ignored:,} messages of bots and of Slack itself")

    def _note(self, channel: Channel, messages: Sequence[Message], team_id: str) -> Note:
        first = messages[0]
        # The first message of a thread can be older than the export.
        start = first.thread or first.timestamp
        changed = max(float(time) for m in messages for time in (m.timestamp, m.edited) if time)
        body = _body(messages)
        return Note(
            key=f"{channel.id or channel.label}/{start}",
            title=f"{channel.label}: {_beginning(messages)}".removesuffix(": "),
            body=body,
            tags=(Tag(channel.tag),) if channel.tag else (),
            created=timestamps.of_seconds(float(start)),
            modified=timestamps.of_seconds(changed),
            has_image=any(message.has_image for message in messages),
            has_file=any(message.has_file for message in messages),
            has_code="```" in body,
            url=self._url(channel, start, first.team or team_id),
        )

    def _url(self, channel: Channel, timestamp: str, team_id: str) -> str | None:
        place = quote(channel.id, safe="")
        if place and self._team:
            return f"https://{self._team}.slack.com/archives/{place}/p{timestamp.replace('.', '')}"
        if place and team_id:
            return f"slack://channel?team={quote(team_id, safe='')}&id={place}&message={timestamp}"
        return None


def _threads(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages of each thread in which somebody has written. What a bot says there is what they talk about."""
    threads = defaultdict(list)
    for message in messages:
        if message.thread:
            threads[message.thread].append(message)
    return [thread for thread in threads.values() if not all(message.by_bot for message in thread)]


def _conversations(messages: Sequence[Message]) -> list[list[Message]]:
    """What people have written outside of threads, cut where they paused."""
    conversations: list[list[Message]] = []
    for message in messages:
        if message.thread or message.by_bot:
            continue
        if conversations and _goes_on(conversations[-1][-1], message):
            conversations[-1].append(message)
        else:
            conversations.append([message])
    return conversations


def _goes_on(before: Message, message: Message) -> bool:
    last, now = float(before.timestamp), float(message.timestamp)
    return now - last <= PAUSE_SECONDS and last // 86400 == now // 86400


def _body(messages: Sequence[Message]) -> str:
    """Who wrote what, as Markdown."""
    paragraphs = []
    author = None
    for message in messages:
        said = "\n\n".join(
            filter(None, [message.text, *(f"File: {name}" for name in message.files)])
        )
        if message.author != author:
            author = message.author
            space = "\n\n" if _BLOCK.match(said) else " "
            said = f"**{author}:**{space}{said}".rstrip()
        paragraphs.append(said)
    return "\n\n".join(paragraphs)


def _beginning(messages: Sequence[Message]) -> str:
    """The beginning of the first words, in a line."""
    words = next((m.text or " ".join(m.files) for m in messages if m.text or m.files), "")
    line = " ".join((plain_text(words.replace("```", " ")) or words).split())
    if len(line) <= TITLE_LENGTH:
        return line
    return line[: TITLE_LENGTH + 1].rpartition(" ")[0].rstrip(" ,;:") + "…"
