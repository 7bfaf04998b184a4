"""The defects table: everything cleaning looked for, counted, with examples."""

from collections import Counter, defaultdict
from string import ascii_uppercase
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.tables.defects import EXAMPLES, KNOWN

BROKEN, UNUSABLE, SKEW = "broken_image", "unusable_entry", "answer_position_skew"
LEVEL = 0.001
"""Skew is reported where its p-value is below this: datasets are many, and large ones show any trifle."""
LEAST = 5
"""Least expected number in a cell for the statistic to follow its distribution."""


class Findings:
    """Counts flags while items and rejected entries pass by."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._examples: dict[str, list[str]] = defaultdict(list)
        self._answers: dict[int, Counter[int]] = defaultdict(Counter)
        self._items = self._rejected = 0

    def items(self, table: pa.Table) -> None:
        """Counts the flags and the answers' places of rows of the items table."""
        self._items += table.num_rows
        columns = (table[name].to_pylist() for name in ("id", "flags", "answers"))
        options = pc.list_value_length(table["options"]).to_pylist()
        for name, flags, answers, count in zip(*columns, options, strict=True):
            for flag in flags:
                self._count(flag, name)
            if len(answers) == 1:
                self._answers[count][answers[0]] += 1

    def reject(self, name: str, broken: bool) -> None:
        """Counts an entry that became no item. name: its id, or its place. broken: a picture is why."""
        self._rejected += 1
        self._count(BROKEN if broken else UNUSABLE, name)

    def _count(self, defect: str, name: str) -> None:
        self._counts[defect] += 1
        if len(self._examples[defect]) < EXAMPLES:
            self._examples[defect].append(name)

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the defects table, in the order of KNOWN."""
        return [self._row(name) | (self._skew() if name == SKEW else {}) for name in KNOWN]

    def _row(self, name: str) -> dict[str, Any]:
        all_of_them = self._items + (self._rejected if name in (BROKEN, UNUSABLE) else 0)
        count = self._counts.get(name, 0)
        return {
            "defect": name,
            "items": count,
            "share": count / all_of_them if all_of_them else 0.0,
            "examples": self._examples.get(name, []),
            "treatment": KNOWN[name].treatment,
            "p_value": None,
            "detail": "",
        }

    def _skew(self) -> dict[str, Any]:
        """Whether correct answers stand at some letter more often than chance allows: what its row says.

        Items with k options are one multinomial each k; Pearson's statistics and degrees of freedom add up.
        Items count alone, so rotated copies, which even out the letters by design, can only hide a skew.
        """
        seen, expected = Counter[int](), defaultdict[int, float](float)
        statistic, freedom = 0.0, 0
        for options, counts in sorted(self._answers.items()):
            even = counts.total() / options
            for place in range(options):
                seen[place] += counts[place]
                expected[place] += even
            if even >= LEAST and options > 1:
                statistic += sum((counts[place] - even) ** 2 / even for place in range(options))
                freedom += options - 1
        if not freedom:
            return {"detail": "too few items to tell"}
        from scipy.special import chdtrc  # loading it takes as long as a small dataset

        n = seen.total()
        top = max(sorted(seen), key=lambda place: seen[place] - expected[place])
        share, even = seen[top] / n, expected[top] / n
        p_value = float(chdtrc(freedom, statistic))
        beyond = max(0, round(n * (share - even))) if p_value < LEVEL else 0
        detail = (
            f"{ascii_uppercase[top]} is the answer of {100 * share:.1f} %, by chance {100 * even:.1f} %; "
            f"chi-square {statistic:.1f} on {freedom} degrees of freedom"
        )
        return {"items": beyond, "share": beyond / self._items, "p_value": p_value, "detail": detail}
