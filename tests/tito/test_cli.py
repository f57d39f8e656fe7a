"""The command line: names, exit codes, two-line errors, pipes, speed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import pytest

ROOT = Path(__file__).parents[2]

LESSON = '''\
# %%
#| default_exp core.{name}
from tito.lesson import run_tests
{first}
# %%
#| export
def {name}(x):
    ### BEGIN SOLUTION
    return {value}
    ### END SOLUTION

# %%
class Test{title}:
    """The {name}"""
    def test_three(self):
        "Three becomes six"
        assert {name}(3) == 6
run_tests(Test{title})
'''


class Course:
    def __init__(self, root):
        self.root = root
        self.write("tinytorch/__init__.py", "")
        self.lesson(1, "double", "x * 2")
        self.lesson(2, "twice", "double(x)", "from tinytorch.core.double import double")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def lesson(self, number, name, value, first=""):
        text = LESSON.format(name=name, title=name.capitalize(), value=value, first=first)
        return self.write(f"modules/{number:02d}_{name}/{name}_dev.py", text)

    def tito(self, *arguments, cwd=None, **environment):
        return tito(*arguments, cwd=cwd or self.root, **environment)


def tito(*arguments, cwd, **environment):
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"} | environment
    return subprocess.run(
        [sys.executable, "-m", "tito", *arguments], cwd=cwd, env=env, capture_output=True,
        encoding="utf-8", stdin=subprocess.DEVNULL, timeout=100,
    )  # fmt: skip


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path.resolve() / "course")


def two_lines(done, first, second, code=2):
    """Nothing but a message and a hint on stderr, nothing on stdout, this exit code."""
    lines = done.stderr.splitlines()
    assert done.returncode == code and done.stdout == ""
    assert len(lines) == 2 and "Traceback" not in done.stderr, done.stderr
    assert first in lines[0] and second in lines[1]


# ---- export ----


def test_export_writes_and_then_has_nothing_to_do(course):
    done = course.tito("export", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "01_double: exported to tinytorch/core/double.py\n"
    assert course.tito("export", "double").stdout == "01_double: up to date\n"


@pytest.mark.parametrize("name", ["1", "01", "01_double", "double", "doub", "modules/01_double/"])
def test_a_module_has_many_names(course, name):
    assert course.tito("export", name, "--force").stdout.startswith("01_double: exported")


def test_a_module_that_is_not_there_or_not_the_only_one(course):
    two_lines(course.tito("export", "9"), "There is no module `9`.", "01_double, 02_twice")
    two_lines(course.tito("export", "dubble"), "no module `dubble`", "Did you mean 01_double?")
    two_lines(course.tito("export", "_"), "`_` names several modules: 01_double, 02_twice", "Give")


def test_a_module_that_fails_its_tests_is_refused(course):
    course.lesson(1, "double", "x * 3")
    done = course.tito("export", "1")
    two_lines(done, "01_double fails its own tests, so it was not exported: double (failing: 1 of "
              "1 checks).", "tito test 01 (or export it as it is", 1)
    assert not (course.root / "tinytorch/core/double.py").exists()
    assert course.tito("export", "1", "--force").returncode == 0
    assert "return x * 3" in (course.root / "tinytorch/core/double.py").read_text()


def test_all_goes_in_order_and_stops_at_what_fails(course):
    done = course.tito("export", "--all")
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["01_double", "02_twice"]
    course.lesson(1, "double", "x * 3")
    done = course.tito("export", "--all")
    assert done.returncode == 1 and "01_double fails" in done.stderr


def test_all_removes_what_no_lesson_exports(course):
    course.tito("export", "--all")
    gone = course.root / "tinytorch/core/old.py"
    gone.write_text((course.root / "tinytorch/core/double.py").read_text())
    assert course.tito("export", "1").stdout == "01_double: up to date\n" and gone.exists()
    assert "tinytorch/core/old.py" in course.tito("export", "--check").stdout
    done = course.tito("export", "--all")
    assert "tinytorch/core/old.py removed" in done.stdout and not gone.exists()
    assert course.tito("export", "--check").returncode == 0


def test_check_writes_nothing(course):
    done = course.tito("export", "--check", "1")
    assert done.returncode == 1 and "+def double(x):" in done.stdout
    assert not (course.root / "tinytorch/core").exists()
    course.tito("export", "1")
    done = course.tito("export", "--check", "1")
    assert (done.returncode, done.stdout) == (0, "The package says what the lessons say.\n")
    assert course.tito("export", "--check").returncode == 1  # module 02 is not exported


def test_a_hand_edited_export_is_kept(course):
    course.tito("export", "1")
    path = course.root / "tinytorch/core/double.py"
    path.write_text(path.read_text() + "mine = 1\n")
    done = course.tito("export", "1")
    assert "edited by hand; it is kept: .tito/edited/double." in done.stdout
    (kept,) = (course.root / ".tito/edited").iterdir()
    assert kept.read_text().endswith("mine = 1\n") and "mine" not in path.read_text()


def test_two_sources_need_a_flag(course):
    from tito.notebook import write_notebook
    from tito.source import read_percent

    path = course.root / "modules/01_double/double_dev.py"
    text = path.read_text().replace("x * 2", "x + x")
    path.with_suffix(".ipynb").write_text(write_notebook(read_percent(text)))
    two_lines(course.tito("export", "1"), "double_dev.py and double_dev.ipynb are both", "--from")
    assert course.tito("export", "1", "--from", "ipynb").returncode == 0
    assert "x + x" in (course.root / "tinytorch/core/double.py").read_text()
    assert course.tito("export", "1", "--from", "py").returncode == 0
    assert "x * 2" in (course.root / "tinytorch/core/double.py").read_text()


def test_a_mistake_in_a_lesson_is_two_lines_with_its_place(course):
    course.lesson(1, "double", "x * foo")
    two_lines(
        course.tito("export", "1", "--force"), "modules/01_double/double_dev.py:9: `foo`", "Define"
    )
    course.lesson(1, "double", "x * (")
    two_lines(course.tito("export", "1"), "modules/01_double/double_dev.py:", "Correct the line")
    course.write("modules/01_double/double_dev.py", "").write_bytes(b"x = '\xff'")
    two_lines(course.tito("export", "1"), "double_dev.py is not UTF-8 (byte 5)", "UTF-8")


def test_outside_a_course_the_way_in_is_said(course, tmp_path):
    two_lines(tito("export", "1", cwd=tmp_path), "is not in a course folder", "tito init DIR")
    inside = course.root / "modules/01_double"
    assert course.tito("export", "1", cwd=inside).returncode == 0


def test_a_folder_that_cannot_be_written_is_no_traceback(course):
    if os.name == "nt" or os.geteuid() == 0:
        (course.root / "tinytorch/core").write_text("a file where the folder should be")
        done = course.tito("export", "1", "--force")
    else:
        (course.root / "tinytorch").chmod(0o500)
        done = course.tito("export", "1", "--force")
        (course.root / "tinytorch").chmod(0o700)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 2 and "tinytorch" in done.stderr


# ---- init and list ----


def test_init_solve_export_is_a_round_trip(course, tmp_path):
    done = tito("init", str(tmp_path / "mine"), "--course", str(course.root), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "tito test 01" in done.stdout
    mine = tmp_path / "mine"
    assert tito("export", "1", cwd=mine).returncode == 1
    lesson = mine / "modules/01_double/double_dev.py"
    text = lesson.read_text(encoding="utf-8")
    stub = 'raise NotImplementedError("01_double: double is not written yet")'
    lesson.write_text(text.replace(stub, "return x + x"), encoding="utf-8")
    assert tito("export", "1", cwd=mine).returncode == 0
    rows = json.loads(tito("list", "--json", cwd=mine).stdout)
    assert [row["state"] for row in rows["modules"]] == ["exported", "open"]
    assert rows["next"] == "02_twice"


def test_init_from_a_later_module(course, tmp_path):
    done = course.tito("init", str(tmp_path / "mine"), "--from", "2")
    assert done.returncode == 0 and "modules/02_twice/twice_dev.py" in done.stdout
    mine = tmp_path / "mine"
    assert "01_double             given" in tito("list", cwd=mine).stdout
    assert tito("export", "--check", cwd=mine).stdout.count("+++ ") == 1  # 01 is not asked for
    lesson = mine / "modules/02_twice/twice_dev.py"
    stub = 'raise NotImplementedError("02_twice: twice is not written yet")'
    lesson.write_text(lesson.read_text().replace(stub, "return double(x)"))
    done = tito("export", "--all", cwd=mine)
    assert done.stdout == "02_twice: exported to tinytorch/core/twice.py\n", done.stderr


def test_init_refuses_a_folder_with_something_in_it(course):
    two_lines(course.tito("init", "."), "is not empty", "never writes over your work")
    two_lines(course.tito("init", "x", "--from", "7"), "There is no module `7`", "01_double")


def test_a_course_folder_is_no_source_for_another(course, tmp_path):
    course.tito("init", str(tmp_path / "mine"))
    done = tito("init", str(tmp_path / "other"), cwd=tmp_path / "mine")
    assert done.returncode in (0, 2)  # from tito's own repository, whatever state that is in
    names = [p.name for p in (tmp_path / "other").glob("modules/*")]
    assert "01_double" not in names


def test_list_says_what_is_next(course):
    lines = course.tito("list").stdout.splitlines()
    assert lines[0] == "01_double             1 of 1 exercises written  <- next"
    assert lines[-1] == "Every exercise of 01_double is written: tito export 01"
    written = (course.root / "modules/01_double/double_dev.py").read_text()
    stub = 'raise NotImplementedError("01_double: double is not written yet")'
    course.write("modules/01_double/double_dev.py", written.replace("return x * 2", stub))
    last = course.tito("list").stdout.splitlines()[-1]
    assert last == "Open modules/01_double/double_dev.py, then: tito test 01, tito export 01"
    course.write("modules/01_double/double_dev.py", written)
    course.tito("export", "1")
    lines = course.tito("status").stdout.splitlines()
    assert lines[0] == "01_double             done" and lines[1].endswith("<- next")
    assert "1 of 2 modules are in your tinytorch." in lines
    course.lesson(1, "double", "x + x")
    assert "changed since its export" in course.tito("list").stdout


def test_list_survives_a_broken_lesson(course):
    course.write("modules/01_double/double_dev.py", "# %%\n### BEGIN SOLUTION\n")
    (course.root / "modules/03_empty").mkdir()
    done = course.tito("list")
    assert done.returncode == 0
    assert "double_dev.py:2: this SOLUTION region is not closed" in done.stdout
    assert "03_empty has no dev file" in done.stdout


# ---- the frame ----


def test_help_is_fast_and_imports_nothing_heavy():
    code = (
        "import sys, tito.cli\n"
        "try: tito.cli.cli.main(['--help'], prog_name='tito')\n"
        "except SystemExit: pass\n"
        "heavy = {'rich', 'yaml', 'nbformat', 'numpy', 'asyncio', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    best = 10.0
    for _ in range(3):
        start = perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60
        )
        best = min(best, perf_counter() - start)
    assert done.stderr.strip().endswith("[]")
    assert all(name in done.stdout for name in ("init", "list", "test", "export", "demo", "dev"))
    assert best < 1.0  # 0.1 s on a quiet machine


@pytest.mark.parametrize("command", ["init", "list", "status", "export", "dev"])
def test_every_command_has_help(command, tmp_path):
    done = tito(command, "--help", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("Usage: tito")


def test_a_wrong_command_or_option(course):
    done = course.tito("exprot", "1")
    assert done.returncode == 2 and "Did you mean `export`?" in done.stderr
    assert course.tito("export").returncode == 2
    assert course.tito("export", "1", "--nonsense").returncode == 2
    assert "Traceback" not in done.stderr
    assert course.tito("--version").stdout.startswith("tito, version ")


def test_in_a_pipe_there_is_no_colour_and_a_closed_pipe_is_no_error(course):
    done = course.tito("export", "9")
    assert "\033" not in done.stdout + done.stderr
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    reader = subprocess.run(
        f'"{sys.executable}" -m tito export --check --force | head -n 1', shell=True,
        cwd=course.root, env=env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert reader.stderr == "" and reader.stdout.startswith("---")


def test_an_old_code_page_shows_what_it_can(course):
    course.write("modules/01_double/ABOUT.md", "---\ntitle: Größe → ✓\n---\n")
    done = subprocess.run(
        [sys.executable, "-m", "tito", "list", "--json"], cwd=course.root, timeout=60,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode("ascii"))["modules"][0]["title"] == "Gr??e -> ok"


def test_a_broken_front_matter_is_told_with_its_line(course):
    course.write("modules/01_double/ABOUT.md", "---\ntitle: One\nbad: [1\n---\n")
    assert "01_double/ABOUT.md:" in course.tito("list").stdout


def test_a_mistake_of_tito_s_own_is_two_lines(course, tmp_path):
    code = (
        "import tito.cli, tito.workspace\n"
        "def broken(*a, **k): raise KeyError('oops')\n"
        "tito.workspace.Workspace.find = broken\n"
        "tito.cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "list"], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=60,
    )  # fmt: skip
    two_lines(done, "This is a mistake in tito, not yours: KeyError: 'oops'.", "TITO_DEBUG=1")
