"""What is not compared, and why: one line each, in words a reader can disagree with.

An exclusion names a feature that the library leaves out on purpose. It is never there to excuse a
wrong number, and one that excludes nothing is an error (test_table.py).
"""
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import torch

from .frameworks import convert


@dataclass(frozen=True)
class Exclusion:
    """Leaves out the samples for which `when` holds, of the operations named, or `*`."""
    ops: str                      # names, separated by blanks
    when: Callable
    why: str
    aspect: str = "*"             # values, specials, gradients, differences, second or errors

    def covers(self, case, aspect, sample):
        return (fnmatchcase(aspect, self.aspect)
                and (self.names(case.id) or self.names(case.info.name)) and self.when(sample))

    def names(self, name): return any(fnmatchcase(name, op) for op in self.ops.split())


def leaves(sample):
    """Everything in the sample that is no list, tuple or dictionary."""
    found = []
    convert((sample.input, sample.args, sample.kwargs), found.append)
    return found


def uses_dtype(*dtypes):
    """The sample holds a tensor of one of these dtypes, or asks for one."""
    def when(sample):
        return any((v.dtype if isinstance(v, torch.Tensor) else v) in dtypes
                   for v in leaves(sample) if isinstance(v, (torch.Tensor, torch.dtype)))
    return when


def uses_number(kind):
    return lambda sample: any(isinstance(v, kind) for v in leaves(sample))


def uses_keyword(*names):
    return lambda sample: any(name in sample.kwargs for name in names)


def has_no_tensor(sample):
    return not any(isinstance(v, torch.Tensor) for v in leaves(sample))


def begins_with_number(sample):
    """A number and a tensor, or the two numbers 2 and 3, which PyTorch tries on every function of
    two tensors.
    """
    return isinstance(sample.input, (int, float)) and len(sample.args) == 1 and (
        isinstance(sample.args[0], torch.Tensor) or (sample.input, *sample.args) == (2, 3))


def ends_with_number(sample): return isinstance(sample.args[0], (int, float))


def dimensions_above(most):
    return lambda sample: any(v.dim() > most for v in leaves(sample) if isinstance(v, torch.Tensor))


def wants_singular_values(sample):
    order = sample.kwargs.get("ord", sample.kwargs.get("p", (*sample.args, None)[0]))
    dims = sample.kwargs.get("dim", (*sample.args, None, None)[1])
    return order == "nuc" or (order in (2, -2) and (dims is None and sample.input.dim() == 2
                                                    or isinstance(dims, tuple) and len(dims) == 2))


def names_a_place_twice(sample):
    """Among the indices (N, C, ...) of one channel two are equal."""
    return any(len(row.unique()) < len(row) for row in sample.args[0].flatten(2).flatten(0, 1))


def always(sample): return True


COMPLEX = (torch.complex32, torch.complex64, torch.complex128)

EXCLUSIONS = [
    Exclusion("*", uses_dtype(*COMPLEX), "There are no complex tensors."),
    Exclusion("*", uses_number(complex), "There are no complex tensors."),
    Exclusion("*", uses_keyword("out"), "There is no out=: results are new tensors."),
    Exclusion("__r*__", lambda sample: not isinstance(sample.input, torch.Tensor),
              "The method of a Python number is Python's."),
    Exclusion("*", uses_dtype(torch.bfloat16), "NumPy has no bfloat16."),
    Exclusion("add sub mul div true_divide floor_divide where", has_no_tensor,
              "An operation called without tensors answers without them: gradient rules call "
              "operations on arrays.", "values"),
    Exclusion("*", begins_with_number,
              "An operation takes a number for its first operand.", "errors"),
    Exclusion("fmax fmin hypot maximum minimum logical_and logical_or logical_xor atan2 "
              "isclose logaddexp",
              ends_with_number, "An operation takes a number for its second operand.", "errors"),
    Exclusion("*", dimensions_above(64), "NumPy arrays have at most 64 dimensions.", "errors"),
    Exclusion("scatter", lambda sample: sample.kwargs.get("reduce") == "multiply",
              "scatter only adds: PyTorch has no gradient for its products and deprecates them."),
    Exclusion("norm linalg.norm linalg.matrix_norm", wants_singular_values,
              "There is no singular value decomposition."),
    Exclusion("nn.functional.max_unpool1d nn.functional.max_unpool2d", names_a_place_twice,
              "Of several numbers for one place the last one stays, and it alone has a gradient; "
              "PyTorch gives one to all.", "gradients"),
    Exclusion("nn.functional.batch_norm", lambda sample: sample.input.dim() < 2,
              "A vector has no dimension for channels, also an empty one."),
    Exclusion("nn.functional.scaled_dot_product_attention",
              lambda sample: sample.kwargs.get("dropout_p", 0.0) not in (0.0, 1.0),
              "Which weights are dropped is drawn, and no two libraries draw alike."),
    Exclusion("nn.functional.embedding", lambda sample: sample.kwargs.get("sparse"),
              "There are no sparse gradients, and sparse=True says so."),
    Exclusion("float", always, "float32 cannot see a step of 1e-6.", "differences"),
    Exclusion("half", always, "float16 cannot see a step of 1e-6.", "differences"),
]


def excluded(case, aspect, sample):
    """The reason why this sample is left out, or None."""
    return next((e.why for e in EXCLUSIONS if e.covers(case, aspect, sample)), None)


# The same for classes of layers and losses: name, predicate on (make, call), reason.
MODULE_EXCLUSIONS = [
    Exclusion("*", uses_dtype(*COMPLEX), "There are no complex tensors."),
]


def excluded_module(name, sample):
    """The reason why this sample of a class is left out, or None."""
    return next((e.why for e in MODULE_EXCLUSIONS if e.names(name)
                 and (e.when(sample.make) or e.when(sample.call))), None)
