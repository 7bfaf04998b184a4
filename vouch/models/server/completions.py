"""Letters and texts, read from a chat completion.

Letters. The value of a letter is the log-sum-exp over the returned first tokens that spell it: `A`,
` A`, and `A.` if that is one token (as in Azad et al. 2025). A server returns only the `top_logprobs` most
likely tokens. With tau the smallest returned probability and r one minus the sum of all
returned, a letter none of whose k spellings was returned has a probability between 0 and
min(k tau, r): its value is -inf, `upper` the logarithm of that bound, and the answer is censored.
A spelling left out beside one that was returned is not counted.

Text. The answer of a model that thinks is the text after its thought: servers put the thought into a field of
the message, or leave it in the text up to the tag that closes it. Tags around the answer, as in
`</think><answer>`, are no part of it, nor is the beginning that the prompt gave and llama.cpp repeats.
Log-probabilities are those of the answer's tokens, null if the server gives none or too few; one for all
pieces of a character, as llama.cpp gives it, is enough. eos is the position of the end-of-sequence token
if the server gives that token's log-probability among the others (vLLM), else the position after the last
one.

A log-probability of null means minus infinity (impossible), which JSON cannot write.

Likelihood. vLLM scores a prompt that it is given (`prompt_logprobs`): as it is, and with each option after
it; the option's tokens are the additional ones.
"""

import math
import re
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from vouch.models.engine import LetterAnswer, Refusal, TextAnswer
from vouch.models.unsupported import NO_LOGPROBS
from vouch.tables.answered import Reasoning
from vouch.tables.thoughts import Parts, apart

_MOST_TOKENS = 2**53  # sums of these are exact, and prices can be put on them
_ABOVE_ONE = 1e-3  # most by which rounded probabilities may add to more than one
_ROUNDING = 2e-6  # of a sum of probabilities whose logarithms are 32-bit numbers
_TAG = re.compile(r"</?\w[^<>]*>")
_VERSION = re.compile(r"(-\d{4}-\d{2}-\d{2}|-\d{4}|@.+)?")


class BadAnswer(Exception):
    """No answer to what was asked, though another try may bring one.

    wait: seconds that the server asked for. replied: whether it replied to this very request.
    """

    def __init__(self, problem: str = "", wait: float = 0.0, replied: bool = True) -> None:
        super().__init__(problem)
        self.wait, self.replied = wait, replied


class NoLogprobs(BadAnswer):
    """A body without log-probabilities.

    answer: the answer without them. refusal: what to record if the server never gives any.
    """

    def __init__(
        self, seen: str = "", answer: TextAnswer | None = None, refusal: Refusal | None = None
    ) -> None:
        super().__init__("the answer has no log-probabilities" + seen)
        self.answer, self.refusal = answer, refusal or Refusal(NO_LOGPROBS + seen, unsupported=True)


def _number(given: Any) -> Any:
    if isinstance(given, float) and math.isnan(given):
        raise ValueError("not a number")
    return -math.inf if given is None else given


_Logprob = Annotated[float, BeforeValidator(_number), Field(le=_ABOVE_ONE)]


class _Token(BaseModel):
    token: Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]
    logprob: _Logprob


class _Position(_Token):
    top_logprobs: list[_Token | None] | None = None


class _Logprobs(BaseModel):
    model_config = ConfigDict(extra="allow")

    content: list[_Position | None] | None = None

    @model_validator(mode="before")
    @classmethod
    def _refused(cls, value: Any) -> Any:
        """Takes the tokens of a refusal if the answer is one."""
        if isinstance(value, dict) and not value.get("content") and value.get("refusal"):
            return value | {"content": value["refusal"]}
        return value


_TEXTS, _THOUGHT = ("text", "refusal"), ("thinking", "reasoning", "thought", "summary", "text")
"""Names of the text in a part of a content, and in a part that holds a thought."""


def _text_and_thought(parts: Sequence[object]) -> tuple[str, str]:
    """The text of a content in parts, and its thought (Mistral's form); parts may be nested."""
    text, thought = "", ""
    for part in parts:
        if isinstance(part, dict) and str(part.get("type")).startswith(_THOUGHT[:3]):
            inner = next((part[name] for name in _THOUGHT if part.get(name)), "")
            thought += _text_and_thought(inner if isinstance(inner, list) else [inner])[0]
        elif isinstance(part, dict):
            text += next((part[name] for name in _TEXTS if isinstance(part.get(name), str)), "")
        elif isinstance(part, str):
            text += part
    return text, thought


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _joined(cls, value: Any) -> Any:
        """Content in parts as one text, and the thoughts in them; a refusal if there is no text."""
        if isinstance(value, dict) and not value.get("content") and isinstance(value.get("refusal"), str):
            return value | {"content": value["refusal"]}
        if not isinstance(value, dict) or not isinstance(value.get("content"), list):
            return value
        text, thought = _text_and_thought(value["content"])
        if value["content"] and not text and not thought:
            return value
        return value | {
            "content": text,
            "reasoning_content": value.get("reasoning_content") or thought or None,
        }

    @property
    def thought(self) -> str | None:
        """The text that the server calls a thought: vLLM, SGLang and llama.cpp, or Ollama and OpenRouter."""
        return self.reasoning_content or self.reasoning or None


class _Choice(BaseModel):
    message: _Message
    logprobs: Annotated[_Logprobs | None, BeforeValidator(lambda given: given or None)] = None
    finish_reason: str | None = None


_Count = Annotated[int, BeforeValidator(lambda given: given or 0), Field(ge=0, lt=_MOST_TOKENS)]


class _Usage(BaseModel):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0


class _Scored(BaseModel):
    logprob: _Logprob


class Completion(BaseModel):
    """The parts of a chat completion that are read.

    prompt_logprobs: for each token of the prompt except the first: by id, its own first, then likelier ones.
    """

    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None
    prompt_logprobs: list[dict[str, _Scored] | None] | None = None


_HALF = re.compile(r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..")


def sound(body: str) -> str:
    """JSON without escapes of half a character, which no text can hold; some servers cut tokens like that."""
    return _HALF.sub(lambda escape: "\\ufffd" if len(escape[0]) == 6 else escape[0], body)


def completion(body: str) -> Completion:
    """A body as a completion. Raises BadAnswer with what is wrong in it."""
    try:
        return Completion.model_validate_json(sound(body))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadAnswer(f"not a chat completion ({where + ': ' if where else ''}{first['msg']})") from None


_WITHHELD = Refusal("the server's content filter withheld the answer")
_OF_NOTHING = Refusal("the answer is empty, and the server does not tell how likely that was", unproven=True)
_OF_PIECES = Refusal(
    "the answer begins with a piece of a character, of which the server tells no probability", unproven=True
)
_OF_DECLINING = Refusal(
    "the model declined in words, and the server does not tell how likely they were", unproven=True
)
_ENDED = ("stop", "eos_token", "stop_sequence", "eos")  # as TGI names them, and Together


def _positions(answer: Completion) -> list[_Position] | None:
    """The tokens of the answer, None if the server gives no log-probabilities."""
    choice = answer.choices[0]
    given = choice.logprobs.content if choice.logprobs else None
    if given is None or (not given and choice.message.content):
        return None
    return [one or _Position(token="", logprob=-math.inf) for one in given]


def _seen(answer: Completion) -> str:
    """The keys that the server sent in place of log-probabilities, often those of a text completion."""
    logprobs = answer.choices[0].logprobs
    keys = [repr(name)[:40] for name in (logprobs.model_extra or {}) if name != "refusal"] if logprobs else []
    return f" in `logprobs.content`: `logprobs` holds {', '.join(sorted(keys)[:4])}" if keys else ""


def letters(answer: Completion, labels: Sequence[str]) -> LetterAnswer | Refusal:
    """The letters in the first token's distribution. Raises BadAnswer."""
    if answer.choices[0].finish_reason == "content_filter":
        return _WITHHELD
    positions = _positions(answer)
    if not positions:
        content = answer.choices[0].message.content or ""
        if not content.strip("\ufffd "):
            return _OF_PIECES if content else _OF_NOTHING
        if content == answer.choices[0].message.refusal:
            return _OF_DECLINING
        raise NoLogprobs(_seen(answer))
    first = positions[0]
    top: list[_Token] = [one for one in first.top_logprobs or () if one is not None]
    tau = math.exp(min((one.logprob for one in top), default=first.logprob))
    if all(one.token != first.token for one in top):
        top.append(first)
    returned = [(one.token, min(one.logprob, 0.0)) for one in top]
    total = math.fsum(math.exp(logprob) for _, logprob in returned)
    if total == 0:
        raise BadAnswer("every log-probability of the first token is null or minus infinity")
    if total > 1 + _ABOVE_ONE:
        raise BadAnswer(f"the probabilities of the first token add to {total:.3f}")
    rest = max(1 - total, 0.0) + _ROUNDING

    spelled = [(label, f" {label}", f"{label}.") for label in labels]
    values = [_log_sum([lp for token, lp in returned if token in names]) for names in spelled]
    bounds = [math.log(max(min(len(names) * tau, rest), 5e-324)) for names in spelled]
    upper = [bound if value == -math.inf else value for value, bound in zip(values, bounds, strict=True)]
    bracket = _log_sum([lp for token, lp in returned if token.strip() == "("])
    return LetterAnswer(
        logits=values,
        upper=upper if -math.inf in values else None,
        letter_mass=min(math.fsum(map(math.exp, values)), 1.0),
        bracket_mass=None if bracket == -math.inf else math.exp(bracket),
        nll=-max(logprob for _, logprob in returned),
    )


def text(answer: Completion, reasoning: Reasoning | None = None, begun: str = "") -> TextAnswer | Refusal:
    """The generated text with the log-probability of each token. Raises BadAnswer.

    reasoning: how the model closes a thought that its server leaves in the text. begun: how the prompt began
    the answer.
    """
    choice, positions = answer.choices[0], _positions(answer)
    if choice.finish_reason == "content_filter":
        return _WITHHELD
    if choice.finish_reason not in (*_ENDED, "length"):
        raise BadAnswer(f"the answer ended for the reason {choice.finish_reason!a:.40}")
    content, thought, tail = choice.message.content or "", choice.message.thought, ""
    content = _without(begun, content, [one.token for one in positions or ()])
    before, unfinished = thought, thought is not None and not content and choice.finish_reason == "length"
    if reasoning:
        # only by the first tag of `closes`: a model may write a line break after it
        inside, closed, after = content.partition(reasoning.ends)
        parts = Parts(reasoning.bare(inside), after) if closed else apart(content)
        if parts.thought is not None:
            before = thought = thought or parts.thought
            content, unfinished = parts.answer, not closed and not parts.answer.strip()
        elif thought is None:
            before, unfinished = reasoning.bare(content), choice.finish_reason == "length"
    if unfinished:
        return Refusal("no answer within the tokens of its thought", reasoning=before)
    if reasoning and thought is not None:
        content, tail = _bare(content, reasoning)
    if positions is None:
        return TextAnswer(content, None, None, None, thought)
    tokens = [one.token for one in positions]
    counted = answer.usage.completion_tokens if answer.usage else 0
    ended = choice.finish_reason != "length"
    ends = _ends(tokens, choice.message.content or "") if ended else False
    incomplete = len(tokens) < counted - 1  # the end-of-sequence token may be missing
    if thought is None and incomplete and "".join(tokens[: len(tokens) - ends]).strip() != content.strip():
        return TextAnswer(content, None, None, None, thought)
    if tail:
        tokens = tokens[: len(tokens) - ends]
        tokens, ends = tokens[: _start(tokens, tail)], False
    start = 0 if thought is None else _start(tokens[: len(tokens) - ends], content)
    if start is None:
        return TextAnswer(content, None, None, None, thought)
    logprobs = [min(one.logprob, 0.0) for one in positions[start : len(tokens)]]
    return TextAnswer(content, logprobs, None, len(logprobs) - ends if ended else None, thought)


def _without(begun: str, content: str, tokens: Sequence[str]) -> str:
    """A content without the beginning that the prompt gave, unless the model's own tokens repeat it."""
    begins = begun.strip()
    if not begins or not content.lstrip().startswith(begins):
        return content
    if tokens and "".join(tokens).lstrip().startswith(content.strip()):
        return content
    return content.removeprefix(begun) if content.startswith(begun) else content.lstrip()[len(begins) :]


def _bare(content: str, reasoning: Reasoning) -> tuple[str, str]:
    """The answer without the text of `closes` after its first tag, and the closing tags from its end."""
    begins, tail = reasoning.closes.strip().removeprefix(reasoning.ends).strip(), ""
    content = content.strip().removeprefix(begins).strip()
    for tag in _TAG.findall(begins):
        closing = tag.replace("<", "</", 1)
        content = content.removeprefix(tag).strip()
        if content.endswith(closing):
            content, tail = content.removesuffix(closing).strip(), closing + tail
    return content, tail


def _start(tokens: Sequence[str], content: str) -> int | None:
    """Index of the first of the last tokens that spell a content, None if none do."""
    spelled = ""
    for index in range(len(tokens) - 1, -1, -1):
        spelled = tokens[index] + spelled
        if spelled.strip() == content.strip() and tokens[index].strip():
            return index
        if len(spelled.strip()) > len(content.strip()):
            break
    return None


def prompt_tokens(answer: Completion) -> list[tuple[str, float]] | None:
    """The prompt's tokens but the first, by id, with their log-probabilities; None if none are given."""
    if answer.prompt_logprobs is None:
        return None
    tokens = [next(iter(one.items()), None) for one in answer.prompt_logprobs[1:] if one is not None]
    return [(token, min(scored.logprob, 0.0)) for token, scored in filter(None, tokens)]


def _ends(tokens: Sequence[str], content: str) -> bool:
    """Whether the last token is the end-of-sequence token: it is no part of the content."""
    if not tokens:
        return False
    last = tokens[-1]
    # Pieces of a character look different in the content, and space at its end may be stripped.
    piece = "\ufffd" in last or last.startswith("bytes:") or last.isspace()
    return not last or not (piece or content.endswith(last))


def _log_sum(logprobs: Sequence[float]) -> float:
    """The logarithm of the sum of some probabilities."""
    return float(np.logaddexp.reduce(logprobs, initial=-math.inf))


def other_model(answered: str | None, pinned: str) -> bool:
    """Whether a server answered for another model; hosts add a date or version to the name."""
    if answered is None:
        return False
    return not answered.startswith(pinned) or not _VERSION.fullmatch(answered[len(pinned) :])
