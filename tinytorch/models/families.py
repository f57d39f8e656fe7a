# Generated from modules/13_transformers/families_dev.py by tito export. Edit the lesson, not this file.
# source sha256 259a682bb56bdb9524ea22de0b38a48b0219580d69cdd0323cc6ac17d261337e  body sha256 0f5e18cb8e6337083c2f5bf40f9ba97ad03cbce78e60fd154fbd321015e5811c  # noqa: E501
"""models.families: built in module 13_transformers."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tinytorch.models.bert import BERTEncoder
from tinytorch.models.bert_heads import (
    BERTForMaskedLM,
    BERTForPreTraining,
    BERTForQuestionAnswering,
    BERTForSequenceClassification,
    BERTForTokenClassification,
)
from tinytorch.models.gpt import GPTDecoder
from tinytorch.models.seq2seq import Seq2SeqTransformer
from tinytorch.models.vit import VisionTransformer
from tinytorch.nn.layers import Linear
from tinytorch.nn.positions import sinusoidal_positions
from tinytorch.nn.rms_norm import RMSNorm

__all__ = [
    "ACTIVATION_NAMES", "BART", "BERT", "BODY", "FAMILIES", "Family", "GPT2", "LLAMA", "MARIAN",
    "Place", "VIT", "WORDS", "activation", "below", "bert", "check", "encoder_block", "gpt2",
    "halves", "labels", "llama", "refuse", "seq2seq", "seq2seq_names", "stack", "third", "vit",
    "without_biases",
]


class Place(NamedTuple):
    """Where a tensor lies in the file: the first of `names` that is there.

    change: what makes ours of it; default: what it is if the file has none, a function of our shape.
    """
    names: str
    change: object = None
    default: object = None


@dataclass(frozen=True)
class Family:
    """How a kind of model is made, and filled.

    build: (config, architecture, the file's names) -> the model. names: {ours: the file's, or a Place}.
    heads: {architecture: the names that it has besides}. prefix: stands in front of the file's names, or does
    not. ignored: a pattern of names that hold nothing learned, or nothing of use here.
    """
    build: object
    names: dict
    heads: dict
    prefix: str
    ignored: str = r"(?!)"


def refuse(what, why):
    raise ValueError(f"from_pretrained: {what} in config.json is not known here: {why}.")


def check(config, **wanted):
    """ValueError if the config has one of these settings with another value."""
    for name, value in wanted.items():
        if config.get(name, value) != value:
            refuse(f"{name}={config[name]!r}", f"only {value!r} is")


ACTIVATION_NAMES = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu",
                    "silu": "silu", "swish": "silu"}         # theirs: ours


def activation(name):
    """Our name of an activation."""
    if name not in ACTIVATION_NAMES:
        refuse(f"the activation {name!r}", f"only {', '.join(ACTIVATION_NAMES)} are")
    return ACTIVATION_NAMES[name]


def without_biases(model, *ends):
    """The model, whose Linear layers with a name that ends so have no bias."""
    for name, module in model.named_modules():
        if isinstance(module, Linear) and name.endswith(ends):
            module.bias = None
    return model


def encoder_block(heads, norm1, norm2):
    """The names of a block of BERT or ViT."""
    theirs = "encoder.layer.N."
    return {"blocks.N.attention.q_proj": theirs + heads + "query",
            "blocks.N.attention.k_proj": theirs + heads + "key",
            "blocks.N.attention.v_proj": theirs + heads + "value",
            "blocks.N.attention.out_proj": theirs + "attention.output.dense",
            "blocks.N.norm1": theirs + norm1,
            "blocks.N.feedforward.linear1": theirs + "intermediate.dense",
            "blocks.N.feedforward.linear2": theirs + "output.dense",
            "blocks.N.norm2": theirs + norm2}


def below(path, names):
    """The names with our path in front."""
    return {f"{path}.{ours}": theirs for ours, theirs in names.items()}


def labels(config):
    """How many classes there are."""
    return len(config["id2label"]) if "id2label" in config else config.get("num_labels", 2)


BODY = {"embedding.token_embedding": "embeddings.word_embeddings",
        "embedding.position_embedding": "embeddings.position_embeddings",
        "embedding.token_type_embedding": "embeddings.token_type_embeddings",
        "embedding.norm": "embeddings.LayerNorm",
        **encoder_block("attention.self.", "attention.output.LayerNorm", "output.LayerNorm"),
        "pooler": "pooler.dense"}
WORDS = {"predictions.dense": "cls.predictions.transform.dense",
         "predictions.norm": "cls.predictions.transform.LayerNorm",
         "predictions.decoder.weight": "cls.predictions.decoder.weight",
         "predictions.decoder.bias": "cls.predictions.bias cls.predictions.decoder.bias"}


def bert(config, architecture, there):
    check(config, position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
    bend, dropout = activation(config["hidden_act"]), config.get("hidden_dropout_prob", 0.1)
    body = BERTEncoder(
        config["vocab_size"], config["hidden_size"], config["num_hidden_layers"],
        config["num_attention_heads"], config["intermediate_size"], config["max_position_embeddings"],
        dropout, type_vocab_size=config["type_vocab_size"], padding_idx=config.get("pad_token_id", 0),
        activation=bend, eps=config["layer_norm_eps"], pooler="pooler.dense.weight" in there
        or architecture in ("BertForPreTraining", "BertForSequenceClassification"))
    if architecture == "BertModel":
        return body
    if architecture == "BertForQuestionAnswering":
        return BERTForQuestionAnswering(body)
    if architecture in ("BertForMaskedLM", "BertForPreTraining"):
        check(config, tie_word_embeddings=True)
        return (BERTForMaskedLM if architecture == "BertForMaskedLM" else BERTForPreTraining)(body, bend)
    last = config.get("classifier_dropout")
    return (BERTForSequenceClassification if architecture == "BertForSequenceClassification"
            else BERTForTokenClassification)(body, labels(config), dropout if last is None else last)


BERT = Family(bert, {**BODY, **below("bert", BODY)}, {
    "BertModel": {},
    "BertForMaskedLM": WORDS,
    "BertForPreTraining": {**WORDS, "seq_relationship": "cls.seq_relationship"},
    "BertForSequenceClassification": {"classifier": "classifier"},
    "BertForTokenClassification": {"classifier": "classifier"},
    "BertForQuestionAnswering": {"qa_outputs": "qa_outputs"}},
    "bert.", ignored=r"embeddings\.position_ids|cls\.seq_relationship\..*")


def vit(config, architecture, there):
    check(config, pooler_act="tanh")
    classes = labels(config) if architecture == "ViTForImageClassification" else 0
    model = VisionTransformer(
        config["image_size"], config["patch_size"], config.get("num_channels", 3), classes,
        config["hidden_size"], config["num_hidden_layers"], config["num_attention_heads"],
        config["intermediate_size"], config.get("hidden_dropout_prob", 0.0),
        activation=activation(config["hidden_act"]), eps=config["layer_norm_eps"])
    return model if config.get("qkv_bias", True) else without_biases(model, "q_proj", "k_proj", "v_proj")


VIT = Family(vit, {
    "patch_embed.projection": "embeddings.patch_embeddings.projection",
    "cls_token": "embeddings.cls_token",
    "pos_embed": "embeddings.position_embeddings",
    **below("encoder", encoder_block("attention.attention.", "layernorm_before", "layernorm_after")),
    "encoder.norm": "layernorm"},
    {"ViTModel": {}, "ViTForImageClassification": {"head": "classifier"}},
    "vit.", ignored=r"pooler\.dense\..*|embeddings\.mask_token")


def third(i):
    """The i-th of the three matrices, or biases, that lie side by side."""
    return lambda x: np.array_split(x.T, 3)[i]


def gpt2(config, architecture, there):
    check(config, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
    d_model = config["n_embd"]
    return GPTDecoder(
        config["vocab_size"], d_model, config["n_layer"], config["n_head"],
        config.get("n_inner") or 4 * d_model, config["n_positions"], config.get("resid_pdrop", 0.1),
        tie_weights=config.get("tie_word_embeddings", True), eps=config["layer_norm_epsilon"],
        activation=activation(config.get("activation_function", "gelu_new")))


GPT2 = Family(gpt2, {
    "token_embedding": "wte",
    "position_embedding": "wpe",
    "blocks.N.norm1": "h.N.ln_1",
    "blocks.N.attention.q_proj": Place("h.N.attn.c_attn", third(0)),
    "blocks.N.attention.k_proj": Place("h.N.attn.c_attn", third(1)),
    "blocks.N.attention.v_proj": Place("h.N.attn.c_attn", third(2)),
    "blocks.N.attention.out_proj": Place("h.N.attn.c_proj", np.transpose),
    "blocks.N.norm2": "h.N.ln_2",
    "blocks.N.feedforward.linear1": Place("h.N.mlp.c_fc", np.transpose),
    "blocks.N.feedforward.linear2": Place("h.N.mlp.c_proj", np.transpose),
    "norm": "ln_f",
    "output_proj": "lm_head"},
    {"GPT2LMHeadModel": {}, "GPT2Model": {}},
    "transformer.", ignored=r"h\.\d+\.attn\.(masked_)?bias")


def llama(config, architecture, there):
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    check({"rope_type": "default", **rope}, rope_type="default", type="default")
    check(config, hidden_act="silu", use_sliding_window=False)
    qwen = config["model_type"] == "qwen2"
    window = config.get("sliding_window") if config["model_type"] == "mistral" else None
    model = GPTDecoder(
        config["vocab_size"], config["hidden_size"], config["num_hidden_layers"],
        config["num_attention_heads"], config["intermediate_size"],
        min(config["max_position_embeddings"], window or math.inf), config.get("attention_dropout", 0.0),
        positions="rotary", rotary_base=rope.get("rope_theta", config.get("rope_theta", 10000.0)),
        tie_weights=config.get("tie_word_embeddings", False), norm_layer=RMSNorm,
        eps=config["rms_norm_eps"], head_dim=config.get("head_dim"), activation="swiglu",
        num_kv_heads=config.get("num_key_value_heads"))
    if not config.get("attention_bias", False):
        without_biases(model, "out_proj", *([] if qwen else ["q_proj", "k_proj", "v_proj"]))
    return model if config.get("mlp_bias", False) else without_biases(model, "gate", "linear1", "linear2")


LLAMA = Family(llama, {
    "token_embedding": "embed_tokens",
    "blocks.N.norm1": "layers.N.input_layernorm",
    "blocks.N.attention.q_proj": "layers.N.self_attn.q_proj",
    "blocks.N.attention.k_proj": "layers.N.self_attn.k_proj",
    "blocks.N.attention.v_proj": "layers.N.self_attn.v_proj",
    "blocks.N.attention.out_proj": "layers.N.self_attn.o_proj",
    "blocks.N.norm2": "layers.N.post_attention_layernorm",
    "blocks.N.feedforward.gate": "layers.N.mlp.gate_proj",
    "blocks.N.feedforward.linear1": "layers.N.mlp.up_proj",
    "blocks.N.feedforward.linear2": "layers.N.mlp.down_proj",
    "norm": "norm",
    "output_proj": "lm_head"},
    {"LlamaForCausalLM": {}, "MistralForCausalLM": {}, "Qwen2ForCausalLM": {}},
    "model.", ignored=r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq")


def seq2seq(config, architecture, there):
    marian, tied = config["model_type"] == "marian", config.get("tie_word_embeddings", True)
    if config["encoder_attention_heads"] != config["decoder_attention_heads"] or \
            config["encoder_ffn_dim"] != config["decoder_ffn_dim"]:
        refuse("an encoder whose heads or ffn_dim differ from the decoder's", "one size for both is")
    model = Seq2SeqTransformer(
        config["vocab_size"], config.get("decoder_vocab_size") or config["vocab_size"], config["d_model"],
        config["encoder_attention_heads"], config["encoder_layers"], config["decoder_layers"],
        config["encoder_ffn_dim"], config["max_position_embeddings"], config.get("dropout", 0.1),
        positions="learned", pad=config["pad_token_id"], activation=activation(config["activation_function"]),
        share_embeddings=tied and config.get("share_encoder_decoder_embeddings", True), tie_weights=tied,
        scale_embeddings=config.get("scale_embedding", False), embedding_norm=not marian)
    for words in model.source_embedding, model.target_embedding:
        words.position_embedding.weight.requires_grad = not marian
    return model


def stack(ours, theirs, attentions, last):
    """The names of the blocks of an encoder or decoder."""
    names = {f"{ours}.feedforward.linear1": f"{theirs}.fc1", f"{ours}.feedforward.linear2": f"{theirs}.fc2",
             f"{ours}.{last}": f"{theirs}.final_layer_norm"}
    for number, (attention, their_attention) in enumerate(attentions.items(), 1):
        names[f"{ours}.norm{number}"] = f"{theirs}.{their_attention}_layer_norm"
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            names[f"{ours}.{attention}.{part}"] = f"{theirs}.{their_attention}.{part}"
    return names


def seq2seq_names(places):
    """The names of a whole encoder-decoder; places: what is done with its two tables of positions."""
    names = stack("encoder.blocks.N", "encoder.layers.N", {"attention": "self_attn"}, "norm2")
    names |= stack("decoder.blocks.N", "decoder.layers.N",
                   {"self_attention": "self_attn", "cross_attention": "encoder_attn"}, "norm3")
    for side, coder in ("source", "encoder"), ("target", "decoder"):
        names[f"{side}_embedding.token_embedding"] = f"{coder}.embed_tokens shared"
        names[f"{side}_embedding.position_embedding"] = Place(f"{coder}.embed_positions", *places)
        names[f"{side}_embedding.norm"] = f"{coder}.layernorm_embedding"
    return {**names, "output_proj.weight": "lm_head.weight",
            "output_proj.bias": Place("final_logits_bias", np.ravel, np.zeros)}


def halves(shape):
    """Sines of all positions, and beside them the cosines."""
    table = sinusoidal_positions(np.arange(shape[0]), shape[1])
    return np.concatenate([table[:, 0::2], table[:, 1::2]], 1)


BART = Family(seq2seq, seq2seq_names([lambda x: x[2:]]),
              {"BartForConditionalGeneration": {}, "BartModel": {}}, "model.")
MARIAN = Family(seq2seq, seq2seq_names([None, halves]), {"MarianMTModel": {}, "MarianModel": {}}, "model.")


FAMILIES = {"bert": BERT, "gpt2": GPT2, "vit": VIT, "bart": BART, "marian": MARIAN, "llama": LLAMA,
            "mistral": LLAMA, "qwen2": LLAMA}
