"""Seq2SeqTransformer: against plain NumPy; padding; writing greedily, with beams, drawn, with a cache."""
import itertools
import math

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.models import Seq2SeqTransformer
from tinytorch.nn import functional as F

from .support import Cache, Plain, check_gradients, cut, filled, near, sinusoids, some_ids, stirred

SRC, TGT, D, H, FF, N = 9, 7, 8, 2, 12, 8
SOURCE = torch.tensor([[3, 4, 5, 6, 1], [8, 7, 1, 0, 0], [2, 0, 5, 0, 0]])
TARGET = torch.tensor([[2, 3, 4, 5], [2, 6, 0, 0], [2, 1, 3, 0]])
SHAPES = {
    "2017": dict(), "t5": dict(positions="relative", norm="pre", scale_embeddings=False, tie_weights=True),
    "bart": dict(positions="learned", embedding_norm=True, scale_embeddings=False, activation="gelu",
                 share_embeddings=True, tie_weights=True),
    "pre": dict(norm="pre", head_bias=False, eps=.2), "another pad": dict(pad=5)}
THREE = {name: SHAPES[name] for name in ("2017", "t5", "bart")}


def seq2seq(share_embeddings=False, scale=.5, layers=2, **how):
    model = Seq2SeqTransformer(SRC, SRC if share_embeddings else TGT, D, H, layers, layers, FF, N,
                               share_embeddings=share_embeddings, **how)
    return stirred(model, scale)


def plain_seq2seq(model, source, target, positions="sinusoidal", norm="post", pad=0, scale_embeddings=True,
                  embedding_norm=False, **how):
    """Scores (T, V) of one pair: encoder, decoder with a look at what is no padding, and scores."""
    p = Plain(model, H, None, how.get("activation", "relu"), norm == "pre", how.get("eps", 1e-5))
    source, target = source.numpy(), target.numpy()

    def embedded(side, ids):
        name = f"{side}_embedding"
        x = p.p[f"{name}.token_embedding.weight"][ids] * (math.sqrt(D) if scale_embeddings else 1)
        if positions == "sinusoidal":
            x = x + sinusoids(len(ids), D)
        if positions == "learned":
            x = x + p.p[f"{name}.position_embedding.weight"][:len(ids)]
        return p.norm(f"{name}.norm", x) if embedding_norm else x

    def bias(side, n):
        if positions != "relative":
            return None
        away = np.arange(n) - np.arange(n)[:, None]                   # key - query; exact for short ones
        bucket = abs(away) + 16 * (away > 0) if side == "encoder" else np.maximum(-away, 0)
        return p.p[f"{side}_bias.weight"][bucket].transpose(2, 0, 1)

    t, seen = len(target), source != pad
    memory = p.stack("encoder.", embedded("source", source), mask=seen, bias=bias("encoder", len(source)))
    x = p.stack("decoder.", embedded("target", target), mask=np.tril(np.ones((t, t), bool)),
                bias=bias("decoder", t), memory=memory, seen=seen)
    return p.linear("output_proj", x)


# ---- the forward ----

@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_it_is_its_formula(how):
    model = seq2seq(**how)
    near(model(SOURCE, TARGET), [plain_seq2seq(model, *pair, **how) for pair in zip(SOURCE, TARGET)], 1e-5)


def test_a_long_target_has_a_bias_for_each_distance():
    """The decoder looks back only: 32 buckets for it, the first 16 for one distance each"""
    model, target = seq2seq(layers=1, **SHAPES["t5"]), some_ids(TGT, 1, 14)
    near(model(SOURCE[:1], target), [plain_seq2seq(model, SOURCE[0], target[0], **SHAPES["t5"])])


@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_its_parts(how):
    """encode, source_mask and decode with output_proj are the forward"""
    model, pad = seq2seq(**how), how.get("pad", 0)
    memory, mask = model.encode(SOURCE), model.source_mask(SOURCE)
    assert memory.shape == (3, 5, D) and mask.shape == (3, 1, 1, 5)
    assert mask[:, 0, 0].tolist() == (SOURCE != pad).tolist()
    near(model.output_proj(model.decode(TARGET, memory, mask)), model(SOURCE, TARGET))
    assert abs(model.decode(TARGET, memory) - model.decode(TARGET, memory, mask)).max().item() > 1e-3


@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_padding_of_the_source_changes_nothing(how):
    """However much there is; and its places are not looked at"""
    model, pad = seq2seq(layers=1, **how), how.get("pad", 0)
    for row, target in zip(([8, 7, 1], [6]), TARGET):
        padded = torch.tensor([row + [pad] * (5 - len(row))])
        near(model(padded, target.unsqueeze(0)), model(torch.tensor([row]), target.unsqueeze(0)), 1e-6)
    model.source_embedding.token_embedding.weight.data[pad] += 5.          # what stands there does not count
    if not how.get("tie_weights"):
        near(model(padded, TARGET[:1]), model(torch.tensor([[6]]), TARGET[:1]), 1e-6)


def test_without_padding():
    """pad=None: every id is a word, and everybody looks at it; where there is no 0 nothing changes"""
    want, model = seq2seq(layers=1), seq2seq(layers=1, pad=None)
    model.load_state_dict(want.state_dict())
    source = torch.tensor([[8, 7, 1], [6, 3, 2]])
    for beams in 1, 2:
        out = [each.generate(source, 4, 1, 2, num_beams=beams).tolist() for each in (want, model)]
        assert out[0] == out[1]
    near(model(source, TARGET[:2]), want(source, TARGET[:2]))
    source[0, 2] = 0
    alone = model(source[:, :2], TARGET[:2])
    assert abs((model(source, TARGET[:2]) - alone)[0].detach().numpy()).max() > 1e-3
    near(want(source, TARGET[:2])[0], want(source[:1, :2], TARGET[:1])[0])


@pytest.mark.parametrize("how", SHAPES.values(), ids=SHAPES)
def test_no_place_sees_a_later_one(how):
    """To the last bit: so padding at the target's end needs no mask; a word of the source moves all"""
    model = seq2seq(**how).float()
    want = model(SOURCE, TARGET)
    assert want.dtype == torch.float32
    for t in range(4):
        other = TARGET.clone()
        other[:, t] = (TARGET[:, t] + 1) % TGT
        assert (model(SOURCE, other) == want).all(-1).tolist() == [[True] * t + [False] * (4 - t)] * 3
    source = SOURCE.clone()
    source[:, 0] = 1
    assert (model(source, TARGET) != want).any(-1).all()


@pytest.mark.parametrize("how", THREE.values(), ids=THREE)
def test_a_cache_changes_nothing(how):
    model = seq2seq(**how)
    memory, mask = model.encode(SOURCE), model.source_mask(SOURCE)
    want, cache = model.decode(TARGET, memory, mask), Cache()
    steps = [model.decode(TARGET[:, a:b], memory, mask, cache) for a, b in ((0, 1), (1, 3), (3, 4))]
    near(torch.cat(steps, 1), want)
    assert cache.length() == 4 and sorted(cache.held) == sorted(cache.other) == [0, 1]


def test_what_is_shared():
    """One table for both sides, and for the words to be written"""
    one = Seq2SeqTransformer(SRC, SRC, D, H, 1, 1, FF, N, share_embeddings=True, tie_weights=True)
    table = one.source_embedding.token_embedding
    assert one.target_embedding.token_embedding is table and one.output_proj.weight is table.weight
    tied = Seq2SeqTransformer(SRC, TGT, D, H, 1, 1, FF, N, tie_weights=True, head_bias=False)
    assert tied.output_proj.weight is tied.target_embedding.token_embedding.weight
    assert tied.source_embedding.token_embedding.weight.shape == (SRC, D) and tied.output_proj.bias is None
    free = Seq2SeqTransformer(SRC, SRC, D, H, 1, 1, FF, N)
    assert free.source_embedding.token_embedding is not free.target_embedding.token_embedding


def test_how_many_parameters():
    """The base model's blocks of 2017: 6 · (12 d² + 13 d) and 6 · (16 d² + 19 d), 44,138,496 for d = 512"""
    def size(d, l, m): return l * (12 * d**2 + 13 * d) + m * (16 * d**2 + 19 * d)
    assert size(512, 6, 6) == 44_138_496
    model = Seq2SeqTransformer(SRC, TGT, D, H, 3, 2, 4 * D, N)
    assert sum(p.numel() for p in model.parameters()) == size(D, 3, 2) + (SRC + TGT) * D + TGT * D + TGT


def test_how_it_begins():
    """N(0, 1/d); padding's vectors 0; dropout as told"""
    torch.manual_seed(0)
    model = Seq2SeqTransformer(200, 100, 64, 4, 1, 1, 96, 20, dropout=.2)
    for name, p in model.named_parameters():
        if p.ndim > 1:
            assert p.std().item() == pytest.approx(1 / 8, rel=.06), name
    for side in model.source_embedding, model.target_embedding:
        assert (side.token_embedding.weight[0] == 0).all() and side.dropout.p == .2
    assert {model.encoder.blocks[0].dropout1.p, model.decoder.blocks[0].dropout3.p} == {.2}


@pytest.mark.parametrize("how", [SHAPES["2017"], SHAPES["t5"]], ids=["2017", "t5"])
def test_gradients_of_all_parameters(how):
    """Of the loss of teacher forcing, padding left out"""
    model = seq2seq(scale=.3, **how)
    model.pad = -1                                   # padding's vector is not learned; here no id is padding
    for side in model.source_embedding, model.target_embedding:
        side.token_embedding.padding_idx = None

    def loss():
        scores = model(SOURCE, TARGET[:, :-1])
        return F.cross_entropy(scores.reshape(-1, TGT), TARGET[:, 1:].reshape(-1), ignore_index=0)
    check_gradients(model, loss)


# ---- writing ----

BOS, EOS = 1, 2


def greedy(model, source, n):
    """The argmax of a whole forward, n times."""
    ids = [BOS]
    for _ in range(n):
        ids.append(int(model(source.unsqueeze(0), torch.tensor([ids]))[0, -1].detach().numpy().argmax()))
    return ids


@pytest.mark.parametrize("how", THREE.values(), ids=THREE)
def test_greedy(how):
    """Row by row the argmax of whole forwards, up to eos, with and without a cache; one beam is the same"""
    model, n = seq2seq(layers=1, **how), 5
    rows = [greedy(model, row, n) for row in SOURCE]
    assert model.generate(SOURCE, n, BOS, None).tolist() == rows
    assert model.generate(SOURCE, n, BOS, None, cache=Cache(), num_beams=1, temperature=0).tolist() == rows
    assert model.generate(SOURCE, 0, BOS, EOS).tolist() == [[BOS]] * 3
    for eos in {row[2] for row in rows}:               # a row that wrote it is filled up with it
        assert model.generate(SOURCE, n, BOS, eos).tolist() == filled([cut(r, 1, eos) for r in rows], eos)


def test_what_is_drawn_ends_too():
    """Behind the first eos there is nothing else, and the rows go on until all have it, also past max_len"""
    model, source = seq2seq(layers=1), SOURCE[:1].expand(20, 5)
    out = model.generate(source, 90, BOS, EOS, temperature=99.0, seed=0).numpy()
    assert N + 1 < out.shape[1] < 91 and (out[:, -1] == EOS).all() and (out[:, -2] != EOS).any()
    ends = (out == EOS).argmax(1)
    assert all((row[end:] == EOS).all() for row, end in zip(out, ends)) and len(set(ends)) > 4
    assert model.generate(SOURCE, 12, BOS, None).shape == (3, 13)


@pytest.mark.parametrize("how", [SHAPES["2017"], SHAPES["t5"]], ids=["2017", "t5"])
def test_drawn_and_searched_with_a_cache(how):
    """The same tokens as without"""
    model = seq2seq(**how)
    for options in (dict(temperature=2.0, top_k=3, top_p=.9, seed=3), dict(num_beams=3),
                    dict(num_beams=4, length_penalty=0.)):
        out = model.generate(SOURCE, 5, BOS, EOS, **options)
        assert model.generate(SOURCE, 5, BOS, EOS, **options, cache=Cache()).tolist() == out.tolist()


def test_seeds():
    model = seq2seq(layers=1)

    def write(seed): return model.generate(SOURCE, 5, BOS, None, temperature=3.0, seed=seed).tolist()
    torch.manual_seed(0)
    here = torch.rand(2).tolist()
    torch.manual_seed(0)
    assert write(1) == write(1) != write(2)
    assert torch.rand(2).tolist() == here


def test_with_beams_enough_it_finds_the_best_of_all():
    """Of all texts up to an eos, and those of 3 words, by sum / length^penalty"""
    model = stirred(Seq2SeqTransformer(SRC, 3, D, H, 1, 1, FF, N), .7)
    source, n, found = SOURCE[:2], 3, []               # found: (text, its sum for each source)
    for k in range(1, n + 1):
        texts = [t for t in itertools.product(range(3), repeat=k)
                 if EOS not in t[:-1] and (k == n or t[-1] == EOS)]
        for text in texts:
            ids = torch.tensor([[BOS, *text]]).expand(2, k + 1)
            logp = torch.log_softmax(model(source, ids[:, :-1]), -1).detach().numpy()
            found.append((text, logp[:, np.arange(k), list(text)].sum(-1)))
    for penalty in 0.0, 1.0, 2.0:
        best = [max(found, key=lambda f: f[1][i] / len(f[0]) ** penalty)[0] for i in range(2)]
        out = model.generate(source, n, BOS, EOS, num_beams=27, length_penalty=penalty)
        assert out.tolist() == filled([[BOS, *text] for text in best], EOS)


def test_rows_are_searched_apart():
    model = seq2seq(layers=1)
    out = model.generate(SOURCE, 4, BOS, EOS, num_beams=3)
    alone = [model.generate(row.unsqueeze(0), 4, BOS, EOS, num_beams=3)[0].tolist() for row in SOURCE]
    assert out.tolist() == filled(alone, EOS)


def test_the_model_stays_as_it_was():
    """No dropout and no history inside; the source is read once; its mode comes back, also after an error"""
    seen = []

    class Watched(Seq2SeqTransformer):
        def encode(self, source):
            out = super().encode(source)
            seen.append((self.training, out.requires_grad))
            return out

    model = Watched(SRC, TGT, D, H, 1, 1, FF, N, dropout=.5)
    model.encoder.eval()
    for how in dict(), dict(num_beams=2):
        first = model.generate(SOURCE, 4, BOS, EOS, **how)
        assert model.generate(SOURCE, 4, BOS, EOS, **how).tolist() == first.tolist()
        with pytest.raises(IndexError, match=f"id {TGT} "):
            model.generate(SOURCE, 4, TGT, EOS, **how)
    assert seen == [(False, False)] * 6
    assert model.training and model.decoder.training and not model.encoder.training


# ---- errors ----

@pytest.mark.parametrize("how, says", [
    (dict(share_embeddings=True), f"{SRC} words in the source and {TGT}"), (dict(norm="mid"), "'mid'"),
    (dict(positions="alibi"), "'alibi'.*learned, sinusoidal, relative, none"),
    (dict(positions="rotary"), "'rotary'.*relative"), (dict(activation="tanh"), "'tanh'"),
    (dict(num_heads=3), "multiple"), (dict(pad=SRC), f"padding_idx={SRC}")], ids=str)
def test_refused(how, says):
    with pytest.raises(ValueError, match=says):
        Seq2SeqTransformer(**dict(src_vocab=SRC, tgt_vocab=TGT, d_model=D, num_heads=H, num_encoder_layers=1,
                                  num_decoder_layers=1, d_ff=FF, max_len=N) | how)


def test_refused_calls():
    model, learned, read = seq2seq(layers=1), seq2seq(positions="learned"), Cache()
    model.decode(TARGET, model.encode(SOURCE), None, read)
    for call, error, says in [
            (lambda: model(SOURCE, TARGET + TGT), IndexError, f"id {TGT}|0 to {TGT - 1}"),
            (lambda: model(SOURCE + SRC, TARGET), IndexError, f"0 to {SRC - 1}"),
            (lambda: model(SOURCE[:2], TARGET), RuntimeError, "do not fit"),
            (lambda: model(SOURCE[0], TARGET), RuntimeError, "unsqueeze|do not fit"),
            (lambda: learned(some_ids(SRC, 1, N + 1), TARGET[:1]), IndexError, f"{N} were learned"),
            (lambda: learned.generate(SOURCE, N + 1, BOS, None), ValueError, f"max_len={N}"),
            (lambda: model.generate(SOURCE, 3, BOS, EOS, num_beams=0), ValueError, "num_beams=0"),
            (lambda: model.generate(SOURCE, -1, BOS, EOS), ValueError, "max_new_tokens=-1"),
            (lambda: model.generate(SOURCE[:0], 3, BOS, EOS), ValueError, r"prompts of \[\]"),
            (lambda: model.generate(SOURCE, 3, BOS, EOS, cache=read), ValueError, "has read 4 .*empty"),
            (lambda: model.generate(SOURCE, 3, BOS, EOS, temperature=-1), ValueError, "temperature=-1"),
            (lambda: model.generate(SOURCE, 3, BOS, EOS, temperature=1, top_p=0), ValueError, "top_p=0")]:
        with pytest.raises(error, match=says):
            call()


def test_a_list_of_sources():
    """Sources of several lengths, as a list: what the padded batch gives"""
    torch.manual_seed(0)
    model = Seq2SeqTransformer(12, 12, 16, 2, 1, 1, 32, 10)
    padded = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])
    written = model.generate([[3, 4, 5, 6], [7, 8]], 5, 1, 2)
    assert written.tolist() == model.generate(padded, 5, 1, 2).tolist()


def test_more_words_than_learned_places():
    """is refused before the first step; sines have no end"""
    for positions, works in ("learned", False), ("sinusoidal", True):
        model = Seq2SeqTransformer(12, 12, 16, 2, 1, 1, 32, 6, positions=positions)
        assert model.generate([[3, 4]], 6, 1, None).shape == (1, 7)      # the last word is not read
        if works:
            assert model.generate([[3, 4]], 7, 1, None).shape == (1, 8)
            continue
        with pytest.raises(ValueError, match="max_new_tokens=7.*max_len=6"):
            model.generate([[3, 4]], 7, 1, None)
