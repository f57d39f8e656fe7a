"""What may be wrong with a folder, and in which forms the numbers may lie there."""
import json
import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tinytorch import float16, float32, float64, manual_seed, rand
from tinytorch.models import from_pretrained

from .tiny import run, same, saved, torch, transformers

safetensors_torch = pytest.importorskip("safetensors.torch")

IDS = np.array([[1, 5, 7, 9, 3]])


@pytest.fixture
def folder(tmp_path):
    """Of a small GPT-2."""
    return saved(transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=30, n_positions=12, n_embd=8, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2)),
        tmp_path)[1]


def changed(folder, **settings):
    config = json.loads((folder / "config.json").read_text()) | settings
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if v != "gone"}))


def weights_of(folder): return load_file(folder / "model.safetensors")


def test_the_weights_in_several_files(folder):
    whole = run(from_pretrained(folder), IDS)
    model = transformers.GPT2LMHeadModel.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="5KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) == 2
    same(run(from_pretrained(folder), IDS), whole, 0)
    shards[0].unlink()
    with pytest.raises(FileNotFoundError, match=f"has no {shards[0].name}. It has .*{shards[1].name}"):
        from_pretrained(folder)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_numbers_of_another_size(folder, dtype):
    """They become float32 unless something else is asked for"""
    model = transformers.GPT2LMHeadModel.from_pretrained(folder).to(getattr(torch, dtype))
    model.save_pretrained(folder)
    ours, double = from_pretrained(folder), from_pretrained(folder, dtype="float64")
    body = model.transformer
    for name, p in {"token_embedding.weight": body.wte.weight,
                    "blocks.1.feedforward.linear2.weight": body.h[1].mlp.c_proj.weight.T}.items():
        same(ours.state_dict()[name], p.detach().float(), 0)
        same(double.state_dict()[name], p.detach().double(), 0)
    assert {p.dtype for p in ours.parameters()} == {float32}
    assert {p.dtype for p in double.parameters()} == {float64}
    assert {p.dtype for p in from_pretrained(folder, dtype=float16).parameters()} == {float16}


def test_all_tensors_that_do_not_fit_are_named(folder):
    weights = weights_of(folder)
    del weights["transformer.wpe.weight"], weights["transformer.h.1.attn.c_attn.bias"]
    weights["transformer.h.0.ln_1.weight"] = np.ones(9, "float32")
    weights["transformer.h.0.mlp.c_fc.weight"] = np.ones((32, 8), "float32")
    weights["transformer.h.2.ln_1.weight"] = weights["other"] = np.ones(8, "float32")
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(RuntimeError) as caught:
        from_pretrained(folder)
    start, *parts = str(caught.value).split("GPT2LMHeadModel: ")[1].split(". Do config.json")[0].split("; ")
    assert sorted([start, *parts]) == [
        "h.1.attn.c_attn.bias is missing", "other is unexpected",
        "transformer.h.0.ln_1.weight is (9,) and must be (8,)",
        "transformer.h.0.mlp.c_fc.weight is (32, 8), which makes (8, 32), and must be (32, 8)",
        "transformer.h.2.ln_1.weight is unexpected", "wpe.weight is missing"]


def test_what_holds_nothing_learned_is_passed_over(folder):
    expected = run(from_pretrained(folder), IDS)
    mask = np.ones((1, 1, 12, 12), "float32")
    save_file({**weights_of(folder), "transformer.h.0.attn.bias": mask, "h.1.attn.masked_bias": mask},
              folder / "model.safetensors")
    same(run(from_pretrained(folder), IDS), expected, 0)


def test_a_tied_matrix_under_its_other_name(folder):
    expected = run(from_pretrained(folder), IDS)
    weights = weights_of(folder)
    weights["lm_head.weight"] = weights.pop("transformer.wte.weight")
    save_file(weights, folder / "model.safetensors")
    same(run(from_pretrained(folder), IDS), expected, 0)


def test_no_config(folder):
    (folder / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match="no config.json in .* save_pretrained writes it"):
        from_pretrained(folder)


def test_no_weights(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="has no model.safetensors. It has config.json, .* Copy it"):
        from_pretrained(folder)
    (folder / "pytorch_model.bin").touch()
    with pytest.raises(FileNotFoundError, match="bin is a pickle, .*weights_only=True.*torch.save_file"):
        from_pretrained(folder)


@pytest.mark.parametrize("settings, message", [
    ({"model_type": "t5"}, "of type 't5'. Known are bert, gpt2, vit, bart, marian, llama"),
    ({"model_type": "gone"}, "of type None. Known are bert"),
    ({"architectures": ["GPT2ForTokenClassification"]},
     "a GPT2ForTokenClassification. Known are, of type 'gpt2', GPT2LMHeadModel, GPT2Model"),
    ({"n_head": "gone"}, "config.json does not say 'n_head'")], ids=str)
def test_configs_that_are_not_understood(folder, settings, message):
    changed(folder, **settings)
    with pytest.raises(ValueError, match=message):
        from_pretrained(folder)


def test_numbers_of_8_bits_are_refused(folder):
    path = folder / "model.safetensors"
    safetensors_torch.save_file({"wte.weight": torch.zeros(3).to(torch.float8_e4m3fn)}, path)
    with pytest.raises(RuntimeError, match="'wte.weight' holds F8_E4M3. Save the model in float32"):
        from_pretrained(folder)


@pytest.mark.parametrize("cut, reason", [
    (lambda data: b"", "it is empty"), (lambda data: data[:-1], "it is cut off: it has .* bytes"),
    (lambda data: b"PK\3\4" + data, "zip archive"), (lambda data: b"\x80\2" + data, "pickle"),
    (lambda data: data + b"..", "not a safetensors file")])
def test_damaged_weights(folder, cut, reason):
    path = folder / "model.safetensors"
    path.write_bytes(cut(path.read_bytes()))
    with pytest.raises(RuntimeError, match=f"model.safetensors cannot be read: .*{reason}"):
        from_pretrained(folder)


def test_what_the_folder_says_of_writing(folder):
    assert from_pretrained(folder).config["eos_token_id"] == 2
    (folder / "generation_config.json").write_text('{"eos_token_id": 7}')
    ours = from_pretrained(folder)
    assert ours.config["eos_token_id"] == 7 and ours.config["n_head"] == 2


def test_random_numbers_stay_what_they_would_have_been(folder):
    manual_seed(3)
    expected = rand(4).tolist()
    manual_seed(3)
    from_pretrained(folder)
    assert rand(4).tolist() == expected


def test_a_model_is_in_memory_once(tmp_path):
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=300, n_positions=12, n_embd=64, n_layer=12, n_head=2, bos_token_id=1, eos_token_id=2))
    model.save_pretrained(tmp_path)
    size = (tmp_path / "model.safetensors").stat().st_size
    from_pretrained(tmp_path)                          # imports, tables
    tracemalloc.start()
    from_pretrained(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size < peak < 1.3 * size
