"""GPTDecoder's forward: against plain NumPy, in all its shapes; how it begins; what it must not see."""
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.models import GPTDecoder
from tinytorch.nn import functional as F

from .support import Cache, Plain, check_gradients, near, rotated, sinusoids, some_ids, stirred

V, D, L, H, FF, N = 11, 8, 2, 2, 12, 7
LLAMA = dict(positions="rotary", norm_layer=nn.RMSNorm, activation="swiglu", num_kv_heads=1, bias=False,
             eps=1e-3, rotary_base=50.0, tie_weights=True)
SHAPES = {
    "learned": dict(), "sinusoidal": dict(positions="sinusoidal"), "rotary": dict(positions="rotary"),
    "none": dict(positions="none"), "tied": dict(tie_weights=True), "head's bias": dict(head_bias=True),
    "relu": dict(activation="relu", eps=.1), "wide heads": dict(head_dim=6, positions="rotary"),
    "grouped": dict(num_kv_heads=1), "llama": LLAMA}


def gpt(**how):
    torch.manual_seed(0)
    return GPTDecoder(V, D, L, H, FF, N, **how)


def plain_gpt(model, ids, positions="learned", **how):
    """Scores (T, V) of one row of ids: words + places, causal pre-norm blocks, norm, scores."""
    base = how.get("rotary_base", 10000.0)
    p = Plain(model, H, how.get("num_kv_heads"), how.get("activation", "gelu_tanh"), True,
              how.get("eps", 1e-5), how.get("norm_layer") is nn.RMSNorm,
              (lambda x: rotated(x, base)) if positions == "rotary" else None)
    ids = ids.numpy()
    t = len(ids)
    x = p.p["token_embedding.weight"][ids]
    if positions == "learned":
        x = x + p.p["position_embedding.weight"][:t]
    if positions == "sinusoidal":
        x = x + sinusoids(t, D)
    x = p.stack("", x, mask=np.tril(np.ones((t, t), bool)))
    return p.linear("output_proj", x)


@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_gpt_is_its_formula(how):
    """For rows of any length up to max_len"""
    model = stirred(gpt(**how))
    for t in 1, 4, N:
        ids = some_ids(V, 2, t)
        near(model(ids), [plain_gpt(model, row, **how) for row in ids], 1e-6)     # sines are kept in float32


@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_a_cache_changes_nothing(how):
    """Scores of a word, of three, of the rest, as if all were read at once"""
    model, ids = stirred(gpt(**how)), some_ids(V, 3, N)
    cache, steps, at = Cache(), [], 0
    for n in 1, 3, N - 4:
        steps.append(model(ids[:, at:at + n], cache))
        at += n
        assert cache.length() == at and sorted(cache.held) == list(range(L))
    near(torch.cat(steps, 1), model(ids))


@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_no_place_sees_a_later_one(how):
    """Perturb each word in turn: the scores before it stay to the last bit, its own and those after do not"""
    model, ids = gpt(**how).eval(), some_ids(V, 1, N)
    for p in model.parameters():
        p.data *= 5                                                    # so that attention is not all alike
    want = model(ids)
    assert want.dtype == torch.float32
    for t in range(N):
        other = ids.clone()
        other[0, t] = (ids[0, t] + 1) % V
        same = (model(other) == want).all(-1)[0].tolist()
        assert same == [True] * t + [False] * (N - t)


def test_rows_do_not_see_each_other():
    model, ids = stirred(gpt()), some_ids(V, 3, 5)
    near(torch.cat([model(row.unsqueeze(0)) for row in ids], 0), model(ids))


def test_where_a_word_stands_counts():
    """The same word twice: equal scores without places, others with them"""
    ids = torch.tensor([[4, 4, 4]])
    for positions in "learned", "sinusoidal":
        x = stirred(gpt(positions=positions))(ids)
        assert abs(x[0, 0] - x[0, 1]).max().item() > 1e-3
    x = stirred(gpt(positions="none"))(ids)
    near(x[0, 0], x[0, 2])


def test_dropout_of_gpt():
    """Of words and places: all dropped, only biases are left, the same at each place; none in evaluation"""
    model, ids = gpt(dropout=1.0), some_ids(V, 2, 4)
    model.norm.bias.data[...] = 1.
    near(model(ids), (model.output_proj.weight.sum(-1)).expand(2, 4, V), 1e-6)
    assert abs(model.eval()(ids)[0, 0] - model.eval()(ids)[0, 1]).max().item() > 1e-4
    assert gpt().dropout.p == gpt().blocks[0].dropout1.p == .1


# ---- how it begins ----

def test_an_untrained_model_knows_nothing():
    """Its loss is the logarithm of the number of words"""
    model = GPTDecoder(65, 32, 2, 4, 64, 16).eval()
    ids = some_ids(65, 8, 16)
    loss = F.cross_entropy(model(ids[:, :-1]).reshape(-1, 65), ids[:, 1:].reshape(-1)).item()
    assert loss == pytest.approx(math.log(65), abs=.05)


def test_the_start_of_weights():
    """N(0, 0.02²); what writes into the stream by √(2 L) less; biases 0, norms 1"""
    torch.manual_seed(0)
    model = GPTDecoder(200, 64, 8, 4, 96, 50, head_bias=True)
    for name, p in model.named_parameters():
        if p.ndim == 1:
            assert (p == (1 if "norm" in name and "weight" in name else 0)).all(), name
            continue
        want = .02 / 4 if name.endswith(("out_proj.weight", "linear2.weight")) else .02
        assert p.std().item() == pytest.approx(want, rel=.06), name
        assert abs(p.mean().item()) < 5 * want / math.sqrt(p.numel()), name


def test_how_many_parameters():
    """V d + N d + L (12 d² + 13 d) + 2 d: for GPT-2's sizes 124,439,808; a head of its own V d more"""
    def size(v, d, l, n): return v * d + n * d + l * (12 * d**2 + 13 * d) + 2 * d
    assert size(50257, 768, 12, 1024) == 124_439_808
    for tied, more in (True, 0), (False, V * D):
        model = GPTDecoder(V, D, 3, H, 4 * D, N, tie_weights=tied)
        assert sum(p.numel() for p in model.parameters()) == size(V, D, 3, N) + more


def test_tied_weights_are_one():
    """Also after loading, and both ways of use count in the gradient"""
    model = gpt(tie_weights=True)
    assert model.output_proj.weight is model.token_embedding.weight
    model.load_state_dict(gpt(tie_weights=True).state_dict())
    assert model.output_proj.weight is model.token_embedding.weight
    assert gpt().output_proj.weight is not gpt().token_embedding.weight
    assert gpt().output_proj.bias is None and gpt(head_bias=True).output_proj.bias.shape == (V,)


@pytest.mark.parametrize("how", [dict(), dict(tie_weights=True, positions="sinusoidal"), LLAMA],
                         ids=["learned", "tied", "llama"])
def test_gradients_of_all_parameters(how):
    """Of the loss of the next word, along a random direction"""
    model, ids = stirred(gpt(**how)), torch.arange(12).reshape(2, 6) % V

    def loss(): return F.cross_entropy(model(ids[:, :-1]).reshape(-1, V), ids[:, 1:].reshape(-1))
    check_gradients(model, loss)


# ---- errors ----

@pytest.mark.parametrize("how, says", [
    (dict(positions="alibi"), "'alibi'.*learned, sinusoidal, rotary, none"),
    (dict(positions="relative"), "'relative'.*rotary"), (dict(norm="mid"), "'mid'"),
    (dict(activation="tanh"), "'tanh'.*gelu"), (dict(num_heads=3), "multiple"),
    (dict(num_kv_heads=4), "num_kv_heads"), (dict(positions="rotary", head_dim=3), "even")], ids=str)
def test_refused(how, says):
    sizes = dict(vocab_size=V, d_model=D, num_layers=L, num_heads=H, d_ff=FF, max_len=N)
    with pytest.raises(ValueError, match=says):
        GPTDecoder(**sizes | how)


def test_refused_ids():
    """Ids out of the table, texts longer than places were learned, also with a cache; wrong types and axes"""
    model, cache = gpt(), Cache()
    for bad in V, -1:
        with pytest.raises(IndexError, match=f"id {bad} .*0 to {V - 1}"):
            model(torch.tensor([[1, bad]]))
    with pytest.raises(IndexError, match=f"0 to {N}, and {N} were learned"):
        model(some_ids(V, 1, N + 1))
    model(some_ids(V, 1, N), cache)
    with pytest.raises(IndexError, match=f"{N} to {N}, and {N} were learned"):
        model(some_ids(V, 1, 1), cache)
    with pytest.raises(RuntimeError, match="float32.*long"):
        model(torch.randn(1, 3))
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        model(some_ids(V, 3))
