"""What the tests of lessons share: a course folder, and running Python in it."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAD = "from tito.lesson import (dataset, expect, expect_error, measure, run_tests)\n"
CHECKED = '''
print("imported as", __name__)
class TestF:
    """The f"""
    def test_one(self):
        "One"
        assert 1 == 1
    def test_bad(self):
        assert 1 == 2
run_tests(TestF)
@measure
def measured(): print("measured")
'''


class Course:
    def __init__(self, root):
        self.root = root
        self.write("tinytorch/__init__.py", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def package(self, target, module, text, stub=False):
        word = "Stub: built by" if stub else "Generated from"
        dev = f"modules/{module}/{module[3:]}_dev.py"
        return self.write(f"tinytorch/{target}.py", f"# {word} {dev} by tito export.\n{text}")

    def lesson(self, text, module="05_five"):
        return self.write(f"modules/{module}/{module[3:]}_dev.py", HEAD + textwrap.dedent(text))

    def run(self, text, module="05_five", cwd=None, **environment):
        path = self.lesson(text, module)
        return python([str(path)], cwd or self.root, **environment)


def python(arguments, cwd, **environment):
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"} | environment
    env.pop("TITO_SILENT", None) if "TITO_SILENT" not in environment else None
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, encoding="utf-8",
        timeout=60,
    )  # fmt: skip
