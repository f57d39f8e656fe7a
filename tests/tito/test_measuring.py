"""What lessons measure with, and their data."""

import numpy as np
import pytest

from tito.measuring import peak_bytes, timed

from .lessons import ROOT, Course


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path.resolve())


def test_measure_runs_in_a_script_and_waits_for_the_exercises(course):
    done = course.run('''
        @measure
        def one(): print("one")
        @measure
        def two(): raise NotImplementedError("05_five: f is not written yet")
        one()
    ''')
    assert done.stdout.splitlines() == [
        "one",
        "measured after the exercises are solved: 05_five: f is not written yet",
        "one",
    ]
    assert done.returncode == 0


def test_a_measurement_whose_exercise_is_wrong_says_so_in_a_line(course):
    text = '''
        class TestF:
            def test_one(self): assert 1 == 0
        run_tests(TestF)
        @measure
        def one(): None.shape
        print("the end")
    '''
    done = course.run(text)
    assert done.stdout.splitlines()[-2:] == [
        "measured after the checks pass: AttributeError: 'NoneType' object has no attribute "
        "'shape'",
        "the end",
    ]
    assert (done.returncode, done.stderr) == (1, "")
    done = course.run(text.replace("1 == 0", "1 == 1"))  # then it is a mistake of the lesson
    assert "AttributeError" in done.stderr and "the end" not in done.stdout


def test_timed_is_about_right():
    from time import sleep

    assert 0.004 < timed(sleep, 0.005, repeat=3) < 0.05
    calls = []
    timed(calls.append, 1, repeat=3)
    assert len(calls) > 10  # what is too short for the clock is repeated


def test_peak_bytes_is_the_most_held_at_one_time():
    def keep():
        a = np.ones(1_000_000)
        b = a + 1
        return (a + b).sum()

    assert 24e6 <= peak_bytes(keep) < 24.1e6
    assert peak_bytes(lambda: None) < 1000


def test_the_digits_are_the_digits(course):
    done = course.run('''
        images, labels = dataset("digits")
        print(images.shape, images.dtype, images.min(), images.max())
        print(labels.shape, labels.dtype, labels[:3].tolist(), images[0, :4].tolist())
        import numpy as np; print(np.bincount(labels).tolist())
    ''')
    assert done.stdout.splitlines() == [
        "(1797, 64) float32 0.0 16.0",
        "(1797,) int64 [0, 1, 2] [0.0, 0.0, 5.0, 13.0]",
        "[178, 182, 177, 183, 181, 182, 181, 179, 174, 180]",
    ], done.stderr


def test_the_checksum_in_the_readme_is_the_file_s():
    import hashlib

    digest = hashlib.sha256((ROOT / "datasets/digits.csv.gz").read_bytes()).hexdigest()
    assert f"sha256: `{digest}`" in (ROOT / "datasets/README.md").read_text(encoding="utf-8")
