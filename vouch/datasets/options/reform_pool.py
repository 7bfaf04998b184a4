"""Three other answers to questions of the same category, by lot (Li et al. 2023, A.1, A.2, A.4, A.5).

So ReForm-Eval made TDIUC, ImageNetVC and CLEVR, whose rule for small pools this is too: `Not sure` and
`Unknown` fill the options up.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from vouch.datasets.options.building import WRONG, Answers, Asked
from vouch.datasets.options.choice import key

FILL = ("Not sure", "Unknown")


def built(rows: Sequence[Asked], seed: int, _folder: Path) -> list[Sequence[str]]:
    """Wrong options of each question."""
    of_category = defaultdict(list)
    for asked in rows:
        of_category[asked.category].append(asked.answer)
    pools = {category: Answers(texts) for category, texts in of_category.items()}
    return [_of(asked, pools[asked.category], seed) for asked in rows]


def _of(asked: Asked, pool: Answers, seed: int) -> list[str]:
    wrong = pool.drawn(asked, WRONG, seed)
    taken = {key(asked.answer), *map(key, wrong)}
    return [*wrong, *(text for text in FILL if key(text) not in taken)][:WRONG]
