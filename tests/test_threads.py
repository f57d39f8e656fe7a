"""Two threads, one set of parameters."""
import threading

import numpy as np

import tinytorch as torch


def together(*works):
    """Runs the functions in threads of their own, at once, and hands on what they raise."""
    errors, barrier = [], threading.Barrier(len(works))

    def run(work):
        try:
            barrier.wait(60)
            work()
        except BaseException as error:  # noqa: BLE001  (assertion errors too)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for error in errors:
        raise error


def test_gradients_of_two_threads_add_up_a_thousand_times():
    """Forward and backward through the same parameters: .grad is the sum of both, each time"""
    rng = np.random.default_rng(0)
    data = [torch.tensor(rng.integers(-3, 4, size=(4, 3)).astype("float64")) for _ in range(2)]
    start = rng.integers(-3, 4, size=(3, 2)).astype("float64")
    w = torch.tensor(start, requires_grad=True)
    b = torch.zeros(2, dtype=torch.float64, requires_grad=True)

    def loss(x, w, b): return ((x @ w + b) * (x @ w)).sum()

    expected = [0., 0.]
    for x in data:
        for i, g in enumerate(torch.autograd.grad(loss(x, w, b), [w, b])):
            expected[i] = expected[i] + g.numpy()
    rounds, wrong, barrier = 1000, [], threading.Barrier(2)

    def work(which):
        for i in range(rounds):
            loss(data[which], w, b).backward()
            barrier.wait(60)
            if which == 0:
                if not all(np.array_equal(t.grad.numpy(), e) for t, e in zip((w, b), expected)):
                    wrong.append(i)
                w.grad = b.grad = None
            barrier.wait(60)

    together(lambda: work(0), lambda: work(1))
    assert wrong == []


def test_no_grad_is_of_this_thread():
    """One thread looks away, the other one records all the while"""
    x = torch.tensor([1.], requires_grad=True)
    entered, leave = threading.Event(), threading.Event()

    def away():
        with torch.no_grad():
            entered.set()
            leave.wait(60)
            assert not (x * 2).requires_grad
        assert (x * 2).requires_grad

    def busy():
        entered.wait(60)
        try:
            assert (x * 2).requires_grad and torch.is_grad_enabled()
        finally:
            leave.set()

    together(away, busy)


def test_a_thread_started_inside_no_grad_records():
    """The block holds for the thread that entered it; a new thread starts with the default"""
    x, seen = torch.tensor([1.], requires_grad=True), []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append((x * 2).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


def test_a_graph_may_be_walked_in_another_thread():
    x = torch.tensor([2., 3.], requires_grad=True)
    loss = (x * x).sum()
    together(loss.backward)
    assert x.grad.tolist() == [4., 6.]


def test_higher_order_is_of_this_thread():
    x = torch.tensor(2., requires_grad=True)
    inside, done = threading.Event(), threading.Event()

    def higher():
        with torch.autograd.higher_order():
            inside.set()
            done.wait(60)
            (g,) = torch.autograd.grad(x ** 3, x, create_graph=True)
            assert torch.autograd.grad(g, x)[0].item() == 12.

    def plain():
        inside.wait(60)
        try:
            y = x * x
            assert isinstance(y.node.pull.__closure__[0].cell_contents, np.ndarray)
        finally:
            done.set()

    together(higher, plain)


def test_views_and_writes_in_two_threads():
    """Each thread writes into tensors of its own; nobody disturbs the other's write log"""
    w = torch.tensor([1., 2., 3.], dtype=torch.float64, requires_grad=True)

    def work():
        for _ in range(200):
            y = w * 1
            v = y[1:]
            v *= 2
            y[0] = 5.
            (y * y).sum().backward()

    together(work, work)
    assert w.grad.tolist() == [0., 2 * 200 * 2 * 4 * 2., 2 * 200 * 2 * 4 * 3.]
