"""Prompts of one item, and templates by the name that the prompts table gives them."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from vouch.prompts.build.combination import Variation
from vouch.prompts.build.rows import Before, Prompts
from vouch.prompts.build.template import TEMPLATES, Template, read_template
from vouch.prompts.build.variation import Item
from vouch.tables.prompts import PROMPTS


def family_of(name: str) -> tuple[str, str | None]:
    """Template and variant: `reform_vqa_likelihood` is the variant `likelihood` of `reform_vqa`."""
    families = [path.stem for path in TEMPLATES.glob("*.yaml")]
    family = max((one for one in families if f"{name}_".startswith(f"{one}_")), key=len, default=name)
    return family, name[len(family) + 1 :] or None


def template_of(name: str) -> Template:
    """The template that the prompts table calls so."""
    return read_template(*family_of(name))


def item_rows(
    item: Item,
    variations: Sequence[Variation],
    template: Template,
    name: str,
    cap: int | None,
    before: Before,
) -> list[dict[str, Any]]:
    """Every prompt of an item as the table holds it."""
    rows = list(Prompts(variations, template, name, cap).rows(item, before))
    found: list[dict[str, Any]] = pa.Table.from_pylist(rows, schema=PROMPTS.schema).to_pylist()
    return found
