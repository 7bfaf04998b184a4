"""What an OpenAI-compatible server sends: completions, errors, headers."""

import json
from pathlib import Path

from vouch.models.server.client import RequestTally, ServerSettings, error_message, retry_after
from vouch.models.server.completions import (
    BadAnswer,
    completion,
    letters,
    other_model,
    text,
)
from vouch.models.server.problems import largest_allowed
from vouch.pipeline.errors import UserError

TOKEN = {
    "token": "A",
    "logprob": -0.1,
    "bytes": [65],
    "top_logprobs": [{"token": "A", "logprob": -0.1}, {"token": " B", "logprob": -2.5}],
}
BODY = {
    "id": "x", "object": "chat.completion", "model": "m-2024-07-18", "system_fingerprint": "f",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A"}, "logprobs": {"content": [TOKEN]}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 1},
}  # fmt: skip
ERRORS = (
    {"error": {"message": "maximum context length is 4096", "type": "invalid_request_error", "code": None}},
    {"error": "top_logprobs must be <= 5", "code": 400},
    {"detail": [{"loc": ["body"], "msg": "no"}]},
)
WORDS = b'"logprob": | -1e400 | NaN | "token": | "choices": | [[[[ | \\u0041 | sk-planted-key | null'.split(
    b" | "
)


def CORPUS() -> list[bytes]:
    return [json.dumps(value).encode() for value in (BODY, *ERRORS)]


def read(data: bytes, folder: Path) -> None:
    settings = ServerSettings(key="sk-planted-key/0123456789")
    body = settings.redact(data.decode("utf-8", "replace"))
    message, _ = error_message(body)
    largest_allowed(message, 20)
    retry_after({"retry-after": message})
    try:
        said = completion(body)
        RequestTally().count(said)
        other_model(said.model, "m")
        letters(said, ("A", "B"))
        text(said)
    except BadAnswer as error:  # tried again, and then this line
        raise UserError(str(error)) from None
