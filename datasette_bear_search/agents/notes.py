"""The tool ``get_notes``: whole notes, lines of them, or sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..index.chunking import passages
from ..search import redaction
from ..search.results import note_fields
from ..search.snippets import innermost
from ..sqlite import sqlite3
from .context import Arguments, Library, ToolAnswer, ToolError, day, facts_line, without_empty

MAX_NOTES = 20
# Characters of a note, and of all notes of a call. About a quarter as many tokens in English.
NOTE_CHARACTERS = 8_000
CALL_CHARACTERS = 24_000
# Of the text that was recognized in a note's images and files.
ATTACHMENT_CHARACTERS = 2_000

# Titles that are proposed instead of one that doesn't exist, and how near they must be, of 100.
SUGGESTIONS = 5
SUGGESTED_FROM = 60

_ENCRYPTED = "This note is encrypted. Its title is all that is known of it; the person can open it."


@dataclass(frozen=True)
class Extent:
    """A part of a text: lines from 1 on, both included. ``character`` of the first line is where it begins."""

    first: int
    last: int
    character: int = 0


def get_notes(library: Library, values: Mapping[str, Any]) -> ToolAnswer:
    """The text of notes."""
    arguments = Arguments("get_notes", values, ("ids", "titles", "lines", "section"))
    ids, titles = arguments.numbers("ids"), arguments.texts("titles")
    lines, section = arguments.text("lines"), arguments.text("section")
    asked = len(ids) + len(titles)
    if not asked:
        raise ToolError("get_notes needs ids, as search_notes gives them, or exact titles.")
    if asked > MAX_NOTES:
        raise ToolError(f"get_notes gives {MAX_NOTES} notes at most; ask for the others after.")
    if asked > 1 and (lines or section):
        raise ToolError("lines and section are for one note: ask for one id or title at a time.")
    if lines and section:
        raise ToolError("Give lines or section, not both.")
    with library.open() as connection:
        reader = _Reader(library, connection)
        rows, problems = reader.find(ids, titles)
    notes = []
    room = CALL_CHARACTERS
    for row in rows:
        if room <= 0:
            problems.append(
                f"“{row['title']}” (id {row['id']}) was left out, because the answer is long enough. "
                f"Ask for it by itself: get_notes(ids=[{row['id']}])."
            )
            continue
        note = _read(row, lines, section, min(NOTE_CHARACTERS, room))
        room -= len(note.get("text", ""))
        notes.append(note)
    if not notes and not reader.choices:
        raise ToolError("\n".join(problems))
    data = {"notes": notes, "choices": reader.choices, "problems": problems}
    texts = [*map(_note_text, notes), *map(_choice_text, reader.choices), *problems]
    return ToolAnswer("\n\n".join(texts), without_empty(data) | {"notes": notes})


class _Reader:
    """Finds notes among those that may be seen."""

    def __init__(self, library: Library, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._library = library
        self._visible, self._parameters = library.visible_ids()
        self.choices: list[dict[str, Any]] = []  # titles that several notes have

    def find(
        self, ids: Sequence[int], titles: Sequence[str]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The rows of the notes, in the order in which they were asked for, and what to say of the others."""
        rows: dict[int, dict[str, Any]] = {}
        problems = []
        for note_id in ids:
            found = self._rows("notes.id = :wanted", note_id)
            if not found:
                problems.append(
                    f"There is no note with the id {note_id}. search_notes gives the ids of notes."
                )
            rows.update((row["id"], row) for row in found)
        for title in titles:
            found = self._rows("notes.title = :wanted collate nocase", title)
            if len(found) == 1:
                rows[found[0]["id"]] = found[0]
            elif found:
                self.choices.append({"title": title, "notes": [*map(_choice, found)]})
            else:
                problems.append(self._no_such_title(title))
        return list(rows.values()), problems

    def _rows(self, condition: str, wanted: int | str) -> list[dict[str, Any]]:
        cursor = self._connection.execute(
            f"""
            select notes.*, sources.app, sources.heading_link
            from notes
            join sources on sources.name = notes.source
            where {condition}
              and notes.id in ({self._visible})
            order by notes.modified desc, notes.id
            limit {MAX_NOTES}
            """,
            {**self._parameters, "wanted": wanted},
        )
        names = [column[0] for column in cursor.description]
        return [self._shown(dict(zip(names, row))) for row in cursor.fetchall()]

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        """A row with what may be seen of it: the whole text is looked at before lines are cut out of it."""
        if not self._library.redact:
            return row
        texts = {name: self._library.shown(row[name]) for name in ("title", "body", "attachments")}
        return {**row, **texts, "url": redaction.address(row["url"])}

    def _no_such_title(self, title: str) -> str:
        from rapidfuzz import fuzz, process, utils

        titles = dict(
            self._connection.execute(
                f"select id, title from notes where id in ({self._visible})", self._parameters
            ).fetchall()
        )
        near = process.extract(
            title,
            titles,
            scorer=fuzz.WRatio,
            processor=utils.default_process,
            score_cutoff=SUGGESTED_FROM,
            limit=SUGGESTIONS,
        )
        if not near:
            return f"No note has the title “{title}”. search_notes finds notes by what they say."
        named = ", ".join(
            f"“{self._library.shown(found)}” (id {note_id})" for found, _, note_id in near
        )
        return f"No note has the title “{title}”. Titles like it: {named}. Or use search_notes."


def _read(row: Mapping[str, Any], lines: str, section: str, room: int) -> dict[str, Any]:
    note = {
        "id": row["id"],
        "title": row["title"],
        **_facts(row, section or None),
    }
    if row["encrypted"]:
        return note | {"problem": _ENCRYPTED}
    all_lines = row["body"].split("\n")
    if lines:
        extent = _extent(lines, len(all_lines))
    elif section:
        extent = _section(row["title"], row["body"], section)
    else:
        extent = Extent(1, len(all_lines))
    text, end, rest = _cut(all_lines, extent, room)
    attachments = row["attachments"].strip()
    return note | without_empty(
        {
            "lines": f"{extent.first}:{end}",
            "total_lines": len(all_lines),
            "text": text,
            "rest": rest,
            "attachments": _shortened(attachments) if not (lines or section) else "",
        }
    )


def _facts(row: Mapping[str, Any], heading: str | None) -> dict[str, Any]:
    fields = note_fields(dict(row), heading)
    return without_empty(
        {
            "url": fields["url"],
            "tags": innermost(fields["tags"]),
            "created": day(fields["created"]),
            "modified": day(fields["modified"]),
            "pinned": fields["pinned"],
            "archived": fields["archived"],
            "encrypted": fields["encrypted"],
        }
    )


def _cut(lines: Sequence[str], extent: Extent, room: int) -> tuple[str, int, str | None]:
    """As much of the extent as there is room for: the text, its last line, and the lines to ask for next."""
    text = "\n".join(lines[extent.first - 1 : extent.last])[extent.character :]
    if len(text) <= room:
        return text, extent.last, None
    end = text.rfind("\n", 0, room + 1)
    if end > 0:
        last = extent.first + text.count("\n", 0, end)
        return text[:end], last, f"{last + 1}:{extent.last}"
    # A line that is longer than all the room there is: the rest of it begins at a character.
    rest = f"{extent.first}.{extent.character + room}:{extent.last}"
    return text[:room], extent.first, rest


_RANGE = re.compile(
    r"(?P<first>\d{1,9})?(?:\.(?P<character>\d{1,9}))?(?P<to>[:-](?P<last>\d{1,9})?)?"
)


def _extent(lines: str, total: int) -> Extent:
    """The lines that ``10:20``, ``10:``, ``:20`` and ``10`` mean.

    :raises ToolError: for anything else, and for lines that the note doesn't have
    """
    match = _RANGE.fullmatch(lines.replace(" ", ""))
    if not match or not (match["first"] or match["last"]):
        raise ToolError(
            f"lines must be such as 10:20, 10: (to the end) or 10 (one line), not {lines!r}."
        )
    first = int(match["first"] or 1)
    last = int(match["last"] or (total if match["to"] else first))
    if not 1 <= first <= min(last, total):
        raise ToolError(f"The note has the lines 1:{total}; {lines!r} is none of them.")
    return Extent(first, min(last, total), int(match["character"] or 0))


def _section(title: str, body: str, heading: str) -> Extent:
    """The lines below a heading, down to the next one of its level; ``A › B`` is B below A.

    :raises ToolError: if there is no such heading
    """
    wanted = [_folded(part) for part in re.split("[›>]", heading.lstrip("# "))]
    spans: dict[tuple[str, ...], list[int]] = {}
    for passage in passages(title, body):
        for depth in range(1, len(passage.headings) + 1):
            path = passage.headings[:depth]
            start, _ = spans.setdefault(path, [passage.start, passage.end])
            spans[path] = [start, passage.end]
    found = [path for path in spans if [*map(_folded, path)][-len(wanted) :] == wanted]
    if not found:
        names = "; ".join(dict.fromkeys(" › ".join(path) for path in spans))
        has = f"Its sections are: {names}." if names else "It has no sections; leave section out."
        raise ToolError(f"This note has no section “{heading}”. {has}")
    if len(found) > 1:
        names = "; ".join(" › ".join(path) for path in found)
        raise ToolError(f"Several sections are called so. Ask for one of: {names}.")
    start, end = spans[found[0]]
    return Extent(body.count("\n", 0, start) + 1, body.count("\n", 0, end) + 1)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _shortened(text: str) -> str:
    if len(text) <= ATTACHMENT_CHARACTERS:
        return text
    return text[:ATTACHMENT_CHARACTERS].rsplit(" ", 1)[0] + "…"


def _choice(row: Mapping[str, Any]) -> dict[str, Any]:
    begins = " ".join(row["body"][:200].split())
    return {
        "id": row["id"],
        **without_empty(
            {
                "tags": innermost(note_fields(dict(row), None)["tags"]),
                "modified": day(row["modified"]),
                "archived": bool(row["archived"]),
                "begins": begins[:100],
            }
        ),
    }


def _note_text(note: Mapping[str, Any]) -> str:
    return "\n".join(_note_lines(note))


def _note_lines(note: Mapping[str, Any]) -> Iterator[str]:
    about = {
        name: value
        for name, value in note.items()
        if name
        not in ("id", "title", "text", "rest", "attachments", "problem", "lines", "total_lines")
    }
    yield f"# {note['title'] or 'Untitled'} (id {note['id']})"
    if about:
        yield facts_line(about)
    if problem := note.get("problem"):
        yield problem
        return
    yield f"lines {note['lines']} of {note['total_lines']}"
    yield ""
    yield note.get("text") or "(no text)"
    if rest := note.get("rest"):
        yield f'\n[Cut here. For the rest: get_notes(ids=[{note["id"]}], lines="{rest}")]'
    if attachments := note.get("attachments"):
        yield f"\nText in its images and files:\n{attachments}"


def _choice_text(choice: Mapping[str, Any]) -> str:
    lines = [
        f"{len(choice['notes'])} notes have the title “{choice['title']}”. Ask for one by its id:"
    ]
    for note in choice["notes"]:
        facts = facts_line({name: value for name, value in note.items() if name != "id"})
        lines.append(f"- id {note['id']}: {facts}")
    return "\n".join(lines)
