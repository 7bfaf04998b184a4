"""A question as the text that a model reads, and the tokens that are read as its option labels.

`messages` makes messages as chat templates expect them, `ChatTemplate` renders them, `letter_ids` finds the
tokens.

A letter is read where the model would write it: prompt and letter are tokenised as one text, in the spelling
in which the model's own chat template writes answers. The beginning that these texts share is the prompt that
the model gets, and the one token after it is the letter's. So the prompt may become longer (after
`ASSISTANT:` most byte-pair encoders write a digit as a space and a digit: the space is read first) or shorter
(`Answer: ` and `A` become `Answer:` and ` A`; `(` and `A` may become `(A`). Letters that are not one token
each at one position are refused: the model does not write them at another position, or in another spelling.

One spelling is read. The sum over spellings would mix two sets of logits, which released logits do not do,
and their maximum would favour letters by chance. The other spelling's logits are stored too if it has them at
the same position, the probability mass counts both, and an answer whose model prefers the other
spelling is flagged.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

from vouch.models.engine import Question
from vouch.models.sandbox import render
from vouch.pipeline.errors import UserError, reason

SPELLINGS = ("", " ")
TEXTS_ALONE = (Path(__file__).parent / "templates/plain.jinja").read_text("utf-8")
"""The chat template of a model that has none: a base model goes on from the texts."""
BRACKET = "("
_SHOWN = 12  # characters of a prompt's end in a message
Encode = Callable[[Sequence[str]], list[list[int]]]
_PLACEHOLDER = re.compile(r"<image (\d+)>")
# Templates that print today's date take it from this variable, or from a function that the macro replaces:
# an answer must not depend on the day.
TEMPLATE_VARIABLES = {"date_string": "01 Jan 2025"}


def messages(question: Question) -> tuple[list[dict[str, Any]], list[int]]:
    """Messages, and the 0-based order in which images appear in them.

    Images are placed where `<image 1>`, `<image 2>`, ... are, or all before the first turn if there is
    no such placeholder. Without images these are words like others. Raises ValueError if the placeholders do
    not name each image once.
    """
    asked = [text for text, _ in question.turns] + [question.text]
    count = len(question.images)
    order = [int(number) - 1 for text in asked for number in _PLACEHOLDER.findall(text) if count]
    if order and sorted(order) != list(range(count)):
        raise ValueError(f"image placeholders {[index + 1 for index in order]}, but {count} images")
    contents = [_content(text) if order else _words(text) for text in asked]
    if not order:
        contents[0] = [{"type": "image"}] * count + contents[0]
    result: list[dict[str, Any]] = []
    if question.system is not None:
        result.append({"role": "system", "content": [{"type": "text", "text": question.system}]})
    for index, content in enumerate(contents):
        result.append({"role": "user", "content": content})
        if index < len(question.turns):
            reply = {"type": "text", "text": question.turns[index][1]}
            result.append({"role": "assistant", "content": [reply]})
    return result, order or list(range(count))


def _content(text: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for index, piece in enumerate(_PLACEHOLDER.split(text)):  # text, number, text, number, ..., text
        if index % 2:
            content.append({"type": "image"})
        else:
            content += _words(piece)
    return content


def _words(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}] if text.strip() else []


def dropped(question: Question, rendered: str) -> str | None:
    """The part of a question that a template left out of what it rendered, None if nothing is missing."""
    if (question.system or "").strip() not in rendered:
        return "system message"
    if any(_lost(text, rendered) for text, _ in question.turns):
        return "earlier turns"
    if any(answer.strip() not in rendered for _, answer in question.turns):
        return "earlier answers"
    return "text" if _lost(question.text, rendered) else None


def _lost(text: str, rendered: str) -> bool:
    return any(piece.strip() not in rendered for piece in _PLACEHOLDER.split(text)[::2])


# Problems of this machine and not of a question: never stored as a refusal.
MACHINE_ERRORS = (MemoryError, ImportError, OSError)


class ChatTemplate:
    """The template of a processor, `text` or the processor's own.

    separate_decoder: the model writes answers with a separate decoder, so an answer follows no text.
    """

    def __init__(self, processor: Any, text: str | None, separate_decoder: bool) -> None:
        written = _written(processor, text)
        self._apart, self._text = separate_decoder, (_MACRO if _FUNCTION in written else "") + written
        named = {name: value for name, value in TEMPLATE_VARIABLES.items() if name in written}
        self._variables = {**processor.tokenizer.special_tokens_map, **named}

    def render(self, conversation: list[dict[str, Any]], answer: bool = False) -> str:
        """Messages up to where the model answers or, with `answer`, those of a finished conversation."""
        return render(self._text, as_strings(conversation, self._strings), self._variables, answer)

    @cached_property
    def _strings(self) -> frozenset[str]:
        """Roles whose text the template takes only as a string, not as a list of parts: both are tried."""
        roles = frozenset[str]()
        for role, question in _SPOKEN.items():
            if not self._takes(question, roles) and self._takes(question, roles | {role}):
                roles |= {role}
        return roles

    def _takes(self, question: Question, strings: frozenset[str]) -> bool:
        """Whether the template writes all of a conversation with these roles as strings."""
        written = self._tried(as_strings(messages(question)[0], strings), answer=False)
        return written is not None and dropped(question, written) is None and not _PRINTED.search(written)

    def _tried(self, conversation: list[dict[str, Any]], answer: bool) -> str | None:
        """Messages as the template writes them, None if it fails at them."""
        try:
            return render(self._text, conversation, self._variables, answer)
        except MACHINE_ERRORS:
            raise
        except Exception:  # a template can raise whatever it likes
            return None

    @cached_property
    def asked(self) -> str:
        """A conversation up to where the model answers. Raises UserError if the template fails."""
        try:
            return self.render(messages(_PROBE)[0])
        except MACHINE_ERRORS:
            raise
        except Exception as error:  # a template can raise whatever it likes
            raise UserError(
                f"the model's chat template fails ({reason(error)}); correct it, or name another one as "
                "`template` in models.lock"
            ) from None

    @cached_property
    def opening(self) -> str:
        """What the template writes before the first message; empty if it fails at a plain question."""
        conversation = as_strings(messages(_PROBE)[0], self._strings)
        return (self._tried(conversation, answer=False) or "").partition(_PROBE.text)[0]

    @cached_property
    def _natural(self) -> str:
        """The space that the template writes between the generation prompt and an answer."""
        asked, answer = self.asked, {"role": "assistant", "content": [{"type": "text", "text": "A"}]}
        conversation = as_strings([*messages(_PROBE)[0], answer], self._strings)
        written = self._tried(conversation, answer=True) or ""
        rest = written[len(asked) :] if written.startswith(asked) else ""
        space = rest[: len(rest) - len(rest.lstrip())]
        if asked.endswith(_PROBE.text):  # an answer follows the user's own words
            return " " if space else ""
        return space if rest[len(space) :].startswith("A") else space_after(asked)

    def between(self, begun: str | None) -> str:
        """The space before an answer's next word. begun: the words that already begin the answer.

        It is as in the template's answers, unless the answer has begun or the model has a separate decoder.
        """
        if begun:
            return space_after(begun)
        return "" if self._apart else self._natural


_DAY = {
    "%d": "01", "%-d": "1", "%e": " 1", "%j": "001", "%m": "01", "%-m": "1", "%b": "Jan", "%B": "January",
    "%Y": "2025", "%y": "25", "%A": "Wednesday", "%a": "Wed", "%H": "00", "%M": "00", "%S": "00",
}  # fmt: skip


_FUNCTION = "strftime_now"


_MACRO = (
    "{%- macro " + _FUNCTION + "(format) -%}{%- set said = format"
    + "".join(f" | replace('{name}', '{value}')" for name, value in _DAY.items())
    + " -%}{%- if '%' in said -%}{{- raise_exception('no fixed date for ' ~ format) -}}{%- endif -%}"
    "{{- said -}}{%- endmacro -%}"
)  # fmt: skip


def with_variables(
    processor: Any, template: str | None, variables: Mapping[str, bool | int | str]
) -> str | None:
    """`template` (or the processor's own) with these variables set; without variables, `template` as it is.

    Raises UserError for a variable that the template does not read.
    """
    if not variables:
        return template
    written = _written(processor, template)
    for name in variables:
        if not re.search(rf"\b{name}\b", written):
            raise UserError(
                f"models.lock: the model's chat template reads no {name}; correct template_kwargs, and leave "
                "out `reasoning: off` where a model always thinks or never does"
            )
    return (
        "".join(f"{{%- set {name} = {json.dumps(value)} -%}}" for name, value in variables.items()) + written
    )


def _written(processor: Any, text: str | None) -> str:
    own = processor.chat_template
    return str(text or (own.get("default") if isinstance(own, dict) else own) or "")


_PROBE = Question("probe", None, "Which?")


# For each role, a conversation that ends with the user and has a message of that role.
_SPOKEN = {
    "user": _PROBE,
    "system": Question("probe", "Be brief.", "Which?"),
    "assistant": Question("probe", None, "Which?", turns=[("Where?", "Here.")]),
}


_PRINTED = re.compile(r"""['"]type['"]: ['"]text['"]""")  # a list of parts printed as it is, not read


def as_strings(conversation: list[dict[str, Any]], roles: Container[str]) -> list[dict[str, Any]]:
    """Messages whose text of these roles is a string. One that shows images stays a list of parts."""
    return [
        {**one, "content": "".join(part["text"] for part in one["content"])}
        if one["role"] in roles and all(part["type"] == "text" for part in one["content"])
        else one
        for one in conversation
    ]


_OPEN = ("(", "[", "{")


_BEFORE_WORDS = "#<¿¡"  # signs before a word, with no space between


_EITHER = re.compile(r"""(["'`*_$])\1*$""")  # marks that open what they close


_TAG = re.compile(r"<[^<>\s][^<>]*>$")


def space_after(text: str) -> str:
    """The separator between a text and the next word: a space, or nothing.

    Nothing after a space, an opening mark (`(`, a quote, `**`, `#`) or a tag, and in scripts without spaces.
    """
    if not text or text[-1].isspace() or text[-1] in _BEFORE_WORDS or _TAG.search(text):
        return ""
    last, either = unicodedata.category(text[-1]), _EITHER.search(text)
    if either:
        before = text[: either.start()]
        opens = not before or before[-1].isspace() or before.endswith(_OPEN)
        return "" if opens or before.rpartition("\n")[2].count(either[0]) % 2 == 0 else " "
    wide = unicodedata.east_asian_width(text[-1]) in "WF" and last[0] in "LP"
    return "" if last in ("Ps", "Pi") or (wide and not "\uac00" <= text[-1] <= "\ud7a3") else " "


@dataclass(frozen=True)
class LetterIds:
    """read: one token per label, in `spelling`. other: the same labels in the other spelling, if it has them.

    dropped, added: how many tokens are cut from the end of the prompt, and which replace them, before the
    letter. bracket: tokens of an opening bracket in either spelling.
    """

    spelling: str
    read: tuple[int, ...]
    other: tuple[int, ...]
    bracket: tuple[int, ...]
    dropped: int = 0
    added: tuple[int, ...] = ()


def letter_ids(
    encode: Encode, prompt: str, natural: str, labels: Sequence[str], unknown: int | None
) -> LetterIds:
    """The tokens of some labels after a prompt, `natural` between them.

    encode: tokens of texts. unknown: the token for text that the vocabulary lacks. Raises UserError if labels
    are not one token each.
    """
    other = SPELLINGS[natural == SPELLINGS[0]]
    texts = [natural + label for label in labels] + [other + label for label in labels]
    texts += [spelling + BRACKET for spelling in SPELLINGS]
    known, *whole = encode([prompt, *(prompt + text for text in texts)])
    count = len(labels)
    before = common_start(tokens[:-1] for tokens in whole[:count])
    read = [tokens[len(before) :] for tokens in whole[:count]]
    for label, tokens in zip(labels, read, strict=True):
        if len(tokens) != 1 or read.count(tokens) > 1 or unknown in (*before[len(known) :], *tokens):
            why = "has none of its own" if len(tokens) == 1 else f"takes {len(tokens)}"
            raise UserError(
                f"the model's tokenizer has no distinct single token for each of {', '.join(labels):.100} in "
                f"one place after {prompt[-_SHOWN:]!r} ({label} {why} there); ask this model with another "
                "template or answer_prefix"
            )
    kept = len(common_start([known, before]))

    def after(tokens: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The tokens right after `before`, for the texts that are one token there."""
        single = [one[-1] for one in tokens if [*one[:-1]] == before and one[-1] != unknown]
        return tuple(dict.fromkeys(single))

    others = after(whole[count : 2 * count])
    chosen = tuple(tokens[0] for tokens in read)
    return LetterIds(
        natural,
        chosen,
        others if len(others) == count and not set(others) & set(chosen) else (),
        tuple(sorted(after(whole[2 * count :]))),
        len(known) - kept,
        tuple(before[kept:]),
    )


def common_start(texts: Iterable[Sequence[int]]) -> list[int]:
    """The tokens that all texts begin with."""
    alike = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*texts, strict=False))
    return [tokens[0] for tokens in alike]
