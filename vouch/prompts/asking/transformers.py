"""A language model of the transformers library, asked through the engine of `extract`. Greedy.

The engine computes passes of a fixed number of rows, padded to a fixed step of lengths, so a reply depends on
its own prompt alone: the same bytes whatever else is asked. Prompts are asked in the order of their lengths.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from vouch.models.config import ExtractConfig
from vouch.models.engine import Decoding, Engine, Pack, Question, Refusal, TextAnswer
from vouch.prompts.asking import A, Proposal, Reply, Settings, Writer, too_long
from vouch.tables.answered import Pin
from vouch.tables.asked import TEXT

REVISION = 2
BATCH = 8  # rows of a pass; another number may give other replies


def load(pin: Pin, settings: Settings) -> Writer[Proposal]:
    """The pinned model. Raises UserError if its files are not those pinned or cannot be loaded."""
    from vouch.models.decoder import engine

    config = ExtractConfig(batch=BATCH, threads=settings.threads, device=settings.device, workers=1)
    return LocalWriter(engine.load(pin, config), settings)


class LocalWriter:
    """A local model as a Writer."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings

    @property
    def notes(self) -> dict[str, Any]:
        """The engine's measures."""
        return {"device": self._engine.device, **self._engine.notes}

    def ask(self, asked: Sequence[A]) -> Iterator[tuple[A, Reply]]:
        """A reply to each, in any order."""
        ordered = dict(enumerate(sorted(asked, key=lambda one: len(one.prompt))))
        packs = (Pack(TEXT, [self._question(str(number), one)]) for number, one in ordered.items())
        for answered in self._engine.answer(packs):
            one = ordered[int(answered.question)]
            if isinstance(answered.answer, Refusal):
                yield one, Reply(None, answered.answer.problem, answered.answer.transient)
            else:
                assert isinstance(answered.answer, TextAnswer)
                yield one, self._reply(one, answered.answer)

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
