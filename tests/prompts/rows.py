"""Rows of items and of their prompts, templates by the name that the prompts table has, and stages run
here."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.run import Run
from vouch.prompts.build import Before, Prompts
from vouch.prompts.combination import Variation
from vouch.prompts.draft import Item
from vouch.prompts.template import TEMPLATES, Template, read_template
from vouch.tables.asked import prompts_schema


def run_stage(main: Callable[[Run], None], name: str, dataset: str, params: Mapping[str, Any]) -> Run:
    """The body of a stage on one dataset, with these values of params.yaml, in the present folder."""
    stage = Stage(f"{name}@{dataset}", f"python -m stages.{name} {dataset}", (), (), {"params.yaml": params})
    run = Run(Dag([stage]), stage, [dataset])
    main(run)
    return run


def item_row(name: str = "q1", question: str = "What is shown?", **changes: Any) -> dict[str, Any]:
    """A row of the items table."""
    return {
        "id": name,
        "group": name,
        "question": question,
        "hint": None,
        "options": ["a kite", "a hat"],
        "answers": [1],
        "references": [],
        "images": ["d1"],
        "category": "",
        "kind": "choice",
        "turns": [],
        "source_id": name,
        "flags": [],
        **changes,
    }


def family_of(name: str) -> tuple[str, str | None]:
    """Template and variant: `reform_vqa_likelihood` is the variant `likelihood` of `reform_vqa`."""
    families = [path.stem for path in TEMPLATES.glob("*.yaml")]
    family = max((one for one in families if f"{name}_".startswith(f"{one}_")), key=len, default=name)
    return family, name[len(family) + 1 :] or None


def template_of(name: str) -> Template:
    """The template that the prompts table calls so."""
    return read_template(*family_of(name))


def laid_out(template: Template, hint: str | None, question: str, *options: tuple[str, str]) -> str:
    """What a template makes of a hint, a question and (label, text) of each option."""
    before, after = template.around(hint, question, bool(options))
    lines = template.listed([label for label, _ in options])
    return before + (lines and lines % tuple(text for _, text in options)) + after


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
    schema = prompts_schema(any(one.repeats_options for one in variations))
    found: list[dict[str, Any]] = pa.Table.from_pylist(rows, schema=schema).to_pylist()
    return found
