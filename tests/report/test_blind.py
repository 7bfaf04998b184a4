"""What is said of the blind baseline if only some questions have an image: it counts these only."""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.metrics.test_blind import answers, items
from vouch.metrics.blind import (
    BLIND_GAIN,
    WITH_IMAGE,
    blind_in,
    blind_metrics,
    graded,
    with_image,
    with_image_metrics,
)
from vouch.metrics.comparison.leaderboard import differences, leaderboard
from vouch.report.blind import Baseline, answered, baselines, beaten
from vouch.tables.results import METRICS

IMAGES, TEXTS = 30, 60


class Correct(NamedTuple):
    """How many questions a model answers correctly: of IMAGES with an image, and of TEXTS without."""

    with_image: int
    without: int

    @property
    def grades(self) -> list[float]:
        known = [1.0] * self.with_image + [0.0] * (IMAGES - self.with_image)
        return known + [1.0] * self.without + [0.0] * (TEXTS - self.without)


def baseline_of(models: Mapping[str, Correct]) -> Baseline:
    """The baseline of a dataset `d`, on which `lm` takes no images."""
    asked = items([1] * IMAGES + [0] * TEXTS)
    given = answers(**{name: correct.grades for name, correct in models.items()})
    place = {"dataset": "d", "variation": "original", "output": "letters", "protocol": "clean"}
    place |= {"category": "all", "calibration": "", "score": "", "metric": "accuracy"}
    rows = [
        place | {"model": name, "value": sum(correct) / (IMAGES + TEXTS), "items": IMAGES + TEXTS}
        for name, correct in models.items()
    ]
    own = pa.Table.from_pylist([row for row in rows if row["model"] == "lm"], schema=METRICS.schema)
    of_lm = graded(given).filter(pc.equal(graded(given)["model"], "lm"))
    every = [blind_metrics(own, of_lm, asked), with_image_metrics(graded(given), asked)]
    metrics = pa.concat_tables([pa.Table.from_pylist(rows, schema=METRICS.schema), *every])
    blind = blind_in(metrics)
    tested = differences(given, 1, 200, blind, {"d": with_image(asked)})
    ranked = leaderboard(metrics, blind).to_pylist()
    return baselines(ranked, tested, {"d": IMAGES}, {"d": "letters"})["d"]


@pytest.mark.parametrize(
    ("vlm", "lm", "lead", "beats"),
    [
        (Correct(8, 54), Correct(8, 20), 0.0, False),  # its whole lead is on questions without an image
        (Correct(30, 45), Correct(8, 60), 22 / 30, True),  # all behind on these, all ahead on the others
        (Correct(30, 0), Correct(8, 60), 22 / 30, True),
        (Correct(8, 60), Correct(30, 0), -22 / 30, False),
        (Correct(0, 60), Correct(0, 0), 0.0, False),
    ],
)
def test_lead_and_gain_count_the_questions_with_an_image(
    vlm: Correct, lm: Correct, lead: float, beats: bool
) -> None:
    found = baseline_of({"lm": lm, "vlm": vlm})
    assert found.pairs["vlm"]["difference"] == pytest.approx(lead)
    assert found.pairs["vlm"]["items"] == found.accuracy["items"] == found.gain["items"] == IMAGES
    assert ("vlm" in found.beaten_by) == beats
    assert found.accuracy["metric"] == WITH_IMAGE and found.gain["metric"] == BLIND_GAIN
    assert found.accuracy["value"] == pytest.approx(lm.with_image / IMAGES)
    assert found.gain["value"] == pytest.approx(lm.with_image / IMAGES - 0.25)
    assert found.beyond_guess == (lm.with_image > 20)
    assert "of the 30 questions with an image on d" in answered(found, "d")
    (sentence,) = beaten(found, ["vlm"])
    assert "questions with an image" in sentence and sentence.startswith("Shown" if beats else "Not shown")


def test_the_best_baseline_is_the_best_on_questions_with_an_image() -> None:
    place = {"dataset": "d", "variation": "original", "output": "letters", "protocol": "clean"}
    place |= {"category": "all", "low": None, "high": None}
    values = {"one": (0.9, 0.3), "two": (0.5, 0.6)}
    rows = [
        place | {"model": model, "metric": metric, "value": value, "items": 30}
        for model, (whole, shown) in values.items()
        for metric, value in (
            ("accuracy", whole),
            (WITH_IMAGE, shown),
            ("blind_rate", 0.5),
            (BLIND_GAIN, shown - 0.25),
        )
    ]
    assert baselines(rows, [], {"d": 30}, {"d": "letters"})["d"].model == "two"


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({}, "lm, a language model, answers"),
        ({"lm2": 8}, "lm, a language model as accurate as lm2, answers"),
        ({"lm2": 7}, "lm, the most accurate of 2 language models, answers"),
        ({"lm2": 8, "lm3": 7}, "lm, the most accurate of 3 language models and as accurate as lm2, answers"),
    ],
)
def test_no_baseline_is_more_accurate_than_another_that_is_as_accurate(
    others: Mapping[str, int], words: str
) -> None:
    place = {"dataset": "d", "variation": "original", "output": "letters", "protocol": "clean"}
    place |= {"category": "all", "low": None, "high": None, "items": 30}
    rows = [
        place | {"model": model, "metric": metric, "value": value}
        for model, correct in {"lm": 8, **others}.items()
        for metric, value in (("accuracy", correct / 10), ("blind_rate", 1.0), (BLIND_GAIN, 0.1))
    ]
    assert answered(baselines(rows, [], {"d": 30}, {"d": "letters"})["d"], "d").startswith(words)


def test_if_all_questions_have_an_image_there_is_no_second_accuracy() -> None:
    given = graded(answers(lm=[1.0, 0.0], vlm=[1.0, 1.0]))
    assert with_image_metrics(given, items([1, 1])).num_rows == 0
    assert with_image_metrics(given, items([0, 0])).num_rows == 0
    rows = with_image_metrics(given, items([1, 0])).to_pylist()
    assert {row["model"]: (row["value"], row["items"]) for row in rows} == {"lm": (1.0, 1), "vlm": (1.0, 1)}
