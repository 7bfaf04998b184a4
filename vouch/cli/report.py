"""`vouch report --against REV`: this run beside that of a commit, on a page and in the terminal."""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vouch.cli.against import (
    CHANGED,
    MOVED,
    SAME,
    NumberPair,
    Outputs,
    Outs,
    RunComparison,
    Side,
    against,
    differs,
)
from vouch.cli.against_page import page, where
from vouch.cli.command import argument, command, json_argument, path_argument
from vouch.cli.history import leaderboard_at
from vouch.cli.leaderboard import Line, cells, label, over_all, warn_if_outdated
from vouch.cli.printing import WIDTH, as_json, cut, interval, number, wrapped
from vouch.cli.revision import Revision
from vouch.metrics.config import ScoreConfig
from vouch.params.check import check_project
from vouch.pipeline.dag import PARAMS, read_dag
from vouch.pipeline.digests import Digests
from vouch.pipeline.files import write_text
from vouch.pipeline.records import intact
from vouch.pipeline.yaml12 import loads
from vouch.tables.asked import items_path
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH, outcomes_path

PAGE = Path("build/against/index.html")
"""Outside of reports/: the page depends on a commit, which is no input of a stage."""
ITEMS_PAGE = Path("reports/pages/items.html")
FILES = (PARAMS, "models.lock")
NUMBERS, KEYS, ANSWERS = 40, 8, 12  # lines in the terminal, the page has all
_DIGITS = 0.0005  # a smaller difference is not seen


@command(
    "report",
    "this run beside that of a commit: what moved, what stayed, which answers changed",
    argument(
        "--against", metavar="REV", required=True, help="a commit, tag or branch whose results were recorded"
    ),
    path_argument("--out", metavar="FILE", help=f"default: {PAGE}"),
    json_argument("all numbers and changed answers that the page lists"),
)
def run(options: argparse.Namespace) -> int:
    """Compare the results here with those of a commit, tag or branch, and write a page about it.

    The page is one file that needs no other: the settings that differ, every headline number of both runs
    with its difference, and the questions whose answer changed, with both answers. Results of the commit come
    from DVC's cache, or else from the remote. The page is written to build/against, not to reports: it
    depends on a commit, and the report only on the results here.

    A number has moved if the 95 % interval of the difference, paired over the questions that both runs asked,
    excludes 0. It has changed if it differs but the interval holds 0, or if there is none. Intervals of
    prediction sets keep the thresholds of each run, so they are too narrow.

    Examples:
      vouch report --against HEAD            what an edit that is not committed yet has done
      vouch report --against v1.0            what moved since a tag
      vouch show --rev v1.0                  the same for the headline numbers alone
    """
    now = _here()
    revision = Revision(options.against, "--against")
    then = _at(revision)
    shared = {line for line in now.numbers if line in then.numbers}
    revision.fetch(_needed(now, then, shared))
    comparison = against(now, then, check_project().compare)
    out = options.out or PAGE.absolute()
    items = os.path.relpath(ITEMS_PAGE.absolute(), out.parent) if ITEMS_PAGE.exists() else ""
    write_text(out, page(comparison, revision.title, items))
    if options.json:
        print(as_json(_named(comparison, revision)), end="")
    else:
        print(summary(comparison, revision.title), end="")
        print(f"page: {os.path.relpath(out)}")
    warn_if_outdated()
    return 0


def _here() -> Side:
    """The results of this checkout. Raises UserError if there are none."""
    rows = over_all(LEADERBOARD.read(intact(LEADERBOARD_PATH)))
    digests = Digests()
    outs = {stage.name: {out: digests.of(out) for out in stage.outs} for stage in read_dag().stages.values()}
    digests.save()
    texts = {file: Path(file).read_text("utf-8") for file in FILES}
    return _side(texts, outs, rows, intact)


def _at(revision: Revision) -> Side:
    """The results of a commit. Raises UserError."""
    outs = {name: record.outs for name, record in revision.records.items()}
    texts = {file: revision.text(file) for file in FILES}
    return _side(texts, outs, leaderboard_at(revision), revision.path_of, f" at {revision.name}")


def _side(
    texts: Mapping[str, str],
    outs: Outs,
    rows: Iterable[Mapping[str, Any]],
    path_of: Callable[[Path], Path],
    when: str = "",
) -> Side:
    """texts: of FILES. rows: of the leaderboard. path_of: of `Side`. when: words that follow the name of a
    file in messages."""
    settings = {file: dict(_flat(loads(text, f"{file}{when}"))) for file, text in texts.items()}
    bins = settings[PARAMS].get("score.bins")
    usual: int = ScoreConfig.model_fields["bins"].default
    number = bins if isinstance(bins, int) and bins > 0 else usual
    return Side(settings, outs, cells(rows, "clean"), number, path_of)


def _flat(values: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested values by dotted key; lists are values. Anything else than a mapping has no keys."""
    for key, value in values.items() if isinstance(values, Mapping) else ():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _needed(now: Side, then: Side, shared: set[Line]) -> list[Path]:
    """The outputs of the commit whose answers are compared one by one."""
    datasets = sorted({line[0] for line in shared})
    return [
        of(dataset)
        for dataset in datasets
        if differs(now, then, dataset, [line for line in shared if line[0] == dataset])
        for of in (outcomes_path, items_path)
        if then.digest(of(dataset)) is not None
    ]


def summary(comparison: RunComparison, title: str) -> str:
    """What moved and what stayed, as text for a person; at most 80 columns."""
    lines = [f"this checkout, against {title}", *_settings(comparison), _outputs_line(comparison.outputs)]
    lines += [f"only {when}: {', '.join(names)}" for when, names in _single(comparison) if names]
    text = "".join(map(wrapped, filter(None, [*lines, *comparison.notes])))
    if comparison.unchanged:
        return text + "Nothing moved: every number and every answer is the same.\n"
    shown = [one for one in comparison.numbers if one.state == MOVED or (one.state == CHANGED and _seen(one))]
    shown.sort(key=lambda one: one.state != MOVED)  # stable: those that moved come first
    text += _table(shown[:NUMBERS])
    if len(shown) > NUMBERS:
        text += wrapped(f"{len(shown) - NUMBERS} more numbers that differ are on the page.")
    states = comparison.states
    hidden = states[MOVED] + states[CHANGED] - len(shown)
    text += wrapped(
        f"{states[MOVED]} moved (the 95 % interval excludes 0; not corrected for the number of numbers, and "
        f"prediction sets keep the thresholds of each run), {states[CHANGED]} changed otherwise"
        f"{f' ({hidden} only in digits that are not shown)' if hidden else ''}, {states[SAME]} are the same."
    )
    return text + "".join(map(wrapped, _answers(comparison)))


def _settings(comparison: RunComparison) -> Iterator[str]:
    for file in FILES:
        differ = [one for one in comparison.settings if one.file == file]
        names = [
            one.key + (" (new)" if one.then is None else " (gone)" if one.now is None else "")
            for one in differ
        ]
        more = f" and {len(names) - KEYS} more" if len(names) > KEYS else ""
        if names:
            yield f"{file}: {', '.join(names[:KEYS])}{more} differ{'s' if len(names) == 1 else ''}"
        else:
            yield f"{file}: the same"


def _outputs_line(outputs: Sequence[Outputs]) -> str:
    """How many outputs have other bytes, and of which stages."""
    every = sum(each.same + each.other for each in outputs)
    other = {each.kind: each.other for each in outputs if each.other}
    kinds = ", ".join(f"{kind} {count}" for kind, count in other.items())
    return f"outputs with other bytes: {sum(other.values())} of {every}{f' ({kinds})' if kinds else ''}"


def _single(comparison: RunComparison) -> tuple[tuple[str, Sequence[str]], ...]:
    return ("here", comparison.now_only), ("there", comparison.then_only)


def _seen(one: NumberPair) -> bool:
    return one.difference is None or abs(one.difference) >= _DIGITS


def _table(shown: Sequence[NumberPair]) -> str:
    """A line for each number, below a line for its model and dataset."""
    text, before = "" if not shown else f"{'':16}{'then':>7}{'now':>7}  difference [95 % interval]\n", None
    for one in shown:
        if one.line != before:
            before = one.line
            part = f", on {one.items} of {one.of} questions" if 0 < one.items < one.of else ""
            text += cut(f"{where(one.line)}{part}", WIDTH) + "\n"
        gap = interval(one._asdict(), "difference")
        row = f"  {label(*one.column):<14}{number(one.then):>7}{number(one.now):>7}  {gap:<26}  {one.state}"
        text += row.rstrip() + "\n"
    return text


def _answers(comparison: RunComparison) -> Iterator[str]:
    """Lines about the answers that changed."""
    changed = sorted((one for one in comparison.answers if one.changed), key=lambda one: -one.changed)
    for one in changed[:ANSWERS]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in one.kinds.items() if count)
        yield f"{where(one.line)}: {one.changed} of {one.prompts} answers changed: {kinds}"
    if len(changed) > ANSWERS:
        yield f"{len(changed) - ANSWERS} more (a model on a dataset, one request type) are on the page"
    every = sum(count for count, _ in comparison.variations.values())
    if count := sum(count for _, count in comparison.variations.values()):
        yield f"With all variations, {count:,} of {every:,} answers changed."
    for each in comparison.questions:
        if each.differ:
            yield (
                f"{each.dataset}: {len(each.same)} questions are the same, {len(each.other)} have other "
                f"content, {len(each.now_only)} are new, {len(each.then_only)} are gone"
            )


def _named(comparison: RunComparison, revision: Revision) -> dict[str, Any]:
    """The comparison for programs."""
    numbers = [
        dict(zip(("dataset", "variation", "output", "model"), one.line, strict=True))
        | {"metric": one.column[0], "score": one.column[1], "state": one.state}
        | {key: getattr(one, key) for key in ("then", "now", "difference", "low", "high", "items")}
        for one in comparison.numbers
    ]
    answers = [
        dict(zip(("dataset", "variation", "output", "model"), one.line, strict=True))
        | {"prompts": one.prompts, "changed": one.changed, "kinds": dict(one.kinds)}
        | {"listed": [each._asdict() for each in one.listed]}
        for one in comparison.answers
    ]
    return {
        "commit": revision.commit,
        "settings": [one._asdict() for one in comparison.settings],
        "outputs": [one._asdict() for one in comparison.outputs],
        "then_only": list(comparison.then_only),
        "now_only": list(comparison.now_only),
        "numbers": numbers,
        "answers": answers,
        "notes": list(comparison.notes),
    }
