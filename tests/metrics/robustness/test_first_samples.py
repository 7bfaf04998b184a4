"""The first sample of each numbered prompt, held against a computation of its own."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.metrics.simulated import config
from vouch.metrics.compared import Compared
from vouch.metrics.config import Config
from vouch.metrics.text.scoring import score_texts
from vouch.metrics.text.texts import text_blocks
from vouch.tables.answered import TEXT
from vouch.tables.asked import ITEMS, PROMPTS

MARKS = ["A", "B", "C"]
OPTIONS = ["a cat", "a dog", "a cow"]
SCORE = "first_t0.2"
Said = Mapping[tuple[int, int], Sequence[str | None]]  # samples by item and test, from 0 and from 1
Rows = dict[tuple[str, str, str, str], dict[str, Any]]


def order_of(item: int, test: int) -> list[int]:
    """Another order for every test: option 0 is right, wherever it stands."""
    return [[0, 1, 2], [2, 0, 1], [1, 2, 0]][(item + test) % 3]


def text_of(item: int, test: int, option: int) -> str:
    """A text that names an option by its mark in the order of the test."""
    return f"The answer is ({MARKS[order_of(item, test).index(option)]})"


def rows_of(
    said: Said,
    variation: str = "tests",
    references: Sequence[str] = (),
    temperatures: Sequence[float] = (0.2,),
    broken: Sequence[int] = (),
    settings: Config | None = None,
) -> Rows:
    """Rows of METRICS of what compares prompts, by protocol, variation, score and metric.

    {item} in a reference stands for the number of the item.
    """
    prompts, texts = [], []
    for (item, test), samples in said.items():
        number = f"/{test}" if variation != "original" else ""
        order = [] if references else order_of(item, test)
        row: dict[str, Any] = {
            "id": f"q{item}/{variation}{number}",
            "item": f"q{item}",
            "variation": variation,
        }
        row |= {"outputs": ["text"], "order": order, "effect": "kept"}
        if not references:
            row |= {"marks": MARKS, "options": [OPTIONS[one] for one in order], "answers": [order.index(0)]}
        prompts.append(row)
        greedy = {"prompt": row["id"], "temperature": 0, "sample": 0, "logprobs": [-1.0], "entropies": [0.5]}
        texts.append(
            greedy | {"text": references[0].format(item=item) if references else text_of(item, test, 0)}
        )
        for place, temperature in enumerate(temperatures):
            for sample, text in enumerate(samples[place:], start=1):
                drawn = {"prompt": row["id"], "temperature": temperature, "sample": sample, "text": text}
                texts.append(drawn | ({"problem": "too long"} if text is None else {}))
    items: list[dict[str, Any]] = [
        {"id": f"q{item}", "group": f"g{item}", "kind": "text" if references else "choice", "turns": []}
        | {
            "category": "",
            "answers": [] if references else [0],
            "references": [one.format(item=item) for one in references],
        }
        | {"flags": ["missing_option"] if item in broken else []}
        for item in sorted({item for item, _ in said})
    ]
    settings = settings or config(parsers=["first_mark", "reader"])
    drawn_from, prompted, of_items = (
        pa.Table.from_pylist(found, table.schema)
        for found, table in ((texts[::-1], TEXT), (prompts, PROMPTS), (items, ITEMS))
    )
    compared = Compared(prompted, of_items, settings)
    for block in text_blocks(drawn_from, prompted, of_items, "here", False):
        _, outcomes = score_texts("m", "d", block, settings)
        assert pc.all(outcomes["correct"]).as_py() is not False
        compared.add(outcomes, block.texts)
        compared.add_samples(outcomes, block, "d")
    rows = compared.rows("m", "d")
    found = {(row["protocol"], row["variation"], row["score"], row["metric"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def entropy(answers: Sequence[object]) -> float:
    counts = Counter(answers).values()
    return -sum(n / len(answers) * log(n / len(answers)) for n in counts)


def value(rows: Rows, metric: str, protocol: str = "faithful", score: str = SCORE) -> tuple[Any, int]:
    row = rows[protocol, "tests", score, metric]
    return pytest.approx(row["value"]), row["items"]


def test_instability_and_accuracy_are_those_of_one_sample_of_each_test() -> None:
    """Any option, a mark that no option has, refusals and words: as the authors count them, item by item."""
    random = Random(0)
    said: dict[tuple[int, int], list[str]] = {}
    answers: dict[int, list[object]] = defaultdict(list)
    for item in range(40):
        for test in range(1, 6):
            option = random.choice([0, 0, 1, 2, None])
            words = random.choice(["I cannot say", "what?", "(Z)"])
            first = words if option is None else text_of(item, test, option)
            # Further samples are of another kind of figure: they must not count.
            said[item, test] = [first, text_of(item, test, 1), "something else"]
            answers[item].append(first if option is None else option)
    rows = rows_of(said)
    own = [entropy(each) for each in answers.values()]
    assert value(rows, "instability") == (sum(own) / 40, 40)
    right = [[one == 0 for one in each] for each in answers.values()]
    assert value(rows, "accuracy") == (sum(map(sum, right)) / 200, 200)
    by_test = [sum(each[test] for each in right) / 40 for test in range(5)]
    for test, mean in enumerate(by_test, start=1):
        assert value(rows, f"accuracy_test_{test}") == (mean, 40)
    assert value(rows, "accuracy_range") == (max(by_test) - min(by_test), 200)
    # The greedy texts of the same prompts are all right, and keep figures of their own.
    assert value(rows, "instability", score="") == (0, 40)
    clean = rows["clean", "tests", SCORE, "instability"]
    assert clean["low"] < clean["value"] < clean["high"]
    accuracy = rows["clean", "tests", SCORE, "accuracy"]
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]
    assert rows["faithful", "tests", SCORE, "accuracy"]["low"] is None


def test_a_prompt_without_samples_and_fewer_tests_count_by_what_is_there() -> None:
    said: dict[tuple[int, int], list[str | None]] = {
        (0, 1): [text_of(0, 1, 0)], (0, 2): [text_of(0, 2, 1)], (0, 3): [],
        (1, 1): [text_of(1, 1, 0)], (1, 2): [text_of(1, 2, 0)], (1, 3): [text_of(1, 3, 0)],
        (2, 1): [text_of(2, 1, 1)],
        (3, 1): [None, text_of(3, 1, 0)], (3, 2): [text_of(3, 2, 2)],
        (4, 1): [], (4, 2): [None],
    }  # fmt: skip
    rows = rows_of(said)
    # A question with one answered test has no instability; the second sample stands in for one that failed.
    assert value(rows, "instability") == ((log(2) + 0 + log(2)) / 3, 3)
    assert value(rows, "accuracy") == (5 / 8, 8)
    assert value(rows, "accuracy_test_1") == (1, 1), "only item 1 has every test"


def test_open_answers_are_graded_by_the_metrics_of_their_dataset() -> None:
    settings = config(answers={"d": ["anls", "exact_match"]})
    said = {(0, 1): ["STOP"], (0, 2): ["stop"], (0, 3): ["stpo"], (0, 4): ["go"]}
    rows = rows_of(said, references=["stop"], settings=settings)
    assert value(rows, "accuracy") == value(rows, "anls") == ((1 + 1 + 0 + 0) / 4, 4)
    assert value(rows, "exact_match") == (0.5, 4)
    assert value(rows, "instability") == (entropy(["stop", "stop", "stpo", "go"]), 1)


def test_captions_have_their_own_metric_and_no_accuracy() -> None:
    said = {(item, 1): [f"a cat on mat {item}"] for item in range(3)}
    rows = rows_of(said, references=["a cat on mat {item}"], settings=config(answers={"d": ["cider_d"]}))
    assert ("faithful", "tests", SCORE, "accuracy") not in rows
    assert value(rows, "cider_d")[1] == 3


def test_defective_questions_are_in_the_faithful_reading_alone() -> None:
    said = {(item, test): [text_of(item, test, item % 2)] for item in range(4) for test in (1, 2)}
    rows = rows_of(said, broken=[3])
    assert value(rows, "accuracy") == (0.5, 8)
    assert value(rows, "accuracy", "clean") == (4 / 6, 6)
    assert value(rows, "instability", "clean") == (0, 3)


def test_every_temperature_has_figures_of_its_own() -> None:
    said = {
        (item, test): [text_of(item, test, 0), text_of(item, test, test - 1)]
        for item in range(3)
        for test in (1, 2)
    }
    rows = rows_of(said, temperatures=(0.2, 0.75))
    assert value(rows, "accuracy") == (1, 6)
    assert value(rows, "accuracy", score="first_t0.75") == (0.5, 6)
    assert value(rows, "instability", score="first_t0.75") == (log(2), 3)


@pytest.mark.parametrize("variation", ["tests", "original"])
def test_nothing_where_no_sample_was_drawn_or_prompts_have_no_number(variation: str) -> None:
    drawn = [text_of(0, 1, 0)] * 2 if variation == "original" else []
    rows = rows_of({(0, 1): drawn, (1, 1): drawn}, variation)
    assert {score for _, _, score, _ in rows if score.startswith("first")} == set()
