"""``datasette bear-eval``: test collections or your own notes → how well the search ranks."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from ..embeddings import registry
from ..index.file import database
from ..query.query import EVALUATED_MODES, MODES
from .output import Command, clear_errors, echo, echo_json, progress


@click.command(cls=Command)
@click.argument("folders", nargs=-1, metavar="[COLLECTION]...", type=click.Path(path_type=Path))
# No envvar here: it names the person's own index, which has no collection's documents.
@click.option(
    "--sidecar",
    "sidecar_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Index to search instead of one made from the COLLECTION; without a COLLECTION, the index "
    "with your judgments  [default: notes.db in the user's data folder]",
)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice(MODES),
    default=EVALUATED_MODES,
    show_default=True,
    help="Search mode; repeatable",
)
@click.option("--model", help="Embedding model: a name, folder, ollama:NAME or openai:NAME@URL")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the collections' indexes  [default: in the user's cache folder]",
)
@click.option(
    "--rerank",
    metavar="NAME",
    help="Also measure the last mode with a reranker: cross-encoder, cross-encoder:MODEL or a "
    "plugin's",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, including each query")
def bear_eval(
    folders: tuple[Path, ...],
    sidecar_path: Path | None,
    modes: tuple[str, ...],
    model: str | None,
    cache: Path | None,
    rerank: str | None,
    as_json: bool,
) -> None:
    """
    Measure how well the search ranks

    COLLECTION is a folder with corpus.jsonl, queries.jsonl and qrels.tsv. Its documents are indexed
    once, and then its queries run as on the search page. Without a COLLECTION, this uses the
    queries whose results you judged on the search page. It also tries other settings on them, and
    with --model another model in a copy of the index. If you haven't judged any results, questions
    are generated from the notes.
    """
    from .. import evaluation
    from ..evaluation import collections, judgments
    from ..index.run.report import Hooks
    from ..search.connection import open_sidecar

    modes = tuple(dict.fromkeys(modes))
    evaluations = []
    tried: dict[str, dict[str, Any]] = {"rerank": {"rerank": rerank}} if rerank else {}
    with clear_errors():
        for folder in folders:
            collection = collections.read_collection(folder)
            path = sidecar_path or collections.index_collection(
                collection,
                cache,
                model or registry.default_model(),
                semantic=bool(evaluation.semantic_modes(modes)),
                hooks=Hooks(on_embedded=progress(quiet=as_json)),
            )
            on_query = progress(quiet=as_json, what="queries")
            with open_sidecar(path) as index:
                queries = collection.judged_queries(index)
                evaluations.append(
                    evaluation.evaluate(index, queries, modes, settings=tried, on_query=on_query)
                )
        if not folders:
            path = sidecar_path or database.default_path()
            with ExitStack() as stack:
                index = stack.enter_context(open_sidecar(path))
                judged = judgments.judged_queries(index)
                queries = judged or judgments.known_items(index)
                other = None
                if model:
                    copy = evaluation.copy_with_model(path, model, progress(quiet=as_json))
                    other = f"model {model}", stack.enter_context(copy)
                if judged:
                    tried = {**evaluation.TRIED_SETTINGS, **tried}
                result = evaluation.evaluate(
                    index, queries, modes, settings=tried, other_model=other
                )
            evaluations.append(result)
    if as_json:
        echo_json(evaluation.as_json(evaluations), indent=2)
    else:
        echo(*evaluation.as_text(evaluations).split("\n"))
