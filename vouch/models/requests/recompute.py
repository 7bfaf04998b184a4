"""Stored answers computed again, to see whether this machine gives the same."""

import heapq
import math
import random
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from vouch.models.requests.answers import remembered, to_remember
from vouch.models.requests.dataset_requests import DatasetRequests
from vouch.models.requests.engine import Refusal
from vouch.models.requests.responses import written
from vouch.models.requests.stream import Questions
from vouch.pipeline.errors import UserError
from vouch.pipeline.processor import computed_on
from vouch.tables.images import ImageStore, images_path
from vouch.tables.prompts import LETTERS, LIKELIHOOD, OUTPUTS

_CIRCUMSTANCES = ("device", "mode", "rows")  # how an answer was computed; they are no part of it


@dataclass(frozen=True)
class Recomputed:
    """One answer, stored and again. where: `letters of NAME by MODEL (DEVICE, now DEVICE)`.

    distance: largest difference of a number, 0 where the answers are the same, infinite where they differ in
    no number. moved: the best letter, the best option or the text is another.
    """

    where: str
    distance: float
    moved: bool


class _AllBut(Container[bytes]):
    """Stands in for a work cache that knows every answer but some."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._keys = set(keys)

    def __contains__(self, key: object) -> bool:
        return key not in self._keys


Answer = tuple[str, bytes, dict[str, Any]]  # output, key, what is stored


def draw(
    datasets: Iterable[DatasetRequests], count: int, seed: int
) -> list[tuple[DatasetRequests, list[Answer]]]:
    """So many answers at random of the response tables of all datasets. Raises UserError, see `written`."""
    drawing = random.Random(seed)
    stored = ((drawing.random(), dataset, answer) for dataset in datasets for answer in written(dataset))
    drawn: dict[DatasetRequests, list[Answer]] = defaultdict(list)
    for _, dataset, answer in heapq.nsmallest(count, stored, key=lambda row: row[0]):
        drawn[dataset].append(answer)
    return sorted(drawn.items(), key=lambda item: item[0].label)


def recompute(dataset: DatasetRequests, drawn: Sequence[Answer]) -> Iterator[Recomputed]:
    """Asks the model for these answers, with all that was in their packs; the work cache stays as it is.

    Raises UserError where an answer does not come.
    """
    engine = dataset.model.engine
    device = computed_on(engine.device)
    stored = {(output, key): answer for output, key, answer in drawn}
    unknown = {output: _AllBut(key for what, key in stored if what == output) for output in OUTPUTS}
    images = ImageStore(images_path(dataset.name))
    questions = Questions(unknown, images.read, dataset.model.config.workers, images.decoded_bytes)
    for answered, slots in questions.ask(engine, dataset.packs()):
        if isinstance(answered.answer, Refusal) and answered.answer.transient:
            raise UserError(f"{dataset.label}: {answered.question}: {answered.answer.problem}")
        for slot in slots:
            row = to_remember(answered, slot.pixels, device)
            kept = remembered(slot.output, dataset.model.reasons)
            (again,) = pa.Table.from_pylist([row], schema=kept).to_pylist()
            one = stored[slot.output, slot.key]
            where = f"{answered.question} by {dataset.model.name} ({one['device']}, now {device})"
            yield _compared(where, slot.output, one, again)


def _compared(where: str, output: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Recomputed:
    same = all(one[name] == other[name] for name in one if name not in _CIRCUMSTANCES)
    pairs = list(zip(numbers(one), numbers(other), strict=False))
    distance = max((abs(a - b) for a, b in pairs if a != b), default=0.0 if same else math.inf)
    return Recomputed(where, distance, _best(output, one) != _best(output, other))


def numbers(answer: Mapping[str, Any]) -> list[float]:
    """All numbers of an answer that are not whole, in the order of its columns."""
    values = [value if isinstance(value, list) else [value] for value in answer.values()]
    return [number for value in values for number in value if isinstance(number, float)]


def _best(output: str, answer: Mapping[str, Any]) -> Any:
    """What scores take as the answer: a letter, an option or a text; None where there is none."""
    if answer["problem"] is not None:
        return None
    if output == LETTERS:
        return max(range(len(answer["logits"])), key=answer["logits"].__getitem__)
    if output == LIKELIHOOD:
        return min(range(len(answer["nll"])), key=answer["nll"].__getitem__)
    return answer["text"]
