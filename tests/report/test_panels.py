"""The sections on scores, calibration, letters and prompt shift say what the leaderboard contains."""

from dataclasses import replace

import pandas as pd

from tests.report.project import Made, Make, mentions, parts
from vouch.report.formatting import NARROW
from vouch.report.pages.calibration import CALIBRATION_SECTION
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.models_detail import SCORES_SECTION
from vouch.report.pages.robustness import LETTERS_SECTION, SHIFT_FIGURE, SHIFT_SECTION, shift_frame

NAMES = ("original", "option_order", "ls_n", "blank")


def test_results_keep_to_a_few_columns(make: Make) -> None:
    (part,) = parts(RESULTS_SECTION.build(make(Made())))
    assert [column.label for column in part.grids[0].columns] == [
        *("Model", "Rank", "Items", "Accuracy %", "Coverage LAC %", "Coverage APS %"),
        *("Set size LAC", "Set size APS", "UAcc", "ECE %"),
    ]


def test_scores_stand_side_by_side(make: Make) -> None:
    (part,) = parts(SCORES_SECTION.build(make(Made())))
    assert [(row[0].text, row[1].text) for row in part.grids[0].rows][:3] == [
        ("alpha", "LAC"),
        ("alpha", "APS"),
        ("alpha", "SAPS"),
    ]
    lac, _, saps = part.grids[0].rows[:3]
    assert (lac[3].text, lac[4].text, lac[4].tone, lac[5].text) == ("1.40", "90.0", "", "70.0")
    assert (saps[3].text, saps[4].text, saps[4].tone) == ("1.25", "80.0", "bad")
    smallest, _, largest = part.sentences[0].partition(";")
    assert mentions(smallest, "alpha", "smallest", "SAPS", "1.25") and mentions(
        largest, "largest", "APS", "2.40"
    )
    assert len(part.grids) == 1


def test_thresholds_for_parts_are_a_table_of_their_own(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}))
    of_sets = evidence.leaderboard[evidence.leaderboard["score"] == "lac"].copy()
    of_sets["alpha"] = 0.1
    frames = [of_sets.assign(calibration="marginal"), of_sets.assign(calibration="class")]
    frames.append(of_sets.assign(calibration="class", alpha=0.2, value=99.0))
    changed = replace(evidence, leaderboard=pd.concat(frames, ignore_index=True))
    (part,) = parts(SCORES_SECTION.build(changed))
    assert [row[1].text for row in part.grids[1].rows] == ["all questions", "each letter"]
    assert {row[2].text for row in part.grids[1].rows} == {"1.40"}


def test_calibration_before_and_after_temperature(make: Make) -> None:
    """By the NLL, and by the ECE of the same test half: one of all rows is smaller, whatever the temperature."""
    (part,) = parts(CALIBRATION_SECTION.build(make(Made(accuracy={"alpha": 0.8}))))
    shown = dict(zip((c.label for c in part.grids[0].columns), part.grids[0].rows[0], strict=True))
    shown |= dict(zip((c.label for c in part.grids[1].columns), part.grids[1].rows[0], strict=True))
    assert (shown["NLL"].text, shown["NLL after T"].text, shown["T"].text) == ("0.750", "0.700", "1.50")
    assert (shown["ECE, test half %"].text, shown["ECE after T %"].text) == ("6.0", "3.0")
    assert "MCE %" in shown
    assert (shown["AUROC %"].text, shown["AUROC %"].note) == ("75.0", "70.0–80.0")
    assert "Brier" not in shown
    (sentence,) = part.sentences
    assert mentions(
        sentence, "alpha is overconfident", "temperature of 1.50", "NLL 0.750 before, 0.700 after"
    )
    assert f"ECE on the test half 6.0{NARROW}% before, 3.0{NARROW}% after" in sentence


def test_letters_that_are_chosen_too_often(make: Make) -> None:
    (part,) = parts(LETTERS_SECTION.build(make(Made(accuracy={"alpha": 0.8}))))
    name, _, bias, accuracy, debiased, first, second = part.grids[0].rows[0]
    assert (name.text, bias.text, accuracy.text, debiased.text) == ("alpha", "12.5", "80.0", "85.0")
    assert (first.text, first.note, second.text, second.note) == ("60.0", "50.0", "40.0", "50.0")
    (sentence,) = part.sentences
    assert mentions(sentence, "alpha chooses A for 60.0\u202f%", "correct for 50.0\u202f%")
    assert LETTERS_SECTION.build(make(Made(outputs=("likelihood",)))) is None


def test_variations_that_violate_the_coverage_guarantee(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}, variations=NAMES))
    (part,) = parts(SHIFT_SECTION.build(evidence))
    (sentence,) = part.sentences
    assert mentions(sentence, "alpha", "breaks the coverage of 90\u202f% in 1 of 2 variations")
    assert mentions(sentence, "60.0\u202f% (55.0–65.0), for negated question (ls_n)")
    found = {row[0].text: (row[2].text, row[3].text, row[3].tone) for row in part.grids[0].rows}
    assert found == {
        "negated question": ("60.0", "broken", "bad"),
        "options in reversed order": ("90.0", "unclear", "quiet"),
        "images blank": ("60.0", "broken", "bad"),
    }
    assert list(found)[-1] == "images blank"


def test_the_figure_of_shift_leaves_controls_out(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}, variations=NAMES))
    frame = shift_frame(evidence, "shapes")
    assert dict(zip(frame["asked"], frame["guarantee"], strict=True)) == {
        "negated question": "broken",
        "options in reversed order": "unclear",
    }
    described = SHIFT_FIGURE.describe(evidence, "shapes")
    assert mentions(described, "alpha is shown to break the target in 1 of 2", "60.0\u202f%")
    assert SHIFT_FIGURE.draw(evidence, "shapes") is not None


def test_nothing_asked_otherwise_nothing_said(make: Make) -> None:
    evidence = make(Made())
    assert SHIFT_SECTION.build(evidence) is None
    assert SHIFT_FIGURE.draw(evidence, "shapes") is None
