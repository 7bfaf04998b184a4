"""vary: `python -m stages.vary NAME` writes every prompt of one dataset.

Inputs   data/items/NAME.parquet, data/rewrites/NAME.parquet, decisions/exchange/NAME.csv, the dataset's
         prompt template, vouch/prompts/templates/TEMPLATE.yaml
Output   data/prompts/NAME.parquet, in the order of the items, and within each item of the variations
"""

import gc
from pathlib import Path

from vouch.params.start import run_stage
from vouch.pipeline.errors import UserError
from vouch.pipeline.run import Run
from vouch.prompts.build import (
    ItemBuilder,
    Prompts,
    Rewrites,
    keeping,
    read_items,
    read_rows,
    text_cap,
)
from vouch.prompts.combination import load_variation
from vouch.prompts.config import config_of
from vouch.prompts.exchange import Exchanges, check_known, comparable, decisions_path, read_decisions
from vouch.prompts.template import read_template
from vouch.tables.asked import (
    ITEMS,
    PROMPTS,
    REWRITES,
    items_path,
    prompts_path,
    prompts_schema,
    rewrites_path,
)


def read_exchanges(name: str, source: Path) -> Exchanges:
    """People's decisions about images to exchange. Raises UserError."""
    decisions = read_decisions(decisions_path(name))
    if decisions:
        check_known(decisions, comparable(read_rows(source)), name)
    return Exchanges(decisions)


def main(run: Run) -> None:
    """Writes the prompts."""
    (name,) = run.keys
    config = config_of(run.params["datasets"][name], run.params["variations"], run.params["outputs"])
    template = read_template(config.template, config.variant, config.outputs)
    source = items_path(name)
    total, asked = ITEMS.open(source).metadata.num_rows, 0  # numbers of items
    rewrites = Rewrites(REWRITES.read(rewrites_path(name)).to_pylist())
    builder = ItemBuilder(rewrites, read_exchanges(name, source), keeping(config, template))
    variations = [load_variation(variation) for variation in config.variations]
    prompts = Prompts(variations, template, config.name, text_cap(template, source), config.asked)
    columns = prompts_schema(any(variation.repeats_options for variation in variations))
    with PROMPTS.writer(prompts_path(name), columns) as table:
        items = run.progress(read_items(source, builder), total=total, label=f"vary {name}")
        for item, rows in prompts.of_items(items, source):
            asked += item.kept
            for row in rows:
                table.row(row)
        if not asked and config.rows != "all":
            raise UserError(
                f"{source}: no item has an image to exchange, so datasets.{name}.rows: {config.rows} leaves "
                f"none; say which images win (`vouch review exchange {name}`), or write rows: all"
            )
    run.note("items", asked)
    run.note("left_out", total - asked)
    run.note("prompts", table.count)


if __name__ == "__main__":
    gc.disable()  # rows hold no cycles, and searching for them would take a fifth of the time
    run_stage("vary", main)
