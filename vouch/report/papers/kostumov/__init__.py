"""Kostumov et al. 2024: conformal sets of 26 models on five multiple-choice benchmarks."""

from functools import partial

from vouch.report.papers.kostumov.names import DATASETS, SEED, SEVENTH, SITUATIONS, TEN
from vouch.report.papers.kostumov.tables import CALIBRATION, EXTRA, categories, family, sets, table
from vouch.report.reproduce.entry import Entry, Paper

# Number of the figure, what the models have in common, the models.
FAMILIES = (
    (3, "LLaVA-v1.6 of three sizes", ("llava_v1_6_vicuna_7b", "llava_v1_6_vicuna_13b", "llava_v1_6_34b")),
    (4, "Qwen-VL and its chat version", ("qwen_vl", "qwen_vl_chat")),
    (5, "MobileVLM-V2 of three sizes", ("mobilevlm_v2_1_7b", "mobilevlm_v2_3b", "mobilevlm_v2_7b")),
    (6, "Yi-VL of two sizes", ("yi_vl_6b", "yi_vl_34b")),
    (7, "Monkey and its chat version", ("monkey", "monkey_chat")),
    (
        8,
        "InternLM-XComposer2 and its chat version",
        ("internlm_xcomposer2_7b", "internlm_xcomposer2_vl_7b"),
    ),
)
PAPER = Paper(
    "Uncertainty-aware evaluation for vision-language models",
    "Kostumov et al. 2024",
    "Sets at a 10 % error rate, calibrated on one half of the questions and scored on the other; per cent, "
    "but for set sizes.",
    (
        Entry(
            "Table I",
            "Coverage, accuracy, set size and UAcc by dataset, sets being the mean of LAC and APS.",
            partial(table, "I", "mean of LAC and APS", sets("mean"), TEN),
        ),
        Entry(
            "Table II",
            "Calibration errors by dataset.",
            partial(table, "II", "ECE and MCE", CALIBRATION, TEN),
        ),
        Entry("Table III", "Table I with LAC alone.", partial(table, "III", "LAC", sets("lac"), TEN)),
        Entry("Table IV", "Table I with APS alone.", partial(table, "IV", "APS", sets("aps"), TEN)),
        Entry(
            "Table V",
            "Table I by the five largest tasks of SEED-Bench.",
            partial(categories, "seedbench", "SEED-Bench", 5, "V", SEED),
        ),
        Entry(
            "Table VI",
            "Table I by the situations of OODCV-VQA.",
            partial(categories, "oodcv", "OODCV-VQA", 7, "VI", SITUATIONS),
        ),
        Entry(
            "Table VII",
            "How often models choose E, I don't know, and F, none of the above, which are never right.",
            partial(table, "VII", "E and F rates", EXTRA, SEVENTH),
        ),
        *(
            Entry(
                f"Figure {number}",
                f"{title}: accuracy, set size and UAcc by dataset.",
                partial(family, title, models),
            )
            for number, title, models in FAMILIES
        ),
    ),
    DATASETS,
)
