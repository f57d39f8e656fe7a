"""Linear, Sequential, Flatten and the rest of the lesson's layers: values, dtypes, shapes, errors."""
import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinytorch as torch
from tinytorch import nn
from tinytorch.core.base import record_with
from tinytorch.core.op import Op
from tinytorch.nn.layers import linear, scaled_mask
from tinytorch.nn.simple_layers import dropout

sizes = st.integers(0, 4)


# ---- linear ----

def test_linear_is_an_op():
    """So that a kernel can replace it and a rule be given to it"""
    assert isinstance(linear, Op) and isinstance(scaled_mask, Op)


@settings(max_examples=60, deadline=None)
@given(st.lists(sizes, max_size=3), st.integers(1, 4), st.integers(1, 4), st.booleans(), st.integers(0, 99))
def test_linear_is_a_sum_of_products(leading, n_in, n_out, with_bias, seed):
    """For any leading axes: the sum over i of x[..., i] * weight[o, i], plus bias[o]"""
    rng = np.random.default_rng(seed)
    x, weight = rng.normal(size=(*leading, n_in)), rng.normal(size=(n_out, n_in))
    bias = rng.normal(size=n_out)
    expected = np.einsum("...i,oi->...o", x, weight) + (bias if with_bias else 0)
    out = linear(torch.tensor(x), torch.tensor(weight), torch.tensor(bias) if with_bias else None)
    assert out.shape == (*leading, n_out) and out.dtype == torch.float64
    np.testing.assert_allclose(out.data, expected, atol=1e-12)


def test_linear_of_a_view():
    """Neither x nor the weight needs to be contiguous"""
    x, weight = np.arange(24.).reshape(2, 3, 4), np.arange(6.).reshape(3, 2)
    out = linear(torch.tensor(x).transpose(1, 2), torch.tensor(weight).transpose(0, 1))
    np.testing.assert_array_equal(out.data, x.swapaxes(1, 2) @ weight)


def test_linear_keeps_dtypes_and_inputs():
    """float16 and integers stay what they are; x and bias are not written to"""
    for dtype in (torch.float16, torch.float32, torch.int64):
        x, w, b = (torch.tensor(n, dtype=dtype) for n in ([[1, 2]], [[3, 4], [5, 6], [0, 1]], [1, 1, 2]))
        out = linear(x, w, b)
        assert out.dtype == dtype and out.tolist() == [[12, 18, 4]]
        assert x.tolist() == [[1, 2]] and b.tolist() == [1, 1, 2]


def test_linear_by_keyword():
    """PyTorch's name of the first argument, and a bias by name"""
    x, w, b = torch.tensor([1., 2.]), torch.tensor([[3., 4.]]), torch.tensor([0.5])
    assert linear(input=x, weight=w, bias=b).tolist() == [11.5]


def test_linear_with_one_unit():
    """A weight (in,) is one unit, and has no axis in the result"""
    x, w = torch.tensor([[1., 2.], [3., 5.]]), torch.tensor([10., 1.])
    assert linear(x, w).tolist() == [12., 35.] and linear(x[0], w).shape == ()


def ones(*shape, dtype="float32"): return np.ones(shape, dtype)


@pytest.mark.parametrize("x, weight, bias, named", [
    (ones(2, 5), ones(4, 8), None, r"\(2, 5\).*\(4, 8\)"), (ones(), ones(4, 1), None, r"\(\)"),
    (ones(2, 8, dtype="float64"), ones(4, 8), None, "float64"),
    (ones(2, 8, dtype="int64"), ones(4, 8), None, "int64"),
    (ones(2, 8), ones(4, 8), ones(4, dtype="float64"), "dtype"),
    (ones(2, 8), ones(4, 8), ones(3), r"\(3,\)"),
], ids=["last size", "a number", "float64", "integers", "dtype of bias", "shape of bias"])
def test_linear_refuses(x, weight, bias, named):
    """Sizes or dtypes that do not fit are a RuntimeError that names linear and them"""
    with pytest.raises(RuntimeError, match=f"linear.*{named}"):
        linear(torch.tensor(x), torch.tensor(weight), None if bias is None else torch.tensor(bias))


# ---- Linear ----

def test_a_linear_layer_draws_what_was_asked_for():
    """Every unit and every layer gets numbers of its own; a seed repeats them; inputs set the bound"""
    torch.manual_seed(1)
    one, other = nn.Linear(4, 500), nn.Linear(4, 500)
    torch.manual_seed(1)
    again = nn.Linear(4, 500)
    assert np.array_equal(one.weight.data, again.weight.data)
    assert np.array_equal(one.bias.data, again.bias.data)
    assert (one.weight.data != other.weight.data).all() and len(np.unique(one.weight.data)) > 1900
    for n_in, bound in ((4, 0.5), (1, 1.0)):
        layer = nn.Linear(n_in, 500)
        assert 0.9 * bound < abs(layer.weight.data).max() <= bound
        assert 0.9 * bound < abs(layer.bias.data).max() <= bound


def test_a_linear_layer_of_another_dtype():
    """dtype holds for both parameters, and so does device"""
    layer = nn.Linear(3, 2, device="cpu", dtype=torch.float64)
    assert layer.weight.dtype == layer.bias.dtype == torch.float64
    assert layer(torch.ones(3, dtype=torch.float64)).dtype == torch.float64


def test_a_linear_layer_without_inputs_or_units():
    """No inputs leave a bias of 0; no units give (B, 0); a negative size is a RuntimeError"""
    assert nn.Linear(0, 3)(torch.ones(2, 0)).tolist() == [[0.] * 3] * 2
    assert nn.Linear(3, 0)(torch.ones(2, 3)).shape == (2, 0)
    with pytest.raises(RuntimeError, match="-1"):
        nn.Linear(-1, 3)


def test_reset_parameters():
    """New numbers in the same parameters, of the same dtype"""
    for bias in (True, False):
        layer = nn.Linear(3, 200, bias).double()
        weight, before = layer.weight, layer.weight.tolist()
        layer.reset_parameters()
        assert layer.weight is weight and weight.dtype == torch.float64 and weight.tolist() != before
        assert abs(weight.data).max() <= 3 ** -0.5


# ---- Sequential ----

class Scale(nn.Module):
    """x times a parameter"""
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(float(factor)))

    def forward(self, x): return x * self.factor
    def extra_repr(self): return f"{self.factor.item():g}"


def factors(chain): return [layer.factor.item() for layer in chain]


def test_a_chain():
    """What one makes, the next gets; no links hand on x itself"""
    x = torch.tensor([3.])
    assert nn.Sequential(Scale(2), nn.Sequential(Scale(5)), Scale(10))(x).item() == 300.
    twice = Scale(7)
    assert nn.Sequential(twice, Scale(2), twice)(x).item() == 294.
    assert nn.Sequential()(x) is x


def test_names_in_a_chain():
    """Numbers, or the keys of a dictionary; both are attributes"""
    chain = nn.Sequential({"first": Scale(2), "second": Scale(3)})
    assert [name for name, _ in chain.named_children()] == ["first", "second"]
    assert chain.second is chain[1] and chain(torch.tensor(1.)).item() == 6.
    assert getattr(nn.Sequential(Scale(7)), "0").factor.item() == 7.


def test_indexing_a_chain():
    """From both ends; slices are chains that share the layers and keep their names"""
    chain = nn.Sequential(*[Scale(n) for n in range(5)])
    assert chain[-1] is chain[4] and len(chain) == 5 and chain[2] in chain
    part = chain[1:4:2]
    assert type(part) is nn.Sequential and part[0] is chain[1]
    assert [name for name, _ in part.named_children()] == ["1", "3"]
    for index in (5, -6):
        with pytest.raises(IndexError, match="5 modules"):
            chain[index]


def test_changing_a_chain():
    """append, extend, insert, assignment, del, pop and + keep the numbers without gaps"""
    chain = nn.Sequential(Scale(0), Scale(1), Scale(2))
    assert chain.append(Scale(3)) is chain and chain.extend([Scale(4)]) is chain
    chain.insert(1, Scale(9))
    assert factors(chain) == [0, 9, 1, 2, 3, 4]
    chain[0] = Scale(7)
    del chain[1]
    assert chain.pop(-1).factor.item() == 4.
    assert factors(chain) == [7, 1, 2, 3]
    del chain[1:3]
    assert factors(chain) == [7, 3] and [name for name, _ in chain.named_children()] == ["0", "1"]
    longer = chain + nn.Sequential(Scale(8))
    assert factors(longer) == [7, 3, 8] and len(chain) == 2
    chain += [Scale(6)]
    assert factors(chain) == [7, 3, 6]
    chain.last = Scale(5)
    assert factors(chain) == [7, 3, 6, 5] and chain(torch.tensor(1.)).item() == 630.
    chain.last = None
    assert chain(torch.tensor(1.)).item() == 126.
    chain.last = Scale(2)
    del chain.last
    assert chain(torch.tensor(1.)).item() == 126.


def test_a_chain_of_modules_only():
    """A function is no module: TypeError, and the way out is a layer"""
    with pytest.raises(TypeError, match="Module"):
        nn.Sequential(Scale(1), math.sqrt)


# ---- shapes ----

@pytest.mark.parametrize("layer, before, after", [
    (nn.Flatten(), (2, 3, 4), (2, 12)), (nn.Flatten(), (2, 3), (2, 3)), (nn.Flatten(0), (2, 3), (6,)),
    (nn.Flatten(0), (), (1,)), (nn.Flatten(-2), (2, 3, 4), (2, 12)), (nn.Flatten(0, -2), (2, 3, 4), (6, 4)),
    (nn.Flatten(1, 2), (2, 0, 4, 5), (2, 0, 5)), (nn.Flatten(2, 2), (2, 3, 4), (2, 3, 4)),
    (nn.Unflatten(1, (2, -1)), (5, 6), (5, 2, 3)), (nn.Unflatten(-1, (3, 1, 2)), (5, 6), (5, 3, 1, 2)),
])
def test_shapes(layer, before, after):
    """Only the shape changes; numbers keep their order"""
    x = torch.arange(math.prod(before)).reshape(before)
    out = layer(x)
    assert out.shape == after
    assert out.reshape(-1).tolist() == x.reshape(-1).tolist()


def test_shapes_that_do_not_go():
    """An axis that is not there is an IndexError, a wrong order or size a RuntimeError"""
    with pytest.raises(IndexError):
        nn.Flatten()(torch.ones(3))
    with pytest.raises(RuntimeError, match="flatten"):
        nn.Flatten(2, 1)(torch.ones(2, 3, 4))
    with pytest.raises(RuntimeError):
        nn.Unflatten(1, (2, 4))(torch.ones(5, 6))
    with pytest.raises(TypeError, match="tuple"):
        nn.Unflatten(1, 6)


def test_identity():
    """It hands on x itself and takes any arguments"""
    x = torch.ones(2)
    assert nn.Identity(64, bias=False)(x) is x


# ---- dropout ----

def test_scaled_mask():
    """x * scale where the mask is true, 0 elsewhere; the dtype of x stays"""
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = torch.tensor([1., 2., 3., 4.], dtype=dtype)
        out = scaled_mask(x, torch.tensor([True, False, True, True]), 2.5)
        assert out.dtype == dtype and out.tolist() == [2.5, 0., 7.5, 10.] and x.tolist() == [1., 2., 3., 4.]


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_dropout_in_training(p):
    """A share p becomes 0, the rest grows by 1/(1-p), other ones at each call"""
    torch.manual_seed(0)
    x, layer = torch.ones(100, 200), nn.Dropout(p)
    out = layer(x).data
    kept = np.float32(1 / (1 - p)) if p < 1 else 0
    np.testing.assert_allclose(out[out != 0], kept, rtol=1e-6)
    assert abs((out == 0).mean() - p) < 0.015 and out.dtype == "float32"
    if 0 < p < 1:
        assert (out != layer(x).data).any()


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_dropout_is_one_op(p):
    """x is its first input, the one with a gradient; the mask is made of bools; the dtype stays"""
    heard = []
    before = record_with(lambda op, inputs, *event: heard.append((op, inputs)))
    try:
        x = torch.ones(4, dtype=torch.float64)
        out = nn.Dropout(p)(x)
    finally:
        record_with(before)
    op, inputs = heard[-1]
    assert op is scaled_mask and inputs[0] is x and inputs[1].dtype == torch.bool
    assert out.dtype == torch.float64 and (inputs[2] == 2.0 or p == 1)


def test_dropout_in_use():
    """In evaluation x itself comes out, whatever p"""
    x = torch.ones(5)
    assert nn.Dropout(1.0).eval()(x) is x and dropout(x, 0.7, training=False) is x
    assert dropout(x, 1.0).tolist() == [0.] * 5


def test_dropout_in_place():
    """With inplace x is what comes out"""
    torch.manual_seed(0)
    x = torch.ones(1000)
    out = nn.Dropout(0.5, inplace=True)(x)
    assert out is x and sorted(set(x.tolist())) == [0., 2.]


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_dropout_needs_a_probability(p):
    """Otherwise ValueError, which names it"""
    with pytest.raises(ValueError, match=str(p)):
        nn.Dropout(p)


# ---- printing, copies ----

def test_printing():
    """As PyTorch prints: arguments, and children indented"""
    model = nn.Sequential(nn.Linear(4, 2, bias=False), nn.Sequential(nn.Flatten(), nn.Dropout(0.1)), Scale(3))
    assert repr(model) == """\
Sequential(
  (0): Linear(in_features=4, out_features=2, bias=False)
  (1): Sequential(
    (0): Flatten(start_dim=1, end_dim=-1)
    (1): Dropout(p=0.1, inplace=False)
  )
  (2): Scale(3)
)"""
    assert repr(nn.Sequential()) == "Sequential()" and repr(nn.Unflatten(1, (2, 3))) == (
        "Unflatten(dim=1, unflattened_size=(2, 3))")


def test_copies():
    """deepcopy and pickle give a model with numbers of its own; what was shared stays shared"""
    layer = nn.Linear(2, 2)
    model = nn.Sequential(layer, nn.ReLU(), layer).eval()
    model(torch.ones(2))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other[0] is other[2] and not other.training and not other[1].training
        assert isinstance(other[0].weight, nn.Parameter) and other[0].weight.requires_grad
        assert other[0].weight.tolist() == layer.weight.tolist()
        other[0].weight.detach().zero_()
        assert layer.weight.data.any()
        other[1] = nn.Flatten(0)
        assert type(model[1]) is nn.ReLU and [type(m) for m in other][1] is nn.Flatten
