"""The text of a Slack message → Markdown.

Slack writes its own markup: ``<@U123>`` for a person, ``<#C123|garden>`` for a channel, ``<https://…|words>`` for a
link, and ``&amp;``, ``&lt;`` and ``&gt;`` for what would be taken for these.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...markdown import plain_text
from ...notes import Note, Tag
from .. import SourceError, Unreadable, exports
from .. import text as timestamps
from ..markdown_facts import as_markdown
from ..text import mapping, mappings, parsed, text
from . import Archive

_REFERENCE = re.compile(r"<([^<>\n]+)>")
_CODE = re.compile(r"```(.*?)```", re.DOTALL)


def markdown(text: str, people: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """A message with the names of people and channels (by their ids) in place of references to them."""
    text = _REFERENCE.sub(lambda match: _resolved(match[1], people, channels), text)
    # In Markdown, the marks around code stand on lines of their own. One that is left over would swallow the rest.
    parts = _CODE.split(text)
    parts[::2] = [as_markdown(part.replace("```", "").strip()) for part in parts[::2]]
    parts[1::2] = [f"\n```\n{code.strip()}\n```\n" for code in parts[1::2]]
    text = "".join(parts).strip()
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _resolved(reference: str, people: Mapping[str, str], channels: Mapping[str, str]) -> str:
    target, _, label = reference.partition("|")
    if target.startswith("@"):
        return f"@{people.get(target[1:]) or label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or channels.get(target[1:]) or target[1:]}"
    if target.startswith("!"):  # <!here>, <!subteam^S123|@gardeners>, <!date^1714555800|1 May>
        return label or f"@{target[1:].partition('^')[0]}"
    if target.startswith(("mailto:", "tel:")):
        return label or target.partition(":")[2]
    if not label or label == target or target.endswith(f"://{label}"):
        return target
    return f"[{label}]({target.replace('(', '%28').replace(')', '%29')})"


# What a Slack export says, before anything is made of it: channels, people and messages.

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_TIMESTAMP = re.compile(r"\d{1,11}\.\d{1,9}")

# The kinds of messages that hold what somebody, or a bot, has written. Others say who joined, what was renamed, …
_BY_BOT = "bot_message"
_WRITTEN = {
    *("", "me_message", "thread_broadcast", "reply_broadcast", "file_share", "file_comment"),
    _BY_BOT,
}

# Where a workspace's people are listed, and in an export of a whole organization.
_PEOPLE = ("users.json", "org_users.json")

_CHANNELS = "channels.json"
_PRIVATE_CHANNELS = "groups.json"
_GROUP_MESSAGES = "mpims.json"
_DIRECT_MESSAGES = "dms.json"


@dataclass(frozen=True)
class Channel:
    """A place where people talk: a channel, or the direct messages between some of them."""

    id: str
    label: str  # "#garden", or who talks
    tag: str  # "" for direct messages


@dataclass(frozen=True)
class Message:
    """What somebody, or a bot, has written."""

    timestamp: str  # seconds since 1970; Slack's own id of a message in a channel
    thread: str  # timestamp of the thread's first message; "" outside of threads
    author: str
    text: str  # Markdown
    by_bot: bool
    edited: str  # timestamp, or ""
    team: str  # id of the workspace, or ""
    files: tuple[str, ...]  # their names
    has_image: bool
    has_file: bool


def is_root(names: Collection[str]) -> bool:
    """Whether an export begins in the folder that has these files."""
    return _CHANNELS in names and any(people in names for people in _PEOPLE)


def root_of(archive: Archive) -> str | None:
    """The folder in which an export begins: "" at the top, or "…/"; None if there is no export."""
    names = defaultdict(set)
    for path in archive.files:
        folder, slash, name = path.rpartition("/")
        names[folder + slash].add(name)
    roots = [folder for folder in names if is_root(names[folder])]
    return min(roots, key=len, default=None)


class Workspace:
    """The people, channels and messages of an export; what can't be read of it goes into ``skipped``."""

    def __init__(self, archive: Archive, root: str, skipped: list[str]) -> None:
        self._archive = archive
        self._root = root
        self._skipped = skipped
        self.ignored = 0  # messages that nobody has written
        self._people: dict[str, str] = {}
        self._bots: set[str] = {"USLACKBOT"}
        self.team = ""
        for name in _PEOPLE:
            for person in self._listed(name):
                self._add_person(person)
        self._channels: dict[str, Channel] = {}  # by the name of its folder
        for name in (_CHANNELS, _PRIVATE_CHANNELS):
            for channel in self._listed(name):
                title = text(channel.get("name"))
                self._add_channel(title, Channel(text(channel.get("id")), f"#{title}", title))
        for name in (_GROUP_MESSAGES, _DIRECT_MESSAGES):
            for channel in self._listed(name):
                identifier = text(channel.get("id"))
                folder = text(channel.get("name")) or identifier
                members = channel.get("members")
                names = [
                    self._people.get(member, member)
                    for member in (members if isinstance(members, list) else ())
                    if isinstance(member, str)
                ]
                self._add_channel(folder, Channel(identifier, ", ".join(names) or folder, ""))
        self._channel_names = {channel.id: channel.tag for channel in self._channels.values()}

    def conversations(self) -> Iterator[tuple[Channel, list[Message]]]:
        """Each channel with its messages, in their order. One channel at a time is in memory."""
        folders = defaultdict(list)
        for path, file in self._archive.files.items():
            if path.startswith(self._root) and _DAY.fullmatch(path.rpartition("/")[2]):
                folders[file.folder[len(self._root) :]].append(path)
        for folder, days in sorted(folders.items()):
            if folder:
                channel = self._channels.get(folder) or Channel("", f"#{folder}", folder)
                messages = {
                    message.timestamp: message for day in days for message in self._messages(day)
                }
                yield channel, sorted(messages.values(), key=lambda m: float(m.timestamp))

    def _listed(self, name: str) -> list[dict[str, Any]]:
        path = self._root + name
        return mappings(self._parsed(path)) if path in self._archive.files else []

    def _parsed(self, path: str) -> Any:
        try:
            return parsed(self._archive.read(path))
        except Unreadable as reason:
            self._skipped.append(f"{path}: {reason}")
            return None

    def _add_person(self, person: dict[str, Any]) -> None:
        identifier = text(person.get("id"))
        if identifier:
            self._people[identifier] = _name(person)
        self.team = self.team or text(person.get("team_id"))
        if person.get("is_bot"):
            self._bots.add(identifier)

    def _add_channel(self, folder: str, channel: Channel) -> None:
        # The folder of direct messages is called by their id, and any folder may be.
        self._channels.setdefault(channel.id, channel)
        self._channels[folder] = channel

    def _messages(self, day: str) -> Iterator[Message]:
        found = self._parsed(day)
        if found is not None and not isinstance(found, list):
            self._skipped.append(f"{day}: no list of messages")
        for message in mappings(found):
            timestamp = text(message.get("ts"))
            if text(message.get("subtype")) in _WRITTEN and _TIMESTAMP.fullmatch(timestamp):
                yield self._message(message, timestamp)
            else:
                self.ignored += 1

    def _message(self, message: dict[str, Any], timestamp: str) -> Message:
        author = text(message.get("user"))
        by_bot = (
            text(message.get("subtype")) == _BY_BOT
            or author in self._bots
            or (bool(message.get("bot_id")) and author not in self._people)
        )
        name = (
            self._people.get(author)
            or _name(mapping(message.get("user_profile")))
            or text(message.get("username"))
            or author
            or "Somebody"
        )
        edited = text(mapping(message.get("edited")).get("ts"))
        thread = text(message.get("thread_ts"))
        if not thread and mappings(message.get("replies")):
            thread = timestamp  # exports of old mark the first message of a thread only so
        files = mappings(message.get("files")) + mappings([message.get("file")])
        kinds = [text(file.get("mimetype")) for file in files]
        return Message(
            timestamp=timestamp,
            thread=thread if _TIMESTAMP.fullmatch(thread) else "",
            author=name,
            text=markdown(_text(message), self._people, self._channel_names),
            by_bot=by_bot,
            edited=edited if _TIMESTAMP.fullmatch(edited) else "",
            team=text(message.get("team")),
            files=tuple(filter(None, (text(f.get("title")) or text(f.get("name")) for f in files))),
            has_image=any(kind.startswith("image/") for kind in kinds),
            has_file=any(not kind.startswith("image/") for kind in kinds),
        )


def _name(person: dict[str, Any]) -> str:
    """What people call a person: what is shown beside messages, the full name, or the name of the account."""
    profile = mapping(person.get("profile"))
    names = (
        profile.get("display_name"),
        person.get("display_name"),
        profile.get("real_name"),
        person.get("real_name"),
        person.get("name"),
    )
    return next((text(name).strip() for name in names if text(name).strip()), "")


def _text(message: dict[str, Any]) -> str:
    """What a message says; if it is only something attached, such as a message that was passed on, what that says."""
    if words := text(message.get("text")).strip():
        return words
    attached = [
        part
        for attachment in mappings(message.get("attachments"))
        for part in (
            [text(attachment.get(key)).strip() for key in ("pretext", "title", "text")]
            if text(attachment.get("text")).strip()
            else [text(attachment.get("fallback")).strip()]
        )
        if part
    ]
    return "\n".join(attached)


# The conversations in a Slack export.
#
# A thread is a note. So are messages outside of threads that follow each other closely: alone, most of them say too
# little to be found ("works now, thanks!"), and a whole day of a busy channel is about too many things.

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
        if not exports.is_zip(path):
            return False
        with exports.opened(path) as archive:
            return root_of(archive) is not None

    def state(self) -> str:
        return f"{exports.state(self.path)} {self._team}"

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        with exports.opened(self.path) as archive:
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
