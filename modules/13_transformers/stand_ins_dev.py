# %% [markdown]
# # Stand-ins, for the tests
#
# Given code: nothing to solve here, and nothing of it is exported. Layers that compute something easy, so
# that the order in which a block calls them shows in a number.

# %%
from contextlib import contextmanager

import numpy as np

from tinytorch.core.joining import cat
from tinytorch.core.tensor import Tensor
from tinytorch.nn.module import Module


# %%
class Acts(Module):
    "A layer that computes f; `got` is what it was given each time"
    def __init__(self, f):
        super().__init__()
        self.f, self.got = f, []

    def forward(self, *args, **how):
        self.got.append((args, how))
        return self.f(*args, **how)


def acting(model, **layers):
    "`model`, with layers that compute these functions in the place of its own"
    for name, f in layers.items():
        setattr(model, name, Acts(f))
    return model


def alone(x):
    "In the place of a dropout: hands on what a sub-layer gave, if it is one thing"
    if isinstance(x, tuple):
        raise TypeError("a sub-layer gave two things, (output, weights): it must give the output alone, as "
                        "`attend` does; so not self.attention itself")
    return x


@contextmanager
def saying(why, kind=Exception):
    "What is raised inside, of this kind, says `why`, too"
    try:
        yield
    except kind as error:
        error.add_note(why)
        raise


def one(x): return Tensor(np.array([[[float(x)]]]))


def attending(query, key=None, value=None, mask=None, cache=None, layer=0, bias=None, need_weights=True):
    "In the place of attention: doubles the query"
    return query * 2, None


def reading(query, key=None, value=None, mask=None, cache=None, layer=0, bias=None, need_weights=True):
    "In the place of cross-attention: query times key, and a word for the weights"
    if key is None:
        raise TypeError("cross-attention got no key: hand `residual` a function of x alone, which calls it "
                        "with x, memory, memory, ...")
    return query * key, "the weights" if need_weights else None


def scores(*rows): return Tensor(np.log(np.array(rows)))


def lively(model):
    "`model` with larger weights, so that whatever reaches a word shows"
    for p in model.parameters():
        if p.ndim > 1:
            p.data[...] = p.data * 20
    return model


class ListCache:
    "A cache in six lines (module 15 builds a good one)"
    def __init__(self): self.kept = {}
    def length(self, layer=0): return self.kept[layer][0].shape[2] if layer in self.kept else 0

    def update(self, layer, *new):
        old = self.kept.get(layer, [x[:, :, :0] for x in new])
        self.kept[layer] = [cat(pair, 2) for pair in zip(old, new)]
        return self.kept[layer]
