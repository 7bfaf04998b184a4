"""published: numbers that the authors of a paper printed or released for a dataset. Often empty.

model   slug of the model, see `model_slug`
name    the model's name as published
metric  acc, coverage_all_LAC, set_sizes_LAC, ... as the source names it
value   full precision where the source has it
"""

import re
from pathlib import Path

import pyarrow as pa

from vouch.pipeline.errors import UserError
from vouch.tables.table import Table

PUBLISHED = Table(
    "published",
    1,
    pa.schema(
        [("model", pa.string()), ("name", pa.string()), ("metric", pa.string()), ("value", pa.float64())]
    ),
)


def published_path(dataset: str) -> Path:
    """Where the published numbers of a dataset lie."""
    return Path("data/published") / f"{dataset}.parquet"


def model_slug(name: str) -> str:
    """The name under which a published model runs here: `llava-v1.6-vicuna-13b` -> `llava_v1_6_vicuna_13b`.

    Lower case; every run of other characters than a-z and 0-9 becomes one `_`; `m_` goes before a
    leading digit. Raises UserError where nothing is left.
    """
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not slug:
        raise UserError(f"model name {name!r}: holds no letter or digit; give the model a name")
    return f"m_{slug}" if slug[0].isdigit() else slug
