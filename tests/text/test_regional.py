import pytest
import Stemmer

from datasette_bear_search.text.regional import in_one_spelling

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
    diarrhoea/diarrhea Organisation/Organization grey/gray greyish/grayish ploughing/plowing
    mouldy/moldy scepticism/skepticism sulphate/sulfate cosier/cozier discs/disks chillies/chilies
    jewellery/jewelry focussed/focused manoeuvring/maneuvering pyjamas/pajamas
    programmes/programs kilogramme/kilogram
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
        "the ecosystem of a coset, discuss a discount, a chilling cost, tyres and kerbs",
    ],
)
def test_other_words_stay(text):
    assert in_one_spelling(text) is text


def test_words_that_share_a_stem_still_do():
    for family in ("promise promised promising promises", "calibre calibres", "analyses analysed",
                   "praise praised", "advertise advertisement", "revise revision"):  # fmt: skip
        assert len({STEMMER.stemWord(in_one_spelling(word)) for word in family.split()}) == 1
