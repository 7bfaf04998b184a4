"""The boundary to libraries that read models of others: what fails there is one line, and memory is bounded.

A folder's files decide what transformers, torch and tokenizers do with this process. They raise whatever they
like, ask for memory without limit, and the Rust part of tokenizers ends the process.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import torch

from vouch.models.loading import tokenizer_trial
from vouch.pipeline.errors import UserError, raised_for_us, reason, without_threads
from vouch.pipeline.out_of_memory import out_of_memory
from vouch.tables.answered import SECOND, WEIGHT_SUFFIX

ADVICE = "correct its configuration, or save the model anew"
SPARE = 1 << 30  # bytes that opening a model may take beside its weights
A_BYTE = 8  # bytes for each byte of weights: read, in float32, and of both another one for a while
_STATM = "/proc/self/statm"
_LARGEST_ID = 1 << 24  # of a token; vocabularies have some hundred thousand


@contextmanager
def foreign(folder: Path, what: str, advice: str) -> Iterator[None]:
    """Turns whatever libraries raise in the block into a UserError: the folder, what failed, what to do."""
    try:
        yield
    except UserError:
        raise
    except BaseException as error:
        if not raised_for_us(error):
            raise
        raise UserError(f"{folder}: {_said(error, what, advice)}") from error


def _said(error: BaseException, what: str, advice: str) -> str:
    why = reason(error)
    if out_of_memory(error) or without_threads(error):
        return (
            f"{what}: no memory left ({why or type(error).__name__}); give it more, or take a smaller model"
        )
    if "ignore_mismatched_sizes" in why:  # the rest of it is a table in a warning
        return "its weights have other shapes than its config.json says; save the model anew"
    return _without_torchvision(why) or f"{what} ({type(error).__name__}: {why}); {advice}"


def _without_torchvision(why: str) -> str | None:
    """What is wrong with torchvision, if that is why a model cannot be loaded."""
    if find_spec("torchvision") is None:
        if "torchvision" not in why.lower():
            return None
        return (
            "its processor reads videos as well, for which it needs torchvision; "
            "run `make install EXTRAS=video` in this checkout"
        )
    try:
        import torchvision  # noqa: F401
    except Exception as error:  # a build for another torch raises what it likes
        return f"torchvision does not fit this torch ({error}); install the build that does, or remove it"
    return None


@contextmanager
def opening(folder: Path, what: str, advice: str) -> Iterator[None]:
    """`foreign` for loading a model and its first pass: a folder gets the memory that its weights explain.

    A setting may ask for any width, picture or default; MemoryError is better than a machine that swaps.
    """
    weights = sum(path.stat().st_size for path in folder.glob(f"*{WEIGHT_SUFFIX}") if path.is_file())
    with foreign(folder, what, advice), _bounded(A_BYTE * weights + SPARE):
        yield


@contextmanager
def _bounded(more: int) -> Iterator[None]:
    """So many bytes beside what this process has; no limit where the system cannot tell what it has, nor with
    CUDA, which takes its own share."""
    if not os.path.exists(_STATM) or torch.version.cuda:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    pages = int(Path(_STATM).read_text("ascii").split()[5])
    limits = [one for one in (before, hard) if one != resource.RLIM_INFINITY]
    most = min([pages * resource.getpagesize() + more, *limits])
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def check_tokenizer(folder: Path) -> None:
    """Raises UserError where a text would grow without measure in a tokenizer, or end this process."""
    for path in (folder / "tokenizer.json", folder / SECOND / "tokenizer.json"):
        if path.is_file():
            _try_tokenizer(path)


def _try_tokenizer(path: Path) -> None:
    command = [sys.executable, "-P", tokenizer_trial.__file__, str(path)]
    tried = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
        check=False,
    )
    length = len(tokenizer_trial.TEXT)
    try:
        found = json.loads(tried.stdout)
    except ValueError:
        raise UserError(
            f"{path}: needs more than {tokenizer_trial.SECONDS} s or {tokenizer_trial.MEMORY >> 30} GB for a "
            f"text of {length:,} characters; correct tokenizer.json"
        ) from None
    if "panic" in found:
        raise UserError(f"{path}: fails at a plain text ({found['panic']}); correct tokenizer.json")
    if found.get("growth", 0) > tokenizer_trial.GROWTH:
        raise UserError(f"{path}: replaces a character by {found['growth']:,}; correct tokenizer.json")
    for kind in ("characters", "tokens"):
        if found.get(kind, 0) > tokenizer_trial.GROWTH * length:
            raise UserError(
                f"{path}: makes {found[kind]:,} {kind} of a text of {length:,}; correct tokenizer.json"
            )
    if found.get("largest", 0) >= _LARGEST_ID:
        raise UserError(f"{path}: has a token with the id {found['largest']:,}; correct tokenizer.json")
