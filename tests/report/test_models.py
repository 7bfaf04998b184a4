"""The pages Models, Calibration and Datasets say what the tables contain."""

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd

from tests.report.html_page import Page
from tests.report.project import (
    Made,
    Make,
    mentions,
    part_of,
    texts,
    with_metric,
)
from vouch.prompts.rewrites.engines import rules
from vouch.prompts.rewrites.table import rows_of, variation_tasks
from vouch.report.cards import BREAKS
from vouch.report.config import ReportConfig
from vouch.report.formatting import NARROW
from vouch.report.page import Text
from vouch.report.pages.calibration import CALIBRATION_SECTION, UNCERTAINTY_SECTION
from vouch.report.pages.datasets import REWRITES_SECTION
from vouch.report.pages.image_use import LOOKS_SECTION, TYPOGRAPHIC_SECTION
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.models_detail import (
    CATEGORIES_SECTION,
    GENERATED_SECTION,
    OUTPUTS_SECTION,
    SCORES_SECTION,
)
from vouch.report.pages.ranking import RANKING_SECTION
from vouch.report.pages.robustness import INSTABILITY_SECTION, LETTERS_SECTION, ROBUSTNESS_SECTION
from vouch.report.pages.severity import SEVERITY_FIGURE, SEVERITY_SECTION
from vouch.report.pages.shift import SHIFT_FIGURE, SHIFT_SECTION, shift_frame
from vouch.report.pages.transfer import TRANSFER_SECTION
from vouch.report.pages.variations import VARIATIONS_FIGURE, VARIATIONS_SECTION
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.site import site

NAMES = ("original", "option_order", "ls_n", "blank")


def test_results_keep_to_a_few_columns(make: Make) -> None:
    part = part_of(RESULTS_SECTION, make(Made()))
    assert [column.label for column in part.grids[0].columns] == [
        *("Model", "Rank", "Items", "Accuracy %", "Coverage LAC %", "Coverage APS %"),
        *("Set size LAC", "Set size APS", "UAcc", "ECE %"),
    ]


def test_scores_stand_side_by_side(make: Make) -> None:
    part = part_of(SCORES_SECTION, make(Made()))
    lac, aps, saps = part.rows[:3]
    assert [texts(row[:2]) for row in (lac, aps, saps)] == [
        ["alpha", name] for name in ("LAC", "APS", "SAPS")
    ]
    assert (texts(lac[3:6]), lac[4].tone) == (["1.40", "90.0", "70.0"], "")
    assert (texts(saps[3:5]), saps[4].tone) == (["1.25", "80.0"], "bad")
    smallest, _, largest = part.sentences[0].partition(";")
    assert mentions(smallest, "alpha", "smallest", "SAPS", "1.25")
    assert mentions(largest, "largest", "APS", "2.40") and len(part.grids) == 1


def test_thresholds_for_parts_are_a_table_of_their_own(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}))
    of_sets = evidence.leaderboard[evidence.leaderboard["score"] == "lac"].copy()
    of_sets["alpha"] = 0.1
    frames = [of_sets.assign(calibration="marginal"), of_sets.assign(calibration="class")]
    frames.append(of_sets.assign(calibration="class", alpha=0.2, value=99.0))
    changed = replace(evidence, leaderboard=pd.concat(frames, ignore_index=True))
    part = part_of(SCORES_SECTION, changed)
    assert [row[1].text for row in part.grids[1].rows] == ["all questions", "each letter"]
    assert {row[2].text for row in part.grids[1].rows} == {"1.40"}


def test_calibration_before_and_after_temperature(make: Make) -> None:
    """By the NLL, and by the ECE of the same test half: one of all rows is smaller, whatever the temperature."""
    part = part_of(CALIBRATION_SECTION, make(Made(accuracy={"alpha": 0.8})))
    shown = part.cells()
    labels = ("NLL", "NLL after T", "T", "ECE, test half %", "ECE after T %", "AUROC %")
    assert texts(shown[label] for label in labels) == ["0.750", "0.700", "1.50", "6.0", "3.0", "75.0"]
    assert shown["AUROC %"].note == "70.0–80.0" and "MCE %" in shown and "Brier" not in shown
    (sentence,) = part.sentences
    assert mentions(sentence, "alpha is overconfident", "temperature of 1.50", "0.750 before, 0.700 after")
    assert f"ECE on the test half 6.0{NARROW}% before, 3.0{NARROW}% after" in sentence


def test_letters_that_are_chosen_too_often(make: Make) -> None:
    part = part_of(LETTERS_SECTION, make(Made(accuracy={"alpha": 0.8})))
    name, _, *numbers = part.rows[0]
    assert texts((name, *numbers)) == ["alpha", "12.5", "80.0", "85.0", "60.0", "40.0"]
    assert [cell.note for cell in numbers[-2:]] == ["50.0", "50.0"]
    assert mentions(part.sentences[0], "alpha chooses A for 60.0\u202f%", "correct for 50.0\u202f%")


def test_variations_that_lower_coverage_below_its_target(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}, variations=NAMES))
    part = part_of(SHIFT_SECTION, evidence)
    (sentence,) = part.sentences
    assert mentions(sentence, "alpha", "below the target of 90\u202f% in 1 of 2 variations")
    assert mentions(sentence, "60.0\u202f% (55.0–65.0), for negated question (ls_n)")
    found = {row[0].text: (row[2].text, row[3].text, row[3].tone) for row in part.rows}
    assert found == {
        "negated question": ("60.0", "below", "bad"),
        "options in reversed order": ("90.0", "on target", ""),
        "images blank": ("60.0", "below", "bad"),
    }
    assert list(found)[-1] == "images blank"


def test_the_figure_of_shift_leaves_controls_out(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}, variations=NAMES))
    frame = shift_frame(evidence, "shapes")
    verdicts = {"negated question": "below", "options in reversed order": "on target"}
    assert dict(zip(frame["asked"], frame["verdict"], strict=True)) == verdicts
    described = SHIFT_FIGURE.describe(evidence, "shapes")
    assert mentions(described, "alpha is shown to be below the target in 1 of 2", "60.0\u202f%")
    assert SHIFT_FIGURE.draw(evidence, "shapes") is not None


SILENT = (
    *(VARIATIONS_SECTION, SHIFT_SECTION, ROBUSTNESS_SECTION, INSTABILITY_SECTION, LOOKS_SECTION),
    *(TYPOGRAPHIC_SECTION, SEVERITY_SECTION, OUTPUTS_SECTION, GENERATED_SECTION, RANKING_SECTION),
    *(UNCERTAINTY_SECTION, TRANSFER_SECTION),
)
"""Sections that say nothing of original prompts asked for letters alone."""


def test_what_was_not_asked_has_no_section_and_no_figure(make: Make) -> None:
    evidence = make(Made())
    assert [section.name for section in SILENT if section.build(evidence) is not None] == []
    for figure in (VARIATIONS_FIGURE, SHIFT_FIGURE, SEVERITY_FIGURE):
        assert figure.draw(evidence, "shapes") is None
    assert BREAKS not in [card.question for card in VERDICT_SECTION.build(evidence).cards]
    varied = make(Made(variations=("original", "vr_b")))
    assert ROBUSTNESS_SECTION.build(varied) is None and INSTABILITY_SECTION.build(varied) is None
    pages = site(ReportConfig(title="t"), evidence, {})
    assert all(f'id="{section.anchor}"' not in page for section in SILENT for page in pages.values())
    assert LETTERS_SECTION.build(make(Made(outputs=("likelihood",)))) is None
    assert OUTPUTS_SECTION.build(make(Made(outputs=("text",)))) is None


ALL = ("letters", "likelihood", "text")


def test_headlines_rest_on_the_first_output(make: Make) -> None:
    evidence = make(Made(outputs=ALL))
    assert evidence.outputs("shapes") == ALL
    number = evidence.number("shapes", "alpha", "accuracy")
    beside = evidence.number("shapes", "alpha", "accuracy", output="likelihood")
    assert number is not None and number.value == 0.8
    assert beside is not None and round(beside.value, 9) == 0.5
    assert part_of(RESULTS_SECTION, evidence) == part_of(RESULTS_SECTION, make(Made()))


def test_outputs_stand_side_by_side(make: Make) -> None:
    part = part_of(OUTPUTS_SECTION, make(Made(outputs=ALL)))
    names = texts(row[1] for row in part.rows)
    letters, text = (part.cells(names.index(name)) for name in ("letters", "generated text"))
    labels = ("Model", "Accuracy %", "Set size LAC", "Unparsed %")
    assert len(names) == 9 and texts(text[label] for label in labels) == ["alpha", "50.0", "–", "5.0"]
    assert (letters["Accuracy %"].text, letters["Unparsed %"].text) == ("80.0", "–")
    best, worst = part.sentences[0].split(", but ")
    assert (
        mentions(best, "alpha", "80.0\u202f% of the questions", "by letters") and "50.0\u202f% by " in worst
    )
    unclear = part_of(OUTPUTS_SECTION, make(Made(outputs=ALL, half_width=0.4)))
    assert not any("likelihood" in sentence for sentence in unclear.sentences)


def test_generated_answers_show_rates_and_certainty(make: Make) -> None:
    part = part_of(GENERATED_SECTION, make(Made(outputs=("text",))))
    labels = ("Accuracy %", "Unparsed %", "NLL", "Agreement %")
    assert texts(part.cells()[label] for label in labels) == ["80.0", "5.0", "0.500", "87.5"]
    assert "temperature 0.7" in part.grids[0].columns[-1].help
    assert mentions(part.sentences[0], "alpha: 8.0\u202f%", "between 80.0\u202f%", "and 88.0\u202f%")


def test_every_confidence_of_a_text_has_columns(make: Make) -> None:
    evidence = make(Made(outputs=("text",)))
    rows = evidence.leaderboard
    more = [
        rows[rows["metric"] == "nll_avg"].assign(score=score, metric=metric, value=value)
        for score, value in (("verbalised", 0.25), ("t0.7", 0.125))
        for metric in ("ece", "auroc", "brier_answer")
    ]
    shown = part_of(GENERATED_SECTION, replace(evidence, leaderboard=pd.concat([rows, *more]))).cells()
    labels = ("ECE %, stated", "AUROC %, stated", "Brier, stated", "ECE %, agreement", "AUROC %, agreement")
    assert texts(shown[label] for label in labels) == ["25.0", "25.0", "0.250", "12.5", "12.5"]


def test_a_page_about_texts_alone_is_whole(make: Make) -> None:
    evidence = make(Made(outputs=("text",), variations=("original", "vr_b")))
    found = Page(site(ReportConfig(title="Vouch"), evidence, {})["pages/models.html"])
    assert found.crossed == []
    assert {"generated", "results"} <= {a["id"] for a in found.all("section") if "id" in a}


def test_sets_of_another_calibration_or_alpha_are_no_headlines(make: Make) -> None:
    evidence = make(Made())
    rows = evidence.leaderboard
    sets = rows["metric"].isin(["coverage", "set_size", "uacc"])
    main = rows.assign(calibration=rows["calibration"].mask(sets, "marginal"), alpha=(0.1 * sets).mask(~sets))
    others = [main[sets].assign(calibration="class"), main[sets].assign(alpha=0.2)]
    more = replace(evidence, leaderboard=pd.concat([main, *(each.assign(value=99.0) for each in others)]))
    assert part_of(RESULTS_SECTION, more) == part_of(RESULTS_SECTION, evidence)


def test_language_models_are_no_part_of_the_mean_of_a_category(make: Make) -> None:
    evidence = make(Made(categories=("red", "blue")))
    blind = with_metric(evidence, "blind_rate", "model == 'gamma' and category == 'all'", value=1.0)
    label = "Accuracy %, all models"
    every, seeing = (part_of(CATEGORIES_SECTION, each).cells()[label].key for each in (evidence, blind))
    assert every is not None and seeing is not None and seeing > every


def test_the_page_says_that_rules_are_english() -> None:
    questions = dict.fromkeys(
        ("Determine a area do triangulo", "Describe la imagen", "Where is the bike?"), True
    )
    engine = rules.Rules()
    rows = rows_of(
        variation_tasks(questions, ["lr_i", "lr_c"]), {}, lambda tasks: dict(engine.ask(tasks)), "rules/3"
    )
    assert {row["reason"] for row in rows[:4]} == {rules.NOT_ENGLISH} and rows[4]["status"] == "accepted"
    frame = pd.DataFrame([{**row, "dataset": "kites"} for row in rows])
    section = REWRITES_SECTION.build(SimpleNamespace(rewrites=frame))  # type: ignore[arg-type]
    assert section is not None
    (text,) = [str(block.text) for part in section.parts for block in part.blocks if isinstance(block, Text)]
    assert "rules are English" in text and "2 of kites" in text
