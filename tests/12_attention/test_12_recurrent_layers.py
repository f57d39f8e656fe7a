"""RNN, LSTM, GRU and their cells: what they keep, print, refuse and compute."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.nn.recurrent import lstm_step, rnn_step
from tinytorch.nn.recurrent_cells import gru_step

LAYERS = {"RNN": nn.RNN, "relu": lambda *a, **k: nn.RNN(*a, nonlinearity="relu", **k), "LSTM": nn.LSTM,
          "projected": lambda *a, **k: nn.LSTM(*a, proj_size=2, **k), "GRU": nn.GRU}
STEPS = {"RNN": rnn_step, "LSTM": lstm_step, "GRU": gru_step}
every_layer = pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
every_step = pytest.mark.parametrize("name", STEPS)


def drawn(*shape): return torch.tensor(np.random.default_rng(5).normal(size=shape).astype("float32"))
def states(state): return state if isinstance(state, tuple) else (state,)


def near(x, y):
    assert x.shape == y.shape
    np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), atol=1e-5)


def copied(layer, small, side=0, number=0):
    """The layer `small` with the weights of one layer and direction of `layer`."""
    weights = layer.all_weights[number * layer.directions + side]
    for ours, theirs in zip(small.parameters(), weights, strict=True):
        ours.detach().copy_(theirs)
    return small


# ---- what is computed ----

@every_step
def test_a_layer_is_the_step_in_a_loop(name):
    """Your step, with the state handed on; the last state comes out by itself, too"""
    layer, x = getattr(nn, name)(3, 4), drawn(5, 2, 3)
    state, out = [torch.zeros(2, 4)] * layer.carried, []
    for t in range(5):
        state = states(STEPS[name](x[t], *state, *layer.all_weights[0]))
        out.append(state[0])
    got, last = layer(x)
    near(got, torch.stack(out))
    for ours, theirs in zip(states(last), state, strict=True):
        near(ours, theirs[None])


@every_step
def test_a_cell_is_the_layer_for_one_step(name):
    layer, cell, x = getattr(nn, name)(3, 4), getattr(nn, f"{name}Cell")(3, 4), drawn(6, 2, 3)
    for ours, theirs in zip(cell.parameters(), layer.parameters(), strict=True):
        ours.detach().copy_(theirs)
    state = None
    for t in range(6):
        state = cell(x[t], state)
    for ours, theirs in zip(states(state), states(layer(x)[1]), strict=True):
        near(ours, theirs[0])
    alone = [s[0] for s in states(cell(x[0]))]
    for ours, theirs in zip(states(cell(x[0, 0])), alone, strict=True):
        near(ours, theirs)
    again = states(cell(x[1, 0], tuple(alone) if len(alone) == 2 else alone[0]))
    assert [s.shape for s in again] == [(4,)] * len(again)


@every_layer
def test_a_sequence_in_two_parts(make):
    """The state of the first part is the hx of the second"""
    layer, x = make(3, 4, 2), drawn(7, 2, 3)
    whole, last = layer(x)
    first, middle = layer(x[:3])
    second, end = layer(x[3:], middle)
    near(torch.cat([first, second]), whole)
    for ours, theirs in zip(states(end), states(last), strict=True):
        near(ours, theirs)


@every_layer
def test_both_directions(make):
    """The second half is another layer on the reversed input, reversed again; its last state is at step 0"""
    layer, x = make(3, 4, bidirectional=True), drawn(5, 2, 3)
    there, back = [copied(layer, make(3, 4), side) for side in (0, 1)]
    out, last = layer(x)
    (out_there, last_there), (out_back, last_back) = there(x), back(x.flip(0))
    near(out, torch.cat([out_there, out_back.flip(0)], -1))
    for ours, one, other in zip(states(last), states(last_there), states(last_back), strict=True):
        near(ours, torch.cat([one, other]))


@every_layer
def test_layers_on_layers(make):
    """The second layer reads what the first puts out"""
    layer, x = make(3, 4, 2), drawn(5, 2, 3)
    first = copied(layer, make(3, 4))(x)
    second = copied(layer, make(first[0].shape[-1], 4), number=1)(first[0])
    out, last = layer(x)
    near(out, second[0])
    for ours, one, other in zip(states(last), states(first[1]), states(second[1]), strict=True):
        near(ours, torch.cat([one, other]))


@every_layer
def test_the_places_of_the_batch(make):
    """batch_first turns input and output, never the state; without a batch there is none"""
    torch.manual_seed(1)
    layer, x = make(3, 4, 2, bidirectional=True), drawn(5, 2, 3)
    torch.manual_seed(1)
    turned = make(3, 4, 2, bidirectional=True, batch_first=True)
    (out, last), (out_turned, last_turned) = layer(x), turned(x.transpose(0, 1))
    near(out_turned.transpose(0, 1), out)
    for each in (layer, turned):
        out_alone, last_alone = each(x[:, 1])
        near(out_alone, out[:, 1])
        for alone, ours, theirs in zip(*map(states, (last_alone, last_turned, last)), strict=True):
            near(ours, theirs)
            near(alone, theirs[:, 1])
    mine = tuple([s[:, 1] for s in last]) if isinstance(last, tuple) else last[:, 1]
    near(turned(x[:, 1], mine)[0], layer(x, last)[0][:, 1])


def test_an_empty_batch():
    for make in LAYERS.values():
        out, last = make(3, 4)(drawn(5, 0, 3))
        assert out.shape[:2] == (5, 0) and states(last)[0].shape[:2] == (1, 0)


def test_projection():
    """The state has proj_size numbers, the cell hidden_size"""
    layer = nn.LSTM(3, 5, 2, proj_size=2, bidirectional=True)
    out, (h, c) = layer(drawn(4, 2, 3))
    assert (out.shape, h.shape, c.shape) == ((4, 2, 4), (4, 2, 2), (4, 2, 5))
    assert layer.weight_hr_l1_reverse.shape == (2, 5) and layer.weight_hh_l1.shape == (20, 2)


def test_dropout_between_layers():
    """In training half of the numbers between the layers are dropped, behind the last none; in eval none"""
    torch.manual_seed(0)
    layer, plain, x = nn.GRU(3, 40, 2, dropout=0.5), nn.GRU(3, 40, 2), drawn(6, 2, 3)
    plain.load_state_dict(layer.state_dict())
    expected, _ = plain(x)
    assert (layer(x)[0] != 0).all() and (layer(x)[0] != expected).any()
    near(layer.eval()(x)[0], expected)
    layer.train().dropout = 1.0                        # then the second layer hears nothing
    near(layer(x)[0], copied(layer, nn.GRU(40, 40), number=1)(torch.zeros(6, 2, 40))[0])


def test_float64():
    for make in LAYERS.values():
        out, last = make(3, 4, dtype="float64")(drawn(5, 2, 3).double())
        assert out.dtype == "float64" and states(last)[0].dtype == "float64"


# ---- what is kept ----

@every_layer
def test_names_and_shapes(make):
    layer = make(3, 4, 2, bidirectional=True)
    kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"] + ["weight_hr"] * bool(layer.proj_size)
    assert list(layer.state_dict()) == [f"{kind}_l{n}{side}" for n in (0, 1) for side in ("", "_reverse")
                                        for kind in kinds]
    gates, state = layer.gates * 4, layer.proj_size or 4
    assert layer.weight_ih_l0.shape == (gates, 3) and layer.weight_ih_l1_reverse.shape == (gates, 2 * state)
    assert layer.weight_hh_l1.shape == (gates, state) and layer.bias_hh_l0_reverse.shape == (gates,)
    assert not [name for name in make(3, 4, bias=False).state_dict() if "bias" in name]
    assert layer.all_weights[3][0] is layer.weight_ih_l1_reverse


@pytest.mark.parametrize("make", [lambda: nn.LSTM(50, 64, 2), lambda: nn.GRUCell(50, 64)])
def test_numbers_are_drawn_evenly(make):
    """Within 1 / sqrt(hidden_size), the biases as well; reset_parameters draws them anew"""
    torch.manual_seed(0)
    layer = make()
    before = [p.detach().numpy().copy() for p in layer.parameters()]
    layer.reset_parameters()
    for numbers in (before, [p.detach().numpy() for p in layer.parameters()]):
        every = np.concatenate([n.ravel() for n in numbers])
        assert abs(every).max() <= 1 / 8 and every.std() == pytest.approx(1 / 8 / 3 ** 0.5, rel=0.02)
    assert all((p.detach().numpy() != b).any() for p, b in zip(layer.parameters(), before))


@pytest.mark.parametrize("layer, shown", [
    (lambda: nn.RNN(3, 4, 1, "relu"), "RNN(3, 4)"),
    (lambda: nn.LSTM(3, 4, 2, False, True, 0.5, True, 2),
     "LSTM(3, 4, proj_size=2, num_layers=2, bias=False, batch_first=True, dropout=0.5, bidirectional=True)"),
    (lambda: nn.RNNCell(3, 4, False, "relu"), "RNNCell(3, 4, bias=False, nonlinearity=relu)"),
    (lambda: nn.GRUCell(3, 4), "GRUCell(3, 4)")])
def test_layers_print_what_is_unusual(layer, shown):
    assert repr(layer()) == shown


# ---- what is refused ----

@pytest.mark.parametrize("error, arguments", [
    (ValueError, {"input_size": 0}), (ValueError, {"hidden_size": 0}), (ValueError, {"num_layers": 0}),
    (TypeError, {"input_size": 2.0}), (TypeError, {"num_layers": 1.5}), (TypeError, {"bias": 1}),
    (TypeError, {"batch_first": "yes"}), (ValueError, {"dropout": 1.5}), (ValueError, {"dropout": True}),
    (ValueError, {"dropout": "half"}), (ValueError, {"proj_size": 4}), (ValueError, {"proj_size": -1})])
def test_arguments_that_do_not_fit(error, arguments):
    with pytest.raises(error, match=next(iter(arguments))):
        nn.LSTM(**{"input_size": 3, "hidden_size": 4, **arguments})


def test_arguments_of_one_class():
    with pytest.raises(ValueError, match="sin.*tanh"):
        nn.RNN(3, 4, nonlinearity="sin")
    with pytest.raises(RuntimeError, match="sin.*tanh"):
        nn.RNNCell(3, 4, nonlinearity="sin")(drawn(2, 3))
    with pytest.warns(UserWarning, match="between layers"):
        nn.GRU(3, 4, dropout=0.5)


ONE, PAIR = (lambda *s: drawn(*s)), (lambda *s: (drawn(*s), drawn(*s)))


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda m: m(drawn(3))), (ValueError, lambda m: m(drawn(1, 2, 2, 3))),
    (ValueError, lambda m: m(drawn(5, 2, 3).double())), (ValueError, lambda m: m(drawn(5, 2, 3).long())),
    (RuntimeError, lambda m: m(drawn(5, 2, 4))), (RuntimeError, lambda m: m(drawn(0, 2, 3))),
    (RuntimeError, lambda m: m(drawn(0, 3)))])
def test_inputs_that_do_not_fit(error, call):
    for make in LAYERS.values():
        with pytest.raises(error, match=r"RNN|LSTM|GRU"):
            call(make(3, 4))


def test_no_step_with_batch_first():
    with pytest.raises(RuntimeError, match="at least one step"):
        nn.GRU(3, 4, batch_first=True)(drawn(2, 0, 3))
    assert nn.GRU(3, 4, batch_first=True)(drawn(0, 2, 3))[0].shape == (0, 2, 4)


@pytest.mark.parametrize("name, made", [("RNN", ONE), ("GRU", ONE), ("LSTM", PAIR)])
def test_states_that_do_not_fit(name, made):
    layer, x = getattr(nn, name)(3, 4, 2), drawn(5, 2, 3)
    for hx in (made(2, 3, 4), made(1, 2, 4), made(2, 2, 5), made(2, 4)):
        with pytest.raises(RuntimeError, match=r"\(2, 2, 4\) of float32"):
            layer(x, hx)
    with pytest.raises(RuntimeError, match=r"\(2, 4\) of float32"):
        layer(x[:, 0], made(2, 1, 4))
    wide = made(2, 2, 4)
    with pytest.raises(RuntimeError, match="float64"):
        layer(x, tuple([s.double() for s in wide]) if name == "LSTM" else wide.double())
    for hx in (PAIR(2, 2, 4), [1.]) if name != "LSTM" else (ONE(2, 2, 4), PAIR(2, 2, 4)[:1], (None, None)):
        with pytest.raises(TypeError, match="hx"):
            layer(x, hx)


@pytest.mark.parametrize("name, made", [("RNNCell", ONE), ("GRUCell", ONE), ("LSTMCell", PAIR)])
def test_cells_that_do_not_fit(name, made):
    cell = getattr(nn, name)(3, 4)
    for error, call in (
            (ValueError, lambda: cell(drawn(1, 2, 3))), (RuntimeError, lambda: cell(drawn(2, 4))),
            (RuntimeError, lambda: cell(drawn(2, 3), made(3, 4))),
            (RuntimeError, lambda: cell(drawn(2, 3), made(2, 5))),
            (RuntimeError, lambda: cell(drawn(3), made(1, 4))),
            (ValueError, lambda: cell(drawn(2, 3), made(2, 1, 4))),
            (RuntimeError, lambda: cell(drawn(2, 3).double())),
            (TypeError, lambda: cell(drawn(2, 3), PAIR(2, 4) if made is ONE else ONE(2, 4)))):
        with pytest.raises(error):
            call()
