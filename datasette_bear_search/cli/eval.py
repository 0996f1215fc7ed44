"""``datasette bear-eval``: collections or one's own judgments → how well the search ranks."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..embeddings import registry
from ..index import database
from ..query.query import EVALUATED_MODES, MODES
from . import Progress, clear_errors


@click.command()
@click.argument("folders", nargs=-1, metavar="[COLLECTION]...", type=click.Path(path_type=Path))
# Without the environment variable: it names a person's own index, which has no collection's
# documents.
@click.option(
    "--sidecar",
    "sidecar_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Index to search, instead of one made from the COLLECTION; without a COLLECTION the one "
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
    help="Measure the last mode with a reranker, too: cross-encoder, cross-encoder:MODEL or a "
    "plugin's",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, down to the single query")
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
    once, then its queries are run as on the search page. Without a COLLECTION, the queries are
    those whose results you judged there.
    """
    from .. import evaluation
    from ..evaluation import collections, judgments
    from ..index import indexer
    from ..search.functions import open_sidecar

    modes = tuple(dict.fromkeys(modes))
    evaluations = []
    with clear_errors():
        evaluation.require_libraries()
        for folder in folders:
            collection = collections.read_collection(folder)
            path = sidecar_path or collections.index_collection(
                collection,
                cache or collections.default_cache(),
                model or registry.default_model(),
                semantic=bool(evaluation.semantic_modes(modes)),
                hooks=indexer.Hooks(on_embedded=Progress(quiet=as_json)),
            )
            on_query = Progress(quiet=as_json, what="queries")
            with open_sidecar(path) as index:
                queries = collection.judged_queries(index)
                evaluations.append(
                    evaluation.evaluate(index, queries, modes, reranker=rerank, on_query=on_query)
                )
        if not folders:
            with open_sidecar(sidecar_path or database.default_path()) as index:
                queries = judgments.judged_queries(index)
                evaluations.append(evaluation.evaluate(index, queries, modes, reranker=rerank))
    if as_json:
        click.echo(json.dumps(evaluation.as_json(evaluations), indent=2, ensure_ascii=False))
    else:
        click.echo(evaluation.as_text(evaluations))
