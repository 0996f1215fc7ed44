"""Which sources a run reads, and which it could read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..sources.base import SourceConfig, SourceError
from ..sources.registry import (
    absolute,
    default_options,
    installed,
    kind_of,
    new_name,
    open_source,
)
from .config import Configuration, named


@dataclass(frozen=True)
class Selection:
    """The sources that a run reads, and the names of the sources that it removes."""

    read: tuple[SourceConfig, ...]
    remove: tuple[str, ...] = ()


def select(
    known: Sequence[SourceConfig],
    configuration: Configuration | None,
    *,
    paths: Sequence[str] = (),
    only: Sequence[str] = (),
    everything: bool = False,
) -> Selection:
    """Select the sources at ``paths`` or named in ``only``; by default, all configured or known.

    :param known: the sources in the index
    :param everything: read all other sources, too, in addition to ``paths``
    :raises ConfigurationError: if a name in ``only`` is unknown
    :raises SourceError: if no kind of source can read a path
    """
    configured = configuration.sources if configuration and configuration.sources else ()
    gone = _no_longer_configured(known, configuration)
    taken = {source.name.lower() for source in configured}
    others = [
        _not_configured(source, configuration)
        for source in known
        if source.name.lower() not in taken and source.name not in gone
    ]
    sources = [*configured, *others]
    if only:
        return Selection(tuple(named(name, sources) for name in dict.fromkeys(only)))
    never = configuration.never if configuration else ()
    given: list[SourceConfig] = []
    for location in map(absolute, paths):
        at_path = [source for source in [*sources, *given] if source.location == location]
        if not at_path:
            kind = kind_of(location)
            name = new_name(kind, location, {source.name for source in [*sources, *given]})
            new = SourceConfig(name, kind, location, default_options(kind), never)
            moved = (source for source in others if _has_moved(source, new))
            at_path = [replace(source, location=location) for source in moved][:1] or [new]
        given.extend(at_path)
    if given and not everything:
        sources, gone = [], ()
    read = {source.name: source for source in [*sources, *given]}
    if not read and not gone:
        from ..sources.bear import default_location

        read["bear"] = SourceConfig("bear", "bear", str(default_location()), never=never)
    return Selection(tuple(read.values()), gone)


def _has_moved(source: SourceConfig, new: SourceConfig) -> bool:
    """Return whether a source's place is gone, and this one has the same kind and last name."""
    folder, name = os.path.split(source.location)
    same = name == os.path.basename(new.location) and source.kind == new.kind
    # Of a drive that isn't connected, the folder is gone, too.
    is_gone = os.path.isdir(folder) and not os.path.lexists(source.location)
    return same and is_gone and source.config_file is None


def _no_longer_configured(
    known: Sequence[SourceConfig], configuration: Configuration | None
) -> tuple[str, ...]:
    """Return the names of sources that this file no longer has, or has by another name."""
    if configuration is None or configuration.sources is None:
        return ()
    file = str(configuration.path.resolve())
    names = {source.name for source in configuration.sources}
    locations = {source.location for source in configuration.sources}

    def was_named(source: SourceConfig) -> bool:
        return source.config_file == file if source.config_file else source.location in locations

    return tuple(each.name for each in known if each.name not in names and was_named(each))


def _not_configured(source: SourceConfig, configuration: Configuration | None) -> SourceConfig:
    if source.config_file is not None:
        return source  # another configuration file names it
    never = configuration.never if configuration else source.never
    # The command line's --include-trashed applies to a single run.
    return replace(source, never=never, include_trashed=False)


class Offer(NamedTuple):
    """Notes of an app on this computer, which can be indexed."""

    config: SourceConfig
    app: str
    notes: int = 0
    problem: str = ""  # why they can't be read


def offers() -> Iterator[Offer]:
    """Yield the notes of apps on this computer; they are counted, not read."""
    for config in installed():
        try:
            source: Any = open_source(config)
            yield Offer(config, source.app, source.count())
        except SourceError as error:
            yield Offer(config, config.kind.capitalize(), problem=str(error))
