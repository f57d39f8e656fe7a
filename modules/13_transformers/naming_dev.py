# %% [markdown]
# # Names, learned and written
#
# Given code: nothing to solve here, and nothing of it is exported. What the lesson's own GPT learns in two
# seconds: the names of those who speak in Shakespeare's plays.

# %%
import re
from functools import cache
from string import ascii_letters

import numpy as np
from copying_dev import one_thread

from tinytorch.core.creation import randint, tensor
from tinytorch.nn.losses import cross_entropy
from tinytorch.optim.optimizers import Adam

LETTERS = "\n" + ascii_letters                # 0 begins a name, and ends it
LONGEST = 12


# %%
@cache
def speakers():
    """The headings of one word that stand above a speech: 144, from Adrian to Watch."""
    from tinytorch.data.texts import shakespeare       # module 08, for this alone

    return sorted({name.title() for name in re.findall(r"^([A-Z]{3,12})\.$", shakespeare(), re.M)})


@one_thread
def learn_names(model, steps=250, lr=0.006):
    """Train the GPT `model` to say the speakers' names, letter by letter, 32 a step. Prints the loss."""
    names = speakers()
    rows = tensor([[LETTERS.index(c) for c in f"\n{name}".ljust(LONGEST + 2, "\n")] for name in names])
    ids, labels = rows[:, :-1], rows[:, 1:]
    labels = labels.masked_fill((ids == 0) & (labels == 0), -100)              # not asked: behind its end
    optimizer, losses = Adam(model.parameters(), lr=lr), []
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = lr * min(1, step / 20)
        some = randint(0, len(names), (32,))
        optimizer.zero_grad()
        loss = cross_entropy(model(ids[some]).flatten(0, 1), labels[some].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"{len(names)} names, loss {losses[0]:.2f}, after {steps} steps {np.mean(losses[-20:]):.2f}")


def write_names(model, count, **how):
    """`count` names by `model.generate`, with the options `how`."""
    rows = model.generate(tensor([[0]] * count), LONGEST, eos=0, **how)
    return ["".join([LETTERS[i] for i in row]).strip() for row in rows.tolist()]


def show_names(found, how):
    """Print how many of the names `found`, written with options `how`, are on the list, and six of them."""
    known = sum([name in speakers() for name in found])
    filters = " ".join([f"{key} {value}" for key, value in how.items()]) or "by the shares"
    print(f"{filters:16} {known:3} of {len(found)} on the list, {len({*found}):3} different:", *found[:6])
