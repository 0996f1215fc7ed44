"""The channels of a Slack workspace → notes, by Slack's API. Reads only.

Messages become notes as those of a Slack export do. A channel is listed from some days before the
last message that the index has, so that edited and deleted messages are noticed there.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from http.client import HTTPException
from itertools import groupby
from typing import Any, NamedTuple

import keyring
from datasette import hookimpl
from keyring.errors import KeyringError
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from datasette_bear_search.notes import Note, counted
from datasette_bear_search.sources import (
    Incremental,
    Interrupted,
    SourceError,
    Unchanged,
    Unreadable,
    checked_option,
    checked_texts,
)
from datasette_bear_search.sources.exports.slack import Channel, Message, Workspace
from datasette_bear_search.sources.files.states import digest

# Where the token is: in the environment, else in the keychain, under the workspace's address.
VARIABLE = "DATASETTE_BEAR_SEARCH_SLACK_TOKEN"
SERVICE = "datasette-bear-search"

API = "https://slack.com/api/"  # another address in tests
# Seconds to wait for one answer in all, if Slack asks for patience; then the rest waits for the
# next reading.
LONGEST_WAIT = 120.0
SECONDS_BETWEEN_TRIES = 2.0  # doubled each time, if Slack doesn't say how long
MESSAGES_PER_PAGE = 999  # the most that Slack gives
CHANNELS_PER_PAGE = 200  # what Slack recommends
# A thread is read again as long as its last reply is younger, because only reading it tells whether
# a reply was edited.
SECONDS_TO_EDIT = 24 * 60 * 60
DAY = 24 * 60 * 60
# Changes whenever the same messages give other notes.
VERSION = 1

_LOCATION = re.compile(r"https://([\w-]+(?:\.enterprise)?)\.slack\.com/?", re.ASCII)
_BAD_TOKEN = "account_inactive invalid_auth not_authed token_expired token_revoked".split()
# A single channel may be closed to the app between two requests.
_NOT_READABLE = ("channel_not_found", "not_in_channel", "thread_not_found")


class _Listed(NamedTuple):
    """A message of a channel's list."""

    moment: float
    message: Message | None  # None if it was deleted, or Slack wrote it
    thread: str  # timestamp of the thread that it belongs to; "" if to none
    stamp: str = ""  # of the thread, if this is its first message
    last_reply: float = math.inf


class Slack(Incremental):
    """A Slack workspace's channels that an app of yours is in: https://NAME.slack.com"""

    app = "Slack"
    heading_link = ""
    default_name = "slack"
    default_every = "1h"

    def __init__(
        self,
        location: str,
        name: str = "",
        *,
        channels: str | Sequence[str] = (),
        recheck_days: int = 30,
    ) -> None:
        match = _LOCATION.fullmatch(location)
        if not match:
            raise SourceError(
                f"{location} is no Slack workspace. Give its address, such as"
                " https://acme.slack.com."
            )
        self.location, self.name = location, name or self.default_name
        self.skipped: list[str] = []
        self._team = match[1].lower()
        names = checked_texts("channels", channels, "a list of names of channels")
        self._wanted = {each.removeprefix("#") for each in names}
        is_number = isinstance(recheck_days, int) and recheck_days >= 0
        self._recheck = checked_option("recheck_days", recheck_days, is_number, "a number of days")

    @classmethod
    def reads(cls, location: str) -> bool:
        return bool(_LOCATION.fullmatch(location))

    def state(self) -> str:
        return ""  # Slack tells what is new only by listing it

    def read_changed(
        self, known: Mapping[str, str], *, include_trashed: bool = False
    ) -> Iterator[Note | Unchanged]:
        self.skipped = []
        self._client = WebClient(self._token(), base_url=API, timeout=60)
        address = str(self._ask("auth.test").get("url", ""))
        if address.rstrip("/").lower() != self.location.rstrip("/").lower():
            raise SourceError(
                f"The token for {self.location} belongs to {address or 'another workspace'}. Store"
                " the token of this workspace in its place."
            )
        people = list(self._all("users.list", "members", limit=CHANNELS_PER_PAGE))
        types = "public_channel,private_channel"
        listed = self._all("conversations.list", "channels", types=types, limit=CHANNELS_PER_PAGE)
        channels = list(listed)
        workspace = Workspace(people, channels, team=self._team)
        mine = [each for each in channels if each.get("is_member")]
        if missing := self._wanted - {str(each.get("name")) for each in mine}:
            self.skipped.append(f"channels that the app isn't in: {', '.join(sorted(missing))}")
        if not mine:
            raise SourceError(
                f"The app is in no channel of {self.location}. In each channel that is to be"
                " searched, write: /invite @NAME-OF-THE-APP"
            )
        for each in mine:
            if not self._wanted or each.get("name") in self._wanted:
                yield from self._channel(workspace, workspace.channels[each["id"]], known)
        if workspace.ignored:
            messages = counted(workspace.ignored, "message")
            self.skipped.append(f"{messages} of bots and of Slack itself")

    def _channel(
        self, workspace: Workspace, channel: Channel, known: Mapping[str, str]
    ) -> Iterator[Note | Unchanged]:
        prefix = f"{channel.id}/"
        mine = {key: float(key.removeprefix(prefix)) for key in known if key.startswith(prefix)}
        # Conversations end at midnight (UTC), so that none is cut in two.
        oldest = max(mine.values(), default=0.0) - self._recheck * DAY
        oldest = max(oldest // DAY * DAY, 0.0)
        listed: dict[float, _Listed] = {}
        try:
            for fields in self._all(
                "conversations.history",
                "messages",
                channel=channel.id,
                oldest=f"{oldest:.6f}",
                limit=MESSAGES_PER_PAGE,
            ):
                item = _listed(workspace, channel, fields)
                listed[item.moment] = item
        except Unreadable as reason:
            self.skipped.append(f"{channel.label} can't be read now ({reason})")
            yield from map(Unchanged, mine)
            return
        seen: set[str] = set()
        # Oldest first: after an interruption, the next reading begins with the last day that the
        # index has.
        for _, items in groupby(sorted(listed.values()), lambda item: item.moment // DAY):
            messages: list[Message] = []
            stamps: dict[str, str] = {}
            for item in items:
                key = prefix + item.thread
                if not item.thread:
                    messages += filter(None, [item.message])
                elif key not in seen:
                    seen.add(key)
                    is_settled = time.time() - item.last_reply > SECONDS_TO_EDIT
                    if is_settled and key in known and known[key] == item.stamp:
                        yield Unchanged(key)
                    else:
                        messages += self._thread(workspace, channel, item.thread)
                        stamps[key] = item.stamp
            for note in workspace.notes(channel, messages):
                yield replace(note, stamp=stamps.get(note.key) or note.fingerprint())
        yield from (Unchanged(key) for key, at in mine.items() if at < oldest and key not in seen)

    def _thread(self, workspace: Workspace, channel: Channel, thread: str) -> list[Message]:
        place = {"channel": channel.id, "ts": thread, "limit": MESSAGES_PER_PAGE}
        with suppress(Unreadable):  # it was deleted in the meantime
            replies = self._all("conversations.replies", "messages", **place)
            return [*filter(None, map(workspace.message, replies))]
        return []

    # --- Slack's API

    def _token(self) -> str:
        token, account = os.environ.get(VARIABLE), f"{self._team}.slack.com"
        with suppress(KeyringError):  # this machine has no keychain, or it is locked
            token = token or keyring.get_password(SERVICE, account)
        if not token:
            raise SourceError(
                f"There is no token for {self.location} that can be read here. Run: keyring set"
                f" {SERVICE} {account}, or set the environment variable {VARIABLE}."
            )
        return token.strip()

    def _all(self, method: str, items: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield the items of all pages of an answer."""
        cursor = ""
        while True:
            page = self._ask(method, **parameters, **({"cursor": cursor} if cursor else {}))
            yield from page.get(items) or []
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return Slack's answer; wait if it asks for patience. Raise SourceError, Unreadable."""
        waited, pause = 0.0, SECONDS_BETWEEN_TRIES
        while True:
            try:
                return self._client.api_call(method, http_verb="GET", params=parameters).data
            except SlackApiError as error:
                status = error.response.status_code
                if status != 429 and status < 500:
                    raise self._explained(method, error.response) from None
                headers = {key.lower(): value for key, value in error.response.headers.items()}
                asked = str(headers.get("retry-after", ""))
                wait = max(float(asked) if asked.isdecimal() else 0.0, pause)
            except (SlackClientError, OSError, HTTPException) as error:
                raise Interrupted(
                    f"Slack can't be reached ({type(error).__name__}). What the index has of this"
                    " source stays searchable; it is read when there is a connection again."
                ) from None
            if waited + wait > LONGEST_WAIT:
                raise Interrupted(
                    f"Slack takes no more requests for now ({status}, again in {wait:.0f} s). What"
                    " was read until then is indexed; the next reading goes on from there."
                )
            time.sleep(wait)
            waited, pause = waited + wait, pause * 2

    def _explained(self, method: str, answer: Any) -> Exception:
        reason = str(answer.get("error") or answer.status_code)
        if reason in _NOT_READABLE:
            return Unreadable(reason)
        if reason in _BAD_TOKEN:
            return SourceError(
                f"Slack no longer accepts the token for {self.location} ({reason}): it has expired"
                " or was revoked. Install the app again at https://api.slack.com/apps, and store"
                f" its new token with: keyring set {SERVICE} {self._team}.slack.com. Until then,"
                " its notes in the index stay searchable."
            )
        if reason == "missing_scope":
            return SourceError(
                f"Slack's app lacks the permission {answer.get('needed')}. Add it at"
                " https://api.slack.com/apps, under OAuth & Permissions, and install the app again."
            )
        return SourceError(f"Slack refuses to answer {method}: {reason}.")


def _listed(workspace: Workspace, channel: Channel, fields: dict[str, Any]) -> _Listed:
    moment, thread = str(fields.get("ts", "0")), str(fields.get("thread_ts") or "")
    message = workspace.message(fields)
    if thread != moment:
        return _Listed(float(moment), message, thread)
    # What changes with the thread, as far as a channel's list tells.
    facts = [fields.get(key) for key in "text blocks files edited reply_count latest_reply".split()]
    stamp = digest((VERSION, channel, facts), size=8)
    return _Listed(float(moment), message, thread, stamp, float(fields.get("latest_reply", "inf")))


@hookimpl
def bear_search_register_note_sources() -> Mapping[str, type]:
    return {"slack-workspace": Slack}
