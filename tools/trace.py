"""Follows one question and one logit through a run: `python -m tools.trace shapes-000000`.

A dataset of the demo is cut to a few questions, a tiny model is trained and asked, and every stage runs in
this process. For each stage the tool prints the files of stages/ and vouch/ whose functions ran, and how many
calls there were. What runs on import, or before and after a stage's `main`, does not count.
"""

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr
from pathlib import Path
from types import FrameType
from typing import Any

from tools.ending import ended
from vouch.pipeline.dag import PARAMS, Stage, read_dag
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.run import Run
from vouch.pipeline.yaml12 import dumped, load
from vouch.tables.asked import ITEMS, items_path

ROOT = Path(__file__).parents[1]
MODEL, QUESTIONS = "tiny_a", 24
QUESTION = ("prepare", "rewrite", "vary", "extract", "judge", "score", "compare")
"""Stages that a question passes before the report."""
LOGIT = ("extract", "score")
"""Stages that a logit passes until it is part of a number in data/scores."""
Calls = Counter[str]


def trace(question: str, skipped: Collection[str] = ()) -> dict[str, Calls]:
    """Stage -> file -> calls of its functions, in the order of the run. question: `id` of an item.

    skipped: stages that do not run. Raises UserError.
    """
    dataset = question.rpartition("-")[0]
    with tempfile.TemporaryDirectory(prefix="vouch-trace-") as folder, chdir(folder):
        _lay_out(dataset)
        calls: dict[str, Calls] = {}
        for stage in read_dag().ordered():
            name = stage.name.partition("@")[0]
            if name not in skipped:
                calls[name] = _calls(stage)
            if name == "prepare":
                _check_is_there(question, dataset)
        return calls


def _check_is_there(question: str, dataset: str) -> None:
    ids = ITEMS.read(items_path(dataset), ["id"])["id"].to_pylist()
    if question not in ids:
        raise UserError(
            f"{dataset}: no question {question} among its first {QUESTIONS}; {did_you_mean(question, ids)}"
        )


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


def _calls(stage: Stage) -> Calls:
    """Runs a stage; the files whose functions it called, and how often."""
    module, *keys = stage.cmd.removeprefix("python -m ").split()
    main = importlib.import_module(module).main
    run = Run(read_dag(), stage, keys)
    with Path(os.devnull).open("w") as null, redirect_stderr(null), counted() as calls:
        main(run)
    return calls


@contextmanager
def counted() -> Iterator[Calls]:
    """Counts calls of this project's functions, by file, in all threads that begin in the block."""
    files: dict[str, str | None] = {}
    calls: Calls = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name == "<module>":
            return
        name = code.co_filename
        if name not in files:
            files[name] = _own(name)
        if (own := files[name]) is not None:
            calls[own] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _own(file: str) -> str | None:
    """A file of this project by its path in the repository; None of any other."""
    path = Path(file).resolve()
    if not path.is_relative_to(ROOT):
        return None
    name = path.relative_to(ROOT).as_posix()
    return name if name.startswith(("stages/", "vouch/")) else None


def passed(calls: Mapping[str, Calls], stages: tuple[str, ...]) -> Calls:
    """The files that ran in some of the stages."""
    return sum((calls.get(stage, Counter()) for stage in stages), Calls())


def main() -> int:
    """Prints the files."""
    parser = argparse.ArgumentParser(prog="tools.trace", description=__doc__.partition("\n")[0])
    parser.add_argument("question", help="id of an item of the demo, such as shapes-000000")
    calls = trace(parser.parse_args().question)
    for stage, files in calls.items():
        print(f"{stage}: {len(files)} files")
        for name, times in sorted(files.items()):
            print(f"{times:9,}  {name}")
    print(f"a question before the report: {len(passed(calls, QUESTION))} files")
    print(f"a logit until data/scores: {len(passed(calls, LOGIT))} files")
    return 0


if __name__ == "__main__":
    sys.exit(ended("trace", main, "run it again"))
