"""The blind baseline: what models that take no images answer to questions about images.

A *blind baseline* is a language model on a dataset with images; without images all models are alike. The
share of questions that it answers beyond a guess says how far the dataset can be answered without looking
(GQA and VQA report such a baseline as language-only). It is set apart: it has no rank among the models that
see, and pairs with it are tests of their own. All that is said of it counts the questions with an image only:
without an image, a language model and a model that sees are asked the same.

A question that every blind baseline answers correctly is `solved_blind`. MMStar (Chen et al. 2024) selects
its questions in this way, by eight language models: one model that guesses solves a quarter of all questions
with four options. So each question carries how likely as many guessers are to solve it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vouch.metrics.intervals import mean_interval, signed_interval
from vouch.metrics.metric import ALL, CLEAN, FAITHFUL, SHARE, Figure, declare, mean_figure
from vouch.metrics.responses import Ints
from vouch.metrics.unranked import Place
from vouch.tables.asked import ORIGINAL
from vouch.tables.results import METRICS

BLIND_RATE, BLIND_GAIN, UNSOLVED_ACCURACY = "blind_rate", "blind_gain", "accuracy_unsolved_blind"
ACCURACY, WITH_IMAGE = "accuracy", "accuracy_with_image"
declare(
    BLIND_RATE,
    "Without image",
    "share of the questions with an image that the model does not take",
    unit=SHARE,
    detail="only of language models on datasets with images: their rows mark the blind baselines",
)
declare(
    BLIND_GAIN,
    "Beyond a guess",
    "accuracy of a language model minus that of a guess, on the questions with an image",
    source="Goyal et al. 2017; Chen et al. 2024 (MMStar)",
    detail="a guess takes one of the item's own options; it answers no open question",
)
declare(
    WITH_IMAGE,
    "Accuracy, with image",
    "accuracy on the questions with an image",
    better="higher",
    unit=SHARE,
    detail="only if a language model was asked and some questions have no image",
)
declare(
    UNSOLVED_ACCURACY,
    "Accuracy, not solved blind",
    "accuracy on the questions with an image that some language model does not answer correctly",
    better="higher",
    unit=SHARE,
    ranked=True,
    source="after Chen et al. 2024 (MMStar)",
    detail="language models have none: the questions are chosen by their answers",
)
SOLVED = 0.5
"""A grade above this is a correct answer: more than a tie of two options."""
OF_PLACE = ("model", "dataset", "variation", "output")
OF_ANSWERS = (*OF_PLACE, "item", "group", "clean_correct")


def blind(metrics: Iterable[Mapping[str, Any]]) -> frozenset[Place]:
    """Where a model is a blind baseline, by rows of METRICS."""
    return frozenset(
        (row["model"], row["dataset"], row["output"])
        for row in metrics
        if row["metric"] == BLIND_RATE and (row["value"] or 0) > 0
    )


def blind_in(metrics: pa.Table) -> frozenset[Place]:
    """The same of a whole table."""
    return blind(metrics.filter(pc.equal(metrics["metric"], BLIND_RATE)).to_pylist())


Answer = Mapping[str, Any]
"""A row of `graded`."""


def with_image(items: pa.Table) -> list[str]:
    """The ids of the items that have an image. Needs id and images of ITEMS."""
    ids: list[str] = items["id"].filter(pc.greater(pc.list_value_length(items["images"]), 0)).to_pylist()
    return ids


def chance_of(correct: int, options: int) -> float:
    """The probability that a guess answers an item with so many options and correct ones of its own.

    A guess takes one of the options, so it answers no open question.
    """
    return correct / options if options else 0.0


def chances(items: pa.Table) -> dict[str, float]:
    """By item, its `chance_of`. Needs id, options and answers of ITEMS."""
    counts = [pc.fill_null(pc.list_value_length(items[name]), 0) for name in ("answers", "options")]
    rows = zip(items["id"].to_pylist(), *(each.to_pylist() for each in counts), strict=True)
    return {item: chance_of(correct, options) for item, correct, options in rows}


def plain_variation(table: pa.Table) -> str:
    """`original`; if a table has no such rows, its first variation by name."""
    names = [name for name in pc.unique(table["variation"]).to_pylist() if name]
    return min(names, key=lambda name: (name != ORIGINAL, name), default=ORIGINAL)


def graded(outcomes: pa.Table) -> pa.Table:
    """The rows of OUTCOMES that count: graded answers to the plain variation, the columns OF_ANSWERS."""
    plain = pc.equal(outcomes["variation"], plain_variation(outcomes))
    return outcomes.select(OF_ANSWERS).filter(pc.and_(plain, pc.is_valid(outcomes["clean_correct"])))


def blind_metrics(metrics: pa.Table, outcomes: pa.Table, items: pa.Table) -> pa.Table:
    """Rows of METRICS about one language model on a dataset; none if the dataset has no images.

    metrics, outcomes: its own rows. items: of the dataset.
    """
    asked, rows = with_image(items), []
    answers, chance = (_of_items(graded(outcomes), asked).to_pylist(), chances(items)) if asked else ([], {})
    for output in sorted(pc.unique(metrics["output"]).to_pylist()) if asked else []:
        own = metrics.filter(pc.equal(metrics["output"], output))
        keys = {name: own[name][0].as_py() for name in ("model", "dataset", "output")}
        keys |= {"variation": plain_variation(own), "category": ALL}
        rate = vars(Figure("", BLIND_RATE, len(asked) / items.num_rows, items.num_rows))
        rows += [keys | rate | {"protocol": protocol} for protocol in (FAITHFUL, CLEAN)]
        if of_output := [row for row in answers if row["output"] == output]:
            rows.append(keys | vars(_gain(of_output, chance)) | {"protocol": CLEAN})
    return pa.Table.from_pylist(rows, schema=METRICS.schema)


def _gain(answers: Sequence[Answer], chances: Mapping[str, float]) -> Figure:
    grade = np.array([row["clean_correct"] for row in answers])
    chance = np.array([chances[row["item"]] for row in answers])
    groups = _groups(answers)
    low, high = signed_interval(grade - chance, groups)
    if low is None or high is None:  # all alike: the exact bound of a share
        ends = mean_interval(grade, groups)
        low, high = (None if end is None else end - float(chance.mean()) for end in ends)
    return Figure("", BLIND_GAIN, float((grade - chance).mean()), len(answers), low, high)


def _of_items(answers: pa.Table, items: Sequence[str]) -> pa.Table:
    return answers.filter(pc.is_in(answers["item"], value_set=pa.array(items, pa.string())))


def _groups(answers: Sequence[Answer]) -> Ints:
    return np.asarray(np.unique([row["group"] for row in answers], return_inverse=True)[1])


def solved_questions(answers: pa.Table, items: pa.Table, models: Collection[str]) -> Iterator[dict[str, Any]]:
    """Rows of BLIND: by request type and question with an image, how many language models are correct.

    answers: `graded` of all models of a dataset. models: those that are language models; those without
    answers do not count. A question that one of them left unanswered is not solved. Of several prompts of a
    question, all must be answered correctly.
    """
    asked, chance = with_image(items), chances(items)
    by_output: dict[str, dict[str, dict[str, bool]]] = {}
    for row in answers.to_pylist() if asked else []:
        if row["model"] in models:
            of_item = by_output.setdefault(row["output"], {}).setdefault(row["model"], {})
            of_item[row["item"]] = of_item.get(row["item"], True) and row["clean_correct"] > SOLVED
    for output, of_models in sorted(by_output.items()):
        models_asked = len(of_models)
        for item in asked:
            correct = sum(of_item.get(item, False) for of_item in of_models.values())
            counts = {"output": output, "item": item, "models": models_asked, "correct": correct}
            yield counts | {"solved": correct == models_asked, "chance": chance[item] ** models_asked}


def unsolved_metrics(
    answers: pa.Table, solved: Sequence[Mapping[str, Any]], models: Collection[str]
) -> pa.Table:
    """Rows of METRICS: the accuracy of each model that sees on the questions that are not solved blind.

    answers: `graded` of all models. solved: rows of BLIND. models: those that are language models.
    """
    unsolved = {(row["output"], row["item"]) for row in solved if not row["solved"]}
    own = [
        row
        for row in (answers.to_pylist() if unsolved else [])
        if row["model"] not in models and (row["output"], row["item"]) in unsolved
    ]
    return _accuracies(UNSOLVED_ACCURACY, own)


def with_image_metrics(answers: pa.Table, items: pa.Table) -> pa.Table:
    """Rows of METRICS: the accuracy of each model on the questions with an image, if others have none.

    answers: `graded` of all models of a dataset. items: of the dataset.
    """
    asked = with_image(items)
    mixed = 0 < len(asked) < items.num_rows
    return _accuracies(WITH_IMAGE, _of_items(answers, asked).to_pylist() if mixed else [])


def _accuracies(metric: str, answers: Iterable[Answer]) -> pa.Table:
    """Rows of METRICS: the mean grade of the answers, by OF_PLACE."""
    by_place: dict[tuple[str, ...], list[Answer]] = {}
    for row in answers:
        by_place.setdefault(tuple(row[name] for name in OF_PLACE), []).append(row)
    rows = []
    for place, own in sorted(by_place.items()):
        grade = np.array([row["clean_correct"] for row in own])
        figure = mean_figure(metric, grade, _groups(own), CLEAN)
        named = dict(zip(OF_PLACE, place, strict=True))
        rows.append(named | {"protocol": CLEAN, "category": ALL} | vars(figure))
    return pa.Table.from_pylist(rows, schema=METRICS.schema)
