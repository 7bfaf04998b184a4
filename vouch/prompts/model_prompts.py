"""Prompts of single models, which have a variant of the template to themselves (`variants` of a dataset).

Such a variant changes WORDING alone: ids, options, letters, correct answers and images are those of all
models, so answers are scored and compared as if all had been asked alike.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import tee, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from vouch.pipeline.errors import UserError
from vouch.prompts.build import Prompts
from vouch.prompts.draft import Item
from vouch.tables.asked import MODEL_PROMPTS, WORDING

Row = dict[str, Any]


class ModelPrompts(NamedTuple):
    """Makes the prompts of the models that are asked with one variant."""

    models: Sequence[str]
    prompts: Prompts


def with_model_prompts(
    common: Prompts, others: Sequence[ModelPrompts], items: Iterable[Item], path: Path
) -> Iterator[tuple[Item, list[Row]]]:
    """What `common.of_items` gives, with MODEL_PROMPTS in each row. Raises UserError if a variant changes
    more than WORDING. path: of the items' table, for messages."""
    first, *copies = tee(items, 1 + len(others))
    made = [other.prompts.of_items(copy, path) for other, copy in zip(others, copies, strict=True)]
    for (item, rows), *alike in zip(common.of_items(first, path), *made, strict=True):
        own = [_wordings(rows, theirs, other) for other, (_, theirs) in zip(others, alike, strict=True)]
        columns = zip(*own, strict=True)
        yield item, [row | {MODEL_PROMPTS.name: list(each)} for row, each in zip(rows, columns, strict=True)]


def _wordings(rows: Sequence[Row], theirs: Sequence[Row], other: ModelPrompts) -> list[Row]:
    """An entry of MODEL_PROMPTS for each row."""
    nothing: Row = {}
    for row, one in zip_longest(rows, theirs, fillvalue=nothing):
        kept = (name for name in row | one if name not in WORDING)
        if changed := next((name for name in kept if row.get(name) != one.get(name)), None):
            raise UserError(
                f"prompt {(row or one)['id']}: template {other.prompts.name} changes `{changed}`, not the "
                f"wording alone; ask {', '.join(other.models)} in a dataset of its own"
            )
    return [{"models": other.models} | {name: one[name] for name in WORDING} for one in theirs]
