"""Which of the engine's ways to ask gives a model's own numbers, found out by trying.

A few questions that are always the same, about pictures of noise, are asked in every way and compared
with whole prompts read one at a time: which position every token has, what the model remembers of a
prefix, the logits, and those of a text that goes on. Whatever differs by more than computing in
another order explains is not used. The choice follows from the model alone, never from the data.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby
from typing import Any

import torch

from vouch.models.decoder.continuation import Continued, Prompts, logits_of
from vouch.models.decoder.forward import Forward, State
from vouch.models.decoder.jobs import MODES, Job, Mode, jobs
from vouch.models.decoder.prepared import Prepared
from vouch.models.decoder.tolerances import FLOAT32, HALF, Differences, Limits
from vouch.models.decoder.trie_masks import Unsupported
from vouch.models.loading.float32_weights import in_float32
from vouch.pipeline.errors import UserError
from vouch.pipeline.out_of_memory import out_of_memory
from vouch.tables.prompts import LIKELIHOOD, TEXT

ANSWER = 3  # tokens

# What a model raises that cannot be asked in some way.
_FAILURES = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, NotImplementedError)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"


def choose_mode(forward: Forward, asked: Sequence[Prepared], bucket: int) -> tuple[Mode, dict[str, Any]]:
    """The fastest way that is sound, and a report for the run record.

    Raises UserError where an input is missing without which the model reads pictures wrongly, or where
    not even whole padded prompts give the model's own numbers.
    """
    for one in asked:
        lacking = sorted(forward.token_kinds - one.by_token.keys())
        if lacking:
            raise UserError(
                f"the model's processor does not give {lacking[0]}, without which it would read pictures "
                "wrongly; save the processor anew with the present version of transformers"
            )
    # An answer for the models to read on: the prompt's own last words, so that it is text.
    asked = [
        replace(one, options=(one.ids[-ANSWER:],), question=replace(one.question, max_tokens=ANSWER))
        for one in asked
    ]
    for allowed in (True, False):
        try:
            return _chosen(forward, asked, bucket, allowed)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
    raise UserError(f"no memory left on {forward.device} for a few short prompts; choose another device")


def _chosen(
    forward: Forward, asked: Sequence[Prepared], bucket: int, raise_weights: bool
) -> tuple[Mode, dict[str, Any]]:
    raising = in_float32(forward.model) if raise_weights else nullcontext(False)
    with raising as raised, torch.inference_mode():
        exact = raised or forward.model.dtype == torch.float32
        report: dict[str, Any] = {"in": "float32" if exact else str(forward.model.dtype).split(".")[-1]}
        return _Check(forward, asked, bucket).chosen(FLOAT32 if exact else HALF, report), report


class _Check:
    """Everything is compared with whole prompts and their answers read one at a time."""

    def __init__(self, forward: Forward, asked: Sequence[Prepared], bucket: int) -> None:
        self._forward, self._asked, self._bucket = forward, asked, bucket
        self._positions: dict[str, torch.Tensor] = {}
        self._own: dict[str, torch.Tensor] = {}
        self._memory: dict[str, Any] = {}
        for one in asked:
            last = len(one.ids) - 1
            whole = [*one.ids, *one.options[0][:-1]]
            wanted = torch.arange(last, len(whole))[None]
            read = forward.chains([one], [whole], None, len(whole), wanted, keep=True)
            name = one.question.id
            self._own[name], self._memory[name] = read.logits[0], read.cache
            self._positions[name] = self._received(1, len(whole))[:, 0]

    def chosen(self, limits: Limits, report: dict[str, Any]) -> Mode:
        """The first sound mode; differences of those tried go into the report."""
        if not all(bool(own.isfinite().all()) for own in self._own.values()):
            report["refused"] = dict.fromkeys(MODES[:-1], "the model's logits are not finite")
            return "plain"
        noise = self._noise(limits)
        report["plain"] = noise.told
        if not all(one.prefix for one in self._asked):
            report["refused"] = dict.fromkeys(MODES[:-1], "no token is known to stand for pictures")
            return "plain"
        refused: dict[str, str] = {}
        for mode in MODES[:-1]:
            try:
                found = self._differences(mode)
            except Unsupported as error:
                refused[mode] = str(error)
                continue
            except _FAILURES as error:
                if out_of_memory(error):
                    raise
                refused[mode] = _told(error)
                continue
            report[mode] = found.told
            problem = found.within(limits, noise)
            if problem is None:
                break
            refused[mode] = problem
        report["refused"] = refused
        return next(mode for mode in MODES if mode not in refused)

    def _noise(self, limits: Limits) -> Differences:
        """What padding alone changes. Raises UserError where that is too much, or the model fails."""
        try:
            noise = self._differences("plain")
        except (*_FAILURES, Unsupported) as error:
            if out_of_memory(error):
                raise
            raise UserError(
                f"the model fails at a few short prompts ({_told(error)}); choose another"
            ) from None
        problem = noise.within(replace(limits, logits=limits.noise, shares=limits.noise))
        if problem is not None:
            raise UserError(
                f"padding the model's prompts to one length changes its answers ({problem}, by "
                f"{noise.logits:.1g} standard deviations); this model cannot be asked, choose another"
            )
        return noise

    def _differences(self, mode: Mode) -> Differences:
        found = Differences()
        states = {} if mode == "plain" else self._prefixes(found)
        for rows in self._passes(LIKELIHOOD, mode):
            self._read(rows, states, found)
        for rows in self._passes(TEXT, mode):
            self._continued(rows, states, found)
        return found

    def _passes(self, output: str, mode: Mode) -> Iterator[list[Job]]:
        made = list(jobs(output, self._asked, mode, self._bucket, self._forward.may_pad))
        for shape in dict.fromkeys(job.shape for job in made):
            yield [job for job in made if job.shape == shape]

    def _prefixes(self, found: Differences) -> dict[str, State]:
        """The state after each prefix, compared with what a whole prompt's cache holds of it."""
        firsts = {one.prefix_digest: one for one in self._asked}
        states: dict[str, State] = {}
        for _, group in groupby(firsts.values(), key=lambda one: (one.prefix, one.shown_shape)):
            rows = list(group)
            read = self._forward.prefixes(rows)
            states |= {one.prefix_digest: state for one, state in zip(rows, read, strict=True)}
        for one in self._asked:
            state = states[one.prefix_digest]
            if state.next != int(self._positions[one.question.id][:, one.prefix].max()):
                found.positions = False
            for whole, prefix in zip(self._memory[one.question.id].layers, state.layers, strict=True):
                found.of_memory(whole, prefix, state.length)
        return states

    def _read(self, rows: Sequence[Job], states: dict[str, State], found: Differences) -> None:
        logits = logits_of(self._forward, rows, _after(rows, states))
        received = self._received(len(rows), rows[0].length)
        for row, job in enumerate(rows):
            where = {place: number for number, place in enumerate(job.wanted)}
            for protocol in job.protocols:
                one = protocol.prepared
                places = list(protocol.wanted[0])
                found.against(self._own[one.question.id], logits[row, [where[place] for place in places]])
                self._compare(found, one, len(one.ids) - 1, received[:, row, places])

    def _continued(self, rows: Sequence[Job], states: dict[str, State], found: Differences) -> None:
        """Feeds the answer token by token, as a text would grow."""
        prepared = [job.prepared for job in rows]
        continued = Continued(Prompts(self._forward, rows, _after(rows, states)))
        for number in range(ANSWER - 1):
            tokens = torch.tensor([one.options[0][number] for one in prepared], device=self._forward.device)
            logits = continued.step(tokens)
            received = self._received(len(rows), 1)
            for row, one in enumerate(prepared):
                found.against(self._own[one.question.id][number + 1 : number + 2], logits[row : row + 1])
                self._compare(found, one, len(one.ids) + number, received[:, row])

    def _received(self, rows: int, length: int) -> torch.Tensor:
        """[1 or 3, r, t] the positions of the last pass; a model that got none counts by itself."""
        positions = self._forward.positions
        if positions is None:
            positions = torch.arange(length)[None]
        if positions.ndim == 2:
            positions = positions[None]
        return positions[-3:].expand(-1, rows, -1).cpu()

    def _compare(self, found: Differences, one: Prepared, first: int, received: torch.Tensor) -> None:
        """received: [1 or 3, n] positions of the tokens from `first` on."""
        own = self._positions[one.question.id][:, first : first + received.shape[-1]]
        if not bool((own == received).all()):
            found.positions = False


def _after(rows: Sequence[Job], states: dict[str, State]) -> list[State] | None:
    """The state after each row's prefix, None where rows are whole prompts."""
    return None if rows[0].mode == "plain" else [states[row.prepared.prefix_digest] for row in rows]
