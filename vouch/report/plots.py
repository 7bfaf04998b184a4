"""Data for `dvc plots show` and `dvc plots diff`, and a page for them that needs no network.

dvc.yaml names the files under `plots`; .dvc/config names the page as `plots.html_template`.
"""

import pandas as pd

from vouch.report.evidence import Evidence
from vouch.report.figures.reliability import chosen
from vouch.report.headline import METRICS, values
from vouch.report.reliability import bins

# DVC puts its plots where {plot_divs} stands. Without {scripts} it loads nothing from the network, but the
# libraries of the site, from as deep a folder as `dvc plots show -o` may have been given.
PAGE = """<!doctype html>
<html lang="en-GB">
<head>
<meta charset="utf-8">
{refresh_tag}
<title>Plots</title>
<style>
body { font: 15px system-ui, sans-serif; margin: 1.5rem; display: flex; flex-wrap: wrap; gap: 2rem; }
</style>
<script src="../reports/assets/vega.js"></script>
<script>
for (const up of ["", "../../", "../../../", "../../../../"]) {
  if (!window.vegaEmbed) document.write(`<script src="${up}reports/assets/vega.js"><\\/script>`);
}
</script>
</head>
<body>
{plot_divs}
</body>
</html>
"""


def _label(evidence: Evidence, dataset: str, model: str) -> str:
    return model if len(evidence.datasets) == 1 else f"{model} on {dataset}"


def models(evidence: Evidence) -> pd.DataFrame:
    """One row per model and dataset: run, and its clean numbers."""
    rows = [
        {"run": _label(evidence, dataset, model)} | values(evidence, dataset, model)
        for dataset in evidence.datasets
        for model in evidence.models(dataset)
    ]
    return pd.DataFrame(rows, columns=["run", *METRICS])


def reliability(evidence: Evidence) -> pd.DataFrame:
    """One row per bin of the models that are drawn: run, confidence, accuracy, answers."""
    columns = ["run", "confidence", "accuracy", "answers"]
    parts = [pd.DataFrame(columns=columns)]
    for dataset in evidence.datasets:
        outcomes = evidence.plain_outcomes(dataset).dropna(subset=["clean_correct", "confidence"])
        for model in chosen(evidence, dataset):
            own = outcomes[outcomes["model"] == model]
            if len(own):
                confidence, correct = own["confidence"].to_numpy(float), own["clean_correct"].to_numpy(float)
                table = bins(confidence, correct, evidence.scoring.bins)
                parts.append(table.assign(run=_label(evidence, dataset, model))[columns])
    return pd.concat(parts[1:] or parts, ignore_index=True)
