"""Tables as files: headline numbers, reports/tables, and each table of a page as CSV and LaTeX.

Headline numbers go to metrics.json, `dvc plots` and tables/headline.csv, a few of them to `dvc metrics`. The
files of reports/tables are unrounded, in a fixed order and safe to open in a spreadsheet or a terminal; the
tables of pages are rounded as shown.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from vouch.metrics.blind import BLIND_GAIN, UNSOLVED_ACCURACY, WITH_IMAGE
from vouch.metrics.intervals import wilson
from vouch.metrics.join import YES_NO
from vouch.metrics.unranked import LOW_MASS_RATE, READING
from vouch.report import formatting
from vouch.report.claims import chosen
from vouch.report.evidence import MARGINAL, Evidence
from vouch.report.gates import ends, headline_columns
from vouch.report.table import MISSING, Cell, Grid, Measured
from vouch.tables import HEADLINE
from vouch.tables.asked import REJECTED
from vouch.tables.decisions import guarded

_ACCURACY, *_OTHERS = headline_columns(5)
_HELP = {
    ("coverage", score): f"share of {score.upper()} sets that contain the correct answer"
    for score in HEADLINE
}
HEADLINES = (
    Measured(*_ACCURACY),
    Measured(WITH_IMAGE),
    Measured(UNSOLVED_ACCURACY),
    Measured(BLIND_GAIN, label="Beyond a guess, points", points=True),
    *(Measured(metric, interval=False) for metric in READING),
    *(Measured(metric) for metric in YES_NO),
    *(Measured(*column, help=_HELP.get(column, "")) for column in _OTHERS),
    Measured(LOW_MASS_RATE),
)
WITH_BASELINE = (WITH_IMAGE, UNSOLVED_ACCURACY, BLIND_GAIN)
OPTIONAL = (*WITH_BASELINE, *READING, *YES_NO, LOW_MASS_RATE)
"""Metrics that get a column in a table only if some model has them."""
METRICS = {
    f"{each.metric}_{each.score}" if each.score in HEADLINE else each.metric: each for each in HEADLINES
}
"""The metrics by their names in files."""
PROTOCOLS = ("clean", "faithful")


def headline(evidence: Evidence) -> pd.DataFrame:
    """The headline numbers; `rank`, `rank_low`, `rank_high` are by accuracy, METRIC_low, METRIC_high an
    interval."""
    columns = ["dataset", "model", "protocol", "items", "rank", "rank_low", "rank_high"]
    known = set(evidence.leaderboard["metric"])
    names = [name for name in METRICS if name not in WITH_BASELINE or name in known]
    columns += [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
    rows = [
        _row(evidence, dataset, model, protocol)
        for dataset in evidence.datasets
        for model in evidence.models(dataset)
        for protocol in PROTOCOLS
    ]
    counts = ["items", "rank", "rank_low", "rank_high"]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(counts, "Int64"))


def _row(evidence: Evidence, dataset: str, model: str, protocol: str) -> dict[str, object]:
    row: dict[str, object] = {"dataset": dataset, "model": model, "protocol": protocol}
    for name, each in METRICS.items():
        number = each.number(evidence, dataset, model, protocol=protocol)
        if number is None:
            continue
        low, high = ends(number.low, number.high)
        row |= {name: number.value, f"{name}_low": low, f"{name}_high": high}
        if name == "accuracy":
            row["items"] = number.items
            if not evidence.is_small(dataset):
                row |= {name: getattr(number, name) for name in ("rank", "rank_low", "rank_high")}
    return row


def values(evidence: Evidence, dataset: str, model: str, protocol: str = "clean") -> dict[str, float]:
    """The headline numbers that a model has, by name."""
    return {
        name: number.value
        for name, each in METRICS.items()
        if (number := each.number(evidence, dataset, model, protocol=protocol))
    }


def metrics_json(evidence: Evidence) -> dict[str, Any]:
    """{dataset: {model: {metric: value, ..., faithful: {metric: value, ...}}}}.

    The metrics directly under a model are those of the clean protocol. Nothing is rounded; a missing number
    has no key.
    """
    return {
        dataset: {
            model: values(evidence, dataset, model)
            | {"faithful": values(evidence, dataset, model, "faithful")}
            for model in evidence.models(dataset)
        }
        for dataset in evidence.datasets
    }


DVC_METRICS = {
    "accuracy": "accuracy",
    "coverage": "coverage_lac",
    "set_size": "set_size_lac",
    "ece": "ece",
}
"""Names in the files for `dvc metrics`, whose tables stay within 80 columns -> names in METRICS."""


def dvc_models(evidence: Evidence) -> tuple[str, list[str]]:
    """The dataset whose numbers `dvc metrics` shows, and its models, the most accurate first; by name if
    it is too small to rank them.

    It is the one with the most groups of questions; a choice by results would differ between experiments.
    """
    dataset = max(evidence.datasets, key=evidence.groups)
    candidates, models = evidence.candidates(dataset), evidence.models(dataset)
    if evidence.is_small(dataset):
        candidates, models = tuple(sorted(candidates)), tuple(sorted(models))
    return dataset, [*candidates, *(model for model in models if model not in candidates)]


def dvc_numbers(evidence: Evidence, dataset: str, model: str) -> dict[str, float]:
    """The numbers of DVC_METRICS that a model has."""
    known = values(evidence, dataset, model)
    return {name: known[metric] for name, metric in DVC_METRICS.items() if metric in known}


def _label(evidence: Evidence, dataset: str, model: str) -> str:
    return model if len(evidence.datasets) == 1 else f"{model} on {dataset}"


PLOTTED = ("accuracy", "set_size_lac", "ece")


def plotted(evidence: Evidence, metric: str) -> pd.DataFrame:
    """A row for each model and dataset with this metric: run, accuracy, the metric (clean protocol).

    Models without it are left out, because `dvc plots` would draw them as 0.
    """
    rows = [
        {"run": _label(evidence, dataset, model)} | found
        for dataset in evidence.datasets
        for model in evidence.models(dataset)
        if metric in (found := values(evidence, dataset, model))
    ]
    return pd.DataFrame(rows, columns=list(dict.fromkeys(("run", "accuracy", metric))))


def bins(confidence: np.ndarray, correct: np.ndarray, number: int) -> pd.DataFrame:
    """One row per bin that holds an answer: bin, confidence (mean), accuracy, low, high, answers.

    confidence: in [0, 1]. correct: grade in [0, 1]; tied options share it. Both of shape (answers,). low,
    high: Wilson's 95 % interval.
    """
    index = np.minimum((confidence * number).astype(int), number - 1)
    answers = np.bincount(index, minlength=number)
    held = np.flatnonzero(answers)
    n = answers[held].astype(float)
    share = np.bincount(index, weights=correct, minlength=number)[held] / n
    mean = np.bincount(index, weights=confidence, minlength=number)[held] / n
    low, high = wilson(share * n, n)
    return pd.DataFrame(
        {
            "bin": held,
            "confidence": mean,
            "accuracy": share,
            "low": low,
            "high": high,
            "answers": answers[held],
        }
    )


def reliability_bins(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model and bin, with a heading for the model's panel."""
    parts = []
    for model in chosen(evidence, dataset):
        confidence, correct, _ = evidence.confidences(dataset, model)
        if len(confidence):
            error = evidence.number(dataset, model, "ece")
            note = f"{model} (ECE {formatting.number(100 * error.value, 1)} %)" if error else model
            table = bins(confidence, correct, evidence.scoring.bins)
            parts.append(table.assign(model=model, panel=note))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def plotted_reliability(evidence: Evidence) -> pd.DataFrame:
    """One row per bin of the models that are shown: run, confidence, accuracy, answers."""
    columns = ["run", "confidence", "accuracy", "answers"]
    parts = [
        data.assign(run=[_label(evidence, dataset, model) for model in data["model"]])[columns]
        for dataset in evidence.datasets
        if len(data := reliability_bins(evidence, dataset))
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


DIGITS = 7  # after the point in metrics.csv; the parquet has them all
ORDER = [
    *("dataset", "model", "variation", "output", "protocol"),
    *("category", "calibration", "alpha", "score", "metric"),
]


def _differences(evidence: Evidence) -> pd.DataFrame:
    """The differences; p is empty for datasets that are too small."""
    frame = evidence.differences.sort_values(["dataset", "output", "first", "second"])
    small = frame["dataset"].map(evidence.is_small).astype(bool)
    return frame.assign(p=frame["p"].mask(small), p_holm=frame["p_holm"].mask(small))


def _defects(evidence: Evidence) -> pd.DataFrame:
    frame = evidence.defects.sort_values("dataset", kind="stable")
    frame = frame.assign(examples=[" ".join(names) for names in frame["examples"]])
    return frame[["dataset", *(name for name in frame if name != "dataset")]]


def _metrics(evidence: Evidence) -> pd.DataFrame:
    """The leaderboard of whole datasets and original prompts; the parquet file has everything."""
    frame = evidence.leaderboard
    first = frame["dataset"].map({name: evidence.variations(name)[0] for name in evidence.datasets})
    frame = frame[(frame["variation"] == first) | (frame["variation"] == "")]
    frame = frame[(frame["category"] == "all") & frame["calibration"].isin(("", MARGINAL))].round(DIGITS)
    rest = [name for name in frame.columns if name not in ORDER]
    return frame.sort_values(ORDER)[ORDER + rest]


def _published(evidence: Evidence) -> pd.DataFrame:
    frame = evidence.reproduced.sort_values(["dataset", "model", "metric"])
    return frame[["dataset", "model", "metric", "published", "ours", "difference"]]


def _rewrites(evidence: Evidence) -> pd.DataFrame:
    """Rejected rewrites; failed checks are joined by blanks."""
    frame = evidence.rewrites[evidence.rewrites["status"] == REJECTED]
    frame = frame.assign(failed=[" ".join(names) for names in frame["failed"]])
    return frame[["dataset", *(name for name in frame if name not in ("dataset", "status"))]]


TABLES: dict[str, Callable[[Evidence], pd.DataFrame]] = {
    "defects": _defects,
    "differences": _differences,
    "dimensions": lambda evidence: evidence.dimensions,
    "headline": headline,
    "metrics": _metrics,
    "published": _published,
    "ranked": lambda evidence: evidence.ranked,
    "rankings": lambda evidence: evidence.rankings,
    "rejects": lambda evidence: evidence.rejects.sort_values("dataset", kind="stable"),
    "rewrites": _rewrites,
    "transfer": lambda evidence: evidence.transfer,
    "variations": lambda evidence: evidence.costs,
}
"""Name of a file in reports/tables -> the table that is written to it."""


def _harmless(value: object) -> object:
    return guarded(formatting.visible(value)) if isinstance(value, str) else value


def csv_text(frame: pd.DataFrame) -> str:
    """UTF-8 text with a header, `\\n` line ends, numbers in full precision, null as an empty cell."""
    safe = frame.rename(columns=_harmless)
    for name in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[name]):
            column = safe[name].astype(object)
            safe_of = {cell: _harmless(cell) for cell in column.unique() if isinstance(cell, str)}
            safe[name] = column.map(lambda cell, safe_of=safe_of: safe_of.get(cell, cell), na_action="ignore")
    return str(safe.to_csv(index=False, lineterminator="\n"))


def rows_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV: numbers as Python prints them, None as an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_harmless, row) for row in [header, *rows])
    return text.getvalue()


_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SPAN = re.compile(r"(?:([^\s;]+?)(?:\u2013| to )([^\s;]+))?(?:(?:; )?of ([\d,]+))?")


class TableFiles:
    """Collects the tables of pages as these are rendered. files: text of each file, by name."""

    def __init__(self, datasets: Sequence[str]) -> None:
        self.files: dict[str, str] = {}
        self._datasets = frozenset(datasets)

    def add(self, grid: Grid) -> str:
        """The name that the files of a table share: its own, the dataset, and a number if needed."""
        dataset = grid.caption.partition(": ")[0]
        name = f"{grid.name}-{dataset}" if dataset in self._datasets else grid.name
        stem, number = name, 1
        columns = columns_of(grid)
        text = rows_text(list(columns), zip(*columns.values(), strict=True))
        while self.files.get(f"{stem}.csv", text) != text:
            number += 1
            stem = f"{name}-{number}"
        self.files[f"{stem}.csv"] = text
        self.files[f"{stem}.tex"] = latex(grid)
        return stem


def columns_of(grid: Grid) -> dict[str, list[object]]:
    """The table column by column, with numbers as numbers and intervals in separate columns."""
    columns: dict[str, list[object]] = {}
    for index, column in enumerate(grid.columns):
        cells = [row[index] for row in grid.rows]
        for name, values in _columns(column.label, cells, column.numeric):
            unique = name
            while unique in columns:
                unique += "\u2032"
            columns[unique] = values
    return columns


def _columns(label: str, cells: Sequence[Cell], numeric: bool) -> Iterator[tuple[str, list[object]]]:
    yield label, [_value(cell.text) if numeric else cell.text for cell in cells]
    notes = [cell.note for cell in cells]
    if not any(notes):
        return
    spans = [_SPAN.fullmatch(note) for note in notes]
    if numeric and all(found or not note for found, note in zip(spans, notes, strict=True)):
        for part, name in enumerate(("low", "high", "items"), start=1):
            texts = [found[part] if found else None for found in spans]
            if any(texts):
                yield f"{label}, {name}", [_value(text) if text else None for text in texts]
    else:
        yield f"{label}, note", list(notes)


def _value(text: str) -> object:
    """The number that a text shows; None for a dash; any other text is unchanged."""
    if text == MISSING.text:
        return None
    plain = text.replace(formatting.MINUS, "-").replace(",", "")
    found = _NUMBER.fullmatch(plain)
    return text if not found else float(plain) if found[1] else int(plain)


_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "[": "{[}",  # at the start of a line, LaTeX would read it as a distance
        "]": "{]}",
        formatting.NARROW: r"\,",
        formatting.MINUS: "$-$",
        "\u2013": "--",
        "\u00b1": r"$\pm$",
        "\u00b0": r"\textdegree{}",
    }
)
# Control characters and directional marks: invisible, and LaTeX cannot handle them.
_UNSEEN = re.compile("[\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


def escaped(text: str) -> str:
    """Text escaped for LaTeX; white space and invisible characters become blanks."""
    return _UNSEEN.sub(" ", text).translate(_SPECIAL).strip()


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if cell.tone == "strong":
        text = rf"\textbf{{{text}}}"
    return rf"{text} {{\scriptsize {escaped(cell.note)}}}" if cell.note else text


def latex(grid: Grid) -> str:
    """A floating table: caption, heading, one line per row."""
    kinds = "".join("r" if column.numeric else "l" for column in grid.columns)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(grid.caption)}}}",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        " & ".join(escaped(column.label) for column in grid.columns) + r" \\",
        r"\midrule",
        *(" & ".join(map(_cell, row)) + r" \\" for row in grid.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
