"""The reader against answers of real models that were labelled by reading them."""

import pytest
from scipy.stats import kendalltau

from tests.metrics.text.labelled import prose
from tests.metrics.text.labelled.rates import MARK, PAGE, Read, accuracies, rates, tables
from tests.metrics.text.labelled.sample import ANSWERS, FALSE, MISS, SETS

pytestmark = pytest.mark.skipif(not ANSWERS.is_dir(), reason="needs ../shared/reference/answers")


@pytest.fixture(scope="module")
def held() -> list[Read]:
    return rates()


def share(rows: list[Read], *outcomes: str) -> float:
    total = sum(one.weight for one, _, _ in rows)
    return sum(one.weight for one, outcome, _ in rows if outcome in outcomes) / total


def test_few_false_reads_and_misses(held: list[Read]) -> None:
    assert len(held) == 690
    assert share(held, FALSE) <= 0.01 and share(held, MISS) <= 0.03


@pytest.mark.parametrize("name", SETS)
def test_every_set_is_read(held: list[Read], name: str) -> None:
    assert share([row for row in held if row[0].set == name], FALSE, MISS) <= 0.04


@pytest.mark.parametrize(
    ("name", "model", "published"),
    [("worldmedqa", "GPT4o|w_images", 0.707), ("blink", "llava_v1.5_13b", 0.427)],
)
def test_accuracies_and_rankings_are_those_of_the_benchmark(name: str, model: str, published: float) -> None:
    ours, theirs = accuracies(name)
    assert abs(ours[model] - published) <= 0.01
    assert kendalltau([ours[each] for each in theirs], list(theirs.values())).statistic >= 0.85


def test_the_page_prints_what_is_measured(held: list[Read]) -> None:
    measured = f"{tables(held)}\n{prose.table()}"
    assert PAGE.read_text("utf-8").partition(MARK)[2].strip() == measured.strip(), "run `make reader`"


def test_few_false_reads_and_misses_in_prose() -> None:
    rows = list(prose.outcomes())
    answers = [outcome for half, _, outcome in rows if half != "fifty"]
    assert len(answers) == 301 and len(rows) == 351
    assert answers.count(FALSE) <= 0.02 * len(answers) and answers.count(MISS) <= 0.05 * len(answers)
    assert [outcome for half, _, outcome in rows if half == "fifty"].count(FALSE) == 0
