"""What compares prompts of the same questions, as rows of the metrics table: one model, one dataset."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from vouch.metrics.calibration.letter_bias import debiased, without_prior
from vouch.metrics.calibration.uncertainty import uncertainty_figures
from vouch.metrics.config import Config
from vouch.metrics.conformal.classes import certainty
from vouch.metrics.conformal.shift import shift_figures
from vouch.metrics.join import Block
from vouch.metrics.protocols import CLEAN, Figure
from vouch.metrics.responses import Array
from vouch.metrics.robustness.certainty import Texts, option_estimates, text_estimates
from vouch.metrics.robustness.image_information import picture_figures
from vouch.metrics.robustness.outputs import gap_figures, preference_figures
from vouch.metrics.robustness.perturbation import original_figures
from vouch.metrics.robustness.predictions import Predictions, PromptIndex
from vouch.metrics.robustness.repeated_prompts import number_figures
from vouch.metrics.robustness.samples import FirstSamples, first_figures, first_samples
from vouch.metrics.robustness.typographic import typographic_figures
from vouch.metrics.tables import ALL, PROTOCOLS
from vouch.metrics.text.texts import TextBlock
from vouch.tables.prompts import LETTERS, ORIGINAL, OUTPUTS, TEXT


class Compared:
    """Takes what was said to one variation after the other, and compares it in the end."""

    def __init__(
        self, prompts: pa.Table, items: pa.Table, config: Config, p_true: Mapping[str, float] | None = None
    ) -> None:
        """prompts, items: tables of the dataset with the columns that the stage reads. p_true: by item."""
        self._index, self._config = PromptIndex(prompts, items), config
        self._predictions: list[Predictions] = []
        self._firsts: list[FirstSamples] = []
        self._certainty: dict[tuple[str, str], Array] = {}
        self._blocks: dict[str, list[Block]] = {}
        self._texts = Texts(config, p_true or {})

    def add(self, outcomes: pa.Table, said: Block | Sequence[str]) -> None:
        """Rows of OUTCOMES of one variation and output, and what they rest on: numbers or texts."""
        if isinstance(said, Block):
            self._blocks.setdefault(said.output, []).append(said)
            predictions = self._index.predictions(outcomes)
            if predictions is not None:
                self._add_certainty(predictions, said)
        else:
            predictions = self._index.predictions(outcomes, said)
        if predictions is not None:
            self._predictions.append(predictions)

    def add_samples(self, outcomes: pa.Table, block: TextBlock, dataset: str) -> None:
        """What was sampled beside the greedy texts of a variation, whose rows of OUTCOMES are given."""
        self._firsts += first_samples(self._index, outcomes, block, dataset, self._config)
        self._texts.add(block, dataset)

    def _add_certainty(self, predictions: Predictions, block: Block) -> None:
        for protocol in PROTOCOLS:
            place = (predictions.output, protocol)
            if place not in self._certainty:
                self._certainty[place] = np.full(len(self._index), np.nan)
            found = certainty(block.responses, predictions.effect, protocol, self._config)
            self._certainty[place][predictions.prompts] = found

    def rows(self, model: str, dataset: str) -> list[dict[str, Any]]:
        """Rows of METRICS in both protocols."""
        place = {"model": model, "dataset": dataset, "category": ALL}
        found = [
            (CLEAN, variation, blocks[0].output, figure)
            for blocks in self._blocks.values()
            for variation, figure in across_variations(blocks, self._config)
        ]
        found += [(CLEAN, ORIGINAL, output, figure) for output, figure in self._estimates()]
        found += [(CLEAN, *figure) for figure in self._attacked()]
        found += [(protocol, *figure) for protocol in PROTOCOLS for figure in self._figures(protocol)]
        return [
            place | {"variation": variation, "output": output, "protocol": protocol} | vars(figure)
            for protocol, variation, output, figure in found
        ]

    def _estimates(self) -> Iterator[tuple[str, Figure]]:
        """(output, figure) of what tells right answers to the original prompts from wrong ones."""
        for output in OUTPUTS:
            parts = {each.variation: each for each in self._predictions if each.output == output}
            plain = parts.get(ORIGINAL)
            blocks = {each.variation: each for each in self._blocks.get(output, ())}
            if plain is None or not (self._texts.known if output == TEXT else ORIGINAL in blocks):
                continue
            estimates = (
                text_estimates(parts, self._texts) if output == TEXT else option_estimates(parts, blocks)
            )
            right = np.where(plain.defective, np.nan, plain.clean_correct)
            for figure in uncertainty_figures(estimates, right, plain.groups, self._config.seed):
                yield output, figure

    def _attacked(self) -> Iterator[tuple[str, str, Figure]]:
        """(variation, output, figure) of typographic attacks."""
        for output in OUTPUTS:
            parts = {each.variation: each for each in self._predictions if each.output == output}
            for variation, figure in typographic_figures(parts, self._index):
                yield variation, output, figure

    def _figures(self, protocol: str) -> Iterator[tuple[str, str, Figure]]:
        by_output: Mapping[str, list[Predictions]] = {
            output: [each for each in self._predictions if each.output == output] for output in OUTPUTS
        }
        unknown = np.full(len(self._index), np.nan)
        for output, predictions in by_output.items():
            # How sure a model is of a text is read from the letters of the same prompt, as in PARC.
            sure = self._certainty.get((LETTERS if output == TEXT else output, protocol), unknown)
            for variation, figure in original_figures(predictions, sure, protocol, self._config.seed):
                yield variation, output, figure
            for each in predictions:
                figures = list(number_figures(each, protocol, self._config.seed))
                if output == TEXT:
                    figures += preference_figures(each, self._index, protocol, self._config.seed)
                yield from ((each.variation, output, figure) for figure in figures)
        yield from gap_figures(self._predictions, protocol)
        for firsts in self._firsts:
            for figure in first_figures(firsts, protocol, self._config.seed):
                yield firsts.predictions.variation, TEXT, figure


def across_variations(blocks: Sequence[Block], config: Config) -> Iterator[tuple[str, Figure]]:
    """(variation, figure) of the clean protocol from all blocks of one output."""
    named = {block.variation: block for block in blocks if len(block.responses)}
    if ORIGINAL in named:
        for variation, block in named.items():
            if variation != ORIGINAL:
                yield from ((variation, figure) for figure in shift_figures(named[ORIGINAL], block, config))
                yield from ((variation, figure) for figure in picture_figures(named[ORIGINAL], block, config))
    yield from (found for found in (debiased(named), without_prior(named, config)) if found)
