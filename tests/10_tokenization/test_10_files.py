"""Folders of Hugging Face: what is read, what is refused and how, and that what is written can be read."""
import copy
import json

import pytest

from tinytorch.text.added_tokens import AddedToken, cut_out
from tinytorch.text.hf_files import BPE_OPTIONS, WORDPIECE_OPTIONS, TokenizerFiles, read_files
from tinytorch.text.hf_writing import write_files

VOCAB = {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4}
MERGES = [("a", "b"), ("Ġ", "ab")]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"]
TYPES = {"single": [("[CLS]", 0), ("$A", 0), ("[SEP]", 0)],
         "pair": [("[CLS]", 0), ("$A", 0), ("[SEP]", 0), ("$B", 1), ("[SEP]", 1)]}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
END = {"id": 5, "content": "<end>", "single_word": False, "lstrip": False, "rstrip": False,
       "normalized": False, "special": True}
GPT2 = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [END], "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL, "post_processor": {**BYTE_LEVEL, "trim_offsets": False},
        "decoder": BYTE_LEVEL,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "ignore_merges": False, "vocab": VOCAB, "merges": [list(pair) for pair in MERGES]}}
BERT = {"version": "1.0", "truncation": {"max_length": 128}, "added_tokens": [],
        "padding": {"direction": "Left", "pad_token": "[PAD]"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": False,
                       "strip_accents": None, "lowercase": False},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 50, "vocab": {piece: i for i, piece in enumerate(PIECES)}}}


def put(folder, **files):
    """A folder with these files; a dot in a name is written as __, a dictionary as JSON."""
    for name, data in files.items():
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8", newline="")
    return folder


def changed(base, path, value):
    """A copy of a tokenizer.json with another value at "key.key"."""
    data = copy.deepcopy(base)
    *keys, last = path.split(".")
    node = data
    for key in keys:
        node = node[key]
    node[last] = value
    return data


# tokenizer.json

def test_byte_level(tmp_path):
    files = read_files(put(tmp_path, tokenizer__json=GPT2))
    assert (files.kind, files.merges, files.template, files.roles) == ("BPE", MERGES, None, {})
    assert files.vocab == {**VOCAB, "<end>": 5} and files.added == [AddedToken("<end>", 5)]
    assert files.options == {"add_prefix_space": False, "digits": False}
    assert files.padding_side == "right" and files.model_max_length is None


def test_as_gpt2s_file_was_once(tmp_path):
    """No type of the model, empty strings for nothing, merges as lines, no use_regex"""
    old = changed(GPT2, "model", {"dropout": None, "unk_token": "", "continuing_subword_prefix": "",
                                  "end_of_word_suffix": "", "fuse_unk": False, "vocab": VOCAB,
                                  "merges": ["a b", "Ġ ab"]})
    old["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    files = read_files(put(tmp_path, tokenizer__json=old))
    assert files.merges == MERGES and files.options["add_prefix_space"] and files.roles == {}


def test_digits(tmp_path):
    """SmolLM2 cuts digits off first"""
    steps = [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL]
    both = {"type": "Sequence", "pretokenizers": steps}
    assert read_files(put(tmp_path, tokenizer__json=changed(GPT2, "pre_tokenizer", both))).options["digits"]
    for wrong in (steps[::-1], steps[:1], [{"type": "Digits", "individual_digits": False}, BYTE_LEVEL],
                  [steps[0], {**BYTE_LEVEL, "add_prefix_space": True}]):
        data = changed(GPT2, "pre_tokenizer", {"type": "Sequence", "pretokenizers": wrong})
        with pytest.raises(ValueError, match="pre_tokenizer"):
            read_files(put(tmp_path, tokenizer__json=data))


def test_roberta(tmp_path):
    """Two separators between two texts, and the mask takes the blank before it"""
    data = changed(GPT2, "post_processor", {
        "type": "RobertaProcessing", "sep": ["</s>", 7], "cls": ["<s>", 6], "trim_offsets": True,
        "add_prefix_space": False})
    data["added_tokens"] = [{**END, "id": 6 + i, "content": token, "lstrip": token == "<mask>"}
                            for i, token in enumerate(["<s>", "</s>", "<mask>"])]
    files = read_files(put(tmp_path, tokenizer__json=data))
    assert files.template == {
        "single": [("<s>", 0), ("$A", 0), ("</s>", 0)],
        "pair": [("<s>", 0), ("$A", 0), ("</s>", 0), ("</s>", 0), ("$B", 0), ("</s>", 0)]}
    assert files.roles == {"cls_token": "<s>", "sep_token": "</s>"} and files.added[2].lstrip


def test_wordpiece(tmp_path):
    files = read_files(put(tmp_path, tokenizer__json=BERT))
    assert (files.kind, files.template, files.merges) == ("WordPiece", TYPES, [])
    assert files.options == {"lowercase": False, "strip_accents": None, "chinese": False, "clean": True,
                             "max_input_chars_per_word": 50, "prefix": "##"}
    assert files.roles == {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "cls", "sep", "pad")}
    assert files.padding_side == "left"


def test_characters(tmp_path):
    """A CharTokenizer's: each character by itself, and nothing else"""
    each = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}
    data = {"added_tokens": [], "pre_tokenizer": each, "decoder": {"type": "Fuse"},
            "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}}
    files = read_files(put(tmp_path, tokenizer__json=data))
    assert (files.kind, files.options, files.roles) == ("WordLevel", {}, {"unk_token": "?"})
    wrong = {"pre_tokenizer": {**each, "invert": True}, "decoder": BYTE_LEVEL, "normalizer": each}
    for key, value in wrong.items():
        with pytest.raises(ValueError, match=key):
            read_files(put(tmp_path, tokenizer__json=changed(data, key, value)))


def test_template(tmp_path):
    """Any arrangement, in a Sequence too; a special token is known by its token, not by its name"""
    def piece(name, kind): return {"SpecialToken": {"id": name, "type_id": kind}}
    text = {"Sequence": {"id": "A", "type_id": 3}}
    template = {"type": "TemplateProcessing", "single": [piece("start", 1), text],
                "pair": [text, {"Sequence": {"id": "B", "type_id": 0}}],
                "special_tokens": {"start": {"id": "start", "ids": [5], "tokens": ["<end>"]}}}
    both = {"type": "Sequence", "processors": [BYTE_LEVEL, template]}
    files = read_files(put(tmp_path, tokenizer__json=changed(GPT2, "post_processor", both)))
    assert files.template == {"single": [("<end>", 1), ("$A", 3)], "pair": [("$A", 3), ("$B", 0)]}
    twice = {"type": "Sequence", "processors": [template, template]}
    with pytest.raises(ValueError, match="post_processor"):
        read_files(put(tmp_path, tokenizer__json=changed(GPT2, "post_processor", twice)))


@pytest.mark.parametrize("base, path, value, named", [
    (GPT2, "model.type", "Unigram", "model.type is 'Unigram'"),
    (GPT2, "model.byte_fallback", True, "model.byte_fallback is True"),
    (GPT2, "model.ignore_merges", True, "model.ignore_merges"),
    (GPT2, "model.dropout", 0.1, "model.dropout is 0.1"),
    (GPT2, "model.end_of_word_suffix", "</w>", "model.end_of_word_suffix is '</w>'"),
    (GPT2, "model.new_thing", 1, "model.new_thing is not understood"),
    (GPT2, "extra", {}, "tokenizer.json.extra is not understood"),
    (GPT2, "normalizer", {"type": "NFC"}, "normalizer.type is 'NFC'"),
    (GPT2, "pre_tokenizer", {"type": "Metaspace"}, "pre_tokenizer.type is 'Metaspace'"),
    (GPT2, "pre_tokenizer", None, "pre_tokenizer.type is None"),
    (GPT2, "pre_tokenizer.use_regex", False, "pre_tokenizer.use_regex is False"),
    (GPT2, "post_processor", {"type": "Other"}, "post_processor.type is 'Other'"),
    (GPT2, "decoder", {"type": "Metaspace"}, "decoder.type is 'Metaspace'"),
    (BERT, "normalizer", None, "normalizer.type is None"),
    (BERT, "normalizer.form", 1, "normalizer.form is not understood"),
    (BERT, "pre_tokenizer.type", "Whitespace", "pre_tokenizer.type is 'Whitespace'"),
    (BERT, "added_tokens", [{**END, "id": 7, "normalized": True}], "added_tokens.0..normalized is True")])
def test_what_is_not_understood(tmp_path, base, path, value, named):
    """Is refused by its name, with the file, and with a way out"""
    with pytest.raises(ValueError, match=named) as caught:
        read_files(put(tmp_path, tokenizer__json=changed(base, path, value)))
    assert str(tmp_path / "tokenizer.json") in str(caught.value) and "package tokenizers" in str(caught.value)


@pytest.mark.parametrize("text, reason", [
    ("", "no JSON"), ('{"model": ', "no JSON .*cut off"), ("[]", "a list where a dictionary"),
    ("version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"), ("{}", "missing .*model"),
    (json.dumps(changed(GPT2, "model.vocab", {})), "no vocabulary"),
    (json.dumps(changed(GPT2, "model.vocab", [["a", 1.5]])), "no vocabulary"),
    (json.dumps(changed(GPT2, "model.vocab.a", -1)), "'a' is -1"),
    (json.dumps(changed(GPT2, "model.vocab.a", True)), "'a' is True"),
    (json.dumps(changed(GPT2, "model.vocab.a", 1)), "'a' and 'b' both have id 1"),
    (json.dumps(changed(GPT2, "model.merges", [["a", "b"], ["b", "a"]])), "merge 1 .*no 'ba'"),
    (json.dumps(changed(GPT2, "model.merges", ["a b c"])), "merge 0 is 'a b c'"),
    (json.dumps(changed(GPT2, "model.merges", [3])), "another kind"),
    (json.dumps(changed(BERT, "post_processor.cls", ["<s>", 2])), "'<s>' around texts"),
    (json.dumps(changed(GPT2, "added_tokens", [{**END, "content": "a"}])), "'a' has the ids 0 and 5"),
    (json.dumps(changed(GPT2, "added_tokens", [{**END, "id": 4}])), "both have id 4"),
    (json.dumps(changed(GPT2, "added_tokens", [{**END, "color": 4}])), "color")])
def test_damaged(tmp_path, text, reason):
    """The error names the file and says what to do"""
    with pytest.raises(ValueError, match=reason) as caught:
        read_files(put(tmp_path, tokenizer__json=text))
    assert str(tmp_path / "tokenizer.json") in str(caught.value)


def test_not_utf8(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("[UNK]\né".encode("latin-1"))
    with pytest.raises(ValueError, match="vocab.txt cannot be read: it is no text in UTF-8"):
        read_files(tmp_path)


# Older folders

def test_vocab_and_merges(tmp_path):
    """GPT-2's two files; the end of text in the vocabulary is its special token"""
    put(tmp_path, vocab__json={**VOCAB, "<|endoftext|>": 5}, merges__txt="#version: 0.2\na b\nĠ ab\n")
    files = read_files(tmp_path)
    assert (files.kind, files.merges, files.template, files.options) == ("BPE", MERGES, None, BPE_OPTIONS)
    assert files.roles == dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
    assert files.added == [AddedToken("<|endoftext|>", 5)]
    put(tmp_path, merges__txt="a b\r\nĠ ab", tokenizer_config__json={"add_prefix_space": True,
                                                                     "model_max_length": 1024})
    files = read_files(tmp_path)
    assert files.merges == MERGES and files.options["add_prefix_space"] and files.model_max_length == 1024


def test_merges_of_another_model(tmp_path):
    put(tmp_path, vocab__json=VOCAB, merges__txt="#version: 0.2\na b\nx y\n")
    with pytest.raises(ValueError, match="merges.txt cannot be read: merge 1 .*no 'x'.*same model"):
        read_files(tmp_path)
    put(tmp_path, vocab__json={"a</w>": 0}, merges__txt="")
    with pytest.raises(ValueError, match="not byte-level"):
        read_files(tmp_path)


def test_roberta_by_its_tokens(tmp_path):
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    put(tmp_path, vocab__json={**VOCAB, **{name: 5 + i for i, name in enumerate(names)}}, merges__txt="a b\n")
    files = read_files(tmp_path)
    assert files.roles["cls_token"] == "<s>" and files.roles["sep_token"] == "</s>" and len(files.roles) == 7
    assert files.template["pair"][2:4] == [("</s>", 0), ("</s>", 0)]
    assert [token.content for token in files.added if token.lstrip] == ["<mask>"]
    mask = {"content": "<mask>", "lstrip": False, "rstrip": True, "__type": "AddedToken"}
    files = read_files(put(tmp_path, special_tokens_map__json={"mask_token": mask, "pad_token": None}))
    assert files.added[-1] == AddedToken("<mask>", 9, rstrip=True) and files.roles["pad_token"] == "<pad>"


@pytest.mark.parametrize("text", ["\n".join(PIECES), "\n".join(PIECES) + "\n", "\r\n".join(PIECES) + "\r\n"])
def test_vocab_txt(tmp_path, text):
    """A token a line, whatever the lines end with"""
    files = read_files(put(tmp_path, vocab__txt=text))
    assert list(files.vocab) == PIECES and files.kind == "WordPiece" and files.template == TYPES
    assert files.options["lowercase"] and files.options["strip_accents"] is None
    assert files.roles["mask_token"] == "[MASK]" and len(files.added) == 5


def test_lines_end_at_line_ends_only(tmp_path):
    """BERT's vocabularies hold other characters that Python's splitlines() takes for one"""
    assert read_files(put(tmp_path, vocab__txt="[UNK]\na\u2028b\n\x85\n\x0b")).vocab == {
        "[UNK]": 0, "a\u2028b": 1, "\x85": 2, "\x0b": 3}


def test_config(tmp_path):
    """Names of special tokens, what is cleaned, and tokens that came later"""
    put(tmp_path, vocab__txt="\n".join(["[UNK]", "<c>", "<s>", "a"]), tokenizer_config__json={
        "do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False, "cls_token": "<c>",
        "sep_token": {"content": "<s>", "rstrip": True}, "model_max_length": 1e30, "padding_side": "left",
        "tokenizer_class": "BertTokenizerFast", "never_split": None, "name_or_path": "x",
        "added_tokens_decoder": {"9": {"content": "<nine>", "special": False, "single_word": True}}})
    files = read_files(put(tmp_path, added_tokens__json={"<ten>": 10}))
    assert files.options | {"lowercase": False, "strip_accents": True, "chinese": False} == files.options
    assert files.template["single"] == [("<c>", 0), ("$A", 0), ("<s>", 0)] and files.model_max_length is None
    assert files.vocab["<nine>"] == 9 and files.vocab["<ten>"] == 10 and files.padding_side == "left"
    assert files.added == [AddedToken("[UNK]", 0), AddedToken("<c>", 1), AddedToken("<s>", 2, rstrip=True),
                           AddedToken("<nine>", 9, special=False, single_word=True), AddedToken("<ten>", 10)]


@pytest.mark.parametrize("config, reason", [
    ({"tokenizer_class": "CLIPTokenizer"}, "tokenizer_class is 'CLIPTokenizer'"),
    ({"do_basic_tokenize": False}, "do_basic_tokenize is False"), ({"never_split": ["x"]}, "never_split"),
    ({"added_tokens_decoder": {"0": {"content": "a"}}}, "both have id 0"),
    ({"cls_token": 3}, "wrong kind .*3 is no token"), ({"added_tokens_decoder": 3}, "wrong kind"),
    ({"added_tokens_decoder": {"x": {"content": "a"}}}, "tokenizer_config.json .*wrong kind"),
    ({"model_max_length": "long"}, "wrong kind"), ("nonsense", "tokenizer_config.json cannot be read")])
def test_config_not_understood(tmp_path, config, reason):
    put(tmp_path, vocab__txt="[UNK]\n[CLS]\n", tokenizer_config__json=config)
    with pytest.raises(ValueError, match=reason):
        read_files(tmp_path)


def test_nothing_there(tmp_path):
    """Both errors say what would be there"""
    with pytest.raises(FileNotFoundError, match="no folder .*nothing is downloaded"):
        read_files(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match="no folder"):
        read_files(put(tmp_path, vocab__json="{}") / "vocab.json")
    with pytest.raises(FileNotFoundError, match="no tokenizer.json, no vocab.txt.* It has vocab.json"):
        read_files(tmp_path)


# Writing

@pytest.mark.parametrize("base", [GPT2, BERT])
@pytest.mark.parametrize("old", [False, True])
def test_written_and_read(tmp_path, base, old):
    """The same, from tokenizer.json as well as from the older files"""
    files = read_files(put(tmp_path, tokenizer__json=base))
    files.roles |= {"eos_token": "<end>"} if base is GPT2 else {"mask_token": "[MASK]"}
    files.added = [AddedToken(token, files.vocab[token], lstrip=True) for token in {**files.roles}.values()]
    files.added.sort(key=lambda token: token.id)
    files.model_max_length = 77
    if base is BERT and old:                           # what the older files have no words for
        files.options["max_input_chars_per_word"] = 100
    write_files(tmp_path / "new" / "folder", files)
    if old:
        (tmp_path / "new" / "folder" / "tokenizer.json").unlink()
    assert read_files(tmp_path / "new" / "folder") == files


def test_what_lies_in_the_folder(tmp_path):
    files = TokenizerFiles("WordPiece", {piece: i for i, piece in enumerate(PIECES)},
                           roles={"unk_token": "[UNK]"}, options={**WORDPIECE_OPTIONS})
    write_files(tmp_path / "a", files)
    assert (tmp_path / "a" / "vocab.txt").read_text(encoding="utf-8") == "\n".join(PIECES) + "\n"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]


@pytest.mark.parametrize("change", [
    {"vocab": {"[UNK]": 0, "line\nbreak": 1}}, {"vocab": {"[UNK]": 0, "hole": 2}},
    {"options": {**WORDPIECE_OPTIONS, "clean": False}}, {"options": {**WORDPIECE_OPTIONS, "prefix": "@@"}},
    {"options": {**WORDPIECE_OPTIONS, "max_input_chars_per_word": 9}},
    {"template": {"single": [("$A", 0), ("[UNK]", 0)], "pair": [("$A", 0), ("$B", 1)]}}])
def test_what_vocab_txt_cannot_say(tmp_path, change):
    """Then it is not written, and tokenizer.json says it"""
    files = TokenizerFiles("WordPiece", **{"vocab": {"[UNK]": 0}, "roles": {"unk_token": "[UNK]"},
                                           "options": {**WORDPIECE_OPTIONS}, **change})
    write_files(tmp_path, files)
    assert not (tmp_path / "vocab.txt").exists() and read_files(tmp_path) == files


@pytest.mark.parametrize("change", [
    {"options": {**BPE_OPTIONS, "digits": True}},
    {"template": {"single": [("$A", 0), ("a", 0)], "pair": [("$A", 0), ("$B", 1)]}}])
def test_what_merges_txt_cannot_say(tmp_path, change):
    files = TokenizerFiles("BPE", VOCAB, MERGES, **{"options": {**BPE_OPTIONS}, **change})
    write_files(tmp_path, files)
    assert not (tmp_path / "merges.txt").exists() and read_files(tmp_path) == files


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    files = read_files(put(tmp_path, tokenizer__json=GPT2))

    def full(*paths): raise OSError("no space left")
    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space left"):
        write_files(tmp_path, files)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


# Added tokens

@pytest.mark.parametrize("text, flags, pieces", [
    ("", {}, []), ("abc", {}, ["abc"]), ("<m>", {}, [0]), ("a<m>b<m><m>", {}, ["a", 0, "b", 0, 0]),
    ("a <m> b", {}, ["a ", 0, " b"]), ("a \n<m> b", {"lstrip": True}, ["a", 0, " b"]),
    ("a <m> \tb", {"rstrip": True}, ["a ", 0, "b"]), (" <m> <m> ", {"lstrip": True, "rstrip": True}, [0, 0]),
    ("a<m> <m>b", {"single_word": True}, ["a<m> <m>b"]),
    ("a <m>, _<m>", {"single_word": True}, ["a ", 0, ", _<m>"]), ("<m>_ ", {"single_word": True}, ["<m>_ "]),
    ("<m>b-", {"single_word": True}, ["<m>b-"]), ("-b<m>", {"single_word": True}, ["-b<m>"]),
    ("\xa0<m>\x1c<m>", {"lstrip": True}, [0, "\x1c", 0])])
def test_cut_out(text, flags, pieces):
    cut = cut_out(text, [AddedToken("<m>", 0, **flags), AddedToken("", 1)])
    assert [piece if token is None else token.id for piece, token in cut] == pieces
    assert all(piece == "<m>" for piece, token in cut if token)


def test_which_comes_first():
    """Of two at one place the longer; the first place; a normalized one only where no other is"""
    tokens = [AddedToken("ab", 0), AddedToken("abc", 1), AddedToken("bcd", 2),
              AddedToken(" ab", 3, normalized=True), AddedToken("d", 4, normalized=True)]
    ab, abc, bcd, _, d = tokens
    assert cut_out("abcd ab", tokens) == [("abc", abc), ("d", d), (" ", None), ("ab", ab)]
    assert cut_out("xbcd", tokens) == [("x", None), ("bcd", bcd)]
