"""``NoteFolder``: the common part of sources that are folders of text files."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, dropwhile, groupby
from pathlib import Path
from typing import Any

from ...notes import Note, Tag
from ...text.folding import plain
from ..base import (
    Incremental,
    Items,
    SourceError,
    Unchanged,
    Unreadable,
    checked_option,
    checked_texts,
)
from ..files.archive import LARGEST_NOTE, ONLY_IN_CLOUD, Archive, File, Folder
from ..files.file_source import FileSource
from ..files.states import digest
from ..formats.dates import later, timestamp_from_seconds
from ..formats.markdown_metadata import (
    LINKED,
    LinkTarget,
    Metadata,
    ParsedText,
    extract_metadata,
    first_heading,
    leading_heading,
)
from ..formats.text import decode, is_encoding
from . import front_matter, git_dates, links, org

# Names that programs or conventions gave: opt-in, 10_19, CONTRIBUTING.
_SLUG = re.compile(r"[a-z\d_.-]+|[A-Z\d_.-]+")
_NOTION_ID = re.compile(r" [0-9a-f]{32}(?=/|$)")
# Files to read at once: some of ordinary size, a single one that is large.
BATCH_BYTES = 256 * 1024


class NoteFolder(FileSource, Incremental):
    """A folder of text files. A subclass says which are notes and how to parse them.

    docs/sources.md explains the options of this class and its subclasses.
    """

    suffixes: Collection[str] = (".md",)
    # Whether [[a link]] must have a note's whole name, or may have just the end of its path.
    whole_names = False
    tag_properties: Collection[str] = ("tags", "tag")
    hidden: Collection[str] = ()  # folders to read although their names begin with a dot
    names_are_titles = False  # whether a note is called like its file, as in Obsidian
    tags_are_links = False  # whether a tag is also a link to the note of that name

    def __init__(
        self,
        location: Path | str,
        name: str,
        *,
        exclude: str | Sequence[str] = (),
        encoding: str = "",
        inline_tags: bool = True,
        folder_tags: bool = False,
    ) -> None:
        super().__init__(location, name)
        self.root = os.path.realpath(self.path)
        wanted = "the name of a text encoding, such as cp1250"
        self.encoding = checked_option("encoding", encoding, is_encoding(encoding), wanted)
        for option, flag in (("inline_tags", inline_tags), ("folder_tags", folder_tags)):
            checked_option(option, flag, isinstance(flag, bool), "true or false")
        self.inline_tags, self.folder_tags = inline_tags, folder_tags
        self._listed: Archive | None = None  # by state(), for the next read_changed()
        self.renamed: dict[str, str] = {}
        wanted = "a list of names or patterns of files, such as [Templates, drafts/*.md]"
        patterns = checked_texts("exclude", exclude, wanted)
        self._excluded = None
        if patterns:
            # The import takes 20 ms, and few folders need it.
            from pathspec import GitIgnoreSpec

            self._excluded = GitIgnoreSpec.from_lines(pattern.lower() for pattern in patterns)

    def count(self) -> int:
        """Return how many files :meth:`read` would read. Raise SourceError."""
        return len(self._list(include_trashed=False).files)

    def state(self) -> str:
        try:
            self._listed = folder = self._list(include_trashed=True)
        except SourceError:
            return "none"
        stamps = [(file.key, file.stamp) for file in folder.linked.values()]
        stamps += [file[:3:2] for file in folder.files.values()]
        away = folder.closed, sorted(folder.evicted)  # they may be deleted before they are back
        return digest((self._settings(), stamps, away, git_dates.head(self.root)))

    def read_changed(self, known: Mapping[str, str], *, include_trashed: bool = False) -> Items:
        # state() lists the trash, too. Without a trash, its list can be used in any case.
        folder, self._listed = self._listed, None
        if folder is None or (not include_trashed and any(map(self._is_trashed, folder.files))):
            folder = self._list(include_trashed=include_trashed)
        self.skipped, self.empty_folders, self.renamed = folder.skipped, folder.empty, {}
        self._problems: list[str] = []
        # Notes that are there, but can't be read now.
        closed = tuple(folder.closed)
        kept = {key for key in known if key in folder.evicted or key.startswith(closed)}
        stays = "only in iCloud, so what the index has of it stays"
        for key in sorted(folder.evicted):
            self.skipped.append(f"{key}: {stays if key in kept else ONLY_IN_CLOUD}")
        commit = git_dates.head(self.root)
        dates = git_dates.file_dates(self.root, commit) if commit else {}
        names = {key: self._link_name(key) for key in [*folder.files, *kept]}
        linked = links.LinkedFiles(folder.linked, self._link_path)
        settings = digest(self._settings(), size=6)
        # A stamp has three parts: settings and file, hashes of the aliases, hashes of the links.
        stored = {key: (*stamp.rsplit(" ", 2), "", "")[:3] for key, stamp in known.items()}
        stamps = {key: f"{settings} {file.stamp}" for key, file in folder.files.items()}
        for key in dates.keys() & stamps.keys():
            stamps[key] += f"/{digest(dates[key], size=4)}"
        same = {key for key in stamps if key in stored and stored[key][0] == stamps[key]}
        aliases = {key: stored[key][1] for key in same | kept}
        for key in folder.files.keys() - aliases.keys():
            with suppress(Unreadable):  # it is reported below
                if others := self._other_names(folder, key):
                    aliases[key] = ",".join(sorted(map(links.alias_hash, others)))
        resolver = links.LinkResolver(names, aliases, self.suffixes, whole=self.whole_names)
        moved: set[str] = set()
        if known and known.keys() != names.keys():
            then = {key: self._link_name(key) for key in known}
            moved, self.renamed = links.moved_names(then, names)
        for key in (stored.keys() | aliases.keys()) - same if known else ():
            _, before, _ = stored.get(key, ("", "", ""))
            moved.update(set(before.split(",")) ^ set(aliases.get(key, "").split(",")))
        moved.discard("")
        changed_files: list[File] = []
        for key, file in folder.files.items():
            hashes = stored[key][2].split(",") if key in same else []
            if key in same and moved.isdisjoint(hashes) and linked.are_in(hashes):
                yield Unchanged(key)
            else:
                changed_files.append(file)
        # One step for some files, then the next, so that its code and data stay in the processor's
        # caches: a tenth faster than file by file.
        ends = zip(changed_files, accumulate(file.size for file in changed_files))
        for _, some in groupby(ends, lambda it: it[1] // BATCH_BYTES):
            parsed: list[tuple[File, ParsedText]] = []
            for file, _ in some:
                try:
                    parsed.append(self._read(folder, file, dates.get(file.key)))
                except Unreadable as error:
                    self.skipped += [f"{file.key}: {error}"] if str(error) else []
                    if not error.is_gone and file.key in known:
                        yield Unchanged(file.key)
            found = [self._metadata(each.title_line + each.body) for _, each in parsed]
            for (file, each), metadata in zip(parsed, found):
                stamp = f"{stamps[file.key]} {aliases.get(file.key, '')} "
                if include_trashed or not each.trashed:
                    yield self._note(file, each, metadata, resolver, linked, stamp)
        yield from map(Unchanged, kept)
        folder.unread.update(linked.unread())
        if counts := ", ".join(f"{count:,} {end}" for end, count in folder.unread.most_common()):
            self.skipped.append(f"{counts}: this kind of source doesn't read such files")
        if listed := ", ".join(sorted(folder.software)):
            self.skipped.append(f"{listed}: such folders of software or templates aren't read")
        self.skipped += self._problems  # below the files that are missing altogether

    def _read(
        self, folder: Archive, file: File, dates: git_dates.FileDates | None
    ) -> tuple[File, ParsedText]:
        """Read and parse a file, or raise Unreadable."""
        content = folder.read(file.key, largest=LARGEST_NOTE)
        if dates:
            # A file is newer than its commit in a clone, but older where it was written.
            is_clean = dates.is_content(content)
            modified = min(file.modified, dates.modified) if is_clean else file.modified
            file = file._replace(created=dates.created, modified=modified)
        problems: list[str] = []
        text = decode(content, self.encoding, problems)
        parsed = self._parse(file, text)
        problems += [parsed.problem] * bool(parsed.problem)
        self._problems += [f"{file.key}: {problem}" for problem in problems]
        return file, parsed

    # --- Implemented by subclasses

    @abstractmethod
    def _parse(self, file: File, text: str) -> ParsedText:
        """Parse a file, or raise Unreadable if it isn't a note."""

    def _url(self, file: File, title: str) -> str | None:
        return None

    def _excludes(self, key: str, include_trashed: bool) -> bool:
        """Return whether to leave out a key; a folder's key ends in "/"."""
        return self._excluded is not None and self._excluded.match_file(key.lower())

    def _is_trashed(self, key: str) -> bool:
        return False

    def _link_name(self, key: str) -> str:
        """Return the name by which links refer to a note: its path without the suffix."""
        return links.without_suffix(self._link_path(key), self.suffixes)

    def _link_path(self, path: str) -> str:
        """Return a file's or a folder's path as links have it."""
        return path

    def _other_names(self, folder: Archive, key: str) -> Sequence[str]:
        """Return what links may call a note besides its path, or raise Unreadable."""
        return ()

    def _settings(self) -> tuple[object, ...]:
        """Return everything but the file itself that determines the resulting note."""
        # Increase the number when the format of the stamps changes.
        return (type(self).__name__, self.encoding, self.inline_tags, self.folder_tags, 4)

    def _metadata(self, body: str) -> Metadata:
        return extract_metadata(body)

    def _parse_markdown(self, file: File, text: str, name: str) -> ParsedText:
        """Parse a file of Markdown; ``name`` is its title if the text has none."""
        properties, below, problem = front_matter.split(text, fenced_only=self.names_are_titles)
        heading, body = leading_heading(below)
        title = front_matter.first(properties, front_matter.TITLES)
        if not (title or self.names_are_titles):
            title = heading or first_heading(below)
            # A heading of level one above all text is the whole file's; others may be a section's.
            is_lower = not heading or below.lstrip().startswith("##")
            if is_lower and _says_more(_NOTION_ID.sub("", file.name), title):
                title = ""
        title = title or name
        if not heading or heading.casefold() != title.casefold():
            body = below
        parsed = self._with_properties(properties, problem, title, body)
        return parsed._replace(title_line=below[: len(below) - len(body)])

    def _with_properties(
        self, properties: dict[str, Any], problem: str, title: str, body: str
    ) -> ParsedText:
        """Return a file with these properties in its front matter."""
        names = self.tag_properties
        trashed = any(str(properties.get(it)).lower() == "true" for it in front_matter.TRASHED)
        done = str(properties.get("completed?")).lower()  # of a to-do, as Joplin writes it
        return ParsedText(
            title,
            body if problem else front_matter.as_list(properties, names) + body,
            front_matter.tags(properties, names),
            front_matter.date(properties, front_matter.CREATED),
            front_matter.date(properties, front_matter.MODIFIED),
            problem=problem and f"{problem}; it is searched as text",
            trashed=trashed,
            todos_open=int(done in ("no", "false")),
            todos_done=int(done in ("yes", "true")),
        )

    def _list(self, *, include_trashed: bool) -> Archive:
        return Folder(
            self.root,
            self.suffixes,
            excludes=lambda key: self._excludes(key, include_trashed),
            hidden=self.hidden,
            linked=LINKED,
        )

    def _note(
        self,
        file: File,
        parsed: ParsedText,
        metadata: Metadata,
        resolver: links.LinkResolver,
        linked: links.LinkedFiles,
        prefix: str,
    ) -> Note:
        targets = [*metadata.links]
        if self.tags_are_links:
            targets += [LinkTarget(tag, is_wiki=True) for tag in (*parsed.tags, *metadata.tags)]
        has_inline = file.suffix != org.SUFFIX or self.tags_are_links  # Org: Logseq's only
        tags = [*parsed.tags, *(metadata.tags if self.inline_tags and has_inline else ())]
        if self.folder_tags:
            # A README or index stands for its folder, so it gets the parent.
            is_index = file.name.lower() in links.INDEX_NAMES
            above = file.folder.rpartition("/")[0] if is_index else file.folder
            tags += filter(None, [_NOTION_ID.sub("", above)])
        folder = self._link_path(file.folder)
        found, hashes = resolver.links(file.key, folder, targets)
        files, file_hashes = linked.of(folder, metadata)
        created = parsed.created or file.day or _created(file)
        metadata = metadata._replace(
            todos_open=metadata.todos_open + parsed.todos_open,
            todos_done=metadata.todos_done + parsed.todos_done,
            has_image=metadata.has_image or parsed.has_image,
        )
        return Note(
            key=file.key,
            title=parsed.title,
            body=parsed.body,
            # In alphabetical order, without duplicates that differ only in case.
            tags=tuple(map(Tag, sorted({tag.lower(): tag for tag in reversed(tags)}.values()))),
            links=found,
            created=created,
            modified=later(created, parsed.modified or timestamp_from_seconds(file.modified)),
            trashed=parsed.trashed or self._is_trashed(file.key),
            url=self._url(file, parsed.title),
            soft_breaks=parsed.soft_breaks,
            stamp=prefix + ",".join(sorted(hashes | file_hashes)),
            **metadata.note_fields(),
            **self._with_files(files),
        )


def _says_more(name: str, heading: str) -> bool:
    """Return whether a person named a file with words that aren't in its heading: a section's."""
    is_typed = name.lower() not in links.INDEX_NAMES and not _SLUG.fullmatch(name)
    words = dropwhile(str.isdecimal, re.findall(r"[^\W_]+", plain(name)))
    return is_typed and not all(word in plain(heading) for word in words)


def _created(file: File) -> str | None:
    # A copy's creation date is later than the modification date that it keeps.
    if file.created is None:
        return None
    return timestamp_from_seconds(min(file.created, file.modified))
