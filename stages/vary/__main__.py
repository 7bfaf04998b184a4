"""vary: `python -m stages.vary NAME` writes every prompt of one dataset.

Inputs   data/items/NAME.parquet, data/rewrites/NAME.parquet, the dataset's style, stages/styles/STYLE.yaml
Output   data/prompts/NAME.parquet, items in their order, for each the variations in theirs
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from stages.contracts.items import ITEMS, items_path
from stages.contracts.prompts import PROMPTS, TEXT, prompts_path
from stages.contracts.rewrites import REWRITES, rewrites_path
from stages.runtime.errors import UserError
from stages.runtime.stage import Run, run_stage
from stages.vary.combination import Variation, load_variation
from stages.vary.config import Config
from stages.vary.prompt import prompt_row
from stages.vary.rewrites import Rewrites
from stages.vary.style import Style, parse_style
from stages.vary.variation import Item
from stages.yaml12 import load

STYLES = Path("stages/styles")
_LISTS = ("options", "answers", "images", "references", "exchange", "phrasings")
_COLUMNS = ["id", "group", "question", "hint", "kind", *_LISTS, "turns"]


def read_style(name: str) -> Style:
    """The style of that name. Raises UserError."""
    path = STYLES / f"{name}.yaml"
    return parse_style(load(path), str(path))


def read_items(path: Path, rewrites: Rewrites) -> Iterator[Item]:
    """Items in their order, a group at a time, without those that people dropped. Raises UserError, see
    `_group`."""
    found = (
        row
        for batch in ITEMS.open(path).iter_batches(columns=_COLUMNS, use_threads=False)
        for row in batch.to_pylist()
    )
    rows = ({**row, "place": place} for place, row in enumerate(found))
    for _, group in groupby(rows, key=lambda row: row["group"]):
        yield from _group(list(group), path, rewrites)


def _group(rows: Sequence[Mapping[str, Any]], path: Path, rewrites: Rewrites) -> list[Item]:
    """Items of one group that stand together; each knows those before it in its conversation."""
    followed = {turn for row in rows for turn in row["turns"] or ()}
    items: dict[str, Item] = {}
    dropped = set[str]()
    for row in rows:
        gone = next((turn for turn in row["turns"] or () if turn not in items), None)
        if gone is not None:
            raise UserError(
                f"{path}: item {row['id']} follows {gone}, which is no item of its group right before it; "
                "correct the dataset's loader: a conversation is one group, its turns in a row"
            )
        lists = {name: tuple(row[name] or ()) for name in _LISTS}
        turns = tuple(items[turn] for turn in row["turns"] or ())
        question = rewrites.question(row["question"])
        if question is None:
            dropped.add(row["id"])
            question = row["question"]
        items[row["id"]] = Item(
            **{**row, **lists, "question": question, "turns": turns},
            goes_on=row["id"] in followed,
            rewrites=rewrites.others(question),
        )
    return [item for name, item in items.items() if name not in dropped]


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
    for variation in variations:
        answers = variation.answers(item)
        if answers is None:
            continue
        drafts, numbered = variation.drafts(item, style)
        for number, draft in enumerate(drafts, start=1):
            row = prompt_row(draft, variation, answers, name, cap, number if numbered else None)
            problem = _problem(row, before, STYLES / f"{name}.yaml")
            if problem:
                raise UserError(f"prompt {row['id']}: {problem}")
            before[row["id"]] = row["asks"]
            yield row


def _problem(row: Mapping[str, Any], before: Mapping[str, Sequence[str]], style: Path) -> str:
    """What keeps a row out of the table, or nothing."""
    code = f"correct variation {row['variation']} in stages/vary/variations"
    if row["id"] in before:
        return f"stands twice; {code}"
    for prompt in (prompt for prompts in row["earlier"] for prompt in prompts or [""]):
        if prompt not in before:
            return f"an answer comes from {prompt!r}, no earlier prompt of this group; {code}"
        if TEXT not in before[prompt]:
            return f"repeats the answer to {prompt}, which asks for no {TEXT}; add it to `asks` of {style}"
    if row["max_tokens"] == 0:
        return f"no item has a reference to cap its text by; give {style} a number for max_tokens"
    return ""


def main(run: Run) -> None:
    """Writes the prompts."""
    (name,) = run.keys
    config = Config(style=run.params["datasets"][name]["style"], variations=run.params["variations"])
    style = read_style(config.style)
    variations = [load_variation(variation) for variation in config.variations]
    source = items_path(name)
    total = ITEMS.open(source).metadata.num_rows
    rewrites = Rewrites(REWRITES.read(rewrites_path(name)).to_pylist())
    cap = _cap(style, source)
    with PROMPTS.writer(prompts_path(name)) as prompts:
        group, before = None, dict[str, Sequence[str]]()
        for item in run.progress(read_items(source, rewrites), total=total, label=f"vary {name}"):
            if item.group != group:
                group, before = item.group, {}
            try:
                for row in item_rows(item, variations, style, config.style, cap, before):
                    prompts.row(row)
            except UserError as error:
                raise UserError(f"{source}: {error}") from None
    run.note("prompts", prompts.count)


if __name__ == "__main__":
    run_stage("vary", main)
