"""A small project whose earlier stages have run: contract tables with made-up numbers."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa

from vouch.datasets.cleaning.defects import Findings
from vouch.report.config import Scoring
from vouch.report.section import Part, Section
from vouch.tables.compared import (
    DIFFERENCES,
    DIFFERENCES_PATH,
    DIMENSIONS,
    DIMENSIONS_PATH,
    LEADERBOARD,
    LEADERBOARD_PATH,
    REPRODUCED,
    REPRODUCED_PATH,
    VARIATIONS,
    VARIATIONS_PATH,
)
from vouch.tables.defects import DEFECTS, defects_path
from vouch.tables.distances import DISTANCES, DISTANCES_PATH, TRENDS, TRENDS_PATH
from vouch.tables.items import ITEMS, items_path
from vouch.tables.metrics import METRICS, metrics_path
from vouch.tables.outcomes import OUTCOMES, outcomes_path
from vouch.tables.rankings import RANKED, RANKED_PATH, RANKINGS, RANKINGS_PATH
from vouch.tables.rejects import REJECTS, rejects_path
from vouch.tables.rewrites import REWRITES, rewrites_path

SCORING = Scoring(alpha=0.1, calibration=0.5, splits=20, bins=15)
ITEM_COUNT = 40


@dataclass(frozen=True)
class Made:
    """What to make. accuracy: of each model, in all datasets. apart: whether pairs can be told apart.

    variations: the first is the original, each of the others takes 0.2 of the accuracy. outputs: each but the first takes 0.3 of the accuracy, and a text has rates and certainty in place of sets.
    rankings, rewrites: rows of these tables.
    """

    accuracy: dict[str, float] = field(default_factory=lambda: {"alpha": 0.8, "beta": 0.6, "gamma": 0.5})
    datasets: Sequence[str] = ("shapes",)
    categories: Sequence[str] = ()
    variations: Sequence[str] = ("original",)
    outputs: Sequence[str] = ("letters",)
    apart: bool = True
    published: bool = True
    half_width: float = 0.05
    rejects: Sequence[tuple[str, str]] = ()
    rankings: Sequence[dict[str, Any]] = ()
    rewrites: Sequence[dict[str, Any]] = ()


def parts(section: Section | None) -> list[Part]:
    """The parts of a section that have a heading; all where none has."""
    assert section is not None
    return [part for part in section.parts if part.title] or list(section.parts)


def _number(protocol: str, score: str, metric: str, value: float, half: float | None) -> dict[str, Any]:
    ends = {} if half is None else {"low": value - half, "high": value + half}
    return {
        "protocol": protocol,
        "score": score,
        "metric": metric,
        "value": value,
        "items": ITEM_COUNT,
    } | ends


def _metrics(accuracy: float, half_width: float) -> list[dict[str, Any]]:
    rows = []
    for protocol, half, shift in (("clean", half_width, 0.0), ("faithful", None, 0.01)):
        rows.append(_number(protocol, "", "accuracy", accuracy + shift, half))
        rows.append(_number(protocol, "", "ece", 0.1 * (1 - accuracy), half and 0.01))
        rows.append(_number(protocol, "", "mce", 0.25, None))
        for score, size in (
            ("lac", 3 - 2 * accuracy),
            ("aps", 4 - 2 * accuracy),
            ("mean", 3.5 - 2 * accuracy),
        ):
            rows.append(_number(protocol, score, "coverage", 0.9 + 0.02 * (score == "aps"), half and 0.03))
            rows.append(_number(protocol, score, "set_size", size, half and 0.1))
            rows.append(_number(protocol, score, "uacc", accuracy * 6**0.5 / size, half and 0.05))
    rows += _details(accuracy)
    rows.append(_number("faithful", "", "sibling_share", 0.5, None))
    rows.append(_number("clean", "", "rows_dropped", 2.0, None))
    return rows


def _details(accuracy: float) -> list[dict[str, Any]]:
    """What the sections on scores, calibration and letters show; SAPS has the smallest sets."""
    rows = []
    for score, size in (("lac", None), ("aps", None), ("saps", 1.25)):
        if size is not None:
            rows += [
                _number("clean", score, "coverage", 0.8, 0.03),
                _number("clean", score, "set_size", size, 0.1),
            ]
        rows.append(_number("clean", score, "worst_size_coverage", 0.7, 0.05))
    rows += [_number("clean", "", "temperature", 1.5, 0.25), _number("clean", "", "ece_scaled", 0.03, 0.01)]
    rows += [_number("clean", "", "ece_test", 0.06, 0.01)]
    rows += [_number("clean", "", "nll", 0.75, 0.05), _number("clean", "", "nll_scaled", 0.7, 0.05)]
    rows += [_number("clean", "", "auroc", 0.75, 0.05), _number("clean", "", "letter_bias", 0.125, 0.05)]
    for letter, chosen, right in (("A", 0.6, 0.5), ("B", 0.4, 0.5)):
        rows.append(_number("clean", "", f"chosen_share_{letter}", chosen, 0.04))
        rows.append(_number("clean", "", f"right_share_{letter}", right, 0.04))
    for share, half in ((10, 0.1), (20, 0.06)):
        rows.append(_number("clean", "lac", f"coverage_calibrated_on_{share}", 0.9, half))
        rows.append(_number("clean", "lac", f"set_size_calibrated_on_{share}", 3 - 2 * accuracy, half))
    return [*rows, _number("clean", "", "accuracy_debiased", accuracy + 0.05, 0.05)]


def _shift(place: int) -> list[dict[str, Any]]:
    """Coverage under prompt shift, less for each further variation: 0.9 in the first, 0.6 in the second."""
    rows = [_number("clean", "lac", "shift_coverage", 0.9 - 0.3 * (place > 1), 0.05)]
    rows.append(_number("clean", "lac", "shift_set_size", 2.0, 0.1))
    return [*rows, _number("clean", "lac", "threshold_drift", 0.1, 0.02)]


def _text_metrics(accuracy: float) -> list[dict[str, Any]]:
    rows = [
        _number("clean", "", "accuracy", accuracy, 0.02),
        _number("faithful", "", "accuracy", accuracy, None),
    ]
    rows += [
        _number("clean", "", "unparsed_rate", 0.25, 0.05),
        _number("clean", "", "refusal_rate", 0.0, None),
    ]
    rows += [_number("clean", "", "nll_avg", 0.5, 0.1), _number("clean", "", "ent_avg", 0.2, 0.1)]
    return [*rows, _number("clean", "t0.7", "agreement", 0.875, 0.05)]


def _leaderboard(made: Made) -> list[dict[str, Any]]:
    rows = []
    for dataset in made.datasets:
        for turn, variation in enumerate(made.variations):
            for place, (model, accuracy) in enumerate(made.accuracy.items()):
                ranks = {"rank": place + 1, "rank_low": 1, "rank_high": len(made.accuracy)}
                for number, category in enumerate(("all", *made.categories)):
                    where = {"model": model, "dataset": dataset, "variation": variation, "category": category}
                    lower = accuracy - 0.1 * number - 0.2 * (variation != "original")
                    for late, output in enumerate(made.outputs):
                        where |= {"output": output, "calibration": ""}
                        hurt = lower - 0.3 * (late > 0)
                        found = _text_metrics(hurt) if output == "text" else _metrics(hurt, made.half_width)
                        rows += [where | row | ranks for row in found]
                        if turn and not number and output != "text":
                            rows += [where | row | ranks for row in _shift(turn)]
    return rows


def _outcomes(made: Made, model: str) -> list[dict[str, Any]]:
    dice = random.Random(model)
    rows = []
    for dataset in made.datasets:
        for variation in made.variations:
            for item in range(ITEM_COUNT):
                rows.append(
                    {
                        "model": model,
                        "dataset": dataset,
                        "prompt": f"q{item}/{variation}",
                        "item": f"q{item}",
                        "group": f"g{item // 2}",
                        "variation": variation,
                        "output": made.outputs[0],
                        "parser": "letter" if made.outputs[0] == "text" else None,
                        "predicted": dice.randrange(4),
                        "correct": (right := dice.random() < made.accuracy[model]),
                        "clean_correct": float(right),
                        "confidence": dice.uniform(0.25, 1),
                        "half": "test" if item % 2 else "calibration",
                        "clean_size_lac": dice.uniform(1, 3),
                    }
                )
    return rows


def _differences(made: Made) -> list[dict[str, Any]]:
    rows = []
    for dataset in made.datasets:
        for first, second in combinations(sorted(made.accuracy), 2):
            gap = made.accuracy[first] - made.accuracy[second]
            p = 0.001 if made.apart else 0.4
            row = {
                "dataset": dataset,
                "output": made.outputs[0],
                "first": first,
                "second": second,
                "difference": gap,
                "items": ITEM_COUNT,
            }
            rows.append(row | {"low": gap - 0.05, "high": gap + 0.05, "p": p, "p_holm": p})
    return rows


def _variations(made: Made) -> list[dict[str, Any]]:
    rows = []
    measures = {("accuracy", ""): -0.2, ("confidence", ""): -0.1, ("set_size", "lac"): 0.5}
    measures |= {("set_size", "aps"): 0.0, ("flipped", ""): 0.3}
    for dataset in made.datasets:
        for model, accuracy in made.accuracy.items():
            for variation in made.variations[1:]:
                for (metric, score), gap in measures.items():
                    row: dict[str, Any] = {"dataset": dataset, "model": model, "output": made.outputs[0]}
                    row |= {"variation": variation, "metric": metric}
                    original = 0.0 if metric == "flipped" else accuracy
                    row |= {"score": score, "value": original + gap, "original": original}
                    row |= {"difference": gap, "low": gap - 0.05, "high": gap + 0.05, "items": ITEM_COUNT}
                    rows.append(row)
    return rows


def _reproduced(made: Made) -> list[dict[str, Any]]:
    rows = []
    for dataset in made.datasets:
        for model, accuracy in made.accuracy.items():
            ours = accuracy + 0.01
            row = {"dataset": dataset, "model": model, "name": model.upper(), "metric": "acc", "ours": ours}
            clean = {"clean": accuracy, "clean_low": accuracy - 0.05, "clean_high": accuracy + 0.05}
            rows.append(row | clean | {"published": ours, "difference": 0.0})
    return rows


def _dimensions(made: Made) -> list[dict[str, Any]]:
    names = [*made.categories, "overall"] if made.categories else []
    order = sorted(made.accuracy, key=lambda model: -made.accuracy[model])
    return [
        {
            "variation": "original",
            "output": made.outputs[0],
            "protocol": "clean",
            "dimension": name,
            "model": model,
        }
        | {"value": made.accuracy[model], "rank": order.index(model) + 1.0, "parts": len(made.datasets)}
        for name in names
        for model in made.accuracy
    ]


def _items(made: Made) -> list[dict[str, Any]]:
    names = made.categories or [""]
    return [
        {
            "id": f"q{item}",
            "group": f"g{item // 2}",
            "question": "What is it?",
            "options": ["a", "b", "c", "d"][: 3 + item % 2],
            "answers": [0],
            "references": [],
            "images": [f"{item // 2:064d}"],
            "category": names[item % len(names)],
            "kind": "choice",
            "source_id": "",
            "flags": ["duplicate_options"] if item < 3 else [],
        }
        for item in range(ITEM_COUNT)
    ]


def _defects(items: Sequence[dict[str, Any]], made: Made) -> list[dict[str, Any]]:
    tally = Findings()
    tally.items(pa.Table.from_pylist(list(items), schema=ITEMS.schema))
    for where, _ in made.rejects:
        tally.reject(where, broken=True)
    return tally.rows()


def write_tables(made: Made) -> list[Path]:
    """Writes the tables under the working directory and returns their paths."""
    LEADERBOARD.write(LEADERBOARD_PATH, _leaderboard(made))
    DIFFERENCES.write(DIFFERENCES_PATH, _differences(made))
    REPRODUCED.write(REPRODUCED_PATH, _reproduced(made) if made.published else [])
    VARIATIONS.write(VARIATIONS_PATH, _variations(made))
    RANKINGS.write(RANKINGS_PATH, made.rankings)
    RANKED.write(RANKED_PATH, [])
    DIMENSIONS.write(DIMENSIONS_PATH, _dimensions(made))
    paths = [LEADERBOARD_PATH, DIFFERENCES_PATH, REPRODUCED_PATH, VARIATIONS_PATH, RANKINGS_PATH, RANKED_PATH]
    DISTANCES.write(DISTANCES_PATH, [])
    TRENDS.write(TRENDS_PATH, [])
    paths += [DIMENSIONS_PATH, DISTANCES_PATH, TRENDS_PATH]
    for place, model in enumerate(made.accuracy):
        # The rows carry the name; a hostile one is no name for a file.
        METRICS.write(metrics_path(f"m{place}"), [])
        OUTCOMES.write(outcomes_path(f"m{place}"), _outcomes(made, model))
        paths += [metrics_path(f"m{place}"), outcomes_path(f"m{place}")]
    for dataset in made.datasets:
        items = _items(made)
        ITEMS.write(items_path(dataset), items)
        DEFECTS.write(defects_path(dataset), _defects(items, made))
        rejects = [
            {"dataset": dataset, "where": where, "id": "", "reason": why} for where, why in made.rejects
        ]
        REJECTS.write(rejects_path(dataset), rejects)
        REWRITES.write(rewrites_path(dataset), made.rewrites)
        paths += [items_path(dataset), rejects_path(dataset), defects_path(dataset), rewrites_path(dataset)]
    return paths
