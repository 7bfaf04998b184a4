"""The frame of every stage: errors, parameters, progress, run records, receipts, locks.

These modules are result-neutral: they may refuse to run or report what happened, but they never
change a byte of what a stage writes. That is why dvc.yaml does not list them as dependencies.
"""
