"""Rules of `vouch compare --fail-if` about A minus B: `accuracy < -0.02`, `accuracy < 0 and p < 0.01`."""

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
    """Conditions that must all hold for the rule to hold. each: name, sign, number."""

    text: str
    each: Sequence[tuple[str, str, float]]


def rule(text: str) -> Rule:
    """Raises UserError for what is no rule."""
    each = []
    for part in text.split(" and "):
        found = _CONDITION.fullmatch(part)
        if found is None:
            raise UserError(f'--fail-if {text:.80}: is no rule; write NAME < NUMBER, e.g. "accuracy < -0.02"')
        if found[1] not in NAMES:
            raise UserError(f"--fail-if {text:.80}: no number {found[1]}; {did_you_mean(found[1], [*NAMES])}")
        least, most = (0.0, 1.0) if found[1] == "p" else (-1.0, 1.0)
        reached = least if found[2].startswith("<") else most
        if not found[1].startswith("set_size") and not _SIGNS[found[2]](reached, float(found[3])):
            raise UserError(
                f"--fail-if {text:.80}: {found[1]} lies between {least:g} and {most:g}, so the rule never "
                "holds; write 0.02 for 2 points"
            )
        each.append((found[1], found[2], float(found[3])))
    return Rule(text, each)


def numbers(entry: Mapping[str, Any]) -> dict[str, float | None]:
    """What rules may name, of an entry of `pairs`: A minus B; `low` and `high` end its 95 % interval."""
    accuracy = entry["accuracy"]
    found = {"accuracy": accuracy["difference"], "p": accuracy["p_holm"]}
    found |= {f"accuracy.{end}": accuracy[end] for end in ("low", "high")}
    for score, gap in entry["set_size"].items():
        found |= {f"set_size_{score}": gap["difference"]}
        found |= {f"set_size_{score}.{end}": gap[end] for end in ("low", "high")}
    for name in ("coverage_lac", "ece"):
        sides = [entry[side][name]["value"] for side in ("first", "second")]
        found[name] = None if None in sides else sides[0] - sides[1]
    return found


_NONE = dict.fromkeys(("difference", "low", "high", "p_holm", "value"))
_SIDE = dict.fromkeys(("coverage_lac", "ece"), _NONE)
NAMES = tuple(
    numbers({"accuracy": _NONE, "set_size": {"lac": _NONE, "aps": _NONE}, "first": _SIDE, "second": _SIDE})
)


def failures(rules: Sequence[Rule], entries: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """A line for each pair and rule that holds, and one for each that lacks a number to tell: what nobody
    knows passes no gate."""
    lines, untold = [], []
    for one in rules:
        for entry in entries:
            known = {name: value for name, value in numbers(entry).items() if value is not None}
            known = {name: value for name, value in known.items() if not math.isnan(value)}
            if any(name in known and not _SIGNS[sign](known[name], bound) for name, sign, bound in one.each):
                continue
            place = f"{entry['dataset']}, {entry['output']}, {long_name(entry['variation'])}"
            if missing := [name for name, _, _ in one.each if name not in known]:
                untold.append(f"{place}: no {' and no '.join(missing)} ({one.text})")
                continue
            said = ", ".join(f"{name} {known[name]:+.4f}" for name, _, _ in one.each)
            lines.append(f"{place}: {said} ({one.text})")
    return lines, untold
