"""A model's name: which folder or server it means, and whether the person here trusts it.

An index can come from anybody, and names a model. A model is other people's code, and a server gets
the notes. So one that only an index names isn't used, not even looked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from ..processes import user_folder, write_file
from .base import ModelChoice, ModelUnavailable

BUNDLED = "sentence-transformers/all-MiniLM-L6-v2"
HUB_DEFAULT = "BAAI/bge-small-en-v1.5"
OURS = (BUNDLED, HUB_DEFAULT)  # chosen by this program
# Of the models for many languages, the one that was measured here (docs/models.md).
MULTILINGUAL_MODEL = "intfloat/multilingual-e5-small"


class Choice(NamedTuple):
    """A model that people are offered. The figures are nDCG@10; docs/models.md says of what."""

    model: str
    purpose: str
    megabytes: int | None  # to download; None: a package brings it
    published: str = ""  # for English
    measured: Mapping[str, str] = {}  # by language, of this search: words and meaning

    @property
    def figures(self) -> str:
        """What is known of its quality, for people."""
        measured = ", ".join(f"{language} {value}" for language, value in self.measured.items())
        both = {"published": self.published, "measured": measured}
        return "; ".join(f"{kind} {value}" for kind, value in both.items() if value)


CHOICES = (
    Choice(
        BUNDLED,
        "built in",
        None,
        ".429",
        {"English": ".990", "German": ".959", "Spanish": ".954", "Chinese": ".921"},
    ),
    Choice(HUB_DEFAULT, "better in English", 133, ".515"),
    Choice(
        MULTILINGUAL_MODEL,
        "for many languages",
        471,
        measured={"English": ".993", "German": ".979", "Spanish": ".972", "Chinese": ".979"},
    ),
)
# Remote models that may be sent notes, separated by commas.
REMOTE_VARIABLE = "DATASETTE_BEAR_SEARCH_REMOTE_MODELS"

# How a person types a folder. No other name means one, whatever the current directory holds.
_TYPED_FOLDER = re.compile(r"\.{1,2}[/\\]|~")
_CHOSEN = re.compile(r"(.+?)(?:@(\d{1,9}))?(?:@query=([^@]*))?(?:@passage=([^@]*))?", re.DOTALL)


def given(model: str) -> str:
    """Return a name that a person typed, with the path of a folder made absolute.

    Only an absolute path and one that begins with ``./``, ``../`` or ``~`` is a folder. In an
    index, only an absolute path is.
    """
    if _TYPED_FOLDER.match(model) or os.path.isabs(model):
        return str(Path(os.path.expanduser(model)).resolve())
    return model


def full_name(model: str) -> str:
    """Return the one spelling of a model's name, so that no model is loaded twice."""
    if os.path.isabs(model):
        return os.path.normpath(model)
    if re.fullmatch(r"[\w.-]+", model):  # the library's own short names: all-MiniLM-L6-v2
        return f"sentence-transformers/{model}"
    return model


def split_name(model: str) -> tuple[str, ModelChoice]:
    """Return a model's name without what a person chose about it, and that."""
    if not (match := _CHOSEN.fullmatch(model)):
        return model, ModelChoice()
    name, dimensions, *prompts = match.groups()
    texts = (None if text is None else unquote(text) for text in prompts)
    return name, ModelChoice(int(dimensions) if dimensions else None, *texts)


def is_hub_name(name: str) -> bool:
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None


def is_remote_permitted(name: str) -> bool:
    return name in map(str.strip, os.environ.get(REMOTE_VARIABLE, "").split(","))


def is_trusted(name: str) -> bool:
    """Return whether a model is one of ours, or was named by the person at this machine."""
    return name in OURS or is_remote_permitted(name) or name in _trusted()


def trust(name: str) -> None:
    """Remember that the person at this machine named a model, or raise ModelUnavailable."""
    if is_trusted(name):
        return
    if not name.isprintable():  # a line of its own in the list
        raise ModelUnavailable(f"No model can be named {name}.")
    path = trusted_models()
    try:
        write_file(path, "\n".join([*filter(None, _trusted()), name, ""]).encode())
    except OSError as error:
        raise ModelUnavailable(
            f"The list of the models that you trust, {path}, can't be written "
            f"({error.strerror}), so {name} isn't used."
        ) from error


def refusal(name: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"The index names the model {name[:200]}, which nobody has named on this "
        "machine, so it isn't used: whoever makes an index or a model could read your notes with "
        "it. If you trust it, run: datasette bear-index --trust"
    )


def trusted_models() -> Path:
    """Return the path of the list of the models that the person named, one a line."""
    return user_folder("data") / "trusted-models.txt"


def _trusted() -> list[str]:
    try:
        return trusted_models().read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []
