"""Models run by something else: a server on this machine, or the package llm.

``ollama:NAME``, ``openai:NAME@http://127.0.0.1:8080`` (llama-server, LM Studio …), ``llm:NAME``
"""

from __future__ import annotations

import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from .. import prompts
from ..base import Embedder, ModelFacts, ModelUnavailable, first_line
from ..names import REMOTE_VARIABLE, is_remote_permitted
from ..prompts import Prompts

OLLAMA = "http://127.0.0.1:11434"
# A server and at most the start of its API, such as /v1 or /openai/v1: with any other path, with a
# query, a fragment or a user's name, the request could be another than the one for vectors.
ADDRESS = re.compile(
    r"https?://(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?(/|(/[\w-]+){0,3}/v1/?)?", re.ASCII | re.I
)
KEY_VARIABLE = "DATASETTE_BEAR_SEARCH_API_KEY"
# Texts per request: such servers process only a few at a time.
BATCH = 32
# Seconds to connect, and to wait for a response: a server may have to load gigabytes first.
CONNECT_TIMEOUT, TIMEOUT = 3.0, 180.0
# Seconds before each retry, and the HTTP statuses that are worth one.
PAUSES = (0.5, 2.0)
TRANSIENT = (408, 425, 429, 500, 502, 503, 504)
# Tokens that we take as the limit of such a model: all of them read at least this many.
ASSUMED_MAX_TOKENS = 512


def factory_for(name: str) -> Callable[[], Embedder] | None:
    """Return a factory for the model with such a name; None for other names."""
    kind, _, model = name.partition(":")
    kinds = {"ollama": ServerEmbedder, "openai": ServerEmbedder, "llm": LlmEmbedder}
    return (lambda: kinds[kind](name)) if model and kind in kinds else None


class _Served(Embedder):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._model = name.partition(":")[2]

    @abstractmethod
    def request(self, texts: list[str]) -> list[Any]:
        """Return a vector for each of at most BATCH texts."""

    def encode(self, texts: list[str], *, is_query: bool) -> Any:
        rows: list[Any] = []
        for start in range(0, len(texts), BATCH):
            rows += self.request(texts[start : start + BATCH])
        sizes = {len(row) for row in rows}
        if self._dimension and self.choice.dimensions is None:
            sizes.add(self._dimension)
        if len(rows) != len(texts) or len(sizes) != 1:
            raise ModelUnavailable(
                f"{self.name} didn't answer with one vector of {self._dimension or 'some'} numbers "
                "for each text. If another model has this name now, start this program again."
            )
        return rows

    def default_prompts(self) -> Prompts:
        return prompts.for_names(self._model.partition("@")[0])  # servers don't add them

    def measure(self, texts: list[str]) -> list[int]:
        return [len(text) // 8 for text in texts]  # so low that words don't seem split into pieces

    def loads_fast(self) -> bool:
        return True

    def _require_permission(self, whom: str) -> None:
        if not is_remote_permitted(self.plain_name):
            raise ModelUnavailable(
                f"{self.plain_name} would send your notes and queries to {whom}. If you want "
                f"that, name {self.plain_name} in the environment variable {REMOTE_VARIABLE}."
            )


class ServerEmbedder(_Served):
    """A model on an OpenAI-compatible server, which must be on this machine unless permitted."""

    def open_model(self) -> ModelFacts:
        import httpx

        self._name, _, address = self._model.partition("@")
        address = address or (OLLAMA if self.plain_name.startswith("ollama:") else "")
        host = urlsplit(address).hostname if ADDRESS.fullmatch(address) else None
        if not host:
            raise ModelUnavailable(
                f"{self.plain_name[:200]} needs the server's address, such as "
                "openai:NAME@http://127.0.0.1:8080. Only a path that ends with /v1 may follow it."
            )
        is_here = host == "localhost"
        with suppress(ValueError):  # a host name
            is_here = ip_address(host).is_loopback
        if not is_here:
            self._require_permission(host)
        self._address = address.rstrip("/").removesuffix("/v1")
        key = os.environ.get(KEY_VARIABLE)
        # A proxy would be another machine. A redirect could lead anywhere, but httpx follows none.
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
            trust_env=not is_here,
        )
        return ModelFacts(ASSUMED_MAX_TOKENS, {})

    def request(self, texts: list[str]) -> list[Any]:
        import httpx

        content, address = {"model": self._name, "input": texts}, f"{self._address}/v1/embeddings"
        for pause in (*PAUSES, 0):
            try:
                response = self._client.post(address, json=content)
                if response.is_success:
                    rows = sorted(response.json()["data"], key=lambda row: row["index"])
                    return [list(map(float, row["embedding"])) for row in rows]
                problem = self._explained(response)
                if response.status_code not in TRANSIENT:
                    break
            except httpx.HTTPError as error:
                problem = (
                    f"No server answers at {self._address} ({first_line(error)}). Start it, or "
                    "choose another model with --model."
                )
                if not self.ready:  # a search shouldn't wait for a server that isn't running
                    break
            except (KeyError, TypeError, ValueError):
                problem = (
                    f"{address} doesn't return vectors. Check that it serves an embedding model."
                )
                break
            time.sleep(pause)
        raise ModelUnavailable(problem)

    def _explained(self, response: Any) -> str:
        try:
            error = response.json()["error"]
            message = error["message"] if isinstance(error, dict) else error
        except (KeyError, TypeError, ValueError):
            message = response.reason_phrase
        remedy = ""
        if response.status_code in (401, 403):
            remedy = f" Put its key into the environment variable {KEY_VARIABLE}."
        elif response.status_code == 404 and self.plain_name.startswith("ollama:"):
            remedy = f" Get the model: ollama pull {self._name}"
        message = f"{first_line(Exception(message))} ({response.status_code})"
        return f"The server at {self._address} answers: {message}.{remedy}"


class LlmEmbedder(_Served):
    """An embedding model of the package llm or one of its plugins."""

    advice = "To list llm's models, run: llm embed-models."

    def open_model(self) -> ModelFacts:
        try:
            import llm

            self._llm = llm.get_embedding_model(self._model)
        except ImportError as error:
            raise ModelUnavailable(
                f"{self.plain_name} needs the Python package llm. Install it: pip install llm"
            ) from error
        if self._llm.needs_key:
            self._require_permission(f"the makers of {self._model}")
        return ModelFacts(ASSUMED_MAX_TOKENS, {})

    def request(self, texts: list[str]) -> list[Any]:
        return list(self._llm.embed_multi(texts))
