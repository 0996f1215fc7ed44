"""States, names and errors of files."""

from __future__ import annotations

import errno
import hashlib
import os
import unicodedata
from pathlib import Path

from ..base import SourceError, Unreadable


def file_state(path: str | os.PathLike[str]) -> str:
    """Return a token that changes when the file may have changed, without opening it."""
    try:
        status = os.stat(path)
    except OSError:
        return "none"
    return f"{status.st_ino}/{status.st_mtime_ns}/{status.st_size}"


def digest(value: object, size: int = 16) -> str:
    """Return a hash of the value's repr, of twice ``size`` characters."""
    return hashlib.blake2b(repr(value).encode(errors="replace"), digest_size=size).hexdigest()


def composed(name: str) -> str:
    """Return a name in the form in which people type it; macOS writes é as two characters."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def folded(name: str) -> str:
    """Return a name as in a comparison that ignores case, in Turkish, too, which has ı and İ."""
    return composed(name).casefold().replace("ı", "i").replace("i\u0307", "i")


def explained(path: Path | str, error: OSError, *, missing: str = "") -> SourceError:
    """Return an error that tells people why a file or folder can't be read."""
    if isinstance(error, NotADirectoryError) and os.path.isfile(path):
        return SourceError(f"{path} is not a folder. Give the PATH of the folder that it is in.")
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return SourceError(
            missing
            or f"There is nothing at {path}. If it has moved, give its new PATH; if it is on a"
            " drive or in a cloud that isn't connected, connect that."
        )
    if error.errno == errno.EPERM:
        return not_allowed(path)
    if error.errno == errno.EACCES:
        return SourceError(
            f"You may not read {path}: its permissions, or those of a folder above it, belong to"
            " somebody else. Run this as the user who owns the notes, or change the permissions."
        )
    return SourceError(f"{path} can't be read: {error.strerror or error}. Try again in a minute.")


def not_allowed(path: Path | str) -> SourceError:
    return SourceError(
        f"macOS does not let this program read {path}. In System Settings > Privacy & Security >"
        " Full Disk Access, turn on the app in which you run it (Terminal, iTerm, VS Code …), then"
        " quit that app, open it again and try again."
    )


def unreadable(error: Exception) -> Unreadable:
    if not isinstance(error, OSError):  # from zipfile, depending on how the archive is damaged
        return Unreadable(f"damaged ({error or type(error).__name__})")
    if isinstance(error, FileNotFoundError):
        return Unreadable("vanished while the folder was read")
    if isinstance(error, PermissionError):
        return Unreadable("you may not read it", is_gone=False)
    return Unreadable(f"can't be read ({error.strerror or error})", is_gone=False)
