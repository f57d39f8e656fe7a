"""Special tokens, pairs, truncation, padding, and what a batch is."""
import copy
import pickle

import numpy as np
import pytest

import tinytorch as torch
from tinytorch.text import ByteBPETokenizer, CharTokenizer, Tokenizer, WordPieceTokenizer, pad_batch
from tinytorch.text.batching import fitted

PIECES = "[PAD] [UNK] [CLS] [SEP] [MASK] the dog man bite ##s ! un".split()


@pytest.fixture
def bert():
    return WordPieceTokenizer(PIECES)


@pytest.fixture
def gpt():
    return ByteBPETokenizer(eos_token="<|end|>")


# ---- fitted ----

@pytest.mark.parametrize("first, second, room, want", [
    (3, 4, 7, (3, 4)), (5, 2, 6, (4, 2)), (2, 5, 6, (2, 4)), (5, 4, 6, (3, 3)), (5, 5, 7, (3, 4)),
    (6, 5, 7, (4, 3)), (5, 6, 7, (3, 4)), (9, 0, 4, (4, 0)), (0, 9, 4, (0, 4)), (3, 3, 1, (0, 1)),
    (3, 2, 1, (1, 0)), (2, 2, 0, (0, 0)), (0, 0, 5, (0, 0)), (1, 9, 3, (1, 2))])
@pytest.mark.parametrize("specials", [0, 3])
def test_fitted(first, second, room, want, specials):
    a, b = list(range(first)), list(range(50, 50 + second))
    got = fitted(a, b, room + specials, specials)
    assert got == (a[:want[0]], b[:want[1]]) and len(a) == first and len(b) == second


def test_no_room_for_the_specials():
    with pytest.raises(ValueError, match="max_length=2 has no room for the 3 special tokens"):
        fitted([1], [2], 2, 3)


# ---- pad_batch ----

def test_padded():
    ids, mask = pad_batch([[5, 6, 7], [8], [9, 0]], 0)
    assert ids.tolist() == [[5, 6, 7], [8, 0, 0], [9, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    assert ids.dtype == mask.dtype == torch.int64 and isinstance(mask, torch.Tensor)
    ids, mask = pad_batch([(5, 6, 7), (8,), ()], 4, length=4, side="left")
    assert ids.tolist() == [[4, 5, 6, 7], [4, 4, 4, 8], [4] * 4]
    assert mask.tolist() == [[0, 1, 1, 1], [0, 0, 0, 1], [0] * 4]


def test_padded_without_rows():
    assert [t.shape for t in pad_batch([], 0)] == [(0, 0)] * 2
    assert [t.shape for t in pad_batch([[]], 0, length=3)] == [(1, 3)] * 2


def test_what_cannot_be_padded():
    with pytest.raises(ValueError, match="a row has 3 tokens, but length=2"):
        pad_batch([[1], [1, 2, 3]], 0, length=2)
    with pytest.raises(ValueError, match="side='middle'"):
        pad_batch([[1]], 0, side="middle")


# ---- calls ----

def test_one_text(bert):
    batch = bert("The dog!")
    assert batch == {"input_ids": [2, 5, 6, 10, 3], "token_type_ids": [0] * 5, "attention_mask": [1] * 5}
    assert batch.input_ids is batch["input_ids"]
    with pytest.raises(AttributeError, match="no 'labels'"):
        batch.labels  # noqa: B018


def test_a_list_of_texts(bert):
    batch = bert(["the dog bites", "man"], padding=True, return_tensors="pt")
    assert batch.input_ids.tolist() == [[2, 5, 6, 8, 9, 3], [2, 7, 3, 0, 0, 0]]
    assert batch.attention_mask.tolist() == [[1] * 6, [1, 1, 1, 0, 0, 0]]
    assert all(tensor.dtype == torch.int64 for tensor in batch.values())
    assert batch.to("cpu").input_ids.shape == (2, 6) and type(batch.to("cpu")) is type(batch)
    assert bert(["man", "dog"])["input_ids"] == [[2, 7, 3], [2, 6, 3]]
    assert bert(("man", "the dog"), padding="longest").attention_mask == [[1, 1, 1, 0], [1] * 4]
    arrays = bert("man", return_tensors="np")
    assert isinstance(arrays.input_ids, np.ndarray) and arrays.input_ids.tolist() == [[2, 7, 3]]


def test_pairs(bert):
    batch = bert(["the dog", "man"], ["man bites", "dog"], padding=True, return_tensors="pt")
    assert batch.input_ids.tolist() == [[2, 5, 6, 3, 7, 8, 9, 3], [2, 7, 3, 6, 3, 0, 0, 0]]
    assert batch.token_type_ids.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0, 0, 0]]
    assert bert.encode("dog", "man", add_special_tokens=False) == [6, 7]
    assert bert.encode("dog", "") == [2, 6, 3, 3]
    with pytest.raises(ValueError, match="2 texts and 1 second"):
        bert(["a", "b"], ["c"])


def test_truncation(bert):
    text = "the dog bites the man"
    assert bert.encode(text, truncation=True, max_length=4) == [2, 5, 6, 3]
    assert bert.encode(text, truncation=True, max_length=2) == [2, 3]
    assert len(bert.encode(text, max_length=4)) == 8           # only said, not asked for
    assert bert.encode(text, "dog", truncation="longest_first", max_length=6) == [2, 5, 6, 3, 6, 3]
    with pytest.raises(ValueError, match="no room"):
        bert.encode(text, truncation=True, max_length=1)
    batch = bert([text, "man"], truncation=True, padding="max_length", max_length=5, return_tensors="pt")
    assert batch.input_ids.tolist() == [[2, 5, 6, 8, 3], [2, 7, 3, 0, 0]]


def test_the_models_own_length():
    bert = WordPieceTokenizer(PIECES, model_max_length=4)
    assert bert.encode("the dog bites the man", truncation=True) == [2, 5, 6, 3]
    assert bert(["man"], padding="max_length").input_ids == [[2, 7, 3, 0]]
    assert len(bert.encode("the dog bites the man")) == 8


def test_padding_on_the_left(gpt):
    gpt.pad_token = gpt.eos_token
    gpt.padding_side = "left"
    batch = gpt(["ab", "c"], padding=True, return_tensors="pt")
    assert batch.input_ids.tolist()[1] == [gpt.eos_id, gpt.vocab["c"]]
    assert batch.attention_mask.tolist() == [[1, 1], [0, 1]]
    assert gpt(["ab", "c"], padding=True, padding_side="right").attention_mask == [[1, 1], [1, 0]]
    assert "token_type_ids" not in batch
    assert gpt("ab", return_token_type_ids=True).token_type_ids == [0, 0]


@pytest.mark.parametrize("arguments, said", [
    ({"padding": True}, "no padding token"), ({"return_tensors": "pt"}, r"\[2, 1\].*padding=True"),
    ({"padding": "some"}, "padding='some'"), ({"truncation": "some"}, "truncation='some'"),
    ({"return_tensors": "tf"}, "return_tensors='tf'")])
def test_what_cannot_be_done(gpt, arguments, said):
    with pytest.raises(ValueError, match=said):
        gpt(["ab", "c"], **arguments)


def test_no_texts(bert, gpt):
    assert bert([], padding=True, return_tensors="pt").input_ids.shape == (0, 0)
    assert gpt("").input_ids == [] and bert("").input_ids == [2, 3] and gpt([]).input_ids == []


@pytest.mark.parametrize("text", [b"ab", 7, None, ["a", "b"]])
def test_what_is_no_text(gpt, text):
    with pytest.raises(TypeError, match=type(text).__name__):
        gpt.encode(text)
    with pytest.raises(TypeError, match=type(text).__name__):
        gpt(["ab", text])


def test_half_a_character(gpt, bert):
    for tokenizer in gpt, bert, CharTokenizer().train("ab"):
        with pytest.raises(ValueError, match="place 2, half of a character"):
            tokenizer.encode("ab\ud83d")


# ---- special tokens, ids, tokens ----

def test_special_tokens(bert, gpt):
    assert (bert.pad_id, bert.unk_token_id, bert.cls_id, bert.sep_id, bert.mask_id) == (0, 1, 2, 3, 4)
    assert bert.bos_token is None and bert.bos_id is None
    assert bert.all_special_tokens == ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]
    assert gpt.eos_id == 256 and gpt.pad_id is None
    assert gpt.add_special_tokens({"pad_token": "<pad>", "additional_special_tokens": ["<a>", "<b>"]}) == 3
    assert gpt.pad_id == 257 and gpt.tokenize("x<b>y<pad>") == ["x", "<b>", "y", "<pad>"]
    assert gpt.add_special_tokens({"pad_token": "<pad>"}) == 0
    with pytest.raises(ValueError, match="'start' is none of"):
        gpt.add_special_tokens({"start": "<s>"})
    with pytest.raises(AttributeError, match="pad_ids"):
        gpt.pad_ids  # noqa: B018


def test_the_longest_special_token_wins(gpt):
    gpt.add_special_tokens({"additional_special_tokens": ["<a>", "<a><b>", "[x|y]"]})
    assert gpt.tokenize("<a><b><a>[x|y]") == ["<a><b>", "<a>", "[x|y]"]


def test_decoding(bert, gpt):
    ids = torch.tensor(bert.encode("The dog bites!"))
    assert bert.decode(ids) == "[CLS] the dog bites! [SEP]"
    assert bert.decode(ids, skip_special_tokens=True) == "the dog bites!"
    assert bert.decode(5) == bert.decode(np.int64(5)) == bert.decode(torch.tensor(5)) == "the"
    assert bert.batch_decode([[5, 6], [9]]) == ["the dog", "##s"]
    assert gpt.batch_decode(torch.tensor([[64, 65]])) == ["ab"]
    for wrong in 257, -1:
        with pytest.raises(IndexError, match=f"no id {wrong} in this vocabulary of 257"):
            gpt.decode([64, wrong])
    with pytest.raises(TypeError):
        gpt.decode([1.5])


def test_tokens_and_ids(bert):
    assert bert.token_to_id("dog") == 6 and bert.token_to_id("cat") is None
    assert bert.id_to_token(6) == "dog" and bert.id_to_token(99) is None
    assert bert.vocab_size == len(bert) == 12 and bert.get_vocab()["dog"] == 6
    bert.get_vocab()["cat"] = 99
    assert "cat" not in bert.vocab and repr(bert) == "WordPieceTokenizer(vocab_size=12)"
    assert issubclass(WordPieceTokenizer, Tokenizer)


def test_copies(bert, gpt):
    for tokenizer in bert, gpt.train("the dog and the man", 262):
        for other in copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer)):
            assert other.encode("the dog!") == tokenizer.encode("the dog!")
            assert other.vocab is not tokenizer.vocab


@pytest.mark.parametrize("vocab, error, said", [
    (["a", "b", "a"], ValueError, "3 tokens with 2"), ({"a": 0, "b": 0}, ValueError, "ids"),
    ({"a": -1}, ValueError, "from 0 on"), ("abc", TypeError, "train"), ([1, 2], TypeError, "tokens")])
def test_what_is_no_vocabulary(vocab, error, said):
    with pytest.raises(error, match=said):
        CharTokenizer(vocab)


def test_an_unknown_argument():
    with pytest.raises(TypeError, match="start_token"):
        CharTokenizer(start_token="<s>")
