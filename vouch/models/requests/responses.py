"""The response tables of one model x dataset, and the work cache: written from it, taken over into it."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from vouch.models.requests.answers import answers_of, refused, rows_of
from vouch.models.requests.dataset_requests import WINDOW, AskedDataset
from vouch.models.requests.keys import Member
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import OUTPUTS, TEXT
from vouch.tables.text import RESPONSES


@dataclass
class _Tally:
    """Of one table: its prompts, and those that lack an answer. first: what the first of them lacks."""

    prompts: int = 0
    lacking: int = 0
    first: str = ""

    def count(self, member: Member, answers: Sequence[Mapping[str, Any]]) -> None:
        self.prompts += 1
        problem = next((answer["problem"] for answer in answers if answer["problem"] is not None), None)
        if problem is not None:
            self.lacking += 1
            self.first = self.first or f"prompt {member.prompt['id']}: {problem}"


def write(dataset: AskedDataset) -> dict[str, Any]:
    """Puts the answers together in the order of the prompts; returns notes for the run record.

    Prompts without an answer are told on stderr, in one line. Raises UserError where all of them are
    without in every table; then nothing is written.
    """
    tallies = {output: _Tally() for output in OUTPUTS}
    with ExitStack() as files:
        paths = {output: RESPONSES[output].path(dataset.model.name, dataset.name) for output in OUTPUTS}
        writers = {
            output: files.enter_context(RESPONSES[output].table.writer(paths[output])) for output in OUTPUTS
        }
        for window in dataset.windows():
            for output in OUTPUTS:
                members = [member for what, member in window if what == output]
                for member, answers in _known(dataset, output, members):
                    tallies[output].count(member, answers)
                    for row in rows_of(
                        output, member.prompt, answers, member.decodings, dataset.model.revision
                    ):
                        writers[output].row(row)
        prompts = sum(tally.prompts for tally in tallies.values())
        if prompts and prompts == sum(tally.lacking for tally in tallies.values()):
            output, tally = next((output, tally) for output, tally in tallies.items() if tally.prompts)
            raise UserError(f"{paths[output]}: none of {tally.prompts} prompts has an answer; {tally.first}")
    lacking = {output: tally for output, tally in tallies.items() if tally.lacking}
    if not lacking:
        return {}
    counts = ", ".join(f"{output} {one.lacking} of {one.prompts}" for output, one in lacking.items())
    first = next(iter(lacking.values())).first
    print(f"{dataset.label}: prompts without an answer: {counts}; {first}", file=sys.stderr)
    return {"unanswered": {output: tally.lacking for output, tally in lacking.items()}}


def _known(
    dataset: AskedDataset, output: str, members: Sequence[Member]
) -> Iterator[tuple[Member, list[dict[str, Any]]]]:
    found = iter(dataset.caches[output].fetch([key for member in members for key in member.keys]))
    for member in members:
        if member.problem is None:
            yield member, [next(found) for _ in member.keys]
        else:
            yield member, [refused(output, member.problem)] * max(1, len(member.decodings))


def restore(dataset: AskedDataset) -> int:
    """Takes answers over from the response tables into the work cache; how many it did not have.

    For the caller to know: the tables were made from the present prompts and images, by the model as it
    is pinned, under the present settings. Raises UserError where this engine did not make them; then
    what the dataset's prompts repeat is as it was.
    """
    before = dataset.said
    with dataset.claim():
        dataset.said = _said(dataset)
        try:
            dataset.look_up()
            taken = sum(_taken(dataset))
        except UserError:
            dataset.said = before
            raise
        for cache in dataset.caches.values():
            cache.flush()
    return taken


def _said(dataset: AskedDataset) -> dict[str, str | None]:
    """The texts that other prompts repeat, from the table. Raises UserError for those of another engine."""
    said: dict[str, str | None] = {}
    repeated, revision = dataset.prompts.repeated, dataset.model.revision
    for row in _rows(dataset, TEXT) if repeated else ():
        if row["engine"] != revision:
            raise _other(dataset, TEXT, f"not the answers of {revision} to prompt {row['prompt']}")
        if row["prompt"] in repeated and row["sample"] == 0:
            said[row["prompt"]] = row["text"]
    return said


def _taken(dataset: AskedDataset) -> Iterator[int]:
    """How many answers of each prompt the work cache did not have; it has them now. Raises UserError."""
    rows = {output: _rows(dataset, output) for output in OUTPUTS}
    for window in dataset.windows():
        for output, member in window:
            try:
                answers = answers_of(
                    output, member.prompt, rows[output], member.decodings, dataset.model.revision
                )
            except ValueError as error:
                raise _other(dataset, output, str(error)) from None
            unknown = [
                (key, answer)
                for key, answer in zip(member.keys, answers[: len(member.keys)], strict=True)
                if key not in dataset.caches[output]
            ]
            for key, answer in unknown:
                dataset.caches[output].add(key, answer)
            yield len(unknown)


def _other(dataset: AskedDataset, output: str, problem: str) -> UserError:
    path = RESPONSES[output].path(dataset.model.name, dataset.name)
    return UserError(f"{path}: {problem}; nothing further is taken from it")


def _rows(dataset: AskedDataset, output: str) -> Iterator[dict[str, Any]]:
    path = RESPONSES[output].path(dataset.model.name, dataset.name)
    for batch in RESPONSES[output].table.open(path).iter_batches(WINDOW, use_threads=False):
        yield from batch.to_pylist()
