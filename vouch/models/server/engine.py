"""An OpenAI-compatible server as an engine: many requests under way, answers as they come."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from vouch.models.requests.engine import (
    Answered,
    LetterAnswer,
    LikelihoodAnswer,
    Pack,
    Refusal,
    TextAnswer,
    letter_flags,
)
from vouch.models.server import completions
from vouch.models.server.asking import NO_LOGPROBS, TURNED_DOWN, Refusals, each_done
from vouch.models.server.client import Client, GivenUp, Tally, TurnedDown
from vouch.models.server.requests import Asking, Job, jobs
from vouch.models.server.settings import OPENAI, Settings
from vouch.tables.pins import Reasoning
from vouch.tables.prompts import LETTERS, LIKELIHOOD

Given = LetterAnswer | LikelihoodAnswer | TextAnswer | Refusal

TOP_LOGPROBS = 20  # the most that hosted servers give, and vLLM unless it is told otherwise
NO_SCORES = Refusal("the server does not score given texts; ask vLLM or another engine for likelihood")
THINKS = Refusal("letters of a model that thinks cannot be read from a server; ask it for texts")


class ServerEngine:
    """A server as an Engine (vouch/models/requests/engine.py)."""

    device = "server"

    def __init__(
        self,
        url: str,
        name: str,
        settings: Settings,
        reasoning: Reasoning | None = None,
        template_kwargs: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._url, self._name, self._settings, self._reasoning = url, name, settings, reasoning
        self._asking = Asking(name, reasoning.tokens if reasoning else 0, template_kwargs)
        self.notes: dict[str, Any] = {}
        self._tally = Tally()
        self._refusals = Refusals[Answered](url, self._tally)
        self._top: int | None = TOP_LOGPROBS  # None where the server takes no wish for any
        self._told = self._silent = False  # whether it ever gave log-probabilities, or never does
        self._scores = url != OPENAI

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """Answers as they come; never more questions are drawn than requests may be under way."""
        try:
            for one in each_done(self._url, self._settings, self._tally, jobs(packs), self._do):
                refusal = one.answer if isinstance(one.answer, Refusal) else None
                yield from self._refusals.passed_on(one, refusal)
            for one in self._refusals.held:
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
        except completions.NoLogprobs as error:
            self._silent = not self._told
            return mine(Refusal(str(error), transient=True) if self._told else Refusal(NO_LOGPROBS))
        return mine(answer, flags=flags)

    async def _ask(self, client: Client, job: Job) -> tuple[Given, list[str]]:
        """The answer with its flags, for letters with as many log-probabilities as the server gives."""
        if self._reasoning and job.decoding is None:
            return THINKS, []
        if job.output == LIKELIHOOD:
            return await self._likelihood(client, job), []
        while True:
            top = self._top
            if job.output == LETTERS and (top is None or self._silent):
                raise completions.NoLogprobs
            try:
                return await client.ask(job.request(self._asking, top), partial(self._read, job))
            except TurnedDown as error:
                if top is None or not completions.about_logprobs(str(error)):
                    raise
                allowed = completions.largest_allowed(str(error), top)
                self._top = min(self._top, allowed) if self._top and allowed else None

    async def _likelihood(self, client: Client, job: Job) -> Given:
        """Of each option the tokens that come after the prompt's; asked no more once none were told."""
        if not self._scores:
            return NO_SCORES
        try:
            prompt = await client.ask(job.scoring(self._asking, None), completions.prompt_tokens)
        except TurnedDown as error:
            if completions.is_about_question(str(error)):
                raise
            prompt = None
        if prompt is None:
            self._scores = False
            return NO_SCORES
        known, nll, tokens = [token for token, _ in prompt], list[float](), list[int]()
        for option in job.question.options:
            whole = await client.ask(job.scoring(self._asking, option), completions.prompt_tokens) or []
            if [token for token, _ in whole[: len(known)]] != known or len(whole) == len(known):
                return Refusal(f"option {option[:40]!r} and the prompt's last characters become one token")
            nll.append(-math.fsum(logprob for _, logprob in whole[len(known) :]))
            tokens.append(len(whole) - len(known))
        return LikelihoodAnswer(nll, tokens)

    def _read(self, job: Job, said: completions.Completion) -> tuple[Given, list[str]]:
        flags = ["other_model"] if completions.other_model(said.model, self._name) else []
        if job.decoding is not None:
            answer: Given = completions.text(said, self._reasoning)
        else:
            answer = completions.letters(said, job.question.marks)
        if isinstance(answer, TextAnswer) and answer.logprobs is None and self._told and not answer.reasoning:
            raise completions.NoLogprobs("the answer has no log-probabilities")
        self._told |= isinstance(answer, LetterAnswer) or getattr(answer, "logprobs", None) is not None
        if isinstance(answer, LetterAnswer):
            flags += letter_flags(answer.logits, answer.letter_mass or 0.0)
            flags += ["censored"] if answer.upper is not None else []
        return answer, flags
