"""Byte-pair tokenizers: what is learned, what comes out, and that nothing is lost."""
import random
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinytorch.text import ByteBPETokenizer
from tinytorch.text.bpe import count_pairs, merge_pair, train_naive
from tinytorch.text.bpe_parts import ALPHABET, BYTE, CHARACTER, PairQueue, merge_long, unwritten, written

TEXT = """It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of
foolishness, it was the epoch of belief, it was the epoch of incredulity, naïve  \t and
  not so naïve, in 1789 and in 1790; 🙂🙂 "it's", they'll say, 東京 東京 東"""
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.fixture(scope="module")
def tokenizer():
    return ByteBPETokenizer(eos_token="<|end|>").train([TEXT] * 3, 340)


# ---- the alphabet ----

def test_every_byte_has_a_character():
    assert len(ALPHABET) == len(set(ALPHABET)) == 256 and sorted(BYTE.values()) == list(range(256))
    assert CHARACTER[32] == "Ġ" and CHARACTER[10] == "Ċ" and CHARACTER[65] == "A" and CHARACTER[173] == "Ń"
    assert not any(character.isspace() or unicodedata.category(character)[0] == "C" for character in ALPHABET)
    assert ALPHABET[0] == "!" and ALPHABET[220] == "Ġ"     # as in GPT-2's vocab.json
    every = bytes(range(256))
    assert unwritten(written(every)) == every


def test_a_token_in_other_letters_is_its_utf8():
    assert unwritten("a b") == b"a b" and unwritten("｜") == "｜".encode()


# ---- pieces of training ----

@given(st.lists(st.lists(st.integers(0, 3), max_size=12), max_size=5))
def test_counting_is_looking_at_every_place(words):
    want = {}
    for ids in words:
        for i in range(len(ids) - 1):
            want[ids[i], ids[i + 1]] = want.get((ids[i], ids[i + 1]), 0) + 1
    assert dict(count_pairs(words)) == want


@given(st.lists(st.integers(0, 2), max_size=20), st.tuples(st.integers(0, 2), st.integers(0, 2)))
def test_merging_can_be_undone(ids, pair):
    kept, merged = list(ids), merge_pair(ids, pair, 9)
    assert ids == kept and isinstance(merged, list)
    assert [i for token in merged for i in (pair if token == 9 else [token])] == ids
    text = "".join(map(str, ids)).replace("".join(map(str, pair)), "9")      # str.replace: left to right
    assert merged == [int(letter) for letter in text]


def test_naive_training_by_hand():
    assert train_naive([list(b"banana bandana")], 3) == {(97, 110): 256, (98, 256): 257, (256, 97): 258}
    assert train_naive([[1, 1, 1, 1]], 9) == {(1, 1): 256, (256, 256): 257}
    assert train_naive([[1], []], 9) == {}


@given(st.lists(st.tuples(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(-2, 3)), max_size=30))
def test_the_queue_knows_the_best_pair(steps):
    queue, counts = PairQueue(), {}
    for pair, times in steps:
        queue.add(pair, times)
        counts[pair] = counts.get(pair, 0) + times
        left = {pair: n for pair, n in counts.items() if n > 0}
        want = min(left, key=lambda pair: (-left[pair], pair)) if left else None
        assert queue.best() == want == queue.best()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("abc ", max_size=15), min_size=1, max_size=4))
def test_training_by_word_finds_what_naive_training_finds(found):
    fast = ByteBPETokenizer().train(found, 280)
    words = [[fast.byte_ids[byte] for byte in word.encode()]
             for text in found for word in fast.words_of(text)]
    naive, names = train_naive(words, 24), dict(enumerate(ALPHABET))
    for (left, right), new in naive.items():
        names[new] = names[left] + names[right]
    if len(set(names.values())) == len(names):             # two ways to one token have one id only in `fast`
        assert list(fast.ranks) == list(naive) and fast.tokens == names


def test_two_ways_to_one_token_share_its_id():
    """a+bc and ab+c are two merges, and one token"""
    tokenizer = ByteBPETokenizer(["ab", "bc", "abc", *ALPHABET], [("a", "b"), ("b", "c"), ("ab", "c")])
    pair = tokenizer.vocab["a"], tokenizer.vocab["bc"]
    assert tokenizer.add_merge(pair) == tokenizer.vocab["abc"] == 2
    assert tokenizer.ranks[pair] == (3, 2) and len(tokenizer) == 259


def test_a_pair_that_stays_the_most_frequent_is_an_error(monkeypatch):
    """Counts that are not corrected would give the same pair for ever"""
    monkeypatch.setattr(PairQueue, "best", lambda queue: (64, 65))
    with pytest.raises(RuntimeError, match="'a' \\+ 'b' was just merged"):
        ByteBPETokenizer().train("ab", 300)


def test_a_merge_keeps_its_first_rank(tokenizer):
    """Coming again later, it does not change how words are cut"""
    other = ByteBPETokenizer(tokenizer.vocab, [(tokenizer.tokens[a], tokenizer.tokens[b])
                                               for a, b in tokenizer.ranks], eos_token="<|end|>")
    for pair in list(other.ranks)[:2]:
        assert other.add_merge(pair) == tokenizer.ranks[pair][1]
    assert other.ranks == tokenizer.ranks


@pytest.mark.parametrize("often", [1, 50])
def test_words_that_come_often_take_no_longer(often):
    """Training goes through each different word, not through each time that it came"""
    looks = []

    class Word(list):
        def __iter__(self):
            looks.append(1)
            return super().__iter__()

    class Watched(ByteBPETokenizer):
        def start_training(self, texts, vocab_size):
            words, times = super().start_training(texts, vocab_size)
            return [Word(word) for word in words], [often * n for n in times]
    tokenizer = Watched().train(TEXT, 300)
    assert len(looks) < 10 * len(set(tokenizer.words_of(TEXT)))


def test_training_stops_at_the_size(tokenizer):
    assert len(tokenizer) == tokenizer.vocab_size == 340 and sorted(tokenizer.tokens) == list(range(340))
    assert tokenizer.tokens[0] == "<|end|>" and tokenizer.tokens[1] == "!"
    assert len(ByteBPETokenizer().train("ab ab", 1000)) == 258         # ab, and then Ġab


def test_training_does_not_look_into_specials_or_over_borders():
    tokenizer = ByteBPETokenizer().train(["ab", "ab"], 300)
    assert list(tokenizer.ranks) == [(tokenizer.vocab["a"], tokenizer.vocab["b"])]


def test_training_again_begins_anew():
    tokenizer = ByteBPETokenizer().train("ab ab", 300)
    assert tokenizer.encode("ab") == [256]
    tokenizer.train("xy xy", 300)
    assert tokenizer.tokens[256] == "xy" and tokenizer.tokenize("ab") == ["a", "b"]


@pytest.mark.parametrize("size", [0, 255, 256])
def test_too_small_a_vocabulary(size):
    with pytest.raises(ValueError, match=f"vocab_size={size}.*257"):
        ByteBPETokenizer(eos_token="<|end|>").train(TEXT, size)


def test_training_on_what_is_no_text():
    with pytest.raises(TypeError, match="bytes"):
        ByteBPETokenizer().train([b"abc"], 300)


# ---- encoding and decoding ----

@settings(max_examples=200, deadline=None)
@given(texts)
def test_any_text_comes_back(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(0 <= i < 340 for i in ids)


def test_lowest_rank_first(tokenizer):
    """A word is cut as it was while the merges were learned"""
    for word in tokenizer.words_of(TEXT):
        ids = [tokenizer.byte_ids[byte] for byte in word.encode()]
        kept = list(ids)
        for pair, (_, new) in tokenizer.ranks.items():
            kept = merge_pair(kept, pair, new)
        assert tokenizer.encode_word(ids) == kept


@pytest.mark.parametrize("seed", range(20))
def test_long_words_go_another_way_to_the_same_ids(tokenizer, seed):
    rng = random.Random(seed)
    ids = [tokenizer.byte_ids[ord(rng.choice("thewasit"))] for _ in range(rng.randrange(300))]
    kept = list(ids)
    assert merge_long(ids, tokenizer.ranks) == tokenizer.encode_word(ids) and ids == kept


def test_a_megabyte_without_a_blank(tokenizer):
    """Takes seconds, not hours"""
    text = "thewasofit" * 20_000
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_what_is_remembered_is_bounded(tokenizer, monkeypatch):
    """Many different words do not fill the memory, and come out the same"""
    other = ByteBPETokenizer(tokenizer.vocab, [(tokenizer.tokens[a], tokenizer.tokens[b])
                                               for a, b in tokenizer.ranks])
    text = " ".join(f"{i:x}z" for i in range(120_000))
    assert other.decode(other.encode(text)) == text
    assert len(other._words) <= 100_000


def test_ids_that_come_back_are_the_callers_own(tokenizer):
    """Changing them changes nothing that was remembered"""
    first = tokenizer.encode("times")
    first.append(77)
    assert tokenizer.encode("times") == first[:-1]


def test_half_letters(tokenizer):
    byte = tokenizer.byte_ids
    assert tokenizer.decode([byte[195]]) == "\ufffd"
    assert tokenizer.decode([byte[195], byte[169]]) == "é"
    assert tokenizer.decode([byte[240], byte[159], byte[65]]) == "\ufffdA"
    assert tokenizer.decode([]) == ""


def test_specials_in_a_text(tokenizer):
    ids = tokenizer.encode("one<|end|>two")
    assert ids.count(tokenizer.eos_id) == 1 and tokenizer.decode(ids) == "one<|end|>two"
    assert tokenizer.decode(ids, skip_special_tokens=True) == "onetwo"


def test_specials_in_other_scripts_spoil_nothing():
    tokenizer = ByteBPETokenizer(eos_token="<|endé|>", sep_token="<|Ende der Prüfung|>")
    text = "né 東京 <|endé|>ü<|Ende der Prüfung|>"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_blank_in_front():
    plain, blank = ByteBPETokenizer(), ByteBPETokenizer(add_prefix_space=True)
    assert blank.encode("dog") == plain.encode(" dog") and blank.encode(" dog") == plain.encode(" dog")
    assert blank.encode("") == []


def test_digits_one_by_one():
    tokenizer = ByteBPETokenizer(digits=True).train("1989 1989 1989", 400)
    assert tokenizer.tokenize("a 19") == ["a", "Ġ", "1", "9"]


def test_files_that_do_not_belong_together():
    with pytest.raises(ValueError, match="merge 0 .*'ab'.*belong together"):
        ByteBPETokenizer(ALPHABET, [("a", "b")])
    with pytest.raises(ValueError, match="no token for 1 of the 256 bytes, the first is 'a'"):
        ByteBPETokenizer([letter for letter in ALPHABET if letter != "a"])


def test_bytes_that_a_vocabulary_lacks():
    """They are left out, as the package tokenizers does, and their neighbours are merged"""
    tokenizer = ByteBPETokenizer([*(set(ALPHABET) - {*"Ã©"}), "ab"], [("a", "b")])
    assert tokenizer.tokenize("aéb aèb") == ["ab", "Ġ", "a", "¨", "b"]
