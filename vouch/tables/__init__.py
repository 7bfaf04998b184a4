"""One file per group of tables that pass between stages: their columns, paths and checks; and thoughts.py.

Here are names and codes that several tables and the statistics share; they need nothing but Python.
"""

HEADLINE = ("lac", "aps")
"""The nonconformity scores whose mean is the benchmark's headline."""
DONT_KNOW, NONE_OF_ABOVE = -1, -2
"""Roles of the options that a prompt template adds."""
TOKENS = (
    *("nll_first", "nll_last", "nll_min", "nll_avg"),
    *("ent_first", "ent_last", "ent_max", "ent_avg"),
)
SAMPLES = ("sample_bleu", "agreement")
SIMILARITIES = ("sample_bert", "sample_bert_expanded", "sample_cosine")
"""Label-free scores of generated texts: of tokens, samples, samples as vectors (Tu et al. 2024)."""
