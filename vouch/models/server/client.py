"""The client of a chat completions server: requests, retries, and what errors mean.

A response is read up to a limit, so a hostile server can at worst be refused.
"""

import asyncio
import json
import math
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar, cast

import httpx2
import openai

from vouch.models.server.completions import (
    BadAnswer,
    Completion,
    NoLogprobs,
    cannot_succeed,
    completion,
    may_pass,
)
from vouch.models.server.settings import Settings
from vouch.pipeline.errors import UserError

T = TypeVar("T")
MOST_NAMES = 100  # most model names of a server that are recorded
MOST_NAME = 200  # characters of each
GREETING = [{"role": "user", "content": "Hello"}]
LONGEST_WAIT = 600.0  # seconds; a server that asks for a longer wait is not waited for
_TRANSIENT = (408, 409, 425, 429)
_NO_QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_NO_MODEL = ("model_not_found", "invalid_model")


@dataclass
class Tally:
    """What was sent and came back, over all questions of an engine.

    reached: whether anything came back. answering: whether an answer could be read.
    gives_logprobs: whether an answer had log-probabilities.
    """

    requests: int = 0
    retries: int = 0
    reached: bool = False
    answering: bool = False
    gives_logprobs: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    models: Counter[str] = field(default_factory=Counter)
    fingerprints: set[str] = field(default_factory=set)

    def count(self, answer: Completion) -> None:
        """Counts a completion, valid or not: it was paid for."""
        if answer.usage is not None:
            self.input_tokens += answer.usage.prompt_tokens
            self.output_tokens += answer.usage.completion_tokens
        model = (answer.model or "")[:MOST_NAME]
        if model in self.models or len(self.models) < MOST_NAMES:
            self.models[model] += 1
        if answer.system_fingerprint and len(self.fingerprints) < MOST_NAMES:
            self.fingerprints.add(answer.system_fingerprint[:MOST_NAME])


class Client:
    """A server that speaks the chat completions API. For use inside one event loop."""

    def __init__(self, url: str, settings: Settings, tally: Tally) -> None:
        self._url, self._settings, self._tally = url, settings, tally
        self._next = 0.0  # when the next request may start
        self._answered: Mapping[str, Any] | None = None  # the last request that was
        self._api = openai.AsyncOpenAI(
            api_key=settings.key or "none",  # servers without keys ignore it; the client wants one
            base_url=url,
            max_retries=0,
            timeout=settings.timeout,
            default_headers={"Accept-Encoding": "identity"},
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={"response": [bounded]}
            ),
        )
        # The client has taken these from the environment, whatever the address.
        self._api.organization, self._api.project = settings.organization, settings.project

    async def close(self) -> None:
        """Closes all connections."""
        await self._api.close()

    async def ask(self, request: Mapping[str, Any], read: Callable[[Completion], T]) -> T:
        """What `read` makes of the answer; it may raise BadAnswer.

        Raises GivenUp or TurnedDown with the problem, NoLogprobs, and UserError.
        """
        tries, trouble, replied = self._settings.tries, Exception(), True
        for attempt in range(1, tries + 1):
            self._tally.retries += attempt > 1
            wait = 0.0
            try:
                answer = read(await self._completion(request))
                self._answered = request
                return answer
            except NoLogprobs as error:
                if attempt > 1 or not self._tally.gives_logprobs:  # a server that gives none never does
                    raise
                trouble = error
            except BadAnswer as error:
                trouble = error
            except _Transient as error:
                trouble, wait = error, error.wait
                replied = replied and error.replied
            if attempt == tries or wait > LONGEST_WAIT:
                break
            backoff = self._settings.backoff * 2 ** (attempt - 1)
            await asyncio.sleep(wait + backoff * random.uniform(0.5, 1.0))
        if isinstance(trouble, NoLogprobs):
            raise trouble
        alone = replied and (attempt > 1 or wait == math.inf)
        if alone or not self._tally.reached:
            alone = await self._answers(request) and alone
        raise GivenUp(f"{trouble}, after {attempt} {'tries' if attempt > 1 else 'try'}", alone)

    async def _completion(self, request: Mapping[str, Any]) -> Completion:
        await self._turn()
        answer = completion(await self._post(request))
        self._tally.count(answer)
        return answer

    async def _answers(self, instead_of: Mapping[str, Any]) -> bool:
        """Whether the server answers another question than this: the last that it did, or a greeting."""
        greeting = {"model": instead_of["model"], "messages": GREETING, "max_tokens": 1}
        try:
            await self._completion(self._answered or greeting)
        except (BadAnswer, TurnedDown, _Transient):
            return False
        return True

    async def _turn(self) -> None:
        """Waits until this request may start."""
        start = max(time.monotonic(), self._next)
        self._next = start + 60 / self._settings.rate
        await asyncio.sleep(start - time.monotonic())

    async def _post(self, request: Mapping[str, Any]) -> str:
        """The body of the answer, without the key."""
        self._tally.requests += 1
        try:
            # The client's own limit is on the wait for each piece of an answer.
            async with asyncio.timeout(self._settings.timeout):
                raw = await self._api.chat.completions.with_raw_response.create(**request)
            self._tally.reached = True
            return self._settings.redact(raw.http_response.content.decode("utf-8", "replace"))
        except openai.APIStatusError as error:
            self._tally.reached = True
            response = error.response
            body = self._settings.redact(response.content.decode("utf-8", "replace"))
            trouble = self._status(response.status_code, body, response.headers)
        except (openai.APITimeoutError, TimeoutError):
            trouble = _Transient(f"no answer within {self._settings.timeout:g} s")
        except openai.OpenAIError as error:
            cause = error.__cause__ or error
            refused = isinstance(cause, AnswerTooLarge | AnswerCompressed)  # and would be again
            replied = refused or isinstance(cause, httpx2.RemoteProtocolError)
            wait = math.inf if refused else 0.0
            trouble = _Transient(f"the connection failed ({type(cause).__name__})", wait, replied)
        raise trouble  # outside the handlers: what they caught may hold the key

    def _status(self, status: int, body: str, headers: Mapping[str, str]) -> Exception:
        """What an error status means."""
        line, codes = error_message(body)
        problem = f"{status}: {line}"
        if status == 401:
            # What it says is left out: servers quote parts of the key.
            return UserError(
                f"{self._url}: 401, the server does not accept the key; set VOUCH_SERVER_KEY_ "
                "and the model's name in capitals (for OpenAI, OPENAI_API_KEY) to one that it accepts"
            )
        if 300 <= status < 400:
            address = self._settings.redact(headers.get("location", ""))[:200]
            return UserError(
                f"{self._url}: {status}, sends its questions elsewhere ({address}), where nothing is sent; "
                "correct source.url in models.lock"
            )
        if status == 402 or any(code in _NO_QUOTA for code in codes):
            return UserError(
                f"{self._url}: {problem}; the quota is used up, raise it and run the stage again"
            )
        if cannot_succeed(status, line):
            return TurnedDown(problem)
        if status in (404, 405) or any(code in _NO_MODEL for code in codes):
            return UserError(
                f"{self._url}: {problem}; correct source.name or source.url in models.lock "
                "(an address usually ends in /v1)"
            )
        if status in _TRANSIENT or status >= 500:
            wait = retry_after(headers)
            if wait <= LONGEST_WAIT:
                self._next = max(self._next, time.monotonic() + wait)  # the others wait as well
            replied = status == 500 and not may_pass(line)
            return _Transient(problem, wait, replied)
        return TurnedDown(problem)


class GivenUp(Exception):
    """All tries failed. alone: each got a reply, and another question was answered after the last try."""

    def __init__(self, problem: str, alone: bool = False) -> None:
        super().__init__(problem)
        self.alone = alone


class TurnedDown(Exception):
    """The server will not answer this request; the message is the server's."""


class _Transient(Exception):
    """Another try may succeed. wait: seconds that the server asked for. replied: it answered this request."""

    def __init__(self, problem: str, wait: float = 0.0, replied: bool = False) -> None:
        super().__init__(problem)
        self.wait, self.replied = wait, replied


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds for which a server asks to wait: a number or a date; 0 where it does not say."""
    given = headers.get("retry-after", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def error_message(body: str) -> tuple[str, list[str]]:
    """What a server says of an error, one line, and its codes for it."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    inner = value.get("error", value) if isinstance(value, dict) else None
    codes: list[str] = []
    if isinstance(inner, dict):
        codes = [str(inner[name]) for name in ("code", "type") if inner.get(name) is not None]
        inner = inner.get("message", inner.get("detail"))
    line = " ".join((inner if isinstance(inner, str) else body).split())
    return "".join(char for char in line if char.isprintable())[:200], codes


MAX_BODY = 8 * 2**20  # a text of 4096 tokens with their log-probabilities takes less than one


class AnswerTooLarge(httpx2.RequestError):
    """More than MAX_BODY bytes."""


class AnswerCompressed(httpx2.RequestError):
    """Compressed, though it was asked not to be: what it unpacks to is not known."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_BODY
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise AnswerTooLarge(f"more than {MAX_BODY:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bounded(response: httpx2.Response) -> None:
    """A hook of the client: bounds a response before it is read."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise AnswerCompressed("compressed")
    response.stream = _Bounded(cast(httpx2.AsyncByteStream, response.stream))


MOST = 1 << 20  # bytes of the list


SECONDS = 20.0


def served(url: str) -> list[str]:
    """Names of the models at an address, asked without a key. Raises UserError."""
    asked = f"{url.rstrip('/')}/models"
    try:
        with httpx2.stream("GET", asked, timeout=SECONDS, headers={"accept-encoding": "identity"}) as answer:
            answer.raise_for_status()
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ValueError("it is compressed")
            body = b""
            for chunk in answer.iter_raw():
                body += chunk
                if len(body) > MOST:
                    raise ValueError(f"it has more than {MOST:,} bytes")
        return [str(model["id"]) for model in json.loads(body)["data"]]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
        what = " ".join(str(error).split())[:120]
        raise UserError(
            f"{asked}: gives no list of models ({what}); start the server, or write {url}#NAME with the name "
            "that the model has there"
        ) from None
