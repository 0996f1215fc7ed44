"""What people type for words with accents is stored while notes have them."""

from __future__ import annotations

from contextlib import closing

from datasette_bear_search.index.file import database
from datasette_bear_search.index.file.schema import SPELLINGS
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day, edit


def test_spellings_leave_the_index_with_the_last_note_that_has_them(
    bear_index, write, sidecar_path
):
    plan = BearNote("# Plan\n\nA transformação do plano.")
    shop = BearNote("# Loja\n\nA loja e a canção.", created=day(2))
    stored = []
    for notes in ([plan, shop], [shop]):
        write(*notes)
        bear_index("--no-semantic", "--yes")
        with closing(database.connect(sidecar_path)) as connection:
            stored.append(connection.execute(f"select * from {SPELLINGS}").fetchall())
    cancao = ("cancao", "canção")
    assert stored == [[cancao, ("transformacao", "transformação")], [cancao]]


def test_spellings_follow_new_rules_for_words(bear_index, write, sidecar_path):
    write(BearNote("# Loja\n\nA loja e a canção."))
    bear_index("--no-semantic")
    edit(sidecar_path, f"delete from {SPELLINGS}")
    edit(sidecar_path, "update meta set value = 'earlier' where key = 'words_version'")
    bear_index("--no-semantic")
    with closing(database.connect(sidecar_path)) as connection:
        assert connection.execute(f"select typed from {SPELLINGS}").fetchall() == [("cancao",)]
