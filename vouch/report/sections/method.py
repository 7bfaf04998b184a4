"""How the numbers were made: the settings that the text of the template needs."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.numbers import SIGNIFICANCE

TITLE = "Method"


# What the template cites, by the key it cites it with.
SOURCES = {
    "angelopoulos": (
        "Angelopoulos et al. 2021",
        "Uncertainty sets for image classifiers using conformal prediction",
    ),
    "azad": (
        "Azad et al. 2025",
        "The art of saying “maybe”: a conformal lens for uncertainty benchmarking in VLMs",
    ),
    "barber": ("Barber et al. 2023", "Conformal prediction beyond exchangeability"),
    "brier": ("Brier 1950", "Verification of forecasts expressed in terms of probability"),
    "connor": (
        "Connor 1987",
        "Sample size for testing differences in proportions for the paired-sample design",
    ),
    "efron": ("Efron and Tibshirani 1993", "An introduction to the bootstrap"),
    "garg": ("Garg et al. 2022", "Leveraging unlabeled data to predict out-of-distribution performance"),
    "geifman": (
        "Geifman, Uziel and El-Yaniv 2019",
        "Bias-reduced uncertainty estimation for deep neural classifiers",
    ),
    "guo": ("Guo et al. 2017", "On calibration of modern neural networks"),
    "holm": ("Holm 1979", "A simple sequentially rejective multiple test procedure"),
    "huang": ("Huang et al. 2024", "Conformal prediction for deep classifier via label ranking"),
    "kostumov": ("Kostumov et al. 2024", "Uncertainty-aware evaluation for vision-language models"),
    "li": (
        "Li et al. 2023",
        "ReForm-Eval: evaluating large vision language models via unified re-formulation",
    ),
    "liang": ("Liang and Zeger 1986", "Longitudinal data analysis using generalized linear models"),
    "lofstrom": ("Löfström et al. 2015", "Bias reduction through conditional conformal prediction"),
    "mann": (
        "Mann and Whitney 1947",
        "On a test of whether one of two random variables is larger than the other",
    ),
    "naeini": (
        "Naeini, Cooper and Hauskrecht 2015",
        "Obtaining well calibrated probabilities using Bayesian binning",
    ),
    "nguyen": ("Nguyen and O'Connor 2015", "Posterior calibration and exploratory analysis for NLP models"),
    "romano": ("Romano, Sesia and Candès 2020", "Classification with valid and adaptive coverage"),
    "sadinle": (
        "Sadinle, Lei and Wasserman 2019",
        "Least ambiguous set-valued classifiers with bounded error levels",
    ),
    "schmalfuss": (
        "Schmalfuss et al. 2025",
        "PARC: a quantitative framework uncovering the symmetries within vision language models",
    ),
    "tu": ("Tu et al. 2024", "Ranked from within: ranking large multimodal models without labels"),
    "vigna": ("Vigna 2015", "A weighted correlation index for rankings with ties"),
    "vovk": ("Vovk, Gammerman and Shafer 2005", "Algorithmic learning in a random world"),
    "wilson": ("Wilson 1927", "Probable inference, the law of succession, and statistical inference"),
    "zheng": ("Zheng et al. 2024", "Large language models are not robust multiple choice selectors"),
}


@dataclass(frozen=True)
class Method:
    """Settings, as text. sources: who and what, by key."""

    alpha: str
    target: str
    calibration: str
    splits: str
    bins: str
    significance: str
    sources: dict[str, tuple[str, str]]


def build(evidence: Evidence) -> Method:
    """The scoring parameters."""
    scoring = evidence.scoring
    return Method(
        alpha=f"{scoring.alpha:g}",
        target=formatting.percent(evidence.target, 0),
        calibration=formatting.percent(scoring.calibration, 0),
        splits=formatting.plural(scoring.splits, "split"),
        bins=str(scoring.bins),
        significance=f"{SIGNIFICANCE:g}",
        sources=SOURCES,
    )
