"""The prompts of a dataset as extract reads them, a few at a time."""

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa

from stages.contracts.prompts import PROMPTS, prompts_path
from stages.extract.holes import Prompt, repeated
from stages.runtime.errors import UserError

ROWS = 1024  # in memory at a time
_COLUMNS = ["id", "item", "variation", "system", "turns", "text", "response", "earlier", "options", "marks"]
_COLUMNS += ["pictures", "asks", "max_tokens"]


class PromptTable:
    """All prompts of a dataset, in their order. max_tokens: of a text whose prompt sets no cap."""

    def __init__(self, dataset: str, max_tokens: int) -> None:
        self.path = prompts_path(dataset)
        self._max_tokens = max_tokens

    def __iter__(self) -> Iterator[Prompt]:
        row = 0
        try:
            for batch in PROMPTS.open(self.path).iter_batches(ROWS, columns=_COLUMNS, use_threads=False):
                for prompt in batch.to_pylist():
                    prompt["row"] = row
                    prompt["max_tokens"] = prompt["max_tokens"] or self._max_tokens
                    row += 1
                    yield prompt
        except (OSError, pa.ArrowException) as error:
            raise UserError(f"{self.path}: damaged ({error}); delete it and run `dvc repro`") from None

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Ids of the prompts whose answers other prompts repeat. Raises UserError, see holes.py."""
        try:
            return repeated(self.__iter__)
        except UserError as error:
            raise UserError(str(error) if str(self.path) in str(error) else f"{self.path}: {error}") from None
