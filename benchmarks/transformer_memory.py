"""The most memory that training steps take above the parameters: TinyTorch beside PyTorch eager (Linux).

    python benchmarks/transformer_memory.py [--rounds 5]

What the system counts for a process holds for both libraries. Each row has a process of its own. It makes a
small step first, for what a library sets up at its first use, then the model; it notes its resident memory
(VmRSS), sets the peak (VmHWM) back to it by /proc/self/clear_refs, makes three steps, and takes the
difference. Gradients and AdamW's averages are in it, parameters are not. A ratio above 1: ours takes less.
"""

import os
from functools import partial
from pathlib import Path

import race
from transformers import GPT_SIZES, train_step


def of_process(name):
    """A number of bytes that Linux knows of this process: VmRSS or VmHWM."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def above_parameters(torch, sizes):
    """The bytes that three steps take at their peak, more than what was there before the first."""
    train_step(torch, 65, 32, 1, 2, 16, 2)()
    step = train_step(torch, *sizes)
    before = of_process("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    for _ in range(3):
        step()
    return of_process("VmHWM") - before


def in_a_fork(f):
    """The whole number that f() gives in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, str(f()).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as answer:
        return int(answer.read())


def measures(torch):
    """(name, what gives the bytes) of each line of the table."""
    for name, sizes in GPT_SIZES.items():
        yield name, partial(above_parameters, torch, sizes)


if __name__ == "__main__":
    race.main(__file__, measures, "peak above the parameters", "MB", in_a_fork)
