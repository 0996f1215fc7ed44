"""Which sources a run of ``bear-index`` reads, and which leave the index: by command line, configuration and index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .configuration import Configuration, ConfigurationError, did_you_mean
from .sources.kinds import SourceConfig, absolute, kind_of, new_name


@dataclass(frozen=True)
class Selection:
    """What a run does."""

    read: tuple[SourceConfig, ...]
    remove: tuple[str, ...] = ()  # names


def select(
    known: Sequence[SourceConfig],
    configuration: Configuration | None,
    *,
    paths: Sequence[str] = (),
    only: Sequence[str] = (),
    everything: bool = False,
) -> Selection:
    """The sources to read: those at ``paths`` or called as in ``only``, else all that are configured or known.

    :param known: the sources that the sidecar has
    :param everything: read the others, too, even if there are paths
    :raises ConfigurationError: if there is no source of a name
    :raises SourceError: if nothing reads a path
    """
    configured = configuration.sources if configuration and configuration.sources else ()
    gone = _no_longer_configured(known, configuration)
    taken = {source.name.lower() for source in configured}
    others = [
        _as_asked_now(source, configuration)
        for source in known
        if source.name.lower() not in taken and source.name not in gone
    ]
    sources = [*configured, *others]
    if only:
        return Selection(tuple(_named(name, sources) for name in dict.fromkeys(only)))
    given: list[SourceConfig] = []
    for path in paths:
        location = absolute(path)
        at_path = [source for source in [*sources, *given] if source.location == location]
        given.extend(
            at_path or [_new(location, {s.name for s in [*sources, *given]}, configuration)]
        )
    if given and not everything:
        return Selection(_unique(given))
    read = _unique([*sources, *given])
    if not read and not gone:
        read = (_bears_own(configuration),)
    return Selection(read, gone)


def find(names: Sequence[str], sources: Sequence[SourceConfig]) -> tuple[str, ...]:
    """The names of sources as the sidecar writes them.

    :raises ConfigurationError: if there is no source of a name
    """
    return tuple(_named(name, sources).name for name in names)


def _no_longer_configured(
    known: Sequence[SourceConfig], configuration: Configuration | None
) -> tuple[str, ...]:
    """Sources that came from this configuration file and aren't in it any more, or are under another name."""
    if configuration is None or configuration.sources is None:
        return ()
    file = str(configuration.path.resolve())
    names = {source.name for source in configuration.sources}
    locations = {source.location for source in configuration.sources}
    return tuple(
        source.name
        for source in known
        if source.name not in names
        and (
            source.config_file == file or (not source.config_file and source.location in locations)
        )
    )


def _as_asked_now(source: SourceConfig, configuration: Configuration | None) -> SourceConfig:
    """A known source that this configuration doesn't name."""
    if source.config_file is not None:
        return source  # another file does
    # What was asked for on the command line holds for one run.
    source = replace(source, include_trashed=False)
    return replace(source, never=configuration.never) if configuration else source


def _named(name: str, sources: Sequence[SourceConfig]) -> SourceConfig:
    for source in sources:
        if source.name.lower() == name.lower():
            return source
    if not sources:
        raise ConfigurationError(f"There is no source called {name!r}, because there are none yet.")
    raise ConfigurationError(
        f"There is no source called {name!r}. {did_you_mean(name, [s.name for s in sources])}"
    )


def _new(location: str, taken: set[str], configuration: Configuration | None) -> SourceConfig:
    kind = kind_of(location)
    never = configuration.never if configuration else ()
    return SourceConfig(new_name(kind, location, taken), kind, location, never=never)


def _bears_own(configuration: Configuration | None) -> SourceConfig:
    from .sources.bear import default_location

    never = configuration.never if configuration else ()
    return SourceConfig("bear", "bear", str(default_location()), never=never)


def _unique(sources: Sequence[SourceConfig]) -> tuple[SourceConfig, ...]:
    return tuple({source.name: source for source in sources}.values())
