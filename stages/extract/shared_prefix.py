"""The engine for decoders: a prefix with its pictures is read once, all that follows it in few passes."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import torch

from stages.contracts.prompts import LETTERS, TEXT
from stages.extract.cache_layers import fresh
from stages.extract.config import Config
from stages.extract.decoding import Decoder, ends
from stages.extract.engine import Answered, LetterAnswer, LikelihoodAnswer, Refusal
from stages.extract.forward import Forward, Read, State
from stages.extract.jobs import Job, Mode, Reading, jobs
from stages.extract.model_loading import LoadedModel
from stages.extract.prepared import Prepared
from stages.extract.preparing import Preparer
from stages.extract.read_out import letter_answers, likelihood_answer, token_nlls
from stages.extract.row_engine import PASS_TOKENS, RowEngine
from stages.extract.self_check import choose_mode, probes

STATES_HELD = 2  # prefixes kept after their use, in batches


class SharedPrefix(RowEngine[Job]):
    """An Engine, see engine.py."""

    def __init__(self, forward: Forward, preparer: Preparer, config: Config, mode: Mode, decoder: Decoder):
        super().__init__(preparer, config, forward.device, mode, ("prefix", "trie", "batch", "plain"))
        self._forward, self._mode, self._decoder = forward, mode, decoder
        self._states: OrderedDict[str, State] = OrderedDict()
        self._options: dict[str, dict[int, list[float]]] = {}

    def _jobs(self, ask: str, prepared: Sequence[Prepared]) -> Iterator[Job]:
        return jobs(ask, prepared, self._mode, self._config.bucket, self._forward.may_pad)

    def _asked(self, job: Job) -> Iterable[Prepared]:
        return (reading.prepared for reading in job.readings)

    def _forget(self) -> None:
        self._states.clear()

    def _computed(self, rows: Sequence[Job], real: int) -> list[Answered]:
        states = None if rows[0].mode == "plain" else self._states_of([row.prepared for row in rows])
        self.notes["passes"][rows[0].mode] += 1
        if rows[0].readings[0].ask == TEXT:
            return self._texts(rows, states, real)
        prepared = [row.prepared for row in rows]
        wanted = torch.tensor([row.wanted for row in rows])
        if rows[0].mode == "trie":
            tries = [row.trie for row in rows if row.trie is not None]
            read = self._forward.tries(prepared, tries, states or (), rows[0].length, wanted)
        else:
            sequences = [row.sequence for row in rows]
            read = self._forward.chains(prepared, sequences, states, rows[0].length, wanted)
        return [
            answered
            for job, logits in zip(rows[:real], read.logits, strict=False)
            for answered in self._of_job(job, logits)
        ]

    def _states_of(self, prepared: Sequence[Prepared]) -> list[State]:
        """The state after each row's prefix; known ones are not read again."""
        missing = {one.prefix_digest: one for one in prepared if one.prefix_digest not in self._states}
        waiting = list(missing.values())
        size = min(self._rows, max(1, PASS_TOKENS // prepared[0].prefix))
        for start in range(0, len(waiting), size):
            part = waiting[start : start + size]
            read = self._forward.prefixes([*part, *[part[-1]] * (size - len(part))])
            self.notes["passes"]["prefix"] += 1
            self._states.update(zip((one.prefix_digest for one in part), read, strict=False))
        for one in prepared:
            self._states.move_to_end(one.prefix_digest)
        states = [self._states[one.prefix_digest] for one in prepared]
        while len(self._states) > STATES_HELD * self._rows:
            self._states.popitem(last=False)
        return states

    def _of_job(self, job: Job, logits: torch.Tensor) -> Iterator[Answered]:
        """Answers from the logits [n, vocabulary] of a job's wanted places."""
        where = {place: number for number, place in enumerate(job.wanted)}
        if job.readings[0].ask != LETTERS:
            yield from self._likelihood(job, logits, where)
            return
        wanted = [(where[r.wanted[0][0]], r.prepared.letters) for r in job.readings if r.prepared.letters]
        for reading, (answer, flags) in zip(job.readings, letter_answers(logits, wanted), strict=True):
            yield self._answered(reading, answer, job, flags)

    def _likelihood(self, job: Job, logits: torch.Tensor, where: dict[int, int]) -> Iterator[Answered]:
        """Answers whose options are all known: without a trie each option comes from a row of its own."""
        pairs = [
            (where[place], token)
            for reading in job.readings
            for number, places in enumerate(reading.wanted, reading.option)
            for place, token in zip(places, reading.prepared.options[number], strict=True)
        ]
        nlls = iter(token_nlls(logits, pairs))
        for reading in job.readings:
            one = reading.prepared
            known = self._options.setdefault(one.question.id, {})
            for number, places in enumerate(reading.wanted, reading.option):
                known[number] = [next(nlls) for _ in places]
            if len(known) == len(one.options):
                del self._options[one.question.id]
                answer = likelihood_answer([known[number] for number in range(len(known))])
                yield self._answered(reading, answer, job)

    def _answered(
        self,
        reading: Reading,
        answer: LetterAnswer | LikelihoodAnswer | Refusal,
        job: Job,
        flags: Sequence[str] = (),
    ) -> Answered:
        one = reading.prepared
        return Answered(one.question.id, answer, None, (*one.flags, *flags), job.mode)

    def _texts(self, rows: Sequence[Job], states: Sequence[State] | None, real: int) -> list[Answered]:
        """Every decoding of the first `real` rows; the prompts are read once for all of them."""
        prompts = _Prompts(self._forward, rows, states)
        questions = [row.prepared.question for row in rows[:real]]
        return [
            Answered(questions[row].id, answer, decoding, rows[row].prepared.flags, rows[0].mode)
            for row, decoding, answer in self._decoder.texts(questions, lambda: _Continued(prompts))
        ]


class _Prompts:
    """A pass over whole prompts that can be continued several times. mask: [r, tokens] of the cache."""

    def __init__(self, forward: Forward, rows: Sequence[Job], states: Sequence[State] | None) -> None:
        self.forward, self.prepared = forward, [row.prepared for row in rows]
        sequences = [row.sequence for row in rows]
        last = torch.tensor([row.wanted for row in rows])
        self.read: Read = forward.chains(self.prepared, sequences, states, rows[0].length, last, keep=True)
        past = states[0].length if states else 0
        mask = torch.zeros((len(rows), past + rows[0].length), dtype=torch.long)
        for row, sequence in enumerate(sequences):
            mask[row, : past + len(sequence)] = 1
        self.mask = mask.to(forward.device)


class _Continued:
    """One continuation; the cache of the prompts stays as it is."""

    def __init__(self, prompts: _Prompts) -> None:
        self._prompts, self._mask, self._number = prompts, prompts.mask, 0
        self._read = replace(prompts.read, cache=fresh(prompts.read.cache))
        self.logits = prompts.read.logits[:, 0]

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        """See decoding.Continued."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        one = self._prompts
        logits = one.forward.step(one.prepared, tokens, self._mask, self._read, self._number)
        self._number += 1
        return logits


def shared_prefix(loaded: LoadedModel, template: str | None, config: Config) -> SharedPrefix:
    """The engine of a loaded model, in the fastest mode that gives this model's own numbers."""
    preparer = Preparer.of(loaded, template)
    pad = loaded.processor.tokenizer.pad_token_id or 0
    forward = Forward(loaded.model, loaded.device, preparer.vocabulary, pad)
    decoder = Decoder(preparer.decode, ends(loaded.model))
    mode, report = choose_mode(forward, probes(preparer), config.bucket)
    engine = SharedPrefix(forward, preparer, config, mode, decoder)
    engine.notes["self_check"] = report
    return engine
