"""What the tests of the exporter share: a tiny course, and reading what was exported."""

import ast
import textwrap

import pytest

from tito.errors import TitoError
from tito.export import export, plan
from tito.workspace import Workspace


class Course:
    """A tiny course folder; lessons are given as their code cells."""

    def __init__(self, root):
        self.root = root
        self.write("tinytorch/__init__.py", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def lesson(self, *cells, name="01_one/one_dev.py"):
        text = "\n".join("# %%\n" + textwrap.dedent(cell).strip("\n") + "\n" for cell in cells)
        return self.write(f"modules/{name}", text)

    @property
    def workspace(self):
        return Workspace(self.root)

    def plan(self, module="1"):
        files = plan(self.workspace, self.workspace.module(module))
        return {p.relative_to(self.root / "tinytorch").as_posix(): t for p, t in files.items()}

    def export(self, module="1"):
        return export(self.workspace, self.workspace.module(module)).changed

    def fails(self, module="1"):
        with pytest.raises(TitoError) as error:
            self.plan(module)
        return error.value


def body(text):
    """What stands below the header, the docstring and `__all__`."""
    tree = ast.parse(text)
    kept = [n for n in tree.body[1:] if "__all__" not in ast.unparse(n).split("\n")[0]]
    return [ast.unparse(node) for node in kept]


def imports(text):
    return [line for line in body(text) if line.startswith(("import", "from"))]


def one(course, *cells):
    """The exported text of one target `a` with these cells."""
    course.lesson("#| default_exp a", *cells)
    return course.plan()["a.py"]


def late_course(course):
    course.lesson(
        "#| default_exp core.op",
        "#| export\nclass Op:\n    def __call__(self, x): return Tensor(x.data * 2)",
        "#| export core.ops\ndouble = Op()",
        "#| export core.tensor\nclass Tensor:\n    def __init__(self, data): self.data = data\n"
        "    def double(self): return double(self)",
    )
    return course.plan()
