"""Likelihood and generated text next to letters, and on their own if nothing else was asked for."""

from dataclasses import replace

import pandas as pd

from tests.report.html_page import Page
from tests.report.project import Made, Make, mentions, parts
from vouch.report.config import Config
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.models_detail import GENERATED_SECTION, OUTPUTS_SECTION
from vouch.report.site import site

ALL = ("letters", "likelihood", "text")


def test_headlines_rest_on_the_first_output(make: Make) -> None:
    evidence = make(Made(outputs=ALL))
    assert evidence.outputs("shapes") == ALL
    number = evidence.number("shapes", "alpha", "accuracy")
    beside = evidence.number("shapes", "alpha", "accuracy", output="likelihood")
    assert number is not None and number.value == 0.8
    assert beside is not None and round(beside.value, 9) == 0.5
    (part,) = parts(RESULTS_SECTION.build(evidence))
    (alone,) = parts(RESULTS_SECTION.build(make(Made())))
    assert part == alone


def test_outputs_stand_side_by_side(make: Make) -> None:
    (part,) = parts(OUTPUTS_SECTION.build(make(Made(outputs=ALL))))
    rows = {(row[0].text, row[1].text): row for row in part.grids[0].rows}
    assert len(rows) == 9
    labels = [column.label for column in part.grids[0].columns]
    letters, text = rows["alpha", "letters"], rows["alpha", "generated text"]
    assert [letters[labels.index(name)].text for name in ("Accuracy %", "Unparsed %")] == ["80.0", "–"]
    shown = [text[labels.index(name)].text for name in ("Accuracy %", "Set size LAC", "Unparsed %")]
    assert shown == ["50.0", "–", "5.0"]
    best, worst = part.sentences[0].split(", and ")
    assert mentions(best, "alpha", "80.0\u202f% by letters") and "50.0\u202f% by " in worst


def test_outputs_that_the_data_cannot_tell_apart_make_no_sentence(make: Make) -> None:
    (part,) = parts(OUTPUTS_SECTION.build(make(Made(outputs=ALL, half_width=0.4))))
    assert len([one for one in part.sentences if "likelihood" in one]) == 0


def test_one_output_has_nothing_beside_it(make: Make) -> None:
    assert OUTPUTS_SECTION.build(make(Made())) is None
    assert GENERATED_SECTION.build(make(Made())) is None
    assert OUTPUTS_SECTION.build(make(Made(outputs=("text",)))) is None


def test_generated_answers_show_rates_and_certainty(make: Make) -> None:
    (part,) = parts(GENERATED_SECTION.build(make(Made(outputs=("text",)))))
    labels = [column.label for column in part.grids[0].columns]
    row = part.grids[0].rows[0]
    found = {label: cell.text for label, cell in zip(labels, row, strict=True)}
    assert (found["Accuracy %"], found["Unparsed %"], found["NLL"]) == ("80.0", "5.0", "0.500")
    assert found["Agreement %"] == "87.5" and "temperature 0.7" in part.grids[0].columns[-1].help
    assert mentions(part.sentences[0], "alpha: 8.0\u202f%", "between 80.0\u202f%", "and 88.0\u202f%")


def test_every_confidence_of_a_text_has_columns(make: Make) -> None:
    evidence = make(Made(outputs=("text",)))
    rows = evidence.leaderboard
    sure = rows[rows["metric"] == "nll_avg"]
    more = [
        sure.assign(score=score, metric=metric, value=value)
        for score, value in (("verbalised", 0.25), ("t0.7", 0.125))
        for metric in ("ece", "auroc", "brier_answer")
    ]
    (part,) = parts(GENERATED_SECTION.build(replace(evidence, leaderboard=pd.concat([rows, *more]))))
    labels = [column.label for column in part.grids[0].columns]
    found = dict(zip(labels, (cell.text for cell in part.grids[0].rows[0]), strict=True))
    assert (found["ECE %, stated"], found["AUROC %, stated"], found["Brier, stated"]) == (
        "25.0",
        "25.0",
        "0.250",
    )
    assert (found["ECE %, agreement"], found["AUROC %, agreement"]) == ("12.5", "12.5")


def test_a_page_about_texts_alone_is_whole(make: Make) -> None:
    evidence = make(Made(outputs=("text",), variations=("original", "vr_b")))
    found = Page(site(Config(title="Vouch"), evidence, {})["pages/models.html"])
    assert found.crossed == []
    assert {"generated", "results"} <= {a["id"] for a in found.all("section") if "id" in a}


def test_sets_of_another_calibration_or_alpha_are_no_headlines(make: Make) -> None:
    evidence = make(Made())
    rows = evidence.leaderboard
    sets = rows["metric"].isin(["coverage", "set_size", "uacc"])
    main = rows.assign(calibration=rows["calibration"].mask(sets, "marginal"), alpha=(0.1 * sets).mask(~sets))
    others = [main[sets].assign(calibration="class"), main[sets].assign(alpha=0.2)]
    more = replace(evidence, leaderboard=pd.concat([main, *(each.assign(value=99.0) for each in others)]))
    (part,), (same,) = parts(RESULTS_SECTION.build(more)), parts(RESULTS_SECTION.build(evidence))
    assert part == same
