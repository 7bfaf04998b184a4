"""The defects table: everything cleaning looked for, counted, with examples."""

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.datasets.cleaning.flags.positions import Positions, positions
from vouch.tables.defects import EXAMPLES, KNOWN

BROKEN, UNUSABLE, SKEW = "broken_image", "unusable_entry", "answer_position_skew"


class Findings:
    """Counts flags while items and rejected entries pass by."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._examples: dict[str, list[str]] = defaultdict(list)
        self._answers: list[tuple[int, int]] = []
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
                self._answers.append((count, answers[0]))

    def reject(self, name: str, broken: bool) -> None:
        """Counts an entry that became no item. name: its id, or its place. broken: a picture is why."""
        self._rejected += 1
        self._count(BROKEN if broken else UNUSABLE, name)

    def _count(self, defect: str, name: str) -> None:
        self._counts[defect] += 1
        if len(self._examples[defect]) < EXAMPLES:
            self._examples[defect].append(name)

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the defects table: those that are known in their order, then the source's own flags."""
        own = sorted(self._counts.keys() - KNOWN.keys())
        return [
            self._skew(positions(self._answers)) if name == SKEW else self._row(name)
            for name in (*KNOWN, *own)
        ]

    def _row(self, name: str) -> dict[str, Any]:
        all_of_them = self._items + (self._rejected if name in (BROKEN, UNUSABLE) else 0)
        count = self._counts.get(name, 0)
        return {
            "defect": name,
            "items": count,
            "share": count / all_of_them if all_of_them else 0.0,
            "examples": self._examples.get(name, []),
            "treatment": KNOWN[name].treatment if name in KNOWN else "kept",
            "p_value": None,
            "detail": "" if name in KNOWN else "a flag of the source",
        }

    def _skew(self, found: Positions | None) -> dict[str, Any]:
        row = self._row(SKEW)
        if found is None or found.p_value is None:
            return {**row, "detail": "too few items to tell"}
        count = found.beyond if found.skewed else 0
        detail = (
            f"{found.letter} is the answer of {100 * found.share:.1f} %, by chance {100 * found.even:.1f} %; "
            f"chi-square {found.statistic:.1f} on {found.freedom} degrees of freedom"
        )
        share = count / self._items
        return {**row, "items": count, "share": share, "p_value": found.p_value, "detail": detail}
