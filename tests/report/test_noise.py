"""Models that only guess, on twelve questions: which intervals may be shown, and that pages show no others.

A guess depends on nothing but chance: no accuracy differs from that of guessing, no change from 0. WORLDS=160
in the environment gives the rates of docs/small-data.md.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.metrics.simulated import config
from tests.report.project import Made, Make, parts
from vouch.metrics.compared import Compared
from vouch.metrics.comparison.leaderboard import variations
from vouch.metrics.join import join
from vouch.metrics.tables import score_block
from vouch.report.gates import HOLD_FOR_FEW, MINIMUM, interval_holds
from vouch.report.page import Section
from vouch.report.site import OWN
from vouch.report.table_files import columns_of
from vouch.tables.answered import LETTERS as ANSWERS
from vouch.tables.asked import ITEMS, LETTERS, ORIGINAL, PROMPTS

WORLDS = int(os.environ.get("WORLDS", "24"))
QUESTIONS, OPTIONS = 12, 4
CHANGES = {"option_order": 0.8, "blank": 0.0}
"""Variations, and how much of the original logits they keep."""
CHANCE = dict.fromkeys(
    ("accuracy", "accuracy_debiased", "correct_without_image", "selective_accuracy_80"), 1 / OPTIONS
)
NOTHING = ("uncertainty_gain", "image_gain", "ece", "letter_bias")
"""Metrics that are 0 if nothing is there: their intervals exclude it."""


def _prompts(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for variation in (ORIGINAL, *CHANGES):
        order = list(range(OPTIONS))[:: -1 if variation == "option_order" else 1]
        for item in items:
            yield {
                **{"id": f"{item['id']}/{variation}", "item": item["id"], "variation": variation},
                **{"family": variation, "effect": "kept", "order": order, "labels": list("ABCD")},
                **{"options": [item["options"][index] for index in order], "outputs": [LETTERS]},
                **{"answers": [order.index(item["answers"][0])], "template": "plain"},
            }


def _answers(random: np.random.Generator, items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Logits that do not depend on the answer."""
    base = random.standard_normal((len(items), OPTIONS))
    for variation in (ORIGINAL, *CHANGES):
        kept = CHANGES.get(variation, 1.0)
        logits = 1.5 * (kept * base + (1 - kept**2) ** 0.5 * random.standard_normal(base.shape))
        for item, own in zip(items, logits, strict=True):
            shown = own[::-1] if variation == "option_order" else own
            yield {"prompt": f"{item['id']}/{variation}", "logits": shown.tolist()}


def noise(seed: int) -> list[Mapping[str, Any]]:
    """Rows of the clean protocol of METRICS, and of VARIATIONS, whose metric begins with `change of `."""
    random = np.random.default_rng(seed)
    items = [
        {"id": f"q{at:02d}", "group": f"g{at:02d}", "kind": "choice", "question": "?", "images": ["x"]}
        | {"options": ["a", "b", "c", "d"], "answers": [int(random.integers(OPTIONS))], "category": ""}
        for at in range(QUESTIONS)
    ]
    asked = (
        pa.Table.from_pylist(list(_prompts(items)), PROMPTS.schema),
        pa.Table.from_pylist(items, ITEMS.schema),
    )
    letters = pa.Table.from_pylist(list(_answers(random, items)), ANSWERS.schema)
    scoring = config(splits=20)
    compared = Compared(*asked, scoring)
    rows: list[dict[str, Any]] = []
    outcomes: list[pa.Table] = []
    for block in join(letters, *asked, "letters", False):
        own, table = score_block("ant", "noise", block, scoring)
        compared.add(table, block)
        rows, outcomes = rows + own, [*outcomes, table]
    costs = variations(pa.concat_tables(outcomes), 1, 200)
    changes = [
        row | {"metric": f"change of {row['metric']}", "value": row["difference"]}
        for row in costs
        if row["metric"] in ("accuracy", "confidence")
    ]
    return [*(row for row in rows + compared.rows("ant", "noise") if row["protocol"] == "clean"), *changes]


@pytest.fixture(scope="module")
def missed() -> dict[str, float]:
    """By metric, the share of intervals that exclude the value of a guess: CHANCE, else 0."""
    missed, counted = Counter[str](), Counter[str]()
    for seed in range(WORLDS):
        for row in noise(seed):
            if row["low"] is not None and row["high"] > row["low"]:
                counted[row["metric"]] += 1
                true = CHANCE.get(row["metric"], 0.0)
                missed[row["metric"]] += not row["low"] <= true <= row["high"]
    return {metric: missed[metric] / count for metric, count in counted.items()}


@pytest.mark.parametrize("metric", [*CHANCE, "change of accuracy"])
def test_intervals_that_are_shown_hold_on_twelve_questions(metric: str, missed: dict[str, float]) -> None:
    assert interval_holds(metric.removeprefix("change of "), QUESTIONS)
    assert missed[metric] <= 0.08


@pytest.mark.parametrize("metric", NOTHING)
def test_others_would_claim_too_much_and_are_not_shown(metric: str, missed: dict[str, float]) -> None:
    assert missed[metric] > 0.2
    assert not interval_holds(metric, MINIMUM - 1) and interval_holds(metric, MINIMUM)


SHARES = (
    "Accuracy",
    "Still correct",
    "Most confident",
    "Unparsed",
    "Refused",
    "Several",
    "Difference",
    "Debiased",
)
"""How the labels of columns begin that keep their intervals."""


@pytest.mark.parametrize("output", ["letters", "text"])
def test_no_page_claims_anything_of_few_questions(make: Make, output: str) -> None:
    """No bold, no colour, and intervals of shares only, whatever the numbers are."""
    variants = ("original", "blank", "vr_b_5")
    evidence = make(Made(variations=variants, categories=("big", "small"), outputs=(output,)))
    groups = [f"g{number}" for number in range(QUESTIONS)]
    evidence = replace(evidence, items=evidence.items[evidence.items["group"].isin(groups)])
    wrong, shown = [], 0
    for section in (each for each in OWN.sections if each.page not in ("datasets", "provenance")):
        view = section.build(evidence)
        grids = [grid for part in (parts(view) if isinstance(view, Section) else ()) for grid in part.grids]
        for grid in grids:
            cells = [cell for row in grid.rows for cell in row]
            ends = [name.removesuffix(", low") for name in columns_of(grid) if name.endswith(", low")]
            tones = {cell.tone or cell.shade for cell in cells} - {"", "quiet"}
            wrong += [(grid.caption, each) for each in (*tones, *ends) if not each.startswith(SHARES)]
            shown += len(ends)
    assert not wrong and shown


def test_what_holds_is_declared() -> None:
    """A name that no metric has would hide an interval in silence."""
    from vouch.metrics.metric import find

    assert all(find(name) or name in ("flipped", "not_flipped") for name in HOLD_FOR_FEW)
