"""Which models are shown to beat guessing, for `vouch compare`: the report's claims, from the few columns on
which they rest. The report's own evidence is every table as a data frame, which takes seconds."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import pyarrow.compute as pc

from vouch.cli.leaderboard import ACCURACY, Cells, Row, blind_of, groups, main_outputs
from vouch.metrics.blind import chances
from vouch.metrics.metric import CLEAN
from vouch.metrics.unranked import unanswered_places, unranked
from vouch.pipeline.records import intact
from vouch.report.gates import MINIMUM, share_claim, significant
from vouch.tables.asked import ITEMS, ORIGINAL, items_path
from vouch.tables.results import OUTCOMES, outcomes_path


class Guess(NamedTuple):
    """chance: accuracy of a guess. beaten: by model about which the report may claim something, whether it is
    shown to beat the guess; none if the dataset is too small."""

    chance: float
    beaten: Mapping[str, bool]


def guesses(rows: Sequence[Row], numbers: Cells) -> dict[str, Guess]:
    """By dataset whose items and outcomes are here, for its main request type and the original prompts.

    rows: those of LEADERBOARD over all categories, of OF_LINES; of all models and datasets, since claims are
    corrected for each other. numbers: their cells in the clean protocol.
    """
    sizes, blind, apart = groups(numbers), blind_of(numbers), unranked(rows) | unanswered_places(rows)
    main = {
        name: (name, min((line[1] for line in numbers if line[0] == name), key=_plain_first), output)
        for name, output in main_outputs(numbers).items()
        if items_path(name).exists() and outcomes_path(name).exists()
    }
    guess = {name: _chance(*asked) for name, asked in main.items()}
    claims = {
        (name, row["model"]): share_claim(row["value"], row["low"], row["high"], sizes[name], guess[name])
        for row in rows
        if (row["metric"], row["score"], row["protocol"]) == (*ACCURACY, CLEAN) and row["value"] is not None
        if main.get(name := row["dataset"]) == (name, row["variation"], row["output"])
        if (name, row["model"]) not in blind and (row["model"], name, row["output"]) not in apart
    }
    made = significant(claims)
    return {
        name: Guess(
            guess[name],
            {
                model: (name, model) in made and made[name, model].above
                for where, model in claims
                if where == name and sizes[name] >= MINIMUM
            },
        )
        for name in main
    }


def _plain_first(variation: str) -> tuple[bool, str]:
    return variation != ORIGINAL, variation


def _chance(dataset: str, variation: str, output: str) -> float:
    """Accuracy of a guess on the questions that are graded; 0 if no guess answers any."""
    of_item = chances(ITEMS.read(intact(items_path(dataset)), ("id", "options", "answers")))
    asked = OUTCOMES.rows_with(
        *(intact(outcomes_path(dataset)), "variation", [variation]), ("item", "output", "clean_correct")
    )
    parts = [
        part["item"].filter(pc.and_(pc.equal(part["output"], output), pc.is_valid(part["clean_correct"])))
        for part in asked
    ]
    items = {item for part in parts for item in pc.unique(part).to_pylist()}
    return fmean(of_item[item] for item in items) if items else 0.0
