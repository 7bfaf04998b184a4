"""Metrics over several variations of the same questions: coverage under shift, and accuracy without letter bias."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.metrics.simulated import by_name, config, simulate
from vouch.metrics.compared import across_variations
from vouch.metrics.conformal.figures import shift_figures
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.join import Asked, Block
from vouch.metrics.repeated_prompts import without_prior
from vouch.metrics.responses import Responses

CONFIG = config(scores=["lac", "aps", "margin"], splits=100)


def across(blocks: list[Block]) -> list[dict[str, Any]]:
    """Figures of the clean protocol with their variations."""
    return [
        {"variation": name} | vars(figure)
        for name, figure in across_variations({each.variation: each for each in blocks}, CONFIG)
    ]


def block(responses: Responses, variation: str = "original", names: list[str] | None = None) -> Block:
    """Responses as a block; items are numbered unless named."""
    count = len(responses)
    items = names or [f"{row:05d}" for row in range(count)]
    asked = Asked(np.ones(count, dtype=bool), responses.groups, responses.defective, np.full(count, ""))
    groups = [f"g{number:05d}" for number in responses.groups]
    prompts = [f"{name}/{variation}" for name in items]
    return Block(variation, asked, responses, prompts, items, groups, ["kept"] * count)


PLAIN = simulate(1, 1000, step=1e-9, dtype=np.float64, copies=2)


def test_the_same_answers_break_nothing() -> None:
    found = by_name(shift_figures(block(PLAIN), block(PLAIN, "vr_b"), CONFIG))
    for score in CONFIG.scores:
        assert found[score, "shift_coverage"].value == pytest.approx(0.9, abs=0.005)
        assert found[score, "threshold_drift"].value == 0
        assert found[score, "shift_broken"].value == 0


def test_blind_answers_break_coverage_and_raise_the_threshold() -> None:
    other = simulate(2, 1000, step=1e-9, dtype=np.float64, copies=2)
    blind = replace(PLAIN, logits=other.logits * 2)  # sure, and of other answers
    found = by_name(shift_figures(block(PLAIN), block(blind, "blank"), CONFIG))
    assert found["lac", "shift_coverage"].value < 0.8
    assert found["lac", "shift_broken"].value == 1
    assert found["lac", "threshold_drift"].low > 0.01
    assert found["lac", "shift_set_size"].value < 6


def test_halves_are_those_of_the_groups_whatever_rows_are_missing() -> None:
    """The thresholds of the plain prompts do not hang on which rows of the variation were answered."""
    some = np.arange(1000) % 3 > 0
    names = [f"{row:05d}" for row in np.flatnonzero(some)]
    whole = by_name(shift_figures(block(PLAIN), block(PLAIN, "vr_b"), CONFIG))
    part = by_name(shift_figures(block(PLAIN), block(PLAIN.take(some), "vr_b", names), CONFIG))
    assert part["lac", "shift_coverage"].items == some.sum()
    assert part["lac", "shift_coverage"].value == pytest.approx(
        whole["lac", "shift_coverage"].value, abs=0.02
    )
    late = np.arange(1000) >= 990
    few = by_name(shift_figures(block(PLAIN.take(late)), block(PLAIN.take(late), "vr_b"), CONFIG))
    assert few == {}  # five groups: no finite threshold


def test_defective_rows_take_no_part() -> None:
    broken = np.arange(1000) < 200
    marked = replace(PLAIN, defective=broken)
    noise = replace(marked, logits=np.where(broken[:, None], 0.0, PLAIN.logits))
    assert shift_figures(block(noise), block(noise, "vr_b"), CONFIG) == shift_figures(
        block(marked), block(marked, "vr_b"), CONFIG
    )


def rotated(seed: int, pull: float) -> tuple[Block, float]:
    """Questions of four options in every rotation, and the accuracy without the pull towards A."""
    random = np.random.RandomState(seed)
    belief = random.standard_normal((200, 4))
    right = random.randint(0, 4, 200)
    belief[np.arange(200), right] += 1
    order = (np.arange(4)[None] + np.arange(4)[:, None]) % 4  # [rotation, letter] -> option
    logits = belief[:, order].reshape(800, 4)
    logits[:, 0] += pull
    roles = np.tile(order, (200, 1)).astype(np.int32)
    base = simulate(0, 800, 4, copies=4)
    rows = replace(base, logits=logits, roles=roles, answers=roles == np.repeat(right, 4)[:, None])
    names = [f"{row // 4:05d}" for row in range(800)]
    return block(rows, "circular", names), float((belief.argmax(axis=1) == right).mean())


def test_rotations_take_out_the_pull_of_a_letter() -> None:
    asked, free = rotated(3, 2.0)
    row, divided = across([asked])
    assert (row["variation"], row["metric"], row["items"]) == ("circular", "accuracy_debiased", 200)
    biased = (asked.responses.logits.argmax(axis=1) == asked.responses.answers.argmax(axis=1)).mean()
    assert biased < free - 0.08
    assert row["value"] == pytest.approx(free, abs=0.03)
    assert row["low"] < row["value"] < row["high"]
    plain = across([rotated(3, 0.0)[0]])
    assert plain[0]["value"] == free
    # With every rotation in the calibration half the prior is the pull, to the last digits.
    assert (divided["variation"], divided["metric"]) == ("circular", "accuracy_debiased_prior")
    assert divided["value"] == pytest.approx(plain[1]["value"]) == pytest.approx(free, abs=0.02)
    assert divided["low"] < divided["value"] < divided["high"]


def test_a_question_without_all_its_rotations_does_not_count() -> None:
    asked, _ = rotated(3, 2.0)
    kept = np.arange(800) != 5
    names = [name for name, keep in zip(asked.items, kept, strict=True) if keep]
    row, _ = across([block(asked.responses.take(kept), "circular", names)])
    assert row["items"] == 199


def test_two_orders_are_averaged_too() -> None:
    asked, _ = rotated(4, 2.0)
    first, third = np.arange(800) % 4 == 0, np.arange(800) % 4 == 2
    sides = [
        block(asked.responses.take(each), name)
        for each, name in ((first, "original"), (third, "option_order"))
    ]
    found = [row for row in across(sides) if row["metric"] == "accuracy_debiased"]
    p = [
        np.exp(side.responses.logits) / np.exp(side.responses.logits).sum(1, keepdims=True) for side in sides
    ]
    mean = p[0] + p[1][:, [2, 3, 0, 1]]
    right = (mean.argmax(1) == sides[0].responses.answers.argmax(1)).mean()
    assert [(row["variation"], row["value"]) for row in found] == [("original", pytest.approx(right))]


def test_without_plain_prompts_nothing_is_compared() -> None:
    assert across([block(PLAIN, "blank"), block(PLAIN, "vr_b")]) == []


def by_loop(told: Responses, splits: int, share: float) -> float:
    """PriDe, one question after the other; four native letters, groups of consecutive rows."""
    drawn = group_splits(told.groups, share, CONFIG.seed, splits).calibrating()
    logits = told.logits.astype(float)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    accuracies = []
    for calibrating in drawn:
        priors = []
        for group in set(told.groups[calibrating].tolist()):
            mean = np.log(p[told.groups == group, :4]).mean(axis=0)
            priors.append(np.exp(mean) / np.exp(mean).sum())
        moved = p.copy()
        moved[:, :4] /= 4 * np.mean(priors, axis=0)
        right = told.answers[np.arange(len(p)), moved.argmax(axis=1)]
        accuracies.append(right[~calibrating].mean())
    return float(np.mean(accuracies))


def test_the_prior_is_that_of_a_loop() -> None:
    loved = replace(PLAIN, logits=np.asfortranarray(PLAIN.logits + np.array([3.0, 0, 0, 0, 0, 0])))
    config = CONFIG.model_copy(update={"splits": 7, "calibration": 0.3})
    name, found = without_prior({"original": block(loved)}, config) or ("", None)
    assert name == "original" and found is not None
    assert found.value == pytest.approx(by_loop(loved, 7, 0.3))


def test_a_prior_needs_letters_and_rows() -> None:
    assert without_prior({"original": replace(block(PLAIN), output="likelihood")}, CONFIG) is None
    assert without_prior({"vr_b": block(PLAIN)}, CONFIG) is None
    nothing = replace(PLAIN, defective=np.ones(1000, dtype=bool))
    assert without_prior({"original": block(nothing)}, CONFIG) is None
