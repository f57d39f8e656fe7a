# Generated from modules/10_tokenization/pattern_dev.py by tito export. Edit the lesson, not this file.
# source sha256 55cbac6975e3e42ebc287f1480989f281727a40e5c6e0ebad1d0f5547634436a  body sha256 59a5f8ecf7a59af5b4c78b93c667e9d99525fb63708c1e0ca4621706a12e5336  # noqa: E501
"""text.pattern: built in module 10_tokenization."""

import re
import unicodedata

__all__ = [
    "NEW_LETTERS", "NEW_NUMBERS", "STAND_INS", "StandIns", "WHITE", "WORD", "WORD_OR_DIGIT",
    "split_words",
]


WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028" \
        "\u2029\u202f\u205f\u3000"                     # as Unicode has it; Python's isspace() has four more
# What Unicode 15 and 16 brought, for a Python that is older, as the package tokenizers knows it
NEW_LETTERS = re.compile(
    "[\u1c89\u1c8a\ua7cb-\ua7cd\ua7da-\ua7dc\U000105c0-\U000105f3\U00010d4a-\U00010d65\U00010d6f-\U00010d85"
    "\U00010ec2-\U00010ec4\U0001123f\U00011240\U00011380-\U00011389\U0001138b\U0001138e\U00011390-\U000113b5"
    "\U000113b7\U000113d1\U000113d3\U00011bc0-\U00011be0\U00011f02\U00011f04-\U00011f10\U00011f12-\U00011f33"
    "\U0001342f\U00013441-\U00013446\U00013460-\U000143fa\U00016100-\U0001611d\U00016d40-\U00016d6c\U00018cff"
    "\U0001b132\U0001b155\U0001df25-\U0001df2a\U0001e030-\U0001e06d\U0001e4d0-\U0001e4eb\U0001e5d0-\U0001e5ed"
    "\U0001e5f0\U0002b739\U0002ebf0-\U0002ee5d\U00031350-\U000323af]")
NEW_NUMBERS = re.compile(
    "[\U00010d40-\U00010d49\U000116d0-\U000116e3\U00011bf0-\U00011bf9\U00011f50-\U00011f59"
    "\U00016130-\U00016139\U00016d70-\U00016d79\U0001ccf0-\U0001ccf9\U0001d2c0-\U0001d2d3"
    "\U0001e4f0-\U0001e4f9\U0001e5f1-\U0001e5fa]")


class StandIns(dict):
    """{code point: a character of ASCII of the same kind}; ASCII stands for itself.

    >>> "naïve ٣ – 🙂".translate(StandIns())
    'naave 1 ! !'
    """
    def __missing__(self, code):
        character = chr(code)
        kind = unicodedata.category(character)[0]
        if code < 128:
            self[code] = character
        elif character in WHITE:
            self[code] = "\t"                          # not a blank: only a real one goes with its word
        elif kind == "L" or NEW_LETTERS.match(character):
            self[code] = "a"                           # no ending of the pattern has an a
        else:
            self[code] = "1" if kind == "N" or NEW_NUMBERS.match(character) else "!"
        return self[code]


STAND_INS = StandIns()
WORD = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII)
WORD_OR_DIGIT = re.compile(
    r"'(?:[sdmt]|ll|ve|re)| ?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+|\s+(?![^\s0-9])|\s+", re.ASCII)


def split_words(text, digits=False):
    """The pieces of `text` that GPT-2 calls words; joined, they are the text again.

    digits: each digit is a piece of its own.

    >>> split_words("It's  in 1989, naïve!")
    ['It', "'s", ' ', ' in', ' 1989', ',', ' naïve', '!']
    >>> split_words("in 1989", digits=True)
    ['in', ' ', '1', '9', '8', '9']
    """
    pattern = WORD_OR_DIGIT if digits else WORD
    if text.isascii():
        return pattern.findall(text)
    places = [match.end() for match in pattern.finditer(text.translate(STAND_INS))]
    return [text[start:end] for start, end in zip([0, *places], places)]
