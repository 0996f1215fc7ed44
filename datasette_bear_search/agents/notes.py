"""The tools that read: ``get_notes``, ``list_tags`` and ``library_status``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import contains
from typing import Any, NamedTuple

from ..index.file import vectors
from ..index.run.chunking import passages
from ..library import NoteNotFound
from ..notes import counted, fold_tag, is_within, printable
from ..search.notes.detail import NoteDetail, find_titled
from ..search.ranking.statement import Statement
from ..search.results.retrieve import checked_rows, url_at_heading
from ..search.results.snippets import shortened
from ..sqlite import sqlite3
from . import CHARACTERS_PER_TOKEN, AgentLibrary, ToolError, ToolResult, note_facts, without_empty
from .text import about_lines, facts_line, heading_lines, origin, quoted, text_lines, value_text

MAX_NOTES = 20
# Characters of a note, and of all notes in a call. A token of English has about four.
NOTE_CHARACTERS = 8_000
CALL_CHARACTERS = 24_000
# Characters of the text that was recognized in a note's images and files.
ATTACHMENT_CHARACTERS = 2_000

# Titles to suggest for one that doesn't exist, and their minimum similarity (0 to 100).
SUGGESTIONS = 5
# Characters of a title that are compared and repeated: comparing takes time for every note.
COMPARED_CHARACTERS = 300
SUGGESTION_THRESHOLD = 60

# Tags in a response. If there are more, only the upper levels are shown.
MAX_LISTED_TAGS = 150

_ENCRYPTED = "This note is encrypted: only its title is known. The person can open it."


class LineRange(NamedTuple):
    """Lines ``first`` to ``last`` of a text, from 1; of the first, from ``character`` on."""

    first: int
    last: int
    character: int = 0


def get_notes(
    library: AgentLibrary,
    ids: Sequence[int | str],
    titles: Sequence[str],
    lines: str,
    section: str,
    links: bool,
    max_tokens: int,
) -> ToolResult:
    count = len(ids) + len(titles)
    if not count:
        raise ToolError("get_notes needs ids, as search_notes gives them, or exact titles.")
    if count > MAX_NOTES:
        raise ToolError(f"get_notes gives {MAX_NOTES} notes at most; ask for the others after.")
    if count > 1 and (lines or section):
        raise ToolError("lines and section are for one note: ask for one id or title at a time.")
    if lines and section:
        raise ToolError("Give lines or section, not both.")
    found, choices, problems = _find(library, ids, titles)
    notes: list[dict[str, Any]] = []
    left = min(CALL_CHARACTERS, max_tokens * CHARACTERS_PER_TOKEN)
    for each in found:
        if left <= 0:
            problems.append(
                f"{quoted(each.title)} (id {each.id}) was left out because the answer is long "
                f"enough. Ask for it by itself: get_notes(ids=[{each.id}])."
            )
            continue
        note = _read(each, lines, section, min(NOTE_CHARACTERS, left), links)
        left -= len(note.get("text", ""))
        notes.append(note)
    notes, about = library.with_origin(notes)
    if not notes and not choices:
        raise ToolError(*problems)
    data = {"choices": choices, "problems": problems, "about": about, "origin": origin(notes)}
    texts = ["\n".join(_note_lines(note)) for note in notes] + [*map(_choice_text, choices)]
    texts += about_lines(about)
    return ToolResult("\n\n".join([*texts, *problems]), {"notes": notes, **without_empty(data)})


def list_tags(library: AgentLibrary, under: str) -> ToolResult:
    top = fold_tag(under)
    tags = {name: notes for name, notes in library.tags().items() if is_within(name, top or "*")}
    if top and not tags:
        raise ToolError(f"There is no tag {under!r}. Without under, list_tags shows all tags.")
    shown = [*tags]
    for depth in sorted({name.count("/") for name in tags})[:0:-1]:
        if len(shown) > MAX_LISTED_TAGS:
            shown = [name for name in tags if name.count("/") < depth]
    shown = shown[:MAX_LISTED_TAGS]
    listed = [{"tag": name, "notes": tags[name]} for name in shown]
    lines = [
        f"{'  ' * (name.count('/') - top.count('/'))}{quoted(name)} ({tags[name]})"
        for name in shown
    ]
    left_out = len(tags) - len(shown)
    if left_out:
        lines.append(
            f"{left_out} tags were left out, the most deeply nested first. "
            'list_tags(under="…") shows those below a tag.'
        )
    text = "\n".join(lines or ["No note has a tag."])
    return ToolResult(text, without_empty({"left_out": left_out}) | {"tags": listed})


def library_status(library: AgentLibrary) -> ToolResult:
    with library.open() as connection:
        [facts] = checked_rows(connection, Statement(_TOTALS, {}))
        about = library.about(connection)
        has_extension = vectors.has_extension(connection)
    status = library.status()
    sources = [
        {"name": each.name, "notes": each.notes}
        | without_empty({"read": each.read, "error": each.error})
        for each in status.sources
    ]
    is_usable = has_extension and status.model.state not in ("absent", "failed")
    facts |= {
        "about": {each.name: about[each.name] for each in status.sources if each.name in about},
        "indexed": status.index.indexed,
        "searched_by_meaning": bool(status.vectors.embedded) and is_usable,
        "model": status.model.name,
    }
    facts = {name: value for name, value in facts.items() if value not in (None, {})}
    lines = [f"{name.replace('_', ' ')}: {value_text(value)}" for name, value in facts.items()]
    lines += [f"source {', '.join(_source_parts(source))}" for source in sources]
    lines += [f"Notice: {printable(notice)}" for notice in status.notices]
    return ToolResult("\n".join(lines), facts | {"sources": sources, "notices": [*status.notices]})


_TOTALS = """
select
  count(*) as notes, sum(archived) as archived, sum(encrypted) as encrypted, sum(pinned) as pinned,
  substr(min(created), 1, 10) as oldest, substr(max(modified), 1, 10) as newest
from notes
"""


# --- get_notes: which notes


def _find(
    library: AgentLibrary, ids: Sequence[int | str], titles: Sequence[str]
) -> tuple[list[NoteDetail], list[dict[str, Any]], list[str]]:
    """Return the requested notes, choices for titles with several notes, and problems."""
    found: dict[int, NoteDetail] = {}
    choices, problems = [], []
    for name in (*ids, *titles):
        try:
            same = _named(library, name, is_title=name in titles)
        except ToolError as error:
            problems.append(str(error))
            continue
        if len(same) == 1:
            found[same[0].id] = same[0]
        else:
            choices.append(_choices(name, same))
    return list(found.values()), choices, problems


def only_note(library: AgentLibrary, name: int | str) -> int:
    """Return the id of the note with this name; raise ToolError if there are none or several."""
    same = _named(library, name)
    if len(same) > 1:
        raise ToolError(*_choice_text(_choices(name, same)).split("\n"))
    return same[0].id


def _named(library: AgentLibrary, name: int | str, *, is_title: bool = False) -> list[NoteDetail]:
    """Return the notes with this id, key, path or title; raise ToolError if there are none."""
    if not is_title:
        with suppress(NoteNotFound):
            return [library.note(name)]
    if isinstance(name, int):
        raise ToolError(
            f"There is no note with the id {name}. search_notes gives the ids of notes."
        )
    with library.open() as connection:
        same = find_titled(connection, name)
        if not same:
            # As the tools name it: "Title" (id 5)
            if match := re.fullmatch(r"(?:.*\(id |id:? |#)(\d{1,18})\)?", name, re.DOTALL):
                return _named(library, int(match[1]))
            # … or as people do: “Title”, [[Title]]
            if (bare := " ".join(name.strip('"“”[]').split())) not in ("", name):
                return _named(library, bare, is_title=True)
            raise ToolError(_no_such_title(library, connection, name))
        return [library.note(note_id) for note_id in same[:MAX_NOTES]]


def _choices(title: int | str, notes: Sequence[NoteDetail]) -> dict[str, Any]:
    kept = ("id", "tags", "modified", "archived")
    choices = [
        {name: value for name, value in note_facts(note).items() if name in kept}
        | without_empty({"begins": " ".join(note.body[:200].split())[:100]})
        for note in notes
    ]
    return {"title": title, "notes": choices}


def _choice_text(choice: Mapping[str, Any]) -> str:
    heading = f"{len(choice['notes'])} notes have the title {quoted(choice['title'])}."
    lines = [f"- id {note['id']}: {facts_line(note)}" for note in choice["notes"]]
    return "\n".join([f"{heading} Ask for one by its id:", *lines])


def _no_such_title(library: AgentLibrary, connection: sqlite3.Connection, title: str) -> str:
    from rapidfuzz import fuzz, process, utils

    title = shortened(title, COMPARED_CHARACTERS)
    titles = connection.execute("select id, title from notes")
    similar = process.extract(
        title,
        dict(titles.fetchall()),
        scorer=fuzz.WRatio,
        processor=utils.default_process,
        score_cutoff=SUGGESTION_THRESHOLD,
        limit=SUGGESTIONS,
    )
    has_none = f"No note has the title {quoted(title)}."
    if not similar:
        return f"{has_none} search_notes finds notes by what they say."
    named = ", ".join(
        f"{quoted(library.shown(each))} (id {note_id})" for each, _, note_id in similar
    )
    return f"{has_none} Titles like it: {named}. Or use search_notes."


# --- get_notes: which part of a note


def _read(
    detail: NoteDetail, lines: str, section: str, characters: int, links: bool
) -> dict[str, Any]:
    note = note_facts(detail, links=links)
    if detail.encrypted:
        return note | {"problem": _ENCRYPTED}
    all_lines = detail.body.split("\n")
    files = detail.files
    attachments = "\n".join(f"{name}:\n{text}" if name else text for name, text in files)
    extent = LineRange(1, len(all_lines))
    if lines:
        extent, attachments = _lines_extent(lines, len(all_lines)), ""
    elif section:
        extent, heading = _section_extent(detail.title, detail.body, section)
        attachments = ""
        if links:
            note["url"] = url_at_heading(detail.url, detail.heading_link, heading)
    text, end, rest = _cut(all_lines, extent, characters)
    return note | without_empty(
        {
            "lines": f"{extent.first}:{end}",
            "total_lines": len(all_lines),
            "text": text,
            "rest": rest,
            "attachments": shortened(attachments, ATTACHMENT_CHARACTERS),
        }
    )


def _cut(lines: Sequence[str], extent: LineRange, characters: int) -> tuple[str, int, str | None]:
    """Return the text that fits, the number of its last line, and the lines to request next."""
    text = "\n".join(lines[extent.first - 1 : extent.last])[extent.character :]
    if len(text) <= characters:
        return text, extent.last, None
    end = text.rfind("\n", 0, characters + 1)
    if end > 0:
        last = extent.first + text.count("\n", 0, end)
        return text[:end], last, f"{last + 1}:{extent.last}"
    # A single line doesn't fit: the rest starts at a character within it.
    rest = f"{extent.first}.{extent.character + characters}:{extent.last}"
    return text[:characters], extent.first, rest


_RANGE = re.compile(
    r"L?(?P<first>\d{1,18})?(?:\.(?P<character>\d{1,9}))?"
    r"(?P<to>(?:[:,–-]|\.\.|to)L?(?P<last>\d{1,18})?)?"
)


def _lines_extent(lines: str, total: int) -> LineRange:
    """Read lines such as ``10:20``, ``10:``, ``:20`` and ``10``, or raise ToolError."""
    match = _RANGE.fullmatch(lines.replace(" ", ""))
    if not match or not (match["first"] or match["last"]):
        raise ToolError(
            f"lines must be such as 10:20, 10: (to the end) or 10 (one line), not {lines!r}."
        )
    first = int(match["first"] or 1)
    last = int(match["last"] or (total if match["to"] else first))
    if not 1 <= first <= min(last, total):
        raise ToolError(f"The note has the lines 1:{total}; {lines!r} is none of them.")
    return LineRange(first, min(last, total), int(match["character"] or 0))


def _section_extent(title: str, body: str, heading: str) -> tuple[LineRange, str]:
    """Return the lines of a section and those nested in it, and its heading.

    :param heading: the heading, or a part of it that no other heading has; ``A › B`` is B below A
    """
    wanted = [_normalized(part) for part in re.split("[›>]", heading.lstrip("# "))]
    spans: dict[tuple[str, ...], list[int]] = {}
    for passage in passages(title, body):
        for depth in range(1, len(passage.headings) + 1):
            path = passage.headings[:depth]
            start, _ = spans.setdefault(path, [passage.start, passage.end])
            spans[path] = [start, passage.end]
    ends = {path: [*map(_normalized, path)][-len(wanted) :] for path in spans}
    found = [path for path, end in ends.items() if end == wanted]
    if not found:
        is_like = {path: [*map(contains, end, wanted)] for path, end in ends.items()}
        found = [path for path in spans if len(is_like[path]) == len(wanted) and all(is_like[path])]
    if not found:
        names = value_text([" › ".join(path) for path in spans])
        has = f"Its sections are: {names}." if names else "It has no sections; leave section out."
        raise ToolError(f"This note has no section {quoted(heading)}. {has}")
    if len(found) > 1:
        names = value_text([" › ".join(path) for path in found])
        raise ToolError(f"Several sections have this heading. Ask for one of: {names}.")
    start, end = spans[found[0]]
    lines = LineRange(body.count("\n", 0, start) + 1, body.count("\n", 0, end) + 1)
    return lines, found[0][-1]


def _normalized(text: str) -> str:
    return " ".join(text.split()).casefold()


def _note_lines(note: Mapping[str, Any]) -> Iterator[str]:
    yield from heading_lines(note, "#")
    if problem := note.get("problem"):
        yield problem
        return
    yield f"lines {note['lines']} of {note['total_lines']}\n"
    yield text_lines(note["text"]) if note.get("text") else "(no text)"
    if rest := note.get("rest"):
        yield f'\n[Cut here. For the rest: get_notes(ids=[{note["id"]}], lines="{rest}")]'
    if attachments := note.get("attachments"):
        yield f"\nText in its images and files:\n{text_lines(attachments)}"
    if outside := origin([note]):
        yield f"\n{outside}"


# --- list_tags and library_status


def _source_parts(source: Mapping[str, Any]) -> Iterator[str]:
    yield f"{quoted(source['name'])}: {counted(source['notes'], 'note')}"
    for name in ("read", "error"):
        if name in source:
            yield f"{name} {value_text(source[name])}"
