# Generated from modules/10_tokenization/hf_writing_dev.py by tito export. Edit the lesson, not this file.
# source sha256 17748caa7fbc77aa93d75915d6084bf93b84c223a6bd758e64bedcf0e97ea33f  body sha256 e65c8a5a67bca6ac2180996c3cc3ce5154b2c72d3bd87c2eac0d8c085ea5c0ec  # noqa: E501
"""text.hf_writing: built in module 10_tokenization."""

import json
import os
from dataclasses import asdict

from tinytorch.text.hf_files import BPE_OPTIONS, CHARACTERS, WORDPIECE_OPTIONS, framed_by
from tinytorch.training.packing import name_beside

__all__ = [
    "STEPS", "bpe_steps", "character_steps", "config_of", "json_text", "plain", "post_processor",
    "tokenizer_json", "wordpiece_steps", "write_files", "write_text",
]


def write_files(folder, files):
    """Write a TokenizerFiles into `folder`, which is made if it is not there, for `read_files` and others.

    The older files are left out where they could not say the same.
    """
    texts = {"tokenizer.json": json_text(tokenizer_json(files), indent=2),
             "tokenizer_config.json": json_text(config_of(files), indent=2),
             "special_tokens_map.json": json_text(files.roles, indent=2)}
    tokens = sorted(files.vocab, key=files.vocab.get)
    if files.kind == "BPE" and plain(files, "digits"):
        texts["vocab.json"] = json_text({token: files.vocab[token] for token in tokens})
        texts["merges.txt"] = "\n".join(["#version: 0.2", *map(" ".join, files.merges)]) + "\n"
    if files.kind == "WordPiece" and plain(files, "clean", "prefix", "max_input_chars_per_word"):
        lines = "\n".join(tokens) + "\n"
        if files.vocab[tokens[-1]] == len(tokens) - 1 == lines.count("\n") - 1 and "\r" not in lines:
            texts["vocab.txt"] = lines
    folder = os.path.expanduser(os.fspath(folder))
    os.makedirs(folder, exist_ok=True)
    for name, text in texts.items():
        write_text(os.path.join(folder, name), text)


def plain(files, *options):
    """True if what no older file can say, these options and the template, is as it usually is."""
    usual = {**BPE_OPTIONS, **WORDPIECE_OPTIONS}
    cls, sep = files.roles.get("cls_token"), files.roles.get("sep_token")
    template = None if None in (cls, sep) else framed_by(cls, sep, files.kind)
    return files.template == template and all(files.options[name] == usual[name] for name in options)


def json_text(data, indent=None): return json.dumps(data, ensure_ascii=False, indent=indent) + "\n"


def write_text(path, text):
    """The whole text, or, if anything fails, nothing."""
    temporary = name_beside(path)
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def tokenizer_json(files):
    """What stands in tokenizer.json."""
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [asdict(token) for token in sorted(files.added, key=lambda token: token.id)],
            **STEPS[files.kind](files),
            "post_processor": files.template and post_processor(files.template, files.vocab)}


def bpe_steps(files):
    byte_level = {"type": "ByteLevel", "add_prefix_space": files.options["add_prefix_space"],
                  "trim_offsets": True, "use_regex": True}
    digits = {"type": "Digits", "individual_digits": True}
    return {"normalizer": None, "decoder": byte_level,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [digits, byte_level]}
            if files.options["digits"] else byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "ignore_merges": False, "vocab": files.vocab,
                      "merges": list(map(" ".join, files.merges))}}


def wordpiece_steps(files):
    options = files.options
    return {"normalizer": {"type": "BertNormalizer", "clean_text": options["clean"],
                           "handle_chinese_chars": options["chinese"],
                           "strip_accents": options["strip_accents"], "lowercase": options["lowercase"]},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "decoder": {"type": "WordPiece", "prefix": options["prefix"], "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": files.roles["unk_token"],
                      "continuing_subword_prefix": options["prefix"],
                      "max_input_chars_per_word": options["max_input_chars_per_word"], "vocab": files.vocab}}


def character_steps(files):
    return {"normalizer": None, "pre_tokenizer": CHARACTERS, "decoder": {"type": "Fuse"},
            "model": {"type": "WordLevel", "vocab": files.vocab, "unk_token": files.roles["unk_token"]}}


STEPS = {"BPE": bpe_steps, "WordPiece": wordpiece_steps, "WordLevel": character_steps}


def post_processor(template, vocab):
    """A template as the step that puts it around texts."""
    def piece(name, kind):
        if name in ("$A", "$B"):
            return {"Sequence": {"id": name[1:], "type_id": kind}}
        return {"SpecialToken": {"id": name, "type_id": kind}}
    names = sorted({name for pieces in template.values() for name, _ in pieces} - {"$A", "$B"})
    return {"type": "TemplateProcessing",
            **{key: [piece(*one) for one in template[key]] for key in ("single", "pair")},
            "special_tokens": {name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in names}}


def config_of(files):
    """What stands in tokenizer_config.json."""
    config = {**files.roles, "padding_side": files.padding_side, "tokenizer_class": "PreTrainedTokenizerFast",
              "added_tokens_decoder": {str(token.id): {key: value for key, value in asdict(token).items()
                                                       if key != "id"} for token in files.added}}
    if files.model_max_length is not None:
        config["model_max_length"] = files.model_max_length
    if files.kind == "BPE":
        config["add_prefix_space"] = files.options["add_prefix_space"]
    if files.kind == "WordPiece":
        config |= {"tokenizer_class": "BertTokenizer", "do_lower_case": files.options["lowercase"],
                   "strip_accents": files.options["strip_accents"],
                   "tokenize_chinese_chars": files.options["chinese"]}
    return config
