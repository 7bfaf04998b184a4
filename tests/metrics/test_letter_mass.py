"""How much of the probability lies on letters, and who answers in another form."""

from typing import Any

import numpy as np
import pytest

from tests.metrics.released import block, models, needs_released
from tests.metrics.simulated import CONFIG, replace_row, simulate, tables
from vouch.metrics.join import join
from vouch.metrics.metric import metrics
from vouch.metrics.tables import score_block
from vouch.metrics.unranked import unranked


def scored(mass: dict[int, Any], **changes: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Rows of the metrics by protocol and metric. mass: by row, changes: attributes of ten responses."""
    found = simulate(0, 10)
    for name, rows in changes.items():
        getattr(found, name)[rows] = True
    letters, prompts, items = tables(found)
    for row, change in mass.items():
        letters = replace_row(letters, row, change if isinstance(change, dict) else {"letter_mass": change})
    (block,) = join(letters, prompts, items, "letters.parquet")
    rows, _ = score_block("m", "d", block, CONFIG)
    return {(row["protocol"], row["metric"]): row for row in rows}


def test_mean_and_share_are_of_the_rows_whose_mass_is_known() -> None:
    refused = {"logits": None, "problem": "too long"}
    found = scored({0: 0.25, 1: 0.5, 2: 0.75, 3: refused})
    for protocol in ("clean", "faithful"):
        mass, low = found[protocol, "letter_mass"], found[protocol, "low_mass_rate"]
        assert (mass["value"], mass["items"]) == (0.5, 3)
        assert low["value"] == pytest.approx(1 / 3)  # one half is not low
        assert (low["low"] is None) == (protocol == "faithful")
    assert found["clean", "low_mass_rate"]["low"] < 1 / 3 < found["clean", "low_mass_rate"]["high"]


def test_clean_leaves_out_rows_with_defects() -> None:
    found = scored(dict.fromkeys(range(10), 0.1) | {0: 0.9}, defective=[0])
    assert found["clean", "low_mass_rate"]["value"] == 1
    assert found["faithful", "low_mass_rate"]["value"] == 0.9


def test_a_server_that_tells_no_letter_at_all_tells_that_none_is_said() -> None:
    """Such a prompt is unanswered: of its letters nothing is known but that together they are unlikely."""
    nothing = {"logits": [-np.inf] * 6, "upper": [-9.0] * 6, "letter_mass": 0.0, "flags": ["censored"]}
    found = scored(dict.fromkeys(range(10), 0.9) | dict.fromkeys(range(6), nothing))
    assert found["clean", "low_mass_rate"]["value"] == 0.6
    assert found["clean", "accuracy"]["items"] == 4


def test_of_released_logits_nothing_is_said() -> None:
    assert not {metric for _, metric in scored({})} & {"letter_mass", "low_mass_rate"}


@needs_released
def test_of_the_published_logits_nothing_is_said() -> None:
    rows, _ = score_block("m", "mmbench", block(models()[0]), CONFIG)
    assert not {row["metric"] for row in rows} & {"letter_mass", "low_mass_rate"}
    assert not unranked(rows)


def test_the_registry_knows_both() -> None:
    for name, better in (("letter_mass", "higher"), ("low_mass_rate", "lower")):
        assert (metrics()[name].better, metrics()[name].unit, bool(metrics()[name].source)) == (
            better,
            "share",
            True,
        )
