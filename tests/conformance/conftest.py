"""Skips the folder in one sentence where its judge is missing; prints and writes the report."""
from importlib.metadata import PackageNotFoundError, version

import pytest

from .report import REPORT

TORCH = "2.13.0"                   # torch.testing._internal is private: its samples change


def missing():
    """Why the suite cannot run here, or None."""
    try:
        found = version("torch").split("+")[0]
        version("expecttest")      # torch.testing._internal imports it
    except PackageNotFoundError as error:
        return f"{error.name} is not installed: pip install -e '.[conformance]' has the judge."
    return None if found == TORCH else f"PyTorch is {found}, but samples are read from {TORCH}."


WHY = missing()


class Skipped(pytest.Module):
    def collect(self): pytest.skip(WHY, allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    return Skipped.from_parent(parent, path=module_path) if WHY else None


def pytest_terminal_summary(terminalreporter, config):
    if REPORT.passed or REPORT.failed:
        path = REPORT.write(config.rootpath / "build")
        terminalreporter.section("conformance with PyTorch")
        for line in REPORT.lines():
            if line.startswith("## Differences"):
                break
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"written to {path.relative_to(config.rootpath)}")
