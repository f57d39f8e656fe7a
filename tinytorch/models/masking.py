# Generated from modules/13_transformers/transformers_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a518c33cdebd19caee24350cd6e8bbbe9b7982b084512206b8ef9f3b3e69ad26  body sha256 2670bbb45169a3392bb21ca66dae7c7a8b116c95b8390add1a9e61bd2bf3621d  # noqa: E501
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
    special, source = is_any_of(token_ids, special_ids), dict(generator=generator, device=token_ids.device)
    chosen = (rand(*token_ids.shape, **source) < prob) & ~special
    labels = token_ids.masked_fill(~chosen, -100)
    kind = rand(*token_ids.shape, **source)
    drawn = ordinary[randint(0, len(ordinary), token_ids.shape, **source)]
    inputs = where(chosen & (kind < 0.8), mask_id, token_ids)
    return where(chosen & (kind >= 0.9), drawn, inputs), labels
