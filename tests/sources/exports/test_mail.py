"""Mail in mbox files: ``sources/exports/mail.py``."""

from __future__ import annotations

import os
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from datasette_bear_search.notes import Note
from datasette_bear_search.sources.base import SourceError, Unchanged
from datasette_bear_search.sources.exports import mail
from datasette_bear_search.sources.exports.mail import Mailbox
from datasette_bear_search.sources.exports.takeout import Takeout
from datasette_bear_search.sources.registry import kind_of
from tests.support.bear_libraries import tag_names
from tests.support.exports import folder_of, read, zip_of


def message(
    number: int, text: str = "It leaks", *before: int, html: str = "", **said: Any
) -> bytes:
    """Return a message as Gmail exports it. In names of headers, "_" stands for "-"."""
    made = EmailMessage()
    headers = {
        "From": "Adä Lovelace <ada@example.org>",
        "Date": f"Wed, {number:02} May 2024 11:30:00 +0200",
        "Subject": "Re: " * bool(before) + "The roof of Zoë",
        "Message-ID": f"<{number}@example.org>",
        **(
            {"References": " ".join(f"<{other}@example.org>" for other in before)} if before else {}
        ),
    }
    files = said.pop("files", ())
    for name, value in {**headers, **said}.items():
        if value:
            made[name.replace("_", "-")] = value
    if text:
        made.set_content(text)
    if html:
        (made.add_alternative if text else made.set_content)(html, subtype="html")
    for name in files:
        kind = ("image", "png") if name.endswith("png") else ("application", "pdf")
        data = os.urandom(3_000_000) if name == "long.png" else b"x"
        made.add_attachment(data, maintype=kind[0], subtype=kind[1], filename=name)
    lines = made.as_bytes().replace(b"\nFrom ", b"\n>From ").rstrip(b"\n")
    return b"From 179@xxx Wed May 01 09:30:00 +0000 2024\n" + lines + b"\n\n"


def mbox(path: Path, *messages: bytes, name: str = "Work.mbox") -> Path:
    return folder_of(path, {name: b"".join(messages)}) / name


def only(path: Path, *messages: bytes, **options: bool) -> Note:
    [note] = Mailbox(mbox(path, *messages)).read(**options)
    assert isinstance(note, Note)
    return note


def test_a_thread_is_a_note(tmp_path: Path) -> None:
    answer = "Badly.\n\nOn 1 May 2024 at 11:30, Adä Lovelace wrote:\n> It leaks\n>> again\n\nBob"
    note = only(
        tmp_path,
        message(2, answer, 1, From="bob@example.org"),  # Gmail's order is random
        message(1, "It leaks\n\n# of buckets: 3\n\nFrom here to there"),
    )
    assert (note.key, note.title) == ("<1@example.org>", "The roof of Zoë")
    assert note.body == (
        "**Adä Lovelace, 2024-05-01:**\n\nIt leaks\n\n\\# of buckets: 3\n\nFrom here to there\n\n"
        "**bob@example.org, 2024-05-02:**\n\nBadly.\n\nBob\n\n"
        "People: bob@example.org, Adä Lovelace <ada@example.org>"
    )
    assert (note.created, note.modified) == ("2024-05-01T09:30:00Z", "2024-05-02T09:30:00Z")
    assert tag_names(note) == ["Work"]


def test_messages_belong_together_by_their_ids_or_by_gmails(tmp_path: Path) -> None:
    path = mbox(
        tmp_path,
        message(3, "c", 1, 2),
        message(4, "d", Subject="Other", In_Reply_To="<2@example.org>"),
        message(5, "e"),
        message(5, "e"),  # exported twice, for another label
        message(6, "f", X_GM_THRID="1797", Message_ID=""),
        message(7, "g", X_GM_THRID="1797"),
    )
    notes = {note.key: note for note in Mailbox(path).read()}
    counts = {key: note.body.count("2024-05-") for key, note in notes.items()}
    assert counts == {"<1@example.org>": 2, "<5@example.org>": 1, "1797": 2}
    assert notes["1797"].url == "https://mail.google.com/mail/#all/705"


def test_gmails_labels_are_tags_pins_spam_and_trash(tmp_path: Path) -> None:
    labels = [
        "Archived,Opened,=?UTF-8?Q?Caf=C3=A9/Plans?=,Starred,Category Updates",
        "Spam",
        "Trash,Work",
    ]
    path = mbox(tmp_path, *(message(i, X_Gmail_Labels=label) for i, label in enumerate(labels, 1)))
    [note] = Mailbox(path).read()
    assert (tag_names(note), note.pinned) == (["Café/Plans"], True)
    [_, trashed] = Mailbox(path).read(include_trashed=True)
    assert trashed.trashed


@pytest.mark.parametrize(
    ("trash", "spam", "others"),
    [
        ("Bin", "Spam", "Inbox,Unread,Category Promotions"),
        ("Corbeille", "Spam", "Boîte de réception,Non lus,Catégorie : Achats"),
        ("Papelera", "Spam", "Recibidos,No leídos,Categoría: Promociones"),
        ("Cestino", "Spam", "Posta in arrivo,Non letti"),
        ("Lixeira", "Spam", "Caixa de entrada,Não lidas,Abertos"),
        ("Prullenbak", "Spam", "Postvak IN,Ongelezen,Geopend"),
        ("Kosz", "Spam", "Odebrane,Nieprzeczytane,Otwarte"),
        ("Корзина", "Спам", "Входящие,Непрочитанные,Открытые"),
        ("Кошик", "Спам", "Вхідні,Непрочитані"),
        ("Papperskorgen", "Skräppost", "Inkorgen,Olästa,Öppnade"),
        ("Roskakori", "Roskaposti", "Saapuneet,Lukemattomat"),
        ("Çöp kutusu", "İstenmeyen", "Gelen Kutusu,Okunmamış"),
        ("Κάδος απορριμμάτων", "Ανεπιθύμητα", "Εισερχόμενα"),
        ("אשפה", "ספאם", "דואר נכנס"),
        ("المهملات", "غير مرغوب فيها", "البريد الوارد"),
        ("ゴミ箱", "迷惑メール", "受信トレイ,未読,開封済み"),
        ("휴지통", "스팸함", "받은편지함,읽지않음"),
        ("已删除邮件", "垃圾邮件", "收件箱,未读"),
        ("垃圾桶", "垃圾郵件", "收件匣,未讀,已開啟"),
        ("Thùng rác", "Thư rác", "Hộp thư đến,Chưa đọc"),
        ("ถังขยะ", "จดหมายขยะ", "กล่องจดหมาย"),
    ],
)
def test_gmails_own_labels_are_known_in_its_languages(
    tmp_path: Path, trash: str, spam: str, others: str
) -> None:
    labels = f"{others},Roof", f"{trash},Roof", f"{spam},{others}"
    path = mbox(tmp_path, *(message(i, X_Gmail_Labels=each) for i, each in enumerate(labels, 1)))
    source = Mailbox(path)
    [note] = source.read()
    assert (note.key, tag_names(note), source.skipped) == ("<1@example.org>", ["Roof"], [])
    assert [note.trashed for note in source.read(include_trashed=True)] == [False, True]


def test_a_label_with_a_comma_is_one_tag(tmp_path: Path) -> None:
    note = only(tmp_path, message(1, X_Gmail_Labels='Inbox,"Culture, associations",Bin there'))
    assert tag_names(note) == ["Culture, associations", "Bin there"]


def test_a_line_says_that_no_label_is_known_as_trash(tmp_path: Path) -> None:
    source = Mailbox(mbox(tmp_path, message(1, X_Gmail_Labels="Ruscha,Roof")))
    assert len([*source.read()]) == 1
    assert "no message has a label that is known as Gmail's trash" in source.skipped[0]


@pytest.mark.parametrize(
    "name",
    [
        *("Trash.mbox", "Papierkorb.mbox", "Deleted Messages.mbox/mbox", "Junk.mbox"),
        *("削除済みメッセージ.mbox", "סל האשפה.mbox", "Indesiderata.mbox"),
        *("Éléments supprimés.mbox", "Deleted Items.mbox", "Trash/2024.mbox", "垃圾邮件.mbox"),
        *("Trash.sbd/2024.mbox", "Papierkorb.mbox/2024.mbox/mbox", ".INBOX.Trash/cur/1.M1.host"),
    ],
)
def test_the_trash_of_other_programs_is_left_out(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path / "m", {name: message(1), "Roof.mbox": message(2)})
    [note] = Mailbox(folder).read()
    assert note.key == "<2@example.org>"


@pytest.mark.parametrize("flags", [{"X_Mozilla_Status": "0009"}, {"X_Status": "AD"}])
def test_messages_that_are_only_hidden_as_deleted_are_in_the_trash(
    tmp_path: Path, flags: dict[str, str]
) -> None:
    path = mbox(tmp_path, message(1, **flags), message(2, X_Mozilla_Status="0001", X_Status="A"))
    assert [note.key for note in Mailbox(path).read()] == ["<2@example.org>"]


@pytest.mark.parametrize(
    "separator",
    [
        "\n\nFrom \n",
        "\n\nFrom - \n",
        "\nFrom - Wed May 01 09:30:00 2024\n",
        "\nFrom ada@example.org Wed May  1 2024\n",
        "\r\nFrom ???@???\r\n",
        "\n\nFrom - \nContent-Type: text/plain\n",
        "\n\nFrom MAILER-DAEMON Wed May  1 09:30:00 2024\nX-Folded: a\n\tb\nStatus: RO\n",
    ],
)
def test_messages_are_separated_as_programs_separate_them(tmp_path: Path, separator: str) -> None:
    texts = [f"Message-ID: <{n}@x>\nSubject: {n}\n\nText {n}".encode() for n in range(3)]
    path = mbox(tmp_path, separator.lstrip().encode() + separator.encode().join(texts))
    assert [note.title for note in Mailbox(path).read()] == ["0", "1", "2"]


@pytest.mark.parametrize(
    "line",
    [
        "From my side, some queries at 10:30:",
        "From Monday on:\nNote: the key is below the mat",
        "From 10:00 to 11:00\n\nDate: tomorrow",
        "From here\nit is far",
    ],
)
def test_a_line_that_begins_like_a_separator_stays_in_its_message(
    tmp_path: Path, line: str
) -> None:
    path = mbox(tmp_path, f"From - 1\nSubject: x\n\nBefore\n\n{line}\n\nAfter".encode())
    [note] = Mailbox(path).read()
    assert " ".join(f"Before {line} After".split()) in " ".join(note.body.split())


def test_people_files_forwarded_messages_and_invitations_are_words(tmp_path: Path) -> None:
    made = EmailMessage()
    made["From"], made["To"] = "Ada <ada@example.org>", "Bob Roe <bob@example.org>"
    made["Cc"], made["Subject"] = "eve@example.org", "Fwd: plans"
    made.set_content("See below")
    inner = EmailMessage()
    inner["From"], inner["Subject"] = "Zoë <zoe@example.org>", "Gutters"
    inner.set_content("They are full")
    made.add_attachment(inner)
    event = "BEGIN:VEVENT\r\nSUMMARY:Roof\r\n  party\r\nLOCATION;LANGUAGE=en:Attic\r\nEND:VEVENT"
    made.add_attachment(event, subtype="calendar", filename="invite.ics")
    made.add_attachment(b"x", maintype="image", subtype="png", filename="Dachstück.png")
    note = only(tmp_path, b"From -\n" + made.as_bytes())
    for words in (
        *("ada@example.org", "Bob Roe <bob@example.org>", "eve@example.org", "They are full"),
        *("Zoë <zoe@example.org>: Gutters", "Roof party", "Attic", "File: Dachstück.png"),
    ):
        assert words in note.body


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("Advice: hire: Ada", "Advice: hire: Ada"),
        ("RE: AW[2]: Roof", "Roof"),
        ("回复：屋顶", "屋顶"),
        ("Ответ: Крыша", "Крыша"),
        ("Réf : Toit", "Toit"),
        ("답장: 지붕", "지붕"),
    ],
)
def test_only_the_marks_of_a_reply_are_cut_from_a_subject(
    tmp_path: Path, subject: str, title: str
) -> None:
    assert only(tmp_path, f"From -\nSubject: {subject}\n\nx".encode()).title == title


def test_a_text_that_has_a_name_is_read(tmp_path: Path) -> None:
    head = 'Subject: x\nContent-Type: text/plain; name="note.txt"'
    assert "It leaks" in only(tmp_path, f"From -\n{head}\n\nIt leaks".encode()).body


def test_headers_in_bare_utf_8_are_read(tmp_path: Path) -> None:
    head = "From: Zoë <zoe@example.org>\nSubject: Café für alle\nX-Gmail-Labels: Entwürfe,Büro"
    note = only(tmp_path, f"From -\n{head}\n\nx".encode())
    assert (note.title, tag_names(note)) == ("Café für alle", ["Büro"])


@pytest.mark.parametrize(
    "quotation",
    [
        "-----Original Message-----\nFrom: Ada\nSent: Monday\n\nIt leaks",
        "-----Ursprüngliche Nachricht-----\nVon: Ada\n\nIt leaks",
        f"{'_' * 32}\nFrom: Ada\nSent: Monday\n\nIt leaks",
        "On Wed, 1 May 2024 at 11:30, Ada Lovelace <ada@example.org>\nwrote:\n\n> It leaks",
    ],
)
def test_what_a_reply_quotes_is_not_repeated(tmp_path: Path, quotation: str) -> None:
    note = only(tmp_path, message(1), message(2, f"Badly.\n\n{quotation}", 1))
    assert note.body.count("It leaks") == 1
    assert "Badly.\n\nPeople:" in note.body


@pytest.mark.parametrize(
    ("said", "body", "picture", "file"),
    [
        ({"html": "<p>It <b>leaks</b></p>"}, "It leaks", False, False),
        ({"text": "", "html": "<p>It <b>leaks</b></p>"}, "It **leaks**", False, False),
        ({"files": ["a.png"]}, "It leaks\n\nFile: a.png", True, False),
        # The message is cut off after the words.
        ({"files": ["long.png", "a.pdf"]}, "It leaks\n\nFile: long.png", True, False),
        ({"files": ["a.pdf"]}, "It leaks\n\nFile: a.pdf", False, True),
    ],
)
def test_the_words_of_a_message_are_read_and_its_files_known(
    tmp_path: Path, said: dict[str, Any], body: str, picture: bool, file: bool
) -> None:
    note = only(tmp_path, message(1, **said))
    text = note.body.partition(":**\n\n")[2]
    assert text == f"{body}\n\nPeople: Adä Lovelace <ada@example.org>"
    assert (note.has_image, note.has_file) == (picture, file)


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-15", "iso-2022-jp", "no-such"])
def test_a_message_is_read_in_its_encoding(tmp_path: Path, encoding: str) -> None:
    text = "屋根 leaks" if encoding != "iso-8859-15" else "Dach für 3 €"
    data = text.encode("utf-8" if encoding == "no-such" else encoding)
    head = f"Subject: x\nContent-Type: text/plain; charset={encoding}\n\n".encode()
    note = only(
        tmp_path, b"From - Wed May 01 09:30:00 2024\r\n" + head.replace(b"\n", b"\r\n") + data
    )
    assert text in note.body
    assert note.title == "x"


def test_only_threads_with_a_new_message_are_read_again(tmp_path: Path) -> None:
    path = mbox(tmp_path, message(1), message(2))
    known = {note.key: note.stamp for note in Mailbox(path).read()}
    mbox(tmp_path, message(1), message(2), message(3, "c", 2))
    again = [*Mailbox(path).read_changed(known)]
    assert again[0] == Unchanged("<1@example.org>")
    assert [note.key for note in again[1:]] == ["<2@example.org>"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_for_each_message_is_read_like_a_mailbox(tmp_path: Path, packed: bool) -> None:
    first, answer = (text.partition(b"\n")[2] for text in (message(1), message(2, "Badly", 1)))
    files = {"a.eml": b"\xef\xbb\xbf" + first, "Roof/b.eml": answer, "Papierkorb/c.eml": message(3)}
    place = (zip_of if packed else folder_of)(tmp_path / "mail.zip", files)
    assert kind_of(str(place)) == "mail"
    [note] = Mailbox(place).read()
    assert (note.title, tag_names(note)) == ("The roof of Zoë", ["Roof"])
    assert "It leaks" in note.body
    assert "Badly" in note.body


def test_a_message_that_says_neither_who_nor_when_has_no_line_above_it(tmp_path: Path) -> None:
    [note] = Mailbox(folder_of(tmp_path, {"a.eml": b"Subject: Roof\n\nIt leaks."})).read()
    assert (note.title, note.body) == ("Roof", "It leaks.")


def test_a_maildir_says_what_was_thrown_away(tmp_path: Path) -> None:
    names = ("new/1.M1.host", "cur/2.M2.host:2,RS", "cur/3.M3.host:2,ST")
    messages = {name: message(int(name[4]), Subject=name[4]) for name in names}
    files = {name: messages[name].partition(b"\n")[2] for name in names}
    place = folder_of(tmp_path, {**files, "tmp/x": b""})
    assert kind_of(str(place)) == "mail"
    assert read(Mailbox(place)).keys() == {"1", "2"}


def test_the_folders_of_a_maildir_are_tags(tmp_path: Path) -> None:
    names = ("new/1.M1.host", ".Work.Roof/cur/2.M2.host")
    place = folder_of(tmp_path, {it: message(n) for n, it in enumerate(names, 1)} | {"cur/x": b""})
    assert kind_of(str(place)) == "mail"
    assert [tag_names(note) for note in Mailbox(place).read()] == [["Roof"], []]


def test_thunderbirds_own_folders_are_read(tmp_path: Path) -> None:
    files = {"Inbox": message(1), "Archives.sbd/2024": message(2), "Trash": message(3)}
    lists = {f"{name}.msf": b"// <!-- <mdb:mork:z" for name in files}
    place = folder_of(tmp_path, {**files, **lists, "filterlog.html": b""})
    assert kind_of(str(place)) == "mail"
    assert [tag_names(note) for note in Mailbox(place).read()] == [[], ["2024"]]


def test_the_date_is_that_of_the_post_where_the_message_has_none(tmp_path: Path) -> None:
    received = "from a by b; Wed, 01 May 2024 11:30:00 +0200"
    assert only(tmp_path, message(1, Date="", Received=received)).created == "2024-05-01T09:30:00Z"


@pytest.mark.parametrize("date", ["2024-05-01T09:30:00Z", "Mittwoch, 1. Mai 2024 11:30 +0200"])
def test_a_date_that_mail_should_not_have_is_read(tmp_path: Path, date: str) -> None:
    raw = f"From -\nDate: {date}\nSubject: Roof\n\nIt leaks".encode()
    assert only(tmp_path, raw).created == "2024-05-01T09:30:00Z"


def test_messages_of_one_moment_stay_in_their_order(tmp_path: Path) -> None:
    answer = message(2, "Answer", 1, Date="Wed, 01 May 2024 11:30:00 +0200")
    note = only(tmp_path, message(1, "Question"), answer)
    assert note.body.index("Question") < note.body.index("Answer")


def test_a_file_a_folder_and_a_takeout_are_recognized(tmp_path: Path) -> None:
    path = mbox(tmp_path / "a", message(1))
    takeout = zip_of(
        tmp_path / "takeout-1.zip",
        {"Takeout/Mail/All mail.mbox": path.read_bytes(), "Takeout/Keep/a.json": {"title": "Keep"}},
    )
    for place, kind in ((path, "mail"), (path.parent, "mail"), (takeout, "takeout")):
        assert kind_of(str(place)) == kind
    assert read(Takeout(takeout)).keys() == {"The roof of Zoë", "Keep"}
    stamps = {note.key: note.stamp for note in Takeout(takeout).read()}
    assert {type(item) for item in Takeout(takeout).read_changed(stamps)} == {Unchanged}
    with pytest.raises(SourceError, match="There is no"):
        read(Mailbox(folder_of(tmp_path / "m", {"a.txt": "x"})))


@pytest.mark.parametrize(
    "text",
    [
        b"From - 00:00\n\n\n\n",
        b"From - 00:00\n: \n=?\n\n",
        b"From - 00:00\nDate: x\nContent-Type: text/plain; charset=base64\n\n\xff\n",
        b"From - 00:00\nDate: Wed, 01 May 99999 25:61:00 +9999\nSubject: =?x?q?=ZZ?=\n\nx",
        b"From - 00:00\nContent-Type: multipart/mixed; boundary=a\n\n--a\n\n" * 3,
        b"From - 00:00\nX-Gmail-Labels: \xffa\x01\x02\nSubject: \xffa\x01\x02\n\nx",
        b"x" * 3_000_000,
        b"",
    ],
)
def test_anything_may_be_in_a_message(tmp_path: Path, text: bytes) -> None:
    for note in Mailbox(mbox(tmp_path, text)).read():
        assert note.fingerprint()


def test_a_message_with_thousands_of_parts_is_one_line(tmp_path: Path) -> None:
    parts = b"".join(
        b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (i, i) for i in range(999)
    )
    source = Mailbox(mbox(tmp_path, message(1), b"From - 00:00\nMessage-ID: <9@x>\n" + parts))
    assert [note.body for note in source.read()][1:] == [""]
    assert source.skipped == ["a message of <9@x>: can't be read (it has too many parts)"]


def test_no_more_of_a_message_than_its_beginning_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "LARGEST_MESSAGE", 1000)
    path = mbox(tmp_path, message(1, files=["long.png"]), message(2))
    assert len([*Mailbox(path).read()]) == 2
