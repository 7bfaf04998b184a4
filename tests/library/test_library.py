"""The functions for arrays of one's own: doctests, agreement with the pipeline's protocol, bad input, recipes."""

import doctest
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

import vouch
from tests.docs.page import blocks
from vouch.library import calibration, check, comparison, estimates, ranking, scores, sets
from vouch.metrics.config import ScoreConfig
from vouch.metrics.protocols import clean

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(7)
ANSWERS = RNG.integers(0, 4, 600)
LOGITS = RNG.normal(size=(600, 4)) + 1.5 * (ANSWERS[:, None] == np.arange(4))
GROUPS = np.arange(600) // 3
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
CORRECT = (LOGITS.argmax(axis=1) == ANSWERS).astype(float)
OTHERS = "pandas pyarrow pydantic torch transformers yaml dvc rapidfuzz filelock jinja2 PIL datasets"


def test_the_examples_run() -> None:
    modules = (calibration, comparison, estimates, ranking, scores, sets)
    assert sum(doctest.testmod(module).attempted for module in modules) > 40
    assert not any(doctest.testmod(module).failed for module in modules)


def test_the_library_needs_numpy_and_scipy_only(tmp_path: Path) -> None:
    """Logs as JSON and tables as CSV too. In a process of its own, which does not find the other packages."""
    log, table = tmp_path / "samples_t.jsonl", tmp_path / "scores.csv"
    log.write_text('{"doc_id": 0, "target": "1", "resps": [[[-1.0, false]], [[-0.5, true]]], "acc": 1.0}')
    table.write_text("item,model,score\n1,a,1\n1,b,0\n2,a,1\n2,b,1\n")
    script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(OTHERS.split())!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
import vouch
from tests.docs.page import blocks
assert "numpy" not in sys.modules
print(vouch.prediction_sets({LOGITS[:90].tolist()}, {ANSWERS[:90].tolist()}), *map(vouch.__getattr__, vouch.__all__))
assert vouch.from_log({str(log)!r}).answers.tolist() == [1]
assert vouch.compare_scores({str(table)!r}).pairs[0].difference.value == 0.5
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_sets_and_calibration_are_those_of_the_clean_protocol() -> None:
    config = ScoreConfig(alpha=0.1, calibration=0.5, seed=0, splits=100, bins=15)
    rows = sets.responses(LOGITS, ANSWERS[:, None] == np.arange(4), GROUPS, 0)
    figures = {(f.score, f.metric): (f.value, f.low, f.high) for f in clean(rows, config).figures}
    for score in ("lac", "aps"):
        found = vouch.prediction_sets(LOGITS, ANSWERS, score=score, groups=GROUPS)
        for metric in ("coverage", "set_size", "singleton_rate", "empty_rate"):
            assert tuple(getattr(found, metric)) == figures[score, metric]
    assert tuple(found.accuracy) == figures["", "accuracy"]
    error = vouch.calibration_error(P, CORRECT, groups=GROUPS)
    assert error.ece.value == pytest.approx(figures["", "ece"][0], abs=1e-12)
    scaled = vouch.temperature(LOGITS, ANSWERS, groups=GROUPS)
    assert scaled.ece_after.value == pytest.approx(figures["", "ece_scaled"][0], abs=1e-12)


def test_tensors_lists_and_arrays_are_alike_and_results_print_and_become_tables() -> None:
    tensor = torch.tensor(LOGITS, dtype=torch.float64, requires_grad=True)
    found = vouch.prediction_sets(LOGITS, ANSWERS)
    assert found == vouch.prediction_sets(tensor, torch.tensor(ANSWERS))
    assert found == vouch.prediction_sets(LOGITS.tolist(), ANSWERS.tolist())
    assert repr(found).startswith("PredictionSets(score='lac', alpha=0.1, rows=600, coverage=0.9")
    assert list(found.to_frame().columns) == ["value", "low", "high"]


def test_sets_of_new_questions_use_the_threshold_of_all_rows() -> None:
    found = vouch.prediction_sets(LOGITS, ANSWERS, score="aps")
    assert (found.of(LOGITS) == found.sets).all() and found.sets.any(axis=1).all()
    assert vouch.coverage(found.sets, ANSWERS).value >= 0.9
    few = vouch.prediction_sets(LOGITS[:8], ANSWERS[:8])
    assert few.threshold == np.inf and few.sets.all() and "threshold=inf" in repr(few)
    shorter = np.where(np.arange(4) < 3 + np.arange(600)[:, None] % 2, LOGITS, -np.inf)
    answers = np.where(np.isfinite(shorter[np.arange(600), ANSWERS]), ANSWERS, 0)
    assert not vouch.prediction_sets(shorter, answers).sets[::2, 3].any(), "an option that is not there"


@pytest.mark.parametrize("score", ["lac", "aps", "margin", "aps_randomised", "raps", "saps", "aps_crossing"])
def test_a_question_has_the_same_set_alone_and_among_others(score: str) -> None:
    found = vouch.prediction_sets(LOGITS, ANSWERS, score=score, splits=2, alpha=0.2)
    new = np.random.default_rng(8).normal(size=(60, 4))
    together = found.of(new)
    assert (np.vstack([found.of(row[None]) for row in new]) == together).all()
    assert (found.of(new[::-1])[::-1] == together).all()
    wider = np.column_stack([new, np.full(60, -np.inf)])
    assert (found.of(wider)[:, :4] == together).all() and (found.of(LOGITS) == found.sets).all()
    names = [f"q{row}" for row in range(60)]
    named = found.of(new, ids=names)
    assert (np.vstack([found.of(new[i : i + 1], ids=names[i : i + 1]) for i in range(60)]) == named).all()


def test_random_terms_are_uniform_and_hang_on_the_seed() -> None:
    logits, names = np.random.default_rng(9).normal(size=(4000, 3)), list(map(str, range(4000)))
    draws = [sets.noise(logits, 0, None), sets.noise(logits, 1, None), sets.noise(logits, 0, names)]
    assert all(stats.kstest(draw, "uniform").pvalue > 0.01 for draw in draws)
    assert abs(np.corrcoef(draws)[np.triu_indices(3, 1)]).max() < 0.06
    assert sets.noise(np.array([[0.0, 1.0]]), 0, None) == sets.noise(
        np.array([[-0.0, 1.0, -np.inf]]), 0, None
    )


def shifted(features: Any, new: Any) -> Any:
    return vouch.weighted_sets(LOGITS[:2], ANSWERS[:2], features, LOGITS[:1], new)


def choose(original: Any) -> Any:
    return vouch.robustness(original, [0, 0], [0, 0], options=[4, 2])


def raps(**settings: Any) -> Any:
    return vouch.prediction_sets(LOGITS, ANSWERS, score="raps", settings=settings)


def entropy(**more: Any) -> Any:
    return vouch.semantic_entropy([["a", "b"]], **more)


def ranked(first: Any, second: Any, **more: Any) -> Any:
    return vouch.rank_without_labels({"a": first, "b": second}, **more)


MASKED = np.ma.array([0.5, 0.5], mask=[False, True])
GREY = np.zeros((8, 8, 3), np.uint8)
REFUSED_CALLS: list[tuple[Any, str]] = [
    (lambda: vouch.prediction_sets([[1, np.nan]], [0]), "row 0 has NaN"),
    (lambda: vouch.prediction_sets([[1.0, 2.0]], [2]), "row 0 is 2; give indices 0 to 1"),
    (lambda: vouch.prediction_sets([[1.0, 2.0]], [0]), "cannot be split"),
    (lambda: vouch.prediction_sets(LOGITS, ANSWERS[:5]), "they must fit"),
    (lambda: vouch.prediction_sets(LOGITS, ANSWERS, score="best"), "score 'best' is unknown"),
    (lambda: vouch.prediction_sets([[-np.inf, 1.0]] * 4, [1] * 4), "put it last"),
    (lambda: vouch.prediction_sets([[1, 2], [1]], [0, 0]), "logits: rows differ in length; fill with -inf"),
    (lambda: vouch.prediction_sets(LOGITS, list("DA")), "answers: row 0 is 'D'; give indices 0 to 3"),
    (lambda: vouch.prediction_sets(LOGITS, ANSWERS == 0), "answers are indices, not whether correct"),
    (lambda: vouch.prediction_sets(LOGITS, [True, 2] * 300), "answers: row 0 is True; answers are indices"),
    (lambda: vouch.prediction_sets(LOGITS, ANSWERS, groups=[0, np.nan]), "groups: row 1 has no group"),
    (lambda: vouch.prediction_sets(LOGITS, ANSWERS, ids=["q"] * 600), "ids: row 1 has the name of row 0"),
    (lambda: vouch.prediction_sets(LOGITS, ANSWERS, seed=[[1]]), r"seed is \[\[1\]\]; give a number"),
    (lambda: vouch.prediction_sets([[0, -(2**60)]] * 9, [0] * 9), "logits: row 0 has -1152921504606846976, .* rounded"),
    (lambda: vouch.prediction_sets([[1.0, np.ma.masked]] * 9, [0] * 9), "logits: row 0 is masked"),
    (lambda: vouch.prediction_sets(open(__file__), ANSWERS), "logits: .*; give a list or an array|logits: shape"),  # noqa: SIM115
    (lambda: raps(penalty=np.nan), "settings: raps penalty is nan"),
    (lambda: raps(k_reg=1.5), "k_reg is 1.5; give a whole"),
    (lambda: raps(penalty=-5), "raps penalty is -5; it must lie"),
    (lambda: raps(k=2), "settings: raps has no 'k'; its parameters: penalty, k_reg"),
    (lambda: vouch.prediction_sets(LOGITS, ANSWERS, settings=(0.1, 2, 0.2)), "settings is .*; give parameters by name"),
    (lambda: vouch.coverage([[0.5, 1]], [0]), r"sets: row 0 is \[0.5, 1.0\]; give True or False"),
    (lambda: vouch.coverage([[0, 1]], [[0, 2]]), r"answers: row 0 is \[0, 2\]; give True or False"),
    (lambda: vouch.coverage([MASKED > 0, [1, 1]], [0, 0]), "sets: row 0 is masked"),
    (lambda: shifted([[0.0], [np.nan]], [[1.0]]), "^features: row 1 has NaN or infinity"),
    (lambda: shifted([[0.0], [1e200]], [[1.0]]), "features: row 1 .* scale"),
    (lambda: shifted([[0.0], [1.0]], [[1.0, 2.0]]), "new_features: 2 columns, features 1"),
    (lambda: shifted([[], []], [[]]), "features: shape .2, 0."),
    (lambda: vouch.calibration_error([[0.9, -5.0]], [1]), "probabilities: row 0 has numbers outside"),
    (lambda: vouch.calibration_error([[0.9, 0.9, 0.9]], [1]), "probabilities: row 0 sums to 2.7, more than 1"),
    (lambda: vouch.calibration_error(MASKED, [1, 1]), "probabilities: row 1 is masked; leave the row out"),
    (lambda: vouch.temperature(np.zeros((20, 3)), [0] * 20).scale([[1, 2, 3]]), "no temperature was found"),
    (lambda: vouch.temperature([[1.0, 2.0]], [1]), "groups: 1, which cannot be split .* each row is one"),
    (lambda: vouch.image_information([[1, 0]], [[1, -np.inf]]), "without: row 0 has not the options"),
    (lambda: vouch.compare([1, 0], [1]), "correct_b: 1 rows, but correct_a has 2"),
    (lambda: vouch.compare(["C", "I"], [1, 0]), "correct_a: row 0 is 'C'; give 1 or 0"),
    (lambda: vouch.compare([1, 0], [1, 0], resamples=0), "resamples is 0; it must lie between 1 and"),
    (lambda: choose([0, 4]), "original: row 1 is 4; give indices 0 to 1"),
    (lambda: vouch.power(100, wanted=0.3), "wanted is 0.3, above discordant, 0.2"),
    (lambda: vouch.power(10**400), "questions is 1.*; it must lie between 1 and"),
    (lambda: vouch.power(100, wanted=1e-200), "wanted is 1e-200; it must lie between 1e-06 and 1"),
    (lambda: vouch.regressions([1, 0], [1, 0]), r"before is \[1, 0\]; .* by name of the model, as {'a': \[1, 0\]}"),
    (lambda: vouch.answering([0.5, 0.4], [1]), "confidence: give 1 numbers"),
    (lambda: vouch.answering([0.5, np.inf], [1, 1]), "confidence: row 1 is inf; give finite"),
    (lambda: vouch.answering([1, 2**53 + 1], [1, 1]), "confidence: row 1 has 9007199254740993, .* rounded"),
    (lambda: vouch.sampled_sets([["a"]], [[1, 0]]), "answers: row 0 has 1 texts, correct 2"),
    (lambda: vouch.sampled_sets(["ab"], [[1, 0]]), "answers: row 0 is the text 'ab'; give a list"),
    (lambda: vouch.sampled_sets([["a", "a"]] * 4, [[1, 0]] * 4), "correct: row 0 has 'a' both correct and wrong"),
    (lambda: vouch.sampled_sets([], []), "answers is empty"),
    (lambda: vouch.semantic_entropy(["red", "blue"]), "samples: row 0 is the text 'red'"),
    (lambda: entropy(noisy=["red"]), "noisy: row 0 is the text 'red'"),
    (lambda: entropy(loglikelihoods=[[0, -np.inf]]), "loglikelihoods: row 0 has NaN or infinity"),
    (lambda: entropy(loglikelihoods=[[0.3, 0.7]]), "loglikelihoods: row 0 has 0.7; .* at most 0"),
    (lambda: entropy(same=lambda a: True), "^same: .* give a function"),
    (lambda: vouch.rank_without_labels({"a": [[1.0]]}), "at least 2"),
    (lambda: ranked([[0.5, 0.1]], [[0.5, 0.5]]), "sums to 0.6"),
    (lambda: ranked([[1.5, -0.5]], [[0.5, 0.5]]), "of a: row 0 .* outside 0 to 1"),
    (lambda: ranked([[1, np.nan]], [[0.5, 0.5]]), "of b: row 0 .* other options"),
    (lambda: vouch.rank_without_labels({"a": [[0.5, 0.5]], 1: [[0.5, 0.5]]}), "probabilities: the name 1"),
    (lambda: vouch.read_answer("A", []), "at least 1"),
    (lambda: vouch.read_answer("A", "red"), "options: the one text 'red'; give a list"),
    (lambda: vouch.read_answer("A", ["x", "y"], labels=["A", "A"]), "labels: 'A' is a duplicate"),
    (lambda: vouch.corrupt(GREY, "blur", 2.5), "severity is 2.5; give a whole number"),
    (lambda: vouch.best, "it has answering"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), REFUSED_CALLS)
def test_bad_input_is_named(call: Any, words: str) -> None:
    with pytest.raises((ValueError, AttributeError), match=words):
        call()


FEW = slice(24)
SIDES = {"a": P[FEW], "b": P[FEW][::-1]}
SAID = {"samples": [["a", "b"], ["c", "d"]], "same": None, "alpha": 1.0}
WHO: dict[str, Any] = {"groups": GROUPS[FEW], "seed": 0}
HALVES: dict[str, Any] = {"calibration": 0.5, "splits": 2} | WHO
SOUND: list[tuple[str, dict[str, Any]]] = [
    ("answering", {"confidence": P[FEW, 0], "correct": CORRECT[FEW], "max_risk": 0.2, "confidence_level": 0.9} | WHO),
    ("calibration_error", {"probabilities": P[FEW], "correct": CORRECT[FEW], "bins": 5, "equal_mass": True} | WHO),
    ("compare", {"correct_a": CORRECT[FEW], "correct_b": CORRECT[FEW], "resamples": 9} | WHO),
    ("corrupt", {"image": np.zeros((8, 8, 3), np.uint8), "kind": "blur", "severity": 1}),
    ("coverage", {"sets": P[FEW] > 0.3, "answers": ANSWERS[FEW], "groups": GROUPS[FEW]}),
    ("image_information", {"logits": LOGITS[FEW], "without": LOGITS[FEW], "answers": ANSWERS[FEW], "alpha": 1} | WHO),
    ("power", {"questions": 9, "wanted": 0.05, "discordant": 0.2, "design": 1, "significance": 0.05, "claims": 1}),
    ("prediction_powered", {"decided": CORRECT[FEW], "judged": P[FEW, 0], "groups": GROUPS[FEW]}),
    (
        "prediction_sets",
        {"logits": LOGITS[FEW], "answers": ANSWERS[FEW], "alpha": 0.1, "score": "raps", "settings": {"penalty": 0.1, "k_reg": 2}}
        | {"ids": list(range(24))}
        | HALVES,
    ),
    ("rank_without_labels", {"probabilities": SIDES, "proxy": SIDES, "proxy_answers": ANSWERS[FEW], "alpha": 0.1} | WHO),
    ("read_answer", {"text": "B", "options": ["x", "y"], "labels": ["A", "B"], "question": ""}),
    ("regressions", {"before": {"a": CORRECT[FEW]}, "after": {"a": CORRECT[FEW]}, "groups": GROUPS[FEW]}
        | {"false_alarms": 0.1, "look": 1, "allowed": 0}),
    ("results", {"folder": "nowhere"}),
    ("robustness", dict.fromkeys(("original", "varied", "answers", "flipped_answers"), ANSWERS[FEW])
        | {"options": 4, "certainty": P[FEW, 0], "groups": GROUPS[FEW]}),
    ("sampled_sets", {"answers": [["a", "b"]] * 24, "correct": [[True, False]] * 24, "alpha": 0.2} | HALVES),
    ("semantic_entropy", SAID | {"loglikelihoods": [[0, -1], [0, -2]]}),
    ("semantic_entropy", SAID | {"noisy": [["a"], ["b"]]}),
    ("temperature", {"logits": LOGITS[FEW], "answers": ANSWERS[FEW], "bins": 5} | HALVES),
    (
        "weighted_sets",
        {"logits": LOGITS[FEW], "answers": ANSWERS[FEW], "features": P[FEW], "new_logits": LOGITS[FEW]}
        | {"new_features": P[FEW], "alpha": 0.1},
    ),
]  # fmt: skip
DAYS = np.arange(96).reshape(24, 4).astype("datetime64[D]")
UNSOUND: list[Any] = [
    np.nan, np.inf, None, "text\nof two lines", b"x", 10**400, 10**5000, -1, True, object(), 1j, len, pd.NA,
    [], [[[1]]], [[1], [1, 2]], {"a": {"b": 1}}, {1: [1]}, {"x", "y"}, [1, "1", None] * 8, [10**400] * 24,
    [np.nan] * 24, [None] * 24, ["x"] * 24, [[None, 1, 0, 0]] * 24, np.full((24, 4), -np.inf), [1] * 25,
    pd.Series(["a", pd.NA] * 12, dtype="string"), pd.Series([[1, 2]] * 24), pd.DataFrame({"a": ["x"] * 24}),
    DAYS, DAYS[:, 0], pd.Series(pd.date_range("2020", periods=24)), np.zeros(24, "i4,i4"), np.ones((23, 4)) / 4,
]  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "arguments"), SOUND, ids=[name for name, _ in SOUND])
def test_every_bad_argument_is_named_in_one_line(name: str, arguments: dict[str, Any]) -> None:
    """Each argument in turn is each unsound value, all others as they should be; about 3,500 calls."""
    call = getattr(vouch, name)
    if name != "results":
        call(**arguments)
    refused = 0
    for argument in arguments:
        for value in UNSOUND:
            try:
                call(**arguments | {argument: value})
            except (ValueError, FileNotFoundError) as error:
                told, refused = str(error), refused + 1
                assert argument in told and "\n" not in told and len(told) < 300, (argument, told)
    assert refused >= (len(UNSOUND) - 8) * len(arguments)


@pytest.mark.parametrize(
    ("groups", "as_good_as"),
    [
        (["a", np.nan, "nan"], None),
        (["a", None, "b"], None),
        (["1", 1, "1"], [0, 1, 0]),
        ([True, 1, "True"], [0, 1, 2]),
        ([2**53, 2**53 + 1, 0.5], [0, 1, 2]),
        ([10**30, 10**30 + 1, 10**30], [0, 1, 0]),
        ([2**63, -1, 2**63], [0, 1, 0]),
        ([1, 1.0, np.int64(1)], [0, 0, 0]),
        (pd.Series(["x", "y", "x"], dtype="string"), [0, 1, 0]),
        (pd.Series([1, pd.NA, 2], dtype="Int64"), None),
        (pd.Categorical(["x", "y", "x"]), [0, 1, 0]),
        (pd.Series(pd.to_datetime(["2020", None, "2020"])), None),
        (np.array(["2020", "2021", "2020"], "datetime64[Y]"), [0, 1, 0]),
        ([("a", 1), ("a", 2), ("a", 1)], None),
    ],
)
def test_groups_are_what_was_given(groups: Any, as_good_as: list[int] | None) -> None:
    """Nothing is merged by a common type, and a missing one is refused."""
    if as_good_as is None:
        with pytest.raises(ValueError, match=r"^groups: row \d "):
            vouch.compare([1, 0, 1], [0, 0, 1], groups=groups)
    else:
        numbers = check.groups(groups, 3)
        assert (numbers[:, None] == numbers).tolist() == np.equal.outer(as_good_as, as_good_as).tolist()


def test_people_may_be_missing_in_a_column_of_pandas() -> None:
    judged = [1, 0] * 4
    found = vouch.prediction_powered(pd.Series([1, None, 0, 1, None, 1, 0, 0], dtype="Int64"), judged)
    assert (
        found == vouch.prediction_powered([1, np.nan, 0, 1, np.nan, 1, 0, 0], judged) and found.decided == 6
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: vouch.prediction_sets(LOGITS[:9], ANSWERS[:9], alpha=1 - 0.9).threshold,
         lambda: vouch.prediction_sets(LOGITS[:9], ANSWERS[:9], alpha=0.1).threshold),
        (lambda: vouch.prediction_sets(LOGITS[:100], ANSWERS[:100], calibration=0.29),
         lambda: vouch.prediction_sets(LOGITS[:100], ANSWERS[:100], calibration=0.29 + 1e-15)),
        (lambda: vouch.sampled_sets([["a", "b"]] * 40, [[True, False]] * 40, alpha=1 - 0.8),
         lambda: vouch.sampled_sets([["a", "b"]] * 40, [[True, False]] * 40, alpha=0.2)),
        (lambda: vouch.power(100, wanted=0.1 + 0.2, discordant=0.3).needed,
         lambda: vouch.power(100, wanted=0.3, discordant=0.3).needed),
        (lambda: vouch.calibration_error([0.58], [1], bins=50).counts.argmax(), lambda: 29),
        (lambda: vouch.calibration_error([0.7 - 0.41], [1], bins=100).counts.argmax(), lambda: 29),
        (lambda: vouch.regressions({"a": [1] * 80 + [0] * 20}, {"a": [1] * 70 + [0] * 30}, allowed=0.1).alarms,
         lambda: ()),
    ],
)  # fmt: skip
def test_rounding_of_what_a_user_computes_decides_nothing(one: Any, other: Any) -> None:
    assert one() == other()


@pytest.mark.parametrize("rows", [2, 5, 30, 300])
@pytest.mark.parametrize("right", [[1], [0], [1, 0], [0.5]])
def test_where_nothing_differs_a_difference_is_bounded(rows: int, right: list[float]) -> None:
    correct = (right * rows)[:rows]
    found = vouch.compare(correct, correct)
    bound = stats.binomtest(0, rows).proportion_ci().high  # Clopper and Pearson
    assert tuple(found.difference) == pytest.approx((0, -bound, bound)) and found.p == 1
    effect = found.minimum_detectable_effect  # two questions find none, however large
    assert effect is None if rows == 2 else effect is not None and effect > bound
    copies = vouch.compare(correct * 3, correct * 3, groups=list(range(rows)) * 3)
    assert copies.difference == found.difference, "copies carry no information"


@pytest.mark.parametrize("logits", [np.zeros((200, 4)), np.full((200, 2), 7.5), np.zeros((20, 1))])
def test_a_temperature_that_nothing_tells_is_undefined(logits: np.ndarray) -> None:
    found = vouch.temperature(logits, np.zeros(len(logits), dtype=int))
    assert np.isnan(found.value) and found.ece_before.value == found.ece_after.value
    told = vouch.temperature(np.vstack([logits, logits + np.eye(1, logits.shape[1])]), [0] * 2 * len(logits))
    assert np.isnan(told.value) if logits.shape[1] == 1 else told.value == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [("", ["x", "y"], None), ("So B is closer.", ["A is closer", "B is closer"], 1), ("y", ["x", "y"], 1)],
)
def test_options_without_labels_are_read_by_their_texts(
    text: str, options: list[str], expected: int | None
) -> None:
    assert vouch.read_answer(text, options, labels=[""] * len(options)).option == expected


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ([1, 0, 1, 1], [1, 0, 1, 1], "difference=0 (-0.6024 to 0.6024), p=1, minimum_detectable_effect=0.86"),
        ([1, 1], [1, 1], "difference=0 (-0.8419 to 0.8419), p=1, minimum_detectable_effect=None"),
        ([1], [1], "difference=0, p=None, minimum_detectable_effect=None"),
        ([0.3] * 30, [0.1] * 30, "difference=0.2 (0.06116 to 0.2926), p=1.863e-09"),
        ([0.3] * 30, [0.1 + 0.2] * 30, "difference=0 (-0.1157 to 0.1157), p=1,"),
    ],
)
def test_where_few_rows_differ_the_interval_has_a_width(
    first: list[float], second: list[float], text: str
) -> None:
    assert text in repr(vouch.compare(first, second))


def test_rankers_with_a_proxy() -> None:
    right = np.arange(300) % 4
    sides = {}
    for name, skill in (("a", 3.0), ("b", 1.0), ("c", 0.2)):
        weights = np.exp(RNG.normal(size=(300, 4)) + skill * (right[:, None] == np.arange(4)))
        sides[name] = weights / weights.sum(axis=1, keepdims=True)
    found = vouch.rank_without_labels(sides, proxy=sides, proxy_answers=right)
    assert {"confidence", "entropy", "gap", "atc", "set_size", "certainty"} <= set(found.ranks)
    assert all(list(ranks.values()) == [1, 2, 3] for ranks in found.ranks.values())
    assert len(found.to_frame()) == 3 * len(found.ranks)


def test_negations_turn_consistency_round() -> None:
    kept = vouch.robustness([0, 1], [0, 1], [0, 1], options=2)
    flipped = vouch.robustness([0, 1], [1, 0], [0, 1], options=2, flipped_answers=[1, 0], certainty=[1, 1])
    assert kept.consistency.value == flipped.consistency.value == 1
    assert flipped.reliability == pytest.approx(1) and kept.reliability is None


def test_results_print_what_matters() -> None:
    worse = vouch.regressions({"a": [1] * 9}, {"a": [0] * 9}, false_alarms=0.1)
    assert "alarms=[a], p=[a: 0.001953]" in repr(worse)
    assert "confidence: a = b;" in repr(vouch.rank_without_labels({name: [[0.9, 0.1]] for name in "ba"}))
    assert "finds=None, wanted=0.05, needed=628" in repr(vouch.power(10))


@pytest.mark.parametrize(
    ("module", "call", "words"),
    [
        ("pandas", lambda: vouch.power(9).to_frame(), "to_frame needs pandas: pip install pandas"),
        ("pandas", lambda: vouch.results(), "results needs pandas"),
        ("PIL", lambda: vouch.corrupt(np.zeros((8, 8, 3), np.uint8), "blur"), "corrupt needs Pillow"),
    ],
)
def test_a_missing_package_is_named(
    module: str, call: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vouch.library.estimates.find_spec", lambda name: None if name == module else name)
    with pytest.raises(ModuleNotFoundError, match=words):
        call()


def test_the_notebook_runs() -> None:
    """Its cells one after another, in one namespace; the last line of a cell is an expression or a statement."""
    notebook = json.loads((ROOT / "docs/notebooks/own-arrays.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    namespace: dict[str, Any] = {}
    for cell in cells:
        exec(compile(cell, "own-arrays.ipynb", "exec"), namespace)
    assert namespace["error"].gap > 0.02 and 1.2 < namespace["cooler"].value < 1.5 and len(cells) > 9


def test_the_first_lines_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    code = blocks((ROOT / "README.md").read_text("utf-8"), "python")[0]
    exec(code, {})
    assert capsys.readouterr().out.strip() == code.strip().rpartition("# ")[2], "as printed there"
