"""Reliability of every variation, and instability where questions have several tests."""

from typing import Any

from tests.report.html_page import Page
from tests.report.project import ITEM_COUNT, Made, Make, parts, with_rows
from vouch.report.config import Config
from vouch.report.evidence import Evidence
from vouch.report.pages.robustness import INSTABILITY_SECTION, ROBUSTNESS_SECTION
from vouch.report.site import site

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


def test_without_such_scores_there_are_no_sections(make: Make) -> None:
    evidence = make(Made(variations=("original", "vr_b")))
    assert ROBUSTNESS_SECTION.build(evidence) is None
    assert INSTABILITY_SECTION.build(evidence) is None
    html = site(Config(title="t"), evidence, {})["pages/variations.html"]
    assert "#robustness" not in html
    assert "#instability" not in html


def test_every_variation_and_their_mean_stand_in_one_table(make: Make) -> None:
    evidence = compared(make(Made(variations=("original", "vr_b"))))
    assert evidence.variations("shapes") == ("original", "vr_b")
    (part,) = parts(ROBUSTNESS_SECTION.build(evidence))
    assert {row[2].text for row in part.grids[0].rows} == {str(ITEM_COUNT)}
    shown = [[cell.text for cell in (*row[:2], *row[3:])] for row in part.grids[0].rows]
    assert shown == [
        ["original", "alpha", "0.25", "0.50", "0.50", "–"],
        ["original", "beta", "0.25", "0.50", "0.50", "–"],
        ["images blurred", "alpha", "−0.25", "−0.50", "−0.50", "−0.75"],
        ["images blurred", "beta", "−0.25", "−0.50", "−0.50", "−0.75"],
        ["all", "alpha", "0.25", "0.50", "0.50", "0.75"],
        ["all", "beta", "0.35", "0.60", "0.60", "0.85"],
    ]
    page = Page(site(Config(title="t"), evidence, {})["pages/variations.html"])
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
    (part,) = parts(INSTABILITY_SECTION.build(evidence))
    (row,) = part.grids[0].rows
    assert [cell.text for cell in row[:3]] == ["reworded instruction", "letters", "alpha"]
    assert [cell.text for cell in row[3:]] == [str(ITEM_COUNT), "0.500", "0.250", "0.125", "4.0"]
    assert row[0].note == "instruction"
    assert [column.label for column in part.grids[0].columns[5:7]] == ["sampled, t0.2", "of samples, t0.2"]
    html = site(Config(title="t"), evidence, {})["pages/variations.html"]
    assert html.count('id="instability"') == 1
