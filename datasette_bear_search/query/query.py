"""What a person typed → ``Query``: words, phrases, filters, FTS5 expressions, notices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import fts5, parser, times
from .dates import utc
from .filters import ALIASES, Filters, operators
from .fts5 import unique
from .lexer import QUOTES, Token, tokenize
from .parser import Boolean, Clause
from .times import Time

# "auto" is hybrid if the model is available, else keyword search alone.
MODES = ("auto", "hybrid", "keyword", "semantic", "like")

# The modes with a single retriever. Hybrid search has to be better than either of them.
RETRIEVERS = ("keyword", "semantic")
EVALUATED_MODES = (*RETRIEVERS, "hybrid")

# A question has some dozens of words. A pasted page is cut, because each word costs a scan.
MAX_QUERY_CHARACTERS = 1000
MAX_QUERY_WORDS = 64


@dataclass(frozen=True)
class Query:
    text: str  # as typed, without control characters, cut to MAX_QUERY_CHARACTERS
    meaning: str = ""  # the text to embed, without filters, exclusions and syntax
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()  # without the "*"
    completions: tuple[str, ...] = ()  # the library's words with these prefixes
    identifiers: tuple[str, ...] = ()  # file names, versions, codes: searched verbatim
    excluded: tuple[str, ...] = ()  # words, phrases and prefixes* that no result may have
    is_boolean: bool = False
    in_title: bool = False
    ends_in_space: bool = False  # so the last word is complete; text itself has no final space
    unfinished_word: str = ""  # the last word, if more of it may follow
    open_phrase: str = ""  # the phrase without a closing quotation mark; more of it may follow
    match: str | None = None  # FTS5 expression; None if the text has no word for FTS5
    exact: str | None = None  # its matches rank first if they contain the exact_substrings, too
    mode: str = "auto"
    typed_filters: Filters = field(default_factory=Filters)  # from the text
    notices: tuple[str, ...] = ()
    clauses: tuple[Clause, ...] = ()
    filters_beside: Filters = field(default_factory=Filters)

    @property
    def typed(self) -> str:
        """The text as the SQL statement gets it, with its final space."""
        return self.text + " " * self.ends_in_space

    @property
    def filters(self) -> Filters:
        return self.filters_beside & self.typed_filters

    @property
    def substrings(self) -> tuple[str, ...]:
        """The texts that LIKE searches for: all words and phrases verbatim."""
        return tuple(dict.fromkeys([*self.phrases, *self.identifiers, *self.words, *self.prefixes]))

    @property
    def exact_substrings(self) -> tuple[str, ...]:
        """The texts that an exact match must contain, because to FTS5 ``C++`` is ``c``."""
        return tuple(word for word in self.identifiers if not fts5.survives_tokenizer(word))

    def text_without(self, clause: Clause) -> str:
        """Return the text without one of its ``clauses``."""
        before, after = self.text[: clause.start].rstrip(), self.text[clause.end :].lstrip()
        space = "" if before.endswith("(") or after.startswith(")") else " "
        return f"{before}{space}{after}".strip()


def parse(
    text: str, mode: str = "auto", filters: Filters | None = None, *, has_times: bool = True
) -> Query:
    """Parse what was typed. Any text is valid: whatever isn't syntax is words.

    :param filters: from the page's menus or a command's options
    :param has_times: whether "last week" may be a filter
    """
    ends_in_space = text[-1:].isspace()
    text, notices = _cleaned(text)
    tokens = tokenize(text)
    # In a verbatim search, AND and OR are words, too.
    has_boolean = mode != "like"
    moments, time = Filters(), None
    if has_boolean and has_times and (found := times.find(text)):
        tokens, moments, time = _without_time(text, tokens, found)
    reading = parser.read(tokens, has_boolean=has_boolean, is_typing=not ends_in_space)
    boolean = parser.read_boolean(reading.tokens) if has_boolean else None
    if boolean:
        terms = boolean.wanted
    else:
        terms = tuple(token for token in reading.tokens if token.kind in ("word", "phrase"))
    if len(terms) > MAX_QUERY_WORDS:
        terms, boolean = terms[:MAX_QUERY_WORDS], None
        notices.append(f"Only the first {MAX_QUERY_WORDS} words were searched for.")
    clauses = [*reading.clauses, *filter(None, [time])]
    if boolean:
        clauses = _with_boolean(text, reading.tokens, boolean, clauses)
        if boolean.ignores_or:
            notices.append(
                "OR can't be combined with filters (tag:) or exclusions (-); "
                "those apply to every result."
            )
    elif has_boolean and parser.seems_boolean(reading.tokens):
        notices.append(
            "AND, OR, NOT and NEAR were searched for as words, because the parentheses "
            "or what is in them is not complete."
        )
    query = Query(
        text=text,
        mode=mode,
        excluded=reading.excluded,
        is_boolean=bool(boolean and boolean.match),
        in_title=reading.in_title,
        ends_in_space=ends_in_space,
        open_phrase=_open_phrase(terms) if not ends_in_space else "",
        unfinished_word=_unfinished_word(text, terms) if not (boolean or ends_in_space) else "",
        match=boolean.match if boolean else None,
        typed_filters=reading.filters & moments,
        notices=(*notices, *reading.notices),
        clauses=tuple(sorted(clauses, key=lambda clause: clause.start)),
        filters_beside=filters or Filters(),
    )
    return _with_expressions(_with_terms(query, terms))


def without_times(query: Query) -> Query:
    """Return the same search, reading times such as "last week" as words."""
    return parse(query.typed, query.mode, query.filters_beside, has_times=False)


def literal(query: Query) -> Query:
    """Return the same search, reading the whole text as words even if it looks like syntax."""
    words = re.sub(r'["*]', " ", query.text.translate(QUOTES)).split()
    plain = Query(query.text, mode=query.mode, filters_beside=query.filters_beside)
    terms = [Token("word", word, 0, 0) for word in words[:MAX_QUERY_WORDS]]
    return _with_expressions(_with_terms(plain, terms))


def relaxed(query: Query) -> Query:
    """Return the same search with loose words instead of phrases and operators; filters stay."""
    words = [*query.words, *(word for phrase in query.phrases for word in fts5.tokens(phrase))]
    return _with_expressions(replace(query, words=unique(words), phrases=(), is_boolean=False))


def rewritten(query: Query, replacements: Mapping[str, str | None]) -> Query:
    """Return the same search with words replaced by others or by prefixes such as ``roo*``.

    A word that is mapped to None isn't searched for anymore, but stays in ``meaning``.
    """
    found = [word for word in (replacements.get(word, word) for word in query.words) if word]
    words = [word for word in found if not word.endswith("*")]
    prefixes = [word[:-1] for word in found if word.endswith("*")]
    meaning = query.meaning
    for word, other in replacements.items():
        if other and not other.endswith("*"):
            whole_word = rf"(?<!\w){re.escape(word)}(?!\w)"
            meaning = re.sub(whole_word, other.replace("\\", r"\\"), meaning)
    prefixes = [*query.prefixes, *prefixes]
    return _with_expressions(
        replace(query, meaning=meaning, words=unique(words), prefixes=unique(prefixes))
    )


def text_with(text: str, replacements: Mapping[str, str]) -> str:
    """Return a text with words replaced where they are words or one-word phrases of the query."""
    for token in reversed(tokenize(text)):
        if token.kind in ("word", "phrase") and (other := replacements.get(token.bare)):
            typed = text[token.start : token.end].replace(token.bare, other)
            text = text[: token.start] + typed + text[token.end :]
    return text


def repaired(query: Query) -> str:
    """Return the text with our operators in place of those that people know from elsewhere."""
    text = query.text
    for token in reversed(tokenize(text)):
        name, colon, value = token.text.partition(":")
        if token.kind != "word" or not colon or not re.fullmatch(r"[a-zA-Z-]+", name):
            continue
        at = token.end - len(token.text)
        meant = ALIASES.get(name.lower()) or (name[:-1] if name[:-1] in operators() else None)
        if meant and (value or text[token.end : token.end + 1] == '"'):
            text = text[:at] + meant + text[at + len(name) :]
    return text


def with_value(text: str, name: str, value: str, other: str) -> str:
    for token in reversed(tokenize(text)):
        if (token.kind, token.name, token.text) == ("filter", name, value):
            form = f'{name}:"{other}"' if " " in other else f"{name}:{other}"
            text = text[: token.start + token.minus] + form + text[token.end :]
    return text


def completed(query: Query, completions: Iterable[str]) -> Query:
    """Return the same search with these words as the completions of its prefixes."""
    return _with_expressions(replace(query, completions=unique(completions)))


def _cleaned(text: str) -> tuple[str, list[str]]:
    text = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]", " ", text).split())
    if len(text) <= MAX_QUERY_CHARACTERS:
        return text, []
    return text[:MAX_QUERY_CHARACTERS].rstrip(), [
        f"Only the first {MAX_QUERY_CHARACTERS:,} characters were searched for."
    ]


def _without_time(
    text: str, tokens: list[Token], found: Time
) -> tuple[list[Token], Filters, Clause | None]:
    """Return the tokens outside a time, its filter and its clause; none if it isn't all words."""
    inside = [token for token in tokens if found.start < token.end and token.start < found.end]
    if any(token.kind != "word" or token.minus for token in inside):
        return tokens, Filters(), None
    value = text[found.start : found.end]
    time = Token("filter", value, found.start, found.end, is_open=True)
    rest = [
        token
        for token in tokens
        if token not in inside
        and not (token.kind == "word" and (found.is_all or token.start in found.asking))
    ]
    moments = Filters(moments=((utc(found.since), utc(found.until)),))
    clause = Clause("time", value, f"time: {value}", found.start, found.end)
    return sorted([*rest, time], key=lambda token: token.start), moments, clause


def _with_boolean(
    text: str, tokens: Sequence[Token], boolean: Boolean, clauses: Sequence[Clause]
) -> list[Clause]:
    """Return the clauses with one for the boolean syntax instead of those for its phrases."""
    # A filter's clause includes an AND or OR next to it, to be removed with the filter.
    joints = [token for token in tokens if parser.is_operator(token)]
    starts = {joint.end + 1: joint.start for joint in joints}
    ends = {joint.start - 1: joint.end for joint in joints}
    widened = []
    for clause in clauses:
        if clause.kind == "phrase":
            continue  # part of the boolean syntax
        if clause.start in starts:
            clause = clause._replace(start=starts[clause.start])
        elif clause.end in ends:
            clause = clause._replace(end=ends[clause.end])
        widened.append(clause)
    if boolean.match:
        own = [token for token in tokens if token.kind != "filter"]
        terms = [token for token in own if not parser.is_operator(token)]
        value = text[terms[0].start : terms[-1].end]
        widened.append(Clause("boolean", value, f"boolean: {value}", own[0].start, own[-1].end))
    return widened


def _unfinished_word(text: str, terms: Sequence[Token]) -> str:
    """Return the last word if it may be incomplete; a single letter is too little to go on."""
    last = terms[-1] if terms else None
    if last is None or last.kind != "word" or last.end < len(text) or not last.text.isalnum():
        return ""
    return last.bare if len(last.bare) > 1 or not last.bare.isascii() else ""


def _open_phrase(terms: Sequence[Token]) -> str:
    last = terms[-1] if terms else None
    return last.text if last and last.is_open and last.text[-1:].isalnum() else ""


def _with_terms(query: Query, terms: Sequence[Token]) -> Query:
    phrases, prefixes, identifiers, words, punctuation, meaning = [], [], [], [], [], []
    for term in terms:
        meaning.append(term.text.strip("*"))
        if term.is_punctuation:
            punctuation.append(term.text)
        elif term.prefix:
            prefixes.append(term.prefix)
        elif fts5.is_identifier(term.bare) and (
            # A phrase is an identifier only if FTS5 can't find it as a phrase.
            term.kind == "word" or not fts5.survives_tokenizer(term.bare)
        ):
            identifiers.append(term.bare)
        elif term.kind == "phrase" and len(fts5.tokens(term.text)) > (len(terms) > 1):
            # Among other terms, a single word in quotation marks is just a word.
            phrases.append(term.text)
        elif term.bare:
            words.append(term.bare)
    if len(words) == len(terms) == 1 and fts5.is_compound(words[0]):
        identifiers, words = words, []
    if not query.clauses and len(punctuation) == len(terms):
        words = punctuation  # if that is all that was typed, search for it
    return replace(
        query,
        meaning=" ".join(filter(None, meaning)),
        phrases=unique(phrases),
        prefixes=unique(prefixes),
        identifiers=unique(identifiers),
        words=unique(words),
    )


def _with_expressions(query: Query) -> Query:
    if query.is_boolean:
        # Results of the dense retriever must meet the boolean condition, too.
        match, exact, required = query.match, None, query.match
    else:
        match, required = _match(query), None
        identifiers = map(fts5.quoted, query.identifiers)
        exact = " AND ".join([*_phrases(query), *identifiers]) or None
    if query.in_title and match:
        required = f"{{title}} : ({match})"
    filters = replace(
        query.typed_filters,
        excluded=query.excluded,
        required=required,
        # As in every search, parts of words match, too; but that doesn't work for AND and OR.
        required_in_title=query.substrings if query.in_title and not query.is_boolean else (),
    )
    return replace(query, match=match, exact=exact, typed_filters=filters)


def _phrases(query: Query) -> list[str]:
    return [
        fts5.starting_with(phrase) if phrase == query.open_phrase else fts5.quoted(phrase)
        for phrase in query.phrases
    ]


def _match(query: Query) -> str | None:
    """Return the expression for all phrases and any words. BM25 ranks more words higher."""
    loose = []
    for word in (*query.identifiers, *query.words):
        tokens = fts5.words(word)
        # Useless alone: the s of Anna's, the letters of V(D)J, single digits of an ISBN.
        parts = [token for token in tokens if len(token) > 1 or not token.isascii()]
        # foo-bar as a whole counts more than foo and bar, but in a sentence it would count twice.
        counts_whole = word in query.identifiers or len(query.words) <= 2 or not parts
        has_symbols = len(fts5.tokens(word)) > len(tokens)  # §12 counts more than 12
        if has_symbols or (len(tokens) > 1 and len(parts) != 1 and counts_whole):
            loose.append(fts5.quoted(word))
        loose.extend(map(fts5.quoted, parts if len(tokens) > 1 else tokens))
    loose.extend(map(fts5.starting_with, query.prefixes))
    # The index has stems, which may be shorter than the prefix: runn* doesn't match running (run).
    loose.extend(map(fts5.quoted, query.completions))
    required = _phrases(query)
    if not required:
        return fts5.any_of(loose)
    if loose:
        # The first phrase satisfies this part, so the words only add to the score.
        required.append(f"({fts5.any_of([*loose, required[0]])})")
    return " AND ".join(required)
