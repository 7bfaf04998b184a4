"""The leaderboard for commands: its numbers by line, what is left out, and whether it is outdated.

A line is one model on one dataset, in one variation and request type. Modules of the report are imported
late, since they load pandas.
"""

import sys
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from vouch.cli.printing import and_more, paragraphs
from vouch.metrics.blind import BLIND_RATE
from vouch.metrics.metric import ALL, find
from vouch.metrics.unranked import (
    OF_GATE,
    UNANSWERED,
    Place,
    outputs_of,
    unanswered_places,
    unranked,
)
from vouch.pipeline.dag import PARAMS, read_dag
from vouch.pipeline.errors import UserError
from vouch.pipeline.state import states
from vouch.pipeline.yaml12 import loads
from vouch.report.gates import INFINITE, shown, too_small
from vouch.tables import HEADLINE
from vouch.tables.asked import ITEMS, ORIGINAL, OUTPUTS, items_path, kept_items

Line = tuple[str, str, str, str]  # dataset, variation, output, model
Row = Mapping[str, Any]
Column = tuple[str, str]  # metric and score
Cells = Mapping[Line, Mapping[Column, Row]]
ACCURACY = ("accuracy", "")
OF_LINES = OF_GATE | {ACCURACY[0], BLIND_RATE, INFINITE, UNANSWERED}
"""Metrics that decide which lines there are, in which order, and which of their numbers are shown."""


def over_all(leaderboard: pa.Table, metrics: Collection[str] = ()) -> list[Row]:
    """The rows over all categories, of some metrics or of all: a small part of LEADERBOARD, so that few rows
    become Python objects."""
    chosen = leaderboard.filter(pc.equal(leaderboard["category"], ALL))
    if metrics:
        chosen = chosen.filter(pc.is_in(chosen["metric"], pa.array(sorted(metrics))))
    rows: list[Row] = chosen.to_pylist()
    return rows


def cells(rows: Iterable[Row], protocol: str, variations: bool = False) -> Cells:
    """Rows of one protocol over all categories, by line and column.

    These are rows of the original prompts, if a dataset has them, or with `variations` of all; means over
    several variations are left out. Prediction sets count only with one threshold for all questions and the
    main alpha: the faithful protocol has no others. Numbers that the report's gates hold back are left out,
    and so are lines without a single answer.
    """
    rows = list(rows)
    by_line: dict[Line, dict[Column, Row]] = {}
    alphas = {row["alpha"] for row in rows if row["protocol"] == "faithful"} | {None}
    with_original = {row["dataset"] for row in rows if row["variation"] == ORIGINAL}
    for row in rows:
        dataset, variation = row["dataset"], row["variation"]
        main_sets = row["calibration"] in ("", "marginal") and row["alpha"] in alphas
        chosen = variations or variation == ORIGINAL or dataset not in with_original
        if row["protocol"] == protocol and row["category"] == ALL and main_sets and variation and chosen:
            line = by_line.setdefault((dataset, variation, row["output"], row["model"]), {})
            line[row["metric"], row["score"]] = row
    known = {dataset: size_of(dataset) for dataset in {line[0] for line in by_line}}
    groups = {dataset: size.groups for dataset, size in known.items() if size}
    return {key: shown(of, groups.get(key[0])) for key, of in by_line.items() if not _is_unanswered(of)}


def _is_unanswered(of: Mapping[Column, Row]) -> bool:
    """Whether a line has not a single answer."""
    return bool(of.get((UNANSWERED, ""), {}).get("value") == 1)


def small(numbers: Cells) -> dict[str, str]:
    """Datasets that are too small to rank models, each with the reason.

    This counts the groups of items or, if the items are not here, the questions behind the accuracies.
    """
    reasons = {dataset: too_small(count) for dataset, count in groups(numbers).items()}
    return {dataset: why for dataset, why in reasons.items() if why}


class Size(NamedTuple):
    """The questions of a dataset, and the groups that they form (vouch/tables/asked.py).

    kept: the groups of those that the clean protocol keeps.
    """

    items: int
    groups: int
    kept: int


def sizes(numbers: Cells) -> dict[str, Size]:
    """By dataset, its size; if the items are not here, the questions behind its accuracies, ungrouped."""
    questions: dict[str, int] = {}
    for (dataset, *_), of in numbers.items():
        items = of.get(ACCURACY, {}).get("items") or 0
        questions[dataset] = max(questions.get(dataset, 0), items)
    return {dataset: size_of(dataset) or Size(count, count, count) for dataset, count in questions.items()}


def size_of(dataset: str) -> Size | None:
    """The size of a dataset whose items are here."""
    path = items_path(dataset)
    if not path.exists():
        return None
    items = ITEMS.read(path, ("group", "flags"))
    return Size(len(items), *(len(pc.unique(part["group"])) for part in (items, kept_items(items))))


def groups(numbers: Cells) -> dict[str, int]:
    """By dataset, the number of groups of its questions; if the items are not here, of questions."""
    return {dataset: size.groups for dataset, size in sizes(numbers).items()}


def groups_with_image(numbers: Cells) -> dict[str, int]:
    """The same of the questions with an image, for datasets that have some and whose items are here."""
    counts = groups(numbers)
    for dataset, path in ((name, items_path(name)) for name in counts):
        if path.exists():
            items = ITEMS.read(path, ("group", "images"))
            own = items.filter(pc.greater(pc.list_value_length(items["images"]), 0))
            if own.num_rows:
                counts[dataset] = len(pc.unique(own["group"]))
    return counts


def is_blind(of: Mapping[Column, Row]) -> bool:
    """Whether a line is that of a blind baseline."""
    return bool(of.get((BLIND_RATE, ""), {}).get("value"))


def blind_of(numbers: Cells) -> set[tuple[str, str]]:
    """Dataset and model of each blind baseline."""
    return {(dataset, model) for (dataset, *_, model), of in numbers.items() if is_blind(of)}


def main_outputs(numbers: Cells) -> dict[str, str]:
    """By dataset, the main request type, as in the report."""
    places = [(model, dataset, output) for dataset, _, output, model in numbers]
    return {dataset: main for dataset, (main, *_) in outputs_of(places).items()}


def ordered(numbers: Cells) -> list[Line]:
    """Lines by dataset, variation, request type and accuracy, highest first; in small datasets by name. Blind
    baselines come last."""
    reasons, blind = small(numbers), blind_of(numbers)

    def rank(key: Line) -> tuple[str, str, int, bool, float, str]:
        dataset, variation, output, model = key
        accuracy = numbers[key].get(ACCURACY, {}).get("value") or 0
        merit = 0.0 if dataset in reasons else -accuracy
        return dataset, variation, OUTPUTS.index(output), (dataset, model) in blind, merit, model

    return sorted(numbers, key=rank)


def label(metric: str, score: str) -> str:
    """The heading of a column: the metric's label, and the nonconformity score."""
    declared = find(metric)
    return " ".join([declared.label if declared else metric, *([score.upper()] if score in HEADLINE else [])])


def long_name(variation: str) -> str:
    """A variation's description and code: `questions negated (ls_n)`; only the code if there is no other."""
    if variation in ("", ORIGINAL):
        return variation
    from vouch.prompts.variations import named

    return named(variation)


def left_out(rows: Iterable[Row], every: Iterable[Row] = ()) -> str:
    """A line for each model, dataset and request type of these rows that is left out of claims, or empty.

    every: rows of all variations, for which a line names the models that were not asked on a dataset. Another
    line names models that were asked with prompts of their own.
    """
    from vouch.report.caveats import NOTE, never_asked, own_prompts, remedy, without_answers

    rows = list(rows)
    left = sorted(unranked(rows), key=lambda key: (key[1], key[0], key[2]))
    problems = {place: _problem(place) for place in unanswered_places(rows)}
    asked, known = _places(rows), _places(every)
    try:
        params = loads(Path(PARAMS).read_text("utf-8"), PARAMS)
        notes = never_asked(known, params["extract"].get("datasets_of") or {})
        notes += own_prompts(asked, params["datasets"])
    except (OSError, UserError, KeyError, TypeError, AttributeError):  # params.yaml is not there, or wrong
        notes = never_asked(known, {})
    return paragraphs(
        f"{dataset}: {model} {NOTE[output]}. {remedy(output, {each[2] for each in asked[dataset]})}"
        for model, dataset, output in left
    ) + paragraphs([*without_answers(problems, asked), *notes])


def _places(rows: Iterable[Row]) -> Mapping[str, Collection[Place]]:
    """By dataset, every model and request type that has rows."""
    places: dict[str, set[Place]] = {}
    for row in rows:
        places.setdefault(row["dataset"], set()).add((row["model"], row["dataset"], row["output"]))
    return places


def _problem(place: Place) -> str:
    from vouch.tables.answered import first_problem  # loads pydantic, and nearly every model has answers

    return first_problem(*place)


def warn_if_outdated() -> None:
    """Prints a line on stderr if results are older than the last change; says nothing of missing results."""
    changed = [
        state for state in states(read_dag()) if not state.fresh and None not in state.now.outs.values()
    ]
    if changed:
        first = changed[0]
        print(
            f"vouch: these numbers are older than the last change of {first.stage.name}"
            f"{and_more(changed, 'stages')} ({first.why}); `vouch plan` says what would run, `dvc repro` "
            "runs it",
            file=sys.stderr,
        )
