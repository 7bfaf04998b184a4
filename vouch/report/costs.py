"""The costs of prompt variations for a model, and the words and heat maps that show them.

`costs` looks up the table of that name; `heat_map` is a table with one number for each model and variation.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from vouch.prompts.draft import IMAGES
from vouch.prompts.variations import at_level, in_words
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.gates import interval_holds
from vouch.report.numbers import columns
from vouch.report.table import MISSING, Cell, Column, Grid, cells
from vouch.tables import WITHOUT_IMAGE

CONTROL = WITHOUT_IMAGE[0]
"""The variation with a grey image in place of every image: its accuracy needs only the text."""
ACCURACY = ("accuracy", "")
CONFIDENCE = ("confidence", "")
SIZE_LAC = ("set_size", "lac")
SIZE_APS = ("set_size", "aps")
FLIPPED = ("flipped", "")
NOT_FLIPPED = ("not_flipped", "")


class Cost(NamedTuple):
    """A measure in a variation and in the original, on the same items.

    low, high: 95 % interval of the difference, None if there are too few items for one. guess: accuracy of
    guessing in the variation, if a flipped answer makes guessing easier or harder (k - 1 of k options are
    then correct); in the original prompts it is 1 minus that.
    """

    value: float
    original: float
    difference: float
    low: float | None
    high: float | None
    items: int
    guess: float | None = None

    @property
    def eased(self) -> float:
        """The gain of accuracy of a model that stays at the same distance from guessing; see eased_by."""
        return eased_by(self.guess, self.original)

    @property
    def net(self) -> "Cost":
        """The cost without that gain."""
        low, high = (None if end is None else end - self.eased for end in (self.low, self.high))
        return self._replace(difference=self.difference - self.eased, low=low, high=high, guess=None)


Costs = dict[tuple[str, str, str, str], Cost]
EVEN = 1e-9
"""Flipping two options does not change the accuracy of guessing, up to rounding."""


@lru_cache(maxsize=64)
def costs(evidence: Evidence, dataset: str) -> Costs:
    """The costs for the main request type of a dataset, by model, variation, metric and score; without an
    interval that does not hold for so few questions (gates.py)."""
    frame = evidence.costs
    frame = frame[(frame["dataset"] == dataset) & (frame["output"] == evidence.outputs(dataset)[0])]
    names = ("model", "variation", "metric", "score", *Cost._fields[:-1])
    rows = zip(*columns(frame, names), strict=True)
    groups, found = evidence.groups(dataset), Costs()
    for model, variation, metric, score, *values in rows:
        of = Cost(*values)
        holds = interval_holds(metric, min(groups, of.items))
        found[model, variation, metric, score] = of if holds else of._replace(low=None, high=None)
    for model, variation, *measure in found:
        if tuple(measure) == NOT_FLIPPED and (cost := found.get((model, variation, *ACCURACY))):
            guess = evidence.number(dataset, model, "random_accuracy", variation=variation)
            if guess and abs(2 * guess.value - 1) > EVEN:
                found[model, variation, *ACCURACY] = cost._replace(guess=guess.value)
    return found


def eased_by(guess: float | None, original: float) -> float:
    """The gain of an accuracy if correct and wrong options change places, at the same distance from guessing.

    The distance is that of `accuracy_calibrated`: a model that only guesses gains what guessing gains, a
    perfect model nothing. guess: accuracy of guessing in the variation; None if answers are not flipped.
    """
    return 0.0 if guess is None else (2 * guess - 1) * min(1.0, (1 - original) / guess)


def changes(found: Costs) -> tuple[str, ...]:
    """Variations in alphabetical order, controls last."""
    return tuple(sorted({key[1] for key in found}, key=lambda name: (is_control(name), name)))


def real_changes(found: Costs) -> tuple[str, ...]:
    """The variations in the same order, but without controls."""
    return tuple(name for name in changes(found) if not is_control(name))


def is_control(variation: str) -> bool:
    """Whether a variation, alone or combined, takes away something that an answer depends on."""
    declarations = [named[0] for part in variation.split("+") if (named := at_level(part))]
    return any(one.control for one in declarations)


def is_original_to(evidence: Evidence, dataset: str, model: str, variation: str) -> bool:
    """Whether a variation asks a model the original prompt again: it changes only images, which a blind
    baseline does not take."""
    named = [at_level(part) for part in variation.split("+")]
    images_only = all(each is not None and set(each[0].parts) == {IMAGES} for each in named)
    return images_only and evidence.is_blind(dataset, model)


def beside_a_guess(cost: Cost) -> str:
    """Accuracy in the variation and in the original prompts, each with chance level; needs a `guess`."""
    assert cost.guess is not None
    return (
        f"{formatting.percent(cost.value)} correct (chance {formatting.percent(cost.guess, 0)}) instead of "
        f"{formatting.percent(cost.original)} (chance {formatting.percent(1 - cost.guess, 0)})"
    )


def variation_cell(variation: str) -> Cell:
    """The long name of a variation, and its code in small print."""
    name = in_words(variation)
    return Cell(name, variation) if name else Cell(variation)


STEPS = (0.03, 0.1, 0.2)
"""Differences of shares at which the colour becomes darker."""


def shade(difference: float) -> str:
    """The colour of a significant loss or gain."""
    return f"{'loss' if difference < 0 else 'gain'}-{1 + sum(abs(difference) >= step for step in STEPS)}"


def shaded(text: str, value: float, difference: float, shown: bool) -> Cell:
    """A cell of a heat map, coloured by a difference if this is shown to differ from zero."""
    return Cell(text, key=value, tone="" if shown else "quiet", shade=shade(difference) if shown else "")


def heat_map(
    name: str,
    caption: str,
    variations: Sequence[str],
    models: Sequence[str],
    cell: Callable[[str, str], tuple[Cell, int] | None],
) -> Grid | None:
    """A row for each variation, a column for each model.

    cell: for a model and a variation, the number and the count of its questions, or None if it was not
    measured. Returns None if no number was.
    """
    rows = []
    for variation in variations:
        measured = [cell(model, variation) for model in models]
        counts = sorted({each[1] for each in measured if each})
        if counts:
            items = Cell("–".join(f"{count:,}" for count in (*counts[:1], *counts[1:][-1:])), key=counts[-1])
            numbers = (each[0] if each else MISSING for each in measured)
            rows.append(cells(variation_cell(variation), items, *numbers))
    columns = (
        Column("Variation"),
        Column("Items", "", True),
        *(Column(model, "", True) for model in models),
    )
    return Grid(name, caption, columns, rows, heat=True) if rows else None
