"""Kostumov et al. 2024: conformal sets of 26 models on five multiple-choice benchmarks."""

from collections.abc import Callable
from functools import partial

from vouch.report.papers.kostumov.figures import family
from vouch.report.papers.kostumov.names import SEED, SEVENTH, SITUATIONS, TEN
from vouch.report.papers.kostumov.tables import CALIBRATION, EXTRA, categories, sets, table
from vouch.report.reproduce.entry import Built, Entry, Paper
from vouch.report.reproduce.lookup import Lookup


def _entry(number: str, shows: str, build: Callable[[Lookup], Built]) -> Entry:
    return Entry(f"Table {number}", shows, build)


PAPER = Paper(
    "Uncertainty-aware evaluation for vision-language models",
    "Kostumov et al. 2024",
    "Sets at a 10 % error rate, calibrated on one half of the questions and scored on the other; per cent, "
    "but for set sizes.",
    (
        _entry(
            "I",
            "Coverage, accuracy, set size and UAcc by dataset, sets being the mean of LAC and APS.",
            partial(table, "I", "mean of LAC and APS", sets("mean"), TEN),
        ),
        _entry("II", "Calibration errors by dataset.", partial(table, "II", "ECE and MCE", CALIBRATION, TEN)),
        _entry("III", "Table I with LAC alone.", partial(table, "III", "LAC", sets("lac"), TEN)),
        _entry("IV", "Table I with APS alone.", partial(table, "IV", "APS", sets("aps"), TEN)),
        _entry(
            "V",
            "Table I by the five largest tasks of SEED-Bench.",
            partial(categories, "seedbench", "SEED-Bench", 5, "V", SEED),
        ),
        _entry(
            "VI",
            "Table I by the situations of OODCV-VQA.",
            partial(categories, "oodcv", "OODCV-VQA", 7, "VI", SITUATIONS),
        ),
        _entry(
            "VII",
            "How often models choose E, I don't know, and F, none of the above, which are never right.",
            partial(table, "VII", "E and F rates", EXTRA, SEVENTH),
        ),
        family(
            "3",
            "LLaVA-v1.6 of three sizes",
            ("llava_v1_6_vicuna_7b", "llava_v1_6_vicuna_13b", "llava_v1_6_34b"),
        ),
        family("4", "Qwen-VL and its chat version", ("qwen_vl", "qwen_vl_chat")),
        family(
            "5", "MobileVLM-V2 of three sizes", ("mobilevlm_v2_1_7b", "mobilevlm_v2_3b", "mobilevlm_v2_7b")
        ),
        family("6", "Yi-VL of two sizes", ("yi_vl_6b", "yi_vl_34b")),
        family("7", "Monkey and its chat version", ("monkey", "monkey_chat")),
        family(
            "8",
            "InternLM-XComposer2 and its chat version",
            ("internlm_xcomposer2_7b", "internlm_xcomposer2_vl_7b"),
        ),
    ),
)
