"""Certainty: classes are merged where the answer is flipped, and only native options count."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.simulated import CONFIG, config, simulate
from vouch.metrics.conformal.sets import group_splits
from vouch.metrics.perturbation import certainty, classes
from vouch.metrics.responses import NO_ROLE, Responses
from vouch.tables.asked import COMPLEMENT, EFFECTS, KEPT, SWAPPED
from vouch.tables.names import DONT_KNOW, NONE_OF_ABOVE


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


def test_too_few_rows_give_sets_of_everything() -> None:
    given = rows([[0.9, 0.1]] * 8, [[0]] * 8)
    for protocol in ("faithful", "clean"):
        found = certainty(given, KEPT, protocol, config(splits=5))
        assert (found[~np.isnan(found)] == 0).all()


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
