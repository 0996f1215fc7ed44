"""What a Slack export says, before anything is made of it: channels, people and messages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from .archives import Archive
from .exported_json import mapping, mappings, parsed, text
from .files import Unreadable
from .slack_text import markdown

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
