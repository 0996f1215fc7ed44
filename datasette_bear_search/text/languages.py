"""Turn words into the form in which FTS5 indexes them, which depends on their language.

FTS5's tokenizer stems English. Snowball stems the words of other languages before FTS5 sees them.
Scripts without spaces between words are cut into pairs of characters, which find more than whole
runs do (nDCG@10 on 632 Chinese questions of XQuAD .97 instead of .12), or into triples, where
characters are letters and vowel signs (Thai .97, with pairs .91). Symbols, which FTS5 would
take for letters of the word beside them, are cut off as tokens of their own. All characters are
folded (``folding``), so that words that look the same are found.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..sqlite import execute, sqlite3
from .folding import RULES as FOLDING_RULES
from .folding import is_normal, normalized, normalized_with_places, plain, without_accents
from .markdown import without_html
from .regional import in_one_spelling

T = TypeVar("T")

# Snowball's names (ISO 639-1). English is left to FTS5's Porter stemmer.
SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

# Closed-class words, which don't tell what a note is about. Dropping them from English queries
# gains .007 nDCG@10 on average and saves half of the time; from German ones it gains .003. A query
# of nothing else keeps them. In other languages, words that most notes contain are dropped instead.
STOP_WORDS = {
    language: frozenset(words.split())
    for language, words in (
        line.split(": ")
        for line in Path(__file__).with_name("stop_words.txt").read_text("utf-8").splitlines()
    )
}

# Thai, Lao, Burmese, Khmer, Japanese, Chinese; also Korean, whose words end in particles.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u3005-\u3007"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
# Thai, Lao, Burmese, Khmer.
_LETTERS = re.compile("[\u0e01-\u0ede\u1000-\u109f\u1780-\u17d3]")
# Language → characters that none of the others has. Chinese has none of its own.
UNSPACED_LANGUAGES = {
    "ja": "[\u3041-\u30ff]", "ko": "[\uac00-\ud7a3]", "th": "[\u0e01-\u0e4e]",
    "lo": "[\u0e81-\u0ede]", "my": "[\u1000-\u109f]", "km": "[\u1780-\u17d3]", "zh": "",
}  # fmt: skip
# Vowel signs and the like inside words, which Python's \w doesn't match.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963"
    "\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a51\u0a70-\u0a75\u0a81-\u0acd\u0b01-\u0b57\u0b82-\u0bd7"
    "\u0c00-\u0c63\u0c81-\u0ce3\u0d00-\u0d63\u0d81-\u0ddf"
)
# Roughly FTS5's words, letters and digits of any script; but unspaced scripts are kept apart.
WORD = re.compile(rf"[{UNSPACED}]+|(?:[^\W_{UNSPACED}]|[{_MARKS}\ue000-\uf8ff])+")
# What may be a symbol. A flag is two letters that are symbols.
_SIGN = re.compile(r"[\U0001f1e6-\U0001f1ff]{1,2}|[^\x00-\xa1\w\s]")
# A pattern, since it takes 3 ms to compile, and few texts need it.
TOKEN = f"{WORD.pattern}|{_SIGN.pattern}"
# Signs that Unicode counts as symbols, but that stand for an apostrophe, draw tables, color an
# emoji, or replace a character. Those of ASCII are syntax of Markdown and programs: as tokens, they
# would part the words of phrases. A search for such signs alone looks for the text as it is.
_NO_SYMBOL = re.compile(
    "[\xb4\u0384\u0385\u1fbd-\u1fff\u2500-\u259f\ufffc\ufffd\U0001f3fb-\U0001f3ff]"
)
_ASCII = bytes(range(128))

# Vietnamese, whose accents tell words apart. FTS5 removes them, so its notes are indexed with such
# words a second time, in a form that only a word typed with accents is searched for.
TONAL = "vi"
# Languages whose words have no endings, or few.
UNINFLECTED = {"en", TONAL, *UNSPACED_LANGUAGES}
_ACCENTS = re.compile("[\u0300-\u036f]")
_TONES = 0xE000 - 0x0300  # from an accent to a letter for private use

# Arabic and Hebrew join "and", "the", "in", "to" and the like to the next word, one or two of them.
# Two letters are too few to tell that the ones before them are such a particle.
PARTICLES = {
    "ar": ["لل", *(each + article for each in ("", *"وفبكل") for article in ("", "ال"))],
    "he": ["".join(each) for n in (0, 1, 2) for each in product("והבלמשכ", repeat=n)],
}
_MIN_LEFT = 3

# Increase this when ``indexed_note`` returns other words for a text.
_RULES = 8
# Words whose stems are cached, which takes some megabytes.
CACHED_STEMS = 50_000


class Word(NamedTuple):
    """A word as the index has it, and its place in the text. Pairs overlap."""

    form: str
    start: int
    end: int


def is_unspaced(text: str) -> bool:
    """Return whether a text has characters of scripts without spaces between words."""
    return not text.isascii() and bool(re.search(f"[{UNSPACED}]", text))


def is_word(text: str) -> bool:
    """Return whether a text is a word or a part of one, with vowel signs unlike ``isalnum``."""
    return bool(text) and all(map(WORD.match, text))


def is_symbol(sign: str) -> bool:
    """Return whether a character, or a flag, is a symbol that can be searched for."""
    return _is_sign(sign[0]) and not _NO_SYMBOL.match(sign)


@lru_cache(None)
def _is_sign(character: str) -> bool:
    # Whether FTS5 takes it for a letter. Later versions of Unicode than Python's have more emoji.
    kind = unicodedata.category(character)
    is_emoji = kind == "Cn" and character >= "\U0001f000"
    return not character.isascii() and (kind[0] == "S" or character == "§" or is_emoji)


def tokens(text: str) -> list[str]:
    """Return the words and symbols of a text, with unspaced scripts in whole runs."""
    return _tokens(normalized(text))


def _tokens(text: str) -> list[str]:
    return [match[0] for match in _matches(text)] if _has_signs(text) else WORD.findall(text)


def _matches(text: str) -> Iterator[re.Match[str]]:
    if not _has_signs(text):
        return WORD.finditer(text)
    found = re.finditer(TOKEN, text)
    return (match for match in found if WORD.match(match[0]) or is_symbol(match[0]))


def _has_signs(text: str) -> bool:
    return not text.isascii() and any(map(_is_sign, {*_beyond_ascii(text)}))


def _beyond_ascii(text: str) -> str:
    # Looking only at these characters takes a third of the time.
    others = text.encode(errors="surrogatepass").translate(None, _ASCII)
    return others.decode(errors="surrogatepass")


def needs_cutting(text: str, language: str | None = None) -> bool:
    """Return whether FTS5 alone would find other words in a text than :func:`words` does."""
    is_stemmed = language in SNOWBALL
    return is_stemmed or _has_odd_characters(text) or in_one_spelling(text) is not text


def _has_odd_characters(text: str) -> bool:
    if text.isascii():
        return False
    others = _beyond_ascii(text)
    is_folded = others == without_accents(others) and (
        is_normal(others) or text == normalized(text)
    )
    if not is_folded or is_unspaced(others):
        return True
    signs = "".join(filter(_is_sign, {*others}))
    # FTS5 finds symbols that stand apart by itself, such as the box of a to-do.
    is_apart = not signs or not re.search(rf"(?<=\S)[{signs}]|[{signs}](?=\S)", text)
    return not is_apart or not all(map(is_symbol, signs))


def likely_unspaced(text: str, languages: Iterable[str]) -> str | None:
    """Return the likeliest of these languages, most frequent first, for unspaced text."""
    by_script = next(it for it, own in UNSPACED_LANGUAGES.items() if re.search(own, text))
    known = [language for language in languages if language in UNSPACED_LANGUAGES]
    return by_script if by_script in known else next(iter(known), None)


def words(text: str, language: str | None) -> Iterator[Word]:
    """Yield the words of a text in order.

    In unspaced scripts, each character begins a pair or triple, at the end of a run a shorter one.
    """
    seen = normalized_with_places(text)
    for match in _matches(seen.text):
        found = _indexed_forms(match[0], language)
        for place, form in enumerate(found, match.start()):
            end = match.end() if len(found) == 1 else place + len(form)
            yield Word(form, *seen.span(place, end))


def _indexed_forms(token: str, language: str | None) -> list[str]:
    if is_unspaced(token[0]):
        size = _ngram_size(token)
        return [token[place : place + size] for place in range(len(token))]
    return [_indexed_form(token, language)]


@lru_cache(CACHED_STEMS)
def _indexed_form(token: str, language: str | None) -> str:
    if language not in SNOWBALL:
        return in_one_spelling(without_accents(token))
    # The stemmers know letters such as æ and ł, so accents go last.
    return without_accents(_stem(token.lower(), language))


def with_particles(word: str, language: str) -> list[str]:
    """Return a word with the particles that may be joined to it, in place of its own."""
    own = (len(it) for it in PARTICLES[language] if word.startswith(it))
    roots = [word, *(word[n:] for n in own if len(word) - n >= _MIN_LEFT)]
    return [particles + root for root in roots for particles in PARTICLES[language]]


@lru_cache(CACHED_STEMS)
def with_tones(word: str) -> str:
    """Return a word with its accents as letters at its end, which FTS5 keeps; "" without any."""
    letters = unicodedata.normalize("NFD", word.lower().replace("đ", "d\u0335"))
    plain = _ACCENTS.sub("", letters)
    tones = sorted({*letters} - {*plain})
    return plain + "".join(chr(ord(tone) + _TONES) for tone in tones) if tones else ""


def without_tones(text: str) -> str:
    """Return a text without the letters that :func:`with_tones` adds to words."""
    return re.sub(r"(?<=\w)[\ue000-\ue06f]+", "", text)


def ngrams(token: str) -> list[str]:
    """Return an unspaced token of a query as pairs or triples, and any other token as it is."""
    size = _ngram_size(token)
    if len(token) <= size or not is_unspaced(token[0]):
        return [token]
    return [token[place : place + size] for place in range(len(token) - size + 1)]


def _ngram_size(token: str) -> int:
    return 3 if _LETTERS.match(token) else 2


def indexed_note(text: T | str, language: str | None) -> T | str:
    """Return a note's text in the form that FTS5 indexes: as :func:`words`, without HTML."""
    if not isinstance(text, str):
        return text
    # Titles and tags, which have one line, aren't Markdown.
    text = without_html(text) if "\n" in text else text
    if language not in SNOWBALL and language != TONAL and not _has_odd_characters(text):
        return in_one_spelling(text)
    text = normalized(text)
    if language == TONAL:
        text = f"{text}\n{' '.join(map(with_tones, WORD.findall(text)))}"
    if language in SNOWBALL or is_unspaced(text):
        return _indexed(text, language)
    # The same words, without cutting the text at each of them.
    text = in_one_spelling(without_accents(text))
    return _SIGN.sub(_apart, text) if _has_signs(text) else text


def _apart(sign: re.Match[str]) -> str:
    if is_symbol(sign[0]):
        return f" {sign[0]} "
    return " " if _is_sign(sign[0]) else sign[0]


def _indexed(text: str, language: str | None) -> str:
    if not is_unspaced(text):
        return " ".join([_indexed_form(token, language) for token in _tokens(text)])
    found = (_indexed_forms(token, language) for token in _tokens(text))
    return " ".join(chain.from_iterable(found))


def words_version() -> str:
    """Return a version that changes when ``indexed_note`` may return other words for a text."""
    import Stemmer

    return f"{_RULES}.{FOLDING_RULES}/{Stemmer.version()}/{unicodedata.unidata_version}"


@lru_cache(1000)  # a search needs the forms of a word several times
def queried(text: str, language: str | None) -> str:
    """Return a query's words as in the index, but not the shorter n-grams at the end of a run."""
    found = [*words(text, language)]
    while len(found) > 1 and found[-1].end == found[-2].end:
        found.pop()
    return " ".join(word.form for word in found)


def present(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Return the languages of the notes, with one index look-up for each."""
    sql = "select min(language) from notes where language > :last"
    found = [""]
    while language := execute(connection, sql, {"last": found[-1]}).fetchone()[0]:
        found.append(language)
    return tuple(found[1:])


def forms(text: str, languages: Iterable[str]) -> list[str]:
    """Return a query's words as typed, then as the index has them in each of these languages."""
    plain = queried(text, None) if needs_cutting(text) else text
    return distinct([plain, *(queried(text, each) for each in languages if each in SNOWBALL)])


def in_languages(
    expression: str,
    languages: Iterable[str],
    known_forms: Mapping[str, Iterable[str]] = {},
    *,
    once: bool = False,
) -> str:
    """Return an FTS5 expression that also matches its words' forms in these languages.

    :param known_forms: text → its forms, if they are others
    :param once: whether BM25 is to count one form of a word in a note, the first that it has
    """
    known = [None, *(language for language in languages if language in SNOWBALL)]
    if len(known) == 1 and not known_forms and not needs_cutting(expression):
        return expression

    def localized(match: re.Match[str]) -> str:
        if match[1] in known_forms and not match[2]:
            found = [f'"{form}"' for form in known_forms[match[1]]]
        else:
            found = distinct(_STRING.sub(partial(_localized, each), match[0]) for each in known)
        return _any_of(found, once)

    return _STRING_OR_NEAR.sub(localized, expression)


def _any_of(forms: Sequence[str], once: bool) -> str:
    if len(forms) == 1:
        return forms[0]
    if once:
        return f"({forms[0]} OR ({_any_of(forms[1:], once)} NOT {forms[0]}))"
    return f"({' OR '.join(forms)})"


def strings(expression: str) -> list[str]:
    """Return the strings of an FTS5 expression, but not those that begin words."""
    return [match[1] for match in _STRING.finditer(expression) if not match[2]]


_STRING = re.compile(r'"((?:[^"]|"")*)"(\s*\*)?')
_STRING_OR_NEAR = re.compile(rf"{_STRING.pattern}|NEAR\s*\((?:{_STRING.pattern}|[^\")])*\)")


def distinct(texts: Iterable[str]) -> list[str]:
    """Drop texts that are duplicates to FTS5, because a word must not count twice in BM25."""
    texts = [*dict.fromkeys(texts)]
    if len(texts) < 2:
        return texts
    found: dict[str, str] = {}
    for text in texts:
        stems = (_stem(word, "en") for word in tokens(plain(text)))
        found.setdefault(" ".join(stems), text)
    return list(found.values())


def _localized(language: str | None, string: re.Match[str]) -> str:
    text, star = string[1], bool(string[2])
    if needs_cutting(text) or (language and not star):
        # A prefix isn't stemmed, because it isn't a word.
        text = queried(text, None if star else language)
        # Let fewer characters match all n-grams that begin with them.
        last = text.rpartition(" ")[2]
        star = star or (is_unspaced(last) and len(last) < _ngram_size(last))
    return f'"{text}"{"*" * star}'


def register(connection: sqlite3.Connection) -> None:
    """Register the SQL functions that write and search a connection's word index."""
    connection.create_function("indexed_words", 2, indexed_note, deterministic=True)
    connection.create_function("normalized", 1, _of_texts(_normalized), deterministic=True)
    connection.create_function("plain", 1, _of_texts(_plain), deterministic=True)
    connection.create_function(
        "in_languages",
        1,
        _of_texts(lambda expression: in_languages(expression, present(connection))),
        deterministic=True,
    )


def _normalized(text: str) -> str:
    """Return a normalized text with blanks around scripts without spaces: Wi-Fi 設定."""
    text = normalized(text)
    return _SCRIPT_CHANGES.sub(" ", text) if is_unspaced(text) else text


_SCRIPT_CHANGES = re.compile(
    rf"(?<=[^\W{UNSPACED}])(?=[{UNSPACED}])|(?<=[{UNSPACED}])(?=[^\W{UNSPACED}])"
)


# A filter by title or folder folds those of all notes, which takes 20 µs for each in Cyrillic.
_plain = lru_cache(65_536)(plain)


def _of_texts(function: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda value: function(value) if isinstance(value, str) else value


def likely(text: Iterable[str], languages: Iterable[str]) -> str | None:
    """Return the language with the most stop words in a query: two at least, and no tie."""
    typed = [normalized(word).lower() for word in text]
    stops = {each: STOP_WORDS[each] for each in (*languages, "en") if each in STOP_WORDS}
    counts = {each: sum(word in those for word in typed) for each, those in stops.items()}
    best = max(counts, key=lambda language: counts[language])
    is_clear = counts[best] > 1 and list(counts.values()).count(counts[best]) == 1
    return best if is_clear else None


def _stem(word: str, language: str | None) -> str:
    with _lock:  # stemmers aren't thread-safe
        return _snowball(language).stemWord(word) or word


@lru_cache(None)
def _snowball(language: str | None) -> Any:
    import Stemmer

    return Stemmer.Stemmer(SNOWBALL.get(language or "", "porter"), 0)


_lock = threading.Lock()
