# Generated from modules/10_tokenization/tokenization_dev.py by tito export. Edit the lesson, not this file.
# source sha256 5d93c2a0fcd1ae1274e6643b49001fdad67fb032a1fa354702257d3a9ec42b81  body sha256 a2c843cc1ab7b2151c22ef5f650d147c0024de1b3868090817dbca09fa68a3e1  # noqa: E501
"""text.tokenizers: built in module 10_tokenization."""

from tinytorch.text.base import check_text
from tinytorch.text.batching import Tokenizer
from tinytorch.text.bert_words import bert_words
from tinytorch.text.folders import read_folder

__all__ = ["CharTokenizer", "WordPieceTokenizer", "from_pretrained"]


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
        return [self.vocab.get(character, self.unk_id) for character in text]

    def decode_ids(self, ids): return "".join([self.tokens[i] for i in ids])


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

    def decode_ids(self, ids):
        """The pieces put together; words with a blank between them, none before . , ? and !"""
        text = ""
        for i in ids:
            token = self.tokens[i]
            inside = token.startswith(self.prefix) and text
            apart = text and not inside and token not in (".", ",", "?", "!")
            text += " " * bool(apart) + (token.removeprefix(self.prefix) if inside else token)
        return text


def from_pretrained(folder, **options):
    """The tokenizer in a folder of Hugging Face's files, of whichever class it is."""
    kinds = {cls.kind: cls for cls in (ByteBPETokenizer, CharTokenizer, WordPieceTokenizer)}
    return kinds[read_folder(folder)[0]].from_pretrained(folder, **options)


from tinytorch.text.bpe import ByteBPETokenizer  # at the end: the two files need each other  # noqa: E402
