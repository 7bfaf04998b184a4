"""Any server that speaks OpenAI's chat completions, asked as `extract` asks one. See docs/add-a-model.md.

One request for each question, temperature 0. The key comes from the environment alone.
"""

import asyncio
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from vouch.models.server.server_client import Client, GivenUp, Tally, TurnedDown
from vouch.models.server.server_reading import BadAnswer, Completion
from vouch.models.server.server_settings import Settings, read_settings
from vouch.models.server.server_tasks import some_done, stop
from vouch.pipeline.errors import UserError
from vouch.prompts.rewrites.config import Config
from vouch.prompts.rewrites.engine import Engine, Proposal, Task
from vouch.prompts.rewrites.instruction import prompt, reply
from vouch.tables.pins import Pin

REVISION = 1
ENOUGH = 16  # questions turned down, and none answered: then it is not the questions
IN_A_ROW = 32  # questions without an answer after which the server itself is at fault
_TURNED_DOWN = "the server turned the request down"
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
        self._answering, self._held = False, list[_Done]()  # held: turned down before anything was answered
        self._in_a_row = 0  # questions given up since the last answer

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
        todo = iter(tasks)
        with asyncio.Runner() as runner:
            client = Client(self._url, self._settings, self._tally)
            running: set[asyncio.Task[_Done]] = set()
            try:
                while True:
                    for task in islice(todo, self._settings.concurrency - len(running)):
                        running.add(runner.get_loop().create_task(self._one(client, task)))
                    if not running:
                        yield from self._held
                        return
                    done, running = runner.run(some_done(running))
                    good = [one.result() for one in done if not one.exception()]
                    for one_done in sorted(good, key=lambda each: each[1].passing):  # answers first
                        yield from self._passed_on(one_done)
                    for one in done:
                        one.result()  # raises what no question survives, once the others are passed on
            finally:
                runner.run(stop(client, running))

    def _passed_on(self, done: _Done) -> Iterator[_Done]:
        """What may be kept by now. Raises UserError where the server turns everything down, or is silent."""
        said = done[1]
        self._in_a_row = self._in_a_row + 1 if said.passing else 0
        if self._answering or not said.reason.startswith(_TURNED_DOWN):
            self._answering |= not said.passing
            yield from self._held if self._answering else ()
            self._held = [] if self._answering else self._held
            yield done
        else:
            self._held.append(done)
        silent = self._in_a_row >= (IN_A_ROW if self._tally.reached else 1)
        if silent or len(self._held) >= ENOUGH:
            raise UserError(
                f"{self._url}: answers no question: {said.reason}; mend the server, or its address in "
                "models.lock, and run the stage again"
            )

    async def _one(self, client: Client, task: Task) -> _Done:
        request = {
            "model": self._name,
            "messages": [{"role": "user", "content": prompt(task)}],
            "max_tokens": self._max_tokens,
            "temperature": 0,
        }
        try:
            return task, await client.ask(request, _read)
        except GivenUp as error:
            return task, Proposal(None, str(error), passing=True)
        except TurnedDown as error:
            return task, Proposal(None, f"{_TURNED_DOWN} ({error})")


def _read(said: Completion) -> Proposal:
    choice = said.choices[0]
    if choice.finish_reason == "content_filter":
        return Proposal(None, "the server's content filter withheld the answer")
    if choice.finish_reason == "length":
        return Proposal(None, "the answer is longer than rewrite.max_tokens")
    if not choice.message.content:
        raise BadAnswer("the answer is empty")
    return Proposal(reply(choice.message.content))
