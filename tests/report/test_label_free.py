"""Rankings without labels on the page Ranking, and what it says of few models."""

from dataclasses import replace
from typing import Any

import pandas as pd

from tests.report.project import (
    Made,
    Make,
    mentions,
    part_of,
    texts,
)
from vouch.report.config import ReportConfig
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.ranking import RANKING_SECTION
from vouch.report.site import site


def row(ranker: str, rho: float | None, **changes: Any) -> dict[str, Any]:
    found = {
        "dataset": "shapes",
        "output": "letters",
        "ranker": ranker,
        "score": "",
        "proxy": "",
        "models": 4,
    }
    found |= {"rho": rho, "rho_low": -0.2, "rho_high": 1.0, "tau": 0.5, "tau_paper": 0.5}
    return found | {"p": 0.0833, "p_least": 0.0833} | changes


def test_few_models_are_an_illustration(make: Make) -> None:
    rows = [
        row("confidence", 1.0),
        row("few_labels", 0.7, sd=0.25, labels=50, p=None, rho_low=None, rho_high=None),
    ]
    rows += [row("atc", 0.5, proxy="mean", p=None), row("atc", 0.9, proxy="other")]
    rows.append(row("confidence", -0.4, dataset="words"))
    part = part_of(RANKING_SECTION, make(Made(datasets=("shapes", "words"), rankings=rows)))
    ranked, illustration = part.sentences
    assert mentions(ranked, "4 models", "0.083") and "would not be significant" in illustration
    cells = {cells[0].text: texts(cells[1:]) for cells in part.rows}
    assert cells == {
        "Confidence": ["1.00", "−0.40", "0.30"],
        "Thresholded confidence": ["0.50", "–", "–"],
        "50 labels of its own": ["0.70", "–", "–"],
    }
    notes = [cells[1].note for cells in part.rows]
    assert notes == ["−0.20 to 1.00", "−0.20 to 1.00", "± 0.25"]


def test_many_models_can_be_told_from_chance(make: Make) -> None:
    rows = [
        row(f"{name}", 0.9, output="text", models=30, p=p, p_least=1e-30)
        for name, p in (("nll_min", 1e-5), ("nll_avg", 0.4))
    ]
    rows.append(row("agreement", None, output="text", models=30, score="t0.7", p=None, p_least=None))
    part = part_of(RANKING_SECTION, make(Made(rankings=rows)))
    assert mentions(part.sentences[1], "1 of 2 correlations", "p < 0.01")
    assert [cells[0].text for cells in part.rows] == [
        "NLL, worst token",
        "NLL, mean",
        "Samples, agreement at 0.7",
    ]
    assert [cells[1].tone for cells in part.rows] == ["strong", "", "quiet"]


def test_where_no_model_beats_guessing_none_has_a_rank_nor_is_ranking_pointed_to_without_pairs(
    make: Make,
) -> None:
    guessing = make(Made(accuracy={"alpha": 0.27, "beta": 0.26}))
    assert [row[1].text for row in part_of(RESULTS_SECTION, guessing).rows] == ["–", "–"]
    alone = RESULTS_SECTION.build(make(Made(accuracy={"alpha": 0.8})))
    several = RESULTS_SECTION.build(make(Made()))
    assert alone is not None and several is not None
    assert "Ranking" not in alone.text and "(page <em>Ranking</em>)" in several.text


def test_two_models_are_not_ranked_without_labels(make: Make) -> None:
    assert RANKING_SECTION.build(make(Made(rankings=[row("confidence", 1.0, models=2)]))) is None
    shown = site(ReportConfig(title="Vouch"), make(Made(rankings=[row("confidence", 1.0)])), {})
    assert mentions(shown["pages/ranking.html"], "Which model is best, without labels?", 'href="#ranking"')


def test_the_model_that_would_be_picked_is_named_first(make: Make) -> None:
    def values(dataset: str, **of: tuple[float, float]) -> list[dict[str, Any]]:
        place = {"dataset": dataset, "output": "letters", "ranker": "combined", "score": "", "proxy": ""}
        ordered = sorted((value for value, _ in of.values()), reverse=True)
        return [
            place | {"model": m, "value": v, "rank": 1 + ordered.index(v), "performance": p}
            for m, (v, p) in of.items()
        ]

    def pick(*rows: dict[str, Any], **made: Any) -> str:
        ranked = [row("confidence", 1.0, dataset=name) for name in ("shapes", "words")]
        evidence = make(Made(datasets=("shapes", "words"), rankings=ranked, **made))
        frame = pd.DataFrame(rows, columns=evidence.ranked.columns)
        part = part_of(RANKING_SECTION, replace(evidence, ranked=frame))
        return part.sentences[0]

    shapes = values("shapes", alpha=(1.0, 0.9), beta=(0.5, 0.8))
    assert mentions(pick(*shapes), "pick alpha.", "on 1 of 1 dataset.")
    both = pick(*shapes, *values("words", alpha=(0.5, 0.9), beta=(0.7, 0.8)))
    assert mentions(both, "pick alpha on shapes; beta on words.", "on 1 of 2 datasets.")
    assert mentions(
        pick(*values("shapes", alpha=(1.0, 0.9), beta=(1.0, 0.8))), "pick alpha and beta.", "on 0 of"
    )
    guessing = pick(*shapes, accuracy={"alpha": 0.3, "beta": 0.2})
    assert mentions(guessing, "pick alpha.", "no model is named best")
