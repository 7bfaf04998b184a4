"""score: what one model's letter logits are worth, per prompt and in aggregate, in both readings."""
