"""``bear-search.yaml``, the command line and the index → the sources that ``bear-index`` reads.

The settings may also be in Datasette's own file, under ``plugins: datasette-bear-search:``.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..embeddings.prompts import Prompts
from ..notes import ForeseenError
from ..processes import user_folder
from ..sources.base import SourceConfig, SourceError, seconds_in
from ..sources.registry import absolute, default_options, get_kind, kind_of, names, new_name

PLUGIN = "datasette-bear-search"
CONFIG_VARIABLE = "DATASETTE_BEAR_SEARCH_CONFIG"
FILE_NAME = "bear-search.yaml"
# Comma-separated tags whose notes are hidden from agents.
HIDDEN_TAGS_VARIABLE = "DATASETTE_BEAR_SEARCH_HIDDEN_TAGS"

CONFIGURATION_KEYS = ("sources", "never_index_tags", "ranking", "prompts", "cross_encoder")
# Defaults for every search, named like the search page's parameters, with the lowest and highest
# value of each.
RANKING = {"balance": (0, 1), "recency": (0.01, 100_000)}
_SOURCE_KEYS = ("name", "kind", "location", "never", "include_trashed", "about", "every")
_NAME = re.compile(r"\w[\w.-]*")  # needs no quotation marks after ``source:`` in a query


class ConfigurationError(ForeseenError):
    """The configuration can't be used. The message says where and how to correct it."""


@dataclass(frozen=True)
class Configuration:
    path: Path
    sources: tuple[SourceConfig, ...] | None  # None if it has no list, so the index's list stays
    never: tuple[str, ...]  # tags that are never indexed, from any source
    prompts: Mapping[str, str]  # "query" and "passage", as far as it sets them
    abouts: Mapping[str, str]  # what it says about sources, for agents, by their names


def hidden_by_environment() -> tuple[str, ...]:
    """Return the tags in HIDDEN_TAGS_VARIABLE."""
    named = os.environ.get(HIDDEN_TAGS_VARIABLE, "").split(",")
    return tuple(filter(None, map(str.strip, named)))


def find_configuration(given: Path | None) -> Path | None:
    """Return the given configuration file, the environment's, or the default one if it exists."""
    if given is None and (chosen := os.environ.get(CONFIG_VARIABLE)):
        given = Path(chosen).expanduser()
    if given is None and (default := default_path()).is_file():
        given = default
    return given


def default_path() -> Path:
    return user_folder("config") / FILE_NAME


def read_configuration(path: Path, known: Sequence[SourceConfig] = ()) -> Configuration:
    """Read a configuration file, or raise ConfigurationError.

    :param known: the sources in the index; they supply what the file doesn't set
    """
    settings = _settings(path)
    never = _tags(settings.get("never_index_tags"), f"{path}: never_index_tags")
    entries = settings.get("sources")
    _ranking(settings, str(path))
    prompts = _prompts(settings, str(path))
    if entries is None:
        return Configuration(path, None, never, prompts, {})
    is_list = isinstance(entries, list)
    _require(is_list, f'{path}: sources has to be a list, each entry with a "location".')
    sources: list[SourceConfig] = []
    abouts: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        place = f"{path}: source {number}"
        says_where = isinstance(entry, Mapping)
        _require(says_where, f'{place}: it has to say where the notes are: "location: PATH".')
        if "name" in entry:
            place = f"{place} ({entry['name']})"
        taken = {source.name for source in sources}
        sources.append(_source(entry, place, path, taken, never, known))
        if about := entry.get("about"):
            abouts[sources[-1].name] = str(about)
    return Configuration(path, tuple(sources), never, prompts, abouts)


def read_chosen_ranking() -> dict[str, list[str]]:
    """Return what the configuration file sets for every search: parameters, and a reranker."""
    with suppress(OSError, ConfigurationError):  # bear-index and bear-doctor report errors
        if path := find_configuration(None):
            return _chosen_ranking(str(path), path.stat().st_mtime_ns)
    return {}


@lru_cache(maxsize=1)
def _chosen_ranking(path: str, changed: int) -> dict[str, list[str]]:
    return _ranking(_settings(Path(path)), path)


def _ranking(settings: Mapping[str, Any], path: str) -> dict[str, list[str]]:
    ranking = _section(settings, "ranking", RANKING, "balance: 0.6", path)
    for name, value in ranking.items():
        lowest, highest = RANKING[name]
        is_valid = isinstance(value, int | float) and lowest <= value <= highest
        wanted = f"a number from {lowest} to {highest}"
        _require(is_valid, f"{path}: {name} has to be {wanted}, not {value!r}.")
    model = settings.get("cross_encoder") or ""
    wanted = f"the name of a model or the path of its folder, not {model!r}"
    _require(isinstance(model, str), f"{path}: cross_encoder has to be {wanted}.")
    values = {**ranking, "cross_encoder": model} if model else ranking
    return {name: [str(value)] for name, value in values.items()}


def _prompts(settings: Mapping[str, Any], path: str) -> Mapping[str, str]:
    prompts = _section(settings, "prompts", Prompts._fields, "query: 'search: '", path)
    for name, text in prompts.items():
        wanted = f"text in quotation marks, not {text!r}"
        _require(isinstance(text, str), f"{path}: the prompt {name} has to be {wanted}.")
    return prompts


def _section(
    settings: Mapping[str, Any], name: str, allowed: Iterable[str], example: str, path: str
) -> Mapping[str, Any]:
    section = settings.get(name) or {}
    has_lines = isinstance(section, Mapping)
    _require(has_lines, f'{path}: {name} needs lines below it, such as "{example}".')
    _check_keys(section, allowed, f"{path}: {name}")
    return section


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Return a question with the closest of the words, or a list of all if none is close."""
    from rapidfuzz import process
    from rapidfuzz.distance import JaroWinkler

    words = list(words)
    close = process.extractOne(word, words, scorer=JaroWinkler.similarity, score_cutoff=0.8)
    return f"Did you mean {close[0]}?" if close else f"There are: {', '.join(words)}."


def _settings(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(
            f"The configuration file {path} can't be read: {error.strerror}. Check --config, or "
            f"the environment variable {CONFIG_VARIABLE}."
        ) from None
    except (UnicodeDecodeError, RecursionError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}, line {mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or error
        raise ConfigurationError(
            f"{place}: this is not YAML in UTF-8 ({problem}). Check the indentation, colons and "
            "quotation marks there (a # outside them begins a comment), and how your editor saves "
            "it."
        ) from None
    content = {} if content is None else content
    wanted = f"begin with {': or '.join(CONFIGURATION_KEYS)}:, and have below it what belongs to it"
    _require(isinstance(content, Mapping), f"{path}: it has to {wanted}.")
    if "plugins" in content:  # Datasette's own file
        ours = (content["plugins"] or {}).get(PLUGIN)
        return ours if isinstance(ours, Mapping) else {}
    _check_keys(content, CONFIGURATION_KEYS, str(path))
    return content


def _source(
    entry: Mapping[str, Any],
    place: str,
    path: Path,
    taken: set[str],
    never: tuple[str, ...],
    known: Sequence[SourceConfig],
) -> SourceConfig:
    location = _location(entry, place, path)
    same = next((source for source in known if source.location == location), None)
    kind = entry.get("kind") or (same.kind if same else "")
    if not kind and same is None:
        with suppress(SourceError):  # it may be missing, for example on an unplugged drive
            kind = kind_of(location)
    options = {key: value for key, value in entry.items() if key not in _SOURCE_KEYS}
    try:
        if kind:
            _check_options(kind, options, place)
            options |= default_options(kind)
        if "every" in entry:
            options["every"] = str(entry["every"])
            seconds_in(options["every"])
    except SourceError as error:
        raise ConfigurationError(f"{place}: {error}") from None
    if entry.get("name") is not None:
        name = _name(str(entry["name"]), place, taken)
    elif same is not None and same.name not in taken:
        name = same.name
    else:
        name = new_name(kind, location, taken)
    trashed = entry.get("include_trashed", False)
    is_valid = isinstance(trashed, bool)
    _require(is_valid, f"{place}: include_trashed has to be true or false, not {trashed!r}.")
    # Options become what the index stores, so that they can be compared: a YAML date, a string.
    options = json.loads(json.dumps(options, default=str))
    never = tuple(dict.fromkeys([*never, *_tags(entry.get("never"), f"{place}: never")]))
    file = str(path.resolve())
    return SourceConfig(name, kind, location, options, never, trashed, file)


def _location(entry: Mapping[str, Any], place: str, path: Path) -> str:
    kind, location = entry.get("kind"), entry.get("location")
    if kind is not None and kind not in names():
        question = did_you_mean(str(kind), names())
        raise ConfigurationError(f"{place}: there is no kind of source called {kind!r}. {question}")
    if location is not None:
        return absolute(str(location), path.resolve().parent)
    if kind and (default_location := getattr(get_kind(kind), "default_location", None)):
        try:
            return str(default_location())
        except SourceError as error:
            raise ConfigurationError(f"{place}: {error}") from None
    raise ConfigurationError(f'{place}: it needs a "location".')


def _check_options(kind: str, options: Mapping[str, Any], place: str) -> None:
    allowed, required = _options(get_kind(kind))
    if allowed is not None:
        _check_keys(options, allowed, place, [*_SOURCE_KEYS, *allowed])
    for name in required:
        _require(name in options, f"{place}: a source of the kind {kind} needs {name!r}.")


def _options(kind: type) -> tuple[list[str] | None, list[str]]:
    """Return the options that a kind of source accepts (None: any) and the required ones."""
    options: dict[str, inspect.Parameter] = {}
    for make in (vars(cls)["__init__"] for cls in kind.__mro__[:-1] if "__init__" in vars(cls)):
        # Skip self and the location.
        parameters = list(inspect.signature(make).parameters.values())[2:]
        own = [each for each in parameters if each.kind is not each.VAR_KEYWORD]
        options = {each.name: each for each in own if each.name != "name"} | options
        if own == parameters:  # a class without **options passes none to its base class
            required = [name for name, each in options.items() if each.default is each.empty]
            return list(options), required
    return None, []


def _name(name: str, place: str, taken: set[str]) -> str:
    letters = "letters, digits, '-', '_' and '.', so that it can be typed after source:"
    _require(_NAME.fullmatch(name), f"{place}: a name is made of {letters}")
    is_free = name.lower() not in {other.lower() for other in taken}
    _require(is_free, f"{place}: there is another source with this name above.")
    return name


def _tags(value: Any, place: str) -> tuple[str, ...]:
    value = [] if value is None else value
    are_tags = isinstance(value, list) and all(isinstance(tag, str) and tag for tag in value)
    hint = "In YAML, a # outside quotation marks begins a comment."
    _require(are_tags, f'{place} has to be a list of tags, such as ["#private"]. {hint}')
    return tuple(value)


def _require(is_valid: object, message: str) -> None:
    if not is_valid:
        raise ConfigurationError(message)


def _check_keys(
    found: Iterable[str], allowed: Iterable[str], place: str, known: Iterable[str] | None = None
) -> None:
    allowed = list(allowed)
    for key in found:
        if key not in allowed:
            question = did_you_mean(str(key), known or allowed)
            raise ConfigurationError(f"{place}: there is no setting {key!r} here. {question}")


def named(name: str, sources: Sequence[SourceConfig]) -> SourceConfig:
    """Return the source with this name, ignoring case, or raise ConfigurationError."""
    for source in sources:
        if source.name.lower() == name.lower():
            return source
    because = ", because there are none yet."
    if sources:
        because = f". {did_you_mean(name, [source.name for source in sources])}"
    raise ConfigurationError(f"There is no source called {name!r}{because}")
