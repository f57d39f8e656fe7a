"""The seam: what an Op does with tensors and arrays, and whom it tells."""
import copy
import pickle
import threading

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.core import ops
from tinytorch.core.base import METHODS, method, record_with, this_thread
from tinytorch.core.op import Op, op
from tinytorch.core.tensor import as_array

from .support import same

Tensor = torch.Tensor


@pytest.fixture
def heard():
    """A list that hears of every op of this thread, and nothing else does."""
    events = []
    before = record_with(lambda *event: events.append(event))
    yield events
    record_with(before)


def halved(x, by=2): return x / by, "kept"
def ends(x): return x[:1], x[-1:]
def scaled(x, y, factor=1, dim=None): return x * y * factor if dim is None else x.sum(dim)


# ---- tensors and arrays ----

def test_a_tensor_in_makes_a_tensor_out():
    same(op(scaled)(Tensor([1., 2.]), 3., factor=10), [30., 60.], "float32")
    same(op(scaled)(3., Tensor([1., 2.])), [3., 6.])


def test_arrays_alone_give_an_array(heard):
    """So that ops and rules can use ops; and nobody is told"""
    out = ops.multiply(np.array([1., 2.]), 3)
    assert type(out) is np.ndarray and out.tolist() == [3., 6.]
    assert type(Op(halved, keeps=True)(np.array([2.]))) is np.ndarray
    assert [type(x) for x in Op(ends, outputs=True)(np.array([1., 2.]))] == [np.ndarray] * 2
    assert heard == []


def test_a_copy_is_the_op_itself():
    """Rules and kernels are found by it: a layer that is copied or pickled keeps its activation's gradient"""
    layer = [ops.multiply]
    for twin in copy.deepcopy(layer), copy.copy(layer), pickle.loads(pickle.dumps(layer)):
        assert twin[0] is ops.multiply


def test_the_inputs_are_left_as_they_were():
    x, y = Tensor([1., 2.]), np.array([3., 4.], "float32")
    same(ops.multiply(x, y), [3., 8.])
    same(x, [1., 2.])
    assert y.tolist() == [3., 4.]


def test_the_op_is_the_function_with_a_name():
    made = op(scaled)
    assert (made.name, made.forward) == ("scaled", scaled)
    assert made.__doc__ == scaled.__doc__ and repr(made) == "<op scaled>"
    assert ops.matmul.forward(np.eye(2), np.ones(2)).tolist() == [1., 1.]


# ---- who is told ----

def test_the_recorder_hears_everything(heard):
    x = Tensor([1., 2.])
    out = ops.multiply(x, 3)
    [(told_op, inputs, arrays, params, result, told_out)] = heard
    assert told_op is ops.multiply and told_out is out and result is out.data
    assert inputs[0] is x and arrays[0] is x.data and (inputs[1], arrays[1]) == (3, 3)
    assert params == {}


def test_each_op_is_heard_once(heard):
    x = Tensor([[1., 2.], [3., 4.]])
    (x @ x).sum(0).reshape(2, 1)
    assert [event[0].name for event in heard] == ["matmul", "sum", "reshape_to"]


def test_kept_numbers_go_to_the_recorder_only(heard):
    same(Op(halved, keeps=True)(Tensor([2., 4.]), by=4), [0.5, 1.])
    [(_, _, _, params, result, out)] = heard
    assert params == {"by": 4} and result[0] is out.data and result[1] == "kept"


def test_several_outputs(heard):
    first, last = Op(ends, outputs=True)(Tensor([1., 2., 3.]))
    same(first, [1.])
    same(last, [3.])
    assert heard[0][5] == (first, last) or [t is u for t, u in zip(heard[0][5], (first, last))]


def test_numpys_keywords_become_pytorchs(heard):
    op(scaled)(Tensor([[1., 2.]]), 1., axis=1)
    assert heard[0][3] == {"dim": 1}


def test_a_tensor_by_keyword_takes_its_position(heard):
    """Otherwise it would land among the parameters and have no gradient"""
    x, y = Tensor([1., 2.]), Tensor([10., 20.])
    same(op(scaled)(x, y=y, factor=2), [20., 80.])
    assert heard[0][1][:2] == (x, y) or heard[0][1][1] is y
    same(torch.add(input=x, other=y), [11., 22.])
    assert heard[1][1][0] is x and heard[1][1][1] is y


def test_an_unknown_parameter_is_a_type_error():
    with pytest.raises(TypeError, match="colour"):
        op(scaled)(Tensor([1.]), 1., colour=3)


def test_record_with_returns_who_was_there():
    def first(*event): pass
    def second(*event): pass
    start = record_with(first)
    assert record_with(second) is first
    assert record_with(start) is second


def test_a_recorder_is_of_this_thread_only():
    """Another thread uses the default of the process, whatever is set here"""
    default, events, seen = type(this_thread).recorder, [], []
    before = record_with(lambda *event: events.append(event))
    try:
        def other(): seen.append((this_thread.recorder, Tensor([1.]) * 2))
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert events == [] and seen[0][0] is default
        same(seen[0][1], [2.])
        Tensor([1.]) * 2
        assert len(events) == 1
    finally:
        record_with(before)


def test_everywhere_is_the_default_of_threads():
    """record_with(everywhere=True) holds for threads that set none of their own"""
    holder, events = type(this_thread), []
    default = holder.__dict__["recorder"]
    try:
        record_with(lambda *event: events.append(event[0].name), everywhere=True)
        thread = threading.Thread(target=lambda: Tensor([1.]) - 2)
        thread.start()
        thread.join()
        assert events == ["subtract"]
        silent = threading.Thread(target=lambda: (record_with(None), Tensor([1.]) - 2))
        silent.start()
        silent.join()
        assert events == ["subtract"]
    finally:
        holder.recorder = default


def test_the_recorder_changes_no_number():
    """Watched or not, the results are the same to the last bit"""
    x = Tensor(np.linspace(-2, 2, 12).reshape(3, 4))
    def compute(): return (x.exp() @ x.mT).var(1, keepdim=True).masked_fill(x.sum(1, True) > 0, 7)
    before = record_with(None)
    quiet = compute()
    record_with(lambda *event: None)
    watched = compute()
    record_with(before)
    assert np.array_equal(quiet.data, watched.data) and quiet.dtype == watched.dtype


# ---- kernels ----

def test_a_kernel_takes_the_place_of_the_forward(heard):
    made = Op(halved, keeps=True)

    @made.kernel(np.ndarray)
    def fast(x, by=2): return x / by + 1000, "fast"

    same(made(Tensor([2.])), [1001.])
    same(made(Tensor([2.]), by=4), [1000.5])
    assert heard[0][4][1] == "fast"
    assert made(np.array([2.])).tolist() == [1001.] and fast(np.array([2.]))[1] == "fast"


def test_a_kernel_for_other_arrays_is_not_used():
    made = op(scaled)
    made.kernel(list)(lambda *args: 1 / 0)
    same(made(Tensor([2.]), 3.), [6.])


# ---- methods ----

def test_ops_and_functions_become_methods():
    """@op(method=True) and @method add names to Tensor without touching the class"""
    @op(method=True)
    def thrice(x): return x * 3

    @method
    def thrice_plus(x, y): return thrice(x) + y

    try:
        same(Tensor([2.]).thrice(), [6.])
        same(Tensor([2.]).thrice_plus(1), [7.])
        assert "thrice" in dir(Tensor([2.])) and "thrice_plus" in dir(Tensor([2.]))
        x = Tensor([2.])
        assert x.thrice_() is x
        same(x, [6.])
    finally:
        del METHODS["thrice"], METHODS["thrice_plus"]
    with pytest.raises(AttributeError, match="thrice"):
        Tensor([2.]).thrice()


def test_an_unknown_name_is_an_attribute_error():
    for name in ("banana", "banana_", "_private", "__wrapped__", "_"):
        with pytest.raises(AttributeError, match=name):
            getattr(Tensor([1.]), name)


# ---- errors ----

def test_shapes_that_do_not_fit():
    """A RuntimeError with the op's name and both shapes, not NumPy's ValueError"""
    with pytest.raises(RuntimeError, match=r"multiply.*\(2,\).*\(3,\)"):
        Tensor([1., 2.]) * Tensor([1., 2., 3.])


def test_an_axis_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError, match=r"(?s)transpose.*\(2,\)"):
        Tensor([1., 2.]).transpose(0, 1)


def test_numbers_an_op_is_not_defined_for():
    """- and ~ of what has no such thing: RuntimeError with the dtype"""
    with pytest.raises(RuntimeError, match="bool"):
        -Tensor([True])
    with pytest.raises(RuntimeError, match="float32"):
        ~Tensor([1.])
    with pytest.raises(RuntimeError, match="float32"):
        Tensor([1.]) & Tensor([2.])


def test_what_the_caller_raises_stays():
    def broken(x): raise KeyError("mine")
    with pytest.raises(KeyError, match="mine"):
        op(broken)(Tensor([1.]))


def test_a_string_is_no_operand():
    for y in ("three", None, object()):
        with pytest.raises((TypeError, RuntimeError)):
            Tensor([1.]) + y


# ---- the small helpers of the lesson ----

def test_infer_shape():
    assert ops.infer_shape((2, -1, 4), 24) == (2, 3, 4)
    assert ops.infer_shape([6], 6) == (6,)
    assert ops.infer_shape((), 1) == ()
    assert ops.infer_shape((-1, 3), 0) == (0, 3)
    for shape, count in [((4, -1), 6), ((4, 2), 6), ((-1, -1), 6), ((0, -1), 0), ((-2, -3), 6),
                         ((-1, -2), 6), ((), 2)]:
        with pytest.raises(RuntimeError, match=str(count)):
            ops.infer_shape(shape, count)


def test_counted_and_axes():
    assert ops.counted((2, 3, 4), None) == 24
    assert ops.counted((2, 3, 4), -1) == 4
    assert ops.counted((2, 3, 4), (0, 2)) == 8
    assert ops.counted((), None) == 1
    assert ops.axes([0, 2]) == (0, 2) and ops.axes([]) is None and ops.axes(1) == 1


def test_places_of():
    """x[places_of(index, dim)] is what gather picks"""
    x, index = np.arange(12).reshape(3, 4), np.array([[3, 0], [1, 1], [0, 2]])
    assert x[ops.places_of(index, 1)].tolist() == [[3, 0], [5, 5], [8, 10]]


def test_flat_product():
    x, y = np.arange(12.).reshape(2, 2, 3), np.array([[1.], [10.], [100.]])
    assert ops.flat_product(x, y).tolist() == [[[210.], [543.]], [[876.], [1209.]]]


# ---- from Python to numbers ----

def test_as_array_dtypes():
    for data, dtype in [([1, 2.5], "float32"), ([1, 2], "int64"), ([True], "bool"),
                        (2.5, "float32"),
                        (True, "bool"), ([], "float32"), (np.float64(2), "float64"),
                        (np.float16(2), "float16"), (np.array([1, 2], "int32"), "int32"),
                        ([True, 2], "int64"), ([True, 2.5], "float32"),
                        ([np.float32(1), np.float32(2)], "float32")]:
        assert str(as_array(data).dtype) == dtype, data
    assert as_array([1, 2], "float64").tolist() == [1., 2.]
    assert as_array([1.9], "int64").tolist() == [1]


def test_as_array_copies():
    source = np.array([[1., 2.]])
    array = as_array(source)
    source[0, 0] = 100
    assert array.tolist() == [[1., 2.]]
    tensor = Tensor([1., 2.])
    assert not np.shares_memory(as_array(tensor), tensor.data)


def test_as_array_of_tensors_in_lists():
    out = as_array([[Tensor(1.), Tensor([2.]).reshape(())], [Tensor(3.), Tensor(4.)]])
    assert out.tolist() == [[1., 2.], [3., 4.]] and str(out.dtype) == "float32"
    assert as_array([Tensor([1, 2]), Tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("data", ["three", None, ["a"], [None], object(), {1: 2}, [1j]])
def test_as_array_of_no_numbers(data):
    with pytest.raises(TypeError):
        as_array(data)


def test_as_array_of_unequal_lists():
    for data in ([[1, 2], [3]], [1, [2]], [[[1]], [[2, 3]]]):
        with pytest.raises(ValueError, match="length"):
            as_array(data)
