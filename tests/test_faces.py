"""The public names: each leads somewhere, importing is light, and the README speaks the truth."""
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tinytorch

ROOT = Path(__file__).parents[1]


def python(code, *options, **environment):
    done = subprocess.run([sys.executable, *options, "-c", code], cwd=ROOT, text=True,
                          capture_output=True,
                          timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT), **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def generated(module):
    with open(module.__file__, encoding="utf-8") as file:
        return file.readline().startswith("# Generated from modules/")


def faces():
    found = [tinytorch]
    for info in pkgutil.walk_packages(tinytorch.__path__, "tinytorch."):
        module = importlib.import_module(info.name)
        if not generated(module) and not info.name.rpartition(".")[2].startswith("_"):
            found.append(module)
    return found


FACES = {module.__name__: module for module in faces()}


def test_the_faces_are_those_pytorch_lessons_import():
    assert {"tinytorch", "tinytorch.nn", "tinytorch.nn.functional", "tinytorch.nn.init",
            "tinytorch.autograd",
            "tinytorch.func", "tinytorch.cuda", "tinytorch.linalg"} <= set(FACES)


@pytest.mark.parametrize("name", FACES)
def test_every_name_leads_somewhere(name):
    """What a face lists in __all__ and dir() can be had, twice, and is the same"""
    face = FACES[name]
    for public in {*getattr(face, "__all__", ()), *[n for n in dir(face) if not n.startswith("_")]}:
        assert getattr(face, public) is getattr(face, public), public


@pytest.mark.parametrize("name", FACES)
def test_an_unknown_name_is_an_attribute_error(name):
    with pytest.raises(AttributeError, match="no_such_name"):
        FACES[name].no_such_name  # noqa: B018


def test_names_are_the_things_themselves():
    from tinytorch.core import creation, ops
    from tinytorch.core.tensor import Tensor
    assert tinytorch.Tensor is Tensor and tinytorch.randn is creation.randn
    assert tinytorch.matmul is ops.matmul
    assert tinytorch.mul is tinytorch.multiply is ops.multiply
    assert tinytorch.nn.functional.relu is not None
    assert tinytorch.nn.Linear.__module__ == "tinytorch.nn.layers"


def test_every_rule_is_known_from_the_start():
    """Whatever is imported first: ops know their rules and tensors their methods"""
    for first in ("import tinytorch", "import tinytorch.nn.functional",
                  "from tinytorch.core.tensor import Tensor",
                  "import tinytorch.core.ops", "import tinytorch.core.math",
                  "import tinytorch.nn.activations"):
        assert python(f"""
{first}
import tinytorch as torch
x = torch.tensor([[1., 2.]], requires_grad=True)
y = x.softmax(-1).log_softmax(-1).relu().topk(1).values.norm() + (x @ x.mT).sum() + x.float().std()
y.backward()
print(x.grad.shape)""").strip() == "(1, 2)", first


HEAVY = "torch cupy numba matplotlib tito tqdm safetensors yaml scipy pytest".split()


@pytest.mark.parametrize("line",
                         ["import tinytorch", "import tinytorch.nn",
                          "from tinytorch import nn, autograd, func",
                                  "import tinytorch as t; t.randn(2, 2).softmax(-1)"])
def test_importing_is_light(line):
    """NumPy, and nothing that is heavy or not needed"""
    loaded = python(f"import sys; {line}; print(*{{n.split('.')[0] for n in sys.modules}})").split()
    assert [name for name in HEAVY if name in loaded] == [] and "numpy" in loaded


def test_models_are_loaded_when_they_are_asked_for():
    """Neither the package nor the face of models loads one; a name loads its file and no other model's"""
    loaded, later = [set(line.split()) for line in python("""
import sys, tinytorch, tinytorch.nn, tinytorch.models as models
def names(): return [n.rpartition(".")[2] for n in sys.modules if n.startswith("tinytorch.models.")]
print(*names())
models.GPTDecoder
print(*names())""").split("\n")[:2]]
    assert loaded == set() and "gpt" in later and not later & {"bert", "vit", "seq2seq", "masking"}


def test_importing_prints_nothing_and_warns_of_nothing():
    assert python("import tinytorch, tinytorch.nn, tinytorch.cuda", "-W", "error") == ""


def test_asking_for_cuda_is_safe_without_cupy():
    assert python("""
import sys
sys.modules["cupy"] = None
import tinytorch as torch
print(torch.cuda.is_available())
try: torch.zeros(2).cuda()
except RuntimeError as error: print("RuntimeError", "[gpu]" in str(error))""").split() == [
        "False", "RuntimeError", "True"]


# ---- unfinished modules ----

@pytest.mark.parametrize("hidden", [2, 3, 5, 6])
def test_a_name_of_an_unfinished_module_says_who_builds_it(hidden):
    """Importing tinytorch never fails because a later module is unfinished"""
    code = f"""
from tito.lesson import hide_from
hide_from({hidden}, {str(ROOT)!r})
import tinytorch as torch
from tinytorch import nn
x = torch.tensor([[1., 2.]])
assert (x @ x.mT).item() == 5.
for module, name in [(torch, "relu"), (nn, "Linear"), (torch, "no_grad"), (torch.optim, "SGD")]:
    try: getattr(module, name)
    except ImportError as error: print(name, error)
"""
    said = python(code)
    for number, name in [(2, "relu"), (3, "Linear"), (5, "no_grad"), (6, "SGD")]:
        assert (re.search(rf"^{name} .*\b0{number}_\w+ builds", said,
                          re.M) is not None) == (number >= hidden), said


# ---- the README ----

def blocks():
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


def test_the_readme_shows_code():
    assert blocks(), "README.md has no ```python block: ten lines of use belong there"


def test_the_readmes_code_runs(tmp_path):
    """One block after the other; a number or tensor behind a print is what it prints"""
    code = "\n".join(blocks())
    printed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True,
                             capture_output=True, timeout=120,
                             env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert printed.returncode == 0, printed.stderr
    for said in re.findall(r"^print\(.*\)\s+# ((?:tensor\(|[\d\[(]).*)$", code, re.M):
        assert said.strip() in printed.stdout, f"README says {said!r}, it prints {printed.stdout!r}"


def test_every_file_with_methods_of_tensor_is_loaded_at_once():
    """Also when no later module happens to import it: x.split must be there after module 01"""
    folder = Path(tinytorch.__file__).parent
    givers = [path for path in folder.rglob("*.py")
              if re.search(r"^@method|^@op\(.*method=True", path.read_text(encoding="utf-8"), re.M)]
    names = {".".join(path.relative_to(folder).with_suffix("").parts) for path in givers}
    first_lines = (folder / "__init__.py").read_text(encoding="utf-8").split("import_module(f")[0]
    assert len(names) > 8
    assert {name for name in names if f'"{name}"' not in first_lines} == {"core.ops"}     # core.tensor does
