"""Questions to a model, its answers, and the engines that ask them.

An engine takes packs of questions and yields an answer to each. ENGINES lists them all: a new one is a module
with a function `load`, and an entry there.

The bits of an answer may depend on everything in its pack, on the pin and on `extract:` in params.yaml; never
on other packs, their order or their number. There is one exception: if memory runs out, passes of a shape get
fewer rows, and the answer records how many.
"""

import importlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from vouch.models.config import BeamSearch, ExtractConfig
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.tables.answered import LOW_MASS, Pin

if TYPE_CHECKING:
    from PIL.Image import Image


GREEDY_TEMPERATURE = 0.0


@dataclass(frozen=True)
class Decoding:
    """One text wanted of a question: greedy (temperature 0, sample 0), or sample number 1, 2, ...

    seed: 64 bits that belong only to this question, temperature and sample. search: the beam search that
    replaces the greedy choice of tokens, if any.
    """

    temperature: float = GREEDY_TEMPERATURE
    sample: int = 0
    seed: int = 0
    search: BeamSearch | None = None


@dataclass(frozen=True)
class Question:
    """One prompt, its placeholders filled and its images rendered. id: of the prompt; it changes no answer.

    turns: earlier (question, answer) pairs. thought: what the model wrote before its answer, the end of the
    thought included. response: how the answer begins. labels: option labels to read. options: texts to score.
    max_tokens and decodings: of generated text; stop: a text that ends it. known: its answer is already
    stored; it is included only because others of its pack are asked.
    """

    id: str
    system: str | None
    text: str
    turns: Sequence[tuple[str, str]] = ()
    thought: str = ""
    response: str | None = None
    labels: Sequence[str] = ()
    options: Sequence[str] = ()
    images: Sequence["Image"] = ()
    max_tokens: int = 0
    decodings: Sequence[Decoding] = ()
    stop: str = ""
    known: bool = False

    @property
    def prefill(self) -> str | None:
        """The beginning of the assistant's message, which the model continues."""
        return self.thought + (self.response or "") if self.thought else self.response


@dataclass(frozen=True)
class Pack:
    """Questions asked in one go: the prompts of one item and variation, or a single one for text.

    output: one of vouch.tables.asked.OUTPUTS.
    """

    output: str
    questions: Sequence[Question]


@dataclass(frozen=True)
class LetterAnswer:
    """See vouch/tables/answered.py for the fields; one logit per option label."""

    logits: Sequence[float]
    spelling: str | None = None
    other_logits: Sequence[float] | None = None
    upper: Sequence[float] | None = None
    letter_mass: float | None = None
    bracket_mass: float | None = None
    nll: float | None = None
    entropy: float | None = None
    reasoning: str | None = None


@dataclass(frozen=True)
class LikelihoodAnswer:
    """nll, tokens: one per option; see vouch/tables/answered.py."""

    nll: Sequence[float]
    tokens: Sequence[int]
    reasoning: str | None = None


@dataclass(frozen=True)
class TextAnswer:
    """The text of one decoding; see vouch/tables/answered.py. stopped: by Question.stop."""

    text: str
    logprobs: Sequence[float] | None
    entropies: Sequence[float] | None
    eos: int | None
    reasoning: str | None = None
    stopped: bool = False


@dataclass(frozen=True)
class Refusal:
    """Why a question has no answer, one line without its id.

    transient: a problem of this run (a server, memory), so the next run asks the question again. Otherwise
    the refusal is stored like an answer. unproven: the server may refuse every question; the refusal counts
    as transient if no other question has an answer. unsupported: the model does not support
    this request type; the refusal is not stored, and the next run asks again.
    """

    problem: str
    transient: bool = False
    reasoning: str | None = None
    unproven: bool = False
    unsupported: bool = False


@dataclass(frozen=True)
class Answered:
    """An answer and the facts that go with it. question: id. decoding: the one of a TextAnswer, else None.

    A Refusal to text applies to all decodings of the question if `decoding` is None.
    """

    question: str
    answer: LetterAnswer | LikelihoodAnswer | TextAnswer | Refusal
    decoding: Decoding | None = None
    flags: Sequence[str] = ()
    mode: str | None = None
    rows: int | None = None


class Engine(Protocol):
    """A loaded model. notes: measures for the run record, complete once the answers are consumed."""

    device: str
    notes: dict[str, Any]

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """An answer for every question (for text: for every decoding) of every pack, in any order.

        A question that cannot be answered gets a Refusal and the others go on. Raises UserError only for
        problems that affect every question; answers given before are kept.
        """
        ...


@dataclass(frozen=True)
class EngineKind:
    """An engine as models.lock names it.

    module: defines `load(pin: Pin, config: Config) -> Engine`, which checks the pinned model and makes it
    ready to answer. It is imported late, so that a run whose answers are all known never loads torch.
    revision: raised by hand when the same question may get another answer; answers of other revisions are
    not used again.
    settings: keys of Config that can change an answer; they are part of an answer's key. searches: whether it
    can search texts with several beams.
    """

    module: str
    revision: int
    settings: tuple[str, ...] = ()
    searches: bool = False

    def load(self, pin: Pin, config: ExtractConfig) -> Engine:
        """The pinned model, ready to answer. Raises UserError if it cannot be."""
        engine: Engine = importlib.import_module(self.module).load(pin, config)
        return engine


ENGINES: dict[str, EngineKind] = {
    "transformers": EngineKind("vouch.models.decoder.engine", 4, ("batch", "bucket", "threads"), True),
    "openai": EngineKind("vouch.models.server.engine", 1),
    "program": EngineKind("vouch.models.program.engine", 1, ("threads",)),
}


def engine_kind(name: str) -> EngineKind:
    """The engine of that name. Raises UserError with the valid names."""
    if name not in ENGINES:
        raise UserError(f"models.lock: engine {name} is unknown; {did_you_mean(name, sorted(ENGINES))}")
    return ENGINES[name]


CLOSE = 0.25  # logits; half-precision logits near 18 have steps of 0.125


def letter_flags(logits: Sequence[float], letter_mass: float) -> list[str]:
    """logits: of the letters read, -inf if left out. letter_mass: probability on the letters, 0 to 1."""
    flags = ["low_mass"] if letter_mass < LOW_MASS else []
    best = sorted(logits, reverse=True)[:2]
    if len(best) == 2 and best[1] > -math.inf and best[0] - best[1] < CLOSE:
        flags.append("close")
    return flags
