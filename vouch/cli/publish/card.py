"""A model's results for its model card on the hub: the `model-index` metadata and a section of Markdown that
says how sure the model is, whether that is honest, and which change of the prompt costs most. Clean reading,
original prompts. To the screen, or with --out to a file."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from vouch.cli.printing import interval, plain
from vouch.cli.outdated import tell_outdated
from vouch.cli.sensitivity import Row, points, sensitivity, with_guesses
from vouch.cli.show import Cells, cells
from vouch.datasets.cleaning.config import DatasetEntry
from vouch.params.check import check_project
from vouch.params.project import Project
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.files import write_text
from vouch.pipeline.intact import intact
from vouch.tables.compared import LEADERBOARD, LEADERBOARD_PATH, VARIATIONS, VARIATIONS_PATH
from vouch.tables.pins import Pin, pin_path, read_pin
from vouch.tables.prompts import ORIGINAL

TASK = {"type": "visual-question-answering", "name": "Visual Question Answering"}
METRICS = (
    ("accuracy", "", "accuracy", "Accuracy"),
    ("ece", "", "expected_calibration_error", "Expected calibration error"),
    ("coverage", "lac", "coverage", "Coverage of prediction sets, LAC"),
    ("set_size", "lac", "set_size", "Options in a prediction set, LAC"),
    ("coverage", "aps", "coverage", "Coverage of prediction sets, APS"),
    ("set_size", "aps", "set_size", "Options in a prediction set, APS"),
)
_DIGITS = 4


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch card`."""
    parser.add_argument("model", help="slug of the model, as in params.yaml")
    parser.add_argument(
        "--out", type=lambda name: Path(name).absolute(), metavar="FILE", help="default: the screen"
    )


def run(options: argparse.Namespace) -> int:
    """Writes the card."""
    project = check_project()
    leaderboard = LEADERBOARD.read(intact(LEADERBOARD_PATH))
    known = sorted(pc.unique(leaderboard["model"]).to_pylist())
    if options.model not in known:
        raise UserError(f"{LEADERBOARD_PATH}: no model {options.model}; {did_you_mean(options.model, known)}")
    every = cells(_of(leaderboard, options.model), "clean", variations=True)
    found = {line: of for line, of in every.items() if line[1] == ORIGINAL}
    if not found:
        raise UserError(
            f"{LEADERBOARD_PATH}: {options.model} has no results on original prompts; name the variation "
            f"{ORIGINAL} in params.yaml"
        )
    changes = with_guesses(_of(VARIATIONS.read(intact(VARIATIONS_PATH)), options.model), every)
    path = pin_path(options.model)
    pin = read_pin(intact(path)) if path.exists() else None  # released logits have none
    text = card(options.model, pin, project, found, changes)
    if options.out:
        write_text(options.out, text)
        print(f"card: {plain(options.out)}; put its metadata and its section into the model's README.md")
    else:
        print(text, end="")
    tell_outdated()
    return 0


def _of(table: pa.Table, model: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.filter(pc.equal(table["model"], model)).to_pylist()
    return rows


def card(model: str, pin: Pin | None, project: Project, found: Cells, changes: Sequence[Row]) -> str:
    """Metadata between lines of dashes, then Markdown. found: cells of this model alone."""
    name = pin.source.repo.split("/")[-1] if pin and pin.source.repo else model
    results = [
        {
            "task": dict(TASK),
            "dataset": dataset_of(line[0], project.datasets.get(line[0])),
            "metrics": list(metrics_of(line[2], of)),
        }
        for line, of in found.items()
    ]
    metadata = yaml.safe_dump(
        {"model-index": [{"name": name, "results": results}]}, sort_keys=False, width=1000
    )
    return f"---\n{metadata}---\n\n{section(pin, found, changes)}"


def dataset_of(name: str, entry: DatasetEntry | None) -> dict[str, str]:
    """A dataset as the hub names it; one of another place by its name here."""
    origin = entry.origin if entry else None
    if origin is None or origin.hub is None:
        return {"name": name, "type": name}
    known = {"config": origin.config, "split": origin.split, "revision": origin.revision}
    return {"name": name, "type": origin.hub, **{key: value for key, value in known.items() if value}}


def metrics_of(output: str, of: Mapping[tuple[str, str], Row]) -> Iterator[dict[str, Any]]:
    """Metrics that have a value, named with the output, because the hub knows none."""
    for metric, score, kind, label in METRICS:
        row = of.get((metric, score))
        if row is None or row["value"] is None:
            continue
        values: dict[str, Any] = {"protocol": "clean", "output": output, "items": row["items"]}
        values |= {"alpha": row["alpha"], "score": score} if score else {}
        if row["low"] is not None:
            values["interval"] = [round(row["low"], _DIGITS), round(row["high"], _DIGITS)]
        yield {
            "type": kind,
            "value": round(row["value"], _DIGITS),
            "name": f"{label} ({output})",
            "args": values,
            "verified": False,
        }


def section(pin: Pin | None, found: Cells, changes: Sequence[Row]) -> str:
    """The Markdown: a table, and what it means."""
    lines = ["## How far can its answers be trusted?", "", _measured(pin), ""]
    lines += ["| dataset | read out | questions | " + " | ".join(label for *_, label in METRICS) + " |"]
    lines += ["|---|---|---:|" + "---:|" * len(METRICS)]
    for (dataset, _, output, _), of in found.items():
        items = of.get(("accuracy", ""), {}).get("items", "")
        numbers = [interval(of.get((metric, score))) for metric, score, *_ in METRICS]
        lines.append(f"| {dataset} | {output} | {items} | {' | '.join(numbers)} |")
    for dataset, _, output, _ in found:
        lines += ["", f"**{dataset}, {output}.** " + " ".join(_said(dataset, output, found, changes))]
    lines += [
        "",
        "Intervals are of 95 %: over groups of questions for accuracy, calibration and changes of the "
        "prompt, over repeated splits for prediction sets. The costliest change is the largest of those "
        "tried, with no correction for their number. These numbers hold for these questions, asked in these "
        "words; the hub has not verified them.",
    ]
    return "\n".join(lines) + "\n"


def _measured(pin: Pin | None) -> str:
    if pin is None:
        what = "Scored from released answers"
    elif pin.source.kind == "server":
        what = f"Asked of a server under the name {plain(pin.source.name)}"
    else:
        what = f"Asked in {pin.dtype}"
        what += f", of {pin.source.repo} at commit {pin.source.revision}" if pin.source.revision else ""
    return f"{what}; broken questions left out, copies of a question kept together."


def _said(dataset: str, output: str, found: Cells, changes: Sequence[Row]) -> Iterator[str]:
    """Sentences on calibration, coverage and sensitivity, each only where there is a number."""
    of = next(each for line, each in found.items() if (line[0], line[2]) == (dataset, output))
    error = of.get(("ece", ""))
    if error and error["value"] is not None:
        yield f"Its stated confidence is off by {points(error)} percentage points on average."
    for score in ("lac", "aps"):
        size, covered = of.get(("set_size", score)), of.get(("coverage", score))
        if size and covered and size["value"] is not None and covered["value"] is not None:
            yield (
                f"{score.upper()} sets that promise {100 * (1 - size['alpha']):g} % held the answer for "
                f"{points(covered)} % of the questions, with {interval(size)} options each."
            )
    own = [row for row in changes if (row["dataset"], row["output"]) == (dataset, output)]
    yield from sensitivity(own)
