"""BERTEmbedding and BERTEncoder: against plain NumPy; padding, segments, the pooler, how it begins."""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.models import BERTEmbedding, BERTEncoder

from .support import Plain, check_gradients, drawn, near, some_ids, stirred

V, D, L, H, FF, N = 11, 8, 2, 2, 12, 7
IDS = torch.tensor([[1, 5, 9, 2, 3], [1, 7, 2, 0, 0]])
SEEN = IDS != 0
TYPES = torch.tensor([[0, 0, 0, 1, 1], [0, 1, 1, 0, 0]])
SHAPES = {"default": dict(), "pre": dict(norm="pre"), "eps": dict(eps=.3), "relu": dict(activation="relu"),
          "tanh": dict(activation="gelu_tanh", bias=False), "groups": dict(num_kv_heads=1),
          "three segments": dict(type_vocab_size=3)}


def bert(**how):
    torch.manual_seed(0)
    return BERTEncoder(V, D, L, H, FF, N, **how)


def plain_bert(model, ids, seen, types, norm="post", **how):
    """Vectors (T, d) of one row: LN(word + segment + place), blocks that see what is no padding."""
    p = Plain(model, H, how.get("num_kv_heads"), how.get("activation", "gelu"), norm == "pre",
              how.get("eps", 1e-12))
    ids, seen, types = ids.numpy(), seen.numpy(), types.numpy()
    x = (p.p["embedding.token_embedding.weight"][ids] + p.p["embedding.token_type_embedding.weight"][types]
         + p.p["embedding.position_embedding.weight"][:len(ids)])
    return p.stack("", p.norm("embedding.norm", x), mask=seen[None, :])


@pytest.fixture(autouse=True)
def same_numbers(): torch.manual_seed(0)


@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_bert_is_its_formula(how):
    model = stirred(bert(**how))
    near(model(IDS, SEEN, TYPES), [plain_bert(model, *row, **how) for row in zip(IDS, SEEN, TYPES)])


def test_what_is_not_given():
    """Without a mask all are seen, the first segment is all there is"""
    model = stirred(bert())
    want = [plain_bert(model, row, row == row, row * 0) for row in IDS]
    near(model(IDS), want)
    near(model(IDS, torch.ones(2, 5), torch.zeros(2, 5).long()), want)
    near(model(token_ids=IDS, token_types=None, attention_mask=None), want)


@pytest.mark.parametrize("kind", ["bool", "int64", "int32", "float32"])
def test_a_mask_of_any_kind(kind):
    """True or 1 for words, False or 0 for padding"""
    model = stirred(bert())
    near(model(IDS, torch.tensor(SEEN.numpy().astype(kind))), model(IDS, SEEN))
    assert abs(model(IDS, SEEN) - model(IDS))[0].max().item() == 0
    assert abs(model(IDS, SEEN) - model(IDS))[1].max().item() > 1e-3


@pytest.mark.parametrize("hidden", [-np.inf, -10000., np.nan, .5, -1, 2])
def test_a_mask_of_other_numbers(hidden):
    """One that is added to scores, with 0 for what is seen, would hide the words and show the padding"""
    model, mask = bert(), np.where(SEEN.numpy(), 0, hidden)
    for wrong in mask, np.where(SEEN.numpy(), 1, hidden):
        with pytest.raises(ValueError, match="1 where a word is read.*0 where there is padding.*mask == 0"):
            model(IDS, torch.tensor(wrong))
    if not np.isnan(hidden):
        near(model.eval()(IDS, torch.tensor(mask) == 0), model(IDS, SEEN))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_padding_changes_nothing(norm):
    """What stands in it, to the last bit; how much there is, to rounding"""
    model, other = bert(norm=norm).eval(), IDS.clone()
    for p in model.parameters():
        p.data *= 5
    other[1, 3:] = torch.tensor([8, 4])
    assert (model(other, SEEN)[1, :3] == model(IDS, SEEN)[1, :3]).all()
    assert (model(other)[1, :3] != model(IDS)[1, :3]).any()
    model = model.double()
    near(model(IDS, SEEN)[1:, :3], model(IDS[1:, :3]))


def test_all_see_all():
    """Also what comes later: one word moved moves every vector"""
    model, other = stirred(bert()), IDS.clone()
    other[:, 2] = 4
    assert (abs(model(other) - model(IDS)) > 1e-9).any(-1).all()


def test_order_counts_by_the_places_alone():
    """All places made alike, another order gives the same vectors in that order"""
    model, order = stirred(bert()), [0, 3, 1, 4, 2]
    assert abs(model(IDS[:, order]) - model(IDS)[:, order]).max().item() > 1e-3
    model.embedding.position_embedding.weight.data[...] = .5
    near(model(IDS[:, order]), model(IDS)[:, order])


def test_the_pooler():
    """tanh(W h + b) of the first vector"""
    model = stirred(bert())
    hidden = model(IDS, SEEN, TYPES)
    w, b = model.pooler.weight.detach().numpy(), model.pooler.bias.detach().numpy()
    near(model.pool(hidden), np.tanh(hidden[:, 0].detach().numpy() @ w.T + b))
    other = drawn(2, 5, D)
    other[:, 0] = hidden[:, 0].detach()
    near(model.pool(other), model.pool(hidden))
    bare = bert(pooler=False)
    assert not [n for n, _ in bare.named_parameters() if "pooler" in n] and bare(IDS).shape == (2, 5, D)
    with pytest.raises(RuntimeError, match="pooler=True"):
        bare.pool(bare(IDS))


# ---- the embedding ----

def test_the_embedding_by_hand():
    """(3 + 1 + 0, 0 + 0 + 2) normalised is (1, -1)"""
    layer = BERTEmbedding(3, 2, 4, dropout=0.0).double()
    layer.token_embedding.weight.data[...] = [[0, 0], [3, 0], [7, 7]]
    layer.token_type_embedding.weight.data[...] = [[0, 0], [1, 0]]
    layer.position_embedding.weight.data[...] = [[0, 0], [0, 2], [5, 6], [0, 0]]
    near(layer(torch.tensor([[1, 1]]), torch.tensor([[0, 1]])), [[[1, -1], [1, -1]]])
    near(layer(torch.tensor([[2, 1, 2]])), [[[0, 0], [1, -1], [-1, 1]]])
    layer.norm.weight.data[...], layer.norm.bias.data[...] = 2., 1.
    near(layer(torch.tensor([[1]])), [[[3, -1]]])


def test_eps_of_the_embedding():
    """1e-12 unless told"""
    assert BERTEmbedding(3, 2, 4).norm.eps == bert().embedding.norm.eps == bert().blocks[0].norm1.eps == 1e-12
    assert bert(eps=.2).embedding.norm.eps == bert(eps=.2).blocks[1].norm2.eps == .2


def test_dropout_of_the_embedding():
    """Behind the norm: all dropped, nothing is left of its bias"""
    layer = BERTEmbedding(V, D, N, dropout=1.0)
    layer.norm.bias.data[...] = 3.
    assert (layer(IDS) == 0).all() and (layer.eval()(IDS) != 0).any()
    assert bert().embedding.dropout.p == bert().blocks[0].dropout2.p == .1


def test_padding_learns_nothing():
    """Its vector begins as 0 and gets no gradient, if padding has an id"""
    for how, row in (dict(), 0), (dict(padding_idx=3), 3):
        model = bert(**how)
        weight = model.embedding.token_embedding.weight
        assert (weight[row] == 0).all() and (weight != 0).any(-1).sum().item() == V - 1
        (model(IDS) * torch.randn(2, 5, D)).sum().backward()
        assert (weight.grad[row] == 0).all() and (weight.grad[1] != 0).any()
    model = bert(padding_idx=None)
    (model(IDS) * torch.randn(2, 5, D)).sum().backward()
    assert (model.embedding.token_embedding.weight.grad[0] != 0).any()


# ---- how it begins, and learns ----

def test_the_start_of_weights():
    torch.manual_seed(0)
    model = BERTEncoder(200, 64, 2, 4, 96, 50)
    for name, p in model.named_parameters():
        if p.ndim == 1:
            assert (p == (1 if "norm" in name and "weight" in name else 0)).all(), name
        elif "token_type" not in name:
            assert p.std().item() == pytest.approx(.02, rel=.06), name


def test_how_many_parameters():
    """(V + N + 2) d + 2 d + L (12 d² + 13 d) + d² + d: BERT-base 109,482,240"""
    def size(v, d, l, n): return (v + n + 2) * d + 2 * d + l * (12 * d**2 + 13 * d) + d**2 + d
    assert size(30522, 768, 12, 512) == 109_482_240
    model = BERTEncoder(V, D, 3, H, 4 * D, N)
    assert sum(p.numel() for p in model.parameters()) == size(V, D, 3, N)
    assert sum(p.numel() for p in BERTEncoder(V, D, 3, H, 4 * D, N, norm="pre").parameters()) == size(
        V, D, 3, N) + 2 * D
    assert model.d_model == D and model.max_len == N


@pytest.mark.parametrize("how", [dict(), dict(norm="pre", padding_idx=None)], ids=["post", "pre"])
def test_gradients_of_all_parameters(how):
    model, g = stirred(bert(**how)), drawn(2, D)
    if model.embedding.token_embedding.padding_idx is not None:
        ids = torch.tensor([[1, 5, 9, 2, 3], [1, 7, 2, 4, 4]])          # no padding: its row is not learned
    else:
        ids = IDS
    check_gradients(model, lambda: (model.pool(model(ids, SEEN, TYPES)) * g).sum())


def test_it_may_be_asked_for_another_norm():
    """An RMSNorm in the blocks, as TransformerBlock takes it"""
    model = bert(norm_layer=nn.RMSNorm)
    assert list(model.blocks[0].norm1.state_dict()) == ["weight"]
    assert model(some_ids(V, 1, 3)).shape == (1, 3, D)


# ---- errors ----

@pytest.mark.parametrize("how, says", [
    (dict(norm="mid"), "'mid'"), (dict(activation="tanh"), "'tanh'"),
    (dict(padding_idx=V), f"padding_idx={V}"), (dict(num_kv_heads=3), "num_kv_heads")], ids=str)
def test_refused(how, says):
    with pytest.raises(ValueError, match=says):
        bert(**how)


def test_refused_calls():
    """Ids, segments and places that are not there; a mask or segments of another size"""
    model = bert()
    for call, says in [
            (lambda: model(torch.tensor([[1, V]])), f"id {V} "),
            (lambda: model(torch.tensor([[-1]])), "id -1 "),
            (lambda: model(IDS, SEEN, TYPES + 1), "id 2 .*0 to 1"),
            (lambda: model(some_ids(V, 1, N + 1)), f"{N} were learned")]:
        with pytest.raises(IndexError, match=says):
            call()
    for call, says in [
            (lambda: model(IDS, torch.ones(2, 4)), r"4\D"), (lambda: model(IDS, torch.ones(3, 5)), r"3\D"),
            (lambda: model(IDS, torch.ones(5)), r"attention_mask \(5,\) and token_ids \(2, 5\)"),
            (lambda: model(IDS, SEEN, TYPES[:, :2]), r"\(2, 2, 8\)"),
            (lambda: model(IDS, SEEN, torch.rand(2, 5)), "float32"),
            (lambda: model(torch.rand(2, 5)), "float32"),
            (lambda: model(IDS[0]), "unsqueeze")]:
        with pytest.raises(RuntimeError, match=says):
            call()
