"""What several texts sampled for a prompt say: how they differ, and the first of each numbered prompt.

Li et al. 2023 (ReForm-Eval) grade one text for every test of a question, drawn at temperature 0.2 from models
that sample. Figures of greedy texts have an empty score, those of several samples of the same prompt
`tTEMPERATURE`, those of first samples `first_tTEMPERATURE`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from vouch.metrics.config import DEFAULT_ANSWER, Config
from vouch.metrics.protocols import CLEAN, Figure, mean_figure
from vouch.metrics.responses import Ints
from vouch.metrics.robustness.predictions import Predictions, PromptIndex
from vouch.metrics.robustness.repeated_prompts import number_figures
from vouch.metrics.text.grading import SAID, grade_texts
from vouch.metrics.text.texts import Question, TextBlock
from vouch.metrics.text.tokens import Numbers
from vouch.tables.outcomes import OUTCOMES, UNREAD


def sampled_agreement(
    questions: Sequence[Question],
    texts: Sequence[str],
    samples: Sequence[Sequence[str]],
    config: Config,
    names: Sequence[str],
) -> Numbers:
    """[n] share of the samples that give the answer of the greedy text; NaN without samples, or where that
    text was not read.

    Self-consistency as confidence (Wang et al. 2023; Xiong et al. 2024). names: as for `grade_texts`.
    """
    _, greedy, _ = read_samples(questions, [[text] for text in texts], config, names)
    rows, answers, _ = read_samples(questions, samples, config, names)
    same = answers == greedy[rows]
    counts = np.bincount(rows, minlength=len(samples))
    agreed = np.bincount(rows, same, minlength=len(samples))
    read = np.array([answer.startswith("=") for answer in greedy])
    return np.where((counts > 0) & read, agreed / np.maximum(counts, 1), np.nan)


def read_samples(
    questions: Sequence[Question], samples: Sequence[Sequence[str]], config: Config, names: Sequence[str]
) -> tuple[Ints, np.ndarray, Numbers]:
    """Of every sample its row, its answer, `=` before one that was read and `?` before another text, and its
    grade."""
    rows = [row for row, texts in enumerate(samples) for _ in texts]
    texts = [text for said in samples for text in said]
    graded = grade_texts([questions[row] for row in rows], texts, config, names)[0] if texts else []
    answers = [
        f"?{text}" if one.parser in UNREAD else f"={one.answer}"
        for one, text in zip(graded, texts, strict=True)
    ]
    grades = np.array([one.grade for one in graded])
    return np.array(rows, dtype=np.int64), np.array(answers, dtype=object), grades


@dataclass(frozen=True)
class FirstSamples:
    """predictions: what the first samples at a temperature said, n rows. graded: by metric its values [n]."""

    score: str
    predictions: Predictions
    graded: Mapping[str, Numbers]


def first_samples(
    index: PromptIndex, outcomes: pa.Table, block: TextBlock, dataset: str, config: Config
) -> Iterator[FirstSamples]:
    """One for each temperature; none where prompts are not numbered. A prompt without samples has no row.

    outcomes: rows of OUTCOMES of the greedy texts of the block, row by row.
    """
    if not index.numbered(block.prompts):
        return
    names = config.answers.get(dataset, [DEFAULT_ANSWER])
    for temperature, samples in block.samples.items():
        rows = [row for row, drawn in enumerate(samples) if drawn]
        texts = [samples[row][0] for row in rows]
        graded, measured = grade_texts([block.questions[row] for row in rows], texts, config, names)
        grades = np.array([one.grade for one in graded])
        unknown = np.isnan(grades)
        columns = {name: [getattr(one, name) for one in graded] for name in SAID}
        columns["correct"] = pa.array(grades >= 0.5, mask=unknown)
        columns["clean_correct"] = pa.array(grades, mask=unknown | block.defective[rows])
        predictions = index.predictions(_replaced(outcomes.take(rows), columns), texts)
        if predictions is not None:
            yield FirstSamples(f"first_t{temperature:g}", predictions, {"accuracy": grades} | measured)


def first_figures(firsts: FirstSamples, protocol: str, seed: int) -> Iterator[Figure]:
    """Means of the metrics over all prompts, and what is made of their numbers; all with the score."""
    predictions = firsts.predictions
    for metric, values in firsts.graded.items():
        known = ~np.isnan(values)
        if protocol == CLEAN:
            known &= ~predictions.defective
        if known.any():
            yield mean_figure(metric, values[known], predictions.groups[known], protocol, firsts.score)
    for figure in number_figures(predictions, protocol, seed):
        yield replace(figure, score=firsts.score)


def _replaced(outcomes: pa.Table, columns: Mapping[str, object]) -> pa.Table:
    for name, values in columns.items():
        place = OUTCOMES.schema.get_field_index(name)
        field = OUTCOMES.schema.field(name)
        outcomes = outcomes.set_column(place, field, pa.array(values, field.type))
    return outcomes
