"""The labelled answers, joined with their texts, which lie in ../shared and are never part of the project."""

import csv
import json
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from vouch.metrics.text.answers import of_reference
from vouch.metrics.text.parsers import DEFAULT_PARSERS, read
from vouch.metrics.text.reader.open import value
from vouch.metrics.text.reader.options import ANSWER, OPTION, Choices
from vouch.metrics.text.wording import undressed

REFERENCE = Path("../shared/reference")
ANSWERS, PRO = REFERENCE / "answers", REFERENCE / "outputs/mmmu_pro"
LABELS = Path(__file__).with_name("labels.csv")
SETS = ("blink", "worldmedqa", "mathvista")
BASELINES = ("random_guess", "frequent_guess")  # of MathVista: no models
_Z = 1.96
RIGHT, FALSE, MISS, OTHER = "right", "false read", "miss", "other"


@dataclass(frozen=True)
class Labelled:
    """An answer and its label. weight: how many answers of the set it stands for."""

    set: str
    language: str
    kind: str
    weight: float
    text: str
    choices: Choices | None
    label: str
    span: str

    def outcome(self) -> tuple[str, str]:
        """RIGHT, FALSE (an answer is read that the text does not give), MISS (none is read of a text that gives
        one) or OTHER (no answer, but of another sort); and the rule."""
        if self.choices is None:
            reading = value(self.text)
            said, given = reading.verdict == ANSWER, self.label == ANSWER
            same = given and said and _number(reading.span) == _number(self.span)
        else:
            _, reading = read(self.text, self.choices, DEFAULT_PARSERS)
            said, given = reading.verdict == OPTION, len(self.label) == 1
            same = given and reading.places == (string.ascii_uppercase.index(self.label),)
        rule = reading.kind or "nothing found"
        if said:
            return (RIGHT if same else FALSE), rule
        return (MISS if given else RIGHT if reading.verdict == self.label else OTHER), rule


def _number(written: str) -> float | str:
    found = of_reference(written)
    return " ".join(undressed(written).lower().split()) if found is None else found


def labelled(half: str) -> list[Labelled]:
    """All of a half of the labels: `rules`, by which the rules were made, or `held`."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        labels = [row for row in csv.DictReader(file) if row["half"] == half]
    texts = {key: row for name in (*SETS, "mmmu_pro") for key, row in _texts(name)}
    found = []
    for row in labels:
        said = texts[row["set"], row["model"], row["id"], row["kind"]]
        span = said["text"][int(row["start"]) : int(row["end"])] if row["start"] else ""
        plain = row["set"], row["language"], row["kind"], float(row["weight"])
        found.append(Labelled(*plain, said["text"], said["choices"], row["label"], span))
    return found


def of_set(name: str) -> list[dict[str, Any]]:
    """All rows of a set with their choices, None where the question is open."""
    rows: list[dict[str, Any]] = pq.read_table(ANSWERS / f"{name}.parquet").to_pylist()
    for row in rows:
        options = json.loads(row["options"]) if row["options"] else None
        row["choices"] = options and choices(options, row["question"])
    return [row for row in rows if row["model"] not in BASELINES]


def choices(options: list[str], question: str | None = None) -> Choices:
    """Options with their letters."""
    return Choices(tuple(string.ascii_uppercase[: len(options)]), tuple(options), question or "")


def _texts(name: str) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if name != "mmmu_pro":
        for row in of_set(name):
            yield (name, row["model"], row["id"], row["kind"]), row
        return
    for path in sorted(PRO.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if not row.get("response"):
                continue
            known = {"text": row["response"], "choices": choices([""] * (row.get("n_options") or 10))}
            yield (name, path.stem, row["id"], "choice"), known


def wilson(weights: Iterable[tuple[float, bool]]) -> tuple[float, float, float]:
    """Weighted share of the true ones with Wilson's 95 % interval for the effective number (Kish 1965)."""
    pairs = list(weights)
    total = sum(weight for weight, _ in pairs)
    n = total**2 / sum(weight**2 for weight, _ in pairs)
    share = sum(weight for weight, true in pairs if true) / total
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return share, max(0.0, middle - half), middle + half
