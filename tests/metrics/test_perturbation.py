"""What compares prompts of the same questions, computed by hand on a few of them.

Certainty: classes are merged where the answer is flipped, and only native options count.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.simulated import CONFIG, config, simulate
from vouch.metrics.compared import Compared
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.join import Block, VariationPrompts
from vouch.metrics.perturbation import PromptIndex, certainty, classes
from vouch.metrics.responses import NO_ROLE, Responses
from vouch.metrics.robustness import (
    OF_MEANS,
    Means,
    accuracy_range,
    calibrated,
    reliability,
    turn_correlation,
    turn_slope,
)
from vouch.prompts.draft import prompt_id
from vouch.tables import DONT_KNOW, NONE_OF_ABOVE
from vouch.tables.asked import COMPLEMENT, EFFECTS, ITEMS, KEPT, PROMPTS, SWAPPED
from vouch.tables.results import OUTCOMES, REFUSAL, UNPARSED

Rows = dict[tuple[str, str, str, str, str], dict[str, Any]]


class Asked:
    """Questions with k options each, and what a model said to their prompts."""

    def __init__(self, options: Sequence[int], turns: Sequence[int] = (), broken: Sequence[int] = ()) -> None:
        self.options = options
        self.items = [
            {
                "id": f"q{row}",
                "group": f"g{row}",
                "turns": [f"q{row}"] * (turns[row] - 1 if turns else 0),
                "flags": ["missing_option"] if row in broken else [],
            }
            for row in range(len(options))
        ]
        self.broken = broken
        self.prompts: list[dict[str, Any]] = []
        self.said: list[tuple[list[dict[str, Any]], list[str] | None]] = []

    def ask(
        self,
        variation: str,
        chosen: Sequence[Any],
        effect: str = KEPT,
        family: str = "",
        output: str = "letters",
        numbered: bool = False,
    ) -> "Asked":
        """chosen: for each item the option, or for texts what was generated; option 0 is the item's own answer.

        Several tests of an item stand in a tuple.
        """
        rows, words = [], []
        for item, answers in enumerate(chosen):
            for number, said in enumerate(answers if numbered else (answers,), start=1):
                name = f"q{item}/{variation}" + (f"/{number}" if numbered else "")
                native = list(range(self.options[item]))
                right = [0] if effect == KEPT else native[1:]
                if not any(prompt["id"] == name for prompt in self.prompts):
                    prompt = {"id": name, "item": f"q{item}", "variation": variation, "family": family}
                    self.prompts.append(prompt | {"effect": effect, "order": native, "answers": right})
                row = {"prompt": name, "item": f"q{item}", "group": f"g{item}", "variation": variation}
                row |= {"output": output} | _outcome(said, right)
                row["clean_correct"] = None if item in self.broken else float(row["correct"])
                rows.append(row)
                words.append(str(said))
        self.said.append((rows, words if output == "text" else None))
        return self

    def rows(self, given: Sequence[Responses] = ()) -> Rows:
        """Rows of METRICS by protocol, output, variation, score and metric. given: logits of each variation."""
        prompts = pa.Table.from_pylist(self.prompts, PROMPTS.schema)
        compared = Compared(prompts, pa.Table.from_pylist(self.items, ITEMS.schema), CONFIG)
        for place, (rows, words) in enumerate(self.said):
            answers = block(rows, given[place]) if given else words or []
            compared.add(pa.Table.from_pylist(rows, OUTCOMES.schema), answers)
        return {
            (row["protocol"], row["output"], row["variation"], row["score"], row["metric"]): row
            for row in compared.rows("m", "d")
        }


def block(rows: Sequence[dict[str, Any]], given: Responses) -> Block:
    """The logits behind rows of OUTCOMES."""
    prompts, items, groups = ([row[name] for row in rows] for name in ("prompt", "item", "group"))
    every = np.ones(len(rows), dtype=bool)
    shown = VariationPrompts(every, given.groups, given.defective, np.full(len(rows), ""))
    return Block(rows[0]["variation"], shown, given, prompts, items, groups, [KEPT] * len(rows))


def _outcome(said: Any, right: Sequence[int]) -> dict[str, Any]:
    """A text names an option by its number, several by a comma; `no` refuses, other words are unparsed."""
    if isinstance(said, int):
        return {"chosen": said, "predicted": said, "correct": said in right}
    if not said.replace(",", "").isdigit():
        return {"parser": REFUSAL if said == "no" else UNPARSED, "answer": "x", "correct": False}
    named = [int(one) for one in said.split(",")]
    single = named[0] if len(named) == 1 else None
    found = {"parser": "letter", "answer": said, "chosen": single, "predicted": single}
    return found | {"correct": any(one in right for one in named)}


def value(rows: Rows, metric: str, variation: str, output: str = "letters", score: str = "") -> Any:
    found = rows.get(("faithful", output, variation, score, metric))
    return None if found is None else pytest.approx(found["value"])


def test_consistency_is_the_relation_that_the_effect_demands() -> None:
    rows = (
        Asked([2, 2, 2, 2])
        .ask("original", [0, 0, 1, 1])
        .ask("lr_i", [0, 1, 1, 1], KEPT, "LR")
        .ask("ls_n", [1, 0, 1, 0], COMPLEMENT, "LS")
        .ask("vs_s", [1, 1, 0, 1], SWAPPED, "VS")
        .ask("ls_n+vs_s", [0, 0, 1, 0], KEPT, "LS+VS")
        .rows()
    )
    assert value(rows, "consistency", "original") is None
    assert value(rows, "consistency", "lr_i") == 0.75
    assert value(rows, "consistency", "ls_n") == 0.5
    assert value(rows, "consistency", "vs_s") == 0.75
    assert value(rows, "consistency", "ls_n+vs_s") == 0.75
    assert value(rows, "consistency_calibrated", "lr_i") == 0.5
    assert value(rows, "accuracy_calibrated", "original") == 0
    assert value(rows, "accuracy_calibrated", "vs_s") == 0.5
    assert value(rows, "consistency_calibrated", "", score="reformulation") == 0.5
    assert value(rows, "consistency_calibrated", "", score="semantic") == 0.25  # of 0 and 0.5
    assert value(rows, "consistency_calibrated", "", score="every_prompt") == (0.5 + 0 + 0.5) / 3
    # The original counts in the means of accuracy; combinations count in none.
    assert value(rows, "accuracy_calibrated", "", score="every_prompt") == (0 - 0.5 + 0 + 0.5) / 4
    assert value(rows, "accuracy_calibrated", "", score="vision") == 0.5


def test_guesses_rest_on_the_rows_at_hand() -> None:
    rows = Asked([2, 4, 5]).ask("original", [0, 0, 0]).ask("ls_n", [1, 1, 1], COMPLEMENT, "LS").rows()
    guess = (1 / 2 + 1 / 4 + 1 / 5) / 3
    assert value(rows, "random_accuracy", "original") == guess
    assert value(rows, "random_accuracy", "ls_n") == 1 - guess
    assert value(rows, "random_consistency", "ls_n") == 1 - guess
    assert value(rows, "random_consistency", "original") is None


def test_without_an_answer_to_the_original_a_prompt_counts_in_the_accuracy_alone() -> None:
    rows = Asked([2] * 3).ask("original", [0, 0]).ask("lr_i", [0, 0, 1], KEPT, "LR").rows()
    metrics = ("accuracy_calibrated", "consistency_calibrated")
    assert [rows["faithful", "letters", "lr_i", "", name]["items"] for name in metrics] == [3, 2]


def test_what_could_not_be_read_is_never_consistent_and_several_options_are_one_answer() -> None:
    rows = (
        Asked([3] * 5)
        .ask("original", ["0", "0,1", "??", "no", "0"], output="text")
        .ask("lr_i", ["0", "0,1", "??", "no", "0,1"], KEPT, "LR", "text")
        .ask("ls_n", ["??", "0,2", "1", "1", "no"], COMPLEMENT, "LS", "text")
        .rows()
    )
    assert value(rows, "consistency", "lr_i", "text") == 2 / 5
    assert value(rows, "consistency", "ls_n", "text") == 1 / 5


def test_single_options_are_counted() -> None:
    rows = Asked([1, 2, 2]).ask("original", [0, 0, 1]).rows()
    assert value(rows, "certainty_rows_skipped", "original") == 1


def test_defective_rows_are_in_the_faithful_reading_alone() -> None:
    rows = (
        Asked([2] * 4, broken=[3]).ask("original", [0, 0, 0, 1]).ask("lr_i", [0, 0, 1, 0], KEPT, "LR").rows()
    )
    assert value(rows, "consistency", "lr_i") == 0.5
    clean = rows["clean", "letters", "lr_i", "", "consistency"]
    assert (clean["value"], clean["items"]) == (pytest.approx(2 / 3), 3)
    assert clean["low"] < clean["value"] < clean["high"]
    assert rows["faithful", "letters", "lr_i", "", "consistency"]["low"] is None


def test_instability_counts_unread_words_one_by_one() -> None:
    said = [
        ("0",) * 5,
        ("0", "0", "1", "1", "1"),
        ("a?", "b?", "c?", "a?", "b?"),
        ("no", "a?", "0", "1", "2"),
    ]
    rows = Asked([3] * 4).ask("instruction", said, output="text", numbered=True).rows()
    entropies = [
        0.0,
        -(0.4 * log(0.4) + 0.6 * log(0.6)),
        -(0.8 * log(0.4) + 0.2 * log(0.2)),
        log(5),
    ]
    assert value(rows, "instability", "instruction", "text") == sum(entropies) / 4
    found = [value(rows, f"accuracy_test_{k}", "instruction", "text") for k in (1, 2, 3, 4, 5)]
    assert found == [0.5, 0.5, 0.5, 0.25, 0.25]
    assert value(rows, "accuracy_range", "instruction", "text") == 0.25


def test_an_option_is_the_same_answer_wherever_it_stands() -> None:
    """Letters of options in another order for each test: what was chosen counts, not its letter."""
    asked = Asked([3] * 2).ask("shuffled", [(0, 0, 0), (0, 1, 2)], numbered=True)
    for place, row in enumerate(asked.said[0][0]):
        row["predicted"] = (0, 1, 2, 1, 2, 0)[place]
    assert value(asked.rows(), "instability", "shuffled") == log(3) / 2


def test_accuracy_by_test_rests_on_questions_with_every_test() -> None:
    rows = Asked([2] * 3).ask("instruction", [(0, 0), (1, 0), (1,)], numbered=True).rows()
    assert value(rows, "accuracy_test_1", "instruction") == 0.5
    assert value(rows, "accuracy_test_2", "instruction") == 1.0
    assert value(rows, "accuracy_range", "instruction") == 0.5
    assert rows["faithful", "letters", "instruction", "", "instability"]["items"] == 2


def test_turns_of_a_conversation() -> None:
    """Each turn has the same weight, although the last conversation has one turn less."""
    turns = [1, 2, 3] * 4 + [1, 2]
    said = [0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0]
    rows = Asked([2] * 14, turns).ask("dialogue", said).rows()
    found = [value(rows, f"accuracy_turn_{k}", "dialogue") for k in (1, 2, 3)]
    assert found == [1.0, 0.6, 0.25]
    assert value(rows, "turn_slope", "dialogue") == -0.375
    assert value(rows, "turn_correlation", "dialogue") == np.corrcoef([1, 2, 3], [1, 0.6, 0.25])[0, 1]
    alone = Asked([2] * 3).ask("original", [0, 1, 0]).rows()
    assert not any(name[4].startswith(("turn_", "accuracy_turn")) for name in alone)


def test_gaps_between_read_outs_of_the_same_prompts() -> None:
    rows = (
        Asked([2] * 4)
        .ask("original", [0, 0, 0, 1])
        .ask("original", [0, 1, 1, 0], output="likelihood")
        .ask("original", ["0", "0", "no", "1"], output="text")
        .rows()
    )
    assert value(rows, "gap_to_likelihood", "original") == 0.25
    assert value(rows, "gap_to_text", "original") == 0.25
    assert value(rows, "gap_to_text", "original", "likelihood") == 0.0
    assert value(rows, "gap_to_text", "original", "text") is None


def test_preference_of_texts_for_places() -> None:
    asked = Asked([2, 3, 3, 3]).ask("original", ["0", "1", "1", "??"], output="text")
    for prompt, row in zip(asked.prompts, asked.said[0][0], strict=True):
        prompt["order"] = prompt["order"][::-1]  # which option stands there does not matter
        if row.get("predicted") is not None:
            row["chosen"] = prompt["order"][row["predicted"]]
    asked.prompts[2]["answers"] = [0, 2]  # half of an answer each
    rows = asked.rows()
    chosen, correct = (
        [value(rows, f"{kind}_share_{letter}", "original", "text") for letter in "ABC"]
        for kind in ("chosen", "correct")
    )
    assert (chosen, correct) == ([1 / 3, 2 / 3, 0], [2.5 / 3, 0, 0.5 / 3])
    assert value(rows, "letter_bias", "original", "text") == 2 / 3


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_cells_of_many_draws_are_those_of_each(means: list[float]) -> None:
    both = np.array([means, means[::-1]])
    for module in (accuracy_range, turn_slope, turn_correlation):
        found = module(both)
        for row, one in zip(both, found, strict=True):
            np.testing.assert_allclose(one, module(row), atol=1e-12)
    assert accuracy_range(both)[0] == max(means) - min(means)
    expected = np.polyfit(np.arange(len(means)), means, 1)[0]
    np.testing.assert_allclose(turn_slope(both)[0], expected, atol=1e-9)


def test_numbers_are_those_of_the_prompts_ids() -> None:
    prompts = [
        {"id": prompt_id(item, variation, number), "item": item, "variation": variation, "order": [0, 1]}
        for item, variation, number in (
            ("a/3", "original", None),
            ("a/3", "vr_b_5+tests", 12),
            ("b", "labels", 1),
        )
    ]
    items = [{"id": name, "group": name, "turns": [], "flags": []} for name in ("a/3", "b")]
    index = PromptIndex(*(pa.Table.from_pylist(r, t.schema) for r, t in ((prompts, PROMPTS), (items, ITEMS))))
    rows = [
        {
            "prompt": row["id"],
            "item": row["item"],
            "output": "letters",
            "chosen": 0,
            "correct": True,
            "predicted": 0,
        }
        for row in prompts
    ]
    found = index.predictions(pa.Table.from_pylist(rows, OUTCOMES.schema))
    assert found is not None
    assert found.tests.tolist() == [0, 12, 1]


UNIT = st.floats(0, 1)
BETWEEN = st.floats(0.01, 0.99)


def alone(function: object, *values: float) -> float:
    return float(function(*(np.array([value]) for value in values))[0])  # type: ignore[operator]


def test_equation_5_by_hand() -> None:
    assert alone(calibrated, 0.27, 0.27) == 0
    assert alone(calibrated, 1, 0.27) == 1
    assert alone(calibrated, 0, 0.27) == -1
    assert alone(calibrated, 0.635, 0.27) == pytest.approx(0.5)
    assert alone(calibrated, 0.365, 0.73) == pytest.approx(-0.5)
    assert alone(calibrated, 0.4, 0.2) == pytest.approx(0.25), "better than a guess, though below one half"
    assert alone(calibrated, 0.6, 0.8) == pytest.approx(-0.25), "worse than a guess, though above one half"


@pytest.mark.parametrize(
    ("accuracy", "random", "certainty", "expected"),
    [
        (0.31, 0.5, 0.41, 0.127),  # NYU, original: calibrated accuracies and certainties of table A6
        (0.57, 0.27, 0.73, 0.466),  # MMBench, original
        (0.14, 0.73, 0.38, 0.045),  # MMBench, negation
    ],
)
def test_reliability_of_printed_means(
    accuracy: float, random: float, certainty: float, expected: float
) -> None:
    raw = random + accuracy * (1 - random)
    assert alone(reliability, raw, random, certainty) == pytest.approx(expected, abs=0.001)


def test_every_measure_rests_on_its_own_means() -> None:
    """With a guess of 1/4 the power of equation 4 is 1/2: 2 x .9 - 1 of an accuracy of .81, half as certain."""
    known = {"accuracy": 0.81, "random_accuracy": 0.25, "certainty": 0.5, "consistency": 0.9}
    means = Means(**{name: np.array([each]) for name, each in {**known, "random_consistency": 0.6}.items()})
    assert {name: metric.of(means)[0] for name, metric in OF_MEANS.items()} == pytest.approx(
        {
            **{name: each for name, each in known.items() if name != "accuracy"},
            "random_consistency": 0.6,
            "accuracy_calibrated": 0.56 / 0.75,
            "consistency_calibrated": 0.3 / 0.4,
            "reliability": 0.4,
        }
    )


@pytest.mark.parametrize("random", [0.0, 1.0, np.nan])
def test_no_guess_no_reliability(random: float) -> None:
    assert np.isnan(alone(reliability, 0.5, random, 1))


@given(UNIT, BETWEEN)
def test_equation_5_keeps_its_range_and_its_sign(score: float, random: float) -> None:
    found = alone(calibrated, score, random)
    assert -1 <= found <= 1
    assert np.sign(found) == np.sign(score - random)


@given(UNIT, BETWEEN, UNIT)
def test_reliability_is_never_farther_from_0_than_certainty(
    accuracy: float, random: float, certainty: float
) -> None:
    found = alone(reliability, accuracy, random, certainty)
    assert abs(found) <= certainty + 1e-12
    if abs(accuracy - random) > 1e-9 and certainty > 1e-9:
        assert (found > 0) == (accuracy > random)


def rows(p: list[list[float]], right: list[list[int]], added: int = 0, dtype: type = np.float64) -> Responses:
    """Responses with these probabilities; NaN: no such letter. The last letters are the `added` ones."""
    found = np.array(p)
    present = ~np.isnan(found)
    options = present.sum(axis=1)
    answers = np.zeros(found.shape, dtype=bool)
    for row, places in enumerate(right):
        answers[row, places] = True
    roles = np.where(present, np.arange(found.shape[1]), NO_ROLE).astype(np.int32)
    for place in range(added):
        roles[np.arange(len(found)), options - 1 - place] = (DONT_KNOW, NONE_OF_ABOVE)[place]
    logits = np.where(present, np.log(np.where(present, found, 1)), -np.inf).astype(dtype)
    plain = simulate(0, len(found), found.shape[1])
    return replace(plain, logits=logits, answers=answers, roles=roles, letters=options, options=options)


def probabilities(found: Responses) -> list[list[float]]:
    p = np.exp(found.logits)
    p /= p.sum(axis=1, keepdims=True)
    return [[round(float(x), 9) for x in row[:k]] for row, k in zip(p, found.options, strict=True)]


def test_correct_options_of_a_turned_prompt_are_one_class() -> None:
    flipped = classes(rows([[0.1, 0.2, 0.3, 0.4]], [[0, 2, 3]]), COMPLEMENT)
    assert probabilities(flipped) == [[0.2, 0.8]]
    assert flipped.answers.tolist()[0][:2] == [False, True]
    two = classes(rows([[0.25, 0.75]], [[1]]), SWAPPED)
    assert probabilities(two) == [[0.25, 0.75]]
    # Two options were right before: both are classes of their own beside the merged one.
    three = classes(rows([[0.1, 0.2, 0.3, 0.4]], [[0, 3]]), COMPLEMENT)
    assert probabilities(three) == [[0.2, 0.3, 0.5]]


def test_added_options_count_neither_in_the_softmax_nor_as_classes() -> None:
    given = rows([[0.2, 0.2, 0.1, 0.5], [0.3, 0.1, 0.6, np.nan]], [[0], [1]], added=1)
    kept = classes(given, KEPT)
    assert kept.options.tolist() == [3, 2]
    assert probabilities(kept) == [[0.4, 0.4, 0.2], [0.75, 0.25]]
    assert probabilities(classes(given, COMPLEMENT)) == [[0.4, 0.2, 0.4], [0.75, 0.25]]


def test_certainty_by_hand_in_the_faithful_reading() -> None:
    """19 rows calibrate with 1 - p = 0.4 at the rank: letters with p >= 0.6 are kept, else the best."""
    settings = config(calibration=0.5, splits=5)
    count = 38
    p = np.tile([0.6, 0.3, 0.1], (count, 1))
    given = rows(p.tolist(), [[0]] * count)
    found = certainty(given, KEPT, "faithful", settings)
    assert np.isnan(found).sum() == 19
    assert (found[~np.isnan(found)] == 1).all()
    # The answer is the second option everywhere: threshold 0.7, sets of two of three classes.
    found = certainty(replace(given, answers=np.roll(given.answers, 1, axis=1)), KEPT, "faithful", settings)
    assert (found[~np.isnan(found)] == 0.5).all()
    # Merged, the two right ones are a class with p = 0.4: with the other one a set of both.
    flipped = replace(given, answers=~given.answers)
    found = certainty(flipped, COMPLEMENT, "faithful", settings)
    assert (found[~np.isnan(found)] == 0).all()


def test_a_negated_prompt_is_scored_with_its_right_options_as_one_class() -> None:
    """The rows by hand above, in the metrics: all but the first option are right once the question is negated."""
    count = 38
    asked = Asked([3] * count).ask("original", [0] * count).ask("ls_n", [1] * count, COMPLEMENT, "LS")
    given = rows([[0.6, 0.3, 0.1]] * count, [[0]] * count)
    found = asked.rows([given, replace(given, answers=~given.answers)])
    assert value(found, "certainty", "original") == 1
    assert value(found, "certainty", "ls_n") == 0
    assert found["faithful", "letters", "ls_n", "", "certainty"]["items"] == 19


def test_too_few_rows_give_sets_of_everything() -> None:
    given = rows([[0.9, 0.1]] * 8, [[0]] * 8)
    for protocol in ("faithful", "clean"):
        found = certainty(given, KEPT, protocol, config(splits=5))
        assert (found[~np.isnan(found)] == 0).all()


@pytest.mark.parametrize(("rows", "known"), [(10, False), (17, False), (18, True), (40, True)])
def test_no_certainty_if_a_threshold_is_infinite(rows: int, known: bool) -> None:
    values = certainty(simulate(1, rows), KEPT, "clean", CONFIG)
    assert np.isnan(values).all() != known


def test_a_single_option_has_no_certainty() -> None:
    given = rows([[0.9, 0.1]] * 40 + [[1.0, np.nan]], [[0]] * 41)
    for protocol in ("faithful", "clean"):
        assert np.isnan(certainty(given, KEPT, protocol, CONFIG)[-1])
    alone = rows([[1.0]] * 5, [[0]] * 5)
    assert np.isnan(certainty(alone, KEPT, "clean", CONFIG)).all()


def test_defective_rows_count_in_the_faithful_reading_alone() -> None:
    broken = simulate(3, 100)
    broken.defective[:50] = True
    assert np.isnan(certainty(broken, KEPT, "clean", CONFIG)[:50]).all()
    assert not np.isnan(certainty(broken, KEPT, "faithful", CONFIG)[:50]).all()


@given(st.integers(0, 10_000), st.sampled_from(EFFECTS), st.sampled_from(["faithful", "clean"]))
def test_certainty_stays_between_0_and_1(seed: int, effect: str, protocol: str) -> None:
    plain = simulate(seed, 30, letters=5 if effect != SWAPPED else 4)
    flipped = plain if effect == KEPT else replace(plain, answers=(plain.roles >= 0) & ~plain.answers)
    found = certainty(flipped, effect, protocol, config(splits=5))
    known = found[~np.isnan(found)]
    assert len(known)
    assert ((known >= 0) & (known <= 1)).all()


def test_the_clean_reading_averages_over_splits() -> None:
    """Against sets that are made split by split."""
    given = simulate(5, 200, copies=2)
    native = classes(given, KEPT)
    p = np.exp(native.logits[:, :4].astype(float))
    p /= p.sum(axis=1, keepdims=True)
    right = 1 - p[np.arange(200), native.answers.argmax(axis=1)]
    total, times = np.zeros(200), np.zeros(200)
    for calibrating in group_splits(given.groups, 0.5, CONFIG.seed, 50).calibrating():
        threshold = np.sort(right[calibrating])[90]  # ceil(101 x 0.9) = 91st smallest of 100
        sizes = np.maximum((1 - p <= threshold + 1e-12).sum(axis=1), 1)
        total += ~calibrating * (1 - (sizes - 1) / 3)
        times += ~calibrating
    np.testing.assert_allclose(certainty(given, KEPT, "clean", config(splits=50)), total / times, atol=1e-9)
