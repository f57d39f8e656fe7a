# Generated from modules/12_attention/recurrent_ops_dev.py by tito export. Edit the lesson, not this file.
# source sha256 7bc61b1eceecf7b4c68bba9301ef51048c742e1694cc8c645734230b085002e6  body sha256 de2b393f3669a18267eaa81385ae9aa2a26a2e971dc02a989d4ebf933ec68ea8  # noqa: E501
"""nn.recurrent_ops: built in module 12_attention."""

import numpy as np

from tinytorch.core.autograd import vjp
from tinytorch.core.backend import array_module
from tinytorch.core.joining import join, stack_up
from tinytorch.core.op import op
from tinytorch.core.rules import as_rows

__all__ = [
    "carried", "gates_of", "gru_steps", "lstm_steps", "rnn_steps", "rows_product", "squash",
    "states_before",
]


def gates_of(x, n):
    """x (..., n * H) cut into its n gates (..., H), without a copy."""
    size = x.shape[-1] // n
    return [x[..., i * size:(i + 1) * size] for i in range(n)]


def states_before(first, states):
    """The state (T, B, H) that each step started from: first (B, H), then all of `states` but the last."""
    return join(first[None], states[:-1])


def rows_product(x, y):
    """Summed over all steps and sequences, the outer products of x (T, B, n) and y (T, B, m): (n, m)."""
    return as_rows(x).swapaxes(0, 1) @ as_rows(y)


def carried(h, w):
    """h (B, n) times the transpose of w (m, n): (B, m), computed as the transpose of w times that of h.

    With few rows in h OpenBLAS takes half the time for it: it need not rearrange w, the large one.
    """
    return (w @ h.T).T


def squash(x):
    """1 / (1 + e^-x) written into the array x, as half a tanh: tanh is quick and cannot overflow."""
    x *= 0.5
    np.tanh(x, out=x)
    x += 1
    x *= 0.5


@op
def rnn_steps(a, h, w, nonlinearity="tanh"):
    """The states (T, B, H) from inputs a (T, B, H), a first state h (B, H) and the weight w (H, H)."""
    out = array_module(a).empty(a.shape, a.dtype)
    for t in range(len(a)):
        np.add(a[t], carried(h, w), out=out[t])
        if nonlinearity == "tanh":
            np.tanh(out[t], out=out[t])
        else:
            np.maximum(out[t], 0, out=out[t])
        h = out[t]
    return out


@vjp(rnn_steps)
def _(out, a, h, w, nonlinearity="tanh"):
    def pull(g):
        slopes, back, steps = 1 - out * out if nonlinearity == "tanh" else out != 0, None, []
        for t in reversed(range(len(out))):
            steps.append((g[t] if back is None else g[t] + back) * slopes[t])
            back = steps[-1] @ w
        every = stack_up(*steps[::-1])
        return every, back, lambda: rows_product(every, states_before(h, out))
    return pull


@op(outputs=True)
def lstm_steps(a, h, c, w, w_hr=None):
    """(states (T, B, P), cells (T, B, H), gates i f g o (T, B, 4H)); P is H without w_hr.

    a: (T, B, 4H), the inputs' part of the gates. h: (B, P), c: (B, H), w: (4H, P), w_hr: (P, H) or None.
    """
    xp, size, (steps, batch, _) = array_module(a), c.shape[1], a.shape
    states, cells = [xp.empty((steps, batch, s.shape[1]), a.dtype) for s in (h, c)]
    gates = xp.empty(a.shape, a.dtype)
    for t in range(steps):
        np.add(a[t], carried(h, w), out=gates[t])
        i, f, g, o = gates_of(gates[t], 4)
        squash(gates[t, :, :2 * size])
        np.tanh(g, out=g)
        squash(o)
        np.multiply(f, c, out=cells[t])
        cells[t] += i * g
        c = cells[t]
        if w_hr is None:
            np.multiply(o, np.tanh(c), out=states[t])
        else:
            states[t] = (o * np.tanh(c)) @ w_hr.T
        h = states[t]
    return states, cells, gates


@vjp(lstm_steps)
def _(out, a, h, c, w, w_hr=None):
    states, cells, gates = out

    def pull(parts):
        g_h, g_c, g_gates = parts
        i, f, g, o = gates_of(gates, 4)
        shown, shares = np.tanh(cells), gates * (1 - gates)
        bends = join(*gates_of(shares, 4)[:2], 1 - g * g, gates_of(shares, 4)[3], dim=-1)
        factors = join(g, states_before(c, cells), i, shown, dim=-1) * bends
        more, through = g_gates * bends, o * (1 - shown * shown)
        back, steps, seen = None, [], []
        for t in reversed(range(len(gates))):
            dh, dc = (g_h[t], g_c[t]) if back is None else (g_h[t] + back[0], g_c[t] + back[1])
            seen.append(dh)
            if w_hr is not None:
                dh = dh @ w_hr
            dc = dc + dh * through[t]
            steps.append(join(dc, dc, dc, dh, dim=1) * factors[t] + more[t])
            back = steps[-1] @ w, dc * f[t]
        every = stack_up(*steps[::-1])
        return (every, *back, lambda: rows_product(every, states_before(h, states)),
                lambda: rows_product(stack_up(*seen[::-1]), o * shown))
    return pull


@op(outputs=True)
def gru_steps(a, h, w, b=None):
    """(states (T, B, H), (r, z, n, q) side by side (T, B, 4H)).

    a: (T, B, 3H), the inputs' part of r, z and n. h: (B, H), w: (3H, H), b: (3H,) or None.
    """
    xp, (steps, batch, size) = array_module(a), (len(a), *h.shape)
    states, gates = xp.empty((steps, batch, size), a.dtype), xp.empty((steps, batch, 4 * size), a.dtype)
    for t in range(steps):
        product = carried(h, w)
        if b is not None:
            product += b
        shares, n, q = gates[t, :, :2 * size], gates[t, :, 2 * size:3 * size], gates[t, :, 3 * size:]
        np.add(a[t, :, :2 * size], product[:, :2 * size], out=shares)
        squash(shares)
        q[...] = product[:, 2 * size:]
        np.multiply(shares[:, :size], q, out=n)
        n += a[t, :, 2 * size:]
        np.tanh(n, out=n)
        np.subtract(h, n, out=states[t])
        states[t] *= shares[:, size:]
        states[t] += n
        h = states[t]
    return states, gates


@vjp(gru_steps)
def _(out, a, h, w, b=None):
    states, gates = out

    def pull(parts):
        g_h, g_gates = parts
        r, z, n, q = gates_of(gates, 4)
        g_r, g_z, g_n, g_q = gates_of(g_gates, 4)
        to_n, bend = (1 - z) * (1 - n * n), g_n * (1 - n * n)
        factors = join(to_n * q * r * (1 - r), (states_before(h, states) - n) * z * (1 - z), to_n * r, dim=-1)
        more = join((g_r + bend * q) * r * (1 - r), g_z * z * (1 - z), g_q + bend * r, dim=-1)
        back, steps, seen = None, [], []
        for t in reversed(range(len(states))):
            dh = g_h[t] if back is None else g_h[t] + back
            seen.append(dh)
            steps.append(join(dh, dh, dh, dim=1) * factors[t] + more[t])
            back = steps[-1] @ w + dh * z[t]
        every = stack_up(*steps[::-1])
        da = join(every[..., :2 * n.shape[-1]], stack_up(*seen[::-1]) * to_n + bend, dim=-1)
        return (da, back, lambda: rows_product(every, states_before(h, states)),
                lambda: as_rows(every).sum(0))
    return pull
