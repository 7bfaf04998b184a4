"""The prompts of a dataset as extract reads them, a few at a time."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from vouch.models.requests.placeholders import Prompt, repeated
from vouch.pipeline.errors import UserError
from vouch.tables.prompts import LIKELIHOOD, OUTPUTS, PROMPTS, prompts_path

ROWS = 1024  # in memory at a time
_COLUMNS = ["id", "item", "variation", "system", "turns", "text", "response", "earlier", "options", "marks"]
_COLUMNS += ["pictures", "outputs", "max_tokens"]


class PromptTable:
    """All prompts of a dataset, in their order. max_tokens: of a text whose prompt sets no cap."""

    def __init__(self, dataset: str, max_tokens: int) -> None:
        self.path = prompts_path(dataset)
        self._max_tokens = max_tokens

    def __iter__(self) -> Iterator[Prompt]:
        for row, prompt in enumerate(self._rows()):
            prompt["row"] = row
            prompt["max_tokens"] = prompt["max_tokens"] or self._max_tokens
            yield prompt

    def _rows(self) -> Iterator[Prompt]:
        try:
            for batch in PROMPTS.open(self.path).iter_batches(ROWS, columns=_COLUMNS, use_threads=False):
                yield from batch.to_pylist()
        except UnicodeDecodeError as error:  # of a text: arrow decodes what it is asked for
            raise UserError(f"{self.path}: damaged ({error}); delete it and run `dvc repro`") from None

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Ids of the prompts whose answers other prompts repeat. Raises UserError, see placeholders.py.

        Every row is judged before the first one is asked.
        """
        self._check()
        try:
            return repeated(self.__iter__)
        except UserError as error:
            raise UserError(str(error) if str(self.path) in str(error) else f"{self.path}: {error}") from None

    def _check(self) -> None:
        before: dict[str, int] = {}
        for number, prompt in enumerate(self._rows(), start=1):
            problem = _problem(prompt)
            first = number if problem else before.setdefault(prompt["id"], number)
            if first != number:
                problem = f"its id stands already in row {first}"
            if problem:
                raise UserError(
                    f"{self.path} row {number}: prompt {str(prompt['id'])[:80]}: {problem}; delete the file "
                    "and run `dvc repro` to write it anew"
                )


_TEXTS = ("id", "item", "variation", "text")
_ELEMENTS = ("options", "marks")


def _problem(prompt: Mapping[str, Any]) -> str | None:
    """The first thing wrong with a row, naming its column, else None."""
    for name in _TEXTS:
        if prompt[name] is None:
            return f"{name} is null"
    for name in _ELEMENTS:
        if None in (prompt[name] or ()):
            return f"{name} holds a null"
    if None in _flat(prompt["turns"], ("question", "answer")):
        return "turns holds a null"
    outputs = prompt["outputs"] or ()
    unknown = [output for output in outputs if output not in OUTPUTS]
    if unknown:
        return f"asks for {unknown[0]!a:.40}, which is none of {', '.join(OUTPUTS)}"
    if LIKELIHOOD in outputs and prompt["options"] is None:
        return "options is null"
    if prompt["max_tokens"] is not None and prompt["max_tokens"] < 1:
        return f"max_tokens is {prompt['max_tokens']}"
    if _null_in_pictures(prompt["pictures"] or ()):
        return "pictures holds a null"
    return None


def _null_in_pictures(recipes: Sequence[Mapping[str, Any] | None]) -> bool:
    if None in _flat(recipes, ("images", "steps")):
        return True
    return any(
        None in recipe["images"] or None in _flat(recipe["steps"], ("operation", "severity", "revision"))
        for recipe in recipes
        if recipe is not None
    )


def _flat(structs: Sequence[Mapping[str, Any] | None] | None, names: Sequence[str]) -> list[Any]:
    """All fields of all structs; one None for a struct that is null."""
    return [value for one in structs or () for value in ([one[name] for name in names] if one else [None])]
