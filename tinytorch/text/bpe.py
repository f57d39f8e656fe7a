# Generated from modules/10_tokenization/tokenization_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5d93c2a0fcd1ae1274e6643b49001fdad67fb032a1fa354702257d3a9ec42b81  body sha256 dff84f1ae4cae0343494019766c8d38157ac3a8f283ff3eda58048b6adfc5039  # noqa: E501
"""text.bpe: built in module 10_tokenization."""

import math
from collections import Counter, defaultdict

from tinytorch.text.base import check_text
from tinytorch.text.batching import Tokenizer
from tinytorch.text.bpe_parts import (
    ALPHABET,
    BYTE,
    CHARACTER,
    LONG,
    PairQueue,
    merge_long,
    unwritten,
)
from tinytorch.text.pattern import split_words

__all__ = ["ByteBPETokenizer", "NEVER", "count_pairs", "merge_pair", "train_naive"]


def count_pairs(words):
    """How often each pair of neighbours occurs: {(left, right): times}, over all `words`, lists of ids.

    >>> dict(count_pairs([[1, 2, 1, 2], [2, 1]]))
    {(1, 2): 2, (2, 1): 2}
    """
    counts = Counter()
    for ids in words:
        counts.update(zip(ids, ids[1:]))
    return counts


def merge_pair(ids, pair, new):
    """A new list in which the id `new` stands wherever `pair`, a tuple of two ids, stood in `ids`.

    >>> merge_pair([1, 2, 3, 1, 2], (1, 2), 9), merge_pair([1, 1, 1], (1, 1), 9)
    ([9, 3, 9], [9, 1])
    """
    merged, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def train_naive(words, number):
    """The first `number` merges, {pair: new id} in the order in which they were found.

    words: lists of bytes, which stay as they are. Fewer merges if all words have become one token.

    >>> train_naive([list(b"banana bandana")], 3)
    {(97, 110): 256, (98, 256): 257, (256, 97): 258}
    """
    merges = {}
    for new in range(256, 256 + number):
        counts = count_pairs(words)
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = [merge_pair(ids, best, new) for ids in words]
        merges[best] = new
    return merges


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
        while len(ids) > 1:
            best = min(zip(ids, ids[1:]), key=lambda pair: self.ranks.get(pair, NEVER)[0])
            if best not in self.ranks:
                break
            ids = merge_pair(ids, best, self.ranks[best][1])
        return ids

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
        return b"".join([self.bytes_of(i) for i in ids]).decode("utf-8", errors="replace")

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
        return self
