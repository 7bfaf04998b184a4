"""Schmalfuss et al. 2025, PARC: how sensitive models are to the prompt, and how far to rely on them."""

from functools import partial

from vouch.report.papers.parc.answers import DATASETS
from vouch.report.papers.parc.figures import (
    GROUPS,
    against,
    against_uacc,
    by_size,
    calibration,
    families,
    mapping,
    sizes_and_data,
)
from vouch.report.papers.parc.tables import combined, counts, models, properties, robust, same, varied
from vouch.report.reproduce.entry import Entry, Paper

PAPER = Paper(
    "PARC: a quantitative framework uncovering the symmetries within vision language models",
    "Schmalfuss et al. 2025 (PARC)",
    "Accuracy, certainty and consistency are calibrated: 1 is perfect, 0 a guess. Answers are generated "
    "texts where a dataset was asked for them, else the largest logits. Which of the published columns of "
    "MIT-States and VAW is State and which Attribute is open, so they stand beside none of ours.",
    (
        Entry(
            "Table 2", "Which change of the prompt hurts most, means over the models.", partial(varied, True)
        ),
        Entry("Table 3", "Which models bear it best, means over the prompts.", robust),
        Entry("Table A4", "The models and their properties.", properties),
        Entry(
            "Table A5",
            "How many questions there are, and how many answers flip when an image is exchanged.",
            counts,
        ),
        Entry("Table A6", "Table 2 with all four scores by dataset.", partial(varied, False)),
        Entry("Table A7", "The same table as A8.", same),
        Entry("Table A8", "Table 3 with all four scores by dataset.", partial(models, False, False)),
        Entry("Table A9", "Two changes at once.", combined),
        Entry(
            "Table A10",
            "Table A8 with the largest logit in place of the response.",
            partial(models, True, False),
        ),
        Entry("Figure 2", "How reliability follows from accuracy and certainty.", mapping),
        Entry(
            "Figure 3",
            "Accuracy on original and negated questions, before and after calibration.",
            partial(calibration, False),
        ),
        Entry("Figure 4", "Consistency by family of changes and model.", families),
        Entry(
            "Figure 5", "Size of the model and training data, reliability and consistency.", sizes_and_data
        ),
        Entry("Figure A6", "Reliability beside UAcc.", against_uacc),
        Entry("Figure A7", "Figure 3 as the mean over the datasets.", partial(calibration, True)),
        Entry("Figure A8", "Consistency against reliability by families of changes.", against),
        Entry("Figure A9", "Figure 5 for all, language and vision changes.", partial(by_size, GROUPS)),
    ),
    DATASETS,
)
