"""published: numbers that the authors of a paper printed or released for a dataset. Often empty."""

import re

from vouch.pipeline.errors import UserError
from vouch.tables.table import Table, columns, per_dataset

PUBLISHED = Table(
    "published",
    1,
    columns("""
model   string   slug of the model, see `model_slug`
name    string   the model's name as published
metric  string   acc, coverage_all_LAC, set_sizes_LAC, ... as the source names it
value   float64  full precision where the source has it
"""),
)
published_path = per_dataset("data/published/{}.parquet")


def model_slug(name: str, what: str = "model name") -> str:
    """The name under which a published model runs here: `llava-v1.6-vicuna-13b` -> `llava_v1_6_vicuna_13b`.

    Lower case; every run of other characters than a-z and 0-9 becomes one `_`; `m_` goes before a
    leading digit. Raises UserError where nothing is left. what: the name's place and kind, for it.
    """
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not slug:
        raise UserError(f"{what} {name!r:.80}: holds none of a-z and 0-9; give another name")
    return f"m_{slug}" if slug[0].isdigit() else slug
