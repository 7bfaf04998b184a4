"""liken: how like a model's sampled texts are to its greedy ones, by a pinned text encoder."""
