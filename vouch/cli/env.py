"""`vouch env`: builds the environments in which models with code of their own run."""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten

from vouch.cli.command import argument, command
from vouch.models.program.identity import CUDA, DRIVERS, ENVIRONMENTS, variable
from vouch.pipeline.errors import UserError, did_you_mean, reason, without_secrets
from vouch.pipeline.files import replacing_folder
from vouch.pipeline.locks import locked
from vouch.report.formatting import plural

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
COMPILED = ["--compile-bytecode"]  # drivers write none, and would compile torch at each start
MARK = "made-from"
PATIENCE_SECONDS = 3600.0
_PYTHON = re.compile(r"^# python (3\.\d+)\s*$", re.MULTILINE)
_NAME = re.compile("[a-z][a-z0-9_]*")  # as in models.lock
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.+!_-]+)( ;[^\n\\]+)?"
    r"(\s+(\\\n\s*)?--hash=sha256:[0-9a-f]{64})+\s*"
)
_TORCH = ("torch", "torchvision", "torchaudio")  # what has a CPU build of its own


@command(
    "env",
    "build the environment of models with code of their own",
    argument("names", nargs="*", metavar="NAME", help="environments: drivers/NAME.txt; default: list them"),
    argument(
        "--torch",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="build of torch; auto: cuda if nvidia-smi answers",
    ),
)
def run(options: argparse.Namespace) -> int:
    """Build the environments in which the drivers of models with code of their own run.

    drivers/NAME.txt lists every package with its version and the digests of its files. uv installs exactly
    these into .vouch/envs/NAME, and nothing elsewhere: what it downloads stays in .vouch/envs/.cache, unless
    UV_CACHE_DIR names another place. The first line may name Python's version (`# python 3.10`), which must
    be on this machine. A finished environment is left alone until its file changes.

    On Linux, a CPU build of torch is not on PyPI. It comes from the folders that uv is told to look into
    (UV_FIND_LINKS), else from PyTorch's index, and is the one package whose digest is not checked.

    A package without a wheel is built here, which runs its authors' code. Variables whose names say key,
    token, secret or password are kept from it, but for those by which uv signs in to a package index.

    To use a Python that exists already, name it instead: export VOUCH_ENV_NAME=/path/to/python

    Examples:
      vouch env                    which environments there are
      vouch env qwen_vl
    """
    known = sorted(path.stem for path in DRIVERS.glob("*.txt") if _NAME.fullmatch(path.stem))
    for name in options.names:
        if name not in known:
            raise UserError(
                f"{DRIVERS}: no environment {name!r:.60} (its name has a-z, 0-9 and _); "
                f"{did_you_mean(name, known)}"
            )
    for name in options.names:
        _say(name, _build(name, options.torch))
    if not options.names:
        for name in known:
            _say(name, _state(name))
        if not known:
            print(f"env: {DRIVERS} has no environments (NAME.txt)")
    return 0


def _state(name: str) -> str:
    if named := os.environ.get(variable(name)):
        return f"{named} ({variable(name)})"
    path = ENVIRONMENTS / name
    return f"{path}" if _whole(path) else f"not here; `vouch env {name}` builds it"


def _whole(path: Path) -> bool:
    """Whether an environment was built to its end, and the Python that it was made from is still there."""
    return (path / MARK).is_file() and os.access(path / "bin/python", os.X_OK)


def _build(name: str, torch: str) -> str:
    """Builds an environment, unless it is there; a line that says what was done. Raises UserError."""
    file, path = DRIVERS / f"{name}.txt", ENVIRONMENTS / name
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: not readable as UTF-8 ({reason(error)}); write it again") from None
    cpu = _cpu(torch)
    mark = f"{hashlib.sha256(text.encode()).hexdigest()} {'cpu' if cpu else 'default'}\n"
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    with locked(ENVIRONMENTS / f".{name}.lock", PATIENCE_SECONDS, f"env {name}", "built"):
        for left in ENVIRONMENTS.glob(f".{name}.*.part"):  # of a build that was killed
            shutil.rmtree(left)
        if _whole(path) and (path / MARK).read_text("ascii") == mark:
            return f"up to date in {path}"
        with replacing_folder(path) as folder:
            _install(name, text, folder, cpu)
            (folder / MARK).write_text(mark, "ascii")
        size = sum(one.lstat().st_size for one in path.rglob("*") if not one.is_dir()) / 1e6
    return f"built in {path} from {file}, {size:,.0f} MB"


def _cpu(torch: str) -> bool:
    """Whether torch's CPU build is to be taken; only Linux has another one."""
    if torch == "auto":
        smi = shutil.which("nvidia-smi")
        torch = "cuda" if smi and not subprocess.run([smi, "-L"], capture_output=True).returncode else "cpu"
    return torch == "cpu" and sys.platform == "linux"


def _install(name: str, text: str, folder: Path, cpu: bool) -> None:
    """Builds an environment; the build of torch that can be missing comes first. Raises UserError."""
    file, version = DRIVERS / f"{name}.txt", _PYTHON.search(text)
    python = version[1] if version else f"{sys.version_info.major}.{sys.version_info.minor}"
    blocks = list(_blocks(text, file))
    if not blocks:
        raise UserError(f"{file}: names no package; {_written_by(file)}")
    built = [one for one in blocks if cpu and _own_build(one)]
    named = [m for one in blocks if (m := _REQUIREMENT.match(one)) and m[1].lower() in _TORCH]
    size = f"; {'1 GB and more' if cpu else 'several GB'}, so this takes minutes" if named else ""
    _say(name, f"Python {python}, {plural(len(blocks), 'package')}{size}")
    _uv(
        ["venv", "--relocatable", "--no-project", "--python", python, "--clear", str(folder)],
        f"a Python {python}",
        f"put a real `python{python}` on PATH, not pyenv's shim, or change the first line of {file}",
    )
    into = ["--python", str(folder / "bin/python"), *COMPILED, "--no-deps"]
    torch = [f"{m[1]}=={m[2]}+cpu" for m in named] if cpu else []
    if torch:
        _say(name, f"installing {' and '.join(torch)}")
        if _uv(["pip", "install", *into, "--no-index", *torch]):
            _uv(
                ["pip", "install", *into, "--index-url", CPU_INDEX, *torch],
                " and ".join(torch),
                "check the network, and UV_FIND_LINKS, or take PyPI's build by "
                f"`vouch env {name} --torch cuda`",
            )
    others = [one for one in blocks if one not in built]
    if others:
        _say(name, f"installing {plural(len(others), 'package')} of {file}")
        rest = folder / "requirements.txt"
        rest.write_text("".join(others), "utf-8")
        _uv(["pip", "install", *into, "--require-hashes", "--requirements", str(rest)], f"what {file} names")
        rest.unlink()


def _say(name: str, what: str) -> None:
    print(f"env: {name}: {what}", flush=True)


def _blocks(text: str, file: Path) -> Iterator[str]:
    """The requirements of a file, each with its digests. Raises UserError for any other line."""
    lines = [
        line
        for line in text.replace("\\\n", "\\\0").split("\n")
        if line.strip() and not line.lstrip().startswith("#")
    ]
    for line in lines:
        block = line.replace("\\\0", "\\\n") + "\n"
        if not _REQUIREMENT.fullmatch(block):
            first = line.partition("\0")[0].removesuffix("\\").strip()
            raise UserError(
                f"{file}: {first!r:.80} is no NAME==VERSION with --hash=sha256:...; {_written_by(file)}"
            )
        yield block


def _written_by(file: Path) -> str:
    return f"write the file with `uv pip compile --generate-hashes {file.with_suffix('.in')} -o {file}`"


def _own_build(block: str) -> bool:
    name = (_REQUIREMENT.match(block) or [""])[0].partition("==")[0].lower()
    return name in _TORCH or bool(CUDA.match(name))


def _uv(arguments: list[str], what: str = "", advice: str = "check the network, and UV_FIND_LINKS") -> str:
    """Runs uv; its error, or empty. Raises UserError if `what` names what it was to install.

    A package without a wheel is built, which runs its authors' code: in uv's environment, so without secrets.
    """
    program = shutil.which(
        "uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    )
    if program is None:
        raise UserError("uv is not installed; `make install` installs it")
    cache = {"UV_CACHE_DIR": str((ENVIRONMENTS / ".cache").absolute())}
    own = {"UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never"}
    environment = {**cache, **without_secrets(), **own}
    environment.pop("VIRTUAL_ENV", None)
    done = subprocess.run(
        [program, *arguments, "--quiet"], capture_output=True, text=True, env=environment, check=False
    )
    if not done.returncode:
        return ""
    problem = shorten(done.stderr, 600, placeholder=" ...") or "it failed"
    if what:
        raise UserError(f"uv cannot install {what}: {problem}; {advice}")
    return problem
