"""oodcv_vqa: OODCV-VQA (Tu et al. 2023), counting objects in unusual images.

    source: FOLDER      with oodcv-vqa.json, or the archive that has it, and the images (see PLACE)

Kostumov et al. (2024) take the questions whose answer is a number, and add two more digits to the two
options of a question; here the options are the source's own. The digit is the source's `text_answer`;
`answer` goes with its authors' prompt, which asks for A or B.
"""

import re
from collections.abc import Iterator

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected, Unusable, counted
from vouch.datasets.read.files import Row, SourceFiles, Tree, items

PLACE = (
    "put safety_evaluation_benchmark_datasets.zip (dataset PahaII/vllm_safety_evaluation of the hub) and the "
    "images (Google Drive file 1jq43Q0cenISIq7acW0LS-Lqghgy8exsj, as it is or unpacked to images/phase-1 "
    "and images/phase-2) into one folder, and name that as `source`"
)
QUESTIONS = "oodcv-vqa.json"
_LAST = re.compile(r"(\d+)\W*$")
_SITUATIONS = ("weather", "context", "occlusion", "iid", "texture", "shape", "pose")


class Settings(LoaderSettings):
    """answer_type: keep only questions with this type of answer."""

    answer_type: str = "number"


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    if settings.answer_type != "number":
        return None
    return {"items": {2844}, **counted("category", _SITUATIONS, 358, 382, 300, 463, 512, 455, 374)}


def count(source: SourceFiles, name: str, settings: Settings) -> int:
    with Tree(source) as tree:
        return sum(1 for _ in tree.rows(QUESTIONS))


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem | Rejected]:
    """One item per question of the type; ids are their numbers among those, from 0."""
    with Tree(source) as tree:
        kept = [row for row in tree.rows(QUESTIONS) if row.values.get("answer_type") == settings.answer_type]
        numbers = {row.number: number for number, row in enumerate(kept)}
        yield from items(kept, lambda row: _item(row, tree, numbers[row.number]))


def _item(row: Row, tree: Tree, number: int) -> RawItem:
    options = row.texts("options")
    return RawItem(
        id=str(number),
        where=row.where,
        question=row.text("question"),
        options=options,
        answers=[_correct(row, options)],
        images=[tree.read(tree.closest(row.text("image")))],
        category=row.maybe("situation") or "",
        source_id=str(row.number),
    )


def _correct(row: Row, options: list[str]) -> int:
    """The option that ends with the answer's digit, or is the answer."""
    answer = row.text("text_answer").strip().lower()
    fitting = [
        index
        for index, option in enumerate(options)
        if option.strip().lower() == answer or ((end := _LAST.search(option)) and end[1] == answer)
    ]
    if len(fitting) != 1:
        raise Unusable(f"answer {answer!r:.40} fits {len(fitting)} of its options {options!r:.120}")
    return fitting[0]
