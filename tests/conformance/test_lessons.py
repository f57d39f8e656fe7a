"""Programs like those of lessons on transformers do the same with `import torch` and `import tinytorch`."""
import contextlib
import io
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import tinytorch
from tinytorch.text import WordPieceTokenizer, from_pretrained

from .lessons import PROGRAMS

SEED = 0                           # of the weights; nothing but rounding depends on it
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat ##s .".split()


class Heads(nn.Module):
    """What the course calls MultiHeadAttention, in PyTorch; a mask has 1 where a place may be seen."""
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = [nn.Linear(width, width) for _ in range(4)]

    def forward(self, x, mask=None):
        q, k, v = [p(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for p in (self.q_proj, self.k_proj, self.v_proj)]
        scores = q @ k.mT / q.shape[-1] ** 0.5
        weights = (scores if mask is None else scores.masked_fill(mask == 0, -torch.inf)).softmax(-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2)), weights


def numbers(*shape): return np.random.default_rng(0).normal(size=shape).astype("float32")
def words(*shape): return np.random.default_rng(1).integers(5, 100, shape)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tokenizer's files, for both libraries."""
    path = tmp_path_factory.mktemp("vocabulary")
    WordPieceTokenizer({word: i for i, word in enumerate(WORDS)}).save_pretrained(path)
    return path


def ours(folder):
    return dict(framework="tinytorch", Heads=tinytorch.nn.MultiHeadAttention, from_folder=from_pretrained,
                FOLDER=folder)


def theirs(folder):
    def from_folder(path):
        return pytest.importorskip("transformers").AutoTokenizer.from_pretrained(path)
    return dict(framework="torch", Heads=Heads, from_folder=from_folder, FOLDER=folder)


def run(name, side):
    """What the program leaves behind, and what it printed, in one way of writing shapes."""
    text, shown = PROGRAMS[name].replace("{framework}", side["framework"]), io.StringIO()
    left = {"numbers": numbers, "words": words, **side}
    torch.manual_seed(SEED)
    tinytorch.manual_seed(SEED)
    with contextlib.redirect_stdout(shown), warnings.catch_warnings():
        warnings.simplefilter("ignore")              # PyTorch: batch_first would be faster
        exec(compile(text, name, "exec"), left)
    return SimpleNamespace(**left), re.sub(r"torch\.Size\(\[(.*?)\]\)", r"(\1)", shown.getvalue())


def numpy_of(tensors): return {name: np.array(t.detach().numpy()) for name, t in tensors.items()}


def answered(program):
    """What the model says, and all gradients; in evaluation, without dropout."""
    outs = program.answer(program.model.eval(), *program.inputs)
    for out in outs:
        if out.requires_grad:
            (out * out * out).sum().backward(retain_graph=True)
    grads = {name: p.grad for name, p in program.model.named_parameters() if p.grad is not None}
    return numpy_of(dict(enumerate(outs))), numpy_of(grads)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, folder):
    """It prints the same; with the weights of one the other computes the same, gradients too"""
    mine, shown = run(name, ours(folder))
    judge, expected = run(name, theirs(folder))
    assert shown == expected and shown
    if "def answer" not in PROGRAMS[name]:
        return
    state = numpy_of(judge.model.state_dict())
    mine.model.load_state_dict({key: tinytorch.tensor(x) for key, x in state.items()})
    back = numpy_of(mine.model.state_dict())
    judge.model.load_state_dict({key: torch.tensor(x * 0) for key, x in state.items()})
    judge.model.load_state_dict({key: torch.tensor(x) for key, x in back.items()})
    for found, wanted in zip(answered(mine), answered(judge)):
        assert found.keys() == wanted.keys()
        for key, x in found.items():
            np.testing.assert_allclose(x, wanted[key], rtol=1e-5, atol=1e-5, err_msg=str(key))
