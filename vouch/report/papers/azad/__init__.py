"""Azad et al. 2025, The Art of Saying "Maybe": three conformal scores, 16 models, six benchmarks."""

from functools import partial

from vouch.report.papers.azad.figures import (
    accuracy_and_size,
    by_score,
    by_size,
    correlations,
    everyone,
    families,
    letters,
    spread,
)
from vouch.report.papers.azad.measures import ACCURACY, COVERAGES, SIZES
from vouch.report.papers.azad.tables import counts, table
from vouch.report.reproduce.entry import Entry, Paper
from vouch.report.reproduce.lookup import Measure

PAPER = Paper(
    'The Art of Saying "Maybe": conformal uncertainty of vision-language models',
    "Azad et al. 2025 (The Art of Saying Maybe)",
    "The paper prints its tables as pictures, so that only its counts of questions can stand beside ours. "
    "The margin score (MS) is no part of the faithful protocol; figures that show it are of the clean one.",
    (
        Entry("Table 1", "Accuracy by dataset.", partial(table, "1", "accuracy (%)", (ACCURACY,))),
        Entry("Table 2", "Set size by dataset and score.", partial(table, "2", "set size by score", SIZES)),
        Entry(
            "Table 3",
            "Coverage by dataset and score; the aim is 90 %.",
            partial(table, "3", "coverage by score (%)", COVERAGES),
        ),
        Entry(
            "Table 4",
            "Mean entropy of the probabilities of the options, nats.",
            partial(
                table,
                "4",
                "entropy, nats",
                (Measure("Entropy", "entropy", digits=3, scale=1, better="low", only="clean"),),
            ),
        ),
        Entry("Table 7", "How many questions there are.", counts),
        Entry("Figure 1", "Accuracy against set size.", accuracy_and_size),
        Entry("Figure 2", "How set sizes spread, by score.", spread),
        Entry("Figure 3", "Size of the model, accuracy and set size.", by_size),
        Entry(
            "Figure 4",
            "Set size by model and score.",
            lambda lookup: by_score(lookup, "4", "set size by model and score, clean protocol", SIZES, None),
        ),
        Entry(
            "Figure 5",
            "Coverage by dataset, model and score.",
            lambda lookup: by_score(
                lookup,
                "5",
                "coverage by dataset and model, clean protocol",
                COVERAGES,
                lookup.evidence.target,
            ),
        ),
        Entry("Figure 6", "Accuracy, coverage and set size of families.", families),
        Entry("Figure 7", "The same of every model.", everyone),
        Entry("Figure 8", "How size, accuracy, set size and coverage go together.", correlations),
        Entry("Figure 9", "At which letter the right answers stand.", letters),
    ),
)
