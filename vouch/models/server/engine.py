"""An OpenAI-compatible server as an engine: many requests under way, answers as they come."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from vouch.models.requests.engine import Answered, LetterAnswer, Pack, Refusal, TextAnswer, letter_flags
from vouch.models.server import completions
from vouch.models.server.asking import TURNED_DOWN, Judge, each_done
from vouch.models.server.client import Client, GivenUp, Tally, TurnedDown
from vouch.models.server.requests import Job, jobs
from vouch.models.server.settings import Settings

Given = LetterAnswer | TextAnswer | Refusal

TOP_LOGPROBS = 20  # the most that hosted servers give, and vLLM unless it is told otherwise


class ServerEngine:
    """A server as an Engine (vouch/models/requests/engine.py)."""

    device = "server"

    def __init__(self, url: str, name: str, settings: Settings) -> None:
        self._url, self._name, self._settings = url, name, settings
        self.notes: dict[str, Any] = {}
        self._tally = Tally()
        self._judge = Judge[Answered](url, self._tally)
        self._top = TOP_LOGPROBS

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """Answers as they come; never more questions are drawn than requests may be under way."""
        try:
            for one in each_done(self._url, self._settings, self._tally, jobs(packs), self._do):
                refusal = one.answer if isinstance(one.answer, Refusal) else None
                yield from self._judge.passed_on(one, refusal)
            for one in self._judge.held:
                assert isinstance(one.answer, Refusal)
                yield replace(one, answer=replace(one.answer, transient=True))
        finally:
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
        if self._settings.price_input is not None and self._settings.price_output is not None:
            paid = tally.input_tokens * self._settings.price_input
            paid += tally.output_tokens * self._settings.price_output
            notes["cost"] = round(paid / 1e6, 6)
        return notes

    async def _do(self, client: Client, job: Job | Answered) -> Answered:
        """Asks, unless no request can be made of it. Raises UserError for what would fail every question."""
        if isinstance(job, Answered):
            return job
        mine = partial(Answered, job.question.id, decoding=job.decoding)
        try:
            answer, flags = await self._ask(client, job)
        except GivenUp as error:
            return mine(Refusal(str(error), transient=True))
        except TurnedDown as error:
            return mine(Refusal(f"{TURNED_DOWN} ({error})"))
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
        return answer, flags
