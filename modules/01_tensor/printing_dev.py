# %% [markdown]
# # How a tensor prints
#
# Given code: nothing to solve here. The text is PyTorch's: four digits, scientific where the numbers
# span more than three powers of ten, and only the edges of more than a thousand numbers.

# %%
#| default_exp core.printing

# %%
import math

from backend_dev import CPU, device_of, to_numpy

# %%
#| export
PRECISION, THRESHOLD, EDGE, WIDTH = 4, 1000, 3, 80


def tensor_text(tensor):
    """`tensor([[1., 2.], ...])`, with what is not the default behind it: device, dtype, gradient."""
    array = to_numpy(tensor.data)
    body = "[]"
    if array.size:
        body = _nested(array, _formatter(_shown(array)), indent=len("tensor("))
    notes = []
    if array.size == 0 and array.ndim != 1:
        notes.append(f"size={array.shape}")
    if device_of(tensor.data) != CPU:
        notes.append(f"device='{device_of(tensor.data)}'")
    if array.dtype not in ("float32", "int64", "bool") or array.size == 0 and array.dtype != "float32":
        notes.append(f"dtype=torch.{array.dtype}")
    if tensor.node is not None:
        notes.append(f"grad_fn=<{tensor.node.name}>")
    elif tensor.requires_grad:
        notes.append("requires_grad=True")
    text = "tensor(" + body
    used = len(text) - text.rfind("\n") + 1           # of the last line, and room for a comma
    for note in notes:
        used, gap = used + 2 + len(note), ", "
        if used > WIDTH:
            used, gap = 7 + len(note), ",\n" + " " * 7
        text += gap + note
    return text + ")"


def _edges(n):
    """The places of a dimension of size n that are printed when the middle is left out."""
    return range(n) if n <= 2 * EDGE else [*range(EDGE), *range(n - EDGE, n)]


def _shown(array):
    """The numbers of which at least one digit will be seen: they decide the format."""
    if array.size > THRESHOLD:
        for dim, n in enumerate(array.shape):
            array = array.take(list(_edges(n)), axis=dim)
    return array.ravel()


def _formatter(numbers):
    """A function from a number to a text of the width that all of `numbers` need."""
    if numbers.dtype.kind != "f":
        width = max([len(str(n)) for n in numbers.tolist()])
        return lambda x: str(x).rjust(width)
    finite = [abs(x) for x in numbers.tolist() if math.isfinite(x) and x != 0]
    least, most = min(finite, default=0.0), max(finite, default=0.0)
    whole = all(x == int(x) for x in finite)
    if finite and (most / least > 1000 or most > 1e8 or (not whole and least < 1e-4)):
        write = f"{{:.{PRECISION}e}}".format
    elif whole:
        write = lambda x: f"{x:.0f}." if math.isfinite(x) else str(x)            # noqa: E731
    else:
        write = f"{{:.{PRECISION}f}}".format
    width = max([len(write(x)) for x in numbers.tolist() if math.isfinite(x) and x != 0], default=1)
    return lambda x: write(x).rjust(width)


def _nested(array, write, indent):
    """The bracketed text of `array`, broken into lines that stay below WIDTH."""
    if array.ndim == 0:
        return write(array.item()).strip()
    return _rows(array, write, indent, summarised=array.size > THRESHOLD)


def _rows(array, write, indent, summarised):
    cut = summarised and array.shape[0] > 2 * EDGE
    places = _edges(array.shape[0]) if cut else range(array.shape[0])
    if array.ndim == 1:
        items = [write(array[i].item()) for i in places]
        if cut:
            items.insert(EDGE, " ...")
        per_line = max(1, (WIDTH - indent) // (len(items[0]) + 2))
        lines = [", ".join(items[i:i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_rows(array[i], write, indent + 1, summarised) for i in places]
    if cut:
        parts.insert(EDGE, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
