"""The models of a dataset, one after the other: columns of all items, and a part of every page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vouch.report.items import packing
from vouch.report.items.outcomes import LETTERS, NONE, RIGHT, UNGRADED, WRONG, Outcomes, read_outcomes
from vouch.report.items.outputs import Options, Output, read_answers
from vouch.report.items.questions import Ints, Questions
from vouch.tables.outcomes import outcomes_path

SCORES = {"l": "size_lac", "a": "size_aps"}
"""Name of a prediction set on a page -> its size in the outcomes, in the faithful protocol."""


def states(outcomes: Outcomes, questions: Questions, variation: int) -> str:
    """One letter of LETTERS an item, for one variation; of several prompts a wrong one counts first."""
    chosen = questions.variation == variation
    of = questions.of[chosen]

    def some(marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.bincount(of, marked[chosen], questions.items) > 0

    found = np.full(questions.items, NONE, dtype=np.uint8)
    for state in (UNGRADED, RIGHT, WRONG):
        found[some(outcomes.state == state)] = state
    found[some(outcomes.flipped)] += len(LETTERS) // 2
    return np.frombuffer(LETTERS, dtype=np.uint8)[found].tobytes().decode("ascii")


def of_model(name: str, output: str, outcomes: Outcomes, questions: Questions) -> dict[str, Any]:
    """states, by variation; of the original prompts confidence per mille and size, in hundredths, of the LAC
    set (mean of the clean protocol, else the faithful one); -1 for what is not there."""
    first = questions.originals
    size = outcomes.sizes["clean_size_lac"]
    size = np.where(np.isnan(size), outcomes.sizes["size_lac"], size)
    return {
        "model": name,
        "output": output,
        "states": [states(outcomes, questions, number) for number in range(len(questions.variations))],
        "confidence": _of_items(1000 * outcomes.confidence, first),
        "size": _of_items(100 * size, first),
    }


def _of_items(values: NDArray[np.float64], first: Ints) -> list[int]:
    found = np.append(values, np.nan)[first]
    return [int(value) for value in np.where(np.isnan(found), -1, np.rint(found)).tolist()]


def of_output(output: Output, outcomes: Outcomes | None, first: int, last: int) -> dict[str, Any]:
    """Answers to the prompts `first` up to `last`, see the methods `page`; of options the sets, SCORES."""
    found = output.answers.page(first, last)
    if outcomes is not None and found["i"]:
        numbers = np.array(found["i"]) + first
        found |= outcomes.page(numbers)
        if isinstance(output.answers, Options):
            for short, name in SCORES.items():
                found[short] = output.answers.sets(numbers, outcomes.sizes[name][numbers]).tolist()
    if found["i"] == list(range(last - first)):
        found["i"] = None  # every prompt of the page; a long list otherwise
    return found | {"problems": output.problems(first, last)}


def of_pages(
    answers: Mapping[str, Output], outcomes: Mapping[str, Outcomes], questions: Questions, size: int
) -> Iterator[dict[str, Any]]:
    """What one model answered, page after page, by what was asked for. size: items of a page."""
    for start in range(0, questions.items, size):
        first, last = (int(questions.starts[min(at, questions.items)]) for at in (start, start + size))
        yield {
            output: of_output(found, outcomes.get(output), first, last) for output, found in answers.items()
        }


def write_models(
    folder: Path, dataset: str, models: Sequence[str], questions: Questions, size: int
) -> tuple[dict[str, list[int]], list[str]]:
    """Writes the columns of each model, and its part of every page as a line of FOLDER/MODEL.part.

    Returns how many models answer the original prompt of each item and how many of them rightly, and what
    each model was asked for first.
    """
    answered, right = np.zeros((2, questions.items), dtype=np.int64)
    leads = []
    for number, model in enumerate(models):
        outcomes = read_outcomes(outcomes_path(dataset), model, questions)
        answers = read_answers(model, dataset, questions)
        lead = next(iter(outcomes), "")
        leads.append(lead)
        columns: dict[str, Any] = {"model": model}
        if lead:
            state = np.append(outcomes[lead].state, NONE)[questions.originals]
            answered += (state == WRONG) | (state == RIGHT)
            right += state == RIGHT
            columns = of_model(model, lead, outcomes[lead], questions)
        packing.write(folder, dataset, f"model-{number}", packing.text(columns))
        with (folder / f"{number}.part").open("w", encoding="utf-8", errors="replace") as parts:
            for page in of_pages(answers, outcomes, questions, size):
                parts.write(packing.text(page) + "\n")
    return {"right": right.tolist(), "answered": answered.tolist()}, leads
