"""BERT's words: cleaned, spelled and cut as BERT does it."""
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytorch.text.bert_words import LATER, bert_words, kind_of

TEXTS = st.text(st.sampled_from("aÉΣ İßẞ.-'\t\u200d\u0301中") | st.characters(exclude_categories=()))


@pytest.mark.parametrize("text, words", [
    ("", []), (" \n\t", []), ("Hello", ["hello"]), ("don't", ["don", "'", "t"]),
    ("a--b", ["a", "-", "-", "b"]),
    ("$5+x_y^z~`|", ["$", "5", "+", "x", "_", "y", "^", "z", "~", "`", "|"]),          # all of ASCII's signs
    ("€5 ±x", ["€5", "±x"]), ("«x»…", ["«", "x", "»", "…"]),                           # but no others
    ("Zoë Ångström Éva", ["zoe", "angstrom", "eva"]), ("e\u0301", ["e"]), ("Straße", ["straße"]),
    ("ΑΣ ΣΑΣ", ["ας".replace("ς", "σ"), "σασ"]), ("İI", ["ii"]), ("ﬁ ① ½", ["ﬁ", "①", "½"]),
    ("東京tower", ["東", "京", "tower"]), ("ひらがな 한", ["ひらかな", "\u1112\u1161\u11ab"]),
    ("a\u200db\xadc\0d\ufffde\x07", ["abcde"]), ("a\u00a0b\u3000c\u2028d\re", ["a", "b", "c", "d", "e"]),
    ("a\x0bb\x1cc\x85d", ["abcd"]), ("\u0301", []), (". \u0301.", [".", "."]), ("\u037e\u1fef", [";", "`"]),
    ("\ue000x", ["x"]), ("🙂x", ["🙂x"]), ("\uf900", ["豈"])])
def test_words(text, words):
    assert bert_words(text) == words


@pytest.mark.parametrize("text, options, words", [
    ("Zoë İ", {"lowercase": False}, ["Zoë", "İ"]),
    ("Zoë İ", {"lowercase": True, "strip_accents": False}, ["zoë", "i\u0307"]),
    ("Zoë", {"lowercase": False, "strip_accents": True}, ["Zoe"]),
    ("a中b", {"chinese": False}, ["a中b"]), ("中。", {"chinese": False}, ["中", "。"]),
    ("a\u200db\x07", {"clean": False}, ["a\u200db\x07"]),
    ("a\x0bb\x85c\td", {"clean": False}, ["a", "b", "c", "d"]),
    ("a\x1cb", {"clean": False}, ["a\x1cb"]), ("\ufffd", {"clean": False}, ["\ufffd"])])
def test_options(text, options, words):
    assert bert_words(text, **options) == words


def test_long_texts():
    """A word without an end is one word, and many words stay apart"""
    assert bert_words("É" * 100_000) == ["e" * 100_000]
    assert bert_words("Ab, " * 50_000) == ["ab", ","] * 50_000


@given(TEXTS, st.booleans(), st.sampled_from([None, True, False]))
def test_a_word_stays_as_it_is(text, lowercase, strip):
    """What is words already, is changed no more"""
    words = bert_words(text, lowercase, strip)
    assert bert_words(" ".join(words), lowercase, strip) == words
    assert all(words) and not any(" " in word for word in words)


@given(TEXTS, TEXTS)
def test_a_blank_is_a_border(first, second):
    assert bert_words(f"{first} {second}") == bert_words(first) + bert_words(second)


def test_every_character():
    """As Unicode says of it, where BERT's tables are not older than it"""
    wanted = {"P": "mark", "Z": "white", "Mn": "accent", "Cc": "control", "Cf": "control", "Co": "control"}
    for code in range(128, sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        changed = character in "\u166d\u1734\U000111c9\U0001171e\ufffd"
        if not LATER.match(character) and not changed and category not in ("Cn", "Cs"):
            kind = wanted.get(category, wanted.get(category[0], "letter"))
            assert kind_of(character) == kind, ascii(character)


def test_what_came_later():
    """Is a letter, whatever it is to Unicode"""
    for character in "\u0898\u2e52\U00011938\U0001e000\u061d":
        assert kind_of(character) == "letter" and bert_words(f"a{character}b") == [f"a{character}b"]
