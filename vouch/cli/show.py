"""`vouch show`: the headline table of the leaderboard; with --rev, also the changes since a commit."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.cli.command import argument, command, json_argument, one_of
from vouch.cli.leaderboard import (
    ACCURACY,
    Cells,
    Column,
    Line,
    Row,
    blind_of,
    cells,
    groups_with_image,
    is_blind,
    label,
    left_out,
    long_name,
    ordered,
    small,
    warn_if_outdated,
)
from vouch.cli.printing import as_json, interval, number, plain, plain_lines, table
from vouch.metrics.blind import BLIND_GAIN, UNSOLVED_ACCURACY, WITH_IMAGE
from vouch.metrics.unranked import READING, unranked
from vouch.pipeline.records import intact
from vouch.report.blind import answered, baselines, beaten
from vouch.report.gates import headline_columns
from vouch.tables import HEADLINE
from vouch.tables.asked import LETTERS, ORIGINAL, OUTPUTS
from vouch.tables.results import DIFFERENCES, DIFFERENCES_PATH, LEADERBOARD, LEADERBOARD_PATH

REPORT = Path("reports/index.html")
_UNSEEN = ("(+0.000)", "(-0.000)")  # changes only in digits that are not shown
_HEADLINE, _ALL = headline_columns(2), headline_columns(5)
_BESIDE = ((WITH_IMAGE, ""), (UNSOLVED_ACCURACY, ""), (BLIND_GAIN, ""))
_FURTHER = (("f1", ""), ("yes_rate", ""), ("low_mass_rate", ""), ("judged_rate", ""))
LEGEND = """\
Accuracy: share of the questions answered correctly. Coverage: share of the prediction sets (LAC)
that contain the correct answer{target}. Set size: mean number of options in such a set;
fewer are more certain. ECE: how far confidence is from accuracy. [low, high]: 95 % interval.
`vouch show --all` has every column, --json all digits.
"""
BLIND_LEGEND = "(blind): a language model, which takes no images. It is compared, but never best.\n"
ABSENT = """\
n.a.: sets need a score of every option, so texts have none, and enough questions to calibrate on;
ECE needs a confidence in each answer.
"""
Lines = Sequence[tuple[Line, list[str]]]
"""Lines, each with the texts of its columns."""


@command(
    "show",
    "accuracy, coverage, set size and calibration of every model",
    argument("--protocol", choices=("clean", "faithful"), default="clean", help="default: %(default)s"),
    argument("--variations", action="store_true", help="all variations, not only the original prompts"),
    argument("--all", action="store_true", help="all columns"),
    one_of(
        json_argument("all columns, full precision"),
        argument("--rev", help="a commit, tag or branch: what changed since; A..B: every version between"),
    ),
)
def run(options: argparse.Namespace) -> int:
    """Show how often each model is correct, how certain it is, and whether it is calibrated.

    Each model has one line below the dataset, variation and request type; the most accurate model comes
    first. Language models come last, as (blind): what they answer needs no image. With --rev every number is
    followed by its change since a revision.

    Examples:
      vouch show
      vouch show --all                       every column, and answers by likelihood and as text
      vouch show --variations                changed questions and images as well
      vouch show --protocol faithful         one split, questions with defects included, as published
      vouch show --rev v1.0                  what changed since a commit, tag or branch
      vouch show --rev v1.0..HEAD            how every model changed over the commits between
    """
    rows = LEADERBOARD.read(intact(LEADERBOARD_PATH)).to_pylist()
    now = cells(rows, options.protocol, options.variations)
    if options.json:
        print(as_json(named(now)), end="")
    elif options.rev is not None:
        from vouch.cli.history import history, leaderboard_at

        if ".." in options.rev:
            print(history(options.rev, options.protocol, options.variations), end="")
            return 0
        then = cells(leaderboard_at(options.rev), options.protocol, options.variations)
        print(f"now, and in brackets what changed since {plain(options.rev)}")
        print(compared(now, then, options.all), end="")
    else:
        print(headline(now, options.all), end="")
        print(plain_lines(f"{dataset}: {why}." for dataset, why in small(now).items()), end="")
        print(left_out(rows), end="")
        print(beside_the_blind(rows, now), end="")
        print(undecided(now), end="")
        if REPORT.exists():
            print(f"report: {REPORT}")
        warn_if_outdated()
    return 0


def headline(now: Cells, every: bool = False) -> str:
    """A line for each dataset, variation, request type and model, best accuracy first. every: all columns."""
    if every:
        columns = _present(now)
        return _table(columns, [(key, [_number(now[key], one) for one in columns]) for key in ordered(now)])
    lines = [(key, [_short(column, now[key].get(column)) for column in _HEADLINE]) for key in ordered(now)]
    targets = {1 - row["alpha"] for of in now.values() for row in of.values() if row["alpha"] is not None}
    target = f" (target {min(targets):g})" if len(targets) == 1 else ""
    blind = BLIND_LEGEND if blind_of(now) else ""
    absent = ABSENT if any("n.a." in texts for _, texts in lines) else ""
    return f"{_grouped(now, lines)}\n{LEGEND.format(target=target)}{absent}{blind}"


def _short(column: Column, row: Row | None) -> str:
    """A number of the headline. ECE is shown without its interval, as a line has 100 characters."""
    if column[0] == "ece":
        return number(row["value"] if row else None)
    return interval(row, digits=2 if column[0] == "set_size" else 3)


def named(now: Cells) -> list[dict[str, Any]]:
    """An entry for each line, for JSON; the names of numbers are those in metrics.json."""
    few, columns = small(now), _present(now)
    return [
        dict(zip(("dataset", "variation", "output", "model"), key, strict=True))
        | {"too_small": few.get(key[0], ""), "blind": is_blind(now[key])}
        | {
            metric if score not in HEADLINE else f"{metric}_{score}": {
                name: row.get(name) for name in ("value", "low", "high", "items")
            }
            for (metric, score), row in now[key].items()
            if (metric, score) in columns
        }
        for key in ordered(now)
    ]


def compared(now: Cells, then: Cells, every: bool = False) -> str:
    """The changed lines, with the change of every number; lines on only one side are `new` or `gone`.

    Lines whose changes are only in hidden digits or columns, as on another processor, are counted.
    """
    lines, close = [], 0
    known = _present(now, then)
    columns = known if every else list(_HEADLINE)
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
    shown = (_table(columns, lines, " ") if every else _grouped({**then, **now}, lines, " ")) if lines else ""
    return shown + f"{same} of {len(now)} lines are unchanged{more}\n"


def _change(now: Row | None, then: Row | None) -> str:
    if now is None or now["value"] is None:
        return "n.a."
    if then is None or then["value"] is None:
        return f"{number(now['value'])} (new)"
    change = now["value"] - then["value"]
    return f"{number(now['value'])} ({change:+.3f})" if change else number(now["value"])


def _number(of: Mapping[Column, Row], column: Column) -> str:
    """A number with its interval; for rates of unread texts it is left out, as the table is wide."""
    row = of.get(column)
    return interval(row if row is None or column[0] not in READING else {**row, "low": None})


def _present(*tables: Cells) -> list[Column]:
    """The columns. Some are left out if no line has them, such as letter mass for released logits."""
    known = {column for numbers in tables for of in numbers.values() for column in of}
    columns = [ACCURACY, *_BESIDE, *((name, "") for name in READING), *_ALL[1:], *_FURTHER]
    return [column for column in columns if column in _ALL or column in known]


def _table(columns: Sequence[Column], lines: Lines, *further: str) -> str:
    head = ["dataset", "variation", "output", "model", *(label(*column) for column in columns)]
    rows = [[key[0], long_name(key[1]), *key[2:], *texts] for key, texts in lines]
    return table([*head, *further], rows, right=range(4, len(head)))


def _grouped(numbers: Cells, lines: Lines, *further: str) -> str:
    """The headline columns; models come below a line that names dataset, variation and request type."""
    head = ["model", *(label(*column).replace(" LAC", "") for column in _HEADLINE), *further]
    blind = blind_of(numbers)
    rows = [[f" {key[3]}{' (blind)' if (key[0], key[3]) in blind else ''}", *texts] for key, texts in lines]
    top, rule, *body = table(head, rows, right=range(1, 1 + len(_HEADLINE))).splitlines()
    text, group = [top, rule], None
    for (key, _), line in zip(lines, body, strict=True):
        if key[:3] != group:
            group = key[:3]
            dataset, variation, output = group
            items = numbers[key].get(ACCURACY, {}).get("items")
            words = [
                dataset,
                "" if variation == ORIGINAL else long_name(variation),
                "" if output == LETTERS else output,
                "" if items is None else f"{items} question{'' if items == 1 else 's'}",
            ]
            text.append(plain(", ".join(filter(None, words))))
        text.append(line)
    return "\n".join(text) + "\n"


def beside_the_blind(rows: Sequence[Row], now: Cells) -> str:
    """Lines about the blind baseline of each dataset: what it answers, and which models beat it."""
    if not blind_of(now):
        return ""
    there = DIFFERENCES_PATH.exists()
    differences = DIFFERENCES.read(intact(DIFFERENCES_PATH)).to_pylist() if there else []
    outputs: dict[str, str] = {}
    for row in rows:
        known = outputs.setdefault(row["dataset"], row["output"])
        outputs[row["dataset"]] = min(known, row["output"], key=OUTPUTS.index)
    lines = []
    for dataset, baseline in baselines(
        rows, differences, groups_with_image(now), outputs, unranked(rows)
    ).items():
        models = [model for name, *_, model in ordered(now) if name == dataset]
        sentences = [answered(dataset, baseline), *beaten(baseline, dict.fromkeys(models))]
        lines += [f"{dataset}: {sentence}" for sentence in sentences]
    return plain_lines(lines)


def undecided(now: Cells) -> str:
    """Lines about texts that no rule decided, or that a judge read, and their effect on the accuracy."""
    from vouch.report.caveats import OF_READING, bounds, of_judge

    lines = []
    for key in ordered(now):
        dataset, variation, _, model = key
        where = dataset if variation == ORIGINAL else f"{dataset}, {long_name(variation)}"
        values = {name: now[key].get((name, ""), {}).get("value") for name in OF_READING}
        lines += [f"{where}: {model}: {note}." for note in (*bounds(values), *of_judge(now[key]))]
    return plain_lines(lines)
