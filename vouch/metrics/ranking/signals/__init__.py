"""How unsure a model is of the texts it generates, one file each (Tu et al. 2024).

A file defines one of

per_text(tokens) -> [n]              from Tokens of n greedy texts; NaN where it is not known
per_sample(text, samples) -> float   from a greedy text and the texts sampled at one temperature, at least one
"""
