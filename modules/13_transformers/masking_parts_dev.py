# %% [markdown]
# # Which words may be masked, and which may be drawn; what a mask of padding must look like
#
# Given code: nothing to solve here.

# %%
#| default_exp models.masking_parts

# %%
from tinytorch.core.creation import arange


# %%
#| export
def check_share(prob):
    """ValueError unless prob, the share of the tokens that is chosen, is from 0 to 1."""
    if not 0 <= prob <= 1:
        raise ValueError(f"prob={prob}: the share of the tokens to choose lies between 0 and 1.")


def as_bools(attention_mask, token_ids):
    """attention_mask, 0s and 1s of any dtype, as bools (B, T), or None.

    RuntimeError if token_ids have another shape; ValueError if there are other numbers in it.
    """
    if attention_mask is None:
        return None
    if attention_mask.shape != token_ids.shape:
        raise RuntimeError(f"attention_mask {attention_mask.shape} and token_ids {token_ids.shape}: both "
                           "must be (B, T), a 1 in the mask for each word and a 0 for padding.")
    seen = attention_mask != 0
    if attention_mask.dtype.kind != "b" and (attention_mask != seen).any():      # nan is one of them
        raise ValueError("attention_mask must hold 1 where a word is read and 0 where there is padding; this "
                         "one holds other numbers. A mask that is added to scores, 0 and -inf, is not taken: "
                         "pass mask == 0.")
    return seen


def ordinary_tokens(vocab_size, special_ids, device=None):
    """All ids below vocab_size that are not special, (n,). ValueError if there are none, or one is None."""
    if None in special_ids:
        raise ValueError("mask_id or a special id is None: does the tokenizer have a [MASK]?")
    ids = arange(vocab_size, device=device)
    ids = ids[~is_any_of(ids, special_ids)]
    if not len(ids):
        raise ValueError(f"of a vocabulary of {vocab_size} all are special: nothing is left to draw from.")
    return ids


def is_any_of(token_ids, ids):
    """Where token_ids are one of `ids`: bools of their shape."""
    found = token_ids != token_ids
    for i in ids:
        found = found | (token_ids == i)
    return found
