"""GPT-2, Llama, Qwen2 and Mistral in Hugging Face's folders, against transformers: layers and writing."""
import json

import numpy as np
import pytest

from tinytorch import tensor
from tinytorch.models import from_pretrained

from .tiny import both, layers_of, run, same, saved, torch, transformers

IDS = np.array([[1, 5, 7, 9, 3, 22], [1, 8, 29, 4, 4, 6]])
GPT2 = {"vocab_size": 30, "n_positions": 12, "n_embd": 8, "n_layer": 3, "n_head": 2, "bos_token_id": 1,
        "eos_token_id": 2}
LLAMA = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 24, "max_position_embeddings": 16}
EXACT, SINGLE = 1e-9, 3e-5                             # transformers turns and normalises in float32


def maker(model, config, sizes, tolerance):
    return lambda **options: (getattr(transformers, model)(getattr(transformers, config)(**sizes | options)),
                              tolerance)


gpt2 = maker("GPT2LMHeadModel", "GPT2Config", GPT2, EXACT)
llama = maker("LlamaForCausalLM", "LlamaConfig", LLAMA, SINGLE)
qwen2 = maker("Qwen2ForCausalLM", "Qwen2Config", LLAMA, SINGLE)
mistral = maker("MistralForCausalLM", "MistralConfig", LLAMA, SINGLE)
DECODERS = {
    "gpt2": (gpt2, {}),
    "gpt2, relu, inner 20": (gpt2, {"activation_function": "relu", "n_inner": 20}),
    "gpt2, gelu, own head": (gpt2, {"activation_function": "gelu", "tie_word_embeddings": False}),
    "gpt2, eps": (gpt2, {"layer_norm_epsilon": 0.1}),
    "llama": (llama, {}),
    "llama, one head of keys, tied": (llama, {"num_key_value_heads": 1, "tie_word_embeddings": True}),
    "llama, as many heads of keys": (llama, {"num_key_value_heads": 4, "rms_norm_eps": 0.1}),
    "llama, biases": (llama, {"attention_bias": True, "mlp_bias": True}),
    "llama, heads of 6": (llama, {"head_dim": 6}),
    "llama, base 100": (llama, {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}}),
    "qwen2": (qwen2, {}),
    "mistral": (mistral, {"sliding_window": 8}),
}


@pytest.mark.parametrize("name", DECODERS)
def test_each_layer_and_the_scores(name, tmp_path):
    make, options = DECODERS[name]
    model, tolerance = make(**options)
    theirs, ours = both(model, tmp_path)
    expected = run(theirs, IDS, output_hidden_states=True)
    layers = layers_of(ours.blocks, lambda: same(run(ours, IDS), expected.logits, tolerance))
    for layer, hidden in zip(layers, expected.hidden_states[1:-1], strict=False):
        same(layer, hidden, tolerance)                 # of the last, transformers keeps what the norm makes
    assert len(layers) == len(expected.hidden_states) - 1 == 3
    assert not ours.training and (ours.output_proj.weight is ours.token_embedding.weight
                                  ) == model.config.tie_word_embeddings


def test_a_body_without_a_head(tmp_path):
    """GPT2Model has no prefix in its names; the table of words is the head"""
    body = transformers.GPT2Model(transformers.GPT2Config(**GPT2))
    theirs, ours = both(body, tmp_path)
    hidden = run(theirs, IDS).last_hidden_state
    same(run(ours, IDS), hidden @ theirs.wte.weight.detach().T)


def test_the_config_of_older_files(tmp_path):
    """rope_theta on its own, no head_dim, no bos: as transformers 4 wrote them"""
    model, tolerance = llama(rope_parameters={"rope_type": "default", "rope_theta": 50.0})
    theirs, folder = saved(model, tmp_path)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    del config["rope_parameters"], config["head_dim"]
    path.write_text(json.dumps({**config, "rope_theta": 50.0, "rope_scaling": None}))
    same(run(from_pretrained(folder, dtype="float64"), IDS), run(theirs, IDS).logits, tolerance)


def test_mistral_reads_no_further_than_its_window(tmp_path):
    assert both(mistral(sliding_window=8)[0], tmp_path / "short")[1].max_len == 8
    assert both(mistral(sliding_window=99)[0], tmp_path / "long")[1].max_len == 16
    assert both(mistral(sliding_window=None)[0], tmp_path / "none")[1].max_len == 16


@pytest.mark.parametrize("make, option, named", [
    (gpt2, {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True"),
    (gpt2, {"activation_function": "quick_gelu"}, "'quick_gelu'"),
    (llama, {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 10.0}}, "'linear'"),
    (llama, {"hidden_act": "gelu"}, "hidden_act='gelu'"),
    (qwen2, {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}, "use_sliding_window"),
])
def test_what_is_not_known_is_refused(make, option, named, tmp_path):
    make(**option)[0].save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=f"from_pretrained: .*{named}.* in config.json is not known here"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize("make", [gpt2, llama], ids=["gpt2", "llama"])
def test_writing(make, tmp_path):
    """Greedy, and with beams, with one end or several: the tokens of transformers' generate"""
    theirs, ours = both(make()[0], tmp_path)
    for seed in range(4):
        start = np.random.default_rng(seed).integers(3, 30, (2, 3))
        eos = int(ours.generate(tensor(start), 7, temperature=0)[0, 4])        # so that one text ends early
        several = [eos, *range(3, 9)]
        for beams, penalty, ends in ((1, 1.0, eos), (3, 1.0, eos), (4, 0.2, eos), (1, 1.0, several),
                                     (2, 2.0, several), (4, 2.0, several)):
            written = theirs.generate(
                torch.from_numpy(start), attention_mask=torch.ones(2, 3), max_new_tokens=7, do_sample=False,
                num_beams=beams, length_penalty=penalty, eos_token_id=ends, pad_token_id=eos)
            found = ours.generate(tensor(start), 7, temperature=0, eos=ends, num_beams=beams,
                                  length_penalty=penalty)
            assert found.tolist() == written.tolist(), (seed, beams, penalty, ends)


def test_what_the_folder_says_of_writing(tmp_path):
    _, ours = both(gpt2()[0], tmp_path)
    assert ours.config["eos_token_id"] == 2 and ours.config["bos_token_id"] == 1
