"""The datasets, models and prompts of PARC, and its numbers by dataset, of the output that counts there."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from vouch.report.reproduce.entry import Absent, Lookup, Measure, models
from vouch.tables.asked import LETTERS, ORIGINAL, TEXT

DATASETS = {
    "mit_state": "M-S",
    "mit_attribute": "M-A",
    "vaw_state": "V-S",
    "vaw_attribute": "V-A",
    "nyu_depth": "NYU",
    "fashion": "Fas",
    "mmbench": "MMB",
}
# Which of the paper's columns is State and which Attribute is open: those four are never compared.
CERTAIN = {name: label for name, label in DATASETS.items() if label in ("NYU", "Fas", "MMB")}
MODELS = models("parc")
KINDS = {
    ORIGINAL: "O",
    "lr_i": "LR-I",
    "lr_c": "LR-C",
    "lr_v": "LR-V",
    "ls_n": "LS-N",
    "ls_a": "LS-A",
    "ls_m": "LS-M",
    "vr_b": "VR-B",
    "vr_r": "VR-R",
    "vr_l": "VR-L",
    "vs_s": "VS-S",
    "vs_e": "VS-E",
}
FAMILIES = ("LR", "LS", "VR", "VS")
EVERY = "every_prompt"
NAMES = {
    "reliability": "rel",
    "accuracy_calibrated": "acc",
    "certainty": "cert",
    "consistency_calibrated": "cons",
}
UNCHANGED = "no variation of PARC was asked"


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


def _label(variation: str) -> str | None:
    """`vr_b_5` -> `VR-B 5`, `lr_i+vr_l` -> `LR-I/VR-L`; None for what is none of PARC's."""
    labels = []
    for part in variation.split("+"):
        base, _, level = part.rpartition("_")
        known = KINDS.get(part) or (f"{KINDS[base]} {level}" if level.isdigit() and base in KINDS else None)
        if known is None:
            return None
        labels.append(known)
    return "/".join(labels)


def asked_kinds(lookup: Lookup) -> dict[str, str]:
    """All of PARC's variations that were asked, with their labels, in the order of the paper."""
    asked = sorted(lookup.rows("reliability")["variation"].unique())
    labels = {name: label for name in asked if (label := _label(name))}
    if set(labels) <= {ORIGINAL}:
        raise Absent(UNCHANGED)
    order = [*KINDS.values()].index
    return dict(sorted(labels.items(), key=lambda each: (order(each[1].split("/")[0].split()[0]), each[1])))
