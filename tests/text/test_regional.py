import pytest
import Stemmer

from datasette_bear_search.text.regional import in_one_spelling, other_spellings
from tests.support.bear_database import BearNote
from tests.support.index_files import found

STEMMER = Stemmer.Stemmer("porter")


@pytest.mark.parametrize(
    "pair",
    """
    normalisation/normalization colour/color favourites/favorites neighbourhood/neighborhood
    organise/organize organisers/organizers analysed/analyzed
    paralysing/paralyzing humourless/humorless
    behavioural/behavioral savoury/savory odours/odors centre/center centred/centered
    theatres/theaters
    kilometre/kilometer fibre/fiber manoeuvre/maneuver catalogue/catalog dialogues/dialogs
    cataloguing/cataloging defence/defense offences/offenses licence/license practise/practice
    practising/practicing travelled/traveled modelling/modeling
    haemoglobin/hemoglobin anaemia/anemia leukaemia/leukemia paediatrician/pediatrician
    gynaecologist/gynecologist faeces/feces anaesthesia/anesthesia archaeology/archeology
    oestrogen/estrogen oesophagus/esophagus oedema/edema foetus/fetus coeliac/celiac
    diarrhoea/diarrhea Organisation/Organization
    """.split(),
)
def test_british_and_american_spelling_have_one_stem(pair):
    british, american = (
        STEMMER.stemWord(in_one_spelling(word).lower()) for word in pair.split("/")
    )
    assert british == american


@pytest.mark.parametrize(
    "text",
    [
        "four hours of your tour, for our hour",
        "The precise revision: supervise, exercise, advertise, otherwise appraise it.",
        "size, prize, noise, rise, wise",
        "entre cuatro, lettre, acre, ogre, massacre",
        "filing, filling, calling, spelling",
        "does the aerial of Michael face Israel? Goethe, phoenix, poem, canoe",
        "price, race, notice, police, science",
    ],
)
def test_other_words_stay(text):
    assert in_one_spelling(text) is text


def test_words_that_share_a_stem_still_do():
    for family in ("promise promised promising promises", "calibre calibres", "analyses analysed",
                   "praise praised", "advertise advertisement", "revise revision"):  # fmt: skip
        assert len({STEMMER.stemWord(in_one_spelling(word)) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "pair", "grey/gray ploughing/plows moulds/mold scepticism/skeptical cosy/cozy disc/disks "
            "programmes/program specialities/specialty focussed/focusing learnt/learned".split(),
)  # fmt: skip
def test_a_typed_word_is_searched_for_in_both_spellings(index_notes, pair):
    british, american = pair.split("/")
    notes = [BearNote(f"# One\n\nThe {british} one."), BearNote(f"# Two\n\nThe {american} one.")]
    path = index_notes(notes, "--no-semantic")
    for typed in (british, american, american.upper()):
        response = found(path, typed, mode="keyword")
        assert {hit.title for hit in response.hits if hit.is_found} == {"One", "Two"}
        assert not response.results.plan.offers


@pytest.mark.parametrize("word", ["tire", "curb", "colour", "house", "Straße"])
def test_other_words_have_one_spelling(word):
    assert other_spellings(word) == []
