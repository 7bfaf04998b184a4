"""All comparisons between prompts of the same question, for one model and dataset.

`Compared` collects the answers to one variation after another and yields the figures in the end. In this
file: answers with and without the image, and the uncertainty estimates of the answers to the original prompts
(larger is surer):

variations        entropy of the answers to reworded, blurred, brightened and reordered prompts, negated
                  (Zhang et al. 2024, VL-Uncertainty, arXiv 2411.11919)
festa             divergence from an ideal model, negated: it keeps its answer to prompts of equal meaning and
                  changes it if the prompt flips the correct one (Bhattacharya et al. 2025, arXiv 2509.16648)
semantic_entropy  entropy of the answers in sampled texts, negated (Farquhar et al. 2024, the discrete form)
p_true            the probability that the model gives to its answer being true (Kadavath et al. 2022)
vase              semantic entropy contrasted with samples for a blurred image (Liao et al. 2025, arXiv
                  2503.20504)

Answers are clustered by the option that was read or by equal text after normalisation; a text that cannot be
read is a cluster of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from vouch.metrics.calibration import (
    Bins,
    clean_probabilities,
    equal_slots,
    log_softmax,
    resampled_bins,
    tally,
)
from vouch.metrics.confidence import ece
from vouch.metrics.config import DEFAULT_ANSWER, ScoreConfig
from vouch.metrics.conformal.figures import shift_figures
from vouch.metrics.intervals import about, centred
from vouch.metrics.join import Block
from vouch.metrics.label_free import PER_TEXT
from vouch.metrics.metric import ALL, CLEAN, SHARE, Figure, declare, mean_figure, signed_figure
from vouch.metrics.perturbation import (
    AVERAGED,
    Predictions,
    PromptIndex,
    certainty,
    consistent,
    original_figures,
    typographic_figures,
)
from vouch.metrics.repeated_prompts import (
    FirstSamples,
    debiased,
    first_figures,
    first_samples,
    gap_figures,
    number_figures,
    preference_figures,
    without_prior,
)
from vouch.metrics.responses import Array, Floats, Ints, entropy
from vouch.metrics.tables import PROTOCOLS
from vouch.metrics.text.grading import read_samples, sampled_agreement
from vouch.metrics.text.texts import TextBlock
from vouch.metrics.uncertainty import (
    CONFIDENCE,
    FESTA,
    LEAST_COMPLEMENTARY,
    LEAST_EQUIVALENT,
    AnswerInformation,
    clustered_entropy,
    festa,
    image_information,
    uncertainty_figures,
    vision_amplified_entropy,
)
from vouch.tables import MEANINGS, WITHOUT_IMAGE
from vouch.tables.asked import (
    COMPLEMENT,
    INITIAL,
    KEPT,
    LETTERS,
    ORIGINAL,
    OUTPUTS,
    P_TRUE,
    SWAPPED,
    TEXT,
    VERBALISED,
)

declare(
    "image_gain",
    "Image gain",
    "fall of the log-likelihood of the answer when the image is taken away or changed, nats",
    source="pointwise mutual information, after Park et al. 2026 (VAUQ)",
)
declare(
    "image_information",
    "Image information",
    "rise of the entropy over the options when the image is taken away or changed, nats",
    source="Park et al. 2026 (VAUQ), Image-Information Score",
)
declare(
    "correct_without_image",
    "Still correct",
    "of the correct answers, the share that is correct without the image or with the changed one, too",
    unit=SHARE,
)
declare(
    "ece_corrected",
    "ECE, corrected",
    "of the confidence after what words alone say is divided out",
    better="lower",
    unit=SHARE,
    source="after Park et al. 2026 (VAUQ) and Leng et al. 2024",
)
declare(
    "ece_gain",
    "ECE, change",
    "corrected minus plain confidence on the same answers",
    better="lower",
    source="after Park et al. 2026 (VAUQ)",
)
OTHER_PICTURE = ("vr_b", "vs_e")
"""Variations that blur or exchange the image, at any level."""


class Paired(NamedTuple):
    """Original prompts [n] that another block repeats with another image or none: their rows, the findings on
    them, and whether the answers with and without the image are correct."""

    rows: Ints
    image: AnswerInformation
    confidence: Floats
    right: Floats
    right_without: Floats
    groups: Ints


def paired(plain: Block, other: Block) -> Paired | None:
    """Prompts without defects that both show with equal options in equal order; None if there are none."""
    row_of = {item: row for row, item in enumerate(other.items)}
    pairs = [(row, row_of[item]) for row, item in enumerate(plain.items) if item in row_of]
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


def picture_figures(plain: Block, other: Block, config: ScoreConfig) -> list[Figure]:
    """Figures of a variation that removes or exchanges the image; other variations have none.

    Figures of correctness are given only if the correct answer stays the same.
    """
    if not other.variation.startswith((*WITHOUT_IMAGE, *OTHER_PICTURE)) or "+" in other.variation:
        return []
    pairs = paired(plain, other)
    if pairs is None:
        return []
    figures = [
        signed_figure("image_gain", pairs.image.gain, pairs.groups),
        signed_figure("image_information", pairs.image.information, pairs.groups),
    ]
    if other.effects[0] not in (KEPT, None):
        return figures
    right = pairs.right == 1
    if right.any():
        stays = pairs.right_without[right]
        figures.append(mean_figure("correct_without_image", stays, pairs.groups[right], CLEAN))
    value, draws = _bins(pairs.image.corrected, pairs, config)
    unchanged, of_plain = _bins(pairs.confidence, pairs, config)
    gain, count = value - unchanged, len(pairs.rows)
    figures.append(Figure("", "ece_corrected", value, count, *centred(value, draws)))
    return [*figures, Figure("", "ece_gain", gain, count, *about(gain, draws - of_plain))]


def _bins(confidence: Floats, pairs: Paired, config: ScoreConfig) -> tuple[float, Floats]:
    """ECE and its bootstrap draws; all confidences of the same rows share the draws."""
    slots = equal_slots(confidence, config.bins)
    draws: Bins = resampled_bins(slots, config.bins, confidence, pairs.right, pairs.groups, config.seed)
    return float(ece(tally(slots, config.bins, confidence, pairs.right))), ece(draws)


BLURRED = "vr_b"
Estimates = dict[str, Floats]


def option_estimates(parts: Mapping[str, Predictions], blocks: Mapping[str, Block]) -> Estimates:
    """Estimates [n] for the answers of a block, by name. parts, blocks: by variation, of one output."""
    plain, part = blocks[ORIGINAL], parts[ORIGINAL]
    probabilities = clean_probabilities(plain.responses)
    estimates: Estimates = {
        CONFIDENCE: probabilities.sureness,
        "entropy": -np.asarray(entropy(probabilities.ranked), dtype=np.float64),
        "variations": -variation_entropy(parts, part),
    }
    without_image = next((blocks[name] for name in WITHOUT_IMAGE if name in blocks), None)
    pairs = None if without_image is None else paired(plain, without_image)
    if pairs is not None:
        for name, values in (("vauq", -pairs.image.uncertainty), ("corrected", pairs.image.corrected)):
            estimates[name] = np.full(len(part), np.nan)
            estimates[name][pairs.rows] = values
    return _known(estimates) | festa_estimate(parts, part)


def text_estimates(
    parts: Mapping[str, Predictions],
    plain: TextBlock,
    blurred: TextBlock | None,
    p_true: Mapping[str, float],
    config: ScoreConfig,
    metrics: Sequence[str],
) -> Estimates:
    """Estimates [n] for texts that answer the original prompts. blurred: texts about blurred images, if any.

    p_true: by item. metrics: those of the open questions.
    """
    estimates: Estimates = {
        CONFIDENCE: np.exp(-PER_TEXT["nll_avg"](plain.tokens)),
        "entropy": -PER_TEXT["ent_avg"](plain.tokens),
    }
    if plain.stated is not None:
        estimates[VERBALISED] = plain.stated
    if p_true:
        estimates[P_TRUE] = np.array([p_true.get(item, np.nan) for item in plain.items])
    row_of = {item: row for row, item in enumerate(plain.items)}
    for temperature, samples in sorted(plain.samples.items()):
        rows, answers, _ = read_samples(plain.questions, samples, config, metrics)
        named, count = f"t{temperature:g}", len(plain.texts)
        estimates[f"semantic_entropy_{named}"] = -clustered_entropy(rows, answers, count)
        agreed = sampled_agreement(plain.questions, plain.texts, samples, config, metrics)
        estimates[f"agreement_{named}"] = agreed
        if blurred is not None and temperature in blurred.samples:
            drawn = blurred.samples[temperature]
            others, noisy_answers, _ = read_samples(blurred.questions, drawn, config, metrics)
            where = np.array([row_of.get(blurred.items[row], -1) for row in others], dtype=np.int64)
            noisy = where[where >= 0], noisy_answers[where >= 0]
            estimates[f"vase_{named}"] = -vision_amplified_entropy((rows, answers), noisy, count)
    part = parts[ORIGINAL]
    return _known(estimates | {"variations": -variation_entropy(parts, part)}) | festa_estimate(parts, part)


def equivalent(parts: Mapping[str, Predictions]) -> list[Predictions]:
    """Answers to prompts that ask the same as the original one: reworded, visual and reordered ones."""
    families = set(AVERAGED["reformulation"])
    return [
        part
        for name, part in parts.items()
        if part.effect == KEPT and (name == "option_order" or set(part.family.split("+")) <= families)
    ]


def variation_entropy(parts: Mapping[str, Predictions], plain: Predictions) -> Floats:
    """[n] entropy in nats of the answers to an item's prompts of equal meaning; NaN for fewer than two."""
    asked = [plain, *equivalent(parts)]
    items = np.concatenate([part.items for part in asked])
    answers = np.concatenate([part.answers for part in asked])
    return clustered_entropy(items, answers, int(items.max(initial=0)) + 1)[plain.items]


def _meaning(name: str, temperature: float | None) -> str:
    """The estimate behind a column of MEANINGS; empty if the rows at this temperature have none."""
    if temperature is None:
        return "variations" if name == "variation_entropy" else ""
    return f"semantic_entropy_t{temperature:g}" if name == "semantic_entropy" else ""


def festa_estimate(parts: Mapping[str, Predictions], plain: Predictions) -> Estimates:
    """`festa` [n], negated, NaN for an item that was asked too few prompts; empty if no item was asked any.

    An answer that cannot be read is neither the same nor another one.
    """
    flipped = [part for part in parts.values() if part.effect in (COMPLEMENT, SWAPPED)]
    sides = ((equivalent(parts), LEAST_EQUIVALENT), (flipped, LEAST_COMPLEMENTARY))
    if not any(asked for asked, _ in sides):
        return {}
    shares = (_share(asked, plain, least) for asked, least in sides)
    return {FESTA: -festa(*shares)}


def _share(asked: Sequence[Predictions], plain: Predictions, least: int) -> Floats:
    """[n] share of an item's prompts with the answer that the one to the original demands; NaN for fewer
    prompts than `least`."""
    size = int(plain.items.max(initial=-1)) + 1
    sums, counts = np.zeros(size), np.zeros(size)
    for part in asked:
        values = consistent(part, plain)
        known = ~np.isnan(values)
        sums += np.bincount(part.items[known], values[known], size)
        counts += np.bincount(part.items[known], minlength=size)
    return np.where(counts >= least, sums / np.maximum(counts, 1), np.nan)[plain.items]


def _known(estimates: Estimates) -> Estimates:
    """The estimates without those that are unknown for every answer."""
    return {name: values for name, values in estimates.items() if not np.isnan(values).all()}


class Compared:
    """Collects the answers to one variation after another, and compares them in the end."""

    def __init__(
        self,
        prompts: pa.Table,
        items: pa.Table,
        config: ScoreConfig,
        p_true: Mapping[str, float] | None = None,
    ) -> None:
        """prompts, items: tables of the dataset with the columns that the stage reads. p_true: by item."""
        self._index, self._config, self._p_true = PromptIndex(prompts, items), config, p_true or {}
        self._predictions: dict[str, dict[str, Predictions]] = {output: {} for output in OUTPUTS}
        self._blocks: dict[str, dict[str, Block]] = {}
        self._certainty: dict[tuple[str, str], Array] = {}
        self._firsts: list[FirstSamples] = []
        self._texts: dict[str, TextBlock] = {}
        self._metrics: Sequence[str] = ()
        self._known: dict[str, Estimates] = {}

    def add(self, outcomes: pa.Table, answers: Block | Sequence[str]) -> None:
        """Takes rows of OUTCOMES of one variation and output, and the numbers or texts behind them."""
        if outcomes.num_rows and outcomes["variation"][0].as_py() == INITIAL:
            return
        if isinstance(answers, Block):
            self._blocks.setdefault(answers.output, {})[answers.variation] = answers
            predictions = self._index.predictions(outcomes)
            if predictions is not None:
                self._add_certainty(predictions, answers)
        else:
            predictions = self._index.predictions(outcomes, answers)
        if predictions is not None:
            self._predictions[predictions.output][predictions.variation] = predictions

    def add_samples(self, outcomes: pa.Table, block: TextBlock, dataset: str) -> None:
        """Takes the texts sampled for a variation; `outcomes`: the rows of OUTCOMES of its greedy texts."""
        if block.variation == INITIAL:
            return
        self._firsts += first_samples(self._index, outcomes, block, dataset, self._config)
        self._metrics = self._config.answers.get(dataset, [DEFAULT_ANSWER])
        if block.variation == ORIGINAL or (block.variation.startswith(BLURRED) and block.samples):
            self._texts.setdefault(ORIGINAL if block.variation == ORIGINAL else BLURRED, block)

    def _add_certainty(self, predictions: Predictions, block: Block) -> None:
        for protocol in PROTOCOLS:
            unknown = np.full(len(self._index), np.nan)
            certain = certainty(block.responses, predictions.effect, protocol, self._config)
            self._certainty.setdefault((predictions.output, protocol), unknown)[predictions.prompts] = certain

    def rows(self, model: str, dataset: str) -> list[dict[str, Any]]:
        """Rows of METRICS in both protocols."""
        keys = {"model": model, "dataset": dataset, "category": ALL}
        figures = [
            (CLEAN, variation, output, figure)
            for output, blocks in self._blocks.items()
            for variation, figure in across_variations(blocks, self._config)
        ]
        figures += [(CLEAN, ORIGINAL, output, figure) for output, figure in self._estimates()]
        figures += [
            (CLEAN, variation, output, figure)
            for output, parts in self._predictions.items()
            for variation, figure in typographic_figures(parts, self._index)
        ]
        figures += [(protocol, *figure) for protocol in PROTOCOLS for figure in self._figures(protocol)]
        return [
            keys | {"variation": variation, "output": output, "protocol": protocol} | vars(figure)
            for protocol, variation, output, figure in figures
        ]

    def with_meanings(self, output: str, label_free: pa.Table) -> pa.Table:
        """Rows of LABEL_FREE of an output with the columns MEANINGS, once all variations have been added."""
        estimates = self._estimates_of(output)
        block = self._texts.get(ORIGINAL) if output == TEXT else self._blocks.get(output, {}).get(ORIGINAL)
        if not estimates or block is None:
            return label_free
        row_of = {prompt: row for row, prompt in enumerate(block.prompts)}
        rows = np.array([row_of[prompt] for prompt in label_free["prompt"].to_pylist()], dtype=np.int64)
        temperatures = label_free["temperature"].to_pylist()
        for name in MEANINGS:
            values = np.full(len(rows), np.nan)
            for temperature in dict.fromkeys(temperatures):
                own = np.array([each == temperature for each in temperatures])
                known = estimates.get(_meaning(name, temperature))
                if known is not None:
                    values[own] = 0.0 - known[rows[own]]
            column = pa.array(values, pa.float64(), from_pandas=True)
            label_free = label_free.set_column(label_free.column_names.index(name), name, column)
        return label_free

    def _estimates_of(self, output: str) -> Estimates:
        """Estimates [n] for the answers to the original prompts; none if there are no such answers."""
        if output not in self._known:
            parts, blocks, texts = self._predictions[output], self._blocks.get(output, {}), self._texts
            estimates: Estimates = {}
            if ORIGINAL in parts and output == TEXT and ORIGINAL in texts:
                sides = texts[ORIGINAL], texts.get(BLURRED)
                estimates = text_estimates(parts, *sides, self._p_true, self._config, self._metrics)
            elif ORIGINAL in parts and ORIGINAL in blocks:
                estimates = option_estimates(parts, blocks)
            self._known[output] = estimates
        return self._known[output]

    def _estimates(self) -> Iterator[tuple[str, Figure]]:
        """(output, figure): how well estimates tell right from wrong answers to the original prompts."""
        for output, parts in self._predictions.items():
            if estimates := self._estimates_of(output):
                plain = parts[ORIGINAL]
                correct = np.where(plain.defective, np.nan, plain.clean_correct)
                for figure in uncertainty_figures(estimates, correct, plain.groups, self._config.seed):
                    yield output, figure

    def _figures(self, protocol: str) -> Iterator[tuple[str, str, Figure]]:
        unknown, seed = np.full(len(self._index), np.nan), self._config.seed
        for output, parts in self._predictions.items():
            # How sure a model is of a text is read from the letters of the same prompt, as in PARC.
            sure = self._certainty.get((LETTERS if output == TEXT else output, protocol), unknown)
            for variation, figure in original_figures([*parts.values()], sure, protocol, seed):
                yield variation, output, figure
            for variation, part in parts.items():
                yield from ((variation, output, figure) for figure in number_figures(part, protocol, seed))
                if output == TEXT:
                    preferred = preference_figures(part, self._index, protocol, seed)
                    yield from ((variation, output, figure) for figure in preferred)
        yield from gap_figures(self._predictions, protocol)
        for firsts in self._firsts:
            for figure in first_figures(firsts, protocol, seed):
                yield firsts.predictions.variation, TEXT, figure


def across_variations(blocks: Mapping[str, Block], config: ScoreConfig) -> Iterator[tuple[str, Figure]]:
    """(variation, figure) of the clean protocol; blocks: by variation, of one output."""
    blocks = {variation: block for variation, block in blocks.items() if len(block.responses)}
    for variation, block in blocks.items():
        if ORIGINAL in blocks and variation != ORIGINAL:
            for figures in (shift_figures, picture_figures):
                yield from ((variation, figure) for figure in figures(blocks[ORIGINAL], block, config))
    yield from (figure_of for figure_of in (debiased(blocks), without_prior(blocks, config)) if figure_of)
