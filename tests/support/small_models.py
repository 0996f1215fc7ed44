"""Models of sentence-transformers that are made in a second.

Their weights are random, but they are loaded and run like real models.
"""

from __future__ import annotations

import string
from pathlib import Path

WORDS = (
    "garden fence repair roof apple tree soup lentil mice cabin keep out of the how do i a and to "
    "router password bread oven water plan winter"
).split()


def _tokenizer():
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import BertProcessing

    letters = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters]
    vocabulary = {name: number for number, name in enumerate(dict.fromkeys(names))}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(names[:5])
    return tokenizer


def write_transformer(folder: Path, *, pooling: str = "mean", prompts=None) -> Path:
    """Write a transformer of two small layers that reads 64 tokens and has 32 dimensions."""
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(1)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_tokenizer(), pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    bert = folder.with_name(f"{folder.name}-bert")
    # Without a pooler: nothing here uses it, and its random weights would differ each time.
    BertModel(config, add_pooling_layer=False).save_pretrained(str(bert))
    tokenizer.save_pretrained(str(bert))
    transformer = models.Transformer(str(bert), max_seq_length=64)
    modules = [transformer, models.Pooling(32, pooling_mode=pooling)]
    SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save(str(folder))
    return folder


def write_static_model(folder: Path) -> Path:
    """Write a static model with a random vector of 48 numbers for each word."""
    import numpy
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding

    tokenizer = _tokenizer()
    table = numpy.random.default_rng(1).normal(size=(tokenizer.get_vocab_size(), 48))
    static = StaticEmbedding(tokenizer, embedding_weights=table.astype("float32"))
    SentenceTransformer(modules=[static], device="cpu").save(str(folder))
    return folder
