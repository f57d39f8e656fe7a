# %% [markdown]
# # Parts of a byte-pair tokenizer
#
# Given code: nothing to solve here. How bytes are written, which pair is the most frequent, and what to do
# with a word of a million letters.

# %%
#| default_exp text.bpe_parts

# %%
import heapq
from collections import defaultdict

# %% [markdown]
# ## A character for each byte
#
# The files of GPT-2 hold tokens as text, but half of a character is no text. So each of the 256 bytes is
# written as a character that can be seen: those that can be seen anyway as themselves, all others, in order,
# as the characters from 256 on. A blank, byte 32, becomes `Ġ`, and a new line, byte 10, `Ċ`.

# %%
#| export
SEEN = {*range(33, 127), *range(161, 173), *range(174, 256)}
HIDDEN = [byte for byte in range(256) if byte not in SEEN]
CHARACTER = {byte: chr(byte) for byte in SEEN} | {byte: chr(256 + i) for i, byte in enumerate(HIDDEN)}
BYTE = {character: byte for byte, character in CHARACTER.items()}
ALPHABET = sorted(BYTE)                                # token i of an untrained tokenizer, and of GPT-2


def written(data):
    """Bytes as text, a character for each: the form in which tokens stand in files.

    >>> written(" né".encode())
    'ĠnÃ©'
    """
    return data.decode("latin-1").translate(CHARACTER)


def unwritten(token):
    """The bytes of a token in that form; of one with any other character, such as a blank, its UTF-8."""
    try:
        return bytes([BYTE[character] for character in token])
    except KeyError:
        return token.encode("utf-8")


# %% [markdown]
# ## The most frequent pair
#
# Looking through all pairs for the largest count, once a merge, would take longer than everything else. A
# heap gives the smallest of its entries at once, so the counts go in with a minus: the largest count first,
# and at equal counts the smaller pair. A count that changes gets a new entry; the old one is recognised by
# its number when it comes up, and is dropped.

# %%
#| export
class PairQueue:
    """How often each pair occurs, and which is the most frequent."""
    def __init__(self): self._counts, self._heap, self._changed = defaultdict(int), [], set()

    def add(self, pair, times):
        """Count `pair` so many times more; fewer if negative."""
        self._counts[pair] += times
        self._changed.add(pair)

    def best(self):
        """The most frequent pair, at equal counts the smallest; None if there is none.

        >>> queue = PairQueue()
        >>> for pair, times in ((3, 4), 2), ((1, 2), 5), ((1, 1), 2), ((1, 2), -3): queue.add(pair, times)
        >>> queue.best()
        (1, 1)
        """
        for pair in self._changed:
            if self._counts[pair] > 0:
                heapq.heappush(self._heap, (-self._counts[pair], pair))
        self._changed.clear()
        while self._heap:
            count, pair = self._heap[0]
            if self._counts[pair] == -count:
                return pair
            heapq.heappop(self._heap)
        return None


# %% [markdown]
# ## A word without an end
#
# Merging pair by pair goes through the word once for each merge. Words are short, but somebody will paste
# a megabyte of base64. Here the places of all pairs wait in a heap, by rank, and each merge looks only at
# its two neighbours; the word is a chain in which a merged place drops out.

# %%
#| export
LONG = 100                                             # from here on the heap is faster


def merge_long(ids, ranks):
    """`ids` with all merges done, the lowest rank first, from left to right: n log n for n ids.

    ranks: {pair: (rank, id of the two in one)}.
    """
    ids, size = list(ids), len(ids)
    before, after = list(range(-1, size - 1)), list(range(1, size + 1))
    heap = [(ranks[pair][0], place, pair) for place, pair in enumerate(zip(ids, ids[1:])) if pair in ranks]
    heapq.heapify(heap)
    while heap:
        _, left, pair = heapq.heappop(heap)
        right = after[left]
        if right == size or (ids[left], ids[right]) != pair:
            continue                                   # one of the two is in another token by now
        ids[left], ids[right] = ranks[pair][1], None
        after[left] = following = after[right]
        if following < size:
            before[following] = left
        for start in before[left], left:
            end = after[start] if start >= 0 else size
            if end < size and (ids[start], ids[end]) in ranks:
                heapq.heappush(heap, (ranks[ids[start], ids[end]][0], start, (ids[start], ids[end])))
    return [i for i in ids if i is not None]
