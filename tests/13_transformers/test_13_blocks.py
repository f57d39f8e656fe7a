"""Feed-forward networks, residuals, blocks and stacks: against plain NumPy, and by what must not change."""
from functools import partial

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.core.checks import check_gradient
from tinytorch.models import (
    FeedForward,
    SwiGLU,
    TransformerBlock,
    TransformerDecoder,
    TransformerDecoderBlock,
    TransformerEncoder,
    create_causal_mask,
    residual,
)
from tinytorch.nn.position_layers import RotaryEmbedding

from .support import Cache, Plain, check_gradients, drawn, near, rng, rotated, stirred

B, T, S, D, H, F = 2, 5, 4, 8, 2, 12
LATER = np.tril(np.ones((T, T), bool))


def each(f, *xs): return np.stack([f(*[x[i].numpy() for x in xs]) for i in range(len(xs[0]))])


@pytest.fixture(autouse=True)
def same_numbers(): torch.manual_seed(0)


# ---- one place alone ----

@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_feed_forward_is_its_formula(activation):
    """W2 f(W1 x + b1) + b2"""
    layer, x = stirred(FeedForward(D, F, activation=activation)), drawn(B, T, D)
    plain = Plain(layer, H, bend=activation)
    plain.p = {f"net.{name}": p for name, p in plain.p.items()}
    near(layer(x), plain.feed_forward("net", x.numpy()))
    assert layer.linear1.weight.shape == (F, D) and layer.linear2.weight.shape == (D, F)


def test_feed_forward_bends_by_relu_unless_told():
    x = drawn(3, D)
    torch.manual_seed(0)
    plain = FeedForward(D, F, 0.0).double()
    torch.manual_seed(0)
    near(FeedForward(D, F, 0.0, "relu").double()(x), plain(x))


def test_swiglu_is_its_formula():
    """W2 (silu(G x) · W1 x)"""
    layer, x = stirred(SwiGLU(D, F, bias=False)), drawn(B, T, D)
    gate, w1, w2 = [m.weight.detach().numpy() for m in (layer.gate, layer.linear1, layer.linear2)]
    door = x.numpy() @ gate.T
    near(layer(x), (door / (1 + np.exp(-door)) * (x.numpy() @ w1.T)) @ w2.T)
    assert len(list(layer.parameters())) == 3 and len(list(SwiGLU(D, F).parameters())) == 6


@pytest.mark.parametrize("make", [FeedForward, SwiGLU])
def test_each_place_alone(make):
    """One place moved: no other does; without a bias there is none"""
    layer, x = make(D, F).eval(), torch.randn(B, T, D)
    other = x.clone()
    other[0, 2] = 5.
    moved = (layer(x) != layer(other)).any(-1)
    assert moved.tolist() == [[False, False, True, False, False], [False] * 5]
    assert not [n for n, _ in make(D, F, bias=False).named_parameters() if "bias" in n]


@pytest.mark.parametrize("make", [FeedForward, SwiGLU])
def test_dropout_is_behind_the_bend(make):
    """All dropped: what is left is the last bias"""
    layer, x = make(D, F, dropout=1.0), torch.randn(T, D)
    layer.linear2.bias.data[...] = rng.normal(size=D)
    near(layer(x), layer.linear2.bias.expand(T, D))
    assert abs(layer.eval()(x) - layer.linear2.bias).max().item() > 1e-3
    assert make(D, F).dropout.p == 0.1


# ---- residual ----

def test_residual_by_hand():
    """Four functions that do not commute: 3 + 10 (2 · 3 + 1) = 73, (3 + 10 (3 + 1)) · 2 = 86"""
    def grown(x): return x + 1
    def doubled(x): return 2 * x
    def tenfold(x): return 10 * x
    x = torch.tensor([3.])
    assert residual(x, grown, doubled, tenfold).tolist() == [73.]
    assert residual(x, grown, doubled, tenfold, pre=True).tolist() == [73.]
    assert residual(x, grown, doubled, tenfold, pre=False).tolist() == [86.]
    assert x.tolist() == [3.]


# ---- the block ----

BLOCKS = {
    "default": dict(), "post": dict(norm="post"), "eps": dict(eps=.2), "no bias": dict(bias=False),
    "gelu": dict(activation="gelu"), "gelu_tanh": dict(activation="gelu_tanh", norm="post"),
    "llama": dict(activation="swiglu", norm_layer=nn.RMSNorm, num_kv_heads=1, bias=False,
                  rotary=RotaryEmbedding(4)),
    "wide heads": dict(head_dim=6, num_kv_heads=2),
}


def plain_of(model, how):
    return Plain(model, H, how.get("num_kv_heads"), how.get("activation", "relu"), how.get("norm") != "post",
                 how.get("eps", 1e-5), how.get("norm_layer") is nn.RMSNorm,
                 rotated if "rotary" in how else None)


@pytest.mark.parametrize("how", BLOCKS.values(), ids=BLOCKS)
def test_a_block_is_its_formula(how):
    """x + Attention(LN(x)), then x + FFN(LN(x)); LN(x + ...) for post; with and without a mask and a bias"""
    block, x = stirred(TransformerBlock(D, H, F, **how)), drawn(B, T, D)
    plain, bias = plain_of(block, how), drawn(H, T, T)
    near(block(x), each(lambda x: plain.block("", x), x))
    near(block(x, create_causal_mask(T)), each(lambda x: plain.block("", x, LATER), x))
    near(block(x, create_causal_mask(T), bias=bias),
         each(lambda x: plain.block("", x, LATER, bias.numpy()), x))


def test_its_size_is_12_d_squared_and_13_d():
    """With d_ff = 4 d: 7,087,872 for d = 768"""
    assert sum(p.numel() for p in TransformerBlock(D, H, 4 * D).parameters()) == 12 * D**2 + 13 * D
    assert 12 * 768**2 + 13 * 768 == 7_087_872


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_order_means_nothing_without_mask_and_places(norm):
    """The same places in another order give the same vectors in that order"""
    block, x, order = TransformerBlock(D, H, F, norm=norm).double().eval(), drawn(B, T, D), [3, 0, 4, 1, 2]
    near(block(x[:, order]), block(x)[:, order])
    assert abs(block(x[:, order], create_causal_mask(T)) - block(x, create_causal_mask(T))[:, order]
               ).max().item() > 1e-3


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_future_moves_nothing(norm):
    """To the last bit; without the mask everything moves"""
    block, x = TransformerBlock(D, H, F, norm=norm).eval(), torch.randn(B, T, D)
    other = x.clone()
    other[:, 3:] = torch.randn(B, 2, D)
    same = (block(x, create_causal_mask(T)) == block(other, create_causal_mask(T))).all(-1)
    assert same.tolist() == [[True, True, True, False, False]] * B
    assert not (block(x) == block(other)).all(-1).any()


def test_dropout_of_a_block():
    """Of what each sub-layer gives: all dropped, pre leaves x itself, post its two norms"""
    x = drawn(B, T, D)
    assert (TransformerBlock(D, H, F, dropout=1.0).double()(x) == x).all()
    block = stirred(TransformerBlock(D, H, F, dropout=1.0, norm="post"))
    calm = block(x)
    near(block.train()(x), block.norm2(block.norm1(x)))
    assert abs(calm - block.eval()(x)).max().item() == 0
    block = TransformerBlock(D, H, F)
    assert {block.attention.dropout, block.dropout1.p, block.dropout2.p, block.feedforward.dropout.p} == {.1}
    block = stirred(block)                                   # each sub-layer's is its own
    attended = x + block.attention(block.norm1(x))[0]
    for part, want in ((block.dropout1, x + block.feedforward(block.norm2(x))), (block.dropout2, attended)):
        block.eval()
        part.p, part.training = 1.0, True
        near(block(x), want)


@pytest.mark.parametrize("how", [dict(), dict(norm="post", activation="gelu"), BLOCKS["llama"]], ids=str)
def test_gradients_of_a_block(how):
    """Of x, by the judge of module 05; of all its parameters, along a random direction"""
    block, g = stirred(TransformerBlock(D, H, F, **how)), drawn(B, T, D)
    x = rng.normal(size=(B, T, D))
    check_gradient(lambda x: block(x, create_causal_mask(T)), x)
    check_gradients(block, lambda: (block(torch.tensor(x), create_causal_mask(T)) * g).sum())


# ---- stacks ----

def test_create_causal_mask():
    assert create_causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]


@pytest.mark.parametrize("how", [dict(), dict(norm="post"), dict(norm_layer=nn.RMSNorm, eps=.3)], ids=str)
def test_an_encoder_is_its_blocks(how):
    """And a last norm behind pre-norm ones; mask and bias are those of each block"""
    model, x, bias = stirred(TransformerEncoder(3, D, H, F, **how)), drawn(B, T, D), drawn(H, T, T)
    plain = plain_of(model, how)
    near(model(x), each(lambda x: plain.stack("", x), x))
    near(model(x, create_causal_mask(T), bias),
         each(lambda x: plain.stack("", x, mask=LATER, bias=bias.numpy()), x))
    assert len(model.blocks) == 3


def test_layers_have_their_own_parameters():
    """No block is shared: 3 (12 d² + 13 d) and the last norm's 2 d"""
    size = 12 * D**2 + 13 * D
    for norm, last in ("pre", 2 * D), ("post", 0):
        model = TransformerEncoder(3, D, H, 4 * D, norm=norm)
        assert sum(p.numel() for p in model.parameters()) == 3 * size + last
    for name, p in TransformerEncoder(2, D, H, F).named_parameters():
        if "proj.weight" in name:
            assert p.std().item() > .1, name                    # Linear's own start, not zeros


# ---- the decoder ----

@pytest.mark.parametrize("how", [dict(), dict(norm="post"), dict(activation="swiglu", bias=False, eps=.2),
                                 dict(norm_layer=nn.RMSNorm, activation="silu")], ids=str)
def test_a_decoder_block_is_its_formula(how):
    """Itself, then memory, then alone; and the weights of the second"""
    block, x, memory = stirred(TransformerDecoderBlock(D, H, F, **how)), drawn(B, T, D), drawn(B, S, D)
    plain, seen = plain_of(block, how), rng.random((B, 1, 1, S)) > .4
    seen[..., 0] = True
    for mask in None, seen:
        out, weights = block(x, memory, memory_mask=None if mask is None else torch.tensor(mask))
        for i in range(B):
            shares = []
            near(out[i], plain.block("", x[i].numpy(), LATER, None, memory[i].numpy(),
                                     None if mask is None else mask[i, 0], shares))
            near(weights[i], shares)
    assert (weights.detach().numpy()[~np.broadcast_to(seen, weights.shape)] == 0).all()
    near(weights.sum(-1), np.ones((B, H, T)))


def test_what_a_decoder_block_may_be_told():
    """Another mask, a bias of its own places, and that nobody wants the weights"""
    block, x, memory = stirred(TransformerDecoderBlock(D, H, F)), drawn(B, T, D), drawn(B, S, D)
    plain, bias = Plain(block, H), drawn(H, T, T)
    full = np.ones((T, T), bool)
    near(block(x, memory, torch.tensor(full))[0],
         each(lambda x, m: plain.block("", x, full, None, m), x, memory))
    near(block(x, memory, bias=bias)[0],
         each(lambda x, m: plain.block("", x, LATER, bias.numpy(), m), x, memory))
    out, weights = block(x, memory, need_weights=False)
    assert weights is None
    near(out, block(x, memory)[0])


def test_what_is_hidden_moves_nothing():
    """The future of x, and the places of memory that are masked: to the last bit"""
    block, x, memory = TransformerDecoderBlock(D, H, F).eval(), torch.randn(B, T, D), torch.randn(B, S, D)
    seen = torch.tensor([[True, True, False, True], [True, False, False, False]]).reshape(B, 1, 1, S)
    want = block(x, memory, memory_mask=seen)[0]
    other = memory.clone()
    other[0, 2], other[1, 1:] = 9., -9.
    assert (block(x, other, memory_mask=seen)[0] == want).all()
    assert (block(x, other)[0] != block(x, memory)[0]).any(-1).all()
    late = x.clone()
    late[:, 3:] = 7.
    same = (block(late, memory, memory_mask=seen)[0] == want).all(-1)
    assert same.tolist() == [[True, True, True, False, False]] * B


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_dropout_of_a_decoder_block(norm):
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    block = TransformerDecoderBlock(D, H, F, 1.0, norm=norm)
    want = x if norm == "pre" else block.norm3(block.norm2(block.norm1(x)))
    near(block(x, memory)[0], want)
    small = TransformerDecoderBlock(D, H, F)
    assert {small.dropout1.p, small.dropout2.p, small.dropout3.p, small.cross_attention.dropout,
            small.self_attention.dropout, small.feedforward.dropout.p} == {.1}


def test_a_decoder_block_with_a_cache():
    """A place at a time: the same vectors and weights; memory is projected once"""
    block, x, memory = stirred(TransformerDecoderBlock(D, H, F)), drawn(B, T, D), drawn(B, S, D)
    out, weights = block(x, memory)
    cache = Cache()
    for t in range(T):
        step, shares = block(x[:, t:t + 1], memory * (t == 0), cache=cache, layer=3)
        near(step[:, 0], out[:, t])
        near(shares[:, :, 0], weights[:, :, t])
    assert cache.length(3) == T and list(cache.other) == [3]
    near(block(x[:, 2:], memory, cache=(cache := Cache()), layer=3)[0], block(x[:, 2:], memory)[0])
    block(x, memory, cache=cache, layer=0)
    near(block(x[:, :2], memory, cache=cache, layer=0)[0],              # two more places at once
         block(torch.cat([x, x[:, :2]], 1), memory)[0][:, T:])


@pytest.mark.parametrize("how", [dict(), dict(norm="post"), dict(eps=.3, activation="gelu")], ids=str)
def test_a_decoder_is_its_blocks(how):
    model, x, memory = stirred(TransformerDecoder(2, D, H, F, **how)), drawn(B, T, D), drawn(B, S, D)
    plain, seen, bias = plain_of(model, how), torch.tensor([True, False, True, True]), drawn(H, T, T)
    near(model(x, memory, None, seen, bias=bias),
         each(lambda x, m: plain.stack("", x, mask=LATER, bias=bias.numpy(), memory=m, seen=seen.numpy()), x,
              memory))
    cache = Cache()
    steps = [model(x[:, t:t + 1], memory, memory_mask=seen, cache=cache) for t in range(T)]
    near(torch.cat(steps, 1), model(x, memory, memory_mask=seen))
    assert sorted(cache.held) == sorted(cache.other) == [0, 1]


def test_gradients_of_a_decoder():
    """Of x and memory, and of all parameters"""
    model, x, memory = stirred(TransformerDecoder(2, D, H, F)), rng.normal(size=(B, T, D)), drawn(B, S, D)
    check_gradient(lambda x, memory: model(x, memory), x, memory)
    g = drawn(B, T, D)
    check_gradients(model, lambda: (model(torch.tensor(x), memory) * g).sum())


def test_nobody_asks_for_weights_that_nobody_reads():
    """With them attention takes its slow path; only a decoder block is asked for those of memory"""
    asked = []

    class Watched(nn.MultiHeadAttention):
        def forward(self, *args, need_weights=True, **how):
            asked.append(need_weights)
            return super().forward(*args, need_weights=need_weights, **how)

    block, decoder = TransformerBlock(D, H, F), TransformerDecoder(1, D, H, F)
    block.attention = Watched(D, H)
    decoder.blocks[0].self_attention, decoder.blocks[0].cross_attention = Watched(D, H), Watched(D, H)
    x = torch.randn(B, T, D)
    block(x), decoder(x, x)
    assert asked == [False] * 3
    decoder.blocks[0](x, x)
    assert asked[3:] == [False, True]


# ---- errors ----

@pytest.mark.parametrize("make", [TransformerBlock, TransformerDecoderBlock, partial(TransformerEncoder, 1),
                                  partial(TransformerDecoder, 1)])
@pytest.mark.parametrize("how, says", [
    (dict(norm="mid"), "'mid'.*'pre'.*'post'"), (dict(norm=True), "True"),
    (dict(activation="mish"), "'mish'.*relu, gelu, gelu_tanh, silu, swiglu"),
    (dict(num_heads=3), "multiple"), (dict(dropout=2), "between 0 and 1")], ids=str)
def test_refused(make, how, says):
    with pytest.raises(ValueError, match=says):
        make(**dict(d_model=D, num_heads=H, d_ff=F) | how)


def test_refused_calls():
    """The shapes stand in the message"""
    block, decoder = TransformerBlock(D, H, F), TransformerDecoderBlock(D, H, F)
    for call, says in [
            (lambda: block(torch.randn(T, D)), r"\(5, 8\).*unsqueeze"),
            (lambda: block(torch.randn(B, T, 7)), r"got \(2, 5, 7\)"),
            (lambda: block(torch.randn(B, T, D), create_causal_mask(4)), r"\(4, 4\)"),
            (lambda: decoder(torch.randn(B, T, D), torch.randn(B, S, 7)), r"\(2, 4, 7\)"),
            (lambda: decoder(torch.randn(B, T, D), torch.randn(3, S, D)), "do not fit"),
            (lambda: FeedForward(D, F)(torch.randn(T, 7)), r"\(5, 7\)")]:
        with pytest.raises(RuntimeError, match=says):
            call()
