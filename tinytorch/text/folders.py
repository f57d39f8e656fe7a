# Generated from modules/10_tokenization/folders_dev.py by tito export. Edit the lesson, not this file.
# source sha256 774b713b5ef09ad137d774817ff1cebe4632f065d2fb88221c484c99af5164c9  body sha256 d6903112fd784e27df7d4854dfb2cdf600a0adb67b6bc5e45866f50e9b76c10b  # noqa: E501
"""text.folders: built in module 10_tokenization."""

from tinytorch.text.added_tokens import AddedToken
from tinytorch.text.hf_files import (
    BPE_OPTIONS,
    ROLES,
    WORDPIECE_OPTIONS,
    TokenizerFiles,
    read_files,
)
from tinytorch.text.hf_writing import write_files

__all__ = ["OPTIONS", "read_folder", "write_folder"]


OPTIONS = {"BPE": BPE_OPTIONS, "WordPiece": WORDPIECE_OPTIONS, "WordLevel": {}}


def read_folder(folder):
    """(kind, settings) of the tokenizer in a folder: the arguments that make a tokenizer of that kind."""
    files = read_files(folder)
    settings = {"vocab": files.vocab, "added": files.added, "template": files.template, **files.roles,
                "padding_side": files.padding_side, "model_max_length": files.model_max_length,
                "additional_special_tokens": [token.content for token in files.added
                                              if token.special and token.content not in files.roles.values()],
                **files.options}
    if files.kind == "BPE":
        settings["merges"] = files.merges
    return files.kind, settings


def write_folder(tokenizer, folder):
    """Write all files of a tokenizer into `folder`, which is made if it is not there."""
    specials = {token: AddedToken(token, tokenizer.vocab[token]) for token in tokenizer.all_special_tokens}
    roles = {role: getattr(tokenizer, role) for role in ROLES if getattr(tokenizer, role) is not None}
    merges = []
    if tokenizer.kind == "BPE":
        merges = [(tokenizer.tokens[left], tokenizer.tokens[right]) for left, right in tokenizer.ranks]
    write_files(folder, TokenizerFiles(
        tokenizer.kind, tokenizer.vocab, merges, list({**specials, **tokenizer.added}.values()), roles,
        tokenizer.template, {name: getattr(tokenizer, name) for name in OPTIONS[tokenizer.kind]},
        tokenizer.padding_side, tokenizer.model_max_length))
