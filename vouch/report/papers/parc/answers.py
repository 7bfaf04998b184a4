"""Numbers of PARC by dataset, of the output that counts there."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from vouch.report.papers.parc.names import DATASETS, KINDS, NAMES, UNCHANGED, kind
from vouch.report.reproduce.entry import Absent
from vouch.report.reproduce.labels import columns, own
from vouch.report.reproduce.lookup import MEAN, Lookup, Measure
from vouch.tables.prompts import LETTERS, ORIGINAL, TEXT


def four(variation: str, score: str = "") -> tuple[Measure, ...]:
    """PARC's four measures of a variation, or (score) of a family of them."""
    return tuple(
        Measure(label, metric, score, scale=1, variation=variation) for metric, label in NAMES.items()
    )


def _answers(lookup: Lookup, logits: bool) -> dict[str, str]:
    """Datasets by output: the text where there is one, unless the largest logit is wanted."""
    outputs = {name: lookup.evidence.outputs(name) for name in lookup.evidence.datasets}
    wanted = (LETTERS,) if logits else (TEXT, LETTERS)
    return {
        name: next(output for output in wanted if output in has)
        for name, has in outputs.items()
        if set(wanted) & set(has)
    }


def long(lookup: Lookup, measures: Sequence[Measure], logits: bool = False) -> pd.DataFrame:
    """Lookup.long with the output that counts on each dataset. logits: letters everywhere."""
    answers = _answers(lookup, logits)
    parts = [
        lookup.long(
            [replace(measure, output=output) for measure in measures],
            [n for n, has in answers.items() if has == output],
        )
        for output in sorted(set(answers.values()))
    ]
    if not parts:
        raise Absent("no model was asked for letters or texts")
    return pd.concat(parts, ignore_index=True)


def notes(lookup: Lookup, logits: bool) -> dict[str, str]:
    """What the answers are, by dataset."""
    said = {TEXT: "answers are generated texts", LETTERS: "answers are the largest logits"}
    return {name: said[output] for name, output in _answers(lookup, logits).items()}


def over(lookup: Lookup, frame: pd.DataFrame) -> tuple[str, ...]:
    """The paper's datasets that a frame has; all of it where it has none."""
    return tuple(name for name in own(lookup.evidence.datasets, DATASETS) if name in set(frame["dataset"]))


def heads(lookup: Lookup) -> dict[str, str]:
    """Columns of a table: datasets, and their mean."""
    return columns(lookup.evidence.datasets, DATASETS) | {MEAN: MEAN}


def asked_kinds(lookup: Lookup) -> dict[str, str]:
    """All of PARC's variations that were asked, with their labels, in the order of the paper."""
    frame = lookup.rows("reliability")
    asked = [name for name in frame["variation"].unique() if name]
    labels = {name: label for name in sorted(asked) if (label := kind(name))}
    order = list(KINDS.values())
    ordered = sorted(
        labels, key=lambda name: (order.index(labels[name].split("/")[0].split()[0]), labels[name])
    )
    found = {name: labels[name] for name in ordered}
    if set(found) <= {ORIGINAL}:
        raise Absent(UNCHANGED)
    return found
