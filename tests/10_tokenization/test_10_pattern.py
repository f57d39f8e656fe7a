"""GPT-2's words: whatever Unicode holds, cut as the published pattern says."""
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytorch.text.pattern import STAND_INS, WHITE, split_words

CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1)]


@pytest.mark.parametrize("text, words", [
    ("", []), ("dog", ["dog"]), (" dog", [" dog"]), ("  dog", [" ", " dog"]), ("dog ", ["dog", " "]),
    ("a  ", ["a", "  "]), ("a\n b", ["a", "\n", " b"]), ("a\n\nb", ["a", "\n", "\n", "b"]),
    ("a\tb", ["a", "\t", "b"]),
    ("it's we'll I'd", ["it", "'s", " we", "'ll", " I", "'d"]),
    ("'re've'm't'x", ["'re", "'ve", "'m", "'t", "'", "x"]), ("IT'S", ["IT", "'", "S"]),
    ("'sé", ["'s", "é"]), ("'é", ["'", "é"]), ("l'Éa", ["l", "'", "Éa"]),
    ("a1b22", ["a", "1", "b", "22"]), ("x = -3.5;", ["x", " =", " -", "3", ".", "5", ";"]),
    ("naïve Straße", ["naïve", " Straße"]), ("a\u0301b", ["a", "\u0301", "b"]),      # a mark is no letter
    ("١٢٣ ½x²", ["١٢٣", " ½", "x", "²"]), ("Ⅷ東京", ["Ⅷ", "東京"]), ("a🙂b 🙂🙂", ["a", "🙂", "b", " 🙂🙂"]),
    ("a\xa0b", ["a", "\xa0", "b"]), ("a \u3000b", ["a", " ", "\u3000", "b"]), ("\u2028 x", ["\u2028", " x"]),
    ("\x1cx", ["\x1c", "x"]), ("\x1c\x1d ", ["\x1c\x1d", " "]), ("a\x85", ["a", "\x85"]),
    ("𝐚𝐛'𝐬1", ["𝐚𝐛", "'", "𝐬", "1"]), ("\ud83d!", ["\ud83d!"])])
def test_words(text, words):
    assert split_words(text) == words


@pytest.mark.parametrize("text, words", [
    ("in 1989", ["in", " ", "1", "9", "8", "9"]), ("a  1", ["a", "  ", "1"]), ("  1 b", ["  ", "1", " b"]),
    ("٣½", ["٣", "½"]), ("x2y", ["x", "2", "y"]), ("a  b", ["a", " ", " b"]),
    ("a \xa0²", ["a", " \xa0", "²"]), ("", [])])
def test_digits(text, words):
    """Each digit by itself, and white space before one is not cut"""
    assert split_words(text, digits=True) == words


@given(st.text(st.characters(exclude_categories=())), st.booleans())
def test_nothing_is_lost(text, digits):
    words = split_words(text, digits)
    assert "".join(words) == text and "" not in words


def test_every_character():
    """Letter, number, white space or something else, as Unicode says of it"""
    for character in CHARACTERS[128:]:
        category, seen = unicodedata.category(character), STAND_INS[ord(character)]
        if category != "Cn":                           # this Python's Unicode may be older than the table
            kind = "a" if category[0] == "L" else "1" if category[0] == "N" else "!"
            assert seen == ("\t" if character in WHITE else kind), ascii(character)


def test_white_space():
    """Python's, without the four separators of ASCII"""
    assert {*WHITE} == {c for c in CHARACTERS if c.isspace()} - {*"\x1c\x1d\x1e\x1f"}
    assert len(WHITE) == 25


def test_letters_of_a_later_unicode():
    """Known also to a Python that does not know them"""
    letters, numbers = "a\U00031350b\u1c89", " \U0001ccf0\U00010d45"
    assert split_words(letters + numbers) == [letters, numbers]


@given(st.text(st.sampled_from("'stdrveml \t\n\xa01²aé!🙂") | st.characters(exclude_categories=["Cs", "Cn"])))
def test_as_the_package_regex(text):
    regex = pytest.importorskip("regex", reason="pip install regex: it knows \\p{L}")
    published = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    assert split_words(text) == regex.findall(published, text)
