"""Which of a stage's inputs hold which table."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from vouch.pipeline.errors import UserError
from vouch.tables.compared import (
    DIFFERENCES_PATH,
    DIMENSIONS_PATH,
    LEADERBOARD_PATH,
    REPRODUCED_PATH,
    VARIATIONS_PATH,
)
from vouch.tables.defects import defects_path, rejects_path
from vouch.tables.distances import DISTANCES_PATH, TRENDS_PATH
from vouch.tables.items import items_path
from vouch.tables.outcomes import outcomes_path
from vouch.tables.rankings import RANKED_PATH, RANKINGS_PATH
from vouch.tables.responses import letters_path
from vouch.tables.rewrites import rewrites_path

PRINTED = Path("docs/published")
"""Figures that papers printed."""
COMPARED = (
    *(LEADERBOARD_PATH, DIFFERENCES_PATH, REPRODUCED_PATH, VARIATIONS_PATH),
    *(RANKINGS_PATH, RANKED_PATH, DIMENSIONS_PATH, DISTANCES_PATH, TRENDS_PATH),
)


@dataclass(frozen=True)
class Sources:
    """Paths of the data files; those of which there are several in alphabetical order."""

    leaderboard: Path
    differences: Path
    reproduced: Path
    variations: Path
    rankings: Path
    ranked: Path
    dimensions: Path
    distances: Path
    trends: Path
    outcomes: tuple[Path, ...]
    items: tuple[Path, ...]
    rejects: tuple[Path, ...]
    defects: tuple[Path, ...]
    rewrites: tuple[Path, ...]
    printed: tuple[Path, ...]
    responses: tuple[Path, ...]

    @property
    def every(self) -> tuple[Path, ...]:
        """All of them."""
        found = (getattr(self, field.name) for field in fields(self))
        return tuple(path for each in found for path in ([each] if isinstance(each, Path) else each))


def sources(inputs: Sequence[Path]) -> Sources:
    """Sorts declared inputs by what they hold; code and what is not read are passed over.

    Raises UserError where a table of `compare` is not among them.
    """
    known = set(inputs)
    for path in COMPARED:
        if path not in known:
            raise UserError(
                f"{path}: not among the inputs of report; declare it in dvc.yaml and run `dvc repro`"
            )
    suffix, responses = outcomes_path("").name, letters_path("", "").parent
    return Sources(
        *COMPARED,
        tuple(p for p in sorted(known) if p == outcomes_path(p.name.removesuffix(suffix))),
        tuple(p for p in sorted(known) if p == items_path(p.stem)),
        tuple(p for p in sorted(known) if p == rejects_path(p.stem)),
        tuple(p for p in sorted(known) if p == defects_path(p.stem)),
        tuple(p for p in sorted(known) if p == rewrites_path(p.stem)),
        tuple(p for p in sorted(known) if p.parent == PRINTED and p.suffix == ".csv"),
        tuple(p for p in sorted(known) if p.parent.parent == responses),
    )
