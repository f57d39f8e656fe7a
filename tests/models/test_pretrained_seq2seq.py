"""BART and Marian in Hugging Face's folders, against transformers: each layer, and writing."""
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tinytorch import tensor
from tinytorch.models import from_pretrained

from .tiny import both, layers_of, run, same, saved, torch, transformers

SOURCE = np.array([[4, 5, 7, 9, 3, 22], [4, 8, 29, 1, 1, 1]])
TARGET = np.array([[2, 6, 8, 25], [2, 11, 28, 5]])
MASK = (SOURCE != 1).astype("int64")
SIZES = {"vocab_size": 30, "d_model": 8, "encoder_layers": 3, "decoder_layers": 2,
         "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 16,
         "decoder_ffn_dim": 16, "max_position_embeddings": 12, "pad_token_id": 1,
         "decoder_start_token_id": 2, "eos_token_id": 3, "forced_eos_token_id": None}
EXACT, SINGLE = 1e-9, 1e-5                             # Marian's sines are of float32


def bart(**options):
    return transformers.BartForConditionalGeneration(transformers.BartConfig(**SIZES | options)), EXACT


def marian(**options):
    config = transformers.MarianConfig(**{"decoder_vocab_size": 30, **SIZES, **options})
    return transformers.MarianMTModel(config), SINGLE


MODELS = {
    "bart": (bart, {}),
    "bart, relu, scaled": (bart, {"activation_function": "relu", "scale_embedding": True}),
    "bart, gelu_new, own head": (bart, {"activation_function": "gelu_new", "tie_word_embeddings": False}),
    "marian": (marian, {"activation_function": "silu", "scale_embedding": True}),
    "marian, two vocabularies": (marian, {"decoder_vocab_size": 40, "share_encoder_decoder_embeddings": False,
                                          "tie_word_embeddings": False}),
    "marian, own head": (marian, {"tie_word_embeddings": False}),
    "marian, two tables, tied": (marian, {"decoder_vocab_size": 40,
                                          "share_encoder_decoder_embeddings": False}),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_layer_and_the_scores(name, tmp_path):
    make, options = MODELS[name]
    model, tolerance = make(**options)
    theirs, ours = both(model, tmp_path)
    expected = run(theirs, SOURCE, attention_mask=MASK, decoder_input_ids=TARGET, output_hidden_states=True)
    layers = layers_of([*ours.encoder.blocks, *ours.decoder.blocks],
                       lambda: same(run(ours, SOURCE, TARGET), expected.logits, tolerance))
    for layer, hidden in zip(layers[:3], expected.encoder_hidden_states[1:], strict=True):
        same(np.asarray(layer)[MASK == 1], np.asarray(hidden)[MASK == 1], tolerance)
    for layer, hidden in zip(layers[3:], expected.decoder_hidden_states[1:], strict=True):
        same(layer, hidden, tolerance)
    table, tied = ours.target_embedding.token_embedding.weight, model.config.tie_word_embeddings
    assert (ours.output_proj.weight is table) == tied
    assert ours.source_embedding.position_embedding.weight.requires_grad == (make is bart)
    assert (ours.source_embedding.token_embedding.weight is table) == (
        tied and options.get("share_encoder_decoder_embeddings", True))


def test_a_body_without_a_head(tmp_path):
    """BartModel: no prefix, no head, no bias of scores"""
    theirs, ours = both(transformers.BartModel(transformers.BartConfig(**SIZES)), tmp_path)
    hidden = run(theirs, SOURCE, attention_mask=MASK, decoder_input_ids=TARGET).last_hidden_state
    same(run(ours, SOURCE, TARGET), hidden @ theirs.shared.weight.detach().T)


def test_a_file_with_one_table_and_a_head_of_its_own(tmp_path):
    """As transformers 4 wrote it: encoder and decoder read the table that is there"""
    theirs, folder = saved(bart()[0], tmp_path)
    config, weights = folder / "config.json", folder / "model.safetensors"
    config.write_text(config.read_text().replace('embeddings": true', 'embeddings": false'))
    arrays = load_file(weights)
    save_file({**arrays, "lm_head.weight": 2 * arrays["model.shared.weight"]}, weights)
    ours = from_pretrained(folder, dtype="float64")
    expected = run(theirs, SOURCE, attention_mask=MASK, decoder_input_ids=TARGET).logits
    found = run(ours, SOURCE, TARGET)
    same(found - ours.output_proj.bias.detach(), 2 * (expected - theirs.final_logits_bias))


@pytest.mark.parametrize("make", [bart, marian])
def test_writing(make, tmp_path):
    """Greedy, and with beams: the tokens of transformers' generate"""
    theirs, ours = both(make()[0], tmp_path)
    for bos in 2, 7, 12:
        eos = int(ours.generate(tensor(SOURCE), 7, bos, eos=3)[0, 2])          # so that one text ends early
        for beams, penalty in (1, 1.0), (3, 1.0), (4, 0.2):
            written = theirs.generate(
                torch.from_numpy(SOURCE), attention_mask=torch.from_numpy(MASK), max_new_tokens=7,
                do_sample=False, num_beams=beams, decoder_start_token_id=bos, eos_token_id=eos,
                pad_token_id=eos, length_penalty=penalty)
            found = ours.generate(tensor(SOURCE), 7, bos, eos, num_beams=beams, length_penalty=penalty)
            assert found.tolist() == written.tolist(), (bos, beams)


def test_stacks_of_different_width_are_refused(tmp_path):
    bart(decoder_ffn_dim=20)[0].save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="ffn_dim differ from the decoder's in config.json"):
        from_pretrained(tmp_path)
