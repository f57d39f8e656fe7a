"""Writing in place while gradients are recorded: each gradient is right, or it is an error."""
import pytest

import tinytorch as torch

from .differences import S, W, Y, right, right_or_error, squares

# ---- by hand ----

def test_by_hand():
    """y = 3x; y[0] = w: x[0] gets nothing, x[1] gets 3, w gets 1"""
    x, w = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1., 2.], 5.)]
    y = x * 3
    y[0] = w
    (y * torch.tensor([10., 100.])).sum().backward()
    assert x.grad.tolist() == [0., 300.] and w.grad.item() == 10.


def test_written_through_a_view_by_hand():
    """v = y[0]; v += w: both v and y know w"""
    x, w = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1., 2.], 5.)]
    y = x * 3
    v = y[0]
    v += w
    assert y.tolist() == [8., 6.]
    (y * y).sum().backward()
    assert w.grad.item() == 16. and x.grad.tolist() == [48., 36.]


# ---- reading and writing by index ----

def item(y, w, s):
    y = y * 1
    y[0, 1] = s
    return squares(y)
def row(y, w, s):
    y = y * 1
    y[1] = w * s
    return squares(y, w)
def column(y, w, s):
    y = y * 1
    y[:, 1] = w[:2]
    return squares(y)
def broadcast(y, w, s):
    y = y * 1
    y[:] = w
    y[:, 0] = s
    return squares(y)
def add_row(y, w, s):
    y = y * 1
    y[0:1] += w
    return squares(y)
def add_element(y, w, s):
    y = y * 1
    y[0, 0] += s
    y[1, 2] -= s * s
    return squares(y)
def scaled_slice(y, w, s):
    y = y * 1
    y[:, 1:] *= s
    return squares(y)
def mask(y, w, s):
    y = y * 1
    y[y > 1] = s
    return squares(y)
def mask_many(y, w, s):
    y = y * 1
    y[torch.tensor([[True, False, True], [False, True, False]])] = w
    return squares(y)
def by_list(y, w, s):
    y = y * 1
    y[[1, 0], [2, 0]] = w[:2]
    return squares(y)
def by_tensor(y, w, s):
    y = y * 1
    y[:, torch.tensor([2, 0])] = w[1:]
    return squares(y)
def from_itself(y, w, s):
    y = y * 1
    y[0] = y[1] * 2
    return squares(y)
def shifted(y, w, s):
    y = y * 1
    y[:, :2] = y[:, 1:]
    return squares(y)
def twice(y, w, s):
    y = y * 1
    y[0] = w
    y[0, 1] = s
    return squares(y)
def extra_ones(y, w, s):
    y = y * 1
    y[0] = w.reshape(1, 1, 3)
    return squares(y)
def number(y, w, s):
    y = y * 1
    y[0] = 5.
    return squares(y) * s
def empty(y, w, s):
    y = y * 1
    y[0, 0:0] = w[0:0]
    return squares(y)
def everything(y, w, s):
    y = y * 1
    y[...] = w * s
    return squares(y)
def new_axis(y, w, s):
    y = y * 1
    y[:, None, 1] = w[1:].reshape(2, 1)
    return squares(y)


@pytest.mark.parametrize("case", [
    item, row, column, broadcast, add_row, add_element, scaled_slice, mask, mask_many, by_list,
    by_tensor,
    from_itself, shifted, twice, extra_ones, number, empty, everything, new_axis],
    ids=lambda f: f.__name__)
def test_assignment(case):
    right(case, Y, W, S)


# ---- methods and operators in place ----

METHODS = {
    "add_": lambda y, w, s: y.add_(w), "+=": lambda y, w, s: y.__iadd__(s * w),
    "alpha": lambda y, w, s: y.add_(w, alpha=3), "sub_": lambda y, w, s: y.sub_(w),
    "add number": lambda y, w, s: y.add_(2), "mul number": lambda y, w, s: y.mul_(2),
    "div number": lambda y, w, s: y.div_(2), "zero_": lambda y, w, s: y.zero_(),
    "mul_": lambda y, w, s: y.mul_(w), "div_": lambda y, w, s: y.div_(w),
    "fill_": lambda y, w, s: y.fill_(s), "copy_": lambda y, w, s: y.copy_(w * s),
    "exp_": lambda y, w, s: y.exp_(), "tanh_": lambda y, w, s: y.tanh_(), "relu_": lambda y, w,
    s: y.relu_(),
    "sigmoid_": lambda y, w, s: y.sigmoid_(), "neg_": lambda y, w, s: y.neg_(),
    "pow_": lambda y, w, s: y.pow_(2), "clamp_": lambda y, w, s: y.clamp_(-1, 1),
    "abs_": lambda y, w, s: y.abs_(), "sin_": lambda y, w, s: y.sin_(), "square_": lambda y, w,
    s: y.square_(),
    "masked_fill_": lambda y, w, s: y.masked_fill_(w > 0, s), "cumsum_": lambda y, w,
    s: y.cumsum_(1),
    "index_add_": lambda y, w, s: y.index_add_(0, torch.tensor([0]), w.reshape(1, 3)),
    "scatter_": lambda y, w, s: y.scatter_(1, torch.tensor([[2]]), w[:1].reshape(1, 1)),
    "addcmul_": lambda y, w, s: y.addcmul_(w, w), "lerp_": lambda y, w, s: y.lerp_(w, 0.3),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("through", ["whole", "row", "transposed"])
def test_methods(name, through):
    """Each in-place method on a tensor, and on a view of it"""
    def f(y, w, s):
        y = y * 1
        view = {"whole": y, "row": y[1:], "transposed": y.mT.mT}[through]
        METHODS[name](view, w, s)
        return squares(y, w)
    right(f, Y, W, S)


# ---- what is wrong in silence elsewhere, and must be right or an error ----

def siblings(y, w, s):
    y = y * 1
    a, b = y[0], y[1]
    a += w
    b *= 3
    a -= b * s
    return squares(a, y, b)
def written_under_no_grad_view(y, w, s):
    y = y * 1
    with torch.no_grad():
        v = y[0]
    v += w
    return squares(y)
def buffer_view_under_no_grad(y, w, s):
    out = torch.zeros(3, dtype=torch.float64)
    with torch.no_grad():
        v = out[1:]
    v += w[1:]
    return squares(out) + squares(s)
def parts_of_a_split(y, w, s):
    y = y * 1
    a, b = y.split(1)
    a += w
    return squares(y, b)
def unbound_rows(y, w, s):
    y = y * 1
    rows = y.unbind()
    y[1] = w
    rows[0].mul_(s)
    return squares(*rows, y)
def recurrent_without_clone(y, w, s):
    h = torch.zeros(4, dtype=torch.float64)
    for t in range(1, 4):
        h[t] = h[t - 1] * s + w[t - 1]
    return squares(h)
def repeated_places(y, w, s):
    y = y * 1
    y[0, [1, 1]] = w[:2]
    return squares(y)
def repeated_scatter(y, w, s):
    return squares(y.scatter(1, torch.tensor([[1, 1], [0, 2]]), w[:2].expand(2, 2) * s))
def used_then_written(y, w, s):
    y = y * 1
    z = y * y
    y += w
    return squares(z)
def used_then_written_elsewhere(y, w, s):
    y = y * 1
    z = y[0] * y[0]
    y[1] += w
    return squares(z, y)
def output_written(y, w, s):
    z = y.exp()
    z2 = z * 2
    z += s
    return squares(z, z2)
def times_itself(y, w, s):
    y = y * 1
    y *= y
    return squares(y)
def detached(y, w, s):
    y = y * 1
    y.detach().add_(1.)
    return squares(y)
def detached_after_use(y, w, s):
    y = y * 1
    z = y * y
    y.detach().add_(1.)
    return squares(z)
def numbers_written_under_no_grad(y, w, s):
    y = y * 1
    z = y.sigmoid()
    with torch.no_grad():
        y += 3.
        z[0] += 1.
    return squares(y, z)
def expanded(y, w, s):
    wide = w.expand(2, 3) * 1
    wide[0] = s
    return squares(wide)
def matmul_input(y, w, s):
    y = y * 1
    z = y @ w
    y[0, 0] = s
    return squares(z)
def indexed_then_index_changed(y, w, s):
    index = torch.tensor([0, 1, 1])
    z = w[index]
    index += 1
    return squares(z)
def mask_changed_after_use(y, w, s):
    m = w > 0
    z = w.masked_fill(m, 0.)
    m[:] = True
    return squares(z)


@pytest.mark.parametrize("case", [
    siblings, written_under_no_grad_view, buffer_view_under_no_grad, parts_of_a_split, unbound_rows,
    recurrent_without_clone, repeated_places, repeated_scatter, used_then_written,
    used_then_written_elsewhere, output_written, detached_after_use, numbers_written_under_no_grad,
    expanded, matmul_input, indexed_then_index_changed, mask_changed_after_use, times_itself,
    detached],
    ids=lambda f: f.__name__)
def test_right_or_an_error(case):
    right_or_error(case, Y, W, S)


def test_which_of_them_are_errors():
    """What PyTorch refuses, we refuse: the numbers that backward needs are gone"""
    for case in (used_then_written, matmul_input, detached_after_use, mask_changed_after_use,
                 indexed_then_index_changed):
        assert right_or_error(case, Y, W, S) is False, case.__name__
    for case in (expanded, detached):
        assert right_or_error(case, Y, W, S) is True, case.__name__


def test_the_error_names_the_op_and_the_way_out():
    y = torch.tensor([1., 2.], requires_grad=True) * 1
    z = (y * y).sum()
    y += 1
    with pytest.raises(RuntimeError, match=r"(?s)\(2,\).*multiply.*clone"):
        z.backward()


@pytest.mark.parametrize("write", [
    lambda y: y.__setitem__(0, 9.), lambda y: y.add_(1), lambda y: y[1:].zero_(),
    lambda y: y.mT.fill_(1.),
    lambda y: y.normal_(), lambda y: y.data.__setitem__(0, 9.) or torch.core.backend.wrote(y.data)],
    ids=["item", "add_", "slice", "mT", "normal_", "array and wrote()"])
def test_every_way_of_writing_is_seen(write):
    """Also under no_grad, where no history tells"""
    y = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True) * 1
    loss = (y * y).sum()
    with torch.no_grad():
        write(y)
    with pytest.raises(RuntimeError, match="in place"):
        loss.backward()


def test_what_needs_no_numbers_may_be_written():
    """x + 1 and x.sum() keep nothing: writing afterwards does no harm"""
    x = torch.tensor([1., 2.], requires_grad=True)
    y = x * 1
    loss = (y + 5).sum() + y.sum()
    y += 100
    loss.backward()
    assert x.grad.tolist() == [2., 2.]


# ---- higher order ----

def test_second_derivatives_through_writes():
    """Inside higher_order() an in-place write is right to second order, or an error"""
    x = torch.tensor([2., 3.], dtype=torch.float64, requires_grad=True)
    with torch.autograd.higher_order():
        try:
            y = x * 1
            y[0] = x[1] * x[1]
            v = y[1:]
            v += x[0]
            (g,) = torch.autograd.grad((y * y * y).sum(), x, create_graph=True)
            (h,) = torch.autograd.grad(g.sum(), x)
        except RuntimeError:
            return
    # f = x1**6 + (x1 + x0)**3
    assert g.tolist() == pytest.approx([75., 6 * 243. + 75.])
    assert h.tolist() == pytest.approx([60., 30 * 81. + 60.])
