"""Tokenizers: from a text to ids and back, trained here or read from Hugging Face's files."""

from tinytorch._faces import face

__getattr__, __dir__, __all__ = face(__name__, {
    "text.added_tokens": "AddedToken",
    "text.base": "BatchEncoding",
    "text.batching": "Tokenizer pad_batch",
    "text.bpe": "ByteBPETokenizer",
    "text.tokenizers": "CharTokenizer WordPieceTokenizer from_pretrained",
})
