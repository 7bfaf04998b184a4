"""Results for the hub of Hugging Face.

`vouch publish card` writes a section of a model card, `vouch publish hub` the report's tables as a dataset.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from vouch.cli.command import argument, command, one_of, path_argument
from vouch.cli.printing import check_name, interval, long_name, plain, warn_if_outdated
from vouch.cli.show import Cells, cells, label, small
from vouch.library.results import PUBLISHED, results
from vouch.metrics.unranked import LOW_MASS_RATE, unranked
from vouch.params.check import check_project
from vouch.params.project import Project
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import replacing, write_text
from vouch.pipeline.hub import BRANCH, one_line
from vouch.pipeline.records import intact
from vouch.report.caveats import NOTE, OF_READING, bounds
from vouch.report.costs import EVEN, eased_by, is_control
from vouch.report.gates import ends
from vouch.tables import HEADLINE
from vouch.tables.answered import Pin, pin_path, read_pin
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH, VARIATIONS, VARIATIONS_PATH

if TYPE_CHECKING:
    import pandas as pd


Row = Mapping[str, Any]
CARD_METRICS = (  # metric and score
    *(("accuracy", ""), ("ece", "")),
    *((metric, score) for score in HEADLINE for metric in ("coverage", "set_size")),
)
_DIGITS = 4
GUESS = "guess"
"""A column: the accuracy of a guess in a variation that changes the correct answer."""


@command(
    "publish card",
    "a model's results as a section of its model card on the hub",
    argument("model", names="models", help="a model of params.yaml"),
    path_argument("--out", metavar="FILE", help="default: the screen"),
    path_argument("--repository", metavar="FOLDER", help="write .eval_results/*.yaml there"),
)
def run_card(options: argparse.Namespace) -> int:
    """Write a model's results for its repository on the hub: a section of its card, to the screen or a file.

    The section says in Markdown how certain the model is, whether it is calibrated, and which prompt
    variation costs most. With --repository the accuracy on each dataset of the hub becomes a file of
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
        files = dict(evaluations(project, original))
        for name, entry in files.items():
            write_text(options.repository / ".eval_results" / name, entry)
        print(f"card: {len(files)} results in {plain(options.repository / '.eval_results')}")
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
    """Name and text of a file for each dataset of the hub and request type. numbers: cells of this model.

    The hub shows one number for a task; a number that was obtained in another way needs a file of its own.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    for (dataset, _, output, _), of in numbers.items():
        entry, row = project.datasets.get(dataset), of.get(("accuracy", ""))
        if (
            entry is None
            or entry.origin is None
            or entry.origin.hub is None
            or not row
            or row["value"] is None
        ):
            continue
        origin = entry.origin
        result = EvalResultEntry(
            dataset_id=str(origin.hub),
            task_id=origin.config or "default",
            value=round(row["value"], _DIGITS),
            dataset_revision=origin.revision,
            notes=f"Accuracy by {output}, {interval(row)}, of {row['items']} questions"
            + (f" of {origin.split}" if origin.split else ""),
        )
        text = yaml.safe_dump(eval_result_entries_to_yaml([result]), sort_keys=False, width=1000)
        yield f"{dataset}_{output}.yaml", text


def card_section(
    pin: Pin | None,
    numbers: Cells,
    variations: Sequence[Row],
    reasons: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The Markdown: a table, and what it means. reasons: why datasets are too small, by name."""
    lines = ["## How far can its answers be trusted?", "", _measured(pin), ""]
    lines += ["| dataset | output | questions | " + " | ".join(label(*each) for each in CARD_METRICS) + " |"]
    lines += ["|---|---|---:|" + "---:|" * len(CARD_METRICS)]
    for (dataset, _, output, _), of in numbers.items():
        items = of.get(("accuracy", ""), {}).get("items", "")
        values = [interval(of.get(each)) for each in CARD_METRICS]
        lines.append(f"| {dataset} | {output} | {items} | {' | '.join(values)} |")
    for dataset, _, output, _ in numbers:
        lines += [
            "",
            f"**{dataset}, {output}.** "
            + " ".join(_sentences(dataset, output, numbers, variations, reasons)),
        ]
    lines += [
        "",
        "Intervals are of 95 %: over groups of questions for accuracy, calibration and variations of the "
        "prompt, over repeated splits for prediction sets. The costliest variation is the largest drop of "
        "those tried, with no correction for their number. These numbers hold for these questions, asked in "
        "these words; the hub has not verified them.",
    ]
    return "\n".join(lines) + "\n"


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
    dataset: str, output: str, numbers: Cells, variations: Sequence[Row], reasons: Mapping[str, str]
) -> Iterator[str]:
    """Sentences on calibration, coverage and robustness, each only if there is a number for it."""
    if dataset in reasons:
        yield f"The dataset is {reasons[dataset]}."
    of = next(each for line, each in numbers.items() if (line[0], line[2]) == (dataset, output))
    low = of.get((LOW_MASS_RATE, ""))
    if low and low["value"] is not None:
        yield f"In {points(low)} % of the prompts an answer more probably begins with no option letter."
    for note in bounds({name: of[name, ""]["value"] for name in OF_READING if (name, "") in of}):
        yield f"{plain(note)}."
    if unranked(of.values()):
        yield f"It {NOTE[output]}."
    error = of.get(("ece", ""))
    if error and error["value"] is not None:
        yield f"Its stated confidence is off by {points(error)} percentage points on average."
    for score in HEADLINE:
        size, covered = of.get(("set_size", score)), of.get(("coverage", score))
        if size and covered and size["value"] is not None and covered["value"] is not None:
            yield (
                f"{score.upper()} prediction sets, guaranteed to cover {100 * (1 - size['alpha']):g} % of "
                f"the answers, cover {points(covered)} %, with {interval(size)} options each."
            )
    if dataset not in reasons:
        yield from sensitivity(
            [row for row in variations if (row["dataset"], row["output"]) == (dataset, output)]
        )


def with_guesses(variations: Sequence[Row], every: Cells) -> list[Row]:
    """Rows of VARIATIONS of one model, with the column GUESS. every: its cells of all variations.

    GUESS is None unless the variation changes the correct answer (vouch/report/costs.py).
    """
    key = ("dataset", "variation", "output", "model")
    opposite = {tuple(row[name] for name in key) for row in variations if row["metric"] == "not_flipped"}
    guesses = {line: every.get(line, {}).get(("random_accuracy", ""), {}).get("value") for line in opposite}
    return [{**row, GUESS: guesses.get(tuple(row[name] for name in key))} for row in variations]


def sensitivity(variations: Sequence[Row]) -> Iterator[str]:
    """The variation that costs most accuracy, and the one that flips most answers, for rows of one cell."""
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
    names = {row["variation"] for row in tried}
    flipped = [row for row in variations if row["metric"] == "flipped" and row["variation"] in names]
    if flipped:
        most = max(flipped, key=lambda row: (row["value"], row["variation"]))
        yield f"Most answers flip with {long_name(most['variation'])}: {points(most)} %."


def _cost(row: Row) -> str:
    guess = row[GUESS]
    if guess is not None and abs(2 * guess - 1) > EVEN:
        return (
            f"{100 * row['value']:.1f} % are correct, where a guess gives {100 * guess:.0f} %, and of the "
            f"originals {100 * row['original']:.1f} %, where it gives {100 * (1 - guess):.0f} %"
        )
    bounds = f" [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]" if row["low"] is not None else ""
    return f"accuracy {100 * row['difference']:+.1f}{bounds} points"


def points(row: Row) -> str:
    """A share in per cent, with its interval."""
    low, high = ends(row["low"], row["high"])
    bounds = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * row['value']:.1f}{bounds}"


REPORTS = Path("reports")
TOKEN = "HF_TOKEN"


@command(
    "publish hub",
    "all tables of the report as a dataset of the hub",
    one_of(
        argument("repo", nargs="?", metavar="OWNER/NAME", help="a dataset of the hub"),
        path_argument("--folder", help="write the files here, and send nothing"),
        required=True,
    ),
)
def run_hub(options: argparse.Namespace) -> int:
    """Write the report's tables as a dataset of the hub: a Parquet file and a configuration for each, and a
    card.

    If the repository does not exist, it is created as a private one. The token is read from the environment
    variable HF_TOKEN.

    Examples:
      vouch publish hub me/my-results
      vouch publish hub --folder results           write the files only, and send nothing
    """
    for path in (REPORTS / "tables").glob("*.csv"):
        intact(path)
    try:
        # `datasets` cannot load a table without rows
        tables = {name: table for name, table in results(REPORTS).items() if len(table)}
    except FileNotFoundError as error:
        raise UserError(str(error)) from None
    if options.folder:
        others = {path.name for path in options.folder.glob("*")} - {"README.md", Path(PUBLISHED).parts[0]}
        if others:
            raise UserError(f"{plain(options.folder)}: holds {plain(min(others))}; name a folder of its own")
        write_dataset(options.folder, tables, options.folder.name)
        print(f"hub: {len(tables)} tables in {plain(options.folder)}")
    else:
        print(f"hub: {len(tables)} tables in {_send_to_hub(options.repo, tables)}")
    warn_if_outdated()
    return 0


def write_dataset(folder: Path, tables: "dict[str, pd.DataFrame]", name: str) -> None:
    """Writes a dataset that `datasets.load_dataset(name, TABLE)` and `vouch.results(folder)` can read."""
    import datasets

    datasets.disable_progress_bars()
    for table, frame in tables.items():
        with replacing(folder / PUBLISHED.format(table)) as temporary:
            datasets.Dataset.from_pandas(frame, preserve_index=False).to_parquet(temporary)
    write_text(folder / "README.md", dataset_card(tables, name))


def dataset_card(tables: "dict[str, pd.DataFrame]", name: str) -> str:
    """The text of a dataset card: metadata between lines of dashes, then Markdown."""
    configs: list[dict[str, Any]] = [
        {"config_name": table, "data_files": PUBLISHED.format(table)} for table in tables
    ]
    first = "headline" if "headline" in tables else next(iter(tables))
    configs[list(tables).index(first)]["default"] = True
    metadata = yaml.safe_dump({"tags": ["vouch"], "configs": configs}, sort_keys=False)
    rows = "".join(
        f"| {table} | {len(frame):,} | {', '.join(frame.columns)} |\n" for table, frame in tables.items()
    )
    return (
        f"---\n{metadata}---\n\n# How far can these models' answers be trusted?\n\n"
        "Tables of a report of Vouch: accuracy, prediction sets, calibration, robustness and rankings "
        "of vision-language models.\n\n"
        f'```python\ndatasets.load_dataset("{name}", "{first}", split="train")\n```\n\n'
        f"| table | rows | columns |\n|---|---:|---|\n{rows}"
    )


def _send_to_hub(repo: str, tables: "dict[str, pd.DataFrame]") -> str:
    from huggingface_hub import HfApi

    token = os.environ.get(TOKEN)
    if not token:
        raise UserError(f"{repo}: no token; set {TOKEN} to a token that may write there")
    hub = HfApi(token=token)
    with TemporaryDirectory() as folder, one_line(repo, BRANCH, f"vouch publish hub {repo}", "the command"):
        write_dataset(Path(folder), tables, repo)
        address = hub.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)
        hub.upload_folder(
            repo_id=repo, folder_path=folder, repo_type="dataset", commit_message="Results of Vouch",
            delete_patterns=PUBLISHED.format("*"),
        )  # fmt: skip
    return str(address)
