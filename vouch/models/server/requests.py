"""Questions as requests of the chat completions API, pictures included."""

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vouch.models.chat import chat
from vouch.models.requests.engine import Answered, Decoding, Pack, Question, Refusal
from vouch.tables.prompts import TEXT

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
class Asking:
    """What all requests to a model share.

    name: of the model, as the server calls it. thought: most tokens before an answer. template_kwargs:
    variables of the chat template, by vLLM's, SGLang's and llama.cpp's `chat_template_kwargs`.
    """

    name: str
    thought: int = 0
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)


_CONTINUED = {"continue_final_message": True, "add_generation_prompt": False}


@dataclass(frozen=True)
class Job:
    """What is asked in one go: letters, likelihoods of options, or the text of one decoding."""

    output: str
    question: Question
    messages: list[Message]
    decoding: Decoding | None = None

    def request(self, asking: Asking, top_logprobs: int | None) -> dict[str, Any]:
        """Arguments of the openai client. top_logprobs: None asks for no log-probabilities."""
        request: dict[str, Any] = {"model": asking.name, "messages": self.messages}
        if top_logprobs is not None:
            request["logprobs"] = True
        if self.decoding is None:
            request |= {"max_tokens": 1, "temperature": 0, "top_logprobs": top_logprobs}
        else:
            most = self.question.max_tokens + asking.thought
            request |= {"max_tokens": most, "temperature": self.decoding.temperature}
            if self.decoding.sample:
                request |= {"seed": self.decoding.seed >> (64 - _SEED_BITS), "top_p": 1}
        # A server that cannot continue a begun answer turns this down: better than another prompt.
        begun = _CONTINUED if self.question.response is not None else {}
        return _with_extra(request, asking, begun)

    def scoring(self, asking: Asking, option: str | None) -> dict[str, Any]:
        """A request that scores the prompt, with an option after it where one is given."""
        messages, response = list(self.messages), self.question.response
        if option is not None:
            said = option if response is None else f"{response} {option}"
            messages = [
                *messages[: len(messages) - (response is not None)],
                {"role": "assistant", "content": said},
            ]
        begun = _CONTINUED if messages[-1]["role"] == "assistant" else {}
        request = {"model": asking.name, "messages": messages, "max_tokens": 1, "temperature": 0}
        return _with_extra(request, asking, {**begun, "prompt_logprobs": 0})


def _with_extra(request: dict[str, Any], asking: Asking, extra: Mapping[str, Any]) -> dict[str, Any]:
    variables = {"chat_template_kwargs": dict(asking.template_kwargs)} if asking.template_kwargs else {}
    return {**request, "extra_body": {**extra, **variables}} if extra or variables else request


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
