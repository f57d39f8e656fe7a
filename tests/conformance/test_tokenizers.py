"""Tokenizers: the same merges learned, the same ids, the same files as the package tokenizers."""
import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinytorch.text import ByteBPETokenizer, CharTokenizer, WordPieceTokenizer

theirs = pytest.importorskip("tokenizers", reason="pip install -e '.[conformance]' has the judge")

# Categories of what Unicode 3.2 had and has not changed since: all tables agree on it, whatever their age
OLD = unicodedata.ucd_3_2_0
KNOWN = "".join([chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000
                 and OLD.category(chr(code)) == unicodedata.category(chr(code)) != "Cn"])
known_texts = st.lists(st.one_of(st.sampled_from(KNOWN), st.sampled_from(" \n\t'.aéß1²stll🙂")),
                       max_size=30).map("".join)
any_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)

CORPUS = ["It was the best of times, it was the worst of times. It's 1789, they'll say; naïve, 東京 🙂🙂",
          "the times of the best times\tand the worst:\n\n  times, timing, timely, untimely 12 123",
          "aaaaaaa aaaa abab"]


def trained_by_them(corpus, size, specials=()):
    judge = theirs.Tokenizer(theirs.models.BPE())
    judge.pre_tokenizer = theirs.pre_tokenizers.ByteLevel(add_prefix_space=False)
    judge.decoder = theirs.decoders.ByteLevel()
    judge.train_from_iterator(corpus, theirs.trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(specials), show_progress=False,
        initial_alphabet=theirs.pre_tokenizers.ByteLevel.alphabet()))
    return judge


@pytest.fixture(scope="module")
def pair():
    return ByteBPETokenizer(eos_token="<|end|>").train(CORPUS, 330), trained_by_them(CORPUS, 330, ["<|end|>"])


def test_the_same_is_learned(pair):
    ours, judge = pair
    assert ours.vocab == judge.get_vocab() and ours.vocab_size > 300


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text("ab c", max_size=12), min_size=1, max_size=5), st.integers(256, 290))
def test_the_same_is_learned_from_anything(corpus, size):
    assert ByteBPETokenizer().train(corpus, size).vocab == trained_by_them(corpus, size).get_vocab()


@settings(max_examples=300, deadline=None)
@given(known_texts)
def test_bytes_have_the_same_ids(pair, text):
    ours, judge = pair
    assert ours.encode(text) == judge.encode(text).ids


@settings(max_examples=200, deadline=None)
@given(any_texts)
def test_any_text_comes_back(pair, text):
    """Whatever Unicode either of the two knows"""
    ours, judge = pair
    assert ours.decode(ours.encode(text)) == text
    assert judge.decode(ours.encode(text), skip_special_tokens=False) == text


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 329), max_size=10))
def test_any_ids_mean_the_same(pair, ids):
    ours, judge = pair
    ids = [i for i in ids if i < len(ours)]
    assert ours.decode(ids) == judge.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("letters", ["a", "ab", "times"])
def test_long_words(pair, letters):
    ours, judge = pair
    rng = random.Random(0)
    for size in 90, 101, 1000, 5000:
        text = "".join(rng.choice(letters) for _ in range(size))
        assert ours.encode(text) == judge.encode(text).ids


# ---- WordPiece ----

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz'.,!?1東京éß²",
          *[f"##{letter}" for letter in "abcdefghijklmnopqrst1éß"],
          "times", "##ly", "un", "##tim", "the", "wors"]


OPTIONS = [{}, {"lowercase": False}, {"strip_accents": False}, {"lowercase": False, "strip_accents": True},
           {"chinese": False}]


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def bert(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    options = {"lowercase": True, **request.param}
    options["handle_chinese_chars"] = options.pop("chinese", True)
    judge = theirs.BertWordPieceTokenizer(str(folder / "vocab.txt"), **options)
    return WordPieceTokenizer.from_pretrained(folder, **request.param), judge


@settings(max_examples=200, deadline=None)
@given(known_texts, known_texts)
def test_pieces_have_the_same_ids(bert, first, second):
    ours, judge = bert
    assert ours.encode(first) == judge.encode(first).ids
    batch, want = ours(first, second), judge.encode(first, second)
    assert (batch.input_ids, batch.token_type_ids) == (want.ids, want.type_ids)


@settings(max_examples=100, deadline=None)
@given(st.text("ab te.", max_size=30), st.text("ab te.", max_size=30), st.integers(3, 20))
def test_cut_at_the_same_places(bert, first, second, length):
    ours, judge = bert
    judge.enable_truncation(length)
    assert ours.encode(first, second, truncation=True, max_length=length) == judge.encode(first, second).ids
    assert ours.encode(first, truncation=True, max_length=length) == judge.encode(first).ids
    judge.no_truncation()


@pytest.mark.parametrize("side", ["right", "left"])
def test_the_same_batch(bert, side):
    ours, judge = bert
    judge.enable_padding(direction=side, pad_id=0, pad_token="[PAD]")
    texts = [["The times, untimely!", "the worst"], ["a", "b c"], ["", "x"]]
    batch = ours(*zip(*texts), padding=True, padding_side=side, return_tensors="pt")
    want = judge.encode_batch([tuple(pair) for pair in texts])
    assert batch.input_ids.tolist() == [e.ids for e in want]
    assert batch.attention_mask.tolist() == [e.attention_mask for e in want]
    assert batch.token_type_ids.tolist() == [e.type_ids for e in want]
    judge.no_padding()


@pytest.mark.parametrize("skip", [True, False])
def test_decoded_alike(bert, skip):
    ours, judge = bert
    for text in "The times, untimely! don't", "the [MASK] a.b?", "":
        ids = ours.encode(text)
        assert ours.decode(ids, skip) == judge.decode(ids, skip_special_tokens=skip)


# ---- files ----

def test_they_read_what_we_write(pair, bert, tmp_path):
    letters = CharTokenizer().train("hello é🙂\n")
    for ours in pair[0], bert[0], letters:
        ours.save(tmp_path / ours.kind)
        judge = theirs.Tokenizer.from_file(str(tmp_path / ours.kind / "tokenizer.json"))
        assert judge.get_vocab() == ours.vocab
        for text in "The worst\n times é🙂", "[MASK]x<|end|>y[PAD]", "  a":
            assert judge.encode(text).ids == ours.encode(text), (ours, text)
            kinds = ours(text, "b", return_token_type_ids=True).token_type_ids
            assert judge.encode(text, "b").type_ids == kinds
            ids = ours.encode(text)
            assert judge.decode(ids, skip_special_tokens=False) == ours.decode(ids)


def test_we_read_what_they_write(pair, tmp_path):
    ours, judge = pair
    judge.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "parts").mkdir()
    judge.model.save(str(tmp_path / "parts"))              # vocab.json and merges.txt
    for folder in tmp_path, tmp_path / "parts":
        read = ByteBPETokenizer.from_pretrained(folder)
        assert read.vocab == ours.vocab and read.ranks == ours.ranks
        assert read.encode(CORPUS[0]) == ours.encode(CORPUS[0])
