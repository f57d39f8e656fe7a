"""What the tests of this folder share: datasets that note what was asked of them, and a patient clock."""
import threading
import time

import tinytorch as torch
from tinytorch.data import Dataset


def seeded(seed=0): return torch.Generator().manual_seed(seed)


class Squares(Dataset):
    """n numbers squared; notes which were asked for, and in which thread."""
    def __init__(self, n=10): self.n, self.asked, self.threads = n, [], set()
    def __len__(self): return self.n

    def __getitem__(self, index):
        self.asked.append(int(index))
        self.threads.add(threading.current_thread())
        return index * index


class Noisy(Dataset):
    """Items with a random number from the default generator in them."""
    def __init__(self, n=10): self.n = n
    def __len__(self): return self.n
    def __getitem__(self, index): return index, torch.rand(1).item()


def becomes_true(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def settled(data, at_least=1):
    """How many items were asked for, once no more come."""
    becomes_true(lambda: len(data.asked) >= at_least)
    count = None
    while count != len(data.asked):
        count = len(data.asked)
        time.sleep(0.05)
    return count


def numbers(batches): return [batch.tolist() for batch in batches]
