"""`make check`: runs the unit tests of what differs from main, without whole checkouts.

A file of vouch/ROOM selects the tests of tests/ROOM that import it, or all of them where none does. A stage
does the same in the room that it imports most from. A test file selects itself, a helper
the tests that import it. Tests marked `slow` are left to `make test`.
"""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

NEUTRAL = ("params", "pipeline", "tables")
"""Rooms that every stage uses."""
OTHER = {
    "docs": "tests/docs",
    "README.md": "tests/docs",
    "CONTRIBUTING.md": "tests/docs",
    "tools/site.py": "tests/docs",
    "dvc.yaml": "tests/pipeline",
    "Snakefile": "tests/pipeline",
    "params.yaml": "tests/params",
    "models.lock": "tests/params",
    "profiles": "tests/params",
    "tools": "tests/tools",
    "Makefile": "tests/tools",
    "pyproject.toml": "tests/tools/test_install.py",
}
"""Where the tests of further files and folders lie."""


def changed() -> list[str]:
    """Files that differ from where this branch left main, committed or not; those that are gone stay out."""
    known = git("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes").split()
    base = next((name for name in ("main", "origin/main") if name in known), "")
    if not base:
        sys.exit("check: no branch main to compare with; run `git fetch origin main`, or `make test`")
    names = git("diff", "--name-only", git("merge-base", "HEAD", base).strip()).splitlines()
    names += git("ls-files", "--others", "--exclude-standard").splitlines()
    return sorted({name for name in names if Path(name).is_file()})


def git(*arguments: str) -> str:
    """What a git command prints."""
    return subprocess.run(["git", *arguments], check=True, capture_output=True, encoding="utf-8").stdout


def module(path: Path) -> str:
    """The dotted name of a file."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> set[str]:
    """Dotted names that a file may import: modules, and what is taken from them."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def main_room(stage: Path) -> str:
    """The room that a stage imports most from, apart from those that all use."""
    rooms = Counter(name.split(".")[1] for name in imports(stage) if name.startswith("vouch."))
    return next((room for room, _ in rooms.most_common() if room not in NEUTRAL), "pipeline")


class Suite:
    """The test files of this checkout, and what each imports, its helpers' imports among them."""

    def __init__(self) -> None:
        self._direct = {module(path): imports(path) for path in Path("tests").rglob("*.py")}
        self.files = sorted(Path("tests").rglob("test_*.py"))

    def below(self, folder: str) -> list[Path]:
        """All test files of a folder, or the one that is named."""
        return [path for path in self.files if path.is_relative_to(folder)]

    def importing(self, name: str, folder: str) -> list[Path]:
        """Those of a folder that import a module, at first hand or through helpers."""
        return [path for path in self.below(folder) if name in self._reached(module(path))]

    def _reached(self, start: str) -> set[str]:
        todo, reached = [start], {start}
        while todo:
            new = self._direct.get(todo.pop(), set()) - reached
            reached |= new
            todo += new
        return reached

    def of(self, name: str) -> list[Path]:
        """Those of a changed file."""
        path = Path(name)
        first = path.parts[0]
        if first == "tests":
            if path.name == "conftest.py":
                return self.below(str(path.parent))
            return [path] if path in self.files else self.importing(module(path), "tests")
        if first == "stages" or (first == "vouch" and len(path.parts) > 2):
            room = path.parts[1] if first == "vouch" else main_room(path)
            return self.importing(module(path), f"tests/{room}") or self.below(f"tests/{room}")
        return self.below(OTHER[first]) if first in OTHER else []


def selected(names: Iterable[str]) -> list[str]:
    """The test files of changed files."""
    suite = Suite()
    return sorted({str(path) for name in names for path in suite.of(name)})


def main() -> int:
    """Runs them."""
    names = changed()
    files = selected(names)
    print(f"check: {len(names)} files differ from main; {len(files)} test files", flush=True)
    if not files:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-n", "auto", "--maxprocesses", "4"]
    ended = subprocess.run([*command, "--dist", "loadfile", *files], check=False).returncode
    return 0 if ended == 5 else ended  # 5: all of them are slow


if __name__ == "__main__":
    sys.exit(main())
