"""vary: `python -m stages.vary NAME` writes every prompt of one dataset.

Inputs   data/items/NAME.parquet, the dataset's style, stages/styles/STYLE.yaml
Output   data/prompts/NAME.parquet, items in their order, for each the variations in theirs
"""

import importlib
from collections.abc import Iterable, Iterator, Mapping
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
_COLUMNS = ["id", "group", "question", "hint", "options", "answers", "images", "kind", "phrasings"]
_LISTS = ("options", "answers", "images", "phrasings")


def read_style(name: str) -> Style:
    """The style of that name. Raises UserError."""
    path = STYLES / f"{name}.yaml"
    return parse_style(load(path), str(path))


def load_variation(name: str) -> Variation:
    """The module of a variation."""
    return cast(Variation, importlib.import_module(f"stages.vary.variations.{name}"))


def read_items(path: Path) -> Iterator[Item]:
    """Items in their order, a row group at a time."""
    batches = ITEMS.open(path).iter_batches(columns=_COLUMNS, use_threads=False)
    for place, row in enumerate(row for batch in batches for row in batch.to_pylist()):
        yield Item(**{**row, **{name: tuple(row[name] or ()) for name in _LISTS}}, place=place)


def reference_words(path: Path) -> Iterator[int]:
    """Number of whitespace-separated words of every reference."""
    for batch in ITEMS.open(path).iter_batches(columns=["references"], use_threads=False):
        for texts in batch.column("references").to_pylist():
            yield from (len(text.split()) for text in texts or ())


def upper_quartile(counts: Iterable[int]) -> int:
    """The 75th percentile, interpolated linearly and rounded up, at least 1; 0 of nothing."""
    ordered = sorted(counts)
    if not ordered:
        return 0
    below, quarters = divmod(3 * (len(ordered) - 1), 4)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return max(1, -(-(4 * low + quarters * (high - low)) // 4))


def _cap(style: Style, source: Path) -> int | None:
    """Most tokens of a generated text; 0 where no reference says how many."""
    if isinstance(style.max_tokens, str):
        return upper_quartile(reference_words(source))
    return style.max_tokens


def item_rows(
    item: Item,
    variations: Mapping[str, Variation],
    style: Style,
    name: str,
    cap: int | None,
    before: set[str],
) -> Iterator[dict[str, Any]]:
    """Every prompt of an item, in the order of the variations. Raises UserError.

    before: ids of the prompts of the same group so far, which grows; `earlier` may name only these, and
    no id may come twice. cap: 0 where a style caps texts by references and there are none.
    """
    for variation, module in variations.items():
        found = module.vary(item, style)
        for draft in (found,) if isinstance(found, Draft) else found or ():
            row = prompt_row(draft, variation, name, cap)
            problem = _problem(row, before, STYLES / f"{name}.yaml")
            if problem:
                raise UserError(f"prompt {row['id']}: {problem}")
            before.add(row["id"])
            yield row


def _problem(row: dict[str, Any], before: set[str], style: Path) -> str:
    """What keeps a row out of the table, or nothing."""
    file = f"stages/vary/variations/{row['variation']}.py"
    if row["id"] in before:
        return f"stands twice; correct {file}: drafts of one item need different numbers"
    for prompt in (prompt for prompts in row["earlier"] for prompt in prompts or [""]):
        if prompt not in before:
            return f"an answer comes from {prompt!r}, no earlier prompt of this group; correct {file}"
    if row["max_tokens"] == 0:
        return f"no item has a reference to cap its text by; give {style} a number for max_tokens"
    return ""


def main(run: Run) -> None:
    """Writes the prompts."""
    (name,) = run.keys
    config = Config(style=run.params["datasets"][name]["style"], variations=run.params["variations"])
    style = read_style(config.style)
    variations = {variation: load_variation(variation) for variation in config.variations}
    source = items_path(name)
    total = ITEMS.open(source).metadata.num_rows
    cap = _cap(style, source)
    with PROMPTS.writer(prompts_path(name)) as prompts:
        group, before = None, set[str]()
        for item in run.progress(read_items(source), total=total, label=f"vary {name}"):
            if item.group != group:
                group, before = item.group, set()
            try:
                for row in item_rows(item, variations, style, config.style, cap, before):
                    prompts.row(row)
            except UserError as error:
                raise UserError(f"{source}: {error}") from None
    run.note("prompts", prompts.count)


if __name__ == "__main__":
    run_stage("vary", main)
