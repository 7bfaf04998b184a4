"""What the report may say of few questions, and where it says why a number is missing.

Models that only guess, on twelve questions: which intervals may be shown, and that pages show no others.

A guess depends on nothing but chance: no accuracy differs from that of guessing, no change from 0. WORLDS=160
in the environment gives the rates of docs/small-data.md.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.metrics.simulated import config
from tests.report.project import Made, Make, edited, mentions, part_of, parts, with_rows
from vouch.metrics.compared import Compared
from vouch.metrics.comparison.leaderboard import variations
from vouch.metrics.join import join
from vouch.metrics.metric import find
from vouch.metrics.tables import score_block
from vouch.models.lock_entry import LockEntry
from vouch.models.unsupported import unsupported_outputs
from vouch.report import summaries
from vouch.report.cards import ALONE
from vouch.report.caveats import NOTE, by_letters_elsewhere, without_answers
from vouch.report.evidence import Evidence
from vouch.report.gates import HOLD_FOR_FEW, MINIMUM, interval_holds, shown
from vouch.report.leaders import representative
from vouch.report.page import Section
from vouch.report.pages.answering import ANSWERING_SECTION
from vouch.report.pages.calibration import CALIBRATION_SECTION
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.models_detail import DIMENSIONS_SECTION
from vouch.report.pages.protocols import PROTOCOLS_SECTION, protocols_frame
from vouch.report.pages.provenance import build_items, build_provenance
from vouch.report.pages.variations import VARIATIONS_SECTION
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.site import OWN, write_for_dvc
from vouch.report.table_files import columns_of
from vouch.tables.answered import LETTERS as ANSWERS
from vouch.tables.asked import ITEMS, LETTERS, ORIGINAL, PROMPTS

WORLDS = int(os.environ.get("WORLDS", "24"))
QUESTIONS, OPTIONS = 12, 4
CHANGES = {"option_order": 0.8, "blank": 0.0}
"""Variations, and how much of the original logits they keep."""
CHANCE = dict.fromkeys(
    ("accuracy", "accuracy_debiased", "correct_without_image", "selective_accuracy_80"), 1 / OPTIONS
)
NOTHING = ("uncertainty_gain", "image_gain", "letter_bias")
"""Metrics that would be 0 if nothing is there: their intervals exclude it."""


def _prompts(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for variation in (ORIGINAL, *CHANGES):
        order = list(range(OPTIONS))[:: -1 if variation == "option_order" else 1]
        for item in items:
            yield {
                **{"id": f"{item['id']}/{variation}", "item": item["id"], "variation": variation},
                **{"family": variation, "effect": "kept", "order": order, "labels": list("ABCD")},
                **{"options": [item["options"][index] for index in order], "outputs": [LETTERS]},
                **{"answers": [order.index(item["answers"][0])], "template": "plain"},
            }


def _answers(random: np.random.Generator, items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Logits that do not depend on the answer."""
    base = random.standard_normal((len(items), OPTIONS))
    for variation in (ORIGINAL, *CHANGES):
        kept = CHANGES.get(variation, 1.0)
        logits = 1.5 * (kept * base + (1 - kept**2) ** 0.5 * random.standard_normal(base.shape))
        for item, own in zip(items, logits, strict=True):
            shown = own[::-1] if variation == "option_order" else own
            yield {"prompt": f"{item['id']}/{variation}", "logits": shown.tolist()}


def noise(seed: int) -> list[Mapping[str, Any]]:
    """Rows of the clean protocol of METRICS, and of VARIATIONS, whose metric begins with `change of `."""
    random = np.random.default_rng(seed)
    items = [
        {"id": f"q{at:02d}", "group": f"g{at:02d}", "kind": "choice", "question": "?", "images": ["x"]}
        | {"options": ["a", "b", "c", "d"], "answers": [int(random.integers(OPTIONS))], "category": ""}
        for at in range(QUESTIONS)
    ]
    asked = (
        pa.Table.from_pylist(list(_prompts(items)), PROMPTS.schema),
        pa.Table.from_pylist(items, ITEMS.schema),
    )
    letters = pa.Table.from_pylist(list(_answers(random, items)), ANSWERS.schema)
    scoring = config(splits=20)
    compared = Compared(*asked, scoring)
    rows: list[dict[str, Any]] = []
    outcomes: list[pa.Table] = []
    for block in join(letters, *asked, "letters", False):
        own, table = score_block("ant", "noise", block, scoring)
        compared.add(table, block)
        rows, outcomes = rows + own, [*outcomes, table]
    costs = variations(pa.concat_tables(outcomes), 1, 200)
    changes = [
        row | {"metric": f"change of {row['metric']}", "value": row["difference"]}
        for row in costs
        if row["metric"] in ("accuracy", "confidence")
    ]
    return [*(row for row in rows + compared.rows("ant", "noise") if row["protocol"] == "clean"), *changes]


@pytest.fixture(scope="module")
def missed() -> dict[str, float]:
    """By metric, the share of intervals that exclude the value of a guess: CHANCE, else 0."""
    missed, counted = Counter[str](), Counter[str]()
    for seed in range(WORLDS):
        for row in noise(seed):
            if row["low"] is not None and row["high"] > row["low"]:
                counted[row["metric"]] += 1
                true = CHANCE.get(row["metric"], 0.0)
                missed[row["metric"]] += not row["low"] <= true <= row["high"]
    return {metric: missed[metric] / count for metric, count in counted.items()}


@pytest.mark.parametrize("metric", [*CHANCE, "change of accuracy"])
def test_intervals_that_are_shown_hold_on_twelve_questions(metric: str, missed: dict[str, float]) -> None:
    assert interval_holds(metric.removeprefix("change of "), QUESTIONS)
    assert missed[metric] <= 0.08


@pytest.mark.parametrize("metric", NOTHING)
def test_others_would_claim_too_much_and_are_not_shown(metric: str, missed: dict[str, float]) -> None:
    assert missed[metric] > 0.2
    assert not interval_holds(metric, MINIMUM - 1) and interval_holds(metric, MINIMUM)


SHARES = (
    "Accuracy",
    "Still correct",
    "Most confident",
    "Unparsed",
    "Refused",
    "Several",
    "Difference",
    "Debiased",
)
"""How the labels of columns begin that keep their intervals."""


def _few(evidence: Evidence) -> Evidence:
    groups = [f"g{number}" for number in range(QUESTIONS)]
    return replace(evidence, items=evidence.items[evidence.items["group"].isin(groups)])


@pytest.mark.parametrize("output", ["letters", "text"])
def test_no_page_claims_anything_of_few_questions(make: Make, output: str) -> None:
    """No bold, no colour, and intervals of shares only, whatever the numbers are."""
    variants = ("original", "blank", "vr_b_5")
    evidence = _few(make(Made(variations=variants, categories=("big", "small"), outputs=(output,))))
    wrong, shown = [], 0
    for section in (each for each in OWN.sections if each.page not in ("datasets", "provenance")):
        view = section.build(evidence)
        grids = [grid for part in (parts(view) if isinstance(view, Section) else ()) for grid in part.grids]
        for grid in grids:
            cells = [cell for row in grid.rows for cell in row]
            ends = [name.removesuffix(", low") for name in columns_of(grid) if name.endswith(", low")]
            tones = {cell.tone or cell.shade for cell in cells} - {"", "quiet"}
            wrong += [(grid.caption, each) for each in (*tones, *ends) if not each.startswith(SHARES)]
            shown += len(ends)
    assert not wrong and shown


def test_what_holds_is_declared() -> None:
    """A name that no metric has would hide an interval in silence, and a longer name is another metric."""
    assert all(find(name) or name in ("flipped", "not_flipped") for name in HOLD_FOR_FEW)
    for metric, holds in (
        ("selective_accuracy_80", True),
        ("accuracy_range", False),
        ("accuracy_ppi", False),
    ):
        assert find(metric) and interval_holds(metric, QUESTIONS) == holds


@pytest.mark.parametrize(("groups", "kept"), [(None, True), (MINIMUM, True), (MINIMUM - 1, False)])
def test_commands_count_groups_of_questions_as_the_report_does(groups: int | None, kept: bool) -> None:
    row = {"value": 0.5, "low": 0.4, "high": 0.6, "items": 80}
    line = shown({(name, ""): row | {"metric": name} for name in ("accuracy", "ece")}, groups)
    assert line["accuracy", ""]["low"] == 0.4 and (line["ece", ""]["low"] is not None) == kept


def test_letters_of_one_model_are_pointed_to(make: Make) -> None:
    """Texts are compared if only one model has letters."""
    evidence = make(Made(outputs=("text", "letters"), variations=("original", "vr_b")))
    assert not by_letters_elsewhere(evidence, "shapes"), "all have letters"
    frame = evidence.leaderboard
    alone = replace(evidence, leaderboard=frame[(frame["output"] == "text") | (frame["model"] == "alpha")])
    for section in (RESULTS_SECTION, CALIBRATION_SECTION, VARIATIONS_SECTION):
        told = [text for part in parts(section.build(alone)) for text in part.sentences]
        assert any(mentions(text, "only alpha has letters", "Request types", "metrics.csv") for text in told)


@pytest.mark.parametrize("output", ["letters", "likelihood"])
def test_what_models_lock_names_can_be_found_out(output: str) -> None:
    """The list of an entry was written after the server was asked, or by a person: who knows asks again."""
    source = {"kind": "server", "url": "http://127.0.0.1:1/v1", "name": "m"}
    why = unsupported_outputs(LockEntry(engine="openai", source=source, outputs=["text"]))[output]
    (text,) = without_answers(
        {("served", "d", output): why}, {"d": [("served", "d", output), ("served", "d", "text")]}
    )
    assert mentions(
        text, "served has no", "models.lock names only text", "log-probabilities", "`vouch lock served`"
    )
    assert (
        "`vouch lock"
        not in without_answers({("served", "d", output): "timeout"}, {"d": [("served", "d", output)]})[0]
    )


def test_sets_without_a_threshold_are_no_measurement(make: Make) -> None:
    """Under both protocols a set then holds all options."""
    evidence = make(Made())
    row = {"metric": "infinite_threshold_rate", "value": 1.0}
    models = ("alpha", "beta", "gamma")
    rows = [row | {"model": model, "protocol": "faithful"} for model in models]
    infinite = with_rows(evidence, *rows)
    part = part_of(PROTOCOLS_SECTION, infinite)
    assert part.cells()["Set size LAC, faithful"].text == "–" != part.cells()["Set size LAC, clean"].text
    drawn = protocols_frame(infinite, "shapes", "size")
    assert set(drawn["protocol"]) == {"clean"}, "the chart shows no number that the table leaves out"
    assert any(mentions(text, "alpha, beta and gamma", "holds all options") for text in part.sentences)
    assert not any("LAC set size" in text for text in (*part.sentences, *summaries.protocols(infinite)))
    of_page = json.loads(build_items(infinite).uncalibrated)
    assert of_page == {"shapes": {"faithful": {name: {"letters": ["original"]} for name in models}}}
    assert build_items(evidence).uncalibrated == "{}"


def test_few_questions_are_named_even_if_no_model_answers_with_letters(make: Make) -> None:
    rows = [{"metric": "low_mass_rate", "value": 1.0, "model": name} for name in ("alpha", "beta", "gamma")]
    evidence = _few(with_rows(make(Made(variations=("original", "vr_b_5"))), *rows))
    assert mentions(VERDICT_SECTION.build(evidence).headline, "answers with letters", "too small to tell")
    for section in (CALIBRATION_SECTION, VARIATIONS_SECTION):
        sentences = [text for part in parts(section.build(evidence)) for text in part.sentences]
        assert f"alpha {NOTE['letters']}." in sentences


def test_each_number_has_its_own_count(make: Make) -> None:
    """The faithful protocol tests one half, but its ECE is of all answers."""
    half = "protocol == 'faithful' and metric in ('accuracy', 'coverage', 'set_size')"
    grid = part_of(PROTOCOLS_SECTION, edited(make(Made()), "leaderboard", half, items=40)).grids[0]
    columns = columns_of(grid)
    assert columns["Items"] == [40] * 3
    assert "Accuracy %, faithful, items" not in columns and columns["Accuracy %, clean, items"] == [80] * 3
    assert columns["ECE %, faithful, items"] == [80] * 3 and columns["Accuracy %, clean, low"][0] == 75.0


def test_a_tile_with_none_explains_shares_that_hold_one_by_one(make: Make) -> None:
    evidence = make(Made())
    for known, told in ((evidence, True), (_few(evidence), False)):
        (alone,) = [card for card in VERDICT_SECTION.build(known).cards if card.question == ALONE]
        table = any(part.grids for part in parts(ANSWERING_SECTION.build(known)))
        assert alone.answer == "None" and ("hold one by one" in alone.why) == table == told


def test_no_mean_over_dimensions_of_few_questions(make: Make) -> None:
    evidence = make(Made(categories=("big", "small")))
    (enough,) = parts(DIMENSIONS_SECTION.build(evidence))
    (small,) = parts(DIMENSIONS_SECTION.build(_few(evidence)))
    assert enough.rows[-1][0].text == small.rows[-1][0].text == "overall"
    assert enough.rows[-1][3].text == "80.0" and {cell.text for cell in small.rows[-1][3:]} == {"–"}


def test_the_model_of_the_numbers_for_dvc_is_named(make: Make) -> None:
    """Of few questions the first by name, since none is best."""
    evidence = make(Made(accuracy={"alpha": 0.5, "beta": 0.8}))
    for known, first in ((evidence, "beta"), (_few(evidence), "alpha")):
        write_for_dvc(known)
        headline = json.loads(Path("reports/headline.json").read_text("utf-8"))
        own = json.loads(Path(f"reports/headline/{first}.json").read_text("utf-8"))
        assert headline == own and representative(known, "shapes") == first
        rests = {row[0].text: row[1].text for row in build_provenance(known)["chain"].rows}
        assert f"{first} on shapes" in rests["reports/headline.json, for dvc metrics"]
