"""`vouch show`: the headline table of the leaderboard.

With --rev it shows what changed since a commit, or how every model changed over the commits A..B.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc

from vouch.cli.command import argument, command, json_argument, one_of
from vouch.cli.printing import (
    as_json,
    interval,
    long_name,
    number,
    plain,
    table,
    warn_if_outdated,
)
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import intact
from vouch.pipeline.yaml12 import loads
from vouch.report.gates import shown, too_small
from vouch.tables import HEADLINE
from vouch.tables.asked import ITEMS, LETTERS, ORIGINAL, OUTPUTS, items_path
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH

_UNSEEN = ("(+0.000)", "(-0.000)")  # changes in digits that are not shown
_COLUMNS = (  # metric and score
    *(("accuracy", ""), *((metric, score) for metric in ("coverage", "set_size") for score in HEADLINE)),
    *(("uacc", "mean"), ("ece", "")),
)
_FURTHER = (("f1", ""), ("yes_rate", ""), ("low_mass_rate", ""), ("judged_rate", ""))
_HEADLINE = (("accuracy", ""), ("coverage", "lac"), ("set_size", "lac"), ("ece", ""))
_DIGITS = {"set_size": 2}  # of the headline; ECE has no interval there, as a line has 100 characters
LEGEND = """\
Accuracy: share of the questions answered correctly. Coverage: share of the prediction sets (LAC)
that contain the correct answer{target}. Set size: mean number of options in such a set;
fewer are more certain. ECE: how far confidence is from accuracy. [low, high]: 95 % interval.
`vouch show --all` has every column, --json all digits.
"""

Line = tuple[str, str, str, str]  # dataset, variation, output, model
Cells = Mapping[Line, Mapping[tuple[str, str], Mapping[str, Any]]]
Lines = Sequence[tuple[Line, list[str]]]
"""Lines, each with the texts of its columns."""


def cells(rows: list[dict[str, Any]], protocol: str, variations: bool = False) -> Cells:
    """Rows of one protocol over all categories, by line and by (metric, score).

    They are those of the original prompts, if a dataset has them, or of all `variations`; means over several
    variations are left out. Prediction sets count only with one threshold for all questions and the main
    alpha, as the faithful protocol has no others. Numbers that the report's gates hold back are left out.
    """
    by_line: dict[Line, dict[tuple[str, str], dict[str, Any]]] = {}
    alphas = {row["alpha"] for row in rows if row["protocol"] == "faithful"} | {None}
    with_original = {row["dataset"] for row in rows if row["variation"] == ORIGINAL}
    for row in rows:
        variation = row["variation"]
        headline = row["calibration"] in ("", "marginal") and row["alpha"] in alphas
        chosen = variations or variation == ORIGINAL or row["dataset"] not in with_original
        if row["protocol"] == protocol and row["category"] == "all" and headline and variation and chosen:
            key = (row["dataset"], variation, row["output"], row["model"])
            by_line.setdefault(key, {})[row["metric"], row["score"]] = row
    return {key: shown(of) for key, of in by_line.items()}


def small(now: Cells) -> dict[str, str]:
    """Datasets that are too small to rank models on, each with the reason.

    The groups of its items count; if the items are not here, the questions behind its accuracies.
    """
    questions: dict[str, int] = {}
    for (dataset, *_), of in now.items():
        items = of.get(("accuracy", ""), {}).get("items") or 0
        questions[dataset] = max(questions.get(dataset, 0), items)
    reasons = {}
    for dataset, count in questions.items():
        path = items_path(dataset)
        groups = len(pc.unique(ITEMS.read(path, ("group",))["group"])) if path.exists() else count
        reasons[dataset] = too_small(groups)
    return {dataset: why for dataset, why in reasons.items() if why}


def headline(now: Cells, every: bool = False) -> str:
    """A line for each dataset, variation, request type and model, best accuracy first. every: all columns."""
    if every:
        columns = _present(now)
        return _table(columns, [(key, [_number(now[key], one) for one in columns]) for key in ordered(now)])
    lines = [(key, [_short(name, now[key].get(name)) for name in _HEADLINE]) for key in ordered(now)]
    targets = {1 - row["alpha"] for of in now.values() for row in of.values() if row["alpha"] is not None}
    target = f" (target {min(targets):g})" if len(targets) == 1 else ""
    return f"{_grouped(now, lines)}\n{LEGEND.format(target=target)}"


def _short(column: tuple[str, str], row: Mapping[str, Any] | None) -> str:
    if column[0] == "ece":
        return number(row["value"] if row else None)
    return interval(row, digits=_DIGITS.get(column[0], 3))


def named(now: Cells) -> list[dict[str, Any]]:
    """An entry for each line, for JSON; numbers have the names that they have in metrics.json."""
    few, columns = small(now), _present(now)
    return [
        dict(zip(("dataset", "variation", "output", "model"), key, strict=True))
        | {"too_small": few.get(key[0], "")}
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
    """The lines that changed, with the change of every number; lines of only one side are `new` or `gone`.

    Lines that changed only in digits or columns that are not shown, as on another processor, are counted.
    """
    lines, close = [], 0
    columns, known = _present(now, then) if every else list(_HEADLINE), _present(now, then)
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
    """The heading of a column: the metric's label, and the nonconformity score."""
    from vouch.metrics.metric import metrics

    return " ".join([metrics()[metric].label, *([score.upper()] if score in HEADLINE else [])])


def _number(of: Mapping[tuple[str, str], Mapping[str, Any]], column: tuple[str, str]) -> str:
    """A number with its interval; rates of unread texts have none, as the table is wide."""
    from vouch.metrics.unranked import READING

    row = of.get(column)
    return interval(row if row is None or column[0] not in READING else {**row, "low": None})


def _present(*tables: Cells) -> list[tuple[str, str]]:
    """The columns; some are left out if no line has them, such as letter mass with released logits."""
    from vouch.metrics.unranked import READING

    known = {column for cells in tables for of in cells.values() for column in of}
    columns = [_COLUMNS[0], *((name, "") for name in READING), *_COLUMNS[1:], *_FURTHER]
    return [column for column in columns if column in _COLUMNS or column in known]


def _table(shown: Sequence[tuple[str, str]], lines: Lines, *further: str) -> str:
    head = ["dataset", "variation", "output", "model", *(label(*column) for column in shown)]
    rows = [[key[0], long_name(key[1]), *key[2:], *texts] for key, texts in lines]
    return table([*head, *further], rows, right=range(4, len(head)))


def _grouped(numbers: Cells, lines: Lines, *further: str) -> str:
    """The headline columns; models come below a line that names dataset, variation and request type."""
    head = ["model", *(label(*column).replace(" LAC", "") for column in _HEADLINE), *further]
    rows = [[f" {key[3]}", *texts] for key, texts in lines]
    top, rule, *body = table(head, rows, right=range(1, 1 + len(_HEADLINE))).splitlines()
    text, group = [top, rule], None
    for (key, _), line in zip(lines, body, strict=True):
        if key[:3] != group:
            group = key[:3]
            dataset, variation, output = group
            items = numbers[key].get(("accuracy", ""), {}).get("items")
            words = [
                "" if variation == ORIGINAL else long_name(variation),
                "" if output == LETTERS else output,
            ]
            counted = "" if items is None else f"{items} question{'' if items == 1 else 's'}"
            text.append(plain(", ".join(filter(None, [dataset, *words, counted]))))
        text.append(line)
    return "\n".join(text) + "\n"


def ordered(numbers: Cells) -> list[Line]:
    """Lines by dataset, variation, request type and accuracy, highest first; in small datasets by name."""
    reasons = small(numbers)

    def place(key: Line) -> tuple[str, str, int, float, str]:
        dataset, variation, output, model = key
        accuracy = numbers[key].get(("accuracy", ""), {}).get("value")
        rank = 0.0 if dataset in reasons else -(accuracy or 0)
        return dataset, variation, OUTPUTS.index(output), rank, model

    return sorted(numbers, key=place)


def _change(now: Mapping[str, Any] | None, then: Mapping[str, Any] | None) -> str:
    if now is None or now["value"] is None:
        return "n.a."
    if then is None or then["value"] is None:
        return f"{now['value']:.3f} (new)"
    change = now["value"] - then["value"]
    return f"{now['value']:.3f} ({change:+.3f})" if change else f"{now['value']:.3f}"


REPORT = Path("reports/index.html")


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

    Each model has one line below its dataset, variation and request type; the most accurate model comes
    first. With --rev every number is followed by its change since a revision.

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
    """A line for each model, dataset and request type in these leaderboard rows that claims leave out."""
    from vouch.metrics.unranked import unranked
    from vouch.report.caveats import NOTE, REMEDY

    left = sorted(unranked(rows), key=lambda key: (key[1], key[0], key[2]))
    lines = [f"{dataset}: {model} {NOTE[output]}. {REMEDY[output]}" for model, dataset, output in left]
    return "".join(f"{plain(line)}\n" for line in lines)


def undecided(now: Cells) -> str:
    """Lines about texts that were not decided, or that a judge read: what that does to the accuracy."""
    from vouch.report.caveats import OF_READING, bounds, of_judge

    lines = []
    for key in ordered(now):
        dataset, variation, _, model = key
        where = dataset if variation == ORIGINAL else f"{dataset}, {long_name(variation)}"
        values = {name: now[key].get((name, ""), {}).get("value") for name in OF_READING}
        notes = [*bounds(values), *of_judge(now[key])]
        lines += [f"{where}: {model}: {one}." for one in notes]
    return "".join(f"{plain(line)}\n" for line in lines)


MOST = 20
"""Commits to look at, at most: each takes seconds."""
COLUMNS = (("accuracy", ""), ("coverage", "lac"), ("set_size", "lac"), ("ece", ""), ("answered_alone_5", ""))
BARS = "▁▂▃▄▅▆▇█"
LOCK = "dvc.lock"
FETCH = "`git fetch --unshallow` gets them"
_MISSING = "No storage files available"  # as DVC says it


class Version(NamedTuple):
    """A commit with results. title: its short name, day and subject. pins: digest of each model's pin."""

    commit: str
    title: str
    pins: Mapping[str, str]
    numbers: Cells


def history(span: str, protocol: str, variations: bool) -> str:
    """A list of the versions, and a line for each model and metric. Raises UserError if there are none."""
    versions, skipped = _versions(span, protocol, variations)
    if not versions:
        raise UserError(f"{span}: no commit has results that can be read; name commits with results")
    count = f"{len(versions)} version{'' if len(versions) == 1 else 's'}"
    text = f"{count} of the results in {span}, * where the model's pin changed\n"
    text += "".join(f" {number}  {version.title}\n" for number, version in enumerate(versions, start=1))
    text += "".join(f"left out: {reason}\n" for reason in skipped)
    rows, group = [], None
    for key in dict.fromkeys(key for version in versions for key in version.numbers):
        dataset, variation, output, model = key
        where = ", ".join(part for part in (dataset, variation, output) if part not in (ORIGINAL, LETTERS))
        for column in COLUMNS:
            if row := _history_row(versions, key, column):
                rows.append([where if where != group else "", model, *row])
                group = where
    head = ["dataset", "model", "metric", "", *(str(number + 1) for number in range(len(versions))), "change"]
    return plain_lines(text) + table(head, rows, right=range(4, len(head)))


def plain_lines(text: str) -> str:
    """The text without characters that could act on a terminal."""
    return "".join(f"{plain(line)}\n" for line in text.splitlines())


def _history_row(versions: Sequence[Version], key: Line, column: tuple[str, str]) -> list[str] | None:
    """The metric's label, a drawing, its value in each version, and the change; None if no version has it."""
    rows = [version.numbers.get(key, {}).get(column) for version in versions]
    values = [None if row is None else row["value"] for row in rows]
    known = [value for value in values if value is not None]
    if not known:
        return None
    pins = [version.pins.get(key[3]) for version in versions]
    marks = ["*" if one and other and one != other else "" for one, other in pairwise(pins)]
    texts = [
        "" if value is None else f"{value:.3f}{mark}"
        for value, mark in zip(values, ["", *marks], strict=True)
    ]
    metric, _, percent = column[0].rpartition("_") if column[0][-1].isdigit() else (column[0], "", "")
    name = f"{label(metric, column[1])}{f', {percent} % wrong' if percent else ''}"
    return [name, _drawn(values), *texts, f"{known[-1] - known[0]:+.3f}"]


def _drawn(values: Sequence[float | None]) -> str:
    """A bar for each value, scaled from the least to the greatest; a blank if there is no value."""
    known = [value for value in values if value is not None]
    low, width = min(known), max(known) - min(known)
    return "".join(
        " " if value is None else BARS[round((value - low) / width * (len(BARS) - 1)) if width else 0]
        for value in values
    )


def _versions(span: str, protocol: str, variations: bool) -> tuple[list[Version], list[str]]:
    """The commits of A..B that changed the results, A itself first; and why others are left out."""
    first, _, last = span.partition("..")
    if not first:
        raise UserError(f"--rev: {span} names no first commit; write A..B, such as v1.0..HEAD")
    last = last.lstrip(".") or "HEAD"
    start, end = map(_commit, (first, last))
    if start != end and not _git("rev-list", "-1", f"{start}..{end}"):
        raise UserError(f"{span}: {last} comes before {first}; write {last}..{first}")
    between = _git("rev-list", "--reverse", f"{start}..{end}", "--", LOCK).split()
    versions: list[Version] = []
    skipped = [f"{len(between) - MOST} commits, the oldest after {first}"] if len(between) > MOST else []
    if _shallow() and start not in _git("rev-list", end).split():
        skipped.append(f"the commits that this shallow clone lacks; {FETCH}")
    for commit in [start, *between[-MOST:]]:
        title = _git("log", "-1", "--format=%h %cs %s", commit).strip()
        try:
            numbers = cells(leaderboard_at(commit), protocol, variations)
        except UserError as error:
            skipped.append(f"{title}: {str(error).split(': ', 1)[-1].split(';')[0]}")
            continue
        if not versions or numbers != versions[-1].numbers:
            versions.append(Version(commit, title, _pins(commit), numbers))
    return versions, skipped


def _pins(commit: str) -> dict[str, str]:
    """The digest of each model's pin at a commit."""
    stages: Mapping[str, Any] = loads(_git("show", f"{commit}:{LOCK}"), LOCK).get("stages") or {}
    return {
        name.partition("@")[2]: next((str(out.get("md5")) for out in stage.get("outs") or []), "")
        for name, stage in stages.items()
        if name.startswith("pin@")
    }


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise UserError(f"git {words[0]}: {plain(reason)}; name commits, tags or branches")
    return done.stdout


def _commit(revision: str) -> str:
    """The digest of the commit that a revision names. Raises UserError."""
    words = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no such commit"])[0]
        advice = "name a commit, tag or branch, or two as A..B"
        if _shallow():
            advice = f"this clone is shallow: it lacks earlier commits, perhaps tags and branches; {FETCH}"
        raise UserError(f"--rev: {plain(revision)}: {plain(reason)}; {advice}")
    return done.stdout.strip()


def _shallow() -> bool:
    return _git("rev-parse", "--is-shallow-repository").strip() == "true"


def leaderboard_at(revision: str) -> list[dict[str, Any]]:
    """Rows of the leaderboard at a revision, from DVC's cache or remote. Raises UserError."""
    if not revision:
        raise UserError("--rev: is empty; name a commit, tag or branch, or two as A..B")
    where = f"{LEADERBOARD_PATH} at {revision}"
    apart = (
        f"look at them in a checkout of it: `git worktree add ../then {revision}`, there `dvc pull` and "
        "`python -m vouch.cli.main show`"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / LEADERBOARD_PATH.name
        command = ["dvc", "get", ".", str(LEADERBOARD_PATH), f"--rev={revision}", "--out", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if _MISSING in done.stderr and done.returncode:
            raise UserError(f"{where}: neither here nor in the remote; {apart}")
        if done.returncode:
            _commit(revision)
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[0].removeprefix("ERROR: ")
            raise UserError(f"{where}: {reason}; name a commit whose results were recorded")
        try:
            rows: list[dict[str, Any]] = LEADERBOARD.read(path).to_pylist()
        except UserError as error:
            problem = str(error).split(": ", 1)[-1].split(";")[0]
            raise UserError(f"{where}: {problem}, so they cannot be compared; {apart}") from None
        return rows
