"""vary: `python -m stages.vary NAME` writes every prompt of one dataset.

Inputs   data/items/NAME.parquet, data/rewrites/NAME.parquet, decisions/exchange/NAME.csv, the dataset's
         style, stages/styles/STYLE.yaml
Output   data/prompts/NAME.parquet, items in their order, for each the variations in theirs
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from stages.contracts.decisions import are_there
from stages.contracts.items import ITEMS, items_path
from stages.contracts.prompts import PROMPTS, TEXT, prompts_path
from stages.contracts.rewrites import REWRITES, rewrites_path
from stages.runtime.errors import UserError
from stages.runtime.stage import Run, run_stage
from stages.vary.combination import Variation, load_variation
from stages.vary.config import Config, config_of
from stages.vary.exchange import Exchanges, comparable
from stages.vary.exchange_decisions import check_known, decisions_path, read_decisions
from stages.vary.items import COLUMNS, Making
from stages.vary.prompt import Words, prompt_row
from stages.vary.rewrites import Rewrites
from stages.vary.style import Style, parse_style
from stages.vary.variation import Item, start
from stages.yaml12 import load

STYLES = Path("stages/styles")


def read_style(name: str) -> Style:
    """The style of that name. Raises UserError."""
    path = STYLES / f"{name}.yaml"
    return parse_style(load(path), str(path))


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


def _cap(style: Style, source: Path) -> int | None:
    """Most tokens of a generated text; 0 where no reference says how many."""
    if isinstance(style.max_tokens, str):
        return upper_quartile(reference_words(source))
    return style.max_tokens


def item_rows(
    item: Item,
    variations: Sequence[Variation],
    style: Style,
    name: str,
    cap: int | None,
    before: dict[str, Sequence[str]],
) -> Iterator[dict[str, Any]]:
    """Every prompt of an item, in the order of the variations. Raises UserError.

    before: what each prompt of the same group so far asks for, which grows; `earlier` may name only
    these, and no id may come twice. cap: 0 where a style caps texts by references and there are none.
    """
    known: Words = {}
    first = start(item, style, "")
    for variation in variations:
        answers = variation.answers(item)
        if answers is None:
            continue
        drafts, numbered = variation.of(first)
        for number, draft in enumerate(drafts, start=1):
            row = prompt_row(draft, variation, answers, name, cap, known, number if numbered else None)
            problem = _problem(row, before, name)
            if problem:
                raise UserError(f"prompt {row['id']}: {problem}")
            before[row["id"]] = row["asks"]
            yield row


def _problem(row: Mapping[str, Any], before: Mapping[str, Sequence[str]], style: str) -> str:
    """What keeps a row out of the table, or nothing."""
    if row["id"] in before:
        return f"stands twice; {_code(row)}"
    for prompt in (prompt for prompts in row["earlier"] for prompt in prompts or [""]):
        if prompt not in before:
            return f"an answer comes from {prompt!r}, no earlier prompt of this group; {_code(row)}"
        if TEXT not in before[prompt]:
            file = STYLES / f"{style}.yaml"
            return f"repeats the answer to {prompt}, which asks for no {TEXT}; add it to `asks` of {file}"
    if row["max_tokens"] == 0:
        file = STYLES / f"{style}.yaml"
        return f"no item has a reference to cap its text by; give {file} a number for max_tokens"
    return ""


def _code(row: Mapping[str, Any]) -> str:
    return f"correct variation {row['variation']} in stages/vary/variations"


def keeping(config: Config, style: Style) -> Callable[[Item], bool]:
    """Which items are asked at all."""
    if config.rows == "all":
        return lambda _: True
    vs_e = load_variation("vs_e")
    return lambda item: vs_e.answers(item) is not None and bool(vs_e.drafts(item, style)[0])


def main(run: Run) -> None:
    """Writes the prompts."""
    (name,) = run.keys
    config = config_of(run.params["datasets"][name], run.params["variations"])
    style = read_style(config.style)
    variations = [load_variation(variation) for variation in config.variations]
    source = items_path(name)
    total = ITEMS.open(source).metadata.num_rows
    rewrites = Rewrites(REWRITES.read(rewrites_path(name)).to_pylist())
    making = Making(rewrites, read_exchanges(name, source), keeping(config, style))
    cap = _cap(style, source)
    gc.freeze()  # what is loaded by now need not be gone through again and again while rows come and go
    with PROMPTS.writer(prompts_path(name)) as prompts:
        group, before, kept = None, dict[str, Sequence[str]](), 0
        for item in run.progress(read_items(source, making), total=total, label=f"vary {name}"):
            if item.group != group:
                group, before = item.group, {}
            if not item.kept:
                continue
            kept += 1
            try:
                for row in item_rows(item, variations, style, config.style, cap, before):
                    prompts.row(row)
            except UserError as error:
                raise UserError(f"{source}: {error}") from None
        if not kept and config.rows != "all":
            raise UserError(
                f"{source}: no item has a picture to exchange, so datasets.{name}.rows: {config.rows} leaves "
                f"none; say which pictures win (`vouch exchange {name}`), or write rows: all"
            )
    gc.unfreeze()
    run.note("items", kept)
    run.note("left_out", total - kept)
    run.note("prompts", prompts.count)


if __name__ == "__main__":
    run_stage("vary", main)
