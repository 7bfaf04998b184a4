"""What a server's model can do: a few requests of one token show it, before any question is asked."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vouch.models.engine import LetterAnswer
from vouch.models.server.client import (
    Client,
    GivenUp,
    RequestTally,
    ServerSettings,
    TurnedDown,
    read_settings,
)
from vouch.models.server.completions import BadAnswer, Completion, NoLogprobs, letters, prompt_tokens
from vouch.models.server.engine import TOP_LOGPROBS
from vouch.models.server.images import data_url
from vouch.models.server.problems import about_logprobs, cannot_score, largest_allowed, takes_no_images
from vouch.models.unsupported import scores_texts
from vouch.pipeline.errors import UserError
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT

_SIDE = 64  # pixels of the image that a server is tried with; some refuse smaller ones
_SECONDS = 20.0
_QUESTION = "Which letter comes first, A or B? Answer with the letter."


@dataclass(frozen=True)
class Abilities:
    """sees: whether it takes images; True is not certain, since it may have left the image out. outputs: what
    it can be asked for. None: it gave no answer, or an error that says nothing about it.
    """

    sees: bool | None = None
    outputs: tuple[str, ...] | None = None


def served_abilities(model: str, url: str, name: str) -> Abilities:
    """The abilities of a model on a server, asked with the model's key."""
    return abilities(url, name, read_settings(model, url, os.environ))


def abilities(url: str, name: str, settings: ServerSettings) -> Abilities:
    """The abilities of a model at an address, from at most six requests. name: as the server calls it."""
    once = settings.model_copy(update={"tries": 1, "timeout": min(settings.timeout, _SECONDS)})

    async def tried() -> Abilities:
        client = Client(url, once, tally := RequestTally())
        trial = _Trial(client, url, name)
        try:
            gives = await trial.gives_letters()
            if not tally.reached:
                return Abilities()
            sees = await trial.sees()
            if gives is None:
                return Abilities(sees)
            scores = gives and await trial.scores()
            return Abilities(sees, OUTPUTS if scores else (LETTERS, TEXT) if gives else (TEXT,))
        finally:
            await client.close()

    return asyncio.run(tried())


class _Trial:
    """The requests that try one model."""

    def __init__(self, client: Client, url: str, name: str) -> None:
        self._client, self._url, self._name = client, url, name

    async def gives_letters(self) -> bool | None:
        """Whether it gives log-probabilities; None if that is not known."""
        top: int | None = TOP_LOGPROBS
        while top is not None:
            answer = await self._answer(logprobs=True, top_logprobs=top)
            if isinstance(answer, Completion):
                return _has_letters(answer)
            if not isinstance(answer, TurnedDown) or not about_logprobs(str(answer)):
                return None
            top = largest_allowed(str(answer), top)
        return False if isinstance(await self._answer(), Completion) else None

    async def scores(self) -> bool:
        """Whether it scores given texts, as far as is known."""
        if not scores_texts(self._url):
            return False
        answer = await self._answer(extra_body={"prompt_logprobs": 0})
        if isinstance(answer, Completion):
            return prompt_tokens(answer) is not None
        return not (isinstance(answer, TurnedDown) and cannot_score(str(answer)))

    async def sees(self) -> bool | None:
        """Whether it takes images; None if that is not known."""
        from PIL import Image

        url = data_url(Image.new("RGB", (_SIDE, _SIDE), "grey"))
        shown = {"type": "image_url", "image_url": {"url": url}}
        answer = await self._answer([shown, {"type": "text", "text": "What is it?"}])
        if isinstance(answer, TurnedDown):
            return False if takes_no_images(str(answer)) else None
        return None if answer is None else True

    async def _answer(
        self, content: str | Sequence[dict[str, Any]] = _QUESTION, **keys: Any
    ) -> Completion | TurnedDown | None:
        """The answer to a request of one token; None if there is none."""
        messages = [{"role": "user", "content": content}]
        request = {"model": self._name, "messages": messages, "max_tokens": 1, **keys}
        try:
            return await self._client.ask(request, lambda answer: answer)
        except TurnedDown as error:
            return error
        except (GivenUp, BadAnswer, UserError):
            return None


def _has_letters(answer: Completion) -> bool | None:
    """Whether an answer has the log-probabilities of its first token; None if it says nothing."""
    try:
        return True if isinstance(letters(answer, ("A", "B")), LetterAnswer) else None
    except NoLogprobs:
        return False
    except BadAnswer:
        return None
