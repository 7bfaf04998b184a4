"""What becomes of answers without the picture: the same prompts with it and without it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vouch.metrics.calibration.bins import Bins, equal_slots, resampled_bins, tally
from vouch.metrics.calibration.certainty import ImageInformation, image_information
from vouch.metrics.calibration.metrics import ece
from vouch.metrics.calibration.probabilities import clean_probabilities, log_softmax
from vouch.metrics.config import Config
from vouch.metrics.intervals import about, centred, signed_interval
from vouch.metrics.join import Block
from vouch.metrics.protocols import CLEAN, Figure, mean_figure
from vouch.metrics.responses import Floats, Ints
from vouch.tables.prompts import KEPT

WITHOUT = ("blank", "text_only")
"""Variations without a picture, the first that was asked counts."""
OTHER_PICTURE = ("vr_b", "vs_e")
"""Blurred and exchanged pictures, of any level."""


class Paired(NamedTuple):
    """Original prompts [n] that another block shows alike but for the picture: their rows, what was found of
    them, and whether the answers with and without the picture are right."""

    rows: Ints
    found: ImageInformation
    confidence: Floats
    right: Floats
    right_without: Floats
    groups: Ints


def paired(plain: Block, other: Block) -> Paired | None:
    """Prompts without defects that both show with the same options in the same order; None without any."""
    places = {item: row for row, item in enumerate(other.items)}
    pairs = [(row, places[item]) for row, item in enumerate(plain.items) if item in places]
    width = min(plain.responses.roles.shape[1], other.responses.roles.shape[1])
    rows, others = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    same = plain.responses.options[rows] == other.responses.options[others]
    same &= ~plain.responses.defective[rows]
    shown = np.arange(width) < plain.responses.options[rows][:, None]
    alike = plain.responses.roles[rows, :width] == other.responses.roles[others, :width]
    same &= (alike | ~shown).all(axis=1)
    rows, others = rows[same], others[same]
    if not len(rows):
        return None
    with_it = clean_probabilities(plain.responses.take(rows))
    without = clean_probabilities(other.responses.take(others))
    return Paired(
        rows,
        image_information(log_softmax(with_it.logits)[:, :width], log_softmax(without.logits)[:, :width]),
        np.asarray(with_it.confidence, dtype=np.float64),
        np.asarray(with_it.correct, dtype=np.float64),
        np.asarray(without.correct, dtype=np.float64),
        plain.responses.groups[rows],
    )


def picture_figures(plain: Block, other: Block, config: Config) -> list[Figure]:
    """Figures of a variation that takes the picture away or shows another one; nothing of all others.

    image_gain, image_information  mean of each
    right_without_picture          of what is right with the picture, the share that stays right
    ece_corrected, ece_gain        of `corrected`, and minus that of the plain confidence, paired
    The last three only where the right answer stays.
    """
    if not other.variation.startswith((*WITHOUT, *OTHER_PICTURE)) or "+" in other.variation:
        return []
    found = paired(plain, other)
    if found is None:
        return []
    figures = [
        _signed("image_gain", found.found.gain, found.groups),
        _signed("image_information", found.found.information, found.groups),
    ]
    if other.effects[0] not in (KEPT, None):
        return figures
    right = found.right == 1
    if right.any():
        figures.append(
            mean_figure("right_without_picture", found.right_without[right], found.groups[right], CLEAN)
        )
    value, draws = _bins(found.found.corrected, found, config)
    unchanged, of_plain = _bins(found.confidence, found, config)
    count = len(found.rows)
    figures.append(Figure("", "ece_corrected", value, count, *centred(value, draws)))
    return [
        *figures,
        Figure("", "ece_gain", value - unchanged, count, *about(value - unchanged, draws - of_plain)),
    ]


def _signed(metric: str, values: Floats, groups: Ints) -> Figure:
    return Figure("", metric, float(values.mean()), len(values), *signed_interval(values, groups))


def _bins(confidence: Floats, found: Paired, config: Config) -> tuple[float, Floats]:
    """ECE and its draws; the same draws for all confidences of the same rows."""
    slots = equal_slots(confidence, config.bins)
    draws: Bins = resampled_bins(slots, config.bins, confidence, found.right, found.groups, config.seed)
    return float(ece(tally(slots, config.bins, confidence, found.right))), ece(draws)


def without_picture(blocks: Mapping[str, Block]) -> Block | None:
    """The answers without a picture, where they were asked."""
    return next((blocks[name] for name in WITHOUT if name in blocks), None)
