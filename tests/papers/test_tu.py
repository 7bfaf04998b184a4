"""Ranked from Within (Tu et al. 2024): its tables from answers, its robust lines, its signs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.metrics.simulated import ROOT
from tests.papers.shown import built, reviewed, text
from tests.report.project import Made, Make
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.ranking import rankings
from vouch.papers.charts import huber
from vouch.papers.entry import names_in
from vouch.report.evidence import Evidence
from vouch.report.loading import read_printed
from vouch.tables import SAMPLES, TOKENS
from vouch.tables.results import LABEL_FREE, RANKED, RANKINGS

# stack loss by air flow, water temperature and acid concentration (Brownlee 1965)
STACKLOSS = """
80 27 89 42 80 27 88 37 75 25 90 37 62 24 87 28 62 22 87 18 62 23 87 18 62 24 93 19 62 24 93 20 58 23 87 15
58 18 80 14 58 18 89 14 58 17 88 13 58 18 82 11 58 19 93 12 50 18 89 8 50 18 86 7 50 19 72 8 50 19 79 8
50 20 80 9 56 20 82 15 70 20 91 15
"""


def test_robust_regression_is_that_of_statsmodels_and_mass() -> None:
    """The coefficients that statsmodels documents for RLM, and R's help for MASS::rlm rounds."""
    rows = np.array(STACKLOSS.split(), dtype=float).reshape(-1, 4)
    design = np.column_stack([np.ones(len(rows)), rows[:, :3]])
    known = [-41.02649835, 0.82938433, 0.92606597, -0.12784672]
    assert huber(design, rows[:, 3]) == pytest.approx(known, abs=1e-7)
    line, x = np.array([2.0, 0.5]), np.arange(9.0)
    design = np.column_stack([np.ones(9), x])
    assert huber(design, design @ line) == pytest.approx(line), "no residuals, no scale"
    outlier = np.where(x == 8, 90.0, design @ line)
    assert huber(design, outlier) == pytest.approx(line, abs=1e-6)
    assert huber(design[:2], np.array([1.0, 1.0])) == pytest.approx([1.0, 0.0])


def made_answers(models: Sequence[str], datasets: Sequence[str]) -> pa.Table:
    """Rows of LABEL_FREE: 40 texts of each model to each dataset, and five samples of each."""
    draw = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for dataset in datasets:
        for model in models:
            level, blur = draw.uniform(0.3, 0.9), draw.uniform(0, 0.3)
            for item in range(40):
                row = {"model": model, "dataset": dataset, "prompt": f"{item}/original", "group": str(item)}
                tokens = {name: 1 - level + blur * draw.normal() for name in TOKENS}
                grade = float(draw.random() < level)
                rows.append(row | {"output": "text", "performance": grade, **tokens})
                samples = dict.fromkeys(SAMPLES, draw.random())
                rows.append(row | {"output": "text", "temperature": 0.7, "performance": grade, **samples})
    return pa.Table.from_pylist(rows, schema=LABEL_FREE.schema)


def ranked_by(evidence: Evidence, answers: pa.Table) -> Evidence:
    """The same project with rankings by the answers."""
    found = rankings(answers, CompareConfig(seed=1, resamples=50), alpha=0.1)
    frames = [
        pd.DataFrame(rows).reindex(columns=table.schema.names)
        for table, rows in zip((RANKINGS, RANKED), found, strict=True)
    ]
    return replace(evidence, rankings=frames[0], ranked=frames[1])


def test_table_2_ranks_the_models_of_one_recipe_among_themselves(make: Make) -> None:
    """From made answers: as if the others were not there, which table 1 ranks without them."""
    recipe, others = [f"prism_{place}" for place in range(5)], [f"other_{place}" for place in range(4)]
    datasets = ("ai2d", "mmmu", "textvqa", "chartqa", "docvqa")
    every = make(Made(accuracy=dict.fromkeys([*recipe, *others], 0.5), datasets=datasets, outputs=("text",)))
    facts = {name: {"family": "LLaVA-prismatic", "papers": ["tu"]} for name in recipe}
    every = replace(every, facts=facts, printed=read_printed([ROOT / "docs/published/tu_tables.csv"]))
    shown = built(ranked_by(every, made_answers([*recipe, *others], datasets)), "tu")
    apart = {}
    for models, held in ((recipe, datasets[:4]), (others, datasets)):
        answers = made_answers([*recipe, *others], datasets).to_pandas()
        own = answers[answers["model"].isin(models) & answers["dataset"].isin(held)]
        made = ranked_by(every, pa.Table.from_pandas(own, schema=LABEL_FREE.schema, preserve_index=False))
        frame = made.rankings[made.rankings["proxy"].isin(("", "mean"))]
        apart[models[0]] = {(row.ranker, row.dataset): row.rho for row in frame.itertuples()}
    for table, known in (("Table 2", recipe[0]), ("Table 1", others[0])):
        (grid, *_) = shown[table].grids
        heads = [column.label.removeprefix("rho ") for column in grid.columns[1:]]
        labels = names_in("tu", "datasets")
        for row in grid.rows:
            for head, cell in zip(heads, row[1:], strict=True):
                name = next((slug for slug, label in labels.items() if label == head), None)
                if name is not None:
                    rho = apart[known][row[0].note, name]
                    assert cell.key == pytest.approx(abs(rho) if row[0].text[:3] in ("NLL", "Ent") else rho)
        assert len(grid.rows) >= 7
    assert [row[0].text for row in shown["Table 2"].grids[0].rows] == [
        "AoL", "NLL_min", "NLL_avg", "Ent_max", "Ent_avg", "Sample_BLEU", "ATC"
    ]  # fmt: skip
    assert len(shown["Table 2"].beside[0].rows) == 35, "every printed number of the table"
    assert "Spearman's rho of 5 LLaVA-prismatic models; the paper has 15" in " ".join(
        shown["Table 2"].sentences
    )
    few = replace(every, facts={name: facts[name] for name in recipe[:2]})
    assert "needs three LLaVA-prismatic models" in dict(reviewed(few, "tu").reasons)["Table 2"]


def test_table_1_has_no_sign_of_nll_and_entropy_and_says_which_are_negative(make: Make) -> None:
    def row(ranker: str, rho: float, low: float, high: float) -> dict[str, Any]:
        place = {"dataset": "docvqa", "output": "text", "ranker": ranker, "score": "", "proxy": ""}
        return place | {"models": 3, "rho": rho, "rho_low": low, "rho_high": high, "tau_paper": 0.5}

    rows = [
        row("nll_avg", -0.4, -0.7, 0.1),
        row("ent_max", 0.6, 0.2, 0.9),
        row("sample_bleu", -0.3, -0.5, -0.1),
    ]
    shown = built(make(Made(rankings=rows, datasets=("docvqa",))), "tu")["Table 1"]
    assert {line[0].split(" | ")[0]: line[1] for line in text(shown.grids[0])} == {
        "NLL_avg": "0.40 | −0.10 to 0.70", "Ent_max": "0.60 | 0.20–0.90", "Sample_BLEU": "−0.30 | −0.50 to −0.10"
    }  # fmt: skip
    assert "rather the reverse, for NLL_avg on DocVQA (−0.40)." in " ".join(shown.sentences)
