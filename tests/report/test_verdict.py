"""The words of the verdict follow from the numbers."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest

from tests.report.project import Made, parts
from vouch.report.evidence import Evidence
from vouch.report.sections import differences, protocols, published, results, verdict

Make = Callable[[Made], Evidence]


def headline(evidence: Evidence) -> str:
    return verdict.build(evidence).headline


def test_a_model_that_is_significant_is_trusted(make: Make) -> None:
    view = verdict.build(make(Made()))
    assert view.headline == "Trust alpha first."
    assert "alpha answers 80.0\u202f% of the questions right (95\u202f% interval 75.0–85.0)" in view.because
    assert "the next model, beta, is 20.0 points behind (15.0–25.0)" in view.because
    assert "guessing gives 29\u202f%" in view.because


def test_models_that_cannot_be_significant_are_all_named(make: Make) -> None:
    view = verdict.build(make(Made(apart=False)))
    assert view.headline == "No significant difference: alpha, beta and gamma."
    assert "behind" not in view.because


def test_paired_comparisons_outrank_overlapping_intervals(make: Make) -> None:
    evidence = make(Made(half_width=0.3))
    assert evidence.leaders("shapes") == ("alpha",)


def test_without_pairs_the_intervals_decide(make: Make) -> None:
    evidence = make(Made())
    alone = replace(evidence, differences=evidence.differences.iloc[:0])
    assert alone.leaders("shapes") == ("alpha", "beta", "gamma")
    leaderboard = evidence.leaderboard.assign(rank_low=evidence.leaderboard["rank"])
    ranked = replace(evidence, differences=evidence.differences.iloc[:0], leaderboard=leaderboard)
    assert ranked.leaders("shapes") == ("alpha",)


def test_guessing_is_not_trusted(make: Make) -> None:
    assert headline(make(Made(accuracy={"alpha": 0.3, "beta": 0.2}))) == "No model does better than guessing."
    assert headline(make(Made(accuracy={"alpha": 0.3}))) == "alpha does no better than guessing."


def test_datasets_that_disagree(make: Make) -> None:
    evidence = make(Made(datasets=("cubes", "shapes")))
    assert headline(evidence) == "Trust alpha first."
    swap = {"alpha": "beta", "beta": "alpha"}
    frames = {}
    for name, columns in (("leaderboard", ["model"]), ("differences", ["first", "second"])):
        frame = getattr(evidence, name).copy()
        cubes = frame["dataset"] == "cubes"
        for column in columns:
            frame.loc[cubes, column] = frame.loc[cubes, column].replace(swap)
        frames[name] = frame
    swapped = replace(evidence, **frames)
    assert headline(swapped) == "No model leads everywhere: beta on cubes and alpha on shapes."
    grid = verdict.build(swapped).grid
    assert grid is not None
    assert [[cell.text for cell in row[:2]] for row in grid.rows] == [["cubes", "beta"], ["shapes", "alpha"]]


@pytest.mark.parametrize(
    ("high", "said", "lie"),
    [(0.93, "met (87.0–93.0)", "no interval lies"), (0.89, "missed (87.0–89.0)", "3 intervals lie")],
)
def test_coverage_meets_its_target_within_its_interval(make: Make, high: float, said: str, lie: str) -> None:
    evidence = make(Made())
    leaderboard = evidence.leaderboard.copy()
    leaderboard.loc[leaderboard["metric"] == "coverage", "high"] = high
    card = verdict.build(replace(evidence, leaderboard=leaderboard)).cards[0]
    assert card.answer == "1.40 options in a set; 90.0\u202f% coverage"
    assert (
        f"Target coverage 90\u202f%: {said}; of 3 pairs of model and dataset, {lie} below 90\u202f%."
        in card.why
    )


def test_sets_that_hold_every_option_do_not_count_as_coverage(make: Make) -> None:
    evidence = make(Made(datasets=("cubes", "shapes")))
    assert (
        "of 6 pairs of model and dataset, no interval lies below 90\u202f%."
        in verdict.build(evidence).cards[0].why
    )
    leaderboard = evidence.leaderboard
    rows = leaderboard[(leaderboard["metric"] == "mce") & (leaderboard["dataset"] == "cubes")]
    rows = rows[rows["protocol"] == "clean"].assign(metric="infinite_threshold_rate", value=1.0)
    small = replace(evidence, leaderboard=pd.concat([leaderboard, rows], ignore_index=True))
    view = verdict.build(small)
    assert "Too small to judge by: cubes." in view.because
    assert "of 3 pairs of model and dataset, no interval lies below 90\u202f%." in view.cards[0].why


def test_the_weak_spot_is_a_category_else_a_dataset_else_a_confidence(make: Make) -> None:
    assert verdict.build(make(Made(categories=("big", "small")))).cards[1].answer == "“small”"
    evidence = make(Made(datasets=("cubes", "shapes")))
    assert verdict.build(evidence).cards[1].answer == "shapes"
    assert verdict.build(make(Made())).cards[1].answer.startswith("Confidence below ")


def test_the_weak_spot_is_looked_for_in_every_category_of_every_dataset(make: Make) -> None:
    evidence = make(Made(datasets=("cubes", "shapes"), categories=("big", "small")))
    assert verdict.build(evidence).cards[1].answer == "“small” on shapes"


def test_differences_that_are_real_are_counted_and_the_others_named(make: Make) -> None:
    card = verdict.build(make(Made())).cards[-1]
    assert (card.answer, card.page) == ("All 3", "ranking")
    card = verdict.build(make(Made(apart=False))).cards[-1]
    assert card.answer == "0 of 3 pairs of models"
    assert "alpha does not differ significantly from beta and gamma." in card.why


def test_the_dataset_with_most_items_speaks_first(make: Make) -> None:
    evidence = make(Made(datasets=("cubes", "shapes")))
    assert evidence.datasets == ("cubes", "shapes")
    leaderboard = evidence.leaderboard.copy()
    leaderboard.loc[leaderboard["dataset"] == "shapes", "items"] += 1
    assert replace(evidence, leaderboard=leaderboard).datasets == ("shapes", "cubes")


def test_a_missing_metric_is_said_to_be_missing(make: Make) -> None:
    evidence = make(Made())
    leaderboard = evidence.leaderboard[evidence.leaderboard["score"] == ""]
    view = verdict.build(replace(evidence, leaderboard=leaderboard))
    assert view.cards[0].answer == "Not measured"
    table = parts(results.build(replace(evidence, leaderboard=leaderboard)))[0].grids[0]
    assert [cell.text for cell in table.rows[0]][3:8] == ["–"] * 5


def test_ranks_are_shown_as_the_intervals_allow(make: Make) -> None:
    table = parts(results.build(make(Made())))[0].grids[0]
    assert [row[1].text for row in table.rows] == ["1–3"] * 3
    assert [row[0].tone for row in table.rows] == ["strong", "", ""]


def test_unreadable_answers_and_thin_calibration_are_warned_of(make: Make) -> None:
    evidence = make(Made())
    outcomes = evidence.outcomes.copy()
    outcomes.loc[(outcomes["model"] == "beta") & (outcomes["prompt"] == "q1/original"), "predicted"] = None
    leaderboard = evidence.leaderboard.replace({"metric": {"mce": "infinite_threshold_rate"}})
    part = parts(results.build(replace(evidence, outcomes=outcomes, leaderboard=leaderboard)))[0]
    assert part.sentences[0] == "beta gave no readable answer to 1 prompt."
    assert "In 25\u202f% of the splits too few rows calibrate alpha" in part.sentences[1]


def test_protocols_say_what_changes(make: Make) -> None:
    (part,) = parts(protocols.build(make(Made())))
    text = " ".join(part.sentences)
    assert "50\u202f% of the test rows have a sibling" in text
    assert "Accuracy changes by at most 1.0 points" in text
    assert "0 of 3 models change rank" in text
    assert "±5.0 points wide on average, which leaves a model 3.0 possible ranks" in text


def test_published_cells_that_differ_come_first_and_are_counted(make: Make) -> None:
    evidence = make(Made())
    reproduced = evidence.reproduced.copy()
    reproduced.loc[reproduced["model"] == "gamma", "difference"] = -0.02
    (part,) = parts(published.build(replace(evidence, reproduced=reproduced)))
    assert part.sentences == ("2 of 3 cells within 1e-6; the largest difference is 0.02 (gamma, acc).",)
    assert part.grids[1].rows[0][0].text == "gamma"
    reproduced.loc[reproduced["model"] == "gamma", ["ours", "difference"]] = None
    (part,) = parts(published.build(replace(evidence, reproduced=reproduced)))
    assert part.sentences == ("2 of 3 cells within 1e-6, 1 without a number of ours.",)


def test_differences_are_counted_both_ways(make: Make) -> None:
    (part,) = parts(differences.build(make(Made())))
    assert [[cell.text for cell in row] for row in part.grids[0].rows] == [
        ["alpha", "2", "0", "–"],
        ["beta", "1", "1", "–"],
        ["gamma", "0", "2", "–"],
    ]


def test_pairs_without_an_interval_are_not_significant(make: Make) -> None:
    evidence = make(Made())
    bare = evidence.differences.assign(low=None, high=None, p=None, p_holm=None)
    evidence = replace(evidence, differences=bare)
    assert evidence.leaders("shapes") == ("alpha", "beta", "gamma")
    (part,) = parts(differences.build(evidence))
    assert part.grids[1].rows[0][3].text == "–"
