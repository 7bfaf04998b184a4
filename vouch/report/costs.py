"""What variations of the prompt cost a model, and the words and heat maps that show it.

`costs` looks up the table of that name; `in_words` names a variation; `heat_map` is a table with one number
for each model and variation.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from vouch.prompts.variations import at_level
from vouch.report import formatting
from vouch.report.evidence import Evidence, columns
from vouch.report.table import MISSING, Cell, Column, Grid, cells

CONTROL = "blank"
"""Replaces every image by a grey one: its accuracy is what the words alone give."""
ACCURACY = ("accuracy", "")
CONFIDENCE = ("confidence", "")
SIZE_LAC = ("set_size", "lac")
SIZE_APS = ("set_size", "aps")
FLIPPED = ("flipped", "")
NOT_FLIPPED = ("not_flipped", "")


class Cost(NamedTuple):
    """A measure in a variation and in the original, on the same items.

    low, high: 95 % interval of the difference, None where the items are too few for one. guess: accuracy of a
    guess in the variation, only where the answer is flipped and that makes it easier or harder: of k options
    k - 1 are right then, and in the original it is 1 minus that.
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
        """What a model gains that is as far from a guess as in the original; see the function."""
        return eased_by(self.guess, self.original)

    @property
    def net(self) -> "Cost":
        """The same without that gain."""
        low, high = (None if end is None else end - self.eased for end in (self.low, self.high))
        return self._replace(difference=self.difference - self.eased, low=low, high=high, guess=None)


Costs = dict[tuple[str, str, str, str], Cost]
EVEN = 1e-9
"""A guess among two options is right as often when they are flipped, but for rounding."""


def costs(evidence: Evidence, dataset: str) -> Costs:
    """Everything about the first output of a dataset by model, variation, metric and score."""
    frame = evidence.costs
    frame = frame[(frame["dataset"] == dataset) & (frame["output"] == evidence.outputs(dataset)[0])]
    names = ("model", "variation", "metric", "score", *Cost._fields[:-1])
    rows = zip(*columns(frame, names), strict=True)
    found = {
        (model, variation, metric, score): Cost(*cost) for model, variation, metric, score, *cost in rows
    }
    for model, variation, *measure in found:
        if tuple(measure) == NOT_FLIPPED and (cost := found.get((model, variation, *ACCURACY))):
            guess = evidence.number(dataset, model, "random_accuracy", variation=variation)
            if guess and abs(2 * guess.value - 1) > EVEN:
                found[model, variation, *ACCURACY] = cost._replace(guess=guess.value)
    return found


def eased_by(guess: float | None, original: float) -> float:
    """What an accuracy gains where right and wrong options change places, at the same distance to a guess.

    Its distance is the share of what a guess leaves (`accuracy_calibrated`): a guesser gains what a guess
    gains, who is always right gains nothing. guess: in the variation; None where answers are not flipped.
    """
    return 0.0 if guess is None else (2 * guess - 1) * min(1.0, (1 - original) / guess)


def changes(found: Costs) -> tuple[str, ...]:
    """Variations in alphabetical order, controls last."""
    return tuple(sorted({key[1] for key in found}, key=lambda name: (is_control(name), name)))


def real_changes(found: Costs) -> tuple[str, ...]:
    """The same without controls."""
    return tuple(name for name in changes(found) if not is_control(name))


def is_control(variation: str) -> bool:
    """Whether a variation, alone or combined, takes away what an answer rests on."""
    declarations = [named[0] for part in variation.split("+") if (named := at_level(part))]
    return any(one.control for one in declarations)


def meaning(variation: str) -> str:
    """What a variation does, in words if there are any."""
    return in_words(variation) or variation


def beside_a_guess(cost: Cost) -> str:
    """Accuracy in the variation and in the original, each with chance level; only with a `guess`."""
    assert cost.guess is not None
    return (
        f"{formatting.percent(cost.value)} correct, chance {formatting.percent(cost.guess, 0)}; originals "
        f"{formatting.percent(cost.original)}, chance {formatting.percent(1 - cost.guess, 0)}"
    )


def in_words(variation: str) -> str | None:
    """`pictures blurred, level 5`, of a combination all that it does; None where a part has no words."""
    parts = []
    for part in variation.split("+"):
        declaration, level = at_level(part) or (None, None)
        if declaration is None or not declaration.label:
            return None
        strength = f"{level} prompts" if declaration.counts_prompts else f"level {level}"
        parts.append(declaration.label if level is None else f"{declaration.label}, {strength}")
    return " + ".join(parts)


def named(variation: str) -> str:
    """Its long name and its code: `negated question (ls_n)`."""
    said = in_words(variation)
    return f"{said} ({variation})" if said else variation


def variation_cell(variation: str) -> Cell:
    """Its long name, and its code in small print."""
    said = in_words(variation)
    return Cell(said, variation) if said else Cell(variation)


STEPS = (0.03, 0.1, 0.2)
"""Where a colour becomes deeper: a difference of shares."""


def shade(difference: float) -> str:
    """The colour of a loss or a gain that is not chance."""
    return f"{'loss' if difference < 0 else 'gain'}-{1 + sum(abs(difference) >= step for step in STEPS)}"


def heat_map(
    name: str,
    caption: str,
    variations: Sequence[str],
    models: Sequence[str],
    cell: Callable[[str, str], tuple[Cell, int] | None],
) -> Grid | None:
    """A row for each variation, a column for each model.

    cell: of a model and a variation the number and how many questions it rests on; None where it was not
    measured. None where nothing was.
    """
    rows = []
    for variation in variations:
        found = [cell(model, variation) for model in models]
        counts = sorted({each[1] for each in found if each})
        if counts:
            items = Cell("–".join(f"{count:,}" for count in (*counts[:1], *counts[1:][-1:])), key=counts[-1])
            rows.append(
                cells(variation_cell(variation), items, *(each[0] if each else MISSING for each in found))
            )
    columns = (Column("Variation"), Column("Items", "", True), *(Column(model, "", True) for model in models))
    return Grid(name, caption, columns, rows, heat=True) if rows else None
