# %% [markdown]
# # Which words may be masked, and which may be drawn
#
# Given code: nothing to solve here.

# %%
#| default_exp models.masking_parts

# %%
from tinytorch.core.creation import tensor


# %%
#| export
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
