"""Show how often each model is right, how certain it is, and whether it is calibrated.

A line for each model, under its dataset, variation and output, the most accurate model first. With --rev
every number is followed by its change since a revision.

Examples:
  vouch show
  vouch show --all                       every column, and answers by likelihood and as text
  vouch show --variations                changed questions and pictures as well
  vouch show --protocol faithful         one split, questions with defects included, as published
  vouch show --rev v1.0                  what changed since a commit, tag or branch
  vouch show --rev v1.0..HEAD            how every model moved over the commits between
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from vouch.cli.printing import (
    as_json,
    interval,
    json_option,
    long_name,
    number,
    plain,
    table,
    warn_if_outdated,
)
from vouch.pipeline.intact import intact
from vouch.report.gates import shown, too_small
from vouch.tables.asked import ITEMS, LETTERS, ORIGINAL, OUTPUTS, items_path
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH

_UNSEEN = ("(+0.000)", "(-0.000)")  # changes in digits that are not shown
_COLUMNS = (  # metric and score
    *(("accuracy", ""), ("coverage", "lac"), ("coverage", "aps"), ("set_size", "lac"), ("set_size", "aps")),
    *(("uacc", "mean"), ("ece", "")),
)
_FURTHER = (("f1", ""), ("yes_rate", ""), ("low_mass_rate", ""), ("judged_rate", ""))
_FEW = (("accuracy", ""), ("coverage", "lac"), ("set_size", "lac"), ("ece", ""))
_DIGITS = {"set_size": 2}  # of the few; an ECE stands without its interval: a line has 100 characters
LEGEND = """\
Accuracy: share of the questions answered correctly. Coverage: share of the prediction sets (LAC)
that hold the correct answer{target}. Set size: mean number of options in such a set, fewer are
more certain. ECE: how far confidence is from accuracy. [low, high]: 95 % interval.
`vouch show --all` has every column, --json all digits.
"""

Line = tuple[str, str, str, str]  # dataset, variation, output, model
Cells = Mapping[Line, Mapping[tuple[str, str], Mapping[str, Any]]]
Lines = Sequence[tuple[Line, list[str]]]
"""What stands in the columns of a line."""


def cells(rows: list[dict[str, Any]], protocol: str, variations: bool = False) -> Cells:
    """Rows of one protocol over all categories, by line and by (metric, score).

    Of the original prompts, where a dataset has them, or of all `variations`; a mean over several is none.
    Of sets those with one threshold for all questions and the main alpha: the faithful protocol has no other.
    What the report's gates hold back is not among them.
    """
    found: dict[Line, dict[tuple[str, str], dict[str, Any]]] = {}
    main = {row["alpha"] for row in rows if row["protocol"] == "faithful"} | {None}
    with_original = {row["dataset"] for row in rows if row["variation"] == ORIGINAL}
    for row in rows:
        variation = row["variation"]
        headline = row["calibration"] in ("", "marginal") and row["alpha"] in main
        chosen = variations or variation == ORIGINAL or row["dataset"] not in with_original
        if row["protocol"] == protocol and row["category"] == "all" and headline and variation and chosen:
            key = (row["dataset"], variation, row["output"], row["model"])
            found.setdefault(key, {})[row["metric"], row["score"]] = row
    return {key: shown(of) for key, of in found.items()}


def small(now: Cells) -> dict[str, str]:
    """By dataset of these lines, why it is too small to rank or name a model; nothing of one that is not.

    By the groups of its items; where these are not here, by the questions of its accuracies.
    """
    questions: dict[str, int] = {}
    for (dataset, *_), of in now.items():
        items = of.get(("accuracy", ""), {}).get("items") or 0
        questions[dataset] = max(questions.get(dataset, 0), items)
    found = {}
    for dataset, count in questions.items():
        path = items_path(dataset)
        groups = len(pc.unique(ITEMS.read(path, ("group",))["group"])) if path.exists() else count
        found[dataset] = too_small(groups)
    return {dataset: why for dataset, why in found.items() if why}


def headline(now: Cells, every: bool = False) -> str:
    """A line for each dataset, variation, output and model, best accuracy first; `every` column, or a few."""
    if every:
        columns = _shown(now)
        return _table(columns, [(key, [_number(now[key], one) for one in columns]) for key in ordered(now)])
    lines = [(key, [_short(name, now[key].get(name)) for name in _FEW]) for key in ordered(now)]
    targets = {1 - row["alpha"] for of in now.values() for row in of.values() if row["alpha"] is not None}
    target = f" (target {min(targets):g})" if len(targets) == 1 else ""
    return f"{_grouped(now, lines)}\n{LEGEND.format(target=target)}"


def _short(column: tuple[str, str], row: Mapping[str, Any] | None) -> str:
    if column[0] == "ece":
        return number(row["value"] if row else None)
    return interval(row, digits=_DIGITS.get(column[0], 3))


def named(now: Cells) -> list[dict[str, Any]]:
    """An entry for each line, as JSON has it; numbers by the names that they have in metrics.json."""
    few = small(now)
    return [
        dict(zip(("dataset", "variation", "output", "model"), key, strict=True))
        | {"too_small": few.get(key[0], "")}
        | {
            metric if score not in ("lac", "aps") else f"{metric}_{score}": {
                name: row.get(name) for name in ("value", "low", "high", "items")
            }
            for (metric, score), row in now[key].items()
            if (metric, score) in _shown(now)
        }
        for key in ordered(now)
    ]


def compared(now: Cells, then: Cells, every: bool = False) -> str:
    """The lines that changed, with the change of every number; lines that only one side has say so.

    Lines that changed in what is not shown, as in the last digits on another processor, are counted only.
    """
    lines, close = [], 0
    columns, known = _shown(now, then) if every else list(_FEW), _shown(now, then)
    for key in ordered(now):
        before = then.get(key, {})
        changes = [_change(now[key].get(column), before.get(column)) for column in columns]
        if key not in then:
            lines.append((key, [*(change.replace(" (new)", "") for change in changes), "new"]))
        elif any("(" in change and not change.endswith(_UNSEEN) for change in changes):
            lines.append((key, [*changes, ""]))
        else:
            close += any("(" in _change(now[key].get(column), before.get(column)) for column in known)
    same = len(now) - len(lines) - close
    what = "digits" if every else "digits or columns"
    more = f", {close} more differ only in {what} that are not shown" if close else ""
    lines += [(key, [*[""] * len(columns), "gone"]) for key in ordered(then) if key not in now]
    table = (_table(columns, lines, " ") if every else _grouped({**then, **now}, lines, " ")) if lines else ""
    return table + f"{same} of {len(now)} lines are unchanged{more}\n"


def label(metric: str, score: str) -> str:
    """What heads a column: the metric's label in the registry, and the nonconformity score."""
    from vouch.metrics.metric import metrics

    return " ".join([metrics()[metric].label, *([score.upper()] if score in ("lac", "aps") else [])])


def _number(of: Mapping[tuple[str, str], Mapping[str, Any]], column: tuple[str, str]) -> str:
    """With its interval, but for the rates of texts without an answer: the table is wide."""
    from vouch.metrics.unranked import READING

    row = of.get(column)
    return interval(row if row is None or column[0] not in READING else {**row, "low": None})


def _shown(*found: Cells) -> list[tuple[str, str]]:
    """The columns; some only where a line has them, as letter mass, which that of released logits has not."""
    from vouch.metrics.unranked import READING

    known = {column for cells in found for of in cells.values() for column in of}
    columns = [_COLUMNS[0], *((name, "") for name in READING), *_COLUMNS[1:], *_FURTHER]
    return [column for column in columns if column in _COLUMNS or column in known]


def _table(shown: Sequence[tuple[str, str]], lines: Lines, *further: str) -> str:
    head = ["dataset", "variation", "output", "model", *(label(*column) for column in shown)]
    rows = [[key[0], long_name(key[1]), *key[2:], *texts] for key, texts in lines]
    return table([*head, *further], rows, right=range(4, len(head)))


def _grouped(found: Cells, lines: Lines, *further: str) -> str:
    """The few columns; models stand under a line that names dataset, variation and output."""
    head = ["model", *(label(*column).replace(" LAC", "") for column in _FEW), *further]
    rows = [[f" {key[3]}", *texts] for key, texts in lines]
    top, rule, *body = table(head, rows, right=range(1, 1 + len(_FEW))).splitlines()
    text, group = [top, rule], None
    for (key, _), line in zip(lines, body, strict=True):
        if key[:3] != group:
            group = key[:3]
            dataset, variation, output = group
            items = found[key].get(("accuracy", ""), {}).get("items")
            words = [
                "" if variation == ORIGINAL else long_name(variation),
                "" if output == LETTERS else output,
            ]
            counted = "" if items is None else f"{items} question{'' if items == 1 else 's'}"
            text.append(plain(", ".join(filter(None, [dataset, *words, counted]))))
        text.append(line)
    return "\n".join(text) + "\n"


def ordered(found: Cells) -> list[Line]:
    """The lines by dataset, variation, output, and accuracy, the highest first; of small datasets by name."""
    few = small(found)

    def place(key: Line) -> tuple[str, str, int, float, str]:
        dataset, variation, output, model = key
        accuracy = found[key].get(("accuracy", ""), {}).get("value")
        rank = 0.0 if dataset in few else -(accuracy or 0)
        return dataset, variation, OUTPUTS.index(output), rank, model

    return sorted(found, key=place)


def _change(now: Mapping[str, Any] | None, then: Mapping[str, Any] | None) -> str:
    if now is None or now["value"] is None:
        return "n.a."
    if then is None or then["value"] is None:
        return f"{now['value']:.3f} (new)"
    change = now["value"] - then["value"]
    return f"{now['value']:.3f} ({change:+.3f})" if change else f"{now['value']:.3f}"


REPORT = Path("reports/index.html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `vouch show`."""
    parser.add_argument(
        "--protocol", choices=("clean", "faithful"), default="clean", help="default: %(default)s"
    )
    parser.add_argument(
        "--variations", action="store_true", help="all variations, not only the original prompts"
    )
    parser.add_argument("--all", action="store_true", help="all columns")
    other = parser.add_mutually_exclusive_group()
    json_option(other, "all columns, full precision")
    other.add_argument("--rev", help="a commit, tag or branch: what changed since; A..B: how all moved")


def run(options: argparse.Namespace) -> int:
    """Prints the table and where the report is."""
    rows = LEADERBOARD.read(intact(LEADERBOARD_PATH)).to_pylist()
    now = cells(rows, options.protocol, options.variations)
    if options.json:
        print(as_json(named(now)), end="")
    elif options.rev is not None:
        from vouch.cli.history import history, leaderboard_at

        if ".." in options.rev:
            print(history(options.rev, options.protocol, options.variations), end="")
        else:
            then = cells(leaderboard_at(options.rev), options.protocol, options.variations)
            print(f"now, and in brackets what changed since {plain(options.rev)}")
            print(compared(now, then, options.all), end="")
    else:
        print(headline(now, options.all), end="")
        print("".join(f"{plain(dataset)}: {why}.\n" for dataset, why in small(now).items()), end="")
        print(left_out(rows), end="")
        print(undecided(now), end="")
        if REPORT.exists():
            print(f"report: {REPORT}")
        warn_if_outdated()
    return 0


def left_out(rows: Iterable[Mapping[str, Any]]) -> str:
    """A line for each model, dataset and output of these rows of the leaderboard that claims leave out."""
    from vouch.metrics.unranked import unranked
    from vouch.report.asides import MARK, REMEDY

    away = sorted(unranked(rows), key=lambda place: (place[1], place[0], place[2]))
    lines = [f"{dataset}: {model} {MARK[output]}. {REMEDY[output]}" for model, dataset, output in away]
    return "".join(f"{plain(line)}\n" for line in lines)


def undecided(now: Cells) -> str:
    """Lines on the texts that are undecided or that a judge read: what that does to the accuracy."""
    from vouch.report.asides import OF_READING, bounds, of_judge

    lines = []
    for key in ordered(now):
        dataset, variation, _, model = key
        where = dataset if variation == ORIGINAL else f"{dataset}, {long_name(variation)}"
        values = {name: now[key].get((name, ""), {}).get("value") for name in OF_READING}
        said = [*bounds(values), *of_judge(now[key])]
        lines += [f"{where}: {model}: {one}." for one in said]
    return "".join(f"{plain(line)}\n" for line in lines)
