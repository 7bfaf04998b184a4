"""The engine for models that go on from their prompt, and the parts that encoder_decoder.py shares.

All passes of one shape have the same number of rows; missing rows are copies of the last one. A row depends
only on its pack. So the bits of an answer depend on its own pack and on `extract:` in params.yaml, never
on which other prompts are asked. There is one exception: if memory runs out twice, passes of that shape get
half the rows, which changes the last bits. Every answer records the number of rows it was computed with.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from queue import SimpleQueue
from typing import Any, ClassVar, Generic, TypeVar

import torch

from vouch.images.opening import prefetch, weight
from vouch.models.config import ExtractConfig
from vouch.models.decoder.decoding import (
    Continuation,
    continued,
    letter_answers,
    likelihood_answer,
    texts,
    token_nlls,
)
from vouch.models.decoder.passes import CachedRow, Forward
from vouch.models.decoder.preparing import Prepared, Preparer
from vouch.models.decoder.rows import MODES, EncoderRow, Mode, PassRow, jobs
from vouch.models.engine import Answered, Pack, Question, Refusal
from vouch.models.loading import ADVICE, foreign
from vouch.pipeline.errors import UserError, out_of_memory
from vouch.tables.asked import LETTERS, TEXT

HELD_BATCHES = 4  # jobs that wait for others of their shape, in batches
PASS_TOKENS = 2048  # most tokens of a pass, about: more rows gain nothing, and filling rows cost


J = TypeVar("J", bound=PassRow | EncoderRow)


def in_batches(items: Iterable[J], rows: Callable[[J], int], held: int) -> Iterator[list[J]]:
    """Lists of up to rows(item) items of equal shape, as soon as they are full; rows follow from the shape.

    Never holds more than `held` items: at that limit the fullest list is passed on as it is (the oldest among
    equals). The last lists come when the items are used up.
    """
    waiting: dict[Hashable, list[J]] = {}
    count = 0
    for item in items:
        batch = waiting.setdefault(item.shape, [])
        batch.append(item)
        count += 1
        ready = item.shape if len(batch) >= rows(item) else None
        if ready is None and count >= held:
            ready = max(waiting, key=lambda shape: len(waiting[shape]))
        if ready is not None:
            count -= len(waiting[ready])
            yield waiting.pop(ready)
    yield from waiting.values()


class RowLimits:
    """Rows of the passes for which memory ran out, by their shape; all other passes keep theirs."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, int] = {}

    def of(self, shape: Hashable, rows: int) -> int:
        """The rows of a pass of this shape, at most `rows`."""
        return min(rows, self._rows.get(shape, rows))

    def halve(self, shape: Hashable, rows: int) -> bool:
        """Halves the rows for a shape from now on; False if it is already down to one."""
        if rows > 1:
            self._rows[shape] = rows // 2
        return rows > 1


class RowEngine(ABC, Generic[J]):
    """An Engine (vouch/models/engine.py). J: one row of a pass. end_tokens: end a generated text."""

    PASSES: ClassVar[tuple[str, ...]]  # kinds that the notes count

    def __init__(
        self, preparer: Preparer, config: ExtractConfig, device: str, mode: str, end_tokens: Collection[int]
    ) -> None:
        self._preparer, self._config, self._ends = preparer, config, end_tokens
        self.device = device
        # If an image keeps its size in the model, hardly two prompts share a shape, and filling every pass
        # with copies would cost more than it saves: passes then have one row.
        self._rows = config.batch if preparer.one_shape() else 1
        self._limits = RowLimits()
        self._current: tuple[Hashable, int] = (None, 0)  # shape and rows of the pass under way
        self._without: set[str] = set()  # questions refused because memory ran out
        self.notes: dict[str, Any] = {
            "mode": mode,
            "rows": self._rows,
            "passes": dict.fromkeys(self.PASSES, 0),
            "filling_rows": 0,
            "halved": 0,
        }

    @abstractmethod
    def _jobs(self, output: str, prepared: Sequence[Prepared]) -> Iterator[J]:
        """The rows of a pack."""

    @abstractmethod
    def _computed(self, rows: Sequence[J], real: int) -> list[Answered]:
        """Answers of a full pass whose first `real` rows are wanted; the caller adds the number of rows."""

    def _forget(self) -> None:
        """Frees what the engine keeps between passes."""

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        self._without.clear()
        refused: list[Answered] = []
        spare = self._spare

        def prepare(pack: Pack) -> tuple[str, list[Prepared], list[Answered]]:
            preparer = spare.get()  # there are as many as threads
            try:
                return pack.output, *_prepared(preparer, pack.questions)
            finally:
                spare.put(preparer)

        def waiting() -> Iterator[J]:
            workers = self._config.workers
            for output, prepared, refusals in prefetch(prepare, packs, workers, 2 * workers, weigh=_weigh):
                refused.extend(refusals)
                yield from self._jobs(output, prepared)

        for batch in in_batches(waiting(), self._rows_of, HELD_BATCHES * self._rows):
            yield from refused
            refused.clear()
            yield from self._answers(batch)
        yield from refused

    @cached_property
    def _spare(self) -> "SimpleQueue[Preparer]":
        """A preparer for every thread; copying a processor takes long."""
        spare: SimpleQueue[Preparer] = SimpleQueue()
        for _ in range(self._config.workers):
            spare.put(self._preparer.for_thread())
        return spare

    def _rows_of(self, job: J) -> int:
        return self._limits.of(job.shape, min(self._rows, max(1, PASS_TOKENS // job.length)))

    def _answers(self, batch: Sequence[J]) -> Iterator[Answered]:
        """Answers of a batch; out of memory, it is tried again with nothing kept, then with half the rows."""
        while batch:
            shape, rows = batch[0].shape, self._rows_of(batch[0])
            part = batch[:rows]
            answers = self._tried(part, rows)
            if answers is None:
                answers = self._tried(part, rows)
            if answers is None and (self._limits.halve(*self._current) or self._limits.halve(shape, rows)):
                # From now on the pass that failed has fewer rows, or else the rows that it was for.
                self.notes["halved"] += 1
                continue
            yield from self._refused(part[0]) if answers is None else answers
            batch = batch[len(part) :]

    def _tried(self, part: Sequence[J], count: int) -> list[Answered] | None:
        """The answers of a pass with this many rows, None if memory ran out."""
        rows = [*part, *[part[-1]] * (count - len(part))]
        self._current = part[0].shape, count
        with foreign(self._preparer.folder, f"fails at {part[0].asked[0].question.id}", ADVICE):
            try:
                with torch.inference_mode():
                    answers = self._computed(rows, len(part))
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                self._forget()
            else:
                self.notes["filling_rows"] += len(rows) - len(part)
                return [replace(answered, rows=count) for answered in answers]
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()  # small tensors leave holes into which no large one fits
        return None

    def _refused(self, job: J) -> Iterator[Answered]:
        for one in job.asked:
            if one.question.id not in self._without:
                self._without.add(one.question.id)
                problem = f"no memory left on {self.device} for one row of {len(one.ids)} tokens"
                yield Answered(one.question.id, Refusal(problem, transient=True))

    def _texts(self, rows: Sequence[J], begin: Callable[[], Continuation]) -> list[Answered]:
        """Every decoding of rows with one question each. begin: starts again after their prompts."""
        asked = [row.asked[0] for row in rows]
        stop = asked[0].question.stop  # the same for all rows: thoughts have passes of their own
        decode = partial(self._preparer.decode, special=bool(stop))
        answers = texts([one.question for one in asked], begin, decode, self._ends, stop)
        return [
            Answered(asked[row].question.id, answer, decoding, asked[row].flags, rows[row].mode)
            for row, decoding, answer in answers
        ]


def _weigh(pack: Pack) -> int:
    """Bytes of its images, each counted once."""
    shown = {id(image): image for question in pack.questions for image in question.images}
    return sum(map(weight, shown.values()))


def _prepared(preparer: Preparer, questions: Iterable[Question]) -> tuple[list[Prepared], list[Answered]]:
    prepared, refused = [], []
    for question in questions:
        try:
            one = preparer.prepare(question)
        except UserError as error:
            refused.append(Answered(question.id, Refusal(str(error))))
        except MemoryError:
            refused.append(Answered(question.id, Refusal("no memory left to prepare it", transient=True)))
        else:
            assert one.prefix_digest  # computed here, in a thread, and not while the model waits
            prepared.append(one)
    return prepared, refused


PREFIX_TOKENS = 512  # most tokens of a pass over prefixes, about: few are missing at once
TOKENS_HELD = 8 * PASS_TOKENS  # of prefixes that are kept for later passes


class SharedPrefix(RowEngine[PassRow]):
    """For models that go on from their prompt: a prefix with its images is read once for its questions."""

    PASSES = ("prefix", *MODES)

    def __init__(
        self,
        forward: Forward,
        preparer: Preparer,
        config: ExtractConfig,
        mode: Mode,
        end_tokens: Collection[int],
    ) -> None:
        super().__init__(preparer, config, forward.device, mode, end_tokens)
        self._forward, self._mode = forward, mode
        self._states: OrderedDict[str, CachedRow] = OrderedDict()
        self._options: dict[str, dict[int, list[float]]] = {}  # NLLs of options read so far

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        self._options.clear()
        yield from super().answer(packs)

    def _jobs(self, output: str, prepared: Sequence[Prepared]) -> Iterator[PassRow]:
        return jobs(output, prepared, self._mode, self._config.bucket, self._forward.may_pad)

    def _forget(self) -> None:
        self._states.clear()

    def _computed(self, rows: Sequence[PassRow], real: int) -> list[Answered]:
        prepared = [row.prepared for row in rows]
        states = None if rows[0].mode == "plain" else self._states_of(prepared)
        self.notes["passes"][rows[0].mode] += 1
        if rows[0].output == TEXT:
            read = self._forward.chains(rows, states, keep=True)  # once for all decodings
            return self._texts(rows[:real], lambda: continued(self._forward, prepared, read))
        answered: list[Answered] = []
        for job, logits in zip(rows[:real], self._forward.logits(rows, states), strict=False):
            # Rows of letters and of likelihood share a pass if their shapes are equal.
            answered += (self._letters if job.output == LETTERS else self._likelihood)(job, logits)
        return answered

    def _states_of(self, prepared: Sequence[Prepared]) -> list[CachedRow]:
        """The state after each row's prefix; cached ones are not computed again."""
        digests = [one.prefix_digest for one in prepared]
        missing = {one.prefix_digest: one for one in prepared if one.prefix_digest not in self._states}
        self._read_prefixes(list(missing.values()), prepared[0])
        for digest in digests:
            self._states.move_to_end(digest)
        states = [self._states[digest] for digest in digests]
        tokens = sum(state.length for state in self._states.values())
        while tokens > TOKENS_HELD and len(self._states) > len(set(digests)):
            tokens -= self._states.popitem(last=False)[1].length
        return states

    def _read_prefixes(self, missing: Sequence[Prepared], like: Prepared) -> None:
        """Computes and keeps the states after missing prefixes, all of the same shape as `like`."""
        shape = "prefix", like.prefix, like.shown_shape
        size = self._limits.of(shape, max(1, min(self._rows, PREFIX_TOKENS // like.prefix)))
        asking, self._current = self._current, (shape, size)
        for start in range(0, len(missing), size):
            part = missing[start : start + size]
            read = self._forward.prefixes([*part, *[part[-1]] * (size - len(part))])
            self.notes["passes"]["prefix"] += 1
            self._states.update(zip((one.prefix_digest for one in part), read, strict=False))
        self._current = asking

    def _letters(self, job: PassRow, logits: torch.Tensor) -> Iterator[Answered]:
        """Answers from the logits [n, vocabulary] of a job's wanted positions."""
        wanted = [
            (job.index_of[target.wanted[0][0]], target.prepared.letters)
            for target in job.targets
            if target.prepared.letters
        ]
        for one, (answer, flags) in zip(job.asked, letter_answers(logits, wanted), strict=True):
            yield Answered(one.question.id, answer, None, (*one.flags, *flags), job.mode)

    def _likelihood(self, job: PassRow, logits: torch.Tensor) -> Iterator[Answered]:
        """Answers whose options are all known: without a trie each option comes from a row of its own."""
        pairs = [
            (job.index_of[position], token)
            for target in job.targets
            for number, positions in enumerate(target.wanted, target.option)
            for position, token in zip(positions, target.prepared.options[number], strict=True)
        ]
        nlls = iter(token_nlls(logits, pairs))
        for target in job.targets:
            one = target.prepared
            known = self._options.setdefault(one.question.id, {})
            for number, positions in enumerate(target.wanted, target.option):
                known[number] = [next(nlls) for _ in positions]
            if len(known) == len(one.options):
                del self._options[one.question.id]
                answer = likelihood_answer([known[number] for number in range(len(known))])
                yield Answered(one.question.id, answer, None, one.flags, job.mode)
