"""Slack exports: ``sources/exports/slack.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import SourceError
from datasette_bear_search.sources.exports.slack import PAUSE_SECONDS, TITLE_LENGTH, SlackExport
from tests.support.bear_libraries import tag_names
from tests.support.exports import (
    ANY_JSON,
    NINE,
    SLACK,
    SLACK_USERS,
    damage,
    folder_of,
    read,
    says,
    zip_of,
)


def thread(minute: float = 0) -> dict[str, str]:
    return {"thread_ts": f"{NINE + minute * 60:.6f}"}


@pytest.fixture
def export(tmp_path: Path) -> Callable[..., SlackExport]:
    """Write an export with messages in #garden, or with whole files by path."""

    def write(*messages: Any, files: dict[str, Any] | None = None, **options: Any) -> SlackExport:
        day = {"garden/2024-05-01.json": list(messages)} if messages else {}
        path = zip_of(tmp_path / "export.zip", {**SLACK, **day, **(files or {})})
        return SlackExport(path, **options)

    return write


def only(source: SlackExport) -> Note:
    [note] = source.read()
    return note


# Notes


def test_a_thread_is_a_note(export) -> None:
    source = export(
        says("Who waters the tomatoes?", **thread()),
        says("I do.", 5, "U2", **thread()),
        says("Thanks!", 90, **thread()),
    )
    note = only(source)
    assert note.title == "#garden: Who waters the tomatoes?"
    assert (
        note.body
        == "**Ada:** Who waters the tomatoes?\n\n**Grace Hopper:** I do.\n\n**Ada:** Thanks!"
    )
    assert note.key == "C1/1714554000.000000"
    assert tag_names(note) == ["garden"]
    assert note.created == "2024-05-01T09:00:00Z"
    assert note.modified == "2024-05-01T10:30:00Z"


def test_a_thread_that_goes_on_another_day_is_one_note_in_its_order(export) -> None:
    source = export(
        files={
            "garden/2024-05-02.json": [says("And a third", 1500, **thread())],
            "garden/2024-05-01.json": [says("One", **thread()), says("Two", 1, **thread())],
        }
    )
    assert only(source).body == "**Ada:** One\n\nTwo\n\nAnd a third"


def test_the_first_message_of_a_thread_is_known_in_exports_of_old(export) -> None:
    source = export(says("Who?"), says("Me.", 300, "U2", **thread()))
    assert only(source).body == "**Ada:** Who?\n\n**Grace Hopper:** Me."


def test_a_thread_whose_beginning_is_not_exported_has_the_same_key(export) -> None:
    assert only(export(says("Late", 10, **thread()))).key == "C1/1714554000.000000"


def test_messages_that_follow_each_other_are_a_note(export) -> None:
    source = export(
        says("The peas are up"),
        says("Lovely", 5, "U2"),
        says("A thread of its own", 6, **thread(6)),
        says("Beans, too", 50),
        says("Anybody here?", 50 + PAUSE_SECONDS / 60 + 1),
    )
    notes = read(source)
    assert notes["#garden: The peas are up"].body == (
        "**Ada:** The peas are up\n\n**Grace Hopper:** Lovely\n\n**Ada:** Beans, too"
    )
    assert notes.keys() == {
        "#garden: The peas are up",
        "#garden: A thread of its own",
        "#garden: Anybody here?",
    }


def test_midnight_ends_a_conversation(export) -> None:
    files = {
        "garden/2024-05-01.json": [says("Good night", 14 * 60 + 59)],
        "garden/2024-05-02.json": [says("Good morning", 15 * 60 + 1)],
    }
    assert len(read(export(files=files))) == 2


def test_the_title_is_the_beginning_of_the_first_words(export) -> None:
    note = only(export(says("see <https://example.com|this page>\n" + "and on " * 50)))
    assert note.title.startswith("#garden: see this page and on and on")
    assert note.title.endswith("and…")
    assert len(note.title) <= len("#garden: ") + TITLE_LENGTH + 1


def test_an_edit_changes_the_date(export) -> None:
    note = only(export(says("Sorry", edited={"user": "U1", "ts": f"{NINE + 3600}.000000"})))
    assert note.modified == "2024-05-01T10:00:00Z"


def test_a_message_that_is_there_twice_counts_once(export) -> None:
    shared = says("Also in the channel", 3, subtype="thread_broadcast", **thread())
    source = export(says("First", **thread()), shared, shared)
    assert only(source).body == "**Ada:** First\n\nAlso in the channel"


def test_messages_of_bots_and_of_slack_itself_are_left_out(export) -> None:
    source = export(
        says("joined", subtype="channel_join"),
        says("Build failed", 1, "B1"),
        says("Reminder", 2, "USLACKBOT"),
        says("Deployed", 3, "U9", subtype="bot_message", bot_id="B9"),
        says("Posted", 4, "", bot_id="B9", username="poster"),
        says("By a person through an app", 5, "U1", bot_id="B9"),
        says("Alert", 6, "B1", **thread(6)),
    )
    assert only(source).body == "**Ada:** By a person through an app"
    assert source.skipped == ["6 messages of bots and of Slack itself"]


def test_a_bots_message_is_kept_if_people_replied_to_it(export) -> None:
    source = export(says("Build failed", 0, "B1", **thread()), says("Fixed.", 9, **thread()))
    assert only(source).body == "**robot:** Build failed\n\n**Ada:** Fixed."


def test_files_and_pictures_are_known_by_name(export) -> None:
    files = [
        {"title": "Plan of the beds", "name": "plan.png", "mimetype": "image/png"},
        {"name": "seeds.pdf", "mimetype": "application/pdf"},
    ]
    note = only(export(says("", files=files)))
    assert note.title == "#garden: Plan of the beds, plan.png seeds.pdf"
    assert note.body == "**Ada:** File: Plan of the beds, plan.png\n\nFile: seeds.pdf"
    assert (note.has_image, note.has_file) == (True, True)


def test_an_export_may_have_direct_messages_only(tmp_path: Path) -> None:
    files = {"users.json": SLACK_USERS, "dms.json": [{"id": "D1", "members": ["U1"]}]}
    path = zip_of(tmp_path / "dms.zip", {**files, "D1/2024-05-01.json": [says("Water")]})
    assert SlackExport.reads(str(path))
    assert only(SlackExport(path)).title == "Ada: Water"


def test_a_message_that_was_passed_on_says_what_that_said(export) -> None:
    attached = [{"text": "Sow in March", "title": "Almanac"}, {"fallback": "[no preview]"}]
    assert only(export(says("", attachments=attached))).body == (
        "**Ada:** Almanac\nSow in March\n[no preview]"
    )


def section(*elements: Any) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": [*elements]}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("blocks", "body"),
    [
        ([{"type": "rich_text", "elements": [section(words("Sow "), words("peas"))]}], "Sow peas"),
        ([{"type": "rich_text", "elements": [section(words("a <b> & c"))]}], "a <b> & c"),
        (
            [{"type": "rich_text", "elements": [section({"type": "user", "user_id": "U2"})]}],
            "@Grace Hopper",
        ),
        (
            [{"type": "rich_text", "elements": [section(
                words("see "), {"type": "link", "url": "https://a.example/", "text": "this"}
            )]}],
            "see [this](https://a.example/)",
        ),
        (
            [{"type": "rich_text", "elements": [
                {"type": "rich_text_list",
                 "elements": [section(words("one")), section(words("two"))]}
            ]}],
            "one\ntwo",
        ),
        ([{"type": "header", "text": {"type": "plain_text", "text": "Orders"}}], "Orders"),
        (
            [{"type": "section", "text": {"type": "mrkdwn", "text": "by <@U2>"},
              "fields": [{"type": "mrkdwn", "text": "a &amp; b"}]}],
            "by @Grace Hopper\na & b",
        ),
        ([{"type": "context", "elements": [{"type": "mrkdwn", "text": "later"}]}], "later"),
        ([{"type": "image", "alt_text": "The ridge", "title": words("Roof")}], "Roof\nThe ridge"),
        ([{"type": "divider"}, {"type": "actions", "elements": [{"type": "button"}]}], ""),
    ],
)  # fmt: skip
def test_a_message_without_text_says_what_its_blocks_say(
    export, blocks: list[Any], body: str
) -> None:
    assert only(export(says("", blocks=blocks))).body == f"**Ada:** {body}".strip()


@pytest.mark.parametrize(
    ("attachment", "added"),
    [
        ({"text": "quoted fennel"}, "\nquoted fennel"),
        ({"fallback": "[no preview]"}, "\n[no preview]"),
        ({"text": "shared"}, ""),
        ({"fields": [{"title": "Bed", "value": "north"}], "fallback": "x"}, "\nBed: north"),
        ({"blocks": [{"type": "header", "text": words("Roof")}]}, "\nRoof"),
        ({"message_blocks": [{"message": {"blocks": [section(words("Eaves"))]}}]}, "\nEaves"),
    ],
)
def test_attachments_add_to_a_message(export, attachment: dict[str, Any], added: str) -> None:
    assert only(export(says("I shared this", attachments=[attachment]))).body == (
        f"**Ada:** I shared this{added}"
    )


# Text


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("<@U2> and <@U2|gh>", "@Grace Hopper and @Grace Hopper"),
        ("<@U9|stranger> and <@U8>", "@stranger and @U8"),
        ("in <#C2> or <#C2|cooking> or <#C9>", "in #kitchen or #cooking or #C9"),
        ("<!here> <!channel|@channel> <!subteam^S1|@cooks>", "@here @channel @cooks"),
        ("<!date^1714555800^{date}|1 May>", "1 May"),
        ("<https://a.org/x|the page>", "[the page](https://a.org/x)"),
        ("<https://a.org/x> <http://a.org|a.org>", "https://a.org/x http://a.org"),
        ("<https://a.org/x_(y)|y>", "[y](https://a.org/x_%28y%29)"),
        ("<mailto:ada@a.org|ada@a.org> <tel:+123>", "ada@a.org +123"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2, &amp;lt;", "1 < 2 && 3 > 2, &lt;"),
        ("a &lt;@U2&gt; b", "a <@U2> b"),
        ("# is a number", "\\# is a number"),
        ("run ```x = 1\ny = 2``` now", "run\n```\nx = 1\ny = 2\n```\nnow"),
        ("one ``` is left over", "one  is left over"),
        ("half \ud83d a pair and a \0 NUL", "half \ufffd a pair and a  NUL"),
    ],
)
def test_slacks_markup_becomes_markdown(export, text: str, body: str) -> None:
    assert only(export(says(text))).body == f"**Ada:** {body}"


@pytest.mark.parametrize("text", ["```code```", "&gt; quote", "• one\n• two", "1. one"])
def test_block_markup_begins_a_new_line(export, text: str) -> None:
    assert only(export(says(text))).body.startswith("**Ada:**\n\n")


def test_code_is_known(export) -> None:
    assert only(export(says("```x = 1```"))).has_code
    assert not read(export(says("`x = 1`")))["#garden: x = 1"].has_code


# Places


def test_private_channels_and_direct_messages_are_known_by_who_talks(export) -> None:
    files = {
        "groups.json": [{"id": "G1", "name": "surprise"}],
        "mpims.json": [{"id": "G2", "name": "mpdm-ada--grace-1", "members": ["U1", "U2"]}],
        "dms.json": [{"id": "D1", "members": ["U1", "U7"]}],
        "surprise/2024-05-01.json": [says("one")],
        "mpdm-ada--grace-1/2024-05-01.json": [says("two")],
        "D1/2024-05-01.json": [says("three")],
        "unlisted/2024-05-01.json": [says("four")],
    }
    notes = read(export(files=files))
    assert {(title, note.key, *tag_names(note)) for title, note in notes.items()} == {
        ("#surprise: one", "G1/1714554000.000000", "surprise"),
        ("Ada, Grace Hopper: two", "G2/1714554000.000000"),
        ("Ada, U7: three", "D1/1714554000.000000"),
        ("#unlisted: four", "#unlisted/1714554000.000000", "unlisted"),
    }


def test_without_an_address_a_note_opens_in_the_app(export) -> None:
    assert only(export(says("Hi"))).url == "slack://channel?team=T1&id=C1&message=1714554000.000000"


@pytest.mark.parametrize(
    "team", ["Acme", "acme.slack.com", "https://acme.slack.com", "https://acme.slack.com/"]
)
def test_with_an_address_a_note_opens_in_the_browser(export, team: str) -> None:
    note = only(export(says("Hi"), team=team))
    assert note.url == "https://acme.slack.com/archives/C1/p1714554000000000"


@pytest.mark.parametrize("team", ["acme corp", "https://example.com/", "javascript:alert(1)//"])
def test_an_invalid_address_is_refused(export, team: str) -> None:
    with pytest.raises(SourceError, match="must be the address of a Slack workspace"):
        export(says("Hi"), team=team)


def test_a_channel_without_an_id_opens_nothing(export) -> None:
    assert only(export(files={"new/2024-05-01.json": [says("Hi")]})).url is None


# Files


def test_an_unpacked_export_is_read_alike(export, tmp_path: Path) -> None:
    source = export(says("Hi"))
    day = {"garden/2024-05-01.json": [says("Hi")]}
    folder = folder_of(tmp_path / "unpacked", {**SLACK, **day})
    assert SlackExport.reads(str(folder))
    assert list(SlackExport(folder).read()) == list(source.read())


def test_an_export_in_a_folder_of_the_archive_is_found(tmp_path: Path) -> None:
    files = {f"Acme export/{name}": value for name, value in SLACK.items()}
    files["Acme export/garden/2024-05-01.json"] = [says("Hi")]
    path = zip_of(tmp_path / "again.zip", files)
    assert SlackExport.reads(str(path))
    assert only(SlackExport(path)).title == "#garden: Hi"


def test_an_export_of_a_whole_organization_lists_its_people_elsewhere(tmp_path: Path) -> None:
    files = {"org_users.json": SLACK_USERS, "channels.json": SLACK["channels.json"]}
    folder = folder_of(tmp_path, {**files, "garden/2024-05-01.json": [says("Hi")]})
    assert SlackExport.reads(str(folder))
    assert only(SlackExport(folder)).body == "**Ada:** Hi"


def test_an_export_is_recognized_without_reading_it(export, tmp_path: Path) -> None:
    assert SlackExport.reads(export(says("Hi")).location)
    (tmp_path / "other.txt").write_text("text")
    others = [zip_of(tmp_path / "other.zip", {"a.txt": "x"}), tmp_path, tmp_path / "other.txt"]
    assert not any(SlackExport.reads(str(path)) for path in [*others, tmp_path / "nothing"])


def test_an_archive_that_is_not_an_export_gives_an_error(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "other.zip", {"a.txt": "x"})
    with pytest.raises(SourceError, match="no export from Slack"):
        list(SlackExport(path).read())


@pytest.mark.parametrize("content", [b"", b"{", b"[1, 2", b"\xff\xfe", b"9" * 5000, b"[" * 200_000])
def test_a_day_of_invalid_json_is_skipped(export, content: bytes) -> None:
    source = export(says("Hi"), files={"garden/2024-05-02.json": content})
    assert only(source).title == "#garden: Hi"
    [line] = source.skipped
    assert line.startswith("garden/2024-05-02.json: no valid JSON")


def test_a_day_that_holds_something_else_is_skipped(export) -> None:
    source = export(says("Hi"), files={"garden/2024-05-02.json": {"messages": []}})
    assert only(source).title == "#garden: Hi"
    assert source.skipped == ["garden/2024-05-02.json: no list of messages"]


def test_a_damaged_day_is_skipped(export) -> None:
    source = export(says("Hi"), files={"garden/2024-05-02.json": [says("Lost" * 100, 1500)]})
    damage(source.path, "garden/2024-05-02.json")
    assert only(source).title == "#garden: Hi"
    [line] = source.skipped
    assert line.startswith("garden/2024-05-02.json: damaged")


def test_people_whose_names_cannot_be_read_are_named_by_their_ids(export) -> None:
    source = export(says("Hi"), files={"users.json": b"{"})
    assert only(source).body == "**U1:** Hi"
    assert len(source.skipped) == 1


def test_the_state_changes_with_the_export_and_the_address(export) -> None:
    states = {export(says("Hi")).state(), export(says("Hi"), team="acme").state()}
    states.add(export(says("Hi there")).state())
    assert len(states) == 3


FIELDS = (
    "user text ts thread_ts subtype bot_id username user_profile files file attachments edited team"
    " replies".split()
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    people=ANY_JSON,
    channels=st.lists(st.dictionaries(st.sampled_from(["id", "name", "members"]), ANY_JSON)),
    message=st.dictionaries(st.sampled_from(FIELDS), ANY_JSON),
    messages=ANY_JSON,
)
def test_no_json_crashes_the_source(
    export, people: Any, channels: Any, message: dict[str, Any], messages: Any
) -> None:
    source = export(
        says("Hi"),
        {**says("Hi", 1), **message},
        message,
        files={
            "users.json": people,
            "channels.json": [{"id": "C1", "name": "garden"}, *channels],
            "dms.json": channels,
            "groups.json": people,
            "garden/2024-05-02.json": messages,
        },
    )
    notes = list(source.read())
    assert notes
    for note in notes:
        repr(vars(note)).encode()
        note.body.encode()
        note.title.encode()
