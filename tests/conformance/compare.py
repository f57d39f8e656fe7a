"""Whether an output of the library is PyTorch's: type, structure, dtype, shape and numbers."""
import torch
from torch.testing._comparison import default_tolerances


class Differs(Exception):
    """The library and PyTorch do not agree on this sample."""


def compare(framework, ours, theirs, numbers=True, what="the result", **tolerance):
    """Raise `Differs` unless `ours`, of the framework, equals PyTorch's `theirs`, nested or not."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(ours, framework.Tensor):
            raise Differs(f"{what} is {type(ours).__name__}, not a tensor")
        compare_tensors(framework.judged(ours), theirs.detach(), numbers, what, **tolerance)
    elif isinstance(theirs, (list, tuple)):
        compare_sequences(framework, ours, theirs, numbers, what, **tolerance)
    elif type(ours) is not type(theirs) or (ours != theirs and ours == ours):
        raise Differs(f"{what} is {ours!r}, PyTorch's {theirs!r}")


def compare_sequences(framework, ours, theirs, numbers, what, **tolerance):
    kind = tuple if isinstance(theirs, tuple) else (list, tuple)
    if not isinstance(ours, kind) or len(ours) != len(theirs):
        raise Differs(f"{what} is {outline(ours)}, PyTorch's {outline(theirs)}")
    for i, (our, their) in enumerate(zip(ours, theirs)):
        compare(framework, our, their, numbers, f"{what}[{i}]", **tolerance)
    for name, i in field_positions(theirs).items():
        if getattr(ours, name, None) is not ours[i]:
            raise Differs(f"{what} has no .{name}")


def compare_tensors(ours, theirs, numbers, what, **tolerance):
    """Both are PyTorch tensors here."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        raise Differs(f"{what} is {outline(ours)}, PyTorch's {outline(theirs)}")
    if numbers and not torch.equal(ours, theirs):      # equal costs a tenth of assert_close
        try:
            torch.testing.assert_close(ours, theirs, equal_nan=True, **tolerance)
        except AssertionError:
            raise Differs(f"{what}: {worst(ours, theirs, **tolerance)}") from None


def worst(ours, theirs, **tolerance):
    """The element that is furthest out of tolerance, in one line."""
    rtol, atol = (tolerance.get(k, default) for k, default in zip(
        ("rtol", "atol"), default_tolerances(ours, theirs)))
    ours, theirs = ours.double().flatten(), theirs.double().flatten()
    close = torch.isclose(ours, theirs, rtol, atol, equal_nan=True)
    gap = ((ours - theirs).abs() / (atol + rtol * theirs.abs())).nan_to_num(torch.inf)
    at = int(torch.where(close, -1.0, gap).argmax())
    return (f"{ours[at].item()!r} where PyTorch has {theirs[at].item()!r} "
            f"(element {at} of {len(ours)}; {int((~close).sum())} differ)")


def field_positions(theirs):
    """Name -> position of the entries of a torch.return_types tuple; empty for other sequences."""
    if type(theirs) in (tuple, list, torch.Size):
        return {}
    names = [n for n in dir(theirs) if n not in dir(tuple) and not n.startswith(("_", "n_"))]
    return {n: [getattr(theirs, n) is v for v in theirs].index(True) for n in names}


def outline(value):
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__
