# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a5c7744f386e6392034314b3bd6edbc52b80a88fcaeb624fb48fbd864a49f5d4  body sha256 46819229f8ef43c957c7c491d67d263af8b0d7c9c43e7bfe769e94ae27f63c4c  # noqa: E501
"""models.masking: built in module 13_transformers."""

from tinytorch.core.creation import rand, randint
from tinytorch.core.math import where
from tinytorch.models.masking_parts import is_any_of, ordinary_tokens

__all__ = ["mask_tokens"]


def mask_tokens(token_ids, mask_id, vocab_size, special_ids=(), prob=0.15, generator=None):
    """(inputs, labels) for masked language modelling, (B, T) each; token_ids is left as it was.

    Each token that is not special is chosen with probability prob. labels: the token where one was chosen,
    else -100. inputs: of the chosen 80 % are mask_id, 10 % any ordinary token, 10 % as they were.
    special_ids: never chosen, and never drawn. Devlin et al., arXiv:1810.04805, section 3.1.
    """
    ordinary = ordinary_tokens(vocab_size, {mask_id, *special_ids}, token_ids.device)
    special = is_any_of(token_ids, special_ids)
    chosen = (rand(*token_ids.shape, generator=generator, device=token_ids.device) < prob) & ~special
    labels = token_ids.masked_fill(~chosen, -100)
    lot = rand(*token_ids.shape, generator=generator, device=token_ids.device)
    drawn = ordinary[randint(0, len(ordinary), token_ids.shape, generator=generator,
                             device=token_ids.device)]
    inputs = where(chosen & (lot < 0.8), mask_id, token_ids)
    inputs = where(chosen & (lot >= 0.9), drawn, inputs)
    return inputs, labels
