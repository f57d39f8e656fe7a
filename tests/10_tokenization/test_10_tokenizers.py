"""Letters and WordPiece; and that what was written can be read."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinytorch.text import ByteBPETokenizer, CharTokenizer, WordPieceTokenizer, from_pretrained

PIECES = """[PAD] [UNK] [CLS] [SEP] [MASK] un unaff ##or ##ord ##able ab b ##b . , ? ' don t zoe
    東 ##京""".split()


# ---- letters ----

def test_letters_by_hand():
    tokenizer = CharTokenizer().train("hello")
    assert tokenizer.vocab == {"[UNK]": 0, "[PAD]": 1, "e": 2, "h": 3, "l": 4, "o": 5}
    assert tokenizer.encode("help") == [3, 2, 4, 0] and tokenizer.encode("") == []
    assert tokenizer.decode([3, 2, 4, 0]) == "hel[UNK]"
    assert tokenizer.decode([3, 2, 4, 0], skip_special_tokens=True) == "hel"
    assert tokenizer.encode("h[PAD]") == [3, 1]
    assert CharTokenizer(["b", "a"]).vocab == {"b": 0, "a": 1, "[UNK]": 2, "[PAD]": 3}


def test_letters_of_several_texts():
    assert list(CharTokenizer().train(iter(["ba", "\n"])).vocab) == ["[UNK]", "[PAD]", "\n", "a", "b"]
    assert len(CharTokenizer().train([])) == 2
    with pytest.raises(TypeError, match="bytes"):
        CharTokenizer().train([b"ab"])


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_letters_come_back(text):
    tokenizer = CharTokenizer().train(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text and tokenizer.encode(text).count(0) == 0


# ---- WordPiece ----

@pytest.mark.parametrize("word, pieces", [
    ("unaffordable", ["unaff", "##ord", "##able"]), ("unaff", ["unaff"]), ("unb", ["un", "##b"]),
    ("unaffordably", ["[UNK]"]), ("ord", ["[UNK]"]), ("unab", ["[UNK]"]), ("bb", ["b", "##b"]), ("", [])])
def test_pieces(word, pieces):
    assert WordPieceTokenizer(PIECES).split_word(word) == pieces


def test_a_text():
    bert = WordPieceTokenizer(PIECES)
    assert bert.tokenize("Don't, Zoë? UNAFFORDABLE") == \
        ["don", "'", "t", ",", "zoe", "?", "unaff", "##ord", "##able"]
    assert bert.tokenize("東京") == ["東", "[UNK]"]
    assert WordPieceTokenizer(PIECES, chinese=False).tokenize("東京") == ["東", "##京"]
    assert WordPieceTokenizer(PIECES, lowercase=False).tokenize("un Un") == ["un", "[UNK]"]
    ids = bert.encode("don't unaffordable .b", add_special_tokens=False)
    assert bert.decode(ids) == "don ' t unaffordable. b"
    assert bert.decode([]) == "" and bert.decode([12]) == "##b"


def test_very_long_words():
    bert = WordPieceTokenizer(PIECES)
    assert bert.tokenize("b" * 100) == ["b"] + ["##b"] * 99 and bert.tokenize("b" * 101) == ["[UNK]"]
    assert WordPieceTokenizer(PIECES, max_input_chars_per_word=1).tokenize("b bb") == ["b", "[UNK]"]


def test_what_is_remembered_is_bounded():
    bert = WordPieceTokenizer(PIECES)
    bert.encode(" ".join(f"{i:x}" for i in range(120_000)))
    assert len(bert._words) <= 100_000 and bert.tokenize("unb") == ["un", "##b"]


def test_a_vocabulary_without_an_unknown_token():
    with pytest.raises(ValueError, match=r"\[UNK\]"):
        WordPieceTokenizer(["a", "##b"])
    assert WordPieceTokenizer(["a", "?"], unk_token="?").tokenize("a b") == ["a", "?"]
    assert WordPieceTokenizer(["a", "?"], unk_token="?").encode("a") == [0]      # no [CLS], no frame


# ---- folders ----

TOKENIZERS = [
    CharTokenizer().train("hello\n 🙂 é"),
    ByteBPETokenizer(eos_token="<|end|>", pad_token="<pad>", padding_side="left").train("one two one", 262),
    ByteBPETokenizer(add_prefix_space=True, model_max_length=77).train("one two one two", 262),
    WordPieceTokenizer(PIECES, lowercase=False, strip_accents=True, model_max_length=128)]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda t: type(t).__name__)
def test_what_was_saved_is_read(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "new")
    for read in from_pretrained(tmp_path / "new"), type(tokenizer).from_pretrained(str(tmp_path / "new")):
        assert type(read) is type(tokenizer) and read.vocab == tokenizer.vocab
        for name in "all_special_tokens padding_side model_max_length template pad_token eos_token".split():
            assert getattr(read, name) == getattr(tokenizer, name), name
        for text in "one two 🙂\n[PAD]<|end|>", "Unaffordable, zoë", "  é":
            assert read.encode(text, "two") == tokenizer.encode(text, "two")
    assert not list(tmp_path.rglob("*.tmp"))


def test_options_win_over_files(tmp_path):
    WordPieceTokenizer(PIECES).save(tmp_path)
    assert from_pretrained(tmp_path, lowercase=False).tokenize("UN") == ["[UNK]"]


def test_a_folder_of_another_kind(tmp_path):
    CharTokenizer().train("ab").save(tmp_path)
    with pytest.raises(ValueError, match="from_pretrained takes the right"):
        ByteBPETokenizer.from_pretrained(tmp_path)


def test_no_such_folder(tmp_path):
    for folder in tmp_path, tmp_path / "nowhere":
        with pytest.raises(FileNotFoundError, match=folder.name):
            from_pretrained(folder)
