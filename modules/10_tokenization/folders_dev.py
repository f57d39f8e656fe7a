# %% [markdown]
# # From a folder to a tokenizer and back
#
# Given code: nothing to solve here. `hf_files_dev.py` knows what stands in the files, the tokenizers know
# what they are made with, and here the one becomes the other.

# %%
#| default_exp text.folders

# %%
from added_tokens_dev import AddedToken
from hf_files_dev import BPE_OPTIONS, ROLES, WORDPIECE_OPTIONS, TokenizerFiles, read_files
from hf_writing_dev import write_files

# %%
#| export
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
