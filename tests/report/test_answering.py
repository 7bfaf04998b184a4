"""What a model can answer alone, and what thresholds are worth elsewhere."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tests.report.project import mentions, parts, with_rows
from tests.report.sentences import false_sentences
from tests.report.worlds import MODELS, World, evidence
from vouch.report.cards import ALONE
from vouch.report.claims import answers_alone, transfer_coverages
from vouch.report.pages.calibration import ANSWERING_FIGURE, ANSWERING_SECTION
from vouch.report.pages.transfer import TRANSFER_SECTION
from vouch.report.pages.verdict import VERDICT_SECTION
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
        assert len(cards) == (("set0", "ant") in found)
        shown += len(cards)
        if cards:
            share = round(100 * found["set0", "ant"].answered)
            assert cards[0].answer == f"{share}\u202f% of the questions (set0)"
        assert [one for one in false_sentences(made, known) if "confidence below" in one] == []
    assert shown >= 3
    # The same sentence is false of an overconfident model.
    other = replace(made, accuracy=SURE | {("ant", "set0"): 0.6})
    assert any("confidence below" in one for one in false_sentences(other, known))


@pytest.mark.parametrize("groups", [12, 29])
def test_of_few_questions_nothing_is_claimed(groups: int) -> None:
    known = evidence(world(groups))
    assert answers_alone(known) == {} and transfer_coverages(known) == {}
    assert ALONE not in [card.question for card in VERDICT_SECTION.build(known).cards]
    assert ANSWERING_FIGURE.draw(known, "set0") is None and TRANSFER_SECTION.build(known) is None


def test_the_table_says_where_nothing_is_shown() -> None:
    shares = {"alone": (0.0, 0.5, 0.75, 1.0), "conformal": (0.25, 0.5, 0.75, 1.0)}
    rows = [
        {"dataset": "set0", "model": "ant", "metric": f"answered_{which}_{percent}", "value": value}
        for which, values in shares.items()
        for percent, value in zip((1, 5, 10, 20), values, strict=True)
    ]
    (part,) = parts(ANSWERING_SECTION.build(with_rows(evidence(world(400)), *rows)))
    ((name, _, *cells, _, _, _, _),) = part.grids[0].rows
    assert [cell.text for cell in (name, *cells)] == ["ant", "none shown", "50.0", "75.0", "100.0"]


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
        moved(coverage=0.6, low=0.55, high=0.65, answered=0.5, wrong=0.3),
        moved(coverage=0.88, low=0.85, high=0.9, weighting="images", infinite=0.25),
        moved(from_dataset="set1", dataset="set0"),
        moved(dataset="set0"),
        moved(**home),
    ]
    frame = pd.DataFrame(rows).reindex(columns=TRANSFER.schema.names)
    found, every = parts(TRANSFER_SECTION.build(replace(known, transfer=frame)))
    broken, alone, weighted = found.sentences
    assert mentions(broken, "90\u202f%", "broken in 1 of 2 transfers", "60.0\u202f%, ant from set0 to set1")
    assert mentions(alone, "5\u202f% wrong", "30\u202f%", "ant from set0 to set1")
    assert mentions(
        weighted, "image", "closer to the target in 1 of 1 transfer", "further from it in 0", "25\u202f%"
    )
    shades = {
        (row[0].text, place): cell.shade for row in found.grids[0].rows for place, cell in enumerate(row[1:])
    }
    assert shades["set0", 1].startswith("loss") and not shades["set1", 0]
    assert len(every.grids[0].rows) == 3
    assert np.isclose(found.grids[0].rows[0][1].key or 0, 0.9)
