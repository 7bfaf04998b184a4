"""The prompts of a dataset as extract reads them, a few at a time.

Placeholders `{answer k}` of dialogues are filled with what the model itself answered to earlier prompts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.tables.prompts import LIKELIHOOD, OUTPUTS, PLACEHOLDER, PROMPTS, TEXT, prompts_path

Prompt = dict[str, Any]  # columns of the prompts table and `row`, its place in it
KnownTexts = Mapping[str, str | None]  # id of a prompt -> its greedy text, None where it has no answer

ROWS = 1024  # in memory at a time
_TEXTS = ("id", "item", "variation", "text")
_NESTED = ("turns", "earlier", "options", "marks", "pictures")
_COLUMNS = [*_TEXTS, *_NESTED, "system", "response", "outputs", "max_tokens"]


class PromptTable:
    """All prompts of a dataset, in their order; none where it is not `asked`.

    max_tokens: of a text whose prompt sets no cap.
    """

    def __init__(self, dataset: str, max_tokens: int, asked: bool = True) -> None:
        self._path = prompts_path(dataset)
        self._max_tokens, self._asked = max_tokens, asked

    def __iter__(self) -> Iterator[Prompt]:
        for row, prompt in enumerate(self._rows()):
            prompt["row"] = row
            prompt["max_tokens"] = prompt["max_tokens"] or self._max_tokens
            yield prompt

    def _rows(self) -> Iterator[Prompt]:
        if not self._asked:
            return
        try:
            for batch in PROMPTS.open(self._path).iter_batches(ROWS, columns=_COLUMNS, use_threads=False):
                yield from batch.to_pylist()
        except UnicodeDecodeError as error:  # of a text: arrow decodes what it is asked for
            raise UserError(f"{self._path}: damaged ({error}); delete it and run `dvc repro`") from None

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Ids of the prompts whose answers other prompts repeat, from a pass over all rows, see `check`."""
        return check(self._rows(), str(self._path))


def check(prompts: Iterable[Prompt], where: str) -> frozenset[str]:
    """Ids of the prompts whose answers other prompts repeat.

    Raises UserError for a row that cannot be asked, and for one that repeats an answer to a prompt that does
    not stand before it or is not asked for a text.
    """
    rows: dict[str, int] = {}
    with_text, repeated = set[str](), set[str]()
    for number, prompt in enumerate(prompts, start=1):
        problem, name = _problem(prompt), prompt["id"]
        if problem is None and rows.setdefault(name, number) != number:
            problem = f"its id stands already in row {rows[name]}"
        if problem is not None:
            raise UserError(
                f"{where} row {number}: prompt {str(name)[:80]}: {problem}; delete the file "
                "and run `dvc repro` to write it anew"
            )
        for place, names in enumerate(prompt["earlier"] or (), start=1):
            missing = [one for one in names if one not in with_text]
            if missing or not names:
                raise UserError(
                    f"{where}: prompt {name} repeats as answer {place} that of {(missing or ['nobody'])[0]}, "
                    "which is no prompt before it that asks for a text; correct its variation, "
                    f"{prompt['variation']}"
                )
            repeated.update(names)
        if TEXT in (prompt["outputs"] or ()):
            with_text.add(name)
    return frozenset(repeated)


def _problem(prompt: Prompt) -> str | None:
    """The first thing wrong with a row, naming its column, else None."""
    for name in _TEXTS:
        if prompt[name] is None:
            return f"{name} is null"
    for name in _NESTED:
        if _holds_null(prompt[name]):
            return f"{name} holds a null"
    outputs = prompt["outputs"] or ()
    unknown = [output for output in outputs if output not in OUTPUTS]
    if unknown:
        return f"asks for {unknown[0]!a:.40}, which is none of {', '.join(OUTPUTS)}"
    if LIKELIHOOD in outputs and prompt["options"] is None:
        return "options is null"
    if prompt["max_tokens"] is not None and prompt["max_tokens"] < 1:
        return f"max_tokens is {prompt['max_tokens']}"
    return None


def _holds_null(value: Any) -> bool:
    """Whether an element of a list, or a field of a struct in one, is null, however deep."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(part is None or _holds_null(part) for part in parts)


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
