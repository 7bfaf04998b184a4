"""Azad et al. 2025, The Art of Saying "Maybe": three conformal scores, 16 models, six benchmarks."""

from functools import partial

from vouch.report.papers.azad import figures
from vouch.report.papers.azad.tables import ACCURACY, COVERAGES, DATASETS, ENTROPY, SIZES, counts, table
from vouch.report.reproduce.entry import Entry, Paper

PAPER = Paper(
    'The Art of Saying "Maybe": conformal uncertainty of vision-language models',
    "Azad et al. 2025 (The Art of Saying Maybe)",
    "The paper prints its tables as pictures, so that only its counts of questions can stand beside ours. "
    "The margin score (MS) is no part of the faithful protocol; figures that show it are of the clean one.",
    (
        Entry("Table 1", "Accuracy by dataset.", partial(table, "accuracy (%)", (ACCURACY,))),
        Entry("Table 2", "Set size by dataset and score.", partial(table, "set size by score", SIZES)),
        Entry(
            "Table 3",
            "Coverage by dataset and score; the aim is 90 %.",
            partial(table, "coverage by score (%)", COVERAGES),
        ),
        Entry(
            "Table 4",
            "Mean entropy of the probabilities of the options, nats.",
            partial(table, "entropy, nats", (ENTROPY,)),
        ),
        Entry("Table 7", "How many questions there are.", counts),
        Entry("Figure 1", "Accuracy against set size.", figures.accuracy_and_size),
        Entry("Figure 2", "How set sizes spread, by score.", figures.spread),
        Entry("Figure 3", "Size of the model, accuracy and set size.", figures.by_size),
        Entry(
            "Figure 4",
            "Set size by model and score.",
            partial(figures.by_score, "set size by model and score, clean protocol", SIZES, False),
        ),
        Entry(
            "Figure 5",
            "Coverage by dataset, model and score.",
            partial(figures.by_score, "coverage by dataset and model, clean protocol", COVERAGES, True),
        ),
        Entry("Figure 6", "Accuracy, coverage and set size of families.", figures.families),
        Entry("Figure 7", "The same of every model.", figures.everyone),
        Entry("Figure 8", "How size, accuracy, set size and coverage go together.", figures.correlations),
        Entry("Figure 9", "At which letter the right answers stand.", figures.letters),
    ),
    DATASETS,
)
