"""The engine for models that go on from their prompt, and the parts that encoder_decoder.py shares.

All passes of one shape have the same number of rows; missing rows are copies of the last one. A row depends
only on its pack. So the bits of an answer depend on its own pack and on `extract:` in params.yaml, never
on which other prompts are asked. There is one exception: if memory runs out twice, passes of that shape get
half the rows, which changes the last bits. Every answer records the number of rows it was computed with.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from queue import SimpleQueue
from typing import Any, ClassVar, Generic, TypeVar

import torch

from vouch.images.opening import prefetch, weight
from vouch.models.batching import TOKENS_HELD, Waiting, rows_of_pass
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

J = TypeVar("J", bound=PassRow | EncoderRow)


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
        self._waiting = Waiting[J](self._rows_of)
        self._current: tuple[Hashable, int] = (None, 0)  # shape and rows of the pass under way
        self._without: set[str] = set()  # questions refused because memory ran out
        self.notes: dict[str, Any] = {
            "mode": mode,
            "rows": self._rows,
            "passes": dict.fromkeys(self.PASSES, 0),
            "computed_rows": 0,
            "filling_rows": 0,
            "halved": 0,
        }

    @abstractmethod
    def _jobs(self, output: str, prepared: Sequence[Prepared]) -> Iterator[J]:
        """The rows of a pack."""

    @abstractmethod
    def _computed(self, rows: Sequence[J], real: int) -> list[Answered]:
        """Answers of a full pass whose first `real` rows are wanted; the caller adds the number of rows."""

    def _ready(self, rows: Iterator[J]) -> Iterator[J]:
        """The rows, once all that they share with others was computed."""
        return rows

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

        def rows() -> Iterator[J]:
            workers = self._config.workers
            for output, prepared, refusals in prefetch(prepare, packs, workers, 2 * workers, weigh=_weigh):
                refused.extend(refusals)
                yield from self._jobs(output, prepared)

        self._waiting = Waiting(self._rows_of)
        for batch in self._waiting.batches(self._ready(rows())):
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
        return self._limits.of(job.shape, rows_of_pass(job.length, self._rows, self._config.bucket))

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
                self._count(len(part), len(rows))
                return [replace(answered, rows=count) for answered in answers]
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()  # small tensors leave holes into which no large one fits
        return None

    def _count(self, wanted: int, rows: int) -> None:
        self.notes["computed_rows"] += rows
        self.notes["filling_rows"] += rows - wanted

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


PREFIX_TOKENS = 512  # most tokens of a pass over prefixes, about


@dataclass(frozen=True)
class _Prefix:
    """A prefix and the rows that follow it. known: whether it was read."""

    prepared: Prepared
    rows: list[PassRow]
    known: bool = False
    own: int = 0

    @property
    def shape(self) -> Hashable:
        """What prefixes of one pass have in common."""
        return self.known, _prefix_shape(self.prepared)

    @property
    def key(self) -> str:
        """Of what is read."""
        return self.prepared.prefix_digest

    @property
    def shared(self) -> int:
        """Bytes of its images while it waits."""
        return self.prepared.shown_bytes


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
        self._ahead: set[str] = set()  # of these, those whose rows do not even wait yet
        self._options: dict[str, dict[int, list[float]]] = {}  # NLLs of options read so far

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        self._options.clear()
        self._ahead.clear()
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

    def _ready(self, rows: Iterator[PassRow]) -> Iterator[PassRow]:
        """Rows after their prefixes, which are read as soon as a pass over prefixes is full.

        Unless the bits of a prefix depend on where in its pass it is: then the passes of the rows read them.
        """
        if self._config.bucket != "geometric":
            yield from rows
            return
        missing: dict[str, _Prefix] = {}

        def prefixes() -> Iterator[_Prefix]:
            for row in rows:
                digest = row.prepared.prefix_digest
                if row.mode == "plain" or digest in self._states:
                    yield _Prefix(row.prepared, [row], known=True)
                elif digest in missing:
                    missing[digest].rows.append(row)
                else:
                    missing[digest] = _Prefix(row.prepared, [row])
                    yield missing[digest]

        waiting = Waiting[_Prefix](lambda one: 1 if one.known else self._prefix_rows(one.prepared))
        for batch in waiting.batches(prefixes()):
            if not batch[0].known:
                self._read_ahead([one.prepared for one in batch])
                self._ahead.update(missing.pop(one.key).key for one in batch)
            for one in batch:
                yield from one.rows
                self._ahead.discard(one.key)

    def _read_ahead(self, missing: Sequence[Prepared]) -> None:
        """Reads prefixes of one shape. If memory runs out, the passes of their rows read them."""
        with foreign(self._preparer.folder, f"fails at {missing[0].question.id}", ADVICE):
            try:
                with torch.inference_mode():
                    self._read_prefixes(missing)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise

    def _states_of(self, prepared: Sequence[Prepared]) -> list[CachedRow]:
        """The state after each row's prefix; cached ones are not computed again."""
        missing = {one.prefix_digest: one for one in prepared if one.prefix_digest not in self._states}
        if missing:
            self._read_prefixes(list(missing.values()))
        digests = [one.prefix_digest for one in prepared]
        for digest in digests:
            self._states.move_to_end(digest)
        states = [self._states[digest] for digest in digests]
        self._drop_states(digests)
        return states

    def _drop_states(self, used: Collection[str]) -> None:
        """Drops the oldest states that neither `used` nor waiting rows need, if there are too many."""
        tokens = sum(state.length for state in self._states.values())
        for digest in list(self._states):
            if tokens <= TOKENS_HELD:
                return
            if digest not in used and digest not in self._waiting and digest not in self._ahead:
                tokens -= self._states.pop(digest).length

    def _prefix_rows(self, one: Prepared) -> int:
        size = rows_of_pass(one.prefix, self._rows, self._config.bucket, PREFIX_TOKENS)
        return self._limits.of(_prefix_shape(one), size)

    def _read_prefixes(self, missing: Sequence[Prepared]) -> None:
        """Reads prefixes of one shape."""
        size = self._prefix_rows(missing[0])
        asking, self._current = self._current, (_prefix_shape(missing[0]), size)
        for start in range(0, len(missing), size):
            part = missing[start : start + size]
            read = self._forward.prefixes([*part, *[part[-1]] * (size - len(part))])
            self.notes["passes"]["prefix"] += 1
            self._count(len(part), size)
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


def _prefix_shape(one: Prepared) -> Hashable:
    return "prefix", one.prefix, one.shown_shape
