"""OpenAI's batch files: requests written now, answers read later, at half the price where a host offers it.

A request's `custom_id` is the SHA-256 of its body, so an answer finds its question in whatever file and order
it comes. Bodies are those of live requests, and answers are kept under the same keys.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from vouch.models.requests.dataset_requests import DatasetRequests, rounds
from vouch.models.requests.engine import Answered, Engine, Pack, Refusal
from vouch.models.server.asking import TURNED_DOWN
from vouch.models.server.client import error_message
from vouch.models.server.completions import BadAnswer, about_logprobs, completion, is_about_question
from vouch.models.server.engine import NO_SCORES, THINKS, TOP_LOGPROBS, ServerEngine
from vouch.models.server.requests import Job, jobs
from vouch.models.server.settings import Settings
from vouch.pipeline.errors import UserError
from vouch.tables.pins import Pin
from vouch.tables.prompts import LIKELIHOOD

URL = "/v1/chat/completions"
_MISSING = Refusal("no answer in the batch files", transient=True)


class _Response(BaseModel):
    status_code: int
    body: Any = None


class Reply(BaseModel):
    """A line of a batch's output or error file."""

    custom_id: str
    response: _Response | None = None
    error: Any = None


def read_replies(lines: Iterable[str], where: str) -> dict[str, Reply]:
    """By custom_id; of several the last. Raises UserError for a line that is none."""
    found: dict[str, Reply] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                reply = Reply.model_validate_json(line)
            except ValidationError:
                raise UserError(
                    f"{where} line {number}: no line of a batch's output; download it anew"
                ) from None
            found[reply.custom_id] = reply
    return found


class Batch(ServerEngine):
    """The engine of a server that is not asked: requests are written, or their answers read.

    write: takes the custom_id and the line of each request. replies: answers that came.
    """

    def __init__(
        self, pin: Pin, write: Callable[[str, str], None] | None, replies: Mapping[str, Reply]
    ) -> None:
        assert pin.source.url and pin.source.name
        super().__init__(pin.source.url, pin.source.name, Settings(), pin.reasoning, pin.template_kwargs)
        self._write, self._replies = write, replies

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        for job in jobs(packs):
            if isinstance(job, Answered):
                yield job
                continue
            if job.output == LIKELIHOOD:
                yield Answered(job.question.id, replace(NO_SCORES, transient=True))
                continue
            if self._reasoning and job.decoding is None:
                yield Answered(job.question.id, THINKS)
                continue
            request = job.request(self._asking, TOP_LOGPROBS)
            extra = request.pop("extra_body", {})
            body = request | extra
            name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
            if self._write is not None:
                line = {"custom_id": name, "method": "POST", "url": URL, "body": body}
                self._write(name, json.dumps(line, ensure_ascii=False) + "\n")
            answer, flags = self._given(job, self._replies.get(name))
            yield Answered(job.question.id, answer, job.decoding, flags)

    def _given(self, job: Job, reply: Reply | None) -> tuple[Any, list[str]]:
        if reply is None or reply.response is None:
            return _MISSING, []
        status, body = reply.response.status_code, json.dumps(reply.response.body)
        if status in (400, 422):
            said = error_message(body)[0]
            lasting = is_about_question(said) and not about_logprobs(said)
            return Refusal(f"{TURNED_DOWN} ({status}: {said})", transient=not lasting), []
        if status != 200:
            return _MISSING, []
        try:
            return self._read(job, completion(body))
        except BadAnswer as error:
            return Refusal(str(error), transient=True), []


def exchanged(dataset: DatasetRequests, engine: Engine) -> tuple[int, int]:
    """Puts every unknown request to the engine and keeps what it answers: answers kept, answers that lack."""
    found = list(rounds(dataset, lambda: engine))
    return sum(one.kept for one in found), found[-1].missed
