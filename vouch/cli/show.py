"""`vouch show`: the headline table of the leaderboard; with --rev, also the changes since a commit."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.cli import printing
from vouch.cli.command import argument, command, json_argument, one_of, wide_argument
from vouch.cli.leaderboard import (
    ACCURACY,
    OF_LINES,
    Cells,
    Column,
    Line,
    Row,
    Size,
    blind_of,
    cells,
    groups_with_image,
    is_blind,
    label,
    left_out,
    long_name,
    main_outputs,
    ordered,
    over_all,
    sizes,
    small,
    warn_if_outdated,
)
from vouch.cli.printing import as_json, interval, number, paragraphs, plain, table, wrapped
from vouch.metrics.blind import BLIND_GAIN, UNSOLVED_ACCURACY, WITH_IMAGE
from vouch.metrics.metric import CLEAN
from vouch.metrics.unranked import READING, unranked
from vouch.pipeline.records import intact
from vouch.report import caveats, formatting
from vouch.report.blind import OF_BASELINE, answered, baselines, beaten
from vouch.report.gates import HEADLINE_COLUMNS, headline_columns
from vouch.tables import HEADLINE
from vouch.tables.asked import LETTERS, ORIGINAL
from vouch.tables.results import DIFFERENCES, DIFFERENCES_PATH, LEADERBOARD, LEADERBOARD_PATH

REPORT = Path("reports/index.html")
_UNSEEN = ("(+0.000)", "(-0.000)")  # changes only in digits that are not shown
_HEADLINE, _ALL = headline_columns(2), headline_columns(5)
_BESIDE = ((WITH_IMAGE, ""), (UNSOLVED_ACCURACY, ""), (BLIND_GAIN, ""))
_FURTHER = (("f1", ""), ("yes_rate", ""), ("low_mass_rate", ""), ("judged_rate", ""))
_RANKS = {column: max(1, narrowest - 1) for column, narrowest in HEADLINE_COLUMNS.items()} | {ACCURACY: 0}
_LAST = max(_RANKS.values()) + 1
"""Rank of the columns that are no headline: the first to be left out."""
_NEEDED = OF_LINES | OF_BASELINE | {*READING, *caveats.OF_READING}
_NEEDED |= {metric for metric, _ in (*_ALL, *_BESIDE, *_FURTHER, *caveats.METRICS)}
"""Metrics of the table and of the lines below it."""
LEGEND = (
    "Accuracy: share of the questions answered correctly. Coverage: share of the prediction sets (LAC) "
    "that contain the correct answer{target}. Set size: mean number of options in such a set; fewer are "
    "more certain. ECE: how far confidence is from accuracy. [low, high]: 95 % interval. --json has all "
    "digits."
)
BLIND_LEGEND = "(blind): a language model, which takes no images. It is compared, but never best."
GROUPS = "Groups: copies of one question, or questions about one image. Each group counts as one observation."
ABSENT = (
    "n.a.: sets need a score of every option, so texts have none, and enough questions to calibrate on; ECE "
    "needs a confidence in each answer."
)
Lines = Sequence[tuple[Line, list[str]]]
"""Lines, each with the texts of its columns."""


@command(
    "show",
    "accuracy, coverage, set size and calibration of every model",
    argument("--protocol", choices=("clean", "faithful"), default="clean", help="default: %(default)s"),
    argument("--variations", action="store_true", help="all variations, not only the original prompts"),
    wide_argument(),
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
      vouch show --wide                      every column with its interval
      vouch show --variations                changed questions and images as well
      vouch show --protocol faithful         one split, questions with defects included, as published
      vouch show --rev v1.0                  what changed since a commit, tag or branch
      vouch show --rev v1.0..HEAD            how every model changed over the commits between
    """
    rows = over_all(LEADERBOARD.read(intact(LEADERBOARD_PATH)), _NEEDED)
    now = cells(rows, options.protocol, options.variations)
    if options.json:
        print(as_json(named(now)), end="")
    elif options.rev is not None:
        from vouch.cli.history import history, leaderboard_at
        from vouch.cli.revision import Revision

        if ".." in options.rev:
            print(history(options.rev, options.protocol, options.variations), end="")
            return 0
        then = cells(leaderboard_at(Revision(options.rev), _NEEDED), options.protocol, options.variations)
        print(f"now, and in brackets what changed since {plain(options.rev)}")
        print(compared(now, then, options.wide, plain(options.rev)), end="")
    else:
        print(headline(now), end="")
        print(paragraphs(f"{dataset}: {why}." for dataset, why in small(now).items()), end="")
        print(left_out(rows, rows), end="")
        print(beside_the_blind(rows, now), end="")
        print(undecided(now), end="")
        if REPORT.exists():
            print(f"report: {REPORT}")
        warn_if_outdated()
    return 0


def headline(now: Cells) -> str:
    """A line for each dataset, variation, request type and model, best accuracy first; then what it means."""
    columns = _present(now)
    lines = [(key, [_cell(column, now[key].get(column)) for column in columns]) for key in ordered(now)]
    titles = _titles(now, lines)
    text = _table(now, titles, columns, lines)
    if not lines:
        return text
    targets = {1 - row["alpha"] for of in now.values() for row in of.values() if row["alpha"] is not None}
    legend = [LEGEND.format(target=f" (target {min(targets):g})" if len(targets) == 1 else "")]
    main = [index for index, column in enumerate(columns) if column in _HEADLINE]
    legend += [GROUPS] if any(title.endswith((" group", " groups")) for title in titles.values()) else []
    legend += [ABSENT] if any(texts[index] == "n.a." for _, texts in lines for index in main) else []
    return f"{text}\n{paragraphs([*legend, *([BLIND_LEGEND] if blind_of(now) else [])])}"


def _cell(column: Column, row: Row | None) -> str:
    """A number with its interval; for rates of unread texts it is left out."""
    if row is not None and column[0] in READING:
        row = {**row, "low": None}
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


def compared(now: Cells, then: Cells, every: bool = False, rev: str = "there") -> str:
    """The changed lines, with the change of every number; a line that `then` lacks is `new`.

    Lines whose changes are only in hidden digits or columns, as on another processor, are counted. Below the
    table stands what only `then` has. rev: its name.
    """
    lines, close = [], 0
    known = _present(now, then)
    columns = known if every else [column for column in known if column in _HEADLINE]
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
    shown = _table(now, _titles(now, lines), columns, lines, " ") if lines else ""
    shown += paragraphs(f"only in {rev}: {line}" for line in _only_then(now, then))
    return shown + wrapped(f"{same} of {len(now)} lines are unchanged{more}")


def _only_then(now: Cells, then: Cells) -> list[str]:
    """The lines that only `then` has, by model: `m on pairs, shapes and shapes (text)`."""
    places: dict[str, list[str]] = {}
    for dataset, variation, output, model in (key for key in ordered(then) if key not in now):
        further = ", ".join(name for name in (variation, output) if name not in (ORIGINAL, LETTERS))
        places.setdefault(model, []).append(dataset + (further and f" ({further})"))
    return [f"{model} on {formatting.listed(names, 6)}" for model, names in places.items()]


def _change(now: Row | None, then: Row | None) -> str:
    if now is None or now["value"] is None:
        return "n.a."
    if then is None or then["value"] is None:
        return f"{number(now['value'])} (new)"
    change = now["value"] - then["value"]
    return f"{number(now['value'])} ({change:+.3f})" if change else number(now["value"])


def _present(*tables: Cells) -> list[Column]:
    """The columns. Some are left out if no line has them, such as letter mass for released logits."""
    known = {column for numbers in tables for of in numbers.values() for column in of}
    columns = [ACCURACY, *_BESIDE, *((name, "") for name in READING), *_ALL[1:], *_FURTHER]
    return [column for column in columns if column in _ALL or column in known]


def _table(
    numbers: Cells, titles: Mapping[Line, str], columns: Sequence[Column], lines: Lines, *further: str
) -> str:
    """Models stand below their title. further: heads of columns behind the numbers."""
    heads = [
        printing.Column(label(*column).replace(" LAC", ""), right=True, rank=_RANKS.get(column, _LAST))
        for column in columns
    ]
    blind = blind_of(numbers)
    rows = [[f" {key[3]}{' (blind)' if (key[0], key[3]) in blind else ''}", *texts] for key, texts in lines]
    return table(
        [printing.Column("model", cut=True), *heads, *map(printing.Column, further)],
        rows,
        titles=[titles[key] for key, _ in lines],
        empty="no results to show; `dvc repro` makes them, `vouch plan` says what is missing",
    )


def _titles(numbers: Cells, lines: Lines) -> dict[Line, str]:
    """The title of each line: that of the first model of its dataset, variation and request type."""
    counts, firsts = sizes(numbers), {key[:3]: key for key, _ in reversed(lines)}
    titles = {key[:3]: _title(key, numbers[key], counts[key[0]]) for key in firsts.values()}
    return {key: titles[key[:3]] for key, _ in lines}


def _title(key: Line, of: Mapping[Column, Row], size: Size) -> str:
    """`pairs, text, 240 questions`, or the number of prompts if a question has several."""
    dataset, variation, output, _ = key
    words = [
        dataset,
        "" if variation == ORIGINAL else long_name(variation),
        "" if output == LETTERS else output,
        _counted(of.get(ACCURACY, {}), size),
    ]
    return ", ".join(filter(None, words))


def _counted(accuracy: Row, size: Size) -> str:
    """`4,344 prompts of 1,176 questions`: what an accuracy rests on. `faithful` knows no groups."""
    rows = accuracy.get("items")
    if rows is None:
        return ""
    text = formatting.plural(rows, "question")
    if rows > size.items:
        text = f"{formatting.plural(rows, 'prompt')} of {formatting.plural(size.items, 'question')}"
    grouped = size.kept < min(rows, size.items) and accuracy["protocol"] == CLEAN
    return f"{text} in {formatting.plural(size.kept, 'group')}" if grouped else text


def beside_the_blind(rows: Sequence[Row], now: Cells) -> str:
    """Lines about the blind baseline of each dataset: what it answers, and which models beat it."""
    if not blind_of(now):
        return ""
    there = DIFFERENCES_PATH.exists()
    differences = DIFFERENCES.read(intact(DIFFERENCES_PATH)).to_pylist() if there else []
    lines = []
    for dataset, baseline in baselines(
        rows, differences, groups_with_image(now), main_outputs(now), unranked(rows)
    ).items():
        models = [model for name, *_, model in ordered(now) if name == dataset]
        sentences = [answered(baseline, dataset), *beaten(baseline, dict.fromkeys(models))]
        lines += [f"{dataset}: {sentence}" for sentence in sentences]
    return paragraphs(lines)


def undecided(now: Cells) -> str:
    """Lines about texts that no rule decided, or that a judge read, and their effect on the accuracy."""
    lines = []
    for key in ordered(now):
        dataset, variation, _, model = key
        where = dataset if variation == ORIGINAL else f"{dataset}, {long_name(variation)}"
        values = {name: now[key].get((name, ""), {}).get("value") for name in caveats.OF_READING}
        notes = [*caveats.bounds(values), *caveats.of_judge(now[key])]
        lines += [f"{where}: {model}: {note}." for note in notes]
    return paragraphs(lines)
