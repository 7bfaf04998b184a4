"""Tu et al. 2024, Ranked from Within: which model is best, told without labels."""

from vouch.report.papers.tu.figures import apart, pairs
from vouch.report.papers.tu.tables import few_labels, methods
from vouch.report.reproduce.entry import Entry, Paper, absent

PAPER = Paper(
    "Ranked from Within: ranking large multimodal models without labels",
    "Tu et al. 2024 (Ranked from Within)",
    "Tables of the first version of the preprint. All correlations are with the performance of the clean "
    "protocol; how each method works is in docs/ranking.md.",
    (
        Entry("Table 1", "How well each method orders the models, by dataset.", methods),
        Entry(
            "Table 2",
            "The same for models of one recipe that differ in one part.",
            absent("needs the LLaVA-prismatic models, which are weights in a format that is not read"),
        ),
        Entry("Table 3", "Fifty labelled questions against a method that needs none.", few_labels),
        Entry("Figure 2", "How performance on one dataset tells that on another.", pairs),
        Entry(
            "Figure 4",
            "Fréchet distance of two datasets and how alike they rank models.",
            apart,
        ),
    ),
)
