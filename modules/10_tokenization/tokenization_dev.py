# %% [markdown]
# # Module 10: Tokenization, text as numbers
#
# A model eats numbers. So give each word a number: write down all words of a text, and look them up. The
# cell below does that with Python's own help, half a megabyte of English. The list is made from the first
# four fifths of it, and then the last fifth is read.
#
# ```
# list     3,749 different words
# reading  1 word in 18 is not in the list:  languages, efficiently, arrays, limitations, computers ...
# length   7 bytes for each word
# ```
#
# (Other versions of Python have other numbers.) The list knows "language", and "languages" means nothing to
# it. A list of 30,000 words has never seen "unbelievability". Then give each *letter* a number? "naïve" has
# 5 letters, but 6 bytes; "🙂" is one letter and 4 bytes; Unicode has more than 150,000 of them, most of
# which a model sees once or never. So bytes? Only 256, and nothing is ever unknown. But this text is then
# seven times as long as in words, and all that a model does with a text costs its length.
# **What should a model read?**

# %%
#| default_exp text.tokenizers
from tito.lesson import expect, expect_error, measure, run_tests, timed

# %%
import math
from collections import Counter, defaultdict

import numpy as np
from bert_words_dev import bert_words
from bpe_parts_dev import ALPHABET, BYTE, CHARACTER, LONG, PairQueue, merge_long, unwritten
from folders_dev import read_folder
from pattern_dev import split_words
from tokenizer_base_dev import TokenizerBase, check_text

from tinytorch.core.creation import as_tensor

# %% [markdown]
# Those were for your code. These are for tests and measurements.

# %%
import re
from functools import cache
from pydoc_data.topics import topics

from pieces_dev import cut_text, draw_pieces


def python_help():
    "The help texts that come with Python, one after the other: half a megabyte of English"
    return "\n".join([topics[name] for name in sorted(topics)])


@measure
def a_list_of_words():
    words = re.findall(r"\w+", python_help())
    seen, reading = set(words[:len(words) * 4 // 5]), words[len(words) * 4 // 5:]
    missing = [word for word in reading if word not in seen]
    print(f"list of {len(seen):,} words; of the next {len(reading):,} words {len(missing) / len(reading):.1%}"
          f" are not in it: {', '.join([*dict.fromkeys(missing)][:12])} ...")
    print(f"{len(python_help().encode()) / len(words):.1f} bytes for each word")
    for text in "naïve", "🙂", "unbelievability":
        print(f"{text}: {len(text)} letters, {len(text.encode())} bytes {list(text.encode())}")


# %% [markdown]
# The answer that nearly every language model uses lies in between, and is *learned from the text*: pieces
# of any length. Frequent words are one piece, rare ones a few, and in the end there are always the bytes.
#
# ```
# text -> special tokens -> words -> pieces -> ids -> cut to length, [CLS] [SEP] -> a batch with its mask
# ```
#
# * **Exercise 1** gives a number to each letter, to see how a tokenizer speaks.
# * **2-4** learn pieces, in the way that is easy to understand, and slow.
# * **5-7** are the tokenizer of GPT-2, which loses nothing, and learns in seconds.
# * **8** is the tokenizer of BERT.
# * **9-10** make batches of texts that are not equally long.
#
# What carries no idea is given, in the other files of this folder; you need not read them now. The class
# that all tokenizers share calls your functions, and this one knows where they are:

# %%
#| export text.batching
class Tokenizer(TokenizerBase):
    """TokenizerBase, with the functions that cut texts and make batches of them."""
    def fit(self, first, second, max_length, specials): return fitted(first, second, max_length, specials)
    def pad(self, rows, pad_id, length, side): return pad_batch(rows, pad_id, length, side)


# %% [markdown]
# ## Exercise 1: a number for each letter
#
# `train(text)` (given) makes the table: all different letters in order, after two special tokens. `[UNK]`
# stands for what is not in the table, `[PAD]` for an empty place. From the text "hello":
#
# ```
# [UNK] 0   [PAD] 1   e 2   h 3   l 4   o 5
#
# "hole"   3 5 4 2
# "help"   3 2 4 0           there was no p: the place of [UNK], and not an error in the middle of the night
# ```
#
# `self.vocab` is the table, {token: id}, and `self.unk_id` the id of `[UNK]`. "Letter" is here whatever
# Python has as one character of a str, a blank and a new line too.

# %%
#| export
class CharTokenizer(Tokenizer):
    """An id for each character of the text that it was trained on, and one for all others."""
    kind = "WordLevel"

    def __init__(self, vocab=(), unk_token="[UNK]", pad_token="[PAD]", **options):
        super().__init__(vocab, unk_token=unk_token, pad_token=pad_token, **options)

    def train(self, texts):
        """Make the table from a text, or from several: the special tokens, then all characters in order."""
        texts = [texts] if isinstance(texts, str) else texts
        characters = set().union(*[check_text(text) for text in texts])
        self.set_vocab([*self.all_special_tokens, *sorted(characters)])
        return self

    def encode_text(self, text):
        """The id of each character, a list; `self.unk_id` for one that is not in `self.vocab`.

        >>> CharTokenizer().train("hello").encode_text("help")
        [3, 2, 4, 0]
        """
        ### BEGIN SOLUTION
        return [self.vocab.get(character, self.unk_id) for character in text]
        ### END SOLUTION

    def decode_ids(self, ids): return "".join([self.tokens[i] for i in ids])


# %%
class TestCharTokenizerEncodeText:
    """A number for each letter"""
    def hello(self): return CharTokenizer().train("hello")

    def test_by_hand(self):
        "With the table of 'hello', 'hole' is 3 5 4 2"
        ids = self.hello().encode_text("hole")
        expect(type(ids).__name__, "list", why="a list of numbers, one for each letter")
        expect(ids, [3, 5, 4, 2])

    def test_unknown(self):
        "'help' has a p that the table does not have: its place is taken by [UNK], 0"
        expect(self.hello().encode_text("help"), [3, 2, 4, 0])
        expect(self.hello().encode_text("pepper"), [0, 2, 0, 0, 2, 0], why="one id for each letter, always")

    def test_another_place(self):
        "[UNK] is not 0 in every table"
        expect(CharTokenizer(["a", "b", "[UNK]"]).encode_text("abc"), [0, 1, 2],
               why="ask self.unk_id, do not count on 0")

    def test_table_stays(self):
        "Reading adds nothing to the table"
        tokenizer = self.hello()
        tokenizer.encode_text("xyz")
        expect(tokenizer.vocab_size, 6)

    def test_white_space(self):
        "Blanks, new lines and capitals are letters like others; an empty text has no ids"
        expect(CharTokenizer().train("a b\n").encode_text("b\n a"), [5, 2, 3, 4])
        expect(CharTokenizer().train("aA").encode_text("aA"), [3, 2], why="A and a are two letters")
        expect(self.hello().encode_text("") == [], True)

    def test_back(self):
        "decode gives the text back, also of letters of any script"
        tokenizer = CharTokenizer().train(["naïve", " 🙂\n", "東京"])
        expect(tokenizer.decode(tokenizer.encode("京 🙂 naïve")), "京 🙂 naïve")


run_tests(TestCharTokenizerEncodeText)

# %% [markdown]
# ## Exercise 2: who stands beside whom
#
# Now pieces. The idea is from data compression (Gage, 1994) and was brought to text by Sennrich, Haddow and
# Birch (2016): begin with bytes, and again and again make one new token of the two that most often stand
# side by side. So first count neighbours. Each position but the last has one:
#
# ```
# b a n a n a        ba 1   an 2   na 2
# 1 1 1              (1,1) 2                  the middle 1 is in both
# ```
#
# Tokens are numbers by now, those of the bytes: a is 97. And the text is cut into words beforehand, since
# what stands at the end of one word and the beginning of the next says nothing: the last letter of a word
# and the first of the following one are *not* a pair.

# %%
#| export text.bpe
def count_pairs(words):
    """How often each pair of neighbours occurs: {(left, right): times}, over all `words`, lists of ids.

    >>> dict(count_pairs([[1, 2, 1, 2], [2, 1]]))
    {(1, 2): 2, (2, 1): 2}
    """
    ### BEGIN SOLUTION
    counts = Counter()
    for ids in words:
        counts.update(zip(ids, ids[1:]))
    return counts
    ### END SOLUTION


# %%
class TestCountPairs:
    """Who stands beside whom"""
    def test_by_hand(self):
        "banana: ba once, an twice, na twice"
        expect(dict(count_pairs([list(b"banana")])), {(98, 97): 1, (97, 110): 2, (110, 97): 2},
               why="b is 98, a 97, n 110")

    def test_three_alike(self):
        "In 1 1 1 the pair (1, 1) occurs twice: at the first place and at the second"
        expect(dict(count_pairs([[1, 1, 1]])), {(1, 1): 2}, why="each place counts: the two pairs share a 1")

    def test_order(self):
        "(1, 2) is not (2, 1)"
        expect(dict(count_pairs([[1, 2]])), {(1, 2): 1}, why="one pair, the left one first")

    def test_border(self):
        "The last of a word and the first of the next are no pair"
        counts = dict(count_pairs([[1, 2], [3, 4], [1, 2]]))
        expect(counts, {(1, 2): 2, (3, 4): 1}, why="each word by itself, so no (2, 3), and (1, 2) twice")

    def test_short(self):
        "A word of one token, one of none, and no words at all have no pairs"
        for words in [[5]], [[]], []:
            expect(len(count_pairs(words)), 0)


run_tests(TestCountPairs)

# %% [markdown]
# ## Exercise 3: two become one
#
# Replace each occurrence of a pair by the new token. What was used is used up, so go from left to right and
# step over both:
#
# ```
# b a n a n a      an -> X       b X X a
# a a a            aa -> X       X a              not X X: there are only three a
# ```

# %%
#| export text.bpe
def merge_pair(ids, pair, new):
    """A new list in which the id `new` stands wherever `pair`, a tuple of two ids, stood in `ids`.

    >>> merge_pair([1, 2, 3, 1, 2], (1, 2), 9), merge_pair([1, 1, 1], (1, 1), 9)
    ([9, 3, 9], [9, 1])
    """
    ### BEGIN SOLUTION
    merged, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged
    ### END SOLUTION


# %%
class TestMergePair:
    """Two become one"""
    def test_left_alone(self):
        "The list that was handed in stays as it was"
        ids = [1, 2, 3]
        merge_pair(ids, (1, 2), 9)
        expect(ids, [1, 2, 3], why="make a new list: others still use this one")

    def test_by_hand(self):
        "banana with an -> 256: 98 256 256 97"
        expect(merge_pair(list(b"banana"), (97, 110), 256), [98, 256, 256, 97])

    def test_no_overlap(self):
        "1 1 1 becomes 9 1, and 1 1 1 1 becomes 9 9"
        expect(merge_pair([1, 1, 1], (1, 1), 9), [9, 1], why="9 9 would use the middle 1 twice; 1 9 would go "
                                                             "from the right")
        expect(merge_pair([1, 1, 1, 1], (1, 1), 9), [9, 9], why="9 1 1 would stop after the first one")

    def test_order(self):
        "2 1 is not 1 2"
        expect(merge_pair([2, 1, 3], (1, 2), 9), [2, 1, 3])

    def test_ends(self):
        "At the beginning, at the end, alone in the word, and where half of a pair is the last token"
        for ids, want in ([1, 2, 3], [9, 3]), ([3, 1, 2], [3, 9]), ([1, 2], [9]), ([3, 1], [3, 1]):
            expect(merge_pair(ids, (1, 2), 9), want)
        expect(merge_pair([], (1, 2), 9) == [], True)

    def test_new_pair(self):
        "What a new token makes together with its neighbour waits for the next merge"
        expect(merge_pair([9, 1, 2], (9, 9), 7), [9, 1, 2])
        expect(merge_pair([1, 2, 2], (1, 2), 1), [1, 2], why="the new token is not looked at again")


run_tests(TestMergePair)

# %% [markdown]
# ## Exercise 4: learn the pieces
#
# Count, take the most frequent pair, give it the next free id, replace it everywhere, and again. By hand
# with "banana bandana", 14 bytes, here as one word (as two words it has the same three merges):
#
# ```
# b a n a n a ␣ b a n d a n a         an 4, na 3, ba 2, ...               an  -> 256, 10 tokens
# b an an a ␣ b an d an a             b+an 2, an+a 2, an+an 1, ...        ban -> 257,  8 tokens
# ban an a ␣ ban d an a               an+a 2, all others 1                ana -> 258,  6 tokens
# ban ana ␣ ban d ana
# ```
#
# In the second line two pairs occur twice. Which one is taken must not depend on the order of a dictionary,
# or two computers learn two tokenizers. So: **of equally frequent pairs the smaller one**, as Python compares
# tuples. b+an is (98, 256), an+a is (256, 97), and 98 < 256.
#
# The ids 0 to 255 are the bytes; new ones begin at 256. Stop early if there is no pair left. The order of
# the merges is kept, it is all that the tokenizer will know; a dictionary remembers it.

# %%
#| export text.bpe
def train_naive(words, number):
    """The first `number` merges, {pair: new id} in the order in which they were found.

    words: lists of bytes, which stay as they are. Fewer merges if all words have become one token.

    >>> train_naive([list(b"banana bandana")], 3)
    {(97, 110): 256, (98, 256): 257, (256, 97): 258}
    """
    ### BEGIN SOLUTION
    merges = {}
    for new in range(256, 256 + number):
        counts = count_pairs(words)
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = [merge_pair(ids, best, new) for ids in words]
        merges[best] = new
    return merges
    ### END SOLUTION


# %%
class TestTrainNaive:
    """Learn the pieces"""
    def test_left_alone(self):
        "The words that were handed in stay as they were"
        words = [[1, 2], [1, 2]]
        train_naive(words, 1)
        expect(words, [[1, 2], [1, 2]], why="put the merged words into a new list")

    def test_by_hand(self):
        "banana bandana: an is 256, ban is 257, ana is 258"
        merges = train_naive([list(b"banana bandana")], 3)
        expect(type(merges).__name__, "dict", why="a dictionary {pair: new id}")
        expect(list(merges), [(97, 110), (98, 256), (256, 97)],
               why="as in the table: counted anew after each merge, ids from 256 on, of equals the smaller")
        expect(list(merges.values()), [256, 257, 258], why="the new ids, from 256 on")

    def test_ties(self):
        "Of equally frequent pairs the smaller one is first, wherever it stands"
        expect(list(train_naive([[5, 6], [3, 4], [3, 2]], 3)), [(3, 2), (3, 4), (5, 6)],
               why="(5, 6) is the first in the dictionary, and the largest")

    def test_frequent_first(self):
        "A larger pair that is more frequent comes before a smaller one"
        expect(list(train_naive([[1, 2], [8, 9], [8, 9]], 2)), [(8, 9), (1, 2)])

    def test_counted_anew(self):
        "After a merge all is counted anew: 1 2 1 2 1 2 needs three merges"
        expect(list(train_naive([[1, 2, 1, 2, 1, 2]], 9)), [(1, 2), (256, 256), (257, 256)])

    def test_words(self):
        "No piece goes over the border of two words"
        expect(list(train_naive([[1, 2], [3, 4], [1, 2], [3, 4], [1, 2]], 9)), [(1, 2), (3, 4)],
               why="then each word is one token, and nothing is left to merge: stop")

    def test_none(self):
        "No merges of an empty text, or if none are asked for"
        expect(len(train_naive([], 5)), 0)
        expect(len(train_naive([[1, 2]], 0)), 0)


run_tests(TestTrainNaive)

# %% [markdown]
# How long does it take? Each merge goes through the whole text, to count and to replace. Twice the text or
# twice the merges take twice the time. Who has more text wants more merges too, and for twice of both it is
# four times: the time is *quadratic*. Compare 4,000 letters with 32 merges and 8,000 with 64 (and run it
# again if the computer was busy):

# %%
@measure
def text_times_merges():
    for size in 4_000, 8_000, 16_000:
        text = [list(python_help()[:size].encode())]
        print(f"{size:6,} letters:", end="")
        for number in 32, 64:
            print(f"   {number} merges {timed(train_naive, text, number, repeat=3):6.3f} s", end="")
        print()


# %% [markdown]
# GPT-2 has 50,000 merges, learned from 40 GB: multiply. Nearly all of that work is done again and again for
# nothing, because the same words come a thousand times, and a merge changes few of them. Exercise 7 uses
# that. First the tokenizer that the merges are for.
#
# ## Exercises 5 to 7: the byte-level tokenizer
#
# This is the tokenizer of GPT-2, and with other merges that of most models since. The class below has three
# exercises in it. Read over it once; each exercise is explained further down, and written up here. Its parts:
#
# * `self.vocab`, {token: id}, and `self.tokens`, {id: token}, hold tokens as *text*, as they stand in GPT-2's
#   files, with a visible character for each byte. A blank is written `Ġ`. `CHARACTER[32]` is `"Ġ"`.
# * `self.byte_ids[b]` is the id of byte b alone. It is not b: GPT-2's table begins with `!`.
# * `self.ranks`, {pair: (rank, new id)}: the merges. The first one that was learned has rank 0.
# * `split_words` (given) cuts a text into words, the blank in front of a word included:
#   `"It's a dog."` becomes `It`, `'s`, ` a`, ` dog`, `.`, and joined it is the text again.
# * `_first_time` (given) hands each new word to your `encode_word`; `self._words` remembers what came out.
#   Words of more than `LONG` = 100 bytes, rare and costly, go to a function of `bpe_parts_dev.py`.

# %%
#| export text.bpe
NEVER = (math.inf, None)                               # the rank of a pair that is not merged


class ByteBPETokenizer(Tokenizer):
    """Pieces of bytes, merged as was learned; any text comes back as it was.

    vocab and merges: as in GPT-2's files, {token: id} and pairs of tokens in the order of their ranks.
    Without them the 256 bytes are the tokens, until `train`. add_prefix_space: "dog" is read as " dog".
    digits: each is a word by itself. A vocabulary may lack bytes other than those of ASCII's letters and
    signs, as SmolLM2's does: they are left out of a text.
    """
    kind = "BPE"

    def __init__(self, vocab=None, merges=(), add_prefix_space=False, digits=False, **options):
        super().__init__(ALPHABET if vocab is None else vocab, **options)
        self.add_prefix_space, self.digits = add_prefix_space, digits
        for rank, (left, right) in enumerate(merges):
            if not {left, right, left + right} <= self.vocab.keys():
                raise ValueError(f"ByteBPETokenizer: merge {rank} needs {left!r}, {right!r} and "
                                 f"{left + right!r} in the vocabulary. Do vocab and merges belong together?")
            self.ranks[self.vocab[left], self.vocab[right]] = rank, self.vocab[left + right]

    def set_vocab(self, vocab):
        super().set_vocab(vocab)
        missing = [character for character in ALPHABET if character not in self.vocab]
        if any(31 < BYTE[character] < 127 for character in missing):
            raise ValueError(f"ByteBPETokenizer: the vocabulary has no token for {len(missing)} of the 256 "
                             f"bytes, the first is {missing[0]!r}. Is it the file of a byte-level tokenizer?")
        self.byte_ids = [self.vocab.get(CHARACTER[byte]) for byte in range(256)]
        self.ranks, self._words, self._bytes, self._merged = {}, {}, {}, None

    def add_merge(self, pair):
        """The id of the two tokens in one, which is new unless another pair makes the same token."""
        left, right = self.tokens[pair[0]], self.tokens[pair[1]]
        if pair == self._merged:
            raise RuntimeError(f"train: {left!r} + {right!r} was just merged, and is still the most frequent "
                               "pair. All pairs of a word leave the counts before it is merged; the merged "
                               "word is kept in words[i], and all of its pairs come in, in where too.")
        self._merged, new = pair, self.add_token(left + right)
        self.ranks.setdefault(pair, (len(self.ranks), new))
        return new

    def words_of(self, text):
        blank = " " if self.add_prefix_space and text and text[0] != " " else ""
        return split_words(blank + text, self.digits)

    def encode_text(self, text):
        ids, words = [], self._words
        for word in self.words_of(text):
            found = words.get(word)
            ids += self._first_time(word) if found is None else found
        return ids

    def _first_time(self, word):
        ids = [self.byte_ids[byte] for byte in word.encode() if self.byte_ids[byte] is not None]
        if len(ids) > LONG:
            return merge_long(ids, self.ranks)
        if len(self._words) >= 100_000:                # words are remembered, but not without end
            self._words.clear()
        self._words[word] = ids = self.encode_word(ids)
        return ids

    def encode_word(self, ids):
        """The ids of a word's bytes, with all merges done: the lowest rank first. `ids` stays as it is.

        >>> tokenizer = ByteBPETokenizer([*ALPHABET, "in", "si", "ing"], ["in", "si", ("in", "g")])
        >>> [tokenizer.tokens[i] for i in tokenizer.encode_word([tokenizer.vocab[c] for c in "sing"])]
        ['s', 'ing']
        """
        ### BEGIN SOLUTION
        while len(ids) > 1:
            best = min(zip(ids, ids[1:]), key=lambda pair: self.ranks.get(pair, NEVER)[0])
            if best not in self.ranks:
                break
            ids = merge_pair(ids, best, self.ranks[best][1])
        return ids
        ### END SOLUTION

    def bytes_of(self, i):
        """The bytes of the token with this id."""
        if i not in self._bytes:
            token = self.tokens[i]
            whole = token in self.added or token in self.all_special_tokens
            self._bytes[i] = token.encode() if whole else unwritten(token)
        return self._bytes[i]

    def decode_ids(self, ids):
        """The text of these ids; bytes that are no UTF-8 become �.

        >>> tokenizer = ByteBPETokenizer()
        >>> tokenizer.decode_ids([tokenizer.byte_ids[b] for b in (110, 195, 169)])
        'né'
        """
        ### BEGIN SOLUTION
        return b"".join([self.bytes_of(i) for i in ids]).decode("utf-8", errors="replace")
        ### END SOLUTION

    def start_training(self, texts, vocab_size):
        """Begin with special tokens and bytes; the different words as ids, and how often each one came."""
        least = len({*self.all_special_tokens, *ALPHABET})
        if vocab_size < least:
            raise ValueError(f"train: vocab_size={vocab_size}, but the bytes and special tokens alone are "
                             f"{least}. Ask for more.")
        times = Counter()
        for text in [texts] if isinstance(texts, str) else texts:
            times.update(self.words_of(check_text(text)))
        self.set_vocab([*self.all_special_tokens, *ALPHABET])
        return [[self.byte_ids[byte] for byte in word.encode()] for word in times], list(times.values())

    def train(self, texts, vocab_size):
        """Learn merges from a text, or from several, until there are `vocab_size` tokens; returns self.

        Of equally frequent pairs the smaller is merged first. Stops early if all words are one token.

        >>> ByteBPETokenizer().train("banana bandana", 258).tokenize("banana")
        ['ban', 'an', 'a']
        """
        words, times = self.start_training(texts, vocab_size)
        queue, where = PairQueue(), defaultdict(set)   # how often each pair occurs; in which words
        ### BEGIN SOLUTION
        def note(i, sign):
            for pair in zip(words[i], words[i][1:]):
                queue.add(pair, sign * times[i])
                where[pair].add(i)

        for i in range(len(words)):
            note(i, 1)
        while len(self.vocab) < vocab_size and (pair := queue.best()):
            new = self.add_merge(pair)
            for i in where[pair]:
                note(i, -1)
                words[i] = merge_pair(words[i], pair, new)
                note(i, 1)
        ### END SOLUTION
        return self


# %% [markdown]
# ### Exercise 5: the lowest rank first
#
# The merges are known, and a word comes that was not in the text. It is cut as it *would have been cut while
# the merges were learned*: merge 0 everywhere, then merge 1, and so on. With three merges, i+n of rank 0,
# s+i of rank 1, in+g of rank 2:
#
# ```
# s i n g       s+i has rank 1, i+n rank 0: i+n first
# s in g        s+in is no merge; in+g has rank 2
# s ing         s+ing is no merge: done                   from left to right it would be: si n g
# ```
#
# Do not go through all 50,000 merges for each word, that would take long. Look at the pairs that are there,
# take the one of the lowest rank, and merge it wherever it stands; until none of the pairs is in
# `self.ranks`. For such a pair `self.ranks.get(pair, NEVER)[0]` is infinity. The longest token is *not*
# always the right one: "abc" can be in the vocabulary, and still not come out. Write it in the class above:
# `encode_word`.

# %%
def with_merges(*merges):
    "A tokenizer with these merges, such as 'i n'; and a function from text to the tokens of one word"
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = ByteBPETokenizer([*ALPHABET, *dict.fromkeys(["".join(pair) for pair in pairs])], pairs)

    def pieces(word):
        ids = tokenizer.encode_word([tokenizer.byte_ids[byte] for byte in word.encode()])
        return " ".join([tokenizer.tokens[i] for i in ids])
    return pieces


class TestByteBPETokenizerEncodeWord:
    """The lowest rank first"""
    def test_left_alone(self):
        "The list that was handed in stays as it was"
        tokenizer = ByteBPETokenizer([*ALPHABET, "ab"], [("a", "b")])
        for word in b"ab", b"a":
            ids = [tokenizer.byte_ids[byte] for byte in word]
            kept = list(ids)
            got = tokenizer.encode_word(ids)
            expect(ids, kept, why="work on a new list")
            expect(type(got).__name__, "list")

    def test_by_hand(self):
        "sing, with i+n before s+i before in+g, is s ing"
        expect(with_merges("i n", "s i", "in g")("sing"), "s ing", why="si n g would be from left to right")

    def test_rank_not_length(self):
        "With a+b before b+c before a+bc, abc is ab c, though abc is a token too"
        expect(with_merges("a b", "b c", "a bc")("abc"), "ab c", why="abc would be the longest token")

    def test_everywhere(self):
        "A pair is merged wherever it stands: banana is b an ana"
        expect(with_merges("a n", "an a")("banana"), "b an ana")
        expect(with_merges("a n")("banana"), "b an an a")

    def test_new_id(self):
        "The id of the new token stands in self.ranks: here ab is 0, and bc 1, though a+b has rank 1"
        tokenizer = ByteBPETokenizer(["ab", "bc", *ALPHABET], [("b", "c"), ("a", "b")])
        a, b, c = [tokenizer.byte_ids[byte] for byte in b"abc"]
        expect(tokenizer.encode_word([a, b, b, c]), [0, 1],
               why="256 + rank would be right in some vocabularies only")
        expect(tokenizer.encode_word([a, b, c]), [a, 1],
               why="b+c has the lower rank, 0; that the id of ab is smaller says nothing")

    def test_looks_up(self):
        "The pairs of the word are looked up; nobody goes through all merges"
        class Ranks(dict):
            gone_through = 0

            def __iter__(self):
                self.gone_through += 1
                return super().__iter__()

            def items(self):
                self.gone_through += 1
                return super().items()
        tokenizer = ByteBPETokenizer([*ALPHABET, "ab"], [("a", "b")])
        tokenizer.ranks = Ranks(tokenizer.ranks)
        tokenizer.encode_word([tokenizer.byte_ids[byte] for byte in b"abab"])
        expect(tokenizer.ranks.gone_through, 0, why="GPT-2 has 50,000 merges, a word a few pairs: ask "
                                                    "self.ranks for these")

    def test_built_up(self):
        "Merges of merged tokens: abcd in three steps, and aaaa is two times aa, then one"
        expect(with_merges("a b", "c d", "ab cd")("abcdab"), "abcd ab")
        expect(with_merges("a a", "aa aa")("aaaaa"), "aaaa a")

    def test_nothing_to_merge(self):
        "A word of one byte, one without known pairs, and none at all"
        for word, want in ("a", "a"), ("ba", "b a"), ("", ""):
            expect(with_merges("a b")(word), want)


run_tests(TestByteBPETokenizerEncodeWord)

# %% [markdown]
# ### Exercise 6: and back
#
# A token is some bytes: `self.bytes_of(i)` (given). In UTF-8, é is the two bytes 195 169, and a tokenizer
# that has rarely seen it has a token for each. Neither of them is a letter:
#
# ```
# 110 195 169      "né"                    all bytes together, then decoded
# 110 | 195 | 169  "n" + "�" + "�"         each token decoded by itself
# 110 195          "n�"                    half a letter: a model may well stop there
# ```
#
# `bytes.decode` raises an error for the last one. With `errors="replace"` it writes �, the character for
# "here was something". Write it in the class above: `decode_ids`.

# %%
class TestByteBPETokenizerDecodeIds:
    """And back"""
    def decoded(self, data, **options):
        tokenizer = ByteBPETokenizer(**options)
        return tokenizer.decode_ids([tokenizer.byte_ids[byte] for byte in data])

    def test_by_hand(self):
        "110 195 169 is né"
        expect(self.decoded([110, 195, 169]), "né",
               why="the bytes of all tokens together, decoded once, as UTF-8, to a str: é is two bytes")

    def test_blank(self):
        "A blank is a blank, not Ġ"
        expect(self.decoded(b"a dog\n"), "a dog\n", why="tokens are written with GPT-2's letters; bytes_of "
                                                        "knows the bytes")

    def test_half(self):
        "Half a letter is one �, and no error"
        expect(self.decoded([110, 195]), "n�")
        expect(self.decoded([240, 159, 153, 65]), "�A", why="three quarters of 🙂, then A")

    def test_any(self):
        "Any text in UTF-8 comes back"
        for text in "naïve 🙂", "東京", "\x00\t\r\n ", "":
            expect(self.decoded(text.encode()), text)

    def test_special(self):
        "A special token is written as it is, and spoils nothing around it"
        tokenizer = ByteBPETokenizer(eos_token="<|end é|>", sep_token="<|é|>")
        ids = [tokenizer.byte_ids[byte] for byte in "né ".encode()]
        expect(tokenizer.decode_ids([*ids, tokenizer.eos_id, tokenizer.sep_id]), "né <|end é|><|é|>",
               why="all but the special tokens are in GPT-2's letters: self.bytes_of knows which is which")


run_tests(TestByteBPETokenizerDecodeIds)

# %% [markdown]
# ### Exercise 7: learn, fast
#
# The same merges as `train_naive` finds, without going through the text each time. Two observations:
#
# * The text has few *different* words. Take each once, and count its pairs as often as the word occurs:
#   `words` (given) are the different words, `times[i]` says how often word i came.
# * A merge changes only words that contain the pair. In all others, the counts stay as they are.
#
# So remember for each pair in which words it is, and after a merge correct the counts of these words only:
#
# ```
# word 0  b a n a n a   5 times        counts  ba 5, an 10, na 10       where  0 is in those of ba, an, na
#
# merge an -> X: word 0 leaves,        ba 5 - 5,  an 10 - 10,  na 10 - 10
#                is merged,            b X X a
#                and comes in again    bX + 5,  XX + 5,  Xa + 5         where  0 also in those of bX, XX, Xa
# ```
#
# Not only the pair itself: *all* pairs of the word leave, and all of the merged word come in, into the counts
# and into `where`. The neighbours of a merged pair have changed too, and where two merges touch, as X X here,
# there is a pair that neither of the two alone would show. Write it in the class above: `train`.
#
# * `queue.add(pair, n)` (given) counts a pair n times more, or less if n is negative.
# * `queue.best()` (given) is the most frequent pair, of equally frequent ones the smaller, None if there is
#   none. It finds it without looking at all of them. It does not take it out: the counts do. As long as they
#   are not corrected, the same pair is the best one, again and again.
# * `self.add_merge(pair)` (given) notes a merge, and returns the id of the new token. If the same pair comes
#   twice in a row it raises an error, since something is wrong with the counts then.
# * `where[pair]` is a set of numbers of words. A number too many does no harm: such a word stays as it is.
#   A word that is missing does. So numbers only come in here, and none has to leave.

# %%
def naive_tokens(text, number):
    "The tokens that train_naive finds for the words of a text, as they would stand in a vocabulary"
    tokenizer = ByteBPETokenizer()
    words = [[tokenizer.byte_ids[byte] for byte in word.encode()] for word in split_words(text)]
    names = dict(tokenizer.tokens)
    for (left, right), new in train_naive(words, number).items():
        names[new] = names[left] + names[right]
    return [names[i] for i in range(256, 256 + number) if i in names]


class TestByteBPETokenizerTrain:
    """Learn, fast"""
    def learned(self, texts, size, **options):
        return list(ByteBPETokenizer(**options).train(texts, size).vocab)[256:]

    def test_by_hand(self):
        "banana bandana: an, then ban, then ana, as with the naive way"
        expect(self.learned("banana bandana", 259)[:3], ["an", "ban", "ana"],
               why="after an, b+an and an+a occur twice each, and b+an is the smaller pair")

    def test_size(self):
        "vocab_size counts all tokens, special ones too, which come first"
        tokenizer = ByteBPETokenizer(eos_token="<|end|>").train(python_help()[:3000], 300)
        expect((len(tokenizer), tokenizer.eos_id), (300, 0),
               why="vocab_size is not the number of merges: go on while len(self.vocab) is smaller")

    def test_counts_words(self):
        "A pair counts at each of its places in a word, and each word as often as it came"
        expect(self.learned("ab cd cd cd", 257)[:1], ["cd"], why="pairs count times[i] times")
        expect(self.learned("xyxyxy ab ab", 257)[:1], ["xy"], why="three places in one word count three")

    def test_seam(self):
        "Where two merges touch: xyxyxy becomes X X X, then XX X"
        expect(self.learned("xyxyxy xyxyxy", 262), naive_tokens("xyxyxy xyxyxy", 6),
               why="the pair of two new tokens must be counted as well")

    def test_neighbours(self):
        "The neighbours of a merged pair are counted anew: abc abc abd abd abd bc"
        text = "abc abc abd abd abd bc bc bc bc"
        expect(self.learned(text, 263), naive_tokens(text, 7))

    def test_same_as_naive(self):
        "On a page of English, the same 200 merges as the naive way"
        text = python_help()[5000:8000]
        got, want = self.learned(text, 456), naive_tokens(text, 200)
        first = next((i for i in range(min(len(got), len(want))) if got[i] != want[i]), len(got))
        expect(" ".join(got[first:first + 3]), " ".join(want[first:first + 3]),
               why=f"from merge {first} on they differ: some count, or where, was not right by then")
        expect(len(got), 200)

    def test_stops(self):
        "When each word is one token there is nothing left to learn"
        expect(self.learned("ab", 999), ["ab"])
        expect(len(self.learned("", 999)), 0)

    def test_only_where(self):
        "A merge does not look at words that do not have the pair"
        class Word(list):
            looks = 0

            def __iter__(self):
                self.looks += 1
                return super().__iter__()

            def __getitem__(self, i):
                self.looks += 1
                return super().__getitem__(i)

        class Watched(ByteBPETokenizer):
            def start_training(self, texts, vocab_size):
                words, times = super().start_training(texts, vocab_size)
                self.word = Word(words[0])
                return [self.word, *words[1:]], times
        looks = [Watched().train("qz" + " abab" * 3, 256 + merges).word.looks for merges in (0, 1)]
        expect(looks[1] - looks[0], 0,
               why="the first word, qz, is looked at once, at the beginning, and not again because a+b is "
                   "merged: each different word once, and then only those in where[pair]")

    def test_several(self):
        "Several texts, in a list or read one by one, and no word goes over their border"
        expect(self.learned(iter(["ab", "ab", "ac"]), 300), ["ab", "ac"])

    def test_again(self):
        "Training again begins anew"
        tokenizer = ByteBPETokenizer().train("ab ab", 300)
        tokenizer.encode("ab")
        expect(list(tokenizer.train("cd cd", 300).vocab)[256:258], ["cd", "Ġcd"])


run_tests(TestByteBPETokenizerTrain)

# %% [markdown]
# ## Exercise 8: the longest piece first
#
# BERT's tokenizer, WordPiece, keeps no merges. It has a list of pieces, and takes from the word the longest
# piece that fits, from the front; then the longest that fits to the rest. Pieces inside of a word are
# written with `##` in front. With the list unaff, ##ord, ##able, ##or, un:
#
# ```
# unaffordable     unaffordable? unaffordabl? ... unaff yes      rest ordable
# ##ordable?  ...  ##ord yes                                     rest able
# ##able yes       done: unaff ##ord ##able
#
# unaffordably     unaff ##ord, and for ably there is nothing: not even ##a. The *whole* word is [UNK]
# ```
#
# Half a word is not kept: what it means may hang on the other half. If no end fits, stop there: a loop that
# waits for a piece would never move on. `self.vocab` has the pieces, `self.prefix` is `##`, and
# `self.unk_token` is what `[UNK]` is called. The words come in small letters, without accents and cut off
# from punctuation marks; `bert_words` (given) sees to that. What was there before can not be had back.

# %%
#| export
class WordPieceTokenizer(Tokenizer):
    """The longest pieces of a vocabulary, as in BERT; what has no pieces is [UNK].

    vocab: {token: id}, or tokens in the order of their ids, as in vocab.txt. lowercase: small letters, and no
    accents unless `strip_accents=False`. chinese: each of these characters is a word.
    """
    kind = "WordPiece"
    model_input_names = ("input_ids", "token_type_ids", "attention_mask")

    def __init__(self, vocab, lowercase=True, strip_accents=None, chinese=True, clean=True, prefix="##",
                 max_input_chars_per_word=100, **options):
        usual = {"unk": "[UNK]", "pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
        options = {f"{role}_token": t for role, t in usual.items() if t in vocab} | options
        super().__init__(vocab, **options)
        if self.unk_id is None:
            raise ValueError(f"WordPieceTokenizer: the {len(self)} tokens have no [UNK] among them, which "
                             "stands for words without pieces. Put it in, or say unk_token=...")
        self.lowercase, self.strip_accents, self.chinese = lowercase, strip_accents, chinese
        self.clean, self.prefix, self._words = clean, prefix, {}
        self.max_input_chars_per_word = max_input_chars_per_word
        if self.template is None and None not in (self.cls_token, self.sep_token):
            one = [(self.cls_token, 0), ("$A", 0), (self.sep_token, 0)]
            self.template = {"single": one, "pair": [*one, ("$B", 1), (self.sep_token, 1)]}

    def encode_text(self, text):
        ids, words = [], self._words
        for word in bert_words(text, self.lowercase, self.strip_accents, self.chinese, self.clean):
            if word not in words:
                if len(words) >= 100_000:
                    words.clear()
                too_long = len(word) > self.max_input_chars_per_word
                pieces = [self.unk_token] if too_long else self.split_word(word)
                words[word] = [self.vocab[piece] for piece in pieces]
            ids += words[word]
        return ids

    def split_word(self, word):
        """The pieces of a word, a list, the longest first; `[self.unk_token]` if one cannot be found.

        >>> WordPieceTokenizer(["[UNK]", "un", "unaff", "##or", "##ord", "##able"]).split_word("unaffordable")
        ['unaff', '##ord', '##able']
        """
        ### BEGIN SOLUTION
        pieces, start = [], 0
        while start < len(word):
            end = len(word)
            while end > start and (self.prefix if start else "") + word[start:end] not in self.vocab:
                end -= 1
            if end == start:
                return [self.unk_token]
            pieces.append((self.prefix if start else "") + word[start:end])
            start = end
        return pieces
        ### END SOLUTION

    def decode_ids(self, ids):
        """The pieces put together; words with a blank between them, none before . , ? and !"""
        text = ""
        for i in ids:
            token = self.tokens[i]
            inside = token.startswith(self.prefix) and text
            apart = text and not inside and token not in (".", ",", "?", "!")
            text += " " * bool(apart) + (token.removeprefix(self.prefix) if inside else token)
        return text


# %%
class TestWordPieceTokenizerSplitWord:
    """The longest piece first"""
    def split(self, word, *more, **options):
        class Vocab(dict):
            asked = 0

            def __contains__(self, piece):
                self.asked += 1
                if self.asked > 1000:
                    raise RuntimeError(f"{word!r}: 1,000 pieces were looked up, and no end. If no piece "
                                       "fits, return; if one does, the rest begins where it ends.")
                return super().__contains__(piece)

            def get(self, piece, default=None): return self[piece] if piece in self else default
        pieces = "unk? un unaff aff ##or ##ord ##able ##a ab b ##b".split()
        tokenizer = WordPieceTokenizer([*pieces, *more], unk_token="unk?", **options)
        tokenizer.vocab = Vocab(tokenizer.vocab)
        return tokenizer.split_word(word)

    def test_by_hand(self):
        "unaffordable is unaff ##ord ##able, three pieces"
        pieces = self.split("unaffordable")
        expect(type(pieces).__name__, "list")
        expect(pieces, ["unaff", "##ord", "##able"],
               why="each time the longest piece that fits, written with ## inside of the word")

    def test_whole(self):
        "A word that is a piece is one piece"
        expect(self.split("unaff"), ["unaff"])

    def test_inside(self):
        "Inside of a word only pieces with ## count, at its beginning only those without"
        expect(self.split("unab"), ["un", "##a", "##b"], why="ab is a piece for beginnings")
        expect(self.split("orb"), ["unk?"], why="##or is a piece for the inside")

    def test_half_a_word(self):
        "If the rest has no piece, the whole word is unknown, once"
        expect(self.split("unaffordably"), ["unk?"], why="unaff ##ord [UNK] would keep half a word")
        expect(self.split("unxxb"), ["unk?"], why="one [UNK] for the word, not one for each letter")

    def test_no_way_back(self):
        "The longest piece is taken, even if a shorter one would have led to the end"
        expect(self.split("unaffb", "unaffa"), ["unaff", "##b"])
        expect(self.split("abc", "a", "##bc"), ["unk?"], why="ab is longer than a; c has no piece")

    def test_other_prefix(self):
        "The prefix is the tokenizer's own"
        expect(self.split("unz", "+z", prefix="+"), ["un", "+z"], why="self.prefix")

    def test_short(self):
        "A word of one letter; an empty one has no pieces"
        expect(self.split("b"), ["b"])
        expect(self.split("x"), ["unk?"])
        expect(len(self.split("")), 0)


run_tests(TestWordPieceTokenizerSplitWord)

# %% [markdown]
# ## Exercise 9: cut, but not the specials
#
# BERT reads at most 512 tokens, and special tokens count too. It was trained with `[CLS]` in front and
# `[SEP]` behind each text, and for a pair with one more: `[CLS] first [SEP] second [SEP]`. Cutting the
# finished list at 512 would take the last `[SEP]` away. So the *texts* are cut, before: to what is left.
#
# The shorter text keeps at most half of the room, rounded down; the longer one keeps what is left of the room
# then, at most. With max_length 9 and 3 specials there is room for 6, and half of it is 3:
#
# ```
# first 5, second 2      4 and 2      the shorter one is less than half, and stays
# first 5, second 4      3 and 3      the shorter one keeps half
# ```
#
# With max_length 10 there is room for 7, and the half, rounded down, is still 3:
#
# ```
# first 5, second 6      3 and 4      the odd place goes to the one that was longer before anything was cut
# first 6, second 5      4 and 3
# first 5, second 5      3 and 4      equally long: it goes to the second
# ```
#
# Tokens are cut off at the end. A single text comes with a `second` of `[]`. If there is not even room for
# the specials,
#
# ```python
# raise ValueError(f"max_length={max_length} has no room for the {specials} special tokens alone.")
# ```

# %%
#| export text.batching
def fitted(first, second, max_length, specials):
    """(first, second), lists of ids, cut so that with `specials` more tokens they are at most `max_length`.

    The shorter one keeps at most half of the room, rounded down; the longer one (`second`, if both are
    equally long) at most the rest. ValueError if the specials alone are too many.

    >>> fitted([1, 2, 3, 4, 5], [6, 7], 9, 3), fitted([1, 2, 3, 4], [], 4, 2)
    (([1, 2, 3, 4], [6, 7]), ([1, 2], []))
    """
    ### BEGIN SOLUTION
    room = max_length - specials
    if room < 0:
        raise ValueError(f"max_length={max_length} has no room for the {specials} special tokens alone.")
    short = min(len(first), len(second), room // 2)
    if len(first) > len(second):
        return first[:room - short], second[:short]
    return first[:short], second[:room - short]
    ### END SOLUTION


# %%
class TestFitted:
    """Cut, but not the specials"""
    def lengths(self, first, second, max_length, specials):
        parts = fitted(list(range(first)), list(range(100, 100 + second)), max_length, specials)
        expect(type(parts).__name__, "tuple", why="first and second, a tuple of two lists")
        expect(parts[0], list(range(len(parts[0]))), why="what is cut off is the end")
        expect(parts[1], list(range(100, 100 + len(parts[1]))), why="what is cut off is the end")
        return tuple(len(part) for part in parts)

    def test_left_alone(self):
        "The lists that were handed in stay as they were"
        first, second = [1, 2, 3], [4, 5]
        fitted(first, second, 3, 0)
        expect([first, second] == [[1, 2, 3], [4, 5]], True, why="cut copies: slices make them")

    def test_by_hand(self):
        "Room for 6: 5 and 2 become 4 and 2, 5 and 4 become 3 and 3"
        expect(self.lengths(5, 2, 9, 3), (4, 2), why="with 3 specials at most 9, and no place is wasted")
        expect(self.lengths(5, 4, 9, 3), (3, 3))
        expect(self.lengths(2, 5, 9, 3), (2, 4), why="whichever is longer is cut")

    def test_specials(self):
        "The specials have their places: 10 tokens with 2 specials in 10 keep 8"
        expect(self.lengths(10, 0, 10, 2), (8, 0), why="10 would leave no place for [CLS] and [SEP]")

    def test_odd(self):
        "An odd place goes to the longer one, to the second if both are equally long"
        for first, second, want in (5, 6, (3, 4)), (6, 5, (4, 3)), (5, 5, (3, 4)), (9, 4, (4, 3)):
            expect(self.lengths(first, second, 10, 3), want,
                   why=f"{first} and {second} tokens, room for 7: the one that was longer gets the rest")

    def test_fits(self):
        "What fits is not cut"
        for first, second in (3, 4), (0, 7), (7, 0), (1, 2), (0, 0):
            expect(self.lengths(first, second, 10, 3), (first, second))

    def test_single(self):
        "A text alone has all the room"
        expect(self.lengths(9, 0, 5, 0), (5, 0), why="not half of it")
        expect(self.lengths(9, 0, 2, 2), (0, 0))

    def test_no_room(self):
        "Three specials do not fit into two places: an error that has both numbers"
        expect_error(ValueError, fitted, [1], [2], 2, 3, says=["max_length=2", "3 special"],
                     why="a negative number in a slice counts from the end, and something wrong comes out")


run_tests(TestFitted)

# %% [markdown]
# ## Exercise 10: a batch, and its mask
#
# A tensor is a rectangle, and texts are not equally long. The empty places get the id of `[PAD]`. The model
# must not read them: for that a **mask** goes along, 1 where a token is and 0 where padding is.
#
# ```
# [5 6 7]          5 6 7         1 1 1              left side      5 6 7         1 1 1
# [8]              8 0 0         1 0 0                             0 0 8         0 0 1
# [9 0]            9 0 0         1 1 0      the second 0 is a token: its id says nothing, the mask does
# ```
#
# A model that writes goes on at the right end of each row, so there the padding is put on the left. Both
# tensors are int64, as everybody's models expect. The width is the longest row, or `length` unless that is
# None; 0 is a length too. No rows make tensors of shape (0, width), int64 as always. A row that is longer
# than `length` is not cut, someone has forgotten to:
#
# ```python
# raise ValueError(f"pad_batch: a row has {longest} tokens, but length={length}. Cut it first.")
# ```

# %%
#| export text.batching
def pad_batch(rows, pad_id, length=None, side="right"):
    """(ids, mask), tensors (B, T) of int64: `rows`, lists of ids, filled up with `pad_id` on one side.

    T: `length`, or that of the longest row. In the mask 1 is a token and 0 is padding. ValueError for a row
    longer than `length`, and for a side that is not "right" or "left".

    >>> ids, mask = pad_batch([[5, 6, 7], [8]], 0)
    >>> ids.tolist(), mask.tolist()
    ([[5, 6, 7], [8, 0, 0]], [[1, 1, 1], [1, 0, 0]])
    """
    if side not in ("right", "left"):
        raise ValueError(f"pad_batch: side={side!r}. Padding is put on the 'right' or on the 'left'.")
    ### BEGIN SOLUTION
    longest = max(map(len, rows), default=0)
    width = longest if length is None else length
    if longest > width:
        raise ValueError(f"pad_batch: a row has {longest} tokens, but length={length}. Cut it first.")
    ids = np.full((len(rows), width), pad_id, dtype="int64")
    mask = np.zeros((len(rows), width), dtype="int64")
    for i, row in enumerate(rows):
        places = slice(0, len(row)) if side == "right" else slice(width - len(row), width)
        ids[i, places], mask[i, places] = row, 1
    return as_tensor(ids), as_tensor(mask)
    ### END SOLUTION


# %%
class TestPadBatch:
    """A batch, and its mask"""
    def test_left_alone(self):
        "The rows that were handed in stay as they were"
        rows = [[1], [2, 3]]
        pad_batch(rows, 0)
        expect([len(row) for row in rows], [1, 2], why="make new lists, or fill an array")

    def test_by_hand(self):
        "Three rows of 3, 1 and 2 tokens make 3 by 3, with a mask beside it"
        ids, mask = pad_batch([[5, 6, 7], [8], [9, 0]], 0)
        for got in ids, mask:
            expect(type(got).__name__, "Tensor", why="two tensors come back: as_tensor makes one")
        expect(ids, [[5, 6, 7], [8, 0, 0], [9, 0, 0]])
        expect(mask, [[1, 1, 1], [1, 0, 0], [1, 1, 0]],
               why="the last row has two tokens, of which one is 0: count tokens, do not compare ids")

    def test_left(self):
        "On the left side the tokens stand at the end"
        ids, mask = pad_batch([[5, 6, 7], [8], []], 3, side="left")
        expect(ids, [[5, 6, 7], [3, 3, 8], [3, 3, 3]])
        expect(mask, [[1, 1, 1], [0, 0, 1], [0, 0, 0]])

    def test_dtype(self):
        "Both are int64, the mask too"
        for tensor in pad_batch([[1], [2, 3]], 9):
            expect(str(tensor.dtype), "int64", why="whole numbers, int64, are what models expect of both")

    def test_length(self):
        "As wide as is asked for"
        ids, mask = pad_batch([[1], [2, 3]], 9, length=4)
        expect(ids, [[1, 9, 9, 9], [2, 3, 9, 9]])
        expect(mask, [[1, 0, 0, 0], [1, 1, 0, 0]])
        expect(pad_batch([[1]], 9, length=3, side="left")[0], [[9, 9, 1]])

    def test_too_long(self):
        "A row that is too long is an error with both numbers, not cut"
        expect_error(ValueError, pad_batch, [[1], [1, 2, 3]], 0, length=2, says=["3 tokens", "length=2"])
        expect_error(ValueError, pad_batch, [[1]], 0, length=0, says=["1 tokens", "length=0"])

    def test_empty(self):
        "Rows without tokens, and no rows: a shape, not an error"
        for rows, length, want in ([[], []], None, "(2, 0)"), ([], 4, "(0, 4)"), ([], None, "(0, 0)"):
            for tensor in pad_batch(rows, 0, length=length):
                expect(str(tuple(tensor.shape)), want, why=f"(rows, width): {len(rows)} rows, {length=}")
                expect(str(tensor.dtype), "int64", why="also where there are no numbers")


run_tests(TestPadBatch)

# %% [markdown]
# ## All together
#
# A tokenizer is called with a list of texts and gives what a model takes. In a folder stand the files that
# Hugging Face's libraries read and write; `from_pretrained` finds out which kind of tokenizer they hold.

# %%
#| export
def from_pretrained(folder, **options):
    """The tokenizer in a folder of Hugging Face's files, of whichever class it is."""
    kinds = {cls.kind: cls for cls in (ByteBPETokenizer, CharTokenizer, WordPieceTokenizer)}
    return kinds[read_folder(folder)[0]].from_pretrained(folder, **options)


# %%
class TestTogether:
    """All together"""
    def bert(self):
        return WordPieceTokenizer("[PAD] [UNK] [CLS] [SEP] [MASK] the dog man bite ##s ! un".split())

    def test_bert(self):
        "[CLS] and [SEP] around each text, type 1 for a second one, padding at the end"
        batch = self.bert()(["The dog bites!", "MAN"], padding=True, return_tensors="pt")
        expect(batch["input_ids"], [[2, 5, 6, 8, 9, 10, 3], [2, 7, 3, 0, 0, 0, 0]])
        expect(batch["attention_mask"], [[1] * 7, [1, 1, 1, 0, 0, 0, 0]])
        batch = self.bert()("the dog", "man bites", return_tensors="pt")
        expect(batch["input_ids"], [[2, 5, 6, 3, 7, 8, 9, 3]])
        expect(batch["token_type_ids"], [[0, 0, 0, 0, 1, 1, 1, 1]])

    def test_truncation(self):
        "Cut to 4: the specials are still there"
        expect(self.bert().encode("the dog bites", truncation=True, max_length=4), [2, 5, 6, 3])

    def test_special_in_a_text(self):
        "A special token in a text is one token"
        expect(self.bert().tokenize("the [MASK] bites"), ["the", "[MASK]", "bite", "##s"])

    def test_any_text(self):
        "Bytes lose nothing: any text comes back as it was, and no token is unknown"
        tokenizer = ByteBPETokenizer().train(python_help()[:20_000], 500)
        for text in "  two blanks", "naïve 🙂\r\n\t東京", "unbelievability", "\x00é́ﬁ":
            expect(tokenizer.decode(tokenizer.encode(text)), text)


run_tests(TestTogether)

# %% [markdown]
# ## Measure
#
# Guess first. Python's help, all of it, on the machine before you: how many seconds does your `train` take
# to 1,000 merges? And how many *bytes* is a token then, on average, in the last fifth of the text, if it was
# trained on the rest? Put your two numbers in; nothing is measured while they are None.

# %%
guess_seconds, guess_bytes = None, None


@cache
def trained(size):
    "A tokenizer of that many tokens, from the first four fifths of Python's help"
    return ByteBPETokenizer().train(python_help()[:len(python_help()) * 4 // 5], size)


@measure
def by_word():
    if None in (guess_seconds, guess_bytes):
        print("Guess first: put your two numbers into the cell above.")
        return
    words = split_words(python_help())
    print(f"{len(words):,} words, {len(set(words)):,} different ones")
    for number in 256, 1000:
        seconds = timed(ByteBPETokenizer().train, python_help(), 256 + number, repeat=1)
        print(f"{number:5} merges {seconds:5.2f} s" + f" (you guessed {guess_seconds})" * (number == 1000))
    unseen = python_help()[len(python_help()) * 4 // 5:]
    for number in 0, 64, 256, 1000, 4000:
        ids = trained(256 + number).encode(unseen)
        print(f"{number:5} merges: {len(unseen.encode()) / len(ids):.2f} bytes a token"
              + f" (you guessed {guess_bytes})" * (number == 1000))
    text, tokenizer = unseen * 5, trained(1256)
    print(f"encoding: {len(text) / 1e6 / timed(tokenizer.encode, text, repeat=1):.1f} MB a second")


# %% [markdown]
# What must hold on any machine. The time by word does not grow like text times merges: the whole text with
# 1,000 merges takes less than the naive way needs for a tenth of it with an eighth of the merges. Going
# through the text happens once; after that only different words count, each once, and of those only the ones
# that a merge is in. Later merges are of rare pairs, in few words, and nearly free.
#
# Bytes a token grow quickly at first, then slowly: each doubling of the vocabulary brings a little more. It
# is bought with a larger model: it keeps a row of numbers for each token (module 11), and at each step weighs
# all tokens against each other (module 13). Encoding is fast because of a dictionary: most words of a text
# were seen before, and are looked up as a whole.
#
# The same sentence, cut by the tokenizers of that table. Three of its words, "unbelievability", "naïve" and
# "languages", are nowhere in the text that they learned from:

# %%
SENTENCE = "The unbelievability of naïve languages 🙂"


@measure
def the_same_sentence():
    rows = []
    for number in 0, 64, 1000, 4000:
        tokenizer = trained(256 + number)
        ids = tokenizer.encode(SENTENCE)
        pieces = [tokenizer.bytes_of(i).decode("utf-8", "replace") for i in ids]
        rows.append((f"{number} merges", pieces))
        print(f"{number:5} merges, {len(ids):2} pieces   {cut_text(pieces)}")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("The picture needs matplotlib: pip install matplotlib")
        return
    draw_pieces(rows)
    plt.show()


# %% [markdown]
# So what should a model read? Pieces that were learned from text: frequent words whole, rare ones in parts
# that it has met elsewhere, and bytes where nothing else is left. No word is unknown, no letter is lost, and
# a text is three to four times shorter than its bytes.
#
# ## Reflect
#
# Answer in a sentence or two each, then compare with `## reflection-1` and so on in HINTS.md.
#
# 1. What do you gain and what do you pay when the vocabulary is ten times as large?
# 2. Why can a model that reads such pieces not count the letters of a word?
# 3. Model A has a loss of 3.0 for each token, model B 2.5, on the same text. Their tokenizers differ. Which
#    model is better?
#
# ## Where this code lives
#
# `tito export 10` writes it to `tinytorch/text/`: `tokenizers.py`, `bpe.py` and `batching.py`, beside them
# what was given: special tokens and calls (`base.py`, `added_tokens.py`), files (`folders.py`, `hf_files.py`,
# `hf_writing.py`), words (`pattern.py`, `bert_words.py`), and `bpe_parts.py`.
#
# ```python
# from tinytorch.text import ByteBPETokenizer, from_pretrained
# tokenizer = ByteBPETokenizer(eos_token="<|endoftext|>").train(texts, vocab_size=4096)
# batch = tokenizer(texts, padding=True, truncation=True, max_length=128, return_tensors="pt")
# tokenizer.save("my_tokenizer"); from_pretrained("my_tokenizer")
# ```
#
# Module 11 turns ids into vectors, module 13 trains on them, and reads BERT's files with exercise 8.
#
# In the real world: Hugging Face's `tokenizers` does the same in Rust, on all cores, and reads the files that
# `save` writes; with the same text it learns the same merges. OpenAI's `tiktoken` encodes and decodes, with
# merges that others have learned. SentencePiece (T5, Llama 2) has no rules for words: it writes a blank as a
# letter, ▁, which may stand at the beginning of a piece, and by default not inside of one.
