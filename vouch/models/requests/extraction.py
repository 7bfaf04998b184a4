"""One model asked one dataset, through its work cache."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from vouch.models.requests.answers import to_remember
from vouch.models.requests.dataset_requests import AskedDataset
from vouch.models.requests.engine import Refusal
from vouch.models.requests.stream import Questions
from vouch.pipeline.errors import UserError
from vouch.tables.images import ImageStore, images_path

Progress = Callable[..., Iterator[Any]]


def answer(dataset: AskedDataset, progress: Progress) -> dict[str, Any]:
    """Asks what the work cache does not know, one run at a time; returns measures of the run.

    Texts that other prompts repeat are asked first, turn by turn. Raises UserError where a passing
    trouble left questions without an answer; all other answers are kept.
    """
    asked, damaged = 0, set[str]()
    _ = dataset.prompts.repeated  # raises before anything is asked in vain
    with ExitStack() as claim:
        held = False
        while True:
            count, unknown = dataset.look_up()
            if unknown and not held:
                claim.enter_context(dataset.claim())
                held = True
                count, unknown = dataset.look_up()  # another run may have answered while this one waited
            damaged.update(name for cache in dataset.caches.values() for name in cache.damaged)
            if unknown:
                asked += _ask(dataset, progress, unknown)
            if not dataset.learn():
                break
    found: dict[str, Any] = {"answers": {"known": count - asked, "asked": asked}}
    if dataset.model.loaded:
        engine = dataset.model.engine
        found["engine"] = {"device": engine.device, **engine.notes}
    if damaged:
        found["damaged_shards"] = sorted(damaged)
    return found


def _ask(dataset: AskedDataset, progress: Progress, unknown: int) -> int:
    """Asks for everything unknown that can be asked now; how many answers came. Raises UserError."""
    engine, caches = dataset.model.engine, dataset.caches
    images = ImageStore(images_path(dataset.name))
    questions = Questions(caches, images.read, dataset.model.config.workers)
    kept, missed, first = 0, 0, ""
    try:
        answers = questions.ask(engine, dataset.packs())
        for answered, slots in progress(answers, total=unknown, label=dataset.label):
            if isinstance(answered.answer, Refusal) and answered.answer.passing:
                missed += len(slots)
                first = first or f"{answered.question}: {answered.answer.problem}"
                continue
            for slot in slots:
                caches[slot.output].add(slot.key, to_remember(answered, slot.pixels, engine.device))
            kept += len(slots)
    finally:
        for cache in caches.values():
            cache.flush()
    if missed:
        raise UserError(
            f"{dataset.label}: {missed} of {unknown} answers did not come ({first}); run it again to ask "
            "for them, all others are kept"
        )
    return kept
