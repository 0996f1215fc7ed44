"""What to say of an index that can't be read or written, and what mends it."""

from __future__ import annotations

from pathlib import Path

from .schema import sqlite3

# The beginning of what to say of an index in which something is missing that this version looks for.
LACKING = (
    "The index can't be read, because an earlier version of datasette-bear-search made it, or because something in it got "
    "lost. Run: datasette bear-index. If that doesn't mend it"
)

OTHER_VERSION = (
    "The index was made by an earlier version of datasette-bear-search. Bring it up to date, which keeps all that is in it: "
    "datasette bear-index."
)

CHECK_PERMISSIONS = "Check the permissions of the file and of its folder."


class SidecarError(Exception):
    """The sidecar cannot be used; the message says why and what to do."""


def not_writable(path: Path, error: OSError) -> SidecarError:
    """What to say if the system refuses to let the sidecar be written."""
    return SidecarError(
        f"The index can't be written to {path}: {error.strerror}. Choose another place with --sidecar."
    )


def explained(error: sqlite3.Error) -> str:
    """What SQLite's refusal to read or write a sidecar means for a person, and what to do."""
    # By the words and not by the code, which Python knows only since 3.11.
    words = str(error)
    # The last is sqlite-vec's.
    if any(sign in words for sign in ("is full", "I/O error", "could not write")):
        return (
            f"There is no space for the index, or its disk has a fault ({words}). Free some space, then run datasette "
            "bear-index again: it goes on where it stopped. What was indexed before can be searched."
        )
    if "locked" in words:
        return f"Another program keeps the index from being used ({words}). Try again in a minute."
    if "readonly" in words:
        return f"The index can't be written ({words}). Choose another place with --sidecar."
    if "no such table" in words or "no such column" in words:
        return (
            f"{LACKING} ({words}), delete the index and run datasette bear-index again: it holds nothing that isn't in your "
            "notes, but for your judgments of results and the names of the sources."
        )
    return (
        f"The index can't be read: it is damaged or lacks something ({words}). It holds nothing that isn't in your notes, but "
        "for your judgments of results and the names of the sources: delete the index and run datasette bear-index again."
    )
