"""A model's name → what it was trained to see before a query and before a passage."""

from __future__ import annotations

import json
import re
from typing import NamedTuple


class Prompts(NamedTuple):
    """Texts that are put before each query and before each passage; mostly empty."""

    query: str = ""
    passage: str = ""

    def __str__(self) -> str:
        parts = [
            f"{json.dumps(text, ensure_ascii=False)} before each {kind}"
            for kind, text in zip(self._fields, self)
            if text
        ]
        return " and ".join(parts) or "no prompts"


_NONE = Prompts()
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query"
# The words of a model's name, joined by hyphens → its family's prompts by the models' cards and
# mteb's. The first one that matches counts: variants that were trained otherwise come before their
# family, and those without prompts, whose cards name another family, before all.
_FAMILIES = {
    r"gist|noinstruct|potion|m2v|model2vec|bge-m3|bge-reranker": _NONE,
    r"qwen-?3-embed(ding)?": Prompts(f"{_INSTRUCT}\nQuery:"),
    r"(m|afri)?e5-(\w+-)*(instruct|mistral)|gte-qwen\w*|inf-retriever|linq-embed-mistral|"
    r"sfr-embedding-(mistral|2-r)": Prompts(f"{_INSTRUCT}\nQuery: "),
    r"stella-en-\w+(-\w+)?-v5": Prompts(f"{_INSTRUCT}.\nQuery: "),
    r"bge-multilingual-gemma2": Prompts(f"<instruct>{_INSTRUCT[10:]}.\n<query>"),
    r"(m|ko)?e5(small|base|large)?(?!-(v|omni)-)|deepset-mxbai-embed-de|cadet-embed":
        Prompts("query: ", "passage: "),
    r"arctic-?embed(-?2|-(\w+-)*v2)": Prompts("query: "),
    r"bge-?(small|base|large)-(\w+-)*zh": Prompts("为这个句子生成表示以用于检索相关文章："),
    r"arctic-?embed|mxbai-embed|mdbr-leaf|uae-large|bge-?(small|base|large)":
        Prompts("Represent this sentence for searching relevant passages: "),
    r"nomic-embed-code": Prompts("Represent this query for searching relevant code: "),
    r"nomic-embed-text|modernbert-embed|ru-en-rosberta|user2-(small|base)":
        Prompts("search_query: ", "search_document: "),
    r"embed(ding)?-?gemma": Prompts("task: search result | query: ", "title: none | text: "),
    r"jina-embeddings?-v3": Prompts(
        "Represent the query for retrieving evidence documents: ",
        "Represent the document for retrieval: ",
    ),
    r"jina-embeddings?-v4": Prompts("Query: ", "Passage: "),
    r"jina-embeddings?-v5": Prompts("Query: ", "Document: "),
    r"ruri-v3": Prompts("検索クエリ: ", "検索文書: "),
    r"ruri-(small|base|large)": Prompts("クエリ: ", "文章: "),
}  # fmt: skip
# Where the hub's cache keeps a model.
_CACHED = re.compile(r"models--[^/\\]+")


def for_names(*names: str) -> Prompts:
    """Return the prompts of the first name that belongs to a known family; none without one.

    :param names: of a model on the hub or on a server, or the path of a folder
    """
    for name in names:
        cached = _CACHED.search(name)
        last = cached[0] if cached else re.split(r"[/\\]", name.rstrip("/\\"))[-1]
        words = "-".join(["", *re.findall("[a-z0-9]+", last.lower()), ""])
        for family, prompts in _FAMILIES.items():
            if re.search(f"-({family})-", words):
                return prompts
    return _NONE
