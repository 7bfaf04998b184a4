"""OpenAI's batch files: requests written now, answers read later, at half the price if the host offers it.

A request's `custom_id` is the SHA-256 of its body, so an answer finds its question in whatever file and order
it comes. Bodies are those of live requests, and answers are kept under the same keys.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from vouch.models.engine import Answered, Engine, Pack, Refusal
from vouch.models.requests import DatasetRequests, rounds
from vouch.models.server.client import MAX_BODY, ServerSettings, error_message
from vouch.models.server.completions import BadAnswer, NoLogprobs, completion, sound
from vouch.models.server.engine import TOP_LOGPROBS, TURNED_DOWN, UNSCORED, Job, ServerEngine, jobs
from vouch.models.server.problems import about_logprobs, is_about_question
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import check_plain
from vouch.tables.answered import Pin
from vouch.tables.asked import LIKELIHOOD

URL = "/v1/chat/completions"
_MISSING = Refusal("no answer in the batch files", transient=True)
MAX_LINE = MAX_BODY + (1 << 16)  # an answer and the JSON around it
MOST_REPLIES = 1_000_000
_OURS = re.compile(r"[0-9a-f]{64}")


class _Response(BaseModel):
    status_code: int
    body: Any = None


class BatchReply(BaseModel):
    """A line of a batch's output or error file."""

    custom_id: str
    response: Any = None

    @property
    def given(self) -> _Response | None:
        """The response, None if there is none or it has another form."""
        with suppress(ValidationError):
            return _Response.model_validate(self.response)
        return None

    @property
    def worth(self) -> int:
        """How useful a reply is among several to one request: 2 an answer, 1 an error message, 0 nothing."""
        given = self.given
        if given is None:
            return 0
        body = given.body if given.status_code == 200 and isinstance(given.body, dict) else {}
        return 2 if body.get("choices") else 1


def _reply(line: bytes) -> BatchReply | None:
    """A line as a reply, None if it is none."""
    with suppress(ValidationError, UnicodeDecodeError):
        return BatchReply.model_validate_json(sound(line.decode("utf-8-sig")))
    return None


class Replies:
    """Finds the reply to each request in some files; a reply is read when it is needed."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[int, Path, int]]] = {}
        self._count = 0

    def add(self, path: Path) -> None:
        """Finds the replies of a file. Among several to a request the most useful is used, then the last.

        Raises UserError for a file that is no batch output, before more than MAX_LINE bytes of it are in
        memory.
        """
        check_plain(path)
        try:
            with path.open("rb") as file:
                offset = 0
                for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), start=1):
                    if line.strip():
                        self._note(line, f"{path} line {number}", path, offset)
                    offset += len(line)
        except OSError as error:
            raise UserError(f"{path}: not readable ({error}); name the files that the host gave") from None

    def _note(self, line: bytes, where: str, path: Path, offset: int) -> None:
        reply = _reply(line) if len(line) <= MAX_LINE else None
        if reply is None:
            raise UserError(
                f"{where}: no line of a batch's output, or longer than {MAX_LINE:,} bytes; name the files "
                "that the host gave, or download them anew"
            )
        if _OURS.fullmatch(reply.custom_id):
            self._found.setdefault(reply.custom_id, []).append((reply.worth, path, offset))
            self._count += 1
        if self._count > MOST_REPLIES:
            raise UserError(f"{path}: more than {MOST_REPLIES:,} replies; import fewer files at a time")

    def get(self, name: str) -> Iterator[BatchReply]:
        """The replies to a request, the best first. Raises UserError if a file has changed since."""
        latest_first = reversed(self._found.get(name, []))
        for _, path, offset in sorted(latest_first, key=lambda found: -found[0]):
            with suppress(OSError), path.open("rb") as file:
                file.seek(offset)
                reply = _reply(file.readline(MAX_LINE))
                if reply is not None and reply.custom_id == name:
                    yield reply
                    continue
            raise UserError(f"{path}: changed while it was read; import it again")


class RequestBatch(ServerEngine):
    """The engine of a server that is not asked: requests are written, or their answers read.

    write: takes the custom_id and the line of each request. replies: answers that came.
    """

    def __init__(self, pin: Pin, write: Callable[[str, str], None] | None, replies: Replies) -> None:
        assert pin.source.url and pin.source.name
        super().__init__(
            pin.source.url, pin.source.name, ServerSettings(), pin.reasoning, pin.template_kwargs
        )
        self._write, self._replies = write, replies

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        """See Engine.answer."""
        for job in jobs(packs):
            if isinstance(job, Answered):
                yield job
            elif job.output == LIKELIHOOD:
                yield Answered(job.question.id, replace(UNSCORED, transient=True))
            else:
                yield self._exchanged(job)

    def _exchanged(self, job: Job) -> Answered:
        """Of several replies, the first that is an answer is used, or else a lasting refusal, or else any."""
        request = self.request(job, TOP_LOGPROBS)
        extra = request.pop("extra_body", {})
        body = request | extra
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        if self._write is not None:
            line = {"custom_id": name, "method": "POST", "url": URL, "body": body}
            self._write(name, json.dumps(line, ensure_ascii=False) + "\n")
        given = (self._given(job, reply) for reply in self._replies.get(name))
        answer, flags = min(given, key=lambda one: _poor(one[0]), default=(_MISSING, []))
        return Answered(job.question.id, answer, job.decoding, flags)

    def _given(self, job: Job, reply: BatchReply) -> tuple[Any, list[str]]:
        response = reply.given
        if response is None:
            return _MISSING, []
        status, body = response.status_code, json.dumps(response.body)
        if status in (400, 422):
            message = error_message(body)[0]
            lasting = is_about_question(message) and not about_logprobs(message)
            return Refusal(f"{TURNED_DOWN} ({status}: {message})", transient=not lasting), []
        if status != 200:
            return _MISSING, []
        try:
            return self._read(job, completion(body))
        except BadAnswer as error:
            without = error.answer if isinstance(error, NoLogprobs) else None
            return without or Refusal(str(error), transient=True), []


def _poor(answer: Any) -> int:
    return 1 + answer.transient if isinstance(answer, Refusal) else 0


def exchanged(dataset: DatasetRequests, engine: Engine) -> tuple[int, int]:
    """Sends every unknown request to the engine and keeps its answers; counts of kept and missing answers."""
    each = list(rounds(dataset, lambda: engine))
    return sum(one.kept for one in each), each[-1].missed
