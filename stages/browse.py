"""`python -m stages.browse DATASET`: the item pages of a dataset -> reports/items/DATASET.

A page first loads `index`, which is small even for large datasets, then only the parts that the reader looks
at:

index      numbers of items and prompts, models, variations, and items per file
rows-*     short rows of items, for lists and for search
page-*     items with their prompts and all answers to them
columns    category, flags, and how many models are correct, for all items
model-*    one model, all items: correct or wrong by variation, confidence, size of the set
ids        a hash of each item's id, in their order
sheet-*    thumbnails
"""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from vouch.browse.answers import write_models
from vouch.browse.config import BrowseConfig, config_of
from vouch.browse.items import (
    ROWS,
    ItemTable,
    Sheets,
    briefs,
    item_pages,
    items_a_page,
    of_items,
    read_questions,
    recipes,
    script_text,
    write_script,
)
from vouch.params.start import run_stage
from vouch.pipeline.files import replacing_folder
from vouch.pipeline.run import Run
from vouch.tables.asked import ImageStore, images_path, items_path, prompts_path
from vouch.tables.results import BLIND, blind_path, solved_blind

REPORTS = Path("reports/items")
SUFFIX = ".letters.parquet"


def models_of(inputs: Sequence[Path], dataset: str) -> list[str]:
    """The models that were asked this dataset, sorted by name."""
    names = (path.name.removesuffix(SUFFIX) for path in inputs if path.parent.name == dataset)
    return sorted(name for name in names if "." not in name)


def write_images(folder: Path, dataset: str, config: BrowseConfig) -> Sheets | None:
    """Thumbnails of the original images, then of those of variations; None if no image may be shown."""
    if not config.images:
        return None
    store = ImageStore(images_path(dataset))
    sheets = Sheets(folder, store.read, config.thumbnail, config.budget)
    for original in (True, False):
        sheets.add(recipes(items_path(dataset), prompts_path(dataset), original))
    return sheets


def write_pages(
    folder: Path,
    dataset: str,
    questions: ItemTable,
    size: int,
    count: int,
    sheets: Sheets | None,
    solved: Collection[str],
) -> None:
    """Joins items, prompts and the parts of `count` models, one page at a time. solved: the items solved
    blind."""
    tiles = sheets.tiles if sheets else {}
    joined = item_pages(items_path(dataset), prompts_path(dataset), questions, size, tiles, solved)
    with ExitStack() as stack:
        paths = [folder / f"{number}.part" for number in range(count)]
        parts = [stack.enter_context(path.open(encoding="utf-8")) for path in paths]
        for number, (items, prompts) in enumerate(joined):
            models = ",".join(part.readline().rstrip("\n") for part in parts)
            shown, asked = script_text(items), script_text(prompts)
            page = f'{{"items":{shown},"prompts":{asked},"models":[{models}]}}'
            write_script(folder, dataset, f"page-{number:04d}", page)
    for path in paths:
        path.unlink()


def write(dataset: str, config: BrowseConfig, inputs: Sequence[Path], run: Run | None = None) -> None:
    """Writes reports/items/DATASET in the working directory."""
    questions = read_questions(items_path(dataset), prompts_path(dataset))
    models, solved = models_of(inputs, dataset), solved_blind(BLIND.read(blind_path(dataset)))
    with replacing_folder(REPORTS / dataset) as folder:
        sheets = write_images(folder, dataset, config)
        size = items_a_page(questions, len(models))
        correct, leads = write_models(folder, dataset, models, questions, size)
        write_pages(folder, dataset, questions, size, len(models), sheets, solved)
        for number, rows in enumerate(briefs(items_path(dataset), sheets.tiles if sheets else {})):
            write_script(folder, dataset, f"rows-{number:03d}", script_text(rows))
        columns, ids = of_items(items_path(dataset), solved)
        write_script(folder, dataset, "columns", script_text(columns | correct))
        write_script(folder, dataset, "ids", script_text(ids))
        index = {
            "dataset": dataset,
            "items": questions.items,
            "prompts": len(questions.of),
            "page": size,
            "rows": ROWS,
            "models": models,
            "outputs": leads,
            "variations": questions.variations,
            "images": sheets and {"sheets": sheets.sheets, "left_out": sheets.left_out},
        }
        write_script(folder, dataset, "index", script_text(index))
    if run and sheets:
        run.note("picture_bytes", sheets.bytes)
        run.note("pictures_left_out", sheets.left_out)


def main(run: Run) -> None:
    """Writes the item pages of one dataset."""
    (dataset,) = run.keys
    config = config_of(run.params["browse"], run.params["datasets"][dataset])
    write(dataset, config, run.inputs, run)


if __name__ == "__main__":
    run_stage("browse", main)
