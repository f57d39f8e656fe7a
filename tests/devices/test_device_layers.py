"""Every layer, loss and optimiser on a device: the CPU's numbers, and nothing crosses over."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn, optim
from tinytorch.nn import functional as F

from .alike import close, layer_alike, made
from .strict import assert_there, same, traffic

rng = np.random.default_rng(3)
X, Y = [rng.normal(size=(4, 6)).astype("float32") for _ in range(2)]
CLASSES, SHARES = np.array([0, 2, 5, 1]), rng.dirichlet(np.ones(6), 4).astype("float32")

LAYERS = {name: (lambda cls: lambda: cls())(getattr(nn, name)) for name in """
    CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish PReLU
    ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink""".split()} | {
    "Linear": lambda: nn.Linear(6, 3), "Linear without bias": lambda: nn.Linear(6, 3, bias=False),
    "Flatten": lambda: nn.Flatten(0), "Unflatten": lambda: nn.Unflatten(1, (2, 3)),
    "Softmax": lambda: nn.Softmax(1), "LogSoftmax": lambda: nn.LogSoftmax(-1),
    "GLU": lambda: nn.GLU(),
    "Softmin": lambda: nn.Softmin(1), "Threshold": lambda: nn.Threshold(0.1, 20.),
    "GELU tanh": lambda: nn.GELU("tanh"), "Dropout in eval": lambda: nn.Dropout(0.5).eval(),
    "Sequential": lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2)),
}

LOSSES = {
    "MSELoss": (nn.MSELoss(), Y), "L1Loss": (nn.L1Loss(), Y),
    "SmoothL1Loss": (nn.SmoothL1Loss(), Y),
    "HuberLoss": (nn.HuberLoss(delta=0.7), Y),
    "KLDivLoss": (nn.KLDivLoss(reduction="batchmean"), SHARES),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss(), SHARES),
    "CrossEntropyLoss": (nn.CrossEntropyLoss(), CLASSES),
    "smoothed": (nn.CrossEntropyLoss(label_smoothing=0.1), CLASSES),
    "ignoring": (nn.CrossEntropyLoss(ignore_index=2, reduction="sum"), CLASSES),
    "shares": (nn.CrossEntropyLoss(), SHARES),
    "none": (nn.CrossEntropyLoss(reduction="none"), CLASSES),
    "NLLLoss": (nn.NLLLoss(), CLASSES), "MSE sum": (nn.MSELoss(reduction="sum"), Y),
}

OPTIMISERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1), "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: optim.Adam(p, lr=0.05),
    "amsgrad": lambda p: optim.Adam(p, lr=0.05, amsgrad=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.05, weight_decay=0.1),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, device):
    """Output and gradients of input and parameters"""
    layer_alike(LAYERS[name], X, device, may_wait=False)


@pytest.mark.parametrize("name", LOSSES)
def test_loss(name, device):
    loss, target = LOSSES[name]

    def run(where):
        x, t = torch.tensor(X, device=where, requires_grad=True), torch.tensor(target, device=where)
        traffic.clear()
        out = loss(x.log_softmax(1) if name in ("NLLLoss", "KLDivLoss") else x, t)
        out.sum().backward()
        return [out.detach(), x.grad], traffic.counts()

    expected, _ = run("cpu")
    got, (to_host, to_device, _) = run(device)
    for g, e in zip(got, expected):
        close(g, e)
    assert (to_host, to_device) == (0, 0)


def test_losses_with_weights(device):
    """Class weights and pos_weight live where the scores live"""
    def run(where):
        x = torch.tensor(X, device=where, requires_grad=True)
        w = torch.tensor(np.arange(1., 7.), dtype=torch.float32, device=where)
        out = [nn.CrossEntropyLoss(weight=w)(x, torch.tensor(CLASSES, device=where)),
               nn.BCEWithLogitsLoss(pos_weight=w)(x, torch.tensor(SHARES, device=where)),
               F.binary_cross_entropy(x.sigmoid(), torch.tensor(SHARES, device=where)),
               nn.NLLLoss(weight=w)(x.log_softmax(-1), torch.tensor(CLASSES, device=where))]
        sum(out).backward()
        return [*[o.detach() for o in out], x.grad]
    for g, e in zip(run(device), run("cpu")):
        close(g, e)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimiser(name, device):
    """Five steps of training: the parameters of the CPU, without a number that crosses"""
    def train(where):
        model = made(LAYERS["Sequential"], where)
        optimiser = OPTIMISERS[name](model.parameters())
        x, y = torch.tensor(X, device=where), torch.tensor(CLASSES % 2, device=where)
        traffic.clear()
        for _ in range(5):
            optimiser.zero_grad()
            (model(x).log_softmax(1)[:, 0] * (y - 0.5)).mean().backward()
            optimiser.step()
        return [p.detach() for p in model.parameters()], traffic.counts()

    expected, _ = train("cpu")
    got, crossed = train(device)
    for g, e in zip(got, expected):
        close(g, e)
    assert crossed == (0, 0, 0)


def test_dropout_draws_on_the_device(device):
    x = torch.ones(2000, device=device, requires_grad=True)
    torch.manual_seed(1)
    traffic.clear()
    out = F.dropout(x, 0.25, training=True)
    out.sum().backward()
    assert traffic.counts() == (0, 0, 0)
    kept = (out != 0).float().mean().item()
    assert 0.7 < kept < 0.8 and sorted(set(out.tolist())) == pytest.approx([0., 4 / 3])
    same(x.grad, out.detach().numpy(force=True))


def test_a_module_moves(device):
    """to, cuda and cpu move parameters in place, and their gradients"""
    model = nn.Linear(3, 2)
    weight, number = model.weight, model.weight.detach().clone()
    model(torch.ones(1, 3)).sum().backward()
    assert model.to(device) is model and model.weight is weight
    same(model.weight.detach(), number.numpy())
    assert_there(model.weight.grad, device)
    assert model.cpu().weight.device == "cpu"
    assert model.cuda().bias.device == device
    model.zero_grad()
    assert model.weight.grad is None


def test_state_dicts_cross_devices(device):
    """A state saved there is loaded here, and the other way round"""
    there, here = made(LAYERS["Linear"], device), nn.Linear(6, 3)
    here.load_state_dict(there.state_dict())
    assert here.weight.device == "cpu"
    np.testing.assert_array_equal(here.weight.detach().numpy(), there.weight.numpy(force=True))
    with torch.no_grad():
        here.weight.mul_(2)
    there.load_state_dict(here.state_dict())
    same(there.weight.detach(), here.weight)


def test_an_optimisers_memory_is_where_its_parameters_are(device):
    model = made(LAYERS["Linear"], device)
    first = optim.Adam(model.parameters(), lr=0.1)
    model(torch.tensor(X, device=device)).sum().backward()
    first.step()
    second = optim.Adam(model.parameters(), lr=0.1)
    second.load_state_dict(first.state_dict())
    for state in second.state.values():
        assert_there(state["exp_avg"], device)
    second.step()
    assert_there(model.weight, device)


def test_initialisers(device):
    """They draw there"""
    w = torch.empty(30, 20, device=device)
    for fill in (nn.init.zeros_, nn.init.ones_, nn.init.uniform_, nn.init.normal_,
                 nn.init.xavier_uniform_,
                 nn.init.xavier_normal_, nn.init.kaiming_uniform_, nn.init.kaiming_normal_,
                 nn.init.trunc_normal_, nn.init.orthogonal_, nn.init.eye_):
        torch.manual_seed(2)
        fill(w)
        assert_there(w, device)
        first = w.tolist()
        torch.manual_seed(2)
        assert fill(w).tolist() == first
    same((w.T @ w), np.eye(20, dtype="float32"))


def test_a_model_and_its_data_apart(device):
    """The error names both devices and the way out"""
    with pytest.raises(RuntimeError, match=r"(?s)cpu.*cuda:0.*to\("):
        made(LAYERS["Linear"], device)(torch.tensor(X))
