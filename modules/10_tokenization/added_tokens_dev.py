# %% [markdown]
# # Tokens that are cut out of a text
#
# Given code: nothing to solve here. `<|endoftext|>` is no word made of letters: it is one token, and nobody
# may cut it into pieces. So such tokens are found before anything else happens to a text, and what lies
# between them is tokenized as usual. RoBERTa's `<mask>` also takes the blank before it along, since its words
# begin with one: "a <mask> dog" is "a", `<mask>`, " dog".

# %%
#| default_exp text.added_tokens

# %%
import re
from dataclasses import dataclass
from functools import cache

from pattern_dev import WHITE

# %%
#| export
@dataclass(frozen=True)
class AddedToken:
    """A token that is cut out of a text before anything else happens to the text.

    special: stands for something that is no text. lstrip, rstrip: takes the white space before, after it
    along. single_word: not inside of a word. normalized: looked for after the others.
    """
    content: str
    id: int
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


@cache
def any_of(contents):
    """A pattern that finds the first of these strings; of two at the same place the longer one."""
    return re.compile("|".join(map(re.escape, sorted(contents, key=len, reverse=True))))


def cut_out(text, added):
    """[(piece, None or the AddedToken that it is), ...]; pieces of white space that a token takes are gone.

    >>> mask = AddedToken("<mask>", 4, lstrip=True)
    >>> [(piece, token and token.id) for piece, token in cut_out("a <mask> dog", [mask])]
    [('a', None), ('<mask>', 4), (' dog', None)]
    """
    pieces = [(text, None)] if text else []
    for late in False, True:
        tokens = {token.content: token for token in added
                  if token.normalized == late and token.content and token.content in text}
        if tokens:
            pieces = [new for piece, token in pieces
                      for new in ([(piece, token)] if token else cut_piece(piece, tokens))]
    return pieces


def cut_piece(text, tokens):
    """The pieces of a text without tokens so far; tokens: {content: AddedToken}."""
    pieces, begin = [], 0
    for match in any_of(frozenset(tokens)).finditer(text):
        token, (start, end) = tokens[match.group()], match.span()
        if token.single_word and (text[:start][-1:].isalnum() or text[end:][:1].isalnum()
                                  or "_" in (text[:start][-1:], text[end:][:1])):
            continue
        if token.lstrip:
            start = max(begin, len(text[:start].rstrip(WHITE)))
        if token.rstrip:
            end = len(text) - len(text[end:].lstrip(WHITE))
        if start > begin:
            pieces.append((text[begin:start], None))
        pieces.append((token.content, token))
        begin = end
    return pieces + ([(text[begin:], None)] if begin < len(text) else [])
