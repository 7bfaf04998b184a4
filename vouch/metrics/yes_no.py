"""Questions whose own options are yes and no: precision, recall and F1 of the answer yes.

As POPE defines them (Li et al. 2023), with yes as the positive class. A text that is neither is not yes here;
POPE's own reader takes whatever holds no `no` or `not` for yes.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from vouch.metrics.lists import cells
from vouch.metrics.protocols import Figure, mean_figure
from vouch.metrics.responses import Bools, Ints
from vouch.metrics.text.wording import plain

YES_NO = ("f1", "precision", "recall", "yes_rate")


@dataclass(frozen=True)
class YesNo:
    """Of n prompts: the place of the option yes as shown, and whether it is right."""

    place: Ints
    right: Bools

    def figures(self, protocol: str, predicted: Ints, groups: Ints, rows: Bools) -> list[Figure]:
        """Of the rows [n] that count. predicted [n]: the place that was chosen, -1 where none was."""
        said, right, groups = (predicted == self.place)[rows], self.right[rows], groups[rows]
        found = [mean_figure("yes_rate", said, groups, protocol)]
        parts = {"precision": (said,), "recall": (right,), "f1": (said, right)}
        for metric, among in parts.items():
            # F1 is the share of hits among the answers yes and the right answers yes taken together
            hits = np.concatenate([(said & right)[each] for each in among])
            if len(hits):
                of = np.concatenate([groups[each] for each in among])
                found.append(replace(mean_figure(metric, hits, of, protocol), items=len(said)))
        return found


def yes_no(prompts: pa.Table) -> YesNo | None:
    """None unless each prompt has yes and no as its own options. Needs options, order and answers."""
    row, place, index = cells(prompts["order"])
    own = index >= 0  # others are those that the template added
    if not len(prompts) or (np.bincount(row[own], minlength=len(prompts)) != 2).any():
        return None
    texts, number = np.unique(cells(prompts["options"])[2].astype(str), return_inverse=True)
    said = np.array([plain(text) for text in texts])[number]
    yes = own & (said == "yes")
    once = np.bincount(row[yes], minlength=len(prompts)) == 1
    if not once.all() or not np.isin(said[own], ("yes", "no")).all():
        return None
    of, _, answers = cells(prompts["answers"])
    return YesNo(place[yes], np.bincount(of, answers == place[yes][of], len(prompts)) > 0)
