"""The models of a dataset, one after the other: columns of all items, and a part of every page."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vouch.report.items import packing
from vouch.report.items.columns import Tally, of_model
from vouch.report.items.outcomes import Outcomes, read_outcomes
from vouch.report.items.outputs import Options, Output, read_answers
from vouch.report.items.questions import Questions
from vouch.tables.outcomes import outcomes_path

SCORES = {"l": "size_lac", "a": "size_aps"}
"""Name of a prediction set on a page -> its size in the outcomes, in the faithful protocol."""


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
    return found | {"problems": output.problems.page(first, last)}


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
) -> tuple[Tally, list[str]]:
    """Writes the columns of each model, and its part of every page as a line of FOLDER/MODEL.part.

    Returns how many models are right, and what each was asked for first.
    """
    tally, leads = Tally(questions), []
    for number, model in enumerate(models):
        outcomes = read_outcomes(outcomes_path(model), dataset, questions)
        answers = read_answers(model, dataset, questions)
        lead = next(iter(outcomes), "")
        leads.append(lead)
        columns: dict[str, Any] = {"model": model}
        if lead:
            tally.add(outcomes[lead])
            columns = of_model(model, lead, outcomes[lead], questions)
        packing.write(folder, dataset, f"model-{number}", packing.text(columns))
        with (folder / f"{number}.part").open("w", encoding="utf-8", errors="replace") as parts:
            for page in of_pages(answers, outcomes, questions, size):
                parts.write(packing.text(page) + "\n")
    return tally, leads
