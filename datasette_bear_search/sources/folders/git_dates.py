"""Dates of files from a git repository's history, because all files of a clone look new."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from ..formats.text import word_lists

# Seconds. The history of 100,000 commits takes about ten.
GIT_SECONDS = 60

_SAFE, _LOG = word_lists()["git"], word_lists()["git_log"]
_MOMENT = re.compile(r"\x01(\d+) (\d+)")
# A rebase writes hundreds of commits in this time, and two backups are further apart.
REBASE_SECONDS = 30


class FileDates(NamedTuple):
    """A file's dates in the history, in seconds since 1970."""

    created: int
    modified: int
    blob: str  # hash of the committed content

    def is_content(self, content: bytes) -> bool:
        """Return whether this is the committed content, without later changes."""
        make = hashlib.sha256 if len(self.blob) == 64 else hashlib.sha1
        return make(b"blob %d\0" % len(content) + content).hexdigest() == self.blob


def head(root: str) -> str:
    """Return the hash of a folder's current commit; "" outside a repository or without git."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return ""
    return _git(root, "rev-parse", "--verify", "--quiet", "HEAD").strip()


@lru_cache(maxsize=4)  # bear-serve calls this after each change of a file
def file_dates(root: str, commit: str) -> dict[str, FileDates]:
    """Return path → dates for the files below a folder, as of a commit."""
    blobs = {}
    for line in _git(root, "ls-tree", "-r", "-z", commit).split("\0")[:-1]:
        facts, _, path = line.partition("\t")
        blobs[path] = facts.rpartition(" ")[2]
    is_whole = _git(root, "rev-parse", "--is-shallow-repository").strip() == "false"
    found: dict[str, FileDates] = {}
    names: dict[str, str] = {}  # a file's name at this point of the history → its name today
    earlier, later, counts = 0, 0, False
    log = _git(root, *_LOG, commit, "--", limit=GIT_SECONDS)
    moments = _moments(log)
    # Commits begin with "\1", newest first; a file is ":mode mode blob blob status" and its path.
    parts = iter(log.split("\0"))
    for part in parts:
        if "\1" in part:
            _, _, parents = part.rpartition("\1")[2].split(" ", 2)
            earlier, later = next(moments)
            # In a shallow clone, the oldest commits seem to add all files.
            counts = is_whole or bool(parents.strip())
        elif part.lstrip("\n").startswith(":"):
            path = next(parts)
            if " R" in part:
                names[path] = names.pop(new := next(parts), new)
            elif counts and (now := names.get(path, path)) in blobs:
                known = found.get(now, FileDates(earlier, later, blobs[now]))
                first, last = min(earlier, known.created), max(later, known.modified)
                found[now] = known._replace(created=first, modified=last)
    return found


def _moments(log: str) -> Iterator[tuple[int, int]]:
    """Yield when each commit was first written and last changed.

    A backup that amends one commit for months has its author's date from the beginning. But a
    rebase gives many commits one committer's date, at which nobody changed the notes.
    """
    commits = [tuple(map(int, pair)) for pair in _MOMENT.findall(log)]
    changed = [(author, at) for author, at in commits if at - author > REBASE_SECONDS]
    runs = Counter(at // REBASE_SECONDS + shift for _, at in changed for shift in (0, 1))
    for author, at in commits:
        is_rebased = max(runs[at // REBASE_SECONDS], runs[at // REBASE_SECONDS + 1]) > 1
        yield min(author, at), author if is_rebased else max(author, at)


def _git(root: str, *arguments: str, limit: float = 5) -> str:
    git = shutil.which("git")
    if git is None or not os.path.isabs(git):  # Windows looks in the current directory first
        return ""
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("GIT_")}
    environment |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ATTR_NOSYSTEM": "1", "LC_ALL": "C"}
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [git, *_SAFE, "-C", root, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit,
            env=environment,
            check=True,
        )
        return done.stdout.decode("utf-8", "surrogateescape")
    return ""
