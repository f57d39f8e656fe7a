# Generated from modules/13_transformers/masking_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 2814e8996194528f49508855276b17c43a609c6e4a250e81f2023cf2b38d76a9  body sha256 ed0bff110fdec308d038abc6649d0a6c8b1d8a2eadb61fd160cc68bb3a113329  # noqa: E501
"""models.masking_parts: built in module 13_transformers."""

from tinytorch.core.creation import tensor

__all__ = ["is_any_of", "ordinary_tokens"]


def ordinary_tokens(vocab_size, special_ids, device=None):
    """All ids below vocab_size that are not special, (n,). ValueError if there are none."""
    ids = [i for i in range(vocab_size) if i not in special_ids]
    if not ids:
        raise ValueError(f"of a vocabulary of {vocab_size} all are special: nothing is left to draw from.")
    return tensor(ids, device=device)


def is_any_of(token_ids, ids):
    """Where token_ids (B, T) are one of `ids`: (B, T) bools."""
    found = token_ids != token_ids
    for i in ids:
        found = found | (token_ids == i)
    return found
