"""A small project whose earlier stages have run: contract tables with made-up numbers."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from vouch.datasets.second_pass import Findings
from vouch.metrics.conformal.selective import WRONG
from vouch.papers import page as papers
from vouch.report import pages
from vouch.report.config import Scoring
from vouch.report.evidence import Evidence
from vouch.report.loading import COMPARED
from vouch.report.page import Beside, Block, Folded, PageSection, Registry, Section, Sentences, Text
from vouch.report.table import Cell, Grid
from vouch.tables.asked import (
    DEFECTS,
    ITEMS,
    REJECTS,
    REWRITES,
    defects_path,
    items_path,
    rejects_path,
    rewrites_path,
)
from vouch.tables.results import METRICS, OUTCOMES, metrics_path, outcomes_path


def mentions(text: str, *parts: str) -> bool:
    """Whether a text makes a claim: all of its names, numbers and words of direction occur, however it is worded."""
    return all(part in text for part in parts)


REGISTRY = Registry(pages, papers)
"""All pages, as the stage writes them."""
SCORING = Scoring(alpha=0.1, calibration=0.5, splits=20, bins=15)
ITEM_COUNT = 80


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


Make = Callable[[Made], Evidence]
"""The fixture `make`."""


@dataclass(frozen=True)
class Shown:
    """All tables and all sentences of a part, those that are folded away included."""

    title: str
    grids: tuple[Grid, ...]
    sentences: tuple[str, ...]

    @property
    def rows(self) -> Sequence[Sequence[Cell]]:
        """Those of the first table."""
        return self.grids[0].rows

    def cells(self, row: int = 0) -> dict[str, Cell]:
        """A row of each table, by the labels of the columns."""
        return {
            column.label: cell
            for grid in self.grids
            for column, cell in zip(grid.columns, grid.rows[row], strict=True)
        }


def texts(cells: Iterable[Cell]) -> list[str]:
    return [cell.text for cell in cells]


def _flat(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield from _flat(block.blocks) if isinstance(block, Folded | Beside) else [block]


def parts(section: Section | None) -> list[Shown]:
    """The parts of a section that have a heading; all where none has."""
    assert section is not None
    found = []
    for part in [part for part in section.parts if part.title] or section.parts:
        blocks = list(_flat(part.blocks))
        said = [
            [one.text] if isinstance(one, Text) else one.sentences
            for one in blocks
            if isinstance(one, Text | Sentences)
        ]
        found.append(
            Shown(part.title, tuple(one for one in blocks if isinstance(one, Grid)), tuple(chain(*said)))
        )
    return found


def part_of(section: PageSection, evidence: Evidence) -> Shown:
    """The only part of a section."""
    (part,) = parts(section.build(evidence))
    return part


Measure = tuple[str, str, str, float, float | None]
"""Protocol, score, metric, value, and half the width of its interval."""


def _metrics(accuracy: float, half_width: float) -> Iterator[Measure]:
    """What the sections on scores, calibration and letters show; SAPS has the smallest sets."""
    for protocol, half, shift in (("clean", half_width, 0.0), ("faithful", None, 0.01)):
        yield protocol, "", "accuracy", accuracy + shift, half
        yield protocol, "", "ece", 0.1 * (1 - accuracy), half and 0.01
        yield protocol, "", "mce", 0.25, None
        for score, least in (("lac", 3.0), ("aps", 4.0), ("mean", 3.5)):
            size = least - 2 * accuracy
            yield protocol, score, "coverage", 0.9 + 0.02 * (score == "aps"), half and 0.03
            yield protocol, score, "set_size", size, half and 0.1
            yield protocol, score, "uacc", accuracy * 6**0.5 / size, half and 0.05
    yield "clean", "saps", "coverage", 0.8, 0.03
    yield "clean", "saps", "set_size", 1.25, 0.1
    yield from (("clean", score, "worst_size_coverage", 0.7, 0.05) for score in ("lac", "aps", "saps"))
    for metric, value, half in (
        *(("temperature", 1.5, 0.25), ("ece_scaled", 0.03, 0.01), ("ece_test", 0.06, 0.01)),
        *(
            ("nll", 0.75, 0.05),
            ("nll_scaled", 0.7, 0.05),
            ("auroc", 0.75, 0.05),
            ("letter_bias", 0.125, 0.05),
        ),
        *(("chosen_share_A", 0.6, 0.04), ("correct_share_A", 0.5, 0.04)),
        *(("chosen_share_B", 0.4, 0.04), ("correct_share_B", 0.5, 0.04)),
        *((f"answered_{how}_{percent}", 0.5, 0.05) for how in ("alone", "conformal") for percent in WRONG),
        *(("accuracy_debiased", accuracy + 0.05, 0.05), ("rows_dropped", 2.0, None)),
    ):
        yield "clean", "", metric, value, half
    for share, half in ((10, 0.1), (20, 0.06)):
        yield "clean", "lac", f"coverage_calibrated_on_{share}", 0.9, half
        yield "clean", "lac", f"set_size_calibrated_on_{share}", 3 - 2 * accuracy, half
    yield "faithful", "", "sibling_share", 0.5, None


def _shift(place: int) -> Iterator[Measure]:
    """Coverage under prompt shift, less for each further variation: 0.9 in the first, 0.6 in the second."""
    yield "clean", "lac", "shift_coverage", 0.9 - 0.3 * (place > 1), 0.05
    yield "clean", "lac", "shift_set_size", 2.0, 0.1
    yield "clean", "lac", "threshold_drift", 0.1, 0.02


def _text_metrics(accuracy: float) -> Iterator[Measure]:
    yield "clean", "", "accuracy", accuracy, 0.02
    yield "faithful", "", "accuracy", accuracy, None
    for metric, value in (("unparsed", 0.05), ("refusal", 0.0), ("several", 0.03), ("undecided", 0.08)):
        yield "clean", "", f"{metric}_rate", value, 0.02
    yield "clean", "", "nll_avg", 0.5, 0.1
    yield "clean", "", "ent_avg", 0.2, 0.1
    yield "clean", "t0.7", "agreement", 0.875, 0.05


def _leaderboard(made: Made) -> Iterator[dict[str, Any]]:
    models = list(enumerate(made.accuracy.items(), start=1))
    for dataset, (turn, variation), (rank, (model, accuracy)), (number, category), (late, output) in product(
        *(made.datasets, enumerate(made.variations), models),
        *(enumerate(("all", *made.categories)), list(enumerate(made.outputs))),
    ):
        where: dict[str, Any] = {"model": model, "dataset": dataset, "variation": variation}
        where |= {"category": category, "output": output, "calibration": "", "items": ITEM_COUNT}
        ranks = {"rank": rank, "rank_low": 1, "rank_high": len(models)}
        hurt = accuracy - 0.1 * number - 0.2 * (variation != "original") - 0.3 * (late > 0)
        found = [*(_text_metrics(hurt) if output == "text" else _metrics(hurt, made.half_width))]
        if turn and not number and output != "text":
            found += _shift(turn)
        for protocol, score, metric, value, half in found:
            ends = {} if half is None else {"low": value - half, "high": value + half}
            row = {"protocol": protocol, "score": score, "metric": metric, "value": value}
            yield where | ranks | row | ends


def _outcomes(made: Made, model: str) -> Iterator[dict[str, Any]]:
    dice, text = random.Random(model), made.outputs[0] == "text"
    for dataset, variation, item in product(made.datasets, made.variations, range(ITEM_COUNT)):
        place = {"model": model, "dataset": dataset, "prompt": f"q{item}/{variation}", "item": f"q{item}"}
        place |= {"group": f"g{item // 2}", "variation": variation, "output": made.outputs[0]}
        yield place | {
            "parser": "letter" if text else None,
            "predicted": dice.randrange(4),
            "correct": (right := dice.random() < made.accuracy[model]),
            "clean_correct": float(right),
            "confidence": dice.uniform(0.25, 1),
            "half": "test" if item % 2 else "calibration",
            "clean_size_lac": dice.uniform(1, 3),
        }


def _differences(made: Made) -> Iterator[dict[str, Any]]:
    for dataset, (first, second) in product(made.datasets, combinations(sorted(made.accuracy), 2)):
        gap, p = made.accuracy[first] - made.accuracy[second], 0.001 if made.apart else 0.4
        row = {"dataset": dataset, "output": made.outputs[0], "first": first, "second": second}
        numbers = {"difference": gap, "low": gap - 0.05, "high": gap + 0.05, "p": p, "p_holm": p}
        yield row | numbers | {"items": ITEM_COUNT}


def _variations(made: Made) -> Iterator[dict[str, Any]]:
    measures = {("accuracy", ""): -0.2, ("confidence", ""): -0.1, ("set_size", "lac"): 0.5}
    measures |= {("set_size", "aps"): 0.0, ("flipped", ""): 0.3}
    for dataset, (model, accuracy), variation, ((metric, score), gap) in product(
        made.datasets, made.accuracy.items(), made.variations[1:], measures.items()
    ):
        original = 0.0 if metric == "flipped" else accuracy
        row = {"dataset": dataset, "model": model, "output": made.outputs[0], "variation": variation}
        numbers = {"value": original + gap, "original": original, "difference": gap}
        numbers |= {"low": gap - 0.05, "high": gap + 0.05, "items": ITEM_COUNT}
        yield row | {"metric": metric, "score": score} | numbers


def _reproduced(made: Made) -> Iterator[dict[str, Any]]:
    for dataset, (model, accuracy) in product(made.datasets, made.accuracy.items()):
        row = {"dataset": dataset, "model": model, "name": model.upper(), "metric": "acc"}
        clean = {"clean": accuracy, "clean_low": accuracy - 0.05, "clean_high": accuracy + 0.05}
        yield row | clean | {"ours": accuracy + 0.01, "published": accuracy + 0.01, "difference": 0.0}


def _dimensions(made: Made) -> Iterator[dict[str, Any]]:
    order = sorted(made.accuracy, key=lambda model: -made.accuracy[model])
    names = [*made.categories, "overall"] if made.categories else []
    for name, (model, accuracy) in product(names, made.accuracy.items()):
        where = {"variation": "original", "output": made.outputs[0], "protocol": "clean", "score": ""}
        value = {"value": accuracy, "rank": order.index(model) + 1.0, "parts": len(made.datasets)}
        yield where | {"dimension": name, "model": model} | value


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
    return list(tally.rows())


def write_tables(made: Made) -> list[Path]:
    """Writes the tables under the working directory and returns their paths."""
    filled = {
        "leaderboard": _leaderboard(made),
        "differences": _differences(made),
        "reproduced": _reproduced(made) if made.published else (),
        "costs": _variations(made),
        "rankings": made.rankings,
        "dimensions": _dimensions(made),
    }
    paths = []
    for name, (table, path) in COMPARED.items():
        table.write(path, list(filled.get(name, ())))
        paths.append(path)
    outcomes = [row for model in made.accuracy for row in _outcomes(made, model)]
    for dataset in made.datasets:
        METRICS.write(metrics_path(dataset), [])
        OUTCOMES.write(outcomes_path(dataset), [row for row in outcomes if row["dataset"] == dataset])
        paths += [metrics_path(dataset), outcomes_path(dataset)]
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


def with_rows(evidence: Evidence, *rows: dict[str, Any]) -> Evidence:
    """The evidence with more rows in its leaderboard; what a row leaves out is that of the headlines."""
    plain: dict[str, Any] = {"dataset": "shapes", "variation": "original", "output": "letters"}
    plain |= {"protocol": "clean", "category": "all", "calibration": "", "score": "", "items": ITEM_COUNT}
    more = pd.DataFrame([plain | row for row in rows])
    return replace(evidence, leaderboard=pd.concat([evidence.leaderboard, more], ignore_index=True))


def with_metric(evidence: Evidence, metric: str, where: str = "index == index", **changes: Any) -> Evidence:
    """The evidence with another metric of the clean protocol. where: of which rows, a query."""
    rows = evidence.leaderboard.query(f"metric == 'mce' and protocol == 'clean' and ({where})")
    more = rows.assign(metric=metric, **changes)
    return replace(evidence, leaderboard=pd.concat([evidence.leaderboard, more], ignore_index=True))


def edited(evidence: Evidence, table: str, where: str, **changes: Any) -> Evidence:
    """The evidence with other values in some columns of a table. where: in which rows, a query."""
    frame = getattr(evidence, table).copy()
    for name, value in changes.items():
        frame.loc[frame.eval(where), name] = value
    return replace(evidence, **{table: frame})


def with_cost(
    evidence: Evidence, variation: str, metric: str = "accuracy", **changes: float | None
) -> Evidence:
    """The evidence with other numbers for one variation of every model."""
    return edited(evidence, "costs", f"variation == {variation!r} and metric == {metric!r}", **changes)
