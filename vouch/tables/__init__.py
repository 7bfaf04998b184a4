"""One file per group of tables that pass between stages: their columns, paths and checks; and thoughts.py.

Here are names and codes that several tables and the statistics share; they need nothing but Python.
"""

HEADLINE = ("lac", "aps")
"""The nonconformity scores whose mean is the benchmark's headline."""
DONT_KNOW, NONE_OF_ABOVE = -1, -2
"""Roles of the options that a prompt template adds."""
WITHOUT_IMAGE = ("blank", "text_only")
"""Variations that take the image away; the first of them that was asked counts."""
TOKENS = (
    *("nll_first", "nll_last", "nll_min", "nll_avg"),
    *("ent_first", "ent_last", "ent_max", "ent_avg"),
)
SAMPLES = ("sample_bleu", "agreement")
MEANINGS = ("semantic_entropy", "variation_entropy")
"""Label-free scores of the answers that were read: of samples, of prompts of equal meaning."""
SIMILARITIES = ("sample_bert", "sample_bert_expanded", "sample_cosine")
"""Label-free scores of generated texts: of tokens, samples, samples as vectors (Tu et al. 2024)."""

_TO_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty"""
_TENS = "thirty forty fifty sixty seventy eighty ninety"


def number_words(most: int) -> dict[str, int]:
    """English number words with their values, up to `most`: those to twenty, and the tens to ninety."""
    values = {word: value for value, word in enumerate(_TO_TWENTY.split())}
    values |= {word: 10 * ten for ten, word in enumerate(_TENS.split(), start=3)}
    return {word: value for word, value in values.items() if value <= most}
