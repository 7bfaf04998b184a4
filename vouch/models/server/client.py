"""A server that speaks the chat completions API: settings, requests, retries, and the meaning of errors.

The environment says how a server is asked, which changes no answer:

VOUCH_SERVER_KEY_NAME       the key for one model, its name in capitals
OPENAI_API_KEY              the key if that is not set, only for api.openai.com or OPENAI_BASE_URL's host,
                            with OPENAI_ORG_ID and OPENAI_PROJECT_ID if they are set
VOUCH_SERVER_CONCURRENCY    requests under way at once, default 16
VOUCH_SERVER_RATE           most requests a minute, retries included; default: no limit
VOUCH_SERVER_TRIES          how often one question is tried, default 6
VOUCH_SERVER_TIMEOUT        seconds without an answer after which a try has failed, default 120
VOUCH_PRICE_INPUT, _OUTPUT  price of a million tokens, for the cost in the run record

A response is read up to a limit, so a hostile server can at worst be refused. The openai client's own retries
are off: they repeat hopeless requests, accept unreadable answers, and keep to no rate.
"""

import asyncio
import json
import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlsplit

import httpx2
import openai
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vouch.models.lock_entry import OPENAI
from vouch.models.server.completions import (
    BadAnswer,
    Completion,
    NoLogprobs,
    completion,
)
from vouch.models.server.problems import cannot_succeed, may_pass
from vouch.pipeline.errors import UserError
from vouch.tables.answered import Pin

HIDDEN = "[key]"
_ESCAPE = re.compile(r"\\\\|\\u00([2-7][0-9A-Fa-f])")  # of JSON: a backslash, or a printable ASCII character
_VARIABLES = {
    name: f"VOUCH_SERVER_{name.upper()}" for name in ("concurrency", "rate", "tries", "timeout")
} | {name: f"VOUCH_{name.upper()}" for name in ("price_input", "price_output")}
_BILLED = {"organization": "OPENAI_ORG_ID", "project": "OPENAI_PROJECT_ID"}
SHORTEST_SECRET = 8  # a shorter key is a placeholder such as EMPTY, which is also a word


class ServerSettings(BaseModel):
    """key: None if the server wants none. organization, project: whom OpenAI bills, None for other hosts.

    rate: requests a minute. timeout: seconds. prices: of a million tokens.
    backoff: seconds before the second try; each later wait is twice as long.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    key: str | None = Field(default=None, repr=False)
    organization: str | None = None
    project: str | None = None
    concurrency: int = Field(default=16, ge=1, le=1024)
    rate: float = Field(default=math.inf, ge=0.001)
    tries: int = Field(default=6, ge=1, le=100)
    timeout: float = Field(default=120.0, ge=0.1)
    backoff: float = 1.0
    price_input: float | None = Field(default=None, ge=0)
    price_output: float | None = Field(default=None, ge=0)

    def redact(self, text: str) -> str:
        """A server's text without the key, plain or escaped, in case the server repeats it."""
        key = self.key
        if key is None or len(key) < SHORTEST_SECRET:
            return text
        text = _ESCAPE.sub(self._plain, text)
        for form in (key, json.dumps(key)[1:-1], key.replace("/", "\\/"), quote(key, safe="")):
            text = text.replace(form, HIDDEN)
        return text

    def _plain(self, escape: re.Match[str]) -> str:
        """A JSON escape of one of the key's characters as that character, any other escape as it is."""
        char = chr(int(escape[1], 16)) if escape[1] else "\\"
        return char if char in (self.key or "") and char not in '"\\' else escape[0]


def connection(pin: Pin, environment: Mapping[str, str]) -> tuple[str, str, ServerSettings]:
    """Address, model name there and settings of a pinned server. Raises UserError if one is missing."""
    if not pin.source.url or not pin.source.name:
        raise UserError(
            f"models.lock: {pin.model}: engine openai wants source: {{kind: server, url: ..., name: ...}}"
        )
    return pin.source.url, pin.source.name, read_settings(pin.model, pin.source.url, environment)


def read_settings(model: str, url: str, environment: Mapping[str, str]) -> ServerSettings:
    """The settings for a model at an address. Raises UserError that names the variable, never the key."""
    hosts = {urlsplit(one).netloc for one in (OPENAI, environment.get("OPENAI_BASE_URL", "").strip()) if one}
    billed = _BILLED if urlsplit(url).netloc in hosts else {}
    given = {name: environment.get(name, "").strip() for name in (*_VARIABLES.values(), *_BILLED.values())}
    if bool(given["VOUCH_PRICE_INPUT"]) != bool(given["VOUCH_PRICE_OUTPUT"]):
        raise UserError("VOUCH_PRICE_INPUT, VOUCH_PRICE_OUTPUT: set both prices, or neither")
    values = {key: given[name] for key, name in (_VARIABLES | billed).items() if given[name]}
    try:
        return ServerSettings(key=_key(model, url, bool(billed), environment), **values)
    except ValidationError as error:
        first = error.errors()[0]
        name = _VARIABLES[str(first["loc"][0])]
        raise UserError(f"{name}: {first['msg']}; set it anew") from None  # its value may be a key


def _key(model: str, url: str, openai: bool, environment: Mapping[str, str]) -> str | None:
    """The key for a model. openai: whether the common key may go to this address."""
    own = f"VOUCH_SERVER_KEY_{model.upper()}"
    name = "OPENAI_API_KEY" if openai and not environment.get(own, "").strip() else own
    key = environment.get(name, "").strip()
    if not key:
        return None
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UserError(f"{name}: a key is plain ASCII without spaces; set it anew")
    if urlsplit(url).scheme != "https" and not _is_loopback(urlsplit(url).hostname or ""):
        raise UserError(f"{url}: {name} would be sent unencrypted; give an https address, or unset the key")
    return key


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


T = TypeVar("T")
MOST_NAMES = 100  # most model names of a server that are recorded
MOST_NAME = 200  # characters of each


@dataclass
class RequestTally:
    """Counts of requests and answers, over all questions of an engine.

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

    def notes(self) -> dict[str, Any]:
        """The counts as the run record has them."""
        return {
            "requests": self.requests,
            "retries": self.retries,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "models": dict(sorted(self.models.items())),
            "fingerprints": sorted(self.fingerprints),
        }


class GivenUp(Exception):
    """All tries failed. alone: whether each got a reply, and another question was answered after the last."""

    def __init__(self, problem: str, alone: bool = False) -> None:
        super().__init__(problem)
        self.alone = alone


class TurnedDown(Exception):
    """The server will not answer this request; the message is the server's."""


GREETING = [{"role": "user", "content": "Hello"}]
LONGEST_WAIT = 600.0  # seconds; a server that asks for a longer wait is not waited for
_TRANSIENT = (408, 409, 425, 429)
_NO_QUOTA = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_NO_MODEL = {"model_not_found", "invalid_model"}


class Client:
    """A server that speaks the chat completions API. For use inside one event loop."""

    def __init__(self, url: str, settings: ServerSettings, tally: RequestTally) -> None:
        self._url, self._settings, self._tally = url, settings, tally
        self._next = 0.0  # when the next request may start
        self._answered: Mapping[str, Any] | None = None  # the last request that was answered
        self._api = openai.AsyncOpenAI(
            api_key=settings.key or "none",  # servers without keys ignore it; the client wants one
            base_url=url,
            max_retries=0,
            timeout=settings.timeout,
            default_headers={"Accept-Encoding": "identity"},
            http_client=through_proxies(
                lambda: openai.DefaultAsyncHttpxClient(
                    follow_redirects=False, event_hooks={"response": [bounded]}
                )
            ),
        )
        # The client has taken these from the environment, whatever the address.
        self._api.organization, self._api.project = settings.organization, settings.project

    async def close(self) -> None:
        """Closes all connections."""
        await self._api.close()

    async def ask(self, request: Mapping[str, Any], read: Callable[[Completion], T]) -> T:
        """The result of `read` for the answer; `read` may raise BadAnswer.

        Raises GivenUp or TurnedDown with the problem, NoLogprobs, and UserError.
        """
        tries, trouble, replied = self._settings.tries, BadAnswer(), True
        for attempt in range(1, tries + 1):
            self._tally.retries += attempt > 1
            try:
                answer = read(await self._completion(request))
                self._answered = request
                return answer
            except BadAnswer as error:
                if isinstance(error, NoLogprobs) and not (
                    attempt == 1 < tries and self._tally.gives_logprobs  # a server that gives none never does
                ):
                    raise
                trouble, replied = error, replied and error.replied
            if attempt == tries or trouble.wait > LONGEST_WAIT:
                break
            backoff = self._settings.backoff * 2 ** (attempt - 1)
            await asyncio.sleep(trouble.wait + backoff * random.uniform(0.5, 1.0))
        alone = replied and (attempt > 1 or trouble.wait == math.inf)
        if alone or not self._tally.reached:
            alone = await self._answers(request) and alone
        raise GivenUp(f"{trouble}, after {attempt} {'tries' if attempt > 1 else 'try'}", alone)

    async def _completion(self, request: Mapping[str, Any]) -> Completion:
        start = max(time.monotonic(), self._next)
        self._next = start + 60 / self._settings.rate
        await asyncio.sleep(start - time.monotonic())
        answer = completion(await self._post(request))
        self._tally.count(answer)
        return answer

    async def _answers(self, instead_of: Mapping[str, Any]) -> bool:
        """Whether the server answers a different question: the last one that it did, or a greeting."""
        greeting = {"model": instead_of["model"], "messages": GREETING, "max_tokens": 1}
        try:
            await self._completion(self._answered or greeting)
        except (BadAnswer, TurnedDown):
            return False
        return True

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
            trouble = BadAnswer(f"no answer within {self._settings.timeout:g} s", replied=False)
        except openai.OpenAIError as error:
            cause = error.__cause__ or error
            refused = isinstance(cause, AnswerTooLarge | AnswerCompressed)  # and would be again
            replied = refused or isinstance(cause, httpx2.RemoteProtocolError)
            wait = math.inf if refused else 0.0
            trouble = BadAnswer(f"the connection failed ({type(cause).__name__})", wait, replied)
        raise trouble  # outside the handlers: what they caught may hold the key

    def _status(self, status: int, body: str, headers: Mapping[str, str]) -> Exception:
        """The exception that an error status means."""
        line, codes = error_message(body)
        problem = f"{status}: {line}"
        if status == 401:
            # Its message is left out: servers quote parts of the key.
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
        if status == 402 or _NO_QUOTA.intersection(codes):
            return UserError(
                f"{self._url}: {problem}; the quota is used up, raise it and run the stage again"
            )
        if cannot_succeed(status, line):
            return TurnedDown(problem)
        if status in (404, 405) or _NO_MODEL.intersection(codes):
            return UserError(
                f"{self._url}: {problem}; correct source.name or source.url in models.lock "
                "(an address usually ends in /v1)"
            )
        if status not in _TRANSIENT and status < 500:
            return TurnedDown(problem)
        wait = retry_after(headers)
        if wait <= LONGEST_WAIT:
            self._next = max(self._next, time.monotonic() + wait)  # the others wait as well
        return BadAnswer(problem, wait, replied=status == 500 and not may_pass(line))


def through_proxies(made: Callable[[], T]) -> T:
    """A client as `made` opens it. Raises UserError if it cannot use the proxies of the environment."""
    try:
        return made()
    except (ValueError, ImportError, httpx2.InvalidURL):  # SOCKS needs a package of its own
        raise UserError(
            "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY: one of them is no address http://HOST:PORT of a proxy; "
            "correct it, or unset it"
        ) from None


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds for which a server asks to wait: a number or a date; 0 if it does not say."""
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
    """A server's message about an error, as one line, and its codes for it."""
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
    """Compressed although asked not to be, so its unpacked size is unknown."""


async def bounded(response: httpx2.Response) -> None:
    """A hook of the client: reads a response, as far as that is allowed."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise AnswerCompressed("compressed")
    body, stream = bytearray(), cast(httpx2.AsyncByteStream, response.stream)
    async for chunk in stream:
        body += chunk
        if len(body) > MAX_BODY:
            raise AnswerTooLarge(f"more than {MAX_BODY:,} bytes")
    await stream.aclose()
    response.stream = httpx2.ByteStream(bytes(body))


MOST_LISTED = 1 << 20  # bytes of the list
LIST_SECONDS = 20.0  # for all of it: a limit on each read would let a slow server take days


def served(url: str) -> list[str]:
    """Names of the models at an address, each once, asked without a key. Raises UserError."""
    asked = f"{url.rstrip('/')}/models"
    advice = "check the address, which usually ends in /v1"
    try:
        names = [model["id"] for model in json.loads(asyncio.run(_listed(asked)))["data"]]
        if all(isinstance(name, str) for name in names):
            return list(dict.fromkeys(names))
        what = "answers in another form than OpenAI's"
    except httpx2.HTTPStatusError as error:
        what = f"it answers {error.response.status_code}"
    except (httpx2.TransportError, TimeoutError) as error:
        advice, what = "start the server", _line(error) or f"no whole answer within {LIST_SECONDS:g} s"
    except _Unread as error:
        what = _line(error)
    except (httpx2.HTTPError, ValueError, LookupError, TypeError, RecursionError):
        what = "answers in another form than OpenAI's"
    raise UserError(
        f"{asked}: gives no list of models ({what}); {advice}, or write {url}#NAME with the name that the "
        "model has there"
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:120]


class _Unread(Exception):
    """A list of models that is not read; the message is why."""


async def _listed(address: str) -> bytes:
    """The body of a list of models. Raises httpx2.HTTPError, TimeoutError and _Unread."""
    headers, body = {"accept-encoding": "identity"}, b""
    async with (
        asyncio.timeout(LIST_SECONDS),
        through_proxies(lambda: httpx2.AsyncClient(timeout=LIST_SECONDS)) as client,
        client.stream("GET", address, headers=headers) as answer,
    ):
        answer.raise_for_status()
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise _Unread("it is compressed")
        async for chunk in answer.aiter_raw():
            body += chunk
            if len(body) > MOST_LISTED:
                raise _Unread(f"it has more than {MOST_LISTED:,} bytes")
    return body
