"""Schmalfuss et al. 2025, PARC: how sensitive models are to the prompt, and how far to rely on them."""

from functools import partial

from vouch.report.papers.parc.answers import EVERY
from vouch.report.papers.parc.figures import against, by_size, calibration, families, sizes_and_data
from vouch.report.papers.parc.planes import against_uacc, mapping
from vouch.report.papers.parc.tables import combined, counts, models, same, varied
from vouch.report.reproduce.entry import Entry, Paper

PAPER = Paper(
    "PARC: a quantitative framework uncovering the symmetries within vision language models",
    "Schmalfuss et al. 2025 (PARC)",
    "Accuracy, certainty and consistency are calibrated: 1 is perfect, 0 a guess. Answers are generated "
    "texts where a dataset was asked for them, else the largest logits. Which of the published columns of "
    "MIT-States and VAW is State and which Attribute is open, so they stand beside none of ours.",
    (
        Entry(
            "Table 2",
            "Which change of the prompt hurts most, means over the models.",
            partial(varied, "2", True),
        ),
        Entry(
            "Table 3",
            "Which models bear it best, means over the prompts.",
            partial(models, "3", "parc_a8", False, True),
        ),
        Entry("Table A5", "How many questions there are, and how many a picture can turn.", counts),
        Entry("Table A6", "Table 2 with all four scores by dataset.", partial(varied, "A6", False)),
        Entry("Table A7", "The same table as A8.", same),
        Entry(
            "Table A8",
            "Table 3 with all four scores by dataset.",
            partial(models, "A8", "parc_a8", False, False),
        ),
        Entry("Table A9", "Two changes at once.", combined),
        Entry(
            "Table A10",
            "Table A8 with the largest logit in place of the response.",
            partial(models, "A10", "parc_a10", True, False),
        ),
        Entry("Figure 2", "How reliability follows from accuracy and certainty.", mapping),
        Entry(
            "Figure 3",
            "Accuracy on original and negated questions, before and after calibration.",
            partial(
                calibration,
                "3",
                "what calibration does, on the datasets that are hardest and easiest to guess",
                False,
            ),
        ),
        Entry("Figure 4", "Consistency by family of changes and model.", families),
        Entry(
            "Figure 5",
            "Size of the model and training data, reliability and consistency.",
            sizes_and_data,
        ),
        Entry("Figure A6", "Reliability beside UAcc.", against_uacc),
        Entry(
            "Figure A7",
            "Figure 3 as the mean over the datasets.",
            partial(calibration, "A7", "what calibration does, mean over the datasets", True),
        ),
        Entry("Figure A8", "Consistency against reliability by families of changes.", against),
        Entry(
            "Figure A9",
            "Figure 5 for all, language and vision changes.",
            partial(by_size, "A9", {EVERY: "all", "language": "language", "vision": "vision"}),
        ),
    ),
)
