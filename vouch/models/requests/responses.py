"""The response tables of one model and dataset: written from the work cache, or restored into it."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from vouch.models.requests.answers import answers_of, refused, rows_of
from vouch.models.requests.dataset_requests import WINDOW, DatasetRequests
from vouch.models.requests.keys import Member
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import OUTPUTS, TEXT
from vouch.tables.responses import RESPONSES, schema


def write(dataset: DatasetRequests) -> dict[str, Any]:
    """Puts the answers together in the order of the prompts; returns notes for the run record.

    One line on stderr counts the prompts without an answer. Raises UserError where all of them are
    without in every table; then nothing is written.
    """
    asked, lacking, first = Counter[str](), Counter[str](), dict[str, str]()
    with ExitStack() as files:
        paths = {output: RESPONSES[output].path(dataset.model.name, dataset.name) for output in OUTPUTS}
        writers = {
            output: files.enter_context(
                RESPONSES[output].table.writer(path, schema(output, dataset.model.reasons))
            )
            for output, path in paths.items()
        }
        for output, member, answers in _known(dataset):
            asked[output] += 1
            problem = next((answer["problem"] for answer in answers if answer["problem"] is not None), None)
            if problem is not None:
                lacking[output] += 1
                first.setdefault(output, f"prompt {member.prompt['id']}: {problem}")
            for row in rows_of(output, member.prompt, answers, member.decodings, dataset.model.revision):
                writers[output].row(row)
        if asked and asked == lacking:
            output = next(output for output in OUTPUTS if asked[output])
            raise UserError(
                f"{paths[output]}: none of {asked[output]} prompts has an answer; {first[output]}"
            )
    unanswered = {output: lacking[output] for output in OUTPUTS if lacking[output]}
    if not unanswered:
        return {}
    counts = ", ".join(f"{output} {count} of {asked[output]}" for output, count in unanswered.items())
    print(
        f"{dataset.label}: prompts without an answer: {counts}; {first[next(iter(unanswered))]}",
        file=sys.stderr,
    )
    return {"unanswered": unanswered}


def _known(dataset: DatasetRequests) -> Iterator[tuple[str, Member, list[dict[str, Any]]]]:
    """Every prompt by what it is asked for, with its answers; of each output in the order of the prompts."""
    for window in dataset.windows():
        for output in OUTPUTS:
            members = [member for what, member in window if what == output]
            found = iter(dataset.caches[output].fetch([key for member in members for key in member.keys]))
            for member in members:
                if member.problem is None:
                    yield output, member, [next(found) for _ in member.keys]
                else:
                    yield output, member, [refused(output, member.problem)] * max(1, len(member.decodings))


def restore(dataset: DatasetRequests) -> int:
    """Takes answers over from the response tables into the work cache; how many it did not have.

    For the caller to know: the tables were made from the present prompts and images, by the model as it
    is pinned, under the present settings. Raises UserError where this engine did not make them.
    """
    before, taken = dataset.known_texts, 0
    with dataset.claim():
        try:
            for output, key, answer in written(dataset):
                if key not in dataset.caches[output] and answer["device"] not in dataset.model.refused:
                    dataset.caches[output].add(key, answer)
                    taken += 1
        finally:
            dataset.known_texts = before  # `answer` finds those that were taken
        for cache in dataset.caches.values():
            cache.flush()
    return taken


def written(dataset: DatasetRequests) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """The answers of the response tables as (output, key, answer); sets what the dataset's prompts repeat.

    Raises UserError where a row is not of this engine, before any prompt that repeats its text.
    """
    repeated = dataset.prompts.repeated
    texts = _rows(dataset, TEXT) if repeated else ()
    dataset.known_texts = {
        row["prompt"]: row["text"] for row in texts if row["prompt"] in repeated and row["sample"] == 0
    }
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
            for key, answer in zip(member.keys, answers, strict=False):  # what was not asked has no key
                yield output, key, answer


def _rows(dataset: DatasetRequests, output: str) -> Iterator[dict[str, Any]]:
    path = RESPONSES[output].path(dataset.model.name, dataset.name)
    for batch in RESPONSES[output].table.open(path).iter_batches(WINDOW, use_threads=False):
        yield from batch.to_pylist()
