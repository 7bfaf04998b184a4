"""Conformal prediction sets: scores, thresholds, membership, coverage."""
