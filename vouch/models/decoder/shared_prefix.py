"""The engine for decoder-only models: a prefix with its pictures is computed once, for all its questions."""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import torch

from vouch.models.decoder.decoding import Continued, ends
from vouch.models.decoder.forward import Forward, State
from vouch.models.decoder.jobs import Job, Mode, jobs
from vouch.models.decoder.outputs import letter_answers, likelihood_answer, token_nlls
from vouch.models.decoder.prepared import Prepared
from vouch.models.decoder.preparing import Preparer
from vouch.models.decoder.row_engine import PASS_TOKENS, RowEngine
from vouch.models.decoder.self_check import choose_mode, keep_mode, known_mode, probes
from vouch.models.loading.model_loading import LoadedModel
from vouch.models.requests.config import Config
from vouch.models.requests.engine import Answered, Pack
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import LETTERS, TEXT

PREFIX_TOKENS = 512  # of one pass over prefixes, about: few are missing at once, and copies fill the rest
TOKENS_HELD = 8 * PASS_TOKENS  # of prefixes that are kept after their use


class SharedPrefix(RowEngine[Job]):
    """An Engine, see engine.py."""

    def __init__(
        self, forward: Forward, preparer: Preparer, config: Config, mode: Mode, end_tokens: Collection[int]
    ) -> None:
        passes = ("prefix", "trie", "batch", "plain")
        super().__init__(preparer, config, forward.device, mode, passes, end_tokens)
        self._forward, self._mode = forward, mode
        self._states: OrderedDict[str, State] = OrderedDict()
        self._options: dict[str, dict[int, list[float]]] = {}

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        self._options.clear()
        yield from super().answer(packs)

    def _jobs(self, output: str, prepared: Sequence[Prepared]) -> Iterator[Job]:
        return jobs(output, prepared, self._mode, self._config.bucket, self._forward.may_pad)

    def _forget(self) -> None:
        self._states.clear()

    def _computed(self, rows: Sequence[Job], real: int) -> list[Answered]:
        prepared = [row.prepared for row in rows]
        states = None if rows[0].mode == "plain" else self._states_of(prepared)
        self.notes["passes"][rows[0].mode] += 1
        if rows[0].output == TEXT:
            read = self._forward.chains(rows, states, keep=True)  # once for all decodings
            return self._texts(rows[:real], lambda: Continued(self._forward, prepared, read))
        answered: list[Answered] = []
        for job, logits in zip(rows[:real], self._forward.logits(rows, states), strict=False):
            # Rows of letters and of likelihood share a pass where their shapes are equal.
            answered += (self._letters if job.output == LETTERS else self._likelihood)(job, logits)
        return answered

    def _states_of(self, prepared: Sequence[Prepared]) -> list[State]:
        """The state after each row's prefix; cached ones are not computed again."""
        missing = {one.prefix_digest: one for one in prepared if one.prefix_digest not in self._states}
        waiting = list(missing.values())
        shape = "prefix", prepared[0].prefix, prepared[0].shown_shape
        size = self._limits.of(shape, max(1, min(self._rows, PREFIX_TOKENS // prepared[0].prefix)))
        asking, self._current = self._current, (shape, size)
        for start in range(0, len(waiting), size):
            part = waiting[start : start + size]
            read = self._forward.prefixes([*part, *[part[-1]] * (size - len(part))])
            self.notes["passes"]["prefix"] += 1
            self._states.update(zip((one.prefix_digest for one in part), read, strict=False))
        self._current = asking
        for one in prepared:
            self._states.move_to_end(one.prefix_digest)
        states = [self._states[one.prefix_digest] for one in prepared]
        needed = len({one.prefix_digest for one in prepared})
        tokens = sum(state.length for state in self._states.values())
        while tokens > TOKENS_HELD and len(self._states) > needed:
            tokens -= self._states.popitem(last=False)[1].length
        return states

    def _letters(self, job: Job, logits: torch.Tensor) -> Iterator[Answered]:
        """Answers from the logits [n, vocabulary] of a job's wanted places."""
        where = {place: number for number, place in enumerate(job.wanted)}
        wanted = [
            (where[one.wanted[0][0]], one.prepared.letters) for one in job.targets if one.prepared.letters
        ]
        for one, (answer, flags) in zip(job.asked, letter_answers(logits, wanted), strict=True):
            yield Answered(one.question.id, answer, None, (*one.flags, *flags), job.mode)

    def _likelihood(self, job: Job, logits: torch.Tensor) -> Iterator[Answered]:
        """Answers whose options are all known: without a trie each option comes from a row of its own."""
        where = {place: number for number, place in enumerate(job.wanted)}
        pairs = [
            (where[place], token)
            for target in job.targets
            for number, places in enumerate(target.wanted, target.option)
            for place, token in zip(places, target.prepared.options[number], strict=True)
        ]
        nlls = iter(token_nlls(logits, pairs))
        for target in job.targets:
            one = target.prepared
            known = self._options.setdefault(one.question.id, {})
            for number, places in enumerate(target.wanted, target.option):
                known[number] = [next(nlls) for _ in places]
            if len(known) == len(one.options):
                del self._options[one.question.id]
                answer = likelihood_answer([known[number] for number in range(len(known))])
                yield Answered(one.question.id, answer, None, one.flags, job.mode)


def shared_prefix(
    loaded: LoadedModel, template: str | None, config: Config, kept: Path | None = None
) -> SharedPrefix:
    """The engine of a loaded model, in the fastest mode that gives this model's own numbers.

    kept: file of the mode found earlier; without it, or where it does not exist, the model is checked.
    """
    preparer = Preparer.of(loaded, template)
    pad = loaded.processor.tokenizer.pad_token_id or 0
    forward = Forward(loaded.model, loaded.device, preparer.vocabulary, pad)
    found = known_mode(kept) if kept else None
    if found is None:
        try:
            found = choose_mode(forward, probes(preparer), config.bucket)
        except UserError as error:
            raise UserError(f"{preparer.folder}: {error}") from None
        if kept:
            keep_mode(kept, found)
    mode, report = found
    engine = SharedPrefix(forward, preparer, config, mode, ends(loaded.model))
    engine.notes["self_check"] = report
    return engine
