"""PyTorch's names: layer_norm and rms_norm as functions, and nn.Transformer with its parts."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn import functional as F

from .support import Plain, drawn, near, rng, stirred

LAYERS = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
CAUSAL = np.tril(np.ones((5, 5), bool))


class Same(Plain):
    """The formulas with PyTorch's names: one matrix for q, k and v, no names for the sub-layers."""
    def __init__(self, model, **how):
        super().__init__(model, heads=2, **how)
        for name in [name for name in self.p if "in_proj" in name]:
            for part, x in zip("qkv", np.split(self.p[name], 3)):
                self.p[name.replace("in_proj_", f"{part}_proj.")] = x

    def layer(self, name, x, memory=None, mask=None, seen=None):
        """One layer of an encoder, or with a memory of a decoder."""
        steps = [lambda x: self.attention(f"{name}self_attn", x, x, mask)]
        if memory is not None:
            steps.append(lambda x: self.attention(f"{name}multihead_attn", x, memory, seen))
        steps.append(lambda x: self.linear(f"{name}linear2", self.bend(self.linear(f"{name}linear1", x))))
        for i, step in enumerate(steps, 1):
            norm = f"{name}norm{i}"
            x = x + step(self.norm(norm, x)) if self.pre else self.norm(norm, x + step(x))
        return x

    def layers(self, name, n, x, *more):
        for i in range(n):
            x = self.layer(f"{name}layers.{i}.", x, *more)
        return self.norm(f"{name}norm", x) if f"{name}norm.weight" in self.p else x


@pytest.fixture(autouse=True)
def same_numbers(): torch.manual_seed(0)


# ---- functions ----

def test_functions_by_hand():
    """Over the last size, or over both as if they were one; then the weight, then the bias"""
    x = torch.tensor([[1., 2.], [3., 4.]])
    near(F.layer_norm(x, (2,), eps=0), [[-1, 1], [-1, 1]])
    near(F.layer_norm(x, [2, 2], eps=0), np.array([[-3, -1], [1, 3]]) / np.sqrt(5), 1e-6)
    near(F.rms_norm(x, (2, 2)), x.numpy() / np.sqrt(7.5), 1e-6)
    w, b = torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([[0., 0.], [10., 0.]])
    near(torch.layer_norm(x, (2, 2), w, b, 3.75), [[-1.5 / 5 ** .5, -1 / 5 ** .5],
                                                 [1.5 / 5 ** .5 + 10, 6 / 5 ** .5]], 1e-6)
    near(torch.rms_norm(x, (2, 2), weight=w, eps=1.5), x.numpy() ** 2 / 3, 1e-6)


@pytest.mark.parametrize("f", [F.layer_norm, F.rms_norm])
def test_functions_refuse(f):
    """A number for the sizes, none, other sizes, integers"""
    x = torch.ones(2, 3)
    for size in 3, "3", None:
        with pytest.raises(TypeError, match="list or tuple"):
            f(x, size)
    for wrong in (x, ()), (x, (2,)), (x, (1, 2, 3)), (torch.tensor(1.), (1,)), (x, (3,), torch.ones(1, 3)), (
            x.long(), (3,)), (x.bool(), (3,)):
        with pytest.raises(RuntimeError):
            f(*wrong)


def test_halves():
    """Computed in float32 and rounded once, gradients too; float32 weights are welcome"""
    x = torch.tensor([[300., -300., 100., 1e-3]], dtype="float16", requires_grad=True)
    w, exact = torch.tensor([3., 1., 2., 4.], requires_grad=True), x.detach().double().numpy()
    out = F.rms_norm(x, (4,), w)
    near(out, (exact / np.sqrt((exact ** 2).mean()) * w.detach().numpy()).astype("float16"))
    (out * out).sum().backward()
    assert (out.dtype, x.grad.dtype, w.grad.dtype) == ("float16", "float16", "float32")
    tiny = torch.full((1, 4), 1e-3, dtype="float16")           # squares far below float16's own eps
    assert F.rms_norm(tiny, (4,))[0, 0].item() == pytest.approx(1e-3 / (1e-6 + 2 ** -23) ** .5, abs=1e-3)


def test_two_dtypes():
    """layer_norm refuses them; of rms_norm x's stays"""
    x, w = torch.ones(2, 3), torch.ones(3).double()
    with pytest.raises(RuntimeError, match="float64"):
        F.layer_norm(x, (3,), w)
    with pytest.raises(RuntimeError, match="float32"):
        nn.LayerNorm(3)(x.double())
    near(F.rms_norm(x * 2, (3,), w * 5), np.full((2, 3), 5, "float32"), 1e-6)
    assert F.rms_norm(x, (3,), w).dtype == "float32" and nn.RMSNorm(3)(x.double()).dtype == "float64"


# ---- layers ----

HOW = {
    "post, relu": (dict(), dict(pre=False)),
    "pre, gelu": (dict(norm_first=True, activation="gelu"), dict(pre=True, bend="gelu")),
    "a function, no biases": (dict(activation=torch.relu, bias=False, layer_norm_eps=.1),
                              dict(pre=False, eps=.1)),
}


@pytest.mark.parametrize("name", HOW)
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_layer_is_its_formula(name, batch_first):
    """Of an encoder with a causal mask, of a decoder with one for the memory too; alone and in a batch"""
    made, formula = HOW[name]
    for make in LAYERS:
        layer = stirred(make(6, 2, 10, batch_first=batch_first, **made))
        tgt, memory, seen = drawn(3, 5, 6), drawn(3, 4, 6), rng.random((5, 4)) > .4
        seen[:, 0] = True
        hidden, more = torch.tensor(~CAUSAL), {}
        if make is nn.TransformerDecoderLayer:
            more = dict(memory=memory.numpy(), seen=seen)
        want = [Same(layer, **formula).layer("", x, mask=CAUSAL, **{
            key: value[i] if key == "memory" else value for key, value in more.items()})
            for i, x in enumerate(tgt.numpy())]
        other = [torch.tensor(~seen)] if more else []

        def turned(x): return x if batch_first else x.transpose(0, 1)
        inputs = [turned(tgt), *([turned(memory)] if more else [])]
        near(turned(layer(*inputs, hidden, *other)), np.array(want))
        near(layer(*[turned(x)[0] if batch_first else turned(x)[:, 0] for x in (tgt, memory)[:len(inputs)]],
                   hidden, *other), want[0])


@pytest.mark.parametrize("pre", [False, True])
def test_the_whole_is_its_formula(pre):
    """Two and three layers, each with a last norm, and a mask of floats to be added"""
    model = stirred(nn.Transformer(6, 2, 2, 3, 10, norm_first=pre, batch_first=True), .2)
    src, tgt, same = drawn(2, 4, 6), drawn(2, 5, 6), Same(model, pre=pre)
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype="float64")
    want = []
    for s, t in zip(src.numpy(), tgt.numpy()):
        memory = same.layers("encoder.", 2, s)
        want.append(same.layers("decoder.", 3, t, memory, CAUSAL))
    near(model(src, tgt, tgt_mask=mask), np.array(want))
    near(model(src, tgt, tgt_mask=mask, tgt_is_causal=True), np.array(want))
    near(model(src[0], tgt[0], tgt_mask=mask), want[0])


def test_the_mask():
    """0 for what was, -inf for what comes"""
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    assert mask.tolist() == [[0, -np.inf, -np.inf], [0, 0, -np.inf], [0, 0, 0]] and mask.dtype == "float32"


@pytest.mark.parametrize("kind", ["bool", "float64"])
def test_padding_is_hidden(kind):
    """True, or -inf: whatever stands there changes no other place; in source, target and memory"""
    model = stirred(nn.Transformer(6, 2, 1, 1, 10, batch_first=True))
    hidden = np.array([[False] * 4, [False, False, True, True]])
    mask = torch.tensor(hidden if kind == "bool" else np.where(hidden, -np.inf, 0.))
    names = [f"{name}_key_padding_mask" for name in ("src", "tgt", "memory")]
    src, tgt = drawn(2, 4, 6), drawn(2, 4, 6)
    one = model(src, tgt, **dict.fromkeys(names, mask))
    for x in src, tgt:
        x.data[1, 2:] = 9
        near(model(src, tgt, **dict.fromkeys(names, mask))[:, :2], one[:, :2])
    assert abs(model(src, tgt)[1, :2] - one[1, :2]).max().item() > 1e-3


# ---- how they are made ----

def test_names():
    """The weights are PyTorch's, in its order"""
    attention = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    rest = [f"{name}.{kind}" for name in "linear1 linear2 norm1 norm2".split() for kind in ("weight", "bias")]
    assert list(LAYERS[0](4, 2, 8).state_dict()) == [f"self_attn.{name}" for name in attention] + rest
    assert list(LAYERS[1](4, 2, 8).state_dict()) == [
        f"{which}.{name}" for which in ("self_attn", "multihead_attn") for name in attention] + [
        *rest, "norm3.weight", "norm3.bias"]
    assert list(LAYERS[1](4, 2, 8, bias=False).state_dict()) == [
        name for name in LAYERS[1](4, 2, 8).state_dict() if not name.endswith("bias")]


def test_layers_of_a_stack_are_copies():
    """They begin alike, and learn apart; the layer that was given is none of them"""
    layer = nn.TransformerEncoderLayer(4, 2, 8, 0.0, "gelu")
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4), enable_nested_tensor=False)
    first, second = stack.layers
    for a, b in zip(first.parameters(), second.parameters()):
        near(a, b)
    (stack(torch.randn(3, 2, 4)) ** 3).sum().backward()
    assert abs(first.linear1.weight.grad - second.linear1.weight.grad).max().item() > 1e-6
    assert layer.linear1.weight.grad is None and stack.num_layers == 2


def test_a_transformer_s_layers_are_drawn_apart():
    """By Xavier: uniform, up to the root of 6 by rows and columns"""
    model = nn.Transformer(32, 2, 2, 1, 50)
    first, second = [layer.linear1.weight.detach() for layer in model.encoder.layers]
    assert (first != second).any()
    assert .95 * (6 / 82) ** .5 < abs(first).max().item() <= (6 / 82) ** .5
    assert (model.encoder.layers[0].self_attn.in_proj_bias == 0).all()


def test_everything_dropped():
    """With dropout 1 only the sums are left: in training the norms of x, in evaluation not"""
    layer, x = nn.TransformerEncoderLayer(4, 2, 8, dropout=1.0), torch.randn(3, 2, 4)
    near(layer(x), layer.norm2(layer.norm1(x)))
    assert abs(layer.eval()(x) - layer.norm2(layer.norm1(x))).max().item() > 1e-3
    near(nn.TransformerDecoderLayer(4, 2, 8, 1.0, norm_first=True)(x, x), x)


def test_other_stacks():
    """custom_encoder and custom_decoder take the places, and the arguments"""
    class Given(nn.Module):
        def forward(self, x, *memory, **how):
            self.how = {name: value for name, value in how.items() if value}
            return x * 2 if not memory else x + memory[0]

    encoder, decoder = Given(), Given()
    model, x = nn.Transformer(4, 2, custom_encoder=encoder, custom_decoder=decoder), torch.ones(3, 2, 4)
    near(model(x, x, "s", "t", "m", src_is_causal=True), x * 3)
    assert encoder.how == {"mask": "s", "is_causal": True}
    assert decoder.how == {"tgt_mask": "t", "memory_mask": "m"}


def test_what_is_refused():
    model, x = nn.Transformer(4, 2, 1, 1, 8), torch.ones(3, 2, 4)
    for src, tgt in (x, torch.ones(3, 1, 4)), (torch.ones(3, 2, 6), x), (x, torch.ones(3, 2, 6)):
        with pytest.raises(RuntimeError, match="src .* tgt"):
            model(src, tgt)
    with pytest.raises(RuntimeError, match="batch_first=True"):
        nn.Transformer(4, 2, 1, 1, 8, batch_first=True)(x, torch.ones(2, 2, 4))
    with pytest.raises(RuntimeError, match="tanh"):
        nn.TransformerDecoderLayer(4, 2, activation="tanh")
    with pytest.raises(ValueError, match="multiple"):
        nn.TransformerEncoderLayer(4, 3)
    for is_causal, mask in (True, None), (False, torch.ones(2, 2)):
        with pytest.raises(RuntimeError):
            nn.TransformerEncoderLayer(4, 2)(x, mask, is_causal=is_causal)
