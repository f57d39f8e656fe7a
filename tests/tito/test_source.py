"""Text to cells and back, directives, regions, exercises, stripping."""

import ast
from pathlib import Path

import pytest

from tito.errors import TitoError
from tito.scan import comments
from tito.source import (
    Cell,
    Exercise,
    directives,
    exercises,
    read_percent,
    regions,
    strip,
    unsolved,
    write_percent,
)

ROOT = Path(__file__).parents[2]
DEV_FILES = sorted(ROOT.glob("modules/*/*_dev.py"))


def shown(cells):
    return [(cell.kind, cell.text) for cell in cells]


def code(text, line=1):
    return Cell("code", text, line, source="m/x_dev.py")


# ---- cells ----


def test_markers_cut_the_file_into_cells_with_their_lines():
    cells = read_percent("# %% [markdown]\n# # Title\n#\n# It's text\n\n# %%\n\nx = 1\n\n\n# %%\n")
    assert shown(cells) == [("markdown", "# Title\n\nIt's text"), ("code", "x = 1"), ("code", "")]
    assert [cell.line for cell in cells[:2]] == [2, 8]


def test_metadata_after_the_marker_is_kept():
    text = '# %% A title [markdown] nbgrader={"grade": false}\n# Text\n\n# %% tags=["a"]\nx = 1\n'
    cells = read_percent(text)
    assert [cell.kind for cell in cells] == ["markdown", "code"]
    assert cells[0].header == 'A title [markdown] nbgrader={"grade": false}'
    assert write_percent(cells) == text


@pytest.mark.parametrize("quotes", ['"""', "'''", 'r"""'])
def test_markdown_may_be_a_string_literal(quotes):
    end = quotes[-3:]
    cells = read_percent(f"# %% [markdown]\n{quotes}\n# Title\n\n%% mermaid\n{end}\n# %%\ny = 2\n")
    assert shown(cells) == [("markdown", "# Title\n\n%% mermaid"), ("code", "y = 2")]
    assert [cell.line for cell in cells] == [3, 8]


def test_a_marker_in_a_string_is_no_marker():
    text = '# %%\ns = """\n# %%\n### BEGIN SOLUTION\n#| export\n"""\nt = "# %%"\n'
    cells = read_percent(text)
    assert len(cells) == 1
    assert regions(cells[0]) == [] and directives(cells[0]) == []


def test_quotes_in_comments_open_no_string():
    text = "# %%\n# don't\nx = 1\n# %%\n# isn't\ny = 2\n"
    assert shown(read_percent(text)) == [("code", "# don't\nx = 1"), ("code", "# isn't\ny = 2")]


def test_escaped_quotes_and_an_unclosed_one_stay_in_their_line():
    found = [c.text for c in comments("a = 'it\\'s # no'\nb = \"# no\"\nc = 'open\n# yes\n")]
    assert found == ["# yes"]


def test_code_before_the_first_marker_is_a_cell_and_a_jupytext_header_is_none():
    header = "# ---\n# jupyter:\n#   kernelspec: {name: python3}\n# ---\n"
    assert shown(read_percent(header + "\n# %%\nx = 1\n")) == [("code", "x = 1")]
    assert shown(read_percent("import os\n\n# %%\nx = 1\n")) == [
        ("code", "import os"),
        ("code", "x = 1"),
    ]


def test_windows_line_ends_and_a_byte_order_mark_change_nothing():
    text = "# %%\nx = 1\n\n# %% [markdown]\n# Text\n"
    other = read_percent("\ufeff" + text.replace("\n", "\r\n"))
    assert [(c, c.line) for c in other] == [(c, c.line) for c in read_percent(text)]


def test_an_indented_marker_is_an_error():
    with pytest.raises(TitoError, match=r"m/x_dev\.py:3: an indented `# %%`"):
        read_percent("# %%\ndef f():\n    # %% cut\n    pass\n", "m/x_dev.py")


def test_writing_and_reading_gives_the_same_cells():
    cells = [Cell("markdown", "# A\n\n%% mermaid\n"[:-1]), Cell("code", "x = 1\n\n\ny = 2"),
             Cell("raw", "raw"), Cell("code", ""), Cell("markdown", "text\n# more")]  # fmt: skip
    again = read_percent(write_percent(cells))
    assert shown(again) == shown(cells)
    assert write_percent(again) == write_percent(cells)


@pytest.mark.parametrize("path", DEV_FILES, ids=lambda path: path.name)
def test_jupytext_reads_and_writes_our_lessons_as_we_do(path):
    jupytext = pytest.importorskip("jupytext")
    text = path.read_text(encoding="utf-8")
    ours = read_percent(text)
    notebook = jupytext.reads(text, fmt="py:percent")
    assert shown(ours) == [(c.cell_type, c.source.strip("\n")) for c in notebook.cells]
    written = read_percent(jupytext.writes(notebook, fmt="py:percent"))
    assert [c.text for c in written if c.kind == "code"] == [
        c.text for c in ours if c.kind == "code"
    ]
    assert shown(read_percent(write_percent(ours))) == shown(ours)


@pytest.mark.parametrize("path", DEV_FILES, ids=lambda path: path.name)
def test_a_cell_says_the_line_its_text_begins_at(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    for cell in read_percent("\n".join(lines)):
        if cell.kind == "code" and cell.text:
            assert lines[cell.line - 1] == cell.lines[0]


# ---- directives ----


def test_directives_are_the_leading_lines():
    found = directives(code("#| default_exp core.op\n#|export\nx = 1", 5))
    assert [(d.name, d.argument, d.line) for d in found] == [
        ("default_exp", "core.op", 5),
        ("export", "", 6),
    ]
    assert directives(code("# | exporti: nn.init\nx = 1"))[0].argument == "nn.init"
    assert directives(code("#| export tinytorch.core.op\nx = 1"))[0].argument == "core.op"


def test_a_table_in_a_comment_is_no_directive():
    assert directives(code("x = 1\n# | a | b |\n# | 1 | 2 |")) == []


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("#| exprot\nx = 1", "m/x_dev.py:7: `#| exprot` is no directive.", "`#| export`?"),
        ("#| hide\nx = 1", "m/x_dev.py:7: `#| hide` is no directive.", "There are"),
        ("x = 1\n#| export", "m/x_dev.py:8: `#| export` is out of place.", "first lines"),
        ("x = 1  # | export", "m/x_dev.py:7: `# | export` is out of place.", "first lines"),
        ("# why\n#| export\nx = 1", "m/x_dev.py:8: `#| export` is out of place.", "first lines"),
        ("def f():\n    #| export\n    pass", "m/x_dev.py:8: `#| export` is out", "first lines"),
        ("#| export a b\nx = 1", "m/x_dev.py:7: `#| export a b` is out of place.", "first lines"),
        ("#| default_exp\nx = 1", "m/x_dev.py:7: `#| default_exp` names no target.", "core.tensor"),
        ("#| export core/op\nx = 1", "m/x_dev.py:7: `core/op` is no target.", "dotted name"),
        ("#| export ../x\nx = 1", "m/x_dev.py:7: `../x` is no target.", "dotted name"),
        ("#| export\n#| exporti\nx = 1", "m/x_dev.py:8: a second `#| exporti`", "split it"),
        ("#| export a\n#| export b\nx = 1", "m/x_dev.py:8: a second `#| export`", "split it"),
    ],
)
def test_a_wrong_directive_is_an_error_with_its_line(text, message, hint):
    with pytest.raises(TitoError) as error:
        directives(code(text, 7))
    assert error.value.message.startswith(message)
    assert hint in error.value.hint


# ---- regions and exercises ----

METHODS = """\
class Node:
    def backward(self):
        \"\"\"Walk.\"\"\"
        ### BEGIN SOLUTION
        walk()
        ### END SOLUTION

    class Inner:
        async def deep(self):
            if self:
                ### BEGIN SOLUTION
                return 1
                ### END SOLUTION

def free(x):
    ### BEGIN SOLUTION
    return x
    ### END SOLUTION
"""


def test_an_exercise_is_named_after_the_definition_around_it():
    assert exercises([code(METHODS, 11)]) == [
        Exercise("Node.backward", 14, 16),
        Exercise("Node.Inner.deep", 21, 23),
        Exercise("free", 26, 28),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f():\n    ### BEGIN SOLUTION\n    pass", "m/x_dev.py:4: this SOLUTION region is not"),
        ("def f():\n    pass\n    ### END SOLUTION", "m/x_dev.py:5: `### END SOLUTION` closes"),
        (
            "def f():\n    ### BEGIN SOLUTION\n    ### BEGIN SOLUTION\n    pass\n"
            "    ### END SOLUTION",
            "m/x_dev.py:5: a SOLUTION region inside the one opened at line 4",
        ),
        (
            "def f():\n    ### BEGIN SOLUTION\n    ### BEGIN HIDDEN TESTS\n    pass\n"
            "    ### END HIDDEN TESTS\n    ### END SOLUTION",
            "m/x_dev.py:5: a HIDDEN TESTS region inside the one opened at line 4",
        ),
        (
            "def f():\n    ### BEGIN SOLUTION\n    pass\n    ### END HIDDEN TESTS",
            "m/x_dev.py:6: `### END HIDDEN TESTS` closes nothing",
        ),
        ("def f():\n    ### BEGIN SOLUTIONS\n    pass", "m/x_dev.py:4: `### BEGIN SOLUTIONS` mark"),
        ("def f():\n    ### begin solution\n    pass", "m/x_dev.py:4: `### begin solution` marks"),
        ("def f():\n    pass  ### BEGIN SOLUTION", "m/x_dev.py:4: `### BEGIN SOLUTION` marks no"),
        ("### BEGIN SOLUTION\nx = 1\n### END SOLUTION", "m/x_dev.py:3: this solution region"),
        (
            "def f():\n    ### BEGIN SOLUTION\n    a\n    ### END SOLUTION\n"
            "    ### BEGIN SOLUTION\n    b\n    ### END SOLUTION",
            "m/x_dev.py:7: a second solution region for `f`",
        ),
        ("def f(:\n    ### BEGIN SOLUTION\n    a\n    ### END SOLUTION", "m/x_dev.py:3: Python"),
    ],
)
def test_a_wrong_region_is_an_error_with_its_line(text, message):
    with pytest.raises(TitoError) as error:
        exercises([code(text, 3)])
    assert error.value.message.startswith(message)
    assert error.value.hint


def test_a_region_may_not_run_on_into_the_next_cell():
    text = "# %%\ndef f():\n    ### BEGIN SOLUTION\n    pass\n# %%\n### END SOLUTION\n"
    with pytest.raises(TitoError, match=r"line 3: this SOLUTION region is not closed in its cell"):
        exercises(read_percent(text))


def test_a_prose_line_about_the_end_is_no_marker():
    assert regions(code("# begin by reading\n# END of the story\nx = 1")) == []


# ---- stripping ----

LESSON = '''\
# %%
def double(x):
    """Twice x. ### BEGIN SOLUTION is only text here."""
    scale = 2
    ### BEGIN SOLUTION
    secret = x * scale
    return secret
    ### END SOLUTION


# %%
class TestDouble:
    def test_shown(self):
        assert double(1) == 2

    ### BEGIN HIDDEN TESTS
    def test_hidden(self):
        assert double(-1) == -2
    ### END HIDDEN TESTS
'''


def test_strip_leaves_a_stub_that_raises_and_no_hidden_test():
    text = strip(LESSON, "01_thing")
    names = {}
    exec(compile(text, "stub", "exec"), names)
    with pytest.raises(NotImplementedError) as error:
        names["double"](1)
    assert str(error.value) == "01_thing: double is not written yet"
    assert "secret" not in text and "hidden" not in text.lower()
    assert hasattr(names["TestDouble"], "test_shown")
    assert "scale = 2" in text and "is only text here" in text
    ast.parse(text)


def test_the_stub_keeps_its_place_so_that_the_exercise_can_be_found():
    text = strip(LESSON, "01_thing")
    assert exercises(read_percent(text)) == [Exercise("double", 5, 7)]
    assert unsolved(read_percent(LESSON)) == (1, 0)
    assert unsolved(read_percent(text)) == (1, 1)


def test_strip_twice_is_strip_once():
    once = strip(LESSON, "01_thing")
    assert strip(once, "01_thing") == once
