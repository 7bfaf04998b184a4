"""Sections on the image, on uncertainty estimates, on attacks and on severity, and the tile of the front page."""

from dataclasses import replace
from typing import Any

import pytest

from tests.report.project import Made, Make, edited, mentions, parts, with_rows
from vouch.report.cards import LOOKS
from vouch.report.claims import image_claims
from vouch.report.evidence import Evidence
from vouch.report.pages.calibration import UNCERTAINTY_SECTION
from vouch.report.pages.image_use import (
    LOOKS_SECTION,
    SEVERITY_FIGURE,
    SEVERITY_SECTION,
    TYPOGRAPHIC_SECTION,
    severity_frame,
)
from vouch.report.pages.verdict import VERDICT_SECTION

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
    assert mentions(found.why, "loses 50.0 (45.0–55.0) points", "on shapes", "29\u202f%", "text alone")
    (better, blind) = parts(LOOKS_SECTION.build(seeing(make(MADE))))[0].sentences
    assert better == "Shown to answer better with the image: alpha, beta and gamma."
    assert "without the image" in blind


def test_an_image_that_misleads_is_named(make: Make) -> None:
    found = card(seeing(make(MADE), 0.3, 0.8))
    assert mentions(found.answer, "It misleads: 30\u202f%", "80\u202f% without")
    assert mentions(found.why, "gains 50.0 (45.0–55.0) points", "on shapes")
    assert (
        "No model is shown to answer better with the image."
        in parts(LOOKS_SECTION.build(seeing(make(MADE), 0.3, 0.8)))[0].sentences
    )


@pytest.mark.parametrize(("without", "half"), [(0.75, 0.1), (0.8, 0.0)])
def test_image_gain_alone_shows_nothing(make: Make, without: float, half: float) -> None:
    """With noisy logits it is above 0 even if the image is not used."""
    evidence = seeing(make(MADE), 0.8, without, half)
    assert card(evidence) is None
    assert (
        "No model is shown to answer better with the image."
        in parts(LOOKS_SECTION.build(evidence))[0].sentences
    )
    assert card(make(Made())) is None and LOOKS_SECTION.build(make(MADE)) is None


def test_open_questions_have_no_guess_to_be_better_than(make: Make) -> None:
    evidence = seeing(make(MADE))
    items = evidence.items.assign(options=[[]] * len(evidence.items))
    kinds = [{kind for _, _, kind in image_claims(one)} for one in (evidence, replace(evidence, items=items))]
    assert kinds == [{"loss", "blind"}, {"loss"}]


def test_small_data_claim_nothing(make: Make) -> None:
    evidence = seeing(make(MADE))
    items = evidence.items.assign(group=[f"g{row % 12}" for row in range(len(evidence.items))])
    small = replace(evidence, items=items)
    assert image_claims(evidence) and not image_claims(small)
    assert card(small) is None


def test_the_table_has_both_accuracies_and_what_correcting_changes(make: Make) -> None:
    ((shown,),) = (part.grids for part in parts(LOOKS_SECTION.build(seeing(make(MADE)))))
    labels = [column.label for column in shown.columns]
    cells = dict(zip(labels, shown.rows[0], strict=True))
    assert [cells[name].text for name in ("Image", "Model", "Accuracy with %", "Accuracy without %")] == [
        *("images blank", "alpha", "80.0", "60.0")
    ]
    assert (cells["Image gain"].text, cells["ECE, change"].text) == ("1.50", "−1.0")


def test_signs_stand_beside_confidence_with_their_gain(make: Make) -> None:
    evidence = with_rows(
        make(Made()),
        row("alpha", "original", "confidence", "uncertainty_auroc", 0.75, 0.05),
        row("alpha", "original", "semantic_entropy_t0.7", "uncertainty_auroc", 0.8, 0.05),
        row("alpha", "original", "semantic_entropy_t0.7", "uncertainty_gain", 0.05, 0.02),
        row("alpha", "original", "entropy", "uncertainty_auroc", 0.76, 0.05),
        row("alpha", "original", "entropy", "uncertainty_gain", 0.01, 0.02),
    )
    ((shown,),) = (part.grids for part in parts(UNCERTAINTY_SECTION.build(evidence)))
    assert [column.label.removesuffix(" AUROC %") for column in shown.columns[2:]] == [
        *("Confidence", "Entropy", "Semantic entropy")
    ]
    assert "temperature 0.7" in shown.columns[4].help
    ((*_, plain, entropy, semantic),) = shown.rows
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
    ((shown,),) = (part.grids for part in parts(TYPOGRAPHIC_SECTION.build(evidence)))
    alpha, beta = shown.rows[:2]
    assert [cell.text for cell in alpha[2:]] == ["80.0", "60.0", "60.0", "10.0", "20.0", "30.0", "10.0"]
    assert (alpha[-1].tone, beta[-1].tone) == ("strong", "")


def test_severity_is_drawn_where_it_was_studied(make: Make) -> None:
    assert SEVERITY_SECTION.build(make(Made(variations=("original", "vr_b_5", "vr_l")))) is None
    evidence = make(Made(variations=("original", "noise_1", "noise", "vr_b_5")))
    data = severity_frame(evidence, "shapes")
    noise = data[data["kind"] == "images with noise"]
    assert noise[noise["model"] == "alpha"][["level", "value"]].round(6).to_numpy().tolist() == [
        [0, 0.8],
        [1, 0.6],
        [3, 0.6],
    ]
    assert (
        list(dict.fromkeys(data["kind"])) == ["images blurred", "images with noise"]
        and SEVERITY_SECTION.build(evidence) is not None
    )
    assert mentions(
        SEVERITY_FIGURE.describe(evidence, "shapes"), "alpha", "from 80\u202f% to 60\u202f% at level 3"
    )
