"""The words of the verdict follow from the numbers."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.report.project import (
    ITEM_COUNT,
    Made,
    Make,
    edited,
    mentions,
    part_of,
    parts,
    texts,
    with_cost,
    with_metric,
)
from vouch.papers.page import PUBLISHED_SECTION
from vouch.report.cards import ALONE, BREAKS, DIFFERENCES, ELSEWHERE
from vouch.report.evidence import Evidence
from vouch.report.gates import effect_in_words
from vouch.report.leaders import leaders
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.models_detail import CATEGORIES_SECTION
from vouch.report.pages.protocols import PROTOCOLS_SECTION
from vouch.report.pages.ranking import DIFFERENCES_SECTION
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.table_files import TABLES

GROUPS = [f"g{number}" for number in range(12)]


def headline(evidence: Evidence) -> str:
    return VERDICT_SECTION.build(evidence).headline


def test_a_model_that_is_significant_is_named(make: Make) -> None:
    view = VERDICT_SECTION.build(make(Made()))
    assert view.headline == "alpha is best on shapes."
    assert mentions(
        view.because, "alpha answers 80.0\u202f%", "interval 75.0–85.0", "guessing gives 29\u202f%"
    )
    assert "beta is 20.0 points behind (15.0–25.0)" in view.because
    assert [texts(row[:4]) for row in view.grid.rows] == [["shapes", "alpha", "80.0", "29.2"]]


def test_models_that_cannot_be_significant_are_all_named(make: Make) -> None:
    view = VERDICT_SECTION.build(make(Made(apart=False)))
    assert view.headline == "No model stands out on shapes: alpha, beta and gamma are tied."
    assert mentions(view.because, "10 points", "two models")
    assert view.others == "", "there is no other dataset"
    assert (
        view.scope == "3 models · 1 dataset · 240 answers to the original prompts, one per model and question"
    )
    assert view.grid.rows[0][1].text == "alpha, beta and gamma"


def test_paired_comparisons_outrank_overlapping_intervals(make: Make) -> None:
    assert leaders(make(Made(half_width=0.2)), "shapes") == ("alpha",)


def test_without_pairs_nothing_is_told_apart(make: Make) -> None:
    evidence = make(Made())
    alone = replace(evidence, differences=evidence.differences.iloc[:0])
    assert leaders(alone, "shapes") == ("alpha", "beta", "gamma")
    view = VERDICT_SECTION.build(alone)
    assert "tied" in view.headline and DIFFERENCES not in [card.question for card in view.cards]


def test_guessing_is_not_praised(make: Make) -> None:
    view = VERDICT_SECTION.build(
        make(Made(accuracy={"alpha": 0.3, "beta": 0.2}, variations=("original", "vr_b")))
    )
    assert mentions(view.headline, "No model", "guessing on shapes")
    assert "2 models answer 20.0–30.0\u202f% of 80 questions" in view.because
    assert mentions(view.grid.rows[0][1].text, "no model", "guessing")
    none, enough, alone = view.cards
    assert none.answer == "No model is recommended" and mentions(enough.answer, "About 560", "10 points")
    assert mentions(enough.why, "With 80 questions in 40 groups only a lead of 26 points over guessing would")
    assert (alone.question, alone.answer) == (
        ALONE,
        "None",
    ) and "every question goes to a person" in alone.why
    equal = VERDICT_SECTION.build(make(Made(accuracy={"alpha": 0.3, "beta": 0.3})))
    assert "2 models answer 30.0\u202f% of 80 questions" in equal.because
    alone = VERDICT_SECTION.build(make(Made(accuracy={"alpha": 0.3})))
    assert mentions(alone.headline, "alpha is not shown to beat guessing on shapes")


def test_the_best_does_not_lift_those_who_guess(make: Make) -> None:
    """A model that differs neither from the best nor from guessing is not named."""
    view = VERDICT_SECTION.build(make(Made(accuracy={"alpha": 0.8, "beta": 0.3}, apart=False)))
    assert view.headline == "alpha is tied for best on shapes."
    best = view.grid.rows[0][1]
    assert best.text == "alpha" and "1 that may be as good" in best.note


def test_one_candidate_is_not_the_best_of_one(make: Make) -> None:
    """The model that is left out might be better."""
    evidence = make(Made(accuracy={"alpha": 0.8, "beta": 0.7}, datasets=("cubes", "shapes")))
    unranked = with_metric(evidence, "low_mass_rate", "dataset == 'cubes' and model == 'beta'", value=1.0)
    view = VERDICT_SECTION.build(unranked)
    assert view.headline == "alpha is better than guessing on cubes."
    assert view.others.endswith("Elsewhere: alpha is best on shapes.")


def test_what_was_not_measured_is_no_good_news(make: Make) -> None:
    card = VERDICT_SECTION.build(make(Made())).cards[0]
    assert card.answer == "No bad news" and "not shown: overconfidence (p < 0.01" in card.why
    missing = card.why.partition("Not measured: ")[2]
    assert mentions(missing, "letter", "a variation that costs accuracy")
    asked = VERDICT_SECTION.build(make(Made(variations=("original", "vr_b")))).cards[0]
    missing = asked.why.partition("Not measured: ")[2]
    assert "letter" in missing and "variation" not in missing


def test_an_effect_beyond_100_percent_is_none() -> None:
    """No model can lead guessing at 31 % by 71 points."""
    assert mentions(
        effect_in_words(60, 30, 0.71, 0.69), "60 questions in 30 groups not even", "perfect model"
    )
    only = "with 40 questions only a lead of 28 points over guessing would show"
    assert effect_in_words(40, 40, 0.28, 0.75) == only
    assert mentions(effect_in_words(40, 29, 0.28, 0.75), "29 independent", "40 questions", "no lead", "30")


def few(evidence: Evidence, *datasets: str) -> Evidence:
    """The same with twelve questions in these datasets."""
    items = evidence.items
    return replace(evidence, items=items[~items["dataset"].isin(datasets) | items["group"].isin(GROUPS)])


def test_few_questions_name_nobody(make: Make) -> None:
    evidence = few(make(Made(variations=("original", "vr_b"), categories=("big", "small"))), "shapes")
    view = VERDICT_SECTION.build(evidence)
    why = "12 independent questions (80 questions in all), and no lead over guessing is claimed with fewer than 30"
    assert view.headline == f"shapes is too small to tell: {why}."
    said = [view.because, *(card.answer + card.why for card in view.cards)]
    assert not any(name in text for name in evidence.all_models for text in said)
    assert view.grid.rows[0][1].text == f"too small to tell: {why}"
    assert mentions(
        view.cards[1].why, "No lead is claimed", "With 30 questions only a lead of 31 points over"
    )
    part = part_of(RESULTS_SECTION, evidence)
    assert part.sentences[0] == f"Too small to tell: {why}."
    apart = part_of(DIFFERENCES_SECTION, evidence)
    assert [grid.name for grid in apart.grids] == ["differences-pairs"], "no verdict on a pair"
    assert [column.label for column in apart.grids[0].columns[:2]] == ["Higher", "Lower"]
    assert TABLES["headline"](evidence)[["rank", "rank_low", "rank_high"]].isna().all(axis=None)
    assert TABLES["differences"](evidence)[["p", "p_holm"]].isna().all(axis=None)
    assert {row[1].text for row in part.rows} == {"–"} and {r[0].tone for r in part.rows} == {""}
    assert parts(DIFFERENCES_SECTION.build(evidence))[0].sentences[0].startswith("Too small to tell")


def test_the_headline_says_where_it_holds_and_where_not(make: Make) -> None:
    evidence = few(make(Made(datasets=("cubes", "kites", "shapes", "tiles"))), "tiles")
    kites = "dataset == 'kites' and metric == 'accuracy'"
    evidence = edited(evidence, "leaderboard", kites, value=0.3, low=0.25, high=0.35)
    view = VERDICT_SECTION.build(edited(evidence, "differences", "dataset == 'shapes'", p=0.4))
    assert view.headline == "alpha is best on cubes." and view.dataset == "cubes"
    why, _, others = view.others.partition(" Elsewhere: ")
    assert why.startswith("None of the 2 datasets on which alpha is best or tied for best is larger")
    assert others == (
        "no model stands out on shapes: alpha, beta and gamma are tied; no model is shown to beat guessing on "
        "kites; tiles is too small to tell: 12 independent questions (80 questions in all), and no lead over "
        "guessing is claimed with fewer than 30."
    )


def test_datasets_that_disagree(make: Make) -> None:
    evidence = make(Made(datasets=("cubes", "shapes")))
    view = VERDICT_SECTION.build(evidence)
    assert view.headline == "alpha is best on cubes."
    assert view.others.endswith("Elsewhere: alpha is best on shapes.")
    swap = {"alpha": "beta", "beta": "alpha"}
    swapped = evidence
    for table, column in (("leaderboard", "model"), ("differences", "first"), ("differences", "second")):
        names = getattr(evidence, table)[column].replace(swap)
        swapped = edited(swapped, table, "dataset == 'cubes'", **{column: names})
    view = VERDICT_SECTION.build(swapped)
    assert view.headline == "beta is best on cubes." and "only one of 2 datasets" in view.others
    assert view.others.endswith("Elsewhere: alpha is best on shapes.")
    grid = view.grid
    assert [texts(row[:2]) for row in grid.rows] == [["cubes", "beta"], ["shapes", "alpha"]]


NEAR = "consistent with the target of 90\u202f%"


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict", "count"),
    [
        (
            0.9,
            0.87,
            0.93,
            f"{NEAR} and within 5 points of it (87.0–93.0)",
            "in 3 (95\u202f% interval within 5 points of it in 3, not corrected), above it in 0",
        ),
        (
            0.9,
            0.82,
            0.93,
            f"{NEAR}, but the interval is too wide to tell (82.0–93.0)",
            "in 3, above it in 0 and below it in 0",
        ),
        (0.6, 0.5, 0.7, "below the target of 90\u202f% (50.0–70.0)", "in 0, above it in 0 and below it in 3"),
        (
            0.98,
            0.97,
            0.99,
            "above the target of 90\u202f% (97.0–99.0)",
            "in 0, above it in 3 and below it in 0",
        ),
        (
            0.91,
            0.905,
            0.915,
            "above the target of 90\u202f% (90.5–91.5)",
            "above it in 3",
        ),  # near, and significant
        (0.9, None, None, f"{NEAR}, but the interval is too wide to tell. ", "in 3, above it in 0"),
    ],
)
def test_coverage_is_below_its_target_above_it_or_consistent_with_it(
    make: Make, value: float, low: float, high: float, verdict: str, count: str
) -> None:
    """Not different is not the same as equal: that takes an interval near the target."""
    evidence = edited(make(Made()), "leaderboard", "metric == 'coverage'", value=value, low=low, high=high)
    card = VERDICT_SECTION.build(evidence).cards[1]
    assert card.answer.startswith("1.40 options in a set, ")
    assert mentions(card.why, f"Its coverage is {verdict}", "3 combinations", count)


def test_what_counts_as_on_target_follows_from_the_target(make: Make) -> None:
    """Half of the errors that it allows: 1 point at 98 %."""
    evidence = edited(make(Made()), "leaderboard", "metric == 'coverage'", value=0.98, low=0.95, high=0.99)
    evidence = replace(evidence, scoring=evidence.scoring.model_copy(update={"alpha": 0.02}))
    why = VERDICT_SECTION.build(evidence).cards[1].why
    assert "target of 98\u202f%, but the interval is too wide to tell" in why


def test_sets_that_hold_every_option_say_nothing(make: Make) -> None:
    evidence = make(Made(datasets=("cubes", "shapes"), categories=("big", "small")))
    where = "dataset == 'cubes' or category == 'big'"
    small = with_metric(evidence, "infinite_threshold_rate", where, value=0.5)
    view = VERDICT_SECTION.build(small)
    assert view.cards[1].answer == "Too small to tell"
    assert [cell.text for cell in view.grid.rows[0][4:6]] == ["–", "–"]
    assert [cell.text for cell in view.grid.rows[1][4:6]] != ["–", "–"]
    rows_of = {part.title: part.rows for part in parts(CATEGORIES_SECTION.build(small))}["shapes"]
    assert [(row[0].text, row[3].text) for row in rows_of] == [("small", "1.80"), ("big", "–")]


def test_one_dataset_is_the_subject_and_news_of_others_names_them(make: Make) -> None:
    """Overconfidence before a variation; the first tile is about the dataset of the headline and the figure."""
    evidence = make(Made(datasets=("cubes", "shapes"), variations=("original", "vr_b")))
    evidence = with_cost(evidence, "vr_b", difference=-0.4, low=-0.5, high=-0.3)
    assert VERDICT_SECTION.build(evidence).cards[0].answer == "Images blurred (vr_b): 40.0 points lost"
    half = [float(place % 2) for place in range(len(evidence.outcomes))]
    shapes = "model == 'alpha' and dataset == 'shapes'"
    boasting = edited(evidence, "outcomes", shapes, confidence=0.98)
    boasting = replace(boasting, outcomes=boasting.outcomes.assign(clean_correct=half))
    view = VERDICT_SECTION.build(boasting)
    assert view.dataset == "cubes" and view.headline == "alpha is best on cubes."
    first, elsewhere = view.cards[:2]
    assert first.answer == "Images blurred (vr_b): 40.0 points lost" and "cubes" not in first.why
    assert mentions(elsewhere.answer, "Overconfident", "98\u202f%", "50\u202f%", "(shapes)")
    assert mentions(elsewhere.why, "On shapes, in all 80 answers", "98\u202f%")
    assert (elsewhere.question, elsewhere.page) == (ELSEWHERE, "calibration")
    assert BREAKS not in [card.question for card in view.cards], "the first tile says it"
    assert [part.title for part in parts(RESULTS_SECTION.build(boasting))] == ["cubes", "shapes"]
    assert not any("cubes" in card.answer + card.why for card in view.cards), "named once, in the headline"


def test_news_of_the_original_prompts_comes_before_a_variation(make: Make) -> None:
    evidence = with_cost(
        make(Made(variations=("original", "vr_b"))), "vr_b", difference=-0.4, low=-0.5, high=-0.3
    )
    half = [float(place % 2) for place in range(len(evidence.outcomes))]
    boasting = edited(evidence, "outcomes", "model == 'alpha'", confidence=0.98)
    boasting = replace(boasting, outcomes=boasting.outcomes.assign(clean_correct=half))
    cards = VERDICT_SECTION.build(boasting).cards
    assert mentions(cards[0].answer, "Overconfident", "98\u202f%", "50\u202f%")
    assert BREAKS in [card.question for card in cards] and ELSEWHERE not in [card.question for card in cards]


def test_low_letter_mass_is_news(make: Make) -> None:
    evidence = make(Made())
    view = VERDICT_SECTION.build(with_metric(evidence, "low_mass_rate", value=0.4, low=0.3, high=0.5))
    assert mentions(view.cards[0].answer, "40\u202f%", "not begin")
    for low, items in ((0.005, 80), (0.3, 20)):  # hardly more than nothing, and too few questions
        numbers = {"value": 0.02 if items == 80 else 0.4, "low": low, "high": 0.5, "items": items}
        view = VERDICT_SECTION.build(with_metric(evidence, "low_mass_rate", **numbers))
        assert view.cards[0].answer == "No bad news"


def test_differences_that_are_real_are_counted_and_the_others_named(make: Make) -> None:
    card = VERDICT_SECTION.build(make(Made())).cards[-1]
    assert (card.answer, card.page) == ("All 3 comparisons", "ranking")
    card = VERDICT_SECTION.build(make(Made(apart=False))).cards[-1]
    assert card.answer == "0 of 3 comparisons"
    assert "alpha is tied with beta and gamma on shapes." in card.why


def test_pairs_are_corrected_over_all_datasets(make: Make) -> None:
    """Three pairs of p = .001 are different on one dataset; eighteen on six are not."""
    names = tuple(f"d{number}" for number in range(6))
    assert leaders(make(Made()), "shapes") == ("alpha",)
    assert leaders(make(Made(datasets=names)), "d0") == ("alpha", "beta", "gamma")
    assert leaders(few(make(Made(datasets=names)), *names[1:]), "d0") == ("alpha",), "small ones do not count"


def test_the_dataset_with_most_items_speaks_first(make: Make) -> None:
    evidence = make(Made(datasets=("cubes", "shapes")))
    assert evidence.datasets == ("cubes", "shapes")
    more = edited(evidence, "leaderboard", "dataset == 'shapes'", items=ITEM_COUNT + 1)
    assert more.datasets == ("shapes", "cubes")


def test_a_missing_metric_is_said_to_be_missing(make: Make) -> None:
    evidence = make(Made())
    leaderboard = evidence.leaderboard[evidence.leaderboard["score"] == ""]
    view = VERDICT_SECTION.build(replace(evidence, leaderboard=leaderboard))
    assert view.cards[1].answer == "Not measured"
    table = parts(RESULTS_SECTION.build(replace(evidence, leaderboard=leaderboard)))[0].grids[0]
    assert texts(table.rows[0])[4:9] == ["–"] * 5


def test_ranks_are_shown_as_the_intervals_allow(make: Make) -> None:
    table = parts(RESULTS_SECTION.build(make(Made())))[0].grids[0]
    assert [row[1].text for row in table.rows] == ["1–3"] * 3
    assert [row[0].tone for row in table.rows] == ["strong", "", ""]


def test_unreadable_answers_and_thin_calibration_are_warned_of(make: Make) -> None:
    evidence = make(Made())
    evidence = edited(evidence, "outcomes", "model == 'beta' and prompt == 'q1/original'", predicted=None)
    part = parts(RESULTS_SECTION.build(with_metric(evidence, "infinite_threshold_rate")))[0]
    assert part.sentences[0] == "beta gave no readable answer to 1 prompt."
    assert mentions(part.sentences[1], "In 25\u202f% of the splits", "alpha", "too few")


def test_protocols_say_what_changes(make: Make) -> None:
    part = part_of(PROTOCOLS_SECTION, make(Made()))
    text = " ".join(part.sentences)
    assert "50\u202f% of the test rows have a sibling" in text
    assert "Accuracy changes by at most 1.0 points" in text
    assert "0 of 3 models change rank" in text
    assert "±5.0 points on average, which leaves a model 3.0 possible ranks" in text


def test_published_cells_that_differ_come_first_and_are_counted(make: Make) -> None:
    evidence = make(Made())
    evidence = edited(evidence, "reproduced", "model == 'gamma'", difference=-0.02)
    part = part_of(PUBLISHED_SECTION, evidence)
    assert part.sentences == ("2 of 3 cells within 1e-6; the largest difference is 0.02 (gamma, acc).",)
    assert part.grids[1].rows[0][0].text == "gamma"
    evidence = edited(evidence, "reproduced", "model == 'gamma'", ours=None, difference=None)
    part = part_of(PUBLISHED_SECTION, evidence)
    assert part.sentences == ("2 of 3 cells within 1e-6, 1 without a number of ours.",)


def test_differences_are_counted_both_ways(make: Make) -> None:
    part = part_of(DIFFERENCES_SECTION, make(Made()))
    assert [texts(row) for row in part.rows] == [
        ["alpha", "2", "0", "–"],
        ["beta", "1", "1", "–"],
        ["gamma", "0", "2", "–"],
    ]


def test_pairs_without_an_interval_are_not_significant(make: Make) -> None:
    evidence = make(Made())
    bare = evidence.differences.assign(low=None, high=None, p=None, p_holm=None)
    evidence = replace(evidence, differences=bare)
    assert leaders(evidence, "shapes") == ("alpha", "beta", "gamma")
    part = part_of(DIFFERENCES_SECTION, evidence)
    assert part.grids[1].rows[0][3].text == "–"


def with_chosen(evidence: Evidence, dataset: str, variation: str, chosen: Sequence[int | None]) -> Evidence:
    """In turn, the options that all models choose: -1 and -2 are those that the template added."""
    frame = evidence.outcomes.copy()
    here = (frame["dataset"] == dataset) & (frame["variation"] == variation)
    frame.loc[here, "chosen"] = (list(chosen) * len(frame))[: int(here.sum())]
    return replace(evidence, outcomes=frame)


def test_options_that_nobody_wrote_are_told_with_how_often_they_are_chosen(make: Make) -> None:
    evidence = make(Made(variations=("original", "blank")))
    view = VERDICT_SECTION.build(evidence)
    assert view.added == "" and not any("template adds" in card.why for card in view.cards)
    blind = VERDICT_SECTION.build(with_chosen(evidence, "shapes", "blank", [-1, 0])).added
    assert mentions(
        blind, "template adds “I don’t know”", "0.0\u202f% on shapes (50.0\u202f% without the image)"
    )
    asked = with_chosen(
        with_chosen(evidence, "shapes", "original", [0, 1, -2, 2]), "shapes", "blank", [-2, -2, -2, 0]
    )
    view = VERDICT_SECTION.build(asked)
    assert mentions(view.added, "adds “None of the above” to the options of shapes", "25.0\u202f%")
    assert "on shapes (75.0\u202f% without the image)" in view.added


def test_options_that_are_there_and_never_chosen_are_told_as_well(make: Make) -> None:
    evidence = make(Made())
    for metric in ("dont_know_rate", "none_rate"):
        evidence = with_metric(evidence, metric, value=0.0)
    text = VERDICT_SECTION.build(evidence).added
    assert mentions(text, "adds “I don’t know” and “None of the above” to the options of shapes")
    assert "0.0\u202f% on shapes" in text
