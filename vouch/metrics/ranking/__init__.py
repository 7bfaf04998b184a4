"""Ranking models without labels: scores of answers, rankers, distances between datasets."""
