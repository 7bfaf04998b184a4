"""Turns released data about a model into its responses: logits, logs of samples, tables of answers."""
