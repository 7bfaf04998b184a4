"""`python -m stages.report`: the results of all other stages -> reports/."""

from functools import partial
from pathlib import Path

from vouch.metrics.config import ScoreConfig
from vouch.papers import page as papers
from vouch.papers.entry import facts
from vouch.params.start import run_stage
from vouch.pipeline.run import Run
from vouch.pipeline.yaml12 import load as load_yaml
from vouch.report import pages
from vouch.report.config import ReportConfig, Scoring
from vouch.report.loading import load
from vouch.report.page import Registry
from vouch.report.site import write

LOCK = Path("models.lock")
SETUP = ("datasets", "extract", "models", "outputs", "variations", "train")
"""Parameters that the pages show."""


def main(run: Run) -> None:
    """Reads the declared inputs, writes the report."""
    locked = {
        name: entry for name, entry in load_yaml(LOCK)["models"].items() if name in run.params["models"]
    }
    setup = {name: run.params[name] for name in SETUP} | {"locked": locked}
    score = ScoreConfig.model_validate(run.params["score"])
    shown = score.model_dump(include={"calibration", "splits", "bins", "seed"})
    scoring = Scoring(alpha=score.main_alpha, **shown)
    evidence = load(run.inputs, scoring, setup, facts(setup["locked"], setup["train"]))
    config, watch = ReportConfig.model_validate(run.params["report"]), partial(run.progress, label="figures")
    write(config, evidence, watch, Registry(pages, papers))


if __name__ == "__main__":
    run_stage("report", main)
