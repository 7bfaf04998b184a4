"""What the pin of a model with a program of its own covers, and the Python that runs its driver.

The model's code may read any file of its folder, so all of them have a digest. The driver is covered with the
modules beside it that it imports, the authors' code by one digest over all that Python and its settings are
made of, and the environment by its list of packages.
"""

import ast
import hashlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from vouch.models.lock_entry import LOCK, Program
from vouch.pipeline.errors import UserError, hidden, without_secrets
from vouch.pipeline.files import canonical_json, check_plain, file_digest
from vouch.tables.answered import ProgramPin, Source, hub_snapshot

ENVIRONMENTS = Path(".vouch/envs")
DRIVERS = Path("drivers")
HELPER = "vouch_driver"  # Vouch's own; the engine's revision covers it
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
CODE = (".py", ".json", ".yaml", ".yml", ".toml", ".cfg", ".jinja", ".model", ".tiktoken", ".txt")
MOST_FILES = 50_000
DIRTY = "-dirty"
_IGNORED = ("__pycache__",)


def model_files(folder: Path) -> dict[str, str]:
    """Name -> SHA-256 of every file of a model's folder. Raises UserError, also for pickled weights."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such model folder; correct it in models.lock or params.yaml")
    paths = {path.relative_to(folder).as_posix(): path for path in _walked(folder)}
    pickled = sorted(name for name in paths if name.endswith(PICKLED))
    if pickled:
        raise UserError(
            f"{folder / pickled[0]}: a pickle, which can run code; convert it with `vouch convert {folder} "
            "FOLDER`, and name that folder"
        )
    if not paths:
        raise UserError(f"{folder}: holds no files; fetch the model anew")
    return {name: file_digest(paths[name]) for name in sorted(paths)}


def _walked(folder: Path) -> Iterator[Path]:
    """The files below a folder, without hidden ones and compiled code. Raises UserError."""
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _IGNORED)
        for name in folders:
            if (Path(root) / name).is_symlink():
                raise UserError(
                    f"{Path(root) / name}: a link to a folder, which no digest covers; copy it there"
                )
        for name in sorted(names):
            if name.startswith("."):
                continue
            count += 1
            if count > MOST_FILES:
                raise UserError(f"{folder}: holds more than {MOST_FILES:,} files; name a smaller folder")
            check_plain(Path(root) / name)
            yield Path(root) / name


def driver_files(driver: str) -> dict[str, str]:
    """Name -> SHA-256 of a driver and of the modules and packages beside it that it imports, with all that
    these import. Raises UserError."""
    folder, files = Path(driver).parent, dict[str, str]()
    todo = [Path(driver)]
    while todo:
        path = todo.pop()
        check_plain(path)
        try:
            tree = ast.parse(path.read_bytes())
        except OSError:
            raise UserError(f"{path}: no such driver; correct program.driver in {LOCK}") from None
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise UserError(f"{path}: not Python ({error!s:.100}); correct the driver") from None
        files[path.relative_to(folder).as_posix()] = file_digest(path)
        for name in {name.partition(".")[0] for name in _imported(tree)} - {HELPER}:
            beside = [folder / f"{name}.py", *sorted((folder / name).rglob("*.py"))]
            todo += [
                one for one in beside if one.is_file() and one.relative_to(folder).as_posix() not in files
            ]
    return dict(sorted(files.items()))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def code_digest(folder: Path) -> str:
    """One SHA-256 over the authors' code. Raises UserError."""
    if not folder.is_dir():
        raise UserError(
            f"{folder}: no such folder of code; clone it there, or correct program.code in {LOCK}"
        )
    files = {
        path.relative_to(folder).as_posix(): file_digest(path)
        for path in _walked(folder)
        if path.suffix.lower() in CODE
    }
    if not any(name.endswith(".py") for name in files):
        raise UserError(f"{folder}: holds no Python; correct program.code in {LOCK}")
    return hashlib.sha256(canonical_json(files).encode()).hexdigest()


def commit(folder: Path, changed: bool = False) -> str | None:
    """The commit of the clone that a folder is, or lies in; None for a folder of this checkout.

    changed: whether to add `-dirty` if files of the clone were changed, as git does. That can run programs
    that the clone's own configuration names.
    """
    head, _, top = _git(folder, "rev-parse", "HEAD", "--show-toplevel").partition("\n")
    if not re.fullmatch("[0-9a-f]{40,64}", head) or Path(top).resolve() == Path.cwd().resolve():
        return None
    edited = changed and _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{head}{DIRTY if edited else ''}"


def _git(folder: Path, *words: str) -> str:
    """What git prints; empty if it fails, or is not installed."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            env=without_secrets(),
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip()


def short(commit: str) -> str:
    """A commit for people."""
    return commit[:12] + (f"{DIRTY} (with changes that are not committed)" if commit.endswith(DIRTY) else "")


def program_pin(name: str, program: Program, parts: Mapping[str, Path], whole: bool = True) -> ProgramPin:
    """The program's part of a pin. parts: their folders.

    Raises UserError if `vouch lock` has not run, or if something is not as it was then. whole: if not,
    nothing is hashed.
    """
    known, files = program.locked, dict[str, str]()
    if known is None:
        raise UserError(f"{LOCK}: the program of {name} is not pinned; run `vouch lock {name}`")
    settings = canonical_json(program.settings)
    if hidden(settings) != settings:
        raise UserError(
            f"{LOCK}: the settings of {name} hold a key or password, which its pin would show; take it out"
        )
    if whole:
        check_code(name, program.driver, known.driver, program.code, known.code)
        files = part_files(parts)
    return ProgramPin(
        driver=program.driver,
        environment=program.environment,
        code=program.code,
        parts={part: Source.model_validate(one.model_dump()) for part, one in program.parts.items()},
        settings=program.settings,
        driver_files=known.driver,
        code_digest=known.code,
        commit=known.commit,
        part_files=files,
        packages=known.packages,
        probe=known.probe.model_dump() if known.probe else None,
    )


def part_files(parts: Mapping[str, Path]) -> dict[str, str]:
    """PART/FILE -> SHA-256 of the further models that a model is built of. Raises UserError."""
    return {f"{part}/{name}": one for part in sorted(parts) for name, one in model_files(parts[part]).items()}


def check_code(
    name: str, driver: str, driver_digests: Mapping[str, str], code: str | None, digest: str | None
) -> None:
    """Raises UserError if a driver or the authors' code is not as it was pinned."""
    again = f"undo the change, or pin it with `vouch lock {name}`, after which the model is asked anew"
    now = driver_files(driver)
    for file in sorted({*now, *driver_digests}):
        if now.get(file) != driver_digests.get(file):
            raise UserError(f"{Path(driver).parent / file}: not as pinned; {again}")
    if code is not None and code_digest(Path(code)) != digest:
        now_at = commit(Path(code))
        at = f", now at commit {short(now_at)}" if now_at else ""
        raise UserError(f"{code}: its code is not as pinned{at}; {again}")


def source_folder(source: Source, model: str) -> Path:
    """The folder of a model or part, which must be on this machine. Raises UserError."""
    if source.kind != "hub":
        return Path(source.path or "")
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return hub_snapshot(source.repo or "", source.revision or "", local=True, everything=True)
    except LocalEntryNotFoundError:
        at = f"{source.repo} at {str(source.revision)[:12]}"
        raise UserError(
            f"{at}: not whole in this machine's cache; fetch it with `vouch fetch {model}`"
        ) from None


def variable(environment: str) -> str:
    """The variable that names another Python for an environment."""
    return f"VOUCH_ENV_{environment.upper()}"


def interpreter(environment: str) -> Path:
    """The Python of an environment, absolute. Raises UserError if there is none."""
    named = os.environ.get(variable(environment))
    path = Path(named) if named else ENVIRONMENTS / environment / "bin/python"
    if os.access(path, os.X_OK) and path.is_file():
        return path.absolute()  # not resolved: a virtual environment is known by the path of its Python
    if named:
        raise UserError(f"{variable(environment)}={named}: no Python there; correct it")
    file = DRIVERS / f"{environment}.txt"
    build = f"`vouch env {environment}` builds it from {file}, or name" if file.is_file() else "name"
    raise UserError(
        f"the environment {environment} is not on this machine; {build} its Python in {variable(environment)}"
    )


CUDA = re.compile(r"nvidia-|cuda-|triton$")
_SEPARATORS = re.compile(r"[-_.]+")


def frozen(versions: Mapping[str, str]) -> list[str]:
    """Packages as NAME==VERSION, sorted.

    Builds of a version (+cpu) and CUDA's own libraries make no difference: an answer has its device.
    """
    plain = {
        _SEPARATORS.sub("-", name).lower(): version.partition("+")[0] for name, version in versions.items()
    }
    return sorted(f"{name}=={plain[name]}" for name in plain if name != "pip" and not CUDA.match(name))


def check_packages(pinned: list[str], versions: Mapping[str, str], environment: str, model: str) -> None:
    """Raises UserError if an environment holds other packages than those pinned."""
    now = frozen(versions)
    if now == sorted(pinned):
        return
    more, fewer = sorted({*now} - {*pinned}), sorted({*pinned} - {*now})
    listed = ", ".join([*(f"has {one}" for one in more), *(f"lacks {one}" for one in fewer)][:4])
    raise UserError(
        f"the environment {environment} {listed}, not as pinned; build it again with `vouch env "
        f"{environment}`, or pin what it holds with `vouch lock {model}`, after which the model is asked anew"
    )
