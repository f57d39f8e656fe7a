# %% [markdown]
# # From a text to words: BERT's way
#
# Given code: nothing to solve here. BERT throws away what it thinks does not matter: control characters,
# with `lowercase` also capitals and accents. Punctuation marks and Chinese characters are words of their
# own. Nothing of that can be undone.

# %%
#| default_exp text.bert_words

# %%
import re
import unicodedata
from functools import cache

from pattern_dev import WHITE

# %% [markdown]
# What a character is, says Unicode; but which Unicode? The package `tokenizers`, with which models are
# trained, took its tables of marks, accents and control characters long ago, and to it a younger character
# is a letter like any other. The same ids need the same tables. So these ranges hold what came later, and
# four characters that have changed their kind since.

# %%
#| export
LATER = re.compile(
    "[\u05c8\u05c9\u061d\u07fd\u0890-\u08e2\u09fd\u09fe\u0a76\u0afa-\u0aff\u0b53-\u0b55\u0c04-\u0c3c\u0c77\u0c84"
    "\u0d00\u0d3b\u0d3c\u0d81\u0eba\u0ece\u180f-\u1886\u1abf-\u1af0\u1b4e\u1b4f\u1b7d-\u1b7f\u1df6-\u1dfb"
    "\u2e43-\u2e63\ua82c\ua8c5\ua8ff\ua9bd\U000105c9-\U000105e4\U00010d24-\U00010f89\U00011070-\U00011074"
    "\U000110c2-\U000110cd\U000111cf\U0001123e-\U00011241\U0001133b\U00011383-\U00011391\U000113bb-\U0001145e"
    "\U00011660-\U0001166c\U000116b9\U0001182f-\U00011fff\U00012ff1-\U0001612f\U00016d68-\U00016f4f"
    "\U00016fe2-\U00016fe4\U0001cf00-\U0001d128\U0001d25b\U0001d25c\U0001e000-\U0001e6f5"
    "\U0001e944-\U0001e95f]")
CHANGED = {"\u166d": "mark", "\u1734": "accent", "\U000111c9": "mark", "\U0001171e": "accent"}
CHINESE = re.compile("[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
                     "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]")


def kind_of(character):
    """What BERT sees in a character: "control", "white", "mark" (punctuation), "accent" or "letter".

    >>> [kind_of(character) for character in "\\x00\\t$'_é\u0301"]
    ['control', 'white', 'mark', 'mark', 'mark', 'letter', 'accent']
    """
    category = unicodedata.category(character)
    if character in "\t\n\r":
        return "white"
    if LATER.match(character) or character in CHANGED:
        return CHANGED.get(character, "letter")
    if category in ("Cc", "Cf", "Co", "Cs") or character == "\ufffd":
        return "control"
    if character in WHITE:
        return "white"
    if category[0] == "P" or (character.isascii() and not character.isalnum()):
        return "mark"
    return "accent" if category == "Mn" else "letter"


# %% [markdown]
# All that BERT does, it does to one character at a time. So what becomes of a character is worked out when
# it first comes, with blanks around it if it is a word of its own, and `str.translate` does the rest.

# %%
#| export
class Spelling(dict):
    """{code point: what stands in its place}, for one choice of the options of `bert_words`."""
    def __init__(self, lowercase, strip_accents, chinese, clean):
        self.lowercase, self.chinese, self.clean = lowercase, chinese, clean
        self.strip_accents = lowercase if strip_accents is None else strip_accents

    def __missing__(self, code):
        self[code] = self.spelled(chr(code))
        return self[code]

    def spelled(self, character):
        kind = kind_of(character)
        if kind == "control" and self.clean:
            return ""
        if character in WHITE:                         # line breaks are control characters too
            return " "
        parts = character
        if self.strip_accents and not LATER.match(character):
            parts = [part for part in unicodedata.normalize("NFD", character) if kind_of(part) != "accent"]
        if self.lowercase:
            parts = "".join(parts).lower()             # Σ becomes σ, at the end of a word too: it is alone
        spelled = "".join([f" {part} " if kind_of(part) == "mark" else part for part in parts])
        return f" {spelled} " if self.chinese and CHINESE.match(character) else spelled


spelling = cache(Spelling)


def bert_words(text, lowercase=True, strip_accents=None, chinese=True, clean=True):
    """The words and punctuation marks of `text`, cleaned.

    lowercase: capitals become small letters. strip_accents: é becomes e; None: if `lowercase`. chinese: each
    Chinese character is a word. clean: control characters are dropped.

    >>> bert_words("Don't stop, Zoë!"), bert_words("Zoë 東京", lowercase=False)
    (['don', "'", 't', 'stop', ',', 'zoe', '!'], ['Zoë', '東', '京'])
    """
    spelled = text.translate(spelling(lowercase, strip_accents, chinese, clean))
    return [word for word in spelled.split(" ") if word]
