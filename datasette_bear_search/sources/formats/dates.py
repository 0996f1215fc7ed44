"""Dates in words and in the scripts of East Asia → numbers: "5. Januar 2024", "2024年1月5日"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime, timezone

# The beginnings of the months' names in 25 languages, a month a line. Words that mean different
# months in two of them are left out, as "listopad" in Croatian, Polish and Ukrainian.
_NAMES = """
jan janv ene gen ian styc leden ledna tammi oca ιαν янв січ сiч яну ינואר يناير जनवरी
feb fev fevr lut unor helmi sub φεβ фев лют פברואר فبراير फरवरी
mar maer maart marz mrt mrz brez maalis μαρ март марта берез מרץ مارس मार्च
apr avr abr kwi dub huhti nis απρ апр квіт квiт אפריל أبريل ابريل अप्रैल
may mai maj mag mei maggio kvet touko μαι мая май трав מאי مايو मई
jun juin giu iun czerw cerven cervna kesa haz ιουν июн черв юни יוני يونيو जून
jul juil lug iul lip cervenec cervence heina tem ιουλ июл лип юли יולי يوليو जुलाई
aug aou ago agu sierp srp elo agustos αυγ авг серп אוגוסט أغسطس اغسطس अगस्त
sep set wrze zar syys eyl σεπ сен вер ספטמבר سبتمبر सितंबर सितम्बर
oct okt ott out paz rij loka eki οκτ окт жовт אוקטובר أكتوبر اكتوبر अक्टूबर अक्तूबर
nov noi marras kas νοε ноя ное נובמבר نوفمبر नवंबर नवम्बर
dec dez dic des gru prosin joulu ara δεκ дек груд דצמבר ديسمبر दिसंबर दिसम्बर
"""

_WORD = re.compile(r"[^\s\d.,;:()'’/_-]+")
_TIME = re.compile(r"(\d{1,2})(?:[:h]|\.(?=\d\d(?:\D|\Z)))(\d{2})(?::(\d{2}))?", re.ASCII)
_HALF = re.compile(r"\b[ap]\.?m\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+", re.ASCII)
_YEAR = re.compile(r"(?:1[89]|20)\d\d", re.ASCII)
# 5.1.2024, and "ngày 5 tháng 1 năm 2024" in Vietnamese, where months have numbers
_DOTTED = re.compile(
    r"(?:ngày\s)?(\d{1,2})(?:\.\s?|\stháng\s)(\d{1,2})(?:\.\s?|,?\s(?:năm\s)?)(\d{4})", re.I
)
_EASTERN = re.compile(
    r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일号號]"
    r"(?:[^\d:]*?(上午|下午|晚上|午前|午後|오전|오후)?\s?"
    r"(\d{1,2})\s?[:時时點点시]\s?(?:(\d{1,2})\s?[分분]?(?::(\d\d))?)?)?",
    re.ASCII,
)
_AFTERNOON = ("下午", "晚上", "午後", "오후")


def parse(text: str) -> datetime | None:
    """Return the moment that a text in any of these languages means; None for other texts.

    :raises ValueError: if the text names no day of the calendar
    """
    text = unicodedata.normalize("NFKC", text)
    if _HALF.search(text):
        return None
    if match := _EASTERN.match(text):
        year, month, day, half, hour, minute, second = match.groups()
        if half and hour:
            hour = str(int(hour) % 12 + 12 * (half in _AFTERNOON))
        return moment((year, month, day), hour, minute, second)
    dotted = _DOTTED.match(text)
    rest = text[dotted.end() :] if dotted else text
    time = _TIME.search(rest)
    clock = time.groups() if time else ()
    rest = rest.replace(time[0], " ", 1) if time else rest
    numbers = sorted(_NUMBER.findall(rest), key=len)
    if dotted:
        return None if numbers else moment(dotted.groups()[::-1], *clock)
    months = [month for month in map(_month, _WORD.findall(_plain(rest))) if month]
    if len(months) == 2 and months[0] == _MARCH:  # Tuesday: mardi, martes, martedì, marți
        del months[0]
    if len(months) != 1 or len(numbers) != 2 or not _YEAR.fullmatch(numbers[1]):
        return None
    return moment((numbers[1], str(months[0]), numbers[0]), *clock)


def moment(day: Iterable[str], *time: str | None) -> datetime:
    """Return a moment in local time, or noon in UTC if there is no time. Raise ValueError."""
    year, month, of_month = map(int, day)
    if not (time and time[0]):
        return datetime(year, month, of_month, 12, tzinfo=timezone.utc)
    hour, minute, second = (int(part or 0) for part in time)
    return datetime(year, month, of_month, hour, minute, second)


def _plain(text: str) -> str:
    # Without accents, but with the vowels of Hindi.
    letters = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text.casefold()))
    return unicodedata.normalize("NFC", letters)


_MONTHS = {
    _plain(name): month
    for month, names in enumerate(_NAMES.strip().split("\n"), 1)
    for name in names.split()
}
_LONGEST, _MARCH = max(map(len, _MONTHS)), 3


def _month(word: str) -> int | None:
    # The longest beginning counts: "marras" is November in Finnish.
    word = word.removeprefix("ב")  # "in", which Hebrew writes in one word
    beginnings = (word[:length] for length in range(min(len(word), _LONGEST), 2, -1))
    return next((_MONTHS[it] for it in beginnings if it in _MONTHS), None)
