"""`vouch publish card`: a model's results as a section of its model card on the hub of Hugging Face."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from vouch.cli.command import argument, command, path_argument
from vouch.cli.leaderboard import (
    ACCURACY,
    Cells,
    Row,
    cells,
    is_blind,
    label,
    long_name,
    small,
    warn_if_outdated,
)
from vouch.cli.printing import interval, number, plain
from vouch.metrics.unranked import LOW_MASS_RATE, unranked
from vouch.params.check import check_project
from vouch.params.project import Project
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.files import write_text
from vouch.pipeline.records import intact
from vouch.report.caveats import NOTE, OF_READING, bounds
from vouch.report.costs import EVEN, eased_by, is_control
from vouch.report.gates import ends, headline_columns
from vouch.tables import HEADLINE
from vouch.tables.answered import Pin, pin_path, read_pin
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH, VARIATIONS, VARIATIONS_PATH

COLUMNS = headline_columns(4)
GUESS = "guess"
"""A column: the accuracy of a guess in a variation that changes the correct answer."""
_DIGITS = 4
_END = """
Intervals are of 95 %: over groups of questions for accuracy, calibration and variations of the prompt, over \
repeated splits for prediction sets. The costliest variation is the largest drop of those tried, with no \
correction for their number. These numbers hold for these questions, asked in these words; the hub has not \
verified them.
"""


@command(
    "publish card",
    "a model's results as a section of its model card on the hub",
    argument("model", names="models", help="a model of params.yaml"),
    path_argument("--out", metavar="FILE", help="default: the screen"),
    path_argument("--repository", metavar="FOLDER", help="write .eval_results/*.yaml there"),
)
def run(options: argparse.Namespace) -> int:
    """Write a model's results for its repository on the hub: a section of its card, printed or as a file.

    The section says in Markdown how certain the model is, whether it is calibrated, and which prompt
    variation costs most accuracy. With --repository the accuracy on each dataset of the hub becomes a file of
    .eval_results. All numbers are of the clean protocol and the original prompts.

    Examples:
      vouch publish card my_model --out card.md
      vouch publish card my_model --repository ../my-model        a clone of the model's repository
    """
    project = check_project()
    leaderboard = LEADERBOARD.read(intact(LEADERBOARD_PATH))
    check_name("model", options.model, pc.unique(leaderboard["model"]).to_pylist(), LEADERBOARD_PATH)
    every = cells(_rows_of(leaderboard, options.model), "clean", variations=True)
    original = {line: of for line, of in every.items() if line[1] == ORIGINAL}
    if not original:
        raise UserError(
            f"{LEADERBOARD_PATH}: {options.model} has no results on original prompts; name the variation "
            f"{ORIGINAL} in params.yaml"
        )
    variations = with_guesses(_rows_of(VARIATIONS.read(intact(VARIATIONS_PATH)), options.model), every)
    path = pin_path(options.model)
    pin = read_pin(intact(path)) if path.exists() else None
    text = card_section(pin, original, variations, small(every))
    if options.repository:
        folder = options.repository / ".eval_results"
        files = dict(evaluations(project, original))
        for name, entry in files.items():
            write_text(folder / name, entry)
        print(f"card: {len(files)} results in {plain(folder)}")
    if options.out:
        write_text(options.out, text)
        print(f"card: {plain(options.out)}; put it into the model's README.md")
    elif not options.repository:
        print(text, end="")
    warn_if_outdated()
    return 0


def _rows_of(table: pa.Table, model: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.filter(pc.equal(table["model"], model)).to_pylist()
    return rows


def evaluations(project: Project, numbers: Cells) -> Iterator[tuple[str, str]]:
    """Names and texts of files, one for each dataset of the hub and request type. numbers: the model's cells.

    The hub shows one number for a task; a number that was obtained in another way needs a file of its own.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    for (dataset, _, output, _), of in numbers.items():
        entry, row = project.datasets.get(dataset), of.get(ACCURACY)
        origin = entry.origin if entry else None
        if origin is None or origin.hub is None or not row or row["value"] is None:
            continue
        split = f" of {origin.split}" if origin.split else ""
        result = EvalResultEntry(
            dataset_id=str(origin.hub),
            task_id=origin.config or "default",
            value=round(row["value"], _DIGITS),
            dataset_revision=origin.revision,
            notes=f"Accuracy by {output}, {interval(row)}, of {row['items']} questions{split}",
        )
        text = yaml.safe_dump(eval_result_entries_to_yaml([result]), sort_keys=False, width=1000)
        yield f"{dataset}_{output}.yaml", text


def card_section(
    pin: Pin | None,
    numbers: Cells,
    variations: Sequence[Row],
    reasons: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The Markdown: a table and its explanation. reasons: by dataset, why it is too small."""
    head = ["dataset", "output", "questions", *(label(*column) for column in COLUMNS)]
    lines = ["## How far can its answers be trusted?", "", _measured(pin), "", f"| {' | '.join(head)} |"]
    lines.append("|---|---|" + "---:|" * (1 + len(COLUMNS)))
    for (dataset, _, output, _), of in numbers.items():
        items = str(of.get(ACCURACY, {}).get("items", ""))
        values = [interval(of.get(column)) for column in COLUMNS]
        lines.append(f"| {' | '.join([dataset, output, items, *values])} |")
    for (dataset, _, output, _), of in numbers.items():
        own = [row for row in variations if (row["dataset"], row["output"]) == (dataset, output)]
        sentences = " ".join(_sentences(output, of, own, reasons.get(dataset, "")))
        lines += ["", f"**{dataset}, {output}.** {sentences}"]
    return "\n".join(lines) + f"\n{_END}"


def _measured(pin: Pin | None) -> str:
    if pin is None or pin.source.kind == "released":
        what = "Scored from released answers"
    elif pin.source.kind == "server":
        what = f"Asked of a server under the name {plain(pin.source.name)}"
    else:
        what = f"Asked in {pin.dtype}"
        what += f", of {pin.source.repo} at commit {pin.source.revision}" if pin.source.revision else ""
    return f"{what}; questions with defects left out, copies of a question kept together."


def _sentences(
    output: str, of: Mapping[tuple[str, str], Row], variations: Sequence[Row], too_small: str
) -> Iterator[str]:
    """Sentences on calibration, coverage and robustness, each only if there is a number for it."""

    def known(metric: str, score: str = "") -> Row | None:
        row = of.get((metric, score))
        return row if row and row["value"] is not None else None

    if too_small:
        yield f"The dataset is {too_small}."
    if is_blind(of):
        yield "It takes no images: what it answers needs none."
    if low := known(LOW_MASS_RATE):
        yield f"In {points(low)} % of the prompts an answer more probably begins with no option letter."
    for note in bounds({name: of[name, ""]["value"] for name in OF_READING if (name, "") in of}):
        yield f"{plain(note)}."
    if unranked(of.values()):
        yield f"It {NOTE[output]}."
    if error := known("ece"):
        yield f"Its stated confidence is off by {points(error)} percentage points on average."
    for score in HEADLINE:
        size, covered = known("set_size", score), known("coverage", score)
        if size and covered:
            yield (
                f"{score.upper()} prediction sets, guaranteed to cover {100 * (1 - size['alpha']):g} % of "
                f"the answers, cover {points(covered)} %, with {interval(size)} options each."
            )
    if not too_small:
        yield from sensitivity(variations)


def with_guesses(variations: Sequence[Row], every: Cells) -> list[Row]:
    """One model's rows of VARIATIONS with the column GUESS. every: the model's cells of all variations.

    GUESS is None unless the variation changes the correct answer (vouch/report/costs.py).
    """
    key = ("dataset", "variation", "output", "model")
    opposite = {tuple(row[name] for name in key) for row in variations if row["metric"] == "not_flipped"}
    guesses = {line: every.get(line, {}).get(("random_accuracy", ""), {}).get("value") for line in opposite}
    return [{**row, GUESS: guesses.get(tuple(row[name] for name in key))} for row in variations]


def sensitivity(variations: Sequence[Row]) -> Iterator[str]:
    """Names the variation that costs most accuracy and the one that flips most answers. rows: of one cell."""
    tried = [row for row in variations if row["metric"] == "accuracy" and not is_control(row["variation"])]
    if not tried:
        yield "No prompt variations were tried."
        return
    eased = {row["variation"]: eased_by(row[GUESS], row["original"]) for row in tried}
    worst = min(tried, key=lambda row: (row["difference"] - eased[row["variation"]], row["variation"]))
    name = long_name(worst["variation"])
    if worst["high"] is not None and worst["high"] < eased[worst["variation"]]:
        yield f"The costliest of {len(tried)} prompt variations is {name}: {_cost(worst)}."
    else:
        yield (
            f"None of {len(tried)} prompt variations costs accuracy significantly; the "
            f"lowest accuracy is with {name}: {_cost(worst)}."
        )
    flipped = [row for row in variations if row["metric"] == "flipped" and row["variation"] in eased]
    if flipped:
        most = max(flipped, key=lambda row: (row["value"], row["variation"]))
        yield f"Most answers flip with {long_name(most['variation'])}: {points(most)} %."


def _cost(row: Row) -> str:
    guess = row[GUESS]
    if guess is not None and abs(2 * guess - 1) > EVEN:
        return (
            f"{number(100 * row['value'], 1)} % are correct, where a guess gives {100 * guess:.0f} %, and of "
            f"the originals {number(100 * row['original'], 1)} %, where it gives {100 * (1 - guess):.0f} %"
        )
    bounds = f" [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]" if row["low"] is not None else ""
    return f"accuracy {100 * row['difference']:+.1f}{bounds} points"


def points(row: Row) -> str:
    """A share in per cent, with its interval."""
    low, high = ends(row["low"], row["high"])
    bounds = "" if low is None or high is None else f" [{number(100 * low, 1)}, {number(100 * high, 1)}]"
    return f"{number(100 * row['value'], 1)}{bounds}"
