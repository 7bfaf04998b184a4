"""An OpenAI-compatible server as an engine: many requests under way, answers as they come."""

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from vouch.models.requests.engine import Answered, LetterAnswer, Pack, Refusal, TextAnswer, letter_flags
from vouch.models.server import completions
from vouch.models.server.client import Client, GivenUp, Tally, TurnedDown, some_done, stop
from vouch.models.server.requests import Job, jobs
from vouch.models.server.settings import Settings
from vouch.pipeline.errors import UserError

Given = LetterAnswer | TextAnswer | Refusal

TOP_LOGPROBS = 20  # the most that hosted servers give, and vLLM unless it is told otherwise
ENOUGH = 32  # questions in a row without an answer after which the server itself is at fault


class ServerEngine:
    """A server as an Engine (vouch/models/requests/engine.py)."""

    device = "server"

    def __init__(self, url: str, name: str, settings: Settings) -> None:
        self._url, self._name, self._settings = url, name, settings
        self.notes: dict[str, Any] = {}
        self._tally = Tally()
        self._top = TOP_LOGPROBS
        self._answering = False  # whether any answer could be read yet
        self._in_a_row = 0  # questions given up since the last answer
        self._held: list[Answered] = []  # turned down before any question was answered

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """Answers as they come; never more questions are drawn than requests may be under way."""
        todo = jobs(packs)
        with asyncio.Runner() as runner:
            client = Client(self._url, self._settings, self._tally)
            running: set[asyncio.Task[Answered]] = set()
            more = True
            try:
                while more or running:
                    while more and len(running) < self._settings.concurrency:
                        job = next(todo, None)
                        if isinstance(job, Job):
                            running.add(runner.get_loop().create_task(self._do(client, job)))
                        elif job is not None:
                            yield job
                        else:
                            more = False
                    if running:
                        done, running = runner.run(some_done(running))
                        yield from self._settled(done)
                yield from self._end()
            finally:
                runner.run(stop(client, running))
                self.notes.update(self._noted())

    def _noted(self) -> dict[str, Any]:
        tally = self._tally
        notes: dict[str, Any] = {
            "requests": tally.requests,
            "retries": tally.retries,
            "input_tokens": tally.input_tokens,
            "output_tokens": tally.output_tokens,
            "models": dict(sorted(tally.models.items())),
            "fingerprints": sorted(tally.fingerprints),
            "top_logprobs": self._top,
        }
        if self._settings.prices:
            counts = (tally.input_tokens, tally.output_tokens)
            paid = sum(n * price for n, price in zip(counts, self._settings.prices, strict=True))
            notes["cost"] = round(paid / 1e6, 6)
        return notes

    async def _do(self, client: Client, job: Job) -> Answered:
        """Asks. Raises UserError for what no question survives."""
        mine = partial(Answered, job.question.id, decoding=job.decoding)
        try:
            answer, flags = await self._ask(client, job)
        except GivenUp as error:
            return mine(Refusal(str(error), transient=True))
        except TurnedDown as error:
            return mine(Refusal(f"the server turned the request down ({error})"))
        return mine(answer, flags=flags)

    async def _ask(self, client: Client, job: Job) -> tuple[Given, list[str]]:
        """The answer with its flags, for letters with as many log-probabilities as the server gives."""
        while True:
            top = self._top
            try:
                return await client.ask(job.request(self._name, top), partial(self._read, job))
            except TurnedDown as error:
                allowed = completions.largest_allowed(str(error), top)
                if allowed is None or job.decoding is not None:
                    raise
                self._top = min(self._top, allowed)

    def _read(self, job: Job, said: completions.Completion) -> tuple[Given, list[str]]:
        flags = ["other_model"] if completions.other_model(said.model, self._name) else []
        if job.decoding is not None:
            answer: Given = completions.text(said)
        else:
            answer = completions.letters(said, job.question.marks)
        if isinstance(answer, LetterAnswer):
            flags += letter_flags(answer.logits, answer.letter_mass or 0.0)
            flags += ["censored"] if answer.upper is not None else []
        self._answering = True
        return answer, flags

    def _settled(self, done: Iterable[asyncio.Task[Answered]]) -> Iterator[Answered]:
        """The answers of finished requests, before the UserError that one of them may hold."""
        fatal = [error for task in done if (error := task.exception())]
        for task in done:
            if task.exception() is None:
                yield from self._judged(task.result())
        if fatal:
            raise fatal[0]

    def _judged(self, answered: Answered) -> Iterator[Answered]:
        """Passes an answer on, and raises UserError once it must be the server that is at fault.

        While it has not answered a single question, it is not known whether a request was turned down
        for its question or because this server takes none, so such refusals are held back.
        """
        if self._answering:
            yield from self._held
            self._held.clear()
        answer, count = answered.answer, 0
        if not isinstance(answer, Refusal):
            self._in_a_row = 0
            yield answered
            return
        if answer.transient:
            self._in_a_row += 1
            yield answered
            count = self._in_a_row if self._tally.reached else ENOUGH
        elif self._answering or completions.is_about_question(answer.problem):
            yield answered
        else:
            self._held.append(answered)
            count = len(self._held)
        if count >= ENOUGH:
            raise UserError(
                f"{self._url}: answers no question: {answer.problem}; mend the server, or its address in "
                "models.lock, and run the stage again"
            )

    def _end(self) -> Iterator[Answered]:
        for one in self._held:
            assert isinstance(one.answer, Refusal)
            yield Answered(one.question, Refusal(one.answer.problem, transient=True), one.decoding)
        self._held.clear()
