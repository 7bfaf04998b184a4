"""Any server that speaks OpenAI's chat completions, asked as `extract` asks one. See docs/add-a-model.md.

One request for each prompt, temperature 0. The key comes only from the environment.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from vouch.models.engine import Refusal
from vouch.models.server.client import Client, GivenUp, RequestTally, TurnedDown, connection
from vouch.models.server.client import ServerSettings as Connection
from vouch.models.server.completions import BadAnswer, Completion
from vouch.models.server.engine import TURNED_DOWN, Refusals, each_done
from vouch.prompts.asking import Proposal, Reply, ReplySettings, Responder, too_long
from vouch.tables.answered import Pin

REVISION = 1
_Done = tuple[Proposal, Reply]


def load(pin: Pin, settings: ReplySettings) -> Responder[Proposal]:
    """The pinned server. Raises UserError if the pin or the environment does not say how to ask it."""
    return ServerResponder(*connection(pin, os.environ), settings)


class ServerResponder:
    """A server that replies."""

    def __init__(self, url: str, name: str, connection: Connection, settings: ReplySettings) -> None:
        self._url, self._name, self._connection, self._settings = url, name, connection, settings
        self._tally = RequestTally()
        self._refusals = Refusals[_Done](url, self._tally)

    @property
    def notes(self) -> dict[str, Any]:
        """Counts of what was sent and received, for the run record."""
        return {
            "requests": self._tally.requests,
            "input_tokens": self._tally.input_tokens,
            "output_tokens": self._tally.output_tokens,
            "models": dict(sorted(self._tally.models.items())),
        }

    def ask(self, asked: Sequence[Proposal]) -> Iterator[_Done]:
        """Replies as they come. Raises UserError if the server itself is at fault."""
        for one, reply in each_done(self._url, self._connection, self._tally, iter(asked), self._one):
            refusal = Refusal(reply.reason, reply.transient) if reply.text is None else None
            yield from self._refusals.passed_on((one, reply), refusal)
        yield from self._refusals.held

    async def _one(self, client: Client, one: Proposal) -> _Done:
        request = {
            "model": self._name,
            "messages": _messages(one),
            "max_tokens": self._settings.max_tokens,
            "temperature": 0,
        }
        try:
            return one, await client.ask(request, lambda completion: _read(completion, one, self._settings))
        except GivenUp as error:
            return one, Reply(None, str(error), transient=True)
        except TurnedDown as error:
            return one, Reply(None, f"{TURNED_DOWN} ({error})")


def _messages(one: Proposal) -> list[dict[str, str]]:
    system = [("system", one.system)] if one.system else []
    turns = [part for question, answer in one.turns for part in (("user", question), ("assistant", answer))]
    return [{"role": role, "content": text} for role, text in [*system, *turns, ("user", one.prompt)]]


def _read(completion: Completion, one: Proposal, settings: ReplySettings) -> Reply:
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        return Reply(None, "the server's content filter withheld the answer")
    if choice.finish_reason == "length" and not one.start_is_enough:
        return too_long(settings)
    if not choice.message.content:
        raise BadAnswer("the answer is empty")
    return Reply(one.read(choice.message.content))
