"""Small work, where a framework's own cost shows: TinyTorch beside PyTorch eager, in turn, one thread each.

    python benchmarks/small_steps.py [--rounds 15] [--json build/small_steps.json]

Each library runs in a process of its own (their thread pools must not meet), and the processes take turns:
A B A B ... A figure is the median over the rounds, in microseconds; a ratio is PyTorch's time divided by
ours, its median and quartiles over the rounds (above 1: ours is faster). Needs the extra `conformance`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

THREADS = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def measures(torch):
    """(name, function, how many things one call does, what makes its argument)."""
    import numpy as np
    nn = torch.nn
    torch.manual_seed(0)
    a, b = np.ones(4, "float32"), np.ones(4, "float32")
    x, y = torch.tensor(a, requires_grad=True), torch.tensor(b)

    def chain(n=1000):
        t = x
        for _ in range(n):
            t = t + y
        return t.sum()

    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data, target = torch.randn(32, 2), torch.randn(32, 1)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(data), target).backward()
        optimizer.step()

    def unrecorded(n=1000):
        with torch.no_grad():
            for _ in range(n):
                x + y

    def recorded(n=1000):
        for _ in range(n):
            x + y

    yield "raw numpy add", lambda: [a + b for _ in range(1000)], 1000, None
    yield "add, recorded", recorded, 1000, None
    yield "add, no_grad", unrecorded, 1000, None
    yield "walk, per node", lambda t: t.backward(), 1000, chain
    yield "MLP 2-16-16-1 step", step, 1, None


def run(library):
    """One round of one library: {name: seconds of the best of several calls}."""
    if library == "torch":
        import torch
        torch.set_num_threads(1)
    else:
        import tinytorch as torch
    found = {}
    for name, f, count, prepare in measures(torch):
        times = []
        end = time.perf_counter() + 0.25
        while time.perf_counter() < end or len(times) < 5:
            args = [prepare()] if prepare else []
            start = time.perf_counter()
            f(*args)
            times.append((time.perf_counter() - start) / count)
        found[name] = statistics.median(sorted(times)[:max(3, len(times) // 2)])    # the undisturbed half
    return found


def child(library):
    out = subprocess.run([sys.executable, __file__, "--child", library], capture_output=True, text=True,
                         encoding="utf-8", env={**os.environ, **THREADS}, check=True)
    return json.loads(out.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, default=Path("build/small_steps.json"))
    parser.add_argument("--child", choices=["tinytorch", "torch"])
    options = parser.parse_args()
    if options.child:
        print(json.dumps(run(options.child)))
        return
    rounds = [(child("tinytorch"), child("torch")) for _ in range(options.rounds)]
    title = f"microseconds, median of {options.rounds} rounds"
    print(f"{title:36}{'ours':>9}{'PyTorch':>9}   ratio")
    for name in rounds[0][0]:
        ours, theirs = [[r[i][name] * 1e6 for r in rounds] for i in (0, 1)]
        low, middle, high = statistics.quantiles([t / o for o, t in zip(ours, theirs)], n=4)
        print(f"{name:36}{statistics.median(ours):9.2f}{statistics.median(theirs):9.2f}"
              f"   {middle:.2f} [{low:.2f}..{high:.2f}]")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rounds, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
