"""vary: `python -m stages.vary NAME` writes every prompt of one dataset.

Inputs   data/items/NAME.parquet, the dataset's style, stages/styles/STYLE.yaml
Output   data/prompts/NAME.parquet, items in their order, for each the variations in theirs
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from stages.contracts.items import ITEMS, items_path
from stages.contracts.prompts import PROMPTS, prompts_path
from stages.runtime.errors import UserError
from stages.runtime.stage import Run, run_stage
from stages.vary.config import Config
from stages.vary.prompt import prompt_row
from stages.vary.style import Style, parse_style
from stages.vary.variation import Draft, Item, Variation
from stages.yaml12 import load

STYLES = Path("stages/styles")
_COLUMNS = ["id", "question", "hint", "options", "answers", "images", "kind"]
_LISTS = ("options", "answers", "images")


def read_style(name: str) -> Style:
    """The style of that name. Raises UserError."""
    path = STYLES / f"{name}.yaml"
    return parse_style(load(path), str(path))


def load_variation(name: str) -> Variation:
    """The module of a variation."""
    return cast(Variation, importlib.import_module(f"stages.vary.variations.{name}"))


def read_items(path: Path) -> Iterator[Item]:
    """Items in their order, a row group at a time."""
    for batch in ITEMS.open(path).iter_batches(columns=_COLUMNS, use_threads=False):
        for row in batch.to_pylist():
            yield Item(**{**row, **{name: tuple(row[name]) for name in _LISTS}})


def _row(draft: Draft, variation: str, style: str, source: Path) -> dict[str, Any]:
    try:
        return prompt_row(draft, variation, style)
    except UserError as error:
        raise UserError(f"{source}: {error}") from None


def main(run: Run) -> None:
    """Writes the prompts."""
    (name,) = run.keys
    config = Config(style=run.params["datasets"][name]["style"], variations=run.params["variations"])
    style = read_style(config.style)
    variations = {variation: load_variation(variation) for variation in config.variations}
    source = items_path(name)
    total = ITEMS.open(source).metadata.num_rows
    with PROMPTS.writer(prompts_path(name)) as prompts:
        for item in run.progress(read_items(source), total=total, label=f"vary {name}"):
            for variation, module in variations.items():
                draft = module.vary(item, style)
                if draft is not None:
                    prompts.row(_row(draft, variation, config.style, source))
    run.note("prompts", prompts.count)


if __name__ == "__main__":
    run_stage("vary", main)
