"""The rules of `vouch compare --fail-if` about A minus B, such as `accuracy < 0 and p < 0.01`.

A gate fails if a rule holds. If a number that the rule names is missing, the rule cannot be evaluated, and
that must not count as a pass.
"""

import math
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vouch.cli.printing import long_name
from vouch.pipeline.errors import UserError, did_you_mean

FAILED = 3  # exit status, neither that of an error nor that of wrong arguments
_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_CONDITION = re.compile(
    r"\s*([a-z_]+(?:\.[a-z]+)?)\s*([<>]=?)\s*([-+]?(?:[0-9]{1,9}(?:\.[0-9]{0,15})?|\.[0-9]{1,15}))\s*"
)


@dataclass(frozen=True)
class Rule:
    """Conditions that must all hold for the rule to hold. each: name, sign and number of a condition."""

    text: str
    each: Sequence[tuple[str, str, float]]


def rule(text: str) -> Rule:
    """The rule that a text states. Raises UserError for a text that is not a rule."""
    each = []
    for part in text.split(" and "):
        match = _CONDITION.fullmatch(part)
        if match is None:
            raise UserError(
                f'--fail-if {text:.80}: is not a rule; write NAME < NUMBER, e.g. "accuracy < -0.02"'
            )
        if match[1] not in NAMES:
            raise UserError(f"--fail-if {text:.80}: no number {match[1]}; {did_you_mean(match[1], [*NAMES])}")
        least, most = (0.0, 1.0) if match[1] == "p" else (-1.0, 1.0)
        reached = least if match[2].startswith("<") else most
        if not match[1].startswith("set_size") and not _SIGNS[match[2]](reached, float(match[3])):
            raise UserError(
                f"--fail-if {text:.80}: {match[1]} lies between {least:g} and {most:g}, so the rule never "
                "holds; write 0.02 for 2 points"
            )
        each.append((match[1], match[2], float(match[3])))
    return Rule(text, each)


def numbers(entry: Mapping[str, Any]) -> dict[str, float | None]:
    """The numbers that rules may name, from an entry of `pairs`: A minus B, and ends of 95 % intervals."""
    accuracy = entry["accuracy"]
    values = {"accuracy": accuracy["difference"], "p": accuracy["p_holm"]}
    values |= {f"accuracy.{end}": accuracy[end] for end in ("low", "high")}
    for score, gap in entry["set_size"].items():
        values |= {f"set_size_{score}": gap["difference"]}
        values |= {f"set_size_{score}.{end}": gap[end] for end in ("low", "high")}
    for name in ("coverage_lac", "ece"):
        sides = [entry[side][name]["value"] for side in ("first", "second")]
        values[name] = None if None in sides else sides[0] - sides[1]
    return values


_NONE = dict.fromkeys(("difference", "low", "high", "p_holm", "value"))
_SIDE = dict.fromkeys(("coverage_lac", "ece"), _NONE)
NAMES = tuple(
    numbers({"accuracy": _NONE, "set_size": {"lac": _NONE, "aps": _NONE}, "first": _SIDE, "second": _SIDE})
)


def failures(rules: Sequence[Rule], entries: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """A line for each pair on which a rule holds, and one for each on which a number is missing."""
    lines, unknown = [], []
    for one in rules:
        for entry in entries:
            known = {name: value for name, value in numbers(entry).items() if value is not None}
            known = {name: value for name, value in known.items() if not math.isnan(value)}
            if any(name in known and not _SIGNS[sign](known[name], bound) for name, sign, bound in one.each):
                continue
            where = f"{entry['dataset']}, {entry['output']}, {long_name(entry['variation'])}"
            if missing := [name for name, _, _ in one.each if name not in known]:
                unknown.append(f"{where}: no {' and no '.join(missing)} ({one.text})")
                continue
            values = ", ".join(f"{name} {known[name]:+.4f}" for name, _, _ in one.each)
            lines.append(f"{where}: {values} ({one.text})")
    return lines, unknown
