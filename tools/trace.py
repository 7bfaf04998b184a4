"""Follows one question and one logit through a run: `python -m tools.trace shapes-000000`.

A dataset of the demo is cut to a few questions, a tiny model is trained and asked, and every stage runs in
this process. A file of stages/ or vouch/ counts when one of its functions was handed what is followed: an
argument, a field of its receiver or its return value holds it. The question is known by its id, which is part
of the ids of its prompts, and by its text. The logit is known by its very number: that of the option that the
model prefers, the probability made of it, and the score made of that. Containers and tables are searched to a
depth and a size. Beside these stands how many files ran at all, an upper bound.
"""

import argparse
import ast
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pyarrow as pa

from tools.ending import ended
from vouch.pipeline.dag import PARAMS, Stage, read_dag
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.run import Run
from vouch.pipeline.yaml12 import dumped, load
from vouch.tables.answered import LETTERS, letters_path
from vouch.tables.asked import ITEMS, items_path

ROOT = Path(__file__).parents[1]
MODEL, QUESTIONS = "tiny_a", 24
QUESTION = ("prepare", "rewrite", "vary", "extract", "judge", "score", "compare")
"""Stages that a question passes before the report."""
LOGIT = ("extract", "score")
"""Stages that a logit passes until it is part of a number in data/scores."""
DEPTH = 4  # containers and objects within each other
PARTS = 200  # of a container that are looked at
NUMBERS = 1_000_000  # of an array, and characters of a text
CALLS = 200  # of a function that are looked at
_FIRST = "import sys; from tools.trace import make; make(sys.argv[1])"


@dataclass(frozen=True)
class Followed:
    """One question, by its id and text, and one logit, with the probability and the score made of it."""

    question: str
    text: str
    numbers: tuple[float, ...]

    def has_question(self, value: Any) -> bool | None:
        """Whether a text is that of the question or names it; None of what is no text."""
        if isinstance(value, str):
            return len(value) <= NUMBERS and (self.question in value or self.text in value)
        if isinstance(value, pa.Array | pa.ChunkedArray) and not pa.types.is_nested(value.type):
            if not (pa.types.is_string(value.type) or pa.types.is_large_string(value.type)):
                return False
            return any(self.has_question(text) for text in value[:PARTS].to_pylist() if text is not None)
        if isinstance(value, np.ndarray):
            return value.dtype.kind in "OU" and any(map(self.has_question, value.ravel()[:PARTS].tolist()))
        return None

    def has_logit(self, value: Any) -> bool | None:
        """Whether a number is the logit's, or an array holds it; None of what is no number."""
        if isinstance(value, float | np.floating):
            return self._among(np.asarray(value))
        if isinstance(value, pa.Array | pa.ChunkedArray) and not pa.types.is_nested(value.type):
            return pa.types.is_floating(value.type) and self._among(value[:NUMBERS].to_numpy())
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            return self._among(value)
        torch: Any = sys.modules.get("torch")
        if torch and isinstance(value, torch.Tensor):
            return bool(value.is_floating_point()) and self._among(value.detach().float().cpu().numpy())
        return None

    def _among(self, values: np.ndarray[Any, Any]) -> bool:
        if values.dtype.kind != "f" or values.size > NUMBERS:
            return False
        precision = 1e-9 if values.dtype == np.float64 else 1e-6
        return any(bool(np.isclose(values, number, rtol=precision, atol=0).any()) for number in self.numbers)


def _parts(value: Any) -> Any:
    """What a container, a table or an object of this project holds."""
    if isinstance(value, dict):
        return (part for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if isinstance(value, pa.Table | pa.RecordBatch):
        return value.columns
    if isinstance(value, pa.Array | pa.ChunkedArray):
        if pa.types.is_list(value.type):
            chunks = value.chunks if isinstance(value, pa.ChunkedArray) else [value]
            return (chunk.flatten() for chunk in chunks)
        return ()
    if isinstance(value, np.ndarray):
        return value.ravel()[:PARTS].tolist()
    if type(value).__module__.partition(".")[0] == "pandas":
        return (value[name].to_numpy() for name in value) if value.ndim == 2 else (value.to_numpy(),)
    if type(value).__module__.startswith(("vouch.", "stages.")):
        return getattr(value, "__dict__", {}).values()
    return ()


def holds(value: Any, test: Callable[[Any], bool | None], depth: int = DEPTH) -> bool:
    """Whether a value or one of its parts passes a test."""
    outcome = test(value)
    if outcome is not None or not depth:
        return bool(outcome)
    try:
        parts = list(islice(_parts(value), PARTS))
    except RuntimeError:  # another thread changes it
        return False
    return any(holds(part, test, depth - 1) for part in parts)


@dataclass
class Passed:
    """What a stage ran. calls: file -> calls of its functions. question, logit: file -> the first of its
    functions that was handed it."""

    calls: Counter[str] = field(default_factory=Counter)
    question: dict[str, str] = field(default_factory=dict)
    logit: dict[str, str] = field(default_factory=dict)


def trace(question: str, skipped: Collection[str] = ()) -> dict[str, Passed]:
    """What each stage ran, in the order of the run; `train` never sees a question. question: `id` of an item.

    skipped: further stages that do not run. Raises UserError.
    """
    dataset = question.rpartition("-")[0]
    with tempfile.TemporaryDirectory(prefix="vouch-trace-") as folder, chdir(folder):
        _lay_out(dataset)
        _ready(read_dag()[f"prepare@{dataset}"])()
        ids = ITEMS.read(items_path(dataset), ["id"])["id"].to_pylist()
        if question not in ids:
            among = f"among its first {QUESTIONS} questions"
            raise UserError(f"{dataset}: no {question} {among}; {did_you_mean(question, ids)}")
        # in a process of its own, so that nothing of it is known in this one
        first, env = [sys.executable, "-c", _FIRST, MODEL], os.environ | {"PYTHONPATH": str(ROOT)}
        subprocess.run(first, env=env, check=True)
        followed = _followed(question, dataset)
        shutil.rmtree(".vouch", ignore_errors=True)
        found: dict[str, Passed] = {}
        for stage in read_dag().ordered():
            name = stage.name.partition("@")[0]
            if name not in (*skipped, "train"):
                run = _ready(stage)  # imported before it is watched
                with watched(followed) as found[name]:
                    run()
        return found


def make(model: str) -> None:
    """Runs the stages from `prepare` to the model's answers."""
    for stage in read_dag().ordered():
        if stage.name.startswith(("rewrite@", "vary@", "train@", "pin@", f"extract@{model}-")):
            _ready(stage)()


def _followed(question: str, dataset: str) -> Followed:
    items = ITEMS.read(items_path(dataset), ["id", "question"]).to_pylist()
    answers = LETTERS.read(letters_path(MODEL, dataset), ["prompt", "logits"]).to_pylist()
    logits = next(np.array(row["logits"]) for row in answers if row["prompt"].startswith(f"{question}/"))
    probability = float(1 / np.exp(logits - logits.max()).sum())  # of the largest
    text = next(row["question"] for row in items if row["id"] == question)
    return Followed(question, text, (float(logits.max()), probability, 1 - probability))


def _lay_out(dataset: str) -> None:
    """Makes the present folder a project with one dataset and one model."""
    demo, small = load(ROOT / "profiles/demo.yaml"), load(ROOT / "profiles/small.yaml")
    if dataset not in demo["datasets"]:
        raise UserError(
            f"profiles/demo.yaml: no dataset {dataset}; {did_you_mean(dataset, [*demo['datasets']])}"
        )
    entry = demo["datasets"][dataset]
    params = small | {
        "datasets": {dataset: entry | {"settings": entry["settings"] | {"items": QUESTIONS}}},
        "models": {MODEL: f"data/trained/{MODEL}"},
        "train": {MODEL: small["train"][MODEL]},
    }
    for name in ("stages", "vouch", "decisions", "docs"):
        Path(name).symlink_to(ROOT / name)
    for name in ("dvc.yaml", "models.lock"):
        shutil.copy(ROOT / name, name)
    Path(PARAMS).write_text(dumped(params), encoding="utf-8")


def _ready(stage: Stage) -> Callable[[], None]:
    module, *keys = stage.cmd.removeprefix("python -m ").split()
    main, run = importlib.import_module(module).main, Run(read_dag(), stage, keys)

    def start() -> None:
        with Path(os.devnull).open("w") as null, redirect_stderr(null):
            main(run)

    return start


@contextmanager
def watched(followed: Followed) -> Iterator[Passed]:
    """Watches calls of this project's functions, in all threads that begin in the block.

    What runs on import does not count.
    """
    files: dict[str, str | None] = {}
    looked = Counter[tuple[CodeType, str]]()
    passed = Passed()

    def look(frame: FrameType, event: str, result: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or code.co_name == "<module>":
            return
        if code.co_filename not in files:
            files[code.co_filename] = _own(code.co_filename)
        if (own := files[code.co_filename]) is None:
            return
        passed.calls[own] += event == "call"
        looked[code, event] += 1
        if looked[code, event] > CALLS:
            return
        for handed, test in ((passed.question, followed.has_question), (passed.logit, followed.has_logit)):
            if own not in handed and holds(_arguments(frame) if event == "call" else result, test):
                handed[own] = code.co_qualname

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield passed
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _arguments(frame: FrameType) -> list[Any]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return [frame.f_locals[name] for name in code.co_varnames[:count] if name in frame.f_locals]


def _own(file: str) -> str | None:
    """A file of this project by its path in the repository; None of any other."""
    path = Path(file).resolve()
    if not path.is_relative_to(ROOT):
        return None
    name = path.relative_to(ROOT).as_posix()
    return name if name.startswith(("stages/", "vouch/")) else None


def summary(file: str) -> str:
    """The first line of a file's docstring."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0] if file.endswith(".py") else ""


def handed(stages: Mapping[str, Passed], what: str, names: Sequence[str]) -> dict[str, str]:
    """The files that the question, or the logit, passes in some stages, each with the first function."""
    files: dict[str, str] = {}
    for name in names:
        files = getattr(stages[name], what) | files
    return files


def main() -> int:
    """Prints the files."""
    parser = argparse.ArgumentParser(prog="tools.trace", description=__doc__.partition("\n")[0])
    parser.add_argument("question", help="id of an item of the demo, such as shapes-000000")
    stages = trace(parser.parse_args().question)
    for what, names in (("question", QUESTION), ("logit", LOGIT)):
        known: dict[str, str] = {}
        for name in names:
            files, ran = getattr(stages[name], what), stages[name].calls
            print(f"{what}, {name}: {len(files)} of {len(ran)} files that ran")
            for file in sorted(files):
                print(f"    {file}, {files[file]}{'' if file in known else f': {summary(file)}'}")
            known |= files
        every = set().union(*(stages[name].calls for name in names))
        print(f"a {what} passes {len(known)} files in {', '.join(names)}; {len(every)} ran\n")
    return 0


if __name__ == "__main__":
    sys.exit(ended("trace", main, "run it again"))
