"""A model that is slow, so that a command can be stopped while it embeds.

Importing this module registers it as ``slow``.
"""

import time

from datasette_bear_search.embeddings import registry
from tests.support.tiny_embedder import TinyEmbedder


class SlowEmbedder(TinyEmbedder):
    def encode(self, texts, *, is_query):
        time.sleep(2)
        return super().encode(texts, is_query=is_query)


registry.register("slow", lambda: SlowEmbedder("slow"))
