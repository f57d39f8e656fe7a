"""MultiHeadAttention: masks, cross-attention, grouped queries, rotary, biases, and the cache's protocol."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.core.backend import manual_seed
from tinytorch.nn.attention import causal_mask, join_heads, split_heads

rng = np.random.default_rng(7)
T = 5


def drawn(*shape, dtype="float64"): return torch.tensor(rng.normal(size=shape).astype(dtype))


def near(x, y, atol=1e-9):
    assert tuple(x.shape) == tuple(y.shape)
    np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), atol=atol)


def layer_of(**how):
    manual_seed(0)
    return nn.MultiHeadAttention(8, 4, dtype=np.float64, **how)


class Cache:
    """A cache in a few lines, for the protocol."""
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


def turn(x, offset):
    """A rotary embedding of one angle: each pair is turned by its place."""
    places = np.arange(offset, offset + x.shape[-2])[:, None]
    cos, sin = torch.tensor(np.cos(places)), torch.tensor(np.sin(places))
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


# ---- heads ----

@pytest.mark.parametrize("b, t, h, d", [(2, 3, 4, 5), (1, 1, 1, 1), (0, 3, 2, 4), (2, 0, 2, 4)])
def test_heads_there_and_back(b, t, h, d):
    """Each head has its part of every place"""
    x = drawn(b, t, h * d)
    parts = split_heads(x, h)
    assert parts.shape == (b, h, t, d)
    for i in range(h):
        near(parts[:, i], x[:, :, i * d:(i + 1) * d])
    near(join_heads(parts), x)


# ---- what it computes ----

def test_each_head_is_attention_on_its_part():
    """And out_proj mixes what they found"""
    layer, x = layer_of(), drawn(2, T, 8)
    out, weights = layer(x)
    q, k, v = [p(x) for p in (layer.q_proj, layer.k_proj, layer.v_proj)]
    found = []
    for i in range(4):
        part = slice(2 * i, 2 * i + 2)
        shares = torch.softmax(q[..., part] @ k[..., part].transpose(1, 2) / 2 ** 0.5, -1)
        near(weights[:, i], shares)
        found.append(shares @ v[..., part])
    near(out, layer.out_proj(torch.cat(found, -1)))


def test_ways_to_call_it():
    """layer(x), layer(x, x, x), layer(x, mask), layer(x, x, x, mask), masks of three kinds and shapes"""
    layer, x, mask = layer_of(), drawn(2, T, 8), causal_mask(T)
    near(layer(x)[0], layer(x, x, x)[0])
    near(layer(x, None)[0], layer(x)[0])
    want = layer(x, x, x, mask)[0]
    added = torch.tensor(np.where(mask.numpy(), 0., -np.inf))
    for m in (mask, mask.long(), added, mask.expand(2, T, T), mask.reshape(1, 1, T, T),
              mask.expand(2, 4, T, T)):
        near(layer(x, m)[0], want)
        near(layer(x, mask=m)[0], want)
    with pytest.raises(ValueError, match="no value"):
        layer(x, x, mask=mask)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_ones_and_zeros(dtype):
    """tril(ones(T, T)) of whatever float says what causal_mask says, also alone of ones, or as padding"""
    layer, x, mask = layer_of(), drawn(2, T, 8), causal_mask(T)
    ones = torch.ones(T, T, dtype=dtype)
    near(layer(x, x, x, torch.tril(ones))[0], layer(x, x, x, mask)[0])
    near(layer(x, torch.tril(ones).expand(2, T, T))[0], layer(x, mask)[0])
    words = torch.tensor([[1.] * T, [1., 1., 0., 0., 0.]], dtype=dtype).reshape(2, 1, 1, T)
    near(layer(x, x, x, words)[0], layer(x, x, x, words.bool())[0])


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_a_mask_of_float32(dtype):
    """Is added to scores of any dtype, and what comes out is of theirs; another float is refused"""
    x, mask = drawn(2, T, 4, dtype=dtype), torch.tensor(np.where(causal_mask(T).numpy(), 0.5, -np.inf))
    out = nn.functional.scaled_dot_product_attention(x, x, x, mask.float())
    assert out.dtype == dtype
    near(out, nn.functional.scaled_dot_product_attention(x, x, x, mask.to(dtype)))
    with pytest.raises(RuntimeError, match="mask"):
        nn.functional.scaled_dot_product_attention(x.float(), x.float(), x.float(), mask.to(dtype))


def test_floats_that_are_added():
    """All 0, all 1, 0 and another number, a mask that requires a gradient, and a bias"""
    layer, x, half = layer_of(), drawn(2, T, 8), torch.tril(torch.ones(T, T, dtype="float64"))
    scores = layer(x)[1].log()                                       # up to a number for each query
    for m in half * 0, half * 0 + 1, half * 0.5, half - 1, half * 2:
        near(layer(x, m)[1], torch.softmax(scores + m, -1))
        assert (layer(x, m)[1] > 0).all()
    learned = half.clone().requires_grad_()
    out, weights = layer(x, learned)
    near(weights, torch.softmax(scores + half, -1))
    out.sum().backward()
    assert (learned.grad != 0).any()
    near(layer(x, bias=half)[1], torch.softmax(scores + half, -1))


def test_cross_attention():
    """Keys and values of another sequence, with its padding"""
    layer, x, memory = layer_of(), drawn(2, 3, 8), drawn(2, T, 8)
    seen = torch.tensor([[True] * T, [True, True, True, False, False]])
    out, weights = layer(x, memory, memory, seen.reshape(2, 1, 1, T))
    assert out.shape == (2, 3, 8) and weights.shape == (2, 4, 3, T)
    near(out[1:], layer(x[1:], memory[1:, :3], memory[1:, :3])[0])


def test_gradients_reach_all_parameters():
    """And are the same with and without the weights"""
    found = []
    for need in True, False:
        layer = layer_of(num_kv_heads=2)
        x = torch.tensor(np.ones((2, T, 8)) * np.arange(8), requires_grad=True)
        (layer(x * x, need_weights=need)[0] ** 2).sum().backward()
        found.append([x.grad, *[p.grad for p in layer.parameters()]])
        assert len(found[-1]) == 9
    for a, b in zip(*found):
        near(a, b)


def test_sizes_of_their_own():
    """head_dim, fewer heads of keys, no bias"""
    layer = layer_of(head_dim=3, num_kv_heads=2, bias=False)
    assert {n: p.shape for n, p in layer.named_parameters()} == {
        "q_proj.weight": (12, 8), "k_proj.weight": (6, 8), "v_proj.weight": (6, 8),
        "out_proj.weight": (8, 12)}
    out, weights = layer(drawn(2, T, 8))
    assert out.shape == (2, T, 8) and weights.shape == (2, 4, T, T)
    assert layer(drawn(0, T, 8))[0].shape == (0, T, 8) and layer(drawn(2, 0, 8))[0].shape == (2, 0, 8)


def test_grouped_is_repeated():
    """Two heads of keys, each repeated for two heads of queries, are four heads of keys"""
    few, many, x = layer_of(num_kv_heads=2), layer_of(), drawn(2, T, 8)
    state = few.state_dict()
    for name in "k_proj", "v_proj":
        for kind in "weight", "bias":
            w = state[f"{name}.{kind}"]
            state[f"{name}.{kind}"] = w.reshape(2, 2, -1).repeat_interleave(2, 0).reshape(8, *w.shape[1:])
    many.load_state_dict(state)
    near(few(x, causal_mask(T))[0], many(x, causal_mask(T))[0])


def test_fewer_heads_later():
    """num_heads is asked at each call, as whoever prunes heads needs it"""
    layer, x = layer_of(), drawn(2, T, 8)
    layer.q_proj, layer.k_proj, layer.v_proj = [nn.Linear(8, 4, dtype=np.float64) for _ in range(3)]
    layer.out_proj = nn.Linear(4, 8, dtype=np.float64)
    layer.num_heads = layer.num_kv_heads = 2
    assert layer(x)[1].shape == (2, 2, T, T)


def test_dropout_only_in_training():
    layer, x = layer_of(dropout=0.5), drawn(2, T, 8)
    near(layer.eval()(x)[0], layer_of()(x)[0])
    assert abs(layer.train()(x)[0].detach().numpy() - layer.eval()(x)[0].detach().numpy()).max() > 1e-3


def test_bias_is_added():
    """To the scores, with a mask of bools or of floats, and it learns"""
    layer, x, mask = layer_of(), drawn(2, T, 8), causal_mask(T)
    bias = torch.tensor(rng.normal(size=(4, T, T)), requires_grad=True)
    added = torch.tensor(np.where(mask.numpy(), 0., -np.inf))
    want = layer(x, x, x, (bias.detach() + added).unsqueeze(0))[0]
    near(layer(x, mask, bias=bias)[0], want)
    near(layer(x, added, bias=bias)[0], want)
    near(layer(x, bias=bias)[0], layer(x, x, x, bias.detach().unsqueeze(0))[0])
    layer(x, mask, bias=bias)[0].sum().backward()
    assert (bias.grad.numpy()[:, ~mask.numpy()] == 0).all() and (bias.grad[:, 4] != 0).all()


# ---- places and the cache ----

def test_rotary_is_relative():
    """Moved by ten places nothing changes; the order of the words does"""
    layer, x = layer_of(rotary=turn), drawn(1, T, 8)
    moved = layer_of(rotary=lambda y, offset: turn(y, offset + 10))
    near(layer(x)[0], moved(x)[0])
    back = torch.tensor(x.numpy()[:, ::-1].copy())
    assert abs(layer(back)[0].numpy(force=True)[:, ::-1] - layer(x)[0].numpy(force=True)).max() > 1e-3


@pytest.mark.parametrize("steps", [(1, 1, 1, 1, 1), (3, 1, 1), (2, 3)])
@pytest.mark.parametrize("how", [{}, dict(num_kv_heads=2, head_dim=4), dict(rotary=turn)], ids=str)
def test_with_a_cache_step_by_step(how, steps):
    """Some words at a time, with the keys of the earlier ones, give what all at once do; layer by layer"""
    layer, other, x, cache = layer_of(**how), layer_of(**how), drawn(2, T, 8), Cache()
    whole = layer(x, causal_mask(T))[0]
    parts, start = [], 0
    for n in steps:
        some, mask = x[:, start:start + n], causal_mask(n, offset=start)
        assert cache.length(0) == cache.length(1) == start
        parts.append(layer(some, mask, cache=cache)[0])
        near(other(some, mask, cache=cache, layer=1)[0], parts[-1])
        start += n
    near(torch.cat(parts, 1), whole)


def test_cross_is_computed_once():
    """The memory's keys and values are those of the first call, and have no places"""
    layer, memory, cache = layer_of(rotary=turn), drawn(2, T, 8), Cache()
    x = drawn(2, 1, 8)
    want = layer(x, memory, memory)[0]
    near(layer(x, memory, memory, cache=cache)[0], want)
    near(layer(x, memory * 0, memory * 0, cache=cache)[0], want)
    assert cache.length(0) == 0


def test_reorder():
    """A beam goes on from another row"""
    layer, x, cache = layer_of(), drawn(2, 3, 8), Cache()
    layer(x[:, :2], causal_mask(2), cache=cache)
    cache.reorder(torch.tensor([1, 1]))
    got = layer(x[:, 2:], cache=cache)[0]
    mixed = torch.cat([x[[1, 1], :2], x[:, 2:]], 1)
    near(got, layer(mixed, causal_mask(3))[0][:, 2:])


# ---- the rest ----

@pytest.mark.parametrize("how", [dict(d_model=8, num_heads=3), dict(d_model=8, num_heads=0),
                                 dict(d_model=8, num_heads=4, num_kv_heads=3),
                                 dict(d_model=8, num_heads=4, num_kv_heads=0)], ids=str)
def test_refused(how):
    with pytest.raises(ValueError, match="multiple"):
        nn.MultiHeadAttention(**how)


def test_refused_shapes():
    layer, x = layer_of(), drawn(2, T, 8)
    with pytest.raises(RuntimeError, match=r"\(5, 8\).*unsqueeze"):
        layer(x[0])
    with pytest.raises(RuntimeError, match="linear"):
        layer(drawn(2, T, 7))
    with pytest.raises(RuntimeError, match="do not fit"):
        layer(x, causal_mask(4))


def test_state_and_repr():
    """Names, and what is printed"""
    layer = layer_of(dropout=0.1)
    assert list(layer.state_dict()) == [
        f"{n}_proj.{k}" for n in ("q", "k", "v", "out") for k in ("weight", "bias")]
    assert "num_heads=4, head_dim=2, dropout=0.1" in repr(layer)
    other = nn.MultiHeadAttention(8, 4, dtype=np.float64)
    other.load_state_dict(layer.state_dict())
    x = drawn(2, T, 8)
    near(other(x)[0], layer.eval()(x)[0])
