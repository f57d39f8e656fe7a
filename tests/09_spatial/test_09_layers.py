"""The layers of module 09: what they keep, draw, print, save and compute."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn import functional as F


def drawn(*shape, dtype="float32"):
    return torch.tensor(np.random.default_rng(5).normal(size=shape).astype(dtype))


def near(x, y, atol=1e-5):
    assert x.shape == y.shape
    np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), atol=atol)


# ---- convolutions ----

@pytest.mark.parametrize("layer, weight, bias", [
    (lambda: nn.Conv2d(3, 8, (5, 3)), (8, 3, 5, 3), (8,)),
    (lambda: nn.Conv1d(4, 6, 3, groups=2), (6, 2, 3), (6,)),
    (lambda: nn.Conv2d(4, 8, 1, bias=False), (8, 4, 1, 1), None),
    (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2), (4, 3, 3, 3), (6,)),
    (lambda: nn.ConvTranspose1d(2, 5, 4), (2, 5, 4), (5,))])
def test_shapes_of_the_weights(layer, weight, bias):
    """Channels out first, in a transposed convolution channels in"""
    made = layer()
    assert made.weight.shape == weight and (made.bias is None) == (bias is None)
    assert list(made.state_dict()) == ["weight", "bias"][:1 + (bias is not None)]
    assert bias is None or made.bias.shape == bias


@pytest.mark.parametrize("layer, numbers", [
    (lambda: nn.Conv2d(8, 64, 5), 8 * 25), (lambda: nn.Conv2d(8, 64, 5, groups=4), 2 * 25),
    (lambda: nn.ConvTranspose2d(64, 8, 5), 8 * 25), (lambda: nn.Conv1d(16, 300, 4), 64)])
def test_weights_are_drawn_evenly(layer, numbers):
    """Within 1 / sqrt(numbers in a window), the bias as well; reset_parameters draws them anew"""
    torch.manual_seed(0)
    made, bound = layer(), numbers ** -0.5
    first = made.weight.detach().numpy().copy()
    made.reset_parameters()
    for w in (first, made.weight.detach().numpy()):
        assert abs(w).max() <= bound and w.std() == pytest.approx(bound / 3 ** 0.5, rel=0.05)
    assert (first != made.weight.detach().numpy()).any() and abs(made.bias.detach().numpy()).max() <= bound


@pytest.mark.parametrize("layer, shown", [
    (nn.Conv2d(3, 8, 3), "Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1))"),
    (nn.Conv2d(4, 8, (3, 5), 2, (1, 2), 2, 4, False, "reflect"),
     "Conv2d(4, 8, kernel_size=(3, 5), stride=(2, 2), padding=(1, 2), dilation=(2, 2), groups=4, "
     "bias=False, padding_mode=reflect)"),
    (nn.Conv1d(1, 2, 3, padding="same"), "Conv1d(1, 2, kernel_size=(3,), stride=(1,), padding=same)"),
    (nn.ConvTranspose2d(2, 3, 3, 2, 1, 1),
     "ConvTranspose2d(2, 3, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1))"),
])
def test_convolutions_print_what_is_unusual(layer, shown):
    assert repr(layer) == shown


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding, margins", [
    ((2, 1), (1, 1, 2, 2)), ("same", (1, 1, 1, 2)), ("valid", (0,) * 4)])
def test_padding_modes(mode, padding, margins):
    """Padded first, in the mode, and then without padding; (left, right, top, bottom)"""
    layer, x = nn.Conv2d(2, 3, (4, 3), padding=padding, padding_mode=mode), drawn(2, 2, 6, 7)
    near(layer(x), F.conv2d(F.pad(x, margins, mode), layer.weight, layer.bias))


def test_layers_are_their_functions():
    x, row = drawn(2, 4, 6, 7), drawn(2, 4, 9)
    for layer, out in (
            (nn.Conv2d(4, 6, 3, 2, 1, 2, 2), lambda m: F.conv2d(x, m.weight, m.bias, 2, 1, 2, 2)),
            (nn.Conv2d(4, 6, (2, 3), padding="same"), lambda m: F.conv2d(x, m.weight, m.bias, 1, "same")),
            (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2, True, 2),
             lambda m: F.conv_transpose2d(x, m.weight, m.bias, 2, 1, 1, 2, 2))):
        near(layer(x), out(layer))
    conv, back = nn.Conv1d(4, 6, 3, 2, 1), nn.ConvTranspose1d(4, 6, 3, 2, 1, 1)
    near(conv(row), F.conv1d(row, conv.weight, conv.bias, 2, 1))
    near(back(row), F.conv_transpose1d(row, back.weight, back.bias, 2, 1, 1))


def test_a_wanted_output_size():
    """Conv2d with stride 2 makes 3 of 5 and of 6: the way back is told which"""
    layer, x = nn.ConvTranspose2d(1, 1, 3, 2, 1), drawn(1, 1, 3, 3)
    assert layer(x).shape == (1, 1, 5, 5) and layer(x, (6, 5)).shape == (1, 1, 6, 5)
    assert layer(x, output_size=(1, 1, 6, 6)).shape == (1, 1, 6, 6)
    for size in ((7, 5), (4, 5), (5,)):
        with pytest.raises(ValueError, match="output_size"):
            layer(x, size)


@pytest.mark.parametrize("make", [
    lambda: nn.Conv2d(3, 4, 3, groups=2), lambda: nn.Conv2d(4, 3, 3, groups=2),
    lambda: nn.Conv2d(4, 4, 3, groups=0),
    lambda: nn.Conv2d(1, 1, 3, padding="some"), lambda: nn.Conv2d(1, 1, 3, 2, "same"),
    lambda: nn.Conv2d(1, 1, 3, padding_mode="mirror"),
    lambda: nn.ConvTranspose2d(1, 1, 3, padding_mode="reflect"),
    lambda: nn.GroupNorm(3, 4), lambda: nn.Dropout2d(1.5)])
def test_arguments_that_do_not_fit(make):
    with pytest.raises(ValueError):
        make()


# ---- pools ----

@pytest.mark.parametrize("layer, function, shown", [
    (nn.MaxPool2d(3, 2, 1, ceil_mode=True), lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
     "MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=True)"),
    (nn.AvgPool2d((2, 3), padding=1, count_include_pad=False),
     lambda x: F.avg_pool2d(x, (2, 3), padding=1, count_include_pad=False),
     "AvgPool2d(kernel_size=(2, 3), stride=(2, 3), padding=1)"),
    (nn.LPPool2d(2, 2), lambda x: F.lp_pool2d(x, 2, 2),
     "LPPool2d(norm_type=2, kernel_size=2, stride=None, ceil_mode=False)"),
    (nn.AdaptiveAvgPool2d((None, 2)), lambda x: F.adaptive_avg_pool2d(x, (None, 2)),
     "AdaptiveAvgPool2d(output_size=(None, 2))"),
    (nn.AdaptiveMaxPool2d(3), lambda x: F.adaptive_max_pool2d(x, 3), "AdaptiveMaxPool2d(output_size=3)"),
    (nn.Unfold(2, stride=2), lambda x: F.unfold(x, 2, stride=2),
     "Unfold(kernel_size=2, dilation=1, padding=0, stride=2)")])
def test_pools(layer, function, shown):
    x = drawn(2, 3, 6, 7)
    near(layer(x), function(x))
    assert repr(layer) == shown


@pytest.mark.parametrize("layer, function, shown", [
    (nn.MaxPool1d(2), lambda x: F.max_pool1d(x, 2),
     "MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"),
    (nn.AvgPool1d(3, 2, 1), lambda x: F.avg_pool1d(x, 3, 2, 1),
     "AvgPool1d(kernel_size=(3,), stride=(2,), padding=(1,))"),
    (nn.AdaptiveAvgPool1d(4), lambda x: F.adaptive_avg_pool1d(x, 4), "AdaptiveAvgPool1d(output_size=4)"),
    (nn.AdaptiveMaxPool1d(4), lambda x: F.adaptive_max_pool1d(x, 4), "AdaptiveMaxPool1d(output_size=4)")])
def test_pools_of_rows(layer, function, shown):
    x = drawn(2, 3, 9)
    near(layer(x), function(x))
    assert repr(layer) == shown


def test_a_pool_and_its_way_back():
    """MaxUnpool2d takes values and indices; Fold adds up what Unfold laid out"""
    x = drawn(1, 2, 4, 7)
    values, where = nn.MaxPool2d(2, return_indices=True)(x)
    back = nn.MaxUnpool2d(2)(values, where, output_size=x.shape)
    assert back.shape == x.shape and back.sum().item() == pytest.approx(values.sum().item(), rel=1e-5)
    near(nn.Fold((4, 7), (1, 7))(nn.Unfold((1, 7))(x)), x)


# ---- norms ----

@pytest.mark.parametrize("layer, shape", [
    (nn.BatchNorm1d, (6, 3)), (nn.BatchNorm1d, (4, 3, 5)), (nn.BatchNorm2d, (2, 3, 4, 5)),
    (nn.BatchNorm3d, (2, 3, 2, 2, 3))])
def test_batch_norm_in_training(layer, shape):
    """Mean 0 and variance 1 in each channel; a tenth of the batch's goes into the running statistics"""
    x = drawn(*shape) * 3 + 2
    norm, dims = layer(3), (0, *range(2, len(shape)))
    out = norm(x)
    near(out.mean(dims), torch.zeros(3))
    near(out.var(dims, correction=0), torch.ones(3), 1e-3)
    near(norm.running_mean, 0.1 * x.mean(dims))
    near(norm.running_var, 0.9 + 0.1 * x.var(dims))
    assert norm.num_batches_tracked.item() == 1 and norm.num_batches_tracked.dtype == "int64"


def test_batch_norm_in_evaluation():
    """The running statistics decide and stay as they are; one picture is enough"""
    norm = nn.BatchNorm2d(2).eval()
    norm.running_mean.copy_(torch.tensor([1., 2.]))
    norm.running_var.copy_(torch.tensor([4., 0.25]))
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1., 3.]))
    out = norm(torch.full((1, 2, 1, 1), 5.))
    assert out.reshape(-1).tolist() == pytest.approx([2., 18.], rel=1e-4)
    assert norm.running_mean.tolist() == [1., 2.] and norm.num_batches_tracked.item() == 0


def test_momentum_none_is_the_plain_mean():
    """After two batches the running mean is the mean of their means"""
    norm, a, b = nn.BatchNorm1d(2, momentum=None), drawn(5, 2), drawn(5, 2) + 3
    norm(a), norm(b)
    near(norm.running_mean, (a.mean(0) + b.mean(0)) / 2)
    norm.reset_running_stats()
    assert norm.num_batches_tracked.item() == 0 and norm.running_var.tolist() == [1., 1.]


def test_without_running_statistics_the_batch_decides_always():
    norm, x = nn.BatchNorm1d(3, track_running_stats=False), drawn(6, 3)
    near(norm(x), norm.eval()(x))
    assert list(norm.state_dict()) == ["weight", "bias"] and norm.running_mean is None


@pytest.mark.parametrize("norm, names, shown", [
    (nn.BatchNorm2d(3), "weight bias running_mean running_var num_batches_tracked",
     "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"),
    (nn.BatchNorm1d(3, affine=False), "running_mean running_var num_batches_tracked",
     "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=True)"),
    (nn.InstanceNorm2d(3), "",
     "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)"),
    (nn.GroupNorm(1, 3, bias=False), "weight", "GroupNorm(1, 3, eps=1e-05, affine=True, bias=False)")])
def test_what_norms_save_and_print(norm, names, shown):
    assert list(norm.state_dict()) == names.split() and repr(norm) == shown


def test_running_statistics_move_with_the_module_and_load():
    norm, other = nn.BatchNorm1d(2).double(), nn.BatchNorm1d(2).double()
    norm(drawn(4, 2, dtype="float64"))
    other.load_state_dict(norm.state_dict())
    assert other.running_mean.tolist() == norm.running_mean.tolist() and other.running_mean.dtype == "float64"
    assert other.num_batches_tracked.item() == 1


@pytest.mark.parametrize("norm, shape", [
    (nn.BatchNorm1d(3), (3,)), (nn.BatchNorm1d(3), (2, 3, 4, 4)), (nn.BatchNorm2d(3), (2, 3, 4)),
    (nn.BatchNorm1d(3), (1, 3)), (nn.InstanceNorm1d(3), (3,)), (nn.InstanceNorm1d(3), (2, 3, 1)),
    (nn.InstanceNorm2d(3, affine=True), (2, 4, 5, 5)), (nn.GroupNorm(1, 1), (1, 1))])
def test_inputs_without_statistics(norm, shape):
    """Wrong dimensions, or a single number: ValueError, as in PyTorch"""
    with pytest.raises(ValueError):
        norm(torch.ones(*shape))


def groups_of(x, n):
    """x (N, C, ...) with each of n groups of channels normalised by NumPy."""
    rows = x.numpy().reshape(x.shape[0], n, -1)
    rows = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    return torch.tensor(rows.reshape(x.shape))


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_group_norm(groups):
    """Each group of each picture by itself; then a weight and bias for each channel"""
    x, norm = drawn(3, 4, 5, 2) * 2 + 1, nn.GroupNorm(groups, 4)
    near(norm(x), groups_of(x, groups))
    w, b = drawn(4), drawn(4) + 1
    near(F.group_norm(x, groups, w, b), groups_of(x, groups) * w[:, None, None] + b[:, None, None])
    assert F.group_norm(torch.ones(0, 4, 3), 2, w, b).shape == (0, 4, 3)


def test_instance_norm():
    """As many groups as channels; without a batch too; running statistics are the pictures' mean"""
    x = drawn(2, 3, 4, 5) * 2 + 1
    near(nn.InstanceNorm2d(3)(x), groups_of(x, 3))
    near(nn.InstanceNorm2d(3)(x[1]), groups_of(x, 3)[1])
    norm = nn.InstanceNorm2d(3, track_running_stats=True)
    near(norm(x), groups_of(x, 3))
    near(norm.running_mean, 0.1 * x.mean((0, 2, 3)))
    near(norm.running_var, 0.9 + 0.1 * x.var((2, 3)).mean(0))
    mean, var = [s.detach()[:, None, None] for s in (norm.running_mean, norm.running_var)]
    near(norm.eval()(x), (x - mean) / (var + 1e-5).sqrt())
    with pytest.warns(UserWarning, match="channels"):
        nn.InstanceNorm2d(5)(x)


@pytest.mark.parametrize("call", [
    lambda: F.group_norm(torch.ones(4), 2), lambda: F.group_norm(torch.ones(2, 4, 3), 3),
    lambda: F.group_norm(torch.ones(2, 4, 3), 2, torch.ones(2))])
def test_groups_that_do_not_fit(call):
    with pytest.raises(RuntimeError, match="group_norm"):
        call()


# ---- dropout of channels ----

@pytest.mark.parametrize("layer, shape, per", [
    (nn.Dropout1d, (200, 50, 4), 2), (nn.Dropout1d, (5000, 4), 1), (nn.Dropout2d, (200, 50, 2, 2), 2),
    (nn.Dropout2d, (200, 50, 4), 2), (nn.Dropout3d, (200, 50, 1, 2, 2), 2),
    (nn.Dropout3d, (5000, 1, 2, 2), 1)])
def test_whole_channels_are_dropped(layer, shape, per):
    """A channel is 0 as a whole or grows by 1 / (1 - p); in evaluation nothing happens"""
    x = torch.ones(*shape, requires_grad=True)
    torch.manual_seed(3)
    out = layer(0.25)(x)
    out.sum().backward()
    channels = out.detach().numpy().reshape(int(np.prod(shape[:per])), -1)
    assert (channels == channels[:, :1]).all() and x.grad.tolist() == out.tolist()
    assert np.unique(channels) == pytest.approx([0., 4 / 3]) and 0.7 < (channels > 0).mean() < 0.8
    assert layer(0.25).eval()(x) is x


def test_dropout_writes_only_if_asked():
    x = torch.ones(4, 3, 2, 2)
    assert F.dropout2d(x, 1.0).sum().item() == 0 and x.sum().item() == 48
    assert F.dropout2d(x, 1.0, inplace=True) is x and x.sum().item() == 0
    for function, n in ((F.dropout1d, 4), (F.dropout2d, 1), (F.dropout3d, 1)):
        with pytest.raises(RuntimeError, match="dropout"):
            function(torch.ones(*(2,) * n))
