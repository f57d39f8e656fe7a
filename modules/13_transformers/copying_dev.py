# %% [markdown]
# # Eight letters, said again
#
# Given code: nothing to solve here, and nothing of it is exported. What the lesson measures with: a model
# that says letters again, and numbers that tell how alike vectors are and how large gradients.

# %%
import math
from time import process_time

import numpy as np
from pictures_dev import draw_by_depth
from threadpoolctl import threadpool_limits
from tito.lesson import peak_bytes

from tinytorch.core.autograd import no_grad
from tinytorch.core.backend import manual_seed
from tinytorch.core.creation import randint, randn
from tinytorch.nn.containers import ModuleList
from tinytorch.nn.embedding_layers import Embedding
from tinytorch.nn.layers import Linear
from tinytorch.nn.losses import cross_entropy
from tinytorch.nn.module import Module
from tinytorch.nn.simple_layers import Identity
from tinytorch.optim.optimizers import Adam


# %%
class Copier(Module):
    """Says of each of 8 letters which of 16 it is, (B, 8). norm: in front of the last matrix."""
    def __init__(self, blocks, norm, d=32):
        super().__init__()
        self.words, self.places = Embedding(16, d), Embedding(8, d)
        self.blocks, self.norm, self.head = ModuleList(blocks), norm, Linear(d, 16)

    def vectors(self, ids):
        """What goes into the first block, and what comes out of each, (B, 8, d)."""
        found = [self.words(ids) + self.places.weight]
        for block in self.blocks:
            found.append(block(found[-1]))
        return found

    def loss(self, ids):
        return cross_entropy(self.head(self.norm(self.vectors(ids)[-1])).flatten(0, 1), ids.flatten())


class OneWay(Module):
    """A block without `x +`: what each part makes takes the place of what came in."""
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        part = self.block
        attended, _ = part.attention(part.norm1(x), need_weights=False)
        return part.feedforward(part.norm2(attended))


def copier(kind, block, norm, depth=12):
    """A Copier; kind: "pre", "post", "no x +", or "no x +, no norm". block, norm: the lesson's classes."""
    how = {"post": {"norm": "post"}, "no x +, no norm": {"norm_layer": lambda *_: Identity()}}.get(kind, {})
    blocks = [block(32, 4, 128, 0.0, **how) for _ in range(depth)]
    return Copier([OneWay(b) for b in blocks] if kind.startswith("no") else blocks, norm(32))


def letters(): return randint(0, 16, (16, 8))


def likeness(x):
    """The mean cosine of two vectors at different places of x (B, T, d): 1 if all are alike."""
    x = x.data / np.linalg.norm(x.data, axis=-1, keepdims=True)
    t = x.shape[1]
    return float((x @ x.swapaxes(1, 2)).sum((1, 2)).mean() - t) / (t * (t - 1))


def by_depth(model):
    """(likeness of the vectors behind each block, length of each block's gradient): two lists."""
    ids = letters()
    model.loss(ids).backward()
    slopes = [math.sqrt(np.sum([np.sum(np.square(p.grad.data, dtype=float)) for p in block.parameters()
                                if p.grad is not None])) for block in model.blocks]
    return [likeness(x) for x in model.vectors(ids)[1:]], slopes


# %%
one_thread = threadpool_limits.wrap(limits=1, user_api="blas")         # a second is a loss for small products


@one_thread
def train(kind, block, norm, lr, warm_up=1, steps=40, seed=0):
    """Train a `copier` by Adam; print its loss at the start, at the end, and the likeness at the top after
    five steps. warm_up: over so many steps the rate grows to lr.
    """
    manual_seed(seed)
    model, losses = copier(kind, block, norm), []
    optimizer = Adam(model.parameters(), lr=lr)
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = lr * min(1, step / warm_up)
        optimizer.zero_grad()
        loss = model.loss(letters())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step == 5:
            with no_grad():
                alike = likeness(model.vectors(letters())[-1])
    print(f"{kind:6} {'with warm-up' if warm_up > 1 else '':12} loss {losses[0]:.2f}, after {steps} steps "
          f"{np.mean(losses[-5:]):.3f}; likeness at the top after five steps: {alike:.4f}")


# %%
@one_thread
def costs(make, lengths=(64, 128, 256, 512)):
    """Print what make(depth) costs forward and backward, with 1, 2 and 4 blocks: memory, and CPU time."""
    def both_ways(model, t):
        x = randn(1, t, 64)
        model(x).sum().backward()                      # the gradients' own memory is there from now on
        return lambda: model(x).sum().backward()

    def least(run):
        def seconds():
            start = process_time()
            run()
            return process_time() - start
        return min([seconds() for _ in range(9)])

    print("MB at the peak, T =" + "".join([f"{t:8}" for t in lengths]) + "     CPU ms at 256")
    for depth in 1, 2, 4:
        model = make(depth)
        runs = {t: both_ways(model, t) for t in lengths}
        peaks = "".join([f"{peak_bytes(run) / 1e6:8.2f}" for run in runs.values()])
        print(f"{depth} blocks           {peaks}{least(runs[256]) * 1e3:18.1f}")


# %%
def bars(numbers):
    """Numbers from 0 to 1 as a row of small bars."""
    return "".join(["▁▂▃▄▅▆▇█"[min(7, max(0, int(8 * x)))] for x in numbers])


def show_by_depth(block, norm):
    """Print likeness and gradient at each block of four untrained copiers; in a notebook, draw them too."""
    alike, slopes = {}, {}
    for kind in "pre", "post", "no x +", "no x +, no norm":
        manual_seed(0)
        alike[kind], slopes[kind] = by_depth(copier(kind, block, norm))
    print(f"{'':16} likeness behind block 1 to 12; of 1, 6, 12        gradient of block 1 and 12")
    for kind, numbers in alike.items():
        some = "  ".join([f"{numbers[i]:.4f}" for i in (0, 5, 11)])
        ends = "  ".join([f"{slopes[kind][i]:<8.2g}" for i in (0, -1)])
        print(f"{kind:16} {bars(numbers):16} {some}        {ends}")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return print("The pictures need matplotlib: pip install matplotlib")
    if plt.get_backend().lower() == "agg":
        return print("No window to draw in: open this file as a notebook to see the pictures.")
    draw_by_depth(alike, "likeness of two tokens")
    draw_by_depth(slopes, "length of the gradient", log=True)
    plt.show()
