"""The prompts of a dataset as extract reads them, a few at a time.

Placeholders `{answer k}` of dialogues are filled with what the model itself answered to earlier prompts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from vouch.tables.prompts import PLACEHOLDER, PROMPTS, prompts_path

Prompt = dict[str, Any]  # columns of the prompts table and `row`, its place in it
KnownTexts = Mapping[str, str | None]  # id of a prompt -> its greedy text, None where it has no answer

ROWS = 1024  # in memory at a time
_COLUMNS = [
    *("id", "item", "variation", "system", "turns", "text", "response", "earlier", "options", "marks"),
    *("pictures", "outputs", "max_tokens"),
]


class PromptTable:
    """All prompts of a dataset, in their order; none where it is not `asked`.

    max_tokens: of a text whose prompt sets no cap.
    """

    def __init__(self, dataset: str, max_tokens: int, asked: bool = True) -> None:
        self._path = prompts_path(dataset)
        self._max_tokens, self._asked = max_tokens, asked

    def __iter__(self) -> Iterator[Prompt]:
        for row, prompt in enumerate(self._rows(_COLUMNS)):
            prompt["row"] = row
            prompt["max_tokens"] = prompt["max_tokens"] or self._max_tokens
            yield prompt

    def _rows(self, columns: list[str]) -> Iterator[Prompt]:
        if self._asked:
            for batch in PROMPTS.open(self._path).iter_batches(ROWS, columns=columns, use_threads=False):
                yield from batch.to_pylist()

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Ids of the prompts whose answers other prompts repeat."""
        return frozenset(
            name for row in self._rows(["earlier"]) for names in row["earlier"] or () for name in names
        )


class Pending(Exception):
    """A placeholder's answer is not known yet."""


def fill(prompt: Prompt, known_texts: KnownTexts) -> tuple[Prompt, str | None]:
    """The prompt with its placeholders filled, and a problem where an answer that it repeats was refused.

    Of several answers to one placeholder the most common one counts, of equally common ones the first. Braces
    inside an answer, and placeholders beyond those that `earlier` lists, are plain text. Raises Pending where
    an answer is missing.
    """
    if not prompt["earlier"]:
        return prompt, None
    chosen: list[str] = []
    for names in prompt["earlier"]:
        texts: list[str] = []
        for name in names:
            if name not in known_texts:
                raise Pending(name)
            text = known_texts[name]
            if text is None:
                return prompt, f"repeats the answer to prompt {name}, which has none"
            texts.append(text.strip())
        chosen.append(Counter(texts).most_common(1)[0][0])

    def answer(placeholder: re.Match[str]) -> str:
        number = placeholder[1]
        return chosen[int(number) - 1] if len(number) < 9 and int(number) <= len(chosen) else placeholder[0]

    turns = [
        {name: PLACEHOLDER.sub(answer, text) for name, text in turn.items()} for turn in prompt["turns"] or ()
    ]
    return {**prompt, "turns": turns, "text": PLACEHOLDER.sub(answer, prompt["text"])}, None
