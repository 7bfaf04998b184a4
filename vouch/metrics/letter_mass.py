"""Letters that nobody said: how much of the first token's probability lies on the option letters.

Scores compare the logits of the letters with each other. Where a model would begin with something else ("So",
"The"), they say which letter it would name if it had to, not what it answers (Wang et al. 2024).

The rule: a model *answers a dataset in another form* if in more than half of the original prompts less than
half of the probability (LOW_MASS) is on letters. Both bounds are majorities, nothing is tuned: below the
first an answer more probably begins otherwise; above the second that holds for most of what is scored. The
model's sets keep their coverage, as those of any score do, but they are about another answer. Claims and
comparisons of models leave it out on this dataset.
"""

import numpy as np

from vouch.metrics.join import Asked
from vouch.metrics.protocols import Figure, mean_figure
from vouch.metrics.responses import Bools
from vouch.tables.responses import LOW_MASS

LETTER_MASS, LOW_MASS_RATE = "letter_mass", "low_mass_rate"
MOSTLY = 0.5
"""Share of the prompts with low letter mass above which a model answers in another form."""


def letter_mass(protocol: str, asked: Asked, rows: Bools) -> list[Figure]:
    """Mean letter mass, and share of prompts where it is low, of the rows [m] where it is known.

    Nothing where it is unknown everywhere, as of released logits. Prompts without an answer count where it is
    known: the most likely tokens that a server tells may hold no letter at all.
    """
    if asked.mass is None:
        return []
    rows = rows & ~np.isnan(asked.mass)
    if not rows.any():
        return []
    mass, groups = asked.mass[rows], asked.groups[rows]
    return [
        mean_figure(LETTER_MASS, mass, groups, protocol),
        mean_figure(LOW_MASS_RATE, mass < LOW_MASS, groups, protocol),
    ]
