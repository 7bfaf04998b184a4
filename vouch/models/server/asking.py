"""Many requests to one server under way at once, and when to give the server up."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from vouch.models.requests.engine import Refusal
from vouch.models.server.client import Client, Tally
from vouch.models.server.completions import NO_LOGPROBS, is_about_question
from vouch.models.server.settings import Settings
from vouch.pipeline.errors import UserError

J = TypeVar("J")
T = TypeVar("T")

ENOUGH = 32  # questions in a row without an answer after which the server itself is at fault
TURNED_DOWN = "the server turned the request down"
FAILS = "the server fails at this question and answers others"
AT_FAULT = (TURNED_DOWN, FAILS, NO_LOGPROBS)  # perhaps, as long as it has answered nothing


def each_done(
    url: str, settings: Settings, tally: Tally, jobs: Iterator[J], do: Callable[[Client, J], Awaitable[T]]
) -> Iterator[T]:
    """What `do` makes of each job, as they come; no job is drawn before its request may be under way.

    Raises what `do` raises, after the other results that came with it. Breaks off what is under way when it
    is left early.
    """
    with asyncio.Runner() as runner:
        client = Client(url, settings, tally)
        running: set[asyncio.Future[T]] = set()
        try:
            while True:
                for job in islice(jobs, settings.concurrency - len(running)):
                    running.add(asyncio.ensure_future(do(client, job), loop=runner.get_loop()))
                if not running:
                    return
                done, running = runner.run(asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED))
                yield from [one.result() for one in done if not one.exception()]
                for one in done:
                    one.result()
        finally:
            runner.run(_stop(client, running))


async def _stop(client: Client, running: set[asyncio.Future[T]]) -> None:
    for one in running:
        one.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await client.close()


class Refusals(Generic[T]):
    """Passes answers on, and raises UserError once it must be the server that is at fault.

    While it has not answered a single question, it is not known whether a request was turned down for its
    question or because this server takes none, so such refusals are held back.
    """

    def __init__(self, url: str, tally: Tally) -> None:
        self._url, self._tally = url, tally
        self._given_up = 0  # since the last answer
        self.held: list[T] = []

    def passed_on(self, one: T, refusal: Refusal | None) -> Iterator[T]:
        """What is certain by now. refusal: why it is no answer, else None. Raises UserError."""
        if self._tally.answering:
            yield from self.held
            self.held.clear()
        if refusal is None:
            self._given_up = 0
            yield one
            return
        self._given_up += refusal.transient
        problem = refusal.problem
        turned_down = problem.startswith(AT_FAULT) and not is_about_question(problem)
        if (turned_down or refusal.unproven) and not self._tally.answering:
            self.held.append(one)
        else:
            yield one
        silent = refusal.transient and self._given_up >= (ENOUGH if self._tally.reached else 1)
        if silent or len(self.held) >= ENOUGH:
            raise UserError(
                f"{self._url}: answers no question: {problem}; mend the server, or its address in "
                "models.lock, and run the stage again"
            )
