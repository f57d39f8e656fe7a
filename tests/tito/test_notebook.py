"""Notebooks in every state that they arrive in, and the ones we write."""

import json
from pathlib import Path

import pytest

from tito.errors import TitoError
from tito.notebook import read_notebook, write_notebook
from tito.source import Cell, exercises, read_percent, strip, write_percent

ROOT = Path(__file__).parents[2]
DEV_FILES = sorted(ROOT.glob("modules/*/*_dev.py"))

CELLS = [
    {"cell_type": "markdown", "source": ["# Title\n", "\n", "Text"], "metadata": {}},
    {"cell_type": "code", "source": "x = 1\ny = 2\n\n", "metadata": {}, "outputs": [{"a": 1}]},
]
WANTED = [("markdown", "# Title\n\nText"), ("code", "x = 1\ny = 2")]


def notebook(cells=CELLS, **changes):
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **changes}


def read(content, label="modules/01_one/one_dev.ipynb"):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read_notebook(data, label)


def shown(cells):
    return [(cell.kind, cell.text) for cell in cells]


# ---- what is read ----


def test_source_as_list_and_as_string():
    assert shown(read(notebook())) == WANTED


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark(encoding):
    content = notebook([{"cell_type": "code", "source": "x = 'é'", "metadata": {}}])
    data = json.dumps(content, ensure_ascii=False).encode(encoding)
    assert shown(read(data)) == [("code", "x = 'é'")]


def test_windows_line_ends_in_the_cells_and_in_the_file():
    cells = [{"cell_type": "code", "source": ["x = 1\r\n", "y = 2\r\n"], "metadata": {}}]
    assert shown(read(notebook(cells))) == WANTED[1:]
    data = json.dumps(notebook(), indent=1).replace("\n", "\r\n").encode()
    assert shown(read(data)) == WANTED


def test_format_3_with_worksheets_input_and_headings():
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [
            {"cells": [
                {"cell_type": "heading", "level": 2, "source": ["Title"]},
                {"cell_type": "code", "language": "python", "input": ["x = 1\n", "y = 2"]},
            ]},
            {"cells": [{"cell_type": "markdown", "source": "End"}]},
        ],
    }  # fmt: skip
    assert shown(read(old)) == [
        ("markdown", "## Title"), ("code", "x = 1\ny = 2"), ("markdown", "End"),
    ]  # fmt: skip


def test_missing_metadata_and_ids_that_are_missing_or_come_twice():
    bare = [{"cell_type": c["cell_type"], "source": c["source"], "id": "same"} for c in CELLS]
    assert shown(read({"cells": bare, "nbformat": 4})) == WANTED
    assert shown(read({"cells": CELLS})) == WANTED
    assert shown(read(notebook([{**c, "metadata": None} for c in CELLS]))) == WANTED


def test_magics_become_comments_so_that_the_rest_is_python():
    text = "%matplotlib inline\n!pip install x\nx = 1\nhelp?\nif x:\n    %time y = 2\n"
    cells = [{"cell_type": "code", "source": text, "metadata": {}},
             {"cell_type": "code", "source": "%%bash\necho hi", "metadata": {}},
             {"cell_type": "code", "source": "y = (7\n% 4)\ns = '''\n%d\n'''"}]  # fmt: skip
    found = read(notebook(cells))
    assert found[0].text == (
        "# %matplotlib inline\n# !pip install x\nx = 1\n# help?\nif x:\n    # %time y = 2"
    )
    assert found[1].text == "# %%bash\n# echo hi"
    assert found[2].text == cells[2]["source"]
    assert len(read_percent(write_percent(found))) == 3


def test_solution_regions_work_as_in_a_text_file():
    text = "#| export\ndef f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION"
    cells = read(notebook([CELLS[0], {"cell_type": "code", "source": text, "metadata": {}}]))
    (exercise,) = exercises(cells)
    lines = write_percent(cells).split("\n")
    assert exercise.id == "f"
    assert lines[exercise.start - 1].strip() == "### BEGIN SOLUTION"
    assert lines[exercise.end - 1].strip() == "### END SOLUTION"
    stripped = read_percent(strip(write_percent(cells), "01_one"))
    assert "return 1" not in stripped[1].text and "01_one: f is not" in stripped[1].text


# ---- what is refused, and what it looks like ----


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"<!DOCTYPE html>\n<html><body>Not found</body></html>", "is a web page (HTML)"),
        (b"\n  <html>", "is a web page (HTML)"),
        (b"# %%\nimport numpy\n", "is text and no notebook"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "is a Git LFS pointer"),
        (json.dumps(notebook(), indent=1).encode()[:-150], "is cut off: its JSON ends in the mid"),
        (json.dumps(notebook()).encode()[:-1], "is cut off"),
        (b'{"cells": [,]}', "is broken JSON at line 1"),
        (b'{\n<<<<<<< HEAD\n"cells": []\n=======\n>>>>>>> x\n}', "has Git's conflict marks"),
        (b"[1, 2]", "is JSON, but a list and no notebook"),
        (b"3", "is JSON, but a number and no notebook"),
        (b'{"name": "package"}', "is JSON, but no notebook: it has no cells"),
        (b'{"cells": {}}', "is JSON, but no notebook: it has no cells"),
        (b'{"nbformat": 5, "cells": []}', "has the notebook format 5"),
        (b'{"nbformat": "4", "cells": []}', "has the notebook format 4"),
        (b"[" * 100_000, ""),
        (b'{"cells": [' + b"[" * 100_000, ""),
        (b'\x80{"cells": []}', "is not UTF-8 (byte 0)"),
    ],
    ids=range(19),
)
def test_what_is_no_notebook_says_what_it_looks_like(data, looks):
    with pytest.raises(TitoError) as error:
        read(data)
    assert error.value.message.startswith(f"modules/01_one/one_dev.ipynb {looks}")
    assert error.value.hint


@pytest.mark.parametrize(
    "cell",
    [None, 3, {}, {"cell_type": "code", "source": 3}, {"cell_type": "code", "source": [1]},
     {"cell_type": "poem", "source": ""}],
)  # fmt: skip
def test_a_broken_cell_is_named_by_its_number(cell):
    with pytest.raises(TitoError) as error:
        read(notebook([CELLS[0], cell]))
    assert error.value.message.startswith("modules/01_one/one_dev.ipynb, cell 2: this is no note")


# ---- what is written ----


def test_a_written_notebook_is_valid_and_read_back():
    nbformat = pytest.importorskip("nbformat")
    cells = read_percent('# %% Top [markdown] tags=["a"]\n# # T\n\n# %%\nx = 1\n\ny = 2\n# %%\n')
    text = write_notebook(cells)
    nbformat.validate(json.loads(text))
    again = read(text.encode())
    assert shown(again) == shown(cells)
    assert [cell.header for cell in again] == [cell.header for cell in cells]
    raw = json.loads(text)["cells"]
    assert raw[0]["metadata"] == {"title": "Top", "tags": ["a"]}
    assert raw[1]["outputs"] == [] and raw[1]["execution_count"] is None
    assert raw[1]["source"] == ["x = 1\n", "\n", "y = 2"]


def test_the_same_cells_give_the_same_bytes_and_no_id_comes_twice():
    cells = [Cell("code", "x = 1")] * 3
    assert write_notebook(cells) == write_notebook(list(cells))
    ids = [cell["id"] for cell in json.loads(write_notebook(cells))["cells"]]
    assert len(set(ids)) == 3
    changed = json.loads(write_notebook([Cell("code", "x = 2"), *cells[1:]]))["cells"]
    assert [c["id"] for c in changed][1:] == ids[1:] and changed[0]["id"] != ids[0]


def test_magics_come_back():
    text = write_notebook([Cell("code", "# %matplotlib inline\n# 5 % of x")])
    (cell,) = json.loads(text)["cells"]
    assert cell["source"] == ["%matplotlib inline\n", "# 5 % of x"]


@pytest.mark.parametrize("path", DEV_FILES, ids=lambda path: path.name)
def test_our_lessons_as_notebooks_have_the_same_cells(path):
    jupytext = pytest.importorskip("jupytext")
    text = path.read_text(encoding="utf-8")
    wanted = shown(read_percent(text))
    theirs = jupytext.writes(jupytext.reads(text, fmt="py:percent"), fmt="ipynb")
    assert shown(read(theirs.encode())) == wanted
    assert shown(read(write_notebook(read_percent(text)).encode())) == wanted
