"""Metrics over several variations of the same questions: coverage under shift, and accuracy without letter bias.

The first sample of each numbered prompt, held against a computation of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.metrics.simulated import by_name, config, simulate
from vouch.metrics.compared import Compared, across_variations
from vouch.metrics.config import ScoreConfig
from vouch.metrics.conformal.figures import shift_figures
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.join import Block, VariationPrompts
from vouch.metrics.repeated_prompts import without_prior
from vouch.metrics.responses import Responses
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import text_blocks
from vouch.tables.answered import TEXT
from vouch.tables.asked import ITEMS, PROMPTS

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
    asked = VariationPrompts(
        np.ones(count, dtype=bool), responses.groups, responses.defective, np.full(count, "")
    )
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


LABELS = ["A", "B", "C"]
OPTIONS = ["a cat", "a dog", "a cow"]
SCORE = "first_t0.2"
Said = Mapping[tuple[int, int], Sequence[str | None]]  # samples by item and test, from 0 and from 1
Rows = dict[tuple[str, str, str, str], dict[str, Any]]


def order_of(item: int, test: int) -> list[int]:
    """Another order for every test: option 0 is right, wherever it stands."""
    return [[0, 1, 2], [2, 0, 1], [1, 2, 0]][(item + test) % 3]


def text_of(item: int, test: int, option: int) -> str:
    """A text that names an option by its mark in the order of the test."""
    return f"The answer is ({LABELS[order_of(item, test).index(option)]})"


def rows_of(
    said: Said,
    variation: str = "tests",
    references: Sequence[str] = (),
    temperatures: Sequence[float] = (0.2,),
    broken: Sequence[int] = (),
    settings: ScoreConfig | None = None,
) -> Rows:
    """Rows of METRICS of what compares prompts, by protocol, variation, score and metric.

    {item} in a reference stands for the number of the item.
    """
    prompts, texts = [], []
    for (item, test), samples in said.items():
        number = f"/{test}" if variation != "original" else ""
        order = [] if references else order_of(item, test)
        row: dict[str, Any] = {
            "id": f"q{item}/{variation}{number}",
            "item": f"q{item}",
            "variation": variation,
        }
        row |= {"outputs": ["text"], "order": order, "effect": "kept"}
        if not references:
            row |= {"labels": LABELS, "options": [OPTIONS[one] for one in order], "answers": [order.index(0)]}
        prompts.append(row)
        greedy = {"prompt": row["id"], "temperature": 0, "sample": 0, "logprobs": [-1.0], "entropies": [0.5]}
        texts.append(
            greedy | {"text": references[0].format(item=item) if references else text_of(item, test, 0)}
        )
        for place, temperature in enumerate(temperatures):
            for sample, text in enumerate(samples[place:], start=1):
                drawn = {"prompt": row["id"], "temperature": temperature, "sample": sample, "text": text}
                texts.append(drawn | ({"problem": "too long"} if text is None else {}))
    items: list[dict[str, Any]] = [
        {"id": f"q{item}", "group": f"g{item}", "kind": "text" if references else "choice", "turns": []}
        | {
            "category": "",
            "answers": [] if references else [0],
            "references": [one.format(item=item) for one in references],
        }
        | {"flags": ["missing_option"] if item in broken else []}
        for item in sorted({item for item, _ in said})
    ]
    settings = settings or config(parsers=["first_mark", "reader"])
    drawn_from, prompted, of_items = (
        pa.Table.from_pylist(found, table.schema)
        for found, table in ((texts[::-1], TEXT), (prompts, PROMPTS), (items, ITEMS))
    )
    compared = Compared(prompted, of_items, settings)
    for block in text_blocks(drawn_from, prompted, of_items, "here", False):
        _, outcomes = score_texts("m", "d", block, settings)
        assert pc.all(outcomes["correct"]).as_py() is not False
        compared.add(outcomes, block.texts)
        compared.add_samples(outcomes, block, "d")
    rows = compared.rows("m", "d")
    found = {(row["protocol"], row["variation"], row["score"], row["metric"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def entropy(answers: Sequence[object]) -> float:
    counts = Counter(answers).values()
    return -sum(n / len(answers) * log(n / len(answers)) for n in counts)


def value(rows: Rows, metric: str, protocol: str = "faithful", score: str = SCORE) -> tuple[Any, int]:
    row = rows[protocol, "tests", score, metric]
    return pytest.approx(row["value"]), row["items"]


def test_instability_and_accuracy_are_those_of_one_sample_of_each_test() -> None:
    """Any option, a mark that no option has, refusals and words: as the authors count them, item by item."""
    random = Random(0)
    said: dict[tuple[int, int], list[str]] = {}
    answers: dict[int, list[object]] = defaultdict(list)
    for item in range(40):
        for test in range(1, 6):
            option = random.choice([0, 0, 1, 2, None])
            words = random.choice(["I cannot say", "what?", "(Z)"])
            first = words if option is None else text_of(item, test, option)
            # Further samples are of another kind of figure: they must not count.
            said[item, test] = [first, text_of(item, test, 1), "something else"]
            answers[item].append(first if option is None else option)
    rows = rows_of(said)
    own = [entropy(each) for each in answers.values()]
    assert value(rows, "instability") == (sum(own) / 40, 40)
    right = [[one == 0 for one in each] for each in answers.values()]
    assert value(rows, "accuracy") == (sum(map(sum, right)) / 200, 200)
    by_test = [sum(each[test] for each in right) / 40 for test in range(5)]
    for test, mean in enumerate(by_test, start=1):
        assert value(rows, f"accuracy_test_{test}") == (mean, 40)
    assert value(rows, "accuracy_range") == (max(by_test) - min(by_test), 200)
    # The greedy texts of the same prompts are all right, and keep figures of their own.
    assert value(rows, "instability", score="") == (0, 40)
    clean = rows["clean", "tests", SCORE, "instability"]
    assert clean["low"] < clean["value"] < clean["high"]
    accuracy = rows["clean", "tests", SCORE, "accuracy"]
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]
    assert rows["faithful", "tests", SCORE, "accuracy"]["low"] is None


def test_a_prompt_without_samples_and_fewer_tests_count_by_what_is_there() -> None:
    said: dict[tuple[int, int], list[str | None]] = {
        (0, 1): [text_of(0, 1, 0)], (0, 2): [text_of(0, 2, 1)], (0, 3): [],
        (1, 1): [text_of(1, 1, 0)], (1, 2): [text_of(1, 2, 0)], (1, 3): [text_of(1, 3, 0)],
        (2, 1): [text_of(2, 1, 1)],
        (3, 1): [None, text_of(3, 1, 0)], (3, 2): [text_of(3, 2, 2)],
        (4, 1): [], (4, 2): [None],
    }  # fmt: skip
    rows = rows_of(said)
    # A question with one answered test has no instability; the second sample stands in for one that failed.
    assert value(rows, "instability") == ((log(2) + 0 + log(2)) / 3, 3)
    assert value(rows, "accuracy") == (5 / 8, 8)
    assert value(rows, "accuracy_test_1") == (1, 1), "only item 1 has every test"


def test_open_answers_are_graded_by_the_metrics_of_their_dataset() -> None:
    settings = config(answers={"d": ["anls", "exact_match"]})
    said = {(0, 1): ["STOP"], (0, 2): ["stop"], (0, 3): ["stpo"], (0, 4): ["go"]}
    rows = rows_of(said, references=["stop"], settings=settings)
    assert value(rows, "accuracy") == value(rows, "anls") == ((1 + 1 + 0 + 0) / 4, 4)
    assert value(rows, "exact_match") == (0.5, 4)
    assert value(rows, "instability") == (entropy(["stop", "stop", "stpo", "go"]), 1)


def test_captions_have_their_own_metric_and_no_accuracy() -> None:
    said = {(item, 1): [f"a cat on mat {item}"] for item in range(3)}
    settings = config(answers={"d": ["cider_d", "bleu_1"]})
    rows = rows_of(said, references=["a cat on rug {item}"], settings=settings, broken=[2])
    assert ("faithful", "tests", SCORE, "accuracy") not in rows
    assert value(rows, "cider_d")[1] == 3
    assert value(rows, "bleu_1") == (pytest.approx(4 / 5), 3)
    assert value(rows, "bleu_1", "clean") == (pytest.approx(4 / 5), 2)


def test_defective_questions_are_in_the_faithful_reading_alone() -> None:
    said = {(item, test): [text_of(item, test, item % 2)] for item in range(4) for test in (1, 2)}
    rows = rows_of(said, broken=[3])
    assert value(rows, "accuracy") == (0.5, 8)
    assert value(rows, "accuracy", "clean") == (4 / 6, 6)
    assert value(rows, "instability", "clean") == (0, 3)


def test_every_temperature_has_figures_of_its_own() -> None:
    said = {
        (item, test): [text_of(item, test, 0), text_of(item, test, test - 1)]
        for item in range(3)
        for test in (1, 2)
    }
    rows = rows_of(said, temperatures=(0.2, 0.75))
    assert value(rows, "accuracy") == (1, 6)
    assert value(rows, "accuracy", score="first_t0.75") == (0.5, 6)
    assert value(rows, "instability", score="first_t0.75") == (log(2), 3)


@pytest.mark.parametrize("variation", ["tests", "original"])
def test_nothing_where_no_sample_was_drawn_or_prompts_have_no_number(variation: str) -> None:
    drawn = [text_of(0, 1, 0)] * 2 if variation == "original" else []
    rows = rows_of({(0, 1): drawn, (1, 1): drawn}, variation)
    assert {score for _, _, score, _ in rows if score.startswith("first")} == set()
