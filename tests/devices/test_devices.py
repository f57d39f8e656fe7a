"""A device: making and moving tensors, two devices at once, training; and the stand-in itself."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core import backend

from .strict import assert_there, same, traffic

X = np.array([[3., -1., 2.], [0.5, 4., -2.]], "float32")


# ---- the stand-in is as strict as it says ----

def test_the_stand_in_refuses_numpy(stand_in):
    """No implicit copy, in either direction"""
    x, host = stand_in.asarray(np.ones(3, "float32")), np.ones(3, "float32")
    for attempt in (lambda: np.asarray(x), lambda: np.array([x, x]), lambda: x + host,
                    lambda: host * x,
                    lambda: x.__setitem__(slice(None), host), lambda: x[np.array([0, 1])],
                    lambda: np.exp(x, out=host), lambda: stand_in.concatenate([x, host]),
                    lambda: np.where(host > 0, x, x), lambda: x.dot(host)):
        with pytest.raises(TypeError):
            attempt()
    assert stand_in.asarray(np.float32(2)).dtype == "float32"
    assert (x * np.float32(2)).dtype == "float32"


def test_the_stand_in_has_no_more_than_cupy(stand_in):
    x = stand_in.zeros((2, 3), "float32")
    for attempt in (lambda: x.min(initial=0), lambda: x.sum(where=x > 0),
                    lambda: np.add.at(x, 0, 1.),
                    lambda: np.add.reduce(x), lambda: stand_in.indices((2, 3), sparse=True),
                    lambda: np.apply_along_axis(sum, 0, x), lambda: x.astype("float32", keep=True)):
        with pytest.raises(TypeError):
            attempt()
    for name in ("byteswap", "tobuffer", "ctypes", "__array_interface__"):
        assert not hasattr(x, name)
    assert not hasattr(x.flags, "writeable")
    assert not hasattr(stand_in.random.default_rng(0), "permutation")


def test_the_stand_in_computes(stand_in):
    """Operators, methods, ufuncs, functions; views; numbers of shape () stay on the device"""
    host = np.arange(6, dtype="float32").reshape(2, 3)
    x = stand_in.asarray(host)
    traffic.clear()
    for f in (lambda x: x + 1, lambda x: 2 - x, lambda x: np.exp(x), lambda x: x.sum(),
              lambda x: np.max(x, axis=1),
              lambda x: x @ x.T, lambda x: np.where(x > 2, x, 0), lambda x: -x, lambda x: x[1],
              lambda x: x[0, 1],
              lambda x: np.concatenate([x, x]), lambda x: np.linalg.qr(x.T)[1],
              lambda x: x.argmax(1)):
        got = f(x)
        assert type(got) is stand_in.ndarray and np.array_equal(got._host, f(host))
    row = x[1]
    row += 10
    x[0, 0] = 7
    assert x._host.tolist() == [[7, 1, 2], [13, 14, 15]] and row.base is x and x[0][1:].base is x
    assert x.sum().shape == () and (traffic.to_host, traffic.looked) == (0, 0)


def test_the_stand_in_counts(stand_in):
    x = stand_in.asarray(np.ones(3))
    assert traffic.to_device == 1
    x.get(), x.tolist()
    bool(x[0] > 0), float(x[0]), x[0].item()
    assert (traffic.to_host, traffic.looked) == (2, 3)


# ---- creation ----

@pytest.mark.parametrize("make", [
    lambda **how: torch.zeros(2, 3, **how), lambda **how: torch.ones((2,), dtype=torch.int8, **how),
    lambda **how: torch.full((2, 2), 7., **how), lambda **how: torch.arange(0, 10, 3, **how),
    lambda **how: torch.arange(1., 0., -0.25, **how), lambda **how: torch.linspace(0, 1, 5, **how),
    lambda **how: torch.logspace(0, 2, 3, **how), lambda **how: torch.eye(2, 3, **how),
    lambda **how: torch.tril_indices(3, 3, **how), lambda **how: torch.triu_indices(2, 3, 1, **how),
    lambda **how: torch.tensor([[1, 2]], **how), lambda **how: torch.as_tensor([1.5], **how),
    lambda **how: torch.tensor(True, **how)],
    ids="zeros ones full arange down linspace logspace eye tril triu list as_tensor bool".split())
def test_creation(make, device):
    same(make(device=device), make())


@pytest.mark.parametrize("draw", [
    lambda **how: torch.rand(50, **how), lambda **how: torch.randn(50, dtype=torch.float64, **how),
    lambda **how: torch.randint(0, 9, (50,), **how), lambda **how: torch.randperm(50, **how),
    lambda **how: torch.normal(0., 1., (50,), **how)],
                         ids="rand randn randint randperm normal".split())
def test_random_numbers(draw, device):
    """Drawn there, repeatable, of the right dtype"""
    torch.manual_seed(1)
    first = draw(device=device)
    torch.manual_seed(1)
    again = draw(device=device)
    assert_there(first, device)
    assert first.dtype == draw().dtype and first.shape == (50,)
    assert first.tolist() == again.tolist() != draw(device=device).tolist()


def test_drawing_from_tensors(device):
    p = torch.full((400,), 0.5, device=device)
    for drawn in (torch.bernoulli(p), torch.multinomial(p, 20),
                  torch.multinomial(p, 20, replacement=True),
                  torch.rand_like(p), torch.randn_like(p), p.clone().normal_(),
                  p.clone().uniform_(),
                  p.clone().bernoulli_(), p.clone().exponential_(), torch.normal(p, p)):
        assert_there(drawn, device)
        assert len(set(drawn.tolist())) > 1


def test_a_generators_state_on_a_device(device):
    """Kept and set, or an error that says it cannot be"""
    generator = torch.Generator(device).manual_seed(3)
    try:
        state = generator.get_state()
        first = torch.rand(3, generator=generator, device=device).tolist()
        generator.set_state(state)
        assert torch.rand(3, generator=generator, device=device).tolist() == first
    except (RuntimeError, NotImplementedError) as error:
        assert "state" in str(error)


# ---- moving ----

def test_moving_there_and_back(device):
    x = torch.tensor([1., 2.])
    there_ = x.to(device)
    assert_there(there_, device)
    assert there_.is_cuda and repr(there_.device) == "device(type='cuda', index=0)"
    assert there_.to("cuda") is there_ and there_.cuda() is there_ and x.cpu() is x
    back = there_.cpu()
    assert back.device == "cpu" and back.tolist() == [1., 2.]
    assert x.cuda(0).device == device
    assert there_.to(torch.device("cpu"), torch.float64).dtype == torch.float64
    assert there_.to(x).device == "cpu" and x.to(there_).device == device


def test_moving_has_a_gradient(device):
    """The gradient comes home to where the leaf is"""
    x = torch.tensor([1., 2.], requires_grad=True)
    (x.to(device) * torch.tensor([3., 4.], device=device)).sum().backward()
    assert x.grad.device == "cpu" and x.grad.tolist() == [3., 4.]
    y = torch.tensor([1., 2.], device=device, requires_grad=True)
    (y.cpu() * 5).sum().backward()
    same(y.grad, np.array([5., 5.], "float32"))


def test_no_array_without_asking(device):
    """numpy() on a device is PyTorch's TypeError; tolist, item, print and force=True copy"""
    x = torch.tensor([1., 2.], device=device)
    for attempt in (x.numpy, lambda: np.asarray(x), lambda: np.concatenate([x, x])):
        with pytest.raises(TypeError, match="cpu"):
            attempt()
    assert x.numpy(force=True).tolist() == [1., 2.] and x.tolist() == [1., 2.]
    assert repr(x) == "tensor([1., 2.], device='cuda:0')"


# ---- two devices ----

def test_mixing_devices_is_an_error(device):
    """A RuntimeError that names both and the way out"""
    x, y = torch.tensor([1., 2.]), torch.tensor([1., 2.], device=device)
    for attempt in (lambda: x + y, lambda: y * x, lambda: torch.cat([x, y]), lambda: y @ x,
                    lambda: x.maximum(y),
                    lambda: torch.where(x > 0, y, y), lambda: y.__setitem__(slice(None), x),
                    lambda: y.masked_fill(x > 0, 1.), lambda: y.__iadd__(x),
                    lambda: torch.stack([y, x]),
                    lambda: y.gather(0, torch.tensor([0]))):
        with pytest.raises(RuntimeError, match=r"(?s)cpu.*cuda:0.*to\("):
            attempt()


def test_numbers_of_the_cpu_may_come_along(device):
    """A tensor of shape () on the CPU meets those on a device, as in PyTorch; not the other way"""
    y, number = torch.tensor([1., 2.], device=device,
                             requires_grad=True), torch.tensor(3., requires_grad=True)
    out = y * number
    same(out.detach(), np.array([3., 6.], "float32"))
    out.sum().backward()
    same(y.grad, np.array([3., 3.], "float32"))
    assert number.grad.device == "cpu" and number.grad.item() == 3.
    same((number.detach() - y.detach()), np.array([2., 1.], "float32"))
    z = torch.zeros(2, device=device)
    z[0] = torch.tensor(5.)
    z += torch.tensor(1.)
    same(z, np.array([6., 1.], "float32"))
    with pytest.raises(RuntimeError, match="cpu"):
        torch.tensor([1., 2.]) * torch.tensor(3., device=device)


def test_two_gpus(stand_in):
    """cuda:1 is another device, and its results stay there"""
    x, y = torch.ones(2, device="cuda:1"), torch.ones(2, device="cuda:0")
    assert (x * 2).device == "cuda:1" and torch.zeros_like(x).device == "cuda:1"
    assert torch.zeros(2, device="cuda:1").device == "cuda:1"
    assert torch.randn(2, device="cuda:1").device == "cuda:1"
    with pytest.raises(RuntimeError, match=r"cuda:0.*cuda:1"):
        x + y
    assert (x + y.to("cuda:1")).tolist() == [2., 2.] and x.cuda(0).device == "cuda:0"


# ---- gradients and writing ----

def test_a_step_of_training(device):
    """Forward, backward and an update: nothing leaves the device, and the numbers are the CPU's"""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=size).astype("float32") for size in ((8, 4), (8, 2), (4, 2))]

    def train(where):
        x, t, w = [torch.tensor(a, device=where) for a in arrays]
        w.requires_grad_()
        traffic.clear()
        for _ in range(3):
            ((x @ w).tanh() - t).pow(2).mean().backward()
            with torch.no_grad():
                w -= 0.5 * w.grad
            w.grad = None
        return w, traffic.counts()

    expected, _ = train("cpu")
    got, crossed = train(device)
    np.testing.assert_allclose(got.numpy(force=True), expected.detach().numpy(), rtol=1e-5)
    assert_there(got, device)
    assert crossed == (0, 0, 0)


def test_writing_in_place(device):
    """Views, masks and indices are written there, with their gradients"""
    def f(where):
        x = torch.tensor(X, device=where, requires_grad=True)
        y = x * 1
        y[0] = 5.
        y[1, 1:] += x[0, :2]
        y.mT[2] *= 3
        y[y > 4] = x[0, 1]
        v = y.reshape(-1)
        v += 1
        y.masked_fill_(y < 0, 0.5).clamp_(max=3)
        (y * y).sum().backward()
        return y, x.grad
    for got, expected in zip(f(device), f("cpu")):
        same(got.detach(), expected)


def test_written_after_use(device):
    """The write log knows the memory of a device as well"""
    y = torch.tensor([1., 2.], device=device, requires_grad=True) * 1
    loss = (y * y).sum()
    y[1:].add_(1)
    with pytest.raises(RuntimeError, match="in place"):
        loss.backward()


def test_leaves_are_not_written(device):
    x = torch.tensor([1., 2.], device=device, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 1.


def test_the_reason_is_looked_up_once(stand_in):
    assert torch.cuda.is_available() is True and backend.cuda_problem() == ""
