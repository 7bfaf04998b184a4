"""`python -m stages.report`: what the other stages found -> reports/."""

from functools import partial
from pathlib import Path

from vouch.params.start import run_stage
from vouch.pipeline.stage import Run
from vouch.pipeline.yaml12 import load as load_yaml
from vouch.report.config import Config, Scoring
<<<<<<< HEAD
from vouch.report.csv_text import csv_text
from vouch.report.evidence import Evidence
from vouch.report.facts import Facts, facts
from vouch.report.figure_spec import Sketch, of_datasets
from vouch.report.metrics_json import metrics_json
from vouch.report.plugins import plugins
from vouch.report.render_cache import Kept
from vouch.report.sections.papers import sketches as of_papers
from vouch.report.site import Picture, assets, build, site
from vouch.report.sources import Sources, sources
from vouch.report.vegalite import Chart
from vouch.tables.compared import DIFFERENCES, DIMENSIONS, LEADERBOARD, REPRODUCED, VARIATIONS
from vouch.tables.defects import DEFECTS, REJECTS
from vouch.tables.distances import DISTANCES, TRENDS
from vouch.tables.items import ITEMS
from vouch.tables.outcomes import OUTCOMES
from vouch.tables.rankings import RANKED, RANKINGS
from vouch.tables.responses import RESPONSES
from vouch.tables.rewrites import REWRITES
from vouch.tables.table import Table
=======
from vouch.report.facts import facts
from vouch.report.load import load
from vouch.report.write import write
>>>>>>> main

LOCK = Path("models.lock")
SETUP = ("datasets", "models", "variations", "train")
"""Parameters that the provenance page shows."""


def main(run: Run) -> None:
    """Reads the declared inputs, writes the report."""
    setup = {name: run.params[name] for name in SETUP} | {"locked": load_yaml(LOCK)["models"]}
    scoring = Scoring.model_validate(run.params["score"])
    evidence = load(run.inputs, scoring, setup, facts(setup["locked"], setup["train"]))
    write(Config.model_validate(run.params["report"]), evidence, partial(run.progress, label="figures"))


if __name__ == "__main__":
    run_stage("report", main)
