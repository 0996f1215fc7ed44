"""What a person typed → ``Query``: words, phrases, filters, notices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..text.languages import is_word
from . import fts5, inferred_times, parser
from .filters import ALIASES, Filters, operators
from .fts5 import Terms, unique
from .inferred_times import Time
from .lexer import QUOTES, Token, tokenize
from .parser import Boolean, Clause

# "auto" is hybrid if the model is available, else keyword search alone.
MODES = ("auto", "hybrid", "keyword", "semantic", "like")

# The modes with a single retriever. Hybrid search has to be better than either of them.
RETRIEVERS = ("keyword", "semantic")
EVALUATED_MODES = (*RETRIEVERS, "hybrid")

# A question has some dozens of words. A pasted page is cut, because each word costs a scan.
MAX_QUERY_CHARACTERS = 1000
MAX_QUERY_WORDS = 64

# Signs of FTS5's query language that aren't operators here: ^first, a + b, {title body}: x, body:x.
_FTS5_SIGNS = (
    r"(?<!\S)-?\{(?:\s*(?:title|body|tags|attachments)\b)+\s*\}\s*:\s*(?=\S)"
    r"|(?<!\S)-?(?:body|attachments):(?=[\w\"(])"
    r"|(?<!\S)\^(?=[\w\"])|(?<=[^\W\d] )\+(?= [^\W\d])"
)


@dataclass(frozen=True)
class Query:
    text: str  # as typed, without control characters, cut to MAX_QUERY_CHARACTERS
    terms: Terms = field(default_factory=Terms)
    in_title: bool = False
    ends_in_space: bool = False  # so the last word is complete; text itself has no final space
    unfinished_word: str = ""  # the last word, if more of it may follow
    mode: str = "auto"
    typed_filters: Filters = field(default_factory=Filters)  # from the text
    time: Time | None = None  # a time that the text mentions
    is_of_time: bool = False  # whether it was read as a filter, because notes of it are asked for
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

    def filters_with(self, terms: Terms) -> Filters:
        """Return the filters from the text, with what ``in:title``, AND, OR and NOT require."""
        required = terms.boolean
        if self.in_title and terms.match:
            required = f"{{title}} : ({terms.match})"
        # As in every search, parts of words match, too; but that doesn't work for AND and OR.
        in_title = terms.substrings if self.in_title and not terms.boolean else ()
        return replace(self.typed_filters, required=required, required_in_title=in_title)

    def text_without(self, clause: Clause | Time) -> str:
        """Return the text without one of its ``clauses``, or without the time."""
        before, after = self.text[: clause.start].rstrip(), self.text[clause.end :].lstrip()
        space = "" if before.endswith("(") or after.startswith(")") else " "
        return f"{before}{space}{after}".strip()


def parse(
    text: str, mode: str = "auto", filters: Filters | None = None, *, has_times: bool = True
) -> Query:
    """Parse what was typed. Any text is valid: whatever isn't syntax is words.

    :param filters: from the page's menus or a command's options
    :param has_times: whether "notes from last week" may be a filter
    """
    ends_in_space = text[-1:].isspace()
    text, cut = _cleaned(text)
    notices: list[str] = []
    words = text if mode == "like" else re.sub(_FTS5_SIGNS, lambda sign: " " * len(sign[0]), text)
    tokens = tokenize(words)
    # They may have blanks and parentheses. So may phrases and filters, which stay as they are.
    for number in re.finditer(f"{fts5.PHONE_NUMBER}|{fts5.GROUPED_NUMBER}", words):
        own = [each for each in tokens if each.start < number.end() and number.start() < each.end]
        if fts5.is_number(number[0]) and not {"phrase", "filter"} & {each.kind for each in own}:
            at = tokens.index(own[0])
            tokens[at : at + len(own)] = [Token("word", number[0], *number.span())]
    if words != text:
        signs = " ".join(match[0].strip() for match in re.finditer(_FTS5_SIGNS, text))
        notices.append(
            f"“{signs}” means nothing here, unlike in FTS5. Quotation marks make a phrase, "
            "in:title searches only titles."
        )
    # In a verbatim search, AND and OR are words, too.
    has_boolean = mode != "like"
    time = inferred_times.find(_without_syntax(text, tokens)) if has_boolean and has_times else None
    guess = time if time and time.is_asked else None
    if guess:
        tokens = _without_time(tokens, guess)
    reading = parser.read(tokens, has_boolean=has_boolean, is_typing=not ends_in_space)
    boolean = parser.read_boolean(reading.tokens) if has_boolean else None
    if boolean:
        terms = boolean.wanted
    else:
        terms = tuple(token for token in reading.tokens if token.kind in ("word", "phrase"))
    if len(terms) > MAX_QUERY_WORDS:
        terms, boolean = terms[:MAX_QUERY_WORDS], None
        cut = cut or (f"Only the first {MAX_QUERY_WORDS} words were searched for.",)
    clauses = reading.clauses
    if guess:
        clauses.append(Clause("time", guess.name, guess.label, guess.start, guess.end))
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
    return Query(
        text=text,
        terms=replace(
            _terms(terms, has_clauses=bool(clauses)),
            open_phrase=_open_phrase(terms) if not ends_in_space else "",
            # Results of the dense retriever must meet the boolean condition, too.
            boolean=boolean.match if boolean else None,
        ),
        mode=mode,
        in_title=reading.in_title,
        ends_in_space=ends_in_space,
        unfinished_word=_unfinished_word(text, terms) if not (boolean or ends_in_space) else "",
        typed_filters=replace(
            reading.filters & guess.filters if guess else reading.filters,
            excluded=reading.excluded,
        ),
        time=time,
        is_of_time=guess is not None,
        notices=(*cut, *notices, *reading.notices),
        clauses=tuple(sorted(clauses, key=lambda clause: clause.start)),
        filters_beside=filters or Filters(),
    )


def without_times(query: Query) -> Query:
    """Return the same search, reading times such as "last week" as words."""
    words = parse(query.typed, query.mode, query.filters_beside, has_times=False)
    return replace(words, time=query.time)


def without_guess(query: Query) -> Query:
    """Return the same search in notes of all times, or for the time's words if it has no others."""
    if not query.terms.substrings or not query.time:
        return without_times(query)
    text = query.text
    for token in reversed(tokenize(text)):
        is_in_time = query.time.start < token.end and token.start < query.time.end
        if is_in_time or (token.kind == "word" and token.start in query.time.asking):
            text = text[: token.start] + text[token.end :]
    wider = parse(text, query.mode, query.filters_beside, has_times=False)
    return replace(wider, ends_in_space=query.ends_in_space)


def without_filters(query: Query) -> Query:
    """Return the search for the same words and phrases in all notes."""
    for clause in reversed(query.clauses):
        if clause.is_filter:
            query = replace(query, text=query.text_without(clause))
    return parse(query.text, query.mode, has_times=False)


def literal(query: Query) -> Query:
    """Return the same search, reading the whole text as words even if it looks like syntax."""
    words = re.sub(r'["*]', " ", query.text.translate(QUOTES)).split()
    terms = _terms([Token("word", word, 0, 0) for word in words[:MAX_QUERY_WORDS]])
    return Query(query.text, terms, mode=query.mode, filters_beside=query.filters_beside)


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


def _cleaned(text: str) -> tuple[str, tuple[str, ...]]:
    text = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]", " ", text).split())
    if len(text) <= MAX_QUERY_CHARACTERS:
        return text, ()
    cut = f"Only the first {MAX_QUERY_CHARACTERS:,} characters were searched for."
    return text[:MAX_QUERY_CHARACTERS].rstrip(), (cut,)


def _without_syntax(text: str, tokens: Sequence[Token]) -> str:
    """Return a text of the same length with blanks for filters and some word for each phrase."""
    for token in tokens:
        if token.kind == "filter" or token.kind == "phrase" or token.minus:
            blank = "x" if token.kind == "phrase" and not token.minus else " "
            text = text[: token.start] + blank * (token.end - token.start) + text[token.end :]
    return text


def _without_time(tokens: Sequence[Token], time: Time) -> list[Token]:
    """Return the tokens without words that only ask for notes, and with a filter for the time."""
    rest = [
        token
        for token in tokens
        if (token.end <= time.start or time.end <= token.start)
        and not (token.kind == "word" and token.start in time.asking)
    ]
    rest.append(Token("filter", time.name, time.start, time.end, is_open=True))
    return sorted(rest, key=lambda token: token.start)


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
        widened.append(Clause("boolean", value, f"as typed: {value}", own[0].start, own[-1].end))
    return widened


def _unfinished_word(text: str, terms: Sequence[Token]) -> str:
    """Return the last word if it may be incomplete; a single letter is too little to go on."""
    last = terms[-1] if terms else None
    if last is None or last.kind != "word" or last.end < len(text) or not is_word(last.text):
        return ""
    return last.bare if len(last.bare) > 1 or not last.bare.isascii() else ""


def _open_phrase(terms: Sequence[Token]) -> str:
    last = terms[-1] if terms else None
    return last.text if last and last.is_open and is_word(last.text[-1:]) else ""


def _terms(tokens: Sequence[Token], *, has_clauses: bool = False) -> Terms:
    phrases, prefixes, identifiers, words, punctuation, meaning = [], [], [], [], [], []
    for token in tokens:
        meaning.append(token.text.strip("*"))
        if token.is_punctuation:
            punctuation.append(token.text)
        elif fts5.is_phone_number(token.text):
            identifiers.append(token.text)
        elif fts5.is_number(token.text):
            words.append(token.text)
        elif token.prefix:
            prefixes.append(token.prefix)
        elif fts5.is_identifier(token.bare) and (
            # A phrase is an identifier only if FTS5 can't find it as a phrase.
            token.kind == "word" or not fts5.survives_tokenizer(token.bare)
        ):
            identifiers.append(token.bare)
        elif token.kind == "phrase" and len(fts5.tokens(token.text)) > (len(tokens) > 1):
            # Among other terms, a single word in quotation marks is just a word.
            phrases.append(token.text)
        elif token.bare:
            words.append(token.bare)
    is_one = len(words) == len(tokens) == 1  # among others, 1,000 is just a word
    if is_one and (fts5.is_compound(words[0]) or re.match(r"[-+]\d", words[0])):  # -1, not 1
        identifiers, words = words, []
    if not has_clauses and len(punctuation) == len(tokens):
        words = punctuation  # if that is all that was typed, search for it
    return Terms(
        meaning=" ".join(filter(None, meaning)),
        words=unique(words),
        phrases=unique(phrases),
        prefixes=unique(prefixes),
        identifiers=unique(identifiers),
    )
