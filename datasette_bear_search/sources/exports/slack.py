"""The conversations in a Slack export.

A thread is a note. So are messages outside of threads that follow each other closely: one alone
says too little to be found ("works now, thanks!"), a busy channel's day is about too many things.
"""

from __future__ import annotations

import math
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
from .. import SourceError, Unreadable, checked_option
from ..files import Archive, FileSource, is_zip, open_archive
from ..markdown_metadata import as_markdown
from ..text import as_dict, as_dicts, as_text, load_json, timestamp_from_seconds

# A longer pause ends a conversation, and so does midnight (UTC).
PAUSE_SECONDS = 60 * 60

# Characters of the first message that are in the title.
TITLE_LENGTH = 80

# Where a workspace's people are listed, and in an export of a whole organization.
_PEOPLE = ("users.json", "org_users.json")

_CHANNELS = "channels.json"

# The messages that somebody, or a bot, has written. Others say who joined, what was renamed, …
_WRITTEN = frozenset(
    " me_message thread_broadcast reply_broadcast file_share file_comment bot_message".split(" ")
)

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_TIMESTAMP = re.compile(r"\d{1,11}\.\d{1,9}")
_TEAM = re.compile(r"(?:https://)?([\w-]+(?:\.enterprise)?)(?:\.slack\.com/?)?", re.ASCII)

_REFERENCE = re.compile(r"<([^<>\n]+)>")
_CODE = re.compile(r"```(.*?)```", re.DOTALL)

# What has to begin a line to be what it is, so that no name can stand before it.
_BLOCK = re.compile(r"```|>|[-•*]\s|\d+[.)]\s")


class SlackExport(FileSource):
    """A Slack export: the zip file, or the folder that it was unpacked to."""

    app = "Slack"
    default_name = "slack"

    def __init__(self, location: Path | str, name: str = "", *, team: str = "") -> None:
        """
        :param team: the workspace's address, such as acme.slack.com; with it, links open in any
            browser
        """
        super().__init__(location, name)
        match = _TEAM.fullmatch(str(team))
        wanted = "the address of a Slack workspace, such as acme.slack.com"
        checked_option("team", team, match or not team, wanted)
        self._team = match[1].lower() if match else ""

    @classmethod
    def reads(cls, location: str) -> bool:
        path = Path(location).expanduser()
        if path.is_dir():  # without walking through all that may be below
            return _is_root(os.listdir(path))
        if not is_zip(path):
            return False
        with open_archive(path) as archive:
            return _root_of(archive) is not None

    def state(self) -> str:
        return f"{super().state()} {self._team}"

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        with open_archive(self.path) as archive:
            self.skipped = list(archive.skipped)
            root = _root_of(archive)
            if root is None:
                raise SourceError(
                    f"{self.location} is no export from Slack in its JSON format: it has no"
                    " users.json and channels.json. Give the PATH of the zip file that Slack made."
                )
            workspace = _Workspace(archive, root, self.skipped)
            ignored = 0
            for channel, messages in workspace.channels():
                conversations = _conversations(messages)
                ignored += len(messages) - sum(map(len, conversations))
                for conversation in conversations:
                    yield self._note(channel, conversation, workspace.team)
            if ignored := ignored + workspace.ignored:
                self.skipped.append(f"{ignored:,} messages of bots and of Slack itself")

    def _note(self, channel: _Channel, messages: Sequence[_Message], team_id: str) -> Note:
        first = messages[0]
        # The first message of a thread can be older than the export.
        start = first.thread or first.timestamp
        changed = max(float(time) for m in messages for time in (m.timestamp, m.edited) if time)
        body = _body(messages)
        place = quote(channel.id, safe="")
        team_id = quote(first.team or team_id, safe="")
        url = None
        if place and self._team:
            url = f"https://{self._team}.slack.com/archives/{place}/p{start.replace('.', '')}"
        elif place and team_id:
            url = f"slack://channel?team={team_id}&id={place}&message={start}"
        return Note(
            key=f"{channel.id or channel.label}/{start}",
            title=f"{channel.label}: {_beginning(messages)}".removesuffix(": "),
            body=body,
            tags=(Tag(channel.tag),) if channel.tag else (),
            created=timestamp_from_seconds(float(start)),
            modified=timestamp_from_seconds(changed),
            has_image=any(message.has_image for message in messages),
            has_file=any(message.has_file for message in messages),
            has_code="```" in body,
            url=url,
        )


# --- What an export says: channels, people and messages


@dataclass(frozen=True)
class _Channel:
    id: str
    label: str  # "#garden", or who talks
    tag: str  # "" for direct messages


@dataclass(frozen=True)
class _Message:
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


def _is_root(names: Collection[str]) -> bool:
    return _CHANNELS in names and any(people in names for people in _PEOPLE)


def _root_of(archive: Archive) -> str | None:
    """Return the folder in which an export begins: "" at the top, or "…/"; None without one."""
    names = defaultdict(set)
    for path in archive.files:
        folder, slash, name = path.rpartition("/")
        names[folder + slash].add(name)
    roots = [folder for folder in names if _is_root(names[folder])]
    return min(roots, key=len, default=None)


class _Workspace:
    """The people and channels of an export; what can't be read of it goes into ``skipped``."""

    def __init__(self, archive: Archive, root: str, skipped: list[str]) -> None:
        self._archive = archive
        self._root = root
        self._skipped = skipped
        self.ignored = 0  # messages that nobody has written
        self._people: dict[str, str] = {}
        self._bots: set[str] = {"USLACKBOT"}
        self.team = ""
        for name in _PEOPLE:
            for person in self._list(name):
                identifier = as_text(person.get("id"))
                if identifier:
                    self._people[identifier] = _name(person)
                self.team = self.team or as_text(person.get("team_id"))
                if person.get("is_bot"):
                    self._bots.add(identifier)
        self._channels: dict[str, _Channel] = {}  # by the name of its folder
        # Public and private channels, messages in a group, and to one person.
        for name in (_CHANNELS, "groups.json", "mpims.json", "dms.json"):
            for channel in self._list(name):
                self._add_channel(channel, is_direct=name in ("mpims.json", "dms.json"))
        self._channel_names = {channel.id: channel.tag for channel in self._channels.values()}

    def channels(self) -> Iterator[tuple[_Channel, list[_Message]]]:
        """Yield each channel with its messages, in their order; only one channel is in memory."""
        folders = defaultdict(list)
        for path, file in self._archive.files.items():
            if path.startswith(self._root) and _DAY.fullmatch(path.rpartition("/")[2]):
                folders[file.folder[len(self._root) :]].append(path)
        for folder, days in sorted(folders.items()):
            if folder:
                channel = self._channels.get(folder) or _Channel("", f"#{folder}", folder)
                messages = {
                    message.timestamp: message for day in days for message in self._messages(day)
                }
                yield channel, sorted(messages.values(), key=lambda m: float(m.timestamp))

    def _list(self, name: str) -> list[dict[str, Any]]:
        path = self._root + name
        return as_dicts(self._load(path)) if path in self._archive.files else []

    def _load(self, path: str) -> Any:
        try:
            return load_json(self._archive.read(path))
        except Unreadable as reason:
            self._skipped.append(f"{path}: {reason}")
            return None

    def _add_channel(self, fields: dict[str, Any], *, is_direct: bool) -> None:
        identifier = as_text(fields.get("id"))
        folder = as_text(fields.get("name")) or identifier
        channel = _Channel(identifier, f"#{folder}", folder)
        if is_direct:
            listed = fields.get("members")
            members = filter(None, map(as_text, listed if isinstance(listed, list) else ()))
            names = [self._people.get(member, member) for member in members]
            channel = _Channel(identifier, ", ".join(names) or folder, "")
        # The folder of direct messages is called by their id, and any folder may be.
        self._channels.setdefault(identifier, channel)
        self._channels[folder] = channel

    def _messages(self, day: str) -> Iterator[_Message]:
        items = self._load(day)
        if items is not None and not isinstance(items, list):
            self._skipped.append(f"{day}: no list of messages")
        for message in as_dicts(items):
            timestamp = as_text(message.get("ts"))
            if as_text(message.get("subtype")) in _WRITTEN and _TIMESTAMP.fullmatch(timestamp):
                yield self._message(message, timestamp)
            else:
                self.ignored += 1

    def _message(self, message: dict[str, Any], timestamp: str) -> _Message:
        author = as_text(message.get("user"))
        by_bot = (
            as_text(message.get("subtype")) == "bot_message"
            or author in self._bots
            or (bool(message.get("bot_id")) and author not in self._people)
        )
        name = (
            self._people.get(author)
            or _name(as_dict(message.get("user_profile")))
            or as_text(message.get("username"))
            or author
            or "Somebody"
        )
        edited = as_text(as_dict(message.get("edited")).get("ts"))
        thread = as_text(message.get("thread_ts"))
        if not thread and as_dicts(message.get("replies")):
            thread = timestamp  # in old exports, only this marks the first message of a thread
        files = as_dicts(message.get("files")) + as_dicts([message.get("file")])
        names = (as_text(file.get("title")) or as_text(file.get("name")) for file in files)
        are_images = [as_text(file.get("mimetype")).startswith("image/") for file in files]
        return _Message(
            timestamp=timestamp,
            thread=thread if _TIMESTAMP.fullmatch(thread) else "",
            author=name,
            text=to_markdown(_text(message), self._people, self._channel_names),
            by_bot=by_bot,
            edited=edited if _TIMESTAMP.fullmatch(edited) else "",
            team=as_text(message.get("team")),
            files=tuple(filter(None, names)),
            has_image=any(are_images),
            has_file=not all(are_images),
        )


def _name(person: dict[str, Any]) -> str:
    """Return what people call a person: beside messages, in full, or by the account."""
    profile = as_dict(person.get("profile"))
    keys = ("display_name", "real_name")
    names = [fields.get(key) for key in keys for fields in (profile, person)]
    return next(filter(None, (as_text(name).strip() for name in (*names, person.get("name")))), "")


def _text(message: dict[str, Any]) -> str:
    """Return what a message says; if that is nothing, what is attached to it."""
    if words := as_text(message.get("text")).strip():
        return words
    parts: list[str] = []
    for attachment in as_dicts(message.get("attachments")):  # such as a message passed on
        texts = {key: as_text(value).strip() for key, value in attachment.items()}
        keys = ("pretext", "title", "text") if texts.get("text") else ("fallback",)
        parts += [texts.get(key, "") for key in keys]
    return "\n".join(filter(None, parts))


def to_markdown(text: str, people: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Return a message in Slack's markup as Markdown. People and channels are names by id.

    A person is ``<@U123>``, a channel ``<#C123|garden>``, a link ``<https://…|words>``, and
    ``&amp;``, ``&lt;`` and ``&gt;`` are what would be taken for these.
    """
    text = _REFERENCE.sub(lambda match: _resolved(match[1], people, channels), text)
    # In Markdown, the marks around code stand on lines of their own. One that is left over would
    # swallow the rest.
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


# --- Messages → conversations


def _conversations(messages: Sequence[_Message]) -> list[list[_Message]]:
    """Return the threads, and what people have written outside of them, cut where they paused."""
    threads = defaultdict(list)
    conversations: list[list[_Message]] = []
    for message in messages:
        now = float(message.timestamp)
        last = float(conversations[-1][-1].timestamp) if conversations else -math.inf
        if message.thread:
            threads[message.thread].append(message)
        elif message.by_bot:
            continue
        elif now - last <= PAUSE_SECONDS and last // 86400 == now // 86400:
            conversations[-1].append(message)
        else:
            conversations.append([message])
    return [
        thread for thread in threads.values() if not all(m.by_bot for m in thread)
    ] + conversations


def _body(messages: Sequence[_Message]) -> str:
    paragraphs = []
    author = None
    for message in messages:
        files = [f"File: {name}" for name in message.files]
        paragraph = "\n\n".join(filter(None, [message.text, *files]))
        if message.author != author:
            author = message.author
            space = "\n\n" if _BLOCK.match(paragraph) else " "
            paragraph = f"**{author}:**{space}{paragraph}".rstrip()
        paragraphs.append(paragraph)
    return "\n\n".join(paragraphs)


def _beginning(messages: Sequence[_Message]) -> str:
    words = next((m.text or " ".join(m.files) for m in messages if m.text or m.files), "")
    line = " ".join((plain_text(words.replace("```", " ")) or words).split())
    if len(line) <= TITLE_LENGTH:
        return line
    return line[: TITLE_LENGTH + 1].rpartition(" ")[0].rstrip(" ,;:") + "…"
