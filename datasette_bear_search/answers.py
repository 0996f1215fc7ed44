"""What the pages have in common: JSON in the shapes of Datasette 1.0, what to say when it fails."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from datasette import Response
from datasette.utils import add_cors_headers

from .schema import sqlite3
from .sidecar_faults import LACKING

if TYPE_CHECKING:
    from datasette.app import Datasette

NO_SIDECAR = "No notes are served here. Make an index with: datasette bear-index. Then open it with: datasette bear-serve"
FORBIDDEN = "You do not have permission to search these notes"
UNREADABLE = (
    "The index can't be read just now. If it stays so, run: datasette bear-index. If that doesn't mend it: "
    "datasette bear-index --rebuild"
)
MISSING_PARTS = f"{LACKING}: datasette bear-index --rebuild"


def unreadable(error: sqlite3.Error) -> str:
    """What to say of an index that SQLite can't read."""
    # By the words, as it is with all errors of SQLite.
    return MISSING_PARTS if "no such" in str(error) else UNREADABLE


def json_response(datasette: Datasette, body: dict[str, Any], status: int = 200) -> Response:
    """An answer for programs, which may be on other sites where Datasette allows it."""
    headers = {"x-content-type-options": "nosniff"}  # what notes say is never taken for a page
    if datasette.cors:
        add_cors_headers(headers)
    return Response.json(body, status=status, headers=headers)


def json_error(datasette: Datasette, message: str | None, status: int) -> Response:
    """The same for what went wrong."""
    body = {"ok": False, "error": message, "errors": [message], "status": status}
    return json_response(datasette, body, status)


def local_day(timestamp: str | None) -> str | None:
    """The day of a time, for people: ``1 May 2024``."""
    if timestamp is None:
        return None
    moment = datetime.fromisoformat(timestamp.replace("Z", "+00:00")).astimezone()
    return f"{moment.day} {moment:%B %Y}"


def age(timestamp: str | None, now: datetime | None = None) -> str | None:
    """How long ago a time is, for people: ``today``, ``3 days ago``, ``5 months ago``; None in the future.

    Counted in days of the calendar, in local time.
    """
    if timestamp is None:
        return None
    then = datetime.fromisoformat(timestamp.replace("Z", "+00:00")).astimezone()
    days = ((now or datetime.now()).date() - then.date()).days
    if days < 0:
        return None
    if days < 2:
        return ("today", "yesterday")[days]
    for unit, length in (("year", 365.25), ("month", 30.44), ("week", 7), ("day", 1)):
        count = int(days / length)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return None
