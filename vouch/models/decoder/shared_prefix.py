"""The engine for decoder-only models: a prefix with its pictures is computed once, for all its questions."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch

from vouch.models.decoder.decoding import Continued, Decoder, Prompts, ends, logits_of
from vouch.models.decoder.forward import Forward, State
from vouch.models.decoder.jobs import Job, Mode, Target, jobs
from vouch.models.decoder.outputs import letter_answers, likelihood_answer, token_nlls
from vouch.models.decoder.preparing import Prepared, Preparer
from vouch.models.decoder.row_engine import PASS_TOKENS, RowEngine
from vouch.models.decoder.self_check import choose_mode, keep_mode, known_mode, probes
from vouch.models.loading.model_loading import LoadedModel
from vouch.models.requests.config import Config
from vouch.models.requests.engine import Answered, LetterAnswer, LikelihoodAnswer, Pack, Refusal
from vouch.tables.prompts import LETTERS, TEXT

PREFIX_TOKENS = 512  # of one pass over prefixes, about: few are missing at once, and copies fill the rest
TOKENS_HELD = 8 * PASS_TOKENS  # of prefixes that are kept after their use


class SharedPrefix(RowEngine[Job]):
    """An Engine, see engine.py."""

    def __init__(self, forward: Forward, preparer: Preparer, config: Config, mode: Mode, decoder: Decoder):
        super().__init__(preparer, config, forward.device, mode, ("prefix", "trie", "batch", "plain"))
        self._forward, self._mode, self._decoder = forward, mode, decoder
        self._states: OrderedDict[str, State] = OrderedDict()
        self._options: dict[str, dict[int, list[float]]] = {}

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        self._options.clear()
        yield from super().answer(packs)

    def _jobs(self, output: str, prepared: Sequence[Prepared]) -> Iterator[Job]:
        return jobs(output, prepared, self._mode, self._config.bucket, self._forward.may_pad)

    def _asked(self, job: Job) -> Iterable[Prepared]:
        return (target.prepared for target in job.targets)

    def _forget(self) -> None:
        self._states.clear()

    def _computed(self, rows: Sequence[Job], real: int) -> list[Answered]:
        states = None if rows[0].mode == "plain" else self._states_of([row.prepared for row in rows])
        self.notes["passes"][rows[0].mode] += 1
        if rows[0].targets[0].output == TEXT:
            return self._texts(rows, states, real)
        return [
            answered
            for job, logits in zip(rows[:real], logits_of(self._forward, rows, states), strict=False)
            for answered in self._of_job(job, logits)
        ]

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

    def _of_job(self, job: Job, logits: torch.Tensor) -> Iterator[Answered]:
        """Answers from the logits [n, vocabulary] of a job's wanted places."""
        where = {place: number for number, place in enumerate(job.wanted)}
        if job.targets[0].output != LETTERS:
            yield from self._likelihood(job, logits, where)
            return
        wanted = [(where[r.wanted[0][0]], r.prepared.letters) for r in job.targets if r.prepared.letters]
        for target, (answer, flags) in zip(job.targets, letter_answers(logits, wanted), strict=True):
            yield self._answered(target, answer, job, flags)

    def _likelihood(self, job: Job, logits: torch.Tensor, where: dict[int, int]) -> Iterator[Answered]:
        """Answers whose options are all known: without a trie each option comes from a row of its own."""
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
                yield self._answered(target, answer, job)

    def _answered(
        self,
        target: Target,
        answer: LetterAnswer | LikelihoodAnswer | Refusal,
        job: Job,
        flags: Sequence[str] = (),
    ) -> Answered:
        one = target.prepared
        return Answered(one.question.id, answer, None, (*one.flags, *flags), job.mode)

    def _texts(self, rows: Sequence[Job], states: Sequence[State] | None, real: int) -> list[Answered]:
        """Every decoding of the first `real` rows; the prompts are read once for all of them."""
        prompts = Prompts(self._forward, rows, states)
        questions = [row.prepared.question for row in rows[:real]]
        return [
            Answered(questions[row].id, answer, decoding, rows[row].prepared.flags, rows[0].mode)
            for row, decoding, answer in self._decoder.texts(questions, lambda: Continued(prompts))
        ]


def shared_prefix(
    loaded: LoadedModel, template: str | None, config: Config, kept: Path | None = None
) -> SharedPrefix:
    """The engine of a loaded model, in the fastest mode that gives this model's own numbers.

    kept: file of the mode found earlier; without it, or where it does not exist, the model is checked.
    """
    preparer = Preparer.of(loaded, template)
    pad = loaded.processor.tokenizer.pad_token_id or 0
    forward = Forward(loaded.model, loaded.device, preparer.vocabulary, pad)
    decoder = Decoder(preparer.decode, ends(loaded.model))
    found = known_mode(kept) if kept else None
    if found is None:
        found = choose_mode(forward, probes(preparer), config.bucket)
        if kept:
            keep_mode(kept, found)
    mode, report = found
    engine = SharedPrefix(forward, preparer, config, mode, decoder)
    engine.notes["self_check"] = report
    return engine
