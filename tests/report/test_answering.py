"""Which answers a model can give alone, on the front page and in the table of thresholds, and transfer."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.report.project import (
    mentions,
    part_of,
    parts,
    texts,
    with_rows,
)
from tests.report.test_worlds import false_sentences
from tests.report.worlds import MODELS, World, evidence
from vouch.metrics.conformal.selective import one_of_each, selective_figures
from vouch.report.cards import ALONE
from vouch.report.claims import answers_alone, errors_elsewhere, wrong_at
from vouch.report.coverage import transfer_coverages
from vouch.report.gates import MINIMUM
from vouch.report.pages.answering import ANSWERING_FIGURE, ANSWERING_SECTION, _thresholds
from vouch.report.pages.transfer import TRANSFER_SECTION
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.table import MISSING
from vouch.tables.results import NONE, TRANSFER

SURE = {("ant", "set0"): 0.97, ("bee", "set0"): 0.7, ("cow", "set0"): 0.6}


def world(groups: int, seed: int = 0, boasts: frozenset[tuple[str, str]] = frozenset()) -> World:
    return World(seed, {"set0": groups}, SURE, boasts=boasts)


def test_the_front_page_says_what_can_be_answered_alone_and_that_holds() -> None:
    shown = 0
    for seed in range(4):
        made = world(800, seed)
        known = evidence(made)
        cards = [card for card in VERDICT_SECTION.build(known).cards if card.question == ALONE]
        found = answers_alone(known)
        assert len(cards) == 1
        if ("set0", "ant") in found:
            shown += 1
            share = round(100 * found["set0", "ant"].answered)
            assert cards[0].answer == f"{share}\u202f% of the questions"
        else:
            assert cards[0].answer == "None" and "every question goes to a person" in cards[0].why
        assert [one for one in false_sentences(made, known) if "answer these alone" in one] == []
    assert shown >= 3
    # The same sentence is false of an overconfident model.
    other = replace(made, accuracy=SURE | {("ant", "set0"): 0.6})
    assert any("answer these alone" in one for one in false_sentences(other, known))


def test_the_thresholds_of_the_table_give_its_shares() -> None:
    known = evidence(world(800))
    graded, seed = known.confidences("set0", "ant"), known.scoring.seed
    confidence, _, groups = graded
    alone, average = (confidence[one_of_each(*graded, seed)][start:] for start in (len(set(groups)) // 4, 0))
    shown = _thresholds(known, "set0", "ant")
    thresholds = np.array([np.inf if cell == MISSING else cell.key for cell in shown])
    at = [
        *(np.mean(alone >= each) for each in thresholds[:4]),
        *(np.mean(average >= each) for each in thresholds[4:]),
    ]
    figures = sorted(selective_figures(*graded, seed), key=lambda figure: "conformal" in figure.metric)
    assert (
        at == pytest.approx([figure.value for figure in figures]) and at[0] == 0 < 0.5 < at[1] and at[-1] == 1
    )


def test_the_tile_says_where_none_is_answered_alone_and_what_the_threshold_costs_there() -> None:
    accuracy = SURE | {(model, "set1"): share for model, share in (("ant", 0.7), ("bee", 0.4), ("cow", 0.4))}
    made = World(0, {"set0": 800, "set1": 400}, accuracy, boasts=frozenset([("ant", "set1")]))
    known = evidence(made)
    (card,) = [card for card in VERDICT_SECTION.build(known).cards if card.question == ALONE]
    found = answers_alone(known)
    assert ("set0", "ant") in found and ("set1", "ant") not in found
    wrong = wrong_at(known, "set1", "ant", found["set0", "ant"].threshold)
    assert wrong is not None and wrong[0].estimate > 0.05
    assert "On set1 it is shown for no question: none may be answered alone." in card.why
    share, low, high = (round(100 * end) for end in (wrong[0].estimate, wrong[0].low, wrong[0].high))
    cost = f"{share}\u202f% ({low}–{high}) of {wrong[1]} answers are wrong on set1"
    assert f"Elsewhere the same threshold lets more errors through: {cost}." in card.why
    rows = [moved(wrong=0.99), moved(dataset="set0"), moved(from_dataset="set1", dataset="set0")]
    frame = pd.DataFrame(rows).reindex(columns=TRANSFER.schema.names)
    part, _ = parts(TRANSFER_SECTION.build(replace(known, transfer=frame)))
    claim = f"lets up to {share}\u202f% through elsewhere: ant from set0 to set1."
    assert part.sentences[-1].endswith(claim), "the threshold of the first page"
    half = known.graded("set1", "ant")["confidence"].median()
    assert errors_elsewhere(known, "set0", "ant", half) == {"set1": wrong_at(known, "set1", "ant", half)}
    assert wrong_at(known, "set0", "ant", half) and not errors_elsewhere(known, "set1", "ant", half), (
        "few errors"
    )
    assert wrong_at(known, "set1", "ant", 1.1) is None, "nobody is as confident"
    surest = known.graded("set1", "ant")["confidence"].nlargest(MINIMUM)
    assert wrong_at(known, "set1", "ant", surest.iloc[-1]) is not None
    assert wrong_at(known, "set1", "ant", surest.iloc[-2]) is None, "too few answers to say anything"


@pytest.mark.parametrize("groups", [12, 29])
def test_of_few_questions_nothing_is_claimed(groups: int) -> None:
    known = evidence(world(groups))
    assert answers_alone(known) == {} and transfer_coverages(known) == {}
    (alone,) = [card for card in VERDICT_SECTION.build(known).cards if card.question == ALONE]
    assert alone.answer == "None" and "No model is recommended" in alone.why
    assert ANSWERING_FIGURE.draw(known, "set0") is None and TRANSFER_SECTION.build(known) is None


def test_the_table_says_where_nothing_is_shown() -> None:
    shares = {"alone": (0.0, 0.5, 0.75, 1.0), "conformal": (0.25, 0.5, 0.75, 1.0)}
    rows = [
        {"dataset": "set0", "model": "ant", "metric": f"answered_{which}_{percent}", "value": value}
        for which, values in shares.items()
        for percent, value in zip((1, 5, 10, 20), values, strict=True)
    ]
    part = part_of(ANSWERING_SECTION, with_rows(evidence(world(400)), *rows))
    ((name, _, *cells, _, _, _, _),) = part.rows
    assert texts((name, *cells)) == ["ant", "none shown", "50.0", "75.0", "100.0"]


def moved(**changes: object) -> dict[str, object]:
    row: dict[str, object] = {
        "output": "letters",
        "from_model": "ant",
        "from_dataset": "set0",
        "model": "ant",
    }
    row |= {"dataset": "set1", "weighting": NONE, "coverage": 0.9, "low": 0.88, "high": 0.92, "set_size": 1.5}
    return row | {"infinite": 0.0, "effective": 50.0, "answered": None, "wrong": None, "items": 400} | changes


def test_a_transfer_that_breaks_coverage_is_named_and_what_weights_do() -> None:
    accuracy = {(model, name): 0.7 for model in MODELS for name in ("set0", "set1")}
    known = evidence(World(0, {"set0": 300, "set1": 300}, accuracy))
    home = {"from_dataset": "set1", "dataset": "set1"}
    rows = [
        moved(coverage=0.6, low=0.55, high=0.65, threshold=0.75, answered=0.5, wrong=0.3),
        moved(coverage=0.88, low=0.85, high=0.9, weighting="images", infinite=0.25),
        moved(from_dataset="set1", dataset="set0"),
        moved(dataset="set0"),
        moved(**home),
    ]
    frame = pd.DataFrame(rows).reindex(columns=TRANSFER.schema.names)
    found, every = parts(TRANSFER_SECTION.build(replace(known, transfer=frame)))
    broken, weighted = found.sentences
    assert mentions(
        broken,
        "90\u202f%",
        "below the target of 90\u202f% in 1 of 2 transfers",
        "60.0\u202f%, ant from set0 to set1",
    )
    assert mentions(
        weighted, "image", "closer to the target in 1 of 1 transfer", "further from it in 0", "25\u202f%"
    )
    shades = {
        (row[0].text, place): cell.shade for row in found.grids[0].rows for place, cell in enumerate(row[1:])
    }
    assert shades["set0", 1].startswith("loss") and not shades["set1", 0]
    assert len(every.grids[0].rows) == 3
    assert [cell.text for cell in every.grids[0].rows[0][-3:]] == ["75.0", "50.0", "30.0"]
    assert np.isclose(found.grids[0].rows[0][1].key or 0, 0.9)
