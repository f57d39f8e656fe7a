"""The same work in TinyTorch and in PyTorch eager, in turn, the same number of threads.

Each library runs in a process of its own (their thread pools must not meet), and the processes take turns:
A B A B ... A figure is the median over the rounds; a ratio is PyTorch's time divided by ours, its median and
quartiles over the rounds (above 1: ours is faster). Needs the extra `conformance`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

UNITS = {"s": 1, "ms": 1e3, "us": 1e6, "MB": 1e-6}


def seconds(f, prepare=None, count=1, least=0.25):
    """Seconds that one of the `count` things takes which f does: the median of the undisturbed half."""
    times = []
    end = time.perf_counter() + least
    while time.perf_counter() < end or len(times) < 5:
        args = [prepare()] if prepare else []
        start = time.perf_counter()
        f(*args)
        times.append((time.perf_counter() - start) / count)
    return statistics.median(sorted(times)[:max(3, len(times) // 2)])


def child(file, library, threads, only):
    """One round of one library, in a process of its own: {name: seconds}."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith("OPENBLAS_")}        # the library, or NumPy, chooses the kernels itself
    env |= {f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "MKL")}
    env["PYTHONPATH"] = os.pathsep.join([str(Path(file).parent), *filter(None, [env.get("PYTHONPATH")])])
    # the library before NumPy, which `file` may import first: see tinytorch/_openblas.py
    start = f"import {library}, runpy, sys; sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"
    options = ["--child", library, "--threads", str(threads), "--only", only]
    out = subprocess.run([sys.executable, "-c", start, file, *options], capture_output=True, text=True,
                         encoding="utf-8", env=env, check=True)
    return json.loads(out.stdout)


def main(file, measures, title, unit="ms", measure=seconds):
    """Race what `measures(torch)` yields, (name, f, prepare, count) for each line, and print the table.

    measure: what gives a number for f, prepare and count.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="*", default=[1])
    parser.add_argument("--only", default="", help="measure only what has this in its name")
    parser.add_argument("--json", type=Path, default=Path("build") / f"{Path(file).stem}.json")
    parser.add_argument("--child", choices=["tinytorch", "torch"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        torch = import_module(options.child)
        if options.child == "torch":
            torch.set_num_threads(options.threads[0])
        print(json.dumps({name: measure(*rest) for name, *rest in measures(torch) if options.only in name}))
        return
    found = {}
    for threads in options.threads:
        rounds = found[threads] = [[child(file, library, threads, options.only)
                                    for library in ("tinytorch", "torch")] for _ in range(options.rounds)]
        heading = f"{title}, {unit}, {threads} thread{'s' * (threads > 1)}, median of {options.rounds}"
        print(f"{heading:62}{'ours':>9}{'PyTorch':>9}   ratio")
        for name in rounds[0][0]:
            ours, theirs = [[r[i][name] * UNITS[unit] for r in rounds] for i in (0, 1)]
            low, middle, high = statistics.quantiles([t / o for o, t in zip(ours, theirs)], n=4)
            print(f"{name:62}{statistics.median(ours):9.2f}{statistics.median(theirs):9.2f}"
                  f"   {middle:.2f} [{low:.2f}..{high:.2f}]")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
