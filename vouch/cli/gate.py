"""The gate of `vouch compare --fail-if`: rules about A minus B, such as `accuracy < 0 and p < 0.01`.

A gate fails if a rule holds. If a number that a rule names is missing, the rule cannot be evaluated, and
the gate must not pass.
"""

import math
import operator
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

from vouch.cli.leaderboard import Row, long_name
from vouch.cli.printing import plain
from vouch.metrics.metric import CLEAN
from vouch.metrics.unranked import UNANSWERED, WORTH_SAYING
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables import HEADLINE
from vouch.tables.asked import ORIGINAL

FAILED = 3  # exit status, different from those of errors and of wrong arguments


class Rule(NamedTuple):
    """A rule: it holds if all its conditions hold. Each has a name, a sign and a number."""

    text: str
    conditions: Sequence[tuple[str, str, float]]


_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_CONDITION = re.compile(
    r"\s*([a-z_]+(?:\.[a-z]+)?)\s*([<>]=?)\s*([-+]?(?:[0-9]{1,9}(?:\.[0-9]{0,15})?|\.[0-9]{1,15}))\s*"
)
_WITH_ENDS = ("accuracy", *(f"set_size_{score}" for score in HEADLINE))
_OF_SIDES = ("coverage_lac", "ece")
NAMES = (*(f"{name}{end}" for name in _WITH_ENDS for end in ("", ".low", ".high")), "p", *_OF_SIDES)


def rule(text: str) -> Rule:
    """The rule that a text states. Raises UserError for a text that is not a rule."""
    conditions, where = [], f"--fail-if {text:.80}"
    for part in text.split(" and "):
        match = _CONDITION.fullmatch(part)
        if match is None:
            raise UserError(f'{where}: is not a rule; write NAME < NUMBER, e.g. "accuracy < -0.02"')
        name, sign, bound = match[1], match[2], float(match[3])
        if name not in NAMES:
            raise UserError(f"{where}: no number {name}; {did_you_mean(name, [*NAMES])}")
        least, most = (0.0, 1.0) if name == "p" else (-1.0, 1.0)
        reached = least if sign.startswith("<") else most
        if not name.startswith("set_size") and not _SIGNS[sign](reached, bound):
            raise UserError(
                f"{where}: {name} lies between {least:g} and {most:g}, so the rule never holds; write 0.02 "
                "for 2 points"
            )
        conditions.append((name, sign, bound))
    return Rule(text, conditions)


def _numbers(entry: Row) -> dict[str, float]:
    """The numbers that rules may name, as far as they are known, from an entry of `pairs`."""
    gaps = {"accuracy": entry["accuracy"]}
    gaps |= {f"set_size_{score}": gap for score, gap in entry["set_size"].items()}
    values = {"p": entry["accuracy"]["p_holm"]}
    for name, gap in gaps.items():
        values |= {name: gap["difference"], f"{name}.low": gap["low"], f"{name}.high": gap["high"]}
    for name in _OF_SIDES:
        first, second = (entry[side][name]["value"] for side in ("first", "second"))
        values[name] = None if first is None or second is None else first - second
    return {name: value for name, value in values.items() if value is not None and not math.isnan(value)}


def failures(rules: Sequence[Rule], entries: Sequence[Row]) -> tuple[list[str], list[str]]:
    """A line for each pair for which a rule holds, and one for each for which a number is missing."""
    lines, unknown = [], []
    for text, conditions in rules:
        for entry in entries:
            known = _numbers(entry)
            if any(
                name in known and not _SIGNS[sign](known[name], bound) for name, sign, bound in conditions
            ):
                continue
            where = f"{entry['dataset']}, {entry['output']}, {long_name(entry['variation'])}"
            if missing := [name for name, _, _ in conditions if name not in known]:
                unknown.append(f"{where}: no {' and no '.join(missing)} ({text})")
                continue
            values = ", ".join(f"{name} {known[name]:+.4f}" for name, _, _ in conditions)
            lines.append(f"{where}: {values} ({text})")
    return lines, unknown


def unjudged(every: Sequence[Row], entries: Sequence[Row], variation: str) -> list[str]:
    """A line for each dataset and request type that a gate cannot judge.

    Either only one model has results there, or one left too many prompts unanswered. every: rows of the
    leaderboard, of both models and all variations.
    """
    paired = {(entry["dataset"], entry["output"]) for entry in entries}
    with_original = {row["dataset"] for row in every if row["variation"] == ORIGINAL}
    models: dict[tuple[str, str], set[str]] = {}
    missing = []
    for row in every:
        cell, here = (row["dataset"], row["output"]), row["variation"] == variation
        if here or (variation == ORIGINAL and row["dataset"] not in with_original):
            models.setdefault(cell, set()).add(row["model"])
        whole = (row["metric"], row["protocol"], row["category"]) == (UNANSWERED, CLEAN, "all")
        if here and whole and cell in paired and row["value"] > WORTH_SAYING:
            missing.append((cell, f"{row['model']} left {row['value']:.1%} of the prompts unanswered"))
    for cell in models.keys() - paired:
        names = models[cell]
        which = f"only {min(names)} has results" if len(names) == 1 else "no results of both"
        missing.append((cell, which))
    where = long_name(variation)
    return [f"{dataset}, {output}, {where}: {what}" for (dataset, output), what in sorted(missing)]


def exit_status(failed: Sequence[str], unknown: Sequence[str]) -> int:
    """The exit status of a gate; prints on stderr what fails and what cannot be judged."""
    for line in failed:
        print(f"vouch: fails: {plain(line)}", file=sys.stderr)
    for line in unknown:
        print(f"vouch: cannot judge: {plain(line)}", file=sys.stderr)
    if unknown:
        remedy = "--dataset and --output choose what is judged; `dvc repro` asks the missing prompts"
        print(f"vouch: {remedy}", file=sys.stderr)
    return FAILED if failed else 1 if unknown else 0
