"""The frame of every stage: errors, parameters, progress, run records, receipts, locks.

These modules do not affect results: they may refuse to run, or report on a run, but they never
change a byte of a stage's outputs. That is why dvc.yaml does not list them as dependencies.
"""
