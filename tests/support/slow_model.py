"""A model that takes its time, so that a command can be stopped at its work.

Importing this registers it as ``slow``.
"""

import time

from datasette_bear_search.embeddings import registry
from tests.support.tiny_embedder import TinyEmbedder


class SlowEmbedder(TinyEmbedder):
    def encode(self, texts, *, is_query):
        time.sleep(5)
        return super().encode(texts, is_query=is_query)


registry.register("slow", lambda: SlowEmbedder("slow"))
