"""A language model of the transformers library, asked through the engine of `extract`. Greedy.

The engine computes passes of a fixed number of rows, padded to a fixed step of lengths, so a reply depends on
its own prompt alone: the same bytes whatever else is asked. Prompts are asked in the order of their lengths.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from vouch.models.config import ExtractConfig
from vouch.models.engine import Decoding, Engine, Pack, Question, Refusal, TextAnswer
from vouch.pipeline.errors import UserError
from vouch.prompts.asking import A, Proposal, Reply, ReplySettings, Responder, too_long
from vouch.tables.answered import Pin
from vouch.tables.asked import TEXT

REVISION = 2
_PROBE = Question(
    "probe", "Reply briefly.", "Goodbye.", turns=(("Hello.", "Hi."),), max_tokens=1, decodings=(Decoding(),)
)
BATCH = 8  # rows of a pass; another number may give other replies


def load(pin: Pin, settings: ReplySettings) -> Responder[Proposal]:
    """The pinned model. Raises UserError if its files are not those pinned or cannot be loaded."""
    from vouch.models.decoder import engine

    config = ExtractConfig(batch=BATCH, threads=settings.threads, device=settings.device, workers=1)
    return LocalResponder(pin.model, engine.load(pin, config), settings)


class LocalResponder:
    """A local model that replies. name: in models.lock."""

    def __init__(self, name: str, engine: Engine, settings: ReplySettings) -> None:
        self._name, self._engine, self._settings = name, engine, settings

    @property
    def notes(self) -> dict[str, Any]:
        """The engine's measures."""
        return {"device": self._engine.device, **self._engine.notes}

    def ask(self, asked: Sequence[A]) -> Iterator[tuple[A, Reply]]:
        """A reply to each, in any order. Raises UserError if the model's template takes no conversation."""
        if any(one.system or one.turns for one in asked):
            self._check_converses()
        ordered = dict(enumerate(sorted(asked, key=lambda one: len(one.prompt))))
        packs = (Pack(TEXT, [self._question(str(number), one)]) for number, one in ordered.items())
        for answered in self._engine.answer(packs):
            one = ordered[int(answered.question)]
            if isinstance(answered.answer, Refusal):
                yield one, Reply(None, answered.answer.problem, answered.answer.transient)
            else:
                assert isinstance(answered.answer, TextAnswer)
                yield one, self._reply(one, answered.answer)

    def _check_converses(self) -> None:
        """Asks a short conversation, which is refused only if all of them would be."""
        (answered,) = self._engine.answer([Pack(TEXT, [_PROBE])])
        if isinstance(answered.answer, Refusal) and not answered.answer.transient:
            raise UserError(
                f"{self._name}: cannot be asked with a system message and earlier turns: "
                f"{answered.answer.problem}; for rewrites `rewrite.examples: text` needs neither"
            )

    def _question(self, name: str, one: Proposal) -> Question:
        return Question(
            name,
            one.system,
            one.prompt,
            turns=one.turns,
            max_tokens=self._settings.max_tokens,
            decodings=(Decoding(),),
        )

    def _reply(self, one: Proposal, answer: TextAnswer) -> Reply:
        if answer.eos is None and not one.start_is_enough:
            return too_long(self._settings)
        return Reply(one.read(answer.text))
