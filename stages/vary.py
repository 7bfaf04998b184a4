"""vary: `python -m stages.vary NAME` writes every prompt of one dataset.

Inputs   data/items/NAME.parquet, data/rewrites/NAME.parquet, decisions/exchange/NAME.csv, the dataset's
         style, vouch/prompts/templates/STYLE.yaml
Output   data/prompts/NAME.parquet, items in their order, for each the variations in theirs
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from vouch.params.start import run_stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.stage import Run
from vouch.pipeline.yaml12 import load
from vouch.prompts.build.accepted_rewrites import Rewrites
from vouch.prompts.build.columns import whole
from vouch.prompts.build.combination import Variation, load_variation
from vouch.prompts.build.config import Config, config_of
from vouch.prompts.build.exchange import Exchanges, comparable
from vouch.prompts.build.exchange_decisions import check_known, decisions_path, read_decisions
from vouch.prompts.build.items import COLUMNS, Making
from vouch.prompts.build.rows import Before, Prompts
from vouch.prompts.build.template import TEMPLATES, Template, parse_template
from vouch.prompts.build.variation import Item
from vouch.tables.decisions import are_there
from vouch.tables.items import ITEMS, items_path
from vouch.tables.prompts import PROMPTS, prompts_path
from vouch.tables.rewrites import REWRITES, rewrites_path


def read_template(name: str) -> Template:
    """The style of that name. Raises UserError."""
    path = TEMPLATES / f"{name}.yaml"
    return parse_template(load(path), str(path))


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of the items table in their order, with their place. Raises UserError."""
    found = (
        row
        for batch in ITEMS.open(path).iter_batches(columns=COLUMNS, use_threads=False)
        for row in batch.to_pylist()
    )
    yield from ({**row, "place": place} for place, row in enumerate(found))


def read_items(path: Path, making: Making) -> Iterator[Item]:
    """Items in their order, a group at a time, those left out too. Raises UserError."""
    for _, group in groupby(read_rows(path), key=lambda row: row["group"]):
        yield from making.items(list(group), path)


def read_exchanges(name: str, source: Path) -> Exchanges:
    """What people decided about pictures to exchange. Raises UserError."""
    path = decisions_path(name)
    decisions = read_decisions(path) if are_there(path) else []
    if decisions:
        check_known(decisions, comparable(read_rows(source)), name)
    return Exchanges(decisions)


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


def _cap(template: Template, source: Path) -> int | None:
    """Most tokens of a generated text; 0 where no reference says how many."""
    if isinstance(template.max_tokens, str):
        return upper_quartile(reference_words(source))
    return template.max_tokens


def item_rows(
    item: Item,
    variations: Sequence[Variation],
    template: Template,
    name: str,
    cap: int | None,
    before: Before,
) -> list[dict[str, Any]]:
    """Every prompt of an item, in the order of the variations. Raises UserError.

    before: what each prompt of the same group so far asks for, which grows where a variation makes
    conversations. cap: 0 where a template caps texts by references and there are none.
    """
    prompts = Prompts(variations, template, name, cap)
    prompts.add(item, before)
    rows: list[dict[str, Any]] = prompts.table().to_pylist()
    return rows


def keeping(config: Config, template: Template) -> Callable[[Item], bool]:
    """Which items are asked at all."""
    if config.rows == "all":
        return lambda _: True
    vs_e = load_variation("vs_e")
    return lambda item: vs_e.answers(item) is not None and bool(vs_e.drafts(item, template)[0])


@dataclass
class Asking:
    """Prompts of the items that are asked. kept: how many items these were."""

    prompts: Prompts
    kept: int = 0

    def tables(self, items: Iterable[Item], source: Path) -> Iterator[pa.Table]:
        """Every prompt of the items, in their order. Raises UserError."""
        group, before = None, Before()
        for item in items:
            if item.group != group:
                group, before = item.group, {}
            if not item.kept:
                continue
            self.kept += 1
            try:
                self.prompts.add(item, before)
            except UserError as error:
                raise UserError(f"{source}: {error}") from None
            if len(self.prompts) >= PROMPTS.rows_per_group:
                yield self.prompts.table()
        if len(self.prompts):
            yield self.prompts.table()


def main(run: Run) -> None:
    """Writes the prompts."""
    (name,) = run.keys
    config = config_of(run.params["datasets"][name], run.params["variations"])
    template = read_template(config.template)
    variations = [load_variation(variation) for variation in config.variations]
    source = items_path(name)
    total = ITEMS.open(source).metadata.num_rows
    rewrites = Rewrites(REWRITES.read(rewrites_path(name)).to_pylist())
    making = Making(rewrites, read_exchanges(name, source), keeping(config, template))
    asking = Asking(Prompts(variations, template, config.template, _cap(template, source)))
    with PROMPTS.writer(prompts_path(name)) as prompts:
        items = run.progress(read_items(source, making), total=total, label=f"vary {name}")
        for table in whole(asking.tables(items, source)):
            prompts.table(table)
        if not asking.kept and config.rows != "all":
            raise UserError(
                f"{source}: no item has a picture to exchange, so datasets.{name}.rows: {config.rows} leaves "
                f"none; say which pictures win (`vouch review exchange {name}`), or write rows: all"
            )
    run.note("items", asking.kept)
    run.note("left_out", total - asking.kept)
    run.note("prompts", prompts.count)


if __name__ == "__main__":
    gc.disable()  # rows hold no cycles, and looking for some takes a fifth of the time
    run_stage("vary", main)
