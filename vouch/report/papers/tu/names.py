"""The datasets and methods of Tu et al. 2024, as they name them."""

from vouch.report.reproduce.lookup import Measure
from vouch.tables.prompts import LETTERS, LIKELIHOOD, TEXT

FEWEST = 3
"""Two models are in the right order or not: that is no correlation."""
DATASETS = {
    "scienceqa": "SQA-I",
    "ai2d": "AI2D",
    "mmmu": "MMMU",
    "realworldqa": "RWQA",
    "chartqa": "ChartQA",
    "ocrvqa": "OCRVQA",
    "textvqa": "TextVQA",
    "docvqa": "DocVQA",
}
# ranker to the paper's method, in its order; then those that are not in the paper
METHODS = {
    "accuracy_on_the_line": "AoL",
    "nll_first": "NLL_F",
    "nll_last": "NLL_P",
    "nll_min": "NLL_min",
    "nll_avg": "NLL_avg",
    "ent_first": "Ent_F",
    "ent_last": "Ent_P",
    "ent_max": "Ent_max",
    "ent_avg": "Ent_avg",
    "sample_bleu": "Sample_BLEU",
    "sample_bert": "Sample_BERT",
    "sample_bert_expanded": "Sample*_BERT",
    "atc": "ATC",
}
OURS = {
    "confidence": "Confidence of the option",
    "entropy": "Entropy of the options",
    "gap": "Gap between two options",
    "sample_cosine": "Cosine of samples",
    "agreement": "Samples that agree",
    "set_size": "Set size",
    "certainty": "Certainty",
    "combined": "All of these",
}
MEASURES = (
    Measure("rho", "rho", scale=1, only="clean"),
    Measure("tau", "tau_paper", scale=1, only="clean"),
)
NOUN = {LETTERS: "of letters", LIKELIHOOD: "of likelihoods", TEXT: "of generated texts"}
