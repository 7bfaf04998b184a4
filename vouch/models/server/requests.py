"""Questions as requests of the chat completions API, pictures included."""

import base64
import io
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vouch.models.chat import chat
from vouch.models.requests.engine import Answered, Decoding, Pack, Question, Refusal
from vouch.tables.prompts import LETTERS, TEXT

if TYPE_CHECKING:
    from PIL.Image import Image

Message = dict[str, Any]

_SEED_BITS = 53  # JSON numbers are exact up to here in every language
_QUICK = 1  # of zlib: 4 x faster than Pillow's default, and a sixth more bytes


def data_url(picture: "Image") -> str:
    """A picture as a PNG in base64: its pixels and nothing else, the same bytes every time."""
    bare = picture.copy()
    bare.info = {}  # Pillow would write colour profiles and resolutions of the source file
    sink = io.BytesIO()
    bare.save(sink, "PNG", compress_level=_QUICK)
    return "data:image/png;base64," + base64.b64encode(sink.getvalue()).decode("ascii")


def messages(question: Question, urls: MutableMapping[int, str]) -> list[Message]:
    """The messages of vouch/models/chat/chat.py with the pictures in them, and how the answer begins.

    urls: data URLs by id() of their picture, filled here; prompts of a pack share pictures. Raises
    ValueError where the marks do not name each picture once.
    """
    asked, order = chat.messages(question)
    for picture in question.pictures:
        if id(picture) not in urls:
            urls[id(picture)] = data_url(picture)
    shown = iter([urls[id(question.pictures[place])] for place in order])
    result = [{**message, "content": _content(message["content"], shown)} for message in asked]
    if question.response is not None:
        result.append({"role": "assistant", "content": question.response})
    return result


def _content(parts: Sequence[Message], shown: Iterator[str]) -> str | list[Message]:
    """Parts, or the bare text where there is no picture: not every server takes parts of text alone."""
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return [
        {"type": "image_url", "image_url": {"url": next(shown)}} if part["type"] == "image" else part
        for part in parts
    ]


@dataclass(frozen=True)
class Job:
    """One request: letters, or the text of one decoding."""

    question: Question
    messages: list[Message]
    decoding: Decoding | None

    def request(self, name: str, top_logprobs: int) -> dict[str, Any]:
        """Arguments of the openai client. name: of the model, as the server calls it."""
        request: dict[str, Any] = {"model": name, "messages": self.messages, "logprobs": True}
        if self.decoding is None:
            request |= {"max_tokens": 1, "temperature": 0, "top_logprobs": top_logprobs}
        else:
            request |= {"max_tokens": self.question.max_tokens, "temperature": self.decoding.temperature}
            if self.decoding.sample:
                request |= {"seed": self.decoding.seed >> (64 - _SEED_BITS), "top_p": 1}
        if self.question.response is not None:
            # A server that cannot continue a begun answer turns this down: better than another prompt.
            request["extra_body"] = {"continue_final_message": True, "add_generation_prompt": False}
        return request


def jobs(packs: Iterable[Pack]) -> Iterator[Job | Answered]:
    """A job for each request, a refusal for each question that no request can be made of."""
    for pack in packs:
        urls: dict[int, str] = {}
        for question in pack.questions:
            if pack.output not in (LETTERS, TEXT):
                problem = "a chat server does not score given texts; ask another engine for likelihood"
                yield Answered(question.id, Refusal(problem))
                continue
            try:
                asked = messages(question, urls)
            except ValueError as error:
                yield Answered(question.id, Refusal(str(error)))
                continue
            for decoding in question.decodings if pack.output == TEXT else (None,):
                yield Job(question, asked, decoding)
