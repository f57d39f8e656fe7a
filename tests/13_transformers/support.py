"""For the tests of module 13: its models once more, in plain NumPy from the papers' formulas."""
import math

import numpy as np

import tinytorch as torch

rng = np.random.default_rng(13)


def drawn(*shape): return torch.tensor(rng.normal(size=shape))
def some_ids(vocab, *shape): return torch.tensor(rng.integers(0, vocab, shape))


def near(x, y, atol=1e-9):
    x, y = [a.detach().numpy() if isinstance(a, torch.Tensor) else np.asarray(a) for a in (x, y)]
    assert x.shape == y.shape
    np.testing.assert_allclose(x, y, rtol=0, atol=atol)


def stirred(model, scale=0.3):
    """The model in float64 and in evaluation, every number of it drawn anew: no bias is 0, no weight 1."""
    model, rng = model.double().eval(), np.random.default_rng(1)
    for name, p in model.named_parameters():
        p.data[...] = scale * rng.normal(size=p.shape) + ("norm" in name and name.endswith("weight"))
    return model


def check_gradients(model, loss, h=1e-6):
    """The slope of loss() along one random direction of all the parameters, by backward and by nudging."""
    model.zero_grad()
    loss().backward()
    moves = [(p, rng.normal(size=p.shape)) for p in model.parameters()]
    ours = sum(float((p.grad.numpy() * d).sum()) for p, d in moves)
    found = []
    for step in h, -2 * h, h:                              # there, to the other side, and back
        for p, d in moves:
            p.data[...] += step * d
        found.append(loss().item())
    assert abs(ours) > 1e-3
    np.testing.assert_allclose(ours, (found[0] - found[1]) / (2 * h), rtol=1e-5, atol=1e-7)


def cut(row, start, eos):
    """The list `row` up to its first eos behind the prompt of `start` tokens."""
    return row[:row.index(eos, start) + 1] if eos in row[start:] else row


def filled(rows, eos):
    """As long as the longest, by eos."""
    longest = max(map(len, rows))
    return [row + [eos] * (longest - len(row)) for row in rows]


class Cache:
    """The AttentionCache of tinytorch.nn.heads in lists."""
    def __init__(self): self.held, self.other = {}, {}
    def length(self, layer=0): return self.held[layer][0].shape[2] if layer in self.held else 0

    def update(self, layer, key, value):
        old = self.held.get(layer)
        new = (key, value) if old is None else tuple(torch.cat([o, n], 2) for o, n in zip(old, (key, value)))
        self.held[layer] = new
        return new

    def cross(self, layer, make):
        if layer not in self.other:
            self.other[layer] = make()
        return self.other[layer]

    def reorder(self, index):
        for kept in self.held, self.other:
            for layer in kept:
                kept[layer] = tuple(x[index] for x in kept[layer])


# ---- formulas: arrays in, arrays out ----

def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def sinusoids(n, d):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i + 1) = cos of the same."""
    return np.array([[(np.cos if i % 2 else np.sin)(pos / 10000 ** ((i - i % 2) / d)) for i in range(d)]
                     for pos in range(n)])


def rotated(x, base=10000.0):
    """x (T, d): feature i and i + d/2 are a complex number, turned by the place times base^(-2i/d)."""
    half = x.shape[-1] // 2
    turn = np.exp(1j * np.arange(len(x))[:, None] * base ** (-np.arange(half) / half))
    turned = (x[:, :half] + 1j * x[:, half:]) * turn
    return np.concatenate([turned.real, turned.imag], -1)


BENDS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


class Plain:
    """The forwards of a model's parts, by the names of its parameters; one sequence (T, d) at a time."""
    def __init__(self, model, heads, groups=None, bend="relu", pre=True, eps=1e-5, rms=False, turn=None):
        self.p = {name: p.detach().numpy().copy() for name, p in model.state_dict().items()}
        self.heads, self.groups, self.bend = heads, groups or heads, BENDS.get(bend)
        self.pre, self.eps, self.rms, self.turn = pre, eps, rms, turn

    def linear(self, name, x): return x @ self.p[f"{name}.weight"].T + self.p.get(f"{name}.bias", 0)

    def norm(self, name, x):
        if not self.rms:
            x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x ** 2).mean(-1, keepdims=True) + self.eps)
        return x * self.p[f"{name}.weight"] + self.p.get(f"{name}.bias", 0)

    def attention(self, name, x, memory, mask=None, bias=None, weights=None):
        q, k, v = [self.linear(f"{name}.{n}_proj", y) for n, y in zip("qkv", (x, memory, memory))]
        d, outs = q.shape[-1] // self.heads, []
        for head in range(self.heads):
            group = head * self.groups // self.heads
            mine, shared = slice(head * d, head * d + d), slice(group * d, group * d + d)
            a, b = [y if self.turn is None else self.turn(y) for y in (q[:, mine], k[:, shared])]
            scores = a @ b.T / math.sqrt(d) + (0 if bias is None else bias[head])
            shares = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
            outs.append(shares @ v[:, shared])
            if weights is not None:
                weights.append(shares)
        return self.linear(f"{name}.out_proj", np.concatenate(outs, -1))

    def feed_forward(self, name, x):
        inner = self.linear(f"{name}.linear1", x)
        if f"{name}.gate.weight" in self.p:
            return self.linear(f"{name}.linear2", BENDS["silu"](self.linear(f"{name}.gate", x)) * inner)
        return self.linear(f"{name}.linear2", self.bend(inner))

    def block(self, name, x, mask=None, bias=None, memory=None, seen=None, weights=None):
        """A block; with `memory`, a decoder's, that looks at what is `seen` of it."""
        if memory is None:
            steps = [lambda x: self.attention(f"{name}attention", x, x, mask, bias)]
        else:
            steps = [lambda x: self.attention(f"{name}self_attention", x, x, mask, bias),
                     lambda x: self.attention(f"{name}cross_attention", x, memory, seen, None, weights)]
        for i, step in enumerate([*steps, lambda x: self.feed_forward(f"{name}feedforward", x)], 1):
            norm = f"{name}norm{i}"
            x = x + step(self.norm(norm, x)) if self.pre else self.norm(norm, x + step(x))
        return x

    def stack(self, name, x, last=None, **how):
        """All blocks below `name`, and for pre-norm the last norm."""
        layers = {key[len(name) + 7:].split(".")[0] for key in self.p if key.startswith(f"{name}blocks.")}
        for i in range(len(layers)):
            x = self.block(f"{name}blocks.{i}.", x, **how)
        return self.norm(f"{name}norm", x) if self.pre else x
