"""Are two values the same, and if not, what to say about it. For `expect` in lessons."""

import numbers
from fractions import Fraction

from tito.errors import sentence

SHOWN = 24  # values of an array that are shown whole
NO_RETURN = "A function without `return` gives None: is one missing?"


def difference(got, want, tol: float = 1e-6) -> str:
    """What tells `got` from `want`; empty where nothing does."""
    if got is None and want is not None:
        return f"expected {show(want)}, got None\n{NO_RETURN}"
    if not _is_numeric(want):
        same = _plainly_equal(got, want)
        return "" if same else f"expected {show(want)}, got {show(got)}"
    if not _is_numeric(got):
        return f"expected {show(want)}, got {show(got)}"
    if _is_shape(got) and _is_shape(want):
        return "" if tuple(got) == tuple(want) else f"expected {want}, got {got}"
    one, other = _array(got), _array(want)
    if one is None or other is None or one.dtype.kind not in "biufc":
        same = _plainly_equal(got, want)
        return "" if same else f"expected {show(want)}, got {show(got)}"
    if one.shape != other.shape:
        return f"expected {show(want)}, got {show(got)}\n" + _about_shapes(one, other)
    return _values(one, other, tol)


def _plainly_equal(got, want) -> bool:
    try:
        return bool(got == want)
    except Exception:  # an array in a comparison has no single truth
        return False


def _is_shape(value) -> bool:
    return isinstance(value, tuple) and all(isinstance(n, int) for n in value)


def _is_numeric(value) -> bool:
    """Whether it can be seen as an array of numbers: not None, text, a dict or a type."""
    if isinstance(value, str | bytes | dict | set | type | None):
        return False
    if isinstance(value, list | tuple):
        return all(_is_numeric(part) for part in value)
    return isinstance(value, numbers.Number) or any(
        hasattr(holder, "shape") for holder in (value, getattr(value, "data", None))
    )


def _array(value):
    """A NumPy array of the values, from whatever holds them; None for rows of unequal length."""
    import numpy as np

    try:
        return np.asarray(_bare(value))
    except (ValueError, TypeError):
        return None


def _bare(value):
    import numpy as np

    if isinstance(value, list | tuple):
        return [_bare(part) for part in value]
    if isinstance(value, np.ndarray | np.generic | numbers.Number):
        return value
    data = getattr(value, "data", value)  # a Tensor's array
    data = value if isinstance(data, memoryview) else data
    return data.get() if type(data).__module__.split(".")[0] == "cupy" else np.asarray(data)


def _about_shapes(got, want) -> str:
    if got.size == want.size:
        if got.ndim == want.ndim == 2 and got.shape == want.shape[::-1]:
            return "The shapes differ: got is turned on its side."
        return "The shapes differ, though the number of values is the same."
    return "The shapes differ."


def _values(got, want, tol: float) -> str:
    import numpy as np

    with np.errstate(all="ignore"):
        scale = np.maximum(1.0, np.abs(np.where(np.isfinite(want), want, 1.0)))
        off = np.abs(got.astype(_wide(got)) - want.astype(_wide(want)))
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | (off <= tol * scale)
    if same.all():
        return ""
    lines = [f"expected {show(want)}, got {show(got)}"]
    wrong = int((~same).sum())
    if got.ndim:
        off = np.where(same, -1.0, np.where(np.isnan(off), np.inf, off))
        worst = tuple(int(i) for i in np.unravel_index(int(off.argmax()), got.shape))
        place = f"[{', '.join(map(str, worst))}]"
        one, other = _number(want[worst]), _number(got[worst])
        if one == other:  # too close for seven digits
            one, other = repr(want[worst].item()), repr(got[worst].item())
        lines.append(sentence(
            f"{wrong} of {got.size} values differ, the most at {place}: expected {one}, got {other}"
        ))
    hint = _guess(got, want, tol)
    return "\n".join(lines + [hint] * bool(hint))


def _wide(array):
    return "complex128" if array.dtype.kind == "c" else "float64"


def _guess(got, want, tol: float) -> str:
    """What a common mistake would have done to the values."""
    import numpy as np

    if np.isnan(got).any() and not np.isnan(want).any():
        count = int(np.isnan(got).sum())
        return f"{count} of the values are nan (0/0, 0 * inf, inf - inf or log(-1))."
    got, want = got.astype(_wide(got)), want.astype(_wide(want))
    close = {"rtol": max(tol, 1e-5), "atol": max(tol, 1e-6)}
    if got.ndim == 2 and got.shape[0] == got.shape[1] > 1 and np.allclose(got.T, want, **close):
        return "They are the right values, transposed."
    if not np.isfinite(got).all() or not np.isfinite(want).all() or not want.any():
        return ""
    if not got.any():
        return "Every value got is 0." if got.size > 1 else ""
    if np.allclose(got, -want, **close):
        return "The sign is reversed."
    if len(np.unique(want[want != 0])) > 2:  # any two values are some number times two others
        ratio = (got.ravel() @ want.ravel().conj()).real / (np.abs(want) ** 2).sum()
        if abs(ratio - 1) > 1e-4 and _is_simple(ratio) and np.allclose(got, ratio * want, **close):
            return f"Every value is {_number(ratio)} times what it should be."
        shift = (got - want).mean()
        if _is_simple(shift) and np.allclose(got - shift, want, **close):
            return sentence(f"Every value is off by {_number(shift)}")
    return ""


def _is_simple(value) -> bool:
    """Whether it is a number that a slip makes: 2, -1, 1/3, 100, and not 0.1036163."""
    if value.imag or not 1e-4 < abs(value.real) < 1e4:
        return False
    value = float(value.real)
    near = [Fraction(x).limit_denominator(12) / Fraction(x) for x in (value, 1 / value)]
    return any(abs(ratio - 1) < 1e-5 for ratio in near)


def show(value) -> str:
    """A value in one line: an array with its shape, shortened where it is large."""
    if isinstance(value, numbers.Number | str | bytes | None | type) or _is_shape(value):
        return _number(value) if isinstance(value, float) else _short(repr(value))
    if not _is_numeric(value) or (array := _array(value)) is None:
        return _short(repr(value))
    if array.shape == ():
        return _number(array[()])
    return f"{_row(array)} {array.shape}"


def _row(array) -> str:
    import numpy as np

    text = np.array2string(
        array, separator=", ", threshold=SHOWN, edgeitems=2, precision=6, max_line_width=10**9,
        formatter={"float_kind": _number},
    )  # fmt: skip
    return " ".join(text.split())


def _number(value) -> str:
    if isinstance(value, complex) or not hasattr(value, "__float__"):
        return str(value)
    if isinstance(value, int | bool) or type(value).__name__.startswith(("int", "uint", "bool")):
        return str(value)
    text = f"{float(value):.7g}"
    return text + "." if text.lstrip("-").isdigit() else text


def _short(text: str, limit: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 4] + " ..."
