"""What every tool has in common: the notes that it may see, the arguments that it was given, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..index import database, watch
from ..index.database import SidecarError
from ..notes import fold_tag
from ..query.filters import Filters
from ..search import engine, redaction
from ..search.functions import open_sidecar
from ..sqlite import sqlite3

TELL_THE_PERSON = "Tell the person: only they can run it, in a terminal."


class ToolError(Exception):
    """A tool can't do what it was asked; the message is for a model, and says what to try instead."""


@dataclass(frozen=True)
class ToolAnswer:
    """The same answer twice: as text to read, and as data for programs."""

    text: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Library:
    """The notes in a sidecar, but for those that agents may never see."""

    path: Path
    hidden_tags: tuple[str, ...] = ()  # each with what is nested below it
    time_limit_ms: float | None = None  # for the statement of a search
    redact: bool = False  # whether secrets are masked

    @property
    def visible(self) -> Filters:
        """What every note fulfils that agents may see."""
        return Filters(without=tuple(Filters({"tag": (tag,)}) for tag in self.hidden_tags))

    def visible_ids(self) -> tuple[str, dict[str, Any]]:
        """SQL that gives the ids of those notes, and its parameters."""
        conditions, parameters = self.visible.conditions()
        where = f" where {' and '.join(conditions)}" if conditions else ""
        return f"select id from notes{where}", parameters

    def shown(self, text: str) -> str:
        """A text as agents may see it."""
        return redaction.masked(text) if self.redact else text

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A read-only connection to the sidecar.

        :raises ToolError: if there is none, or it can't be read
        """
        try:
            with open_sidecar(self.path) as connection:
                yield connection
        except SidecarError as error:
            raise ToolError(f"{error} {TELL_THE_PERSON}") from None
        except sqlite3.DatabaseError as error:
            if "interrupted" in str(error):
                raise ToolError(
                    "The search took longer than this server allows. Use fewer words, or a filter such as tag."
                ) from None
            raise ToolError(
                "The index of the notes can't be read just now. Try again; if it stays so, it is made anew by "
                f"datasette bear-index --rebuild. {TELL_THE_PERSON}"
            ) from None


class Arguments:
    """The arguments of a call. Models write 5 as "5" and one tag as a text: what is meant is taken."""

    def __init__(self, tool: str, values: Mapping[str, Any] | None, known: Sequence[str]) -> None:
        self._values = {
            name: value for name, value in (values or {}).items() if value not in (None, "", [])
        }
        if unknown := [name for name in self._values if name not in known]:
            takes = f"It takes: {', '.join(known)}." if known else "It takes none."
            raise ToolError(f"{tool} has no argument {unknown[0]!r}. {takes}")

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str) -> str:
        """A text, empty if there is none."""
        value = self._values.get(name, "")
        if isinstance(value, (list, dict)):
            raise ToolError(f"{name} must be a text, not {value!r}.")
        return str(value).strip()

    def texts(self, name: str) -> list[str]:
        """One or more texts."""
        return _texts(name, self._values.get(name, []))

    def number(self, name: str, default: int, lowest: int, highest: int) -> int:
        """A number in a range."""
        value = self._values.get(name, default)
        number = _number(value)
        if number is None or not lowest <= number <= highest:
            raise ToolError(f"{name} must be a number from {lowest} to {highest}, not {value!r}.")
        return number

    def is_set(self, name: str) -> bool:
        """Whether an argument is true."""
        value = self._values.get(name, False)
        if str(value).lower() not in ("true", "false", "1", "0"):
            raise ToolError(f"{name} must be true or false, not {value!r}.")
        return str(value).lower() in ("true", "1")

    def numbers(self, name: str) -> list[int]:
        """One or more ids of notes."""
        value = self._values.get(name, [])
        found = [(each, _number(each)) for each in (value if isinstance(value, list) else [value])]
        if wrong := [each for each, number in found if number is None]:
            raise ToolError(
                f"{name} must be numbers, as search_notes gives them, not {wrong[0]!r}. "
                "If it is a title, use titles."
            )
        return [number for _, number in found if number is not None]

    def named_texts(self, name: str) -> dict[str, list[str]]:
        """Names with one or more texts each; true and false are 1 and 0."""
        value = self._values.get(name, {})
        if not isinstance(value, dict):
            raise ToolError(f'{name} must be an object such as {{"tag": "work"}}, not {value!r}.')
        return {key: _texts(key, each) for key, each in value.items() if each not in (None, "", [])}


def _texts(name: str, value: Any) -> list[str]:
    texts = []
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, (list, dict)):
            raise ToolError(f"{name} must be a text or a list of texts, not {value!r}.")
        texts.append({True: "1", False: "0"}[each] if isinstance(each, bool) else str(each).strip())
    return texts


def _number(value: Any) -> int | None:
    """The whole number that is meant; None if none is, or if it is larger than SQLite's."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def day(timestamp: str | None) -> str | None:
    """The day of a time, in UTC."""
    return timestamp[:10] if timestamp else None


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that say something: of 20 notes, 19 aren't archived, and every word costs the reader."""
    return {name: value for name, value in values.items() if value not in (None, False, "", (), [])}


def facts_line(values: Mapping[str, Any]) -> str:
    """What is known of a note, in one line."""
    return " · ".join(
        name
        if value is True
        else f"{name}: {', '.join(value) if isinstance(value, (list, tuple)) else value}"
        for name, value in values.items()
    )


# The tools ``list_tags`` and ``library_status``: what there is to search.

# Tags in an answer. Of more, only the upper levels are shown.
MAX_TAGS = 150


def list_tags(library: Library, values: Mapping[str, Any]) -> ToolAnswer:
    """The tree of tags, with how many notes have each or one nested below it."""
    arguments = Arguments("list_tags", values, ("under",))
    under = fold_tag(arguments.text("under"))
    with library.open() as connection:
        sql, parameters = library.visible_ids()
        rows = connection.execute(
            f"""
            select tags.name, note_tags.note_id
            from tags
            join note_tags on note_tags.tag_id = tags.id
            where note_tags.note_id in ({sql})
            order by tags.folded, tags.id
            """,
            parameters,
        ).fetchall()
    names: dict[str, str] = {}
    notes: dict[str, set[int]] = {}
    for name, note_id in rows:
        parts = name.split("/")
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            names.setdefault(fold_tag(path), path)
            notes.setdefault(fold_tag(path), set()).add(note_id)
    shown = [tag for tag in sorted(notes) if not under or f"{tag}/".startswith(f"{under}/")]
    if under and not shown:
        raise ToolError(
            f"There is no tag {arguments.text('under')!r}. Without under, list_tags shows all tags."
        )
    levels = sorted({tag.count("/") for tag in shown})
    while len(shown) > MAX_TAGS and len(levels) > 1:
        levels.pop()
        shown = [tag for tag in shown if tag.count("/") <= levels[-1]]
    left_out = sum(1 for tag in notes if f"{tag}/".startswith(f"{under}/" if under else "")) - len(
        shown
    )
    shown = shown[:MAX_TAGS]
    tree = _tree(shown, names, notes)
    lines = [*_tree_lines(tree, 0)] or ["No note has a tag."]
    if left_out:
        lines.append(
            f'{left_out} tags that are nested more deeply were left out. list_tags(under="…") shows those below a tag.'
        )
    return ToolAnswer("\n".join(lines), without_empty({"left_out": left_out}) | {"tags": tree})


def library_status(library: Library, values: Mapping[str, Any]) -> ToolAnswer:
    """How many notes there are, of when, and how they can be searched."""
    Arguments("library_status", values, ())
    with library.open() as connection:
        sql, parameters = library.visible_ids()
        state = database.read_state(connection)
        obstacle = engine.semantic_obstacle(state, database.has_vector_extension(connection))
        total, archived, encrypted, pinned, oldest, newest = connection.execute(
            f"""
            select count(*), sum(archived), sum(encrypted), sum(pinned), min(created), max(modified)
            from notes
            where id in ({sql})
            """,
            parameters,
        ).fetchone()
        sources = dict(
            connection.execute(
                f"select source, count(*) from notes where id in ({sql}) group by source",
                parameters,
            ).fetchall()
        )
    facts = {
        "notes": total,
        "archived": archived,
        "encrypted": encrypted,
        "pinned": pinned,
        "sources": sources,
        "oldest": day(oldest),
        "newest": day(newest),
        "indexed": state.indexed,
        "searched_by_meaning": obstacle is None and state.has_vectors,
        "model": state.model if state.has_vectors else None,
    }
    notices = [
        notice for notice in (obstacle, engine.pending_notice(state), _changed(library)) if notice
    ]
    data = {name: value for name, value in facts.items() if value is not None}
    lines = [f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in data.items()]
    lines += [f"Notice: {notice}" for notice in notices]
    return ToolAnswer("\n".join(lines), data | {"notices": notices})


def _changed(library: Library) -> str | None:
    changed = watch.changes_since_indexing(library.path)
    if changed and library.hidden_tags:
        # How many would count notes that nobody may know of.
        return (
            "Notes have changed since the index was made. To search them, run: datasette bear-index"
        )
    return engine.changed_notice(changed)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _tree(
    tags: list[str], names: Mapping[str, str], notes: Mapping[str, set[int]]
) -> list[dict[str, Any]]:
    """Tags in order → nodes, each with those nested below it."""
    roots: list[dict[str, Any]] = []
    nodes: dict[str, dict[str, Any]] = {}
    for tag in tags:
        nodes[tag] = node = {"tag": names[tag], "notes": len(notes[tag])}
        parent = nodes.get(tag.rpartition("/")[0])
        if parent is None:
            roots.append(node)
        else:
            parent.setdefault("nested", []).append(node)
    return roots


def _tree_lines(nodes: list[dict[str, Any]], depth: int) -> Iterator[str]:
    for node in nodes:
        yield f"{'  ' * depth}{node['tag']} ({node['notes']})"
        yield from _tree_lines(node.get("nested", []), depth + 1)
