"""Any number of reproducible notes made from real words, with the statistics of real text.

A note is put together from stretches of a few consecutive words of real documents. Some of the
stretches come from documents of one topic, the others from all documents. So common words are as
common as in real notes, phrases recur, and notes of one topic share its words. Invented names are
added, so that the vocabulary grows with the library.

The documents are the notes of the demo library and, if BEAR_SEARCH_SHARED names their folder, the
test collections.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import numpy

from datasette_bear_search.notes import Link, Note, Tag
from tests.support.bear_database import demo_notes

SEED = 7

# The demo notes alone have too few words for a topic of sixteen documents each.
DOCUMENTS_A_TOPIC = 16
TOPICS_AT_LEAST = 24
# Per collection, so that none outweighs the others.
DOCUMENTS_AT_MOST = 1500
# Skips collections whose stop words were removed. In English text, every twentieth word is "the".
SHARE_OF_THE = 0.02

# Words in a note: the median, and the standard deviation of the logarithm.
MEDIAN_WORDS = 175
SPREAD = 0.65
WORDS_AT_MOST = 6000
# Words in a stretch: the minimum, and the average.
STRETCH_AT_LEAST, STRETCH = 2, 6
TOPIC_SHARE = 0.4  # of stretches, from the note's own topic
NAMES_A_WORD = 1 / 150
NAMES = 400_000
WORDS_A_PARAGRAPH = 70
SECTIONED = 0.25  # of notes that have headings
WORDS_A_SECTION = 130

FIRST_DAY = datetime(2015, 1, 1, tzinfo=timezone.utc)
DAYS = 3650

NOTES_A_BLOCK = 1000

_WORD = re.compile(r"[^\W_](?:[\w'’-]*[^\W_])?[,.;:?!]?(?=\s)")


@dataclass(frozen=True)
class Words:
    """Real text as one string, and the places where its words and topics begin."""

    text: str
    starts: numpy.ndarray  # the offset of each word in ``text``, and the end of the text
    topics: numpy.ndarray  # the number of each topic's first word, and the number of words
    counts: tuple[Counter[str], ...]  # the words of each topic and how often it has them
    topic_names: tuple[str, ...]  # the most typical word of each topic

    def stretch(self, first: int, count: int) -> str:
        """Return ``count`` words from word number ``first`` on."""
        last = min(first + count, len(self.starts) - 1)
        return self.text[self.starts[first] : self.starts[last]]


@cache
def real_words() -> Words:
    """Return the words of the available documents. Documents next to each other form a topic."""
    documents = [_words(document) for documents in _collections() for document in documents]
    size = max(1, min(DOCUMENTS_A_TOPIC, len(documents) // TOPICS_AT_LEAST))
    topics = [
        [word for document in documents[start : start + size] for word in document]
        for start in range(0, len(documents), size)
    ]
    topics = [topic for topic in topics if len(topic) > 100]
    lengths = numpy.fromiter((len(word) + 1 for topic in topics for word in topic), "int64")
    counts = [Counter(map(stem_of, topic)) for topic in topics]
    return Words(
        text=" ".join(word for topic in topics for word in topic) + " ",
        starts=numpy.concatenate([[0], numpy.cumsum(lengths)]),
        topics=numpy.concatenate([[0], numpy.cumsum([len(topic) for topic in topics])]),
        counts=tuple(counts),
        topic_names=_topic_names(counts),
    )


def synthetic_notes(count: int, seed: int = SEED) -> Iterator[Note]:
    """Yield ``count`` notes. A large library begins with the notes of a smaller one."""
    words = real_words()
    names = _Names(words)
    for block, first in enumerate(range(0, count, NOTES_A_BLOCK)):
        randomness = numpy.random.default_rng([seed, block])
        numbers = range(first, first + NOTES_A_BLOCK)
        yield from _notes(words, names, numbers, randomness)[: count - first]


def stem_of(word: str) -> str:
    """Return the form in which a word is counted: in lower case, without punctuation."""
    return word.strip(",.;:?!").lower()


def _collections() -> Iterator[list[str]]:
    yield [(note.text or "").replace("#", " ") for note in demo_notes()]
    shared = os.environ.get("BEAR_SEARCH_SHARED")
    for path in sorted(Path(shared).glob("eval/*/corpus.jsonl")) if shared else ():
        with open(path, encoding="utf-8") as lines:
            documents = [json.loads(line) for _, line in zip(range(DOCUMENTS_AT_MOST), lines)]
        texts = [f"{document.get('title') or ''} {document['text']}" for document in documents]
        words = [word.lower() for text in texts for word in text.split()]
        if words.count("the") > SHARE_OF_THE * len(words):
            yield texts


def _words(document: str) -> list[str]:
    return _WORD.findall(document + " ")


def _topic_names(counts: Sequence[Counter[str]]) -> tuple[str, ...]:
    everywhere: Counter[str] = Counter()
    for own in counts:
        everywhere.update(own)
    names: list[str] = []
    for number, own in enumerate(counts):
        # A word that is frequent here, rare elsewhere, and not another topic's name.
        ranked = sorted(
            (word for word in own if word.isalpha() and len(word) > 3),
            key=lambda word: (-own[word] * own[word] / everywhere[word], word),
        )
        names.append(next((word for word in ranked if word not in names), f"topic{number}"))
    return tuple(names)


class _Names:
    """Invented names, each made from the start of a real word and the end of another."""

    def __init__(self, words: Words) -> None:
        self._real = sorted(
            {word for own in words.counts for word in own if word.isalpha() and len(word) > 5}
        )

    def __getitem__(self, number: int) -> str:
        front, back = (number * step % len(self._real) for step in (7919, 104_729))
        return self._real[front][:4] + self._real[back][-4:]


def _notes(
    words: Words, names: _Names, numbers: Sequence[int], randomness: numpy.random.Generator
) -> list[Note]:
    count = len(numbers)
    topics = _zipf(randomness, len(words.topics) - 1, count, 10)
    lengths = numpy.exp(randomness.normal(numpy.log(MEDIAN_WORDS), SPREAD, count))
    lengths = lengths.clip(10, WORDS_AT_MOST).astype(int)
    chances = randomness.random((count, 12))
    days = randomness.random((count, 2))
    return [
        _note(words, names, number, int(topic), int(length), chance, day, randomness)
        for number, topic, length, chance, day in zip(numbers, topics, lengths, chances, days)
    ]


def _note(
    words: Words,
    names: _Names,
    number: int,
    topic: int,
    length: int,
    chance: numpy.ndarray,
    day: numpy.ndarray,
    randomness: numpy.random.Generator,
) -> Note:
    stretches = _stretches(words, names, topic, length, randomness)
    title = " ".join(stretches.pop(0).split()[:7]).rstrip(",.;:?!").capitalize()
    sectioned = chance[0] < SECTIONED
    todos_open, todos_done = (int(chance[i] * 40) if chance[i] < 0.12 else 0 for i in (1, 2))
    body = _body(stretches, sectioned, words.topic_names[topic])
    body += "".join(f"\n- [ ] {words.stretch(number % 1000, 4).strip()}" for _ in range(todos_open))
    body += "".join(f"\n- [x] {words.stretch(number % 1000, 4).strip()}" for _ in range(todos_done))
    links: tuple[Link, ...] = ()
    if number and chance[3] < 0.15:
        links = (Link(key=f"note-{int(chance[4] * number)}"),)
    created = FIRST_DAY + timedelta(days=day[0] * DAYS)
    modified = created + timedelta(days=day[1] ** 3 * (DAYS - day[0] * DAYS))
    return Note(
        key=f"note-{number}",
        title=title,
        body=body,
        tags=_tags(words, topic, chance[5:8]),
        links=links,
        created=created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        modified=modified.strftime("%Y-%m-%dT%H:%M:%SZ"),
        pinned=bool(chance[8] < 0.01),
        archived=bool(chance[9] < 0.04),
        todos_open=todos_open,
        todos_done=todos_done,
        has_image=bool(chance[10] < 0.15),
        has_code=bool(chance[11] < 0.08),
        url=f"bear://x-callback-url/open-note?id=note-{number}",
    )


def _stretches(
    words: Words,
    names: _Names,
    topic: int,
    length: int,
    randomness: numpy.random.Generator,
) -> list[str]:
    """Return stretches with about ``length`` words. The first, for the title, is on topic."""
    count = 2 + length // STRETCH
    sizes = STRETCH_AT_LEAST + randomness.geometric(1 / (STRETCH - STRETCH_AT_LEAST + 1), count) - 1
    own = randomness.random(count) < TOPIC_SHARE
    own[0] = True
    low = numpy.where(own, words.topics[topic], 0)
    high = numpy.where(own, words.topics[topic + 1], len(words.starts) - 1)
    firsts = randomness.integers(low, high)
    found = [words.stretch(first, size) for first, size in zip(firsts.tolist(), sizes.tolist())]
    for place in numpy.flatnonzero(randomness.random(count) < NAMES_A_WORD * STRETCH).tolist():
        if place:
            found[place] += names[int(_zipf(randomness, NAMES, 1, 1)[0])] + " "
    return found


def _body(stretches: Sequence[str], sectioned: bool, heading: str) -> str:
    parts: list[str] = []
    paragraph: list[str] = []
    here = section = number = 0
    for stretch in stretches:
        if sectioned and section > WORDS_A_SECTION:
            number += 1
            parts += [
                _sentence(paragraph),
                f"## {stretch.strip(' ,.;:?!').capitalize()}, {heading}",
            ]
            paragraph, here, section = [], 0, 0
            continue
        paragraph.append(stretch)
        here += stretch.count(" ")
        section += stretch.count(" ")
        if here > WORDS_A_PARAGRAPH:
            parts.append(_sentence(paragraph))
            paragraph, here = [], 0
    parts.append(_sentence(paragraph))
    return "\n\n".join(part for part in parts if part)


def _sentence(stretches: Sequence[str]) -> str:
    text = "".join(stretches).rstrip(" ,.;:?!")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _tags(words: Words, topic: int, chance: Sequence[float]) -> tuple[Tag, ...]:
    """Return an area/topic tag for most notes, "inbox" for every tenth, a rare tag for a few."""
    area = words.topic_names[topic // 12 * 12]
    tags = []
    if chance[0] < 0.8:
        tags.append(Tag(f"{area}/{words.topic_names[topic]}"))
    if chance[1] < 0.1:
        tags.append(Tag("inbox"))
    if chance[2] < 0.002:
        tags.append(Tag("rarely/used"))
    return tuple(tags)


def _zipf(
    randomness: numpy.random.Generator, things: int, count: int, offset: float
) -> numpy.ndarray:
    """Draw numbers below ``things``; the probability of n is proportional to 1 / (n + offset)."""
    # By the inverse of the distribution function.
    share = randomness.random(count)
    numbers = offset * ((things + offset) / offset) ** share - offset
    return numbers.astype(int).clip(0, things - 1)
