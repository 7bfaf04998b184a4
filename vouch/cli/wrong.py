"""The wrong answers of a model, the most confident first: `vouch item --wrong`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vouch.cli.item_answers import expected, option, rows_of
from vouch.cli.leaderboard import Row, long_name
from vouch.cli.printing import Column, number, plain, table, wrapped
from vouch.metrics.unranked import outputs_of
from vouch.pipeline.errors import UserError, check_name
from vouch.pipeline.records import check_run, intact
from vouch.report.formatting import plural
from vouch.tables.asked import ITEMS, ORIGINAL, PROMPTS, items_path, prompts_path
from vouch.tables.results import OUTCOMES, UNREAD, outcomes_path


class WrongAnswers(NamedTuple):
    """The wrong answers of a model to one dataset, in one variation and request type.

    rows: of OUTCOMES, the most confident first. graded: how many answers there are, correct ones included.
    left_out: wrong answers to questions with defects, which the clean protocol drops; not in `rows`. several:
    whether the model answers the dataset in other request types, too.
    """

    dataset: str
    output: str
    rows: list[Row]
    graded: int
    left_out: int
    several: bool = False


_COLUMNS = (
    *("model", "dataset", "prompt", "item", "variation", "output", "parser", "reason", "answer"),
    *("predicted", "correct", "confidence", "clean_correct"),
)


def wrong_answers(
    model: str, dataset: str | None, variation: str | None, output: str | None
) -> list[WrongAnswers]:
    """Those of all datasets, or of one.

    variation: the original prompts if None, or the first variation of a dataset that has none. output: the
    main request type of each dataset if None, or the first that the model has. Raises UserError.
    """
    paths = _paths(dataset)
    places = {place for name, path in paths.items() for place in _places(name, path)}
    check_name("model", model, sorted({place[0] for place in places}), outcomes_path("x").parent)
    main = outputs_of(places)
    parts = []
    for name, path in paths.items():
        of_model = [
            row for part in OUTCOMES.rows_with(path, "model", [model], _COLUMNS) for row in part.to_pylist()
        ]
        wanted = output or next((one for one in main.get(name, ()) if (model, name, one) in places), "")
        parts.append(_of_dataset(name, wanted, variation, of_model))
    if not any(part.graded for part in parts):
        limits = [variation and f"in {variation}", output and f"as {output}", dataset and f"on {dataset}"]
        raise UserError(
            f"{model}: no answers {' '.join(filter(None, limits))}; `vouch show --variations` lists them"
        )
    return parts


def _paths(dataset: str | None) -> dict[str, Path]:
    """The outcomes by dataset. Raises UserError."""
    folder = outcomes_path("x").parent
    known = {path.name.partition(".")[0]: path for path in sorted(folder.glob(outcomes_path("*").name))}
    if not known:
        check_run(folder)
        raise UserError(f"{folder}: no scores; run `dvc repro`, or `dvc pull` to fetch them")
    if dataset is not None:
        check_name("dataset", dataset, list(known), folder)
    return {name: intact(path) for name, path in known.items() if dataset in (None, name)}


def _places(dataset: str, path: Path) -> set[tuple[str, str, str]]:
    """Model, dataset and request type of the answers in a table of outcomes."""
    pairs = OUTCOMES.read(path, ["model", "output"]).group_by(["model", "output"]).aggregate([])
    return {(row["model"], dataset, row["output"]) for row in pairs.to_pylist()}


def _of_dataset(dataset: str, output: str, variation: str | None, rows: Sequence[Row]) -> WrongAnswers:
    """rows: all of the model on the dataset."""
    names = dict.fromkeys(row["variation"] for row in rows)
    wanted = variation or (ORIGINAL if ORIGINAL in names else next(iter(names), ""))
    chosen = [row for row in rows if (row["output"], row["variation"]) == (output, wanted)]
    kept = [row for row in chosen if row["clean_correct"] is not None and row["correct"] is not None]
    wrong = [row for row in kept if not row["correct"]]
    wrong.sort(key=_order)
    dropped = sum(row["clean_correct"] is None and row["correct"] is False for row in chosen)
    several = any(row["output"] != output for row in rows)
    return WrongAnswers(dataset, output, wrong, len(kept), dropped, several)


def _order(row: Row) -> tuple[float, str, str]:
    """The most confident first; without a confidence at the end."""
    confidence = row["confidence"]
    return 1.0 if confidence is None else -confidence, row["dataset"], row["prompt"]


def ordered(parts: Sequence[WrongAnswers]) -> list[Row]:
    """The wrong answers of all datasets, the most confident first."""
    return sorted((row for part in parts for row in part.rows), key=_order)


def described(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """An entry for JSON for each row, with the correct answer and the one that was given, in words."""
    prompts: dict[tuple[str, str], Row] = {}
    items: dict[tuple[str, str], Row] = {}
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        own = [row for row in rows if row["dataset"] == dataset]
        for prompt in rows_of(PROMPTS, prompts_path(dataset), "id", [row["prompt"] for row in own]):
            prompts[dataset, prompt["id"]] = prompt
        for item in rows_of(ITEMS, items_path(dataset), "id", [row["item"] for row in own]):
            items[dataset, item["id"]] = item
    return [
        _entry(row, items[row["dataset"], row["item"]], prompts[row["dataset"], row["prompt"]])
        for row in rows
    ]


def _entry(row: Row, item: Row, prompt: Row) -> dict[str, Any]:
    chosen = row["predicted"]
    answer = row["answer"] if chosen is None else option(prompt, chosen)
    names = ("dataset", "item", "variation", "output", "prompt")
    further = ("confidence", "parser", "reason")
    return {
        **{name: row[name] for name in names},
        "expected": expected(item, prompt),
        "answer": answer,
        **{name: row[name] for name in further},
    }


_LIST = (
    Column("dataset", cut=True),
    Column("output", rank=1),
    Column("item"),  # never cut: it is what one types next
    Column("correct", cut=True),
    Column("answer", cut=True),
    Column("confidence", right=True),
)


def wrong_screen(model: str, variation: str | None, parts: Sequence[WrongAnswers], limit: int) -> str:
    """The list for a person: how many answers are wrong, a line for each, and what to do next."""
    rows, graded = ordered(parts), sum(part.graded for part in parts)
    asked = f" in {long_name(variation)}" if variation else ""
    unread = sum(row["parser"] in UNREAD for row in rows)
    of_them = f", {unread:,} of them because no answer could be read" if unread else ""
    text = wrapped(f"{model}{asked}: {len(rows):,} of {plural(graded, 'answer')} are wrong{of_them}")
    if dropped := sum(part.left_out for part in parts):
        text += wrapped(f"left out: {plural(dropped, 'wrong answer')} to questions with defects")
    if not rows:
        return text
    lines = [
        [
            *(one["dataset"], one["output"], one["item"], "; ".join(one["expected"])),
            *(_answer(one), number(one["confidence"])),
        ]
        for one in described(rows[:limit])
    ]
    text += "\n" + table(_LIST, lines)
    if more := len(rows) - limit if len(rows) > limit else 0:
        text += f"and {more:,} more, less confident (--limit {len(rows)} lists all)\n"
    first = rows[0]
    words = ["vouch", "item", first["item"], "--dataset", first["dataset"], "--model", model]
    if any(part.several and part.dataset == first["dataset"] for part in parts):
        words += ["--output", first["output"]]
    words += ["--detail"] if variation else []  # without it, the original prompt is explained
    return text + f"\nwhy the first one counts as wrong:\n  {plain(shlex.join(words))}\n"


def _answer(entry: Row) -> str:
    """The answer; of a text in which none was found, that and its words."""
    unread = f"({entry['parser']}) " if entry["parser"] in UNREAD else ""
    return f"{unread}{entry['answer'] or ''}".strip() or "(empty)"
