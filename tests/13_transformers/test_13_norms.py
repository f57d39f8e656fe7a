"""layer_norm and rms_norm, and the layers over them."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.core.checks import check_gradient
from tinytorch.nn.normalization import layer_norm
from tinytorch.nn.rms_norm import rms_norm

from .support import drawn, near, rng

NORMS = [layer_norm, rms_norm]


@pytest.fixture(autouse=True)
def same_numbers(): torch.manual_seed(0)


# ---- by hand ----

def test_layer_norm_by_hand():
    """Of 1 2 3 4: mean 2.5, variance 1.25; the same for 101.. and ten times as much"""
    want = np.array([-3, -1, 1, 3]) / np.sqrt(5)                       # ∓1.3416, ∓0.4472
    x = np.array([1., 2., 3., 4.])
    for moved in x, x + 100, 10 * x, 10 * x - 7:
        near(layer_norm(moved, eps=0), want)
    near(layer_norm(x), want, 1e-5)
    near(layer_norm(-x, eps=0), -want)


def test_rms_norm_by_hand():
    """Of 1 2 3 4: mean square 7.5, root 2.7386; the mean stays in it"""
    x = np.array([1., 2., 3., 4.])
    for moved in x, 10 * x:
        near(rms_norm(moved, eps=0), x / np.sqrt(7.5))
    near(rms_norm(x + 100, eps=0), (x + 100) / np.sqrt((101**2 + 102**2 + 103**2 + 104**2) / 4))


@pytest.mark.parametrize("eps", [3.75, 0.01])
def test_eps_is_under_the_root(eps):
    """1.25 + 3.75 is 5, 7.5 + 1.5 is 9"""
    x = np.array([1., 2., 3., 4.])
    near(layer_norm(x, eps=eps), (x - 2.5) / np.sqrt(1.25 + eps))
    near(rms_norm(x, eps=eps), x / np.sqrt(7.5 + eps))
    near(layer_norm(x, eps=3.75)[0], -1.5 / np.sqrt(5))
    near(rms_norm(x, eps=1.5)[3], 4 / 3)


@pytest.mark.parametrize("f, eps", [(layer_norm, 1e-5), (rms_norm, np.finfo("float64").eps)])
def test_the_default_eps(f, eps):
    """Seen where the numbers are as small as its root"""
    near(f(np.array([-1., 1.]) * np.sqrt(eps)), [-np.sqrt(.5), np.sqrt(.5)])


def test_weight_then_bias():
    """Each given or not"""
    x, w, b = drawn(2, 3, 4), drawn(4), drawn(4)
    z, r = layer_norm(x).numpy(), rms_norm(x).numpy()
    near(layer_norm(x, w), z * w.numpy())
    near(layer_norm(x, w, b), z * w.numpy() + b.numpy())
    near(layer_norm(x, None, b), z + b.numpy())
    near(layer_norm(x, bias=b, eps=1e-5), z + b.numpy())
    near(rms_norm(x, w), r * w.numpy())


# ---- what is true for all x ----

@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 5), (2, 1, 3, 2), (3, 1), (0, 4)], ids=str)
def test_each_vector_alone(shape):
    """Only the last axis: mean 0 and variance 1; mean square 1"""
    x = drawn(*shape)
    z, r = layer_norm(x, eps=0 if shape[-1] > 1 else 1e-5).numpy(), rms_norm(x, eps=0).numpy()
    assert z.shape == r.shape == shape
    near(z.mean(-1), np.zeros(shape[:-1]))
    near((r ** 2).mean(-1), np.ones(shape[:-1]))
    if shape[-1] > 1:
        near((z ** 2).mean(-1), np.ones(shape[:-1]))
    if len(shape) > 1 and len(x):
        near(layer_norm(x[0]), layer_norm(x)[0])
        near(rms_norm(x[0]), rms_norm(x)[0])


def test_scale_and_shift_of_the_input_change_nothing():
    x, scale, shift = drawn(3, 6), torch.tensor(rng.uniform(.1, 9, (3, 1))), drawn(3, 1)
    near(layer_norm(x * scale + shift, eps=0), layer_norm(x, eps=0))
    near(layer_norm(-x, eps=0), -layer_norm(x, eps=0))
    near(rms_norm(x * scale, eps=0), rms_norm(x, eps=0))
    assert abs(rms_norm(x + shift) - rms_norm(x)).max().item() > .01


def test_a_vector_of_equal_numbers_is_zeros():
    """And not nan, also behind a gradient"""
    x = torch.full((2, 4), 3.0, requires_grad=True)
    out = layer_norm(x)
    assert (out == 0).all()
    (out * drawn(2, 4).float()).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    assert (rms_norm(torch.zeros(2, 4)) == 0).all()


def test_a_large_mean_costs_no_digits():
    """The mean goes first: E[x²] - E[x]² would lose all of them in float32"""
    x = (1e4 + rng.normal(size=(4, 64))).astype("float32")
    exact = x.astype("float64")
    want = (exact - exact.mean(-1, keepdims=True)) / exact.std(-1, keepdims=True)
    near(layer_norm(x, eps=0), want, 2e-3)


@pytest.mark.parametrize("f", NORMS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_dtype_stays(f, dtype):
    """Squares of halves do not overflow; the input is left as it was"""
    x = torch.tensor(np.array([[300., -300., 100., 5.]], dtype))
    out = f(x)
    assert out.dtype == x.dtype and x.tolist() == [[300., -300., 100., 5.]]
    near(out.double(), f(x.double()), 2e-3)


@pytest.mark.parametrize("f", NORMS)
def test_arrays_give_arrays(f):
    x = rng.normal(size=(2, 3))
    assert isinstance(f(x), np.ndarray)
    near(f(torch.tensor(x)), f(x))


# ---- gradients ----

@pytest.mark.parametrize("sizes", [[(5,)], [(2, 3, 4)], [(3, 4), (4,)], [(2, 3, 4), (4,), (4,)], [(2, 1)]],
                         ids=str)
def test_gradients(sizes):
    """Of x, weight and bias, by the judge of module 05; an eps that counts, too"""
    for eps in 1e-5, 0.3:
        check_gradient(lambda *x, eps=eps: layer_norm(*x, eps=eps), *[rng.normal(size=s) for s in sizes])
        check_gradient(lambda *x, eps=eps: rms_norm(*x[:2], eps=eps), *[rng.normal(size=s) for s in sizes])


def test_gradient_of_a_bias_alone():
    check_gradient(lambda x, b: layer_norm(x, None, b), rng.normal(size=(2, 4)), rng.normal(size=4))


@pytest.mark.parametrize("f, sizes", [(layer_norm, [(2, 4), (4,), (4,)]), (rms_norm, [(2, 4), (4,)])])
def test_second_gradients(f, sizes):
    """The gradient's own: the rule is composed of ops"""
    inputs = [rng.normal(size=s) for s in sizes]

    def slope(x, *params):
        return torch.func.grad(lambda x: (f(x, *params, eps=.1) ** 3).sum())(x)

    second = torch.func.grad(lambda x, *params: (slope(x, *params) ** 2).sum())
    x, direction, h = torch.tensor(inputs[0]), rng.normal(size=sizes[0]), 1e-6
    params = [torch.tensor(p) for p in inputs[1:]]
    up, down = [(slope(x + t * direction, *params) ** 2).sum().item() for t in (h, -h)]
    ours = float((second(x, *params).numpy() * direction).sum())
    assert ours == pytest.approx((up - down) / (2 * h), rel=1e-5)


def test_no_gradient_along_what_changes_nothing():
    """Adding a number, or going along x: the output stays, so the slope is 0"""
    x, g = drawn(3, 6), drawn(3, 6)
    dx = torch.func.grad(lambda x: (layer_norm(x, eps=0) * g).sum())(x)
    near(dx.sum(-1), np.zeros(3))
    near((dx * x).sum(-1), np.zeros(3))
    dx = torch.func.grad(lambda x: (rms_norm(x, eps=0) * g).sum())(x)
    near((dx * x).sum(-1), np.zeros(3))
    assert abs(dx.sum(-1)).max().item() > .01


# ---- the layers ----

def test_what_a_layer_holds():
    """Ones and zeros of PyTorch's names; either may be left out"""
    layer = nn.LayerNorm(4)
    assert {n: p.tolist() for n, p in layer.named_parameters()} == {"weight": [1.] * 4, "bias": [0.] * 4}
    assert list(nn.LayerNorm(4, bias=False).state_dict()) == list(nn.RMSNorm(4).state_dict()) == ["weight"]
    for bare in nn.LayerNorm(4, elementwise_affine=False), nn.RMSNorm(4, elementwise_affine=False):
        assert list(bare.parameters()) == [] and bare.weight is None
    assert nn.LayerNorm(4, dtype="float64").weight.dtype == nn.RMSNorm(4, dtype="float64").weight.dtype
    for f in (layer.weight, layer.bias):
        f.data[...] = 7.
    layer.reset_parameters()
    assert layer.weight.tolist() == [1.] * 4 and layer.bias.tolist() == [0.] * 4


def test_the_layers_are_the_ops():
    """With their own weights, for x of any number of axes"""
    for shape in (5,), (2, 5), (2, 3, 5):
        x, layer, other = drawn(*shape), nn.LayerNorm(5, eps=.1).double(), nn.RMSNorm(5, eps=.2).double()
        for p in layer.weight, layer.bias, other.weight:
            p.data[...] = rng.normal(size=5)
        near(layer(x), layer_norm(x, layer.weight, layer.bias, .1))
        near(other(x), rms_norm(x, other.weight, .2))
    near(nn.LayerNorm(5, elementwise_affine=False)(x.float()), layer_norm(x).float(), 1e-5)


def test_eps_of_the_layers():
    """LayerNorm's is 1e-5; RMSNorm's, unless given, what its dtype can just tell from 1 more"""
    small = torch.full((1, 4), 1e-8, dtype="float64")
    near(nn.LayerNorm(2).double()(torch.tensor([[-1., 1.]], dtype="float64") * 1e-5 ** .5),
         [[-.5 ** .5, .5 ** .5]])
    near(nn.RMSNorm(4).double()(small), np.full((1, 4), 1e-8 / np.sqrt(1e-16 + np.finfo("float64").eps)))
    near(nn.RMSNorm(4)(small.float() * 1e4), np.full((1, 4), 1e-4 / np.sqrt(1e-8 + np.finfo("float32").eps)),
         1e-6)


def test_several_sizes_are_one():
    """Over the last two: as if they were one axis"""
    x, layer, other = drawn(4, 2, 3), nn.LayerNorm((2, 3)).double(), nn.RMSNorm([2, 3], eps=.1).double()
    for p in layer.weight, layer.bias, other.weight:
        assert p.shape == (2, 3)
        p.data[...] = rng.normal(size=(2, 3))
    flat = x.reshape(4, 6)
    near(layer(x), layer_norm(flat, layer.weight.reshape(6), layer.bias.reshape(6)).reshape(4, 2, 3))
    near(other(x), rms_norm(flat, other.weight.reshape(6), .1).reshape(4, 2, 3))


def test_a_layer_s_parameters_learn():
    layer, x = nn.LayerNorm((2, 3)), torch.randn(4, 2, 3)
    layer(x).sum().backward()
    near(layer.bias.grad, np.full((2, 3), 4.))
    near(layer.weight.grad, layer_norm(x.reshape(4, 6)).sum(0).reshape(2, 3), 1e-5)


# ---- errors ----

@pytest.mark.parametrize("make", [nn.LayerNorm, nn.RMSNorm])
def test_other_sizes_are_refused(make):
    """The message names the sizes that came, and those wanted"""
    for size, shape in ((4, (2, 5)), (4, ()), ((2, 4), (4,)), ((2, 4), (4, 2)), (4, (2, 1))):
        with pytest.raises(RuntimeError) as error:
            make(size)(torch.randn(*shape))
        assert f"got {tuple(shape)}" in str(error.value) and "its last sizes must be" in str(error.value)


@pytest.mark.parametrize("make", [nn.LayerNorm, nn.RMSNorm])
def test_what_else_is_refused(make):
    with pytest.raises((ValueError, RuntimeError), match="empty"):
        make(())(torch.randn(3))
    with pytest.raises((TypeError, RuntimeError), match="int64"):
        make(4)(torch.tensor([[1, 2, 3, 4]]))
