"""Uncertainty estimates of the answers to the original prompts, for uncertainty_figures: larger is surer.

variations        answers to reworded, blurred, brightened and reordered prompts agree: minus the entropy of
                  their clusters (Zhang et al. 2024, VL-Uncertainty, arXiv 2411.11919)
semantic_entropy  sampled texts agree, likewise (Farquhar et al. 2024, the discrete form)
p_true            the model, asked whether its answer is true, says so (Kadavath et al. 2022)
vase              the same, with what a blurred picture gives taken off (Liao et al. 2025, arXiv 2503.20504)

Clusters are the options that were read, or equal texts after normalisation; a text that cannot be read is one
of its own.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from vouch.metrics.calibration.certainty import clustered_entropy, vision_amplified_entropy
from vouch.metrics.calibration.probabilities import clean_probabilities, entropy
from vouch.metrics.calibration.uncertainty import CONFIDENCE
from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.join import Block
from vouch.metrics.ranking.scores import PER_TEXT
from vouch.metrics.responses import Floats
from vouch.metrics.robustness.image_information import paired, without_picture
from vouch.metrics.robustness.predictions import Predictions
from vouch.metrics.robustness.samples import read_samples, sampled_agreement
from vouch.metrics.text.stated import VERBALISED
from vouch.metrics.text.texts import TextBlock
from vouch.tables.prompts import KEPT, ORIGINAL, P_TRUE

SAME_QUESTION = ("LR", "VR")
"""Families whose prompts ask the same; `option_order` does, too."""
BLURRED = "vr_b"
Estimates = dict[str, Floats]


def option_estimates(parts: Mapping[str, Predictions], blocks: Mapping[str, Block]) -> Estimates:
    """[n] of the answers of a block, by name. parts, blocks: by variation, of one output."""
    plain, part = blocks[ORIGINAL], parts[ORIGINAL]
    probabilities = clean_probabilities(plain.responses)
    found: Estimates = {
        CONFIDENCE: probabilities.sureness,
        "entropy": -np.asarray(entropy(probabilities.ranked), dtype=np.float64),
        "variations": -variation_entropy(parts, part),
    }
    blind = without_picture(blocks)
    pairs = None if blind is None else paired(plain, blind)
    if pairs is not None:
        for name, values in (("vauq", -pairs.found.uncertainty), ("corrected", pairs.found.corrected)):
            found[name] = np.full(len(part), np.nan)
            found[name][pairs.rows] = values
    return _known(found)


class Texts:
    """Texts to the original prompts and to blurred ones, whose samples are compared."""

    def __init__(self, config: Config, p_true: Mapping[str, float]) -> None:
        self._config, self._p_true = config, p_true
        self._names: Sequence[str] = ()
        self._blocks: dict[str, TextBlock] = {}

    def add(self, block: TextBlock, dataset: str) -> None:
        """Keeps those of one variation that is used."""
        self._names = self._config.answers.get(dataset, [DEFAULT_ANSWER])
        if block.variation == ORIGINAL or (block.variation.startswith(BLURRED) and block.samples):
            self._blocks.setdefault(ORIGINAL if block.variation == ORIGINAL else BLURRED, block)

    @property
    def known(self) -> bool:
        """Whether there are texts to the original prompts."""
        return ORIGINAL in self._blocks

    def estimates(self) -> Estimates:
        """[n] of the texts to the original prompts, by name."""
        plain = self._blocks[ORIGINAL]
        found: Estimates = {
            CONFIDENCE: np.exp(-PER_TEXT["nll_avg"](plain.tokens)),
            "entropy": -PER_TEXT["ent_avg"](plain.tokens),
        }
        if plain.stated is not None:
            found[VERBALISED] = plain.stated
        if self._p_true:
            found[P_TRUE] = np.array([self._p_true.get(item, np.nan) for item in plain.items])
        for temperature, samples in sorted(plain.samples.items()):
            rows, answers, _ = read_samples(plain.questions, samples, self._config, self._names)
            named = f"t{temperature:g}"
            found[f"semantic_entropy_{named}"] = -clustered_entropy(rows, answers, len(plain.texts))
            found[f"agreement_{named}"] = sampled_agreement(
                plain.questions, plain.texts, samples, self._config, self._names
            )
            noisy = self._blocks.get(BLURRED)
            if noisy is not None and temperature in noisy.samples:
                drawn = noisy.samples[temperature]
                others, said, _ = read_samples(noisy.questions, drawn, self._config, self._names)
                place = {item: row for row, item in enumerate(plain.items)}
                where = np.array([place.get(noisy.items[row], -1) for row in others], dtype=np.int64)
                found[f"vase_{named}"] = -vision_amplified_entropy(
                    (rows, answers), (where[where >= 0], said[where >= 0]), len(plain.texts)
                )
        return found


def text_estimates(parts: Mapping[str, Predictions], texts: Texts) -> Estimates:
    """The same of generated texts."""
    return _known(texts.estimates() | {"variations": -variation_entropy(parts, parts[ORIGINAL])})


def variation_entropy(parts: Mapping[str, Predictions], plain: Predictions) -> Floats:
    """[n] of the answers to the prompts of an item that ask the same, nats; NaN with fewer than two."""
    asked = [part for name, part in parts.items() if _asks_the_same(name, part)]
    items = np.concatenate([part.items for part in asked])
    answers = np.concatenate([part.answers for part in asked])
    return clustered_entropy(items, answers, int(items.max(initial=0)) + 1)[plain.items]


def _asks_the_same(name: str, part: Predictions) -> bool:
    families = part.family.split("+")
    return part.effect == KEPT and (name in (ORIGINAL, "option_order") or set(families) <= set(SAME_QUESTION))


def _known(estimates: Estimates) -> Estimates:
    """Without those of which nothing is known."""
    return {name: values for name, values in estimates.items() if not np.isnan(values).all()}
