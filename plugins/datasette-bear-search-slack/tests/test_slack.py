"""Slack by its API, against a local server that answers as Slack documents it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from datasette.cli import cli
from datasette.plugins import pm

from tests.support.exports import NINE
from tests.support.index_files import rows, titles
from tests.support.keychain import Keychain, keychain_with
from tests.support.local_api import Answer, Request, local_api

plugin: Any = pytest.importorskip("datasette_bear_search_slack")

WORKSPACE = "https://acme.slack.com"
TOKEN = "xoxb-secret"
DAY = 86400


def ts(minute: float = 0, day: int = 0) -> str:
    return f"{NINE + minute * 60 + day * DAY:.6f}"


class Slack:
    """A workspace, and what is asked about it."""

    def __init__(self) -> None:
        self.people = [
            {"id": "U1", "name": "ann", "team_id": "T1", "profile": {"display_name": "Ann"}},
            {"id": "U2", "name": "bob", "team_id": "T1", "profile": {"display_name": "Bob"}},
        ]
        self.channels = [{"id": "C1", "name": "garden", "is_member": True}]
        self.messages: dict[str, list[dict[str, Any]]] = {"C1": []}
        self.threads: dict[str, list[dict[str, Any]]] = {}  # the replies, without the first message
        self.requests: list[Request] = []
        self.refusals: list[tuple[str, int, Answer]] = []  # a method, its calls before, the answer
        self.page_size = 999
        self.url = f"{WORKSPACE}/"

    def says(self, text: str, at: str, user: str = "U1", channel: str = "C1", **more: Any) -> dict:
        message = {"type": "message", "user": user, "text": text, "ts": at, **more}
        self.messages[channel].append(message)
        return message

    def reply(self, text: str, at: str, to: dict, user: str = "U2") -> dict:
        message = {"type": "message", "user": user, "text": text, "ts": at, "thread_ts": to["ts"]}
        self.threads.setdefault(to["ts"], []).append(message)
        self.count(to)
        return message

    def count(self, first: dict) -> None:
        replies = self.threads[first["ts"]]
        first |= {"thread_ts": first["ts"], "reply_count": len(replies)}
        first["latest_reply"] = replies[-1]["ts"]

    def asked(self, method: str = "") -> list[Request]:
        """Return the requests since the last call."""
        found = [each for each in self.requests if method in each.path]
        self.requests.clear()
        return found

    def answer(self, request: Request) -> Answer:
        method, parameters = request.path.removeprefix("/api/"), request.parameters
        self.requests.append(request)
        for refusal in self.refusals:
            refused, before, answer = refusal
            if refused == method and not before:
                self.refusals.remove(refusal)
                return answer
            if refused == method:
                self.refusals[self.refusals.index(refusal)] = (refused, before - 1, answer)
        if request.authorization != f"Bearer {TOKEN}":
            return Answer({"ok": False, "error": "invalid_auth"})
        if method == "auth.test":
            return Answer({"ok": True, "url": self.url, "team": "Acme", "team_id": "T1"})
        if method == "users.list":
            return self.page("members", self.people, parameters)
        if method == "conversations.list":
            assert parameters["types"] == "public_channel,private_channel"
            return self.page("channels", self.channels, parameters)
        messages = self.messages[parameters["channel"]]
        if method == "conversations.history":
            oldest = float(parameters["oldest"])
            found = [each for each in messages if float(each["ts"]) > oldest]
            found.sort(key=lambda each: float(each["ts"]), reverse=True)
            return self.page("messages", found, parameters)
        assert method == "conversations.replies"
        start = parameters["ts"]
        first = [each for each in messages if each["ts"] == start]
        if not first:
            return Answer({"ok": False, "error": "thread_not_found"})
        return self.page("messages", first + self.threads[start], parameters)

    def page(self, name: str, items: list, parameters: dict[str, str]) -> Answer:
        start = int(parameters.get("cursor") or 0)
        end = start + min(self.page_size, int(parameters["limit"]))
        cursor = str(end) if end < len(items) else ""
        answer = {"ok": True, name: items[start:end], "has_more": bool(cursor)}
        return Answer({**answer, "response_metadata": {"next_cursor": cursor}})


@pytest.fixture
def keychain() -> Iterator[Keychain]:
    with keychain_with({"acme.slack.com": TOKEN}) as found:
        yield found


@pytest.fixture
def slack(monkeypatch, keychain) -> Iterator[Slack]:
    found = Slack()
    is_there = pm.is_registered(plugin)
    if not is_there:
        pm.register(plugin)
    monkeypatch.delenv(plugin.VARIABLE, raising=False)
    with local_api(found.answer) as address:
        monkeypatch.setattr(plugin, "API", f"{address}api/")
        monkeypatch.setattr(plugin, "SECONDS_BETWEEN_TRIES", 0.01)
        yield found
    if not is_there:
        pm.unregister(plugin)


@pytest.fixture
def sidecar(tmp_path: Path) -> Path:
    return tmp_path / "notes.db"


@pytest.fixture
def index(slack, sidecar, tmp_path, monkeypatch):
    """Run ``datasette bear-index …``; return what it prints."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("DATASETTE_BEAR_SEARCH_CONFIG", raising=False)

    def run(*arguments: str, fails: bool = False) -> str:
        command = ["bear-index", *arguments, "--sidecar", str(sidecar), "--no-semantic"]
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == fails, result.output
        assert TOKEN not in result.output
        return " ".join(result.output.split())

    return run


def bodies(sidecar: Path) -> list[str]:
    return [body for (body,) in rows(sidecar, "select body from notes order by created")]


def test_threads_and_conversations_are_notes_as_in_an_export(slack, index, sidecar):
    first = slack.says("Who waters <#C1>, <@U2>?", ts())
    slack.reply("I do.", ts(5), first)
    slack.says("Frost tonight", ts(90))
    slack.says("Thanks!", ts(95), "U2")
    index(WORKSPACE)
    sql = "select key, title, body, tags, url from notes order by created"
    assert rows(sidecar, sql) == [
        (
            f"C1/{ts()}",
            "#garden: Who waters #garden, @Bob?",
            "**Ann:** Who waters #garden, @Bob?\n\n**Bob:** I do.",
            '["garden"]',
            f"https://acme.slack.com/archives/C1/p{ts().replace('.', '')}",
        ),
        (
            f"C1/{ts(90)}",
            "#garden: Frost tonight",
            "**Ann:** Frost tonight\n\n**Bob:** Thanks!",
            '["garden"]',
            f"https://acme.slack.com/archives/C1/p{ts(90).replace('.', '')}",
        ),
    ]
    sql = "select name, app, json_extract(options, '$.every') from sources"
    assert rows(sidecar, sql) == [("slack", "Slack", "1h")]


def test_all_pages_are_read(slack, index, sidecar):
    slack.page_size = 2
    slack.people += [{"id": f"U{n}", "name": f"person{n}"} for n in range(3, 9)]
    for number in range(2, 8):
        slack.channels.append({"id": f"C{number}", "name": f"more{number}", "is_member": True})
        slack.messages[f"C{number}"] = []
        for day in range(5):
            slack.says(f"Day {day}", ts(day=day), f"U{number}", f"C{number}")
    first = slack.says("Who?", ts())
    for number in range(2, 9):
        slack.reply(f"I, number {number}", ts(number), first, f"U{number}")
    index(WORKSPACE)
    assert len(titles(sidecar)) == 31
    [thread] = rows(sidecar, "select body from notes where key = ?", f"C1/{ts()}")
    assert thread[0].count("I, number") == 7
    assert "**person8:** I, number 8" in thread[0]


def test_only_channels_that_the_app_is_in_are_read(slack, index, sidecar, tmp_path):
    slack.channels += [
        {"id": "C2", "name": "closed", "is_member": False},
        {"id": "C3", "name": "roof", "is_member": True},
    ]
    slack.messages["C3"] = []
    slack.says("Tiles", ts(), channel="C3")
    slack.says("Frost", ts())
    index(WORKSPACE)
    assert titles(sidecar) == ["#garden: Frost", "#roof: Tiles"]
    config = tmp_path / "bear-search.yaml"
    config.write_text(
        f"sources:\n- kind: slack-workspace\n  location: {WORKSPACE}\n  name: slack\n"
        "  channels: ['#roof', closed]\n"
    )
    assert "channels that the app isn't in: closed" in index("--config", str(config))
    assert titles(sidecar) == ["#roof: Tiles"]


def test_only_the_last_days_are_listed_again(slack, index, sidecar):
    for day in range(100):
        first = slack.says(f"Day {day}", ts(day=day))
        slack.reply("Yes", ts(2, day=day), first)
    index(WORKSPACE)
    assert len(slack.asked("replies")) == 100
    slack.says("New", ts(day=101))
    index()
    [history] = [each for each in slack.requests if "history" in each.path]
    assert float(history.parameters["oldest"]) == (NINE + 69 * DAY) // DAY * DAY
    assert slack.asked("replies") == []
    assert len(titles(sidecar)) == 101


def test_edited_and_deleted_messages_are_noticed(slack, index, sidecar):
    first = slack.says("Who waters?", ts())
    slack.reply("I do", ts(1), first)
    slack.reply("Me too", ts(2), first)
    other = slack.says("Frost", ts(200))
    gone = slack.says("Never mind", ts(400))
    index(WORKSPACE)
    other |= {"text": "No frost", "edited": {"user": "U1", "ts": ts(210)}}
    slack.messages["C1"].remove(gone)
    slack.threads[first["ts"]].pop(0)
    slack.count(first)
    index()
    assert bodies(sidecar) == ["**Ann:** Who waters?\n\n**Bob:** Me too", "**Ann:** No frost"]
    # The first message of a thread with replies leaves this behind.
    first |= {"subtype": "tombstone", "user": "USLACKBOT", "text": "This message was deleted."}
    index()
    assert bodies(sidecar) == ["**Bob:** Me too", "**Ann:** No frost"]


def test_an_edited_reply_is_noticed_for_a_day(slack, index, sidecar, monkeypatch):
    first = slack.says("Who waters?", ts())
    answer = slack.reply("I do", ts(1), first)
    index(WORKSPACE)
    answer |= {"text": "I don't", "edited": {"user": "U2", "ts": ts(3)}}
    monkeypatch.setattr(plugin.time, "time", lambda: NINE + 3600)
    index()
    assert bodies(sidecar) == ["**Ann:** Who waters?\n\n**Bob:** I don't"]


def test_an_old_thread_is_read_again_if_a_reply_is_sent_to_the_channel(slack, index, sidecar):
    first = slack.says("Who waters?", ts())
    slack.reply("I do", ts(1), first)
    slack.says("Later", ts(day=90))
    index(WORKSPACE)
    again = slack.reply("And now?", ts(day=91), first)
    slack.messages["C1"].append({**again, "subtype": "thread_broadcast"})
    index()
    assert bodies(sidecar) == [
        "**Ann:** Who waters?\n\n**Bob:** I do\n\nAnd now?",
        "**Ann:** Later",
    ]


def test_a_limit_of_requests_is_waited_for(slack, index, sidecar):
    slack.says("Frost", ts())
    limit = Answer({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": "0"})
    slack.refusals = [("conversations.history", 0, limit), ("users.list", 0, Answer(b"<p>", 503))]
    index(WORKSPACE)
    assert titles(sidecar) == ["#garden: Frost"]


def test_a_long_limit_is_reported_and_the_next_reading_goes_on(slack, index, sidecar):
    for day in range(6):
        first = slack.says(f"Day {day}", ts(day=day))
        slack.reply("Yes", ts(2, day=day), first)
    limit = Answer({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": "3600"})
    slack.refusals = [("conversations.replies", 3, limit)]
    output = index(WORKSPACE, fails=True)
    assert "Slack takes no more requests for now (429, again in 3600 s)" in output
    assert len(titles(sidecar)) == 3
    slack.requests.clear()
    index()
    assert len(slack.asked("replies")) == 3
    assert len(titles(sidecar)) == 6


@pytest.mark.parametrize("error", ["token_expired", "token_revoked", "account_inactive"])
def test_a_bad_token_is_explained_and_the_notes_stay(slack, index, sidecar, error):
    slack.says("Frost", ts())
    index(WORKSPACE)
    slack.refusals = [("auth.test", 0, Answer({"ok": False, "error": error}))]
    output = index(fails=True)
    assert f"no longer accepts the token for {WORKSPACE} ({error})" in output
    assert "keyring set datasette-bear-search acme.slack.com" in output
    assert titles(sidecar) == ["#garden: Frost"]


def test_a_missing_permission_is_named(slack, index):
    refusal = {"ok": False, "error": "missing_scope", "needed": "users:read", "provided": "x"}
    slack.refusals = [("users.list", 0, Answer(refusal))]
    assert "lacks the permission users:read" in index(WORKSPACE, fails=True)


def test_a_token_of_another_workspace_is_not_used(slack, index, keychain):
    slack.url = "https://other.slack.com/"
    output = index(WORKSPACE, fails=True)
    assert "The token for https://acme.slack.com belongs to https://other.slack.com/" in output
    keychain.secrets.clear()
    assert "There is no token for https://acme.slack.com" in index(WORKSPACE, fails=True)


def test_the_token_can_be_in_the_environment_and_is_nowhere_else(
    slack, index, sidecar, keychain, monkeypatch, tmp_path
):
    keychain.secrets.clear()
    monkeypatch.setenv(plugin.VARIABLE, TOKEN)
    slack.says("Frost", ts())
    index(WORKSPACE)
    assert titles(sidecar) == ["#garden: Frost"]
    for file in filter(Path.is_file, tmp_path.rglob("*")):
        assert TOKEN.encode() not in file.read_bytes()


def test_a_channel_that_is_closed_meanwhile_keeps_its_notes(slack, index, sidecar):
    slack.says("Frost", ts())
    index(WORKSPACE)
    refusal = Answer({"ok": False, "error": "not_in_channel"})
    slack.refusals = [("conversations.history", 0, refusal)]
    assert "#garden can't be read now (not_in_channel)" in index()
    assert titles(sidecar) == ["#garden: Frost"]


def test_a_channel_that_the_app_left_leaves_the_index(slack, index, sidecar):
    slack.channels.append({"id": "C2", "name": "roof", "is_member": True})
    slack.messages["C2"] = []
    slack.says("Tiles", ts(), channel="C2")
    slack.says("Frost", ts())
    index(WORKSPACE)
    slack.channels[0]["is_member"] = False
    index()
    assert titles(sidecar) == ["#roof: Tiles"]


def test_a_network_that_is_gone_is_explained_and_the_notes_stay(slack, index, sidecar, monkeypatch):
    slack.says("Frost", ts())
    index(WORKSPACE)
    monkeypatch.setattr(plugin, "API", "http://127.0.0.1:9/")
    output = index(fails=True)
    assert "Slack can't be reached" in output
    assert "fault" not in output
    assert titles(sidecar) == ["#garden: Frost"]
