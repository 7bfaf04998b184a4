"""Precision, recall and F1 of the answer yes, by every output, against scikit-learn."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import precision_recall_fscore_support

from tests.metrics.simulated import CONFIG, config, simulate, tables
from tests.metrics.text.test_texts import OPTIONS, blocks, choice, scored
from vouch.metrics.join import YES_NO, join, yes_no
from vouch.metrics.metric import metrics
from vouch.metrics.tables import score_block
from vouch.metrics.text.scoring import score_texts
from vouch.tables.asked import PROMPTS

MATHVISTA = Path(__file__).parents[3] / "shared/reference/answers/mathvista.parquet"
SAID = ["Yes", "No, it is not.", "(A)", "no", "B", "Yes.", "I see a dog", "(B)"]
IS_YES = [True, True, True, False, False, False, True, False]
"""Three of four that are yes: two hits, one miss, one unread. Of four that are no one is said to be yes."""


def asked(name: str, text: str, yes: bool, **changes: Any) -> dict[str, Any]:
    own = {"options": ["Yes", "No"], "order": [0, 1], "marks": ["A", "B"]}
    return choice(name, text, 1 - yes, **own) | changes


def rows() -> list[dict[str, Any]]:
    found = [asked(f"q{n}", text, yes) for n, (text, yes) in enumerate(zip(SAID, IS_YES, strict=True))]
    # the same shown the other way round
    found[2] |= {"options": ["No", "Yes"], "order": [1, 0], "text": "(B)", "answers": [1]}
    return found


def test_of_texts() -> None:
    found, outcomes = scored(rows())
    said = [row["chosen"] == 0 for row in outcomes]
    assert said == [True, False, True, False, False, True, False, False]
    precision, recall, f1, _ = precision_recall_fscore_support(IS_YES, said, average="binary")
    for protocol in ("clean", "faithful"):
        values = [found[protocol, "", name]["value"] for name in YES_NO]
        assert values == pytest.approx([f1, precision, recall, 3 / 8])
        assert {found[protocol, "", name]["items"] for name in YES_NO} == {8}
    f1 = found["clean", "", "f1"]
    assert 0 <= f1["low"] < f1["value"] < f1["high"] <= 1 and found["faithful", "", "f1"]["low"] is None
    assert all(metrics()[name].source for name in YES_NO) and metrics()["f1"].ranked


def test_categories_have_their_own() -> None:
    (block,) = blocks([row | {"category": "ab"[n % 2]} for n, row in enumerate(rows())])
    found, _ = score_texts("m", "d", block, config())
    rates = {
        row["category"]: row["value"]
        for row in found
        if (row["metric"], row["protocol"]) == ("yes_rate", "clean")
    }
    assert rates == {"all": 3 / 8, "a": 2 / 4, "b": 1 / 4}


def test_defective_items_count_in_the_faithful_protocol_only() -> None:
    found, _ = scored([*rows(), asked("q8", "yes", False, flags=["duplicate_options"])])
    assert [found[name, "", "yes_rate"]["value"] for name in ("clean", "faithful")] == [3 / 8, 4 / 9]


def test_of_letters() -> None:
    responses = simulate(3, 60)
    letters, prompts, items = tables(responses)
    shown = {"options": ["yes", "no", "None"], "order": [0, 1, -2], "answers": [0]}
    changed = [row | shown | {"answers": [n % 2]} for n, row in enumerate(prompts.to_pylist())]
    prompts = pa.Table.from_pylist(changed, prompts.schema)
    (block,) = join(letters, prompts, items, "here")
    found, outcomes = score_block("m", "d", block, CONFIG)
    right = [prompt["answers"] == [0] for prompt in changed]
    said = [row["predicted"] == 0 for row in outcomes.to_pylist()]
    expected = precision_recall_fscore_support(right, said, average="binary")[2]
    values = {(row["protocol"], row["metric"]): row["value"] for row in found if row["category"] == "all"}
    assert 0 < values["faithful", "f1"] == pytest.approx(expected)


def prompt(options: list[str], order: list[int]) -> dict[str, Any]:
    return {"options": options, "order": order, "answers": [0]}


@pytest.mark.parametrize(
    ("given", "places"),
    [
        ([prompt(["Yes.", "no"], [0, 1]), prompt(["No", "YES"], [1, 0])], [0, 1]),
        ([prompt(["None", "no", "yes", "I don't know"], [-2, 0, 1, -1])], [2]),
        ([prompt(["yes", "no"], [0, 1]), prompt(OPTIONS, [0, 1, 2])], None),
        ([prompt(["yes", "maybe"], [0, 1])], None),
        ([prompt(["yes", "yes"], [0, 1])], None),
        ([prompt(["yes", "no", "both"], [0, 1, 2])], None),
        ([prompt([], [])], None),
        ([], None),
    ],
)
def test_which_prompts_ask_for_yes_or_no(given: list[dict[str, Any]], places: list[int] | None) -> None:
    found = yes_no(pa.Table.from_pylist(given, PROMPTS.schema))
    assert (None if found is None else found.yes.tolist()) == places


@pytest.mark.skipif(not MATHVISTA.exists(), reason="needs the answers to MathVista in ../shared")
def test_real_answers_to_yes_no_questions() -> None:
    frame = pd.read_parquet(MATHVISTA)
    frame = frame[frame["options"].isin(['["Yes", "No"]', '["No", "Yes"]'])]
    frame = frame[frame["text"].str.fullmatch(r"(Yes|No)\.?")]
    given = []
    for n, (options, gold, text) in enumerate(
        zip(frame["options"], frame["gold"], frame["text"], strict=True)
    ):
        own = {"options": json.loads(options), "order": [0, 1], "marks": ["A", "B"]}
        (answer,) = json.loads(gold)
        given.append(choice(f"q{n}", text, answer, **own))
    assert len(given) > 100
    found, _ = scored(given, config())
    said = frame["text"].str.startswith("Yes").to_numpy()
    right = np.array([row["options"][row["answers"][0]] == "Yes" for row in given])
    precision, recall, f1, _ = precision_recall_fscore_support(right, said, average="binary")
    values = [found["faithful", "", name]["value"] for name in YES_NO]
    assert values == pytest.approx([f1, precision, recall, said.mean()])
