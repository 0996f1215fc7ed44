"""Test collections in BEIR's format → judged queries, and cached index files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..embeddings import files, names, registry
from ..index.run import indexer
from ..index.run.report import Hooks
from ..notes import Note, counted, without_title_line
from ..sources.base import SourceError
from ..sources.files.file_source import FileSource
from ..sqlite import sqlite3
from .judgments import EvaluationError, JudgedQuery, QuerySet, answered

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
# Characters of the first line that become the title of a document without one.
TITLE_CHARACTERS = 120


@dataclass(frozen=True)
class Collection:
    """A collection's queries and their answers. The documents aren't kept in memory."""

    folder: Path
    queries: dict[str, str]  # id → text
    qrels: dict[str, dict[str, int]]  # query id → document id → grade

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    def judged_queries(self, connection: sqlite3.Connection) -> QuerySet:
        """Return the queries with the ids of answering notes, or raise EvaluationError."""
        ids = dict(connection.execute("select key, id from notes"))
        documents = dict.fromkeys(key for grades in self.qrels.values() for key in grades)
        if missing := [key for key in documents if key not in ids]:
            raise EvaluationError(
                f"{self.folder / QRELS} names {counted(len(missing), 'document')} that the index "
                f"doesn't have, such as {missing[0]!r}. The notes' keys have to be the ids of the "
                "collection's documents."
            )
        queries = []
        for query_id, text in self.queries.items():
            grades = {ids[key]: grade for key, grade in self.qrels.get(query_id, {}).items()}
            queries.append(JudgedQuery(query_id, text, grades))
        if_none = f"{self.folder / QRELS} has no answer to any of the queries in {QUERIES}."
        return answered(self.name, queries, if_none)


class Corpus(FileSource):
    """The documents of a collection as a source of notes, whose keys are the documents' ids."""

    default_name = "collection"

    def read(self, *, include_trashed: bool = False) -> list[Note]:
        notes = []
        for key, record in _records(self.path, "document").items():
            title, text = str(record.get("title") or "").strip(), str(record["text"])
            text = f"# {title}\n{text}" if title else text
            title = title or text.strip().partition("\n")[0][:TITLE_CHARACTERS].strip()
            notes.append(Note(key, title, without_title_line(text, title)))
        return notes


def read_collection(folder: Path) -> Collection:
    """Read the queries and judgments of the collection in a folder, or raise SourceError."""
    _existing(folder / CORPUS)
    records = _records(folder / QUERIES, "query").items()
    queries = {query_id: str(record["text"]) for query_id, record in records}
    return Collection(folder, queries, _read_qrels(folder / QRELS))


def index_collection(
    collection: Collection, cache: Path | None, model: str, *, semantic: bool, hooks: Hooks
) -> Path:
    """Create or update a collection's index file; return its path.

    :param cache: the folder for it; None: the default one
    :param semantic: whether the index needs vectors
    :raises SourceError: if the documents can't be read
    :raises EvaluationError: if the index needs vectors and they can't be made
    """
    cache = cache or files.cache_folder() / "collections"
    embedder = registry.trust(names.given(model))
    embedder.may_download = True
    # One index per model, so that comparing two models doesn't embed everything again each time.
    both = f"{collection.folder.resolve()}\n{embedder.name}"
    digest = hashlib.blake2b(both.encode(), digest_size=4).hexdigest()
    path = cache / f"{collection.name}-{digest}.db"
    snapshot = indexer.read(Corpus(collection.folder.resolve() / CORPUS))
    report = indexer.index(path, [snapshot], embedder if semantic else None, hooks)
    if semantic and report.pending:
        raise EvaluationError(*report.notices)
    return path


def _records(path: Path, kind: str) -> dict[str, dict[str, Any]]:
    records: dict[str, dict[str, Any]] = {}
    for place, line in _lines(path):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise SourceError(f"{place}: this is not JSON ({error}).") from None
        if not (isinstance(record, dict) and str(record.get("_id", "")) and "text" in record):
            raise SourceError(f'{place}: this is not an object with "_id" and "text".')
        key = str(record["_id"])
        if key in records:
            raise SourceError(f"{place}: there is another {kind} {key!r} above.")
        records[key] = record
    return records


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for place, line in _lines(path):
        fields = line.rstrip("\r\n").split("\t")
        if not qrels and fields[-1] == "score":  # the header
            continue
        try:
            query, document, grade = fields
            qrels.setdefault(query, {})[document] = int(grade)
        except ValueError:
            raise SourceError(
                f"{place}: this is not a query's id, a document's id and a whole number, with "
                "tabs between them."
            ) from None
    return qrels


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the place (for error messages) and the text of each line that isn't blank."""
    with open(_existing(path), encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{path}, line {number}", line


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    raise SourceError(
        f"{path} isn't there. A collection is a folder with {CORPUS}, {QUERIES} and {QRELS}."
    )
