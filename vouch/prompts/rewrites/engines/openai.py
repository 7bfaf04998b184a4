"""Any server that speaks OpenAI's chat completions, asked as `extract` asks one. See docs/add-a-model.md.

One request for each question, temperature 0. The key comes from the environment alone.
"""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from vouch.models.requests.engine import Refusal
from vouch.models.server.asking import TURNED_DOWN, Judge, each_done
from vouch.models.server.client import Client, GivenUp, Tally, TurnedDown
from vouch.models.server.completions import BadAnswer, Completion
from vouch.models.server.settings import Settings, read_settings
from vouch.pipeline.errors import UserError
from vouch.prompts.rewrites.config import Config
from vouch.prompts.rewrites.engine import Engine, Proposal, Task
from vouch.prompts.rewrites.instruction import VERDICT, prompt, reply
from vouch.tables.pins import Pin

REVISION = 1
_Done = tuple[Task, Proposal]


def load(pin: Pin | None, config: Config) -> Engine:
    """The pinned server. Raises UserError where the pin or the environment does not say how to ask it."""
    if pin is None or not pin.source.url or not pin.source.name:
        raise UserError(
            "models.lock: a rewriter with engine openai wants source: {kind: server, url: ..., name: ...}"
        )
    settings = read_settings(pin.model, pin.source.url, os.environ)
    return ServerRewriter(pin.source.url, pin.source.name, settings, config.max_tokens)


class ServerRewriter:
    """See vouch/prompts/rewrites/engine.py."""

    def __init__(self, url: str, name: str, settings: Settings, max_tokens: int) -> None:
        self._url, self._name, self._settings, self._max_tokens = url, name, settings, max_tokens
        self._tally = Tally()
        self._judge = Judge[_Done](url, self._tally)

    @property
    def notes(self) -> dict[str, Any]:
        """What was sent and came back."""
        return {
            "requests": self._tally.requests,
            "input_tokens": self._tally.input_tokens,
            "output_tokens": self._tally.output_tokens,
            "models": dict(sorted(self._tally.models.items())),
        }

    def propose(self, tasks: Sequence[Task]) -> Iterator[_Done]:
        """Proposals as they come. Raises UserError where the server itself is at fault."""
        for task, said in each_done(self._url, self._settings, self._tally, iter(tasks), self._one):
            refusal = Refusal(said.reason, said.transient) if said.text is None else None
            yield from self._judge.passed_on((task, said), refusal)
        yield from self._judge.held

    async def _one(self, client: Client, task: Task) -> _Done:
        request = {
            "model": self._name,
            "messages": [{"role": "user", "content": prompt(task)}],
            "max_tokens": self._max_tokens,
            "temperature": 0,
        }
        try:
            return task, await client.ask(request, partial(_read, task.kind))
        except GivenUp as error:
            return task, Proposal(None, str(error), transient=True)
        except TurnedDown as error:
            return task, Proposal(None, f"{TURNED_DOWN} ({error})")


def _read(kind: str, said: Completion) -> Proposal:
    choice = said.choices[0]
    if choice.finish_reason == "content_filter":
        return Proposal(None, "the server's content filter withheld the answer")
    if choice.finish_reason == "length" and kind != VERDICT:
        return Proposal(None, "the answer is longer than rewrite.max_tokens")
    if not choice.message.content:
        raise BadAnswer("the answer is empty")
    return Proposal(reply(choice.message.content, kind))
