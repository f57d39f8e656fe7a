# Generated from modules/10_tokenization/hf_files_dev.py by tito export. Edit the lesson, not this file.
# source sha256 a6522fa7eb1413167e4f1108d12b1115eecdd66cb2233b0e844fe9c2dbf2362e  body sha256 94a9b96ab4641e48f21a924c931fdacf918d19aa9cba45e82e819852fdc3f23e  # noqa: E501
"""text.hf_files: built in module 10_tokenization."""

import json
import os
from dataclasses import dataclass, field

from tinytorch.text.added_tokens import AddedToken

__all__ = [
    "BERT_ROLES", "BPE_OPTIONS", "CHARACTERS", "CLASSES", "FLAGS", "GPT2_ROLES", "READABLE",
    "READERS", "ROBERTA_ROLES", "ROLES", "TokenizerFiles", "WORDPIECE_OPTIONS", "checked_merges",
    "checked_vocab", "completed", "content", "damaged", "framed_by", "from_bpe_files",
    "from_tokenizer_json", "from_wordpiece_file", "id_of", "json_of", "lines_of", "only",
    "only_types", "parts", "read_bpe", "read_characters", "read_files", "read_wordpiece", "refused",
    "template_of", "text_of", "whole",
]


@dataclass
class TokenizerFiles:
    """All that a folder says about a tokenizer.

    kind: of the model, "BPE" (byte level), "WordPiece" or "WordLevel" (characters). vocab: {token: id}, added
    tokens too; for BPE in GPT-2's letters for bytes, "Ġthe". merges: of BPE, [("Ġ", "t"), ...], the first
    merge first. added: a list of AddedToken. roles: {"unk_token": "[UNK]", ...}. template: what stands around
    texts, {"single": [("[CLS]", 0), ("$A", 0), ("[SEP]", 0)], "pair": ...}, or None. options: as in
    BPE_OPTIONS or WORDPIECE_OPTIONS.
    """
    kind: str
    vocab: dict
    merges: list = field(default_factory=list)
    added: list = field(default_factory=list)
    roles: dict = field(default_factory=dict)
    template: dict | None = None
    options: dict = field(default_factory=dict)
    padding_side: str = "right"
    model_max_length: int | None = None


ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
BPE_OPTIONS = {"add_prefix_space": False, "digits": False}
WORDPIECE_OPTIONS = {"lowercase": True, "strip_accents": None, "chinese": True, "clean": True,
                     "max_input_chars_per_word": 100, "prefix": "##"}


def framed_by(cls, sep, kind):
    """The template of BERT, and, for BPE, of RoBERTa and BART."""
    between, second = ([(sep, 0)], 1) if kind == "WordPiece" else ([(sep, 0), (sep, 0)], 0)
    return {"single": [(cls, 0), ("$A", 0), (sep, 0)],
            "pair": [(cls, 0), ("$A", 0), *between, ("$B", second), (sep, second)]}


def damaged(path, reason, way="Get the file again from where the model comes from."):
    return ValueError(f"{path} cannot be read: {reason}. {way}")


def text_of(path):
    """What is in a text file."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise damaged(path, f"it is no text in UTF-8 ({error.reason} at byte {error.start})") from None
    if text.startswith("version https://git-lfs"):
        raise damaged(path, "it is only a pointer of Git LFS", "`git lfs pull` gets the file itself.")
    return text


def json_of(path):
    """The dictionary in a file of JSON; {} if there is no such file."""
    if not os.path.exists(path):
        return {}
    try:
        data = json.loads(text_of(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise damaged(path, f"it is no JSON ({error}); perhaps it was cut off") from None
    if not isinstance(data, dict):
        raise damaged(path, f"it holds a {type(data).__name__} where a dictionary belongs")
    return data


def lines_of(path):
    """The lines of a text file, the end of the last one not counted as another line."""
    return text_of(path).removesuffix("\n").split("\n")


def checked_vocab(vocab, path):
    """`vocab` if it gives each token an id of its own."""
    if not isinstance(vocab, dict) or not vocab:
        raise damaged(path, "it has no vocabulary {token: id}")
    for token, i in vocab.items():
        if type(i) is not int or i < 0:
            raise damaged(path, f"the id of the token {token!r} is {i!r}, no number from 0 on")
    if len(set(vocab.values())) < len(vocab):
        owner = {i: token for token, i in vocab.items()}
        token = next(token for token, i in vocab.items() if owner[i] != token)
        raise damaged(path, f"the tokens {token!r} and {owner[vocab[token]]!r} both have id {vocab[token]}")
    return dict(vocab)


def checked_merges(merges, vocab, path):
    """[(left, right), ...] of lines "left right" or pairs; all of them must be in the vocabulary."""
    pairs = []
    for number, merge in enumerate(merges):
        pair = tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge)
        if len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise damaged(path, f"merge {number} is {merge!r}, which are not two tokens")
        for token in (*pair, "".join(pair)):
            if token not in vocab:
                raise damaged(path, f"merge {number} is {merge!r}, and the vocabulary has no {token!r}",
                              "Do vocabulary and merges come from the same model?")
        pairs.append(pair)
    return pairs


READABLE = ("Byte-level BPE as in GPT-2, RoBERTa and SmolLM2 and WordPiece as in BERT can be read here; for "
            "others use the package tokenizers.")


def refused(where, value, known):
    known = " or ".join(map(repr, known))
    return ValueError(f"{where} is {value!r}, which is not understood here, only {known}. {READABLE}")


def only(node, where, any="", **fixed):
    """Raises ValueError that names the key, if `node` has one with a meaning unknown here."""
    for key, value in node.items():
        if key not in fixed and key not in any.split():
            raise ValueError(f"{where}.{key} is not understood here. {READABLE}")
        if key in fixed and value not in fixed[key]:
            raise refused(f"{where}.{key}", value, fixed[key])


def parts(node, inside):
    """The steps of a normalizer, a pre_tokenizer, ...: none, one, or those of a Sequence, as a flat list."""
    if node is None:
        return []
    if node.get("type") != "Sequence":
        return [node]
    return [part for step in node[inside] for part in parts(step, inside)]


def from_tokenizer_json(path):
    """TokenizerFiles of a tokenizer.json, as far as it says it."""
    data = json_of(path)
    only(data, path, any="version truncation padding added_tokens normalizer pre_tokenizer post_processor "
         "decoder model")
    try:
        return whole(data, path)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise damaged(path, f"a part that belongs there is missing or of another kind ({error!r})") from None


READERS = {}                       # {the model's kind: function of (data, path) that gives the options}


def whole(data, path):
    model = data["model"]
    kind = model.get("type") or ("BPE" if "merges" in model else "WordPiece")   # GPT-2's file is that old
    if kind not in READERS:
        raise refused(f"{path}: model.type", kind, READERS)
    options = READERS[kind](data, path)
    vocab = checked_vocab(model["vocab"], path)
    merges = checked_merges(model.get("merges") or [], vocab, path)
    added = [AddedToken(**entry) for entry in data.get("added_tokens") or []]
    for i, token in enumerate(added):
        if token.normalized and kind == "WordPiece":
            raise refused(f"{path}: added_tokens[{i}].normalized", True, [False])
        if vocab.setdefault(token.content, token.id) != token.id:
            raise damaged(path, f"{token.content!r} has the ids {vocab[token.content]} and {token.id}")
    template = template_of(data.get("post_processor"), f"{path}: post_processor")
    for name, _ in [*template["single"], *template["pair"]] if template else []:
        if name not in vocab and name not in ("$A", "$B"):
            raise damaged(path, f"its post_processor puts {name!r} around texts, and the vocabulary has none")
    roles = {"unk_token": model["unk_token"]} if model.get("unk_token") else {}
    if template and len(template["single"]) == 3:      # [CLS] text [SEP], whatever they are called
        roles |= {"cls_token": template["single"][0][0], "sep_token": template["single"][2][0]}
    padding = data.get("padding") or {}
    if "pad_token" in padding:
        roles["pad_token"] = padding["pad_token"]
    return TokenizerFiles(kind, checked_vocab(vocab, path), merges, added, roles, template, options,
                          padding.get("direction", "Right").lower())


def read_bpe(data, path):
    only(data["model"], f"{path}: model", any="type vocab merges unk_token fuse_unk", dropout=(None, 0),
         continuing_subword_prefix=(None, ""), end_of_word_suffix=(None, ""), byte_fallback=(False,),
         ignore_merges=(False,))
    only_types(data, path, "normalizer", "normalizers", [[]])
    only_types(data, path, "decoder", "decoders", [["ByteLevel"], []])
    only_types(data, path, "pre_tokenizer", "pretokenizers", [["ByteLevel"], ["Digits", "ByteLevel"]])
    *digits, byte_level = parts(data["pre_tokenizer"], "pretokenizers")
    only(byte_level, f"{path}: pre_tokenizer", any="type trim_offsets", use_regex=(True,),
         add_prefix_space=(False,) if digits else (False, True))       # each digit would get a blank
    for step in digits:
        only(step, f"{path}: pre_tokenizer", any="type", individual_digits=(True,))
    return {"add_prefix_space": byte_level["add_prefix_space"], "digits": bool(digits)}


def read_wordpiece(data, path):
    model = data["model"]
    only(model, f"{path}: model",
         any="type vocab unk_token continuing_subword_prefix max_input_chars_per_word")
    only_types(data, path, "normalizer", "normalizers", [["BertNormalizer"]])
    only_types(data, path, "pre_tokenizer", "pretokenizers", [["BertPreTokenizer"]])
    only_types(data, path, "decoder", "decoders", [["WordPiece"], []])
    cleaning, = parts(data["normalizer"], "normalizers")
    only(cleaning, f"{path}: normalizer", any="type clean_text handle_chinese_chars strip_accents lowercase")
    return {"lowercase": cleaning["lowercase"], "strip_accents": cleaning.get("strip_accents"),
            "chinese": cleaning["handle_chinese_chars"], "clean": cleaning["clean_text"],
            "max_input_chars_per_word": model["max_input_chars_per_word"],
            "prefix": model["continuing_subword_prefix"]}


CHARACTERS = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}


def read_characters(data, path):
    only(data["model"], f"{path}: model", any="type vocab unk_token")
    only_types(data, path, "normalizer", "normalizers", [[]])
    only_types(data, path, "decoder", "decoders", [["Fuse"], []])
    if data.get("pre_tokenizer") != CHARACTERS:
        raise refused(f"{path}: pre_tokenizer", data.get("pre_tokenizer"), [CHARACTERS])
    return {}


READERS |= {"BPE": read_bpe, "WordPiece": read_wordpiece, "WordLevel": read_characters}


def only_types(data, path, key, inside, known):
    """Raises ValueError unless the types of the steps of data[key] are one of the lists in `known`."""
    types = [part["type"] for part in parts(data.get(key), inside)]
    if types not in known:
        raise refused(f"{path}: {key}.type", ", ".join(types) or None, [", ".join(k) or None for k in known])


def template_of(node, where):
    """The template of a post_processor; None if nothing is put around texts."""
    steps = [part for part in parts(node, "processors") if part["type"] != "ByteLevel"]  # that changes no id
    if not steps:
        return None
    if len(steps) > 1:
        raise refused(where, ", ".join(step["type"] for step in steps), ["one of them"])
    step, = steps
    if step["type"] in ("BertProcessing", "RobertaProcessing"):
        only(step, where, any="type sep cls trim_offsets add_prefix_space")
        return framed_by(step["cls"][0], step["sep"][0],
                         "WordPiece" if step["type"] == "BertProcessing" else "BPE")
    if step["type"] != "TemplateProcessing":
        raise refused(f"{where}.type", step["type"],
                      ["TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel"])
    only(step, where, any="type single pair special_tokens")

    def piece(item):
        (what, value), = item.items()
        if what == "Sequence":
            return f"${value['id']}", value["type_id"]
        token, = step["special_tokens"][value["id"]]["tokens"]
        return token, value["type_id"]
    return {name: [piece(item) for item in step[name]] for name in ("single", "pair")}


CLASSES = {"BPE": ("GPT2", "Roberta", "Bart", "Longformer", "LED", "PreTrained"),
           "WordPiece": ("Bert", "DistilBert", "Electra", "MobileBert", "PreTrained")}
GPT2_ROLES = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
ROBERTA_ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "sep_token": "</s>",
                 "pad_token": "<pad>", "cls_token": "<s>", "mask_token": "<mask>"}
BERT_ROLES = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]",
              "mask_token": "[MASK]"}


def content(token):
    """The text of a token, which stands as a string or as a dictionary."""
    text = token["content"] if isinstance(token, dict) else token
    if not isinstance(text, str):
        raise TypeError(f"{token!r} is no token")
    return text


def id_of(i):
    if not i.isdecimal():
        raise TypeError(f"{i!r} is no id")
    return int(i)


def from_bpe_files(vocab_path, merges_path, config):
    """TokenizerFiles of vocab.json and merges.txt; config: what else is known."""
    vocab = checked_vocab(json_of(vocab_path), vocab_path)
    if any(token.endswith("</w>") for token in vocab):
        raise damaged(vocab_path, "its words end with </w>, so it is not byte-level", READABLE)
    lines = [line for line in lines_of(merges_path) if line and not line.startswith("#version")]
    merges = checked_merges(lines, vocab, merges_path)
    usual = ROBERTA_ROLES if {"<s>", "</s>"} <= vocab.keys() else GPT2_ROLES
    files = TokenizerFiles("BPE", vocab, merges, options={
        **BPE_OPTIONS, "add_prefix_space": config.get("add_prefix_space", False)})
    return completed(files, usual, config, vocab_path)


def from_wordpiece_file(path, config):
    """TokenizerFiles of vocab.txt, a token a line."""
    vocab = checked_vocab({token: i for i, token in enumerate(lines_of(path))}, path)
    options = {"lowercase": config.get("do_lower_case", True), "strip_accents": config.get("strip_accents"),
               "chinese": config.get("tokenize_chinese_chars", True)}
    files = TokenizerFiles("WordPiece", vocab, options={**WORDPIECE_OPTIONS, **options})
    return completed(files, BERT_ROLES, config, path)


def completed(files, usual, config, path):
    """`files` with added tokens, roles and a template, where the model's own files do not have them."""
    name, known = config.get("tokenizer_class"), CLASSES[files.kind]
    if name and not name.startswith(known):
        raise refused(f"tokenizer_config.json beside {path}: tokenizer_class", name, known)
    only({key: config[key] for key in ("do_basic_tokenize", "never_split", "add_bos_token") if key in config},
         f"tokenizer_config.json beside {path}", do_basic_tokenize=(True,), never_split=(None, []),
         add_bos_token=(False,))
    added = {entry["content"]: AddedToken(id=id_of(i), **{key: entry[key] for key in FLAGS if key in entry})
             for i, entry in config.get("added_tokens_decoder", {}).items()}
    added |= {token: AddedToken(token, i) for token, i in config.get("added_tokens", {}).items()}
    for token in added.values():
        files.vocab.setdefault(token.content, token.id)
    roles = {role: token for role, token in usual.items() if token in files.vocab}
    roles |= {role: content(config[role]) for role in ROLES if config.get(role) is not None}
    for role, token in roles.items():
        given = config.get(role)
        flags = {key: given[key] for key in FLAGS if key in given} if isinstance(given, dict) else {
            "content": token, "lstrip": role == "mask_token" and files.kind == "BPE"}    # as RoBERTa has it
        if token in files.vocab and token not in added:
            added[token] = AddedToken(id=files.vocab[token], **flags)
    files.added, files.roles = sorted(added.values(), key=lambda token: token.id), roles
    if {"cls_token", "sep_token"} <= roles.keys():
        files.template = framed_by(roles["cls_token"], roles["sep_token"], files.kind)
    checked_vocab(files.vocab, path)
    return files


FLAGS = ("content", "special", "lstrip", "rstrip", "single_word", "normalized")


def read_files(folder):
    """TokenizerFiles of the tokenizer in a folder, whichever files it lies in.

    Raises FileNotFoundError if there is none; ValueError that names the file if it is damaged, and the key if
    it says something that is not understood here.
    """
    folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder}. A tokenizer is read from a folder on this "
                                "machine, nothing is downloaded: name the folder with the model's files.")
    found = {name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))}
    def path(name): return os.path.join(folder, name)
    config = {"added_tokens": json_of(path("added_tokens.json")), **json_of(path("special_tokens_map.json")),
              **json_of(path("tokenizer_config.json"))}
    try:
        if "tokenizer.json" in found:
            files = from_tokenizer_json(path("tokenizer.json"))
            files.roles |= {role: content(config[role]) for role in ROLES if config.get(role) is not None}
        elif {"vocab.json", "merges.txt"} <= found:
            files = from_bpe_files(path("vocab.json"), path("merges.txt"), config)
        elif "vocab.txt" in found:
            files = from_wordpiece_file(path("vocab.txt"), config)
        else:
            raise FileNotFoundError(
                f"{folder} has no tokenizer.json, no vocab.txt (BERT), and not both vocab.json and merges.txt"
                f" (GPT-2). It has {', '.join(sorted(found)) or 'no files'}. Copy the missing file there.")
        files.padding_side = config.get("padding_side", files.padding_side)
        longest = config.get("model_max_length") or 1e30
        files.model_max_length = int(longest) if longest < 1e9 else None      # 1e30 stands for: any length
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged(path("tokenizer_config.json"), f"an entry is of the wrong kind ({error!r})") from None
    return files
