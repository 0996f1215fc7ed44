"""Retrieval test collections as Bear libraries, for the benchmarks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tests.support.bear_database import BearNote, write_library

START = datetime(2020, 9, 13, tzinfo=timezone.utc)


def collections() -> list[Path]:
    """Return the folders below ``$BEAR_SEARCH_SHARED/eval`` that hold a ``corpus.jsonl``."""
    shared = os.environ.get("BEAR_SEARCH_SHARED")
    if not shared:
        raise SystemExit("Set BEAR_SEARCH_SHARED to the folder that has the collections in eval/.")
    return sorted(path.parent for path in Path(shared).glob("eval/*/corpus.jsonl"))


def write_collection(collection: Path, library: Path) -> int:
    """Write a collection's documents as notes with their ids; return their number."""
    notes = list(_notes(collection))
    write_library(library, notes)
    return len(notes)


def queries(collection: Path) -> list[str]:
    """Return the texts of a collection's queries."""
    with open(collection / "queries.jsonl", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def _notes(collection: Path) -> Iterator[BearNote]:
    with open(collection / "corpus.jsonl", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            document = json.loads(line)
            title = (document.get("title") or "").strip()
            moment = START + timedelta(minutes=10 * number)
            yield BearNote(
                text=f"# {title}\n{document['text']}" if title else document["text"],
                id=document["_id"],
                created=moment,
                modified=moment,
            )
