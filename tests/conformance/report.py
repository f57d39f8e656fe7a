"""Counts what was compared, what was left out and why, and writes it down. Knows no PyTorch."""
import json
from collections import Counter, defaultdict


class Report:
    """Samples passed, failed and left out, by operation and aspect."""
    def __init__(self):
        self.passed = defaultdict(Counter)      # aspect -> name -> samples
        self.failed = defaultdict(list)         # aspect -> [(name, sample, what)]
        self.left_out = defaultdict(Counter)    # reason -> name -> samples

    def as_dict(self):
        return {
            "passed": {a: dict(sorted(c.items())) for a, c in sorted(self.passed.items())},
            "failed": dict(sorted(self.failed.items())),
            "left_out": {why: dict(sorted(c.items())) for why, c in sorted(self.left_out.items())},
        }

    def covered(self):
        """Names of which at least one sample's values agreed."""
        return sorted(name for name, n in self.passed["values"].items() if n)

    def lines(self):
        """The report as a page of Markdown."""
        yield "# Conformance with PyTorch"
        yield ""
        yield f"Names covered: {len(self.covered())}"
        yield ""
        yield "| aspect | names | samples agree | samples differ |"
        yield "|---|---|---|---|"
        for aspect in sorted(self.passed.keys() | self.failed.keys()):
            agree, differ = self.passed[aspect], self.failed[aspect]
            names = len(agree.keys() | {name for name, _, _ in differ})
            yield f"| {aspect} | {names} | {agree.total()} | {len(differ)} |"
        yield ""
        yield "| left out | samples | names |"
        yield "|---|---|---|"
        for why, counts in sorted(self.left_out.items(), key=lambda item: -item[1].total()):
            yield f"| {why} | {counts.total()} | {shortened(sorted(counts))} |"
        if any(self.failed.values()):
            yield ""
            yield "## Differences"
            for aspect, failures in sorted(self.failed.items()):
                for name, sample, what in failures:
                    yield f"* {aspect} `{name}({sample})`: {what}"

    def write(self, folder):
        """Write conformance-report.json and .md into `folder`; returns the second's path."""
        folder.mkdir(exist_ok=True)
        path = folder / "conformance-report.json"
        path.write_text(json.dumps(self.as_dict(), indent=1), encoding="utf-8")
        path = path.with_suffix(".md")
        path.write_text("\n".join(self.lines()) + "\n", encoding="utf-8")
        return path


def shortened(names, most=6):
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


REPORT = Report()
