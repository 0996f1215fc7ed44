"""The conversations in a Slack export.

A thread is a note. So is a series of messages outside threads that follow each other closely: a
single message says too little ("works now, thanks!"), a busy channel's whole day too much.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape

from ...notes import Note, Tag, short_title
from ...text.markdown import plain_text
from ..base import SourceError, Unreadable, checked_option
from ..files.archive import Archive
from ..files.file_source import FileSource, open_archive, paths_at
from ..formats.dates import timestamp_from_seconds
from ..formats.markdown_metadata import as_markdown
from ..formats.text import as_dict, as_dicts, as_text, load_json

# A longer pause ends a conversation, and so does midnight (UTC).
PAUSE_SECONDS = 60 * 60

TITLE_LENGTH = 82  # characters of the first message in the title

# The files that list people (of a workspace, and of a whole organization), channels, and talks.
_PEOPLE = ("users.json", "org_users.json")
_CHANNELS, _TALKS = ("channels.json", "groups.json"), ("mpims.json", "dms.json")

# Subtypes of messages written by people and bots ("" is a plain one), not "joined" or "renamed".
_WRITTEN = " me_message thread_broadcast reply_broadcast file_share file_comment bot_message"

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_TIMESTAMP = re.compile(r"\d{1,11}\.\d{1,9}")
_TEAM = re.compile(r"(?:https://)?([\w-]+(?:\.enterprise)?)(?:\.slack\.com/?)?", re.ASCII)

_REFERENCE = re.compile(r"<([^<>\n]+)>")
_CODE = re.compile(r"```(.*?)```", re.DOTALL)

# Markup that must be at the start of a line, so the author's name can't precede it.
_BLOCK = re.compile(r"```|>|[-•*]\s|\d+[.)]\s")


class SlackExport(FileSource):
    """A Slack export: the zip file, or the unpacked folder."""

    app = "Slack"
    default_name = "slack"

    def __init__(self, location: Path | str, name: str = "", *, team: str = "") -> None:
        super().__init__(location, name)
        match = _TEAM.fullmatch(str(team))
        wanted = "the address of a Slack workspace, such as acme.slack.com"
        checked_option("team", team, match or not team, wanted)
        self._team = match[1].lower() if match else ""

    @classmethod
    def reads(cls, location: str) -> bool:
        return _root_of(paths_at(location)) is not None

    def state(self) -> str:
        return f"{super().state()} {self._team}"

    def read(self, *, include_trashed: bool = False) -> Iterator[Note]:
        with open_archive(self.path) as archive:
            self.skipped = list(archive.skipped)
            root = _root_of(archive.files)
            if root is None:
                raise SourceError(
                    f"{self.location} is no export from Slack in its JSON format: it has no"
                    " users.json and channels.json. Give the PATH of the zip file that Slack made."
                )
            people, channels, talks = (
                [it for name in names for it in self._objects(archive, root + name)]
                for names in (_PEOPLE, _CHANNELS, _TALKS)
            )
            workspace = Workspace(people, channels, talks, self._team)
            days = defaultdict(list)  # by channel
            for path, file in archive.files.items():
                if path.startswith(root) and _DAY.fullmatch(path.rpartition("/")[2]):
                    days[file.folder[len(root) :]].append(path)
            for folder in sorted(filter(None, days)):  # only one channel is in memory
                channel = workspace.channels.get(folder) or Channel("", f"#{folder}", folder)
                items = (it for day in days[folder] for it in self._objects(archive, day))
                messages = [*filter(None, map(workspace.message, items))]
                yield from workspace.notes(channel, messages)
            if workspace.ignored:
                self.skipped.append(f"{workspace.ignored:,} messages of bots and of Slack itself")

    def _objects(self, archive: Archive, path: str) -> list[dict[str, Any]]:
        """Return the objects in a file. Add a line to ``skipped`` if it can't be read."""
        try:
            items = load_json(archive.read(path)) if path in archive.files else []
            if not isinstance(items, list):
                raise Unreadable("no list of messages")
        except Unreadable as reason:
            self.skipped.append(f"{path}: {reason}")
            return []
        return as_dicts(items)


# --- Channels, people and messages, as exports and Slack's API describe them


class Channel(NamedTuple):
    id: str
    label: str  # "#garden", or the people in direct messages
    tag: str  # "" for direct messages


class Message(NamedTuple):
    moment: float  # seconds since 1970
    timestamp: str  # the same as text: Slack's own id of a message in a channel
    changed: float  # when it was edited, otherwise when it was written
    thread: str  # timestamp of the thread's first message; "" outside threads
    team: str  # id of the workspace, or ""
    author: str
    by_bot: bool
    text: str  # Markdown
    files: list[str]  # their names
    file_types: list[str]  # such as "image"


class Workspace:
    """The people and channels of a workspace, and how its messages become notes.

    :param people: the objects of ``users.json``, or of the API's method ``users.list``
    :param channels: those of ``channels.json`` or ``conversations.list``
    :param talks: those of direct messages, with the ids of their members
    :param team: the first part of the workspace's address, "" if it isn't known
    """

    def __init__(
        self,
        people: Iterable[dict[str, Any]],
        channels: Iterable[dict[str, Any]],
        talks: Iterable[dict[str, Any]] = (),
        team: str = "",
    ) -> None:
        self._team = team
        self.ignored = 0  # messages of bots and of Slack itself
        by_id = {as_text(person.get("id")): person for person in people}
        teams = (as_text(person.get("team_id")) for person in by_id.values())
        self._team_id = next(filter(None, teams), "")
        self._people = {key: _name(by_id[key]) for key in by_id if key}
        self._bots = {"USLACKBOT", *(key for key in by_id if by_id[key].get("is_bot"))}
        self.channels: dict[str, Channel] = {}  # by id, and by name, which folders have
        for is_talk, fields in [*((False, it) for it in channels), *((True, it) for it in talks)]:
            own = as_text(fields.get("id"))
            name = as_text(fields.get("name")) or own
            channel = Channel(own, f"#{name}", name)
            if is_talk:
                members = fields.get("members")
                known = filter(None, map(as_text, members if isinstance(members, list) else ()))
                talking = ", ".join(self._people.get(member, member) for member in known)
                channel = Channel(own, talking or name, "")
            # Folders of direct messages are named by id, and other folders may be.
            self.channels.setdefault(own, channel)
            self.channels[name] = channel
        self._tags = {channel.id: channel.tag for channel in self.channels.values()}

    def message(self, fields: dict[str, Any]) -> Message | None:
        """Return a message; None if it was generated by Slack, or deleted."""
        timestamp = _timestamp(fields.get("ts"))
        if not timestamp or as_text(fields.get("subtype")) not in _WRITTEN.split(" "):
            self.ignored += 1
            return None
        user = as_text(fields.get("user"))
        names = (self._people.get(user), _name(as_dict(fields.get("user_profile"))))
        author = next(filter(None, (*names, as_text(fields.get("username")), user)), "Somebody")
        by_app = bool(fields.get("bot_id")) and user not in self._people
        files = as_dicts(fields.get("files")) + as_dicts([fields.get("file")])
        named = ([as_text(file.get(key)) for key in ("title", "name")] for file in files)
        titles = (", ".join(dict.fromkeys(filter(None, each))) for each in named)
        edited = _timestamp(as_dict(fields.get("edited")).get("ts"))
        return Message(
            moment=float(timestamp),
            timestamp=timestamp,
            changed=max(float(timestamp), float(edited or 0)),
            thread=_timestamp(fields.get("thread_ts")),
            team=as_text(fields.get("team")),
            author=author,
            by_bot=fields.get("subtype") == "bot_message" or user in self._bots or by_app,
            text=to_markdown(_text(fields), self._people, self._tags),
            files=list(filter(None, titles)),
            file_types=[as_text(file.get("mimetype")).partition("/")[0] for file in files],
        )

    def notes(self, channel: Channel, messages: Iterable[Message]) -> Iterator[Note]:
        """Yield the conversations in a channel: its threads, and what else people wrote."""
        by_time = sorted({it.timestamp: it for it in messages}.values(), key=attrgetter("moment"))
        conversations = _conversations(by_time)
        self.ignored += len(by_time) - sum(map(len, conversations))
        for conversation in conversations:
            yield self._note(channel, conversation)

    def _note(self, channel: Channel, messages: Sequence[Message]) -> Note:
        # The first message of a thread can be older than the export.
        start = messages[0].thread or messages[0].timestamp
        place, team = quote(channel.id, safe=""), quote(messages[0].team or self._team_id, safe="")
        url = None
        if place and self._team:
            url = f"https://{self._team}.slack.com/archives/{place}/p{start.replace('.', '')}"
        elif place and team:
            url = f"slack://channel?team={team}&id={place}&message={start}"
        types = [file_type for message in messages for file_type in message.file_types]
        body = _body(messages)
        return Note(
            key=f"{channel.id or channel.label}/{start}",
            title=f"{channel.label}: {_beginning(messages)}".removesuffix(": "),
            body=body,
            tags=(Tag(channel.tag),) if channel.tag else (),
            created=timestamp_from_seconds(float(start)),
            modified=timestamp_from_seconds(max(message.changed for message in messages)),
            has_image="image" in types,
            has_file=any(file_type != "image" for file_type in types),
            has_code="```" in body,
            url=url,
        )


def _root_of(paths: Iterable[str]) -> str | None:
    """Return the export's folder in an archive: "" at the top, or "…/"; None without an export."""
    names = defaultdict(set)
    for path in paths:
        folder, slash, name = path.rpartition("/")
        names[folder + slash].add(name)
    kinds = (_PEOPLE, (*_CHANNELS, *_TALKS))
    roots = [at for at in names if all(names[at].intersection(kind) for kind in kinds)]
    return min(roots, key=len, default=None)


def _timestamp(value: Any) -> str:
    text = as_text(value)
    return text if _TIMESTAMP.fullmatch(text) else ""


def _name(person: dict[str, Any]) -> str:
    """Return a person's display name, else the real name, else the account's name."""
    profile = as_dict(person.get("profile"))
    keys = ("display_name", "real_name")
    names = [fields.get(key) for key in keys for fields in (profile, person)]
    return next(filter(None, (as_text(name).strip() for name in (*names, person.get("name")))), "")


def _text(message: dict[str, Any]) -> str:
    """Return a message's text, or else its blocks', and what its attachments add to that.

    Forms, apps and forwarded mail have only blocks; shared messages are attachments.
    """
    parts = [as_text(message.get("text")).strip() or _words(message.get("blocks"))]
    for attachment in as_dicts(message.get("attachments")):
        texts = {key: as_text(value).strip() for key, value in attachment.items()}
        blocks = [attachment.get(name) for name in ("blocks", "message_blocks")]
        texts["blocks"] = texts.get("text") or _words(blocks)
        pairs = as_dicts(attachment.get("fields"))
        both = ([as_text(it.get("title")), as_text(it.get("value"))] for it in pairs)
        fields = [": ".join(filter(None, pair)) for pair in both]
        said = [texts.get(key, "") for key in ("pretext", "title", "blocks")] + fields
        parts += said if any((texts["blocks"], *fields)) else [texts.get("fallback", "")]
    shown: list[str] = []
    for part in filter(None, parts):
        if not any(part in other for other in shown):
            shown.append(part)
    return "\n".join(shown)


# Elements that stand within a line, by the key of what they show and the form that it has in texts.
_INLINE = {
    "user": ("user_id", "<@{}>"),
    "channel": ("channel_id", "<#{}>"),
    "date": ("fallback", "{}"),
}
DEEPEST = 20


def _words(value: Any, depth: int = 0) -> str:
    """Return the words in blocks of any kind: https://docs.slack.dev/reference/block-kit."""
    if isinstance(value, list):
        parts = [_words(item, depth + 1) for item in value if depth < DEEPEST]
        is_line = any(as_dict(item).get("type") in (*_INLINE, "link", "emoji") for item in value)
        is_line = is_line or all(as_dict(item).get("type") == "text" for item in value)
        return ("" if is_line else "\n").join(filter(None, parts))
    if not isinstance(value, dict):
        return ""
    kind, text = as_text(value.get("type")), value.get("text")
    if kind in _INLINE:
        key, form = _INLINE[kind]
        return form.format(as_text(value.get(key))) if value.get(key) else ""
    if kind == "link" and (address := as_text(value.get("url"))):
        return f"<{address}|{as_text(text)}>" if text else f"<{address}>"
    if isinstance(text, str):
        return as_text(text) if kind == "mrkdwn" else escape(as_text(text))
    names = ("title", "text", "fields", "elements", "rows", "message", "blocks", "alt_text")
    found = (value.get(name) for name in names)
    parts = [as_text(part) or _words(part, depth + 1) for part in found if depth < DEEPEST]
    return "\n".join(filter(None, parts))


def to_markdown(text: str, people: Mapping[str, str], channels: Mapping[str, str]) -> str:
    """Convert Slack's markup to Markdown. ``people`` and ``channels`` map ids to names.

    A person is ``<@U123>``, a channel ``<#C123|garden>``, a link ``<https://…|words>``. Literal
    characters are escaped as ``&amp;``, ``&lt;`` and ``&gt;``.
    """
    text = _REFERENCE.sub(lambda match: _resolved(match[1], people, channels), text)
    # In Markdown, fences need lines of their own, and an unclosed one would swallow the rest.
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


def _conversations(messages: Sequence[Message]) -> list[list[Message]]:
    """Return the threads, and other messages by people, split at pauses and at midnight."""
    # In old exports, only the answers say that a message is the first of a thread.
    threads: dict[str, list[Message]] = {message.thread: [] for message in messages}
    others: list[list[Message]] = []
    for message in messages:
        now, last = message.moment, others[-1][-1].moment if others else -math.inf
        thread = message.thread or message.timestamp
        if thread in threads:
            threads[thread].append(message)
        elif message.by_bot:
            continue
        elif now - last <= PAUSE_SECONDS and last // 86400 == now // 86400:
            others[-1].append(message)
        else:
            others.append([message])
    return [each for each in threads.values() if not all(m.by_bot for m in each)] + others


def _body(messages: Sequence[Message]) -> str:
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


def _beginning(messages: Sequence[Message]) -> str:
    words = next((m.text or " ".join(m.files) for m in messages if m.text or m.files), "")
    line = " ".join((plain_text(words.replace("```", " ")) or words).split())
    return short_title(line, TITLE_LENGTH)
