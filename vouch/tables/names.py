"""Names and codes that several tables and the statistics share; needs nothing but Python."""

DONT_KNOW, NONE_OF_ABOVE = -1, -2
"""Roles of the options that a prompt template adds."""
HEADLINE = ("lac", "aps")
"""The nonconformity scores whose mean is the benchmark's headline."""
TOKENS = (
    *("nll_first", "nll_last", "nll_min", "nll_avg"),
    *("ent_first", "ent_last", "ent_max", "ent_avg"),
)
SAMPLES = ("sample_bleu", "agreement")
SIMILARITIES = ("sample_bert", "sample_bert_expanded", "sample_cosine")
"""Label-free scores of generated texts: of tokens, samples, samples as vectors (Tu et al. 2024)."""
