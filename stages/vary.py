"""vary: `python -m stages.vary NAME` writes every prompt of one dataset.

Inputs   data/items/NAME.parquet, data/rewrites/NAME.parquet, decisions/exchange/NAME.csv, the dataset's
         prompt template, vouch/prompts/templates/TEMPLATE.yaml
Output   data/prompts/NAME.parquet, in the order of the items, and within each item of the variations
"""

import gc
from collections.abc import Sequence
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
from vouch.prompts.combination import Variation, load_variation
from vouch.prompts.config import DatasetPrompts, config_of, models_of_variants, template_name
from vouch.prompts.exchange import Exchanges, check_known, comparable, decisions_path, read_decisions
from vouch.prompts.model_prompts import ModelPrompts, with_model_prompts
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


def _prompts(
    config: DatasetPrompts, variant: str | None, variations: Sequence[Variation], source: Path
) -> Prompts:
    template = read_template(config.template, variant, config.outputs)
    name = template_name(config.template, variant)
    return Prompts(variations, template, name, text_cap(template, source), config.asked)


def main(run: Run) -> None:
    """Writes the prompts."""
    (name,) = run.keys
    entry = run.params["datasets"][name]
    config = config_of(entry, run.params["variations"], run.params["outputs"])
    source = items_path(name)
    total, asked = ITEMS.open(source).metadata.num_rows, 0  # numbers of items
    rewrites = Rewrites(REWRITES.read(rewrites_path(name)).to_pylist())
    variations = [load_variation(variation) for variation in config.variations]
    common = _prompts(config, config.variant, variations, source)
    builder = ItemBuilder(rewrites, read_exchanges(name, source), keeping(config, common.template))
    others = [
        ModelPrompts(models, _prompts(config, variant, variations, source))
        for variant, models in models_of_variants(entry).items()
    ]
    columns = prompts_schema(any(variation.repeats_options for variation in variations), bool(others))
    with PROMPTS.writer(prompts_path(name), columns) as table:
        items = run.progress(read_items(source, builder), total=total, label=f"vary {name}")
        made = with_model_prompts(common, others, items, source) if others else common.of_items(items, source)
        for item, rows in made:
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
