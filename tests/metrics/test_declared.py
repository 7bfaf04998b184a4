"""A conformal score with a parameter, a metric and a ranker are one entry each, and found everywhere."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.metrics.simulated import ROOT, config, simulate, tables
from vouch.metrics.conformal.scores import SCORES, score
from vouch.metrics.join import join
from vouch.metrics.metric import is_of_sets, metrics
from vouch.metrics.responses import Ranked
from vouch.metrics.tables import score_block
from vouch.pipeline.errors import UserError
from vouch.report.table import Measured

ENTRIES = """
import json
from pathlib import Path

from vouch.metrics.comparison.rankers import ranker
from vouch.metrics.conformal.figures import OF_SETS
from vouch.metrics.conformal.scores import Parameter, score


@score("tempered", "Tempered", "-log p(y) to a power", "Nobody 2026", power=Parameter(1.0, 10, "of -log p", 0.1))
def tempered(ranked, power):
    return (-ranked.log_p) ** power


@OF_SETS("pair_rate", "Pairs", "share of sets with two options", better="lower", unit="share", ranked=True)
def pair_rate(sets):
    return sets.mean(sets.size == 2)


@ranker("second", "Runner-up", "probability of the second option", "probabilities")
def second(task):
    return task.label_free["probabilities"][:, :, 1]
"""
FOUND = """
from tests.metrics.simulated import config, simulate
from vouch.library.ranking import rank_without_labels
from vouch.metrics.protocols import clean
from vouch.cli.schema import schemas
from vouch.report.pages.models_detail import SCORE_NAMES
from vouch.report.pages.ranking import SHOWN
from vouch.papers.tu import OURS
from vouch.report.table import Measured

chosen = config(scores=["lac", "aps", "tempered"], settings={"tempered": {"power": 2}})
figures = {(f.score, f.metric) for f in clean(simulate(0, 60), chosen).figures}
made = {str(path): text for path, text in schemas().items()}
print(json.dumps({
    "schema": json.loads(made["docs/schema/params.json"])["$defs"]["Tempered"]["properties"]["power"],
    "scored": [("tempered", "coverage") in figures, ("lac", "pair_rate") in figures],
    "ranked": "second" in rank_without_labels({"a": [[0.9, 0.1]], "b": [[0.6, 0.4]]}).ranks,
    "statistics": made["docs/prediction-sets.md"] + made["docs/metrics.md"],
    "rankers": made["docs/ranking.md"],
    "report": [SCORE_NAMES["tempered"], dict((name, label) for name, label, _ in SHOWN)["second"], OURS["second"]],
    "column": Measured("pair_rate").column.label,
}))
"""


def test_one_entry_each_is_found_in_schema_scores_report_and_docs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENTRIES + FOUND], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"default": 1.0, "minimum": 0.1, "maximum": 10}.items() <= found["schema"].items()
    assert found["scored"] == [True, True]
    assert found["ranked"]
    assert "| tempered | -log p(y) to a power | Nobody 2026 |" in found["statistics"]
    assert "| `tempered: {power}` | 1 | 0.1 to 10 | of -log p |" in found["statistics"]
    assert "| pair_rate | Pairs | share of sets with two options | lower | share | |" in found["statistics"]
    assert (
        "| second | Runner-up | probability of the second option | letters, likelihood |" in found["rankers"]
    )
    assert found["report"] == ["Tempered", "Runner-up", "Runner-up"]
    assert found["column"] == "Pairs %"


def test_a_score_that_is_no_number_names_itself_the_dataset_and_the_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SCORES, "broken", SCORES["lac"])
    responses = simulate(0, 30)
    responses.defective[:2] = True

    @score("broken", "Broken", "NaN", "Nobody 2026")
    def broken(ranked: Ranked) -> np.ndarray:
        return np.where(ranked.noise[:, None] == noise[7], np.nan, -ranked.log_p)

    (block,) = join(*tables(responses), "here")
    noise = block.responses.noise
    with pytest.raises(UserError) as caught:
        score_block("m", "pairs", block, config().model_copy(update={"scores": ["lac", "aps", "broken"]}))
    message = str(caught.value)
    assert (
        "responses/pairs/m.letters.parquet: prompt 7/original: the nonconformity score broken is NaN"
        in message
    )
    assert "\n" not in message


def test_a_column_of_an_unknown_metric_is_refused() -> None:
    assert Measured("set_size_share_2").declared.label == "Sets of a size"
    with pytest.raises(UserError, match="unknown metric acuracy; did you mean accuracy"):
        Measured("acuracy").declared  # noqa: B018


def test_the_benchmarks_metrics_are_ranked_as_its_tables_say() -> None:
    """The arrows of Kostumov et al.: Acc and UAcc up, SS, ECE and MCE down. Coverage has none there."""
    arrows = dict.fromkeys(("accuracy", "uacc"), "higher") | dict.fromkeys(
        ("set_size", "ece", "mce"), "lower"
    )
    assert {name: (metrics()[name].better, metrics()[name].ranked) for name in arrows} == {
        name: (arrow, True) for name, arrow in arrows.items()
    }


def test_what_rests_on_sets_is_declared_so() -> None:
    names = ("coverage", "set_size_share_3", "uacc", "worst_size_coverage", "certainty", "reliability")
    assert all(map(is_of_sets, names))
    assert not any(map(is_of_sets, ("accuracy", "ece", "consistency", "threshold", "unknown")))
