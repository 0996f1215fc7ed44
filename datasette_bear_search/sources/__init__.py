"""Where notes come from. Each kind of source has a module that turns its files into ``Note``.

This module has what plugins need for sources of their own, and what programs need to read one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import Incremental as Incremental
from .base import Interrupted as Interrupted
from .base import Source as Source
from .base import SourceConfig as SourceConfig
from .base import SourceError as SourceError
from .base import Unchanged as Unchanged
from .base import Unreadable as Unreadable
from .base import checked_option as checked_option
from .base import checked_texts as checked_texts
from .registry import kind_of as kind_of
from .registry import open_source as open_source

if TYPE_CHECKING:
    from .formats.documents import html_to_markdown as html_to_markdown
    from .formats.markdown_metadata import note_from_markdown as note_from_markdown


# Each search imports this package, and reads no files.
_MODULES = {"html_to_markdown": "documents", "note_from_markdown": "markdown_metadata"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".formats.{_MODULES[name]}", __name__), name)
