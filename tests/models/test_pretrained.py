"""A folder in Hugging Face's layout, written by hand, comes back as the model that it was."""
import json

import pytest

import tinytorch as torch
from tinytorch.models import GPTDecoder, from_pretrained
from tinytorch.nn import RMSNorm
from tinytorch.training import save

NAMES = {"token_embedding": "model.embed_tokens", "blocks.0.norm1": "model.layers.0.input_layernorm",
         "blocks.0.attention.q_proj": "model.layers.0.self_attn.q_proj",
         "blocks.0.attention.k_proj": "model.layers.0.self_attn.k_proj",
         "blocks.0.attention.v_proj": "model.layers.0.self_attn.v_proj",
         "blocks.0.attention.out_proj": "model.layers.0.self_attn.o_proj",
         "blocks.0.norm2": "model.layers.0.post_attention_layernorm",
         "blocks.0.feedforward.gate": "model.layers.0.mlp.gate_proj",
         "blocks.0.feedforward.linear1": "model.layers.0.mlp.up_proj",
         "blocks.0.feedforward.linear2": "model.layers.0.mlp.down_proj",
         "norm": "model.norm", "output_proj": "lm_head"}
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 20, "hidden_size": 8,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 12,
          "hidden_act": "silu", "max_position_embeddings": 10, "rms_norm_eps": 1e-6, "rope_theta": 100.0,
          "eos_token_id": 3}
IDS = torch.tensor([[1, 7, 4, 19]])


def written(folder, model, **changes):
    """The folder with the model's numbers; changes: tensors by name, None for one that is left out."""
    state = {f"{NAMES[name.removesuffix('.weight')]}.weight": x for name, x in model.state_dict().items()}
    save({name: x for name, x in (state | changes).items() if x is not None}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    return folder


@pytest.fixture
def model():
    torch.manual_seed(0)
    return GPTDecoder(20, 8, 1, 4, 12, 10, positions="rotary", rotary_base=100.0, norm_layer=RMSNorm,
                      eps=1e-6, activation="swiglu", num_kv_heads=2, bias=False).eval()


def test_a_folder_becomes_a_model(model, tmp_path):
    read = from_pretrained(written(tmp_path, model))
    assert type(read) is GPTDecoder and read.max_len == 10 and read.config["eos_token_id"] == 3
    assert not read.training and read(IDS).tolist() == model(IDS).tolist()
    assert from_pretrained(tmp_path, dtype="float64")(IDS).dtype == torch.float64


def test_tensors_that_do_not_fit_are_named(model, tmp_path):
    written(tmp_path, model, **{"model.norm.weight": None, "lm_head.weight": torch.zeros(20, 9),
                                "model.layers.1.mlp.up_proj.weight": torch.zeros(12, 8)})
    with pytest.raises(RuntimeError, match=r"lm_head.weight is \(20, 9\) and must be \(20, 8\)") as caught:
        from_pretrained(tmp_path)
    assert "norm.weight is missing" in str(caught.value)
    assert "model.layers.1.mlp.up_proj.weight is unexpected" in str(caught.value)


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(FileNotFoundError, match="no config.json"):
        from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "rwkv"}')
    with pytest.raises(ValueError, match="of type 'rwkv'. Known are bert, gpt2, vit, bart, marian, llama"):
        from_pretrained(tmp_path)
