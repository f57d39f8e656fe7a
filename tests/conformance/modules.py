"""PyTorch's own samples of layers and losses, and a few of our own for layers it has none for."""
import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

from .checks import normal, tensors
from .compare import Differs, compare, compare_tensors
from .exclusions import excluded_module
from .frameworks import FRAMEWORK, PyTorch
from .report import REPORT
from .samples import describe, plain_sample

JUDGE = PyTorch()
INFOS = {info.name.removeprefix("nn."): info for info in module_db}

# name -> [(arguments of the class, shapes of the inputs)], for what module_db leaves out.
MORE = {
    "Identity": [((), [(2, 3)])],
    "Flatten": [((), [(2, 3, 4)]), ((0,), [(2, 3)]), ((1, 2), [(2, 3, 4, 5)]),
                ((0, -2), [(2, 3, 4)])],
    "Unflatten": [((1, (2, 3)), [(4, 6)]), ((-1, (2, -1)), [(4, 6)])],
    "Linear": [((3, 4), [(2, 5, 3)]), ((3, 4, False), [(0, 3)]), ((3, 4), [(3,)])],
    "GELU": [(("tanh",), [(3, 4)]), (("none",), [(3, 4)])],
    "Conv2d": [((4, 6, (3, 2), 1, "same", (1, 2), 2, False), [(2, 4, 6, 7)]),
               ((2, 3, (4, 3), 2, (2, 1), 1, 1, True, "reflect"), [(2, 2, 6, 7)]),
               ((2, 3, 3, 1, "same", 2, 1, True, "circular"), [(2, 6, 7)])],
    "Conv1d": [((2, 4, 4, 1, "same", 1, 2, True, "replicate"), [(2, 2, 9)])],
    "BatchNorm2d": [((3, 1e-3, None), [(2, 3, 4, 5)]), ((3, 1e-5, 0.1, True, False), [(2, 3, 4, 5)])],
    "Upsample": [(((5, 7),), [(2, 3, 4, 6)]), ((None, 1.7, "linear", True), [(2, 3, 6)]),
                 ((None, (2, 0.5), "bicubic"), [(1, 2, 4, 6)]), ((3, None, "area"), [(1, 2, 5, 4)])],
    "UpsamplingNearest2d": [((None, 2), [(1, 2, 3, 4)])],
    "UpsamplingBilinear2d": [(((5, 3),), [(1, 2, 3, 4)])],
    "PixelShuffle": [((2,), [(1, 8, 2, 3)])], "PixelUnshuffle": [((2,), [(8, 4, 6)])],
    "Unfold": [(((2, 3), 2, 1, (1, 2)), [(2, 3, 5, 6)])],
    "Fold": [(((5, 6), (2, 3), 1, 1, (1, 2)), [(2, 6, 18)])],
    "AdaptiveAvgPool2d": [(((None, 3),), [(2, 3, 4, 5)])],
    "AdaptiveMaxPool2d": [(((2, None), True), [(2, 3, 4, 5)])],
    "MaxPool2d": [(((3, 2), (2, 1), 1, 1, True, True), [(2, 3, 6, 5)])],
    "RNN": [((3, 4, 2, "relu", True, False, 0.0, True), [(5, 2, 3), (4, 2, 4)])],
    "GRU": [((3, 4, 2, True, True, 0.0, True), [(2, 5, 3), (4, 2, 4)]), ((3, 4), [(5, 0, 3)])],
    "LSTM": [((3, 4, 2, True, True, 0.0, True, 2), [(2, 5, 3)]), ((3, 4, 1, False), [(1, 2, 3)])],
    "TransformerDecoder": [((torch.nn.TransformerDecoderLayer(4, 2, 8, 0.0, *how), n), [(5, 3, 4), (2, 3, 4)])
                           for n, how in ((2, ("gelu",)), (3, ("relu", 1e-3, False, True)))],
    "Transformer": [((4, 2, 1, 2, 8, 0.0, "gelu", None, None, 1e-3), [(5, 2, 4), (3, 2, 4)])],
    "RNNCell": [((3, 4), [(2, 3)])], "LSTMCell": [((3, 4), [(2, 3)])],
    "GRUCell": [((3, 4, False), [(2, 3), (2, 4)])],
}

# Wider float32 tolerances for gradients than assert_close's (1.3e-6, 1e-5), and why.
TOLERANCES = {"GRUCell": {"rtol": 1.3e-6, "atol": 3e-5},   # 1 - n² of n near 1: few digits are left, to both
              "MultiheadAttention": {"rtol": 1e-5, "atol": 3e-5},        # e to the power of large scores
              "TransformerEncoder": {"rtol": 1e-5, "atol": 5e-5},        # the same, through several norms:
              "Transformer": {"rtol": 1e-5, "atol": 7e-5},     # of float64's both are off by 3e-5 and 7e-5
              "TransformerDecoderLayer": {"rtol": 1.3e-6, "atol": 3e-5}}           # 2.4e-5, beside 39.9


def offered(expected):
    """The classes that are promised, in order, and then whatever else both libraries have."""
    if isinstance(FRAMEWORK, PyTorch):
        return expected            # the harness on itself
    rest = [name for name in (*INFOS, *MORE) if FRAMEWORK.find(f"nn.{name}") is not None]
    return list(dict.fromkeys([*expected, *rest]))


class Sample:
    """How one module is made and called."""
    def __init__(self, make, call, training=False):
        self.make, self.call, self.training = make, call, training

    def __str__(self):
        mode = "train" if self.training else "eval"
        call = "" if self.call is None else f"({describe(self.call)})"
        return f"({describe(self.make)}){call} {mode}"


def module_samples(name, dtype, training):
    """Samples of a class, the same each time."""
    torch.manual_seed(0)
    found = []
    if name in INFOS:
        for i in INFOS[name].module_inputs_func(INFOS[name], device="cpu", dtype=dtype,
                                                requires_grad=True, training=training):
            found.append((i.constructor_input.args, i.constructor_input.kwargs,
                          i.forward_input.args, i.forward_input.kwargs))
    for args, shapes in MORE.get(name, []):
        inputs = [torch.randn(s, dtype=dtype, requires_grad=True) for s in shapes]
        found.append((args, {}, inputs, {}))
    return [Sample(as_sample(a, k), as_sample(b, m), training) for a, k, b, m in found]


def as_sample(args, kwargs):
    return plain_sample(*args, **kwargs) if args else NoInput(kwargs)


class NoInput:
    """Arguments by keyword only."""
    def __init__(self, kwargs): self.input, self.args, self.kwargs = (), (), kwargs


def arguments(framework, sample, requires_grad=True):
    args, kwargs, leaves = framework.arguments(sample, requires_grad)
    return ((), kwargs, leaves) if isinstance(sample, NoInput) else (args, kwargs, leaves)


def built(framework, name, sample, dtype, state=None):
    """The module of this framework, its numbers those of `state`."""
    args, kwargs, _ = arguments(framework, sample.make, False)
    if framework.find(f"nn.{name}") is None:
        raise Differs("is not there")
    made = framework.find(f"nn.{name}")(*args, **kwargs).to(framework.plain(dtype))
    made.train(sample.training)
    if state is not None:
        made.load_state_dict({key: framework.tensor(t.clone()) for key, t in state.items()})
    return made


def pulled(framework, module, sample, cotangents=None):
    """`(output, gradients)` of inputs and parameters; cotangents are drawn if there are none."""
    args, kwargs, leaves = arguments(framework, sample.call)
    output = module(*args, **kwargs)
    outputs = [t for t in tensors(output, framework) if t.requires_grad]
    if cotangents is None:
        cotangents = normal(outputs, torch.Generator().manual_seed(1))
    parameters = [p for _, p in module.named_parameters()]
    grads = []
    if outputs:
        grads = framework.backward(outputs, [framework.tensor(g) for g in cotangents],
                                   [*leaves, *parameters])
    return output, [g if g is None else framework.judged(g) for g in grads], cotangents


def check(name, sample, dtype):
    """Names and shapes of the state, output, every gradient and the buffers afterwards."""
    theirs = built(JUDGE, name, sample, dtype)
    state = {key: t.clone() for key, t in theirs.state_dict().items()}
    ours = built(FRAMEWORK, name, sample, dtype, state)
    same_state(ours, state)
    expected, their_grads, cotangents = pulled(JUDGE, theirs, sample)
    output, our_grads, _ = pulled(FRAMEWORK, ours, sample, cotangents)
    compare(FRAMEWORK, output, expected)
    if len(our_grads) != len(their_grads):
        raise Differs(f"{len(our_grads)} gradients, PyTorch's {len(their_grads)}")
    tolerance = TOLERANCES.get(name, {}) if dtype is torch.float32 else {}
    for i, (our, their) in enumerate(zip(our_grads, their_grads)):
        if (our is None) is not (their is None):
            raise Differs(f"gradient {i} is {our}, PyTorch's {their}")
        if their is not None:
            compare_tensors(our, their, True, f"gradient {i}", **tolerance)
    same_state(ours, theirs.state_dict())


def same_state(ours, state):
    found = ours.state_dict()
    if list(found) != list(state):
        raise Differs(f"state_dict has {list(found)}, PyTorch's {list(state)}")
    for key, t in state.items():
        value = found[key]
        value = value if isinstance(value, FRAMEWORK.Tensor) else FRAMEWORK.root.tensor(value)
        compare_tensors(FRAMEWORK.judged(value), t, True, f"state_dict()[{key!r}]")


def run(name, dtype, training, aspect="modules"):
    """Check all samples of a class and report each; fails with those that differ."""
    different = []
    for sample in module_samples(name, dtype, training):
        why = excluded_module(name, sample)
        if why is not None:
            REPORT.left_out[why][name] += 1
            continue
        try:
            check(name, sample, dtype)
            REPORT.passed[aspect][name] += 1
        except Exception as error:
            what = str(error) if isinstance(error, Differs) else f"{type(error).__name__}: {error}"
            different.append((str(sample), what))
    REPORT.failed[aspect] += [(name, sample, what) for sample, what in different]
    assert not different, "\n".join(f"{name}{sample}: {what}" for sample, what in different)


def wrong_calls(name):
    """PyTorch's own wrong calls of a class: `(sample, class of error)`."""
    info = INFOS.get(name)
    if info is None or info.module_error_inputs_func is None:
        return []
    found = []
    for e in info.module_error_inputs_func(info, device="cpu", dtype=torch.float32,
                                           requires_grad=False, training=False):
        call = e.module_error_input.forward_input
        on_call = e.error_on is ModuleErrorEnum.FORWARD_ERROR
        made = e.module_error_input.constructor_input
        found.append((Sample(as_sample(made.args, made.kwargs),
                             as_sample(call.args, call.kwargs) if on_call else None), e.error_type))
    return found


def made_and_called(framework, name, sample):
    """Build the module; call it if the sample says with what."""
    module = built(framework, name, sample, torch.float32)
    if sample.call is not None:
        args, kwargs, _ = arguments(framework, sample.call, False)
        module(*args, **kwargs)


def check_wrong_calls(name):
    """PyTorch's wrong calls of a class raise PyTorch's class of error here, too."""
    different = []
    for sample, error in wrong_calls(name):
        try:
            made_and_called(JUDGE, name, sample)
            continue               # some raise only in training, or on another device
        except error:
            pass
        try:
            made_and_called(FRAMEWORK, name, sample)
            different.append((str(sample), f"raises nothing, PyTorch {error.__name__}"))
        except error:
            REPORT.passed["module errors"][name] += 1
        except Exception as other:
            different.append((str(sample), f"raises {type(other).__name__} ({other}), "
                                           f"PyTorch {error.__name__}"))
    REPORT.failed["module errors"] += [(name, sample, what) for sample, what in different]
    assert not different, "\n".join(f"{name}{sample}: {what}" for sample, what in different)
