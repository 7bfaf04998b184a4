"""Which prompts a dataset has and to which items they belong, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vouch.pipeline.errors import UserError
from vouch.tables.items import ITEMS
from vouch.tables.prompts import KEPT, ORIGINAL, PROMPTS

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Questions:
    """N items with P prompts, which stand item by item, in the order of the items.

    prompts: ids [P]. of: [P] number of the item. variation: [P] number among `variations`. kept: [P] whether
    the variation leaves the answer as it is. shown: [P] options. starts: [N + 1] the prompts of item i are
    starts[i] to starts[i + 1].
    """

    prompts: pa.Array
    of: Ints
    variation: Ints
    kept: NDArray[np.bool_]
    shown: Ints
    starts: Ints
    variations: Sequence[str]

    @property
    def items(self) -> int:
        """N."""
        return len(self.starts) - 1

    @property
    def originals(self) -> Ints:
        """[N] number of the item's original prompt, -1 where it has none."""
        found = np.full(self.items, -1, dtype=np.int64)
        if ORIGINAL in self.variations:
            plain = np.flatnonzero(self.variation == self.variations.index(ORIGINAL))
            found[self.of[plain][::-1]] = plain[::-1]
        return found

    def numbers(self, names: pa.ChunkedArray) -> Ints:
        """Numbers of the prompts with these ids, -1 for an id that is none."""
        found = pc.fill_null(pc.index_in(names, self.prompts), -1)
        return np.asarray(found.to_numpy()).astype(np.int64)


def read_questions(items: Path, prompts: Path) -> Questions:
    """Reads the two tables. Raises UserError where the prompts do not follow the items."""
    ids = ITEMS.read(items, ["id"])["id"].combine_chunks()
    table = PROMPTS.read(prompts, ["id", "item", "variation", "effect", "order"])
    of = np.asarray(pc.fill_null(pc.index_in(table["item"], ids), -1).to_numpy()).astype(np.int64)
    if (of < 0).any() or (np.diff(of) < 0).any():
        raise UserError(f"{prompts}: its prompts do not follow the items of {items}; run `dvc repro`")
    names = table["variation"].unique().to_pylist()
    variation = pc.index_in(table["variation"], pa.array(names, pa.string())).to_numpy()
    return Questions(
        prompts=table["id"].combine_chunks(),
        of=of,
        variation=np.asarray(variation).astype(np.int64),
        kept=np.asarray(pc.equal(table["effect"], KEPT).to_numpy()).astype(bool),
        shown=np.asarray(pc.fill_null(pc.list_value_length(table["order"]), 0).to_numpy()).astype(np.int64),
        starts=np.searchsorted(of, np.arange(len(ids) + 1)),
        variations=names,
    )
