"""``datasette bear-search``: a query as on the search page → results in a terminal."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..notes import can_be_opened, counted, printable_lines, whole_title
from ..query.filter_values import InvalidParameter
from ..query.filters import FILTERS, Filter
from . import output
from .options import redact_option, sidecar_option

if TYPE_CHECKING:
    from .. import Library
    from ..search.notes.similar import SimilarNote
    from ..search.results.records import Hit

LIMIT = 10
MAX_LIMIT = 100
OUTPUT_FORMATS = ("text", "json", "jsonl", "tsv")

NOTHING_FOUND = 1
NOT_SEARCHED = 2  # as in grep, so that programs can tell "no results" from "the search failed"


class NotSearched(click.ClickException):
    """The search failed; the message says why and what to do."""

    exit_code = NOT_SEARCHED


class SearchCommand(output.Command):
    """A command with the search page's parameters as options, imported only when it is called."""

    failure = NotSearched

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        return [*own[:2], *_page_options(), *own[2:]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name.startswith("--"):
                raise
            said = f"{error.message} To leave out a word, put -- before the query: -- roof -draft"
            raise click.NoSuchOption(error.option_name, said, ctx=ctx) from None


@click.command(cls=SearchCommand)
@click.argument("words", nargs=-1, metavar="[QUERY]...")
@sidecar_option
@click.option(
    "--correct/--no-correct", default=True, help="Correct mistyped words that no note has"
)
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, MAX_LIMIT),
    default=LIMIT,
    show_default=True,
    help="How many results to show",
)
@click.option("--offset", type=click.IntRange(0), default=0, help="How many results to skip")
@click.option(
    "--similar",
    "similar_to",
    metavar="NOTE",
    help="Show the notes most similar to this one: its id, SOURCE:KEY or file",
)
@click.option("--unlinked", is_flag=True, help="With --similar, leave out notes linked already")
@click.option(
    "--open",
    "number_to_open",
    type=click.IntRange(1),
    metavar="N",
    help="Open the result with this number in its app instead of showing results",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(OUTPUT_FORMATS),
    default="text",
    help="Output format: json is the JSON API's response, jsonl only its rows  [default: text]",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json")
@click.option(
    "--show", metavar="NOTE", help="Print this note as Markdown: its id, SOURCE:KEY or file"
)
@click.option(
    "--explain",
    is_flag=True,
    help="Show how the query was understood, each note's scores and where the time went",
)
@click.option(
    "--why",
    metavar="TITLE",
    help="Say why this note isn't among the results, or where: its title, SOURCE:KEY or file",
)
@click.option("--link", is_flag=True, help="Link this command into ~/.local/bin")
@redact_option(default=False)
@click.version_option(package_name="datasette-bear-search", prog_name="datasette-bear-search")
def bear_search(
    words: tuple[str, ...],
    sidecar_path: Path | None,
    correct: bool,
    limit: int,
    offset: int,
    similar_to: str | None,
    unlinked: bool,
    number_to_open: int | None,
    style: str,
    as_json: bool,
    show: str | None,
    explain: bool,
    why: str | None,
    link: bool,
    redact: bool,
    **page_options: Any,
) -> None:
    """
    Search the indexed notes in the terminal

    QUERY has the same syntax as on the search page: words, questions, tag:work, created:2024 and so
    on. If a word of it begins with a minus, put -- before the query. Without a QUERY, this lists
    the notes that match the options, newest first.

    The exit status is 0 if there are results (weaker matches, too, without --found), 1 if there are
    none, and 2 if the search failed.
    """
    # Before numpy is imported: OpenBLAS's threads spin for .03 s of processor and do nothing here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from .. import Library
    from . import terminal

    if link:
        from .service import link as link_command

        with output.clear_errors():  # not a search that failed
            return output.echo(link_command())
    is_search = any(map(str.strip, words)) or any(
        value not in (None, ()) for value in page_options.values()
    )
    for option, note in (("--similar", similar_to), ("--show", show)):
        if note is not None and is_search:
            raise click.UsageError(
                f"{option} takes one note. It can't be combined with a query or filters."
            )
    if unlinked and similar_to is None:
        raise click.UsageError("--unlinked is for --similar NOTE.")
    if not is_search and all(each is None for each in (similar_to, show, why)):
        raise click.UsageError(
            "What are you looking for? Enter words, a question or a filter such as --tag work."
        )
    with Library(sidecar_path, redact=redact) as library:
        _await_index(library)
        query = " ".join(words)
        try:
            if show is not None:
                return output.echo(*_whole_note(library, show))
            if why is not None:
                return output.echo(library.why(why, query, limit=limit, **page_options))
            if similar_to is not None:
                offset, found = 0, _similar(library, similar_to, limit, unlinked)
            else:
                page_options |= {"limit": limit, "offset": offset, "correct": correct}
                found = _results(library, query, explain, page_options)
        except InvalidParameter as error:
            raise click.UsageError(str(error)) from None
    for notice in found.notices:
        terminal.say(notice)
    if number_to_open is not None and found.notes:
        _open(found.notes, number_to_open, offset)
    else:
        _print(found, "json" if as_json else style)
    if not found.notes:
        terminal.say(f"No results after the first {offset}." if offset else "No results.")
        sys.exit(NOTHING_FOUND)


def main() -> None:
    """Run the command in a process of its own."""
    # Looking for garbage, above all in everything at the end, takes an eighth of a search's time.
    # Indexing, which the command may offer, makes more of it.
    gc.set_threshold(100_000)
    try:
        bear_search()
    finally:
        gc.freeze()


def is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _await_index(library: Library) -> None:
    """Offer to make the index if there is none, and say why a locked one takes time."""
    from ..index.file import database
    from . import terminal

    if is_terminal() and not database.is_made(library.path):
        _offer_to_index(library)
    if database.is_locked(library.path):
        terminal.say("Another program is using the index. Waiting for it …")


def _offer_to_index(library: Library) -> None:
    """Ask whether to index the notes on this computer now. Otherwise, the search says how."""
    from ..index.selection import Selection, offers
    from .index import index_sources

    found = [each for each in offers() if not each.problem]
    names = (
        f"{counted(each.notes, 'note') if each.notes else 'the notes'} of {each.app}"
        for each in found
    )
    if found and output.agrees(f"Index {' and '.join(names)} now?"):
        index_sources(library, Selection(tuple(each.config for each in found)))


def _whole_note(library: Library, name: str) -> list[str]:
    note = library.note(name)
    title, body = whole_title(note.title, note.body)
    return [f"# {title}", "", *printable_lines(body.lstrip()).split("\n")]


class Printout(NamedTuple):
    """What a command found, in the forms in which it is printed."""

    notes: Sequence[Hit] | Sequence[SimilarNote]
    notices: Sequence[str]
    body: dict[str, Any]  # JSON
    text: str


def _similar(library: Library, name: str, limit: int, unlinked: bool) -> Printout:
    from . import terminal

    found = library.similar(name, limit=limit, unlinked=unlinked)
    text = terminal.similar_text(found, output.screen_for(sys.stdout)) if found.notes else ""
    return Printout(found.notes, found.notices, found.to_json(), text)


def _results(library: Library, words: str, explain: bool, options: dict[str, Any]) -> Printout:
    from ..search.results.json import json_body
    from . import terminal

    def on_loading() -> None:
        output.echo_for_now("Loading the model…")

    try:
        response = library.search(words, on_loading=on_loading, **options)
    finally:
        output.echo_for_now(" " * 20)
    notices = [
        f"Showing results for “{searched}” instead of “{typed}”. To search for what you typed, add "
        "--no-correct."
        for typed, searched in response.corrections
    ]
    notices += response.notices
    results, screen = response.results, output.screen_for(sys.stdout)
    body = json_body(results, notices, response.timing_ms, results.ranking.rerank)
    text = terminal.results_text(response, options["offset"], screen) if response.hits else ""
    explained = terminal.explanation(response) if explain else ""
    return Printout(response.hits, notices, body, "\n\n".join(filter(None, [text, explained])))


def _print(found: Printout, style: str) -> None:
    from . import terminal

    if style == "json":
        output.echo_json(found.body, indent=2)
    elif style == "jsonl":
        for row in found.body["rows"]:
            output.echo_json(row)
    elif style == "tsv" and found.notes:
        output.echo(*terminal.tsv(found.notes).split("\n"))
    elif found.text:
        output.echo(*found.text.split("\n"), styled=True)


def _open(notes: Sequence[Hit] | Sequence[SimilarNote], number: int, offset: int) -> None:
    if not offset < number <= offset + len(notes):
        raise NotSearched(
            f"There is no result {number} here, only {offset + 1} to {offset + len(notes)}. "
            "See --limit and --offset."
        )
    url = notes[number - offset - 1].url
    # Without a scheme, the program that opens it could read it as an option.
    if not url or not can_be_opened(url):
        raise NotSearched("This note can't be opened: its source has no links to notes.")
    # On a Mac, wait=True would wait until the app is closed.
    if click.launch(url, wait=sys.platform == "linux"):
        raise NotSearched("No app on this machine can open this note.")


# What --help says of the search page's parameters besides the filters.
_PAGE_HELP = {
    "mode": "Search mode  [default: auto]",
    "sort": "[default: relevance]",
    "balance": "From 0, words only, to 1, meaning only  [default: depends on the query]",
    "fusion": "Combine scores (blend) or ranks (rrf)  [default: blend]",
    "recency": "Prefer newer notes: one this many days old keeps three quarters of its score",
    "min_similarity": "Leave out notes that are less similar in meaning, from 0 to 1",
    "rerank": "Rerank the first results (slower): cross-encoder or a plugin's reranker",
}


@functools.cache
def _page_options() -> list[click.Parameter]:
    from ..search.request import CHOICES, NUMBERS

    kinds: dict[str, Any] = {name: click.Choice(CHOICES[name]) for name in CHOICES}
    kinds |= dict.fromkeys(NUMBERS, float)
    return [
        *(option for row in FILTERS.values() for option in _filter_options(row)),
        *(_option(name, type=kinds.get(name), help=_PAGE_HELP[name]) for name in _PAGE_HELP),
        _option("found", is_flag=True, default=None, help="Leave weaker matches out"),
    ]


def _filter_options(row: Filter) -> Iterator[click.Option]:
    about = row.help or None
    if row.kind == "date":
        first, last = row.parameters
        yield _option(first, metavar="DATE", help=about)
        yield _option(last, metavar="DATE")
    elif row.kind == "state":
        yield click.Option([f"--{row.name}/--no-{row.name}"], default=None, help=about)
    else:
        choices = click.Choice(tuple(row.choices)) if row.choices else None
        yield _option(row.name, multiple=True, type=choices, help=about)


def _option(name: str, **settings: Any) -> click.Option:
    return click.Option([f"--{name.replace('_', '-')}"], **settings)
