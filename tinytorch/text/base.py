# Generated from modules/10_tokenization/tokenizer_base_dev.py by tito export. Edit the lesson, not this file.
# source sha256 681433252563d2c129d5f470347f473b4f0e80fac1b29b767a13e886cec4ff79  body sha256 490121406de002a6d237a65e1628437c1639b212abbfabbcb479fb4857c07621  # noqa: E501
"""text.base: built in module 10_tokenization."""

import operator
from dataclasses import replace

from tinytorch.core.tensor import Tensor
from tinytorch.text.added_tokens import AddedToken, cut_out
from tinytorch.text.folders import read_folder, write_folder

__all__ = ["BatchEncoding", "ROLES", "TokenizerBase", "check_text"]


class BatchEncoding(dict):
    """`batch["input_ids"]` or `batch.input_ids`; `model(**batch)` hands all of it on."""
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"BatchEncoding has {sorted(self)}, but no {name!r}.") from None

    def to(self, device):
        """A batch whose tensors are on `device`."""
        return BatchEncoding({key: value.to(device) if isinstance(value, Tensor) else value
                              for key, value in self.items()})


ROLES = ("unk", "pad", "cls", "sep", "mask", "bos", "eos")


def check_text(text):
    """Raises unless `text` is a str of whole characters."""
    if not isinstance(text, str):
        raise TypeError(f"a tokenizer takes a str, got {type(text).__name__}. For several texts at once "
                        "call it with a list: tokenizer([first, second]).")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"the text has {text[error.start]!r} at place {error.start}, half of a character, "
                         "which has no bytes. Read the file with the right encoding.") from None
    return text


class TokenizerBase:
    """From text to ids and back; see the subclasses.

    vocab: {token: id}, or tokens in the order of their ids. roles: unk_token="[UNK]" and so on; a special
    token that is not in the vocabulary yet is added at its end. added: AddedTokens, that say more about them.
    """
    model_input_names = ("input_ids", "attention_mask")

    def __init__(self, vocab, *, template=None, padding_side="right", model_max_length=None,
                 additional_special_tokens=(), added=(), **roles):
        unknown = roles.keys() - {f"{role}_token" for role in ROLES}
        if unknown:
            raise TypeError(f"{type(self).__name__} has no argument {sorted(unknown)}.")
        if isinstance(vocab, str) or not all(isinstance(token, str) for token in vocab):
            raise TypeError(f"{type(self).__name__}: vocab is {{token: id}} or a list of tokens. To make one "
                            "from a text, call train(text, ...).")
        self.template, self.padding_side, self.model_max_length = template, padding_side, model_max_length
        for role in ROLES:
            setattr(self, f"{role}_token", roles.get(f"{role}_token"))
        self.additional_special_tokens = list(additional_special_tokens)
        self.added = {token.content: token for token in added}
        self.set_vocab(vocab)

    def set_vocab(self, vocab):
        """Take over another vocabulary; special tokens that are not in it get the next ids."""
        pairs = vocab.items() if hasattr(vocab, "items") else [(t, i) for i, t in enumerate(vocab)]
        self.vocab = {token: operator.index(i) for token, i in pairs}
        self.tokens = {i: token for token, i in self.vocab.items()}
        if len(self.tokens) < len(pairs) or min(self.tokens, default=0) < 0:
            raise ValueError(f"{type(self).__name__}: {len(pairs)} tokens with {len(self.tokens)} different "
                             "ids. Each token has an id of its own, from 0 on.")
        for token in [*self.all_special_tokens, *self.added]:
            self.add_token(token)
        self.added = {name: replace(token, id=self.vocab[name]) for name, token in self.added.items()}

    def add_token(self, token):
        """The id of `token`, which is added at the end unless it is there."""
        if token not in self.vocab:
            i = max(self.tokens, default=-1) + 1
            self.vocab[token], self.tokens[i] = i, token
        return self.vocab[token]

    def add_special_tokens(self, tokens):
        """`{"pad_token": "<pad>"}` gives a task to a token, and adds it if it is new; how many were new.

        The key "additional_special_tokens" has a list of tokens without a task.
        """
        size = len(self.vocab)
        for name, token in tokens.items():
            if name == "additional_special_tokens":
                self.additional_special_tokens += [t for t in token if t not in self.all_special_tokens]
            elif name.removesuffix("_token") in ROLES:
                setattr(self, name, token)
            else:
                raise ValueError(f"add_special_tokens: {name!r} is none of {[f'{r}_token' for r in ROLES]} "
                                 "or 'additional_special_tokens'.")
        for token in self.all_special_tokens:
            self.add_token(token)
        return len(self.vocab) - size

    @property
    def all_special_tokens(self):
        tokens = [getattr(self, f"{role}_token") for role in ROLES] + self.additional_special_tokens
        return list(dict.fromkeys([token for token in tokens if token is not None]))

    @property
    def all_special_ids(self): return [self.vocab[t] for t in self.all_special_tokens if t in self.vocab]

    def __getattr__(self, name):                       # asked only for what is not there otherwise
        role, _, kind = name.partition("_")
        if role in ROLES and kind in ("id", "token_id"):
            return self.vocab.get(getattr(self, f"{role}_token"))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def vocab_size(self): return len(self.vocab)
    def __len__(self): return len(self.vocab)
    def __repr__(self): return f"{type(self).__name__}(vocab_size={len(self)})"
    def get_vocab(self): return dict(self.vocab)

    def token_to_id(self, token):
        """The id of a token; None if there is no such token."""
        return self.vocab.get(token)

    def id_to_token(self, i):
        """The token with this id; None if there is no such id."""
        return self.tokens.get(i)

    def ids_of(self, text):
        """The ids of a text, in which special tokens are recognised."""
        tokens = {t: AddedToken(t, self.vocab[t]) for t in self.all_special_tokens if t in self.vocab}
        ids = []
        for piece, token in cut_out(text, (tokens | self.added).values()):
            ids += [token.id] if token else self.encode_text(piece)
        return ids

    def tokenize(self, text):
        """The tokens of a text, as they stand in the vocabulary."""
        return [self.tokens[i] for i in self.ids_of(check_text(text))]

    def frame(self, paired):
        """What stands around one text or two: [("$A", 0)] or, with BERT, [("[CLS]", 0), ("$A", 0), ...]."""
        plain = {"single": [("$A", 0)], "pair": [("$A", 0), ("$B", 1)]}
        return (self.template or plain)["pair" if paired else "single"]

    def framed(self, text, pair, add_special_tokens, truncation, max_length):
        """ids and type ids of a text or a pair, with special tokens, cut to `max_length`."""
        frame = self.frame(pair is not None)
        if not add_special_tokens:
            frame = [(name, kind) for name, kind in frame if name in ("$A", "$B")]
        parts = {"$A": self.ids_of(check_text(text)), "$B": self.ids_of(check_text(pair or ""))}
        if truncation and max_length is not None:
            specials = sum(name not in parts for name, _ in frame)
            parts["$A"], parts["$B"] = self.fit(parts["$A"], parts["$B"], max_length, specials)
        ids, kinds = [], []
        for name, kind in frame:
            part = parts[name] if name in parts else [self.vocab[name]]
            ids += part
            kinds += [kind] * len(part)
        return ids, kinds

    def length_of(self, truncation, max_length):
        if truncation not in (False, None, True, "longest_first", "do_not_truncate"):
            raise ValueError(f"truncation={truncation!r}: it is True (the longer text is cut) or False.")
        return self.model_max_length if max_length is None else max_length

    def encode(self, text, pair=None, add_special_tokens=True, truncation=False, max_length=None):
        """The ids of a text, or of a pair of texts, with the special tokens that the model expects.

        truncation: cut to `max_length` ids, special tokens included, from the end of the longer text.
        """
        length = self.length_of(truncation, max_length)
        cut = truncation not in (False, None, "do_not_truncate")
        return self.framed(text, pair, add_special_tokens, cut, length)[0]

    def decode(self, ids, skip_special_tokens=False):
        """The text of ids, which may be a list, a tensor or one number. IndexError if there is no such id."""
        ids = ids.tolist() if hasattr(ids, "tolist") else ids
        ids = [operator.index(i) for i in ([ids] if isinstance(ids, int) else ids)]
        for i in ids:
            if i not in self.tokens:
                raise IndexError(f"decode: there is no id {i} in this vocabulary of {len(self)} tokens. Do "
                                 "the ids come from another tokenizer?")
        if skip_special_tokens:
            left_out = set(self.all_special_ids)
            ids = [i for i in ids if i not in left_out]
        return self.decode_ids(ids)

    def batch_decode(self, rows, skip_special_tokens=False):
        """The text of each row of ids."""
        return [self.decode(row, skip_special_tokens) for row in rows]

    def __call__(self, text, text_pair=None, add_special_tokens=True, padding=False, truncation=False,
                 max_length=None, return_tensors=None, padding_side=None, return_token_type_ids=None):
        """A text, or a list of texts, as a BatchEncoding: input_ids, attention_mask, perhaps token_type_ids.

        text_pair: a second text for each. padding: True or "longest" (as long as the longest of the batch),
        "max_length", or False. truncation: cut what is longer than `max_length`. return_tensors: "pt" gives
        tensors (B, T) of int64, "np" arrays, None lists. In the mask 1 is a token, 0 is padding.
        """
        one = isinstance(text, str)
        texts = [text] if one else list(text)
        pairs = [None] * len(texts) if text_pair is None else [text_pair] if one else list(text_pair)
        if len(texts) != len(pairs):
            raise ValueError(f"{len(texts)} texts and {len(pairs)} second texts: each text has one, or none.")
        if return_tensors not in (None, "pt", "np"):
            raise ValueError(f"return_tensors={return_tensors!r}: it is 'pt' (tensors), 'np' (arrays), None.")
        length = self.length_of(truncation, max_length)
        cut = truncation not in (False, None, "do_not_truncate")
        rows = [self.framed(t, p, add_special_tokens, cut, length) for t, p in zip(texts, pairs)]
        columns = self.padded(rows, padding, length, padding_side or self.padding_side, return_tensors)
        wanted = "token_type_ids" in self.model_input_names if return_token_type_ids is None \
            else return_token_type_ids
        if not wanted:
            del columns["token_type_ids"]
        if return_tensors is None:
            return BatchEncoding({name: rows[0] if one else rows for name, rows in columns.items()})
        return BatchEncoding({name: column if return_tensors == "pt" else column.numpy()
                              for name, column in columns.items()})

    def padded(self, rows, padding, max_length, side, tensors):
        """{name: tensor (B, T)} of rows (ids, type ids), or lists where nothing asks for tensors."""
        ids, kinds = [[row[i] for row in rows] for i in (0, 1)]
        if padding in (False, None, "do_not_pad"):
            if not tensors:
                return {"input_ids": ids, "token_type_ids": kinds,
                        "attention_mask": [[1] * len(row) for row in ids]}
            if len({len(row) for row in ids}) > 1:
                raise ValueError(f"texts of {[len(row) for row in ids]} tokens make no tensor. Pad them: "
                                 "padding=True.")
            pad = 0
        elif padding not in (True, "longest", "max_length"):
            raise ValueError(f"padding={padding!r}: it is True, 'longest', 'max_length' or False.")
        elif self.pad_id is None:
            raise ValueError(f"{self!r} has no padding token. Give it one, such as tokenizer.pad_token = "
                             "tokenizer.eos_token, or tokenizer.add_special_tokens({'pad_token': '[PAD]'}).")
        else:
            pad = self.pad_id
        longest = max(map(len, ids), default=0)
        width = longest if padding != "max_length" or max_length is None else max(longest, max_length)
        input_ids, mask = self.pad(ids, pad, width, side)
        columns = {"input_ids": input_ids, "token_type_ids": self.pad(kinds, 0, width, side)[0],
                   "attention_mask": mask}
        return columns if tensors else {name: column.tolist() for name, column in columns.items()}

    def save(self, folder):
        """Write the tokenizer into `folder`, as Hugging Face's libraries read it."""
        write_folder(self, folder)

    save_pretrained = save

    @classmethod
    def from_pretrained(cls, folder, **options):
        """The tokenizer in `folder`: from tokenizer.json, or vocab.json with merges.txt, or vocab.txt.

        options: what the class is made with, in place of what the files say.
        """
        kind, settings = read_folder(folder)
        if kind != cls.kind:
            raise ValueError(f"{cls.__name__} reads a {cls.kind} model, but {str(folder)!r} has {kind}. "
                             "tinytorch.text.from_pretrained takes the right class.")
        return cls(**{**settings, **options})
