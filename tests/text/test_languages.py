"""Words of many languages: stems, scripts without spaces, marks, stop words, and stored facts.

Tests ``embeddings/cards.py`` and ``search/results/word_matches.py``.
"""

import re
from contextlib import closing

import pytest

from datasette_bear_search.cli import doctor
from datasette_bear_search.embeddings import cards
from datasette_bear_search.index.file import database, metadata
from datasette_bear_search.index.run import calibration
from datasette_bear_search.query.query import parse
from datasette_bear_search.search.connection import open_sidecar
from datasette_bear_search.search.engine import search
from datasette_bear_search.search.planning.planner import plan
from datasette_bear_search.search.request import read_request
from datasette_bear_search.text import languages
from tests.support.bear_database import BearNote
from tests.support.bear_libraries import day, edit
from tests.support.index_files import found
from tests.support.marks import with_marks

# A language, a note in it, and an inflected form that the note doesn't have.
INFLECTED = [
    ("de", "# Der See\n\nWir haben ein Haus am See gemietet, mit einem alten Boot.", "Häuser"),
    ("fr", "# Le verger\n\nNous avons planté un cheval de bois dans le jardin.", "planter"),
    ("es", "# La cocina\n\nEsta semana hemos comprado una lámpara para la cocina.", "lámparas"),
    ("it", "# La gita\n\nAbbiamo camminato nella montagna con gli zaini pesanti.", "montagne"),
    ("pt", "# A viagem\n\nNós compramos uma canção antiga numa loja do centro.", "lojas"),
    ("nl", "# De tuin\n\nWij hebben gisteren een oude boom in de tuin geplant.", "bomen"),
    ("sv", "# Stugan\n\nVi har målat den gamla båten vid sjön och lagat taket.", "båtar"),
    ("en", "# The shed\n\nWe have been painting the shed near the old orchard.", "sheds"),
    ("ru", "# Дача\n\nМы купили старую книгу в маленьком магазине у реки.", "книги"),
    ("fa", "# باغچه\n\nگربهٔ همسایه هر شب در باغچهٔ ما می‌خوابد.", "گربه‌هایی"),
]
LIBRARY = [BearNote(text, created=day(n + 1)) for n, (_, text, _) in enumerate(INFLECTED)]
# A language, a note in it, words inside what FTS5 takes for a single word, and words not in it.
UNSPACED = [
    ("zh", "# 旅行\n\n我们昨天去了北京大学，在那里见到了老朋友。", "北京 大学 友", "上海"),
    ("ja", "# 電車\n\n東京の電車の時間を調べて、駅まで歩きました。", "電車 時間 駅", "新聞"),
    ("ko", "# 여행\n\n우리는 어제 학교에서 친구들을 만나서 이야기했다.", "학교 친구 제", "바다"),
    ("th", "# การเดินทาง\n\nเมื่อวานนี้เราไปเที่ยวทะเลกับเพื่อนที่โรงเรียน", "ทะเล โรงเรียน นี้ เท", "ภูเขา"),
]
ASIA = [BearNote(text, created=day(n + 1)) for n, (_, text, *_) in enumerate(UNSPACED)]
MIXED = BearNote("# Trip\n\nWe took the Shinkansen to 京都 and back, then read 吾輩は猫である.")


def titles(path, text: str, mode: str = "keyword") -> list[str]:
    return [hit.title for hit in found(path, text, mode)]


def title_of(note: str) -> str:
    return note.partition("\n")[0].removeprefix("# ")


@pytest.mark.parametrize(
    ("language", "note", "form"), INFLECTED, ids=[each[0] for each in INFLECTED]
)
def test_a_query_finds_inflected_forms_of_its_own_language(index_notes, language, note, form):
    path = index_notes(LIBRARY, "--no-semantic")
    with closing(database.connect(path)) as connection:
        sql = "select language from notes where title = ?"
        assert connection.execute(sql, [title_of(note)]).fetchone() == (language,)
    [hit] = found(path, form)
    assert hit.title == title_of(note)
    assert hit.snippet.spans + hit.marked_title.spans


def test_a_german_library_is_found_by_a_phrase_a_title_and_without_a_word(index_notes):
    path = index_notes(LIBRARY, "--no-semantic")
    assert titles(path, '"altes Boot"') == ["Der See"]
    assert titles(path, "title:See") == ["Der See"]
    assert titles(path, "Boote -Häuser") == []
    assert titles(path, "Boote AND See") == ["Der See"]
    assert titles(path, "Häus*") == titles(path, "am See") == ["Der See"]


@pytest.mark.parametrize(
    ("language", "note", "parts", "other"), UNSPACED, ids=[it[0] for it in UNSPACED]
)
def test_words_are_found_where_no_spaces_part_them(index_notes, language, note, parts, other):
    path = index_notes(ASIA, "--no-semantic")
    with closing(database.connect(path)) as connection:
        assert (language,) in connection.execute("select distinct language from notes").fetchall()
    for part in parts.split():
        for text in (part, f'"{part}"', f"{part}*", f"({part} AND {parts.split()[0]})"):
            [hit] = found(path, text)
            assert hit.title == title_of(note)
            assert re.search(
                f"⦗[^⦘]*{part}[^⦗]*⦘", with_marks(hit.marked_title) + with_marks(hit.snippet)
            )
        assert titles(path, part, "like") == [title_of(note)]
    assert titles(path, other) == []


def test_a_whole_chinese_question_finds_what_has_its_words(index_notes):
    path = index_notes([*ASIA, *LIBRARY], "--no-semantic")
    [hit] = found(path, "你们昨天在北京大学见到了谁？")
    assert hit.title == "旅行"
    assert "⦗北京大学⦘" in with_marks(hit.snippet)
    assert titles(path, "2016年北京大学在1990-2000年发生了什么？") == ["旅行"]


def test_a_script_inside_of_english_text_is_found_and_marked(index_notes):
    path = index_notes([MIXED, *LIBRARY], "--no-semantic")
    for text in ("京都", "Shinkansen 京都", "猫", '"to 京都 and"'):
        assert titles(path, text) == ["Trip"]
    [hit] = found(path, "shinkansen 猫")
    assert "⦗Shinkansen⦘ to 京都" in with_marks(hit.snippet)
    assert "⦗猫" in with_marks(hit.snippet)


def test_stop_words_follow_the_language_of_the_query(index_notes):
    path = index_notes([*LIBRARY, *ASIA], "--no-semantic")
    assert titles(path, "was haben wir mit dem Boot gemacht") == ["Der See"]
    assert titles(path, "what have we done with the sheds") == ["The shed"]


def test_rare_languages_do_not_change_what_the_main_one_finds(index_notes):
    english = [BearNote(f"# Cancer {n}\n\nWhat we read about cancer.") for n in range(30)]
    french = BearNote("# Cancan\n\nNous avons vu danser le cancan dans la salle à Paris.")
    path = index_notes([*english, french], "--no-semantic")
    with open_sidecar(path) as connection:
        response = search(connection, read_request({"q": ["cancer"], "mode": ["keyword"]}))
    assert response.results.plan.match == '"cancer"'
    assert titles(path, "dansé") == ["Cancan"]


@pytest.mark.parametrize(
    ("expression", "among", "expected"),
    [
        ('"roofs" OR "plan"*', ["en"], '"roofs" OR "plan"*'),
        ('"Häuser"', ["de"], '("Häuser" OR "haus")'),
        ('"Haus"', ["de"], '"Haus"'),
        ('"alte Häuser"*', ["de"], '"alte Häuser"*'),
        (
            'NEAR("Häuser" "Boot", 5)',
            ["de"],
            '(NEAR("Häuser" "Boot", 5) OR NEAR("haus" "boot", 5))',
        ),
        ('{title} : ("a" AND "水")', [], '{title} : ("a" AND "水"*)'),
        ('"北京大学" NOT "say ""hi"""', [], '"北京 京大 大学" NOT "say ""hi"""'),
        ('"ทะเล" OR "รถ" OR "รถx"', [], '"ทะเ ะเล" OR "รถ"* OR "รถ ถ x"'),
    ],
)
def test_an_expression_also_asks_for_the_words_as_they_are_indexed(expression, among, expected):
    assert languages.in_languages(expression, among) == expected


def test_an_expression_may_ask_for_each_form_only_if_a_note_has_none_before_it():
    expected = '("a" OR (("b" OR ("c" NOT "b")) NOT "a"))'
    assert languages.in_languages('"x"', [], {"x": ["a", "b", "c"]}, once=True) == expected


def test_words_of_another_language_leave_the_index_with_their_note(write, bear_index, sidecar_path):
    write(*LIBRARY, *ASIA)
    bear_index("--no-semantic")
    write(LIBRARY[7])
    bear_index("--no-semantic")
    with open_sidecar(sidecar_path) as connection:
        terms = {term for (term,) in connection.execute("select term from _stem_vocabulary")}
    assert "shed" in terms
    assert not terms & {"boot", "haus", "hau", "北京", "電車"}
    assert terms <= set("the shed we have been paint near old orchard ti".split())


GERMAN = [
    BearNote(f"# Woche {n}\n\nAm {n}. Tag haben wir {word} gekauft und lange im Garten geredet.")
    for n, word in enumerate(
        "Holz Nägel Farbe Erde Samen Töpfe Brot Käse Wein Papier Stühle Lampen Seile Kerzen".split()
    )
]


FOREIGN = "insert or replace into meta values ('foreign_languages', ?)"


class Stub:
    """A model that always or never finds the right passage, and splits words into pieces."""

    name = "test/undeclared"

    def __init__(self, connection, pieces: int, *, finds: bool) -> None:
        self.vectors = [vector for (vector,) in connection.execute(VECTORS_ASKED)]
        self.pieces, self.finds = pieces, finds

    def embed_queries(self, texts):
        turned = [*self.vectors[1:], self.vectors[0]]
        return self.vectors if self.finds else turned

    def lengths(self, texts):
        return [2 + self.pieces * bool(text) for text in texts]


VECTORS_ASKED = (
    f"select vector from ({calibration._SAMPLE.replace('?', '{}').format(repr('de'), 96)})"
)


@pytest.mark.parametrize(
    ("pieces", "finds", "is_made_for_it"),
    [(1, True, True), (3, True, True), (1, False, False), (3, False, False)],
)
def test_a_model_that_finds_no_sentences_was_not_made_for_their_language(
    index_notes, pieces, finds, is_made_for_it
):
    path = index_notes(GERMAN)
    with closing(database.connect(path)) as connection:
        stub = Stub(connection, pieces, finds=finds)
        foreign = calibration.find_foreign_languages(connection, stub)
    assert foreign == ([] if is_made_for_it else ["de"])


@pytest.mark.parametrize(
    ("model", "foreign"),
    [
        ("sentence-transformers/all-MiniLM-L6-v2", ["de"]),
        ("sentence-transformers/all-MiniLM-L6-v2@128", ["de"]),
        ("ollama:all-minilm:22m", ["de"]),
        ("ollama:bge-m3", []),
        ("openai:text-embedding-3-small@https://example.com", []),
    ],
)
def test_models_declare_their_languages(index_notes, model, foreign):
    path = index_notes(GERMAN)
    with closing(database.connect(path)) as connection:
        stub = Stub(connection, 1, finds=bool(foreign))
        stub.name = model
        assert calibration.find_foreign_languages(connection, stub) == foreign


# Cards list a model's results on MTEB, mostly before its languages.
RESULTS = "  - task:\n      type: Retrieval\n    metrics:\n    - value: 1.5\n" * 2500


@pytest.mark.parametrize(
    ("card", "declared"),
    [
        ("---\nlanguage: en\n---\n# Model", {"en"}),
        ("---\nlanguage:\n- zh-CN\n- de\n- no\n---", {"zh", "de", "no"}),
        ("---\nlicense: mit\nlanguage: [multilingual, af]\n---", {"multilingual", "af"}),
        ("---\nlicense: mit\n---", None),
        (f"---\nmodel-index:\n- name: m\n  results:\n{RESULTS}language:\n- de\n---", {"de"}),
        ("---\nlanguage: {a: [\n---", None),
        ("# Model\nlanguage: en", None),
    ],
)
def test_a_card_declares_languages(tmp_path, card, declared):
    (tmp_path / "README.md").write_text(card)
    for chosen in ("", "@16", "@query=ask:%20", "@16@passage="):
        assert cards.languages(f"{tmp_path}{chosen}") == declared


def test_an_english_library_is_never_foreign(index_notes):
    notes = [
        BearNote(f"# Week {n}\n\nOn day {n} we had bought it and we talked.") for n in range(20)
    ]
    with closing(database.connect(index_notes(notes))) as connection:
        assert "en" in metadata.language_shares(connection)
        stub = Stub(connection, 3, finds=False)
        assert calibration.find_foreign_languages(connection, stub) == []


@pytest.mark.parametrize(
    ("query", "balance"),
    [
        ("was haben wir mit dem Boot gemacht", 0.25),
        ("das Boot und der Schuppen", 0.7),
        ("在北京大学见到了谁", 0.25),
        ("北京大学", 0.7),
        ("what have we done with the sheds", 0.7),
    ],
)
def test_meaning_counts_less_in_long_queries_that_the_model_does_not_know(
    index_notes, query, balance
):
    path = index_notes([*LIBRARY, *ASIA])
    edit(path, FOREIGN, '["de", "zh"]')
    with open_sidecar(path) as connection:
        assert plan(connection, parse(query)).balance == balance
        assert plan(connection, parse(query), balance=0.6).balance == 0.6


def test_doctor_says_which_share_of_notes_the_model_was_not_made_for(index_notes):
    path = index_notes(LIBRARY)
    edit(path, FOREIGN, '["de", "sv"]')
    [finding] = (each for each in doctor.examine(path)["Index"] if each.name == "languages")
    assert "20% of the notes" in finding.says
    assert "(de, sv)" in finding.says
    assert "--model intfloat/multilingual-e5-small" in finding.mend


# A language, a note in it, and another form of one of its words that no stemmer knows.
UNSTEMMED = [
    ("ar", "# المطبخ\n\nركبنا الرفوف والمغسلة، والنجار يعود يوم الثلاثاء لإصلاح الباب.", "للمغسلة"),
    ("bg", "# Колело\n\nСмених веригата на колелото и накладките на спирачката.", "спирачки"),
    ("bn", "# নদী\n\nনৌকার মাঝি আমাদের গ্রামের গল্প বলেছেন।", "গ্রামটি"),
    ("he", "# הנסיעה\n\nנסענו ברכבת אל הכפר הישן ליד הנהר.", "לרכבת"),
    ("is", "# Ferðin\n\nVið gengum yfir jökulinn og sváfum í skálanum um nóttina.", "jökull"),
    ("ka", "# ეზო\n\nმეზობლის კედელი ჩამოინგრა და ქვები ეზოში ყრია.", "მეზობლები"),
    ("uk", "# Ремонт\n\nТесляр замінив сходинки на ґанку нашого будинку.", "сходинками"),
]


@pytest.mark.parametrize(("language", "note", "form"), UNSTEMMED, ids=[it[0] for it in UNSTEMMED])
def test_a_form_that_no_stemmer_knows_is_found(index_notes, language, note, form):
    path = index_notes([*LIBRARY, *(BearNote(text) for _, text, _ in UNSTEMMED)], "--no-semantic")
    with open_sidecar(path) as connection:
        response = search(connection, read_request({"q": [form], "mode": ["keyword"]}))
    assert [hit.title for hit in response] == [title_of(note)]
    assert response.hits[0].snippet.spans
    assert response.notices == ()


def test_a_form_that_the_stemmer_does_not_know_is_found_if_no_dictionary_has_it(index_notes):
    notes = [
        BearNote("# Praca\n\nNasza fabryka w mieście zamyka bramy."),
        BearNote("# Paar\n\nDie Verliebten gingen am Abend durch den alten Garten nach Hause."),
        BearNote("# Banki\n\nÞessi banki er lokaður og hundurinn sefur á gólfinu í eldhúsinu."),
    ]
    path = index_notes(notes, "--no-semantic")
    assert titles(path, "fabryce ") == ["Praca"]
    assert titles(path, "verliert ") == titles(path, "banking ") == []


def test_without_the_word_index_an_unknown_word_fails_as_in_english(index_notes):
    path = index_notes([BearNote(UNSTEMMED[-1][1])], "--no-semantic")
    edit(path, "drop table notes_fts")
    assert "The word index failed" in found(path, "сходинками", "keyword").notices[0]


@pytest.mark.parametrize("typed", ["будова", "будівля", "ґанок", "сходження"])
def test_other_words_with_the_same_beginning_stay_apart(index_notes, typed):
    notes = [BearNote(text) for language, text, _ in UNSTEMMED if language == "uk"]
    assert titles(index_notes(notes, "--no-semantic"), f"{typed} ") == []


# A language's word with accents, another form of it in a note, and what people type.
TYPED_PLAINLY = [
    ("pt", "As transformações e a transformação do plano antigo.", "transformacao"),
    ("ro", "Această informație despre casă și informațiile vechi.", "informatie"),
    ("hu", "Az új épület és a régi épületek között van egy út.", "epulet"),
    ("de", "Die Wärmepumpen und eine Wärmepumpe für unser Haus.", "warmepumpe"),
    ("de", "Die Wärmepumpen und eine Wärmepumpe für unser Haus.", "waermepumpen"),
    ("fr", "Les entrées principales, et l'entrée de la maison.", "entree"),
    ("pl", "Te projekty są dla wszystkich kotów i psów w naszym mieście.", "projektow"),
    ("cs", "Nové náklady na účtování a pro levného pracovníka se vykazují.", "noveho"),
    ("ar", "هذه هي مواقع وتطبيقات نافعة في القرآن الكريم والتفسير.", "القران"),
    ("tr", "Bağlantılar için yeni bir bağlantı oluşturuldu ve değiştirildi.", "baglanti"),
]


@pytest.mark.parametrize(("language", "text", "typed"), TYPED_PLAINLY)
def test_a_word_without_its_accents_finds_what_it_finds_with_them(
    index_notes, language, text, typed
):
    notes = [*LIBRARY, BearNote(f"# With accents\n\n{text}", created=day(20))]
    assert titles(index_notes(notes, "--no-semantic"), typed) == ["With accents"]


def test_accents_that_the_notes_lack_do_not_matter(index_notes):
    note = BearNote("# Notas\n\nEsta informacao sobre a transformacao da loja e do plano.")
    path = index_notes([*LIBRARY, note], "--no-semantic")
    assert titles(path, "informação") == titles(path, "transformação") == ["Notas"]
    note = BearNote("# Technik\n\nDie Waermepumpe in unserem Haus und der Kaese im Keller.")
    path = index_notes([*LIBRARY, note], "--no-semantic")
    assert titles(path, "Wärmepumpe") == titles(path, "Käse") == ["Technik"]


def test_the_stem_of_another_language_counts_only_in_notes_of_that_language(index_notes):
    # "oil" is the German stem of "oilet".
    german = [text for language, text, _ in INFLECTED if language == "de"]
    notes = [
        BearNote("# Lamp\n\nThe lamp in the shed needs new oil before the winter comes."),
        *(BearNote(text) for text in german),
    ]
    path = index_notes(notes, "--no-semantic")
    assert titles(path, "oilet") == []
    assert titles(path, "Häuser") == ["Der See"]


VIETNAMESE = [
    BearNote("# Bến cảng\n\nChúng tôi đi ra cảng mua cá và gặp bạn bè ở quán cà phê."),
    BearNote("# Nhà bếp\n\nTrong vườn có nhiều cây cà chua và rất nhiều cành lá xanh."),
    BearNote("# Hà Nội\n\nHòa và tôi ở lại trong thành phố này hai tuần vào mùa thu."),
]


@pytest.mark.parametrize(
    ("typed", "expected", "marked"),
    [
        ("cá ", {"Bến cảng"}, "mua ⦗cá⦘ và gặp"),
        ("ca ", {"Bến cảng", "Nhà bếp"}, "cây ⦗cà⦘ chua"),
        ("hoà ", {"Hà Nội"}, "⦗Hòa⦘ và tôi"),  # the accent on the other vowel
        ("ha noi", {"Hà Nội"}, "⦗Hà⦘ ⦗Nội⦘"),
        ('"hà nội"', {"Hà Nội"}, "⦗Hà Nội⦘"),
        ('"ha noi"', {"Hà Nội"}, "⦗Hà Nội⦘"),
        ("Hà Nội", {"Hà Nội", "Trip"}, "⦗Hà⦘ ⦗Nội⦘"),
        ("Đi*", {"Bến cảng"}, "⦗đi⦘ ra"),
    ],
)
def test_vietnamese_accents_tell_words_apart_if_they_are_typed(
    index_notes, typed, expected, marked
):
    trip = BearNote("# Trip\n\nWe have seen Hà and her friends in the old town.")
    path = index_notes([*VIETNAMESE, *([trip] if "Trip" in expected else [])], "--no-semantic")
    hits = found(path, typed, "keyword")
    assert {hit.title for hit in hits} == expected
    texts = " ".join(f"{with_marks(it.marked_title)} {with_marks(it.snippet)}" for it in hits)
    assert marked in texts


def test_a_word_may_end_in_a_vowel_sign():
    query = parse("अंजीर हिन्दी")
    assert query.unfinished_word == "हिन्दी"
    assert parse("अंजीर हिन्दी*").terms.prefixes == ("हिन्दी",)
    assert parse('अंजीर "बात हिन्दी').terms.open_phrase == "बात हिन्दी"
