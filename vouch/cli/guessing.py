"""Which models are shown to beat guessing: the report's own claims, for `vouch compare`."""

from typing import NamedTuple

from vouch.metrics.config import ScoreConfig
from vouch.pipeline.errors import UserError
from vouch.tables.asked import items_path
from vouch.tables.results import blind_path, outcomes_path


class Guess(NamedTuple):
    """chance: accuracy of a guess. tested: models about which the report may claim something on this dataset;
    none if it is too small. above: those that are shown to beat the guess."""

    chance: float
    tested: tuple[str, ...]
    above: tuple[str, ...]


def guesses(score: ScoreConfig) -> dict[str, Guess]:
    """By dataset, for its main request type and the original prompts; empty if a table of the report's is
    not here. All datasets are read, since their claims are corrected for each other."""
    from vouch.report.claims import above_chance
    from vouch.report.config import Scoring
    from vouch.report.loading import COMPARED, load

    paths = [path for _, path in COMPARED.values()]
    for of in (items_path, outcomes_path, blind_path):
        paths += sorted(of("x").parent.glob(of("*").name))
    shown = score.model_dump(include={"calibration", "splits", "bins", "seed"})
    try:
        evidence = load(paths, Scoring(alpha=score.main_alpha, **shown))
    except (UserError, OSError):
        return {}
    return {
        name: Guess(
            evidence.chance(name),
            () if evidence.is_small(name) else evidence.candidates(name),
            above_chance(evidence, name),
        )
        for name in evidence.datasets
    }
