"""tito demo: its story on a small course, its training against PyTorch, and the whole of it."""

import json

import pytest

from tito import demo
from tito.commands.student.demo import command
from tito.runner import run_python


@pytest.fixture
def told(small_course, monkeypatch):
    """Runs the demo's story on the small course, with a training that reaches what is asked."""
    monkeypatch.setattr(demo, "source", lambda: small_course.workspace)
    monkeypatch.setattr(demo, "SHOWN", 1)

    def tell(network=98.0, linear=95.0):
        said, shown = [], []

        def train(course):
            built = course.root / "tinytorch/core/thing.py"
            assert "return x * 2" in built.read_text()  # the package is the one just built
            assert course.root != small_course.root
            numbers = dict(parameters=650, seconds=1.0)
            return dict(held_out=360, trained_on=1437, linear=dict(accuracy=linear, **numbers),
                        network=dict(accuracy=network, **numbers))

        monkeypatch.setattr(demo, "train", train)
        steps = demo.Steps(said.append, shown.append)
        return demo.show(steps), "\n".join(said), shown

    return tell


def test_the_story(told):
    reached, said, shown = told()
    assert reached
    stub, solved = shown
    assert [s.state for s in stub.states] == ["not yet"] * 3 and not stub.passed
    assert [s.state for s in solved.states] == ["done"] * 3 and solved.passed
    assert "tinytorch/core/thing.py" in said
    assert "98.0 % of 360 digits" in said and "95.0 %" in said and "reached" in said


@pytest.mark.parametrize("network, linear", [(96.4, 95.0), (97.0, 97.2)])
def test_too_few_digits_read_is_a_failure(told, network, linear):
    reached, said, _ = told(network, linear)
    assert not reached and "missed" in said


def test_a_solution_that_fails_ends_the_demo(told, small_course):
    small_course.change("    return x * 2\n", "    return x * 3\n")
    reached, said, _ = told()
    assert not reached and "the solution pass" in said and "learns" not in said


def test_the_training_reaches_as_much_with_pytorch(tmp_path):
    """The very same script, with PyTorch under the name tinytorch."""
    pytest.importorskip("torch")
    (tmp_path / "tinytorch").mkdir()
    (tmp_path / "tinytorch/__init__.py").write_text(
        "from torch import *\nfrom torch import manual_seed, no_grad, optim\n")
    (tmp_path / "tinytorch/nn.py").write_text(
        "from torch.nn import *\nfrom torch.nn import functional\n")
    data = demo.source().root / "datasets" / "digits.csv.gz"
    code, printed = run_python([str(demo.TRAINING), str(data), "0"], tmp_path)
    assert code == 0, printed
    reached = json.loads(printed.splitlines()[-1])
    assert 94 <= reached["linear"]["accuracy"] <= 96
    assert 98 <= reached["network"]["accuracy"] <= 99.8
    assert reached["held_out"] == 360 and reached["trained_on"] == 1437


@pytest.mark.parametrize("code, learned", [(0, True), (1, False)])
def test_gpt_runs_the_milestone(small_course, monkeypatch, code, learned):
    """In the quick size, without a picture; what it wrote, and whether it learned enough."""
    script = small_course.root / "milestones" / "2018_gpt.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"import sys\nprint('VIOLA.', sys.argv[1:])\nraise SystemExit({code})\n")
    monkeypatch.setattr(demo, "source", lambda: small_course.workspace)
    assert demo.write() == (learned, "VIOLA. ['quick', '--picture', '']")


@pytest.mark.parametrize("quick, shown, learned, code", [
    (False, True, True, 0), (False, True, False, 1), (False, False, True, 1), (True, True, False, 0)])
def test_the_gpt_comes_last(monkeypatch, capsys, quick, shown, learned, code):
    """It is shown unless something went wrong before, or --quick was said."""
    monkeypatch.setattr(demo, "show", lambda steps: shown)
    monkeypatch.setattr(demo, "write", lambda: (learned, "VIOLA."))
    assert command.callback(quick) == code
    assert ("VIOLA." in capsys.readouterr().out) == (shown and not quick)


def test_the_demo(tmp_path):
    """All but the GPT, from a folder that is no course, as after `pip install`."""
    code, printed = run_python(["-c", "from tito.cli import main; main()", "demo", "--quick"], tmp_path)
    assert code == 0, printed
    assert "wanted: 96.5 %, and more than the linear model: reached" in printed
    assert "Next: " in printed and "tinytorch/core/autograd.py" in printed
    assert "epoch" not in printed  # no progress bar in a pipe
