"""An OpenAI-compatible server as an engine: vLLM, llama.cpp, hosted models (docs/add-a-model.md).

letters     one request of one token; completions.py defines the value of a letter
text        one request for the greedy text and for each sample
likelihood  one request for the prompt and for each option, of servers that score given texts (vLLM)

Many requests are under way at once, and answers come as they arrive. `Refusals` decides when to give the
server up.
"""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from vouch.models.chat import chat
from vouch.models.config import ExtractConfig
from vouch.models.engine import (
    Answered,
    Decoding,
    Engine,
    LetterAnswer,
    LikelihoodAnswer,
    Pack,
    Question,
    Refusal,
    TextAnswer,
    letter_flags,
)
from vouch.models.server import completions
from vouch.models.server.client import Client, GivenUp, RequestTally, ServerSettings, TurnedDown, connection
from vouch.models.server.images import data_url
from vouch.models.server.problems import (
    about_logprobs,
    cannot_score,
    is_about_question,
    largest_allowed,
    takes_no_images,
)
from vouch.models.unsupported import NO_SCORES, scores_texts
from vouch.pipeline.errors import UserError
from vouch.tables.answered import OTHER_MODEL, Pin, Reasoning
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT

Message = dict[str, Any]

_SEED_BITS = 53  # JSON numbers are exact up to here in every language
_CONTINUED = {"continue_final_message": True, "add_generation_prompt": False}


def messages(question: Question, urls: MutableMapping[int, str]) -> list[Message]:
    """The messages of vouch/models/chat/chat.py with the images in them, and how the answer begins.

    urls: data URLs by id() of their image, filled here; prompts of a pack share images. Raises
    ValueError if the placeholders do not name each image once.
    """
    asked, order = chat.messages(question)
    for image in question.images:
        if id(image) not in urls:
            urls[id(image)] = data_url(image)
    shown = iter([urls[id(question.images[index])] for index in order])
    result = [{**message, "content": _content(message["content"], shown)} for message in asked]
    if question.response is not None:
        result.append({"role": "assistant", "content": question.response})
    return result


def _content(parts: Sequence[Message], shown: Iterator[str]) -> str | list[Message]:
    """Parts, or the bare text if there is no image: not every server takes parts that are only text."""
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return [
        {"type": "image_url", "image_url": {"url": next(shown)}} if part["type"] == "image" else part
        for part in parts
    ]


@dataclass(frozen=True)
class Job:
    """One request or set of requests: for letters, likelihoods of options, or the text of one decoding."""

    output: str
    question: Question
    messages: list[Message]
    decoding: Decoding | None = None


def jobs(packs: Iterable[Pack]) -> Iterator[Job | Answered]:
    """A job for each request, a refusal for each question that no request can be made of.

    A server answers each question by itself: those that are known are not asked again.
    """
    for pack in packs:
        urls: dict[int, str] = {}
        for question in pack.questions:
            if question.known:
                continue
            try:
                asked = messages(question, urls)
            except ValueError as error:
                yield Answered(question.id, Refusal(str(error)))
                continue
            for decoding in question.decodings if pack.output == TEXT else (None,):
                yield Job(pack.output, question, asked, decoding)


J = TypeVar("J")
T = TypeVar("T")

ENOUGH = 32  # questions in a row without an answer after which the server itself is at fault
TURNED_DOWN = "the server turned the request down"
FAILS = "the server fails at this question and answers others"
AT_FAULT = (TURNED_DOWN, FAILS)  # the server may be at fault, as long as it has answered nothing


def each_done(
    url: str,
    settings: ServerSettings,
    tally: RequestTally,
    jobs: Iterator[J],
    do: Callable[[Client, J], Awaitable[T]],
) -> Iterator[T]:
    """The results of `do` for the jobs, as they come; no job is drawn before its request may be under way.

    Raises what `do` raises, after the other results that came with it. Cancels running requests when the
    caller stops early.
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
                yield from [task.result() for task in done if not task.exception()]
                for task in done:
                    task.result()
        finally:
            runner.run(_stop(client, running))


async def _stop(client: Client, running: set[asyncio.Future[T]]) -> None:
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await client.close()


class Refusals(Generic[T]):
    """Passes answers on, and raises UserError once the server itself must be at fault.

    While it has not answered a single question, it is not known whether a request was turned down for its
    question or because this server takes none, so such refusals are held back.
    """

    def __init__(self, url: str, tally: RequestTally) -> None:
        self._url, self._tally = url, tally
        self._given_up = 0  # since the last answer
        self.held: list[T] = []

    def passed_on(self, answer: T, refusal: Refusal | None) -> Iterator[T]:
        """The answers that are certain by now. refusal: why it is none, else None. Raises UserError."""
        if self._tally.answering:
            yield from self.held
            self.held.clear()
        if refusal is None:
            self._given_up = 0
            yield answer
            return
        self._given_up += refusal.transient
        problem = refusal.problem
        turned_down = problem.startswith(AT_FAULT) and not is_about_question(problem)
        if (turned_down or refusal.unproven) and not self._tally.answering:
            self.held.append(answer)
        else:
            yield answer
        unreachable = refusal.transient and self._given_up >= (ENOUGH if self._tally.reached else 1)
        if unreachable or len(self.held) >= ENOUGH:
            raise UserError(
                f"{self._url}: answers no question: {problem}; mend the server, or its address in "
                "models.lock, and run the stage again"
            )


Given = LetterAnswer | LikelihoodAnswer | TextAnswer | Refusal

UNSUPPORTED_AFTER = 3  # letters without log-probabilities after which, if none ever came, no others are asked
TOP_LOGPROBS = 20  # the most that hosted servers give, and vLLM unless it is told otherwise
UNSCORED = Refusal(NO_SCORES, unsupported=True)


def load(pin: Pin, config: ExtractConfig) -> Engine:
    """The pinned server. Raises UserError if the pin or the environment does not say how to ask it."""
    return ServerEngine(*connection(pin, os.environ), pin.reasoning, pin.template_kwargs, pin.model)


class ServerEngine:
    """A server as an Engine (vouch/models/engine.py).

    name: of the model, as the server calls it. template_kwargs: variables of the chat template, by vLLM's,
    SGLang's and llama.cpp's `chat_template_kwargs`. model: its name in models.lock, for messages.
    """

    device = "server"

    def __init__(
        self,
        url: str,
        name: str,
        settings: ServerSettings,
        reasoning: Reasoning | None = None,
        template_kwargs: Mapping[str, Any] = MappingProxyType({}),
        model: str = "NAME",
    ) -> None:
        self._model = model
        self._url, self._name, self._settings, self._reasoning = url, name, settings, reasoning
        self._variables = {"chat_template_kwargs": dict(template_kwargs)} if template_kwargs else {}
        self.notes: dict[str, Any] = {}
        self._tally = RequestTally()
        self._refusals = Refusals[Answered](url, self._tally)
        self._top: int | None = TOP_LOGPROBS  # None if the server rejects requests for any
        self._taken: int | None = None  # the number with which it has answered letters
        self._shown = False  # whether a question with images was answered
        # Questions to which it said that it takes no images: they wait until the end as well.
        self._sightless: dict[str, list[Answered]] = {output: [] for output in OUTPUTS}
        self._unwilling: list[Refusal] = []  # its messages when it rejected them
        self._scored: bool | None = None if scores_texts(url) else False  # None until it is known
        # Answers without log-probabilities, while none had any: they wait until the end.
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
            self._check_sight(UNSUPPORTED_AFTER)
            for sightless in self._sightless.values():
                yield from chain.from_iterable(map(self._passed_on, sightless))
            for one in self._refusals.held:
                assert isinstance(one.answer, Refusal)
                yield replace(one, answer=replace(one.answer, transient=True, unproven=True))
        finally:
            self.notes.update(self._tally.notes(), top_logprobs=self._top)
            if self._settings.price_input is not None and self._settings.price_output is not None:
                paid = self._tally.input_tokens * self._settings.price_input
                paid += self._tally.output_tokens * self._settings.price_output
                self.notes["cost"] = round(paid / 1e6, 6)

    def _each(self, asked: Iterator[Job | Answered]) -> Iterator[Answered]:
        for answered in each_done(self._url, self._settings, self._tally, asked, self._do):
            if answered is not None:
                yield from self._passed_on(answered)

    def _passed_on(self, answered: Answered) -> Iterator[Answered]:
        refusal = answered.answer if isinstance(answered.answer, Refusal) else None
        return self._refusals.passed_on(answered, refusal)

    def _check_sight(self, most: int) -> None:
        """Raises UserError if so many questions were refused for their images, and none was answered."""
        for sightless in self._sightless.values():
            if not self._shown and len({one.question for one in sightless}) >= most:
                refused = sightless[0].answer
                assert isinstance(refused, Refusal)
                raise UserError(
                    f"{self._url}: {self._name} takes no images: {refused.problem}; write `sees: false` into "
                    f"its entry of models.lock (`vouch lock {self._model}` does) and run it again, to ask it "
                    "the questions without them"
                )

    def _gives(self, output: str) -> bool:
        return self._tally.gives_logprobs if output == LETTERS else bool(self._scored)

    def _unsupported(self, output: str) -> Refusal | None:
        """Why a request type that the server has never answered is no longer asked for, else None."""
        if output == LETTERS and self._top is None:
            return self._unwilling[0]
        if output == LIKELIHOOD and self._scored is False:
            return UNSCORED
        waiting = self._waiting.get(output, [])
        return waiting[0][1] if len(waiting) >= UNSUPPORTED_AFTER and not self._gives(output) else None

    async def _do(self, client: Client, job: Job | Answered) -> Answered | None:
        """Asks, unless no request can be made of it; None if the answer waits until the end.

        Raises UserError for a problem that would fail every question.
        """
        if isinstance(job, Answered):
            return job
        try:
            answered = _mine(job, *await self._ask(client, job))
            self._shown |= bool(job.question.images) and not isinstance(answered.answer, Refusal)
            return answered
        except GivenUp as error:
            return _mine(job, Refusal(f"{FAILS} ({error})") if error.alone else Refusal(str(error), True))
        except TurnedDown as error:
            refused = _mine(job, Refusal(f"{TURNED_DOWN} ({error})"))
            if not (job.question.images and takes_no_images(str(error))):
                return refused
            self._sightless[job.output].append(refused)
            self._check_sight(ENOUGH)
            return None
        except completions.NoLogprobs as error:
            if error.answer is not None:
                return _mine(job, error.answer)
            if self._gives(job.output):
                return _mine(job, Refusal(f"{FAILS} ({error})"))
            self._waiting[job.output].append((job, error.refusal))
            return None

    async def _ask(self, client: Client, job: Job) -> tuple[Given, list[str]]:
        """The answer with its flags, for letters with as many log-probabilities as the server gives."""
        if (refusal := self._unsupported(job.output)) is not None:
            return refusal, []
        if job.output == LIKELIHOOD:
            return await self._likelihood(client, job), []
        top = self._top
        while True:
            try:
                answer = await client.ask(self.request(job, top), partial(self._read, job))
            except TurnedDown as error:
                lettered = job.output == LETTERS
                taken = top is None or (lettered and top == self._taken)
                if taken or not about_logprobs(str(error)):
                    raise
                no_logprobs = completions.NoLogprobs(f" ({error})")
                top = largest_allowed(str(error), top) if lettered and top else None
                if lettered and top is None:
                    raise no_logprobs from None
                self._unwilling.append(no_logprobs.refusal)
                continue
            if job.output == LETTERS:
                self._top = self._taken = top
            elif len(self._unwilling) >= UNSUPPORTED_AFTER and not self._tally.gives_logprobs:
                self._top = None
            return answer

    async def _likelihood(self, client: Client, job: Job) -> Given:
        """The likelihood of each option, from its tokens after the prompt's."""
        try:
            prompt = await client.ask(self._scoring(job, None), completions.prompt_tokens)
            self._tally.answering = True
        except TurnedDown as error:
            if self._scored or not cannot_score(str(error)):
                raise
            self._scored = False
            return UNSCORED
        if prompt is None:
            raise completions.NoLogprobs(refusal=UNSCORED)
        self._scored = True
        known, nll, tokens = [token for token, _ in prompt], list[float](), list[int]()
        for option in job.question.options:
            whole = await client.ask(self._scoring(job, option), completions.prompt_tokens)
            if whole is None:
                raise completions.NoLogprobs
            if [token for token, _ in whole[: len(known)]] != known or len(whole) == len(known):
                return Refusal(f"option {option[:40]!r} and the prompt's last characters become one token")
            nll.append(-math.fsum(logprob for _, logprob in whole[len(known) :]))
            tokens.append(len(whole) - len(known))
        return LikelihoodAnswer(nll, tokens)

    def requests(self, job: Job) -> list[dict[str, Any]]:
        """The requests that a job makes, as long as the server has not turned any down."""
        if job.output == LIKELIHOOD:
            return [self._scoring(job, option) for option in (None, *job.question.options)]
        return [self.request(job, self._top)]

    def request(self, job: Job, top_logprobs: int | None) -> dict[str, Any]:
        """Arguments of the openai client. top_logprobs: None asks for no log-probabilities."""
        request: dict[str, Any] = {"model": self._name, "messages": job.messages}
        if top_logprobs is not None:
            request["logprobs"] = True
        if job.decoding is None:
            request |= {"max_tokens": 1, "temperature": 0, "top_logprobs": top_logprobs}
        else:
            thought = self._reasoning.tokens if self._reasoning else 0
            request |= {"max_tokens": job.question.max_tokens + thought}
            request |= {"temperature": job.decoding.temperature}
            if job.decoding.sample:
                request |= {"seed": job.decoding.seed >> (64 - _SEED_BITS), "top_p": 1}
        # A server that cannot continue a begun answer turns this down: better than another prompt.
        return self._with_extra(request, _CONTINUED if job.question.response is not None else {})

    def _scoring(self, job: Job, option: str | None) -> dict[str, Any]:
        """A request that scores the prompt, with an option after it if one is given."""
        messages, response = job.messages, job.question.response
        if option is not None:
            answer = option if response is None else f"{response} {option}"
            before = messages if response is None else messages[:-1]
            messages = [*before, {"role": "assistant", "content": answer}]
        begun = _CONTINUED if messages[-1]["role"] == "assistant" else {}
        request = {"model": self._name, "messages": messages, "max_tokens": 1, "temperature": 0}
        return self._with_extra(request, begun | {"prompt_logprobs": 0})

    def _with_extra(self, request: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        extra = {**extra, **self._variables}
        return request | {"extra_body": extra} if extra else request

    def _read(self, job: Job, completion: completions.Completion) -> tuple[Given, list[str]]:
        flags = [OTHER_MODEL] if completions.other_model(completion.model, self._name) else []
        if job.decoding is not None:
            answer: Given = completions.text(completion, self._reasoning, job.question.response or "")
        else:
            answer = completions.letters(completion, job.question.labels)
        self._tally.answering |= not (isinstance(answer, Refusal) and answer.unproven)
        if isinstance(answer, TextAnswer) and answer.logprobs is None:
            if self._tally.gives_logprobs and not answer.reasoning:
                raise completions.NoLogprobs(answer=answer)
        elif not isinstance(answer, Refusal):
            self._tally.gives_logprobs = True
        if isinstance(answer, LetterAnswer):
            flags += letter_flags(answer.logits, answer.letter_mass or 0.0)
            flags += ["censored"] if answer.upper is not None else []
        return answer, flags


def _mine(job: Job, answer: Given, flags: Sequence[str] = ()) -> Answered:
    return Answered(job.question.id, answer, job.decoding, flags)
