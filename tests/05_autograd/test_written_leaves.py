"""Leaves are not written while somebody records, and a write that fails changes nothing."""
import pytest

import tinytorch as torch


@pytest.mark.parametrize("write", [
    lambda x: x.add_(1), lambda x: x.__setitem__(0, 1.), lambda x: x.__imul__(2),
    lambda x: x[0].add_(1),
    lambda x: x.reshape(-1).zero_(), lambda x: x.mT[0].copy_(torch.zeros(2)), lambda x: x.normal_(),
    lambda x: x[0][0].fill_(2.), lambda x: x.clamp_(0, 1), lambda x: x.unbind()[0].add_(1)],
    ids=["add_", "item", "*=", "row", "reshape", "mT", "normal_", "element", "clamp_", "unbind"])
def test_a_leaf_is_not_written_while_recorded(write):
    """Its gradient would belong to numbers that are gone; nothing is changed by the attempt"""
    x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        write(x)
    assert x.tolist() == [[1., 2.], [3., 4.]] and x.is_leaf and x.requires_grad
    (x * x).sum().backward()
    assert x.grad.tolist() == [[2., 4.], [6., 8.]]


def test_a_leaf_is_written_under_no_grad():
    """As optimisers do; a graph that still needs the old numbers says so"""
    x = torch.tensor([1., 2.], requires_grad=True)
    needs, needs_not = (x * x).sum(), (x * 3).sum()
    with torch.no_grad():
        x -= 0.5
        x[0] = 7.
        x.mul_(2)
    assert x.tolist() == [14., 3.] and x.is_leaf and x.requires_grad
    with pytest.raises(RuntimeError, match="in place"):
        needs.backward()
    needs_not.backward()
    assert x.grad.tolist() == [3., 3.]
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [28., 6.]


def test_a_leaf_that_wants_no_gradient_takes_over_a_history():
    """zeros += w makes the zeros a computed tensor"""
    w = torch.tensor([1., 2.], requires_grad=True)
    out = torch.zeros(2)
    out += w
    assert out.requires_grad and not out.is_leaf
    (out * out).sum().backward()
    assert w.grad.tolist() == [2., 4.] and out.grad is None


# ---- failed writes ----

def test_a_write_that_fails_changes_nothing():
    """Neither numbers nor history"""
    x, w = [torch.tensor(v, dtype=torch.float64, requires_grad=True)
            for v in ([1., 2.], [1., 2., 3.])]
    y = x * 3
    node = y.node
    for attempt in (lambda: y.add_(w), lambda: y.__setitem__(slice(None), w),
                    lambda: y.__setitem__(5, w[0]),
                    lambda: y.copy_(w)):
        with pytest.raises((RuntimeError, IndexError)):
            attempt()
        assert y.node is node and y.tolist() == [3., 6.]
    y.sum().backward()
    assert x.grad.tolist() == [3., 3.]


def test_a_history_does_not_fit_into_integers():
    """counts[0] = w would lose the gradient of w, and its fraction"""
    counts = torch.zeros(2, dtype=torch.int64)
    w = torch.tensor(1.5, requires_grad=True)
    with pytest.raises(RuntimeError):
        counts += w
    try:
        counts[0] = w
    except RuntimeError:
        return
    assert counts.tolist() == [1, 0] and not counts.requires_grad
