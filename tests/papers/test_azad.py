"""The Art of Saying "Maybe": its tables and figures, of numbers worked out by hand."""

from dataclasses import replace

from tests.metrics.simulated import ROOT
from tests.papers.shown import asked, built, standing, text
from tests.report.project import Made, Make
from vouch.report.loading import read_printed


def test_azads_scores_of_one_split_means_over_models_and_distributions(make: Make) -> None:
    """A row of means over the models beside those that the paper states; scores that were not computed."""
    rows = []
    for model, level in (("a_1b", 0.2), ("b_3b", 0.4), ("c", 0.9)):
        for dataset, less in (("scienceqa", 0.0), ("mmmu_pro", 0.1)):
            rows.append(standing(model, "accuracy", level - less, dataset=dataset))
            for score, more in (("lac", 0.0), ("aps", 0.5), ("margin", 0.25)):
                sets = {"dataset": dataset, "score": score, "alpha": 0.1}
                rows.append(standing(model, "set_size", 4 - 2 * level + more, **sets))
                rows.append(standing(model, "coverage", 0.9 + level / 20 - less / 10, **sets))
    evidence = asked(make(Made(datasets=("scienceqa", "mmmu_pro"))), rows)
    evidence = replace(evidence, printed=read_printed([ROOT / "docs/published/azad_means.csv"]))
    shown = built(evidence, "azad")
    assert text(shown["Table 1"].grids[0])[-1] == ["Mean over models", "50.00", "40.00", "45.00"]
    (sentence,) = shown["Table 1"].sentences
    assert "ScienceQA 73.78 (section 6.2) and ScienceQA 75.2 (section 6.5)" in sentence
    assert "MMMU-Pro 20.85" in sentence and "MathVision" not in sentence
    sizes = shown["Table 2"]
    assert sizes.sentences[0] == "MS, eq. 6 was not computed (score.scores)."
    assert text(sizes.grids[0])[-1][1:] == [
        "3.00",
        "3.00",
        "3.00",
        "3.25",
        "3.25",
        "3.25",
        "3.50",
        "3.50",
        "3.50",
    ]
    (drawn,) = shown["Figure 4"].figures
    assert "3 models. The lowest is 2.20: c, LAC" in drawn.description
    (drawn,) = shown["Figure 8"].figures
    assert "over 4 pairs" in drawn.description, "the size of c is unknown"
    assert "Parameters, billions and Set size \u22121.00" in drawn.description
    charts = drawn.chart.to_dict()["concat"]
    assert len(charts) == 16 and [chart["mark"]["type"] for chart in charts[::5]] == ["bar"] * 4
    counts = [sum(row["count"] for row in rows if "count" in row) for rows in drawn.chart.datasets.values()]
    assert counts.count(4) == len([each for each in counts if each]), "every pair is counted once"
