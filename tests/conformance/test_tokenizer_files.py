"""The package tokenizers: how texts are cut, where added tokens are, and what stands in its files."""
import itertools
import json
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tinytorch.text import from_pretrained
from tinytorch.text.added_tokens import AddedToken, cut_out
from tinytorch.text.bert_words import bert_words
from tinytorch.text.bpe_parts import ALPHABET
from tinytorch.text.pattern import split_words

tokenizers = pytest.importorskip("tokenizers", reason="pip install -e '.[conformance]' has the judge")
decoders, models, normalizers = tokenizers.decoders, tokenizers.models, tokenizers.normalizers
before, after = tokenizers.pre_tokenizers, tokenizers.processors

CHARACTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
TRAPS = "'stdrvemlLab é\u0301Σİßﬁ中.-!_12²½ \t\n\r\xa0\u2003\u3000\x85\x1c\0\u200d\ufffd🙂𝐚"
TEXTS = st.text(st.sampled_from(TRAPS) | st.characters(exclude_categories=["Cs", "Cn"]))
BYTES = before.ByteLevel(add_prefix_space=False)
DIGITS = before.Sequence([before.Digits(individual_digits=True), BYTES])
NEW = pytest.mark.skipif(unicodedata.unidata_version >= "17", reason="Python's Unicode is newer than theirs")
BLOCKS = [CHARACTERS[start:start + 16] for start in range(0, len(CHARACTERS), 16)]


def slices(text, splitter):
    """The judge's words as they stood in the text, not in letters for bytes."""
    return [text[start:end] for _, (start, end) in splitter.pre_tokenize_str(text)]


# Words

@NEW
def test_gpt2s_pattern_on_every_character():
    for block in BLOCKS:
        text = "".join(f"a{character}1{character}!{character} {character}" for character in block)
        assert split_words(text) == slices(text, BYTES), ascii(block)


@given(TEXTS, st.booleans())
def test_gpt2s_pattern(text, digits):
    assert split_words(text, digits) == slices(text, DIGITS if digits else BYTES)


def judge(lowercase, strip_accents, chinese, clean):
    """A function from a text to BERT's words."""
    cleaning = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents, clean_text=clean,
                                          handle_chinese_chars=chinese)
    splitter = before.BertPreTokenizer()
    return lambda text: [word for word, _ in splitter.pre_tokenize_str(cleaning.normalize_str(text))]


@NEW
@pytest.mark.parametrize("options", [(True, None, True, True), (False, True, False, False)])
def test_berts_words_on_every_character(options):
    """But for capital letters that this Python does not know, and so not their small ones"""
    theirs = judge(*options)
    for block in BLOCKS:
        text = "".join(f"é{character}b\n" for character in block
                       if not options[0] or unicodedata.category(character) != "Cn")
        assert bert_words(text, *options) == theirs(text), ascii(block)


@given(TEXTS, st.sampled_from([*itertools.product((True, False), (None, True, False), *[(True, False)] * 2)]))
def test_berts_words(text, options):
    """`normalize` puts marks that stay into an order of their own: sorted here"""
    def in_order(words): return ["".join(sorted(unicodedata.normalize("NFD", word))) for word in words]
    assert in_order(bert_words(text, *options)) == in_order(judge(*options)(text))


# Added tokens

@settings(max_examples=300)
@given(st.text(st.sampled_from("ab <>m_1 \t\xa0é"), max_size=30),
       st.lists(st.tuples(st.sampled_from(["<m>", "<m", "a", "ab", "ba", " a", "m> <m", "é"]),
                          st.fixed_dictionaries({key: st.booleans() for key in
                                                 ("lstrip", "rstrip", "single_word", "normalized")})),
                max_size=4, unique_by=lambda token: token[0]))
def test_where_added_tokens_are(text, added):
    vocab = {character: i for i, character in enumerate("ab <>m_1\t\xa0é?")}
    theirs = tokenizers.Tokenizer(models.WordLevel(vocab, unk_token="?"))
    theirs.pre_tokenizer = before.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    theirs.add_tokens([tokenizers.AddedToken(content, **flags) for content, flags in added])
    ours = [AddedToken(content, theirs.token_to_id(content), **flags) for content, flags in added]
    ids = [i for piece, token in cut_out(text, ours)
           for i in ([token.id] if token else map(theirs.token_to_id, piece))]
    assert ids == theirs.encode(text).ids


# Folders

MERGES = [("Ġ", "a"), ("a", "b"), ("Ġa", "b"), ("'", "s"), ("Ã", "©"), ("1", "2"), ("Ġ", "Ġ"), ("Ċ", "Ċ")]
BPE_VOCAB = {token: i for i, token in enumerate([*ALPHABET, *map("".join, MERGES)])}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abemlst12.'-!é中ßΣσi", *"ab ss".split(),
          *"##a ##b ##é ##s ##st ##ab ##\u0307".split()]
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", tokenizers.AddedToken("<mask>", lstrip=True)]


def byte_level(splitter, process=None, specials=("<|endoftext|>",)):
    theirs = tokenizers.Tokenizer(models.BPE(BPE_VOCAB, MERGES))
    theirs.pre_tokenizer, theirs.decoder = splitter, decoders.ByteLevel()
    theirs.add_special_tokens([*specials])
    if process:
        theirs.post_processor = process(theirs.token_to_id)
    return theirs


def wordpiece(**options):
    return tokenizers.BertWordPieceTokenizer({piece: i for i, piece in enumerate(PIECES)}, **options)


def roberta(i): return after.RobertaProcessing(("</s>", i("</s>")), ("<s>", i("<s>")))


def ends(i):
    return after.TemplateProcessing("$A <|endoftext|>", "$A <|endoftext|> $B:1 <|endoftext|>:1",
                                    [("<|endoftext|>", i("<|endoftext|>"))])


FOLDERS = {
    "GPT-2": lambda: byte_level(BYTES, lambda i: after.ByteLevel(trim_offsets=False)),
    "RoBERTa": lambda: byte_level(BYTES, roberta, SPECIALS),
    "a blank first": lambda: byte_level(before.ByteLevel(add_prefix_space=True), roberta, SPECIALS),
    "SmolLM2": lambda: byte_level(DIGITS, None, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]),
    "an end": lambda: byte_level(BYTES, lambda i: after.Sequence([after.ByteLevel(), ends(i)])),
    "BERT": lambda: wordpiece(), "cased BERT": lambda: wordpiece(lowercase=False),
    "BERT, as it is": lambda: wordpiece(strip_accents=False, handle_chinese_chars=False, clean_text=False),
}
SNIPPETS = ["<s>", " <mask>", "<|endoftext|>", "[SEP]", " [MASK] ", "<|im_end|>", "ab", " 12", "É", "  \n\n"]
WITH_SPECIALS = st.lists(st.sampled_from(SNIPPETS) | TEXTS, max_size=6).map("".join)


@pytest.fixture(scope="module", params=FOLDERS)
def pair(request, tmp_path_factory):
    """(ours, theirs) of a folder that the judge wrote, and (ours, theirs) of one that we wrote then."""
    folder = tmp_path_factory.mktemp("tokenizer")
    theirs = FOLDERS[request.param]()
    theirs.save(str(folder / "tokenizer.json"))
    ours = from_pretrained(folder)
    ours.save(folder / "again")
    again = tokenizers.Tokenizer.from_file(str(folder / "again" / "tokenizer.json"))
    return (ours, theirs), (from_pretrained(folder / "again"), again)


@settings(max_examples=200)
@example(text="\tab<mask>a <s>\nb", second="", add=True)
@given(text=WITH_SPECIALS, second=st.none() | WITH_SPECIALS, add=st.booleans())
def test_folders(pair, text, second, add):
    """From the judge's file as from ours, for us and for the judge: the same ids and types"""
    for ours, theirs in pair:
        found = theirs.encode(text, second, add_special_tokens=add)
        mine = ours(text, second, add_special_tokens=add, return_token_type_ids=True)
        assert mine["input_ids"] == found.ids and mine["token_type_ids"] == found.type_ids


def test_older_files(tmp_path):
    """What we write for programs that know no tokenizer.json"""
    text = "ab's 12é  <|endoftext|> \n\nÉab 中"
    (tmp_path / "tokenizer.json").write_text(FOLDERS["GPT-2"]().to_str(), encoding="utf-8")
    ours = from_pretrained(tmp_path)
    ours.save(tmp_path)
    theirs = tokenizers.ByteLevelBPETokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    theirs.add_special_tokens(["<|endoftext|>"])
    assert ours.encode(text) == theirs.encode(text).ids
    assert json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8")) == ours.get_vocab()
    (tmp_path / "tokenizer.json").write_text(FOLDERS["BERT"]().to_str(), encoding="utf-8")
    ours = from_pretrained(tmp_path)
    ours.save(tmp_path)
    theirs = tokenizers.BertWordPieceTokenizer(str(tmp_path / "vocab.txt"))
    assert ours.encode(text) == theirs.encode(text).ids
