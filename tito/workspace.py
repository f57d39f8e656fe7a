"""The course folder: where everything is. Only this file knows the paths."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tito.errors import TitoError

HOME = Path(__file__).absolute().parents[1]  # the repository that tito runs from

_FOLDER = re.compile(r"(\d\d)_(\w+)$")


@dataclass(frozen=True)
class Module:
    """One numbered folder: number 5, name "05_autograd"."""

    number: int
    name: str
    folder: Path
    prefer: str | None = None  # "py" or "ipynb" where a dev file is there as both

    @property
    def nn(self) -> str:
        return f"{self.number:02d}"

    @property
    def short(self) -> str:
        return self.name[3:]

    @property
    def dev_files(self) -> list[Path]:
        """The sources, the lesson first: of two forms the preferred one, else the .py."""
        suffixes = ("py", "ipynb") if self.prefer == "ipynb" else ("ipynb", "py")
        stems = {path.stem: path for s in suffixes for path in self.folder.glob(f"*_dev.{s}")}
        return sorted(stems.values(), key=lambda path: (path.stem != f"{self.short}_dev", path))

    @property
    def lesson(self) -> Path:
        """The dev file that has the exercises."""
        files = self.dev_files
        if not files:
            raise TitoError(
                f"{self.name} has no dev file.",
                f"It should be modules/{self.name}/{self.short}_dev.py.",
            )
        if files[0].stem == f"{self.short}_dev" or len(files) == 1:
            return files[0]
        with_exercises = [f for f in files if "BEGIN SOLUTION" in f.read_text(encoding="utf-8")]
        return (with_exercises or files)[0]

    @property
    def about(self) -> dict:
        """ABOUT.md's front matter; empty where there is none."""
        path = self.folder / "ABOUT.md"
        if not path.is_file():
            return {}
        text = path.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
        match = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
        if not match:
            return {}
        import yaml

        try:
            found = yaml.safe_load(match.group(1))
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f":{mark.line + 2}" if mark else ""
            raise TitoError(
                f"modules/{self.name}/ABOUT.md{line}: the front matter is no YAML.",
                "It stands between two lines `---`; quote a value that has a colon in it.",
            ) from None
        return found if isinstance(found, dict) else {}

    @property
    def title(self) -> str:
        return str(self.about.get("title") or self.short.replace("_", " ").capitalize())


@dataclass(frozen=True)
class Workspace:
    """A folder with modules/ and tinytorch/ in it."""

    root: Path
    prefer: str | None = None  # which form counts where a dev file is there as .py and .ipynb

    @classmethod
    def find(
        cls,
        start: Path | str | None = None,
        installed: bool = False,
        prefer: str | None = None,
    ) -> "Workspace":
        """The course that `start` (or the current folder) lies in.

        `installed=True` falls back to the repository that tito runs from.
        """
        start = Path(start or Path.cwd()).absolute()
        for folder in (start, *start.parents):
            if is_course(folder):
                return cls(folder, prefer)
        if installed and is_course(HOME):
            return cls(HOME, prefer)
        raise TitoError(
            f"{start} is not in a course folder (one with modules/ and tinytorch/ in it).",
            "`cd` into your course folder, or make one: tito init DIR",
        )

    @property
    def package(self) -> Path:
        return self.root / "tinytorch"

    @property
    def modules_folder(self) -> Path:
        return self.root / "modules"

    @property
    def state(self) -> Path:
        """Where tito keeps what it has recorded about this course."""
        return self.root / ".tito"

    @property
    def made(self) -> dict:
        """What `tito init` wrote about this course; empty in the repository itself."""
        path = self.state / "course.json"
        if not path.is_file():
            return {}
        import json

        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            start, version = int(found["start"]), int(found["version"])
        except (ValueError, KeyError, TypeError):
            raise TitoError(
                f"{self.relative(path)} is damaged.",
                "It should say {\"version\": 1, \"start\": 1} (start: the module you began at).",
            ) from None
        if version > 1:
            raise TitoError(f"{self.relative(path)} is of a newer tito.", "Update tito.")
        return {"version": version, "start": start}

    def is_given(self, module: Module) -> bool:
        """Whether the course came with this module's reference (`tito init --from`)."""
        return module.number < self.made.get("start", 0)

    def tests(self, module: Module) -> Path:
        return self.root / "tests" / module.name

    def relative(self, path: Path) -> str:
        """The path as messages show it, from the course folder, with forward slashes."""
        inside = Path(path).is_relative_to(self.root)
        return Path(path).relative_to(self.root).as_posix() if inside else str(path)

    def target(self, name: str) -> Path:
        """The package file of a target like `core.tensor`."""
        return self.package.joinpath(*name.split(".")).with_suffix(".py")

    @cached_property
    def modules(self) -> list[Module]:
        folders = sorted(path for path in self.modules_folder.iterdir() if path.is_dir())
        matches = [(path, _FOLDER.match(path.name)) for path in folders]
        return [Module(int(m.group(1)), p.name, p, self.prefer) for p, m in matches if m]

    def module(self, name: str) -> Module:
        """The module of that number, folder or unique part of a name."""
        name = str(name).strip().rstrip("/\\")
        wanted = Path(name).name.removesuffix("_dev.py").removesuffix("_dev.ipynb").lower()
        for same in (self._by_number, self._by_name, self._by_part):
            found = same(wanted)
            if len(found) == 1:
                return found[0]
            if found:
                raise TitoError(
                    f"`{name}` names several modules: {', '.join(m.name for m in found)}.",
                    "Give the number or more of the name.",
                )
        raise TitoError(f"There is no module `{name}`.", self._candidates(wanted))

    def _by_number(self, wanted: str) -> list[Module]:
        return [m for m in self.modules if wanted.isdecimal() and m.number == int(wanted)]

    def _by_name(self, wanted: str) -> list[Module]:
        return [m for m in self.modules if wanted in (m.name.lower(), m.short.lower())]

    def _by_part(self, wanted: str) -> list[Module]:
        return [m for m in self.modules if wanted and wanted in m.name.lower()]

    def _candidates(self, wanted: str) -> str:
        from difflib import get_close_matches

        close = get_close_matches(wanted, [m.short for m in self.modules], 3, 0.5)
        near = [m.name for m in self.modules if m.short in close]
        if near:
            return f"Did you mean {' or '.join(near)}?"
        return "The modules are: " + ", ".join(m.name for m in self.modules) + "."


def is_course(folder: Path) -> bool:
    return (folder / "modules").is_dir() and (folder / "tinytorch").is_dir()


def read_text(path: Path) -> str:
    """A text file's content with `\\n` line ends, whatever it was saved with."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TitoError(
            f"{path} is not UTF-8 (byte {error.start}).",
            "Save it again with the encoding UTF-8.",
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def copy_over(source: Path, to: Path) -> None:
    """Copies a file, or a folder without caches and hidden files; nothing where there is neither."""
    import shutil

    if source.is_dir():
        shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__", ".*", "*.pyc"))
    elif source.is_file():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, to)


def write_text(path: Path, text: str) -> bool:
    """Writes the file in one step, so that nobody ever sees half of it; False if it was equal."""
    import os
    import tempfile

    data = text.encode("utf-8")
    if path.is_file() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        os.chmod(name, mode)  # mkstemp made it private
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True


def _umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask
