# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 112f84e8dc37027b4c0746c803bea252c27dfd6b517141d327154892b8740e0b  body sha256 a92d14d8d8d96fd516c8aef84919ea592cf957c67da2f05e153e4ce70ea1f23b  # noqa: E501
"""models.masking: built in module 13_transformers."""

from tinytorch.core.creation import rand, randint
from tinytorch.core.math import where
from tinytorch.models.masking_parts import check_share, is_any_of, ordinary_tokens

__all__ = ["mask_tokens"]


def mask_tokens(token_ids, mask_id, vocab_size, special_ids=(), prob=0.15, generator=None):
    """(inputs, labels) for masked language modelling, (B, T) each; token_ids is left as it was.

    Each token that is not special is chosen with probability prob. labels: the token where one was chosen,
    else -100. inputs: of the chosen 80 % are mask_id, 10 % any ordinary token, 10 % as they were.
    special_ids: never chosen, and never drawn. Devlin et al., arXiv:1810.04805, section 3.1.
    """
    check_share(prob)
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
