"""``datasette bear-eval``: test collections or your own notes → how well the search ranks."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from ..embeddings import registry
from ..index.file import database
from ..query.query import EVALUATED_MODES, MODES
from .output import Command, echo, echo_json, progress


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
    queries whose results you judged on the search page; --model also tries another model on them,
    in a copy of the index.
    """
    from .. import evaluation
    from ..evaluation import collections, judgments
    from ..index.run.report import Hooks
    from ..search.connection import open_sidecar
    from ..search.ranking.statement import DEFAULT_RANKING
    from ..search.request import read_ranking

    modes = tuple(dict.fromkeys(modes))
    evaluations = []
    with ExitStack() as stack:
        for folder in folders or [None]:
            collection = collections.read_collection(folder) if folder else None
            path = sidecar_path or database.default_path()
            if collection and not sidecar_path:
                path = collections.index_collection(
                    collection,
                    cache,
                    model or registry.default_model(),
                    semantic=bool(evaluation.semantic_modes(modes)),
                    hooks=Hooks(on_embedded=progress(quiet=as_json)),
                )
            index = stack.enter_context(open_sidecar(path))
            if collection:
                queries, ranking = collection.judged_queries(index), DEFAULT_RANKING
            else:  # a person's own notes are searched with the ranking that they configured
                queries, ranking = judgments.judged_queries(index), read_ranking({})
            run, others = evaluation.Run(index, modes[-1], ranking), {}
            if rerank:
                others["rerank"] = run._replace(reranker=evaluation.loaded_reranker(rerank))
            if model and not collection:
                copy = evaluation.copy_with_model(path, model, progress(quiet=as_json))
                others[f"model {model}"] = run._replace(connection=stack.enter_context(copy))
            on_query = progress(quiet=as_json, what="queries")
            evaluations.append(
                evaluation.evaluate(
                    index, queries, modes, ranking=ranking, others=others, on_query=on_query
                )
            )
    if as_json:
        echo_json(evaluation.as_json(evaluations), indent=2)
    else:
        echo(*evaluation.as_text(evaluations).split("\n"))
