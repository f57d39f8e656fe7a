"""Models that somebody trained: the numbers that transformers, ONNX Runtime and PyTorch make of them."""
import importlib.util
import shutil

import numpy as np
import pytest

import tinytorch.text
from tinytorch import Tensor, no_grad, tensor
from tinytorch.models import from_pretrained

from .real_weights import anarcii, marian, minilm, smollm2, vit, vit_file
from .tiny import run, same, torch, transformers


@pytest.fixture
def folder(tmp_path):
    """Emptied afterwards: one of the models is of 540 MB."""
    yield tmp_path
    shutil.rmtree(tmp_path)


TEXTS = ["The quick brown fox jumps over the lazy dog.", "A fast auburn fox leaps above a sleepy hound.",
         "Gradient descent minimises a loss."]


def embeddings(hidden, mask):
    """Of sentences: the mean over words, of length 1."""
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def test_minilm_finds_sentences_that_mean_the_same():
    folder = minilm()
    batch = tinytorch.text.from_pretrained(folder)(TEXTS, padding=True)
    ids, mask, types = [np.array(batch[name]) for name in ("input_ids", "attention_mask", "token_type_ids")]
    assert ids[0].tolist() == [101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 1012, 102]
    hidden = np.asarray(run(from_pretrained(folder), ids, mask, types))
    theirs = run(transformers.BertModel.from_pretrained(folder).eval(), ids, mask, types)
    theirs = theirs.last_hidden_state.numpy()
    same(hidden[mask > 0], theirs[mask > 0], 1e-5)
    ours = embeddings(hidden, mask)
    same(ours, embeddings(theirs, mask), 1e-6)
    assert (ours @ ours.T)[0, 1:].round(4).tolist() == pytest.approx([0.6996, -0.0063], abs=1e-4)


def test_smollm2_knows_the_capital_of_france(folder):
    smollm2(folder)
    tokenizer = tinytorch.text.from_pretrained(folder)
    ids = np.array([tokenizer.encode("The capital of France is")])
    assert ids.tolist() == [[504, 3575, 282, 4649, 314]]
    ours = from_pretrained(folder)
    scores = np.asarray(run(ours, ids))
    theirs = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    same(scores, run(theirs, ids).logits, 1e-3)
    assert tokenizer.decode([int(scores[0, -1].argmax())]) == " Paris"
    same(np.sort(scores[0, -1])[-3:], [13.2450, 14.8886, 17.3713], 1e-3)
    written = theirs.generate(torch.from_numpy(ids), max_new_tokens=8, do_sample=False,
                              attention_mask=torch.ones(1, 5))
    assert ours.generate(tensor(ids), 8, temperature=0, eos=2).tolist() == written.tolist()
    judge = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    more = "In 1989 it's 20 %  of\t\tall:\n\n\n naïve, 東京 🙂<|im_end|>\n", "aÀñb\x7f\U00040000"
    for text in (*TEXTS, *more):
        assert tokenizer.encode(text) == judge.encode(text).ids


def test_vit_from_pixels(folder):
    """The tokens of a ViT-S/14 for a picture of 224 pixels, whose places were learned for 518"""
    vit(folder)
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    graph = onnx.load(vit_file())
    graph.graph.output.append(onnx.ValueInfoProto(name="/backbone/layernorm/Add_1_output_0"))
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    pictures = np.random.default_rng(0).normal(size=(2, 3, 224, 224)).astype("float32")
    expected = session.run(["/backbone/layernorm/Add_1_output_0"], {"input_image": pictures})[0]
    ours = from_pretrained(folder)
    with no_grad():
        tokens = ours.forward_features(Tensor(pictures))
    assert tokens.shape == expected.shape == (2, 257, 384)
    same(tokens, expected, 1e-4)


HEAVY = ("EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSLRAEDTAVYYCSR"
         "WGGDGFYAMDYWGQGTLVTVSS")
LIGHT = ("DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPSRFSGSRSGTDFTLTISSLQPEDFATYYCQQHYTTPPT"
         "FGQGTKVEIK")
LETTERS = ["<PAD>", "<SOS>", "<EOS>", "<SKIP>", *"ACDEFGHIKLMNPQRSTVWXY"]
PLACES = ["<PAD>", "<SOS>", "<EOS>", "<SKIP>", *map(str, range(1, 129)), "X", "H", "L", "K"]


def their_antibody_model(layers):
    """The package's own, in float64; its file needs PyTorch alone, the package much else."""
    spec = importlib.util.spec_from_file_location("anarcii_model", anarcii() / "inference" / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    encoder = module.Encoder(25, 128, layers, 4, 512, 0.0, "cpu")
    decoder = module.Decoder(136, 128, layers, 4, 512, 0.0, "cpu")
    model = module.S2S(encoder, decoder, 0, 0, "cpu")
    file = anarcii() / "models" / "antibody" / f"antibody_4_{layers}_128_512.pt"
    model.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    encoder.scale = decoder.scale = torch.tensor(128.0, dtype=torch.float64).sqrt()       # it kept float32's
    return model.double().eval()


@pytest.mark.parametrize("layers", [1, 2])
def test_an_antibody_is_numbered(layers, folder):
    ours = from_pretrained(marian(folder, layers), dtype="float64")
    theirs = their_antibody_model(layers)
    rows = [[1, *map(LETTERS.index, chain), 2] for chain in (HEAVY, LIGHT)]
    source = np.array([row + [0] * (len(rows[0]) - len(row)) for row in rows])
    written = ours.generate(tensor(source), 122, bos=ours.config["decoder_start_token_id"],
                            eos=ours.config["eos_token_id"])
    texts = [" ".join([PLACES[i] for i in row]) for row in written.tolist()]
    assert texts[0].startswith("<SOS> H 1 2 3 4 5 6 7 8 9 11 12") and texts[0].endswith("126 127 128 <EOS>")
    assert texts[1].startswith("<SOS> K 1 2 3 4 5 6 7 8 9 10 11") and "125 126 127 <EOS>" in texts[1]
    target, hidden = torch.from_numpy(written.numpy()), torch.from_numpy(source == 0)
    with torch.no_grad():
        scores, _ = theirs.decoder(target, theirs.encoder(torch.from_numpy(source), hidden),
                                   torch.zeros(target.shape, dtype=bool), None, hidden)
    same(run(ours, source, written.numpy()), scores, 1e-5)
    for row, best in zip(written.tolist(), scores.argmax(-1).tolist()):
        end = row.index(2)
        assert row[1:end + 1] == best[:end]            # theirs would have written the same
