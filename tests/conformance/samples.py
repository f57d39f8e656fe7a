"""PyTorch's own samples: a case for each name of an OpInfo that the library under test has."""
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

from .frameworks import convert
from .table import CALLS, EXPECTED, LIMIT

# Without a GPU each manual_seed queues a traceback for later: most of the suite's time, if let.
for accelerator in (torch.cuda, torch.xpu, torch.mtia):
    accelerator.manual_seed_all = lambda seed: None


@dataclass(frozen=True)
class Case:
    """An operation under one of its names."""
    name: str                     # "add", "nn.functional.gelu", "Tensor.add"
    info: object                  # PyTorch's OpInfo
    call: Callable                # the library's function, given what the OpInfo's samples hold
    main: bool                    # False for aliases and methods: they get the short programme

    @property
    def id(self):
        variant = self.info.variant_test_name
        return f"{self.name}.{variant}" if variant else self.name


def cases(framework):
    """Every case of PyTorch's database that `framework` has a name for."""
    found = []
    for info in filter(lambda info: offered(framework, info), op_db):
        call = main_call(framework, info)
        if call is not None:
            found.append(Case(info.name, info, call, main=True))
        for alias in info.aliases:
            if info.name not in CALLS and framework.find(alias.name) is not None:
                found.append(Case(alias.name, info, framework.find(alias.name), main=False))
        if call is not None and has_method(info):
            found.append(Case(f"Tensor.{info.name}", info, method(info.name), main=False))
    return found


def in_place(framework):
    """A case for each in-place method that both libraries have; it writes into a copy."""
    def writing(name):
        return lambda x, *args, **kwargs: getattr(x.clone(), name)(*args, **kwargs)
    other_rules = {"acosh", "asinh", "atanh", "squeeze", "unsqueeze", "t", "transpose"} \
        if framework.root is torch else ()     # no gradient there; and PyTorch changes shapes
    return [Case(f"Tensor.{info.name}_", info, writing(f"{info.name}_"), main=False)
            for info in op_db if info.inplace_variant is not None and info.name not in other_rules
            and framework.find(f"Tensor.{info.name}_") is not None and offered(framework, info)]


def offered(framework, info):
    """True; but the harness on PyTorch itself runs what a finished library has, not all."""
    return framework.root is not torch or bool(
        {info.name, *(alias.name for alias in info.aliases)} & set(EXPECTED))


def main_call(framework, info):
    """The function of the OpInfo's name; where PyTorch has none of that name, the method."""
    if info.name in CALLS:
        call = CALLS[info.name]
        known = framework.find(call.needs) is not None
        return (lambda *args, **kwargs: call(framework.root, *args, **kwargs)) if known else None
    if info.op is attribute(torch, info.name):
        return framework.find(info.name)
    if attribute(torch, info.name) is None and hasattr(torch.Tensor, info.name):
        return method(info.name) if framework.find(f"Tensor.{info.name}") is not None else None
    return None                    # its database calls it in a way of its own: CALLS must say how


def has_method(info):
    """Whether the main call is a function and PyTorch has the same thing as a method, too."""
    return (info.name not in CALLS and attribute(torch, info.name) is info.op
            and info.method_variant is not None)


def method(name):
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def attribute(root, dotted):
    for part in dotted.split("."):
        root = getattr(root, part, None)
    return root


def samples(case, dtype, requires_grad=False, reference=False):
    """The OpInfo's samples in one dtype, the same ones each time; evenly thinned above LIMIT.

    With `reference` its larger set, which is about values: broadcasting, mixed dtypes, extremes.
    The OpInfo's own functions are called: `sample_inputs()` reads the whole stack for each sample.
    """
    torch.manual_seed(0)
    info = case.info
    make = reference and info.reference_inputs_func or info.sample_inputs_func
    every = list(make(info, "cpu", dtype, requires_grad))
    return every[::-(-len(every) // LIMIT) or 1]


def wrong_samples(case):
    """The OpInfo's error inputs."""
    torch.manual_seed(0)
    return list(case.info.error_inputs_func(case.info, "cpu")) if has_wrong_samples(case) else []


def has_wrong_samples(case): return case.info.error_inputs_func is not None


def specials(case, dtype, requires_grad=False):
    """Samples no OpInfo has: infinities, nan, both zeros and borders of domains, each with each."""
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 1e-8, -1e-8, 30.0, -30.0, 100.0, -100.0,
             float("inf"), float("-inf"), float("nan")]
    x = torch.tensor(edges, dtype=dtype)
    if isinstance(case.info, BinaryUfuncInfo):
        n = len(edges)
        x, y = x.repeat_interleave(n), x.repeat(n)
        return [plain_sample(x.requires_grad_(requires_grad), y.requires_grad_(requires_grad))]
    if isinstance(case.info, UnaryUfuncInfo):
        kwargs = case.info.sample_kwargs("cpu", dtype, x)[0]
        return [plain_sample(x.requires_grad_(requires_grad), **kwargs)]
    return []


def plain_sample(input, *args, **kwargs):
    return SimpleNamespace(input=input, args=args, kwargs=kwargs)


def describe(sample):
    """The sample in one line: shapes in place of numbers."""
    def leaf(value):
        if not isinstance(value, torch.Tensor):
            return Shown(str(value) if isinstance(value, torch.dtype) else repr(value))
        kind = str(value.dtype).removeprefix("torch.")
        strided = "" if value.is_contiguous() else " strided"
        values = f"={value.tolist()}" if value.numel() <= 1 else ""
        return Shown(f"<{kind} {tuple(value.shape)}{strided}{values}>")
    parts = [repr(convert(value, leaf)) for value in (sample.input, *sample.args)]
    parts += [f"{name}={convert(value, leaf)!r}" for name, value in sample.kwargs.items()]
    return ", ".join(parts)


class Shown(str):
    """A string that prints without quotes inside lists and tuples."""
    __repr__ = str.__str__
