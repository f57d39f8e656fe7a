"""nn.MultiheadAttention beside the course's layer: PyTorch's masks, shapes and options over one function."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.attention import causal_mask

rng = np.random.default_rng(3)
N, T, S, E, H = 2, 4, 5, 6, 3


def drawn(*shape): return torch.tensor(rng.normal(size=shape))


def near(x, y, atol=1e-9):
    assert tuple(x.shape) == tuple(y.shape)
    np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), atol=atol)


def pair(**how):
    """PyTorch's layer, and the course's with the same weights."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(E, H, batch_first=True, dtype=np.float64, **how)
    theirs.in_proj_bias.data[...] = rng.normal(size=3 * E)
    ours = nn.MultiHeadAttention(E, H, dtype=np.float64)
    state = {f"{n}_proj.{kind}": x for kind in ("weight", "bias")
             for n, x in zip("qkv", getattr(theirs, f"in_proj_{kind}").detach().chunk(3))}
    ours.load_state_dict(state | {f"out_proj.{k}": x.detach() for k, x in theirs.out_proj.named_parameters()})
    return theirs, ours


def test_the_same_as_the_course_s():
    """Output, and the weights' mean over the heads or all of them"""
    theirs, ours = pair()
    x, memory = drawn(N, T, E), drawn(N, S, E)
    for args in (x, x, x), (x, memory, memory):
        out, weights = ours(*args)
        found = theirs(*args)
        near(found[0], out)
        near(found[1], weights.mean(1))
        near(theirs(*args, average_attn_weights=False)[1], weights)
        found = theirs(*args, need_weights=False)
        near(found[0], out)
        assert found[1] is None


def test_true_is_hidden_here():
    """Masks of bools are turned around, and all kinds are combined"""
    theirs, ours = pair()
    x = drawn(N, T, E)
    padding, later = torch.tensor([[False] * T, [False, False, True, True]]), ~causal_mask(T)
    both = causal_mask(T) & ~padding.reshape(N, 1, 1, T)
    want = ours(x, x, x, both)[0]
    near(theirs(x, x, x, attn_mask=later)[0], ours(x, causal_mask(T))[0])
    near(theirs(x, x, x, key_padding_mask=padding)[0], ours(x, ~padding.reshape(N, 1, 1, T))[0])

    def numbers(m): return torch.tensor(np.where(m.numpy(), -np.inf, 0.))
    for p in padding, numbers(padding):
        for m in later, numbers(later), later.expand(N * H, T, T):
            near(theirs(x, x, x, key_padding_mask=p, attn_mask=m)[0], want)
    how = dict(key_padding_mask=padding, attn_mask=later, is_causal=True, need_weights=False)
    near(theirs(x, x, x, **how)[0], want)


def test_a_mask_for_each_head():
    """(N H, T, S): sentence by sentence, head by head"""
    theirs, _ = pair()
    x, hidden = drawn(N, T, E), np.zeros((N * H, T, T), bool)
    hidden[1 * H + 2, :, 0] = True
    weights = theirs(x, x, x, attn_mask=torch.tensor(hidden), average_attn_weights=False)[1]
    zero = (weights.detach().numpy() == 0).all(2)                        # (N, H, S)
    assert np.argwhere(zero).tolist() == [[1, 2, 0]]


def test_who_sees_nothing():
    """Weights 0, and the output is out_proj's bias"""
    theirs, _ = pair()
    x = drawn(N, T, E)
    for need in True, False:
        hidden = torch.tensor([[True] * T, [False] * T])
        out, weights = theirs(x, x, x, key_padding_mask=hidden, need_weights=need)
        near(out[0], theirs.out_proj.bias.expand(T, E))
        assert np.isfinite(out.detach().numpy()).all()
    out.sum().backward()
    assert np.isfinite(theirs.in_proj_weight.grad.numpy()).all()


def test_time_first_and_no_batch():
    """(T, N, E) unless batch_first, and (T, E) with weights (T, S)"""
    theirs, _ = pair()
    x, memory = drawn(N, T, E), drawn(N, S, E)
    out, weights = theirs(x, memory, memory)
    alone, shares = theirs(x[1], memory[1], memory[1], key_padding_mask=torch.tensor([False] * S))
    near(alone, out[1])
    near(shares, weights[1])
    assert theirs(x[1], x[1], x[1], average_attn_weights=False)[1].shape == (H, T, T)
    first = nn.MultiheadAttention(E, H, dtype=np.float64)
    first.load_state_dict(theirs.state_dict())
    turned = first(x.transpose(0, 1), memory.transpose(0, 1), memory.transpose(0, 1))
    near(turned[0].transpose(0, 1), out)
    near(turned[1], weights)


def test_other_keys():
    """kdim and vdim have three weights; their names and shapes"""
    layer = nn.MultiheadAttention(E, H, kdim=3, vdim=4, bias=False)
    assert {n: p.shape for n, p in layer.named_parameters()} == {
        "q_proj_weight": (E, E), "k_proj_weight": (E, 3), "v_proj_weight": (E, 4), "out_proj.weight": (E, E)}
    out, weights = layer(torch.randn(T, N, E), torch.randn(S, N, 3), torch.randn(S, N, 4))
    assert out.shape == (T, N, E) and weights.shape == (N, T, S)


def test_a_learned_key_and_one_of_zeros():
    """Two keys more, at the end, which no mask hides"""
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(E, H, add_bias_kv=True, add_zero_attn=True, batch_first=True)
    x = torch.randn(N, T, E)
    for mask in ~causal_mask(T), torch.zeros(T, T).masked_fill(~causal_mask(T), -np.inf):
        weights = layer(x, x, x, attn_mask=mask, key_padding_mask=torch.tensor([[True] * T] * N))[1]
        assert weights.shape == (N, T, T + 2)
        assert (weights[..., :T] == 0).all() and (weights[..., T:] > 0).all()
    layer(x, x, x)[0].sum().backward()
    assert (layer.bias_v.grad != 0).any()


def test_dropout_only_in_training():
    layer, x = nn.MultiheadAttention(E, H, dropout=0.5, batch_first=True), torch.randn(N, T, E)
    calm = layer.eval()(x, x, x)[0]
    near(layer(x, x, x)[0], calm)
    assert (layer.train()(x, x, x)[0] - calm).abs().max().item() > 1e-3


def test_start():
    """Xavier's limits, over the three weights as one; biases 0"""
    layer = nn.MultiheadAttention(60, 3)
    weight = layer.in_proj_weight.detach()
    limit = (6 / (60 + 180)) ** 0.5
    assert 0.97 * limit < weight.abs().max().item() <= limit
    assert (layer.in_proj_bias == 0).all() and (layer.out_proj.bias == 0).all()


def test_in_a_transformer_s_way():
    """The calls of lessons written for PyTorch"""
    layer = nn.MultiheadAttention(embed_dim=E, num_heads=H, dropout=0.1, batch_first=True).eval()
    x, memory = torch.randn(N, T, E), torch.randn(N, S, E)
    later = torch.triu(torch.ones(T, T), diagonal=1)
    later = later.masked_fill(later == 1, float("-inf"))
    out, _ = layer(query=x, key=x, value=x, key_padding_mask=None)
    assert out.shape == (N, T, E)
    assert layer(x, x, x, attn_mask=later, key_padding_mask=torch.zeros(N, T).bool())[0].shape == (N, T, E)
    assert layer(x, memory, memory, key_padding_mask=torch.zeros(N, S).bool())[1].shape == (N, T, S)


@pytest.mark.parametrize("args", [(6, 4), (0, 1), (6, 0), (6, -1)], ids=str)
def test_refused(args):
    with pytest.raises(ValueError, match="multiple"):
        nn.MultiheadAttention(*args)


@pytest.mark.parametrize("shapes, kwargs, says", [
    ([(T, N, 5)] * 3, {}, "embed_dim"), ([(T, N, E), (S, N, E), (4, N, E)], {}, "as many values"),
    ([(T, N, E), (S, 3, E), (S, 3, E)], {}, "one batch"), ([(T, N, E), (S, E), (S, E)], {}, "3 dimensions"),
    ([(E,)] * 3, {}, "3 dimensions"),
    ([(T, N, E)] * 3, dict(attn_mask=torch.zeros(3, 3).bool()), "attn_mask has the shape"),
    ([(T, N, E)] * 3, dict(key_padding_mask=torch.zeros(T, N).bool()), "key_padding_mask has the shape"),
    ([(T, N, E)] * 3, dict(attn_mask=torch.zeros(T, T).long()), "int64"),
    ([(T, N, E)] * 3, dict(is_causal=True), "attn_mask")])
def test_refused_calls(shapes, kwargs, says):
    """Shapes are named"""
    with pytest.raises(RuntimeError, match=says):
        nn.MultiheadAttention(E, H)(*[torch.randn(*s) for s in shapes], **kwargs)
