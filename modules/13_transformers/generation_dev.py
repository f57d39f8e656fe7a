# %% [markdown]
# # Writing, token by token
#
# Given code: nothing to solve here. What a model that writes needs around its loop: prompts of different
# length, an end for each row, dropout off, and the search with beams.

# %%
#| default_exp models.generation

# %%
from contextlib import contextmanager
from math import inf
from numbers import Integral

import numpy as np
from masking_parts_dev import is_any_of

from tinytorch.core.autograd import no_grad
from tinytorch.core.backend import Generator
from tinytorch.core.creation import tensor, zeros_like
from tinytorch.core.dtypes import int64
from tinytorch.core.joining import cat
from tinytorch.core.math import where
from tinytorch.core.tensor import Tensor
from tinytorch.nn.activations import log_softmax
from tinytorch.nn.packed import pad_sequence


# %%
#| export
def check_task(start, max_new_tokens, num_beams=1, cache=None):
    """The lengths of the prompts `start`. ValueError unless one can write behind each.

    They need a token at least, and one that the cache, if there is one, has not read. TypeError for texts.
    """
    try:
        rows = list(start)
        lengths = [len(row) for row in rows]
    except TypeError:
        raise TypeError("generate: start_tokens must be a tensor (B, T), or a list of prompts. For a single "
                        "one: start_tokens.unsqueeze(0), or [prompt].") from None
    if any([isinstance(row, str) for row in rows]):
        raise TypeError("generate: start_tokens must be ids, and not text: [tokenizer.encode(text)].")
    if not lengths or not min(lengths):
        raise ValueError(f"generate: prompts of {lengths} tokens. Each needs one to start with, such as "
                         "[BOS] or a line's end.")
    counts = (max_new_tokens, 0), (num_beams, 1)
    if not all([isinstance(n, Integral) and n >= least for n, least in counts]):
        raise ValueError(f"generate: max_new_tokens={max_new_tokens}, num_beams={num_beams}. Both are whole "
                         "numbers, the first at least 0, the second at least 1.")
    if cache is not None and cache.length() >= min(lengths):
        raise ValueError(f"generate: the cache has read {cache.length()} tokens, and the shortest prompt has "
                         f"{min(lengths)}. It must go on where the cache ends; or give an empty cache.")
    return lengths


@contextmanager
def evaluating(model):
    """Inside, `model` is in evaluation (no dropout) and nothing is recorded; then it is as it was."""
    was = [(part, part.training) for part in model.modules()]     # parts may be frozen in evaluation
    model.eval()
    try:
        with no_grad():
            yield model
    finally:
        for part, training in was:
            part.training = training


def ends_of(eos):
    """The ids that end a text, a list: of one, of several, or of None."""
    return [] if eos is None else np.ravel(eos).tolist()


def rows_of(prompts, device=None):
    """A list of prompts, of lists or tensors of ids, as a list of tensors (T,)."""
    return [tensor(list(row), dtype=int64, device=device) for row in prompts]


class Writing:
    """Texts that grow token by token: `ids` (B, t) is what there is so far.

    start: (B, T) tokens, or a list of B prompts (lists or tensors) of any lengths. A row whose prompt is
    longer than the shortest one reads on in it, whatever is appended, until it ends. eos: an id, or several;
    a row that has written one is done, and filled up with the first.
    """
    def __init__(self, start, max_new_tokens, eos=None, device=None):
        self.ends, self.alike = ends_of(eos), isinstance(start, Tensor)
        rows = start if self.alike else rows_of(start, device)
        lengths = [len(row) for row in rows]
        longest = max(lengths)
        self.prompts = start if self.alike else pad_sequence(rows, batch_first=True)
        self.lengths = tensor(lengths, device=self.prompts.device)
        self.ids, self.total = self.prompts[:, :min(lengths)], longest + max_new_tokens
        self.max_new_tokens = max_new_tokens
        self.done = zeros_like(self.lengths).bool()

    @property
    def finished(self):
        """No row is to grow any further."""
        return self.ids.shape[1] >= self.total or bool(self.ends) and bool(self.done.all())

    def turns(self):
        """A turn of a loop for each token to be written. RuntimeError after one that appended none."""
        while not self.finished:
            t = self.ids.shape[1]
            yield t
            if self.ids.shape[1] == t:
                raise RuntimeError("generate: a turn of the loop has appended no token; it would never end.")

    def append(self, tokens):
        """One token (B,) for each row; rows that are done, or still read their prompt, do not take it."""
        t = self.ids.shape[1]
        if tokens.shape != self.lengths.shape:
            raise ValueError(f"append: tokens {tokens.shape} for texts {self.ids.shape}; one for each row is "
                             "needed, (B,).")
        reads = self.lengths > t
        if t < self.prompts.shape[1]:
            tokens = where(reads, self.prompts[:, t], tokens)
        if self.ends:
            tokens = tokens.masked_fill(self.done, self.ends[0])
            self.done = self.done | is_any_of(tokens, self.ends) & ~reads
        self.ids = cat([self.ids, tokens.unsqueeze(1)], 1)

    def result(self):
        """(B, T + new) if the prompts were a tensor; else a list of tensors, each up to its end."""
        if self.alike:
            return self.ids
        return [self._cut(row, n) for row, n in zip(self.ids, self.lengths.tolist())]

    def _cut(self, row, length):
        row = row[:length + self.max_new_tokens]
        ends = is_any_of(row[length:], self.ends).nonzero().tolist()
        return row[:length + ends[0][0] + 1] if ends else row


# %% [markdown]
# Beam search keeps the `num_beams` likeliest beginnings, not only the likeliest. In each step every beam
# proposes all its next words; the best stay. A beam that writes eos is finished; its score is the sum of
# its log probabilities by its length to the power of `length_penalty`, so that long texts are not punished
# for having more factors. (The bookkeeping is that of the transformers library, so that the same weights
# find the same sentence.)

# %%
#| export
class Beams:
    """The finished texts of one row, the best `size` of them: (score, tokens)."""
    def __init__(self, size):
        self.size, self.found, self.closed = size, [], False

    def add(self, score, tokens):
        self.found = sorted([*self.found, (score, tokens)], key=lambda f: -f[0])[:self.size]

    def close(self, best_to_come):
        """No more are wanted once `size` are found and none to come can be better."""
        self.closed |= len(self.found) == self.size and self.found[-1][0] >= best_to_come


def beam_search(logits_of, start, max_new_tokens, num_beams, eos=None, length_penalty=1.0, reorder=None):
    """The likeliest continuation of each row that a search with num_beams finds: (B, T + new).

    logits_of: called with ids (B num_beams, t), gives the scores of the next token, (B num_beams, V). start:
    (B, T). reorder: called with the index (B num_beams,) of the rows that go on, for a cache. eos: an id, or
    several. Rows that end earlier than the longest are filled up with the first.
    """
    check_task(start, max_new_tokens, num_beams)
    ends = ends_of(eos)
    if not max_new_tokens:
        return start
    b, k = len(start), num_beams
    ids, scores = start.repeat_interleave(k, 0), [0.0, *[-inf] * (k - 1)] * b
    rows = [Beams(k) for _ in range(b)]
    for n in range(1, max_new_tokens + 1):
        logp = log_softmax(logits_of(ids), -1)                                         # (B K, V)
        v = logp.shape[-1]
        totals = (logp + tensor(scores, dtype=logp.dtype, device=ids.device).unsqueeze(1)).reshape(b, k * v)
        best, places = totals.topk(min(k + k * len(ends), k * v))              # all but k of them may be ends
        kept = []
        for row, beams, some, at in zip(range(b), rows, best.tolist(), places.tolist()):
            alive = []
            for rank, (score, place) in enumerate(zip(some, at)):
                beam, token = row * k + place // v, place % v
                if token not in ends:
                    alive.append((score, beam, token))
                elif rank < k and not beams.closed:
                    beams.add(score / n ** length_penalty, [*ids[beam].tolist(), token])
            kept += alive[:k]
            beams.close(alive[0][0] / n ** length_penalty)
        scores = [score for score, _, _ in kept]
        index = tensor([beam for _, beam, _ in kept], device=ids.device)
        tokens = tensor([token for _, _, token in kept], device=ids.device)
        ids = cat([ids[index], tokens.unsqueeze(1)], 1)
        if reorder is not None:
            reorder(index)
        if all([beams.closed for beams in rows]):
            break
    for i, score in enumerate(scores):
        if not rows[i // k].closed:
            rows[i // k].add(score / n ** length_penalty, ids[i].tolist())
    texts = [beams.found[0][1] for beams in rows]
    longest = max([len(t) for t in texts])
    return tensor([t + ends[:1] * (longest - len(t)) for t in texts], device=ids.device)


# %% [markdown]
# What `GPTDecoder.generate` needs besides its loop.

# %%
#| export
def unread(ids, cache):
    """What of ids (B, t) the cache has not read yet; all, without a cache."""
    return ids if cache is None else ids[:, cache.length():]


def generator_of(seed, device):
    """A generator of its own for this seed, or None: the default one."""
    return None if seed is None else Generator(device).manual_seed(seed)


def check_room(model, start, max_new_tokens, num_beams, cache):
    """See `check_task`; and ValueError if a cache is to hold more tokens than the model has places for."""
    total = max(check_task(start, max_new_tokens, num_beams, cache)) + max_new_tokens
    if cache is not None and total > model.max_len:
        raise ValueError(f"generate: {total} tokens, and with a cache there is room for max_len="
                         f"{model.max_len}. Ask for fewer, or leave out the cache: then the oldest drop out.")


def beams_of(model, start, max_new_tokens, num_beams, eos=None, length_penalty=1.0, cache=None):
    """`beam_search` with a GPTDecoder: (B, T + new), or for a list of prompts a list of tensors."""
    def logits_of(ids):
        return model(unread(ids, cache)[:, -model.max_len:], cache)[:, -1]

    def search(ids):
        return beam_search(logits_of, ids, max_new_tokens, num_beams, eos, length_penalty,
                           None if cache is None else cache.reorder)

    with evaluating(model):
        if isinstance(start, Tensor):
            return search(start)
        if cache is not None:
            raise ValueError("generate: beams with a cache need prompts of one length, a tensor (B, T).")
        rows = rows_of(start, model.token_embedding.weight.device)
        return [search(row.unsqueeze(0))[0] for row in rows]
