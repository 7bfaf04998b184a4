"""An OpenAI-compatible server as an engine: many requests under way, answers as they come."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
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
from vouch.models.server.asking import FAILS, TURNED_DOWN, Refusals, each_done
from vouch.models.server.client import Client, GivenUp, Tally, TurnedDown
from vouch.models.server.requests import Asking, Job, jobs
from vouch.models.server.settings import OPENAI, Settings
from vouch.tables.pins import Reasoning
from vouch.tables.prompts import LETTERS, LIKELIHOOD

Given = LetterAnswer | LikelihoodAnswer | TextAnswer | Refusal

SILENT = 3  # letters without log-probabilities after which, where none ever came, no others are asked
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
        self._taken: int | None = None  # with how many it has answered letters
        self._unwilling: list[Refusal] = []  # what it said where it took none
        self._scored: bool | None = False if url == OPENAI else None  # None until it is known
        # What came without log-probabilities while none had ever come, and waits until the end.
        self._waiting: dict[str, list[tuple[Job, Refusal]]] = {LETTERS: [], LIKELIHOOD: []}

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """Answers as they come; never more questions are drawn than requests may be under way."""
        try:
            yield from self._each(jobs(packs))
            for output, waiting in self._waiting.items():
                if self._gives(output):
                    self._tally.retries += len(waiting)
                    yield from self._each(job for job, _ in waiting)
                else:
                    yield from chain.from_iterable(self._passed_on(_mine(*one)) for one in waiting)
            for one in self._refusals.held:
                assert isinstance(one.answer, Refusal)
                yield replace(one, answer=replace(one.answer, transient=True, unproven=True))
        finally:
            self.notes.update(self._noted())

    def _each(self, asked: Iterator[Job | Answered]) -> Iterator[Answered]:
        for one in each_done(self._url, self._settings, self._tally, asked, self._do):
            if one is not None:
                yield from self._passed_on(one)

    def _passed_on(self, one: Answered) -> Iterator[Answered]:
        return self._refusals.passed_on(one, one.answer if isinstance(one.answer, Refusal) else None)

    def _gives(self, output: str) -> bool:
        return self._tally.told if output == LETTERS else bool(self._scored)

    def _silent(self, output: str) -> Refusal | None:
        """Why a server is asked no more for what it has never given, None where it is."""
        if output == LETTERS and self._top is None:
            return self._unwilling[0]
        if output == LIKELIHOOD and self._scored is False:
            return NO_SCORES
        waiting = self._waiting.get(output, [])
        return waiting[0][1] if len(waiting) >= SILENT and not self._gives(output) else None

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

    async def _do(self, client: Client, job: Job | Answered) -> Answered | None:
        """Asks, unless no request can be made of it; None where the answer waits until the end.

        Raises UserError for what would fail every question.
        """
        if isinstance(job, Answered):
            return job
        try:
            answer, flags = await self._ask(client, job)
        except GivenUp as error:
            refusal = Refusal(f"{FAILS} ({error})") if error.alone else Refusal(str(error), transient=True)
            return _mine(job, refusal)
        except TurnedDown as error:
            return _mine(job, Refusal(f"{TURNED_DOWN} ({error})"))
        except completions.NoLogprobs as error:
            if error.answer is not None:
                return _mine(job, error.answer)
            if self._gives(job.output):
                return _mine(job, Refusal(f"{FAILS} ({error})"))
            self._waiting[job.output].append((job, error.refusal))
            return None
        return _mine(job, answer, flags)

    async def _ask(self, client: Client, job: Job) -> tuple[Given, list[str]]:
        """The answer with its flags, for letters with as many log-probabilities as the server gives."""
        if self._reasoning and job.decoding is None:
            return THINKS, []
        if (silent := self._silent(job.output)) is not None:
            return silent, []
        if job.output == LIKELIHOOD:
            return await self._likelihood(client, job), []
        top = self._top
        while True:
            try:
                answer = await client.ask(job.request(self._asking, top), partial(self._read, job))
            except TurnedDown as error:
                lettered = job.output == LETTERS
                taken = top is None or (lettered and top == self._taken)
                if taken or not completions.about_logprobs(str(error)):
                    raise
                lacking = completions.NoLogprobs(f" ({error})")
                top = completions.largest_allowed(str(error), top) if lettered and top else None
                if lettered and top is None:
                    raise lacking from None
                self._unwilling.append(lacking.refusal)
                continue
            if job.output == LETTERS:
                self._top = self._taken = top
            elif len(self._unwilling) >= SILENT and not self._tally.told:
                self._top = None
            return answer

    async def _likelihood(self, client: Client, job: Job) -> Given:
        """Of each option the tokens after the prompt's."""
        try:
            prompt = await client.ask(job.scoring(self._asking, None), completions.prompt_tokens)
            self._tally.answering = True
        except TurnedDown as error:
            if self._scored or not completions.cannot_score(str(error)):
                raise
            self._scored = False
            return NO_SCORES
        if prompt is None:
            raise completions.NoLogprobs(refusal=NO_SCORES)
        self._scored = True
        known, nll, tokens = [token for token, _ in prompt], list[float](), list[int]()
        for option in job.question.options:
            whole = await client.ask(job.scoring(self._asking, option), completions.prompt_tokens)
            if whole is None:
                raise completions.NoLogprobs
            if [token for token, _ in whole[: len(known)]] != known or len(whole) == len(known):
                return Refusal(f"option {option[:40]!r} and the prompt's last characters become one token")
            nll.append(-math.fsum(logprob for _, logprob in whole[len(known) :]))
            tokens.append(len(whole) - len(known))
        return LikelihoodAnswer(nll, tokens)

    def _read(self, job: Job, said: completions.Completion) -> tuple[Given, list[str]]:
        flags = ["other_model"] if completions.other_model(said.model, self._name) else []
        if job.decoding is not None:
            answer: Given = completions.text(said, self._reasoning, job.question.response or "")
        else:
            answer = completions.letters(said, job.question.marks)
        self._tally.answering |= not (isinstance(answer, Refusal) and answer.unproven)
        bare = isinstance(answer, TextAnswer) and answer.logprobs is None and not answer.reasoning
        if bare and self._tally.told and isinstance(answer, TextAnswer):
            raise completions.NoLogprobs(answer=answer)
        self._tally.told |= isinstance(answer, LetterAnswer) or getattr(answer, "logprobs", None) is not None
        if isinstance(answer, LetterAnswer):
            flags += letter_flags(answer.logits, answer.letter_mass or 0.0)
            flags += ["censored"] if answer.upper is not None else []
        return answer, flags


def _mine(job: Job, answer: Given, flags: Sequence[str] = ()) -> Answered:
    return Answered(job.question.id, answer, job.decoding, flags)
