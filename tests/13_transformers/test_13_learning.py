"""The four models as wholes: each learns what only a sound one can, and is the same from any source."""
import copy

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn, optim
from tinytorch.models import BERTEncoder, GPTDecoder, Seq2SeqTransformer, VisionTransformer
from tinytorch.nn import functional as F

BOS, EOS, PAD, NONE = 1, 2, 0, -100
LLAMA = dict(positions="rotary", norm_layer=nn.RMSNorm, activation="swiglu", num_kv_heads=1, tie_weights=True)
T5 = dict(positions="relative", norm="pre", norm_layer=nn.RMSNorm, share_embeddings=True, tie_weights=True)


def tensor(rows): return torch.tensor(np.array(rows))
def scored(logits, labels): return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


def gpt(dropout=0.0, **how): return GPTDecoder(10, 16, 1, 2, 32, 5, dropout, **how)
def bert(dropout=0.0, **how): return BERTEncoder(10, 16, 1, 2, 32, 5, dropout=dropout, **how)
def seq2seq(dropout=0.0, **how): return Seq2SeqTransformer(10, 10, 16, 2, 1, 1, 32, 5, dropout, **how)
def vit(dropout=0.0, **how): return VisionTransformer(8, 4, 1, 4, 16, 1, 2, 32, dropout, **how)


@pytest.fixture(autouse=True)
def seeded(): torch.manual_seed(0)


# ---- a few rows that a sound model learns by heart, and one that lacks a part cannot ----

def learned(model, loss, lr=0.01, widen=1):
    """The loss after 30 steps on one batch. widen: larger weights to begin with, which saves steps."""
    for p in model.parameters():
        p.data[...] *= widen if p.ndim > 1 else 1
    optimizer = optim.Adam(model.parameters(), lr=lr)
    for _ in range(30):
        optimizer.zero_grad()
        now = loss()
        now.backward()
        optimizer.step()
    return now.item()


def test_gpt_learns_an_echo():
    """k 9 k 9 k: behind a 9 comes what was before it. Who cannot look back guesses half: ln 4 / 2 = .69"""
    text = tensor([[k, 9, k, 9, k] for k in range(4)])
    model = gpt()
    loss = learned(model, lambda: scored(model(text[:, :-1]), text[:, 1:]), .02, 8)
    assert loss < .1
    np.testing.assert_array_equal(model.generate(text[:, :1], 4, temperature=0).numpy(), text.numpy())


def test_bert_learns_to_fill_a_hole():
    """k 8 9 8, and 9 8 k with padding: 9 stands for k, which is left or right of it. Without: ln 4 = 1.39"""
    letters = range(1, 5)
    text = tensor([[k, 8, 9, 8] for k in letters] + [[9, 8, k, PAD] for k in letters])
    labels = tensor([[NONE, NONE, k, NONE] for k in letters] + [[k, NONE, NONE, NONE] for k in letters])
    model = nn.ModuleList([bert(), nn.Linear(16, 10)])
    loss = learned(model, lambda: scored(model[1](model[0](text, text != PAD)), labels), .03, 4)
    assert loss < .1


def test_seq2seq_learns_to_turn_round():
    """3 4 5 becomes 5 4 3, and 3 5 with padding 5 3. Who cannot see the source: (5.27 + 4 ln 2) / 20 = .40"""
    source = tensor([[3, 4, 5], [4, 5, 3], [5, 3, 4], [3, 5, PAD], [4, 3, PAD]])
    target = tensor([[BOS, 5, 4, 3, EOS], [BOS, 3, 5, 4, EOS], [BOS, 4, 3, 5, EOS], [BOS, 5, 3, EOS, EOS],
                     [BOS, 3, 4, EOS, EOS]])
    model = seq2seq(positions="learned")
    assert learned(model, lambda: scored(model(source, target[:, :-1]), target[:, 1:])) < .1
    np.testing.assert_array_equal(model.generate(source, 4, BOS, EOS).numpy(), target.numpy())


def test_vit_learns_where():
    """Which quarter of a picture is bright: all have the same four patches. Without places: ln 4 = 1.39"""
    pictures = torch.tensor(np.kron(np.eye(4).reshape(4, 1, 2, 2), np.ones((4, 4))).astype("float32"))
    model = vit()
    assert learned(model, lambda: scored(model(pictures), torch.arange(4)), .005, 8) < .1
    assert model(pictures).argmax(-1).tolist() == [0, 1, 2, 3]


# ---- the same model, from wherever it comes ----

IDS = tensor([[3, 4, 5, 6], [7, 6, 5, PAD], [8, 2, 3, 4]])
PICTURES = torch.tensor(np.random.default_rng(0).normal(size=(3, 1, 8, 8)).astype("float32"))
CASES = {
    "gpt": (gpt, {}, (IDS,)), "llama": (gpt, LLAMA, (IDS,)), "bert": (bert, {}, (IDS, IDS != PAD)),
    "bert, pre": (bert, {"norm": "pre"}, (IDS, IDS != PAD)), "seq2seq": (seq2seq, {}, (IDS, IDS + 1)),
    "t5": (seq2seq, T5, (IDS, IDS[:, :3])), "vit": (vit, {}, (PICTURES,))}
TIED = {"llama": ("output_proj.weight", "token_embedding.weight"),
        "t5": ("output_proj.weight", "target_embedding.token_embedding.weight")}
each = pytest.mark.parametrize("case", CASES)


def made(case, dropout=0.0, seed=0):
    """(model, its inputs)"""
    make, how, inputs = CASES[case]
    torch.manual_seed(seed)
    return make(dropout, **how), inputs


def exactly(x, y): np.testing.assert_array_equal(x.detach().numpy(), y.detach().numpy())
def differ(x, y): return bool((x != y).any())


def find(model, path):
    for name in path.split("."):
        model = getattr(model, name)
    return model


@each
def test_gradients_reach_every_parameter(case):
    """All but the keys' bias: it adds the same to all scores of a query, unless a rotation parts them"""
    model, inputs = made(case)
    model = model.double()
    out = model(*[x.double() if x.dtype.kind == "f" else x for x in inputs])
    (out ** 3).sum().backward()
    if "bert" in case:
        (model.pool(out.detach()) ** 3).sum().backward()
    sizes = {name: 0 if p.grad is None else abs(p.grad.numpy()).max() for name, p in model.named_parameters()}
    least = 1e-9 * max(sizes.values())
    idle = [name for name, size in sizes.items() if size < least]
    keys = [name for name in sizes if name.endswith("k_proj.bias")]
    assert idle == ([] if case == "llama" else keys) and keys


@each
def test_dropout_only_in_training(case):
    model, inputs = made(case, dropout=.5)
    without, _ = made(case)
    assert differ(model(*inputs), model(*inputs))
    exactly(model.eval()(*inputs), without(*inputs))


@each
def test_the_seed_decides(case):
    """Weights and what is dropped"""
    outs = []
    for seed in 3, 3, 4:
        model, inputs = made(case, dropout=.3, seed=seed)
        outs.append(model(*inputs))
    exactly(outs[0], outs[1])
    assert differ(outs[0], outs[2])


@each
def test_state_dict_there_and_back(case):
    model, inputs = made(case)
    other, _ = made(case, seed=1)
    assert differ(model(*inputs), other(*inputs))
    other.load_state_dict(model.state_dict())
    exactly(model(*inputs), other(*inputs))
    assert case not in TIED or find(other, TIED[case][0]) is find(other, TIED[case][1])


@each
def test_a_deep_copy_is_apart(case):
    model, inputs = made(case)
    before, other = model(*inputs), copy.deepcopy(model)
    exactly(other(*inputs), before)
    for p in other.parameters():
        p.data[...] += np.random.default_rng(0).normal(size=p.shape)
    exactly(model(*inputs), before)
    assert differ(other(*inputs), before)
    assert case not in TIED or find(other, TIED[case][0]) is find(other, TIED[case][1])


@each
def test_both_precisions(case):
    """float32 stays float32, in the gradients too, and float64 says the same with more digits"""
    outs, grads = [], []
    for dtype in torch.float32, torch.float64:
        model, inputs = made(case)
        model = model.to(dtype)
        out = model(*[x.to(dtype) if x.dtype.kind == "f" else x for x in inputs])
        out.square().sum().backward()
        found = [p.grad for p in model.parameters() if p.grad is not None]
        assert {out.dtype, *[g.dtype for g in found]} == {dtype}
        outs.append(out.detach().numpy())
        grads.append(np.concatenate([g.numpy().ravel() for g in found]))
    np.testing.assert_allclose(*outs, rtol=0, atol=1e-5 * abs(outs[1]).max())
    np.testing.assert_allclose(*grads, rtol=0, atol=1e-5 * abs(grads[1]).max())


# ---- who may see what: to the last bit ----

@pytest.mark.parametrize("case", ["gpt", "llama", "seq2seq", "t5"])
def test_the_future_moves_nothing(case):
    """Each place in turn is changed: all before it stay as they were, it and all later ones move"""
    model, inputs = made(case)
    model, ids = model.double(), inputs[-1]
    before = model(*inputs)
    for t in range(ids.shape[1]):
        other = ids.clone()
        other[:, t] = (ids[:, t] + 1) % 9 + 1
        moved = (model(*inputs[:-1], other) != before).any(-1)
        assert not moved[:, :t].any() and moved[:, t:].all()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_padding_moves_nothing(norm):
    """BERT: whatever stands in the padding. Encoder-decoder: whatever vector padding has"""
    model, (ids, seen) = bert(norm=norm).double(), CASES["bert"][2]
    before = model(ids, seen)
    other = ids.clone()
    other[1, 3] = 9
    moved = (model(other, seen) != before).any(-1)
    assert moved.tolist() == [[False] * 4, [False] * 3 + [True], [False] * 4]

    model, inputs = seq2seq(norm=norm).double(), (ids, ids + 1)
    before = model(*inputs)
    model.source_embedding.token_embedding.weight.data[PAD] = 7
    exactly(model(*inputs), before)
