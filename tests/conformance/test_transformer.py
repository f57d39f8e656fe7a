"""nn.Transformer* beyond PyTorch's samples: masks through stacks, errors, weights that change hands."""
import copy
import warnings

import numpy as np
import pytest
import torch

from . import modules
from .frameworks import FRAMEWORK, PyTorch
from .modules import Sample, as_sample

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:Mismatch dtype")
JUDGE = PyTorch()
SEEN = dict(tgt_mask=torch.nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64),
            memory_key_padding_mask=torch.tensor([[False, False, True], [False, False, False]]))


def drawn(*shape): return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def sample(args, kwargs, inputs, masks):
    return Sample(as_sample(args, kwargs), as_sample(inputs, masks), True)


MASKS = {
    "causal, padding": SEEN,
    "with the hint": SEEN | {"tgt_is_causal": True},
    "of float32": {"tgt_mask": torch.nn.Transformer.generate_square_subsequent_mask(5)},
    "bools": SEEN | {"tgt_mask": torch.ones(5, 5).triu(1).bool()},
    "one for each head": {"tgt_mask": torch.randn(4, 5, 5).double()},
    "of the memory": {"memory_mask": torch.randn(5, 3).double(),
                      "tgt_key_padding_mask": torch.randn(2, 5).double()},
}


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_decoder(name, norm_first):
    """Two layers and a norm: values and gradients with every mask"""
    torch.manual_seed(2)
    layer = torch.nn.TransformerDecoderLayer(4, 2, 8, 0.0, torch.nn.functional.gelu, 1e-3, True, norm_first)
    modules.check("TransformerDecoder", sample((layer, 2, torch.nn.LayerNorm(4)), {},
                                               (drawn(2, 5, 4), drawn(2, 3, 4)), MASKS[name]), torch.float64)


@pytest.mark.parametrize("name", ["causal, padding", "one for each head", "of the memory"])
def test_transformer(name):
    """Encoder and decoder of two layers, batch first"""
    torch.manual_seed(3)
    made = dict(d_model=4, nhead=2, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=8,
                dropout=0.0, batch_first=True, activation="gelu")
    masks = MASKS[name] | {"src_key_padding_mask": torch.tensor([[False, True, False], [False, False, True]])}
    modules.check("Transformer", sample((), made, (drawn(2, 3, 4), drawn(2, 5, 4)), masks), torch.float64)


def pair(make):
    """The same modules of both libraries, PyTorch's weights in both, for evaluation."""
    theirs, ours = make(torch.nn).eval(), make(FRAMEWORK.root.nn).eval()
    ours.load_state_dict({name: FRAMEWORK.tensor(t.clone()) for name, t in theirs.state_dict().items()})
    return theirs, ours


def stack(nn):
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8))


def test_padding_in_evaluation():
    """PyTorch leaves padding out, and writes 0 for it before the norm; words are the same"""
    theirs, ours = pair(stack)
    x, padding = torch.randn(2, 5, 8), torch.arange(5) >= torch.tensor([[5], [3]])
    with torch.no_grad(), FRAMEWORK.root.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")                        # nested tensors are a prototype
        expected = theirs(x, src_key_padding_mask=padding)
        found = FRAMEWORK.judged(ours(FRAMEWORK.tensor(x), src_key_padding_mask=FRAMEWORK.tensor(padding)))
    torch.testing.assert_close(found[~padding], expected[~padding])


def test_weights_there_and_back():
    """PyTorch reads the state_dict of ours, and then computes the same"""
    def make(nn): return nn.Transformer(8, 2, 1, 2, 16)
    theirs, ours = make(torch.nn).eval(), make(FRAMEWORK.root.nn).eval()
    theirs.load_state_dict({name: FRAMEWORK.judged(t) for name, t in ours.state_dict().items()})
    src, tgt = torch.randn(4, 2, 8), torch.randn(3, 2, 8)
    torch.testing.assert_close(FRAMEWORK.judged(ours(FRAMEWORK.tensor(src), FRAMEWORK.tensor(tgt))),
                               theirs(src, tgt).detach())


@pytest.mark.parametrize("nn", [torch.nn, FRAMEWORK.root.nn], ids=["torch", "subject"])
def test_how_it_begins(nn):
    """A stack's layers are equal, in memory of their own; a Transformer's are drawn anew, all by Xavier"""
    numpy = [np.array(p.detach().numpy()) for p in stack(nn).parameters()]
    for a, b in zip(numpy[:12], numpy[12:24]):
        assert (a == b).all()
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    assert len({id(p) for p in model.parameters()}) == 24
    whole = dict(nn.Transformer(64, 2, 2, 1, 100).named_parameters())
    first, second = [whole[f"encoder.layers.{i}.linear1.weight"].detach().numpy() for i in (0, 1)]
    assert (first != second).any()
    for w in first, second:
        bound = (6 / 164) ** 0.5
        assert 0.99 * bound < abs(w).max() <= bound


@pytest.mark.parametrize("nn, tensor", [(torch.nn, torch.tensor), (FRAMEWORK.root.nn, FRAMEWORK.root.tensor)],
                         ids=["torch", "subject"])
class TestMistakes:
    """Both raise the same class of error"""
    def numbers(self, tensor, *shape): return tensor(np.ones(shape, "float32"))

    def test_sizes(self, nn, tensor):
        model, x = nn.Transformer(8, 2, 1, 1, 16), self.numbers(tensor, 4, 2, 8)
        for src, tgt in ((x, self.numbers(tensor, 4, 3, 8)), (x, self.numbers(tensor, 4, 2, 6)),
                         (self.numbers(tensor, 4, 2, 6), x)):
            with pytest.raises(RuntimeError):
                model(src, tgt)

    def test_hint_without_a_mask(self, nn, tensor):
        with pytest.raises(RuntimeError):
            nn.TransformerEncoderLayer(8, 2, 16)(self.numbers(tensor, 4, 2, 8), is_causal=True)

    def test_masks(self, nn, tensor):
        layer, x = nn.TransformerEncoderLayer(8, 2, 16), self.numbers(tensor, 4, 2, 8)
        for mask in tensor(np.ones((3, 3), "float32")), tensor(np.ones((3, 4, 4), "float32")):
            with pytest.raises(RuntimeError):
                layer(x, mask)

    def test_activation(self, nn, tensor):
        with pytest.raises(RuntimeError):
            nn.TransformerEncoderLayer(8, 2, 16, activation="tanh")

    def test_empty_shape(self, nn, tensor):
        with pytest.raises(RuntimeError):
            nn.LayerNorm(())(self.numbers(tensor, 2, 3))           # ours at once
        with pytest.raises(TypeError):
            nn.functional.layer_norm(self.numbers(tensor, 2, 3), 3)


DTYPES = [("float16", "float16"), ("float16", "float32"), ("float64", "float64")]


@pytest.mark.parametrize("x_dtype, w_dtype", DTYPES, ids=["half", "half, weights float", "double"])
@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_norms_of_other_dtypes(name, x_dtype, w_dtype):
    """Output and gradients have PyTorch's dtypes and numbers: float16 is rounded once, at the end"""
    torch.manual_seed(4)
    x = (torch.randn(6, 5) * 30).to(getattr(torch, x_dtype))
    more = [torch.randn(5).to(getattr(torch, w_dtype)) for _ in range(1 + (name == "layer_norm"))]
    g, found = torch.randn(6, 5).to(x.dtype), []
    for framework in JUDGE, FRAMEWORK:
        leaves = [framework.tensor(t.clone(), True) for t in (x, *more)]
        out = getattr(framework.root.nn.functional, name)(leaves[0], (5,), *leaves[1:])
        out.backward(framework.tensor(g))
        found.append([framework.judged(t) for t in (out, *[leaf.grad for leaf in leaves])])
    for theirs, ours in zip(*found):
        torch.testing.assert_close(ours, theirs, rtol=2e-3, atol=1e-3 if x_dtype == "float16" else 1e-9)


@pytest.mark.parametrize("x_dtype, w_dtype", [
    ("float32", "float64"), ("float32", "int64"), ("float64", "float32")])
def test_norms_of_two_dtypes(x_dtype, w_dtype):
    """layer_norm refuses, rms_norm gives x's"""
    x, w = torch.randn(2, 3).to(getattr(torch, x_dtype)), torch.ones(3).to(getattr(torch, w_dtype))
    for framework in JUDGE, FRAMEWORK:
        f, ours = framework.root.nn.functional, [framework.tensor(t) for t in (x, w)]
        with pytest.raises(RuntimeError):
            f.layer_norm(ours[0], (3,), ours[1])
        assert framework.judged(f.rms_norm(ours[0], (3,), ours[1])).dtype is x.dtype
    torch.testing.assert_close(framework.judged(f.rms_norm(ours[0], (3,), ours[1])),
                               torch.nn.functional.rms_norm(x, (3,), w))


def test_a_copy_learns_as_the_model_does():
    """deepcopy: the activation is a function with a rule, and the copy's gradients are its own"""
    layer = FRAMEWORK.root.nn.TransformerEncoderLayer(4, 2, 8, 0.0, "gelu")
    twin, x = copy.deepcopy(layer), FRAMEWORK.tensor(torch.randn(3, 2, 4))
    (twin(x) ** 3).sum().backward()
    assert layer.linear1.weight.grad is None and FRAMEWORK.judged(twin.linear1.weight.grad).abs().max() > 0
