"""Counts, memory and arithmetic by formula against models that are built; the power law."""
import tracemalloc

import numpy as np
import pytest

import tinytorch as torch
from tinytorch import nn
from tinytorch.models import (
    BERTEncoder,
    GPTDecoder,
    Seq2SeqTransformer,
    TransformerBlock,
    TransformerDecoderBlock,
    VisionTransformer,
    activation_bytes,
    bert_parameters,
    block_parameters,
    chinchilla_optimal_tokens,
    compute_optimal,
    count_parameters,
    fit_power_law,
    flops_per_token,
    gpt_parameters,
    memory,
    seq2seq_parameters,
    token_loss,
    vit_parameters,
)

# ---- parameters ----


def test_published_sizes():
    """By formula alone, to the last parameter where the number is known"""
    assert block_parameters(768) == 7_087_872 == 12 * 768 ** 2 + 13 * 768
    assert gpt_parameters(50257, 768, 12, max_len=1024) == 124_439_808             # GPT-2 small
    assert gpt_parameters(50257, 1600, 48, max_len=1024) == 1_557_611_200          # GPT-2 XL
    assert f"{gpt_parameters(50257, 12288, 96, max_len=2048) / 1e9:.1f}" == "174.6"            # GPT-3
    assert bert_parameters(30522, 768, 12) == 109_482_240                          # BERT-base
    assert bert_parameters(30522, 1024, 24) == 335_141_888                         # BERT-large
    assert vit_parameters() == 86_567_656                                          # ViT-B/16
    assert vit_parameters(patch_size=32) == 88_224_232                             # ViT-B/32
    llama = dict(bias=False, gated=True, norm_bias=False)
    assert gpt_parameters(49152, 576, 30, 1536, kv_dim=192, **llama) == 134_515_008            # SmolLM2-135M
    assert gpt_parameters(32000, 4096, 32, 11008, tie_weights=False, **llama) == 6_738_415_616  # Llama 2 7B


@pytest.mark.parametrize("options, counted", [
    ({}, {}), ({"bias": False}, {"bias": False}), ({"activation": "swiglu"}, {"gated": True}),
    ({"num_kv_heads": 2}, {"kv_dim": 4}), ({"norm_layer": nn.RMSNorm}, {"norm_bias": False})])
def test_a_block(options, counted):
    """Each option, as the built one has it"""
    assert count_parameters(TransformerBlock(8, 4, 20, **options)) == block_parameters(8, 20, **counted)
    if "num_kv_heads" not in options:
        assert (count_parameters(TransformerDecoderBlock(8, 4, 20, **options))
                == block_parameters(8, 20, cross=True, **counted))


def test_whole_models():
    """Tables, blocks, norms and heads, as the built ones have them"""
    for tie in True, False:
        assert count_parameters(GPTDecoder(11, 8, 3, 2, 20, 7, tie_weights=tie)) == gpt_parameters(
            11, 8, 3, 20, 7, tie)
        assert count_parameters(BERTEncoder(11, 8, 3, 2, 20, 7, pooler=tie)) == bert_parameters(
            11, 8, 3, 20, 7, pooler=tie)
        assert count_parameters(VisionTransformer((6, 4), 2, 3, 5, 8, 2, 2, 20)) == vit_parameters(
            (6, 4), 2, 3, 5, 8, 2, 20)
        assert count_parameters(Seq2SeqTransformer(
            9, 11, 8, 2, 1, 2, 20, norm="pre" if tie else "post", tie_weights=tie)) == seq2seq_parameters(
            9, 11, 8, 1, 2, 20, norm="pre" if tie else "post", tie_weights=tie)
    assert count_parameters(GPTDecoder(11, 8, 1, 2, 32, 7, positions="rotary")) == gpt_parameters(
        11, 8, 1, tie_weights=False)
    assert count_parameters(Seq2SeqTransformer(
        9, 9, 8, 2, 1, 1, 20, 7, positions="learned", share_embeddings=True, head_bias=False)
        ) == seq2seq_parameters(9, 9, 8, 1, 1, 20, 7, share_embeddings=True, head_bias=False)


def test_without_tables():
    """As scaling laws count: neither words nor places; a last matrix of its own stays"""
    inner = 2 * block_parameters(8, 20) + 16
    assert count_parameters(GPTDecoder(11, 8, 2, 2, 20, 7, tie_weights=True), embeddings=False) == inner
    assert count_parameters(GPTDecoder(11, 8, 2, 2, 20, 7), embeddings=False) == inner + 11 * 8
    t5 = Seq2SeqTransformer(9, 9, 8, 2, 1, 1, 20, positions="relative", tie_weights=True, head_bias=False)
    both = block_parameters(8, 20) + block_parameters(8, 20, cross=True)
    assert count_parameters(t5, embeddings=False) == both


# ---- memory ----

def test_bytes_for_each_number():
    """4 to use it, 16 to train it with Adam in single and in half precision, 12 with momentum, 8 with SGD"""
    for optimizer, dtype, each in ((None, "float32", 4), ("sgd", "float32", 8), ("momentum", "float32", 12),
                                   ("adam", "float32", 16), ("adamw", "float16", 16), ("adam", "float64", 32),
                                   (None, "float16", 2)):
        assert memory(1000, optimizer, dtype)["total"] == 1000 * each
    assert memory(10, "adam", "float16", activations=7) == {
        "weights": 20, "gradients": 20, "optimizer": 120, "activations": 7, "total": 167}
    with pytest.raises(ValueError, match="'lion' is not one of sgd"):
        memory(10, "lion")


@pytest.mark.parametrize("b, t, d, layers, heads, d_ff, vocab, dropout", [
    (4, 32, 64, 2, 4, 256, 20, 0.1), (2, 128, 32, 2, 8, 64, 20, 0.1), (4, 32, 32, 2, 2, 128, 500, 0.0),
    (3, 256, 32, 1, 4, 64, 20, 0.0)])
def test_activations_as_measured(b, t, d, layers, heads, d_ff, vocab, dropout):
    """What is held between forward and backward: the formula is within an eighth"""
    torch.manual_seed(0)
    model, ids = GPTDecoder(vocab, d, layers, heads, d_ff, t, dropout), torch.randint(0, vocab, (b, t))
    token_loss(model(ids), ids).backward()             # whatever is made once is there from now on
    tracemalloc.start()
    loss = token_loss(model(ids), ids)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    said = activation_bytes(b, t, d, layers, heads, d_ff, vocab, dropout > 0)
    assert loss.requires_grad and 7 / 8 < held / said < 9 / 8


def test_the_optimizer_holds_what_the_formula_says():
    model = GPTDecoder(11, 16, 2, 2, 32, 7)
    n, ids = count_parameters(model), torch.randint(0, 11, (2, 7))
    for optimizer, name in ((torch.optim.Adam(model.parameters()), "adam"),
                            (torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), "momentum"),
                            (torch.optim.SGD(model.parameters(), 0.1), "sgd")):
        token_loss(model(ids), ids).backward()
        optimizer.step()
        held = sum([x.data.nbytes for state in optimizer.state.values() for x in state.values()
                    if isinstance(x, torch.Tensor)])
        assert held == memory(n, name)["optimizer"]


# ---- arithmetic ----

def test_flops_are_those_of_the_products():
    """2 N for the matrices, 4 L T d for attention: counted in a model as it runs"""
    torch.manual_seed(0)
    model, (b, t, d, layers) = GPTDecoder(11, 8, 2, 2, 20, 7, tie_weights=True), (3, 7, 8, 2)
    counted = []

    def count(module, inputs, out): counted.append(2 * module.weight.numel() * out.numel() / out.shape[-1])

    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(count)
    model(torch.randint(0, 11, (b, t)))
    matrices = sum([p.numel() for p in model.blocks.parameters() if p.ndim == 2]) + 11 * d
    products = b * layers * 2 * (2 * t * t * d)        # queries by keys, and shares by values
    assert sum(counted) + products == flops_per_token(matrices, layers, d, t) * b * t
    assert flops_per_token(100, training=True) == 600


def test_compute_optimal():
    """20 tokens a parameter, and 6 N D spends the budget"""
    assert chinchilla_optimal_tokens(70e9) == 1.4e12
    for flops in 1e18, 5.76e23:
        n, tokens = compute_optimal(flops)
        assert tokens == 20 * n and 6 * n * tokens == pytest.approx(flops)


# ---- the power law ----

N = np.geomspace(1e3, 1e6, 7)


def test_known_laws_are_found():
    """Exactly without an offset, also a given one; nearly when the offset must be found, too"""
    law = fit_power_law(N, 8.0 * N ** -0.076)
    assert law[:4] == pytest.approx((8.0, 0.076, 0.0, 1.0)) and law(1e9) == pytest.approx(8.0 * 1e9 ** -0.076)
    assert fit_power_law(N, 8 * N ** -.3 + 1.5, offset=1.5)[:3] == pytest.approx((8.0, 0.3, 1.5))
    for scale, exponent, offset in (20.0, 0.34, 1.69), (400.0, 0.5, 0.0), (5.0, 0.1, 0.5):
        found = fit_power_law(N, scale * N ** -exponent + offset, offset=None)
        assert found == pytest.approx((scale, exponent, offset, 1.0), rel=2e-3, abs=2e-3)
    assert str(law) == "8 · N^-0.076" and str(law._replace(offset=1.25)) == "8 · N^-0.076 + 1.25"


def test_noise_is_seen_in_r2_and_hardly_in_the_prediction():
    rng = np.random.default_rng(0)
    y = 12 * N ** -0.3 + 1.2
    noisy = fit_power_law(N, y * np.exp(0.01 * rng.normal(size=7)), offset=None)
    assert 0.9 < noisy.r2 < 1 and abs(noisy(1e7) / (12 * 1e7 ** -0.3 + 1.2) - 1) < 0.05
    straight, around = fit_power_law(N, y), np.log(y) - np.log(y).mean()
    missed = np.log(y) - np.log(straight(N))           # r2 by its definition
    assert straight.r2 == pytest.approx(1 - (missed @ missed) / (around @ around))


@pytest.mark.parametrize("x, y, offset", [([1.0], [1.0], 0.0), ([1.0, 2.0], [1.0, 2.0], None),
                                          ([1.0, 0.0], [1.0, 2.0], 0.0), ([1.0, 2.0], [1.0, 0.5], 0.5),
                                          ([1.0, 2.0], [1.0, 2.0, 3.0], 0.0), ([2.0, 2.0], [1.0, 2.0], 0.0)])
def test_points_without_a_law(x, y, offset):
    with pytest.raises(ValueError, match="fit_power_law: x of shape"):
        fit_power_law(x, y, offset)
