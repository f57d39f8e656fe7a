"""The same work on the CPU and on a device: the same numbers, and nothing crosses over meanwhile."""
import importlib

import numpy as np

import tinytorch as torch

from .strict import assert_there, traffic
from .test_device_ops import all_same, first_order, second_order

Call = importlib.import_module("..05_autograd.samples", __package__).Call


def made(make, where):
    """The same module on a device: drawn on the CPU from one seed, then moved."""
    torch.manual_seed(0)
    return make().to(where)


def close(got, expected):
    assert_there(got, "cuda")
    np.testing.assert_allclose(got.numpy(force=True), expected.numpy(force=True), rtol=2e-5,
                               atol=1e-6)


def layer_alike(make, x, device, call=lambda layer, x: layer(x), may_wait=True):
    """Output, buffers and gradients of input and parameters of a layer, for an array x.

    may_wait: whether the CPU may wait for the device, as to look at an index.
    """
    def run(where):
        layer, leaf = made(make, where), torch.tensor(x, device=where, requires_grad=True)
        traffic.clear()
        out = call(layer, leaf)
        (out * out + out).sum().backward()
        crossed = traffic.counts()
        grads = [p.grad for p in layer.parameters()]
        return [out.detach(), leaf.grad, *grads, *layer.buffers()], crossed

    expected, _ = run("cpu")
    got, (to_host, to_device, waits) = run(device)
    assert len(got) == len(expected) and (to_host, to_device) == (0, 0)
    assert may_wait or not waits
    for g, e in zip(got, expected):
        close(g, e)


def op_alike(op, samples, device):
    """Results and first and second derivatives of an op, for each (inputs, options)."""
    for inputs, params in samples:
        call = Call(*inputs, **params)
        expected, expected_grads, _ = first_order(op, call, "cpu")
        outs, grads, crossed = first_order(op, call, device)
        all_same(outs, expected)
        all_same(grads, expected_grads)
        assert crossed[:2] == (0, 0)
        all_same(second_order(op, call, device), second_order(op, call, "cpu"))
