"""Where notes come from. Each kind of source has a module that turns its files into ``Note``.

This module has what plugins need for sources of their own, and what programs need to read one.
"""

from .base import Incremental as Incremental
from .base import Interrupted as Interrupted
from .base import Source as Source
from .base import SourceConfig as SourceConfig
from .base import SourceError as SourceError
from .base import Unchanged as Unchanged
from .base import Unreadable as Unreadable
from .base import checked_option as checked_option
from .base import checked_texts as checked_texts
from .formats.documents import html_to_markdown as html_to_markdown
from .formats.markdown_metadata import note_from_markdown as note_from_markdown
from .registry import kind_of as kind_of
from .registry import open_source as open_source
