"""The tools ``list_tags`` and ``library_status``: what there is to search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .. import asking, freshness, readiness, sidecar
from ..sidecar import fold_tag
from .library import Arguments, Library, ToolAnswer, ToolError, day, without_empty

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
        state = sidecar.read_state(connection)
        obstacle = readiness.obstacle(state, sidecar.has_vector_extension(connection))
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
        notice for notice in (obstacle, readiness.incomplete(state), _changed(library)) if notice
    ]
    data = {name: value for name, value in facts.items() if value is not None}
    lines = [f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in data.items()]
    lines += [f"Notice: {notice}" for notice in notices]
    return ToolAnswer("\n".join(lines), data | {"notices": notices})


def _changed(library: Library) -> str | None:
    changed = freshness.changes_since_indexing(library.path)
    if changed and library.hidden_tags:
        # How many would count notes that nobody may know of.
        return (
            "Notes have changed since the index was made. To search them, run: datasette bear-index"
        )
    return asking.changed_notice(changed)


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
