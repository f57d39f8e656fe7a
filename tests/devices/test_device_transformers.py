"""Module 13 on a device: norms, layers and models give the CPU's numbers, and nothing crosses over.

What must cross, and is counted here: a prompt's length goes to the device once. Embedding waits for a look
at its ids, as ever; `generate` with an eos waits once a token more, to see whether all rows are done. A beam
search keeps its books on the host: each step brings over the best candidates, scores and places, and takes
back scores, places and words of those that go on.
"""
import numpy as np
import pytest

import tinytorch as torch
from tinytorch import models, nn
from tinytorch.core.backend import Generator
from tinytorch.nn import functional as F
from tinytorch.nn.normalization import layer_norm
from tinytorch.nn.rms_norm import rms_norm

from .alike import close, layer_alike, made, op_alike
from .strict import assert_there, traffic

rng = np.random.default_rng(13)
X, W, B = [rng.normal(size=shape).astype("float32") for shape in ((2, 5, 8), (8,), (8,))]
IDS, SOURCE = rng.integers(1, 20, (2, 5)), rng.integers(1, 20, (2, 6))
SOURCE[1, 4:] = 0                                      # padding


@pytest.mark.parametrize("op, params", [(layer_norm, [W, B]), (rms_norm, [W])])
def test_op(op, params, device):
    """Results and first and second derivatives"""
    op_alike(op, [((X,), {}), ((X, *params), {"eps": 0.1})], device)


def block(**how): return lambda: models.TransformerBlock(8, 2, 16, 0.0, **how)


def later_hidden(x): return nn.Transformer.generate_square_subsequent_mask(x.shape[1], x.device)


def encoder(**how): return nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, **how)


LAYERS = {
    "LayerNorm": (lambda: nn.LayerNorm(8), lambda layer, x: layer(x)),
    "LayerNorm, two sizes": (lambda: nn.LayerNorm((5, 8)), lambda layer, x: layer(x)),
    "RMSNorm": (lambda: nn.RMSNorm(8), lambda layer, x: layer(x)),
    "functions": (nn.Identity, lambda layer, x: (
        F.layer_norm(x, (5, 8)) + F.rms_norm(x, (8,), x[0, 0].detach()))),
    "FeedForward": (lambda: models.FeedForward(8, 16, 0.0, "gelu_tanh"), lambda layer, x: layer(x)),
    "SwiGLU": (lambda: models.SwiGLU(8, 16, 0.0), lambda layer, x: layer(x)),
    "block": (block(), lambda layer, x: layer(x, models.create_causal_mask(5, x.device))),
    "block, post": (block(norm="post", activation="swiglu", num_kv_heads=1), lambda layer, x: layer(x)),
    "stack": (lambda: models.TransformerEncoder(2, 8, 2, 16, 0.0, norm_layer=nn.RMSNorm),
              lambda layer, x: layer(x, models.create_causal_mask(5, x.device), x.mean(-1)[:, None, None])),
    "decoder block": (lambda: models.TransformerDecoderBlock(8, 2, 16, 0.0),
                      lambda layer, x: layer(x, x * 2)[0]),
    "decoder stack": (lambda: models.TransformerDecoder(2, 8, 2, 16, 0.0),
                      lambda layer, x: layer(x, x[:, :3])),
    "nn's encoder": (lambda: nn.TransformerEncoder(encoder(), 2, nn.LayerNorm(8)), lambda layer, x: layer(
        x, later_hidden(x), x[..., 0].detach() > 2, is_causal=True)),
    "nn's decoder": (
        lambda: nn.TransformerDecoder(
            nn.TransformerDecoderLayer(8, 2, 16, 0.0, "gelu", norm_first=True, bias=False), 2),
        lambda layer, x: layer(x, x * 2) * 0.1),
    "nn's whole": (lambda: nn.Transformer(8, 2, 1, 1, 16, 0.0, norm_first=True, batch_first=True),
                   lambda layer, x: layer(x, x[:, :3], tgt_mask=later_hidden(x[:, :3]))),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name, device):
    """Output and gradients of input and parameters, without a wait"""
    make, call = LAYERS[name]
    layer_alike(make, X, device, call, may_wait=False)


def test_ones_and_zeros(device):
    """A float mask is looked at once, whether it is all 0 and 1"""
    layer_alike(block(), X, device, lambda layer, x: layer(x, torch.tril(torch.ones(5, 5, device=x.device))))


def gpt(**how): return lambda: models.GPTDecoder(20, 8, 2, 2, 16, 12, dropout=0.0, **how)


def seq2seq(**how): return lambda: models.Seq2SeqTransformer(20, 20, 8, 2, 1, 1, 16, 12, 0.0, **how)


def bert(): return models.BERTEncoder(20, 8, 2, 2, 16, 12, dropout=0.0)


def vit(): return models.VisionTransformer(8, 4, 3, 5, 8, 1, 2)


PICTURES = rng.normal(size=(2, 3, 8, 8)).astype("float32")
LARGER = rng.normal(size=(2, 3, 12, 16)).astype("float32")
MODELS = {
    "GPT": (gpt(), [IDS], lambda model, ids: model(ids)),
    "GPT, waves": (gpt(positions="sinusoidal", tie_weights=True), [IDS], lambda model, ids: model(ids)),
    "GPT, Llama's": (gpt(positions="rotary", activation="swiglu", norm_layer=nn.RMSNorm, num_kv_heads=1),
                     [IDS], lambda model, ids: model(ids)),
    "BERT": (bert, [SOURCE], lambda model, ids: model.pool(model(ids, ids != 0, ids % 2))),
    "BERT, a mask of floats": (bert, [SOURCE], lambda model, ids: model(ids, (ids != 0).float())),
    "BERT's words and sentences": (
        lambda: models.BERTForPreTraining(bert()), [SOURCE], lambda model, ids: models.pretraining_loss(
            model(ids, ids != 0), (ids.masked_fill(ids < 5, -100), ids[:, 0] % 2))),
    "BERT's spans": (lambda: models.BERTForQuestionAnswering(bert()), [SOURCE], lambda model, ids: (
        models.span_loss(model(ids), (ids[:, 0] % 3, ids[:, 0] % 3 + 1))
        + models.best_span(*model(ids), mask=ids != 0)[2])),
    "BERT's classes": (lambda: nn.Sequential(models.BERTForTokenClassification(bert(), 3, 0.0)), [SOURCE],
                       lambda model, ids: model(ids)),
    "encoder-decoder": (seq2seq(), [SOURCE, IDS], lambda model, *ids: model(*ids)),
    "encoder-decoder, T5's": (seq2seq(positions="relative", share_embeddings=True), [SOURCE, IDS],
                              lambda model, *ids: model(*ids)),
    "ViT": (vit, [PICTURES], lambda model, x: model(x)),
    "ViT, another size": (vit, [LARGER], lambda model, x: model(x)),
}


@pytest.mark.parametrize("name", MODELS)
def test_model(name, device):
    """Scores and all gradients"""
    make, inputs, call = MODELS[name]

    def run(where):
        model, given = made(make, where), [torch.tensor(x, device=where) for x in inputs]
        traffic.clear()
        out = call(model, *given)
        (out * out + out).sum().backward()
        crossed = traffic.counts()
        return [out.detach(), *[p.grad for p in model.parameters() if p.grad is not None]], crossed

    (expected, _), (got, crossed) = run("cpu"), run(device)
    assert crossed[:2] == (0, 0) and len(got) == len(expected) > 10
    for g, e in zip(got, expected):
        close(g, e)


def test_a_step_of_training(device):
    """Words hidden on the device, dropout drawn there: a step brings nothing over"""
    torch.manual_seed(0)
    model = models.BERTEncoder(20, 8, 1, 2, 16, 12).to(device)
    head, ids = nn.Linear(8, 20, device=device), torch.tensor(SOURCE, device=device)
    optimiser = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=0.01)
    generator = Generator(device).manual_seed(1)
    inputs, labels = models.mask_tokens(ids, 3, 20, (0, 1), 0.5, generator)
    traffic.clear()
    loss = F.cross_entropy(head(model(inputs, ids != 0)).flatten(0, 1), labels.flatten())
    loss.backward()
    optimiser.step()
    assert traffic.counts()[:2] == (0, 0)
    assert_there(loss, device)


def test_hidden_words(device):
    """Drawn on the device by its generator: the same for one seed, others for another"""
    ids = torch.tensor(rng.integers(4, 20, (50, 40)), device=device)

    def hidden(seed):
        return models.mask_tokens(ids, 3, 20, (0, 1, 2), 0.15, Generator(device).manual_seed(seed))

    inputs, labels = hidden(0)
    assert_there(inputs, device)
    again, other = hidden(0), hidden(1)
    assert (again[0] == inputs).all() and (again[1] == labels).all() and (other[1] != labels).any()
    chosen = labels != -100
    assert chosen.float().mean().item() == pytest.approx(0.15, abs=0.03)
    assert ((labels == ids) | ~chosen).all() and ((inputs == ids) | chosen).all()


def written(make, where, *inputs, **how):
    """What the model writes, and what crossed meanwhile."""
    model, given = made(make, where), [torch.tensor(x, device=where) for x in inputs]
    traffic.clear()
    out = model.generate(*given, **how)
    return out, traffic.counts()


WRITING = {
    "GPT": (gpt(), [IDS], dict(max_new_tokens=4, temperature=0)),
    "GPT, longer than its room": (gpt(), [IDS], dict(max_new_tokens=9, temperature=0)),
    "encoder-decoder": (seq2seq(), [SOURCE], dict(max_new_tokens=4, bos=1, eos=None)),
}


@pytest.mark.parametrize("name", WRITING)
def test_likeliest(name, device):
    """Word for word as on the CPU, and no wait but of the embeddings; the prompt's length comes once"""
    make, inputs, how = WRITING[name]
    out, (to_host, to_device, waits) = written(make, device, *inputs, **how)
    assert_there(out, device)
    assert out.tolist() == written(make, "cpu", *inputs, **how)[0].tolist()
    read = how["max_new_tokens"] + ("bos" in how)                      # the source, too
    assert (to_host, to_device, waits) == (0, 1, read)


def test_with_an_end(device):
    """One wait a token more: are all rows done?"""
    row = IDS[:1]
    free = written(gpt(), "cpu", row, max_new_tokens=4, temperature=0)[0]
    eos = free[0, 6].item()
    out, crossed = written(gpt(), device, row, max_new_tokens=4, temperature=0, eos=eos)
    steps = free[0, 5:].tolist().index(eos) + 1
    assert out.tolist() == free[:, :5 + steps].tolist()
    assert crossed == (0, 1, steps + steps + 1)


@pytest.mark.parametrize("make, inputs, how", [
    (gpt(), [IDS], {}), (seq2seq(), [SOURCE], dict(bos=1, eos=2, temperature=1.0))], ids=["GPT", "seq2seq"])
def test_drawn(make, inputs, how, device):
    """By a generator of the device: the same for one seed, others for another"""
    first, again, other = [written(make, device, *inputs, max_new_tokens=6, seed=seed, top_k=15, top_p=0.95,
                                   **how) for seed in (0, 0, 1)]
    assert first[0].tolist() == again[0].tolist() != other[0].tolist()
    assert_there(first[0], device)
    assert first[1][:2] == (0, 1)


def test_prompts_of_any_length(device):
    """A list of prompts comes to the device; what is written is cut there"""
    def run(where): return made(gpt(), where).generate([[3, 4, 5], [6]], 3, temperature=0, eos=7)
    got, expected = run(device), run("cpu")
    assert [row.tolist() for row in got] == [row.tolist() for row in expected]
    for row in got:
        assert_there(row, device)


@pytest.mark.parametrize("make, inputs, how", [
    (gpt(), [IDS], dict(eos=2)), (seq2seq(), [SOURCE], dict(bos=1, eos=2))], ids=["GPT", "seq2seq"])
def test_beams(make, inputs, how, device):
    """The CPU's sentences; each step brings over scores and places of the candidates, no matrix"""
    how = dict(max_new_tokens=4, num_beams=3, **how)
    out, (to_host, to_device, _) = written(make, device, *inputs, **how)
    assert_there(out, device)
    assert out.tolist() == written(make, "cpu", *inputs, **how)[0].tolist()
    assert (to_host, to_device) == (4 * 2 + 2 * 3, 4 * 3 + 1)        # at the end all six texts, the best back
