"""BERT and ViT in Hugging Face's folders, against transformers: each layer, each head."""
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tinytorch import tensor
from tinytorch.models import from_pretrained, pretraining_loss, span_loss, token_loss
from tinytorch.nn.functional import cross_entropy

from .tiny import both, layers_of, run, same, saved, transformers

IDS = np.array([[1, 5, 7, 9, 3], [1, 8, 2, 0, 0]])
MASK = (IDS > 0).astype("int64")
TYPES = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])
BERT = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2,
        "intermediate_size": 16, "max_position_embeddings": 12}
VIT = {"hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 20,
       "image_size": 8, "patch_size": 4, "num_labels": 5}
PICTURES = np.random.default_rng(0).normal(size=(2, 3, 8, 8))


def bert(kind, **options): return getattr(transformers, kind)(transformers.BertConfig(**BERT | options))
def vit(kind, **options): return getattr(transformers, kind)(transformers.ViTConfig(**VIT | options))


@pytest.mark.parametrize("options", [{}, {"hidden_act": "relu"}, {"hidden_act": "gelu_new"},
                                     {"layer_norm_eps": 0.1, "type_vocab_size": 3}], ids=str)
def test_each_layer_of_bert(options, tmp_path):
    theirs, ours = both(bert("BertModel", **options), tmp_path)
    expected = run(theirs, IDS, MASK, TYPES, output_hidden_states=True)
    layers = layers_of(ours.blocks, lambda: run(ours, IDS, MASK, TYPES))
    for layer, hidden in zip(layers, expected.hidden_states[1:], strict=True):
        same(np.asarray(layer)[MASK > 0], hidden[MASK > 0])
    same(run(ours.pool, run(ours, IDS, MASK, TYPES)), expected.pooler_output)
    same(run(ours, IDS), run(theirs, IDS).last_hidden_state)


WORDS, TAGS, CLASSES = np.where(IDS > 4, IDS, -100), np.where(IDS > 2, IDS % 3, -100), np.array([2, 0])
HEADS = {                                              # outputs' names there, labels, our loss
    "MaskedLM": (("logits",), {"labels": WORDS}, token_loss),
    "PreTraining": (("prediction_logits", "seq_relationship_logits"),
                    {"labels": WORDS, "next_sentence_label": np.array([1, 0])}, pretraining_loss),
    "SequenceClassification": (("logits",), {"labels": CLASSES}, cross_entropy),
    "TokenClassification": (("logits",), {"labels": TAGS}, token_loss),
    "QuestionAnswering": (("start_logits", "end_logits"), {"start_positions": np.array([1, 2]),
                                                           "end_positions": np.array([3, 2])}, span_loss)}


@pytest.mark.parametrize("kind", HEADS)
def test_each_head_of_bert(kind, tmp_path):
    """Scores and loss"""
    outputs, labels, loss = HEADS[kind]
    options = {"num_labels": 3} if "Classification" in kind else {}
    theirs, ours = both(bert(f"BertFor{kind}", **options), tmp_path)
    expected, found = run(theirs, IDS, MASK, TYPES, **labels), run(ours, IDS, MASK, TYPES)
    for name, scores in zip(outputs, found if isinstance(found, tuple) else (found,), strict=True):
        same(scores, expected[name])
    wanted = [tensor(x) for x in labels.values()]
    same(loss(found, wanted if len(wanted) > 1 else wanted[0]), expected.loss)
    assert type(ours).__name__ == f"BERTFor{kind}"


def test_the_first_files_of_bert(tmp_path):
    """As bert-base-uncased lies there: gamma and beta, a pooler and a head that the architecture has not"""
    _, folder = saved(bert("BertForPreTraining"), tmp_path)
    theirs = transformers.BertForMaskedLM.from_pretrained(folder).double().eval()
    weights, config = folder / "model.safetensors", folder / "config.json"
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    arrays = {re.sub(r"LayerNorm\.\w+", lambda found: old[found[0]], name): x
              for name, x in load_file(weights).items()}
    save_file({**arrays, "bert.embeddings.position_ids": np.arange(12)[None]}, weights)
    config.write_text(config.read_text().replace("BertForPreTraining", "BertForMaskedLM"))
    ours = from_pretrained(folder, dtype="float64")
    same(run(ours, IDS, MASK, TYPES), run(theirs, IDS, MASK, TYPES).logits)
    assert type(ours).__name__ == "BERTForMaskedLM"
    same(ours.bert.pooler.bias.detach(), load_file(weights)["bert.pooler.dense.bias"], 1e-6)


def test_a_body_without_a_pooler(tmp_path):
    config = transformers.BertConfig(**BERT)
    theirs, ours = both(transformers.BertModel(config, add_pooling_layer=False), tmp_path)
    same(run(ours, IDS), run(theirs, IDS).last_hidden_state)
    assert ours.pooler is None


@pytest.mark.parametrize("options", [
    {}, {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 0.1}, {"qkv_bias": False},
    {"image_size": (8, 12), "patch_size": (4, 2), "num_channels": 3}], ids=str)
def test_each_layer_of_vit(options, tmp_path):
    theirs, ours = both(vit("ViTModel", **options), tmp_path)
    pictures = np.random.default_rng(0).normal(size=(2, 3, *np.broadcast_to(options.get("image_size", 8), 2)))
    expected = run(theirs, pictures, output_hidden_states=True)
    layers = layers_of(ours.encoder.blocks, lambda: run(ours, pictures))
    for layer, hidden in list(zip(layers, expected.hidden_states[1:], strict=True))[:-1]:
        same(layer, hidden)                            # of the last, transformers keeps what the norm makes
    same(run(ours.forward_features, pictures), expected.last_hidden_state)
    same(run(ours, pictures), expected.last_hidden_state[:, 0])


def test_vit_names_a_class(tmp_path):
    theirs, ours = both(vit("ViTForImageClassification"), tmp_path)
    same(run(ours, PICTURES), run(theirs, PICTURES).logits)


def test_vit_on_larger_pictures(tmp_path):
    theirs, ours = both(vit("ViTModel"), tmp_path)
    pictures = np.random.default_rng(0).normal(size=(2, 3, 20, 12))
    same(run(ours.forward_features, pictures),
         run(theirs, pictures, interpolate_pos_encoding=True).last_hidden_state)


@pytest.mark.parametrize("make, option", [
    (bert, {"is_decoder": True}), (bert, {"hidden_act": "quick_gelu"}),
    (vit, {"hidden_act": "mish"})], ids=str)
def test_what_is_not_known_is_refused(make, option, tmp_path):
    make("BertModel" if make is bert else "ViTModel", **option).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=f"from_pretrained: .*{[*option.values()][0]}.* is not known here"):
        from_pretrained(tmp_path)
