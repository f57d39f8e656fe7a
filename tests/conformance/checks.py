"""The comparisons of one sample: values, gradients, differences, second derivatives, errors.

Each takes a case, the framework under test and a sample; it returns None where they agree, or the
reason why there was nothing to compare. A difference raises `Differs`.
"""
import zlib

import torch

from .compare import Differs, compare, compare_tensors
from .frameworks import PyTorch, convert
from .samples import plain_sample
from .table import NO_VALUES, TIES, TOLERANCES

JUDGE = PyTorch()
EPS, GRADCHECK = 1e-6, {"rtol": 1e-3, "atol": 1e-5}        # torch.autograd.gradcheck's
GRADIENT = {torch.float64: {"rtol": 1e-7, "atol": 1e-9}}   # narrower than assert_close
SECOND = {"rtol": 1e-6, "atol": 1e-8}
SMALL = 1000                       # elements in all inputs together, for second derivatives

NOTHING = "No input or no output of the sample has a gradient in PyTorch."
KINK = "PyTorch's own gradient is no limit of differences here either: a kink."
LARGE = f"Second derivatives are taken of samples with at most {SMALL} elements."
KEEPS_SHAPE = "Memory keeps its shape: an in-place method that would change it raises."
NO_SECOND = "PyTorch has no second derivative of it."


def tensors(output, framework):
    """The tensors of an output, in order."""
    if isinstance(output, framework.Tensor):
        return [output]
    nested = output if isinstance(output, (list, tuple)) else ()
    return [t for value in nested for t in tensors(value, framework)]


def normal(like, generator):
    """Normal random numbers of the shape and dtype of each tensor."""
    return [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in like]


def generator_for(case):
    return torch.Generator().manual_seed(zlib.crc32(case.id.encode()))


# ---------------------------------------------------------------------------------------- values
def values(case, framework, sample):
    """The same numbers, dtypes, shapes and structure; the inputs are left as PyTorch leaves them."""
    args, kwargs, _ = JUDGE.arguments(sample, requires_grad=False)
    before = [t.clone() for t in tensors(args, JUDGE)]
    theirs = case.info.op(*args, **kwargs)
    after = [t.clone() for t in tensors(args, JUDGE)]
    for old, t in zip(before, tensors(args, JUDGE)):
        if not ((t == old) | (t != t)).all():          # running statistics were written
            t.copy_(old)
    args, kwargs, _ = framework.arguments(sample, requires_grad=False)
    ours = case.call(*args, **kwargs)
    if case.info.name in TIES and not sample.kwargs.get("stable"):
        follow_indices(case, framework, sample, ours, theirs)
    compare(framework, ours, theirs, numbers=case.info.name not in NO_VALUES,
            **tolerance(case, theirs))
    for their, t in zip(after, tensors(args, framework)):
        compare_tensors(framework.judged(t), their, True, "an input after the call")


def follow_indices(case, framework, sample, ours, theirs):
    """Where both lead to the same elements, our indices are as good as PyTorch's: adopt them."""
    at = TIES[case.info.name]
    dim = sample.kwargs.get("dim", sample.args[at] if len(sample.args) > at else -1)
    our, their = tensors(ours, framework)[-1], tensors(theirs, JUDGE)[-1]
    if tuple(our.shape) != tuple(their.shape) or their.dtype is not torch.int64:
        return

    def led_to(index):
        x = sample.input.detach()
        return x.gather(dim, index if index.dim() == x.dim() else index.unsqueeze(dim))
    found = framework.judged(our).long()
    if their.dim() and torch.equal(led_to(found), led_to(their)):
        their.copy_(found)


def in_place(case, framework, sample):
    """Values and gradients of an in-place method; what PyTorch refuses to write is refused."""
    args, kwargs, _ = JUDGE.arguments(sample, requires_grad=False)
    ours, our_kwargs, _ = framework.arguments(sample, requires_grad=False)
    try:
        theirs = case.info.inplace_variant(args[0].clone(), *args[1:], **kwargs)
    except RuntimeError:
        theirs = None
    if theirs is None or theirs.shape != args[0].shape:
        try:
            case.call(*ours, **our_kwargs)
        except RuntimeError:
            return None if theirs is None else KEEPS_SHAPE
        raise Differs("writes what does not fit: PyTorch refuses, or changes the shape")
    compare(framework, case.call(*ours, **our_kwargs), theirs,
            numbers=case.info.name not in NO_VALUES, **tolerance(case, theirs))
    if sample.input.requires_grad and case.info.op(*args, **kwargs).dtype is theirs.dtype:
        gradients(case, framework, sample)


def tolerance(case, theirs):
    """assert_close's own tolerances, but for float32 results of the operations in TOLERANCES."""
    float32 = any(t.dtype is torch.float32 for t in tensors(theirs, JUDGE))
    return TOLERANCES.get(case.info.name, {}) if float32 else {}


# ------------------------------------------------------------------------------------- gradients
class Pull:
    """One sample pulled back by PyTorch: which outputs have a gradient, cotangents, gradients."""
    def __init__(self, case, sample, generator, create_graph=False):
        args, kwargs, self.leaves = JUDGE.arguments(sample)
        outputs = tensors(case.info.op(*args, **kwargs), JUDGE)
        self.which = [i for i, out in enumerate(outputs) if out.requires_grad]
        self.cotangents = normal([outputs[i] for i in self.which], generator)
        self.gradients = None
        if self.leaves and self.which:
            self.gradients = torch.autograd.grad(
                [outputs[i] for i in self.which], self.leaves, self.cotangents,
                create_graph=create_graph, allow_unused=True)


def own_gradients(case, framework, sample, pull):
    """The gradients that the framework gives for the same cotangents, as PyTorch tensors."""
    args, kwargs, leaves = framework.arguments(sample)
    outputs = tensors(case.call(*args, **kwargs), framework)
    for i, out in enumerate(outputs):
        if out.requires_grad is not (i in pull.which):
            raise Differs(f"output {i} has requires_grad={out.requires_grad}, "
                          f"PyTorch's {i in pull.which}")
    cotangents = [framework.tensor(g) for g in pull.cotangents]
    found = framework.backward([outputs[i] for i in pull.which], cotangents, leaves)
    return [None if g is None else framework.judged(g) for g in found]


def gradients(case, framework, sample):
    """The same gradients for the same random cotangents."""
    pull = Pull(case, sample, generator_for(case))
    if pull.gradients is None:
        return NOTHING
    found = own_gradients(case, framework, sample, pull)
    for i, (ours, theirs) in enumerate(zip(found, pull.gradients)):
        if theirs is None and ours is not None and ours.any():
            raise Differs(f"gradient {i} is there, PyTorch's is None")
        if theirs is not None and ours is None:
            raise Differs(f"gradient {i} is None")
        if theirs is not None:
            allowed = GRADIENT.get(theirs.dtype) or tolerance(case, theirs)
            compare_tensors(ours, theirs, True, f"gradient {i}", **allowed)


def differences(case, framework, sample):
    """The framework's gradient against central differences of its values, along one direction."""
    generator = generator_for(case)
    pull = Pull(case, sample, generator)
    if pull.gradients is None:
        return NOTHING
    along = normal(pull.leaves, generator)
    found = own_gradients(case, framework, sample, pull)
    slope, predicted = slopes(case.call, framework, sample, pull, along, found)
    if not close(predicted, slope):
        if not close(*slopes(case.info.op, JUDGE, sample, pull, along, pull.gradients)):
            return KINK
        raise Differs(f"the gradient gives a slope of {predicted:.8g}, differences {slope:.8g}")


def close(predicted, slope): return torch.isclose(predicted, slope, **GRADCHECK, equal_nan=True)


def slopes(call, framework, sample, pull, along, found):
    """The slope along a direction: by central differences, and as the gradients say."""
    up = weighted(call, framework, moved(sample, along, EPS), pull)
    down = weighted(call, framework, moved(sample, along, -EPS), pull)
    predicted = sum((g * u).sum() for g, u in zip(found, along) if g is not None)
    return (up - down) / (2 * EPS), torch.as_tensor(predicted, dtype=torch.float64)


def weighted(call, framework, sample, pull):
    """The outputs, weighted by the cotangents, as one number."""
    args, kwargs, _ = framework.arguments(sample, requires_grad=False)
    outputs = tensors(call(*args, **kwargs), framework)
    pairs = zip(pull.which, pull.cotangents)
    return sum((framework.judged(outputs[i]) * g).sum() for i, g in pairs)


def moved(sample, along, eps):
    """The sample with its leaves moved by eps along the directions."""
    directions = iter(along)
    return with_leaves(sample, lambda leaf: leaf.detach() + eps * next(directions))


def with_leaves(sample, replace):
    """The sample with `replace(leaf)` for each tensor that wants a gradient, once each."""
    done = {}

    def leaf(value):
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            return value
        if id(value) not in done:
            done[id(value)] = replace(value)
        return done[id(value)]

    args = convert((sample.input, *sample.args), leaf)
    return plain_sample(*args, **convert(sample.kwargs, leaf))


# ---------------------------------------------------------------------------- second derivatives
def second(case, framework, sample):
    """The gradient of a random projection of the gradient."""
    leaves = JUDGE.arguments(sample)[2]
    if sum(t.numel() for t in leaves) > SMALL:
        return LARGE
    generator = generator_for(case)
    pull = Pull(case, sample, generator, create_graph=True)
    if pull.gradients is None:
        return NOTHING
    weights = normal(pull.leaves, generator)
    try:
        theirs = judge_second(pull, weights)
    except RuntimeError:
        return NO_SECOND
    found = own_second(case, framework, sample, pull, weights)
    for i, (ours, theirs_) in enumerate(zip(found, theirs)):
        compare_tensors(framework.judged(ours), theirs_, True, f"second derivative {i}", **SECOND)


def judge_second(pull, weights):
    along = [(g * w).sum() for g, w in zip(pull.gradients, weights) if g is not None]
    along = [term for term in along if term.requires_grad]
    if not along:
        return [torch.zeros_like(leaf) for leaf in pull.leaves]
    found = torch.autograd.grad(sum(along), pull.leaves, allow_unused=True)
    return [torch.zeros_like(leaf) if g is None else g for g, leaf in zip(found, pull.leaves)]


def own_second(case, framework, sample, pull, weights):
    grad, every = framework.root.func.grad, tuple(range(len(pull.leaves)))
    cotangents = [framework.tensor(g) for g in pull.cotangents]
    weights = [framework.tensor(w) for w in weights]

    def loss(*leaves):
        args, kwargs = framework.refilled(sample, leaves)
        outputs = tensors(case.call(*args, **kwargs), framework)
        return sum((outputs[i] * g).sum() for i, g in zip(pull.which, cotangents))

    def along(*leaves):
        return sum((g * w).sum() for g, w in zip(grad(loss, argnums=every)(*leaves), weights))

    return grad(along, argnums=every)(*[framework.tensor(t) for t in pull.leaves])


# ---------------------------------------------------------------------------------------- errors
def errors(case, framework, error_input):
    """The same class of error, for PyTorch's own wrong inputs. Messages are the library's own."""
    sample = error_input.sample_input
    args, kwargs, _ = JUDGE.arguments(sample, requires_grad=False)
    try:
        case.info.op(*args, **kwargs)
        return "PyTorch raises nothing for it on the CPU."
    except error_input.error_type:
        pass
    args, kwargs, _ = framework.arguments(sample, requires_grad=False)
    try:
        result = case.call(*args, **kwargs)
    except error_input.error_type:
        return None
    except Exception as error:
        raise Differs(f"raises {type(error).__name__} ({error}), "
                      f"PyTorch {error_input.error_type.__name__}") from None
    raise Differs(f"gives {type(result).__name__}, PyTorch raises "
                  f"{error_input.error_type.__name__}: {error_input.error_regex[:90]}")
