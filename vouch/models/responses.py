"""The response tables of one model and dataset, taken as answers again.

`restore` copies them into the work cache, and `recompute` asks for some of them once more, to see whether
this machine gives the same.
"""

import heapq
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from vouch.models.engine import Refusal
from vouch.models.replies import OwnReply, repeated_output, reply
from vouch.models.requests import WINDOW, DatasetRequests
from vouch.models.work_cache import answers_of, remembered, to_remember
from vouch.pipeline.errors import UserError
from vouch.pipeline.processor import computed_on
from vouch.tables.answered import RESPONSES
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS


def restore(dataset: DatasetRequests) -> int:
    """Copies answers from the response tables into the work cache; returns how many were new.

    The caller must know that the tables were made from the present prompts and images, by the model as it is
        pinned, under the present settings. Raises UserError if this engine did not make them.
    """
    before, taken = dataset.replies, 0
    with dataset.claim():
        try:
            for output, key, answer in written(dataset):
                if answer["device"] is None:  # the server does not support it: the next run asks again
                    continue
                if (
                    key not in dataset.caches[output]
                    and answer["device"] not in dataset.model.excluded_devices
                ):
                    dataset.caches[output].add(key, answer)
                    taken += 1
        finally:
            dataset.replies = before  # `answer` finds those that were taken
        for cache in dataset.caches.values():
            cache.flush()
    return taken


def written(dataset: DatasetRequests) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """The answers of the response tables as (output, key, answer); notes what the dataset's prompts repeat.

    Raises UserError if a row is not of this engine, before any prompt that repeats its answer.
    """
    dataset.replies = _stored_replies(dataset) if dataset.prompts.repeated else {}
    dataset.look_up()
    rows = {output: _rows(dataset, output) for output in OUTPUTS}
    revision = dataset.model.revision
    for window in dataset.windows():
        for output, member in window:
            try:
                answers = answers_of(
                    output, member.prompt, rows[output], member.decodings, revision, dataset.model.reasons
                )
            except ValueError as error:
                path = RESPONSES[output].path(dataset.model.name, dataset.name)
                raise UserError(f"{path}: {error}; nothing further is taken from it") from None
            for key, answer in zip(member.keys, answers, strict=False):  # prompts not asked have no key
                yield output, key, answer


def _stored_replies(dataset: DatasetRequests) -> dict[str, OwnReply | None]:
    """The replies in the response tables to all prompts that others repeat."""
    asked = {one["id"]: one for one in dataset.prompts if one["id"] in dataset.prompts.repeated}
    replies: dict[str, OwnReply | None] = {}
    for output in OUTPUTS:
        wanted = {name for name, prompt in asked.items() if repeated_output(prompt) == output}
        answers: dict[str, dict[str, Any]] = {}
        for row in _rows(dataset, output) if wanted else ():
            name = row["prompt"]
            if name in wanted and output == LIKELIHOOD:
                answers.setdefault(name, {"nll": []})["nll"].append(row["nll"])
            elif name in wanted and not row.get("sample"):
                answers[name] = row
        replies |= {name: reply(asked[name], output, answer) for name, answer in answers.items()}
    return replies


def _rows(dataset: DatasetRequests, output: str) -> Iterator[dict[str, Any]]:
    path = RESPONSES[output].path(dataset.model.name, dataset.name)
    for batch in RESPONSES[output].table.open(path).iter_batches(WINDOW, use_threads=False):
        yield from batch.to_pylist()


_CIRCUMSTANCES = ("device", "mode", "rows")  # how an answer was computed; they are no part of it


@dataclass(frozen=True)
class Recomputed:
    """One answer as stored and as given again. where: `letters of NAME by MODEL (DEVICE, now DEVICE)`.

    distance: largest difference of a number, 0 if the answers are the same, infinite if they differ, but
    not in a number. moved: whether the best letter, the best option or the text is different.
    """

    where: str
    distance: float
    moved: bool


Answer = tuple[str, bytes, dict[str, Any]]  # output, key, stored columns


def draw(
    datasets: Iterable[DatasetRequests], count: int, seed: int
) -> list[tuple[DatasetRequests, list[Answer]]]:
    """`count` random answers from the response tables of all datasets. Raises UserError, see `written`."""
    drawing = random.Random(seed)
    stored = ((drawing.random(), dataset, answer) for dataset in datasets for answer in written(dataset))
    drawn: dict[DatasetRequests, list[Answer]] = defaultdict(list)
    for _, dataset, answer in heapq.nsmallest(count, stored, key=lambda row: row[0]):
        drawn[dataset].append(answer)
    return sorted(drawn.items(), key=lambda item: item[0].label)


def recompute(dataset: DatasetRequests, drawn: Sequence[Answer]) -> Iterator[Recomputed]:
    """Asks the model for these answers, together with the rest of their packs; the work cache is not changed.

    Raises UserError if an answer does not come.
    """
    engine = dataset.model.engine
    device = computed_on(engine.device)
    stored = {(output, key): answer for output, key, answer in drawn}
    executor = dataset.executor(lambda output, key: (output, key) in stored)
    for answered, slots in executor.ask(engine, dataset.packs()):
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
    """All floating-point numbers of an answer, in the order of its columns."""
    values = [value if isinstance(value, list) else [value] for value in answer.values()]
    return [number for value in values for number in value if isinstance(number, float)]


def _best(output: str, answer: Mapping[str, Any]) -> Any:
    """What the scores take as the answer: a letter, an option or a text; None if there is none."""
    if answer["problem"] is not None:
        return None
    if output == LETTERS:
        return max(range(len(answer["logits"])), key=answer["logits"].__getitem__)
    if output == LIKELIHOOD:
        return min(range(len(answer["nll"])), key=answer["nll"].__getitem__)
    return answer["text"]
