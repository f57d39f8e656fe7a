"""A run in a process of its own that is killed, and again, and ends with the same bits."""
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import tinytorch
from tinytorch.training import load

RUN = Path(__file__).with_name("one_run.py")
ROOT = str(Path(tinytorch.__file__).parents[1])


def started(folder, *arguments):
    return subprocess.Popen([sys.executable, str(RUN), str(folder), *map(str, arguments)], text=True,
                            encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "PYTHONPATH": ROOT, "OPENBLAS_NUM_THREADS": "1"})


def ended(process):
    """The last line that it printed; fails if it ended with an error of its own."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out.splitlines()[-1]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run says that nobody disturbs."""
    return ended(started(tmp_path_factory.mktemp("whole")))


def test_killed_at_any_moment(whole, tmp_path):
    """After a random number of batches of each attempt, in a step, in a file or between them"""
    seed = random.randrange(10 ** 6)
    chance = random.Random(seed)
    for _ in range(4):
        process = started(tmp_path)
        for _ in range(chance.randint(1, 12)):
            process.stdout.readline()
        chance.random() < 0.5 and process.stdout.readline()
        process.kill()
        process.communicate()
    assert ended(started(tmp_path)) == whole, f"seed {seed}"
    assert os.listdir(tmp_path) == ["run.safetensors"]


def test_killed_while_writing(whole, tmp_path):
    """With half of the new file on the disk the old one is whole, and the run goes on from it"""
    process = started(tmp_path, 9)
    process.communicate(timeout=60)
    assert process.returncode != 0 and len(os.listdir(tmp_path)) == 2
    assert load(tmp_path / "run.safetensors")["position"]["step"] == 8
    assert ended(started(tmp_path)) == whole
    assert os.listdir(tmp_path) == ["run.safetensors"]
