"""Three other answers by lot, of the same category first, then of the whole set (Li et al. 2023, A.2, A.6).

So ReForm-Eval made the object tasks of COCO, where the category is the object's super-category, and WikiHow.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from vouch.datasets.options.building import WRONG, Answers, Asked


def built(rows: Sequence[Asked], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Wrong options of each question."""
    every = Answers(asked.answer for asked in rows)
    of_category = defaultdict(list)
    for asked in rows:
        of_category[asked.category].append(asked.answer)
    near = {category: Answers(texts) for category, texts in of_category.items()}
    found: list[Sequence[str]] = []
    for asked in rows:
        wrong = near[asked.category].drawn(asked, WRONG, seed)
        found.append([*wrong, *every.drawn(asked, WRONG - len(wrong), seed, wrong)])
    return found
