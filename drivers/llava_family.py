"""What the drivers of LLaVA's code and of code that grew from it have in common: how a prompt is written."""

from __future__ import annotations

from typing import Any, Callable

from vouch_driver import Question, TorchModel, without_places


class LlavaFamily(TorchModel):
    """A conversation in which a mark stands for an image. All images come first. See TorchModel."""

    def speak(
        self, conversation: Any, tokenize: Callable[..., Any], mark: str, image: str | None = None
    ) -> None:
        """Sets how prompts are written; a driver calls it in `__init__`.

        conversation: one of the authors' `conv_templates`. tokenize: their function that tokenises a text
        and puts a negative number in the place of each mark. image: a mark with what is around it.
        """
        self.conversation, self.tokenize, self.mark = conversation, tokenize, mark
        self.image = f"{mark}\n" if image is None else image
        if conversation.sep_style.name == "SINGLE":
            self.end = conversation.sep

    def prompt(self, question: Question) -> str:
        """See TorchModel.prompt."""
        talk = self.conversation.copy()
        if question.system is not None:
            talk.system = question.system
        shown = self.image * len(question.images)
        for index, (asked, answer) in enumerate([*question.turns, (question.text, None)]):
            asked = without_places(asked, self.mark)
            talk.append_message(talk.roles[0], shown + asked if index == 0 else asked)
            talk.append_message(talk.roles[1], answer)
        return str(talk.get_prompt()) + (f" {question.response}" if question.response else "")

    def encode(self, text: str) -> list[int]:
        """See TorchModel.encode."""
        return list(self.tokenize(text, self.tokenizer))
