"""A model's chat template, and the habits of writing answers that can be read off it."""

from functools import cached_property
from typing import Any

from vouch.models.chat import chat
from vouch.models.chat.letter_tokens import natural_spelling
from vouch.models.chat.rendering import render
from vouch.models.requests.engine import Question
from vouch.pipeline.errors import UserError, reason

_PROBE = Question("probe", None, "Which?")
_OPEN = ("(", "[", "{", '"', "'")  # after these an answer goes on without a space


# Troubles of this machine and not of a question: never taken for a refusal, which would be remembered.
HERE = (MemoryError, ImportError, OSError)


class ChatTemplate:
    """The template of a processor, `text` or the processor's own.

    answers_apart: the model has a decoder of its own for what it says, so answers begin from nothing.
    """

    def __init__(self, processor: Any, text: str | None, answers_apart: bool) -> None:
        own = processor.chat_template
        written = str(text or (own.get("default") if isinstance(own, dict) else own) or "")
        self._apart, self._text = answers_apart, chat.dated(written)
        self._tokens = dict(processor.tokenizer.special_tokens_map)
        self._variables = {name: value for name, value in chat.TEMPLATE_VARIABLES.items() if name in written}

    def render(self, messages: list[dict[str, Any]], answer: bool = False) -> str:
        """Messages up to where the model answers, or with `answer` those of a finished conversation."""
        variables = {**self._tokens, **self._variables}
        return render(self._text, messages, variables, answer)

    @cached_property
    def asked(self) -> str:
        """A conversation up to where the model answers. Raises UserError where the template fails."""
        messages, _ = chat.messages(_PROBE)
        try:
            return self.render(messages)
        except HERE:
            raise
        except Exception as error:  # a template can raise whatever it likes
            raise UserError(
                f"the model's chat template fails ({reason(error)}); correct it, or name another one as "
                "`template` in models.lock"
            ) from None

    @property
    def merges(self) -> bool:
        """Whether an answer follows the user's own words at once, so that tokens may span both."""
        return not self._apart and not self._generation_prompt

    @cached_property
    def _generation_prompt(self) -> str:
        """What the template writes after the user's text."""
        return self.asked.rpartition(_PROBE.text)[2]

    @cached_property
    def _natural(self) -> str:
        """What the template writes between the generation prompt and an answer."""
        messages, _ = chat.messages(_PROBE)
        said = {"role": "assistant", "content": [{"type": "text", "text": "A"}]}
        try:
            written = self.render([*messages, said], answer=True)
        except HERE:
            raise
        except Exception:  # a template need not know how to write answers
            written = ""
        return natural_spelling(self.asked, written)

    def between(self, before: str) -> str:
        """What stands between a text and how it goes on: the template's own habit, or a space."""
        if self._apart:
            habit = "" if not before else None
        else:
            habit = self._natural if before.endswith(self._generation_prompt) else None
        if habit is not None:
            return habit
        return "" if before[-1:].isspace() or before.endswith(_OPEN) else " "

    def beginning(self, response: str | None) -> str:
        """What stands before an answer's first free token, in a conversation about nothing."""
        before = "" if self._apart else self.asked
        if response:
            before += ("" if self._apart else self.between(before)) + response
        return before
