"""The repository VLM-Uncertainty-Bench as its authors lay it out: output/MODEL/DATASET.pkl, tables/METRIC.csv."""

import csv
import pickle
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

MODELS = ("Monkey-Chat", "llava-v1.5-7b", "Yi-VL-6B")
OPTIONS = {"A": "one", "B": "two", "C": "three", "D": "four"}


def _mmbench(number: int) -> dict[str, Any]:
    missing = {"D": float("nan")} if number == 2 else {}
    texts = {"question": f"q{number}", "hint": float("nan"), **OPTIONS, **missing, "answer": "B"}
    return {"index": number, **texts, "category": "ocr", "source": float("nan"), "split": "dev", "id": number}


def _oodcv(number: int) -> dict[str, Any]:
    asked = {"question": "How many?", "answer": "C", "answer_type": "number", "situation": "pose"}
    return {"image": "phase-1/a.jpg", **asked, "phase": "phase-1", "id": number, "hint": None, **OPTIONS}


def _scienceqa(number: int) -> dict[str, Any]:
    asked = {"question": "Which?", "choices": ["one", "two"], "answer": "A", "hint": "", "grade": "grade2"}
    return {**asked, "subject": "natural science", "category": "Biology", **OPTIONS, "id": str(number)}


def _seedbench(number: int) -> dict[str, Any]:
    asked = {
        "answer": "D",
        "data_id": "12_3",
        "data_type": "image",
        "question": "Who?",
        "question_type_id": 5,
    }
    return {**asked, **OPTIONS, "id": str(101_669 + number), "hint": None, "image_path": "a/b"}


def _ai2d(number: int) -> dict[str, Any]:
    options = dict(list(OPTIONS.items())[: 3 if number == 1 else 4])
    asked = {"question": "What?", "abcLabel": False, "answerTexts": [*options.values()], "correctAnswer": 1}
    return {
        **asked,
        "questionId": f"0.png-{number}",
        "id": f"0.png-{number}",
        **options,
        "answer": "B",
        "hint": None,
    }


DATASETS: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "mmbench": _mmbench, "oodcv": _oodcv, "scienceqa": _scienceqa, "seedbench": _seedbench, "ai2d": _ai2d,
}  # fmt: skip
"""Dataset -> the row that the authors' code makes of a question, before it adds the logits."""


def rows_of(dataset: str, model: str) -> list[dict[str, Any]]:
    """Four rows with logits, which are float64 for one model."""
    values = np.random.default_rng(len(dataset) + len(model)).normal(size=(4, 6))
    values = values.astype("f8" if model == "Monkey-Chat" else "f4")
    return [{**DATASETS[dataset](number), "logits": values[number].copy()} for number in range(4)]


def put(release: Path, dataset: str, model: str, rows: object) -> Path:
    """Pickles rows as the authors do."""
    path = release / "output" / model / f"{dataset}.pkl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(rows, 4))
    return path


def put_table(
    release: Path, metric: str, values: Mapping[str, Sequence[str]], datasets: Sequence[str]
) -> Path:
    """A table of the authors: model -> its values for these datasets."""
    path = release / "tables" / f"{metric}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as text:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["", "model_name", *datasets, "avg"])
        table.writerows([place, model, *row, "0.5"] for place, (model, row) in enumerate(values.items()))
    return path


def lay_out(release: Path) -> None:
    """A release of all datasets, small."""
    for dataset in DATASETS:
        for model in MODELS:
            put(release, dataset, model, rows_of(dataset, model))
    for metric in ("acc", "uacc_LAC"):
        put_table(release, metric, {model: [f"0.{len(model)}"] * 5 for model in MODELS}, list(DATASETS))


def lay_out_real(release: Path, reference: Path) -> None:
    """The two pickles that are at hand, and the tables with the numbers of MMBench."""
    for file in reference.glob("pickles/*.mmbench.pkl"):
        path = release / "output" / file.name.removesuffix(".mmbench.pkl") / "mmbench.pkl"
        path.parent.mkdir(parents=True)
        shutil.copy(file, path)
    numbers: dict[str, dict[str, list[str]]] = {}
    with (reference / "published-mmbench.csv").open(encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            numbers.setdefault(row["metric"], {})[row["model"]] = [row["value"]]
    for metric, values in numbers.items():
        put_table(release, metric, values, ["mmbench"])
