"""Secrets are masked, whatever is around them; other text stays the same, and nothing moves."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasette_bear_search.search.redaction import masking
from datasette_bear_search.search.redaction.masking import MASK, masked, masked_part
from tests.support.bear_database import demo_notes
from tests.support.secrets_in_notes import NO_SECRETS, SECRETS, drawn

SECRET = "gh" + "p_" + drawn(36)


def hidden(secret: str) -> str:
    return "".join(" " if character == " " else MASK for character in secret)


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("Some words: ", " and more."), ("- [ ] `", "`\n\nThen home.")]
)
def test_a_secret_is_masked_and_nothing_else(name, before, after):
    lead, secret, rest = SECRETS[name]
    found = masked(f"{before}{lead}{secret}{rest}{after}")
    lines = "\n".join(map(hidden, secret.split("\n")))
    assert found == f"{before}{lead}{lines}{rest}{after}"


@pytest.mark.parametrize("text", NO_SECRETS)
def test_text_that_is_not_secret_stays(text):
    assert masked(text) == text


def test_nothing_in_the_sample_notes_is_masked():
    notes = [note.text for note in demo_notes()]
    assert len(notes) > 100
    assert [note for note in notes if masked(note) != note] == []


@pytest.mark.parametrize("between", ["\\", "\u200b", "\u00ad", "⦗"])
def test_what_stands_unseen_in_a_secret_does_not_hide_it(between):
    # Programs that write Markdown put backslashes before underscores.
    text = f"token {SECRET.replace('_', between + '_')} there"
    assert masked(text) == f"token {MASK * (len(SECRET) + 1)} there"


@pytest.mark.parametrize("width", [4, 12, 25, 60])
def test_the_rest_of_a_cut_secret_is_masked(width):
    body = f"Before it. {SECRET} After it."
    for start in range(len(body) - width):
        part = body[start : start + width]
        expected = masked(body)[start : start + width]
        assert masked_part(part, "A title", body) == expected


def test_lines_of_a_private_key_stay_lines_where_the_cut_left_neither_beginning_nor_end():
    _, key, _ = SECRETS["private key"]
    body = "word " * 5000 + key + " word" * 5000
    part = key[100:300]
    found = masked_part(part, body)
    assert found.count("\n") == part.count("\n")
    assert set(found) == {MASK, "\n"}


@given(st.text(alphabet=st.sampled_from(list("aZ09 -_=+/.:@\n\\●İ⦗⦘")) | st.characters()))
@settings(max_examples=500, deadline=None)
def test_no_text_changes_its_length_or_its_lines(text):
    found = masked(text)
    assert len(found) == len(text)
    assert [len(line) for line in found.split("\n")] == [len(line) for line in text.split("\n")]
    assert masked_part(text[3:40], text)[:1] in (text[3:4], MASK)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        "aB3" * 100_000,
        "1234 " * 60_000,
        "password: " * 30_000,
        "-----BEGIN PRIVATE KEY-----\n" * 3_000,
        "eyJ" * 100_000,
        "https://a:b@" * 25_000,
        "\\_" * 150_000,
        "key=" + "x1" * 150_000,
        "xoxb-1-" * 40_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text):
    masking.require()
    started = time.process_time()
    masked(text)
    assert time.process_time() - started < 20  # quadratic code would take minutes


def test_commands_that_mask_nothing_do_not_import_the_detectors():
    code = (
        "import sys, datasette_bear_search.search.redaction.masking\n"
        "import datasette_bear_search.web.pages.search\n"
        "print([name for name in sys.modules if name.startswith('detect_secrets')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_without_the_detectors_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "detect_secrets.core.plugins.util", None)
    masking._detectors.cache_clear()
    with pytest.raises(masking.RedactionMissing, match=r"datasette-bear-search\[redact\]"):
        masking.require()
