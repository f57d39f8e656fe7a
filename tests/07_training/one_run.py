"""A whole training run, to be killed from outside: `python one_run.py FOLDER [die]`.

It resumes if there is a checkpoint, and prints a hash of all weights when it is done. With `die` it kills
itself while the checkpoint of that step is written, half of it on the disk.
"""
import hashlib
import os
import signal
import sys

import numpy as np

import tinytorch as torch
from tinytorch import nn, optim
from tinytorch.training import EarlyStopping, Trainer


class Batches:
    """Shuffled each epoch, from NumPy's global generator; says when a run is under way."""
    def __init__(self, x, y): self.x, self.y = x, y

    def __iter__(self):
        for rows in np.random.permutation(60).reshape(-1, 6):
            print("batch", flush=True)
            yield self.x[rows], self.y[rows]


def half_written(at):
    """Let os.fsync number `at` kill this process, when half of the file is there."""
    real, calls = os.fsync, []

    def fsync(file):
        calls.append(file)
        if len(calls) == at:
            os.truncate(file, os.fstat(file).st_size // 2)
            real(file)
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        real(file)

    os.fsync = fsync


def main(folder, die=0):
    half_written(die)
    rng = np.random.default_rng(0)
    x, y = torch.tensor(rng.normal(size=(60, 16)), dtype=torch.float32), torch.tensor(rng.integers(0, 4, 60))
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    trainer = Trainer(model, optimizer, nn.CrossEntropyLoss(), schedule="batch", seed=2, clip_norm=1.0,
                      scheduler=optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=60),
                      callbacks=[EarlyStopping(patience=99)])
    path = os.path.join(folder, "run.safetensors")
    if os.path.exists(path):
        trainer.resume(path)
    trainer.fit(Batches(x, y), 6, validation=[(x, y)], checkpoint=path, save_every=1)
    print("hash", hashlib.sha256(b"".join(p.data.tobytes() for p in model.parameters())).hexdigest(),
          [row["val_loss"] for row in trainer.history])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
