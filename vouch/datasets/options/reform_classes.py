"""Three other answers of the whole set, by lot (Li et al. 2023, A.1).

So ReForm-Eval made Flowers102 and Pets37, where answers are classes.
"""

from collections.abc import Sequence
from pathlib import Path

from vouch.datasets.options.building import WRONG, Answers, Asked


def built(rows: Sequence[Asked], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Wrong options of each question."""
    answers = Answers(asked.answer for asked in rows)
    return [answers.drawn(asked, WRONG, seed) for asked in rows]
