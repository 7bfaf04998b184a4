"""What the report says of variations: their costs, the image, severity, reliability, coverage under shift."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.report.html_page import Page
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
    with_rows,
)
from vouch.prompts.variations import in_words, meaning
from vouch.report.cards import BREAKS, ELSEWHERE, FIRST, LOOKS
from vouch.report.claims import image_claims
from vouch.report.config import ReportConfig
from vouch.report.costs import ACCURACY, changes, real_changes
from vouch.report.evidence import Evidence
from vouch.report.leaders import leaders
from vouch.report.page import Beside
from vouch.report.pages.calibration import UNCERTAINTY_SECTION
from vouch.report.pages.datasets import DATA_SECTION
from vouch.report.pages.image_use import LOOKS_SECTION, TYPOGRAPHIC_SECTION
from vouch.report.pages.robustness import INSTABILITY_SECTION, ROBUSTNESS_SECTION
from vouch.report.pages.severity import SEVERITY_FIGURE, SEVERITY_SECTION, severity_frame
from vouch.report.pages.shift import SHIFT_SECTION
from vouch.report.pages.variations import VARIATIONS_FIGURE, VARIATIONS_SECTION, variations_frame
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.site import site
from vouch.report.table import Cell, Grid

NAMES = ("original", "blank", "option_order", "vr_b")


def test_the_dearest_change_is_named_beside_the_verdict(make: Make) -> None:
    evidence = with_cost(make(Made(variations=NAMES)), "vr_b", difference=-0.3, low=-0.4, high=-0.2)
    card = VERDICT_SECTION.build(evidence).cards[0]
    assert (card.question, card.answer) == (FIRST, "Images blurred (vr_b): 30.0 points lost")
    assert mentions(card.why, "alpha then answers 60.0\u202f% of 80 questions", "original", "80.0\u202f%")
    assert "loss of 20.0–40.0 points" in card.why
    dearer = with_cost(evidence, "option_order", difference=-0.5, low=-0.6, high=-0.4)
    assert VERDICT_SECTION.build(dearer).cards[0].answer.startswith("Options in reversed order")


def test_the_dearest_change_is_looked_for_on_every_dataset(make: Make) -> None:
    evidence = with_cost(
        make(Made(datasets=("cubes", "shapes"), variations=NAMES)), "vr_b", low=-0.1, high=0.1
    )
    for dataset, loss in (("cubes", -0.1), ("shapes", -0.3)):
        where = f"dataset == '{dataset}' and variation == 'option_order' and metric == 'accuracy'"
        evidence = edited(evidence, "costs", where, difference=loss, low=loss - 0.05, high=loss + 0.05)
    first, elsewhere = VERDICT_SECTION.build(evidence).cards[:2]
    assert (first.answer, elsewhere.question) == ("No bad news here", ELSEWHERE)
    assert elsewhere.answer.endswith(": 30.0 points lost (shapes)") and "On shapes: " in elsewhere.why


@pytest.mark.parametrize("ends", [(-0.4, 0.01), (None, None)])
def test_a_loss_that_may_be_none_is_no_loss(make: Make, ends: tuple[float | None, float | None]) -> None:
    evidence = make(Made(variations=NAMES))
    for name in NAMES[2:]:
        evidence = with_cost(evidence, name, difference=-0.3, low=ends[0], high=ends[1])
    card = VERDICT_SECTION.build(evidence).cards[2]
    assert card.answer == "None shown" and "None of 2 variations of the prompt" in card.why
    part = part_of(VARIATIONS_SECTION, evidence)
    assert part.sentences[0] == "No variation is shown to lower the accuracy of alpha."


def test_the_control_is_no_change_of_the_prompt(make: Make) -> None:
    evidence = with_cost(
        make(Made(variations=NAMES)), "blank", value=0.3, difference=-0.5, low=-0.6, high=-0.4
    )
    assert "blank" not in "".join(card.why for card in VERDICT_SECTION.build(evidence).cards)
    part = part_of(VARIATIONS_SECTION, evidence)
    assert "Without images, alpha is 30.0\u202f% correct (chance 29\u202f%)." in part.sentences
    assert not any("blank" in sentence and "costs" in sentence for sentence in part.sentences)
    drawn = set(variations_frame(evidence, "shapes", "accuracy")["variation"])
    assert drawn == {"options in reversed order", "images blurred"}
    alone = make(Made(variations=NAMES[:2]))
    assert BREAKS not in [card.question for card in VERDICT_SECTION.build(alone).cards]
    assert VARIATIONS_FIGURE.draw(alone, "shapes") is None
    part = part_of(VARIATIONS_SECTION, alone)
    assert [row[0].note for row in part.rows] == ["blank"] * 3


def test_rows_hold_the_change_and_say_whether_it_can_be_told(make: Make) -> None:
    evidence = with_cost(
        make(Made(variations=NAMES)), "vr_b", "confidence", difference=0.01, low=-0.01, high=0.03
    )
    evidence = with_cost(evidence, "vr_b", difference=-0.4, low=-0.45, high=-0.35)
    part = part_of(VARIATIONS_SECTION, evidence)
    rows = {(row[0].note, row[1].text): row for row in part.rows}
    assert list(rows) == [
        (v, m) for v in ("option_order", "vr_b", "blank") for m in ("alpha", "beta", "gamma")
    ]
    name, model, accuracy, change, certainty, lac, _, flipped, _ = rows["vr_b", "alpha"]
    assert (name.text, model.text, accuracy.text) == ("images blurred", "alpha", "60.0")
    assert (change.text, change.note, change.tone) == ("−40.0", "−45.0 to −35.0", "bad")
    assert rows["option_order", "alpha"][3].tone == "quiet", "less than so many claims show"
    assert (certainty.text, certainty.tone) == ("1.0", "")
    assert (lac.text, lac.tone, flipped.text) == ("0.50", "", "30.0")


def flipped(
    make: Make, guess: float, models: Sequence[str] = ("alpha",), **changes: float | None
) -> Evidence:
    """Questions that are negated: answers flip, and a guess among what is then correct is right so often."""
    made = Made(accuracy=dict.fromkeys(models, 0.5), variations=("original", "ls_n"))
    evidence = with_cost(make(made), "ls_n", **changes)
    evidence = edited(evidence, "costs", "metric == 'flipped'", metric="not_flipped")
    return with_metric(evidence, "random_accuracy", "variation == 'ls_n'", value=guess)


def test_accuracy_that_a_guess_gains_is_no_gain(make: Make) -> None:
    """Of four options one is right, and three are once the question is negated: who had one third of what a guess
    leaves has 5/6 then."""
    evidence = flipped(make, 0.75, value=0.6, original=0.5, difference=0.1, low=0.05, high=0.15)
    part = part_of(VARIATIONS_SECTION, evidence)
    lower, gives = part.sentences
    assert mentions(
        lower, "Shown to lower the accuracy of alpha: negated question (ls_n)", "60.0\u202f% correct"
    )
    assert mentions(lower, "(chance 75\u202f%) instead of 50.0\u202f% (chance 25\u202f%)")
    assert mentions(gives, "egated question (ls_n)", "guessing gives 75\u202f% instead of 25\u202f%")
    assert (part.rows[0][2].text, part.rows[0][2].note) == ("60.0", "guess 75")
    card = VERDICT_SECTION.build(evidence).cards[0]
    assert (card.question, card.answer) == (FIRST, "Negated question (ls_n): no better than guessing")
    assert "alpha then answers 60.0\u202f% of 80 questions correctly" in card.why
    shares = [card.why.index(share) for share in ("60.0\u202f%", "75\u202f%", "50.0\u202f%", "25\u202f%")]
    assert shares == sorted(shares)
    frame = variations_frame(evidence, "shapes", "accuracy")
    assert frame["verdict"].tolist() == ["costs"]
    assert frame[["value", "low", "high"]].to_numpy()[0] == pytest.approx([-70 / 3, -85 / 3, -55 / 3])
    assert "23.3 points of accuracy over guessing" in VARIATIONS_FIGURE.describe(evidence, "shapes")


def test_who_is_always_right_loses_nothing_by_a_flip(make: Make) -> None:
    """As far from a guess as before: a guess gains 50 points, a model that cannot gain any has lost none."""
    evidence = flipped(make, 0.75, value=1.0, original=1.0, difference=0.0, low=-0.01, high=0.01)
    part = part_of(VARIATIONS_SECTION, evidence)
    assert part.sentences[0] == "No variation is shown to lower the accuracy of alpha."
    assert variations_frame(evidence, "shapes", "accuracy")["verdict"].tolist() == ["not shown"]


def test_of_two_options_a_guess_is_right_as_often_when_they_are_flipped(make: Make) -> None:
    evidence = flipped(make, 0.5, value=0.3, original=0.5, difference=-0.2, low=-0.25, high=-0.15)
    part = part_of(VARIATIONS_SECTION, evidence)
    assert part.sentences == (
        "Shown to lower the accuracy of alpha: negated question (ls_n): 20.0 points (15.0–25.0).",
    )
    assert part.rows[0][2].note == ""
    assert VERDICT_SECTION.build(evidence).cards[0].answer == "Negated question (ls_n): 20.0 points lost"


def heat(evidence: Evidence) -> dict[str, list[Cell]]:
    """Cells of the heat map by variation."""
    section = VARIATIONS_SECTION.build(evidence)
    assert section is not None
    (beside,) = section.parts[0].blocks
    assert isinstance(beside, Beside)
    (grid,) = beside.blocks
    assert isinstance(grid, Grid) and grid.heat
    return {row[0].note: list(row[1:]) for row in grid.rows}


def test_the_heat_map_is_beyond_a_guess_and_coloured_where_that_is_shown(make: Make) -> None:
    evidence = with_cost(make(Made(variations=NAMES)), "vr_b", difference=0.01, low=-0.01, high=0.03)
    rows = heat(with_cost(evidence, "option_order", difference=-0.4, low=-0.45, high=-0.35))
    assert list(rows) == ["option_order", "vr_b", "blank"], "the control comes last"
    assert texts(rows["option_order"]) == ["80", "−40.0", "−40.0", "−40.0"]
    assert [cell.shade for cell in rows["option_order"][1:]] == ["loss-4", "loss-4", "loss-4"]
    for name, text in (("vr_b", "1.0"), ("blank", "−20.0")):
        assert {(cell.text, cell.tone, cell.shade) for cell in rows[name][1:]} == {(text, "quiet", "")}
    gained = flipped(make, 0.75, value=0.6, original=0.5, difference=0.1, low=0.05, high=0.15)
    assert [(cell.text, cell.shade) for cell in heat(gained)["ls_n"]] == [("80", ""), ("−23.3", "loss-4")]
    part = part_of(VARIATIONS_SECTION, gained)
    assert (part.rows[0][3].text, part.rows[0][3].note) == ("−23.3", "−28.3 to −18.3")
    guessing = make(Made(accuracy={"alpha": 0.3}, variations=NAMES))
    assert {cell.shade for row in heat(guessing).values() for cell in row} == {""}


def test_the_figure_judges_what_is_shown(make: Make) -> None:
    evidence = make(Made(variations=("original", "a", "b", "c")))
    evidence = with_cost(evidence, "a", difference=0.4, low=0.35, high=0.45)
    evidence = with_cost(evidence, "b", difference=0.1, low=None, high=None)
    evidence = with_cost(evidence, "c", difference=-0.3, low=-0.4, high=-0.2)
    frame = variations_frame(evidence, "shapes", "accuracy")
    verdicts = dict(zip(frame["variation"], frame["verdict"], strict=True))
    assert verdicts == {"a": "gains", "b": "not shown", "c": "costs"}
    assert pd.isna(frame.loc[frame["variation"] == "b", "low"]).all()
    assert VARIATIONS_FIGURE.draw(evidence, "shapes") is not None
    assert "c costs alpha 30.0 points" in VARIATIONS_FIGURE.describe(evidence, "shapes")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vr_b", "images blurred"),
        ("vr_b_5", "images blurred, level 5"),
        ("option_order+vr_b_5", "options in reversed order + images blurred, level 5"),
        ("rotated", None),
        ("rotated_2", None),
        ("rotated+vr_b", None),
    ],
)
def test_levels_and_combinations_in_words(name: str, words: str | None) -> None:
    assert in_words(name) == words
    assert meaning(name) == (words or name)


def test_a_control_is_no_change() -> None:
    found = {("m", name, *ACCURACY): None for name in ("vr_b", "text_only", "dialogue+text_only", "blank")}
    assert changes(found) == ("vr_b", "blank", "dialogue+text_only", "text_only")
    assert real_changes(found) == ("vr_b",)


MADE = Made(variations=("original", "blank"))


def row(model: str, change: str, score: str, metric: str, value: float, half: float) -> dict[str, Any]:
    place = {"model": model, "variation": change, "score": score, "metric": metric}
    return place | {"value": value, "low": value - half, "high": value + half}


def seeing(evidence: Evidence, original: float = 0.8, without: float = 0.3, half: float = 0.05) -> Evidence:
    """With image gain, and these accuracies with and without the image."""
    gap = without - original
    numbers = {"original": original, "value": without, "difference": gap, "low": gap - half}
    return with_rows(
        edited(evidence, "costs", "metric == 'accuracy'", **numbers, high=gap + half),
        *(row(model, "blank", "", "image_gain", 1.5, 0.1) for model in ("alpha", "beta", "gamma")),
        row("alpha", "blank", "", "ece_gain", -0.01, 0.005),
    )


def card(evidence: Evidence) -> Any:
    return next((one for one in VERDICT_SECTION.build(evidence).cards if one.question == LOOKS), None)


def test_the_front_page_says_what_the_answers_lose(make: Make) -> None:
    found = card(seeing(make(MADE)))
    assert mentions(found.answer, "Yes: 80\u202f%", "30\u202f% without")
    assert mentions(found.why, "loses 50.0 (45.0–55.0) points", "29\u202f%", "text alone")
    (better, blind) = parts(LOOKS_SECTION.build(seeing(make(MADE))))[0].sentences
    assert better == "Shown to answer better with the image: alpha, beta and gamma."
    assert "without the image" in blind


def test_an_image_that_misleads_is_named(make: Make) -> None:
    found = card(seeing(make(MADE), 0.3, 0.8))
    assert mentions(found.answer, "It misleads: 30\u202f%", "80\u202f% without")
    assert mentions(found.why, "gains 50.0 (45.0–55.0) points")
    assert leaders(seeing(make(MADE), 0.3, 0.8), "shapes") == ()
    sentences = part_of(LOOKS_SECTION, seeing(make(MADE), 0.3, 0.8)).sentences
    assert "No model is shown to answer better with the image." in sentences


@pytest.mark.parametrize(("without", "half"), [(0.75, 0.1), (0.8, 0.0)])
def test_image_gain_alone_shows_nothing(make: Make, without: float, half: float) -> None:
    """With noisy logits it is above 0 even if the image is not used: no model is best then."""
    evidence = seeing(make(MADE), 0.8, without, half)
    assert leaders(evidence, "shapes") == () and leaders(make(MADE), "shapes")
    view = VERDICT_SECTION.build(evidence)
    assert mentions(view.headline, "No model is shown to use the image on shapes")
    assert mentions(view.because, "guessing", "alpha is not shown to lose accuracy without the image")
    assert card(evidence).answer == "Not shown"
    assert "No model is shown to answer better with the image." in part_of(LOOKS_SECTION, evidence).sentences
    assert card(make(Made())) is None and LOOKS_SECTION.build(make(MADE)) is None


def test_open_questions_have_no_guess_to_be_better_than(make: Make) -> None:
    evidence = seeing(make(MADE))
    items = evidence.items.assign(options=[[]] * len(evidence.items))
    kinds = [{kind for _, _, kind in image_claims(one)} for one in (evidence, replace(evidence, items=items))]
    assert kinds == [{"loss", "blind"}, {"loss"}]


def test_a_guess_answers_no_open_question_and_only_graded_questions_count(make: Make) -> None:
    """As beside a blind baseline, so that a page has one accuracy of a guess."""
    evidence = make(Made())
    items = evidence.items.assign(options=[[], ["a", "b"]] * (len(evidence.items) // 2))
    mixed = replace(evidence, items=items)
    assert mixed.chance("shapes") == pytest.approx(1 / 4)
    asked = evidence.outcomes["item"].isin(items["id"][items["options"].map(len) > 0])
    choices = replace(mixed, outcomes=evidence.outcomes[asked])
    assert choices.chance("shapes") == pytest.approx(1 / 2)
    ungraded = edited(mixed, "outcomes", "clean_correct == clean_correct", clean_correct=float("nan"))
    assert ungraded.chance("shapes") == 0


def test_small_data_claim_nothing(make: Make) -> None:
    evidence = seeing(make(MADE))
    items = evidence.items.assign(group=[f"g{row % 12}" for row in range(len(evidence.items))])
    small = replace(evidence, items=items)
    assert image_claims(evidence) and not image_claims(small)
    assert card(small) is None


def test_if_some_questions_have_no_image_accuracies_with_and_without_are_of_the_same(make: Make) -> None:
    evidence = seeing(make(MADE), 0.375, 0.375)
    images = [of if place % 2 else [] for place, of in enumerate(evidence.items["images"])]
    mixed = replace(evidence, items=evidence.items.assign(images=images))
    assert part_of(LOOKS_SECTION, mixed).cells()["Accuracy with %"].text == "37.5"
    seen = seeing(mixed, 0.8, 0.3)
    assert f"on the {ITEM_COUNT} questions with an image" in card(seen).why
    assert "questions with an image" not in card(seeing(evidence, 0.8, 0.3)).why


def test_without_the_image_guessing_is_that_of_the_questions_with_one(make: Make) -> None:
    evidence = make(MADE)
    answers = [[0] if place % 2 else [0, 1, 2] for place in range(len(evidence.items))]
    images = [["d"] if place % 2 else [] for place in range(len(evidence.items))]
    evidence = replace(evidence, items=evidence.items.assign(answers=answers, images=images))
    claims = image_claims(seeing(evidence, 0.8, 0.6))
    assert claims["shapes", "alpha", "blind"].null == evidence.chance_with_image("shapes")
    assert evidence.chance_with_image("shapes") < evidence.chance("shapes")


def with_blind(evidence: Evidence, model: str) -> Evidence:
    return with_metric(evidence, "blind_rate", f"model == '{model}'", value=1.0)


def test_what_is_the_original_prompt_to_a_language_model_has_a_dash(make: Make) -> None:
    names = ("original", "ls_n", "vr_b", "vr_b+ls_n")
    evidence = with_blind(make(Made(variations=names)), "gamma")
    grids = [
        build(evidence).parts[0].blocks[0].blocks[0]
        for build in (VARIATIONS_SECTION.build, SHIFT_SECTION.build)
    ]
    for grid in grids:
        column = [each.label for each in grid.columns].index("gamma")
        shown = {row[0].note: (row[column].text == "–", row[column - 1].text == "–") for row in grid.rows}
        assert shown["vr_b"] == (True, False), grid.name
        assert shown["ls_n"] == shown["vr_b+ls_n"] == (False, False), grid.name
    rows = {(row[0].note, row[1].text): row for row in part_of(VARIATIONS_SECTION, evidence).rows}
    _, _, accuracy, change, *others = rows["vr_b", "gamma"]
    assert accuracy.text != "–" and (change.text, change.note) == ("–", "the original prompt")
    assert {each.text for each in others} == {"–"}
    assert rows["vr_b", "beta"][3].text != "–"
    drawn = variations_frame(evidence, "shapes", "accuracy")
    of_gamma = set(drawn["variation"][drawn["model"] == "gamma"])
    assert "negated question" in of_gamma and "images blurred" not in of_gamma
    asked = compared(evidence)
    both = {each: part_of(ROBUSTNESS_SECTION, each).rows for each in (asked, with_blind(asked, "beta"))}
    named = [{row[1].text for row in rows if row[0].note == "vr_b"} for rows in both.values()]
    assert named == [{"alpha", "beta"}, {"alpha"}]


def test_set_sizes_that_cannot_be_compared_say_why(make: Make) -> None:
    evidence = make(Made(variations=NAMES))
    costs = evidence.costs
    without = replace(evidence, costs=costs[(costs["metric"] != "set_size") | (costs["model"] != "alpha")])
    rows = {(row[0].note, row[1].text): row for row in part_of(VARIATIONS_SECTION, without).rows}
    assert {(cell.text, cell.note) for cell in rows["vr_b", "alpha"][5:7]} == {("–", "too few to calibrate")}
    assert rows["vr_b", "beta"][5].text == "0.50"
    none = replace(evidence, costs=costs[costs["metric"] != "set_size"])
    assert VARIATIONS_FIGURE.draw(none, "shapes") is not None, "accuracy and confidence are drawn"


def test_the_front_page_counts_the_questions_without_an_image(make: Make) -> None:
    evidence = make(MADE)
    assert "without an image" not in VERDICT_SECTION.build(evidence).because
    images = [of if place % 4 else [] for place, of in enumerate(evidence.items["images"])]
    mixed = replace(evidence, items=evidence.items.assign(images=images))
    view, count = VERDICT_SECTION.build(mixed), f"{len(images) // 4} without an image"
    assert f"({count})" in view.because
    assert count in [cell.note for cell in view.grid.rows[0]]
    assert count in [cell.note for cell in DATA_SECTION.build(mixed).parts[0].blocks[0].rows[0]]


def test_the_table_has_both_accuracies_and_what_correcting_changes(make: Make) -> None:
    cells = part_of(LOOKS_SECTION, seeing(make(MADE))).cells()
    labels = ("Image", "Model", "Accuracy with %", "Accuracy without %", "Image gain", "ECE, change")
    assert texts(cells[label] for label in labels) == [
        "images blank",
        "alpha",
        "80.0",
        "60.0",
        "1.50",
        "−1.0",
    ]


def test_signs_stand_beside_confidence_with_their_gain(make: Make) -> None:
    evidence = with_rows(
        make(Made()),
        row("alpha", "original", "confidence", "uncertainty_auroc", 0.75, 0.05),
        row("alpha", "original", "semantic_entropy_t0.7", "uncertainty_auroc", 0.8, 0.05),
        row("alpha", "original", "semantic_entropy_t0.7", "uncertainty_gain", 0.05, 0.02),
        row("alpha", "original", "entropy", "uncertainty_auroc", 0.76, 0.05),
        row("alpha", "original", "entropy", "uncertainty_gain", 0.01, 0.02),
        row("alpha", "original", "festa", "uncertainty_auroc", 0.8, 0.05),
        row("alpha", "original", "festa", "uncertainty_gain", 0.05, 0.02),
        row("alpha", "original", "festa", "uncertainty_unknown", 40.0, 0),
        row("beta", "original", "confidence", "uncertainty_auroc", 0.7, 0.05),
        row("beta", "original", "festa", "uncertainty_unknown", 1200.0, 0),
    )
    shown = part_of(UNCERTAINTY_SECTION, evidence).grids[0]
    assert [column.label.removesuffix(" AUROC %") for column in shown.columns[2:]] == [
        *("Confidence", "Entropy", "FESTA", "Semantic entropy")
    ]
    assert "temperature 0.7" in shown.columns[5].help
    (*_, plain, entropy, festa, semantic), (*_, too_few, _) = shown.rows
    assert (festa.text, festa.note) == ("80.0", "5.0 (3.0–7.0), too few prompts for 40")
    assert (too_few.text, too_few.note) == ("–", "too few prompts for 1,200")
    assert (plain.text, plain.note, entropy.tone, semantic.tone) == ("75.0", "", "", "strong")
    assert semantic.note == "5.0 (3.0–7.0)"


def test_who_falls_for_painted_words(make: Make) -> None:
    names = ("original", "typographic_control", "typographic")
    evidence = make(Made(variations=names))
    assert TYPOGRAPHIC_SECTION.build(evidence) is None
    evidence = with_rows(
        evidence,
        *(
            row("alpha", name, "", "painted_chosen", 0.1 * (place + 1), 0.02)
            for place, name in enumerate(names)
        ),
        row("alpha", "typographic", "", "painted_gain", 0.1, 0.03),
        row("beta", "typographic", "", "painted_gain", 0.01, 0.03),
    )
    shown = part_of(TYPOGRAPHIC_SECTION, evidence).grids[0]
    alpha, beta = shown.rows[:2]
    assert texts(alpha[2:]) == ["80.0", "60.0", "60.0", "10.0", "20.0", "30.0", "10.0"]
    assert (alpha[-1].tone, beta[-1].tone) == ("bad", "")


def test_severity_is_drawn_where_it_was_studied(make: Make) -> None:
    assert SEVERITY_SECTION.build(make(Made(variations=("original", "vr_b_5", "vr_l")))) is None
    evidence = make(Made(variations=("original", "noise_1", "noise", "vr_b_5")))
    data = severity_frame(evidence, "shapes")
    noise = data[(data["kind"] == "images with noise") & (data["model"] == "alpha")]
    assert noise[["level", "value"]].round(6).to_numpy().tolist() == [[0, 0.8], [1, 0.6], [3, 0.6]]
    assert list(dict.fromkeys(data["kind"])) == ["images blurred", "images with noise"]
    assert SEVERITY_SECTION.build(evidence) is not None
    assert mentions(
        SEVERITY_FIGURE.describe(evidence, "shapes"), "alpha", "from 80\u202f% to 60\u202f% at level 3"
    )
    (loss,) = SEVERITY_SECTION.summary(evidence)
    assert mentions(loss, "The largest loss, not tested: ", " from 60\u202f% to 40\u202f% at level 5")
    better = edited(evidence, "leaderboard", "metric == 'accuracy' and variation != 'original'", value=0.9)
    assert list(SEVERITY_SECTION.summary(better)) == [], "no gain is called a loss"


PARC = {"reliability": 0.25, "accuracy_calibrated": 0.5, "certainty": 0.5, "consistency_calibrated": 0.75}


def compared(evidence: Evidence) -> Evidence:
    rows: list[dict[str, Any]] = []
    for place, model in enumerate(("alpha", "beta")):
        for metric, value in PARC.items():
            if metric != "consistency_calibrated":
                rows.append({"model": model, "variation": "original", "metric": metric, "value": value})
            rows.append({"model": model, "variation": "vr_b", "metric": metric, "value": -value})
            every = {"variation": "", "score": "every_prompt", "value": value + 0.1 * place}
            rows.append({"model": model, "metric": metric} | every)
    return with_rows(evidence, *rows)


def test_every_variation_and_their_mean_stand_in_one_table(make: Make) -> None:
    evidence = compared(make(Made(variations=("original", "vr_b"))))
    assert evidence.variations("shapes") == ("original", "vr_b")
    part = part_of(ROBUSTNESS_SECTION, evidence)
    assert {row[2].text for row in part.rows} == {str(ITEM_COUNT)}
    shown = [[cell.text for cell in (*row[:2], *row[3:])] for row in part.rows]
    assert shown == [
        ["original", "alpha", "0.25", "0.50", "0.50", "–"],
        ["original", "beta", "0.25", "0.50", "0.50", "–"],
        ["images blurred", "alpha", "−0.25", "−0.50", "−0.50", "−0.75"],
        ["images blurred", "beta", "−0.25", "−0.50", "−0.50", "−0.75"],
        ["all", "alpha", "0.25", "0.50", "0.50", "0.75"],
        ["all", "beta", "0.35", "0.60", "0.60", "0.85"],
    ]
    page = Page(site(ReportConfig(title="t"), evidence, {})["pages/variations.html"])
    assert "robustness" in {a["id"] for a in page.all("section") if "id" in a}


def test_instability_beside_its_control(make: Make) -> None:
    place = {"model": "alpha", "variation": "instruction", "output": "letters"}
    evidence = with_rows(
        make(Made()),
        place | {"metric": "instability", "value": 0.5, "low": 0.4, "high": 0.6},
        place | {"metric": "instability", "score": "t0.2", "value": 0.125},
        place | {"metric": "instability", "score": "first_t0.2", "value": 0.25},
        place | {"metric": "accuracy_range", "value": 0.04},
    )
    part = part_of(INSTABILITY_SECTION, evidence)
    (row,) = part.rows
    assert texts(row[:3]) == ["reworded instruction", "letters", "alpha"]
    assert texts(row[3:]) == [str(ITEM_COUNT), "0.500", "0.250", "0.125", "4.0"]
    assert row[0].note == "instruction"
    assert [column.label for column in part.grids[0].columns[5:7]] == ["sampled, t0.2", "of samples, t0.2"]
    html = site(ReportConfig(title="t"), evidence, {})["pages/variations.html"]
    assert html.count('id="instability"') == 1
