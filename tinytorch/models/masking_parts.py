# Generated from modules/13_transformers/masking_parts_dev.py by tito export. Edit the lesson, not this file.
# source sha256 3798a8445cf40011a82c4a845d5d1295607b691f0be2f2756ca2fc1a68128259  body sha256 4307fb42eae46856bf8bd8ed4298c1cc24073e6196c502d86a3b447b2029ec75  # noqa: E501
"""models.masking_parts: built in module 13_transformers."""

from tinytorch.core.creation import tensor

__all__ = ["check_share", "is_any_of", "ordinary_tokens"]


def check_share(prob):
    """ValueError unless prob, the share of the tokens that is chosen, is from 0 to 1."""
    if not 0 <= prob <= 1:
        raise ValueError(f"prob={prob}: the share of the tokens to choose lies between 0 and 1.")


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
